/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pipeline/Register.c: registration of passes and stage pipelines. */

#include "Pipeline/Pipeline.h"
#include "Support/MlirBridge.h"
#include "Support/Registration.h"
#include "polynest/passes.h"

#include <pthread.h>

/* Text of the stage `user` stands for, from the options of a pipeline. */
static pn_error_t *pipeline_from_options(void *user, const char *text,
                                         size_t size, pn_buffer_t *buffer) {
  pn_stage_t stage = *(const pn_stage_t *)user;
  pn_target_t *target;
  pn_compile_options_t options;
  pn_buffer_t disabled = {0};
  pn_error_t *error =
      pn_pipeline_parse_options(text, size, &target, &options, &disabled);
  pn_target_info_t info = {.struct_size = sizeof(info)};
  if (!error)
    error = pn_target_get_info(target, &info);
  if (!error)
    error = pn_pipeline_append(stage, &info, &options, buffer);
  pn_target_release(target);
  pn_buffer_clear(&disabled);
  return error;
}

static void register_once(void) {
  static const pn_stage_t stages[] = {PN_STAGE_S1, PN_STAGE_S2, PN_STAGE_S3,
                                      PN_STAGE_S4, PN_STAGE_S5};
  static const struct {
    const char *flag, *text;
  } names[] = {
      {"polynest-s1", "tensors to buffers"},
      {"polynest-s2", "ops on buffers to affine nests"},
      {"polynest-s3", "the mid-level optimizer on affine nests"},
      {"polynest-s4", "affine nests to scf and kernels"},
      {"polynest-s5", "scf and kernels to the LLVM dialect"},
  };
  pn_conversion_register_passes();
  pn_transforms_register_passes();
  for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); ++i)
    pn_mlir_register_pipeline(names[i].flag, names[i].text,
                              pipeline_from_options, (void *)&stages[i]);
}

void pn_passes_register(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, register_once);
}
