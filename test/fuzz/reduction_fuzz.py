#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random reductions of a large operand against a float64 reference.

  reduction_fuzz.py                      100 cases, seed 1
  reduction_fuzz.py --count 400 --seed 7
  reduction_fuzz.py --case 7:23 --print  one case again, by seed and number
  reduction_fuzz.py --forever            seed after seed until one fails

A case reduces an operand whose innermost dimension stays (column sums, also of
several axes and with other loops between) or is reduced (row sums), or
multiplies it with 1 to 17 rows of another one. It combines by sums, products, maxima, minima or bits, one or
two at a time, in types of 8 to 64 bits, narrow floats also widened to f32; it
starts from a constant or an argument; some scale, add a bias and clip, some
store each value that they combine. Loops
come in any order, sizes static or dynamic. Arguments lie at pages that cannot
be touched. Each case runs on one of the targets of contraction_fuzz.py with 1,
2 and 3 threads, which must give the same bits. Integers, maxima and sums of
whole numbers must be equal to the reference, others within the row
"contractions" of test/tolerances.json.
Needs numpy; POLYNEST_LIBRARY names the library.
"""
import argparse
import random
import sys

import numpy as np

import contraction_fuzz as base
import tensor_builder as tb
from polynest import _capi, errors, handles, threads

SIZES = [0, 1, 2, 3, 7, 8, 15, 17, 63, 65, 257, 1000]
FLOATS = ["f32", "f32", "f64", "f16", "bf16"]
INTEGERS = ["i32", "i64", "i16", "i8"]
# By name: operation on floats and integers, NumPy's, and what it starts from.
KINDS = {
    "add": ("arith.addf", "arith.addi", np.add, 0),
    "mul": ("arith.mulf", "arith.muli", np.multiply, 1),
    "max": ("arith.maximumf", "arith.maxsi", np.maximum, None),
    "min": ("arith.minimumf", "arith.minsi", np.minimum, None),
    "maxnum": ("arith.maxnumf", "arith.maxui", np.fmax, None),
    "xor": (None, "arith.xori", np.bitwise_xor, 0),
    "and": (None, "arith.andi", np.bitwise_and, None),
}


class Failure(Exception):
    pass


class Case:
    """One program with all its choices."""

    def __init__(self, seed, number):
        rng = self.rng = random.Random(f"reduction {seed} {number}")
        self.seed = seed * 100003 + number
        self.floats = rng.random() < 0.65
        self.dtype = rng.choice(FLOATS if self.floats else INTEGERS)
        narrow = self.dtype in ("f16", "bf16")
        self.sum_type = "f32" if narrow and rng.random() < 0.8 else self.dtype
        self.product = rng.random() < 0.5
        kinds = [k for k, v in KINDS.items() if v[0] or not self.floats]
        if self.product:
            kinds = ["add", "add", "add", "max"]
        self.kinds = [rng.choice(kinds)]
        if not self.product and rng.random() < 0.3:
            self.kinds.append(rng.choice(kinds))
        # Letters of the operand; capitals are reduced, the last is contiguous.
        self.operand = rng.choice(["Kn", "Kn", "Kn", "bKn", "KLn", "KbLn", "Kbn",
                                   "nK", "nK", "nK", "bnK", "nLK"])
        self.rows = "m" if self.product and rng.random() < 0.8 else ""
        self.whole = rng.random() < 0.6  # sums of whole numbers are exact
        self.sizes = {}
        for letter in self.operand + self.rows:
            if letter == "m":
                self.sizes[letter] = rng.choice([1, 2, 3, 4, 5, 8, 16, 17])
            elif letter in "bL":
                self.sizes[letter] = rng.choice([1, 2, 3, 7, 9])
            else:
                self.sizes[letter] = rng.choice(SIZES)
        while np.prod([max(s, 1) for s in self.sizes.values()]) > 3000000:
            largest = max(self.sizes, key=self.sizes.get)
            self.sizes[largest] //= 2
        self.dynamic = {x for x in self.sizes if x != "m" and rng.random() < 0.35}
        self.init = rng.choice(["constant", "constant", "argument"])
        self.tail = self.floats and self.sum_type in ("f32", "f64") and \
            rng.random() < 0.4
        loops = list(self.operand + self.rows)
        if rng.random() < 0.5:
            rng.shuffle(loops)
        else:  # as products come
            loops.sort(key=str.isupper)
        self.loops = loops
        self.kept = self.rows + "".join(x for x in self.operand if x.islower())
        # What is combined is twice the operand then, and is a result.
        self.stored = not self.product and "mul" not in self.kinds and \
            rng.random() < 0.4

    def shape(self, letters):
        return [self.sizes[x] for x in letters]

    def type_of(self, letters, dtype):
        return "tensor<" + "".join(
            ("?" if x in self.dynamic else str(self.sizes[x])) + "x"
            for x in letters) + dtype + ">"

    def map_of(self, letters):
        return (f"affine_map<({', '.join(x.lower() + x for x in self.loops)}) -> "
                f"({', '.join(x.lower() + x for x in letters)})>")

    def arguments(self):
        """Name, letters and type of each argument."""
        found = [("b", self.operand, self.dtype)]
        if self.product:
            letters = self.rows + "".join(x for x in self.operand if x.isupper())
            found.append(("a", letters, self.dtype))
        if self.init == "argument":
            for i in range(len(self.kinds)):
                found.append((f"s{i}", self.kept, self.sum_type))
        if self.tail:
            found.append(("bias", "n", self.sum_type))
        return found

    def start(self, i):
        """The constant a reduction starts from."""
        value = KINDS[self.kinds[i]][3]
        return 1 if value is None else value

    def combine(self, i, accumulator, value):
        op = KINDS[self.kinds[i]][0 if self.floats else 1]
        names = [accumulator, value] if self.seed % 2 else [value, accumulator]
        return f"%t{i} = {op} {', '.join(names)} : {self.sum_type}"

    def text(self):
        arguments = self.arguments()
        types = {n: self.type_of(x, d) for n, x, d in arguments}
        out = self.type_of(self.kept, self.sum_type)
        lines = []
        results = ", ".join([out] * len(self.kinds) +
                            [types["b"]] * self.stored)
        count = len(self.kinds) + self.stored
        lines.append(f"func.func @f({', '.join(f'%{n}: {t}' for n, t in types.items())})"
                     f" -> ({results}) {{")
        sizes = []
        for x in self.kept:
            if x not in self.dynamic:
                continue
            name = "a" if x == "m" else "b"
            letters = dict((n, l) for n, l, _ in arguments)[name]
            lines.append(f"%i{x} = arith.constant {letters.index(x)} : index")
            lines.append(f"%d{x} = tensor.dim %{name}, %i{x} : {types[name]}")
            sizes.append(f"%d{x}")
        lines.append(f"%e = tensor.empty({', '.join(sizes)}) : {out}")
        starts = []
        for i in range(len(self.kinds)):
            if self.init == "argument":
                starts.append(f"%s{i}")
                continue
            value = f"{self.start(i)}.0" if self.floats else str(self.start(i))
            lines.append(f"%z{i} = arith.constant {value} : {self.sum_type}")
            lines.append(f"%f{i} = linalg.fill ins(%z{i} : {self.sum_type}) "
                         f"outs(%e : {out}) -> {out}")
            starts.append(f"%f{i}")
        if self.stored:
            sizes = []
            for i, x in enumerate(self.operand):
                if x in self.dynamic:
                    lines.append(f"%j{x} = arith.constant {i} : index")
                    lines.append(f"%g{x} = tensor.dim %b, %j{x} : {types['b']}")
                    sizes.append(f"%g{x}")
            lines.append(f"%all = tensor.empty({', '.join(sizes)}) : "
                         f"{types['b']}")
            starts.append("%all")
        inputs = ["b"] + (["a"] if self.product else [])
        letters = {n: l for n, l, _ in arguments}
        maps = [self.map_of(letters[n]) for n in inputs]
        maps += [self.map_of(self.kept)] * len(self.kinds)
        maps += [self.map_of(self.operand)] * self.stored
        kinds = ", ".join('"reduction"' if x.isupper() else '"parallel"'
                          for x in self.loops)
        lines.append(f"%r:{count} = linalg.generic {{indexing_maps = "
                     f"[{', '.join(maps)}], iterator_types = [{kinds}]}} "
                     f"ins({', '.join('%' + n for n in inputs)} : "
                     f"{', '.join(types[n] for n in inputs)}) "
                     f"outs({', '.join(starts)} : {results}) {{")
        names = [f"%x{n}: {self.dtype}" for n in inputs]
        names += [f"%c{i}: {self.sum_type}" for i in range(len(self.kinds))]
        names += [f"%old: {self.dtype}"] * self.stored
        lines.append(f"^bb0({', '.join(names)}):")
        values = []
        if self.stored:
            add = "arith.addf" if self.floats else "arith.addi"
            lines.append(f"%twice = {add} %xb, %xb : {self.dtype}")
        for n in inputs:
            values.append("%twice" if self.stored else f"%x{n}")
            if self.sum_type != self.dtype:
                lines.append(f"%w{n} = arith.extf {values[-1]} : {self.dtype} to "
                             f"{self.sum_type}")
                values[-1] = f"%w{n}"
        value = values[0]
        if self.product:
            mul = "arith.mulf" if self.floats else "arith.muli"
            lines.append(f"%p = {mul} {values[1]}, {value} : {self.sum_type}")
            value = "%p"
        for i in range(len(self.kinds)):
            lines.append(self.combine(i, f"%c{i}", value))
        lines.append("linalg.yield " +
                     ", ".join([f"%t{i}" for i in range(len(self.kinds))] +
                               ["%twice"] * self.stored) +
                     " : " + ", ".join([self.sum_type] * len(self.kinds) +
                                       [self.dtype] * self.stored))
        lines.append(f"}} -> ({results})")
        final = [f"%r#{i}" for i in range(count)]
        if count == 1:
            lines[-1] = f"}} -> {out}"
            lines = [s.replace("%r:1 =", "%r =") for s in lines]
            final = ["%r"]
        if self.tail:
            dims = ", ".join("d" + x for x in self.kept)
            own = f"affine_map<({dims}) -> ({dims})>"
            bias = f"affine_map<({dims}) -> (dn)>"
            parallel = ", ".join(['"parallel"'] * len(self.kept))
            lines.append("%half = arith.constant 0.25 : " + self.sum_type)
            lines.append("%low = arith.constant -3.0 : " + self.sum_type)
            lines.append(
                f"%y = linalg.generic {{indexing_maps = [{own}, {bias}, {own}], "
                f"iterator_types = [{parallel}]}} ins({final[0]}, %bias : {out}, "
                f"{types['bias']}) outs(%e : {out}) {{")
            t = self.sum_type
            lines.append(f"^bb0(%q: {t}, %v: {t}, %o: {t}):")
            lines.append(f"%q1 = arith.mulf %q, %half : {t}")
            lines.append(f"%q2 = arith.addf %q1, %v : {t}")
            lines.append(f"%q3 = arith.maximumf %q2, %low : {t}")
            lines.append(f"linalg.yield %q3 : {t} }} -> {out}")
            final[0] = "%y"
        lines.append(f"return {', '.join(final)} : {results}")
        lines.append("}")
        return "\n".join(lines)

    def values(self):
        """Arguments in float64 or int64, exact in their types."""
        generator = np.random.default_rng(self.seed)
        found = []
        for name, letters, dtype in self.arguments():
            shape = self.shape(letters)
            if not self.floats:
                high = 1 << min(tb.BITS[dtype] - 1, 20)
                value = generator.integers(-high, high, shape)
            elif "mul" in self.kinds:
                value = generator.choice([1.0, -1.0, 1.0, 1.0], shape)
            elif self.whole:
                value = generator.integers(-3, 4, shape).astype(np.float64)
            else:
                value = tb.round_to(generator.standard_normal(shape), dtype)
            found.append(np.asarray(value))
        return found

    def reference(self, values):
        """For each result, values and a bound, or None for exact."""
        byname = {n: v for (n, _, _), v in zip(self.arguments(), values)}
        order = self.rows + self.operand
        b = byname["b"]
        if self.rows:
            b = np.broadcast_to(b, (self.sizes["m"], *b.shape))
        if self.product:
            letters = dict((n, l) for n, l, _ in self.arguments())["a"]
            a = byname["a"].reshape(
                [self.sizes[x] if x in letters else 1 for x in order])
            b = a * b
        if self.stored:
            b = b + b
        if not self.floats:
            b = tb.wrap(b, self.dtype)
        elif self.product and self.sum_type in ("f16", "bf16"):
            b = tb.round_to(b, self.sum_type)
        axes = tuple(i for i, x in enumerate(order) if x.isupper())
        depth = int(np.prod([self.sizes[x] for x in order if x.isupper()]))
        found = []
        for i, kind in enumerate(self.kinds):
            ufunc = KINDS[kind][2]
            shape = self.shape(self.kept)
            start = byname[f"s{i}"] if self.init == "argument" else np.full(
                shape, self.start(i), np.float64 if self.floats else np.int64)
            value, magnitude = start, abs(start)
            if not self.floats and kind == "maxnum":
                bits = (1 << tb.BITS[self.dtype]) - 1
                wide = [x.astype(object) & bits for x in (b, start)]
                value = wide[1]
                if depth:
                    value = np.maximum(value, np.max(wide[0], axis=axes)
                                       if wide[0].size else value)
                value = tb.wrap(value.astype(np.uint64).astype(np.int64),
                                self.dtype)
            elif depth and b.size:
                value = start
                moved = np.moveaxis(b, axes, range(len(axes)))
                moved = moved.reshape(depth, *shape)
                value = ufunc(start, ufunc.reduce(moved, axis=0))
                if kind == "add":
                    magnitude = abs(start) + abs(moved).sum(axis=0)
            bound = None
            if not self.floats:
                value = tb.wrap(value, self.dtype)
            elif kind == "add" and not (self.whole and self.exact(magnitude)):
                unit = tb.UNIT[self.sum_type]
                grow = depth + 1 if self.sum_type in tb.NARROW else \
                    np.sqrt(depth + 1)
                bound = tb.CONTRACTION["factor"] * unit * grow * magnitude
            elif self.product and not self.whole:
                bound = tb.UNIT[self.sum_type] * abs(value)
            if self.tail and i == 0:
                scaled = value * 0.25 + byname["bias"]
                extra = 4 * tb.UNIT[self.sum_type] * (
                    abs(value) + abs(byname["bias"]) + 3)
                bound = extra + (0 if bound is None else bound)
                value = np.maximum(scaled, -3.0)
            found.append((value, bound))
        if self.stored:
            found.append((b, None))
        return found

    def results(self):
        """Letters and type of each result."""
        return [(self.kept, self.sum_type)] * len(self.kinds) + \
            [(self.operand, self.dtype)] * self.stored

    def exact(self, magnitude):
        limit = {"f16": 2048, "bf16": 256, "f32": 1 << 24, "f64": 1 << 53}
        return magnitude.size == 0 or magnitude.max() < limit[self.sum_type]


def run_case(case, context, target):
    text = case.text()
    try:
        executable = base.compile_for(context, text, target, handles.Options())
    except errors.PolynestError as error:
        raise Failure(f"does not compile: {error}\n{text}") from error
    blocks, items = [], []
    with executable:
        entry = executable.entry(None)
        try:
            values = case.values()
            for i, ((_, letters, dtype), value) in enumerate(
                    zip(case.arguments(), values)):
                item = base.ITEM[dtype]
                block = base.Block(item * value.size, (case.seed + i) % 2, item)
                blocks.append(block)
                base.place(block, value.shape, None, dtype)[...] = base.stored(
                    value, dtype)
                items.append((_capi.DTYPES[dtype], list(value.shape), None))
            outs = []
            results = [(case.shape(x), dtype) for x, dtype in case.results()]
            for i, (shape, dtype) in enumerate(results):
                item = base.ITEM[dtype]
                outs.append(base.Block(item * int(np.prod(shape)),
                                       (case.seed + i) % 2, item))
                blocks.append(outs[-1])
            call = _capi.CallBlock(
                items, [(_capi.DTYPES[dtype], shape, None)
                        for shape, dtype in results])
            for i, block in enumerate(blocks):
                call.set_pointer(i, block.address)
            first = None
            for count in (1, 2, 3, 1):
                for block in outs:
                    block.bytes[:] = base.CANARY
                threads.set_thread_count(count)
                call.invoke(entry)
                bits = [bytes(x.bytes.data) for x in outs]
                if first is not None and bits != first:
                    raise Failure(f"other bits with {count} threads\n{text}")
                first = bits
            for i, (block, (shape, dtype), (reference, bound)) in enumerate(
                    zip(outs, results, case.reference(values))):
                got = base.widened(
                    base.place(block, shape, None, dtype).copy(), dtype)
                with np.errstate(all="ignore"):
                    wrong = got != reference if bound is None else ~(
                        (abs(got - reference) <= bound) | (got == reference))
                wrong = np.asarray(wrong)
                if wrong.any():
                    at = tuple(int(x) for x in np.argwhere(wrong)[0])
                    raise Failure(
                        f"result {i} at {list(at)}: {got[at]!r}, not "
                        f"{reference[at]!r}; {int(wrong.sum())} of {wrong.size} "
                        f"are wrong\n{text}")
        finally:
            threads.set_thread_count(0)
            for block in blocks:
                block.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--case", help="SEED:NUMBER, one case alone")
    parser.add_argument("--print", action="store_true",
                        help="write each case before it runs")
    parser.add_argument("--forever", action="store_true")
    options = parser.parse_args()
    remarks = []

    def note(flag, kind, location, values):
        if kind == "applied" and "-reductions" in flag:
            remarks.append(flag)

    targets = base.runnable_targets()
    failures = cases = 0
    found = {"stream": 0, "jam": 0}
    with handles.Context(remark=note) as context:
        seed, numbers = options.seed, range(options.count)
        if options.case:
            seed, number = map(int, options.case.split(":"))
            numbers = [number]
        while True:
            for number in numbers:
                case = Case(seed, number)
                target = base.target_of(targets, seed, number)
                if options.print:
                    print(f"{seed}:{number} on {target}\n{case.text()}",
                          flush=True)
                remarks.clear()
                cases += 1
                try:
                    run_case(case, context, target)
                except Failure as failure:
                    failures += 1
                    print(f"FAILED {seed}:{number} on {target}: {failure}",
                          flush=True)
                for name in found:
                    found[name] += any(name in flag for flag in remarks)
            if failures or not options.forever:
                break
            seed += 1
    print(f"{cases} cases, {failures} failures, {found['stream']} streamed, "
          f"{found['jam']} jammed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
