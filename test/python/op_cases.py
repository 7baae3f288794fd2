# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small functions, one or a few a kind of op, with inputs by seed.

Each case is compared with eager by test_torch_ops.py. Sizes are odd, rows and
columns distinguishable. `eager` marks cases in which some op must stay with
eager; `bits` compares the sign of zeros too; where `zeros` is given, each
result is zeros of that sign, whatever eager's lanes say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import torch
import torch.nn.functional as F

inf, nan = float("inf"), float("nan")


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable
    inputs: Callable[[], tuple]
    eager: bool = False
    bits: bool = False
    zeros: tuple[float, ...] = ()


CASES: list[Case] = []


def case(name, function, *inputs, **options) -> None:
    """`inputs` are tensors' sizes, or functions that make an input."""

    def make():
        generator = torch.Generator().manual_seed(len(name) * 7919 + 17)
        torch.manual_seed(len(name))
        return tuple(
            torch.randn(i, generator=generator) if isinstance(i, tuple) else i()
            for i in inputs
        )

    CASES.append(Case(name, function, make, **options))


def t(values, dtype=torch.float32):
    return lambda: torch.tensor(values, dtype=dtype)


def ints(high, size, dtype=torch.int64, low=0):
    return lambda: torch.randint(low, high, size, dtype=dtype)


def of(dtype, size):
    return lambda: torch.randn(size).to(dtype)


def positive(size):
    return lambda: torch.rand(size) + 0.1


# -- elementwise -------------------------------------------------------------

for _name in (
    "abs ceil floor trunc neg sign sgn exp exp2 expm1 sin cos tan sinh cosh "
    "tanh atan asinh sigmoid relu erf square frac reciprocal "
    "isnan isinf isfinite signbit logical_not positive deg2rad"
).split():
    case(_name, getattr(torch, _name), (9, 33))
for _name in "log log2 log10 log1p sqrt rsqrt".split():
    case(_name, getattr(torch, _name), positive((9, 33)))
for _name in "lgamma digamma erfc".split():
    case(_name, getattr(torch, _name), positive((9, 33)))
case("erfinv", torch.erfinv, lambda: torch.rand(9, 33) * 1.8 - 0.9)
for _name in "asin acos atanh".split():
    case(
        _name, getattr(torch, _name), lambda: torch.rand(9, 33) * 1.8 - 0.9
    )
case("acosh", torch.acosh, lambda: torch.rand(9, 33) + 1.1)
for _name in (
    "silu gelu mish softplus elu selu celu leaky_relu hardtanh hardswish "
    "hardsigmoid logsigmoid softsign tanhshrink relu6 hardshrink softshrink"
).split():
    case("act_" + _name, getattr(F, _name), (7, 19))
