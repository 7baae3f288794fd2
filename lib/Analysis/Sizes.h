// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/Sizes.h: sizes that are not known, compared as products.
//
// Answers "equal" are proofs: from where sizes come, from what assertions say,
// and from what callers of an entry see to. Works on tensors and on memrefs.
#ifndef POLYNEST_ANALYSIS_SIZES_H
#define POLYNEST_ANALYSIS_SIZES_H

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace polynest {

/// Types that hold every size.
inline bool isWide(mlir::Type type) {
  return type.isIndex() || type.isInteger(64);
}

/// A number that is not known: the size of dimension `dim` of the tensor or
/// memref `base`, or the number `base` where `dim` is -1.
struct UnknownSize {
  mlir::Value base;
  int64_t dim;

  std::pair<void *, int64_t> key() const {
    return {base.getAsOpaquePointer(), dim};
  }
  bool operator==(const UnknownSize &other) const {
    return key() == other.key();
  }
  bool operator<(const UnknownSize &other) const { return key() < other.key(); }
};

/// A constant times numbers that are not known, in an order of their own.
struct SizeProduct {
  int64_t factor = 1;
  llvm::SmallVector<UnknownSize, 2> unknown;

  bool isConstant() const { return unknown.empty(); }
  bool isUnit() const { return isConstant() && factor == 1; }
  bool operator==(const SizeProduct &other) const {
    return factor == other.factor && unknown == other.unknown;
  }
  bool operator<(const SizeProduct &other) const {
    return factor != other.factor ? factor < other.factor
                                  : unknown < other.unknown;
  }
};

/// The product of the two; none if it has too many parts or overflows.
std::optional<SizeProduct> multiply(const SizeProduct &a, const SizeProduct &b);

/// True if `a` is `b` times something, by their parts.
bool isMultiple(const SizeProduct &a, const SizeProduct &b);

/// The name of the function that computes the sizes of an entry's results.
std::string getShapesName(mlir::func::FuncOp entry);
/// That function; null where there is none.
mlir::func::FuncOp getShapes(mlir::SymbolTable &symbols,
                             mlir::func::FuncOp entry);

/// Follows sizes to where they come from, and knows which are equal. Keeps
/// nothing about operations but what it is told, so that these may change.
class SizeFacts {
public:
  SizeProduct of(mlir::Value shaped, int64_t d);
  SizeProduct of(mlir::OpFoldResult size);
  /// What the expression of the operands is; none if it is no product.
  std::optional<SizeProduct> of(mlir::AffineExpr expr,
                                mlir::ValueRange operands, unsigned dims);

  /// What an assertion says about sizes holds from here on; true if that is
  /// news.
  bool assume(mlir::cf::AssertOp op);
  bool assumeEqual(const SizeProduct &a, const SizeProduct &b);
  /// What callers of an entry on memrefs see to: its results have the sizes
  /// that its shape function returns.
  void assumeResults(mlir::func::FuncOp entry, mlir::func::FuncOp shapes);

private:
  SizeProduct ofSize(mlir::OpFoldResult size);
  SizeProduct ofShaped(mlir::Value shaped, int64_t d);
  std::optional<SizeProduct> ofCarried(mlir::Value value, int64_t d);
  std::optional<SizeProduct> ofDefined(mlir::OpResult result, int64_t d);
  std::optional<SizeProduct> ofNumber(mlir::Operation *op);
  std::optional<SizeProduct>
  ofExpression(mlir::AffineExpr expr, mlir::ValueRange operands, unsigned dims);
  SizeProduct lookUp(const UnknownSize &size, unsigned depth = 0);

  /// What numbers are equal to that need not be looked at any more.
  llvm::DenseMap<std::pair<void *, int64_t>, SizeProduct> known;
  /// Sizes of what loops carry that are being looked at, and those they start
  /// with: they have these if all that is looked at turns out to keep them.
  llvm::SmallVector<std::pair<UnknownSize, SizeProduct>> carriers;
  /// Steps left for the question at hand.
  unsigned steps = 0;
};

} // namespace polynest

#endif // POLYNEST_ANALYSIS_SIZES_H
