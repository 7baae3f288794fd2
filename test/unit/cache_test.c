/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cache_test.c: what is found again, what is not, and that it is right. */

#include "api.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/polynest-cache-test.XXXXXX";

static pn_cache_t *open_cache(const char *directory, uint64_t limit) {
  pn_cache_options_t options = PN_CACHE_OPTIONS_INIT;
  options.directory = directory;
  options.limit_bytes = limit;
  pn_cache_t *cache;
  CHECK_OK(pn_cache_create(&options, &cache));
  return cache;
}

/* All that decides about one compilation. */
typedef struct request {
  const char *text;
  const char *name;   /* of the file, in locations */
  const char *target; /* NULL: the host */
  pn_compile_options_t options;
  const pn_context_options_t *context;
  int constant; /* input to mark, or -1 */
} request_t;

static request_t plain_request(const char *text) {
  return (request_t){.text = text,
                     .name = "test.mlir",
                     .options = PN_COMPILE_OPTIONS_INIT,
                     .constant = -1};
}

/* Compiles; gives the outcome. */
static pn_executable_t *compile(pn_cache_t *cache, request_t request,
                                pn_cache_outcome_t *out_outcome) {
  pn_context_t *context;
  pn_module_t *module;
  pn_target_t *target;
  pn_executable_t *executable = NULL;
  CHECK_OK(pn_context_create(request.context, &context));
  CHECK_OK(pn_module_parse(context, request.text, strlen(request.text),
                           request.name, PN_MODULE_DEFAULT, &module));
  if (request.constant >= 0)
    CHECK_OK(pn_module_mark_constant(module, NULL, (size_t)request.constant));
  CHECK_OK(pn_target_create_by_name(request.target ? request.target : "host",
                                    &target));
  pn_compile_timing_t timing = {.struct_size = sizeof(timing)};
  request.options.cache = cache;
  CHECK_OK(pn_compile_to_executable(module, target, &request.options, &timing,
                                    &executable));
  *out_outcome = timing.cache_outcome;
  bool compiled = timing.cache_outcome <= PN_CACHE_OUTCOME_MISSING;
  CHECK((timing.codegen_ns > 0) == compiled);
  CHECK((timing.cache_ns > 0) ==
        (timing.cache_outcome != PN_CACHE_OUTCOME_UNUSED));
  pn_target_release(target);
  pn_module_destroy(module);
  pn_context_release(context);
  return executable;
}

/* Compiles, and drops the result. */
static pn_cache_outcome_t outcome_of(pn_cache_t *cache, request_t request) {
  pn_cache_outcome_t outcome = PN_CACHE_OUTCOME_UNUSED;
  pn_executable_release(compile(cache, request, &outcome));
  return outcome;
}

/* Calls api_add's entry and compares. */
static void check_add(const pn_executable_t *executable) {
  float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {10, 20, 30, 40, 50, 60}, r[6] = {0};
  const int64_t sizes[2] = {2, 3}, other[2] = {3, 2};
  const pn_memref_t inputs[2] = {
      {.data = a, .sizes = sizes, .dtype = PN_DTYPE_F32, .rank = 2},
      {.data = b, .sizes = other, .dtype = PN_DTYPE_F32, .rank = 2}};
  const pn_memref_t result = {
      .data = r, .sizes = sizes, .dtype = PN_DTYPE_F32, .rank = 2};
  const pn_entry_t *entry = NULL;
  CHECK_OK(pn_executable_find_entry(executable, "add", &entry));
  CHECK_OK(pn_entry_invoke(entry, inputs, 2, &result, 1));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      CHECK(r[3 * i + j] == 2 * a[3 * i + j] + b[2 * j + i]);
}

static pn_cache_stats_t stats_of(pn_cache_t *cache) {
  pn_cache_stats_t stats = {.struct_size = sizeof(stats)};
  CHECK_OK(pn_cache_stats_get(cache, &stats));
  return stats;
}

