/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * planted_bug.c: bugs that a sanitizer must report, one an argument.
 *
 * If one of them passes unnoticed, the sanitizer lanes prove nothing.
 */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int amount = 40;
static int shared;

static int overflow(void) {
  volatile char *bytes = malloc((size_t)amount);
  if (!bytes)
    return 0;
  char last = bytes[amount];
  free((void *)bytes);
  return last;
}

static int shift(void) { return 1 << amount; }

static int leak(void) {
  char *volatile bytes = malloc((size_t)amount);
  int known = bytes != NULL;
  bytes = NULL;
  return known;
}

static void *write_shared(void *value) {
  shared = *(int *)value;
  return NULL;
}

static int race(void) {
  pthread_t thread;
  int value = amount;
  if (pthread_create(&thread, NULL, write_shared, &value))
    return 0;
  shared = 1;
  pthread_join(thread, NULL);
  return shared;
}

int main(int argc, char **argv) {
  const char *bug = argc > 1 ? argv[1] : "";
  int result = -1;
  if (!strcmp(bug, "overflow"))
    result = overflow();
  else if (!strcmp(bug, "shift"))
    result = shift();
  else if (!strcmp(bug, "leak"))
    result = leak();
  else if (!strcmp(bug, "race"))
    result = race();
  printf("%s went unnoticed: %d\n", bug, result);
  return 0;
}
