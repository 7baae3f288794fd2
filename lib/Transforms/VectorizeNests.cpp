//===- VectorizeNests.cpp - vectorize one loop of every nest --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: in each affine nest picks the loops to run in vector lanes, at any
// depth, and vectorizes them in place: loops inside keep their bounds and carry
// vectors. The interior runs without masks; what is left at the end is done by
// narrower vectors, by one vector moved back to end with the loop, or by the
// scalar loop.
// Legal when: the loop carries no dependence (loopIsParallel), or only
// reductions of iter_args with an associative and commutative operation, whose
// order of accumulation is free (numerics (a); products summed there become
// fused, numerics (b)), searches of a value and its place (Analysis/Search.h),
// and scans with such an operation, which show it in each iteration;
// bounds and conditions inside do not depend on it; all that depends on it is
// elementwise, a load, a store (of whole rows, where data choose them), an
// assertion, or a select of values that may be computed without asking. A
// vector is moved back only where running an iteration twice changes nothing.
// Profitable when: the cost of the vector code, counted in operations with
// memory accesses weighed by how their lanes lie (contiguous 1, strided s in
// one row 2 s - 1, lane by lane 2 an element), is below that of the scalar code
// with its own loops vectorized at best. One choice for each nest, by dynamic
// programming over the tree of loops. Limits: one upper bound that is not a
// whole number of vectors away; no masks; conditions that depend on the loop
// only without memory accesses. Cost: operations of the nest times its depth;
// one dependence question a loop that would be worth it.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Aliasing.h"
#include "Analysis/Dependence.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "Transforms/VectorizeUtils.h"
#include "Transforms/Window.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace polynest {
#define GEN_PASS_DEF_VECTORIZENESTS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-vectorize-nests"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "vectorize-nests";

/// What the pass knows of the machine.
struct VectorMachine {
  unsigned widthBits, registers, fmaLatency, fmaPorts;
  /// Bytes from which on no cache holds an array; 0: any is held.
  uint64_t farBytes;
};

/// Sums that carry a reduction, to the product each of them adds or null.
using Accumulations = llvm::DenseMap<Operation *, Operation *>;

static bool isMarked(Operation *op) { return op->hasAttr(kVectorized); }

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// The product that `sum` adds to `accumulator`, if nothing else needs it.
static Operation *findProduct(Operation *sum, Value accumulator) {
  if (!isa<arith::AddFOp>(sum) || !sum->getResult(0).getType().isF32())
    if (!isa<arith::AddFOp>(sum) || !sum->getResult(0).getType().isF64())
      return nullptr;
  Value addend = sum->getOperand(0) == accumulator ? sum->getOperand(1)
                                                   : sum->getOperand(0);
  auto product = addend.getDefiningOp<arith::MulFOp>();
  return product && product->hasOneUse() ? product.getOperation() : nullptr;
}

/// Follows each value that a loop carries: where it goes through sums only, and
/// through loops inside, those sums are a reduction.
static void collectAccumulations(Operation *root, Accumulations &sums) {
  root->walk([&](AffineForOp loop) {
    for (BlockArgument argument : loop.getRegionIterArgs()) {
      SmallVector<std::pair<Operation *, Operation *>> chain;
      Value value = argument;
      while (value && value.hasOneUse()) {
        OpOperand &use = *value.use_begin();
        Operation *user = use.getOwner();
        if (isa<arith::AddFOp, arith::AddIOp, arith::MaximumFOp,
                arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(user)) {
          chain.push_back({user, findProduct(user, value)});
          value = user->getResult(0);
        } else if (auto inner = dyn_cast<AffineForOp>(user)) {
          auto inits = inner.getInits();
          if (use.getOperandNumber() < inits.getBeginOperandIndex())
            break;
          value = inner.getResult(use.getOperandNumber() -
                                  inits.getBeginOperandIndex());
        } else {
          if (user == loop.getBody()->getTerminator())
            for (auto [sum, product] : chain)
              sums[sum] = product;
          break;
        }
      }
    }
    for (unsigned i = 0, e = loop.getNumResults(); i < e; ++i)
      if (std::optional<Reduction> scan = matchScan(loop, i))
        sums.insert({scan->combiner, nullptr});
  });
}

/// The reductions, searches and scans of all values the loop carries, in their
/// order; false if one is neither. Scans of products stay in order: parts of
/// them may overflow where a zero comes first.
static bool matchReductions(AffineForOp loop, LaneFacts &facts) {
  // Those in memory, for which accesses are needed, are not values.
  SmallVector<Reduction, 2> found = carriedReductions(loop, /*accesses=*/{});
  facts.searches = findSearches(loop);
  for (unsigned i = 0, e = loop.getNumResults(); i < e; ++i) {
    if (!VectorType::isValidElementType(loop.getResult(i).getType()))
      return false;
    if (isSearched(facts.searches, i)) {
      facts.reductions.emplace_back().iterArg = i;
      continue;
    }
    auto reduction = llvm::find_if(found, [&](const Reduction &reduction) {
      return reduction.iterArg == i && reduction.combiner;
    });
    if (reduction != found.end()) {
      facts.reductions.push_back(*reduction);
      continue;
    }
    std::optional<Reduction> scan = matchScan(loop, i);
    if (!scan || scan->kind == arith::AtomicRMWKind::mulf)
      return false;
    facts.reductions.push_back(*scan);
    facts.scans.insert(scan->combiner);
  }
  return true;
}

