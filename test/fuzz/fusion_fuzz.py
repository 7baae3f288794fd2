#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs random affine programs plain and through S3 passes; bits must agree.

Each program is a function of several inputs, one mutable argument and results:
chains and diamonds of element-wise nests, shifted, reversed, transposed and
broadcast reads, fills, in-place and partial updates, row and column reductions,
products, copies and several loop orders. All programs of a run go into one
module that prints a hash of each result and argument, so that two runs of the
machine code compare them all.

usage: fusion_fuzz.py BIN_DIR [--seed N] [--count N] [--passes TEXT] [--keep DIR]
BIN_DIR holds polynest-opt; mlir-runner comes from --llvm.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

PASSES = ("polynest-eliminate-buffers,"
          "func.func(polynest-fuse-nests,canonicalize,cse),"
          "polynest-eliminate-buffers,"
          "func.func(polynest-replace-scalars,"
          "polynest-parallelize-nests{min-work-ns=0}),"
          "polynest-eliminate-buffers,canonicalize,cse")
LOWER = ("lower-affine,expand-strided-metadata,lower-affine,"
         "func.func(scf-parallel-for-to-nested-fors),"
         "convert-scf-to-cf,convert-math-to-llvm,convert-math-to-libm,"
         "finalize-memref-to-llvm,"
         "convert-arith-to-llvm,convert-index-to-llvm,convert-cf-to-llvm,"
         "convert-func-to-llvm,reconcile-unrealized-casts")