static void test_found(void) {
  pn_cache_t *cache = open_cache(folder, 0);
  CHECK(strcmp(pn_cache_directory(cache), folder) == 0);
  pn_cache_outcome_t outcome;
  request_t request = plain_request(api_add);
  pn_executable_t *first = compile(cache, request, &outcome);
  CHECK(outcome == PN_CACHE_OUTCOME_MISSING);
  check_add(first);
  /* Names of files do not count. */
  request.name = "other.mlir";
  pn_executable_t *second = compile(cache, request, &outcome);
  CHECK(outcome == PN_CACHE_OUTCOME_SHARED && second == first);
  pn_executable_release(first);
  check_add(second);
  pn_executable_release(second);
  pn_executable_t *third = compile(cache, request, &outcome);
  CHECK(outcome == PN_CACHE_OUTCOME_FOUND);
  check_add(third);
  pn_cache_stats_t stats = stats_of(cache);
  CHECK(stats.entries == 1 && stats.bytes > 500 && stats.stored == 1);
  CHECK(stats.missing == 1 && stats.shared == 1 && stats.found == 1);
  CHECK(stats.damaged == 0 && stats.limit_bytes == (uint64_t)1 << 30);
  CHECK(*pn_cache_problem(cache) == '\0');
  /* The executable outlives the last reference on its cache. */
  pn_cache_release(cache);
  check_add(third);
  CHECK(strlen(pn_executable_cache_key(third)) == 64);
  /* Another cache in the same directory shares no executables. */
  cache = open_cache(folder, 0);
  pn_executable_t *fourth = compile(cache, request, &outcome);
  CHECK(outcome == PN_CACHE_OUTCOME_FOUND && fourth != third);
  check_add(fourth);
  pn_executable_release(fourth);
  pn_executable_release(third);
  CHECK_OK(pn_cache_clear(cache));
  CHECK(stats_of(cache).entries == 0);
  CHECK(outcome_of(cache, request) == PN_CACHE_OUTCOME_MISSING);
  CHECK_OK(pn_cache_clear(cache));
  pn_cache_release(cache);
}

static const char dense_a[] =
    "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
    "  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
    "  %r = arith.addf %x, %c : tensor<2xf32>\n"
    "  return %r : tensor<2xf32>\n"
    "}\n";
static const char dense_b[] =
    "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
    "  %c = arith.constant dense<[1.0, 3.0]> : tensor<2xf32>\n"
    "  %r = arith.addf %x, %c : tensor<2xf32>\n"
    "  return %r : tensor<2xf32>\n"
    "}\n";
/* Contents that stand behind the module. */
#define RESOURCE(hex)                                                          \
  "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"                       \
  "  %c = arith.constant dense_resource<held> : tensor<2xf32>\n"               \
  "  %r = arith.addf %x, %c : tensor<2xf32>\n"                                 \
  "  return %r : tensor<2xf32>\n"                                              \
  "}\n"                                                                        \
  "{-# dialect_resources: {builtin: {held: \"0x04000000" hex "\"}} #-}\n"
static const char resource_a[] = RESOURCE("0000803F00000040");
static const char resource_b[] = RESOURCE("0000803F00004040");

