/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * allocation_test.c: every entry point of the C API, with each of its
 * allocations failing in turn.
 *
 * The allocation functions below stand in front of libc's. Only calls from
 * libpolynest.so are counted and made to fail: LLVM and MLIR end the process
 * where memory is short, and their allocations come from their own libraries.
 * A call must succeed or give PN_ERROR_MEMORY, and must not leak.
 */

#include "api.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

/* Code of libpolynest.so. */
static uintptr_t code_low, code_high;

static bool is_armed; /* count and fail */
static long countdown;
static bool has_failed;
static bool all_fail; /* every allocation from then on, not one */

/* Blocks that libpolynest.so holds. */
#define TABLE_SIZE 65536
static void *table[TABLE_SIZE];
static size_t live;

static bool from_library(const void *caller) {
  return (uintptr_t)caller >= code_low && (uintptr_t)caller < code_high;
}

/* True where this allocation is to fail. */
static bool fails(const void *caller) {
  if (!is_armed || !from_library(caller) || countdown-- > 0 ||
      (has_failed && !all_fail))
    return false;
  has_failed = true;
  errno = ENOMEM;
  return true;
}

static size_t slot_of(const void *block) {
  return ((uintptr_t)block >> 4) * 2654435761u % TABLE_SIZE;
}

#define REMOVED ((void *)1)

static void *note(void *block, const void *caller) {
  if (!block || !is_armed || !from_library(caller))
    return block;
  size_t slot = slot_of(block);
  while (table[slot] && table[slot] != REMOVED)
    slot = (slot + 1) % TABLE_SIZE;
  table[slot] = block;
  ++live;
  return block;
}

static void forget(const void *block) {
  if (!block || !live)
    return;
  for (size_t slot = slot_of(block); table[slot];
       slot = (slot + 1) % TABLE_SIZE) {
    if (table[slot] != block)
      continue;
    table[slot] = REMOVED;
    --live;
    return;
  }
}

#pragma GCC visibility push(default)

#define CALLER __builtin_return_address(0)

void *malloc(size_t size) {
  return fails(CALLER) ? NULL : note(__libc_malloc(size), CALLER);
}

void *calloc(size_t count, size_t size) {
  return fails(CALLER) ? NULL : note(__libc_calloc(count, size), CALLER);
}

void *realloc(void *block, size_t size) {
  if (fails(CALLER))
    return NULL;
  forget(block);
  return note(__libc_realloc(block, size), CALLER);
}

void *reallocarray(void *block, size_t count, size_t size) {
  size_t bytes;
  if (fails(CALLER) || __builtin_mul_overflow(count, size, &bytes))
    return NULL;
  forget(block);
  return note(__libc_realloc(block, bytes), CALLER);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return fails(CALLER) ? NULL : note(__libc_memalign(alignment, size), CALLER);
}

char *strdup(const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = fails(CALLER) ? NULL : note(__libc_malloc(size), CALLER);
  return copy ? memcpy(copy, text, size) : NULL;
}

char *strndup(const char *text, size_t limit) {
  size_t size = strnlen(text, limit);
  char *copy = fails(CALLER) ? NULL : note(__libc_malloc(size + 1), CALLER);
  if (copy) {
    memcpy(copy, text, size);
    copy[size] = '\0';
  }
  return copy;
}

void free(void *block) {
  forget(block);
  __libc_free(block);
}

#pragma GCC visibility pop

/* Finds the range of the library's segments. */
static int find_library(struct dl_phdr_info *info, size_t size, void *user) {
  (void)size;
  (void)user;
  if (!strstr(info->dlpi_name, "libpolynest.so"))
    return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
      continue;
    code_low = info->dlpi_addr + header->p_vaddr;
    code_high = code_low + header->p_memsz;
  }
  return 1;
}

/* ------------------------------------------------------------------------ */
/* Scenarios: each is given what it needs and returns the first error        */
/* ------------------------------------------------------------------------ */

static pn_context_t *context;
static pn_target_t *target;
static pn_module_t *module, *scalar;
static pn_executable_t *executable, *constant, *wide;
static char folder[] = "/tmp/polynest-allocation-test.XXXXXX";
static char file[64], library[64], header[64];

static pn_error_t *make_context(void) {
  pn_context_t *made;
  pn_error_t *error = pn_context_create(NULL, &made);
  CHECK(!error || !made);
  pn_context_release(made);
  return error;
}

static pn_error_t *parse(void) {
  pn_module_t *made;
  pn_error_t *error =
      pn_module_parse(context, api_add, strlen(api_add), "x", 0, &made);
  CHECK(!error || !made);
  pn_module_destroy(made);
  return error;
}

