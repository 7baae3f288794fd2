# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random whole programs on tensors, with what each result must be.

A program is a list of steps. A step whose results are given from outside may be
left out: they become arguments with the values they would have had, which is
how a failing program is made small.
"""

import math
import random

import numpy as np

import tensor_values as tv
from tensor_values import R, Reject, is_float

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 33]
MAX_ELEMENTS = 4000
MAX_POINTS = 30000


class Sym:
    """A size known when the program runs: the lines that compute it."""

    def __init__(self, name, needs, lines):
        self.name, self.needs, self.lines = name, needs, lines


class Dim:
    def __init__(self, size, sym=None):
        self.size, self.sym = size, sym

    def __str__(self):
        return "?" if self.sym else str(self.size)


class Value:
    """A tensor, or a scalar where dims is None."""

    def __init__(self, name, elem, dims, r, constant=False):
        self.name, self.elem, self.dims, self.r = name, elem, dims, r
        self.constant = constant  # its step is cheap and has no operands

    @property
    def shape(self):
        return tuple(d.size for d in self.dims)

    @property
    def type(self):
        if self.dims is None:
            return self.elem
        return tensor_type(self.dims, self.elem)


class Step:
    def __init__(self, kind, lines, results, operands=(), syms=()):
        self.kind, self.lines, self.results = kind, lines, results
        self.operands, self.syms = list(operands), list(syms)


def tensor_type(dims, elem):
    return f"tensor<{''.join(f'{d}x' for d in dims)}{elem}>"


def map_text(rank, exprs):
    def one(expr):
        coefficients, constant = expr
        parts = [f"d{k}" if c == 1 else f"d{k} * {c}"
                 for k, c in coefficients.items()]
        if constant or not parts:
            parts.append(str(constant))
        return " + ".join(parts)

    loops = ", ".join(f"d{k}" for k in range(rank))
    return f"affine_map<({loops}) -> ({', '.join(map(one, exprs))})>"


def loop(k, factor=1, constant=0):
    return ({k: factor}, constant)


def number(x, elem):
    if is_float(elem):
        return f"{float(x):.17e}"
    if elem == "i1":
        return "true" if x else "false"
    return str(int(x))


class Body:
    """Straight code on scalars, computed for all points of a space at once."""

    def __init__(self, program):
        self.program, self.rng = program, program.rng
        self.lines, self.vars, self.ops = [], [], []

    def add(self, name, elem, r):
        self.vars.append((name, elem, r))
        return self.vars[-1]

    def op(self, text, elem, f, *ins):
        """`text` holds {0}, {1}.. for the operands."""
        out = self.program.fresh("x")
        r = f(*[v[2] for v in ins])
        self.lines.append(f"{out} = " + text.format(*[v[0] for v in ins]))
        self.ops.append((out, f, [v[0] for v in ins]))
        return self.add(out, elem, r)

    def const(self, x, elem):
        value = np.array(x, tv.STORAGE[elem])
        return self.op(f"arith.constant {number(x, elem)}"
                       + ("" if elem == "i1" else f" : {elem}"), elem,
                       lambda: R(value))

    def replay(self, inputs):
        env = dict(inputs)
        for out, f, ins in self.ops:
            env[out] = f(*[env[i] for i in ins])
        return env

    def pick(self, elem=None):
        pool = [v for v in self.vars if elem is None or v[1] == elem]
        if not pool:
            raise Reject
        if self.rng.random() < 0.6:
            return pool[-1 - min(int(self.rng.expovariate(1)), len(pool) - 1)]
        return self.rng.choice(pool)

    def other(self, elem):
        if self.rng.random() < 0.75:
            try:
                return self.pick(elem)
            except Reject:
                pass
        return self.const(self.program.plain_number(elem), elem)

    def grow(self):
        """One random operation."""
        v = self.pick()
        if v[1] == "index":
            return self.cast(v, self.rng.choice(["i64", "i32"]))
        out = self.grow_float(v) if is_float(v[1]) else self.grow_integer(v)
        return self.tame(out)

    def tame(self, v):
        """Keeps numbers small enough for sums to be exact."""
        if not is_float(v[1]) or not v[2].lo.size:
            return v
        with np.errstate(all="ignore"):
            sizes = np.abs(np.asarray(v[2].lo, np.float64))
        sizes = sizes[np.isfinite(sizes)]
        top = sizes.max() if sizes.size else 0
        if top < (64 if v[1] in ("f16", "bf16") else 2000):
            return v
        c = self.const(2.0 ** -math.ceil(math.log2(top / 8)), v[1])
        return self.multiply(v, c)

    def multiply(self, a, b):
        e = a[1]
        return self.op(f"arith.mulf {{0}}, {{1}} : {e}", e,
                       lambda x, y: tv.multiply(e, x, y), a, b)

    def compare(self, e, a=None):
        a = a or self.pick(e)
        b = self.other(e)
        if is_float(e):
            p = self.rng.choice([o + c for o in "ou" for c in
                                 ("lt", "gt", "le", "ge", "eq", "ne")])
            return self.op(f"arith.cmpf {p}, {{0}}, {{1}} : {e}", "i1",
                           lambda x, y: tv.compare_floats(p, x, y), a, b)
        p = self.rng.choice(["eq", "ne"] + [s + c for s in "su" for c in
                                            ("lt", "gt", "le", "ge")])
        return self.op(f"arith.cmpi {p}, {{0}}, {{1}} : {e}", "i1",
                       lambda x, y: tv.compare_integers(e, p, x, y), a, b)

    def select(self, e, a, b):
        c = self.compare(e) if self.rng.random() < 0.7 else self.other("i1")
        return self.op(f"arith.select {{0}}, {{1}}, {{2}} : {e}", e,
                       lambda c, x, y: tv.choose(e, c, x, y), c, a, b)

    def clamp(self, v, low, high):
        e = v[1]
        v = self.op(f"arith.maximumf {{0}}, {{1}} : {e}", e,
                    lambda x, y: tv.maximum(e, x, y), v, self.const(low, e))
        return self.op(f"arith.minimumf {{0}}, {{1}} : {e}", e,
                       lambda x, y: tv.minimum(e, x, y), v,
                       self.const(high, e))

    def grow_float(self, a):
        e, rng = a[1], self.rng
        kind = rng.choice(["add"] * 5 + ["mul"] * 4 + ["sub"] * 2 + [
            "max", "min", "neg", "abs", "div", "select", "select", "function",
            "function", "step", "cast", "cast", "sqrt", "copysign", "maxnum",
            "compare", "rem", "square"])
        simple = {"add": ("addf", np.add), "sub": ("subf", np.subtract)}
        if kind in simple:
            name, f = simple[kind]
            return self.op(f"arith.{name} {{0}}, {{1}} : {e}", e,
                           lambda x, y: tv.binary(e, f, x, y), a,
                           self.other(e))
        if kind == "mul":
            return self.multiply(a, self.other(e))
        if kind == "square":
            return self.multiply(a, a)
        if kind in ("max", "min"):
            f = tv.maximum if kind == "max" else tv.minimum
            return self.op(f"arith.{kind}imumf {{0}}, {{1}} : {e}", e,
                           lambda x, y: f(e, x, y), a, self.other(e))
        if kind == "maxnum":
            largest = rng.random() < 0.5
            name = "maxnumf" if largest else "minnumf"
            return self.op(f"arith.{name} {{0}}, {{1}} : {e}", e,
                           lambda x, y: tv.number_extreme(e, x, y, largest),
                           a, self.other(e))
        if kind == "neg":
            return self.op(f"arith.negf {{0}} : {e}", e,
                           lambda x: tv.negate(e, x), a)
        if kind == "abs":
            return self.op(f"math.absf {{0}} : {e}", e,
                           lambda x: tv.absolute(e, x), a)
        if kind == "div":
            b = (self.other(e) if rng.random() < 0.5 else
                 self.const(rng.choice([2.0, 3.0, -5.0, 0.75]), e))
            return self.op(f"arith.divf {{0}}, {{1}} : {e}", e,
                           lambda x, y: tv.divide(e, x, y), a, b)
        if kind == "rem":
            if not a[2].exact or e in ("f16", "bf16"):
                raise Reject
            b = self.const(rng.choice([2.0, 3.0, 0.75]), e)
            return self.op(f"arith.remf {{0}}, {{1}} : {e}", e,
                           lambda x, y: tv.binary(e, np.fmod, x, y)
                           if x.exact else _reject(), a, b)
        if kind == "select":
            return self.select(e, a, self.other(e))
        if kind == "copysign":
            return self.op(f"math.copysign {{0}}, {{1}} : {e}", e,
                           lambda x, y: tv.copy_sign(e, x, y), a,
                           self.other(e))
        if kind == "step":
            name, f = rng.choice([("floor", np.floor), ("ceil", np.ceil),
                                  ("trunc", np.trunc),
                                  ("roundeven", np.rint)])
            return self.op(f"math.{name} {{0}} : {e}", e,
                           lambda x: tv.step(e, f, x), a)
        if kind == "sqrt":
            b = self.op(f"math.absf {{0}} : {e}", e,
                        lambda x: tv.absolute(e, x), a)
            return self.op(f"math.sqrt {{0}} : {e}", e,
                           lambda x: tv.binary(e, np.sqrt, x), b)
        if kind == "function":
            name = rng.choice(tv.FUNCTIONS)
            low, high = {"exp": (-8, 4), "exp2": (-8, 4), "expm1": (-8, 4),
                         "log": (0.25, 100), "log2": (0.25, 100),
                         "log1p": (-0.5, 100), "rsqrt": (0.25, 100)
                         }.get(name, (-16, 16))
            b = self.clamp(a, float(low), float(high))
            return self.op(f"math.{name} {{0}} : {e}", e,
                           lambda x: tv.function(e, name, x), b)
        if kind == "compare":
            return self.compare(e, a)
        return self.cast(a, rng.choice(["f32", "f32", "f64", "bf16", "f16",
                                        "i32", "i64", "i8"]))

    def grow_integer(self, a):
        e, rng = a[1], self.rng
        if e == "i1":
            kind = rng.choice(["logic", "select", "cast"])
            if kind == "logic":
                name = rng.choice(["andi", "ori", "xori"])
                return self.op(f"arith.{name} {{0}}, {{1}} : i1", "i1",
                               lambda x, y: tv.integer("i1", name, x, y), a,
                               self.other("i1"))
            if kind == "select":
                t = self.pick()[1]
                if t == "index":
                    raise Reject
                x, y = self.other(t), self.other(t)
                return self.op(f"arith.select {{0}}, {{1}}, {{2}} : {t}", t,
                               lambda c, x, y: tv.choose(t, c, x, y), a, x, y)
            return self.cast(a, rng.choice(["i8", "i32", "i64", "f32", "f64"]))
        kind = rng.choice(["plain"] * 8 + ["divide", "shift", "select",
                                           "compare", "cast", "cast"])
        if kind == "plain":
            name = rng.choice(["addi", "addi", "subi", "muli", "muli", "maxsi",
                               "minsi", "maxui", "minui", "andi", "ori",
                               "xori"])
            b = self.other(e)
        elif kind == "divide":
            name = rng.choice(["divsi", "remsi", "floordivsi", "ceildivsi",
                               "divui", "remui"])
            b = self.const(rng.choice([2, 3, 5, 7, 16, -3, -4]), e)
        elif kind == "shift":
            name = rng.choice(["shli", "shrsi", "shrui"])
            b = self.const(rng.randrange(tv.WIDTH[e]), e)
        elif kind == "select":
            return self.select(e, a, self.other(e))
        elif kind == "compare":
            return self.compare(e, a)
        else:
            return self.cast(a, rng.choice(["i8", "i16", "i32", "i64", "f32",
                                            "f32", "f64", "i1"]))
        return self.op(f"arith.{name} {{0}}, {{1}} : {e}", e,
                       lambda x, y: tv.integer(e, name, x, y), a, b)

    def cast(self, v, to):
        e, rng = v[1], self.rng
        if e == to:
            return v
        if e == "index" or to == "index":
            return self.op(f"arith.index_cast {{0}} : {e} to {to}", to,
                           lambda x: R(x.lo.astype(tv.STORAGE[to])), v)
        if is_float(e) and is_float(to):
            if tv.WIDTH_OF[e] == tv.WIDTH_OF[to]:
                return self.cast(self.cast(v, "f32"), to)
            name = ("extf" if tv.WIDTH_OF[e] < tv.WIDTH_OF[to] else "truncf")
            return self.op(f"arith.{name} {{0}} : {e} to {to}", to,
                           lambda x: tv.convert_float(e, to, x), v)
        if is_float(e):
            if to == "i1":
                return self.compare(e, v)
            v = self.clamp(v, -100.0, 100.0)
            name, signed = "fptosi", True
            if rng.random() < 0.2 and to != "i8":
                v = self.op(f"math.absf {{0}} : {e}", e,
                            lambda x: tv.absolute(e, x), v)
                name, signed = "fptoui", False
            return self.op(f"arith.{name} {{0}} : {e} to {to}", to,
                           lambda x: tv.float_to_integer(to, x, signed), v)
        if is_float(to):
            signed = rng.random() < 0.7
            if not signed and to != "f64" and e == "i64":
                signed = True
            if to in ("f16", "bf16") and e not in ("i1", "i8"):
                return self.cast(self.cast(v, "f32"), to)
            name = "sitofp" if signed else "uitofp"
            return self.op(f"arith.{name} {{0}} : {e} to {to}", to,
                           lambda x: tv.integer_to_float(e, to, x, signed), v)
        if tv.WIDTH[e] > tv.WIDTH[to]:
            return self.op(f"arith.trunci {{0}} : {e} to {to}", to,
                           lambda x: tv.resize_integer(e, to, x), v)
        signed = rng.random() < 0.6
        name = "extsi" if signed else "extui"
        return self.op(f"arith.{name} {{0}} : {e} to {to}", to,
                       lambda x: tv.resize_integer(e, to, x, signed), v)


def _reject():
    raise Reject


COMBINERS = {
    "float": ["addf"] * 5 + ["maximumf", "minimumf", "mulf"],
    "int": ["addi"] * 4 + ["maxsi", "minsi", "maxui", "minui", "muli", "andi",
                           "ori", "xori"],
    "i1": ["andi", "ori", "xori"],
}


def combiners(elem):
    return COMBINERS["float" if is_float(elem) else
                     "i1" if elem == "i1" else "int"]


def neutral(name, elem):
    if name in ("addf", "addi", "ori", "xori", "maxui"):
        return 0
    if name in ("mulf", "muli"):
        return 1
    if name == "andi":
        return True if elem == "i1" else -1
    w = tv.WIDTH.get(elem, 0)
    return {"maximumf": -60000.0, "minimumf": 60000.0,
            "maxsi": -(2 ** (w - 1)), "minsi": 2 ** (w - 1) - 1,
            "minui": -1}[name]


# Named operations by the loops that each axis runs over; lower-case loops reduce.
CONTRACTIONS = {
    "matmul": ("Mk", "kN", "MN"),
    "batch_matmul": ("BMk", "BkN", "BMN"),
    "matvec": ("Mk", "k", "M"),
    "vecmat": ("k", "kN", "N"),
    "dot": ("k", "k", ""),
    "batch_matvec": ("BMk", "Bk", "BM"),
    "batch_vecmat": ("Bk", "BkN", "BN"),
    "batch_reduce_matmul": ("bMk", "bkN", "MN"),
    "mmt4d": ("MkPq", "NkQq", "MNPQ"),
}
# Loops of results are upper case. A pair such as Xx is a window: X * s + x * t.
CONVOLUTIONS = {
    "conv_1d": ("Xx", "x", "X"),
    "conv_2d": ("Xx Yy", "x y", "X Y"),
    "conv_3d": ("Xx Yy Zz", "x y z", "X Y Z"),
    "conv_1d_nwc_wcf": ("N Xx c", "x c F", "N X F"),
    "conv_1d_ncw_fcw": ("N c Xx", "F c x", "N F X"),
    "conv_2d_nhwc_hwcf": ("N Xx Yy c", "x y c F", "N X Y F"),
    "conv_2d_nhwc_fhwc": ("N Xx Yy c", "F x y c", "N X Y F"),
    "conv_2d_nchw_fchw": ("N c Xx Yy", "F c x y", "N F X Y"),
    "conv_2d_ngchw_fgchw": ("N G c Xx Yy", "F G c x y", "N G F X Y"),
    "conv_2d_ngchw_gfchw": ("N G c Xx Yy", "G F c x y", "N G F X Y"),
    "conv_3d_ndhwc_dhwcf": ("N Xx Yy Zz c", "x y z c F", "N X Y Z F"),
    "depthwise_conv_1d_nwc_wc": ("N Xx C", "x C", "N X C"),
    "depthwise_conv_1d_ncw_cw": ("N C Xx", "C x", "N C X"),
    "depthwise_conv_2d_nhwc_hwc": ("N Xx Yy C", "x y C", "N X Y C"),
    "depthwise_conv_2d_nchw_chw": ("N C Xx Yy", "C x y", "N C X Y"),
    "depthwise_conv_2d_nhwc_hwcm": ("N Xx Yy C", "x y C M", "N X Y C M"),
}
POOLS = {
    "nhwc_sum": ("N Xx Yy C", "x y", "N X Y C"),
    "nchw_sum": ("N C Xx Yy", "x y", "N C X Y"),
    "nhwc_max": ("N Xx Yy C", "x y", "N X Y C"),
    "nchw_max": ("N C Xx Yy", "x y", "N C X Y"),
    "nhwc_min": ("N Xx Yy C", "x y", "N X Y C"),
    "nwc_sum": ("N Xx C", "x", "N X C"),
    "ncw_sum": ("N C Xx", "x", "N C X"),
    "nwc_max": ("N Xx C", "x", "N X C"),
    "ncw_max": ("N C Xx", "x", "N C X"),
    "nwc_min": ("N Xx C", "x", "N X C"),
    "ndhwc_sum": ("N Xx Yy Zz C", "x y z", "N X Y Z C"),
    "ndhwc_max": ("N Xx Yy Zz C", "x y z", "N X Y Z C"),
}
NO_ATTRIBUTES = ("conv_1d", "conv_2d", "conv_3d")


class Program:
    def __init__(self, seed, name="f"):
        self.seed, self.name = seed, name
        self.rng = random.Random(seed)
        self.data = np.random.default_rng(seed)
        self.next = 0
        self.pool, self.scalars, self.steps = [], [], []
        rng = self.rng
        self.dynamic = rng.choice([0, 0, 0, 0.4, 0.9])
        self.empties = rng.random() < 0.08
        self.special = rng.random() < 0.15
        self.elems = rng.choice([
            ["f32"], ["f32"], ["f32"], ["f32", "i32"], ["f64"], ["i32"],
            ["i64", "i1"], ["i8"], ["f32", "bf16"], ["bf16"], ["f16"],
            ["f32", "f64", "i32", "i64", "i8", "i1", "bf16"]])
        self.sizes = [rng.choice(SIZES) for _ in range(3)]
        if self.empties:
            self.sizes.append(0)
        self.used = set()
        self._build(rng.randint(3, 15))

    # -- making values -----------------------------------------------------------

    def fresh(self, prefix="v"):
        self.next += 1
        return f"%{prefix}{self.next}"

    def plain_number(self, elem):
        if is_float(elem):
            return self.rng.choice([0.0, 1.0, -1.0, 0.5, 2.0, -0.25, 3.0])
        if elem == "i1":
            return self.rng.random() < 0.5
        return self.rng.choice([0, 1, -1, 2, 3, 7, -5, 100])

    def elements(self, elem, shape):
        rng, data = self.rng, self.data
        if elem == "i1":
            return data.integers(0, 2, shape).astype(np.bool_)
        if not is_float(elem):
            kind = tv.STORAGE[elem]
            if rng.random() < 0.7:
                return data.integers(-9, 10, shape).astype(kind)
            x = data.integers(-2 ** 63, 2 ** 63 - 1, shape).astype(kind)
            if self.special:
                edge = np.iinfo(kind)
                put = data.random(shape) < 0.3
                x = np.where(put, data.choice(
                    np.array([edge.min, edge.max, 0, -1, 1], kind), shape), x)
            return np.asarray(x, kind)
        if rng.random() < 0.75 or elem in ("f16", "bf16"):
            x = data.integers(-8, 9, shape) / rng.choice([1.0, 2.0, 4.0])
        else:
            x = data.normal(size=shape)
        if self.special and rng.random() < 0.6:
            put = data.random(shape) < 0.15
            x = np.where(put, data.choice(
                np.array([np.nan, np.inf, -np.inf, -0.0, 0.0]), shape), x)
        return np.asarray(tv.round_to(elem, x))

    def argument(self, elem, sizes):
        if math.prod(sizes) > MAX_ELEMENTS:
            raise Reject
        value = Value(self.fresh("arg"), elem, None,
                      R(self.elements(elem, tuple(sizes))))
        value.dims = [self.own_dim(value, k, s, self.rng.random() <
                                   self.dynamic) for k, s in enumerate(sizes)]
        self.pool.append(value)
        return value

    def own_dim(self, value, axis, size, dynamic):
        """The size of an axis, read off the value where it is dynamic."""
        if not dynamic:
            return Dim(size)
        c, d = self.fresh("c"), self.fresh("s")
        return Dim(size, _DimSym(d, c, value, axis))

    def scalar(self, elem, x=None):
        have = [s for s in self.scalars if s.elem == elem]
        if x is None and have and self.rng.random() < 0.6:
            return self.rng.choice(have)
        r = (self.elements(elem, ()) if x is None else
             np.array(x, tv.STORAGE[elem]))
        value = Value(self.fresh("arg"), elem, None, R(np.asarray(r)))
        if x is None:
            self.scalars.append(value)
        return value

    def any_elem(self):
        return self.rng.choice(self.elems)

    def pick(self, elem=None, test=lambda v: True):
        pool = [v for v in self.pool if (elem is None or v.elem == elem)
                and test(v)]
        if not pool:
            raise Reject
        if self.rng.random() < 0.7:
            return pool[-1 - min(int(self.rng.expovariate(0.7)),
                                 len(pool) - 1)]
        return self.rng.choice(pool)

    def need(self, elem, sizes):
        sizes = tuple(sizes)
        if self.rng.random() < 0.6:
            try:
                return self.pick(elem, lambda v: v.shape == sizes)
            except Reject:
                pass
        return self.argument(elem, sizes)

    def empty(self, step, dims, elem):
        if math.prod(d.size for d in dims) > MAX_ELEMENTS:
            raise Reject
        name = self.fresh("e")
        syms = [d.sym for d in dims if d.sym]
        step.syms += syms
        step.lines.append(
            f"{name} = tensor.empty({', '.join(s.name for s in syms)})"
            f" : {tensor_type(dims, elem)}")
        return Value(name, elem, dims, None)

    def filled(self, step, dims, elem, x):
        empty = self.empty(step, dims, elem)
        c, out = self.fresh("c"), self.fresh("e")
        step.lines.append(f"{c} = arith.constant {number(x, elem)}"
                          + ("" if elem == "i1" else f" : {elem}"))
        step.lines.append(f"{out} = linalg.fill ins({c} : {elem}) "
                          f"outs({empty.name} : {empty.type}) -> {empty.type}")
        r = R(np.full([d.size for d in dims], x, tv.STORAGE[elem]))
        return Value(out, elem, dims, r)

    def finish(self, step, *results):
        for v in results:
            if v.dims is not None and math.prod(v.shape) > MAX_ELEMENTS:
                raise Reject
            v.r = v.r.map(np.asarray)
            assert v.r.shape == (v.shape if v.dims is not None else ()), v.name
        step.results = list(results)
        return step

    # -- elementwise -------------------------------------------------------------

    def operand_exprs(self, v, dims):
        """How v can be read over loops `dims`: a loop or 0 for each axis."""
        rng = self.rng
        if len(v.dims) > len(dims):
            raise Reject
        free = list(range(len(dims)))
        out = []
        order = list(range(len(v.dims)))
        in_order = rng.random() < 0.7
        for a in order:
            fits = [k for k in free if dims[k].size == v.dims[a].size]
            if v.dims[a].size == 1 and (not fits or rng.random() < 0.3):
                out.append(({}, 0))
                continue
            if not fits:
                raise Reject
            # Aligned from the right, as broadcasts are, or anyhow.
            want = len(dims) - len(v.dims) + a
            k = want if in_order and want in fits else rng.choice(fits)
            free.remove(k)
            out.append(loop(k))
        return out

    def shifted_operand(self, elem, dims):
        """A larger argument read with strides, offsets or backwards."""
        rng = self.rng
        sizes, exprs = [], []
        for k, d in enumerate(dims):
            if d.sym or d.size == 0:
                raise Reject
            form = rng.choice(["same", "same", "stride", "back"])
            if form == "back":
                exprs.append(loop(k, -1, d.size - 1))
                sizes.append(d.size)
            elif form == "stride":
                s, o = rng.choice([1, 2, 3]), rng.choice([0, 1, 2])
                exprs.append(loop(k, s, o))
                sizes.append((d.size - 1) * s + o + 1)
            else:
                exprs.append(loop(k))
                sizes.append(d.size)
        dynamic, self.dynamic = self.dynamic, 0
        try:
            return self.argument(elem, sizes), exprs
        finally:
            self.dynamic = dynamic

    def region(self, body, names, types, yields, indent="  "):
        lines = ["^bb0(" + ", ".join(f"{n}: {t}" for n, t in zip(names, types))
                 + "):"]
        lines += [indent + line for line in body.lines]
        lines.append(f"{indent}linalg.yield "
                     + ", ".join(y[0] for y in yields) + " : "
                     + ", ".join(y[1] for y in yields))
        return lines

    def generic_text(self, step, dims, kinds, ins, outs, region, results):
        maps = [map_text(len(dims), e) for _, e in [*ins, *outs]]
        text = [f"{', '.join(results)} = linalg.generic {{indexing_maps = ["
                f"{', '.join(maps)}], iterator_types = ["
                + ", ".join(f'"{k}"' for k in kinds) + "]}"]
        for word, group in (("ins", ins), ("outs", outs)):
            if group:
                text[0] += (f" {word}({', '.join(v.name for v, _ in group)} : "
                            f"{', '.join(v.type for v, _ in group)})")
        text[0] += " {"
        text += region
        text.append("} -> " + (outs[0][0].type if len(outs) == 1 else
                               f"({', '.join(v.type for v, _ in outs)})"))
        step.lines += text

    def elementwise(self, base=None, like=None):
        """`like`: the result has exactly its type."""
        rng = self.rng
        step = Step("elementwise", [], [])
        base = base or self.pick()
        dims = list(base.dims)
        order = list(range(len(dims)))
        if like is None and rng.random() < 0.25:
            rng.shuffle(order)
        dims = [dims[k] for k in order]
        # Loop k runs over axis order[k] of the base value.
        at = {axis: k for k, axis in enumerate(order)}
        ins = [(base, [loop(at[a]) for a in range(len(order))])]
        for _ in range(rng.choice([0, 1, 1, 2])):
            try:
                if rng.random() < 0.08 and like is None:
                    ins.append(self.shifted_operand(self.any_elem(), dims))
                    continue
                v = self.pick(test=lambda v: len(v.dims) <= len(dims))
                exprs = self.operand_exprs(v, dims)
                if len(v.dims) == len(dims) and rng.random() < 0.15:
                    v = self.argument(self.any_elem(), [
                        1 if rng.random() < 0.5 else d.size for d in v.dims])
                    exprs = [e if d.size != 1 else ({}, 0)
                             for e, d in zip(exprs, v.dims)]
                ins.append((v, exprs))
            except Reject:
                pass
        sizes = [d.size for d in dims]
        if math.prod(sizes) > MAX_POINTS:
            raise Reject
        body = Body(self)
        names, types = [], []
        for v, exprs in ins:
            name = self.fresh("a")
            names.append(name)
            types.append(v.elem)
            body.add(name, v.elem, v.r.map(
                lambda x: tv.gather(x, exprs, sizes)))
        out_order = list(range(len(dims)))
        if like is None and rng.random() < 0.2:
            rng.shuffle(out_order)
        out_dims = [dims[k] for k in out_order]
        out_exprs = [loop(k) for k in out_order]
        # An existing value of the result's shape as the destination.
        init = None
        if rng.random() < 0.3:
            shape = tuple(d.size for d in out_dims)
            try:
                init = self.pick(test=lambda v: v.shape == shape and (
                    like is None or v.type == like.type))
                if like is None:
                    out_dims = list(init.dims)
            except Reject:
                pass
        read_init = init is not None and rng.random() < 0.7
        out_name = self.fresh("o")
        if read_init:
            body.add(out_name, init.elem, init.r.map(
                lambda x: tv.gather(x, out_exprs, sizes)))
        if rng.random() < 0.12 and dims:
            k = rng.randrange(len(dims))
            shape = [1] * len(dims)
            shape[k] = sizes[k]
            iota = np.arange(sizes[k], dtype=np.int64).reshape(shape)
            i = body.op(f"linalg.index {k} : index", "index", lambda: R(iota))
            i = body.cast(i, rng.choice(["i64", "i32"]))
            if rng.random() < 0.5:
                body.cast(i, "f32")
        if rng.random() < 0.12:
            s = self.scalar(self.any_elem())
            step.operands.append(s)
            body.add(s.name, s.elem, s.r)
        for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4, 6])):
            self._try_op(body)
        wanted = like.elem if like else init.elem if init else None
        yields = [body.pick()]
        if yields[0][1] == "index":
            yields[0] = body.cast(yields[0], "i64")
        if wanted and yields[0][1] != wanted:
            yields[0] = body.cast(yields[0], wanted)
        outs = [(init or self.empty(step, out_dims, yields[0][1]), out_exprs)]
        out_names = [out_name]
        if rng.random() < 0.1 and like is None:
            y = body.pick()
            if y[1] != "index":
                yields.append(y)
                outs.append((self.empty(step, dims, y[1]),
                             [loop(k) for k in range(len(dims))]))
                out_names.append(self.fresh("o"))
        results = []
        for y, (init_value, exprs) in zip(yields, outs):
            order_out = [next(iter(e[0])) for e in exprs]
            r = y[2].map(lambda x: np.broadcast_to(x, sizes).transpose(
                order_out))
            results.append(Value(self.fresh(), y[1], init_value.dims, r))
        region = self.region(body, [*names, *out_names],
                             [*types, *(v.elem for v, _ in outs)], yields)
        self.generic_text(step, dims, ["parallel"] * len(dims), ins, outs,
                          region, [v.name for v in results])
        step.operands += [v for v, _ in ins] + ([init] if init else [])
        return self.finish(step, *results)

    def _try_op(self, body):
        for _ in range(4):
            kept = len(body.lines), len(body.vars), len(body.ops)
            try:
                return body.grow()
            except Reject:
                del body.lines[kept[0]:]
                del body.vars[kept[1]:]
                del body.ops[kept[2]:]
        return None

    # -- reductions --------------------------------------------------------------

    def reduction(self):
        rng = self.rng
        step = Step("reduction", [], [])
        base = self.pick(test=lambda v: len(v.dims) >= 1)
        rank = len(base.dims)
        order = list(range(rank))
        if rng.random() < 0.3:
            rng.shuffle(order)
        dims = [base.dims[k] for k in order]
        at = {axis: k for k, axis in enumerate(order)}
        ins = [(base, [loop(at[a]) for a in range(rank)])]
        if rng.random() < 0.35:
            try:
                v = self.pick(test=lambda v: len(v.dims) <= rank)
                ins.append((v, self.operand_exprs(v, dims)))
            except Reject:
                pass
        axes = [k for k in range(rank) if rng.random() < 0.5]
        if not axes:
            axes = [rng.randrange(rank)]
        sizes = [d.size for d in dims]
        body = Body(self)
        names = []
        for v, exprs in ins:
            names.append(self.fresh("a"))
            body.add(names[-1], v.elem, v.r.map(
                lambda x: tv.gather(x, exprs, sizes)))
        for _ in range(rng.choice([0, 0, 1, 2])):
            self._try_op(body)
        term = body.pick()
        if term[1] == "index":
            raise Reject
        if rng.random() < 0.15 and term[1] in ("f16", "bf16", "i8"):
            term = body.cast(term, "i32" if term[1] == "i8" else "f32")
        elem = term[1]
        name = rng.choice(combiners(elem))
        kept = [k for k in range(rank) if k not in axes]
        out_loops = list(kept)
        if rng.random() < 0.2:
            rng.shuffle(out_loops)
        init = self.initial(step, [dims[k] for k in out_loops], elem, name)
        out_exprs = [loop(k) for k in out_loops]
        r = self.reduce(elem, name, term[2], sizes, axes, init.r, out_exprs)
        out_name, y = self.fresh("o"), self.fresh("x")
        pair = [out_name, term[0]]
        if rng.random() < 0.3:
            pair.reverse()
        body.lines.append(f"{y} = arith.{name} {', '.join(pair)} : {elem}")
        result = Value(self.fresh(), elem, init.dims, r)
        region = self.region(body, [*names, out_name],
                             [*(v.elem for v, _ in ins), elem], [(y, elem)])
        kinds = ["reduction" if k in axes else "parallel" for k in range(rank)]
        self.generic_text(step, dims, kinds, ins, [(init, out_exprs)], region,
                          [result.name])
        step.operands += [v for v, _ in ins]
        return self.finish(step, result)

    def initial(self, step, dims, elem, name):
        """What a reduction starts from; its operand joins the step."""
        rng = self.rng
        if rng.random() < 0.3:
            shape = tuple(d.size for d in dims)
            try:
                v = self.pick(elem, lambda v: v.shape == shape)
                step.operands.append(v)
                return v
            except Reject:
                pass
        x = neutral(name, elem)
        if rng.random() < 0.2:
            x = self.plain_number(elem)
        return self.filled(step, dims, elem, x)

    def reduce(self, elem, name, term, sizes, axes, init, out_exprs):
        start = init.map(lambda x: self._from_result(x, out_exprs))
        term = term.map(lambda x: np.broadcast_to(x, sizes))
        r = tv.reduce_values(elem, name, term, start, axes)
        return r.map(lambda x: self._to_result(x, out_exprs))

    @staticmethod
    def _from_result(x, exprs):
        loops = [next(iter(e[0])) for e in exprs]
        return x.transpose(sorted(range(len(loops)), key=lambda a: loops[a]))

    @staticmethod
    def _to_result(x, exprs):
        loops = [next(iter(e[0])) for e in exprs]
        place = {k: i for i, k in enumerate(sorted(loops))}
        return np.asarray(x).transpose([place[k] for k in loops])

    def argmax(self):
        rng = self.rng
        base = self.pick(test=lambda v: 1 <= len(v.dims) <= 3 and v.r.exact and
                         v.elem in ("f32", "f64", "i32") and
                         0 not in v.shape and not
                         (is_float(v.elem) and np.isnan(v.r.lo).any()))
        step = Step("argmax", [], [], [base])
        rank, e = len(base.dims), base.elem
        axis = rng.randrange(rank)
        dims = [d for k, d in enumerate(base.dims) if k != axis]
        low = -60000.0 if is_float(e) else -(2 ** 31)
        best = self.filled(step, dims, e, low)
        place = self.filled(step, dims, "i64", 0)
        if is_float(e) and (base.r.lo <= low).any():
            raise Reject
        results = [Value(self.fresh(), e, dims, R(base.r.lo.max(axis=axis))),
                   Value(self.fresh(), "i64", dims,
                         R(base.r.lo.argmax(axis=axis)))]
        if not is_float(e):
            empty = base.r.lo.max(axis=axis) == low
            results[1].r = R(np.where(empty, 0, results[1].r.lo))
        elif np.any((base.r.lo == 0) & np.signbit(base.r.lo)):
            raise Reject
        a, m, p = self.fresh("a"), self.fresh("o"), self.fresh("o")
        i, j, c, x, y = (self.fresh("x") for _ in range(5))
        test = (f"arith.cmpf ogt, {a}, {m} : {e}" if is_float(e) else
                f"arith.cmpi sgt, {a}, {m} : {e}")
        region = [f"^bb0({a}: {e}, {m}: {e}, {p}: i64):",
                  f"  {i} = linalg.index {axis} : index",
                  f"  {j} = arith.index_cast {i} : index to i64",
                  f"  {c} = {test}",
                  f"  {x} = arith.select {c}, {a}, {m} : {e}",
                  f"  {y} = arith.select {c}, {j}, {p} : i64",
                  f"  linalg.yield {x}, {y} : {e}, i64"]
        kinds = ["reduction" if k == axis else "parallel" for k in range(rank)]
        exprs = [loop(k) for k in range(rank) if k != axis]
        self.generic_text(step, base.dims, kinds,
                          [(base, [loop(k) for k in range(rank)])],
                          [(best, exprs), (place, exprs)], region,
                          [v.name for v in results])
        return self.finish(step, *results)

    # -- named operations --------------------------------------------------------

    def contraction_types(self):
        e = self.any_elem()
        if e == "i1":
            raise Reject
        wide = {"i8": ["i8", "i32"], "f16": ["f16", "f32"],
                "bf16": ["bf16", "f32"], "f32": ["f32", "f32", "f64"],
                "i32": ["i32", "i32", "i64"]}.get(e, [e])
        return e, self.rng.choice(wide)

    def sized(self):
        return self.rng.choice(self.sizes)

    def contraction(self):
        rng = self.rng
        name = rng.choice(list(CONTRACTIONS) + ["matmul"] * 4
                          + ["batch_matmul"] * 2)
        left, right, out = CONTRACTIONS[name]
        e, wide = self.contraction_types()
        letters = out + "".join(sorted(set(left + right) - set(out)))
        size = {}
        try:
            v = self.pick(e, lambda v: len(v.dims) == len(left))
            for letter, d in zip(left, v.dims):
                if size.setdefault(letter, d.size) != d.size:
                    raise Reject
        except Reject:
            v = None
        for letter in letters:
            size.setdefault(letter, self.sized())
        a = v or self.need(e, [size[x] for x in left])
        b = self.need(e, [size[x] for x in right])
        index = {x: k for k, x in enumerate(letters)}
        exprs = [[loop(index[x]) for x in part] for part in (left, right, out)]
        text = f"linalg.{name}"
        attributes = ""
        if name in ("matmul", "batch_matmul") and rng.random() < 0.25:
            # Either side transposed, through the maps.
            flip = rng.choice([0, 1])
            if flip == 0:
                a = self.need(e, [size[x] for x in left[:-2] + left[:-3:-1]])
                exprs[0][-2:] = exprs[0][:-3:-1]
            else:
                b = self.need(e, [size[x] for x in right[:-2] + right[:-3:-1]])
                exprs[1][-2:] = exprs[1][:-3:-1]
            attributes = " indexing_maps = [" + ", ".join(
                map_text(len(letters), x) for x in exprs) + "]"
        elif rng.random() < 0.15 and name != "mmt4d":
            text = "linalg.contract"
            attributes = " indexing_maps = [" + ", ".join(
                map_text(len(letters), x) for x in exprs) + "]"
        return self.product("contraction", text + attributes, letters, size,
                            a, b, exprs, wide)

    def product(self, kind, text, letters, size, a, b, exprs, wide):
        """Sum of products over the lower-case loops."""
        step = Step(kind, [], [])
        sizes = [size[x] for x in letters]
        if math.prod(sizes) > MAX_POINTS:
            raise Reject
        dims = self.loop_dims(letters, sizes, [(a, exprs[0])]
                              + ([(b, exprs[1])] if b else []))
        axes = [k for k, x in enumerate(letters) if x.islower()]
        name = "addf" if is_float(wide) else "addi"
        init = self.initial(step, [dims[next(iter(e[0]))] for e in exprs[2]],
                            wide, name)
        terms = []
        for v, e in ((a, exprs[0]), (b, exprs[1])):
            x = v.r.map(lambda x: tv.gather(x, e, sizes))
            if v.elem != wide:
                x = (tv.convert_float(v.elem, wide, x) if is_float(wide) else
                     tv.resize_integer(v.elem, wide, x))
            terms.append(x)
        r = (tv.multiply(wide, *terms) if is_float(wide) else
             tv.integer(wide, "muli", *terms))
        r = self.reduce(wide, name, r, sizes, axes, init.r, exprs[2])
        result = Value(self.fresh(), wide, init.dims, r)
        step.lines.append(
            f"{result.name} = {text} ins({a.name}, {b.name} : {a.type}, "
            f"{b.type}) outs({init.name} : {init.type}) -> {init.type}")
        step.operands += [a, b]
        return self.finish(step, result)

    def loop_dims(self, letters, sizes, operands):
        """A size for each loop: from an operand that has it as it is."""
        found = [None] * len(letters)
        for v, exprs in operands:
            for (coefficients, constant), d in zip(exprs, v.dims):
                if len(coefficients) == 1 and constant == 0:
                    (k, factor), = coefficients.items()
                    if factor == 1 and (found[k] is None
                                        or self.rng.random() < 0.5):
                        found[k] = d
        return [d or Dim(s) for d, s in zip(found, sizes)]

    def convolution(self):
        return self.windowed(CONVOLUTIONS, "convolution")

    def pool_step(self):
        return self.windowed(POOLS, "pool")

    def windowed(self, table, kind):
        rng = self.rng
        name = rng.choice(list(table))
        image, kernel, out = (x.split() for x in table[name])
        e, wide = self.contraction_types()
        pooling = kind == "pool"
        if pooling:
            wide = e
        letters = [x[0] for x in out]
        letters += sorted({x[-1] for x in [*image, *kernel]
                           if x[-1].islower()})
        size, stride, dilation = {}, {}, {}
        windows = [x for x in image if len(x) == 2]
        plain = name in NO_ATTRIBUTES
        for x in windows:
            stride[x[0]] = 1 if plain else rng.choice([1, 1, 2, 3])
            dilation[x[0]] = 1 if plain else rng.choice([1, 1, 1, 2])
            size[x[1]] = rng.choice([1, 2, 3, 3])
        small = [1, 2, 3, 4, 5]
        for x in letters:
            size.setdefault(x, rng.choice(small if not x.islower() else
                                          [1, 2, 3, 5]))

        def extent(x, size_out):
            return ((size_out - 1) * stride[x[0]]
                    + (size[x[1]] - 1) * dilation[x[0]] + 1)

        a = None
        try:
            v = self.pick(e, lambda v: len(v.dims) == len(image))
            for x, d in zip(image, v.dims):
                if len(x) == 1:
                    if d.size == 0:
                        raise Reject
                    size[x] = d.size
                    continue
                rest = d.size - (size[x[1]] - 1) * dilation[x[0]] - 1
                if rest < 0:
                    raise Reject
                size[x[0]] = rest // stride[x[0]] + 1
            a = v
        except Reject:
            for x in windows:
                size[x[0]] = rng.choice([1, 2, 3, 5, 8])
        if a is None:
            a = self.argument(e, [size[x] if len(x) == 1 else
                                  extent(x, size[x[0]]) for x in image])
        if a.elem != e:
            raise Reject
        index = {x: k for k, x in enumerate(letters)}
        sizes = [size[x] for x in letters]
        if math.prod(sizes) > MAX_POINTS:
            raise Reject
        exprs = [[loop(index[x]) if len(x) == 1 else
                  ({index[x[0]]: stride[x[0]], index[x[1]]: dilation[x[0]]}, 0)
                  for x in image],
                 [loop(index[x]) for x in kernel],
                 [loop(index[x]) for x in out]]
        attributes = ""
        if not plain:
            n = len(windows)
            attributes = (
                f" {{dilations = dense<"
                f"[{', '.join(str(dilation[x[0]]) for x in windows)}]>"
                f" : tensor<{n}xi64>, strides = dense<"
                f"[{', '.join(str(stride[x[0]]) for x in windows)}]>"
                f" : tensor<{n}xi64>}}")
        # Sizes of windows over a dynamic axis are computed.
        b = (self.argument(e, [size[x] for x in kernel]) if not pooling else
             None)
        dims = {}
        for v, part in ((a, image), (b, kernel)):
            for x, d in zip(part, v.dims if v else []):
                if len(x) == 1:
                    dims.setdefault(x, d)
        for x, d in zip(image, a.dims):
            if len(x) == 2:
                if d.sym and b is not None:
                    k = b.dims[kernel.index(x[1])]
                    if k.sym:
                        raise Reject
                dims[x[0]] = self.window_dim(
                    d, size[x[0]], (size[x[1]] - 1) * dilation[x[0]] + 1,
                    stride[x[0]])
        if pooling:
            return self.pooling(name, attributes, letters, size, a, exprs,
                                [dims[x] for x in out], kernel)
        return self.product_with_dims(
            f"linalg.{name}{attributes}", letters, size, a, b, exprs, wide,
            [dims[x] for x in out])

    def window_dim(self, d, size, reach, stride):
        if not d.sym:
            return Dim(size)
        c, s, x, y, one, out = (self.fresh("s") for _ in range(6))
        return Dim(size, Sym(out, [d.sym], [
            f"{c} = arith.constant {reach} : index",
            f"{s} = arith.constant {stride} : index",
            f"{one} = arith.constant 1 : index",
            f"{x} = arith.subi {d.sym.name}, {c} : index",
            f"{y} = arith.divsi {x}, {s} : index",
            f"{out} = arith.addi {y}, {one} : index"]))

    def product_with_dims(self, text, letters, size, a, b, exprs, wide, out):
        saved = self.loop_dims
        letters = "".join(letters)

        def loop_dims(*_):
            found = [Dim(size[x]) for x in letters]
            for e, d in zip(exprs[2], out):
                found[next(iter(e[0]))] = d
            return found

        self.loop_dims = loop_dims
        try:
            return self.product("convolution", text, letters, size, a, b,
                                exprs, wide)
        finally:
            self.loop_dims = saved

    def pooling(self, name, attributes, letters, size, a, exprs, dims, kernel):
        e = a.elem
        step = Step("pool", [], [])
        what = name.split("_")[1]
        if e == "i1":
            raise Reject
        combine = {"sum": "addf", "max": "maximumf", "min": "minimumf"}[what]
        if not is_float(e):
            combine = {"sum": "addi", "max": "maxsi", "min": "minsi"}[what]
        sizes = [size[x] for x in letters]
        axes = [k for k, x in enumerate(letters) if x.islower()]
        init = self.initial(step, dims, e, combine)
        window = self.empty(step, [Dim(size[x]) for x in kernel], e)
        term = a.r.map(lambda x: tv.gather(x, exprs[0], sizes))
        r = self.reduce(e, combine, term, sizes, axes, init.r, exprs[2])
        result = Value(self.fresh(), e, init.dims, r)
        step.lines.append(
            f"{result.name} = linalg.pooling_{name}{attributes} "
            f"ins({a.name}, {window.name} : {a.type}, {window.type}) "
            f"outs({init.name} : {init.type}) -> {init.type}")
        step.operands.append(a)
        return self.finish(step, result)

    def named_elementwise(self):
        rng = self.rng
        a = self.pick()
        step = Step("named elementwise", [], [a])
        e = a.elem
        two = {"add": np.add, "sub": np.subtract}
        if e == "i1":
            raise Reject
        choices = (["add", "sub", "mul", "max", "min", "copy", "abs", "negf",
                    "exp", "tanh", "square", "select", "map"]
                   if is_float(e) else
                   ["add", "sub", "mul", "max", "min", "copy", "select",
                    "map"])
        name = rng.choice(choices)
        ins, r = [a], None
        if name in ("add", "sub", "mul", "max", "min", "map", "select"):
            b = self.need(e, a.shape)
            ins.append(b)
        if name == "copy":
            r = a.r
        elif name == "abs":
            r = tv.absolute(e, a.r)
        elif name == "negf":
            r = tv.negate(e, a.r)
        elif name in ("exp", "tanh"):
            lo, hi = tv.wide(a.r)
            if lo.size and (lo.min() < -8 or hi.max() > 4):
                raise Reject
            r = tv.function(e, name, a.r)
        elif name == "square":
            r = tv.multiply(e, a.r, a.r)
        elif name == "select":
            c = self.need("i1", a.shape)
            ins.insert(0, c)
            r = tv.choose(e, c.r, a.r, b.r)
        elif is_float(e):
            if name == "mul" or name == "map":
                r = tv.multiply(e, a.r, b.r)
            elif name in two:
                r = tv.binary(e, two[name], a.r, b.r)
            else:
                r = (tv.maximum if name == "max" else tv.minimum)(e, a.r, b.r)
        else:
            op = {"add": "addi", "sub": "subi", "mul": "muli", "max": "maxsi",
                  "min": "minsi", "map": "muli"}[name]
            r = tv.integer(e, op, a.r, b.r)
        step.operands = list(ins)
        dims = ins[-1].dims if rng.random() < 0.5 else a.dims
        out = None
        if rng.random() < 0.3:
            try:
                out = self.pick(e, lambda v: v.shape == a.shape)
                step.operands.append(out)
            except Reject:
                pass
        out = out or self.empty(step, dims, e)
        # linalg.map wants equal static sizes.
        if name == "map" and any(v.type.replace(v.elem, "") !=
                                 out.type.replace(e, "") for v in ins):
            raise Reject
        result = Value(self.fresh(), e, out.dims, r)
        names = ", ".join(v.name for v in ins)
        types = ", ".join(v.type for v in ins)
        if name == "map":
            op = "arith.mulf" if is_float(e) else "arith.muli"
            step.lines.append(f"{result.name} = linalg.map {{ {op} }} "
                              f"ins({names} : {types}) "
                              f"outs({out.name} : {out.type})")
        else:
            step.lines.append(f"{result.name} = linalg.{name} "
                              f"ins({names} : {types}) "
                              f"outs({out.name} : {out.type}) -> {out.type}")
        return self.finish(step, result)

    def named_movement(self):
        rng = self.rng
        a = self.pick()
        step = Step("named movement", [], [], [a])
        rank = len(a.dims)
        # MLIR's verifier crashes on a transpose of rank 0.
        if rank and rng.random() < 0.5:
            order = list(range(rank))
            rng.shuffle(order)
            out = self.empty(step, [a.dims[k] for k in order], a.elem)
            r = a.r.map(lambda x: x.transpose(order))
            text, attribute = "transpose", f"permutation = {order}"
        else:
            if rank > 3:
                raise Reject
            at = rng.randrange(rank + 1)
            size = self.sized()
            dims = [*a.dims[:at], Dim(size), *a.dims[at:]]
            out = self.empty(step, dims, a.elem)
            r = a.r.map(lambda x: np.repeat(np.expand_dims(x, at), size, at))
            text, attribute = "broadcast", f"dimensions = [{at}]"
        result = Value(self.fresh(), a.elem, out.dims, r)
        step.lines.append(
            f"{result.name} = linalg.{text} ins({a.name} : {a.type}) "
            f"outs({out.name} : {out.type}) {attribute}")
        return self.finish(step, result)

    def named_reduce(self):
        rng = self.rng
        a = self.pick(test=lambda v: len(v.dims) >= 1)
        e = a.elem
        step = Step("linalg.reduce", [], [], [a])
        rank = len(a.dims)
        axes = sorted(rng.sample(range(rank), rng.randint(1, rank)))
        name = rng.choice(combiners(e))
        kept = [k for k in range(rank) if k not in axes]
        init = self.initial(step, [a.dims[k] for k in kept], e, name)
        exprs = [loop(k) for k in kept]
        r = self.reduce(e, name, a.r, list(a.shape), axes, init.r, exprs)
        result = Value(self.fresh(), e, init.dims, r)
        step.lines.append(
            f"{result.name} = linalg.reduce {{ arith.{name} }} "
            f"ins({a.name} : {a.type}) outs({init.name} : {init.type}) "
            f"dimensions = {axes}")
        return self.finish(step, result)

    def fill(self):
        rng = self.rng
        step = Step("fill", [], [])
        e = self.any_elem()
        if rng.random() < 0.5:
            dims = list(self.pick().dims)
        else:
            dims = [Dim(self.sized()) for _ in range(rng.choice([0, 1, 2]))]
        if rng.random() < 0.5:
            out = self.filled(step, dims, e, self.plain_number(e))
            return self.finish(step, out)
        s = self.scalar(e)
        if not s.r.exact:
            raise Reject
        step.operands.append(s)
        empty = self.empty(step, dims, e)
        r = R(np.full(empty.shape, s.r.lo, tv.STORAGE[e]))
        result = Value(self.fresh(), e, dims, r)
        if rng.random() < 0.5 and not any(d.sym for d in dims):
            step.lines.append(f"{result.name} = tensor.splat {s.name}"
                              f" : {result.type}")
        else:
            step.lines.append(
                f"{result.name} = linalg.fill ins({s.name} : {e}) "
                f"outs({empty.name} : {empty.type}) -> {empty.type}")
        return self.finish(step, result)

    def constant(self):
        rng = self.rng
        e = self.any_elem()
        shape = [rng.choice([1, 2, 3, 5, 8])
                 for _ in range(rng.choice([0, 1, 1, 2]))]
        x = self.elements(e, tuple(shape))
        if is_float(e) and not np.all(np.isfinite(x)):
            raise Reject
        def text(part):
            if part.ndim == 0:
                return number(part, e)
            return "[" + ", ".join(text(p) for p in part) + "]"
        result = Value(self.fresh(), e, [Dim(s) for s in shape],
                       R(np.asarray(x)))
        return self.finish(Step("constant", [
            f"{result.name} = arith.constant dense<{text(result.r.lo)}>"
            f" : {result.type}"], []), result)

    # -- tensor operations -------------------------------------------------------

    def derived(self, d, text, size):
        """A size computed from another: `text` has {0} for it."""
        lines, out = [], self.fresh("s")
        op, x = text
        c = self.fresh("s")
        lines = [f"{c} = arith.constant {x} : index",
                 f"{out} = arith.{op} {d.sym.name}, {c} : index"]
        return Dim(size, Sym(out, [d.sym], lines))

    def pad(self):
        rng = self.rng
        a = self.pick(test=lambda v: len(v.dims) >= 1)
        step = Step("pad", [], [], [a])
        low = [rng.choice([0, 0, 1, 2]) for _ in a.dims]
        high = [rng.choice([0, 0, 1, 3]) for _ in a.dims]
        dims = []
        for d, x, y in zip(a.dims, low, high):
            dims.append(self.derived(d, ("addi", x + y), d.size + x + y)
                        if d.sym else Dim(d.size + x + y))
        c = self.fresh("c")
        x = self.plain_number(a.elem)
        r = a.r.map(lambda v: np.pad(v, list(zip(low, high)),
                                     constant_values=v.dtype.type(x)))
        result = Value(self.fresh(), a.elem, dims, r)
        step.lines += [f"{c} = arith.constant {number(x, a.elem)}"
                       + ("" if a.elem == "i1" else f" : {a.elem}"),
                       f"{result.name} = tensor.pad {a.name} low{low} "
                       f"high{high} {{",
                       "^bb0(" + ", ".join(f"{self.fresh('i')}: index"
                                           for _ in dims) + "):",
                       f"  tensor.yield {c} : {a.elem}",
                       f"}} : {a.type} to {result.type}"]
        return self.finish(step, result)

    def slice_parts(self, step, dims):
        """Offsets, sizes and strides of a slice, as text and numbers."""
        rng = self.rng
        offsets, sizes, strides, key = [], [], [], []
        text = [[], [], []]
        for d in dims:
            if d.size == 0:
                raise Reject  # MLIR refuses every slice of no elements
            whole = rng.random() < 0.4
            if whole:
                o, n, s, dim = 0, d.size, 1, d
            else:
                s = rng.choice([1, 1, 2])
                o = rng.randrange(d.size)
                n = rng.randint(1, (d.size - 1 - o) // s + 1)
                dim = Dim(n)
                if d.sym and rng.random() < 0.5 and s == 1:
                    # All but some at the front, of a size not known.
                    n = d.size - o
                    dim = self.derived(d, ("subi", o), n)
            offset = str(o)
            if not whole and rng.random() < 0.25:
                v = self.scalar("index", o)
                step.operands.append(v)
                offset = v.name
            text[0].append(offset)
            text[1].append(dim.sym.name if dim.sym else str(n))
            text[2].append(str(s))
            if dim.sym:
                step.syms.append(dim.sym)
            offsets.append(o)
            sizes.append(dim)
            strides.append(s)
            key.append(slice(o, o + (n - 1) * s + 1 if n else o, s))
        joined = "".join("[" + ", ".join(t) + "]" for t in text)
        return joined, sizes, tuple(key)

    def extract_slice(self):
        rng = self.rng
        a = self.pick(test=lambda v: len(v.dims) >= 1)
        step = Step("extract slice", [], [], [a])
        text, dims, key = self.slice_parts(step, a.dims)
        r = a.r.map(lambda x: x[key])
        if rng.random() < 0.4:  # drop some axes of size 1
            drop = [k for k, d in enumerate(dims)
                    if d.size == 1 and not d.sym and rng.random() < 0.7]
            dims = [d for k, d in enumerate(dims) if k not in drop]
            r = r.map(lambda x: x.reshape([d.size for d in dims]))
        result = Value(self.fresh(), a.elem, dims, r)
        step.lines.append(f"{result.name} = tensor.extract_slice {a.name}"
                          f"{text} : {a.type} to {result.type}")
        return self.finish(step, result)

    def insert_slice(self):
        a = self.pick(test=lambda v: len(v.dims) >= 1)
        step = Step("insert slice", [], [], [a])
        text, dims, key = self.slice_parts(step, a.dims)
        if any(d.sym for d in dims):
            raise Reject
        b = self.need(a.elem, [d.size for d in dims])
        if any(d.sym for d in b.dims):
            raise Reject
        step.operands.append(b)
        if a.r.exact and b.r.exact:
            x = a.r.lo.copy()
            x[key] = b.r.lo
            r = R(x, None, a.r.rounded or b.r.rounded)
        else:
            (al, ah), (bl, bh) = tv.wide(a.r), tv.wide(b.r)
            al, ah = al.copy(), ah.copy()
            al[key], ah[key] = bl, bh
            r = R(al, ah, True)
        result = Value(self.fresh(), a.elem, a.dims, r)
        step.lines.append(f"{result.name} = tensor.insert_slice {b.name} into "
                          f"{a.name}{text} : {b.type} into {a.type}")
        return self.finish(step, result)

    def concat(self):
        rng = self.rng
        a = self.pick(test=lambda v: len(v.dims) >= 1)
        axis = rng.randrange(len(a.dims))
        parts = [a]
        for _ in range(rng.choice([1, 1, 2])):
            sizes = list(a.shape)
            if rng.random() < 0.5:
                sizes[axis] = self.sized()
            parts.append(self.need(a.elem, sizes))
        rng.shuffle(parts)
        step = Step("concat", [], [], parts)
        total = sum(v.shape[axis] for v in parts)
        result = Value(self.fresh(), a.elem, None, None)
        dims = []
        for k in range(len(a.dims)):
            every = [v.dims[k] for v in parts]
            if k == axis:
                dynamic, size = any(d.sym for d in every), total
            else:
                dynamic = all(d.sym for d in every)
                size = a.shape[k]
            dims.append(self.own_dim(result, k, size, dynamic))
        result.dims = dims
        if all(v.r.exact for v in parts):
            result.r = R(np.concatenate([v.r.lo for v in parts], axis), None,
                         any(v.r.rounded for v in parts))
        else:
            ends = [tv.wide(v.r) for v in parts]
            result.r = R(np.concatenate([x for x, _ in ends], axis),
                         np.concatenate([y for _, y in ends], axis), True)
        step.lines.append(
            f"{result.name} = tensor.concat dim({axis}) "
            f"{', '.join(v.name for v in parts)} : "
            f"({', '.join(v.type for v in parts)}) -> {result.type}")
        return self.finish(step, result)

    def collapse(self):
        rng = self.rng
        a = self.pick(test=lambda v: len(v.dims) >= 2)
        step = Step("collapse", [], [], [a])
        cuts = sorted(rng.sample(range(1, len(a.dims)),
                                 rng.randint(0, len(a.dims) - 1)))
        edges = [0, *cuts, len(a.dims)]
        groups = [list(range(x, y)) for x, y in zip(edges, edges[1:])]
        result = Value(self.fresh(), a.elem, None, None)
        result.dims = []
        for k, g in enumerate(groups):
            size = math.prod(a.shape[x] for x in g)
            dynamic = any(a.dims[x].sym for x in g)
            result.dims.append(a.dims[g[0]] if len(g) == 1 else
                               self.own_dim(result, k, size, dynamic))
        result.r = a.r.map(lambda x: x.reshape(result.shape))
        step.lines.append(f"{result.name} = tensor.collapse_shape {a.name} "
                          f"{groups} : {a.type} into {result.type}")
        return self.finish(step, result)

    def expand(self):
        rng = self.rng
        a = self.pick(test=lambda v: 1 <= len(v.dims) <= 3)
        step = Step("expand", [], [], [a])
        groups, dims, text = [], [], []
        for d in a.dims:
            parts = [d]
            if rng.random() < 0.6:
                if d.sym or d.size == 0:
                    parts = rng.choice([[d, Dim(1)], [Dim(1), d]])
                else:
                    f = rng.choice([x for x in range(1, d.size + 1)
                                    if d.size % x == 0])
                    parts = [Dim(f), Dim(d.size // f)]
            groups.append(list(range(len(dims), len(dims) + len(parts))))
            dims += parts
        for d in dims:
            text.append(d.sym.name if d.sym else str(d.size))
            if d.sym:
                step.syms.append(d.sym)
        result = Value(self.fresh(), a.elem, dims, a.r.map(
            lambda x: x.reshape([d.size for d in dims])))
        step.lines.append(
            f"{result.name} = tensor.expand_shape {a.name} {groups} "
            f"output_shape [{', '.join(text)}] : {a.type} into {result.type}")
        return self.finish(step, result)

    def tensor_cast(self):
        rng = self.rng
        a = self.pick(test=lambda v: len(v.dims) >= 1)
        result = Value(self.fresh(), a.elem, None, a.r)
        result.dims = [self.own_dim(result, k, d.size, rng.random() < 0.4)
                       for k, d in enumerate(a.dims)]
        if result.type == a.type:
            raise Reject
        return self.finish(Step("cast", [
            f"{result.name} = tensor.cast {a.name} : {a.type} to "
            f"{result.type}"], [], [a]), result)

    def generate(self):
        rng = self.rng
        a = self.pick(test=lambda v: 1 <= len(v.dims) <= 3)
        order = list(range(len(a.dims)))
        rng.shuffle(order)
        step = Step("generate", [], [], [a])
        dims = [a.dims[k] for k in order]
        result = Value(self.fresh(), a.elem, dims, a.r.map(
            lambda x: x.transpose(order)))
        syms = [d.sym for d in dims if d.sym]
        step.syms += syms
        names = [self.fresh("i") for _ in dims]
        x = self.fresh("x")
        at = [names[order.index(k)] for k in range(len(dims))]
        step.lines += [
            f"{result.name} = tensor.generate "
            f"{', '.join(s.name for s in syms)} {{",
            "^bb0(" + ", ".join(f"{n}: index" for n in names) + "):",
            f"  {x} = tensor.extract {a.name}[{', '.join(at)}] : {a.type}",
            f"  tensor.yield {x} : {a.elem}", f"}} : {result.type}"]
        return self.finish(step, result)

    def element(self, a):
        """Constant places inside a, as text lines, names and numbers."""
        if 0 in a.shape:
            raise Reject
        at = [self.rng.randrange(s) for s in a.shape]
        names = [self.fresh("c") for _ in at]
        return at, names, [f"{n} = arith.constant {k} : index"
                           for n, k in zip(names, at)]

    def extract(self):
        a = self.pick()
        at, names, lines = self.element(a)
        out = Value(self.fresh(), a.elem, None,
                    a.r.map(lambda x: np.asarray(x[tuple(at)])))
        lines.append(f"{out.name} = tensor.extract {a.name}"
                     f"[{', '.join(names)}] : {a.type}")
        return self.finish(Step("extract", lines, [], [a]), out)

    def insert(self):
        a = self.pick()
        s = self.scalar(a.elem)
        at, names, lines = self.element(a)
        def put(x, y):
            x = x.copy()
            x[tuple(at)] = y
            return x
        if a.r.exact and s.r.exact:
            r = R(put(a.r.lo, s.r.lo), None, a.r.rounded or s.r.rounded)
        else:
            (al, ah), (bl, bh) = tv.wide(a.r), tv.wide(s.r)
            r = R(put(al, bl), put(ah, bh), True)
        out = Value(self.fresh(), a.elem, a.dims, r)
        lines.append(f"{out.name} = tensor.insert {s.name} into {a.name}"
                     f"[{', '.join(names)}] : {a.type}")
        return self.finish(Step("insert", lines, [], [a, s]), out)

    def from_elements(self):
        rng = self.rng
        e = self.any_elem()
        every = [self.scalar(e) for _ in range(rng.choice([1, 2, 3]))]
        if not all(s.r.exact for s in every):
            raise Reject
        out = Value(self.fresh(), e, [Dim(len(every))],
                    R(np.array([s.r.lo for s in every], tv.STORAGE[e])))
        return self.finish(Step("from elements", [
            f"{out.name} = tensor.from_elements "
            f"{', '.join(s.name for s in every)} : {out.type}"], [], every),
            out)

    def gather(self):
        """Elements at computed places, kept inside by a clamp."""
        rng = self.rng
        a = self.pick(test=lambda v: 1 <= len(v.dims) <= 2 and
                      0 not in v.shape)
        it = rng.choice(["i32", "i64"])
        try:
            places = self.pick(it, lambda v: 1 <= len(v.dims) <= 2)
        except Reject:
            places = self.argument(it, [self.sized() for _ in
                                        range(rng.choice([1, 2]))])
        step = Step("gather", [], [], [a, places])
        # Leading axis by index; a second axis of `a` becomes the last loop.
        dims = list(places.dims)
        rows = len(dims)
        if len(a.dims) == 2:
            dims.append(a.dims[1])
        sizes = [d.size for d in dims]
        if math.prod(sizes) > MAX_ELEMENTS:
            raise Reject
        d = a.dims[0]
        top, zero, one = self.fresh("c"), self.fresh("c"), self.fresh("c")
        step.lines += [f"{zero} = arith.constant 0 : index"]
        if d.sym:
            step.syms.append(d.sym)
            step.lines += [f"{one} = arith.constant 1 : index",
                           f"{top} = arith.subi {d.sym.name}, {one} : index"]
        else:
            step.lines.append(f"{top} = arith.constant {d.size - 1} : index")
        i, o, x, y, z, j, w = (self.fresh("x") for _ in range(7))
        at = z
        region = [f"^bb0({i}: {it}, {o}: {a.elem}):",
                  f"  {x} = arith.index_cast {i} : {it} to index",
                  f"  {y} = arith.maxsi {x}, {zero} : index",
                  f"  {z} = arith.minsi {y}, {top} : index"]
        if len(a.dims) == 2:
            region.append(f"  {j} = linalg.index {rows} : index")
            at = f"{z}, {j}"
        region += [f"  {w} = tensor.extract {a.name}[{at}] : {a.type}",
                   f"  linalg.yield {w} : {a.elem}"]
        out = self.empty(step, dims, a.elem)
        index = np.clip(places.r.lo.astype(np.int64), 0, d.size - 1)
        result = Value(self.fresh(), a.elem, dims, a.r.map(
            lambda v: v[index]))
        self.generic_text(step, dims, ["parallel"] * len(dims),
                          [(places, [loop(k) for k in range(rows)])],
                          [(out, [loop(k) for k in range(len(dims))])],
                          region, [result.name])
        return self.finish(step, result)

    # -- control -----------------------------------------------------------------

    def condition(self, step):
        rng = self.rng
        if rng.random() < 0.5:
            s = self.scalar("i1")
            step.operands.append(s)
            return s.name, bool(s.r.lo)
        a = self.pick(test=lambda v: v.r.exact and v.elem != "i1" and not
                      is_float(v.elem))
        at, names, lines = self.element(a)
        x, z, c = self.fresh("x"), self.fresh("c"), self.fresh("x")
        step.operands.append(a)
        step.lines += lines + [
            f"{x} = tensor.extract {a.name}[{', '.join(names)}] : {a.type}",
            f"{z} = arith.constant 1 : {a.elem}",
            f"{c} = arith.cmpi slt, {x}, {z} : {a.elem}"]
        return c, bool(a.r.lo[tuple(at)] < 1)

    def branch(self):
        step = Step("if", [], [])
        c, taken = self.condition(step)
        v = self.pick()
        step.operands.append(v)
        sides = []
        for k in range(2):
            if self.rng.random() < 0.25:
                sides.append(([], v.name, v.r))
                continue
            inner = self.elementwise(v, like=v)
            step.operands += inner.operands
            step.syms += inner.syms
            sides.append((inner.lines, inner.results[0].name,
                          inner.results[0].r))
        result = Value(self.fresh(), v.elem, v.dims, sides[not taken][2])
        step.lines.append(f"{result.name} = scf.if {c} -> ({v.type}) {{")
        for k, (lines, name, _) in enumerate(sides):
            step.lines += ["  " + x for x in lines]
            step.lines.append(f"  scf.yield {name} : {v.type}")
            step.lines.append("} else {" if k == 0 else "}")
        return self.finish(step, result)

    def repeat(self):
        """A loop that applies one body to the carried tensor."""
        rng = self.rng
        v = self.pick(test=lambda v: math.prod(v.shape) <= 1000)
        step = Step("for", [], [], [v])
        n = rng.choice([0, 1, 2, 3, 5])
        lower, upper, stride = (self.fresh("c") for _ in range(3))
        start, by = rng.choice([0, 0, 1]), rng.choice([1, 1, 2])
        step.lines += [f"{lower} = arith.constant {start} : index",
                       f"{stride} = arith.constant {by} : index"]
        if rng.random() < 0.4:
            s = self.scalar("index", n)
            step.operands.append(s)
            upper = s.name
        else:
            step.lines.append(f"{upper} = arith.constant {n} : index")
        iv, carried = self.fresh("i"), self.fresh("t")
        body = Body(self)
        rank, sizes = len(v.dims), list(v.shape)
        identity = [loop(k) for k in range(rank)]
        a, o = self.fresh("a"), self.fresh("o")
        body.add(a, v.elem, v.r)
        ins = [(Value(carried, v.elem, v.dims, v.r), identity)]
        fixed = {}
        if rng.random() < 0.6:
            try:
                w = self.pick(v.elem, lambda w: len(w.dims) <= rank)
                exprs = self.operand_exprs(w, v.dims)
                name = self.fresh("a")
                fixed[name] = w.r.map(lambda x: tv.gather(x, exprs, sizes))
                body.add(name, w.elem, fixed[name])
                ins.append((w, exprs))
                step.operands.append(w)
            except Reject:
                pass
        if rng.random() < 0.4 and v.elem not in ("i1",):
            body.add(iv, "index", R(np.array(start, np.int64)))
            body.cast(body.vars[-1], "i32")
            try:
                body.cast(body.vars[-1], v.elem)
            except Reject:
                pass
        for _ in range(rng.choice([1, 2, 3])):
            self._try_op(body)
        y = body.pick()
        if y[1] == "index":
            raise Reject
        y = body.cast(y, v.elem)
        r = v.r
        for k in range(start, n, by):
            env = body.replay({a: r, iv: R(np.array(k, np.int64)), **fixed})
            r = env.get(y[0], r if y[0] == a else None)
            if r is None:
                r = fixed.get(y[0])
            if r is None:
                raise Reject
            r = r.map(lambda x: np.broadcast_to(x, sizes))
            if is_float(v.elem) and r.lo.size:
                with np.errstate(all="ignore"):
                    top = np.abs(np.where(np.isfinite(r.lo), r.lo, 0)).max()
                if top > (1000 if v.elem in ("f16", "bf16") else 1e5):
                    raise Reject
        inner = Step("", [], [])
        in_place = rng.random() < 0.5
        if in_place:
            out = Value(carried, v.elem, v.dims, None)
        else:
            out = self.empty(inner, v.dims, v.elem)
            step.syms += inner.syms
        z = self.fresh("t")
        names = [a, *fixed]
        region = self.region(body, [*names, o], [v.elem] * (len(names) + 1),
                             [y])
        self.generic_text(inner, v.dims, ["parallel"] * rank, ins,
                          [(out, identity)], region, [z])
        result = Value(self.fresh(), v.elem, v.dims, r)
        step.lines.append(
            f"{result.name} = scf.for {iv} = {lower} to {upper} step {stride} "
            f"iter_args({carried} = {v.name}) -> ({v.type}) {{")
        step.lines += ["  " + x for x in inner.lines]
        step.lines += [f"  scf.yield {z} : {v.type}", "}"]
        return self.finish(step, result)

    def rows(self):
        """A loop that computes one row at a time into the carried tensor."""
        rng = self.rng
        x = self.pick(test=lambda v: 1 <= len(v.dims) <= 3 and
                      not any(d.sym for d in v.dims[1:]) and
                      0 not in v.shape[1:])
        step = Step("rows", [], [], [x])
        d = x.dims[0]
        zero, one, upper = (self.fresh("c") for _ in range(3))
        step.lines += [f"{zero} = arith.constant 0 : index",
                       f"{one} = arith.constant 1 : index"]
        if d.sym:
            step.syms.append(d.sym)
            upper = d.sym.name
        else:
            step.lines.append(f"{upper} = arith.constant {d.size} : index")
        row_dims = list(x.dims[1:])
        body = Body(self)
        a, b, o = self.fresh("a"), self.fresh("a"), self.fresh("o")
        body.add(a, x.elem, x.r)
        init = self.need(x.elem, x.shape)
        if any(e.sym for e in init.dims):
            raise Reject
        step.operands.append(init)
        body.add(b, x.elem, init.r)
        for _ in range(rng.choice([1, 2])):
            self._try_op(body)
        y = body.pick()
        if y[1] == "index":
            raise Reject
        y = body.cast(y, x.elem)
        result = Value(self.fresh(), x.elem, init.dims, y[2].map(
            lambda v: np.broadcast_to(v, x.shape)))
        iv, t, s1, s2, e, z, w = (self.fresh("t") for _ in range(7))
        def piece(v):
            rest = v.dims[1:]
            return (f"[{iv}{', 0' * len(rest)}]"
                    f"[1{''.join(f', {k.size}' for k in rest)}]"
                    f"[1{', 1' * len(rest)}]")
        row = tensor_type(row_dims, x.elem)
        identity = [loop(k) for k in range(len(row_dims))]
        inner = Step("", [], [])
        inner.lines += [
            f"{s1} = tensor.extract_slice {x.name}{piece(x)} : {x.type} to "
            f"{row}",
            f"{s2} = tensor.extract_slice {t}{piece(init)} : {init.type} to "
            f"{row}"]
        region = self.region(body, [a, b, o], [x.elem] * 3, [y])
        if rng.random() < 0.5:
            out = Value(s2, x.elem, row_dims, None)
        else:
            out = self.empty(inner, row_dims, x.elem)
        self.generic_text(
            inner, row_dims, ["parallel"] * len(row_dims),
            [(Value(s1, x.elem, row_dims, None), identity),
             (Value(s2, x.elem, row_dims, None), identity)],
            [(out, identity)], region, [z])
        inner.lines.append(
            f"{w} = tensor.insert_slice {z} into {t}{piece(init)} : {row} into "
            f"{init.type}")
        step.lines.append(
            f"{result.name} = scf.for {iv} = {zero} to {upper} step {one} "
            f"iter_args({t} = {init.name}) -> ({init.type}) {{")
        step.lines += ["  " + line for line in inner.lines]
        step.lines += [f"  scf.yield {w} : {init.type}", "}"]
        return self.finish(step, result)

    def running_total(self):
        """A loop that sums elements into a scalar."""
        x = self.pick(test=lambda v: len(v.dims) == 1 and v.elem != "i1")
        step = Step("total", [], [], [x])
        e = x.elem
        s = self.scalar(e)
        step.operands.append(s)
        name = "addf" if is_float(e) else "addi"
        r = tv.reduce_values(e, name, x.r, s.r, [0])
        zero, one, upper = (self.fresh("c") for _ in range(3))
        step.lines += [f"{zero} = arith.constant 0 : index",
                       f"{one} = arith.constant 1 : index"]
        if x.dims[0].sym:
            step.syms.append(x.dims[0].sym)
            upper = x.dims[0].sym.name
        else:
            step.lines.append(f"{upper} = arith.constant {x.shape[0]} : index")
        iv, t, a, b = (self.fresh("t") for _ in range(4))
        result = Value(self.fresh(), e, None, r.map(np.asarray))
        step.lines += [
            f"{result.name} = scf.for {iv} = {zero} to {upper} step {one} "
            f"iter_args({t} = {s.name}) -> ({e}) {{",
            f"  {a} = tensor.extract {x.name}[{iv}] : {x.type}",
            f"  {b} = arith.{name} {t}, {a} : {e}",
            f"  scf.yield {b} : {e}", "}"]
        return self.finish(step, result)

    # -- the whole ---------------------------------------------------------------

    def _build(self, count):
        rng = self.rng
        for _ in range(rng.choice([1, 2])):
            rank = rng.choice([0, 1, 2, 2, 2, 3, 4])
            try:
                self.argument(self.any_elem(), [
                    self.sized() if rank < 3 else
                    rng.choice([1, 2, 3, 5, 8]) for _ in range(rank)])
            except Reject:
                self.argument(self.any_elem(), [self.sized()])
        kinds = ([self.elementwise] * 12 + [self.reduction] * 5
                 + [self.contraction] * 3 + [self.convolution] * 2
                 + [self.pool_step, self.argmax, self.fill, self.constant,
                    self.pad, self.pad, self.extract_slice,
                    self.extract_slice, self.insert_slice, self.concat,
                    self.concat, self.collapse, self.expand, self.tensor_cast,
                    self.generate, self.extract, self.insert,
                    self.from_elements, self.gather, self.gather, self.branch,
                    self.repeat, self.rows, self.running_total]
                 + [self.named_elementwise] * 3 + [self.named_movement] * 2
                 + [self.named_reduce] * 2)
        tries = 0
        while len(self.steps) < count and tries < 30 * count:
            tries += 1
            kept = len(self.pool), len(self.scalars)
            try:
                step = rng.choice(kinds)()
            except Reject:
                del self.pool[kept[0]:]
                del self.scalars[kept[1]:]
                continue
            self.steps.append(step)
            for v in step.results:
                (self.scalars if v.dims is None else self.pool).append(v)
            self.used.update(id(v) for v in step.operands)
        # Results: what nothing reads, and now and then what something does.
        made = [v for s in self.steps for v in s.results]
        loose = [v for v in made if id(v) not in self.used]
        rest = [v for v in made if id(v) in self.used]
        self.results = loose[-4:]
        if rest and (rng.random() < 0.4 or not self.results):
            self.results.append(rng.choice(rest))
        if rng.random() < 0.05:
            self.results.append(rng.choice(self.results))
        if rng.random() < 0.05:
            self.results.append(self.pool[0])
        self.dropped = set()

    def text(self, dropped=frozenset(), results=None):
        """The program without some steps; also its arguments and results."""
        results = self.results if results is None else [
            self.results[k] for k in results]
        steps = [s for k, s in enumerate(self.steps) if k not in dropped]
        live, wanted = [], {id(v) for v in results}

        def want(needs):
            for n in needs:
                if isinstance(n, Value):
                    wanted.add(id(n))
                else:
                    want(n.needs)

        def want_value(v):
            wanted.add(id(v))

        for s in reversed(steps):
            if any(id(v) in wanted for v in s.results):
                live.append(s)
                for v in s.operands:
                    want_value(v)
                want(s.syms)
        live.reverse()
        made, arguments, lines, done = set(), [], [], set()
        for s in live:
            made.update(id(v) for v in s.results)
        seen = set()

        def use(v):
            if id(v) not in made and id(v) not in seen:
                seen.add(id(v))
                arguments.append(v)

        def define(sym):
            if sym.name in done:
                return
            done.add(sym.name)
            for n in sym.needs:
                use(n) if isinstance(n, Value) else define(n)
            lines.extend(sym.text() if isinstance(sym, _DimSym) else sym.lines)

        for s in live:
            for v in s.operands:
                use(v)
            for sym in s.syms:
                define(sym)
            lines.extend(s.lines)
        for v in results:
            use(v)
        types = ", ".join(v.type for v in results)
        head = ", ".join(f"{v.name}: {v.type}" for v in arguments)
        text = "\n".join(
            [f"func.func @{self.name}({head}) -> ({types}) {{"]
            + ["  " + line for line in lines]
            + [f"  return {', '.join(v.name for v in results)} : {types}", "}",
               ""])
        return text, arguments, results


class _DimSym(Sym):
    """An axis of a value, whose type is known only when it is complete."""

    def __init__(self, name, constant, value, axis):
        super().__init__(name, [value], [])
        self.constant, self.value, self.axis = constant, value, axis

    def text(self):
        return [f"{self.constant} = arith.constant {self.axis} : index",
                f"{self.name} = tensor.dim {self.value.name}, {self.constant}"
                f" : {self.value.type}"]
