// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/NestUtils.h: what passes on nests share.
//
// Comparison of accesses by the form of their indices, without solving
// anything: answers "yes" are proofs. Estimates of work are in scalar cycles of
// a plain core and only meant for comparing nests with each other.
#ifndef POLYNEST_TRANSFORMS_NESTUTILS_H
#define POLYNEST_TRANSFORMS_NESTUTILS_H

#include "Analysis/Access.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

#include <optional>
#include <string>

namespace polynest {

class DependenceAnalysis;

/// Loops so marked are done: what they hold is vector code, or a micro-kernel
/// whose register tile is chosen, or a reduction that streams.
inline constexpr llvm::StringLiteral kVectorized = "polynest.vectorized";
inline constexpr llvm::StringLiteral kTiled = "polynest.tiled_registers";
inline constexpr llvm::StringLiteral kStreamed = "polynest.streamed";
/// On a loop over rows of sums of products: by the row, how many of the last
/// terms are zero, or NaN in a row that has another NaN. Zeros times what they
/// are multiplied by are added elsewhere.
inline constexpr llvm::StringLiteral kIdleTail = "polynest.idle_tail";
/// On the nest that runs where a form for few rows does not.
inline constexpr llvm::StringLiteral kManyRows = "polynest.many_rows";
/// On the functions that polynest-share-nests makes.
inline constexpr llvm::StringLiteral kShared = "polynest.shared";

/// Bytes of a cache line, nearly everywhere.
inline constexpr int64_t kLineBytes = 64;
/// Rows whose length is a multiple of so many bytes share few sets of a cache.
inline constexpr int64_t kAliasedBytes = 1024;

//===----------------------------------------------------------------------===//
// Comparing accesses
//===----------------------------------------------------------------------===//

/// True if `a` (inside `rootA`) and `b` (inside `rootB`) can only touch a
/// common element when the variables `ivsA` and `ivsB` are pairwise equal, or
/// never. Variables defined outside of both roots count as equal. The roots may
/// be one.
bool meetOnlyInStep(const Access &a, llvm::ArrayRef<mlir::Value> ivsA,
                    mlir::Operation *rootA, const Access &b,
                    llvm::ArrayRef<mlir::Value> ivsB, mlir::Operation *rootB);

/// True if the indices of the two have no common value in some dimension, by
/// constant bounds, over all iterations of all their loops.
bool haveDisjointRanges(const Access &a, const Access &b);

/// True if one of `accesses` may write what the memref holds; null stands for
/// any memory.
bool mayWrite(llvm::ArrayRef<Access> accesses, mlir::Value memref);

/// True if the two move by the same amount with each pair of variables, and
/// move with at least one.
bool moveAlike(const Access &a, llvm::ArrayRef<mlir::Value> ivsA,
               const Access &b, llvm::ArrayRef<mlir::Value> ivsB);

/// True if index `d` of both is the same linear function of variables and
/// symbols defined outside of `block`.
bool isSameIndex(const Access &a, const Access &b, unsigned d,
                 mlir::Block *block);

/// The induction variable of an index of the form c*iv + constant, or null.
mlir::Value getOnlyVariable(const Access &access, unsigned d);

/// True if no two accesses of `accesses` inside the loop can meet in different
/// iterations of it, and it carries no values: a proof that it is parallel.
bool isPlainlyParallel(mlir::affine::AffineForOp loop,
                       llvm::ArrayRef<Access> accesses);

/// Why one of the loops, all inside `root`, may not be parallel; empty if all
/// are.
std::string whyNotParallel(llvm::ArrayRef<mlir::affine::AffineForOp> loops,
                           mlir::affine::AffineForOp root,
                           DependenceAnalysis &dependences);

/// True if `loop` of the nest runs from 0 to a number of iterations that is not
/// constant and that stands still in the nest.
bool hasPlainTrips(mlir::affine::AffineForOp loop,
                   mlir::affine::AffineForOp root);

/// Rows that use an operand again: of one loop at most the number may be
/// unknown.
struct FewRows {
  mlir::affine::AffineForOp unknown;
  /// Up to how many of them, with those of the other loops, are few.
  int64_t mostUnknown = 0;
};

/// The loops of a nest over rows, if what is known of them is at most `most`.
std::optional<FewRows>
countFewRows(llvm::ArrayRef<mlir::affine::AffineForOp> rows,
             mlir::affine::AffineForOp root, int64_t most);

/// Puts the nest under the condition that `loop`, which has plain trips, runs
/// at most `most` times; a copy of it in the other branch is returned.
mlir::affine::AffineForOp versionOnTrips(mlir::affine::AffineForOp root,
                                         mlir::affine::AffineForOp loop,
                                         int64_t most);

/// The loops of the nest that stand alone in each other and carry no values.
llvm::SmallVector<mlir::affine::AffineForOp, 6>
getPlainBand(mlir::affine::AffineForOp root);

/// The loops around `op` up to `root`, outermost first; empty if anything else
/// stands between.
llvm::SmallVector<mlir::affine::AffineForOp, 6>
getLoopsAround(mlir::Operation *op, mlir::Operation *root);

/// The coefficients of a map's result, one for each operand and the constant;
/// empty where it is not linear.
llvm::SmallVector<int64_t, 8>
getCoefficients(const mlir::affine::AffineValueMap &map, unsigned result);

/// `expr` floordiv `divisor`, which is positive; of a quotient that is one of
/// what was divided.
mlir::AffineExpr divideIndex(mlir::AffineExpr expr, int64_t divisor);

/// True if an index of the access adds loops, so that windows of what it
/// touches overlap.
bool addsLoops(const Access &access);

/// True if the bounds and steps are equal once values of `a` are renamed.
bool haveEqualBounds(mlir::affine::AffineForOp a, mlir::affine::AffineForOp b,
                     const mlir::IRMapping &rename);

//===----------------------------------------------------------------------===//
// Estimates
//===----------------------------------------------------------------------===//

/// What a trip count that is not constant is taken for.
inline constexpr uint64_t dynamicTrips = 1024;
/// Elements of one vector operation, on average over element types.
inline constexpr uint64_t assumedLanes = 8;
/// Operations of any kind that a core takes in a cycle, once those of inner
/// loops are vector operations.
inline constexpr uint64_t vectorsPerCycle = 4;
/// Elements that reads in vector lanes may be apart and still come by whole
/// vectors, which are then shuffled.
inline constexpr int64_t maxLaneStride = 4;
/// Scalar cycles from which computing is dearer than moving the data.
inline constexpr uint64_t heavyCycles = 20;

uint64_t saturatingAdd(uint64_t a, uint64_t b);
uint64_t saturatingMultiply(uint64_t a, uint64_t b);

bool mayRunTwice(mlir::affine::AffineForOp loop);
uint64_t estimateTrips(mlir::affine::AffineForOp loop);
/// The trip count, where it is constant and fits 31 bits.
std::optional<int64_t> getSmallTripCount(mlir::affine::AffineForOp loop);
/// The same, or the most that a loop may run whose bounds move with others.
std::optional<int64_t> getMostTrips(mlir::affine::AffineForOp loop);

/// Where what is left of a loop begins whose whole tiles end at `covered`, a
/// map of the operands of its upper bound: not below where the loop begins,
/// which `covered` is for a loop that ends before that.
mlir::AffineMap getRestBegin(mlir::affine::AffineForOp loop,
                             mlir::AffineMap covered);
/// The product of such counts; `unknown` stands for one that is not known.
double countPoints(llvm::ArrayRef<mlir::affine::AffineForOp> loops,
                   double unknown = dynamicTrips);
/// Scalar cycles of one execution of `op`, inner loops multiplied out.
uint64_t estimateCycles(mlir::Operation *op);
/// Of all operations of a block.
uint64_t estimateCycles(mlir::Block *block);
/// True if an operation in the loop's body, which holds no loops, takes so long
/// that memory has time to come in: a function.
bool computesFunctions(mlir::affine::AffineForOp loop);

unsigned countOperations(mlir::Operation *root);
bool holdsLoops(mlir::Block *block);
/// A loop that computes functions in the same iterations later in the same
/// block, or null.
mlir::affine::AffineForOp findFunctionsBehind(mlir::affine::AffineForOp loop);

/// Bytes of a whole buffer of static shape.
std::optional<uint64_t> getBufferBytes(mlir::MemRefType type);
/// Where buffers begin that are put into one block: on cache lines of their
/// own, so that no two share one.
inline constexpr int64_t kBufferAlignment = 64;
/// Bytes of a buffer of static shape and plain layout, up to where the next may
/// begin.
std::optional<int64_t> getAlignedBytes(mlir::MemRefType type);

/// Bytes that the loops directly in `block` touch in one execution of it, and
/// how deep they are nested; none if not known.
std::optional<uint64_t> getInnerFootprint(mlir::Block *block, unsigned &depth);

/// True if the value is an input of an entry that is bound once and never
/// written.
bool isConstantInput(mlir::Value value);

/// True if all that these operations load, and they load something, is bound
/// once.
bool isBoundOnce(llvm::ArrayRef<mlir::Operation *> slice);

/// True if all that these operations load, and they load something, is bound
/// once or was computed from such alone: polynest-split-constants computes it
/// once. Unlike what is bound it is there behind the nests that store it only.
bool isComputedOnce(llvm::ArrayRef<mlir::Operation *> slice);

//===----------------------------------------------------------------------===//
// What passes begin with
//===----------------------------------------------------------------------===//

/// Offers each loop, from the outside, to `take`, which fills in `reason` where
/// it has a form but is not taken; loops inside of either are not offered, nor
/// are those that are done. Remarks on the latter; returns their number.
unsigned takeNests(
    mlir::func::FuncOp function, llvm::StringRef passName,
    llvm::function_ref<bool(mlir::affine::AffineForOp)> isDone,
    llvm::function_ref<bool(mlir::affine::AffineForOp, std::string &reason)>
        take);

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

/// What the mapping has for the values, themselves where it has nothing.
llvm::SmallVector<mlir::Value> lookUp(const mlir::IRMapping &mapping,
                                      mlir::ValueRange values);

/// A loop with the bounds, their operands looked up in `mapping`, and the step
/// of `loop`, none of its attributes, that carries `inits`. As that of any new
/// loop its body is what `body` makes; without that it is empty, but for a
/// terminator where nothing is carried.
mlir::affine::AffineForOp
copyLoop(mlir::OpBuilder &builder, mlir::Location loc,
         mlir::affine::AffineForOp loop, const mlir::IRMapping &mapping = {},
         mlir::ValueRange inits = {},
         mlir::affine::AffineForOp::BodyBuilderFn body = nullptr);

/// For loops whose body, with the terminator, is made later.
void leaveEmpty(mlir::OpBuilder &, mlir::Location, mlir::Value,
                mlir::ValueRange);

/// Lets operations inside of `root` take in what computes their indices.
void composeIndices(mlir::Operation *root);

/// Has what uses the variable `iv` of the loop, or of one around it, use the
/// value of the map at the start of the loop's body instead, but for operations
/// in `kept`.
mlir::affine::AffineApplyOp
replaceVariable(mlir::Value iv, mlir::affine::AffineForOp loop,
                mlir::AffineMap map, mlir::ValueRange operands,
                const llvm::SmallPtrSetImpl<mlir::Operation *> *kept = nullptr);

/// Memref of an affine.load or affine.store.
mlir::Value getMemRef(mlir::Operation *access);
/// Map and operands of such an access.
std::pair<mlir::AffineMap, llvm::SmallVector<mlir::Value>>
getPlace(mlir::Operation *access);
/// The dimension of such an access that the value alone indexes; none if it is
/// anywhere else, or stored.
std::optional<unsigned> getOnlyDim(mlir::Operation *access, mlir::Value iv);
/// Replaces an affine.load or affine.store by one of another place.
void movePlace(mlir::Operation *access, mlir::Value memref, mlir::AffineMap map,
               llvm::SmallVector<mlir::Value> operands);

/// The memref with `count` dimensions from `first` on as one.
mlir::Value joinDimensions(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value memref, unsigned first, unsigned count);

/// Moves `op` before `other` of the same block; unlike Operation::moveBefore
/// keeps the numbering of the block, so that many moves stay cheap.
void moveWithinBlock(mlir::Operation *op, mlir::Operation *other);

/// Replaces loops that run exactly once by their bodies, but for the last loop
/// of a nest at the top of `function`, so that a nest stays a nest.
void dropUnitLoops(mlir::func::FuncOp function);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_NESTUTILS_H
