// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/MaskAnalysis.cpp: see the header.

#include "Transforms/MaskAnalysis.h"

#include "Analysis/NestParts.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

/// The loop from 0 by steps of 1 that an index stands for.
static AffineForOp getRun(AffineMap map, ValueRange operands, unsigned d) {
  auto dim = dyn_cast<AffineDimExpr>(map.getResult(d));
  AffineForOp loop = dim ? getForInductionVarOwner(operands[dim.getPosition()])
                         : AffineForOp();
  return loop && getEnd(loop) ? loop : AffineForOp();
}

/// The loop that an index stands for, if it goes over as many columns as the
/// mask is put on.
AffineForOp MaskAnalysis::getSweep(AffineMap map, ValueRange operands,
                                   unsigned d) const {
  AffineForOp loop = getRun(map, operands, d);
  return loop && *getEnd(loop) == *getEnd(mask.column) ? loop : AffineForOp();
}

/// The variables that name the rows of an access, dimension by dimension; none
/// unless each is a loop of the nest of its own.
std::optional<SmallVector<Value>>
MaskAnalysis::getRows(Operation *access, unsigned dim, AffineForOp nest) {
  auto [map, operands] = getPlace(access);
  auto type = cast<MemRefType>(getMemRef(access).getType());
  SmallVector<Value> rows;
  for (unsigned d = 0; d != map.getNumResults(); ++d) {
    if (d == dim)
      continue;
    auto constant = dyn_cast<AffineConstantExpr>(map.getResult(d));
    if (type.getDimSize(d) == 1 && constant && constant.getValue() == 0) {
      rows.push_back({});
      continue;
    }
    AffineForOp loop = getRun(map, operands, d);
    if (!loop || !nest->isAncestor(loop) ||
        llvm::is_contained(rows, loop.getInductionVar()))
      return std::nullopt;
    rows.push_back(loop.getInductionVar());
  }
  return rows;
}

/// Takes note of the loop over rows by which an access names the mask's row.
void MaskAnalysis::followRow(Operation *access, unsigned dim,
                             AffineForOp nest) {
  Operation *alloc = getMemRef(access).getDefiningOp();
  AffineForOp &loop = rowLoops[nest];
  // A buffer of one row is made in it.
  if (alloc->getBlock() != block) {
    staysInRow &= loop && loop->isAncestor(alloc);
    return;
  }
  std::optional<SmallVector<Value>> rows = getRows(access, dim, nest);
  if (!rowPlace && rows && mask.row)
    rowPlace = size_t(llvm::find(*rows, mask.row) - rows->begin());
  AffineForOp own = rows && rowPlace && *rowPlace < rows->size()
                        ? getForInductionVarOwner((*rows)[*rowPlace])
                        : AffineForOp();
  staysInRow &= own && (!loop || loop == own);
  loop = own;
}

/// How many rows the loops over them reach.
static SmallVector<LoopEnd, 4> countRows(ArrayRef<Value> rows) {
  return llvm::map_to_vector<4>(rows, [](Value row) {
    return row ? *getEnd(getForInductionVarOwner(row)) : LoopEnd{1, {}};
  });
}

/// The value that `row` is but where it equals a number for which `isAsked`:
/// there it is another number, for which `isFit`. Null if it is no such select.
static Value seeThroughGuard(Value row, function_ref<bool(Value)> isAsked,
                             function_ref<bool(const APFloat &)> isFit) {
  auto select = row.getDefiningOp<arith::SelectOp>();
  auto compare =
      select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : nullptr;
  APFloat other(0.0f);
  if (!compare || compare.getPredicate() != arith::CmpFPredicate::OEQ ||
      !isAsked(compare.getRhs()) ||
      !matchPattern(select.getTrueValue(), m_ConstantFloat(&other)) ||
      !isFit(other))
    return {};
  Value compared = compare.getLhs();
  if (auto extended = compared.getDefiningOp<arith::ExtFOp>())
    compared = extended.getIn();
  return compared == select.getFalseValue() ? compared : Value();
}

