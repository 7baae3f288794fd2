# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants of ATen graphs: they are computed here, by eager itself.

torch-mlir folds ops of tensors with one value, and is wrong about many: beside a
tensor of floats it takes the bits of the float for those of an integer where the
other operand is an integer, so that what comes out depends on what was in memory;
it takes negative numbers beside floats for huge ones; and it compares i1 as a
signed number. So none of its folders should see what it would get wrong:

What is computed from tensors of one value alone is such a tensor. Its value comes
from eager's own op, run on one element.

Operands of comparisons, and numbers beside floats, have the type in which eager
computes, as ops of the graph.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import unset_fake_temporarily

aten = torch.ops.aten

# The value of a tensor of which all elements are equal, as a number.
_Values = dict[torch.fx.Node, Any]

_FILLS = {
    aten.full.default: lambda n: n.args[1],
    aten.full_like.default: lambda n: n.args[1],
    aten.new_full.default: lambda n: n.args[2],
    aten.fill.Scalar: lambda n: n.args[1],
    aten.scalar_tensor.default: lambda n: n.args[0],
    **{
        getattr(aten, name).default: lambda n: 0
        for name in ("zeros", "zeros_like", "new_zeros")
    },
    **{
        getattr(aten, name).default: lambda n: 1
        for name in ("ones", "ones_like", "new_ones")
    },
}

# Elements of the first operand, all or some of them, as they are.
_MOVES = frozenset(
    [
        aten.alias.default,
        aten.clone.default,
        aten.detach.default,
        aten.expand.default,
        aten.lift_fresh_copy.default,
        aten.permute.default,
        aten.repeat.default,
        aten.reshape.default,
        aten.select.int,
        aten.slice.Tensor,
        aten.squeeze.default,
        aten.squeeze.dim,
        aten.squeeze.dims,
        aten.t.default,
        aten.transpose.int,
        aten.unsqueeze.default,
        aten._unsafe_view.default,
        aten.view.default,
    ]
)

_CONVERSIONS = frozenset(
    [aten._to_copy.default, torch.ops.prims.convert_element_type.default]
)

# torch-mlir takes the smaller of a float and an integer by comparing them, where
# NaN is lost.
_COMPARISONS = frozenset(
    getattr(getattr(aten, name), overload)
    for name in ("eq", "ne", "lt", "le", "gt", "ge")
    for overload in ("Scalar", "Tensor")
) | {aten.maximum.default, aten.minimum.default}

# Numbers beside floats, and what the second operand is multiplied by.
_WITH_NUMBERS = frozenset(
    getattr(getattr(aten, name), overload)
    for name in ("add", "sub", "rsub", "mul", "div")
    for overload in ("Scalar", "Tensor")
)


def _value(node: Any) -> Any:
    return node.meta.get("val") if isinstance(node, torch.fx.Node) else None


def _is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float))


def _is_known(value: Any) -> bool:
    """Whether a value is a dense tensor here with static sizes, of a type that
    Python has numbers for."""
    return (
        isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and value.device.type == "cpu"
        and not value.is_quantized
        and not value.dtype.is_complex
        and value.dtype != torch.uint8  # see torch_unsigned.py
        and all(isinstance(n, int) for n in value.shape)
    )


def _one(dtype: torch.dtype, rank: int, number: Any) -> torch.Tensor:
    return torch.full([1] * rank, number, dtype=dtype)


def filled_with(node: torch.fx.Node) -> Any:
    """The number that a node fills a tensor with; None where it does something
    else, or where the number is not known."""
    fill = _FILLS.get(node.target)
    number = fill(node) if fill is not None else None
    return number if _is_number(number) else None


def _computed(node: torch.fx.Node, values: _Values) -> Any:
    """The number in every element of a result; None where elements may differ
    or eager refuses."""
    target, value = node.target, _value(node)
    number = filled_with(node)
    if number is not None:
        return _one(value.dtype, 0, number).item()
    sources = node.all_input_nodes
    if not sources or any(s not in values for s in sources):
        return None
    if target in _MOVES:
        return values[sources[0]]
    if target not in _CONVERSIONS and (
        torch.Tag.pointwise not in target.tags
        or torch.Tag.nondeterministic_seeded in target.tags
    ):
        return None

    def element(source: torch.fx.Node) -> torch.Tensor:
        like = _value(source)
        # The rank matters for the type of the result.
        return _one(like.dtype, like.dim(), values[source])

    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), element)
    out = target(*args, **kwargs)
    if not isinstance(out, torch.Tensor) or (
        out.dtype != value.dtype or out.numel() != 1
    ):
        return None
    return out.item()


def _insert(place: torch.fx.Node, target, args, kwargs, value):
    with place.graph.inserting_before(place):
        new = place.graph.call_function(target, args, kwargs)
    # Not the place's own tensor_meta: torch-mlir's importer would believe it.
    new.meta = {"val": value, "stack_trace": place.meta.get("stack_trace")}
    return new


