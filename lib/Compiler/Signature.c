/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Signature.c: the description of an executable's entries. */

#include "Compiler/Signature.h"

#include "Support/Error.h"

#include <stdlib.h>
#include <string.h>

/* A line that is taken apart word by word. */
typedef struct pn_words {
  const char *at;
  const char *end;
  bool no_memory; /* reading stopped because memory was short */
} pn_words_t;

/* Remembers whether an allocation gave nothing; returns whether it did not. */
static bool got(pn_words_t *words, const void *block) {
  words->no_memory |= block == NULL;
  return block != NULL;
}

static bool next_word(pn_words_t *words, const char **word, size_t *size) {
  while (words->at < words->end && *words->at == ' ')
    ++words->at;
  *word = words->at;
  while (words->at < words->end && *words->at != ' ')
    ++words->at;
  *size = (size_t)(words->at - *word);
  return *size > 0;
}

static bool is_word(const char *word, size_t size, const char *text) {
  return size == strlen(text) && memcmp(word, text, size) == 0;
}

/* Reads a number, or "?" as PN_DYNAMIC. */
static bool read_number(pn_words_t *words, int64_t *out_value) {
  const char *word;
  size_t size;
  char digits[24];
  if (!next_word(words, &word, &size) || size >= sizeof(digits))
    return false;
  if (is_word(word, size, "?")) {
    *out_value = PN_DYNAMIC;
    return true;
  }
  memcpy(digits, word, size);
  digits[size] = '\0';
  char *end;
  long long value = strtoll(digits, &end, 10);
  *out_value = value;
  return *end == '\0';
}

static pn_dtype_t read_dtype(pn_words_t *words) {
  const char *word;
  size_t size;
  if (next_word(words, &word, &size))
    for (int d = PN_DTYPE_BOOL; d <= PN_DTYPE_F64; ++d)
      if (is_word(word, size, pn_dtype_name((pn_dtype_t)d)))
        return (pn_dtype_t)d;
  return PN_DTYPE_INVALID;
}

/* Grows an array by one zeroed item; NULL where memory is short. */
static void *append_item(void **items, size_t *count, size_t item_size) {
  char *grown = reallocarray(*items, *count + 1, item_size);
  if (!grown)
    return NULL;
  *items = grown;
  void *item = grown + *count * item_size;
  memset(item, 0, item_size);
  ++*count;
  return item;
}

static bool read_numbers(pn_words_t *words, int32_t count,
                         const int64_t **out_numbers) {
  int64_t *numbers = calloc(count ? (size_t)count : 1, sizeof(*numbers));
  *out_numbers = numbers;
  if (!got(words, numbers))
    return false;
  for (int32_t i = 0; i < count; ++i)
    if (!read_number(words, &numbers[i]))
      return false;
  return true;
}

static bool read_value(pn_words_t *words, pn_signature_value_t *value) {
  int64_t rank;
  const char *word;
  size_t size;
  value->type.dtype = read_dtype(words);
  if (value->type.dtype == PN_DTYPE_INVALID || !read_number(words, &rank) ||
      rank < 0 || rank > PN_MEMREF_RANK_MAX)
    return false;
  value->type.rank = (int32_t)rank;
  if (!read_numbers(words, value->type.rank, &value->type.sizes))
    return false;
  if (!next_word(words, &word, &size))
    return true;
  if (is_word(word, size, "scalar")) {
    value->is_scalar = true;
    return rank == 0;
  }
  return is_word(word, size, "strides") &&
         read_numbers(words, value->type.rank, &value->type.strides);
}

static bool read_entry(pn_words_t *words, pn_signature_t *signature) {
  pn_signature_entry_t *entry =
      append_item((void **)&signature->entries, &signature->entry_count,
                  sizeof(*signature->entries));
  const char *word;
  size_t size;
  if (!got(words, entry) || !next_word(words, &word, &size))
    return false;
  entry->name = strndup(word, size);
  entry->symbol = strndup(word, size);
  return got(words, entry->name) && got(words, entry->symbol) &&
         next_word(words, &word, &size) && is_word(word, size, "arena") &&
         read_number(words, &entry->arena_bytes) && entry->arena_bytes >= 0;
}

/* Copies the rest of a line, undoing its escapes; NULL where memory is short.
 */
static char *read_rest(pn_words_t *words) {
  const char *from = words->at < words->end ? words->at + 1 : words->end;
  char *text = malloc((size_t)(words->end - from) + 1);
  if (!text)
    return NULL;
  char *to = text;
  for (; from < words->end; ++from) {
    if (*from == '\\' && from + 1 < words->end)
      *to++ = *++from == 'n' ? '\n' : *from;
    else
      *to++ = *from;
  }
  *to = '\0';
  return text;
}

static bool read_assert(pn_words_t *words, pn_signature_t *signature) {
  char **slot =
      append_item((void **)&signature->asserts, &signature->assert_count,
                  sizeof(*signature->asserts));
  return got(words, slot) && got(words, *slot = read_rest(words));
}