class Program:
    def __init__(self, rng, name):
        self.rng, self.name = rng, name
        self.lines, self.next = [], 0
        self.rows = rng.choice([1, 2, 3, 5, 8])
        self.cols = rng.choice([1, 3, 4, 7, 8])
        r, c = self.rows, self.cols
        self.args = [("x0", (r, c)), ("x1", (r, c)), ("xt", (c, r)),
                     ("row", (r,)), ("col", (c,)), ("mut", (r, c))]
        self.outs = [("o0", (r, c)), ("o1", (r,)), ("o2", (r, c))]
        # Buffers wholly written so far, by shape.
        self.ready = {}
        for buffer, shape in self.args:
            self.ready.setdefault(shape, []).append(buffer)
        self.temps = []

    def fresh(self, prefix="v"):
        self.next += 1
        return f"%{prefix}{self.next}"

    def memref(self, shape):
        return f"memref<{''.join(f'{s}x' for s in shape)}f32>"

    def emit(self, depth, text):
        self.lines.append("  " * (depth + 1) + text)

    def alloc(self, shape):
        name = f"t{len(self.temps)}"
        self.temps.append((name, shape))
        self.emit(0, f"%{name} = memref.alloc() : {self.memref(shape)}")
        return name

    def pick(self, shape):
        # Mostly something recent, so that chains form.
        pool = self.ready.get(shape, [])
        if not pool:
            return None
        if self.rng.random() < 0.6:
            return pool[-1 - min(int(self.rng.expovariate(1)), len(pool) - 1)]
        return self.rng.choice(pool)

    def target(self, shape):
        """A buffer to overwrite wholly: new, an output, or one written before."""
        x = self.rng.random()
        outs = [o for o, s in self.outs if s == shape]
        if x < 0.2 and outs:
            return self.rng.choice(outs)
        writable = [b for b in self.ready.get(shape, []) if b[0] in "tmo"]
        if x < 0.3 and writable:
            return self.rng.choice(writable)
        return self.alloc(shape)

    def done(self, buffer, shape):
        pool = self.ready.setdefault(shape, [])
        if buffer in pool:
            pool.remove(buffer)
        pool.append(buffer)

    def load(self, depth, buffer, shape, index):
        value = self.fresh()
        self.emit(depth, f"{value} = affine.load %{buffer}[{index}] : "
                         f"{self.memref(shape)}")
        return value

    def store(self, depth, value, buffer, shape, index):
        self.emit(depth, f"affine.store {value}, %{buffer}[{index}] : "
                         f"{self.memref(shape)}")

    def op(self, depth, *values):
        kind = self.rng.choice(["addf", "subf", "maximumf", "minimumf", "half"])
        value = self.fresh()
        if kind == "half" or len(values) == 1:
            name = self.rng.choice(["mulf", "subf"])
            self.emit(depth, f"{value} = arith.{name} {values[0]}, %half : f32")
        else:
            self.emit(depth,
                      f"{value} = arith.{kind} {values[0]}, {values[1]} : f32")
        return value

    def loops(self, bounds, order=None):
        """Opens loops over named variables; returns the depth of the body."""
        order = order or range(len(bounds))
        for depth, k in enumerate(order):
            name, low, high = bounds[k][:3]
            step = f" step {bounds[k][3]}" if len(bounds[k]) > 3 else ""
            self.emit(depth, f"affine.for %{name} = {low} to {high}{step} {{")
        return len(bounds)

    def close(self, n):
        for depth in reversed(range(n)):
            self.emit(depth, "}")

    def operand(self, depth, r, c):
        """A read at (i, j), in one of many forms."""
        rng, shape = self.rng, (r, c)
        forms = ["same"] * 6 + ["rowcast", "colcast", "transposed", "reversed",
                                "const"]
        form = rng.choice(forms)
        if form == "rowcast" and self.pick((r,)):
            return self.load(depth, self.pick((r,)), (r,), "%i")
        if form == "colcast" and self.pick((c,)):
            return self.load(depth, self.pick((c,)), (c,), "%j")
        if form == "transposed" and self.pick((c, r)):
            return self.load(depth, self.pick((c, r)), (c, r), "%j, %i")
        if form == "reversed":
            return self.load(depth, self.pick(shape), shape,
                             f"{r - 1} - %i, %j" if rng.random() < 0.5
                             else f"%i, {c - 1} - %j")
        if form == "const":
            return self.load(depth, self.pick(shape), shape,
                             f"%i, {rng.randrange(c)}")
        return self.load(depth, self.pick(shape), shape, "%i, %j")

    def elementwise(self):
        r, c = self.rows, self.cols
        shape = (r, c)
        order = [0, 1] if self.rng.random() < 0.8 else [1, 0]
        target = self.target(shape)
        second = self.target(shape) if self.rng.random() < 0.2 else None
        n = self.loops([("i", 0, r), ("j", 0, c)], order)
        values = [self.operand(n, r, c)
                  for _ in range(self.rng.choice([1, 2, 2]))]
        value = self.op(n, *values)
        self.store(n, value, target, shape, "%i, %j")
        if second:
            self.store(n, self.op(n, value, values[0]), second, shape, "%i, %j")
        self.close(n)
        self.done(target, shape)
        if second:
            self.done(second, shape)

    def transpose(self):
        r, c = self.rows, self.cols
        source, target = self.pick((r, c)), self.alloc((c, r))
        n = self.loops([("i", 0, c), ("j", 0, r)])
        value = self.load(n, source, (r, c), "%j, %i")
        if self.rng.random() < 0.5:
            value = self.op(n, value)
        self.store(n, value, target, (c, r), "%i, %j")
        self.close(n)
        self.done(target, (c, r))

    def broadcast(self):
        r, c = self.rows, self.cols
        target = self.alloc((r, c))
        n = self.loops([("i", 0, r), ("j", 0, c)])
        value = self.load(n, self.pick((c,)), (c,), "%j")
        self.store(n, value, target, (r, c), "%i, %j")
        self.close(n)
        self.done(target, (r, c))

    def fill(self):
        r, c = self.rows, self.cols
        shape = self.rng.choice([(r, c), (r,), (c,)])
        target = self.target(shape)
        self.fill_with(target, shape, "%half")
        self.done(target, shape)

    def fill_with(self, target, shape, value):
        names = ["i", "j"][:len(shape)]
        n = self.loops([(v, 0, s) for v, s in zip(names, shape)])
        self.store(n, value, target, shape, ", ".join("%" + v for v in names))
        self.close(n)

    def shift(self):
        """Partial update of a buffer that is already written."""
        r, c = self.rows, self.cols
        shape = (r, c)
        writable = [b for b in self.ready[shape] if b[0] in "tmo"]
        if not writable or c < 2:
            return
        target, source = self.rng.choice(writable), self.pick(shape)
        n = self.loops([("i", 0, r), ("j", 0, c - 1)])
        value = self.load(n, source, shape, "%i, %j + 1")
        self.store(n, self.op(n, value, value), target, shape, "%i, %j")
        self.close(n)
        self.done(target, shape)

    def in_place(self):
        r, c = self.rows, self.cols
        shape = (r, c)
        writable = [b for b in self.ready[shape] if b[0] in "tmo"]
        if not writable:
            return
        target = self.rng.choice(writable)
        low, high = 0, r
        if self.rng.random() < 0.3:
            low, high = self.rng.randrange(r), r
        n = self.loops([("i", low, high), ("j", 0, c)])
        value = self.load(n, target, shape, "%i, %j")
        self.store(n, self.op(n, value, self.operand(n, r, c)), target, shape,
                   "%i, %j")
        self.close(n)
        self.done(target, shape)

    def row_reduction(self):
        r, c = self.rows, self.cols
        target = self.target((r,))
        self.fill_with(target, (r,), "%zero")
        source = self.pick((r, c))
        order = [0, 1] if self.rng.random() < 0.8 else [1, 0]
        n = self.loops([("i", 0, r), ("j", 0, c)], order)
        value = self.load(n, source, (r, c), "%i, %j")
        if self.rng.random() < 0.3:
            value = self.op(n, value, self.load(n, self.pick((r,)), (r,), "%i"))
        old = self.load(n, target, (r,), "%i")
        self.store(n, self.op(n, value, old), target, (r,), "%i")
        self.close(n)
        self.done(target, (r,))

    def col_reduction(self):
        r, c = self.rows, self.cols
        target = self.target((c,))
        self.fill_with(target, (c,), "%zero")
        n = self.loops([("i", 0, r), ("j", 0, c)])
        value = self.load(n, self.pick((r, c)), (r, c), "%i, %j")
        old = self.load(n, target, (c,), "%j")
        self.store(n, self.op(n, value, old), target, (c,), "%j")
        self.close(n)
        self.done(target, (c,))

    def product(self):
        r, c = self.rows, self.cols
        left, right = self.pick((r, c)), self.pick((c, r))
        weights = self.pick((r, c))
        if right is None:
            return
        # (r, c) x (c, r) x (r, c) would need a square step; take row sums of
        # products instead: T[i, j] = sum_k L[i, k] * R[k, i2].. kept square.
        target = self.target((r, c))
        self.fill_with(target, (r, c), "%zero")
        n = self.loops([("i", 0, r), ("j", 0, c), ("k", 0, r)])
        a = self.load(n, right, (c, r), "%j, %k")
        b = self.load(n, weights if weights != target else left, (r, c),
                      "%k, %j")
        old = self.load(n, target, (r, c), "%i, %j")
        p = self.fresh()
        self.emit(n, f"{p} = arith.mulf {a}, {b} : f32")
        q = self.fresh()
        self.emit(n, f"{q} = arith.mulf {p}, %half : f32")
        s = self.fresh()
        self.emit(n, f"{s} = arith.addf {old}, {q} : f32")
        self.store(n, s, target, (r, c), "%i, %j")
        self.close(n)
        self.done(target, (r, c))

    def copy(self):
        shape = (self.rows, self.cols)
        source, target = self.pick(shape), self.target(shape)
        if source == target:
            return
        if self.rng.random() < 0.5:
            self.emit(0, f"memref.copy %{source}, %{target} : "
                         f"{self.memref(shape)} to {self.memref(shape)}")
        else:
            n = self.loops([("i", 0, shape[0]), ("j", 0, shape[1])])
            self.store(n, self.load(n, source, shape, "%i, %j"), target, shape,
                       "%i, %j")
            self.close(n)
        self.done(target, shape)

    def build(self):
        kinds = [self.elementwise] * 8 + [
            self.transpose, self.broadcast, self.fill, self.shift,
            self.in_place, self.row_reduction, self.row_reduction,
            self.col_reduction, self.product, self.copy]
        for _ in range(self.rng.randrange(3, 14)):
            self.rng.choice(kinds)()
        for out, shape in self.outs:
            source = self.pick(shape)
            names = ["i", "j"][:len(shape)]
            index = ", ".join("%" + v for v in names)
            if out in self.ready.get(shape, []) and self.rng.random() < 0.5:
                continue
            n = self.loops([(v, 0, s) for v, s in zip(names, shape)])
            self.store(n, self.load(n, source, shape, index), out, shape, index)
            self.close(n)
            self.done(out, shape)
        params = [f"%{a}: {self.memref(s)}"
                  + (" {polynest.mutable}" if a == "mut" else "")
                  for a, s in self.args]
        params += [f"%{o}: {self.memref(s)} {{polynest.result}}"
                   for o, s in self.outs]
        return "\n".join(
            [f"func.func @{self.name}({', '.join(params)}) "
             "attributes {polynest.entry} {",
             "  %half = arith.constant 0.5 : f32",
             "  %zero = arith.constant 0.0 : f32"]
            + self.lines + ["  return", "}"])

    def caller(self):
        """Fills the arguments, calls, and prints a hash of all memory seen."""
        out = ["  scf.execute_region {"]
        types, names = [], []
        for k, (name, shape) in enumerate(self.args + self.outs):
            memref = self.memref(shape)
            out.append(f"  %{name} = memref.alloc() : {memref}")
            index = ", ".join(f"%{v}" for v in ["i", "j"][:len(shape)])
            for v, s in zip(["i", "j"], shape):
                out.append(f"  affine.for %{v} = 0 to {s} {{")
            out.append(f"  %h = affine.apply affine_map<(d0, d1) -> "
                       f"((d0 * 37 + d1 * 11 + {k * 5 + 3}) mod 23 - 11)>"
                       f"(%i, {'%j' if len(shape) > 1 else '%i'})")
            out += ["  %a = arith.index_cast %h : index to i32",
                    "  %f = arith.sitofp %a : i32 to f32",
                    f"  affine.store %f, %{name}[{index}] : {memref}"]
            out += ["  }"] * len(shape)
            types.append(memref)
            names.append("%" + name)
        out.append(f"  func.call @{self.name}({', '.join(names)}) : "
                   f"({', '.join(types)}) -> ()")
        for name, shape in self.args + self.outs:
            memref = self.memref(shape)
            index = ", ".join(f"%{v}" for v in ["i", "j"][:len(shape)])
            opened, init = 0, "%start"
            for v, s in zip(["i", "j"], shape):
                level = f"%s{opened}"
                out.append(f"  %r{opened} = affine.for %{v} = 0 to {s} "
                           f"iter_args({level} = {init}) -> i64 {{")
                init, opened = level, opened + 1
            out += [f"  %l = affine.load %{name}[{index}] : {memref}",
                    "  %b = arith.bitcast %l : f32 to i32",
                    "  %w = arith.extui %b : i32 to i64",
                    f"  %m = arith.muli {init}, %prime : i64",
                    "  %x = arith.xori %m, %w : i64",
                    "  affine.yield %x : i64", "  }"]
            for k in reversed(range(opened - 1)):
                out += [f"  affine.yield %r{k + 1} : i64", "  }"]
            out.append(f"  vector.print %r0 : i64")
            # Names are reused: close the scope.
            out += ["  scf.yield", "  }", "  scf.execute_region {"]
            out[-3:] = []
        out += ["  scf.yield", "  }"]
        return uniquify(out)


