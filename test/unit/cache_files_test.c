/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cache_files_test.c: entries of a cache as files, whatever happens to them. */

#include "Compiler/CacheFiles.h"
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NO_LIMIT ((uint64_t)1 << 40)

static char folder[] = "/tmp/polynest-cache-files.XXXXXX";

static const char *path_of(const char *name) {
  static char path[512];
  (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
  return path;
}

static pn_cache_key_t key_of(unsigned number) {
  pn_cache_key_t key = {{0}};
  memcpy(key.bytes, &number, sizeof(number));
  return key;
}

static const char *name_of(const pn_cache_key_t *key) {
  static char name[PN_CACHE_KEY_TEXT + 8];
  pn_cache_key_print(key, name);
  memcpy(name + PN_CACHE_KEY_TEXT, ".pnc", 5);
  return name;
}

/* Stores; whether that works, with no reason left or one. */
static bool store(const char *directory, unsigned number, const void *data,
                  size_t size, uint64_t limit) {
  pn_cache_key_t key = key_of(number);
  pn_buffer_t reason = {0};
  bool stored =
      pn_cache_file_store(directory, &key, data, size, limit, &reason);
  CHECK(stored == (reason.size == 0));
  pn_buffer_clear(&reason);
  return stored;
}

/* Looks up; found data must be `size` bytes equal to `data`. */
static pn_cache_find_t find(unsigned number, const void *data, size_t size) {
  pn_cache_key_t key = key_of(number);
  pn_buffer_t found = {0}, reason = {0};
  pn_cache_find_t answer = pn_cache_file_find(folder, &key, &found, &reason);
  CHECK(!reason.size);
  if (answer == PN_CACHE_FIND_FOUND)
    CHECK(found.size == size && (!size || !memcmp(found.data, data, size)));
  else
    CHECK(!found.size);
  pn_buffer_clear(&found);
  return answer;
}

static uint64_t count(uint64_t *out_bytes) {
  uint64_t entries, bytes;
  pn_cache_file_count(folder, &entries, &bytes);
  if (out_bytes)
    *out_bytes = bytes;
  return entries;
}

/* Files of any name in the folder. */
static int count_files(void) {
  DIR *dir = opendir(folder);
  int files = 0;
  for (struct dirent *item; dir && (item = readdir(dir));)
    files += item->d_name[0] != '.' || strlen(item->d_name) > 2;
  if (dir)
    (void)closedir(dir);
  return files;
}

static void clear(void) {
  pn_buffer_t reason = {0};
  CHECK(pn_cache_file_clear(folder, &reason));
  pn_buffer_clear(&reason);
}

static void check_digest(const char *data, size_t size, const char *expected) {
  /* Whole, and in pieces of each length. */
  for (size_t piece = 0; piece <= 130; piece += piece < 3 ? 1 : 63) {
    pn_sha256_t hash;
    pn_cache_key_t digest;
    char text[PN_CACHE_KEY_TEXT + 1];
    pn_sha256_begin(&hash);
    for (size_t at = 0; piece && at < size; at += piece)
      pn_sha256_add(&hash, data + at, size - at < piece ? size - at : piece);
    if (!piece)
      pn_sha256_add(&hash, data, size);
    pn_sha256_end(&hash, digest.bytes);
    pn_cache_key_print(&digest, text);
    CHECK(strcmp(text, expected) == 0);
  }
}

/* The examples of FIPS 180-4, and lengths around the end of a block. */
static void test_digests(void) {
  check_digest(
      "", 0,
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  check_digest(
      "abc", 3,
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  check_digest(
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  static char many[1000000];
  memset(many, 'a', sizeof(many));
  check_digest(
      many, 55,
      "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  check_digest(
      many, 64,
      "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  check_digest(
      many, sizeof(many),
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void test_keys(void) {
  pn_cache_key_t key = key_of(0xfedc0123), read;
  char text[PN_CACHE_KEY_TEXT + 2];
  pn_cache_key_print(&key, text);
  CHECK(pn_cache_key_read(text, &read) && !memcmp(&key, &read, sizeof(key)));
  text[PN_CACHE_KEY_TEXT - 1] = 'A';
  CHECK(!pn_cache_key_read(text, &read));
  text[PN_CACHE_KEY_TEXT - 1] = '\0';
  CHECK(!pn_cache_key_read(text, &read) && !pn_cache_key_read("", &read));
  memcpy(text + PN_CACHE_KEY_TEXT - 1, "00", 3);
  CHECK(!pn_cache_key_read(text, &read));
}

static void test_store_and_find(void) {
  CHECK(find(1, NULL, 0) == PN_CACHE_FIND_NONE);
  CHECK(store(folder, 1, "first", 5, NO_LIMIT));
  CHECK(store(folder, 2, "", 0, NO_LIMIT));
  CHECK(find(1, "first", 5) == PN_CACHE_FIND_FOUND);
  CHECK(find(2, "", 0) == PN_CACHE_FIND_FOUND);
  CHECK(store(folder, 1, "second", 6, NO_LIMIT));
  CHECK(find(1, "second", 6) == PN_CACHE_FIND_FOUND);
  CHECK(count(NULL) == 2 && count_files() == 2);
  struct stat status;
  pn_cache_key_t key = key_of(1);
  CHECK(stat(path_of(name_of(&key)), &status) == 0 &&
        (status.st_mode & 0777) == 0600);
  clear();
  CHECK(count_files() == 0);
}

static size_t read_file(const char *path, char *data, size_t room) {
  int fd = open(path, O_RDONLY);
  ssize_t size = fd < 0 ? -1 : read(fd, data, room);
  if (fd >= 0)
    (void)close(fd);
  CHECK(size >= 0);
  return size < 0 ? 0 : (size_t)size;
}

static void write_file(const char *path, const char *data, size_t size) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
  if (fd >= 0)
    (void)close(fd);
}

/* Every bit of an entry, in each of its regions, and every length. */
static void test_damage(void) {
  static const char data[] = "some bytes of an entry";
  char whole[256], broken[256];
  CHECK(store(folder, 7, data, sizeof(data), NO_LIMIT));
  pn_cache_key_t key = key_of(7);
  char path[512];
  (void)snprintf(path, sizeof(path), "%s", path_of(name_of(&key)));
  size_t size = read_file(path, whole, sizeof(whole));
  CHECK(size == 88 + sizeof(data));
  for (size_t bit = 0; bit < 8 * size; ++bit) {
    memcpy(broken, whole, size);
    broken[bit / 8] ^= (char)(1 << bit % 8);
    write_file(path, broken, size);
    CHECK(find(7, data, sizeof(data)) == PN_CACHE_FIND_DAMAGED);
    CHECK(access(path, F_OK) != 0);
  }
  for (size_t length = 0; length < size; ++length) {
    write_file(path, whole, length);
    CHECK(find(7, data, sizeof(data)) == PN_CACHE_FIND_DAMAGED);
  }
  memcpy(broken, whole, size);
  broken[size] = 0;
  write_file(path, broken, size + 1);
  CHECK(find(7, data, sizeof(data)) == PN_CACHE_FIND_DAMAGED);
  write_file(path, whole, size);
  CHECK(find(7, data, sizeof(data)) == PN_CACHE_FIND_FOUND);
  /* Under another name it is another's entry. */
  key = key_of(8);
  CHECK(rename(path, path_of(name_of(&key))) == 0);
  CHECK(find(8, data, sizeof(data)) == PN_CACHE_FIND_DAMAGED);
  clear();
}

/* Another format, with a checksum that holds. */
static void test_other_format(void) {
  char whole[256];
  CHECK(store(folder, 7, "data", 4, NO_LIMIT));
  pn_cache_key_t key = key_of(7);
  char path[512];
  (void)snprintf(path, sizeof(path), "%s", path_of(name_of(&key)));
  size_t size = read_file(path, whole, sizeof(whole));
  whole[8] = 2;
  memset(whole + 56, 0, PN_SHA256_BYTES);
  pn_sha256_t hash;
  pn_sha256_begin(&hash);
  pn_sha256_add(&hash, whole, size);
  pn_sha256_end(&hash, (uint8_t *)whole + 56);
  write_file(path, whole, size);
  CHECK(find(7, "data", 4) == PN_CACHE_FIND_DAMAGED);
  /* The same with the format as it is would hold. */
  whole[8] = 1;
  memset(whole + 56, 0, PN_SHA256_BYTES);
  pn_sha256_begin(&hash);
  pn_sha256_add(&hash, whole, size);
  pn_sha256_end(&hash, (uint8_t *)whole + 56);
  write_file(path, whole, size);
  CHECK(find(7, "data", 4) == PN_CACHE_FIND_FOUND);
  clear();
}

/* What is no regular file of ours is no entry. */
static void test_odd_files(void) {
  pn_cache_key_t key = key_of(9);
  char path[512];
  (void)snprintf(path, sizeof(path), "%s", path_of(name_of(&key)));
  CHECK(mkfifo(path, 0600) == 0);
  CHECK(find(9, NULL, 0) == PN_CACHE_FIND_DAMAGED);
  CHECK(symlink("/etc/passwd", path) == 0);
  CHECK(find(9, NULL, 0) == PN_CACHE_FIND_DAMAGED);
  CHECK(access("/etc/passwd", F_OK) == 0);
  CHECK(mkdir(path, 0700) == 0);
  CHECK(find(9, NULL, 0) == PN_CACHE_FIND_DAMAGED);
  /* It cannot be replaced, which is no more than a loss. */
  CHECK(!store(folder, 9, "data", 4, NO_LIMIT));
  CHECK(rmdir(path) == 0 && count_files() == 0);
  CHECK(store(folder, 9, "data", 4, NO_LIMIT));
  CHECK(chmod(path, 0620) == 0);
  CHECK(find(9, "data", 4) == PN_CACHE_FIND_DAMAGED);
  CHECK(store(folder, 9, "data", 4, NO_LIMIT));
  if (geteuid() == 0) {
    CHECK(chown(path, 65534, (gid_t)-1) == 0);
    CHECK(find(9, "data", 4) == PN_CACHE_FIND_DAMAGED);
  }
  clear();
}

/* A store that is to fail with a reason that has `part`, and a look that finds
 * nothing there. */
static void check_unusable(const char *directory, const char *part) {
  pn_cache_key_t key = key_of(1);
  pn_buffer_t reason = {0}, data = {0};
  CHECK(!pn_cache_file_store(directory, &key, "data", 4, NO_LIMIT, &reason));
  CHECK(strstr(pn_buffer_text(&reason), part) != NULL);
  pn_buffer_clear(&reason);
  CHECK(pn_cache_file_find(directory, &key, &data, &reason) ==
        PN_CACHE_FIND_NONE);
  CHECK(!data.size);
  pn_buffer_clear(&reason);
  pn_buffer_clear(&data);
}

static void test_directories(void) {
  char deep[600];
  (void)snprintf(deep, sizeof(deep), "%s/a/b//c", folder);
  CHECK(store(deep, 1, "data", 4, NO_LIMIT));
  struct stat status;
  CHECK(stat(deep, &status) == 0 && (status.st_mode & 0777) == 0700);
  static const mode_t open_modes[] = {0720, 0702, 0777};
  for (size_t i = 0; i < sizeof(open_modes) / sizeof(*open_modes); ++i) {
    CHECK(chmod(deep, open_modes[i]) == 0);
    check_unusable(deep, "others than its owner may write");
  }
  CHECK(chmod(deep, 0700) == 0);
  if (geteuid() == 0) {
    CHECK(chown(deep, 65534, (gid_t)-1) == 0);
    check_unusable(deep, "belongs to another user");
    CHECK(chown(deep, 0, (gid_t)-1) == 0);
  }
  pn_buffer_t reason = {0};
  CHECK(pn_cache_file_clear(deep, &reason) && !reason.size);
  CHECK(rmdir(deep) == 0);
  CHECK(pn_cache_file_clear(deep, &reason) && !reason.size);
  (void)snprintf(deep, sizeof(deep), "%s/a/b", folder);
  CHECK(rmdir(deep) == 0);
  (void)snprintf(deep, sizeof(deep), "%s/a", folder);
  CHECK(rmdir(deep) == 0);
  write_file(deep, "", 0);
  check_unusable(deep, "Not a directory");
  (void)snprintf(deep, sizeof(deep), "%s/a/b", folder);
  check_unusable(deep, "Not a directory");
  (void)snprintf(deep, sizeof(deep), "%s/a", folder);
  CHECK(unlink(deep) == 0);
  check_unusable("/proc/polynest", "cannot make the folder '/proc/polynest'");
  if (geteuid() != 0) {
    CHECK(chmod(folder, 0500) == 0);
    check_unusable(folder, "Permission denied");
    CHECK(chmod(folder, 0700) == 0);
  }
}

/* A file system that is full, as far as a process can make one. */
static void test_no_room(void) {
  struct rlimit before, small;
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
  small = before;
  small.rlim_cur = 1000;
  (void)signal(SIGXFSZ, SIG_IGN);
  CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
  static char data[4000];
  CHECK(!store(folder, 1, data, sizeof(data), NO_LIMIT));
  CHECK(store(folder, 2, data, 100, NO_LIMIT));
  CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(count_files() == 1);
  clear();
}

static void set_time(const char *path, time_t seconds) {
  struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
  CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
}

/* What was not used for longest goes first. */
static void test_limit(void) {
  static char data[1000];
  uint64_t bytes;
  const uint64_t limit = 10 * 1088;
  time_t now = time(NULL);
  for (unsigned i = 0; i < 10; ++i) {
    CHECK(store(folder, i, data, sizeof(data), limit));
    pn_cache_key_t key = key_of(i);
    set_time(path_of(name_of(&key)), now - 1000 + (time_t)i);
  }
  CHECK(count(&bytes) == 10 && bytes == limit);
  /* The oldest is used: the next one goes. */
  CHECK(find(0, data, sizeof(data)) == PN_CACHE_FIND_FOUND);
  CHECK(store(folder, 10, data, sizeof(data), limit));
  CHECK(count(&bytes) == 10 && bytes == limit);
  CHECK(find(1, data, sizeof(data)) == PN_CACHE_FIND_NONE);
  CHECK(find(0, data, sizeof(data)) == PN_CACHE_FIND_FOUND);
  CHECK(store(folder, 11, data, sizeof(data), 2 * 1088 + 5));
  CHECK(count(&bytes) == 2 && bytes == 2 * 1088);
  CHECK(find(11, data, sizeof(data)) == PN_CACHE_FIND_FOUND);
  /* What is above the limit alone drives out nothing. */
  CHECK(!store(folder, 12, data, sizeof(data), 1087));
  CHECK(!store(folder, 12, data, sizeof(data), 10));
  CHECK(count(NULL) == 2);
  clear();
}

/* Files of others stay; what dead writers have left goes in time. */
static void test_leftovers(void) {
  static const char *const names[] = {".polynest-1-2-3", ".polynest-4-5-6",
                                      "precious.pnc", "precious"};
  for (size_t i = 0; i < 4; ++i)
    write_file(path_of(names[i]), "x", 1);
  set_time(path_of(names[0]), time(NULL) - 3600);
  CHECK(store(folder, 1, "data", 4, NO_LIMIT));
  CHECK(access(path_of(names[0]), F_OK) != 0);
  CHECK(access(path_of(names[1]), F_OK) == 0);
  CHECK(count(NULL) == 1);
  clear();
  CHECK(access(path_of(names[1]), F_OK) != 0);
  CHECK(count_files() == 2);
  CHECK(unlink(path_of(names[2])) == 0 && unlink(path_of(names[3])) == 0);
}

/* The bytes of entry `number` as any writer makes them. */
static size_t make_data(unsigned number, char data[70000]) {
  size_t size = 60000 + number * 777;
  for (size_t i = 0; i < size; ++i)
    data[i] = (char)(number * 31 + i * 7);
  return size;
}

/* Stores and looks up at random, until it is stopped where `forever`. */
static void use_much(unsigned seed, bool forever) {
  static char data[70000];
  for (unsigned i = 0; forever || i < 200; ++i) {
    seed = seed * 1103515245 + 12345;
    unsigned number = seed >> 16 & 7;
    size_t size = make_data(number, data);
    if (seed >> 20 & 1)
      (void)store(folder, number, data, size, 6 * 66000);
    else
      CHECK(find(number, data, size) != PN_CACHE_FIND_DAMAGED);
  }
}

static void test_race(void) {
  pid_t children[4];
  for (unsigned i = 0; i < 4; ++i) {
    children[i] = fork();
    if (children[i] == 0) {
      use_much(i + 1, false);
      _exit(check_result());
    }
  }
  for (unsigned i = 0; i < 4; ++i) {
    int status = -1;
    CHECK(waitpid(children[i], &status, 0) == children[i]);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  CHECK(count(NULL) > 0 && count(NULL) == (uint64_t)count_files());
  clear();
}

/* Writers that are killed leave whole entries, and files that are none. */
static void test_killed(void) {
  for (unsigned i = 0; i < 30; ++i) {
    pid_t child = fork();
    if (child == 0) {
      use_much(i, true);
      _exit(0);
    }
    struct timespec pause = {.tv_nsec = 1000000 + (long)i * 300000};
    (void)nanosleep(&pause, NULL);
    CHECK(kill(child, SIGKILL) == 0);
    CHECK(waitpid(child, NULL, 0) == child);
    static char data[70000];
    for (unsigned number = 0; number < 8; ++number) {
      size_t size = make_data(number, data);
      CHECK(find(number, data, size) != PN_CACHE_FIND_DAMAGED);
    }
  }
  clear();
  CHECK(count_files() == 0);
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  CHECK_RUN(test_digests);
  CHECK_RUN(test_keys);
  CHECK_RUN(test_store_and_find);
  CHECK_RUN(test_damage);
  CHECK_RUN(test_other_format);
  CHECK_RUN(test_odd_files);
  CHECK_RUN(test_directories);
  CHECK_RUN(test_no_room);
  CHECK_RUN(test_limit);
  CHECK_RUN(test_leftovers);
  CHECK_RUN(test_race);
  CHECK_RUN(test_killed);
  CHECK(rmdir(folder) == 0);
  return check_result();
}
