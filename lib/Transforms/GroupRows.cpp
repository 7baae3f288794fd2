//===- GroupRows.cpp - loops along a few rows at a time -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a loop over rows whose body is several loops along a row, of which one
// reduces the row to what the next one needs (the maximum, the exponentials and
// their sum, the quotients of a softmax), runs a few rows at a time: each loop
// runs along all of them at once. Buffers that the body makes get a place for
// each row of the group. Where rows are short, several groups run part by part:
// each loop is done for all of their rows before the next one begins, and what
// they hand on goes through small buffers.
// Legal when: iterations of the loop over rows are independent; what is in its
// body besides loops has no effect but plain accesses; buffers that it makes
// are only touched by plain accesses; loops run alike in all rows.
// Profitable when: a reduction is followed by a loop that uses it: the last
// steps of the reduction, which combine lanes, wait for each other for as long
// as a vector loop takes over some dozens of vectors. Lanes of several rows are
// combined together (polynest-vectorize-nests), and short rows have loops of a
// few iterations, each of which ends once for all of them. What the rows of a
// group touch has to stay in the first-level cache; long rows of several
// operands, without functions or buffers, are as many streams from memory, and
// came in more slowly by twos (RMSNorm of a sum, rows of 4 KiB: 5.7 ms
// for 4.6). The end of a reduction and the loop that waits for it belong to
// different groups, run part by part, so that a processor works on the next
// group's loop in the meantime; that pays where rows are so short that it looks
// ahead that far. Limits: a constant number of rows that the group divides;
// loops along a row are innermost ones. Cost: linear in the operations of the
// nest, times the pairs of its accesses.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/AffineValues.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

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
/// The most rows that run part by part, and what they may touch: half of that
/// cache, beside what comes next.
static constexpr int64_t mostTogether = 32, mostBytesTogether = mostBytes / 2;
/// How often an outermost loop runs around them at least: cores share it.
static constexpr int64_t leastBlocks = 64;

namespace {
/// A loop over rows, its body cut before each loop along a row.
struct RowNest {
  AffineForOp rows;
  int64_t trips = 0;
  int64_t group = 0;
  /// Rows that run part by part: a group, or several.
  int64_t together = 0;
  /// Operations that stay together, in order; the first loop's part also holds
  /// what stands in front of it.
  SmallVector<SmallVector<Operation *>> parts;
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

/// Cuts the body in parts. False for what has another form; no remark is due.
static bool matchRows(AffineForOp loop, RowNest &nest) {
  std::optional<int64_t> trips = getSmallTripCount(loop);
  if (!trips || loop.getNumIterOperands() || !countsFromZero(loop))
    return false;
  nest.rows = loop;
  nest.trips = *trips;
  nest.parts.emplace_back();
  bool hasLoop = false, waits = false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto inner = dyn_cast<AffineForOp>(op)) {
      if (!isInnermost(inner) || !hasCommonBounds(inner, loop))
        return false;
      if (hasLoop)
        nest.parts.emplace_back();
      hasLoop = true;
      nest.parts.back().push_back(&op);
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
    nest.parts.back().push_back(&op);
  }
  // What a reduction hands to later parts.
  llvm::DenseMap<Operation *, size_t> partOf;
  for (size_t p = 0; p < nest.parts.size(); ++p)
    for (Operation *op : nest.parts[p])
      partOf[op] = p;
  for (ArrayRef<Operation *> part : nest.parts) {
    bool reduces = llvm::any_of(part, [](Operation *op) {
      return isa<AffineForOp>(op) && op->getNumResults() != 0;
    });
    for (Operation *op : part)
      waits |= reduces && llvm::any_of(op->getUsers(), [&](Operation *user) {
                 Operation *top = loop.getBody()->findAncestorOpInBlock(*user);
                 return partOf.at(top) != partOf.at(op);
               });
  }
  return nest.parts.size() > 1 && waits;
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// The last index of an access is below it: rows may be further apart.
static int64_t countColumns(const Access &access, MemRefType type) {
  int64_t columns = type.getShape().back();
  if (!access.isAffine())
    return columns;
  AffineExpr last = access.map.getAffineMap().getResults().back();
  auto dim = dyn_cast<AffineDimExpr>(last);
  if (!dim)
    return columns;
  Value index = access.map.getOperand(dim.getPosition());
  return std::min(columns - 1, rangeOfValue(index).high) + 1;
}

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
    most = std::max(most, countColumns(access, type) * *element);
  }
  int64_t sum = 0;
  for (auto [base, size] : bytes)
    sum += size;
  return sum;
}

