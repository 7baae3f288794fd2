# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled programs as Python callables on NumPy arrays and torch tensors."""

from __future__ import annotations

import math
import os
import sys
from typing import Any, Callable, Sequence

from polynest import _capi, errors
from polynest.handles import (
    Cache,
    Context,
    Executable,
    Module,
    Options,
    State,
    Target,
    default_cache,
)

# Results of this many bytes and more come from the recycling pool: the first
# touch of fresh memory costs more than the whole rest of a call.
POOL_FROM_BYTES = 256 * 1024

_NUMBERS = {v: k for k, v in _capi.DTYPES.items()}
# Element types that arrays name differently, or that have no name there.
_NUMPY_NAMES = {
    "bool": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "index": "int64",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
}
_SIZES = {"bool": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "index": 8,
          "f16": 2, "bf16": 2, "f32": 4, "f64": 8}
_PLAIN_NUMBERS = frozenset((bool, int, float))
RESULTS = ("auto", "pool", "torch", "numpy")


class Memory:
    """Contiguous elements at an address, for inputs that are no array of a
    framework. `keep` is what has to live as long."""

    __slots__ = ("address", "dtype", "shape", "keep")

    def __init__(
        self, address: int, dtype: str, shape: tuple[int, ...], keep: Any
    ) -> None:
        self.address, self.dtype = address, dtype
        self.shape, self.keep = shape, keep


def _torch_names() -> dict[str, Any]:
    import torch

    names = {k: getattr(torch, v) for k, v in _NUMPY_NAMES.items()}
    names["bf16"] = torch.bfloat16
    names["u8"] = torch.uint8
    return names


class _Call:
    """Everything about calls with one kind and shape of arguments."""

    __slots__ = ("blocks", "make_block", "results", "quick")

    def __init__(self, results, make_block) -> None:
        self.results = results
        self.make_block = make_block
        self.quick: Callable | None = None
        # Blocks not in use; each call takes one, so that threads never share.
        self.blocks: list[_capi.CallBlock] = []


def _new_block(
    entry: int, state: State | None, inputs: list, results: list
) -> _capi.CallBlock:
    block = _capi.CallBlock(inputs, results)
    if state is None:
        block.prepare("pn_entry_invoke", entry)
    else:
        block.prepare("pn_state_invoke", state.raw)
    return block


def _not_yet(arguments: Sequence[Any]) -> None:
    """Stands for a quick call before there is one."""


