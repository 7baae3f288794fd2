#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random contractions and convolutions against a float64 reference.

  contraction_fuzz.py                        60 of each family, seed 1
  contraction_fuzz.py --families conv --count 200 --seed 7
  contraction_fuzz.py --all                  every case on every target
  contraction_fuzz.py --forever              seed after seed until one fails
  contraction_fuzz.py --spec FILE            one case again; "-" reads it here
  contraction_fuzz.py --shrink FILE          makes a failing case smaller

Families: matmul (M, N, K of the list of sizes, all transpositions, batches,
matvec, vecmat, dot, outer, gram), einsum (several loops a side, in any order),
conv (1-d to 3-d, every parameter) and hooks (the same with prologues and
epilogues). Element types, layouts of arguments, dynamic sizes, init values and
the rest are mixed at random; contraction_specs.py says how.

Each case is compiled for one target that this machine can run: its own, a
narrower chip, one without FMA, ones with so small caches that small cases fill
many blocks, and chips of other vectors and registers up to stage 3. Arguments
end at, or begin behind, memory that must not be touched; results lie between
canaries. A case runs with 1, 2 and 3 threads, and again; all must have the same
bits. Results are compared with a float64 reference within the row
"contractions" of test/tolerances.json; integers, and sums of whole numbers,
exactly.

Cases run in a child process, so that a crash is a failure like others. A failing
case is made smaller and kept as FILE.json with FILE.mlir beside it.
Needs numpy; POLYNEST_LIBRARY names the library.
"""
import argparse
import ctypes
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import traceback

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent.parent / "python"))

import contraction_specs as specs  # noqa: E402
import tensor_builder as tb  # noqa: E402
from polynest import _capi, errors, handles, threads  # noqa: E402

ITEM = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i8": 1, "i16": 2, "i32": 4,
        "i64": 8}
STORED = {"f16": np.float16, "f32": np.float32, "f64": np.float64,
          "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
CANARY = 0xA5
PAGE = os.sysconf("SC_PAGESIZE")
THREADS = (1, 2, 3)

# Caches so small that a case of some hundred elements has many blocks.
SMALL_CACHES = """base = {base}
name = {base}-small
cores = 3
l1_size_kib = 4
l1_ways = 4
l2_size_kib = 16
l2_ways = 4
l3_size_kib = 64
l3_ways = 4
l3_shared_by_cores = 1
usable_llc_kib_per_core = 64
"""
# What every x86-64 has: 128 bits, no FMA.
BASELINE = """base = haswell
name = x86-64-baseline
llvm_cpu = x86-64
features = none
vector_bits = 128
prefer_vector_width_bits = 128
"""


class Failure(Exception):
    pass


# -- targets -------------------------------------------------------------------


def cpu_flags():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return set()
    for line in text.splitlines():
        if line.startswith(("flags", "Features")):
            return set(line.split(":", 1)[1].split())
    return set()


def runnable_targets():
    """Names of targets whose code runs here, the machine's own first. A name
    "chip@host" is a nest that was optimized for another chip, its vectors and
    registers, and is then translated for this one."""
    flags = cpu_flags()
    names = ["host"]
    if {"avx2", "fma", "bmi2"} <= flags:
        names += ["haswell", "haswell-small"]
    if {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= flags:
        names += ["skylake-avx512", "skylake-avx512-small"]
    else:
        names += ["skylake-avx512-small@host", "sapphirerapids@host"]
    if "sse2" in flags:
        names.append("baseline")
        names += ["neoverse-n1-small@host", "sapphirerapids-small@host"]
    return names


_TARGETS = {}


def target(name):
    if name not in _TARGETS:
        text = None
        if name.endswith("-small"):
            text = SMALL_CACHES.format(base=name.removesuffix("-small"))
        elif name == "baseline":
            text = BASELINE
        if text is None:
            _TARGETS[name] = handles.Target(name)
        else:
            with tempfile.NamedTemporaryFile("w", suffix=".target") as file:
                file.write(text)
                file.flush()
                _TARGETS[name] = handles.Target.from_file(file.name)
    return _TARGETS[name]


def compile_for(context, text, name, options):
    """The program's executable for a name of runnable_targets()."""
    with handles.Module(context, text) as module:
        before, _, last = name.rpartition("@")
        if before:
            module.to_stage("s3", target(before), options)
        return module.executable(target(last), options)


