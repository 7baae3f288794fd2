/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * api.h: what the tests of the C API share: programs, errors that are expected,
 * and compilation in one call.
 */
#ifndef POLYNEST_TEST_API_H
#define POLYNEST_TEST_API_H

#include "check.h"
#include "polynest/polynest.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* r[i, j] = 2 a[i, j] + b[j, i], of any size. */
static const char api_add[] =
    "#id = affine_map<(d0, d1) -> (d0, d1)>\n"
    "#tr = affine_map<(d0, d1) -> (d1, d0)>\n"
    "func.func @add(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>)\n"
    "    -> tensor<?x?xf32> {\n"
    "  %c0 = arith.constant 0 : index\n"
    "  %c1 = arith.constant 1 : index\n"
    "  %m = tensor.dim %a, %c0 : tensor<?x?xf32>\n"
    "  %n = tensor.dim %a, %c1 : tensor<?x?xf32>\n"
    "  %e = tensor.empty(%m, %n) : tensor<?x?xf32>\n"
    "  %two = arith.constant 2.0 : f32\n"
    "  %r = linalg.generic {indexing_maps = [#id, #tr, #id],\n"
    "      iterator_types = [\"parallel\", \"parallel\"]}\n"
    "      ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>)\n"
    "      outs(%e : tensor<?x?xf32>) {\n"
    "  ^bb0(%x: f32, %y: f32, %o: f32):\n"
    "    %p = arith.mulf %x, %two : f32\n"
    "    %q = arith.addf %p, %y : f32\n"
    "    linalg.yield %q : f32\n"
    "  } -> tensor<?x?xf32>\n"
    "  return %r : tensor<?x?xf32>\n"
    "}\n";

/* r = x + 1 on scalars, with an assertion that x is not negative. */
static const char api_scalar[] =
    "func.func @next(%x: i32) -> i32 {\n"
    "  %c0 = arith.constant 0 : i32\n"
    "  %c1 = arith.constant 1 : i32\n"
    "  %ok = arith.cmpi sge, %x, %c0 : i32\n"
    "  cf.assert %ok, \"x must not be \\\"negative\\\"\\n\\\\\"\n"
    "  %r = arith.addi %x, %c1 : i32\n"
    "  return %r : i32\n"
    "}\n";

/* Checks the code of an error and destroys it; returns whether it was that. */
static inline bool api_is(pn_error_t *error, pn_error_code_t code) {
  bool same = pn_error_code(error) == code;
  if (!same)
    fprintf(stderr, "error is %s: %s\n",
            pn_error_code_name(pn_error_code(error)), pn_error_message(error));
  pn_error_destroy(error);
  return same;
}

/* The same, where the message must contain `part`. */
static inline bool api_says(pn_error_t *error, pn_error_code_t code,
                            const char *part) {
  bool found = strstr(pn_error_message(error), part) != NULL;
  if (!found)
    fprintf(stderr, "message lacks '%s': %s\n", part, pn_error_message(error));
  return api_is(error, code) && found;
}

#define CHECK_OK(call) CHECK(api_is(call, PN_ERROR_NONE))
#define CHECK_IS(call, code) CHECK(api_is(call, code))
#define CHECK_SAYS(call, code, part) CHECK(api_says(call, code, part))

static inline pn_context_t *api_context(void) {
  pn_context_t *context;
  CHECK_OK(pn_context_create(NULL, &context));
  return context;
}

static inline pn_module_t *api_parse(pn_context_t *context, const char *text) {
  pn_module_t *module;
  CHECK_OK(pn_module_parse(context, text, strlen(text), "test.mlir",
                           PN_MODULE_DEFAULT, &module));
  return module;
}

static inline pn_target_t *api_host(void) {
  pn_target_t *target;
  CHECK_OK(pn_target_create_host(&target));
  return target;
}

/* Compiles with a context of its own; NULL where that fails. */
static inline pn_executable_t *api_compile(const char *text) {
  pn_context_t *context = api_context();
  pn_module_t *module = api_parse(context, text);
  pn_target_t *target = api_host();
  pn_executable_t *executable = NULL;
  if (module)
    CHECK_OK(pn_compile_to_executable(module, target, NULL, NULL, &executable));
  pn_target_release(target);
  pn_module_destroy(module);
  pn_context_release(context);
  return executable;
}

/* A growing text for pn_write_fn. */
typedef struct api_text {
  char data[1 << 20];
  size_t size;
} api_text_t;

static inline void api_write(void *user, const char *data, size_t size) {
  api_text_t *text = user;
  size_t room = sizeof(text->data) - 1 - text->size;
  size = size < room ? size : room;
  memcpy(text->data + text->size, data, size);
  text->size += size;
  text->data[text->size] = '\0';
}

#endif /* POLYNEST_TEST_API_H */
