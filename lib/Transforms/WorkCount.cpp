//===- WorkCount.cpp - floating-point work of an operation ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Transforms/WorkCount.h"

#include "Analysis/Access.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <map>

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

/// Iterations looked at one by one, in all; where there are more, what is
/// inside is left uncounted.
static constexpr int64_t mostSteps = 1 << 16;

double countOwnWork(Operation *op) {
  bool counts =
      isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
          arith::RemFOp, arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp,
          arith::MaxNumFOp, arith::MinNumFOp, arith::CmpFOp>(op);
  bool isFma = isa<math::FmaOp, vector::FMAOp>(op);
  bool isReduction = isa<vector::ReductionOp>(op);
  if (!counts && !isFma && !isReduction)
    counts = op->getDialect() && op->getDialect()->getNamespace() ==
                                     math::MathDialect::getDialectNamespace();
  if (!counts && !isFma && !isReduction)
    return 0;
  // Integer operations of math are none.
  Type type = op->getOperand(0).getType();
  if (!isa<FloatType>(getElementTypeOrSelf(type)))
    return 0;
  auto vector = dyn_cast<VectorType>(type);
  double lanes = vector ? static_cast<double>(vector.getNumElements()) : 1;
  return isFma ? 2 * lanes : lanes;
}

namespace {
/// What bounds of the loops in an operation depend on.
struct Bounding {
  /// Those of its loops.
  llvm::SmallPtrSet<Value, 8> variables;
  /// From outside.
  SmallVector<Value, 2> inputs;
};
} // namespace

/// True for what S4 makes of affine maps.
static bool isIndexArithmetic(Operation *op) {
  return isa<arith::ArithDialect>(op->getDialect()) &&
         llvm::all_of(op->getOperandTypes(),
                      [](Type type) { return type.isIntOrIndex(); });
}

static Bounding findBounding(Operation *root) {
  SmallVector<Value> work;
  root->walk([&](Operation *op) {
    if (auto loop = dyn_cast<AffineForOp>(op)) {
      llvm::append_range(work, loop.getLowerBoundOperands());
      llvm::append_range(work, loop.getUpperBoundOperands());
    } else if (auto loop = dyn_cast<AffineParallelOp>(op)) {
      llvm::append_range(work, loop.getMapOperands());
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      work.append({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
    }
  });
  Bounding bounding;
  llvm::SmallPtrSet<Value, 16> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (!root->isAncestor(value.getParentBlock()->getParentOp()))
      bounding.inputs.push_back(value);
    else if (!op)
      bounding.variables.insert(value);
    else if (isa<AffineApplyOp, AffineMinOp, AffineMaxOp>(op) ||
             isIndexArithmetic(op))
      llvm::append_range(work, op->getOperands());
  }
  return bounding;
}

namespace {
/// Counts with the values of loop variables at hand. Iterations that are alike
/// are counted once.
class Counter {
public:
  Counter(Operation *root, llvm::function_ref<double(Operation *)> own,
          llvm::DenseMap<Value, int64_t> values)
      : own(own), driving(findBounding(root).variables),
        values(std::move(values)) {}

  double count(Operation *op);
  int64_t uncounted() const { return int64_t(unknown.size()); }

private:
  std::optional<int64_t> evaluate(Value value, unsigned depth = 0);
  std::optional<int64_t> evaluate(AffineMap map, ValueRange operands,
                                  bool highest, unsigned depth = 0);
  double countAnew(Operation *op);
  double countInside(Operation *op);
  double countLoop(Operation *op, Value variable, std::optional<int64_t> low,
                   std::optional<int64_t> high, int64_t step);
  double countAffine(AffineForOp loop);
  double countParallel(AffineParallelOp loop);
  void giveUp(Operation *op);

  /// The work of one operation.
  llvm::function_ref<double(Operation *)> own;
  /// Variables that bounds of inner loops depend on.
  llvm::SmallPtrSet<Value, 8> driving;
  llvm::DenseMap<Value, int64_t> values;
  /// Values from outside that decide the work of an operation, and what that
  /// work is for numbers that they had.
  llvm::DenseMap<Operation *, SmallVector<Value, 2>> inputs;
  std::map<std::pair<Operation *, SmallVector<std::optional<int64_t>, 2>>,
           double>
      counted;
  llvm::SmallPtrSet<Operation *, 8> unknown;
  int64_t steps = 0;
};
} // namespace

std::optional<int64_t> Counter::evaluate(Value value, unsigned depth) {
  if (auto it = values.find(value); it != values.end())
    return it->second;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)) &&
      constant.getBitWidth() <= 64)
    return constant.getSExtValue();
  Operation *op = value.getDefiningOp();
  if (!op || depth > 16)
    return std::nullopt;
  if (auto apply = dyn_cast<AffineApplyOp>(op))
    return evaluate(apply.getAffineMap(), apply.getMapOperands(), true,
                    depth + 1);
  if (auto least = dyn_cast<AffineMinOp>(op))
    return evaluate(least.getAffineMap(), least.getMapOperands(), false,
                    depth + 1);
  if (auto most = dyn_cast<AffineMaxOp>(op))
    return evaluate(most.getAffineMap(), most.getMapOperands(), true,
                    depth + 1);
  if (!isIndexArithmetic(op))
    return std::nullopt;
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands()) {
    std::optional<int64_t> number = evaluate(operand, depth + 1);
    if (!number)
      return std::nullopt;
    operands.push_back(IntegerAttr::get(operand.getType(), *number));
  }
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(operands, results)) || results.size() != 1)
    return std::nullopt;
  if (auto folded = dyn_cast<Value>(results[0]))
    return folded == value ? std::nullopt : evaluate(folded, depth + 1);
  auto number = dyn_cast<IntegerAttr>(cast<Attribute>(results[0]));
  return number ? std::optional(number.getValue().getSExtValue())
                : std::nullopt;
}

