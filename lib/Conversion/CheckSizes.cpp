//===- CheckSizes.cpp - assertions that operands' sizes agree -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: puts assertions in front of the structured operations, copies and casts
// of an entry whose operands' dynamic sizes must agree: a loop that walks
// dimensions of several operands has one size, a copy two equal shapes, a
// window or a slice may not reach past either end of what it reads, and the
// parts that a reshape makes of a dimension have as many elements as it has.
// What follows from earlier assertions, or is the same value, needs none; nor
// does a result whose size the entry's shape function takes from an input,
// which callers see to. Where the sizes are those of arguments, or computed
// from them alone, and the operation runs whenever the entry does, the
// assertion stands at the start of the entry: nothing has been written then,
// and it parts no nests. Legal always: these operations are undefined for other
// sizes. What is moved to the start is pure and depends on arguments alone. A
// window that certainly ends outside, or an index that leaves 64 bits, is an
// error. Profitable always: the alternative is reading what is not the
// argument's. Index maps that neither rise nor fall with each loop, as
// sums of multiples and quotients do, are checked by halves of loops that are
// all known. Where some are not, or that takes too long, each call runs through
// what the loops would read, unless the size is as large as such a map could
// get. Slices at computed places need no check where these are proven to lie
// inside, as those that are clamped are. Limits: functions that are no entry
// have no status to return, and are declined; indices of single elements that a
// program computes are not checked.
// Cost: linear in the operations and their operands' dimensions, times the
// length of the chains of views and loops behind a size, which is bounded.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Analysis/AffineValues.h"
#include "Analysis/SizeOrder.h"
#include "Analysis/Sizes.h"
#include "Support/Remark.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace polynest {
#define GEN_PASS_DEF_CHECKSIZES
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-check-sizes"

using namespace mlir;

namespace polynest {

static constexpr StringLiteral kPass = "check-sizes";

/// Longer chains, and deeper nests, count as unknown.
static constexpr unsigned kLongestChain = 1000;
static constexpr unsigned kDeepestNest = 8;
/// Indices that take more boxes of loops than this to decide count as unknown.
static constexpr unsigned kMostBoxes = 1 << 14;

/// Indices stay below, half of what a word holds.
static constexpr double kLargestIndex = double(int64_t(1) << 62);
/// Loops that run end below 2^47, the bytes of an address space.
static constexpr int64_t kLongestLoop = int64_t(1) << 47;
/// An index of at most this weight then stays below `kLargestIndex`.
static constexpr double kSmallWeight = double(1 << 15);

namespace {
/// One size: that of dimension `dim` of the memref `base`; the number `base`
/// where `dim` is -1; the constant `dim` where `base` is null.
struct Extent {
  Value base;
  int64_t dim;

  bool isConstant() const { return !base; }
  bool isNumber() const { return base && dim < 0; }
  std::pair<void *, int64_t> key() const {
    return {base.getAsOpaquePointer(), dim};
  }
  bool operator==(const Extent &other) const { return key() == other.key(); }
};

/// Follows sizes to where they come from.
class SizeSource {
public:
  Extent of(Value memref, int64_t d);
  Extent of(OpFoldResult size);

private:
  Extent ofDim(Value memref, int64_t d);
  std::optional<Extent> ofCarried(scf::ForOp loop, unsigned number, int64_t d);
  std::optional<Extent> ofDefined(Operation *op, int64_t d);

