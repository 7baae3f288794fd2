/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target/Parse.c: reads target files (format: docs/targets.md).
 *
 * Strings of the row being read lie in the table of known rows (from `base`)
 * or in a scratch block of the parser; the target copies them at the end.
 */

#include "Target/Row.h"

#include "Support/Error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)1 << 20)
#define MAX_DIAGNOSTICS 20
/* Fields, then one source a group. */
#define MAX_KEYS 64

typedef struct parser {
  const char *file;
  const char *text;
  size_t length;
  size_t at;
  size_t line_start;
  int32_t line;
  pn_diagnostic_list_t diagnostics;
  bool out_of_memory;
  char *scratch;
  size_t scratch_used;
  pn_target_row_t row;
  bool has_base;
  bool has_statement;
  int32_t seen_on_line[MAX_KEYS]; /* 0: not seen */
} parser_t;

/*===--- Characters -------------------------------------------------------===*/

static bool at_end(const parser_t *p) { return p->at >= p->length; }

/* NUL at the end, which no line of valid text contains. */
static char peek(const parser_t *p) {
  return at_end(p) ? '\0' : p->text[p->at];
}

static bool at_line_end(const parser_t *p) {
  return at_end(p) || p->text[p->at] == '\n' ||
         (p->text[p->at] == '\r' &&
          (p->at + 1 == p->length || p->text[p->at + 1] == '\n'));
}

static void skip_blanks(parser_t *p) {
  while (peek(p) == ' ' || peek(p) == '\t')
    ++p->at;
}

static void skip_line(parser_t *p) {
  while (!at_end(p) && p->text[p->at] != '\n')
    ++p->at;
  if (at_end(p))
    return;
  ++p->at;
  ++p->line;
  p->line_start = p->at;
}

static bool is_key_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Characters of an unquoted word. */
static bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || (c != '\0' && strchr("_-+.,:/", c));
}

/*===--- Diagnostics ------------------------------------------------------===*/

/* Always returns false, so that a step can end in `return complain(...)`. */
__attribute__((format(printf, 3, 4))) static bool
complain(parser_t *p, size_t where, const char *format, ...) {
  if (p->diagnostics.count >= MAX_DIAGNOSTICS)
    return false;
  char text[256];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  pn_diagnostic_t diagnostic = {.severity = PN_SEVERITY_ERROR,
                                .line = p->line,
                                .column = (int32_t)(where - p->line_start) + 1,
                                .file = p->file,
                                .text = text};
  if (!pn_diagnostic_list_add(&p->diagnostics, &diagnostic))
    p->out_of_memory = true;
  return false;
}

/*===--- Values -----------------------------------------------------------===*/

/* A piece of the text; column of its begin is known by `begin`. */
typedef struct span {
  size_t begin;
  size_t end;
} span_t;

static span_t take_word(parser_t *p) {
  span_t span = {p->at, p->at};
  while (is_word_char(peek(p)))
    ++p->at;
  span.end = p->at;
  return span;
}

/* How much of a wrong word a message repeats. */
static int shown(span_t span) {
  size_t length = span.end - span.begin;
  return length < 40 ? (int)length : 40;
}

static bool span_is(const parser_t *p, span_t span, const char *text) {
  size_t length = span.end - span.begin;
  return strlen(text) == length &&
         memcmp(p->text + span.begin, text, length) == 0;
}

/* A string is one word, or text in double quotes in which \" and \\ stand for
 * " and \. The result lies in the scratch block. */
static bool parse_string(parser_t *p, const char **out_text) {
  char *begin = p->scratch + p->scratch_used;
  char *out = begin;
  size_t where = p->at;
  if (peek(p) != '"') {
    span_t word = take_word(p);
    if (word.begin == word.end)
      return complain(p, where, "expected a word or a text in double quotes");
    memcpy(out, p->text + word.begin, word.end - word.begin);
    out += word.end - word.begin;
  } else {
    ++p->at;
    while (peek(p) != '"') {
      if (at_line_end(p))
        return complain(p, where, "text without closing quote");
      char c = p->text[p->at];
      if ((unsigned char)c < 0x20 || c == 0x7f)
        return complain(p, p->at, "control character 0x%02x in a text",
                        (unsigned)(unsigned char)c);
      if (c == '\\') {
        ++p->at;
        if (peek(p) != '"' && peek(p) != '\\')
          return complain(p, p->at - 1,
                          "only \\\" and \\\\ may follow a backslash");
        c = p->text[p->at];
      }
      *out++ = c;
      ++p->at;
    }
    ++p->at;
  }
  *out++ = '\0';
  p->scratch_used += (size_t)(out - begin);
  *out_text = begin;
  return true;
}

