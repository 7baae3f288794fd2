# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Repairs of ATen graphs where torch-mlir goes wrong, before regions are made.

Tensors without elements: torch-mlir's lowerings were not written with them in
mind, and there is nothing to compute. What has none is allocated; what is
computed from such tensors alone is a constant, and concatenations leave them
out. Every rewrite needs static sizes; what it does not know stays as it is, and
is refused later.

A tensor compared with itself: torch-mlir takes x == x for true, NaN or not.

A choice between a tensor and itself: torch-mlir takes it for the tensor, even where
the condition has more elements. With sizes that are not static it is refused.

Tensors filled like one whose elements nobody reads: the latter would be
allocated by eager and passed in, in each call.

Numbers in the place of tensors: where they come first, torch-mlir makes f32
tensors of them, which rounds those that meet f64; beside u8 it crashes.

Sizes that are known from guards: PyTorch follows what s == 2 says of s // 2, not
what s // 2 == 1 says, and goes on with the expression, while it broadcasts the
dimension. To torch-mlir a size that is not a number is never that of a dimension
to be broadcast.

Bytes without sign: see torch_unsigned.py.

Tensors of one value and numbers of another type: see torch_constants.py.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Callable

import torch
import torch.fx
from torch._subclasses.fake_tensor import (
    FakeTensor,
    unset_fake_temporarily,
)

from polynest.torch_constants import fold_constants, type_operands
from polynest.torch_unsigned import widen_bytes

aten = torch.ops.aten

ALLOCATION = aten.empty_strided.default


def _value(node: Any) -> Any:
    return node.meta.get("val") if isinstance(node, torch.fx.Node) else None


def _is_plain(value: Any) -> bool:
    """Whether a value is a dense tensor here with static sizes."""
    return (
        isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and value.device.type == "cpu"
        and not value.is_quantized
        and all(isinstance(n, int) for n in (*value.shape, *value.stride()))
    )


def is_empty(value: Any) -> bool:
    return _is_plain(value) and 0 in value.shape


def _reads_empty(node: torch.fx.Node) -> bool:
    return any(is_empty(_value(p)) for p in node.all_input_nodes)


def _replace(node: torch.fx.Node, target, args, kwargs) -> None:
    with node.graph.inserting_before(node):
        new = node.graph.call_function(target, args, kwargs)
    new.meta = dict(node.meta)
    node.replace_all_uses_with(new)
    node.graph.erase_node(node)


def _allocate(node: torch.fx.Node) -> None:
    value = _value(node)
    _replace(
        node,
        ALLOCATION,
        (list(value.shape), list(value.stride())),
        {"dtype": value.dtype, "device": value.device},
    )


def _fill(number: Any) -> Callable[[torch.fx.Node], None]:
    def fill(node: torch.fx.Node) -> None:
        value = _value(node)
        if value.is_contiguous() and not value.dtype.is_complex:
            _replace(
                node,
                aten.full.default,
                (list(value.shape), number),
                {"dtype": value.dtype, "device": value.device},
            )

    return fill


def _pad(node: torch.fx.Node) -> None:
    number = node.args[2] if len(node.args) > 2 else 0
    if not isinstance(number, torch.fx.Node):
        _fill(number)(node)


def _concatenate(node: torch.fx.Node) -> None:
    parts = node.args[0]
    kept = [p for p in parts if not is_empty(_value(p))]
    same = all(_value(p).dtype == _value(node).dtype for p in kept)
    # A part without elements may have another rank; its type still counts.
    if kept and same:
        node.args = (kept, *node.args[1:])


def _keep_first(node: torch.fx.Node) -> None:
    first, value = _value(node.args[0]), _value(node)
    if is_empty(first) or first.shape != value.shape:
        return
    if first.dtype == value.dtype and first.stride() == value.stride():
        _replace(node, aten.clone.default, (node.args[0],), {})


