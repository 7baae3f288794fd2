// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/TmTensorDialect.cpp: a name for torch-mlir's tm_tensor dialect.
//
// With it the parser takes operations of the dialect in generic form, without
// taking unknown operations of every other. They have no verifier;
// polynest-lower-tm-tensor checks and lowers them.

#include "Support/MlirBridge.h"

#include "mlir/CAPI/IR.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;

namespace {
class TmTensorDialect final : public Dialect {
public:
  explicit TmTensorDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context,
                TypeID::get<TmTensorDialect>()) {
    allowUnknownOperations();
  }
  static constexpr llvm::StringLiteral getDialectNamespace() {
    return "tm_tensor";
  }
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TmTensorDialect)
};
} // namespace

void pn_mlir_register_frontend_dialects(MlirDialectRegistry registry) {
  unwrap(registry)->insert<TmTensorDialect>();
}
