//===- Access.cpp - what memory an operation touches ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Analysis/Access.h"

#include "Analysis/Aliasing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

//===----------------------------------------------------------------------===//
// Affine values
//===----------------------------------------------------------------------===//

/// A variable or a constant, which nothing makes simpler.
static bool isLeaf(AffineExpr expr) {
  return isa<AffineConstantExpr, AffineDimExpr, AffineSymbolExpr>(expr);
}

/// True for what simplification would give back as it is: a leaf, times a
/// constant or not, plus a constant or not.
static bool isSimple(AffineExpr expr) {
  for (AffineExprKind kind : {AffineExprKind::Add, AffineExprKind::Mul})
    if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
        binary && binary.getKind() == kind &&
        isa<AffineConstantExpr>(binary.getRHS()))
      expr = binary.getLHS();
  return isLeaf(expr);
}

static AffineExpr simplify(AffineExpr expr, unsigned numDims,
                           unsigned numSymbols) {
  return isLeaf(expr) ? expr : simplifyAffineExpr(expr, numDims, numSymbols);
}

namespace {
/// Builds expressions over induction variables (dims) and symbols.
struct AffineBuilder {
  MLIRContext *context;
  SmallVector<Value, 8> dims, symbols;

  static unsigned positionOf(SmallVectorImpl<Value> &list, Value value) {
    auto it = llvm::find(list, value);
    if (it == list.end()) {
      list.push_back(value);
      return list.size() - 1;
    }
    return it - list.begin();
  }

  /// Null if `value` is not affine. `fuel` bounds the walk through chains of
  /// arithmetic, which could otherwise revisit shared values without end.
  AffineExpr build(Value value, unsigned &fuel) {
    if (fuel == 0)
      return {};
    --fuel;
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant))) {
      if (constant.getSignificantBits() > 64)
        return {};
      return getAffineConstantExpr(constant.getSExtValue(), context);
    }
    if (isAffineInductionVar(value))
      return getAffineDimExpr(positionOf(dims, value), context);
    Operation *op = value.getDefiningOp();
    if (auto apply = dyn_cast_or_null<AffineApplyOp>(op))
      return buildAll(apply.getAffineMap(), apply.getMapOperands(), fuel)
          .front();
    if (op && value.getType().isIndex() &&
        isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
      // A failure below may leave unused operands behind; canonicalization
      // drops them.
      AffineExpr lhs = build(op->getOperand(0), fuel);
      AffineExpr rhs = lhs ? build(op->getOperand(1), fuel) : AffineExpr();
      if (lhs && rhs) {
        if (isa<arith::AddIOp>(op))
          return lhs + rhs;
        if (isa<arith::SubIOp>(op))
          return lhs - rhs;
        if (isa<AffineConstantExpr>(lhs) || isa<AffineConstantExpr>(rhs))
          return lhs * rhs;
      }
    }
    if (value.getType().isIndex() && isValidSymbol(value))
      return getAffineSymbolExpr(positionOf(symbols, value), context);
    return {};
  }

  /// The results of the map, all of them null if an operand is not affine.
  SmallVector<AffineExpr, 4> buildAll(AffineMap map, ValueRange operands,
                                      unsigned &fuel) {
    SmallVector<AffineExpr> dimExprs, symbolExprs;
    SmallVector<AffineExpr, 4> results(map.getNumResults());
    bool isSame = true;
    for (auto [i, operand] : llvm::enumerate(operands)) {
      AffineExpr built = build(operand, fuel);
      if (!built)
        return results;
      bool isDim = i < map.getNumDims();
      SmallVector<AffineExpr> &list = isDim ? dimExprs : symbolExprs;
      isSame &= built == (isDim ? getAffineDimExpr(list.size(), context)
                                : getAffineSymbolExpr(list.size(), context));
      list.push_back(built);
    }
    for (auto [result, expr] : llvm::zip_equal(results, map.getResults()))
      result =
          isSame ? expr : expr.replaceDimsAndSymbols(dimExprs, symbolExprs);
    return results;
  }

  /// True if the results name all the variables. Each stands for another
  /// value, so that none is to be dropped then.
  bool namesAll(ArrayRef<AffineExpr> results) const {
    if (dims.size() > 64 || symbols.size() > 64)
      return false;
    uint64_t usedDims = 0, usedSymbols = 0;
    for (AffineExpr result : results)
      result.walk([&](AffineExpr part) {
        if (auto dim = dyn_cast<AffineDimExpr>(part))
          usedDims |= uint64_t(1) << dim.getPosition();
        else if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
          usedSymbols |= uint64_t(1) << symbol.getPosition();
      });
    return llvm::popcount(usedDims) == int(dims.size()) &&
           llvm::popcount(usedSymbols) == int(symbols.size());
  }

  AffineValueMap finish(ArrayRef<AffineExpr> results) {
    AffineMap map =
        AffineMap::get(dims.size(), symbols.size(), results, context);
    SmallVector<Value> operands(dims.begin(), dims.end());
    operands.append(symbols.begin(), symbols.end());
    bool isWhole = namesAll(results);
    if (!isWhole)
      canonicalizeMapAndOperands(&map, &operands);
    if (!llvm::all_of(results, isSimple)) {
      AffineMap simple = simplifyAffineMap(map);
      if (simple != map || !isWhole)
        canonicalizeMapAndOperands(&simple, &operands);
      map = simple;
    }
    orderByUse(map, operands);
    return AffineValueMap(map, operands);
  }

  /// Renames the variables in the order in which the results use them: accesses
  /// of one place have equal maps, in whatever order their loops stand.
  void orderByUse(AffineMap &map, SmallVectorImpl<Value> &operands) const {
    SmallVector<unsigned> used, usedSymbols;
    llvm::SmallSetVector<AffineExpr, 8> seen;
    for (AffineExpr result : map.getResults())
      result.walk([&](AffineExpr part) {
        if (!isa<AffineDimExpr, AffineSymbolExpr>(part) || !seen.insert(part))
          return;
        if (auto dim = dyn_cast<AffineDimExpr>(part))
          used.push_back(dim.getPosition());
        else
          usedSymbols.push_back(cast<AffineSymbolExpr>(part).getPosition());
      });
    if (used.size() != map.getNumDims() ||
        usedSymbols.size() != map.getNumSymbols() ||
        (llvm::is_sorted(used) && llvm::is_sorted(usedSymbols)))
      return;
    SmallVector<AffineExpr> dimExprs(used.size()),
        symbolExprs(usedSymbols.size());
    SmallVector<Value> ordered;
    for (auto [position, dim] : llvm::enumerate(used)) {
      dimExprs[dim] = getAffineDimExpr(position, context);
      ordered.push_back(operands[dim]);
    }
    for (auto [position, symbol] : llvm::enumerate(usedSymbols)) {
      symbolExprs[symbol] = getAffineSymbolExpr(position, context);
      ordered.push_back(operands[used.size() + symbol]);
    }
    map = map.replaceDimsAndSymbols(dimExprs, symbolExprs, used.size(),
                                    usedSymbols.size());
    operands.assign(ordered);
  }
};
} // namespace

