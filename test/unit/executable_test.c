/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* executable_test.c: entries, their signatures, and calls of them. */

#include "api.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

/* A program whose names are no C identifiers, C's own, or the library's, and
 * whose globals are called like functions that the code needs. */
static const char odd_names[] =
    "memref.global \"private\" constant @expf : memref<2xf32> = "
    "dense<[1.0, 2.0]>\n"
    "func.func @exp(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %e = tensor.empty() : tensor<4xf32>\n"
    "  %r = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>)\n"
    "      -> tensor<4xf32>\n"
    "  return %r : tensor<4xf32>\n}\n"
    "func.func @malloc(%x: i32) -> i32 { return %x : i32 }\n"
    "func.func @memcpy(%x: i32) -> i32 { return %x : i32 }\n"
    "func.func @main(%x: i32) -> i32 { return %x : i32 }\n"
    "func.func @\"a b\\\"*/c\\n\\\\\"(%x: i32) -> i32 { return %x : i32 }\n"
    "func.func @\"a_b__c__\"(%x: i32) -> i32 { return %x : i32 }\n"
    "func.func @\"1.x-y$\"(%x: i32) -> i32 { return %x : i32 }\n"
    "func.func @f(%x: i32) -> i32 { return %x : i32 }\n"
    "func.func @f_init(%x: i32) -> i32 { return %x : i32 }\n"
    "func.func @f_packed(%x: i32) -> i32 { return %x : i32 }\n"
    "func.func @f_body(%x: i32) -> i32 { return %x : i32 }\n"
    "func.func @polynest_info(%x: i32) -> i32 { return %x : i32 }\n"
    "func.func @pn_rt_alloc(%x: i32) -> i32 { return %x : i32 }\n"
    "func.func @int(%x: i32) -> i32 { return %x : i32 }\n"
    "func.func @\"\xc3\xa4\"(%x: i32) -> i32 { return %x : i32 }\n";

static pn_memref_t memref_of(void *data, pn_dtype_t dtype, int32_t rank,
                             const int64_t *sizes, const int64_t *strides) {
  return (pn_memref_t){.data = data,
                       .sizes = sizes,
                       .strides = strides,
                       .dtype = (int32_t)dtype,
                       .rank = rank};
}

static const pn_entry_t *only_entry(const pn_executable_t *executable) {
  const pn_entry_t *entry = NULL;
  CHECK_OK(pn_executable_find_entry(executable, NULL, &entry));
  return entry;
}

static void test_signature(void) {
  pn_executable_t *executable = api_compile(api_add);
  const pn_entry_t *entry = only_entry(executable), *none = entry;
  CHECK(pn_entry_input_count(entry) == 2 && pn_entry_result_count(entry) == 1);
  pn_value_type_t type;
  CHECK(pn_entry_input_type(entry, 1, &type));
  CHECK(type.dtype == PN_DTYPE_F32 && type.rank == 2 && !type.strides);
  CHECK(type.sizes[0] == PN_DYNAMIC && type.sizes[1] == PN_DYNAMIC);
  CHECK(!pn_entry_input_type(entry, 2, &type) && type.rank == 0);
  CHECK(pn_entry_result_type(entry, 0, &type) && type.rank == 2);
  CHECK(!pn_entry_result_type(entry, 1, &type));
  CHECK_SAYS(pn_executable_find_entry(executable, "sub", &none),
             PN_ERROR_NOT_FOUND, "entries are: add");
  CHECK(none == NULL);
  CHECK_IS(pn_executable_find_entry(NULL, "sub", &none), PN_ERROR_ARGUMENT);
  pn_executable_release(executable);
  executable = api_compile("module {}");
  CHECK_SAYS(pn_executable_find_entry(executable, NULL, &none),
             PN_ERROR_NOT_FOUND, "no public function");
  CHECK(pn_executable_entry_count(executable) == 0);
  pn_executable_release(executable);
  pn_executable_release(NULL);
}

