//===- DeferNans.cpp - maxima and minima with one instruction a vector ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: in a loop that carries vectors of `arith.maximumf` or `minimumf`,
// compares plainly, and keeps apart what a plain comparison forgets: a mark in
// each lane that saw a NaN, and the sign bits of all values. Both go into the
// result once, behind the loop. Accumulators that are combined there share
// them. Legal when: the accumulator is used by that operation alone. The result
// is the same: NaN if there was one, else the extreme; and if that is a zero,
// then for a maximum a positive one unless all signs were negative, as every
// other number is below (IEEE 754-2019, 9.6). Profitable always: with NaN and
// the sign of zero in each step an operation is five instructions on x86, four
// of them one after the other; so it is three, of which one waits for the last
// step.
// What remains of maxima with the constant +0 (rectifiers that are clamped) is
// a plain comparison, which gives NaN for NaN and a zero as it is, and a sum
// with +0, which makes that zero a positive one. Legal always. Profitable where
// the target has no instruction that keeps both: it would be three, one of them
// a comparison into a mask. Limits: vectors of f32 and f64. Cost: linear in
// operations.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Conversion/MathEmitter.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace polynest {
#define GEN_PASS_DEF_DEFERNANS
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-defer-nans"

using namespace mlir;

namespace polynest {

static constexpr llvm::StringLiteral passName = "defer-nans";

namespace {
/// One value that a loop carries through maxima or minima.
struct Chain {
  unsigned position; // among the values that the loop carries
  Operation *step;   // in the loop
  Value value;       // what the step compares the accumulator with
};

/// Chains whose results are combined by the same operation behind the loop.
struct Group {
  SmallVector<Chain, 8> chains;
  /// In their order; the last one's result is that of the group.
  SmallVector<Operation *, 8> combining;
};
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

static bool isExtreme(Operation *op) {
  if (!isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp>(op))
    return false;
  auto type = dyn_cast<VectorType>(op->getResult(0).getType());
  return type && type.getRank() == 1 && !type.isScalable() &&
         (type.getElementType().isF32() || type.getElementType().isF64());
}

static SmallVector<Chain> findChains(scf::ForOp loop) {
  SmallVector<Chain> chains;
  for (auto [position, argument, yielded] :
       llvm::enumerate(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    Operation *step = yielded.getDefiningOp();
    if (!isExtreme(step) || step->getBlock() != loop.getBody() ||
        !yielded.hasOneUse() || !argument.hasOneUse() ||
        *argument.user_begin() != step)
      continue;
    Value other = step->getOperand(0) == argument ? step->getOperand(1)
                                                  : step->getOperand(0);
    chains.push_back({unsigned(position), step, other});
  }
  return chains;
}

/// Follows the results of the chains through the operations that combine them.
static SmallVector<Group, 2> formGroups(scf::ForOp loop,
                                        ArrayRef<Chain> chains) {
  llvm::MapVector<Value, Group> groups;
  SmallVector<Operation *> pending;
  auto follow = [&](Value root) {
    if (root.hasOneUse())
      pending.push_back(*root.user_begin());
  };
  for (const Chain &chain : chains) {
    Value result = loop.getResult(chain.position);
    groups[result] = {{chain}, {}};
    follow(result);
  }
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (op->getBlock() != loop->getBlock() || !isExtreme(op))
      continue;
    auto *left = groups.find(op->getOperand(0));
    auto *right = groups.find(op->getOperand(1));
    if (left == groups.end() || right == groups.end() || left == right ||
        left->second.chains.front().step->getName() != op->getName() ||
        right->second.chains.front().step->getName() != op->getName())
      continue;
    Group merged = std::move(left->second), other = std::move(right->second);
    llvm::append_range(merged.chains, other.chains);
    llvm::append_range(merged.combining, other.combining);
    merged.combining.push_back(op);
    groups.erase(op->getOperand(0));
    groups.erase(op->getOperand(1));
    groups[op->getResult(0)] = std::move(merged);
    follow(op->getResult(0));
  }
  SmallVector<Group, 2> found;
  for (auto &[root, group] : groups) {
    llvm::sort(group.chains, [](const Chain &a, const Chain &b) {
      return a.step->isBeforeInBlock(b.step);
    });
    found.push_back(std::move(group));
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// The larger or smaller one; `b` where they are equal or one is NaN.
static Num choose(Num a, Num b, bool isMaximum) {
  return select(isMaximum ? greater(a, b) : less(a, b), a, b);
}

/// Sign bits that all have, for a maximum, or that any has.
static Num mergeSigns(Num a, Num b, bool isMaximum) {
  return isMaximum ? a & b : a | b;
}

static Emitter emitterOf(OpBuilder &builder, Location loc, Type type) {
  return Emitter(builder, loc, type,
                 cast<VectorType>(type).getElementType().isF64());
}

/// The signs of the values that the chains start from, and marks where one of
/// them is NaN.
static std::pair<Value, Value> makeStart(OpBuilder &builder, scf::ForOp loop,
                                         const Group &group) {
  const Chain &first = group.chains.front();
  Emitter e = emitterOf(builder, loop.getLoc(), first.value.getType());
  bool isMaximum = isa<arith::MaximumFOp>(first.step);
  Num signs, marks = e.i(0);
  for (const Chain &chain : group.chains) {
    Num start{&e, loop.getInits()[chain.position]};
    signs =
        signs.emitter ? mergeSigns(signs, bits(start), isMaximum) : bits(start);
    DenseFPElementsAttr constant;
    bool isNumber =
        matchPattern(start.value, m_Constant(&constant)) &&
        llvm::none_of(constant, [](const APFloat &x) { return x.isNaN(); });
    if (!isNumber)
      marks = select(isNan(start), e.i(~uint64_t(0)), marks);
  }
  return {signs.value, marks.value};
}

/// Makes the steps of a group plain. `signs` and `marks` are what the loop
/// carries besides; gives what it yields for them.
static std::pair<Value, Value> easeSteps(const Group &group, Value signs,
                                         Value marks) {
  bool isMaximum = isa<arith::MaximumFOp>(group.chains.front().step);
  Value waiting;
  for (const Chain &chain : group.chains) {
    OpBuilder builder(chain.step);
    Location loc = chain.step->getLoc();
    Emitter e = emitterOf(builder, loc, chain.value.getType());
    Num value{&e, chain.value};
    bool isFirst = chain.step->getOperand(0) == chain.value;
    Num old{&e, chain.step->getOperand(isFirst ? 1 : 0)};
    Num next = choose(value, old, isMaximum);
    chain.step->getResult(0).replaceAllUsesWith(next.value);
    bool isLast = &chain == &group.chains.back();
    if (!waiting && !isLast) {
      waiting = chain.value;
    } else {
      // Two values at once, in one question for NaN.
      Num other = waiting ? Num{&e, waiting} : value;
      waiting = {};
      Num pair = mergeSigns(bits(other), bits(value), isMaximum);
      signs = mergeSigns({&e, signs}, pair, isMaximum).value;
      Num isNan = compare(arith::CmpFPredicate::UNO, other, value);
      marks = select(isNan, e.i(~uint64_t(0)), Num{&e, marks}).value;
    }
    chain.step->erase();
  }
  return {signs, marks};
}

/// Puts signs and marks into the value.
static Value patch(OpBuilder &builder, Location loc, Value value, Value signs,
                   Value marks) {
  Emitter e = emitterOf(builder, loc, value.getType());
  Num plain{&e, value};
  Num zero = real(Num{&e, signs} & e.i(uint64_t(1) << (e.width() - 1)));
  Num number = select(equal(plain, 0), zero, plain);
  Num isMarked =
      e.make<arith::CmpIOp>(arith::CmpIPredicate::slt, marks, e.i(0).value);
  return select(isMarked, std::numeric_limits<double>::quiet_NaN(), number)
      .value;
}

/// Combines the results of a group plainly, and patches what comes out.
static void finish(const Group &group, scf::ForOp loop, Value signs,
                   Value marks) {
  Value root = loop.getResult(group.chains.front().position);
  OpBuilder builder(loop->getContext());
  builder.setInsertionPointAfter(loop);
  for (Operation *op : group.combining) {
    builder.setInsertionPoint(op);
    Emitter e = emitterOf(builder, op->getLoc(), op->getResult(0).getType());
    root = choose({&e, op->getOperand(0)}, {&e, op->getOperand(1)},
                  isa<arith::MaximumFOp>(op))
               .value;
    op->getResult(0).replaceAllUsesWith(root);
    builder.setInsertionPointAfter(op);
    op->erase();
  }
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : root.getUses())
    uses.push_back(&use);
  Value patched = patch(builder, loop.getLoc(), root, signs, marks);
  for (OpOperand *use : uses)
    use->set(patched);
}

static void apply(scf::ForOp loop, ArrayRef<Group> groups) {
  IRRewriter rewriter(loop);
  SmallVector<Value> inits;
  for (const Group &group : groups) {
    auto [signs, marks] = makeStart(rewriter, loop, group);
    inits.append({signs, marks});
  }
  auto ease = [&](OpBuilder &, Location, ArrayRef<BlockArgument> carried) {
    SmallVector<Value> yielded;
    for (auto [index, group] : llvm::enumerate(groups)) {
      auto [signs, marks] =
          easeSteps(group, carried[2 * index], carried[2 * index + 1]);
      yielded.append({signs, marks});
    }
    return yielded;
  };
  unsigned first = loop.getNumResults();
  FailureOr<LoopLikeOpInterface> made = loop.replaceWithAdditionalYields(
      rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, ease);
  auto eased = cast<scf::ForOp>(made->getOperation());
  for (auto [index, group] : llvm::enumerate(groups))
    finish(group, eased, eased.getResult(first + 2 * index),
           eased.getResult(first + 2 * index + 1));
}

/// What the maximum is taken of beside the constant +0; null where that is no
/// operand.
static Value findBesideZero(arith::MaximumFOp op) {
  for (unsigned i = 0; i < 2; ++i)
    if (matchPattern(op->getOperand(i), m_PosZeroFloat()))
      return op->getOperand(1 - i);
  return {};
}

/// Takes the maximum of a value and +0 by a plain comparison. A zero comes out
/// of it as it is: the sum with +0 makes it a positive one.
static void compareWithZero(arith::MaximumFOp op, Value value) {
  OpBuilder builder(op);
  Emitter e = emitterOf(builder, op.getLoc(), op.getType());
  Num larger = choose(e.c(0), {&e, value}, /*isMaximum=*/true);
  op.replaceAllUsesWith((larger + 0).value);
  op.erase();
}

namespace {
struct DeferNansPass : impl::DeferNansBase<DeferNansPass> {
  using DeferNansBase::DeferNansBase;

  LogicalResult initialize(MLIRContext *context) override {
    return checkUnsigned(context, "vector-registers", vectorRegisters, 8, 256);
  }

  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      SmallVector<Chain> chains = findChains(loop);
      if (chains.empty())
        continue;
      SmallVector<Group, 2> groups = formGroups(loop, chains);
      unsigned carried = loop.getNumResults() + 2 * groups.size();
      // Two for a value and what is computed from it.
      if (carried + 2 > vectorRegisters) {
        ++numDeclined;
        remark(RemarkKind::Declined, loop.getLoc(), passName,
               "the loop would carry more than registers hold")
            << arg("carried", carried);
        continue;
      }
      remark(RemarkKind::Applied, loop.getLoc(), passName,
             "extremes compared plainly")
          << arg("chains", chains.size()) << arg("groups", groups.size());
      numApplied += chains.size();
      apply(loop, groups);
    }
    if (exactExtremes)
      return;
    getOperation().walk([&](arith::MaximumFOp op) {
      Value value = isExtreme(op) ? findBesideZero(op) : Value();
      if (!value)
        return;
      compareWithZero(op, value);
      ++numApplied;
    });
  }
};
} // namespace

} // namespace polynest