_OF_NOTHING: dict[Any, Callable[[torch.fx.Node], None]] = {
    aten.sum.dim_IntList: _fill(0),
    aten.sum.default: _fill(0),
    aten.prod.default: _fill(1),
    aten.prod.dim_int: _fill(1),
    aten.mean.default: _fill(math.nan),
    aten.mean.dim: _fill(math.nan),
    aten.var.correction: _fill(math.nan),
    aten.std.correction: _fill(math.nan),
    aten.any.default: _fill(False),
    aten.any.dim: _fill(False),
    aten.any.dims: _fill(False),
    aten.all.default: _fill(True),
    aten.all.dim: _fill(True),
    aten.mm.default: _fill(0),
    aten.bmm.default: _fill(0),
    aten.mv.default: _fill(0),
    aten.dot.default: _fill(0),
    aten.constant_pad_nd.default: _pad,
    aten.cat.default: _concatenate,
    aten.index_put.default: _keep_first,
    aten.index_add.default: _keep_first,
    aten.index_copy.default: _keep_first,
    aten.index_fill.int_Scalar: _keep_first,
    aten.scatter.src: _keep_first,
    aten.scatter.value: _keep_first,
    aten.scatter_add.default: _keep_first,
    aten.scatter_reduce.two: _keep_first,
    aten.slice_scatter.default: _keep_first,
}


# Memory as it is, in an order that torch-mlir does not know.
_UNWRITTEN = (
    aten.new_empty_strided.default,
    aten.empty_permuted.default,
)


def _is_pure(node: torch.fx.Node) -> bool:
    target = node.target
    if target is operator.getitem:
        # Checks, and whatever else is done for no result, give an empty token.
        source = node.args[0].target
        return not isinstance(source, torch._ops.HigherOrderOperator)
    return (
        isinstance(target, torch._ops.OpOverload)
        and not target._schema.is_mutable
        and torch.Tag.nondeterministic_seeded not in target.tags
    )


def compare_with_self(graph: torch.fx.Graph) -> None:
    """x == x as not (x != x), which torch-mlir lowers as it is."""
    for node in graph.find_nodes(
        op="call_function", target=aten.eq.Tensor
    ):
        if node.args[0] is not node.args[1]:
            continue
        with graph.inserting_before(node):
            differs = graph.call_function(aten.ne.Tensor, node.args)
        differs.meta = dict(node.meta)
        _replace(node, aten.logical_not.default, (differs,), {})


def expand_equal_choices(graph: torch.fx.Graph) -> None:
    """Makes both sides of a choice differ that are one tensor."""
    for node in graph.find_nodes(
        op="call_function", target=aten.where.self
    ):
        value, side = _value(node), node.args[1]
        if side is not node.args[2] or not _is_plain(value):
            continue
        shape = list(value.shape)
        with graph.inserting_before(node):
            expanded = graph.call_function(aten.expand.default, (side, shape))
        expanded.meta = dict(node.meta)
        with value.fake_mode:
            expanded.meta["val"] = _value(side).expand(shape)
        node.update_arg(1, expanded)


def type_numbers(graph: torch.fx.Graph) -> None:
    """Gives numbers in the place of tensors the type of the tensors."""
    for node in list(graph.nodes):
        target = node.target
        if node.op != "call_function" or not isinstance(
            target, torch._ops.OpOverload
        ):
            continue
        values = [_value(p) for p in node.all_input_nodes]
        tensors = [v for v in values if isinstance(v, torch.Tensor)]
        for i, (have, want) in enumerate(
            zip(node.args, target._schema.arguments)
        ):
            if not isinstance(have, (int, float)) or not tensors:
                continue
            if not isinstance(want.type, torch.TensorType):
                continue
            dtype = torch.result_type(tensors[0], have)
            if i > 0 and dtype != torch.uint8:
                continue
            with tensors[0].fake_mode:
                value = torch.full((), have, dtype=dtype)
            with graph.inserting_before(node):
                number = graph.call_function(
                    aten.full.default, ([], have), {"dtype": dtype}
                )
            number.meta = {
                "val": value,
                "stack_trace": node.meta.get("stack_trace"),
            }
            node.update_arg(i, number)


def remove_empties(graph: torch.fx.Graph) -> None:
    """Leaves no op that makes a tensor without elements, and few that read
    one."""
    changed = False
    for node in list(graph.nodes):
        if node.op != "call_function" or not _is_pure(node):
            continue
        value = _value(node)
        if is_empty(value) or (
            node.target in _UNWRITTEN and _is_plain(value)
        ):
            if node.target is not ALLOCATION:
                _allocate(node)
                changed = True
        elif _is_plain(value) and _reads_empty(node):
            rewrite = _OF_NOTHING.get(node.target)
            if rewrite is not None:
                rewrite(node)
                changed = True
    if changed:
        graph.eliminate_dead_code()


