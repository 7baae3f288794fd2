/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Support/Paths.c: what paths name. */

#include "Support/Paths.h"

#include <string.h>
#include <sys/stat.h>

bool pn_path_is_same(const char *a, const char *b) {
  struct stat first, second;
  bool has_first = stat(a, &first) == 0, has_second = stat(b, &second) == 0;
  if (has_first != has_second)
    return false;
  if (has_first)
    return S_ISREG(first.st_mode) && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
  return strcmp(a, b) == 0;
}
