/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynestc/Options.h: command lines as tables of rows.
 *
 * A row names an option and says where its value goes. `--name value` and
 * `--name=value` are the same; a lone `--` ends the options.
 * Ownership: values point into argv; lists own their array alone.
 * Threads: one.
 */
#ifndef POLYNESTC_OPTIONS_H
#define POLYNESTC_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pn_option_kind {
  PN_OPTION_FLAG = 1,    /* bool, set to true */
  PN_OPTION_TEXT = 2,    /* const char *, the last one counts */
  PN_OPTION_LIST = 3,    /* pn_text_list_t, every one counts */
  PN_OPTION_INTEGER = 4, /* int64_t within [low, high] */
  PN_OPTION_REAL = 5     /* double, not negative */
} pn_option_kind_t;

typedef struct pn_text_list {
  const char **items;
  size_t count;
} pn_text_list_t;

typedef struct pn_option_row {
  const char *name; /* with its dashes */
  pn_option_kind_t kind;
  void *value;
  const char *placeholder; /* NULL for flags */
  const char *help;
  int64_t low, high; /* of integers */
} pn_option_row_t;

/* One subcommand's command line. */
typedef struct pn_command_line {
  const char *usage;   /* "polynestc run FILE [options]" */
  const char *summary; /* what it does, in a few lines */
  const pn_option_row_t *rows;
  size_t row_count;
  const pn_option_row_t *more_rows; /* rows shared between subcommands */
  size_t more_row_count;
  size_t min_operands, max_operands;
} pn_command_line_t;

typedef enum pn_parse_outcome {
  PN_PARSE_OK = 0,
  PN_PARSE_HELP = 1, /* help was asked for and printed */
  PN_PARSE_WRONG = 2 /* a message was printed */
} pn_parse_outcome_t;

/* Reads argv, which starts after the subcommand. */
pn_parse_outcome_t pn_command_line_parse(const pn_command_line_t *line,
                                         int argc, char **argv,
                                         pn_text_list_t *out_operands);

void pn_text_list_clear(pn_text_list_t *list);

/* Reads a whole decimal integer. */
bool pn_read_integer(const char *text, int64_t *out_value);

#endif /* POLYNESTC_OPTIONS_H */
