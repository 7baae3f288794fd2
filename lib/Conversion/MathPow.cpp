// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/MathPow.cpp: powers and roots.
//
// |x|^y = 2^(y log2 |x|) for f32, computed in f64; e^(y log |x|) for f64 with
// the logarithm as a pair of numbers of some 68 bits, since its error is
// multiplied by up to 700. Signs and special values are selected afterwards.

#include "Conversion/MathBodies.h"
#include "Conversion/MathCoefficients.inc"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace polynest {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// x = 2^e m for normal x with sqrt(1/2) <= m < sqrt(2), in f64.
struct SplitNumber {
  Num e, m;
};

static SplitNumber splitDouble(Num x) {
  const Emitter &e = *x.emitter;
  constexpr uint64_t root = 0x3fe6a09e667f3bcdull, one = 0x3ff0000000000000ull;
  Num moved = bits(x) - e.i(root);
  Num m = real((moved & e.i((uint64_t(1) << 52) - 1)) + e.i(root));
  Num biased = shiftRight(moved + e.i(one), 52);
  Num exponent = real(biased | e.i(0x4330000000000000ull)) - (0x1p+52 + 1023);
  return {exponent, m};
}

/// What the signs and special values of a power depend on.
struct Exponent {
  Num isInteger, isOdd, isZero, isNan;
};

/// Applies signs and special values to the power of |x|.
static Num finishPow(Num x, Num magnitude, const Exponent &y) {
  const Emitter &e = *x.emitter;
  Num negative = select(y.isOdd, signBit(x), e.i(0));
  Num result = flip(magnitude, negative);
  Num invalid = less(x, 0) & greater(x, -kInfinity) & notOf(y.isInteger);
  invalid = invalid | isNan(x) | y.isNan;
  result = select(invalid, kNaN, result);
  return select(y.isZero | equal(x, 1), 1, result);
}

/// |x|^y in f64 arithmetic for x that came from f32; correct to some 2^-34.
static Num powOfSingle(Num magnitude, Num y) {
  SplitNumber parts = splitDouble(magnitude);
  Num f = parts.m - 1;
  Num log = fma(f, polynomial(f, kPowLog2), parts.e);
  log = select(equal(magnitude, 0), -kInfinity, log);
  log = select(equal(magnitude, kInfinity), kInfinity, log);
  // 1^y is 1 also for infinite y, where the product is NaN.
  Num product = select(equal(log, 0), log, y * log);
  product = atLeast(atMost(product, 200), -200);
  double shift = 0x1.8p+52 + 1023;
  Num shifted = product + shift;
  Num r = product - (shifted - shift);
  return polynomial(r, kPowExp2) * real(bits(shifted) << 52);
}

/// |x|^y in f64.
static Num powOfDouble(Num magnitude, Num y) {
  const Emitter &e = *magnitude.emitter;
  Num subnormal = less(magnitude, 0x1p-1022);
  SplitNumber parts =
      splitDouble(select(subnormal, magnitude * 0x1p+52, magnitude));
  Num exponent = parts.e - select(subnormal, 52, e.c(0));
  Num f = parts.m - 1;
  // s = f / (2 + f) as a pair.
  Num sum = parts.m + 1;
  Num sumLow = parts.m - (sum - 1);
  Num inverse = 1.0 / sum;
  Num s = f * inverse;
  Num rest = fma(-s, sumLow, fma(-s, sum, f));
  Num sLow = rest * inverse;
  // z = s^2, then log(m) = 2 s + s z (2/3 + z tail(z)).
  Pair z = twoProduct(s, s);
  Num zLow = fma(s + s, sLow, z.low);
  Num tail = z.high * polynomial(z.high, kPowLogTail);
  Pair w = fastTwoSum(e.c(kTwoThirds[0]), tail);
  Num wLow = w.low + kTwoThirds[1];
  Pair v = twoProduct(z.high, w.high);
  Num vLow = v.low + fma(z.high, wLow, zLow * w.high);
  Pair t = twoProduct(s, v.high);
  Num tLow = t.low + fma(s, vLow, sLow * v.high);
  Pair logM = fastTwoSum(s + s, t.high);
  Num logLow = logM.low + (tLow + (sLow + sLow));
  Pair scaled = twoProduct(exponent, e.c(kLn2F64[0]));
  Pair log = fastTwoSum(scaled.high, logM.high);
  Num low = log.low + (logLow + fma(exponent, kLn2F64[1], scaled.low));
  log = fastTwoSum(log.high, low);
  // A factor of 0 or infinity is known without the polynomial.
  Num high = select(equal(magnitude, 0), -kInfinity, log.high);
  high = select(equal(magnitude, kInfinity), kInfinity, high);
  Num product = select(equal(high, 0), high, y * high);
  Num productLow = fma(y, log.low, fma(y, log.high, -product));
  Num inRange = less(abs(product), 750) & less(abs(y), kInfinity);
  productLow = select(inRange, productLow, 0);
  product = atLeast(atMost(product, 710), -746);
  ScaledExp power = scaledExp(product);
  Num p = fma(power.p, productLow, power.p);
  return p * power.scale * power.scale;
}