def fill_plainly(graph: torch.fx.Graph) -> None:
    """Fills by sizes in place of an allocation that has them."""
    for node in graph.find_nodes(
        op="call_function", target=aten.full_like.default
    ):
        like, number = node.args
        if (
            like.target is ALLOCATION
            and isinstance(number, (bool, int, float))
            and _is_plain(_value(node))
        ):
            _fill(number)(node)
            if not like.users:
                graph.erase_node(like)


class _KnownSizes:
    """What guards and ranges say of the sizes that depend on an environment's
    symbols. Asking adds no guard."""

    def __init__(self, environment: Any) -> None:
        import sympy

        self.environment = environment
        self.numbers: dict[Any, Any] = {}
        self.found: dict[Any, Any] = {}
        conditions = [guard.expr for guard in environment.guards]
        while conditions:
            condition = conditions.pop()
            if isinstance(condition, sympy.And):
                conditions.extend(condition.args)
            if not isinstance(condition, sympy.Eq):
                continue
            for size, number in (condition.args, condition.args[::-1]):
                if not number.is_Integer:
                    continue
                # Nodes have the first form, guards may have either.
                for form in (environment.replace, environment.simplify):
                    if not form(size).is_number:
                        self.numbers[form(size)] = number

    def expression(self, asked: Any) -> Any:
        """What is left of an expression with the numbers in it."""
        found = self.found.get(asked)
        if found is None:
            found = self.environment.replace(asked.xreplace(self.numbers))
            bounds = self.environment.bound_sympy(found)
            if bounds.is_singleton() and bounds.lower.is_Integer:
                found = bounds.lower
            self.found[asked] = found
        return found

    def size(self, size: Any) -> Any:
        if not isinstance(size, torch.SymInt):
            return size
        asked = size.node.expr
        found = self.expression(asked)
        if found == asked and not found.is_Integer:
            return size
        return self.environment.create_symintnode(found, hint=size.node.hint)

    def value(self, value: Any) -> Any:
        """The value of a node, itself where nothing more is known of it."""
        if isinstance(value, torch.SymInt):
            return self.size(value)
        if isinstance(value, (list, tuple)):
            inner = [self.value(v) for v in value]
            if all(map(operator.is_, inner, value)):
                return value
            return inner if isinstance(value, list) else tuple(inner)
        if (
            type(value) is not FakeTensor
            or value.layout != torch.strided
            or value.is_conj()
            or value.is_neg()
        ):
            return value
        before = [*value.shape, *value.stride()]
        after = [self.size(n) for n in before]
        if all(map(operator.is_, after, before)):
            return value
        with unset_fake_temporarily(), torch._C._DisablePythonDispatcher():
            inner = torch.empty_strided(
                after[: value.dim()],
                after[value.dim() :],
                dtype=value.dtype,
                device="meta",
                requires_grad=value.requires_grad,
            )
        return FakeTensor(value.fake_mode, inner, value.device)


def _environment(value: Any) -> Any:
    """That of the first symbol among the sizes of a node's value."""
    if isinstance(value, torch.SymInt):
        return value.node.shape_env
    if isinstance(value, torch.Tensor) and value.layout == torch.strided:
        value = (*value.shape, *value.stride())
    if not isinstance(value, (list, tuple)):
        return None
    return next(filter(None, map(_environment, value)), None)


def settle_sizes(graph: torch.fx.Graph) -> None:
    """Puts numbers in the place of sizes that are known to be these."""
    known: _KnownSizes | None = None
    for node in graph.nodes:
        value = node.meta.get("val")
        if known is None:
            environment = _environment(value)
            if environment is None:
                continue
            known = _KnownSizes(environment)
        settled = known.value(value)
        if settled is not value:
            node.meta["val"] = settled
            # Has the sizes too, and torch-mlir's importer prefers it.
            node.meta.pop("tensor_meta", None)


def repair(graph: torch.fx.Graph) -> None:
    """Applies every repair of this file to a graph with fake tensors."""
    settle_sizes(graph)
    widen_bytes(graph)
    type_numbers(graph)
    compare_with_self(graph)
    expand_equal_choices(graph)
    remove_empties(graph)
    fill_plainly(graph)
    type_operands(graph)
    fold_constants(graph)
