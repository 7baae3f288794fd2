// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/LinearIndex.h: indices that are sums of values times constants.
//
// Answers are proofs: "yes" means for all values that the operands may have, by
// their ranges; what is not known is never answered with "yes".
#ifndef POLYNEST_ANALYSIS_LINEARINDEX_H
#define POLYNEST_ANALYSIS_LINEARINDEX_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/IR/AffineValueMap.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace polynest {

/// A constant plus values times constants that are not 0, each value once.
struct LinearIndex {
  int64_t constant = 0;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 4> terms;

  LinearIndex() = default;
  LinearIndex(int64_t constant) : constant(constant) {}
  bool isConstant() const { return terms.empty(); }
  /// What the value is times; 0 if it is not there.
  int64_t factorOf(mlir::Value value) const;

  // Each adds so many times something. On overflow false, and what is here has
  // no meaning any more.
  bool add(int64_t number, int64_t factor);
  bool add(mlir::Value value, int64_t factor);
  bool add(const LinearIndex &other, int64_t factor);
};

/// The linear form of an expression over `operands`, dimensions first; none if
/// it is not linear or a number overflows.
std::optional<LinearIndex> getLinearIndex(mlir::AffineExpr expr,
                                          unsigned numDims,
                                          mlir::ValueRange operands);
/// That of a result of a map.
std::optional<LinearIndex>
getLinearIndex(const mlir::affine::AffineValueMap &map, unsigned result);
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

} // namespace polynest

#endif // POLYNEST_ANALYSIS_LINEARINDEX_H
