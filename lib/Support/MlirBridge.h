/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Support/MlirBridge.h: the few MLIR services that its C API lacks, as C
 * functions. Implemented in C++; everything else of the driver uses mlir-c.
 */
#ifndef POLYNEST_SUPPORT_MLIRBRIDGE_H
#define POLYNEST_SUPPORT_MLIRBRIDGE_H

#include "mlir-c/IR.h"
#include "polynest/context.h"

PN_EXTERN_C_BEGIN

/* Routes every remark of the context to the callback; NULL turns it off. */
void pn_mlir_set_remark_callback(MlirContext context, pn_remark_fn callback,
                                 void *user);

PN_EXTERN_C_END

#endif /* POLYNEST_SUPPORT_MLIRBRIDGE_H */
