#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random loop nests, plain against scalar-replaced and vectorized.

  vectorize_fuzz.py                 fixed seeds, a few seconds
  vectorize_fuzz.py --seed N --rounds M    by hand, as long as wanted
  vectorize_fuzz.py --seed N --only K --print   show one nest, plain and changed

Sizes sit around vector widths; lower bounds, steps, strides, views, dynamic
sizes, in-place updates, reductions of several kinds, in memory and carried by
loops that may store what they have so far, conditions and casts are mixed at
random. Floating-point inputs are either random numbers (compared with
a tolerance), or small integers whose sums are exact, or contain NaN, infinities
and zeros of both signs (compared exactly).
"""

import argparse
import ctypes
import random
import struct
import sys

import nest_runner as nr

SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 20, 24, 31, 33, 40, 64, 67]
SMALL = [0, 1, 2, 3, 4, 5, 7, 8]
FLOATS = ["f32", "f64"]
INTS = ["i8", "i16", "i32", "i64"]
OPTIONS = [
    "",
    "vector-width-bits=512 vector-registers=32",
    "vector-width-bits=128 vector-registers=16 fma-latency-cycles=3 fma-ports=1",
    "vector-width-bits=64 vector-registers=8",
]


class Array:
    def __init__(self, name, kind):
        self.name, self.kind = name, kind
        self.low, self.high = [], []  # index ranges seen, to size it
        self.rank = 0
        self.is_written = False
        self.shape = None


class Nest:
    """One function: its text and how to call it."""

    def __init__(self, rng, name):
        self.rng, self.name = rng, name
        self.arrays, self.lines, self.dims = [], [], []
        self.count = 0
        self.constants = set()
        self.shown = []  # what a loop carries, with its type
        self.flavor = rng.choice(["random", "random", "exact", "edges"])
        self.static = rng.random() < 0.55
        self.generate()

    # Text -------------------------------------------------------------------
    def value(self):
        self.count += 1
        return "%%v%d" % self.count

    def emit(self, depth, text):
        self.lines.append("  " * (depth + 1) + text)

    # Index expressions ----------------------------------------------------------
    def expression(self, ivs, moving):
        """An affine expression and its range, over a random few loops."""
        rng = self.rng
        low = high = rng.choice([0, 0, 0, 1, 2])
        text = str(low)
        for iv, (first, last) in moving:
            factor = rng.choice([1, 1, 1, 1, 1, 2, -1, 3])
            text += " + %s * %d" % (iv, factor)
            ends = (first * factor, last * factor)
            low, high = low + min(ends), high + max(ends)
        kind = rng.random()
        if moving and kind < 0.06 and low >= 0:
            by = rng.choice([2, 3, 4, 8, 16])
            return "(%s) floordiv %d" % (text, by), low // by, high // by
        if moving and kind < 0.12:
            by = rng.choice([2, 4, 5, 8, 16])
            return "(%s) mod %d" % (text, by), 0, by - 1
        return text, low, high

    def indices(self, ivs, array):
        """Random index list for an array of its rank; widens its ranges."""
        rng = self.rng
        result = []
        order = list(ivs)
        # Mostly: the dimensions follow the loops, innermost last.
        for d in range(array.rank):
            if rng.random() < 0.8 and order:
                at = len(order) - (array.rank - d)
                moving = [order[at]] if at >= 0 else []
            else:
                moving = rng.sample(order, rng.choice([0, 1, min(2, len(order))])
                                    if order else 0)
            text, low, high = self.expression(ivs, moving)
            if low < 0:
                text, high, low = "%s + %d" % (text, -low), high - low, 0
            array.high[d] = max(array.high[d], high)
            result.append(text)
        return ", ".join(result)

    # Values ---------------------------------------------------------------------
    def load(self, depth, ivs, kind, array=None):
        rng = self.rng
        if array is None:
            known = [a for a in self.arrays if a.kind == kind]
            if known and rng.random() < 0.5:
                array = rng.choice(known)
            else:
                array = self.new_array(kind)
        name = self.value()
        self.emit(depth, "%s = affine.load %s[%s] : @%s@" % (
            name, array.name, self.indices(ivs, array), array.name))
        return name

    def new_array(self, kind):
        rng = self.rng
        array = Array("%%A%d" % len(self.arrays), kind)
        array.rank = rng.choice([1, 1, 2, 2, 3]) if kind != "i1" else 1
        array.high = [0] * array.rank
        self.arrays.append(array)
        return array

    def constant(self, depth, kind):
        name = self.value()
        if kind in FLOATS:
            text = self.rng.choice(["0.0", "1.0", "-0.0", "2.0", "-3.0"])
        elif kind == "i1":
            text = self.rng.choice(["true", "false"])
            self.emit(depth, "%s = arith.constant %s" % (name, text))
            return name
        else:
            text = str(self.rng.choice([0, 1, 2, 3, -1, 7]))
        self.emit(depth, "%s = arith.constant %s : %s" % (name, text, kind))
        return name

    def cast(self, depth, value, source, target):
        if source == target:
            return value
        width = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64,
                 "f32": 32, "f64": 64}
        if source in FLOATS and target in FLOATS:
            op = "extf" if target == "f64" else "truncf"
        elif source in FLOATS:
            return None
        elif target in FLOATS:
            op = "sitofp" if source != "i1" else "uitofp"
        else:
            op = "extsi" if width[target] > width[source] else "trunci"
        name = self.value()
        self.emit(depth, "%s = arith.%s %s : %s to %s" % (
            name, op, value, source, target))
        return name

    def index_value(self, depth, ivs, kind):
        if kind not in ("i32", "i64") or not ivs:
            return None
        name, iv = self.value(), self.rng.choice(ivs)[0]
        if self.rng.random() < 0.5:
            other = self.value()
            self.emit(depth, "%s = affine.apply affine_map<(d0) -> (d0 * 3 + 1)>(%s)"
                      % (other, iv))
            iv = other
        self.emit(depth, "%s = arith.index_cast %s : index to %s" % (
            name, iv, kind))
        return name

    def compute(self, depth, ivs, kind, budget):
        """A value of the type, from loads and operations."""
        rng = self.rng
        shown = [value for value, of in self.shown if of == kind]
        if shown and rng.random() < 0.35:
            return rng.choice(shown)
        if budget <= 0 or rng.random() < 0.25:
            choice = rng.random()
            if choice < 0.75:
                return self.load(depth, ivs, kind)
            if choice < 0.85:
                made = self.index_value(depth, ivs, kind)
                if made:
                    return made
            return self.constant(depth, kind)
        choice = rng.random()
        if choice < 0.12:
            source = rng.choice(FLOATS + INTS)
            made = self.cast(depth, self.compute(depth, ivs, source, budget - 2),
                             source, kind)
            if made:
                return made
        if choice < 0.24 and kind != "i1":
            a = self.compute(depth, ivs, kind, budget // 2)
            b = self.compute(depth, ivs, kind, budget // 2)
            test, name = self.value(), self.value()
            if kind in FLOATS:
                self.emit(depth, "%s = arith.cmpf %s, %s, %s : %s" % (
                    test, rng.choice(["olt", "uge", "oeq", "une"]), a, b, kind))
            else:
                self.emit(depth, "%s = arith.cmpi %s, %s, %s : %s" % (
                    test, rng.choice(["slt", "uge", "eq", "ne"]), a, b, kind))
            if rng.random() < 0.3:
                inner = self.value()
                op = "addf" if kind in FLOATS else "addi"
                self.emit(depth, "%s = scf.if %s -> (%s) {" % (name, test, kind))
                self.emit(depth + 1, "%s = arith.%s %s, %s : %s" % (
                    inner, op, a, b, kind))
                self.emit(depth + 1, "scf.yield %s : %s" % (inner, kind))
                self.emit(depth, "} else {")
                if rng.random() < 0.3:
                    b = self.load(depth + 1, ivs, kind)
                self.emit(depth + 1, "scf.yield %s : %s" % (b, kind))
                self.emit(depth, "}")
            else:
                self.emit(depth, "%s = arith.select %s, %s, %s : %s" % (
                    name, test, a, b, kind))
            return name
        a = self.compute(depth, ivs, kind, budget // 2)
        if rng.random() < 0.1:
            b = a
        else:
            b = self.compute(depth, ivs, kind, budget // 2)
        if kind in FLOATS:
            op = rng.choice(["addf", "subf", "mulf", "maximumf", "minimumf",
                             "maxnumf"])
        elif kind == "i1":
            op = rng.choice(["andi", "ori", "xori"])
        else:
            op = rng.choice(["addi", "subi", "muli", "maxsi", "minui", "andi",
                             "xori"])
        name = self.value()
        self.emit(depth, "%s = arith.%s %s, %s : %s" % (name, op, a, b, kind))
        return name

    # Statements -----------------------------------------------------------------
    def combiner(self, kind):
        rng = self.rng
        if kind in FLOATS:
            if self.flavor == "edges":
                return rng.choice(["maximumf", "minimumf"])
            return rng.choice(["addf", "addf", "addf", "mulf", "maximumf",
                               "minnumf"])
        return rng.choice(["addi", "muli", "maxsi", "minui", "andi", "ori",
                           "xori"])

    def target(self, kind):
        rng = self.rng
        written = [a for a in self.arrays if a.kind == kind]
        if written and rng.random() < 0.25:
            array = rng.choice(written)
        else:
            array = self.new_array(kind)
        array.is_written = True
        return array

    def reduction_in_memory(self, depth, ivs, kind):
        array = self.target(kind)
        at = self.indices(ivs[:-1] if ivs else [], array)
        addend = self.compute(depth, ivs, kind, 3)
        if kind in FLOATS and self.rng.random() < 0.5:
            other = self.load(depth, ivs, kind)
            product = self.value()
            self.emit(depth, "%s = arith.mulf %s, %s : %s" % (
                product, addend, other, kind))
            addend = product
        old, new = self.value(), self.value()
        self.emit(depth, "%s = affine.load %s[%s] : @%s@" % (
            old, array.name, at, array.name))
        self.emit(depth, "%s = arith.%s %s, %s : %s" % (
            new, self.combiner(kind), old, addend, kind))
        self.emit(depth, "affine.store %s, %s[%s] : @%s@" % (
            new, array.name, at, array.name))

    def statement(self, depth, ivs):
        rng = self.rng
        kind = rng.choice(FLOATS * 2 + INTS + (["i1"] if rng.random() < 0.5
                                               else []))
        if len(ivs) and rng.random() < 0.35 and kind != "i1":
            self.reduction_in_memory(depth, ivs, kind)
            return
        value = self.compute(depth, ivs, kind, rng.choice([1, 2, 4, 8]))
        self.store(depth, ivs, value, kind)

    def store(self, depth, ivs, value, kind):
        array = self.target(kind)
        self.emit(depth, "affine.store %s, %s[%s] : @%s@" % (
            value, array.name, self.indices(ivs, array), array.name))

    def bound_constant(self, bound):
        """A top-level constant: a symbol for affine maps."""
        self.constants.add(bound)
        return "%%k%d" % bound

    def upper_bound(self, first, trips, step):
        """Where such a loop ends, as a number and as its text: this number or
        a size."""
        bound = first + trips * step - (self.rng.randrange(step) if trips else 0)
        if self.static or self.rng.random() < 0.3:
            return bound, str(bound)
        self.dims.append(bound)
        return bound, "%%n%d" % (len(self.dims) - 1)

    def loop(self, depth, ivs, levels):
        rng = self.rng
        if levels == 1 and rng.random() < 0.3:
            self.carrying_loop(depth, ivs)
            return
        trips = rng.choice(SIZES if levels == 1 or rng.random() < 0.3 else SMALL)
        first = rng.choice([0, 0, 0, 1, 3])
        step = rng.choice([1, 1, 1, 1, 2, 3])
        bound, upper = self.upper_bound(first, trips, step)
        iv = "%%i%d" % depth + "_%d" % self.count
        self.count += 1
        last = first + max(0, trips - 1) * step
        if upper[0] == "%" and rng.random() < 0.2:
            upper = "min affine_map<(d0)[s0] -> (s0, %d)>(%s)[%s]" % (
                bound + rng.choice([0, 5, 32]), "%c0", upper)
        is_tiled = rng.random() < 0.15 and "min" not in upper
        if is_tiled:
            # A tile loop around, as tiling leaves it.
            tile = step * rng.choice([3, 4, 8, 16, 32])
            self.emit(depth, "affine.for %s_t = %d to %s step %d {" % (
                iv, first, upper, tile))
            head = ("affine.for %s = affine_map<(d0) -> (d0)>(%s_t) to min "
                    "affine_map<(d0)[s0] -> (d0 + %d, s0)>(%s_t)[%s]" % (
                        iv, iv, tile, iv, upper if upper[0] == "%" else
                        self.bound_constant(bound)))
        else:
            head = "affine.for %s = %d to %s" % (iv, first, upper)
        if step != 1:
            head += " step %d" % step
        self.emit(depth, head + " {")
        inner = ivs + [(iv, (first, last))]
        if levels > 1:
            if rng.random() < 0.3:
                self.statement(depth + 1, inner)
            self.loop(depth + 1, inner, levels - 1)
            if rng.random() < 0.3:
                self.statement(depth + 1, inner)
        else:
            for _ in range(rng.choice([1, 1, 2])):
                self.statement(depth + 1, inner)
        self.emit(depth, "}")
        if is_tiled:
            self.emit(depth, "}")

    def carrying_loop(self, depth, ivs):
        """A loop with values that it carries: reductions, and, where these are
        read or stored on the way, scans."""
        rng = self.rng
        trips, first = rng.choice(SIZES), rng.choice([0, 0, 0, 1, 3])
        step = rng.choice([1] * 8 + [2])
        _, upper = self.upper_bound(first, trips, step)
        number = self.count
        self.count += 1
        iv = "%%i%d_%d" % (depth, number)
        inner = ivs + [(iv, (first, first + max(0, trips - 1) * step))]
        kinds = [rng.choice(FLOATS * 2 + INTS)
                 for _ in range(rng.choice([1, 1, 1, 2, 3]))]
        if rng.random() < 0.5:
            kinds = kinds[:1] * len(kinds)
        inits = [self.compute(depth, ivs, kind, 0)
                 if ivs and rng.random() < 0.4 else self.constant(depth, kind)
                 for kind in kinds]
        carried = ["%%s%d_%d" % (number, i) for i in range(len(kinds))]
        self.emit(depth, "%%r%d:%d = affine.for %s = %d to %s step %d "
                  "iter_args(%s) -> (%s) {" % (
                      number, len(kinds), iv, first, upper, step,
                      ", ".join("%s = %s" % pair
                                for pair in zip(carried, inits)),
                      ", ".join(kinds)))
        yielded = []
        for old, kind in zip(carried, kinds):
            operands = [old, self.compute(depth + 1, inner, kind,
                                          rng.choice([1, 2, 4]))]
            rng.shuffle(operands)
            new = self.value()
            self.emit(depth + 1, "%s = arith.%s %s, %s : %s" % (
                new, self.combiner(kind), *operands, kind))
            yielded.append(new)
            if rng.random() < 0.07:
                self.shown.append((old, kind))
            if rng.random() < 0.85:
                self.shown.append((new, kind))
                if rng.random() < 0.75:
                    self.store(depth + 1, inner, new, kind)
        for _ in range(rng.choice([0, 1, 1])):
            self.statement(depth + 1, inner)
        self.shown = []
        self.emit(depth + 1, "affine.yield %s : %s" % (
            ", ".join(yielded), ", ".join(kinds)))
        self.emit(depth, "}")
        for i, kind in enumerate(kinds):
            if rng.random() < 0.7:
                self.store(depth, ivs, "%%r%d#%d" % (number, i), kind)

    def generate(self):
        rng = self.rng
        for _ in range(rng.choice([1, 1, 2])):
            self.loop(0, [], rng.choice([1, 1, 2, 2, 3]))
        for array in self.arrays:
            array.shape = [high + 1 + rng.choice([0, 0, 1, 5])
                           for high in array.high]
            array.strides = nr.row_major(array.shape)
            array.offset = 0
            layout = ""
            choice = rng.random()
            if choice < 0.1:
                # Rows with gaps between them.
                array.strides = [s * 1 for s in nr.row_major(
                    array.shape[:-1] + [array.shape[-1] + 3])]
                layout = ", strided<[%s]>" % ", ".join(
                    str(s) for s in array.strides)
            elif choice < 0.2:
                array.strides = [2 * s for s in array.strides]
                layout = ", strided<[%s]>" % ", ".join(
                    str(s) for s in array.strides)
            elif choice < 0.25:
                array.strides = [2 * s for s in array.strides]
                layout = ", strided<[%s]>" % ", ".join("?" * array.rank)
            array.extent = (1 + sum((n - 1) * s for n, s in
                                    zip(array.shape, array.strides)))
            sizes = [str(n) if self.static or (rng.random() < 0.3) else "?"
                     for n in array.shape]
            array.type = "memref<%sx%s%s>" % ("x".join(sizes), array.kind, layout)

    def text(self, suffix):
        # Arrays never share storage: the attribute says so.
        arguments = ["%s: %s {polynest.result}" % (a.name, a.type)
                     for a in self.arrays]
        arguments += ["%%n%d: index" % d for d in range(len(self.dims))]
        body = "\n".join(self.lines)
        for array in self.arrays:
            body = body.replace("@%s@" % array.name, array.type)
        body = "".join("  %%k%d = arith.constant %d : index\n" % (k, k)
                       for k in sorted(self.constants)) + body
        return ("func.func @%s(%s) attributes {llvm.emit_c_interface} {\n"
                "  %%c0 = arith.constant 0 : index\n%s\n  return\n}\n" % (
                    self.name + suffix, ", ".join(arguments), body))

    # Running --------------------------------------------------------------------
    def inputs(self, rng):
        result = []
        for array in self.arrays:
            size, code = nr.TYPES[array.kind]
            values = []
            for i in range(array.extent):
                if array.kind in FLOATS:
                    if self.flavor == "random":
                        values.append(rng.uniform(-1.5, 1.5))
                    elif self.flavor == "exact":
                        values.append(float(rng.choice([-1, 1, 1, 2, 0])))
                    else:
                        values.append(rng.choice(
                            [0.0, -0.0, 1.0, -1.0, 2.0, float("nan"),
                             float("inf"), -float("inf"), 0.5]))
                elif array.kind == "i1":
                    values.append(rng.randrange(2))
                else:
                    limit = 1 << (8 * size - 1)
                    values.append(rng.choice(
                        [rng.randrange(-9, 9), rng.randrange(-limit, limit)]))
            result.append(struct.pack("%d%s" % (len(values), code), *values))
        return result

    def run(self, library, suffix, inputs, at_start):
        buffers, arguments = [], []
        for array, data in zip(self.arrays, inputs):
            buffer = nr.Buffer(len(data), at_start)
            buffer.fill(data)
            buffers.append(buffer)
            arguments.append(ctypes.byref(nr.descriptor(
                buffer.address, 0, array.shape, array.strides)))
        arguments += [ctypes.c_int64(bound) for bound in self.dims]
        getattr(library, "_mlir_ciface_" + self.name + suffix)(*arguments)
        outputs = [buffer.data() for buffer in buffers]
        starts = [buffer.address - buffer.base - nr.PAGE for buffer in buffers]
        for buffer in buffers:
            buffer.close()
        return outputs, starts

    def check(self, library, suffix, rng):
        inputs = self.inputs(rng)
        for at_start in (False, True):
            plain, starts = self.run(library, "", inputs, at_start)
            changed, _ = self.run(library, suffix, inputs, at_start)
            tolerance = {"random": 2e-3, "exact": 2e-3, "edges": 0}[self.flavor]
            for array, data, left, right, start in zip(
                    self.arrays, inputs, plain, changed, starts):
                end = start + len(data)
                at = nr.compare(array.kind, left[start:end], right[start:end],
                                tolerance)
                if at is not None:
                    return "%s differs at element %d" % (array.name, at)
                if left[:start] + left[end:] != right[:start] + right[end:]:
                    return "%s: written outside" % array.name
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--nests", type=int, default=60, help="a round")
    parser.add_argument("--only", type=int)
    parser.add_argument("--print", action="store_true", dest="show")
    parser.add_argument("--extra", default="", help="options of the pass")
    options = parser.parse_args()
    failures = changed = 0
    for seed in range(options.seed, options.seed + options.rounds):
        rng = random.Random(seed)
        nests = [Nest(rng, "f%d" % n) for n in range(options.nests)]
        pass_options = options.extra or OPTIONS[seed % len(OPTIONS)]
        if options.only is not None:
            nests = [nests[options.only]]
        plain = "".join(nest.text("") for nest in nests)
        pipeline = ("polynest-replace-scalars,polynest-vectorize-nests{%s},"
                    "canonicalize,cse" % pass_options)
        vectorized = nr.optimize("".join(n.text("_v") for n in nests), pipeline)
        changed += vectorized.count("polynest.vectorized")
        if options.show:
            print(plain, vectorized)
        library = nr.build([plain, vectorized])
        for number, nest in enumerate(nests):
            where = "seed %d nest %s" % (
                seed, options.only if options.only is not None else number)
            # Known even if the next line kills the process.
            sys.stderr.write(where + "\r")
            sys.stderr.flush()
            why = nest.check(library, "_v", random.Random(seed * 1000 + number))
            if why:
                failures += 1
                print("FAIL %s (%s): %s" % (where, nest.flavor, why))
    print("%d rounds, %d marked loops, %d failures" % (
        options.rounds, changed, failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
