# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that polynest.export wrote, loaded back.

    model = polynest.load("resnet.so")
    y = model(x)

Neither PyTorch nor the compiler's frontend is needed for that: arguments are
NumPy arrays or torch tensors, and results are torch tensors where an argument is
one. The weights are mapped, not read, and packed once.

The weights file has the form of the safetensors library. Its metadata says what
the library's arguments and results are, and which library it belongs to, with
checksums: one of each tensor, and one of all that the metadata says.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import re
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence

from polynest import _capi, errors
from polynest.handles import Executable
from polynest.locks import ForkLock
from polynest.program import Memory, Program

FORMAT = 2

# -- assertions on sizes, as text of the program -------------------------------


@dataclass(frozen=True)
class Place:
    """Dimension of an argument, or its value where `dimension` is None."""

    argument: int
    dimension: int | None
    text: str

    @property
    def key(self) -> tuple[int, int | None]:
        return (self.argument, self.dimension)


@dataclass(frozen=True)
class Assertion:
    """`tree` is ["number", n], ["place", argument, dimension] or [operator,
    operands...]; `text` is what a caller reads who does not fulfil it."""

    tree: list
    text: str


_ARITHMETIC = {
    "+": "addi",
    "*": "muli",
    "//": "floordivsi",
    "max": "maxsi",
    "min": "minsi",
}
_COMPARISONS = {
    "==": "eq", "!=": "ne", "<": "slt", "<=": "sle", ">": "sgt", ">=": "sge",
}


class _Lines:
    """Operations on indices, each with a name of its own."""

    def __init__(self, types: Sequence[str]) -> None:
        self.types = types
        self.lines: list[str] = []
        self.known: dict[str, str] = {}

    def value(self, operation: str, type_: str = "") -> str:
        line = operation + (f" : {type_}" if type_ else "")
        if line not in self.known:
            self.known[line] = f"%polynest_{len(self.known)}"
            self.lines.append(f"    {self.known[line]} = {line}")
        return self.known[line]

    def number(self, n: int) -> str:
        return self.value(f"arith.constant {n}", "index")

    def place(self, argument: int, dimension: int | None) -> str:
        source, type_ = f"%arg{argument}", self.types[argument]
        if dimension is not None:
            at = self.number(dimension)
            return self.value(f"tensor.dim {source}, {at}", type_)
        held = self.value(f"tensor.extract {source}[]", type_)
        return self.value(f"arith.index_cast {held}", "i64 to index")

    def tree(self, tree: list) -> str:
        operator, *rest = tree
        if operator == "number":
            return self.number(rest[0])
        if operator == "place":
            return self.place(*rest)
        values = [self.tree(t) for t in rest]
        if operator == "not":
            true = self.value("arith.constant true")
            return self.value(f"arith.xori {values[0]}, {true}", "i1")
        a, b = values
        if operator in ("and", "or"):
            return self.value(f"arith.{operator}i {a}, {b}", "i1")
        if operator in _COMPARISONS:
            name = _COMPARISONS[operator]
            return self.value(f"arith.cmpi {name}, {a}, {b}", "index")
        if operator == "%":
            # Of the divisor's sign, as in Python.
            quotient = self.value(f"arith.floordivsi {a}, {b}", "index")
            product = self.value(f"arith.muli {quotient}, {b}", "index")
            return self.value(f"arith.subi {a}, {product}", "index")
        name = _ARITHMETIC[operator]
        return self.value(f"arith.{name} {a}, {b}", "index")


def _split_types(text: str) -> list[str]:
    """The types of `%arg0: T0, %arg1: T1`; commas within a type do not part."""
    pieces, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "<({[") - (c in ">)}]")
        if c == "," and depth == 0:
            pieces.append(text[begin:i])
            begin = i + 1
    pieces.append(text[begin:])
    types = [p.partition(":")[2].strip() for p in pieces if ":" in p]
    return [t.partition(" {")[0] for t in types]


def insert_assertions(
    text: str, entry: str, assertions: Sequence[Assertion]
) -> str:
    """The program with the assertions in front of its body."""
    if not assertions:
        return text
    start = re.search(rf"func\.func (public )?@{entry}\(", text)
    line_end = text.find("{\n", start.end()) if start else -1
    if line_end < 0:
        raise errors.InternalError(f"the program has no function '{entry}'")
    arguments = text[start.end() : _closing(text, start.end())]
    lines = _Lines(_split_types(arguments))
    for assertion in assertions:
        holds = lines.tree(assertion.tree)
        message = json.dumps(assertion.text, ensure_ascii=True)
        lines.lines.append(f"    cf.assert {holds}, {message}")
    body = line_end + 2
    return text[:body] + "\n".join(lines.lines) + "\n" + text[body:]


