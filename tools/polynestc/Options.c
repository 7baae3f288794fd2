/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/Options.c: command lines as tables of rows. */

#include "Options.h"

#include "Report.h"
#include "Support/Names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pn_read_integer(const char *text, int64_t *out_value) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  *out_value = value;
  return errno == 0 && end != text && *end == '\0';
}

void pn_text_list_clear(pn_text_list_t *list) {
  free((void *)list->items);
  *list = (pn_text_list_t){0};
}

static bool list_add(pn_text_list_t *list, const char *text) {
  const char **items =
      reallocarray((void *)list->items, list->count + 1, sizeof(*list->items));
  if (!items) {
    pn_report("error", "out of memory");
    return false;
  }
  list->items = items;
  list->items[list->count++] = text;
  return true;
}

/* ------------------------------------------------------------------------ */
/* Parsing                                                                  */
/* ------------------------------------------------------------------------ */

static const pn_option_row_t *row_at(const pn_command_line_t *line, size_t i) {
  return i < line->row_count ? &line->rows[i]
                             : &line->more_rows[i - line->row_count];
}

static size_t row_count(const pn_command_line_t *line) {
  return line->row_count + line->more_row_count;
}

static const pn_option_row_t *find_row(const pn_command_line_t *line,
                                       const char *name, size_t size) {
  for (size_t i = 0; i < row_count(line); ++i) {
    const pn_option_row_t *row = row_at(line, i);
    if (strlen(row->name) == size && memcmp(row->name, name, size) == 0)
      return row;
  }
  return NULL;
}

static void report_unknown(const pn_command_line_t *line, const char *name,
                           size_t size) {
  char text[PN_NAME_MAX + 1];
  size = size < PN_NAME_MAX ? size : PN_NAME_MAX;
  memcpy(text, name, size);
  text[size] = '\0';
  const char *names[64] = {"--help"};
  size_t count = 1;
  for (size_t i = 0; i < row_count(line) && count < 64; ++i)
    names[count++] = row_at(line, i)->name;
  const char *nearest = pn_nearest_name(text, names, count);
  if (nearest)
    pn_report("error", "unknown option '%s'; did you mean '%s'?", text,
              nearest);
  else
    pn_report("error", "unknown option '%s'; --help lists the options", text);
}

static bool set_value(const pn_option_row_t *row, const char *text) {
  switch (row->kind) {
  case PN_OPTION_FLAG:
    *(bool *)row->value = true;
    return true;
  case PN_OPTION_TEXT:
    *(const char **)row->value = text;
    return true;
  case PN_OPTION_LIST:
    return list_add(row->value, text);
  case PN_OPTION_INTEGER:
    if (pn_read_integer(text, row->value) &&
        *(int64_t *)row->value >= row->low &&
        *(int64_t *)row->value <= row->high)
      return true;
    pn_report("error",
              "option %s has value '%s'; it must be an integer from %" PRId64
              " to %" PRId64,
              row->name, text, row->low, row->high);
    return false;
  case PN_OPTION_REAL: {
    char *end;
    *(double *)row->value = strtod(text, &end);
    if (end != text && *end == '\0' && *(double *)row->value >= 0)
      return true;
    pn_report("error",
              "option %s has value '%s'; it must be a number, 0 or more",
              row->name, text);
    return false;
  }
  }
  return false;
}

static void print_help(const pn_command_line_t *line) {
  printf("usage: %s\n\n%s\n\noptions:\n", line->usage, line->summary);
  for (size_t i = 0; i < row_count(line); ++i) {
    const pn_option_row_t *row = row_at(line, i);
    char left[PN_NAME_MAX];
    (void)snprintf(left, sizeof(left), "%s%s%s", row->name,
                   row->placeholder ? " " : "",
                   row->placeholder ? row->placeholder : "");
    /* A help text may have several lines; all stand in the second column. */
    const char *text = row->help;
    const char *column = left;
    while (*text) {
      size_t size = strcspn(text, "\n");
      printf("  %-24s%s%.*s\n", column, strlen(column) >= 24 ? " " : "",
             (int)size, text);
      column = "";
      text += size + (text[size] ? 1 : 0);
    }
  }
  printf("  %-24s%s\n", "--help", "print this text");
}

/* Reads the option at argv[*at]; moves *at to its last word. */
static pn_parse_outcome_t read_option(const pn_command_line_t *line, int argc,
                                      char **argv, int *at) {
  const char *word = argv[*at];
  const char *equals = strchr(word, '=');
  size_t size = equals ? (size_t)(equals - word) : strlen(word);
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
    print_help(line);
    return PN_PARSE_HELP;
  }
  const pn_option_row_t *row = find_row(line, word, size);
  if (!row) {
    report_unknown(line, word, size);
    return PN_PARSE_WRONG;
  }
  if (row->kind == PN_OPTION_FLAG) {
    if (equals) {
      pn_report("error", "option %s takes no value", row->name);
      return PN_PARSE_WRONG;
    }
    return set_value(row, NULL) ? PN_PARSE_OK : PN_PARSE_WRONG;
  }
  const char *text = equals ? equals + 1 : NULL;
  if (!text) {
    if (*at + 1 >= argc) {
      pn_report("error", "option %s needs a value: %s %s", row->name, row->name,
                row->placeholder);
      return PN_PARSE_WRONG;
    }
    text = argv[++*at];
  }
  return set_value(row, text) ? PN_PARSE_OK : PN_PARSE_WRONG;
}

pn_parse_outcome_t pn_command_line_parse(const pn_command_line_t *line,
                                         int argc, char **argv,
                                         pn_text_list_t *out_operands) {
  bool only_operands = false;
  for (int i = 0; i < argc; ++i) {
    if (!only_operands && strcmp(argv[i], "--") == 0) {
      only_operands = true;
      continue;
    }
    if (!only_operands && argv[i][0] == '-' && argv[i][1] != '\0') {
      pn_parse_outcome_t outcome = read_option(line, argc, argv, &i);
      if (outcome != PN_PARSE_OK)
        return outcome;
    } else if (!list_add(out_operands, argv[i])) {
      return PN_PARSE_WRONG;
    }
  }
  if (out_operands->count >= line->min_operands &&
      out_operands->count <= line->max_operands)
    return PN_PARSE_OK;
  if (out_operands->count < line->min_operands)
    pn_report("error", "an operand is missing; usage: %s", line->usage);
  else
    pn_report("error", "operand '%s' is one too many; usage: %s",
              out_operands->items[line->max_operands], line->usage);
  return PN_PARSE_WRONG;
}
