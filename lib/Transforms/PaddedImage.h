// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/PaddedImage.h: private buffers that are filled, overwritten but
// for a border, and read by one nest.
//
// What passes share that pad less than the whole, or elsewhere.
#ifndef POLYNEST_TRANSFORMS_PADDEDIMAGE_H
#define POLYNEST_TRANSFORMS_PADDEDIMAGE_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/IR/AffineValueMap.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace polynest {

/// Indices [low, high) of one dimension.
struct Range {
  int64_t low = 0, high = 0;
  int64_t size() const { return std::max<int64_t>(high - low, 0); }
};

/// A private buffer that is filled, overwritten in part and read.
struct PaddedImage {
  mlir::Operation *alloc = nullptr;
  /// Stores of one value, and that of the copy.
  llvm::SmallVector<mlir::affine::AffineStoreOp, 2> fills;
  mlir::affine::AffineStoreOp copy;
  mlir::affine::AffineLoadOp source;
  llvm::SmallVector<mlir::affine::AffineLoadOp, 4> reads;
  /// The indices of each read.
  llvm::SmallVector<mlir::affine::AffineValueMap, 4> maps;
  /// The nests of the copy and of the reads.
  mlir::Operation *copyNest = nullptr;
  mlir::affine::AffineForOp consumer;
  /// What is overwritten of each dimension, by which loop (null for an index
  /// that stands still), and what is added to its variable.
  llvm::SmallVector<Range, 4> box;
  llvm::SmallVector<mlir::affine::AffineForOp, 4> loops;
  llvm::SmallVector<int64_t, 4> offsets;

  /// What the copy loads, over variables of `loops` and values from outside.
  mlir::AffineMap sourceMap;
  llvm::SmallVector<mlir::Value> sourceOperands;

  mlir::MemRefType type() const {
    return llvm::cast<mlir::MemRefType>(
        mlir::Value(alloc->getResult(0)).getType());
  }
  bool hasBorder(unsigned d) const {
    return box[d].low != 0 || box[d].high != type().getDimSize(d);
  }
  mlir::Value padding() const {
    return mlir::affine::AffineStoreOp(fills.front()).getValueToStore();
  }
};

/// The image that `alloc` holds, if all its uses are those of one: everything
/// but a box may be taken for padding when the consumer begins.
std::optional<PaddedImage> matchPaddedImage(mlir::Operation *alloc);

/// True if nothing writes to the source of the copy from the copy on until the
/// consumer is done.
bool isSourceKept(const PaddedImage &image);

/// Loads from the source of the copy what the image has at `indices`, a map of
/// `operands`, which lie in the box.
mlir::Value loadSource(mlir::OpBuilder &builder, const PaddedImage &image,
                       mlir::AffineMap indices, mlir::ValueRange operands);

/// For each dimension, if it is one without a border of which all reads have
/// the same index, from outside of `loop`.
llvm::SmallVector<bool, 4> findFixedIndices(const PaddedImage &image,
                                            mlir::affine::AffineForOp loop);

/// True if `loop` moves one of the indices that stand still inside of it.
bool movesFixedIndex(const PaddedImage &image, llvm::ArrayRef<bool> isFixed,
                     mlir::affine::AffineForOp loop);

/// Fills a part of a buffer with the padding of the image.
void emitFill(mlir::OpBuilder builder, const PaddedImage &image,
              mlir::Value buffer, llvm::ArrayRef<Range> filled);

/// Copies a part of the image to the indices `copied` of a buffer, whose first
/// element has the place `begin`, a map of `operands`, in the image.
void emitCopy(mlir::OpBuilder builder, const PaddedImage &image,
              mlir::Value buffer, llvm::ArrayRef<Range> copied,
              mlir::AffineMap begin, mlir::ValueRange operands);

/// Removes the stores, and the buffer, which nothing may read any more.
void eraseImage(PaddedImage &image);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_PADDEDIMAGE_H
