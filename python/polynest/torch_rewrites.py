# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrites of ATen graphs that look at more than one op.

A decomposition sees the arguments of its op alone. What also has to be known,
such as that the offsets of bags are equally far apart, can be read off the graph
here, before it is divided into regions. Each rewrite keeps eager's result.
"""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any, Callable

import torch
import torch.fx

from polynest.torch_nodes import (
    Builder,
    first_value,
    is_plain_sum,
    static_shape,
)
from polynest.torch_places import PUTS, gather_sums, is_zero

aten = torch.ops.aten


# -- numbers that may depend on sizes ----------------------------------------------


def _number(value: Any) -> Any:
    """What stands for an argument that is a number or its node."""
    return value.meta["val"] if isinstance(value, torch.fx.Node) else value


def _known(fact: Any) -> bool:
    """Whether something is true of all sizes."""
    # Brings sympy along, which is slow to load.
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    return statically_known_true(fact)


def _counts(node: torch.fx.Node, count: Any) -> bool:
    """Whether the elements of a tensor are 0, 1, 2 up to so many."""
    if node.target is not aten.arange.start_step:
        return False
    begin, end, step = map(_number, (*node.args, 1)[:3])
    return _known(begin == 0) and _known(end == count) and _known(step == 1)


# -- bags of embeddings ----------------------------------------------------------

BAGS = (
    aten._embedding_bag.default,
    aten._embedding_bag_forward_only.default,
)
_BAG_ARGUMENTS = (
    "weight", "indices", "offsets", "scale_grad_by_freq", "mode", "sparse",
    "per_sample_weights", "include_last_offset", "padding_idx",
)
_SUM, _MEAN = 0, 1


def _bag_arguments(node: torch.fx.Node) -> dict[str, Any]:
    return dict(zip(_BAG_ARGUMENTS, node.args)) | dict(node.kwargs)


def has_padded_bags(node: torch.fx.Node) -> bool:
    """Whether some rows of bags of embeddings count for none or in part."""
    given = _bag_arguments(node)
    return (
        given.get("padding_idx", -1) >= 0
        or given.get("per_sample_weights") is not None
    )


def _bag_size(offsets: torch.fx.Node, indices: torch.fx.Node) -> Any:
    """Indices a bag, a number or its node, where all bags have as many: the
    offsets of a matrix of indices, one bag a row, are 0, n, 2n, ..."""
    if offsets.target is not aten.arange.start_step:
        return None
    given = (*offsets.args, 1)[:3]
    begin, end, step = map(_number, given)
    count = indices.meta["val"].shape[0]
    if not all(type(n) in (int, torch.SymInt) for n in (begin, end, step)):
        return None
    # Facts of which the first fails are not asked for.
    facts = (
        lambda: begin == 0,
        lambda: step >= 1,
        lambda: end == count,
        lambda: count % step == 0,
    )
    return given[2] if all(_known(f()) for f in facts) else None


def _rewrite_bag(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    given = _bag_arguments(node)
    mode = given.get("mode", _SUM)
    size = _bag_size(given["offsets"], given["indices"])
    used = list(node.users)
    if (
        size is None
        or any(u.target is not operator.getitem or u.args[1] for u in used)
        or given.get("include_last_offset", False)
        or has_padded_bags(node)
        or mode not in (_SUM, _MEAN)
        # No op divides by a size that is not known yet.
        or (mode == _MEAN and type(size) is not int)
        or first_value(node).dtype not in (torch.float32, torch.float64)
    ):
        return
    b = Builder(graph, node)
    rows = b.call(aten.view.default, given["indices"], [-1, size])
    rows = b.call(aten.embedding.default, given["weight"], rows)
    out = b.call(aten.sum.dim_IntList, rows, [1])
    if mode == _MEAN:
        out = b.call(aten.div.Tensor, out, size)
    for user in used:
        user.replace_all_uses_with(out)
        graph.erase_node(user)
    graph.erase_node(node)


# -- sums of gradients -----------------------------------------------------------

# What a tensor is added to by several readers: its gradient is the sum of theirs,
# each with zeros where that reader has read nothing.
_WIDE = (torch.float32, torch.float64)


def _padding(node: Any) -> tuple[int, int, int] | None:
    """(dimension, zeros in front, elements) of a tensor padded with zeros along
    one dimension."""
    if (
        not isinstance(node, torch.fx.Node)
        or node.target is not aten.constant_pad_nd.default
    ):
        return None
    source, pad, *value = node.args
    inner = static_shape(source)
    if inner is None or static_shape(node) is None or value not in ([], [0]):
        return None
    if not all(type(p) is int and p >= 0 for p in pad):
        return None
    padded = [i for i in range(len(pad) // 2) if any(pad[2 * i : 2 * i + 2])]
    if len(padded) != 1:
        return None
    dim = len(inner) - 1 - padded[0]
    return dim, pad[2 * padded[0]], inner[dim]


def _padded_sum(node: torch.fx.Node) -> list[torch.fx.Node] | None:
    """A sum of sums of padded tensors, with all sums and padded tensors in it,
    each in front of its operands, where it adds nothing else and nobody reads
    them besides."""
    found, waiting = [], [node]
    while waiting:
        part = waiting.pop()
        found.append(part)
        if _padding(part) is not None:
            continue
        if not is_plain_sum(part):
            return None
        if any(len(a.users) != 1 for a in part.args):
            return None
        waiting += dict.fromkeys(part.args)
    return found


# The elements between two edges -> what a sum has there, other than zeros.
_Pieces = dict[tuple[int, int], torch.fx.Node]


def _cut(b: Builder, padded: torch.fx.Node, places: list) -> _Pieces:
    """`places` are between edges, and edges are where zeros begin or end."""
    source = padded.args[0]
    dim, front, count = _padding(padded)
    pieces = {}
    for begin, end in places:
        if (begin, end) == (front, front + count):
            pieces[begin, end] = source
        elif front <= begin and end <= front + count:
            pieces[begin, end] = b.call(
                aten.slice.Tensor, source, dim, begin - front, end - front
            )
    return pieces


def _add_pieces(
    b: Builder, first: _Pieces, second: _Pieces, plus_zero: set
) -> _Pieces:
    """Adding zero changes one number, -0.0, and that once: `plus_zero` are
    the results of having done so."""
    pieces = {}
    for place in first | second:
        terms = [p[place] for p in (first, second) if place in p]
        if len(terms) == 2:
            pieces[place] = b.call(aten.add.Tensor, *terms)
        elif terms[0] in plus_zero:
            pieces[place] = terms[0]
        else:
            pieces[place] = b.call(aten.add.Scalar, terms[0], 0.0)
            plus_zero.add(pieces[place])
    return pieces


def _join_padded(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """A sum of padded tensors as a concatenation: each part adds what is there,
    and no zeros are written and read."""
    if not is_plain_sum(node) or node.meta["val"].dtype not in _WIDE:
        return
    if 0 in static_shape(node):
        return
    parts = _padded_sum(node)
    if parts is None:
        return
    paddings = [p for p in map(_padding, parts) if p is not None]
    dim = paddings[0][0]
    if any(p[0] != dim for p in paddings):
        return
    edges = {0, static_shape(node)[dim]}
    for _, front, count in paddings:
        edges |= {front, front + count}
    places = list(itertools.pairwise(sorted(edges)))
    b = Builder(graph, node)
    pieces: dict[torch.fx.Node, _Pieces] = {}
    plus_zero: set[torch.fx.Node] = set()
    for part in reversed(parts):
        if _padding(part) is not None:
            pieces[part] = _cut(b, part, places)
        else:
            first, second = (pieces[a] for a in part.args)
            pieces[part] = _add_pieces(b, first, second, plus_zero)
    joined = []
    for begin, end in places:
        piece = pieces[node].get((begin, end))
        if piece is None:
            shape = static_shape(node)
            shape[dim] = end - begin
            piece = b.call(
                aten.full.default, shape, 0.0, dtype=node.meta["val"].dtype
            )
        joined.append(piece)
    node.replace_all_uses_with(b.call(aten.cat.default, joined, dim))
    # The sums inside as well: they would be joined once more.
    for part in parts:
        graph.erase_node(part)


def _behind_views(node: torch.fx.Node) -> torch.fx.Node:
    while node.target in (aten.permute.default, aten.view.default):
        node = node.args[0]
    return node


def _add_into(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """A matrix product plus what is scattered into zeros: scattered into the
    product. A table of embeddings that is a layer's weight, too, has such a
    gradient, and few of its rows are looked up."""
    if not is_plain_sum(node) or node.meta["val"].dtype not in _WIDE:
        return
    for product, put in (node.args, node.args[::-1]):
        if (
            put.target in PUTS
            and len(put.args) == 4
            and put.args[3] is True
            and is_zero(put.args[0])
            and len(put.users) == 1
            # A sum of products is -0.0 where all of it vanishes only.
            and _behind_views(product).target is aten.mm.default
        ):
            _, places, values, _ = put.args
            b = Builder(graph, node)
            out = b.call(put.target, product, places, values, True)
            node.replace_all_uses_with(out)
            graph.erase_node(node)
            return


def _rewrite_sum(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    if node.users:
        _join_padded(graph, node)
    if node.users:
        _add_into(graph, node)


# -- few elements -----------------------------------------------------------------

# Cheaper to compute twice than to keep.
_CHEAP = (aten.sub.Tensor, aten.add.Tensor, aten.mul.Tensor)
_FEW = 4  # a part of the elements


def _rewrite_gather(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """A few elements of a sum or product: operands are gathered first, so that
    nobody needs the others, such as the logarithms of all classes beside those
    of a loss."""
    source, dim, index = node.args[:3]
    shape, places = static_shape(source), static_shape(index)
    if (
        len(node.args) > 3
        or node.kwargs
        or source.target not in _CHEAP
        or source.kwargs
        or not shape
        or not places
        or math.prod(places) * _FEW > math.prod(shape)
    ):
        return
    dim = dim % len(shape)
    around = [*shape[:dim], 1, *shape[dim + 1 :]]
    if [*places[:dim], 1, *places[dim + 1 :]] != around:
        return
    for operand in source.args:
        if not isinstance(operand, torch.fx.Node):
            return
        if operand.meta["val"].dtype != source.meta["val"].dtype:
            return
        if static_shape(operand) not in (shape, around):
            return
    b = Builder(graph, node)
    few = [
        b.call(node.target, operand, dim, index)
        if static_shape(operand) == shape
        else operand
        for operand in source.args
    ]
    node.replace_all_uses_with(b.call(source.target, *few))
    graph.erase_node(node)
    for operand in few:
        if operand.target is aten.gather.default:
            _rewrite_gather(graph, operand)


_RESHAPES = (aten.view.default, aten.unsqueeze.default)


def _size_along(node: Any, dim: int, rank: int) -> int | None:
    """Of a tensor that is broadcast to `rank` dimensions; None where it is not
    known."""
    shape = static_shape(node)
    if shape is None:
        return None
    return 1 if len(shape) < rank - dim else shape[dim - rank]


def _counts_along(node: Any, dim: int, rank: int, count: int) -> bool:
    """Whether a tensor has the numbers 0, 1, 2 up to so many along one of `rank`
    dimensions, and nothing besides."""
    if (
        _size_along(node, dim, rank) != count
        or node.meta["val"].numel() != count
    ):
        return False
    while node.target in _RESHAPES:
        node = node.args[0]
    return _counts(node, count)


def _rewrite_chosen(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """The sum of a row in which one element at most is not zero, that at a place
    given by number: of the gradient of a loss by class."""
    source, dims, *keep = node.args
    shape = static_shape(source)
    if (
        source.target is not aten.where.self
        or not shape
        or len(dims or ()) != 1
        or keep != [True]
        or node.kwargs
        # A sum of others may be of another type.
        or not node.meta["val"].is_floating_point()
    ):
        return
    condition, chosen, other = source.args
    rank, dim = len(shape), dims[0] % len(shape)
    if condition.target is not aten.eq.Tensor or not is_zero(other):
        return
    for numbers, place in (condition.args, condition.args[::-1]):
        if (
            _counts_along(numbers, dim, rank, shape[dim])
            and _size_along(place, dim, rank) == 1
            and not place.meta["val"].is_floating_point()
            and _size_along(chosen, dim, rank) == 1
        ):
            b = Builder(graph, node)
            there = b.call(
                aten.bitwise_and.Tensor,
                b.call(aten.ge.Scalar, place, 0),
                b.call(aten.lt.Scalar, place, shape[dim]),
            )
            out = b.call(aten.where.self, there, chosen, other)
            # As in a sum: not -0.0.
            out = b.call(aten.add.Scalar, out, 0.0)
            sizes = [*shape[:dim], 1, *shape[dim + 1 :]]
            if static_shape(out) != sizes:
                out = b.call(aten.expand.default, out, sizes)
            node.replace_all_uses_with(out)
            graph.erase_node(node)
            return


# -- one rounding or two ------------------------------------------------------------


def _rewrite_fma(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """What Dynamo makes of optimizers' updates by a factor that is a tensor, for
    the sake of another device: eager's loops round twice here."""
    a, b, c = node.args
    builder = Builder(graph, node)
    product = builder.call(aten.mul.Tensor, a, b)
    node.replace_all_uses_with(builder.call(aten.add.Tensor, product, c))
    graph.erase_node(node)


