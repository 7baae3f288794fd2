// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/FilledBuffer.h: private buffers that one store fills.
//
// What passes share that compute elements where they are read.
#ifndef POLYNEST_TRANSFORMS_FILLEDBUFFER_H
#define POLYNEST_TRANSFORMS_FILLEDBUFFER_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace polynest {

/// A private buffer of plain layout with one store, in a nest beside the
/// allocation, and loads.
struct FilledBuffer {
  mlir::Value memref;
  mlir::affine::AffineStoreOp store;
  /// affine.load and memref.load.
  llvm::SmallVector<mlir::Operation *, 4> loads;
  /// The nest that holds the store.
  mlir::affine::AffineForOp root;
  /// Where findSweeps succeeds: the loops around the store from `root` inwards,
  /// and the dimension that each sweeps.
  llvm::SmallVector<mlir::affine::AffineForOp, 6> loops;
  llvm::SmallVector<unsigned, 4> dimOf;
};

/// The uses of a buffer, if it is one of these.
std::optional<FilledBuffer> matchFilledBuffer(mlir::Value memref);

/// True if the store reaches every element: nothing but loops stands around it,
/// each of which sweeps a dimension of its own from 0 by steps of 1; dimensions
/// that no loop sweeps have size 1.
bool findSweeps(FilledBuffer &buffer);

/// True if `op` runs when the buffer is filled.
bool comesBehind(mlir::Operation *op, const FilledBuffer &buffer);

/// Replaces the load, which has to come behind, by the element's computation:
/// a copy of `slice`, all that computes the stored value inside of the nest,
/// operands before users. Needs what findSweeps finds.
void computeAt(const FilledBuffer &buffer,
               llvm::ArrayRef<mlir::Operation *> slice,
               mlir::affine::AffineLoadOp load);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_FILLEDBUFFER_H