/// Values that a part uses of those before, in order.
static SmallVector<Value> findTaken(const RowNest &nest,
                                    ArrayRef<Operation *> part) {
  AffineForOp rows = nest.rows;
  llvm::SmallPtrSet<Operation *, 16> own(part.begin(), part.end());
  llvm::SmallSetVector<Value, 8> taken;
  for (Operation *op : part)
    op->walk([&](Operation *user) {
      for (Value value : user->getOperands()) {
        Operation *def = value.getDefiningOp();
        if (def && def->getBlock() == rows.getBody() && !own.contains(def) &&
            !llvm::is_contained(nest.buffers, def))
          taken.insert(value);
      }
    });
  return taken.takeVector();
}

/// True if parts may take what they use of others from memory: numbers.
static bool canHandOn(const RowNest &nest) {
  return llvm::all_of(nest.parts, [&](ArrayRef<Operation *> part) {
    return llvm::all_of(findTaken(nest, part), [](Value value) {
      return !value.getType().isIndex() && getElementBytes(value.getType());
    });
  });
}

/// How many rows run part by part: as many as stay in the first-level cache.
static int64_t chooseTogether(RowNest &nest, int64_t rowBytes) {
  int64_t most = std::min(mostTogether,
                          mostBytesTogether / std::max<int64_t>(rowBytes, 1));
  if (isa<func::FuncOp>(nest.rows->getParentOp()))
    most = std::min(most, nest.trips / leastBlocks);
  int64_t together = most / nest.group * nest.group;
  while (together > nest.group && nest.trips % together != 0)
    together -= nest.group;
  return together > nest.group && canHandOn(nest) ? together : nest.group;
}

/// True if loops along a row do no more than read several operands: no
/// functions, no buffers. Two rows of such are more streams than come in at
/// once.
static bool readsSeveral(RowNest &nest, ArrayRef<Access> accesses) {
  if (!nest.buffers.empty() ||
      llvm::any_of(nest.rows.getBody()->getOps<AffineForOp>(),
                   computesFunctions))
    return false;
  llvm::SmallSetVector<Value, 4> operands;
  for (const Access &access : accesses)
    if (!access.isWrite && access.memref &&
        nest.rows.isDefinedOutsideOfLoop(access.memref) &&
        (!access.isAffine() ||
         !isInvariantTo(access, nest.rows.getInductionVar())))
      operands.insert(access.memref);
  return operands.size() > 1;
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
      if (*rowBytes * groupSizes[0] > mostBytes && readsSeveral(nest, accesses))
        return "long rows of several operands come from memory as fast alone";
      nest.group = size;
      nest.together = chooseTogether(nest, *rowBytes);
      return nullptr;
    }
  return *rowBytes * groupSizes[1] > mostBytes
             ? "two rows are too large for the first-level cache"
             : "groups do not divide the rows";
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// Rows of accesses: a number, counted from a variable if there is one.
using RowsOf = llvm::DenseMap<Operation *, std::pair<Value, int64_t>>;

/// Has each access of `from` that is of a row touch its place in `to`.
static void redirect(Value from, Value to, const RowsOf &rowOf) {
  for (Operation *user : llvm::make_early_inc_range(from.getUsers())) {
    auto found = rowOf.find(user);
    if (found == rowOf.end())
      continue;
    Builder builder(user->getContext());
    auto [map, operands] = getPlace(user);
    auto [first, number] = found->second;
    unsigned dims = map.getNumDims();
    AffineExpr row = builder.getAffineConstantExpr(number);
    if (first) {
      row = row + builder.getAffineDimExpr(dims);
      operands.insert(operands.begin() + dims++, first);
    }
    SmallVector<AffineExpr> results = {row};
    llvm::append_range(results, map.getResults());
    movePlace(user, to,
              AffineMap::get(dims, map.getNumSymbols(), results,
                             builder.getContext()),
              operands);
  }
}

