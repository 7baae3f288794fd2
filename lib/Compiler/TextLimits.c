/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/TextLimits.c: what MLIR's parser and printer cannot survive. */

#include "Compiler/TextLimits.h"

#include "Support/Error.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Brackets within brackets. */
#define MAX_DEPTH 256
/* Operators of one affine expression. */
#define MAX_OPERATORS 1024
/* Brackets within brackets with all aliases unfolded: locations of inlined
 * calls are chains of aliases. */
#define MAX_UNFOLDED_DEPTH 1024
/* Bytes of the text with all aliases unfolded. */
#define MAX_UNFOLDED_BYTES (UINT64_C(1) << 30)

/* One alias that is defined so far. */
typedef struct pn_alias {
  const char *name; /* with its sigil, within the text; NULL: a free slot */
  size_t name_size;
  int32_t depth;
  uint64_t bytes;
} pn_alias_t;

typedef struct pn_level {
  char bracket;
  int32_t operators; /* since the last comma */
} pn_level_t;

typedef struct pn_scan {
  const char *file, *data;
  size_t size, at;
  size_t line_start;
  int32_t line;
  pn_level_t levels[MAX_DEPTH];
  int32_t depth;
  pn_alias_t *aliases; /* open addressing; capacity is a power of two */
  size_t capacity, count;
  size_t definition; /* index + 1 of the alias being defined, or 0 */
  uint64_t unfolded;
  bool has_positions;  /* an operation that looks up fields of a struct */
  bool has_wide_array; /* an array with integers of more than 32 bits */
  char last;           /* that is no blank and not in a comment */
  const char *problem; /* set where a limit is exceeded */
} pn_scan_t;

static pn_error_t *report(const pn_scan_t *scan) {
  pn_error_t *error = pn_error_create(PN_ERROR_PARSE, "%s", scan->problem);
  pn_diagnostic_t diagnostic = {.severity = PN_SEVERITY_ERROR,
                                .line = scan->line,
                                .column =
                                    (int32_t)(scan->at - scan->line_start) + 1,
                                .file = scan->file,
                                .text = scan->problem};
  pn_error_add_diagnostic(error, &diagnostic);
  return error;
}

/* ------------------------------------------------------------------------ */
/* Aliases                                                                  */
/* ------------------------------------------------------------------------ */

static size_t slot_of(const pn_scan_t *scan, const char *name, size_t size) {
  uint64_t hash = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ (unsigned char)name[i]) * UINT64_C(1099511628211);
  size_t slot = (size_t)hash & (scan->capacity - 1);
  while (scan->aliases[slot].name &&
         (scan->aliases[slot].name_size != size ||
          memcmp(scan->aliases[slot].name, name, size) != 0))
    slot = (slot + 1) & (scan->capacity - 1);
  return slot;
}

/* Doubles the table; false where memory is short. */
static bool grow(pn_scan_t *scan) {
  size_t capacity = scan->capacity ? scan->capacity + scan->capacity : 64;
  pn_scan_t larger = *scan;
  larger.capacity = capacity;
  larger.aliases = calloc(capacity, sizeof(*larger.aliases));
  if (!larger.aliases)
    return false;
  for (size_t i = 0; i < scan->capacity; ++i) {
    const pn_alias_t *alias = &scan->aliases[i];
    if (alias->name)
      larger.aliases[slot_of(&larger, alias->name, alias->name_size)] = *alias;
  }
  free(scan->aliases);
  scan->aliases = larger.aliases;
  scan->capacity = capacity;
  return true;
}

/* Starts the definition of an alias; false where memory is short. */
static bool define(pn_scan_t *scan, const char *name, size_t size) {
  if (scan->count + scan->count >= scan->capacity && !grow(scan))
    return false;
  size_t slot = slot_of(scan, name, size);
  if (!scan->aliases[slot].name)
    ++scan->count;
  scan->aliases[slot] =
      (pn_alias_t){.name = name, .name_size = size, .bytes = 1};
  scan->definition = slot + 1;
  return true;
}