def _closing(text: str, begin: int) -> int:
    """The place of the parenthesis that closes the one before `begin`."""
    depth = 1
    for i in range(begin, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    raise errors.InternalError("the program's text ends early")


# -- files ---------------------------------------------------------------------

_SEAL_BYTES, _SEAL = 24, b"PNSTSUM\0"


def seal_of(path: Path) -> str:
    """What the end of a library says of its contents; "" where tools took it
    off."""
    with open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        if file.tell() < _SEAL_BYTES:
            return ""
        file.seek(-_SEAL_BYTES, os.SEEK_END)
        data = file.read()
    return data[8:].hex() if data.startswith(_SEAL) else ""


def sum_of_tensor(dtype: str, shape: Sequence[int], data: Any) -> int:
    """Of its form and elements. Not cryptographic: it finds damage."""
    form = f"{dtype} {list(shape)} ".encode()
    return zlib.crc32(data, zlib.crc32(form))


def sum_of_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# What the safetensors format calls element types -> torch's name, and bytes.
STORED_TYPES = {
    "BOOL": ("bool", 1),
    "U8": ("uint8", 1),
    "I8": ("int8", 1),
    "I16": ("int16", 2),
    "I32": ("int32", 4),
    "I64": ("int64", 8),
    "F16": ("float16", 2),
    "BF16": ("bfloat16", 2),
    "F32": ("float32", 4),
    "F64": ("float64", 8),
}


class _Weights:
    """A weights file, mapped. Private: what is written stays in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size < 8:
                    raise self._damaged("it is cut short")
                self.map = mmap.mmap(
                    file.fileno(), 0, access=mmap.ACCESS_COPY
                )
        except OSError as error:
            # Beside a library that was compiled otherwise there are none.
            hint = (
                "; Executable.load takes libraries without weights"
                if isinstance(error, FileNotFoundError)
                else ""
            )
            raise errors.FileError(
                f"cannot read the weights '{path}': {error.strerror}{hint}"
            ) from error
        length = int.from_bytes(self.map[:8], "little")
        if length > size - 8:
            raise self._damaged("it is cut short")
        try:
            self.header = json.loads(self.map[8 : 8 + length])
            metadata = self.header["__metadata__"]
            text = metadata["polynest"]
            found = metadata.get("polynest.sum")
            if found is not None and found != sum_of_text(text):
                raise self._damaged("its description was changed")
            self.description = json.loads(text)
            if self.description["format"] != FORMAT:
                raise errors.VersionError(
                    f"'{path}' has format {self.description['format']}, this "
                    f"package reads {FORMAT}"
                )
            if found is None:
                raise self._damaged("its description has no checksum")
        except (
            ValueError, KeyError, TypeError, AttributeError, RecursionError,
        ) as error:
            raise self._damaged(
                "it has no description of a library"
            ) from error
        self.begin, self.size = 8 + length, size
        self._checked: set[str] = set()
        self.address = _capi.buffer_address(self.map)

    def _damaged(self, why: str) -> errors.CorruptError:
        return errors.CorruptError(f"'{self.path}' is damaged or no weights file: {why}")

    def tensor(self, name: str) -> Memory:
        try:
            item = self.header[name]
            dtype, width = STORED_TYPES[item["dtype"]]
            shape = tuple(int(n) for n in item["shape"])
            begin, end = item["data_offsets"]
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged(f"it has no tensor '{name}'") from error
        if (
            min((*shape, begin), default=0) < 0
            or end - begin != math.prod(shape) * width
            or self.begin + end > self.size
        ):
            raise self._damaged(f"tensor '{name}' is not in it")
        if name not in self._checked:
            with memoryview(self.map) as view:
                data = view[self.begin + begin : self.begin + end]
                with data:
                    found = sum_of_tensor(item["dtype"], shape, data)
            if found != self.description["sums"][name]:
                raise self._damaged(f"tensor '{name}' was changed")
            self._checked.add(name)
        return Memory(self.address + self.begin + begin, dtype, shape, self)

    def forget_pages(self) -> None:
        """Pages that were read for packing go back; what reads them again
        gets them from the file."""
        advise = getattr(self.map, "madvise", None)
        if advise is not None:
            advise(mmap.MADV_DONTNEED)


# -- trees of arguments --------------------------------------------------------


class Record(dict):
    """A dict of results whose items are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def _is_in(value: Any, indices: range) -> bool:
    return type(value) is int and value in indices


def _count_leaves(tree: Any) -> int:
    """Raises ValueError where it is no tree."""
    if tree is None:
        return 1
    kind, children = tree
    if kind == "dict":
        children = children.values()
    elif kind not in ("tuple", "list"):
        raise ValueError(f"unknown: {kind!r}")
    return sum(map(_count_leaves, children))


def _flatten(
    tree: Any, value: Any, path: tuple, out: list[tuple[Any, tuple]]
) -> None:
    """The leaves of `value`, each with the keys on the way to it."""
    if tree is None:
        out.append((value, path))
        return
    kind, children = tree
    if kind == "dict":
        if not isinstance(value, dict) and hasattr(value, "_asdict"):
            value = value._asdict()
        if not isinstance(value, dict) or set(value) != set(children):
            raise errors.SignatureError(
                f"{_where(path)} must be a dict of "
                f"{', '.join(children) or 'nothing'}"
            )
        for name, child in children.items():
            _flatten(child, value[name], (*path, name), out)
        return
    if not isinstance(value, (tuple, list)) or len(value) != len(children):
        raise errors.SignatureError(
            f"{_where(path)} must be a {kind} of {len(children)}"
        )
    for i, child in enumerate(children):
        _flatten(child, value[i], (*path, i), out)


def _where(path: tuple) -> str:
    return "arguments" + _subscripts(path)


def _subscripts(path: tuple) -> str:
    return "".join(
        f"['{key}']" if isinstance(key, str) else f"[{key}]" for key in path
    )


def _place(path: tuple) -> str:
    """"argument 0" of arguments[0][0]."""
    if len(path) < 2:
        return _where(path)
    key = f"'{path[1]}'" if isinstance(path[1], str) else path[1]
    return f"argument {key}{_subscripts(path[2:])}"


def _unflatten(tree: Any, leaves: Any) -> Any:
    if tree is None:
        return next(leaves)
    kind, children = tree
    if kind == "dict":
        return Record(
            {n: _unflatten(child, leaves) for n, child in children.items()}
        )
    made = [_unflatten(child, leaves) for child in children]
    return tuple(made) if kind == "tuple" else made


# -- the model -----------------------------------------------------------------


class ExportedModel:
    """A library and its weights, called as the model was.

    Results have the model's structure; named tuples, data classes and dicts
    come back as dicts whose items are attributes. Calls may overlap, but for
    models that keep something between them (`buffers`): those take turns.
    """

    def __init__(
        self, library: Path, weights: Path, results: str = "auto"
    ) -> None:
        # First: what is no library has no weights either.
        executable = Executable.load(library)
        self._weights = _Weights(weights)
        d = self._weights.description
        seal = seal_of(library)
        if seal and d.get("library") and seal != d["library"]:
            raise errors.CorruptError(
                f"'{weights}' belongs to another library than '{library}'"
            )
        try:
            self._prepare(d, executable, results)
        except (
            KeyError, TypeError, ValueError, IndexError, AttributeError,
        ) as error:
            if isinstance(error, errors.PolynestError):
                raise
            raise errors.CorruptError(
                f"'{weights}' does not describe '{library}': {error}"
            ) from error

    def _prepare(
        self, d: dict[str, Any], executable: Executable, results: str
    ) -> None:
        self.name: str = d["entry"]
        self.target: str = d["target"]
        program = Program(executable, d["entry"], results=results)
        arguments = d["arguments"]
        if len(arguments) != len(program.inputs) or len(d["results"]) != len(
            program.results
        ):
            raise ValueError("the numbers of arguments differ")
        if program.constants != d["constants"]:
            raise ValueError("other arguments are constants")
        if program.constants:
            constants = [
                self._weights.tensor(arguments[i]["tensor"])
                for i in program.constants
            ]
            program = program.bind(*constants)
            self._weights.forget_pages()
        self._program = program
        self._call_tree, self._result_tree = d["call"], d["returns"]
        self._fixed = {int(i): v for i, v in d["fixed"].items()}
        chosen = set(d["constants"])
        self._arguments = [
            a for i, a in enumerate(arguments) if i not in chosen
        ]
        self._plan, self._writes = d["plan"], d["writes"]
        self._written = sorted(
            i for kind, i, _ in self._writes if kind == "input"
        )
        self._used = sorted(
            {a["input"] for a in self._arguments if "input" in a}
            | set(self._written)
        )
        self._bytes = [r["dtype"] == "uint8" for r in d["results"]]
        names = {a["tensor"] for a in arguments if a["kind"] == "buffer"}
        self.buffers = {
            n: _writable(self._weights.tensor(n)) for n in sorted(names)
        }
        held = {p[1] for p in self._plan if p[0] == "tensor"}
        self._held = {n: self._weights.tensor(n) for n in held}
        self._lock = ForkLock()
        self._check_plan(len(d["results"]))

    def _check_plan(self, result_count: int) -> None:
        """Calls rely on it."""
        inputs = range(_count_leaves(self._call_tree))
        results = range(result_count)

        def check(is_right: bool, what: Any) -> None:
            if not is_right:
                raise ValueError(f"unknown: {what!r}")

        for i in self._fixed:
            check(i in inputs, i)
        for a in self._arguments:
            kind = a["kind"]
            check(kind in ("input", "number", "buffer"), kind)
            check(kind == "buffer" or _is_in(a["input"], inputs), a)
        for origin in self._plan:
            kind, *rest = origin
            first = rest[0] if rest else None
            right = {
                "result": len(rest) == 1 and _is_in(first, results),
                "input": len(rest) == 1 and _is_in(first, inputs),
                "size": len(rest) == 2
                and _is_in(first, inputs)
                and type(rest[1]) is int
                and rest[1] >= 0,
                "tensor": len(rest) == 1 and first in self._held,
                "value": len(rest) == 1
                and (first is None or type(first) in (bool, int, float, str)),
            }
            check(right.get(kind, False), origin)
        for kind, where, k in self._writes:
            right = {
                "buffer": where in self.buffers,
                "input": _is_in(where, inputs),
            }
            check(right.get(kind, False) and _is_in(k, results), kind)
        if _count_leaves(self._result_tree) != len(self._plan):
            raise ValueError("the number of results differs")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves: list[tuple[Any, tuple]] = []
        _flatten(self._call_tree, (args, kwargs), (), leaves)
        inputs = [value for value, _ in leaves]
        for i, value in self._fixed.items():
            if not _is_same(inputs[i], value):
                raise errors.SignatureError(
                    f"{_place(leaves[i][1])} is {inputs[i]!r}; the model was "
                    f"exported for {value!r}"
                )
        self._check_overlaps(inputs, leaves)
        if not self._writes:
            return self._run(inputs, leaves)
        with self._lock:
            return self._run(inputs, leaves)

    def _check_overlaps(
        self, inputs: list[Any], leaves: list[tuple[Any, tuple]]
    ) -> None:
        """Inputs are written back once all is computed: what another reads or
        writes in the same memory would not be what the model does."""
        for i in self._written:
            layout = _layout(inputs[i])
            if layout is None:
                continue  # the program refuses it
            if _overlaps_itself(layout):
                raise errors.OverlapError(
                    f"{_place(leaves[i][1])} is written, and elements of it "
                    "share memory"
                )
            for k in self._used:
                other = None if k == i else _layout(inputs[k])
                if other is not None and _share_memory(layout, other):
                    raise errors.OverlapError(
                        f"{_place(leaves[i][1])} is written, and shares "
                        f"memory with {_place(leaves[k][1])}"
                    )

    def _run(self, inputs: list[Any], leaves: list[tuple[Any, tuple]]) -> Any:
        passed = [
            self.buffers[a["tensor"]]
            if a["kind"] == "buffer"
            else inputs[a["input"]]
            for a in self._arguments
        ]
        try:
            results = self._program.call(passed)
        except errors.SignatureError as error:
            raise self._renamed(error, leaves) from None
        torch = sys.modules.get("torch")
        as_torch = torch is not None and any(
            isinstance(a, torch.Tensor) for a in inputs
        )
        for k, is_bytes in enumerate(self._bytes):
            if as_torch and not isinstance(results[k], torch.Tensor):
                # No tensor is among what the program reads.
                results[k] = torch.from_numpy(results[k])
            if is_bytes:
                results[k] = _as_uint8(results[k])
        for kind, where, k in self._writes:
            if kind == "buffer":
                self.buffers[where] = results[k]
            else:
                inputs[where][...] = results[k]
        made = []
        for origin in self._plan:
            kind = origin[0]
            if kind == "result":
                made.append(results[origin[1]])
            elif kind == "input":
                made.append(inputs[origin[1]])
            elif kind == "size":
                made.append(int(inputs[origin[1]].shape[origin[2]]))
            elif kind == "tensor":
                array = _writable(self._held[origin[1]])
                as_is = not as_torch or isinstance(array, torch.Tensor)
                made.append(array if as_is else torch.from_numpy(array))
            else:
                made.append(origin[1])
        return _unflatten(self._result_tree, iter(made))

    def _renamed(
        self, error: errors.SignatureError, leaves: list[tuple[Any, tuple]]
    ) -> errors.SignatureError:
        """The error with the caller's name of the argument."""
        found = re.search(r"argument (\d+)( of '[^']*')?", str(error))
        if found and int(found[1]) < len(self._arguments):
            argument = self._arguments[int(found[1])]
            if "input" in argument:
                name = _place(leaves[argument["input"]][1])
                text = str(error)
                return errors.SignatureError(
                    text[: found.start()] + name + text[found.end() :]
                )
        return error

    def close(self) -> None:
        """Calls after it raise ArgumentError."""
        self._program.executable.close()

    def __enter__(self) -> "ExportedModel":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_same(given: Any, fixed: Any) -> bool:
    """By type, and floats by bits: the code has the sign of a zero in it. Any
    NaN is the same, since arithmetic tells none from another."""
    if type(given) is not type(fixed):
        return False
    if type(given) is not float:
        return given == fixed
    if given != given or fixed != fixed:
        return given != given and fixed != fixed
    return given == fixed and math.copysign(1, given) == math.copysign(1, fixed)


class _Layout:
    """Where an array's elements are, for NumPy to see."""

    def __init__(
        self, address: int, shape: tuple, strides: tuple, width: int, keep: Any
    ) -> None:
        self.shape, self.strides, self.width = shape, strides, width
        self.keep = keep
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": shape,
            "strides": strides,
            "typestr": f"|V{width}",
        }


