//===- RecomputeElements.cpp - compute few elements where they are read ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: where a private buffer is written whole and few elements of it are
// read, such as those that an index from data chooses, the expression of an
// element is put in place of each read. What the expression needs of the loops
// around the innermost one is kept in a buffer with an element for each of
// their iterations. The buffer and its stores are then unread;
// polynest-eliminate-buffers erases them.
// Legal when: the buffer has one store, each loop around which, up to where the
// buffer is made, sweeps a dimension of it; the reads come behind these loops;
// the expression consists of pure operations, of reads of memory that nobody
// writes, and of reads of other such buffers. Profitable when: a quarter of the
// elements or fewer are read, and a quarter or fewer values are kept. Limits:
// static shapes; indices of nested reads are loop variables and constants.
// Cost: operations of the expressions times the reads.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Aliasing.h"
#include "Support/Remark.h"
#include "Transforms/FilledBuffer.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace polynest {
#define GEN_PASS_DEF_RECOMPUTEELEMENTS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-recompute-elements"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "recompute-elements";

/// Operations of one element's expression, and depth of buffers in it.
static constexpr unsigned mostOperations = 64, mostBuffers = 8;
/// A part of the elements, and of the work, that reading them may be.
static constexpr uint64_t leastSaving = 4;

namespace {
/// Values of the loops' variables at the place of a read.
using Indices = llvm::DenseMap<Value, Value>;
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// A buffer of static size of which each dimension has a loop.
static std::optional<FilledBuffer> matchFilled(Value memref) {
  std::optional<FilledBuffer> filled = matchFilledBuffer(memref);
  auto type = cast<MemRefType>(memref.getType());
  if (!filled || !type.hasStaticShape() || !findSweeps(*filled) ||
      filled->loops.size() != size_t(type.getRank()))
    return std::nullopt;
  return filled;
}

namespace {
/// The expression of an element of `target`, written at one read of it. With a
/// null builder only asks whether that can be done, and what is to be kept.
class Recomputation {
public:
  Recomputation(FilledBuffer &target, func::FuncOp function)
      : target(target), function(function) {}

  /// False if the element cannot be computed at the reads.
  bool check();
  /// Values to keep, with the number of the target's loops around each.
  const llvm::MapVector<Value, unsigned> &getKept() const { return kept; }
  unsigned getOperations() const { return operations; }
  /// Makes the buffers of what is kept, before the target's loops.
  void keep();
  void replace(Operation *load);

private:
  /// The value in an iteration given by `indices` of the loops around `body`,
  /// in which it is computed.
  Value resolve(OpBuilder *builder, Value value, Block *body,
                const Indices &indices, unsigned depth);
  Value resolveLoad(OpBuilder *builder, AffineLoadOp load, Block *body,
                    const Indices &indices, unsigned depth);
  bool isNeverWritten(Value memref);