# -- one place of each row ----------------------------------------------------------


def _rewrite_places(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """x[arange(n), i] of n rows that are not known: torch-mlir cannot tell that
    both indices are of one length."""
    source, indices = node.args
    if len(indices) != 2 or None in indices:
        return
    x, i = source.meta["val"], indices[1].meta["val"]
    if (
        x.dim() < 2
        or i.dim() != 1
        or i.dtype != torch.int64
        or isinstance(x.shape[0], int)
        or not _counts(indices[0], x.shape[0])
        or not _known(i.shape[0] == x.shape[0])
    ):
        return
    b = Builder(graph, node)
    length, *wide = (
        n if isinstance(n, int) else b.call(aten.sym_size.int, source, d)
        for d, n in enumerate(x.shape[1:], 1)
    )
    negative = b.call(aten.lt.Scalar, indices[1], 0)
    behind = b.call(aten.add.Tensor, indices[1], length)
    places = b.call(aten.where.self, negative, behind, indices[1])
    places = b.call(aten.view.default, places, [-1] + [1] * (x.dim() - 1))
    places = b.call(aten.expand.default, places, [-1, 1, *wide])
    out = b.call(aten.gather.default, source, 1, places)
    node.replace_all_uses_with(b.call(aten.squeeze.dim, out, 1))
    graph.erase_node(node)


# -- numbers computed from sizes ----------------------------------------------------


def _rewrite_division(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """PyTorch divides such numbers by another name of the op."""
    node.target = aten.div.Tensor


# -- all of them -----------------------------------------------------------------

_REWRITES = {
    **{str(target): _rewrite_bag for target in BAGS},
    "aten.add.Tensor": _rewrite_sum,
    "aten.gather.default": _rewrite_gather,
    "aten.index.Tensor": _rewrite_places,
    "aten.sum.dim_IntList": _rewrite_chosen,
    "aten.true_divide.Tensor": _rewrite_division,
    # Not there before Dynamo has used it.
    "prims.fma.default": _rewrite_fma,
}


def rewrite(module: torch.fx.GraphModule) -> None:
    """Applies every rewrite of this file to a graph with fake tensors."""
    graph = module.graph
    gather_sums(graph)
    # From the end: the outermost of nested sums comes first.
    for node in reversed(list(graph.nodes)):
        if node.op == "call_function":
            change = _REWRITES.get(str(node.target))
            if change is not None:
                change(graph, node)
    graph.eliminate_dead_code()