/* Notes that the text stands `depth` brackets deep, in the alias it defines. */
static void note_depth(pn_scan_t *scan, int32_t depth) {
  if (depth > MAX_UNFOLDED_DEPTH)
    scan->problem = "aliases are nested too deeply";
  if (!scan->definition)
    return;
  pn_alias_t *alias = &scan->aliases[scan->definition - 1];
  alias->depth = alias->depth > depth ? alias->depth : depth;
}

static void note_bytes(pn_scan_t *scan, uint64_t bytes) {
  scan->unfolded += bytes;
  if (scan->definition)
    scan->aliases[scan->definition - 1].bytes += bytes;
  if (scan->unfolded > MAX_UNFOLDED_BYTES)
    scan->problem = "aliases unfold to more than 1 GiB";
}

static void use_alias(pn_scan_t *scan, const char *name, size_t size) {
  if (!scan->capacity)
    return;
  size_t slot = slot_of(scan, name, size);
  const pn_alias_t *alias = &scan->aliases[slot];
  if (!alias->name || slot + 1 == scan->definition)
    return;
  uint64_t bytes = alias->bytes;
  note_depth(scan, scan->depth + alias->depth + 1);
  note_bytes(scan, bytes);
}

/* ------------------------------------------------------------------------ */
/* The scan                                                                 */
/* ------------------------------------------------------------------------ */

static char peek(const pn_scan_t *scan, size_t ahead) {
  return scan->at + ahead < scan->size ? scan->data[scan->at + ahead] : '\0';
}

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.';
}

static size_t word_size(const pn_scan_t *scan, size_t start) {
  size_t end = start;
  while (end < scan->size && is_word(scan->data[end]))
    ++end;
  return end - start;
}

/* Index behind the string that begins here, or of the end of its line. */
static size_t skip_string(const pn_scan_t *scan) {
  size_t i = scan->at + 1;
  for (; i < scan->size && scan->data[i] != '"' && scan->data[i] != '\n'; ++i)
    if (scan->data[i] == '\\' && i + 1 < scan->size &&
        scan->data[i + 1] != '\n')
      ++i;
  return i < scan->size && scan->data[i] == '"' ? i + 1 : i;
}

/* Affine expressions stand in parentheses or square brackets. */
static void count_operator(pn_scan_t *scan) {
  if (!scan->depth)
    return;
  pn_level_t *level = &scan->levels[scan->depth - 1];
  if ((level->bracket == '(' || level->bracket == '[') &&
      ++level->operators > MAX_OPERATORS)
    scan->problem = "an affine expression has too many operators";
}

static void open_bracket(pn_scan_t *scan, char c) {
  if (scan->depth == MAX_DEPTH) {
    scan->problem = "nested too deeply";
    return;
  }
  scan->levels[scan->depth++] = (pn_level_t){.bracket = c};
  note_depth(scan, scan->depth);
}

/* Closes what was opened within the bracket too; one that fits none is the
 * parser's to report. */
static void close_bracket(pn_scan_t *scan, char opening) {
  for (int32_t i = scan->depth; i > 0; --i) {
    if (scan->levels[i - 1].bracket == opening) {
      scan->depth = i - 1;
      return;
    }
  }
}

/* A character that is no part of a word, string or comment. */
static void scan_sign(pn_scan_t *scan) {
  static const char opening[] = "([{<", closing[] = ")]}>";
  char c = peek(scan, 0), next = peek(scan, 1);
  char before = scan->at ? scan->data[scan->at - 1] : '\0';
  const char *found;
  /* Arrows and comparisons are no brackets. */
  bool is_arrow = c == '>' && before == '-';
  bool is_comparison = (c == '<' || c == '>') && next == '=';
  if (c == '+' || c == '*' || (c == '-' && next != '>'))
    count_operator(scan);
  else if (c == ',' && scan->depth)
    scan->levels[scan->depth - 1].operators = 0;
  else if (!c || is_arrow || is_comparison)
    return;
  else if ((found = strchr(opening, c)) != NULL)
    open_bracket(scan, c);
  else if ((found = strchr(closing, c)) != NULL)
    close_bracket(scan, opening[found - closing]);
}

