//===- GroupRows.cpp - loops along a few rows at a time -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a loop over rows whose body is several loops along a row, of which one
// reduces the row to what the next one needs (the maximum, the exponentials and
// their sum, the quotients of a softmax), runs a few rows at a time: each loop
// runs along all of them at once. Buffers that the body makes get a place for
// each row of the group.
// Legal when: iterations of the loop over rows are independent; what is in its
// body besides loops has no effect but plain accesses; buffers that it makes
// are only touched by plain accesses; loops run alike in all rows.
// Profitable when: a reduction is followed by a loop that uses it: the last
// steps of the reduction, which combine lanes, wait for each other for as long
// as a vector loop takes over some dozens of vectors. Lanes of several rows are
// combined together (polynest-vectorize-nests), and short rows have loops of a
// few iterations, each of which ends once for all of them. What the rows of a
// group touch has to stay in the first-level cache.
// Limits: a constant number of rows that the group divides; loops along a row
// are innermost ones. Cost: linear in the operations of the nest, times the
// pairs of its accesses.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace polynest {
#define GEN_PASS_DEF_GROUPROWS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-group-rows"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "group-rows";

/// Rows of a group: lanes of four fold together in a fourth of the steps.
static constexpr int64_t groupSizes[] = {4, 2};
/// What the rows of a group may touch: first-level caches hold 32 KiB or more.
static constexpr int64_t mostBytes = 32768;

namespace {
/// A loop over rows.
struct RowNest {
  AffineForOp rows;
  int64_t trips = 0;
  int64_t group = 0;
  /// Loops along a row.
  unsigned loops = 0;
  /// Buffers made in the body.
  SmallVector<Operation *> buffers;
};
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// A buffer of static size that plain accesses alone touch.
static bool isPlainBuffer(Operation *op) {
  if (!isa<memref::AllocaOp, memref::AllocOp>(op))
    return false;
  auto type = cast<MemRefType>(op->getResult(0).getType());
  return type.hasStaticShape() && type.getLayout().isIdentity() &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           return isa<AffineLoadOp, AffineStoreOp>(user);
         });
}

/// A loop that holds no others and no conditions.
static bool isInnermost(AffineForOp loop) {
  return llvm::all_of(loop.getBody()->without_terminator(),
                      [](Operation &op) { return op.getNumRegions() == 0; });
}

/// True if the loop runs over the same columns in each row.
static bool hasCommonBounds(AffineForOp loop, AffineForOp rows) {
  return llvm::none_of(loop->getOperands().drop_back(loop.getNumIterOperands()),
                       [&](Value bound) {
                         return rows->isAncestor(
                             bound.getParentBlock()->getParentOp());
                       });
}

