// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/ColumnMask.h: conditions on indices that put -inf in columns.
#ifndef POLYNEST_TRANSFORMS_COLUMNMASK_H
#define POLYNEST_TRANSFORMS_COLUMNMASK_H

#include "Analysis/AffineValues.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <optional>

namespace polynest {

/// A bound of the columns: a linear function of values from outside of the
/// block.
struct ColumnBound {
  /// Factors of values from outside of the block, and what is added to them.
  llvm::SmallVector<std::pair<int64_t, mlir::Value>> terms;
  int64_t constant = 0;
  IntegerRange range;
  /// The same as a map.
  mlir::AffineMap map;
  llvm::SmallVector<mlir::Value> operands;
};

/// How often a loop from 0 by steps of 1 runs: a number, or a value.
struct LoopEnd {
  int64_t number = -1;
  mlir::Value value;

  bool operator==(const LoopEnd &other) const {
    return number == other.number && value == other.value;
  }
};

/// A select that puts -inf in masked columns of a buffer.
struct ColumnMask {
  mlir::affine::AffineStoreOp store;
  mlir::arith::SelectOp select;
  /// What columns have that are not masked.
  mlir::Value kept;
  mlir::affine::AffineForOp column;
  /// From `end` on all rows of the block are masked; before `first` none is by
  /// the same condition, which is the only one where `isOnly`.
  bool hasEnd = false, isOnly = false;
  ColumnBound end, first;
  /// The variable of the nest's loop over rows of which each is masked one
  /// column later than the one before, if that is so.
  mlir::Value row;
  /// All rows are masked before this column.
  bool hasStart = false;
  ColumnBound start;
};

/// A bound as a map of values.
void makeMap(ColumnBound &bound, mlir::MLIRContext *context);

/// How often a loop from 0 by steps of 1 runs, if that is a constant or a value
/// as it is.
std::optional<LoopEnd> getEnd(mlir::affine::AffineForOp loop);

/// True if the bound is proven not to lie behind `size`.
bool isWithin(const ColumnBound &bound, const LoopEnd &size);

/// The nest directly in `block` around `op`.
mlir::affine::AffineForOp getNest(mlir::Block *block, mlir::Operation *op);

/// True for a private buffer with plain accesses only.
bool isPlainBuffer(mlir::Value memref);

bool isNegativeInfinity(mlir::Value value);

/// Looks for a mask behind the store; false if there is none.
bool matchMask(mlir::affine::AffineStoreOp store, ColumnMask &mask);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_COLUMNMASK_H
