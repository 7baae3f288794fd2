/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/CacheCommand.c: the subcommand `cache`. */

#include "Commands.h"
#include "Options.h"
#include "polynest/cache.h"

#include <inttypes.h>
#include <stdio.h>

static pn_exit_t use_cache(bool clear) {
  pn_cache_t *cache = NULL;
  pn_cache_stats_t stats = {.struct_size = sizeof(stats)};
  pn_error_t *error = pn_cache_create(NULL, &cache);
  if (!error && clear)
    error = pn_cache_clear(cache);
  if (!error)
    error = pn_cache_stats_get(cache, &stats);
  if (!error && *pn_cache_directory(cache))
    printf("directory %s\nentries   %" PRIu64 "\nMiB       %.1f of %.0f\n",
           pn_cache_directory(cache), stats.entries,
           (double)stats.bytes / 1048576, (double)stats.limit_bytes / 1048576);
  else if (!error)
    printf("compiled code is not kept\n");
  pn_cache_release(cache);
  return error ? pn_report_error(error) : PN_EXIT_OK;
}

pn_exit_t pn_command_cache(int argc, char **argv) {
  bool clear = false;
  const pn_option_row_t rows[] = {
      {"--clear", PN_OPTION_FLAG, &clear, NULL, "remove all entries", 0, 0},
  };
  const pn_command_line_t line = {
      .usage = "polynestc cache [options]",
      .summary = "Prints where compiled code is kept for other processes, and "
                 "how much of it.\nPOLYNEST_CACHE_DIR, POLYNEST_CACHE_SIZE_MIB "
                 "and POLYNEST_CACHE=0 change that.",
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
  };
  pn_text_list_t operands = {0};
  pn_parse_outcome_t parsed =
      pn_command_line_parse(&line, argc, argv, &operands);
  pn_text_list_clear(&operands);
  return parsed == PN_PARSE_OK     ? use_cache(clear)
         : parsed == PN_PARSE_HELP ? PN_EXIT_OK
                                   : PN_EXIT_USAGE;
}
