// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/VectorizeUtils.h: the mechanics of vectorizing one loop in place.
//
// A vectorized loop runs in stages: a main stage of `interleave` vectors of
// `width` lanes an iteration, then narrower ones, then the scalar loop for what
// is left. Values of the body are either uniform (equal in all lanes, kept
// scalar) or varying (one vector for each of the interleaved ones).
#ifndef POLYNEST_TRANSFORMS_VECTORIZEUTILS_H
#define POLYNEST_TRANSFORMS_VECTORIZEUTILS_H

#include "Analysis/Dependence.h"
#include "Analysis/Search.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/IR/AffineValueMap.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace polynest {

/// How the lanes of one vector meet memory.
enum class LaneForm {
  Uniform,    ///< all lanes at one element
  Contiguous, ///< lane l at l elements after lane 0
  Reversed,   ///< lane l at l elements before lane 0
  Strided,    ///< lane l at 2 l to 4 l elements after lane 0, in one row
  Separate    ///< anything else: lane by lane
};

struct LaneAccess {
  LaneForm form = LaneForm::Separate;
  /// Elements between lanes; for Contiguous, Reversed and Strided.
  int64_t stride = 0;
};

/// Where the lanes of a vector begin: at lane 0 of iterations
/// `start + width * step * t`. Without a constant start nothing is known.
struct LaneLattice {
  int64_t step = 1;
  unsigned width = 1;
  std::optional<int64_t> start;
};

/// What `expr` gains from one lane to the next while dimension `position` is
/// the vectorized variable; none if that differs between lanes. Handles
/// floordiv and mod where the lattice keeps all lanes in one period.
std::optional<int64_t> getLaneDelta(mlir::AffineExpr expr, unsigned position,
                                    const LaneLattice &lattice);

/// True if lanes along the loop, `width` iterations from its beginning on, then
/// the next, are all at one element: the access does not move with the loop, or
/// by the index of a group of whole vectors, a floordiv.
bool standsStillInLanes(const Access &access, mlir::affine::AffineForOp loop,
                        unsigned width);

/// True for elements whose vectors lie in memory as the elements do: whole
/// bytes of a power of two. Vectors of i1 or i4 are packed, memrefs of them
/// are not.
bool hasVectorLayout(mlir::Type elementType);

/// The composed, canonical index map of an affine.load, store or prefetch.
mlir::affine::AffineValueMap getIndexMap(mlir::Operation *access);

/// The composed map of an affine.apply, min or max.
mlir::affine::AffineValueMap getValueMap(mlir::Operation *op);

/// Form of an affine.load or affine.store in lanes of the variable `iv`.
LaneAccess classifyLanes(mlir::Operation *access, mlir::Value iv,
                         const LaneLattice &lattice);

/// Trip count of a loop as far as it is known.
struct TripInfo {
  /// Exact count.
  std::optional<int64_t> exact;
  /// Upper bound, from whichever upper bound is a constant away.
  std::optional<int64_t> most;
  /// Constant lower bound.
  std::optional<int64_t> start;
  /// For each result of the upper bound map, its distance from the lower bound
  /// in iterations where constant, or a number that it is known to be a
  /// multiple of unless it is at most 0.
  llvm::SmallVector<int64_t, 2> divisors;
};

/// None if the lower bound is a max of several, the step 0, or the end further
/// than memory is large.
std::optional<TripInfo> getTripInfo(mlir::affine::AffineForOp loop);

