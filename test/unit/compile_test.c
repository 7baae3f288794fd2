/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compile_test.c: options, stages, object files and libraries. */

#include "api.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/polynest-compile-test.XXXXXX";

/* While set, no program can be started. */
static bool no_programs;

/* Stands in front of libc's: the library finds this one first. */
__attribute__((visibility("default"))) int
posix_spawnp(pid_t *pid, const char *file,
             const posix_spawn_file_actions_t *actions,
             const posix_spawnattr_t *attributes, char *const argv[],
             char *const envp[]) {
  if (no_programs)
    return ENOENT;
  return posix_spawn(pid, file, actions, attributes, argv, envp);
}

static const char *path_of(const char *name) {
  static char path[256];
  (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
  return path;
}

/* Number of files in the folder. */
static int count_files(void) {
  DIR *dir = opendir(folder);
  int count = 0;
  while (dir && readdir(dir))
    ++count;
  if (dir)
    (void)closedir(dir);
  return count - 2; /* "." and ".." */
}

static void ignore(void *user, const char *data, size_t size) {
  (void)user;
  (void)data;
  (void)size;
}

static void test_options(void) {
  pn_target_t *target = api_host();
  pn_compile_options_t options = PN_COMPILE_OPTIONS_INIT;
  CHECK_OK(pn_pipeline_print(PN_STAGE_S3, target, &options, ignore, NULL));
  options.struct_size = 4;
  CHECK_SAYS(pn_pipeline_print(PN_STAGE_S3, target, &options, ignore, NULL),
             PN_ERROR_ARGUMENT, "struct_size 4");
  options = (pn_compile_options_t)PN_COMPILE_OPTIONS_INIT;
  options.opt_level = (pn_opt_level_t)7;
  CHECK_SAYS(pn_pipeline_print(PN_STAGE_S3, target, &options, ignore, NULL),
             PN_ERROR_ARGUMENT, "7");
  options = (pn_compile_options_t)PN_COMPILE_OPTIONS_INIT;
  options.numerics = (pn_numerics_t)3;
  CHECK_IS(pn_pipeline_print(PN_STAGE_S3, target, &options, ignore, NULL),
           PN_ERROR_ARGUMENT);
  options = (pn_compile_options_t)PN_COMPILE_OPTIONS_INIT;
  options.reserved[5] = 1;
  CHECK_SAYS(pn_pipeline_print(PN_STAGE_S3, target, &options, ignore, NULL),
             PN_ERROR_ARGUMENT, "reserved");
  options = (pn_compile_options_t)PN_COMPILE_OPTIONS_INIT;
  options.disabled_passes = "polynest-fold-views,polynest-no-such-pass";
  CHECK_SAYS(pn_pipeline_print(PN_STAGE_S3, target, &options, ignore, NULL),
             PN_ERROR_ARGUMENT, "'polynest-no-such-pass' is no pass");
  options.disabled_passes = "fold-view";
  CHECK_SAYS(pn_pipeline_print(PN_STAGE_S3, target, &options, ignore, NULL),
             PN_ERROR_ARGUMENT, "did you mean 'fold-views'?");
  /* What is much too long is cut short. */
  char name[200];
  memset(name, 'x', sizeof(name) - 1);
  name[sizeof(name) - 1] = '\0';
  options.disabled_passes = name;
  CHECK_SAYS(pn_pipeline_print(PN_STAGE_S3, target, &options, ignore, NULL),
             PN_ERROR_ARGUMENT, "known are unify-sizes, fold-views");
  CHECK_IS(pn_pipeline_print(PN_STAGE_INPUT, target, NULL, ignore, NULL),
           PN_ERROR_ARGUMENT);
  CHECK_IS(pn_pipeline_print((pn_stage_t)6, target, NULL, ignore, NULL),
           PN_ERROR_ARGUMENT);
  CHECK_IS(pn_pipeline_print(PN_STAGE_S1, NULL, NULL, ignore, NULL),
           PN_ERROR_ARGUMENT);
  pn_target_release(target);
}

/* The text of a stage names the passes that it runs, and disabling one takes
 * it out. */
static void test_pipeline_text(void) {
  static api_text_t all, some, same, plain;
  pn_target_t *target = api_host();
  pn_compile_options_t options = PN_COMPILE_OPTIONS_INIT;
  CHECK_OK(pn_pipeline_print(PN_STAGE_S3, target, NULL, api_write, &all));
  options.disabled_passes = "polynest-fold-views";
  CHECK_OK(pn_pipeline_print(PN_STAGE_S3, target, &options, api_write, &some));
  options.disabled_passes = ";fold-views,";
  CHECK_OK(pn_pipeline_print(PN_STAGE_S3, target, &options, api_write, &same));
  CHECK(strcmp(some.data, same.data) == 0);
  options.opt_level = PN_OPT_PLAIN;
  CHECK_OK(pn_pipeline_print(PN_STAGE_S3, target, &options, api_write, &plain));
  CHECK(strncmp(all.data, "builtin.module(", 15) == 0);
  CHECK(strstr(all.data, "polynest-fold-views") != NULL);
  CHECK(strstr(some.data, "polynest-fold-views") == NULL);
  CHECK(plain.size < some.size);
  pn_target_release(target);
}

/* Counts stages and prints the last one. */
typedef struct stage_log {
  int seen[6];
  api_text_t text;
} stage_log_t;

static void on_stage(void *user, pn_stage_t stage, const pn_module_t *module) {
  stage_log_t *log = user;
  ++log->seen[stage];
  log->text.size = 0;
  pn_module_print(module, api_write, &log->text);
}

/* Stage by stage, each fed in again as text. */
static void test_stages(void) {
  static stage_log_t log;
  pn_context_t *context = api_context();
  pn_target_t *target = api_host();
  pn_module_t *module = api_parse(context, api_add);
  pn_compile_options_t options = PN_COMPILE_OPTIONS_INIT;
  pn_compile_timing_t timing = {.struct_size = sizeof(timing)};
  options.stage_fn = on_stage;
  options.user = &log;
  pn_stage_t at = PN_STAGE_S5;
  CHECK_OK(pn_module_stage(module, &at));
  CHECK(at == PN_STAGE_INPUT);
  for (int s = PN_STAGE_S1; s <= (int)PN_STAGE_S5; ++s) {
    CHECK_OK(
        pn_compile_to_stage(module, (pn_stage_t)s, target, &options, &timing));
    CHECK(log.seen[s] == 1 && timing.stage_ns[s] > 0);
    CHECK(timing.total_ns >= timing.stage_ns[s]);
    pn_module_destroy(module);
    module = api_parse(context, log.text.data);
    CHECK_OK(pn_module_stage(module, &at));
    CHECK(at == (pn_stage_t)s);
  }
  /* A stage that is passed already is nothing to do. */
  CHECK_OK(pn_compile_to_stage(module, PN_STAGE_S2, target, &options, NULL));
  CHECK(log.seen[2] == 1);
  CHECK_IS(pn_compile_to_stage(module, (pn_stage_t)6, target, NULL, NULL),
           PN_ERROR_ARGUMENT);
  CHECK_IS(pn_compile_to_stage(NULL, PN_STAGE_S1, target, NULL, NULL),
           PN_ERROR_ARGUMENT);
  CHECK_IS(pn_compile_to_stage(module, PN_STAGE_S1, NULL, NULL, NULL),
           PN_ERROR_ARGUMENT);
  timing.struct_size = 1;
  CHECK_IS(pn_compile_to_stage(module, PN_STAGE_S1, target, NULL, &timing),
           PN_ERROR_ARGUMENT);
  pn_module_destroy(module);
  module = api_parse(context, "module attributes {polynest.stage = \"s9\"} {}");
  CHECK_IS(pn_module_stage(module, &at), PN_ERROR_VERIFY);
  pn_module_destroy(module);
  pn_target_release(target);
  pn_context_release(context);
}

/* Programs that must be refused, with what the message must say. */
static const struct {
  const char *text, *part;
} refused[] = {
    {"func.func @f(%a: tensor<*xf32>) { return }", "unranked"},
    {"func.func @f(%a: tensor<4xcomplex<f32>>) { return }", "complex"},
    {"func.func @f(%a: tensor<4xi4>) { return }", "i4"},
    {"func.func @f(%a: tensor<4xui8>) { return }", "ui8"},
    {"func.func @f(%a: tensor<4xf32, \"enc\">) { return }", "encoding"},
    {"func.func @f(%a: vector<4xf32>) { return }", "tensors and memrefs"},
    {"func.func @f(%a: memref<4xf32, 1>) { return }", "memory space"},
    {"func.func @f(%a: memref<4xf32, strided<[1], offset: 3>>) { return }",
     "offset"},
    {"func.func @f(%a: memref<4xf32>) -> memref<4xf32> {\n"
     "  return %a : memref<4xf32>\n}",
     "returns a memref"},
    {"func.func @f(%a: memref<?xf32> {polynest.result}) { return }",
     "dynamic size"},
    {"func.func @f(%a: memref<1xf32> {polynest.result}, %b: f32) { return }",
     "results must be last"},
    {"func.func @f(%a: f32 {polynest.result}) { return }", "no memref"},
    {"func.func @f(%c: i1) {\n  cf.cond_br %c, ^a, ^b\n^a:\n  return\n"
     "^b:\n  return\n}",
     "several blocks"},
    {"func.func private @g(f32) -> f32\nfunc.func @f(%x: f32) -> f32 {\n"
     "  %r = func.call @g(%x) : (f32) -> f32\n  return %r : f32\n}",
     "function 'g' is called and has no body"},
    {"module { module { func.func @f() { return } } }", "nested modules"},
    {"func.func @f(%n: tensor<i64>) -> tensor<?xf32> {\n"
     "  %i = tensor.extract %n[] : tensor<i64>\n"
     "  %j = arith.index_cast %i : i64 to index\n"
     "  %r = tensor.empty(%j) : tensor<?xf32>\n"
     "  return %r : tensor<?xf32>\n}",
     "size depends on data"},
};

static void test_refused(void) {
  pn_context_t *context = api_context();
  pn_target_t *target = api_host();
  for (size_t i = 0; i < COUNT_OF(refused); ++i) {
    pn_module_t *module = NULL;
    pn_error_t *error = pn_module_parse(
        context, refused[i].text, strlen(refused[i].text), NULL, 0, &module);
    if (!error)
      error = pn_compile_to_stage(module, PN_STAGE_S5, target, NULL, NULL);
    CHECK(pn_error_code(error) == PN_ERROR_UNSUPPORTED ||
          pn_error_code(error) == PN_ERROR_PARSE);
    pn_diagnostic_t first;
    CHECK(pn_error_diagnostic_at(error, 0, &first) && first.line > 0);
    if (!strstr(pn_error_message(error), refused[i].part))
      fprintf(stderr, "case %zu: %s\n", i, pn_error_message(error));
    CHECK(strstr(pn_error_message(error), refused[i].part) != NULL);
    pn_error_destroy(error);
    pn_module_destroy(module);
  }
  pn_target_release(target);
  pn_context_release(context);
}

static void test_objects(void) {
  pn_context_t *context = api_context();
  pn_module_t *module = api_parse(context, api_add);
  pn_target_t *host = api_host();
  int before = count_files();
  /* Code for every chip that is known, whatever this machine is. */
  const char *name;
  for (size_t i = 0; (name = pn_target_known_name(i)) != NULL; ++i) {
    pn_target_t *target;
    CHECK_OK(pn_target_create_by_name(name, &target));
    CHECK_OK(pn_compile_to_object(module, target, NULL, path_of("x.o")));
    struct stat status;
    CHECK(stat(path_of("x.o"), &status) == 0 && status.st_size > 0);
    CHECK(unlink(path_of("x.o")) == 0);
    pn_target_release(target);
  }
  CHECK_IS(pn_compile_to_object(module, host, NULL, "/nonexistent/x.o"),
           PN_ERROR_NOT_FOUND);
  CHECK_IS(pn_compile_to_object(module, host, NULL, "/dev/full"), PN_ERROR_IO);
  CHECK_IS(pn_compile_to_object(module, host, NULL, NULL), PN_ERROR_ARGUMENT);
  CHECK_IS(pn_compile_to_object(NULL, host, NULL, "x"), PN_ERROR_ARGUMENT);
  CHECK(count_files() == before);
  pn_target_release(host);
  pn_module_destroy(module);
  pn_context_release(context);
}

/* A target of another machine cannot be run here. */
static void test_foreign_target(void) {
  pn_context_t *context = api_context();
  pn_module_t *module = api_parse(context, api_add);
  pn_target_t *host = api_host();
  pn_target_info_t info = {.struct_size = sizeof(info)};
  CHECK_OK(pn_target_get_info(host, &info));
  bool is_x86 = strncmp(info.llvm_triple, "x86_64", 6) == 0;
  pn_target_t *other;
  CHECK_OK(pn_target_create_by_name(is_x86 ? "neoverse-v1" : "znver4", &other));
  pn_executable_t *executable = (pn_executable_t *)1;
  CHECK_SAYS(pn_compile_to_executable(module, other, NULL, NULL, &executable),
             PN_ERROR_TARGET, "does not run on this machine");
  CHECK(executable == NULL);
  CHECK_IS(pn_compile_to_library(module, other, NULL, path_of("x.so"), NULL),
           PN_ERROR_TARGET);
  CHECK(count_files() == 0);
  pn_target_release(other);
  pn_target_release(host);
  pn_module_destroy(module);
  pn_context_release(context);
}

/* A file that cannot be written to its end leaves nothing. */
static void test_file_limit(void) {
  pn_context_t *context = api_context();
  pn_module_t *module = api_parse(context, api_add);
  pn_target_t *host = api_host();
  struct rlimit before;
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const struct rlimit small = {64, before.rlim_max};
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
  pn_error_t *object =
      pn_compile_to_object(module, host, NULL, path_of("add.o"));
  pn_error_t *text = pn_module_write_file(module, path_of("add.mlir"), false);
  CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
  (void)signal(SIGXFSZ, handler);
  CHECK_SAYS(object, PN_ERROR_IO, "add.o");
  CHECK_SAYS(text, PN_ERROR_IO, "add.mlir");
  CHECK(count_files() == 0);
  pn_target_release(host);
  pn_module_destroy(module);
  pn_context_release(context);
}

/* Writes the first `size` bytes, with one bit flipped where `flip` is one. */
static void write_part(const char *path, const char *data, size_t size,
                       size_t flip) {
  FILE *file = fopen(path, "wb");
  CHECK(file);
  for (size_t i = 0; file && i < size; ++i)
    (void)fputc(i == flip ? data[i] ^ 1 : data[i], file);
  if (file)
    (void)fclose(file);
}

/* A library that is cut short or changed is refused before it is mapped. */
static void test_damaged_libraries(void) {
  static char library[256], part[256], data[1 << 20];
  (void)strcpy(library, path_of("add.so"));
  (void)strcpy(part, path_of("part.so"));
  pn_context_t *context = api_context();
  pn_module_t *module = api_parse(context, api_add);
  pn_target_t *host = api_host();
  CHECK_OK(pn_compile_to_library(module, host, NULL, library, NULL));
  FILE *file = fopen(library, "rb");
  size_t size = file ? fread(data, 1, sizeof(data), file) : 0;
  if (file)
    (void)fclose(file);
  CHECK(size > 4096 && size < sizeof(data));
  const size_t seal = 24, none = sizeof(data);
  pn_executable_t *executable;
  for (size_t cut = 0; cut < size - seal;
       cut += cut < 128 ? 1 : size / 97 + 1) {
    write_part(part, data, cut, none);
    CHECK_SAYS(pn_executable_load(part, &executable), PN_ERROR_CORRUPT,
               "cut short");
    CHECK(!executable);
  }
  write_part(part, data, size - seal - 1, none);
  CHECK_IS(pn_executable_load(part, &executable), PN_ERROR_CORRUPT);
  for (size_t flip = 64; flip < size; flip += size / 61) {
    write_part(part, data, size, flip);
    CHECK_IS(pn_executable_load(part, &executable), PN_ERROR_CORRUPT);
  }
  write_part(part, data, size, size - seal - 1);
  CHECK_SAYS(pn_executable_load(part, &executable), PN_ERROR_CORRUPT,
             "checksum");
  /* Tools that rewrite a library drop the checksum. */
  write_part(part, data, size - seal, none);
  CHECK_OK(pn_executable_load(part, &executable));
  pn_executable_release(executable);
  /* Without a section table the segments alone tell. */
  memset(data + offsetof(Elf64_Ehdr, e_shoff), 0, sizeof(Elf64_Off));
  memset(data + offsetof(Elf64_Ehdr, e_shnum), 0, sizeof(Elf64_Half));
  write_part(part, data, size / 2, none);
  CHECK_SAYS(pn_executable_load(part, &executable), PN_ERROR_CORRUPT,
             "cut short");
  CHECK(unlink(library) == 0 && unlink(part) == 0);
  pn_target_release(host);
  pn_module_destroy(module);
  pn_context_release(context);
}

static void test_libraries(void) {
  pn_context_t *context = api_context();
  pn_module_t *module = api_parse(context, api_add);
  pn_target_t *host = api_host();
  static char library[256], header[256];
  (void)strcpy(library, path_of("add.so"));
  (void)strcpy(header, path_of("add.h"));
  CHECK_OK(pn_compile_to_library(module, host, NULL, library, header));
  CHECK(count_files() == 2);
  pn_executable_t *executable;
  CHECK_OK(pn_executable_load(library, &executable));
  CHECK(pn_executable_entry_count(executable) == 1);
  size_t code = pn_executable_code_bytes(executable);
  CHECK(code > 4096 && code < (1u << 20));
  CHECK(strcmp(pn_entry_name(pn_executable_entry_at(executable, 0)), "add") ==
        0);
  CHECK(pn_executable_entry_at(executable, 1) == NULL);
  pn_executable_release(executable);
  /* What was unloaded is not called in a forked process. */
  int status = -1;
  pid_t pid = fork();
  if (pid == 0)
    _exit(7);
  CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
        WEXITSTATUS(status) == 7);
  CHECK_IS(pn_executable_load(header, &executable), PN_ERROR_IO);
  CHECK(executable == NULL);
  CHECK_IS(pn_executable_load("/nonexistent/x.so", &executable), PN_ERROR_IO);
  CHECK_IS(pn_executable_load(NULL, &executable), PN_ERROR_ARGUMENT);
  CHECK_SAYS(pn_executable_load("libm.so.6", &executable), PN_ERROR_IO,
             "libm.so.6");
  CHECK(unlink(library) == 0 && unlink(header) == 0);
  /* Nothing half-written is left where it cannot be done. */
  CHECK_IS(pn_compile_to_library(module, host, NULL, "/nonexistent/x.so", NULL),
           PN_ERROR_NOT_FOUND);
  CHECK_SAYS(pn_compile_to_library(module, host, NULL, "/dev/full", NULL),
             PN_ERROR_IO, "/dev/full");
  CHECK_IS(pn_compile_to_library(module, host, NULL, folder, NULL),
           PN_ERROR_IO);
  CHECK_IS(
      pn_compile_to_library(module, host, NULL, library, "/nonexistent/x.h"),
      PN_ERROR_NOT_FOUND);
  CHECK(count_files() == 0);
  no_programs = true;
  CHECK_SAYS(pn_compile_to_library(module, host, NULL, library, NULL),
             PN_ERROR_LINK, "no linker");
  no_programs = false;
  CHECK(count_files() == 0);
  pn_target_release(host);
  pn_module_destroy(module);
  pn_context_release(context);
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  /* Compilation registers by itself; before or again, it makes no odds. */
  pn_passes_register();
  pn_passes_register();
  CHECK_RUN(test_options);
  CHECK_RUN(test_pipeline_text);
  CHECK_RUN(test_stages);
  CHECK_RUN(test_refused);
  CHECK_RUN(test_objects);
  CHECK_RUN(test_foreign_target);
  CHECK_RUN(test_file_limit);
  CHECK_RUN(test_libraries);
  CHECK_RUN(test_damaged_libraries);
  CHECK(rmdir(folder) == 0);
  return check_result();
}
