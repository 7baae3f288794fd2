// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/MathEmitter.h: elementwise arithmetic written as formulas.
//
// The bodies of mathematical functions read as formulas over `Num`, a value of
// scalar or vector type; each operator builds one `arith` or `math` operation
// with no fast-math flag. All Nums of a formula have the shape of the emitter,
// and an element type of f32, f64, the integer of that width, or i1.
#ifndef POLYNEST_CONVERSION_MATHEMITTER_H
#define POLYNEST_CONVERSION_MATHEMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

#include <limits>
#include <string>

namespace polynest {

class Emitter;

/// An instruction that picks words of 32 bits out of a vector of `lanes` by
/// their places, modulo `lanes`.
struct Permute {
  int64_t lanes;
  std::string intrinsic;
};

/// A value and the emitter that continues from it.
struct Num {
  const Emitter *emitter = nullptr;
  mlir::Value value;
};

/// Builds arithmetic in one precision (f32 or f64) and one shape.
class Emitter {
public:
  /// `shape` is the scalar or vector type whose shape to take.
  Emitter(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type shape,
          bool isDouble, llvm::ArrayRef<Permute> permutes = {})
      : builder(builder), loc(loc),
        vector(mlir::dyn_cast<mlir::VectorType>(shape)), isDouble(isDouble),
        permutes(permutes) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::VectorType vector; // null for a scalar
  bool isDouble;
  /// What the target has, the widest first; each has 8 lanes or a multiple.
  llvm::ArrayRef<Permute> permutes;

  /// True if eight numbers may be looked up by lookUp.
  bool canLookUp() const {
    return !permutes.empty() && !isDouble && !(vector && vector.isScalable());
  }
  /// How many numbers lookUp may look up: 16 where a register holds them.
  uint32_t mostLookedUp() const {
    return permutes.front().lanes >= 16 ? 16 : 8;
  }

  /// Bits of the stored significand and of the whole number.
  unsigned fraction() const { return isDouble ? 52 : 23; }
  unsigned width() const { return isDouble ? 64 : 32; }
  int64_t bias() const { return isDouble ? 1023 : 127; }

  mlir::Type shaped(mlir::Type element) const {
    if (!vector)
      return element;
    mlir::VectorType type = vector;
    return type.clone(element);
  }
  mlir::Type real() const {
    return shaped(isDouble ? mlir::Type(builder.getF64Type())
                           : mlir::Type(builder.getF32Type()));
  }
  mlir::Type integer() const { return shaped(builder.getIntegerType(width())); }

  template <typename Op, typename... Args>
  Num make(Args &&...args) const {
    return {this, builder.createOrFold<Op>(loc, std::forward<Args>(args)...)};
  }

  Num constant(mlir::Type type, mlir::TypedAttr element) const {
    mlir::TypedAttr attribute = element;
    if (auto shapedType = mlir::dyn_cast<mlir::VectorType>(type))
      attribute = mlir::DenseElementsAttr::get(shapedType, element);
    return {this,
            mlir::arith::ConstantOp::create(builder, loc, type, attribute)};
  }
  /// A real constant, rounded to the working precision.
  Num c(double value) const {
    llvm::APFloat number(value);
    bool inexact;
    if (!isDouble)
      number.convert(llvm::APFloat::IEEEsingle(),
                     llvm::APFloat::rmNearestTiesToEven, &inexact);
    return constant(real(), mlir::FloatAttr::get(
                                mlir::getElementTypeOrSelf(real()), number));
  }
  /// An integer constant, cut to the width of the precision.
  Num i(uint64_t value) const {
    llvm::APInt number(64, value);
    return constant(
        integer(), mlir::IntegerAttr::get(mlir::getElementTypeOrSelf(integer()),
                                          number.trunc(width())));
  }
  /// The same shape in the other precision.
  Emitter other(bool wide) const {
    return vector ? Emitter(builder, loc, vector, wide)
                  : Emitter(builder, loc, builder.getF32Type(), wide);
  }
};

inline bool isReal(Num a) {
  return mlir::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(a.value));
}

