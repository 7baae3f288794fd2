# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From an ATen graph to the compiler's input: linalg on tensors, as text.

The graph is what AOTAutograd hands to a backend: functional, decomposed, with
fake tensors in meta["val"]. `partition` splits it into regions to compile and
ops that stay with eager; `lower_region` turns one region into a `Program`.

Weights and captured tensors are arguments of the program, never text. Inputs
whose strides are a permutation of a contiguous tensor, or expanded, are passed
as that contiguous tensor, with the permutation or expansion as an op of the
program, where it folds into the access functions of its readers.
"""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Mapping, Sequence

import torch
import torch.fx
from torch.fx.node import map_arg
from torch.fx.passes.shape_prop import TensorMetadata

from polynest import _lowering, errors, torch_sizes, torch_text, torch_unsigned
from polynest.locks import ForkLock
from polynest.torch_repairs import ALLOCATION
from polynest.torch_rewrites import BAGS, has_padded_bags

aten = torch.ops.aten

DTYPE_NAMES = {
    torch.bool: "i1",
    torch.uint8: "i8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
}

DYNAMIC = None  # a size that is known at the call only


@dataclass(frozen=True)
class Argument:
    """One argument of a program: a contiguous tensor.

    `kind` is "input", "parameter", "buffer", "constant" (a tensor that the
    graph captured, in `constant`) or "scalar" (a number, passed as a tensor of
    rank 0). `strides` are those of the caller's tensor, in elements, where
    fixed. An "input" of the caller appears here without its expanded
    dimensions (size 1) and with its dimensions in the order of memory.
    """

    name: str
    kind: str
    dtype: torch.dtype
    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...] | None = None
    view: "StridedView | None" = None
    constant: torch.Tensor | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Result:
    """One result: contiguous as computed, then permuted for the caller where
    `permutation` is given. `expected` has what the graph says of each size that
    is not known, a tree of torch_sizes over those of the arguments, or None."""

    dtype: torch.dtype
    sizes: tuple[int | None, ...]
    permutation: tuple[int, ...] | None = None
    expected: tuple[list | None, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class StridedView:
    """How a caller's tensor hides a contiguous one: dimensions in the order
    of memory, and those that are expanded (stride 0)."""

    order: tuple[int, ...]
    expanded: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """`updates` are the arguments that the program gives new values in place, in
    the order of `Region.updates`."""

    text: str
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    updates: tuple[int, ...] = ()


@dataclass(frozen=True)
class Fallback:
    """An op that stays with eager, and why. `place` is in the user's source,
    `dtype` that of the result, or of the first tensor where there is none."""

    op: str
    reason: str
    place: str = ""
    dtype: str = ""

    def __str__(self) -> str:
        of = f" of {self.dtype}" if self.dtype else ""
        return f"{self.op}{of}: {self.reason}" + (
            f" ({self.place})" if self.place else ""
        )


class RegionRefused(Exception):
    """A region that does not lower; names the guilty nodes where known."""

    def __init__(self, reason: str, nodes: dict[str, str] | None = None):
        super().__init__(reason)
        self.reason = reason
        self.nodes = nodes or {}


# -- which nodes can be compiled at all -------------------------------------

# Ops that torch-mlir has no lowering for, with a better reason than it gives.
_NEVER = {
    aten.mkldnn_rnn_layer.default: "oneDNN's own op",
    aten._linalg_det.default: "torch-mlir computes it without permutations",
    # Of unknown length: torch_decompositions replaces the others.
    aten.logcumsumexp.default: "torch-mlir takes exponentials of what may be "
    "large",
}


def node_values(node: torch.fx.Node) -> list[Any]:
    value = node.meta.get("val")
    return list(value) if isinstance(value, (list, tuple)) else [value]


def is_symbolic_scalar(node: torch.fx.Node) -> bool:
    value = node.meta.get("val")
    return isinstance(
        value, (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)
    )


def tensor_refusal(value: torch.Tensor) -> str | None:
    if value.dtype not in DTYPE_NAMES:
        name = str(value.dtype).removeprefix("torch.")
        if value.dtype.is_complex:
            return f"complex tensors ({name}) are not supported"
        return f"element type {name} is not supported"
    if value.layout != torch.strided:
        return f"layout {value.layout} is not supported"
    if value.device.type != "cpu":
        return f"device {value.device.type} is not supported"
    if value.is_quantized:
        return "quantized tensors are not supported"
    return None


def refusal(node: torch.fx.Node) -> str | None:
    """Why a node cannot be in a region, as far as can be said ahead."""
    target = node.target
    if target is operator.getitem or target is ALLOCATION:
        return None
    if not isinstance(target, torch._ops.OpOverload):
        return "not an ATen op"
    if target in _NEVER:
        return _NEVER[target]
    tags = target.tags
    if draws(node):
        return "random numbers come from eager's generator"
    if torch.Tag.data_dependent_output in tags:
        return "the value of a tensor is needed on the host"
    if torch.Tag.dynamic_output_shape in tags and not _plain_index(node):
        return "the size of the result depends on values"
    if _orders_equals(node):
        return "which of equal elements comes first is eager's own"
    if _writes_by_mask(node):
        return "which value goes where depends on a mask"
    if target is aten.where.self and node.args[1] is node.args[2]:
        return "torch-mlir takes a choice of equals for one of them"
    if target in BAGS and has_padded_bags(node):
        return "torch-mlir forgets padding and weights of bags"
    if _mistakes_weights(node):
        return "torch-mlir mistakes numbers of channels that are unknown"
    if target._schema.is_mutable:
        return "the op writes to its input"
    for source in [*node.all_input_nodes, node]:
        for value in node_values(source):
            if isinstance(value, torch.Tensor):
                reason = tensor_refusal(value)
                if reason:
                    return reason
                if any(_static(n) == 0 for n in value.shape):
                    return "tensors without elements stay with eager"
    if not any(isinstance(v, torch.Tensor) for v in node_values(node)):
        return "the result is not a tensor"
    if not torch_unsigned.stays(node):
        return torch_unsigned.REASON
    return None


def refusals(graph: torch.fx.Graph) -> dict[str, str]:
    """Names of the nodes that cannot be in a region -> why, as far as can be
    said ahead."""
    return {
        node.name: reason
        for node in graph.nodes
        if node.op == "call_function"
        and not is_symbolic_scalar(node)
        and (reason := refusal(node)) is not None
    }


def draws(node: torch.fx.Node) -> bool:
    """Whether an op takes numbers from eager's generator."""
    return torch.Tag.nondeterministic_seeded in getattr(
        node.target, "tags", ()
    )


