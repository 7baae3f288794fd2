/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pipeline/Register.c: registration of passes and stage pipelines. */

#include "polynest/passes.h"

#include "Support/Registration.h"

#include <pthread.h>

static void register_once(void) {
  pn_conversion_register_passes();
  pn_transforms_register_passes();
}

void pn_passes_register(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, register_once);
}