def _layout(value: Any) -> _Layout | None:
    """None of what has no elements."""
    import numpy

    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or value.device.type != "cpu":
            return None
        width = value.element_size()
        found = _Layout(
            value.data_ptr(),
            tuple(value.shape),
            tuple(n * width for n in value.stride()),
            width,
            value,
        )
    elif isinstance(value, (numpy.ndarray, numpy.generic)):
        value = numpy.asarray(value)
        found = _Layout(
            _capi.array_address(value),
            value.shape,
            value.strides,
            value.itemsize,
            value,
        )
    else:
        return None
    return found if 0 not in found.shape else None


# Steps of a search that is exponential at worst; what takes longer counts as
# shared.
_SEARCH_STEPS = 100_000


def _share_memory(a: _Layout, b: _Layout) -> bool:
    import numpy

    try:
        return numpy.shares_memory(
            numpy.asarray(a), numpy.asarray(b), max_work=_SEARCH_STEPS
        )
    except RuntimeError:  # TooHardError
        return True


def _overlaps_itself(layout: _Layout) -> bool:
    """Whether it may: no where each stride passes all that is below it."""
    extent = layout.width
    dims = zip(map(abs, layout.strides), layout.shape)
    for stride, size in sorted(d for d in dims if d[1] > 1):
        if stride < extent:
            return True
        extent += stride * (size - 1)
    return False


