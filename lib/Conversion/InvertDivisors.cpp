//===- InvertDivisors.cpp - divide by what a loop does not change ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: in a loop, vectors that are divided by one scalar from outside of it
// are multiplied by its inverse, which is computed once, and corrected, so that
// the quotient is the same to the last bit. A question for all vectors at once
// asks whether the numbers are in the range where that holds; the other branch
// divides.
// Legal because: with y = RN(1/b) and z = RN(1/b - y), q = RN(x y + RN(x z)) is
// one of the two neighbours of x/b, x - q b is exact, and RN(q + (x - q b) y)
// is RN(x/b) (P. Markstein, "Computation of elementary functions on the IBM
// RISC System/6000 processor", 1990; N. Brisebarre, J.-M. Muller, S. K. Raina,
// "Accelerating correctly rounded floating-point division when the divisor is
// known in advance", 2004). Nothing underflows or overflows in the range that
// is asked for. Profitable when: the loop runs a few times. A division unit
// takes one vector in 3 to 16 cycles and is not pipelined in full; the four
// operations that replace it are. Limits: vectors of f32 and f64 directly in a
// loop; the divisor is a scalar put into all lanes. Some vectors of f32 are
// left to the divider, as many as keep it as busy as the units that multiply:
// on a Zen 4, whose divider takes a vector in 6 cycles and whose units an FMA
// in one, two of four, which then take 3 cycles each for 4.5. Zeros,
// infinities, NaN and numbers beyond 2^+-100 (f32) take the other branch. Cost:
// linear in operations.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Conversion/MathEmitter.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace polynest {
#define GEN_PASS_DEF_INVERTDIVISORS
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-invert-divisors"

using namespace mlir;

