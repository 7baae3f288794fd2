/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * target_test.c: rows, names, target files, detection of the host.
 *
 * PN_SOURCE_DIR is the root of the sources (for docs/targets.md).
 */

#include "Runtime/Processor.h"
#include "Target/DotUnits.h"
#include "Target/HostFacts.h"
#include "Target/Permutes.h"
#include "Target/Row.h"
#include "check.h"

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*===--- Helpers ----------------------------------------------------------===*/

#define TEXT_BYTES 32768

typedef struct text {
  char bytes[TEXT_BYTES];
  size_t length;
} text_t;

static void append(void *user, const char *data, size_t size) {
  text_t *text = user;
  CHECK(text->length + size < TEXT_BYTES);
  if (text->length + size >= TEXT_BYTES)
    return;
  memcpy(text->bytes + text->length, data, size);
  text->length += size;
  text->bytes[text->length] = '\0';
}

static void print(const pn_target_t *target, pn_target_format_t format,
                  text_t *text) {
  text->length = 0;
  text->bytes[0] = '\0';
  pn_error_t *error = pn_target_print(target, format, append, text);
  CHECK(error == NULL);
  pn_error_destroy(error);
}

/* The target of a text that parses; NULL, and a failed check, otherwise. */
static pn_target_t *parse(const char *text) {
  pn_target_t *target = NULL;
  pn_error_t *error =
      pn_target_create_from_text(text, strlen(text), "t", &target);
  CHECK(error == NULL);
  if (error)
    fprintf(stderr, "unexpected: %s\n", pn_error_message(error));
  pn_error_destroy(error);
  return target;
}

/* The text must fail with this code and a message that has `part`. */
static void refuses(const char *text, pn_error_code_t code, const char *part) {
  pn_target_t *target = (pn_target_t *)&target;
  pn_error_t *error =
      pn_target_create_from_text(text, strlen(text), "t", &target);
  CHECK(target == NULL);
  if (pn_error_code(error) != code || !strstr(pn_error_message(error), part))
    fprintf(stderr, "for:\n%s\ngot: %s\nexpected: %s\n", text,
            pn_error_message(error), part);
  CHECK(pn_error_code(error) == code);
  CHECK(strstr(pn_error_message(error), part) != NULL);
  pn_error_destroy(error);
}

static pn_target_info_t info_of(const pn_target_t *target) {
  pn_target_info_t info = {.struct_size = sizeof(info)};
  pn_error_t *error = pn_target_get_info(target, &info);
  CHECK(error == NULL);
  pn_error_destroy(error);
  return info;
}

/*===--- Allocation failure -----------------------------------------------===*/

/* The linker sends the library's allocations here. Allocation number
 * allocation_to_fail, counted from 1, fails; 0: none does. */
static long allocations, allocation_to_fail;

static bool allocation_fails(void) {
  return ++allocations == allocation_to_fail;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_reallocarray(void *block, size_t count, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_reallocarray(void *block, size_t count, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size) {
  return allocation_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
  return allocation_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_reallocarray(void *block, size_t count, size_t size) {
  return allocation_fails() ? NULL : __real_reallocarray(block, count, size);
}

char *__wrap_strdup(const char *text) {
  return allocation_fails() ? NULL : __real_strdup(text);
}

static pn_error_t *create_known(pn_target_t **out) {
  return pn_target_create_by_name("znver4", out);
}

static pn_error_t *create_unknown(pn_target_t **out) {
  return pn_target_create_by_name("znver9", out);
}

static pn_error_t *create_parsed(pn_target_t **out) {
  return pn_target_create_from_text("base = znver4\nname = a\n", 23, "t", out);
}

static pn_error_t *create_refused(pn_target_t **out) {
  return pn_target_create_from_text("base = znver4\ncores = x\nspeed = 1\n", 34,
                                    "t", out);
}

static pn_error_t *create_file(pn_target_t **out) {
  return pn_target_create_from_file("/dev/null", out);
}

/* Lets each allocation of each entry point fail in turn: an error or a target
 * comes out, nothing leaks, nothing crashes. */
static void allocation_failures(void) {
  pn_error_t *(*const entries[])(pn_target_t **) = {
      create_known,   create_unknown, create_parsed,
      create_refused, create_file,    pn_target_create_host};
  for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); ++i) {
    bool failed = true;
    for (long n = 1; failed && n < 1000; ++n) {
      pn_target_t *target = (pn_target_t *)&target;
      allocations = 0;
      allocation_to_fail = n;
      pn_error_t *error = entries[i](&target);
      failed = allocations >= n;
      allocation_to_fail = 0;
      CHECK((error == NULL) == (target != NULL));
      pn_error_destroy(error);
      pn_target_release(target);
    }
    CHECK(!failed);
  }
}

/*===--- Known rows -------------------------------------------------------===*/

static void known_rows_are_sound(void) {
  static const char *const names[] = {
      "haswell",     "skylake-avx512", "sapphirerapids", "graniterapids",
      "znver3",      "znver4",         "znver5",         "neoverse-n1",
      "neoverse-v1", "apple-m1"};
  CHECK(pn_target_known_count() == sizeof(names) / sizeof(names[0]));
  CHECK(pn_target_known_name(pn_target_known_count()) == NULL);
  for (size_t i = 0; i < pn_target_known_row_count(); ++i) {
    const pn_target_row_t *row = pn_target_known_row(i);
    char reason[256] = "";
    CHECK(strcmp(row->info.name, names[i]) == 0);
    CHECK(pn_target_row_check(row, reason, sizeof(reason)));
    if (*reason)
      fprintf(stderr, "%s: %s\n", row->info.name, reason);
    /* On x86, vectors are as wide as the instructions that the row names. */
    bool has_512 = row->info.features & (1u << PN_TARGET_FEATURE_AVX512F);
    if (strncmp(row->info.llvm_triple, "x86_64", 6) == 0)
      CHECK(row->info.vector_bits == (has_512 ? 512 : 256));
    for (int group = 0; group < PN_TARGET_GROUP_COUNT; ++group) {
      /* Only a group whose fields are all 0 may go without a source. */
      bool empty =
          (group == PN_TARGET_GROUP_MATRIX && !row->info.matrix_rows) ||
          (group == PN_TARGET_GROUP_CLOCK && !row->info.frequency_mhz);
      CHECK(empty || (row->sources[group] && *row->sources[group]));
    }
  }
}

static void names(void) {
  for (size_t i = 0; i < pn_target_known_count(); ++i) {
    char prefixed[80];
    (void)snprintf(prefixed, sizeof(prefixed), "cpu:%s",
                   pn_target_known_name(i));
    const char *const forms[] = {prefixed, prefixed + 4};
    for (int j = 0; j < 2; ++j) {
      pn_target_t *target;
      pn_error_t *error = pn_target_create_by_name(forms[j], &target);
      CHECK(error == NULL && target != NULL);
      if (!target)
        continue;
      CHECK(strcmp(info_of(target).name, pn_target_known_name(i)) == 0);
      pn_target_release(target);
    }
  }
  static const char *const wrong[] = {"",     "cpu:",           "znver9",
                                      "HOST", "cpu:cpu:znver4", "nvgpu:sm_90a"};
  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
    pn_target_t *target = (pn_target_t *)&target;
    pn_error_t *error = pn_target_create_by_name(wrong[i], &target);
    CHECK(pn_error_code(error) == PN_ERROR_NOT_FOUND && target == NULL);
    CHECK(strstr(pn_error_message(error), "host") != NULL);
    for (size_t j = 0; j < pn_target_known_count(); ++j)
      CHECK(strstr(pn_error_message(error), pn_target_known_name(j)) != NULL);
    pn_error_destroy(error);
  }
}

