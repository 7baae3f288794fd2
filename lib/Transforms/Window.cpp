// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/Window.cpp: see the header.

#include "Transforms/Window.h"

#include "Analysis/Access.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

/// The loop around that passes all its values on to `loop` and does nothing
/// else, or null.
static AffineForOp getCarrierAround(AffineForOp loop) {
  auto around = dyn_cast<AffineForOp>(loop->getParentOp());
  unsigned count = loop.getNumIterOperands();
  if (!around || count == 0 || around.getNumIterOperands() != count ||
      &around.getBody()->front() != loop.getOperation() ||
      loop->getNextNode() != around.getBody()->getTerminator())
    return {};
  Operation *yield = around.getBody()->getTerminator();
  for (unsigned i = 0; i < count; ++i)
    if (loop.getInits()[i] != around.getRegionIterArgs()[i] ||
        yield->getOperand(i) != loop.getResult(i))
      return {};
  return around;
}

/// True if the body is straight code without stores in which each value that is
/// carried depends on itself alone.
static bool isPlainReduction(AffineForOp loop) {
  for (Operation &op : loop.getBody()->without_terminator()) {
    bool isLoad = isa<AffineLoadOp, AffineVectorLoadOp>(op);
    if (op.getNumRegions() != 0 || (!isLoad && !isMemoryEffectFree(&op)))
      return false;
  }
  for (auto [position, value] : llvm::enumerate(loop.getYieldedValues())) {
    SmallVector<Value> pending{value};
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!pending.empty()) {
      Value next = pending.pop_back_val();
      if (auto argument = dyn_cast<BlockArgument>(next)) {
        if (argument.getOwner() == loop.getBody() &&
            argument != loop.getInductionVar() &&
            argument != loop.getRegionIterArgs()[position])
          return false;
        continue;
      }
      Operation *def = next.getDefiningOp();
      if (def->getBlock() == loop.getBody() && seen.insert(def).second)
        llvm::append_range(pending, def->getOperands());
    }
  }
  return true;
}

/// Operations that depend on carried values.
static int32_t countCombining(AffineForOp loop) {
  llvm::SmallPtrSet<Operation *, 16> combining;
  for (Operation &op : loop.getBody()->without_terminator())
    if (llvm::any_of(op.getOperands(), [&](Value value) {
          if (auto argument = dyn_cast<BlockArgument>(value))
            return llvm::is_contained(loop.getRegionIterArgs(), argument);
          return combining.contains(value.getDefiningOp());
        }))
      combining.insert(&op);
  return int32_t(combining.size());
}

/// What the model wants to know of rows and taps; none where they share
/// nothing.
static std::optional<pn_model_window_t> describe(AffineForOp inner,
                                                 ArrayRef<Access> loads,
                                                 AffineForOp rows,
                                                 AffineForOp taps) {
  std::optional<uint64_t> tapTrips = getTripCount(taps);
  std::optional<uint64_t> rowTrips = getTripCount(rows);
  if (!tapTrips || *tapTrips < 2 || *tapTrips > PN_MODEL_WINDOW_TAPS ||
      !taps.hasConstantLowerBound() || (rowTrips && *rowTrips < 2))
    return std::nullopt;
  pn_model_window_t numbers = {};
  numbers.taps = int32_t(*tapTrips);
  numbers.rows = rowTrips ? int64_t(std::min(*rowTrips, uint64_t(1) << 30)) : 0;
  numbers.sums = int32_t(inner.getNumIterOperands());
  numbers.operations = countCombining(inner);
  for (const Access &load : loads) {
    std::optional<int64_t> alongRows = getStride(load, rows);
    std::optional<int64_t> alongTaps = getStride(load, taps);
    if (!alongRows || !alongTaps)
      return std::nullopt;
    if (*alongRows == 0 || *alongTaps == 0) {
      ++(*alongTaps != 0   ? numbers.tap_loads
         : *alongRows != 0 ? numbers.row_loads
                           : numbers.other_loads);
      continue;
    }
    if (numbers.window_loads != 0 &&
        (numbers.row_step != *alongRows || numbers.tap_step != *alongTaps))
      return std::nullopt;
    ++numbers.window_loads;
    numbers.row_step = *alongRows;
    numbers.tap_step = *alongTaps;
  }
  int32_t inputs = pn_model_window_inputs(&numbers, 2);
  if (inputs == 0 || inputs == 2 * numbers.taps)
    return std::nullopt;
  return numbers;
}

std::optional<Window> findWindow(AffineForOp inner, AffineForOp lanes) {
  if (inner.getNumIterOperands() == 0 || !isPlainReduction(inner))
    return std::nullopt;
  SmallVector<Access, 8> loads;
  collectAccesses(inner, loads);
  for (const Access &load : loads)
    if (load.isWrite || !load.isAffine())
      return std::nullopt;
  SmallVector<AffineForOp, 4> carriers{inner};
  while (AffineForOp around = getCarrierAround(carriers.back()))
    carriers.push_back(around);
  std::optional<Window> best;
  double fewest = 0;
  for (Operation *parent = carriers.back()->getParentOp();
       auto rows = dyn_cast_or_null<AffineForOp>(parent);
       parent = parent->getParentOp()) {
    if (rows.getNumIterOperands() != 0)
      break;
    if (rows == lanes)
      continue;
    for (AffineForOp taps : carriers) {
      auto numbers = describe(inner, loads, rows, taps);
      if (!numbers)
        continue;
      double share =
          double(pn_model_window_inputs(&*numbers, 4)) / (4 * numbers->taps);
      if (best && share >= fewest)
        continue;
      fewest = share;
      best = Window{inner, carriers.back(), rows, taps, *numbers};
    }
  }
  return best;
}

} // namespace polynest
