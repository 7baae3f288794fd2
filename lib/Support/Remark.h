// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Support/Remark.h: the one way by which passes report decisions.
//
// Every decision of a pass (fused, tiled, vectorized, or why not) goes through
// `remark`. It builds nothing when nobody listens. Remarks travel through
// MLIR's RemarkEngine, so that `polynest-opt --remarks-filter=.*` prints them
// and a C callback can receive them (see installRemarkCallback).
#ifndef POLYNEST_SUPPORT_REMARK_H
#define POLYNEST_SUPPORT_REMARK_H

#include "mlir/IR/Remarks.h"
#include "polynest/context.h"

namespace polynest {

enum class RemarkKind { Applied, Declined, Analysis };

/// Starts a remark of `pass` (its flag without "polynest-") at `loc`. Stream
/// key-value pairs into it: `remark(...) << arg("factor", 8)`. `reason` is a
/// short lower-case sentence with no final stop.
mlir::remark::detail::InFlightRemark remark(RemarkKind kind, mlir::Location loc,
                                            llvm::StringRef pass,
                                            llvm::StringRef reason);

/// One key-value argument of a remark.
template <typename T>
mlir::remark::detail::Remark::Arg arg(llvm::StringRef key, T value) {
  return mlir::remark::detail::Remark::Arg(key, value);
}

/// True if someone listens in this context.
bool remarksWanted(mlir::MLIRContext *context);

/// Routes every remark of `context` to the callback; NULL turns it off.
void installRemarkCallback(mlir::MLIRContext *context, pn_remark_fn callback,
                           void *user);

} // namespace polynest

#endif // POLYNEST_SUPPORT_REMARK_H
