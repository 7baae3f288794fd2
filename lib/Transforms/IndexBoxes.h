// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/IndexBoxes.h: boxes of indices whose bounds need not be constant.
//
// Answers are proofs: "yes" means for all values that the bounds' operands may
// have, by their ranges; what is not known is never answered with "yes".
#ifndef POLYNEST_TRANSFORMS_INDEXBOXES_H
#define POLYNEST_TRANSFORMS_INDEXBOXES_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace polynest {

/// A constant plus values times constants.
struct LinearIndex {
  int64_t constant = 0;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 2> terms;

  LinearIndex() = default;
  LinearIndex(int64_t constant) : constant(constant) {}
  bool isConstant() const { return terms.empty(); }
};

/// The linear form of an expression over `operands`, dimensions first; none if
/// it is not linear or a number overflows.
std::optional<LinearIndex> getLinearIndex(mlir::AffineExpr expr,
                                          unsigned numDims,
                                          mlir::ValueRange operands);
/// a + factor * b, or none on overflow.
std::optional<LinearIndex> addIndex(const LinearIndex &a, const LinearIndex &b,
                                    int64_t factor = 1);
/// True if a <= b, or a == b.
bool isAtMost(const LinearIndex &a, const LinearIndex &b);
bool isSameNumber(const LinearIndex &a, const LinearIndex &b);
/// The expression of the index, for operands that are appended to `operands`
/// as symbols.
mlir::AffineExpr getIndexExpr(const LinearIndex &index,
                              llvm::SmallVectorImpl<mlir::Value> &operands,
                              unsigned &numSymbols, mlir::MLIRContext *context);

/// Indices [low, high) of one dimension; none of them where high < low.
struct IndexSide {
  LinearIndex low, high;
};
using IndexBox = llvm::SmallVector<IndexSide, 4>;

/// The number of indices of a side, and of a box, where that is constant.
std::optional<int64_t> getExtent(const IndexSide &side);
std::optional<int64_t> getVolume(const IndexBox &box);
bool areDisjoint(const IndexBox &a, const IndexBox &b);
bool isInside(const IndexBox &inner, const IndexBox &outer);
/// The smallest box around both.
std::optional<IndexBox> joinBoxes(const IndexBox &a, const IndexBox &b);
/// Appends boxes that make up what of `a` is not in `b`; false if that is not
/// known.
bool subtractBox(const IndexBox &a, const IndexBox &b,
                 llvm::SmallVectorImpl<IndexBox> &rest);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_INDEXBOXES_H