namespace polynest {

static constexpr llvm::StringLiteral passName = "invert-divisors";

/// Vectors that are asked about at once: so many wait in registers.
static constexpr size_t mostAtOnce = 4;
/// Vectors from which the inverse and its parts pay.
static constexpr int64_t leastVectors = 8;
/// Multiplications and multiply-adds in place of a division.
static constexpr double operationsFor = 4;
/// Divisions that stay.
static constexpr llvm::StringLiteral keptName = "polynest.divided";

namespace {
/// Divisions of one block by one scalar, none of which needs another's result.
struct Group {
  scf::ForOp loop;
  Value divisor;
  SmallVector<arith::DivFOp, 4> divisions;
};

/// Binary exponents for which the quotient comes out: of dividends (from minus
/// to plus) and of divisors.
struct Range {
  int64_t dividend, divisor;
};

/// The options, with units as there.
struct DividerCost {
  unsigned vectorWidthBits, fmaPorts, divideCycles;
};
} // namespace

// With e(x) >= -100 and |e(b)| <= 20 the quotient has at least e = -121, so
// that x z, some 2^-24 of it, is off by 2^-6 of the quotient's last place at
// most, and x - q b, a multiple of 2^(e(x) - 47), is a subnormal number at
// least. Likewise for f64 with 53 bits.
static Range rangeOf(bool isDouble) {
  return isDouble ? Range{900, 60} : Range{100, 20};
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// The scalar that `divisor` has in all lanes, if it is from outside the loop.
static Value findScalar(Value divisor, scf::ForOp loop) {
  auto splat = divisor.getDefiningOp<vector::BroadcastOp>();
  if (!splat || !isa<FloatType>(splat.getSource().getType()) ||
      !loop.isDefinedOutsideOfLoop(splat.getSource()))
    return {};
  return splat.getSource();
}

static bool isVectorDivision(arith::DivFOp op) {
  auto type = dyn_cast<VectorType>(op.getType());
  return type && type.getRank() == 1 && !type.isScalable() &&
         (type.getElementType().isF32() || type.getElementType().isF64());
}

/// True if `value` is there before `op`.
static bool isBefore(Value value, Operation *op) {
  Operation *definition = value.getDefiningOp();
  return !definition || definition->getBlock() != op->getBlock() ||
         definition->isBeforeInBlock(op);
}

static SmallVector<Group> findGroups(func::FuncOp function) {
  SmallVector<Group> groups;
  // The group of a block and divisor that is still open.
  llvm::DenseMap<std::tuple<Block *, Value, Type>, size_t> open;
  function.walk([&](arith::DivFOp op) {
    auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
    if (!loop || !isVectorDivision(op) || op->hasAttr(keptName))
      return;
    Value scalar = findScalar(op.getRhs(), loop);
    if (!scalar)
      return;
    auto [place, isNew] =
        open.try_emplace({op->getBlock(), scalar, op.getType()}, groups.size());
    if (!isNew) {
      Group &group = groups[place->second];
      if (group.divisions.size() < mostAtOnce &&
          isBefore(op.getLhs(), group.divisions.front())) {
        group.divisions.push_back(op);
        return;
      }
      place->second = groups.size();
    }
    groups.push_back({loop, scalar, {op}});
  });
  return groups;
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// How many of a group are left to the divider: the number with which it and
/// the units of multiply-adds are done first, the larger of two such, as what
/// is left asks nothing.
static size_t countLeft(Group &group, const DividerCost &cost) {
  auto type = cast<VectorType>(group.divisions.front().getType());
  if (cost.divideCycles == 0 || !type.getElementType().isF32())
    return 0;
  double registers =
      std::max(1.0, double(type.getNumElements()) * 32 / cost.vectorWidthBits);
  double division = registers * cost.divideCycles;
  double product = registers * operationsFor / cost.fmaPorts;
  size_t count = group.divisions.size(), best = 0;
  auto cyclesWith = [&](size_t left) {
    return std::max(double(left) * division, double(count - left) * product);
  };
  for (size_t left = 1; left <= count; ++left)
    if (cyclesWith(left) <= cyclesWith(best))
      best = left;
  return best;
}

/// True unless the loop is known to divide a few vectors only.
static bool pays(Group &group) {
  auto bound = [](Value value) { return getConstantIntValue(value); };
  scf::ForOp loop = group.loop;
  std::optional<int64_t> first = bound(loop.getLowerBound()),
                         last = bound(loop.getUpperBound()),
                         step = bound(loop.getStep());
  if (!first || !last || !step || *step <= 0)
    return true;
  int64_t vectors = int64_t(group.divisions.size());
  return *last > *first &&
         llvm::divideCeil(uint64_t(*last) - uint64_t(*first),
                          uint64_t(*step)) >=
             uint64_t(llvm::divideCeil(leastVectors, vectors));
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

namespace {
/// What a loop needs of a divisor b: b, y and z in all lanes, and the number
/// that the patterns of dividends, moved so that the range begins at the
/// smallest integer, are below.
struct Inverse {
  Value negated, high, low, limit;
};
} // namespace

static Inverse invert(OpBuilder &builder, Location loc, Value divisor,
                      VectorType type) {
  bool isDouble = type.getElementType().isF64();
  Range range = rangeOf(isDouble);
  Emitter scalar(builder, loc, divisor.getType(), isDouble);
  Num b{&scalar, divisor};
  Num high = 1.0 / b;
  Num low = fma(-b, high, 1) * high;
  Num isInside = notOf(less(abs(b), std::ldexp(1.0, int(-range.divisor)))) &
                 notOf(greater(abs(b), std::ldexp(1.0, int(range.divisor)))) &
                 notOf(isNan(b));
  uint64_t least = uint64_t(1) << (scalar.width() - 1);
  uint64_t span = uint64_t(2 * range.dividend) << (scalar.fraction() + 1);
  Num limit = select(isInside, scalar.i(least + span), scalar.i(least));
  auto splat = [&](Num value) {
    return vector::BroadcastOp::create(
               builder, loc, type.clone(value.value.getType()), value.value)
        .getResult();
  };
  return {splat(-b), splat(high), splat(low), splat(limit)};
}

/// The pattern of a dividend without its sign, moved so that the range begins
/// at the smallest integer.
static Num movedPattern(Num x) {
  const Emitter &e = *x.emitter;
  uint64_t begin = uint64_t(e.bias() - rangeOf(e.isDouble).dividend)
                   << (e.fraction() + 1);
  Num pattern = bits(x);
  return pattern + pattern + e.i((uint64_t(1) << (e.width() - 1)) - begin);
}

static void apply(Group &group, const Inverse &inverse) {
  arith::DivFOp first = group.divisions.front();
  OpBuilder builder(first);
  Location loc = first.getLoc();
  auto type = cast<VectorType>(first.getType());
  Emitter e(builder, loc, type, type.getElementType().isF64());
  Num most;
  for (arith::DivFOp op : group.divisions) {
    Num moved = movedPattern({&e, op.getLhs()});
    most =
        most.emitter ? e.make<arith::MaxSIOp>(most.value, moved.value) : moved;
  }
  Value areInside = vector::ReductionOp::create(
      builder, loc, vector::CombiningKind::AND,
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, most.value,
                            inverse.limit));
  SmallVector<Type> types(group.divisions.size(), type);
  auto branch = scf::IfOp::create(builder, loc, types, areInside,
                                  /*withElseRegion=*/true);
  OpBuilder multiply = branch.getThenBodyBuilder();
  OpBuilder divide = branch.getElseBodyBuilder();
  Emitter inside(multiply, loc, type, e.isDouble);
  Num negated{&inside, inverse.negated}, high{&inside, inverse.high},
      low{&inside, inverse.low};
  SmallVector<Value> fast, slow;
  for (arith::DivFOp op : group.divisions) {
    Num x{&inside, op.getLhs()};
    Num near = fma(x, high, x * low);
    fast.push_back(fma(fma(near, negated, x), high, near).value);
    slow.push_back(
        arith::DivFOp::create(divide, loc, op.getLhs(), op.getRhs()));
  }
  scf::YieldOp::create(multiply, loc, fast);
  scf::YieldOp::create(divide, loc, slow);
  for (auto [op, result] :
       llvm::zip_equal(group.divisions, branch.getResults())) {
    op.getResult().replaceAllUsesWith(result);
    op.erase();
  }
}

namespace {
struct InvertDivisorsPass : impl::InvertDivisorsBase<InvertDivisorsPass> {
  using InvertDivisorsBase::InvertDivisorsBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (failed(checkUnsigned(context, "vector-width-bits", vectorWidthBits, 64,
                             2048)) ||
        failed(checkUnsigned(context, "fma-ports", fmaPorts, 1, 16)))
      return failure();
    return checkUnsigned(context, "divide-cycles", divideCycles, 0, 256);
  }

  void runOnOperation() override {
    DividerCost cost = {vectorWidthBits, fmaPorts, divideCycles};
    llvm::DenseMap<std::tuple<Operation *, Value, Type>, Inverse> inverses;
    for (Group &group : findGroups(getOperation())) {
      Location loc = group.divisions.front().getLoc();
      if (!pays(group)) {
        ++numDeclined;
        remark(RemarkKind::Declined, loc, passName,
               "the loop divides a few vectors only");
        continue;
      }
      size_t left = countLeft(group, cost);
      for (arith::DivFOp op : ArrayRef(group.divisions).take_front(left))
        op->setAttr(keptName, UnitAttr::get(&getContext()));
      group.divisions.erase(group.divisions.begin(),
                            group.divisions.begin() + left);
      if (group.divisions.empty()) {
        ++numDeclined;
        remark(RemarkKind::Declined, loc, passName, "the divider is as fast")
            << arg("divide-cycles", unsigned(divideCycles));
        continue;
      }
      auto type = cast<VectorType>(group.divisions.front().getType());
      auto [place, isNew] = inverses.try_emplace(
          {group.loop.getOperation(), group.divisor, type});
      if (isNew) {
        OpBuilder builder(group.loop);
        place->second =
            invert(builder, group.loop.getLoc(), group.divisor, type);
      }
      remark(RemarkKind::Applied, loc, passName, "divisor inverted once")
          << arg("divisions", group.divisions.size()) << arg("left", left);
      apply(group, place->second);
      numApplied += group.divisions.size();
    }
  }
};
} // namespace

} // namespace polynest
