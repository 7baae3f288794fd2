// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/PlaceNests.h: extremes and their places along outer loops.
//
// Along any axis but the last, the maximum of some values and the places where
// they equal it are two nests, each of which combines rows in memory. With the
// loop that reduces innermost both stand in one nest, each carried by a loop,
// which polynest-track-places then makes one.
#ifndef POLYNEST_TRANSFORMS_PLACENESTS_H
#define POLYNEST_TRANSFORMS_PLACENESTS_H

#include "Analysis/Dependence.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "llvm/ADT/SmallVector.h"

namespace polynest {

/// True for maxima and minima of integers, and those of floats that keep NaN.
bool isExtreme(mlir::Operation *op);

/// Two nests written as one.
struct CarriedPlaces {
  mlir::affine::AffineForOp root;
  /// The loop that carries the place.
  mlir::affine::AffineForOp places;
  /// What `root` stands for: both nests, and those that fill what they begin
  /// with.
  llvm::SmallVector<mlir::affine::AffineForOp, 4> replaced;
};

/// Writes the nest that combines places, and the one in front of it that
/// combines the extremes it asks for, as one in front of `root`. All stay, so
/// that the caller erases either what is replaced or what is new. Null loops
/// where that is not what `root` is, or is not legal: loops over rows are to be
/// parallel, the nest of extremes to move down to the other, and both to begin
/// with constants that nests alone store.
CarriedPlaces carryPlaces(mlir::affine::AffineForOp root,
                          DependenceAnalysis &dependences);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_PLACENESTS_H