/// x^y for a power known at compile time, or a null value.
static Num constantPow(Num x, double y) {
  if (y == 1)
    return x;
  if (y == 2)
    return x * x;
  if (y == 3)
    return x * x * x;
  if (y == -1)
    return 1.0 / x;
  // sqrt gives -0 and NaN where pow gives 0 and infinity.
  if (y == 0.5)
    return select(equal(x, -kInfinity), kInfinity, sqrt(x + 0.0));
  return {};
}

Num emitPow(Num x, Num y) {
  const Emitter &e = *x.emitter;
  APFloat known(0.0);
  if (matchPattern(y.value, m_ConstantFloat(&known))) {
    bool inexact;
    known.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                  &inexact);
    if (Num simple = constantPow(x, known.convertToDouble()); simple.value)
      return simple;
  }
  Num magnitude;
  if (e.isDouble) {
    magnitude = powOfDouble(abs(x), y);
  } else {
    Emitter wide = e.other(true);
    magnitude =
        convert(e, powOfSingle(convert(wide, abs(x)), convert(wide, y)));
  }
  Num half = y * 0.5;
  Num isInteger = equal(roundEven(y), y);
  Num isOdd = isInteger & notOf(equal(roundEven(half), half));
  return finishPow(x, magnitude, {isInteger, isOdd, equal(y, 0), isNan(y)});
}

Num emitPowInteger(Num x, Value power) {
  const Emitter &e = *x.emitter;
  APInt known;
  if (matchPattern(power, m_ConstantInt(&known)) &&
      known.getSignificantBits() <= 3)
    if (Num simple = constantPow(x, double(known.getSExtValue())); simple.value)
      return simple;
  Emitter wide = e.other(true);
  Type type = power.getType();
  if (getElementTypeOrSelf(type).isIndex()) {
    type = e.shaped(e.builder.getI64Type());
    power = arith::IndexCastOp::create(e.builder, e.loc, type, power);
  }
  auto constant = [&](uint64_t value) {
    Type element = getElementTypeOrSelf(type);
    APInt number =
        APInt(64, value).zextOrTrunc(element.getIntOrFloatBitWidth());
    return e.constant(type, IntegerAttr::get(element, number));
  };
  Num n = {&e, power};
  Num zero = constant(0);
  auto differs = [&](Num a) {
    return e.make<arith::CmpIOp>(arith::CmpIPredicate::ne, a.value, zero.value);
  };
  Num isOdd = differs(n & constant(1)), isZero = notOf(differs(n));
  Num always = notOf(isZero) | isZero;
  Num never = notOf(always);
  Num y = wide.make<arith::SIToFPOp>(wide.real(), power);
  Num magnitude = e.isDouble
                      ? powOfDouble(abs(x), y)
                      : convert(e, powOfSingle(convert(wide, abs(x)), y));
  return finishPow(x, magnitude, {always, isOdd, isZero, never});
}

