// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/ContractionBlocks.h: how a contraction is cut, and its code.
//
// polynest-block-contractions decides (BlockContractions.cpp) and then has the
// blocked form written (EmitContraction.cpp).
#ifndef POLYNEST_TRANSFORMS_CONTRACTIONBLOCKS_H
#define POLYNEST_TRANSFORMS_CONTRACTIONBLOCKS_H

#include "Analysis/Contraction.h"
#include "Support/DotForm.h"
#include "Target/ContractionModel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace polynest {

/// On the buffer of a packed operand: what is packed and why, for explanations.
inline constexpr llvm::StringLiteral kPacked = "polynest.packed";

/// A loop and how it is cut: `tile` iterations a block, each worth `weight` of
/// the group's points.
struct CutLoop {
  mlir::affine::AffineForOp loop;
  std::optional<int64_t> trips;
  int64_t tile = 1;
  int64_t weight = 0;
  /// Where it is not constant: the number of iterations, the most and the
  /// fewest that it may be, and what it is a multiple of.
  mlir::Value tripValue;
  std::optional<int64_t> most;
  int64_t fewest = 0;
  int64_t divisor = 1;
  /// Iterations that make up one point: words of narrow elements. Everything
  /// above counts points; the last one lacks iterations where there is a rest.
  int64_t part = 1;
  bool hasRest = false;
  /// Iterations, where they are constant and where not.
  std::optional<int64_t> iterations;
  mlir::Value iterationValue;
  /// Of the batch: runs inside of the loops over blocks of rows.
  bool isInner = false;

  /// One block holds them all.
  bool isWhole() const {
    return trips ? *trips <= tile : most && !isPlain() && *most <= tile;
  }
  bool isPlain() const { return tile == 1 && weight == 0; }
  /// All blocks are full.
  bool isEven() const { return divisor % tile == 0; }
};

/// Loops of one role, outermost first.
struct LoopGroup {
  llvm::SmallVector<CutLoop, 4> loops;
  /// Points of a full block.
  int64_t points = 1;

  /// The loop that all points of a block are of, where that is one: those
  /// inside of it run once.
  const CutLoop &onlyLoop() const {
    for (const CutLoop &cut : llvm::reverse(loops))
      if (cut.tile > 1)
        return cut;
    return loops.back();
  }
};

/// A loop of a block of depth that runs around even runs of rows in place: how
/// it is cut, and the elements from one iteration to the next.
struct RunLoop {
  CutLoop cut;
  int64_t step;
};

/// How the row side reaches the micro-kernel: from where it is, from a copy of
/// all of it that is made once, or from a copy of the open block.
enum class RowMode { InPlace, Ahead, PackedByRow, PackedByDepth };

/// Narrow elements of both sides, of which one instruction takes `step`
/// consecutive ones of the depth. Packed, they lie in words of 32 bits.
struct DotChoice {
  DotElement row, column;
  int64_t step = 1;
  /// What is added to the elements of one side, so that they have no sign, or
  /// have one; the micro-kernel takes it off again.
  int64_t rowOffset = 0, columnOffset = 0;

  /// The same with the offset on the other side.
  DotChoice withOtherMoved() const {
    return {column, row, step, columnOffset, rowOffset};
  }
};

/// Indices, both ends included, outside of which a dimension of a padded image
/// holds zeros, and the share of all rows and taps that read within.
struct ImageRange {
  unsigned dim;
  int64_t low, high;
  double inside = 1;
};

