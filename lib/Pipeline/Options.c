/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pipeline/Options.c: checking and parsing of compile options. */

#include "Pipeline/Pipeline.h"

#include "Support/Error.h"

#include <string.h>

static pn_error_t *check_ranges(const pn_compile_options_t *options) {
  if (options->opt_level != PN_OPT_PLAIN &&
      options->opt_level != PN_OPT_DEFAULT)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "opt_level %d is unknown; levels are 0 and 1",
                           (int)options->opt_level);
  if (options->numerics != PN_NUMERICS_DEFAULT &&
      options->numerics != PN_NUMERICS_STRICT)
    return pn_error_create(
        PN_ERROR_ARGUMENT,
        "numerics %d is unknown; 0 is default and 1 is strict",
        (int)options->numerics);
  for (size_t i = 0; i < sizeof(options->reserved); ++i)
    if (options->reserved[i] != 0)
      return pn_error_create(PN_ERROR_ARGUMENT,
                             "reserved fields of the options must be zero");
  return NULL;
}

pn_error_t *pn_compile_options_read(const pn_compile_options_t *options,
                                    pn_compile_options_t *out_options) {
  *out_options = (pn_compile_options_t)PN_COMPILE_OPTIONS_INIT;
  if (!options)
    return NULL;
  if (options->struct_size != sizeof(*options))
    return pn_error_create(
        PN_ERROR_ARGUMENT,
        "struct_size %zu of the compile options is not the expected %zu",
        options->struct_size, sizeof(*options));
  pn_error_t *error = check_ranges(options);
  if (!error)
    *out_options = *options;
  return error;
}

/* One "key=value" of the option text. */
typedef struct pn_option {
  const char *key, *value;
  size_t key_size, value_size;
} pn_option_t;

static bool is(const char *text, size_t size, const char *word) {
  return size == strlen(word) && memcmp(text, word, size) == 0;
}

static pn_error_t *bad_value(const pn_option_t *option, const char *range) {
  return pn_error_create(PN_ERROR_ARGUMENT,
                         "option %.*s has value '%.*s'; it must be %s",
                         (int)option->key_size, option->key,
                         (int)option->value_size, option->value, range);
}

/* Reads target=, whose value needs a terminator. */
static pn_error_t *read_target(const pn_option_t *option,
                               pn_target_t **out_target) {
  pn_buffer_t name = {0};
  pn_buffer_append(&name, option->value, option->value_size);
  pn_target_release(*out_target);
  pn_error_t *error =
      pn_target_create_by_name(pn_buffer_text(&name), out_target);
  pn_buffer_clear(&name);
  return error;
}

static pn_error_t *read_option(const pn_option_t *option,
                               pn_target_t **out_target,
                               pn_compile_options_t *options,
                               pn_buffer_t *disabled) {
  const char *value = option->value;
  size_t size = option->value_size;
  if (is(option->key, option->key_size, "target"))
    return read_target(option, out_target);
  if (is(option->key, option->key_size, "opt-level")) {
    if (!is(value, size, "0") && !is(value, size, "1"))
      return bad_value(option, "0 or 1");
    options->opt_level = *value == '0' ? PN_OPT_PLAIN : PN_OPT_DEFAULT;
    return NULL;
  }
  if (is(option->key, option->key_size, "numerics")) {
    if (!is(value, size, "default") && !is(value, size, "strict"))
      return bad_value(option, "'default' or 'strict'");
    options->numerics =
        *value == 's' ? PN_NUMERICS_STRICT : PN_NUMERICS_DEFAULT;
    return NULL;
  }
  if (is(option->key, option->key_size, "verify")) {
    if (!is(value, size, "true") && !is(value, size, "false"))
      return bad_value(option, "'true' or 'false'");
    options->verify_stages = *value == 't';
    return NULL;
  }
  if (is(option->key, option->key_size, "disable")) {
    pn_buffer_append(disabled, value, size);
    options->disabled_passes = pn_buffer_text(disabled);
    return NULL;
  }
  return pn_error_create(PN_ERROR_ARGUMENT,
                         "unknown option '%.*s'; options are target, "
                         "opt-level, numerics, verify and disable",
                         (int)option->key_size, option->key);
}

pn_error_t *pn_pipeline_parse_options(const char *text, size_t size,
                                      pn_target_t **out_target,
                                      pn_compile_options_t *out_options,
                                      pn_buffer_t *disabled) {
  *out_target = NULL;
  *out_options = (pn_compile_options_t)PN_COMPILE_OPTIONS_INIT;
  const char *end = text + size;
  pn_error_t *error = NULL;
  while (!error && text < end) {
    if (*text == ' ') {
      ++text;
      continue;
    }
    const char *stop = memchr(text, ' ', (size_t)(end - text));
    stop = stop ? stop : end;
    const char *equals = memchr(text, '=', (size_t)(stop - text));
    pn_option_t option = {.key = text, .value = equals ? equals + 1 : stop};
    option.key_size = (size_t)((equals ? equals : stop) - text);
    option.value_size = (size_t)(stop - option.value);
    error = read_option(&option, out_target, out_options, disabled);
    text = stop;
  }
  if (!error && !*out_target)
    error = pn_target_create_host(out_target);
  if (error) {
    pn_target_release(*out_target);
    *out_target = NULL;
  }
  return error;
}