/* A change of anything that decides about code is another entry. */
static void test_keys(void) {
  pn_cache_t *cache = open_cache(folder, 0);
  request_t requests[12];
  size_t count = 0;
  requests[count++] = plain_request(api_add);
  requests[count++] = plain_request(api_scalar);
  requests[count++] = plain_request(dense_a);
  requests[count++] = plain_request(dense_b);
  requests[count++] = plain_request(resource_a);
  requests[count++] = plain_request(resource_b);
  request_t request = plain_request(api_add);
  request.options.opt_level = PN_OPT_PLAIN;
  requests[count++] = request;
  request = plain_request(api_add);
  request.options.numerics = PN_NUMERICS_STRICT;
  requests[count++] = request;
  request = plain_request(api_add);
  request.options.disabled_passes = "vectorize-nests";
  requests[count++] = request;
  request = plain_request(api_add);
  request.target = "cpu:haswell";
  requests[count++] = request;
  request = plain_request(api_add);
  request.constant = 1;
  requests[count++] = request;
  for (size_t i = 0; i < count; ++i) {
    pn_cache_outcome_t outcome = outcome_of(cache, requests[i]);
    if (outcome != PN_CACHE_OUTCOME_MISSING)
      fprintf(stderr, "request %zu: outcome %d\n", i, (int)outcome);
    CHECK(outcome == PN_CACHE_OUTCOME_MISSING);
  }
  for (size_t i = 0; i < count; ++i)
    CHECK(outcome_of(cache, requests[i]) == PN_CACHE_OUTCOME_FOUND);
  CHECK(stats_of(cache).entries == count);
  request = plain_request(api_add);
  request.options.cache = cache;
  request.options.disabled_passes = "no-such-pass";
  pn_context_t *context = api_context();
  pn_module_t *module = api_parse(context, api_add);
  pn_target_t *host = api_host();
  pn_executable_t *executable;
  CHECK_SAYS(pn_compile_to_executable(module, host, &request.options, NULL,
                                      &executable),
             PN_ERROR_ARGUMENT, "'no-such-pass' is no pass");
  pn_target_release(host);
  pn_module_destroy(module);
  pn_context_release(context);
  CHECK_OK(pn_cache_clear(cache));
  pn_cache_release(cache);
}

static void on_stage(void *user, pn_stage_t stage, const pn_module_t *module) {
  (void)stage;
  (void)module;
  ++*(int *)user;
}

static void on_remark(void *user, const char *pass, pn_remark_kind_t kind,
                      const char *location, const char *const *keys,
                      const char *const *values, size_t count) {
  (void)pass, (void)kind, (void)location;
  (void)keys, (void)values, (void)count;
  ++*(int *)user;
}

/* Whoever wants to see the compilation gets one. */
static void test_bypass(void) {
  pn_cache_t *cache = open_cache(folder, 0);
  request_t request = plain_request(api_add);
  CHECK(outcome_of(cache, request) == PN_CACHE_OUTCOME_MISSING);
  int stages = 0, remarks = 0;
  request.options.stage_fn = on_stage;
  request.options.user = &stages;
  CHECK(outcome_of(cache, request) == PN_CACHE_OUTCOME_UNUSED && stages == 5);
  request = plain_request(api_add);
  pn_context_options_t context = PN_CONTEXT_OPTIONS_INIT;
  context.remark_fn = on_remark;
  context.user = &remarks;
  request.context = &context;
  CHECK(outcome_of(cache, request) == PN_CACHE_OUTCOME_UNUSED && remarks > 0);
  CHECK_OK(pn_cache_clear(cache));
  pn_cache_release(cache);
}

/* The path of the only entry. */
static const char *entry_path(void) {
  static char path[512];
  DIR *dir = opendir(folder);
  for (struct dirent *item; dir && (item = readdir(dir));)
    if (strstr(item->d_name, ".pnc"))
      (void)snprintf(path, sizeof(path), "%s/%s", folder, item->d_name);
  if (dir)
    (void)closedir(dir);
  return path;
}

/* A damaged entry is compiled anew, and mended. */
static void test_damage(void) {
  pn_cache_t *cache = open_cache(folder, 0);
  request_t request = plain_request(api_add);
  CHECK(outcome_of(cache, request) == PN_CACHE_OUTCOME_MISSING);
  struct stat status;
  CHECK(stat(entry_path(), &status) == 0);
  for (int i = 0; i < 8; ++i) {
    int fd = open(entry_path(), O_RDWR);
    off_t at = (status.st_size - 1) * i / 7;
    char byte;
    CHECK(pread(fd, &byte, 1, at) == 1);
    byte ^= 0x10;
    CHECK(pwrite(fd, &byte, 1, at) == 1);
    (void)close(fd);
    pn_cache_outcome_t outcome;
    pn_executable_t *executable = compile(cache, request, &outcome);
    CHECK(outcome == PN_CACHE_OUTCOME_MISSING);
    check_add(executable);
    pn_executable_release(executable);
    CHECK(outcome_of(cache, request) == PN_CACHE_OUTCOME_FOUND);
  }
  CHECK(stats_of(cache).damaged == 8);
  CHECK_OK(pn_cache_clear(cache));
  pn_cache_release(cache);
}

