/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Binding.c: finds the OpenMP runtime of the process.
 *
 * One that is already there comes first, even if it was loaded privately under
 * another file name, as frameworks do with bundled copies: it is the one whose
 * number of threads the host sets, and two of them would mean two sets of
 * threads that spin on the same cores.
 */
#include "Runtime/Binding.h"

#include "Runtime/Environment.h"
#include "Runtime/Fork.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

typedef enum pn_choice {
  PN_CHOICE_NONE = 1,    /* own threads */
  PN_CHOICE_ANY = 2,     /* any OpenMP runtime */
  PN_CHOICE_LIBGOMP = 3, /* GNU's alone */
  PN_CHOICE_LIBOMP = 4   /* LLVM's or Intel's alone */
} pn_choice_t;

/* Process-wide, guarded by lock; decided is published once it is filled. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pn_binding_t openmp, own_threads = {.name = "threads"};
static _Atomic(const pn_binding_t *) decided;
static bool forked;

static pn_choice_t choice_read(void) {
  const char *text = pn_env_string("POLYNEST_OPENMP");
  if (text && !strcmp(text, "any"))
    return PN_CHOICE_ANY;
  if (text && !strcmp(text, "libgomp"))
    return PN_CHOICE_LIBGOMP;
  if (text && !strcmp(text, "libomp"))
    return PN_CHOICE_LIBOMP;
  return PN_CHOICE_NONE;
}

/* Converts what dlsym gives without the cast that ISO C lacks. */
static bool symbol_get(void *library, const char *name, void *out_function) {
  void *symbol = dlsym(library, name);
  memcpy(out_function, &symbol, sizeof symbol);
  return symbol != NULL;
}

/* Fills the binding from a library, if it is an OpenMP runtime that the choice
 * admits. __kmpc_fork_call tells LLVM's and Intel's from GNU's. */
static bool library_bind(void *library, pn_choice_t choice) {
  pn_binding_t found = {.name = "libgomp"};
  void (*kmpc)(void) = NULL;
  if (symbol_get(library, "__kmpc_fork_call", &kmpc))
    found.name = "libomp";
  bool gnu = !kmpc;
  /* A forked child: GNU's threads are gone and it waits for them for ever. */
  if ((gnu && (choice == PN_CHOICE_LIBOMP || forked)) ||
      (!gnu && choice == PN_CHOICE_LIBGOMP))
    return false;
  if (!symbol_get(library, "GOMP_parallel", &found.parallel) ||
      !symbol_get(library, "omp_get_thread_num", &found.thread_index) ||
      !symbol_get(library, "omp_get_num_threads", &found.thread_count) ||
      !symbol_get(library, "omp_get_max_threads", &found.thread_limit) ||
      !symbol_get(library, "omp_in_parallel", &found.in_parallel))
    return false;
  openmp = found;
  return true;
}

/* The runtime that the program itself would call. Its own handle is asked for,
 * so that all entries come from one library; a program that has the runtime
 * linked in statically has no file of that name, hence the second try. */
static bool global_bind(pn_choice_t choice) {
  void *entry = dlsym(RTLD_DEFAULT, "GOMP_parallel");
  Dl_info info;
  if (!entry)
    return false;
  void *library = NULL;
  if (dladdr(entry, &info) && info.dli_fname)
    library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (!library)
    library = dlopen(NULL, RTLD_NOW);
  return library && library_bind(library, choice);
}

typedef struct pn_loaded_search {
  int skip; /* matches to pass over */
  char path[PATH_MAX];
} pn_loaded_search_t;

static bool is_openmp_file(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *file = slash ? slash + 1 : path;
  return strstr(file, "libgomp") || strstr(file, "libomp") ||
         strstr(file, "libiomp5");
}

