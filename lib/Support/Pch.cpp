// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Carries the precompiled header; has no code of its own.