/// One round of spreading "may differ between lanes" through a block; true if
/// anything changed.
static bool spreadVarying(Block &block, LaneFacts &facts) {
  bool changed = false;
  auto set = [&](Value value) {
    changed |= facts.varying.insert(value).second;
  };
  for (Operation &op : block.without_terminator()) {
    if (auto loop = dyn_cast<AffineForOp>(op)) {
      for (auto [init, argument, yielded, result] :
           llvm::zip_equal(loop.getInits(), loop.getRegionIterArgs(),
                           loop.getYieldedValues(), loop.getResults()))
        if (facts.isVarying(init) || facts.isVarying(yielded)) {
          set(argument);
          set(result);
        }
      changed |= spreadVarying(*loop.getBody(), facts);
      continue;
    }
    if (isa<AffineIfOp, scf::IfOp>(op)) {
      for (Region &region : op.getRegions()) {
        if (region.empty())
          continue;
        changed |= spreadVarying(region.front(), facts);
        Operation *yield = region.front().getTerminator();
        for (auto [value, result] :
             llvm::zip_equal(yield->getOperands(), op.getResults()))
          if (facts.isVarying(value))
            set(result);
      }
    }
    if (llvm::any_of(op.getOperands(),
                     [&](Value value) { return facts.isVarying(value); }))
      for (Value result : op.getResults())
        set(result);
  }
  return changed;
}

static bool hasLaneTypes(Operation *op) {
  return llvm::all_of(op->getOperandTypes(), VectorType::isValidElementType) &&
         llvm::all_of(op->getResultTypes(), VectorType::isValidElementType);
}

static bool anyVarying(ValueRange values, const LaneFacts &facts) {
  return llvm::any_of(values,
                      [&](Value value) { return facts.isVarying(value); });
}

/// Why a block cannot be run in lanes; empty if it can. With `mustSpeculate`
/// the block runs for lanes that did not ask for it.
static StringRef whyNotInLanes(Block &block, const LaneFacts &facts, Value iv,
                               bool mustSpeculate) {
  for (Operation &op : block.without_terminator()) {
    auto isVector = [](Type type) { return isa<VectorType>(type); };
    if (isMarked(&op) || llvm::any_of(op.getOperandTypes(), isVector) ||
        llvm::any_of(op.getResultTypes(), isVector))
      return "nest holds vectors already";
    if (mustSpeculate && (op.getNumRegions() || !isMemoryEffectFree(&op) ||
                          !isSpeculatable(&op)))
      return "conditional code cannot run unasked";
    if (auto loop = dyn_cast<AffineForOp>(op)) {
      if (loop.getStepAsInt() <= 0)
        return "inner loop has step 0";
      if (anyVarying(loop.getLowerBoundOperands(), facts) ||
          anyVarying(loop.getUpperBoundOperands(), facts))
        return "bounds of an inner loop depend on the loop";
      for (BlockArgument argument : loop.getRegionIterArgs())
        if (facts.isVarying(argument) &&
            !VectorType::isValidElementType(argument.getType()))
          return "inner loop carries a type that has no vectors";
      StringRef why = whyNotInLanes(*loop.getBody(), facts, iv, false);
      if (!why.empty())
        return why;
      continue;
    }
    if (isa<AffineIfOp, scf::IfOp>(op)) {
      bool isVarying = anyVarying(op.getOperands(), facts);
      if (isVarying && (isa<AffineIfOp>(op) || op.getNumResults() == 0))
        return "condition depends on the loop";
      for (Value result : op.getResults())
        if (facts.isVarying(result) &&
            !VectorType::isValidElementType(result.getType()))
          return "condition selects a type that has no vectors";
      for (Region &region : op.getRegions()) {
        if (region.empty())
          continue;
        StringRef why = whyNotInLanes(region.front(), facts, iv, isVarying);
        if (!why.empty())
          return why;
      }
      continue;
    }
    if (auto load = dyn_cast<AffineLoadOp>(op)) {
      if (facts.isVarying(load.getMemRef()) ||
          !VectorType::isValidElementType(load.getType()))
        return "loaded type has no vectors";
      continue;
    }
    if (auto store = dyn_cast<AffineStoreOp>(op)) {
      Value memref = store.getMemRef();
      if (facts.isVarying(memref) ||
          !VectorType::isValidElementType(store.getValueToStore().getType()))
        return "stored type has no vectors";
      if (!llvm::is_contained(getIndexMap(store).getOperands(), iv))
        return "all iterations store to one location";
      continue;
    }
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      if (facts.isVarying(load.getMemRef()) ||
          !VectorType::isValidElementType(load.getType()))
        return "loaded type has no vectors";
      continue;
    }
    if (auto store = dyn_cast<memref::StoreOp>(op)) {
      if (facts.isVarying(store.getMemRef()) ||
          !VectorType::isValidElementType(store.getValueToStore().getType()))
        return "stored type has no vectors";
      if (!isRowOfLanes(store, iv, facts))
        return "data choose the place of each element that is stored";
      continue;
    }
    // Unasked, assertions were excluded above.
    if (isa<AffineApplyOp, AffineMinOp, AffineMaxOp, AffinePrefetchOp,
            cf::AssertOp>(op))
      continue;
    if (op.getNumRegions() || !isMemoryEffectFree(&op))
      return "operation has effects or regions";
    if (anyVarying(op.getOperands(), facts) &&
        (!OpTrait::hasElementwiseMappableTraits(&op) || !hasLaneTypes(&op)))
      return "operation is not elementwise";
  }
  for (Value value : block.getTerminator()->getOperands())
    if (facts.isVarying(value) &&
        !VectorType::isValidElementType(value.getType()))
      return "yielded type has no vectors";
  return {};
}

/// True if running an iteration again with nothing else in between stores the
/// same again: nothing that is stored is loaded.
static bool isRepeatable(AffineForOp loop) {
  SmallVector<Access, 4> accesses;
  collectAccesses(loop, accesses);
  llvm::SmallSetVector<Value, 8> read, written;
  for (const Access &access : accesses) {
    if (!access.memref)
      return false;
    (access.isWrite ? written : read).insert(access.memref);
  }
  for (Value store : written)
    for (Value load : read)
      if (mayAlias(store, load))
        return false;
  return loop.getNumResults() == 0;
}