static void on_diagnostic(void *user, const pn_diagnostic_t *diagnostic) {
  ++*(int *)user;
  CHECK(diagnostic->severity == PN_SEVERITY_REMARK);
  CHECK(strstr(diagnostic->text, "compiled code is not kept: cannot"));
}

/* Without a directory everything works, equal modules still share, and a remark
 * says so, once. */
static void test_unusable(void) {
  pn_cache_t *cache = open_cache("/proc/polynest", 0);
  int remarks = 0;
  pn_context_options_t context = PN_CONTEXT_OPTIONS_INIT;
  context.diagnostic_fn = on_diagnostic;
  context.user = &remarks;
  request_t request = plain_request(api_add);
  request.context = &context;
  CHECK(outcome_of(cache, request) == PN_CACHE_OUTCOME_MISSING);
  CHECK(strstr(pn_cache_problem(cache), "cannot make the folder"));
  pn_cache_outcome_t outcome;
  pn_executable_t *executable = compile(cache, request, &outcome);
  CHECK(outcome == PN_CACHE_OUTCOME_MISSING && remarks == 1);
  CHECK(outcome_of(cache, request) == PN_CACHE_OUTCOME_SHARED);
  check_add(executable);
  pn_executable_release(executable);
  CHECK(!pn_cache_store(cache, "key", 3, "data", 4));
  CHECK_OK(pn_cache_clear(cache));
  pn_cache_release(cache);
}

static void test_limit(void) {
  pn_cache_t *cache = open_cache(folder, 600);
  CHECK(outcome_of(cache, plain_request(api_add)) == PN_CACHE_OUTCOME_MISSING);
  CHECK(stats_of(cache).entries == 0 && stats_of(cache).limit_bytes == 600);
  CHECK(strstr(pn_cache_problem(cache), "above the limit of 600"));
  for (char i = 'a'; i < 'z'; ++i)
    CHECK(pn_cache_store(cache, &i, 1, "some data", 9));
  CHECK(stats_of(cache).bytes <= 600 && stats_of(cache).entries == 6);
  CHECK_OK(pn_cache_clear(cache));
  pn_cache_release(cache);
}

static void test_bytes(void) {
  pn_cache_t *cache = open_cache(folder, 0);
  api_text_t *text = calloc(1, sizeof(*text));
  CHECK(!pn_cache_find(cache, "key", 3, api_write, text));
  CHECK(pn_cache_store(cache, "key", 3, "data", 4));
  CHECK(pn_cache_store(cache, "kex", 3, "other", 5));
  CHECK(pn_cache_store(cache, "", 0, "", 0));
  CHECK(pn_cache_find(cache, "key", 3, api_write, text));
  CHECK(strcmp(text->data, "data") == 0);
  CHECK(pn_cache_find(cache, "", 0, api_write, text) && text->size == 4);
  CHECK(!pn_cache_find(cache, "ke", 2, api_write, text));
  CHECK(!pn_cache_find(NULL, "key", 3, api_write, text));
  CHECK(!pn_cache_find(cache, NULL, 3, api_write, text));
  CHECK(!pn_cache_find(cache, "key", 3, NULL, NULL));
  CHECK(!pn_cache_store(cache, "key", 3, NULL, 4));
  CHECK(!pn_cache_store(NULL, "key", 3, "data", 4));
  free(text);
  CHECK_OK(pn_cache_clear(cache));
  pn_cache_release(cache);
}

