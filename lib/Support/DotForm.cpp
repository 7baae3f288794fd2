// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Support/DotForm.cpp: see the header.

#include "Support/DotForm.h"

using namespace mlir;

namespace polynest {

Type DotElement::getType(MLIRContext *context) const {
  if (isFloat())
    return BFloat16Type::get(context);
  return IntegerType::get(context, bits);
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
