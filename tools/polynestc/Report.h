/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynestc/Report.h: messages on stderr and the exit codes.
 *
 * A message is "<severity>: <text>", or "<severity>: <file>:<line>:<column>:
 * <text>" where the place is known.
 */
#ifndef POLYNESTC_REPORT_H
#define POLYNESTC_REPORT_H

#include "polynest/error.h"

typedef enum pn_exit {
  PN_EXIT_OK = 0,
  PN_EXIT_FAILURE = 1, /* the program failed, or results differ */
  PN_EXIT_USAGE = 2    /* the command line is wrong */
} pn_exit_t;

void pn_report(const char *severity, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints one diagnostic. */
void pn_report_diagnostic(const pn_diagnostic_t *diagnostic);

/* Prints an error with its diagnostics, destroys it, and returns the exit code
 * that it stands for. */
pn_exit_t pn_report_error(pn_error_t *error);

#endif /* POLYNESTC_REPORT_H */
