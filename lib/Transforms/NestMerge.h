// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/NestMerge.h: whether and how two nests become one.
//
// Passes that merge leading loops of nests (polynest-fuse-nests,
// polynest-fuse-blocks) ask here whether the order of accesses allows it, what
// has to move so that the nests stand side by side, and have their bodies put
// together.
#ifndef POLYNEST_TRANSFORMS_NESTMERGE_H
#define POLYNEST_TRANSFORMS_NESTMERGE_H

#include "Analysis/Access.h"
#include "Analysis/NestGraph.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace polynest {

/// How many nodes may be moved out of the way.
inline constexpr unsigned maxMovedNodes = 16;

/// A nest as fusion sees it. What is asked for more than once is kept, so that
/// a nest is looked at once as long as it does not change.
struct Nest {
  mlir::affine::AffineForOp root;
  llvm::SmallVector<mlir::affine::AffineForOp, 6> band;
  llvm::SmallVector<Access, 8> accesses;

  explicit Nest(mlir::affine::AffineForOp root);
  explicit Nest(const NestNode &node);

  llvm::SmallVector<mlir::Value, 6> ivs(unsigned depth);
  mlir::Block *bodyAt(unsigned depth) { return band[depth - 1].getBody(); }

  unsigned getSize();
  uint64_t getCycles();
  /// Leading loops of the band that are parallel.
  unsigned getNumParallel();
  uint64_t countTrips(unsigned depth);
  /// Loops around the outermost reduction loop of a contraction: two reads move
  /// with the reduction, and each stands still in a loop that the result and
  /// the other move with, so that tiling reuses both. None if the nest holds
  /// none.
  std::optional<unsigned> getContraction();
  /// True if each contraction still has a loop for the rows and one for the
  /// columns of its tiles when `depth` loops are taken from it, but for some
  /// iterations of the last of them.
  bool keepsTiles(unsigned depth);

private:
  /// Loops around contractions, as above.
  struct TileLoops {
    unsigned depth;
    /// How many loops may be taken: one more than stand in front of the last
    /// loop of rows, or of columns, whichever comes first.
    unsigned most;
  };
  const std::optional<TileLoops> &getTileLoops();
  static std::optional<TileLoops> findTileLoops(Nest &nest);

  std::optional<unsigned> size, numParallel;
  std::optional<uint64_t> cycles;
  std::optional<std::optional<TileLoops>> tileLoops;
};

/// True if every access directly in `block` is contiguous or stands still in
/// `loop`, so that the block's operations can run as vectors along it.
bool isContiguousIn(mlir::Block *block, mlir::affine::AffineForOp loop);

/// Number of leading loops of the two bands with equal bounds and steps.
unsigned countEqualLoops(Nest &a, Nest &b);

/// True if the loops run alike, one after the other; pairs their variables.
bool runAlike(llvm::ArrayRef<mlir::affine::AffineForOp> a,
              llvm::ArrayRef<mlir::affine::AffineForOp> b,
              mlir::IRMapping &rename);

/// True if both name the same place once loops of `a` are those of `b`.
bool isSamePlace(const Access &a, const Access &b,
                 const mlir::IRMapping &rename);

/// Why merging at `depth` could change what an access sees, or null.
const char *whyOrderBreaks(Nest &producer, Nest &consumer, unsigned depth);

/// True if the call may end at the operation or inside of it.
bool hasAssertion(mlir::Operation *op);

/// An assertion may guard indirect accesses of the other nest, and two
/// assertions would fail in another order: why so, or null.
const char *whyAssertionsMove(Nest &producer, Nest &consumer);

/// The operations that must move before `point`, in order, so that `op` can
/// stand there: what makes its operands and lies behind `point` in the block.
/// False if one of them cannot move.
bool collectOperands(mlir::Operation *op, mlir::Operation *point,
                     llvm::SetVector<mlir::Operation *> &list);

/// How two nests of one block come to stand side by side.
struct Move {
  /// Put before the producer, in this order.
  llvm::SetVector<mlir::Operation *> hoisted;
  /// The consumer goes to the producer, or the other way round.
  bool consumerMoves = true;
};

/// By the edges of the graph; none if what stands between depends on both.
std::optional<Move> planMove(NestGraph &graph, NestNode &producer,
                             NestNode &consumer);

/// Moves nodes and operations, so that the two nests stand side by side.
void applyMove(const Move &move, NestGraph &graph, NestNode &producer,
               NestNode &consumer);

/// Puts the producer's body before the consumer's inside the merged loops, and
/// returns the first operation of the consumer. What is left of the producer is
/// an empty band.
mlir::Operation *mergeBodies(Nest &producer, Nest &consumer, unsigned depth);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_NESTMERGE_H
