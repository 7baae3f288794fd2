# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An ATen graph as text of torch-mlir's dialect, without torch-mlir.

torch-mlir's importer is a part of its library: loading that takes a third of a
second and 70 MiB, in a process which needs no more of it, for another one lowers
the graph. What is written here is what the importer would have made, for graphs of
known sizes: tests compare both. NotWritten is raised for all else, and the importer
asked.
"""

from __future__ import annotations

import operator
import re
import struct
from typing import Any

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensor

from polynest import torch_sizes

aten = torch.ops.aten


class NotWritten(Exception):
    """What is left to torch-mlir's importer; the message says what it is."""


_ELEMENTS = {
    torch.bool: "i1",
    torch.uint8: "ui8",
    torch.int8: "si8",
    torch.int16: "si16",
    torch.int32: "si32",
    torch.int64: "si64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
}

# PyTorch's own numbers of these, in c10/core.
_NUMBERS: dict[Any, int] = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.bool: 11,
    torch.bfloat16: 15,
    torch.strided: 0,
    torch.contiguous_format: 0,
    torch.preserve_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
}

# Ops that PyTorch names for tensors and calls with numbers.
_OF_NUMBERS = {
    aten.mul.Tensor: aten.mul.Scalar,
    aten.div.Tensor: aten.div.Scalar,
    aten.add.Tensor: aten.add.Scalar,
    aten.sub.Tensor: aten.sub.Scalar,
    aten.floor_divide.default: aten.floor_divide.Scalar,
}

# The importer makes other ops of them.
_OTHERWISE = {
    "aten::as_strided",
    "aten::lift_fresh_copy",
    "aten::empty",
    "aten::_local_scalar_dense",
    "aten::_assert_async",
    "aten::_unsafe_index_put",
    "aten::_embedding_bag_forward_only",
}

# torch-mlir has an operation for each op of the first two; another op is named
# by an attribute.
_NAMESPACES = ("aten", "prims", "polynest")

_ITEMS = {
    torch.IntType: (int, "int"),
    torch.FloatType: (float, "float"),
    torch.StringType: (str, "str"),
    torch.BoolType: (bool, "bool"),
    torch.TensorType: (None, "vtensor"),
}

_LIST = "!torch.list<vtensor>"
_PLACE = re.compile(r'File "([^"]+)", line ([0-9]+),')


def _quoted(text: str) -> str:
    if not text.isprintable():
        raise NotWritten("text that is not printable")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _type_of(value: Any) -> str:
    if value is None:
        return "!torch.none"
    if type(value) is list and all(type(v) is FakeTensor for v in value):
        return _LIST
    if type(value) is not FakeTensor:
        raise NotWritten(f"a value of {type(value).__name__}")
    element = _ELEMENTS.get(value.dtype)
    if element is None or value.layout != torch.strided:
        raise NotWritten(f"a tensor of {value.dtype}")
    sizes = list(value.shape)
    if not torch_sizes.are_numbers(sizes):
        raise NotWritten("a size that is not known")
    return f"!torch.vtensor<[{','.join(map(str, sizes))}],{element}>"


# Name and type of an operand.
_Operand = tuple[str, str]


