# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums at places that are known as a graph is compiled.

What is added at places that no input decides, as by the gradients of interpolation,
of unfolded images and of pools, is added from the result's side: each element is
the sum of what goes there. Places of which each axis follows a dimension of its own
are taken an axis at a time. Along an axis the sources of neighbouring targets are
mostly equally far apart, so that a few slices, added, are a whole range of the
result:

    places 0 0 0 1 1 2 2 3      result[0]   = x[0] + x[1] + x[2]
                                result[1:3] = x[3:7:2] + x[4:7:2]
                                result[3:4] = x[7:8]

Ranges are concatenated, and stand side by side where targets are further apart than
sources. Several sums at once share what they have in common: bilinear interpolation
adds four times, at two places along each axis.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math
from typing import Any, Callable, Sequence

import torch
import torch.fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.node import map_arg

from polynest import torch_sizes
from polynest.torch_constants import filled_with
from polynest.torch_nodes import Builder, is_plain_sum, static_shape

aten = torch.ops.aten
prims = torch.ops.prims

# Places of one axis, all of which are looked at several times.
_MOST_PLACES = 1 << 14
# Distances between targets of one slice that are tried.
_MOST_PHASES = 8
# Slices of one axis, so that code does not grow with the places.
_MOST_SLICES = 96
# Sums at once: places along dimensions besides the longest are each one of them.
_MOST_TERMS = 64


@dataclasses.dataclass(frozen=True)
class Run:
    """Targets first, first + 1, ... of `count`, and their sources begin, begin +
    step, ..."""

    begin: int
    step: int
    first: int
    count: int

    @property
    def end(self) -> int:
        return self.first + self.count


@dataclasses.dataclass(frozen=True)
class Term:
    """What is added; `places` has, of each axis that is not yet the result's, its
    dimension and where its elements go, those that go nowhere to -1."""

    values: Any
    places: dict[int, tuple[int, ...]]


@dataclasses.dataclass(frozen=True)
class _Axis:
    """How one axis of several terms is summed: for each remainder of the target by
    the number of phases, the runs of each term."""

    phases: list[list[list[Run]]]
    slices: int


def _runs(sources: Sequence[Sequence[int]]) -> list[Run] | None:
    """All sources of each target, as few runs; None where these are too many."""
    heads = [s[0] for s in sources if s]
    steps = [b - a for a, b in zip(heads, heads[1:])]
    times = collections.Counter(steps)
    usual = max(set(steps), key=times.get, default=1)
    done: list[Run] = []
    # Runs that may go on, as (begin, step or None, first, count).
    growing: list[tuple[int, int | None, int, int]] = []
    for target, here in enumerate(sources):
        left, next_growing = dict.fromkeys(here), []
        for begin, step, first, count in growing:
            last = begin + (step or 0) * (count - 1)
            tried = (usual, -usual) if step is None else (step,)
            found = next((s for s in tried if s and last + s in left), None)
            if found is None:
                done.append(Run(begin, step or 1, first, count))
                continue
            del left[last + found]
            next_growing.append((begin, found, first, count + 1))
        next_growing += [(source, None, target, 1) for source in left]
        growing = next_growing
        if len(done) + len(growing) > _MOST_SLICES:
            return None
    done += [Run(b, s or 1, f, c) for b, s, f, c in growing]
    return sorted(done, key=lambda r: (r.first, r.begin))


def _pieces(phase: Sequence[Sequence[Run]], length: int) -> list[tuple[int, int]]:
    edges = {0, length}
    for runs in phase:
        for run in runs:
            edges |= {run.first, run.end}
    edges = sorted(edges)
    return list(zip(edges, edges[1:]))


def _slices(phase: Sequence[Sequence[Run]], length: int) -> int:
    return sum(
        max(
            1,
            sum(r.first <= a and b <= r.end for runs in phase for r in runs),
        )
        for a, b in _pieces(phase, length)
    )