def _plain_index(node: torch.fx.Node) -> bool:
    """Whether an indexing op has no mask, so that its size is known."""
    if node.target is not aten.index.Tensor:
        return False
    masks = (torch.bool, torch.uint8)
    return all(
        i is None or i.meta["val"].dtype not in masks for i in node.args[1]
    )


def _orders_equals(node: torch.fx.Node) -> bool:
    """Whether equal elements are common, and their order is not defined but can
    be seen."""
    if node.target not in (aten.topk.default, aten.sort.default):
        return False
    value = node.args[0].meta["val"]
    if value.dtype in (torch.float32, torch.float64):
        return False
    # torch-mlir takes booleans for signed: true comes first.
    if node.target is aten.topk.default or value.dtype == torch.bool:
        return True
    dim = node.args[1] if len(node.args) > 1 else -1
    size = _static(value.shape[dim]) if value.dim() else 1
    # So few are sorted by insertion, which keeps their order.
    return (size is None or size > 16) and any(
        u.target is not operator.getitem or u.args[1] == 1 for u in node.users
    )


def _writes_by_mask(node: torch.fx.Node) -> bool:
    """Whether an indexed update has a mask and more than one value."""
    if node.target is not aten.index_put.default:
        return False
    masks = (torch.bool, torch.uint8)
    return any(
        i is not None and i.meta["val"].dtype in masks for i in node.args[1]
    ) and any(n != 1 for n in node.args[2].meta["val"].shape)


def _mistakes_weights(node: torch.fx.Node) -> bool:
    """Whether torch-mlir reshapes the gradient of a convolution's weights by two
    sizes it does not know: it takes the product of both for each."""
    if node.target is not aten.convolution_backward.default:
        return False
    channels = node.args[2].meta["val"].shape[:2]
    return (
        node.args[10][1]
        and any(_static(n) != 1 for n in node.args[4])
        and all(_static(n) is None for n in channels)
    )


VIEWS = (
    aten.view.default,
    aten.permute.default,
    aten.expand.default,
    aten.slice.Tensor,
    aten.select.int,
    aten.unsqueeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
    aten.alias.default,
)

# Views and copies alone are not worth a region: eager's views are free. But see
# `turns`.
TRIVIAL = {
    operator.getitem,
    *VIEWS,
    aten.clone.default,
    aten.lift_fresh_copy.default,
    aten.full.default,
    aten.empty.memory_format,
    aten.scalar_tensor.default,
}


@dataclass
class Region:
    """Nodes of the graph that become one program, in order. `updates` has, for
    inputs of the graph that the program writes, the place of the new value among
    the graph's results, the value and the input."""

    level: int
    nodes: list[torch.fx.Node]
    inputs: list[torch.fx.Node] = field(default_factory=list)
    outputs: list[torch.fx.Node] = field(default_factory=list)
    updates: list[tuple[int, torch.fx.Node, torch.fx.Node]] = field(
        default_factory=list
    )

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(n.name for n in self.nodes)