/// What runs in lanes if `loop` does, or why it cannot. Asks everything but
/// dependences, which cost most.
static StringRef findFacts(AffineForOp loop, const Accumulations &sums,
                           LaneFacts &facts) {
  if (loop.getStepAsInt() <= 0)
    return "step is 0";
  if (isMarked(loop))
    return "vectorized already";
  if (!matchReductions(loop, facts))
    return "loop carries a value that is no reduction";
  facts.varying.insert(loop.getInductionVar());
  for (BlockArgument argument : loop.getRegionIterArgs())
    facts.varying.insert(argument);
  while (spreadVarying(*loop.getBody(), facts))
    ;
  StringRef why = whyNotInLanes(*loop.getBody(), facts, loop.getInductionVar(),
                                /*mustSpeculate=*/false);
  if (!why.empty())
    return why;
  loop->walk([&](Operation *op) {
    auto found = sums.find(op);
    if (found == sums.end() || !found->second ||
        !facts.isVarying(op->getResult(0)) ||
        !loop->isProperAncestor(found->second))
      return;
    facts.products[op] = found->second;
    facts.fusedProducts.insert(found->second);
  });
  findSquares(loop, facts);
  facts.isRepeatable = isRepeatable(loop);
  return {};
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Iterations assumed where nothing is known.
static constexpr double guessedTrips = 256;

static double getTrips(AffineForOp loop) {
  std::optional<TripInfo> trip = getTripInfo(loop);
  if (trip && trip->exact)
    return double(*trip->exact);
  if (trip && trip->most)
    return double(*trip->most);
  return guessedTrips;
}

/// Cost of one scalar operation other than memory accesses, in operations that
/// issue at one a cycle.
static double getOpCost(Operation *op) {
  if (isa<arith::ConstantOp, AffineApplyOp, AffineYieldOp, scf::YieldOp>(op))
    return 0;
  if (isa<arith::DivFOp, math::SqrtOp>(op))
    return 5;
  if (isa<arith::RemFOp>(op))
    return 20;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
          arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    return 10;
  if (isa<math::FmaOp, math::AbsFOp, math::AbsIOp, math::CopySignOp,
          math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp>(op))
    return 1;
  if (isa<math::MathDialect>(op->getDialect()))
    return 15;
  return 1;
}

static bool isScalarizedByBackend(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
             arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp,
             arith::RemFOp>(op);
}

static unsigned getBits(Type type) {
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 64;
}

namespace {
/// Counts what one iteration costs.
struct CostModel {
  const VectorMachine &machine;
  const Accumulations &sums;
  const LaneFacts &facts;
  Value iv;
  LaneLattice lattice;
  unsigned interleave;
  /// Independent chains of accumulation in one vector.
  unsigned chains;
  /// All that the nest touches stays in caches.
  bool isNear;

  double registersOf(Type type) const {
    return std::max(1.0,
                    double(getBits(type)) * lattice.width / machine.widthBits);
  }
  bool inSquare(Operation *op) const;
  double ofAccess(Operation *op, Type type) const;
  double ofOp(Operation *op) const;
  double ofBlock(Block &block) const;
};
} // namespace

bool CostModel::inSquare(Operation *op) const {
  auto found = facts.squares.find(op->getParentOp());
  return found != facts.squares.end() && lattice.width <= maxSquareLanes &&
         llvm::is_contained(found->second, op);
}

double CostModel::ofAccess(Operation *op, Type type) const {
  double vectors = registersOf(type);
  LaneAccess lanes = classifyLanes(op, iv, lattice);
  switch (lanes.form) {
  case LaneForm::Uniform:
    return 1;
  case LaneForm::Contiguous:
    return vectors;
  case LaneForm::Reversed:
    return 2 * vectors;
  case LaneForm::Strided:
    return double(2 * lanes.stride - 1) * vectors;
  case LaneForm::Separate:
    // One load or store a vector, and its part of turning the square, which
    // goes through memory where sums leave it no registers.
    if (inSquare(op)) {
      bool hasRoom = lattice.width + chains * interleave < machine.registers;
      return vectors * (1 + (hasRoom ? 1 : 2) * llvm::Log2_32(lattice.width));
    }
    return 2 * lattice.width;
  }
  return 2 * lattice.width;
}

double CostModel::ofOp(Operation *op) const {
  if (auto load = dyn_cast<AffineLoadOp>(op))
    return ofAccess(op, load.getType());
  if (auto store = dyn_cast<AffineStoreOp>(op))
    return ofAccess(op, store.getValueToStore().getType());
  if (auto loop = dyn_cast<AffineForOp>(op))
    return getTrips(loop) * (1 + ofBlock(*loop.getBody()));
  if (op->getNumRegions()) {
    double cost = 1;
    for (Region &region : op->getRegions())
      if (!region.empty())
        cost += ofBlock(region.front());
    return cost;
  }
  if (facts.fusedProducts.contains(op))
    return 0;
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return registersOf(store.getValueToStore().getType());
  if (!anyVarying(op->getResults(), facts))
    // Once for all interleaved vectors.
    return getOpCost(op) / interleave;
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return classifyLanes(load, iv, facts, lattice).form == LaneForm::Contiguous
               ? registersOf(load.getType())
               : 4 * lattice.width;
  if (isScalarizedByBackend(op))
    return lattice.width * (getOpCost(op) + 2);
  double vectors = 0;
  for (Type type : op->getResultTypes())
    vectors = std::max(vectors, registersOf(type));
  if (facts.scans.contains(op))
    // A shuffle and a combination a step, and three to go on. Shuffles start
    // less often, which counts where memory is not waited for: there squares
    // take less, although they read and write many rows at once.
    return std::max(vectors *
                        ((isNear ? 3 : 2) * llvm::Log2_32(lattice.width) + 3),
                    double(machine.fmaLatency));
  if (sums.contains(op))
    // One chain each interleaved vector: bound by latency or by ports.
    return std::max(vectors / machine.fmaPorts,
                    double(machine.fmaLatency) / (interleave * chains));
  return getOpCost(op) * vectors;
}

double CostModel::ofBlock(Block &block) const {
  double cost = 0;
  for (Operation &op : block.without_terminator())
    cost += ofOp(&op);
  return cost;
}

/// The widest element that lanes hold, without indices, which are mostly
/// folded into addresses.
static unsigned getWidestBits(AffineForOp loop, const LaneFacts &facts) {
  // Bits are handled as bytes.
  unsigned widest = 0;
  loop->walk([&](Operation *op) {
    auto consider = [&](Value value) {
      if (facts.isVarying(value) && value.getType().isIntOrFloat())
        widest = std::max(widest, value.getType().getIntOrFloatBitWidth());
    };
    llvm::for_each(op->getResults(), consider);
    if (auto store = dyn_cast<AffineStoreOp>(op))
      widest = std::max(widest, getBits(store.getValueToStore().getType()));
    if (auto store = dyn_cast<memref::StoreOp>(op))
      widest = std::max(widest, getBits(store.getValueToStore().getType()));
  });
  return widest ? std::max(widest, 8u) : 64;
}

/// The most accumulators that any one loop inside carries; 0 if none does.
static unsigned countAccumulators(AffineForOp loop, const LaneFacts &facts) {
  unsigned most = 0;
  loop->walk([&](AffineForOp inner) {
    unsigned count =
        llvm::count_if(inner.getRegionIterArgs(), [&](BlockArgument argument) {
          return facts.isVarying(argument);
        });
    most = std::max(most, count);
  });
  return most;
}

static unsigned countOps(AffineForOp loop) {
  unsigned count = 0;
  loop->walk([&](Operation *op) {
    count +=
        !isa<AffineForOp, AffineApplyOp, AffineYieldOp, arith::ConstantOp>(op);
  });
  return count;
}

/// Those of them that each vector needs one of.
static unsigned countLaneOps(AffineForOp loop, const LaneFacts &facts) {
  unsigned count = 0;
  loop->walk([&](Operation *op) {
    count += isa<AffineStoreOp, memref::StoreOp>(op) ||
             (!isa<AffineForOp, AffineApplyOp>(op) &&
              anyVarying(op->getResults(), facts));
  });
  return count;
}

/// Functions of the lanes that are computed. One is a long chain of operations;
/// polynest-lower-math lets those of a few vectors take turns.
static unsigned countFunctions(AffineForOp loop, const LaneFacts &facts) {
  unsigned count = 0;
  loop->walk([&](Operation *op) {
    count += isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
             getOpCost(op) >= 15 && anyVarying(op->getResults(), facts);
  });
  return count;
}

/// Functions side by side with sums, and without. More than these, such as
/// those of several rows, leave no registers for what each of them holds: eight
/// exponentials and sums took a fifth longer than four.
static constexpr unsigned functionsOfSums = 4, functionsAlone = 3;

/// Cost for each vector of what is computed in an iteration besides
/// accumulation.
static double costBesideSums(AffineForOp loop, const LaneFacts &facts,
                             const Accumulations &sums) {
  double cost = 0;
  loop->walk([&](Operation *op) {
    if (!isa<AffineForOp, AffineLoadOp, AffineStoreOp, memref::StoreOp>(op) &&
        !sums.contains(op) && !facts.fusedProducts.contains(op) &&
        anyVarying(op->getResults(), facts))
      cost += getOpCost(op);
  });
  return cost;
}

/// Bits of a cache line, nearly everywhere.
static constexpr unsigned lineBits = 512;

/// True for a load or store that is contiguous along the lanes of `loop`.
static bool movesAlongLanes(Operation *op, AffineForOp loop) {
  return isa<AffineLoadOp, AffineStoreOp>(op) &&
         classifyLanes(op, loop.getInductionVar(), LaneLattice()).form ==
             LaneForm::Contiguous;
}

/// Most vectors an iteration where squares are turned. Rows of them often lie a
/// power of two apart, in a few sets of the first cache: more rows at once than
/// it has ways throw each other out, and so one vector of lanes is enough. What
/// moves along the lanes in the same loop should fill a line, though.
static unsigned mostOfSquares(AffineForOp loop, const LaneFacts &facts,
                              unsigned width) {
  unsigned bits = lineBits;
  for (const auto &[inner, accesses] : facts.squares)
    for (Operation &op : *cast<AffineForOp>(inner).getBody())
      if (movesAlongLanes(&op, loop)) {
        auto store = dyn_cast<AffineStoreOp>(op);
        bits = std::min(
            bits, width * getBits(store ? store.getValueToStore().getType()
                                        : op.getResult(0).getType()));
      }
  return std::max(1u, lineBits / bits);
}

/// Bytes of a row that are written before the next rows are: enough for memory
/// and its prefetchers, and few enough that the rows read across, one in a page
/// each, stay in the address translation until the next lines of them are.
static constexpr int64_t bytesOfBlock = 2048;
/// What is read across of a block should stay in the first cache where that
/// leaves blocks of this many elements: short rows are read in pieces of a
/// line.
static constexpr int64_t bytesAcross = 32 * 1024, leastOfBlock = 64;

namespace {
/// How two loops around squares run: `rows` of the inner one before the lanes
/// move on, and `lanes` of the outer one, if not 0, before the rows do.
struct SquareOrder {
  AffineForOp loop, inner;
  int64_t rows = 0, lanes = 0;
};
} // namespace

/// Bits of what the loop stores, where it all moves along the lanes of `loop`;
/// 0 if some does not.
static int64_t bitsStoredAlongLanes(AffineForOp inner, AffineForOp loop) {
  int64_t bits = 0;
  for (auto store : inner.getBody()->getOps<AffineStoreOp>()) {
    if (!movesAlongLanes(store, loop))
      return 0;
    bits = std::max<int64_t>(bits, getBits(store.getValueToStore().getType()));
  }
  return bits;
}

/// Lanes of a block of about `wanted`: a divisor of all of them if one is near.
static int64_t chooseLanes(AffineForOp loop, int64_t wanted, int64_t line) {
  std::optional<uint64_t> trips = getTripCount(loop);
  if (!loop.hasConstantLowerBound() || loop.getStepAsInt() != 1 ||
      loop.getUpperBoundMap().getNumResults() != 1 ||
      (trips && *trips <= uint64_t(2 * wanted)))
    return 0;
  for (int64_t off = 0; trips && off <= wanted / 2; off += line)
    for (int64_t lanes : {wanted - off, wanted + off})
      if (*trips % uint64_t(lanes) == 0)
        return lanes;
  return wanted;
}

/// Elements of a block along rows of elements of `bits` while `across` goes
/// over the lines that are read for them.
static int64_t chooseBlock(AffineForOp across, int64_t bits) {
  int64_t block = bytesOfBlock * 8 / bits;
  std::optional<int64_t> trips = getSmallTripCount(across);
  if (!trips || *trips * leastOfBlock * bits > bytesAcross * 8)
    return block;
  int64_t kept = bytesAcross * 8 / (std::max<int64_t>(*trips, 1) * bits);
  return std::min(block, kept - kept % leastOfBlock);
}

/// The loop that stands alone in that of a plan and turns squares; null if none
/// does.
static AffineForOp getSquareLoop(const VectorPlan &plan) {
  AffineForOp loop = plan.loop;
  auto inner = dyn_cast<AffineForOp>(loop.getBody()->front());
  if (!inner || inner->getNextNode() != loop.getBody()->getTerminator() ||
      loop.getNumResults() || inner.getNumResults() ||
      !plan.facts.squares.contains(inner) || plan.width > maxSquareLanes)
    return {};
  return inner;
}

/// The inner loop of a plan whose loops should trade places: as they are, more
/// accesses go through squares than would then.
static AffineForOp findLoopToSwap(const VectorPlan &plan,
                                  DependenceAnalysis &dependences) {
  AffineForOp inner = getSquareLoop(plan);
  if (!inner)
    return {};
  size_t others = llvm::count_if(*inner.getBody(), [&](Operation &op) {
    return movesAlongLanes(&op, plan.loop);
  });
  if (others >= plan.facts.squares.at(inner).size())
    return {};
  return dependences.loopIsParallel(inner) ? inner : AffineForOp();
}

/// The order for a plan whose loops around squares should run otherwise: all
/// their iterations are independent, and memory is walked in two directions.
/// Of both, that of the stores is the inner one.
static std::optional<SquareOrder>
findSquareOrder(const VectorPlan &plan, DependenceAnalysis &dependences) {
  AffineForOp loop = plan.loop, inner = getSquareLoop(plan);
  if (!inner || !inner.hasConstantLowerBound() ||
      llvm::none_of(*inner.getBody(),
                    [&](Operation &op) { return movesAlongLanes(&op, loop); }))
    return std::nullopt;
  SquareOrder order{loop, inner};
  std::optional<uint64_t> trips = getTripCount(inner);
  if (int64_t bits = bitsStoredAlongLanes(inner, loop)) {
    order.rows = std::max<int64_t>(lineBits / bits, plan.width);
    order.lanes = chooseLanes(loop, chooseBlock(inner, bits), order.rows);
    if (trips && *trips < uint64_t(8 * order.rows))
      return std::nullopt;
  } else {
    order.rows = chooseBlock(loop, getWidestBits(loop, plan.facts));
    if (trips && *trips <= uint64_t(2 * order.rows))
      return std::nullopt;
  }
  if (!dependences.loopIsParallel(inner))
    return std::nullopt;
  return order;
}

/// Puts loops over blocks of lanes and of rows around the two; gives the
/// outermost and, for the rows that are left, the old loop.
static SmallVector<AffineForOp, 2> orderSquares(const SquareOrder &order) {
  AffineForOp loop = order.loop, inner = order.inner;
  OpBuilder builder(loop);
  Location loc = inner.getLoc();
  int64_t first = inner.getConstantLowerBound();
  AffineMap upper = inner.getUpperBoundMap();
  AffineExpr whole =
      (upper.getResult(0) - first).floorDiv(order.rows) * order.rows + first;
  AffineMap middle = simplifyAffineMap(AffineMap::get(
      upper.getNumDims(), upper.getNumSymbols(), whole, loop.getContext()));
  SmallVector<Value> operands(inner.getUpperBoundOperands());
  AffineForOp lanes;
  OpBuilder inside = builder;
  if (order.lanes) {
    lanes = AffineForOp::create(
        builder, loc, loop.getLowerBoundOperands(), loop.getLowerBoundMap(),
        loop.getUpperBoundOperands(), loop.getUpperBoundMap(), order.lanes);
    inside = OpBuilder::atBlockTerminator(lanes.getBody());
  }
  auto block = AffineForOp::create(inside, loc, ValueRange(),
                                   builder.getConstantAffineMap(first),
                                   operands, middle, order.rows);
  inside = OpBuilder::atBlockTerminator(block.getBody());
  auto copy = cast<AffineForOp>(inside.clone(*loop));
  AffineExpr dim = builder.getAffineDimExpr(0);
  auto rows = cast<AffineForOp>(copy.getBody()->front());
  rows.setLowerBound(block.getInductionVar(), AffineMap::get(1, 0, dim));
  rows.setUpperBound(block.getInductionVar(),
                     AffineMap::get(1, 0, dim + order.rows));
  if (lanes) {
    copy.setLowerBound(lanes.getInductionVar(), AffineMap::get(1, 0, dim));
    AffineMap end = loop.getUpperBoundMap();
    SmallVector<Value> ends{lanes.getInductionVar()};
    llvm::append_range(ends, loop.getUpperBoundOperands());
    SmallVector<AffineExpr> results{dim + order.lanes};
    std::optional<uint64_t> trips = getTripCount(loop);
    if (!trips || *trips % uint64_t(order.lanes) != 0)
      results.push_back(end.getResult(0).shiftDims(end.getNumDims(), 1));
    end = AffineMap::get(end.getNumDims() + 1, end.getNumSymbols(), results,
                         loop.getContext());
    canonicalizeMapAndOperands(&end, &ends);
    copy.setUpperBound(ends, end);
  }
  AffineForOp made = lanes ? lanes : block;
  std::optional<uint64_t> trips = getTripCount(inner);
  if (trips && *trips % uint64_t(order.rows) == 0) {
    loop.erase();
    return {made};
  }
  inner.setLowerBound(operands, getRestBegin(inner, middle));
  return {made, loop};
}

/// Vectors side by side, of `vectors` in all, next to which several rows of a
/// window that slides along another loop find room: polynest-tile-windows takes
/// those.
static unsigned mostOfWindows(AffineForOp loop, int64_t vectors,
                              const VectorMachine &machine) {
  unsigned most = machine.registers;
  pn_model_core_t core = {};
  core.vector_registers = int32_t(machine.registers);
  core.fma_latency_cycles = int32_t(machine.fmaLatency);
  core.fma_ports = int32_t(machine.fmaPorts);
  loop->walk([&](AffineForOp inner) {
    if (inner == loop)
      return;
    if (std::optional<Window> window = findWindow(inner, loop))
      most = std::min(most, unsigned(pn_model_window_vectors(
                                &core, window->numbers.taps,
                                window->numbers.rows, vectors)));
  });
  return most;
}

/// Vectors an iteration: enough independent accumulators to hide the latency of
/// an FMA, within the registers; else a few while the body is small.
static unsigned chooseInterleave(AffineForOp loop, const LaneFacts &facts,
                                 const Accumulations &sums,
                                 const TripInfo &trip, unsigned width,
                                 const VectorMachine &machine) {
  unsigned accumulators = countAccumulators(loop, facts);
  unsigned functions = countFunctions(loop, facts);
  unsigned ops = countOps(loop);
  unsigned most;
  if (accumulators) {
    // While a vector's other operations are computed, its sum waits for none.
    double others = costBesideSums(loop, facts, sums);
    unsigned wanted = std::ceil(machine.fmaLatency * machine.fmaPorts /
                                std::max(double(accumulators), others / 2));
    if (functions)
      wanted = std::max(wanted, llvm::divideCeil(functionsOfSums, functions));
    // It may run with those behind it, in registers that they leave.
    else if (findFunctionsBehind(loop))
      wanted = std::min(wanted, functionsOfSums);
    // One register for a broadcast, two for what is loaded.
    unsigned room = (machine.registers - 3) / accumulators;
    int64_t vectors = trip.exact ? *trip.exact / width : 0;
    most = std::max(1u, std::min({wanted, room, 256 / std::max(ops, 1u),
                                  mostOfWindows(loop, vectors, machine)}));
  } else {
    ops = countLaneOps(loop, facts);
    most = ops <= 6 ? 4 : ops <= 14 ? 2 : 1;
    if (functions)
      most = std::max(most, llvm::divideCeil(functionsAlone, functions));
  }
  if (!facts.squares.empty() && width <= maxSquareLanes)
    most = std::min(most, mostOfSquares(loop, facts, width));
  if (trip.most)
    most = std::min<int64_t>(
        most, std::max<int64_t>(1, llvm::divideCeil(*trip.most, width)));
  while (most > 1 && !canSplitAt(trip, int64_t(width) * most))
    --most;
  return most;
}

/// The most vectors side by side, no fewer than half of `most`, that leave
/// nothing of a number of iterations of which only a divisor is known; 0 if
/// none do.
static unsigned findWholeInterleave(const TripInfo &trip, unsigned width,
                                    unsigned most) {
  for (unsigned fewer = most; !trip.exact && fewer * 2 >= most; --fewer)
    if (!findOpenBound(trip, int64_t(width) * fewer))
      return fewer;
  return 0;
}

/// Splits `trip` into stages.
static void planStages(VectorPlan &plan, bool isHeavy) {
  unsigned width = plan.width, interleave = plan.interleave;
  auto add = [&](unsigned lanes, unsigned vectors, int64_t begin, int64_t count,
                 int64_t shift = 0) {
    VectorStage stage;
    stage.width = lanes;
    stage.interleave = vectors;
    stage.begin = begin;
    stage.count = count;
    stage.shift = shift;
    if (count > 0 || !plan.trip.exact)
      plan.stages.push_back(stage);
  };
  if (!plan.trip.exact) {
    add(width, interleave, 0, 0);
    if (!findOpenBound(plan.trip, int64_t(width) * interleave))
      return;
    if (interleave > 1)
      add(width, 1, 0, 0);
    VectorStage::Kind kind = VectorStage::Next;
    if (plan.facts.isRepeatable && findOpenBound(plan.trip, width)) {
      add(width, 1, 0, 0);
      plan.stages.back().kind = VectorStage::MovedBack;
      kind = VectorStage::Short;
    }
    // Each stage is a copy of the body: only where the scalar one is dear.
    for (unsigned lanes = width / 2; isHeavy && lanes >= 4; lanes /= 2)
      if (canSplitAt(plan.trip, lanes)) {
        add(lanes, 1, 0, 0);
        plan.stages.back().kind = kind;
      }
    if (findOpenBound(plan.trip, plan.stages.back().width)) {
      add(1, 1, 0, 0);
      plan.stages.back().kind = kind;
    }
    return;
  }
  int64_t trips = *plan.trip.exact, rest = trips % width, shift = 0;
  int64_t vectors = trips / width;
  if (rest > 1 && plan.facts.isRepeatable) {
    ++vectors;
    shift = width - rest;
    rest = 0;
  }
  // Groups of equal size, give or take one: a small last group would wait for
  // the latency of its few accumulators.
  int64_t groups = llvm::divideCeil(vectors, int64_t(interleave));
  int64_t size = vectors / groups, larger = vectors % groups;
  int64_t smaller = groups - larger - (shift ? 1 : 0);
  add(width, size + 1, 0, larger);
  int64_t done = larger * (size + 1) * width;
  add(width, size, done, smaller);
  done += smaller * size * width;
  if (shift)
    add(width, size, done, 1, shift);
  done = trips - rest;
  for (unsigned lanes = width / 2; lanes >= 2; lanes /= 2)
    if (trips - done >= lanes) {
      add(lanes, 1, done, 1);
      done += lanes;
    }
  add(1, 1, done, trips - done);
}

namespace {
/// A loop of a nest, and the best that can be done with it.
struct LoopNode {
  AffineForOp loop;
  SmallVector<unsigned, 2> children;
  std::optional<VectorPlan> plan;
  /// Cost of the plan, and of the best choice, for one run of the loop.
  double planCost = 0, cost = 0;
  std::string whyNot;
};

/// Decides for all loops of one nest.
class NestPlanner {
public:
  NestPlanner(const VectorMachine &machine, const Accumulations &sums,
              DependenceAnalysis &dependences)
      : machine(machine), sums(sums), dependences(dependences) {}

  void plan(AffineForOp root, SmallVectorImpl<VectorPlan> &plans,
            SmallVectorImpl<std::pair<AffineForOp, std::string>> &declined);

private:
  unsigned addLoop(AffineForOp loop);
  double scalarCost(Block &block);
  void consider(LoopNode &node);
  double costOf(const VectorPlan &plan, double scalar) const;

  const VectorMachine &machine;
  const Accumulations &sums;
  DependenceAnalysis &dependences;
  /// The outermost loop.
  AffineForOp nest;
  SmallVector<LoopNode, 0> nodes;
  llvm::DenseMap<Operation *, unsigned> indexOf;
};
} // namespace

/// Cost of a block run in scalars, with the loops inside at their best.
double NestPlanner::scalarCost(Block &block) {
  double cost = 0;
  for (Operation &op : block.without_terminator()) {
    auto inner = indexOf.find(&op);
    if (inner != indexOf.end()) {
      cost += nodes[inner->second].cost;
      continue;
    }
    for (Region &region : op.getRegions())
      if (!region.empty())
        cost += scalarCost(region.front());
    cost += sums.contains(&op) ? machine.fmaLatency : getOpCost(&op);
  }
  return cost;
}

double NestPlanner::costOf(const VectorPlan &plan, double scalar) const {
  AffineForOp loop = plan.loop;
  bool isNear = false;
  if (!plan.facts.scans.empty()) {
    AffineForOp root = nest;
    std::optional<uint64_t> bytes =
        getFootprintBytes(dependences.accessesOf(root), root);
    isNear = bytes && (machine.farBytes == 0 || *bytes < machine.farBytes);
  }
  double trips = getTrips(loop);
  double cost = 0;
  for (const VectorStage &stage : plan.stages) {
    double chunk = double(stage.width) * stage.interleave;
    double count = double(stage.count);
    if (!plan.trip.exact) {
      // The first stage does nearly all; what comes after it does on average
      // half of what the stage before it does at once.
      bool isFirst = &stage == &plan.stages.front();
      double before =
          isFirst ? 0 : (&stage)[-1].width * (&stage)[-1].interleave;
      count = isFirst ? trips / chunk : before / chunk / 2;
      if (stage.kind == VectorStage::MovedBack)
        count = 1;
      else if (stage.kind == VectorStage::Short)
        count = 0;
    }
    if (stage.width == 1) {
      cost += count * scalar;
      continue;
    }
    LaneLattice lattice{loop.getStepAsInt(), stage.width,
                        stage.shift || stage.kind == VectorStage::MovedBack
                            ? std::nullopt
                            : plan.trip.start};
    CostModel model{machine,
                    sums,
                    plan.facts,
                    loop.getInductionVar(),
                    lattice,
                    stage.interleave,
                    std::max(1u, countAccumulators(loop, plan.facts)),
                    isNear};
    cost += count * (1 + stage.interleave * model.ofBlock(*loop.getBody()));
  }
  // Folding the lanes of a reduction.
  cost += plan.facts.reductions.size() *
          (plan.interleave + 2 * llvm::Log2_32(plan.width)) * 2;
  return cost;
}

/// Finds the best plan for a loop, if any is legal and worth it.
void NestPlanner::consider(LoopNode &node) {
  AffineForOp loop = node.loop;
  double scalar = 1 + scalarCost(*loop.getBody());
  node.cost = getTrips(loop) * scalar;
  VectorPlan base;
  base.loop = loop;
  StringRef why = findFacts(loop, sums, base.facts);
  std::optional<TripInfo> trip;
  if (why.empty()) {
    trip = getTripInfo(loop);
    if (!trip)
      why = "lower bound is a maximum, or the end too far";
  }
  if (!why.empty()) {
    node.whyNot = why.str();
    return;
  }
  base.trip = *trip;
  base.vectorBits = machine.widthBits;
  bool isHeavy = !node.children.empty() || countOps(loop) > 24;
  unsigned widest =
      std::max(2u, machine.widthBits / getWidestBits(loop, base.facts));
  std::optional<double> best;
  for (unsigned width = widest; width >= 2; width /= 2) {
    if ((base.trip.most && *base.trip.most < width) ||
        !canSplitAt(base.trip, width))
      continue;
    unsigned most =
        chooseInterleave(loop, base.facts, sums, base.trip, width, machine);
    for (unsigned interleave :
         {most, findWholeInterleave(base.trip, width, most)}) {
      if (interleave == 0)
        continue;
      VectorPlan plan = base;
      plan.width = width;
      plan.interleave = interleave;
      planStages(plan, isHeavy);
      double cost = costOf(plan, scalar);
      if (best && cost >= *best)
        continue;
      best = cost;
      node.planCost = cost;
      node.plan = std::move(plan);
    }
  }
  if (!node.plan) {
    node.whyNot = "too few iterations, or bounds that do not split";
    return;
  }
  if (node.planCost >= node.cost) {
    llvm::raw_string_ostream(node.whyNot)
        << "vector code costs " << int64_t(node.planCost) << ", scalar "
        << int64_t(node.cost);
    node.plan.reset();
    return;
  }
  // Reductions in memory are excluded by now: they store to one location.
  if (!dependences.loopIsParallel(loop, &node.whyNot,
                                  /*ignoreReductions=*/true,
                                  base.facts.scans.size() +
                                      2 * base.facts.searches.size())) {
    node.plan.reset();
    return;
  }
  node.cost = node.planCost;
}

unsigned NestPlanner::addLoop(AffineForOp loop) {
  SmallVector<unsigned, 2> children;
  loop.getBody()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto inner = dyn_cast<AffineForOp>(op);
    if (!inner)
      return WalkResult::advance();
    children.push_back(addLoop(inner));
    return WalkResult::skip();
  });
  unsigned index = nodes.size();
  nodes.emplace_back();
  nodes.back().loop = loop;
  nodes.back().children = children;
  // Children are decided before, for the scalar cost builds on theirs.
  consider(nodes.back());
  indexOf[loop] = index;
  return index;
}

