//===- NestUtils.cpp - what passes on nests share -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Transforms/NestUtils.h"

#include "Analysis/AffineValues.h"
#include "Analysis/Aliasing.h"
#include "Analysis/Dependence.h"
#include "Analysis/LinearIndex.h"
#include "Support/Remark.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static bool isDefinedInside(Value value, Operation *root) {
  return root->isAncestor(value.getParentBlock()->getParentOp());
}

//===----------------------------------------------------------------------===//
// Comparing accesses
//===----------------------------------------------------------------------===//

bool haveDisjointRanges(const Access &a, const Access &b) {
  auto rangesA = getConstantRange(a), rangesB = getConstantRange(b);
  for (auto [x, y] : llvm::zip_equal(rangesA, rangesB))
    if (x && y && (x->max < y->min || y->max < x->min))
      return true;
  return false;
}

/// Splits the terms of an index over variables that are compared, by their
/// place, and the rest; false if the rest names what changes inside `root`.
static bool splitTerms(const LinearIndex &form, ArrayRef<Value> ivs,
                       Operation *root, SmallVectorImpl<int64_t> &coefficients,
                       LinearIndex &rest) {
  coefficients.assign(ivs.size(), 0);
  rest.constant = form.constant;
  for (auto [value, coefficient] : form.terms) {
    const auto *it = llvm::find(ivs, value);
    if (it != ivs.end())
      coefficients[it - ivs.begin()] = coefficient;
    else if (isDefinedInside(value, root))
      return false;
    else
      rest.terms.push_back({value, coefficient});
  }
  return true;
}

/// Whether two forms are equal but for a constant.
static bool haveEqualTerms(const LinearIndex &a, const LinearIndex &b) {
  return a.terms.size() == b.terms.size() &&
         llvm::all_of(a.terms, [&](const auto &term) {
           return b.factorOf(term.first) == term.second;
         });
}

/// Pairs of expressions that are equal where two accesses meet: their indices,
/// and what these are the parts of. e mod c and e floordiv c together name e.
static SmallVector<std::pair<AffineExpr, AffineExpr>, 4>
getEqualPairs(const Access &a, const Access &b) {
  SmallVector<std::pair<AffineExpr, AffineExpr>, 4> pairs;
  for (unsigned d = 0, e = a.map.getNumResults(); d != e; ++d)
    if (a.extent[d] == 1 && b.extent[d] == 1)
      pairs.emplace_back(a.map.getAffineMap().getResult(d),
                         b.map.getAffineMap().getResult(d));
  auto getRest = [](AffineExpr expr) {
    auto rest = dyn_cast<AffineBinaryOpExpr>(expr);
    return rest && rest.getKind() == AffineExprKind::Mod &&
                   isa<AffineConstantExpr>(rest.getRHS())
               ? rest
               : AffineBinaryOpExpr(nullptr);
  };
  // Each rest is joined once.
  SmallVector<bool, 8> isDone;
  for (bool changed = true; changed;) {
    changed = false;
    isDone.resize(pairs.size());
    for (unsigned i = 0; i != isDone.size(); ++i) {
      AffineBinaryOpExpr x = getRest(pairs[i].first);
      AffineBinaryOpExpr y = getRest(pairs[i].second);
      if (isDone[i] || !x || !y || x.getRHS() != y.getRHS())
        continue;
      int64_t divisor = cast<AffineConstantExpr>(x.getRHS()).getValue();
      std::pair quotients(divideIndex(x.getLHS(), divisor),
                          divideIndex(y.getLHS(), divisor));
      if (!llvm::is_contained(pairs, quotients))
        continue;
      pairs.emplace_back(x.getLHS(), y.getLHS());
      isDone[i] = changed = true;
    }
  }
  return pairs;
}

bool mayWrite(ArrayRef<Access> accesses, Value memref) {
  return llvm::any_of(accesses, [&](const Access &access) {
    return access.isWrite &&
           (!access.memref || !memref || mayAlias(access.memref, memref));
  });
}