/// True if the row is the maximum of the columns, or above it.
bool MaskAnalysis::isMaximum(Value row, unsigned id) const {
  auto found = maxima.find(row);
  if (found != maxima.end())
    return found->second == id;
  // Where all columns are -inf, any number is above them.
  Value guarded =
      seeThroughGuard(row, isNegativeInfinity,
                      [](const APFloat &other) { return !other.isNaN(); });
  return guarded && isMaximum(guarded, id);
}

/// True if the row is the sum of the columns, or where that is 0 another
/// number.
bool MaskAnalysis::isSum(Value row, unsigned id) const {
  auto found = sums.find(row);
  if (found != sums.end())
    return found->second == id;
  Value guarded = seeThroughGuard(
      row, [](Value value) { return matchPattern(value, m_AnyZeroFloat()); },
      [](const APFloat &other) { return !other.isZero() && !other.isNaN(); });
  return guarded && isSum(guarded, id);
}

/// What the results of an operation hold in masked columns.
void MaskAnalysis::visitOperation(Operation *op, AffineForOp column) {
  if (op == mask.select) {
    values[op->getResult(0)] = {Hidden::NegativeInfinity, nextId++, {}};
    return;
  }
  if (op->getNumOperands() == 0 || op->getNumResults() != 1)
    return;
  Value result = op->getResult(0);
  HiddenValue first = lookup(op->getOperand(0));
  auto standsStill = [&](Value value) {
    return !column->isAncestor(value.getParentBlock()->getParentOp());
  };
  if (isa<arith::ExtFOp>(op)) {
    if (first.kind != Hidden::Product)
      values[result] = first;
  } else if (isa<arith::TruncFOp>(op)) {
    // What is rounded may become infinite or zero where it was not.
    if (first.kind == Hidden::NegativeInfinity || first.kind == Hidden::Zero) {
      if (exponentials.contains(first.id))
        exponentials.insert(nextId);
      values[result] = {first.kind, nextId++, {}};
    }
  } else if (isa<arith::SubFOp>(op)) {
    Value row = op->getOperand(1);
    if (first.kind == Hidden::NegativeInfinity && standsStill(row) &&
        isMaximum(row, first.id))
      values[result] = {Hidden::BelowMaximum, 0, {}};
  } else if (isa<math::ExpOp, math::Exp2Op>(op)) {
    if (first.kind == Hidden::BelowMaximum) {
      exponentials.insert(nextId);
      values[result] = {Hidden::Zero, nextId++, {}};
    }
  } else if (isa<arith::DivFOp>(op)) {
    Value row = op->getOperand(1);
    if (first.kind == Hidden::Zero && standsStill(row) && isSum(row, first.id))
      values[result] = {Hidden::Zero, nextId++, {}};
  } else if (isa<arith::MulFOp>(op)) {
    HiddenValue second = lookup(op->getOperand(1));
    if (first.kind == Hidden::Zero && second.kind == Hidden::None)
      values[result] = {Hidden::Product, 0, op->getOperand(1)};
    else if (second.kind == Hidden::Zero && first.kind == Hidden::None)
      values[result] = {Hidden::Product, 0, op->getOperand(0)};
  }
}

const char *MaskAnalysis::visitStore(AffineStoreOp store, AffineForOp column,
                                     AffineForOp nest) {
  HiddenValue value = lookup(store.getValueToStore());
  if (value.kind != Hidden::NegativeInfinity && value.kind != Hidden::Zero)
    return "a loop over columns stores what the mask does not decide";
  Value memref = store.getMemRef();
  Operation *alloc = memref.getDefiningOp();
  if (!isPlainBuffer(memref) ||
      (alloc->getBlock() != block && !nest->isAncestor(alloc)))
    return "masked columns are stored in a buffer that is not private";
  auto [map, operands] = getPlace(store);
  for (unsigned d = 0; d != map.getNumResults(); ++d) {
    if (getSweep(map, operands, d) != column)
      continue;
    auto rows = getRows(store, d, nest);
    if (!rows)
      break;
    // Every row is stored: nothing but the loops over rows stands around.
    for (Operation *op = column->getParentOp();
         op != nest->getParentOp() && op != alloc->getParentOp();
         op = op->getParentOp()) {
      auto loop = dyn_cast<AffineForOp>(op);
      if (!loop || !llvm::is_contained(*rows, loop.getInductionVar()))
        return "masked columns are not stored for all rows";
    }
    // In a row, columns are read before they are stored again.
    for (Operation *user : memref.getUsers())
      if (nest->isAncestor(user) && getRows(user, d, nest) != rows)
        return "rows of masked columns are read out of step";
    followRow(store, d, nest);
    buffers[memref] = {d, value, countRows(*rows)};
    return nullptr;
  }
  return "masked columns are stored out of order";
}