static constexpr unsigned maxAffineSteps = 4096;

static std::optional<AffineValueMap> getAffineValues(MLIRContext *context,
                                                     ValueRange values) {
  AffineBuilder builder{context, {}, {}};
  SmallVector<AffineExpr> results;
  unsigned fuel = maxAffineSteps;
  for (Value value : values) {
    AffineExpr expr = builder.build(value, fuel);
    if (!expr)
      return std::nullopt;
    results.push_back(expr);
  }
  return builder.finish(results);
}

static std::optional<AffineValueMap>
getAffineValues(MLIRContext *context, AffineMap map, ValueRange operands) {
  AffineBuilder builder{context, {}, {}};
  unsigned fuel = maxAffineSteps;
  SmallVector<AffineExpr, 4> results = builder.buildAll(map, operands, fuel);
  if (!llvm::all_of(results, [](AffineExpr result) { return bool(result); }))
    return std::nullopt;
  return builder.finish(results);
}

std::optional<AffineValueMap> getAffineValue(Value index) {
  return getAffineValues(index.getContext(), ValueRange(index));
}

//===----------------------------------------------------------------------===//
// Collection
//===----------------------------------------------------------------------===//

static Access makeWhole(Operation *op, Value memref, bool isWrite) {
  Access access;
  access.op = op;
  access.memref = memref;
  access.base = memref ? getBaseMemref(memref) : Value();
  access.isWrite = isWrite;
  access.isWhole = true;
  access.isPartial = true;
  return access;
}

/// An access of single elements, or of `vector` from an index on when given.
static Access makeElements(Operation *op, Value memref, bool isWrite,
                           std::optional<AffineValueMap> map,
                           VectorType vector = {}) {
  Access access;
  access.op = op;
  access.memref = memref;
  access.base = getBaseMemref(memref);
  access.isWrite = isWrite;
  auto type = cast<MemRefType>(memref.getType());
  access.extent.assign(type.getRank(), 1);
  if (map)
    access.map = *map;
  else
    access.isIndirect = access.isPartial = true;
  if (!vector)
    return access;
  if (vector.isScalable() || vector.getRank() > type.getRank() ||
      isa<VectorType>(type.getElementType())) {
    access.isWhole = access.isPartial = true;
    return access;
  }
  for (unsigned i = 0, e = vector.getRank(); i != e; ++i)
    access.extent[type.getRank() - e + i] = vector.getDimSize(i);
  return access;
}

static Access makeTransfer(VectorTransferOpInterface op, bool isWrite) {
  Operation *operation = op.getOperation();
  Value memref = op.getBase();
  auto type = cast<MemRefType>(memref.getType());
  std::optional<AffineValueMap> map =
      getAffineValues(op.getContext(), op.getIndices());
  Access access = makeElements(operation, memref, isWrite, map);
  VectorType vector = op.getVectorType();
  if (vector.isScalable() || isa<VectorType>(type.getElementType())) {
    access.isWhole = access.isPartial = true;
    return access;
  }
  for (auto [i, result] :
       llvm::enumerate(op.getPermutationMap().getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(result);
    // A broadcast dimension reads the one element at the index.
    if (dim)
      access.extent[dim.getPosition()] = vector.getDimSize(i);
  }
  if (op.getMask() || op.hasOutOfBoundsDim())
    access.isPartial = true;
  return access;
}

/// Accesses of an operation from its declared effects. False if it has none
/// declared.
static bool collectDeclared(Operation *op, SmallVectorImpl<Access> &accesses) {
  auto effectsOp = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effectsOp)
    return op->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
  SmallVector<MemoryEffects::EffectInstance> effects;
  effectsOp.getEffects(effects);
  SmallVector<Access, 4> found;
  auto addOnce = [&](Value memref, bool isWrite) {
    for (const Access &other : found)
      if (other.memref == memref && other.isWrite == isWrite)
        return;
    found.push_back(makeWhole(op, memref, isWrite));
  };
  for (const MemoryEffects::EffectInstance &effect : effects) {
    if (isa<MemoryEffects::Allocate>(effect.getEffect()))
      continue;
    Value value = effect.getValue();
    bool isWrite = !isa<MemoryEffects::Read>(effect.getEffect());
    if (value && isa<VectorType, TensorType>(value.getType()))
      continue;
    addOnce(value && isa<BaseMemRefType>(value.getType()) ? value : Value(),
            isWrite);
  }
  // Reads come first: an operation that does both reads before it writes.
  for (bool isWrite : {false, true})
    for (const Access &access : found)
      if (access.isWrite == isWrite)
        accesses.push_back(access);
  return true;
}

