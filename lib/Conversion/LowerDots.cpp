//===- LowerDots.cpp - dot products of groups by the target's units -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: `vector.contract` of two vectors [lanes, step] into [lanes], which adds
// up each group of narrow neighbours, becomes calls of an instruction that does
// so, where the target has one for these elements; else it becomes plain
// arithmetic.
// Legal always: units compute the same sums, integers modulo 2^32, others in
// the order and with the rounding that numerics (a) and (g) allow, which was
// decided when the operation was made. A plain form of floating-point numbers
// accumulates in f32 element by element.
// Profitable always: it is what such operations are made for.
// Limits: other contractions stay for the conversion to LLVM. Vectors are cut
// for units that are narrower; none is filled up for a wider one.
// Cost: linear in operations.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Support/DotForm.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

namespace polynest {
#define GEN_PASS_DEF_LOWERDOTS
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-lower-dots"

using namespace mlir;

namespace polynest {

namespace {
/// An instruction of the target.
struct Unit {
  DotForm form;
  int64_t bits = 0;
  /// It takes accumulators; else it returns sums of groups alone.
  bool addsUp = false;
  std::string intrinsic;
};

/// One side of a product.
struct Side {
  /// Narrow elements, [lanes, step].
  Value narrow;
  /// What they are, if they are narrow.
  std::optional<DotElement> element;
  /// All elements, if they are one whole number.
  std::optional<APInt> number;
};

struct Dot {
  mutable vector::ContractionOp op;
  Side left, right;
  int64_t lanes = 0, step = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

/// Reads FORM:BITS:HOW:INTRINSIC.
static std::optional<Unit> parseUnit(StringRef text) {
  SmallVector<StringRef, 4> words;
  text.split(words, ':');
  Unit unit;
  if (words.size() != 4)
    return std::nullopt;
  std::optional<DotForm> form = parseDotForm(words[0]);
  if (!form || words[1].getAsInteger(10, unit.bits) || unit.bits < 64 ||
      unit.bits > 2048 || !llvm::isPowerOf2_64(uint64_t(unit.bits)) ||
      (words[2] != "add" && words[2] != "sum") ||
      !words[3].starts_with("llvm."))
    return std::nullopt;
  unit.form = *form;
  unit.addsUp = words[2] == "add";
  unit.intrinsic = words[3].str();
  return unit;
}

static Side getSide(Value value) {
  if (std::optional<DotElement> element = getExtendedElement(value))
    return {value.getDefiningOp()->getOperand(0), element, std::nullopt};
  DenseIntElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)) && constant.isSplat())
    return {value, std::nullopt, constant.getSplatValue<APInt>()};
  return {value, std::nullopt, std::nullopt};
}

/// True if the side's elements are such elements.
static bool holds(const Side &side, const DotElement &element) {
  if (!side.number)
    return side.element == element;
  int64_t number = side.number->getSExtValue();
  return element.holds(number, number);
}

/// The contraction as a dot product of groups, if it is one.
static std::optional<Dot> matchDot(vector::ContractionOp op) {
  auto sums = dyn_cast<VectorType>(op.getAccType());
  VectorType left = op.getLhsType(), right = op.getRhsType();
  AffineExpr lane, within;
  bindDims(op.getContext(), lane, within);
  auto mapOf = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(2, 0, results, op.getContext());
  };
  AffineMap groups = mapOf({lane, within});
  if (!sums || sums.getRank() != 1 || left.getRank() != 2 || left != right ||
      left.isScalable() || left.getElementType() != sums.getElementType() ||
      op.getKind() != vector::CombiningKind::ADD || op.isMasked() ||
      op.getIndexingMapsArray() !=
          SmallVector<AffineMap>{groups, groups, mapOf({lane})})
    return std::nullopt;
  return Dot{op, getSide(op.getLhs()), getSide(op.getRhs()), left.getDimSize(0),
             left.getDimSize(1)};
}

/// True if the unit computes it, or would if the sides changed places.
static bool takes(const Unit &unit, const Dot &dot, bool changesPlaces) {
  const DotElement &left = changesPlaces ? unit.form.right : unit.form.left;
  const DotElement &right = changesPlaces ? unit.form.left : unit.form.right;
  auto sums = cast<VectorType>(dot.op.getAccType());
  return holds(dot.left, left) && holds(dot.right, right) &&
         dot.step == unit.form.step && sums.getElementTypeBitWidth() == 32 &&
         dot.lanes * 32 % unit.bits == 0;
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

/// Its elements as one row.
static Value flatten(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<VectorType>(value.getType());
  auto cast = value.getDefiningOp<vector::ShapeCastOp>();
  if (cast && cast.getSourceVectorType().getRank() == 1)
    return cast.getSource();
  return vector::ShapeCastOp::create(
      builder, loc,
      VectorType::get({type.getNumElements()}, type.getElementType()), value);
}

/// Elements `first`, `first + by`, and so on, `count` of them.
static Value pick(OpBuilder &builder, Location loc, Value value, int64_t first,
                  int64_t by, int64_t count) {
  if (count == cast<VectorType>(value.getType()).getNumElements())
    return value;
  SmallVector<int64_t> lanes;
  for (int64_t i = 0; i < count; ++i)
    lanes.push_back(first + i * by);
  return vector::ShuffleOp::create(builder, loc, value, value, lanes);
}

/// The parts one behind the other; their number is a power of two.
static Value join(OpBuilder &builder, Location loc, SmallVector<Value> parts) {
  while (parts.size() > 1) {
    SmallVector<Value> joined;
    for (size_t i = 0; i < parts.size(); i += 2) {
      int64_t size = cast<VectorType>(parts[i].getType()).getNumElements();
      auto lanes = llvm::to_vector(llvm::seq<int64_t>(2 * size));
      joined.push_back(vector::ShuffleOp::create(builder, loc, parts[i],
                                                 parts[i + 1], lanes));
    }
    parts = std::move(joined);
  }
  return parts.front();
}

/// The elements of a side as the unit takes them, in one row.
static Value elementsOf(OpBuilder &builder, Location loc, const Side &side,
                        const DotElement &element) {
  if (!side.number)
    return flatten(builder, loc, side.narrow);
  auto wide = cast<VectorType>(side.narrow.getType());
  auto type = VectorType::get({wide.getNumElements()},
                              element.getType(builder.getContext()));
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, side.number->trunc(element.bits)));
}

