// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/MathBodies.h: mathematical functions as arithmetic.
//
// Every function works in the precision and shape of its argument's emitter.
// Domains, special values and signs of zero are those of C's Annex F; the
// measured errors are in docs/vector-math.md.
#ifndef POLYNEST_CONVERSION_MATHBODIES_H
#define POLYNEST_CONVERSION_MATHBODIES_H

#include "Conversion/MathEmitter.h"

namespace polynest {

/// e^x or 2^x as p * scale * scale, so that neither factor overflows and the
/// last product alone rounds a subnormal result.
struct ScaledExp {
  Num p, scale;
};
/// For |x| at most twice the exponent range; x is not clamped.
ScaledExp scaledExp(Num x);

/// log(x) = e ln 2 + f + w, where f = m - 1 is exact for x = 2^e m.
struct LogParts {
  Num e, f, w;
};
/// For positive normal or subnormal x.
LogParts logParts(Num x);
/// log(1 + f) - f for sqrt(1/2) <= 1 + f <= sqrt(2).
Num logRest(Num f);

Num emitExp(Num x);
Num emitExp2(Num x);
Num emitExpm1(Num x);
Num emitLog(Num x);
Num emitLog2(Num x);
Num emitLog10(Num x);
Num emitLog1p(Num x);

Num emitSinh(Num x);
Num emitCosh(Num x);
Num emitTanh(Num x);
/// 1 + tanh(x) in f32.
Num emitOnePlusTanh(Num x);
Num emitAsinh(Num x);
Num emitAcosh(Num x);
Num emitAtanh(Num x);

Num emitErf(Num x);
Num emitErfc(Num x);

Num emitSin(Num x);
Num emitCos(Num x);
Num emitTan(Num x);
Num emitAsin(Num x);
Num emitAcos(Num x);
Num emitAtan(Num x);
Num emitAtan2(Num y, Num x);

Num emitRsqrt(Num x);
Num emitCbrt(Num x);
Num emitPow(Num x, Num y);
/// x to an integer power of any width.
Num emitPowInteger(Num x, mlir::Value power);
/// Integer power with wrap-around; 0 to a negative power is 0.
mlir::Value emitIntegerPow(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value base, mlir::Value power);

} // namespace polynest

#endif // POLYNEST_CONVERSION_MATHBODIES_H