static void test_names(void) {
  pn_executable_t *executable = api_compile(odd_names);
  static const char *const names[] = {
      "malloc",        "memcpy",      "main",   "a b\"*/c\n\\", "a_b__c__",
      "1.x-y$",        "f",           "f_init", "f_packed",     "f_body",
      "polynest_info", "pn_rt_alloc", "int",    "\xc3\xa4"};
  CHECK(executable != NULL);
  for (size_t i = 0; executable && i < COUNT_OF(names); ++i) {
    const pn_entry_t *entry;
    CHECK_OK(pn_executable_find_entry(executable, names[i], &entry));
    if (!entry)
      continue;
    CHECK(strcmp(pn_entry_name(entry), names[i]) == 0);
    int32_t x = 42, r = 0;
    pn_memref_t in = memref_of(&x, PN_DTYPE_I32, 0, NULL, NULL);
    pn_memref_t out = memref_of(&r, PN_DTYPE_I32, 0, NULL, NULL);
    CHECK_OK(pn_entry_invoke(entry, &in, 1, &out, 1));
    CHECK(r == 42);
  }
  const pn_entry_t *entry = NULL;
  CHECK_OK(pn_executable_find_entry(executable, "exp", &entry));
  if (!entry)
    return;
  float x[4] = {0, 1, -1, 2}, r[4] = {0};
  const int64_t sizes[] = {4};
  pn_memref_t in = memref_of(x, PN_DTYPE_F32, 1, sizes, NULL);
  pn_memref_t out = memref_of(r, PN_DTYPE_F32, 1, sizes, NULL);
  CHECK_OK(pn_entry_invoke(entry, &in, 1, &out, 1));
  CHECK(r[0] == 1.0f && r[1] > 2.718f && r[1] < 2.719f);
  pn_executable_release(executable);
}

/* Calls @add on m x n with the given strides of every argument, and checks the
 * result. */
static void check_add(const pn_entry_t *entry, int64_t m, int64_t n,
                      const int64_t *a_strides, int64_t a_offset,
                      const int64_t *b_strides, int64_t b_offset,
                      const int64_t *r_strides, int64_t r_offset) {
  enum { ROOM = 4096 };
  static _Thread_local float a[ROOM], b[ROOM], r[ROOM];
  for (int i = 0; i < ROOM; ++i) {
    a[i] = (float)i * 0.37f - 3.0f;
    b[i] = 5.0f - (float)i * 0.11f;
    r[i] = -77.0f;
  }
  const int64_t sizes[] = {m, n}, swapped[] = {n, m};
  pn_memref_t inputs[] = {memref_of(a, PN_DTYPE_F32, 2, sizes, a_strides),
                          memref_of(b, PN_DTYPE_F32, 2, swapped, b_strides)};
  inputs[0].offset = a_offset;
  inputs[1].offset = b_offset;
  pn_memref_t result = memref_of(r, PN_DTYPE_F32, 2, sizes, r_strides);
  result.offset = r_offset;
  int64_t result_sizes[2] = {-1, -1};
  CHECK_OK(pn_entry_result_sizes(entry, inputs, 2, result_sizes));
  CHECK(result_sizes[0] == m && result_sizes[1] == n);
  CHECK_OK(pn_entry_invoke(entry, inputs, 2, &result, 1));
  const int64_t plain[] = {n, 1}, plain_swapped[] = {m, 1};
  const int64_t *as = a_strides ? a_strides : plain;
  const int64_t *bs = b_strides ? b_strides : plain_swapped;
  const int64_t *rs = r_strides ? r_strides : plain;
  bool same = true;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      same &= r[r_offset + i * rs[0] + j * rs[1]] ==
              a[a_offset + i * as[0] + j * as[1]] * 2.0f +
                  b[b_offset + j * bs[0] + i * bs[1]];
  CHECK(same);
  /* Nothing else was written. */
  int64_t written = 0;
  for (int i = 0; i < ROOM; ++i)
    written += r[i] != -77.0f;
  CHECK(written == m * n);
}

static void test_strides(void) {
  pn_executable_t *executable = api_compile(api_add);
  const pn_entry_t *entry = only_entry(executable);
  const int64_t columns[] = {1, 5}, wide[] = {100, 3}, back[] = {-7, -1};
  const int64_t still[] = {0, 0}, row[] = {0, 1};
  check_add(entry, 5, 7, NULL, 0, NULL, 0, NULL, 0);
  check_add(entry, 5, 7, columns, 0, NULL, 0, NULL, 0);
  check_add(entry, 5, 7, wide, 11, NULL, 0, NULL, 0);
  check_add(entry, 5, 7, back, 34, NULL, 0, NULL, 0);
  check_add(entry, 5, 7, still, 3, row, 0, NULL, 0);
  check_add(entry, 5, 7, NULL, 9, columns, 2, columns, 0);
  check_add(entry, 5, 7, NULL, 0, NULL, 0, wide, 40);
  check_add(entry, 5, 7, NULL, 0, NULL, 0, back, 40);
  check_add(entry, 1, 1, still, 0, still, 0, still, 0);
  check_add(entry, 0, 7, NULL, 0, NULL, 0, NULL, 0);
  check_add(entry, 5, 0, still, 0, NULL, 0, NULL, 0);
  check_add(entry, 0, 0, NULL, 0, NULL, 0, NULL, 0);
  check_add(entry, 1, 33, NULL, 0, NULL, 0, NULL, 0);
  check_add(entry, 33, 1, NULL, 0, NULL, 0, NULL, 0);
  pn_executable_release(executable);
}

