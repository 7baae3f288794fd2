/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/Npy.c: arrays in NumPy's file format. */

#include "Npy.h"

#include "Report.h"
#include "Text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "\x93NUMPY";

#define MAGIC_BYTES 6
/* Longer headers describe records, which no program takes. */
#define MAX_HEADER_BYTES 65536

/* What the header says. */
typedef struct pn_npy_header {
  char descr[16];
  bool fortran_order;
  int32_t rank;
  int64_t sizes[PN_MEMREF_RANK_MAX];
} pn_npy_header_t;

static bool damaged(const char *path, const char *what) {
  pn_report("error", "'%s' is no array that can be read: %s", path, what);
  return false;
}

/* ------------------------------------------------------------------------ */
/* The header: a Python dictionary of three known keys                      */
/* ------------------------------------------------------------------------ */

static void skip_space(const char **at) { *at += strspn(*at, " \t\n"); }

static bool take(const char **at, const char *word) {
  skip_space(at);
  size_t size = strlen(word);
  if (strncmp(*at, word, size) != 0)
    return false;
  *at += size;
  return true;
}

/* Reads a quoted string without escapes. */
static bool take_string(const char **at, char *out, size_t room) {
  skip_space(at);
  char quote = **at;
  if (quote != '\'' && quote != '"')
    return false;
  const char *start = ++*at;
  const char *end = strchr(start, quote);
  if (!end || (size_t)(end - start) >= room)
    return false;
  memcpy(out, start, (size_t)(end - start));
  out[end - start] = '\0';
  *at = end + 1;
  return true;
}

/* Reads "(3, 4)", "(3,)" or "()". */
static bool take_shape(const char **at, pn_npy_header_t *header) {
  if (!take(at, "("))
    return false;
  while (!take(at, ")")) {
    skip_space(at);
    char *end;
    errno = 0;
    long long size = strtoll(*at, &end, 10);
    if (end == *at || errno || size < 0 || header->rank == PN_MEMREF_RANK_MAX)
      return false;
    header->sizes[header->rank++] = size;
    *at = *end == 'L' ? end + 1 : end;
    if (!take(at, ",")) {
      skip_space(at);
      if (**at != ')')
        return false;
    }
  }
  return true;
}

static bool take_value(const char **at, const char *key,
                       pn_npy_header_t *header) {
  if (strcmp(key, "descr") == 0)
    return take_string(at, header->descr, sizeof(header->descr));
  if (strcmp(key, "shape") == 0)
    return take_shape(at, header);
  if (strcmp(key, "fortran_order") != 0)
    return false;
  header->fortran_order = take(at, "True");
  return header->fortran_order || take(at, "False");
}

static bool parse_header(const char *text, pn_npy_header_t *header) {
  const char *at = text;
  unsigned seen = 0;
  if (!take(&at, "{"))
    return false;
  while (!take(&at, "}")) {
    char key[16];
    if (!take_string(&at, key, sizeof(key)) || !take(&at, ":") ||
        !take_value(&at, key, header))
      return false;
    seen |= *key == 'd' ? 1u : *key == 's' ? 2u : 4u;
    (void)take(&at, ",");
  }
  return seen == 7;
}

static const struct {
  const char *descr;
  pn_dtype_t dtype;
} descrs[] = {
    {"|b1", PN_DTYPE_BOOL},  {"|i1", PN_DTYPE_I8},    {"<i2", PN_DTYPE_I16},
    {"<i4", PN_DTYPE_I32},   {"<i8", PN_DTYPE_I64},   {"<f2", PN_DTYPE_F16},
    {"<f4", PN_DTYPE_F32},   {"<f8", PN_DTYPE_F64},   {"|u1", PN_DTYPE_I8},
    {"<u2", PN_DTYPE_I16},   {"<u4", PN_DTYPE_I32},   {"<u8", PN_DTYPE_I64},
    {"<i8", PN_DTYPE_INDEX}, {"<u8", PN_DTYPE_INDEX}, {"<u2", PN_DTYPE_BF16},
    {"|V2", PN_DTYPE_BF16},  {"<V2", PN_DTYPE_BF16},
};

/* The expected type where the file can hold it, else the file's own. */
static pn_dtype_t dtype_of(const char *descr, pn_dtype_t expected) {
  pn_dtype_t found = PN_DTYPE_INVALID;
  for (size_t i = 0; i < sizeof(descrs) / sizeof(descrs[0]); ++i) {
    if (strcmp(descrs[i].descr, descr) != 0)
      continue;
    if (descrs[i].dtype == expected)
      return expected;
    found = found ? found : descrs[i].dtype;
  }
  return found;
}

/* ------------------------------------------------------------------------ */
/* Reading                                                                  */
/* ------------------------------------------------------------------------ */

/* Reads the part in front of the data. */
static bool read_header(FILE *file, const char *path, pn_npy_header_t *header) {
  unsigned char start[MAGIC_BYTES + 6];
  if (fread(start, 1, MAGIC_BYTES + 4, file) != MAGIC_BYTES + 4 ||
      memcmp(start, magic, MAGIC_BYTES) != 0)
    return damaged(path, "it does not begin as a .npy file does");
  unsigned version = start[MAGIC_BYTES];
  if (version < 1 || version > 3)
    return damaged(path, "its version is not 1, 2 or 3");
  size_t size = start[8] | (size_t)start[9] << 8;
  if (version > 1) {
    if (fread(start + 10, 1, 2, file) != 2)
      return damaged(path, "it is cut short");
    size |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
  }
  if (size > MAX_HEADER_BYTES)
    return damaged(path, "its header is too long");
  char *text = pn_alloc_array(size + 1, 1);
  bool whole = fread(text, 1, size, file) == size;
  bool ok = whole && strlen(text) == size && parse_header(text, header);
  free(text);
  return ok || damaged(path, whole ? "its header cannot be understood"
                                   : "it is cut short");
}

