/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/ExplainCommand.c: the subcommand `explain`. */

#include "Commands.h"
#include "Decisions.h"
#include "FileCommand.h"
#include "Page.h"
#include "Text.h"
#include "polynest/measure.h"

#include "Support/Names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What to show. */
typedef struct pn_explain_request {
  pn_input_options_t inputs;
  const char *pass;
  bool applied, declined;
  bool html, no_time;
  const char *output;
  int64_t threads;
  double seconds;
} pn_explain_request_t;

/* "reason (key value, key value)". */
static void print_arguments(const pn_decision_t *decision) {
  const char *reason = pn_decision_get(decision, "reason");
  printf("%s", reason);
  bool open = false;
  for (size_t i = 0; i < decision->count; ++i) {
    if (strcmp(decision->keys[i], "reason") == 0)
      continue;
    printf("%s%s %s",
           open      ? ", "
           : *reason ? " ("
                     : "(",
           decision->keys[i], decision->values[i]);
    open = true;
  }
  printf(open ? ")\n" : "\n");
}

/* ------------------------------------------------------------------------ */
/* Printing                                                                 */
/* ------------------------------------------------------------------------ */

static bool is_wanted_kind(const pn_explain_request_t *request,
                           const pn_decision_t *decision) {
  if (!request->applied && !request->declined)
    return true;
  return (request->applied && decision->kind == PN_REMARK_APPLIED) ||
         (request->declined && decision->kind == PN_REMARK_DECLINED);
}

static bool is_wanted(const pn_explain_request_t *request,
                      const pn_decision_t *decision) {
  if (request->pass)
    return strcmp(request->pass, decision->pass) == 0 &&
           is_wanted_kind(request, decision);
  /* Descriptions are no decisions: they are shown where they are asked for. */
  return strcmp(decision->pass, "describe-nests") != 0 &&
         is_wanted_kind(request, decision);
}

/* Orders by place, and by time within a place. Numbers in a place count as
 * numbers, so that line 9 comes before line 10. */
static int compare_places(const void *a, const void *b) {
  const pn_decision_t *left = *(const pn_decision_t *const *)a;
  const pn_decision_t *right = *(const pn_decision_t *const *)b;
  int order = strverscmp(left->place, right->place);
  return order ? order : (left > right) - (left < right);
}

static void print_decision(const pn_decision_t *decision) {
  printf("  %-20s %-9s ", decision->pass, pn_decision_kind_name(decision));
  print_arguments(decision);
}

static void print_by_place(const pn_explain_request_t *request,
                           const pn_decisions_t *decisions) {
  const pn_decision_t **order =
      pn_alloc_array(decisions->count, sizeof(*order));
  size_t count = 0;
  for (size_t i = 0; i < decisions->count; ++i)
    if (is_wanted(request, &decisions->items[i]))
      order[count++] = &decisions->items[i];
  qsort((void *)order, count, sizeof(*order), compare_places);
  for (size_t i = 0; i < count; ++i) {
    if (i == 0 || strcmp(order[i - 1]->place, order[i]->place) != 0)
      printf("%s%s\n", i ? "\n" : "", order[i]->place);
    print_decision(order[i]);
  }
  if (!count)
    printf("no decision was reported\n");
  free((void *)order);
}

/* One line a pass: how often it did what. */
static void print_totals(pn_decisions_t *decisions) {
  printf("\n%-22s %8s %8s\n", "pass", "applied", "declined");
  for (size_t i = 0; i < decisions->count; ++i) {
    if (decisions->items[i].printed ||
        decisions->items[i].kind == PN_REMARK_ANALYSIS)
      continue;
    size_t applied = 0, declined = 0;
    for (size_t j = i; j < decisions->count; ++j) {
      if (strcmp(decisions->items[j].pass, decisions->items[i].pass) != 0)
        continue;
      applied += decisions->items[j].kind == PN_REMARK_APPLIED;
      declined += decisions->items[j].kind == PN_REMARK_DECLINED;
      decisions->items[j].printed = true;
    }
    printf("%-22s %8zu %8zu\n", decisions->items[i].pass, applied, declined);
  }
}

/* Adds the names of the passes in the text of a pipeline; returns how many
 * there are then. */
