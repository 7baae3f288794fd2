# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch models as files that run without PyTorch.

    polynest.export(model, (x,), "resnet.so")
    y = polynest.load("resnet.so")(x)

`export` writes four files side by side: the shared library, its C header, the
weights, and a C program that loads and runs both. All arguments and results are
contiguous there, whatever strides the example had. What the model keeps between
calls (buffers that it updates) is an argument and a result of the C function;
polynest.load does that by itself.

Nothing can stay with eager in a library: an op that would is an error that names
it, its element type, the reason and its place in the source.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

import torch
import torch.fx

from polynest import (
    _lowering,
    errors,
    exported,
    progress,
    torch_backend,
    torch_export_main,
    torch_options,
    torch_repairs,
    torch_rewrites,
    torch_sizes,
)
from polynest import torch_frontend as frontend
from polynest.handles import Context, Module, Options, Target

aten = torch.ops.aten


@dataclass(frozen=True)
class ExportedFiles:
    """What `export` wrote."""

    library: Path
    header: Path
    weights: Path
    main: Path


def _files(folder: Path, library: Path) -> ExportedFiles:
    """Those of a library, in a folder."""
    stem = library.stem
    return ExportedFiles(
        folder / library.name,
        folder / f"{stem}.h",
        folder / f"{stem}.weights",
        folder / f"{stem}_main.c",
    )


def export(
    model: Any,
    args: Sequence[Any] | None = None,
    path: str | os.PathLike | None = None,
    *,
    kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
    name: str | None = None,
    target: str = "host",
    opt_level: str = "default",
    numerics: str = "default",
    disabled_passes: Sequence[str] = (),
) -> ExportedFiles:
    """Writes a model as a shared library `path` (NAME.so) with NAME.h,
    NAME.weights and NAME_main.c beside it.

    `model` is a module or a function, with example arguments `args` and
    `kwargs`, or a `torch.export.ExportedProgram` without them.
    `dynamic_shapes` says which sizes vary, as for torch.export. `name` is that
    of the C function (default: the library's). `target` is a CPU to compile
    for. Files appear whole, the library last, or not at all.
    """
    with _file_errors(path):
        library = _checked_path(path)
    entry = _checked_name(name, library)
    options = Options(
        opt_level=opt_level,
        numerics=numerics,
        disabled_passes=disabled_passes,
    )
    if not isinstance(target, str):
        raise errors.ArgumentError(
            f"target is a {type(target).__name__}, not a name"
        )
    with Target(target):
        pass  # refuses names that nothing has before anything is traced
    with progress.shown():
        graph = trace(model, args, kwargs, dynamic_shapes)
        lowered = graph.lower(entry)
        progress.say(f"compiling {len(lowered.region.nodes)} ops")
        with _file_errors(library):
            return _write_files(
                graph, lowered, library, entry, target, options
            )


def trace(
    model: Any,
    args: Sequence[Any] | None,
    kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
) -> "_Graph":
    """The graph of a model, taken apart into what regions are made of."""
    progress.say("tracing")
    _lowering.worker().start()
    program = _exported_program(model, args, kwargs, dynamic_shapes)
    return _Graph(program, _definition(model))