bool meetOnlyInStep(const Access &a, ArrayRef<Value> ivsA, Operation *rootA,
                    const Access &b, ArrayRef<Value> ivsB, Operation *rootB) {
  if (!a.memref || !b.memref)
    return false;
  if (a.memref != b.memref)
    return !mayAlias(a.memref, b.memref);
  if (!a.isAffine() || !b.isAffine() || !hasInjectiveLayout(a.memref))
    return false;
  struct Equation {
    SmallVector<int64_t, 6> coefficients;
  };
  SmallVector<Equation, 4> equations;
  for (auto [exprA, exprB] : getEqualPairs(a, b)) {
    std::optional<LinearIndex> x =
        getLinearIndex(exprA, a.map.getNumDims(), a.map.getOperands());
    std::optional<LinearIndex> y =
        getLinearIndex(exprB, b.map.getNumDims(), b.map.getOperands());
    SmallVector<int64_t, 6> first, second;
    LinearIndex restA, restB;
    if (!x || !y || !splitTerms(*x, ivsA, rootA, first, restA) ||
        !splitTerms(*y, ivsB, rootB, second, restB) ||
        !haveEqualTerms(restA, restB))
      continue;
    bool moves = llvm::any_of(first, [](int64_t c) { return c != 0; }) ||
                 llvm::any_of(second, [](int64_t c) { return c != 0; });
    if (!moves && restA.constant != restB.constant)
      return true;
    if (moves && first == second && restA.constant == restB.constant)
      equations.push_back({first});
  }
  // An index that moves with one variable not yet known to be equal makes it
  // equal.
  SmallVector<bool, 6> isEqual(ivsA.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (Equation &equation : equations) {
      unsigned unknown = 0, place = 0;
      for (auto [i, coefficient] : llvm::enumerate(equation.coefficients))
        if (coefficient != 0 && !isEqual[i]) {
          ++unknown;
          place = i;
        }
      if (unknown == 1)
        changed = isEqual[place] = true;
    }
  }
  return llvm::all_of(isEqual, [](bool equal) { return equal; }) ||
         haveDisjointRanges(a, b);
}

bool moveAlike(const Access &a, ArrayRef<Value> ivsA, const Access &b,
               ArrayRef<Value> ivsB) {
  if (a.memref != b.memref || !a.isAffine() || !b.isAffine())
    return false;
  bool moves = false;
  for (unsigned d = 0, e = a.map.getNumResults(); d != e; ++d) {
    std::optional<LinearIndex> x = getLinearIndex(a.map, d),
                               y = getLinearIndex(b.map, d);
    if (!x || !y)
      return false;
    for (auto [ivA, ivB] : llvm::zip_equal(ivsA, ivsB)) {
      int64_t coefficient = x->factorOf(ivA);
      if (coefficient != y->factorOf(ivB))
        return false;
      moves |= coefficient != 0;
    }
  }
  return moves;
}

bool isSameIndex(const Access &a, const Access &b, unsigned d, Block *block) {
  std::optional<LinearIndex> x = getLinearIndex(a.map, d),
                             y = getLinearIndex(b.map, d);
  return x && y && x->constant == y->constant && haveEqualTerms(*x, *y) &&
         llvm::all_of(x->terms, [&](const auto &term) {
           Value value = term.first;
           Block *home = value.getParentBlock();
           return home == block ||
                  home->getParentOp()->isProperAncestor(block->getParentOp());
         });
}

Value getOnlyVariable(const Access &access, unsigned d) {
  std::optional<LinearIndex> form = getLinearIndex(access.map, d);
  if (!form || form->terms.size() != 1 ||
      !isAffineInductionVar(form->terms[0].first))
    return {};
  return form->terms[0].first;
}

