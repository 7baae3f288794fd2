/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/PipelineCommand.c: the subcommand `pipeline`. */

#include "Commands.h"
#include "Session.h"

#include <stdio.h>

static void write_stdout(void *user, const char *data, size_t size) {
  (void)user;
  (void)fwrite(data, 1, size, stdout);
}

/* Prints one stage, or all of them with their names. */
static pn_exit_t print_stages(const pn_session_t *session, const char *stage) {
  pn_stage_t only = PN_STAGE_INPUT;
  if (stage && !pn_read_stage(stage, &only))
    return PN_EXIT_USAGE;
  if (stage && only == PN_STAGE_INPUT) {
    pn_report("error", "the input has no pipeline; stages are s1 to s5");
    return PN_EXIT_USAGE;
  }
  for (int s = PN_STAGE_S1; s <= (int)PN_STAGE_S5; ++s) {
    if (stage && s != (int)only)
      continue;
    if (!stage)
      printf("%s: ", pn_stage_name((pn_stage_t)s));
    pn_error_t *error = pn_pipeline_print(
        (pn_stage_t)s, session->target, &session->options, write_stdout, NULL);
    printf("\n");
    if (error)
      return pn_report_error(error);
  }
  return PN_EXIT_OK;
}

pn_exit_t pn_command_pipeline(int argc, char **argv) {
  pn_session_options_t options = PN_SESSION_OPTIONS_INIT;
  const char *stage = NULL;
  pn_option_row_t shared[PN_SESSION_ROW_COUNT];
  pn_session_rows(&options, shared);
  const pn_option_row_t rows[] = {
      {"--stage", PN_OPTION_TEXT, &stage, "sN",
       "only stage s1 to s5; all of them without it", 0, 0},
  };
  const pn_command_line_t line = {
      .usage = "polynestc pipeline [--stage sN] [options]",
      .summary = "Prints the passes of a stage, with their options for the "
                 "target, as text that\npolynest-opt --pass-pipeline takes.",
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more_rows = shared,
      .more_row_count = PN_SESSION_ROW_COUNT,
  };
  pn_text_list_t operands = {0};
  pn_parse_outcome_t parsed =
      pn_command_line_parse(&line, argc, argv, &operands);
  pn_exit_t code = parsed == PN_PARSE_HELP ? PN_EXIT_OK : PN_EXIT_USAGE;
  if (parsed == PN_PARSE_OK) {
    pn_session_t session;
    code = pn_session_open(&options, NULL, NULL, &session);
    if (code == PN_EXIT_OK)
      code = print_stages(&session, stage);
    pn_session_close(&session);
  }
  pn_text_list_clear(&operands);
  return code;
}
