# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of ops as arithmetic, for the torch frontend.

Ops of backward passes that torch-mlir has no lowering for, and that PyTorch's own
table leaves whole. Gradients of pools are gathered, not scattered, but for maxima
of windows that overlap: the windows that hold a place are a few neighbours, so that
each element of the result is a short sum (torch_places.py) and elements can be
computed at once. Sizes must be known; where they are not, the op stays with eager.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Callable, Sequence

import torch

from polynest.torch_decompositions import spatial
from polynest.torch_places import Term, sum_tensors

aten = torch.ops.aten

TABLE: dict = {}


def _gradient(*ops) -> Callable:
    """Puts a function into the table; low precisions are computed in f32 and
    rounded once."""

    def add(function):
        @functools.wraps(function)
        def wrapped(gradient, *args):
            low = gradient.dtype in (torch.float16, torch.bfloat16)
            if gradient.numel() == 0 or not gradient.is_floating_point():
                return NotImplemented
            out = function(gradient.float() if low else gradient, *args)
            if out is NotImplemented or not low:
                return out
            return out.to(gradient.dtype)

        for op in ops:
            TABLE[op] = wrapped
        return function

    return add


def _known(*sizes) -> bool:
    return all(isinstance(n, int) and n > 0 for n in sizes)


def _along(values: torch.Tensor, rank: int, dim: int) -> torch.Tensor:
    """A vector as a tensor that broadcasts along one dimension."""
    return values.view([-1 if d == dim else 1 for d in range(rank)])


# -- slices ----------------------------------------------------------------------


def _pad_along(x, rank: int, dim: int, before: int, after: int):
    pad = [0, 0] * (rank - 1 - dim) + [before, after]
    return aten.constant_pad_nd.default(x, pad, 0)


def _slice_backward(gradient, sizes, dim, start, end, step):
    """Zeros around: a fill and a copy into it are two passes, where a pad is
    computed where it is read."""
    dim = dim % len(sizes)
    if (
        step != 1
        or not isinstance(start, int)
        or not _known(*sizes, *gradient.shape)
    ):
        out = gradient.new_zeros(sizes)
        return torch.slice_scatter(out, gradient, dim, start, end, step)
    size, length = sizes[dim], gradient.size(dim)
    start = min(max(start + size if start < 0 else start, 0), size)
    return _pad_along(
        gradient, len(sizes), dim, start, size - start - length
    )


def _select_backward(gradient, sizes, dim, index):
    dim = dim % len(sizes)
    if not _known(*sizes) or not isinstance(index, int):
        out = gradient.new_zeros(sizes)
        return torch.select_scatter(out, gradient, dim, index)
    index = index % sizes[dim]
    return _pad_along(
        gradient.unsqueeze(dim), len(sizes), dim, index, sizes[dim] - index - 1
    )


TABLE[aten.slice_backward.default] = _slice_backward
TABLE[aten.select_backward.default] = _select_backward


# -- pools -----------------------------------------------------------------------


def _spread(gradient, dim: int, windows: Sequence[tuple[int, int]], first, last):
    """For each place of a dimension the sum of what the windows that hold it
    give. `windows` has the numbers of the first and last of them for each
    place, as integers; `first` and `last` the same as tensors."""
    most = max(b - a + 1 for a, b in windows)
    if most < 1:
        return NotImplemented
    full = all(b - a + 1 == most for a, b in windows)
    rank, count = gradient.dim(), gradient.size(dim)
    total = None
    for t in range(most):
        at = first + t
        part = gradient.index_select(dim, at.clamp(max=count - 1))
        if not full:
            part = torch.where(_along(at <= last, rank, dim), part, 0.0)
        total = part if total is None else total + part
    return total


