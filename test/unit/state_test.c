/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* state_test.c: entries with their constants bound. */

#include "api.h"

#include <sys/wait.h>
#include <unistd.h>

enum { N = 300 };

/* r = x * exp(w) reversed + b: of w only the state is left, b is read by calls.
 */
static const char program[] =
    "#id = affine_map<(d0) -> (d0)>\n"
    "#back = affine_map<(d0) -> (299 - d0)>\n"
    "func.func @f(%w: tensor<300xf32> {polynest.constant},\n"
    "             %x: tensor<300xf32>,\n"
    "             %b: tensor<300xf32> {polynest.constant})\n"
    "    -> tensor<300xf32> {\n"
    "  %e = tensor.empty() : tensor<300xf32>\n"
    "  %zero = arith.constant 0.0 : f32\n"
    "  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<300xf32>)\n"
    "      -> tensor<300xf32>\n"
    "  %s = linalg.generic {indexing_maps = [#id, #back],\n"
    "      iterator_types = [\"parallel\"]} ins(%w : tensor<300xf32>)\n"
    "      outs(%z : tensor<300xf32>) {\n"
    "  ^bb0(%a: f32, %o: f32):\n"
    "    %p = arith.mulf %a, %a : f32\n"
    "    %q = arith.addf %o, %p : f32\n"
    "    linalg.yield %q : f32\n"
    "  } -> tensor<300xf32>\n"
    "  %r = linalg.generic {indexing_maps = [#id, #id, #id, #id],\n"
    "      iterator_types = [\"parallel\"]}\n"
    "      ins(%x, %s, %b : tensor<300xf32>, tensor<300xf32>,\n"
    "                       tensor<300xf32>) outs(%e : tensor<300xf32>) {\n"
    "  ^bb0(%a: f32, %c: f32, %d: f32, %o: f32):\n"
    "    %p = arith.mulf %a, %c : f32\n"
    "    %q = arith.addf %p, %d : f32\n"
    "    linalg.yield %q : f32\n"
    "  } -> tensor<300xf32>\n"
    "  return %r : tensor<300xf32>\n"
    "}\n";

static const int64_t sizes[] = {N};
static float w[N], x[N], b[N], r[N];

static pn_memref_t view_of(float *data) {
  return (pn_memref_t){
      .data = data, .sizes = sizes, .dtype = PN_DTYPE_F32, .rank = 1};
}

static void fill(void) {
  for (int i = 0; i < N; ++i) {
    w[i] = (float)(i % 7);
    x[i] = (float)i - 100.0f;
    b[i] = (float)(i % 11) * 0.5f;
    r[i] = -1.0f;
  }
}

/* Whether r is what w and b, as they were filled, and x as it is now, give. */
static bool is_right(float factor) {
  bool right = true;
  for (int i = 0; i < N; ++i) {
    float v = (float)((N - 1 - i) % 7);
    right &= r[i] == x[i] * (v * v) + (float)(i % 11) * 0.5f * factor;
  }
  return right;
}

static const pn_entry_t *entry_of(const pn_executable_t *executable) {
  const pn_entry_t *entry = NULL;
  CHECK_OK(pn_executable_find_entry(executable, NULL, &entry));
  return entry;
}