Value emitIntegerPow(OpBuilder &builder, Location loc, Value base,
                     Value power) {
  Type type = base.getType();
  Type element = getElementTypeOrSelf(type);
  unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  auto constant = [&](const APInt &value) -> Value {
    TypedAttr attribute = IntegerAttr::get(element, value);
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, attribute);
    return arith::ConstantOp::create(builder, loc, type, attribute);
  };
  Value one = constant(APInt(width, 1));
  APInt known;
  if (matchPattern(power, m_ConstantInt(&known)) && !known.isNegative()) {
    // Squares and products by the bits of the power, lowest first.
    Value result = one, square = base;
    bool first = true;
    for (unsigned bit = 0, end = known.getActiveBits(); bit < end; ++bit) {
      if (bit)
        square = arith::MulIOp::create(builder, loc, square, square);
      if (!known[bit])
        continue;
      result =
          first ? square : arith::MulIOp::create(builder, loc, result, square);
      first = false;
    }
    return result;
  }
  Value zero = constant(APInt(width, 0));
  Value lower = arith::ConstantIndexOp::create(builder, loc, 0);
  Value upper = arith::ConstantIndexOp::create(builder, loc, width);
  Value step = arith::ConstantIndexOp::create(builder, loc, 1);
  auto isOdd = [&](OpBuilder &b, Value value) -> Value {
    Value low = arith::AndIOp::create(b, loc, value, one);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, low, zero);
  };
  auto loop = scf::ForOp::create(
      builder, loc, lower, upper, step, ValueRange{one, base, power},
      [&](OpBuilder &b, Location, Value, ValueRange state) {
        Value product = arith::MulIOp::create(b, loc, state[0], state[1]);
        Value result = arith::SelectOp::create(b, loc, isOdd(b, state[2]),
                                               product, state[0]);
        Value square = arith::MulIOp::create(b, loc, state[1], state[1]);
        // A width of 1 has no shift by one, and no second bit either.
        Value rest =
            width == 1
                ? zero
                : arith::ShRUIOp::create(b, loc, state[2], one).getResult();
        scf::YieldOp::create(b, loc, ValueRange{result, square, rest});
      });
  // Only 1 and -1 have integers as their negative powers.
  Value minusOne = constant(APInt::getAllOnes(width));
  auto is = [&](Value value) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, base,
                                 value);
  };
  Value alternating = arith::SelectOp::create(
      builder, loc, isOdd(builder, power), minusOne, one);
  Value inverse =
      arith::SelectOp::create(builder, loc, is(minusOne), alternating, zero);
  inverse = arith::SelectOp::create(builder, loc, is(one), one, inverse);
  Value negative = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::slt, power, zero);
  return arith::SelectOp::create(builder, loc, negative, inverse,
                                 loop.getResult(0));
}

//===----------------------------------------------------------------------===//
// Roots
//===----------------------------------------------------------------------===//

Num emitRsqrt(Num x) { return 1.0 / sqrt(x); }

/// The cube root in f64: a polynomial for the significand, then steps of
/// Halley's and, for all 53 bits, Newton's method.
static Num cbrtDouble(Num x, bool isSingle) {
  const Emitter &e = *x.emitter;
  Num magnitude = abs(x);
  Num normal = magnitude, shift = e.c(0);
  if (!isSingle) {
    Num subnormal = less(magnitude, 0x1p-1022);
    normal = select(subnormal, magnitude * 0x1p+54, magnitude);
    shift = select(subnormal, 18, e.c(0));
  }
  constexpr uint64_t low = (uint64_t(1) << 52) - 1;
  Num m = real((bits(normal) & e.i(low)) | e.i(0x3ff0000000000000ull));
  Num exponent =
      real(shiftRight(bits(normal), 52) | e.i(0x4330000000000000ull)) -
      (0x1p+52 + 1023);
  // exponent = 3 third + rest
  Num third = floor(fma(exponent, 1.0 / 3, 1.0 / 6));
  Num rest = fma(third, -3, exponent);
  Num one = equal(rest, 1), two = equal(rest, 2);
  Num a = m * select(two, 4, select(one, 2, e.c(1)));
  Num root = polynomial(m, kCbrt) *
             select(two, kCbrtOf4[0], select(one, kCbrtOf2[0], e.c(1)));
  Num cube = root * root * root;
  root = root * ((cube + a + a) / (cube + cube + a));
  if (!isSingle) {
    Pair square = twoProduct(root, root);
    Num excess = fma(square.low, root, fma(square.high, root, -a));
    root = root - excess / (square.high * 3);
  }
  double bias = 0x1.8p+52 + 1023;
  Num power = real(bits((third - shift) + bias) << 52);
  Num result = copySign(root * power, x);
  Num finite = greater(magnitude, 0) & less(magnitude, kInfinity);
  return select(finite, result, x);
}

Num emitCbrt(Num x) {
  if (x.emitter->isDouble)
    return cbrtDouble(x, false);
  Emitter wide = x.emitter->other(true);
  return convert(*x.emitter, cbrtDouble(convert(wide, x), true));
}

} // namespace polynest