bool isPlainlyParallel(AffineForOp loop, ArrayRef<Access> accesses) {
  if (loop.getNumIterOperands())
    return false;
  Value iv = loop.getInductionVar();
  struct Touched {
    SmallVector<const Access *, 4> all, writes;
  };
  llvm::MapVector<Value, Touched> bases;
  for (const Access &access : accesses) {
    if (!loop->isAncestor(access.op))
      continue;
    if (!access.base)
      return false;
    // Made anew in each iteration.
    if (isDefinedInside(access.base, loop))
      continue;
    Touched &touched = bases[access.base];
    touched.all.push_back(&access);
    if (access.isWrite)
      touched.writes.push_back(&access);
  }
  for (auto &[base, touched] : bases) {
    if (touched.writes.empty())
      continue;
    for (auto &[other, unused] : bases)
      if (other != base && mayAlias(base, other))
        return false;
    for (const Access *write : touched.writes)
      for (const Access *other : touched.all)
        if (!meetOnlyInStep(*write, iv, loop, *other, iv, loop))
          return false;
  }
  return true;
}

/// The size that memref.dim of an allocation stands for.
static Value resolveSize(Value value) {
  auto dim = value.getDefiningOp<memref::DimOp>();
  std::optional<int64_t> index = dim ? dim.getConstantIndex() : std::nullopt;
  auto alloc =
      index ? dim.getSource().getDefiningOp<memref::AllocOp>() : nullptr;
  if (!alloc || *index < 0 || *index >= alloc.getType().getRank() ||
      !alloc.getType().isDynamicDim(*index))
    return value;
  return alloc.getDynamicSizes()[alloc.getType().getDynamicDimIndex(*index)];
}

bool haveEqualBounds(AffineForOp a, AffineForOp b, const IRMapping &rename) {
  auto equal = [&](AffineMap mapA, ValueRange operandsA, AffineMap mapB,
                   ValueRange operandsB) {
    return mapA == mapB &&
           llvm::all_of(llvm::zip_equal(operandsA, operandsB), [&](auto pair) {
             auto [x, y] = pair;
             return resolveSize(rename.lookupOrDefault(x)) == resolveSize(y);
           });
  };
  return a.getStepAsInt() > 0 && a.getStepAsInt() == b.getStepAsInt() &&
         equal(a.getLowerBoundMap(), a.getLowerBoundOperands(),
               b.getLowerBoundMap(), b.getLowerBoundOperands()) &&
         equal(a.getUpperBoundMap(), a.getUpperBoundOperands(),
               b.getUpperBoundMap(), b.getUpperBoundOperands());
}

//===----------------------------------------------------------------------===//
// Estimates
//===----------------------------------------------------------------------===//

uint64_t saturatingAdd(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? ~uint64_t(0) : sum;
}

uint64_t saturatingMultiply(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? ~uint64_t(0) : product;
}

bool mayRunTwice(AffineForOp loop) {
  std::optional<uint64_t> trips = getTripCount(loop);
  return !trips || *trips > 1;
}

uint64_t estimateTrips(AffineForOp loop) {
  if (std::optional<uint64_t> trips = getTripCount(loop))
    return *trips;
  // A constant among several upper bounds is what all but the last block of a
  // tiled loop runs.
  uint64_t most = dynamicTrips;
  AffineMap lower = loop.getLowerBoundMap();
  if (lower.isSingleConstant() && loop.getStepAsInt() > 0)
    for (AffineExpr upper : loop.getUpperBoundMap().getResults())
      if (auto constant = dyn_cast<AffineConstantExpr>(upper))
        most = std::min<uint64_t>(
            most,
            llvm::divideCeil(
                std::max<int64_t>(
                    constant.getValue() - lower.getSingleConstantResult(), 0),
                uint64_t(loop.getStepAsInt())));
  return most;
}