void NestPlanner::plan(
    AffineForOp root, SmallVectorImpl<VectorPlan> &plans,
    SmallVectorImpl<std::pair<AffineForOp, std::string>> &declined) {
  nest = root;
  SmallVector<unsigned> pending{addLoop(root)};
  while (!pending.empty()) {
    LoopNode &node = nodes[pending.pop_back_val()];
    if (node.plan)
      plans.push_back(std::move(*node.plan));
    else if (node.children.empty() && !isMarked(node.loop))
      declined.push_back({node.loop, node.whyNot});
    if (!node.plan && !isMarked(node.loop))
      pending.append(node.children.rbegin(), node.children.rend());
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Loops of all plans of a nest that want it trade places; gives the nest there
/// is then, none if nothing changed.
static AffineForOp swapAllSquares(AffineForOp root, ArrayRef<VectorPlan> plans,
                                  DependenceAnalysis &dependences) {
  SmallVector<std::pair<AffineForOp, AffineForOp>> wanted;
  for (const VectorPlan &plan : plans)
    if (AffineForOp inner = findLoopToSwap(plan, dependences))
      wanted.push_back({plan.loop, inner});
  AffineForOp nest = root;
  for (auto [loop, inner] : wanted) {
    remark(RemarkKind::Applied, loop.getLoc(), passName,
           "loops trade places to turn fewer squares");
    interchangeLoops(loop, inner);
    if (loop == root)
      nest = inner;
  }
  if (wanted.empty())
    return {};
  dependences.invalidate();
  return nest;
}

/// Orders the loops of all plans of a nest that want it; gives the nests there
/// are then, none if nothing changed.
static SmallVector<AffineForOp, 2>
orderAllSquares(AffineForOp root, ArrayRef<VectorPlan> plans,
                DependenceAnalysis &dependences) {
  SmallVector<SquareOrder> wanted;
  for (const VectorPlan &plan : plans)
    if (std::optional<SquareOrder> order = findSquareOrder(plan, dependences))
      wanted.push_back(*order);
  SmallVector<AffineForOp, 2> nests;
  for (SquareOrder &order : wanted) {
    remark(RemarkKind::Applied, order.loop.getLoc(), passName,
           "rows are turned in blocks")
        << arg("rows", order.rows) << arg("lanes", order.lanes);
    bool isRoot = order.loop == root;
    SmallVector<AffineForOp, 2> made = orderSquares(order);
    if (isRoot)
      nests = made;
    else
      nests = {root};
  }
  if (!wanted.empty())
    dependences.invalidate();
  return nests;
}

namespace {
struct VectorizeNestsPass : impl::VectorizeNestsBase<VectorizeNestsPass> {
  using VectorizeNestsBase::VectorizeNestsBase;

  LogicalResult initialize(MLIRContext *context) override {
    auto check = [&](StringRef name, unsigned value, unsigned least,
                     unsigned most) {
      return succeeded(checkUnsigned(context, name, value, least, most));
    };
    return success(
        check("vector-width-bits", vectorWidthBits, 64, 2048) &&
        succeeded(
            checkPowerOfTwo(context, "vector-width-bits", vectorWidthBits)) &&
        check("vector-registers", vectorRegisters, 8, 256) &&
        check("fma-latency-cycles", fmaLatencyCycles, 1, 64) &&
        check("fma-ports", fmaPorts, 1, 16) &&
        succeeded(checkUnsigned(context, "threshold-kib", thresholdKib, 0,
                                UINT64_C(1) << 32)));
  }

  void runOnOperation() override {
    VectorMachine machine{vectorWidthBits, vectorRegisters, fmaLatencyCycles,
                          fmaPorts, uint64_t(thresholdKib) * 1024};
    SmallVector<AffineForOp> roots;
    getOperation()->walk<WalkOrder::PreOrder>([&](AffineForOp loop) {
      roots.push_back(loop);
      return WalkResult::skip();
    });
    Accumulations sums;
    DependenceAnalysis dependences;
    collectAccumulations(getOperation(), sums);
    SmallVector<VectorPlan, 0> plans;
    SmallVector<std::pair<AffineForOp, std::string>> declined;
    for (AffineForOp root : roots) {
      SmallVector<VectorPlan, 0> found;
      SmallVector<std::pair<AffineForOp, std::string>> left;
      auto planNests = [&](ArrayRef<AffineForOp> nests) {
        found.clear();
        left.clear();
        for (AffineForOp nest : nests)
          NestPlanner(machine, sums, dependences).plan(nest, found, left);
      };
      planNests(root);
      // Loops change where squares get another order; they are planned again.
      if (AffineForOp nest = swapAllSquares(root, found, dependences)) {
        root = nest;
        planNests(root);
      }
      SmallVector<AffineForOp, 2> changed =
          orderAllSquares(root, found, dependences);
      if (!changed.empty())
        planNests(changed);
      for (VectorPlan &plan : found)
        plans.push_back(std::move(plan));
      llvm::append_range(declined, left);
    }
    for (auto &[loop, why] : declined)
      remark(RemarkKind::Declined, loop.getLoc(), passName, why);
    numDeclined += declined.size();
    for (VectorPlan &plan : plans) {
      remark(RemarkKind::Applied, plan.loop->getLoc(), passName,
             plan.facts.reductions.empty() ? "loop runs in lanes"
                                           : "reduction runs in lanes")
          << arg("width", plan.width) << arg("interleave", plan.interleave)
          << arg("stages", plan.stages.size());
      vectorizeLoop(plan);
    }
    numApplied += plans.size();
  }
};
} // namespace

} // namespace polynest
