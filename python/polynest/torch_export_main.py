# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C program that polynest.export writes beside a library.

It maps the weights, binds them once, and calls the library with inputs from
files or with numbers that it makes up. It needs the library's header and libc.
"""

from __future__ import annotations

import json
import re
from typing import Any

# torch's names -> those of the header, and bytes.
_TYPES = {
    "bool": ("bool", 1),
    "uint8": ("i8", 1),
    "int8": ("i8", 1),
    "int16": ("i16", 2),
    "int32": ("i32", 4),
    "int64": ("i64", 8),
    "float16": ("f16", 2),
    "bfloat16": ("bf16", 2),
    "float32": ("f32", 4),
    "float64": ("f64", 8),
}
_HEAD = '''/* Loads @STEM@.weights, binds it, and runs @NAME@.
 *
 *   cc @SOURCE@ -L. -l:@STEM@.so -Wl,-rpath,'$ORIGIN' -o @STEM@_main
 *   ./@STEM@_main [-w WEIGHTS] [-n CALLS] [-t THREADS] [-o PREFIX]
 *                 [-s SIZES] [INPUT...]
 *
 * INPUT is a file with the elements of one input, row-major, without a head;
 * inputs without a file get numbers made up. -o writes each result to
 * PREFIX0, PREFIX1 and so on.@SIZES_HELP@
 */
#define _POSIX_C_SOURCE 200809L
@INCLUDE@
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* One argument of the program, in the order of the header. */
typedef struct value {
  const char *name, *type;
  int kind; /* see below */
  int rank;
  int64_t sizes[@RANK@]; /* -1 - k: size k of those that vary */
  int64_t at;            /* of a constant: its place in the weights */
  size_t element_bytes;
} value_t;

enum { INPUT, NUMBER, CONSTANT, BUFFER, RESULT };

static const value_t values[] = {
@VALUES@};
enum { COUNT = sizeof(values) / sizeof(values[0]), RESULTS = @RESULTS@ };
enum { INPUTS = COUNT - RESULTS, SIZES = @SIZE_COUNT@ };

/* Sizes that vary, as in the example. */
static int64_t sizes[SIZES + 1] = {@SIZE_VALUES@};

/* Results that become the value of an argument for the next call: pairs of the
 * result's number and the argument's. */
static const int kept[][2] = {@KEPT@{-1, -1}};

int32_t @SYMBOL@_packed(pn_rt_context_t *ctx, void *state, void **args);
extern const char polynest_info[];

/* A descriptor of any rank: the layout of the header's types. */
typedef struct memref {
  void *allocated, *data;
  int64_t offset, numbers[2 * @RANK@];
} memref_t;

static memref_t memrefs[COUNT + 1];
static void *args[COUNT + 1];
static size_t bytes[COUNT + 1];
'''
_BODY = '''
static int fail(const char *what, const char *detail) {
  fprintf(stderr, "@STEM@_main: %s%s\\n", what, detail);
  return 1;
}

/* The whole file, to be written to in memory alone; its size must be the one
 * of the weights that the library was exported with, and so must its head. */
static char *map_weights(const char *path) {
  static const uint64_t file_bytes = @FILE_BYTES@u, head_bytes = @HEAD_BYTES@u;
  struct stat status;
  int fd = open(path, O_RDONLY);
  char *data = NULL;
  if (fd >= 0 && fstat(fd, &status) == 0 &&
      (uint64_t)status.st_size == file_bytes)
    data = mmap(NULL, file_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if (fd >= 0)
    close(fd);
  if (!data || data == MAP_FAILED)
    return NULL;
  uint64_t hash = 14695981039346656037u;
  for (uint64_t i = 0; i < head_bytes; ++i)
    hash = (hash ^ (unsigned char)data[i]) * 1099511628211u;
  return hash == @HEAD_HASH@u ? data : NULL;
}

/* Fills in sizes and strides; returns the number of bytes. */
static size_t describe(int i, const int64_t *value_sizes) {
  memref_t *m = &memrefs[i];
  int64_t count = 1;
  for (int d = values[i].rank - 1; d >= 0; --d) {
    m->numbers[d] = value_sizes[d];
    m->numbers[values[i].rank + d] = count;
    count *= value_sizes[d] > 0 ? value_sizes[d] : 1;
  }
  for (int d = 0; d < values[i].rank; ++d)
    if (value_sizes[d] == 0)
      count = 0;
  args[i] = m;
  return bytes[i] = (size_t)count * values[i].element_bytes;
}

static int set_data(int i, void *data) {
  memrefs[i].allocated = memrefs[i].data = data;
  return data != NULL;
}

static void *allocate(size_t count) {
  return aligned_alloc(64, (count + 64) / 64 * 64);
}

/* Small numbers that differ; indices stay small enough for any table. */
static void make_up(int i) {
  const char *type = values[i].type;
  size_t count = bytes[i] / values[i].element_bytes;
  memset(memrefs[i].data, 0, bytes[i]);
  for (size_t k = 0; k < count; ++k) {
    double x = (double)(k * 2654435761u % 1000) / 500.0 - 1.0;
    if (!strcmp(type, "f32"))
      ((float *)memrefs[i].data)[k] = (float)x;
    else if (!strcmp(type, "f64"))
      ((double *)memrefs[i].data)[k] = x;
  }
}

/* What is wrong with the file, or NULL. */
static const char *read_input(int i, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return "cannot open ";
  size_t count = fread(memrefs[i].data, 1, bytes[i], file);
  int whole = count == bytes[i] && fgetc(file) == EOF;
  int bad = ferror(file);
  fclose(file);
  if (bad)
    return "cannot read ";
  return whole ? NULL : "not the right number of bytes: ";
}

static void print_result(int i) {
  const value_t *v = &values[i];
  size_t count = bytes[i] / v->element_bytes;
  printf("%s: %s", v->name, v->type);
  for (int d = 0; d < v->rank; ++d)
    printf("%s%lld", d ? "x" : " ", (long long)memrefs[i].numbers[d]);
  for (size_t k = 0; k < count && k < 5; ++k) {
    const void *data = memrefs[i].data;
    if (!strcmp(v->type, "f32"))
      printf(" %g", (double)((const float *)data)[k]);
    else if (!strcmp(v->type, "f64"))
      printf(" %g", ((const double *)data)[k]);
    else if (!strcmp(v->type, "i64"))
      printf(" %lld", (long long)((const int64_t *)data)[k]);
    else if (!strcmp(v->type, "i32"))
      printf(" %d", (int)((const int32_t *)data)[k]);
    else if (v->element_bytes == 1)
      printf(" %d", (int)((const signed char *)data)[k]);
  }
  puts(count > 5 ? " ..." : "");
}

static int write_result(int i, const char *prefix, int number) {
  char path[4096];
  snprintf(path, sizeof(path), "%s%d", prefix, number);
  FILE *file = fopen(path, "wb");
  if (!file)
    return 0;
  int done = fwrite(memrefs[i].data, 1, bytes[i], file) == bytes[i];
  return fclose(file) == 0 && done;
}

/* The message of assertion `number`, counted from 1. */
static void print_assertion(int number) {
  for (const char *line = polynest_info; line && *line;) {
    const char *end = strchr(line, '\\n');
    int size = end ? (int)(end - line) : (int)strlen(line);
    if (!strncmp(line, "assert ", 7) && --number == 0)
      fprintf(stderr, "@STEM@_main: %.*s\\n", size - 7, line + 7);
    line = end ? end + 1 : NULL;
  }
}

/* "8,128": the sizes that vary, in their order. */
static int read_sizes(const char *text) {
  for (int k = 0; k < SIZES; ++k) {
    char *end;
    sizes[k] = strtoll(text, &end, 10);
    if (end == text || sizes[k] < 0 || *end != (k + 1 < SIZES ? ',' : '\\0'))
      return 0;
    text = end + 1;
  }
  return SIZES > 0;
}

/* -1 of what is no number, or none that fits. */
static int read_count(const char *text) {
  char *end;
  long long n = strtoll(text, &end, 10);
  return end != text && !*end && n >= 0 && n <= INT_MAX ? (int)n : -1;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
  const char *weights_path = "@STEM@.weights", *prefix = NULL;
  int calls = 1, option;
  while ((option = getopt(argc, argv, "w:n:t:o:s:")) != -1) {
    if (option == 'w')
      weights_path = optarg;
    else if (option == 'o')
      prefix = optarg;
    else if (option == 'n' && (calls = read_count(optarg)) > 0)
      continue;
    else if (option == 't' && pn_thread_count_set(read_count(optarg)) == 0)
      continue;
    else if (option == 's' && read_sizes(optarg))
      continue;
    else
      return fail("bad option; see the head of @STEM@_main.c", "");
  }
  if (@SYMBOL@_problem())
    return fail(@SYMBOL@_problem(), "");
  char *weights = map_weights(weights_path);
  if (!weights)
    return fail("not the weights of this library: ", weights_path);

  /* Arguments: descriptors, and memory for those that are no constants. */
  void *constants[COUNT + 1];
  int constant_count = 0;
  int64_t dims[COUNT * @RANK@ + 1], *dim = dims;
  for (int i = 0; i < INPUTS; ++i) {
    int64_t own[@RANK@ + 1];
    for (int d = 0; d < values[i].rank; ++d) {
      int64_t n = values[i].sizes[d];
      *dim++ = own[d] = n < 0 ? sizes[-1 - n] : n;
    }
    size_t size = describe(i, own);
    int held = values[i].kind == CONSTANT || values[i].kind == BUFFER;
    if (!set_data(i, held ? weights + values[i].at : allocate(size)))
      return fail("out of memory", "");
    if (values[i].kind == CONSTANT)
      constants[constant_count++] = args[i];
    if (held)
      continue;
    if (values[i].kind == NUMBER)
      *(int64_t *)memrefs[i].data = sizes[-1 - values[i].at];
    else if (optind < argc) {
      const char *path = argv[optind++], *wrong = read_input(i, path);
      if (wrong)
        return fail(wrong, path);
    } else
      make_up(i);
  }
  if (optind < argc)
    return fail("more files than inputs: ", argv[optind]);

  /* Results: their sizes follow from those of the inputs. */
  int64_t result_dims[RESULTS * @RANK@ + 1], *result_dim = result_dims;
  @SYMBOL@_shapes(dims, result_dims);
  for (int i = INPUTS; i < COUNT; ++i) {
    int64_t own[@RANK@ + 1];
    for (int d = 0; d < values[i].rank; ++d) {
      int64_t n = values[i].sizes[d];
      own[d] = n < 0 ? *result_dim++ : n;
    }
    if (!set_data(i, allocate(describe(i, own))))
      return fail("out of memory", "");
  }

  pn_rt_context_t *ctx = pn_rt_context_create();
  void *state = allocate((size_t)@SYMBOL@_state_size());
  int status = ctx && state ? @SYMBOL@_init(ctx, state, constants) : -1;
  double best = 1e30;
  for (int call = 0; status == 0 && call < calls; ++call) {
    double start = now();
    status = @SYMBOL@_packed(ctx, state, args);
    double took = now() - start;
    best = took < best ? took : best;
    for (int k = 0; status == 0 && kept[k][0] >= 0; ++k)
      memcpy(memrefs[kept[k][1]].data, memrefs[INPUTS + kept[k][0]].data,
             bytes[kept[k][1]]);
  }
  if (status > 0)
    print_assertion(status);
  if (status != 0)
    return fail(status < 0 ? "out of memory" : "the call failed", "");
  for (int i = INPUTS; i < COUNT; ++i) {
    print_result(i);
    if (prefix && !write_result(i, prefix, i - INPUTS))
      return fail("cannot write a result to ", prefix);
  }
  fprintf(stderr, "%d calls, %g ms the fastest\\n", calls, best * 1e3);
  for (int i = 0; i < COUNT; ++i)
    if (values[i].kind != CONSTANT && values[i].kind != BUFFER)
      free(memrefs[i].data);
  free(state);
  pn_rt_context_destroy(ctx);
  return 0;
}
'''


def _include(stem: str, symbol: str) -> str:
    """The header. The program has no use for the function without a suffix,
    whose name may be that of something here."""
    line = f'#include "{stem}.h"\n'
    if not re.search(rf"\b{symbol}\b", _HEAD + _BODY):
        return line
    return (
        "/* What follows has a name like that of the function. */\n"
        f"#define {symbol} polynest_not_used\n{line}#undef {symbol}\n"
    )


def _hash(data: bytes) -> int:
    """FNV-1a, 64 bits."""
    found = 14695981039346656037
    for byte in data:
        found = (found ^ byte) * 1099511628211 % 2**64
    return found


class _Sizes:
    """The sizes that vary, each once, by the place that decides it."""

    def __init__(self, example: dict[str, list[int]]) -> None:
        self.example = example
        self.values: list[int] = []
        self.places: list[str] = []
        self.known: dict[str, int] = {}

    def of(self, argument: dict[str, Any], symbols: list[str]) -> list[int]:
        found = []
        for d, size in enumerate(argument["sizes"]):
            if size is not None:
                found.append(size)
                continue
            symbol = symbols[d]
            if symbol not in self.known:
                self.known[symbol] = len(self.values)
                self.values.append(self.example[argument["name"]][d])
                self.places.append(f"dimension {d} of {argument['name']}")
            found.append(-1 - self.known[symbol])
        return found


def _row(
    name: str, dtype: str, kind: str, sizes: list[int], at: int
) -> str:
    type_, width = _TYPES[dtype]
    listed = ", ".join(map(str, sizes)) or "0"
    quoted = json.dumps(name, ensure_ascii=True)
    return (
        f'    {{{quoted}, "{type_}", {kind}, {len(sizes)}, {{{listed}}}, '
        f"{at}, {width}}},\n"
    )


def text(
    description: dict[str, Any],
    places: dict[str, tuple[int, int]],
    parts: Any,
    example: dict[str, list[int]],
    symbols: dict[str, list[str]],
) -> str:
    """The program for a library. `places` has offset and bytes of each weight
    in its file, `example` the sizes of the example's tensors and `symbols`
    names for them, by argument."""
    varying = _Sizes(example)
    rows = []
    buffers = {}
    for i, argument in enumerate(description["arguments"]):
        kind = argument["kind"].upper()
        name = argument.get("name", argument.get("tensor", ""))
        if kind == "NUMBER":
            varying.known.setdefault(name, len(varying.values))
            at = -1 - varying.known[name]
            varying.values.append(2)
            varying.places.append(name)
            rows.append(_row(name, argument["dtype"], kind, [], at))
            continue
        at = places[argument["tensor"]][0] if "tensor" in argument else 0
        if kind == "BUFFER":
            buffers[argument["tensor"]] = i
        sizes = varying.of(argument, symbols.get(name, []))
        rows.append(_row(name, argument["dtype"], kind, sizes, at))
    inputs = {
        a["input"]: i
        for i, a in enumerate(description["arguments"])
        if "input" in a
    }
    kept = ""
    for kind, where, k in description["writes"]:
        at = buffers.get(where) if kind == "buffer" else inputs.get(where)
        if at is not None:
            kept += f"{{{k}, {at}}}, "
    for k, result in enumerate(description["results"]):
        sizes = [-1 if n is None else n for n in result["sizes"]]
        rows.append(_row(f"out{k}", result["dtype"], "RESULT", sizes, 0))
    ranks = [len(a["sizes"]) for a in description["arguments"]]
    ranks += [len(r["sizes"]) for r in description["results"]]
    with open(parts.weights, "rb") as file:
        first = file.read(8)
        head = first + file.read(int.from_bytes(first, "little"))
    listed = "".join(
        f"\n *   {k}: {where}" for k, where in enumerate(varying.places)
    )
    values = {
        "NAME": description["entry"],
        "STEM": parts.library.stem,
        # A name that begins with - is an option to a compiler.
        "SOURCE": ("./" if parts.library.stem[0] == "-" else "")
        + f"{parts.library.stem}_main.c",
        "SYMBOL": description["symbol"],
        "INCLUDE": _include(parts.library.stem, description["symbol"]),
        "RANK": str(max(1, *ranks, 1)),
        "VALUES": "".join(rows),
        "RESULTS": str(len(description["results"])),
        "SIZE_COUNT": str(len(varying.values)),
        "SIZE_VALUES": ", ".join(map(str, varying.values)) or "0",
        "SIZES_HELP": (
            "\n * SIZES are those that vary, separated by commas:" + listed
            if varying.values
            else ""
        ),
        "KEPT": kept,
        "FILE_BYTES": str(parts.weights.stat().st_size),
        "HEAD_BYTES": str(len(head)),
        "HEAD_HASH": str(_hash(head)),
    }
    out = _HEAD + _BODY
    for name, value in values.items():
        out = out.replace(f"@{name}@", value)
    return out
