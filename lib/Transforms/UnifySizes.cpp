//===- UnifySizes.cpp - sizes that are equal as one value -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: where operations take a size (bounds of loops, sizes of buffers and
// views), they take the first value of the function that is equal to it: passes
// that compare loops and buffers compare values. A bound that is a product of
// sizes becomes the value that holds that product, if there is one in front.
// Legal when: the two are proven equal where the size is taken: by where they
// come from, by assertions in front, or because callers see to it (the sizes of
// results). The value is one of the function's outermost block and stands in
// front, so it is there.
// Profitable always. Limits: functions of one block; sizes that are products of
// few numbers (lib/Analysis/Sizes.h). Cost: linear in operands, and in values
// for each assertion that says something new between two uses.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Sizes.h"
#include "Support/Remark.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <map>

namespace polynest {
#define GEN_PASS_DEF_UNIFYSIZES
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-unify-sizes"

using namespace mlir;

namespace polynest {

static constexpr llvm::StringLiteral passName = "unify-sizes";

/// More assertions than these are not listened to.
static constexpr unsigned mostFacts = 256;

/// A comparison whose only purpose is to be asserted: it is where sizes are
/// found to be equal, and stays.
static bool isAsserted(Operation *op) {
  return isa<arith::CmpIOp>(op) && op->hasOneUse() &&
         isa<cf::AssertOp>(*op->user_begin());
}

namespace {
/// The values of one function, in program order.
class SizeUnifier {
public:
  SizeUnifier(func::FuncOp function, func::FuncOp shapes) : function(function) {
    if (function->hasAttr("polynest.entry"))
      facts.assumeResults(function, shapes);
  }
  unsigned run();

private:
  Value findFirst(Value size);
  unsigned unifyOperands(Operation *op);
  unsigned unifyBound(affine::AffineForOp loop);
  void listValues();

  func::FuncOp function;
  SizeFacts facts;
  /// Values of the outermost block, and by product the first of them.
  SmallVector<Value> values;
  std::map<SizeProduct, Value> first;
  /// How many of the values `first` takes account of.
  size_t listed = 0;
  unsigned assumed = 0;
};
} // namespace

/// Takes account of all values so far.
void SizeUnifier::listValues() {
  for (; listed < values.size(); ++listed)
    first.insert({facts.of(OpFoldResult(values[listed])), values[listed]});
}

/// The first value that is equal to the size.
Value SizeUnifier::findFirst(Value size) {
  listValues();
  auto it = first.find(facts.of(OpFoldResult(size)));
  return it == first.end() ? size : it->second;
}

unsigned SizeUnifier::unifyOperands(Operation *op) {
  unsigned replaced = 0;
  if (isAsserted(op))
    return 0;
  for (OpOperand &operand : op->getOpOperands()) {
    Value size = operand.get();
    // Variables of loops are no sizes.
    if (!size.getType().isIndex() || getConstantIntValue(size) ||
        (isa<BlockArgument>(size) &&
         size.getParentBlock() != &function.getBody().front()))
      continue;
    Value other = findFirst(size);
    if (other == size)
      continue;
    operand.set(other);
    ++replaced;
  }
  return replaced;
}

/// Takes a value in place of an expression of others.
unsigned SizeUnifier::unifyBound(affine::AffineForOp loop) {
  AffineMap map = loop.getUpperBoundMap();
  if (map.getNumResults() != 1 || !isa<AffineBinaryOpExpr>(map.getResult(0)))
    return 0;
  listValues();
  std::optional<SizeProduct> product = facts.of(
      map.getResult(0), loop.getUpperBoundOperands(), map.getNumDims());
  auto it =
      product && !product->isConstant() ? first.find(*product) : first.end();
  if (it == first.end())
    return 0;
  loop.setUpperBound(
      it->second,
      AffineMap::get(0, 1, getAffineSymbolExpr(0, map.getContext())));
  return 1;
}

unsigned SizeUnifier::run() {
  unsigned replaced = 0;
  for (BlockArgument argument : function.getArguments())
    if (argument.getType().isIndex())
      values.push_back(argument);
  for (Operation &top : function.getBody().front()) {
    if (auto assertion = dyn_cast<cf::AssertOp>(top)) {
      if (assumed < mostFacts && facts.assume(assertion)) {
        ++assumed;
        // Products have other names now.
        first.clear();
        listed = 0;
      }
      continue;
    }
    top.walk([&](Operation *op) {
      replaced += unifyOperands(op);
      if (auto loop = dyn_cast<affine::AffineForOp>(op))
        replaced += unifyBound(loop);
    });
    for (Value result : top.getResults())
      if (result.getType().isIndex())
        values.push_back(result);
  }
  return replaced;
}

namespace {
struct UnifySizesPass : impl::UnifySizesBase<UnifySizesPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      if (!function.getBody().hasOneBlock()) {
        ++numDeclined;
        continue;
      }
      unsigned replaced =
          SizeUnifier(function, getShapes(symbols, function)).run();
      if (replaced == 0)
        continue;
      numApplied += replaced;
      remark(RemarkKind::Applied, function.getLoc(), passName,
             "sizes that are equal became one value")
          << arg("uses", replaced);
    }
  }
};
} // namespace

} // namespace polynest