/// Looks at the body. False for what has another form; no remark is due.
static bool matchRows(AffineForOp loop, RowNest &nest) {
  std::optional<int64_t> trips = getSmallTripCount(loop);
  if (!trips || loop.getNumIterOperands() || loop.getStepAsInt() != 1 ||
      !loop.hasConstantLowerBound() || loop.getConstantLowerBound() != 0)
    return false;
  nest.rows = loop;
  nest.trips = *trips;
  // Parts end before each loop but the first, whose part also holds what stands
  // in front of it.
  llvm::DenseMap<Operation *, unsigned> partOf;
  llvm::SmallDenseSet<unsigned> reductions;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto inner = dyn_cast<AffineForOp>(op)) {
      if (!isInnermost(inner) || !hasCommonBounds(inner, loop))
        return false;
      if (inner.getNumResults() != 0)
        reductions.insert(nest.loops);
      partOf[&op] = nest.loops++;
      continue;
    }
    if (isa<memref::AllocaOp, memref::AllocOp>(op)) {
      if (!isPlainBuffer(&op))
        return false;
      nest.buffers.push_back(&op);
      continue;
    }
    if (op.getNumRegions() != 0 ||
        !(isa<AffineLoadOp, AffineStoreOp>(op) || isMemoryEffectFree(&op)))
      return false;
    partOf[&op] = nest.loops == 0 ? 0 : nest.loops - 1;
  }
  // What a reduction hands to later parts.
  for (auto [op, part] : partOf) {
    if (!reductions.contains(part))
      continue;
    for (Operation *user : op->getUsers())
      if (partOf.at(loop.getBody()->findAncestorOpInBlock(*user)) != part)
        return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Bytes that one row takes: a line of each buffer. None if not known.
static std::optional<int64_t> countRowBytes(ArrayRef<Access> accesses) {
  llvm::SmallMapVector<Value, int64_t, 8> bytes;
  for (const Access &access : accesses) {
    auto type = access.memref ? dyn_cast<MemRefType>(access.memref.getType())
                              : MemRefType();
    if (!type || type.getRank() == 0)
      continue;
    std::optional<int64_t> element = getElementBytes(type.getElementType());
    if (!element || type.isDynamicDim(type.getRank() - 1) ||
        type.getShape().back() > mostBytes)
      return std::nullopt;
    int64_t &most = bytes[access.base];
    most = std::max(most, type.getShape().back() * *element);
  }
  int64_t sum = 0;
  for (auto [base, size] : bytes)
    sum += size;
  return sum;
}

/// Chooses the rows of a group; why there is none, or null.
static const char *judge(RowNest &nest) {
  SmallVector<Access, 0> accesses;
  collectAccesses(nest.rows, accesses);
  if (!isPlainlyParallel(nest.rows, accesses))
    return "rows may depend on each other";
  std::optional<int64_t> rowBytes = countRowBytes(accesses);
  if (!rowBytes)
    return "the size of a row is not known";
  for (int64_t size : groupSizes)
    if (nest.trips % size == 0 && nest.trips > size &&
        *rowBytes * size <= mostBytes) {
      nest.group = size;
      return nullptr;
    }
  return *rowBytes * groupSizes[1] > mostBytes
             ? "two rows are too large for the first-level cache"
             : "groups do not divide the rows";
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// Has each access of `from` that is of a row touch its place in `to`.
static void redirect(Value from, Value to,
                     const llvm::DenseMap<Operation *, int64_t> &rowOf) {
  for (Operation *user : llvm::make_early_inc_range(from.getUsers())) {
    auto row = rowOf.find(user);
    if (row == rowOf.end())
      continue;
    Builder builder(user->getContext());
    auto [map, operands] = getPlace(user);
    SmallVector<AffineExpr> results = {
        builder.getAffineConstantExpr(row->second)};
    llvm::append_range(results, map.getResults());
    movePlace(user, to,
              AffineMap::get(map.getNumDims(), map.getNumSymbols(), results,
                             builder.getContext()),
              operands);
  }
}

/// Runs the loops one after the other, each for all rows of a group at once.
static void group(RowNest &nest) {
  Location loc = nest.rows.getLoc();
  OpBuilder builder(nest.rows);
  auto groups = AffineForOp::create(builder, loc, 0, nest.trips / nest.group);
  builder.setInsertionPointToStart(groups.getBody());
  SmallVector<Value> buffers;
  for (Operation *op : nest.buffers) {
    auto type = cast<MemRefType>(op->getResult(0).getType());
    SmallVector<int64_t> shape = {nest.group};
    llvm::append_range(shape, type.getShape());
    type = MemRefType::get(shape, type.getElementType(), AffineMap(),
                           type.getMemorySpace());
    IntegerAttr line = builder.getI64IntegerAttr(kBufferAlignment);
    buffers.push_back(
        isa<memref::AllocaOp>(op)
            ? memref::AllocaOp::create(builder, loc, type, line).getResult()
            : memref::AllocOp::create(builder, loc, type, line).getResult());
  }
  SmallVector<IRMapping, 4> rows(nest.group);
  for (auto [row, mapping] : llvm::enumerate(rows))
    mapping.map(
        nest.rows.getInductionVar(),
        AffineApplyOp::create(
            builder, loc,
            AffineMap::get(
                1, 0, builder.getAffineDimExpr(0) * nest.group + int64_t(row)),
            groups.getInductionVar())
            .getResult());
  llvm::DenseMap<Operation *, int64_t> rowOf;
  auto copyForRows = [&](OpBuilder &to, Operation &op) {
    for (auto [row, mapping] : llvm::enumerate(rows))
      rowOf[to.clone(op, mapping)] = int64_t(row);
  };
  for (Operation &op : nest.rows.getBody()->without_terminator()) {
    auto loop = dyn_cast<AffineForOp>(op);
    if (llvm::is_contained(nest.buffers, &op))
      continue;
    if (!loop) {
      copyForRows(builder, op);
      continue;
    }
    SmallVector<Value> inits;
    for (IRMapping &mapping : rows)
      for (Value init : loop.getInits())
        inits.push_back(mapping.lookupOrDefault(init));
    auto joint = AffineForOp::create(
        builder, loop.getLoc(), loop.getLowerBoundOperands(),
        loop.getLowerBoundMap(), loop.getUpperBoundOperands(),
        loop.getUpperBoundMap(), loop.getStepAsInt(), inits,
        [](OpBuilder &, Location, Value, ValueRange) {});
    unsigned count = loop.getNumIterOperands();
    for (auto [row, mapping] : llvm::enumerate(rows)) {
      mapping.map(loop.getInductionVar(), joint.getInductionVar());
      mapping.map(loop.getRegionIterArgs(),
                  joint.getRegionIterArgs().slice(row * count, count));
      mapping.map(loop.getResults(),
                  joint.getResults().slice(row * count, count));
    }
    OpBuilder inner = OpBuilder::atBlockEnd(joint.getBody());
    for (Operation &step : loop.getBody()->without_terminator())
      copyForRows(inner, step);
    SmallVector<Value> yielded;
    for (IRMapping &mapping : rows)
      for (Value value : loop.getYieldedValues())
        yielded.push_back(mapping.lookupOrDefault(value));
    AffineYieldOp::create(inner, loop.getLoc(), yielded);
  }
  for (auto [op, buffer] : llvm::zip_equal(nest.buffers, buffers))
    redirect(op->getResult(0), buffer, rowOf);
  nest.rows.erase();
  composeIndices(groups);
}

namespace {
struct GroupRowsPass : impl::GroupRowsBase<GroupRowsPass> {
  using GroupRowsBase::GroupRowsBase;

  void runOnOperation() override {
    SmallVector<RowNest> found;
    getOperation().walk([&](AffineForOp loop) {
      RowNest nest;
      if (matchRows(loop, nest))
        found.push_back(std::move(nest));
    });
    for (RowNest &nest : found) {
      Location loc = nest.rows.getLoc();
      if (const char *why = judge(nest)) {
        ++numDeclined;
        remark(RemarkKind::Declined, loc, passName, why);
        continue;
      }
      remark(RemarkKind::Applied, loc, passName,
             "loops run along several rows at a time")
          << arg("rows", nest.group) << arg("loops", nest.loops);
      group(nest);
      ++numApplied;
    }
  }
};
} // namespace

} // namespace polynest