/// The highest or lowest result of the map.
std::optional<int64_t> Counter::evaluate(AffineMap map, ValueRange operands,
                                         bool highest, unsigned depth) {
  SmallVector<Attribute> constants;
  Builder builder(map.getContext());
  for (Value operand : operands) {
    std::optional<int64_t> value = evaluate(operand, depth);
    if (!value)
      return std::nullopt;
    constants.push_back(builder.getI64IntegerAttr(*value));
  }
  SmallVector<Attribute> results;
  if (failed(map.constantFold(constants, results)) || results.empty())
    return std::nullopt;
  std::optional<int64_t> best;
  for (Attribute result : results) {
    int64_t value = cast<IntegerAttr>(result).getValue().getSExtValue();
    if (!best || (highest ? value > *best : value < *best))
      best = value;
  }
  return best;
}

void Counter::giveUp(Operation *op) {
  op->walk([&](Operation *inner) {
    if (inner->getNumRegions() == 0 && own(inner) != 0)
      unknown.insert(inner);
  });
}

double Counter::countInside(Operation *op) {
  double flop = 0;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      flop += count(&inner);
  return flop;
}

double Counter::countLoop(Operation *op, Value variable,
                          std::optional<int64_t> low,
                          std::optional<int64_t> high, int64_t step) {
  if (!low || !high || step <= 0) {
    giveUp(op);
    return 0;
  }
  if (*high <= *low)
    return 0;
  auto trips =
      int64_t((uint64_t(*high) - uint64_t(*low) - 1) / uint64_t(step) + 1);
  if (!driving.contains(variable))
    return double(trips) * countInside(op);
  auto countAt = [&](int64_t i) {
    ++steps;
    values[variable] = *low + i * step;
    return countInside(op);
  };
  // Tiles are alike but for the last, triangles grow evenly: where a few
  // iterations say so, they stand for all.
  double flop = 0;
  if (trips > 8 && steps < mostSteps) {
    double first = countAt(0), second = countAt(1);
    double middle = countAt(trips / 2), last = countAt(trips - 2);
    auto lineAt = [&](int64_t i) {
      return first + double(i) * (second - first);
    };
    if (lineAt(trips / 2) == middle && lineAt(trips - 2) == last) {
      flop = double(trips - 1) * (first + last) / 2 + countAt(trips - 1);
      values.erase(variable);
      return flop;
    }
  }
  for (int64_t i = 0; i < trips; ++i) {
    if (steps > mostSteps) {
      giveUp(op);
      return 0;
    }
    flop += countAt(i);
  }
  values.erase(variable);
  return flop;
}