static void info_and_references(void) {
  pn_target_t *target;
  CHECK(pn_target_create_by_name("sapphirerapids", &target) == NULL);
  pn_target_info_t info = info_of(target);
  CHECK(info.kind == PN_TARGET_KIND_CPU && info.vector_bits == 512);
  CHECK(info.caches[2].size_kib == 107520 && info.matrix_tiles == 8);
  CHECK(strcmp(info.llvm_features, "") == 0);
  CHECK(pn_target_has_feature(target, PN_TARGET_FEATURE_AMX_BF16));
  CHECK(!pn_target_has_feature(target, PN_TARGET_FEATURE_NEON));
  CHECK(!pn_target_has_feature(target, (pn_target_feature_t)200));
  CHECK(!pn_target_has_feature(target, (pn_target_feature_t)-1));
  /* A later caller with a longer struct gets zeros behind our fields. */
  struct {
    pn_target_info_t info;
    int64_t later[2];
  } longer;
  memset(&longer, 0x55, sizeof(longer));
  longer.info.struct_size = sizeof(longer);
  CHECK(pn_target_get_info(target, &longer.info) == NULL);
  CHECK(longer.info.struct_size == sizeof(longer));
  CHECK(longer.info.cores == 56 && longer.later[0] == 0 &&
        longer.later[1] == 0);
  info.struct_size = 8;
  pn_error_t *error = pn_target_get_info(target, &info);
  CHECK(pn_error_code(error) == PN_ERROR_ARGUMENT);
  pn_error_destroy(error);
  text_t *text = malloc(sizeof(*text));
  text->length = 0;
  error = pn_target_print(target, (pn_target_format_t)3, append, text);
  CHECK(pn_error_code(error) == PN_ERROR_ARGUMENT && text->length == 0);
  pn_error_destroy(error);
  free(text);
  CHECK(pn_target_retain(target) == target);
  pn_target_release(target);
  CHECK(info_of(target).cores == 56);
  pn_target_release(target);
  pn_target_release(NULL);
}

/*===--- Text -------------------------------------------------------------===*/

/* File, parsed, file again: the same text and the same fields. */
static void round_trip(pn_target_t *target) {
  text_t *first = malloc(sizeof(*first)), *second = malloc(sizeof(*second));
  print(target, PN_TARGET_FORMAT_FILE, first);
  pn_target_t *again = parse(first->bytes);
  if (again) {
    print(again, PN_TARGET_FORMAT_FILE, second);
    CHECK(strcmp(first->bytes, second->bytes) == 0);
    const pn_target_info_t *a = &pn_target_row(target)->info;
    const pn_target_info_t *b = &pn_target_row(again)->info;
    for (size_t i = 0; i < pn_target_field_count(); ++i) {
      const pn_target_field_t *field = pn_target_field(i);
      if (field->type == PN_TARGET_FIELD_STRING)
        CHECK(strcmp(pn_target_field_get_string(a, field),
                     pn_target_field_get_string(b, field)) == 0);
      else
        CHECK(pn_target_field_get(a, field) == pn_target_field_get(b, field));
    }
    for (int i = 0; i < PN_TARGET_GROUP_COUNT; ++i)
      CHECK(strcmp(pn_target_row(target)->sources[i],
                   pn_target_row(again)->sources[i]) == 0);
  }
  pn_target_release(again);
  free(first);
  free(second);
}

static void round_trips(void) {
  for (size_t i = 0; i < pn_target_known_count(); ++i) {
    pn_target_t *target;
    CHECK(pn_target_create_by_name(pn_target_known_name(i), &target) == NULL);
    round_trip(target);
    pn_target_release(target);
  }
  pn_target_t *odd = parse("base = cpu:znver3\nname = odd.one-2\n"
                           "source_fma = \"a \\\"b\\\" \\\\ # c\"\n");
  CHECK(odd && strcmp(pn_target_row(odd)->sources[PN_TARGET_GROUP_FMA],
                      "a \"b\" \\ # c") == 0);
  if (odd)
    round_trip(odd);
  pn_target_release(odd);
}

static void table_shows_everything(void) {
  pn_target_t *target;
  CHECK(pn_target_create_by_name("znver4", &target) == NULL);
  text_t *text = malloc(sizeof(*text));
  print(target, PN_TARGET_FORMAT_TABLE, text);
  for (size_t i = 0; i < pn_target_field_count(); ++i)
    CHECK(strstr(text->bytes, pn_target_field(i)->key) != NULL);
  for (int i = 0; i < PN_TARGET_GROUP_COUNT; ++i)
    CHECK(strstr(text->bytes, pn_target_row(target)->sources[i]) != NULL);
  CHECK(strstr(text->bytes, "avx512-bf16") != NULL);
  free(text);
  pn_target_release(target);
}

static void forms_that_parse(void) {
  pn_target_t *t = parse("# comment\r\n\r\n  base\t=  znver4 # why\r\n"
                         "cores=7\r\nfeatures = avx2 f16c # fewer\r\n"
                         "vector_bits = 256\n\tname = \"x\"  # y\n"
                         "llvm_features = \"+avx2,-avx512f\"");
  CHECK(t != NULL);
  if (!t)
    return;
  pn_target_info_t info = info_of(t);
  CHECK(info.cores == 7 && info.vector_bits == 256);
  CHECK(info.features == 3 && strcmp(info.name, "x") == 0);
  CHECK(strcmp(info.llvm_features, "+avx2,-avx512f") == 0);
  CHECK(info.fma_latency_cycles == 4); /* of the base */
  pn_target_release(t);
  t = parse("base = apple-m1");
  CHECK(t && info_of(t).page_bytes == 16384);
  pn_target_release(t);
}

