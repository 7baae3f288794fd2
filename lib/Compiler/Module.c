/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Module.c: modules in and out of text and files. */

#include "polynest/module.h"

#include "Compiler/Context.h"
#include "Compiler/File.h"
#include "Support/Error.h"
#include "Support/MlirBridge.h"

#include <stdlib.h>
#include <string.h>

/* Header of our files, little endian, in front of MLIR bytecode. */
typedef struct pn_file_header {
  char magic[8];
  uint32_t format;  /* 1 */
  uint32_t version; /* PN_VERSION of the writer */
  uint64_t size;    /* bytes after the header */
  uint64_t checksum;
} pn_file_header_t;

static const char file_magic[8] = "PNESTBC";
static const char mlir_magic[4] = {'M', 'L', '\xef', 'R'};

/* Deeper nesting of brackets than any program has, and shallower than what
 * exhausts the recursive parser's stack. */
#define MAX_NESTING 256

/* FNV-1a, 64 bits: finds damage, not malice. */
static uint64_t checksum(const char *data, size_t size) {
  uint64_t hash = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ (unsigned char)data[i]) * UINT64_C(1099511628211);
  return hash;
}

/* Checks the header; on success *data and *size are the bytecode. */
static pn_error_t *open_container(const char *name, const char **data,
                                  size_t *size) {
  pn_file_header_t header;
  if (*size < sizeof(header))
    return pn_error_create(PN_ERROR_CORRUPT,
                           "'%s' is cut short: %zu bytes are no header", name,
                           *size);
  memcpy(&header, *data, sizeof(header));
  if (header.format != 1)
    return pn_error_create(PN_ERROR_VERSION,
                           "'%s' has format %u; this version reads format 1",
                           name, header.format);
  *data += sizeof(header);
  *size -= sizeof(header);
  if (header.size != *size)
    return pn_error_create(PN_ERROR_CORRUPT,
                           "'%s' is damaged: %zu bytes instead of %llu", name,
                           *size, (unsigned long long)header.size);
  if (header.checksum != checksum(*data, *size))
    return pn_error_create(PN_ERROR_CORRUPT,
                           "'%s' is damaged: its checksum differs", name);
  return NULL;
}

/* Where a scan of text stands. */
typedef struct pn_scan {
  int32_t line, column;
  char open[MAX_NESTING]; /* brackets that are open */
  int32_t depth;
  int32_t signs; /* minus signs in a row, which nest in affine expressions */
} pn_scan_t;

static pn_error_t *too_deep(const char *name, const pn_scan_t *scan) {
  pn_error_t *error =
      pn_error_create(PN_ERROR_PARSE, "nested deeper than %d", MAX_NESTING);
  pn_diagnostic_t diagnostic = {.severity = PN_SEVERITY_ERROR,
                                .line = scan->line,
                                .column = scan->column,
                                .file = name,
                                .text = "nested too deeply"};
  pn_error_add_diagnostic(error, &diagnostic);
  return error;
}

/* Counts one character outside of strings and comments, `next` behind it.
 * Returns false where the nesting is too deep. */
static bool scan_character(pn_scan_t *scan, char c, char next, char before) {
  static const char opening[] = "([{<", closing[] = ")]}>";
  if (c == '-' && next != '>')
    return ++scan->signs <= MAX_NESTING;
  if (!strchr(" \t\r\n", c))
    scan->signs = 0;
  /* Comparisons and arrows are no brackets. */
  if ((c == '<' || c == '>') && next == '=')
    return true;
  if (c == '>' && before == '-')
    return true;
  if (c && strchr(opening, c)) {
    if (scan->depth == MAX_NESTING)
      return false;
    scan->open[scan->depth++] = c;
  } else if (c && strchr(closing, c)) {
    /* A closing bracket closes what was opened within its own; one that fits
     * none is the parser's to report. */
    char wanted = opening[strchr(closing, c) - closing];
    for (int32_t i = scan->depth; i > 0; --i) {
      if (scan->open[i - 1] == wanted) {
        scan->depth = i - 1;
        break;
      }
    }
  }
  return true;
}

/* Index behind the string that begins at `i`, or of the end of its line. */
static size_t skip_string(const char *data, size_t size, size_t i) {
  for (++i; i < size && data[i] != '"' && data[i] != '\n'; ++i)
    if (data[i] == '\\' && i + 1 < size && data[i + 1] != '\n')
      ++i;
  return i < size && data[i] == '"' ? i + 1 : i;
}

/* Refuses text whose nesting could exhaust the parser's stack, at its place. */
static pn_error_t *check_nesting(const char *name, const char *data,
                                 size_t size) {
  pn_scan_t scan = {.line = 1};
  size_t line_start = 0;
  for (size_t i = 0; i < size;) {
    char c = data[i], next = i + 1 < size ? data[i + 1] : '\0';
    if (c == '\n') {
      ++scan.line;
      line_start = ++i;
    } else if (c == '"') {
      i = skip_string(data, size, i);
      scan.signs = 0;
    } else if (c == '/' && next == '/') {
      const char *end = memchr(data + i, '\n', size - i);
      i = end ? (size_t)(end - data) : size;
    } else {
      scan.column = (int32_t)(i - line_start) + 1;
      if (!scan_character(&scan, c, next, i ? data[i - 1] : '\0'))
        return too_deep(name, &scan);
      ++i;
    }
  }
  return NULL;
}