/// What the loop carries stays as it is in masked columns.
const char *MaskAnalysis::visitCarried(AffineForOp column, unsigned i,
                                       AffineForOp nest) {
  static const char *const why = "a loop carries what masked columns change";
  Value carried = column.getRegionIterArgs()[i];
  Operation *op = column.getYieldedValues()[i].getDefiningOp();
  if (!op || op->getNumOperands() != 2 || !carried.hasOneUse() ||
      *carried.user_begin() != op || op->getBlock() != column.getBody() ||
      !op->getResult(0).hasOneUse())
    return why;
  Value added = op->getOperand(op->getOperand(0) == carried ? 1 : 0);
  HiddenValue value = lookup(added);
  Value result = column.getResult(i);
  if (isa<arith::MaximumFOp>(op) && value.kind == Hidden::NegativeInfinity) {
    maxima[result] = value.id;
    return nullptr;
  }
  if (!isa<arith::AddFOp>(op) ||
      !matchPattern(column.getInits()[i], m_PosZeroFloat()))
    return why;
  if (value.kind == Hidden::Zero && exponentials.contains(value.id)) {
    sums[result] = value.id;
    return nullptr;
  }
  if (value.kind != Hidden::Product)
    return why;
  MaskedProduct product;
  product.loop = column;
  product.root = nest;
  product.factor = value.factor;
  products.push_back(product);
  return nullptr;
}

const char *MaskAnalysis::visitColumn(AffineForOp column, AffineForOp nest) {
  columns.push_back(column);
  for (Operation &op : column.getBody()->without_terminator()) {
    if (auto load = dyn_cast<AffineLoadOp>(op)) {
      auto found = buffers.find(load.getMemRef());
      if (found == buffers.end())
        continue;
      auto [map, operands] = getPlace(load);
      if (getSweep(map, operands, found->second.dim) != column)
        return "masked columns are read out of order";
      followRow(load, found->second.dim, nest);
      values[load.getResult()] = found->second.value;
      continue;
    }
    if (auto store = dyn_cast<AffineStoreOp>(op)) {
      if (const char *why = visitStore(store, column, nest))
        return why;
      continue;
    }
    // Sums that columns are made of.
    if (op.getNumRegions() != 0) {
      WalkResult result = op.walk([&](Operation *inner) {
        bool isFree =
            isa<AffineForOp, AffineYieldOp>(inner) ||
            (isa<AffineLoadOp>(inner) &&
             !buffers.contains(cast<AffineLoadOp>(inner).getMemRef()));
        return isFree || (inner->getNumRegions() == 0 &&
                          isMemoryEffectFree(inner))
                   ? WalkResult::advance()
                   : WalkResult::interrupt();
      });
      if (result.wasInterrupted())
        return "a loop over columns holds other code";
      continue;
    }
    if (!isReadOnly(&op))
      return "a loop over columns holds other code";
    visitOperation(&op, column);
  }
  for (unsigned i = 0; i != column.getNumIterOperands(); ++i)
    if (const char *why = visitCarried(column, i, nest))
      return why;
  return nullptr;
}