struct Blocking {
  Contraction contraction;
  /// All zeros until it is chosen.
  pn_model_contraction_plan_t plan = {};
  /// Rows are broadcast, columns run in lanes.
  bool leftIsRow = true;
  /// Rows are the side along which the result is contiguous: windows that would
  /// be packed element by element, and are read where they are.
  bool isSwapped = false;
  LoopGroup batch, rows, columns, depth;
  /// The reduction loops in the order of the depth: with a dot product, the
  /// loop whose iterations share words innermost.
  llvm::SmallVector<mlir::affine::AffineForOp, 4> depthLoops;
  std::optional<DotChoice> dot;
  /// The tiles of the matrix unit that multiplies its words, if one does. Both
  /// sides are packed then, rows along the depth, with room for whole tiles.
  std::optional<TileShape> matrix;
  RowMode rowMode = RowMode::PackedByDepth;
  /// Of the plain load behind rowSide, with RowMode::InPlace.
  mlir::affine::AffineLoadOp rowLoad;
  /// Elements from a row to the next; absent where rows are no even distance
  /// apart.
  std::optional<int64_t> rowStep;
  /// Rows in place of which so many points of depth lie `runStep` elements
  /// apart, and the loops around these, outermost first; 0 and none where rows
  /// are contiguous along a whole block.
  int64_t runPoints = 0, runStep = 1;
  llvm::SmallVector<RunLoop, 4> runLoops;
  /// With RowMode::Ahead: how many loops of the depth, from the outermost on,
  /// take longer steps through memory than those of rows.
  size_t farLoops = 0;
  /// The columns are packed once, in front of `aheadPoint`: the nest, or a loop
  /// around it; else block by block.
  bool packsAhead = false;
  mlir::Operation *aheadPoint = nullptr;
  /// What is packed ahead is packed for the open block of columns, inside of
  /// the loops over these, and used by all blocks of rows.
  bool packsByColumns = false;
  /// The sums start from one value: the micro-kernel spreads it, the buffer is
  /// not filled before.
  bool startsEven = false;
  /// Columns that nobody packs: the plain load of them, from rows of memory
  /// that are, or lie like, panels.
  mlir::affine::AffineLoadOp columnLoad;
  /// Packed columns lie panel by panel, each as wide as the micro-tile; else
  /// whole rows of the block, where a panel would cut through a loop.
  bool panels = false;
  /// Columns lie along the depth in memory: packing transposes.
  bool transposes = false;
  /// Rows lie along the depth in memory: whole vectors become words at once.
  bool packsRuns = false;
  /// In the last block of depth a buffer of one micro-tile takes its sums, and
  /// what is done with them follows at once; else that is done for the whole
  /// block of sums. Without other blocks of depth there is no block of sums.
  bool endsByTile = false;
  /// Long enough to pay for the compilation of more code.
  bool isLong = false;
  /// By the row of a block, how many of the last points of the depth add
  /// nothing (kIdleTail); null if that is not known.
  mlir::AffineMap idleTail;
  /// Iterations of the outermost reduction loop that are summed up apart, so
  /// that there is work for all cores; 0 for all in one.
  int64_t depthPart = 0;
  /// The batch is parts of a depth of which each element of the columns is read
  /// in one iteration.
  bool sumsParts = false;
  /// Packed elements of the next panel that a tile of rows asks for with each
  /// point of depth; 0 for none.
  int64_t panelShare = 0;
  /// Packed elements by which a tile that has all rows asks for columns ahead
  /// of those that it multiplies; 0 for none.
  int64_t panelLead = 0;
  /// Loads behind the sums that a tile asks for before it is summed up: each
  /// takes an element of its own for each sum, from a buffer that outgrows the
  /// second cache.
  llvm::SmallVector<mlir::affine::AffineLoadOp, 2> farOperands;
  /// Rows whose number is not known are at most so many, by a condition around
  /// the nest; 0 for any number.
  int64_t mostRows = 0;
  /// Columns that another form of the nest has packed ahead for this one, too.
  mlir::Value packedColumns;
  /// Where rows in place read a padded image: in each block of depth only rows
  /// that read none of its zeros are multiplied, if all packed columns are
  /// finite. Empty where no taps are left out.
  llvm::SmallVector<ImageRange, 4> imageRanges;
  /// The share of the multiply-adds that are left out.
  double leftOut = 0;
  /// Why all taps are multiplied where some read padding; empty if none does,
  /// or if it was not asked for.
  llvm::StringRef whyAllTaps;

  /// Iterations of the innermost loop of the depth in one point.
  int64_t step() const { return dot ? dot->step : 1; }
  const ContractionOperand &rowSide() const {
    return leftIsRow ? contraction.left : contraction.right;
  }
  const ContractionOperand &columnSide() const {
    return leftIsRow ? contraction.right : contraction.left;
  }
};

struct ContractionMachine {
  pn_model_core_t core;
  int32_t cores;
  int32_t lineBytes;
};

/// True if there are micro-kernels that sum up values of the type.
bool hasKernel(mlir::Type type);

/// Why so many rows and columns of a product do not pay for packing what they
/// multiply; empty if they do.
llvm::StringRef whyNotPack(double rows, double columns, double depth);

/// True if polynest-block-contractions multiplies the nest, a product of at
/// most PN_MODEL_STREAM_ROWS rows or of any number of them, by columns that it
/// packs once and for all; passes before it leave it alone then.
bool multipliesFewRows(mlir::affine::AffineForOp root);

/// Puts one loop in the place of two of a contraction, one right inside of the
/// other, that move the same neighbouring dimensions of all memrefs, where the
/// inner one runs as often as its dimension is long and that is not known: rows
/// of batch and sequence are rows of one matrix then. Iterations keep their
/// order.
void mergeRows(mlir::func::FuncOp function);

/// The loops as `block` cuts them; without one all are plain. A point of the
/// innermost loop is `part` iterations.
LoopGroup makeGroup(llvm::ArrayRef<mlir::affine::AffineForOp> loops,
                    const pn_model_block_t *block, int64_t part = 1);

/// The operations that run for each sum when it is there.
llvm::SmallVector<mlir::Operation *>
getCodeBehind(const Contraction &contraction);

/// True if the group is one block.
bool isWhole(const LoopGroup &group);

/// True if all blocks of the group are whole units.
bool isExact(const LoopGroup &group, int64_t unit);

/// True if parts of the contraction's depth may be summed up apart.
bool canSplitDepth(const Contraction &contraction);

/// Cuts the outermost reduction loop in parts of `part` iterations, at least
/// one, and has a nest in front sum them up, which is returned; the contraction
/// then adds up what that leaves.
mlir::affine::AffineForOp splitDepth(const Contraction &contraction,
                                     int64_t part);

/// Writes the blocked form in front of the contraction and erases the original;
/// returns columns that were packed ahead, if they were.
mlir::Value emitBlocks(Blocking &blocking, const ContractionMachine &machine);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_CONTRACTIONBLOCKS_H