def whole(graph: torch.fx.Graph) -> Region | None:
    """The graph as one region, views alone too; None where it has no results
    of its own. No op of it may have to stay with eager."""
    regions, _ = partition(graph, {}, views_too=True)
    return regions[0] if regions else None


def partition(
    graph: torch.fx.Graph, rejected: dict[str, str], views_too: bool = False
) -> tuple[list[Region], dict[torch.fx.Node, int]]:
    """Regions in order of execution, and the level of every node.

    A node's level counts how often the way to it came out of an eager op: the
    nodes of one level that can be compiled form one region, which runs before
    the eager nodes of that level, so that no cycle can arise. Numbers (sizes
    and what is computed from them) belong to no region: each region computes
    those it needs. Eager ops that draw random numbers keep their order: in one
    level it is that of the graph, and no level is lower than that of the one
    before. Linear in nodes and edges.
    """
    level: dict[torch.fx.Node, int] = {}
    inside: dict[torch.fx.Node, bool] = {}
    late: dict[torch.fx.Node, bool] = {}  # waits for eager ops of its level
    members: dict[int, list[torch.fx.Node]] = {}
    drawn = 0  # level of the last random numbers
    for node in graph.nodes:
        before = node.all_input_nodes
        if node.op != "call_function":
            level[node] = max((level[p] for p in before), default=0)
            inside[node] = late[node] = False
            continue
        number = is_symbolic_scalar(node)
        if node.target is operator.getitem:
            inside[node] = not number and inside[node.args[0]]
        else:
            inside[node] = (
                not number
                and node.name not in rejected
                and node.target is not ALLOCATION
            )
        step = 1 if inside[node] else 0
        level[node] = max(
            (level[p] + (step if late[p] else 0) for p in before), default=0
        )
        if draws(node):
            level[node] = drawn = max(level[node], drawn)
        late[node] = not inside[node] and (
            not (number or node.target is ALLOCATION)
            or any(late[p] and level[p] == level[node] for p in before)
        )
    _sink_views(graph, inside, level)
    for node in graph.nodes:
        if inside[node]:
            members.setdefault(level[node], []).append(node)
    kept = {
        k: v
        for k, v in members.items()
        if views_too or any(n.target not in TRIVIAL or turns(n) for n in v)
    }
    compiled = {n for nodes in kept.values() for n in nodes}
    live = live_outside(graph, compiled)
    regions = []
    for number in sorted(kept):
        region = Region(number, kept[number])
        chosen = set(region.nodes)
        seen: dict[torch.fx.Node, None] = {}
        for n in region.nodes:
            for p in n.all_input_nodes:
                if p not in chosen and not is_symbolic_scalar(p):
                    seen.setdefault(p)
        region.inputs = list(seen)
        region.outputs = [
            n
            for n in region.nodes
            if isinstance(n.meta.get("val"), torch.Tensor)
            and any(u not in chosen and _is_live(u, live) for u in n.users)
        ]
        if region.outputs:
            regions.append(region)
    return regions, level


def update_in_place(
    graph: torch.fx.Graph,
    regions: Sequence[Region],
    written: Sequence[int | None],
) -> None:
    """Lets regions write new values of the graph's inputs where these are. The
    first results of the graph are the new values of those that `written`
    numbers; with None they are to stay results."""
    if not written:
        return
    inputs = list(graph.find_nodes(op="placeholder"))
    (output,) = graph.find_nodes(op="output")
    results = output.args[0]
    home = {n: r for r in regions for n in r.outputs}
    placed: set[int] = set()
    for place, i in enumerate(written):
        if i is None:
            continue
        value, target = results[place], inputs[i]
        region = home.get(value)
        if region is None or not _may_update(region, value, target):
            continue
        region.updates.append((place, value, target))
        placed.add(place)
        if target not in region.inputs:
            region.inputs.append(target)
    returned = {
        r
        for place, r in enumerate(results)
        if place not in placed and isinstance(r, torch.fx.Node)
    }
    for region in regions:
        chosen = {*region.nodes, output}
        updating = {value for _, value, _ in region.updates}
        region.outputs = [
            n
            for n in region.outputs
            if n not in updating
            or n in returned
            or any(u not in chosen for u in n.users)
        ]


def _may_update(
    region: Region, value: torch.fx.Node, target: torch.fx.Node
) -> bool:
    """Whether nothing but the region sees the input, and the new value fits."""
    chosen = set(region.nodes)
    if not all(u in chosen for u in target.users):
        return False
    old, new = target.meta["val"], value.meta["val"]
    order = memory_order(old)
    return (
        tensor_refusal(old) is None
        and old.dtype == new.dtype
        and [str(n) for n in old.shape] == [str(n) for n in new.shape]
        and 0 not in _sizes(old)
        and not (old.is_neg() or old.is_conj())
        and order is not None
        and (None not in _sizes(old) or order == sorted(order))
    )


