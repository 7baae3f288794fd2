// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// lib/Register.cpp: the list of test-only passes.

#include "TestPasses.h"

void polynest::registerTestPasses() { registerTestAnalysisPasses(); }
