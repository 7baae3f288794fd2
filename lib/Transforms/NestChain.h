// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/NestChain.h: nests that may run block by block of common loops.
//
// What polynest-fuse-blocks knows of the nests that it puts together, the loops
// that they have in common and the buffers by which they hand on rows.
#ifndef POLYNEST_TRANSFORMS_NESTCHAIN_H
#define POLYNEST_TRANSFORMS_NESTCHAIN_H

#include "Transforms/NestMerge.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <optional>

namespace polynest {

/// A private buffer, and in which index each common loop stands.
struct ChainBuffer {
  mlir::memref::AllocOp alloc;
  llvm::SmallVector<unsigned, 4> indexOf;
  /// Bytes that one row of a block takes, and how often they are touched.
  uint64_t rowBytes = 0;
  unsigned touches = 0;
  /// The buffer of the chain whose place it takes, itself where it has its own.
  unsigned place = 0;
};

/// Nests that may run together at `depth` common loops, in program order.
struct NestChain {
  llvm::SmallVector<NestNode *, 4> nodes;
  llvm::SmallVector<Nest, 4> nests;
  unsigned depth = 0;
  llvm::SmallVector<ChainBuffer, 4> buffers;
  /// Rows of a block; all of them where the last common loop is not cut, which
  /// one that runs an unknown number of times always is.
  int64_t rows = 1;
  std::optional<int64_t> trips;
  /// A block is one iteration of all common loops, such as an image, in which
  /// nests keep rows and columns of their own.
  bool isIteration = false;

  bool isCut() const { return !isIteration && (!trips || rows < *trips); }
  /// Loops that are merged as they are.
  unsigned outerLoops() const {
    return isIteration || isCut() ? depth : depth - 1;
  }
  /// Loops that products must be able to spare: blocks of rows leave them some
  /// iterations of the last.
  unsigned takenLoops() const { return isIteration ? depth + 1 : depth; }
  /// True if a node writes `base`, a buffer that may shrink.
  bool writes(mlir::Value base) const;
};

/// True if the node may be one of a chain. Not what is to run once, when
/// constants are bound.
bool canTakePart(const NestNode &node);

/// A buffer that this function makes, once; null for anything else.
mlir::memref::AllocOp getPlainAlloc(mlir::Value base);

/// Bytes of a buffer; a size that is not known is taken for a large one.
uint64_t estimateBytes(mlir::MemRefType type);

/// Why the two cannot run together at `depth` loops, or null.
const char *whyNotTogether(Nest &producer, Nest &consumer, unsigned depth);

/// The most common loops at which the two may run together; for none zero and
/// the reason. Products keep `spare` iterations of loops beyond.
unsigned findDepth(Nest &producer, Nest &consumer, unsigned spare,
                   const char *&why);

/// Finds the buffers that only nests of the chain use and of which all name the
/// common loops alike, and which of them take the places of others.
void collectBuffers(NestChain &chain);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_NESTCHAIN_H