static pn_error_t *make_module(pn_context_t *context, MlirModule mlir,
                               pn_module_t **out_module) {
  pn_module_t *module = calloc(1, sizeof(*module));
  if (!module) {
    mlirModuleDestroy(mlir);
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  }
  pn_context_retain(context);
  module->context = context;
  module->mlir = mlir;
  *out_module = module;
  return NULL;
}

/* Checks what kind of data it is; leaves what MLIR is to read. */
static pn_error_t *check_input(const char *name, uint32_t flags,
                               const char **data, size_t *size) {
  if (*size >= sizeof(file_magic) &&
      memcmp(*data, file_magic, sizeof(file_magic)) == 0)
    return open_container(name, data, size);
  if (*size >= sizeof(mlir_magic) &&
      memcmp(*data, mlir_magic, sizeof(mlir_magic)) == 0) {
    if (flags & PN_MODULE_TRUST_BYTECODE)
      return NULL;
    return pn_error_create(
        PN_ERROR_ARGUMENT,
        "'%s' is raw MLIR bytecode, which is read only when trusted", name);
  }
  return check_nesting(name, *data, *size);
}

pn_error_t *pn_module_parse(pn_context_t *context, const char *data,
                            size_t size, const char *name, uint32_t flags,
                            pn_module_t **out_module) {
  *out_module = NULL;
  if (!context || (!data && size))
    return pn_error_create(PN_ERROR_ARGUMENT, "context and data must not be "
                                              "null");
  name = name ? name : "<input>";
  if (flags & ~(uint32_t)PN_MODULE_TRUST_BYTECODE)
    return pn_error_create(PN_ERROR_ARGUMENT, "module flags 0x%x are unknown",
                           flags);
  pn_error_t *error = check_input(name, flags, &data, &size);
  if (error)
    return error;
  pn_diagnostic_scope_t scope;
  pn_diagnostic_scope_open(&scope, context);
  MlirModule mlir =
      pn_mlir_parse_module(pn_context_mlir(context), data, size, name);
  bool ok = !mlirModuleIsNull(mlir);
  error = pn_diagnostic_scope_close(&scope, ok, PN_ERROR_PARSE,
                                    "the module does not parse");
  return error ? error : make_module(context, mlir, out_module);
}

pn_error_t *pn_module_read_file(pn_context_t *context, const char *path,
                                uint32_t flags, pn_module_t **out_module) {
  *out_module = NULL;
  if (!context || !path)
    return pn_error_create(PN_ERROR_ARGUMENT, "context and path must not be "
                                              "null");
  pn_buffer_t buffer = {0};
  pn_error_t *error = pn_file_read(path, &buffer);
  if (!error)
    error = pn_module_parse(context, pn_buffer_text(&buffer), buffer.size, path,
                            flags, out_module);
  pn_buffer_clear(&buffer);
  return error;
}

pn_error_t *pn_module_clone(const pn_module_t *module,
                            pn_module_t **out_module) {
  *out_module = NULL;
  if (!module)
    return pn_error_create(PN_ERROR_ARGUMENT, "module must not be null");
  pn_context_lock(module->context);
  MlirOperation copy = mlirOperationClone(mlirModuleGetOperation(module->mlir));
  pn_context_unlock(module->context);
  return make_module(module->context, mlirModuleFromOperation(copy),
                     out_module);
}

/* A pn_write_fn and its user, behind MLIR's string callback. */
typedef struct pn_writer {
  pn_write_fn write;
  void *user;
} pn_writer_t;

static void forward_string(MlirStringRef text, void *user) {
  const pn_writer_t *writer = user;
  writer->write(writer->user, text.data, text.length);
}

void pn_module_print(const pn_module_t *module, pn_write_fn write, void *user) {
  pn_writer_t writer = {write, user};
  pn_context_lock(module->context);
  mlirOperationPrint(mlirModuleGetOperation(module->mlir), forward_string,
                     &writer);
  pn_context_unlock(module->context);
  write(user, "\n", 1);
}

/* Appends header and bytecode. */
static bool append_container(const pn_module_t *module, pn_buffer_t *buffer) {
  pn_file_header_t header = {.format = 1, .version = PN_VERSION};
  memcpy(header.magic, file_magic, sizeof(file_magic));
  pn_buffer_append(buffer, (const char *)&header, sizeof(header));
  pn_context_lock(module->context);
  bool written = pn_mlir_write_bytecode(mlirModuleGetOperation(module->mlir),
                                        pn_buffer_write, buffer);
  pn_context_unlock(module->context);
  if (!written || buffer->failed)
    return false;
  header.size = buffer->size - sizeof(header);
  header.checksum =
      checksum(buffer->data + sizeof(header), (size_t)header.size);
  memcpy(buffer->data, &header, sizeof(header));
  return true;
}

pn_error_t *pn_module_write_file(const pn_module_t *module, const char *path,
                                 bool bytecode) {
  if (!module || !path)
    return pn_error_create(PN_ERROR_ARGUMENT, "module and path must not be "
                                              "null");
  pn_buffer_t buffer = {0};
  bool ok = true;
  if (bytecode)
    ok = append_container(module, &buffer);
  else
    pn_module_print(module, pn_buffer_write, &buffer);
  pn_error_t *error =
      !ok || buffer.failed
          ? pn_error_create(PN_ERROR_MEMORY, "out of memory")
          : pn_file_write(path, pn_buffer_text(&buffer), buffer.size, 0666);
  pn_buffer_clear(&buffer);
  return error;
}

void pn_module_destroy(pn_module_t *module) {
  if (!module)
    return;
  pn_context_lock(module->context);
  mlirModuleDestroy(module->mlir);
  pn_context_unlock(module->context);
  pn_context_release(module->context);
  free(module);
}