static size_t list_passes(const char *text, char names[][PN_NAME_MAX + 1],
                          size_t count, size_t room) {
  static const char prefix[] = "polynest-";
  while (count < room && (text = strstr(text, prefix)) != NULL) {
    text += sizeof(prefix) - 1;
    size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (size <= PN_NAME_MAX) {
      memcpy(names[count], text, size);
      names[count++][size] = '\0';
    }
    text += size;
  }
  return count;
}

/* The packs and moves that are left, as one table. */
static void print_moves(const pn_decisions_t *decisions) {
  pn_text_t text = {0};
  pn_page_print_moves(decisions, &text);
  if (text.size)
    printf("\n%s", pn_text_get(&text));
  pn_text_clear(&text);
}

#define PASSES_MAX 128

/* Whether the pass is one of the pipelines', or reported something. */
static bool is_known_pass(const pn_session_t *session,
                          const pn_decisions_t *decisions, const char *pass) {
  static char names[PASSES_MAX][PN_NAME_MAX + 1];
  const char *list[PASSES_MAX];
  size_t count = 0;
  for (int s = PN_STAGE_S1; s <= (int)PN_STAGE_S5; ++s) {
    pn_text_t text = {0};
    pn_compile_options_t options = PN_COMPILE_OPTIONS_INIT;
    pn_error_destroy(pn_pipeline_print((pn_stage_t)s, session->target, &options,
                                       pn_text_write, &text));
    count = list_passes(pn_text_get(&text), names, count, PASSES_MAX);
    pn_text_clear(&text);
  }
  for (size_t i = 0; i < decisions->count; ++i)
    if (strcmp(decisions->items[i].pass, pass) == 0)
      return true;
  for (size_t i = 0; i < count; ++i) {
    list[i] = names[i];
    if (strcmp(names[i], pass) == 0)
      return true;
  }
  const char *nearest = pn_nearest_name(pass, list, count);
  if (nearest)
    pn_report("error", "option --pass: no pass '%s'; did you mean '%s'?", pass,
              nearest);
  else
    pn_report("error",
              "option --pass: no pass '%s'; 'polynestc pipeline' names them",
              pass);
  return false;
}

/* ------------------------------------------------------------------------ */
/* The page                                                                 */
/* ------------------------------------------------------------------------ */

/* Calls the entry until the time is over, at least five times, and notes the
 * times of the fastest call. */
static pn_error_t *time_calls(pn_executable_t *executable,
                              const pn_entry_t *entry, const pn_call_t *call,
                              double seconds, pn_page_function_t *function,
                              size_t *out_calls) {
  size_t constants, count = function->nest_count;
  pn_memref_t *inputs = pn_call_views_by_use(entry, call, &constants);
  pn_memref_t *results = pn_array_views(call->results, call->result_count);
  int64_t *times = pn_alloc_array(count, sizeof(*times));
  pn_state_t *state;
  pn_error_t *error = pn_state_create(entry, inputs, constants, &state);
  int64_t start = pn_now_ns();
  *out_calls = 0;
  while (!error &&
         (*out_calls < 5 || (double)(pn_now_ns() - start) < seconds * 1e9)) {
    int64_t before = pn_now_ns();
    error = pn_state_invoke(state, inputs + constants,
                            call->input_count - constants, results,
                            call->result_count);
    double ns = (double)(pn_now_ns() - before);
    /* The first call touches memory and wakes threads. */
    if ((*out_calls)++ == 0 || (function->ns > 0 && ns >= function->ns))
      continue;
    function->ns = ns;
    (void)pn_executable_nest_times(executable, times, count);
    for (size_t i = 0; i < count; ++i)
      if (function->nests[i].number < count)
        function->nests[i].ns = (double)times[function->nests[i].number];
  }
  pn_state_destroy(state);
  free(times);
  free(inputs);
  free(results);
  return error;
}

