# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes without sign in ATen graphs, made explicit before regions are made.

The compiler's input has integers without a sign, and torch-mlir takes those for
signed: of uint8 it reads 128 and more as negative, in all but conversions. So
only what moves bytes, or converts them, stays an op of uint8. What computes or
compares does so in int32, where every byte is what it is, and converts its
result to the type that eager gives it; integers wrap alike, since 256 divides
2**32. An op that is in none of the tables below stays with eager.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
import torch.fx
from torch._prims_common import elementwise_dtypes
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as _Promotion
from torch.fx.node import map_arg

from polynest.torch_nodes import Builder

aten = torch.ops.aten
_CONVERT = torch.ops.prims.convert_element_type.default

_WIDE = torch.int32

REASON = "whether it takes bytes of 128 and more for negative is not known"


def _overloads(names: str) -> frozenset:
    found = set()
    for name in names.split():
        packet = getattr(aten, name)
        found.update(getattr(packet, o) for o in packet.overloads())
    return frozenset(found)


# Bytes go from place to place, and none is looked at.
_MOVES = _overloads(
    "view _unsafe_view reshape permute transpose t expand slice select squeeze "
    "unsqueeze alias detach diagonal unfold as_strided clone contiguous "
    "lift_fresh_copy lift_fresh gather index_select flip roll repeat copy "
    "slice_scatter select_scatter diagonal_scatter as_strided_scatter "
    "masked_scatter embedding cat stack empty empty_like new_empty "
    "empty_strided new_empty_strided empty_permuted zeros zeros_like "
    "new_zeros ones ones_like new_ones"
) | {
    aten.index.Tensor,
    aten.where.self,
    aten.scatter.src,
    aten.index_put.default,
    aten._unsafe_index.Tensor,
    aten._unsafe_index_put.default,
    torch.ops.prims.squeeze.default,
}
_MOVES -= {aten.view.dtype}
# Those conversions that read bytes know that they have no sign.
_CONVERSIONS = _overloads("_to_copy") | {_CONVERT}
_FILLS = _overloads("full full_like new_full scalar_tensor")
_RANGES = _overloads("arange")
# Each element of the result is one of those of the operands, which are brought
# to one type before.
_BY_ELEMENT = _overloads(
    "add sub rsub mul div remainder fmod maximum minimum fmax fmin clamp "
    "clamp_min clamp_max bitwise_and bitwise_or bitwise_xor bitwise_not "
    "bitwise_left_shift bitwise_right_shift "
    "logical_and logical_or logical_xor logical_not eq ne lt le gt ge where "
    "abs neg sign sgn square relu atan2 exp exp2 expm1 log log2 log10 log1p "
    "sqrt rsqrt reciprocal sin cos tan sinh cosh tanh asin acos atan asinh "
    "acosh atanh sigmoid erf erfc isnan isinf signbit floor ceil round trunc"
)
# Others. What they add up or multiply wraps as eager's.
_AS_A_WHOLE = _overloads(
    "sum prod mean amax amin argmax argmin any all cumsum cumprod mm bmm mv "
    "dot addmm baddbmm constant_pad_nd masked_fill index_fill scatter_add "
    "index_add sort topk"
) | {
    aten.cat.default,
    aten.copy.default,
    aten.max.dim,
    aten.min.dim,
    aten.max.default,
    aten.min.default,
    aten.scatter.value,
    aten.index_put.default,
    aten._unsafe_index_put.default,
}
# Powers of floats; those of bytes would go through floats.
_POWERS = _overloads("pow")


