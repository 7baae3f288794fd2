/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynest/passes.h: registration of the passes and stage pipelines with MLIR.
 *
 * After the call every `polynest-...` pass and the pipelines `polynest-s1` to
 * `polynest-s5` can be named in MLIR pipeline text of this process.
 * Threads: internally locked; may be called any number of times.
 * Since: 0.1
 */
#ifndef POLYNEST_PASSES_H
#define POLYNEST_PASSES_H

#include "polynest/base.h"

PN_EXTERN_C_BEGIN

PN_EXPORT void pn_passes_register(void);

PN_EXTERN_C_END

#endif /* POLYNEST_PASSES_H */