def uniquify(lines):
    """Gives each definition of a local name its own number."""
    import re
    env, number, result = {}, [0], []
    for line in lines:
        def use(match):
            return env.get(match.group(0), match.group(0))
        defined = re.match(r"\s*(?:affine\.for )?(%\w+) = ", line)
        carried = re.search(r"iter_args\((%\w+) =", line)
        loop = re.search(r"affine\.for (%\w+) =", line)
        new = [m.group(1) for m in (defined, carried, loop) if m]
        old = dict(env)
        fresh = {}
        for name in new:
            number[0] += 1
            fresh[name] = f"{name}_{number[0]}"
        def both(match):
            name = match.group(0)
            if name in fresh and match.start() in starts:
                return fresh[name]
            return old.get(name, name)
        starts = {m.start(1) for m in (defined, carried, loop) if m}
        result.append(re.sub(r"%\w+", both, line))
        env.update(fresh)
    return "\n".join(result)


def run(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stderr[-4000:]}")
    return done.stdout


def execute(options, module):
    runner = os.path.join(options.llvm, "bin", "mlir-runner")
    library = os.path.join(options.llvm, "lib", "libmlir_c_runner_utils.so")
    lowered = run([options.opt, f"--pass-pipeline=builtin.module({LOWER},"
                   "convert-vector-to-llvm,reconcile-unrealized-casts)"],
                  module)
    return run([runner, "-e", "main", "-entry-point-result=void",
                f"-shared-libs={library}", "-O0"], lowered).split()


