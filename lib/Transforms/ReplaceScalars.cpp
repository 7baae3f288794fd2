//===- ReplaceScalars.cpp - keep memory values in registers ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: (a) a location that stands still in a loop and is loaded and stored
// there becomes an iter_args value, loaded before the loop and stored after it;
// innermost loops first, so that a value is carried through a whole band of
// reduction loops. (b) Stored and loaded values are forwarded to later loads of
// the same location, stores that are overwritten unread, and stores of what the
// location already holds, are erased. (c) What a loop carries twice, such as
// the same sum of two operations, it carries once.
// Legal when: (a) nothing else in the loop may touch the location, and the
// location exists also if the loop does not run: it runs at least once, or the
// location is accessed beside the loop, or its index is in bounds by constant
// ranges; otherwise the loop is put under an affine.if that asks whether it
// runs. (b) is decided within one block; a region inside it that may write the
// location ends the value's life, one that may read it keeps the store. (c)
// Both begin with one value, and if both are the same in an iteration, what
// follows them is computed alike, by operations without effects: then they are
// the same in all, to the bit. Loads are the same where (b) made them one.
// Profitable always: a load and a store an iteration become none, two
// computations one.
// Limits: accesses under a condition in the loop are not promoted; loops are
// affine.for; values are matched by equal memref and composed index map; order
// of operands counts for (c), which compares with the first few others.
// Cost: operations times nesting depth for (a); for (b) operations times the
// live values of one block; for (c) operations times nesting depth times values
// that are carried.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Aliasing.h"
#include "Support/EraseDead.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/IR/AffineValueMap.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <vector>