case("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), (7, 19))
case("prelu", F.prelu, (2, 3, 5), (3,))
case("glu", F.glu, (4, 6))
for _name in "add sub mul div atan2 maximum minimum".split():
    case(_name, getattr(torch, _name), (5, 17), (17,))
for _name in "eq ne lt le gt ge".split():
    case(_name, getattr(torch, _name), (5, 17), (5, 1))
for _name in "fmod remainder".split():
    case(_name, getattr(torch, _name), (5, 17), (5, 17))
case("pow_tensor", torch.pow, positive((5, 17)), (17,))
for _e in (2, 3, 0.5, -1, -0.5, 2.5):
    case(f"pow_{_e}", lambda x, e=_e: x**e, positive((5, 17)))
case("pow_scalar_base", lambda x: 2.0**x, (5, 17))
case("pow_int", lambda x: x**3, ints(9, (4, 5)))
case("add_alpha", lambda a, b: torch.add(a, b, alpha=3), (5, 6), (6,))
case("rsub", lambda a: 3 - a, (5, 6))
case("hypot", torch.hypot, (5, 17), (17,))
case("copysign", torch.copysign, (5, 6), (5, 6))
case("copysign_zeros", torch.copysign, t([1.5, -2.0, 0.0, -0.0, inf] * 2),
     t([-0.0] * 5 + [0.0] * 5), bits=True)
case("copysign_neg_zero", lambda x: torch.copysign(x, -0.0),
     t([1.5, -2.0, 0.0, -0.0, inf]), bits=True)
case("clamp", lambda x: x.clamp(-0.5, 0.7), (5, 6))
case("clamp_min", lambda x: x.clamp_min(0.1), t([nan, 1.0, -1.0, 0.0, -0.0]))
case("clamp_tensor", lambda x, a, b: torch.clamp(x, a, b), (5, 6), (6,), (6,))
case("lerp", lambda a, b: torch.lerp(a, b, 0.3), (5, 6), (5, 6))
case("addcmul", lambda a, b, c: torch.addcmul(a, b, c, value=0.5),
     (5, 6), (5, 6), (6,))
case("addcdiv", lambda a, b, c: torch.addcdiv(a, b, c, value=0.5),
     (5, 6), (5, 6), positive((6,)))
case("where", lambda c, a, b: torch.where(c > 0, a, b), (5, 6), (6,), (5, 1))
case("where_scalar", lambda c: torch.where(c > 0, 1.0, c), (5, 6))
case("masked_fill", lambda x, m: x.masked_fill(m > 0, -inf), (5, 6), (6,))
case("nan_to_num", torch.nan_to_num, t([nan, inf, -inf, 1.0]))
case("logaddexp", torch.logaddexp, (5, 6), (5, 6))
case("xlogy", torch.xlogy, positive((5, 6)), positive((5, 6)))
case("threshold", lambda x: F.threshold(x, 0.2, -7.0), (5, 6))
case("heaviside", torch.heaviside, t([-1.0, 0.0, 2.0]), t([0.5, 0.5, 0.5]))
case("dropout_eval", lambda x: F.dropout(x, 0.5, False), (5, 6))

# -- edge values by bits -------------------------------------------------------

_EDGES = [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5]
for _name in "abs neg ceil floor trunc round sign sqrt".split():
    case(f"edge_{_name}", getattr(torch, _name), t(_EDGES), bits=True)
for _name in "exp log tanh sigmoid rsqrt reciprocal erf sin".split():
    case(f"edge_{_name}", getattr(torch, _name), t(_EDGES))
def _both(op):
    return lambda *xs: [op(a, b) for a, b in zip(xs[::2], xs[1::2])]


for _dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
    for _name in ("minimum", "maximum"):
        case(
            f"zero_sign_{_name}_{str(_dtype)[6:]}",
            _both(getattr(torch, _name)),
            *[
                t([first, -first] * _n, _dtype)
                for _n in (1, 8, 9, 33)
                for first in (-0.0, 0.0)
            ],
            zeros=(-0.0 if _name == "minimum" else 0.0,),
        )
for _name in ("minimum", "maximum", "fmin", "fmax"):
    case(f"nan_{_name}", getattr(torch, _name),
         t([nan, 1.0, nan, 2.0]), t([1.0, nan, nan, 3.0]), bits=True)
case("minmax_broadcast_nan", lambda a, b: (torch.minimum(a, b),
     torch.maximum(a, b)), t([[1.0], [nan], [20.0]]), t([10.0]), bits=True)

# -- integers and casts -----------------------------------------------------------

_I32 = [0, 1, -1, 2**31 - 1, -(2**31), 7, -7, 100]
_I64 = [0, 1, -1, 2**63 - 1, -(2**63), 7, -7, 100]
for _name in "add sub mul".split():
    case(f"i32_{_name}", getattr(torch, _name), t(_I32, torch.int32),
         t(_I32[::-1], torch.int32))
    case(f"i64_{_name}", getattr(torch, _name), t(_I64, torch.int64),
         t(_I64[::-1], torch.int64))
for _name in "bitwise_and bitwise_or bitwise_xor".split():
    case(f"i32_{_name}", getattr(torch, _name), t(_I32, torch.int32),
         t(_I32[::-1], torch.int32))
    case(f"bool_{_name}", getattr(torch, _name),
         t([True, False, True, False], torch.bool),
         t([True, True, False, False], torch.bool))
case("bitwise_not", torch.bitwise_not, t(_I32, torch.int32))
case("shift_left", lambda a, b: a << b, t(_I32, torch.int32),
     ints(8, (8,), torch.int32))
case("shift_right", lambda a, b: a >> b, t(_I32, torch.int32),
     ints(8, (8,), torch.int32))
for _name in "logical_and logical_or logical_xor".split():
    case(f"int_{_name}", getattr(torch, _name), t(_I32, torch.int32),
         t(_I32[::-1], torch.int32))
_DIV = [7, -7, 8, -8, 0, 2**31 - 1, -(2**31), 3]
for _mode in ("floor", "trunc"):
    for _d in (torch.int32, torch.int64):
        case(f"int_div_{_mode}_{str(_d)[6:]}",
             lambda a, b, m=_mode: torch.div(a, b, rounding_mode=m),
             t(_DIV, _d), t([2, 2, -3, -3, 5, -1, 7, -2], _d))
case("int_true_div", lambda a, b: a / b, t(_DIV, torch.int64),
     t([2, 2, -3, -3, 5, -1, 7, -2], torch.int64))
case("int_remainder", torch.remainder, t([-7, 7, -7, 7, 0], torch.int64),
     t([3, -3, -3, 3, 5], torch.int64))
case("int_fmod", torch.fmod, t([-7, 7, -7, 7, 0], torch.int64),
     t([3, -3, -3, 3, 5], torch.int64))
case("int_min_floordiv_minus_one", lambda a, b: a // b,
     lambda: torch.full((16,), -(2**31), dtype=torch.int32),
     lambda: torch.full((16,), -1, dtype=torch.int32))
case("i64_min_floordiv_minus_one", lambda a, b: a // b,
     lambda: torch.full((16,), -(2**63), dtype=torch.int64),
     lambda: torch.full((16,), -1, dtype=torch.int64))
case("floordiv_f32", lambda a, b: a // b, t([1.0, 0.5, 6.0, -1.0, 7.0, inf]),
     t([0.1, 0.1, 0.2, 0.3, -2.0, 2.0]))
case("floordiv_f64", lambda a, b: a // b,
     t([1.0, 0.5, 6.0, -1.0, 7.0], torch.float64),
     t([0.1, 0.1, 0.2, 0.3, -2.0], torch.float64))
case("remainder_float", torch.remainder, t([5.5, -5.5, 7.0, inf, 1.0]),
     t([-2.0, 2.0, -7.0, 2.0, 0.0]))
case("fmod_float", torch.fmod, t([5.5, -5.5, 7.0]), t([-2.0, 2.0, -7.0]))
case("u8_wrap_then_widen", lambda a: (a + a).to(torch.int16),
     t([200, 3], torch.uint8))
case("u8_to_float", lambda a: a.to(torch.float32) * 2,
     t([200, 3, 255, 0], torch.uint8))
case("u8_compare", lambda a, b: a > b, t([200, 3, 255, 0], torch.uint8),
     t([100, 200, 1, 0], torch.uint8))
case("u8_div", lambda a, b: torch.div(a, b, rounding_mode="floor"),
     t([200, 3, 255, 0], torch.uint8), t([3, 2, 16, 5], torch.uint8))
case("u8_max_sum", lambda a: (a.amax(), a.sum(), a.to(torch.int32)),
     t([200, 3, 255, 0], torch.uint8))
case("cast_chain_f16", lambda x: (x.t().half().float(),
     x.t().half().float().sum(1)),
     t([[0.3, 1 / 3, 70000.0], [1e-8, -2.5, 1.0]]))
case("cast_bf16", lambda x: x.bfloat16().float(), (5, 7))
case("cast_f64", lambda x: x.double() * 3, (5, 7))
case("cast_int", lambda x: (x * 10).to(torch.int32), (5, 7))
case("cast_bool", lambda x: x.to(torch.bool), t([0.0, -0.0, 1.0, nan]))
case("int_to_float", lambda x: x.float() / 3, ints(1000, (5, 7)))
case("bool_arith", lambda a, b: (a + b, a * b, a & b, ~a),
     t([True, False, True], torch.bool), t([True, True, False], torch.bool))
case("bool_minmax", lambda a, b: (torch.minimum(a, b), torch.maximum(a, b)),
     t([True, False, True], torch.bool), t([True, True, False], torch.bool))
case("int_minus_scalar", lambda a: a - 3, ints(100, (7,)))
case("mixed_where", lambda c, a, b: torch.where(c, a, b),
     t([True, False, True], torch.bool), t([True, True, False], torch.bool),
     t([5, 6, 7], torch.int64))
case("mixed_dtypes", lambda a, b: a * b + 1, ints(10, (4, 5), torch.int32),
     (5,))
case("int_dot_sums", lambda x, y, z, p, q, r: (x @ y + x @ z + p @ q
     + p @ r).sum(1),
     *[t([[_I32[i], _I32[i + 1]], [_I32[i + 2], _I32[(i + 3) % 8]]],
         torch.int32) for i in range(6)])
for _d in (torch.float16, torch.bfloat16, torch.float64):
    _n = str(_d)[6:]
    case(f"{_n}_chain", lambda x, y: (x + y) * x - torch.exp(y),
         of(_d, (5, 33)), of(_d, (33,)))
    case(f"{_n}_matmul", torch.matmul, of(_d, (9, 33)), of(_d, (33, 5)))
    case(f"{_n}_softmax", lambda x: torch.softmax(x, -1), of(_d, (5, 33)))
    case(f"{_n}_layer_norm", lambda x: F.layer_norm(x, (33,)),
         of(_d, (5, 33)))
    case(f"{_n}_sum", lambda x: (x.sum(), x.sum(0), x.mean(1)),
         of(_d, (50, 33)))
    case(f"{_n}_conv", lambda x, w: F.conv2d(x, w), of(_d, (1, 3, 8, 8)),
         of(_d, (4, 3, 3, 3)))
case("bf16_max_count", lambda x: ((x / 5**0.5).max(-1, keepdim=True)[0]
     == x / 5**0.5).sum(-1), of(torch.bfloat16, (6, 40)))

# -- reductions -----------------------------------------------------------------------

for _name in "sum mean prod amax amin".split():
    _f = getattr(torch, _name)
    case(f"{_name}_dim0", lambda x, f=_f: f(x, 0), (7, 33))
    case(f"{_name}_last", lambda x, f=_f: f(x, -1, keepdim=True), (7, 33))
    case(f"{_name}_all", lambda x, f=_f: f(x), (7, 9))
case("sum_dims", lambda x: x.sum((0, 2)), (3, 5, 7))
case("mean_dims", lambda x: x.mean((1, 2), keepdim=True), (3, 5, 7))
case("of_a_number", lambda x: (x.mean(0), x.mean(-1), x.mean([0], True), x.sum(0),
     x.var(0, correction=0), torch.var_mean(x, -1, correction=0)[1],
     x.logsumexp(0)), ())
case("var", lambda x: (x.var(), x.var(1), x.var(0, unbiased=False)), (7, 33))
case("std", lambda x: (x.std(), x.std(1), x.std(0, unbiased=False)), (7, 33))
case("var_mean", lambda x: torch.var_mean(x, 1), (7, 33))
case("norm2", lambda x: (x.norm(), x.norm(dim=1)), (7, 33))
case("norm1", lambda x: torch.linalg.vector_norm(x, 1, dim=1), (7, 33))
case("norm_inf", lambda x: torch.linalg.vector_norm(x, inf, dim=1), (7, 33))
case("logsumexp", lambda x: torch.logsumexp(x, 1), (7, 33))
case("any_all", lambda x: ((x > 2).any(), (x > -9).all(1), (x > 1).any(0)),
     (7, 33))
case("count_nonzero", lambda x: torch.count_nonzero(x > 0, 1), (7, 33))
case("sum_bool", lambda x: ((x > 0).sum(), (x > 0).sum(1)), (7, 33))
case("sum_int", lambda x: (x.sum(), x.prod(1)), ints(5, (4, 5)))
case("max_dim", lambda x: torch.max(x, 1), (7, 33))
case("min_dim", lambda x: torch.min(x, 0), (7, 33))
case("argmax", lambda x: (x.argmax(), x.argmax(1), x.argmin(0)), (7, 33))
_NANS = [
    [nan, 4.6], [1.0, nan, 9.0], [nan] * 17, [1.0, 2.0, nan],
    [4.0, 2.0, nan, 6.0, 1.0, 3.0],
]
for _i, _v in enumerate(_NANS):
    case(f"arg_nan_{_i}", lambda x: (x.argmax(), x.argmin(), x.argmax(0),
         torch.max(x, 0), torch.min(x, 0)), t(_v))
def _with_nan(n, at):
    def make():
        x = torch.full((2, n), nan) if at is None else torch.rand(2, n)
        if at is not None:
            x[:, at] = nan
        return x

    return make


for _at in (0, -1, None):
    case(
        f"arg_nan_lengths_{_at}",
        lambda *xs: [(x.argmax(1), x.argmin(1)) for x in xs],
        *[_with_nan(n, _at) for n in (3, 5, 7, 8, 10, 16, 17, 100)],
    )
def _search_rows():
    x = torch.randint(-4, 5, (9, 131)).float()
    x[1], x[2], x[3] = -inf, inf, nan
    x[4, ::7] = nan
    x[5] = torch.where(x[5] > 0, 0.0, -0.0)
    x[6, 60:] = -inf
    x[7, -1] = inf
    x[8] = torch.randn(131)
    return x


case("search", lambda x: (x.argmax(1), x.argmin(1), *x.max(1), *x.min(1),
     x.argmax(0), *x.min(0)), _search_rows)
case("search_strided", lambda x: (x[:, ::2].argmax(1), *x.t().max(0)),
     _search_rows)
case("search_bytes", lambda x: (*x.max(1), *x.min(1), x.argmax()),
     lambda: torch.randint(-128, 128, (7, 301), dtype=torch.int8))
case("search_parts", lambda x: (x.argmax(), x.argmin()),
     lambda: torch.randint(0, 50, (300001,)).float())
case("argmax_ties", lambda x: (x.argmax(1), x.argmin(1)), ints(3, (5, 20)))
case("argmax_bool", lambda x: (x > 0).int().argmax(1), (5, 6))
case("sum_tenths", lambda x: x.sum(), lambda: torch.full((10**6,), 0.1))
case("amax_nan", lambda x: (x.amax(1), x.amin(1)),
     t([[1.0, nan, 2.0], [nan, nan, nan], [1.0, 2.0, 3.0]]))

# -- scans, order -------------------------------------------------------------------------

case("cumsum", lambda x: (x.cumsum(0), x.cumsum(1)), (7, 33))
case("cumsum_int", lambda x: x.cumsum(1), ints(100, (4, 5)))
case("cumsum_bool", lambda x: (x > 0).cumsum(0), (9,))
case("cumsum_0d", lambda x, i, b: (x.cumsum(0), i.cumsum(-1), b.cumsum(0)),
     t(2.5), t(3, torch.int32), t(True, torch.bool))
case("cumprod", lambda x: x.cumprod(1), (4, 9))
case("cumsum_square_grad", lambda x: torch.func.grad(
     lambda y: y.cumsum(1).square().sum())(x), (5, 6))
case("sort", lambda x: torch.sort(x, 1), (5, 9))
case("topk", lambda x: torch.topk(x, 3), (5, 9))
case("flip", lambda x: x.flip(0, 2), (3, 4, 5))
case("roll", lambda x: (x.roll(2, 0), x.roll((1, -2), (0, 1))), (5, 7))
case("roll_past_the_end", lambda x: (x.roll(16, 1), x.roll((-11, 6), (0, 1)),
     x.roll(36)), (5, 7))
case("roll_into_row", lambda x: torch.cat([x[:1].roll(5, 1), x[1:]]),
     (2, 100))
case("tril_triu", lambda x: (x.tril(), x.triu(1)), (5, 7))
case("diagonal", lambda x: (x.diagonal(), torch.diag_embed(x[0])), (5, 5))
case("searchsorted", lambda a, v: torch.searchsorted(a, v),
     lambda: torch.arange(10.0), (5,))

# -- shapes -----------------------------------------------------------------------------------

case("transpose", lambda x: x.t() + 1, (5, 7))
case("permute", lambda x: x.permute(2, 0, 1) * 2, (3, 4, 5))
case("permute_out", lambda x: (x * 2).permute(2, 0, 1), (3, 4, 5))
case("reshape", lambda x: x.reshape(6, -1) + 1, (3, 4, 5))
case("flatten_unflatten", lambda x: x.flatten(1).unflatten(1, (2, 10)) + 1,
     (3, 4, 5))
case("squeeze", lambda x: x.squeeze() + x.unsqueeze(0)[0, 0], (1, 5, 1, 7))
case("edge_relu", torch.relu, t(_EDGES))
case("expand", lambda x: x.expand(4, 5, 7) * 2, (5, 7))
case("repeat", lambda x: x.repeat(2, 3), (3, 4))
case("repeat_interleave", lambda x: x.repeat_interleave(3, 1), (3, 4))
case("cat", lambda a, b: torch.cat([a, b, a], 1), (3, 4), (3, 5))
case("cat_empty", lambda a, b: torch.cat([a, b], 0), (3, 4), (0, 4))
case("stack", lambda a, b: torch.stack([a, b], 1), (3, 4), (3, 4))
case("split", lambda x: [y + 1 for y in x.split([2, 3], 1)], (4, 5))
case("chunk", lambda x: [y * 2 for y in x.chunk(4)], (11,))
case("unbind", lambda x: [y * 2 for y in x.unbind(1)], (4, 3))
case("slice", lambda x: x[1:, ::2] + x[:-1, 1::2], (5, 8))
case("slice_negative", lambda x: x[-3:-1] * 2, (5, 8))
case("select", lambda x: x[2] + x[:, 3].sum(), (5, 8))
case("slice_assign", lambda x, y: torch.slice_scatter(x, y, 1, 2, 6, 2),
     (5, 8), (5, 2))
case("pad", lambda x: F.pad(x, (1, 2, 0, 3), value=0.5), (4, 5))
case("pad_negative", lambda x: F.pad(x, (-1, 2)), (4, 5))
case("pad_reflect", lambda x: F.pad(x, (2, 1), mode="reflect"), (2, 3, 7))
case("pad_replicate", lambda x: F.pad(x, (2, 1), mode="replicate"), (2, 3, 7))
case("pad_circular", lambda x: F.pad(x, (2, 1), mode="circular"), (2, 3, 7))
case("pad_reflect_image", lambda x: F.pad(x, (2, 1, 0, 3), mode="reflect"),
     (2, 3, 5, 7))
case("pad_reflect_crop", lambda x: F.pad(x, (2, -3, -1, 4), mode="reflect"),
     (2, 3, 5, 7))
case("pad_reflect_volume",
     lambda x: F.pad(x, (1, 2, 3, 0, 1, 1), mode="reflect"), (2, 3, 4, 5))
case("pad_replicate_image",
     lambda x: F.pad(x, (9, 1, 0, 3), mode="replicate"), (2, 3, 5, 7))
case("pad_replicate_crop",
     lambda x: F.pad(x, (-2, 3, 1, -1), mode="replicate"), (2, 3, 5, 7))
case("meshgrid", lambda a, b: torch.meshgrid(a, b, indexing="ij")[0] + 1,
     (4,), (5,))
case("arange", lambda x: x + torch.arange(7), (5, 7))
case("linspace", lambda x: x + torch.linspace(0, 1, 7), (5, 7))
case("full_ones", lambda x: x + torch.ones(7) + torch.full((5, 1), 2.0),
     (5, 7))
case("eye", lambda x: x + torch.eye(5), (5, 5))
case("one_hot", lambda i: F.one_hot(i, 6), ints(6, (4,)), eager=True)
case("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), (2, 8, 3, 3))
case("unfold", lambda x: x.unfold(1, 3, 2) + 1, (4, 9))
case("unfold_image", lambda x: F.unfold(x, (3, 2)), (2, 3, 7, 9))
case("unfold_image_strided", lambda x: F.unfold(x, 3, 2, 1, (2, 1)),
     (2, 3, 9, 11))
case("tensor_constant", lambda x: x + torch.tensor([1.0, 2.0, 3.0]), (4, 3))
case("as_strided", lambda x: torch.as_strided(x, (3, 3), (2, 1)) + 1, (20,))
case("broadcast_chain", lambda a, b, c: a * b + c, (5, 1, 7), (3, 1), (7,))
case("size_zero", lambda x: (x + 1, x.sum(0), x.sum(1)), (0, 5))
case("zero_k_matmul", torch.matmul, (4, 0), (0, 5))
case("zero_d", lambda x, y: x * y + 1, t(2.0), t(3.0))
case("size_one", lambda x: torch.softmax(x, 0) + x.mean(), (1,))

# -- gather, scatter ------------------------------------------------------------------------------

case("embedding", lambda i, w: F.embedding(i, w), ints(9, (3, 4)), (9, 6))
case("embedding_i32", lambda i, w: F.embedding(i, w),
     ints(9, (3, 4), torch.int32), (9, 6))
case("embedding_padding", lambda i, w: F.embedding(i, w, padding_idx=0),
     ints(9, (3, 4)), (9, 6))
case("gather", lambda x, i: torch.gather(x, 1, i), (5, 7), ints(7, (5, 3)))
case("gather_dim0", lambda x, i: torch.gather(x, 0, i), (5, 7),
     ints(5, (2, 4)))
case("index_select", lambda x, i: torch.index_select(x, 1, i), (5, 7),
     ints(7, (4,)))
case("index", lambda x, i: x[i], (5, 7), ints(5, (4,)))
case("index_negative", lambda x, i: x[i], (5, 7), ints(5, (4,), low=-5))
case("index_two", lambda x, i, j: x[i, j], (5, 7), ints(5, (4,)),
     ints(7, (4,)))
case("index_middle", lambda x, i: x[:, i], (3, 5, 7), ints(5, (2, 4)))
case("index_mask", lambda x: x[x > 0], (5, 7))
case("take_along_dim", lambda x, i: torch.take_along_dim(x, i, 1), (5, 7),
     ints(7, (5, 2)))
case("scatter", lambda x, i, s: x.scatter(1, i, s), (5, 7),
     lambda: torch.stack([torch.randperm(7)[:3] for _ in range(5)]), (5, 3))
case("scatter_value", lambda x, i: x.scatter(1, i, 2.0), (5, 7),
     ints(7, (5, 3)))
case("scatter_add", lambda x, i, s: x.scatter_add(0, i, s), (5, 7),
     ints(5, (3, 7)), (3, 7))
case("index_add", lambda x, i, s: x.index_add(0, i, s), (5, 7),
     ints(5, (4,)), (4, 7))
case("index_put", lambda x, i, v: x.index_put((i,), v), (5, 7),
     t([4, 1, 2], torch.int64), (3, 7))
case("index_put_negative", lambda x, i, v: x.index_put((i,), v), (5, 7),
     t([-1, 1, -3], torch.int64), (3, 7))
case("index_put_accumulate", lambda x, i, v: x.index_put((i,), v,
     accumulate=True), (5, 7), ints(5, (6,)), (6, 7))
case("nll_loss", lambda x, i: F.nll_loss(F.log_softmax(x, 1), i), (5, 7),
     ints(7, (5,)))
case("cross_entropy", F.cross_entropy, (5, 7), ints(7, (5,)))
case("cross_entropy_ignore", lambda x, i: F.cross_entropy(x, i,
     ignore_index=2, label_smoothing=0.1), (5, 7), t([0, 2, 3, 2, 6],
     torch.int64))
case("bincount", lambda x: torch.bincount(x), ints(5, (9,)))

# -- products ----------------------------------------------------------------------------------------

case("mm", torch.mm, (9, 17), (17, 5))
case("mm_transposed", lambda a, b: a.t() @ b.t(), (17, 9), (5, 17))
case("mv", torch.mv, (9, 17), (17,))
case("dot", torch.dot, (17,), (17,))
case("outer", torch.outer, (9,), (5,))
case("bmm", torch.bmm, (3, 9, 17), (3, 17, 5))
case("matmul_broadcast", torch.matmul, (2, 1, 9, 17), (3, 17, 5))
case("linear", F.linear, (4, 3, 17), (5, 17), (5,))
case("addmm", lambda a, b, c: torch.addmm(a, b, c, beta=0.5, alpha=2.0),
     (5,), (9, 17), (17, 5))
case("addmm_beta0", lambda a, b, c: torch.addmm(a, b, c, beta=0),
     t([nan] * 5), (9, 17), (17, 5))
case("baddbmm", torch.baddbmm, (3, 9, 5), (3, 9, 17), (3, 17, 5))
case("einsum", lambda a, b: torch.einsum("bij,bkj->bik", a, b), (3, 4, 5),
     (3, 6, 5))
case("einsum_outer", lambda a, b: torch.einsum("i,jk->ikj", a, b), (3,),
     (4, 5))
case("tensordot", lambda a, b: torch.tensordot(a, b, ([1, 2], [0, 1])),
     (3, 4, 5), (4, 5, 6))
case("int_matmul", torch.matmul, ints(9, (4, 5)), ints(9, (5, 6)))
case("kron", torch.kron, (2, 3), (4, 2))
case("cdist", lambda a, b: torch.cdist(a, b), (5, 7), (4, 7))
case("bilinear", F.bilinear, (4, 5), (4, 6), (3, 5, 6))
case("matmul_epilogue_swap", lambda a, b: (a @ b).view(2, 3, 4, 5).transpose(
     1, 2) * 2, (24, 7), (7, 5))

# -- convolutions -----------------------------------------------------------------------------------------

case("conv1d", F.conv1d, (2, 3, 17), (5, 3, 3), (5,))
case("conv1d_stride_dilation", lambda x, w: F.conv1d(x, w, stride=2,
     dilation=2, padding=3), (2, 3, 17), (5, 3, 3))
case("conv2d", F.conv2d, (2, 3, 11, 13), (5, 3, 3, 3), (5,))
case("conv2d_pad_stride", lambda x, w, b: F.conv2d(x, w, b, 2, 1),
     (2, 3, 11, 13), (5, 3, 3, 3), (5,))
case("conv2d_dilated", lambda x, w: F.conv2d(x, w, dilation=(2, 3)),
     (2, 3, 11, 13), (5, 3, 3, 3))
case("conv2d_1x1", F.conv2d, (2, 3, 11, 13), (5, 3, 1, 1))
case("conv2d_grouped", lambda x, w: F.conv2d(x, w, groups=2),
     (2, 4, 11, 13), (6, 2, 3, 3))
case("conv2d_depthwise", lambda x, w: F.conv2d(x, w, padding=1, groups=4),
     (2, 4, 11, 13), (4, 1, 3, 3))
case("conv2d_depthwise_multiplier", lambda x, w: F.conv2d(x, w, groups=4),
     (2, 4, 11, 13), (8, 1, 3, 3))
case("conv2d_same", lambda x, w: F.conv2d(x, w, padding="same"),
     (2, 3, 11, 13), (5, 3, 4, 3))
case("conv2d_channels_last", F.conv2d, lambda: torch.randn(
     2, 3, 11, 13).to(memory_format=torch.channels_last), (5, 3, 3, 3))
case("conv2d_unbatched", F.conv2d, (3, 11, 13), (5, 3, 3, 3))
case("conv3d", F.conv3d, (1, 2, 5, 6, 7), (3, 2, 3, 3, 3), (3,))
case("conv_transpose1d", lambda x, w: F.conv_transpose1d(x, w, stride=2,
     padding=1), (2, 3, 9), (3, 4, 3))
case("conv_transpose2d", lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 1),
     (2, 3, 5, 7), (3, 4, 3, 3), (4,))
case("conv_transpose2d_grouped", lambda x, w: F.conv_transpose2d(x, w,
     stride=2, groups=2), (2, 4, 5, 7), (4, 3, 3, 3))
case("conv_transpose2d_dilated", lambda x, w: F.conv_transpose2d(x, w,
     dilation=2), (2, 3, 5, 7), (3, 4, 3, 3))
case("conv_transpose3d_strides", lambda x, w: F.conv_transpose3d(x, w, None,
     (3, 1, 2), (1, 0, 2), (2, 0, 1)), (2, 2, 3, 4, 5), (2, 3, 2, 3, 4))
case("conv_transpose2d_gaps", lambda x, w, b: F.conv_transpose2d(x, w, b, 3),
     (2, 3, 4, 5), (3, 2, 2, 1), (2,))
case("conv_transpose1d_one_weight", lambda x, w: F.conv_transpose1d(x, w,
     stride=2, dilation=2, groups=3), (3, 3, 4), (3, 1, 1))
case("conv_bn_relu", lambda x, w, g, b, m, v: F.relu(F.batch_norm(
     F.conv2d(x, w, padding=1), m, v, g, b)), (2, 3, 9, 9), (5, 3, 3, 3),
     (5,), (5,), (5,), positive((5,)))

# -- contractions large enough to be blocked --------------------------------------

case("blocked_linear_gelu", lambda x, w, b: F.gelu(F.linear(x, w, b)),
     (2, 17, 65), (47, 65), (47,))
case("blocked_residual", lambda x, w, r: x @ w + r * 0.5, (65, 33), (33, 127),
     (65, 127))
case("blocked_attention_scores", lambda q, k: torch.softmax(
    torch.einsum("bqhd,bkhd->bhqk", q, k) * 0.125, -1),
     (1, 33, 2, 31), (1, 47, 2, 31))
case("blocked_conv_bn_relu", lambda x, w, g, b, m, v: F.relu(F.batch_norm(
    F.conv2d(x, w, padding=1), m, v, g, b)), (1, 17, 15, 15), (33, 17, 3, 3),
     (33,), (33,), (33,), positive((33,)))
case("blocked_conv_channels_last", lambda x, w: F.conv2d(x, w, stride=2,
     padding=1), lambda: torch.randn(2, 16, 17, 17).contiguous(
         memory_format=torch.channels_last), (31, 16, 3, 3))
case("blocked_conv_transposed", lambda x, w: F.conv_transpose2d(
    x, w, stride=2, padding=1), (1, 16, 9, 9), (16, 17, 4, 4))
case("blocked_conv_grouped", lambda x, w: F.silu(F.conv2d(
    x, w, padding=1, groups=2)), (1, 34, 14, 14), (32, 17, 3, 3))
case("blocked_windows", lambda a, b: (a @ b).view(2, 4, 3, 4, 64).transpose(
    2, 3).contiguous(), (96, 33), (33, 64))

# -- pools and resampling ---------------------------------------------------------------------------------------

case("max_pool1d", lambda x: F.max_pool1d(x, 3, 2, 1), (2, 3, 17))
case("max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), (2, 3, 11, 13))
case("max_pool2d_dilated", lambda x: F.max_pool2d(x, 2, 1, 0, 2),
     (2, 3, 11, 13))
case("max_pool2d_ceil", lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True),
     (2, 3, 12, 13))
case("max_pool2d_unbatched", lambda x: F.max_pool2d(x, 2), (3, 8, 9))
case("max_pool2d_indices", lambda x: F.max_pool2d(x, 3, 2, 1,
     return_indices=True), (2, 3, 11, 13))
case("max_pool3d", lambda x: F.max_pool3d(x, 2), (1, 2, 6, 6, 6))
case("max_pool2d_nan", lambda x: F.max_pool2d(x, 2), lambda: torch.tensor(
     [[[[1.0, nan, 3.0, 4.0], [2.0, 1.0, 0.0, -inf]]]]))
case("avg_pool1d", lambda x: F.avg_pool1d(x, 3, 2, 1), (2, 3, 17))
case("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1), (2, 3, 11, 13))
case("avg_pool3d", lambda x: F.avg_pool3d(x, 2), (1, 2, 6, 6, 6))
case("avg_pool2d_divisor", lambda x: F.avg_pool2d(x, 2, divisor_override=3),
     (2, 3, 6, 6))
for _i, (_h, _k, _s, _p) in enumerate(
    [(8, 3, 2, 1), (11, 2, 2, 0), (33, 3, 3, 1)]
):
    for _c in (True, False):
        case(f"avg_pool2d_ceil_{_i}_{_c}",
             lambda x, k=_k, s=_s, p=_p, c=_c: F.avg_pool2d(x, k, s, p, True,
             c), (1, 2, _h, _h))
case("avg_pool1d_ceil", lambda x: F.avg_pool1d(x, 3, 3, 0, True, True),
     (1, 2, 5))
case("adaptive_avg_pool2d", lambda x: (F.adaptive_avg_pool2d(x, 1),
     F.adaptive_avg_pool2d(x, (3, 2))), (2, 3, 9, 8))
case("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, 2),
     (2, 3, 8, 8))
case("adaptive_avg_pool1d", lambda x: F.adaptive_avg_pool1d(x, 4), (2, 3, 9))
case("interpolate_nearest", lambda x: F.interpolate(x, scale_factor=2),
     (2, 3, 5, 7))
case("interpolate_bilinear", lambda x: F.interpolate(x, size=(9, 11),
     mode="bilinear"), (2, 3, 5, 7))
case("interpolate_bilinear_corners", lambda x: F.interpolate(x, size=(9, 11),
     mode="bilinear", align_corners=True), (2, 3, 5, 7))
case("interpolate_bicubic", lambda x: F.interpolate(x, size=(9, 11),
     mode="bicubic"), (1, 2, 5, 7))
case("grid_sample", lambda x, g: F.grid_sample(x, g.tanh(),
     align_corners=False), (1, 2, 5, 6), (1, 3, 4, 2))

# -- norms, attention, losses -------------------------------------------------------------------------------------

case("softmax", lambda x: (torch.softmax(x, -1), torch.softmax(x, 0)),
     (7, 33))
case("softmax_inf", lambda x: torch.softmax(x, -1),
     t([[-inf, -inf, -inf], [1.0, -inf, 2.0], [inf, 1.0, 2.0],
        [nan, 1.0, 2.0]]), bits=False)
case("log_softmax", lambda x: torch.log_softmax(x, -1), (7, 33))
case("layer_norm", F.layer_norm, (4, 5, 33), lambda: (33,), (33,), (33,))
case("layer_norm_plain", lambda x: F.layer_norm(x, (5, 33)), (4, 5, 33))
case("rms_norm", lambda x, w: F.rms_norm(x, (33,), w), (4, 5, 33), (33,))
case("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), (2, 4, 5, 5),
     (4,), (4,))
case("instance_norm", lambda x: F.instance_norm(x), (2, 4, 5, 5))
case("batch_norm_eval", lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b),
     (2, 4, 5, 5), (4,), positive((4,)), (4,), (4,))
case("batch_norm_blocks", lambda x: F.batch_norm(x, None, None, training=True),
     (8, 16, 56, 57))
case("batch_norm_train", lambda x, m, v: F.batch_norm(x, m.clone(),
     v.clone(), training=True), (3, 4, 5, 5), (4,), positive((4,)))
case("normalize", lambda x: F.normalize(x, dim=1), (4, 9))
case("cosine_similarity", lambda a, b: F.cosine_similarity(a, b), (4, 9),
     (4, 9))
case("attention_plain", lambda q, k, v: torch.softmax(
     q @ k.transpose(-1, -2) / 8**0.5, -1) @ v, (2, 3, 9, 8), (2, 3, 11, 8),
     (2, 3, 11, 8))
case("sdpa", F.scaled_dot_product_attention, (2, 3, 9, 8), (2, 3, 11, 8),
     (2, 3, 11, 8))
case("sdpa_causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v,
     is_causal=True), (2, 3, 9, 8), (2, 3, 9, 8), (2, 3, 9, 8))