uint64_t estimateCycles(Operation *op) {
  if (op->getNumRegions() == 0) {
    if (isa_and_nonnull<math::MathDialect>(op->getDialect()))
      return isa<math::AbsFOp, math::FmaOp, math::CopySignOp>(op) ? 1
             : isa<math::SqrtOp, math::RsqrtOp>(op)               ? 8
                                                                  : 20;
    if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemFOp,
            arith::RemSIOp, arith::RemUIOp>(op))
      return 8;
    // A matrix unit takes a cycle for each row of a tile.
    if (auto product = dyn_cast<vector::ContractionOp>(op)) {
      auto sums = dyn_cast<VectorType>(product.getAccType());
      if (sums && sums.getRank() == 2)
        return uint64_t(sums.getDimSize(0)) * vectorsPerCycle;
    }
    return op->hasTrait<OpTrait::IsTerminator>() ||
                   op->hasTrait<OpTrait::ConstantLike>()
               ? 0
               : 1;
  }
  uint64_t total = 0;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      total = saturatingAdd(total, estimateCycles(&block));
  if (auto loop = dyn_cast<AffineForOp>(op))
    return saturatingMultiply(total, estimateTrips(loop));
  if (isa<LoopLikeOpInterface>(op))
    return saturatingMultiply(total, dynamicTrips);
  return total;
}

uint64_t estimateCycles(Block *block) {
  uint64_t total = 0;
  for (Operation &op : *block)
    total = saturatingAdd(total, estimateCycles(&op));
  return total;
}

bool computesFunctions(AffineForOp loop) {
  return !holdsLoops(loop.getBody()) &&
         llvm::any_of(*loop.getBody(), [](Operation &op) {
           return estimateCycles(&op) >= heavyCycles;
         });
}

unsigned countOperations(Operation *root) {
  unsigned count = 0;
  root->walk([&](Operation *) { ++count; });
  return count;
}

bool holdsLoops(Block *block) {
  return llvm::any_of(*block, [](Operation &op) {
    return op.getNumRegions() != 0 && op.walk([](LoopLikeOpInterface) {
                                          return WalkResult::interrupt();
                                        }).wasInterrupted();
  });
}

AffineForOp findFunctionsBehind(AffineForOp loop) {
  for (auto later : loop->getBlock()->getOps<AffineForOp>())
    if (loop->isBeforeInBlock(later) && computesFunctions(later) &&
        haveEqualBounds(loop, later, IRMapping()))
      return later;
  return nullptr;
}

std::optional<uint64_t> getBufferBytes(MemRefType type) {
  std::optional<int64_t> bytes = getElementBytes(type.getElementType());
  if (!bytes || !type.hasStaticShape())
    return std::nullopt;
  uint64_t product = *bytes;
  for (int64_t size : type.getShape())
    if (__builtin_mul_overflow(product, uint64_t(size), &product))
      return std::nullopt;
  return product;
}

std::optional<int64_t> getAlignedBytes(MemRefType type) {
  std::optional<uint64_t> bytes = getBufferBytes(type);
  if (!bytes || !type.getLayout().isIdentity() ||
      *bytes > uint64_t(INT64_MAX - kBufferAlignment))
    return std::nullopt;
  return int64_t(llvm::alignTo(*bytes, kBufferAlignment));
}

std::optional<uint64_t> getInnerFootprint(Block *block, unsigned &depth) {
  std::optional<uint64_t> total = 0;
  for (Operation &op : *block) {
    auto loop = dyn_cast<AffineForOp>(op);
    if (!loop)
      continue;
    SmallVector<Access, 8> accesses;
    collectAccesses(loop, accesses);
    std::optional<uint64_t> bytes = getFootprintBytes(accesses, loop);
    total = total && bytes ? std::optional(saturatingAdd(*total, *bytes))
                           : std::nullopt;
    loop.walk([&](AffineForOp inner) {
      unsigned level = 1;
      for (Operation *at = inner; at != loop; at = at->getParentOp())
        level += isa<AffineForOp>(at);
      depth = std::max(depth, level);
    });
  }
  return total;
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

SmallVector<Value> lookUp(const IRMapping &mapping, ValueRange values) {
  return llvm::map_to_vector(
      values, [&](Value value) { return mapping.lookupOrDefault(value); });
}

AffineForOp copyLoop(OpBuilder &builder, Location loc, AffineForOp loop,
                     const IRMapping &mapping, ValueRange inits,
                     AffineForOp::BodyBuilderFn body) {
  return AffineForOp::create(
      builder, loc, lookUp(mapping, loop.getLowerBoundOperands()),
      loop.getLowerBoundMap(), lookUp(mapping, loop.getUpperBoundOperands()),
      loop.getUpperBoundMap(), loop.getStepAsInt(), inits, body);
}

void leaveEmpty(OpBuilder &, Location, Value, ValueRange) {}

void composeIndices(Operation *root) {
  RewritePatternSet patterns(root->getContext());
  AffineApplyOp::getCanonicalizationPatterns(patterns, root->getContext());
  AffineForOp::getCanonicalizationPatterns(patterns, root->getContext());
  AffineIfOp::getCanonicalizationPatterns(patterns, root->getContext());
  AffineLoadOp::getCanonicalizationPatterns(patterns, root->getContext());
  AffineStoreOp::getCanonicalizationPatterns(patterns, root->getContext());
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (isa<AffineApplyOp, AffineIfOp, AffineLoadOp, AffineStoreOp>(op))
      ops.push_back(op);
  });
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingOps);
  (void)applyOpPatternsGreedily(ops, std::move(patterns), config);
}

