// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/Search.h: loops that look for the best value and where it stands.
//
// Such a loop carries a value and a place, as an argmax does:
//     better = P(x, best)
//     best' = select(better, x, best), or the maximum or minimum of both
//     at' = select(better, index, at)
// where P is made of comparisons of x with best and of each with itself. What P
// says is read off its truth table over the ways two numbers may compare, so
// that any spelling of it is the same. Parts of the iterations may be searched
// apart, in lanes or in order, if P orders numbers: of what two parts found,
// the better one is taken, and of equals the earlier or the later place, as P
// does.
#ifndef POLYNEST_ANALYSIS_SEARCH_H
#define POLYNEST_ANALYSIS_SEARCH_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

#include <array>
#include <optional>

namespace polynest {

class AffineValueBuilder;

/// How x and y compare; without NaN the first three.
enum class Relation { Less, Equal, Greater, NanFirst, NanSecond, NanBoth };
inline constexpr unsigned numRelations = 6;

/// What a condition on two numbers is for each of them; the last three false
/// where numbers are integers.
using TruthTable = std::array<bool, numRelations>;

/// The table of `condition`, which compares `x` with `y` and each with itself,
/// as they are or widened; none for any other. Fills `parts` with what computes
/// it.
std::optional<TruthTable>
getTruthTable(mlir::Value condition, mlir::Value x, mlir::Value y,
              llvm::SmallPtrSetImpl<mlir::Operation *> &parts);

struct Search {
  /// Positions among iter_args.
  unsigned value = 0, place = 0;
  /// What is compared with the best value so far, and where it stands.
  mlir::Value candidate, index;
  /// True where the candidate is taken, or, where `isNegated`, is not.
  mlir::Value condition;
  bool isNegated = false;
  /// The best value so far, in the body.
  mlir::Value best;
  /// Of values that equal each other, or are both NaN, the last is taken.
  bool takesLast = false;
  /// How the value is carried, if not by the condition.
  std::optional<mlir::arith::AtomicRMWKind> kind;
};

/// True if each iteration of the loop moves `place`, which `values` expresses,
/// up by the same number, and nothing else in it moves it.
bool ascends(mlir::AffineExpr place, const AffineValueBuilder &values,
             mlir::affine::AffineForOp loop);

/// The search whose place `loop` carries at that position, if it is one whose
/// parts may be searched apart: what is found by each, combined by `emitChoice`
/// in any order, is what the loop finds. Places ascend.
std::optional<Search> matchSearch(mlir::affine::AffineForOp loop,
                                  unsigned place);

/// All of them, one for each place.
llvm::SmallVector<Search, 1> findSearches(mlir::affine::AffineForOp loop);

/// True if the iter_args value of that number is the value or the place of one.
bool isSearched(llvm::ArrayRef<Search> searches, unsigned number);

/// Whether `candidate` is better than `best`, scalars or vectors.
mlir::Value emitBetter(mlir::OpBuilder &builder, mlir::Location loc,
                       const Search &search, mlir::Value candidate,
                       mlir::Value best);

/// A value and its place.
struct Found {
  mlir::Value value, place;
};

/// What is found of a part and the one behind it, scalars or vectors.
Found emitNext(mlir::OpBuilder &builder, mlir::Location loc,
               const Search &search, Found soFar, Found next);

/// The same of two parts, whichever of them is first.
Found emitChoice(mlir::OpBuilder &builder, mlir::Location loc,
                 const Search &search, Found a, Found b);

} // namespace polynest

#endif // POLYNEST_ANALYSIS_SEARCH_H