static void test_find_executable(void) {
  pn_cache_t *cache = open_cache(folder, 0);
  pn_target_t *host = api_host(), *arm;
  pn_cache_outcome_t outcome;
  pn_executable_t *made = compile(cache, plain_request(api_add), &outcome);
  char key[80];
  (void)snprintf(key, sizeof(key), "%s", pn_executable_cache_key(made));
  pn_executable_t *found = NULL;
  CHECK_OK(pn_cache_find_executable(cache, key, host, &found));
  CHECK(found == made);
  pn_executable_release(made);
  pn_executable_release(found);
  CHECK_OK(pn_cache_find_executable(cache, key, host, &found));
  CHECK(found != NULL);
  check_add(found);
  pn_executable_release(found);
  CHECK_OK(pn_target_create_by_name("cpu:neoverse-v1", &arm));
  CHECK_IS(pn_cache_find_executable(cache, key, arm, &found), PN_ERROR_TARGET);
  pn_target_release(arm);
  CHECK(!found);
  CHECK_SAYS(pn_cache_find_executable(cache, "12", host, &found),
             PN_ERROR_ARGUMENT, "key '12'");
  CHECK_IS(pn_cache_find_executable(cache, NULL, host, &found),
           PN_ERROR_ARGUMENT);
  /* Bytes that are no code, in the place of code. */
  key[0] = key[0] == '0' ? '1' : '0';
  CHECK_OK(pn_cache_find_executable(cache, key, host, &found));
  CHECK(!found);
  pn_executable_t *without = api_compile(api_scalar);
  CHECK(*pn_executable_cache_key(without) == '\0');
  pn_executable_release(without);
  pn_target_release(host);
  CHECK_OK(pn_cache_clear(cache));
  pn_cache_release(cache);
}

static void test_arguments(void) {
  pn_cache_options_t options = PN_CACHE_OPTIONS_INIT;
  pn_cache_t *cache;
  options.struct_size = 3;
  CHECK_SAYS(pn_cache_create(&options, &cache), PN_ERROR_ARGUMENT,
             "struct_size 3");
  options = (pn_cache_options_t)PN_CACHE_OPTIONS_INIT;
  options.reserved = 1;
  CHECK_SAYS(pn_cache_create(&options, &cache), PN_ERROR_ARGUMENT, "reserved");
  options = (pn_cache_options_t)PN_CACHE_OPTIONS_INIT;
  options.directory = "";
  CHECK_SAYS(pn_cache_create(&options, &cache), PN_ERROR_ARGUMENT, "empty");
  cache = open_cache(folder, 0);
  pn_cache_stats_t stats = {.struct_size = 8};
  CHECK_SAYS(pn_cache_stats_get(cache, &stats), PN_ERROR_ARGUMENT,
             "struct_size 8");
  CHECK_IS(pn_cache_stats_get(NULL, &stats), PN_ERROR_ARGUMENT);
  CHECK_IS(pn_cache_clear(NULL), PN_ERROR_ARGUMENT);
  pn_cache_retain(cache);
  pn_cache_release(cache);
  pn_cache_release(cache);
  pn_cache_release(NULL);
}

