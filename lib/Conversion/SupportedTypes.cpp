// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/SupportedTypes.cpp: which types programs may use.

#include "Conversion/SupportedTypes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace polynest {

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  type.print(os);
  return text;
}

static std::string whyElementUnsupported(Type type) {
  if (isa<ComplexType>(type))
    return "complex element types are not supported";
  if (type.isIndex() || type.isF16() || type.isBF16() || type.isF32() ||
      type.isF64())
    return "";
  auto integer = dyn_cast<IntegerType>(type);
  if (integer && !integer.isSignless())
    return "element type " + print(type) +
           " is not supported; use signless integers";
  if (integer &&
      llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth()))
    return "";
  return "element type " + print(type) +
         " is not supported; use i1, i8, i16, i32, i64, index, f16, bf16, f32 "
         "or f64";
}

std::string whyTypeUnsupported(Type type) {
  if (isa<ComplexType>(type))
    return "complex element types are not supported";
  if (isa<UnrankedTensorType, UnrankedMemRefType>(type))
    return "unranked types are not supported";
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped)
    return "";
  if (auto tensor = dyn_cast<RankedTensorType>(type);
      tensor && tensor.getEncoding())
    return "tensor encodings are not supported";
  return whyElementUnsupported(shaped.getElementType());
}

/// The first reason among `types`, or an empty string.
template <typename Range>
static std::string firstReason(Range &&types) {
  for (Type type : types) {
    std::string reason = whyTypeUnsupported(type);
    if (!reason.empty())
      return reason;
  }
  return "";
}

LogicalResult checkTypes(Operation *root) {
  WalkResult walk = root->walk<WalkOrder::PreOrder>([](Operation *op) {
    std::string reason = firstReason(op->getResultTypes());
    if (auto function = dyn_cast<FunctionOpInterface>(op);
        function && reason.empty()) {
      reason = firstReason(function.getArgumentTypes());
      if (reason.empty())
        reason = firstReason(function.getResultTypes());
    }
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (reason.empty())
          reason = firstReason(block.getArgumentTypes());
    if (reason.empty())
      return WalkResult::advance();
    op->emitOpError() << reason;
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

} // namespace polynest
