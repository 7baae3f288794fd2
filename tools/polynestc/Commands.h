/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynestc/Commands.h: the subcommands. Each takes the words after its name
 * and returns the exit code.
 */
#ifndef POLYNESTC_COMMANDS_H
#define POLYNESTC_COMMANDS_H

#include "Report.h"

pn_exit_t pn_command_bench(int argc, char **argv);
pn_exit_t pn_command_bisect(int argc, char **argv);
pn_exit_t pn_command_cache(int argc, char **argv);
pn_exit_t pn_command_compile(int argc, char **argv);
pn_exit_t pn_command_explain(int argc, char **argv);
pn_exit_t pn_command_pipeline(int argc, char **argv);
pn_exit_t pn_command_run(int argc, char **argv);
pn_exit_t pn_command_targets(int argc, char **argv);

#endif /* POLYNESTC_COMMANDS_H */
