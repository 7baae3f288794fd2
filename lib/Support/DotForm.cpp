// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Support/DotForm.cpp: see the header.

#include "Support/DotForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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

} // namespace polynest
