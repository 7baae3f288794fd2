/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Header.c: the C header of an ahead-of-time library. */

#include "Compiler/Header.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static const char *c_type(pn_dtype_t dtype) {
  switch (dtype) {
  case PN_DTYPE_BOOL:
    return "uint8_t";
  case PN_DTYPE_I8:
    return "int8_t";
  case PN_DTYPE_I16:
    return "int16_t";
  case PN_DTYPE_I32:
    return "int32_t";
  case PN_DTYPE_I64:
  case PN_DTYPE_INDEX:
    return "int64_t";
  case PN_DTYPE_F16:
  case PN_DTYPE_BF16:
    return "uint16_t"; /* the bits; C has no portable type for them */
  case PN_DTYPE_F32:
    return "float";
  case PN_DTYPE_F64:
    return "double";
  case PN_DTYPE_INVALID:
    break;
  }
  return "void";
}

/* The include guard: the file name in capitals. */
static void append_guard(const char *path, pn_buffer_t *buffer) {
  const char *slash = strrchr(path, '/');
  pn_buffer_append_text(buffer, "POLYNEST_");
  for (const char *c = slash ? slash + 1 : path; *c; ++c) {
    char mapped =
        isalnum((unsigned char)*c) ? (char)toupper((unsigned char)*c) : '_';
    pn_buffer_append(buffer, &mapped, 1);
  }
}

static void append_descriptor(pn_dtype_t dtype, int32_t rank,
                              pn_buffer_t *buffer) {
  const char *name = pn_dtype_name(dtype);
  pn_buffer_printf(buffer,
                   "#ifndef PN_MEMREF_%s_%d\n#define PN_MEMREF_%s_%d\n"
                   "typedef struct pn_memref_%s_%d {\n"
                   "  void *allocated; /* any value */\n  %s *data;\n"
                   "  int64_t offset; /* must be 0 */\n",
                   name, (int)rank, name, (int)rank, name, (int)rank,
                   c_type(dtype));
  if (rank > 0)
    pn_buffer_printf(buffer, "  int64_t sizes[%d];\n  int64_t strides[%d];\n",
                     (int)rank, (int)rank);
  pn_buffer_printf(buffer, "} pn_memref_%s_%d;\n#endif\n\n", name, (int)rank);
}

static void append_sizes(const char *what, const int64_t *numbers, int32_t rank,
                         pn_buffer_t *buffer) {
  pn_buffer_append_text(buffer, what);
  for (int32_t d = 0; d < rank; ++d) {
    pn_buffer_append_text(buffer, d ? "x" : "");
    if (numbers[d] == PN_DYNAMIC)
      pn_buffer_append_text(buffer, "?");
    else
      pn_buffer_printf(buffer, "%" PRId64, numbers[d]);
  }
}

/* One line that says what argument i is. */
static void append_argument_comment(const pn_signature_entry_t *entry, size_t i,
                                    pn_buffer_t *buffer) {
  const pn_signature_value_t *value = &entry->values[i];
  bool is_input = i < entry->input_count;
  pn_buffer_printf(buffer, " *   %s%zu: %s", is_input ? "in" : "out",
                   is_input ? i : i - entry->input_count,
                   pn_dtype_name(value->type.dtype));
  if (value->type.rank > 0)
    append_sizes(", sizes ", value->type.sizes, value->type.rank, buffer);
  if (value->type.strides && value->type.rank > 0)
    append_sizes(", strides ", value->type.strides, value->type.rank, buffer);
  if (value->is_mutable)
    pn_buffer_append_text(buffer, ", may be written");
  if (value->is_constant)
    pn_buffer_append_text(buffer, value->is_read || !entry->state_bytes
                                      ? ", constant"
                                      : ", constant, read by init alone");
  pn_buffer_append_text(buffer, "\n");
}

/* A name in a comment, where nothing in it may end the comment. */
static void append_comment_text(const char *text, pn_buffer_t *buffer) {
  for (; *text; ++text) {
    bool plain = isalnum((unsigned char)*text) || strchr("_.$- ", *text);
    pn_buffer_append(buffer, plain ? text : "?", 1);
  }
}