/* The peaks of the machine that the nests are set beside. */
static void measure_peaks(pn_page_t *page, const pn_target_info_t *target) {
  int32_t threads = page->threads;
  if (pn_measure_fma(PN_DTYPE_F32, threads, 0.2, &page->peak_gflops) !=
      PN_ERROR_NONE)
    page->peak_gflops = 0;
  if (pn_measure_stream(PN_STREAM_TRIAD, false, (size_t)128 << 20, threads, 0.3,
                        &page->memory_gbytes) != PN_ERROR_NONE)
    page->memory_gbytes = 0;
  /* Three arrays of a quarter of the second cache each, on every thread. */
  double cache = (double)target->caches[1].size_kib * 1024;
  if (cache > 0 &&
      pn_measure_stream(PN_STREAM_TRIAD, false,
                        (size_t)(cache / 4) * (size_t)threads, threads, 0.1,
                        &page->cache_gbytes) == PN_ERROR_NONE)
    page->cache_bytes = cache * threads;
}

static bool time_entry(pn_executable_t *executable, const pn_entry_t *entry,
                       const pn_explain_request_t *request, pn_page_t *page) {
  pn_page_function_t *function = pn_page_find(page, pn_entry_name(entry));
  if (!function || !function->nest_count)
    return true;
  pn_call_t call = {0};
  bool ok = pn_call_make_inputs(entry, &request->inputs, &call) &&
            pn_call_make_results(entry, 0xff, &call);
  if (ok) {
    size_t calls;
    pn_error_t *error = time_calls(executable, entry, &call, request->seconds,
                                   function, &calls);
    page->calls += calls;
    ok = !error || pn_report_error(error) == PN_EXIT_OK;
  }
  pn_call_destroy(&call);
  return ok;
}

/* Times the entry that is named, or all. */
static pn_exit_t time_entries(pn_executable_t *executable,
                              const pn_explain_request_t *request,
                              const pn_target_info_t *target, pn_page_t *page) {
  const pn_entry_t *only = NULL;
  page->threads = pn_thread_count_get();
  if (request->inputs.entry) {
    pn_error_t *error =
        pn_executable_find_entry(executable, request->inputs.entry, &only);
    if (error)
      return pn_report_error(error);
  }
  for (size_t i = 0; i < pn_executable_entry_count(executable); ++i) {
    const pn_entry_t *entry = pn_executable_entry_at(executable, i);
    if (only && entry != only)
      continue;
    if (!time_entry(executable, entry, request, page)) {
      pn_report("note",
                "entry '%s' could not be run; --no-time leaves times "
                "out, --entry names another",
                pn_entry_name(entry));
      return PN_EXIT_FAILURE;
    }
  }
  measure_peaks(page, target);
  return PN_EXIT_OK;
}

static pn_exit_t write_page(const pn_page_t *page, const char *path) {
  pn_text_t html = {0};
  pn_page_print(page, &html);
  FILE *file = path ? fopen(path, "wb") : stdout;
  bool ok = file && fwrite(pn_text_get(&html), 1, html.size, file) == html.size;
  if (file && path)
    ok = (fclose(file) == 0) && ok;
  else if (file)
    ok = (fflush(file) == 0) && ok;
  pn_text_clear(&html);
  if (ok)
    return PN_EXIT_OK;
  pn_report("error", "cannot write '%s': %s", path ? path : "<stdout>",
            strerror(errno));
  return PN_EXIT_FAILURE;
}

static pn_exit_t make_page(const pn_session_t *session,
                           const pn_decisions_t *decisions,
                           const pn_explain_request_t *request,
                           pn_executable_t *executable) {
  pn_target_info_t target = {.struct_size = sizeof(target)};
  pn_error_t *error = pn_target_get_info(session->target, &target);
  if (error)
    return pn_report_error(error);
  pn_page_t page;
  pn_page_open(decisions, &page);
  page.title = session->name;
  page.target = target.name;
  pn_exit_t code = executable
                       ? time_entries(executable, request, &target, &page)
                       : PN_EXIT_OK;
  if (code == PN_EXIT_OK)
    code = write_page(&page, request->output);
  pn_page_close(&page);
  return code;
}

/* ------------------------------------------------------------------------ */
/* The command                                                              */
/* ------------------------------------------------------------------------ */

