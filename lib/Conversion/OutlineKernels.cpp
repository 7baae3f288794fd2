//===- OutlineKernels.cpp - parallel loops to kernel functions ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: moves every outermost marked `affine.parallel` into a private function
// over a range [begin, end) of its iterations and calls it with the whole one;
// moves every other outermost nest into a private function and calls it, nests
// that only fill memory, one behind the other, such as those of a border, into
// one; and keeps one of several functions that are equal.
// Legal: a marked loop has one dimension, step 1 and no reductions; a nest has
// no results. Others are left in place.
// Profitable always: the mark is S3's decision, and LLVM's time grows faster
// than the size of a function. Equal nests are compiled once.
// Limits: loops nested in another outlined one stay inside its kernel.
// Cost: linear in operations and captures.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Analysis/Aliasing.h"
#include "Analysis/NestParts.h"
#include "Support/Remark.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

#include <unordered_map>

namespace polynest {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-outline-kernels"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr StringLiteral kGrain = "polynest.grain";
/// Number by which the time of a nest is taken, see polynest-describe-nests.
static constexpr StringLiteral kNest = "polynest.nest";

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

/// Clones rematerializable definitions to the start of `block`, the first of
/// `scope`, until only true captures are left, and returns those.
static SmallVector<Value> capturesOf(Operation *scope, Block *block) {
  while (true) {
    bool changed = false;
    SmallVector<Value> values = getOutsideValues(scope);
    for (Value value : values) {
      Operation *op = value.getDefiningOp();
      if (!op || !isRematerializable(op))
        continue;
      OpBuilder builder = OpBuilder::atBlockBegin(block);
      Operation *copy = builder.clone(*op);
      for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
        from.replaceUsesWithIf(to, [&](OpOperand &use) {
          return scope->isAncestor(use.getOwner()) && use.getOwner() != copy;
        });
      changed = true;
    }
    if (!changed)
      return values;
  }
}

/// Makes the uses of `from` inside `scope` use `to`.
static void replaceInside(Operation *scope, Value from, Value to) {
  from.replaceUsesWithIf(
      to, [&](OpOperand &use) { return scope->isAncestor(use.getOwner()); });
}

/// Adds an argument for everything that the kernel's body uses from outside;
/// returns what to pass.
static SmallVector<Value> addCaptures(func::FuncOp kernel) {
  Block *entry = &kernel.getBody().front();
  SmallVector<Value> captures = capturesOf(kernel, entry);
  for (Value capture : captures)
    replaceInside(kernel, capture,
                  entry->addArgument(capture.getType(), kernel.getLoc()));
  kernel.setType(
      FunctionType::get(kernel.getContext(), entry->getArgumentTypes(), {}));
  return captures;
}

/// Makes an empty private kernel behind `parent`, with arguments of `types`.
static func::FuncOp makeKernel(func::FuncOp parent, Location loc,
                               StringRef name, TypeRange types) {
  OpBuilder builder(parent->getContext());
  builder.setInsertionPointAfter(parent);
  auto kernel = func::FuncOp::create(builder, loc, name,
                                     builder.getFunctionType(types, {}));
  kernel.setPrivate();
  kernel->setAttr("polynest.kernel", builder.getUnitAttr());
  builder.setInsertionPointToStart(kernel.addEntryBlock());
  func::ReturnOp::create(builder, loc);
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
static void markDistinctArguments(func::FuncOp kernel, ArrayRef<Value> captures,
                                  unsigned first) {
  Builder builder(kernel.getContext());
  for (auto [i, capture] : llvm::enumerate(captures))
    if (isa<BaseMemRefType>(capture.getType()) && isDistinct(captures, capture))
      kernel.setArgAttr(i + first, "llvm.noalias", builder.getUnitAttr());
}

/// Hands the number of the nest that `op` is in on to the call that replaces
/// it. Kernels have none: equal ones are one.
static void numberCall(func::CallOp call, Attribute number) {
  if (number)
    call->setAttr(kNest, number);
}

/// The number of the nest that `op` is or is in, or null.
static Attribute takeNumber(Operation *op) {
  if (Attribute number = op->removeAttr(kNest))
    return number;
  for (; op; op = op->getParentOp())
    if (Attribute number = op->getAttr(kNest))
      return number;
  return {};
}

/// Replaces a marked loop by a call over its range.
static func::FuncOp outlineParallel(AffineParallelOp loop, func::FuncOp parent,
                                    StringRef name) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Attribute number = takeNumber(loop);
  Value begin = AffineApplyOp::create(builder, loc, loop.getLowerBoundsMap(),
                                      loop.getLowerBoundsOperands());
  Value end = AffineApplyOp::create(builder, loc, loop.getUpperBoundsMap(),
                                    loop.getUpperBoundsOperands());
  Type index = builder.getIndexType();
  func::FuncOp kernel = makeKernel(parent, loc, name, {index, index});
  kernel->setAttr(kGrain, loop->getAttr(kGrain));
  Block *entry = &kernel.getBody().front();
  OpBuilder inside(entry->getTerminator());
  AffineMap identity = builder.getSymbolIdentityMap();
  auto body = AffineForOp::create(inside, loc, entry->getArgument(0), identity,
                                  entry->getArgument(1), identity);
  // Move the loop's operations in front of the new loop's terminator.
  Block *from = loop.getBody(), *to = body.getBody();
  from->getTerminator()->erase();
  to->getOperations().splice(to->getTerminator()->getIterator(),
                             from->getOperations());
  from->getArgument(0).replaceAllUsesWith(body.getInductionVar());
  SmallVector<Value> operands = {begin, end};
  SmallVector<Value> captures = addCaptures(kernel);
  markDistinctArguments(kernel, captures, /*first=*/2);
  operands.append(captures);
  numberCall(func::CallOp::create(builder, loc, kernel, operands), number);
  loop.erase();
  return kernel;
}

/// True for a nest that stores what is there before it, and whose time nobody
/// takes.
static bool isFill(Operation *nest) {
  return !nest->hasAttr(kNest) &&
         !nest->walk([](Operation *op) {
                bool belongs = isa<AffineForOp, AffineParallelOp, AffineStoreOp,
                                   AffineVectorStoreOp, AffineApplyOp>(op) ||
                               matchPattern(op, m_Constant()) ||
                               op->hasTrait<OpTrait::IsTerminator>();
                return belongs ? WalkResult::advance()
                               : WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// Adds the second to nests that fill, if it does, too, and all between them,
/// which may be constants and single stores.
static bool goOnFilling(SmallVectorImpl<Operation *> &nests,
                        Operation *second) {
  Operation *first = nests.back();
  if (first->getBlock() != second->getBlock() || !isFill(first) ||
      !isFill(second))
    return false;
  SmallVector<Operation *> between;
  Operation *op = first->getNextNode();
  for (; op && op != second; op = op->getNextNode()) {
    if (isa<AffineStoreOp, AffineVectorStoreOp>(op))
      between.push_back(op);
    else if (!matchPattern(op, m_Constant()))
      return false;
  }
  if (!op)
    return false;
  nests.append(between);
  nests.push_back(second);
  return true;
}

/// Replaces serial nests by a call of a function that holds them, at the last.
static func::FuncOp outlineSerial(ArrayRef<Operation *> nests,
                                  func::FuncOp parent, StringRef name) {
  Location loc = nests.front()->getLoc();
  func::FuncOp kernel = makeKernel(parent, loc, name, {});
  OpBuilder builder(nests.back());
  auto call = func::CallOp::create(builder, loc, kernel, ValueRange());
  numberCall(call, takeNumber(nests.front()));
  for (Operation *nest : nests)
    nest->moveBefore(kernel.getBody().front().getTerminator());
  SmallVector<Value> captures = addCaptures(kernel);
  markDistinctArguments(kernel, captures, /*first=*/0);
  call->setOperands(captures);
  return kernel;
}

/// Hash of everything but name and locations.
static llvm::hash_code hashOf(func::FuncOp function) {
  llvm::hash_code hash = hash_value(function.getFunctionType());
  function.getBody().walk([&](Operation *op) { hash = hashWith(hash, op); });
  return hash;
}

static bool areEqual(func::FuncOp a, func::FuncOp b) {
  return a.getFunctionType() == b.getFunctionType() &&
         a->getAttr(kGrain) == b->getAttr(kGrain) &&
         a.getArgAttrsAttr() == b.getArgAttrsAttr() &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

/// Keeps the first of equal kernels and makes all calls call it.
static unsigned mergeEqual(ArrayRef<func::FuncOp> kernels,
                           ArrayRef<func::CallOp> calls) {
  std::unordered_map<size_t, SmallVector<func::FuncOp, 1>> byHash;
  llvm::StringMap<func::FuncOp> kept;
  SmallVector<func::FuncOp> merged;
  for (func::FuncOp kernel : kernels) {
    auto &bucket = byHash[hashOf(kernel)];
    auto *same = llvm::find_if(
        bucket, [&](func::FuncOp other) { return areEqual(other, kernel); });
    if (same == bucket.end()) {
      bucket.push_back(kernel);
      continue;
    }
    kept[kernel.getName()] = *same;
    merged.push_back(kernel);
  }
  for (func::CallOp call : calls)
    if (auto it = kept.find(call.getCallee()); it != kept.end())
      call.setCallee(it->second.getName());
  for (func::FuncOp kernel : merged)
    kernel.erase();
  return merged.size();
}

namespace {
struct OutlineKernelsPass : impl::OutlineKernelsBase<OutlineKernelsPass> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (!function->hasAttr("polynest.kernel") &&
          !function->hasAttr("polynest.shapes"))
        functions.push_back(function);
    SmallVector<func::FuncOp> kernels;
    for (func::FuncOp function : functions)
      outlineNests(function, kernels);
    SmallVector<func::CallOp> calls;
    for (func::FuncOp function : functions)
      function.walk([&](func::CallOp call) { calls.push_back(call); });
    numMerged += mergeEqual(kernels, calls);
  }

  /// True if the nest can become a function of its own.
  bool isSerialNest(Operation *op) {
    return isa<AffineForOp, AffineParallelOp>(op) && op->getNumResults() == 0;
  }

  void outlineNests(func::FuncOp function,
                    SmallVectorImpl<func::FuncOp> &kernels) {
    SmallVector<Operation *> nests;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      auto loop = dyn_cast<AffineParallelOp>(op);
      if (loop && loop->hasAttr(kGrain)) {
        StringRef reason = reasonToDecline(loop);
        if (reason.empty()) {
          nests.push_back(op);
          return WalkResult::skip();
        }
        remark(RemarkKind::Declined, loop.getLoc(), "outline-kernels", reason);
        ++numDeclined;
      }
      if (!isSerialNest(op) || holdsMarked(op))
        return WalkResult::advance();
      nests.push_back(op);
      return WalkResult::skip();
    });
    SymbolTable symbols(getOperation());
    unsigned counter = 0;
    for (ArrayRef<Operation *> rest(nests); !rest.empty();) {
      std::string name;
      do
        name = (function.getName() + "_kernel" + Twine(counter++)).str();
      while (symbols.lookup(name));
      Operation *nest = rest.front();
      rest = rest.drop_front();
      if (isMarked(nest)) {
        kernels.push_back(
            outlineParallel(cast<AffineParallelOp>(nest), function, name));
      } else {
        SmallVector<Operation *> together{nest};
        while (!rest.empty() && !isMarked(rest.front()) &&
               goOnFilling(together, rest.front()))
          rest = rest.drop_front();
        kernels.push_back(outlineSerial(together, function, name));
      }
      ++numApplied;
    }
  }

  /// True for a loop that becomes a kernel over a range.
  static bool isMarked(Operation *op) {
    auto loop = dyn_cast<AffineParallelOp>(op);
    return loop && loop->hasAttr(kGrain) && reasonToDecline(loop).empty();
  }

  /// True if a marked loop inside is to become a kernel itself, or has become
  /// one in an earlier run.
  static bool holdsMarked(Operation *op) {
    return op
        ->walk([&](Operation *inner) {
          return (inner != op && isMarked(inner)) || isa<func::CallOp>(inner)
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }
};
} // namespace

} // namespace polynest