/* "#name" or "!name": a definition where it starts a line outside of brackets
 * and "=" follows, else a use. Returns false where memory is short. */
static bool scan_alias(pn_scan_t *scan) {
  const char *name = scan->data + scan->at;
  size_t size = word_size(scan, scan->at + 1) + 1;
  size_t after = scan->at + size;
  while (after < scan->size && strchr(" \t\r", scan->data[after]) &&
         scan->data[after])
    ++after;
  bool is_definition = !scan->depth && size > 1 && after < scan->size &&
                       scan->data[after] == '=';
  scan->at += size;
  if (is_definition)
    return define(scan, name, size);
  use_alias(scan, name, size);
  return true;
}

/* Index of what follows blanks and comments. */
static size_t skip_blanks(const pn_scan_t *scan, size_t at) {
  while (at < scan->size) {
    if (scan->data[at] == '/' && at + 1 < scan->size &&
        scan->data[at + 1] == '/') {
      while (at < scan->size && scan->data[at] != '\n')
        ++at;
    } else if (isspace((unsigned char)scan->data[at])) {
      ++at;
    } else {
      break;
    }
  }
  return at;
}

/* Index behind an integer of at most 18 digits, or of what is none. */
static size_t skip_integer(const pn_scan_t *scan, size_t at) {
  size_t start = at + (at < scan->size && scan->data[at] == '-'), end = start;
  while (end < scan->size && isdigit((unsigned char)scan->data[end]))
    ++end;
  bool is_integer = end > start && end - start <= 18 &&
                    (end == scan->size || !is_word(scan->data[end]));
  return is_integer ? end : at;
}

static char char_at(const pn_scan_t *scan, size_t at) {
  return at < scan->size ? scan->data[at] : '\0';
}

/* True if a list of integers in brackets stands here. */
static bool is_integer_list(const pn_scan_t *scan, size_t at) {
  if (char_at(scan, at) != '[')
    return false;
  at = skip_blanks(scan, at + 1);
  if (char_at(scan, at) == ']')
    return true;
  while (at < scan->size) {
    size_t end = skip_integer(scan, at);
    if (end == at)
      return false;
    at = skip_blanks(scan, end);
    if (char_at(scan, at) == ']')
      return true;
    if (char_at(scan, at) != ',')
      return false;
    at = skip_blanks(scan, at + 1);
  }
  return false;
}

/* linalg.reduce, broadcast and transpose read the lists of these names, outside
 * of attribute dictionaries, without looking whether that went well. */
static void check_list(pn_scan_t *scan, const char *word, size_t size) {
  static const char *const names[] = {"dimensions", "permutation"};
  bool is_name = false;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
    is_name |= strlen(names[i]) == size && memcmp(names[i], word, size) == 0;
  if (!is_name || (scan->last && strchr("{,<%@^#!", scan->last)))
    return;
  size_t at = skip_blanks(scan, scan->at + size);
  if (char_at(scan, at) != '=')
    return;
  if (!is_integer_list(scan, skip_blanks(scan, at + 1)))
    scan->problem = "expected a list of integers in brackets";
}

static bool word_is(const char *word, size_t size, const char *name) {
  return strlen(name) == size && memcmp(name, word, size) == 0;
}

/* True if the list from `at` to the closing bracket has an integer that does
 * not fit 32 bits with its sign. */
static bool has_wide_integer(const pn_scan_t *scan, size_t at, char closing) {
  while (at < scan->size && scan->data[at] != closing) {
    size_t size = word_size(scan, at);
    const char *word = scan->data + at;
    bool is_hex = size > 2 && word[0] == '0' && (word[1] | 32) == 'x';
    uint64_t value = 0;
    for (size_t i = is_hex ? 2 : 0;
         i < size && isxdigit((unsigned char)word[i]) && value <= INT32_MAX;
         ++i) {
      int c = tolower((unsigned char)word[i]);
      uint64_t digit = (uint64_t)(isdigit(c) ? c - '0' : c - 'a' + 10);
      value = value * (is_hex ? 16 : 10) + digit;
    }
    if (value > INT32_MAX)
      return true;
    at += size ? size : 1;
  }
  return false;
}