  FilledBuffer &target;
  func::FuncOp function;
  llvm::MapVector<Value, unsigned> kept;
  llvm::DenseMap<Value, Value> buffers;
  /// Values of the expression that is being written, in one iteration.
  llvm::DenseMap<Value, Value> known;
  unsigned operations = 0;
};
} // namespace

bool Recomputation::isNeverWritten(Value memref) {
  StorageKind kind = getStorageKind(memref);
  if (kind == StorageKind::Global)
    return true;
  // An input may lie where another one does that is written.
  return kind == StorageKind::ReadOnlyArgument &&
         llvm::none_of(function.getArguments(), [&](BlockArgument argument) {
           return isa<MemRefType>(argument.getType()) &&
                  getStorageKind(argument) == StorageKind::MutableArgument &&
                  mayAlias(argument, memref);
         });
}

/// A value that stands for "can be computed" while nothing is written.
static Value yes(Value value) { return value; }

Value Recomputation::resolve(OpBuilder *builder, Value value, Block *body,
                             const Indices &indices, unsigned depth) {
  if (auto index = indices.find(value); index != indices.end())
    return index->second;
  if (auto entry = known.find(value); entry != known.end())
    return entry->second;
  Operation *root = target.loops.front();
  Block *block = value.getParentBlock();
  Operation *definition = value.getDefiningOp();
  auto remember = [&](Value result) {
    if (result)
      known[value] = result;
    return result;
  };
  // Outside of all loops it is there.
  if (!root->isAncestor(block->getParentOp()) &&
      !(definition && root->isAncestor(definition))) {
    if (block == root->getBlock() || block->findAncestorOpInBlock(*root))
      return remember(value);
    // In another nest, which fills a buffer of the expression.
    if (block != body)
      return {};
  }
  if (definition && definition->hasTrait<OpTrait::ConstantLike>())
    return remember(builder ? builder->clone(*definition)->getResult(0)
                            : yes(value));
  if (block != body) {
    for (unsigned level = 0; level + 1 < target.loops.size(); ++level)
      if (target.loops[level].getBody() == block && definition &&
          MemRefType::isValidElementType(value.getType())) {
        if (!builder) {
          kept[value] = level + 1;
          return remember(yes(value));
        }
        SmallVector<Value> places;
        for (AffineForOp outer : ArrayRef(target.loops).take_front(level + 1))
          places.push_back(indices.lookup(outer.getInductionVar()));
        return remember(memref::LoadOp::create(*builder, value.getLoc(),
                                               buffers.lookup(value), places));
      }
    return {};
  }
  if (!definition || ++operations > mostOperations)
    return {};
  if (auto load = dyn_cast<AffineLoadOp>(definition))
    return remember(resolveLoad(builder, load, body, indices, depth));
  if (definition->getNumRegions() || !isPure(definition) ||
      isa<AffineApplyOp, AffineMinOp, AffineMaxOp>(definition))
    return {};
  IRMapping mapping;
  for (Value operand : definition->getOperands()) {
    Value there = resolve(builder, operand, body, indices, depth);
    if (!there)
      return {};
    mapping.map(operand, there);
  }
  if (!builder)
    return remember(yes(value));
  Operation *copy = builder->clone(*definition, mapping);
  return remember(copy->getResult(cast<OpResult>(value).getResultNumber()));
}

Value Recomputation::resolveLoad(OpBuilder *builder, AffineLoadOp load,
                                 Block *body, const Indices &indices,
                                 unsigned depth) {
  SmallVector<Access, 1> accesses;
  collectAccesses(load, accesses);
  if (accesses.size() != 1 || !accesses[0].isAffine())
    return {};
  const AffineValueMap &map = accesses[0].map;
  SmallVector<Value> places;
  for (AffineExpr expr : map.getAffineMap().getResults()) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      places.push_back(builder
                           ? arith::ConstantIndexOp::create(
                                 *builder, load.getLoc(), constant.getValue())
                                 .getResult()
                           : load.getMemRef());
      continue;
    }
    Value operand;
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      operand = map.getOperand(dim.getPosition());
    else if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      operand = map.getOperand(map.getNumDims() + symbol.getPosition());
    Value place =
        operand ? resolve(builder, operand, body, indices, depth) : Value();
    if (!place)
      return {};
    places.push_back(place);
  }
  if (isNeverWritten(load.getMemRef())) {
    if (!builder)
      return load.getResult();
    return memref::LoadOp::create(*builder, load.getLoc(), load.getMemRef(),
                                  places);
  }
  if (depth >= mostBuffers)
    return {};
  std::optional<FilledBuffer> filled = matchFilled(load.getMemRef());
  if (!filled || filled->memref == target.memref || !comesBehind(load, *filled))
    return {};
  // Loops around the buffer are those of the target, whose iteration is known.
  Indices inside = indices;
  for (auto [loop, d] : llvm::zip_equal(filled->loops, filled->dimOf))
    inside[loop.getInductionVar()] = places[d];
  // What is known is so in this iteration only.
  llvm::DenseMap<Value, Value> outside;
  std::swap(known, outside);
  Value result = resolve(builder, filled->store.getValueToStore(),
                         filled->store->getBlock(), inside, depth + 1);
  std::swap(known, outside);
  return result;
}

bool Recomputation::check() {
  Indices indices;
  for (AffineForOp loop : target.loops)
    indices[loop.getInductionVar()] = loop.getInductionVar();
  return bool(resolve(nullptr, target.store.getValueToStore(),
                      target.store->getBlock(), indices, 0));
}

