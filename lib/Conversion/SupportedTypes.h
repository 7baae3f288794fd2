// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/SupportedTypes.h: which types programs may use.
#ifndef POLYNEST_CONVERSION_SUPPORTEDTYPES_H
#define POLYNEST_CONVERSION_SUPPORTEDTYPES_H

#include "mlir/IR/Operation.h"

#include <string>

namespace polynest {

/// Why no stage can hold a value of `type`, as the end of a sentence, or an
/// empty string. Shaped types are ranked, without encoding, of elements that
/// have a buffer form: i1, i8, i16, i32, i64, index, f16, bf16, f32, f64.
std::string whyTypeUnsupported(mlir::Type type);

/// Emits an error at the first operation or block argument below `root` whose
/// type is not supported, and fails if there is one.
mlir::LogicalResult checkTypes(mlir::Operation *root);

} // namespace polynest

#endif // POLYNEST_CONVERSION_SUPPORTEDTYPES_H