def _values(node: torch.fx.Node) -> list[Any]:
    value = node.meta.get("val")
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _is_byte(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == torch.uint8


def _is_tensor(node: Any) -> bool:
    return isinstance(node, torch.fx.Node) and isinstance(
        node.meta.get("val"), torch.Tensor
    )


def _touches_bytes(node: torch.fx.Node) -> bool:
    return any(_is_byte(v) for n in (*node.all_input_nodes, node)
               for v in _values(n))


def _schema_arguments(node: torch.fx.Node) -> list[tuple[Any, Any, Any]]:
    """(key of args or kwargs, value, schema's argument) of what is given."""
    arguments = node.target._schema.arguments
    found = [(i, v, arguments[i]) for i, v in enumerate(node.args)]
    by_name = {a.name: a for a in arguments}
    return found + [(k, v, by_name[k]) for k, v in node.kwargs.items()]


_FILL_NAMES = ("fill_value", "s")


def _fill_number(node: torch.fx.Node) -> Any:
    for _, value, argument in _schema_arguments(node):
        if argument.name in _FILL_NAMES:
            return value
    return None


def _is_high_fill(node: torch.fx.Node) -> bool:
    """Whether a node makes bytes of one number that is not known to be small:
    torch-mlir's constants of that kind are wrong."""
    if node.target not in _FILLS or not _is_byte(node.meta.get("val")):
        return False
    number = _fill_number(node)
    return not isinstance(number, int) or not 0 <= number < 128


def stays(node: torch.fx.Node) -> bool:
    """Whether an op can be compiled as it is, as far as bytes go."""
    if node.target is operator.getitem or not isinstance(
        node.target, torch._ops.OpOverload
    ):
        return True
    if not _touches_bytes(node):
        return True
    out = node.meta.get("val")
    if node.target in _CONVERSIONS:
        source = node.args[0].meta["val"]
        return not (_is_byte(out) and source.is_floating_point())
    if node.target in _FILLS:
        # Of bytes, fills read the sizes only.
        return not _is_byte(out) or not _is_high_fill(node)
    if node.target not in _MOVES or any(
        _is_high_fill(p) for p in node.all_input_nodes
    ):
        return False
    if node.target in (
        aten.index_put.default,
        aten._unsafe_index_put.default,
    ):
        if len(node.args) > 3 and node.args[3]:
            return False
    if "like" in node.target.name() or "new_" in node.target.name():
        return True
    # Indices and masks are what else there may be.
    return _is_byte(out) and all(
        _is_byte(v)
        for key, source, argument in _schema_arguments(node)
        if argument.name in ("self", "a", "src", "source", "tensors", "values",
                             "other", "weight")
        for n in (source if isinstance(source, (list, tuple)) else [source])
        for v in (_values(n) if isinstance(n, torch.fx.Node) else [n])
    )


class _Widening:
    """One op in int32."""

    def __init__(self, graph: torch.fx.Graph, node: torch.fx.Node) -> None:
        self.graph, self.node = graph, node
        self.b = Builder(graph, node)

    def wide(self, node: torch.fx.Node, dtype=_WIDE) -> torch.fx.Node:
        """The bytes that `node` has, as numbers of another type."""
        if node.target not in _FILLS or not isinstance(
            _fill_number(node), int
        ):
            return self.b.call(_CONVERT, node, dtype)
        args, kwargs = list(node.args), {**node.kwargs, "dtype": dtype}
        for key, value, argument in _schema_arguments(node):
            if argument.name in _FILL_NAMES:
                (kwargs if isinstance(key, str) else args)[key] = value & 255
        return self.b.call(node.target, *args, **kwargs)

    def run(self) -> None:
        node, out = self.node, self.node.meta.get("val")
        if node.target in _CONVERSIONS:
            self._convert()
        elif node.target in _RANGES:
            args = list(node.args)
            kwargs = {**node.kwargs, "dtype": _WIDE}
            self._put(self.b.call(node.target, *args, **kwargs))
        elif node.target in _BY_ELEMENT or node.target in _POWERS:
            self._by_element()
        elif node.target in _AS_A_WHOLE or (
            node.target in _MOVES and _is_byte(out)
        ):
            whole = isinstance(out, torch.Tensor) and _is_byte(out)
            self._call(node.target, {}, whole)

    def _convert(self) -> None:
        # Straight from floats, 128 and more would not fit.
        source = self.node.args[0]
        self.node.update_arg(0, self.b.call(_CONVERT, source, _WIDE))

    def _by_element(self) -> None:
        node = self.node
        operands = [
            (key, value)
            for key, value, argument in _schema_arguments(node)
            if argument.name not in ("condition", "alpha", "rounding_mode",
                                     "approximate", "decimals")
            and isinstance(value, (torch.fx.Node, int, float))
        ]
        if any(
            _is_byte(v.meta.get("val"))
            for _, v, a in _schema_arguments(node)
            if a.name == "condition"
        ):
            return
        values = [
            v.meta["val"] if isinstance(v, torch.fx.Node) else v
            for _, v in operands
        ]
        common = elementwise_dtypes(
            *values, type_promotion_kind=_Promotion.DEFAULT
        )[1]
        whole = common == torch.uint8
        if node.meta["val"].is_floating_point() and not (
            common.is_floating_point
        ):
            # Of integers eager makes floats first.
            common, whole = node.meta["val"].dtype, False
        if node.target in _POWERS and not common.is_floating_point:
            return
        if common == torch.bool:
            return
        replaced = {}
        wide = _WIDE if whole else common
        for key, value in operands:
            if _is_tensor(value):
                of = value.meta["val"]
                if of.dtype == torch.uint8:
                    replaced[key] = self.wide(value, wide)
                elif whole and of.dtype != torch.bool:
                    # A number as a tensor of rank 0: it counts as a byte.
                    replaced[key] = self._as_byte(value)
                elif node.target is aten.clamp.Tensor and of.dtype != wide:
                    replaced[key] = self.b.call(_CONVERT, value, wide)
            elif whole and isinstance(value, torch.fx.Node):
                return
        if whole and node.kwargs.get("rounding_mode") == "floor":
            replaced["rounding_mode"] = "trunc"
        self._call(node.target, replaced, whole)

    def _as_byte(self, node: torch.fx.Node) -> torch.fx.Node:
        whole = self.b.call(_CONVERT, node, _WIDE)
        return self.b.call(aten.bitwise_and.Scalar, whole, 255)

    def _call(self, target, replaced: dict, whole: bool) -> None:
        """The op on wide operands, numbers as bytes where it is one of bytes
        as a `whole`."""
        node = self.node
        args, kwargs = list(node.args), dict(node.kwargs)
        for key, value, argument in _schema_arguments(node):
            kind = argument.type
            if isinstance(kind, torch.OptionalType):
                kind = kind.getElementType()
            is_number = isinstance(kind, (torch.NumberType, torch.TensorType))
            if whole and is_number and not isinstance(value, bool):
                if isinstance(value, float):
                    if not value.is_integer():
                        return
                    value = int(value)
                if isinstance(value, int):
                    value = value & 255
                elif isinstance(value, torch.fx.Node) and not _is_tensor(
                    value
                ):
                    return
            value = replaced.get(key, value)
            value = map_arg(
                value,
                lambda n: self.wide(n) if _is_byte(n.meta.get("val")) else n,
            )
            (kwargs if isinstance(key, str) else args)[key] = value
        self._put(self.b.call(target, *args, **kwargs))

    def _put(self, new: torch.fx.Node) -> None:
        """`new` in the place of the node, with the node's types."""
        node = self.node
        if isinstance(node.meta["val"], (list, tuple)):
            for user in list(node.users):
                with self.graph.inserting_before(user):
                    item = self.graph.call_function(
                        operator.getitem, (new, user.args[1])
                    )
                item.meta = {
                    **user.meta, "val": new.meta["val"][user.args[1]]
                }
                self._narrow(user, item)
            self.graph.erase_node(node)
        else:
            self._narrow(node, new)

    def _narrow(self, old: torch.fx.Node, new: torch.fx.Node) -> None:
        wanted = old.meta["val"].dtype
        if new.meta["val"].dtype != wanted:
            with self.graph.inserting_before(old):
                new = self.graph.call_function(_CONVERT, (new, wanted))
        new.meta = dict(old.meta)
        old.replace_all_uses_with(new)
        self.graph.erase_node(old)


def widen_bytes(graph: torch.fx.Graph) -> None:
    """Leaves ops on bytes only where `stays` says so, and where there is no
    way to have it so."""
    fills = []
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        if _is_high_fill(node):
            fills.append(node)
        elif not stays(node):
            _Widening(graph, node).run()
    for node in fills:
        if not node.users:
            graph.erase_node(node)
