// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// lib/TestPasses.h: registration of the passes that exist for tests only.
#ifndef POLYNEST_TEST_LIB_TESTPASSES_H
#define POLYNEST_TEST_LIB_TESTPASSES_H

namespace polynest {

void registerTestAnalysisPasses();

/// All of the above.
void registerTestPasses();

} // namespace polynest

#endif // POLYNEST_TEST_LIB_TESTPASSES_H
