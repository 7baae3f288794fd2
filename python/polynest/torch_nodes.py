# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What changes of ATen graphs ask of nodes with fake tensors, and make them by."""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch.fx
from torch.fx.node import map_arg

from polynest import torch_sizes

aten = torch.ops.aten


def first_value(node: torch.fx.Node) -> Any:
    value = node.meta.get("val")
    return value[0] if isinstance(value, (list, tuple)) else value


class Builder:
    """New nodes in front of one, each with the fake tensor that it gives."""

    def __init__(self, graph: torch.fx.Graph, place: torch.fx.Node) -> None:
        self.graph, self.place = graph, place
        self.mode = getattr(first_value(place), "fake_mode", None)

    def call(self, target: Callable, *args: Any, **kwargs: Any):
        with self.graph.inserting_before(self.place):
            node = self.graph.call_function(target, args, kwargs)
        values, named = map_arg((args, kwargs), lambda n: n.meta["val"])
        with self.mode:
            node.meta["val"] = target(*values, **named)
        node.meta["stack_trace"] = self.place.meta.get("stack_trace")
        return node


def static_shape(node: Any) -> list[int] | None:
    """None of what is no tensor, or has a size that is not known."""
    value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    if not isinstance(value, torch.Tensor):
        return None
    shape = list(value.shape)
    return shape if torch_sizes.are_numbers(shape) else None


def is_plain_sum(node: Any) -> bool:
    """Whether a node adds two tensors of its own shape and type."""
    if not isinstance(node, torch.fx.Node):
        return False
    if node.target is not aten.add.Tensor:
        return False
    if node.kwargs or len(node.args) != 2 or static_shape(node) is None:
        return False
    return all(
        isinstance(a, torch.fx.Node)
        and isinstance(a.meta.get("val"), torch.Tensor)
        and a.meta["val"].shape == node.meta["val"].shape
        and a.meta["val"].dtype == node.meta["val"].dtype
        for a in node.args
    )