# -- memory --------------------------------------------------------------------

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                       ctypes.c_int, ctypes.c_int, ctypes.c_long]
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Block:
    """Memory between two pages that cannot be touched, at either of them."""

    def __init__(self, size, at_end, item):
        pages = max(1, -(-size // PAGE))
        self.total = (pages + 2) * PAGE
        self.base = _LIBC.mmap(None, self.total, 3, 0x22, -1, 0)
        if self.base in (None, ctypes.c_void_p(-1).value):
            raise MemoryError(f"no memory for {self.total} bytes")
        for page in (self.base, self.base + self.total - PAGE):
            _LIBC.mprotect(page, PAGE, 0)
        inner = pages * PAGE
        offset = inner - size if at_end else 0
        offset -= offset % item
        self.address = self.base + PAGE + offset
        self.offset, self.size = offset, size
        self.bytes = np.frombuffer(
            (ctypes.c_uint8 * inner).from_address(self.base + PAGE), np.uint8)

    def close(self):
        self.bytes = None
        _LIBC.munmap(self.base, self.total)


def stored(value, dtype):
    """The bytes of reference values in their own type."""
    if dtype == "bf16":
        bits = np.ascontiguousarray(value.astype(np.float32)).view(np.uint32)
        quiet = np.isnan(value).astype(np.uint32) << 6
        return ((bits >> 16) | quiet).astype(np.uint16)
    return np.ascontiguousarray(value.astype(STORED[dtype]))


def widened(raw, dtype):
    """float64 or int64 values out of their own type."""
    if dtype == "bf16":
        bits = raw.astype(np.uint32) << 16
        return bits.view(np.float32).astype(np.float64)
    return raw.astype(np.float64 if tb.is_float(dtype) else np.int64)


def place(block, shape, strides, dtype):
    """A NumPy view of an array of the block; strides in elements or None."""
    kind = np.dtype(np.uint16) if dtype == "bf16" else np.dtype(STORED[dtype])
    if strides is not None:
        strides = [s * kind.itemsize for s in strides]
    return np.ndarray(shape, kind, block.bytes.data, block.offset, strides)


def span(shape, strides):
    """Elements from the first to the last, that one included."""
    if 0 in shape:
        return 0
    if strides is None:
        return int(np.prod(shape, dtype=np.int64))
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides))


# -- one case ------------------------------------------------------------------


def run_sizes(spec, run):
    """Sizes by letter at the run-th call."""
    if spec["kind"] == "conv":
        sizes = dict(zip("xyz", spec["size"]), n=spec["n"])
        return {x: s + (run if spec["dynamic"] else 0) for x, s in sizes.items()}
    sizes = dict(spec["sizes"])
    generator = random.Random(spec["seed"] + run)
    for x in spec["dynamic"] if run else "":
        sizes[x] = generator.choice([0, 1, 2, 5, 8, 16, 17, 33, 40])
    while run and spec["dynamic"] and math.prod(sizes.values()) > 4000000:
        largest = max(spec["dynamic"], key=sizes.get)
        if sizes[largest] < 2:
            break
        sizes[largest] //= 2
    return sizes


def check_case(spec, context, target_name):
    """Compiles and runs one spec; raises Failure."""
    program = specs.build(spec)
    options = handles.Options(numerics=spec["numerics"])
    try:
        executable = compile_for(context, program.text, target_name, options)
    except errors.PolynestError as error:
        raise Failure(f"does not compile: {error}") from error
    with executable:
        entry = executable.entry(None)
        for run in range(spec["runs"]):
            check_run(program, entry, run)
    return executable.timing.get("total", 0)