/// A buffer like the one that `op` makes, for so many rows.
static Value makeRows(OpBuilder &builder, Operation *op, int64_t rows) {
  auto type = cast<MemRefType>(op->getResult(0).getType());
  SmallVector<int64_t> shape = {rows};
  llvm::append_range(shape, type.getShape());
  type = MemRefType::get(shape, type.getElementType(), AffineMap(),
                         type.getMemorySpace());
  IntegerAttr line = builder.getI64IntegerAttr(kBufferAlignment);
  if (isa<memref::AllocaOp>(op))
    return memref::AllocaOp::create(builder, op->getLoc(), type, line);
  return memref::AllocOp::create(builder, op->getLoc(), type, line);
}

/// Has rows of a block run part by part: each part has a loop over rows of its
/// own. Returns these, in place of the nest.
static SmallVector<RowNest> distribute(RowNest &nest) {
  Location loc = nest.rows.getLoc();
  OpBuilder builder(nest.rows);
  auto blocks =
      AffineForOp::create(builder, loc, 0, nest.trips / nest.together);
  builder.setInsertionPointToStart(blocks.getBody());
  SmallVector<Value> buffers;
  for (Operation *op : nest.buffers)
    buffers.push_back(makeRows(builder, op, nest.together));
  llvm::MapVector<Value, Value> handedOn;
  for (ArrayRef<Operation *> part : nest.parts)
    for (Value value : findTaken(nest, part))
      if (!handedOn.count(value))
        handedOn[value] = memref::AllocaOp::create(
            builder, loc, MemRefType::get({nest.together}, value.getType()),
            builder.getI64IntegerAttr(kBufferAlignment));
  SmallVector<RowNest> made;
  RowsOf rowOf;
  AffineMap same = builder.getMultiDimIdentityMap(1);
  for (ArrayRef<Operation *> part : nest.parts) {
    RowNest own;
    own.rows = AffineForOp::create(builder, loc, 0, nest.together);
    own.trips = nest.together;
    own.group = nest.group;
    OpBuilder inner = OpBuilder::atBlockBegin(own.rows.getBody());
    Value row = own.rows.getInductionVar();
    AffineExpr index = builder.getAffineDimExpr(0) * nest.together +
                       builder.getAffineDimExpr(1);
    IRMapping mapping;
    mapping.map(nest.rows.getInductionVar(),
                AffineApplyOp::create(inner, loc, AffineMap::get(2, 0, index),
                                      ValueRange{blocks.getInductionVar(), row})
                    .getResult());
    for (Value value : findTaken(nest, part))
      mapping.map(value, AffineLoadOp::create(inner, loc, handedOn[value], same,
                                              ValueRange{row})
                             .getResult());
    for (Operation *op : part)
      inner.clone(*op, mapping)->walk([&](Operation *copy) {
        rowOf[copy] = {row, 0};
      });
    for (auto [value, memref] : handedOn)
      if (llvm::is_contained(part, value.getDefiningOp()))
        AffineStoreOp::create(inner, loc, mapping.lookup(value), memref, same,
                              ValueRange{row});
    made.push_back(own);
  }
  for (auto [op, buffer] : llvm::zip_equal(nest.buffers, buffers))
    redirect(op->getResult(0), buffer, rowOf);
  nest.rows.erase();
  composeIndices(blocks);
  return made;
}

/// Runs the loops one after the other, each for all rows of a group at once.
static void group(RowNest &nest) {
  Location loc = nest.rows.getLoc();
  OpBuilder builder(nest.rows);
  auto groups = AffineForOp::create(builder, loc, 0, nest.trips / nest.group);
  builder.setInsertionPointToStart(groups.getBody());
  SmallVector<Value> buffers;
  for (Operation *op : nest.buffers)
    buffers.push_back(makeRows(builder, op, nest.group));
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
  RowsOf rowOf;
  auto copyForRows = [&](OpBuilder &to, Operation &op) {
    for (auto [row, mapping] : llvm::enumerate(rows))
      rowOf[to.clone(op, mapping)] = {Value(), int64_t(row)};
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
      llvm::append_range(inits, lookUp(mapping, loop.getInits()));
    AffineForOp joint =
        copyLoop(builder, loop.getLoc(), loop, {}, inits, leaveEmpty);
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
      llvm::append_range(yielded, lookUp(mapping, loop.getYieldedValues()));
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
          << arg("rows", nest.group) << arg("loops", nest.parts.size())
          << arg("together", nest.together);
      if (nest.together > nest.group)
        for (RowNest &part : distribute(nest))
          group(part);
      else
        group(nest);
      ++numApplied;
    }
  }
};
} // namespace

} // namespace polynest