/* Only notes the name: the loader's lock is held during the walk. */
static int loaded_visit(struct dl_phdr_info *info, size_t bytes, void *data) {
  pn_loaded_search_t *search = data;
  (void)bytes;
  if (!info->dlpi_name || !is_openmp_file(info->dlpi_name) ||
      strlen(info->dlpi_name) >= sizeof search->path || search->skip-- > 0)
    return 0;
  memcpy(search->path, info->dlpi_name, strlen(info->dlpi_name) + 1);
  return 1;
}

/* Runtimes loaded privately, in load order. */
static bool loaded_bind(pn_choice_t choice) {
  pn_loaded_search_t search;
  for (int index = 0;; ++index) {
    search.skip = index;
    if (!dl_iterate_phdr(loaded_visit, &search))
      return false;
    void *library = dlopen(search.path, RTLD_NOW | RTLD_NOLOAD);
    if (library && library_bind(library, choice))
      return true;
    if (library)
      dlclose(library);
  }
}

/* Never unloaded again: its threads outlive every call. libgomp comes first
 * because frameworks ask for it by this very name, so that one that is imported
 * later finds ours instead of bringing a second runtime; and it spins for about
 * a millisecond after a loop, libomp for 200. */
static bool fresh_bind(pn_choice_t choice) {
  static const char *const files[] = {"libgomp.so.1", "libomp.so.5"};
  static const pn_choice_t kinds[] = {PN_CHOICE_LIBGOMP, PN_CHOICE_LIBOMP};
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    if (choice != PN_CHOICE_ANY && choice != kinds[i])
      continue;
    void *library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library && library_bind(library, choice))
      return true;
    if (library)
      dlclose(library);
  }
  return false;
}

/* Our own threads, as many as an OpenMP runtime that is there allows. */
static const pn_binding_t *own_bind(void) {
  if (global_bind(PN_CHOICE_ANY) || loaded_bind(PN_CHOICE_ANY)) {
    own_threads.thread_limit = openmp.thread_limit;
    own_threads.in_parallel = openmp.in_parallel;
  }
  return &own_threads;
}

/* Under the lock. A child never loads a runtime beside one that died in the
 * fork. */
static const pn_binding_t *decide(bool may_load) {
  const pn_binding_t *binding = atomic_load(&decided);
  if (binding)
    return binding;
  pn_choice_t choice = choice_read();
  if (choice == PN_CHOICE_NONE)
    binding = own_bind();
  else if (global_bind(choice) || loaded_bind(choice))
    binding = &openmp;
  else if (may_load)
    binding = !forked && fresh_bind(choice) ? &openmp : own_bind();
  atomic_store(&decided, binding);
  return binding;
}

const pn_binding_t *pn_binding_peek(void) {
  return atomic_load_explicit(&decided, memory_order_acquire);
}

const pn_binding_t *pn_binding_get(void) {
  const pn_binding_t *binding = pn_binding_peek();
  if (binding)
    return binding;
  pthread_mutex_lock(&lock);
  binding = decide(true);
  pthread_mutex_unlock(&lock);
  return binding;
}

const pn_binding_t *pn_binding_find(void) {
  const pn_binding_t *binding = pn_binding_peek();
  if (binding)
    return binding;
  pthread_mutex_lock(&lock);
  binding = decide(false);
  pthread_mutex_unlock(&lock);
  return binding;
}

bool pn_binding_in_host_region(const pn_binding_t *binding) {
  return binding && !binding->parallel && binding->in_parallel &&
         binding->in_parallel();
}

static void binding_fork_prepare(void) { pthread_mutex_lock(&lock); }

static void binding_fork_parent(void) { pthread_mutex_unlock(&lock); }

/* libomp repairs itself in a child; libgomp does not. */
static void binding_fork_child(void) {
  forked = true;
  if (pn_binding_peek() == &openmp && !strcmp(openmp.name, "libgomp"))
    atomic_store(&decided, &own_threads);
  pthread_mutex_unlock(&lock);
}

/* At load, so that a first parallel call in a child knows that it is in one. */
__attribute__((constructor)) static void binding_fork_register(void) {
  (void)pn_fork_handlers_register(binding_fork_prepare, binding_fork_parent,
                                  binding_fork_child);
}
