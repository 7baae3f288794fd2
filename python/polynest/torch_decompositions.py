# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decompositions of ATen ops into plain ones, for the torch frontend.

The table is PyTorch's core set plus what torch-mlir needs, with replacements
where those lose speed (a softmax that also computes the index of the maximum),
lose accuracy (sums carried in bf16), or are wrong (argmax with NaN). Each
replacement keeps eager's result, within the reassociations that
docs/architecture.md, Numerics, allows. A function that returns NotImplemented
leaves its op alone.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import threading
from typing import Callable, Iterator

import torch
from torch import _prims_common
from torch._decomp import decomposition_table as _PYTORCHS

aten = torch.ops.aten
prims = torch.ops.prims

_LOW_PRECISION = (torch.float16, torch.bfloat16)
_TABLE: dict = {}


def _replaces(*ops) -> Callable:
    def add(function):
        for op in ops:
            _TABLE[op] = function
        return function

    return add


def _is_low(x) -> bool:
    return isinstance(x, torch.Tensor) and x.dtype in _LOW_PRECISION


def _wide(x):
    """Low precision in f32, in which eager computes it."""
    return x.to(torch.float32) if _is_low(x) else x


def _dims(x, dim) -> list[int]:
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return list(range(x.dim()))
    if isinstance(dim, int):
        dim = [dim]
    # A tensor without dimensions may be asked for its first and last.
    return [d % x.dim() for d in dim] if x.dim() else []


def _in_f32(function: Callable) -> Callable:
    """Runs a decomposition on low-precision floats in f32, as eager does, and
    rounds once at the end."""

    @functools.wraps(function)
    def wrapped(x, *args, **kwargs):
        if not _is_low(x):
            return function(x, *args, **kwargs)
        up = [_wide(a) for a in args]
        out = function(x.to(torch.float32), *up, **kwargs)
        if out is NotImplemented:
            return out
        if isinstance(out, tuple):
            return tuple(o.to(x.dtype) for o in out)
        return out.to(x.dtype)

    return wrapped


# -- softmax ---------------------------------------------------------------


def _shifted(x, dim):
    if x.numel() == 0:
        return x
    return x - x.amax(dim, keepdim=True)


@_replaces(aten._softmax.default)
def _softmax(x, dim, half_to_float):
    wide = _wide(x)
    if x.dim() == 0:
        out = torch.exp(wide - wide)
    else:
        e = torch.exp(_shifted(wide, dim))
        out = e / e.sum(dim, keepdim=True)
    # Whatever the strides of x, as eager's.
    return (out if half_to_float else out.to(x.dtype)).contiguous()


@_replaces(aten._log_softmax.default)
def _log_softmax(x, dim, half_to_float):
    wide = _wide(x)
    if x.dim() == 0:
        out = wide - wide
    else:
        s = _shifted(wide, dim)
        out = s - torch.log(torch.exp(s).sum(dim, keepdim=True))
    return (out if half_to_float else out.to(x.dtype)).contiguous()


@_replaces(aten._safe_softmax.default)
def _safe_softmax(x, dim, dtype=None):
    # A row with nothing but -inf is a query that may see no key: 0, not NaN.
    out = torch.softmax(x, dim, dtype=dtype)
    if x.dim() == 0 or x.numel() == 0:
        return out
    empty = (x == -math.inf).all(dim, keepdim=True)
    return torch.where(empty, torch.zeros((), dtype=out.dtype, device=x.device), out)


def _scores(query, key, attn_mask, is_causal, scale):
    """Scores of plain attention, and the scale that they have."""
    if scale is None:
        # A size that is not known stays so.
        scale = 1.0 / torch.sym_sqrt(query.size(-1))
    s = torch.matmul(query * scale, key.transpose(-2, -1))
    if is_causal:
        rows, cols = s.size(-2), s.size(-1)
        below = torch.arange(rows).unsqueeze(-1) >= torch.arange(cols)
        s = torch.where(below, s, -math.inf)
    elif attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            s = torch.where(attn_mask, s, -math.inf)
        else:
            s = s + attn_mask.to(s.dtype)
    return s, scale


def _spread_heads(query, *tensors):
    """Keys and values in the precision of the sums, a head for each of query."""
    times = query.size(1) // tensors[0].size(1)
    wide = [_wide(t) for t in tensors]
    return [t if times == 1 else t.repeat_interleave(times, 1) for t in wide]


def _attention(query, key, value, attn_mask, is_causal, scale):
    """Output and log-sum-exp of plain attention, in the inputs' precision
    but with low precisions carried in f32."""
    dtype = query.dtype
    q = _wide(query)
    k, v = _spread_heads(query, key, value)
    s, _ = _scores(q, k, attn_mask, is_causal, scale)
    m = s.amax(-1, keepdim=True)
    # Where a row is masked everywhere m is -inf; shifting by 0 instead gives
    # exp(-inf) = 0 for each of its elements and 0 for the row.
    m = torch.where(m == -math.inf, 0.0, m)
    e = torch.exp(s - m)
    d = e.sum(-1, keepdim=True)
    # The division comes after the product: one for each element of the
    # result instead of one for each score.
    out = torch.matmul(e, v) / torch.where(d == 0.0, 1.0, d)
    lse = (m + torch.log(d)).squeeze(-1)
    return out.to(dtype), lse


