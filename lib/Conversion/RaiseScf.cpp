//===- RaiseScf.cpp - scf loops and plain accesses to affine --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: turns scf.for, scf.parallel, scf.forall, scf.if, memref.load and
// memref.store into their affine forms where bounds, conditions and indices
// are affine in values that are valid dimensions and symbols.
// Legal when: a loop counts up in `index` by a positive constant with signed
// comparison; a condition is a conjunction of comparisons whose two sides are
// known not to overflow (see Analysis/AffineValues.h), or the negation of one.
// Loops that may run in parallel are run in order, which is one of the orders
// they allow.
// Profitable always: nests are the form that all later passes work on.
// Limits: scf.while, conditions on data, and shared-output scf.forall stay.
// Cost: linear in the operations, times the length of their index arithmetic.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Analysis/AffineValues.h"
#include "Support/Remark.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/Matchers.h"

namespace polynest {
#define GEN_PASS_DEF_RAISESCF
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-raise-scf"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr StringLiteral kPass = "raise-scf";

/// A bound of an affine loop.
struct Bound {
  AffineMap map;
  SmallVector<Value> operands;
};

/// An affine.if condition; `negated` swaps its branches.
struct Condition {
  IntegerSet set;
  SmallVector<Value> operands;
  bool negated = false;
};

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// Expresses `value` as the results of a bound map: the minimum (for an upper
/// bound) or maximum (for a lower bound) of several expressions, or one.
static bool expressBound(AffineValueBuilder &builder, Value value, bool upper,
                         SmallVectorImpl<AffineExpr> &results) {
  Operation *op = value.getDefiningOp();
  bool combines =
      op && (upper ? isa<arith::MinSIOp>(op) : isa<arith::MaxSIOp>(op));
  if (combines && value.getType().isIndex())
    return expressBound(builder, op->getOperand(0), upper, results) &&
           expressBound(builder, op->getOperand(1), upper, results);
  AffineMap map;
  ValueRange operands;
  if (auto min = dyn_cast_or_null<AffineMinOp>(op); min && upper) {
    map = min.getMap();
    operands = min.getOperands();
  } else if (auto max = dyn_cast_or_null<AffineMaxOp>(op); max && !upper) {
    map = max.getMap();
    operands = max.getOperands();
  }
  if (map) {
    SmallVector<AffineExpr> exprs;
    for (Value operand : operands) {
      std::optional<AffineExpr> expr = builder.express(operand);
      if (!expr)
        return false;
      exprs.push_back(*expr);
    }
    ArrayRef<AffineExpr> all(exprs);
    for (AffineExpr result : map.getResults()) {
      AffineExpr replaced = result.replaceDimsAndSymbols(
          all.take_front(map.getNumDims()), all.drop_front(map.getNumDims()));
      if (!replaced.isPureAffine())
        return false;
      results.push_back(replaced);
    }
    return true;
  }
  std::optional<AffineExpr> expr = builder.express(value);
  if (expr)
    results.push_back(*expr);
  return expr.has_value();
}

static std::optional<Bound> boundOf(Operation *loop, Value value, bool upper) {
  AffineValueBuilder builder(loop);
  SmallVector<AffineExpr> results;
  if (!expressBound(builder, value, upper, results))
    return std::nullopt;
  Bound bound{AffineMap::get(builder.getNumDims(), builder.getNumSymbols(),
                             results, loop->getContext()),
              builder.getOperands()};
  canonicalizeMapAndOperands(&bound.map, &bound.operands);
  return bound;
}

static std::optional<Bound> boundOf(Operation *loop, OpFoldResult bound,
                                    bool upper) {
  if (auto value = dyn_cast<Value>(bound))
    return boundOf(loop, value, upper);
  int64_t constant = cast<IntegerAttr>(cast<Attribute>(bound)).getInt();
  return Bound{AffineMap::getConstantMap(constant, loop->getContext()), {}};
}

static std::optional<int64_t> stepOf(OpFoldResult step) {
  std::optional<int64_t> constant = getConstantIntValue(step);
  if (!constant || *constant <= 0)
    return std::nullopt;
  return constant;
}

/// Adds the constraints of `value` (or of its negation) to a conjunction.
/// Conjunctions come from and, negated disjunctions from or.
static bool addConstraints(AffineValueBuilder &builder, Value value,
                           bool negate,
                           SmallVectorImpl<AffineConstraint> &constraints) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    std::optional<AffineConstraint> constraint =
        builder.expressConstraint(compare, negate);
    if (constraint)
      constraints.push_back(*constraint);
    return constraint.has_value();
  }
  // not x is x xor true.
  if (auto negation = dyn_cast<arith::XOrIOp>(op);
      negation && matchPattern(negation.getRhs(), m_One()))
    return addConstraints(builder, negation.getLhs(), !negate, constraints);
  bool conjunction = negate ? isa<arith::OrIOp>(op) : isa<arith::AndIOp>(op);
  return conjunction &&
         addConstraints(builder, op->getOperand(0), negate, constraints) &&
         addConstraints(builder, op->getOperand(1), negate, constraints);
}