static void parse_errors(void) {
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"base = znver3\nspeed = 3\n", "t:2:1: unknown key 'speed'"},
      {"base = znver3\n  Cores = 3\n", "t:2:3: expected 'key = value'"},
      {"base = znver3\n= 3\n", "t:2:1: expected 'key = value'"},
      {"base = znver3\ncores 3\n", "t:2:7: expected '=' after 'cores'"},
      {"base = znver3\ncores\n", "t:2:6: expected '=' after 'cores'"},
      {"base = znver3\ncores =\n", "t:2:8: expected a number for 'cores'"},
      {"base = znver3\ncores = # 3\n", "t:2:9: expected a number"},
      {"base = znver3\ncores = four\n", "t:2:9: bad number 'four' for 'cores'"},
      {"base = znver3\ncores = 3x\n", "t:2:9: bad number '3x'"},
      {"base = znver3\ncores = -\n", "t:2:9: bad number '-'"},
      {"base = znver3\ncores = 1.5\n", "t:2:9: bad number '1.5'"},
      {"base = znver3\ncores = 0\n", "t:2:9: 'cores' is 0, allowed are 1 to"},
      {"base = znver3\ncores = -1\n", "t:2:9: 'cores' is -1, allowed are"},
      {"base = znver3\ncores = 99999999999999999999999\n",
       "t:2:9: 'cores' is 99999999999999999999999, allowed"},
      {"base = znver3\ncores = 4294967297\n", "'cores' is 4294967297, allowed"},
      {"base = znver3\ncores = 3 4\n", "t:2:11: unexpected text after"},
      {"base = znver3\ncores = 3\ncores = 4\n",
       "t:3:1: duplicate key 'cores', first on line 2"},
      {"cores = 3\nbase = znver3\n", "t:2:1: 'base' must be the first"},
      {"base = znver3\nbase = znver4\n", "t:2:1: 'base' must be the first"},
      {"base = pentium\n", "t:1:8: unknown base 'pentium'"},
      {"base = host\n", "t:1:8: unknown base 'host'"},
      {"base =\n", "t:1:7: expected a word or a text"},
      {"base = znver3\nname = \"abc\n", "t:2:8: text without closing quote"},
      {"base = znver3\nname = \"a\\n\"\n", "t:2:10: only \\\" and \\\\ may"},
      {"base = znver3\nname = \"a\tb\"\n", "t:2:10: control character 0x09"},
      {"base = znver3\nname = ?\n", "t:2:8: expected a word or a text"},
      {"base = znver3\nname = \"a\" b\n", "t:2:12: unexpected text after"},
      {"base = znver3\nfeatures = avx2 mmx\n", "t:2:17: unknown feature 'mmx'"},
      {"base = znver3\nfeatures =\n", "t:2:11: expected feature names"},
      {"base = znver3\nfeatures = none avx2\n", "expected feature names, or"},
      {"base = znver3\n\x01\n", "t:2:1: expected 'key = value'"},
      {"", "t:1:1: missing key 'name'"},
      {"# only a comment", "missing key 'name'"},
      {"name = a\nllvm_triple = x86_64\n", "t:3:1: missing key 'llvm_cpu'"}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i)
    refuses(cases[i].text, PN_ERROR_PARSE, cases[i].part);
  /* A NUL inside is an error, not an end. */
  static const char nul[] = "base = znver3\n\0cores = 0\n";
  pn_target_t *target;
  pn_error_t *error =
      pn_target_create_from_text(nul, sizeof(nul) - 1, NULL, &target);
  CHECK(pn_error_code(error) == PN_ERROR_PARSE && target == NULL);
  CHECK(strstr(pn_error_message(error), "<text>:2:1") != NULL);
  pn_error_destroy(error);
}

/* Every mistake of a file is reported, with file, line and column. */
static void several_diagnostics(void) {
  static const char text[] = "base = znver3\ncores = x\nspeed = 1\n  cores = 2";
  pn_target_t *target;
  pn_error_t *error =
      pn_target_create_from_text(text, sizeof(text) - 1, "a/b.target", &target);
  static const int places[3][2] = {{2, 9}, {3, 1}, {4, 3}};
  CHECK(pn_error_diagnostic_count(error) == 3);
  for (size_t i = 0; i < 3; ++i) {
    pn_diagnostic_t d;
    CHECK(pn_error_diagnostic_at(error, i, &d));
    CHECK(d.line == places[i][0] && d.column == places[i][1]);
    CHECK(d.file && strcmp(d.file, "a/b.target") == 0);
    CHECK(d.severity == PN_SEVERITY_ERROR);
  }
  pn_error_destroy(error);
  /* No more than twenty of them, whatever the file. */
  char many[4096] = "";
  for (int i = 0; i < 100; ++i)
    strcat(many, "speed = 1\n");
  error = pn_target_create_from_text(many, strlen(many), "t", &target);
  CHECK(pn_error_diagnostic_count(error) == 20);
  pn_error_destroy(error);
}

static void contradictions(void) {
  static const struct {
    const char *lines, *part;
  } cases[] = {
      {"name = a/b\n", "name 'a/b' may only have"},
      {"name = \"\"\n", "name is empty"},
      {"llvm_triple = \"\"\n", "llvm_triple is empty"},
      {"l1_line_bytes = 48\n",
       "l1_line_bytes is 48; it must be a power of two"},
      {"l1_line_bytes = 8\n", "l1_line_bytes is 8"},
      {"l1_ways = 0\n", "l1_ways and l1_shared_by_cores must be positive"},
      {"l2_shared_by_cores = 0\n", "l2_shared_by_cores must be positive"},
      {"l1_ways = 7\n", "l1_size_kib 32 is no multiple of 7 ways"},
      {"l1_size_kib = 0\n", "l1_size_kib is 0; levels 1 and 2"},
      {"l2_size_kib = 16\n", "l2_size_kib 16 is smaller than l1_size_kib 32"},
      {"l3_size_kib = 256\n", "l3_size_kib 256 is smaller than"},
      {"l3_size_kib = 0\n", "another l3 field is not"},
      {"l2_line_bytes = 32\n", "l2_line_bytes 32 is below l1_line_bytes 64"},
      {"l1_shared_by_cores = 2\n", "l2 is shared by 1 cores, fewer than the 2"},
      {"usable_llc_kib_per_core = 40000\n", "exceeds l3_size_kib 32768"},
      {"l3_bytes_per_cycle = 0\n", "l3_bytes_per_cycle is 0 with"},
      {"vector_bits = 384\n", "vector_bits is 384"},
      {"vector_bits = 512\n", "prefer_vector_width_bits is 256"},
      {"vector_bits = 512\nprefer_vector_width_bits = 512\n",
       "vector_bits 512 on x86-64 needs the feature avx512f"},
      {"features = f16c\n", "needs the feature avx2"},
      {"features = avx2 avx512-bf16\n", "feature avx512-bf16 needs avx512f"},
      {"features = avx2 neon\n", "another architecture than 'x86_64"},
      {"features = avx2 amx-int8\n", "an amx feature needs matrix_rows"},
      {"matrix_rows = 16\n", "must all be 0 or all positive"},
      {"page_bytes = 5000\n", "page_bytes is 5000"},
      {"huge_page_bytes = 4096\n", "huge_page_bytes is 4096"},
      {"huge_page_bytes = 3000000\n", "huge_page_bytes is 3000000"}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    char text[256];
    (void)snprintf(text, sizeof(text), "base = znver3\n%s", cases[i].lines);
    refuses(text, PN_ERROR_TARGET, cases[i].part);
  }
  refuses("base = neoverse-n1\nfeatures = avx2\n", PN_ERROR_TARGET,
          "another architecture");
  /* 8 registers still hold a tile; two free ways of 128 bytes hold no row of
   * two vectors of 256. */
  pn_target_t *small = parse("base = haswell\nvector_registers = 8\n");
  pn_target_release(small);
  refuses("base = neoverse-n1\nvector_bits = 2048\nl1_size_kib = 1\n"
          "l1_shared_by_cores = 2\nl2_shared_by_cores = 2\n",
          PN_ERROR_TARGET, "no blocking of a");
  char *longest = malloc(6000);
  memset(longest, 'a', 5999);
  longest[5999] = '\0';
  memcpy(longest, "base = znver3\nllvm_cpu = ", 25);
  refuses(longest, PN_ERROR_TARGET, "a text is longer than 4096 bytes");
  free(longest);
}