void Recomputation::keep() {
  known.clear();
  for (auto [value, levels] : kept) {
    SmallVector<int64_t> shape;
    SmallVector<Value> places;
    for (AffineForOp loop : ArrayRef(target.loops).take_front(levels)) {
      shape.push_back(loop.getConstantUpperBound());
      places.push_back(loop.getInductionVar());
    }
    OpBuilder before(target.loops.front());
    auto type = MemRefType::get(shape, value.getType());
    buffers[value] =
        isa<memref::AllocOp>(target.memref.getDefiningOp())
            ? memref::AllocOp::create(before, value.getLoc(), type).getResult()
            : memref::AllocaOp::create(before, value.getLoc(), type)
                  .getResult();
    OpBuilder behind(value.getContext());
    behind.setInsertionPointAfterValue(value);
    AffineStoreOp::create(behind, value.getLoc(), value, buffers[value],
                          behind.getMultiDimIdentityMap(levels), places);
  }
}

void Recomputation::replace(Operation *load) {
  OpBuilder builder(load);
  SmallVector<Value> places;
  if (auto indirect = dyn_cast<memref::LoadOp>(load)) {
    places.assign(indirect.getIndices().begin(), indirect.getIndices().end());
  } else {
    auto direct = cast<AffineLoadOp>(load);
    SmallVector<OpFoldResult> operands =
        getAsOpFoldResult(direct.getMapOperands());
    AffineMap map = direct.getAffineMap();
    for (unsigned d = 0; d < map.getNumResults(); ++d)
      places.push_back(makeComposedAffineApply(builder, load->getLoc(),
                                               map.getSubMap({d}), operands));
  }
  Indices indices;
  for (auto [loop, d] : llvm::zip_equal(target.loops, target.dimOf))
    indices[loop.getInductionVar()] = places[d];
  known.clear();
  operations = 0;
  Value result = resolve(&builder, target.store.getValueToStore(),
                         target.store->getBlock(), indices, 0);
  load->getResult(0).replaceAllUsesWith(result);
  load->erase();
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// How often `op` runs for each time that `block` does.
static uint64_t countRuns(Operation *op, Block *block) {
  uint64_t runs = 1;
  for (Operation *parent = op->getParentOp(); op->getBlock() != block;
       op = parent, parent = op->getParentOp()) {
    if (auto loop = dyn_cast<AffineForOp>(parent))
      runs = saturatingMultiply(runs, estimateTrips(loop));
    else if (isa<LoopLikeOpInterface>(parent))
      runs = saturatingMultiply(runs, dynamicTrips);
  }
  return runs;
}

/// Why computing the read elements again does not pay, or an empty string.
static StringRef whyNot(const FilledBuffer &filled,
                        Recomputation &recomputation) {
  Block *block = filled.memref.getDefiningOp()->getBlock();
  uint64_t elements = countRuns(filled.store, block), reads = 0, kept = 0;
  for (Operation *load : filled.loads)
    reads = saturatingAdd(reads, countRuns(load, block));
  if (reads > elements / leastSaving)
    return "many elements are read";
  if (!recomputation.check())
    return "an element cannot be computed where it is read";
  for (auto [value, levels] : recomputation.getKept()) {
    uint64_t count = 1;
    for (AffineForOp loop : ArrayRef(filled.loops).take_front(levels))
      count = saturatingMultiply(count, estimateTrips(loop));
    kept = saturatingAdd(kept, count);
  }
  return kept > elements / leastSaving ? "too many values would be kept" : "";
}

namespace {
struct RecomputeElementsPass
    : impl::RecomputeElementsBase<RecomputeElementsPass> {
  using RecomputeElementsBase::RecomputeElementsBase;

  void runOnOperation() override {
    SmallVector<Value> allocations;
    getOperation().walk([&](Operation *op) {
      if (isa<memref::AllocOp, memref::AllocaOp>(op))
        allocations.push_back(op->getResult(0));
    });
    // From the end: what a read needed of another buffer is read there then.
    for (Value memref : llvm::reverse(allocations)) {
      std::optional<FilledBuffer> filled = matchFilled(memref);
      if (!filled || !llvm::all_of(filled->loads, [&](Operation *load) {
            return comesBehind(load, *filled);
          }))
        continue;
      Recomputation recomputation(*filled, getOperation());
      StringRef why = whyNot(*filled, recomputation);
      if (!why.empty()) {
        ++numDeclined;
        remark(RemarkKind::Declined, memref.getLoc(), passName, why);
        continue;
      }
      remark(RemarkKind::Applied, memref.getLoc(), passName,
             "elements computed where they are read")
          << arg("reads", filled->loads.size())
          << arg("kept", recomputation.getKept().size());
      recomputation.keep();
      for (Operation *load : filled->loads)
        recomputation.replace(load);
      ++numApplied;
    }
  }
};
} // namespace

} // namespace polynest
