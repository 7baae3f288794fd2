#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nests that vectorizers and scalar replacers got wrong, with right answers.

Each case is a function over f32 buffers, what is in them, and what must be in
them afterwards, bit for bit but for NaN, which only has to be NaN. The plain
form is checked too, so that a wrong expectation shows.
"""

import ctypes
import itertools
import math
import struct
import sys

import nest_runner as nr

NAN, INF = float("nan"), float("inf")


def pointwise(size, body, arguments=2):
    names = ["%A", "%B", "%C"][:arguments]
    loads = "".join("%%x%d = affine.load %s[%%i] : memref<%dxf32>\n" % (
        n, name, size) for n, name in enumerate(names[:-1]))
    return ("(%s) { affine.for %%i = 0 to %d { %s %s\n"
            "affine.store %%r, %s[%%i] : memref<%dxf32> } return }" % (
                ", ".join("%s: memref<%dxf32> {polynest.result}" % (n, size)
                          for n in names), size, loads, body, names[-1], size))


def reduction(size, op):
    return ("""(%%A: memref<%dxf32>, %%B: memref<1xf32> {polynest.result}) {
      affine.for %%i = 0 to %d {
        %%a = affine.load %%A[%%i] : memref<%dxf32>
        %%b = affine.load %%B[0] : memref<1xf32>
        %%r = arith.%s %%b, %%a : f32
        affine.store %%r, %%B[0] : memref<1xf32>
      } return }""" % (size, size, size, op))


def so_far(size, op, start):
    """Each element combined with all before it, and the last of them."""
    return ("""(%%A: memref<%dxf32>, %%B: memref<%dxf32> {polynest.result},
        %%C: memref<1xf32> {polynest.result}) {
      %%z = arith.constant %s : f32
      %%r = affine.for %%i = 0 to %d iter_args(%%s = %%z) -> f32 {
        %%a = affine.load %%A[%%i] : memref<%dxf32>
        %%t = arith.%s %%s, %%a : f32
        affine.store %%t, %%B[%%i] : memref<%dxf32>
        affine.yield %%t : f32 }
      affine.store %%r, %%C[0] : memref<1xf32>
      return }""" % (size, size, start, size, size, op, size))


def cases():
    seven = [5.0] * 12
    yield ("rest_stays", """(%A: memref<12xf32>) {
      %s = arith.constant 7.0 : f32
      affine.for %i = 0 to 9 { affine.store %s, %A[%i] : memref<12xf32> }
      return }""", [(seven, [7.0] * 9 + [5.0] * 3)])
    yield ("step_two", """(%A: memref<20xf32>) {
      %s = arith.constant 1.0 : f32
      affine.for %i = 0 to 16 step 2 {
        affine.store %s, %A[%i] : memref<20xf32> }
      return }""", [([0.0] * 20, [1.0, 0.0] * 8 + [0.0] * 4)])
    yield ("stride_three", """(%A: memref<22xf32>) {
      %s = arith.constant 1.0 : f32
      affine.for %i = 0 to 8 { affine.store %s, %A[3 * %i] : memref<22xf32> }
      return }""", [([0.0] * 22, [1.0, 0.0, 0.0] * 7 + [1.0])])
    yield ("view_of_itself", """(%A: memref<9xf32>) {
      %V = memref.reinterpret_cast %A to offset: [0], sizes: [9], strides: [1]
        : memref<9xf32> to memref<9xf32>
      affine.for %i = 0 to 8 {
        %a = affine.load %A[%i] : memref<9xf32>
        %d = arith.addf %a, %a : f32
        affine.store %d, %V[%i + 1] : memref<9xf32> }
      return }""", [([1.0] * 9, [float(1 << n) for n in range(9)])])
    yield ("arguments_overlap", """(%A: memref<9xf32>,
        %N: memref<1xf32> {polynest.result}) {
      %V = memref.cast %A : memref<9xf32> to memref<?xf32>
      affine.for %i = 0 to 8 {
        %a = affine.load %V[%i] : memref<?xf32>
        affine.store %a, %A[%i + 1] : memref<9xf32> }
      return }""", [(list(map(float, range(1, 10))), [1.0] * 9),
                    ([0.0], [0.0])])
    yield ("loops_that_never_run", """(%A: memref<2xf32>) {
      %n = arith.constant 9.0 : f32
      affine.for %i = 5 to 5 { affine.store %n, %A[1] : memref<2xf32> }
      affine.for %i = 5 to 2 {
        %a = affine.load %A[0] : memref<2xf32>
        %b = arith.addf %a, %n : f32
        affine.store %b, %A[0] : memref<2xf32> }
      return }""", [([4.0, 4.0], [4.0, 4.0])])
    yield ("conditional_sum", """(%A: memref<1xf32>, %X: memref<5xf32>,
        %O: memref<1xf32> {polynest.result}) {
      %z = arith.constant 0.0 : f32
      affine.store %z, %A[0] : memref<1xf32>
      affine.for %i = 0 to 5 {
        %x = affine.load %X[%i] : memref<5xf32>
        %c = arith.cmpf ogt, %x, %z : f32
        scf.if %c {
          %a = affine.load %A[0] : memref<1xf32>
          %s = arith.addf %a, %x : f32
          affine.store %s, %A[0] : memref<1xf32> } }
      %r = affine.load %A[0] : memref<1xf32>
      affine.store %r, %O[0] : memref<1xf32>
      return }""", [([8.0], [7.0]), ([1.0, -2.0, 2.0, -1.0, 4.0],) * 2,
                    ([0.0], [7.0])])
    # Four apart, the last at the end of the buffer, in vectors of two and more.
    values = [float(n) for n in range(253)]
    yield ("maximum_of_fourths", """(%A: memref<253xf32>,
        %B: memref<1xf32> {polynest.result}) {
      affine.for %i = 0 to 64 {
        %a = affine.load %A[4 * %i] : memref<253xf32>
        %b = affine.load %B[0] : memref<1xf32>
        %r = arith.maximumf %b, %a : f32
        affine.store %r, %B[0] : memref<1xf32> }
      return }""", [(values, values), ([9.0], [252.0])])
    # What was combined so far, in vectors and in what is left over.
    for size in (1, 7, 8, 9, 16, 17, 33, 64, 71, 131, 192):
        values = [float(n * 5 % 17 - 8) for n in range(size)]
        sums = list(itertools.accumulate(values, initial=3.0))[1:]
        yield ("sums_so_far_%d" % size, so_far(size, "addf", "3.0"),
               [(values, values), ([9.0] * size, sums), ([9.0], sums[-1:])])
        values = [-0.0] * (size - 1) + [INF]
        yield ("zeros_so_far_%d" % size, so_far(size, "addf", "-0.0"),
               [(values, values), ([9.0] * size, values), ([9.0], [INF])])
        values = [NAN if n == size // 2 else float(-n) for n in range(size)]
        most = [0.0] * (size // 2) + [NAN] * (size - size // 2)
        yield ("maxima_so_far_%d" % size, so_far(size, "maximumf", "-5.0"),
               [(values, values), ([9.0] * size, most), ([9.0], [NAN])])
    # Zeros of both signs and NaN, in vectors and in what is left over.
    for size in (1, 7, 8, 9, 16, 17, 33):
        left = [(-0.0, 0.0, NAN, 1.0, -0.0)[n % 5] for n in range(size)]
        right = [(0.0, -0.0, 2.0, NAN, -0.0)[n % 5] for n in range(size)]
        small = [(-0.0, -0.0, NAN, NAN, -0.0)[n % 5] for n in range(size)]
        large = [(0.0, 0.0, NAN, NAN, -0.0)[n % 5] for n in range(size)]
        for op, out in (("minimumf", small), ("maximumf", large)):
            yield ("%s_%d" % (op, size), pointwise(
                size, "%%r = arith.%s %%x0, %%x1 : f32" % op, 3),
                [(left, left), (right, right), ([9.0] * size, out)])
        for at in sorted({0, size // 2, size - 1}):
            values = [float(n % 3) for n in range(size)]
            values[at] = NAN
            yield ("maximum_nan_%d_%d" % (size, at), reduction(size, "maximumf"),
                   [(values, values), ([-INF], [NAN])])
            numbers = [v for v in values if v == v]
            yield ("maxnum_nan_%d_%d" % (size, at), reduction(size, "maxnumf"),
                   [(values, values), ([NAN], [max(numbers, default=NAN)])])
        zeros = [-0.0] * size
        yield ("minus_zero_sum_%d" % size, reduction(size, "addf"),
               [(zeros, zeros), ([-0.0], [-0.0])])
        yield ("minus_zero_max_%d" % size, reduction(size, "maximumf"),
               [(zeros, zeros), ([-0.0], [-0.0])])
        infinite = [INF if n == size - 1 else -INF for n in range(size)]
        yield ("inf_sum_%d" % size, reduction(size, "addf"),
               [(infinite, infinite), ([0.0], [INF if size == 1 else NAN])])
    # Rows that end after whole vectors, or before they begin, where another
    # bound is as far or ends all, with a rest of its own or without.
    for unit in (16, 32, 64, 48):
        for cap in (192, 128, 70, 1, 0):
            ends = [max(0, min(unit * (i - 1), cap)) for i in range(4)]
            values = [float(n * 7 % 31 - 15) for n in range(4 * 192)]
            doubled = [2 * v if n % 192 < ends[n // 192] else -1.0
                       for n, v in enumerate(values)]
            tops = [max(values[192 * i:192 * i + end], default=-99.0)
                    for i, end in enumerate(ends)]
            yield ("multiples_%d_%d" % (unit, cap), """(%%A: memref<4x192xf32>,
              %%B: memref<4x192xf32> {polynest.result},
              %%C: memref<4xf32> {polynest.result}) {
              %%low = arith.constant -99.0 : f32
              affine.for %%i = 0 to 4 {
                affine.for %%j = 0 to min affine_map<(d0) -> (d0 * %d - %d, %d)>(%%i) {
                  %%x = affine.load %%A[%%i, %%j] : memref<4x192xf32>
                  %%y = arith.addf %%x, %%x : f32
                  affine.store %%y, %%B[%%i, %%j] : memref<4x192xf32> }
                %%r = affine.for %%j = 0 to min affine_map<(d0) -> (d0 * %d - %d, %d)>(%%i)
                    iter_args(%%a = %%low) -> f32 {
                  %%x = affine.load %%A[%%i, %%j] : memref<4x192xf32>
                  %%m = arith.maximumf %%a, %%x : f32
                  affine.yield %%m : f32 }
                affine.store %%r, %%C[%%i] : memref<4xf32> }
              return }""" % (unit, unit, cap, unit, unit, cap),
                   [(values, values), ([-1.0] * 768, doubled),
                    ([0.0] * 4, tops)])


def shape_of(values):
    """Rows of 192, if there are several."""
    if len(values) <= 192:
        return [len(values)], [1]
    return [len(values) // 192, 192], [192, 1]


def run(library, name, contents):
    buffers, arguments = [], []
    for before, _ in contents:
        data = struct.pack("%df" % len(before), *before)
        buffers.append(nr.Buffer(len(data)))
        buffers[-1].fill(data)
        arguments.append(ctypes.byref(nr.descriptor(
            buffers[-1].address, 0, *shape_of(before))))
    getattr(library, "_mlir_ciface_" + name)(*arguments)
    results = []
    for buffer, (before, _) in zip(buffers, contents):
        results.append(struct.unpack("%df" % len(before), ctypes.string_at(
            buffer.address, buffer.size)))
        buffer.close()
    return results


def equal(a, b):
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b and math.copysign(1, a) == math.copysign(1, b)


def main():
    known = list(cases())

    def text(suffix):
        return "".join("func.func @%s%s" % (name, suffix) + body.replace(
            "return }", "return }\n").replace(
                ") {", ") attributes {llvm.emit_c_interface} {", 1)
            for name, body, _ in known)

    def lowered(passes, suffix):
        return nr.optimize(text(suffix), passes)

    both = "polynest-replace-scalars,polynest-vectorize-nests{%s}"
    modules = [text("_0"), lowered("polynest-replace-scalars", "_1"),
               lowered(both % "", "_2"),
               lowered(both % "vector-width-bits=512 vector-registers=32", "_3"),
               lowered(both % "vector-width-bits=64", "_4")]
    library = nr.build(modules)
    failures = 0
    for name, _, contents in known:
        for number in range(len(modules)):
            results = run(library, "%s_%d" % (name, number), contents)
            for (_, wanted), got in zip(contents, results):
                if not all(map(equal, wanted, got)):
                    failures += 1
                    print("FAIL %s_%d: wanted %s got %s" % (
                        name, number, wanted, list(got)))
    print("%d cases, %d modules, %d failures" % (
        len(known), len(modules), failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