def _sink_views(graph: torch.fx.Graph, inside: dict, level: dict) -> None:
    """Moves views of the graph's own inputs to the first region that uses them.
    As results of an earlier one they would be copies: of a layer's weights, in
    every call, and no longer known to be weights."""
    views: set[torch.fx.Node] = set()
    for node in graph.nodes:
        if inside.get(node) and node.target in VIEWS:
            source = node.args[0]
            if source.op in ("placeholder", "get_attr") or source in views:
                views.add(node)
    for node in reversed(graph.nodes):
        if node in views and node.users and all(
            inside.get(u) for u in node.users
        ):
            level[node] = min(level[u] for u in node.users)


def live_outside(graph: torch.fx.Graph, compiled: set) -> set:
    """Numbers that are computed outside of every region: those that eager ops
    and the outputs need."""
    live = set()
    for node in reversed(graph.nodes):
        if node in compiled:
            continue
        if node in live or not is_symbolic_scalar(node):
            live.update(p for p in node.all_input_nodes if p not in compiled)
            live.add(node)
    return live


# Elements of a copy that is worth a call.
_TURNED_LEAST = 4096


def turns(node: torch.fx.Node) -> bool:
    """True for a copy that writes along one dimension what lies along another,
    or repeats each element: eager's moves element by element. One of whole rows
    it makes as fast."""
    if node.target is not aten.clone.default:
        return False
    source, out = (n.meta.get("val") for n in (node.args[0], node))
    if not isinstance(source, torch.Tensor) or not isinstance(
        out, torch.Tensor
    ):
        return False
    sizes, to, come = (
        [_hint(n) for n in numbers]
        for numbers in (out.shape, out.stride(), source.stride())
    )
    if None in (*sizes, *to, *come) or math.prod(sizes) < _TURNED_LEAST:
        return False
    # Single elements lie along no dimension, repeated ones along every one.
    long = [d for d, n in enumerate(sizes) if n > 1 and come[d] > 0]
    if not long:
        return False
    last = min((d for d, n in enumerate(sizes) if n > 1), key=lambda d: to[d])
    return come[last] == 0 or (
        min(long, key=lambda d: to[d]) != min(long, key=lambda d: come[d])
    )


def _is_live(node: torch.fx.Node, live: set) -> bool:
    return not is_symbolic_scalar(node) or node in live


# -- shapes and strides --------------------------------------------------------


def _static(value: Any) -> int | None:
    """The value as an int where it is one without adding a guard."""
    if isinstance(value, int):
        return value
    if isinstance(value, torch.SymInt):
        return value.node.maybe_as_int()
    return None


def _hint(value: Any) -> int | None:
    """What the value is in the call that is traced: of those to come nothing
    follows."""
    return value.node.hint if isinstance(value, torch.SymInt) else value


def _sizes(value: torch.Tensor) -> tuple[int | None, ...]:
    return tuple(_static(s) for s in value.shape)


def _strides(value: torch.Tensor) -> tuple[int | None, ...]:
    return tuple(_static(s) for s in value.stride())


def strided_view(value: torch.Tensor) -> StridedView | None:
    """The contiguous tensor behind a permuted or expanded one; None where the
    tensor is contiguous itself or not of that form."""
    sizes, strides = _sizes(value), _strides(value)
    if None in sizes or None in strides or 0 in sizes:
        return None
    if value.is_contiguous():
        return None
    expanded = tuple(
        d for d, (n, s) in enumerate(zip(sizes, strides)) if s == 0 and n > 1
    )
    kept = [1 if d in expanded else n for d, n in enumerate(sizes)]
    # Dimensions of size 1 may have any stride; they go where they stand.
    moving = [d for d, n in enumerate(kept) if n > 1]
    by_stride = iter(sorted(moving, key=lambda d: -strides[d]))
    order = tuple(
        next(by_stride) if kept[d] > 1 else d for d in range(len(kept))
    )
    step = 1
    for d in reversed(order):
        if kept[d] > 1 and strides[d] != step:
            return None
        step *= kept[d]
    return StridedView(order, expanded)


def behind(
    tensor: torch.Tensor, view: StridedView | None
) -> torch.Tensor:
    """The contiguous tensor that `strided_view` found."""
    if view is None:
        return tensor
    for d in view.expanded:
        tensor = tensor.narrow(d, 0, 1)
    return tensor.permute(view.order)


