# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tensor programs compute: values that are exact, or known to an interval.

A value whose bits the rules of numerics fix is exact, in the element type it
has; one that an optimizer may round otherwise (a reordered sum, a math
function) is an interval in float64 that holds every permitted result. Interval
arithmetic carries it on, so that programs need no tolerance of their own.
`Reject` says that an operation would make the answer depend on what is not
known: the generator then tries another one.
"""

import math

import numpy as np

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i1", "i8", "i16", "i32", "i64")
WIDTH = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
# bf16 is kept in float32, rounded.
STORAGE = {
    "f16": np.float16, "bf16": np.float32, "f32": np.float32,
    "f64": np.float64, "i1": np.bool_, "i8": np.int8, "i16": np.int16,
    "i32": np.int32, "i64": np.int64, "index": np.int64,
}
# Bits of the significand, and the largest finite value.
BITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
LARGEST = {"f16": 65504.0, "bf16": 3.38e38, "f32": 3.4e38, "f64": 1e308}
WIDTH_OF = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
UNSIGNED = {"i8": np.uint8, "i16": np.uint16, "i32": np.uint32,
            "i64": np.uint64}


class Reject(Exception):
    """This operation has no answer that can be checked."""


class R:
    """The elements of a value: exact (hi is lo) or an interval. `rounded`: some
    product was rounded, so that a sum may take its exact form instead."""

    __slots__ = ("lo", "hi", "rounded")

    def __init__(self, lo, hi=None, rounded=False):
        self.lo = lo
        self.hi = lo if hi is None else hi
        self.rounded = rounded

    @property
    def exact(self):
        return self.hi is self.lo

    def map(self, f):
        if self.exact:
            return R(f(self.lo), None, self.rounded)
        return R(f(self.lo), f(self.hi), self.rounded)

    @property
    def shape(self):
        return self.lo.shape


def is_float(elem):
    return elem in FLOATS


def round_to(elem, x):
    """Nearest-even, straight from whatever precision x has."""
    if elem != "bf16":
        return np.asarray(x).astype(STORAGE[elem])
    x = np.asarray(x).astype(np.float64)
    m, e = np.frexp(x)
    out = np.where(np.isfinite(x), np.ldexp(np.rint(m * 256), e - 8), x)
    if np.any((out != 0) & (np.abs(out) < 2.0 ** -126)):
        raise Reject
    out = np.where(np.abs(out) > 3.3895313892515355e38,
                   np.copysign(np.inf, out), out)
    return out.astype(np.float32)


def widen(elem, lo, hi, ulps=1.0):
    """An interval made wide enough for `ulps` roundings, if that is sane."""
    lo, hi = np.asarray(lo, np.float64), np.asarray(hi, np.float64)
    size = np.maximum(np.abs(lo), np.abs(hi))
    if not np.all(np.isfinite(size)):
        raise Reject
    extra = size * (ulps * 2.0 ** (1 - BITS[elem])) + 1e-300
    lo, hi = lo - extra, hi + extra
    if size.size:
        top = size.max()
        if top > LARGEST[elem] / 4:
            raise Reject
        if (hi - lo).max() > 0.02 * max(top, 1e-6):
            raise Reject
        if elem != "f64" and 0 < top < 1e-4:
            raise Reject  # too near to what the type cannot hold
    return R(lo, hi, True)


def wide(r):
    return np.asarray(r.lo, np.float64), np.asarray(r.hi, np.float64)


def binary(elem, f, *operands):
    """A correctly rounded operation that is monotone in each operand."""
    if all(r.exact for r in operands):
        with np.errstate(all="ignore"):
            out = round_to(elem, f(*[r.lo for r in operands]))
        return R(out, None, any(r.rounded for r in operands))
    corners = []
    a = wide(operands[0])
    b = wide(operands[1]) if len(operands) > 1 else (None,)
    with np.errstate(all="ignore"):
        for x in a:
            for y in b:
                corners.append(f(x, y) if y is not None else f(x))
    return widen(elem, np.minimum.reduce(corners), np.maximum.reduce(corners))


def multiply(elem, a, b):
    r = binary(elem, np.multiply, a, b)
    if r.exact:
        with np.errstate(all="ignore"):
            full = a.lo.astype(np.longdouble) * b.lo.astype(np.longdouble)
            same = np.all((full == r.lo) | ~np.isfinite(full))
        r.rounded = r.rounded or not same
    return r


def divide(elem, a, b):
    if not (a.exact and b.exact):
        lo, hi = wide(b)
        if np.any((lo <= 0.01) & (hi >= -0.01)):
            raise Reject
    r = binary(elem, np.divide, a, b)
    r.rounded = True
    return r


def _extreme(elem, a, b, largest):
    f = np.maximum if largest else np.minimum
    if a.exact and b.exact:
        out = f(a.lo, b.lo)
        # IEEE 754-2019: -0 is less than +0.
        sign = (np.signbit(a.lo) & np.signbit(b.lo) if largest else
                np.signbit(a.lo) | np.signbit(b.lo))
        out = np.where(out == 0, np.where(sign, out.dtype.type(-0.0),
                                          out.dtype.type(0.0)), out)
        return R(out.astype(STORAGE[elem]), None, a.rounded or b.rounded)
    (al, ah), (bl, bh) = wide(a), wide(b)
    return widen(elem, f(al, bl), f(ah, bh), 0)


def maximum(elem, a, b):
    return _extreme(elem, a, b, True)


def minimum(elem, a, b):
    return _extreme(elem, a, b, False)


def number_extreme(elem, a, b, largest):
    """maxnumf and minnumf: which zero comes out is open."""
    for r in (a, b):
        if not r.exact or np.any(r.lo == 0):
            raise Reject
    f = np.fmax if largest else np.fmin
    return R(f(a.lo, b.lo).astype(STORAGE[elem]), None,
             a.rounded or b.rounded)


def negate(elem, a):
    if a.exact:
        return R(np.negative(a.lo), None, a.rounded)
    return R(-a.hi, -a.lo, True)


def absolute(elem, a):
    if a.exact:
        return R(np.abs(a.lo), None, a.rounded)
    lo, hi = np.abs(a.lo), np.abs(a.hi)
    low = np.where((a.lo <= 0) & (a.hi >= 0), 0, np.minimum(lo, hi))
    return R(low, np.maximum(lo, hi), True)


def copy_sign(elem, a, b):
    if not (a.exact and b.exact) or np.any(np.isnan(b.lo)):
        raise Reject
    return R(np.copysign(a.lo, b.lo), None, a.rounded)


def step(elem, f, a):
    """floor and its like: constant on the interval, or unknown."""
    if a.exact:
        return R(f(a.lo).astype(STORAGE[elem]), None, False)
    lo, hi = f(a.lo), f(a.hi)
    if np.any(lo != hi) or np.any(lo == 0):
        raise Reject
    return R(lo.astype(STORAGE[elem]))


_erf = np.vectorize(math.erf, otypes=[np.float64])
_MONOTONE = {
    "exp": (np.exp, -20, 20), "exp2": (np.exp2, -20, 20),
    "expm1": (np.expm1, -10, 10), "tanh": (np.tanh, -50, 50),
    "erf": (_erf, -20, 20), "log": (np.log, 0.01, 1e6),
    "log2": (np.log2, 0.01, 1e6), "log1p": (np.log1p, -0.9, 1e6),
    "atan": (np.arctan, -1e6, 1e6), "rsqrt": (lambda x: 1 / np.sqrt(x),
                                              0.01, 1e6),
}
_PERIODIC = {"sin": np.sin, "cos": np.cos}
FUNCTIONS = (*_MONOTONE, *_PERIODIC)


def function(elem, name, a):
    lo, hi = wide(a)
    if not np.all(np.isfinite(lo)):
        raise Reject
    if name in _PERIODIC:
        if np.any(np.abs(lo) > 30):
            raise Reject
        f = _PERIODIC[name]
        middle, half = f((lo + hi) / 2), (hi - lo) / 2
        low, high = middle - half, middle + half
        # Near a zero of the function its argument's rounding counts.
        extra = 2.0 ** (1 - BITS[elem])
        return widen(elem, low - extra, high + extra, 4)
    f, least, most = _MONOTONE[name]
    if np.any(lo < least) or np.any(hi > most):
        raise Reject
    ends = f(lo), f(hi)
    extra = 2.0 ** (1 - BITS[elem]) if name in ("log", "log2") else 0
    return widen(elem, np.minimum(*ends) - extra, np.maximum(*ends) + extra, 4)


def compare_floats(predicate, a, b):
    base, order = predicate[1:], predicate[0]
    f = {"lt": np.less, "gt": np.greater, "le": np.less_equal,
         "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}[base]
    if a.exact and b.exact:
        unordered = np.isnan(a.lo) | np.isnan(b.lo)
        with np.errstate(all="ignore"):
            out = f(a.lo, b.lo)
        return R(np.where(unordered, order == "u", out))
    (al, ah), (bl, bh) = wide(a), wide(b)
    if np.any((al <= bh) & (bl <= ah)):
        raise Reject
    return R(f(al, bl))


def choose(elem, c, a, b):
    if a.exact and b.exact:
        return R(np.where(c.lo, a.lo, b.lo).astype(STORAGE[elem]), None,
                 a.rounded or b.rounded)
    (al, ah), (bl, bh) = wide(a), wide(b)
    return widen(elem, np.where(c.lo, al, bl), np.where(c.lo, ah, bh), 0)


def convert_float(source, target, a):
    if a.exact:
        with np.errstate(all="ignore"):
            out = round_to(target, a.lo)
        # An exact product widened may be rounded only once in a fused form.
        return R(out, None, a.rounded or BITS[target] < BITS[source])
    return widen(target, *wide(a))


def float_to_integer(target, a, signed=True):
    lo, hi = (np.trunc(x) for x in wide(a))
    if not np.all(np.isfinite(lo)) or np.any(lo != hi):
        raise Reject
    w = WIDTH[target]
    least, most = ((-2.0 ** (w - 1), 2.0 ** (w - 1)) if signed else
                   (0.0, 2.0 ** w))
    if np.any(lo < least) or np.any(lo >= most) or np.any(np.abs(lo) > 2**53):
        raise Reject
    wrapped = lo.astype(np.int64)
    return R(wrapped.astype(STORAGE[target]))


def integer_to_float(source, target, a, signed=True):
    x = a.lo
    if source == "i1":
        x = -x.astype(np.int8) if signed else x.astype(np.int8)
    elif not signed:
        x = x.view(UNSIGNED[source]) if x.ndim else x.astype(UNSIGNED[source])
    if target in ("f16", "bf16"):
        if np.any(np.abs(x.astype(np.float64)) > 2 ** 24):
            raise Reject  # conversions in two steps round twice
        x = x.astype(np.float64)
    with np.errstate(all="ignore"):
        return R(round_to(target, x))


def resize_integer(source, target, a, signed=True):
    x = a.lo
    if source == "i1":
        x = x.astype(np.int8)
        if signed:
            x = -x
    elif not signed and source in UNSIGNED:
        x = x.astype(UNSIGNED[source])
    if target == "i1":
        return R((x & 1).astype(np.bool_))
    return R(x.astype(STORAGE[target]))


def _as_unsigned(elem, x):
    return x if elem == "i1" else x.astype(UNSIGNED[elem])


def integer(elem, name, a, b):
    """A binary integer operation; `a` and `b` are of one element type."""
    x, y = a.lo, b.lo
    kind = STORAGE[elem]
    if elem == "i1":
        table = {"andi": np.logical_and, "ori": np.logical_or,
                 "xori": np.logical_xor}
        return R(table[name](x, y))
    with np.errstate(all="ignore"):
        if name in ("addi", "subi", "muli", "andi", "ori", "xori"):
            f = {"addi": np.add, "subi": np.subtract, "muli": np.multiply,
                 "andi": np.bitwise_and, "ori": np.bitwise_or,
                 "xori": np.bitwise_xor}[name]
            return R(f(x, y).astype(kind))
        if name in ("maxsi", "minsi"):
            return R((np.maximum if name == "maxsi" else np.minimum)(x, y))
        if name in ("maxui", "minui", "divui", "remui", "shrui"):
            x, y = _as_unsigned(elem, x), _as_unsigned(elem, y)
            f = {"maxui": np.maximum, "minui": np.minimum,
                 "divui": np.floor_divide, "remui": np.remainder,
                 "shrui": np.right_shift}[name]
            return R(f(x, y).astype(kind))
        if name == "shli":
            return R(np.left_shift(x, y).astype(kind))
        if name == "shrsi":
            return R(np.right_shift(x, y).astype(kind))
        if name == "floordivsi":
            return R(np.floor_divide(x, y).astype(kind))
        if name == "ceildivsi":
            q = np.floor_divide(x, y)
            return R((q + (np.remainder(x, y) != 0)).astype(kind))
        r = np.fmod(x, y)
        if name == "remsi":
            return R(r.astype(kind))
        q = np.floor_divide(x, y)
        return R((q + ((np.remainder(x, y) != 0) & ((x < 0) != (y < 0))))
                 .astype(kind))


def compare_integers(elem, predicate, a, b):
    x, y = a.lo, b.lo
    if elem == "i1":
        x, y = x.astype(np.int8), y.astype(np.int8)
        if predicate[0] == "s":
            x, y = -x, -y
    elif predicate[0] == "u":
        x, y = _as_unsigned(elem, x), _as_unsigned(elem, y)
    f = {"eq": np.equal, "ne": np.not_equal, "lt": np.less,
         "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
    return R(f[predicate[-2:]](x, y))


# -- reductions ------------------------------------------------------------------


def _granule(x):
    """The least g with all of x multiples of 2^-g, or None."""
    for g in range(0, 60, 4):
        y = x * 2.0 ** g
        if np.all(y == np.rint(y)):
            return g
    return None


def _add_up(elem, terms, init, axes):
    count = math.prod(terms.shape[d] for d in axes)
    if terms.exact and init.exact and not terms.rounded:
        x, start = terms.lo.astype(np.float64), init.lo.astype(np.float64)
        finite = np.where(np.isfinite(x), x, 0)
        first = np.where(np.isfinite(start), start, 0)
        g = _granule(finite) if _granule(first) is not None else None
        if g is not None:
            g = max(g, _granule(first))
            bound = np.abs(finite).sum(axis=axes) + np.abs(first)
            if not bound.size or bound.max() * 2.0 ** g < 2.0 ** BITS[elem]:
                with np.errstate(all="ignore"):
                    out = x.sum(axis=axes) + start
                minus = (np.signbit(x).all(axis=axes) & np.signbit(start))
                out = np.where(out == 0, np.where(minus, -0.0, 0.0), out)
                return R(round_to(elem, out))
    lo, hi = wide(terms)
    (sl, sh) = wide(init)
    size = np.maximum(np.abs(lo), np.abs(hi)).sum(axis=axes)
    size = size + np.maximum(np.abs(sl), np.abs(sh))
    if not np.all(np.isfinite(size)):
        raise Reject
    extra = size * (count + 1) * 2.0 ** (1 - BITS[elem])
    return widen(elem, lo.sum(axis=axes) + sl - extra,
                 hi.sum(axis=axes) + sh + extra)


def _multiply_up(elem, terms, init, axes):
    if not (terms.exact and init.exact):
        raise Reject
    x = terms.lo.astype(np.float64)
    every = np.concatenate([x.ravel(), init.lo.astype(np.float64).ravel()])
    if not np.all(np.isfinite(every)):
        raise Reject
    with np.errstate(all="ignore"):
        out = x.prod(axis=axes) * init.lo.astype(np.float64)
        spread = np.abs(np.log2(np.where(x == 0, 1, np.abs(x)))).sum(axis=axes)
    if spread.size and spread.max() > (10 if elem in ("f16", "bf16") else 90):
        raise Reject
    if np.all(np.frexp(every)[0] % 0.5 == 0) and not terms.rounded:
        return R(round_to(elem, out))
    if np.any(every == 0):
        raise Reject
    count = math.prod(terms.shape[d] for d in axes)
    return widen(elem, out, out, count + 1)


def reduce_values(elem, name, terms, init, axes):
    """Folds `terms` over `axes` into `init`, in an order that is open."""
    axes = tuple(axes)
    if name == "addf":
        return _add_up(elem, terms, init, axes)
    if name == "mulf":
        return _multiply_up(elem, terms, init, axes)
    if name in ("maximumf", "minimumf"):
        both = maximum if name == "maximumf" else minimum
        return _fold(terms, init, axes, lambda a, b: both(elem, a, b))
    return _fold(terms, init, axes, lambda a, b: integer(elem, name, a, b))


def _fold(terms, init, axes, f):
    keep = [d for d in range(len(terms.shape)) if d not in axes]
    order = [*axes, *keep]
    rows = terms.map(lambda x: x.transpose(order).reshape(
        (math.prod(x.shape[d] for d in axes), *(x.shape[d] for d in keep))))
    out = init
    for k in range(rows.shape[0]):
        out = f(out, rows.map(lambda x: x[k]))
    return out


# -- structured accesses ---------------------------------------------------------


def gather(x, exprs, sizes):
    """x at affine functions of the loops: each ({loop: factor}, constant)."""
    rank = len(sizes)
    index = []
    for coefficients, constant in exprs:
        at = np.full([1] * rank, constant, np.int64)
        for loop, factor in coefficients.items():
            shape = [1] * rank
            shape[loop] = sizes[loop]
            at = at + factor * np.arange(sizes[loop]).reshape(shape)
        index.append(at)
    if not index:
        return x.reshape([1] * rank)
    if x.size == 0:
        shape = np.broadcast_shapes(*(i.shape for i in index))
        if 0 not in shape:
            raise Reject
        return np.zeros(shape, x.dtype)
    return x[tuple(index)]
