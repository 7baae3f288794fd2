//===- MatchReshapes.cpp - reshapes of unknown sizes, by groups -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: frontends that do not know sizes reshape by way of one dimension. Such
// a chain of reshapes becomes one reshape of what it began with, in which each
// group of dimensions becomes another of as many elements: nothing at all where
// the sizes are the same in the end, a plain collapse or expand where groups
// join or part, both where they are cut anew.
// Legal when: for each group, the sizes before and after are proven to have the
// same product, by where they come from and by assertions that stand in front:
// elements are counted in one order in each reshape of the chain, hence in all.
// All groups or none: what is left over could differ where another size is 0.
// Profitable when: fewer reshapes are left, or as many of smaller groups.
// Limits: static shapes, which other patterns fold, and tensors of rank 0.
// Cost: linear in reshapes, times the length of their chains.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Analysis/Sizes.h"
#include "Support/Remark.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace polynest {
#define GEN_PASS_DEF_MATCHRESHAPES
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-match-reshapes"

using namespace mlir;

namespace polynest {

static constexpr StringLiteral kPass = "match-reshapes";

/// How far back a chain is followed.
static constexpr unsigned kLongestChain = 8;

namespace {
/// Dimensions before and after with the same number of elements.
struct Group {
  ReassociationIndices from, to;
};

/// A chain of reshapes as one.
struct Match {
  Value source;
  SmallVector<Group> groups;
};

/// What a chain costs: reshapes of which memory is cut anew, and the dimensions
/// in between, of which many are better.
struct Cost {
  unsigned reshapes;
  int64_t between;

