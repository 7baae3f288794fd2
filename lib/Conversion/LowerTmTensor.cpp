//===- LowerTmTensor.cpp - scans, sorts and scatters of torch-mlir --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: lowers `tm_tensor.scan`, `sort` and `scatter`, which torch-mlir makes
// of cumulative sums, sort and topk, and indexed updates, to loops over
// tensors. The dialect is not linked: the operations arrive unregistered, in
// generic form. Legal when: the operands and attributes have the form
// torch-mlir gives them; anything else is an error. A scan runs in order along
// its dimension. A sort is a stable merge sort, which gives a permutation for
// every comparison, also one that is false both ways for NaN; one that orders
// all elements merges runs from both ends at once. Where slices read
// only the first few elements of the sorted lines, those are kept sorted by
// insertion. A scatter applies its updates in order, and asserts that the
// indices are in range. Profitable always: nothing else reads these operations.
// Limits: one scan at a time; `tm_tensor.attention` is refused. Cost: linear in
// operations. At run time a sort takes n log n comparisons, the first k of n
// elements n, and k for each that was among the first k of those before it.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Support/Remark.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace polynest {
#define GEN_PASS_DEF_LOWERTMTENSOR
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-lower-tm-tensor"

using namespace mlir;

namespace polynest {

static constexpr StringLiteral kPass = "lower-tm-tensor";

using BodyFn = llvm::function_ref<SmallVector<Value>(
    OpBuilder &, ValueRange ivs, ValueRange carried)>;

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// An attribute of an unregistered operation: generic form puts those of the
/// operation's own among the properties.
static Attribute attributeOf(Operation *op, StringRef name) {
  if (Attribute attribute = op->getDiscardableAttr(name))
    return attribute;
  auto properties =
      dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  return properties ? properties.get(name) : Attribute();
}

static std::optional<int64_t> integerOf(Operation *op, StringRef name) {
  auto attribute = dyn_cast_or_null<IntegerAttr>(attributeOf(op, name));
  if (!attribute || !attribute.getType().isInteger(64))
    return std::nullopt;
  return attribute.getInt();
}

static RankedTensorType tensorType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

/// One block whose arguments are `elements` and which yields `results` values.
static bool hasBody(Operation *op, ArrayRef<Type> elements,
                    ArrayRef<Type> results) {
  if (op->getNumRegions() != 1 || !op->getRegion(0).hasOneBlock())
    return false;
  Block &block = op->getRegion(0).front();
  if (block.empty() || block.getArgumentTypes() != TypeRange(elements))
    return false;
  Operation &last = block.back();
  return last.getName().getStringRef() == "tm_tensor.yield" &&
         last.getOperandTypes() == TypeRange(results);
}

static bool allRankedTensors(Operation *op) {
  return llvm::all_of(op->getOperands(), tensorType) &&
         op->getNumOperands() > 0;
}

static StringRef whyNotScan(Operation *op) {
  std::optional<int64_t> dimension = integerOf(op, "dimension");
  if (!allRankedTensors(op) || op->getNumOperands() != 3 ||
      op->getNumResults() != 2 || !dimension ||
      !isa_and_nonnull<BoolAttr>(attributeOf(op, "inclusive")))
    return "a scan has an input, an output, an accumulator and its attributes";
  RankedTensorType input = tensorType(op->getOperand(0));
  RankedTensorType accumulator = tensorType(op->getOperand(2));
  Type element = input.getElementType();
  if (*dimension < 0 || *dimension >= input.getRank() ||
      accumulator.getRank() != input.getRank() - 1 ||
      tensorType(op->getOperand(1)).getRank() != input.getRank() ||
      op->getResultTypes() != op->getOperands().drop_front(1).getTypes() ||
      !hasBody(op, {element, element}, {element}))
    return "a scan's operands, dimension or body do not match";
  return "";
}

static StringRef whyNotSort(Operation *op) {
  std::optional<int64_t> dimension = integerOf(op, "dimension");
  if (!allRankedTensors(op) || !dimension ||
      op->getResultTypes() != op->getOperandTypes())
    return "a sort has as many results as operands, and a dimension";
  RankedTensorType first = tensorType(op->getOperand(0));
  SmallVector<Type> elements;
  for (Value operand : op->getOperands()) {
    if (tensorType(operand).getRank() != first.getRank())
      return "a sort's operands have one shape";
    elements.append(2, tensorType(operand).getElementType());
  }
  Type flag = IntegerType::get(op->getContext(), 1);
  if (*dimension < 0 || *dimension >= first.getRank() ||
      !hasBody(op, elements, {flag}))
    return "a sort's dimension or body does not match";
  return "";
}

static StringRef whyNotScatter(Operation *op) {
  auto map =
      dyn_cast_or_null<DenseI64ArrayAttr>(attributeOf(op, "dimension_map"));
  if (!allRankedTensors(op) || op->getNumOperands() != 3 ||
      op->getNumResults() != 1 || !map)
    return "a scatter has updates, indices, an original and a dimension map";
  RankedTensorType updates = tensorType(op->getOperand(0));
  RankedTensorType indices = tensorType(op->getOperand(1));
  RankedTensorType original = tensorType(op->getOperand(2));
  Type element = original.getElementType();
  bool mapFits = llvm::all_of(map.asArrayRef(), [&](int64_t dim) {
    return dim >= 0 && dim < original.getRank();
  });
  if (updates.getRank() < 1 || updates.getRank() - 1 > original.getRank() ||
      indices.getRank() != 2 || !mapFits ||
      indices.getDimSize(1) != map.size() ||
      !isa<IntegerType, IndexType>(indices.getElementType()) ||
      op->getResult(0).getType() != original ||
      !hasBody(op, {updates.getElementType(), element}, {element}))
    return "a scatter's operands, dimension map or body do not match";
  return "";
}

static StringRef whyNotLowered(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (name == "tm_tensor.scan")
    return whyNotScan(op);
  if (name == "tm_tensor.sort")
    return whyNotSort(op);
  if (name == "tm_tensor.scatter")
    return whyNotScatter(op);
  return "of tm_tensor, only scan, sort and scatter are supported";
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Elements that are kept sorted by insertion. The worst case, rows in which
/// each element comes before all that were seen, takes 3 ns for each kept one
/// (Zen 5, f32): 32 of rows of 1000 take 100 an element, where a sort takes 23
/// and the same in random order 17.
static constexpr int64_t kMaxKept = 32;
/// As many of random rows are no slower to insert than to merge, whatever the
/// length; more are where each row has as many times as this.
static constexpr int64_t kFewKept = 16, kLongRows = 64;

/// Whether the first `count` of `length` elements are found without a sort.
static bool isSelection(int64_t count, int64_t length) {
  if (count < 1 || count > kMaxKept)
    return false;
  if (ShapedType::isDynamic(length))
    return true;
  return count <= (count <= kFewKept ? length : length / kLongRows);
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

static Value constantIndex(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

/// Nested scf.for from 0 to `sizes` that carry `inits`; returns their results.
static SmallVector<Value> buildLoops(OpBuilder &b, Location loc,
                                     ValueRange sizes, ValueRange inits,
                                     BodyFn body) {
  OpBuilder::InsertionGuard guard(b);
  Value zero = constantIndex(b, loc, 0), one = constantIndex(b, loc, 1);
  SmallVector<scf::ForOp> loops;
  SmallVector<Value> ivs, carried(inits);
  for (Value size : sizes) {
    auto loop = scf::ForOp::create(b, loc, zero, size, one, carried);
    loops.push_back(loop);
    ivs.push_back(loop.getInductionVar());
    carried.assign(loop.getRegionIterArgs().begin(),
                   loop.getRegionIterArgs().end());
    b.setInsertionPointToStart(loop.getBody());
  }
  SmallVector<Value> results = body(b, ivs, carried);
  for (scf::ForOp loop : llvm::reverse(loops)) {
    b.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(b, loc, results);
    results.assign(loop.getResults().begin(), loop.getResults().end());
  }
  return results;
}

static SmallVector<Value> sizesOf(OpBuilder &b, Location loc, Value tensor) {
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < tensorType(tensor).getRank(); ++i)
    sizes.push_back(b.createOrFold<tensor::DimOp>(loc, tensor, i));
  return sizes;
}

/// The yielded value of the body for `arguments`.
static Value cloneBody(OpBuilder &b, Operation *op, ValueRange arguments) {
  Block &block = op->getRegion(0).front();
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  // The terminator is not registered, so without_terminator would keep it.
  for (Operation &inner : llvm::drop_end(block))
    b.clone(inner, mapping);
  return mapping.lookupOrDefault(block.back().getOperand(0));
}

static SmallVector<Value> withIndex(ValueRange outer, int64_t dimension,
                                    Value index) {
  SmallVector<Value> position(outer);
  position.insert(position.begin() + dimension, index);
  return position;
}

/// What the body, where it is one operation on its arguments, makes any value
/// of that value with, bit for bit; none if that is not known.
static TypedAttr getNeutral(Operation *op) {
  Block &block = op->getRegion(0).front();
  Operation &first = block.front();
  if (block.getOperations().size() != 2 || first.getNumOperands() != 2 ||
      first.getNumResults() != 1 ||
      first.getOperand(0) == first.getOperand(1) ||
      !llvm::is_contained(first.getOperands(), block.getArgument(0)) ||
      !llvm::is_contained(first.getOperands(), block.getArgument(1)) ||
      block.back().getOperand(0) != first.getResult(0))
    return {};
  Type type = first.getResult(0).getType();
  if (isa<arith::AddIOp, arith::MulIOp>(first))
    return IntegerAttr::get(type, isa<arith::MulIOp>(first));
  if (!isa<arith::AddFOp, arith::MulFOp>(first))
    return {};
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type).getFloatSemantics();
  return FloatAttr::get(type, isa<arith::MulFOp>(first)
                                  ? APFloat::getOne(semantics)
                                  : APFloat::getZero(semantics, true));
}

/// Along the dimension the running value is carried; the accumulator gets the
/// last one. An inclusive scan starts from the first element, or from what
/// changes nothing, an exclusive one from the accumulator.
static SmallVector<Value> lowerScan(OpBuilder &b, Operation *op) {
  Location loc = op->getLoc();
  Value input = op->getOperand(0);
  int64_t dimension = *integerOf(op, "dimension");
  bool inclusive = cast<BoolAttr>(attributeOf(op, "inclusive")).getValue();
  SmallVector<Value> sizes = sizesOf(b, loc, input);
  Value length = sizes[dimension];
  sizes.erase(sizes.begin() + dimension);
  Value zero = constantIndex(b, loc, 0);
  TypedAttr neutral = inclusive ? getNeutral(op) : TypedAttr();
  return buildLoops(
      b, loc, sizes, {op->getOperand(1), op->getOperand(2)},
      [&](OpBuilder &outer, ValueRange batch, ValueRange tensors) {
        Value start = tensor::ExtractOp::create(outer, loc, tensors[1], batch);
        Value begin = start;
        if (neutral)
          begin = arith::ConstantOp::create(outer, loc, neutral);
        SmallVector<Value> line = buildLoops(
            outer, loc, length, {tensors[0], begin},
            [&](OpBuilder &inner, ValueRange iv,
                ValueRange carried) -> SmallVector<Value> {
              SmallVector<Value> at = withIndex(batch, dimension, iv[0]);
              Value element = tensor::ExtractOp::create(inner, loc, input, at);
              Value next = cloneBody(inner, op, {carried[1], element});
              Value shown = inclusive ? next : carried[1];
              if (inclusive && !neutral) {
                Value first = arith::CmpIOp::create(
                    inner, loc, arith::CmpIPredicate::eq, iv[0], zero);
                next =
                    arith::SelectOp::create(inner, loc, first, element, next);
                shown = next;
              }
              Value out =
                  tensor::InsertOp::create(inner, loc, shown, carried[0], at);
              return {out, next};
            });
        Value last = line[1];
        if (neutral) {
          Value isEmpty = arith::CmpIOp::create(
              outer, loc, arith::CmpIPredicate::eq, length, zero);
          last = arith::SelectOp::create(outer, loc, isEmpty, start, last);
        }
        last = tensor::InsertOp::create(outer, loc, last, tensors[1], batch);
        return SmallVector<Value>{line[0], last};
      });
}

/// Whether the sort's body orders all elements: a comparison of integers, or
/// one of floats that puts NaN on one side.
static bool isTotalOrder(Operation *op) {
  Block &block = op->getRegion(0).front();
  Value first = block.getArgument(0), second = block.getArgument(1);
  Value yielded = block.back().getOperand(0);
  auto isPair = [&](Operation *compare) {
    return compare->getOperand(0) == first && compare->getOperand(1) == second;
  };
  if (auto compare = yielded.getDefiningOp<arith::CmpIOp>())
    return isPair(compare) &&
           (compare.getPredicate() == arith::CmpIPredicate::sle ||
            compare.getPredicate() == arith::CmpIPredicate::sge);
  auto either = yielded.getDefiningOp<arith::OrIOp>();
  if (!either)
    return false;
  auto compare = either.getLhs().getDefiningOp<arith::CmpFOp>();
  auto isNan = either.getRhs().getDefiningOp<arith::CmpFOp>();
  if (!compare || !isNan || !isPair(compare) ||
      isNan.getPredicate() != arith::CmpFPredicate::UNO ||
      isNan.getLhs() != isNan.getRhs())
    return false;
  return (compare.getPredicate() == arith::CmpFPredicate::OLE ||
          compare.getPredicate() == arith::CmpFPredicate::OGE) &&
         llvm::is_contained(block.getArguments().take_front(2), isNan.getLhs());
}

/// The elements of two places of the lines, in the order of the body's
/// arguments.
static SmallVector<Value> pairsAt(OpBuilder &b, Location loc, ValueRange lines,
                                  Value left, Value right) {
  SmallVector<Value> pairs;
  for (Value line : lines)
    for (Value place : {left, right})
      pairs.push_back(tensor::ExtractOp::create(b, loc, line, place));
  return pairs;
}

/// Writes the left or the right element of each pair.
static SmallVector<Value> writeChosen(OpBuilder &b, Location loc,
                                      Value takesLeft, ValueRange pairs,
                                      ValueRange lines, Value place) {
  SmallVector<Value> written;
  for (auto [k, line] : llvm::enumerate(lines)) {
    Value value = arith::SelectOp::create(b, loc, takesLeft, pairs[2 * k],
                                          pairs[2 * k + 1]);
    written.push_back(tensor::InsertOp::create(b, loc, value, line, place));
  }
  return written;
}

/// Two neighbouring runs of sorted lines.
struct Runs {
  Value begin, middle, end;
};

/// Merges the runs from both ends at once, as many elements from each as the
/// shorter has: none runs out, and two chains of comparisons run beside each
/// other. Returns how many, the places of both heads, of both ends, and `into`.
static SmallVector<Value> mergeEnds(OpBuilder &b, Operation *op, Runs runs,
                                    ValueRange from, ValueRange into) {
  Location loc = op->getLoc();
  auto add = [&](OpBuilder &i, Value x, Value y) -> Value {
    return arith::AddIOp::create(i, loc, x, y);
  };
  auto subtract = [&](OpBuilder &i, Value x, Value y) -> Value {
    return arith::SubIOp::create(i, loc, x, y);
  };
  Value one = constantIndex(b, loc, 1);
  Value shorter =
      arith::MinSIOp::create(b, loc, subtract(b, runs.middle, runs.begin),
                             subtract(b, runs.end, runs.middle));
  SmallVector<Value> inits{runs.begin, runs.middle, runs.middle, runs.end};
  inits.append(into.begin(), into.end());
  SmallVector<Value> results = buildLoops(
      b, loc, shorter, inits,
      [&](OpBuilder &i, ValueRange iv, ValueRange carried) {
        auto asNumber = [&](Value flag) -> Value {
          return arith::IndexCastUIOp::create(i, loc, i.getIndexType(), flag);
        };
        SmallVector<Value> heads =
            pairsAt(i, loc, from, carried[0], carried[1]);
        Value takesLeft = cloneBody(i, op, heads);
        Value leftEnd = subtract(i, carried[2], one);
        Value rightEnd = subtract(i, carried[3], one);
        SmallVector<Value> tails = pairsAt(i, loc, from, leftEnd, rightEnd);
        // Of equals the right one is last.
        Value isOrdered = cloneBody(i, op, tails);
        Value yes = arith::ConstantIntOp::create(i, loc, 1, 1);
        Value endsLeft = arith::XOrIOp::create(i, loc, isOrdered, yes);
        SmallVector<Value> lines =
            writeChosen(i, loc, takesLeft, heads, carried.drop_front(4),
                        add(i, runs.begin, iv[0]));
        lines = writeChosen(i, loc, endsLeft, tails, lines,
                            subtract(i, subtract(i, runs.end, one), iv[0]));
        Value left = asNumber(takesLeft), ordered = asNumber(isOrdered);
        SmallVector<Value> next{add(i, carried[0], left),
                                add(i, carried[1], subtract(i, one, left)),
                                add(i, leftEnd, ordered),
                                subtract(i, carried[3], ordered)};
        next.append(lines);
        return next;
      });
  results.insert(results.begin(), shorter);
  return results;
}

/// Merges `count` elements of what is left of the runs, from their heads on to
/// `to` and the places behind it.
static SmallVector<Value> mergeHeads(OpBuilder &b, Operation *op, Value last,
                                     Value count, Value to, ValueRange heads,
                                     ValueRange ends, ValueRange from,
                                     ValueRange into) {
  Location loc = op->getLoc();
  Value one = constantIndex(b, loc, 1);
  SmallVector<Value> inits(heads);
  inits.append(into.begin(), into.end());
  SmallVector<Value> results = buildLoops(
      b, loc, count, inits,
      [&](OpBuilder &i, ValueRange iv, ValueRange carried) {
        auto less = [&](Value x, Value y) -> Value {
          return arith::CmpIOp::create(i, loc, arith::CmpIPredicate::slt, x, y);
        };
        // Heads past their run are not taken, but must be readable.
        SmallVector<Value> pairs = pairsAt(
            i, loc, from, arith::MinSIOp::create(i, loc, carried[0], last),
            arith::MinSIOp::create(i, loc, carried[1], last));
        Value yes = arith::ConstantIntOp::create(i, loc, 1, 1);
        Value prefers = arith::SelectOp::create(
            i, loc, less(carried[1], ends[1]), cloneBody(i, op, pairs), yes);
        Value takesLeft =
            arith::AndIOp::create(i, loc, less(carried[0], ends[0]), prefers);
        Value left =
            arith::IndexCastUIOp::create(i, loc, i.getIndexType(), takesLeft);
        Value right = arith::SubIOp::create(i, loc, one, left);
        SmallVector<Value> next{
            arith::AddIOp::create(i, loc, carried[0], left),
            arith::AddIOp::create(i, loc, carried[1], right)};
        next.append(writeChosen(i, loc, takesLeft, pairs, carried.drop_front(2),
                                arith::AddIOp::create(i, loc, to, iv[0])));
        return next;
      });
  return SmallVector<Value>(llvm::drop_begin(results, 2));
}

/// One pass of the merge sort: runs of `width` elements of `from` are merged in
/// pairs into `into`.
static SmallVector<Value> mergeRuns(OpBuilder &b, Operation *op, Value length,
                                    Value width, ValueRange from,
                                    ValueRange into) {
  Location loc = op->getLoc();
  Value one = constantIndex(b, loc, 1);
  Value pair = arith::AddIOp::create(b, loc, width, width);
  Value last = arith::SubIOp::create(b, loc, length, one);
  Value pairs = arith::CeilDivUIOp::create(b, loc, length, pair);
  return buildLoops(
      b, loc, pairs, into,
      [&](OpBuilder &i, ValueRange number, ValueRange merged) {
        auto ending = [&](Value begin, Value size) -> Value {
          return arith::MinSIOp::create(
              i, loc, arith::AddIOp::create(i, loc, begin, size), length);
        };
        Value begin = arith::MulIOp::create(i, loc, number[0], pair);
        Runs runs{begin, ending(begin, width), ending(begin, pair)};
        Value rest = arith::SubIOp::create(i, loc, runs.end, begin);
        // From both ends only where both find the same order.
        if (!isTotalOrder(op))
          return mergeHeads(i, op, last, rest, begin, {begin, runs.middle},
                            {runs.middle, runs.end}, from, merged);
        SmallVector<Value> ends = mergeEnds(i, op, runs, from, merged);
        Value to = arith::AddIOp::create(i, loc, begin, ends[0]);
        rest = arith::SubIOp::create(i, loc, rest, ends[0]);
        rest = arith::SubIOp::create(i, loc, rest, ends[0]);
        ValueRange done = ends;
        return mergeHeads(i, op, last, rest, to, done.slice(1, 2),
                          done.slice(3, 2), from, done.drop_front(5));
      });
}

/// Sorts `lines`, one-dimensional tensors of `length`: passes with runs of
/// 1, 2, 4... go into a second buffer and back, two at a time, since
/// bufferization takes buffers that change places for one.
static SmallVector<Value> sortLines(OpBuilder &b, Operation *op, Value length,
                                    ArrayRef<Value> lines) {
  Location loc = op->getLoc();
  unsigned count = lines.size();
  SmallVector<Value> inits{constantIndex(b, loc, 1)};
  inits.append(lines.begin(), lines.end());
  for (Value line : lines) {
    SmallVector<Value> dynamic;
    if (tensorType(line).isDynamicDim(0))
      dynamic.push_back(length);
    inits.push_back(tensor::EmptyOp::create(b, loc, tensorType(line), dynamic));
  }
  auto loop = scf::WhileOp::create(
      b, loc, ValueRange(inits).getTypes(), inits,
      [&](OpBuilder &before, Location, ValueRange arguments) {
        Value more = arith::CmpIOp::create(
            before, loc, arith::CmpIPredicate::slt, arguments[0], length);
        scf::ConditionOp::create(before, loc, more, arguments);
      },
      [&](OpBuilder &after, Location, ValueRange arguments) {
        Value width = arguments[0];
        ValueRange lines = arguments.slice(1, count);
        auto twice = [&](Value value) -> Value {
          return arith::AddIOp::create(after, loc, value, value);
        };
        SmallVector<Value> there = mergeRuns(after, op, length, width, lines,
                                             arguments.drop_front(1 + count));
        SmallVector<Value> back =
            mergeRuns(after, op, length, twice(width), there, lines);
        SmallVector<Value> next{twice(twice(width))};
        next.append(back);
        next.append(there);
        scf::YieldOp::create(after, loc, next);
      });
  return SmallVector<Value>(loop.getResults().slice(1, count));
}

/// The most that `value` can be, as constants and minima of them show.
static std::optional<int64_t> mostOf(OpFoldResult value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return constant;
  Operation *maker = cast<Value>(value).getDefiningOp();
  if (auto cast = dyn_cast_or_null<arith::IndexCastOp>(maker))
    return mostOf(OpFoldResult(cast.getIn()));
  if (auto minimum = dyn_cast_or_null<arith::MinSIOp>(maker)) {
    std::optional<int64_t> most = mostOf(OpFoldResult(minimum.getLhs()));
    return most ? most : mostOf(OpFoldResult(minimum.getRhs()));
  }
  return std::nullopt;
}

/// How many of the first elements along the dimension the sort's results are
/// read of, where slices of known sizes are all that reads them, and
/// `tensor.dim`.
static std::optional<int64_t> elementsRead(Operation *op, int64_t dimension) {
  int64_t count = 0;
  for (Operation *user : op->getUsers()) {
    if (isa<tensor::DimOp>(user))
      continue;
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice || slice.getStaticStrides()[dimension] != 1)
      return std::nullopt;
    int64_t size = slice.getStaticSizes()[dimension];
    std::optional<int64_t> offset = mostOf(slice.getMixedOffsets()[dimension]);
    if (ShapedType::isDynamic(size) || !offset)
      return std::nullopt;
    // A slice lies inside of its source, so no offset is negative.
    count = std::max(count, std::max<int64_t>(*offset, 0) + size);
  }
  return count;
}

/// An element of an operand; of a range its index, without the memory.
static Value elementOf(OpBuilder &b, Location loc, Value tensor,
                       ValueRange position) {
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  if (generic && generic.getNumDpsInputs() == 0 &&
      generic->getNumResults() == 1 &&
      generic.getIndexingMapsArray()[0].isIdentity()) {
    Value yielded = generic.getBody()->getTerminator()->getOperand(0);
    auto cast = yielded.getDefiningOp<arith::IndexCastOp>();
    if (cast)
      if (auto index = cast.getIn().getDefiningOp<linalg::IndexOp>())
        return arith::IndexCastOp::create(b, loc, cast.getType(),
                                          position[index.getDim()]);
  }
  return tensor::ExtractOp::create(b, loc, tensor, position);
}

/// Puts the element at `place` of the operands into the first `count` of the
/// sorted lines of `tensors`, after its equals. What then is last goes to the
/// place behind them, or where `isFull`, nowhere.
static SmallVector<Value> insertSorted(OpBuilder &b, Operation *op,
                                       ValueRange batch, Value place,
                                       Value count, bool isFull,
                                       ValueRange tensors) {
  Location loc = op->getLoc();
  int64_t dimension = *integerOf(op, "dimension");
  unsigned n = tensors.size();
  SmallVector<Value> inits{arith::ConstantIntOp::create(b, loc, 0, 1)};
  for (Value operand : op->getOperands())
    inits.push_back(
        elementOf(b, loc, operand, withIndex(batch, dimension, place)));
  inits.append(tensors.begin(), tensors.end());
  SmallVector<Value> results = buildLoops(
      b, loc, count, inits,
      [&](OpBuilder &i, ValueRange iv, ValueRange carried) {
        SmallVector<Value> at = withIndex(batch, dimension, iv[0]);
        ValueRange moved = carried.slice(1, n),
                   lines = carried.drop_front(1 + n);
        SmallVector<Value> held, compared;
        for (auto [line, value] : llvm::zip(lines, moved)) {
          held.push_back(tensor::ExtractOp::create(i, loc, line, at));
          compared.append({held.back(), value});
        }
        Value yes = arith::ConstantIntOp::create(i, loc, 1, 1);
        Value before =
            arith::XOrIOp::create(i, loc, cloneBody(i, op, compared), yes);
        // Behind the place found, all move by one.
        Value moves = arith::OrIOp::create(i, loc, carried[0], before);
        SmallVector<Value> next{moves}, written;
        for (auto [old, value, line] : llvm::zip(held, moved, lines)) {
          Value stays = arith::SelectOp::create(i, loc, moves, value, old);
          next.push_back(arith::SelectOp::create(i, loc, moves, old, value));
          written.push_back(tensor::InsertOp::create(i, loc, stays, line, at));
        }
        next.append(written);
        return next;
      });
  SmallVector<Value> lines(llvm::drop_begin(results, 1 + n));
  if (isFull)
    return lines;
  for (auto [line, value] : llvm::zip(lines, llvm::drop_begin(results)))
    line = tensor::InsertOp::create(b, loc, value, line,
                                    withIndex(batch, dimension, count));
  return lines;
}

/// The first `count` elements of the sorted lines: those found so far are kept
/// sorted, and of the others only what comes before the last of them is put
/// among them.
static SmallVector<Value> lowerSelection(OpBuilder &b, Operation *op,
                                         int64_t count) {
  Location loc = op->getLoc();
  int64_t dimension = *integerOf(op, "dimension");
  SmallVector<Value> sizes = sizesOf(b, loc, op->getOperand(0));
  Value length = sizes[dimension];
  Value kept = constantIndex(b, loc, count);
  if (tensorType(op->getOperand(0)).isDynamicDim(dimension)) {
    Value enough =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, kept, length);
    cf::AssertOp::create(b, loc, enough, "slice: out of range");
  }
  SmallVector<Value> inits;
  for (Value operand : op->getOperands()) {
    SmallVector<OpFoldResult> extents = tensor::getMixedSizes(b, loc, operand);
    extents[dimension] = b.getIndexAttr(count);
    inits.push_back(tensor::EmptyOp::create(
        b, loc, extents, tensorType(operand).getElementType()));
  }
  Value one = constantIndex(b, loc, 1);
  Value others = arith::SubIOp::create(b, loc, length, kept);
  Value last = arith::SubIOp::create(b, loc, kept, one);
  sizes.erase(sizes.begin() + dimension);
  return buildLoops(
      b, loc, sizes, inits,
      [&](OpBuilder &outer, ValueRange batch, ValueRange tensors) {
        SmallVector<Value> first = buildLoops(
            outer, loc, kept, tensors,
            [&](OpBuilder &i, ValueRange iv, ValueRange lines) {
              return insertSorted(i, op, batch, iv[0], iv[0], false, lines);
            });
        return buildLoops(
            outer, loc, others, first,
            [&](OpBuilder &i, ValueRange iv, ValueRange lines) {
              Value place = arith::AddIOp::create(i, loc, iv[0], kept);
              SmallVector<Value> compared;
              for (auto [line, operand] : llvm::zip(lines, op->getOperands())) {
                compared.push_back(tensor::ExtractOp::create(
                    i, loc, line, withIndex(batch, dimension, last)));
                compared.push_back(elementOf(
                    i, loc, operand, withIndex(batch, dimension, place)));
              }
              auto choice = scf::IfOp::create(
                  i, loc, cloneBody(i, op, compared),
                  [&](OpBuilder &stay, Location) {
                    scf::YieldOp::create(stay, loc, lines);
                  },
                  [&](OpBuilder &insert, Location) {
                    scf::YieldOp::create(insert, loc,
                                         insertSorted(insert, op, batch, place,
                                                      kept, true, lines));
                  });
              return SmallVector<Value>(choice.getResults());
            });
      });
}

