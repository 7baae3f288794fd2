//===- IslBridge.cpp - affine constraints as isl sets ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Analysis/IslBridge.h"

#include "mlir/IR/AffineMap.h"
#include "llvm/Support/MathExtras.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/ilp.h>
#include <isl/mat.h>
#include <isl/options.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <cstdlib>

using namespace mlir;

namespace polynest {

//===----------------------------------------------------------------------===//
// IslContext
//===----------------------------------------------------------------------===//

IslContext::IslContext(unsigned long maxOperations) : ctx(isl_ctx_alloc()) {
  // Errors come back as null objects; nothing is printed and nothing aborts.
  isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
  isl_ctx_set_max_operations(ctx, maxOperations);
}

IslContext::~IslContext() { isl_ctx_free(ctx); }

void IslContext::beginQuery() {
  isl_ctx_reset_error(ctx);
  isl_ctx_reset_operations(ctx);
  ++numQueries;
}

bool IslContext::failed() const {
  return isl_ctx_last_error(ctx) != isl_error_none;
}

//===----------------------------------------------------------------------===//
// Linear expressions
//===----------------------------------------------------------------------===//

int64_t LinearExpr::coefficient(unsigned column) const {
  for (auto [at, factor] : terms)
    if (at == column)
      return factor;
  return 0;
}

std::optional<LinearExpr> AffineSystem::add(const LinearExpr &lhs,
                                            const LinearExpr &rhs,
                                            int64_t factor) {
  LinearExpr sum;
  int64_t scaled;
  if (llvm::MulOverflow(rhs.constant, factor, scaled) ||
      llvm::AddOverflow(lhs.constant, scaled, sum.constant))
    return std::nullopt;
  const auto *a = lhs.terms.begin(), *b = rhs.terms.begin();
  while (a != lhs.terms.end() || b != rhs.terms.end()) {
    bool takeA =
        b == rhs.terms.end() || (a != lhs.terms.end() && a->first <= b->first);
    bool takeB =
        a == lhs.terms.end() || (b != rhs.terms.end() && b->first <= a->first);
    unsigned column = takeA ? a->first : b->first;
    int64_t value = takeA ? a->second : 0;
    if (takeB && (llvm::MulOverflow(b->second, factor, scaled) ||
                  llvm::AddOverflow(value, scaled, value)))
      return std::nullopt;
    if (value != 0)
      sum.terms.push_back({column, value});
    a += takeA;
    b += takeB;
  }
  return sum;
}

unsigned AffineSystem::addColumn(ColumnKind kind) {
  kinds.push_back(kind);
  return kinds.size() - 1;
}

std::optional<LinearExpr> AffineSystem::flatten(AffineExpr expr,
                                                ArrayRef<LinearExpr> dims,
                                                ArrayRef<LinearExpr> symbols,
                                                OpaqueFn opaque) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return LinearExpr::ofConstant(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<LinearExpr> lhs =
      flatten(binary.getLHS(), dims, symbols, opaque);
  if (!lhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add) {
    std::optional<LinearExpr> rhs =
        flatten(binary.getRHS(), dims, symbols, opaque);
    return rhs ? add(*lhs, *rhs, 1) : std::nullopt;
  }
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!constant ||
      (expr.getKind() != AffineExprKind::Mul && constant.getValue() <= 0))
    return opaque ? opaque(expr) : std::nullopt;
  int64_t factor = constant.getValue();
  if (expr.getKind() == AffineExprKind::Mul)
    return add(LinearExpr::ofConstant(0), *lhs, factor);
  // q = floor(e / c) is the q with 0 <= e - c q <= c - 1; ceil(e / c) is
  // floor((e + c - 1) / c).
  LinearExpr numerator = *lhs;
  if (expr.getKind() == AffineExprKind::CeilDiv &&
      llvm::AddOverflow(numerator.constant, factor - 1, numerator.constant))
    return std::nullopt;
  LinearExpr quotient = LinearExpr::ofColumn(addColumn(ColumnKind::Local));
  std::optional<LinearExpr> remainder = add(numerator, quotient, -factor);
  if (!remainder)
    return std::nullopt;
  std::optional<LinearExpr> rest =
      add(LinearExpr::ofConstant(factor - 1), *remainder, -1);
  if (!rest)
    return std::nullopt;
  addInequality(*remainder);
  addInequality(*rest);
  return expr.getKind() == AffineExprKind::Mod ? *remainder : quotient;
}

//===----------------------------------------------------------------------===//
// Questions to isl
//===----------------------------------------------------------------------===//