double Counter::countAffine(AffineForOp loop) {
  return countLoop(
      loop, loop.getInductionVar(),
      evaluate(loop.getLowerBoundMap(), loop.getLowerBoundOperands(), true),
      evaluate(loop.getUpperBoundMap(), loop.getUpperBoundOperands(), false),
      loop.getStepAsInt());
}

double Counter::countParallel(AffineParallelOp loop) {
  if (loop.getNumDims() == 1)
    return countLoop(
        loop, loop.getIVs()[0],
        evaluate(loop.getLowerBoundMap(0), loop.getLowerBoundsOperands(), true),
        evaluate(loop.getUpperBoundMap(0), loop.getUpperBoundsOperands(),
                 false),
        loop.getSteps()[0]);
  std::optional<SmallVector<uint64_t, 4>> counts = getTripCounts(loop);
  if (!counts) {
    giveUp(loop);
    return 0;
  }
  double trips = 1;
  for (uint64_t count : *counts)
    trips *= double(count);
  return trips * countInside(loop);
}

double Counter::count(Operation *op) {
  if (op->getNumRegions() == 0)
    return own(op);
  auto [it, isNew] = inputs.try_emplace(op);
  if (isNew)
    it->second = findBounding(op).inputs;
  SmallVector<std::optional<int64_t>, 2> numbers;
  for (Value input : it->second)
    numbers.push_back(evaluate(input));
  std::pair key(op, std::move(numbers));
  if (auto known = counted.find(key); known != counted.end())
    return known->second;
  double flop = countAnew(op);
  counted.emplace(std::move(key), flop);
  return flop;
}

double Counter::countAnew(Operation *op) {
  if (auto loop = dyn_cast<AffineForOp>(op))
    return countAffine(loop);
  if (auto loop = dyn_cast<AffineParallelOp>(op))
    return countParallel(loop);
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    std::optional<int64_t> low = evaluate(loop.getLowerBound());
    std::optional<int64_t> high = evaluate(loop.getUpperBound());
    std::optional<int64_t> step = evaluate(loop.getStep());
    if (low && high && step)
      return countLoop(loop, loop.getInductionVar(), low, high, *step);
  }
  if (isa<scf::IfOp, AffineIfOp>(op)) {
    double most = 0;
    for (Region &region : op->getRegions()) {
      double flop = 0;
      for (Operation &inner : region.getOps())
        flop += count(&inner);
      most = std::max(most, flop);
    }
    return most;
  }
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    std::optional<APInt> trips = loop.getStaticTripCount();
    if (!trips || trips->getBitWidth() > 64) {
      giveUp(op);
      return 0;
    }
    return double(trips->getSExtValue()) * countInside(op);
  }
  return countInside(op);
}

WorkCount countWork(Operation *root) { return countWork(root, countOwnWork); }

WorkCount countWork(Operation *root,
                    llvm::function_ref<double(Operation *)> own,
                    llvm::DenseMap<Value, int64_t> values) {
  Counter counter(root, own, std::move(values));
  WorkCount work;
  work.flop = counter.count(root);
  work.uncounted = counter.uncounted();
  return work;
}

} // namespace polynest