  unsigned depth = 0;
  /// Sizes of carried memrefs whose loops are being looked at, and those they
  /// start with, which they have if all that is looked at turns out to keep
  /// them.
  SmallVector<std::pair<Extent, Extent>> open;
};
} // namespace

/// A size that is given as a number, which may be a memref's.
Extent SizeSource::of(OpFoldResult size) {
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return {Value(), *constant};
  auto number = cast<Value>(size);
  auto dim = number.getDefiningOp<memref::DimOp>();
  std::optional<int64_t> d = dim ? dim.getConstantIndex() : std::nullopt;
  auto type = dim ? dyn_cast<MemRefType>(dim.getSource().getType()) : nullptr;
  if (!d || !type || *d < 0 || *d >= type.getRank() || depth >= kDeepestNest)
    return {number, -1};
  return of(dim.getSource(), *d);
}

/// The size of a loop's carried memref if all iterations keep it.
std::optional<Extent> SizeSource::ofCarried(scf::ForOp loop, unsigned number,
                                            int64_t d) {
  Extent carried = {loop.getRegionIterArg(number), d};
  for (const auto &[size, init] : open)
    if (size == carried)
      return init;
  if (depth >= kDeepestNest)
    return std::nullopt;
  Extent init = of(loop.getInitArgs()[number], d);
  open.push_back({carried, init});
  Extent yielded = of(loop.getYieldedValues()[number], d);
  open.pop_back();
  return yielded == init ? std::optional<Extent>(init) : std::nullopt;
}

/// Where size `d` of a view or an allocation comes from.
std::optional<Extent> SizeSource::ofDefined(Operation *op, int64_t d) {
  auto type = cast<MemRefType>(op->getResult(0).getType());
  if (isa<memref::AllocOp, memref::AllocaOp>(op))
    // Sizes come first among the operands of both.
    return of(OpFoldResult(op->getOperand(type.getDynamicDimIndex(d))));
  if (auto view = dyn_cast<memref::SubViewOp>(op)) {
    llvm::SmallBitVector dropped = view.getDroppedDims();
    int64_t left = d;
    for (auto [i, size] : llvm::enumerate(view.getMixedSizes()))
      if (!dropped[i] && left-- == 0)
        return of(size);
  }
  if (auto view = dyn_cast<memref::ReinterpretCastOp>(op))
    return of(view.getMixedSizes()[d]);
  if (auto view = dyn_cast<memref::ExpandShapeOp>(op))
    return of(view.getMixedOutputShape()[d]);
  return std::nullopt;
}

Extent SizeSource::of(Value memref, int64_t d) {
  ++depth;
  Extent extent = ofDim(memref, d);
  --depth;
  return extent;
}

Extent SizeSource::ofDim(Value value, int64_t d) {
  for (unsigned length = 0; length < kLongestChain; ++length) {
    auto type = dyn_cast<MemRefType>(value.getType());
    if (!type)
      break;
    if (!type.isDynamicDim(d))
      return {Value(), type.getDimSize(d)};
    std::optional<Extent> extent;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (loop && argument != loop.getInductionVar())
        extent = ofCarried(loop, argument.getArgNumber() - 1, d);
      return extent.value_or(Extent{value, d});
    }
    auto result = cast<OpResult>(value);
    Operation *op = result.getOwner();
    unsigned number = result.getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      extent = ofCarried(loop, number, d);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (depth >= kDeepestNest)
        break;
      extent = of(branch.thenYield().getOperand(number), d);
      // What both know comes from outside of both.
      if (!(of(branch.elseYield().getOperand(number), d) == *extent))
        break;
    } else if (auto view = dyn_cast<memref::CastOp>(op)) {
      value = view.getSource();
      continue;
    } else if (auto transpose = dyn_cast<memref::TransposeOp>(op)) {
      d = cast<AffineDimExpr>(transpose.getPermutation().getResult(d))
              .getPosition();
      value = transpose.getIn();
      continue;
    } else if (auto collapse = dyn_cast<memref::CollapseShapeOp>(op)) {
      // Dimensions of one element change nothing.
      ReassociationIndices group = collapse.getReassociationIndices()[d];
      MemRefType source = collapse.getSrcType();
      llvm::erase_if(group,
                     [&](int64_t i) { return source.getDimSize(i) == 1; });
      if (group.size() != 1)
        break;
      value = collapse.getSrc();
      d = group.front();
      continue;
    } else {
      extent = ofDefined(op, d);
    }
    return extent.value_or(Extent{value, d});
  }
  return {value, d};
}

static Extent extentOf(Value memref, int64_t d) {
  return SizeSource().of(memref, d);
}

namespace {
/// Collects what one entry needs, and emits it.
class SizeChecks {
public:
  explicit SizeChecks(func::FuncOp entry)
      : entry(entry), block(entry.getBody().front()) {}

  unsigned count() const { return asserted; }
  unsigned declined() const { return unknown; }

  /// What the caller sees to: results have the sizes that the shape function
  /// returns, some of which are those of inputs.
  void assumeResults(func::FuncOp shapes) {
    facts.assumeResults(entry, shapes);
  }
  /// What an assertion that stands here already says holds from here on.
  void assume(cf::AssertOp op) {
    if (op->getBlock() == &block)
      facts.assume(op);
  }
  LogicalResult visit(linalg::LinalgOp op);
  void visit(memref::CopyOp op);
  void visit(memref::CastOp op);
  LogicalResult visit(memref::SubViewOp op);
  void visit(memref::ExpandShapeOp op);

private:
  LogicalResult requireConstantSlice(Operation *op, Extent whole,
                                     const Range &range);
  bool isSliceInside(Value source, int64_t d, const Range &range);
  SizeProduct productOf(Extent extent);
  void requireEqual(Operation *op, Extent a, Extent b);
  LogicalResult requireWindow(Operation *op, AffineExpr expr,
                              ArrayRef<int> ways, ArrayRef<Extent> loops,
                              Extent size);
  LogicalResult requireWord(Operation *op, AffineExpr expr,
                            ArrayRef<unsigned> dims, ArrayRef<Extent> loops);
  LogicalResult requireEnd(Operation *op, AffineExpr expr, ArrayRef<int> ways,
                           bool highest, ArrayRef<unsigned> dims,
                           ArrayRef<Extent> loops, Extent size,
                           const Twine &message);
  LogicalResult requireInside(Operation *op, AffineExpr expr,
                              ArrayRef<Extent> loops, Extent size);
  void emitUnlessEmpty(
      Operation *op, ArrayRef<unsigned> dims, ArrayRef<Extent> loops,
      Extent size, const Twine &message,
      function_ref<Value(OpBuilder &, Location, ValueRange, Value)> holds);
  void emit(Operation *op, ArrayRef<Extent> extents, const Twine &message,
            function_ref<Value(OpBuilder &, Location, ValueRange)> makeCheck);

  bool atStart(Operation *op, Extent extent);
  bool mayMove(Value value, unsigned depth);
  void move(Value value);
  Value materialize(OpBuilder &builder, Location loc, Extent extent,
                    bool start);
  std::string describe(Extent extent);