def memory_order(value: torch.Tensor) -> list[int] | None:
    """The dimensions from the outermost in memory; None where the tensor is not
    dense, as far as is known."""
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    steps = [_hint(s) for s in value.stride()]
    if None in steps:
        return None
    order = sorted(range(value.dim()), key=lambda d: (-steps[d], d))
    if torch_sizes.has_zero(value.shape):
        return order
    step: Any = 1
    for d in reversed(order):
        size = value.shape[d]
        if type(size) is int and size == 1:
            continue
        if not statically_known_true(value.stride(d) == step):
            return None
        step = step * size
    return order


def _result_order(value: torch.Tensor) -> list[int] | None:
    """The same of a result that is not contiguous."""
    if None in _sizes(value):
        order = memory_order(value)
        return None if order == list(range(value.dim())) else order
    view = strided_view(value)
    return None if view is None or view.expanded else list(view.order)


def _inverse(order: Sequence[int]) -> list[int]:
    out = [0] * len(order)
    for i, d in enumerate(order):
        out[d] = i
    return out


def captured(module: torch.fx.GraphModule, node: torch.fx.Node) -> Any:
    """What the graph captured, a tensor without gradient, where the node stands
    for such a thing."""
    if node.op != "get_attr":
        return None
    value = module
    for part in str(node.target).split("."):
        value = getattr(value, part)
    if isinstance(value, torch.Tensor) and value.requires_grad:
        value = value.detach()
    return value


# -- building the graph of a region ------------------------------------------------