static bool read_name(pn_words_t *words, pn_signature_t *signature) {
  if (!signature->entry_count)
    return false;
  pn_signature_entry_t *entry = &signature->entries[signature->entry_count - 1];
  free(entry->name);
  entry->name = read_rest(words);
  return got(words, entry->name);
}

static bool read_argument(pn_words_t *words, pn_signature_t *signature,
                          bool is_input) {
  if (!signature->entry_count)
    return false;
  pn_signature_entry_t *entry = &signature->entries[signature->entry_count - 1];
  if (is_input && entry->result_count)
    return false;
  size_t count = entry->input_count + entry->result_count;
  pn_signature_value_t *value =
      append_item((void **)&entry->values, &count, sizeof(*entry->values));
  if (!got(words, value))
    return false;
  if (is_input)
    ++entry->input_count;
  else
    ++entry->result_count;
  return read_value(words, value);
}

/* The input read last, of the entry read last; NULL where there is none. */
static pn_signature_value_t *last_input(pn_signature_t *signature) {
  if (!signature->entry_count)
    return NULL;
  pn_signature_entry_t *entry = &signature->entries[signature->entry_count - 1];
  if (!entry->input_count || entry->result_count)
    return NULL;
  return &entry->values[entry->input_count - 1];
}

static bool read_mutable(pn_signature_t *signature) {
  pn_signature_value_t *value = last_input(signature);
  if (value)
    value->is_mutable = true;
  return value != NULL;
}

static bool read_constant(pn_words_t *words, pn_signature_t *signature) {
  pn_signature_value_t *value = last_input(signature);
  const char *word;
  size_t size;
  if (!value || value->is_constant || !next_word(words, &word, &size))
    return false;
  value->is_constant = true;
  value->is_read = is_word(word, size, "read");
  ++signature->entries[signature->entry_count - 1].constant_count;
  return value->is_read || is_word(word, size, "unread");
}

static bool read_state(pn_words_t *words, pn_signature_t *signature) {
  if (!signature->entry_count)
    return false;
  int64_t *bytes = &signature->entries[signature->entry_count - 1].state_bytes;
  return read_number(words, bytes) && *bytes > 0;
}

static bool read_line(pn_words_t *words, pn_signature_t *signature) {
  const char *word;
  size_t size;
  if (!next_word(words, &word, &size))
    return true;
  if (is_word(word, size, "entry"))
    return read_entry(words, signature);
  if (is_word(word, size, "name"))
    return read_name(words, signature);
  if (is_word(word, size, "in"))
    return read_argument(words, signature, true);
  if (is_word(word, size, "out"))
    return read_argument(words, signature, false);
  if (is_word(word, size, "mutable"))
    return read_mutable(signature);
  if (is_word(word, size, "constant"))
    return read_constant(words, signature);
  if (is_word(word, size, "state"))
    return read_state(words, signature);
  if (is_word(word, size, "assert"))
    return read_assert(words, signature);
  if (is_word(word, size, "target"))
    return !signature->entry_count; /* the runtime compares it */
  return false;
}

pn_error_t *pn_signature_parse(const char *text,
                               pn_signature_t *out_signature) {
  static const char header[] = "polynest 2\n";
  *out_signature = (pn_signature_t){0};
  if (strncmp(text, header, sizeof(header) - 1) != 0)
    return pn_error_create(PN_ERROR_VERSION,
                           "the description of the code has another format");
  text += sizeof(header) - 1;
  while (*text) {
    const char *end = strchr(text, '\n');
    pn_words_t words = {.at = text, .end = end ? end : text + strlen(text)};
    if (!read_line(&words, out_signature)) {
      pn_error_t *error =
          words.no_memory
              ? pn_error_create(PN_ERROR_MEMORY, "out of memory")
              : pn_error_create(PN_ERROR_CORRUPT,
                                "cannot read '%.*s' in the description of the "
                                "code",
                                (int)(words.end - text), text);
      pn_signature_clear(out_signature);
      return error;
    }
    text = end ? end + 1 : words.end;
  }
  return NULL;
}

static void clear_entry(pn_signature_entry_t *entry) {
  for (size_t i = 0; i < entry->input_count + entry->result_count; ++i) {
    free((int64_t *)entry->values[i].type.sizes);
    free((int64_t *)entry->values[i].type.strides);
  }
  free(entry->values);
  free(entry->name);
  free(entry->symbol);
}

void pn_signature_clear(pn_signature_t *signature) {
  for (size_t i = 0; i < signature->entry_count; ++i)
    clear_entry(&signature->entries[i]);
  for (size_t i = 0; i < signature->assert_count; ++i)
    free(signature->asserts[i]);
  free(signature->entries);
  free(signature->asserts);
  *signature = (pn_signature_t){0};
}