static void collectOne(Operation *op, SmallVectorImpl<Access> &accesses,
                       bool withIndices) {
  auto affine = [&](auto... indices) {
    return withIndices ? getAffineValues(op->getContext(), indices...)
                       : std::nullopt;
  };
  // Most operations; asking them for interfaces takes longer.
  if (isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return;
  if (auto load = dyn_cast<AffineReadOpInterface>(op)) {
    auto vector = isa<AffineVectorLoadOp>(op)
                      ? cast<AffineVectorLoadOp>(op).getVectorType()
                      : VectorType();
    accesses.push_back(makeElements(
        op, load.getMemRef(), false,
        affine(load.getAffineMap(), load.getMapOperands()), vector));
    return;
  }
  if (auto store = dyn_cast<AffineWriteOpInterface>(op)) {
    auto vector = isa<AffineVectorStoreOp>(op)
                      ? cast<AffineVectorStoreOp>(op).getVectorType()
                      : VectorType();
    accesses.push_back(makeElements(
        op, store.getMemRef(), true,
        affine(store.getAffineMap(), store.getMapOperands()), vector));
    return;
  }
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    accesses.push_back(
        makeElements(op, load.getMemRef(), false, affine(load.getIndices())));
    return;
  }
  if (auto store = dyn_cast<memref::StoreOp>(op)) {
    accesses.push_back(
        makeElements(op, store.getMemRef(), true, affine(store.getIndices())));
    return;
  }
  if (auto load = dyn_cast<vector::LoadOp>(op)) {
    accesses.push_back(makeElements(op, load.getBase(), false,
                                    affine(load.getIndices()),
                                    load.getVectorType()));
    return;
  }
  if (auto store = dyn_cast<vector::StoreOp>(op)) {
    accesses.push_back(makeElements(op, store.getBase(), true,
                                    affine(store.getIndices()),
                                    store.getVectorType()));
    return;
  }
  if (isa<vector::TransferReadOp, vector::TransferWriteOp>(op)) {
    auto transfer = cast<VectorTransferOpInterface>(op);
    if (isa<MemRefType>(transfer.getBase().getType()))
      accesses.push_back(
          makeTransfer(transfer, isa<vector::TransferWriteOp>(op)));
    return;
  }
  // An assertion stops the program; it touches no memory of it. A prefetch
  // only warms a cache.
  if (isa<cf::AssertOp, AffinePrefetchOp, memref::PrefetchOp>(op))
    return;
  if (op->hasTrait<OpTrait::IsTerminator>() && op->getNumRegions() == 0)
    return;
  if (isa<func::FuncOp, ModuleOp>(op) || getViewSource(op))
    return;
  if (collectDeclared(op, accesses))
    return;
  // Calls and unknown operations: the memrefs they are given and all else.
  SmallPtrSet<Value, 4> seen;
  for (Value operand : op->getOperands()) {
    if (!isa<BaseMemRefType>(operand.getType()) || !seen.insert(operand).second)
      continue;
    accesses.push_back(makeWhole(op, operand, false));
    accesses.push_back(makeWhole(op, operand, true));
  }
  accesses.push_back(makeWhole(op, Value(), false));
  accesses.push_back(makeWhole(op, Value(), true));
}