/*===--- Files ------------------------------------------------------------===*/

static char temporary_directory[] = "/tmp/polynest-target-test-XXXXXX";

static void write_file(const char *path, const void *bytes, size_t length) {
  FILE *stream = fopen(path, "wb");
  CHECK(stream != NULL);
  if (!stream)
    return;
  CHECK(fwrite(bytes, 1, length, stream) == length);
  CHECK(fclose(stream) == 0);
}

static void files(void) {
  char path[256];
  (void)snprintf(path, sizeof(path), "%s/chip.target", temporary_directory);
  static const char text[] = "base = znver5\nname = chip\n";
  write_file(path, text, sizeof(text) - 1);
  pn_target_t *target;
  CHECK(pn_target_create_from_file(path, &target) == NULL);
  CHECK(target && strcmp(info_of(target).name, "chip") == 0);
  pn_target_release(target);

  write_file(path, "name == 3", 9);
  pn_error_t *error = pn_target_create_from_file(path, &target);
  CHECK(pn_error_code(error) == PN_ERROR_PARSE && target == NULL);
  CHECK(strstr(pn_error_message(error), path) != NULL);
  pn_error_destroy(error);

  error = pn_target_create_from_file("/nonexistent/x.target", &target);
  CHECK(pn_error_code(error) == PN_ERROR_IO && target == NULL);
  pn_error_destroy(error);
  error = pn_target_create_from_file(temporary_directory, &target);
  CHECK(pn_error_code(error) == PN_ERROR_IO && target == NULL);
  pn_error_destroy(error);

  size_t size = ((size_t)1 << 20) + 1;
  char *large = calloc(size, 1);
  memset(large, '#', size);
  write_file(path, large, size);
  error = pn_target_create_from_file(path, &target);
  CHECK(pn_error_code(error) == PN_ERROR_PARSE && target == NULL);
  CHECK(strstr(pn_error_message(error), "more than 1048576 bytes") != NULL);
  pn_error_destroy(error);
  free(large);
  (void)unlink(path);
}

/*===--- Fuzz -------------------------------------------------------------===*/

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t limit) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((random_state >> 33) % limit);
}

/* Truncations, flipped bits, bytes out of the alphabet of the format, and
 * lines taken twice. Whatever comes out: a target or an error, and the copy is
 * exactly as long as the block, so that the sanitizer sees any overrun. */
static void fuzz_parser(void) {
  static const char alphabet[] = "\"\\=#\n\r -0123456789abxz_\x80\xff";
  pn_target_t *target;
  CHECK(pn_target_create_by_name("sapphirerapids", &target) == NULL);
  text_t *valid = malloc(sizeof(*valid));
  print(target, PN_TARGET_FORMAT_FILE, valid);
  pn_target_release(target);
  int parsed = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    size_t length = valid->length;
    if (i % 3 == 0)
      length = random_below((uint32_t)length + 1);
    char *copy = malloc(length ? length : 1);
    memcpy(copy, valid->bytes, length);
    for (uint32_t edits = random_below(4); edits > 0 && length > 0; --edits) {
      size_t at = random_below((uint32_t)length);
      if (random_below(2))
        copy[at] = (char)(copy[at] ^ (1 << random_below(8)));
      else
        copy[at] = alphabet[random_below(sizeof(alphabet) - 1)];
    }
    pn_error_t *error =
        pn_target_create_from_text(copy, length, "fuzz", &target);
    CHECK((error == NULL) == (target != NULL));
    parsed += error == NULL;
    refused += error != NULL;
    pn_error_destroy(error);
    pn_target_release(target);
    free(copy);
  }
  printf("  %d parsed, %d refused\n", parsed, refused);
  CHECK(parsed > 100 && refused > 100);
  free(valid);
}

/*===--- Host -------------------------------------------------------------===*/

static void host(void) {
  pn_target_t *target;
  pn_target_host_options_t options = PN_TARGET_HOST_OPTIONS_INIT;
  options.measure = PN_TARGET_MEASURE_IGNORE;
  pn_error_t *error = pn_target_create_host_with(&options, &target);
  CHECK(error == NULL && target != NULL);
  if (error)
    fprintf(stderr, "%s\n", pn_error_message(error));
  pn_error_destroy(error);
  if (!target)
    return;
  pn_target_info_t info = info_of(target);
  CHECK(strcmp(info.name, "host") == 0 && *info.llvm_cpu && *info.llvm_triple);
  CHECK(info.cores >= 1 && info.cores <= sysconf(_SC_NPROCESSORS_CONF));
  CHECK(info.page_bytes == sysconf(_SC_PAGESIZE));
  CHECK(info.caches[0].size_kib >= 8 && info.caches[0].size_kib <= 1024);
  CHECK(info.usable_llc_kib_per_core >= 1);
  round_trip(target);
  pn_target_release(target);

  CHECK(pn_target_create_by_name("cpu:host", &target) == NULL);
  pn_target_release(target);
  CHECK(pn_target_create_host(&target) == NULL);
  pn_target_release(target);

  options.struct_size = 4;
  error = pn_target_create_host_with(&options, &target);
  CHECK(pn_error_code(error) == PN_ERROR_ARGUMENT && target == NULL);
  pn_error_destroy(error);
  options = (pn_target_host_options_t)PN_TARGET_HOST_OPTIONS_INIT;
  options.reserved = 1;
  error = pn_target_create_host_with(&options, &target);
  CHECK(pn_error_code(error) == PN_ERROR_ARGUMENT && target == NULL);
  pn_error_destroy(error);
  options.reserved = 0;
  options.measure = (pn_target_measure_t)9;
  error = pn_target_create_host_with(&options, &target);
  CHECK(pn_error_code(error) == PN_ERROR_ARGUMENT && target == NULL);
  pn_error_destroy(error);
  /* Whatever the answer, asking twice gives the same one. */
  CHECK(pn_target_request_amx() == pn_target_request_amx());
}

/* Facts of an Emerald Rapids guest with two CPUs. */
static pn_host_facts_t guest(void) {
  return (pn_host_facts_t){
      .vendor = "GenuineIntel",
      .family = 6,
      .model = 0xcf,
      .llvm_cpu = "sapphirerapids",
      .llvm_features = "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,"
                       "+avx512vl,+avx512bf16,+avx512vnni,+amx-tile,+amx-int8,"
                       "+amx-bf16,-sse4a",
      .llvm_triple = "x86_64-pc-linux-gnu",
      .sysfs = {{48, 64, 12, 1}, {2048, 64, 16, 1}, {307200, 64, 15, 2}},
      .threads_per_core = 1,
      .cores = 2,
      .page_bytes = 4096,
      .huge_page_bytes = 2097152,
      .amx_usable = true};
}