/* A parse error, whose diagnostics may be lost but not the error. */
static pn_error_t *parse_broken(void) {
  pn_module_t *made;
  pn_error_t *error =
      pn_module_parse(context, "func.func @f(", 13, 0, 0, &made);
  CHECK(error && !made);
  if (pn_error_code(error) != PN_ERROR_PARSE)
    return error;
  pn_error_destroy(error);
  return NULL;
}

static pn_error_t *clone(void) {
  pn_module_t *made;
  pn_error_t *error = pn_module_clone(module, &made);
  pn_module_destroy(made);
  return error;
}

static pn_error_t *write_and_read(void) {
  pn_module_t *made = NULL;
  pn_error_t *error = pn_module_write_file(module, file, true);
  if (!error)
    error = pn_module_read_file(context, file, 0, &made);
  pn_module_destroy(made);
  (void)unlink(file);
  return error;
}

static void ignore(void *user, const char *data, size_t size) {
  (void)user;
  (void)data;
  (void)size;
}

/* Bytes and code in and out of a cache: what cannot be kept is no error. */
static pn_error_t *use_cache(void) {
  pn_cache_options_t options = PN_CACHE_OPTIONS_INIT;
  pn_compile_options_t compile = PN_COMPILE_OPTIONS_INIT;
  char directory[80];
  (void)snprintf(directory, sizeof(directory), "%s/cache", folder);
  options.directory = directory;
  pn_executable_t *made = NULL, *found = NULL;
  pn_error_t *error = pn_cache_create(&options, &compile.cache);
  if (error)
    return error;
  (void)pn_cache_store(compile.cache, "key", 3, "data", 4);
  (void)pn_cache_find(compile.cache, "key", 3, ignore, NULL);
  error = pn_compile_to_executable(scalar, target, &compile, NULL, &made);
  pn_executable_release(made);
  if (!error)
    error = pn_compile_to_executable(scalar, target, &compile, NULL, &found);
  pn_executable_release(found);
  pn_cache_stats_t stats = {.struct_size = sizeof(stats)};
  if (!error)
    error = pn_cache_stats_get(compile.cache, &stats);
  pn_error_t *clearing = pn_cache_clear(compile.cache);
  pn_error_destroy(clearing);
  (void)rmdir(directory);
  pn_cache_release(compile.cache);
  return error;
}

static pn_error_t *print_pipeline(void) {
  return pn_pipeline_print(PN_STAGE_S3, target, NULL, ignore, NULL);
}

static pn_error_t *make_targets(void) {
  pn_target_t *host = NULL, *named = NULL;
  pn_error_t *error = pn_target_create_host(&host);
  if (!error)
    error = pn_target_create_by_name("znver4", &named);
  if (!error)
    error = pn_target_print(named, PN_TARGET_FORMAT_FILE, ignore, NULL);
  pn_target_release(host);
  pn_target_release(named);
  return error;
}

static pn_error_t *compile(void) {
  pn_executable_t *made;
  pn_compile_options_t options = PN_COMPILE_OPTIONS_INIT;
  options.opt_level = PN_OPT_PLAIN;
  pn_error_t *error =
      pn_compile_to_executable(scalar, target, &options, NULL, &made);
  CHECK(!error || !made);
  pn_executable_release(made);
  return error;
}

static pn_error_t *compile_library(void) {
  pn_compile_options_t options = PN_COMPILE_OPTIONS_INIT;
  options.opt_level = PN_OPT_PLAIN;
  pn_executable_t *made = NULL;
  pn_error_t *error =
      pn_compile_to_library(scalar, target, &options, library, header);
  if (!error)
    error = pn_executable_load(library, &made);
  pn_executable_release(made);
  (void)unlink(library);
  (void)unlink(header);
  return error;
}

static pn_error_t *find_nothing(void) {
  const pn_entry_t *entry;
  pn_error_t *error = pn_executable_find_entry(executable, "none", &entry);
  CHECK(error && !entry);
  if (pn_error_code(error) != PN_ERROR_NOT_FOUND)
    return error;
  pn_error_destroy(error);
  return NULL;
}

/* With strides that need copies, on sizes that differ from call to call. */
static pn_error_t *invoke(void) {
  const pn_entry_t *entry = NULL;
  pn_error_t *error = pn_executable_find_entry(executable, NULL, &entry);
  float a[64] = {0}, b[64] = {0}, r[64];
  const int64_t sizes[] = {3, 3}, strides[] = {10, 2};
  pn_memref_t in[] = {{a, 0, sizes, strides, PN_DTYPE_F32, 2},
                      {b, 0, sizes, strides, PN_DTYPE_F32, 2}};
  pn_memref_t out = {r, 0, sizes, strides, PN_DTYPE_F32, 2};
  if (!error)
    error = pn_entry_invoke(entry, in, 2, &out, 1);
  pn_pool_trim(0);
  return error;
}