/// Lanes of a form that a unit has.
static Value emitUnit(OpBuilder &builder, const Dot &dot, const Unit &unit,
                      bool changesPlaces) {
  Location loc = dot.op.getLoc();
  const Side &first = changesPlaces ? dot.right : dot.left;
  const Side &second = changesPlaces ? dot.left : dot.right;
  Value left = elementsOf(builder, loc, first, unit.form.left);
  Value right = elementsOf(builder, loc, second, unit.form.right);
  int64_t lanes = unit.bits / 32;
  SmallVector<Value> parts;
  for (int64_t at = 0; at < dot.lanes; at += lanes) {
    Value sum = pick(builder, loc, dot.op.getAcc(), at, 1, lanes);
    SmallVector<Value> operands;
    if (unit.addsUp)
      operands.push_back(sum);
    for (Value side : {left, right})
      operands.push_back(
          pick(builder, loc, side, at * dot.step, 1, lanes * dot.step));
    Value result = LLVM::CallIntrinsicOp::create(
                       builder, loc, sum.getType(),
                       builder.getStringAttr(unit.intrinsic), operands)
                       .getResults();
    if (!unit.addsUp)
      result = arith::AddIOp::create(builder, loc, sum, result);
    parts.push_back(result);
  }
  return join(builder, loc, std::move(parts));
}

/// The same in arithmetic on accumulators.
static Value emitPlain(OpBuilder &builder, const Dot &dot) {
  Location loc = dot.op.getLoc();
  Value sum = dot.op.getAcc();
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(sum.getType()));
  auto widen = [&](const Side &side, int64_t within) -> Value {
    if (side.number)
      return arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(cast<VectorType>(sum.getType()),
                                 *side.number));
    Value narrow = pick(builder, loc, flatten(builder, loc, side.narrow),
                        within, dot.step, dot.lanes);
    return side.element
               ? side.element->extend(builder, loc, sum.getType(), narrow)
               : narrow;
  };
  for (int64_t within = 0; within < dot.step; ++within) {
    Value left = widen(dot.left, within), right = widen(dot.right, within);
    if (isFloat) {
      sum = vector::FMAOp::create(builder, loc, left, right, sum);
      continue;
    }
    Value product = arith::MulIOp::create(builder, loc, left, right);
    sum = arith::AddIOp::create(builder, loc, sum, product);
  }
  return sum;
}

/// Erases an operation that nobody needs any more, and what computes it.
static void eraseDead(Operation *op) {
  SmallVector<Operation *> work{op};
  while (!work.empty()) {
    Operation *dead = work.pop_back_val();
    if (!dead ||
        !isa<vector::ContractionOp, vector::ShapeCastOp, arith::ExtFOp,
             arith::ExtSIOp, arith::ExtUIOp>(dead) ||
        !dead->use_empty())
      continue;
    llvm::SmallSetVector<Operation *, 4> sources;
    for (Value operand : dead->getOperands())
      sources.insert(operand.getDefiningOp());
    dead->erase();
    llvm::append_range(work, sources);
  }
}

namespace {
struct LowerDotsPass : impl::LowerDotsBase<LowerDotsPass> {
  using LowerDotsBase::LowerDotsBase;

  LogicalResult initialize(MLIRContext *context) override {
    parsed.clear();
    for (const std::string &text : units) {
      std::optional<Unit> unit = parseUnit(text);
      if (!unit)
        return refuseItem(
            context, "units", text,
            "FORM:BITS:HOW:INTRINSIC, a form such as s16s16x2, a power of two "
            "from 64 to 2048, 'add' or 'sum', and a name that begins with "
            "'llvm.'");
      parsed.push_back(*unit);
    }
    return success();
  }

  void runOnOperation() override {
    SmallVector<Dot> dots;
    getOperation()->walk([&](vector::ContractionOp op) {
      if (std::optional<Dot> dot = matchDot(op))
        dots.push_back(*dot);
    });
    for (const Dot &dot : dots) {
      OpBuilder builder(dot.op);
      Value sum = lower(builder, dot);
      dot.op->getResult(0).replaceAllUsesWith(sum);
      eraseDead(dot.op);
    }
  }

  /// By the widest unit there is.
  Value lower(OpBuilder &builder, const Dot &dot) {
    for (const Unit &unit : parsed)
      for (bool changesPlaces : {false, true})
        if (takes(unit, dot, changesPlaces)) {
          ++numApplied;
          return emitUnit(builder, dot, unit, changesPlaces);
        }
    ++numDeclined;
    return emitPlain(builder, dot);
  }

  SmallVector<Unit> parsed;
};
} // namespace

} // namespace polynest
