/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Support/Sha256.h: SHA-256 as of FIPS 180-4, for names and checksums of what
 * is kept on disk.
 *
 * Threads: one at a time for a state.
 */
#ifndef POLYNEST_SUPPORT_SHA256_H
#define POLYNEST_SUPPORT_SHA256_H

#include "polynest/base.h"

PN_EXTERN_C_BEGIN

#define PN_SHA256_BYTES 32

/* Room for LLVM's state. */
typedef struct pn_sha256 {
  uint64_t storage[16];
} pn_sha256_t;

void pn_sha256_begin(pn_sha256_t *hash);
void pn_sha256_add(pn_sha256_t *hash, const void *data, size_t size);

/* The state must be begun anew afterwards. */
void pn_sha256_end(pn_sha256_t *hash, uint8_t out_digest[PN_SHA256_BYTES]);

PN_EXTERN_C_END

#endif /* POLYNEST_SUPPORT_SHA256_H */