def _rows_outside(x):
    """As the fused op lays gradients out: [batch, row, head, feature]."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def _in_order_of(x, other):
    """With its dimensions in memory as torch.empty_like(other) has them."""
    order, _ = _prims_common.compute_elementwise_output_logical_to_physical_perm(
        other
    )
    back = [order.index(d) for d in range(len(order))]
    return x.permute(order).contiguous().permute(back)


@_replaces(aten._scaled_dot_product_flash_attention_for_cpu.default)
def _flash_attention_for_cpu(
    query,
    key,
    value,
    dropout_p=0.0,
    is_causal=False,
    *,
    attn_mask=None,
    scale=None,
):
    if dropout_p != 0.0 or query.numel() == 0 or key.numel() == 0:
        return NotImplemented
    out, lse = _attention(query, key, value, attn_mask, is_causal, scale)
    return _in_order_of(out, query), lse


@_replaces(aten._scaled_dot_product_flash_attention_for_cpu_backward.default)
def _flash_attention_for_cpu_backward(
    grad_out,
    query,
    key,
    value,
    out,
    logsumexp,
    dropout_p,
    is_causal,
    *,
    attn_mask=None,
    scale=None,
):
    if dropout_p != 0.0 or query.numel() == 0 or key.numel() == 0:
        return NotImplemented
    g, q, o = _wide(grad_out), _wide(query), _wide(out)
    k, v = _spread_heads(query, key, value)
    s, scale = _scores(q, k, attn_mask, is_causal, scale)
    # Of a row that is masked everywhere the forward pass left log(0).
    lse = logsumexp.to(s.dtype).unsqueeze(-1)
    p = torch.exp(s - torch.where(lse == -math.inf, 0.0, lse))
    d = (g * o).sum(-1, keepdim=True)
    ds = p * (torch.matmul(g, v.transpose(-2, -1)) - d)
    grads = [
        torch.matmul(ds, k) * scale,
        torch.matmul(ds.transpose(-2, -1), q * scale),
        torch.matmul(p.transpose(-2, -1), g),
    ]
    times = query.size(1) // key.size(1)
    if times != 1:
        # Heads that share keys and values add up.
        grads[1:] = [
            x.unflatten(1, (key.size(1), times)).sum(2) for x in grads[1:]
        ]
    return tuple(_rows_outside(x.to(query.dtype)) for x in grads)


# -- statistics and norms ---------------------------------------------------


def _count(x, dims):
    n = 1
    for d in dims:
        n = n * x.size(d)
    return n


def _var_mean_parts(x, dim, correction, keepdim):
    dims = _dims(x, dim)
    n = _count(x, dims)
    mean = x.sum(dims, keepdim=True) / n
    d = x - mean
    correction = 1 if correction is None else correction
    total = (d * d).sum(dims, keepdim=keepdim)
    left = n - correction
    if isinstance(left, (int, float)) and left <= 0:
        # Eager divides by max(0, n - correction): 0/0 or x/0.
        var = total / torch.zeros((), dtype=x.dtype)
    else:
        var = total / left
    if not keepdim:
        mean = mean.squeeze(dims)
    return var, mean


def _is_plain_float(x) -> bool:
    return x.dtype in (torch.float32, torch.float64, *_LOW_PRECISION)


@_replaces(aten.var.correction)
@_in_f32
def _var(x, dim=None, *, correction=None, keepdim=False):
    if not _is_plain_float(x) or x.numel() == 0:
        return NotImplemented
    return _var_mean_parts(x, dim, correction, keepdim)[0]


@_replaces(aten.var_mean.correction)
@_in_f32
def _var_mean(x, dim=None, *, correction=None, keepdim=False):
    if _is_plain_float(x) and x.numel() == 0 and x.dim():
        # Alone, each is a constant.
        return (
            torch.var(x, dim, correction=correction, keepdim=keepdim),
            torch.mean(x, _dims(x, dim), keepdim=keepdim),
        )
    if not _is_plain_float(x) or x.numel() == 0:
        return NotImplemented
    return _var_mean_parts(x, dim, correction, keepdim)


@_replaces(aten.std.correction)
@_in_f32
def _std(x, dim=None, *, correction=None, keepdim=False):
    if not _is_plain_float(x) or x.numel() == 0:
        return NotImplemented
    return torch.sqrt(_var_mean_parts(x, dim, correction, keepdim)[0])


def _as_images(out, x):
    """With the strides that eager's norms of batches and paddings have: channels
    last where x has them so, else contiguous."""
    return out.contiguous(memory_format=_prims_common.suggest_memory_format(x))


def _batch_norm(op):
    plain = _PYTORCHS[op]

    @functools.wraps(op)
    def decomposed(x, *args, **kwargs):
        out, *rest = plain(x, *args, **kwargs)
        return _as_images(out, x), *rest

    return decomposed


for _op in (
    aten._native_batch_norm_legit.default,
    aten._native_batch_norm_legit.no_stats,
    aten._native_batch_norm_legit_functional.default,
):
    _TABLE[_op] = _batch_norm(_op)


@_replaces(aten._native_batch_norm_legit_no_training.default)
def _batch_norm_inference(
    x, weight, bias, running_mean, running_var, momentum, eps
):
    # One multiplication and one addition an element, as eager's CPU kernel
    # does; what is per channel folds into constants.
    wide = torch.float32 if _is_low(x) else x.dtype
    shape = [1, -1] + [1] * (x.dim() - 2)
    # What `1.0 / x` comes down to, in a third of the steps.
    one = torch.full((), 1.0, dtype=wide, device=x.device)
    scale = torch.div(one, torch.sqrt(running_var.to(wide) + eps))
    if weight is not None:
        scale = scale * weight.to(wide)
    shift = -running_mean.to(wide) * scale
    if bias is not None:
        shift = shift + bias.to(wide)
    out = x.to(wide) * scale.view(shape) + shift.view(shape)
    empty, other = (x.new_empty((0,), dtype=wide) for _ in range(2))
    return _as_images(out.to(x.dtype), x), empty, other


@_replaces(aten.native_group_norm.default)
def _group_norm(x, weight, bias, n, channels, pixels, groups, eps):
    # One multiplication and one addition an element, as eager's CPU kernel
    # does. Channels of a group and pixels stay dimensions of their own: were
    # they joined to one, images could not be stored with channels last.
    if not _is_plain_float(x) or x.numel() == 0 or x.dim() < 2:
        return NotImplemented
    wide = torch.float32 if _is_low(x) else x.dtype
    sizes = [n, groups, channels // groups, *x.shape[2:]]
    var, mean = _var_mean_parts(
        x.to(wide).view(sizes), list(range(2, len(sizes))), 0, False
    )
    rstd = torch.rsqrt(var + eps)

    def of_channels(t):
        t = t.unsqueeze(-1).expand(n, groups, channels // groups)
        return t.reshape(n, channels)

    scale, shift = of_channels(rstd), of_channels(mean)
    if weight is not None:
        scale = scale * weight.to(wide)
    shift = -shift * scale
    if bias is not None:
        shift = shift + bias.to(wide)
    shape = [n, channels] + [1] * (x.dim() - 2)
    out = x.to(wide) * scale.view(shape) + shift.view(shape)
    return out.to(x.dtype), mean.to(x.dtype), rstd.to(x.dtype)


# -- matrix products ----------------------------------------------------------


def _scaled(x, factor):
    return x if factor == 1 else x * factor


def _plus_product(bias, product, beta, alpha):
    product = _scaled(product, alpha)
    # beta 0 ignores the bias, even NaN in it.
    return product if beta == 0 else product + _scaled(bias, beta)


@_replaces(aten.addmm.default)
def _addmm(bias, a, b, beta=1, alpha=1):
    if _is_low(a):
        # One rounding, at the end, as eager has it.
        p = torch.mm(a.to(torch.float32), b.to(torch.float32))
        out = _plus_product(bias.to(torch.float32), p, beta, alpha)
        return out.to(a.dtype)
    return _plus_product(bias, torch.mm(a, b), beta, alpha)


@_replaces(aten.baddbmm.default)
def _baddbmm(bias, a, b, beta=1, alpha=1):
    if _is_low(a):
        p = torch.bmm(a.to(torch.float32), b.to(torch.float32))
        out = _plus_product(bias.to(torch.float32), p, beta, alpha)
        return out.to(a.dtype)
    return _plus_product(bias, torch.bmm(a, b), beta, alpha)


@_replaces(aten.addmv.default)
def _addmv(bias, a, b, beta=1, alpha=1):
    if _is_low(a):
        return NotImplemented
    return _plus_product(bias, torch.mv(a, b), beta, alpha)


@_replaces(aten.addbmm.default)
def _addbmm(bias, a, b, beta=1, alpha=1):
    if _is_low(a):
        return NotImplemented
    return _plus_product(bias, torch.bmm(a, b).sum(0), beta, alpha)


@_replaces(aten.dot.default, aten.vdot.default)
def _dot(a, b):
    if a.is_complex():
        return NotImplemented
    return (a * b).sum()


# -- sums of low precision -----------------------------------------------------


@_replaces(aten.sum.dim_IntList)
def _sum_dims(x, dim=None, keepdim=False, *, dtype=None):
    if x.dtype == torch.uint8:
        # The text has no unsigned types: widen while that is still known.
        return aten.sum.dim_IntList(
            x.to(torch.int64), dim, keepdim, dtype=dtype
        )
    wanted = dtype or x.dtype
    if wanted not in _LOW_PRECISION or not x.is_floating_point():
        return NotImplemented
    return aten.sum.dim_IntList(
        x.to(torch.float32), dim, keepdim, dtype=torch.float32
    ).to(wanted)


@_replaces(aten.sum.default)
def _sum(x, *, dtype=None):
    return aten.sum.dim_IntList(x, None, False, dtype=dtype)


@_replaces(aten.prod.dim_int)
def _prod_dim(x, dim, keepdim=False, *, dtype=None):
    if dtype is None and not x.is_floating_point():
        dtype = torch.int64
    if x.dim() == 0:
        return x.to(dtype or x.dtype).clone()
    if dtype is None or dtype == x.dtype or x.numel() == 0:
        return NotImplemented
    return aten.prod.dim_int(x.to(dtype), dim, keepdim)


@_replaces(aten.mean.default)
def _mean(x, *, dtype=None):
    return aten.mean.dim(x, None, False, dtype=dtype)


@_replaces(aten.mean.dim)
def _mean_dims(x, dim=None, keepdim=False, *, dtype=None):
    wanted = dtype or x.dtype
    if not _is_plain_float(x) or wanted not in (
        torch.float32,
        torch.float64,
        *_LOW_PRECISION,
    ):
        return NotImplemented
    dims = _dims(x, dim)
    wide = torch.float32 if wanted in _LOW_PRECISION else wanted
    total = x.to(wide).sum(dims, keepdim=keepdim)
    return (total / _count(x, dims)).to(wanted)


# -- order ------------------------------------------------------------------------


def _first_index(x, dim, best, keepdim):
    """Index of the first element equal to `best`, NaN counting as equal to
    NaN. torch-mlir's own lowering compares with `>` and misses NaN."""
    hit = x == best
    if x.is_floating_point():
        hit = hit | (x != x)
    shape = [1] * x.dim()
    shape[dim] = x.size(dim)
    place = torch.arange(x.size(dim)).view(shape)
    return torch.where(hit, place, x.size(dim)).amin(dim, keepdim=keepdim)


