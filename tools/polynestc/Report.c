/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/Report.c: messages on stderr and the exit codes. */

#include "Report.h"

#include <stdarg.h>
#include <stdio.h>

void pn_report(const char *severity, const char *format, ...) {
  va_list args;
  fflush(stdout);
  fprintf(stderr, "%s: ", severity);
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
}

static const char *severity_name(pn_severity_t severity) {
  switch (severity) {
  case PN_SEVERITY_ERROR:
    return "error";
  case PN_SEVERITY_WARNING:
    return "warning";
  case PN_SEVERITY_REMARK:
    return "remark";
  case PN_SEVERITY_NOTE:
    return "note";
  }
  return "error";
}

void pn_report_diagnostic(const pn_diagnostic_t *diagnostic) {
  const char *severity = severity_name(diagnostic->severity);
  if (diagnostic->line > 0)
    pn_report(severity, "%s:%d:%d: %s", diagnostic->file, (int)diagnostic->line,
              (int)diagnostic->column, diagnostic->text);
  else
    pn_report(severity, "%s", diagnostic->text);
}

pn_exit_t pn_report_error(pn_error_t *error) {
  /* Where an error diagnostic has a place, it says more than the message, which
   * repeats it without. */
  bool placed = false;
  size_t count = pn_error_diagnostic_count(error);
  pn_diagnostic_t diagnostic;
  for (size_t i = 0; i < count; ++i)
    if (pn_error_diagnostic_at(error, i, &diagnostic))
      placed |= diagnostic.severity == PN_SEVERITY_ERROR && diagnostic.line > 0;
  if (!placed)
    pn_report("error", "%s", pn_error_message(error));
  for (size_t i = 0; i < count; ++i)
    if (pn_error_diagnostic_at(error, i, &diagnostic) &&
        (diagnostic.line > 0 || diagnostic.severity != PN_SEVERITY_ERROR))
      pn_report_diagnostic(&diagnostic);
  pn_exit_t code = pn_error_code(error) == PN_ERROR_ARGUMENT ? PN_EXIT_USAGE
                                                             : PN_EXIT_FAILURE;
  pn_error_destroy(error);
  return code;
}