  bool operator<(const Cost &other) const {
    return reshapes != other.reshapes ? reshapes < other.reshapes
                                      : between > other.between;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// What the operation reshapes; null for others.
static Value getReshaped(Operation *op) {
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::ReshapeOp,
          tensor::CastOp>(op) &&
      isa<RankedTensorType>(op->getOperand(0).getType()) &&
      isa<RankedTensorType>(op->getResult(0).getType()))
    return op->getOperand(0);
  return {};
}

/// The smallest groups with equal products, none if some are not proven equal.
static std::optional<SmallVector<Group>> matchSizes(ArrayRef<SizeProduct> from,
                                                    ArrayRef<SizeProduct> to) {
  SmallVector<Group> groups;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    Group group = {{int64_t(i)}, {int64_t(j)}};
    std::optional<SizeProduct> before = from[i++], after = to[j++];
    while (before && after && !(*before == *after)) {
      bool takesFrom = isMultiple(*after, *before) || j == to.size();
      if (!takesFrom && !isMultiple(*before, *after))
        takesFrom = i < from.size();
      if (takesFrom ? i == from.size() : j == to.size())
        return std::nullopt;
      if (takesFrom) {
        group.from.push_back(i);
        before = multiply(*before, from[i++]);
      } else {
        group.to.push_back(j);
        after = multiply(*after, to[j++]);
      }
    }
    // Equal zeros say nothing about what they are products of.
    if (!before || !after || before->factor == 0)
      return std::nullopt;
    groups.push_back(std::move(group));
  }
  if (groups.empty())
    return std::nullopt;
  for (; i < from.size(); ++i) {
    if (!from[i].isUnit())
      return std::nullopt;
    groups.back().from.push_back(i);
  }
  for (; j < to.size(); ++j) {
    if (!to[j].isUnit())
      return std::nullopt;
    groups.back().to.push_back(j);
  }
  return groups;
}

/// True if the size is at hand where dimensions are parted.
static bool hasSize(Operation *op, int64_t d) {
  return !cast<RankedTensorType>(op->getResult(0).getType()).isDynamicDim(d) ||
         isa<tensor::ExpandShapeOp, tensor::ReshapeOp>(op);
}

static SmallVector<SizeProduct> getSizes(SizeFacts &facts, Value value) {
  SmallVector<SizeProduct> sizes;
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  for (int64_t d = 0; d < rank; ++d)
    sizes.push_back(facts.of(value, d));
  return sizes;
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

static Cost getCost(ArrayRef<Group> groups) {
  bool joins = llvm::any_of(
      groups, [](const Group &group) { return group.from.size() > 1; });
  bool parts = llvm::any_of(
      groups, [](const Group &group) { return group.to.size() > 1; });
  return {unsigned(joins) + unsigned(parts), int64_t(groups.size())};
}

/// The chain that is a match, from as far back as there is a better one.
static std::optional<Match> findMatch(SizeFacts &facts, Operation *op) {
  SmallVector<std::pair<Value, Cost>> chain;
  Cost cost = {0, INT64_MAX};
  for (Operation *at = op; at && chain.size() < kLongestChain;
       at = chain.back().first.getDefiningOp()) {
    Value source = getReshaped(at);
    if (!source)
      break;
    if (isa<tensor::ReshapeOp>(at)) {
      cost.reshapes += 2;
      cost.between = std::min<int64_t>(cost.between, 1);
    } else if (!isa<tensor::CastOp>(at)) {
      ++cost.reshapes;
      // Of a collapse and an expand, what stands in between has fewer.
      cost.between = std::min(
          {cost.between, cast<RankedTensorType>(source.getType()).getRank(),
           cast<RankedTensorType>(at->getResult(0).getType()).getRank()});
    }
    chain.push_back({source, cost});
  }
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<SizeProduct> to = getSizes(facts, op->getResult(0));
  for (auto &[source, before] : llvm::reverse(chain)) {
    auto sourceType = cast<RankedTensorType>(source.getType());
    if (sourceType.getRank() == 0 || type.getRank() == 0 ||
        (sourceType.hasStaticShape() && type.hasStaticShape()))
      continue;
    auto groups = matchSizes(getSizes(facts, source), to);
    if (!groups || !(getCost(*groups) < before))
      continue;
    bool hasSizes = llvm::all_of(*groups, [&](const Group &group) {
      return group.to.size() == 1 ||
             llvm::all_of(group.to, [&](int64_t d) { return hasSize(op, d); });
    });
    if (hasSizes)
      return Match{source, std::move(*groups)};
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// Size `d` of the result of an expand or a reshape.
static OpFoldResult getTargetSize(OpBuilder &builder, Operation *op,
                                  int64_t d) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!type.isDynamicDim(d))
    return builder.getIndexAttr(type.getDimSize(d));
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return expand.getMixedOutputShape()[d];
  Location loc = op->getLoc();
  Value shape = cast<tensor::ReshapeOp>(op).getShape();
  Value size;
  if (auto elements = shape.getDefiningOp<tensor::FromElementsOp>()) {
    size = elements.getElements()[d];
  } else {
    Value index = arith::ConstantIndexOp::create(builder, loc, d);
    size = tensor::ExtractOp::create(builder, loc, shape, index);
  }
  if (!size.getType().isIndex())
    size =
        arith::IndexCastOp::create(builder, loc, builder.getIndexType(), size);
  return size;
}

static Value castTo(OpBuilder &builder, Location loc, RankedTensorType type,
                    Value value) {
  return value.getType() == type
             ? value
             : tensor::CastOp::create(builder, loc, type, value).getResult();
}

static Value emitMatch(OpBuilder &builder, Operation *op, const Match &match) {
  Location loc = op->getLoc();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Value value = match.source;
  SmallVector<ReassociationIndices> joined, parted;
  for (const Group &group : match.groups) {
    joined.push_back(group.from);
    parted.push_back(group.to);
  }
  auto groupCount = int64_t(match.groups.size());
  auto sourceType = cast<RankedTensorType>(value.getType());
  if (sourceType.getRank() != groupCount)
    value = tensor::CollapseShapeOp::create(
        builder, loc,
        tensor::CollapseShapeOp::inferCollapsedType(sourceType, joined), value,
        joined);
  if (type.getRank() == groupCount)
    return castTo(builder, loc, type, value);
  value =
      castTo(builder, loc,
             tensor::CollapseShapeOp::inferCollapsedType(type, parted), value);
  SmallVector<OpFoldResult> sizes;
  for (auto [i, group] : llvm::enumerate(match.groups)) {
    // A size that is read from what is parted would be a use of it.
    if (!hasSize(op, group.to.front())) {
      sizes.push_back(tensor::getMixedSize(builder, loc, value, i));
      continue;
    }
    for (int64_t d : group.to)
      sizes.push_back(getTargetSize(builder, op, d));
  }
  return tensor::ExpandShapeOp::create(builder, loc, type, value, parted,
                                       sizes);
}

/// Erases the reshape, and what it reshaped if that was all it was for.
static void eraseChain(Operation *op) {
  while (op && op->use_empty()) {
    Value source = getReshaped(op);
    if (!source)
      return;
    op->erase();
    op = source.getDefiningOp();
  }
}

namespace {
struct MatchReshapesPass : impl::MatchReshapesBase<MatchReshapesPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.getBody().hasOneBlock())
      return;
    SizeFacts facts;
    // Erased at the end: what is known may name them.
    SmallVector<Operation *> replaced;
    for (Operation &top : function.getBody().front()) {
      if (auto assertion = dyn_cast<cf::AssertOp>(top))
        facts.assume(assertion);
      top.walk([&](Operation *op) {
        if (!isa<tensor::CastOp>(op) && getReshaped(op) && tryMatch(facts, op))
          replaced.push_back(op);
      });
    }
    for (Operation *op : llvm::reverse(replaced))
      eraseChain(op);
  }

  bool tryMatch(SizeFacts &facts, Operation *op) {
    std::optional<Match> match = findMatch(facts, op);
    if (!match) {
      ++numDeclined;
      return false;
    }
    OpBuilder builder(op);
    Value value = emitMatch(builder, op, *match);
    remark(RemarkKind::Applied, op->getLoc(), kPass,
           "a chain of reshapes became one")
        << arg("op", op->getName().getStringRef())
        << arg("groups", match->groups.size());
    op->getResult(0).replaceAllUsesWith(value);
    ++numApplied;
    return true;
  }
};
} // namespace

} // namespace polynest
