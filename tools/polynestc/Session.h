/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynestc/Session.h: what most subcommands begin with: context, target,
 * module and compile options, from shared command line options.
 *
 * Ownership: a session owns its handles; pn_session_close releases them and
 * accepts a session that was never opened but zeroed.
 */
#ifndef POLYNESTC_SESSION_H
#define POLYNESTC_SESSION_H

#include "Options.h"
#include "Report.h"
#include "polynest/polynest.h"

/* Values of the shared options. */
typedef struct pn_session_options {
  const char *target;
  const char *numerics;
  const char *disabled;
  const char *dump_dir;
  int64_t opt_level;
  bool no_verify;
  bool timing;
} pn_session_options_t;

#define PN_SESSION_OPTIONS_INIT                                                \
  { .target = "host", .numerics = "default", .opt_level = 1 }

#define PN_SESSION_ROW_COUNT 7

typedef struct pn_session {
  pn_context_t *context;
  pn_target_t *target;
  pn_module_t *module;
  pn_compile_options_t options;
  const char *dump_dir;
  const char *name; /* the input's file name without folders and ending */
  size_t name_size;
  pn_error_t *dump_error; /* the first dump that failed */
  pn_compile_timing_t timing;
  bool want_timing;
} pn_session_t;

/* The rows of the shared options. */
void pn_session_rows(pn_session_options_t *options,
                     pn_option_row_t rows[PN_SESSION_ROW_COUNT]);

/* Makes context and target and reads `path` ("-" for the standard input);
 * `path` NULL reads nothing. `context_options` may be NULL. What goes wrong is
 * reported; the session must be closed in any case. */
pn_exit_t pn_session_open(const pn_session_options_t *options,
                          const pn_context_options_t *context_options,
                          const char *path, pn_session_t *out_session);

/* Parses `path`, which may hold text, one of our files or raw bytecode. What
 * goes wrong is reported. */
pn_exit_t pn_session_read_module(pn_context_t *context, const char *path,
                                 pn_module_t **out_module);

/* Brings the module to `stage`, prints it, and reads it back. */
pn_exit_t pn_session_feed_back(pn_session_t *session, pn_stage_t stage);

/* Compiles the module to an executable, and finishes. */
pn_exit_t pn_session_compile(pn_session_t *session,
                             pn_executable_t **out_executable);

/* After a compilation: prints the timing where it was asked for, and reports a
 * dump that failed. */
pn_exit_t pn_session_finish(pn_session_t *session);

/* Reads "input" or "s1" to "s5", or reports and returns false. */
bool pn_read_stage(const char *text, pn_stage_t *out_stage);

/* "input", "s1", ... */
const char *pn_stage_name(pn_stage_t stage);

void pn_session_close(pn_session_t *session);

/* Monotonic time in nanoseconds. */
int64_t pn_now_ns(void);

#endif /* POLYNESTC_SESSION_H */