def check_run(program, entry, run):
    spec, b = program.spec, program.b
    sizes = run_sizes(spec, run)
    arrays, blocks, items = [], [], []
    try:
        for i, (value, _) in enumerate(b.arguments):
            shape = [sizes[x] if isinstance(x, str) else x
                     for x in program.letters[i]]
            array = program.array(i, shape, run)
            strides = specs.strides_of(program.layouts[i], shape)
            item = ITEM[value.dtype]
            block = Block(item * span(shape, strides),
                          program.layouts[i] != "plain", item)
            blocks.append(block)
            block.bytes[:] = 0xFF  # NaN, or -1, where no element lies
            place(block, shape, strides, value.dtype)[...] = stored(
                array, value.dtype)
            arrays.append(array)
            items.append((_capi.DTYPES[value.dtype], shape, strides))
        expected = b.reference(arrays)
        probe = _capi.CallBlock(items, [])
        found = _capi.result_sizes(entry, probe,
                                   [len(v.shape) for v in b.results])
        shapes = [list(e[0].shape) for e in expected]
        if [list(f) for f in found] != shapes:
            raise Failure(f"result sizes {found}, not {shapes}")
        outs, views, result_items = [], [], []
        for i, (value, shape) in enumerate(zip(b.results, shapes)):
            strides = None
            if spec["result"] == "strided" and shape:
                strides = specs.strides_of("strides", shape)
            item = ITEM[value.dtype]
            block = Block(item * span(shape, strides), (spec["seed"] + i) % 2,
                          item)
            blocks.append(block)
            outs.append(block)
            views.append(place(block, shape, strides, value.dtype))
            result_items.append((_capi.DTYPES[value.dtype], shape, strides))
        call = _capi.CallBlock(items, result_items)
        for i, block in enumerate(blocks):
            call.set_pointer(i, block.address)
        before = [bytes(x.bytes.data) for x in blocks[:len(items)]]
        first = None
        for count in (*THREADS, THREADS[0]):
            for block in outs:
                block.bytes[:] = CANARY
            threads.set_thread_count(count)
            try:
                call.invoke(entry)
            except errors.PolynestError as error:
                raise Failure(f"the call fails: {error}") from error
            bits = [bytes(x.bytes.data) for x in outs]
            if first is None:
                first = bits
                compare_all(b, views, expected, run)
                check_canaries(outs, views)
            elif bits != first:
                raise Failure(f"other bits with {count} threads")
        for i, old in enumerate(before):
            if bytes(blocks[i].bytes.data) != old:
                raise Failure(f"argument {i} was written")
    finally:
        threads.set_thread_count(0)
        views = None
        for block in blocks:
            block.close()


def check_canaries(outs, views):
    for i, (block, view) in enumerate(zip(outs, views)):
        kept = view.copy()
        raw = view.view(f"u{view.itemsize}")
        raw[...] = int.from_bytes(bytes([CANARY] * view.itemsize), "little")
        if (block.bytes != CANARY).any():
            at = int(np.argmax(block.bytes != CANARY)) - block.offset
            raise Failure(f"result {i} was written outside, at byte {at}")
        view[...] = kept


def compare_all(b, views, expected, run):
    for i, (value, view, (reference, bound)) in enumerate(
            zip(b.results, views, expected)):
        got = widened(np.ascontiguousarray(view).reshape(view.shape), value.dtype)
        if not got.size:
            continue
        if bound is None:
            wrong = got != reference
        else:
            with np.errstate(all="ignore"):
                finite = np.isfinite(reference)
                off = abs(got - reference) > bound
                # A value near the end of the type may round beyond it.
                wrong = np.where(finite, off | ~np.isfinite(got), ~(
                    (np.isnan(reference) & np.isnan(got)) | (got == reference)))
                wrong = np.asarray(wrong)
        if wrong.any():
            at = tuple(int(x) for x in np.argwhere(wrong)[0])
            limit = "" if bound is None else f", bound {bound[at]:.3g}"
            raise Failure(
                f"result {i} at {list(at)} of {list(got.shape)} in run {run}: "
                f"{got[at]!r}, not {reference[at]!r}{limit}; "
                f"{int(wrong.sum())} of {wrong.size} are wrong")


