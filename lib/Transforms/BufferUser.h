// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/BufferUser.h: what a nest touches of one buffer, and in which of
// its iterations.
#ifndef POLYNEST_TRANSFORMS_BUFFERUSER_H
#define POLYNEST_TRANSFORMS_BUFFERUSER_H

#include "Transforms/IndexBoxes.h"
#include "Transforms/NestMerge.h"

namespace polynest {

/// An index: values from outside of the nest, and loops of it by number.
struct NestIndex {
  LinearIndex fixed;
  llvm::SmallVector<std::pair<unsigned, int64_t>, 2> moving;
};

struct NestAccess {
  mlir::Operation *op;
  bool isWrite;
  llvm::SmallVector<NestIndex, 4> indices;
  /// What the nest touches of the buffer, at most.
  IndexBox box;
  /// The nest stores to each element of the box.
  bool isExact = false;
};

/// A nest that uses the buffer.
struct BufferUser {
  Nest nest;
  /// All loops around accesses, those of the band first.
  llvm::SmallVector<mlir::affine::AffineForOp, 6> loops;
  IndexBox ranges;
  /// Loops that go by steps of 1 and whose ranges are exact; others stay within
  /// theirs.
  llvm::SmallVector<bool, 6> isPlain;
  llvm::SmallVector<NestAccess, 4> accesses;
  /// Leading loops that may be cut.
  unsigned numCuttable = 0;
  bool isPointwise = false;

  explicit BufferUser(mlir::affine::AffineForOp root) : nest(root) {}
};

/// What is known of a nest, with its accesses of the buffer; none if some are
/// not understood.
std::optional<BufferUser> describeUser(mlir::affine::AffineForOp root,
                                       mlir::Value buffer);

/// Appends the iterations among `ranges` in which the access touches the box;
/// false where they cannot be told apart from others.
bool findIterations(const BufferUser &user, const IndexBox &ranges,
                    const NestAccess &access, const IndexBox &box,
                    llvm::SmallVectorImpl<IndexBox> &result);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_BUFFERUSER_H