/// Visits the loops over columns of a nest, in order.
const char *MaskAnalysis::visitNest(AffineForOp nest) {
  llvm::SetVector<Operation *> found;
  const char *why = nullptr;
  auto collect = [&](Operation *access) {
    if (access == mask.store) {
      found.insert(mask.column);
      return;
    }
    auto known = buffers.find(getMemRef(access));
    if (known == buffers.end() || isa<AffineStoreOp>(access))
      return;
    auto [map, operands] = getPlace(access);
    AffineForOp column = getSweep(map, operands, known->second.dim);
    auto rows = getRows(access, known->second.dim, nest);
    if (!column || !nest->isAncestor(column) || !rows)
      why = "masked columns are read out of order";
    else if (countRows(*rows) != known->second.rows)
      why = "other rows are read than have been stored";
    else
      found.insert(column);
  };
  // Loops of which each reads what one before it has stored come up one by one.
  size_t visited = 0;
  while (true) {
    nest.walk([&](Operation *op) {
      if (isa<AffineLoadOp, AffineStoreOp>(op))
        collect(op);
    });
    if (why || visited == found.size())
      break;
    auto column = cast<AffineForOp>(found[visited]);
    // They run one after the other.
    if (visited != 0 && (found[visited - 1]->getBlock() != column->getBlock() ||
                         !found[visited - 1]->isBeforeInBlock(column)))
      return "loops over columns do not follow each other";
    ++visited;
    if ((why = visitColumn(column, nest)))
      break;
  }
  if (why)
    return why;
  // What touches the buffers is inside of these loops.
  WalkResult result = nest.walk([&](Operation *op) {
    if (!isa<AffineLoadOp, AffineStoreOp>(op) ||
        !buffers.contains(getMemRef(op)))
      return WalkResult::advance();
    return llvm::any_of(
               found,
               [&](Operation *column) { return op->getParentOp() == column; })
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  return result.wasInterrupted() ? "masked columns are used in other loops"
                                 : nullptr;
}

const char *MaskAnalysis::run() {
  AffineForOp first = getNest(block, mask.store);
  for (Operation *op = first; op; op = op->getNextNode()) {
    bool touches = op == first;
    op->walk([&](Operation *inner) {
      if (isa<AffineLoadOp, AffineStoreOp>(inner))
        touches |= buffers.contains(getMemRef(inner));
    });
    if (!touches)
      continue;
    auto nest = dyn_cast<AffineForOp>(op);
    if (!nest)
      return "masked columns are used outside of nests";
    if (const char *why = visitNest(nest))
      return why;
  }
  // Earlier nests of the block hold older contents, which end with the store.
  for (MaskedProduct &product : products) {
    SliceCollector slice(product.root);
    if (failed(slice.add(product.factor)))
      return "what masked columns are multiplied by cannot be moved";
    product.slice = slice.ops.takeVector();
    for (Operation *op : product.slice) {
      auto load = dyn_cast<AffineLoadOp>(op);
      if (op == mask.select || (load && buffers.contains(load.getMemRef())))
        return "masked columns are multiplied by others";
    }
    SmallVector<Access, 8> accesses, reads;
    collectAccesses(product.root, accesses);
    for (Operation *op : product.slice)
      collectAccesses(op, reads);
    for (const Access &read : reads)
      if (mayWrite(accesses, read.memref))
        return "what masked columns are multiplied by is written";
    for (Operation *op = product.loop->getParentOp();
         op != product.root->getParentOp(); op = op->getParentOp()) {
      auto loop = dyn_cast<AffineForOp>(op);
      if (!loop || loop.getNumIterOperands() != 0)
        return "masked columns are summed in other code";
      if (!slice.loops.contains(loop))
        continue;
      if (!getEnd(loop))
        return "bounds around a sum of masked columns are not plain";
      product.loops.insert(product.loops.begin(), loop);
    }
    // One sum for all rows.
    for (auto &[memref, buffer] : buffers)
      for (Operation *user : memref.getUsers()) {
        if (!product.loop->isAncestor(user))
          continue;
        auto rows = getRows(user, buffer.dim, product.root);
        for (Value row : *rows)
          if (row && slice.loops.contains(getForInductionVarOwner(row)))
            return "what masked columns are multiplied by differs by row";
      }
  }
  return nullptr;
}

} // namespace polynest
