// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/IslBridge.h: affine constraints as isl sets, with bounded cost.
//
// An AffineSystem is a conjunction of linear constraints over integer columns:
// dimensions, parameters and locals (quotients of floordiv and mod). It is
// filled from MLIR affine expressions and asked through isl. Every question
// may be given up: isl stops after a number of operations and never aborts, and
// a system that overflowed 64 bits answers nothing.
#ifndef POLYNEST_ANALYSIS_ISLBRIDGE_H
#define POLYNEST_ANALYSIS_ISLBRIDGE_H

#include "mlir/Dialect/Affine/IR/AffineValueMap.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>

struct isl_ctx;
struct isl_basic_set;

namespace polynest {

/// One isl_ctx with a bound on the operations of each query. One thread at a
/// time. Objects made from it must be freed before it.
class IslContext {
public:
  static constexpr unsigned long defaultMaxOperations = 200000;
  explicit IslContext(unsigned long maxOperations = defaultMaxOperations);
  ~IslContext();
  IslContext(const IslContext &) = delete;
  IslContext &operator=(const IslContext &) = delete;

  isl_ctx *get() const { return ctx; }
  /// Forgets the operations counted and the last error.
  void beginQuery();
  /// True if something failed since beginQuery (quota or other error).
  bool failed() const;
  /// Queries begun, and those given up, since the context was made.
  unsigned numQueries = 0, numGivenUp = 0;

private:
  isl_ctx *ctx;
};

/// Sum of columns times coefficients plus a constant.
struct LinearExpr {
  /// Sorted by column, no zero coefficients.
  llvm::SmallVector<std::pair<unsigned, int64_t>, 4> terms;
  int64_t constant = 0;

  static LinearExpr ofColumn(unsigned column) {
    LinearExpr expr;
    expr.terms.push_back({column, 1});
    return expr;
  }
  static LinearExpr ofConstant(int64_t value) {
    LinearExpr expr;
    expr.constant = value;
    return expr;
  }
  bool isConstant() const { return terms.empty(); }
  int64_t coefficient(unsigned column) const;
};

class AffineSystem {
public:
  enum class ColumnKind { Dim, Param, Local };

  unsigned addColumn(ColumnKind kind);
  unsigned numColumns() const { return kinds.size(); }
  ColumnKind kindOf(unsigned column) const { return kinds[column]; }

  /// lhs + factor * rhs; none on overflow.
  static std::optional<LinearExpr> add(const LinearExpr &lhs,
                                       const LinearExpr &rhs, int64_t factor);

  /// Adds expr == 0 or expr >= 0.
  void addEquality(LinearExpr expr) { equalities.push_back(std::move(expr)); }
  void addInequality(LinearExpr expr) {
    inequalities.push_back(std::move(expr));
  }

  /// The linear form of an affine expression whose dimension i is dims[i] and
  /// symbol i is symbols[i]. floordiv, ceildiv and mod by positive constants
  /// get a local column with its defining constraints. What is not linear
  /// after that (products, division by symbols) is handed to `opaque`, which
  /// may answer with a column. None without an answer or on overflow;
  /// constraints added on the way are then still true.
  using OpaqueFn =
      llvm::function_ref<std::optional<LinearExpr>(mlir::AffineExpr)>;
  std::optional<LinearExpr> flatten(mlir::AffineExpr expr,
                                    llvm::ArrayRef<LinearExpr> dims,
                                    llvm::ArrayRef<LinearExpr> symbols,
                                    OpaqueFn opaque = {});

  /// True or false if decided, none if given up.
  std::optional<bool> isEmpty(IslContext &isl) const;

  /// Inclusive integer bounds of an expression over the system; an empty bound
  /// is unbounded or was given up. Call only on systems not known to be empty.
  struct Bounds {
    std::optional<int64_t> min, max;
  };
  Bounds boundsOf(IslContext &isl, const LinearExpr &expr) const;

  /// Bounds of `column`, as affine maps of parameter columns (symbols of the
  /// map in the order of `params`), all other columns eliminated. The lower
  /// bound is the max of its results, the upper, exclusive, the min; the set
  /// may be larger than the exact one (`isExact` false). None if a bound is
  /// missing or was given up.
  struct SymbolicBounds {
    mlir::AffineMap lower, upper;
    bool isExact = false;
  };
  std::optional<SymbolicBounds>
  symbolicBoundsOf(IslContext &isl, unsigned column,
                   llvm::ArrayRef<unsigned> params,
                   mlir::MLIRContext *context) const;

  /// isl's text of the set, for tests and remarks.
  std::string toString(IslContext &isl) const;

private:
  isl_basic_set *toBasicSet(IslContext &isl,
                            llvm::ArrayRef<unsigned> params) const;

  llvm::SmallVector<ColumnKind, 16> kinds;
  llvm::SmallVector<LinearExpr, 16> equalities, inequalities;
};

} // namespace polynest

#endif // POLYNEST_ANALYSIS_ISLBRIDGE_H