def _as_uint8(array: Any) -> Any:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return array.view(torch.uint8)
    return array.view("uint8")


def _writable(memory: Memory) -> Any:
    """A copy of a weight as an array: of NumPy, or of torch for bf16."""
    import numpy

    is_bf16 = memory.dtype == "bfloat16"
    plain = numpy.dtype("int16" if is_bf16 else memory.dtype)
    size = math.prod(memory.shape) * plain.itemsize
    data = _capi.bytes_at(memory.address, size)
    array = numpy.frombuffer(data, plain).reshape(memory.shape)
    if not is_bf16:
        return array
    import torch

    return torch.from_numpy(array).view(torch.bfloat16)


def load(
    path: str | os.PathLike,
    *,
    weights: str | os.PathLike | None = None,
    results: str = "auto",
) -> ExportedModel:
    """The model that polynest.export wrote to the library `path`. `weights` is
    the weights file (default: beside the library), `results` as in Program. A
    library for a processor with more than this one has is a TargetError."""
    library = _as_path(path, "path")
    if not library.is_file():
        raise errors.FileError(f"there is no library '{library}'")
    beside = library.with_suffix(".weights")
    return ExportedModel(
        library,
        beside if weights is None else _as_path(weights, "weights"),
        results,
    )


def _as_path(value: Any, what: str) -> Path:
    try:
        return Path(os.fsdecode(os.fspath(value)))
    except TypeError:
        raise errors.ArgumentError(
            f"{what} is a {type(value).__name__}, not a path"
        ) from None