class Program:
    """One entry of an executable, called with arrays.

    NumPy arrays and CPU torch tensors are read where they are, strided ones
    too. Results are torch tensors where the first array argument is one, else
    NumPy arrays. A plain number serves where the program takes one element.
    `results` is "auto" (large ones out of the recycling pool),
    "pool" (all), "torch" or "numpy" (plain allocations of that framework).
    Calls from several threads may overlap.
    """

    def __init__(
        self,
        executable: Executable,
        entry: str | None = None,
        *,
        results: str = "auto",
    ) -> None:
        if results not in RESULTS:
            raise errors.ArgumentError(
                f"results is '{results}', not one of {', '.join(RESULTS)}"
            )
        self.executable = executable
        self._entry = executable.entry(entry)
        self.name = _capi.lib().pn_entry_name(self._entry).decode()
        self._results_from = results
        self.inputs = self._types(True)
        self.results = self._types(False)
        # Inputs that may be bound once.
        self.constants = [
            i
            for i in range(len(self.inputs))
            if _capi.lib().pn_entry_input_is_constant(self._entry, i)
        ]
        # Inputs that the program may write.
        self._written = [
            i
            for i in range(len(self.inputs))
            if _capi.lib().pn_entry_input_is_mutable(self._entry, i)
        ]
        self._state: State | None = None
        self._calls: dict[Any, _Call] = {}
        # What the last call was like, see _unrolled.
        self._quick: Callable = _not_yet

    @property
    def timing(self) -> dict[str, int]:
        """Nanoseconds of each step of the compilation."""
        return self.executable.timing

    def _types(self, is_input: bool) -> list[tuple]:
        found: list[tuple] = []
        while True:
            item = _capi.value_type(self._entry, len(found), is_input)
            if item is None:
                return found
            found.append(item)

    def __call__(self, *arguments: Any) -> Any:
        """One result, a tuple of several, or None."""
        results = self._quick(arguments)
        if results is None:
            results = self._call(arguments)
        if len(results) == 1:
            return results[0]
        return tuple(results) if results else None

    def call(self, arguments: Sequence[Any]) -> list[Any]:
        """The same, all results in a list."""
        results = self._quick(arguments)
        return self._call(arguments) if results is None else results

    def _call(self, arguments: Sequence[Any]) -> list[Any]:
        """A call unlike the last one."""
        self.executable.raw  # refuses a closed executable
        addresses: list[int] = []
        # Each call with arrays that it writes has to look whether it may.
        key = None if self._written else _quick_key(arguments, addresses)
        call = self._calls.get(key) if key is not None else None
        if call is None:
            call, arguments, addresses = self._find(arguments, key)
        elif key is not None:
            # The second call of its kind.
            if call.quick is None:
                call.quick = self._unrolled(arguments, call)
            self._quick = call.quick
        try:
            block = call.blocks.pop()
        except IndexError:
            block = call.make_block()
        words, step, at = block.words, _capi.WORDS, 0
        for address in addresses:
            words[at] = address
            at += step
        results = []
        for make in call.results:
            address, result = make()
            words[at] = address
            at += step
            results.append(result)
        _capi.check(block.function(*block.arguments))
        call.blocks.append(block)
        return results

    def _unrolled(self, arguments: Sequence[Any], call: _Call) -> Callable:
        """A call with arrays and tensors like these, without loops and lookups:
        they take longer than the rest of a small call. The function returns None
        for others."""
        names: dict[str, Any] = {
            "executable": self.executable,
            "state": self._state,
            "address_of": _capi.array_address,
            "check": _capi.check,
            "blocks": call.blocks,
            "new": call.make_block,
        }
        lines = [
            "def quick(a):",
            f"    if len(a) != {len(arguments)} or executable._raw is None:",
            "        return None",
            "    try:",
            "        pass",
        ]
        for i, a in enumerate(arguments):
            is_tensor = not hasattr(a, "__array_interface__")
            strides = a.stride() if is_tensor else a.strides
            names |= {f"k{i}": type(a), f"d{i}": a.dtype}
            names |= {f"n{i}": a.shape, f"s{i}": strides}
            lines += [
                f"        t = a[{i}]",
                f"        if type(t) is not k{i} or t.dtype is not d{i} or "
                f"t.shape != n{i} or "
                + (
                    f"t.stride() != s{i} or not t.is_cpu or t.is_neg():"
                    if is_tensor
                    else f"t.strides != s{i}:"
                ),
                "            return None",
                f"        p{i} = "
                + ("t.data_ptr()" if is_tensor else "address_of(t)"),
            ]
        lines += [
            "    except RuntimeError:",
            "        return None",
            "    try:",
            "        block = blocks.pop()",
            "    except IndexError:",
            "        block = new()",
            "    words = block.words",
        ]
        count, step = len(arguments), _capi.WORDS
        lines += [f"    words[{step * i}] = p{i}" for i in range(count)]
        for k, make in enumerate(call.results):
            names[f"m{k}"] = make
            lines.append(f"    words[{step * (count + k)}], r{k} = m{k}()")
        lines += [
            "    error = block.function(*block.arguments)",
            "    if error is not None:",
            "        check(error)",
            "    blocks.append(block)",
            "    return ["
            + ", ".join(f"r{k}" for k in range(len(call.results)))
            + "]",
        ]
        exec("\n".join(lines), names)
        # Not among its own globals: a cycle would keep the code for long.
        return names.pop("quick")

    def _find(
        self, arguments: Sequence[Any], quick_key: tuple | None
    ) -> tuple[_Call, list[Any], list[int]]:
        """What stands behind the quick way: all kinds of arguments, which are
        checked. Returns what has to stay until the call is over, and the
        addresses."""
        if not _PLAIN_NUMBERS.isdisjoint(map(type, arguments)):
            arguments = self._with_arrays(arguments)
        if self._written:
            self._check_writable(arguments)
        # What stands in for arguments lives until the call is over.
        kept: list[Any] = [arguments]
        views = [_view(a, i, kept) for i, a in enumerate(arguments)]
        key = tuple(v[1:] for v in views)
        call = self._calls.get(key)
        if call is None:
            call = self._prepare(views)
        if len(self._calls) >= 128:
            # Shapes that never come back must not pile up.
            self._calls.clear()
        self._calls[key] = call
        if quick_key is not None:
            self._calls[quick_key] = call
        return call, kept, [v[0] for v in views]

    def _with_constants(self, inputs: list[tuple]) -> list[tuple]:
        """All inputs of the entry, from those that a call passes."""
        return inputs

    def bind(self, *constants: Any) -> "BoundProgram":
        """The program with its constant inputs (`polynest.constant` in the
        text), given in their order, bound: what depends on them alone is
        computed now, and calls take the other inputs. Changes of their
        contents afterwards may or may not be seen."""
        return BoundProgram(self, constants)

    def _with_arrays(self, arguments: Sequence[Any]) -> list[Any]:
        """0-d arrays in place of plain numbers, where the program takes one
        element."""
        return [
            _zero_d(a, i, self.name, self.inputs[i])
            if type(a) in _PLAIN_NUMBERS and i < len(self.inputs)
            else a
            for i, a in enumerate(arguments)
        ]

    def _check_writable(self, arguments: Sequence[Any]) -> None:
        """Refuses what the program would write into and must not, or what it
        would write into in vain."""
        torch = sys.modules.get("torch")
        for i in self._written:
            if i >= len(arguments):
                continue
            a = arguments[i]
            if torch is not None and isinstance(a, torch.Tensor):
                if a.is_conj() or a.is_neg():
                    raise errors.SignatureError(
                        f"argument {i} of '{self.name}' is written, and is a "
                        "view that negates or conjugates"
                    )
            elif hasattr(a, "flags") and not a.flags.writeable:
                raise errors.SignatureError(
                    f"argument {i} of '{self.name}' is written, and the array "
                    "is read-only"
                )

    # -- once a signature ---------------------------------------------------------

    def _prepare(self, views: list[tuple]) -> _Call:
        if len(views) != len(self.inputs):
            raise errors.SignatureError(
                f"'{self.name}' takes {len(self.inputs)} arguments, "
                f"{len(views)} were given"
            )
        inputs = [self._check_input(i, view) for i, view in enumerate(views)]
        sizes = [s for _, s, _ in self.results]
        if any(_capi.DYNAMIC in s for s in sizes):
            probe = _capi.CallBlock(self._with_constants(inputs), [])
            sizes = _capi.result_sizes(
                self._entry, probe, [len(s) for s in sizes]
            )
        results = [(t[0], s, None) for t, s in zip(self.results, sizes)]
        as_torch = any(v[1] == "torch" for v in views)
        if self._results_from == "torch":
            as_torch = True
        elif self._results_from == "numpy" or "torch" not in sys.modules:
            as_torch = False
        makers = [
            self._maker(_NUMBERS[number], s, as_torch)
            for number, s, _ in results
        ]
        entry, state = self._entry, self._state
        # Not `self`, which holds the call.
        return _Call(
            makers, lambda: _new_block(entry, state, inputs, results)
        )

    def _check_input(self, i: int, view: tuple) -> tuple:
        """Descriptor fields of argument `i`, where it fits."""
        number, sizes, _ = self.inputs[i]
        _, kind, dtype, shape, strides = view
        wanted = _NUMBERS[number]
        if not _same_type(dtype, wanted):
            raise errors.SignatureError(
                f"argument {i} of '{self.name}' has element type {dtype}, "
                f"not {wanted}"
            )
        if len(shape) != len(sizes):
            raise errors.SignatureError(
                f"argument {i} of '{self.name}' has rank {len(shape)}, "
                f"not {len(sizes)}"
            )
        for d, (have, want) in enumerate(zip(shape, sizes)):
            if want != _capi.DYNAMIC and have != want:
                raise errors.SignatureError(
                    f"argument {i} of '{self.name}' has size {have} in "
                    f"dimension {d}, not {want}"
                )
        return number, shape, strides

    def _maker(
        self, dtype: str, sizes: Sequence[int], as_torch: bool
    ) -> Callable[[], tuple[int, Any]]:
        size = _SIZES[dtype] * math.prod(sizes)
        pooled = self._results_from == "pool" or (
            self._results_from == "auto" and size >= POOL_FROM_BYTES
        )
        if dtype == "index":
            dtype = "i64"
        if dtype == "bf16" and not as_torch:
            raise errors.UnsupportedError(
                "NumPy has no bf16; ask for results='torch'"
            )
        if as_torch:
            return torch_maker(dtype, sizes, pooled and size > 0)
        import numpy

        np_type = numpy.dtype(_NUMPY_NAMES[dtype])
        if pooled and size:
            pool = _capi.PooledTensor(dtype, sizes)

            def make_pooled():
                address, capsule = pool.new()
                return address, numpy.from_dlpack(_Capsule(capsule))

            return make_pooled

        empty, address_of = numpy.empty, _capi.array_address

        def make():
            out = empty(sizes, np_type)
            return address_of(out), out

        return make


