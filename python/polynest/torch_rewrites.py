# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrites of ATen graphs that look at more than one op.

A decomposition sees the arguments of its op alone. What also has to be known,
such as that the offsets of bags are equally far apart, can be read off the graph
here, before it is divided into regions. Each rewrite keeps eager's result.
"""

from __future__ import annotations

import operator
from typing import Any, Callable

import torch
import torch.fx
from torch.fx.node import map_arg

aten = torch.ops.aten


def _first_value(node: torch.fx.Node) -> Any:
    value = node.meta.get("val")
    return value[0] if isinstance(value, (list, tuple)) else value


class _Builder:
    """New nodes in front of one, each with the fake tensor that it gives."""

    def __init__(self, graph: torch.fx.Graph, place: torch.fx.Node) -> None:
        self.graph, self.place = graph, place
        self.mode = getattr(_first_value(place), "fake_mode", None)

    def call(self, target: Callable, *args: Any, **kwargs: Any):
        with self.graph.inserting_before(self.place):
            node = self.graph.call_function(target, args, kwargs)
        values, named = map_arg((args, kwargs), lambda n: n.meta["val"])
        with self.mode:
            node.meta["val"] = target(*values, **named)
        node.meta["stack_trace"] = self.place.meta.get("stack_trace")
        return node


# -- bags of embeddings ----------------------------------------------------------

_BAGS = (
    aten._embedding_bag.default,
    aten._embedding_bag_forward_only.default,
)
_SUM, _MEAN = 0, 1


def _bag_size(offsets: torch.fx.Node, indices: torch.fx.Node) -> int | None:
    """Indices a bag, where all bags have as many: the offsets of a matrix of
    indices, one bag a row, are 0, n, 2n, ..."""
    if offsets.target is not aten.arange.start_step:
        return None
    begin, end, step = (*offsets.args, 1)[:3]
    count = indices.meta["val"].shape[0]
    if not all(type(n) is int for n in (begin, end, step, count)):
        return None
    if begin != 0 or step < 1 or end != count or count % step:
        return None
    return step


def _rewrite_bag(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    names = ("weight", "indices", "offsets", "scale_grad_by_freq", "mode",
             "sparse", "per_sample_weights", "include_last_offset",
             "padding_idx")
    given = dict(zip(names, node.args)) | dict(node.kwargs)
    mode = given.get("mode", _SUM)
    size = _bag_size(given["offsets"], given["indices"])
    used = list(node.users)
    if (
        size is None
        or any(u.target is not operator.getitem or u.args[1] for u in used)
        or given.get("include_last_offset", False)
        or given.get("padding_idx", -1) >= 0
        or given.get("per_sample_weights") is not None
        or mode not in (_SUM, _MEAN)
        or _first_value(node).dtype not in (torch.float32, torch.float64)
    ):
        return
    b = _Builder(graph, node)
    rows = b.call(aten.view.default, given["indices"], [-1, size])
    rows = b.call(aten.embedding.default, given["weight"], rows)
    out = b.call(aten.sum.dim_IntList, rows, [1])
    if mode == _MEAN:
        out = b.call(aten.div.Tensor, out, size)
    for user in used:
        user.replace_all_uses_with(out)
        graph.erase_node(user)
    graph.erase_node(node)


# -- one rounding or two ------------------------------------------------------------


def _rewrite_fma(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """What Dynamo makes of optimizers' updates by a factor that is a tensor, for
    the sake of another device: eager's loops round twice here."""
    a, b, c = node.args
    builder = _Builder(graph, node)
    product = builder.call(aten.mul.Tensor, a, b)
    node.replace_all_uses_with(builder.call(aten.add.Tensor, product, c))
    graph.erase_node(node)


# -- all of them -----------------------------------------------------------------

_REWRITES = {
    **{str(target): _rewrite_bag for target in _BAGS},
    # Not there before Dynamo has used it.
    "prims.fma.default": _rewrite_fma,
}


def rewrite(module: torch.fx.GraphModule) -> None:
    """Applies every rewrite of this file to a graph with fake tensors."""
    graph = module.graph
    # From the end: the outermost of nested sums comes first.
    for node in reversed(list(graph.nodes)):
        if node.op == "call_function":
            change = _REWRITES.get(str(node.target))
            if change is not None:
                change(graph, node)
    graph.eliminate_dead_code()