static void test_bound(void) {
  fill();
  pn_executable_t *executable = api_compile(program);
  const pn_entry_t *entry = entry_of(executable);
  CHECK(pn_entry_input_is_constant(entry, 0));
  CHECK(!pn_entry_input_is_constant(entry, 1));
  CHECK(pn_entry_input_is_constant(entry, 2));
  CHECK(!pn_entry_input_is_constant(entry, 3));
  CHECK(pn_entry_state_bytes(entry) >= N * sizeof(float));
  pn_memref_t constants[] = {view_of(w), view_of(b)};
  pn_memref_t input = view_of(x), result = view_of(r);
  pn_state_t *state;
  CHECK_OK(pn_state_create(entry, constants, 2, &state));
  CHECK(!pn_state_reads_constant(state, 0));
  CHECK(pn_state_reads_constant(state, 1));
  CHECK(!pn_state_reads_constant(state, 2));
  /* The state keeps the code alive, and w is not needed any more. */
  pn_executable_release(executable);
  memset(w, 0xff, sizeof(w));
  CHECK_OK(pn_state_invoke(state, &input, 1, &result, 1));
  CHECK(is_right(1.0f));
  x[3] = 17.0f;
  CHECK_OK(pn_state_invoke(state, &input, 1, &result, 1));
  CHECK(is_right(1.0f));
  /* A result may take the memory of what is not read. */
  pn_memref_t over_w = view_of(w), over_b = view_of(b);
  CHECK_OK(pn_state_invoke(state, &input, 1, &over_w, 1));
  CHECK(memcmp(w, r, sizeof(w)) == 0);
  CHECK_SAYS(pn_state_invoke(state, &input, 1, &over_b, 1), PN_ERROR_OVERLAP,
             "result 0 overlaps input 2");
  pn_state_destroy(state);
  pn_state_destroy(NULL);
}

static void test_unbound(void) {
  fill();
  pn_executable_t *executable = api_compile(program);
  const pn_entry_t *entry = entry_of(executable);
  pn_memref_t inputs[] = {view_of(w), view_of(x), view_of(b)};
  pn_memref_t result = view_of(r);
  CHECK_OK(pn_entry_invoke(entry, inputs, 3, &result, 1));
  CHECK(is_right(1.0f));
  /* Constants hold for one call only. */
  for (int i = 0; i < N; ++i)
    b[i] *= 2.0f;
  CHECK_OK(pn_entry_invoke(entry, inputs, 3, &result, 1));
  CHECK(is_right(2.0f));
  pn_executable_release(executable);
}

static void test_strided(void) {
  fill();
  static float spread[3 * N];
  for (int i = 0; i < N; ++i)
    spread[3 * (N - 1 - i)] = b[i];
  const int64_t strides[] = {-3};
  pn_executable_t *executable = api_compile(program);
  const pn_entry_t *entry = entry_of(executable);
  pn_memref_t constants[] = {view_of(w), view_of(spread)};
  constants[1].strides = strides;
  constants[1].offset = 3 * (N - 1);
  pn_memref_t input = view_of(x), result = view_of(r);
  pn_state_t *state;
  CHECK_OK(pn_state_create(entry, constants, 2, &state));
  /* A copy in the entry's layout was made. */
  CHECK(!pn_state_reads_constant(state, 1));
  memset(spread, 0xff, sizeof(spread));
  CHECK_OK(pn_state_invoke(state, &input, 1, &result, 1));
  CHECK(is_right(1.0f));
  pn_state_destroy(state);
  pn_executable_release(executable);
}

static void test_wrong(void) {
  fill();
  pn_executable_t *executable = api_compile(program);
  const pn_entry_t *entry = entry_of(executable);
  pn_memref_t constants[] = {view_of(w), view_of(b)};
  pn_memref_t input = view_of(x), result = view_of(r);
  pn_state_t *state = (pn_state_t *)&input;
  CHECK_SAYS(pn_state_create(entry, constants, 1, &state), PN_ERROR_SIGNATURE,
             "has 2 constants, not 1");
  CHECK(state == NULL);
  CHECK_IS(pn_state_create(NULL, constants, 2, &state), PN_ERROR_ARGUMENT);
  CHECK_IS(pn_state_create(entry, NULL, 2, &state), PN_ERROR_ARGUMENT);
  constants[1].dtype = PN_DTYPE_F64;
  CHECK_SAYS(pn_state_create(entry, constants, 2, &state), PN_ERROR_SIGNATURE,
             "input 2 has element type f64; expected f32");
  constants[1] = view_of(b);
  const int64_t shorter[] = {N - 1};
  constants[0].sizes = shorter;
  CHECK_SAYS(pn_state_create(entry, constants, 2, &state), PN_ERROR_SIGNATURE,
             "input 0 has size 299");
  constants[0] = view_of(w);
  CHECK_OK(pn_state_create(entry, constants, 2, &state));
  CHECK_SAYS(pn_state_invoke(state, &input, 2, &result, 1), PN_ERROR_SIGNATURE,
             "takes 1 inputs beside its constants, not 2");
  CHECK_IS(pn_state_invoke(state, NULL, 1, &result, 1), PN_ERROR_ARGUMENT);
  CHECK_IS(pn_state_invoke(NULL, &input, 1, &result, 1), PN_ERROR_ARGUMENT);
  CHECK_IS(pn_state_invoke(state, &input, 1, &result, 0), PN_ERROR_SIGNATURE);
  input.sizes = shorter;
  CHECK_SAYS(pn_state_invoke(state, &input, 1, &result, 1), PN_ERROR_SIGNATURE,
             "input 1 has size 299");
  pn_state_destroy(state);
  pn_executable_release(executable);
}

