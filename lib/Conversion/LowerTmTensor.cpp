//===- LowerTmTensor.cpp - scans, sorts and scatters of torch-mlir --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: lowers `tm_tensor.scan`, `sort` and `scatter`, which torch-mlir makes
// of cumulative sums, sort and topk, and indexed updates, to loops over
// tensors. The dialect is not linked: the operations arrive unregistered, in
// generic form. Legal when: the operands and attributes have the form
// torch-mlir gives them; anything else is an error. A scan runs in order along
// its dimension. A sort is a stable merge sort, which gives a permutation for
// every comparison, also one that is false both ways for NaN. A scatter applies
// its updates in order, and asserts that the indices are in range. Profitable
// always: nothing else reads these operations. Limits: one scan at a time;
// `tm_tensor.attention` is refused. Cost: linear in operations. At run time a
// sort takes n log n comparisons.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Support/Remark.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
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

/// One pass of the merge sort: runs of `width` elements of `from` are merged in
/// pairs into `into`. The heads of both runs are carried from element to
/// element; at the start of a pair they are set anew.
static SmallVector<Value> mergeRuns(OpBuilder &b, Operation *op, Value length,
                                    Value width, ValueRange from,
                                    ValueRange into) {
  Location loc = op->getLoc();
  Value zero = constantIndex(b, loc, 0), one = constantIndex(b, loc, 1);
  Value pair = arith::AddIOp::create(b, loc, width, width);
  Value last = arith::SubIOp::create(b, loc, length, one);
  SmallVector<Value> inits{zero, zero};
  inits.append(into.begin(), into.end());
  SmallVector<Value> results = buildLoops(
      b, loc, length, inits,
      [&](OpBuilder &i, ValueRange iv, ValueRange carried) {
        auto minimum = [&](Value x, Value y) -> Value {
          return arith::MinSIOp::create(i, loc, x, y);
        };
        auto less = [&](Value x, Value y) -> Value {
          return arith::CmpIOp::create(i, loc, arith::CmpIPredicate::slt, x, y);
        };
        Value inPair = arith::RemUIOp::create(i, loc, iv[0], pair);
        Value begin = arith::SubIOp::create(i, loc, iv[0], inPair);
        Value middle =
            minimum(arith::AddIOp::create(i, loc, begin, width), length);
        Value end = minimum(arith::AddIOp::create(i, loc, begin, pair), length);
        Value fresh = arith::CmpIOp::create(i, loc, arith::CmpIPredicate::eq,
                                            inPair, zero);
        Value left = arith::SelectOp::create(i, loc, fresh, begin, carried[0]);
        Value right =
            arith::SelectOp::create(i, loc, fresh, middle, carried[1]);
        // Heads past their run are not taken, but must be readable.
        Value leftSafe = minimum(left, last), rightSafe = minimum(right, last);
        SmallVector<Value> compared;
        for (Value tensor : from) {
          compared.push_back(
              tensor::ExtractOp::create(i, loc, tensor, leftSafe));
          compared.push_back(
              tensor::ExtractOp::create(i, loc, tensor, rightSafe));
        }
        Value ordered = cloneBody(i, op, compared);
        Value yes = arith::ConstantIntOp::create(i, loc, 1, 1);
        Value rightLeft = less(right, end);
        Value prefers =
            arith::SelectOp::create(i, loc, rightLeft, ordered, yes);
        Value takesLeft =
            arith::AndIOp::create(i, loc, less(left, middle), prefers);
        SmallVector<Value> next;
        next.push_back(arith::SelectOp::create(
            i, loc, takesLeft, arith::AddIOp::create(i, loc, left, one), left));
        next.push_back(
            arith::SelectOp::create(i, loc, takesLeft, right,
                                    arith::AddIOp::create(i, loc, right, one)));
        for (unsigned k = 0; k < from.size(); ++k) {
          Value value = arith::SelectOp::create(
              i, loc, takesLeft, compared[2 * k], compared[2 * k + 1]);
          next.push_back(
              tensor::InsertOp::create(i, loc, value, carried[2 + k], iv[0]));
        }
        return next;
      });
  return SmallVector<Value>(llvm::drop_begin(results, 2));
}

/// Sorts `lines`, one-dimensional tensors of `length`: passes with runs of
/// 1, 2, 4... go into a second buffer and back.
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
        ValueRange from = arguments.slice(1, count);
        SmallVector<Value> merged =
            mergeRuns(after, op, length, arguments[0], from,
                      arguments.drop_front(1 + count));
        SmallVector<Value> next{
            arith::AddIOp::create(after, loc, arguments[0], arguments[0])};
        // Copied back, since bufferization takes buffers that change places
        // for one.
        for (auto [result, tensor] : llvm::zip(merged, from))
          next.push_back(bufferization::MaterializeInDestinationOp::create(
                             after, loc, tensor.getType(), result, tensor)
                             .getResult());
        next.append(merged);
        scf::YieldOp::create(after, loc, next);
      });
  return SmallVector<Value>(loop.getResults().slice(1, count));
}

static SmallVector<Value> lowerSort(OpBuilder &b, Operation *op) {
  Location loc = op->getLoc();
  int64_t dimension = *integerOf(op, "dimension");
  SmallVector<Value> sizes = sizesOf(b, loc, op->getOperand(0));
  Value length = sizes[dimension];
  int64_t staticLength = tensorType(op->getOperand(0)).getDimSize(dimension);
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