namespace polynest {
#define GEN_PASS_DEF_REPLACESCALARS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-replace-scalars"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "replace-scalars";

/// The value a plain affine access moves: what it stores or what it loads.
static Value accessedValue(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<AffineLoadOp, AffineVectorLoadOp>(
          [](auto load) { return load.getResult(); })
      .Case<AffineStoreOp, AffineVectorStoreOp>(
          [](auto store) { return store.getValueToStore(); })
      .Default([](Operation *) { return Value(); });
}

static bool isSameSpot(const Access &a, const Access &b) {
  return a.memref == b.memref && a.map.getAffineMap() == b.map.getAffineMap() &&
         llvm::equal(a.map.getOperands(), b.map.getOperands()) &&
         accessedValue(a.op).getType() == accessedValue(b.op).getType();
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// True unless the two accesses are proven to touch different elements, given
/// equal values of the variables that both name. A variable that only one
/// names keeps the difference from being constant.
static bool mayOverlap(const Access &a, const Access &b) {
  if (!a.memref || !b.memref)
    return true;
  if (!mayAlias(a.memref, b.memref))
    return false;
  if (a.memref != b.memref || !a.isAffine() || !b.isAffine() ||
      !hasInjectiveLayout(a.memref))
    return true;
  AffineValueMap difference;
  AffineValueMap::difference(a.map, b.map, &difference);
  for (unsigned d = 0, e = difference.getNumResults(); d < e; ++d) {
    auto constant = dyn_cast<AffineConstantExpr>(difference.getResult(d));
    if (!constant)
      continue;
    // a starts `distance` elements after b.
    int64_t distance = constant.getValue();
    if (distance >= b.extent[d] || -distance >= a.extent[d])
      return false;
  }
  return true;
}

static bool isDefinedOutside(AffineForOp loop, ValueRange values) {
  return llvm::all_of(
      values, [&](Value value) { return loop.isDefinedOutsideOfLoop(value); });
}

/// Accesses of one location that does not move in a loop, in program order,
/// and where it may be loaded for the first time.
struct Spot {
  SmallVector<Access, 2> accesses;
  bool isLoaded = false, isStored = false;
};

/// True if the location is touched unconditionally beside the loop or beside a
/// loop around it, hence exists whenever the loop is reached.
static bool isTouchedBeside(AffineForOp loop, const Access &access) {
  for (Operation *user : access.memref.getUsers()) {
    if (!accessedValue(user) || loop->isProperAncestor(user))
      continue;
    // The user's block must be one around the loop, and every operation from
    // there down to the loop cannot matter: the user runs once that block does.
    if (!user->getBlock()->findAncestorOpInBlock(*loop.getOperation()))
      continue;
    SmallVector<Access, 2> accesses;
    collectAccesses(user, accesses);
    if (accesses.size() == 1 && accesses.front().isAffine() &&
        isSameSpot(accesses.front(), access))
      return true;
  }
  return false;
}

static bool existsIfLoopDoesNotRun(AffineForOp loop, const Access &access) {
  std::optional<uint64_t> trips = getTripCount(loop);
  return (trips && *trips > 0) || isInBounds(access) ||
         isTouchedBeside(loop, access);
}

/// The spots that `loop` can carry, and remarks on those it cannot.
static SmallVector<Spot, 2> collectSpots(AffineForOp loop, unsigned &declined) {
  SmallVector<Access, 4> accesses;
  collectAccesses(loop, accesses);
  SmallVector<Spot, 2> spots;
  for (const Access &access : accesses) {
    if (access.op->getBlock() != loop.getBody() || !access.isAffine() ||
        !accessedValue(access.op) ||
        !isDefinedOutside(loop, access.map.getOperands()) ||
        !loop.isDefinedOutsideOfLoop(access.memref))
      continue;
    auto *found = llvm::find_if(spots, [&](const Spot &spot) {
      return isSameSpot(spot.accesses.front(), access);
    });
    if (found == spots.end())
      found = &spots.emplace_back();
    found->accesses.push_back(access);
    (access.isWrite ? found->isStored : found->isLoaded) = true;
  }
  llvm::erase_if(
      spots, [](const Spot &spot) { return !spot.isLoaded || !spot.isStored; });
  llvm::erase_if(spots, [&](const Spot &spot) {
    const Access &first = spot.accesses.front();
    for (const Access &other : accesses) {
      if (llvm::any_of(spot.accesses,
                       [&](const Access &a) { return a.op == other.op; }) ||
          !mayOverlap(first, other))
        continue;
      ++declined;
      remark(RemarkKind::Declined, first.op->getLoc(), passName,
             "another access in the loop may touch the location")
          << arg("other", other.op->getName().getStringRef().str());
      return true;
    }
    return false;
  });
  return spots;
}

/// The affine.if that alone makes up the loop's body, if its condition does not
/// depend on the loop and it stores to a location that stands still: then the
/// two may change places, so that the loop can carry the location.
static AffineIfOp getInvariantGuard(AffineForOp loop) {
  auto guard = dyn_cast<AffineIfOp>(loop.getBody()->front());
  if (!guard || guard->getNextNode() != loop.getBody()->getTerminator() ||
      guard.hasElse() || guard.getNumResults() || loop.getNumResults() ||
      !isDefinedOutside(loop, guard.getOperands()))
    return {};
  for (Operation &op : *guard.getThenBlock()) {
    SmallVector<Access, 1> accesses;
    if (isa<AffineStoreOp, AffineVectorStoreOp>(op))
      collectAccesses(&op, accesses);
    if (!accesses.empty() &&
        isDefinedOutside(loop, accesses.front().map.getOperands()))
      return guard;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// Turns `for { if c { body } }` into `if c { for { body } }`.
static void hoistGuard(AffineForOp loop, AffineIfOp guard) {
  guard->moveBefore(loop);
  Block *body = guard.getThenBlock();
  loop.getBody()->getOperations().splice(loop.getBody()->begin(),
                                         body->getOperations(), body->begin(),
                                         std::prev(body->end()));
  loop->moveBefore(body->getTerminator());
}

/// A condition, and the values it is about: dimensions first.
struct Condition {
  unsigned numDims = 0, numSymbols = 0;
  SmallVector<AffineExpr> constraints;
  SmallVector<bool> isEquality;
  SmallVector<Value> dims, symbols;

  void addOperands(ValueRange operands, unsigned numNewDims) {
    llvm::append_range(dims, operands.take_front(numNewDims));
    llvm::append_range(symbols, operands.drop_front(numNewDims));
    numDims = dims.size();
    numSymbols = symbols.size();
  }
};

/// Adds "`loop` runs at least once".
static void addRuns(Condition &condition, AffineForOp loop) {
  AffineMap lower = loop.getLowerBoundMap(), upper = loop.getUpperBoundMap();
  unsigned dims = condition.numDims, symbols = condition.numSymbols;
  condition.addOperands(loop.getLowerBoundOperands(), lower.getNumDims());
  unsigned upperDims = condition.numDims, upperSymbols = condition.numSymbols;
  condition.addOperands(loop.getUpperBoundOperands(), upper.getNumDims());
  for (AffineExpr high : upper.getResults()) {
    high = high.shiftDims(upper.getNumDims(), upperDims)
               .shiftSymbols(upper.getNumSymbols(), upperSymbols);
    for (AffineExpr low : lower.getResults()) {
      low = low.shiftDims(lower.getNumDims(), dims)
                .shiftSymbols(lower.getNumSymbols(), symbols);
      condition.constraints.push_back(high - low - 1);
      condition.isEquality.push_back(false);
    }
  }
}

/// Puts `loop` under an affine.if that holds when it runs at least once. An
/// affine.if that holds nothing but the loop gets the condition added.
static void guardLoop(AffineForOp loop) {
  Condition condition;
  auto outer = dyn_cast<AffineIfOp>(loop->getParentOp());
  if (outer && (outer.hasElse() || outer.getNumResults() ||
                &outer.getThenBlock()->front() != loop.getOperation() ||
                loop->getNextNode() != outer.getThenBlock()->getTerminator()))
    outer = {};
  if (outer) {
    IntegerSet set = outer.getIntegerSet();
    condition.addOperands(outer.getOperands(), set.getNumDims());
    llvm::append_range(condition.constraints, set.getConstraints());
    llvm::append_range(condition.isEquality, set.getEqFlags());
  }
  addRuns(condition, loop);
  IntegerSet set = IntegerSet::get(condition.numDims, condition.numSymbols,
                                   condition.constraints, condition.isEquality);
  SmallVector<Value> operands(condition.dims);
  llvm::append_range(operands, condition.symbols);
  canonicalizeSetAndOperands(&set, &operands);
  if (outer) {
    outer.setConditional(set, operands);
    return;
  }
  OpBuilder builder(loop);
  auto guard = AffineIfOp::create(builder, loop.getLoc(), set, operands,
                                  /*withElseRegion=*/false);
  loop->moveBefore(guard.getThenBlock()->getTerminator());
}

/// Loads the location of `access` outside the loop it stands in.
static Operation *loadBeside(OpBuilder &builder, const Access &access) {
  // Indices inside the loop may go through affine.apply operations that stand
  // in it; the composed map uses only what is outside.
  Location loc = access.op->getLoc();
  AffineMap map = access.map.getAffineMap();
  ValueRange operands = access.map.getOperands();
  Type type = accessedValue(access.op).getType();
  if (auto vector = dyn_cast<VectorType>(type))
    return AffineVectorLoadOp::create(builder, loc, vector, access.memref, map,
                                      operands);
  return AffineLoadOp::create(builder, loc, access.memref, map, operands);
}

/// Carries one location in registers through `loop`, and returns the new loop.
static AffineForOp carrySpot(AffineForOp loop, Spot &spot,
                             IRRewriter &rewriter) {
  const Access &first = spot.accesses.front();
  AffineMap map = first.map.getAffineMap();
  SmallVector<Value> operands(first.map.getOperands());
  Value memref = first.memref;
  Location loc = first.op->getLoc();
  Location storeLoc = loc;
  rewriter.setInsertionPoint(loop);
  Value initial = loadBeside(rewriter, first)->getResult(0);
  auto newLoop = cast<AffineForOp>(*loop.replaceWithAdditionalYields(
      rewriter, initial, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
        Value current = arguments.back();
        for (const Access &access : spot.accesses) {
          if (access.isWrite) {
            current = accessedValue(access.op);
            storeLoc = access.op->getLoc();
          } else {
            rewriter.replaceAllUsesWith(access.op->getResult(0), current);
          }
          rewriter.eraseOp(access.op);
        }
        return SmallVector<Value>{current};
      }));
  rewriter.setInsertionPointAfter(newLoop);
  Value final = newLoop.getResults().back();
  if (isa<VectorType>(final.getType()))
    AffineVectorStoreOp::create(rewriter, storeLoc, final, memref, map,
                                operands);
  else
    AffineStoreOp::create(rewriter, storeLoc, final, memref, map, operands);
  return newLoop;
}

//===----------------------------------------------------------------------===//
// Forwarding within blocks
//===----------------------------------------------------------------------===//

namespace {
/// What a location is known to hold.
struct KnownValue {
  Access access;
  Value value;
  /// The store that put it there, while nothing may have read it.
  Operation *unreadStore = nullptr;
};
using KnownValues = std::vector<KnownValue>;

/// Walks blocks in program order with the values that spots hold.
class Forwarder {
public:
  explicit Forwarder(IRRewriter &rewriter) : rewriter(rewriter) {}
  void runOnBlock(Block &block, KnownValues known);
  unsigned numForwarded = 0, numErased = 0;

private:
  void visitRegions(Operation *op, KnownValues &known);
  void visitLoad(const Access &access, KnownValues &known);
  void visitStore(const Access &access, KnownValues &known);
  void visitEffects(ArrayRef<Access> accesses, KnownValues &known);

  IRRewriter &rewriter;
};
} // namespace

/// Forgets what the accesses may write, and keeps stores they may read.
void Forwarder::visitEffects(ArrayRef<Access> accesses, KnownValues &known) {
  for (const Access &access : accesses) {
    if (known.empty())
      return;
    if (access.isWrite)
      llvm::erase_if(known, [&](const KnownValue &entry) {
        return mayOverlap(entry.access, access);
      });
    else
      for (KnownValue &entry : known)
        if (entry.unreadStore && mayOverlap(entry.access, access))
          entry.unreadStore = nullptr;
  }
}

void Forwarder::visitLoad(const Access &access, KnownValues &known) {
  for (KnownValue &entry : known) {
    if (!isSameSpot(entry.access, access))
      continue;
    rewriter.replaceOp(access.op, entry.value);
    ++numForwarded;
    return;
  }
  visitEffects(access, known);
  known.push_back({access, accessedValue(access.op), nullptr});
}

void Forwarder::visitStore(const Access &access, KnownValues &known) {
  Value value = accessedValue(access.op);
  for (KnownValue &entry : known) {
    if (!isSameSpot(entry.access, access))
      continue;
    Operation *dead = entry.value == value ? access.op : entry.unreadStore;
    if (!dead)
      break;
    rewriter.eraseOp(dead);
    ++numErased;
    if (dead == access.op)
      return;
    break;
  }
  visitEffects(access, known);
  known.push_back({access, value, access.op});
}

void Forwarder::visitRegions(Operation *op, KnownValues &known) {
  SmallVector<Access, 4> accesses;
  collectAccesses(op, accesses);
  bool isBranch = isa<AffineIfOp, scf::IfOp>(op);
  bool isLoop = isa<AffineForOp, AffineParallelOp, scf::ForOp>(op);
  // A branch sees what is known before it; a loop only what none of its
  // iterations may overwrite. Nothing inside may erase a store from outside,
  // for the region may not run.
  KnownValues inherited;
  if (isBranch || isLoop) {
    inherited = known;
    for (KnownValue &entry : inherited)
      entry.unreadStore = nullptr;
    if (isLoop)
      visitEffects(accesses, inherited);
    // Hand down only what can be used there, to keep deep nests linear.
    llvm::erase_if(inherited, [&](const KnownValue &entry) {
      return llvm::none_of(accesses, [&](const Access &access) {
        return access.memref == entry.access.memref;
      });
    });
  }
  for (Region &region : op->getRegions())
    for (Block &block : region)
      runOnBlock(block, region.hasOneBlock() ? inherited : KnownValues());
  // Loads inside that were forwarded no longer read.
  accesses.clear();
  collectAccesses(op, accesses);
  visitEffects(accesses, known);
}

void Forwarder::runOnBlock(Block &block, KnownValues known) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (op.getNumRegions()) {
      visitRegions(&op, known);
      continue;
    }
    SmallVector<Access, 2> accesses;
    collectAccesses(&op, accesses);
    if (accesses.empty())
      continue;
    if (accesses.size() != 1 || !accesses.front().isAffine() ||
        !accessedValue(&op))
      visitEffects(accesses, known);
    else if (accesses.front().isWrite)
      visitStore(accesses.front(), known);
    else
      visitLoad(accesses.front(), known);
  }
}

//===----------------------------------------------------------------------===//
// Values carried twice
//===----------------------------------------------------------------------===//

/// With how many others carried by a loop a value is compared.
static constexpr unsigned maxCompared = 16;

/// The loop that carries a value, of which this is what an iteration begins
/// with, or the loop ends with, and the value's number.
static std::pair<AffineForOp, unsigned> getCarried(Value value) {
  if (auto result = dyn_cast<OpResult>(value))
    return {dyn_cast<AffineForOp>(result.getOwner()), result.getResultNumber()};
  auto argument = cast<BlockArgument>(value);
  auto loop = dyn_cast<AffineForOp>(argument.getOwner()->getParentOp());
  if (!loop || argument.getArgNumber() == 0)
    return {};
  return {loop, argument.getArgNumber() - 1};
}

/// True if the two are the same in all iterations. What has to be the same for
/// that is collected, until it is found to be so, to follow from what else is
/// in the list, or not to be.
static bool areAlwaysEqual(AffineForOp loop, unsigned a, unsigned b) {
  llvm::SmallDenseSet<std::pair<Value, Value>, 16> assumed;
  SmallVector<std::pair<Value, Value>> open;
  auto assume = [&](Value left, Value right) {
    if (left != right && assumed.insert({left, right}).second)
      open.push_back({left, right});
    return success();
  };
  (void)assume(loop.getRegionIterArgs()[a], loop.getRegionIterArgs()[b]);
  while (!open.empty()) {
    auto [left, right] = open.pop_back_val();
    if (left.getType() != right.getType())
      return false;
    auto [carrier, leftNumber] = getCarried(left);
    auto [other, rightNumber] = getCarried(right);
    if (carrier || other) {
      if (carrier != other || isa<OpResult>(left) != isa<OpResult>(right))
        return false;
      (void)assume(carrier.getInits()[leftNumber],
                   carrier.getInits()[rightNumber]);
      (void)assume(carrier.getYieldedValues()[leftNumber],
                   carrier.getYieldedValues()[rightNumber]);
      // By which the yielded ones, and so results, are the same.
      (void)assume(carrier.getRegionIterArgs()[leftNumber],
                   carrier.getRegionIterArgs()[rightNumber]);
      continue;
    }
    auto leftResult = dyn_cast<OpResult>(left),
         rightResult = dyn_cast<OpResult>(right);
    if (!leftResult || !rightResult ||
        leftResult.getResultNumber() != rightResult.getResultNumber())
      return false;
    Operation *one = leftResult.getOwner(), *two = rightResult.getOwner();
    if (one->getNumRegions() || !isMemoryEffectFree(one) ||
        !OperationEquivalence::isEquivalentTo(
            one, two, assume, /*markEquivalent=*/nullptr,
            OperationEquivalence::IgnoreLocations))
      return false;
  }
  return true;
}

/// The values of `loop` to carry, by number, each with those that are always
/// equal to it.
static llvm::MapVector<unsigned, SmallVector<unsigned, 1>>
groupCarried(AffineForOp loop) {
  llvm::MapVector<unsigned, SmallVector<unsigned, 1>> groups;
  for (unsigned i = 0, e = loop.getNumIterOperands(); i < e; ++i) {
    unsigned compared = 0;
    auto *group = llvm::find_if(groups, [&](const auto &entry) {
      return ++compared <= maxCompared && areAlwaysEqual(loop, entry.first, i);
    });
    if (group == groups.end())
      groups[i];
    else
      group->second.push_back(i);
  }
  return groups;
}

/// Carries once what `loop` carries twice.
static void mergeCarriedBy(AffineForOp loop, IRRewriter &rewriter) {
  auto groups = groupCarried(loop);
  unsigned numDropped = loop.getNumIterOperands() - groups.size();
  if (numDropped == 0)
    return;
  SmallVector<Value> inits, yields;
  for (const auto &[kept, dropped] : groups) {
    inits.push_back(loop.getInits()[kept]);
    yields.push_back(loop.getYieldedValues()[kept]);
  }
  rewriter.setInsertionPoint(loop);
  AffineForOp merged =
      copyLoop(rewriter, loop.getLoc(), loop, /*mapping=*/{}, inits);
  merged->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  SmallVector<Operation *> dead;
  SmallVector<Value> arguments(loop.getBody()->getNumArguments());
  arguments[0] = merged.getInductionVar();
  for (const auto &[i, group] : llvm::enumerate(groups)) {
    arguments[1 + group.first] = merged.getRegionIterArgs()[i];
    rewriter.replaceAllUsesWith(loop.getResult(group.first),
                                merged.getResult(i));
    for (unsigned dropped : group.second) {
      arguments[1 + dropped] = merged.getRegionIterArgs()[i];
      rewriter.replaceAllUsesWith(loop.getResult(dropped), merged.getResult(i));
      if (Operation *op = loop.getYieldedValues()[dropped].getDefiningOp())
        dead.push_back(op);
    }
  }
  loop.getBody()->getTerminator()->setOperands(yields);
  rewriter.mergeBlocks(loop.getBody(), merged.getBody(), arguments);
  rewriter.eraseOp(loop);
  eraseDead(dead);
  remark(RemarkKind::Applied, merged.getLoc(), passName,
         "carried once what was carried twice")
      << arg("values", numDropped);
}

/// Merges what loops carry from the outermost one on: what a loop inside begins
/// with is then one value.
static void mergeCarried(func::FuncOp function, IRRewriter &rewriter) {
  SmallVector<AffineForOp> loops;
  function.walk<WalkOrder::PreOrder>([&](AffineForOp loop) {
    if (loop.getNumIterOperands() > 1 && loop.getStepAsInt() > 0)
      loops.push_back(loop);
  });
  for (AffineForOp loop : loops)
    mergeCarriedBy(loop, rewriter);
}

/// Puts what fills single elements, in loops that run once each, beside what
/// reads them.
static void unwrapFills(func::FuncOp function) {
  for (Block &block : function.getBody())
    for (AffineForOp loop : llvm::to_vector(block.getOps<AffineForOp>())) {
      auto fills = [&](Operation &op) {
        auto store = dyn_cast<AffineStoreOp>(op);
        return isa<AffineYieldOp>(op) ||
               (store && loop.isDefinedOutsideOfLoop(store.getValueToStore()));
      };
      if (loop.getNumResults() == 0 && loop.getStepAsInt() > 0 &&
          getTripCount(loop) == uint64_t(1) &&
          llvm::all_of(*loop.getBody(), fills))
        (void)promoteIfSingleIteration(loop);
    }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ReplaceScalarsPass : impl::ReplaceScalarsBase<ReplaceScalarsPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    unwrapFills(getOperation());
    SmallVector<AffineForOp> loops;
    // The parser lets a step of zero through; such a loop never ends.
    getOperation()->walk([&](AffineForOp loop) {
      if (loop.getStepAsInt() > 0)
        loops.push_back(loop);
    });
    unsigned declined = 0;
    // Innermost first: what an inner loop carries is loaded and stored beside
    // it, where the loop around can pick it up.
    for (AffineForOp loop : loops) {
      if (AffineIfOp guard = getInvariantGuard(loop))
        hoistGuard(loop, guard);
      SmallVector<Spot, 2> spots = collectSpots(loop, declined);
      if (spots.empty())
        continue;
      bool needsGuard = llvm::any_of(spots, [&](const Spot &spot) {
        return !existsIfLoopDoesNotRun(loop, spot.accesses.front());
      });
      if (needsGuard && loop.getNumResults()) {
        ++declined;
        remark(RemarkKind::Declined, loop.getLoc(), passName,
               "loop may not run, and has results");
        continue;
      }
      if (needsGuard)
        guardLoop(loop);
      for (Spot &spot : spots) {
        remark(RemarkKind::Applied, spot.accesses.front().op->getLoc(),
               passName, "location carried in a register")
            << arg("accesses", spot.accesses.size())
            << arg("guarded", needsGuard);
        loop = carrySpot(loop, spot, rewriter);
        ++numApplied;
      }
    }
    numDeclined += declined;
    Forwarder forwarder(rewriter);
    for (Block &block : getOperation().getBody())
      forwarder.runOnBlock(block, {});
    numForwarded += forwarder.numForwarded;
    numErased += forwarder.numErased;
    mergeCarried(getOperation(), rewriter);
  }
};
} // namespace

} // namespace polynest