/* Constants that the caller marks. */
static void test_marked(void) {
  pn_context_t *context = api_context();
  pn_module_t *module = api_parse(context, api_add);
  CHECK_SAYS(pn_module_mark_constant(module, NULL, 2), PN_ERROR_ARGUMENT,
             "input 2 is out of range; the function has 2");
  CHECK_IS(pn_module_mark_constant(module, "sub", 0), PN_ERROR_NOT_FOUND);
  CHECK_IS(pn_module_mark_constant(NULL, NULL, 0), PN_ERROR_ARGUMENT);
  CHECK_OK(pn_module_mark_constant(module, "add", 1));
  CHECK_OK(pn_module_mark_constant(module, NULL, 1));
  pn_target_t *target = api_host();
  pn_executable_t *executable;
  CHECK_OK(pn_compile_to_executable(module, target, NULL, NULL, &executable));
  const pn_entry_t *entry = entry_of(executable);
  CHECK(!pn_entry_input_is_constant(entry, 0));
  CHECK(pn_entry_input_is_constant(entry, 1));
  const int64_t square[] = {2, 2};
  float p[] = {1, 2, 3, 4}, q[] = {10, 20, 30, 40}, s[4];
  pn_memref_t input = view_of(p), constant = view_of(q), result = view_of(s);
  input.rank = constant.rank = result.rank = 2;
  input.sizes = constant.sizes = result.sizes = square;
  pn_state_t *state;
  CHECK_OK(pn_state_create(entry, &constant, 1, &state));
  /* Sizes of results may depend on those of a constant. */
  CHECK_OK(pn_state_invoke(state, &input, 1, &result, 1));
  CHECK(s[0] == 12 && s[1] == 34 && s[2] == 26 && s[3] == 48);
  pn_state_destroy(state);
  pn_executable_release(executable);
  pn_target_release(target);
  pn_module_destroy(module);
  pn_context_release(context);
}

/* Without constants a state is an entry like any other. */
static void test_none(void) {
  pn_executable_t *executable = api_compile(api_add);
  const pn_entry_t *entry = entry_of(executable);
  CHECK(pn_entry_state_bytes(entry) == 0);
  pn_state_t *state;
  CHECK_OK(pn_state_create(entry, NULL, 0, &state));
  const int64_t square[] = {2, 2};
  float p[] = {1, 2, 3, 4}, q[] = {10, 20, 30, 40}, s[4];
  pn_memref_t inputs[] = {view_of(p), view_of(q)}, result = view_of(s);
  inputs[0].rank = inputs[1].rank = result.rank = 2;
  inputs[0].sizes = inputs[1].sizes = result.sizes = square;
  CHECK_OK(pn_state_invoke(state, inputs, 2, &result, 1));
  CHECK(s[0] == 12 && s[1] == 34 && s[2] == 26 && s[3] == 48);
  pn_state_destroy(state);
  pn_executable_release(executable);
}

/* As above, of so many elements that another thread touches memory meanwhile:
 * for one of two entries. */
