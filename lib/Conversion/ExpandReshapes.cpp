//===- ExpandReshapes.cpp - loops for dimensions joined before ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: frontends join dimensions for a matrix product and part them again
// behind it (batch and head of attention, batch and row of a linear layer). An
// operation of linalg whose result is parted, and an operand of which was
// joined in the same way, gets a loop for each part: operand and result then
// keep the shape that their neighbours have, and nests line up. Pointwise
// operations between the product and the reshape follow. Legal when: the parted
// dimension of the result is a loop that the operands name alone (maps are
// projected permutations), and no body asks for its index: the loop over n = n1
// * n2 points visits the same points as two loops. Profitable: where an operand
// was joined alike, as a reshape goes away at both ends. The last dimension
// stays whole: it runs in lanes. Limits: one result; operations with several
// uses stay. Cost: linear in operations.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Analysis/Sizes.h"
#include "Support/Remark.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace polynest {
#define GEN_PASS_DEF_EXPANDRESHAPES
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-expand-reshapes"

using namespace mlir;

namespace polynest {

static constexpr StringLiteral kPass = "expand-reshapes";

/// How far back a dimension that was joined is looked for.
static constexpr unsigned mostSteps = 6;

namespace {
/// The sizes of a dimension's parts; one where it stays whole.
using Parts = SmallVector<OpFoldResult, 2>;
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

static bool canExpand(linalg::LinalgOp op) {
  return op && op.hasPureTensorSemantics() && op->getNumResults() == 1 &&
         op->hasOneUse() && op->getNumRegions() == 1 &&
         llvm::all_of(
             op.getIndexingMapsArray(),
             [](AffineMap map) { return map.isProjectedPermutation(); }) &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getNumResults() !=
             0 &&
         !op.hasIndexSemantics();
}

/// Parts of each loop, from those of the result's dimensions.
static SmallVector<Parts> getLoopParts(linalg::LinalgOp op,
                                       ArrayRef<Parts> ofResult) {
  SmallVector<Parts> parts(op.getNumLoops());
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (auto [d, loop] : llvm::enumerate(map.getResults()))
    parts[cast<AffineDimExpr>(loop).getPosition()] = ofResult[d];
  return parts;
}

static SmallVector<Parts> getOperandParts(AffineMap map,
                                          ArrayRef<Parts> ofLoops) {
  SmallVector<Parts> parts;
  for (AffineExpr loop : map.getResults())
    parts.push_back(ofLoops[cast<AffineDimExpr>(loop).getPosition()]);
  return parts;
}

static bool isParted(ArrayRef<Parts> parts) {
  return llvm::any_of(parts, [](const Parts &list) { return list.size() > 1; });
}

/// What parts make of a type.
static RankedTensorType expandType(RankedTensorType type,
                                   ArrayRef<Parts> parts) {
  SmallVector<int64_t> shape;
  for (auto [d, list] : llvm::enumerate(parts)) {
    if (list.size() <= 1)
      shape.push_back(type.getDimSize(d));
    else
      for (OpFoldResult size : list)
        shape.push_back(
            getConstantIntValue(size).value_or(ShapedType::kDynamic));
  }
  return RankedTensorType::get(shape, type.getElementType());
}

static SmallVector<ReassociationIndices> getGroups(ArrayRef<Parts> parts) {
  SmallVector<ReassociationIndices> groups;
  int64_t next = 0;
  for (const Parts &list : parts) {
    groups.emplace_back();
    for (size_t i = 0; i < std::max<size_t>(list.size(), 1); ++i)
      groups.back().push_back(next++);
  }
  return groups;
}

/// True if sizes that are not constant are proven to be those of the tensor.
/// One in a group is: all parts together are as many as before.
static bool haveSizesOf(SizeFacts &facts, Value tensor, ArrayRef<Parts> parts) {
  int64_t d = 0;
  for (const Parts &list : parts) {
    int64_t unknown = llvm::count_if(
        list, [](OpFoldResult size) { return !getConstantIntValue(size); });
    for (OpFoldResult size : list) {
      if (unknown > 1 && !getConstantIntValue(size) &&
          !(facts.of(size) == facts.of(tensor, d)))
        return false;
      ++d;
    }
    d += list.empty();
  }
  return true;
}

/// The tensor that was joined into `value`, if its parts are these.
static Value findJoined(SizeFacts &facts, Value value, ArrayRef<Parts> parts) {
  auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
  if (!collapse || collapse.getReassociationIndices() != getGroups(parts) ||
      collapse.getSrcType() !=
          expandType(cast<RankedTensorType>(value.getType()), parts) ||
      !haveSizesOf(facts, collapse.getSrc(), parts))
    return {};
  return collapse.getSrc();
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// True if the value was joined of these parts, or is computed point by point,
/// or by a product, from something that was.
static bool wasJoined(SizeFacts &facts, Value value, ArrayRef<Parts> parts,
                      unsigned steps) {
  if (!isParted(parts) || steps == 0)
    return false;
  if (findJoined(facts, value, parts))
    return true;
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!canExpand(op) || isa<linalg::FillOp>(op))
    return false;
  SmallVector<Parts> loops = getLoopParts(op, parts);
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    return wasJoined(facts, input->get(),
                     getOperandParts(op.getMatchingIndexingMap(input), loops),
                     steps - 1);
  });
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// An operand in its parts.
static Value expandOperand(OpBuilder &builder, SizeFacts &facts, Location loc,
                           Value value, ArrayRef<Parts> parts) {
  if (!isParted(parts))
    return value;
  if (Value joined = findJoined(facts, value, parts))
    return joined;
  auto type = expandType(cast<RankedTensorType>(value.getType()), parts);
  SmallVector<OpFoldResult> sizes;
  for (auto [d, list] : llvm::enumerate(parts))
    if (list.size() > 1)
      llvm::append_range(sizes, list);
    else
      sizes.push_back(tensor::getMixedSize(builder, loc, value, d));
  if (value.getDefiningOp<tensor::EmptyOp>())
    return tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
  if (auto fill = value.getDefiningOp<linalg::FillOp>()) {
    Value empty =
        tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
    return linalg::FillOp::create(builder, loc, fill.getInputs()[0], empty)
        .getResult(0);
  }
  return tensor::ExpandShapeOp::create(builder, loc, type, value,
                                       getGroups(parts), sizes);
}

static AffineMap expandMap(AffineMap map, ArrayRef<Parts> loops) {
  SmallVector<unsigned> first;
  unsigned next = 0;
  for (const Parts &list : loops) {
    first.push_back(next);
    next += std::max<size_t>(list.size(), 1);
  }
  SmallVector<AffineExpr> results;
  for (AffineExpr loop : map.getResults()) {
    unsigned d = cast<AffineDimExpr>(loop).getPosition();
    for (unsigned i = 0; i < std::max<size_t>(loops[d].size(), 1); ++i)
      results.push_back(getAffineDimExpr(first[d] + i, map.getContext()));
  }
  return AffineMap::get(next, 0, results, map.getContext());
}

/// Writes the operation with a loop for each part; lists the operands that are
/// reshaped now.
static Value expandLoops(OpBuilder &builder, SizeFacts &facts,
                         linalg::LinalgOp op, ArrayRef<Parts> ofResult,
                         SmallVectorImpl<Value> &reshaped) {
  Location loc = op.getLoc();
  SmallVector<Parts> loops = getLoopParts(op, ofResult);
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    maps.push_back(expandMap(map, loops));
    operands.push_back(expandOperand(builder, facts, loc, operand.get(),
                                     getOperandParts(map, loops)));
    if (operands.back() != operand.get())
      reshaped.push_back(operands.back());
  }
  SmallVector<utils::IteratorType> kinds;
  for (auto [kind, list] : llvm::zip_equal(op.getIteratorTypesArray(), loops))
    kinds.append(std::max<size_t>(list.size(), 1), kind);
  Value init = operands.pop_back_val();
  auto generic = linalg::GenericOp::create(builder, loc, init.getType(),
                                           operands, init, maps, kinds);
  IRMapping mapping;
  op->getRegion(0).cloneInto(&generic.getRegion(), mapping);
  return generic.getResult(0);
}