# -- running many --------------------------------------------------------------


def spec_of(family, seed, index):
    rng = random.Random(f"{family} {seed} {index}")
    return specs.FAMILIES[family](rng)


def target_of(names, seed, index):
    if len(names) == 1:
        return names[0]
    rng = random.Random(f"target {seed} {index}")
    # The small caches reach the most code a case.
    return rng.choice([*names, *(n for n in names if "-small" in n), names[0]])


def child(options):
    """Runs cases, one line of JSON each, before and after."""
    remarks = []

    def note(flag, kind, location, values):
        if kind == "applied" and "contraction" in flag:
            remarks.append(kind)
    with handles.Context(remark=note) as context:
        for line in sys.stdin:
            spec, name = json.loads(line)
            remarks.clear()
            try:
                nanoseconds = check_case(spec, context, name)
                answer = ["ok", nanoseconds, bool(remarks)]
            except specs.Refused as error:
                answer = ["refused", str(error)]
            except Failure as error:
                answer = ["failed", str(error)]
            except Exception:  # of the test itself, or a shrinker's nonsense
                answer = ["broken", traceback.format_exc()[-1500:]]
            print(json.dumps(answer), flush=True)
    return 0


class Child:
    """A process that runs cases; started again after a crash."""

    def __init__(self, time_limit):
        self.time_limit = time_limit
        self.process = None

    def start(self):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, str(pathlib.Path(__file__).resolve()), "--child"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            text=True)

    def ask(self, spec, name):
        if self.process is None:
            self.start()
        import select

        self.process.stdin.write(json.dumps([spec, name]) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [],
                                    self.time_limit)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.process.kill()
        code = self.process.wait()
        self.process = None
        self.errors.seek(0)
        text = self.errors.read().decode(errors="replace")[-2000:]
        if not ready:
            return ["failed", f"no answer in {self.time_limit} s"]
        return ["failed", f"the process died, status {code}\n{text}"]

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process = None


