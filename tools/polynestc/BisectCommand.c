/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/BisectCommand.c: the subcommand `bisect`. */

#include "Check.h"
#include "Commands.h"
#include "FileCommand.h"
#include "Text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PASSES 64

/* The optimizations of the pipelines, and what a trial needs. */
typedef struct pn_bisect {
  const pn_session_options_t *options;
  const pn_input_options_t *inputs;
  const char *path;
  char *passes[MAX_PASSES];
  size_t count;
  double reduction_length;
} pn_bisect_t;

typedef struct pn_bisect_request {
  pn_input_options_t inputs;
  int64_t reduction_length;
} pn_bisect_request_t;

typedef enum pn_trial {
  PN_TRIAL_AGREES = 0,
  PN_TRIAL_DIFFERS = 1,
  PN_TRIAL_FAILS = 2, /* an error, or a crash */
  /* The plain program did not run on these inputs: no pass is to blame. */
  PN_TRIAL_NEVER = 3,
  PN_TRIAL_USAGE = 4, /* the same, for what was asked */
} pn_trial_t;

/* ------------------------------------------------------------------------ */
/* The optimizations                                                        */
/* ------------------------------------------------------------------------ */

static void ignore_text(void *user, const char *data, size_t size) {
  (void)user;
  (void)data;
  (void)size;
}

/* A pass is an optimization where the pipeline may leave it out. */
static bool is_optimization(const pn_session_t *session, const char *flag) {
  pn_compile_options_t options = PN_COMPILE_OPTIONS_INIT;
  options.disabled_passes = flag;
  pn_error_t *error = pn_pipeline_print(PN_STAGE_S3, session->target, &options,
                                        ignore_text, NULL);
  bool accepted = !error;
  pn_error_destroy(error);
  return accepted;
}

static bool is_listed(const pn_bisect_t *bisect, const char *flag) {
  for (size_t i = 0; i < bisect->count; ++i)
    if (strcmp(bisect->passes[i], flag) == 0)
      return true;
  return false;
}

/* Adds every optimization named in the text of a pipeline, in its order. */
static void collect_from(const pn_session_t *session, const char *text,
                         pn_bisect_t *bisect) {
  static const char prefix[] = "polynest-";
  while ((text = strstr(text, prefix)) != NULL) {
    size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");
    pn_text_t flag = {0};
    pn_text_append(&flag, text, size);
    text += size;
    if (bisect->count < MAX_PASSES && !is_listed(bisect, flag.data) &&
        is_optimization(session, flag.data))
      bisect->passes[bisect->count++] = flag.data;
    else
      pn_text_clear(&flag);
  }
}

static pn_exit_t collect_passes(pn_bisect_t *bisect) {
  pn_session_t session;
  pn_exit_t code = pn_session_open(bisect->options, NULL, NULL, &session);
  for (int s = PN_STAGE_S1; code == PN_EXIT_OK && s <= (int)PN_STAGE_S5; ++s) {
    pn_text_t text = {0};
    pn_error_t *error = pn_pipeline_print(
        (pn_stage_t)s, session.target, &session.options, pn_text_write, &text);
    if (error)
      code = pn_report_error(error);
    else
      collect_from(&session, pn_text_get(&text), bisect);
    pn_text_clear(&text);
  }
  pn_session_close(&session);
  return code;
}

/* ------------------------------------------------------------------------ */
/* Trials                                                                   */
/* ------------------------------------------------------------------------ */

/* The child of a trial: compiles, runs and compares. */
static pn_trial_t try_in_child(const pn_bisect_t *bisect, const char *disabled,
                               bool quiet) {
  pn_session_t session;
  pn_check_t check = {.inputs = bisect->inputs,
                      .reduction_length = bisect->reduction_length,
                      .quiet = quiet};
  pn_exit_t code =
      pn_session_open(bisect->options, NULL, bisect->path, &session);
  if (code == PN_EXIT_OK)
    code = pn_check_open(&session, &check);
  if (code != PN_EXIT_OK) {
    fflush(NULL);
    return code == PN_EXIT_USAGE ? PN_TRIAL_USAGE : PN_TRIAL_NEVER;
  }
  session.options.disabled_passes = disabled;
  code = pn_check_options(&session, &session.options, &check);
  pn_trial_t trial = code == PN_EXIT_OK ? PN_TRIAL_AGREES
                     : check.differs    ? PN_TRIAL_DIFFERS
                                        : PN_TRIAL_FAILS;
  fflush(NULL);
  return trial;
}

