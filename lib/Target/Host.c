/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target/Host.c: the target for the machine this process runs on.
 *
 * The only file of lib/Target that calls LLVM: its name for the processor and
 * its feature string are what code generation will be told.
 */

#include "Target/HostFacts.h"

#include "Support/Error.h"

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include <stdlib.h>
#include <string.h>

static pn_error_t *check_options(const pn_target_host_options_t *options) {
  if (options->struct_size < sizeof(*options))
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "struct_size of pn_target_host_options_t is %zu, "
                           "expected %zu or more",
                           options->struct_size, sizeof(*options));
  if (options->reserved != 0)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "reserved field of pn_target_host_options_t is %d, "
                           "expected 0",
                           options->reserved);
  if (options->measure != PN_TARGET_MEASURE_CACHED &&
      options->measure != PN_TARGET_MEASURE_NOW &&
      options->measure != PN_TARGET_MEASURE_IGNORE)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "measure is %d, allowed are 0, 1 and 2",
                           (int)options->measure);
  return NULL;
}

/* Fills the measured fields of the facts, if anything can. */
static void add_measurement(const pn_target_host_options_t *options,
                            pn_host_facts_t *facts) {
  if (options->measure == PN_TARGET_MEASURE_IGNORE)
    return;
  uint64_t key = pn_host_cache_key(facts);
  char path[4096];
  bool has_path =
      pn_host_cache_path(options->cache_directory, key, path, sizeof(path));
  int32_t *capacity = &facts->measured_capacity_kib;
  int32_t *memory = &facts->measured_memory_mib_per_s;
  if (options->measure == PN_TARGET_MEASURE_CACHED) {
    if (has_path)
      (void)pn_host_cache_load(path, key, capacity, memory);
    return;
  }
  pn_target_row_t row;
  pn_host_text_t text;
  pn_host_row(facts, &text, &row);
  const pn_target_cache_t *l2 = &row.info.caches[1];
  if (!pn_host_measure(l2->size_kib / l2->shared_by_cores, capacity, memory))
    return;
  if (has_path)
    (void)pn_host_cache_store(path, key, *capacity, *memory);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a + 1, *(const char *const *)b + 1);
}

/* Sorts a list "+a,-b" by name in place: LLVM's order is that of a hash table,
 * ours must be the same in each run. Left as it is where memory is short. */
static void sort_features(char *list) {
  size_t count = 1, length = strlen(list);
  for (const char *at = list; *at; ++at)
    count += *at == ',';
  char **names = calloc(count, sizeof(*names));
  char *copy = strdup(list);
  if (names && copy) {
    size_t found = 0;
    char *rest = copy;
    for (char *name; (name = strsep(&rest, ",")) != NULL;)
      if (*name)
        names[found++] = name;
    qsort(names, found, sizeof(*names), compare_names);
    char *at = list;
    for (size_t i = 0; i < found; ++i) {
      if (i > 0)
        *at++ = ',';
      at = stpcpy(at, names[i]);
    }
    memset(at, 0, length - (size_t)(at - list));
  }
  free(copy);
  free(names);
}

/* Makes the target from what LLVM says; sorts the features in place. */
static pn_error_t *make_host(const pn_target_host_options_t *options,
                             const char *cpu, char *features,
                             const char *triple, pn_target_t **out_target) {
  sort_features(features);
  pn_host_facts_t facts;
  pn_host_facts_read(&facts);
  facts.llvm_cpu = cpu;
  facts.llvm_features = features;
  facts.llvm_triple = triple;
  add_measurement(options, &facts);
  pn_target_row_t row;
  pn_host_text_t text;
  pn_host_row(&facts, &text, &row);
  return pn_target_create_from_row(&row, "host", out_target);
}

pn_error_t *pn_target_create_host_with(const pn_target_host_options_t *options,
                                       pn_target_t **out_target) {
  if (!out_target)
    return pn_error_create(PN_ERROR_ARGUMENT, "out_target must not be null");
  *out_target = NULL;
  static const pn_target_host_options_t defaults = PN_TARGET_HOST_OPTIONS_INIT;
  options = options ? options : &defaults;
  pn_error_t *error = check_options(options);
  if (error)
    return error;
  char *cpu = LLVMGetHostCPUName();
  char *features = LLVMGetHostCPUFeatures();
  char *triple = LLVMGetDefaultTargetTriple();
  error = cpu && features && triple
              ? make_host(options, cpu, features, triple, out_target)
              : pn_error_create(PN_ERROR_MEMORY, "out of memory");
  LLVMDisposeMessage(triple);
  LLVMDisposeMessage(features);
  LLVMDisposeMessage(cpu);
  return error;
}

pn_error_t *pn_target_create_host(pn_target_t **out_target) {
  return pn_target_create_host_with(NULL, out_target);
}

pn_error_t *pn_host_check_target(const pn_target_info_t *target) {
  char *features = LLVMGetHostCPUFeatures();
  char *triple = LLVMGetDefaultTargetTriple();
  pn_error_t *error = NULL;
  if (features && triple) {
    pn_host_facts_t facts = {
        .llvm_cpu = "", .llvm_features = features, .llvm_triple = triple};
    pn_host_read_cpuid(&facts);
    size_t arch = strcspn(target->llvm_triple, "-");
    bool same = strncmp(target->llvm_triple, triple, arch) == 0;
    uint64_t missing = target->features & ~pn_host_usable_features(&facts);
    if (!same || missing)
      error = pn_error_create(
          PN_ERROR_TARGET,
          "code for target '%s' does not run on this machine, which %s",
          target->name,
          same ? "lacks features of it" : "has another architecture");
  } else {
    error = pn_error_create(PN_ERROR_MEMORY, "out of memory");
  }
  LLVMDisposeMessage(triple);
  LLVMDisposeMessage(features);
  return error;
}