// Arithmetic of both kinds.
inline Num operator+(Num a, Num b) {
  return isReal(a) ? a.emitter->make<mlir::arith::AddFOp>(a.value, b.value)
                   : a.emitter->make<mlir::arith::AddIOp>(a.value, b.value);
}
inline Num operator-(Num a, Num b) {
  return isReal(a) ? a.emitter->make<mlir::arith::SubFOp>(a.value, b.value)
                   : a.emitter->make<mlir::arith::SubIOp>(a.value, b.value);
}
inline Num operator*(Num a, Num b) {
  return isReal(a) ? a.emitter->make<mlir::arith::MulFOp>(a.value, b.value)
                   : a.emitter->make<mlir::arith::MulIOp>(a.value, b.value);
}
inline Num operator/(Num a, Num b) {
  return a.emitter->make<mlir::arith::DivFOp>(a.value, b.value);
}
inline Num operator-(Num a) {
  return a.emitter->make<mlir::arith::NegFOp>(a.value);
}
inline Num operator+(Num a, double b) { return a + a.emitter->c(b); }
inline Num operator-(Num a, double b) { return a - a.emitter->c(b); }
inline Num operator*(Num a, double b) { return a * a.emitter->c(b); }
inline Num operator-(double a, Num b) { return b.emitter->c(a) - b; }
inline Num operator/(double a, Num b) { return b.emitter->c(a) / b; }

// Integers and truth values.
inline Num operator&(Num a, Num b) {
  return a.emitter->make<mlir::arith::AndIOp>(a.value, b.value);
}
inline Num operator|(Num a, Num b) {
  return a.emitter->make<mlir::arith::OrIOp>(a.value, b.value);
}
inline Num operator^(Num a, Num b) {
  return a.emitter->make<mlir::arith::XOrIOp>(a.value, b.value);
}
inline Num operator<<(Num a, unsigned count) {
  return a.emitter->make<mlir::arith::ShLIOp>(a.value,
                                              a.emitter->i(count).value);
}
inline Num shiftRight(Num a, unsigned count) {
  return a.emitter->make<mlir::arith::ShRUIOp>(a.value,
                                               a.emitter->i(count).value);
}
inline Num shiftRightSigned(Num a, unsigned count) {
  return a.emitter->make<mlir::arith::ShRSIOp>(a.value,
                                               a.emitter->i(count).value);
}

/// The bit pattern of a real number, and back.
inline Num bits(Num a) {
  return a.emitter->make<mlir::arith::BitcastOp>(a.emitter->integer(), a.value);
}
inline Num real(Num a) {
  return a.emitter->make<mlir::arith::BitcastOp>(a.emitter->real(), a.value);
}

inline Num fma(Num a, Num b, Num c) {
  return a.emitter->make<mlir::math::FmaOp>(a.value, b.value, c.value);
}
inline Num fma(Num a, double b, Num c) { return fma(a, a.emitter->c(b), c); }
inline Num fma(Num a, Num b, double c) { return fma(a, b, a.emitter->c(c)); }
inline Num fma(Num a, double b, double c) {
  return fma(a, a.emitter->c(b), a.emitter->c(c));
}
inline Num sqrt(Num a) { return a.emitter->make<mlir::math::SqrtOp>(a.value); }
inline Num roundEven(Num a) {
  return a.emitter->make<mlir::math::RoundEvenOp>(a.value);
}
inline Num floor(Num a) {
  return a.emitter->make<mlir::math::FloorOp>(a.value);
}
inline Num abs(Num a) { return a.emitter->make<mlir::math::AbsFOp>(a.value); }
inline Num copySign(Num magnitude, Num sign) {
  return magnitude.emitter->make<mlir::math::CopySignOp>(magnitude.value,
                                                         sign.value);
}