/* r = x * w * w, of which w is bound once: calls need the square alone. */
static const char api_constant[] =
    "#id = affine_map<(d0) -> (d0)>\n"
    "#back = affine_map<(d0) -> (299 - d0)>\n"
    "func.func @f(%w: tensor<300xf32>, %x: tensor<300xf32>)\n"
    "    -> tensor<300xf32> {\n"
    "  %e = tensor.empty() : tensor<300xf32>\n"
    "  %s = linalg.generic {indexing_maps = [#id, #back],\n"
    "      iterator_types = [\"parallel\"]} ins(%w : tensor<300xf32>)\n"
    "      outs(%e : tensor<300xf32>) {\n"
    "  ^bb0(%a: f32, %o: f32):\n"
    "    %p = arith.mulf %a, %a : f32\n"
    "    linalg.yield %p : f32\n"
    "  } -> tensor<300xf32>\n"
    "  %r = linalg.mul ins(%x, %s : tensor<300xf32>, tensor<300xf32>)\n"
    "      outs(%e : tensor<300xf32>) -> tensor<300xf32>\n"
    "  return %r : tensor<300xf32>\n"
    "}\n";

static pn_error_t *mark_constant(void) {
  pn_module_t *made = NULL;
  pn_error_t *error = pn_module_clone(module, &made);
  if (!error)
    error = pn_module_mark_constant(made, "add", 0);
  pn_module_destroy(made);
  return error;
}

/* Names that are not there, which is still the error that tells of it. */
static pn_error_t *mark_nothing(void) {
  pn_error_t *error = pn_module_mark_constant(module, "none", 0);
  CHECK(error != NULL);
  if (pn_error_code(error) != PN_ERROR_NOT_FOUND)
    return error;
  pn_error_destroy(error);
  return NULL;
}

/* Binds a constant whose strides need a copy, and calls. */
static pn_error_t *bind_and_invoke(void) {
  enum { N = 300 };
  static float w[2 * N], x[N], r[N];
  const int64_t sizes[] = {N}, strides[] = {2};
  pn_memref_t bound = {w, 0, sizes, strides, PN_DTYPE_F32, 1};
  pn_memref_t in = {x, 0, sizes, NULL, PN_DTYPE_F32, 1};
  pn_memref_t out = {r, 0, sizes, NULL, PN_DTYPE_F32, 1};
  const pn_entry_t *entry = NULL;
  pn_state_t *state = NULL;
  for (int i = 0; i < N; ++i) {
    w[2 * i] = (float)(i % 7);
    x[i] = (float)i;
    r[i] = -1.0f;
  }
  pn_error_t *error = pn_executable_find_entry(constant, NULL, &entry);
  if (!error)
    error = pn_state_create(entry, &bound, 1, &state);
  CHECK(!error || !state);
  if (!error)
    error = pn_state_invoke(state, &in, 1, &out, 1);
  for (int i = 0; !error && i < N; ++i) {
    float v = (float)((N - 1 - i) % 7);
    CHECK(r[i] == x[i] * (v * v));
  }
  pn_state_destroy(state);
  pn_pool_trim(0);
  return error;
}

enum { WIDE = 70 };

/* A sum of more inputs than a call keeps on its stack. */
static void print_wide(char *text, size_t size) {
  size_t at = 0;
  at += (size_t)snprintf(text + at, size - at, "func.func @f(%%v0: f32");
  for (int i = 1; i < WIDE; ++i)
    at += (size_t)snprintf(text + at, size - at, ", %%v%d: f32", i);
  at += (size_t)snprintf(text + at, size - at, ") -> f32 {\n");
  for (int i = 1; i < WIDE; ++i)
    at += (size_t)snprintf(text + at, size - at,
                           "  %%s%d = arith.addf %%%s%d, %%v%d : f32\n", i,
                           i > 1 ? "s" : "v", i - 1, i);
  (void)snprintf(text + at, size - at, "  return %%s%d : f32\n}\n", WIDE - 1);
}