/// Makes the slices of the sort's results slices of `kept`, their beginnings.
static void sliceBeginnings(Operation *op, ValueRange kept) {
  for (auto [result, beginning] : llvm::zip(op->getResults(), kept))
    for (OpOperand &use : llvm::make_early_inc_range(result.getUses()))
      if (isa<tensor::ExtractSliceOp>(use.getOwner()))
        use.set(beginning);
}

static SmallVector<Value> lowerSort(OpBuilder &b, Operation *op) {
  Location loc = op->getLoc();
  int64_t dimension = *integerOf(op, "dimension");
  int64_t staticLength = tensorType(op->getOperand(0)).getDimSize(dimension);
  std::optional<int64_t> count = elementsRead(op, dimension);
  if (count && isSelection(*count, staticLength)) {
    sliceBeginnings(op, lowerSelection(b, op, *count));
    // The rest of the uses asks for sizes.
    return SmallVector<Value>(op->getOperands());
  }
  SmallVector<Value> sizes = sizesOf(b, loc, op->getOperand(0));
  Value length = sizes[dimension];
  unsigned rank = sizes.size();
  sizes.erase(sizes.begin() + dimension);
  return buildLoops(
      b, loc, sizes, op->getOperands(),
      [&](OpBuilder &inner, ValueRange batch, ValueRange tensors) {
        SmallVector<OpFoldResult> offsets = getAsOpFoldResult(batch);
        offsets.insert(offsets.begin() + dimension, inner.getIndexAttr(0));
        SmallVector<OpFoldResult> extents(rank, inner.getIndexAttr(1)),
            ones(rank, inner.getIndexAttr(1));
        extents[dimension] = ShapedType::isDynamic(staticLength)
                                 ? OpFoldResult(length)
                                 : inner.getIndexAttr(staticLength);
        SmallVector<Value> lines, results;
        for (Value tensor : tensors)
          lines.push_back(tensor::ExtractSliceOp::create(
              inner, loc,
              RankedTensorType::get({staticLength},
                                    tensorType(tensor).getElementType()),
              tensor, offsets, extents, ones));
        SmallVector<Value> sorted = sortLines(inner, op, length, lines);
        for (auto [line, tensor] : llvm::zip(sorted, tensors))
          results.push_back(tensor::InsertSliceOp::create(
              inner, loc, line, tensor, offsets, extents, ones));
        return results;
      });
}