/* r[i, j] = 2 a[i, j], of any size. */
static const char double_it[] =
    "#id = affine_map<(d0, d1) -> (d0, d1)>\n"
    "func.func @f(%a: tensor<?x?xf32>) -> tensor<?x?xf32> {\n"
    "  %r = linalg.generic {indexing_maps = [#id, #id],\n"
    "      iterator_types = [\"parallel\", \"parallel\"]}\n"
    "      ins(%a : tensor<?x?xf32>) outs(%a : tensor<?x?xf32>) {\n"
    "  ^bb0(%x: f32, %o: f32):\n"
    "    %p = arith.addf %x, %x : f32\n"
    "    linalg.yield %p : f32\n"
    "  } -> tensor<?x?xf32>\n"
    "  return %r : tensor<?x?xf32>\n"
    "}\n";

/* This machine, but with 1 KiB of last-level cache that a core may count on. */
static pn_target_t *host_without_cache(void) {
  static const char key[] = "usable_llc_kib_per_core = ";
  static api_text_t text;
  text.size = 0;
  pn_target_t *host = api_host(), *target = NULL;
  CHECK_OK(pn_target_print(host, PN_TARGET_FORMAT_FILE, api_write, &text));
  char *value = strstr(text.data, key);
  CHECK(value != NULL);
  if (value) {
    value += sizeof(key) - 1;
    *value++ = '1';
    while (*value != '\n')
      *value++ = ' ';
  }
  CHECK_OK(pn_target_create_from_text(text.data, text.size, "host", &target));
  pn_target_release(host);
  return target;
}

static void check_double(const pn_entry_t *entry, int64_t m, int64_t n,
                         size_t skip) {
  size_t count = (size_t)(m * n), bytes = (count + skip + 16) * sizeof(float);
  float *a = pn_pool_alloc(bytes), *r = pn_pool_alloc(bytes);
  for (size_t i = 0; i < count + skip + 16; ++i) {
    a[i] = (float)(i % 9973) * 0.37f - 3.0f;
    r[i] = -77.0f;
  }
  const int64_t sizes[] = {m, n};
  pn_memref_t input = memref_of(a, PN_DTYPE_F32, 2, sizes, NULL);
  pn_memref_t result = memref_of(r + skip, PN_DTYPE_F32, 2, sizes, NULL);
  CHECK_OK(pn_entry_invoke(entry, &input, 1, &result, 1));
  bool same = true;
  for (size_t i = 0; i < count; ++i)
    same &= r[skip + i] == 2.0f * a[i];
  CHECK(same);
  bool untouched = true;
  for (size_t i = 0; i < skip; ++i)
    untouched &= r[i] == -77.0f;
  for (size_t i = 0; i < 16; ++i)
    untouched &= r[skip + count + i] == -77.0f;
  CHECK(untouched);
  pn_pool_free(a);
  pn_pool_free(r);
}

/* Results larger than the caches, at every alignment, with rows that keep the
 * alignment and rows that do not. */
static void test_streams(void) {
  pn_context_t *context = api_context();
  pn_module_t *module = api_parse(context, double_it);
  pn_target_t *target = host_without_cache();
  pn_executable_t *executable = NULL;
  CHECK_OK(pn_compile_to_executable(module, target, NULL, NULL, &executable));
  const pn_entry_t *entry = only_entry(executable);
  const int64_t sizes[][2] = {{1, 1},   {1, 4096}, {7, 1600}, {64, 1000},
                              {9, 999}, {4096, 3}, {300, 64}, {1, 100003},
                              {0, 512}, {512, 0},  {33, 1008}};
  for (size_t i = 0; i < COUNT_OF(sizes); ++i)
    for (size_t skip = 0; skip <= 16; skip += skip < 4 ? 1 : 4)
      check_double(entry, sizes[i][0], sizes[i][1], skip);
  pn_executable_release(executable);
  pn_target_release(target);
  pn_module_destroy(module);
  pn_context_release(context);
}

enum { MANY = 12 };

/* r_k = tanh(exp(sin(x_k))) * c_k for tensors of MANY sizes, c_k a constant
 * tensor: kernels that are all different and use data of the module. */
