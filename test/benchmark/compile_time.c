/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * compile_time.c: what compiling one program takes through the C API.
 *
 * Without arguments, a small function (a product of matrices with a pointwise
 * epilogue); else the file argv[1]. Prints the time of making a context, of the
 * first compilation in the process, and of the fastest of argv[2] more (9), and
 * what the steps of both took.
 */
#include "bench.h"

static const char small[] =
    "func.func @f(%a: tensor<64x128xf32>, %b: tensor<128x96xf32>)\n"
    "    -> tensor<64x96xf32> {\n"
    "  %z = arith.constant 0.0 : f32\n"
    "  %e = tensor.empty() : tensor<64x96xf32>\n"
    "  %i = linalg.fill ins(%z : f32) outs(%e : tensor<64x96xf32>)\n"
    "      -> tensor<64x96xf32>\n"
    "  %p = linalg.matmul ins(%a, %b : tensor<64x128xf32>, "
    "tensor<128x96xf32>)\n"
    "      outs(%i : tensor<64x96xf32>) -> tensor<64x96xf32>\n"
    "  %r = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>,\n"
    "      affine_map<(i,j)->(i,j)>],\n"
    "      iterator_types = [\"parallel\", \"parallel\"]}\n"
    "      ins(%p : tensor<64x96xf32>) outs(%e : tensor<64x96xf32>) {\n"
    "  ^bb0(%x: f32, %o: f32):\n"
    "    %m = arith.maximumf %x, %z : f32\n"
    "    linalg.yield %m : f32\n"
    "  } -> tensor<64x96xf32>\n"
    "  return %r : tensor<64x96xf32>\n"
    "}\n";

/* From text, or from a file where there is one, to code that can be called. */
static double compile(pn_context_t *context, const pn_target_t *target,
                      const char *path, pn_compile_timing_t *timing) {
  double start = seconds_now();
  pn_module_t *module;
  pn_executable_t *executable;
  check(path ? pn_module_read_file(context, path, 0, &module)
             : pn_module_parse(context, small, strlen(small), "small", 0,
                               &module));
  check(pn_compile_to_executable(module, target, NULL, timing, &executable));
  double time = 1e3 * (seconds_now() - start);
  pn_executable_release(executable);
  pn_module_destroy(module);
  return time;
}

typedef struct row {
  const char *name;
  int64_t first_ns, fastest_ns;
} row_t;

/* The steps of the first and of the fastest compilation, side by side. */
static void print_steps(const pn_compile_timing_t *first,
                        const pn_compile_timing_t *fastest) {
  const row_t rows[] = {
      {"s1", first->stage_ns[1], fastest->stage_ns[1]},
      {"s2", first->stage_ns[2], fastest->stage_ns[2]},
      {"s3", first->stage_ns[3], fastest->stage_ns[3]},
      {"s4", first->stage_ns[4], fastest->stage_ns[4]},
      {"s5", first->stage_ns[5], fastest->stage_ns[5]},
      {"translate", first->translate_ns, fastest->translate_ns},
      {"optimize", first->optimize_ns, fastest->optimize_ns},
      {"codegen", first->codegen_ns, fastest->codegen_ns},
      {"link", first->link_ns, fastest->link_ns},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i)
    (void)printf("  %-17s %8.1f %8.1f ms\n", rows[i].name,
                 1e-6 * (double)rows[i].first_ns,
                 1e-6 * (double)rows[i].fastest_ns);
}

int main(int argc, char **argv) {
  const char *path = argc > 1 && *argv[1] ? argv[1] : NULL;
  int more = argc > 2 ? atoi(argv[2]) : 9;
  double start = seconds_now();
  pn_context_t *context;
  pn_target_t *target;
  check(pn_context_create(NULL, &context));
  check(pn_target_create_host(&target));
  (void)printf("context and target  %8.1f ms\n", 1e3 * (seconds_now() - start));
  pn_compile_timing_t first = {.struct_size = sizeof(first)}, timing = first;
  (void)printf("first compilation   %8.1f ms\n",
               compile(context, target, path, &first));
  pn_compile_timing_t best = first;
  double fastest = 0;
  for (int i = 0; i < more; ++i) {
    double time = compile(context, target, path, &timing);
    if (i && time >= fastest)
      continue;
    fastest = time;
    best = timing;
  }
  if (more > 0)
    (void)printf("fastest of %-4d     %8.1f ms\n", more, fastest);
  print_steps(&first, &best);
  pn_target_release(target);
  pn_context_release(context);
  return 0;
}