def simpler(spec):
    """Specs that are one step simpler, the boldest first."""
    def changed(**values):
        return {**spec, **values}
    for key in ("epi", "pro"):
        if spec[key]:
            yield changed(**{key: []})
        for i in range(len(spec[key])):
            yield changed(**{key: spec[key][:i] + spec[key][i + 1:]})
    plain = {"dynamic": "" if spec["kind"] == "contract" else False,
             "layouts": ["plain", "plain"], "result": "plain",
             "constant": False, "init": "zero", "subtract": False,
             "swap": False, "numerics": "default", "runs": 1, "form": "generic",
             "types": ["f32"] * 3, "flavor": "exact", "same": False,
             "transposed": False, "drop": True, "fill": 0}
    for key, value in plain.items():
        if key in spec and spec[key] != value:
            yield changed(**{key: value})
    if spec["kind"] == "contract":
        for x, s in spec["sizes"].items():
            for less in sorted({1, 2, s // 2, s - 8, s - 1}):
                if 0 < less < s:
                    yield changed(sizes={**spec["sizes"], x: less})
        for x in spec["loops"]:
            drop = {k: spec[k].replace(x, "") for k in
                    ("left", "right", "out", "loops", "dynamic")}
            sizes = {k: s for k, s in spec["sizes"].items() if k != x}
            yield changed(sizes=sizes, **drop)
        return
    for key in ("groups", "n", "ic", "oc"):
        for less in sorted({1, 2, spec[key] // 2, spec[key] - 1}):
            if 0 < less < spec[key]:
                yield changed(**{key: less})
    lists = ("size", "kernel", "stride", "dilation", "low", "high")
    for d in range(len(spec["size"])):
        if len(spec["size"]) > 1:
            yield changed(**{k: spec[k][:d] + spec[k][d + 1:] for k in lists})
        for key, least in zip(lists, (1, 1, 1, 1, 0, 0)):
            for less in sorted({least, spec[key][d] // 2, spec[key][d] - 1}):
                if least <= less < spec[key][d]:
                    values = list(spec[key])
                    values[d] = less
                    yield changed(**{key: values})


def shrink(runner, spec, name, budget=90.0):
    """The smallest failing spec found in `budget` seconds."""
    end = time.monotonic() + budget
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for trial in simpler(spec):
            if time.monotonic() > end:
                break
            answer = runner.ask(trial, name)
            if answer[0] == "failed":
                spec, progress = trial, True
                break
    return spec


def report(options, runner, spec, name, label, reason):
    print(f"FAILED {label} on {name}: {reason}", flush=True)
    if options.shrink_budget:
        spec = shrink(runner, spec, name, options.shrink_budget)
        reason = runner.ask(spec, name)[1]
    stem = pathlib.Path(options.keep) / label.replace(" ", "-")
    stem.with_suffix(".json").write_text(json.dumps([spec, name]) + "\n")
    stem.with_suffix(".mlir").write_text(
        f"// {reason.splitlines()[0]}\n// target {name}\n"
        + specs.build(spec).text)
    print(f"  kept {stem}.json and .mlir: {reason}", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--families", default=",".join(specs.FAMILIES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--targets", help="default: all that run here")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--forever", action="store_true")
    parser.add_argument("--keep", default=tempfile.gettempdir())
    parser.add_argument("--print", action="store_true", help="show the programs")
    parser.add_argument("--spec", metavar="FILE")
    parser.add_argument("--shrink", metavar="FILE")
    parser.add_argument("--shrink-budget", type=float, default=60.0,
                        metavar="SECONDS")
    parser.add_argument("--time-limit", type=float, default=180.0,
                        metavar="SECONDS", help="of one case")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options)
    runner = Child(options.time_limit)
    kept = options.spec or options.shrink
    if kept:
        text = sys.stdin.read() if kept == "-" else pathlib.Path(kept).read_text()
        spec, name = json.loads(text)
        name = options.targets or name
        if options.shrink:
            spec = shrink(runner, spec, name, options.shrink_budget)
            print(json.dumps([spec, name]))
        print(specs.build(spec).text)
        answer = runner.ask(spec, name)
        print(*answer)
        runner.close()
        return answer[0] == "failed"
    names = options.targets.split(",") if options.targets else runnable_targets()
    seed, done, failures, spent, blocked = options.seed, 0, 0, 0, 0
    while True:
        for family in options.families.split(","):
            for index in range(options.count):
                spec = spec_of(family, seed, index)
                chosen = names if options.all else [
                    target_of(names, seed, index)]
                for name in chosen:
                    label = f"{family} {seed} {index}"
                    if options.print:
                        print(f"// {label} on {name}\n// {json.dumps(spec)}\n"
                              + specs.build(spec).text, flush=True)
                    answer = runner.ask(spec, name)
                    done += 1
                    if answer[0] == "ok":
                        spent += answer[1]
                        blocked += answer[2]
                    if answer[0] == "broken":
                        failures += 1
                        print(f"BROKEN {label}: {answer[1]}", flush=True)
                    if answer[0] == "failed":
                        failures += 1
                        report(options, runner, spec, name, label, answer[1])
        if not options.forever or failures:
            break
        print(f"seed {seed} done, {done} cases", flush=True)
        seed += 1
    runner.close()
    print(f"{done} cases, {failures} failures, {blocked} blocked, "
          f"{spent / 1e6 / max(1, done):.0f} ms of compilation each")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