class BoundProgram(Program):
    """A program with its constants bound; see Program.bind."""

    def __init__(self, program: Program, constants: Sequence[Any]) -> None:
        self.executable = program.executable
        self._entry = program._entry
        self.name = program.name
        self._results_from = program._results_from
        self.results = program.results
        self._written = [
            i - sum(c < i for c in program.constants)
            for i in program._written
        ]
        self.constants = []
        self._calls = {}
        self._quick = _not_yet
        chosen = program.constants
        if len(constants) != len(chosen):
            raise errors.SignatureError(
                f"'{self.name}' has {len(chosen)} constants, "
                f"{len(constants)} were given"
            )
        arrays = [
            _zero_d(a, i, self.name, program.inputs[i])
            if type(a) in _PLAIN_NUMBERS
            else a
            for i, a in zip(chosen, constants)
        ]
        arrays = [_settled(a) for a in arrays]
        views = [_view(a, i, []) for i, a in zip(chosen, arrays)]
        fields = [
            program._check_input(i, v) for i, v in zip(chosen, views)
        ]
        block = _capi.CallBlock(fields, [])
        for at, view in enumerate(views):
            block.set_pointer(at, view[0])
        self._state = State(self._entry, block)
        # What calls read has to stay; the rest may go.
        self._kept = [
            a for at, a in enumerate(arrays) if self._state.reads(at)
        ]
        self._constants = list(zip(chosen, fields))
        self.inputs = [
            t for i, t in enumerate(program.inputs) if i not in chosen
        ]

    def _with_constants(self, inputs: list[tuple]) -> list[tuple]:
        everything = list(inputs)
        for i, fields in self._constants:
            everything.insert(i, fields)
        return everything