/* Gives the array column-major strides. */
static void make_fortran_strides(pn_array_t *array) {
  int64_t stride = 1;
  for (int32_t d = 0; d < array->rank; ++d) {
    array->strides[d] = stride;
    stride *= array->sizes[d] > 0 ? array->sizes[d] : 1;
  }
}

static bool read_array(FILE *file, const char *path, pn_dtype_t expected,
                       pn_array_t *out_array) {
  pn_npy_header_t header = {0};
  if (!read_header(file, path, &header))
    return false;
  pn_dtype_t dtype = dtype_of(header.descr, expected);
  if (dtype == PN_DTYPE_INVALID) {
    pn_report("error", "'%s' has elements of type '%s', which no program takes",
              path, header.descr);
    return false;
  }
  /* The data must be there before memory for it is taken. */
  long start = ftell(file);
  if (start < 0 || fseek(file, 0, SEEK_END) != 0)
    return damaged(path, "it is no regular file");
  long end = ftell(file);
  int64_t count = 1;
  bool ok = end >= start && fseek(file, start, SEEK_SET) == 0;
  for (int32_t d = 0; ok && d < header.rank; ++d)
    ok = !__builtin_mul_overflow(count, header.sizes[d], &count);
  int64_t bytes;
  ok = ok &&
       !__builtin_mul_overflow(count, (int64_t)pn_dtype_size(dtype), &bytes);
  if (!ok || bytes != end - start)
    return damaged(path, "its length does not fit its shape");
  if (!pn_array_create(dtype, header.rank, header.sizes, 0, out_array))
    return false;
  if (fread(out_array->data, 1, out_array->bytes, file) != out_array->bytes) {
    pn_array_destroy(out_array);
    return damaged(path, "it is cut short");
  }
  if (header.fortran_order)
    make_fortran_strides(out_array);
  return true;
}

bool pn_npy_read(const char *path, pn_dtype_t expected, pn_array_t *out_array) {
  *out_array = (pn_array_t){0};
  FILE *file = fopen(path, "rbe");
  if (!file) {
    pn_report("error", "cannot open '%s': %s", path, strerror(errno));
    return false;
  }
  bool ok = read_array(file, path, expected, out_array);
  (void)fclose(file);
  return ok;
}

/* ------------------------------------------------------------------------ */
/* Writing                                                                  */
/* ------------------------------------------------------------------------ */

static const char *descr_of(pn_dtype_t dtype) {
  for (size_t i = 0; i < sizeof(descrs) / sizeof(descrs[0]); ++i)
    if (descrs[i].dtype == dtype)
      return descrs[i].descr;
  return "|V1";
}

/* Everything in front of the data, padded to a multiple of 64 bytes. */
static void append_header(const pn_array_t *array, pn_text_t *text) {
  pn_text_t dict = {0};
  pn_text_printf(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                 descr_of(array->dtype));
  for (int32_t d = 0; d < array->rank; ++d)
    pn_text_printf(&dict, "%" PRId64 "%s", array->sizes[d],
                   d + 1 < array->rank ? ", "
                   : array->rank == 1  ? ","
                                       : "");
  pn_text_printf(&dict, "), }");
  while ((MAGIC_BYTES + 4 + dict.size + 1) % 64 != 0)
    pn_text_append(&dict, " ", 1);
  pn_text_append(&dict, "\n", 1);
  const char start[4] = {1, 0, (char)(dict.size & 0xff),
                         (char)(dict.size >> 8)};
  pn_text_append(text, magic, MAGIC_BYTES);
  pn_text_append(text, start, sizeof(start));
  pn_text_append(text, dict.data, dict.size);
  pn_text_clear(&dict);
}

static bool write_elements(FILE *file, const pn_array_t *array) {
  pn_memref_t view = pn_array_view(array);
  if (pn_memref_is_contiguous(&view))
    return fwrite(array->data, 1, array->bytes, file) == array->bytes;
  size_t size = pn_dtype_size(array->dtype);
  for (int64_t i = 0; i < array->count; ++i)
    if (fwrite(pn_array_at(array, i), 1, size, file) != size)
      return false;
  return true;
}

bool pn_npy_write(const char *path, const pn_array_t *array) {
  pn_text_t header = {0}, temporary = {0};
  append_header(array, &header);
  pn_text_printf(&temporary, "%s.part", path);
  FILE *file = fopen(pn_text_get(&temporary), "wbe");
  bool ok = file != NULL;
  ok = ok && fwrite(header.data, 1, header.size, file) == header.size;
  ok = ok && write_elements(file, array);
  int reason = errno;
  if (file && fclose(file) != 0 && ok) {
    ok = false;
    reason = errno;
  }
  if (ok && rename(temporary.data, path) != 0) {
    ok = false;
    reason = errno;
  }
  if (!ok) {
    pn_report("error", "cannot write '%s': %s", path, strerror(reason));
    if (file)
      (void)remove(temporary.data);
  }
  pn_text_clear(&header);
  pn_text_clear(&temporary);
  return ok;
}
