/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/LibraryProblem.c: whether this machine runs an ahead-of-time library.
 *
 * In the archive alone: it reads the description of the library that it is
 * linked into, whose entries show it as <entry>_problem.
 */
#include "Runtime/Processor.h"

extern const char polynest_info[] __attribute__((weak));

const char *polynest_library_problem(void);

const char *polynest_library_problem(void) {
  return pn_description_problem(pn_processor_features(), polynest_info);
}
