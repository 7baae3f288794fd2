# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds a linalg program and its reference, operation by operation.

Each method of Builder appends text and a step of the reference. The reference
computes in float64, integers in int64 wrapped to their width, and carries with
each value a bound on how far a right result may be off, from the row
"contractions" of test/tolerances.json. The text and the reference know nothing
of each other, and nothing of how the compiler works.

A size is a number or a Size, which is known when the program runs. A letter
names a loop of a contraction; an index is a Lin, a sum of letters times numbers.
"""
import json
import math
import pathlib

import numpy as np

TABLE = json.loads((pathlib.Path(__file__).resolve().parent.parent
                    / "tolerances.json").read_text())
UNIT = {name: row["unit"] for name, row in TABLE["dtypes"].items()}
CONTRACTION = TABLE["contractions"]
# Smallest positive value, where rounding stops being relative.
TINY = {"f16": 2.0**-24, "bf16": 2.0**-133, "f32": 2.0**-149, "f64": 0.0}
FLOATS = tuple(UNIT)
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
NARROW = ("f16", "bf16")


def is_float(dtype):
    return dtype in UNIT


def wrap(value, dtype):
    """int64 values as they are kept in `dtype`."""
    bits = BITS[dtype]
    if bits == 64:
        return value
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def round_to(value, dtype):
    """float64 values as they are kept in `dtype`, ties to even."""
    if dtype == "f64":
        return value
    with np.errstate(over="ignore"):
        if dtype != "bf16":
            kept = np.float16 if dtype == "f16" else np.float32
            return value.astype(kept).astype(np.float64)
        bits = np.asarray(value, np.float32).reshape(np.shape(value)).view(
            np.uint32)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    found = bits.view(np.float32).astype(np.float64)
    return np.where(np.isfinite(value), found, value)


class Size:
    """A size that comes with the arguments: its SSA value and its reference."""

    def __init__(self, ssa, value):
        self.ssa, self.value = ssa, value


class Lin:
    """sum of factor * letter, plus a constant."""

    def __init__(self, terms, constant=0):
        self.terms, self.constant = dict(terms), constant

    def text(self):
        parts = [x if f == 1 else f"{x} * {f}" for x, f in self.terms.items()]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)


def letters(text):
    return [Lin({x: 1}) for x in text]


class Value:
    def __init__(self, ssa, shape, dtype):
        self.ssa, self.shape, self.dtype = ssa, list(shape), dtype

    @property
    def type(self):
        return tensor(self.shape, self.dtype)


def tensor(shape, dtype):
    sizes = "".join("?x" if isinstance(s, Size) else f"{s}x" for s in shape)
    return f"tensor<{sizes}{dtype}>"


class Builder:
    def __init__(self, name="f"):
        self.name = name
        self.arguments = []  # (value, attributes)
        self.lines, self.results, self.steps = [], [], []
        self.count = 0
        self.indices = {}

    # Text -----------------------------------------------------------------------
    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text):
        self.lines.append("  " + text)

    def let(self, text):
        ssa = self.fresh()
        self.emit(f"{ssa} = {text}")
        return ssa

    def index(self, number):
        if number not in self.indices:
            ssa = f"%c{number}"
            self.indices[number] = ssa
            self.lines.insert(0, f"  {ssa} = arith.constant {number} : index")
        return self.indices[number]

    def constant(self, value, dtype):
        if not is_float(dtype):
            return self.let(f"arith.constant {int(value)} : {dtype}")
        return self.let(f"arith.constant {float(value):.17e} : {dtype}")

    def program(self):
        arguments = ", ".join(f"{v.ssa}: {v.type}{attributes}"
                              for v, attributes in self.arguments)
        types = ", ".join(v.type for v in self.results)
        names = ", ".join(v.ssa for v in self.results)
        return "\n".join(
            [f"func.func @{self.name}({arguments}) -> ({types}) {{"]
            + self.lines + [f"  return {names} : {types}", "}", ""])

    def reference(self, arrays):
        """[(value, bound)] of the results for the arguments' float64 or int64
        values."""
        env = {v.ssa: (a, np.zeros(a.shape) if is_float(v.dtype) else None)
               for (v, _), a in zip(self.arguments, arrays)}
        with np.errstate(all="ignore"):
            for step in self.steps:
                step(env)
        return [env[v.ssa] for v in self.results]

    # Values ---------------------------------------------------------------------
    def argument(self, shape, dtype, attributes=""):
        value = Value(f"%a{len(self.arguments)}", shape, dtype)
        self.arguments.append((value, attributes))
        return value

    def dim(self, value, d):
        """A Size that is dimension d of an argument."""
        ssa = self.let(f"tensor.dim {value.ssa}, {self.index(d)} : {value.type}")
        return Size(ssa, lambda env: env[value.ssa][0].shape[d])

    def computed_size(self, size, form):
        """A Size computed from another: form is a list of (op, number)."""
        ssa = size.ssa
        for op, number in form:
            ssa = self.let(f"arith.{op} {ssa}, {self.index(number)} : index")
        table = {"addi": int.__add__, "subi": int.__sub__,
                 "divui": int.__floordiv__, "muli": int.__mul__}

        def value(env):
            found = int(size.value(env))
            for op, number in form:
                found = table[op](found, number)
            return found
        return Size(ssa, value)

    def empty(self, shape, dtype):
        sizes = ", ".join(s.ssa for s in shape if isinstance(s, Size))
        kind = tensor(shape, dtype)
        return Value(self.let(f"tensor.empty({sizes}) : {kind}"), shape, dtype)

    def filled(self, shape, dtype, value):
        empty = self.empty(shape, dtype)
        number = self.constant(value, dtype)
        out = self.let(f"linalg.fill ins({number} : {dtype}) "
                       f"outs({empty.ssa} : {empty.type}) -> {empty.type}")
        result = Value(out, shape, dtype)

        def step(env):
            sizes = [s.value(env) if isinstance(s, Size) else s for s in shape]
            kind = np.float64 if is_float(dtype) else np.int64
            env[out] = (np.full(sizes, value, kind),
                        np.zeros(sizes) if is_float(dtype) else None)
        self.steps.append(step)
        return result

    def _generic(self, loops, reduced, ins, maps, out, out_map, body):
        """linalg.generic; body(names of the inputs, name of the output) emits
        and returns what is yielded."""
        dims = ", ".join(loops)
        texts = [f"affine_map<({dims}) -> ("
                 f"{', '.join(e.text() for e in m)})>" for m in [*maps, out_map]]
        kinds = ", ".join('"reduction"' if x in reduced else '"parallel"'
                          for x in loops)
        names = [self.fresh() for _ in ins]
        carried = self.fresh()
        result = self.fresh()
        inputs = (f"ins({', '.join(v.ssa for v in ins)} : "
                  f"{', '.join(v.type for v in ins)}) " if ins else "")
        self.emit(f"{result} = linalg.generic {{indexing_maps = "
                  f"[{', '.join(texts)}], iterator_types = [{kinds}]}} "
                  f"{inputs}outs({out.ssa} : {out.type}) {{")
        heads = [f"{n}: {v.dtype}" for n, v in zip(names, ins)]
        heads.append(f"{carried}: {out.dtype}")
        self.emit(f"^bb0({', '.join(heads)}):")
        found = body(names, carried)
        self.emit(f"  linalg.yield {found} : {out.dtype}")
        self.emit(f"}} -> {out.type}")
        return Value(result, out.shape, out.dtype)

    def convert(self, ssa, source, target, unsigned=False):
        """Text of a cast of one scalar."""
        if source == target:
            return ssa
        wide = UNIT if is_float(source) else BITS
        if is_float(source) and is_float(target):
            if UNIT[source] > UNIT[target] or (source, target) == ("bf16", "f32"):
                op = "extf"
            elif UNIT[source] == UNIT[target] or {source, target} == set(NARROW):
                return self.convert(self.convert(ssa, source, "f32"), "f32",
                                    target)
            else:
                op = "truncf"
        elif is_float(target):
            op = "uitofp" if unsigned else "sitofp"
        elif is_float(source):
            op = "fptosi"
        elif wide[source] < wide[target]:
            op = "extui" if unsigned else "extsi"
        else:
            op = "trunci"
        return self.let(f"arith.{op} {ssa} : {source} to {target}")

    # Contractions ---------------------------------------------------------------
    def contract(self, lhs, left, rhs, right, loops, sizes, out, dtype, *,
                 init=None, subtract=False, swap=False, unsigned=(False, False),
                 exact=False, written=None):
        """out[out] = init + sum over the other loops of lhs[left] * rhs[right].

        `left` and `right` are lists of Lin, `loops` the order of all letters,
        `out` letters; the product is made in `dtype`. `written` replaces the
        text by that of a named operation: written(lhs, rhs, init) -> text.
        """
        shape = [sizes[x] for x in out]
        reduced = [x for x in loops if x not in out]
        start = init if init is not None else self.filled(shape, dtype, 0)
        is_real = is_float(dtype)

        def body(names, carried):
            a, b = (self.convert(n, v.dtype, dtype, u) for n, v, u in
                    zip(names, (lhs, rhs), unsigned))
            times, plus, minus = (("mulf", "addf", "subf") if is_real
                                  else ("muli", "addi", "subi"))
            product = self.let(f"arith.{times} {a}, {b} : {dtype}")
            if subtract:
                return self.let(f"arith.{minus} {carried}, {product} : {dtype}")
            pair = (product, carried) if swap else (carried, product)
            return self.let(f"arith.{plus} {pair[0]}, {pair[1]} : {dtype}")

        if written is not None:
            result = Value(self.let(written(lhs, rhs, start)), shape, dtype)
        else:
            result = self._generic(loops, reduced, [lhs, rhs], [left, right],
                                   start, letters(out), body)

        def step(env):
            extents = {x: s.value(env) if isinstance(s, Size) else s
                       for x, s in sizes.items()}
            sides = []
            for v, exprs, u in ((lhs, left, unsigned[0]),
                                (rhs, right, unsigned[1])):
                value, bound = env[v.ssa]
                if u:
                    value = value & ((1 << BITS[v.dtype]) - 1)
                if is_real and not is_float(v.dtype):
                    value, bound = value.astype(np.float64), np.zeros(value.shape)
                sides.append((*gather(value, exprs, extents),
                              gather(bound, exprs, extents)[0]
                              if is_real else None))
            (a, al, ae), (b, bl, be) = sides
            base, base_bound = env[start.ssa]
            sign = -1 if subtract else 1
            full = sum_of_products(a, al, b, bl, out, extents)
            if not is_real:
                env[result.ssa] = (wrap(base + sign * full, dtype), None)
                return
            value = base + sign * full
            size = math.prod(extents[x] for x in reduced)
            magnitude = sum_of_products(abs(a), al, abs(b), bl, out, extents)
            bound = base_bound + (
                sum_of_products(abs(a) + ae, al, abs(b) + be, bl, out, extents)
                - magnitude if ae.any() or be.any() else 0.0)
            magnitude = magnitude + abs(base)
            if not exact:
                # Sums in a narrow type lose whole terms: any order, worst case.
                grown = (size + 1.0 if dtype in NARROW else
                         CONTRACTION["factor"] * math.sqrt(size + 1.0))
                bound = bound + grown * (UNIT[dtype] * magnitude + TINY[dtype])
            env[result.ssa] = settled(value, bound)
        self.steps.append(step)
        return result

    # Pointwise ------------------------------------------------------------------
    def pointwise(self, ins, maps, sizes, loops, dtype, body, compute,
                  out_map=None):
        """One value an iteration of `loops`. compute([(value, bound)], sizes)
        gives value and bound in the order of `loops`; inputs come broadcast to
        the loops."""
        out_map = out_map or "".join(loops)
        out = self.empty([sizes[x] for x in out_map], dtype)
        result = self._generic(loops, [], ins, maps, out, letters(out_map),
                               lambda names, _: body(names))
        order = [loops.index(x) for x in out_map]

        def step(env):
            extents = {x: s.value(env) if isinstance(s, Size) else s
                       for x, s in sizes.items()}
            spread = []
            for v, exprs in zip(ins, maps):
                value, bound = env[v.ssa]
                whole, found = gather(value, exprs, extents)
                whole = expand(whole, found, loops, extents)
                edge = None
                if bound is not None:
                    edge = expand(gather(bound, exprs, extents)[0], found, loops,
                                  extents)
                spread.append((whole, edge))
            value, bound = compute(spread)
            if is_float(dtype) and bound is None:
                bound = np.zeros(value.shape)
            env[result.ssa] = (value.transpose(order),
                               None if bound is None else bound.transpose(order))
        self.steps.append(step)
        return result

    def unary(self, value, body, compute, dtype=None, out_map=None):
        names = "defghijk"[:len(value.shape)]
        sizes = dict(zip(names, value.shape))
        order = "".join(names[p] for p in out_map) if out_map else None
        return self.pointwise([value], [letters(names)], sizes, list(names),
                              dtype or value.dtype, body, compute, order)

    def cast(self, value, dtype, unsigned=False):
        source = value.dtype

        def compute(ins):
            return cast_reference(*ins[0], source, dtype, unsigned)
        return self.unary(
            value, lambda n: self.convert(n[0], source, dtype, unsigned), compute,
            dtype)

    def transpose(self, value, order, *, named=False):
        """Result dimension i is dimension order[i] of the value."""
        if not named:
            return self.unary(value, lambda n: n[0], lambda ins: ins[0],
                              out_map=order)
        out = self.empty([value.shape[p] for p in order], value.dtype)
        ssa = self.let(f"linalg.transpose ins({value.ssa} : {value.type}) "
                       f"outs({out.ssa} : {out.type}) permutation = "
                       f"[{', '.join(map(str, order))}]")
        result = Value(ssa, out.shape, out.dtype)
        self.steps.append(lambda env: env.__setitem__(
            ssa, both(env[value.ssa], lambda x: x.transpose(order))))
        return result

    # Shapes ---------------------------------------------------------------------
    def pad(self, value, low, high, fill):
        shape = []
        for s, a, b in zip(value.shape, low, high):
            shape.append(self.computed_size(s, [("addi", a + b)])
                         if isinstance(s, Size) else s + a + b)
        number = self.constant(fill, value.dtype)
        names = [self.fresh() for _ in shape]
        ssa = self.fresh()
        self.emit(f"{ssa} = tensor.pad {value.ssa} low[{join(low)}] "
                  f"high[{join(high)}] {{")
        self.emit(f"^bb0({', '.join(n + ': index' for n in names)}):")
        self.emit(f"  tensor.yield {number} : {value.dtype}")
        self.emit(f"}} : {value.type} to {tensor(shape, value.dtype)}")
        result = Value(ssa, shape, value.dtype)

        def step(env):
            x, bound = env[value.ssa]
            widths = list(zip(low, high))
            env[ssa] = (np.pad(x, widths, constant_values=fill),
                        None if bound is None else np.pad(bound, widths))
        self.steps.append(step)
        return result

    def slice(self, value, offsets, sizes, strides):
        kind = tensor(sizes, value.dtype)
        ssa = self.let(f"tensor.extract_slice {value.ssa}[{join(offsets)}] "
                       f"[{join(sizes)}] [{join(strides)}] : {value.type} to "
                       f"{kind}")
        where = tuple(slice(o, o + (n - 1) * s + 1 if n else o, s)
                      for o, n, s in zip(offsets, sizes, strides))
        self.steps.append(lambda env: env.__setitem__(
            ssa, both(env[value.ssa], lambda x: x[where])))
        return Value(ssa, sizes, value.dtype)

    def insert(self, value, into, offsets, strides):
        sizes = value.shape
        ssa = self.let(
            f"tensor.insert_slice {value.ssa} into {into.ssa}[{join(offsets)}] "
            f"[{join(sizes)}] [{join(strides)}] : {value.type} into {into.type}")
        where = tuple(slice(o, o + (n - 1) * s + 1 if n else o, s)
                      for o, n, s in zip(offsets, sizes, strides))

        def step(env):
            def put(x, y):
                x = x.copy()
                x[where] = y
                return x
            a, b = env[into.ssa], env[value.ssa]
            env[ssa] = (put(a[0], b[0]),
                        None if a[1] is None else put(a[1], b[1]))
        self.steps.append(step)
        return Value(ssa, into.shape, into.dtype)

    def reshape(self, value, shape, groups, expand_):
        """expand_shape or collapse_shape of static sizes."""
        op = "expand_shape" if expand_ else "collapse_shape"
        text = ", ".join(f"[{join(g)}]" for g in groups)
        kind = tensor(shape, value.dtype)
        extra = f"output_shape [{join(shape)}] " if expand_ else ""
        ssa = self.let(f"tensor.{op} {value.ssa} [{text}] {extra}: "
                       f"{value.type} into {kind}")
        self.steps.append(lambda env: env.__setitem__(
            ssa, both(env[value.ssa], lambda x: x.reshape(shape))))
        return Value(ssa, shape, value.dtype)

    def row_sum(self, value):
        """Sum over the last dimension, in the value's own type."""
        shape, dtype = value.shape[:-1], value.dtype
        names = "defghijk"[:len(value.shape)]
        out = self.filled(shape, dtype, 0)
        plus = "addf" if is_float(dtype) else "addi"
        result = self._generic(
            list(names), [names[-1]], [value], [letters(names)], out,
            letters(names[:-1]), lambda n, c: self.let(
                f"arith.{plus} {c}, {n[0]} : {dtype}"))

        def step(env):
            x, bound = env[value.ssa]
            if bound is None:
                env[result.ssa] = (wrap(x.sum(-1), dtype), None)
                return
            size = x.shape[-1] + 1.0
            grown = (size if dtype in NARROW else
                     CONTRACTION["factor"] * math.sqrt(size))
            env[result.ssa] = settled(x.sum(-1), bound.sum(-1) + grown * (
                UNIT[dtype] * abs(x).sum(-1) + TINY[dtype]))
        self.steps.append(step)
        return result