/// What is known about the values inside a loop that is to be vectorized.
struct LaneFacts {
  /// Values that may differ between lanes.
  llvm::DenseSet<mlir::Value> varying;
  /// Sums in a reduction whose addend is a product used nowhere else: they
  /// become fused multiply-adds. From sum to product.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> products;
  llvm::DenseSet<mlir::Operation *> fusedProducts;
  /// One entry for each iter_args value of the loop, in their order.
  llvm::SmallVector<Reduction, 2> reductions;
  /// Pairs of them that look for a value and its place; of either, and of what
  /// combines them, the reduction says nothing.
  llvm::SmallVector<Search, 1> searches;
  /// The combiners of those that each iteration shows what was combined so far.
  llvm::DenseSet<mlir::Operation *> scans;
  /// Loops inside whose rows may be turned in registers, to the accesses of
  /// theirs that move along a row while lanes stand in different rows.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *, 4>>
      squares;
  /// Running an iteration twice gives what running it once does.
  bool isRepeatable = false;

  bool isVarying(mlir::Value value) const { return varying.contains(value); }
};

/// Form of a memref.load, Contiguous or Separate, in lanes of the variable
/// `iv`: contiguous where data choose at most what all lanes have in common.
LaneAccess classifyLanes(mlir::memref::LoadOp load, mlir::Value iv,
                         const LaneFacts &facts, const LaneLattice &lattice);

/// True if all lanes of a memref.store write to one row, wherever it lies: lane
/// l at l elements after lane 0, by the variable or an affine operation on it.
bool isRowOfLanes(mlir::memref::StoreOp store, mlir::Value iv,
                  const LaneFacts &facts);

/// Most lanes of a square: as many vectors are in registers at once.
inline constexpr unsigned maxSquareLanes = 16;

/// Fills `squares` for the loops inside `loop`. The accesses are those that may
/// be made for several iterations at once: loads of what nothing in the body
/// stores, and stores of what nothing else in it touches.
void findSquares(mlir::affine::AffineForOp loop, LaneFacts &facts);

/// Turns as many vectors as each has lanes, a power of two: lane l of vector v
/// becomes lane v of vector l.
void turnSquare(mlir::OpBuilder &builder, mlir::Location loc,
                llvm::MutableArrayRef<mlir::Value> vectors);

/// One stretch of a vectorized loop.
struct VectorStage {
  enum Kind {
    /// Goes on where the stage before stopped.
    Next,
    /// With an unknown trip count: one vector that ends where the loop does, if
    /// whole vectors do not make up the loop and it holds at least one.
    MovedBack,
    /// Follows a MovedBack stage, for loops that hold no whole vector.
    Short
  };
  Kind kind = Next;
  unsigned width = 1;
  /// 1: the scalar loop, if width is 1 too.
  unsigned interleave = 1;
  /// With a known trip count: first iteration and number of (vector)
  /// iterations.
  int64_t begin = 0, count = 0;
  /// By how many iterations the last of the interleaved vectors is moved back,
  /// so that it ends where the loop does and repeats some of what the one
  /// before it does. Off the lattice then.
  int64_t shift = 0;
};

struct VectorPlan {
  mlir::affine::AffineForOp loop;
  LaneFacts facts;
  TripInfo trip;
  unsigned width = 1, interleave = 1;
  /// Of a register.
  unsigned vectorBits = 0;
  llvm::SmallVector<VectorStage, 4> stages;
};

/// The upper bound that alone may leave an incomplete chunk, given that
/// `canSplitAt` holds; none if all are whole chunks away.
std::optional<unsigned> findOpenBound(const TripInfo &trip, int64_t chunk);

/// True if the boundary between a stage of `chunk` iterations and the next can
/// be written as one affine bound.
bool canSplitAt(const TripInfo &trip, int64_t chunk);

/// True if combining a value twice is combining it once.
bool isIdempotent(mlir::arith::AtomicRMWKind kind);

/// What changes nothing when combined by a kind that is not idempotent. For
/// sums -0.0: +0.0 would turn a sum of -0.0 alone into +0.0.
mlir::TypedAttr getNeutral(mlir::arith::AtomicRMWKind kind, mlir::Type element);

/// Carries out the plan; the loop is replaced.
void vectorizeLoop(const VectorPlan &plan);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_VECTORIZEUTILS_H