AffineApplyOp replaceVariable(Value iv, AffineForOp loop, AffineMap map,
                              ValueRange operands,
                              const llvm::SmallPtrSetImpl<Operation *> *kept) {
  OpBuilder builder = OpBuilder::atBlockBegin(loop.getBody());
  auto apply = AffineApplyOp::create(builder, loop.getLoc(), map, operands);
  iv.replaceUsesWithIf(apply.getResult(), [&](OpOperand &use) {
    return use.getOwner() != apply && !(kept && kept->contains(use.getOwner()));
  });
  return apply;
}

Value getMemRef(Operation *access) {
  if (auto load = dyn_cast<AffineLoadOp>(access))
    return load.getMemRef();
  return cast<AffineStoreOp>(access).getMemRef();
}

std::pair<AffineMap, SmallVector<Value>> getPlace(Operation *access) {
  if (auto load = dyn_cast<AffineLoadOp>(access))
    return {load.getAffineMap(), SmallVector<Value>(load.getMapOperands())};
  auto store = cast<AffineStoreOp>(access);
  return {store.getAffineMap(), SmallVector<Value>(store.getMapOperands())};
}

std::optional<unsigned> getOnlyDim(Operation *access, Value iv) {
  auto store = dyn_cast<AffineStoreOp>(access);
  if (store && store.getValueToStore() == iv)
    return std::nullopt;
  auto [map, operands] = getPlace(access);
  if (llvm::count(operands, iv) != 1)
    return std::nullopt;
  auto position = unsigned(llvm::find(operands, iv) - operands.begin());
  std::optional<unsigned> found;
  if (position >= map.getNumDims())
    return std::nullopt;
  for (auto [i, result] : llvm::enumerate(map.getResults())) {
    if (!result.isFunctionOfDim(position))
      continue;
    if (found || !isa<AffineDimExpr>(result))
      return std::nullopt;
    found = i;
  }
  return found;
}

void movePlace(Operation *access, Value memref, AffineMap map,
               SmallVector<Value> operands) {
  canonicalizeMapAndOperands(&map, &operands);
  OpBuilder builder(access);
  Location loc = access->getLoc();
  if (auto load = dyn_cast<AffineLoadOp>(access))
    load.replaceAllUsesWith(
        AffineLoadOp::create(builder, loc, memref, map, operands).getResult());
  else
    AffineStoreOp::create(builder, loc,
                          cast<AffineStoreOp>(access).getValueToStore(), memref,
                          map, operands);
  access->erase();
}

Value joinDimensions(OpBuilder &builder, Location loc, Value memref,
                     unsigned first, unsigned count) {
  SmallVector<ReassociationIndices> groups;
  unsigned rank = cast<MemRefType>(memref.getType()).getRank();
  for (unsigned d = 0; d < rank; ++d) {
    if (d <= first || d >= first + count)
      groups.emplace_back();
    groups.back().push_back(d);
  }
  return memref::CollapseShapeOp::create(builder, loc, memref, groups);
}