static pn_target_row_t row_of(const pn_host_facts_t *facts,
                              pn_host_text_t *text) {
  pn_target_row_t row;
  pn_host_row(facts, text, &row);
  char reason[256] = "";
  CHECK(pn_target_row_check(&row, reason, sizeof(reason)));
  if (*reason)
    fprintf(stderr, "%s\n", reason);
  return row;
}

static void host_rows(void) {
  pn_host_text_t text;
  pn_host_facts_t facts = guest();
  pn_target_row_t row = row_of(&facts, &text);
  /* 300 MiB shown to two cores: the share on the chip, 1.875 MiB, counts. */
  CHECK(row.info.caches[2].size_kib == 307200);
  CHECK(row.info.usable_llc_kib_per_core == 1920);
  CHECK(row.info.vector_bits == 512 &&
        row.info.prefer_vector_width_bits == 512);
  CHECK(pn_target_info_has(&row.info, PN_TARGET_FEATURE_AMX_INT8));
  CHECK(row.info.matrix_rows == 16);
  /* Measured: 24 MiB for two. */
  facts.measured_capacity_kib = 24576;
  facts.measured_memory_mib_per_s = 8192;
  row = row_of(&facts, &text);
  CHECK(row.info.usable_llc_kib_per_core == 12288);
  CHECK(row.info.memory_mib_per_s == 8192);
  /* More than the system reports is not believed, nothing is not either. */
  facts.measured_capacity_kib = 1 << 22;
  row = row_of(&facts, &text);
  CHECK(row.info.usable_llc_kib_per_core == 153600);
  facts.measured_capacity_kib = 1;
  row = row_of(&facts, &text);
  CHECK(row.info.usable_llc_kib_per_core == 256);

  facts = guest();
  facts.amx_usable = false;
  row = row_of(&facts, &text);
  CHECK(!pn_target_info_has(&row.info, PN_TARGET_FEATURE_AMX_INT8));
  CHECK(row.info.matrix_rows == 0);
  /* AVX-512 hidden by the hypervisor. */
  facts.llvm_features = "+avx2,+fma,+f16c,-avx512f";
  row = row_of(&facts, &text);
  CHECK(row.info.vector_bits == 256 && row.info.vector_registers == 16);
  CHECK(row.info.fma_ports == 2 && row.info.prefer_vector_width_bits == 256);
  /* A Zen 4 without AVX-512 has both halves of its pipes for 256 bits. */
  (void)strcpy(facts.vendor, "AuthenticAMD");
  facts.family = 0x19;
  facts.model = 0x61;
  row = row_of(&facts, &text);
  CHECK(row.info.vector_bits == 256 && row.info.fma_ports == 2);
  /* Nothing but SSE2, no L3, nothing reported about sharing. */
  facts.llvm_features = "";
  memset(&facts.sysfs[2], 0, sizeof(facts.sysfs[2]));
  facts.sysfs[1].sharing_threads = 0;
  row = row_of(&facts, &text);
  CHECK(row.info.vector_bits == 128 && row.info.features == 0);
  CHECK(row.info.caches[2].size_kib == 0 && row.info.l3_bytes_per_cycle == 0);
  CHECK(row.info.usable_llc_kib_per_core == 2048);
  /* CPUID reports less than sysfs: the smaller one. */
  facts = guest();
  facts.cpuid[2] = (pn_host_cache_t){107520, 64, 15, 112};
  facts.threads_per_core = 2;
  row = row_of(&facts, &text);
  CHECK(row.info.caches[2].size_kib == 107520);
  CHECK(row.info.caches[2].shared_by_cores == 56);
  /* Sizes that contradict each other: those of the nearest row. */
  facts.sysfs[0].size_kib = 4096;
  row = row_of(&facts, &text);
  CHECK(row.info.caches[0].size_kib == 48);
  CHECK(strstr(row.sources[PN_TARGET_GROUP_L1], "makes no sense") != NULL);
}

/* What is missing of `features`, with `have`; "" where nothing is. */
static const char *missing(uint64_t have, const char *names) {
  const char *problem = pn_processor_problem(have, names, strlen(names));
  return problem ? problem : "";
}

static void processor(void) {
  /* The runtime's names are the targets'. */
  for (size_t i = 0; i < pn_target_feature_count(); ++i) {
    const char *name = pn_target_feature_name(i);
    CHECK(strstr(missing(~(UINT64_C(1) << i), name), name) != NULL);
    CHECK(strcmp(missing(UINT64_C(1) << i, name), "") == 0);
  }
  CHECK(strcmp(missing(0, ""), "") == 0 && strcmp(missing(0, "  "), "") == 0);
  CHECK(strstr(missing(~UINT64_C(0), "avx2 avx9"), "does not know") != NULL);
  CHECK(strstr(missing(1, " avx2 f16c sve"), "f16c") != NULL);
  /* A name that another begins with is not that one. */
  CHECK(strstr(missing(1 << 2, "avx512-vnni"), "avx512-vnni") != NULL);

  CHECK(pn_description_problem(0, NULL) == NULL);
  CHECK(pn_description_problem(0, "polynest 2\nentry f arena 0\n") == NULL);
  CHECK(pn_description_problem(0, "polynest 2\ntarget cpu:x\n") == NULL);
  const char *text = "polynest 2\ntarget host avx2 f16c\nentry f arena 0\n";
  CHECK(pn_description_problem(3, text) == NULL);
  CHECK(strstr(pn_description_problem(1, text), "f16c") != NULL);
  /* The target's own name is none of a feature. */
  CHECK(pn_description_problem(0, "polynest 2\ntarget avx2") == NULL);

  /* The runtime and LLVM see the same processor. */
  char *features = LLVMGetHostCPUFeatures();
  char *triple = LLVMGetDefaultTargetTriple();
  pn_host_facts_t facts = {
      .llvm_cpu = "", .llvm_features = features, .llvm_triple = triple};
  pn_host_read_cpuid(&facts);
  CHECK(pn_processor_features() == pn_host_usable_features(&facts));
  LLVMDisposeMessage(triple);
  LLVMDisposeMessage(features);
}

