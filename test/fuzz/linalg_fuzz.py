#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random whole linalg programs, plain and optimized, against what they mean.

Each program is compiled twice in this process, as S2 lowers it and optimized,
with the stage verifiers on, and run on equal inputs; some inputs are strided, and
some results are new values of inputs.
Results that the rules of numerics fix must have their exact bits, the others
must lie in an interval that interval arithmetic derived. Buffers end at a page
that cannot be touched. At the end mlir-opt must read every text.

usage: linalg_fuzz.py [--seed N] [--count N]     a fixed run
       linalg_fuzz.py --forever [--seed N]       until stopped; each program that
                                                 fails is made small and kept
       linalg_fuzz.py --show SEED                print a program
POLYNEST_LIBRARY names the library; mlir-opt comes from --llvm.
"""

import argparse
import faulthandler
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]

import numpy as np  # noqa: E402

import nest_runner  # noqa: E402
import tensor_values as tv  # noqa: E402
from tensor_programs import Program  # noqa: E402

TARGETS = ("host", "host", "host", "cpu:haswell")
BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i1": 1, "i8": 1, "i16": 2,
         "i32": 4, "i64": 8, "index": 8}
NAMES = {"i1": "bool"}


class Failure(Exception):
    def __init__(self, kind, text):
        super().__init__(f"{kind}: {text}")
        self.kind = kind


def to_bytes(elem, x):
    if elem == "bf16":
        bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
        return (bits >> 16).astype(np.uint16).tobytes()
    return np.ascontiguousarray(x, tv.STORAGE[elem]).tobytes()


def from_bytes(elem, data, shape):
    if elem == "bf16":
        bits = np.frombuffer(data, np.uint16).astype(np.uint32) << 16
        return bits.view(np.float32).reshape(shape)
    if elem == "i1":
        raw = np.frombuffer(data, np.uint8)
        if raw.size and raw.max() > 1:
            raise ValueError("a boolean that is neither 0 nor 1")
        return raw.reshape(shape).astype(np.bool_)
    return np.frombuffer(data, tv.STORAGE[elem]).reshape(shape)


def value_of(v):
    """A representable value out of what `v` may be."""
    if v.r.exact:
        return v.r.lo
    x = tv.round_to(v.elem, (v.r.lo + v.r.hi) / 2)
    return np.clip(x, v.r.lo, v.r.hi).astype(tv.STORAGE[v.elem])


class Argument:
    """An input in a guarded buffer, now and then with strides of its own."""

    def __init__(self, value, rng):
        self.value = value
        x = np.asarray(value_of(value))
        shape, self.strides = x.shape, None
        if x.ndim and x.size and rng.random() < 0.25:
            order = list(range(x.ndim))
            rng.shuffle(order)
            stored = x.transpose(order)
            inner = [0] * x.ndim
            step = rng.choice([1, 1, 2])
            spread = np.zeros((*stored.shape, step), x.dtype)
            spread[..., 0] = stored
            at = step
            for k in reversed(range(x.ndim)):
                inner[order[k]] = at
                at *= stored.shape[k]
            self.strides, x = tuple(inner), spread
        self.data = to_bytes(value.elem, x)
        self.buffer = nest_runner.Buffer(len(self.data),
                                         at_start=rng.random() < 0.3)
        self.buffer.fill(self.data)
        self.shape = shape
        self.stored = x.shape

    def now(self):
        """What the buffer holds, as the program sees it."""
        data = nest_runner.ctypes.string_at(self.buffer.address,
                                            len(self.data))
        x = from_bytes(self.value.elem, data, self.stored)
        if self.strides is None:
            return x.copy()
        return np.lib.stride_tricks.as_strided(
            x, self.shape, [n * x.itemsize for n in self.strides]).copy()

    def intact(self):
        return nest_runner.ctypes.string_at(
            self.buffer.address, len(self.data)) == self.data


class Runner:
    """The library, with one context and the targets it was asked for."""

    def __init__(self):
        from polynest import _capi, handles

        self.capi, self.handles = _capi, handles
        self.context = handles.Context()
        self.targets = {}

    def target(self, name):
        if name not in self.targets:
            self.targets[name] = self.handles.Target(name)
        return self.targets[name]

    def run(self, text, target, level, arguments, results, updates):
        """Compiles and calls; the results as arrays. `updates` has, for results
        that are new values of arguments, which."""
        from polynest import errors

        capi, handles = self.capi, self.handles
        number = capi.DTYPES
        buffers = []
        updated = [arguments[k] for k in updates.values()]
        for a in updated:
            a.buffer.fill(a.data)
        everything = results
        results = [v for k, v in enumerate(results) if k not in updates]
        try:
            with handles.Module(self.context, text) as module:
                executable = module.executable(
                    self.target(target), handles.Options(opt_level=level))
            with executable:
                entry = executable.entry(None)
                inputs = [(number[NAMES.get(a.value.elem, a.value.elem)],
                           a.shape, a.strides) for a in arguments]
                block = capi.CallBlock(inputs, [])
                if results:
                    sizes = capi.result_sizes(
                        entry, block, [len(v.dims or ()) for v in results])
                for v, s in zip(results, sizes if results else []):
                    if tuple(s) != (v.shape if v.dims is not None else ()):
                        raise Failure(level, f"{v.name} has sizes {s}, not "
                                      f"{v.shape}")
                block = capi.CallBlock(inputs, [
                    (number[NAMES.get(v.elem, v.elem)],
                     v.shape if v.dims is not None else (), None)
                    for v in results])
                for k, a in enumerate(arguments):
                    block.set_pointer(k, a.buffer.address)
                for k, v in enumerate(results):
                    size = BYTES[v.elem] * int(np.prod(
                        v.shape if v.dims is not None else ()))
                    buffers.append(nest_runner.Buffer(size))
                    block.set_pointer(len(arguments) + k, buffers[-1].address)
                block.invoke(entry)
                found = []
                for v, b in zip(results, buffers):
                    data = nest_runner.ctypes.string_at(b.address, b.size)
                    before = b.data()[:b.address - b.base - nest_runner.PAGE]
                    if before.strip(b"\xa5"):
                        raise Failure(level, f"wrote in front of {v.name}")
                    found.append(from_bytes(
                        v.elem, data,
                        v.shape if v.dims is not None else ()).copy())
                for a in arguments:
                    if a not in updated and not a.intact():
                        raise Failure(level, f"wrote to input {a.value.name}")
                found.reverse()
                return [arguments[updates[k]].now() if k in updates
                        else found.pop() for k in range(len(everything))]
        except errors.PolynestError as error:
            first = error.diagnostics[0] if error.diagnostics else ""
            raise Failure("compile " + level, f"{error} {first}") from None
        except ValueError as error:
            raise Failure(level, str(error)) from None
        finally:
            for b in buffers:
                b.close()


def difference(v, got):
    """None, or the first element outside of what is permitted."""
    r = v.r
    if r.exact:
        want = np.asarray(r.lo)
        same = got == want
        if tv.is_float(v.elem):
            same = np.where(np.isnan(want), np.isnan(got),
                            same & (np.signbit(got) == np.signbit(want)))
    else:
        x = got.astype(np.float64)
        same = (x >= r.lo) & (x <= r.hi)
    same = np.asarray(same)
    if same.all():
        return None
    at = tuple(int(k) for k in np.argwhere(~same)[0])
    want = (str(np.asarray(r.lo)[at]) if r.exact else
            f"{r.lo[at]!r} .. {r.hi[at]!r}")
    return (f"{v.name} at {list(at)} is {got[at]}, not {want}; "
            f"{int((~same).sum())} of {same.size} differ")


def with_updates(text, values, results, rng):
    """The text with some results as new values of inputs, and which."""
    updates = {}
    for k, v in enumerate(results):
        fitting = [i for i, a in enumerate(values)
                   if i not in updates.values() and a.dims is not None
                   and a.type == v.type and a.shape == v.shape]
        if fitting and rng.random() < 0.7:
            updates[k] = rng.choice(fitting)
    if updates:
        types = ", ".join(
            v.type + (f" {{polynest.updates = {updates[k]}}}"
                      if k in updates else "")
            for k, v in enumerate(results))
        head, _, rest = text.partition(" {\n")
        text = f"{head.rpartition(' -> (')[0]} -> ({types}) {{\n{rest}"
    return text, updates


def check(runner, program, dropped=frozenset(), only=None):
    """Raises Failure where the program goes wrong."""
    text, values, results = program.text(dropped, only)
    text, updates = with_updates(text, values, results, __import__(
        "random").Random(~program.seed))
    rng = __import__("random").Random(program.seed)
    target = rng.choice(TARGETS)
    arguments = [Argument(v, rng) for v in values]
    try:
        for level in ("plain", "default"):
            found = runner.run(text, target, level, arguments, results,
                               updates)
            for v, got in zip(results, found):
                wrong = difference(v, got)
                if wrong:
                    raise Failure(level, wrong + f" ({target})")
    finally:
        for a in arguments:
            a.buffer.close()
    return text


def read_by_mlir(llvm, texts):
    done = subprocess.run(
        [os.path.join(llvm, "bin", "mlir-opt"), "--split-input-file",
         "-o", os.devnull], input="\n// -----\n".join(texts), text=True,
        capture_output=True)
    return done.stderr if done.returncode else ""


def isolated(seed, dropped=(), only=None):
    """Checks one program in a process of its own: (kind, text), or None."""
    command = [sys.executable, __file__, "--seed", str(seed), "--count", "1",
               "--no-parse", "--drop", ",".join(map(str, dropped))]
    if only is not None:
        command += ["--only", ",".join(map(str, only))]
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=120)
    except subprocess.TimeoutExpired:
        return "hang", "no answer in 120 s"
    for line in done.stdout.splitlines():
        if line.startswith("FAIL "):
            kind, _, rest = line[5:].partition(": ")
            return kind, rest
    if done.returncode < 0 or done.returncode not in (0, 1):
        return "crash", done.stderr[-600:]
    if done.returncode:
        return "error", done.stderr[-600:]
    return None


def minimize(seed, keep):
    """The smallest program found that fails in the same way."""
    first = isolated(seed)
    if first is None:
        return None
    kind = first[0]
    program = Program(seed)
    count = len(program.results)
    only = list(range(count))
    for k in range(count):
        found = isolated(seed, (), [k])
        if found and found[0] == kind:
            only = [k]
            break
    dropped = []
    for k in reversed(range(len(program.steps))):
        found = isolated(seed, [*dropped, k], only)
        if found and found[0] == kind:
            dropped.append(k)
    text = program.text(frozenset(dropped), only)[0]
    found = isolated(seed, dropped, only) or first
    path = os.path.join(keep, f"linalg-{seed}.mlir")
    with open(path, "w") as file:
        file.write(f"// seed {seed}, {kind}: {found[1]}\n".replace("\n", " ")
                   .rstrip() + f"\n// --drop {','.join(map(str, dropped))} "
                   f"--only {','.join(map(str, only))}\n" + text)
    return path, found


def numbers(text):
    return [int(x) for x in text.split(",") if x]


def run_seeds(options):
    """Checks consecutive seeds in this process."""
    faulthandler.enable()
    runner, texts = Runner(), []
    dropped = frozenset(numbers(options.drop))
    only = numbers(options.only) if options.only is not None else None
    status = 0
    for seed in range(options.seed, options.seed + options.count):
        print(f"seed {seed}", flush=True)
        program = Program(seed)
        try:
            texts.append(check(runner, program, dropped, only))
        except Failure as failure:
            if "size depends on data" in str(failure) and any(
                    step.kind in ("if", "for") for step in program.steps):
                # Known limit: sizes that only operands of one operation show to
                # be equal are not followed through branches and loops.
                print("refused", flush=True)
                continue
            print("FAIL", str(failure).replace("\n", " "), flush=True)
            print(program.text(dropped, only)[0])
            status = 1
    if not options.no_parse:
        wrong = read_by_mlir(options.llvm, texts)
        if wrong:
            print("FAIL parse: mlir-opt:", wrong[:2000])
            status = 1
    if not status:
        print(f"{options.count} programs agree, seed {options.seed}")
    return status


def forever(options):
    """Batches of seeds in child processes, so that a crash ends one only."""
    seed, failures = options.seed, 0
    while True:
        done = subprocess.run(
            [sys.executable, __file__, "--seed", str(seed), "--count", "50"],
            capture_output=True, text=True)
        at, bad = seed, []
        for line in done.stdout.splitlines():
            if line.startswith("seed "):
                at = int(line[5:])
            elif line.startswith("FAIL "):
                bad.append(at)
        if done.returncode < 0 or (done.returncode and not bad):
            bad.append(at)
            print(f"seed {at}: process ended with {done.returncode}: "
                  f"{done.stderr[-300:]}", flush=True)
            seed = at + 1
        else:
            seed += 50
        for one in bad:
            failures += 1
            found = minimize(one, options.keep)
            print(f"seed {one}: " + (f"{found[1][0]}: {found[1][1]}\n  kept in "
                                     f"{found[0]}" if found else
                                     "does not fail alone"), flush=True)
        print(f"up to {seed}: {failures} failures", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--forever", action="store_true")
    parser.add_argument("--show", type=int)
    parser.add_argument("--minimize", type=int)
    parser.add_argument("--drop", default="", help="steps to leave out")
    parser.add_argument("--only", help="results to keep")
    parser.add_argument("--no-parse", action="store_true",
                        help="do not give the texts to mlir-opt")
    parser.add_argument("--keep", default=tempfile.gettempdir())
    parser.add_argument("--llvm", default="/usr/lib/llvm-22")
    options = parser.parse_args()
    if options.show is not None:
        only = numbers(options.only) if options.only is not None else None
        print(Program(options.show).text(frozenset(numbers(options.drop)),
                                         only)[0])
        return 0
    if options.minimize is not None:
        print(minimize(options.minimize, options.keep))
        return 0
    if options.forever:
        return forever(options)
    return run_seeds(options)


if __name__ == "__main__":
    sys.exit(main())