/* Each trial is a process of its own, since wrong code may crash. */
static pn_trial_t try_without(const pn_bisect_t *bisect, const char *disabled,
                              bool quiet) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0)
    _exit((int)try_in_child(bisect, disabled, quiet));
  int status = 0;
  while (pid > 0 && waitpid(pid, &status, 0) < 0)
    if (errno != EINTR)
      return PN_TRIAL_FAILS;
  if (pid < 0 || !WIFEXITED(status) ||
      WEXITSTATUS(status) > (int)PN_TRIAL_USAGE)
    return PN_TRIAL_FAILS;
  return (pn_trial_t)WEXITSTATUS(status);
}

/* Disables every optimization from number `first` on. */
static pn_trial_t try_first(const pn_bisect_t *bisect, size_t first) {
  pn_text_t disabled = {0};
  for (size_t i = first; i < bisect->count; ++i)
    pn_text_printf(&disabled, "%s%s", i > first ? "," : "", bisect->passes[i]);
  pn_trial_t trial = try_without(bisect, disabled.data, true);
  pn_text_clear(&disabled);
  return trial;
}

static const char *outcome_name(pn_trial_t trial) {
  return trial == PN_TRIAL_AGREES    ? "agrees"
         : trial == PN_TRIAL_DIFFERS ? "differs"
                                     : "fails";
}

/* The first optimization with which the result is wrong, in the order of the
 * pipeline and without those behind it. */
static size_t find_first(const pn_bisect_t *bisect) {
  size_t good = 0, bad = bisect->count;
  while (bad - good > 1) {
    size_t middle = good + (bad - good) / 2;
    pn_trial_t trial = try_first(bisect, middle);
    printf("the first %zu of %zu: %s\n", middle, bisect->count,
           outcome_name(trial));
    if (trial == PN_TRIAL_AGREES)
      good = middle;
    else
      bad = middle;
  }
  return bad - 1;
}

static pn_exit_t bisect_passes(const pn_bisect_t *bisect) {
  pn_trial_t all = try_without(bisect, NULL, false);
  if (all == PN_TRIAL_USAGE)
    return PN_EXIT_USAGE;
  if (all == PN_TRIAL_NEVER) {
    printf("nothing to compare: the plain program does not run\n");
    return PN_EXIT_FAILURE;
  }
  printf("all %zu optimizations: %s\n", bisect->count, outcome_name(all));
  if (all == PN_TRIAL_AGREES) {
    printf("nothing to find: the results agree\n");
    return PN_EXIT_OK;
  }
  pn_trial_t none = try_first(bisect, 0);
  printf("none of them: %s\n", outcome_name(none));
  if (none != PN_TRIAL_AGREES) {
    printf("no optimization is to blame: the result is wrong without them\n");
    return PN_EXIT_FAILURE;
  }
  size_t guilty = find_first(bisect);
  printf("the result breaks with %s\n", bisect->passes[guilty]);
  for (size_t i = 0; i < bisect->count; ++i)
    if (try_without(bisect, bisect->passes[i], true) == PN_TRIAL_AGREES)
      printf("leaving out %s alone mends it\n", bisect->passes[i]);
  return PN_EXIT_FAILURE;
}

static pn_exit_t bisect_file(const pn_session_options_t *options, void *user,
                             const char *path) {
  const pn_bisect_request_t *request = user;
  pn_bisect_t bisect = {.options = options,
                        .inputs = &request->inputs,
                        .path = path,
                        .reduction_length = (double)request->reduction_length};
  pn_exit_t code = collect_passes(&bisect);
  if (code == PN_EXIT_OK)
    code = bisect_passes(&bisect);
  for (size_t i = 0; i < bisect.count; ++i) {
    pn_text_t text = {.data = bisect.passes[i]};
    pn_text_clear(&text);
  }
  return code;
}

pn_exit_t pn_command_bisect(int argc, char **argv) {
  pn_bisect_request_t request = {.inputs = PN_INPUT_OPTIONS_INIT};
  const pn_option_row_t rows[] = {
      {"--reduction", PN_OPTION_INTEGER, &request.reduction_length, "N",
       "length of the reductions, as in run --check", 1, INT64_C(1) << 50},
  };
  const pn_file_command_t command = {
      .usage = "polynestc bisect FILE [options]",
      .summary = "Finds the optimization that makes a program's result differ "
                 "from that of the\nplainly lowered one. Exit code 0: they "
                 "agree; 1: they differ.",
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .inputs = &request.inputs,
      .run = bisect_file,
      .request = &request,
  };
  return pn_file_command_run(&command, argc, argv);
}