static void nearest_rows(void) {
  static const struct {
    const char *vendor;
    int32_t family, model;
    const char *llvm_cpu, *features, *triple, *row, *why;
  } cases[] = {
      {"AuthenticAMD", 0x19, 0x01, "x", "", "x86_64-a", "znver3", "family"},
      {"AuthenticAMD", 0x19, 0x11, "x", "", "x86_64-a", "znver4", "family"},
      {"AuthenticAMD", 0x19, 0x50, "x", "", "x86_64-a", "znver3", "family"},
      {"AuthenticAMD", 0x19, 0x61, "x", "", "x86_64-a", "znver4", "family"},
      {"AuthenticAMD", 0x19, 0xa0, "x", "", "x86_64-a", "znver4", "family"},
      {"AuthenticAMD", 0x1a, 0x44, "x", "", "x86_64-a", "znver5", "family"},
      {"GenuineIntel", 6, 0x55, "x", "", "x86_64-a", "skylake-avx512",
       "family"},
      {"GenuineIntel", 6, 0x8f, "x", "", "x86_64-a", "sapphirerapids",
       "family"},
      {"GenuineIntel", 6, 0xad, "x", "", "x86_64-a", "graniterapids", "family"},
      {"GenuineIntel", 6, 0x3f, "x", "", "x86_64-a", "haswell", "family"},
      {"CentaurHauls", 7, 1, "znver5", "", "x86_64-a", "znver5", "LLVM"},
      {"GenuineIntel", 19, 1, "diamondrapids", "+amx-tile,+amx-fp16",
       "x86_64-a", "graniterapids", "features"},
      {"", 0, 0, "y", "+avx2,+fma,+avx512f,+avx512bw,+avx512dq,+avx512vl",
       "x86_64-a", "skylake-avx512", "features"},
      {"", 0, 0, "y", "", "x86_64-a", "haswell", "features"},
      {"", 0, 0, "apple-m1", "+neon", "aarch64-a", "apple-m1", "LLVM"},
      {"", 0, 0, "znver3", "+neon", "aarch64-a", "neoverse-n1", "features"},
      {"", 0, 0, "neoverse-v2", "+neon,+sve", "aarch64-a", "neoverse-v1",
       "features"}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    pn_host_facts_t facts = {.family = cases[i].family,
                             .model = cases[i].model,
                             .llvm_cpu = cases[i].llvm_cpu,
                             .llvm_features = cases[i].features,
                             .llvm_triple = cases[i].triple};
    (void)strcpy(facts.vendor, cases[i].vendor);
    const char *why;
    const pn_target_row_t *row = pn_host_nearest_row(&facts, &why);
    CHECK(strcmp(row->info.name, cases[i].row) == 0);
    CHECK(strncmp(why, cases[i].why, strlen(cases[i].why)) == 0);
  }
}

static int32_t random_size(void) {
  static const int32_t special[] = {
      0, -1, 1, 7, 32, 48, 64, 100, 2048, 1 << 22, INT32_MAX, INT32_MIN};
  return random_below(3) ? special[random_below(12)]
                         : (int32_t)random_below(1u << 20);
}

/* No report, however absurd, keeps the host from having a sound row. */
static void absurd_facts(void) {
  static const char *const features[] = {
      "",
      "+",
      ",,,+,-",
      "+avx2,+fma",
      "+avx512f",
      "+avx2,+fma,+avx512f,+avx512bw,+avx512dq,+avx512vl,+amx-tile,+amx-int8",
      "+neon,+sve,+bf16"};
  for (int i = 0; i < 20000; ++i) {
    pn_host_facts_t facts = guest();
    facts.family = (int32_t)random_below(32);
    facts.model = (int32_t)random_below(256);
    bool arm = random_below(8) == 0;
    facts.llvm_triple = arm ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
    facts.llvm_features = features[arm ? 6 : random_below(6)];
    if (random_below(2))
      (void)strcpy(facts.vendor, "AuthenticAMD");
    for (int level = 0; level < 3; ++level) {
      pn_host_cache_t *both[] = {&facts.sysfs[level], &facts.cpuid[level]};
      for (int j = 0; j < 2; ++j)
        *both[j] = (pn_host_cache_t){random_size(), random_size(),
                                     random_size(), random_size()};
    }
    facts.threads_per_core = random_size();
    facts.cores = random_size();
    facts.frequency_mhz = random_size();
    facts.page_bytes = random_size();
    facts.huge_page_bytes = (int64_t)random_size() * random_size();
    facts.measured_capacity_kib = random_size();
    facts.measured_memory_mib_per_s = random_size();
    pn_host_text_t text;
    (void)row_of(&facts, &text);
  }
}

static void sysfs_and_lists(void) {
  CHECK(pn_host_count_cpu_list("0") == 1);
  CHECK(pn_host_count_cpu_list("0-3,8,10-11") == 7);
  CHECK(pn_host_count_cpu_list("") == 0);
  CHECK(pn_host_count_cpu_list("3-1") == 0);
  CHECK(pn_host_count_cpu_list("1-") == 0);
  CHECK(pn_host_count_cpu_list("a") == 0);
  CHECK(pn_host_count_cpu_list("0-99999999999") == 0);
  CHECK(pn_host_count_cpu_list("0-2000000000") == 0);

  static const struct {
    const char *file, *text;
  } files[] = {{"level", "3\n"},
               {"type", "Unified\n"},
               {"size", "32768K\n"},
               {"coherency_line_size", "64\n"},
               {"ways_of_associativity", "16\n"},
               {"shared_cpu_list", "0-7,64-71\n"}};
  char path[512];
  static const char *const parts[] = {"/cpu5", "/cpu5/cache",
                                      "/cpu5/cache/index2"};
  for (int i = 0; i < 3; ++i) {
    (void)snprintf(path, sizeof(path), "%s%s", temporary_directory, parts[i]);
    CHECK(mkdir(path, 0700) == 0);
  }
  for (size_t i = 0; i < 6; ++i) {
    (void)snprintf(path, sizeof(path), "%s/cpu5/cache/index2/%s",
                   temporary_directory, files[i].file);
    write_file(path, files[i].text, strlen(files[i].text));
  }
  pn_host_cache_t caches[3];
  pn_host_read_sysfs(temporary_directory, 5, caches);
  CHECK(caches[0].size_kib == 0 && caches[1].size_kib == 0);
  CHECK(caches[2].size_kib == 32768 && caches[2].line_bytes == 64);
  CHECK(caches[2].ways == 16 && caches[2].sharing_threads == 16);
  /* Broken numbers count as not said. */
  (void)snprintf(path, sizeof(path), "%s/cpu5/cache/index2/size",
                 temporary_directory);
  write_file(path, "9999999999999G\n", 15);
  pn_host_read_sysfs(temporary_directory, 5, caches);
  CHECK(caches[2].size_kib == 0);
  pn_host_read_sysfs("/nonexistent", 0, caches);
  CHECK(caches[2].size_kib == 0);
}

/*===--- Measurement ------------------------------------------------------===*/

static void capacity_from_curves(void) {
  /* L2 of 1 MiB at 5 ns, last level at 20 ns, memory at 100 ns behind 8 MiB:
   * latency(S) = 5/S + 20 * (1 - 1/S), and 100 for the part above 8. */
  static const int32_t mib[] = {2, 3, 4, 6, 8, 12, 16, 24, 32};
  pn_host_point_t points[9];
  for (int i = 0; i < 9; ++i) {
    double s = mib[i], hit = s <= 8 ? 1 : 8 / s;
    points[i].size_kib = mib[i] * 1024;
    points[i].latency_ns = 5 / s + (1 - 1 / s) * (20 * hit + 100 * (1 - hit));
  }
  CHECK(pn_host_capacity_from_curve(points, 9, 1024, 5) == 8192);
  /* One disturbed point does not end the curve. */
  points[2].latency_ns = 300;
  CHECK(pn_host_capacity_from_curve(points, 9, 1024, 5) == 8192);
  /* Slow growth by the TLB does not either. */
  for (int i = 0; i < 9; ++i)
    points[i].latency_ns = 15 + 2 * i;
  CHECK(pn_host_capacity_from_curve(points, 9, 1024, 5) == 32768);
  /* All of it memory. */
  for (int i = 0; i < 9; ++i)
    points[i].latency_ns = 120;
  CHECK(pn_host_capacity_from_curve(points, 9, 1024, 5) == 0);
  /* Too few points, nonsense. */
  CHECK(pn_host_capacity_from_curve(points, 2, 1024, 5) == 0);
  CHECK(pn_host_capacity_from_curve(points, 9, 2048, 5) == 0);
  CHECK(pn_host_capacity_from_curve(points, 9, 0, 5) == 0);
  for (int i = 0; i < 9; ++i)
    points[i].latency_ns = 0;
  CHECK(pn_host_capacity_from_curve(points, 9, 1024, 5) == 0);
}

