/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Library.c: object code to a shared library. */

#include "Compiler/Library.h"

#include "Compiler/File.h"
#include "Compiler/Header.h"
#include "Compiler/LibraryFile.h"
#include "Compiler/Signature.h"
#include "Support/Buffer.h"
#include "Support/Error.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Linkers, in order of preference. Each is called as a linker, not as a
 * compiler driver, so that no compiler need be installed. */
static const char *const linkers[] = {
    "ld.lld-22", "/usr/lib/llvm-22/bin/ld.lld", "ld.lld", "ld"};

/* What a library of ours shows beside its entries. */
static const char *const runtime_exports[] = {
    "pn_rt_context_create", "pn_rt_context_destroy", "pn_thread_count_set",
    "pn_thread_count_get", "pn_parallel_runtime_name"};

/* What each entry's own <entry>_problem stands for. */
static const char library_problem[] = "polynest_library_problem";

#if defined(__x86_64__)
#define HOST_ARCH "x86_64"
#elif defined(__aarch64__)
#define HOST_ARCH "aarch64"
#else
#define HOST_ARCH "unknown"
#endif

#define EXPORT_COUNT (sizeof(runtime_exports) / sizeof(runtime_exports[0]))

/* Folder of the shared object that holds `address`. */
static bool folder_of(const void *address, pn_buffer_t *folder) {
  Dl_info info;
  if (!dladdr(address, &info) || !info.dli_fname)
    return false;
  const char *slash = strrchr(info.dli_fname, '/');
  if (!slash)
    return false;
  pn_buffer_append(folder, info.dli_fname, (size_t)(slash - info.dli_fname));
  return !folder->failed;
}

/* The runtime archive lies beside the library. */
static pn_error_t *find_runtime(pn_buffer_t *path) {
  if (folder_of((const void *)&linkers, path)) {
    pn_buffer_append_text(path, "/libpolynest_rt.a");
    if (!path->failed && access(path->data, R_OK) == 0)
      return NULL;
  }
  if (path->failed)
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  return pn_error_create(PN_ERROR_LINK,
                         "the runtime archive '%s' cannot be read",
                         pn_buffer_text(path));
}

/* Appends the path of the shared object that defines `address`, so that the
 * library names what it needs. */
static void append_object_of(const void *address, pn_buffer_t *path) {
  Dl_info info;
  if (dladdr(address, &info) && info.dli_fname)
    pn_buffer_append_text(path, info.dli_fname);
}

/* Runs a program and waits; its messages go to `log_path`. Returns its exit
 * status, 127 where it cannot be started, or -1 for a signal. */
static int run_program(char *const *argv, const char *log_path) {
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0)
    return 127;
  (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                         O_RDONLY, 0);
  (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log_path,
                                         O_WRONLY | O_TRUNC, 0);
  (void)posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO,
                                         STDERR_FILENO);
  pid_t pid;
  int status = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
  (void)posix_spawn_file_actions_destroy(&actions);
  if (status != 0)
    return 127;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR)
      return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Files of one link, all beside the library. */
typedef struct pn_link_files {
  pn_buffer_t object, script, output, log, runtime, libc, libm;
  pn_buffer_t aliases; /* arguments of the linker, each with its NUL */
  size_t alias_count;
} pn_link_files_t;

static pn_error_t *link_failed(const pn_link_files_t *files, int status) {
  if (status == 127)
    return pn_error_create(
        PN_ERROR_LINK,
        "no linker found: install lld-22 (tried ld.lld-22, ld.lld and ld)");
  pn_buffer_t text = {0};
  pn_error_t *ignored = pn_file_read(pn_buffer_text(&files->log), &text);
  pn_error_destroy(ignored);
  pn_error_t *error =
      pn_error_create(PN_ERROR_LINK, "the linker failed with status %d: %s",
                      status, pn_buffer_text(&text));
  pn_buffer_clear(&text);
  return error;
}