def _arg(x, dim, keepdim, reduce):
    if x.numel() == 0:
        return NotImplemented
    if x.dtype in (torch.bool, torch.uint8):
        x = x.to(torch.int32)
    if x.dim() == 0:
        return torch.zeros((), dtype=torch.int64)
    if dim is None:
        out = _arg(x.reshape(-1), 0, False, reduce)
        return out.view([1] * x.dim()) if keepdim else out
    dim = dim % x.dim()
    return _first_index(x, dim, reduce(x, dim, True), keepdim)


@_replaces(aten.argmax.default)
def _argmax(x, dim=None, keepdim=False):
    return _arg(x, dim, keepdim, torch.amax)


@_replaces(aten.argmin.default)
def _argmin(x, dim=None, keepdim=False):
    return _arg(x, dim, keepdim, torch.amin)


def _extreme_dim(x, dim, keepdim, reduce):
    if x.numel() == 0 or x.dtype == torch.bool:
        return NotImplemented
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64)
    dim = dim % x.dim()
    best = reduce(x, dim, True)
    index = _first_index(x, dim, best, keepdim)
    return (best if keepdim else best.squeeze(dim)), index


@_replaces(aten.max.dim)
def _max_dim(x, dim, keepdim=False):
    return _extreme_dim(x, dim, keepdim, torch.amax)


@_replaces(aten.min.dim)
def _min_dim(x, dim, keepdim=False):
    return _extreme_dim(x, dim, keepdim, torch.amin)


@_replaces(aten.max.default)
def _max(x):
    return NotImplemented if x.dtype == torch.bool else x.amax()


@_replaces(aten.min.default)
def _min(x):
    return NotImplemented if x.dtype == torch.bool else x.amin()


# -- sorting ----------------------------------------------------------------------


def _positions(x):
    return torch.zeros((), dtype=torch.int64, device=x.device)


def _once(function):
    """A decomposition that uses its own op: the inner use is left alone."""
    state = threading.local()

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        if getattr(state, "inside", False):
            return NotImplemented
        state.inside = True
        try:
            return function(*args, **kwargs)
        finally:
            state.inside = False

    return wrapped


def _has_few_equals(x) -> bool:
    """Whether equal elements are rare. Which of them comes first is not defined,
    and eager's own choice."""
    return x.dtype in (torch.float32, torch.float64)


@_replaces(aten.sort.default)
def _sort(x, dim=-1, descending=False):
    if x.dim() == 0:
        return x.clone(), _positions(x)
    return NotImplemented


@_replaces(aten.sort.stable)
@_once
def _sort_stable(x, *, stable, dim=-1, descending=False):
    """It stays what it is, so that eager, where it is left to it, keeps the
    order of equal elements, as all sorts that are compiled do."""
    if x.numel() == 0:
        return NotImplemented
    if x.dim() == 0:
        return x.clone(), _positions(x)
    if not stable:
        return aten.sort.default(x, dim, descending)
    if x.dtype in (torch.bool, torch.uint8):
        # The text has no unsigned types.
        values, places = aten.sort.stable(
            x.to(torch.int16), stable=True, dim=dim, descending=descending
        )
        return values.to(x.dtype), places
    return NotImplemented


@_replaces(aten.topk.default)
def _topk(x, k, dim=-1, largest=True, sorted=True):
    if x.numel() == 0 or not _has_few_equals(x):
        return NotImplemented
    values, places = aten.sort.default(x, dim, largest)
    if x.dim() == 0:
        return values, places
    return values.narrow(dim, 0, k), places.narrow(dim, 0, k)


@_replaces(aten.kthvalue.default)
def _kthvalue(x, k, dim=-1, keepdim=False):
    if x.numel() == 0 or not _has_few_equals(x):
        return NotImplemented
    values, places = aten.sort.default(x, dim, False)
    if x.dim() == 0:
        return values, places
    values, places = (t.narrow(dim, k - 1, 1) for t in (values, places))
    if not keepdim:
        values, places = values.squeeze(dim), places.squeeze(dim)
    return values, places