static std::optional<Condition> conditionOf(scf::IfOp op) {
  if (!op.getCondition().getType().isInteger(1))
    return std::nullopt;
  for (bool negate : {false, true}) {
    AffineValueBuilder builder(op);
    SmallVector<AffineConstraint> constraints;
    if (!addConstraints(builder, op.getCondition(), negate, constraints))
      continue;
    SmallVector<AffineExpr> exprs;
    SmallVector<bool> equalities;
    for (const AffineConstraint &constraint : constraints) {
      exprs.push_back(simplifyAffineExpr(constraint.expr, builder.getNumDims(),
                                         builder.getNumSymbols()));
      equalities.push_back(constraint.isEquality);
    }
    Condition condition{IntegerSet::get(builder.getNumDims(),
                                        builder.getNumSymbols(), exprs,
                                        equalities),
                        builder.getOperands(), negate};
    canonicalizeSetAndOperands(&condition.set, &condition.operands);
    return condition;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

/// Moves the operations of `from` to the end of `to`, without its terminator.
static void moveBody(Block *from, Block *to) {
  to->getOperations().splice(to->end(), from->getOperations(), from->begin(),
                             std::prev(from->end()));
}

static AffineForOp raiseFor(scf::ForOp op, const Bound &lower,
                            const Bound &upper, int64_t step) {
  OpBuilder builder(op);
  auto loop =
      AffineForOp::create(builder, op.getLoc(), lower.operands, lower.map,
                          upper.operands, upper.map, step, op.getInitArgs());
  Block *body = loop.getBody();
  // Without results the builder has made the terminator.
  if (op.getNumResults() == 0)
    body->getTerminator()->erase();
  op.getInductionVar().replaceAllUsesWith(loop.getInductionVar());
  for (auto [mine, theirs] :
       llvm::zip(loop.getRegionIterArgs(), op.getRegionIterArgs()))
    theirs.replaceAllUsesWith(mine);
  auto yield = cast<scf::YieldOp>(op.getBody()->getTerminator());
  SmallVector<Value> yielded(yield.getOperands());
  moveBody(op.getBody(), body);
  builder.setInsertionPointToEnd(body);
  AffineYieldOp::create(builder, yield.getLoc(), yielded);
  op.replaceAllUsesWith(loop);
  op.erase();
  return loop;
}

static void moveBranch(Block *from, Block *to) {
  auto yield = cast<scf::YieldOp>(from->getTerminator());
  SmallVector<Value> yielded(yield.getOperands());
  Location loc = yield.getLoc();
  moveBody(from, to);
  OpBuilder builder = OpBuilder::atBlockEnd(to);
  AffineYieldOp::create(builder, loc, yielded);
}

static void raiseIf(scf::IfOp op, const Condition &condition) {
  OpBuilder builder(op);
  Block *thenBlock = op.thenBlock(), *elseBlock = op.elseBlock();
  if (condition.negated)
    std::swap(thenBlock, elseBlock);
  auto raised = AffineIfOp::create(builder, op.getLoc(), op.getResultTypes(),
                                   condition.set, condition.operands,
                                   elseBlock != nullptr);
  for (Region *region : {&raised.getThenRegion(), &raised.getElseRegion()})
    if (!region->empty() && !region->front().empty())
      region->front().getTerminator()->erase();
  if (thenBlock) {
    moveBranch(thenBlock, raised.getThenBlock());
  } else {
    OpBuilder empty = OpBuilder::atBlockEnd(raised.getThenBlock());
    AffineYieldOp::create(empty, op.getLoc(), ValueRange());
  }
  if (elseBlock)
    moveBranch(elseBlock, raised.getElseBlock());
  op.replaceAllUsesWith(raised);
  op.erase();
}

/// Bounds of all dimensions of a loop with several.
struct Band {
  SmallVector<Bound> lower, upper;
  SmallVector<int64_t> steps;
};

static std::optional<Band> bandOf(Operation *op, ArrayRef<OpFoldResult> lower,
                                  ArrayRef<OpFoldResult> upper,
                                  ArrayRef<OpFoldResult> steps) {
  Band band;
  for (auto [l, u, s] : llvm::zip(lower, upper, steps)) {
    std::optional<Bound> lowerBound = boundOf(op, l, false);
    std::optional<Bound> upperBound = boundOf(op, u, true);
    std::optional<int64_t> step = stepOf(s);
    if (!lowerBound || !upperBound || !step)
      return std::nullopt;
    band.lower.push_back(*lowerBound);
    band.upper.push_back(*upperBound);
    band.steps.push_back(*step);
  }
  return band;
}

/// Builds the loops of `band` around nothing; `inits` are carried through all.
static SmallVector<AffineForOp> buildBand(OpBuilder &builder, Location loc,
                                          const Band &band, ValueRange inits) {
  SmallVector<AffineForOp> loops;
  SmallVector<Value> carried(inits);
  for (unsigned i = 0; i < band.steps.size(); ++i) {
    auto loop = AffineForOp::create(builder, loc, band.lower[i].operands,
                                    band.lower[i].map, band.upper[i].operands,
                                    band.upper[i].map, band.steps[i], carried);
    if (!loops.empty() && !inits.empty())
      AffineYieldOp::create(builder, loc, loop.getResults());
    carried.assign(loop.getRegionIterArgs().begin(),
                   loop.getRegionIterArgs().end());
    builder.setInsertionPointToStart(loop.getBody());
    loops.push_back(loop);
  }
  return loops;
}

/// scf.parallel as a nest run in order; reductions become carried values.
static void raiseParallel(scf::ParallelOp op, const Band &band) {
  OpBuilder builder(op);
  SmallVector<AffineForOp> loops =
      buildBand(builder, op.getLoc(), band, op.getInitVals());
  IRMapping mapping;
  for (auto [iv, loop] : llvm::zip(op.getInductionVars(), loops))
    mapping.map(iv, loop.getInductionVar());
  for (Operation &inner : op.getBody()->without_terminator())
    builder.clone(inner, mapping);
  auto reduce = cast<scf::ReduceOp>(op.getBody()->getTerminator());
  SmallVector<Value> yielded;
  for (auto [i, region] : llvm::enumerate(reduce.getReductions())) {
    Block &block = region.front();
    mapping.map(block.getArgument(0), loops.back().getRegionIterArgs()[i]);
    mapping.map(block.getArgument(1),
                mapping.lookupOrDefault(reduce.getOperands()[i]));
    for (Operation &inner : block.without_terminator())
      builder.clone(inner, mapping);
    yielded.push_back(
        mapping.lookupOrDefault(block.getTerminator()->getOperand(0)));
  }
  if (!yielded.empty())
    AffineYieldOp::create(builder, op.getLoc(), yielded);
  op.replaceAllUsesWith(loops.front());
  op.erase();
}

static void raiseForall(scf::ForallOp op, const Band &band) {
  OpBuilder builder(op);
  SmallVector<AffineForOp> loops =
      buildBand(builder, op.getLoc(), band, ValueRange());
  IRMapping mapping;
  for (auto [iv, loop] : llvm::zip(op.getInductionVars(), loops))
    mapping.map(iv, loop.getInductionVar());
  for (Operation &inner : op.getBody()->without_terminator())
    builder.clone(inner, mapping);
  op.erase();
}

//===----------------------------------------------------------------------===//
// One operation at a time, outside in: whether an inner loop is affine depends
// on the form of the loops around it, so deciding and rewriting alternate.
//===----------------------------------------------------------------------===//

/// Raises `op` if it can be; returns true and erases it if so.
static bool raise(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    std::optional<int64_t> step = stepOf(loop.getStep());
    if (!loop.getInductionVar().getType().isIndex() || loop.getUnsignedCmp() ||
        !step)
      return false;
    std::optional<Bound> lower = boundOf(op, loop.getLowerBound(), false);
    std::optional<Bound> upper = boundOf(op, loop.getUpperBound(), true);
    if (!lower || !upper)
      return false;
    raiseFor(loop, *lower, *upper, *step);
    return true;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    std::optional<Condition> condition = conditionOf(branch);
    if (!condition)
      return false;
    raiseIf(branch, *condition);
    return true;
  }
  if (auto parallel = dyn_cast<scf::ParallelOp>(op)) {
    std::optional<Band> band =
        bandOf(op, getAsOpFoldResult(parallel.getLowerBound()),
               getAsOpFoldResult(parallel.getUpperBound()),
               getAsOpFoldResult(parallel.getStep()));
    if (band)
      raiseParallel(parallel, *band);
    return band.has_value();
  }
  if (auto forall = dyn_cast<scf::ForallOp>(op)) {
    if (forall.getNumResults() != 0)
      return false;
    std::optional<Band> band =
        bandOf(op, forall.getMixedLowerBound(), forall.getMixedUpperBound(),
               forall.getMixedStep());
    if (band)
      raiseForall(forall, *band);
    return band.has_value();
  }
  auto load = dyn_cast<memref::LoadOp>(op);
  auto store = dyn_cast<memref::StoreOp>(op);
  if (!load && !store)
    return false;
  std::optional<AffineIndices> access =
      expressIndices(op, load ? load.getIndices() : store.getIndices());
  if (access)
    makeAffine(op, *access);
  return access.has_value();
}

static bool isCandidate(Operation *op) {
  return isa<scf::ForOp, scf::IfOp, scf::ParallelOp, scf::ForallOp,
             memref::LoadOp, memref::StoreOp>(op);
}

namespace {
struct RaiseScfPass : impl::RaiseScfBase<RaiseScfPass> {
  void runOnOperation() override { visit(getOperation()); }

  /// Visits the operations of `root` in order, each before those inside it.
  /// A raised loop stands where the old one stood and is visited again.
  void visit(Operation *root) {
    for (Region &region : root->getRegions())
      for (Block &block : region)
        for (auto it = block.begin(); it != block.end();) {
          Operation *op = &*it;
          Operation *before =
              op == &block.front() ? nullptr : op->getPrevNode();
          bool candidate = isCandidate(op);
          Location loc = op->getLoc();
          std::string name = op->getName().getStringRef().str();
          if (candidate && raise(op)) {
            ++numApplied;
            remark(RemarkKind::Applied, loc, kPass, "raised to affine")
                << arg("op", StringRef(name));
            it = before ? std::next(Block::iterator(before)) : block.begin();
            continue;
          }
          if (candidate) {
            ++numDeclined;
            remark(RemarkKind::Declined, loc, kPass,
                   "bounds, condition or indices are not affine")
                << arg("op", StringRef(name));
          }
          visit(op);
          ++it;
        }
  }
};
} // namespace

} // namespace polynest