static void print_many(char *text, size_t size) {
  size_t at = 0;
#define PUT(...) at += (size_t)snprintf(text + at, size - at, __VA_ARGS__)
  PUT("#id = affine_map<(d0, d1) -> (d0, d1)>\n"
      "#row = affine_map<(d0, d1) -> (d1)>\n"
      "func.func @f(");
  for (int k = 0; k < MANY; ++k)
    PUT("%s%%x%d: tensor<%dx3xf32>", k ? ", " : "", k, 37 + k);
  PUT(") -> (");
  for (int k = 0; k < MANY; ++k)
    PUT("%stensor<%dx3xf32>", k ? ", " : "", 37 + k);
  PUT(") {\n");
  for (int k = 0; k < MANY; ++k)
    PUT("%%c%d = arith.constant dense<[1.5, -2.0, %d.0]> : tensor<3xf32>\n"
        "%%r%d = linalg.generic {indexing_maps = [#id, #row, #id],\n"
        "iterator_types = [\"parallel\", \"parallel\"]}\n"
        "ins(%%x%d, %%c%d : tensor<%dx3xf32>, tensor<3xf32>)\n"
        "outs(%%x%d : tensor<%dx3xf32>) {\n"
        "^bb0(%%a: f32, %%c: f32, %%o: f32):\n"
        "%%s = math.sin %%a : f32\n%%e = math.exp %%s : f32\n"
        "%%t = math.tanh %%e : f32\n%%m = arith.mulf %%t, %%c : f32\n"
        "linalg.yield %%m : f32\n} -> tensor<%dx3xf32>\n",
        k, k, k, k, k, 37 + k, k, 37 + k, 37 + k);
  PUT("return ");
  for (int k = 0; k < MANY; ++k)
    PUT("%s%%r%d", k ? ", " : "", k);
  PUT(" : ");
  for (int k = 0; k < MANY; ++k)
    PUT("%stensor<%dx3xf32>", k ? ", " : "", 37 + k);
  PUT("\n}\n");
#undef PUT
  CHECK(at < size);
}

/* Lets this thread run on the first of the processors, or on all of them. */
static void use_processors(const cpu_set_t *all, bool several) {
  cpu_set_t some;
  CPU_ZERO(&some);
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, all) && (several || CPU_COUNT(&some) == 0))
      CPU_SET(i, &some);
  CHECK(sched_setaffinity(0, sizeof(some), &some) == 0);
}

/* Compiled by one thread and by several, a program does the same. */
static void test_code_threads(void) {
  cpu_set_t all;
  CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
  enum { ROOM = 3 * (37 + MANY) };
  static char text[1 << 15];
  static float x[MANY][ROOM], r[2][MANY][ROOM];
  print_many(text, sizeof(text));
  for (int k = 0; k < MANY; ++k)
    for (int i = 0; i < ROOM; ++i)
      x[k][i] = (float)(i * MANY + k) * 0.013f - 4.0f;
  for (int several = 0; several < 2; ++several) {
    use_processors(&all, several);
    pn_executable_t *executable = api_compile(text);
    pn_memref_t inputs[MANY], results[MANY];
    int64_t sizes[MANY][2];
    for (int k = 0; k < MANY; ++k) {
      sizes[k][0] = 37 + k;
      sizes[k][1] = 3;
      inputs[k] = memref_of(x[k], PN_DTYPE_F32, 2, sizes[k], NULL);
      results[k] = memref_of(r[several][k], PN_DTYPE_F32, 2, sizes[k], NULL);
    }
    CHECK_OK(
        pn_entry_invoke(only_entry(executable), inputs, MANY, results, MANY));
    pn_executable_release(executable);
  }
  CHECK(memcmp(r[0], r[1], sizeof(r[0])) == 0);
  /* tanh(exp(sin(-4))) * 1.5 */
  CHECK(r[0][0][0] > 1.45f && r[0][0][0] < 1.46f);
}

