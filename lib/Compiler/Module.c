/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Module.c: modules in and out of text and files. */

#include "polynest/module.h"

#include "Compiler/Context.h"
#include "Compiler/File.h"
#include "Compiler/TextLimits.h"
#include "Support/Error.h"
#include "Support/MlirBridge.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"

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
  return pn_text_check_limits(name, *data, *size);
}

pn_error_t *pn_module_parse(pn_context_t *context, const char *data,
                            size_t size, const char *name, uint32_t flags,
                            pn_module_t **out_module) {
  if (!out_module)
    return pn_error_create(PN_ERROR_ARGUMENT, "out_module must not be null");
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
  if (!out_module)
    return pn_error_create(PN_ERROR_ARGUMENT, "out_module must not be null");
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
  if (!out_module)
    return pn_error_create(PN_ERROR_ARGUMENT, "out_module must not be null");
  *out_module = NULL;
  if (!module)
    return pn_error_create(PN_ERROR_ARGUMENT, "module must not be null");
  pn_context_lock(module->context);
  MlirOperation copy = mlirOperationClone(mlirModuleGetOperation(module->mlir));
  pn_context_unlock(module->context);
  return make_module(module->context, mlirModuleFromOperation(copy),
                     out_module);
}

static bool string_is(MlirStringRef string, const char *text) {
  return string.length == strlen(text) &&
         memcmp(string.data, text, string.length) == 0;
}

/* A string attribute of the operation; empty where there is none. */
static MlirStringRef string_attribute(MlirOperation op, const char *name) {
  MlirAttribute attribute =
      mlirOperationGetAttributeByName(op, mlirStringRefCreateFromCString(name));
  return mlirAttributeIsNull(attribute) || !mlirAttributeIsAString(attribute)
             ? (MlirStringRef){NULL, 0}
             : mlirStringAttrGetValue(attribute);
}

/* The public function `name`, or the only one where `name` is NULL; a null
 * operation where there is none, or more than one. */
static MlirOperation find_function(MlirModule module, const char *name) {
  MlirOperation found = {NULL};
  for (MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    MlirStringRef kind = mlirIdentifierStr(mlirOperationGetName(op));
    if (!string_is(kind, "func.func") ||
        string_is(string_attribute(op, "sym_visibility"), "private") ||
        (name && !string_is(string_attribute(op, "sym_name"), name)))
      continue;
    if (!mlirOperationIsNull(found))
      return (MlirOperation){NULL};
    found = op;
  }
  return found;
}

/* `attribute`, a dictionary or null, with the mark of a constant. */
static MlirAttribute with_constant_mark(MlirContext context,
                                        MlirAttribute attribute, bool *failed) {
  intptr_t count = mlirAttributeIsNull(attribute)
                       ? 0
                       : mlirDictionaryAttrGetNumElements(attribute);
  MlirStringRef mark = mlirStringRefCreateFromCString("polynest.constant");
  if (count &&
      !mlirAttributeIsNull(mlirDictionaryAttrGetElementByName(attribute, mark)))
    return attribute;
  MlirNamedAttribute *list = calloc((size_t)count + 1, sizeof(*list));
  *failed = !list;
  if (!list)
    return attribute;
  for (intptr_t i = 0; i < count; ++i)
    list[i] = mlirDictionaryAttrGetElement(attribute, i);
  list[count] = mlirNamedAttributeGet(mlirIdentifierGet(context, mark),
                                      mlirUnitAttrGet(context));
  MlirAttribute marked = mlirDictionaryAttrGet(context, count + 1, list);
  free(list);
  return marked;
}

/* Marks argument `input` of a function that has `count` of them. */
static bool mark_argument(MlirOperation function, intptr_t count,
                          intptr_t input) {
  MlirContext context = mlirOperationGetContext(function);
  MlirStringRef name = mlirStringRefCreateFromCString("arg_attrs");
  MlirAttribute old = mlirOperationGetAttributeByName(function, name);
  MlirAttribute *list = calloc((size_t)count, sizeof(*list));
  bool failed = !list;
  for (intptr_t i = 0; !failed && i < count; ++i) {
    MlirAttribute given = mlirAttributeIsNull(old)
                              ? mlirDictionaryAttrGet(context, 0, NULL)
                              : mlirArrayAttrGetElement(old, i);
    list[i] = i == input ? with_constant_mark(context, given, &failed) : given;
  }
  if (!failed)
    mlirOperationSetAttributeByName(function, name,
                                    mlirArrayAttrGet(context, count, list));
  free(list);
  return !failed;
}

static pn_error_t *mark_constant(MlirModule module, const char *entry,
                                 size_t input) {
  MlirOperation function = find_function(module, entry);
  if (mlirOperationIsNull(function))
    return pn_error_create(PN_ERROR_NOT_FOUND,
                           "no public function '%s' in the module",
                           entry ? entry : "(the only one)");
  MlirAttribute type = mlirOperationGetAttributeByName(
      function, mlirStringRefCreateFromCString("function_type"));
  intptr_t count = mlirFunctionTypeGetNumInputs(mlirTypeAttrGetValue(type));
  if (input >= (size_t)count)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "input %zu is out of range; the function has %zu",
                           input, (size_t)count);
  return mark_argument(function, count, (intptr_t)input)
             ? NULL
             : pn_error_create(PN_ERROR_MEMORY, "out of memory");
}

pn_error_t *pn_module_mark_constant(pn_module_t *module, const char *entry,
                                    size_t input) {
  if (!module)
    return pn_error_create(PN_ERROR_ARGUMENT, "module must not be null");
  pn_context_lock(module->context);
  pn_error_t *error = mark_constant(module->mlir, entry, input);
  pn_context_unlock(module->context);
  return error;
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
  if (!module || !write)
    return;
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