void moveWithinBlock(Operation *op, Operation *other) {
  Block *block = op->getBlock();
  op->remove();
  block->getOperations().insert(Block::iterator(other), op);
}

/// Puts the loop's body in its place.
static void unwrapLoop(AffineForOp loop) {
  OpBuilder builder(loop);
  AffineMap lower = loop.getLowerBoundMap();
  Value start;
  if (lower.getNumResults() == 1 && !lower.isSingleConstant()) {
    start = AffineApplyOp::create(builder, loop.getLoc(), lower,
                                  loop.getLowerBoundOperands());
  } else {
    // At the function's entry, where an index is a symbol.
    builder.setInsertionPointToStart(
        &loop->getParentOfType<func::FuncOp>().getBody().front());
    start = arith::ConstantIndexOp::create(builder, loop.getLoc(),
                                           lower.getSingleConstantResult());
  }
  loop.getInductionVar().replaceAllUsesWith(start);
  Block *body = loop.getBody();
  loop->getBlock()->getOperations().splice(Block::iterator(loop),
                                           body->getOperations(), body->begin(),
                                           std::prev(body->end()));
  loop.erase();
}

void dropUnitLoops(func::FuncOp function) {
  SmallVector<AffineForOp> loops;
  function.walk([&](AffineForOp loop) {
    if (loop.getNumIterOperands() == 0 && getTripCount(loop) == uint64_t(1) &&
        loop.getLowerBoundMap().getNumResults() == 1)
      loops.push_back(loop);
  });
  // Innermost first, so that it is an outer loop that stays.
  for (AffineForOp loop : loops) {
    Operation *first = &loop.getBody()->front();
    bool holdsOneNest = isa<AffineForOp>(first) &&
                        first->getNextNode() == loop.getBody()->getTerminator();
    if (isa<AffineForOp>(loop->getParentOp()) || holdsOneNest)
      unwrapLoop(loop);
  }
}

bool isConstantInput(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto entry = argument
                   ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
                   : func::FuncOp();
  if (!entry || !argument.getOwner()->isEntryBlock())
    return false;
  unsigned index = argument.getArgNumber();
  return entry.getArgAttr(index, "polynest.constant") &&
         !entry.getArgAttr(index, "polynest.mutable") &&
         !entry.getArgAttr(index, "polynest.result");
}

static bool isBufferComputedOnce(Value memref, unsigned depth);