case("sdpa_mask", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v,
     m), (2, 3, 9, 8), (2, 3, 11, 8), (2, 3, 11, 8), (9, 11))
case("sdpa_bool_mask", lambda q, k, v, m: F.scaled_dot_product_attention(
     q, k, v, m > 0), (2, 3, 9, 8), (2, 3, 11, 8), (2, 3, 11, 8), (9, 11))
case("sdpa_masked_row", lambda q, k, v, m: F.scaled_dot_product_attention(
     q, k, v, m), (1, 1, 4, 2), (1, 1, 4, 2), (1, 1, 4, 2),
     lambda: torch.tensor([[1, 1, 0, 1], [0, 0, 0, 0], [1, 0, 1, 0],
                           [1, 1, 1, 1]], dtype=torch.bool))
case("plain_masked_row", lambda q, k, v, m: torch.softmax((
     q @ k.transpose(-1, -2)).masked_fill(~m, -inf), -1) @ v, (1, 1, 4, 2),
     (1, 1, 4, 2), (1, 1, 4, 2),
     lambda: torch.tensor([[1, 1, 0, 1], [0, 0, 0, 0], [1, 0, 1, 0],
                           [1, 1, 1, 1]], dtype=torch.bool))
case("sdpa_gqa", lambda q, k, v: F.scaled_dot_product_attention(q, k, v,
     enable_gqa=True), (2, 4, 9, 8), (2, 2, 11, 8), (2, 2, 11, 8))
case("mse", F.mse_loss, (4, 9), (4, 9))
case("l1", F.l1_loss, (4, 9), (4, 9))
case("smooth_l1", F.smooth_l1_loss, (4, 9), (4, 9))
case("huber", F.huber_loss, (4, 9), (4, 9))
case("bce_logits", F.binary_cross_entropy_with_logits, (4, 9),
     lambda: torch.rand(4, 9))
case("kl_div", lambda a, b: F.kl_div(a.log_softmax(1), b.softmax(1),
     reduction="batchmean"), (4, 9), (4, 9))
case("middle_value_returned", lambda x: (lambda d: (d * torch.rsqrt(
     (d * d).mean(-1, keepdim=True) + 1e-5), d))(x - x.mean(-1,
     keepdim=True)), (4, 9))
case("rope", lambda x, c, s: x * c + torch.cat([-x[..., 4:], x[..., :4]],
     -1) * s, (2, 3, 5, 8), (5, 8), (5, 8))
case("complex_mul", lambda x, y: torch.view_as_real(torch.view_as_complex(x)
     * torch.view_as_complex(y)), (4, 2), (4, 2), eager=True)
case("random", lambda x: x + torch.zeros_like(x).bernoulli(0.0), (4, 5),
     eager=True)