static void test_wrong_calls(void) {
  pn_executable_t *executable = api_compile(api_add);
  const pn_entry_t *entry = only_entry(executable);
  float a[6] = {0}, b[6] = {0}, r[12] = {0};
  const int64_t sizes[] = {2, 3}, swapped[] = {3, 2}, other[] = {2, 2};
  const int64_t negative[] = {-1, 3};
  pn_memref_t in[] = {memref_of(a, PN_DTYPE_F32, 2, sizes, NULL),
                      memref_of(b, PN_DTYPE_F32, 2, swapped, NULL)};
  pn_memref_t out = memref_of(r, PN_DTYPE_F32, 2, sizes, NULL);
  CHECK_OK(pn_entry_invoke(entry, in, 2, &out, 1));
  CHECK_SAYS(pn_entry_invoke(entry, in, 1, &out, 1), PN_ERROR_SIGNATURE,
             "takes 2 inputs, not 1");
  CHECK_SAYS(pn_entry_invoke(entry, in, 2, &out, 0), PN_ERROR_SIGNATURE,
             "has 1 results, not 0");
  CHECK_IS(pn_entry_invoke(entry, NULL, 2, &out, 1), PN_ERROR_ARGUMENT);
  CHECK_IS(pn_entry_invoke(entry, in, 2, NULL, 1), PN_ERROR_ARGUMENT);
  pn_memref_t kept = in[0];
  in[0].dtype = PN_DTYPE_F64;
  CHECK_SAYS(pn_entry_invoke(entry, in, 2, &out, 1), PN_ERROR_SIGNATURE,
             "input 0 has element type f64; expected f32");
  in[0].dtype = 77;
  CHECK_IS(pn_entry_invoke(entry, in, 2, &out, 1), PN_ERROR_SIGNATURE);
  in[0] = kept;
  in[0].rank = 1;
  CHECK_SAYS(pn_entry_invoke(entry, in, 2, &out, 1), PN_ERROR_SIGNATURE,
             "rank 1; expected 2");
  in[0] = kept;
  in[0].sizes = negative;
  CHECK_SAYS(pn_entry_invoke(entry, in, 2, &out, 1), PN_ERROR_SIGNATURE,
             "no valid view");
  in[0] = kept;
  in[0].data = NULL;
  CHECK_IS(pn_entry_invoke(entry, in, 2, &out, 1), PN_ERROR_SIGNATURE);
  in[0] = kept;
  out.sizes = other;
  CHECK_SAYS(pn_entry_invoke(entry, in, 2, &out, 1), PN_ERROR_SIGNATURE,
             "result 0 has size 2 in dimension 1; expected 3");
  out.sizes = sizes;
  int64_t computed[2] = {7, 7};
  CHECK_IS(pn_entry_result_sizes(entry, in, 1, computed), PN_ERROR_SIGNATURE);
  CHECK(computed[0] == 0 && computed[1] == 0);
  pn_executable_release(executable);
}

/* Fixed sizes are compared in every dimension; rows go into a layout of
 * columns, which the entry asks for, by way of a copy. */
static void test_fixed_layout(void) {
  pn_executable_t *executable = api_compile(
      "func.func @f(%a: tensor<2x3xf32>\n"
      "    {polynest.strides = array<i64: 1, 2>}) -> tensor<2x3xf32> {\n"
      "  return %a : tensor<2x3xf32>\n}\n");
  const pn_entry_t *entry = only_entry(executable);
  float a[6] = {1, 2, 3, 4, 5, 6}, r[6] = {0};
  const int64_t sizes[] = {2, 3}, wide[] = {2, 4}, high[] = {3, 3};
  pn_memref_t in = memref_of(a, PN_DTYPE_F32, 2, sizes, NULL);
  pn_memref_t out = memref_of(r, PN_DTYPE_F32, 2, sizes, NULL);
  CHECK_OK(pn_entry_invoke(entry, &in, 1, &out, 1));
  CHECK(memcmp(a, r, sizeof(a)) == 0);
  in.sizes = wide;
  CHECK_SAYS(pn_entry_invoke(entry, &in, 1, &out, 1), PN_ERROR_SIGNATURE,
             "input 0 has size 4 in dimension 1; expected 3");
  in.sizes = high;
  CHECK_SAYS(pn_entry_invoke(entry, &in, 1, &out, 1), PN_ERROR_SIGNATURE,
             "input 0 has size 3 in dimension 0; expected 2");
  pn_executable_release(executable);
}

