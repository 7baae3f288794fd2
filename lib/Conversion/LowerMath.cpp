//===- LowerMath.cpp - mathematical functions as inline arithmetic --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: expands operations of the math dialect on scalars and vectors into
// arith, math.fma and bit operations, with no call and no table in memory.
// Legal always: domains, special values and signs of zero are those of C's
// Annex F, and errors stay within the bounds of docs/vector-math.md. f16 and
// bf16 are computed in f32 and rounded once.
// Profitable always on processors with a fused multiply-add: the result
// vectorizes, a library call does not.
// Functions of neighbouring vectors take turns operation by operation.
// Limits: element types other than f16, bf16, f32, f64 and tensors are
// declined. Operations that are an instruction stay as they are. Huge arguments
// of sin, cos and tan take a branch.
// Cost: linear in the number of operations; 10 to 60 operations each, some 500
// for sin, cos and tan in f64.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Conversion/MathBodies.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSet.h"

namespace polynest {
#define GEN_PASS_DEF_LOWERMATH
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-lower-math"

using namespace mlir;

namespace polynest {

//===----------------------------------------------------------------------===//
// What is known
//===----------------------------------------------------------------------===//

using UnaryBody = Num (*)(Num);
using BinaryBody = Num (*)(Num, Num);

static Num absOf(Num x) { return abs(x); }
static double infinity() { return std::numeric_limits<double>::infinity(); }

static Num isInfinite(Num x) { return equal(absOf(x), infinity()); }
static Num isFinite(Num x) { return less(absOf(x), infinity()); }
static Num isNormal(Num x) {
  // The smallest normal number of the type that the value came from is patched
  // in by the caller, since f16 arrives here as f32.
  double smallest = x.emitter->isDouble ? 0x1p-1022 : 0x1p-126;
  return isFinite(x) & notOf(less(absOf(x), smallest));
}

/// Reads BITS:INTRINSIC.
static std::optional<Permute> parsePermute(StringRef text) {
  auto [bits, intrinsic] = text.split(':');
  int64_t number;
  if (bits.getAsInteger(10, number) || number < 256 || number > 2048 ||
      !llvm::isPowerOf2_64(uint64_t(number)) || !intrinsic.starts_with("llvm."))
    return std::nullopt;
  return Permute{number / 32, intrinsic.str()};
}

static UnaryBody unaryBody(StringRef name) {
  static constexpr std::pair<StringLiteral, UnaryBody> bodies[] = {
      {"acos", emitAcos},   {"acosh", emitAcosh}, {"asin", emitAsin},
      {"asinh", emitAsinh}, {"atan", emitAtan},   {"atanh", emitAtanh},
      {"cbrt", emitCbrt},   {"cos", emitCos},     {"cosh", emitCosh},
      {"erf", emitErf},     {"erfc", emitErfc},   {"exp", emitExp},
      {"exp2", emitExp2},   {"expm1", emitExpm1}, {"log", emitLog},
      {"log10", emitLog10}, {"log1p", emitLog1p}, {"log2", emitLog2},
      {"rsqrt", emitRsqrt}, {"sin", emitSin},     {"sinh", emitSinh},
      {"tan", emitTan},     {"tanh", emitTanh},
  };
  for (const auto &[known, body] : bodies)
    if (known == name)
      return body;
  return nullptr;
}

static UnaryBody classifyBody(StringRef name) {
  static constexpr std::pair<StringLiteral, UnaryBody> bodies[] = {
      {"isnan", isNan},
      {"isinf", isInfinite},
      {"isfinite", isFinite},
      {"isnormal", isNormal},
  };
  for (const auto &[known, body] : bodies)
    if (known == name)
      return body;
  return nullptr;
}

static BinaryBody binaryBody(StringRef name) {
  if (name == "powf")
    return emitPow;
  if (name == "atan2")
    return emitAtan2;
  return nullptr;
}

/// Rounding to integers and sqrt: an instruction in f32 and f64; in f16 and
/// bf16 they are widened here, since code generation takes them lane by lane.
static bool isInstructionInF32(StringRef name) {
  return name == "ceil" || name == "floor" || name == "round" ||
         name == "roundeven" || name == "sqrt" || name == "trunc";
}

/// Operations that code generation has instructions for in all types.
static bool isInstruction(StringRef name) {
  return name == "absf" || name == "absi" || name == "copysign" ||
         name == "ctlz" || name == "cttz" || name == "ctpop" || name == "fma";
}

static bool isKnown(StringRef name) {
  return unaryBody(name) || classifyBody(name) || binaryBody(name) ||
         isInstructionInF32(name) || isInstruction(name) || name == "sincos" ||
         name == "fpowi" || name == "ipowi" || name == "clampf";
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// Why `op` cannot be expanded; empty if it can.
static StringRef whyNot(Operation *op, StringRef name) {
  if (!isKnown(name))
    return "operation is not known";
  Type type = op->getOperand(0).getType();
  if (isa<ShapedType>(type) && !isa<VectorType>(type))
    return "operand is neither a scalar nor a vector";
  if (name == "ipowi")
    return "";
  Type element = getElementTypeOrSelf(type);
  if (!element.isF32() && !element.isF64() && !element.isF16() &&
      !element.isBF16())
    return "element type is none of f16, bf16, f32 and f64";
  return "";
}

/// True if the operation stays as it is.
static bool staysInstruction(Operation *op, StringRef name) {
  if (isInstruction(name))
    return true;
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  return isInstructionInF32(name) && (element.isF32() || element.isF64());
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// f32 to bf16, half to even, in integers: without an instruction for it code
/// generation would call a library, and the instruction flushes subnormals.
static Value narrowToBF16(Num x) {
  const Emitter &e = *x.emitter;
  Num pattern = bits(x);
  Num odd = shiftRight(pattern, 16) & e.i(1);
  Num rounded = shiftRight(pattern + odd + e.i(0x7fff), 16);
  Num quiet = shiftRight(pattern, 16) | e.i(0x40);
  Num chosen = select(isNan(x), quiet, rounded);
  Type half = e.shaped(e.builder.getIntegerType(16));
  Num low = e.make<arith::TruncIOp>(half, chosen.value);
  return e.make<arith::BitcastOp>(e.shaped(e.builder.getBF16Type()), low.value)
      .value;
}

static Num widen(const Emitter &e, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  if (element.isF32() || element.isF64())
    return {&e, value};
  return e.make<arith::ExtFOp>(e.real(), value);
}

static Value narrow(Num result, Type type) {
  const Emitter &e = *result.emitter;
  Type element = getElementTypeOrSelf(type);
  if (element.isBF16())
    return narrowToBF16(result);
  if (element.isF16())
    return arith::TruncFOp::create(e.builder, e.loc, type, result.value);
  return result.value;
}

/// The same operation on f32, for types narrower than that.
static Num onSingle(const Emitter &e, Operation *op, Num x) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(x.value);
  state.addTypes(e.real());
  return {&e, e.builder.create(state)->getResult(0)};
}

/// isnormal by the smallest normal number of the narrow type.
static Num isNormalNarrow(Num x, Type element) {
  double smallest = element.isF16() ? 0x1p-14 : 0x1p-126;
  return isFinite(x) & notOf(less(abs(x), smallest));
}

static SmallVector<Value> expand(Operation *op, StringRef name,
                                 ArrayRef<Permute> permutes) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  if (name == "ipowi")
    return {emitIntegerPow(builder, loc, op->getOperand(0), op->getOperand(1))};
  Type type = op->getOperand(0).getType();
  Type element = getElementTypeOrSelf(type);
  Emitter e(builder, loc, type, element.isF64(), permutes);
  Num x = widen(e, op->getOperand(0));
  if (UnaryBody body = unaryBody(name))
    return {narrow(body(x), type)};
  if (name == "isnormal" && (element.isF16() || element.isBF16()))
    return {isNormalNarrow(x, element).value};
  if (UnaryBody body = classifyBody(name))
    return {body(x).value};
  if (name == "sincos")
    return {narrow(emitSin(x), type), narrow(emitCos(x), type)};
  if (name == "fpowi")
    return {narrow(emitPowInteger(x, op->getOperand(1)), type)};
  if (isInstructionInF32(name))
    return {narrow(onSingle(e, op, x), type)};
  Num y = widen(e, op->getOperand(1));
  if (BinaryBody body = binaryBody(name))
    return {narrow(body(x, y), type)};
  // clampf
  Num low = e.make<arith::MaximumFOp>(op->getOperand(0), op->getOperand(1));
  return {e.make<arith::MinimumFOp>(low.value, op->getOperand(2)).value};
}

/// The sum 1 + tanh(x) in f32, if that is all that tanh(x) is needed for: then
/// the two are one function.
static Operation *findSumWithOne(Operation *op, StringRef name) {
  if (name != "tanh" || !op->hasOneUse() ||
      !getElementTypeOrSelf(op->getResult(0).getType()).isF32())
    return nullptr;
  auto sum = dyn_cast<arith::AddFOp>(*op->user_begin());
  if (!sum || sum->getBlock() != op->getBlock())
    return nullptr;
  Value other = sum.getLhs() == op->getResult(0) ? sum.getRhs() : sum.getLhs();
  return matchPattern(other, m_OneFloat()) ? sum.getOperation() : nullptr;
}

static Value expandSumWithOne(Operation *tanh, ArrayRef<Permute> permutes) {
  OpBuilder builder(tanh);
  Value x = tanh->getOperand(0);
  Emitter e(builder, tanh->getLoc(), x.getType(), /*isDouble=*/false, permutes);
  return emitOnePlusTanh({&e, x}).value;
}

/// Has x / d for (x * 0.5) * (2 / d), if that is all that `quotient`, 2 / d
/// from 1 on, is needed for: one rounding for two, and two products less.
static void divideHalf(Value quotient) {
  if (!quotient.hasOneUse())
    return;
  auto product = dyn_cast<arith::MulFOp>(*quotient.user_begin());
  if (!product)
    return;
  Value other =
      product.getLhs() == quotient ? product.getRhs() : product.getLhs();
  auto half = other.getDefiningOp<arith::MulFOp>();
  APFloat factor(0.0);
  if (!half || !matchPattern(half.getRhs(), m_ConstantFloat(&factor)) ||
      !factor.isExactlyValue(0.5))
    return;
  OpBuilder builder(product);
  auto division = quotient.getDefiningOp<arith::DivFOp>();
  product.replaceAllUsesWith(arith::DivFOp::create(builder, product.getLoc(),
                                                   half.getLhs(),
                                                   division.getRhs())
                                 .getResult());
  product.erase();
  division.erase();
}

/// Vectors whose functions are computed at once, operation by operation: one
/// function is a long chain, and what a processor looks ahead over holds the
/// rest of a few of them only.
static constexpr size_t mostAbreast = 4;

/// Operations with the functions that they are.
using Functions = ArrayRef<std::pair<Operation *, StringRef>>;

/// True if `next` stands right behind the others, is the same function, and
/// needs none of their results.
static bool isAlike(Functions others, Operation *next) {
  Operation *last = others.back().first;
  return last->getNextNode() == next && last->getName() == next->getName() &&
         last->getOperandTypes() == next->getOperandTypes() &&
         llvm::none_of(next->getOperands(), [&](Value operand) {
           return llvm::any_of(others, [&](const auto &other) {
             return other.first == operand.getDefiningOp();
           });
         });
}

/// Expands neighbours that are alike. None needs another's result, so that
/// their operations may take turns. Sums of one and tanh go to `sums`.
static void expandAbreast(Functions alike, ArrayRef<Permute> permutes,
                          SmallVectorImpl<Value> &sums) {
  Operation *behind = alike.back().first->getNextNode();
  SmallVector<SmallVector<Operation *>, mostAbreast> made;
  for (auto [op, name] : alike) {
    Operation *before = op->getPrevNode();
    Block *block = op->getBlock();
    Operation *sum = findSumWithOne(op, name);
    SmallVector<Value> results =
        sum ? SmallVector<Value>{expandSumWithOne(op, permutes)}
            : expand(op, name, permutes);
    made.emplace_back();
    for (Operation *next = before ? before->getNextNode() : &block->front();
         next != op; next = next->getNextNode())
      made.back().push_back(next);
    if (sum) {
      if (sum == behind)
        behind = sum->getNextNode();
      sum->replaceAllUsesWith(results);
      sum->erase();
      sums.push_back(results.front());
    } else {
      op->replaceAllUsesWith(results);
    }
    op->erase();
  }
  bool isEven = llvm::all_of(made, [&](const SmallVector<Operation *> &list) {
    return list.size() == made.front().size();
  });
  if (made.size() == 1 || !isEven)
    return;
  for (size_t step = 0; step < made.front().size(); ++step)
    for (const SmallVector<Operation *> &list : made)
      list[step]->moveBefore(behind);
}

namespace {
struct LowerMathPass : impl::LowerMathBase<LowerMathPass> {
  using LowerMathBase::LowerMathBase;

