// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/ChainBlocks.h: how loops are cut in blocks, and buffers to one.
#ifndef POLYNEST_TRANSFORMS_CHAINBLOCKS_H
#define POLYNEST_TRANSFORMS_CHAINBLOCKS_H

#include "Transforms/NestChain.h"

namespace polynest {

/// Cuts a loop in blocks: it becomes the loop over full blocks, around a loop
/// over the rows of one.
void cutInBlocks(mlir::affine::AffineForOp loop, int64_t rows);

/// The type of a buffer of one block. Rows that would lie in few sets of a
/// cache, where products read several of them at once, are an odd number of
/// lines apart.
mlir::MemRefType getBlockType(const ChainBuffer &buffer,
                              const NestChain &chain);

/// A buffer of one block.
mlir::Value makeBlockBuffer(mlir::OpBuilder &builder, const ChainBuffer &buffer,
                            const NestChain &chain);

/// Has the nests in `body` use `small`, a buffer of one block.
void shrinkBuffer(ChainBuffer &buffer, mlir::Value small, mlir::Block *body,
                  bool isIteration);

/// Repeats the body of the loop over blocks behind it, for the rows that are
/// left.
void appendRest(mlir::affine::AffineForOp blocks,
                mlir::affine::AffineForOp nest, const NestChain &chain);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_CHAINBLOCKS_H
