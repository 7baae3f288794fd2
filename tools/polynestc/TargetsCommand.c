/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/TargetsCommand.c: the subcommand `targets`. */

#include "Commands.h"
#include "Options.h"
#include "Report.h"
#include "polynest/polynest.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void write_stdout(void *user, const char *data, size_t size) {
  (void)user;
  (void)fwrite(data, 1, size, stdout);
}

static bool is_host(const char *name) {
  return strcmp(name, "host") == 0 || strcmp(name, "cpu:host") == 0;
}

static pn_error_t *make_target(const char *name, bool measure,
                               pn_target_t **out_target) {
  if (measure) {
    pn_target_host_options_t options = PN_TARGET_HOST_OPTIONS_INIT;
    options.measure = PN_TARGET_MEASURE_NOW;
    return pn_target_create_host_with(&options, out_target);
  }
  pn_error_t *error = pn_target_create_by_name(name, out_target);
  if (pn_error_code(error) != PN_ERROR_NOT_FOUND || access(name, F_OK) != 0)
    return error;
  pn_error_destroy(error);
  return pn_target_create_from_file(name, out_target);
}

static pn_exit_t print_target(const char *name, bool measure, bool as_file) {
  if (measure && !is_host(name)) {
    pn_report("error", "--measure measures this machine; '%s' is not the host",
              name);
    return PN_EXIT_USAGE;
  }
  pn_target_t *target = NULL;
  pn_error_t *error = make_target(name, measure, &target);
  if (!error)
    error = pn_target_print(
        target, as_file ? PN_TARGET_FORMAT_FILE : PN_TARGET_FORMAT_TABLE,
        write_stdout, NULL);
  pn_target_release(target);
  return error ? pn_report_error(error) : PN_EXIT_OK;
}

static pn_exit_t list_targets(void) {
  const char *name;
  printf("host\n");
  for (size_t i = 0; (name = pn_target_known_name(i)) != NULL; ++i)
    printf("%s\n", name);
  return PN_EXIT_OK;
}

pn_exit_t pn_command_targets(int argc, char **argv) {
  bool measure = false, as_file = false;
  const pn_option_row_t rows[] = {
      {"--measure", PN_OPTION_FLAG, &measure, NULL,
       "measure the host's usable last-level cache first, and\n"
       "keep the result for later compilations",
       0, 0},
      {"--file", PN_OPTION_FLAG, &as_file, NULL,
       "print a target file, to be changed and given to --target", 0, 0},
  };
  const pn_command_line_t line = {
      .usage = "polynestc targets [NAME|FILE] [options]",
      .summary = "Lists the known targets, or prints the description of one: "
                 "every number that\ndecisions of the compiler rest on, with "
                 "its unit and source.",
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .max_operands = 1,
  };
  pn_text_list_t operands = {0};
  pn_parse_outcome_t parsed =
      pn_command_line_parse(&line, argc, argv, &operands);
  pn_exit_t code = parsed == PN_PARSE_HELP ? PN_EXIT_OK : PN_EXIT_USAGE;
  if (parsed == PN_PARSE_OK) {
    const char *name = operands.count ? operands.items[0] : NULL;
    if (!name && (measure || as_file))
      name = "host";
    code = name ? print_target(name, measure, as_file) : list_targets();
  }
  pn_text_list_clear(&operands);
  return code;
}
