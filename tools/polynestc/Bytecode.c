/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/Bytecode.c: raw MLIR bytecode, read in a child process. */

#include "Bytecode.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_SECONDS 60
/* Bytes of address space: the libraries take about 1 GiB of it. */
#define CHILD_BYTES ((rlim_t)16 << 30)

bool pn_is_raw_bytecode(const char *path) {
  static const char magic[4] = {'M', 'L', '\xef', 'R'};
  char start[4];
  struct stat status;
  /* Only a file can be read twice. */
  if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
    return false;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  ssize_t count = read(fd, start, sizeof(start));
  (void)close(fd);
  return count == (ssize_t)sizeof(start) && memcmp(start, magic, 4) == 0;
}

/* Lowers a limit to `value`; `now` holds the one in force. */
static struct rlimit lowered(struct rlimit now, rlim_t value) {
  if (now.rlim_cur == RLIM_INFINITY || now.rlim_cur > value)
    now.rlim_cur = value;
  return now;
}

static void limit_process(void) {
  struct rlimit bound;
  if (getrlimit(RLIMIT_CPU, &bound) == 0) {
    bound = lowered(bound, CHILD_SECONDS);
    (void)setrlimit(RLIMIT_CPU, &bound);
  }
  if (getrlimit(RLIMIT_AS, &bound) == 0) {
    bound = lowered(bound, CHILD_BYTES);
    (void)setrlimit(RLIMIT_AS, &bound);
  }
  if (getrlimit(RLIMIT_CORE, &bound) == 0) {
    bound = lowered(bound, 0);
    (void)setrlimit(RLIMIT_CORE, &bound);
  }
}

/* The child: reads `path` and writes `out` in our own format. */
static pn_exit_t convert(const char *path, const char *out) {
  limit_process();
  pn_context_t *context;
  pn_module_t *module = NULL;
  pn_error_t *error = pn_context_create(NULL, &context);
  if (!error)
    error =
        pn_module_read_file(context, path, PN_MODULE_TRUST_BYTECODE, &module);
  if (!error)
    error = pn_module_write_file(module, out, true);
  return error ? pn_report_error(error) : PN_EXIT_OK;
}

/* Runs the conversion in a child and says how it ended. */
static pn_exit_t convert_in_child(const char *path, const char *out) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0)
    _exit((int)convert(path, out));
  int status = 0;
  while (pid > 0 && waitpid(pid, &status, 0) < 0)
    if (errno != EINTR)
      pid = -1;
  if (pid < 0) {
    pn_report("error", "cannot start a process that reads '%s': %s", path,
              strerror(errno));
    return PN_EXIT_FAILURE;
  }
  if (WIFEXITED(status))
    return WEXITSTATUS(status) == 0 ? PN_EXIT_OK : PN_EXIT_FAILURE;
  pn_report("error", "'%s' is damaged: the bytecode reader ended with: %s",
            path, strsignal(WTERMSIG(status)));
  return PN_EXIT_FAILURE;
}

pn_exit_t pn_raw_bytecode_read(pn_context_t *context, const char *path,
                               pn_module_t **out_module) {
  char out[] = "/tmp/polynestc.XXXXXX";
  int fd = mkostemp(out, O_CLOEXEC);
  if (fd < 0) {
    pn_report("error", "cannot create '%s': %s", out, strerror(errno));
    return PN_EXIT_FAILURE;
  }
  (void)close(fd);
  pn_exit_t code = convert_in_child(path, out);
  if (code == PN_EXIT_OK) {
    pn_error_t *error =
        pn_module_read_file(context, out, PN_MODULE_DEFAULT, out_module);
    code = error ? pn_report_error(error) : PN_EXIT_OK;
  }
  (void)unlink(out);
  return code;
}