def join(numbers):
    return ", ".join(map(str, numbers))


def both(pair, function):
    return (function(pair[0]), None if pair[1] is None else function(pair[1]))


def settled(value, bound):
    """Values that are not finite are exact: their kind is all that counts."""
    return value, np.where(np.isfinite(value), bound, 0.0)


def rounded(value, bound, dtype):
    """One more operation in `dtype` on a value."""
    return settled(value, bound + UNIT[dtype] * abs(value) + TINY[dtype])


def cast_reference(value, bound, source, target, unsigned):
    if not is_float(source):
        if unsigned:
            value = value & ((1 << BITS[source]) - 1)
        if not is_float(target):
            return wrap(value, target), None
        value = value.astype(np.float64)
        kept = round_to(value, target)
        return kept, abs(kept - value)
    if is_float(target):
        if bound.any() or not np.isfinite(bound).all():
            if UNIT[target] > UNIT[source] or target == "f16":
                return rounded(value, bound, target)
            return value, bound
        return round_to(value, target), bound
    # The text rounds before it converts; a value near a half may go either way.
    return np.trunc(value).astype(np.int64), None


def gather(array, exprs, extents):
    """array[exprs] over the letters of exprs, which are given back too."""
    found = []
    for e in exprs:
        found += [x for x in e.terms if x not in found]
    if not exprs:
        return array, []
    index = []
    for e in exprs:
        total = np.zeros([1] * len(found), np.int64) + e.constant
        for x, factor in e.terms.items():
            shape = [1] * len(found)
            shape[found.index(x)] = extents[x]
            total = total + factor * np.arange(extents[x]).reshape(shape)
        index.append(total)
    if any(extents[x] == 0 for x in found):
        return np.zeros([extents[x] for x in found], array.dtype), found
    taken = array[tuple(index)]
    return np.broadcast_to(taken, [extents[x] for x in found]), found