static void test_overlap(void) {
  pn_executable_t *executable = api_compile(api_add);
  const pn_entry_t *entry = only_entry(executable);
  float data[64] = {0};
  const int64_t sizes[] = {3, 3}, row[] = {0, 1}, dense[] = {1, 1};
  const int64_t back[] = {-3, -1};
  pn_memref_t in[] = {memref_of(data, PN_DTYPE_F32, 2, sizes, NULL),
                      memref_of(data, PN_DTYPE_F32, 2, sizes, NULL)};
  pn_memref_t out = memref_of(data + 8, PN_DTYPE_F32, 2, sizes, NULL);
  CHECK_SAYS(pn_entry_invoke(entry, in, 2, &out, 1), PN_ERROR_OVERLAP,
             "result 0 overlaps input 0");
  out.data = data + 9;
  CHECK_OK(pn_entry_invoke(entry, in, 2, &out, 1));
  out.strides = back;
  CHECK_IS(pn_entry_invoke(entry, in, 2, &out, 1), PN_ERROR_OVERLAP);
  out.offset = 8;
  CHECK_OK(pn_entry_invoke(entry, in, 2, &out, 1));
  /* A result that lies upon itself. */
  out = memref_of(data + 32, PN_DTYPE_F32, 2, sizes, row);
  CHECK_IS(pn_entry_invoke(entry, in, 2, &out, 1), PN_ERROR_OVERLAP);
  out.strides = dense;
  CHECK_IS(pn_entry_invoke(entry, in, 2, &out, 1), PN_ERROR_OVERLAP);
  pn_executable_release(executable);
}

/* Results without elements share none, whatever their strides. */
static void test_empty_result(void) {
  pn_executable_t *executable =
      api_compile("func.func @f(%a: tensor<?x?xf32>) -> tensor<?x?xf32> {\n"
                  "  return %a : tensor<?x?xf32>\n}\n");
  float data[2] = {0};
  const int64_t sizes[] = {3, 0}, strides[] = {6, 2};
  pn_memref_t in = memref_of(data, PN_DTYPE_F32, 2, sizes, NULL);
  pn_memref_t out = memref_of(data + 1, PN_DTYPE_F32, 2, sizes, strides);
  CHECK_OK(pn_entry_invoke(only_entry(executable), &in, 1, &out, 1));
  pn_executable_release(executable);
}

/* A memref argument without attributes is an input that may be written. */
static void test_memref_arguments(void) {
  pn_executable_t *executable =
      api_compile("func.func @f(%a: memref<?xf32>, %b: memref<?xf32>) {\n"
                  "  %c0 = arith.constant 0 : index\n"
                  "  %n = memref.dim %a, %c0 : memref<?xf32>\n"
                  "  affine.for %i = 0 to %n {\n"
                  "    %x = affine.load %a[%i] : memref<?xf32>\n"
                  "    %y = arith.addf %x, %x : f32\n"
                  "    affine.store %y, %b[%i] : memref<?xf32>\n"
                  "  }\n  return\n}\n");
  const pn_entry_t *entry = only_entry(executable);
  CHECK(pn_entry_input_count(entry) == 2 && pn_entry_result_count(entry) == 0);
  CHECK(!pn_entry_input_is_mutable(entry, 0));
  CHECK(pn_entry_input_is_mutable(entry, 1));
  CHECK(!pn_entry_input_is_mutable(entry, 2));
  float a[3] = {1, 2, 3}, b[6] = {0};
  const int64_t sizes[] = {3}, two[] = {2};
  pn_memref_t in[] = {memref_of(a, PN_DTYPE_F32, 1, sizes, NULL),
                      memref_of(b, PN_DTYPE_F32, 1, sizes, two)};
  CHECK_OK(pn_entry_invoke(entry, in, 2, NULL, 0));
  CHECK(b[0] == 2 && b[1] == 0 && b[2] == 4 && b[3] == 0 && b[4] == 6);
  in[1] = in[0];
  CHECK_SAYS(pn_entry_invoke(entry, in, 2, NULL, 0), PN_ERROR_OVERLAP,
             "input 1 overlaps input 0");
  pn_executable_release(executable);
}

static void test_assertion(void) {
  pn_executable_t *executable = api_compile(api_scalar);
  const pn_entry_t *entry = only_entry(executable);
  int32_t x = 41, r = 0;
  pn_memref_t in = memref_of(&x, PN_DTYPE_I32, 0, NULL, NULL);
  pn_memref_t out = memref_of(&r, PN_DTYPE_I32, 0, NULL, NULL);
  CHECK_OK(pn_entry_invoke(entry, &in, 1, &out, 1));
  CHECK(r == 42);
  x = -1;
  pn_error_t *error = pn_entry_invoke(entry, &in, 1, &out, 1);
  CHECK(pn_error_code(error) == PN_ERROR_ASSERT);
  CHECK(strcmp(pn_error_message(error), "x must not be \"negative\"\n\\") == 0);
  pn_error_destroy(error);
  pn_executable_release(executable);
}

