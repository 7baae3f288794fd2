/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiles a program, calls it, and writes it as a library. */
#include <polynest/polynest.h>

#include <stdio.h>
#include <string.h>

static const char program[] = "func.func @twice(%x: f32) -> f32 {\n"
                              "  %r = arith.addf %x, %x : f32\n"
                              "  return %r : f32\n"
                              "}\n";

/* Calls the only entry; returns NULL where the result is right. */
static pn_error_t *call(const pn_executable_t *executable, float *r) {
  const pn_entry_t *entry;
  pn_error_t *error = pn_executable_find_entry(executable, "twice", &entry);
  float x = 21.0f;
  pn_memref_t in = {&x, 0, NULL, NULL, PN_DTYPE_F32, 0};
  pn_memref_t out = {r, 0, NULL, NULL, PN_DTYPE_F32, 0};
  return error ? error : pn_entry_invoke(entry, &in, 1, &out, 1);
}

int main(int argc, char **argv) {
  pn_context_t *context = NULL;
  pn_module_t *module = NULL;
  pn_target_t *target = NULL;
  pn_executable_t *executable = NULL, *loaded = NULL;
  float r = 0, s = 0;
  if (argc != 2 || pn_version() != PN_VERSION)
    return 2;
  pn_error_t *error = pn_context_create(NULL, &context);
  if (!error)
    error = pn_module_parse(context, program, strlen(program), "twice.mlir",
                            PN_MODULE_DEFAULT, &module);
  if (!error)
    error = pn_target_create_host(&target);
  if (!error)
    error = pn_compile_to_executable(module, target, NULL, NULL, &executable);
  if (!error)
    error = call(executable, &r);
  if (!error)
    error = pn_compile_to_library(module, target, NULL, argv[1], NULL);
  if (!error)
    error = pn_executable_load(argv[1], &loaded);
  if (!error)
    error = call(loaded, &s);
  if (error)
    fprintf(stderr, "error: %s\n", pn_error_message(error));
  else
    printf("%g %g\n", (double)r, (double)s);
  int code = error || r != 42.0f || s != 42.0f;
  pn_error_destroy(error);
  pn_executable_release(loaded);
  pn_executable_release(executable);
  pn_module_destroy(module);
  pn_target_release(target);
  pn_context_release(context);
  return code;
}
