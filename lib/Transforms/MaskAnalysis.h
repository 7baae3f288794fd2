// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/MaskAnalysis.h: what masked columns hold in the nests of a block.
#ifndef POLYNEST_TRANSFORMS_MASKANALYSIS_H
#define POLYNEST_TRANSFORMS_MASKANALYSIS_H

#include "Transforms/ColumnMask.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace polynest {

/// What masked columns of a buffer, or a value computed from them, hold.
/// `Zero` stands for 0, or NaN where a column that is left holds NaN, too.
enum class Hidden { None, NegativeInfinity, BelowMaximum, Zero, Product };

struct HiddenValue {
  Hidden kind = Hidden::None;
  /// Values with one number are the same in each column.
  unsigned id = 0;
  /// Product: what zero is multiplied by.
  mlir::Value factor;
};

struct HiddenBuffer {
  unsigned dim = 0;
  HiddenValue value;
  /// Of each other dimension, how many rows are stored.
  llvm::SmallVector<LoopEnd, 4> rows;
};

/// A sum of zeros times `factor` over the columns of `loop`.
struct MaskedProduct {
  mlir::affine::AffineForOp loop, root;
  mlir::Value factor;
  llvm::SmallVector<mlir::Operation *> slice;
  /// Loops of the nest that the factor depends on, outermost first.
  llvm::SmallVector<mlir::affine::AffineForOp> loops;
};

/// Follows what masked columns hold through the nests of a block.
class MaskAnalysis {
public:
  MaskAnalysis(ColumnMask &mask, mlir::Block *block)
      : mask(mask), block(block) {}

  /// Why the loops over columns cannot be cut short, or null.
  const char *run();

  llvm::SmallVector<mlir::affine::AffineForOp> columns;
  llvm::SmallVector<MaskedProduct> products;
  /// Of each nest the loop over the rows that mask.row counts; null where what
  /// masked columns hold does not stay in its row.
  mlir::affine::AffineForOp getRowLoop(mlir::affine::AffineForOp nest) const {
    return staysInRow ? rowLoops.lookup(nest) : mlir::affine::AffineForOp();
  }

private:
  const char *visitNest(mlir::affine::AffineForOp nest);
  const char *visitColumn(mlir::affine::AffineForOp column,
                          mlir::affine::AffineForOp nest);
  const char *visitStore(mlir::affine::AffineStoreOp store,
                         mlir::affine::AffineForOp column,
                         mlir::affine::AffineForOp nest);
  const char *visitCarried(mlir::affine::AffineForOp column, unsigned i,
                           mlir::affine::AffineForOp nest);
  void visitOperation(mlir::Operation *op, mlir::affine::AffineForOp column);
  HiddenValue lookup(mlir::Value value) const { return values.lookup(value); }
  mlir::affine::AffineForOp
  getSweep(mlir::AffineMap map, mlir::ValueRange operands, unsigned d) const;
  std::optional<llvm::SmallVector<mlir::Value>>
  getRows(mlir::Operation *access, unsigned dim,
          mlir::affine::AffineForOp nest);
  void followRow(mlir::Operation *access, unsigned dim,
                 mlir::affine::AffineForOp nest);
  bool isMaximum(mlir::Value row, unsigned id) const;
  bool isSum(mlir::Value row, unsigned id) const;

  ColumnMask &mask;
  mlir::Block *block;
  llvm::DenseMap<mlir::Value, HiddenBuffer> buffers;
  llvm::DenseMap<mlir::Value, HiddenValue> values;
  /// Rows whose value is the maximum, or the sum, of columns with a number.
  llvm::DenseMap<mlir::Value, unsigned> maxima, sums;
  /// Numbers of columns that are exponentials: 0 and above, or NaN.
  llvm::SmallDenseSet<unsigned> exponentials;
  unsigned nextId = 1;
  /// Which of the rows' variables of an access mask.row is.
  std::optional<size_t> rowPlace;
  bool staysInRow = true;
  llvm::DenseMap<mlir::Operation *, mlir::affine::AffineForOp> rowLoops;
};

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_MASKANALYSIS_H
