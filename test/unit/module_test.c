/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* module_test.c: contexts and modules, in and out of text and files. */

#include "api.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/polynest-module-test.XXXXXX";

static const char *path_of(const char *name) {
  static char path[256];
  (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
  return path;
}

static size_t read_whole(const char *path, char *data, size_t room) {
  FILE *file = fopen(path, "rb");
  size_t size = file ? fread(data, 1, room, file) : 0;
  if (file)
    (void)fclose(file);
  return size;
}

static void test_version(void) {
  CHECK(pn_version() == PN_VERSION);
  CHECK(strcmp(pn_version_string(), "0.1.0") == 0);
  CHECK(strncmp(pn_llvm_version_string(), "22.", 3) == 0);
  CHECK(pn_dtype_size(PN_DTYPE_BF16) == 2);
  CHECK(pn_dtype_size((pn_dtype_t)99) == 0);
  CHECK(strcmp(pn_dtype_name((pn_dtype_t)-1), "invalid") == 0);
}

static void test_context_options(void) {
  pn_context_t *context = (pn_context_t *)1;
  pn_context_options_t options = PN_CONTEXT_OPTIONS_INIT;
  options.struct_size = 8;
  CHECK_SAYS(pn_context_create(&options, &context), PN_ERROR_ARGUMENT,
             "struct_size 8");
  CHECK(context == NULL);
  options = (pn_context_options_t)PN_CONTEXT_OPTIONS_INIT;
  options.worker_threads = 1025;
  CHECK_SAYS(pn_context_create(&options, &context), PN_ERROR_ARGUMENT, "1024");
  options.worker_threads = 2;
  options.reserved = 1;
  CHECK_SAYS(pn_context_create(&options, &context), PN_ERROR_ARGUMENT,
             "reserved");
  options.reserved = 0;
  CHECK_OK(pn_context_create(&options, &context));
  pn_module_t *module = api_parse(context, api_add);
  pn_module_destroy(module);
  pn_context_retain(context);
  pn_context_release(context);
  pn_context_release(context);
  pn_context_release(NULL);
}

/* Modules and contexts in every order of destruction. */
static void test_lifetimes(void) {
  pn_context_t *context = api_context();
  pn_module_t *module = api_parse(context, api_add), *copy;
  pn_context_release(context);
  CHECK_OK(pn_module_clone(module, &copy));
  pn_module_destroy(module);
  api_text_t text = {.size = 0};
  pn_module_print(copy, api_write, &text);
  CHECK(strstr(text.data, "@add") != NULL);
  CHECK(text.data[text.size - 1] == '\n');
  pn_module_destroy(copy);
  pn_module_destroy(NULL);
}

static void test_null_arguments(void) {
  pn_context_t *context = api_context();
  pn_module_t *module = (pn_module_t *)1;
  CHECK_IS(pn_module_parse(NULL, "", 0, NULL, 0, &module), PN_ERROR_ARGUMENT);
  CHECK(module == NULL);
  CHECK_IS(pn_module_parse(context, NULL, 1, NULL, 0, &module),
           PN_ERROR_ARGUMENT);
  CHECK_IS(pn_module_read_file(context, NULL, 0, &module), PN_ERROR_ARGUMENT);
  CHECK_IS(pn_module_clone(NULL, &module), PN_ERROR_ARGUMENT);
  CHECK_IS(pn_module_write_file(NULL, "x", false), PN_ERROR_ARGUMENT);
  CHECK_OK(pn_module_parse(context, NULL, 0, NULL, 0, &module));
  pn_module_destroy(module);
  pn_context_release(context);
}

/* Text that must give an error of this code at this line. */
static const struct {
  const char *text;
  int32_t line;
} broken[] = {
    {"func.func @f(", 1},
    {"\n  \"unknown.op\"() : () -> ()\n", 2},
    {"func.func @f() {\n  %0 = arith.addi %1, %1 : i32\n  return\n}", 2},
    {"func.func @f() -> i32 {\n  return\n}", 2},
    {"}", 1},
    {"\x01\x02\x03", 1},
    {"module {", 1},
    {"// only\nfunc.func @f() { return } extra", 2},
    {"func.func @f(%a: tensor<4xf33>) { return }", 1},
    {"affine_map<(d0) -> (d0)>", 1},
    {"#a = #a\nfunc.func @f() attributes {x = #a} { return }", 1},
    {"func.func @\"unterminated", 1},
};

static void test_broken_text(void) {
  pn_context_t *context = api_context();
  for (size_t i = 0; i < COUNT_OF(broken); ++i) {
    pn_module_t *module = (pn_module_t *)1;
    pn_error_t *error = pn_module_parse(
        context, broken[i].text, strlen(broken[i].text), "b.mlir", 0, &module);
    CHECK(pn_error_code(error) == PN_ERROR_PARSE);
    CHECK(module == NULL);
    pn_diagnostic_t diagnostic;
    CHECK(pn_error_diagnostic_at(error, 0, &diagnostic));
    if (diagnostic.line != broken[i].line)
      fprintf(stderr, "case %zu: line %d: %s\n", i, (int)diagnostic.line,
              pn_error_message(error));
    CHECK(diagnostic.line == broken[i].line);
    CHECK(diagnostic.column > 0);
    CHECK(diagnostic.file && strcmp(diagnostic.file, "b.mlir") == 0);
    CHECK(!pn_error_diagnostic_at(error, 1000, &diagnostic));
    CHECK(diagnostic.file == NULL);
    pn_error_destroy(error);
  }
  pn_context_release(context);
}

/* Every prefix of a program gives a module or an error. */
static void test_prefixes(void) {
  pn_context_t *context = api_context();
  for (size_t size = 0; size < strlen(api_add); size += 7) {
    pn_module_t *module;
    pn_error_t *error =
        pn_module_parse(context, api_add, size, NULL, 0, &module);
    CHECK((error == NULL) == (module != NULL));
    pn_error_destroy(error);
    pn_module_destroy(module);
  }
  pn_context_release(context);
}

static pn_error_t *parse_repeated(pn_context_t *context, const char *before,
                                  const char *unit, size_t count,
                                  const char *after) {
  size_t unit_size = strlen(unit), size = strlen(before);
  char *text = malloc(size + unit_size * count + strlen(after) + 1);
  if (!text)
    return NULL;
  memcpy(text, before, size);
  for (size_t i = 0; i < count; ++i, size += unit_size)
    memcpy(text + size, unit, unit_size);
  memcpy(text + size, after, strlen(after));
  size += strlen(after);
  pn_module_t *module;
  pn_error_t *error = pn_module_parse(context, text, size, NULL, 0, &module);
  pn_module_destroy(module);
  free(text);
  return error;
}

/* Nesting that would exhaust the parser's stack. */
static void test_deep_nesting(void) {
  pn_context_t *context = api_context();
  static const char *const units[] = {
      "(",    "[",          "{",  "<", "tuple<",    "module {\n", "() -> (",
      "[[[[", "func.func(", "- ", "-", "tensor<1x", "\"\" [",
  };
  for (size_t i = 0; i < COUNT_OF(units); ++i) {
    pn_error_t *error = parse_repeated(context, "#a = affine_map<(d0) -> (",
                                       units[i], 100000, "");
    CHECK(pn_error_code(error) == PN_ERROR_PARSE);
    pn_error_destroy(error);
  }
  /* Strings and comments do not nest. */
  CHECK_OK(parse_repeated(context, "//", "(", 1000, "\n"));
  CHECK_OK(parse_repeated(context, "module attributes {test.a = \"", "(", 1000,
                          "\"} {}"));
  CHECK_OK(parse_repeated(context, "module attributes {test.a = dense<[",
                          "-1, ", 1000, "-1]> : tensor<1001xi8>} {}"));
  /* Few brackets each, but long expressions. */
  CHECK_SAYS(parse_repeated(context, "#a = affine_map<(d0) -> (d0", " + d0",
                            200000, ")>"),
             PN_ERROR_PARSE, "too many operators");
  CHECK_SAYS(parse_repeated(context, "#a = affine_map<(d0) -> (d0",
                            " mod 3 * 5", 200000, ")>"),
             PN_ERROR_PARSE, "too many operators");
  CHECK_OK(parse_repeated(context, "#a = affine_map<(d0) -> (d0", " + d0", 1000,
                          ")>\nmodule attributes {test.a = #a} {}"));
  CHECK_OK(parse_repeated(context, "module attributes {test.a = dense<[",
                          "1.0e+05, ", 5000, "-1.0]> : tensor<5001xf32>} {}"));
  pn_context_release(context);
}

/* Lists that linalg's parsers take for read whatever they are. */
static void test_integer_lists(void) {
  static const char *const bad[] = {
      "dimensions = 1",
      "dimensions =* []",
      "dimensions = [x]",
      "dimensions = [1",
      "dimensions = [1,",
      "dimensions = [1, ]",
      "dimensions = [1 2]",
      "dimensions = [- 1]",
      "dimensions =",
      "dimensions = [9999999999999999999]",
      "permutation = [1.5]",
      "permutation = (0)",
      "dimensions // [1]\n = {}",
      "permutation = array<i64>",
  };
  static const char *const good[] = {
      "dimensions = [0]",
      "dimensions // a, [\n = // b\n [ // c\n 0 // d\n ]",
  };
  static const char head[] =
      "func.func @f(%x: tensor<4xf32>, %dimensions: tensor<f32>)\n"
      "    -> tensor<f32> {\n"
      "  %r = linalg.reduce {arith.addf} ins(%x : tensor<4xf32>)\n"
      "      outs(%dimensions : tensor<f32>) // ,\n ";
  static const char tail[] =
      "\n  %permutation = arith.constant {dimensions = 1,"
      " permutation = array<i64: 1>} 1 : i32\n"
      "  return %r : tensor<f32>\n}\n";
  pn_context_t *context = api_context();
  char text[1024];
  for (size_t i = 0; i < COUNT_OF(bad) + COUNT_OF(good); ++i) {
    bool is_bad = i < COUNT_OF(bad);
    int size = snprintf(text, sizeof(text), "%s%s%s", head,
                        is_bad ? bad[i] : good[i - COUNT_OF(bad)], tail);
    pn_module_t *module;
    pn_error_t *error =
        pn_module_parse(context, text, (size_t)size, "l", 0, &module);
    if (is_bad)
      CHECK_SAYS(error, PN_ERROR_PARSE, "a list of integers");
    else
      CHECK_OK(error);
    pn_module_destroy(module);
  }
  pn_context_release(context);
}

/* Positions whose low half alone names a field. */
static void test_positions(void) {
  static const struct {
    const char *text;
    bool is_good;
  } rows[] = {
      {"%0 = llvm.insertvalue %v, %a[1, 1] : !s", true},
      {"%0 = llvm.insertvalue %v, %a[4294967296] : !s", false},
      {"%0 = llvm.insertvalue %v, %a[1, 4294967297] : !s", false},
      {"%0 = llvm.insertvalue %v, // [\n %a[0x100000000] : !s", false},
      {"%0 = llvm.extractvalue %a[0] : !s", true},
      {"%0 = llvm.extractvalue\n%a[ 00004294967296 ] : !s", false},
      {"%0 = \"llvm.extractvalue\"(%a) {position = array<i64: 0>}"
       " : (!s) -> i64",
       true},
      {"%0 = \"llvm.extractvalue\"(%a) {position = array<i64: 4294967296>}"
       " : (!s) -> i64",
       false},
      {"%0 = \"llvm.insertvalue\"(%a, %v) <{position ="
       " array<i64: 4294967296>}> : (!s, i64) -> !s",
       false},
  };
  pn_context_t *context = api_context();
  char text[1024];
  for (size_t i = 0; i < COUNT_OF(rows); ++i) {
    int size = snprintf(text, sizeof(text),
                        "!s = !llvm.struct<(i64, array<2 x i64>)>\n"
                        "llvm.func @f(%%v: i64, %%a: !s) {\n"
                        "  %s\n  llvm.return\n}\n",
                        rows[i].text);
    pn_module_t *module;
    pn_error_t *error =
        pn_module_parse(context, text, (size_t)size, "p", 0, &module);
    if (rows[i].is_good)
      CHECK_OK(error);
    else
      CHECK_SAYS(error, PN_ERROR_PARSE, "must fit 32 bits");
    pn_module_destroy(module);
  }
  pn_context_release(context);
}

/* Aliases of aliases, which unfold to great depth or size. */
static void test_aliases(void) {
  static char text[1 << 20];
  pn_context_t *context = api_context();
  for (int wide = 0; wide <= 1; ++wide) {
    int count = wide ? 60 : 20000;
    int size = snprintf(text, sizeof(text), "#a0 = [1]\n");
    for (int i = 1; i < count; ++i)
      size += snprintf(text + size, sizeof(text) - (size_t)size,
                       wide ? "#a%d = [#a%d, #a%d]\n" : "#a%d = [#a%d]\n", i,
                       i - 1, i - 1);
    pn_module_t *module;
    CHECK_SAYS(pn_module_parse(context, text, (size_t)size, "a", 0, &module),
               PN_ERROR_PARSE, wide ? "unfold" : "nested too deeply");
  }
  /* One alias, used often, is no harm. */
  CHECK_OK(parse_repeated(context,
                          "#a = [[[1]]]\nmodule attributes {test.a = [", "#a, ",
                          5000, "#a]} {}"));
  pn_context_release(context);
}

/* Our own files: what was written is read; damage is found. */
static void test_container(void) {
  pn_context_t *context = api_context();
  pn_module_t *module = api_parse(context, api_add), *read;
  const char *path = path_of("add.pn");
  CHECK_OK(pn_module_write_file(module, path, true));
  CHECK_OK(pn_module_read_file(context, path, 0, &read));
  static api_text_t before, after;
  pn_module_print(module, api_write, &before);
  pn_module_print(read, api_write, &after);
  CHECK(before.size == after.size &&
        memcmp(before.data, after.data, after.size) == 0);
  pn_module_destroy(read);
  static char data[1 << 16];
  size_t size = read_whole(path, data, sizeof(data));
  CHECK(size > 64);
  /* Cut short at every length past the magic number, and one byte too many. */
  for (size_t cut = 8; cut < size; ++cut)
    CHECK_IS(pn_module_parse(context, data, cut, "cut", 0, &read),
             PN_ERROR_CORRUPT);
  CHECK_IS(pn_module_parse(context, data, size + 1, "long", 0, &read),
           PN_ERROR_CORRUPT);
  for (size_t bit = 8 * 8; bit < 8 * size; ++bit) {
    data[bit / 8] = (char)(data[bit / 8] ^ (1 << bit % 8));
    pn_error_t *error = pn_module_parse(context, data, size, "bit", 0, &read);
    /* The writer's version (bytes 12 to 15) is for information. */
    bool is_version = bit / 8 >= 12 && bit / 8 < 16;
    CHECK(is_version ? !error
                     : pn_error_code(error) == PN_ERROR_CORRUPT ||
                           pn_error_code(error) == PN_ERROR_VERSION);
    pn_error_destroy(error);
    pn_module_destroy(read);
    data[bit / 8] = (char)(data[bit / 8] ^ (1 << bit % 8));
  }
  /* What stands behind the header is raw bytecode. */
  CHECK_SAYS(pn_module_parse(context, data + 32, size - 32, "raw", 0, &read),
             PN_ERROR_ARGUMENT, "raw MLIR bytecode");
  CHECK_OK(pn_module_parse(context, data + 32, size - 32, "raw",
                           PN_MODULE_TRUST_BYTECODE, &read));
  pn_module_destroy(read);
  CHECK_IS(pn_module_parse(context, data, size, "flags", 6, &read),
           PN_ERROR_ARGUMENT);
  pn_module_destroy(module);
  pn_context_release(context);
}

static void test_files(void) {
  pn_context_t *context = api_context();
  pn_module_t *module = api_parse(context, api_add), *read = NULL;
  CHECK_SAYS(pn_module_read_file(context, "/nonexistent/x", 0, &read),
             PN_ERROR_NOT_FOUND, "/nonexistent/x");
  CHECK_IS(pn_module_read_file(context, "/tmp", 0, &read), PN_ERROR_IO);
  CHECK_IS(pn_module_write_file(module, "/nonexistent/x", false),
           PN_ERROR_NOT_FOUND);
  CHECK_IS(pn_module_write_file(module, "/tmp", false), PN_ERROR_IO);
  /* A device is written, not replaced. */
  CHECK_OK(pn_module_write_file(module, "/dev/null", false));
  CHECK_SAYS(pn_module_write_file(module, "/dev/full", false), PN_ERROR_IO,
             "No space left");
  struct stat status;
  CHECK(stat("/dev/full", &status) == 0 && S_ISCHR(status.st_mode));
  CHECK(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode));
  /* Permissions follow the process's mask. */
  const char *path = path_of("text.mlir");
  mode_t mask = umask(0027);
  CHECK_OK(pn_module_write_file(module, path, false));
  (void)umask(mask);
  CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0640);
  CHECK_OK(pn_module_read_file(context, path, 0, &read));
  pn_module_destroy(read);
  pn_module_destroy(module);
  pn_context_release(context);
}

