// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/FusionCost.h: whether it pays to merge two nests.
#ifndef POLYNEST_TRANSFORMS_FUSIONCOST_H
#define POLYNEST_TRANSFORMS_FUSIONCOST_H

#include "Transforms/NestMerge.h"

#include <optional>

namespace polynest {

/// Options of polynest-fuse-nests, in bytes and cycles. What takes `farBytes`
/// or more goes to memory.
struct FusionLimits {
  uint64_t redundantPercent, cacheBytes, farBytes, stackBytes, parallelTrips;
  uint64_t smallWorkCycles;
  uint64_t accesses, operations;
};

/// What merging two nests at some depth means, in numbers.
struct FusionCost {
  /// Iterations that may run at once: of the merged loops, and before.
  uint64_t parallelTrips = 1, parallelTripsBefore = 1;
  /// Estimated cycles of both nests together.
  uint64_t workCycles = 0;
  /// Bytes that one iteration of the merged loops touches in inner loops; none
  /// if not known.
  std::optional<uint64_t> sliceBytes = 0;
  /// Loops of the deepest part inside the merged ones.
  unsigned innerLoops = 0;
  /// Bytes of memory traffic that go away, as far as known.
  uint64_t savedBytes = 0;
  unsigned accesses = 0, operations = 0;
  /// Operations that stop running in vectors, in percent of the cycles of the
  /// merged iteration.
  uint64_t scalarPercent = 0;
  /// A contraction would lose the loops that tiling needs.
  bool splitsContraction = false;
  /// One nest writes what the other reads. If not, they share reads, or a
  /// result that both write to, of `savedBytes`, and the smaller one touches
  /// `smallerBytes`.
  bool flows = false, sharesWritesOnly = true;
  uint64_t smallerBytes = 0;
  /// Each iteration would write to several rows and compute nothing in loops.
  bool scattersWrites = false;
  /// Each iteration would write elements that are rows of a result apart.
  bool writesAcrossRows = false;
};

/// What merging the outermost `depth` loops of the two means.
FusionCost measureFusion(Nest &producer, Nest &consumer, unsigned depth,
                         uint64_t cacheBytes);

/// Why the merge does not pay, or null.
const char *judgeFusion(const FusionCost &cost, const FusionLimits &limits);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_FUSIONCOST_H
