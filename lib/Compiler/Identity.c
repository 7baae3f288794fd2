/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Identity.c: which builds of the library and of LLVM these are. */

#include "Compiler/Identity.h"

#include "llvm-c/Core.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>

/* The loaded object that holds an address, and its build ID. */
typedef struct pn_object_search {
  uintptr_t address;
  const unsigned char *id;
  size_t id_size;
} pn_object_search_t;

/* Looks for the build ID among the notes of a segment. */
static void read_notes(const char *notes, size_t size,
                       pn_object_search_t *search) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, notes, sizeof(note));
    size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
    size_t content = ((size_t)note.n_descsz + 3) & ~(size_t)3;
    if (name > size - sizeof(note) || content > size - sizeof(note) - name)
      return;
    const char *text = notes + sizeof(note);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        memcmp(text, "GNU", 4) == 0 && note.n_descsz) {
      search->id = (const unsigned char *)text + name;
      search->id_size = note.n_descsz;
      return;
    }
    notes = text + name + content;
    size -= sizeof(note) + name + content;
  }
}

static int visit_object(struct dl_phdr_info *info, size_t size, void *user) {
  (void)size;
  pn_object_search_t *search = user;
  bool is_it = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    uintptr_t start = info->dlpi_addr + header->p_vaddr;
    is_it |= header->p_type == PT_LOAD && search->address >= start &&
             search->address - start < header->p_memsz;
  }
  for (int i = 0; is_it && !search->id && i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type == PT_NOTE)
      read_notes((const char *)(info->dlpi_addr + header->p_vaddr),
                 header->p_memsz, search);
  }
  return is_it;
}

/* The build ID of the object that holds the address, a hash of its contents;
 * without one, what its file shows. */
static bool append_object(pn_buffer_t *buffer, const void *address) {
  pn_object_search_t search = {.address = (uintptr_t)address};
  (void)dl_iterate_phdr(visit_object, &search);
  for (size_t i = 0; i < search.id_size; ++i)
    pn_buffer_printf(buffer, "%02x", search.id[i]);
  pn_buffer_append_text(buffer, "\n");
  if (search.id_size)
    return true;
  Dl_info object;
  struct stat status;
  if (!dladdr(address, &object) || !object.dli_fname ||
      stat(object.dli_fname, &status) != 0)
    return false;
  pn_buffer_printf(buffer, "%s %lld %lld.%09ld %llu\n", object.dli_fname,
                   (long long)status.st_size, (long long)status.st_mtim.tv_sec,
                   status.st_mtim.tv_nsec, (unsigned long long)status.st_ino);
  return true;
}

bool pn_identity_append(pn_buffer_t *buffer) {
  pn_buffer_printf(buffer, "polynest %s llvm %s\n", pn_version_string(),
                   pn_llvm_version_string());
  /* ISO C has no conversion from function to object pointers; POSIX does. */
  bool (*ours)(pn_buffer_t *) = pn_identity_append;
  LLVMContextRef (*llvms)(void) = LLVMContextCreate;
  const void *addresses[2];
  memcpy(&addresses[0], &ours, sizeof(ours));
  memcpy(&addresses[1], &llvms, sizeof(llvms));
  return append_object(buffer, addresses[0]) &&
         append_object(buffer, addresses[1]) && !buffer->failed;
}
