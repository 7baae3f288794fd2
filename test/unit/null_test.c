/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* null_test.c: null in place of what a function needs, for each function. */

#include "api.h"

#include "polynest/measure.h"

/* Functions that take no pointer, or that generated code alone calls, with
 * arguments it makes: nothing to check here. */
static const char *const others[] = {
    "pn_dtype_name",
    "pn_dtype_size",
    "pn_error_code_name",
    "pn_llvm_version_string",
    "pn_measure_isa_name",
    "pn_memref_descriptor_size",
    "pn_parallel_for",
    "pn_parallel_runtime_name",
    "pn_passes_register",
    "pn_pool_alloc",
    "pn_pool_limit_set",
    "pn_pool_trim",
    "pn_rt_alloc",
    "pn_rt_context_create",
    "pn_rt_region_run",
    "pn_target_known_count",
    "pn_target_known_name",
    "pn_target_request_amx",
    "pn_thread_count_get",
    "pn_thread_count_set",
    "pn_thread_count_override",
    "pn_version",
    "pn_version_string",
};

/* The calls of the test as text: what is exported must stand there. */
static const char *tested[256];
static size_t tested_count;

static void note(const char *call) { tested[tested_count++] = call; }

/* An error with this code that says what is null. */
#define REFUSED(call)                                                          \
  do {                                                                         \
    note(#call);                                                               \
    CHECK_SAYS(call, PN_ERROR_ARGUMENT, "null");                               \
  } while (0)

/* A value that says nothing is there. */
#define NOTHING(call)                                                          \
  do {                                                                         \
    note(#call);                                                               \
    CHECK(!(call));                                                            \
  } while (0)

#define CODE_REFUSED(call)                                                     \
  do {                                                                         \
    note(#call);                                                               \
    CHECK((call) == PN_ERROR_ARGUMENT);                                        \
  } while (0)

/* Does nothing. */
#define ACCEPTED(call)                                                         \
  do {                                                                         \
    note(#call);                                                               \
    call;                                                                      \
  } while (0)

static void drop(void *user, const char *data, size_t size) {
  (void)user, (void)data, (void)size;
}

static void test_errors(void) {
  pn_diagnostic_t diagnostic;
  NOTHING(pn_error_code(NULL));
  NOTHING(*pn_error_message(NULL));
  NOTHING(pn_error_diagnostic_count(NULL));
  NOTHING(pn_error_diagnostic_at(NULL, 0, &diagnostic));
  NOTHING(pn_error_diagnostic_at(NULL, 0, NULL));
  ACCEPTED(pn_error_destroy(NULL));
}

static void test_cache(void) {
  pn_cache_stats_t stats = {.struct_size = sizeof(stats)};
  pn_executable_t *executable;
  REFUSED(pn_cache_create(NULL, NULL));
  REFUSED(pn_cache_stats_get(NULL, &stats));
  REFUSED(pn_cache_clear(NULL));
  REFUSED(pn_cache_find_executable(NULL, "", NULL, &executable));
  REFUSED(pn_cache_find_executable(NULL, "", NULL, NULL));
  NOTHING(*pn_cache_directory(NULL));
  NOTHING(*pn_cache_problem(NULL));
  NOTHING(pn_cache_store(NULL, "k", 1, "d", 1));
  NOTHING(pn_cache_find(NULL, "k", 1, drop, NULL));
  ACCEPTED(pn_cache_retain(NULL));
  ACCEPTED(pn_cache_release(NULL));
}

static void test_targets(void) {
  pn_target_t *target = NULL, *made;
  pn_target_info_t info = {.struct_size = sizeof(info)};
  CHECK_OK(pn_target_create_host(&target));
  REFUSED(pn_target_create_host(NULL));
  REFUSED(pn_target_create_host_with(NULL, NULL));
  REFUSED(pn_target_create_by_name(NULL, &made));
  CHECK(!made);
  REFUSED(pn_target_create_by_name("znver4", NULL));
  REFUSED(pn_target_create_from_file(NULL, &made));
  REFUSED(pn_target_create_from_file("x", NULL));
  REFUSED(pn_target_create_from_text(NULL, 3, NULL, &made));
  REFUSED(pn_target_create_from_text("", 0, NULL, NULL));
  REFUSED(pn_target_get_info(NULL, &info));
  REFUSED(pn_target_get_info(target, NULL));
  REFUSED(pn_target_print(NULL, PN_TARGET_FORMAT_FILE, drop, NULL));
  REFUSED(pn_target_print(target, PN_TARGET_FORMAT_FILE, NULL, NULL));
  NOTHING(pn_target_has_feature(NULL, (pn_target_feature_t)0));
  NOTHING(pn_target_retain(NULL));
  ACCEPTED(pn_target_release(NULL));
  pn_target_release(target);
}

static void test_modules(void) {
  pn_context_t *context = NULL;
  pn_module_t *module = NULL, *other;
  pn_target_t *target = NULL;
  pn_stage_t stage;
  pn_executable_t *executable;
  CHECK_OK(pn_context_create(NULL, &context));
  CHECK_OK(pn_target_create_host(&target));
  CHECK_OK(pn_module_parse(context, api_scalar, strlen(api_scalar), "x", 0,
                           &module));
  REFUSED(pn_context_create(NULL, NULL));
  REFUSED(pn_module_parse(NULL, "", 0, "x", 0, &other));
  REFUSED(pn_module_parse(context, NULL, 1, "x", 0, &other));
  REFUSED(pn_module_parse(context, "", 0, "x", 0, NULL));
  REFUSED(pn_module_read_file(NULL, "x", 0, &other));
  REFUSED(pn_module_read_file(context, NULL, 0, &other));
  REFUSED(pn_module_read_file(context, "x", 0, NULL));
  REFUSED(pn_module_clone(NULL, &other));
  REFUSED(pn_module_clone(module, NULL));
  REFUSED(pn_module_mark_constant(NULL, NULL, 0));
  REFUSED(pn_module_write_file(NULL, "x", false));
  REFUSED(pn_module_write_file(module, NULL, false));
  REFUSED(pn_module_stage(NULL, &stage));
  REFUSED(pn_module_stage(module, NULL));
  REFUSED(pn_pipeline_print(PN_STAGE_S1, NULL, NULL, drop, NULL));
  REFUSED(pn_pipeline_print(PN_STAGE_S1, target, NULL, NULL, NULL));
  REFUSED(pn_compile_to_stage(NULL, PN_STAGE_S1, target, NULL, NULL));
  REFUSED(pn_compile_to_stage(module, PN_STAGE_S1, NULL, NULL, NULL));
  REFUSED(pn_compile_to_executable(NULL, target, NULL, NULL, &executable));
  REFUSED(pn_compile_to_executable(module, NULL, NULL, NULL, &executable));
  REFUSED(pn_compile_to_executable(module, target, NULL, NULL, NULL));
  REFUSED(pn_compile_to_assembly(NULL, target, NULL, "x"));
  REFUSED(pn_compile_to_assembly(module, NULL, NULL, "x"));
  REFUSED(pn_compile_to_assembly(module, target, NULL, NULL));
  REFUSED(pn_compile_to_object(NULL, target, NULL, "x"));
  REFUSED(pn_compile_to_object(module, NULL, NULL, "x"));
  REFUSED(pn_compile_to_object(module, target, NULL, NULL));
  REFUSED(pn_compile_to_library(NULL, target, NULL, "x", NULL));
  REFUSED(pn_compile_to_library(module, NULL, NULL, "x", NULL));
  REFUSED(pn_compile_to_library(module, target, NULL, NULL, NULL));
  ACCEPTED(pn_module_print(NULL, drop, NULL));
  ACCEPTED(pn_module_print(module, NULL, NULL));
  ACCEPTED(pn_module_destroy(NULL));
  ACCEPTED(pn_context_retain(NULL));
  ACCEPTED(pn_context_release(NULL));
  pn_module_destroy(module);
  pn_target_release(target);
  pn_context_release(context);
}

static void test_executables(void) {
  pn_executable_t *executable = api_compile(api_add), *other;
  const pn_entry_t *entry = NULL, *found;
  pn_value_type_t type;
  pn_state_t *state;
  int64_t sizes[2] = {0};
  pn_memref_t inputs[2] = {{0}};
  CHECK_OK(pn_executable_find_entry(executable, NULL, &entry));
  REFUSED(pn_executable_load(NULL, &other));
  REFUSED(pn_executable_load("x", NULL));
  REFUSED(pn_executable_find_entry(NULL, "f", &found));
  REFUSED(pn_executable_find_entry(executable, "f", NULL));
  NOTHING(pn_executable_entry_count(NULL));
  NOTHING(pn_executable_entry_at(NULL, 0));
  NOTHING(pn_executable_nest_times(NULL, NULL, 0));
  NOTHING(pn_executable_nest_times(NULL, sizes, 1));
  NOTHING(*pn_executable_cache_key(NULL));
  NOTHING(pn_executable_code_bytes(NULL));
  NOTHING(pn_entry_name(NULL));
  NOTHING(pn_entry_input_count(NULL));
  NOTHING(pn_entry_result_count(NULL));
  NOTHING(pn_entry_input_type(NULL, 0, &type));
  NOTHING(pn_entry_input_type(entry, 0, NULL));
  NOTHING(pn_entry_result_type(NULL, 0, &type));
  NOTHING(pn_entry_result_type(entry, 0, NULL));
  NOTHING(pn_entry_input_is_constant(NULL, 0));
  NOTHING(pn_entry_input_is_mutable(NULL, 0));
  NOTHING(pn_entry_state_bytes(NULL));
  NOTHING(pn_entry_arena_bytes(NULL));
  REFUSED(pn_entry_result_sizes(NULL, inputs, 2, sizes));
  REFUSED(pn_entry_result_sizes(entry, NULL, 2, sizes));
  REFUSED(pn_entry_result_sizes(entry, inputs, 2, NULL));
  REFUSED(pn_entry_invoke(NULL, NULL, 0, NULL, 0));
  REFUSED(pn_entry_invoke(entry, NULL, 2, NULL, 1));
  REFUSED(pn_state_create(NULL, NULL, 0, &state));
  REFUSED(pn_state_create(entry, NULL, 1, &state));
  REFUSED(pn_state_create(entry, NULL, 0, NULL));
  REFUSED(pn_state_invoke(NULL, NULL, 0, NULL, 0));
  NOTHING(pn_state_reads_constant(NULL, 0));
  ACCEPTED(pn_state_destroy(NULL));
  ACCEPTED(pn_executable_retain(NULL));
  ACCEPTED(pn_executable_release(NULL));
  pn_executable_release(executable);
}

static void test_runtime(void) {
  int64_t count;
  uintptr_t low, high;
  float data[1] = {0};
  const int64_t one[] = {1};
  pn_memref_t view = {
      .data = data, .sizes = one, .dtype = PN_DTYPE_F32, .rank = 1};
  CODE_REFUSED(pn_memref_check(NULL));
  CODE_REFUSED(pn_memref_element_count(NULL, &count));
  CODE_REFUSED(pn_memref_element_count(&view, NULL));
  CODE_REFUSED(pn_memref_span(NULL, &low, &high));
  CODE_REFUSED(pn_memref_span(&view, NULL, &high));
  CODE_REFUSED(pn_memref_span(&view, &low, NULL));
  CODE_REFUSED(pn_memref_descriptor_fill(NULL, data));
  CODE_REFUSED(pn_memref_descriptor_fill(&view, NULL));
  CODE_REFUSED(pn_measure_fma(PN_DTYPE_F32, 1, 0.001, NULL));
  CODE_REFUSED(pn_measure_stream((pn_stream_t)0, false, 4096, 1, 0.001, NULL));
  NOTHING(pn_memref_is_contiguous(NULL));
  /* What is not known may overlap. */
  NOTHING(!pn_memref_overlaps(NULL, &view));
  NOTHING(pn_rt_arena(NULL, 64));
  ACCEPTED(pn_rt_context_reset(NULL));
  ACCEPTED(pn_rt_context_destroy(NULL));
  ACCEPTED(pn_rt_free(NULL, NULL));
  ACCEPTED(pn_pool_free(NULL));
  ACCEPTED(pn_pool_stats_get(NULL));
}

static bool calls(const char *text, const char *name) {
  size_t size = strlen(name);
  const char *found = strstr(text, name);
  return found && found[size] == '(';
}

/* Every name of the list that the library exports was called, or needs none. */
static void test_all(void) {
  FILE *list = fopen(POLYNEST_ABI_LIST, "r");
  CHECK(list);
  char name[128];
  while (list && fscanf(list, "%127s", name) == 1) {
    bool known = false;
    for (size_t i = 0; i < COUNT_OF(others); ++i)
      known |= strcmp(others[i], name) == 0;
    for (size_t i = 0; i < tested_count; ++i)
      known |= calls(tested[i], name);
    if (!known)
      fprintf(stderr, "%s is not called with null\n", name);
    CHECK(known);
  }
  if (list)
    (void)fclose(list);
}

int main(void) {
  CHECK_RUN(test_errors);
  CHECK_RUN(test_cache);
  CHECK_RUN(test_targets);
  CHECK_RUN(test_modules);
  CHECK_RUN(test_executables);
  CHECK_RUN(test_runtime);
  CHECK_RUN(test_all);
  return check_result();
}