def _spread_evenly(gradient, dim, size, kernel, stride, padding):
    """Windows of one length, equally far apart."""
    count = gradient.size(dim)
    taps = [
        Term(gradient, {dim: _tap(count, size, tap, stride, padding, 1)})
        for tap in range(kernel)
    ]
    sizes = list(gradient.shape)
    sizes[dim] = size
    out = sum_tensors(taps, sizes)
    if out is not NotImplemented:
        return out
    windows = [
        (
            max((i + padding - kernel + stride) // stride, 0),
            min((i + padding) // stride, count - 1),
        )
        for i in range(size)
    ]
    place = torch.arange(size) + padding
    last = (place // stride).clamp(max=count - 1)
    # Numbers below 0 are whole steps off: kept out of the division, which
    # rounds down.
    first = (place - kernel + stride).clamp(min=0) // stride
    return _spread(gradient, dim, windows, first, last)


def _spread_adaptively(gradient, dim, size):
    """Window o from floor(o size / count) to ceil((o + 1) size / count)."""
    count = gradient.size(dim)
    windows = [
        (i * count // size, -(-(i + 1) * count // size) - 1)
        for i in range(size)
    ]
    place = torch.arange(size) * count
    first = place // size
    last = (place + (count + size - 1)) // size - 1
    return _spread(gradient, dim, windows, first, last)


def _extent(count, size, kernel, stride, padding, padded):
    """Elements of each window along one dimension; `padded` counts those of
    the padding, which ends where the input does."""
    begin = torch.arange(count) * stride - padding
    end = (begin + kernel).clamp(max=size + padding)
    if not padded:
        begin, end = begin.clamp(min=0), end.clamp(max=size)
    return end - begin


def _average_pool(dims: int) -> Callable:
    def backward(
        gradient, x, kernel, stride, padding, ceil_mode, padded, divisor
    ):
        kernel = spatial(kernel, dims)
        stride = spatial(stride, dims) if stride else kernel
        padding = spatial(padding, dims)
        sizes, counts = x.shape[-dims:], gradient.shape[-dims:]
        if not _known(*sizes, *counts):
            return NotImplemented
        rank, out = gradient.dim(), gradient
        for d in range(dims):
            at = rank - dims + d
            rule = kernel[d], stride[d], padding[d]
            if divisor is None:
                extent = _extent(counts[d], sizes[d], *rule, padded)
                out = out / _along(extent, rank, at).to(out.dtype)
        if divisor is not None:
            out = out / divisor
        for d in range(dims):
            rule = kernel[d], stride[d], padding[d]
            out = _spread_evenly(out, rank - dims + d, sizes[d], *rule)
            if out is NotImplemented:
                return out
        return out

    return backward


def _adaptive_average_pool(dims: int) -> Callable:
    def backward(gradient, x):
        sizes, counts = x.shape[-dims:], gradient.shape[-dims:]
        if not _known(*sizes, *counts):
            return NotImplemented
        rank, out = gradient.dim(), gradient
        for d in range(dims):
            at, count, size = rank - dims + d, counts[d], sizes[d]
            place = torch.arange(count)
            begin = place * size // count
            end = ((place + 1) * size + (count - 1)) // count
            out = out / _along(end - begin, rank, at).to(out.dtype)
        for d in range(dims):
            out = _spread_adaptively(out, rank - dims + d, sizes[d])
        return out

    return backward


def _tap(count, size, tap, stride, padding, dilation):
    """Where the windows of one dimension have their `tap`-th element; -1 in a
    padding."""
    places = (i * stride + tap * dilation - padding for i in range(count))
    return tuple(i if 0 <= i < size else -1 for i in places)


def _gathered(gradient, x, indices, kernel, stride, padding, dilation):
    """For each element of a window the gradient of those windows whose maximum it
    was. Elements in several windows are cheaper scattered to, by one thread."""
    dims, sizes = len(kernel), x.shape[-len(kernel) :]
    if not _known(*x.shape, *gradient.shape) or any(
        s < (k - 1) * d + 1 for k, s, d in zip(kernel, stride, dilation)
    ):
        return NotImplemented
    rank, terms = x.dim(), []
    for taps in itertools.product(*map(range, kernel)):
        place, places = torch.zeros((), dtype=torch.int64), {}
        for d, tap in enumerate(taps):
            dim, count = rank - dims + d, gradient.shape[rank - dims + d]
            rule = stride[d], padding[d], dilation[d]
            places[dim] = _tap(count, sizes[d], tap, *rule)
            step = math.prod(sizes[d + 1 :])
            first = (tap * dilation[d] - padding[d]) * step
            line = torch.arange(count) * (stride[d] * step) + first
            place = place + _along(line, rank, dim)
        part = torch.where(indices == place, gradient, 0.0)
        terms.append(Term(part, places))
    return sum_tensors(terms, x.shape)


def _scattered(gradient, x, indices, dims: int):
    """Each window's gradient to the place that its maximum came from."""
    if not _known(*x.shape, *gradient.shape):
        return NotImplemented
    rows = math.prod(x.shape[:-dims])
    places = math.prod(x.shape[-dims:])
    # One number for each element: torch-mlir's scatter takes a tensor of those
    # of all dimensions.
    first = torch.arange(rows).unsqueeze(1) * places
    out = aten.scatter_add.default(
        gradient.new_zeros([rows * places]),
        0,
        (indices.reshape(rows, -1) + first).reshape(-1),
        gradient.reshape(-1),
    )
    return out.view(x.shape)


_gradient(aten.avg_pool2d_backward.default)(_average_pool(2))
_gradient(aten.avg_pool3d_backward.default)(_average_pool(3))
_gradient(aten._adaptive_avg_pool2d_backward.default)(_adaptive_average_pool(2))
_gradient(aten._adaptive_avg_pool3d_backward.default)(_adaptive_average_pool(3))


@_gradient(aten.adaptive_max_pool2d_backward.default)
def _adaptive_max_pool2d_backward(gradient, x, indices):
    return _scattered(gradient, x, indices, 2)


@_gradient(aten.adaptive_max_pool3d_backward.default)
def _adaptive_max_pool3d_backward(gradient, x, indices):
    return _scattered(gradient, x, indices, 3)


@_gradient(aten.max_pool2d_with_indices_backward.default)
def _max_pool2d_backward(
    gradient, x, kernel, stride, padding, dilation, ceil_mode, indices
):
    return _max_pool(gradient, x, indices, kernel, stride, padding, dilation, 2)


@_gradient(aten.max_pool3d_with_indices_backward.default)
def _max_pool3d_backward(
    gradient, x, kernel, stride, padding, dilation, ceil_mode, indices
):
    return _max_pool(gradient, x, indices, kernel, stride, padding, dilation, 3)


def _max_pool(gradient, x, indices, kernel, stride, padding, dilation, dims):
    kernel = spatial(kernel, dims)
    stride = spatial(stride, dims) if stride else kernel
    rule = stride, spatial(padding, dims), spatial(dilation, dims)
    out = _gathered(gradient, x, indices, kernel, *rule)
    if out is NotImplemented:
        return _scattered(gradient, x, indices, dims)
    return out


# -- losses ----------------------------------------------------------------------


@_gradient(aten.nll_loss_backward.default, aten.nll_loss2d_backward.default)
def _nll_loss_backward(gradient, x, target, weight, reduction, ignored, total):
    """One element of each row: by a comparison, which whoever reads the gradient
    makes for itself, where PyTorch's table scatters into zeros. That the classes
    are there is asserted by the forward pass, which looks them up."""
    if not _known(*x.shape):
        return NotImplemented
    rank = x.dim()
    dim = 1 if rank > 1 else 0
    if reduction == 1:  # the mean
        gradient = gradient / total
    if 0 < gradient.dim() < rank:
        gradient = gradient.unsqueeze(dim)
    # A class that there is not, for a row that does not count.
    target = torch.where(target != ignored, target, -1).unsqueeze(dim)
    if weight is not None:
        gradient = gradient * weight[target.clamp(min=0)]
    classes = _along(torch.arange(x.size(dim)), rank, dim)
    return torch.where(classes == target, -gradient, 0.0)


# -- paddings --------------------------------------------------------------------


def _unpad(gradient, dim: int, size: int, before: int, after: int):
    """The places of a padding that repeats the border give to the border."""
    rank = gradient.dim()
    length = size - max(-before, 0) - max(-after, 0)
    if length < 1:
        return NotImplemented
    out = gradient.narrow(dim, max(before, 0), length)
    if before > 0:
        edge = gradient.narrow(dim, 0, before).sum(dim, keepdim=True)
        out = out + _pad_along(edge, rank, dim, 0, length - 1)
    if after > 0:
        edge = gradient.narrow(dim, gradient.size(dim) - after, after)
        edge = edge.sum(dim, keepdim=True)
        out = out + _pad_along(edge, rank, dim, length - 1, 0)
    if before < 0 or after < 0:
        out = _pad_along(out, rank, dim, max(-before, 0), max(-after, 0))
    return out


@_gradient(
    aten.replication_pad1d_backward.default,
    aten.replication_pad2d_backward.default,
    aten.replication_pad3d_backward.default,
)
def _replication_pad_backward(gradient, x, padding):
    if not _known(*x.shape) or not all(isinstance(p, int) for p in padding):
        return NotImplemented
    out = gradient
    for i in range(len(padding) // 2):
        dim = x.dim() - 1 - i
        out = _unpad(out, dim, x.size(dim), *padding[2 * i : 2 * i + 2])
        if out is NotImplemented:
            return out
    return out


def _reflection_pad_backward(gradient, x, padding):
    """The places of the padding give to those that they are copies of."""
    if not _known(*x.shape) or not all(isinstance(p, int) for p in padding):
        return NotImplemented
    places = {}
    for i in range(len(padding) // 2):
        dim = x.dim() - 1 - i
        before, last = padding[2 * i], x.size(dim) - 1
        line = (abs(j - before) for j in range(gradient.size(dim)))
        places[dim] = tuple(last - abs(last - j) for j in line)
    return sum_tensors([Term(gradient, places)], x.shape)


_gradient(
    aten.reflection_pad1d_backward.default,
    aten.reflection_pad2d_backward.default,
    aten.reflection_pad3d_backward.default,
)(_reflection_pad_backward)


# -- convolutions ----------------------------------------------------------------


def _phase(gradient, weight, steps, rule, sizes):
    """The input's gradient at the places i with (i + padding) % stride == r, for
    (stride, r) of each dimension: a plain convolution with every stride-th of the
    weights, whose order is reversed. `sizes` are numbers of places. None where no
    weight meets any of them."""
    _, padding, dilation, groups = rule
    dims, pad = len(sizes), []
    for d in range(dims):
        stride, r = steps[d]
        weight = weight[(slice(None),) * (2 + d) + (slice(r, None, stride),)]
        if weight.size(2 + d) == 0:
            return None
        reach = dilation[d] * (weight.size(2 + d) - 1)
        # The first place is step q, the last one step q + sizes[d] - 1.
        q = -((r - padding[d]) // stride)
        end = q + sizes[d] - 1
        pad = [reach - q, end - gradient.size(2 + d) + 1, *pad]
    weight = torch.flip(weight, list(range(2, 2 + dims)))
    return aten.convolution.default(
        _padded(gradient, pad), weight, None,
        [1] * dims, [0] * dims, dilation, False, [0] * dims, groups,
    )


def _padded(x, pad):
    return aten.constant_pad_nd.default(x, pad, 0) if any(pad) else x


def _interleaved(parts, dim: int):
    """Elements of all parts in turn; None stands for zeros. Around one part these
    are a pad: of a concatenation each part is a nest of its own, which may end up
    in that of a neighbour and keep a contraction there from being one."""
    some = [n for n, part in enumerate(parts) if part is not None]
    if not some or len(parts) == 1:
        return parts[0]
    first = parts[some[0]]
    if len(some) == 1:
        n, rank = some[0], first.dim() + 1
        padded = _pad_along(
            first.unsqueeze(dim + 1), rank, dim + 1, n, len(parts) - 1 - n
        )
        return padded.flatten(dim, dim + 1)
    zeros = None if len(some) == len(parts) else first.new_zeros(first.shape)
    parts = [zeros if part is None else part for part in parts]
    return torch.stack(parts, dim + 1).flatten(dim, dim + 1)


def _mixes_phases(stride, dilation) -> bool:
    """Whether phases of the input's gradient meet weights of all, as where a stride
    and its dilation are above 1."""
    return any(s > 1 < d for s, d in zip(stride, dilation))


def _input_gradient(gradient, shape, weight, rule):
    """The gradient of a convolution's input of that shape: one convolution for each
    remainder of the place by the stride. Zeros between the elements of the gradient
    would be multiplied as often again as the strides' product."""
    stride, padding, _, groups = rule
    dims = len(shape) - 2
    # Channels of a group come first, then those of the result.
    weight = weight.unflatten(0, (groups, -1)).transpose(1, 2).flatten(0, 1)
    sizes = [-(-shape[2 + d] // stride[d]) for d in range(dims)]

    def at(offsets):
        d = len(offsets)
        if d == dims:
            steps = [
                (n, (o + p) % n) for n, o, p in zip(stride, offsets, padding)
            ]
            return _phase(gradient, weight, steps, rule, sizes)
        parts = [at((*offsets, o)) for o in range(stride[d])]
        return _interleaved(parts, 2 + d)

    out = at(())
    if out is None:
        return gradient.new_zeros(shape)
    for d in range(2, len(shape)):
        out = out.narrow(d, 0, shape[d])
    return out


def _weight_gradient(gradient, x, sizes, rule):
    """The gradient of a convolution's weights: the convolution of the input by
    the gradient, with batches for channels, and stride and dilation exchanged. The
    input is padded, or cut, to what `sizes` weights meet."""
    stride, padding, dilation, groups = rule
    dims, pad = x.dim() - 2, []
    for d in range(dims):
        reach = stride[d] * (gradient.size(2 + d) - 1)
        reach += dilation[d] * (sizes[d] - 1) + 1
        pad = [padding[d], reach - x.size(2 + d) - padding[d], *pad]
    x = _padded(x, pad).unflatten(1, (groups, -1)).movedim(0, 2)
    out = aten.convolution.default(
        x.transpose(0, 1).flatten(1, 2), gradient.transpose(0, 1), None,
        dilation, [0] * dims, stride, False, [0] * dims, groups,
    )
    # As weights lie: of any other strides autograd keeps a copy.
    return out.transpose(0, 1).contiguous()


def _transposed_backward(gradient, x, weight, rule, mask):
    """Of a transposed convolution: the input's is a plain one of the gradient,
    the weights' that of a plain one with input and gradient exchanged."""
    dims = x.dim() - 2
    of_input = of_weight = None
    if mask[0]:
        of_input = aten.convolution.default(
            gradient, weight, None, *rule[:3], False, [0] * dims, rule[3]
        )
        # An output padding beyond the stride adds places at the end.
        for d in range(2, x.dim()):
            of_input = of_input.narrow(d, 0, x.size(d))
    if mask[1]:
        of_weight = _weight_gradient(x, gradient, weight.shape[2:], rule)
    return of_input, of_weight


def _convolution_backward(
    gradient, x, weight, bias_sizes, stride, padding, dilation,
    transposed, output_padding, groups, mask,
):
    dims = x.dim() - 2
    if not _known(*gradient.shape[1:], *x.shape[1:], *weight.shape):
        return NotImplemented
    stride, padding, dilation = (
        spatial(n, dims) for n in (stride, padding, dilation)
    )
    rule = stride, padding, dilation, groups
    # torch-mlir takes no unknown number of channels, which the batch is here: the
    # weights' gradient alone then stays as it is.
    own_weight = mask[1] and _known(x.size(0))
    if not own_weight and not mask[0] and not mask[2]:
        return NotImplemented
    of_input = of_weight = of_bias = None
    if transposed:
        of_input, of_weight = _transposed_backward(
            gradient, x, weight, rule, (mask[0], own_weight)
        )
    elif mask[0] and _mixes_phases(stride, dilation):
        return NotImplemented
    else:
        if mask[0]:
            of_input = _input_gradient(gradient, x.shape, weight, rule)
        if own_weight:
            of_weight = _weight_gradient(gradient, x, weight.shape[2:], rule)
    if mask[1] and not own_weight:
        of_weight = aten.convolution_backward.default(
            gradient, x, weight, bias_sizes, stride, padding, dilation, transposed,
            output_padding, groups, [False, True, False],
        )[1]
    if mask[2]:
        of_bias = gradient.sum([0, *range(2, x.dim())])
    return of_input, of_weight, of_bias


TABLE[aten.convolution_backward.default] = _convolution_backward


def _transposed_convolution(
    x, weight, bias, stride, padding, dilation, transposed, output_padding, groups
):
    """With strides, the gradient of the input of the convolution that has the same
    weights: torch-mlir would put zeros between the elements and multiply by them."""
    dims = weight.dim() - 2
    if not transposed or x.dim() != weight.dim() or not (
        _known(*x.shape[1:], *weight.shape) and x.is_floating_point()
    ):
        return NotImplemented
    stride, padding, dilation, more = (
        spatial(n, dims) for n in (stride, padding, dilation, output_padding)
    )
    # One weight is never apart from itself.
    dilation = [d if n > 1 else 1 for d, n in zip(dilation, weight.shape[2:])]
    if max(stride) == 1 or _mixes_phases(stride, dilation):
        return NotImplemented
    sizes = [
        (x.size(2 + d) - 1) * stride[d] - 2 * padding[d]
        + dilation[d] * (weight.size(2 + d) - 1) + more[d] + 1
        for d in range(dims)
    ]
    if not _known(*sizes):
        return NotImplemented
    shape = (x.size(0), weight.size(1) * groups, *sizes)
    out = _input_gradient(x, shape, weight, (stride, padding, dilation, groups))
    return out if bias is None else out + _along(bias, len(shape), 1)


TABLE[aten.convolution.default] = _transposed_convolution


# -- distances, and what a mask has chosen -------------------------------------------


@_gradient(aten._cdist_backward.default)
def _cdist_backward(gradient, a, b, p, distance):
    if a.numel() == 0 or b.numel() == 0 or a.dtype != gradient.dtype:
        return NotImplemented
    d = a.unsqueeze(-2) - b.unsqueeze(-3)
    length, gradient = distance.unsqueeze(-1), gradient.unsqueeze(-1)
    if p == 0.0:
        return torch.zeros_like(d).sum(-2)
    if p == 1.0:
        part = gradient * torch.sign(d)
    elif p == math.inf:
        largest = torch.abs(d) == length
        part = torch.where(largest, gradient * torch.sign(d), 0.0)
    else:
        if p == 2.0:
            part = gradient * d / length
        elif p < 2.0:
            steep = torch.sign(d) * torch.pow(torch.abs(d), p - 1.0)
            part = steep * gradient / torch.pow(length, p - 1.0)
            if p < 1.0:
                part = torch.where(d == 0.0, 0.0, part)
        else:
            steep = d * torch.pow(torch.abs(d), p - 2.0)
            part = steep * gradient / torch.pow(length, p - 1.0)
        part = torch.where(length == 0.0, 0.0, part)
    return part.sum(-2)


@_gradient(aten.masked_scatter_backward.default)
def _masked_scatter_backward(gradient, mask, sizes):
    """The k-th value taken went to the k-th place that the mask has."""
    if not _known(*sizes, *gradient.shape):
        return NotImplemented
    count = math.prod(sizes)
    chosen = mask.expand(gradient.shape).reshape(-1)
    # What was not taken goes behind the end.
    order = torch.cumsum(chosen.to(torch.int64), 0) - 1
    places = torch.where(chosen, order, count)
    out = aten.scatter.src(
        gradient.new_zeros([max(count, gradient.numel()) + 1]),
        0,
        places,
        gradient.reshape(-1),
    )
    return out.narrow(0, 0, count).view(sizes)