static bool parse_number(parser_t *p, const pn_target_field_t *field,
                         int64_t *out_value) {
  span_t word = take_word(p);
  if (word.begin == word.end)
    return complain(p, word.begin, "expected a number for '%s'", field->key);
  size_t at = word.begin;
  bool negative = p->text[at] == '-';
  if (negative)
    ++at;
  uint64_t value = 0;
  bool valid = at < word.end, huge = false;
  for (; at < word.end && valid; ++at) {
    char c = p->text[at];
    valid = c >= '0' && c <= '9';
    if (!valid)
      break;
    huge = huge || value > (uint64_t)INT64_MAX / 16;
    value = huge ? value : value * 10 + (uint64_t)(c - '0');
  }
  if (!valid)
    return complain(p, word.begin, "bad number '%.*s' for '%s'", shown(word),
                    p->text + word.begin, field->key);
  int64_t result = negative ? -(int64_t)value : (int64_t)value;
  if (huge || result < field->min || result > field->max)
    return complain(p, word.begin, "'%s' is %.*s, allowed are %lld to %lld",
                    field->key, shown(word), p->text + word.begin,
                    (long long)field->min, (long long)field->max);
  *out_value = result;
  return true;
}

static int find_feature(const parser_t *p, span_t word) {
  for (size_t i = 0; i < pn_target_feature_count(); ++i)
    if (span_is(p, word, pn_target_feature_name(i)))
      return (int)i;
  return -1;
}

/* Words between blanks, or the one word `none`. */
static bool parse_features(parser_t *p, uint64_t *out_features) {
  uint64_t features = 0;
  size_t count = 0;
  bool none = false;
  while (is_word_char(peek(p))) {
    span_t word = take_word(p);
    ++count;
    if (span_is(p, word, "none")) {
      none = true;
    } else {
      int bit = find_feature(p, word);
      if (bit < 0)
        return complain(p, word.begin, "unknown feature '%.*s'", shown(word),
                        p->text + word.begin);
      features |= UINT64_C(1) << (unsigned)bit;
    }
    skip_blanks(p);
  }
  if (count == 0 || (none && count > 1))
    return complain(p, p->at, "expected feature names, or 'none' alone");
  *out_features = features;
  return true;
}

/*===--- Statements -------------------------------------------------------===*/

/* Index in seen_on_line of a key, or -1: fields first, then sources. */
static int find_key(const parser_t *p, span_t key) {
  int fields = (int)pn_target_field_count();
  for (int i = 0; i < fields; ++i)
    if (span_is(p, key, pn_target_field((size_t)i)->key))
      return i;
  for (int i = 0; i < PN_TARGET_GROUP_COUNT; ++i) {
    char name[32];
    (void)snprintf(name, sizeof(name), "source_%s",
                   pn_target_group_name((pn_target_group_t)i));
    if (span_is(p, key, name))
      return fields + i;
  }
  return -1;
}

static bool parse_base(parser_t *p, span_t key) {
  if (p->has_statement)
    return complain(p, key.begin, "'base' must be the first statement");
  size_t where = p->at;
  const char *name;
  if (!parse_string(p, &name))
    return false;
  const char *bare = strncmp(name, "cpu:", 4) == 0 ? name + 4 : name;
  const pn_target_row_t *row = pn_target_find_row(bare);
  if (!row)
    return complain(p, where, "unknown base '%.40s'", name);
  p->row = *row;
  p->has_base = true;
  return true;
}

/* After the value only blanks and a comment may stand. */
static bool parse_line_end(parser_t *p) {
  skip_blanks(p);
  if (at_line_end(p) || peek(p) == '#')
    return true;
  return complain(p, p->at, "unexpected text after the value");
}

static bool parse_value(parser_t *p, int index) {
  int fields = (int)pn_target_field_count();
  if (index >= fields)
    return parse_string(p, &p->row.sources[index - fields]);
  const pn_target_field_t *field = pn_target_field((size_t)index);
  pn_target_info_t *info = &p->row.info;
  int64_t number;
  const char *text;
  switch (field->type) {
  case PN_TARGET_FIELD_I32:
  case PN_TARGET_FIELD_I64:
    if (!parse_number(p, field, &number))
      return false;
    pn_target_field_set(info, field, number);
    return true;
  case PN_TARGET_FIELD_STRING:
    if (!parse_string(p, &text))
      return false;
    pn_target_field_set_string(info, field, text);
    return true;
  case PN_TARGET_FIELD_FEATURES:
    return parse_features(p, &info->features);
  }
  return false;
}