/* The environment decides where the options say nothing, and turns all off. */
static void test_environment(void) {
  pn_cache_t *cache;
  char expected[300];
  (void)setenv("XDG_CACHE_HOME", folder, 1);
  CHECK_OK(pn_cache_create(NULL, &cache));
  (void)snprintf(expected, sizeof(expected), "%s/polynest/code", folder);
  CHECK(strcmp(pn_cache_directory(cache), expected) == 0);
  pn_cache_release(cache);
  (void)setenv("XDG_CACHE_HOME", "relative", 1);
  (void)setenv("HOME", "/home/nobody", 1);
  CHECK_OK(pn_cache_create(NULL, &cache));
  CHECK(strcmp(pn_cache_directory(cache),
               "/home/nobody/.cache/polynest/code") == 0);
  pn_cache_release(cache);
  (void)setenv("HOME", "", 1);
  CHECK_OK(pn_cache_create(NULL, &cache));
  CHECK(*pn_cache_directory(cache) == '\0');
  CHECK(strstr(pn_cache_problem(cache), "no place"));
  CHECK(outcome_of(cache, plain_request(api_scalar)) ==
        PN_CACHE_OUTCOME_MISSING);
  pn_cache_release(cache);
  (void)setenv("POLYNEST_CACHE_DIR", folder, 1);
  (void)setenv("POLYNEST_CACHE_SIZE_MIB", "3", 1);
  CHECK_OK(pn_cache_create(NULL, &cache));
  CHECK(strcmp(pn_cache_directory(cache), folder) == 0);
  CHECK(stats_of(cache).limit_bytes == 3 << 20);
  CHECK(outcome_of(cache, plain_request(api_scalar)) ==
        PN_CACHE_OUTCOME_MISSING);
  (void)setenv("POLYNEST_CACHE", "0", 1);
  pn_cache_t *off = open_cache(folder, 0);
  CHECK(outcome_of(off, plain_request(api_scalar)) == PN_CACHE_OUTCOME_UNUSED);
  CHECK(*pn_cache_directory(off) == '\0' && stats_of(off).entries == 0);
  CHECK(!pn_cache_store(off, "key", 3, "data", 4));
  CHECK_OK(pn_cache_clear(off));
  pn_cache_release(off);
  (void)unsetenv("POLYNEST_CACHE");
  CHECK(stats_of(cache).entries == 1);
  CHECK_OK(pn_cache_clear(cache));
  pn_cache_release(cache);
  static const char *const sizes[] = {"abc", "0", "-1", "12abc", "1.5"};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); ++i) {
    (void)setenv("POLYNEST_CACHE_SIZE_MIB", sizes[i], 1);
    CHECK_OK(pn_cache_create(NULL, &cache));
    CHECK(stats_of(cache).limit_bytes == 1 << 30);
    CHECK(strstr(pn_cache_problem(cache), sizes[i]));
    pn_cache_release(cache);
  }
  /* The limit is the caller's. */
  cache = open_cache(folder, 5 << 20);
  CHECK(stats_of(cache).limit_bytes == 5 << 20 && !*pn_cache_problem(cache));
  pn_cache_release(cache);
  (void)unsetenv("POLYNEST_CACHE_SIZE_MIB");
  (void)setenv("POLYNEST_CACHE", "yes", 1);
  cache = open_cache(folder, 0);
  CHECK(*pn_cache_directory(cache));
  CHECK(strstr(pn_cache_problem(cache), "'yes', neither 0 nor 1"));
  pn_cache_release(cache);
  (void)unsetenv("POLYNEST_CACHE");
}

/* Two processes compile the same programs at once; both are right. */
static void test_race(void) {
  pid_t children[2];
  for (int i = 0; i < 2; ++i) {
    children[i] = fork();
    if (children[i] != 0)
      continue;
    pn_cache_t *cache = open_cache(folder, 0);
    for (int j = 0; j < 3; ++j) {
      pn_cache_outcome_t outcome;
      request_t request = plain_request(api_add);
      request.options.numerics =
          j & 1 ? PN_NUMERICS_STRICT : PN_NUMERICS_DEFAULT;
      pn_executable_t *executable = compile(cache, request, &outcome);
      check_add(executable);
      pn_executable_release(executable);
    }
    pn_cache_release(cache);
    _exit(check_result());
  }
  for (int i = 0; i < 2; ++i) {
    int status = -1;
    CHECK(waitpid(children[i], &status, 0) == children[i]);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  pn_cache_t *cache = open_cache(folder, 0);
  CHECK(stats_of(cache).entries == 2);
  CHECK(outcome_of(cache, plain_request(api_add)) == PN_CACHE_OUTCOME_FOUND);
  CHECK_OK(pn_cache_clear(cache));
  pn_cache_release(cache);
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  (void)unsetenv("POLYNEST_CACHE");
  CHECK_RUN(test_race);
  CHECK_RUN(test_found);
  CHECK_RUN(test_keys);
  CHECK_RUN(test_bypass);
  CHECK_RUN(test_damage);
  CHECK_RUN(test_unusable);
  CHECK_RUN(test_limit);
  CHECK_RUN(test_bytes);
  CHECK_RUN(test_find_executable);
  CHECK_RUN(test_arguments);
  CHECK_RUN(test_environment);
  CHECK(rmdir(folder) == 0);
  return check_result();
}