def check(options, programs):
    """None if all agree, else (program, plain module, optimized module)."""
    functions = "\n".join(text for text, _ in programs)
    callers = "\n".join(caller for _, caller in programs)
    main = ("\nfunc.func @main() {\n  %start = arith.constant 1469598103 : i64\n"
            "  %prime = arith.constant 1099511628211 : i64\n"
            f"{callers}\n  return\n}}\n")
    optimized = run([options.opt, "--pass-pipeline=builtin.module("
                     f"{options.passes})"], functions)
    optimized = optimized.strip()
    inner = optimized[optimized.index("\n"):optimized.rindex("}")]
    header = ""
    if not optimized.startswith("module"):  # attribute aliases first
        header, inner = optimized.split("module {", 1)
        inner = inner[:inner.rindex("}")]
    plain = execute(options, functions + main)
    fast = execute(options, header + "\n" + inner + main)
    if plain == fast:
        return None
    if len(programs) == 1:
        return functions, header + inner
    for program in programs:
        found = check(options, [program])
        if found:
            return found
    raise RuntimeError("programs differ together but not alone")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin")
    parser.add_argument("--llvm", default="/usr/lib/llvm-22")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--passes", default=PASSES)
    parser.add_argument("--keep", default=tempfile.gettempdir())
    options = parser.parse_args()
    options.opt = os.path.join(options.bin, "polynest-opt")
    programs = []
    for k in range(options.count):
        program = Program(random.Random(options.seed * 100003 + k), f"p{k}")
        text = program.build()
        programs.append((text, program.caller()))
    found = check(options, programs)
    if found:
        for name, text in zip(("plain.mlir", "optimized.mlir"), found):
            with open(os.path.join(options.keep, name), "w") as file:
                file.write(text)
        print(found[0], "\n", found[1])
        print("results differ; kept in", options.keep)
        return 1
    print(f"{options.count} programs agree, seed {options.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