/* llvm.insertvalue and extractvalue look up the fields of a struct by the low
 * half of a position that was compared whole. Their own form has a list behind
 * the operands; any other form, and an alias, has an array. */
static void check_position(pn_scan_t *scan, const char *word, size_t size) {
  size_t at = scan->at + size;
  if (word_is(word, size, "llvm.insertvalue") ||
      word_is(word, size, "llvm.extractvalue")) {
    scan->has_positions = true;
    for (size_t next = at; next < scan->size; at = next) {
      next = skip_blanks(scan, at);
      if (next == at && strchr("[]{}()=:\"", char_at(scan, at)))
        break;
      next += next == at;
    }
    if (char_at(scan, at) == '[' && has_wide_integer(scan, at + 1, ']'))
      scan->problem = "positions in a struct must fit 32 bits";
  } else if (word_is(word, size, "array") && char_at(scan, at) == '<') {
    scan->has_wide_array |= has_wide_integer(scan, at + 1, '>');
  }
  if (scan->has_positions && scan->has_wide_array)
    scan->problem = "positions in a struct must fit 32 bits";
}

static void scan_word(pn_scan_t *scan) {
  static const char *const operators[] = {"mod", "floordiv", "ceildiv"};
  size_t size = word_size(scan, scan->at);
  check_list(scan, scan->data + scan->at, size);
  check_position(scan, scan->data + scan->at, size);
  if (scan->problem)
    return;
  for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); ++i)
    if (strlen(operators[i]) == size &&
        memcmp(scan->data + scan->at, operators[i], size) == 0)
      count_operator(scan);
  scan->at += size;
}

/* A string that begins here may name an operation in generic form. */
static void note_operation(pn_scan_t *scan, const char *text, size_t size) {
  static const char *const names[] = {"llvm.insertvalue\"",
                                      "llvm.extractvalue\""};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
    scan->has_positions |= word_is(text, size, names[i]);
  if (scan->has_positions && scan->has_wide_array)
    scan->problem = "positions in a struct must fit 32 bits";
}

/* Takes the next piece of the text. Returns false where memory is short. */
static bool scan_piece(pn_scan_t *scan) {
  char c = peek(scan, 0);
  size_t start = scan->at;
  if (c == '\n') {
    ++scan->line;
    scan->line_start = ++scan->at;
    return true;
  }
  /* Whatever else starts a line outside of brackets ends a definition. */
  if (!scan->depth && start == scan->line_start && c != ' ')
    scan->definition = 0;
  if (c == '"') {
    scan->at = skip_string(scan);
    note_operation(scan, scan->data + start + 1, scan->at - start - 1);
  } else if (c == '/' && peek(scan, 1) == '/') {
    const char *end = memchr(scan->data + start, '\n', scan->size - start);
    scan->at = end ? (size_t)(end - scan->data) : scan->size;
    return true;
  } else if (c == '#' || c == '!') {
    scan->last = c;
    return scan_alias(scan);
  } else if (is_word(c)) {
    scan_word(scan);
  } else {
    scan_sign(scan);
    scan->at += scan->problem ? 0 : 1;
  }
  if (scan->at > start && !isspace((unsigned char)scan->data[scan->at - 1]))
    scan->last = scan->data[scan->at - 1];
  note_bytes(scan, scan->at - start);
  return true;
}

pn_error_t *pn_text_check_limits(const char *name, const char *data,
                                 size_t size) {
  pn_scan_t scan = {.file = name, .data = data, .size = size, .line = 1};
  bool has_memory = true;
  while (has_memory && !scan.problem && scan.at < size)
    has_memory = scan_piece(&scan);
  free(scan.aliases);
  if (!has_memory)
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  return scan.problem ? report(&scan) : NULL;
}
