/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/CompileCommand.c: the subcommand `compile`. */

#include "Commands.h"
#include "FileCommand.h"
#include "Support/Paths.h"

#include <stdio.h>
#include <string.h>

/* What to write, and where. */
typedef struct pn_compile_request {
  const char *stage;
  const char *output;
  const char *header;
  bool assembly;
  bool object;
  bool shared;
  bool bytecode;
} pn_compile_request_t;

static void write_stdout(void *user, const char *data, size_t size) {
  (void)user;
  (void)fwrite(data, 1, size, stdout);
}

/* Checks that the options fit together. */
static bool check_request(const pn_compile_request_t *request) {
  int count = (request->stage != NULL) + request->assembly + request->object +
              request->shared;
  if (count != 1)
    pn_report("error",
              "one of --stage, --assembly, --object and --shared is needed%s",
              count ? ", not several" : "");
  else if (!request->stage && !request->output)
    pn_report("error", "-o is missing: code is not written to the standard "
                       "output");
  else if (request->header && !request->shared)
    pn_report("error", "--header belongs to --shared");
  else if (request->bytecode && (!request->stage || !request->output))
    pn_report("error", "--bytecode belongs to --stage with -o");
  else
    return true;
  return false;
}

static pn_exit_t write_stage(pn_session_t *session,
                             const pn_compile_request_t *request,
                             pn_stage_t stage) {
  pn_stage_t at;
  pn_error_t *error = pn_module_stage(session->module, &at);
  if (!error && at > stage) {
    pn_report("error", "the module is at stage %s already, past %s",
              pn_stage_name(at), pn_stage_name(stage));
    return PN_EXIT_FAILURE;
  }
  int64_t parse_ns = session->timing.stage_ns[0];
  if (!error)
    error = pn_compile_to_stage(session->module, stage, session->target,
                                &session->options, &session->timing);
  session->timing.stage_ns[0] = parse_ns;
  if (!error && request->output)
    error = pn_module_write_file(session->module, request->output,
                                 request->bytecode);
  else if (!error)
    pn_module_print(session->module, write_stdout, NULL);
  return error ? pn_report_error(error) : pn_session_finish(session);
}

/* The stages are run here, so that their times are known; the rest is code
 * generation. */
static pn_exit_t write_code(pn_session_t *session,
                            const pn_compile_request_t *request) {
  int64_t parse_ns = session->timing.stage_ns[0];
  pn_error_t *error =
      pn_compile_to_stage(session->module, PN_STAGE_S5, session->target,
                          &session->options, &session->timing);
  session->timing.stage_ns[0] = parse_ns;
  int64_t start = pn_now_ns();
  if (!error && request->shared)
    error = pn_compile_to_library(session->module, session->target,
                                  &session->options, request->output,
                                  request->header);
  else if (!error && request->assembly)
    error = pn_compile_to_assembly(session->module, session->target,
                                   &session->options, request->output);
  else if (!error)
    error = pn_compile_to_object(session->module, session->target,
                                 &session->options, request->output);
  session->timing.codegen_ns = pn_now_ns() - start;
  session->timing.total_ns += session->timing.codegen_ns;
  return error ? pn_report_error(error) : pn_session_finish(session);
}

/* Checks that nothing is written over the program or another output. */
static bool check_paths(const pn_compile_request_t *request, const char *path) {
  const char *outputs[] = {request->output, request->header};
  const char *const names[] = {"-o", "--header"};
  for (size_t i = 0; i < 2; ++i)
    if (outputs[i] && strcmp(path, "-") != 0 &&
        pn_path_is_same(path, outputs[i])) {
      pn_report("error", "%s would write over the program '%s'", names[i],
                path);
      return false;
    }
  if (!outputs[0] || !outputs[1] || !pn_path_is_same(outputs[0], outputs[1]))
    return true;
  pn_report("error", "-o and --header both name '%s'", outputs[0]);
  return false;
}

static pn_exit_t compile(const pn_session_options_t *options, void *user,
                         const char *path) {
  const pn_compile_request_t *request = user;
  pn_stage_t stage = PN_STAGE_S5;
  if (!check_request(request) || !check_paths(request, path) ||
      (request->stage && !pn_read_stage(request->stage, &stage)))
    return PN_EXIT_USAGE;
  pn_session_t session;
  pn_exit_t code = pn_session_open(options, NULL, path, &session);
  if (code == PN_EXIT_OK)
    code = request->stage ? write_stage(&session, request, stage)
                          : write_code(&session, request);
  pn_session_close(&session);
  return code;
}

pn_exit_t pn_command_compile(int argc, char **argv) {
  pn_compile_request_t request = {0};
  const pn_option_row_t rows[] = {
      {"--stage", PN_OPTION_TEXT, &request.stage, "sN",
       "write the module at stage s1 to s5", 0, 0},
      {"--assembly", PN_OPTION_FLAG, &request.assembly, NULL,
       "write assembler text", 0, 0},
      {"--object", PN_OPTION_FLAG, &request.object, NULL,
       "write an object file", 0, 0},
      {"--shared", PN_OPTION_FLAG, &request.shared, NULL,
       "write a shared library that needs libc and libm alone", 0, 0},
      {"-o", PN_OPTION_TEXT, &request.output, "FILE",
       "where to write; a stage goes to the standard output\nwithout it", 0, 0},
      {"--header", PN_OPTION_TEXT, &request.header, "FILE",
       "with --shared: write a C header with the prototypes", 0, 0},
      {"--bytecode", PN_OPTION_FLAG, &request.bytecode, NULL,
       "with --stage: write our file format in place of text", 0, 0},
  };
  const pn_file_command_t command = {
      .usage = "polynestc compile FILE (--stage sN | --assembly | --object | "
               "--shared) "
               "[-o OUT] [options]",
      .summary = "Compiles a program, which may be at any stage, to a later "
                 "one or to code.\nFILE is MLIR text, bytecode, or '-' for "
                 "the standard input.",
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .run = compile,
      .request = &request,
  };
  return pn_file_command_run(&command, argc, argv);
}