static SmallVector<Value> lowerScatter(OpBuilder &b, Operation *op) {
  Location loc = op->getLoc();
  Value updates = op->getOperand(0), indices = op->getOperand(1);
  ArrayRef<int64_t> map =
      cast<DenseI64ArrayAttr>(attributeOf(op, "dimension_map")).asArrayRef();
  int64_t rank = tensorType(op->getOperand(2)).getRank();
  SmallVector<Value> extents = sizesOf(b, loc, op->getOperand(2));
  Value zero = constantIndex(b, loc, 0);
  return buildLoops(
      b, loc, sizesOf(b, loc, updates), op->getOperand(2),
      [&](OpBuilder &i, ValueRange ivs,
          ValueRange carried) -> SmallVector<Value> {
        // The slice lies along the last dimensions of the original.
        SmallVector<Value> position(rank - (ivs.size() - 1), zero);
        position.append(ivs.begin() + 1, ivs.end());
        for (auto [k, dim] : llvm::enumerate(map)) {
          Value index = tensor::ExtractOp::create(
              i, loc, indices, ValueRange{ivs[0], constantIndex(i, loc, k)});
          if (!index.getType().isIndex())
            index = arith::IndexCastOp::create(i, loc, i.getIndexType(), index);
          position[dim] = arith::AddIOp::create(i, loc, position[dim], index);
          Value above = arith::CmpIOp::create(i, loc, arith::CmpIPredicate::sge,
                                              position[dim], zero);
          Value below = arith::CmpIOp::create(i, loc, arith::CmpIPredicate::slt,
                                              position[dim], extents[dim]);
          Value inRange = arith::AndIOp::create(i, loc, above, below);
          cf::AssertOp::create(i, loc, inRange, "scatter: index out of range");
        }
        Value update = tensor::ExtractOp::create(i, loc, updates, ivs);
        Value old = tensor::ExtractOp::create(i, loc, carried[0], position);
        Value value = cloneBody(i, op, {update, old});
        return {tensor::InsertOp::create(i, loc, value, carried[0], position)};
      });
}