static pn_error_t *invoke_wide(void) {
  float values[WIDE], sum = -1.0f;
  pn_memref_t in[WIDE];
  for (int i = 0; i < WIDE; ++i) {
    values[i] = (float)i;
    in[i] = (pn_memref_t){&values[i], 0, NULL, NULL, PN_DTYPE_F32, 0};
  }
  pn_memref_t out = {&sum, 0, NULL, NULL, PN_DTYPE_F32, 0};
  const pn_entry_t *entry = NULL;
  pn_state_t *state = NULL;
  pn_error_t *error = pn_executable_find_entry(wide, NULL, &entry);
  if (!error)
    error = pn_state_create(entry, in, 1, &state);
  if (!error)
    error = pn_state_invoke(state, in + 1, WIDE - 1, &out, 1);
  CHECK(error || sum == (float)(WIDE * (WIDE - 1) / 2));
  pn_state_destroy(state);
  return error;
}

/* Compiles a program of which the first input is bound once. */
static pn_executable_t *compile_constant(const char *text) {
  pn_executable_t *made;
  pn_module_t *parsed = api_parse(context, text);
  CHECK_OK(pn_module_mark_constant(parsed, "f", 0));
  CHECK_OK(pn_compile_to_executable(parsed, target, NULL, NULL, &made));
  pn_module_destroy(parsed);
  return made;
}

/* The module outlives the caller's hold on its context. */
static pn_error_t *module_of_own_context(void) {
  pn_context_t *own;
  pn_module_t *copy = NULL;
  pn_error_t *error = pn_context_create(NULL, &own);
  if (error)
    return error;
  error = pn_module_parse(own, api_add, strlen(api_add), "own.mlir",
                          PN_MODULE_DEFAULT, &copy);
  pn_context_release(own);
  pn_module_destroy(copy);
  return error;
}

/* Runs a scenario again and again, with a later allocation failing, and with
 * all from there on. */
static void run_way(const char *name, pn_error_t *(*scenario)(void), bool all) {
  all_fail = all;
  /* What is made once in a process is made now. */
  CHECK_OK(scenario());
  long count = 0, refused = 0;
  for (;; ++count) {
    size_t before = live;
    countdown = count;
    has_failed = false;
    is_armed = true;
    pn_error_t *error = scenario();
    bool failed = has_failed;
    is_armed = false;
    if (error && pn_error_code(error) != PN_ERROR_MEMORY)
      fprintf(stderr, "%s, allocation %ld: %s\n", name, count,
              pn_error_message(error));
    CHECK(!error || pn_error_code(error) == PN_ERROR_MEMORY);
    CHECK(!error || failed);
    refused += error != NULL;
    pn_error_destroy(error);
    if (live != before)
      fprintf(stderr, "%s, allocation %ld: %zu blocks leak\n", name, count,
              live - before);
    CHECK(live == before);
    live = 0;
    memset(table, 0, sizeof(table));
    if (!failed)
      break;
  }
  printf("%s: %s of %ld allocations failing, %ld refusals\n", name,
         all ? "all" : "one", count, refused);
  CHECK(refused > 0 || !all);
}

static void run_scenario(const char *name, pn_error_t *(*scenario)(void)) {
  run_way(name, scenario, false);
  run_way(name, scenario, true);
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  (void)snprintf(file, sizeof(file), "%s/x.pn", folder);
  (void)snprintf(library, sizeof(library), "%s/x.so", folder);
  (void)snprintf(header, sizeof(header), "%s/x.h", folder);
  (void)dl_iterate_phdr(find_library, NULL);
  CHECK(code_low < code_high);
  (void)unsetenv("POLYNEST_CACHE");
  context = api_context();
  target = api_host();
  module = api_parse(context, api_add);
  scalar = api_parse(context, "func.func @f(%x: i32) -> i32 {\n"
                              "  return %x : i32\n}");
  executable = api_compile(api_add);
  constant = compile_constant(api_constant);
  char text[8192];
  print_wide(text, sizeof(text));
  wide = compile_constant(text);
  run_scenario("context", make_context);
  run_scenario("module of its own context", module_of_own_context);
  run_scenario("parse", parse);
  run_scenario("parse broken", parse_broken);
  run_scenario("clone", clone);
  run_scenario("write and read", write_and_read);
  run_scenario("pipeline", print_pipeline);
  run_scenario("targets", make_targets);
  run_scenario("find nothing", find_nothing);
  run_scenario("invoke", invoke);
  run_scenario("mark constant", mark_constant);
  run_scenario("mark nothing", mark_nothing);
  run_scenario("bind and invoke", bind_and_invoke);
  run_scenario("invoke wide", invoke_wide);
  run_scenario("compile", compile);
  run_scenario("cache", use_cache);
  run_scenario("library", compile_library);
  pn_executable_release(wide);
  pn_executable_release(constant);
  pn_executable_release(executable);
  pn_module_destroy(scalar);
  pn_module_destroy(module);
  pn_target_release(target);
  pn_context_release(context);
  CHECK(rmdir(folder) == 0);
  return check_result();
}