/* Rank 0, every element type, and scalars by value. */
static void test_types(void) {
  static const char *const types[] = {"i1",    "i8",  "i16",  "i32", "i64",
                                      "index", "f16", "bf16", "f32", "f64"};
  static const pn_dtype_t dtypes[] = {
      PN_DTYPE_BOOL,  PN_DTYPE_I8,  PN_DTYPE_I16,  PN_DTYPE_I32, PN_DTYPE_I64,
      PN_DTYPE_INDEX, PN_DTYPE_F16, PN_DTYPE_BF16, PN_DTYPE_F32, PN_DTYPE_F64};
  for (size_t i = 0; i < COUNT_OF(types); ++i) {
    char text[1024];
    (void)snprintf(text, sizeof(text),
                   "func.func @f(%%a: tensor<%s>, %%b: %s, %%c: tensor<3x%s>)\n"
                   "    -> (tensor<%s>, %s, tensor<3x%s>) {\n"
                   "  return %%a, %%b, %%c : tensor<%s>, %s, tensor<3x%s>\n}\n",
                   types[i], types[i], types[i], types[i], types[i], types[i],
                   types[i], types[i], types[i]);
    pn_executable_t *executable = api_compile(text);
    const pn_entry_t *entry = only_entry(executable);
    size_t size = pn_dtype_size(dtypes[i]);
    unsigned char bytes[5 * 8], results[5 * 8] = {0};
    for (size_t b = 0; b < sizeof(bytes); ++b)
      bytes[b] = dtypes[i] == PN_DTYPE_BOOL ? (b & 1) : (unsigned char)(b + 1);
    const int64_t sizes[] = {3};
    pn_memref_t in[] = {memref_of(bytes, dtypes[i], 0, NULL, NULL),
                        memref_of(bytes + size, dtypes[i], 0, NULL, NULL),
                        memref_of(bytes + 2 * size, dtypes[i], 1, sizes, NULL)};
    pn_memref_t out[] = {
        memref_of(results, dtypes[i], 0, NULL, NULL),
        memref_of(results + size, dtypes[i], 0, NULL, NULL),
        memref_of(results + 2 * size, dtypes[i], 1, sizes, NULL)};
    CHECK_OK(pn_entry_invoke(entry, in, 3, out, 3));
    CHECK(memcmp(bytes, results, 5 * size) == 0);
    pn_executable_release(executable);
  }
}

static void *call_many_times(void *user) {
  const int64_t wide[] = {100, 3};
  for (int i = 0; i < 200; ++i) {
    check_add(user, 5, 7, NULL, 0, NULL, 0, NULL, 0);
    check_add(user, 3, i % 11, wide, 0, NULL, 0, NULL, 0);
  }
  return NULL;
}

/* Some code, and more of it for more of a program; a program without an entry
 * has little. */
static void test_code_bytes(void) {
  pn_executable_t *none = api_compile("module {}");
  pn_executable_t *one = api_compile(api_add);
  pn_executable_t *many = api_compile(odd_names);
  size_t least = pn_executable_code_bytes(none);
  size_t code = pn_executable_code_bytes(one);
  CHECK(least < 64 && code > least + 64 && code < (1u << 20));
  CHECK(pn_executable_code_bytes(many) > least + 64);
  pn_executable_release(none);
  pn_executable_release(one);
  pn_executable_release(many);
}

/* Without optimization the one temporary, 16 floats, is the whole arena; a
 * program without one has none. */
static void test_arena(void) {
  static const char text[] =
      "func.func @f(%x: memref<16xf32>, %r: memref<16xf32>\n"
      "             {polynest.result}) {\n"
      "  %t = memref.alloc() : memref<16xf32>\n"
      "  affine.for %i = 0 to 16 {\n"
      "    %v = affine.load %x[%i] : memref<16xf32>\n"
      "    affine.store %v, %t[15 - %i] : memref<16xf32>\n"
      "  }\n"
      "  affine.for %i = 0 to 16 {\n"
      "    %v = affine.load %t[%i] : memref<16xf32>\n"
      "    affine.store %v, %r[%i] : memref<16xf32>\n"
      "  }\n"
      "  return\n"
      "}\n";
  pn_context_t *context = api_context();
  pn_module_t *module = api_parse(context, text);
  pn_target_t *target = api_host();
  pn_compile_options_t options = PN_COMPILE_OPTIONS_INIT;
  options.opt_level = PN_OPT_PLAIN;
  pn_executable_t *executable;
  CHECK_OK(
      pn_compile_to_executable(module, target, &options, NULL, &executable));
  CHECK(pn_entry_arena_bytes(pn_executable_entry_at(executable, 0)) ==
        16 * sizeof(float));
  pn_executable_release(executable);
  pn_target_release(target);
  pn_module_destroy(module);
  pn_context_release(context);
  executable = api_compile(api_add);
  CHECK(pn_entry_arena_bytes(pn_executable_entry_at(executable, 0)) == 0);
  pn_executable_release(executable);
}