class _Writer:
    def __init__(self, places: bool) -> None:
        self.places = places
        self.lines: list[str] = []
        self.count = 0
        self.values: dict[torch.fx.Node, _Operand | list[_Operand]] = {}
        self.unpacked: dict[torch.fx.Node, list[_Operand]] = {}
        self.place = "loc(unknown)"

    def write(self, graph: torch.fx.Graph, entry: str) -> str:
        arguments, output = [], None
        for node in graph.nodes:
            self._look_at_place(node)
            if node.op == "placeholder":
                # Where torch-mlir's importer takes the type from.
                if "tensor_meta" in node.meta:
                    raise NotWritten("an argument with another type")
                own = (f"%arg{len(arguments)}", _type_of(node.meta["val"]))
                self.values[node] = own
                arguments.append(f"{own[0]}: {own[1]}")
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                output = node
            else:
                raise NotWritten(f"a node of sort {node.op}")
        results = [self._value(n) for n in output.args[0]]
        types = ", ".join(t for _, t in results)
        names = ", ".join(n for n, _ in results)
        end = f"return {names} : {types}" if results else "return"
        return "\n".join(
            [
                "module {",
                f"func.func @{entry}({', '.join(arguments)}) -> ({types}) "
                "attributes {torch.assume_strict_symbolic_shapes} {",
                *self.lines,
                f"{end} {self.place}",
                "}",
                "}",
            ]
        )

    def _look_at_place(self, node: torch.fx.Node) -> None:
        trace = node.meta.get("stack_trace") if self.places else None
        if trace is None:
            return
        places = [
            f"{_quoted(path)}:{line}:0" for path, line in _PLACE.findall(trace)
        ]
        if not places:
            self.place = "loc(unknown)"
            return
        place = places[0]
        for inner in places[1:]:
            place = f"callsite({inner} at {place})"
        self.place = f"loc({place})"

    def _value(self, node: Any) -> _Operand:
        value = self.values.get(node) if isinstance(
            node, torch.fx.Node
        ) else None
        if not isinstance(value, tuple):
            raise NotWritten(f"a use of {node}")
        return value

    def _emit(
        self,
        name: str,
        operands: list[_Operand],
        results: list[str],
        attributes: str = "",
    ) -> list[_Operand]:
        names = ", ".join(n for n, _ in operands)
        types = ", ".join(t for _, t in operands)
        own = f"%{self.count}"
        self.count += 1
        many = f":{len(results)}" if len(results) > 1 else ""
        self.lines.append(
            f'{own}{many} = "{name}"({names}) {attributes}: ({types}) -> '
            f"({', '.join(results)}) {self.place}"
        )
        if not many:
            return [(own, results[0])]
        return [(f"{own}#{k}", t) for k, t in enumerate(results)]

    def _constant(self, value: Any) -> _Operand:
        """A number, text, device, none or what PyTorch counts."""
        if value is None:
            return self._emit("torch.constant.none", [], ["!torch.none"])[0]
        if type(value) is bool:
            sort, kind, text = "bool", "bool", str(value).lower()
        elif type(value) is int:
            sort, kind, text = "int", "int", f"{value} : i64"
        elif type(value) is float:
            (bits,) = struct.unpack("<Q", struct.pack("<d", value))
            sort, kind, text = "float", "float", f"0x{bits:016X} : f64"
        elif type(value) is str:
            sort, kind, text = "str", "str", _quoted(value)
        elif isinstance(value, torch.device):
            sort, kind, text = "device", "Device", _quoted(str(value))
        elif value in _NUMBERS:
            return self._constant(_NUMBERS[value])
        else:
            raise NotWritten(f"an argument of {type(value).__name__}")
        name, attribute = f"torch.constant.{sort}", f"{{value = {text}}} "
        return self._emit(name, [], [f"!torch.{kind}"], attribute)[0]

    def _argument(self, value: Any, expected: Any) -> _Operand:
        if isinstance(value, torch.fx.Node):
            return self._value(value)
        if isinstance(value, list):
            return self._list(value, expected)
        if isinstance(value, (tuple, torch.Tensor)):
            raise NotWritten(f"an argument of {type(value).__name__}")
        if isinstance(expected, torch.TensorType):
            # The types of torch.tensor(value), at the default type.
            if type(value) not in (bool, int, float):
                raise NotWritten("no number in the place of a tensor")
            dtype = torch.tensor(value).dtype
            return self._emit(
                "torch.prim.NumToTensor.Scalar",
                [self._constant(value)],
                [f"!torch.vtensor<[],{_ELEMENTS[dtype]}>"],
            )[0]
        constant = self._constant(value)
        if constant[1] == "!torch.bool":
            if isinstance(expected, torch.FloatType):
                return self._emit(
                    "torch.aten.Float.bool", [constant], ["!torch.float"]
                )[0]
            if isinstance(expected, (torch.IntType, torch.NumberType)):
                return self._emit(
                    "torch.aten.Int.bool", [constant], ["!torch.int"]
                )[0]
        return constant

    def _list(self, items: list, expected: Any) -> _Operand:
        if isinstance(expected, torch.OptionalType):
            expected = expected.getElementType()
        if not isinstance(expected, torch.ListType):
            raise NotWritten("a list in another place")
        item = expected.getElementType()
        optional = isinstance(item, torch.OptionalType)
        if optional:
            item = item.getElementType()
        python, name = _ITEMS.get(type(item), (None, ""))
        operands = []
        for value in items:
            if isinstance(value, torch.fx.Node) and name == "vtensor":
                operands.append(self._value(value))
            elif (optional and value is None) or (
                python is not None and type(value) is python
            ):
                operands.append(self._constant(value))
            else:
                raise NotWritten("a list of unlike items")
        if not name:
            raise NotWritten(f"a list of {item}")
        name = f"optional<{name}>" if optional else name
        return self._emit(
            "torch.prim.ListConstruct", operands, [f"!torch.list<{name}>"]
        )[0]

    def _call(self, node: torch.fx.Node) -> None:
        target = node.target
        if target is operator.getitem:
            self._pick(node)
            return
        if (
            not isinstance(target, torch._ops.OpOverload)
            or target.namespace not in _NAMESPACES
            or target._schema.name in _OTHERWISE
            or not target._schema.returns
        ):
            raise NotWritten(f"{target}")
        value = node.meta["val"]
        many = len(target._schema.returns) > 1
        results = [_type_of(v) for v in (value if many else [value])]
        if target in _OF_NUMBERS and isinstance(node.args[1], (int, float)):
            target = _OF_NUMBERS[target]
        schema = target._schema
        operands = []
        for i, parameter in enumerate(schema.arguments):
            if i < len(node.args):
                operand = self._argument(node.args[i], parameter.type)
            elif parameter.name in node.kwargs:
                operand = self._argument(
                    node.kwargs[parameter.name], parameter.type
                )
            elif isinstance(parameter.default_value, list):
                operand = self._list(parameter.default_value, parameter.type)
            else:
                operand = self._constant(parameter.default_value)
            operands.append(operand)
        name = f"torch.{schema.name.replace('::', '.')}"
        if schema.overload_name:
            name += f".{schema.overload_name}"
        attributes = ""
        if target.namespace == "polynest":
            name, attributes = "torch.operator", f"{{name = {_quoted(name)}}} "
        made = self._emit(name, operands, results, attributes)
        self.values[node] = made if many else made[0]

    def _pick(self, node: torch.fx.Node) -> None:
        """One of the results of an op, or of the list that it gives."""
        source, index = node.args
        value = self.values.get(source)
        if isinstance(value, tuple) and value[1] == _LIST:
            if source not in self.unpacked:
                self.unpacked[source] = self._emit(
                    "torch.prim.ListUnpack",
                    [value],
                    [_type_of(v) for v in source.meta["val"]],
                )
            value = self.unpacked[source]
        if not isinstance(value, list) or type(index) is not int:
            raise NotWritten("an item of another value")
        self.values[node] = value[index]


def write(graph: torch.fx.Graph, entry: str, places: bool = True) -> str:
    """The text of one function with the graph's placeholders as arguments, and
    where wanted with the places of ops, which are half of it. Raises
    NotWritten."""
    try:
        return _Writer(places).write(graph, entry)
    except (KeyError, IndexError) as error:
        raise NotWritten(f"an unusual graph: {error}") from error