/// The rows as a matrix whose first columns are those of the system in the
/// order of `place`, the last the constant.
static isl_mat *toMatrix(isl_ctx *ctx, ArrayRef<LinearExpr> rows,
                         ArrayRef<unsigned> place) {
  unsigned width = place.size() + 1;
  isl_mat *matrix = isl_mat_alloc(ctx, rows.size(), width);
  for (auto [r, row] : llvm::enumerate(rows)) {
    for (unsigned c = 0; c != width; ++c)
      matrix = isl_mat_set_element_si(matrix, r, c, 0);
    for (auto [column, factor] : row.terms)
      matrix = isl_mat_set_element_val(matrix, r, place[column],
                                       isl_val_int_from_si(ctx, factor));
    matrix = isl_mat_set_element_val(matrix, r, width - 1,
                                     isl_val_int_from_si(ctx, row.constant));
  }
  return matrix;
}

/// All columns as dimensions of the set, parameters too: for emptiness and
/// bounds over all parameter values that makes no difference.
isl_basic_set *AffineSystem::toBasicSet(IslContext &isl,
                                        ArrayRef<unsigned> params) const {
  SmallVector<unsigned, 32> place(numColumns(), ~0u);
  for (auto [i, column] : llvm::enumerate(params))
    place[column] = i;
  unsigned next = params.size();
  for (unsigned &at : place)
    if (at == ~0u)
      at = next++;
  isl_space *space = isl_space_set_alloc(isl.get(), params.size(),
                                         numColumns() - params.size());
  return isl_basic_set_from_constraint_matrices(
      space, toMatrix(isl.get(), equalities, place),
      toMatrix(isl.get(), inequalities, place), isl_dim_param, isl_dim_set,
      isl_dim_div, isl_dim_cst);
}

std::optional<bool> AffineSystem::isEmpty(IslContext &isl) const {
  // What needs no solver: rows without variables.
  for (const LinearExpr &row : equalities)
    if (row.isConstant() && row.constant != 0)
      return true;
  for (const LinearExpr &row : inequalities)
    if (row.isConstant() && row.constant < 0)
      return true;
  isl.beginQuery();
  isl_basic_set *set = toBasicSet(isl, {});
  isl_bool empty = isl_basic_set_is_empty(set);
  isl_basic_set_free(set);
  if (empty == isl_bool_error || isl.failed()) {
    ++isl.numGivenUp;
    return std::nullopt;
  }
  return empty == isl_bool_true;
}

static std::optional<int64_t> toInt(isl_val *value) {
  std::optional<int64_t> result;
  // Larger magnitudes than 2^62 stand for unbounded: sound, and safe to add to.
  if (value && isl_val_is_int(value) == isl_bool_true &&
      isl_val_cmp_si(value, INT64_MAX / 2) < 0 &&
      isl_val_cmp_si(value, -(INT64_MAX / 2)) > 0)
    result = isl_val_get_num_si(value);
  isl_val_free(value);
  return result;
}

AffineSystem::Bounds AffineSystem::boundsOf(IslContext &isl,
                                            const LinearExpr &expr) const {
  Bounds bounds;
  if (expr.isConstant()) {
    bounds.min = bounds.max = expr.constant;
    return bounds;
  }
  isl.beginQuery();
  isl_basic_set *set = toBasicSet(isl, {});
  isl_aff *aff = isl_aff_zero_on_domain(
      isl_local_space_from_space(isl_basic_set_get_space(set)));
  aff = isl_aff_set_constant_val(aff,
                                 isl_val_int_from_si(isl.get(), expr.constant));
  for (auto [column, factor] : expr.terms)
    aff = isl_aff_set_coefficient_val(aff, isl_dim_in, int(column),
                                      isl_val_int_from_si(isl.get(), factor));
  bounds.max = toInt(isl_basic_set_max_val(set, aff));
  aff = isl_aff_neg(aff);
  bounds.min = toInt(isl_basic_set_max_val(set, aff));
  if (bounds.min)
    bounds.min = -*bounds.min;
  isl_aff_free(aff);
  isl_basic_set_free(set);
  if (isl.failed()) {
    ++isl.numGivenUp;
    return {};
  }
  return bounds;
}

namespace {
struct BoundCollector {
  MLIRContext *context;
  unsigned numParams;
  SmallVector<AffineExpr, 4> lower, upper;
  bool failed = false;

