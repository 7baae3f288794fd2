//===- OutlineKernels.cpp - parallel loops to kernel functions ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: moves every outermost marked `affine.parallel` into a private function
// over a range [begin, end) of its iterations and calls it with the whole one.
// Legal: one dimension, step 1, no reductions, and captures that a call can
// pass (memrefs, integers, floats, index, vectors). Others are left serial.
// Profitable always: the mark is S3's decision; this only carries it out.
// Limits: loops nested in another marked one stay inside its kernel.
// Cost: linear in operations and captures.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Analysis/Aliasing.h"
#include "Support/Remark.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

namespace polynest {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-outline-kernels"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr StringLiteral kGrain = "polynest.grain";

/// The reason why the loop cannot become a kernel, or an empty string.
static StringRef reasonToDecline(AffineParallelOp loop) {
  if (loop.getNumDims() != 1)
    return "the loop has more than one dimension";
  if (loop.getSteps()[0] != 1)
    return "the loop's step is not 1";
  if (loop.getNumResults() != 0)
    return "the loop has reductions";
  if (loop.getLowerBoundsMap().getNumResults() != 1 ||
      loop.getUpperBoundsMap().getNumResults() != 1)
    return "a bound is a minimum or maximum";
  return {};
}

/// A value that is better computed again inside a kernel than passed to it.
/// Pieces of the arena are passed: as arguments they can be told apart.
static bool isRematerializable(Operation *op) {
  if (matchPattern(op, m_Constant()))
    return true;
  if (isa<memref::GetGlobalOp>(op))
    return true;
  return isa<ViewLikeOpInterface>(op) && !isa<memref::ViewOp>(op) &&
         isMemoryEffectFree(op);
}

/// Clones rematerializable definitions of captures to the start of the loop's
/// body until only true captures are left.
static void sinkIntoBody(AffineParallelOp loop) {
  SetVector<Value> captures;
  bool changed = true;
  while (changed) {
    changed = false;
    captures.clear();
    getUsedValuesDefinedAbove(loop.getRegion(), captures);
    for (Value capture : captures) {
      Operation *op = capture.getDefiningOp();
      if (!op || !isRematerializable(op))
        continue;
      OpBuilder builder = OpBuilder::atBlockBegin(loop.getBody());
      Operation *copy = builder.clone(*op);
      for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
        replaceAllUsesInRegionWith(from, to, loop.getRegion());
      changed = true;
    }
  }
}

/// Moves the body into a new function placed after `parent`.
static func::FuncOp makeKernel(AffineParallelOp loop, func::FuncOp parent,
                               StringRef name, ArrayRef<Value> captures) {
  OpBuilder builder(parent->getContext());
  builder.setInsertionPointAfter(parent);
  Location loc = loop.getLoc();
  SmallVector<Type> types = {builder.getIndexType(), builder.getIndexType()};
  for (Value capture : captures)
    types.push_back(capture.getType());
  auto kernel = func::FuncOp::create(builder, loc, name,
                                     builder.getFunctionType(types, {}));
  kernel.setPrivate();
  kernel->setAttr("polynest.kernel", builder.getUnitAttr());
  kernel->setAttr(kGrain, loop->getAttr(kGrain));
  Block *entry = kernel.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  AffineMap identity = builder.getSymbolIdentityMap();
  auto body = AffineForOp::create(builder, loc, entry->getArgument(0), identity,
                                  entry->getArgument(1), identity);
  func::ReturnOp::create(builder, loc);
  // Move the loop's operations, in front of the new loop's terminator.
  Block *from = loop.getBody(), *to = body.getBody();
  from->getTerminator()->erase();
  to->getOperations().splice(to->getTerminator()->getIterator(),
                             from->getOperations());
  from->getArgument(0).replaceAllUsesWith(body.getInductionVar());
  for (auto [i, capture] : llvm::enumerate(captures)) {
    Value argument = entry->getArgument(i + 2);
    replaceAllUsesInRegionWith(capture, argument, kernel.getBody());
  }
  return kernel;
}

/// True if the captured memref shares storage with no other capture of the
/// kernel.
static bool isDistinct(ArrayRef<Value> captures, Value memref) {
  return llvm::none_of(captures, [&](Value other) {
    return other != memref && isa<BaseMemRefType>(other.getType()) &&
           mayAlias(memref, other);
  });
}

/// Marks kernel arguments that overlap no other one, for LLVM.
static void markDistinctArguments(func::FuncOp kernel,
                                  ArrayRef<Value> captures) {
  Builder builder(kernel.getContext());
  for (auto [i, capture] : llvm::enumerate(captures))
    if (isa<BaseMemRefType>(capture.getType()) && isDistinct(captures, capture))
      kernel.setArgAttr(i + 2, "llvm.noalias", builder.getUnitAttr());
}

static void outline(AffineParallelOp loop, func::FuncOp parent,
                    StringRef name) {
  sinkIntoBody(loop);
  SetVector<Value> captureSet;
  getUsedValuesDefinedAbove(loop.getRegion(), captureSet);
  SmallVector<Value> captures = captureSet.takeVector();
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value begin = AffineApplyOp::create(builder, loc, loop.getLowerBoundsMap(),
                                      loop.getLowerBoundsOperands());
  Value end = AffineApplyOp::create(builder, loc, loop.getUpperBoundsMap(),
                                    loop.getUpperBoundsOperands());
  func::FuncOp kernel = makeKernel(loop, parent, name, captures);
  markDistinctArguments(kernel, captures);
  SmallVector<Value> operands = {begin, end};
  operands.append(captures);
  func::CallOp::create(builder, loc, kernel, operands);
  loop.erase();
}

namespace {
struct OutlineKernelsPass : impl::OutlineKernelsBase<OutlineKernelsPass> {
  void runOnOperation() override {
    for (func::FuncOp function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (function->hasAttr("polynest.kernel"))
        continue;
      SmallVector<AffineParallelOp> loops;
      function.walk<WalkOrder::PreOrder>([&](AffineParallelOp loop) {
        if (!loop->hasAttr(kGrain))
          return WalkResult::advance();
        if (StringRef reason = reasonToDecline(loop); !reason.empty()) {
          remark(RemarkKind::Declined, loop.getLoc(), "outline-kernels",
                 reason);
          ++numDeclined;
          return WalkResult::advance();
        }
        loops.push_back(loop);
        return WalkResult::skip();
      });
      SymbolTable symbols(getOperation());
      unsigned counter = 0;
      for (AffineParallelOp loop : loops) {
        std::string name;
        do
          name = (function.getName() + "_kernel" + Twine(counter++)).str();
        while (symbols.lookup(name));
        outline(loop, function, name);
        ++numApplied;
      }
    }
  }
};
} // namespace

} // namespace polynest
