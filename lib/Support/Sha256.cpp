// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Support/Sha256.cpp: see the header. The work is LLVM's.

#include "Support/Sha256.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/SHA256.h"

#include <algorithm>
#include <type_traits>

static_assert(sizeof(llvm::SHA256) <= sizeof(pn_sha256_t) &&
                  alignof(llvm::SHA256) <= alignof(pn_sha256_t) &&
                  std::is_trivially_destructible<llvm::SHA256>::value,
              "a state does not fit its place");

static llvm::SHA256 *stateOf(pn_sha256_t *hash) {
  return reinterpret_cast<llvm::SHA256 *>(hash->storage);
}

void pn_sha256_begin(pn_sha256_t *hash) { new (hash->storage) llvm::SHA256(); }

void pn_sha256_add(pn_sha256_t *hash, const void *data, size_t size) {
  stateOf(hash)->update(
      llvm::ArrayRef(static_cast<const uint8_t *>(data), size));
}

void pn_sha256_end(pn_sha256_t *hash, uint8_t out_digest[PN_SHA256_BYTES]) {
  std::array<uint8_t, PN_SHA256_BYTES> digest = stateOf(hash)->final();
  std::copy(digest.begin(), digest.end(), out_digest);
}
