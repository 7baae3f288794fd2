/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynestc/FileCommand.h: subcommands on one program.
 *
 * They share the options of a session and, where they call the program, those
 * of its inputs. Ownership: the request is the caller's; lists of the input
 * options are freed on return. Threads: one.
 */
#ifndef POLYNESTC_FILECOMMAND_H
#define POLYNESTC_FILECOMMAND_H

#include "Call.h"
#include "Report.h"
#include "Session.h"

typedef struct pn_file_command {
  const char *usage;   /* "polynestc run FILE [options]" */
  const char *summary; /* what it does, in a few lines */
  const pn_option_row_t *rows;
  size_t row_count;
  pn_input_options_t *inputs; /* NULL: the program is not called */
  pn_exit_t (*run)(const pn_session_options_t *options, void *request,
                   const char *path);
  void *request; /* handed to `run`; `rows` say where in it values go */
} pn_file_command_t;

/* Reads argv, which starts after the subcommand, and runs the command. */
pn_exit_t pn_file_command_run(const pn_file_command_t *command, int argc,
                              char **argv);

#endif /* POLYNESTC_FILECOMMAND_H */
