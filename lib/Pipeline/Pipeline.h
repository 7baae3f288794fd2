/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Pipeline/Pipeline.h: the pass pipelines of the five stages, as text.
 *
 * The text is the single source of what a stage does: the session parses it,
 * `polynest-opt --polynest-sN` parses it, and users can print it.
 * Threads: pure functions.
 */
#ifndef POLYNEST_PIPELINE_PIPELINE_H
#define POLYNEST_PIPELINE_PIPELINE_H

#include "Support/Buffer.h"
#include "polynest/compile.h"

PN_EXTERN_C_BEGIN

/* Appends the passes of `stage`, without the surrounding "builtin.module()".
 * PN_ERROR_ARGUMENT for a stage out of range or an unknown disabled pass;
 * PN_ERROR_MEMORY. */
PN_MUST_USE pn_error_t *pn_pipeline_append(pn_stage_t stage,
                                           const pn_target_info_t *target,
                                           const pn_compile_options_t *options,
                                           pn_buffer_t *buffer);

/* Checks struct_size, ranges and reserved fields and copies known fields into
 * *out_options; NULL gives the defaults. PN_ERROR_ARGUMENT. */
PN_MUST_USE pn_error_t *
pn_compile_options_read(const pn_compile_options_t *options,
                        pn_compile_options_t *out_options);

/* The same from the option text of a registered pipeline:
 * "target=znver3 opt-level=0 numerics=strict verify=false disable=a;b". Gives
 * the target to the caller and the list of disabled passes, which the options
 * borrow, in `disabled`. PN_ERROR_ARGUMENT, PN_ERROR_NOT_FOUND. */
PN_MUST_USE pn_error_t *pn_pipeline_parse_options(
    const char *text, size_t size, pn_target_t **out_target,
    pn_compile_options_t *out_options, pn_buffer_t *disabled);

PN_EXTERN_C_END

#endif /* POLYNEST_PIPELINE_PIPELINE_H */
