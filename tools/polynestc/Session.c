/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/Session.c: context, target, module and options of a subcommand. */

#include "Session.h"

#include "Bytecode.h"
#include "Report.h"
#include "Text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int64_t pn_now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static const char *const stage_names[] = {"input", "s1", "s2",
                                          "s3",    "s4", "s5"};

#define STAGE_COUNT (sizeof(stage_names) / sizeof(stage_names[0]))

const char *pn_stage_name(pn_stage_t stage) {
  return (size_t)stage < STAGE_COUNT ? stage_names[stage] : "unknown";
}

bool pn_read_stage(const char *text, pn_stage_t *out_stage) {
  for (size_t i = 0; i < STAGE_COUNT; ++i) {
    if (strcmp(text, stage_names[i]) == 0) {
      *out_stage = (pn_stage_t)i;
      return true;
    }
  }
  pn_report("error", "stage '%s' is unknown; stages are input and s1 to s5",
            text);
  return false;
}

void pn_session_rows(pn_session_options_t *options,
                     pn_option_row_t rows[PN_SESSION_ROW_COUNT]) {
  const pn_option_row_t all[PN_SESSION_ROW_COUNT] = {
      {"--target", PN_OPTION_TEXT, &options->target, "NAME|FILE",
       "chip to compile for: host (the default), a name that\n"
       "'polynestc targets' lists, or a target file",
       0, 0},
      {"--opt-level", PN_OPTION_INTEGER, &options->opt_level, "0|1",
       "0: S3 changes nothing; 1: everything (the default)", 0, 1},
      {"--numerics", PN_OPTION_TEXT, &options->numerics, "MODE",
       "default or strict; see docs/architecture.md", 0, 0},
      {"--disable-pass", PN_OPTION_TEXT, &options->disabled, "NAMES",
       "optimizations to leave out, separated by commas; the names stand in\n"
       "'polynestc pipeline', and may come without 'polynest-'",
       0, 0},
      {"--dump-dir", PN_OPTION_TEXT, &options->dump_dir, "DIR",
       "write the module after each stage to DIR/NAME.sN.mlir", 0, 0},
      {"--no-verify", PN_OPTION_FLAG, &options->no_verify, NULL,
       "do not check the form of each stage", 0, 0},
      {"--timing", PN_OPTION_FLAG, &options->timing, NULL,
       "print the time of each step of the compilation", 0, 0},
  };
  memcpy(rows, all, sizeof(all));
}

/* Remembers the part of the path that names dumps. */
static void set_name(pn_session_t *session, const char *path) {
  const char *slash = strrchr(path, '/');
  session->name = slash ? slash + 1 : path;
  session->name_size = strcspn(session->name, ".");
  if (strcmp(path, "-") == 0 || !session->name_size) {
    session->name = "input";
    session->name_size = 5;
  }
}

static void dump_stage(void *user, pn_stage_t stage,
                       const pn_module_t *module) {
  pn_session_t *session = user;
  pn_text_t path = {0};
  pn_text_printf(&path, "%s/%.*s.%s.mlir", session->dump_dir,
                 (int)session->name_size, session->name, pn_stage_name(stage));
  pn_error_t *error = pn_module_write_file(module, pn_text_get(&path), false);
  if (session->dump_error)
    pn_error_destroy(error);
  else
    session->dump_error = error;
  pn_text_clear(&path);
}

static bool read_options(const pn_session_options_t *options,
                         pn_session_t *session) {
  pn_compile_options_t *compile = &session->options;
  compile->opt_level = options->opt_level ? PN_OPT_DEFAULT : PN_OPT_PLAIN;
  compile->verify_stages = !options->no_verify;
  compile->disabled_passes = options->disabled;
  if (options->disabled &&
      strspn(options->disabled, ",;") == strlen(options->disabled)) {
    pn_report("error", "option --disable-pass has value '%s', which names none",
              options->disabled);
    return false;
  }
  session->want_timing = options->timing;
  session->dump_dir = options->dump_dir;
  if (strcmp(options->numerics, "strict") == 0)
    compile->numerics = PN_NUMERICS_STRICT;
  else if (strcmp(options->numerics, "default") != 0) {
    pn_report("error",
              "option --numerics has value '%s'; it must be default "
              "or strict",
              options->numerics);
    return false;
  }
  if (!session->dump_dir)
    return true;
  if (mkdir(session->dump_dir, 0777) != 0 &&
      access(session->dump_dir, W_OK | X_OK) != 0) {
    pn_report("error", "cannot write to the folder '%s'", session->dump_dir);
    return false;
  }
  compile->stage_fn = dump_stage;
  compile->user = session;
  return true;
}

