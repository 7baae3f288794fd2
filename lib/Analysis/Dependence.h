// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/Dependence.h: what must stay in order, and what may be changed.
//
// All answers are conservative: a dependence that cannot be excluded exists.
// `None` is given only with proof. Accesses through different views of one base
// are compared by their address in the base; accesses of memrefs that may alias
// but cannot be compared are Unknown. Reads never conflict with reads.
//
// Distances are differences of induction variables (sink minus source), not of
// iteration numbers. Costs: a pair of single-variable subscripts is decided by
// arithmetic; anything else is handed to isl with a bounded number of
// operations, beyond which the answer is Unknown.
#ifndef POLYNEST_ANALYSIS_DEPENDENCE_H
#define POLYNEST_ANALYSIS_DEPENDENCE_H

#include "Analysis/Access.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <memory>
#include <string>

namespace polynest {

class IslContext;

enum class DepKind {
  None,      ///< proven absent
  Dependent, ///< exists, or a sound approximation says so
  Unknown    ///< could not be analysed; treat as existing at every level
};

/// Inclusive bounds of a distance; an empty bound is unbounded.
struct DistanceRange {
  std::optional<int64_t> min, max;
  bool isZero() const { return min && max && *min == 0 && *max == 0; }
};

/// All dependences from one access to another that are carried by one loop (or
/// none): distances of the loops outside it are zero, its own is positive.
struct DependenceVector {
  /// Position in `commonLoops` of the loop that carries it, or
  /// `commonLoops.size()` for a dependence within one iteration of all.
  unsigned level = 0;
  /// One entry a common loop dimension, outermost first.
  llvm::SmallVector<DistanceRange, 6> distance;
};

/// One dimension of the loops around two accesses. An affine.parallel has
/// several; a loop of another dialect has one, of unknown extent.
struct LoopDim {
  mlir::Operation *loop;
  unsigned dim;
  bool operator==(const LoopDim &other) const {
    return loop == other.loop && dim == other.dim;
  }
};

struct DependenceInfo {
  DepKind kind = DepKind::None;
  /// Loop dimensions that enclose both accesses, outermost first.
  llvm::SmallVector<LoopDim, 6> commonLoops;
  /// With kind Dependent, one entry for each carrying level.
  llvm::SmallVector<DependenceVector, 4> vectors;
};

/// A reduction that a loop carries.
struct Reduction {
  mlir::arith::AtomicRMWKind kind = mlir::arith::AtomicRMWKind::assign;
  /// Position among iter_args; none if it is carried through memory.
  std::optional<unsigned> iterArg;
  /// The operation that combines.
  mlir::Operation *combiner = nullptr;
  /// The value combined into the accumulator.
  mlir::Value value;
  /// Load and store, if carried through memory.
  mlir::Operation *load = nullptr, *store = nullptr;
};

/// Holds the isl context and caches of one pass run. Answers are computed from
/// the IR when asked and stay right only while the IR stays as it is; call
/// `invalidate` after changing it. One thread at a time.
class DependenceAnalysis {
public:
  DependenceAnalysis();
  ~DependenceAnalysis();
  DependenceAnalysis(const DependenceAnalysis &) = delete;
  DependenceAnalysis &operator=(const DependenceAnalysis &) = delete;

  /// Accesses inside `op`, cached. Where `around`, an operation around it, has
  /// been asked about, they are taken from there.
  llvm::ArrayRef<Access> accessesOf(mlir::Operation *op,
                                    mlir::Operation *around = nullptr);
  void invalidate();

  /// Dependences whose source is an instance of `source` and whose sink is a
  /// later instance of `sink`, over all loops around both.
  DependenceInfo dependence(const Access &source, const Access &sink);

  /// Could any instance of `a` touch what any instance of `b` touches (in any
  /// order, with at least one write) during one run of the loops around both?
  DepKind overlap(const Access &a, const Access &b);
  /// The same over all runs of the loops around both.
  DepKind overlapAnywhere(const Access &a, const Access &b);

  /// All dependences between accesses inside `a` (sources) and inside `b`
  /// (sinks), either of them possibly the same operation. Pairs that are
  /// proven independent are left out.
  struct Pair {
    Access source, sink;
    DependenceInfo info;
  };
  llvm::SmallVector<Pair, 4> dependencesBetween(mlir::Operation *a,
                                                mlir::Operation *b);