  func::FuncOp entry;
  Block &block;
  /// The last operation that was put at the start of the entry.
  Operation *last = nullptr;
  DenseSet<Operation *> moved;
  DenseMap<std::pair<void *, int64_t>, Value> known;
  SizeFacts facts;
  SizeOrder order{facts};
  unsigned asserted = 0;
  unsigned unknown = 0;
};
} // namespace

bool SizeChecks::mayMove(Value value, unsigned depth) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner() == &block;
  Operation *op = value.getDefiningOp();
  if (moved.contains(op))
    return true;
  if (op->getBlock() != &block || op->getNumRegions() != 0 || !isPure(op) ||
      depth > kDeepestNest)
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return mayMove(operand, depth + 1);
  });
}

void SizeChecks::move(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || moved.contains(op))
    return;
  for (Value operand : op->getOperands())
    move(operand);
  if (last)
    op->moveAfter(last);
  else
    op->moveBefore(&block, block.begin());
  last = op;
  moved.insert(op);
}

/// True if the extent is known at the start of the entry and `op` runs whenever
/// the entry does.
bool SizeChecks::atStart(Operation *op, Extent extent) {
  if (op->getBlock() != &block)
    return false;
  return extent.isConstant() || mayMove(extent.base, 0);
}

Value SizeChecks::materialize(OpBuilder &builder, Location loc, Extent extent,
                              bool start) {
  if (extent.isNumber() && extent.base.getType().isIndex()) {
    if (start) {
      move(extent.base);
      if (last)
        builder.setInsertionPointAfter(last);
    }
    return extent.base;
  }
  Value &value = known[extent.key()];
  if (start && value)
    return value;
  if (start)
    move(extent.base);
  if (start && last)
    builder.setInsertionPointAfter(last);
  Value made =
      extent.isConstant()
          ? arith::ConstantIndexOp::create(builder, loc, extent.dim).getResult()
      : extent.isNumber()
          ? arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                       extent.base)
                .getResult()
          : memref::DimOp::create(builder, loc, extent.base, extent.dim)
                .getResult();
  if (start) {
    value = made;
    last = made.getDefiningOp();
    moved.insert(last);
  }
  return made;
}

std::string SizeChecks::describe(Extent extent) {
  if (extent.isConstant())
    return ("size " + Twine(extent.dim)).str();
  auto argument = dyn_cast<BlockArgument>(extent.base);
  if (extent.isNumber() || !argument || argument.getOwner() != &block)
    return "a computed size";
  unsigned index = argument.getArgNumber(), inputs = 0;
  while (inputs < entry.getNumArguments() &&
         !entry.getArgAttr(inputs, "polynest.result"))
    ++inputs;
  bool isInput = index < inputs;
  return ("dimension " + Twine(extent.dim) + " of " +
          (isInput ? "input " : "result ") +
          Twine(isInput ? index : index - inputs))
      .str();
}

void SizeChecks::emit(
    Operation *op, ArrayRef<Extent> extents, const Twine &message,
    function_ref<Value(OpBuilder &, Location, ValueRange)> makeCheck) {
  bool start =
      llvm::all_of(extents, [&](Extent extent) { return atStart(op, extent); });
  Location loc = op->getLoc();
  OpBuilder builder(op);
  if (start)
    builder.setInsertionPointToStart(&block);
  SmallVector<Value> values;
  for (Extent extent : extents)
    values.push_back(materialize(builder, loc, extent, start));
  if (start && last)
    builder.setInsertionPointAfter(last);
  Value check = makeCheck(builder, loc, values);
  auto assertion = cf::AssertOp::create(builder, loc, check, message.str());
  if (start)
    last = assertion;
  ++asserted;
  remark(RemarkKind::Applied, loc, kPass, "sizes are checked")
      << arg("op", op->getName().getStringRef())
      << arg("at", start ? "start" : "operation");
}

/// What is known of an extent.
SizeProduct SizeChecks::productOf(Extent extent) {
  if (extent.isConstant())
    return {extent.dim, {}};
  return extent.isNumber() ? facts.of(OpFoldResult(extent.base))
                           : facts.of(extent.base, extent.dim);
}

void SizeChecks::requireEqual(Operation *op, Extent a, Extent b) {
  SizeProduct left = productOf(a), right = productOf(b);
  if (a == b || left == right)
    return;
  emit(op, {a, b},
       "sizes differ: " + describe(a) + " and " + describe(b) +
           " must be equal in " + op->getName().getStringRef(),
       [](OpBuilder &builder, Location loc, ValueRange values) {
         return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      values[0], values[1]);
       });
  // An assertion inside of a branch says nothing about what is outside.
  if (op->getBlock() == &block)
    facts.assumeEqual(left, right);
}