#define LARGE_ENTRY(name)                                                      \
  "func.func @" name "(%w: tensor<2097152xf32> {polynest.constant},\n"         \
  "             %x: tensor<2097152xf32>) -> tensor<2097152xf32> {\n"           \
  "  %e = tensor.empty() : tensor<2097152xf32>\n"                              \
  "  %s = linalg.generic {indexing_maps = [#back, #id],\n"                     \
  "      iterator_types = [\"parallel\"]} ins(%w : tensor<2097152xf32>)\n"     \
  "      outs(%e : tensor<2097152xf32>) {\n"                                   \
  "  ^bb0(%a: f32, %o: f32):\n"                                                \
  "    %p = math.exp %a : f32\n"                                               \
  "    linalg.yield %p : f32\n"                                                \
  "  } -> tensor<2097152xf32>\n"                                               \
  "  %r = linalg.generic {indexing_maps = [#id, #id, #id],\n"                  \
  "      iterator_types = [\"parallel\"]}\n"                                   \
  "      ins(%x, %s : tensor<2097152xf32>, tensor<2097152xf32>)\n"             \
  "      outs(%e : tensor<2097152xf32>) {\n"                                   \
  "  ^bb0(%a: f32, %c: f32, %o: f32):\n"                                       \
  "    %p = arith.mulf %a, %c : f32\n"                                         \
  "    linalg.yield %p : f32\n"                                                \
  "  } -> tensor<2097152xf32>\n"                                               \
  "  return %r : tensor<2097152xf32>\n"                                        \
  "}\n"

static const char large_program[] =
    "#id = affine_map<(d0) -> (d0)>\n"
    "#back = affine_map<(d0) -> (2097151 - d0)>\n" LARGE_ENTRY("f")
        LARGE_ENTRY("g");

enum { LARGE = 2097152 };
static const int64_t large_sizes[] = {LARGE};
static float large_w[LARGE], large_x[LARGE], large_r[LARGE];

/* Whether a new state gives the right results. */
static bool binds_large(const pn_entry_t *entry) {
  pn_memref_t views[] = {
      {.data = large_w}, {.data = large_x}, {.data = large_r}};
  for (int i = 0; i < 3; ++i) {
    views[i].sizes = large_sizes;
    views[i].dtype = PN_DTYPE_F32;
    views[i].rank = 1;
  }
  pn_state_t *state;
  CHECK_OK(pn_state_create(entry, &views[0], 1, &state));
  memset(large_r, 0, sizeof(large_r));
  CHECK_OK(pn_state_invoke(state, &views[1], 1, &views[2], 1));
  bool right = true;
  for (int i = 0; i < LARGE; ++i)
    right &= large_r[i] == (float)i * (i == LARGE - 1 - 5 ? 1.0f : 0.0f);
  pn_state_destroy(state);
  return right;
}

static uint64_t pool_bytes_used(void) {
  pn_pool_stats_t stats;
  pn_pool_stats_get(&stats);
  return stats.bytes_used;
}

static void test_touched(void) {
  for (int i = 0; i < LARGE; ++i) {
    large_w[i] = i == 5 ? 0.0f : -1000.0f;
    large_x[i] = (float)i;
  }
  uint64_t before = pool_bytes_used();
  pn_executable_release(api_compile(large_program));
  CHECK(pool_bytes_used() == before);
  pn_executable_t *executable = api_compile(large_program);
  uint64_t touched = pool_bytes_used() - before;
  /* On a single processor there is none. */
  CHECK(touched == 0 ||
        (touched >= sizeof(large_w) && touched < 2 * sizeof(large_w)));
  const pn_entry_t *entry = NULL;
  CHECK_OK(pn_executable_find_entry(executable, "f", &entry));
  CHECK(pn_entry_state_bytes(entry) >= sizeof(large_w));
  /* A child has the memory, but no thread that touches it. */
  pid_t child = fork();
  if (child == 0)
    _exit(binds_large(entry) ? 0 : 1);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(binds_large(entry));
  CHECK(pool_bytes_used() == before);
  CHECK(binds_large(entry));
  pn_executable_release(executable);
}

int main(void) {
  CHECK_RUN(test_bound);
  CHECK_RUN(test_unbound);
  CHECK_RUN(test_strided);
  CHECK_RUN(test_wrong);
  CHECK_RUN(test_marked);
  CHECK_RUN(test_none);
  CHECK_RUN(test_touched);
  return check_result();
}