class _RegionGraph:
    """Copies a region into a graph of its own, with tensors as its only
    arguments."""

    def __init__(self, module, region: Region, kinds: dict[str, str]):
        self.module = module
        self.region = region
        self.kinds = kinds
        self.graph = torch.fx.Graph()
        self.arguments: list[Argument] = []
        self.sources: list[torch.fx.Node] = []
        self.updates: list[int] = []  # numbers of arguments
        self.map: dict[torch.fx.Node, torch.fx.Node] = {}
        self.sizes: dict[Any, tuple[torch.fx.Node, int]] = {}
        self.places: dict[Any, list[int]] = {}
        self.last: torch.fx.Node | None = None

    def build(self) -> tuple[torch.fx.Graph, list[Result]]:
        for node in self.region.inputs:
            if isinstance(
                captured(self.module, node), torch.Tensor
            ) or isinstance(node.meta.get("val"), torch.Tensor):
                self._add_tensor(node)
        for node in self.region.nodes:
            if _pairs_by_place(node):
                copy = self._through_flat(node)
            elif (
                node.target is aten.repeat.default
                and None in _sizes(node.meta["val"])
            ):
                copy = self._repeat(node)
            elif node.target is aten.sort.stable:
                copy = self._stable_sort(node)
            else:
                copy = self.graph.node_copy(node, lambda n: self._lookup(n))
            copy.meta = dict(node.meta)
            self.map[node] = copy
        results, values = [], []
        for node in self.region.outputs:
            result, value = self._result(node)
            results.append(result)
            values.append(value)
        for _, node, target in self.region.updates:
            argument = self.sources.index(target)
            self.updates.append(argument)
            value, view = self.map[node], self.arguments[argument].view
            if view is not None:
                order = list(view.order)
                turned = node.meta["val"].permute(order)
                value = self._call(
                    aten.permute.default, (value, order), turned
                )
            values.append(value)
        self.graph.output(tuple(values))
        self._mark_places()
        return self.graph, results

    def equal_sizes(self) -> list[list[int]]:
        """Sizes of arguments that Dynamo guards to be equal: argument,
        dimension, argument, dimension, and so on."""
        return [places for places in self.places.values() if len(places) > 2]

    def _lookup(self, node: torch.fx.Node) -> Any:
        if node not in self.map and is_symbolic_scalar(node):
            self.map[node] = self._symbol(node)
        if node not in self.map:
            raise RegionRefused(
                f"input '{node.name}' is neither a tensor nor a number",
                {u.name: "unusual input" for u in node.users},
            )
        return self.map[node]

    def _call(self, target, args, value) -> torch.fx.Node:
        node = self.graph.call_function(target, args)
        node.meta["val"] = value
        return node

    def _through_flat(self, node: torch.fx.Node) -> torch.fx.Node:
        """A reshape by way of one dimension, see _pairs_by_place."""
        source, sizes = map_arg(node.args, self._lookup)
        return self._reshape(node, source, sizes)

    def _reshape(self, node, source, sizes) -> torch.fx.Node:
        value = source.meta["val"]
        flat = self._call(
            aten.view.default, (source, [-1]), value.reshape(-1)
        )
        flat.meta["stack_trace"] = node.meta.get("stack_trace")
        return self._call(
            aten.view.default, (flat, sizes), node.meta["val"]
        )

    def _repeat(self, node: torch.fx.Node) -> torch.fx.Node:
        """Copies along dimensions of their own, all joined at the end: torch-mlir
        joins one after the other, by sizes that it divides for."""
        source, repeats = map_arg(node.args, self._lookup)
        new = len(repeats) - source.meta["val"].dim()
        apart, copies, joined = source, [], []
        for d, times in enumerate(repeats):
            if d < new or times != 1:
                apart = self._call(
                    aten.unsqueeze.default,
                    (apart, len(copies)),
                    apart.meta["val"].unsqueeze(len(copies)),
                )
                copies.append(times)
            if d < new:
                joined.append(times)
                continue
            size = self._size(source, d - new)
            copies.append(size)
            joined.append(
                size if times == 1 else self._number(operator.mul, times, size)
            )
        sizes = map_arg(copies, lambda n: n.meta["val"])
        apart = self._call(
            aten.expand.default,
            (apart, copies),
            apart.meta["val"].expand(sizes),
        )
        return self._reshape(node, apart, joined)

    def _stable_sort(self, node: torch.fx.Node) -> torch.fx.Node:
        """The sort that torch-mlir has, which is stable."""
        (source,) = map_arg(node.args, self._lookup)
        options = map_arg(node.kwargs, self._lookup)
        return self.graph.call_function(
            aten.sort.default,
            (source, options.get("dim", -1), options.get("descending", False)),
        )

    def _placeholder(self, name: str, value: torch.Tensor) -> torch.fx.Node:
        # Arguments stand before every op, in the order of `arguments`; the
        # first is made while the graph is empty.
        if self.last is None:
            node = self.graph.placeholder(name)
        else:
            with self.graph.inserting_after(self.last):
                node = self.graph.placeholder(name)
        self.last = node
        node.meta["val"] = value
        return node

    def _add_tensor(self, source: torch.fx.Node) -> None:
        constant = captured(self.module, source)
        value = source.meta.get("val", constant)
        reason = tensor_refusal(value)
        if reason:
            raise RegionRefused(reason, {u.name: reason for u in source.users})
        view = strided_view(value)
        kind = "constant" if constant is not None else self.kinds.get(
            source.name, "input"
        )
        inner = behind(value, view)
        node = self._placeholder(source.name, inner)
        self.arguments.append(
            Argument(
                source.name,
                kind,
                value.dtype,
                _sizes(inner),
                _strides(value),
                view,
                constant,
            )
        )
        self.sources.append(source)
        for d, size in enumerate(inner.shape):
            if _static(size) is None:
                self.sizes.setdefault(size.node.expr, (node, d))
                self.places.setdefault(size.node.expr, []).extend(
                    [len(self.arguments) - 1, d]
                )
        if view is not None:
            back = _inverse(view.order)
            node = self._call(
                aten.permute.default, (node, back), node.meta["val"].permute(back)
            )
            if view.expanded:
                sizes = list(value.shape)
                node = self._call(
                    aten.expand.default,
                    (node, sizes),
                    node.meta["val"].expand(sizes),
                )
        self.map[source] = node

    def _symbol(self, node: torch.fx.Node) -> torch.fx.Node | int | float:
        """A number inside the region: a size of one of its tensors, computed
        from such sizes, or an argument of rank 0."""
        value = node.meta["val"]
        if isinstance(value, (int, float, bool)):
            return value
        fixed = value.node.maybe_as_int() if isinstance(
            value, torch.SymInt
        ) else None
        if fixed is not None:
            return fixed
        known = self.sizes.get(value.node.expr)
        if known is not None:
            return self._call(aten.sym_size.int, known, value)
        if node.target is operator.floordiv:
            # What a reshape infers, such as s0*s1*s2 // s0.
            quotient = self._of_sizes(value.node.expr)
            if quotient is not None:
                return quotient
        if node.op == "call_function" and all(
            p in self.map or is_symbolic_scalar(p)
            for p in node.all_input_nodes
        ):
            args = map_arg(node.args, self._lookup)
            if node.target is torch.sym_sum:
                return self._add_up(args[0])
            return self._call(node.target, args, value)
        if isinstance(value, torch.SymBool):
            raise RegionRefused(
                "a condition on sizes is needed",
                {u.name: "needs a condition on sizes" for u in node.users},
            )
        dtype = (
            torch.int64 if isinstance(value, torch.SymInt) else torch.float64
        )
        mode = _fake_mode(self.region.nodes)
        with mode:
            scalar = torch.empty((), dtype=dtype)
        holder = self._placeholder(node.name, scalar)
        # torch-mlir's importer takes the type from there.
        holder.meta["tensor_meta"] = TensorMetadata(
            scalar.shape, dtype, False, (), torch.contiguous_format, False, {}
        )
        self.arguments.append(Argument(node.name, "scalar", dtype, (), ()))
        self.sources.append(node)
        return self._call(aten._local_scalar_dense.default, (holder,), value)

    def _of_sizes(self, expression: Any) -> torch.fx.Node | int | None:
        """Sums and products of sizes of arguments; None for anything else."""
        try:
            tree = torch_sizes.tree_of(expression, _place_in(self.sizes))
        except errors.UnsupportedError:
            return None
        return self._compute(tree) if _is_polynomial(tree) else None

    def _compute(self, tree: Sequence) -> torch.fx.Node | int:
        name, *rest = tree
        if name == "number":
            return rest[0]
        if name == "place":
            return self._size(*rest)
        compute = operator.mul if name == "*" else operator.add
        return self._number(compute, *map(self._compute, rest))

    def _size(self, node: torch.fx.Node, d: int) -> torch.fx.Node | int:
        size = node.meta["val"].shape[d]
        fixed = _static(size)
        if fixed is not None:
            return fixed
        return self._call(aten.sym_size.int, (node, d), size)

    def _number(self, compute: Callable, *numbers) -> torch.fx.Node | int:
        value = compute(*map_arg(numbers, lambda n: n.meta["val"]))
        if isinstance(value, int):
            return value
        return self._call(compute, numbers, value)

    def _add_up(
        self, terms: Sequence[torch.fx.Node | int]
    ) -> torch.fx.Node | int:
        """The sum of numbers, two by two: torch-mlir has no other."""
        return functools.reduce(
            functools.partial(self._number, operator.add), terms
        )

    def _result(self, node: torch.fx.Node) -> tuple[Result, torch.fx.Node]:
        value = node.meta["val"]
        inner = self.map[node]
        order = _result_order(value)
        if order is None:
            return self._describe(value, None), inner
        inner = self._call(
            aten.permute.default, (inner, order), value.permute(order)
        )
        back = tuple(_inverse(order))
        return self._describe(inner.meta["val"], back), inner

    def _describe(
        self, value: torch.Tensor, permutation: tuple[int, ...] | None
    ) -> Result:
        expected = tuple(map(self._expected, value.shape))
        return Result(value.dtype, _sizes(value), permutation, expected)

    def _expected(self, size: Any) -> list | None:
        """The size in terms of those of arguments, where it is not known and
        all it depends on are some of these."""
        if _static(size) is not None:
            return None
        try:
            return torch_sizes.tree_of(size.node.expr, _place_in(self.places))
        except errors.UnsupportedError:
            return None

    def _mark_places(self) -> None:
        """Gives each op a location that names its node, so that whoever
        refuses the op later says which it was."""
        for i, node in enumerate(self.graph.nodes):
            if node.op != "call_function":
                node.meta.pop("stack_trace", None)
                continue
            user = user_frame(node.meta.get("stack_trace"))
            lines = [f'File "{user[0]}", line {user[1]}, in f'] if user else []
            lines.append(f'File "{_NODE_PLACE}{node.name}", line {i}, in f')
            node.meta["stack_trace"] = "\n".join(lines)