/// Which way the index goes with each loop, 1 or -1, in `ways`; false if it
/// goes both ways with one, or is a remainder. Then it is lowest and highest
/// where each loop is at one of its ends.
static bool followLoops(AffineExpr expr, int way, MutableArrayRef<int> ways) {
  if (isa<AffineConstantExpr>(expr))
    return true;
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    int &known = ways[dim.getPosition()];
    bool agrees = known != -way;
    known = way;
    return agrees;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return followLoops(binary.getLHS(), way, ways) &&
           followLoops(binary.getRHS(), way, ways);
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!constant || binary.getKind() == AffineExprKind::Mod)
    return false;
  int64_t factor = constant.getValue();
  if (binary.getKind() != AffineExprKind::Mul && factor <= 0)
    return false;
  return followLoops(binary.getLHS(), factor < 0 ? -way : way, ways);
}

/// What neither the index nor any of its parts exceeds, up or down, where loops
/// of unknown size have two iterations. In floats, which do not wrap around.
static double weigh(AffineExpr expr, ArrayRef<Extent> loops) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::abs(double(constant.getValue()));
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    Extent count = loops[dim.getPosition()];
    return count.isConstant() ? double(count.dim) - 1 : 1;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  double left = weigh(binary.getLHS(), loops);
  if (binary.getKind() == AffineExprKind::Add)
    return left + weigh(binary.getRHS(), loops);
  if (binary.getKind() == AffineExprKind::Mul)
    return left * std::max(weigh(binary.getRHS(), loops), 1.0);
  return left;
}

/// An index outside of [0, `size`) that the loops reach, if there is one;
/// failure where that is not decided.
static FailureOr<std::optional<int64_t>>
findOutside(AffineExpr expr, ArrayRef<Extent> loops, int64_t size) {
  auto rangeOver = [&](ArrayRef<IntegerRange> box) {
    return rangeOfExpr(expr, box.size(), [&](unsigned i) { return box[i]; });
  };
  SmallVector<SmallVector<IntegerRange>> boxes(1);
  for (auto [i, count] : llvm::enumerate(loops))
    boxes[0].push_back({0, expr.isFunctionOfDim(i) ? count.dim - 1 : 0});
  for (unsigned count = 0; !boxes.empty(); ++count) {
    SmallVector<IntegerRange> box = boxes.pop_back_val();
    IntegerRange range = rangeOver(box);
    if (!range.isBounded() || count == kMostBoxes)
      return failure();
    if (range.low >= 0 && range.high < size)
      continue;
    auto *longest = llvm::max_element(
        box, [](const IntegerRange &a, const IntegerRange &b) {
          return a.high - a.low < b.high - b.low;
        });
    if (range.high < 0 || range.low >= size || longest->low == longest->high) {
      for (IntegerRange &loop : box)
        loop.high = loop.low;
      return std::optional<int64_t>(rangeOver(box).low);
    }
    int64_t middle = longest->low + (longest->high - longest->low) / 2;
    int64_t high = std::exchange(longest->high, middle);
    boxes.push_back(box);
    *longest = {middle + 1, high};
    boxes.push_back(box);
  }
  return std::optional<int64_t>();
}

/// The sizes of `dims`, and behind them those of other loops that may be empty.
static SmallVector<Extent> countLoops(ArrayRef<unsigned> dims,
                                      ArrayRef<Extent> loops) {
  SmallVector<Extent> counts;
  for (unsigned dim : dims)
    counts.push_back(loops[dim]);
  for (auto [i, count] : llvm::enumerate(loops))
    if (!llvm::is_contained(dims, i) && !count.isConstant())
      counts.push_back(count);
  return counts;
}

/// `holds` sees the last indices of all loops, 0 for those not in `dims`, and
/// the size; the assertion is that it holds or that some loop is empty.
void SizeChecks::emitUnlessEmpty(
    Operation *op, ArrayRef<unsigned> dims, ArrayRef<Extent> loops, Extent size,
    const Twine &message,
    function_ref<Value(OpBuilder &, Location, ValueRange, Value)> holds) {
  SmallVector<Extent> extents = {size};
  llvm::append_range(extents, countLoops(dims, loops));
  emit(op, extents, message,
       [&](OpBuilder &builder, Location loc, ValueRange values) -> Value {
         Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
         Value one = arith::ConstantIndexOp::create(builder, loc, 1);
         SmallVector<Value> ends(loops.size(), zero);
         Value smallest = one;
         Value bound = values[0];
         values = values.drop_front();
         for (auto [dim, count] : llvm::zip(dims, values))
           ends[dim] = arith::SubIOp::create(builder, loc, count, one);
         for (Value count : values)
           smallest = arith::MinSIOp::create(builder, loc, smallest, count);
         Value check = holds(builder, loc, ends, bound);
         Value empty = arith::CmpIOp::create(
             builder, loc, arith::CmpIPredicate::sle, smallest, zero);
         return arith::OrIOp::create(builder, loc, check, empty);
       });
}

