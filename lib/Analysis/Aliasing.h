// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/Aliasing.h: which memrefs may share storage.
#ifndef POLYNEST_ANALYSIS_ALIASING_H
#define POLYNEST_ANALYSIS_ALIASING_H

#include "mlir/IR/Value.h"

namespace polynest {

/// The memref that `memref` is a view of, through every view-like operation
/// (subview, cast, reinterpret_cast, expand and collapse, transpose, view).
/// A value that no view-like operation defines is its own base.
mlir::Value getBaseMemref(mlir::Value memref);

/// True unless the two are proven to share no storage. Two different
/// allocations do not alias; an allocation does not alias an argument of the
/// function it is made in; a result argument of an entry (attribute
/// `polynest.result`) aliases no other argument; everything else may alias.
bool mayAlias(mlir::Value a, mlir::Value b);

} // namespace polynest

#endif // POLYNEST_ANALYSIS_ALIASING_H