def expand(array, have, want, extents):
    """Reorders and broadcasts an array over letters `have` to `want`."""
    order = sorted(range(len(have)), key=lambda i: want.index(have[i]))
    array = array.transpose(order)
    shape = [extents[x] if x in have else 1 for x in want]
    return np.broadcast_to(array.reshape(shape), [extents[x] for x in want])


def sum_of_products(a, al, b, bl, out, extents):
    """Sum over the letters that are not in `out`, as one batched product."""
    # A letter of one side alone is summed with the products: infinity times a
    # sum is not the sum of its products.
    for letter in [x for x in al if x not in bl and x not in out]:
        b, bl = np.broadcast_to(b, (extents[letter], *b.shape)), [letter, *bl]
    for letter in [x for x in bl if x not in al and x not in out]:
        a, al = np.broadcast_to(a, (extents[letter], *a.shape)), [letter, *al]
    batch = [x for x in out if x in al and x in bl]
    rows = [x for x in out if x in al and x not in bl]
    columns = [x for x in out if x in bl and x not in al]
    depth = [x for x in al if x in bl and x not in out]

    def count(names):
        return math.prod(extents[x] for x in names)

    def matrix(array, have, *groups):
        order = [have.index(x) for group in groups for x in group]
        return array.transpose(order).reshape([count(g) for g in groups])
    found = (matrix(a, al, batch, rows, depth)
             @ matrix(b, bl, batch, depth, columns))
    found = found.reshape([extents[x] for x in batch + rows + columns])
    return expand(found, batch + rows + columns, list(out), extents)
