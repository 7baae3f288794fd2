// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Support/DotForm.cpp: see the header.

#include "Support/DotForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace polynest {

Type DotElement::getType(MLIRContext *context) const {
  if (isFloat())
    return BFloat16Type::get(context);
  return IntegerType::get(context, bits);
}

bool DotElement::holds(int64_t low, int64_t high) const {
  int64_t half = int64_t(1) << (bits - 1);
  bool isSigned = kind == DotKind::Signed;
  return !isFloat() && low >= (isSigned ? -half : 0) &&
         high < (isSigned ? half : 2 * half);
}

Value DotElement::extend(OpBuilder &builder, Location loc, Type wide,
                         Value narrow) const {
  switch (kind) {
  case DotKind::Signed:
    return arith::ExtSIOp::create(builder, loc, wide, narrow);
  case DotKind::Unsigned:
    return arith::ExtUIOp::create(builder, loc, wide, narrow);
  case DotKind::Float:
    return arith::ExtFOp::create(builder, loc, wide, narrow);
  }
  return {};
}

std::optional<DotElement> getExtendedElement(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp, arith::ExtFOp>(op))
    return std::nullopt;
  Type narrow = getElementTypeOrSelf(op->getOperand(0));
  unsigned bits = narrow.getIntOrFloatBitWidth();
  if (isa<arith::ExtSIOp>(op))
    return DotElement{DotKind::Signed, bits};
  if (isa<arith::ExtUIOp>(op))
    return DotElement{DotKind::Unsigned, bits};
  if (narrow.isBF16())
    return DotElement{DotKind::Float, bits};
  return std::nullopt;
}

/// Takes one side off the front of the text.
static std::optional<DotElement> takeElement(StringRef &text) {
  static const std::pair<StringRef, DotElement> elements[] = {
      {"s8", {DotKind::Signed, 8}},
      {"u8", {DotKind::Unsigned, 8}},
      {"s16", {DotKind::Signed, 16}},
      {"bf16", {DotKind::Float, 16}}};
  for (const auto &[name, element] : elements)
    if (text.consume_front(name))
      return element;
  return std::nullopt;
}

std::optional<DotForm> parseDotForm(StringRef text) {
  std::optional<DotElement> left = takeElement(text);
  std::optional<DotElement> right = takeElement(text);
  DotForm form;
  if (!left || !right || left->isFloat() != right->isFloat() ||
      left->bits != right->bits || !text.consume_front("x") ||
      text.getAsInteger(10, form.step) || form.step * left->bits != 32)
    return std::nullopt;
  form.left = *left;
  form.right = *right;
  return form;
}

std::optional<TileShape> parseTileShape(StringRef text) {
  SmallVector<StringRef, 3> words;
  text.split(words, 'x');
  TileShape shape;
  int64_t *sizes[] = {&shape.rows, &shape.columns, &shape.words};
  if (words.size() != 3)
    return std::nullopt;
  for (auto [word, size] : llvm::zip_equal(words, sizes))
    if (word.getAsInteger(10, *size) || *size < 2 || *size > 64 ||
        !llvm::isPowerOf2_64(uint64_t(*size)))
      return std::nullopt;
  return shape;
}

SmallVector<AffineMap> getTileMaps(MLIRContext *context) {
  AffineExpr m, n, k, within;
  bindDims(context, m, n, k, within);
  auto mapOf = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(4, 0, results, context);
  };
  return {mapOf({m, k, within}), mapOf({k, n, within}), mapOf({m, n})};
}

/// Words as groups of elements in a last dimension of its own, in a wider type.
static Value groupsOf(OpBuilder &builder, Location loc, Value words,
                      const DotElement &element, int64_t step, Type wide) {
  Type narrow = element.getType(builder.getContext());
  auto type = cast<VectorType>(words.getType());
  SmallVector<int64_t> flat(type.getShape()), groups(type.getShape());
  flat.back() *= step;
  groups.push_back(step);
  Value elements = vector::BitCastOp::create(
      builder, loc, VectorType::get(flat, narrow), words);
  Value grouped = vector::ShapeCastOp::create(
      builder, loc, VectorType::get(groups, narrow), elements);
  return element.extend(builder, loc, VectorType::get(groups, wide), grouped);
}

/// The contraction over the last `reductions` of the dimensions of `maps`.
static Value contract(OpBuilder &builder, Location loc, Value left, Value right,
                      Value sum, ArrayRef<AffineMap> maps,
                      unsigned reductions) {
  unsigned dims = maps.front().getNumDims();
  SmallVector<Attribute> iterators;
  for (unsigned i = 0; i < dims; ++i)
    iterators.push_back(vector::IteratorTypeAttr::get(
        builder.getContext(), i + reductions < dims
                                  ? vector::IteratorType::parallel
                                  : vector::IteratorType::reduction));
  return vector::ContractionOp::create(builder, loc, left, right, sum,
                                       builder.getAffineMapArrayAttr(maps),
                                       builder.getArrayAttr(iterators));
}

Value multiplyWords(OpBuilder &builder, Location loc, Value left,
                    const DotElement &leftElement, Value right,
                    const DotElement &rightElement, int64_t step, Value sum) {
  Type wide = getElementTypeOrSelf(sum.getType());
  AffineMap whole = builder.getMultiDimIdentityMap(2);
  return contract(builder, loc,
                  groupsOf(builder, loc, left, leftElement, step, wide),
                  groupsOf(builder, loc, right, rightElement, step, wide), sum,
                  {whole, whole, whole.getMajorSubMap(1)}, 1);
}

Value multiplyTiles(OpBuilder &builder, Location loc, Value left,
                    const DotElement &leftElement, Value right,
                    const DotElement &rightElement, int64_t step, Value sum) {
  Type wide = getElementTypeOrSelf(sum.getType());
  return contract(builder, loc,
                  groupsOf(builder, loc, left, leftElement, step, wide),
                  groupsOf(builder, loc, right, rightElement, step, wide), sum,
                  getTileMaps(builder.getContext()), 2);
}

} // namespace polynest