  LogicalResult initialize(MLIRContext *context) override {
    for (const std::string &name : ops)
      if (!isKnown(name))
        return emitError(UnknownLoc::get(context))
               << "ops: '" << name << "' is no operation of the math dialect "
               << "that is known here";
    parsed.clear();
    for (const std::string &text : permutes) {
      std::optional<Permute> permute = parsePermute(text);
      if (!permute || (!parsed.empty() && parsed.back().lanes < permute->lanes))
        return refuseItem(
            context, "permutes", text,
            "BITS:INTRINSIC, the widest first: a power of two from 256 to "
            "2048, and a name that begins with 'llvm.'");
      parsed.push_back(*permute);
    }
    return success();
  }

  void runOnOperation() override {
    llvm::StringSet<> wanted;
    for (const std::string &name : ops)
      wanted.insert(name);
    SmallVector<std::pair<Operation *, StringRef>> found;
    getOperation()->walk([&](Operation *op) {
      if (!isa_and_nonnull<math::MathDialect>(op->getDialect()))
        return;
      StringRef name = op->getName().stripDialect();
      if (!wanted.empty() && !wanted.contains(name))
        return;
      if (isKnown(name) && staysInstruction(op, name))
        return;
      StringRef reason = whyNot(op, name);
      if (reason.empty()) {
        found.push_back({op, name});
        return;
      }
      ++numDeclined;
      remark(RemarkKind::Declined, op->getLoc(), "lower-math", reason)
          << arg("operation", name);
    });
    SmallVector<Value> sums;
    for (size_t begin = 0; begin < found.size();) {
      size_t end = begin + 1;
      while (
          end < found.size() && end - begin < mostAbreast &&
          isAlike(ArrayRef(found).slice(begin, end - begin), found[end].first))
        ++end;
      expandAbreast(ArrayRef(found).slice(begin, end - begin), parsed, sums);
      begin = end;
    }
    llvm::for_each(sums, divideHalf);
    numApplied += found.size();
  }

  SmallVector<Permute> parsed;
};
} // namespace

} // namespace polynest
