/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Support/Registration.h: pass registration of the C++ libraries, for C. */
#ifndef POLYNEST_SUPPORT_REGISTRATION_H
#define POLYNEST_SUPPORT_REGISTRATION_H

#include "polynest/base.h"

PN_EXTERN_C_BEGIN

void pn_conversion_register_passes(void);
void pn_transforms_register_passes(void);

PN_EXTERN_C_END

#endif /* POLYNEST_SUPPORT_REGISTRATION_H */