  /// The parametric part of a constraint as an expression over symbols.
  AffineExpr paramPart(isl_constraint *constraint) {
    std::optional<int64_t> constant =
        toInt(isl_constraint_get_constant_val(constraint));
    if (!constant)
      return {};
    AffineExpr expr = getAffineConstantExpr(*constant, context);
    for (unsigned i = 0; i != numParams; ++i) {
      std::optional<int64_t> factor = toInt(
          isl_constraint_get_coefficient_val(constraint, isl_dim_param, i));
      if (!factor)
        return {};
      expr = expr + getAffineSymbolExpr(i, context) * *factor;
    }
    return expr;
  }

  /// a x + e >= 0: x >= ceil(-e / a) if a > 0, else x <= floor(e / -a).
  void add(AffineExpr e, int64_t a) {
    if (a > 0)
      lower.push_back((-e).ceilDiv(a));
    else
      upper.push_back(e.floorDiv(-a) + 1);
  }

  void visit(isl_constraint *constraint) {
    std::optional<int64_t> a =
        toInt(isl_constraint_get_coefficient_val(constraint, isl_dim_set, 0));
    AffineExpr e = paramPart(constraint);
    if (!a || !e) {
      failed = true;
      return;
    }
    if (*a == 0)
      return;
    add(e, *a);
    if (isl_constraint_is_equality(constraint) == isl_bool_true)
      add(-e, -*a);
  }
};
} // namespace

std::optional<AffineSystem::SymbolicBounds>
AffineSystem::symbolicBoundsOf(IslContext &isl, unsigned column,
                               ArrayRef<unsigned> params,
                               MLIRContext *context) const {
  isl.beginQuery();
  isl_basic_set *set = toBasicSet(isl, params);
  // The set's dimensions are the columns that are no parameters, in order.
  unsigned place = 0;
  for (unsigned c = 0; c != column; ++c)
    place += !llvm::is_contained(params, c);
  unsigned numDims = numColumns() - params.size();
  set = isl_basic_set_project_out(set, isl_dim_set, place + 1,
                                  numDims - place - 1);
  set = isl_basic_set_project_out(set, isl_dim_set, 0, place);
  set = isl_basic_set_detect_equalities(set);
  isl_basic_set *exact = isl_basic_set_copy(set);
  set = isl_basic_set_remove_divs(set);
  set = isl_basic_set_remove_redundancies(set);
  isl_bool isExact = isl_basic_set_is_equal(set, exact);
  isl_basic_set_free(exact);
  BoundCollector collector{context, unsigned(params.size()), {}, {}};
  isl_constraint_list *list = isl_basic_set_get_constraint_list(set);
  int size = list ? isl_constraint_list_n_constraint(list) : 0;
  for (int i = 0; i < size; ++i) {
    isl_constraint *constraint = isl_constraint_list_get_constraint(list, i);
    if (constraint)
      collector.visit(constraint);
    isl_constraint_free(constraint);
  }
  isl_constraint_list_free(list);
  isl_basic_set_free(set);
  if (isl.failed() || collector.failed || collector.lower.empty() ||
      collector.upper.empty()) {
    ++isl.numGivenUp;
    return std::nullopt;
  }
  SymbolicBounds bounds;
  bounds.lower = simplifyAffineMap(
      AffineMap::get(0, params.size(), collector.lower, context));
  bounds.upper = simplifyAffineMap(
      AffineMap::get(0, params.size(), collector.upper, context));
  bounds.isExact = isExact == isl_bool_true;
  return bounds;
}

std::string AffineSystem::toString(IslContext &isl) const {
  isl.beginQuery();
  SmallVector<unsigned> params;
  for (unsigned c = 0; c != numColumns(); ++c)
    if (kinds[c] == ColumnKind::Param)
      params.push_back(c);
  isl_basic_set *set = toBasicSet(isl, params);
  // Locals are quantified: what is printed is the set over the dimensions.
  unsigned numDims = numColumns() - params.size();
  SmallVector<unsigned> places;
  unsigned place = 0;
  for (unsigned c = 0; c != numColumns(); ++c) {
    if (kinds[c] == ColumnKind::Param)
      continue;
    if (kinds[c] == ColumnKind::Local)
      places.push_back(place);
    ++place;
  }
  (void)numDims;
  for (unsigned at : llvm::reverse(places))
    set = isl_basic_set_project_out(set, isl_dim_set, at, 1);
  char *text = isl_basic_set_to_str(set);
  std::string result = text ? text : "given up";
  free(text);
  isl_basic_set_free(set);
  return result;
}

} // namespace polynest