def _plan(terms: Sequence[Sequence[int]], size: int) -> _Axis | None:
    """The best of all numbers of phases, for the places of each term."""
    sources: list[list[list[int]]] = []
    if max(size, *map(len, terms)) > _MOST_PLACES:
        return None
    for places in terms:
        lists: list[list[int]] = [[] for _ in range(size)]
        for source, target in enumerate(places):
            if target >= 0:
                lists[target].append(source)
        sources.append(lists)
    best = None
    for count in range(1, min(_MOST_PHASES, size) + 1):
        length = -(-size // count)
        phases, slices = [], 0
        for phase in range(count):
            runs = [_runs(lists[phase::count]) for lists in sources]
            if None in runs or sum(map(len, runs)) > _MOST_SLICES:
                slices = _MOST_SLICES + 1
                break
            phases.append(runs)
            slices += _slices(runs, length)
        if slices <= _MOST_SLICES and (best is None or slices < best.slices):
            best = _Axis(phases, slices)
    return best


class _Emitter:
    """Makes the ops, by `call`: of a graph under construction, or of tensors."""

    def __init__(self, call: Callable, shape_of: Callable, dtype: torch.dtype):
        self.call, self.shape_of, self.dtype = call, shape_of, dtype

    def slice(self, values: Any, dim: int, run: Run, begin: int, end: int) -> Any:
        """The sources of targets from `begin` to `end`."""
        first = run.begin + (begin - run.first) * run.step
        last = first + (end - begin - 1) * run.step
        low, high, step = min(first, last), max(first, last), abs(run.step)
        if (low, high, step) != (0, self.shape_of(values)[dim] - 1, 1):
            values = self.call(
                aten.slice.Tensor, values, dim, low, high + 1, step
            )
        if run.step < 0 and low < high:
            values = self.call(aten.flip.default, values, [dim])
        return values

    def add(self, values: Sequence[Any]) -> Any:
        total = values[0]
        for value in values[1:]:
            total = self.call(aten.add.Tensor, total, value)
        return total

    def zeros(self, shape: Sequence[int]) -> Any:
        return self.call(
            aten.full.default, list(shape), 0, dtype=self.dtype
        )

    def phase(
        self, values: Sequence[Any], runs: Sequence[list[Run]], dim: int, length: int
    ) -> Any:
        """Targets of one phase; None where nothing goes to any."""
        if not any(runs):
            return None
        parts = []
        for begin, end in _pieces(runs, length):
            found = [
                self.slice(value, dim, run, begin, end)
                for value, some in zip(values, runs)
                for run in some
                if run.first <= begin and end <= run.end
            ]
            if not found:
                shape = list(self.shape_of(values[0]))
                shape[dim] = end - begin
                found = [self.zeros(shape)]
            parts.append(self.add(found))
        if len(parts) == 1:
            return parts[0]
        return self.call(aten.cat.default, parts, dim)

    def interleave(self, phases: list[Any], dim: int, size: int) -> Any:
        """Targets of all phases in turn."""
        if len(phases) == 1:
            return phases[0]
        some = [p for p in phases if p is not None]
        shape = list(self.shape_of(some[0]))
        wide = [*shape[: dim + 1], 1, *shape[dim + 1 :]]
        if len(some) == 1:
            # Around one these are a pad, which is no nest for each of them.
            at = phases.index(some[0])
            pad = [0, 0] * (len(shape) - 1 - dim) + [at, len(phases) - 1 - at]
            out = self.call(aten.view.default, some[0], wide)
            out = self.call(aten.constant_pad_nd.default, out, pad, 0)
        else:
            parts = [self.zeros(shape) if p is None else p for p in phases]
            parts = [self.call(aten.unsqueeze.default, p, dim + 1) for p in parts]
            out = self.call(aten.cat.default, parts, dim + 1)
        length = shape[dim] * len(phases)
        shape[dim] = length
        out = self.call(aten.view.default, out, shape)
        if length != size:
            out = self.call(aten.slice.Tensor, out, dim, 0, size, 1)
        return out

    def axis(self, values: Sequence[Any], plan: _Axis, dim: int, size: int) -> Any:
        length = -(-size // len(plan.phases))
        phases = [
            self.phase(values, runs, dim, length) for runs in plan.phases
        ]
        if not any(p is not None for p in phases):
            shape = list(self.shape_of(values[0]))
            shape[dim] = size
            return self.zeros(shape)
        return self.interleave(phases, dim, size)


_Groups = dict[tuple, list[Term]]


def _grouped(terms: Sequence[Term], dim: int) -> _Groups:
    """Terms that are one when this axis is the result's."""
    groups: _Groups = {}
    for term in terms:
        rest = tuple(sorted(p for p in term.places.items() if p[0] != dim))
        groups.setdefault(rest, []).append(term)
    return groups


@dataclasses.dataclass(frozen=True)
class Plan:
    """How terms are summed; axes from the last to the first."""

    axes: list[tuple[int, dict[tuple, _Axis]]]
    sizes: Sequence[int]


def plan(terms: Sequence[Term], sizes: Sequence[int]) -> Plan | None:
    """None where it would take too many ops. All terms have places along the same
    axes."""
    if not 0 < len(terms) <= _MOST_TERMS:
        return None
    axes = []
    for dim in sorted(terms[0].places, reverse=True):
        planned, left = {}, []
        for rest, some in _grouped(terms, dim).items():
            axis = _plan([t.places[dim] for t in some], sizes[dim])
            if axis is None:
                return None
            planned[rest] = axis
            left.append(Term(None, dict(rest)))
        axes.append((dim, planned))
        terms = left
    return Plan(axes, sizes)


def emit(
    plan: Plan,
    terms: Sequence[Term],
    call: Callable,
    shape_of: Callable,
    dtype: torch.dtype,
) -> Any:
    emitter = _Emitter(call, shape_of, dtype)
    for dim, planned in plan.axes:
        left = []
        for rest, some in _grouped(terms, dim).items():
            out = emitter.axis(
                [t.values for t in some], planned[rest], dim, plan.sizes[dim]
            )
            left.append(Term(out, dict(rest)))
        terms = left
    (term,) = terms
    return term.values


def sum_tensors(terms: Sequence[Term], sizes: Sequence[int]) -> Any:
    """The sum as ops of tensors, of the type of theirs; NotImplemented where it
    would take too many."""
    planned = plan(terms, sizes)
    if planned is None:
        return NotImplemented
    return emit(
        planned,
        terms,
        lambda op, *args, **kwargs: op(*args, **kwargs),
        lambda x: x.shape,
        terms[0].values.dtype,
    )


# -- sums of a graph -------------------------------------------------------------

PUTS = (aten.index_put.default, aten._unsafe_index_put.default)

# No more numbers are computed to find places.
_MOST_KNOWN = 1 << 20

_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64)


def may_be_known(node: torch.fx.Node) -> bool:
    """Whether the node is computed, where its operands are known, from no more
    than these."""
    value, target = node.meta.get("val"), node.target
    return (
        node.op == "call_function"
        and isinstance(target, torch._ops.OpOverload)
        and not target._schema.is_mutable
        and torch.Tag.nondeterministic_seeded not in target.tags
        and isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and value.device.type == "cpu"
        and torch_sizes.are_numbers(value.shape)
        and value.numel() <= _MOST_KNOWN
    )


class _Known:
    """What tensors hold that no input decides."""

    def __init__(self) -> None:
        self.values: dict[torch.fx.Node, torch.Tensor | None] = {}

    def get(self, node: torch.fx.Node) -> torch.Tensor | None:
        waiting = [node]
        while waiting:
            here = waiting[-1]
            sources = [n for n in here.all_input_nodes if n not in self.values]
            if here in self.values:
                waiting.pop()
            elif not sources or not may_be_known(here):
                self.values[here] = self._compute(here)
            else:
                waiting += sources
        return self.values[node]

    def _compute(self, node: torch.fx.Node) -> torch.Tensor | None:
        if not may_be_known(node) or "empty" in node.target._schema.name:
            return None
        number, like = filled_with(node), node.meta["val"]
        if number is not None:
            # Whatever they are made like.
            with unset_fake_temporarily():
                return torch.full(like.shape, number, dtype=like.dtype)
        if any(self.values[n] is None for n in node.all_input_nodes):
            return None
        args, kwargs = map_arg((node.args, node.kwargs), self.values.get)
        with unset_fake_temporarily(), torch.no_grad():
            try:
                out = node.target(*args, **kwargs)
            except (RuntimeError, TypeError, NotImplementedError):
                return None  # the call says what is wrong, as eager
        return out if isinstance(out, torch.Tensor) else None


def is_zero(node: Any) -> bool:
    return isinstance(node, torch.fx.Node) and filled_with(node) == 0


def _varies(table: torch.Tensor, dim: int) -> bool:
    return bool((table != table.narrow(dim, 0, 1)).any())


@dataclasses.dataclass
class _Put:
    """One op that adds at known places: the first dimension of the values that
    counts places, how many of them do so, the dimensions that are indexed, and
    for each the places, by coordinates of those that count."""

    node: torch.fx.Node
    at: int
    rank: int
    dims: list[int]
    tables: list[torch.Tensor]


def _match_put(node: torch.fx.Node, known: _Known) -> _Put | None:
    if len(node.args) != 4 or node.args[3] is not True:
        return None
    x, indices, values, _ = node.args
    shape, given = static_shape(x), static_shape(values)
    dtype = node.meta["val"].dtype
    if shape is None or given is None or 0 in shape + given:
        return None
    if dtype not in _FLOATS + _INTEGERS or values.meta["val"].dtype != dtype:
        return None
    dims = [d for d, i in enumerate(indices) if i is not None]
    if not dims or any(
        indices[d].meta["val"].dtype not in (torch.int64, torch.int32)
        for d in dims
    ):
        return None
    tables = [known.get(indices[d]) for d in dims]
    if any(t is None or t.numel() == 0 for t in tables):
        return None
    with unset_fake_temporarily():
        tables = list(torch.broadcast_tensors(*tables))
        # Negative ones count from the front by now (`torch_decompositions.py`).
        if any(
            t.min() < 0 or t.max() >= shape[d] for t, d in zip(tables, dims)
        ):
            return None  # an error, as the call finds
    adjacent = dims == list(range(dims[0], dims[0] + len(dims)))
    return _Put(node, dims[0] if adjacent else 0, tables[0].dim(), dims, tables)


class _Sum:
    """Terms of one or several puts, and the graph in which they become ops."""

    def __init__(self, call: Callable) -> None:
        self.call = call

    def terms(self, put: _Put) -> list[Term] | None:
        """None where an axis does not follow dimensions of its own."""
        x, _, values, _ = put.node.args
        shape, counts = static_shape(x), list(put.tables[0].shape)
        rest = [n for d, n in enumerate(shape) if d not in put.dims]
        full = rest[: put.at] + counts + rest[put.at :]
        with unset_fake_temporarily():
            owners: list[list[int]] = [
                [d for d in range(put.rank) if _varies(t, d)] for t in put.tables
            ]
        owned = [d for some in owners for d in some]
        if len(set(owned)) != len(owned):
            return None
        # Of each axis the longest dimension; of the others each place by itself.
        axes = [max(some, key=lambda d: counts[d], default=None) for some in owners]
        others = [d for d in owned if d not in axes]
        ways = math.prod(counts[d] for d in others)
        if ways > _MOST_TERMS:
            return None
        if static_shape(values) != full:
            values = self.call(aten.expand.default, values, full)
        idle = [put.at + d for d in range(put.rank) if d not in owned]
        if idle:
            values = self.call(aten.sum.dim_IntList, values, idle)
        left = [d for d in range(put.rank) if d in owned]
        terms = []
        for place in itertools.product(*(range(counts[d]) for d in others)):
            terms.append(
                self._term(put, values, left, axes, dict(zip(others, place)))
            )
        return terms

    def _term(
        self,
        put: _Put,
        values: Any,
        left: list[int],
        axes: list[int | None],
        fixed: dict[int, int],
    ) -> Term:
        left = list(left)
        for d, place in fixed.items():
            at = left.index(d)
            values = self.call(aten.select.int, values, put.at + at, place)
            left.pop(at)
        places = {}
        for dim, axis, table in zip(put.dims, axes, put.tables):
            with unset_fake_temporarily():
                index: list[Any] = [fixed.get(d, 0) for d in range(put.rank)]
                if axis is not None:
                    index[axis] = slice(None)
                line = table[tuple(index)].reshape(-1).tolist()
            places[dim] = tuple(line)
            if axis is None:
                values = self.call(
                    aten.unsqueeze.default, values, put.at + len(left)
                )
                left.append(-1 - dim)
        # Dimensions in the order of the target's.
        rank = len(static_shape(values))
        order = {}
        for dim, axis in zip(put.dims, axes):
            order[dim] = put.at + left.index(-1 - dim if axis is None else axis)
        rest = iter(d for d in range(rank) if d not in order.values())
        back = [order[d] if d in order else next(rest) for d in range(rank)]
        if back != list(range(rank)):
            values = self.call(aten.permute.default, values, back)
        return Term(values, places)


def _is_sum_of(node: torch.fx.Node, parts: dict) -> bool:
    """Whether a node adds puts, and sums of them, that nobody else reads."""
    return (
        is_plain_sum(node)
        and node.args[0] is not node.args[1]
        and all(a in parts and len(a.users) == 1 for a in node.args)
    )


def _collect(graph: torch.fx.Graph) -> dict[torch.fx.Node, list[_Put]]:
    """Puts and their sums, without those that are part of another."""
    known = _Known()
    parts: dict[torch.fx.Node, list[_Put]] = {}
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if node.target in PUTS:
            put = _match_put(node, known)
            if put is not None:
                parts[node] = [put]
        elif _is_sum_of(node, parts):
            first, second = (parts[a] for a in node.args)
            if first[0].dims == second[0].dims:
                parts[node] = first + second
                for a in node.args:
                    del parts[a]
    return parts


def gather_sums(graph: torch.fx.Graph) -> None:
    """Replaces what adds at known places."""
    for node, puts in _collect(graph).items():
        call = Builder(graph, node).call
        if _replace(node, puts, call):
            graph.erase_node(node)


def _replace(node: torch.fx.Node, puts: list[_Put], call: Callable) -> bool:
    dtype = node.meta["val"].dtype
    wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    terms = []
    for put in puts:
        some = _Sum(call).terms(put)
        if some is None:
            return False
        terms += some
    planned = plan(terms, static_shape(node))
    if planned is None:
        return False

    def converted(x: Any, to: torch.dtype) -> Any:
        if x.meta["val"].dtype == to:
            return x
        return call(prims.convert_element_type.default, x, to)

    terms = [Term(converted(t.values, wide), t.places) for t in terms]
    out = emit(planned, terms, call, static_shape, wide)
    bases = [p.node.args[0] for p in puts]
    given = [b for b in bases if not is_zero(b)]
    for base in given:
        out = call(aten.add.Tensor, converted(base, wide), out)
    if not given and wide.is_floating_point:
        # As in a sum that begins with zero: not -0.0.
        out = call(aten.add.Scalar, out, 0.0)
    node.replace_all_uses_with(converted(out, dtype))
    return True
