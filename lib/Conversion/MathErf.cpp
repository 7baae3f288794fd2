// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/MathErf.cpp: the error function and its complement.
//
// erfc(a) for a >= 0 is exp(-a^2) P(t) / (a + K) with t = (a - K) / (a + K),
// which maps the half line to [-1, 1); the square is taken as an exact pair.
// erf near 0 is a + a p(a^2). Further out it is 1 - erfc(a): from the form
// above in f64, and in f32 from (q(a))^4, which needs neither exp nor division.

#include "Conversion/MathBodies.h"
#include "Conversion/MathCoefficients.inc"

namespace polynest {

/// erfc(a) for 0 <= a <= 28 in f64. In f32 the rounding of t would show; its
/// argument comes in f64 with `isSingle`, and a shorter polynomial is enough.
static Num erfcPositive(Num a, bool isSingle) {
  Pair square = twoProduct(a, a);
  // Beyond the clamp the product with the polynomial is 0 anyway.
  ScaledExp parts = scaledExp(-atMost(square.high, 746));
  double center = isSingle ? kErfcCenterF32[0] : kErfcCenterF64[0];
  Num inverse = 1.0 / (a + center);
  Num t = (a - center) * inverse;
  if (!isSingle) {
    // What a - K - t (a + K) leaves corrects t to its last bit.
    Num rest = fma(-a, t, fma(t + 1, -center, a));
    t = fma(inverse, rest, t);
  }
  Num rational =
      inverse * (isSingle ? polynomial(t, kErfcF32) : polynomial(t, kErfcF64));
  Num value = parts.p * rational;
  value = fma(value, -square.low, value);
  return value * parts.scale * parts.scale;
}

Num emitErfc(Num x) {
  bool isSingle = !x.emitter->isDouble;
  return inDouble(x, [&](Num x) {
    Num magnitude = atMost(abs(x), 28);
    Num value = erfcPositive(magnitude, isSingle);
    value = select(less(x, 0), 2.0 - value, value);
    if (isSingle)
      return value;
    Num z = x * x;
    Num near = 1.0 - fma(x, polynomial(z, kErfF64), x);
    return select(less(magnitude, 0.5), near, value);
  });
}

Num emitErf(Num x) {
  const Emitter &e = *x.emitter;
  // erf is 1 to the last bit beyond these.
  Num a = atMost(abs(x), e.isDouble ? 6 : 3.925);
  Num z = a * a;
  Num result;
  if (e.isDouble) {
    Num near = fma(a, polynomial(z, kErfF64), a);
    result = select(greater(a, 1), 1.0 - erfcPositive(a, false), near);
  } else {
    Num near = fma(a, polynomial(z, kErfF32), a);
    Num root = polynomial(a, kErfTailF32);
    Num square = root * root;
    result = select(greater(a, 0.9), fma(-square, square, 1), near);
  }
  return flip(result, signBit(x));
}

} // namespace polynest