static bool parse_statement(parser_t *p) {
  span_t key = {p->at, p->at};
  while (is_key_char(peek(p)))
    ++p->at;
  key.end = p->at;
  if (key.begin == key.end)
    return complain(p, key.begin, "expected 'key = value'");
  bool is_base = span_is(p, key, "base");
  int index = is_base ? -1 : find_key(p, key);
  if (!is_base && index < 0)
    return complain(p, key.begin, "unknown key '%.*s'", shown(key),
                    p->text + key.begin);
  if (!is_base && p->seen_on_line[index] != 0)
    return complain(p, key.begin, "duplicate key '%.*s', first on line %d",
                    shown(key), p->text + key.begin, p->seen_on_line[index]);
  skip_blanks(p);
  if (peek(p) != '=')
    return complain(p, p->at, "expected '=' after '%.*s'", shown(key),
                    p->text + key.begin);
  ++p->at;
  skip_blanks(p);
  bool parsed = is_base ? parse_base(p, key) : parse_value(p, index);
  p->has_statement = true;
  /* A bad value counts as given, so that it is not reported missing too. */
  if (!is_base)
    p->seen_on_line[index] = p->line;
  return parsed && parse_line_end(p);
}

static void check_missing(parser_t *p) {
  if (p->has_base)
    return;
  for (size_t i = 0; i < pn_target_field_count(); ++i)
    if (pn_target_field(i)->required && p->seen_on_line[i] == 0)
      (void)complain(p, p->at, "missing key '%s'", pn_target_field(i)->key);
}

static void parse_lines(parser_t *p) {
  while (!at_end(p)) {
    skip_blanks(p);
    if (!at_line_end(p) && peek(p) != '#')
      (void)parse_statement(p);
    if (p->diagnostics.count >= MAX_DIAGNOSTICS)
      return;
    skip_line(p);
  }
}

static pn_error_t *finish(parser_t *p, pn_target_t **out_target) {
  if (p->out_of_memory) {
    pn_diagnostic_list_clear(&p->diagnostics);
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  }
  if (p->diagnostics.count == 0)
    return pn_target_create_from_row(&p->row, p->file, out_target);
  char where[300];
  (void)snprintf(where, sizeof(where), "%.256s:%d:%d", p->file,
                 p->diagnostics.items[0].line, p->diagnostics.items[0].column);
  return pn_error_from_list(PN_ERROR_PARSE, where, &p->diagnostics);
}

pn_error_t *pn_target_create_from_text(const char *text, size_t length,
                                       const char *file_name,
                                       pn_target_t **out_target) {
  if (!out_target)
    return pn_error_create(PN_ERROR_ARGUMENT, "out_target must not be null");
  *out_target = NULL;
  if (!text && length)
    return pn_error_create(PN_ERROR_ARGUMENT, "text must not be null");
  const char *file = file_name ? file_name : "<text>";
  if (length > MAX_FILE_BYTES)
    return pn_error_create(PN_ERROR_PARSE,
                           "%s: more than %zu bytes of target text", file,
                           MAX_FILE_BYTES);
  parser_t parser = {.file = file, .text = text, .length = length, .line = 1};
  parser.row.info.struct_size = sizeof(pn_target_info_t);
  parser.row.info.kind = PN_TARGET_KIND_CPU;
  /* A string needs at most its length in the text and a NUL; its "=" pays for
   * the NUL. */
  parser.scratch = malloc(length + 1);
  if (!parser.scratch)
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  parse_lines(&parser);
  if (parser.diagnostics.count < MAX_DIAGNOSTICS)
    check_missing(&parser);
  pn_error_t *error = finish(&parser, out_target);
  free(parser.scratch);
  return error;
}

/* Reads a whole stream into a malloc'd block of at most MAX_FILE_BYTES + 1. */
static char *read_stream(FILE *stream, size_t *out_length) {
  char *block = malloc(MAX_FILE_BYTES + 1);
  *out_length = 0;
  if (!block)
    return NULL;
  *out_length = fread(block, 1, MAX_FILE_BYTES + 1, stream);
  return block;
}

pn_error_t *pn_target_create_from_file(const char *path,
                                       pn_target_t **out_target) {
  if (!out_target)
    return pn_error_create(PN_ERROR_ARGUMENT, "out_target must not be null");
  *out_target = NULL;
  if (!path)
    return pn_error_create(PN_ERROR_ARGUMENT, "path must not be null");
  FILE *stream = fopen(path, "rb");
  if (!stream)
    return pn_error_create(PN_ERROR_IO, "cannot open '%s': %s", path,
                           strerror(errno));
  errno = 0;
  size_t length;
  char *text = read_stream(stream, &length);
  bool failed = ferror(stream) != 0;
  int code = errno;
  (void)fclose(stream);
  pn_error_t *error;
  if (!text)
    error = pn_error_create(PN_ERROR_MEMORY, "out of memory");
  else if (failed)
    error = pn_error_create(PN_ERROR_IO, "cannot read '%s': %s", path,
                            strerror(code));
  else
    error = pn_target_create_from_text(text, length, path, out_target);
  free(text);
  return error;
}
