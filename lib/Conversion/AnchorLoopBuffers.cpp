//===- AnchorLoopBuffers.cpp - carried tensors stay in one buffer ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: writes each tensor that an iteration of scf.for or scf.while makes anew
// into the buffer that carried it before, by a
// bufferization.materialize_in_destination of the yielded tensor in the loop's
// argument.
// Legal when: both have the same shape, static or proven to be equal by where
// sizes come from and by assertions in front of the loop.
// Profitable: otherwise each iteration allocates, and nothing is freed before
// the entry returns; and later stages know nothing about buffers that change
// from iteration to iteration. Tensors that operations make by overwriting the
// argument lie in its buffer already. Arguments that trade places are copied
// too, through a temporary: bufferization takes buffers that change places for
// one and then finds conflicts that it cannot resolve. Limits: sizes that while
// loops carry, and while loops that compute carried tensors in their condition,
// still allocate. Cost: linear in operations, times the length of the chains
// behind a size, which is bounded.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Analysis/Sizes.h"
#include "Conversion/TensorShapes.h"
#include "Support/Remark.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace polynest {
#define GEN_PASS_DEF_ANCHORLOOPBUFFERS
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-anchor-loop-buffers"

using namespace mlir;

namespace polynest {

static constexpr StringLiteral kPass = "anchor-loop-buffers";

/// A yielded tensor and the loop argument that it is to be written to.
struct Anchor {
  OpOperand *yielded;
  Value argument;
};

namespace {
/// Finds what to anchor, and knows which sizes are equal.
class Anchors {
public:
  /// What an assertion says holds from here on.
  void assume(cf::AssertOp assertion) { facts.assume(assertion); }
  void visit(scf::ForOp loop, SmallVectorImpl<Anchor> &anchors);
  void visit(scf::WhileOp loop, SmallVectorImpl<Anchor> &anchors);

private:
  bool hasSameSizes(Value a, Value b);
  bool wantsAnchor(Value yielded, Value argument);

  SizeFacts facts;
};
} // namespace

bool Anchors::hasSameSizes(Value a, Value b) {
  auto type = cast<RankedTensorType>(a.getType());
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d) && !(facts.of(a, d) == facts.of(b, d)))
      return false;
  return true;
}

/// Whether a copy of `yielded` to `argument` is needed and allowed.
bool Anchors::wantsAnchor(Value yielded, Value argument) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  if (!type || yielded == argument || yielded.getType() != type)
    return false;
  // What overwrites the argument is in its buffer, or in a copy of it where
  // the argument is still read; an anchor would only add a conflict.
  return !overwrites(yielded, argument) && hasSameSizes(yielded, argument);
}

void Anchors::visit(scf::ForOp loop, SmallVectorImpl<Anchor> &anchors) {
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [operand, argument] :
       llvm::zip(yield->getOpOperands(), loop.getRegionIterArgs()))
    if (wantsAnchor(operand.get(), argument))
      anchors.push_back({&operand, argument});
}

/// In a while loop the buffer of carried value i is known in the body as the
/// argument to which the condition forwards it.
void Anchors::visit(scf::WhileOp loop, SmallVectorImpl<Anchor> &anchors) {
  scf::YieldOp yield = loop.getYieldOp();
  scf::ConditionOp condition = loop.getConditionOp();
  for (OpOperand &operand : yield->getOpOperands()) {
    Value carried = loop.getBeforeArguments()[operand.getOperandNumber()];
    auto forwarded = llvm::find(condition.getArgs(), carried);
    if (forwarded == condition.getArgs().end())
      continue;
    Value argument =
        loop.getAfterArguments()[forwarded - condition.getArgs().begin()];
    if (wantsAnchor(operand.get(), argument))
      anchors.push_back({&operand, argument});
  }
}

/// Arguments that trade places are read before either is overwritten.
static void keepOldValue(const Anchor &anchor) {
  auto other = dyn_cast<BlockArgument>(anchor.yielded->get());
  auto argument = cast<BlockArgument>(anchor.argument);
  if (!other || other.getOwner() != argument.getOwner())
    return;
  Operation *yield = anchor.yielded->getOwner();
  OpBuilder builder(yield);
  // A copy has the sizes of what it copies.
  Value copy = bufferization::AllocTensorOp::create(
      builder, yield->getLoc(), cast<RankedTensorType>(other.getType()),
      ValueRange(), other);
  anchor.yielded->set(copy);
}

static void apply(const Anchor &anchor) {
  Operation *yield = anchor.yielded->getOwner();
  OpBuilder builder(yield);
  auto copy = bufferization::MaterializeInDestinationOp::create(
      builder, yield->getLoc(), anchor.argument.getType(),
      anchor.yielded->get(), anchor.argument);
  anchor.yielded->set(copy.getResult());
}

namespace {
struct AnchorLoopBuffersPass
    : impl::AnchorLoopBuffersBase<AnchorLoopBuffersPass> {
  void runOnOperation() override {
    Anchors collector;
    // In program order. Inner loops come before those around them: whether an
    // outer one needs an anchor depends on them.
    SmallVector<Operation *> work;
    getOperation()->walk([&](Operation *op) {
      bool carriesTensor =
          llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
      // An assertion in a branch says nothing about what is outside.
      if ((isa<scf::ForOp, scf::WhileOp>(op) && carriesTensor) ||
          (isa<cf::AssertOp>(op) && isa<func::FuncOp>(op->getParentOp())))
        work.push_back(op);
    });
    if (work.empty())
      markAllAnalysesPreserved();
    for (Operation *op : work) {
      if (auto assertion = dyn_cast<cf::AssertOp>(op))
        collector.assume(assertion);
      else
        anchorTensors(op, collector);
    }
  }

  void anchorTensors(Operation *op, Anchors &collector) {
    SmallVector<Anchor> anchors;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      collector.visit(loop, anchors);
    else
      collector.visit(cast<scf::WhileOp>(op), anchors);
    for (const Anchor &anchor : anchors)
      keepOldValue(anchor);
    for (const Anchor &anchor : anchors)
      apply(anchor);
    if (anchors.empty()) {
      ++numDeclined;
      remark(RemarkKind::Declined, op->getLoc(), kPass,
             "carried tensors stay in place or may change shape");
      return;
    }
    numApplied += anchors.size();
    remark(RemarkKind::Applied, op->getLoc(), kPass,
           "carried tensors are written to their buffers")
        << arg("tensors", int64_t(anchors.size()));
  }
};
} // namespace

} // namespace polynest
