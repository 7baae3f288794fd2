//===- Dependence.cpp - what must stay in order ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two accesses are put into one system of constraints: a copy of the loop
// variables for each, the bounds of their loops, and the equality of the
// addresses. A dependence carried by loop k is a point of it at which all loops
// outside k agree and the sink's k is larger. Whatever cannot be written down
// (an indirect index, an unknown view, a bound that is no linear function) is
// left out, which makes the system larger, so that an empty system always is a
// proof. Subscripts that move with one common loop each are decided without
// solving anything.
//===----------------------------------------------------------------------===//

#include "Analysis/Dependence.h"

#include "Analysis/Aliasing.h"
#include "Analysis/IslBridge.h"
#include "Analysis/LinearIndex.h"
#include "Analysis/LoopIndex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

//===----------------------------------------------------------------------===//
// Instances: the loops around an operation
//===----------------------------------------------------------------------===//

namespace {
/// One executed instance of an operation: the loop dimensions around it, and
/// where each is constrained.
struct Instance {
  Operation *op;
  SmallVector<LoopDim, 6> dims;
  /// Null for a loop of another dialect.
  SmallVector<Value, 6> ivs;
  /// Conditions around, with the branch taken.
  SmallVector<std::pair<AffineIfOp, bool>, 2> conditions;
};
} // namespace

/// True if each region of `op` runs at most once for each time `op` does.
static bool runsOnce(Operation *op) {
  return isa<AffineIfOp, scf::IfOp, scf::IndexSwitchOp, scf::ExecuteRegionOp,
             memref::AllocaScopeOp, FunctionOpInterface, ModuleOp>(op);
}

static Instance makeInstance(Operation *op) {
  Instance instance{op, {}, {}, {}};
  SmallVector<std::pair<Operation *, Region *>, 8> around;
  for (Region *region = op->getParentRegion(); region;
       region = region->getParentRegion()) {
    around.push_back({region->getParentOp(), region});
    if (isa<FunctionOpInterface>(region->getParentOp()))
      break;
  }
  for (auto [parent, region] : llvm::reverse(around)) {
    if (auto loop = dyn_cast<AffineForOp>(parent)) {
      instance.dims.push_back({parent, 0});
      instance.ivs.push_back(loop.getInductionVar());
    } else if (auto loop = dyn_cast<AffineParallelOp>(parent)) {
      for (auto [i, iv] : llvm::enumerate(loop.getIVs())) {
        instance.dims.push_back({parent, unsigned(i)});
        instance.ivs.push_back(iv);
      }
    } else if (auto condition = dyn_cast<AffineIfOp>(parent)) {
      instance.conditions.push_back(
          {condition, region == &condition.getThenRegion()});
    } else if (!runsOnce(parent)) {
      instance.dims.push_back({parent, 0});
      instance.ivs.push_back(Value());
    }
    // Control flow between blocks may loop.
    if (!region->hasOneBlock() &&
        (instance.dims.empty() || instance.dims.back().loop != parent ||
         instance.ivs.back())) {
      instance.dims.push_back({parent, ~0u});
      instance.ivs.push_back(Value());
    }
  }
  return instance;
}

/// True if a symbol is the same number in every instance of one call of the
/// function. What the affine dialect takes for a symbol may still change where
/// control flow between blocks loops, or a region that is a scope of its own
/// runs several times.
static bool isInvariant(Value value) {
  if (isAffineInductionVar(value))
    return false;
  if (auto dim = value.getDefiningOp<memref::DimOp>())
    if (dim.getConstantIndex())
      value = dim.getSource();
  if (!value.getParentBlock()->isEntryBlock())
    return false;
  for (Operation *op = value.getParentRegion()->getParentOp();
       !isa<FunctionOpInterface>(op); op = op->getParentOp()) {
    if (!runsOnce(op) || !op->getBlock() || !op->getBlock()->isEntryBlock())
      return false;
    if (isa<ModuleOp>(op))
      break;
  }
  return true;
}

static unsigned countCommon(const Instance &a, const Instance &b) {
  unsigned n = 0;
  while (n < a.dims.size() && n < b.dims.size() && a.dims[n] == b.dims[n])
    ++n;
  return n;
}