static void measurement_on_disk(void) {
  char path[4096], directory[256];
  (void)snprintf(directory, sizeof(directory), "%s/a/b", temporary_directory);
  CHECK(pn_host_cache_path(directory, 0x123, path, sizeof(path)));
  CHECK(strstr(path, "/a/b/host-0000000000000123.txt") != NULL);
  CHECK(!pn_host_cache_path(directory, 0x123, path, 10));
  int32_t capacity, memory;
  CHECK(pn_host_cache_path(directory, 0x123, path, sizeof(path)));
  CHECK(!pn_host_cache_load(path, 0x123, &capacity, &memory));
  CHECK(pn_host_cache_store(path, 0x123, 8192, 16384));
  CHECK(pn_host_cache_load(path, 0x123, &capacity, &memory));
  CHECK(capacity == 8192 && memory == 16384);
  CHECK(!pn_host_cache_load(path, 0x124, &capacity, &memory));
  CHECK(capacity == 0 && memory == 0);
  /* No flipped bit and no cut is taken for a measurement. */
  char good[512];
  FILE *stream = fopen(path, "rb");
  size_t length = fread(good, 1, sizeof(good), stream);
  CHECK(fclose(stream) == 0);
  for (size_t i = 0; i < length; ++i) {
    char bad[512];
    memcpy(bad, good, length);
    bad[i] = (char)(bad[i] ^ (1 << (i % 8)));
    write_file(path, bad, length);
    CHECK(!pn_host_cache_load(path, 0x123, &capacity, &memory));
    write_file(path, good, i);
    CHECK(!pn_host_cache_load(path, 0x123, &capacity, &memory));
  }
  write_file(path, good, length);
  CHECK(pn_host_cache_load(path, 0x123, &capacity, &memory));
  /* A directory that cannot be made: no measurement kept, no harm. */
  CHECK(!pn_host_cache_store("/proc/none/host.txt", 1, 1, 1));
}

/* Where the file lies follows the XDG rules. */
static void cache_directory(void) {
  char path[4096];
  (void)setenv("XDG_CACHE_HOME", "/x/cache", 1);
  CHECK(pn_host_cache_path(NULL, 1, path, sizeof(path)));
  CHECK(strncmp(path, "/x/cache/polynest/host-", 23) == 0);
  (void)setenv("XDG_CACHE_HOME", "relative", 1);
  (void)setenv("HOME", "/h", 1);
  CHECK(pn_host_cache_path(NULL, 1, path, sizeof(path)));
  CHECK(strncmp(path, "/h/.cache/polynest/host-", 24) == 0);
  (void)unsetenv("XDG_CACHE_HOME");
  (void)unsetenv("HOME");
  CHECK(!pn_host_cache_path(NULL, 1, path, sizeof(path)));
}

static void measurement(void) {
  char directory[256];
  (void)snprintf(directory, sizeof(directory), "%s/m", temporary_directory);
  pn_target_host_options_t options = PN_TARGET_HOST_OPTIONS_INIT;
  options.cache_directory = directory;
  options.measure = PN_TARGET_MEASURE_NOW;
  struct timespec start, end;
  pn_target_t *measured, *cached;
  (void)clock_gettime(CLOCK_MONOTONIC, &start);
  CHECK(pn_target_create_host_with(&options, &measured) == NULL);
  (void)clock_gettime(CLOCK_MONOTONIC, &end);
  double ms = (double)(end.tv_sec - start.tv_sec) * 1e3 +
              (double)(end.tv_nsec - start.tv_nsec) / 1e6;
  options.measure = PN_TARGET_MEASURE_CACHED;
  CHECK(pn_target_create_host_with(&options, &cached) == NULL);
  pn_target_info_t info = info_of(measured), again = info_of(cached);
  printf("  %.0f ms, usable %d KiB a core, memory %d MiB/s\n", ms,
         info.usable_llc_kib_per_core, info.memory_mib_per_s);
  /* 100 ms on an idle machine; a test may share it with a build. */
  CHECK(ms < 1000);
  CHECK(again.usable_llc_kib_per_core == info.usable_llc_kib_per_core);
  CHECK(again.memory_mib_per_s == info.memory_mib_per_s);
  const pn_target_cache_t *last =
      &info.caches[pn_target_info_last_level(&info)];
  CHECK(info.usable_llc_kib_per_core <= last->size_kib);
  pn_target_release(measured);
  pn_target_release(cached);
}

/*===--- Documentation ----------------------------------------------------===*/

/* docs/targets.md names each field with its unit, each feature, each group and
 * each known chip. */
static void documentation(void) {
  FILE *stream = fopen(PN_SOURCE_DIR "/docs/targets.md", "rb");
  CHECK(stream != NULL);
  if (!stream)
    return;
  char *text = calloc(1, 1 << 17);
  CHECK(fread(text, 1, (1 << 17) - 1, stream) > 0);
  CHECK(fclose(stream) == 0);
  char wanted[128];
  for (size_t i = 0; i < pn_target_field_count(); ++i) {
    const pn_target_field_t *field = pn_target_field(i);
    (void)snprintf(wanted, sizeof(wanted), "| `%s` | %s", field->key,
                   *field->unit ? field->unit : "-");
    if (!strstr(text, wanted))
      fprintf(stderr, "docs/targets.md lacks: %s\n", wanted);
    CHECK(strstr(text, wanted) != NULL);
  }
  for (size_t i = 0; i < pn_target_feature_count(); ++i) {
    (void)snprintf(wanted, sizeof(wanted), "`%s`", pn_target_feature_name(i));
    CHECK(strstr(text, wanted) != NULL);
  }
  for (int i = 0; i < PN_TARGET_GROUP_COUNT; ++i) {
    (void)snprintf(wanted, sizeof(wanted), "`source_%s`",
                   pn_target_group_name((pn_target_group_t)i));
    CHECK(strstr(text, wanted) != NULL);
  }
  for (size_t i = 0; i < pn_target_known_count(); ++i) {
    (void)snprintf(wanted, sizeof(wanted), "`%s`", pn_target_known_name(i));
    CHECK(strstr(text, wanted) != NULL);
  }
  free(text);
}