_NODE_PLACE = "node/"


_RESHAPES = (
    aten.view.default,
    aten._unsafe_view.default,
    aten.reshape.default,
)


def _place_in(
    known: Mapping[Any, Sequence],
) -> Callable[[Any], list | None]:
    """How a tree names symbols: by the first place that `known` has for them."""

    def place_of(symbol: Any) -> list | None:
        found = known.get(symbol)
        return None if found is None else ["place", *found[:2]]

    return place_of


def _is_polynomial(tree: Sequence) -> bool:
    name, *rest = tree
    return name in ("number", "place") or (
        name in ("+", "*") and all(map(_is_polynomial, rest))
    )


def _pairs_by_place(node: torch.fx.Node) -> bool:
    """Whether a node is a reshape in which torch-mlir pairs dimensions by place,
    whatever their sizes are: it does where sizes are not known. Known sizes
    behind leading dimensions that stay are paired by size."""
    if node.op != "call_function" or node.target not in _RESHAPES:
        return False
    before, after = (
        [str(n) for n in n.meta["val"].shape] for n in (node.args[0], node)
    )
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    return not all(n.isdigit() for n in (*before, *after))


def _fake_mode(nodes: Iterable[torch.fx.Node]):
    for node in nodes:
        for value in node_values(node):
            mode = getattr(value, "fake_mode", None)
            if mode is not None:
                return mode
    raise RegionRefused("the graph has no fake tensors")


def user_frame(trace: str | None) -> tuple[str, int] | None:
    for line in reversed((trace or "").splitlines()):
        line = line.strip()
        if line.startswith('File "') and ", line " in line:
            path, _, rest = line[6:].partition('", line ')
            number = rest.split(",")[0]
            if number.isdigit():
                return path, int(number)
    return None


def _named_nodes(places: Sequence[Sequence[str]]) -> dict[str, str]:
    """Node names out of locations as MLIR prints them, with messages."""
    found: dict[str, str] = {}
    for location, message in places:
        for piece in location.split('"'):
            if piece.startswith(_NODE_PLACE):
                name = piece.removeprefix(_NODE_PLACE)
                found.setdefault(name, _short(message))
    return found