/* Modules of one context on several threads. */
static void *use_context(void *user) {
  for (int i = 0; i < 20; ++i) {
    pn_module_t *module = api_parse(user, api_add), *copy;
    CHECK_OK(pn_module_clone(module, &copy));
    pn_module_destroy(module);
    static _Thread_local api_text_t text;
    text.size = 0;
    pn_module_print(copy, api_write, &text);
    pn_module_t *again = api_parse(user, text.data);
    pn_module_destroy(again);
    pn_module_destroy(copy);
  }
  return NULL;
}

static void test_threads(void) {
  pn_context_t *context = api_context();
  pthread_t threads[4];
  for (size_t i = 0; i < COUNT_OF(threads); ++i)
    CHECK(pthread_create(&threads[i], NULL, use_context, context) == 0);
  for (size_t i = 0; i < COUNT_OF(threads); ++i)
    CHECK(pthread_join(threads[i], NULL) == 0);
  pn_context_release(context);
}

static void test_errors(void) {
  CHECK(pn_error_code(NULL) == PN_ERROR_NONE);
  CHECK(strcmp(pn_error_message(NULL), "") == 0);
  CHECK(pn_error_diagnostic_count(NULL) == 0);
  CHECK(strcmp(pn_error_code_name((pn_error_code_t)99), "internal") == 0);
  CHECK(strcmp(pn_error_code_name(PN_ERROR_VERSION), "version") == 0);
  pn_error_destroy(NULL);
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  CHECK_RUN(test_version);
  CHECK_RUN(test_context_options);
  CHECK_RUN(test_lifetimes);
  CHECK_RUN(test_null_arguments);
  CHECK_RUN(test_broken_text);
  CHECK_RUN(test_prefixes);
  CHECK_RUN(test_deep_nesting);
  CHECK_RUN(test_integer_lists);
  CHECK_RUN(test_positions);
  CHECK_RUN(test_aliases);
  CHECK_RUN(test_container);
  CHECK_RUN(test_files);
  CHECK_RUN(test_threads);
  CHECK_RUN(test_errors);
  (void)unlink(path_of("add.pn"));
  (void)unlink(path_of("text.mlir"));
  CHECK(rmdir(folder) == 0); /* nothing half-written was left */
  return check_result();
}
