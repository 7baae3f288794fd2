// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Support/EraseDead.cpp: see the header.

#include "Support/EraseDead.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace polynest {

void eraseDead(ArrayRef<Operation *> ops) {
  llvm::SetVector<Operation *> work(ops.begin(), ops.end());
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp())
        work.insert(source);
    op->erase();
  }
}

} // namespace polynest