/* Forms and widths of the dot products of a known chip, in order. */
static void dot_units_are(const char *chip, const char *expected) {
  const pn_target_row_t *row = pn_target_find_row(chip);
  CHECK(row != NULL);
  char text[512] = "";
  const pn_dot_unit_t *unit;
  for (size_t i = 0; (unit = pn_dot_unit_get(&row->info, i)) != NULL; ++i) {
    size_t used = strlen(text);
    snprintf(text + used, sizeof(text) - used, "%s%s:%d:%s", i ? " " : "",
             unit->form, (int)unit->bits, unit->adds_up ? "add" : "sum");
    CHECK(strncmp(unit->intrinsic, "llvm.", 5) == 0);
    CHECK(unit->is_exact == (strncmp(unit->form, "bf16", 4) != 0));
    CHECK(unit->bits <= row->info.vector_bits);
  }
  if (strcmp(text, expected) != 0)
    printf("  %s: %s\n", chip, text);
  CHECK(strcmp(text, expected) == 0);
}

static void dot_units(void) {
  dot_units_are("znver3", "s16s16x2:256:sum s16s16x2:128:sum");
  dot_units_are("skylake-avx512",
                "s16s16x2:512:sum s16s16x2:256:sum s16s16x2:128:sum");
  dot_units_are("znver4",
                "u8s8x4:512:add u8s8x4:256:add u8s8x4:128:add "
                "s16s16x2:512:add s16s16x2:256:add s16s16x2:128:add "
                "bf16bf16x2:512:add bf16bf16x2:256:add bf16bf16x2:128:add");
  dot_units_are("neoverse-n1", "s8s8x4:128:add u8u8x4:128:add");
  dot_units_are("neoverse-v1", "s8s8x4:128:add u8u8x4:128:add "
                               "u8s8x4:128:add bf16bf16x2:128:add");
  /* A chip with units of 512 bits that is used with vectors of 256. */
  pn_target_info_t narrow = pn_target_find_row("znver4")->info;
  narrow.vector_bits = 256;
  const pn_dot_unit_t *unit = pn_dot_unit_get(&narrow, 0);
  CHECK(unit != NULL && unit->bits == 256);
  for (size_t i = 0; (unit = pn_dot_unit_get(&narrow, i)) != NULL; ++i)
    CHECK(unit->bits <= 256);
}

/* Widths of what looks numbers up on a known chip, in order. */
static void permutes_are(const char *chip, const char *expected) {
  const pn_target_row_t *row = pn_target_find_row(chip);
  CHECK(row != NULL);
  char text[64] = "";
  const pn_permute_t *permute;
  for (size_t i = 0; (permute = pn_permute_get(&row->info, i)) != NULL; ++i) {
    size_t used = strlen(text);
    snprintf(text + used, sizeof(text) - used, "%s%d", i ? " " : "",
             (int)permute->bits);
    CHECK(strncmp(permute->intrinsic, "llvm.", 5) == 0);
  }
  if (strcmp(text, expected) != 0)
    printf("  %s: %s\n", chip, text);
  CHECK(strcmp(text, expected) == 0);
}

static void permutes(void) {
  permutes_are("znver3", "256");
  permutes_are("skylake-avx512", "512 256");
  permutes_are("neoverse-v1", "");
  /* Features of a chip whose vectors are kept short. */
  pn_target_info_t info = pn_target_find_row("skylake-avx512")->info;
  info.vector_bits = 256;
  const pn_permute_t *first = pn_permute_get(&info, 0);
  CHECK(first != NULL && first->bits == 256);
  CHECK(pn_permute_get(&info, 1) == NULL);
}

/* Forms and sizes of the matrix units of a known chip, in order. */
static void matrix_units_are(const char *chip, const char *expected) {
  const pn_target_row_t *row = pn_target_find_row(chip);
  CHECK(row != NULL);
  char text[512] = "";
  pn_matrix_unit_t unit;
  for (size_t i = 0; pn_matrix_unit_get(&row->info, i, &unit); ++i) {
    size_t used = strlen(text);
    snprintf(text + used, sizeof(text) - used, "%s%s:%dx%dx%d", i ? " " : "",
             unit.form, (int)unit.rows, (int)unit.columns, (int)unit.words);
    CHECK(strncmp(unit.intrinsic, "llvm.x86.tdp", 12) == 0);
    CHECK(unit.is_exact == (strncmp(unit.form, "bf16", 4) != 0));
    CHECK(unit.registers == 8 && unit.latency_cycles == 52);
  }
  CHECK(unit.form == NULL && unit.rows == 0);
  if (strcmp(text, expected) != 0)
    printf("  %s: %s\n", chip, text);
  CHECK(strcmp(text, expected) == 0);
}

static void matrix_units(void) {
  matrix_units_are("znver4", "");
  matrix_units_are("neoverse-v1", "");
  static const char all[] = "s8s8x4:16x16x16 s8u8x4:16x16x16 u8s8x4:16x16x16 "
                            "u8u8x4:16x16x16 bf16bf16x2:16x16x16";
  matrix_units_are("sapphirerapids", all);
  matrix_units_are("graniterapids", all);
  /* The second side has no more rows than there are. */
  pn_target_info_t info = pn_target_find_row("sapphirerapids")->info;
  info.matrix_rows = 8;
  pn_matrix_unit_t unit;
  CHECK(pn_matrix_unit_get(&info, 4, &unit));
  CHECK(unit.rows == 8 && unit.columns == 16 && unit.words == 8);
  CHECK(!pn_matrix_unit_get(&info, 5, &unit));
  info.features &= ~(UINT64_C(1) << PN_TARGET_FEATURE_AMX_INT8);
  CHECK(pn_matrix_unit_get(&info, 0, &unit));
  CHECK(strcmp(unit.form, "bf16bf16x2") == 0);
  CHECK(!pn_matrix_unit_get(&info, 1, &unit));
}

int main(void) {
  CHECK(mkdtemp(temporary_directory) != NULL);
  CHECK_RUN(allocation_failures);
  CHECK_RUN(known_rows_are_sound);
  CHECK_RUN(dot_units);
  CHECK_RUN(permutes);
  CHECK_RUN(matrix_units);
  CHECK_RUN(names);
  CHECK_RUN(info_and_references);
  CHECK_RUN(round_trips);
  CHECK_RUN(table_shows_everything);
  CHECK_RUN(forms_that_parse);
  CHECK_RUN(parse_errors);
  CHECK_RUN(several_diagnostics);
  CHECK_RUN(contradictions);
  CHECK_RUN(files);
  CHECK_RUN(fuzz_parser);
  CHECK_RUN(host);
  CHECK_RUN(host_rows);
  CHECK_RUN(processor);
  CHECK_RUN(nearest_rows);
  CHECK_RUN(absurd_facts);
  CHECK_RUN(sysfs_and_lists);
  CHECK_RUN(capacity_from_curves);
  CHECK_RUN(measurement_on_disk);
  CHECK_RUN(measurement);
  CHECK_RUN(documentation);
  CHECK_RUN(cache_directory);
  char command[256];
  (void)snprintf(command, sizeof(command), "rm -rf '%s'", temporary_directory);
  CHECK(system(command) == 0);
  return check_result();
}