/// One end of the index, the lowest or the highest, lies on the right side of
/// `size`, 0 for the lowest, unless some loop is empty.
LogicalResult SizeChecks::requireEnd(Operation *op, AffineExpr expr,
                                     ArrayRef<int> ways, bool highest,
                                     ArrayRef<unsigned> dims,
                                     ArrayRef<Extent> loops, Extent size,
                                     const Twine &message) {
  auto moves = [&](unsigned i) { return ways[i] == (highest ? 1 : -1); };
  auto isConstant = [&](unsigned i) { return loops[i].isConstant(); };
  bool isKnown = size.isConstant();
  SmallVector<int64_t> point(loops.size(), 0);
  for (unsigned i = 0; i < loops.size(); ++i)
    if (moves(i)) {
      isKnown &= isConstant(i);
      point[i] = loops[i].dim - 1;
    }
  if (isKnown) {
    int64_t end = AffineMap::get(loops.size(), 0, expr).compose(point).front();
    if (highest ? end < size.dim : end >= size.dim)
      return success();
    // Nothing is read where another loop is empty.
    if (llvm::all_of(loops, [](Extent count) { return count.isConstant(); }))
      return op->emitError(message) << ", at index " << end;
  }
  emitUnlessEmpty(
      op, dims, loops, size, message,
      [&](OpBuilder &builder, Location loc, ValueRange ends,
          Value bound) -> Value {
        Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
        SmallVector<Value> corner;
        for (unsigned i = 0; i < loops.size(); ++i)
          corner.push_back(moves(i) ? ends[i] : zero);
        Value end = affine::expandAffineExpr(builder, loc, expr, corner, {});
        return arith::CmpIOp::create(builder, loc,
                                     highest ? arith::CmpIPredicate::slt
                                             : arith::CmpIPredicate::sge,
                                     end, bound);
      });
  return success();
}

/// The loops that the index depends on.
static SmallVector<unsigned> findLoops(AffineExpr expr, unsigned numLoops) {
  SmallVector<unsigned> dims;
  for (unsigned i = 0; i < numLoops; ++i)
    if (expr.isFunctionOfDim(i))
      dims.push_back(i);
  return dims;
}

/// No part of the index leaves a word, unless one of `dims` is empty.
LogicalResult SizeChecks::requireWord(Operation *op, AffineExpr expr,
                                      ArrayRef<unsigned> dims,
                                      ArrayRef<Extent> loops) {
  std::string wraps = "sizes do not fit: an index of " +
                      op->getName().getStringRef().str() +
                      " is too large for a word of 64 bits";
  double weight = weigh(expr, loops);
  if (weight > kLargestIndex)
    return op->emitError(wraps);
  bool isStatic =
      llvm::all_of(dims, [&](unsigned dim) { return loops[dim].isConstant(); });
  if (!isStatic && weight > kSmallWeight)
    emitUnlessEmpty(op, dims, loops, {Value(), 0}, wraps,
                    [&](OpBuilder &builder, Location loc, ValueRange ends,
                        Value zero) -> Value {
                      Value largest = zero;
                      for (unsigned dim : dims)
                        if (!loops[dim].isConstant())
                          largest = arith::MaxSIOp::create(builder, loc,
                                                           largest, ends[dim]);
                      Value limit = arith::ConstantIndexOp::create(
                          builder, loc, int64_t(kLargestIndex / weight));
                      return arith::CmpIOp::create(builder, loc,
                                                   arith::CmpIPredicate::sle,
                                                   largest, limit);
                    });
  return success();
}

/// All values of `expr` lie in [0, `size`), unless some loop is empty. Errors
/// are what is certain to go wrong.
LogicalResult SizeChecks::requireWindow(Operation *op, AffineExpr expr,
                                        ArrayRef<int> ways,
                                        ArrayRef<Extent> loops, Extent size) {
  SmallVector<unsigned> dims = findLoops(expr, loops.size());
  // One place that no loop moves is read if there is any iteration at all.
  if (dims.empty())
    llvm::append_range(dims, llvm::seq<unsigned>(0, loops.size()));
  if (failed(requireWord(op, expr, dims, loops)))
    return failure();
  std::string where = "sizes do not fit: what " +
                      op->getName().getStringRef().str() + " reads lies ";
  if (failed(requireEnd(op, expr, ways, /*highest=*/false, dims, loops,
                        {Value(), 0},
                        where + "below the start of " + describe(size))))
    return failure();
  return requireEnd(op, expr, ways, /*highest=*/true, dims, loops, size,
                    where + "past the end of " + describe(size));
}

/// True for sums of multiples, remainders and quotients by positive constants.
static bool isComputable(AffineExpr expr) {
  if (!expr.isPureAffine())
    return false;
  bool computable = true;
  expr.walk([&](AffineExpr part) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(part);
    if (binary && binary.getKind() != AffineExprKind::Add &&
        binary.getKind() != AffineExprKind::Mul)
      computable &= cast<AffineConstantExpr>(binary.getRHS()).getValue() > 0;
  });
  return computable;
}