def _write_files(
    graph: "_Graph",
    lowered: "_Lowered",
    library: Path,
    entry: str,
    target: str,
    options: Options,
) -> ExportedFiles:
    folder = Path(
        tempfile.mkdtemp(prefix=f".{library.stem[:32]}-", dir=library.parent)
    )
    try:
        parts = _files(folder, library)
        with Context() as context, Target(target) as chip:
            graph.compile(context, chip, options, lowered, parts)
        graph.write(entry, target, lowered, parts)
        return _put_in_place(parts, library.parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# -- arguments -----------------------------------------------------------------


@contextlib.contextmanager
def _file_errors(path: Any) -> Iterator[None]:
    """What the system says of files becomes an error of the package."""
    try:
        yield
    except OSError as error:
        if isinstance(error, errors.PolynestError):
            raise
        raise errors.FileError(
            f"cannot write '{path}': {error.strerror or error}"
        ) from error


def _checked_path(path: Any) -> Path:
    if path is None:
        raise errors.ArgumentError("path must say where the library goes")
    try:
        text = os.fspath(path)
    except TypeError:
        raise errors.ArgumentError(
            f"path is a {type(path).__name__}, not a path"
        ) from None
    library = Path(os.fsdecode(text))
    if library.suffix != ".so" or not library.stem:
        raise errors.ArgumentError(f"path '{library}' does not end in .so")
    if not re.fullmatch(r"[A-Za-z0-9_.+-]+", library.name):
        raise errors.ArgumentError(
            f"library name '{library.name}' may have letters, digits and "
            "_ . + - only: a C program names it"
        )
    if not library.parent.is_dir():
        raise errors.FileError(f"there is no folder '{library.parent}'")
    if not os.access(library.parent, os.W_OK | os.X_OK):
        raise errors.FileError(f"cannot write to '{library.parent}'")
    for place in vars(_files(library.parent, library)).values():
        if place.exists() and not place.is_file():
            raise errors.FileError(
                f"cannot write '{place}': it is no regular file"
            )
    return library


def _checked_name(name: Any, library: Path) -> str:
    if name is None:
        name = re.sub(r"\W", "_", library.stem, flags=re.ASCII)
        return name if not name[0].isdigit() else f"_{name}"
    if not isinstance(name, str) or not re.fullmatch(
        r"[A-Za-z_][A-Za-z0-9_]*", name
    ):
        raise errors.ArgumentError(f"name {name!r} is no C identifier")
    return name


class _Function(torch.nn.Module):
    """torch.export takes modules only, and names arguments, and what varies of
    them, by the signature of `forward`."""

    def __init__(
        self, function: Callable, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> None:
        super().__init__()

        def forward(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        forward.__signature__ = _signature(function, args, kwargs)
        self.forward = forward


def _signature(
    function: Callable, args: Sequence[Any], kwargs: dict[str, Any]
) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # a builtin has none
        make = inspect.Parameter
        names = (f"args_{i}" for i in range(len(args)))
        return inspect.Signature(
            [make(n, make.POSITIONAL_OR_KEYWORD) for n in names]
            + [make(n, make.KEYWORD_ONLY) for n in kwargs]
        )


def _definition(model: Any) -> str:
    """Where a function is defined: torch.export gives ops no other place than
    the line of a module that called them."""
    code = getattr(model, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else ""


def _exported_program(
    model: Any, args: Any, kwargs: Any, dynamic_shapes: Any
) -> torch.export.ExportedProgram:
    if isinstance(model, torch.export.ExportedProgram):
        given = {
            "args": args,
            "kwargs": kwargs,
            "dynamic_shapes": dynamic_shapes,
        }
        for what, value in given.items():
            if value is not None:
                raise errors.ArgumentError(
                    f"an exported program has its {what} already"
                )
        program = model
    else:
        program = _traced(model, args, kwargs, dynamic_shapes)
    try:
        with torch.no_grad():
            return program.run_decompositions(_decompositions())
    except Exception as error:
        raise errors.UnsupportedError(
            f"torch.export cannot decompose the model: {errors.headline(error)}"
        ) from error


def _traced(
    model: Any, args: Any, kwargs: Any, dynamic_shapes: Any
) -> torch.export.ExportedProgram:
    if not callable(model):
        raise errors.ArgumentError(
            f"model is a {type(model).__name__}, neither a module, a function "
            "nor an exported program"
        )
    if isinstance(args, torch.Tensor) or not isinstance(args, (tuple, list)):
        raise errors.ArgumentError(
            f"args is a {type(args).__name__}, not a tuple of example arguments"
        )
    if kwargs is not None and not isinstance(kwargs, dict):
        raise errors.ArgumentError(
            f"kwargs is a {type(kwargs).__name__}, not a dict"
        )
    # What torch.compile made of a module has it inside.
    model = getattr(model, "_orig_mod", model)
    try:
        if not isinstance(model, torch.nn.Module):
            model = _Function(model, args, kwargs or {})
        with torch.no_grad():
            return torch.export.export(
                model, tuple(args), kwargs, dynamic_shapes=dynamic_shapes
            )
    except Exception as error:  # whatever the model, or tracing, may raise
        raise errors.UnsupportedError(
            f"torch.export cannot trace the model: {errors.headline(error)}"
        ) from error


def _decompositions() -> dict:
    """The backend's table. Composite ops, which AOTAutograd never sees, are
    taken apart by PyTorch's own rules; left out here, they would stay."""
    from polynest import torch_recurrent
    from polynest.torch_decompositions import decomposition_table

    def is_composite(op: Any) -> bool:
        key = torch._C.DispatchKey.CompositeImplicitAutograd
        return torch._C._dispatch_has_kernel_for_dispatch_key(
            op.name(), key
        ) or key in getattr(op, "py_kernels", ())

    default = dict(torch.export.default_decompositions().items())
    composite = {op: f for op, f in default.items() if is_composite(op)}
    return {
        **decomposition_table(),
        **composite,
        **torch_recurrent.decompositions(composite),
    }


# -- the graph -----------------------------------------------------------------

_KINDS = torch.export.graph_signature.InputKind
_OUTPUTS = torch.export.graph_signature.OutputKind


class _Lowering(torch_backend.GraphCompiler):
    """Finds what does not lower, without making code of what does."""

    def _compile_region(self, module, region, kinds, dump=None) -> tuple:
        lowered, sources = frontend.lower_region(module, region, kinds)
        return lowered, sources, None


@dataclass(frozen=True)
class _Lowered:
    """The program and what its arguments and results are."""

    program: frontend.Program
    text: str
    region: frontend.Region
    arguments: list[dict[str, Any]]
    constants: list[int]
    plan: list[list[Any]]
    writes: list[list[Any]]


class _Graph:
    """The graph of an exported program, on its way to files."""

    def __init__(
        self, program: torch.export.ExportedProgram, definition: str
    ) -> None:
        self.exported = program
        self.definition = definition
        self.module = program.graph_module
        self.graph = self.module.graph
        self.signature = program.graph_signature
        # Placeholder -> index among the user's inputs, or name of a weight.
        self.inputs: dict[str, int] = {}
        self.held: dict[str, str] = {}
        self.fixed: dict[int, Any] = {}
        self.kinds: dict[str, str] = {}
        self.tensors: dict[str, torch.Tensor] = {}
        self._sort_inputs()
        self._check_outputs()
        self._drop_assertions()
        self._make_contiguous()
        torch_rewrites.rewrite(self.module)
        torch_repairs.repair(self.graph)
        self._copy_passed_on()

    # -- signature --

    def _sort_inputs(self) -> None:
        written = self.signature.buffers_to_mutate.values()
        count = 0
        for spec in self.signature.input_specs:
            name = getattr(spec.arg, "name", "")
            if spec.kind is _KINDS.USER_INPUT:
                if isinstance(
                    spec.arg, torch.export.graph_signature.ConstantArgument
                ):
                    self.fixed[count] = spec.arg.value
                else:
                    self.inputs[name] = count
                count += 1
            elif spec.kind in (
                _KINDS.PARAMETER,
                _KINDS.BUFFER,
                _KINDS.CONSTANT_TENSOR,
            ):
                self.held[name] = _stored_name(spec.target)
                changes = spec.target in written
                self.kinds[name] = "input" if changes else "parameter"
                self.tensors[self.held[name]] = self._tensor(spec)
            else:
                raise errors.UnsupportedError(
                    f"input '{name}' of the model is a {spec.kind.name}"
                )
        self.input_count = count

    def _tensor(self, spec: Any) -> torch.Tensor:
        for table in (self.exported.state_dict, self.exported.constants):
            if spec.target in table:
                return table[spec.target].detach()
        raise errors.UnsupportedError(
            f"the exported program has no tensor '{spec.target}'"
        )

    def _add_tensor(self, name: str, tensor: torch.Tensor) -> str:
        """The name that it gets: the model may have such a one itself."""
        while name in self.tensors:
            name += "_"
        self.tensors[name] = tensor
        return name

    def _check_outputs(self) -> None:
        allowed = (
            _OUTPUTS.USER_OUTPUT,
            _OUTPUTS.BUFFER_MUTATION,
            _OUTPUTS.USER_INPUT_MUTATION,
        )
        for spec in self.signature.output_specs:
            if spec.kind not in allowed:
                raise errors.UnsupportedError(
                    f"the model gives a {spec.kind.name}"
                )

    # -- repairs --

    def _drop_assertions(self) -> None:
        """Those on tensors' types hold by the signature, those on sizes come
        back as assertions of the program."""
        for node in list(self.graph.nodes):
            if node.op == "call_function" and str(node.target) in (
                "aten._assert_tensor_metadata.default",
                "aten._assert_scalar.default",
                "aten.sym_constrain_range.default",
                "aten.sym_constrain_range_for_size.default",
            ):
                self.graph.erase_node(node)
        self.graph.eliminate_dead_code()

    def _make_contiguous(self) -> None:
        """Arguments and results have no strides but those of their sizes."""
        moved = False
        for node in self.graph.find_nodes(op="placeholder"):
            value = node.meta.get("val")
            if isinstance(value, torch.Tensor):
                moved |= not value.is_contiguous()
                node.meta["val"] = value.contiguous()
        for node in self._output.all_input_nodes:
            value = node.meta.get("val")
            if isinstance(value, torch.Tensor):
                node.meta["val"] = value.contiguous()
        if moved and any(
            "as_strided" in str(n.target) for n in self.graph.nodes
        ):
            raise errors.UnsupportedError(
                "as_strided of an input that is not contiguous"
            )

    @property
    def _output(self) -> torch.fx.Node:
        return next(iter(self.graph.find_nodes(op="output")))

    def _copy_passed_on(self) -> None:
        """What is written without being computed is computed as a copy."""
        values = list(self._output.args[0])
        for i, spec in enumerate(self.signature.output_specs):
            node = values[i]
            if spec.kind is _OUTPUTS.USER_OUTPUT or not isinstance(
                node, torch.fx.Node
            ):
                continue
            if node.op in ("placeholder", "get_attr"):
                with self.graph.inserting_before(self._output):
                    copy = self.graph.call_function(
                        aten.clone.default, (node,)
                    )
                copy.meta["val"] = node.meta["val"].clone()
                values[i] = copy
        self._output.args = (tuple(values),)

    # -- lowering --

    def lower(
        self, entry: str, seen: Callable[[str], None] | None = None
    ) -> _Lowered:
        """`seen` is told the text that torch-mlir gets, the last time of the
        whole."""
        progress.say("lowering")
        if frontend.refusals(self.graph):
            self._refuse_leftovers()
        region = frontend.whole(self.graph)
        if region is None:
            raise errors.UnsupportedError(
                "the model computes nothing: no result depends on an op"
            )
        for node in region.inputs:
            if node.op not in ("placeholder", "get_attr"):
                raise errors.UnsupportedError(
                    f"'{node.name}' is a tensor without elements"
                )
        self._order(region)
        try:
            program, sources = frontend.lower_region(
                self.module, region, self.kinds, entry=entry, seen=seen
            )
        except frontend.RegionRefused as refusal:
            # The first that was found; there may be more.
            self._refuse_leftovers()
            raise self._left(region, refusal) from refusal
        arguments, constants = self._arguments(program, sources)
        text = exported.insert_assertions(
            program.text, entry, self._assertions(program, sources)
        )
        plan, writes = self._plan(region)
        return _Lowered(
            program, text, region, arguments, constants, plan, writes
        )

    def _order(self, region: frontend.Region) -> None:
        """Arguments as the model has them, then what it holds; results as it
        gives them, then what it writes."""
        count = self.input_count
        region.inputs.sort(key=lambda n: self.inputs.get(n.name, count))
        given = []
        for written in (False, True):
            for spec, node in zip(
                self.signature.output_specs, self._output.args[0]
            ):
                if (spec.kind is not _OUTPUTS.USER_OUTPUT) == written:
                    given.append(node)
        region.outputs.sort(key=given.index)

    def _refuse_leftovers(self) -> None:
        """An error that names every op that would stay with eager."""
        options = torch_options.checked(None)
        compiler = _Lowering({**options, "cache": False}, "export", {})
        rejected, regions, _, _ = compiler._compile_all(
            self.module, self.kinds
        )
        compiler._explain(self.graph, rejected, regions)
        left = [self._placed(f) for f in compiler.report.fallbacks]
        if left:
            raise errors.UnsupportedError(
                "ops would stay with eager, which a library has not: "
                + "; ".join(dict.fromkeys(left))
            )

    def _placed(self, fallback: frontend.Fallback) -> str:
        if fallback.place.startswith(f"{__file__}:"):
            fallback = dataclasses.replace(fallback, place=self.definition)
        return str(fallback)

    def _left(
        self, region: frontend.Region, refusal: frontend.RegionRefused
    ) -> errors.UnsupportedError:
        by_name = {n.name: n for n in region.nodes}
        named = [
            torch_backend.fallback_of(by_name[n], reason)
            for n, reason in refusal.nodes.items()
            if n in by_name
        ]
        return errors.UnsupportedError(
            "; ".join(map(self._placed, named)) or refusal.reason
        )

    def _arguments(
        self, program: frontend.Program, sources: Sequence[torch.fx.Node]
    ) -> tuple[list[dict[str, Any]], list[int]]:
        """What each argument of the program is, and which are constants."""
        found, constants = [], []
        for i, (argument, source) in enumerate(
            zip(program.arguments, sources)
        ):
            item: dict[str, Any] = {
                "dtype": str(argument.dtype).removeprefix("torch."),
                "sizes": list(argument.sizes),
            }
            if argument.constant is not None:
                name = self._add_tensor(
                    f"constant.{i}",
                    frontend.behind(argument.constant, argument.view),
                )
                item |= {"kind": "constant", "tensor": name}
            elif source.name in self.held:
                written = self.kinds[source.name] == "input"
                item |= {
                    "kind": "buffer" if written else "constant",
                    "tensor": self.held[source.name],
                }
            elif source.name in self.inputs:
                item |= {"kind": "input", "input": self.inputs[source.name]}
                if argument.kind == "scalar":
                    item["kind"] = "number"
                item["name"] = source.name
            else:
                raise errors.UnsupportedError(
                    f"'{source.name}' is computed outside of the program"
                )
            if item["kind"] == "constant":
                constants.append(i)
            found.append(item)
        return found, constants

    def _assertions(
        self, program: frontend.Program, sources: Sequence[torch.fx.Node]
    ) -> list[exported.Assertion]:
        """What the sizes of the arguments have to fulfil."""
        asserting = _SizeAssertions(self.exported)
        for i, (argument, source) in enumerate(
            zip(program.arguments, sources)
        ):
            value = source.meta.get("val")
            if argument.kind == "scalar" and isinstance(value, torch.SymInt):
                asserting.add_number(i, source.name, value)
            elif isinstance(value, torch.Tensor):
                asserting.add_tensor(i, source.name, value)
        return asserting.all()

    def _plan(
        self, region: frontend.Region
    ) -> tuple[list[list[Any]], list[list[Any]]]:
        """Where the model's results come from, and what is written back."""
        place = {n: k for k, n in enumerate(region.outputs)}
        plan: list[list[Any]] = []
        writes: list[list[Any]] = []
        for spec, node in zip(
            self.signature.output_specs, self._output.args[0]
        ):
            if spec.kind is _OUTPUTS.BUFFER_MUTATION:
                name = _stored_name(spec.target)
                writes.append(["buffer", name, place[node]])
            elif spec.kind is _OUTPUTS.USER_INPUT_MUTATION:
                index = self.inputs[spec.target]
                writes.append(["input", index, place[node]])
            else:
                plan.append(self._origin(node, place))
        return plan, writes

    def _origin(self, node: Any, place: dict) -> list[Any]:
        if not isinstance(node, torch.fx.Node):
            if node is None or type(node) in (bool, int, float, str):
                return ["value", node]
            raise errors.UnsupportedError(f"a result is {node!r}")
        if node in place:
            return ["result", place[node]]
        if node.name in self.inputs:
            return ["input", self.inputs[node.name]]
        if node.name in self.held:
            return ["tensor", self.held[node.name]]
        constant = frontend.captured(self.module, node)
        if isinstance(constant, torch.Tensor):
            name = self._add_tensor(f"result.{node.name}", constant)
            return ["tensor", name]
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt):
            found = self._size_of_input(value)
            if found is not None:
                return found
        if isinstance(value, (bool, int, float)):
            return ["value", value]
        raise errors.UnsupportedError(
            f"result '{node.name}' is no tensor that the program computes"
        )

    def _size_of_input(self, value: torch.SymInt) -> list[Any] | None:
        for node in self.graph.find_nodes(op="placeholder"):
            tensor = node.meta.get("val")
            if node.name not in self.inputs:
                continue
            if isinstance(tensor, torch.Tensor):
                for d, size in enumerate(tensor.shape):
                    if (
                        isinstance(size, torch.SymInt)
                        and size.node.expr == value.node.expr
                    ):
                        return ["size", self.inputs[node.name], d]
        return None

    # -- files --

    def compile(
        self,
        context: Context,
        chip: Target,
        options: Options,
        lowered: _Lowered,
        parts: ExportedFiles,
    ) -> None:
        with Module(context, lowered.text, "export") as module:
            for i in lowered.constants:
                module.mark_constant(i)
            try:
                module.library(chip, parts.library, parts.header, options)
            except (
                errors.UnsupportedError,
                errors.VerifyError,
                errors.PassError,
            ) as error:
                raise self._located(lowered, chip, options, error) from error

    def _located(
        self,
        lowered: _Lowered,
        chip: Target,
        options: Options,
        error: errors.PolynestError,
    ) -> errors.PolynestError:
        """The same error with the guilty ops, where a compilation with places
        in the text names them."""
        try:
            text = frontend.lower_region(
                self.module, lowered.region, self.kinds, locations=True
            )[0].text
            with Context() as context:
                with Module(context, text, "export") as module:
                    module.to_stage("s5", chip, options)
        except errors.PolynestError as again:
            places = {
                d.file.removeprefix("node/"): d.text
                for d in again.diagnostics
                if d.severity == "error"
            }
            refusal = frontend.RegionRefused(error.message, places)
            return self._left(lowered.region, refusal)
        except frontend.RegionRefused:
            pass
        return error

    def write(
        self,
        entry: str,
        target: str,
        lowered: _Lowered,
        parts: ExportedFiles,
    ) -> None:
        # An entry may end in the name of a function of another: x_init.
        found = re.search(
            r"^const char \*(\w+)_problem\(void\);",
            parts.header.read_text(),
            re.M,
        )
        if found is None:
            raise errors.InternalError("the header has no entry")
        used = {a["tensor"] for a in lowered.arguments if "tensor" in a}
        used |= {p[1] for p in lowered.plan if p[0] == "tensor"}
        kept = {n: t for n, t in self.tensors.items() if n in used}
        spec = self.exported.call_spec
        description = {
            "format": exported.FORMAT,
            "entry": entry,
            "symbol": found[1],
            "target": target,
            "library": exported.seal_of(parts.library),
            "call": _structure(spec.in_spec),
            "returns": _structure(spec.out_spec),
            "fixed": {str(i): v for i, v in self.fixed.items()},
            "arguments": lowered.arguments,
            "constants": lowered.constants,
            "results": [
                {
                    "dtype": str(r.dtype).removeprefix("torch."),
                    "sizes": list(r.sizes),
                }
                for r in lowered.program.results
            ],
            "plan": lowered.plan,
            "writes": lowered.writes,
        }
        description["sums"] = {
            name: exported.sum_of_tensor(
                _STORED[tensor.dtype], tensor.shape, _bytes(tensor)
            )
            for name, tensor in kept.items()
        }
        places = _write_weights(parts.weights, kept, description)
        example, symbols = _example_sizes(self.graph)
        parts.main.write_text(
            torch_export_main.text(
                description, places, parts, example, symbols
            )
        )


def _example_sizes(graph: torch.fx.Graph) -> tuple[dict, dict]:
    """Sizes of the example's tensors, and what stands for them, by
    placeholder."""
    example, symbols = {}, {}
    for node in graph.find_nodes(op="placeholder"):
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            example[node.name] = [_hint(n) for n in value.shape]
            symbols[node.name] = [str(n) for n in value.shape]
    return example, symbols


def _hint(size: Any) -> int:
    if isinstance(size, int):
        return size
    # None where the program was read from a file.
    hint = size.node.hint
    return 2 if hint is None else int(hint)


def _structure(spec: Any) -> Any:
    """The tree of arguments or results, as JSON: a leaf is null."""
    if spec.is_leaf():
        return None
    children = [_structure(spec.child(i)) for i in range(spec.num_children)]
    if spec.type in (tuple, list):
        return [spec.type.__name__, children]
    named = getattr(spec.context, "_fields", None)
    if named is not None:
        return ["dict", dict(zip(named, children))]
    if not isinstance(spec.type, type):
        raise _no_form(spec)
    if issubclass(spec.type, dict) or hasattr(spec.type, "keys"):
        keys = spec.context
        if (
            isinstance(keys, (list, tuple))
            and len(keys) == 2
            and isinstance(keys[1], (list, tuple))
        ):
            keys = keys[1]  # of a default dict, or of an output of transformers
        names = [k for k in keys if isinstance(k, str)]
        if len(names) == len(children):
            return ["dict", dict(zip(names, children))]
    raise _no_form(spec)


def _no_form(spec: Any) -> errors.UnsupportedError:
    return errors.UnsupportedError(
        f"arguments and results of type {spec.type.__name__} have no form "
        "outside of Python: use tuples, lists and dicts with text as keys"
    )


# -- sizes ---------------------------------------------------------------------


class _SizeAssertions:
    """Conditions on the sizes of arguments: what the graph was traced under,
    in terms of the arguments that the program has."""

    def __init__(self, program: torch.export.ExportedProgram) -> None:
        self.ranges = program.range_constraints
        self.symbols: dict[Any, exported.Place] = {}
        self.others: list[tuple[exported.Place, Any]] = []
        self.environment: Any = None

    def add_tensor(self, index: int, name: str, value: torch.Tensor) -> None:
        for d, size in enumerate(value.shape):
            if isinstance(size, torch.SymInt):
                place = exported.Place(index, d, f"dimension {d} of '{name}'")
                self._add(place, size)

    def add_number(self, index: int, name: str, value: torch.SymInt) -> None:
        self._add(exported.Place(index, None, f"'{name}'"), value)

    def _add(self, place: exported.Place, size: torch.SymInt) -> None:
        self.environment = size.node.shape_env
        expression = size.node.expr
        if expression.is_Symbol and expression not in self.symbols:
            self.symbols[expression] = place
        else:
            self.others.append((place, expression))

    def all(self) -> list[exported.Assertion]:
        found = []
        for place, expression in self.others:
            if expression.is_number:
                continue
            found.append(
                self._assertion(
                    ["==", ["place", *place.key], self._tree(expression)],
                    f"{place.text} must be {self._words(expression)}",
                )
            )
        found += self._of_ranges()
        if self.environment is None:
            return found
        for guard in self.environment.guards:
            tree = self._known(guard.expr)
            if tree is not None:
                found.append(
                    self._assertion(
                        tree, f"sizes must fulfil {self._words(guard.expr)}"
                    )
                )
        return found

    def _of_ranges(self) -> list[exported.Assertion]:
        found = []
        for symbol, bounds in self.ranges.items():
            place = self.symbols.get(symbol)
            if place is None:
                continue
            low = int(bounds.lower) if bounds.lower.is_Integer else 0
            high = int(bounds.upper) if bounds.upper.is_Integer else None
            here = ["place", *place.key]
            # 0 and 1 are not told from others: up to 2 it is the default.
            if low > 2:
                found.append(
                    self._assertion(
                        [">=", here, ["number", low]],
                        f"{place.text} must be at least {low}",
                    )
                )
            if high is not None and high < 2**62:
                found.append(
                    self._assertion(
                        ["<=", here, ["number", high]],
                        f"{place.text} must be at most {high}",
                    )
                )
        return found

    def _assertion(self, tree: list, text: str) -> exported.Assertion:
        return exported.Assertion(tree, text)

    def _words(self, expression: Any) -> str:
        """The expression with places in place of symbols."""
        text = str(expression)
        for symbol, place in self.symbols.items():
            text = re.sub(rf"\b{symbol}\b", f"({place.text})", text)
        return text

    def _known(self, expression: Any) -> list | None:
        """The condition where all its symbols are sizes of arguments; it says
        nothing of others."""
        if expression in (True, False) or not all(
            s in self.symbols for s in expression.free_symbols
        ):
            return None
        return self._tree(expression)

    def _tree(self, expression: Any) -> list:
        return torch_sizes.tree_of(expression, self._place)

    def _place(self, symbol: Any) -> list | None:
        place = self.symbols.get(symbol)
        return None if place is None else ["place", *place.key]


# -- files ---------------------------------------------------------------------

# Names that the safetensors format has for element types.
_STORED = {
    getattr(torch, name): stored
    for stored, (name, _) in exported.STORED_TYPES.items()
}


def _stored_name(name: str) -> str:
    """The format has a use of its own for `__metadata__`."""
    return f"{name}_" if re.fullmatch("__metadata___*", name) else name


def _bytes(tensor: torch.Tensor) -> memoryview:
    plain = tensor.resolve_conj().resolve_neg().contiguous().reshape(-1)
    return memoryview(plain.view(torch.uint8).numpy())


def _write_weights(
    path: Path, tensors: dict[str, torch.Tensor], description: dict
) -> dict[str, tuple[int, int]]:
    """A safetensors file whose metadata has the description. Returns the
    offset and bytes of each tensor in the file."""
    described = json.dumps(description)
    header: dict[str, Any] = {
        "__metadata__": {
            "polynest": described,
            "polynest.sum": exported.sum_of_text(described),
        }
    }
    # Large elements first: then each is aligned to its own size.
    order = sorted(tensors.items(), key=lambda i: -i[1].element_size())
    at = 0
    for name, tensor in order:
        size = tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": _STORED[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [at, at + size],
        }
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    # The data begins at a cache line.
    text += b" " * (-(len(text) + 8) % 64)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for _, tensor in order:
            file.write(_bytes(tensor))
    begin = 8 + len(text)
    return {
        name: (
            begin + header[name]["data_offsets"][0],
            tensor.numel() * tensor.element_size(),
        )
        for name, tensor in order
    }


def _put_in_place(parts: ExportedFiles, folder: Path) -> ExportedFiles:
    """Renames: the library last, since it is what is looked for."""
    mask = os.umask(0)
    os.umask(mask)
    placed = _files(folder, parts.library)
    for what in ("header", "weights", "main", "library"):
        part, place = getattr(parts, what), getattr(placed, what)
        if what != "library":
            os.chmod(part, 0o666 & ~mask)
        with _file_errors(place):
            os.replace(part, place)
    return placed
