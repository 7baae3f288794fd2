//===- IslBridge.cpp - affine constraints as isl sets ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Analysis/IslBridge.h"