void collectAccesses(Operation *root, SmallVectorImpl<Access> &accesses,
                     bool withIndices) {
  root->walk<WalkOrder::PreOrder>(
      [&](Operation *op) { collectOne(op, accesses, withIndices); });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void getEnclosingAffineLoops(Operation *op, SmallVectorImpl<Operation *> &loops,
                             Operation *inside) {
  unsigned first = loops.size();
  for (Operation *at = op == inside ? nullptr : op->getParentOp(); at;
       at = at->getParentOp()) {
    if (isa<AffineForOp, AffineParallelOp>(at))
      loops.push_back(at);
    if (at == inside || at->hasTrait<OpTrait::AffineScope>())
      break;
  }
  std::reverse(loops.begin() + first, loops.end());
}

SmallVector<AffineForOp, 6> getPerfectBand(AffineForOp root) {
  SmallVector<AffineForOp, 6> band;
  for (AffineForOp loop = root; loop;) {
    band.push_back(loop);
    Block *body = loop.getBody();
    if (body->empty() || loop.getNumIterOperands() != 0)
      break;
    auto inner = dyn_cast<AffineForOp>(body->front());
    if (!inner || inner->getNextNode() != body->getTerminator())
      break;
    loop = inner;
  }
  return band;
}

bool countsFromZero(AffineForOp loop) {
  return loop.hasConstantLowerBound() && loop.getConstantLowerBound() == 0 &&
         loop.getStepAsInt() == 1;
}

std::optional<uint64_t> getTripCount(AffineForOp loop) {
  // The parser lets a step of zero through; such a loop never ends.
  if (loop.getStepAsInt() <= 0)
    return std::nullopt;
  return getConstantTripCount(loop);
}

std::optional<SmallVector<uint64_t, 4>> getTripCounts(AffineParallelOp loop) {
  auto ranges = loop.getConstantRanges();
  if (!ranges)
    return std::nullopt;
  SmallVector<uint64_t, 4> counts;
  for (auto [range, step] : llvm::zip_equal(*ranges, loop.getSteps())) {
    if (step <= 0)
      return std::nullopt;
    counts.push_back(llvm::divideCeil(uint64_t(std::max<int64_t>(range, 0)),
                                      uint64_t(step)));
  }
  return counts;
}

std::optional<int64_t> getElementBytes(Type elementType) {
  if (auto vector = dyn_cast<VectorType>(elementType)) {
    std::optional<int64_t> bytes = getElementBytes(vector.getElementType());
    int64_t product;
    if (!bytes || vector.isScalable() ||
        llvm::MulOverflow(*bytes, vector.getNumElements(), product))
      return std::nullopt;
    return product;
  }
  if (elementType.isIndex())
    return 8;
  if (auto complex = dyn_cast<ComplexType>(elementType)) {
    std::optional<int64_t> bytes = getElementBytes(complex.getElementType());
    return bytes ? std::optional<int64_t>(2 * *bytes) : std::nullopt;
  }
  if (!elementType.isIntOrFloat())
    return std::nullopt;
  return (int64_t(elementType.getIntOrFloatBitWidth()) + 7) / 8;
}

//===----------------------------------------------------------------------===//
// Strides
//===----------------------------------------------------------------------===//

/// Coefficient of `dim` in an expression; none if not linear in it.
static std::optional<int64_t> coefficientOf(AffineExpr expr, unsigned dim) {
  if (!expr.isFunctionOfDim(dim))
    return 0;
  if (auto d = dyn_cast<AffineDimExpr>(expr))
    return d.getPosition() == dim ? 1 : 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<int64_t> lhs = coefficientOf(binary.getLHS(), dim);
  if (!lhs)
    return std::nullopt;
  int64_t result;
  if (expr.getKind() == AffineExprKind::Add) {
    std::optional<int64_t> rhs = coefficientOf(binary.getRHS(), dim);
    if (!rhs || llvm::AddOverflow(*lhs, *rhs, result))
      return std::nullopt;
    return result;
  }
  if (expr.getKind() == AffineExprKind::Mul) {
    auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (!constant || llvm::MulOverflow(*lhs, constant.getValue(), result))
      return std::nullopt;
    return result;
  }
  return std::nullopt;
}

bool isInvariantTo(const Access &access, Value iv) {
  if (!access.isAffine())
    return false;
  for (unsigned i = 0, e = access.map.getNumResults(); i != e; ++i)
    if (access.map.isFunctionOf(i, iv))
      return false;
  return true;
}

std::optional<int64_t> getStridePerUnit(const Access &access, Value iv) {
  if (!access.isAffine())
    return std::nullopt;
  auto it = llvm::find(access.map.getOperands(), iv);
  if (it == access.map.getOperands().end())
    return 0;
  unsigned dim = it - access.map.getOperands().begin();
  AffineMap map = access.map.getAffineMap();
  if (dim >= map.getNumDims())
    return std::nullopt;
  auto type = cast<MemRefType>(access.memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  int64_t total = 0;
  for (auto [result, stride] : llvm::zip_equal(map.getResults(), strides)) {
    std::optional<int64_t> coefficient = coefficientOf(result, dim);
    if (!coefficient)
      return std::nullopt;
    if (*coefficient == 0)
      continue;
    int64_t moved;
    if (ShapedType::isDynamic(stride) ||
        llvm::MulOverflow(*coefficient, stride, moved) ||
        llvm::AddOverflow(total, moved, total))
      return std::nullopt;
  }
  return total;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

namespace {
/// Index expressions on the way from a view to its source.
struct ViewResolver {
  AffineBuilder builder;
  SmallVector<AffineExpr, 4> indices;
  SmallVector<int64_t, 4> extent;
  unsigned fuel = maxAffineSteps;

  explicit ViewResolver(const Access &access)
      : builder{access.map.getAffineMap().getContext(), {}, {}},
        extent(access.extent) {
    AffineMap map = access.map.getAffineMap();
    ArrayRef<Value> operands = access.map.getOperands();
    builder.dims.assign(operands.begin(), operands.begin() + map.getNumDims());
    builder.symbols.assign(operands.begin() + map.getNumDims(), operands.end());
    indices.assign(map.getResults().begin(), map.getResults().end());
  }

  AffineExpr exprOf(OpFoldResult value) {
    if (auto attribute = dyn_cast<Attribute>(value))
      return getAffineConstantExpr(cast<IntegerAttr>(attribute).getInt(),
                                   builder.context);
    return builder.build(cast<Value>(value), fuel);
  }

  bool through(memref::SubViewOp op) {
    SmallVector<OpFoldResult> offsets = op.getMixedOffsets();
    SmallVector<OpFoldResult> strides = op.getMixedStrides();
    // SubViewOp::getDroppedDims reads past its buffers for some views of
    // several sizes 1. Which of those are dropped makes no difference.
    std::optional<llvm::SmallDenseSet<unsigned>> dropped =
        computeRankReductionMask(op.getStaticSizes(), op.getType().getShape());
    if (!dropped)
      return false;
    SmallVector<AffineExpr, 4> outer;
    SmallVector<int64_t, 4> outerExtent;
    unsigned at = 0;
    for (unsigned d = 0, e = offsets.size(); d != e; ++d) {
      AffineExpr offset = exprOf(offsets[d]);
      std::optional<int64_t> stride = getConstantIntValue(strides[d]);
      if (!offset || !stride || *stride <= 0)
        return false;
      if (dropped->contains(d)) {
        outer.push_back(offset);
        outerExtent.push_back(1);
        continue;
      }
      outer.push_back(offset + indices[at] * *stride);
      outerExtent.push_back((extent[at] - 1) * *stride + 1);
      ++at;
    }
    indices = outer;
    extent = outerExtent;
    return true;
  }

  bool through(memref::TransposeOp op) {
    SmallVector<AffineExpr, 4> outer(indices.size());
    SmallVector<int64_t, 4> outerExtent(indices.size());
    for (auto [i, result] : llvm::enumerate(op.getPermutation().getResults())) {
      unsigned d = cast<AffineDimExpr>(result).getPosition();
      outer[d] = indices[i];
      outerExtent[d] = extent[i];
    }
    indices = outer;
    extent = outerExtent;
    return true;
  }

  /// Several dimensions of `shape` become one: the index is linearized. Extents
  /// must lie in the last dimension, where neighbours stay neighbours.
  bool linearize(ArrayRef<int64_t> group, ArrayRef<int64_t> shape,
                 AffineExpr &index, int64_t &size) {
    index = getAffineConstantExpr(0, builder.context);
    size = 1;
    for (auto [i, d] : llvm::enumerate(group)) {
      if (i != 0) {
        if (ShapedType::isDynamic(shape[d]))
          return false;
        index = index * shape[d];
      }
      if (extent[d] != 1 && i + 1 != group.size())
        return false;
      index = index + indices[d];
      size = extent[d];
    }
    return true;
  }

  bool through(memref::ExpandShapeOp op) {
    SmallVector<AffineExpr, 4> outer;
    SmallVector<int64_t, 4> outerExtent;
    for (ArrayRef<int64_t> group : op.getReassociationIndices()) {
      AffineExpr index;
      int64_t size;
      if (!linearize(group, op.getResultType().getShape(), index, size))
        return false;
      outer.push_back(index);
      outerExtent.push_back(size);
    }
    indices = outer;
    extent = outerExtent;
    return true;
  }

  bool through(memref::CollapseShapeOp op) {
    ArrayRef<int64_t> shape = op.getSrcType().getShape();
    SmallVector<AffineExpr, 4> outer(shape.size());
    SmallVector<int64_t, 4> outerExtent(shape.size(), 1);
    for (auto [i, group] : llvm::enumerate(op.getReassociationIndices())) {
      if (group.size() == 1) {
        outer[group[0]] = indices[i];
        outerExtent[group[0]] = extent[i];
        continue;
      }
      // A run of elements may cross from one row to the next.
      if (extent[i] != 1)
        return false;
      AffineExpr rest = indices[i];
      for (unsigned k = group.size(); k-- > 0;) {
        int64_t size = shape[group[k]];
        // Nothing is left for dimensions of one element.
        bool isLast = llvm::all_of(llvm::ArrayRef(group).take_front(k),
                                   [&](int64_t d) { return shape[d] == 1; });
        if (isLast) {
          outer[group[k]] = rest;
          for (unsigned o = 0; o != k; ++o)
            outer[group[o]] = getAffineConstantExpr(0, builder.context);
          break;
        } else {
          if (ShapedType::isDynamic(size) || size <= 0)
            return false;
          outer[group[k]] = rest % size;
          rest = rest.floorDiv(size);
        }
      }
    }
    indices = outer;
    extent = outerExtent;
    return true;
  }
};
} // namespace

Access throughViews(const Access &access) {
  Access result = access;
  if (!access.isAffine() || access.memref == access.base)
    return result;
  ViewResolver resolver(access);
  Value memref = access.memref;
  while (Operation *op = memref.getDefiningOp()) {
    Value source = getViewSource(op);
    if (!source || !isa<MemRefType>(source.getType()))
      break;
    auto sourceType = cast<MemRefType>(source.getType());
    bool isResolved = false;
    if (auto subview = dyn_cast<memref::SubViewOp>(op))
      isResolved = resolver.through(subview);
    else if (auto transpose = dyn_cast<memref::TransposeOp>(op))
      isResolved = resolver.through(transpose);
    else if (auto expand = dyn_cast<memref::ExpandShapeOp>(op))
      isResolved = resolver.through(expand);
    else if (auto collapse = dyn_cast<memref::CollapseShapeOp>(op))
      isResolved = resolver.through(collapse);
    else if (isa<memref::CastOp, memref::MemorySpaceCastOp,
                 memref::AssumeAlignmentOp>(op))
      isResolved = sourceType.getRank() == int64_t(resolver.indices.size());
    if (!isResolved)
      break;
    memref = source;
    result.memref = source;
    result.map = resolver.builder.finish(resolver.indices);
    result.extent = resolver.extent;
  }
  return result;
}

/// Static strides and offset of a memref's type.
static bool getStaticLayout(MemRefType type, SmallVectorImpl<int64_t> &strides,
                            int64_t &offset) {
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         !ShapedType::isDynamic(offset) &&
         llvm::none_of(strides, ShapedType::isDynamic);
}

std::optional<AffineValueMap> getByteAddress(const Access &access) {
  if (!access.isAffine())
    return std::nullopt;
  auto type = cast<MemRefType>(access.memref.getType());
  std::optional<int64_t> bytes = getElementBytes(type.getElementType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!bytes || !getStaticLayout(type, strides, offset))
    return std::nullopt;
  ViewResolver resolver(access);
  AffineExpr address = getAffineConstantExpr(offset, resolver.builder.context);
  for (auto [index, stride] : llvm::zip_equal(resolver.indices, strides))
    address = address + index * stride;
  address = address * *bytes;
  // A layout counts from where its base, or the last memref.view, begins.
  for (Value memref = access.memref; memref != access.base;) {
    Operation *op = memref.getDefiningOp();
    Value source = getViewSource(op);
    if (auto view = dyn_cast<memref::ViewOp>(op)) {
      AffineExpr shift =
          resolver.builder.build(view.getByteShift(), resolver.fuel);
      if (!shift)
        return std::nullopt;
      address = address + shift;
    } else if (!isa<memref::SubViewOp, memref::CastOp,
                    memref::ReinterpretCastOp, memref::ExpandShapeOp,
                    memref::CollapseShapeOp, memref::TransposeOp,
                    memref::AssumeAlignmentOp>(op)) {
      return std::nullopt;
    }
    memref = source;
  }
  return resolver.builder.finish(address);
}

std::optional<int64_t> getStride(const Access &access, AffineForOp loop) {
  std::optional<int64_t> unit =
      getStridePerUnit(access, loop.getInductionVar());
  int64_t result;
  if (!unit || llvm::MulOverflow(*unit, loop.getStepAsInt(), result))
    return std::nullopt;
  return result;
}

Contiguity getContiguity(const Access &access, AffineForOp loop) {
  std::optional<int64_t> stride = getStride(access, loop);
  if (!stride)
    return Contiguity::Unknown;
  if (*stride == 0)
    return isInvariantTo(access, loop.getInductionVar()) ? Contiguity::Invariant
                                                         : Contiguity::Strided;
  return *stride == 1 ? Contiguity::Contiguous : Contiguity::Strided;
}

//===----------------------------------------------------------------------===//
// Ranges and footprints
//===----------------------------------------------------------------------===//

namespace {
/// Constant interval arithmetic on affine expressions, with the intervals of
/// induction variables found from their loops' bounds.
struct Intervals {
  llvm::DenseMap<Value, std::optional<IndexRange>> known;

  using Range = std::optional<IndexRange>;

  static Range add(Range a, Range b) {
    IndexRange r;
    if (!a || !b || llvm::AddOverflow(a->min, b->min, r.min) ||
        llvm::AddOverflow(a->max, b->max, r.max))
      return std::nullopt;
    return r;
  }
  static Range scale(Range a, int64_t factor) {
    IndexRange r;
    if (!a || llvm::MulOverflow(a->min, factor, r.min) ||
        llvm::MulOverflow(a->max, factor, r.max))
      return std::nullopt;
    if (factor < 0)
      std::swap(r.min, r.max);
    return r;
  }

  Range of(AffineExpr expr, ValueRange operands, unsigned numDims) {
    if (auto c = dyn_cast<AffineConstantExpr>(expr))
      return IndexRange{c.getValue(), c.getValue()};
    if (auto d = dyn_cast<AffineDimExpr>(expr))
      return of(operands[d.getPosition()]);
    if (auto s = dyn_cast<AffineSymbolExpr>(expr))
      return of(operands[numDims + s.getPosition()]);
    auto binary = cast<AffineBinaryOpExpr>(expr);
    Range lhs = of(binary.getLHS(), operands, numDims);
    if (expr.getKind() == AffineExprKind::Add)
      return add(lhs, of(binary.getRHS(), operands, numDims));
    auto rhs = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (!rhs)
      return std::nullopt;
    int64_t value = rhs.getValue();
    if (expr.getKind() == AffineExprKind::Mul)
      return scale(lhs, value);
    if (value <= 0)
      return std::nullopt;
    if (expr.getKind() == AffineExprKind::Mod) {
      if (lhs && lhs->min >= 0 && lhs->max < value)
        return lhs;
      return IndexRange{0, value - 1};
    }
    if (!lhs)
      return std::nullopt;
    if (expr.getKind() == AffineExprKind::FloorDiv)
      return IndexRange{llvm::divideFloorSigned(lhs->min, value),
                        llvm::divideFloorSigned(lhs->max, value)};
    return IndexRange{llvm::divideCeilSigned(lhs->min, value),
                      llvm::divideCeilSigned(lhs->max, value)};
  }

  Range of(Value value) {
    auto it = known.find(value);
    if (it != known.end())
      return it->second;
    known[value] = std::nullopt;
    Range range = compute(value);
    known[value] = range;
    return range;
  }

  Range compute(Value value) {
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return constant.getSignificantBits() > 64
                 ? Range()
                 : Range(IndexRange{constant.getSExtValue(),
                                    constant.getSExtValue()});
    AffineMap lower, upper;
    ValueRange lowerOperands, upperOperands;
    int64_t step;
    if (AffineForOp loop = getForInductionVarOwner(value)) {
      lower = loop.getLowerBoundMap();
      upper = loop.getUpperBoundMap();
      lowerOperands = loop.getLowerBoundOperands();
      upperOperands = loop.getUpperBoundOperands();
      step = loop.getStepAsInt();
    } else if (AffineParallelOp loop =
                   getAffineParallelInductionVarOwner(value)) {
      unsigned dim = cast<BlockArgument>(value).getArgNumber();
      lower = loop.getLowerBoundMap(dim);
      upper = loop.getUpperBoundMap(dim);
      lowerOperands = loop.getLowerBoundsOperands();
      upperOperands = loop.getUpperBoundsOperands();
      step = loop.getSteps()[dim];
    } else {
      return std::nullopt;
    }
    // The lower bound is the largest of the results, the upper the smallest.
    // A result of unknown range only makes the interval wider, as long as one
    // is known.
    std::optional<int64_t> min, max;
    bool lowerIsConstant = lower.getNumResults() == 1;
    for (AffineExpr expr : lower.getResults())
      if (Range r = of(expr, lowerOperands, lower.getNumDims())) {
        min = min ? std::max(*min, r->min) : r->min;
        lowerIsConstant &= r->min == r->max;
      } else {
        lowerIsConstant = false;
      }
    for (AffineExpr expr : upper.getResults())
      if (Range r = of(expr, upperOperands, upper.getNumDims()))
        max = max ? std::min(*max, r->max) : r->max;
    int64_t last;
    if (!min || !max || llvm::SubOverflow(*max, int64_t(1), last))
      return std::nullopt;
    int64_t span;
    if (step > 1 && lowerIsConstant && last >= *min &&
        !llvm::SubOverflow(last, *min, span))
      last = *min + span / step * step;
    // A loop that never runs: any interval is right, keep it well formed.
    return IndexRange{*min, std::max(*min, last)};
  }
};
} // namespace

std::optional<IndexRange> getConstantRange(Value iv) {
  return Intervals().of(iv);
}

SmallVector<std::optional<IndexRange>, 4>
getConstantRange(const Access &access) {
  SmallVector<std::optional<IndexRange>, 4> ranges;
  if (!access.memref)
    return ranges;
  if (!access.isAffine()) {
    if (auto type = dyn_cast<MemRefType>(access.memref.getType()))
      ranges.resize(type.getRank());
    return ranges;
  }
  Intervals intervals;
  AffineMap map = access.map.getAffineMap();
  for (auto [result, extent] :
       llvm::zip_equal(map.getResults(), access.extent)) {
    std::optional<IndexRange> range =
        intervals.of(result, access.map.getOperands(), map.getNumDims());
    if (range && llvm::AddOverflow(range->max, extent - 1, range->max))
      range = std::nullopt;
    ranges.push_back(range);
  }
  return ranges;
}

bool isInBounds(const Access &access) {
  if (!access.isAffine())
    return false;
  auto ranges = getConstantRange(access);
  auto type = cast<MemRefType>(access.memref.getType());
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d) || !ranges[d] || ranges[d]->min < 0 ||
        ranges[d]->max >= type.getDimSize(d))
      return false;
  return true;
}

namespace {
/// Lower and upper (inclusive) bound expressions while some variables move.
struct MovingBounds {
  Operation *outermost;
  AffineBuilder builder;

  bool moves(Value iv) const {
    Operation *owner = cast<BlockArgument>(iv).getOwner()->getParentOp();
    return outermost->isAncestor(owner);
  }

  /// The bound of `expr` over dims and symbols of `builder`, where every moving
  /// variable is replaced by the end of its range. `upper` picks which end.
  AffineExpr bound(AffineExpr expr, bool upper, unsigned depth = 0) {
    if (depth > 32)
      return {};
    // Innermost first: a bound may name variables further out.
    Operation *innermost = nullptr;
    unsigned dim = 0;
    for (auto [i, iv] : llvm::enumerate(builder.dims)) {
      if (!expr.isFunctionOfDim(i) || !moves(iv))
        continue;
      Operation *owner = cast<BlockArgument>(iv).getOwner()->getParentOp();
      if (!innermost || innermost->isAncestor(owner)) {
        innermost = owner;
        dim = i;
      }
    }
    if (!innermost)
      return expr;
    std::optional<int64_t> coefficient = coefficientOf(expr, dim);
    if (!coefficient)
      return {};
    AffineExpr end = endOf(builder.dims[dim], (*coefficient > 0) == upper);
    if (!end)
      return {};
    // Adding the difference instead of substituting keeps linear terms apart.
    AffineExpr d = getAffineDimExpr(dim, builder.context);
    AffineExpr rest = simplify(expr - d * *coefficient, builder.dims.size(),
                               builder.symbols.size());
    if (rest.isFunctionOfDim(dim))
      return {};
    return bound(rest + end * *coefficient, upper, depth + 1);
  }

  /// First or last value of an induction variable.
  AffineExpr endOf(Value iv, bool last) {
    AffineMap map;
    ValueRange operands;
    if (AffineForOp loop = getForInductionVarOwner(iv)) {
      map = last ? loop.getUpperBoundMap() : loop.getLowerBoundMap();
      operands =
          last ? loop.getUpperBoundOperands() : loop.getLowerBoundOperands();
    } else if (AffineParallelOp loop = getAffineParallelInductionVarOwner(iv)) {
      unsigned dim = cast<BlockArgument>(iv).getArgNumber();
      map = last ? loop.getUpperBoundMap(dim) : loop.getLowerBoundMap(dim);
      operands =
          last ? loop.getUpperBoundsOperands() : loop.getLowerBoundsOperands();
    }
    if (!map || map.getNumResults() != 1)
      return {};
    unsigned fuel = maxAffineSteps;
    AffineExpr expr = builder.buildAll(map, operands, fuel).front();
    if (!expr)
      return {};
    return last ? expr - 1 : expr;
  }
};
} // namespace

std::optional<AffineRange> getAffineRange(const Access &access,
                                          Operation *outermostMoving) {
  if (!access.isAffine())
    return std::nullopt;
  AffineMap map = access.map.getAffineMap();
  MovingBounds bounds{
      outermostMoving,
      {map.getContext(),
       SmallVector<Value, 8>(
           access.map.getOperands().take_front(map.getNumDims())),
       SmallVector<Value, 8>(
           access.map.getOperands().drop_front(map.getNumDims()))}};
  SmallVector<AffineExpr> lower, upper;
  for (auto [result, extent] :
       llvm::zip_equal(map.getResults(), access.extent)) {
    for (Value iv : bounds.builder.dims)
      if (!isAffineInductionVar(iv))
        return std::nullopt;
    AffineExpr low = bounds.bound(result, false);
    AffineExpr high = low ? bounds.bound(result, true) : AffineExpr();
    if (!high)
      return std::nullopt;
    lower.push_back(low);
    upper.push_back(high + extent);
  }
  AffineRange range;
  unsigned numDims = bounds.builder.dims.size();
  unsigned numSymbols = bounds.builder.symbols.size();
  for (auto [low, high] : llvm::zip_equal(lower, upper)) {
    range.lower.push_back(AffineMap::get(numDims, numSymbols,
                                         simplify(low, numDims, numSymbols)));
    range.upper.push_back(AffineMap::get(numDims, numSymbols,
                                         simplify(high, numDims, numSymbols)));
  }
  range.operands.assign(bounds.builder.dims.begin(), bounds.builder.dims.end());
  range.operands.append(bounds.builder.symbols);
  return range;
}

namespace {
/// A box of elements of one memref: `lower` relative to common symbols and
/// fixed variables, constant size.
struct Box {
  Value memref;
  SmallVector<AffineExpr, 4> lower;
  SmallVector<Value, 8> operands;
  SmallVector<int64_t, 4> size;
  /// In place of a box: how many elements at most, which data choose.
  std::optional<uint64_t> elements;
};
} // namespace

template <typename T>
static uint64_t saturatingProduct(ArrayRef<T> factors, uint64_t product = 1) {
  for (T factor : factors)
    product = llvm::SaturatingMultiply(product, uint64_t(factor));
  return product;
}

/// How often `op` runs while `loop` does, where all loops around it say so.
static std::optional<uint64_t> countRuns(Operation *op, Operation *loop) {
  uint64_t runs = 1;
  for (Operation *at = op;; at = at->getParentOp()) {
    std::optional<uint64_t> trips;
    if (auto inner = dyn_cast<AffineForOp>(at)) {
      trips = getTripCount(inner);
    } else if (auto inner = dyn_cast<AffineParallelOp>(at)) {
      if (std::optional<SmallVector<uint64_t, 4>> counts = getTripCounts(inner))
        trips = saturatingProduct(ArrayRef(*counts));
    } else if (at == op || isa<AffineIfOp, scf::IfOp>(at)) {
      trips = 1;
    }
    if (!trips || __builtin_mul_overflow(runs, *trips, &runs))
      return std::nullopt;
    if (at == loop)
      return runs;
  }
}

/// The box an access touches while `loop` runs, clipped to the memref's shape.
/// Sizes only, where the place is not known.
static std::optional<Box> getBox(const Access &access, Operation *loop) {
  auto type = access.memref ? dyn_cast<MemRefType>(access.memref.getType())
                            : MemRefType();
  if (!type)
    return std::nullopt;
  Box box{access.memref, {}, {}, {}, std::nullopt};
  if (access.isIndirect && !access.isWhole) {
    // Each time other elements, as many as it moves at once.
    if (std::optional<uint64_t> runs = countRuns(access.op, loop)) {
      box.elements = saturatingProduct(ArrayRef(access.extent), *runs);
      if (type.hasStaticShape())
        box.elements =
            std::min(*box.elements, saturatingProduct(type.getShape()));
      return box;
    }
  }
  std::optional<AffineRange> range = getAffineRange(access, loop);
  for (unsigned d = 0, e = type.getRank(); d != e; ++d) {
    std::optional<int64_t> size;
    if (range) {
      AffineExpr extent = simplify(
          range->upper[d].getResult(0) - range->lower[d].getResult(0),
          range->upper[d].getNumDims(), range->upper[d].getNumSymbols());
      if (auto constant = dyn_cast<AffineConstantExpr>(extent))
        size = std::max<int64_t>(0, constant.getValue());
    }
    if (!type.isDynamicDim(d))
      size = size ? std::min(*size, type.getDimSize(d)) : type.getDimSize(d);
    if (!size)
      return std::nullopt;
    box.size.push_back(*size);
    if (range)
      box.lower.push_back(range->lower[d].getResult(0));
  }
  if (range)
    box.operands = range->operands;
  return box;
}

/// Joins `other` into `box` if their places differ by constants and the box
/// around both has sizes.
static bool joinBoxes(Box &box, const Box &other) {
  if (box.elements || other.elements || box.memref != other.memref ||
      box.operands != other.operands || box.lower.size() != box.size.size() ||
      other.lower.size() != other.size.size())
    return false;
  Box joined = box;
  for (unsigned d = 0, e = box.size.size(); d != e; ++d) {
    auto shift = dyn_cast<AffineConstantExpr>(other.lower[d] - box.lower[d]);
    int64_t end;
    if (!shift || llvm::AddOverflow(shift.getValue(), other.size[d], end))
      return false;
    int64_t begin = std::min<int64_t>(0, shift.getValue());
    if (shift.getValue() < 0)
      joined.lower[d] = other.lower[d];
    if (llvm::SubOverflow(std::max(box.size[d], end), begin, joined.size[d]))
      return false;
  }
  box = std::move(joined);
  return true;
}

std::optional<uint64_t> getFootprintBytes(ArrayRef<Access> accesses,
                                          Operation *loop) {
  SmallVector<Box, 8> boxes;
  for (const Access &access : accesses) {
    if (!loop->isAncestor(access.op))
      continue;
    std::optional<Box> box = getBox(access, loop);
    if (!box)
      return std::nullopt;
    if (llvm::none_of(boxes, [&](Box &b) { return joinBoxes(b, *box); }))
      boxes.push_back(std::move(*box));
  }
  uint64_t total = 0;
  for (const Box &box : boxes) {
    auto type = cast<MemRefType>(box.memref.getType());
    std::optional<int64_t> bytes = getElementBytes(type.getElementType());
    if (!bytes)
      return std::nullopt;
    uint64_t product = *bytes;
    if (__builtin_mul_overflow(product, box.elements.value_or(1), &product))
      return std::nullopt;
    for (auto [d, size] : llvm::enumerate(box.size)) {
      // A joined box may exceed the memref, an artefact of the join.
      int64_t clipped =
          type.isDynamicDim(d) ? size : std::min(size, type.getDimSize(d));
      if (__builtin_mul_overflow(product, uint64_t(clipped), &product))
        return std::nullopt;
    }
    if (__builtin_add_overflow(total, product, &total))
      return std::nullopt;
  }
  return total;
}

} // namespace polynest
