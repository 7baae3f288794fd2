/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Conversion/SplitModule.h: kernels into modules of their own, for C. */
#ifndef POLYNEST_CONVERSION_SPLITMODULE_H
#define POLYNEST_CONVERSION_SPLITMODULE_H

#include "mlir-c/IR.h"
#include "polynest/base.h"

PN_EXTERN_C_BEGIN

/* Moves kernels of a module of S5 into up to `most` - 1 new modules, which the
 * caller destroys, in `out_modules`; returns their number. Each of the modules,
 * the given one included, then has about the same number of operations, at
 * least `least_operations`; where there is not enough for two, nothing
 * moves. What one module uses of another becomes an external symbol. */
size_t pn_module_split(MlirModule module, size_t most, size_t least_operations,
                       MlirModule *out_modules);

PN_EXTERN_C_END

#endif /* POLYNEST_CONVERSION_SPLITMODULE_H */
