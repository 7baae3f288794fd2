// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/AffineValues.h: index arithmetic as affine expressions.
#ifndef POLYNEST_ANALYSIS_AFFINEVALUES_H
#define POLYNEST_ANALYSIS_AFFINEVALUES_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace polynest {

/// The integers an index value may take, both ends included. An end that is
/// not known is the extreme int64, which counts as "may overflow".
struct IntegerRange {
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
  bool isBounded() const { return low != INT64_MIN && high != INT64_MAX; }
  bool isNonNegative() const { return low >= 0; }
  bool fits32Bits() const;
};

/// Sizes: no array that a program can hold has more elements than the 2^48
/// bytes of an address space.
inline constexpr IntegerRange kSizeRange = {0, int64_t(1) << 48};

/// An expression that is zero, or one that is not negative.
struct AffineConstraint {
  mlir::AffineExpr expr;
  bool isEquality;
};

/// Expresses `index` and `i64` values as affine expressions over values that
/// are valid dimensions and symbols inside one affine scope. One builder makes
/// all expressions of one map or set, which share its operands.
///
/// Additions and multiplications agree with the affine dialect even when they
/// wrap; division, remainder and comparison do so only for operands that are
/// known not to overflow, and are refused otherwise. A selection is the value
/// that its comparison always takes.
class AffineValueBuilder {
public:
  /// `user` is the operation at which the expressions will be evaluated.
  explicit AffineValueBuilder(mlir::Operation *user);

  /// The expression of `value`, or none if it is not affine here.
  std::optional<mlir::AffineExpr> express(mlir::Value value);
  /// That of what a map gives, or none if it gives several.
  std::optional<mlir::AffineExpr> express(mlir::AffineMap map,
                                          mlir::ValueRange operands);

  /// The range of an expression made by this builder.
  IntegerRange rangeOf(mlir::AffineExpr expr);

  /// What holds where the comparison does, or with `isNegated` where it does
  /// not, as one constraint; none where that is that values differ, or if one
  /// of them or their difference may overflow, or be negative without a sign.
  std::optional<AffineConstraint> expressConstraint(mlir::arith::CmpIOp compare,
                                                    bool isNegated);

  /// What a comparison of affine values always is, or none.
  std::optional<bool> decide(mlir::arith::CmpIOp compare);

  /// Operands in the order dimensions, symbols.
  llvm::SmallVector<mlir::Value> getOperands() const;
  unsigned getNumDims() const { return dims.size(); }
  unsigned getNumSymbols() const { return symbols.size(); }
  mlir::MLIRContext *getContext() const { return context; }

private:
  /// Both sides of a comparison that is one of their difference with zero.
  std::optional<std::pair<mlir::AffineExpr, mlir::AffineExpr>>
  expressSides(mlir::arith::CmpIOp compare);
  std::optional<mlir::AffineExpr> expressOperation(mlir::Operation *op);
  std::optional<mlir::AffineExpr> expressDivision(mlir::Operation *op);
  std::optional<mlir::AffineExpr> expressLeaf(mlir::Value value);

  mlir::Region *scope;
  mlir::MLIRContext *context;
  llvm::SmallVector<mlir::Value> dims, symbols;
  llvm::DenseMap<mlir::Value, std::optional<mlir::AffineExpr>> known;
  unsigned depth = 0;
};

/// Indices as the results of a map.
struct AffineIndices {
  mlir::AffineMap map;
  llvm::SmallVector<mlir::Value> operands;
};

/// The indices of an access at `user`, or none if one of them is not affine.
std::optional<AffineIndices> expressIndices(mlir::Operation *user,
                                            mlir::ValueRange indices);

/// Replaces a memref.load or memref.store by its affine form.
void makeAffine(mlir::Operation *op, const AffineIndices &access);

/// The range of an expression, given those of its operands by number, symbols
/// behind `numDims` dimensions. That of an affine expression of single numbers
/// is one number.
IntegerRange rangeOfExpr(mlir::AffineExpr expr, unsigned numDims,
                         llvm::function_ref<IntegerRange(unsigned)> leaf);

/// The range of an index value from its definition: constants, sizes, and
/// induction variables of affine loops with bounded bounds.
IntegerRange rangeOfValue(mlir::Value value);

} // namespace polynest

#endif // POLYNEST_ANALYSIS_AFFINEVALUES_H