def torch_maker(
    dtype: str, sizes: Sequence[int], pooled: bool
) -> Callable[[], tuple[int, Any]]:
    """A function that makes an uninitialized torch tensor and its address."""
    import torch

    torch_type = _torch_names()[dtype]
    if pooled:
        from torch.utils.dlpack import from_dlpack

        pool = _capi.PooledTensor(dtype, sizes)

        def make_pooled():
            address, capsule = pool.new()
            return address, from_dlpack(capsule)

        return make_pooled
    shape, strides, step = tuple(sizes), [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    strides = tuple(reversed(strides))
    # It takes two thirds of the time of torch.empty.
    empty = torch.empty_strided

    def make():
        out = empty(shape, strides, dtype=torch_type)
        return out.data_ptr(), out

    return make


class _Capsule:
    """What numpy.from_dlpack wants to be given."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


# -- arrays ------------------------------------------------------------------------


def _same_type(have: str, want: str) -> bool:
    if want == "index":
        want = "int64"
    want = _NUMPY_NAMES.get(want, "bfloat16" if want == "bf16" else want)
    # The text has no unsigned types: bytes are bytes.
    return have == want or (have == "uint8" and want == "int8")


def _zero_d(a: bool | int | float, index: int, name: str, wanted: tuple) -> Any:
    """The number as a 0-d array of the element type that input `index` has.
    Refuses what would lose more than a rounding."""
    dtype, sizes = _NUMBERS[wanted[0]], wanted[1]
    if sizes:
        raise errors.SignatureError(
            f"argument {index} of '{name}' is a number, not an array of rank "
            f"{len(sizes)}"
        )
    if dtype == "bf16":
        import torch

        return torch.tensor(a, dtype=torch.bfloat16)
    import numpy

    np_type = numpy.dtype(_NUMPY_NAMES[dtype])
    fits = (
        type(a) is bool
        if np_type.kind == "b"
        else np_type.kind == "f"
        or type(a) is not float
        and numpy.iinfo(np_type).min <= a <= numpy.iinfo(np_type).max
    )
    if not fits:
        raise errors.SignatureError(
            f"argument {index} of '{name}' is {a!r}, which {dtype} does not hold"
        )
    # A float too large for its type becomes an infinity, as in NumPy.
    with numpy.errstate(over="ignore"):
        return numpy.array(a, np_type)


def _settled(a: Any) -> Any:
    """The argument, or a copy where torch holds it as negated or conjugated."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(a, torch.Tensor):
        return a.resolve_conj().resolve_neg()
    return a


def _quick_key(
    arguments: Sequence[Any], addresses: list[int]
) -> tuple | None:
    """All that decides about a call of plain arrays and tensors, whose addresses
    are appended; None where there is anything else. Equal for calls that
    `_view` takes for equal, though not the other way round."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    array = None if numpy is None else numpy.ndarray
    tensor = None if torch is None else torch.Tensor
    address_of = _capi.array_address
    key = []
    try:
        for a in arguments:
            kind = type(a)
            if kind is tensor:
                if not a.is_cpu or a.is_neg():
                    return None
                key += (a.dtype, a.shape, a.stride())
                addresses.append(a.data_ptr())
            elif kind is array:
                key += (a.dtype, a.shape, a.strides)
                addresses.append(address_of(a))
            else:
                return None
    except RuntimeError:
        # Sparse tensors have no strides.
        return None
    return tuple(key)


def _view(a: Any, index: int, kept: list[Any]) -> tuple:
    """(address, kind, element type, sizes, strides in elements or None). What
    has to be copied first is added to `kept`."""
    if type(a) is Memory:
        return (a.address, "numpy", a.dtype, a.shape, None)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(a, torch.Tensor):
        if a.device.type != "cpu" or a.layout != torch.strided:
            raise errors.SignatureError(
                f"argument {index} is a {a.layout} tensor on {a.device}; "
                "only strided CPU tensors can be read in place"
            )
        if a.is_conj() or a.is_neg():
            a = _settled(a)
            kept.append(a)
        strides = None if a.is_contiguous() else tuple(a.stride())
        dtype = str(a.dtype).removeprefix("torch.")
        return (a.data_ptr(), "torch", dtype, tuple(a.shape), strides)
    interface = getattr(a, "__array_interface__", None)
    if interface is None:
        raise errors.SignatureError(
            f"argument {index} is a {type(a).__name__}, neither a NumPy array "
            "nor a torch tensor"
        )
    import numpy

    a = numpy.asarray(a)
    if not a.dtype.isnative or a.dtype.hasobject:
        raise errors.SignatureError(
            f"argument {index} has element type {a.dtype}, which is not native"
        )
    strides = None
    if not a.flags.c_contiguous:
        if any(s % a.itemsize for s in a.strides):
            raise errors.SignatureError(
                f"argument {index} has strides {a.strides}, which are not "
                f"multiples of its element size {a.itemsize}"
            )
        strides = tuple(s // a.itemsize for s in a.strides)
    address = a.__array_interface__["data"][0]
    return (address, "numpy", a.dtype.name, a.shape, strides)


def compile(  # noqa: A001 - the verb users expect
    source: str | bytes | os.PathLike,
    *,
    target: str | Target = "host",
    entry: str | None = None,
    opt_level: str = "default",
    numerics: str = "default",
    verify: bool = True,
    disabled_passes: Sequence[str] = (),
    results: str = "auto",
    remark: Callable[[str, str, str, dict[str, str]], None] | None = None,
    cache: bool | Cache = True,
) -> Program:
    """Compiles a program, MLIR text or a file, for this machine.

    `source` is text or a path. The result is called with arrays; see Program.
    An equal program may come from the cache: that of the environment, or a
    handle. With `remark` the program is always compiled.
    """
    options = Options(
        opt_level=opt_level,
        numerics=numerics,
        verify=verify,
        disabled_passes=disabled_passes,
    )
    if results not in RESULTS:
        raise errors.ArgumentError(
            f"results is '{results}', not one of {', '.join(RESULTS)}"
        )
    with Context(remark=remark) as context, _target(target) as chip:
        with _read(context, source) as module:
            executable = module.executable(chip, options, _cache(cache))
    return Program(executable, entry, results=results)


def _cache(choice: bool | Cache) -> Cache | None:
    if isinstance(choice, Cache):
        return choice
    return default_cache() if choice else None


def lower(
    source: str | bytes | os.PathLike,
    stage: str,
    *,
    target: str | Target = "host",
    opt_level: str = "default",
    numerics: str = "default",
    disabled_passes: Sequence[str] = (),
) -> str:
    """The program's text after a stage, "input" or "s1" to "s5"."""
    options = Options(
        opt_level=opt_level, numerics=numerics, disabled_passes=disabled_passes
    )
    with Context() as context, _target(target) as chip:
        with _read(context, source) as module:
            module.to_stage(stage, chip, options)
            return module.text


class _Borrowed:
    """A target of the caller's, not to be closed here."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def __enter__(self) -> Target:
        return self._target

    def __exit__(self, *_: object) -> None:
        pass


def _target(target: str | Target) -> Any:
    if isinstance(target, Target):
        return _Borrowed(target)
    if not isinstance(target, str):
        raise errors.ArgumentError(
            f"target is a {type(target).__name__}, not a name or a Target"
        )
    return Target(target)


def _read(context: Context, source: str | bytes | os.PathLike) -> Module:
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return Module(context, source)
    if isinstance(source, bytes):
        return Module(context, source)
    return Module.read(context, source)
