// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/Access.h: what memory an operation touches, and how.
//
// An Access is one operation touching one memref. Its map gives the index of
// the first element touched, one result a memref dimension, over induction
// variables and symbols; `extent` says how many elements follow in each
// dimension (1 for a scalar, the vector's size along the dimensions it covers).
// Strides are counted in elements, footprints in bytes.
#ifndef POLYNEST_ANALYSIS_ACCESS_H
#define POLYNEST_ANALYSIS_ACCESS_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/IR/AffineValueMap.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace polynest {

struct Access {
  /// The operation that touches memory.
  mlir::Operation *op = nullptr;
  /// The memref it names; null if it may touch any memory.
  mlir::Value memref;
  /// The memref's base (see getBaseMemref); null if `memref` is.
  mlir::Value base;
  /// Index of the first element, fully composed with affine.apply and
  /// canonicalized. Operands are induction variables of affine loops and
  /// symbols. Meaningful only if `isAffine()`.
  mlir::affine::AffineValueMap map;
  bool isWrite = false;
  /// Some index is not an affine function of loops and symbols: any element
  /// of the memref may be touched.
  bool isIndirect = false;
  /// A copy, call or unknown operation: any element, any number of times.
  bool isWhole = false;
  /// May touch fewer elements than `extent` says (mask, out-of-bounds
  /// transfers, conditional writes): such a write covers nothing for sure.
  bool isPartial = false;
  /// Elements touched from the index on, one entry a memref dimension.
  llvm::SmallVector<int64_t, 4> extent;

  bool isAffine() const { return memref && !isIndirect && !isWhole; }
};

/// Appends every access inside `root` (itself included) in program order, at
/// most two for an operation on one memref (a read and a write). Operations
/// that are pure or only allocate add nothing. Without indices, which take most
/// of the time, accesses of elements are as if these were not affine.
void collectAccesses(mlir::Operation *root,
                     llvm::SmallVectorImpl<Access> &accesses,
                     bool withIndices = true);

/// The affine value of an index: through affine.apply, constants and arith
/// add, subtract and multiply by constants. Fails where an operand is neither
/// an induction variable of an enclosing affine loop nor a symbol.
std::optional<mlir::affine::AffineValueMap> getAffineValue(mlir::Value index);

/// The affine loops (affine.for and affine.parallel) around `op`, outermost
/// first; with `inside`, only those inside it or equal to it.
void getEnclosingAffineLoops(mlir::Operation *op,
                             llvm::SmallVectorImpl<mlir::Operation *> &loops,
                             mlir::Operation *inside = nullptr);

/// Loops of the perfect band rooted at `root`, outermost first: each body holds
/// exactly one loop and nothing else but the terminator.
llvm::SmallVector<mlir::affine::AffineForOp, 6>
getPerfectBand(mlir::affine::AffineForOp root);

/// True for loops over 0, 1, 2 and so on.
bool countsFromZero(mlir::affine::AffineForOp loop);

/// Trip count where bounds are constant or differ by a constant.
std::optional<uint64_t> getTripCount(mlir::affine::AffineForOp loop);
/// The same for each dimension; none unless all are known.
std::optional<llvm::SmallVector<uint64_t, 4>>
getTripCounts(mlir::affine::AffineParallelOp loop);

/// Distance in elements between what consecutive iterations of `loop` touch,
/// linearized through the memref's layout. None if the access is not affine,
/// not linear in the induction variable (mod, floordiv), or the layout's
/// strides along the moving dimensions are dynamic.
std::optional<int64_t> getStride(const Access &access,
                                 mlir::affine::AffineForOp loop);
/// The same for one unit of an arbitrary induction variable.
std::optional<int64_t> getStridePerUnit(const Access &access, mlir::Value iv);

/// Stride classes. Reuse follows from them: Invariant is temporal reuse,
/// Contiguous is spatial reuse.
enum class Contiguity { Invariant, Contiguous, Strided, Unknown };
Contiguity getContiguity(const Access &access, mlir::affine::AffineForOp loop);

/// The access expressed in the index space of the memref furthest up its chain
/// of views that can be named: through subview, cast, transpose, expand_shape
/// and collapse_shape with affine offsets and static inner sizes. Extents may
/// grow to cover what a strided view skips. The access itself if there is
/// nothing to resolve.
Access throughViews(const Access &access);

/// Address in bytes, from the start of the base, of the first element that the
/// access touches: through every view whose layout is static. One result.
std::optional<mlir::affine::AffineValueMap>
getByteAddress(const Access &access);

/// True if the access's indices do not depend on the variable.
bool isInvariantTo(const Access &access, mlir::Value iv);

/// Inclusive bounds of one index.
struct IndexRange {
  int64_t min, max;
};

/// Constant bounds of an induction variable, from its loop's bounds and those
/// of the loops around.
std::optional<IndexRange> getConstantRange(mlir::Value iv);

/// Constant bounds of each index of the access (of all the elements it
/// touches, extent included) over all iterations of all its loops; an entry is
/// empty where a bound is not constant. Indirect and whole accesses give empty
/// entries.
llvm::SmallVector<std::optional<IndexRange>, 4>
getConstantRange(const Access &access);

/// True if all that the access touches is there for any values of its loops,
/// even if they do not run: constant bounds within a static shape.
bool isInBounds(const Access &access);

/// Affine bounds of each index while the loops in `moving` (and all loops
/// inside them) run and everything else stays: lower[d] and upper[d] are
/// single-result maps over `operands` (dims then symbols), upper exclusive.
struct AffineRange {
  llvm::SmallVector<mlir::AffineMap, 4> lower, upper;
  llvm::SmallVector<mlir::Value, 8> operands;
};
/// `outermostMoving` is the outermost loop that runs. Fails where the index is
/// not linear in a moving variable or a bound is a max or min of several.
std::optional<AffineRange> getAffineRange(const Access &access,
                                          mlir::Operation *outermostMoving);

/// Upper bound on the bytes touched by one full execution of `loop` (all loops
/// inside included; all outside fixed), or none if unknown. Accesses of one
/// base are joined to a box where both boxes are constant apart from a common
/// offset; otherwise added.
std::optional<uint64_t> getFootprintBytes(llvm::ArrayRef<Access> accesses,
                                          mlir::Operation *loop);

/// Bytes of one element as stored (i1 takes 1); none for index-like types of
/// unknown size.
std::optional<int64_t> getElementBytes(mlir::Type elementType);

} // namespace polynest

#endif // POLYNEST_ANALYSIS_ACCESS_H
