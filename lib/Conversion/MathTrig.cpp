// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/MathTrig.cpp: trigonometric functions and their inverses.
//
// sin and cos: x = n pi + r with |r| <= pi/2, one odd polynomial, sign from the
// parity of n. Up to a limit the reduction subtracts n times pi in three parts,
// each product exact inside an fma. Beyond it x/pi modulo 2 is summed exactly
// over pieces of 1/pi: the product with a piece is exact as one number or as a
// pair, and its whole even part is dropped by rounding. This needs no table
// look-up, so every lane runs the same arithmetic.

#include "Conversion/MathBodies.h"
#include "Conversion/MathCoefficients.inc"

namespace polynest {

#define TABLE(e, name)                                                         \
  ((e).isDouble ? llvm::ArrayRef<double>(name##F64)                            \
                : llvm::ArrayRef<double>(name##F32))

//===----------------------------------------------------------------------===//
// Reduction
//===----------------------------------------------------------------------===//

/// v modulo 2, in [-1, 1]; exact.
static Num moduloTwo(Num v) { return fma(roundEven(v * 0.5), -2, v); }

/// x / pi + start modulo 2 as a pair with high part in [-1, 1], in f64, for any
/// finite x beyond the limit of the plain reduction. NaN for infinite x.
static Pair halfTurns(Num x, bool fromSingle, double start) {
  const Emitter &e = *x.emitter;
  // Leading digits may cancel, so that the sum needs three numbers.
  Num high = e.c(start), middle = e.c(0), low = e.c(0);
  auto add = [&](Num v) {
    Pair upper = twoSum(high, moduloTwo(v));
    Pair lower = twoSum(middle, upper.low);
    high = upper.high;
    middle = lower.high;
    low = low + lower.low;
  };
  if (fromSingle) {
    // 24 bits times 29 bits fit into 53.
    for (double piece : kInversePi29)
      add(x * piece);
  } else {
    // Pieces are scaled up and x down, so that neither end underflows.
    Num scaled = x * 0x1p-200;
    for (double piece : kInversePi53) {
      Pair product = twoProduct(scaled, e.c(piece));
      add(product.high);
      add(product.low);
    }
  }
  Pair whole = fastTwoSum(moduloTwo(high), middle);
  return fastTwoSum(whole.high, whole.low + low);
}

/// pi times a pair of f64 numbers, rounded to f64.
static Num timesPi(Pair turns) {
  Num high = turns.high * kPiF64[0];
  Num low = fma(turns.high, kPiF64[0], -high);
  low = fma(turns.high, kPiF64[1], low);
  low = fma(turns.low, kPiF64[0], low);
  return high + low;
}

/// The largest argument of the plain reduction: beyond, n times the third part
/// of pi is no longer small against the smallest remainder.
static double plainLimit(const Emitter &e) {
  return e.isDouble ? 0x1p+30 : 0x1p+17;
}

/// x - n * unit * pi in three steps; `unit` is a power of two.
static Num subtractPi(Num x, Num n, double unit) {
  auto pi = TABLE(*x.emitter, kPi);
  Num r = x;
  for (double part : pi)
    r = fma(n, -part * unit, r);
  return r;
}

/// r in [-pi/2, pi/2] with sin(r) = sin(x + start pi), for x >= 0 and start 0
/// or 1/2.
static Num reduceHalfTurn(Num x, double start) {
  const Emitter &e = *x.emitter;
  double shift = roundingShift(e);
  double inverse = TABLE(e, kInversePi)[0];
  Num shifted =
      start == 0 ? fma(x, inverse, shift) : fma(x, inverse, start) + shift;
  Num n = shifted - shift;
  Num plain = subtractPi(x, start == 0 ? n : n - start, 1);
  // An odd n turns the sign.
  plain = flip(plain, bits(shifted) << (e.width() - 1));
  return rarely(greater(x, plainLimit(e)), plain, [&] {
    Emitter wide = e.other(true);
    Pair turns = halfTurns(convert(wide, x), !e.isDouble, start);
    Num one = copySign(wide.c(1), turns.high);
    Num outside = greater(abs(turns.high), 0.5);
    // sin(pi w) = sin(pi (+-1 - w))
    Pair folded = {select(outside, one - turns.high, turns.high),
                   select(outside, -turns.low, turns.low)};
    return convert(e, timesPi(folded));
  });
}

static Num sinReduced(Num r) {
  const Emitter &e = *r.emitter;
  Num z = r * r;
  Num sine = fma(r * z, polynomial(z, TABLE(e, kSin)), r);
  // Rounding may have passed 1.
  return atLeast(atMost(sine, 1), -1);
}

Num emitSin(Num x) {
  Num r = sinReduced(reduceHalfTurn(abs(x), 0));
  return flip(r, signBit(x));
}

Num emitCos(Num x) { return sinReduced(reduceHalfTurn(abs(x), 0.5)); }

/// tan in f64; `isSingle` if x came from f32, where shorter polynomials do.
static Num tanDouble(Num x, bool isSingle) {
  const Emitter &e = *x.emitter;
  double shift = roundingShift(e);
  Num magnitude = abs(x);
  Num large = greater(magnitude, plainLimit(e));
  Num shifted = fma(magnitude, 2 * kInversePiF64[0], shift);
  Num plain = subtractPi(magnitude, shifted - shift, 0.5);
  // The number of quarter turns counts by its parity alone.
  Num plainOdd = bits(shifted) << (e.width() - 1);
  Num r = rarely(large, plain, [&] {
    Pair turns = halfTurns(magnitude, isSingle, 0);
    Num quarters = roundEven(turns.high * 2);
    return timesPi(fastTwoSum(fma(quarters, -0.5, turns.high), turns.low));
  });
  Num odd = rarely(large, plainOdd, [&] {
    Pair turns = halfTurns(magnitude, isSingle, 0);
    return bits(fma(turns.high, 2, shift)) << (e.width() - 1);
  });
  Num z = r * r;
  Num sine = fma(r * z,
                 isSingle ? polynomial(z, kSinQuarterF32)
                          : polynomial(z, kSinQuarterF64),
                 r);
  Num cosine = fma(z * z,
                   isSingle ? polynomial(z, kCosQuarterF32)
                            : polynomial(z, kCosQuarterF64),
                   fma(z, -0.5, 1));
  // tan(r + pi/2) = -cos r / sin r
  Num isOdd = e.make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::ne,
                                          odd.value, e.i(0).value);
  Num top = select(isOdd, cosine, sine);
  Num bottom = select(isOdd, sine, cosine);
  return flip(top / bottom, odd ^ signBit(x));
}

Num emitTan(Num x) {
  bool isSingle = !x.emitter->isDouble;
  return inDouble(x, [&](Num x) { return tanDouble(x, isSingle); });
}

//===----------------------------------------------------------------------===//
// Inverses
//===----------------------------------------------------------------------===//

/// atan(top / bottom) for 0 <= top <= bottom, in [0, pi/4].
static Num atanRatio(Num top, Num bottom) {
  const Emitter &e = *top.emitter;
  if (!e.isDouble) {
    Num t = top / bottom;
    Num z = t * t;
    return fma(t * z, polynomial(z, kAtanF32), t);
  }
  // atan(t) = pi/4 + atan((t-1)/(t+1)) keeps the polynomial short.
  Num steep = greater(top, bottom * 0x1.a827999fcef32p-2);
  Num t =
      select(steep, top - bottom, top) / select(steep, top + bottom, bottom);
  Num z = t * t;
  Num rest = fma(t * z, polynomial(z, kAtanF64),
                 select(steep, kPiF64[1] * 0.25, e.c(0)));
  return select(steep, kPiF64[0] * 0.25, e.c(0)) + (rest + t);
}

Num emitAtan(Num x) {
  const Emitter &e = *x.emitter;
  auto pi = TABLE(e, kPi);
  Num magnitude = abs(x);
  Num inverted = greater(magnitude, 1);
  Num angle = atanRatio(select(inverted, 1, magnitude),
                        select(inverted, magnitude, e.c(1)));
  Num complement = pi[0] * 0.5 - (angle - pi[1] * 0.5);
  return flip(select(inverted, complement, angle), signBit(x));
}

Num emitAtan2(Num y, Num x) {
  const Emitter &e = *x.emitter;
  auto pi = TABLE(e, kPi);
  double infinity = std::numeric_limits<double>::infinity();
  Num ay = abs(y), ax = abs(x);
  Num steep = greater(ay, ax);
  Num top = select(steep, ax, ay), bottom = select(steep, ay, ax);
  if (e.isDouble) {
    // Their sum must not overflow.
    Num factor = select(greater(bottom, 0x1p+1000), 0x1p-10, e.c(1));
    top = top * factor;
    bottom = bottom * factor;
  }
  // 0/0 counts as 0 and inf/inf as 1.
  bottom = select(equal(bottom, 0), 1, bottom);
  Num bothInfinite = equal(top, infinity);
  top = select(bothInfinite, 1, top);
  bottom = select(bothInfinite, 1, bottom);
  Num angle = atanRatio(top, bottom);
  angle = select(steep, pi[0] * 0.5 - (angle - pi[1] * 0.5), angle);
  // The sign bit of x, zeros included.
  Num left = e.make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::ne,
                                         signBit(x).value, e.i(0).value);
  angle = select(left, pi[0] - (angle - pi[1]), angle);
  angle = flip(angle, signBit(y));
  // The selections above may have dropped a NaN.
  Num unordered = e.make<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::UNO,
                                              x.value, y.value);
  return select(unordered, x + y, angle);
}

/// asin of s, given s and its square z <= 0.294.
static Num asinSmall(Num s, Num z) {
  return fma(s * z, polynomial(z, TABLE(*s.emitter, kAsin)), s);
}

/// asin(|x|) up to a border, and asin(sqrt((1-|x|)/2)) beyond, of which twice
/// is subtracted from pi/2. At the border that is just below 1, in a finer
/// binade.
struct AsinParts {
  Num large, angle;
};

static AsinParts asinParts(Num magnitude) {
  Num large = greater(magnitude, 0.5415);
  Num z = select(large, fma(magnitude, -0.5, 0.5), magnitude * magnitude);
  Num s = select(large, sqrt(z), magnitude);
  return {large, asinSmall(s, z)};
}

Num emitAsin(Num x) {
  auto pi = TABLE(*x.emitter, kPi);
  AsinParts parts = asinParts(abs(x));
  Num twice = parts.angle + parts.angle;
  Num complement = pi[0] * 0.5 - (twice - pi[1] * 0.5);
  return flip(select(parts.large, complement, parts.angle), signBit(x));
}

Num emitAcos(Num x) {
  auto pi = TABLE(*x.emitter, kPi);
  AsinParts parts = asinParts(abs(x));
  Num twice = parts.angle + parts.angle;
  // Far: acos(|x|) = 2 asin(...), acos(-|x|) = pi - that.
  Num far = select(less(x, 0), pi[0] - (twice - pi[1]), twice);
  Num near = flip(parts.angle, signBit(x));
  near = pi[0] * 0.5 - (near - pi[1] * 0.5);
  return select(parts.large, far, near);
}

} // namespace polynest
