// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/ChainCost.h: whether it pays to run nests block by block.
#ifndef POLYNEST_TRANSFORMS_CHAINCOST_H
#define POLYNEST_TRANSFORMS_CHAINCOST_H

#include "Transforms/NestChain.h"

namespace polynest {

/// One core's own cache, what programs get of the last one, who shares it, and
/// the bytes that it gives in the time of one from memory.
struct CacheSizes {
  uint64_t coreBytes, sharedBytes, cores, memoryCost;

  uint64_t coreShare() const { return sharedBytes / cores; }

  /// Cost of moving `bytes` of what has `size` bytes in all, as bytes of the
  /// last cache.
  uint64_t countCost(uint64_t bytes, uint64_t size) const;
};

/// True if what the node reads from the chain outgrows one core's cache, and
/// each iteration reads much more of it than it reads again of operands.
bool isWorthLinking(const NestChain &chain, const NestNode &node,
                    const CacheSizes &sizes);

/// Why a chain should not run one iteration of its common loops at a time, or
/// null.
const char *judgeIterations(NestChain &chain, const CacheSizes &sizes);

/// Chooses the rows of a block; why the chain should stay apart, or null.
const char *judgeRows(NestChain &chain, const CacheSizes &sizes);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_CHAINCOST_H
