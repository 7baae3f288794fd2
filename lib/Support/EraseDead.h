// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Support/EraseDead.h: erasing what a rewrite leaves unused.
#ifndef POLYNEST_SUPPORT_ERASEDEAD_H
#define POLYNEST_SUPPORT_ERASEDEAD_H

#include "mlir/IR/Operation.h"

namespace polynest {

/// Erases those of the operations that nobody needs, with what computed them
/// alone. An operation may be used several times on the way.
void eraseDead(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace polynest

#endif // POLYNEST_SUPPORT_ERASEDEAD_H
