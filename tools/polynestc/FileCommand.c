/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/FileCommand.c: subcommands on one program. */

#include "FileCommand.h"

#include "Text.h"

#include <stdlib.h>

/* The rows of the inputs, if any, and the command's own behind them. */
static pn_option_row_t *join_rows(const pn_file_command_t *command,
                                  size_t *out_count) {
  size_t before = command->inputs ? PN_INPUT_ROW_COUNT : 0;
  *out_count = before + command->row_count;
  pn_option_row_t *rows = pn_alloc_array(*out_count, sizeof(*rows));
  if (command->inputs)
    pn_input_rows(command->inputs, rows);
  for (size_t i = 0; i < command->row_count; ++i)
    rows[before + i] = command->rows[i];
  return rows;
}

pn_exit_t pn_file_command_run(const pn_file_command_t *command, int argc,
                              char **argv) {
  pn_session_options_t options = PN_SESSION_OPTIONS_INIT;
  pn_option_row_t shared[PN_SESSION_ROW_COUNT];
  pn_session_rows(&options, shared);
  size_t count;
  pn_option_row_t *rows = join_rows(command, &count);
  const pn_command_line_t line = {
      .usage = command->usage,
      .summary = command->summary,
      .rows = rows,
      .row_count = count,
      .more_rows = shared,
      .more_row_count = PN_SESSION_ROW_COUNT,
      .min_operands = 1,
      .max_operands = 1,
  };
  pn_text_list_t files = {0};
  pn_parse_outcome_t parsed = pn_command_line_parse(&line, argc, argv, &files);
  pn_exit_t code = parsed == PN_PARSE_HELP ? PN_EXIT_OK : PN_EXIT_USAGE;
  if (parsed == PN_PARSE_OK &&
      (!command->inputs || pn_input_options_check(command->inputs)))
    code = command->run(&options, command->request, files.items[0]);
  pn_text_list_clear(&files);
  free(rows);
  if (command->inputs)
    pn_input_options_clear(command->inputs);
  return code;
}