static bool check_request(const pn_explain_request_t *request) {
  if (request->html) {
    if (!request->pass && !request->applied && !request->declined)
      return true;
    pn_report("error", "the page has all decisions: --html takes no --pass, "
                       "--applied or --declined");
    return false;
  }
  if (!request->output && !request->no_time && !request->threads &&
      !request->inputs.entry && !request->inputs.files.count &&
      !request->inputs.sizes.count)
    return true;
  pn_report("error", "options -o, --no-time, --threads and those of inputs "
                     "need --html");
  return false;
}

static pn_exit_t compile(pn_session_t *session,
                         const pn_explain_request_t *request,
                         pn_executable_t **out_executable) {
  if (request->html && !request->no_time) {
    session->options.time_nests = true;
    return pn_session_compile(session, out_executable);
  }
  pn_error_t *error =
      pn_compile_to_stage(session->module, PN_STAGE_S5, session->target,
                          &session->options, &session->timing);
  return error ? pn_report_error(error) : pn_session_finish(session);
}

static pn_exit_t explain(const pn_session_options_t *options, void *user,
                         const char *path) {
  const pn_explain_request_t *request = user;
  if (!check_request(request) ||
      (request->threads &&
       pn_thread_count_set((int32_t)request->threads) != PN_ERROR_NONE))
    return PN_EXIT_USAGE;
  pn_decisions_t decisions = {0};
  pn_context_options_t context = PN_CONTEXT_OPTIONS_INIT;
  context.remark_fn = pn_decisions_add;
  context.user = &decisions;
  pn_session_t session;
  pn_executable_t *executable = NULL;
  pn_exit_t code = pn_session_open(options, &context, path, &session);
  if (code == PN_EXIT_OK)
    code = compile(&session, request, &executable);
  if (request->html) {
    if (code == PN_EXIT_OK)
      code = make_page(&session, &decisions, request, executable);
  } else {
    if (code == PN_EXIT_OK && request->pass &&
        !is_known_pass(&session, &decisions, request->pass))
      code = PN_EXIT_USAGE;
    /* What was decided up to a failure helps to understand it. */
    if (code == PN_EXIT_OK || (code != PN_EXIT_USAGE && decisions.count))
      print_by_place(request, &decisions);
    if (code != PN_EXIT_USAGE && decisions.count)
      print_totals(&decisions);
    if (code == PN_EXIT_OK && !request->pass)
      print_moves(&decisions);
  }
  pn_executable_release(executable);
  pn_session_close(&session);
  pn_decisions_clear(&decisions);
  return code;
}

pn_exit_t pn_command_explain(int argc, char **argv) {
  pn_explain_request_t request = {.inputs = PN_INPUT_OPTIONS_INIT,
                                  .seconds = 0.5};
  const pn_option_row_t rows[] = {
      {"--pass", PN_OPTION_TEXT, &request.pass, "NAME",
       "only this pass, as in the output", 0, 0},
      {"--applied", PN_OPTION_FLAG, &request.applied, NULL,
       "only what was done", 0, 0},
      {"--declined", PN_OPTION_FLAG, &request.declined, NULL,
       "only what was not done", 0, 0},
      {"--html", PN_OPTION_FLAG, &request.html, NULL,
       "write one page instead: the nests and what they hand each other, what\n"
       "was fused, work and bytes, times against the machine's peaks, memory",
       0, 0},
      {"-o", PN_OPTION_TEXT, &request.output, "FILE",
       "where the page goes; the standard output without", 0, 0},
      {"--no-time", PN_OPTION_FLAG, &request.no_time, NULL,
       "do not run the program for the page, nor measure the machine", 0, 0},
      {"--threads", PN_OPTION_INTEGER, &request.threads, "N",
       "threads of parallel loops for the page", 1, PN_THREAD_COUNT_MAX},
      {"--seconds", PN_OPTION_REAL, &request.seconds, "S",
       "time to call each entry for (0.5)", 0, 0},
  };
  const pn_file_command_t command = {
      .usage = "polynestc explain FILE [options]",
      .summary = "Prints the decisions of the optimizer: for each place in the "
                 "program what each\npass did or declined to do, the reason, "
                 "and the numbers behind it. With --html,\ndraws them and runs "
                 "the program.",
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .inputs = &request.inputs,
      .run = explain,
      .request = &request,
  };
  return pn_file_command_run(&command, argc, argv);
}