def _median_of(x, dim, keepdim, ignore_nan):
    values, places = aten.sort.default(x, dim, False)
    n = x.size(dim)
    # NaN stands last: the first of them is at `numbers`.
    numbers = n - (x != x).sum(dim, keepdim=True)
    if ignore_nan:
        at = (numbers - 1).clamp(min=0) // 2
    else:
        at = torch.where(numbers < n, numbers, (n - 1) // 2)
    values, places = (t.gather(dim, at) for t in (values, places))
    if not keepdim:
        values, places = values.squeeze(dim), places.squeeze(dim)
    return values, places


def _median_dim(ignore_nan):
    def median(x, dim, keepdim=False):
        if x.numel() == 0 or not _has_few_equals(x):
            return NotImplemented
        if x.dim() == 0:
            return x.clone(), _positions(x)
        return _median_of(x, dim % x.dim(), keepdim, ignore_nan)

    return median


def _median(ignore_nan):
    def median(x):
        if x.numel() == 0 or not x.is_floating_point():
            return NotImplemented
        return _median_of(x.reshape(-1), 0, False, ignore_nan)[0]

    return median


_TABLE[aten.median.dim] = _median_dim(False)
_TABLE[aten.nanmedian.dim] = _median_dim(True)
_TABLE[aten.median.default] = _median(False)
_TABLE[aten.nanmedian.default] = _median(True)


@_replaces(aten.searchsorted.Tensor)
def _searchsorted(
    rows, x, *, out_int32=False, right=False, side=None, sorter=None
):
    if rows.numel() == 0 or x.numel() == 0:
        return NotImplemented
    right = right or side == "right"
    n = rows.size(-1)
    low = torch.zeros(x.shape, dtype=torch.int64)
    high = torch.full(x.shape, n, dtype=torch.int64)
    if sorter is not None:
        rows = rows.gather(-1, sorter)
    # A binary search for all at once: the interval halves at each step.
    for _ in range(n.bit_length()):
        middle = (low + high) // 2
        at = middle.clamp(max=n - 1)
        value = rows[at] if rows.dim() == 1 else rows.gather(-1, at)
        # So written that NaN goes where eager has it.
        after = ~(value > x) if right else ~(value >= x)
        after = after & (low < high)
        low = torch.where(after, middle + 1, low)
        high = torch.where(after, high, middle)
    return low.to(torch.int32) if out_int32 else low


@_replaces(aten.searchsorted.Scalar)
def _searchsorted_scalar(
    rows, x, *, out_int32=False, right=False, side=None, sorter=None
):
    if rows.dtype == torch.bool or rows.numel() == 0:
        return NotImplemented
    return _searchsorted(
        rows,
        torch.full((), x, dtype=rows.dtype),
        out_int32=out_int32,
        right=right,
        side=side,
        sorter=sorter,
    )


@_replaces(aten.bucketize.Tensor)
def _bucketize(x, boundaries, *, out_int32=False, right=False):
    return _searchsorted(boundaries, x, out_int32=out_int32, right=right)


@_replaces(aten.bucketize.Scalar)
def _bucketize_scalar(x, boundaries, *, out_int32=False, right=False):
    return _searchsorted_scalar(
        boundaries, x, out_int32=out_int32, right=right
    )


# -- scans ---------------------------------------------------------------------------


def _scan(parts, dim, combine):
    """Inclusive scan by doubling: log2(n) steps, each on whole tensors."""
    n, step = parts[0].size(dim), 1
    while step < n:
        left = [p.narrow(dim, 0, n - step) for p in parts]
        right = [p.narrow(dim, step, n - step) for p in parts]
        both = combine(left, right)
        parts = [
            torch.cat([p.narrow(dim, 0, step), b], dim)
            for p, b in zip(parts, both)
        ]
        step *= 2
    return parts


def _running(x, dim, better):
    if x.numel() == 0 or x.dtype in (torch.bool, torch.uint8):
        return NotImplemented
    if x.dim() == 0:
        return x.clone(), _positions(x)
    dim = dim % x.dim()
    if not isinstance(x.size(dim), int):
        return NotImplemented
    shape = [1] * x.dim()
    shape[dim] = x.size(dim)
    places = torch.arange(x.size(dim)).view(shape).expand(x.shape)

    def combine(left, right):
        (a, i), (b, j) = left, right
        # The later of equal ones; after NaN, the last NaN.
        later = (b != b) | ((a == a) & better(b, a))
        return [torch.where(later, b, a), torch.where(later, j, i)]

    return tuple(_scan([x, places], dim, combine))


@_replaces(aten.cummax.default)
def _cummax(x, dim):
    return _running(x, dim, torch.ge)


@_replaces(aten.cummin.default)
def _cummin(x, dim):
    return _running(x, dim, torch.le)


@_replaces(aten.logcumsumexp.default)
def _logcumsumexp(x, dim):
    if x.numel() == 0 or x.is_complex() or not x.is_floating_point():
        return NotImplemented
    if x.dim() == 0:
        return x.clone()
    if not isinstance(x.size(dim), int):
        return NotImplemented
    wide = _wide(x)

    def combine(left, right):
        (a,), (b,) = left, right
        high = torch.maximum(a, b)
        low = torch.minimum(a, b)
        # Two infinities of one sign: their difference is NaN.
        same = (high == low) & (torch.abs(high) == math.inf)
        return [torch.where(same, high, high + torch.log1p(torch.exp(low - high)))]

    return _scan([wide], dim % x.dim(), combine)[0].to(x.dtype)


# -- distances and lengths -------------------------------------------------------------


@_replaces(aten._cdist_forward.default)
def _cdist(a, b, p, compute_mode):
    if a.numel() == 0 or b.numel() == 0 or _is_low(a):
        return NotImplemented
    d = torch.abs(a.unsqueeze(-2) - b.unsqueeze(-3))
    return _length(d, p, -1)


def _length(d, p, dim):
    """The p-norm of magnitudes."""
    if p == 0:
        return (d != 0).to(d.dtype).sum(dim)
    if p == 1:
        return d.sum(dim)
    if p == 2:
        return torch.sqrt((d * d).sum(dim))
    if p == math.inf:
        return d.amax(dim)
    return torch.pow(torch.pow(d, p).sum(dim), 1.0 / p)


@_replaces(aten.linalg_vector_norm.default)
def _vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    # Eager sums low precision up in f32, and rounds once.
    wanted = dtype or x.dtype
    if x.is_complex():
        return NotImplemented
    wide = torch.float32 if wanted in _LOW_PRECISION else wanted
    if ord == 2:
        # torch-mlir would take a power of each element.
        x = x.to(wide)
        return torch.sqrt((x * x).sum(dim, keepdim=keepdim)).to(wanted)
    if not (_is_low(x) or wanted in _LOW_PRECISION):
        return NotImplemented
    out = aten.linalg_vector_norm.default(x.to(wide), ord, dim, keepdim)
    return out.to(wanted)


@_replaces(aten._pdist_forward.default)
def _pdist(x, p=2.0):
    n = x.size(0)
    if x.numel() == 0 or _is_low(x) or not isinstance(n, int) or n < 2:
        return NotImplemented
    first, second = torch.triu_indices(n, n, 1).unbind(0)
    return _length(torch.abs(x[first] - x[second]), p, -1)


@_replaces(aten.hypot.default)
def _hypot(a, b):
    dtype = torch.result_type(a, b)
    if dtype != torch.float32 and dtype not in _LOW_PRECISION:
        return NotImplemented
    # In f64 no square of an f32 overflows or vanishes.
    x, y = a.to(torch.float64), b.to(torch.float64)
    out = torch.sqrt(x * x + y * y).to(dtype)
    infinite = (torch.abs(a) == math.inf) | (torch.abs(b) == math.inf)
    return torch.where(infinite, math.inf, out)


def _ramp(n, dim, rank, step=1, start=0):
    """start, start + step... along one of `rank` dimensions."""
    shape = [1] * rank
    shape[dim] = n
    return (torch.arange(n) * step + start).view(shape)


@_replaces(aten.as_strided.default, aten.as_strided_copy.default)
def _as_strided(x, size, stride, storage_offset=None):
    places = _strided_places(x, size, stride, storage_offset)
    if places is None:
        return NotImplemented
    return x.reshape(-1)[places]


@_replaces(aten.as_strided_scatter.default)
def _as_strided_scatter(x, source, size, stride, storage_offset=None):
    places = _strided_places(x, size, stride, storage_offset)
    if places is None or source.dtype != x.dtype:
        return NotImplemented
    flat = x.reshape(-1).scatter(0, places.reshape(-1), source.reshape(-1))
    return flat.view(x.shape)


def _strided_places(x, size, stride, offset):
    """Which element of a contiguous x is each of the result; None where that
    is not known, or where one is outside of x."""
    numbers = [*x.shape, *x.stride(), *size, *stride]
    start = 0 if offset is None else offset - x.storage_offset()
    if not all(isinstance(n, int) for n in [*numbers, start]):
        return None
    last = start + sum((n - 1) * s for n, s in zip(size, stride))
    if not x.is_contiguous() or 0 in size:
        return None
    if start < 0 or last >= x.numel():
        return None
    places = torch.full((), start, dtype=torch.int64)
    for d, (n, step) in enumerate(zip(size, stride)):
        places = places + _ramp(n, d, len(size), step)
    return places.expand(size)


@_replaces(aten.diagonal_scatter.default)
def _diagonal_scatter(x, source, offset=0, dim1=0, dim2=1):
    moved = torch.movedim(x, (dim1, dim2), (0, 1))
    length = source.size(-1)
    if not isinstance(length, int) or source.dtype != x.dtype or not length:
        return NotImplemented
    rows = torch.arange(length) + max(-offset, 0)
    cols = torch.arange(length) + max(offset, 0)
    values = torch.movedim(source, -1, 0)
    out = aten.index_put.default(moved, [rows, cols], values)
    return torch.movedim(out, (0, 1), (dim1, dim2))


# -- pooling -------------------------------------------------------------------------


def _windows(n, out):
    """Places that adaptive pools read, [out, longest], and which are real."""
    starts = [i * n // out for i in range(out)]
    ends = [-(-(i + 1) * n // out) for i in range(out)]
    longest = max(e - s for s, e in zip(starts, ends))
    at = torch.arange(out)
    start, end = at * n // out, ((at + 1) * n + out - 1) // out
    places = start.unsqueeze(1) + torch.arange(longest)
    return places.clamp(max=n - 1), places < end.unsqueeze(1)


def _adaptive_max_pool(dims):
    def pool(x, output_size):
        if not x.is_floating_point() or x.numel() == 0:
            return NotImplemented
        sizes = list(x.shape[-dims:])
        numbers = [*sizes, *output_size]
        if not all(isinstance(n, int) and n > 0 for n in numbers):
            return NotImplemented
        whole, flat, real = x, 0, True
        # Each dimension becomes two: the result's, and the window's.
        for d in range(dims):
            places, valid = _windows(sizes[d], output_size[d])
            whole = whole.index_select(
                x.dim() - dims + 2 * d, places.reshape(-1)
            ).unflatten(x.dim() - dims + 2 * d, list(places.shape))
            shape = [1] * (2 * dims)
            shape[2 * d], shape[2 * d + 1] = places.shape
            flat = flat * sizes[d] + places.view(shape)
            real = valid.view(shape) & real
        outer = list(range(x.dim() - dims))
        order = [2 * d for d in range(dims)]
        order += [2 * d + 1 for d in range(dims)]
        lead = len(outer)
        whole = whole.permute(outer + [lead + o for o in order])
        whole = whole.flatten(lead + dims)
        flat, real = (
            t.permute(order).flatten(dims) for t in (flat, real)
        )
        whole = torch.where(real, whole, -math.inf)
        best = whole.amax(-1, keepdim=True)
        at = _first_index(whole, whole.dim() - 1, best, True)
        index = flat.expand(whole.shape).gather(-1, at)
        return best.squeeze(-1), index.squeeze(-1)

    return pool


_TABLE[aten.adaptive_max_pool2d.default] = _adaptive_max_pool(2)
_TABLE[aten.adaptive_max_pool3d.default] = _adaptive_max_pool(3)


def spatial(value, dims: int) -> list:
    """An option of windows, one number for each dimension."""
    value = [value] if isinstance(value, int) else list(value)
    return value * dims if len(value) == 1 else value


def _places(parts, sizes):
    """Numbers of elements from what they are along each dimension."""
    at = parts[0]
    for part, size in zip(parts[1:], sizes[1:]):
        at = at.unsqueeze(-1) * size + part
    return at


def _window_places(x, counts, kernel, stride=(), padding=0, dilation=1, *_):
    """Where the greatest elements of windows are, as eager has it: the last NaN,
    or else the first of the greatest. One pass over all windows, tap by tap."""
    dims = len(counts)
    kernel, padding, dilation = (
        spatial(n, dims) for n in (kernel, padding, dilation)
    )
    stride = spatial(stride, dims) if stride else kernel
    sizes, pad, starts, firsts = x.shape[-dims:], [], [], []
    for d in range(dims):
        start = torch.arange(counts[d], dtype=torch.int32) * stride[d]
        reach = (counts[d] - 1) * stride[d] + (kernel[d] - 1) * dilation[d] + 1
        pad = [padding[d], max(reach - padding[d] - sizes[d], 0), *pad]
        starts.append(start - padding[d])
        # The first tap that is no padding.
        taps = (padding[d] - start).clamp(min=0) + (dilation[d] - 1)
        firsts.append(taps // dilation[d] * dilation[d])
    x = aten.constant_pad_nd.default(x, pad, -math.inf)
    at = _places(firsts, sizes)
    best = None
    for window in itertools.product(*map(range, kernel)):
        value, place = x, 0
        for d in range(dims):
            tap = window[d] * dilation[d]
            end = tap + (counts[d] - 1) * stride[d] + 1
            value = aten.slice.Tensor(value, 2 + d, tap, end, stride[d])
            place = place * sizes[d] + tap
        if best is None:
            at, best = at.expand(value.shape), value
            wins = best != best
        else:
            wins = (value > best) | (value != value)
            best = torch.where(wins, value, best)
        place = torch.full((), place, dtype=torch.int32)
        at = torch.where(wins, place, at)
    return (at + _places(starts, sizes)).to(torch.int64)


# Taps of windows that are compared one by one.
_MOST_TAPS = 27


class _Raw(threading.local):
    indices: list[torch.Tensor] | None = None


_RAW = _Raw()


@contextlib.contextmanager
def raw_indices() -> Iterator[list[torch.Tensor]]:
    """Leaves out what makes indices of windows eager's, most of what a pool is
    made of: mostly nobody reads them. Gives those that are not eager's."""
    before, _RAW.indices = _RAW.indices, []
    try:
        yield _RAW.indices
    finally:
        _RAW.indices = before


def _max_pool(pool, dims: int):
    def places(x, out, indices, *args):
        sizes = x.shape[-dims:]
        known = [*sizes, *out.shape[-dims:]]
        if (
            all(isinstance(n, int) for n in known)
            and math.prod(sizes) < 2**31
            and math.prod(spatial(args[0], dims)) <= _MOST_TAPS
        ):
            return _window_places(x, out.shape[-dims:], *args)
        # torch-mlir's index of NaN and of -infinity is -1; eager's is that of
        # the last NaN, which is the greatest, and of the first -infinity of no
        # others. Where nobody reads indices, all of this goes.
        numbers = _places([torch.arange(n) for n in sizes], sizes)
        few = all(isinstance(n, int) for n in sizes) and (
            math.prod(sizes) <= 2**24
        )
        numbers = numbers.to(torch.float32 if few else torch.float64)
        first = -pool(-numbers.view(1, 1, *sizes), *args)[0]
        last = pool(torch.where(x != x, numbers, -1.0), *args)[0]
        indices = torch.where(out == -math.inf, first.to(torch.int64), indices)
        return torch.where(last >= 0, last.to(torch.int64), indices)

    def whole(x, *args):
        if x.dim() == dims + 1:
            out, indices = whole(x.unsqueeze(0), *args)
            return out.squeeze(0), indices.squeeze(0)
        out, indices = pool(x, *args)
        if x.is_floating_point() and x.numel() != 0:
            if _RAW.indices is not None:
                _RAW.indices.append(indices)
            else:
                indices = places(x, out, indices, *args)
        return out, indices

    return _once(whole)


for _op, _rank in (
    (aten.max_pool2d_with_indices.default, 2),
    (aten.max_pool3d_with_indices.default, 3),
):
    _TABLE[_op] = _max_pool(_op, _rank)


def _one_image(op, rank: int):
    """torch-mlir's lowering wants a batch of them."""

    def pool(x, *args):
        if x.dim() != rank:
            return NotImplemented
        return op(x.unsqueeze(0), *args).squeeze(0)

    return pool


_TABLE[aten.avg_pool2d.default] = _one_image(aten.avg_pool2d.default, 3)
_TABLE[aten.avg_pool3d.default] = _one_image(aten.avg_pool3d.default, 4)


@_replaces(aten.constant_pad_nd.default)
def _constant_pad(x, pad, value=0):
    if all(not isinstance(p, int) or p >= 0 for p in pad):
        return NotImplemented
    for i in range(len(pad) // 2):
        d = x.dim() - 1 - i
        low, high = min(pad[2 * i], 0), min(pad[2 * i + 1], 0)
        if low or high:
            x = x.narrow(d, -low, x.size(d) + low + high)
    return aten.constant_pad_nd.default(x, [max(p, 0) for p in pad], value)


def _padded_by(border):
    """Padding from the last dimension on: `border(x, d, n, at_end)`, n places
    along d, is concatenated with x. Each part is a copy in order or in reverse,
    where PyTorch gathers at computed places."""

    def pad(x, padding):
        out = x
        for i in range(len(padding) // 2):
            d = x.dim() - 1 - i
            low, high = padding[2 * i : 2 * i + 2]
            # Negative ones take away; what is added is of all that was there.
            begin, end = max(-low, 0), out.size(d) - max(-high, 0)
            if end < begin:
                return NotImplemented
            parts = [out.narrow(d, begin, end - begin)]
            if low > 0:
                parts.insert(0, border(out, d, low, False))
            if high > 0:
                parts.append(border(out, d, high, True))
            out = torch.cat(parts, d)
        return _as_images(out, x)

    return pad


def _reflected(x, d, n, at_end):
    return x.narrow(d, x.size(d) - 1 - n if at_end else 1, n).flip(d)


def _edge(x, d, n, at_end):
    sizes = list(x.shape)
    sizes[d] = n
    return x.narrow(d, x.size(d) - 1 if at_end else 0, 1).expand(sizes)


for _rank in ("1d", "2d", "3d"):
    for _name, _border in (("reflection", _reflected), ("replication", _edge)):
        _op = getattr(aten, f"{_name}_pad{_rank}").default
        _TABLE[_op] = _padded_by(_border)


@_replaces(aten.gelu.default)
@_in_f32
def _gelu(x, *, approximate="none"):
    if approximate != "tanh":
        # As eager; torch-mlir divides by sqrt(2), a fifth of the time of a loop.
        return 0.5 * x * (1.0 + torch.erf(x * math.sqrt(0.5)))
    # torch-mlir's constant for sqrt(2 / pi) has four right digits.
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * (x * x * x))
    return 0.5 * x * (1.0 + torch.tanh(inner))


@_replaces(aten.reciprocal.default)
def _reciprocal(x):
    # torch-mlir asserts that no element is 0; eager gives infinity there.
    if not x.is_floating_point():
        x = x.to(torch.get_default_dtype())
    return torch.div(torch.ones((), dtype=x.dtype, device=x.device), x)


@_replaces(aten.split_with_sizes.default)
def _split_with_sizes(x, sizes, dim=0):
    # torch-mlir wants the sizes as constants.
    out, start = [], 0
    for size in sizes:
        out.append(aten.slice.Tensor(x, dim, start, start + size))
        start = start + size
    return out


# -- slices that are written -----------------------------------------------------------


def _check_slice(src, shape) -> None:
    """Raises as eager does where a slice of this shape gets another one's values:
    neither the meta kernel nor the reference looks. Two sizes that only calls know
    are compared in each call."""
    from torch.fx.experimental.symbolic_shapes import guard_or_true

    if src.dim() == len(shape) and all(
        not (isinstance(n, int) or isinstance(size, int))
        or guard_or_true(n == size)
        for n, size in zip(src.shape, shape)
    ):
        return
    raise RuntimeError(
        "expected src to have a size equal to the slice of self. "
        f"src size = {list(src.shape)}, slice size = {list(shape)}"
    )


@_replaces(aten.slice_scatter.default)
def _slice_scatter(x, src, dim=0, start=None, end=None, step=1):
    dim = dim % x.dim()
    size = x.size(dim)
    ends = []
    for place in (0 if start is None else start, size if end is None else end):
        if isinstance(place, int) and place < 0:
            place = place + size
        ends.append(torch.sym_max(torch.sym_min(place, size), 0))
    length = torch.sym_max(ends[1] - ends[0] + step - 1, 0) // step
    _check_slice(src, (*x.shape[:dim], length, *x.shape[dim + 1 :]))
    return NotImplemented


@_replaces(aten.select_scatter.default)
def _select_scatter(x, src, dim, index):
    from torch.fx.experimental.symbolic_shapes import guard_or_true

    dim = dim % x.dim()
    size = x.size(dim)
    if not (guard_or_true(-size <= index) and guard_or_true(index < size)):
        raise IndexError(
            f"select(): index {index} out of range for tensor of size "
            f"{list(x.shape)} at dimension {dim}"
        )
    _check_slice(src, (*x.shape[:dim], *x.shape[dim + 1 :]))
    places = torch.arange(size, device=x.device)
    places = places.view([-1 if d == dim else 1 for d in range(x.dim())])
    place = index + size if isinstance(index, int) and index < 0 else index
    return torch.where(
        places == place, src.to(x.dtype).unsqueeze(dim).expand(x.shape), x
    )


# -- copies of views, and other small ones -------------------------------------------

for _name in (
    "alias as_strided detach diagonal expand permute select slice squeeze t "
    "transpose unfold unsqueeze view"
).split():
    for _overload in getattr(aten, _name + "_copy").overloads():
        if _overload.endswith("out"):
            continue
        _view = getattr(getattr(aten, _name), _overload, None)
        _copy = getattr(getattr(aten, _name + "_copy"), _overload)
        if _view is not None and _copy not in _TABLE:
            _TABLE[_copy] = functools.partial(
                lambda view, *args, **kwargs: view(*args, **kwargs).clone(),
                _view,
            )


@_replaces(aten.unbind_copy.int)
def _unbind_copy(x, dim=0):
    return [part.clone() for part in x.unbind(dim)]


@_replaces(aten.narrow_copy.default)
def _narrow_copy(x, dim, start, length):
    return x.narrow(dim, start, length).clone()


@_replaces(aten.dist.default)
def _dist(a, b, p=2):
    if not _is_plain_float(a) or _is_low(a) or a.numel() == 0:
        return NotImplemented
    d = torch.abs(a - b)
    return _length(d, p, list(range(d.dim())))


@_replaces(aten.angle.default)
def _angle(x):
    if x.is_complex():
        return NotImplemented
    if not x.is_floating_point():
        return torch.where(x < 0, math.pi, 0.0)
    out = torch.where(x < 0, math.pi, 0.0).to(x.dtype)
    return torch.where(x != x, x, out)


@_replaces(aten.roll.default)
def _roll(x, shifts, dims=()):
    if x.numel() == 0 or (dims and len(shifts) != len(dims)):
        return NotImplemented
    if not dims:
        return torch.roll(x.reshape(-1), shifts, [0]).view(x.shape)
    from torch.fx.experimental.symbolic_shapes import guard_or_false

    # torch-mlir takes no shift that is further than the dimension is long.
    sizes = [x.shape[d] for d in dims]
    if all(guard_or_false(abs(s) <= n) for s, n in zip(shifts, sizes)):
        return NotImplemented
    return torch.roll(x, [s % n for s, n in zip(shifts, sizes)], dims)


@_replaces(aten.gather.default)
def _gather(x, dim, index, *, sparse_grad=False):
    if x.dim() and index.dim():
        return NotImplemented
    # A rank of 0 counts as one element.
    row = x.unsqueeze(0) if x.dim() == 0 else x
    out = aten.gather.default(row, dim, index.reshape(-1))
    return out.view(index.shape)


@_replaces(aten.put.default)
def _put(x, index, source, accumulate=False):
    if x.numel() == 0 or index.numel() == 0:
        return NotImplemented
    flat = aten.index_put.default(
        x.reshape(-1), [index.reshape(-1)], source.reshape(-1), accumulate
    )
    return flat.view(x.shape)


@_replaces(aten.masked_scatter.default)
def _masked_scatter(x, mask, source):
    if x.shape == mask.shape:
        return NotImplemented
    x, mask = torch.broadcast_tensors(x, mask)
    return aten.masked_scatter.default(x.clone(), mask.clone(), source)


def _of_rank_0(op):
    def extreme(x, dim=(), keepdim=False):
        return NotImplemented if x.dim() else x.clone()

    return extreme


_TABLE[aten.amax.default] = _of_rank_0(aten.amax.default)
_TABLE[aten.amin.default] = _of_rank_0(aten.amin.default)


@_replaces(aten.scatter_add.default)
def _scatter_add(x, dim, index, source):
    if x.dtype == torch.bool:
        # In one bit, true and true would be false.
        counts = aten.scatter_add.default(
            x.to(torch.int64), dim, index, source.to(torch.int64)
        )
        return counts != 0
    # torch-mlir crashes on a dimension counted from the end.
    if dim >= 0 or x.dim() == 0:
        return NotImplemented
    return aten.scatter_add.default(x, dim + x.dim(), index, source)


@_replaces(aten.scatter_reduce.two)
def _scatter_mean(x, dim, index, source, reduce, *, include_self=True):
    # torch-mlir's division of integers truncates; eager's rounds down, and counts
    # in their type.
    if reduce != "mean" or x.is_floating_point():
        return NotImplemented
    total, counts = x, torch.ones_like(x)
    if not include_self:
        total = aten.scatter.value(x, dim, index, 0)
        counts = torch.zeros_like(x)
    total = aten.scatter_add.default(total, dim, index, source)
    counts = aten.scatter_add.default(
        counts, dim, index, torch.ones_like(source)
    )
    counts = torch.where(counts == 0, 1, counts)
    return torch.div(total, counts, rounding_mode="floor")


@_replaces(aten.scatter.src, aten.scatter.value)
def _scatter(x, dim, index, source):
    # As above.
    if dim >= 0 or x.dim() == 0:
        return NotImplemented
    op = aten.scatter.src
    if not isinstance(source, torch.Tensor):
        op = aten.scatter.value
    return op(x, dim + x.dim(), index, source)


@_replaces(aten.max_unpool2d.default, aten.max_unpool3d.default)
def _max_unpool(x, indices, output_size, *_):
    """Each plane apart: PyTorch's would take an index behind one for one of the
    next."""
    front = x.shape[: -len(output_size)]
    out = x.new_zeros([*front, *output_size])
    if any(n == 0 for n in out.shape):
        return out
    flat = out.view([*front, math.prod(output_size)])
    at, values = (t.reshape([*front, -1]) for t in (indices, x))
    return flat.scatter(len(front), at, values).view(out.shape)


@_replaces(aten.index_select.default)
def _index_select(x, dim, index):
    if x.dim() and index.dim():
        return NotImplemented
    # A rank of 0 counts as one element.
    row = x.unsqueeze(0) if x.dim() == 0 else x
    out = aten.index_select.default(row, dim, index.reshape(-1))
    return out.squeeze(0) if x.dim() == 0 else out


@_replaces(aten.scatter.reduce)
def _scatter_with(x, dim, index, source, *, reduce):
    if x.dim() == 0 or x.numel() == 0 or index.numel() == 0:
        return NotImplemented
    how = {"add": "sum", "multiply": "prod"}[reduce]
    return aten.scatter_reduce.two(x, dim % x.dim(), index, source, how)


@_replaces(aten.index_reduce.default)
def _index_reduce(x, dim, index, source, reduce, *, include_self=True):
    if x.numel() == 0 or source.numel() == 0 or not x.is_floating_point():
        return NotImplemented
    if x.dim() == 0:
        row = aten.index_reduce.default(
            x.reshape(1),
            0,
            index.reshape(-1),
            source.reshape(-1),
            reduce,
            include_self=include_self,
        )
        return row.view([])
    if source.dim() == 0:
        return NotImplemented
    dim = dim % x.dim()
    shape = [1] * x.dim()
    shape[dim] = index.numel()
    places = index.view(shape).expand(source.shape)
    return aten.scatter_reduce.two(
        x, dim, places, source, reduce, include_self=include_self
    )


# -- where torch-mlir differs from eager -----------------------------------------


@_replaces(aten.fmax.default)
def _fmax(a, b):
    return _ignore_nan(a, b, torch.maximum)


@_replaces(aten.fmin.default)
def _fmin(a, b):
    return _ignore_nan(a, b, torch.minimum)


def _ignore_nan(a, b, extremum):
    if not torch.result_type(a, b).is_floating_point:
        return extremum(a, b)
    return torch.where(a != a, b, torch.where(b != b, a, extremum(a, b)))


@_replaces(aten.fmod.Tensor, aten.fmod.Scalar)
def _fmod(a, b):
    # torch-mlir computes a - trunc(a / b) * b, which rounds; its remainder is
    # exact, and of positive numbers the two are the same.
    dtype = torch.result_type(a, b)
    if not dtype.is_floating_point:
        # torch-mlir takes no number here.
        if isinstance(b, torch.Tensor) or dtype == torch.bool:
            return NotImplemented
        return aten.fmod.Tensor(a, _as_integers(b, dtype))
    a = a.to(dtype)
    b = b.to(dtype) if isinstance(b, torch.Tensor) else _as_tensor(b, a)
    return torch.copysign(torch.remainder(torch.abs(a), torch.abs(b)), a)


def _as_tensor(value, like):
    if isinstance(value, torch.Tensor):
        return value
    return torch.full((), value, dtype=like.dtype, device=like.device)


@_replaces(aten.clamp.default, aten.clamp.Tensor)
def _clamp(x, low=None, high=None):
    if not x.is_floating_point():
        return NotImplemented
    if any(
        isinstance(v, torch.Tensor) and v.dtype != x.dtype
        for v in (low, high)
    ):
        return NotImplemented
    if low is not None:
        x = torch.maximum(x, _as_tensor(low, x))
    if high is not None:
        x = torch.minimum(x, _as_tensor(high, x))
    return x


@_replaces(aten.clamp_min.default, aten.clamp_min.Tensor)
def _clamp_min(x, low):
    return _clamp(x, low, None)


@_replaces(aten.clamp_max.default, aten.clamp_max.Tensor)
def _clamp_max(x, high):
    return _clamp(x, None, high)


@_replaces(aten.trunc.default)
def _trunc(x):
    if not x.is_floating_point():
        return x.clone()
    return torch.where(x < 0, torch.ceil(x), torch.floor(x))


def _sign_bit(x):
    # The sign of NaN is not seen; eager's, too, is arbitrary there.
    return (x < 0) | ((x == 0) & (torch.reciprocal(x) < 0))


@_replaces(aten.signbit.default)
def _signbit(x):
    return _sign_bit(x) if x.is_floating_point() else x < 0


@_replaces(aten.copysign.Tensor)
def _copysign(x, sign):
    dtype = torch.result_type(x, sign)
    if not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    x, sign = x.to(dtype), sign.to(dtype)
    return torch.where(_sign_bit(sign), -torch.abs(x), torch.abs(x))


@_replaces(aten.copysign.Scalar)
def _copysign_scalar(x, sign):
    x = x if x.is_floating_point() else x.to(torch.get_default_dtype())
    negative = math.copysign(1.0, sign) < 0
    return -torch.abs(x) if negative else torch.abs(x)


def _as_integers(x, dtype):
    """A number, too, as a tensor; it wraps, as eager's do."""
    if isinstance(x, torch.Tensor):
        return x.to(dtype)
    if isinstance(x, int):
        info = torch.iinfo(dtype)
        x = (int(x) - info.min) % (info.max - info.min + 1) + info.min
    return torch.full((), x, dtype=dtype)


def _integer_division(a, b, dtype, rounding_mode):
    # torch-mlir rounds down by way of floats.
    if rounding_mode == "trunc" or dtype in (torch.bool, torch.uint8):
        return NotImplemented
    a, b = (_as_integers(x, dtype) for x in (a, b))
    if dtype == torch.int8:
        # torch-mlir crashes on numbers beside int8.
        a, b = a.to(torch.int16), b.to(torch.int16)
        return _integer_division(a, b, a.dtype, rounding_mode).to(dtype)
    out = aten.div.Tensor_mode(a, b, rounding_mode="trunc")
    left = a - out * b
    return torch.where((left != 0) & ((left < 0) != (b < 0)), out - 1, out)


@_replaces(aten.neg.default)
def _neg(x):
    # Of integers, torch-mlir goes by way of floats.
    if x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
        return NotImplemented
    if x.dtype == torch.int8:
        # torch-mlir crashes on numbers beside int8.
        return (x.to(torch.int16) * -1).to(torch.int8)
    return x * -1


@_replaces(aten.div.Tensor_mode, aten.div.Scalar_mode)
def _div_mode(a, b, *, rounding_mode=None):
    if rounding_mode is None:
        return torch.true_divide(a, b)
    dtype = torch.result_type(a, b)
    if not dtype.is_floating_point:
        return _integer_division(a, b, dtype, rounding_mode)
    if dtype in _LOW_PRECISION:
        # Rounded once, at the end, as eager has it.
        a, b = (
            x.to(torch.float32) if isinstance(x, torch.Tensor) else x
            for x in (a, b)
        )
        return _div_mode(a, b, rounding_mode=rounding_mode).to(dtype)
    if rounding_mode == "trunc":
        return torch.trunc(torch.true_divide(a, b))
    a, b = (
        x.to(dtype) if isinstance(x, torch.Tensor) else
        torch.full((), x, dtype=dtype)
        for x in (a, b)
    )
    # As eager: 1.0 // 0.1 is 9, since 0.1 is a little more than a tenth.
    mod = torch.fmod(a, b)
    div = (a - mod) / b
    div = torch.where((mod != 0) & ((b < 0) != (mod < 0)), div - 1, div)
    floor = torch.floor(div)
    floor = torch.where(div - floor > 0.5, floor + 1, floor)
    quotient = a / b
    out = torch.where(div != 0, floor, torch.copysign(div * 0, quotient))
    return torch.where(b == 0, quotient, out)


@_replaces(aten.floor_divide.default, aten.floor_divide.Scalar)
def _floor_divide(a, b):
    return torch.div(a, b, rounding_mode="floor")


def _shift(a, b, left):
    """Shifts with a count outside the width defined as eager has them."""
    bits = 8 * a.dtype.itemsize
    if not isinstance(b, torch.Tensor):
        b = torch.full((), b, dtype=a.dtype)
    wild = (b < 0) | (b >= bits)
    # Negative numbers leave their sign behind.
    gone = left or a.dtype == torch.uint8
    b = torch.where(wild, 0 if gone else bits - 1, b)
    op = aten.bitwise_left_shift if left else aten.bitwise_right_shift
    out = op.Tensor(a, b)
    return torch.where(wild, 0, out) if gone else out


@_replaces(
    aten.__lshift__.Tensor,
    aten.__lshift__.Scalar,
    aten.bitwise_left_shift.Tensor,
    aten.bitwise_left_shift.Tensor_Scalar,
)
@_once
def _left_shift(a, b):
    if a.is_floating_point():
        return NotImplemented
    return _shift(a, b, True)


@_replaces(
    aten.__rshift__.Tensor,
    aten.__rshift__.Scalar,
    aten.bitwise_right_shift.Tensor,
    aten.bitwise_right_shift.Tensor_Scalar,
)
@_once
def _right_shift(a, b):
    if a.is_floating_point():
        return NotImplemented
    return _shift(a, b, False)


@_replaces(aten.pow.Tensor_Scalar)
def _pow(x, exponent):
    if isinstance(exponent, bool) or not isinstance(exponent, (int, float)):
        return NotImplemented
    if not x.is_floating_point():
        if isinstance(exponent, float) or not 0 < exponent <= 64:
            return NotImplemented
        if x.dtype == torch.bool:
            x = x.to(torch.int64)
        out, square = None, x
        while exponent:
            if exponent & 1:
                out = square if out is None else out * square
            exponent >>= 1
            square = square * square if exponent else square
        return out
    if x.dtype == torch.float16 and exponent in (0.5, -0.5):
        # Of these eager takes pow: of -0 and -infinity it is no root.
        root = torch.sqrt(x.to(torch.float32) + 0.0)
        root = torch.where(x == -math.inf, math.inf, root)
        return (root if exponent > 0 else 1.0 / root).to(x.dtype)
    # The exponents that eager, too, does without pow.
    simple = {
        2: lambda: x * x,
        3: lambda: x * x * x,
        0.5: lambda: torch.sqrt(x),
        -0.5: lambda: torch.rsqrt(x),
        -1: lambda: torch.reciprocal(x),
        -2: lambda: torch.reciprocal(x * x),
    }.get(exponent)
    return NotImplemented if simple is None else simple()


@_replaces(aten.cumprod.default)
def _cumprod(x, dim, *, dtype=None):
    if x.dim() == 0:
        return _scan_scalar(x, dim, dtype=dtype)
    if x.numel() == 0:
        return NotImplemented
    if dtype is not None:
        x = x.to(dtype)
    if _is_low(x):
        # Eager rounds what it shows, not what it goes on with.
        return aten.cumprod.default(_wide(x), dim).to(x.dtype)
    return NotImplemented if dtype is None else aten.cumprod.default(x, dim)


@_replaces(aten.cumsum.default)
def _scan_scalar(x, dim, *, dtype=None):
    if x.dim() != 0:
        return NotImplemented
    if dtype is None:
        dtype = x.dtype if x.is_floating_point() else torch.int64
    return x.to(dtype).clone()


@_replaces(aten.soft_margin_loss_backward.default)
def _soft_margin_loss_backward(grad, x, target, reduction):
    """PyTorch's own rule takes 1 from a sigmoid near 1."""
    if _is_low(x):
        return NotImplemented
    out = -target * grad * torch.sigmoid(-target * x)
    return out / x.numel() if reduction == 1 else out


@_replaces(aten.native_dropout.default)
def _drop_all(x, p, train):
    """Eager's dropout draws no numbers where nothing is left to chance, though
    the op that PyTorch makes of it does."""
    if p != 1.0 or train is False:
        return NotImplemented
    # Not zeros: eager multiplies, and NaN stays.
    return x * 0.0, torch.zeros_like(x, dtype=torch.bool)


@_replaces(aten.bernoulli.default)
def _bernoulli(p, *, generator=None):
    """Eager's raises where these are no probabilities, and draws other numbers
    than those that PyTorch compares with them."""
    return NotImplemented


def _wrapped_indices(x, indices):
    out, dim = [], 0
    for index in indices:
        if index is None:
            out.append(None)
            dim += 1
        elif index.dtype in (torch.bool, torch.uint8):
            return None
        else:
            out.append(torch.where(index < 0, index + x.size(dim), index))
            dim += 1
    return out


def _chosen(x, indices, values, accumulate):
    """One value for all elements of a mask is a choice. A scatter would write it
    once where none of them is true."""
    given = [(d, i) for d, i in enumerate(indices) if i is not None]
    if len(given) != 1 or given[0][1].dim() == 0:
        return NotImplemented
    front, mask = given[0][0], given[0][1] != 0
    rest = x.dim() - front - mask.dim()
    # The mask's dimensions are one of the values', if these have as many.
    at = values.dim() - 1 - rest
    if at >= 0:
        shape = list(values.shape)
        if not isinstance(shape[at], int) or shape[at] != 1:
            return NotImplemented
        values = values.view(shape[:at] + [1] * mask.dim() + shape[at + 1 :])
    mask = mask.view([*mask.shape] + [1] * rest)
    if accumulate:
        values = x | values if x.dtype == torch.bool else x + values
    return torch.where(mask, values, x)


@_replaces(
    aten.index_put.default,
    aten._unsafe_index_put.default,
)
@_once
def _index_put(x, indices, values, accumulate=False):
    wrapped = _wrapped_indices(x, indices)
    if wrapped is None:
        return _chosen(x, indices, values, accumulate)
    if accumulate and x.dtype == torch.bool:
        # In one bit, true and true would be false.
        counts = aten.index_put.default(
            x.to(torch.int64), wrapped, values.to(torch.int64), True
        )
        return counts != 0
    return aten.index_put.default(x, wrapped, values, accumulate)


def _put_rows(x, dim, index, source, accumulate):
    """By indices of which negative ones count from the end, as in index_put."""
    rows = x.unsqueeze(0) if x.dim() == 0 else x
    places = [None] * (dim % rows.dim()) + [index.reshape(-1)]
    out = aten.index_put.default(rows, places, source, accumulate)
    return out.squeeze(0) if x.dim() == 0 else out.contiguous()


def _from_the_front(index):
    """Negative indices become ones that no tensor has: they are errors."""
    index = index.to(torch.int64)
    return torch.where(index < 0, torch.iinfo(torch.int64).max, index)


@_replaces(aten.index_add.default)
def _index_add(x, dim, index, source, *, alpha=1):
    source = source if alpha == 1 else source * alpha
    return _put_rows(x, dim, _from_the_front(index), source, True)


@_replaces(aten.index_copy.default)
def _index_copy(x, dim, index, source):
    return _put_rows(x, dim, _from_the_front(index), source, False)


@_replaces(aten.index_fill.int_Scalar, aten.index_fill.int_Tensor)
def _index_fill(x, dim, index, value):
    # The reference is an index_copy, but here negative indices count from the end.
    if not isinstance(value, torch.Tensor):
        value = torch.full((), value, dtype=x.dtype)
    shape = list(x.shape)
    if shape:
        shape[dim] = index.numel()
    return _put_rows(x, dim, index, value.to(x.dtype).expand(shape), False)


@_replaces(aten._neg_view.default)
def _neg_view(x):
    """Of values there is no view that negates when it is read."""
    return -x


@functools.cache
def _own_table() -> dict:
    from polynest import torch_foreach, torch_gradients, torch_special

    return {
        **torch_special.TABLE,
        **torch_gradients.TABLE,
        **torch_foreach.table(),
        **_TABLE,
    }


@functools.cache
def decomposition_table() -> dict:
    """The whole table, for aot_autograd."""
    from torch_mlir.extras.fx_decomp_util import get_decomposition_table

    return {**get_decomposition_table(), **_own_table()}


class Decompositions:
    """The same table for whoever looks ops up one by one. To make the whole table,
    PyTorch goes through all ops of all libraries for those that it composes of
    others, which takes 0.1 s; few graphs ask for one of those."""

    def __init__(self) -> None:
        from torch._decomp import (
            _core_aten_decompositions_post_autograd,
            get_decompositions,
        )
        from torch_mlir.extras import fx_decomp_util

        left_out = set(fx_decomp_util._EXPANDED_DECOMP_EXCLUDE)
        self._plain = {
            op: found
            for op, found in _core_aten_decompositions_post_autograd().items()
            if op._overloadpacket not in left_out
        }
        self._plain.update(
            get_decompositions(fx_decomp_util.DEFAULT_DECOMPOSITIONS)
        )
        self._plain.update(_own_table())

    def get(self, op: torch._ops.OpOverload) -> Callable | None:
        found = self._plain.get(op)
        if found is None and op._can_decompose():
            found = decomposition_table().get(op)
        return found


@functools.cache
def decompositions() -> Decompositions:
    return Decompositions()