/// Whether all values that the index takes over loops of these sizes lie in
/// [0, `size`), found by computing them until one does not. `counts` has the
/// sizes of `dims` and behind them those of others; nothing runs where one is
/// empty.
static Value walkLoops(OpBuilder &builder, Location loc, AffineExpr expr,
                       ArrayRef<unsigned> dims, ValueRange counts, Value size,
                       unsigned numLoops) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value yes = arith::ConstantIntOp::create(builder, loc, 1, 1);
  Value runs = yes;
  for (Value count : counts)
    if (!getConstantIntValue(count)) {
      Value some = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::sgt, count, zero);
      runs = arith::AndIOp::create(builder, loc, runs, some);
    }
  counts = counts.take_front(dims.size());
  // Points beyond a word are never reached.
  Value largest = arith::ConstantIndexOp::create(builder, loc, INT64_MAX);
  Value total = counts.front();
  for (Value count : counts.drop_front()) {
    // One that is empty divides by 1.
    Value divisor = arith::MaxSIOp::create(builder, loc, count, one);
    Value most = arith::DivUIOp::create(builder, loc, largest, divisor);
    Value fits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule,
                                       total, most);
    Value product = arith::MulIOp::create(builder, loc, total, count);
    total = arith::SelectOp::create(builder, loc, fits, product, largest);
  }
  total = arith::SelectOp::create(builder, loc, runs, total, zero);
  auto loop = scf::WhileOp::create(
      builder, loc, TypeRange{zero.getType(), yes.getType()},
      ValueRange{zero, yes},
      [&](OpBuilder &inner, Location at, ValueRange state) {
        Value more = arith::CmpIOp::create(inner, at, arith::CmpIPredicate::slt,
                                           state[0], total);
        Value go = arith::AndIOp::create(inner, at, more, state[1]);
        scf::ConditionOp::create(inner, at, go, state);
      },
      [&](OpBuilder &inner, Location at, ValueRange state) {
        SmallVector<Value> point(numLoops, zero);
        Value rest = state[0];
        for (auto [dim, count] : llvm::zip_equal(dims, counts)) {
          point[dim] = arith::RemUIOp::create(inner, at, rest, count);
          rest = arith::DivUIOp::create(inner, at, rest, count);
        }
        Value index = affine::expandAffineExpr(inner, at, expr, point, {});
        // Below zero is above all sizes.
        Value inside = arith::CmpIOp::create(
            inner, at, arith::CmpIPredicate::ult, index, size);
        Value next = arith::AddIOp::create(inner, at, state[0], one);
        scf::YieldOp::create(inner, at, ValueRange{next, inside});
      });
  return loop.getResult(1);
}

/// As `requireWindow`, of an index that goes both ways with a loop, or is a
/// remainder.
LogicalResult SizeChecks::requireInside(Operation *op, AffineExpr expr,
                                        ArrayRef<Extent> loops, Extent size) {
  StringRef name = op->getName().getStringRef();
  SmallVector<unsigned> dims = findLoops(expr, loops.size());
  if (!isComputable(expr)) {
    ++unknown;
    remark(RemarkKind::Declined, op->getLoc(), kPass,
           "an index cannot be computed")
        << arg("op", name);
    return success();
  }
  if (failed(requireWord(op, expr, dims, loops)))
    return failure();
  auto isConstant = [](Extent extent) { return extent.isConstant(); };
  if (isConstant(size) && llvm::all_of(loops, isConstant)) {
    FailureOr<std::optional<int64_t>> found =
        findOutside(expr, loops, size.dim);
    if (succeeded(found) && !*found)
      return success();
    if (succeeded(found))
      return op->emitError("sizes do not fit: what ")
             << name << " reads lies outside of " << describe(size)
             << ", at index " << **found;
  }
  IntegerRange range =
      rangeOfExpr(expr, loops.size(), [&](unsigned i) -> IntegerRange {
        return {0, isConstant(loops[i]) ? loops[i].dim - 1 : kLongestLoop};
      });
  bool mayFit = range.isBounded() && range.low >= 0;
  if (mayFit && isConstant(size) && range.high < size.dim)
    return success();
  SmallVector<Extent> extents = {size};
  llvm::append_range(extents, countLoops(dims, loops));
  emit(op, extents,
       "sizes do not fit: what " + name + " reads lies outside of " +
           describe(size),
       [&](OpBuilder &builder, Location loc, ValueRange values) -> Value {
         auto walk = [&](OpBuilder &inner) {
           return walkLoops(inner, loc, expr, dims, values.drop_front(),
                            values[0], loops.size());
         };
         if (!mayFit)
           return walk(builder);
         // Sizes that hold all that the index could be need no loop.
         Value high = arith::ConstantIndexOp::create(builder, loc, range.high);
         Value fits = arith::CmpIOp::create(
             builder, loc, arith::CmpIPredicate::slt, high, values[0]);
         return scf::IfOp::create(
                    builder, loc, fits,
                    [&](OpBuilder &inner, Location at) {
                      scf::YieldOp::create(inner, at, fits);
                    },
                    [&](OpBuilder &inner, Location at) {
                      scf::YieldOp::create(inner, at, walk(inner));
                    })
             .getResult(0);
       });
  return success();
}

LogicalResult SizeChecks::visit(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics())
    return success();
  struct Place {
    Extent size;
    AffineExpr expr;
  };
  SmallVector<Place> windows;
  SmallVector<SmallVector<Extent, 4>> sizes(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type)
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [i, expr] : llvm::enumerate(map.getResults())) {
      Extent extent = extentOf(operand.get(), i);
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        sizes[dim.getPosition()].push_back(extent);
      else
        windows.push_back({extent, expr});
    }
  }
  for (ArrayRef<Extent> group : sizes)
    for (Extent extent : group.drop_front(group.empty() ? 0 : 1))
      requireEqual(op, group.front(), extent);
  SmallVector<Extent> loops;
  for (ArrayRef<Extent> group : sizes) {
    if (group.empty())
      return success();
    loops.push_back(group.front());
  }
  if (llvm::any_of(loops, [](Extent count) {
        return count.isConstant() && count.dim <= 0;
      }))
    return success();
  for (const Place &window : windows) {
    SmallVector<int> ways(loops.size(), 0);
    if (failed(followLoops(window.expr, 1, ways)
                   ? requireWindow(op, window.expr, ways, loops, window.size)
                   : requireInside(op, window.expr, loops, window.size)))
      return failure();
  }
  return success();
}