/// True if, in one iteration of all common loops, `a` runs before `b`; false
/// if after or if only one of them can run.
static bool isTextuallyBefore(Operation *a, Operation *b) {
  if (a == b)
    return false;
  for (Operation *at = a; at; at = at->getParentOp()) {
    Operation *other =
        at->getBlock() ? at->getBlock()->findAncestorOpInBlock(*b) : nullptr;
    if (other)
      // One inside the other counts as before: nothing is excluded.
      return other == at || at->isBeforeInBlock(other);
    // Two blocks of one region: any order is possible. Two regions of one
    // operation: only branches of a condition exclude each other.
    if (at->getParentRegion() && b != at &&
        at->getParentRegion()->isAncestor(b->getParentRegion()))
      return true;
    Operation *parent = at->getParentOp();
    if (parent && parent->isProperAncestor(b))
      return !isa<AffineIfOp, scf::IfOp, scf::IndexSwitchOp>(parent);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The system of two instances
//===----------------------------------------------------------------------===//

namespace {
/// Columns and constraints of the loops and addresses of two accesses.
struct PairSystem {
  AffineSystem system;
  /// Something could not be written down: the system is larger than the set
  /// it stands for.
  bool isApproximate = false;

  /// Columns of the loop dimensions of the instances added.
  SmallVector<SmallVector<unsigned, 6>, 2> columns;

  unsigned paramOf(Value value) {
    if (auto dim = value.getDefiningOp<memref::DimOp>())
      if (std::optional<int64_t> index = dim.getConstantIndex()) {
        auto [it, isNew] =
            dimParams.try_emplace({dim.getSource(), unsigned(*index)}, value);
        value = it->second;
      }
    auto [it, isNew] = params.try_emplace(value, 0);
    if (isNew) {
      it->second = system.addColumn(AffineSystem::ColumnKind::Param);
      paramValues.push_back(value);
    }
    return it->second;
  }

  /// Adds columns and bounds of an instance's loops; the first `numShared`
  /// dimensions take the columns given.
  unsigned addInstance(const Instance &instance,
                       ArrayRef<unsigned> shared = {}) {
    unsigned number = columns.size();
    columns.emplace_back();
    bindings.emplace_back();
    for (unsigned i = 0, e = instance.dims.size(); i != e; ++i) {
      unsigned column = i < shared.size()
                            ? shared[i]
                            : system.addColumn(AffineSystem::ColumnKind::Dim);
      columns[number].push_back(column);
      if (instance.ivs[i])
        bindings[number][instance.ivs[i]] = column;
      if (i >= shared.size() && instance.ivs[i])
        addLoop(number, instance.dims[i], column);
    }
    for (auto [condition, taken] : instance.conditions)
      if (taken)
        addCondition(number, condition);
      else
        isApproximate = true;
    return number;
  }

  std::optional<LinearExpr> flatten(unsigned instance, AffineExpr expr,
                                    unsigned numDims, ValueRange operands) {
    SmallVector<LinearExpr, 6> dims, symbols;
    SmallVector<AffineExpr, 6> dimKeys, symbolKeys;
    MLIRContext *context = expr.getContext();
    for (auto [i, operand] : llvm::enumerate(operands)) {
      std::optional<AffineValueMap> value = getAffineValue(operand);
      std::optional<LinearExpr> linear;
      AffineExpr key;
      if (!value) {
        linear = fresh();
      } else if (!isLeaf(*value, operand)) {
        linear = flatten(instance, value->getAffineMap().getResult(0),
                         value->getNumDims(), value->getOperands());
      } else {
        linear = LinearExpr::ofColumn(columnOf(instance, operand));
        key = getAffineSymbolExpr(linear->terms[0].first, context);
      }
      if (!linear)
        return std::nullopt;
      (i < numDims ? dims : symbols).push_back(*linear);
      (i < numDims ? dimKeys : symbolKeys).push_back(key);
    }
    return system.flatten(
        expr, dims, symbols,
        [&](AffineExpr inner) -> std::optional<LinearExpr> {
          // The same function of the same columns is the same number,
          // whatever it is.
          for (ArrayRef<AffineExpr> keys : {ArrayRef<AffineExpr>(dimKeys),
                                            ArrayRef<AffineExpr>(symbolKeys)})
            for (AffineExpr key : keys)
              if (!key)
                return fresh();
          AffineExpr key = inner.replaceDimsAndSymbols(dimKeys, symbolKeys);
          auto [it, isNew] = opaque.try_emplace(key, 0);
          if (isNew)
            it->second = fresh().terms[0].first;
          return LinearExpr::ofColumn(it->second);
        });
  }

  std::optional<LinearExpr>
  flatten(unsigned instance, const AffineValueMap &map, unsigned result) {
    return flatten(instance, map.getAffineMap().getResult(result),
                   map.getNumDims(), map.getOperands());
  }

  /// lhs - rhs lies in [min, max].
  bool addDifference(const LinearExpr &lhs, const LinearExpr &rhs, int64_t min,
                     int64_t max) {
    std::optional<LinearExpr> difference = AffineSystem::add(lhs, rhs, -1);
    if (!difference)
      return false;
    if (min == max) {
      if (llvm::SubOverflow(difference->constant, min, difference->constant))
        return false;
      system.addEquality(*difference);
      return true;
    }
    LinearExpr low = *difference;
    std::optional<LinearExpr> high =
        AffineSystem::add(LinearExpr::ofConstant(max), *difference, -1);
    if (!high || llvm::SubOverflow(low.constant, min, low.constant))
      return false;
    system.addInequality(low);
    system.addInequality(*high);
    return true;
  }

  SmallVector<Value, 4> paramValues;

private:
  /// True if `value` is the operand itself.
  static bool isLeaf(const AffineValueMap &value, Value operand) {
    return value.getNumOperands() == 1 && value.getOperand(0) == operand;
  }

  unsigned columnOf(unsigned instance, Value value) {
    auto it = bindings[instance].find(value);
    if (it != bindings[instance].end())
      return it->second;
    // A variable of a loop that is not around: nothing is known of it, and
    // it may differ from one instance to the other.
    if (!isInvariant(value))
      return fresh().terms[0].first;
    return paramOf(value);
  }

  LinearExpr fresh() {
    isApproximate = true;
    return LinearExpr::ofColumn(
        system.addColumn(AffineSystem::ColumnKind::Local));
  }

  void addLoop(unsigned instance, LoopDim dim, unsigned column) {
    AffineMap lower, upper;
    ValueRange lowerOperands, upperOperands;
    int64_t step;
    if (auto loop = dyn_cast<AffineForOp>(dim.loop)) {
      lower = loop.getLowerBoundMap();
      upper = loop.getUpperBoundMap();
      lowerOperands = loop.getLowerBoundOperands();
      upperOperands = loop.getUpperBoundOperands();
      step = loop.getStepAsInt();
    } else {
      auto parallel = cast<AffineParallelOp>(dim.loop);
      lower = parallel.getLowerBoundMap(dim.dim);
      upper = parallel.getUpperBoundMap(dim.dim);
      lowerOperands = parallel.getLowerBoundsOperands();
      upperOperands = parallel.getUpperBoundsOperands();
      step = parallel.getSteps()[dim.dim];
    }
    LinearExpr iv = LinearExpr::ofColumn(column);
    for (AffineExpr result : lower.getResults()) {
      std::optional<LinearExpr> bound =
          flatten(instance, result, lower.getNumDims(), lowerOperands);
      std::optional<LinearExpr> row =
          bound ? AffineSystem::add(iv, *bound, -1) : std::nullopt;
      if (!row) {
        isApproximate = true;
        continue;
      }
      system.addInequality(*row);
      isApproximate |= step > 1 && lower.getNumResults() != 1;
      if (step > 1 && lower.getNumResults() == 1) {
        // iv = bound + step * count
        LinearExpr count = LinearExpr::ofColumn(
            system.addColumn(AffineSystem::ColumnKind::Local));
        if (std::optional<LinearExpr> aligned =
                AffineSystem::add(*row, count, -step))
          system.addEquality(*aligned);
      }
    }
    for (AffineExpr result : upper.getResults()) {
      std::optional<LinearExpr> bound =
          flatten(instance, result, upper.getNumDims(), upperOperands);
      std::optional<LinearExpr> row =
          bound ? AffineSystem::add(*bound, iv, -1) : std::nullopt;
      if (!row || llvm::SubOverflow(row->constant, int64_t(1), row->constant)) {
        isApproximate = true;
        continue;
      }
      system.addInequality(*row);
    }
  }

  void addCondition(unsigned instance, AffineIfOp op) {
    IntegerSet set = op.getIntegerSet();
    for (unsigned i = 0, e = set.getNumConstraints(); i != e; ++i) {
      std::optional<LinearExpr> row = flatten(
          instance, set.getConstraint(i), set.getNumDims(), op.getOperands());
      if (!row) {
        isApproximate = true;
        continue;
      }
      if (set.isEq(i))
        system.addEquality(*row);
      else
        system.addInequality(*row);
    }
  }

  SmallVector<DenseMap<Value, unsigned>, 2> bindings;
  DenseMap<Value, unsigned> params;
  /// The first of all values that name one size.
  DenseMap<std::pair<Value, unsigned>, Value> dimParams;
  DenseMap<AffineExpr, unsigned> opaque;
};

/// What an address comparison compares.
struct AddressPair {
  enum Kind { Anything, Indices, Bytes } kind = Anything;
  AffineValueMap a, b;
  Operation *opA = nullptr, *opB = nullptr;
  SmallVector<int64_t, 4> extentA, extentB;
  /// Sizes of the memref that indices are of.
  ArrayRef<int64_t> shape;
};
} // namespace

/// How many bytes an access touches from its byte address on, if that is one
/// run of bytes (or is covered by one).
static std::optional<int64_t> getByteRun(const Access &access) {
  auto type = cast<MemRefType>(access.memref.getType());
  std::optional<int64_t> bytes = getElementBytes(type.getElementType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!bytes || failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  int64_t last = 0;
  for (auto [extent, stride] : llvm::zip_equal(access.extent, strides)) {
    int64_t reach;
    if (extent == 1)
      continue;
    if (ShapedType::isDynamic(stride) || stride < 0 ||
        llvm::MulOverflow(extent - 1, stride, reach) ||
        llvm::AddOverflow(last, reach, last))
      return std::nullopt;
  }
  int64_t run;
  if (llvm::AddOverflow(last, int64_t(1), last) ||
      llvm::MulOverflow(last, *bytes, run))
    return std::nullopt;
  return run;
}

static AddressPair compareAddresses(const Access &a, const Access &b) {
  AddressPair pair;
  pair.opA = a.op;
  pair.opB = b.op;
  if (!a.isAffine() || !b.isAffine() || a.base != b.base)
    return pair;
  const Access *first = &a, *second = &b;
  Access resolvedA, resolvedB;
  if (a.memref != b.memref || !hasInjectiveLayout(a.memref)) {
    resolvedA = throughViews(a);
    resolvedB = throughViews(b);
    first = &resolvedA;
    second = &resolvedB;
  }
  if (first->memref == second->memref && hasInjectiveLayout(first->memref)) {
    pair.kind = AddressPair::Indices;
    pair.a = first->map;
    pair.b = second->map;
    pair.extentA = first->extent;
    pair.extentB = second->extent;
    pair.shape = cast<MemRefType>(first->memref.getType()).getShape();
    return pair;
  }
  std::optional<AffineValueMap> byteA = getByteAddress(a);
  std::optional<AffineValueMap> byteB = getByteAddress(b);
  std::optional<int64_t> runA = getByteRun(a), runB = getByteRun(b);
  if (byteA && byteB && runA && runB) {
    pair.kind = AddressPair::Bytes;
    pair.a = *byteA;
    pair.b = *byteB;
    pair.extentA.push_back(*runA);
    pair.extentB.push_back(*runB);
  }
  return pair;
}

//===----------------------------------------------------------------------===//
// Subscripts that need no solver
//===----------------------------------------------------------------------===//

namespace {
/// The distance of each common loop as an independent range.
struct QuickResult {
  enum Kind { Independent, Ranges, NeedsSolver } kind = NeedsSolver;
  SmallVector<DistanceRange, 6> distance;
};
} // namespace

/// The loop's bounds if they depend on no other loop: constants for the range,
/// empty where symbolic. False if they do depend.
static bool getRectangularBounds(LoopDim dim, Value iv,
                                 std::optional<IndexRange> &range,
                                 int64_t &step) {
  range = std::nullopt;
  step = 1;
  if (!iv)
    return true;
  auto isFree = [](ValueRange operands) {
    for (Value operand : operands)
      if (!isValidSymbol(operand) || isAffineInductionVar(operand))
        return false;
    return true;
  };
  bool hasOneLower;
  if (auto loop = dyn_cast<AffineForOp>(dim.loop)) {
    if (!isFree(loop.getLowerBoundOperands()) ||
        !isFree(loop.getUpperBoundOperands()))
      return false;
    hasOneLower = loop.getLowerBoundMap().getNumResults() == 1;
    step = loop.getStepAsInt();
  } else {
    auto parallel = cast<AffineParallelOp>(dim.loop);
    if (!isFree(parallel.getLowerBoundsOperands()) ||
        !isFree(parallel.getUpperBoundsOperands()))
      return false;
    hasOneLower = parallel.getLowerBoundMap(dim.dim).getNumResults() == 1;
    step = parallel.getSteps()[dim.dim];
  }
  if (!hasOneLower)
    step = 1;
  range = getConstantRange(iv);
  return true;
}

/// True if a loop surely has no iteration, so that nothing inside it runs.
static bool neverRuns(const Instance &instance) {
  for (auto [dim, iv] : llvm::zip_equal(instance.dims, instance.ivs))
    if (auto loop = dyn_cast<AffineForOp>(dim.loop))
      if (std::optional<uint64_t> trips = getTripCount(loop))
        if (*trips == 0)
          return true;
  return false;
}

static std::optional<int64_t> dividedRange(int64_t min, int64_t max, int64_t by,
                                           bool wantMax) {
  // Integers x with min <= by * x <= max.
  if (by < 0) {
    std::swap(min, max);
    if (min == INT64_MIN || max == INT64_MIN || by == INT64_MIN)
      return std::nullopt;
    min = -min;
    max = -max;
    by = -by;
  }
  return wantMax ? llvm::divideFloorSigned(max, by)
                 : llvm::divideCeilSigned(min, by);
}

static QuickResult tryQuick(const Instance &a, const Instance &b,
                            unsigned numCommon, const AddressPair &address,
                            unsigned numEqual) {
  QuickResult result;
  if (!a.conditions.empty() || !b.conditions.empty())
    return result;
  SmallVector<DistanceRange, 6> ranges(numCommon);
  SmallVector<int64_t, 6> steps(numCommon);
  for (const Instance *instance : {&a, &b}) {
    for (unsigned i = 0, e = instance->dims.size(); i != e; ++i) {
      std::optional<IndexRange> range;
      int64_t step;
      if (!getRectangularBounds(instance->dims[i], instance->ivs[i], range,
                                step))
        return result;
      if (i >= numCommon || instance == &b)
        continue;
      steps[i] = step;
      int64_t span;
      if (range && !llvm::SubOverflow(range->max, range->min, span)) {
        ranges[i].max = span - span % step;
        ranges[i].min = -*ranges[i].max;
      }
      if (i < numEqual)
        ranges[i].min = ranges[i].max = 0;
    }
  }
  if (neverRuns(a) || neverRuns(b)) {
    result.kind = QuickResult::Independent;
    return result;
  }
  if (address.kind == AddressPair::Bytes)
    return result;
  bool isComplete = true;
  unsigned numResults =
      address.kind == AddressPair::Anything ? 0 : address.a.getNumResults();
  for (unsigned r = 0; r != numResults; ++r) {
    // Each side as constant + factor * variable.
    struct Term {
      int64_t constant = 0, factor = 0;
      Value variable;
      AffineExpr symbolic;
    };
    auto split = [&](const AffineValueMap &map, Term &term) {
      AffineMap affine = map.getAffineMap();
      AffineExpr expr = affine.getResult(r);
      auto addConstant = [&](AffineExpr &e) {
        auto sum = dyn_cast<AffineBinaryOpExpr>(e);
        if (!sum || e.getKind() != AffineExprKind::Add)
          return;
        if (auto c = dyn_cast<AffineConstantExpr>(sum.getRHS())) {
          term.constant = c.getValue();
          e = sum.getLHS();
        }
      };
      addConstant(expr);
      if (auto c = dyn_cast<AffineConstantExpr>(expr)) {
        term.constant = c.getValue();
        return true;
      }
      term.factor = 1;
      if (auto product = dyn_cast<AffineBinaryOpExpr>(expr)) {
        auto c = dyn_cast<AffineConstantExpr>(product.getRHS());
        if (expr.getKind() != AffineExprKind::Mul || !c)
          return false;
        term.factor = c.getValue();
        expr = product.getLHS();
      }
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        term.variable = map.getOperand(dim.getPosition());
      else if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
        term.variable =
            map.getOperand(affine.getNumDims() + symbol.getPosition());
      else
        return false;
      return term.factor != 0;
    };
    Term ta, tb;
    int64_t difference;
    if (!split(address.a, ta) || !split(address.b, tb) ||
        ta.variable != tb.variable || ta.factor != tb.factor ||
        llvm::SubOverflow(ta.constant, tb.constant, difference)) {
      isComplete = false;
      continue;
    }
    // index a - index b lies in [-(extent a - 1), extent b - 1], and is
    // difference - factor * distance.
    int64_t min, max;
    if (llvm::SubOverflow(difference, address.extentB[r] - 1, min) ||
        llvm::AddOverflow(difference, address.extentA[r] - 1, max)) {
      isComplete = false;
      continue;
    }
    if (ta.variable && !isAffineInductionVar(ta.variable) &&
        !isInvariant(ta.variable)) {
      isComplete = false;
      continue;
    }
    if (!ta.variable || !isAffineInductionVar(ta.variable)) {
      // The same number on both sides.
      if (min > 0 || max < 0) {
        result.kind = QuickResult::Independent;
        return result;
      }
      continue;
    }
    unsigned common = llvm::find(a.ivs, ta.variable) - a.ivs.begin();
    if (common >= numCommon) {
      isComplete = false;
      continue;
    }
    std::optional<int64_t> low = dividedRange(min, max, ta.factor, false);
    std::optional<int64_t> high = dividedRange(min, max, ta.factor, true);
    if (!low || !high) {
      isComplete = false;
      continue;
    }
    DistanceRange &range = ranges[common];
    range.min = range.min ? std::max(*range.min, *low) : *low;
    range.max = range.max ? std::min(*range.max, *high) : *high;
  }
  for (auto [range, step] : llvm::zip_equal(ranges, steps)) {
    if (range.min)
      range.min = llvm::divideCeilSigned(*range.min, step) * step;
    if (range.max)
      range.max = llvm::divideFloorSigned(*range.max, step) * step;
    if (range.min && range.max && *range.min > *range.max) {
      result.kind = QuickResult::Independent;
      return result;
    }
  }
  if (!isComplete)
    return result;
  result.kind = QuickResult::Ranges;
  result.distance = std::move(ranges);
  return result;
}

//===----------------------------------------------------------------------===//
// Iterations of one loop
//===----------------------------------------------------------------------===//

/// True if the terms that stand still are the same ones, and drop out.
static bool haveEqualFixedTerms(const LoopIndex &a, const LoopIndex &b) {
  LinearIndex difference;
  for (auto [value, factor] : a.fixed)
    if (!difference.add(value, factor))
      return false;
  for (auto [value, factor] : b.fixed)
    if (factor == INT64_MIN || !difference.add(value, -factor))
      return false;
  return difference.isConstant();
}

/// True if elements named by a and those named by b, of two iterations of one
/// run of the loop, surely differ in this index.
static bool isIndexApart(const LoopIndex &a, int64_t extentX,
                         const LoopIndex &b, int64_t extentY,
                         AffineForOp loop) {
  if (a.factor == 0 || a.factor != b.factor || a.factor == INT64_MIN ||
      !haveEqualFixedTerms(a, b))
    return false;
  // x - y is factor * distance plus a number from [least, most]; elements in
  // common need it in [1 - extent of x, extent of y - 1].
  int64_t least, most, stride, next, before;
  if (llvm::MulOverflow(std::abs(a.factor), loop.getStepAsInt(), stride) ||
      llvm::SubOverflow(a.min, b.max, least) ||
      llvm::SubOverflow(a.max, b.min, most) ||
      llvm::AddOverflow(least, stride, next) ||
      llvm::SubOverflow(most, stride, before) || stride <= 0)
    return false;
  bool isBehind = next > extentY - 1, isBefore = before < 1 - extentX;
  if (isBehind && isBefore)
    return true;
  // Or the last iteration does not get there from the first.
  std::optional<IndexRange> range = getConstantRange(loop.getInductionVar());
  int64_t span, last, first;
  if (!range || llvm::SubOverflow(range->max, range->min, span) ||
      llvm::MulOverflow(std::abs(a.factor), span, span) ||
      llvm::AddOverflow(most, span, last) ||
      llvm::SubOverflow(least, span, first))
    return false;
  return (isBehind || last < 1 - extentX) && (isBefore || first > extentY - 1);
}

static bool isIndexApart(AffineExpr x, int64_t extentX, AffineExpr y,
                         int64_t extentY, const AddressPair &address,
                         AffineForOp loop) {
  std::optional<LoopIndex> a = getLoopIndex(x, address.a, address.opA, loop);
  std::optional<LoopIndex> b =
      a ? getLoopIndex(y, address.b, address.opB, loop) : std::nullopt;
  return b && isIndexApart(*a, extentX, *b, extentY, loop);
}

/// The expression that indices `quotient` and `rest` of a map are the two parts
/// of, e floordiv c and e mod c, or null. Together they name what e names.
static AffineExpr joinParts(const AffineValueMap &map, unsigned quotient,
                            unsigned rest, int64_t &divisor) {
  auto high =
      dyn_cast<AffineBinaryOpExpr>(map.getAffineMap().getResult(quotient));
  auto low = dyn_cast<AffineBinaryOpExpr>(map.getAffineMap().getResult(rest));
  if (!high || !low || high.getKind() != AffineExprKind::FloorDiv ||
      low.getKind() != AffineExprKind::Mod || high.getLHS() != low.getLHS() ||
      high.getRHS() != low.getRHS())
    return {};
  auto constant = dyn_cast<AffineConstantExpr>(high.getRHS());
  divisor = constant ? constant.getValue() : 0;
  return divisor > 0 ? high.getLHS() : AffineExpr();
}

/// The same for a pair of accesses whose indices at two places are such parts.
/// Elements that follow in the rest must not reach the next quotient: they do
/// not where the dimension is as long as the divisor.
static bool arePartsApart(const AddressPair &address, unsigned quotient,
                          unsigned rest, ArrayRef<int64_t> shape,
                          AffineForOp loop) {
  int64_t divisorA, divisorB;
  AffineExpr a = joinParts(address.a, quotient, rest, divisorA);
  AffineExpr b = a ? joinParts(address.b, quotient, rest, divisorB) : a;
  return a && b && divisorA == divisorB && address.extentA[quotient] == 1 &&
         address.extentB[quotient] == 1 &&
         (shape[rest] == divisorA ||
          (address.extentA[rest] == 1 && address.extentB[rest] == 1)) &&
         isIndexApart(a, address.extentA[rest], b, address.extentB[rest],
                      address, loop);
}

/// True for one element whose indices, of which data may choose some, are
/// values of their own.
static bool hasIndexValues(const Access &access) {
  return isa<memref::LoadOp, memref::StoreOp>(access.op);
}

static OperandRange getIndexValues(const Access &access) {
  if (auto load = dyn_cast<memref::LoadOp>(access.op))
    return load.getIndices();
  return cast<memref::StoreOp>(access.op).getIndices();
}

namespace {
/// What indices of accesses are while one loop runs, worked out once an access:
/// each of them is compared with all others.
class LoopIndices {
public:
  explicit LoopIndices(AffineForOp loop) : loop(loop) {}

  /// True if some index that the two name of one memref is apart. Both are
  /// affine or have values for indices: a column, in rows that are looked up.
  bool areApart(const Access &a, const Access &b) {
    ArrayRef<std::optional<LoopIndex>> first = of(a), second = of(b);
    for (unsigned r = 0, e = first.size(); r != e; ++r)
      if (first[r] && second[r] &&
          isIndexApart(*first[r], a.extent[r], *second[r], b.extent[r], loop))
        return true;
    return false;
  }

  AffineForOp loop;

private:
  ArrayRef<std::optional<LoopIndex>> of(const Access &access) {
    auto [it, isNew] = known.try_emplace(&access);
    if (isNew) {
      it->second = std::make_unique<List>();
      workOut(access, *it->second);
    }
    return *it->second;
  }

  using List = SmallVector<std::optional<LoopIndex>, 2>;

  void workOut(const Access &access, List &indices) const {
    if (access.isAffine()) {
      for (AffineExpr expr : access.map.getAffineMap().getResults())
        indices.push_back(getLoopIndex(expr, access.map, access.op, loop));
      return;
    }
    for (Value index : getIndexValues(access)) {
      std::optional<AffineValueMap> map = getAffineValue(index);
      indices.push_back(
          map ? getLoopIndex(map->getResult(0), *map, access.op, loop)
              : std::nullopt);
    }
  }

  DenseMap<const Access *, std::unique_ptr<List>> known;
};
} // namespace

/// True if the two surely touch different elements in any two iterations of one
/// run of the loop: their memory is made in it, or some index moves further in
/// one step than all the loops inside move it. Nothing is solved.
static bool touchApart(const Access &a, const Access &b, LoopIndices &indices) {
  AffineForOp loop = indices.loop;
  if (a.base && a.base == b.base &&
      getStorageKind(a.base) == StorageKind::Allocation &&
      loop->isAncestor(Value(a.base).getParentBlock()->getParentOp()))
    return true;
  bool haveIndices = (a.isAffine() && b.isAffine()) ||
                     (hasIndexValues(a) && hasIndexValues(b));
  if (haveIndices && a.memref == b.memref && hasInjectiveLayout(a.memref) &&
      indices.areApart(a, b))
    return true;
  AddressPair address = compareAddresses(a, b);
  if (address.kind == AddressPair::Anything)
    return false;
  unsigned count = address.a.getNumResults();
  for (unsigned r = 0; r != count; ++r)
    if (isIndexApart(address.a.getResult(r), address.extentA[r],
                     address.b.getResult(r), address.extentB[r], address, loop))
      return true;
  if (address.kind != AddressPair::Indices)
    return false;
  for (unsigned quotient = 0; quotient != count; ++quotient)
    for (unsigned rest = 0; rest != count; ++rest)
      if (quotient != rest &&
          arePartsApart(address, quotient, rest, address.shape, loop))
        return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Pairs of accesses
//===----------------------------------------------------------------------===//

struct DependenceAnalysis::Impl {
  IslContext isl;
  /// Without room of their own, so that they stay where they are.
  DenseMap<Operation *, SmallVector<Access, 0>> accesses;
  using Key = std::tuple<Operation *, Operation *, void *, void *, bool, bool>;
  std::map<Key, DependenceInfo> dependences;
  DenseMap<Value, bool> privateBases;
  DenseMap<std::pair<Value, Value>, bool> aliases;

  bool isPrivate(Value base) {
    auto [it, isNew] = privateBases.try_emplace(base, false);
    if (isNew)
      it->second = isPrivateAllocation(base);
    return it->second;
  }

  /// True if no element can be meant by both, whatever the indices.
  bool cannotMeet(const Access &a, const Access &b) {
    if (!a.isWrite && !b.isWrite)
      return true;
    if (a.memref && b.memref) {
      auto [it, isNew] = aliases.try_emplace({a.memref, b.memref}, false);
      if (isNew)
        it->second = mayAlias(a.memref, b.memref);
      if (!it->second)
        return true;
      // What an entry may not write, nobody overlapping it writes.
      return a.base != b.base &&
             getStorageKind(a.base) == StorageKind::ReadOnlyArgument &&
             getStorageKind(b.base) == StorageKind::ReadOnlyArgument;
    }
    if (a.memref)
      return isPrivate(a.base);
    if (b.memref)
      return isPrivate(b.base);
    return false;
  }

  DependenceInfo compute(const Access &source, const Access &sink);
  DepKind computeOverlap(const Access &a, const Access &b);
  bool addAddresses(PairSystem &pair, const AddressPair &address,
                    unsigned instanceA, unsigned instanceB);
};

/// Loops that the memory of both accesses is allocated inside of: different
/// iterations have different memory.
static unsigned countAllocatingLoops(const Access &a, const Access &b,
                                     const Instance &instance,
                                     unsigned numCommon) {
  if (!a.base || a.base != b.base ||
      getStorageKind(a.base) != StorageKind::Allocation)
    return 0;
  Operation *alloc = a.base.getDefiningOp();
  unsigned n = 0;
  while (n < numCommon && instance.dims[n].loop->isProperAncestor(alloc))
    ++n;
  return n;
}

/// False if the addresses cannot be written down.
bool DependenceAnalysis::Impl::addAddresses(PairSystem &pair,
                                            const AddressPair &address,
                                            unsigned instanceA,
                                            unsigned instanceB) {
  if (address.kind == AddressPair::Anything)
    return false;
  for (unsigned r = 0, e = address.a.getNumResults(); r != e; ++r) {
    std::optional<LinearExpr> a = pair.flatten(instanceA, address.a, r);
    std::optional<LinearExpr> b = pair.flatten(instanceB, address.b, r);
    // A dimension that cannot be written down does not tell them apart.
    if (!a || !b ||
        !pair.addDifference(*a, *b, -(address.extentA[r] - 1),
                            address.extentB[r] - 1))
      pair.isApproximate = true;
  }
  return true;
}

DependenceInfo DependenceAnalysis::Impl::compute(const Access &source,
                                                 const Access &sink) {
  DependenceInfo info;
  Instance a = makeInstance(source.op), b = makeInstance(sink.op);
  unsigned numCommon = countCommon(a, b);
  info.commonLoops.assign(a.dims.begin(), a.dims.begin() + numCommon);
  if (cannotMeet(source, sink))
    return info;
  unsigned numEqual = countAllocatingLoops(source, sink, a, numCommon);
  bool textual = isTextuallyBefore(source.op, sink.op);
  AddressPair address = compareAddresses(source, sink);

  QuickResult quick = tryQuick(a, b, numCommon, address, numEqual);
  if (quick.kind == QuickResult::Independent)
    return info;
  if (quick.kind == QuickResult::Ranges) {
    for (unsigned level = numEqual; level <= numCommon; ++level) {
      if (level == numCommon && !textual)
        break;
      DependenceVector vector;
      vector.level = level;
      vector.distance = quick.distance;
      for (unsigned i = 0; i != level; ++i)
        vector.distance[i].min = vector.distance[i].max = 0;
      if (level < numCommon) {
        DistanceRange &range = vector.distance[level];
        if (!range.max || *range.max >= 1) {
          range.min = range.min ? std::max<int64_t>(*range.min, 1) : 1;
          info.vectors.push_back(vector);
        }
        // Zero must be possible to go on to the next level.
        const DistanceRange &own = quick.distance[level];
        if ((own.min && *own.min > 0) || (own.max && *own.max < 0))
          break;
      } else {
        info.vectors.push_back(vector);
      }
    }
    info.kind = info.vectors.empty() ? DepKind::None : DepKind::Dependent;
    return info;
  }

  PairSystem base;
  base.addInstance(a);
  base.addInstance(b);
  addAddresses(base, address, 0, 1);
  auto distance = [&](unsigned dim) {
    return *AffineSystem::add(LinearExpr::ofColumn(base.columns[1][dim]),
                              LinearExpr::ofColumn(base.columns[0][dim]), -1);
  };
  AffineSystem system = base.system;
  for (unsigned i = 0; i != numEqual; ++i)
    system.addEquality(distance(i));
  std::optional<bool> empty = system.isEmpty(isl);
  if (empty && *empty)
    return info;
  for (unsigned level = numEqual; level <= numCommon; ++level) {
    if (level == numCommon && !textual)
      break;
    AffineSystem atLevel = system;
    if (level < numCommon) {
      LinearExpr ahead = distance(level);
      ahead.constant -= 1;
      atLevel.addInequality(ahead);
    }
    empty = atLevel.isEmpty(isl);
    if (!empty) {
      info.kind = DepKind::Unknown;
      info.vectors.clear();
      return info;
    }
    if (!*empty) {
      DependenceVector vector;
      vector.level = level;
      for (unsigned i = 0; i != numCommon; ++i) {
        DistanceRange range;
        if (i < level || i < numEqual) {
          range.min = range.max = 0;
        } else {
          AffineSystem::Bounds bounds = atLevel.boundsOf(isl, distance(i));
          range.min = bounds.min;
          range.max = bounds.max;
          if (i == level && (!range.min || *range.min < 1))
            range.min = 1;
        }
        vector.distance.push_back(range);
      }
      info.vectors.push_back(vector);
    }
    if (level < numCommon)
      system.addEquality(distance(level));
  }
  info.kind = info.vectors.empty() ? DepKind::None : DepKind::Dependent;
  return info;
}

DepKind DependenceAnalysis::Impl::computeOverlap(const Access &a,
                                                 const Access &b) {
  if (cannotMeet(a, b))
    return DepKind::None;
  Instance ia = makeInstance(a.op), ib = makeInstance(b.op);
  unsigned numCommon = countCommon(ia, ib);
  AddressPair address = compareAddresses(a, b);
  QuickResult quick = tryQuick(ia, ib, numCommon, address, numCommon);
  if (quick.kind == QuickResult::Independent)
    return DepKind::None;
  if (quick.kind == QuickResult::Ranges)
    return DepKind::Dependent;
  PairSystem pair;
  pair.addInstance(ia);
  pair.addInstance(ib,
                   ArrayRef<unsigned>(pair.columns[0]).take_front(numCommon));
  addAddresses(pair, address, 0, 1);
  std::optional<bool> empty = pair.system.isEmpty(isl);
  if (!empty)
    return DepKind::Unknown;
  return *empty ? DepKind::None : DepKind::Dependent;
}

//===----------------------------------------------------------------------===//
// DependenceAnalysis
//===----------------------------------------------------------------------===//

DependenceAnalysis::DependenceAnalysis() : impl(std::make_unique<Impl>()) {}
DependenceAnalysis::~DependenceAnalysis() = default;

ArrayRef<Access> DependenceAnalysis::accessesOf(Operation *op,
                                                Operation *around) {
  auto it = impl->accesses.find(op);
  if (it != impl->accesses.end())
    return it->second;
  SmallVector<Access, 0> found;
  auto outer = impl->accesses.find(around);
  if (outer == impl->accesses.end())
    collectAccesses(op, found);
  else
    llvm::copy_if(
        outer->second, std::back_inserter(found),
        [&](const Access &access) { return op->isAncestor(access.op); });
  return impl->accesses.try_emplace(op, std::move(found)).first->second;
}

unsigned DependenceAnalysis::countQuestions() const {
  return impl->isl.numQueries;
}

void DependenceAnalysis::invalidate() {
  impl->accesses.clear();
  impl->dependences.clear();
  impl->privateBases.clear();
  impl->aliases.clear();
}

DependenceInfo DependenceAnalysis::dependence(const Access &source,
                                              const Access &sink) {
  auto pointerOf = [](Value value) {
    return value ? value.getAsOpaquePointer() : nullptr;
  };
  Impl::Key key{source.op,
                sink.op,
                pointerOf(source.memref),
                pointerOf(sink.memref),
                source.isWrite,
                sink.isWrite};
  auto it = impl->dependences.find(key);
  if (it == impl->dependences.end())
    it = impl->dependences.emplace(key, impl->compute(source, sink)).first;
  return it->second;
}

DepKind DependenceAnalysis::overlap(const Access &a, const Access &b) {
  return impl->computeOverlap(a, b);
}

/// Calls `visit` on each pair of accesses, one from each list, that could
/// meet and one of which writes; grouped by base, so that lists of accesses of
/// many different memrefs are not paired. Stops when `visit` returns false.
static bool
forEachPair(ArrayRef<Access> sources, ArrayRef<Access> sinks,
            llvm::function_ref<bool(const Access &, const Access &)> visit) {
  // Writers and others of each base. Distinct bases can only meet if one of
  // them is no allocation, so those are kept in a list of their own. Only
  // unknown storage can be a named allocation's.
  using List = SmallVector<const Access *, 4>;
  llvm::MapVector<Value, List> byBase;
  List loose, unknown;
  llvm::SmallDenseMap<Value, StorageKind> kinds;
  auto kindOf = [&](Value base) {
    if (!base)
      return StorageKind::Unknown;
    auto [it, isNew] = kinds.try_emplace(base, StorageKind::Unknown);
    if (isNew)
      it->second = getStorageKind(base);
    return it->second;
  };
  for (const Access &sink : sinks) {
    StorageKind kind = kindOf(sink.base);
    if (kind == StorageKind::Allocation) {
      byBase[sink.base].push_back(&sink);
      continue;
    }
    loose.push_back(&sink);
    if (kind == StorageKind::Unknown)
      unknown.push_back(&sink);
  }
  for (const Access &source : sources) {
    auto visitAll = [&](ArrayRef<const Access *> list) {
      for (const Access *sink : list)
        if ((source.isWrite || sink->isWrite) && !visit(source, *sink))
          return false;
      return true;
    };
    StorageKind kind = kindOf(source.base);
    if (kind == StorageKind::Allocation) {
      auto it = byBase.find(source.base);
      if ((it != byBase.end() && !visitAll(it->second)) || !visitAll(unknown))
        return false;
      continue;
    }
    if (kind == StorageKind::Unknown)
      for (auto &[base, list] : byBase)
        if (!visitAll(list))
          return false;
    if (!visitAll(loose))
      return false;
  }
  return true;
}

SmallVector<DependenceAnalysis::Pair, 4>
DependenceAnalysis::dependencesBetween(Operation *a, Operation *b) {
  SmallVector<Pair, 4> pairs;
  ArrayRef<Access> sources = accessesOf(a), sinks = accessesOf(b);
  forEachPair(sources, sinks, [&](const Access &source, const Access &sink) {
    DependenceInfo info = dependence(source, sink);
    if (info.kind != DepKind::None)
      pairs.push_back({source, sink, std::move(info)});
    return true;
  });
  return pairs;
}

static bool refuse(std::string *reason, const llvm::Twine &text) {
  if (reason)
    *reason = text.str();
  return false;
}

static std::string describePair(const Access &a, const Access &b) {
  auto name = [](const Access &access) {
    return (access.isWrite ? "write by " : "read by ") +
           access.op->getName().getStringRef().str();
  };
  return name(a) + " and " + name(b);
}

/// Place of a loop among the common loops, or none.
static std::optional<unsigned> placeOf(const DependenceInfo &info,
                                       Operation *loop) {
  for (auto [i, dim] : llvm::enumerate(info.commonLoops))
    if (dim.loop == loop)
      return i;
  return std::nullopt;
}

/// Calls `visit` on each dependence between accesses inside `root` that is
/// not carried outside of it; refuses those that are unknown. Pairs that `skip`
/// accepts are not asked for.
static bool forEachDependence(
    DependenceAnalysis &analysis, Operation *root, std::string *reason,
    llvm::function_ref<bool(const Access &, const Access &,
                            const DependenceInfo &, const DependenceVector &,
                            unsigned rootPlace)>
        visit,
    llvm::function_ref<bool(const Access &, const Access &)> skip = {}) {
  ArrayRef<Access> accesses = analysis.accessesOf(root);
  return forEachPair(
      accesses, accesses, [&](const Access &source, const Access &sink) {
        if (skip && skip(source, sink))
          return true;
        DependenceInfo info = analysis.dependence(source, sink);
        if (info.kind == DepKind::None)
          return true;
        std::optional<unsigned> place = placeOf(info, root);
        if (info.kind == DepKind::Unknown || !place)
          return refuse(reason, "dependence of " + describePair(source, sink) +
                                    " could not be analysed");
        for (const DependenceVector &vector : info.vectors)
          if (vector.level >= *place &&
              !visit(source, sink, info, vector, *place))
            return false;
        return true;
      });
}

bool DependenceAnalysis::loopIsParallel(AffineForOp loop, std::string *reason,
                                        bool ignoreReductions, unsigned scans) {
  SmallVector<Reduction, 2> reductions;
  if (ignoreReductions)
    reductions = carriedReductions(loop, accessesOf(loop));
  unsigned numIterArgs = scans;
  SmallPtrSet<Operation *, 4> exempt;
  for (const Reduction &reduction : reductions) {
    numIterArgs += reduction.iterArg.has_value();
    if (reduction.load) {
      exempt.insert(reduction.load);
      exempt.insert(reduction.store);
    }
  }
  if (loop.getNumIterOperands() != numIterArgs)
    return refuse(reason, "loop carries a value in iter_args");
  LoopIndices indices(loop);
  return forEachDependence(
      *this, loop, reason,
      [&](const Access &source, const Access &sink, const DependenceInfo &,
          const DependenceVector &vector, unsigned place) {
        if (vector.level != place ||
            (exempt.contains(source.op) && exempt.contains(sink.op)))
          return true;
        return refuse(reason, "loop carries a dependence of " +
                                  describePair(source, sink));
      },
      [&](const Access &source, const Access &sink) {
        return impl->cannotMeet(source, sink) ||
               touchApart(source, sink, indices);
      });
}

static bool isPerfectBand(ArrayRef<AffineForOp> band, std::string *reason) {
  if (band.empty())
    return refuse(reason, "the band is empty");
  for (unsigned i = 0, e = band.size(); i != e; ++i) {
    AffineForOp loop = band[i];
    if (loop.getNumIterOperands() != 0)
      return refuse(reason, "a loop of the band carries values in iter_args");
    if (i + 1 == band.size())
      break;
    AffineForOp inner = band[i + 1];
    Block *body = loop.getBody();
    if (&body->front() != inner.getOperation() ||
        inner->getNextNode() != body->getTerminator())
      return refuse(reason, "the band is not perfectly nested");
  }
  return true;
}

/// An operation with effects that are not of memory, such as an assertion,
/// must run as often and, among its like, in the same order.
static bool hasOrderedEffect(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<cf::AssertOp>(inner) ? WalkResult::interrupt()
                                        : WalkResult::advance();
      })
      .wasInterrupted();
}

bool DependenceAnalysis::permutationIsLegal(ArrayRef<AffineForOp> band,
                                            ArrayRef<unsigned> perm,
                                            std::string *reason) {
  if (!isPerfectBand(band, reason))
    return false;
  if (perm.size() != band.size())
    return refuse(reason, "permutation and band differ in length");
  SmallVector<unsigned> newPlace(band.size(), ~0u);
  for (auto [to, from] : llvm::enumerate(perm)) {
    if (from >= band.size() || newPlace[from] != ~0u)
      return refuse(reason, "not a permutation");
    newPlace[from] = to;
  }
  for (auto [i, loop] : llvm::enumerate(band)) {
    AffineForOp inner = loop;
    for (auto [j, other] : llvm::enumerate(band)) {
      Value iv = AffineForOp(other).getInductionVar();
      if (newPlace[j] >= newPlace[i] &&
          (llvm::is_contained(inner.getLowerBoundOperands(), iv) ||
           llvm::is_contained(inner.getUpperBoundOperands(), iv)))
        return refuse(reason, "a bound uses a loop that would move inside");
    }
  }
  AffineForOp root = band.front();
  return forEachDependence(
      *this, root, reason,
      [&](const Access &source, const Access &sink, const DependenceInfo &info,
          const DependenceVector &vector, unsigned place) {
        // A dependence within one iteration of the band is not touched.
        for (unsigned from : perm) {
          if (place + from >= vector.distance.size())
            break;
          const DistanceRange &range = vector.distance[place + from];
          if (range.min && *range.min > 0)
            return true;
          if (!range.min || *range.min < 0)
            return refuse(reason, "dependence of " +
                                      describePair(source, sink) +
                                      " would be reversed");
        }
        return true;
      });
}

bool DependenceAnalysis::tilingIsLegal(ArrayRef<AffineForOp> band,
                                       std::string *reason) {
  if (!isPerfectBand(band, reason))
    return false;
  AffineForOp root = band.front();
  return forEachDependence(
      *this, root, reason,
      [&](const Access &source, const Access &sink, const DependenceInfo &,
          const DependenceVector &vector, unsigned place) {
        for (unsigned i = 0, e = band.size(); i != e; ++i) {
          if (place + i >= vector.distance.size())
            break;
          const DistanceRange &range = vector.distance[place + i];
          if (!range.min || *range.min < 0)
            return refuse(reason, "dependence of " +
                                      describePair(source, sink) +
                                      " has a negative distance");
        }
        return true;
      });
}

/// True if two bound maps say the same when the loops of one band are named
/// for those of the other.
static bool sameBounds(AffineMap mapA, ValueRange operandsA, AffineMap mapB,
                       ValueRange operandsB,
                       const DenseMap<Value, Value> &rename) {
  if (mapA != mapB || operandsA.size() != operandsB.size())
    return false;
  for (auto [a, b] : llvm::zip_equal(operandsA, operandsB)) {
    auto it = rename.find(a);
    if ((it == rename.end() ? a : it->second) != b)
      return false;
  }
  return true;
}

bool DependenceAnalysis::fusionIsLegal(AffineForOp producer,
                                       AffineForOp consumer, unsigned depth,
                                       std::string *reason) {
  if (producer == consumer || producer->getBlock() != consumer->getBlock() ||
      !producer->isBeforeInBlock(consumer))
    return refuse(reason, "the producer does not come before the consumer in "
                          "one block");
  SmallVector<AffineForOp, 6> bandA = getPerfectBand(producer);
  SmallVector<AffineForOp, 6> bandB = getPerfectBand(consumer);
  if (depth == 0 || depth > bandA.size() || depth > bandB.size())
    return refuse(reason, "nests are not perfectly nested to the depth");
  DenseMap<Value, Value> rename;
  for (unsigned i = 0; i != depth; ++i) {
    if (bandA[i].getNumIterOperands() || bandB[i].getNumIterOperands())
      return refuse(reason, "a merged loop carries values in iter_args");
    if (bandA[i].getStepAsInt() != bandB[i].getStepAsInt() ||
        !sameBounds(bandA[i].getLowerBoundMap(),
                    bandA[i].getLowerBoundOperands(),
                    bandB[i].getLowerBoundMap(),
                    bandB[i].getLowerBoundOperands(), rename))
      return refuse(reason, "merged loops differ in lower bound or step");
    rename[bandA[i].getInductionVar()] = bandB[i].getInductionVar();
  }
  ArrayRef<Access> sources = accessesOf(producer);
  ArrayRef<Access> sinks = accessesOf(consumer);
  return forEachPair(
      sources, sinks, [&](const Access &source, const Access &sink) {
        if (impl->cannotMeet(source, sink))
          return true;
        Instance a = makeInstance(source.op), b = makeInstance(sink.op);
        unsigned numCommon = countCommon(a, b);
        PairSystem pair;
        pair.addInstance(a);
        // One iteration of the loops around both.
        pair.addInstance(
            b, ArrayRef<unsigned>(pair.columns[0]).take_front(numCommon));
        impl->addAddresses(pair, compareAddresses(source, sink), 0, 1);
        AffineSystem system = pair.system;
        for (unsigned i = 0; i != depth; ++i) {
          // The producer's iteration would come after the consumer's.
          LinearExpr ahead = *AffineSystem::add(
              LinearExpr::ofColumn(pair.columns[0][numCommon + i]),
              LinearExpr::ofColumn(pair.columns[1][numCommon + i]), -1);
          AffineSystem late = system;
          LinearExpr strict = ahead;
          strict.constant -= 1;
          late.addInequality(strict);
          std::optional<bool> empty = late.isEmpty(impl->isl);
          if (!empty)
            return refuse(reason, "dependence of " +
                                      describePair(source, sink) +
                                      " could not be analysed");
          if (!*empty)
            return refuse(reason, "dependence of " +
                                      describePair(source, sink) +
                                      " would be reversed");
          system.addEquality(ahead);
        }
        return true;
      });
}

bool DependenceAnalysis::mayConflict(Operation *a, Operation *b) {
  ArrayRef<Access> first = accessesOf(a), second = accessesOf(b);
  return !forEachPair(first, second, [&](const Access &x, const Access &y) {
    return overlap(x, y) == DepKind::None;
  });
}

bool DependenceAnalysis::reorderIsLegal(Operation *a, Operation *b,
                                        std::string *reason) {
  if (a->getBlock() != b->getBlock())
    return refuse(reason, "not in one block");
  for (auto [def, use] : {std::pair(a, b), std::pair(b, a)}) {
    bool used = false;
    for (Value result : def->getResults())
      for (Operation *user : result.getUsers())
        used |= use->isAncestor(user);
    if (used)
      return refuse(reason, "one uses a value of the other");
  }
  if (a->hasTrait<OpTrait::IsTerminator>() ||
      b->hasTrait<OpTrait::IsTerminator>())
    return refuse(reason, "a terminator stays last");
  bool assertA = hasOrderedEffect(a), assertB = hasOrderedEffect(b);
  if (assertA && assertB)
    return refuse(reason, "assertions keep their order");
  // An assertion may be what keeps an indirect access within bounds.
  auto isGuarded = [&](Operation *op) {
    return llvm::any_of(accessesOf(op), [](const Access &access) {
      return !access.isAffine();
    });
  };
  if ((assertA && isGuarded(b)) || (assertB && isGuarded(a)))
    return refuse(reason, "an assertion may guard an access");
  if (mayConflict(a, b))
    return refuse(reason, "memory conflict");
  return true;
}

bool DependenceAnalysis::isRecomputable(Operation *op, std::string *reason) {
  if (hasOrderedEffect(op))
    return refuse(reason, "an assertion runs as often as written");
  ArrayRef<Access> accesses = accessesOf(op);
  for (const Access &access : accesses)
    if (!access.memref || (access.isWrite && !access.isAffine()))
      return refuse(reason, "writes that are not known");
  return forEachPair(
      accesses, accesses, [&](const Access &source, const Access &sink) {
        // Any element written and read, or written by two instances.
        if (!source.isWrite || impl->cannotMeet(source, sink))
          return true;
        if (!sink.isWrite)
          return overlapAnywhere(source, sink) == DepKind::None ||
                 refuse(reason, "reads what it writes");
        DependenceInfo info = dependence(source, sink);
        return info.kind == DepKind::None ||
               refuse(reason, "writes an element twice");
      });
}

/// As overlap, but over all iterations of the loops around both.
DepKind DependenceAnalysis::overlapAnywhere(const Access &a, const Access &b) {
  if (overlap(a, b) != DepKind::None || dependence(a, b).kind != DepKind::None)
    return DepKind::Dependent;
  return dependence(b, a).kind;
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

std::optional<DependenceAnalysis::Slice>
DependenceAnalysis::producerSlice(const Access &writer, const Access &reader,
                                  unsigned depth) {
  if (!writer.isAffine() || !reader.isAffine())
    return std::nullopt;
  Instance w = makeInstance(writer.op), r = makeInstance(reader.op);
  unsigned numCommon = countCommon(w, r);
  if (numCommon + depth > r.dims.size())
    return std::nullopt;
  AddressPair address = compareAddresses(writer, reader);
  if (address.kind == AddressPair::Anything)
    return std::nullopt;
  // Boxes are only right for producers whose own bounds are a box.
  for (unsigned i = numCommon, e = w.dims.size(); i != e; ++i) {
    auto loop = dyn_cast<AffineForOp>(w.dims[i].loop);
    if (!loop || loop.getStepAsInt() != 1)
      return std::nullopt;
    for (unsigned j = numCommon; j != i; ++j)
      if (llvm::is_contained(loop.getLowerBoundOperands(), w.ivs[j]) ||
          llvm::is_contained(loop.getUpperBoundOperands(), w.ivs[j]))
        return std::nullopt;
  }
  PairSystem pair;
  pair.addInstance(r);
  pair.addInstance(w,
                   ArrayRef<unsigned>(pair.columns[0]).take_front(numCommon));
  impl->addAddresses(pair, address, 1, 0);
  Slice slice;
  SmallVector<unsigned> params;
  for (unsigned i = 0; i != numCommon + depth; ++i) {
    if (!r.ivs[i])
      return std::nullopt;
    params.push_back(pair.columns[0][i]);
    slice.operands.push_back(r.ivs[i]);
  }
  unsigned numDims = params.size();
  for (unsigned c = 0, e = pair.system.numColumns(); c != e; ++c)
    if (pair.system.kindOf(c) == AffineSystem::ColumnKind::Param)
      params.push_back(c);
  slice.operands.append(pair.paramValues.begin(), pair.paramValues.end());
  MLIRContext *context = writer.op->getContext();
  // Bounds come with all of `params` as symbols; the loops become dims.
  SmallVector<AffineExpr> symbols;
  for (unsigned i = 0, e = params.size(); i != e; ++i)
    symbols.push_back(i < numDims ? getAffineDimExpr(i, context)
                                  : getAffineSymbolExpr(i - numDims, context));
  auto toOperands = [&](AffineMap map) {
    return map.replaceDimsAndSymbols({}, symbols, numDims,
                                     params.size() - numDims);
  };
  slice.isExact = !pair.isApproximate;
  for (unsigned i = numCommon, e = w.dims.size(); i != e; ++i) {
    auto loop = cast<AffineForOp>(w.dims[i].loop);
    std::optional<AffineSystem::SymbolicBounds> bounds =
        pair.system.symbolicBoundsOf(impl->isl, pair.columns[1][i], params,
                                     context);
    if (!bounds)
      return std::nullopt;
    slice.isExact &= bounds->isExact;
    SmallVector<AffineExpr> lower(bounds->lower.getResults());
    SmallVector<AffineExpr> upper(bounds->upper.getResults());
    // Where the consumer needs nothing, the bounds found may lie outside of
    // the producer's own range, which is therefore kept unless implied by the
    // consumer's.
    PairSystem check;
    check.addInstance(r);
    SmallVector<LinearExpr> values;
    for (unsigned p = 0; p != numDims; ++p)
      values.push_back(LinearExpr::ofColumn(check.columns[0][p]));
    for (Value value : pair.paramValues)
      values.push_back(LinearExpr::ofColumn(check.paramOf(value)));
    LinearExpr iv = LinearExpr::ofColumn(
        check.system.addColumn(AffineSystem::ColumnKind::Dim));
    bool isChecked = true;
    for (AffineExpr expr : lower) {
      std::optional<LinearExpr> bound = check.system.flatten(expr, {}, values);
      std::optional<LinearExpr> row =
          bound ? AffineSystem::add(iv, *bound, -1) : std::nullopt;
      if (row)
        check.system.addInequality(*row);
      isChecked &= row.has_value();
    }
    for (AffineExpr expr : upper) {
      std::optional<LinearExpr> bound = check.system.flatten(expr, {}, values);
      std::optional<LinearExpr> row =
          bound ? AffineSystem::add(*bound, iv, -1) : std::nullopt;
      if (row) {
        row->constant -= 1;
        check.system.addInequality(*row);
      }
      isChecked &= row.has_value();
    }
    for (bool isUpper : {false, true}) {
      AffineMap own =
          isUpper ? loop.getUpperBoundMap() : loop.getLowerBoundMap();
      ValueRange operands =
          isUpper ? loop.getUpperBoundOperands() : loop.getLowerBoundOperands();
      for (AffineExpr result : own.getResults()) {
        // Over the slice's operands.
        SmallVector<AffineExpr> dims, syms;
        bool isKnown = true;
        for (auto [k, operand] : llvm::enumerate(operands)) {
          AffineExpr expr;
          auto it = llvm::find(slice.operands, operand);
          APInt constant;
          if (it != slice.operands.end())
            expr = getAffineSymbolExpr(it - slice.operands.begin(), context);
          else if (matchPattern(operand, m_ConstantInt(&constant)))
            expr = getAffineConstantExpr(constant.getSExtValue(), context);
          else
            isKnown = false;
          (k < own.getNumDims() ? dims : syms).push_back(expr);
        }
        if (!isKnown)
          return std::nullopt;
        AffineExpr expr = result.replaceDimsAndSymbols(dims, syms);
        AffineSystem outside = check.system;
        std::optional<LinearExpr> bound = outside.flatten(expr, {}, values);
        std::optional<LinearExpr> row;
        if (bound)
          row = isUpper ? AffineSystem::add(iv, *bound, -1)
                        : AffineSystem::add(*bound, iv, -1);
        if (row && isChecked) {
          if (!isUpper)
            row->constant -= 1;
          outside.addInequality(*row);
          if (outside.isEmpty(impl->isl).value_or(false))
            continue;
        }
        SmallVector<AffineExpr> &list = isUpper ? upper : lower;
        if (!llvm::is_contained(list, expr))
          list.push_back(expr);
      }
    }
    slice.lower.push_back(
        toOperands(AffineMap::get(0, params.size(), lower, context)));
    slice.upper.push_back(
        toOperands(AffineMap::get(0, params.size(), upper, context)));
  }
  return slice;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
/// How an operation combines an accumulator with a value.
struct Combiner {
  arith::AtomicRMWKind kind;
  /// Operands that may hold the accumulator.
  SmallVector<unsigned, 2> places;
};
} // namespace

static std::optional<Combiner> getCombiner(Operation *op) {
  using Kind = arith::AtomicRMWKind;
  auto both = [](Kind kind) { return Combiner{kind, {0, 1}}; };
  if (isa<arith::AddFOp>(op))
    return both(Kind::addf);
  // Taking away is adding the negated value.
  if (isa<arith::SubFOp>(op))
    return Combiner{Kind::addf, {0}};
  if (isa<arith::SubIOp>(op))
    return Combiner{Kind::addi, {0}};
  if (isa<math::FmaOp, vector::FMAOp>(op))
    return Combiner{Kind::addf, {2}};
  if (isa<arith::MulFOp>(op))
    return both(Kind::mulf);
  if (isa<arith::MaximumFOp>(op))
    return both(Kind::maximumf);
  if (isa<arith::MinimumFOp>(op))
    return both(Kind::minimumf);
  if (isa<arith::MaxNumFOp>(op))
    return both(Kind::maxnumf);
  if (isa<arith::MinNumFOp>(op))
    return both(Kind::minnumf);
  if (isa<arith::AddIOp>(op))
    return both(Kind::addi);
  if (isa<arith::MulIOp>(op))
    return both(Kind::muli);
  if (isa<arith::MaxSIOp>(op))
    return both(Kind::maxs);
  if (isa<arith::MaxUIOp>(op))
    return both(Kind::maxu);
  if (isa<arith::MinSIOp>(op))
    return both(Kind::mins);
  if (isa<arith::MinUIOp>(op))
    return both(Kind::minu);
  if (isa<arith::OrIOp>(op))
    return both(Kind::ori);
  if (isa<arith::AndIOp>(op))
    return both(Kind::andi);
  if (isa<arith::XOrIOp>(op))
    return both(Kind::xori);
  return std::nullopt;
}

static std::optional<Reduction> matchIterArg(AffineForOp loop, unsigned number,
                                             unsigned depth = 0);

/// Follows `end` back to `begin` through operations that combine with one kind,
/// each used only here, and through inner loops that do the same. Tells the
/// last combination; one without a combiner if `end` is `begin`. Values used
/// once form a tree, so that each is looked at once.
static std::optional<Reduction> matchChain(Value begin, Value end,
                                           unsigned depth) {
  if (!end.hasOneUse() || depth > 64)
    return std::nullopt;
  if (end == begin)
    return Reduction();
  Operation *op = end.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto inner = dyn_cast<AffineForOp>(op)) {
    unsigned number = cast<OpResult>(end).getResultNumber();
    std::optional<Reduction> outer =
        matchChain(begin, inner.getInits()[number], depth + 1);
    std::optional<Reduction> part =
        outer ? matchIterArg(inner, number, depth + 1) : std::nullopt;
    if (!part || (outer->combiner && outer->kind != part->kind))
      return std::nullopt;
    part->iterArg = std::nullopt;
    return part;
  }
  std::optional<Combiner> combiner = getCombiner(op);
  if (!combiner)
    return std::nullopt;
  for (unsigned place : combiner->places) {
    std::optional<Reduction> before =
        matchChain(begin, op->getOperand(place), depth + 1);
    if (!before)
      continue;
    if (before->combiner && before->kind != combiner->kind)
      return std::nullopt;
    Reduction reduction;
    reduction.kind = combiner->kind;
    reduction.combiner = op;
    reduction.value = op->getOperand(place == 0 ? 1 : 0);
    return reduction;
  }
  return std::nullopt;
}

static std::optional<Reduction> matchIterArg(AffineForOp loop, unsigned number,
                                             unsigned depth) {
  auto yield = cast<AffineYieldOp>(loop.getBody()->getTerminator());
  std::optional<Reduction> reduction = matchChain(
      loop.getRegionIterArgs()[number], yield.getOperand(number), depth);
  if (reduction)
    reduction->iterArg = number;
  return reduction;
}

/// A load, combination and store of one place that `loop` does not move.
static std::optional<Reduction> matchInMemory(AffineForOp loop,
                                              const Access &store,
                                              ArrayRef<Access> accesses) {
  Value iv = loop.getInductionVar();
  if (!store.isAffine() || store.isPartial || !isInvariantTo(store, iv) ||
      !isa<AffineWriteOpInterface, memref::StoreOp>(store.op) ||
      !hasInjectiveLayout(store.memref))
    return std::nullopt;
  // An inner variable whose range moves with the loop moves the place.
  for (Value operand : store.map.getOperands())
    if (AffineForOp inner = getForInductionVarOwner(operand))
      if (loop->isProperAncestor(inner) &&
          (!inner.hasConstantBounds() || inner == loop))
        if (llvm::any_of(inner->getOperands(),
                         [&](Value bound) { return !isInvariant(bound); }))
          return std::nullopt;
  const Access *load = nullptr;
  for (const Access &access : accesses) {
    if (access.op == store.op || !loop->isAncestor(access.op))
      continue;
    bool apart = access.memref && !mayAlias(access.memref, store.memref);
    if (!apart && !access.memref)
      apart = isPrivateAllocation(store.base);
    if (apart)
      continue;
    if (load || access.isWrite || !access.isAffine() ||
        access.memref != store.memref || !(access.map == store.map) ||
        access.extent != store.extent ||
        access.op->getBlock() != store.op->getBlock() ||
        access.op->getNumResults() != 1)
      return std::nullopt;
    load = &access;
  }
  if (!load || !load->op->isBeforeInBlock(store.op))
    return std::nullopt;
  Value stored;
  if (auto op = dyn_cast<AffineWriteOpInterface>(store.op))
    stored = op.getValueToStore();
  else
    stored = cast<memref::StoreOp>(store.op).getValueToStore();
  std::optional<Reduction> reduction =
      matchChain(load->op->getResult(0), stored, 0);
  if (!reduction || !reduction->combiner)
    return std::nullopt;
  reduction->load = load->op;
  reduction->store = store.op;
  return reduction;
}

SmallVector<Reduction, 2> carriedReductions(AffineForOp loop,
                                            ArrayRef<Access> accesses) {
  SmallVector<Reduction, 2> reductions;
  for (unsigned i = 0, e = loop.getNumIterOperands(); i != e; ++i)
    if (std::optional<Reduction> reduction = matchIterArg(loop, i))
      reductions.push_back(*reduction);
  for (const Access &access : accesses)
    if (access.isWrite && loop->isAncestor(access.op))
      if (std::optional<Reduction> reduction =
              matchInMemory(loop, access, accesses))
        reductions.push_back(*reduction);
  return reductions;
}

SmallVector<Reduction, 2> carriedReductions(AffineForOp loop) {
  SmallVector<Access, 8> accesses;
  collectAccesses(loop, accesses);
  return carriedReductions(loop, accesses);
}

std::optional<Reduction> matchScan(AffineForOp loop, unsigned number) {
  BlockArgument carried = loop.getRegionIterArgs()[number];
  Operation *op = loop.getYieldedValues()[number].getDefiningOp();
  if (!op || !carried.hasOneUse() || op->getBlock() != loop.getBody())
    return std::nullopt;
  std::optional<Combiner> combiner = getCombiner(op);
  if (!combiner || combiner->places.size() != 2 ||
      !llvm::is_contained(op->getOperands(), carried))
    return std::nullopt;
  Reduction scan;
  scan.kind = combiner->kind;
  scan.iterArg = number;
  scan.combiner = op;
  scan.value = op->getOperand(op->getOperand(0) == carried ? 1 : 0);
  return scan;
}

} // namespace polynest