#define MAX_ARGUMENTS (32 + 2 * EXPORT_COUNT)

/* Appends arguments up to a NULL. */
static void add_arguments(const char **argv, size_t *count,
                          const char *const *more) {
  while (*more)
    argv[(*count)++] = *more++;
}

/* Tries the linkers until one can be started. */
static pn_error_t *run_linker(const pn_link_files_t *files) {
  const char *const fixed[] = {"-shared", "-Bsymbolic",  "--gc-sections",
                               "-z",      "noexecstack", NULL};
  const char *const inputs[] = {"-u",
                                library_problem,
                                "--version-script",
                                files->script.data,
                                "-o",
                                files->output.data,
                                files->object.data,
                                files->runtime.data,
                                files->libc.data,
                                files->libm.data,
                                NULL};
  const char **argv = calloc(MAX_ARGUMENTS + files->alias_count, sizeof(*argv));
  if (!argv)
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  int status = 127;
  for (size_t i = 0; status == 127 && i < sizeof(linkers) / sizeof(*linkers);
       ++i) {
    size_t count = 0;
    argv[count++] = linkers[i];
    add_arguments(argv, &count, fixed);
    /* Nothing in the object asks for what callers alone use. */
    for (size_t e = 0; e < EXPORT_COUNT; ++e) {
      argv[count++] = "-u";
      argv[count++] = runtime_exports[e];
    }
    const char *alias = files->aliases.data;
    for (size_t a = 0; a < files->alias_count; ++a, alias += strlen(alias) + 1)
      argv[count++] = alias;
    add_arguments(argv, &count, inputs);
    argv[count] = NULL;
    status = run_program((char *const *)argv, files->log.data);
  }
  free(argv);
  return status == 0 ? NULL : link_failed(files, status);
}

/* A version script that shows the entries and hides everything else. */
static void append_script(const pn_signature_t *signature,
                          pn_buffer_t *script) {
  pn_buffer_append_text(script, "{ global: polynest_info; ");
  for (size_t i = 0; i < EXPORT_COUNT; ++i)
    pn_buffer_printf(script, "%s; ", runtime_exports[i]);
  for (size_t i = 0; i < signature->entry_count; ++i) {
    const char *name = signature->entries[i].symbol;
    pn_buffer_printf(script,
                     "\"%s\"; \"%s_packed\"; \"%s_shapes\"; "
                     "\"%s_state_size\"; \"%s_init\"; \"%s_problem\"; ",
                     name, name, name, name, name, name);
  }
  pn_buffer_append_text(script, "local: *; };\n");
}

/* Lets <entry>_problem of each entry stand for the library's. */
static void append_aliases(const pn_signature_t *signature,
                           pn_link_files_t *files) {
  for (size_t i = 0; i < signature->entry_count; ++i) {
    pn_buffer_printf(&files->aliases, "--defsym=%s_problem=%s",
                     signature->entries[i].symbol, library_problem);
    pn_buffer_append(&files->aliases, "", 1);
  }
  files->alias_count = signature->entry_count;
}