/// Comparisons: false if an operand is NaN, but for `unordered...`.
inline Num compare(mlir::arith::CmpFPredicate predicate, Num a, Num b) {
  return a.emitter->make<mlir::arith::CmpFOp>(predicate, a.value, b.value);
}
inline Num less(Num a, Num b) {
  return compare(mlir::arith::CmpFPredicate::OLT, a, b);
}
inline Num less(Num a, double b) { return less(a, a.emitter->c(b)); }
inline Num greater(Num a, Num b) {
  return compare(mlir::arith::CmpFPredicate::OGT, a, b);
}
inline Num greater(Num a, double b) { return greater(a, a.emitter->c(b)); }
inline Num equal(Num a, Num b) {
  return compare(mlir::arith::CmpFPredicate::OEQ, a, b);
}
inline Num equal(Num a, double b) { return equal(a, a.emitter->c(b)); }
inline Num unorderedLess(Num a, double b) {
  return compare(mlir::arith::CmpFPredicate::ULT, a, a.emitter->c(b));
}
inline Num isNan(Num a) {
  return compare(mlir::arith::CmpFPredicate::UNO, a, a);
}
inline Num select(Num condition, Num a, Num b) {
  return a.emitter->make<mlir::arith::SelectOp>(condition.value, a.value,
                                                b.value);
}
inline Num select(Num condition, double a, Num b) {
  return select(condition, b.emitter->c(a), b);
}
inline Num select(Num condition, Num a, double b) {
  return select(condition, a, a.emitter->c(b));
}
inline Num notOf(Num condition) {
  const Emitter &e = *condition.emitter;
  return condition ^
         e.constant(condition.value.getType(), e.builder.getBoolAttr(true));
}

/// min(a, b) and max(a, b) for a number b: a NaN in a stays. In this operand
/// order the x86 instruction does exactly this.
inline Num atMost(Num a, double b) {
  return select(less(a.emitter->c(b), a), b, a);
}
inline Num atLeast(Num a, double b) {
  return select(greater(a.emitter->c(b), a), b, a);
}

/// The sign bit of a as an integer, and a number with bits flipped.
inline Num signBit(Num a) {
  return bits(a) & a.emitter->i(uint64_t(1) << (a.emitter->width() - 1));
}
inline Num flip(Num a, Num mask) { return real(bits(a) ^ mask); }

/// The polynomial, lowest coefficient first.
inline Num polynomial(Num x, llvm::ArrayRef<double> coefficients) {
  Num result = x.emitter->c(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    result = fma(result, x, coefficient);
  return result;
}

/// Adds an integer to low bits of the significand: numbers below 2^(fraction-1)
/// plus this are rounded to integers, half to even, and appear in the low bits.
inline double roundingShift(const Emitter &e) {
  return 1.5 * double(uint64_t(1) << e.fraction());
}

/// Converts to the other precision: f32 to f64 is exact.
inline Num convert(const Emitter &to, Num a) {
  if (to.isDouble == a.emitter->isDouble)
    return {&to, a.value};
  if (to.isDouble)
    return to.make<mlir::arith::ExtFOp>(to.real(), a.value);
  return {&to, mlir::arith::TruncFOp::create(to.builder, to.loc, to.real(),
                                             a.value)};
}

/// Runs a body in f64 and rounds once: for functions that are rare.
inline Num inDouble(Num x, llvm::function_ref<Num(Num)> body) {
  if (x.emitter->isDouble)
    return body(x);
  Emitter wide = x.emitter->other(true);
  return convert(*x.emitter, body(convert(wide, x)));
}

/// A sum of two numbers that is not rounded: |low| <= ulp(high) / 2.
struct Pair {
  Num high, low;
};

/// a + b exactly, in any order of magnitude.
inline Pair twoSum(Num a, Num b) {
  Num sum = a + b;
  Num rest = sum - a;
  return {sum, (a - (sum - rest)) + (b - rest)};
}
/// a + b exactly if |a| >= |b| or a is 0.
inline Pair fastTwoSum(Num a, Num b) {
  Num sum = a + b;
  return {sum, b - (sum - a)};
}
/// a * b exactly unless it underflows.
inline Pair twoProduct(Num a, Num b) {
  Num product = a * b;
  return {product, fma(a, b, -product)};
}

/// For each lane the one of eight patterns that the low three bits of `index`
/// name, in f32 where the emitter can look up.
Num lookUp(Num index, llvm::ArrayRef<uint32_t> patterns);

/// True where any lane is: a scalar condition to branch on.
mlir::Value anyLane(Num condition);

/// `value` in the lanes where `condition` is false and `rare()` in the others.
/// The rare computation sits behind a branch that is taken when a lane needs
/// it.
Num rarely(Num condition, Num value, llvm::function_ref<Num()> rare);

} // namespace polynest

#endif // POLYNEST_CONVERSION_MATHEMITTER_H