/// What is known of sizes in front of all reshapes of the function.
static SizeFacts collectFacts(func::FuncOp function) {
  SizeFacts facts;
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return facts;
  for (Operation &op : function.getBody().front()) {
    if (auto assertion = dyn_cast<cf::AssertOp>(op))
      facts.assume(assertion);
    if (op.walk([](tensor::ExpandShapeOp) {
            return WalkResult::interrupt();
          }).wasInterrupted())
      break;
  }
  return facts;
}

namespace {
struct ExpandReshapesPass : impl::ExpandReshapesBase<ExpandReshapesPass> {
  void runOnOperation() override {
    getOperation()->walk(
        [&](func::FuncOp function) { expandFunction(function); });
  }

  void expandFunction(func::FuncOp function) {
    SizeFacts facts = collectFacts(function);
    SmallVector<tensor::ExpandShapeOp> work;
    function.walk(
        [&](tensor::ExpandShapeOp expand) { work.push_back(expand); });
    while (!work.empty()) {
      tensor::ExpandShapeOp expand = work.pop_back_val();
      if (!expandSource(facts, expand, work))
        ++numDeclined;
    }
  }

  bool expandSource(SizeFacts &facts, tensor::ExpandShapeOp expand,
                    SmallVectorImpl<tensor::ExpandShapeOp> &work) {
    auto op = expand.getSrc().getDefiningOp<linalg::LinalgOp>();
    if (!canExpand(op) || isa<linalg::FillOp>(op))
      return false;
    SmallVector<OpFoldResult> sizes = expand.getMixedOutputShape();
    SmallVector<ReassociationIndices> groups = expand.getReassociationIndices();
    SmallVector<Parts> parts;
    for (const ReassociationIndices &group : groups) {
      auto isLong = [&](int64_t d) {
        return expand.getResultType().getDimSize(d) != 1;
      };
      // The last dimension, and parts of which but one are 1, stay whole.
      if (parts.size() + 1 == groups.size() ||
          llvm::count_if(group, isLong) < 2)
        parts.emplace_back();
      else
        parts.push_back(
            Parts(llvm::map_range(group, [&](int64_t d) { return sizes[d]; })));
    }
    if (!wasJoined(facts, expand.getSrc(), parts, mostSteps))
      return false;
    OpBuilder builder(expand);
    SmallVector<Value> reshaped;
    Value result = expandLoops(builder, facts, op, parts, reshaped);
    for (Value value : reshaped)
      if (auto inner = value.getDefiningOp<tensor::ExpandShapeOp>())
        work.push_back(inner);
    remark(RemarkKind::Applied, op.getLoc(), kPass,
           "loops for the parts of a dimension")
        << arg("op", op->getName().getStringRef());
    ++numApplied;
    expand.replaceAllUsesWith(expandRest(builder, expand, result, parts));
    expand.erase();
    op.erase();
    return true;
  }

  /// What of the reshape is left: groups that stayed whole.
  Value expandRest(OpBuilder &builder, tensor::ExpandShapeOp expand,
                   Value value, ArrayRef<Parts> parts) {
    if (value.getType() == expand.getType())
      return value;
    SmallVector<ReassociationIndices> groups;
    for (auto [group, list] :
         llvm::zip_equal(expand.getReassociationIndices(), parts)) {
      if (list.empty()) {
        groups.push_back(group);
        continue;
      }
      for (int64_t d : group)
        groups.push_back({d});
    }
    return tensor::ExpandShapeOp::create(builder, expand.getLoc(),
                                         expand.getResultType(), value, groups,
                                         expand.getMixedOutputShape());
  }
};
} // namespace

} // namespace polynest