/* Makes the temporary files, links, and moves the result into place. */
static pn_error_t *link_library(LLVMMemoryBufferRef object,
                                const pn_signature_t *signature,
                                const char *path) {
  if (pn_file_is_special(path))
    return pn_error_create(PN_ERROR_IO,
                           "cannot write '%s': it is no regular file", path);
  pn_link_files_t files = {0};
  pn_buffer_t script = {0};
  append_script(signature, &script);
  append_aliases(signature, &files);
  /* A function that no sanitizer or allocator puts another in front of. */
  append_object_of((const void *)(uintptr_t)&getauxval, &files.libc);
  append_object_of((const void *)(uintptr_t)(double (*)(double, double))fmod,
                   &files.libm);
  pn_error_t *error = find_runtime(&files.runtime);
  if (!error)
    error = pn_file_temporary(path, 0600, &files.object);
  if (!error)
    error = pn_file_temporary(path, 0600, &files.script);
  if (!error)
    error = pn_file_temporary(path, 0600, &files.log);
  if (!error)
    error = pn_file_temporary(path, 0600, &files.output);
  if (!error)
    error = pn_file_write(files.object.data, LLVMGetBufferStart(object),
                          LLVMGetBufferSize(object), 0600);
  if (!error)
    error =
        script.failed || files.libc.failed || files.libm.failed ||
                files.aliases.failed
            ? pn_error_create(PN_ERROR_MEMORY, "out of memory")
            : pn_file_write(files.script.data, script.data, script.size, 0600);
  if (!error)
    error = run_linker(&files);
  if (!error)
    error = pn_library_seal(files.output.data);
  if (!error)
    error = pn_file_rename(files.output.data, path);
  pn_buffer_t *temporaries[] = {&files.object, &files.script, &files.log,
                                &files.output};
  for (size_t i = 0; i < sizeof(temporaries) / sizeof(temporaries[0]); ++i) {
    if (temporaries[i]->size)
      (void)unlink(temporaries[i]->data);
    pn_buffer_clear(temporaries[i]);
  }
  pn_buffer_clear(&files.runtime);
  pn_buffer_clear(&files.libc);
  pn_buffer_clear(&files.libm);
  pn_buffer_clear(&files.aliases);
  pn_buffer_clear(&script);
  return error;
}

/* Finds the text of `polynest_info` in the object file. */
static pn_error_t *read_signature(LLVMMemoryBufferRef object,
                                  pn_signature_t *out_signature) {
  *out_signature = (pn_signature_t){0};
  static const char start[] = "polynest 2\n";
  const char *data = LLVMGetBufferStart(object);
  size_t size = LLVMGetBufferSize(object);
  const char *found = memmem(data, size, start, sizeof(start) - 1);
  if (!found || !memchr(found, 0, size - (size_t)(found - data)))
    return pn_error_create(PN_ERROR_INTERNAL,
                           "the object has no description of its entries");
  return pn_signature_parse(found, out_signature);
}

/* Writes the header to a temporary file beside its place. */
static pn_error_t *prepare_header(const pn_signature_t *signature,
                                  const char *path, pn_buffer_t *out_name) {
  if (pn_file_is_special(path))
    return pn_error_create(PN_ERROR_IO,
                           "cannot write '%s': it is no regular file", path);
  pn_buffer_t text = {0};
  pn_header_append(signature, path, &text);
  pn_error_t *error = text.failed
                          ? pn_error_create(PN_ERROR_MEMORY, "out of memory")
                          : pn_file_temporary(path, 0666, out_name);
  if (!error) {
    error = pn_file_write(out_name->data, text.data, text.size, 0666);
    if (error) {
      (void)unlink(out_name->data);
      pn_buffer_clear(out_name);
    }
  }
  pn_buffer_clear(&text);
  return error;
}

pn_error_t *pn_library_write(LLVMMemoryBufferRef object,
                             const pn_target_info_t *target,
                             const char *library_path,
                             const char *header_path) {
  if (strncmp(target->llvm_triple, HOST_ARCH, strlen(HOST_ARCH)) != 0)
    return pn_error_create(
        PN_ERROR_TARGET,
        "a library for '%s' needs that machine's runtime, but this one has "
        "that of " HOST_ARCH "; write an object file and link it there",
        target->llvm_triple);
  pn_signature_t signature;
  pn_buffer_t header = {0};
  pn_error_t *error = read_signature(object, &signature);
  /* Both files are ready before the first one appears. */
  if (!error && header_path)
    error = prepare_header(&signature, header_path, &header);
  if (!error)
    error = link_library(object, &signature, library_path);
  if (!error && header.size) {
    error = pn_file_rename(header.data, header_path);
    if (error)
      (void)unlink(library_path);
  } else if (header.size) {
    (void)unlink(header.data);
  }
  pn_buffer_clear(&header);
  pn_signature_clear(&signature);
  return error;
}