static int64_t now_ns(void) {
  struct timespec now;
  CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Two nests, the second of which takes longer, are timed call by call; without
 * the option none is. */
static void test_nest_times(void) {
  static const char text[] =
      "func.func @f(%x: memref<16xf32>, %r: memref<4096xf32>\n"
      "             {polynest.result}) {\n"
      "  %t = memref.alloc() : memref<16xf32>\n"
      "  affine.for %i = 0 to 16 {\n"
      "    %v = affine.load %x[%i] : memref<16xf32>\n"
      "    affine.store %v, %t[15 - %i] : memref<16xf32>\n"
      "  }\n"
      "  affine.for %i = 0 to 4096 {\n"
      "    %v = affine.load %t[%i mod 16] : memref<16xf32>\n"
      "    %w = math.exp %v : f32\n"
      "    affine.store %w, %r[%i] : memref<4096xf32>\n"
      "  }\n"
      "  return\n"
      "}\n";
  float x[16] = {0}, *r = calloc(4096, sizeof(float));
  const int64_t size = 16, result_size = 4096;
  pn_memref_t input = memref_of(x, PN_DTYPE_F32, 1, &size, NULL);
  pn_memref_t result = memref_of(r, PN_DTYPE_F32, 1, &result_size, NULL);
  pn_context_t *context = api_context();
  pn_module_t *module = api_parse(context, text);
  pn_target_t *target = api_host();
  for (int timed = 0; timed < 2; ++timed) {
    pn_compile_options_t options = PN_COMPILE_OPTIONS_INIT;
    options.opt_level = PN_OPT_PLAIN;
    options.time_nests = timed;
    pn_executable_t *executable;
    CHECK_OK(
        pn_compile_to_executable(module, target, &options, NULL, &executable));
    const pn_entry_t *entry = only_entry(executable);
    int64_t times[3] = {-1, -1, -1};
    CHECK(pn_executable_nest_times(executable, times, 3) == 0);
    CHECK(times[0] == 0 && times[2] == 0);
    for (int call = 0; call < 50; ++call) {
      int64_t start = now_ns();
      CHECK_OK(pn_entry_invoke(entry, &input, 1, &result, 1));
      int64_t wall = now_ns() - start;
      CHECK(pn_executable_nest_times(executable, times, 3) ==
            (timed ? 2u : 0u));
      /* A call begins anew: nothing adds up. */
      CHECK(times[0] >= 0 && times[2] == 0 && times[0] + times[1] <= wall);
      CHECK(timed ? times[1] > 0 : times[1] == 0);
    }
    CHECK(pn_executable_nest_times(executable, times, 1) == (timed ? 2 : 0));
    CHECK(pn_executable_nest_times(executable, NULL, 0) == (timed ? 2 : 0));
    CHECK(r[7] == 1.0f);
    pn_executable_release(executable);
  }
  pn_target_release(target);
  pn_module_destroy(module);
  pn_context_release(context);
  free(r);
}

static void test_threads(void) {
  pn_executable_t *executable = api_compile(api_add);
  const pn_entry_t *entry = only_entry(executable);
  pthread_t threads[4];
  for (size_t i = 0; i < COUNT_OF(threads); ++i)
    CHECK(pthread_create(&threads[i], NULL, call_many_times, (void *)entry) ==
          0);
  for (size_t i = 0; i < COUNT_OF(threads); ++i)
    CHECK(pthread_join(threads[i], NULL) == 0);
  pn_executable_retain(executable);
  pn_executable_release(executable);
  check_add(entry, 2, 2, NULL, 0, NULL, 0, NULL, 0);
  pn_executable_release(executable);
}

int main(void) {
  CHECK_RUN(test_signature);
  CHECK_RUN(test_names);
  CHECK_RUN(test_strides);
  CHECK_RUN(test_streams);
  CHECK_RUN(test_code_threads);
  CHECK_RUN(test_wrong_calls);
  CHECK_RUN(test_fixed_layout);
  CHECK_RUN(test_overlap);
  CHECK_RUN(test_empty_result);
  CHECK_RUN(test_memref_arguments);
  CHECK_RUN(test_assertion);
  CHECK_RUN(test_types);
  CHECK_RUN(test_arena);
  CHECK_RUN(test_code_bytes);
  CHECK_RUN(test_nest_times);
  CHECK_RUN(test_threads);
  return check_result();
}