/* The descriptor types of all entries, each once. */
static void append_descriptors(const pn_signature_t *signature,
                               pn_buffer_t *buffer) {
  bool done[PN_DTYPE_F64 + 1][PN_MEMREF_RANK_MAX + 1] = {{false}};
  for (size_t e = 0; e < signature->entry_count; ++e) {
    const pn_signature_entry_t *entry = &signature->entries[e];
    for (size_t i = 0; i < entry->input_count + entry->result_count; ++i) {
      const pn_signature_value_t *value = &entry->values[i];
      bool *seen = &done[value->type.dtype][value->type.rank];
      if (!value->is_scalar && !*seen)
        append_descriptor(value->type.dtype, value->type.rank, buffer);
      *seen |= !value->is_scalar;
    }
  }
}

static void append_entry(const pn_signature_entry_t *entry,
                         pn_buffer_t *buffer) {
  size_t count = entry->input_count + entry->result_count;
  pn_buffer_append_text(buffer, "/* Entry '");
  append_comment_text(entry->name, buffer);
  pn_buffer_append_text(buffer, "'.\n");
  for (size_t i = 0; i < count; ++i)
    append_argument_comment(entry, i, buffer);
  pn_buffer_printf(
      buffer,
      " * Returns 0, or -1 where memory is short, or n > 0 where "
      "assertion n of the\n * program failed. `state` was filled "
      "by init%s. */\nint32_t %s(pn_rt_context_t *ctx, void *state",
      entry->state_bytes ? "" : ", or is null", entry->symbol);
  for (size_t i = 0; i < count; ++i) {
    const pn_signature_value_t *value = &entry->values[i];
    bool is_input = i < entry->input_count;
    size_t number = is_input ? i : i - entry->input_count;
    pn_buffer_append_text(buffer, ",\n    const ");
    if (value->is_scalar)
      pn_buffer_append_text(buffer, c_type(value->type.dtype));
    else
      pn_buffer_printf(buffer, "pn_memref_%s_%d",
                       pn_dtype_name(value->type.dtype), (int)value->type.rank);
    pn_buffer_printf(buffer, " *%s%zu", is_input ? "in" : "out", number);
  }
  pn_buffer_append_text(buffer, ");\n\n");
  pn_buffer_printf(
      buffer,
      "/* Dynamic sizes of the results, in order, from all sizes of the "
      "inputs\n * (integer scalars count as one). */\n"
      "void %s_shapes(const int64_t *dims, int64_t *result_dims);\n\n"
      "/* Bytes of state, 64-byte aligned, and what fills it, once, from the "
      "constant\n * inputs in their order, passed as the entry takes them: a "
      "pointer to the\n * descriptor of each, or to the value of a scalar. "
      "*/\n"
      "int64_t %s_state_size(void);\n"
      "int32_t %s_init(pn_rt_context_t *ctx, void *state, void **constants);"
      "\n\n"
      "/* Null where this machine runs the code, else why it does not: to be "
      "asked\n * before anything else here is called. */\n"
      "const char *%s_problem(void);\n\n",
      entry->symbol, entry->symbol, entry->symbol, entry->symbol);
}

void pn_header_append(const pn_signature_t *signature, const char *path,
                      pn_buffer_t *buffer) {
  pn_buffer_printf(buffer, "/* Generated by Polynest %d.%d.%d. */\n#ifndef ",
                   PN_VERSION_MAJOR, PN_VERSION_MINOR, PN_VERSION_PATCH);
  append_guard(path, buffer);
  pn_buffer_append_text(buffer, "\n#define ");
  append_guard(path, buffer);
  pn_buffer_append_text(
      buffer,
      "\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
      "\n/* Memory of one caller at a time. Make one, use it for any number of "
      "calls. */\ntypedef struct pn_rt_context pn_rt_context_t;\n"
      "pn_rt_context_t *pn_rt_context_create(void);\n"
      "void pn_rt_context_destroy(pn_rt_context_t *ctx);\n\n"
      "/* Threads of later calls; 0 goes back to the default. Returns 0, or an "
      "error\n * code for a count out of range. */\n"
      "#ifndef POLYNEST_RUNTIME_H\n"
      "int32_t pn_thread_count_set(int32_t count);\n#endif\n"
      "int32_t pn_thread_count_get(void);\n"
      "const char *pn_parallel_runtime_name(void);\n\n");
  append_descriptors(signature, buffer);
  for (size_t i = 0; i < signature->entry_count; ++i)
    append_entry(&signature->entries[i], buffer);
  pn_buffer_append_text(buffer, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}