  /// True if no dependence is carried by the loop and it has no iter_args
  /// (those are reported by `carriedReductions`). With `ignoreReductions`,
  /// recognized reductions do not count, neither iter_args nor those in
  /// memory, nor do `scans` further iter_args, which are the caller's affair.
  /// `reason` gets why not.
  bool loopIsParallel(mlir::affine::AffineForOp loop,
                      std::string *reason = nullptr,
                      bool ignoreReductions = false, unsigned scans = 0);

  /// True if the order of the band's loops may be changed so that loop
  /// perm[k] of the old band becomes loop k of the new one. The band must be
  /// perfectly nested. Judges dependences, not bounds: a bound that uses a
  /// loop which moves inward makes it false too.
  bool permutationIsLegal(llvm::ArrayRef<mlir::affine::AffineForOp> band,
                          llvm::ArrayRef<unsigned> perm,
                          std::string *reason = nullptr);

  /// True if the band is fully permutable: no dependence inside it has a
  /// negative distance in any of its loops. Then rectangular tiling is legal.
  bool tilingIsLegal(llvm::ArrayRef<mlir::affine::AffineForOp> band,
                     std::string *reason = nullptr);

  /// True if the outermost `depth` loops of two nests may be merged, with
  /// equal induction variables identified and the producer's body first. Asks
  /// that lower bounds and steps of merged loops are equal (upper bounds may
  /// differ: each body keeps its own range). Both nests must be in the same
  /// block, producer first; operations between them are the caller's to
  /// check, with `reorderIsLegal`.
  bool fusionIsLegal(mlir::affine::AffineForOp producer,
                     mlir::affine::AffineForOp consumer, unsigned depth,
                     std::string *reason = nullptr);

  /// Unless false, executing `a` and `b` in the other order, or at once, could
  /// change what either reads or what memory holds afterwards. Calls and
  /// unknown operations conflict with everything that touches memory.
  bool mayConflict(mlir::Operation *a, mlir::Operation *b);

  /// True if `a` and `b` (in one block) may swap places: no conflict and
  /// neither uses a value the other defines.
  bool reorderIsLegal(mlir::Operation *a, mlir::Operation *b,
                      std::string *reason = nullptr);

  /// True if running `op` twice in a row is the same as running it once, and
  /// running some of its iterations again, any time before what it reads
  /// changes, too: it reads nothing it writes, calls nothing, and writes each
  /// element at most once. Asked before a producer is computed again in slices.
  bool isRecomputable(mlir::Operation *op, std::string *reason = nullptr);

  /// The iterations of the loops around `writer` only (outermost first) that
  /// write what `reader` reads while the loops around both, and the outermost
  /// `depth` others around `reader`, stand still. Bounds are over `operands`:
  /// induction variables of those loops, then symbols; upper exclusive,
  /// multi-result lower bounds mean max, upper min. It covers all needed
  /// iterations, may cover more
  /// (`isExact` false), and never leaves the writer's own bounds. Declines
  /// loops with steps or with bounds that depend on each other.
  struct Slice {
    llvm::SmallVector<mlir::AffineMap, 4> lower, upper;
    llvm::SmallVector<mlir::Value, 8> operands;
    bool isExact = false;
  };
  std::optional<Slice> producerSlice(const Access &writer, const Access &reader,
                                     unsigned depth);

  /// Questions put to the solver so far, each some 10 us and more.
  unsigned countQuestions() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Reductions that `loop` carries: iter_args combined with one associative and
/// commutative operation (negation of the combined value allowed through
/// subtraction), and load-combine-store of a location that the loop does not
/// move and that nothing else in the loop touches. Floating-point sums and
/// products are listed too: reordering them is numerics (a) of the design.
/// A loop with any carried value that is not listed is not reorderable.
/// `accesses` are those of the loop, or of what is around it.
llvm::SmallVector<Reduction, 2>
carriedReductions(mlir::affine::AffineForOp loop);
llvm::SmallVector<Reduction, 2>
carriedReductions(mlir::affine::AffineForOp loop,
                  llvm::ArrayRef<Access> accesses);

/// The iter_args value of that number where one operation of the body combines
/// it with another value, for the next iteration and for all else that uses it:
/// each iteration shows what has been combined so far. None for subtractions.
std::optional<Reduction> matchScan(mlir::affine::AffineForOp loop,
                                   unsigned number);

} // namespace polynest

#endif // POLYNEST_ANALYSIS_DEPENDENCE_H
