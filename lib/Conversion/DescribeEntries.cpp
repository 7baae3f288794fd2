//===- DescribeEntries.cpp - record the signatures of entries -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: writes the inputs, results and arena size of each entry as text into
// the module attribute `polynest.info`, which ends in every executable.
// Legal: entries whose arguments are ranked memrefs or scalars of element types
// that buffers have; others are an error.
// Profitable always: it is the only description a caller has.
// Limits: none. Cost: linear in arguments.
//
// The text, one item a line (see lib/Compiler/Signature.c, its reader):
//   entry <name> arena <bytes>
//   in|out <dtype> <rank> <sizes or ?>... [strides <strides or ?>...]
//   mutable          (after an input that the program may write)
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace polynest {
#define GEN_PASS_DEF_DESCRIBEENTRIES
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-describe-entries"

using namespace mlir;

namespace polynest {

static void printSize(raw_ostream &os, int64_t size) {
  if (ShapedType::isDynamic(size))
    os << " ?";
  else
    os << ' ' << size;
}

/// Prints one argument; fails where no caller could pass it.
static LogicalResult describe(raw_ostream &os, StringRef role, Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  Type element = memref ? memref.getElementType() : type;
  if (!memref && !type.isIntOrIndexOrFloat())
    return failure();
  if (!element.isIntOrIndexOrFloat())
    return failure();
  os << role << ' ' << element << ' ' << (memref ? memref.getRank() : 0);
  if (!memref) {
    os << " scalar\n";
    return success();
  }
  for (int64_t size : memref.getShape())
    printSize(os, size);
  if (!memref.getLayout().isIdentity()) {
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(memref.getStridesAndOffset(strides, offset)) ||
        (offset != 0 && !ShapedType::isDynamic(offset)))
      return failure();
    os << " strides";
    for (int64_t stride : strides)
      printSize(os, stride);
  }
  os << '\n';
  return success();
}

/// Bytes of the arena argument, an i8 memref of static size.
static FailureOr<int64_t> arenaBytes(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || memref.getRank() != 1 || !memref.hasStaticShape() ||
      !memref.getElementType().isInteger(8))
    return failure();
  return memref.getDimSize(0);
}

/// Also leaves `polynest.arg_ranks` (-1 for a scalar, -2 for the arena) and
/// `polynest.arena_bytes` on the entry, for polynest-lower-entries.
static LogicalResult describeEntry(raw_ostream &os, func::FuncOp entry) {
  std::string body;
  llvm::raw_string_ostream lines(body);
  int64_t arena = 0;
  SmallVector<int64_t> ranks;
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes())) {
    if (entry.getArgAttr(i, "polynest.arena")) {
      FailureOr<int64_t> bytes = arenaBytes(type);
      if (failed(bytes) || i + 1 != entry.getNumArguments())
        return entry.emitError("the arena must be the last argument, a "
                               "memref<Nxi8>");
      arena = *bytes;
      ranks.push_back(-2);
      continue;
    }
    auto memref = dyn_cast<MemRefType>(type);
    ranks.push_back(memref ? memref.getRank() : -1);
    bool isResult = entry.getArgAttr(i, "polynest.result") != nullptr;
    if (failed(describe(lines, isResult ? "out" : "in", type)))
      return entry.emitError() << "argument " << i << " of type " << type
                               << " cannot be passed by a caller";
    if (!isResult && (entry.getArgAttr(i, "polynest.mutable")))
      lines << "mutable\n";
  }
  Builder builder(entry.getContext());
  entry->setAttr("polynest.arg_ranks", builder.getDenseI64ArrayAttr(ranks));
  entry->setAttr("polynest.arena_bytes", builder.getI64IntegerAttr(arena));
  os << "entry " << entry.getName() << " arena " << arena << '\n' << body;
  return success();
}

/// Leaves on a kernel the ranks of its arguments and which of them overlap no
/// other, since neither survives the conversion to LLVM.
static void describeKernel(func::FuncOp kernel) {
  SmallVector<int64_t> ranks, distinct;
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    ranks.push_back(memref ? memref.getRank() : -1);
    if (memref && kernel.getArgAttr(i, "llvm.noalias"))
      distinct.push_back(i);
  }
  Builder builder(kernel.getContext());
  kernel->setAttr("polynest.arg_ranks", builder.getDenseI64ArrayAttr(ranks));
  kernel->setAttr("polynest.distinct", builder.getDenseI64ArrayAttr(distinct));
}

namespace {
struct DescribeEntriesPass : impl::DescribeEntriesBase<DescribeEntriesPass> {
  void runOnOperation() override {
    std::string text;
    llvm::raw_string_ostream os(text);
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
      if (!function->hasAttr("polynest.entry")) {
        if (function->hasAttr("polynest.kernel"))
          describeKernel(function);
        ++numDeclined;
        continue;
      }
      if (failed(describeEntry(os, function)))
        return signalPassFailure();
      ++numApplied;
    }
    getOperation()->setAttr("polynest.info",
                            StringAttr::get(&getContext(), text));
  }
};
} // namespace

} // namespace polynest
