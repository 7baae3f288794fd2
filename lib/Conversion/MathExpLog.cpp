// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/MathExpLog.cpp: exponentials, logarithms, hyperbolic functions.
//
// exp: x = 2 h ln 2 + r with an integer h, so that e^x = e^r * 2^h * 2^h. An
// even exponent costs two more terms of the polynomial (|r| <= ln 2) and saves
// the work of splitting the exponent: 2^h is in range wherever the result is.
// In f32, where a register can hold eight quarters of a power, x = (2 h + j/4)
// ln 2 + r, which leaves |r| <= ln 2 / 8 and saves three terms: multiply-adds
// have fewer units than what looks up and shifts. Sixteen eighths save a term
// more.
// log: x = 2^e m with sqrt(1/2) <= m < sqrt(2), so that nothing cancels.

#include "Conversion/MathBodies.h"
#include "Conversion/MathCoefficients.inc"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

namespace polynest {

/// The table of the emitter's precision.
#define TABLE(e, name)                                                         \
  ((e).isDouble ? llvm::ArrayRef<double>(name##F64)                            \
                : llvm::ArrayRef<double>(name##F32))

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

/// An integer n as a number, and 2^(n + offset).
struct Power {
  Num n, power;
};

/// n = round(x * factor). The biased exponent of the power appears in the low
/// bits of a shifted sum, whose upper bits the shift drops.
static Power powerNear(Num x, double factor, int offset) {
  const Emitter &e = *x.emitter;
  double shift = roundingShift(e) + double(e.bias() + offset);
  Num shifted = fma(x, factor, shift);
  return {shifted - shift, real(bits(shifted) << e.fraction())};
}

ScaledExp scaledExp(Num x) {
  const Emitter &e = *x.emitter;
  auto ln2 = TABLE(e, kLn2);
  Power half = powerNear(x, TABLE(e, kLog2E)[0] * 0.5, 0);
  Num r = fma(half.n, -2 * ln2[0], x);
  r = fma(half.n, -2 * ln2[1], r);
  return {polynomial(r, TABLE(e, kExp)), half.power};
}

/// For j below `count`, what added to the bits of 2^h with j below the
/// exponent's last place makes them those of 2^(h + j / parts).
static llvm::SmallVector<uint32_t, 16>
patternsOfPowers(const Emitter &e, uint32_t count, uint32_t parts) {
  uint32_t one = uint32_t(e.bias()) << e.fraction();
  llvm::SmallVector<uint32_t, 16> patterns;
  for (uint32_t j = 0; j < count; ++j)
    patterns.push_back(
        llvm::bit_cast<uint32_t>(float(std::exp2(double(j) / parts))) - one -
        (j << (e.fraction() - llvm::Log2_32(count))));
  return patterns;
}

/// e^x in f32 for x in range, from numbers in a register.
static Num lookedUpExp(Num x) {
  const Emitter &e = *x.emitter;
  auto ln2 = TABLE(e, kLn2);
  uint32_t count = e.mostLookedUp();
  double parts = count / 2;
  // The low bits of the shifted sum are count h + j, and the biased exponent in
  // place of h: moved up, they are those of 2^h with j below, which the table
  // takes off again.
  double shift = roundingShift(e) + double(count) * double(e.bias());
  Num shifted = fma(x, TABLE(e, kLog2E)[0] * parts, shift);
  Num n = shifted - shift;
  Num r = fma(n, -ln2[1] / parts, fma(n, -ln2[0] / parts, x));
  Num moved = bits(shifted) << (e.fraction() - llvm::Log2_32(count));
  Num power = real(
      lookUp(bits(shifted), patternsOfPowers(e, count, count / 2)) + moved);
  Num half = real(moved & e.i(~uint64_t(0) << e.fraction()));
  Num terms = count == 16 ? polynomial(r, kExpSixteenthF32)
                          : polynomial(r, kExpEighthF32);
  Num rest = fma(r * r, terms, r);
  return fma(power, rest, power) * half;
}

/// The logarithm to base 2 from which on down the pattern of 2^h is that of 0.
/// Powers that only underflow would cost several times as much in products, and
/// there are many of them under masks.
static double leastLog2(const Emitter &e) { return -2.0 * double(e.bias()); }

Num emitExp(Num x) {
  const Emitter &e = *x.emitter;
  // Results beyond these are infinite and zero.
  Num clamped = atLeast(atMost(x, e.isDouble ? 710 : 89),
                        leastLog2(e) * llvm::numbers::ln2);
  if (e.canLookUp())
    return lookedUpExp(clamped);
  ScaledExp parts = scaledExp(clamped);
  return parts.p * parts.scale * parts.scale;
}

Num emitExp2(Num x) {
  const Emitter &e = *x.emitter;
  Num clamped = atLeast(atMost(x, e.isDouble ? 1025 : 129), leastLog2(e));
  Power half = powerNear(clamped, 0.5, 0);
  Num r = fma(half.n, -2, clamped);
  return polynomial(r, TABLE(e, kExp2)) * half.power * half.power;
}

/// e^r - 1 for x = n ln 2 + r, given n.
static Num expm1Reduced(Num x, Num n) {
  const Emitter &e = *x.emitter;
  auto ln2 = TABLE(e, kLn2);
  Num r = fma(n, -ln2[1], fma(n, -ln2[0], x));
  return fma(r * r, polynomial(r, TABLE(e, kExpm1)), r);
}

Num emitExpm1(Num x) {
  const Emitter &e = *x.emitter;
  bool wide = e.isDouble;
  Num clamped = atLeast(atMost(x, wide ? 709.9 : 88.9), wide ? -38 : -18);
  // Half of 2^n, which is finite where the result may be.
  Power half = powerNear(clamped, TABLE(e, kLog2E)[0], -1);
  Num rest = expm1Reduced(clamped, half.n);
  Num result = fma(half.power, rest, half.power - 0.5);
  return copySign(result + result, x);
}

/// tanh(x) = 1 - 2 / (e^2x + 1) away from 0, where e^2x needs few correct bits
/// as it grows: one part of ln 2 is enough, if it is the nearest.
Num emitTanh(Num x) {
  const Emitter &e = *x.emitter;
  // 1 - tanh is below half an ulp beyond these.
  Num magnitude = atMost(abs(x), e.isDouble ? 19.5 : 9.5);
  Num z = magnitude * magnitude;
  Num near = fma(magnitude * z, polynomial(z, TABLE(e, kTanh)), magnitude);
  Num twice = magnitude + magnitude;
  Power power = powerNear(twice, TABLE(e, kLog2E)[0], 0);
  Num r = fma(power.n, -kLn2F64[0], twice);
  Num sum = fma(polynomial(r, TABLE(e, kExpShort)), power.power, 1);
  Num far = 1.0 - 2.0 / sum;
  return flip(select(greater(magnitude, 0.625), far, near), signBit(x));
}

/// 1 + tanh(x) = 2 / (1 + e^-2x): nothing cancels below 0, and near 0 no other
/// form is needed. -2x = n ln 2 - 2y, with n in eighths where a register holds
/// the eighths of a power. Zero where the power is infinite, as the sum is
/// then.
Num emitOnePlusTanh(Num x) {
  const Emitter &e = *x.emitter;
  bool hasEighths = e.canLookUp();
  uint32_t parts = hasEighths ? 8 : 1;
  unsigned place = e.fraction() - llvm::Log2_32(parts);
  // From -64 ln 2 down the power is infinite.
  Num inRange = atLeast(atMost(x, 40), -44.36142);
  double shift = roundingShift(e) + double(parts * e.bias());
  Num shifted = fma(inRange, -2.0 * parts * kLog2EF64[0], shift);
  Num n = shifted - shift;
  Num y = fma(n, kLn2F32[1] / (2 * parts),
              fma(n, kLn2F32[0] / (2 * parts), inRange));
  Num moved = bits(shifted) << place;
  llvm::SmallVector<double, 8> terms = {1, 1};
  if (hasEighths) {
    moved = moved + lookUp(bits(shifted), patternsOfPowers(e, parts, parts));
    llvm::append_range(terms, kExpSixteenthF32);
  } else {
    terms.assign(std::begin(kExpShortF32), std::end(kExpShortF32));
  }
  double scale = 1;
  for (double &term : terms) {
    term *= scale;
    scale *= -2;
  }
  return 2.0 / fma(polynomial(y, terms), real(moved), 1);
}

/// e^x / 2 for 0 <= x, infinite only beyond the range of sinh and cosh.
static Num halfExp(Num x) {
  ScaledExp parts = scaledExp(atMost(x, x.emitter->isDouble ? 711 : 90));
  return parts.p * 0.5 * parts.scale * parts.scale;
}

Num emitCosh(Num x) {
  Num half = halfExp(abs(x));
  return half + 0.25 / half;
}

/// e^x / 2 in f64 to some 28 bits, for 0 <= x <= 90.
static Num halfExpShort(Num x) {
  Num clamped = atMost(x, 90);
  Power half = powerNear(clamped, kLog2EF64[0], -1);
  Num r = fma(half.n, -kLn2F64[0], clamped);
  return polynomial(r, kExpShortF32) * half.power;
}

/// The difference of exponentials loses a binade here and there, so that f32 is
/// computed in f64.
Num emitSinh(Num x) {
  bool isSingle = !x.emitter->isDouble;
  return inDouble(x, [&](Num x) {
    Num magnitude = abs(x);
    Num half = isSingle ? halfExpShort(magnitude) : halfExp(magnitude);
    Num far = half - 0.25 / half;
    Num square = x * x;
    Num rest =
        isSingle ? polynomial(square, kSinhF32) : polynomial(square, kSinhF64);
    Num near = fma(magnitude * square, rest, magnitude);
    return flip(select(less(magnitude, 1.5), near, far), signBit(x));
  });
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

Num logRest(Num f) {
  const Emitter &e = *f.emitter;
  Num square = f * f;
  if (!e.isDouble)
    return square * fma(f, polynomial(f, kLogF32), -0.5);
  // log(1+f) = 2 atanh(s) with s = f / (2 + f), and 2 s = f - f^2/2 + s f^2/2.
  Num s = f / (f + 2);
  Num z = s * s;
  Num half = square * 0.5;
  return fma(s, fma(z, polynomial(z, kLogF64), half), -half);
}

/// The exponent e and significand m of a normal x = 2^e m with m near 1. Also
/// the exponent with its bias, in the low bits of an integer.
struct Exponent {
  Num e, m, biased;
};

static Exponent exponentOf(Num x) {
  const Emitter &e = *x.emitter;
  // Taking sqrt(1/2) from the pattern moves the border between two exponents
  // there; adding 1 makes the biased exponent of x / m appear.
  uint64_t root = e.isDouble ? 0x3fe6a09e667f3bcdull : 0x3f3504f3ull;
  uint64_t one = uint64_t(e.bias()) << e.fraction();
  Num moved = bits(x) - e.i(root);
  uint64_t low = (uint64_t(1) << e.fraction()) - 1;
  Num m = real((moved & e.i(low)) + e.i(root));
  Num biased = shiftRight(moved + e.i(one), e.fraction());
  // A number of one ulp times 2^fraction has the integer as its low bits.
  double shift = double(uint64_t(1) << e.fraction());
  uint64_t shiftBits = uint64_t(e.bias() + e.fraction()) << e.fraction();
  Num exponent = real(biased | e.i(shiftBits)) - (shift + double(e.bias()));
  return {exponent, m, biased};
}

LogParts logParts(Num x) {
  const Emitter &e = *x.emitter;
  double smallest = e.isDouble ? 0x1p-1022 : 0x1p-126;
  double scale = double(uint64_t(1) << e.fraction());
  Num subnormal = less(x, smallest);
  Exponent parts = exponentOf(select(subnormal, x * scale, x));
  Num exponent = parts.e - select(subnormal, e.c(e.fraction()), e.c(0));
  Num f = parts.m - 1;
  return {exponent, f, logRest(f)};
}

/// The logarithm's special values; x is its argument.
static Num finishLog(Num x, Num result) {
  double infinity = std::numeric_limits<double>::infinity();
  Num finite = select(equal(x, infinity), x, result);
  Num zero = select(equal(x, 0), -infinity, finite);
  return select(unorderedLess(x, 0), std::numeric_limits<double>::quiet_NaN(),
                zero);
}

Num emitLog(Num x) {
  auto ln2 = TABLE(*x.emitter, kLn2);
  LogParts parts = logParts(x);
  Num low = parts.f + fma(parts.e, ln2[1], parts.w);
  return finishLog(x, fma(parts.e, ln2[0], low));
}

Num emitLog2(Num x) {
  auto factor = TABLE(*x.emitter, kLog2E);
  LogParts parts = logParts(x);
  Num low = fma(parts.w, factor[0], parts.f * factor[1]);
  return finishLog(x, parts.e + fma(parts.f, factor[0], low));
}

Num emitLog10(Num x) {
  auto factor = TABLE(*x.emitter, kLog10E);
  auto step = TABLE(*x.emitter, kLog10Of2);
  LogParts parts = logParts(x);
  Num low = fma(parts.f, factor[1], parts.e * step[1]);
  low = fma(parts.w, factor[0], low);
  return finishLog(x, fma(parts.e, step[0], fma(parts.f, factor[0], low)));
}

/// log(u + c) for u in [2^-fraction, inf) and |c| <= ulp(u).
static Num logOfPair(Num u, Num c) {
  const Emitter &e = *u.emitter;
  auto ln2 = TABLE(e, kLn2);
  Exponent parts = exponentOf(u);
  // 2^-e, or 0 where the correction is too small to matter.
  Num inverse = real((e.i(2 * e.bias()) - parts.biased) << e.fraction());
  inverse = select(greater(u, 0x1p+100), 0, inverse);
  Num f = fma(c, inverse, parts.m - 1);
  Num low = f + fma(parts.e, ln2[1], logRest(f));
  return fma(parts.e, ln2[0], low);
}

Num emitLog1p(Num x) {
  Pair sum = twoSum(x.emitter->c(1), x);
  Num result = finishLog(sum.high, logOfPair(sum.high, sum.low));
  return select(equal(x, 0), x, result);
}

//===----------------------------------------------------------------------===//
// Inverse hyperbolic functions
//===----------------------------------------------------------------------===//

// In f32 the roundings of the arguments to log1p would show, so these are
// computed in f64.

/// log1p(u), or log(2 x) where x is so large that x^2 may overflow.
static Num log1pOrTwice(Num x, Num u) {
  Num large = greater(x, 0x1p+500);
  Num result = emitLog1p(select(large, x, u));
  return result + select(large, x.emitter->c(kLn2F64[0]), x.emitter->c(0));
}

Num emitAsinh(Num x) {
  return inDouble(x, [](Num x) {
    Num magnitude = abs(x);
    Num square = x * x;
    Num root = sqrt(square + 1);
    Num u = magnitude + square / (root + 1);
    return copySign(log1pOrTwice(magnitude, u), x);
  });
}

Num emitAcosh(Num x) {
  return inDouble(x, [](Num x) {
    Num t = x - 1;
    Num u = t + sqrt(fma(t, t, t + t));
    return select(less(x, 1), std::numeric_limits<double>::quiet_NaN(),
                  log1pOrTwice(x, u));
  });
}

Num emitAtanh(Num x) {
  return inDouble(x, [](Num x) {
    Num magnitude = abs(x);
    Num u = (magnitude + magnitude) / (1.0 - magnitude);
    return copySign(emitLog1p(u) * 0.5, x);
  });
}

} // namespace polynest
