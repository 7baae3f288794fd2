#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the dependence analysis with brute force on random small nests.

Each program is printed as a function, analysed by polynest-opt's pass
test-polynest-dependences, and run here access by access. Whatever the analysis
excludes (a dependence, a distance, a reason against reordering) must not occur
in the run. What it admits and the run does not show is counted, not refused.

usage: dependence_oracle.py POLYNEST_OPT [--seed N] [--count N] [--keep FILE]
"""
import argparse
import itertools
import random
import re
import subprocess
import sys


class Loop:
    def __init__(self, kind, body):
        self.kind = kind  # "for", "parallel", "scf"
        self.body = body
        self.dims = []  # per dimension: (lowers, uppers, step), affine exprs
        self.number = None


class If:
    def __init__(self, expr, body, other):
        self.expr, self.body, self.other = expr, body, other


class Op:
    def __init__(self, view, write, index, extent=1, indirect=False,
                 plain=False):
        self.view, self.write, self.index = view, write, index
        self.extent, self.indirect, self.plain = extent, indirect, plain
        self.number = None


class Expr:
    """Sum of coefficients times variables, with optional floordiv and mod."""

    def __init__(self, terms, constant, op=None, by=1):
        self.terms, self.constant, self.op, self.by = terms, constant, op, by

    def value(self, env):
        v = self.constant + sum(c * (env[n[0]] * env[n[1]]
                                     if isinstance(n, tuple) else env[n])
                                for n, c in self.terms.items())
        if self.op == "floordiv":
            return v // self.by
        if self.op == "mod":
            return v % self.by
        return v

    def shifted(self, by):
        if self.op:
            return Expr({}, 0) if by is None else ShiftedExpr(self, by)
        return Expr(self.terms, self.constant + by)

    def operands(self):
        names = []
        for n in self.terms:
            for m in n if isinstance(n, tuple) else (n,):
                if m not in names:
                    names.append(m)
        return names

    def text(self, place):
        def var(n):
            if isinstance(n, tuple):
                return f"{place[n[0]]} * {place[n[1]]}"
            return place[n]
        parts = [f"{var(n)} * {c}" for n, c in self.terms.items()]
        parts.append(str(self.constant))
        inner = " + ".join(parts)
        return f"({inner}) {self.op} {self.by}" if self.op else inner


class ShiftedExpr(Expr):
    def __init__(self, inner, by):
        self.inner, self.by_constant = inner, by
        self.terms = inner.terms

    def value(self, env):
        return self.inner.value(env) + self.by_constant

    def shifted(self, by):
        return ShiftedExpr(self.inner, self.by_constant + by)

    def text(self, place):
        return f"({self.inner.text(place)}) + {self.by_constant}"


def inline_map(exprs):
    """An affine map and its operands for several expressions."""
    names = []
    for e in exprs:
        for n in e.operands():
            if n not in names:
                names.append(n)
    dims = [n for n in names if not n.startswith("%s")]
    symbols = [n for n in names if n.startswith("%s")]
    place = {n: f"d{i}" for i, n in enumerate(dims)}
    place.update({n: f"s{i}" for i, n in enumerate(symbols)})
    text = (f"affine_map<({', '.join(place[d] for d in dims)})"
            f"[{', '.join(place[s] for s in symbols)}] -> "
            f"({', '.join(e.text(place) for e in exprs)})>")
    return text, f"({', '.join(dims)})[{', '.join(symbols)}]"


class View:
    """A memref value: its type, and the flat address of an index."""

    def __init__(self, name, type_, shape, base, address):
        self.name, self.type, self.shape = name, type_, shape
        self.base, self.address = base, address


class Program:
    def __init__(self, rng, name):
        self.rng, self.name = rng, name
        self.num_symbols = rng.choice([0, 0, 0, 1, 2])
        self.symbols = [f"%s{i}" for i in range(self.num_symbols)]
        self.lines = []
        self.next = 0
        self.symbolic_products = self.num_symbols == 2 and rng.random() < .5

    def fresh(self, prefix="v"):
        self.next += 1
        return f"%{prefix}{self.next}"

    # -- memrefs and views ------------------------------------------------

    def make_views(self):
        rng = self.rng
        self.header = []
        views = []
        self.args = [f"{s}: index" for s in self.symbols]
        for b in range(rng.choice([1, 1, 2])):
            shape = rng.choice([(48,), (8, 8), (6, 12), (4, 4, 4)])
            type_ = "x".join(map(str, shape)) + "xf32"
            name = f"%A{b}"
            if rng.random() < .5:
                # Plain arguments may overlap: here they are one.
                self.args.append(f"{name}: memref<{type_}>")
                base = "args"
            else:
                self.header.append(f"{name} = memref.alloc() : "
                                   f"memref<{type_}>")
                base = name
            strides = [1] * len(shape)
            for i in reversed(range(len(shape) - 1)):
                strides[i] = strides[i + 1] * shape[i + 1]

            def address(index, strides=strides):
                return sum(i * s for i, s in zip(index, strides))
            view = View(name, f"memref<{type_}>", shape, base, address)
            views.append(view)
            if rng.random() < .4:
                views.append(self.derive(view, strides))
        self.views = views

    def derive(self, view, strides):
        rng, name = self.rng, self.fresh("w")
        kind = rng.choice(["subview", "reinterpret", "collapse", "transpose"])
        shape = view.shape
        if kind == "subview":
            offsets = [rng.randrange(0, max(1, n // 3)) for n in shape]
            steps = [rng.choice([1, 1, 2]) for _ in shape]
            sizes = [max(1, (n - o + s - 1) // s)
                     for n, o, s in zip(shape, offsets, steps)]
            off = sum(o * s for o, s in zip(offsets, strides))
            outs = [s * t for s, t in zip(steps, strides)]
            type_ = (f"memref<{'x'.join(map(str, sizes))}xf32, strided<"
                     f"[{', '.join(map(str, outs))}], offset: {off}>>")
            self.header.append(
                f"{name} = memref.subview {view.name}"
                f"[{', '.join(map(str, offsets))}]"
                f"[{', '.join(map(str, sizes))}]"
                f"[{', '.join(map(str, steps))}] : {view.type} to {type_}")
        elif kind == "reinterpret":
            total = 1
            for n in shape:
                total *= n
            off = rng.randrange(0, 4)
            outs = rng.choice([[rng.choice([1, 2, 3])], [4, 1], [1, 1],
                               [2, 1], [5, 2]])
            room = total - off
            sizes = []
            for i, s in enumerate(outs):
                n = min(8, max(1, (room - 1) // (s * (2 if len(outs) > 1
                                                     else 1)) + 1))
                sizes.append(n)
            while off + sum((n - 1) * s for n, s in zip(sizes, outs)) >= total:
                sizes[rng.randrange(len(sizes))] -= 1
                sizes = [max(1, n) for n in sizes]
            type_ = (f"memref<{'x'.join(map(str, sizes))}xf32, strided<"
                     f"[{', '.join(map(str, outs))}], offset: {off}>>")
            self.header.append(
                f"{name} = memref.reinterpret_cast {view.name} to offset: "
                f"[{off}], sizes: [{', '.join(map(str, sizes))}], strides: "
                f"[{', '.join(map(str, outs))}] : {view.type} to {type_}")
        elif kind == "collapse" and len(shape) > 1:
            total = 1
            for n in shape:
                total *= n
            off, outs, sizes = 0, [1], [total]
            type_ = f"memref<{total}xf32>"
            dims = ", ".join(map(str, range(len(shape))))
            self.header.append(f"{name} = memref.collapse_shape {view.name} "
                               f"[[{dims}]] : {view.type} into {type_}")
        elif kind == "transpose" and len(shape) > 1:
            perm = list(range(len(shape)))
            rng.shuffle(perm)
            off = 0
            outs = [strides[p] for p in perm]
            sizes = [shape[p] for p in perm]
            type_ = (f"memref<{'x'.join(map(str, sizes))}xf32, strided<"
                     f"[{', '.join(map(str, outs))}]>>")
            dims = ", ".join(f"d{i}" for i in range(len(shape)))
            to = ", ".join(f"d{p}" for p in perm)
            self.header.append(f"{name} = memref.transpose {view.name} "
                               f"({dims}) -> ({to}) : {view.type} to {type_}")
        else:
            return view
        return View(name, type_, tuple(sizes), view.base,
                    lambda index: off + sum(i * s
                                            for i, s in zip(index, outs)))

    # -- expressions ------------------------------------------------------

    def expr(self, ivs, max_terms=2, allow_div=True):
        rng = self.rng
        terms = {}
        for n in rng.sample(ivs, min(len(ivs), rng.randrange(0,
                                                             max_terms + 1))):
            terms[n] = rng.choice([1, 1, 1, 2, -1, 3, -2])
        if self.symbols and rng.random() < .25:
            terms[rng.choice(self.symbols)] = rng.choice([1, 1, -1])
        if self.symbolic_products and rng.random() < .3:
            terms[("%s0", "%s1")] = 1
        constant = rng.choice([0, 0, 0, 1, 2, -1, 3])
        if allow_div and terms and rng.random() < .12:
            return Expr(terms, constant, rng.choice(["floordiv", "mod"]),
                        rng.choice([2, 3, 4]))
        return Expr(terms, constant)

    # -- statements -------------------------------------------------------

    def op(self, ivs):
        rng = self.rng
        view = rng.choice(self.views)
        index = [self.expr(ivs, 1 if rng.random() < .7 else 2)
                 for _ in view.shape]
        extent = 1
        if view.type.endswith("xf32>") and rng.random() < .15:
            extent = rng.choice([2, 4])
        indirect = extent == 1 and rng.random() < .08
        plain = not indirect and extent == 1 and rng.random() < .15
        return Op(view, rng.random() < .55, index, extent, indirect, plain)

    def body(self, ivs, depth):
        rng = self.rng
        result = []
        if depth > 0 and rng.random() < .8:
            result.append(self.loop(ivs, depth))
            if rng.random() < .3:
                result.insert(rng.randrange(2), self.op(ivs))
        else:
            for _ in range(rng.randrange(1, 4)):
                result.append(self.op(ivs))
            if depth > 0:
                result.insert(rng.randrange(len(result) + 1),
                              self.loop(ivs, depth))
        if ivs and rng.random() < .12:
            cut = rng.randrange(len(result))
            e = self.expr(ivs, 2)
            result = [If(e, result[cut:], result[:cut])]
        return result

    def loop(self, ivs, depth):
        rng = self.rng
        kind = "for"
        r = rng.random()
        if r < .06:
            kind = "parallel"
        elif r < .12:
            kind = "scf"
        loop = Loop(kind, [])
        loop.ivs = []
        for _ in range(2 if kind == "parallel" and rng.random() < .5 else 1):
            iv = self.fresh("i")
            step = rng.choice([1, 1, 1, 2, 3])
            if kind != "scf" and ivs and rng.random() < .25:
                lowers = [self.expr(ivs, 1)]
                if rng.random() < .2:
                    lowers.append(Expr({}, rng.choice([0, 1])))
            else:
                lowers = [Expr({}, rng.choice([0, 0, 0, 1, 2, -1]))]
            if kind != "scf" and ivs and rng.random() < .25:
                uppers = [self.expr(ivs, 1).shifted(rng.choice([1, 2, 3]))]
                if rng.random() < .3:
                    uppers.append(Expr({}, rng.choice([3, 4])))
            elif kind != "scf" and self.symbols and rng.random() < .3:
                uppers = [Expr({rng.choice(self.symbols): 1},
                               rng.choice([0, 1, 2]))]
            else:
                uppers = [Expr({}, rng.choice([0, 1, 2, 3, 4, 4, 5]))]
            loop.ivs.append(iv)
            loop.dims.append((lowers, uppers, step))
        # scf variables are not affine dimensions.
        inner = ivs + (loop.ivs if kind != "scf" else [])
        loop.body = self.body(inner, depth - 1)
        return loop

    def generate(self):
        self.make_views()
        rng = self.rng
        self.tops = [self.loop([], rng.choice([1, 2, 2, 3]))
                     for _ in range(rng.choice([1, 1, 2, 3]))]
        if rng.random() < .3 and len(self.tops) > 1:
            # Alike nests make fusion likely to be legal.
            self.tops[1] = self.similar(self.tops[0])

    def similar(self, loop):
        copy = Loop(loop.kind, [])
        copy.ivs = [self.fresh("i") for _ in loop.ivs]
        rename = {}

        def fix(e, rename):
            if isinstance(e, ShiftedExpr):
                return ShiftedExpr(fix(e.inner, rename), e.by_constant)
            return Expr({rename.get(n, n): c for n, c in e.terms.items()},
                        e.constant, e.op, e.by)

        def copy_loop(old, new, rename):
            new.dims = [([fix(e, rename) for e in lo],
                         [fix(e, rename) for e in up], st)
                        for lo, up, st in old.dims]
            inner = dict(rename)
            if old.kind != "scf":
                inner.update(zip(old.ivs, new.ivs))
            for s in old.body:
                if isinstance(s, Loop):
                    n = Loop(s.kind, [])
                    n.ivs = [self.fresh("i") for _ in s.ivs]
                    copy_loop(s, n, inner)
                    new.body.append(n)
                elif isinstance(s, Op):
                    same = [v for v in self.views
                            if len(v.shape) == len(s.view.shape)]
                    ivs = [v for v in inner.values()]
                    index = [fix(e, inner) if self.rng.random() < .7
                             else self.expr(ivs, 1) for e in s.index]
                    new.body.append(Op(self.rng.choice(same),
                                       self.rng.random() < .5, index))
                else:
                    new.body.append(self.op(list(inner.values())))
        copy_loop(loop, copy, rename)
        return copy

    # -- keeping indices within bounds ------------------------------------

    def runs(self):
        values = [0, 1, 3] if self.num_symbols == 1 else [0, 1, 2]
        for combo in itertools.product(values, repeat=self.num_symbols):
            yield dict(zip(self.symbols, combo))

    def visit(self, env, on_op, statements=None, path=()):
        """Runs the program; on_op(op, env, path) with path = ((loop, dim, iv
        value), ...)."""
        for s in self.tops if statements is None else statements:
            if isinstance(s, Op):
                on_op(s, env, path)
            elif isinstance(s, If):
                self.visit(env, on_op,
                           s.body if s.expr.value(env) >= 0 else s.other, path)
            else:
                self.run_loop(s, 0, env, on_op, path)

    def run_loop(self, loop, d, env, on_op, path):
        if d == len(loop.dims):
            self.visit(env, on_op, loop.body, path)
            return
        lowers, uppers, step = loop.dims[d]
        low = max(e.value(env) for e in lowers)
        high = min(e.value(env) for e in uppers)
        for value in range(low, high, step):
            inner = dict(env)
            inner[loop.ivs[d]] = value
            self.run_loop(loop, d + 1, inner, on_op,
                          path + ((id(loop), d, value),))

    def fit(self):
        """Shifts indices into bounds; False if that is not possible."""
        seen = {}
        count = [0]

        def look(op, env, path):
            count[0] += 1
            if count[0] > 3000:
                return
            for k, e in enumerate(op.index):
                v = e.value(env)
                lo, hi = seen.get((id(op), k), (v, v))
                seen[(id(op), k)] = (min(lo, v), max(hi, v))
        for env in self.runs():
            self.visit(env, look)
        if count[0] > 3000:
            return False
        for op in self.all_ops():
            for k, e in enumerate(op.index):
                lo, hi = seen.get((id(op), k), (0, 0))
                extent = op.extent if k == len(op.index) - 1 else 1
                size = op.view.shape[k]
                if hi - lo + extent > size:
                    return False
                if lo < 0:
                    op.index[k] = e.shifted(-lo)
                elif hi + extent > size:
                    op.index[k] = e.shifted(size - extent - hi)
        return True

    def all_ops(self, statements=None):
        for s in self.tops if statements is None else statements:
            if isinstance(s, Op):
                yield s
            elif isinstance(s, If):
                yield from self.all_ops(s.body)
                yield from self.all_ops(s.other)
            else:
                yield from self.all_ops(s.body)

    # -- printing ---------------------------------------------------------

    def emit(self):
        self.ops, self.loops, self.out = [], [], []
        self.table = [self.rng.randrange(0, 3) for _ in range(64)]
        args = self.args + ["%T: memref<64xindex>"]
        self.out.append(f"func.func @{self.name}({', '.join(args)}) {{")
        self.out.append("  %cst = arith.constant 0.0 : f32")
        self.out.append("  %vec2 = arith.constant dense<0.0> : vector<2xf32>")
        self.out.append("  %vec4 = arith.constant dense<0.0> : vector<4xf32>")
        self.out += ["  " + h for h in self.header]
        self.top_events = []
        self.statements(self.tops, "  ", {})
        self.out.append("  return\n}")
        return "\n".join(self.out)

    def statements(self, statements, pad, conditions):
        for s in statements:
            if isinstance(s, Op):
                self.emit_op(s, pad)
            elif isinstance(s, If):
                text, operands = inline_map([s.expr])
                body = text[len("affine_map<"):-1].split(" -> ")
                self.out.append(f"{pad}affine.if affine_set<{body[0]} : "
                                f"{body[1][:-1]} >= 0)>{operands} {{")
                self.statements(s.body, pad + "  ", conditions)
                self.out.append(f"{pad}}} else {{")
                self.statements(s.other, pad + "  ", conditions)
                self.out.append(f"{pad}}}")
            else:
                self.emit_loop(s, pad, conditions)

    def emit_loop(self, s, pad, conditions):
        if s.kind == "for":
            s.number = len(self.loops)
            self.loops.append(s)
            lowers, uppers, step = s.dims[0]
            lt, lo = inline_map(lowers)
            ut, uo = inline_map(uppers)
            self.out.append(f"{pad}affine.for {s.ivs[0]} = max {lt}{lo} to "
                            f"min {ut}{uo} step {step} {{")
        elif s.kind == "parallel":
            lows, highs, steps = [], [], []
            for lowers, uppers, step in s.dims:
                lows.append(self.bound("max", lowers))
                highs.append(self.bound("min", uppers))
                steps.append(str(step))
            self.out.append(f"{pad}affine.parallel ({', '.join(s.ivs)}) = "
                            f"({', '.join(lows)}) to ({', '.join(highs)}) "
                            f"step ({', '.join(steps)}) {{")
        else:
            lowers, uppers, step = s.dims[0]
            names = []
            for value in (lowers[0].constant, uppers[0].constant, step):
                names.append(self.fresh("c"))
                self.out.append(f"{pad}{names[-1]} = arith.constant {value} "
                                ": index")
            self.out.append(f"{pad}scf.for {s.ivs[0]} = {names[0]} to "
                            f"{names[1]} step {names[2]} {{")
        self.statements(s.body, pad + "  ", conditions)
        self.out.append(f"{pad}}}")

    def bound(self, word, exprs):
        def term(e):
            place = {n: (f"symbol({n})" if n.startswith("%s") else n)
                     for n in e.operands()}
            return e.text(place)
        return f"{word}({', '.join(term(e) for e in exprs)})"

    def emit_op(self, op, pad):
        op.number = len(self.ops)
        if op.indirect:
            # The read of the index table is an access too.
            text, operands = inline_map([Expr({}, 5)])
            entry = self.fresh("t")
            self.out.append(f"{pad}{entry} = affine.load %T[5] : "
                            "memref<64xindex>")
            self.ops.append(None)
            op.number = len(self.ops)
            names = [entry] * len(op.index)
            self.ops.append(op)
            kind = "store %cst, " if op.write else "load "
            result = "" if op.write else f"{self.fresh('l')} = "
            self.out.append(f"{pad}{result}memref.{kind}{op.view.name}"
                            f"[{', '.join(names)}] : {op.view.type}")
            return
        self.ops.append(op)
        if op.plain:
            names = []
            for e in op.index:
                text, operands = inline_map([e])
                names.append(self.fresh("x"))
                self.out.append(f"{pad}{names[-1]} = affine.apply {text}"
                                f"{operands}")
            kind = "store %cst, " if op.write else "load "
            result = "" if op.write else f"{self.fresh('l')} = "
            self.out.append(f"{pad}{result}memref.{kind}{op.view.name}"
                            f"[{', '.join(names)}] : {op.view.type}")
            return

        def term(e):
            place = {n: (f"symbol({n})" if n.startswith("%s") else n)
                     for n in e.operands()}
            return e.text(place)
        index = ", ".join(term(e) for e in op.index)
        if op.extent == 1:
            kind = "store %cst, " if op.write else "load "
            tail = f"{op.view.type}"
        else:
            kind = (f"vector_store %vec{op.extent}, " if op.write
                    else "vector_load ")
            tail = f"{op.view.type}, vector<{op.extent}xf32>"
        result = "" if op.write else f"{self.fresh('l')} = "
        self.out.append(f"{pad}{result}affine.{kind}{op.view.name}[{index}] : "
                        f"{tail}")

    # -- running ----------------------------------------------------------

    def traces(self):
        for env in self.runs():
            trace = []

            def event(op, env, path):
                if op.indirect:
                    index = [self.table[5]] * len(op.index)
                else:
                    index = [e.value(env) for e in op.index]
                first = op.view.address(index)
                cells = {(op.view.base, first + k) for k in range(op.extent)}
                trace.append((op.number, op.write, cells, path))
            self.visit(env, event)
            yield env, trace


def common(path_a, path_b):
    n = 0
    while (n < len(path_a) and n < len(path_b)
           and path_a[n][:2] == path_b[n][:2]):
        n += 1
    return n


def parse(text):
    functions, current = {}, None
    for line in text.splitlines():
        if line.startswith("dependences of @"):
            current = functions.setdefault(line.split("@")[1], [])
        elif current is not None:
            current.append(line)
    return functions


def eval_map(text, values):
    """Results of a printed affine map of dimensions only."""
    names, body = re.match(r"\((.*?)\) -> \((.*)\)$", text).groups()
    env = dict(zip([n.strip() for n in names.split(",") if n.strip()],
                   values))
    body = re.sub(r"ceildiv (\d+)", r"// Ceil(\1)", body)
    body = body.replace("floordiv", "//").replace("mod", "%")

    class Ceil:
        def __init__(self, by):
            self.by = by

        def __rfloordiv__(self, x):
            return -((-x) // self.by)
    env["Ceil"] = Ceil
    return eval(f"[{body}]", {}, env)


class Checker:
    def __init__(self, program, lines):
        self.p, self.lines = program, lines
        self.deps, self.overlap, self.facts = {}, {}, []
        self.slices = []
        self.spurious = self.pairs = 0
        self.legal = self.illegal = 0
        for line in lines:
            m = re.match(r"dep (\d+) (\d+):(.*); overlap (\w+)", line)
            if m:
                key = int(m[1]), int(m[2])
                self.overlap[key] = m[4]
                if "none" in m[3]:
                    self.deps[key] = []
                elif "unknown" in m[3]:
                    self.deps[key] = None
                else:
                    self.deps[key] = [
                        (int(lv), [tuple(None if x == "*" else int(x)
                                         for x in r.split(","))
                                   for r in re.findall(r"\[(.*?)\]", rs)])
                        for lv, rs in re.findall(r"level (\d+) ((?:\[.*?\])*)",
                                                 m[3])]
            elif ": legal" in line or ": illegal" in line:
                self.facts.append(line)

    def fail(self, what):
        raise AssertionError(f"@{self.p.name}: {what}")

    def check(self):
        seen = set()
        for env, trace in self.p.traces():
            cells = {}
            for t, (number, write, touched, path) in enumerate(trace):
                for cell in touched:
                    cells.setdefault(cell, []).append(t)
            conflicts = set()
            for times in cells.values():
                for x in range(len(times)):
                    for y in range(x + 1, len(times)):
                        if trace[times[x]][1] or trace[times[y]][1]:
                            conflicts.add((times[x], times[y]))
            for x, y in conflicts:
                self.check_conflict(trace[x], trace[y], env)
                seen.add((trace[x][0], trace[y][0]))
        for key, vectors in self.deps.items():
            self.pairs += 1
            if vectors != [] and key not in seen:
                self.spurious += 1
        for fact in self.facts:
            if ": legal" in fact:
                self.legal += 1
            else:
                self.illegal += 1

    def check_conflict(self, a, b, env):
        n = common(a[3], b[3])
        distance = [b[3][k][2] - a[3][k][2] for k in range(n)]
        key = a[0], b[0]
        if all(d == 0 for d in distance):
            for k in (key, key[::-1]):
                if self.overlap.get(k) == "no":
                    self.fail(f"accesses {k} overlap with {env}")
        if a[0] == b[0] and all(d == 0 for d in distance):
            return
        level = next((k for k, d in enumerate(distance) if d), n)
        vectors = self.deps[key]
        if vectors is not None:
            ok = any(lv == level and all(
                (lo is None or lo <= d) and (hi is None or d <= hi)
                for d, (lo, hi) in zip(distance, ranges))
                for lv, ranges in vectors)
            if not ok:
                self.fail(f"dependence {key} level {level} distance "
                          f"{distance} with {env} is not in {vectors}")
        self.check_legal(a, b, n, distance)

    def check_legal(self, a, b, n, distance):
        loops = {id(l): l for l in self.p.loops}
        path = a[3]
        numbers = [loops[path[k][0]].number if path[k][0] in loops else None
                   for k in range(n)]
        level = next((k for k, d in enumerate(distance) if d), n)
        for fact in self.facts:
            if ": legal" not in fact:
                continue
            m = re.match(r"parallel (\d+):", fact)
            if m and int(m[1]) in numbers:
                if level == numbers.index(int(m[1])):
                    self.fail(f"'{fact}', but {a[0]} -> {b[0]} by {distance}")
            m = re.match(r"tile (\d+) depth (\d+):", fact)
            if m and int(m[1]) in numbers:
                k = numbers.index(int(m[1]))
                if level >= k and any(d < 0 for d in
                                      distance[k:k + int(m[2])]):
                    self.fail(f"'{fact}', but {a[0]} -> {b[0]} by {distance}")
            m = re.match(r"permute (\d+) to ([\d,]+):", fact)
            if m and int(m[1]) in numbers:
                k = numbers.index(int(m[1]))
                perm = [int(x) for x in m[2].split(",")]
                moved = [distance[k + p] for p in perm if k + p < n]
                first = next((d for d in moved if d), 0)
                if level >= k and first < 0:
                    self.fail(f"'{fact}', but {a[0]} -> {b[0]} by {distance}")
            if n == 0:
                tops = [id(t) for t in self.p.tops]
                ta, tb = tops.index(a[3][0][0]), tops.index(b[3][0][0])
                m = re.match(r"reorder (\d+) (\d+):", fact)
                if m and (ta, tb) == (int(m[1]), int(m[2])):
                    self.fail(f"'{fact}', but {a[0]} and {b[0]} conflict")
                m = re.match(r"fuse (\d+) (\d+) depth (\d+):", fact)
                if m and (ta, tb) == (int(m[1]), int(m[2])):
                    d = int(m[3])
                    if ([v for _, _, v in a[3][:d]]
                            > [v for _, _, v in b[3][:d]]):
                        self.fail(f"'{fact}', but {a[0]} -> {b[0]} from "
                                  f"{a[3]} to {b[3]}")


class SliceChecker:
    """Slices of functions of two nests: cover what is needed, stay inside."""

    def __init__(self, program, lines):
        self.p = program
        self.lines = [l for l in lines if l.startswith("slice ")]
        self.number = 0

    def check(self):
        p = self.p
        if p.num_symbols or not self.lines:
            return
        trace = next(iter(p.traces()))[1]
        lines = iter(self.lines)
        for i in range(len(p.tops) - 1):
            producer, consumer = p.tops[i], p.tops[i + 1]
            if producer.kind != "for" or consumer.kind != "for":
                continue
            writers = [o for o in p.all_ops([producer]) if o.write]
            readers = [o for o in p.all_ops([consumer]) if not o.write]
            for w in writers:
                for r in readers:
                    if not self.same_base(w, r):
                        continue
                    loops = self.around(consumer, r)
                    for depth in range(len(loops) + 1):
                        line = next(lines, "")
                        if not line.startswith(f"slice depth {depth}:"):
                            raise AssertionError(f"@{p.name}: lost at {line}")
                        self.check_one(line, w, r, depth, trace)
        if next(lines, None) is not None:
            raise AssertionError(f"@{p.name}: more slices than pairs")

    def same_base(self, w, r):
        def root(v):
            return v.root
        return root(w.view) == root(r.view)

    def around(self, root, op):
        def find(s, loops):
            if s is op:
                return loops
            if isinstance(s, Loop):
                inner = loops + ([s] if s.kind != "scf" else [])
                for t in s.body:
                    found = find(t, inner)
                    if found is not None:
                        return found
            if isinstance(s, If):
                for t in s.body + s.other:
                    found = find(t, loops)
                    if found is not None:
                        return found
            return None
        return find(root, [])

    def check_one(self, line, w, r, depth, trace):
        if "none" in line or "[" in line:
            return
        maps = re.findall(r"(\([^()]*\) -> \(.*?\)) to "
                          r"(\([^()]*\) -> \(.*?\))(?= \(| exact| covering)",
                          line)
        writes = [(e[3], e[2]) for e in trace if e[0] == w.number]
        needed, context = {}, set()
        for number, _, cells, path in trace:
            if number != r.number:
                continue
            key = tuple(v for _, _, v in path[:depth])
            context.add(key)
            for wpath, wcells in writes:
                if cells & wcells:
                    needed.setdefault(key, set()).add(
                        tuple(v for _, _, v in wpath))
        domain = {tuple(v for _, _, v in path) for path, _ in writes}
        for key in context:
            bounds = [(max(eval_map(lo, key)), min(eval_map(hi, key)))
                      for lo, hi in maps]
            box = set(itertools.product(*[range(l, h) for l, h in bounds]))
            if not needed.get(key, set()) <= box:
                raise AssertionError(f"@{self.p.name}: {line} at {key} misses "
                                     f"{needed[key] - box}")
            # A condition stays inside of the loops that a slice bounds.
            if not w.conditional and not box <= domain:
                raise AssertionError(f"@{self.p.name}: {line} at {key} leaves "
                                     f"the domain by {box - domain}")
            self.number += 1


def mark_roots(program):
    """The base of each view, and which accesses stand under a condition."""
    for v in program.views:
        v.root = v.name

    def mark(statements, conditional):
        for s in statements:
            if isinstance(s, Op):
                s.conditional = conditional
            elif isinstance(s, If):
                mark(s.body + s.other, True)
            else:
                mark(s.body, conditional)
    mark(program.tops, False)
    roots = {}
    for h in program.header:
        m = re.match(r"(%w\d+) = memref\.\w+ (%A\d)", h)
        if m:
            roots[m[1]] = m[2]
    for v in program.views:
        v.root = roots.get(v.name, v.name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("opt")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--keep")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    programs, texts = [], []
    while len(programs) < options.count:
        program = Program(rng, f"p{len(programs)}")
        program.generate()
        if not program.fit():
            continue
        mark_roots(program)
        programs.append(program)
        texts.append(program.emit())
    source = "\n".join(texts) + "\n"
    if options.keep:
        with open(options.keep, "w") as file:
            file.write(source)
    run = subprocess.run(
        [options.opt, "--mlir-disable-threading", "-o", "/dev/null",
         "--pass-pipeline=builtin.module(func.func("
         "test-polynest-dependences))"],
        input=source, capture_output=True, text=True)
    if run.returncode != 0:
        print(run.stderr[:4000], file=sys.stderr)
        return 1
    answers = parse(run.stdout)
    pairs = spurious = legal = illegal = slices = 0
    failures = 0
    for program, text in zip(programs, texts):
        checker = Checker(program, answers[program.name])
        try:
            checker.check()
            slicer = SliceChecker(program, answers[program.name])
            slicer.check()
            slices += slicer.number
        except AssertionError as error:
            failures += 1
            if failures <= 3:
                print(f"{error}\n{text}", file=sys.stderr)
        pairs += checker.pairs
        spurious += checker.spurious
        legal += checker.legal
        illegal += checker.illegal
    print(f"{len(programs)} programs, {pairs} pairs of accesses, {spurious} "
          f"admitted without need, {legal} legal, {illegal} illegal, "
          f"{slices} slices, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
