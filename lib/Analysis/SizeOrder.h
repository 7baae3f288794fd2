// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/SizeOrder.h: sizes and places that are not known, compared as sums.
//
// Answers are proofs: that sizes are not negative, from how minima, maxima,
// selections and quotients are computed, and where loops begin and end.
#ifndef POLYNEST_ANALYSIS_SIZEORDER_H
#define POLYNEST_ANALYSIS_SIZEORDER_H

#include "Analysis/AffineValues.h"
#include "Analysis/Sizes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace polynest {

/// Numbers that are not known, each times a factor, and a constant. Nothing of
/// it leaves 64 bits.
struct SizeSum {
  int64_t constant = 0;
  /// In an order of their own, without factors of 0.
  llvm::SmallVector<std::pair<UnknownSize, int64_t>, 4> terms;

  bool isConstant() const { return terms.empty(); }
  bool operator==(const SizeSum &other) const {
    return constant == other.constant && terms == other.terms;
  }
};

/// `a` and `factor` times `b`; none if a number leaves 64 bits.
std::optional<SizeSum> addTo(const SizeSum &a, const SizeSum &b,
                             int64_t factor);

/// Compares numbers of the types `index` and `i64`. What it has been asked
/// about may not change meanwhile.
class SizeOrder {
public:
  /// `facts` says which sizes are equal.
  explicit SizeOrder(SizeFacts &facts) : facts(facts) {}

  SizeSum of(mlir::OpFoldResult number);
  SizeSum of(mlir::Value shaped, int64_t d);
  /// A result of a map; none where it is no sum, or may leave a word.
  std::optional<SizeSum> ofResult(mlir::AffineMap map, unsigned number,
                                  mlir::ValueRange operands);

  /// True if the sum is proven not to be negative.
  bool isNonNegative(const SizeSum &sum);
  bool isAtMost(const SizeSum &a, const SizeSum &b);
  bool areEqual(const SizeSum &a, const SizeSum &b);
  /// What the comparison always is, or none.
  std::optional<bool> decide(mlir::arith::CmpIOp compare);

private:
  /// What a number is computed of that is no sum.
  struct Parts {
    /// Minimum and maximum of the sums; one of the sums; a sum that is divided;
    /// what lies from the first sum to the second.
    enum Kind { None, Least, Greatest, OneOf, Quotient, Between } kind = None;
    llvm::SmallVector<SizeSum, 2> sums;
    /// Quotient: `divisor` times it lies between the sum less `below` and the
    /// sum and `above`.
    int64_t divisor = 1, below = 0, above = 0;
  };

  SizeSum ofProduct(const SizeProduct &product, UnknownSize self);
  SizeSum ofNumber(mlir::Value number);
  std::optional<SizeSum> computeSum(mlir::Value number);
  std::optional<SizeSum> ofExpression(mlir::AffineExpr expr,
                                      mlir::ValueRange operands, unsigned dims);
  Parts computeParts(mlir::Value number);
  Parts divide(const SizeSum &sum, int64_t divisor, bool down);
  Parts partsOf(const UnknownSize &size);

  IntegerRange rangeOf(const UnknownSize &size);
  IntegerRange rangeOf(const SizeSum &sum);
  bool prove(const SizeSum &sum);
  bool proveByParts(const SizeSum &sum, const UnknownSize &size, int64_t factor,
                    bool mayChoose, bool &isTried);

  SizeFacts &facts;
  llvm::DenseMap<mlir::Value, SizeSum> sums;
  llvm::DenseMap<mlir::Value, Parts> parts;
  llvm::DenseMap<mlir::Value, IntegerRange> ranges;
  unsigned depth = 0;
  /// Steps left for the question at hand.
  unsigned steps = 0;
};

/// True if the loop runs from 0 by steps of 1 to the size of dimension `d`,
/// which may be proven as a product or as a sum.
bool sweeps(mlir::affine::AffineForOp loop, mlir::Value memref, unsigned d);
/// The same, where `facts` hold around the loop.
bool sweeps(mlir::affine::AffineForOp loop, mlir::Value memref, unsigned d,
            SizeFacts &facts);

} // namespace polynest

#endif // POLYNEST_ANALYSIS_SIZEORDER_H