void SizeChecks::visit(memref::CopyOp op) {
  auto source = dyn_cast<MemRefType>(op.getSource().getType());
  auto target = dyn_cast<MemRefType>(op.getTarget().getType());
  if (!source || !target)
    return;
  for (int64_t d = 0; d < source.getRank(); ++d)
    requireEqual(op, extentOf(op.getSource(), d), extentOf(op.getTarget(), d));
}

void SizeChecks::visit(memref::CastOp op) {
  auto source = dyn_cast<MemRefType>(op.getSource().getType());
  auto target = dyn_cast<MemRefType>(op.getType());
  if (!source || !target)
    return;
  for (int64_t d = 0; d < source.getRank(); ++d)
    if (source.isDynamicDim(d) && !target.isDynamicDim(d))
      requireEqual(op, extentOf(op.getSource(), d),
                   Extent{Value(), target.getDimSize(d)});
}

/// The slice, if all of it is constant, lies inside of `whole`. Errors are what
/// certainly does not.
LogicalResult SizeChecks::requireConstantSlice(Operation *op, Extent whole,
                                               const Range &range) {
  int64_t offset = *getConstantIntValue(range.offset);
  int64_t size = *getConstantIntValue(range.size);
  int64_t stride = *getConstantIntValue(range.stride);
  SizeProduct known = productOf(whole);
  int64_t last;
  if (llvm::MulOverflow(size - 1, stride, last) ||
      llvm::AddOverflow(offset, last, last) || last < 0 || offset < 0)
    return op->emitError("sizes do not fit: a slice lies outside of ")
           << describe(whole);
  int64_t end = std::max(offset, last);
  if (known.unknown.empty() && end < known.factor)
    return success();
  std::string message =
      "sizes do not fit: a slice ends past the end of " + describe(whole);
  if (whole.isConstant())
    return op->emitError(message) << ", at index " << end;
  emit(op, whole, message,
       [&](OpBuilder &builder, Location loc, ValueRange values) -> Value {
         Value index = arith::ConstantIndexOp::create(builder, loc, end);
         return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                      index, values[0]);
       });
  return success();
}

/// True if the slice is proven to lie inside of dimension `d` of `source`.
bool SizeChecks::isSliceInside(Value source, int64_t d, const Range &range) {
  std::optional<int64_t> stride = getConstantIntValue(range.stride);
  SizeSum size = order.of(range.size), first = order.of(range.offset);
  if (order.isAtMost(size, {}))
    return true;
  // first + (size - 1) * stride
  std::optional<SizeSum> last = addTo(size, {1, {}}, -1);
  last = last && stride ? addTo(first, *last, *stride) : std::nullopt;
  if (!last)
    return false;
  if (*stride < 0)
    std::swap(first, *last);
  std::optional<SizeSum> end = addTo(*last, {1, {}}, 1);
  return end && order.isNonNegative(first) &&
         order.isAtMost(*end, order.of(source, d));
}

/// Whether there is nothing in the slice, or all of it lies below `whole` and
/// not below 0. No part of the sum leaves a word.
static Value compareSlice(OpBuilder &builder, Location loc, Value whole,
                          Value offset, Value size, Value stride) {
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, number);
  };
  auto compare = [&](arith::CmpIPredicate predicate, Value a,
                     Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  };
  auto minus = [&](Value a, Value b) -> Value {
    return arith::SubIOp::create(builder, loc, a, b);
  };
  Value zero = constant(0), one = constant(1);
  Value isEmpty = compare(arith::CmpIPredicate::sle, size, zero);
  // Below zero is above all sizes.
  Value begins = compare(arith::CmpIPredicate::ult, offset, whole);
  // As many steps as there is room for, on the side to which they go.
  Value rises = compare(arith::CmpIPredicate::sgt, stride, zero);
  Value room = arith::SelectOp::create(
      builder, loc, rises, minus(minus(whole, one), offset), offset);
  Value step =
      arith::SelectOp::create(builder, loc, rises, stride, minus(zero, stride));
  step = arith::MaxUIOp::create(builder, loc, step, one);
  Value ends = compare(arith::CmpIPredicate::ule, minus(size, one),
                       arith::DivUIOp::create(builder, loc, room, step));
  Value stands = compare(arith::CmpIPredicate::eq, stride, zero);
  ends = arith::OrIOp::create(builder, loc, ends, stands);
  Value inside = arith::AndIOp::create(builder, loc, begins, ends);
  return arith::OrIOp::create(builder, loc, isEmpty, inside);
}