/// True if the nest loads something, all of it computed once.
static bool isNestComputedOnce(Operation *root, unsigned depth) {
  bool loads = false;
  WalkResult result = root->walk([&](Operation *op) {
    if (auto load = dyn_cast<AffineLoadOp>(op)) {
      loads = true;
      return isBufferComputedOnce(load.getMemRef(), depth)
                 ? WalkResult::advance()
                 : WalkResult::interrupt();
    }
    return isa<AffineStoreOp, AffineForOp, AffineIfOp>(op) ||
                   isMemoryEffectFree(op)
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  return loads && !result.wasInterrupted();
}

/// True if the buffer is bound once, or made in the entry and stored by nests
/// of it that load such buffers alone; `depth` is how many may come from
/// another, 0 if it has to be bound.
static bool isBufferComputedOnce(Value memref, unsigned depth) {
  Value base = getBaseMemref(memref);
  if (isConstantInput(base))
    return true;
  auto alloc = base.getDefiningOp<memref::AllocOp>();
  if (!alloc || depth == 0 || !isa<func::FuncOp>(alloc->getParentOp()) ||
      !isPrivateAllocation(alloc))
    return false;
  bool isStored = false;
  for (Operation *user : alloc->getUsers()) {
    if (isa<AffineLoadOp, memref::DeallocOp>(user))
      continue;
    Operation *root = alloc->getBlock()->findAncestorOpInBlock(*user);
    if (!isa<AffineStoreOp>(user) || !isa<AffineForOp>(root) ||
        !isNestComputedOnce(root, depth - 1))
      return false;
    isStored = true;
  }
  return isStored;
}

/// True if the operations load something, all of it computed once.
static bool isSliceComputedOnce(ArrayRef<Operation *> slice, unsigned depth) {
  bool loads = false;
  for (Operation *op : slice)
    if (auto load = dyn_cast<AffineLoadOp>(op)) {
      if (!isBufferComputedOnce(load.getMemRef(), depth))
        return false;
      loads = true;
    }
  return loads;
}

bool isBoundOnce(ArrayRef<Operation *> slice) {
  return isSliceComputedOnce(slice, 0);
}

bool isComputedOnce(ArrayRef<Operation *> slice) {
  return isSliceComputedOnce(slice, 3);
}

std::string whyNotParallel(ArrayRef<AffineForOp> loops, AffineForOp root,
                           DependenceAnalysis &dependences) {
  ArrayRef<Access> accesses = dependences.accessesOf(root);
  for (AffineForOp loop : loops) {
    std::string reason;
    if (!isPlainlyParallel(loop, accesses) &&
        !dependences.loopIsParallel(loop, &reason))
      return reason.empty() ? "a loop carries a dependence" : reason;
  }
  return {};
}

SmallVector<AffineForOp, 6> getPlainBand(AffineForOp root) {
  SmallVector<AffineForOp, 6> loops;
  for (AffineForOp loop : getPerfectBand(root)) {
    if (loop.getNumIterOperands() != 0)
      break;
    loops.push_back(loop);
  }
  return loops;
}

SmallVector<AffineForOp, 6> getLoopsAround(Operation *op, Operation *root) {
  SmallVector<AffineForOp, 6> loops;
  for (Operation *parent = op->getParentOp();; parent = parent->getParentOp()) {
    auto loop = dyn_cast<AffineForOp>(parent);
    if (!loop)
      return {};
    loops.insert(loops.begin(), loop);
    if (parent == root)
      return loops;
  }
}

SmallVector<int64_t, 8> getCoefficients(const AffineValueMap &map,
                                        unsigned result) {
  AffineMap indices = map.getAffineMap();
  SmallVector<int64_t, 8> flat;
  if (failed(getFlattenedAffineExpr(indices.getResult(result),
                                    indices.getNumDims(),
                                    indices.getNumSymbols(), &flat)) ||
      flat.size() != indices.getNumInputs() + 1)
    return {};
  return flat;
}

AffineExpr divideIndex(AffineExpr expr, int64_t divisor) {
  auto inner = dyn_cast<AffineBinaryOpExpr>(expr);
  auto constant = inner && inner.getKind() == AffineExprKind::FloorDiv
                      ? dyn_cast<AffineConstantExpr>(inner.getRHS())
                      : AffineConstantExpr();
  int64_t product;
  if (constant && constant.getValue() > 0 &&
      !llvm::MulOverflow(constant.getValue(), divisor, product))
    return inner.getLHS().floorDiv(product);
  return expr.floorDiv(divisor);
}

bool addsLoops(const Access &access) {
  AffineValueMap map = access.map;
  for (unsigned d = 0; d < map.getNumResults(); ++d) {
    unsigned loops = 0;
    for (unsigned i = 0; i < map.getNumDims(); ++i)
      loops += map.getResult(d).isFunctionOfDim(i) &&
               isAffineInductionVar(map.getOperand(i));
    if (loops > 1)
      return true;
  }
  return false;
}

/// False if the loop is known not to end before it begins.
static bool mayEndBeforeBegin(AffineForOp loop) {
  if (getTripCount(loop))
    return false;
  AffineValueBuilder builder(loop);
  std::optional<AffineExpr> end =
      builder.express(loop.getUpperBoundMap(), loop.getUpperBoundOperands());
  return !end || builder.rangeOf(*end).low < loop.getConstantLowerBound();
}

AffineMap getRestBegin(AffineForOp loop, AffineMap covered) {
  if (!mayEndBeforeBegin(loop))
    return covered;
  AffineExpr begin =
      getAffineConstantExpr(loop.getConstantLowerBound(), loop.getContext());
  return AffineMap::get(covered.getNumDims(), covered.getNumSymbols(),
                        {begin, covered.getResult(0)}, loop.getContext());
}

std::optional<int64_t> getSmallTripCount(AffineForOp loop) {
  std::optional<uint64_t> trips = getTripCount(loop);
  if (!trips || *trips > uint64_t(INT32_MAX))
    return std::nullopt;
  return int64_t(*trips);
}

std::optional<int64_t> getMostTrips(AffineForOp loop) {
  if (std::optional<int64_t> trips = getSmallTripCount(loop))
    return trips;
  AffineValueBuilder builder(loop);
  std::optional<AffineExpr> begin =
      builder.express(loop.getLowerBoundMap(), loop.getLowerBoundOperands());
  std::optional<AffineExpr> end =
      builder.express(loop.getUpperBoundMap(), loop.getUpperBoundOperands());
  if (!begin || !end)
    return std::nullopt;
  IntegerRange range = builder.rangeOf(*end - *begin);
  if (!range.isBounded() || range.high > INT32_MAX)
    return std::nullopt;
  return llvm::divideCeil(std::max<int64_t>(range.high, 0),
                          loop.getStepAsInt());
}

double countPoints(ArrayRef<AffineForOp> loops, double unknown) {
  double points = 1;
  for (AffineForOp loop : loops) {
    std::optional<int64_t> trips = getSmallTripCount(loop);
    points *= trips ? double(*trips) : unknown;
  }
  return points;
}

//===----------------------------------------------------------------------===//
// Versions
//===----------------------------------------------------------------------===//

bool hasPlainTrips(AffineForOp loop, AffineForOp root) {
  if (loop.hasConstantUpperBound() || !countsFromZero(loop) ||
      loop.getUpperBoundMap().getNumResults() != 1)
    return false;
  return llvm::all_of(loop.getUpperBoundOperands(), [&](Value operand) {
    return !root->isAncestor(operand.getParentBlock()->getParentOp());
  });
}

std::optional<FewRows> countFewRows(ArrayRef<AffineForOp> rows,
                                    AffineForOp root, int64_t most) {
  FewRows few;
  int64_t known = 1;
  for (AffineForOp loop : rows) {
    std::optional<int64_t> trips = getSmallTripCount(loop);
    if (!trips && (few.unknown || !hasPlainTrips(loop, root)))
      return std::nullopt;
    if (!trips)
      few.unknown = loop;
    known *= trips.value_or(1);
    if (known > most)
      return std::nullopt;
  }
  few.mostUnknown = most / std::max<int64_t>(known, 1);
  return few;
}

AffineForOp versionOnTrips(AffineForOp root, AffineForOp loop, int64_t most) {
  OpBuilder builder(root);
  AffineMap upper = loop.getUpperBoundMap();
  AffineExpr fits = builder.getAffineConstantExpr(most) - upper.getResult(0);
  auto few = AffineIfOp::create(
      builder, root.getLoc(),
      IntegerSet::get(upper.getNumDims(), upper.getNumSymbols(), {fits},
                      {false}),
      loop.getUpperBoundOperands(), /*withElseRegion=*/true);
  builder.setInsertionPoint(few.getElseBlock()->getTerminator());
  auto copy = cast<AffineForOp>(builder.clone(*root));
  root->moveBefore(few.getThenBlock()->getTerminator());
  return copy;
}

//===----------------------------------------------------------------------===//
// What passes begin with
//===----------------------------------------------------------------------===//

unsigned takeNests(func::FuncOp function, StringRef passName,
                   function_ref<bool(AffineForOp)> isDone,
                   function_ref<bool(AffineForOp, std::string &)> take) {
  unsigned declined = 0;
  function.walk<WalkOrder::PreOrder>([&](AffineForOp loop) {
    std::string reason;
    if (isDone(loop) || take(loop, reason))
      return WalkResult::skip();
    if (reason.empty())
      return WalkResult::advance();
    ++declined;
    remark(RemarkKind::Declined, loop.getLoc(), passName, reason);
    return WalkResult::skip();
  });
  return declined;
}

} // namespace polynest