/* A name of the table, or else a file. */
static pn_error_t *make_target(const char *name, pn_target_t **out_target) {
  pn_error_t *error = pn_target_create_by_name(name, out_target);
  if (pn_error_code(error) != PN_ERROR_NOT_FOUND || access(name, F_OK) != 0)
    return error;
  pn_error_destroy(error);
  return pn_target_create_from_file(name, out_target);
}

pn_exit_t pn_session_read_module(pn_context_t *context, const char *path,
                                 pn_module_t **out_module) {
  *out_module = NULL;
  if (strcmp(path, "-") == 0)
    path = "/dev/stdin";
  else if (pn_is_raw_bytecode(path))
    return pn_raw_bytecode_read(context, path, out_module);
  pn_error_t *error =
      pn_module_read_file(context, path, PN_MODULE_DEFAULT, out_module);
  return error ? pn_report_error(error) : PN_EXIT_OK;
}

static void print_diagnostic(void *user, const pn_diagnostic_t *diagnostic) {
  (void)user;
  pn_report_diagnostic(diagnostic);
}

pn_exit_t pn_session_open(const pn_session_options_t *options,
                          const pn_context_options_t *context_options,
                          const char *path, pn_session_t *out_session) {
  *out_session = (pn_session_t){
      .options = PN_COMPILE_OPTIONS_INIT,
      .timing = {.struct_size = sizeof(pn_compile_timing_t)},
  };
  if (path)
    set_name(out_session, path);
  if (!read_options(options, out_session))
    return PN_EXIT_USAGE;
  pn_context_options_t defaults = PN_CONTEXT_OPTIONS_INIT;
  defaults.diagnostic_fn = print_diagnostic;
  pn_error_t *error = make_target(options->target, &out_session->target);
  if (!error)
    error = pn_context_create(context_options ? context_options : &defaults,
                              &out_session->context);
  if (error)
    return pn_report_error(error);
  if (!path)
    return PN_EXIT_OK;
  int64_t start = pn_now_ns();
  pn_exit_t code =
      pn_session_read_module(out_session->context, path, &out_session->module);
  out_session->timing.stage_ns[0] = pn_now_ns() - start;
  return code;
}

pn_exit_t pn_session_feed_back(pn_session_t *session, pn_stage_t stage) {
  pn_error_t *error = pn_compile_to_stage(
      session->module, stage, session->target, &session->options, NULL);
  if (error)
    return pn_report_error(error);
  pn_text_t text = {0}, name = {0};
  pn_module_print(session->module, pn_text_write, &text);
  pn_module_destroy(session->module);
  session->module = NULL;
  pn_text_printf(&name, "<%.*s at %s>", (int)session->name_size, session->name,
                 pn_stage_name(stage));
  error =
      pn_module_parse(session->context, pn_text_get(&text), text.size,
                      pn_text_get(&name), PN_MODULE_DEFAULT, &session->module);
  pn_text_clear(&text);
  pn_text_clear(&name);
  return error ? pn_report_error(error) : PN_EXIT_OK;
}

pn_exit_t pn_session_compile(pn_session_t *session,
                             pn_executable_t **out_executable) {
  int64_t parse_ns = session->timing.stage_ns[0];
  pn_error_t *error = pn_compile_to_executable(
      session->module, session->target, &session->options, &session->timing,
      out_executable);
  session->timing.stage_ns[0] = parse_ns;
  return error ? pn_report_error(error) : pn_session_finish(session);
}

pn_exit_t pn_session_finish(pn_session_t *session) {
  if (session->want_timing) {
    const pn_compile_timing_t *timing = &session->timing;
    const struct {
      const char *name;
      int64_t ns;
    } rows[] = {
        {"parse", timing->stage_ns[0]},      {"s1", timing->stage_ns[1]},
        {"s2", timing->stage_ns[2]},         {"s3", timing->stage_ns[3]},
        {"s4", timing->stage_ns[4]},         {"s5", timing->stage_ns[5]},
        {"translate", timing->translate_ns}, {"optimize", timing->optimize_ns},
        {"codegen", timing->codegen_ns},     {"link", timing->link_ns},
        {"cache", timing->cache_ns},
    };
    fflush(stdout);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i)
      fprintf(stderr, "%-10s %10.3f ms\n", rows[i].name,
              (double)rows[i].ns * 1e-6);
    fprintf(stderr, "%-10s %10.3f ms\n", "total",
            (double)(timing->total_ns + timing->stage_ns[0]) * 1e-6);
  }
  pn_error_t *error = session->dump_error;
  session->dump_error = NULL;
  return error ? pn_report_error(error) : PN_EXIT_OK;
}

void pn_session_close(pn_session_t *session) {
  pn_module_destroy(session->module);
  pn_target_release(session->target);
  pn_context_release(session->context);
  pn_error_destroy(session->dump_error);
  *session = (pn_session_t){0};
}