def _short(message: str) -> str:
    first = message.strip().splitlines()[0] if message.strip() else "refused"
    first = first.partition(": %")[0]
    return first if len(first) <= 200 else first[:197] + "..."


# -- import and lowering --------------------------------------------------------------

# torch-mlir's importer uses one MLIR context for each call; its Python side
# keeps global tables, so imports take turns.
_IMPORT_LOCK = ForkLock()


def _import(
    graph: torch.fx.Graph, entry: str, equal_sizes: list[list[int]]
) -> str:
    from torch_mlir import ir
    from torch_mlir.dialects import torch as torch_dialect
    from torch_mlir.extras.fx_importer import FxImporter

    with _IMPORT_LOCK:
        context = ir.Context()
        torch_dialect.register_dialect(context)
        importer = FxImporter(context=context)
        function = importer.import_stateless_graph(graph, func_name=entry)
        with context:
            # Dynamo specializes sizes 0 and 1, so that a size that is not
            # known is never a broadcast one.
            function.attributes["torch.assume_strict_symbolic_shapes"] = (
                ir.UnitAttr.get()
            )
            # What torch-mlir does not ask for; see _rewrites.py.
            if equal_sizes:
                function.attributes["torch.equal_sizes"] = ir.ArrayAttr.get(
                    [ir.DenseI64ArrayAttr.get(places) for places in equal_sizes]
                )
        return importer.module.operation.get_asm(enable_debug_info=True)


def _ask(text: str, locations: bool, updates: dict[int, int]) -> dict:
    try:
        return _lowering.worker().request(text, locations, updates)
    except _lowering.LoweringCrash as crash:
        raise RegionRefused(str(crash)) from crash


def _ask_quickly(text: str, updates: dict[int, int]) -> dict | None:
    """The answer to a module in which nothing is wrong; None where something is:
    to say what, `_ask` takes longer."""
    try:
        answer = _lowering.worker().request(text, False, updates, True)
    except _lowering.LoweringTimeout as crash:
        raise RegionRefused(str(crash)) from crash
    except _lowering.LoweringCrash:
        return None
    return answer if answer["ok"] or answer["kind"] == "unread" else None


def _ask_twice(
    write: Callable[[bool], str], locations: bool, updates: dict[int, int]
) -> dict:
    """The answer to what `write` gives with the places of ops, or quickly without
    them."""
    answer = None
    if not locations:
        answer = _ask_quickly(write(False), updates)
    return answer or _ask(write(True), locations, updates)


def _lower_written(
    graph: torch.fx.Graph,
    entry: str,
    locations: bool,
    updates: dict[int, int],
) -> dict | None:
    """The worker's answer to the graph as torch_text.py writes it; None where
    torch-mlir's importer has to be asked: it knows which ops torch-mlir has."""
    try:
        answer = _ask_twice(
            lambda places: torch_text.write(graph, entry, places),
            locations,
            updates,
        )
    except torch_text.NotWritten:
        return None
    return None if answer.get("kind") == "unread" else answer


def lower_region(
    module: torch.fx.GraphModule,
    region: Region,
    kinds: dict[str, str] | None = None,
    *,
    entry: str = "main",
    locations: bool = False,
    seen: Callable[[str], None] | None = None,
) -> tuple[Program, list[torch.fx.Node]]:
    """The region's program and, in the order of its arguments, the nodes of
    `module`'s graph whose values it takes. Raises RegionRefused. `seen` is told
    the text that torch-mlir gets."""
    builder = _RegionGraph(module, region, kinds or {})
    graph, results = builder.build()
    sizes = builder.equal_sizes()
    updates = dict(enumerate(builder.updates, len(results)))
    answer = None
    # Whoever looks at the text wants it as the importer prints it.
    if not sizes and seen is None:
        answer = _lower_written(graph, entry, locations, updates)
    if answer is None:
        holder = torch.fx.GraphModule(torch.nn.Module(), graph)
        try:
            text = _import(holder.graph, entry, sizes)
        except Exception as error:
            raise RegionRefused(
                f"torch-mlir cannot import the graph: {_short(str(error))}"
            ) from error
        if seen is not None:
            seen(text)
        answer = _ask_twice(lambda _: text, locations, updates)
    if not answer["ok"]:
        named = _named_nodes(answer["places"])
        originals = {n.name for n in region.nodes}
        raise RegionRefused(
            _short(answer["message"]),
            {n: m for n, m in named.items() if n in originals},
        )
    program = Program(
        answer["text"],
        tuple(builder.arguments),
        tuple(results),
        tuple(builder.updates),
    )
    return program, builder.sources