LogicalResult SizeChecks::visit(memref::SubViewOp op) {
  if (llvm::is_contained(op.getStaticSizes(), 0))
    return success();
  for (auto [d, offset, size, stride] : llvm::enumerate(
           op.getMixedOffsets(), op.getMixedSizes(), op.getMixedStrides())) {
    Range range = {offset, size, stride};
    Extent whole = extentOf(op.getSource(), d);
    OpFoldResult parts[] = {offset, size, stride};
    if (llvm::all_of(parts, [](OpFoldResult part) {
          return getConstantIntValue(part).has_value();
        })) {
      if (failed(requireConstantSlice(op, whole, range)))
        return failure();
      continue;
    }
    if (isSliceInside(op.getSource(), d, range))
      continue;
    SmallVector<Extent> extents = {whole};
    for (OpFoldResult part : parts)
      extents.push_back(SizeSource().of(part));
    emit(op, extents,
         "sizes do not fit: a slice lies outside of " + describe(whole),
         [&](OpBuilder &builder, Location loc, ValueRange values) {
           return compareSlice(builder, loc, values[0], values[1], values[2],
                               values[3]);
         });
  }
  return success();
}

/// The product as a value, of sizes that are at hand; these are taken off.
static Value multiplyOut(OpBuilder &builder, Location loc,
                         const SizeProduct &product, ValueRange &sizes) {
  Value value = arith::ConstantIndexOp::create(builder, loc, product.factor);
  for (size_t i = 0; i < product.unknown.size(); ++i)
    value = arith::MulIOp::create(builder, loc, value, sizes[i]);
  sizes = sizes.drop_front(product.unknown.size());
  return value;
}

/// Whether the product of sizes is one that memory may hold. In words it wraps
/// around, to what may be the right number; in floats it does not.
static Value staysSmall(OpBuilder &builder, Location loc,
                        const SizeProduct &product, ValueRange sizes) {
  auto number = [&](int64_t n) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF64FloatAttr(double(n)));
  };
  Value value = number(product.factor);
  for (Value size : sizes) {
    Value word =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), size);
    Value real =
        arith::SIToFPOp::create(builder, loc, builder.getF64Type(), word);
    value = arith::MulFOp::create(builder, loc, value, real);
  }
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLE, value,
                               number(int64_t(1) << 53));
}

void SizeChecks::visit(memref::ExpandShapeOp op) {
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
  for (auto [d, group] : llvm::enumerate(op.getReassociationIndices())) {
    SizeProduct whole = facts.of(op.getSrc(), d);
    std::optional<SizeProduct> parts = SizeProduct();
    for (int64_t i : group)
      if (parts)
        parts = multiply(*parts, facts.of(sizes[i]));
    if (parts && *parts == whole)
      continue;
    if (!parts) {
      ++unknown;
      remark(RemarkKind::Declined, op.getLoc(), kPass,
             "a dimension has too many parts");
      continue;
    }
    auto extentsOf = [](const SizeProduct &product) {
      return llvm::map_to_vector(product.unknown, [](const UnknownSize &size) {
        return Extent{size.base, size.dim};
      });
    };
    SmallVector<Extent> made = extentsOf(*parts), extents = extentsOf(whole);
    llvm::append_range(extents, made);
    StringRef message = "sizes differ: a reshape to another number of elements "
                        "than there are";
    emit(op, extents, message,
         [&](OpBuilder &builder, Location loc, ValueRange values) -> Value {
           Value a = multiplyOut(builder, loc, whole, values);
           Value b = multiplyOut(builder, loc, *parts, values);
           return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        a, b);
         });
    if (!made.empty())
      emit(op, made, message,
           [&](OpBuilder &builder, Location loc, ValueRange values) {
             return staysSmall(builder, loc, *parts, values);
           });
    if (op->getBlock() == &block)
      facts.assumeEqual(whole, *parts);
  }
}

namespace {
struct CheckSizesPass : impl::CheckSizesBase<CheckSizesPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (failed(checkFunction(function, getShapes(symbols, function))))
        return signalPassFailure();
  }

  LogicalResult checkFunction(func::FuncOp function, func::FuncOp shapes) {
    if (!function->hasAttr("polynest.entry") ||
        !function.getBody().hasOneBlock()) {
      ++numDeclined;
      return success();
    }
    // In program order, and before anything moves.
    SmallVector<Operation *> work;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<linalg::LinalgOp, memref::CopyOp, memref::CastOp,
              memref::SubViewOp, memref::ExpandShapeOp, cf::AssertOp>(op))
        work.push_back(op);
    });
    SizeChecks checks(function);
    checks.assumeResults(shapes);
    for (Operation *op : work) {
      if (auto assertion = dyn_cast<cf::AssertOp>(op))
        checks.assume(assertion);
      else if (auto copy = dyn_cast<memref::CopyOp>(op))
        checks.visit(copy);
      else if (auto view = dyn_cast<memref::CastOp>(op))
        checks.visit(view);
      else if (auto parts = dyn_cast<memref::ExpandShapeOp>(op))
        checks.visit(parts);
      else if (auto slice = dyn_cast<memref::SubViewOp>(op);
               failed(slice ? checks.visit(slice)
                            : checks.visit(cast<linalg::LinalgOp>(op))))
        return failure();
    }
    numApplied += checks.count();
    numDeclined += checks.declined();
    return success();
  }
};
} // namespace

} // namespace polynest
