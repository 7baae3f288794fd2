/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/Main.c: the driver of the compiler. */

#include "Commands.h"
#include "Options.h"
#include "Support/Names.h"
#include "polynest/polynest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  pn_exit_t (*run)(int argc, char **argv);
  const char *help;
} commands[] = {
    {"compile", pn_command_compile,
     "to a later stage, an object file or a shared library"},
    {"run", pn_command_run, "compile, run once, print, save or check results"},
    {"bench", pn_command_bench, "time a program against the machine's limits"},
    {"explain", pn_command_explain,
     "what each pass did and did not do, and why"},
    {"bisect", pn_command_bisect, "find the optimization that breaks a result"},
    {"cache", pn_command_cache, "where compiled code is kept, and how much"},
    {"targets", pn_command_targets, "list or print target descriptions"},
    {"pipeline", pn_command_pipeline, "print the passes of a stage"},
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void print_usage(void) {
  printf("usage: polynestc COMMAND ...\n\n"
         "Compiles tensor programs in MLIR to machine code.\n\ncommands:\n");
  for (size_t i = 0; i < COMMAND_COUNT; ++i)
    printf("  %-10s%s\n", commands[i].name, commands[i].help);
  printf("\n'polynestc COMMAND --help' describes a command; 'polynestc "
         "--version' prints\nversions. Exit codes: 0 success, 1 failure or "
         "difference, 2 wrong usage.\n");
}

static pn_exit_t report_unknown(const char *name) {
  const char *names[COMMAND_COUNT];
  for (size_t i = 0; i < COMMAND_COUNT; ++i)
    names[i] = commands[i].name;
  const char *nearest = pn_nearest_name(name, names, COMMAND_COUNT);
  if (nearest)
    pn_report("error", "unknown command '%s'; did you mean '%s'?", name,
              nearest);
  else
    pn_report("error", "unknown command '%s'; see polynestc --help", name);
  return PN_EXIT_USAGE;
}

static pn_exit_t dispatch(int argc, char **argv) {
  if (argc < 2) {
    pn_report("error", "a command is missing; see polynestc --help");
    return PN_EXIT_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    print_usage();
    return PN_EXIT_OK;
  }
  if (strcmp(argv[1], "--version") == 0) {
    printf("polynest %s, LLVM %s\n", pn_version_string(),
           pn_llvm_version_string());
    return PN_EXIT_OK;
  }
  for (size_t i = 0; i < COMMAND_COUNT; ++i)
    if (strcmp(argv[1], commands[i].name) == 0)
      return commands[i].run(argc - 2, argv + 2);
  return report_unknown(argv[1]);
}

int main(int argc, char **argv) {
  pn_exit_t code = dispatch(argc, argv);
  /* Output that could not be written is a failure. */
  if (fflush(stdout) != 0 || ferror(stdout)) {
    pn_report("error", "cannot write to the standard output: %s",
              strerror(errno));
    code = code == PN_EXIT_OK ? PN_EXIT_FAILURE : code;
  }
  return (int)code;
}
