//===- NestKind.cpp - what a nest is --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Analysis/NestKind.h"

using namespace mlir;

namespace polynest {

NestKind classifyNest(affine::AffineForOp, ArrayRef<Access>) {
  return NestKind::Misc;
}

StringRef nestKindName(NestKind kind) {
  switch (kind) {
  case NestKind::Pointwise:
    return "pointwise";
  case NestKind::Broadcast:
    return "broadcast";
  case NestKind::Reduction:
    return "reduction";
  case NestKind::Matmul:
    return "matmul";
  case NestKind::Stencil:
    return "stencil";
  case NestKind::Misc:
    return "misc";
  }
  llvm_unreachable("all kinds are handled");
}

} // namespace polynest