static SmallVector<Value> lower(OpBuilder &b, Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (name == "tm_tensor.scan")
    return lowerScan(b, op);
  if (name == "tm_tensor.sort")
    return lowerSort(b, op);
  return lowerScatter(b, op);
}

namespace {
struct LowerTmTensorPass : impl::LowerTmTensorBase<LowerTmTensorPass> {
  void runOnOperation() override {
    SmallVector<Operation *> work;
    WalkResult walk = getOperation()->walk([&](Operation *op) {
      StringRef name = op->getName().getStringRef();
      if (!name.starts_with("tm_tensor.") || name == "tm_tensor.yield")
        return WalkResult::advance();
      StringRef reason = whyNotLowered(op);
      if (reason.empty()) {
        work.push_back(op);
        return WalkResult::advance();
      }
      op->emitOpError() << reason;
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return signalPassFailure();
    if (work.empty())
      markAllAnalysesPreserved();
    for (Operation *op : work) {
      OpBuilder builder(op);
      SmallVector<Value> results = lower(builder, op);
      remark(RemarkKind::Applied, op->getLoc(), kPass, "lowered to loops")
          << arg("op", op->getName().getStringRef());
      op->replaceAllUsesWith(results);
      op->erase();
    }
    numApplied += work.size();
  }
};
} // namespace

} // namespace polynest