def _fill(node: torch.fx.Node, number: Any) -> torch.fx.Node | None:
    """A tensor of one value in the node's place, laid out as it is."""
    value = _value(node)
    order = sorted(range(value.dim()), key=lambda d: -value.stride(d))
    sizes = [value.shape[d] for d in order]
    with value.fake_mode:
        plain = torch.empty(sizes, dtype=value.dtype)
    back = sorted(range(len(order)), key=lambda i: order[i])
    moved = plain.permute(back)
    if moved.stride() != value.stride():
        return None
    new = _insert(
        node,
        aten.full.default,
        (sizes, number),
        {"dtype": value.dtype, "device": value.device, "pin_memory": False},
        plain,
    )
    if order != sorted(order):
        new = _insert(node, aten.permute.default, (new, back), {}, moved)
    return new


def _choose(node: torch.fx.Node, values: _Values) -> torch.fx.Node | None:
    """The one operand that a selection takes all elements of."""
    chosen = node.args[1 if values[node.args[0]] else 2]
    value, have = _value(node), _value(chosen)
    if not isinstance(have, torch.Tensor):
        return None
    if have.dtype != value.dtype:
        with value.fake_mode:
            have = have.to(value.dtype)
        chosen = _insert(
            node,
            aten._to_copy.default,
            (chosen,),
            {"dtype": value.dtype},
            have,
        )
    if have.shape != value.shape:
        sizes = list(value.shape)
        have = have.expand(sizes)
        chosen = _insert(node, aten.expand.default, (chosen, sizes), {}, have)
    return _insert(
        node,
        aten.clone.default,
        (chosen,),
        {"memory_format": torch.contiguous_format},
        value,
    )


def _becomes_bytes(node: torch.fx.Node) -> bool:
    """Whether a user makes bytes of a result: torch-mlir's own constants of
    uint8 are wrong, and it would fold that user if this were a constant."""
    values = [_value(user) for user in node.users]
    return any(
        isinstance(v, torch.Tensor) and v.dtype == torch.uint8 for v in values
    )


def fold_constants(graph: torch.fx.Graph) -> None:
    """Replaces what is computed from tensors of one value."""
    values: _Values = {}
    changed = False
    for node in list(graph.nodes):
        if (
            node.op != "call_function"
            or not isinstance(node.target, torch._ops.OpOverload)
            or node.target._schema.is_mutable
            or not _is_known(_value(node))
            or 0 in _value(node).shape
            or _becomes_bytes(node)
        ):
            continue
        with unset_fake_temporarily(), torch.no_grad():
            try:
                number = _computed(node, values)
            except (RuntimeError, TypeError, NotImplementedError):
                number = None  # the call says what is wrong, as eager
        new = None
        if number is not None:
            values[node] = number
            if node.target not in _MOVES and (
                node.target is not aten.full.default
                or type(node.args[1]) is not type(number)
            ):
                new = _fill(node, number)
        elif (
            node.target is aten.where.self
            and node.args[0] in values
            and _value(node).is_contiguous()
        ):
            new = _choose(node, values)
        if new is not None:
            if number is not None:
                values[new] = number
            node.replace_all_uses_with(new)
            graph.erase_node(node)
            changed = True
    if changed:
        graph.eliminate_dead_code()


def _typed(node: torch.fx.Node, operand: Any, dtype: torch.dtype) -> Any:
    """An operand as one of the type in which eager computes."""
    if isinstance(operand, torch.fx.Node):
        value = _value(operand)
        if not isinstance(value, torch.Tensor) or value.dtype == dtype:
            return operand
        with value.fake_mode:
            value = value.to(dtype)
        return _insert(
            node, aten._to_copy.default, (operand,), {"dtype": dtype}, value
        )
    with unset_fake_temporarily():
        return torch.full((), operand, dtype=dtype).item()


def _number(place: torch.fx.Node, number: bool) -> torch.fx.Node:
    with _value(place).fake_mode:
        value = torch.full((), number)
    return _insert(
        place, aten.full.default, ([], number), {"dtype": torch.bool}, value
    )


def type_operands(graph: torch.fx.Graph) -> None:
    """Gives operands of comparisons, and minima, the type in which eager compares,
    numbers beside floats that of floats, and parts of a whole its type."""
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        if node.target is aten.cat.default:
            dtype = _value(node).dtype
            parts = [_typed(node, part, dtype) for part in node.args[0]]
            node.args = (parts, *node.args[1:])
            continue
        compares = node.target in _COMPARISONS
        if not compares and node.target not in _WITH_NUMBERS:
            continue
        a, b = node.args[:2]
        have = [_value(x) if isinstance(x, torch.fx.Node) else x for x in (a, b)]
        if not all(
            isinstance(v, torch.Tensor) or _is_number(v) for v in have
        ):
            continue
        with unset_fake_temporarily():
            dtype = torch.result_type(*have)
        if dtype.is_complex or dtype == torch.uint8:
            continue
        if compares:
            try:
                a, b = (_typed(node, x, dtype) for x in (a, b))
            except RuntimeError:
                continue  # a number that the type does not have
            node.args = (a, b)
        elif dtype == torch.bool and node.target is aten.add.Tensor:
            # In one bit, true and true would be false.
            if node.kwargs.get("alpha", 1):
                b = b if isinstance(b, torch.fx.Node) else _number(node, b)
                node.target, node.args = aten.logical_or.default, (a, b)
                node.kwargs = {}
        elif dtype.is_floating_point:
            # What they are multiplied by is a number, too.
            node.args = tuple(
                float(x) if isinstance(x, int) else x for x in node.args
            )
            node.kwargs = {
                k: float(x) if isinstance(x, int) else x
                for k, x in node.kwargs.items()
            }
