# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that were compiled before, found by what they are.

Two kinds of entries stand beside those of the compiler (polynest.Cache):

A *graph* entry says what became of an ATen graph: which ops stayed with eager,
and, for each region, what its program takes, gives and where its code is. It is
found before torch-mlir runs. Its key has every node with its arguments and its
fake tensor: element type, sizes, strides, symbols with their ranges.

A *direct* entry says the same of a graph of Dynamo that became one program with
nothing around it, and is found before AOTAutograd runs. Its key has the graph,
its inputs and what of PyTorch's state AOTAutograd looks at. Such an entry exists
only for graphs of fixed sizes without gradients, in which no input is written
and no result is an input or a view of one, so that nothing is left to do for
AOTAutograd's own wrapper.

Both keys have the sources of this package and the versions of PyTorch,
torch-mlir and Python; the library adds its own build and LLVM's. Captured
tensors are never in an entry: programs take them as arguments, from the graph at
hand. What cannot be written down raises Unkeyable and is compiled as if there
were no cache. What is found and does not fit counts as not found.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import platform
from pathlib import Path
from typing import Any, Callable, Iterable, Sequence

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensor

from polynest import torch_frontend as frontend
from polynest.handles import Cache, Target
from polynest.program import Program

_FORMAT = 1


class Unkeyable(Exception):
    """Something whose text would not tell it from others."""


# -- what both keys begin with -------------------------------------------------


@functools.cache
def _versions() -> str:
    """This package's sources and what else makes programs out of graphs."""
    digest = hashlib.sha256()
    try:
        for path in sorted(Path(__file__).resolve().parent.glob("*.py")):
            digest.update(path.name.encode() + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        mlir = importlib.metadata.version("torch-mlir")
    except (OSError, importlib.metadata.PackageNotFoundError) as error:
        raise Unkeyable(f"versions are not known: {error}") from error
    return " ".join(
        [
            digest.hexdigest(),
            torch.__version__,
            str(torch.version.git_version),
            mlir,
            platform.python_version(),
        ]
    )


def _header(sort: str, options: dict[str, Any], target: Target) -> list[str]:
    chosen = sorted((k, repr(v)) for k, v in options.items())
    return [
        f"{sort} {_FORMAT}",
        _versions(),
        repr(chosen),
        target.text("file"),
    ]


_BACKENDS = (
    "flash_sdp_enabled",
    "math_sdp_enabled",
    "mem_efficient_sdp_enabled",
    "overrideable_sdp_enabled",
    "mkldnn_enabled",
    "mkldnn_deterministic",
    "nnpack_enabled",
)


def _torch_state() -> str:
    """What AOTAutograd's tracing depends on beside the graph."""
    backends = [getattr(torch._C, f"_get_{name}")() for name in _BACKENDS]
    return repr(
        (
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            torch.is_autocast_enabled("cpu"),
            torch.get_autocast_dtype("cpu"),
            torch.is_autocast_cache_enabled(),
            torch.get_default_dtype(),
            str(torch.get_default_device()),
            torch.are_deterministic_algorithms_enabled(),
            torch.utils.deterministic.fill_uninitialized_memory,
            torch.get_float32_matmul_precision(),
            torch.backends.mha.get_fastpath_enabled(),
            torch._functorch.config.get_hash(),
            backends,
        )
    )


# -- values as text ------------------------------------------------------------

_NAMED = (torch.dtype, torch.layout, torch.memory_format, torch.device)


def _number(value: Any, symbols: dict | None) -> str:
    """A size: a number, or the expression of a symbol."""
    if type(value) is int:
        return str(value)
    if type(value) is not torch.SymInt or symbols is None:
        raise Unkeyable(f"size {value}")
    fixed = value.node.maybe_as_int()
    if fixed is not None:
        return str(fixed)
    environment = value.node.shape_env
    for symbol in value.node.expr.free_symbols:
        symbols[str(symbol)] = str(environment.bound_sympy(symbol))
    return str(value.node.expr)


def _tensor(value: torch.Tensor, symbols: dict | None) -> str:
    if not isinstance(value, FakeTensor) and type(value) not in (
        torch.Tensor,
        torch.nn.Parameter,
    ):
        raise Unkeyable(f"a tensor of {type(value).__name__}")
    if value.layout != torch.strided or value.is_quantized:
        raise Unkeyable(f"layout {value.layout}")
    sizes = ",".join(_number(n, symbols) for n in value.shape)
    strides = ",".join(_number(n, symbols) for n in value.stride())
    flags = (value.requires_grad, value.is_conj(), value.is_neg())
    return f"{value.dtype} {value.device} [{sizes}] [{strides}] {flags}"


def _meta(value: Any, symbols: dict | None) -> str:
    """The fake value of a node."""
    if isinstance(value, torch.Tensor):
        return _tensor(value, symbols)
    if isinstance(value, (list, tuple)):
        return "(" + ";".join(_meta(v, symbols) for v in value) + ")"
    if type(value) in (torch.SymFloat, torch.SymBool) and symbols is not None:
        return f"{type(value).__name__} {value.node.expr}"
    if value is None or type(value) in (bool, float, str):
        return repr(value)
    return _number(value, symbols)


def argument_text(value: Any, place: dict[torch.fx.Node, int]) -> str:
    if isinstance(value, torch.fx.Node):
        return f"%{place[value]}"
    if value is None or value is Ellipsis or type(value) in (bool, int, str):
        return repr(value)
    if type(value) is float:
        return value.hex()
    if isinstance(value, _NAMED):
        return str(value)
    if type(value) is slice:
        parts = (value.start, value.stop, value.step)
        return "slice" + argument_text(parts, place)
    if isinstance(value, (list, tuple)):
        inner = ";".join(argument_text(v, place) for v in value)
        return ("[" if isinstance(value, list) else "(") + inner + ")"
    if isinstance(value, dict):
        return "{" + ";".join(
            f"{k!r}={argument_text(v, place)}" for k, v in value.items()
        ) + "}"
    raise Unkeyable(f"an argument of {type(value).__name__}")


# -- ops as text ---------------------------------------------------------------

# Functions of the graph by the modules that hold them; what others make of
# their arguments is not ours to know. Their names lead back to them.
_MODULES = (
    "torch",
    "torch.functional",
    "torch.nn.functional",
    "torch.special",
    "torch.linalg",
    "torch.fft",
    "torch._C._nn",
    "torch._C._special",
    "torch._C._linalg",
    "torch.Tensor",
    "_operator",
    "math",
    "torch.amp.autocast_mode",
    "torch.fx.experimental.symbolic_shapes",
)
_BY_NAME = {
    "getattr",
    "torch._C._set_grad_enabled",
    "torch._C._log_api_usage_once",
}
_NAMESPACES = ("aten", "prims", "polynest")


def function_text(target: Any, any_op: bool = False) -> str:
    """The name of a graph's function. `any_op` takes ops of every library:
    right where they stay with eager, which gets them from the graph."""
    if isinstance(target, torch._ops.OpOverload):
        if not any_op and target.namespace not in _NAMESPACES:
            raise Unkeyable(f"op {target}")
        return f"op {target.name()} {target._overloadname}"
    if isinstance(target, torch._ops.OpOverloadPacket):
        name = target._qualified_op_name
        if name.partition("::")[0] not in _NAMESPACES:
            raise Unkeyable(f"op {target}")
        return f"packet {name}"
    if not callable(target) or isinstance(target, torch.nn.Module):
        raise Unkeyable(f"target {target}")
    try:
        name = torch.fx.node._get_qualified_name(target)
    except Exception as error:  # whatever it stumbles over has no name
        raise Unkeyable(f"function {target}") from error
    module = name.rpartition(".")[0]
    if name not in _BY_NAME and module not in _MODULES:
        raise Unkeyable(f"function {name}")
    return name


def _lines(
    module: torch.fx.GraphModule,
    meta: str,
    any_op: bool,
    symbols: dict | None,
) -> Iterable[str]:
    place: dict[torch.fx.Node, int] = {}
    for node in module.graph.nodes:
        if node.op == "call_function":
            what = function_text(node.target, any_op)
        elif node.op == "call_method":
            what = str(node.target)
        elif node.op in ("placeholder", "output", "get_attr"):
            what = ""
        else:
            raise Unkeyable(f"a node of sort {node.op}")
        value = ""
        if node.op == "get_attr":
            # Of what the graph captured its contents do not matter.
            held = frontend.captured(module, node)
            if not isinstance(held, torch.Tensor):
                raise Unkeyable(f"attribute {node.target}")
            value = _tensor(held, symbols)
        if node.op != "output" and meta in node.meta:
            value = _meta(node.meta[meta], symbols)
        arguments = "" if node.op == "placeholder" else argument_text(
            (node.args, node.kwargs), place
        )
        place[node] = len(place)
        yield f"{node.op} {what} {arguments} {value}"


def graph_key(
    module: torch.fx.GraphModule,
    kind: str,
    kinds: dict[str, str],
    options: dict[str, Any],
    target: Target,
    written: Sequence[int] = (),
) -> bytes:
    """The key of an ATen graph. `kinds` are those of its inputs, by name, and
    `written` the numbers of those whose new values are its first results."""
    symbols: dict[str, str] = {}
    lines = _header(f"graph {kind}", options, target)
    lines += _lines(module, "val", True, symbols)
    for i, node in enumerate(module.graph.find_nodes(op="placeholder")):
        lines.append(f"{i} {kinds.get(node.name, 'input')}")
    lines.append(f"{list(written)} {sorted(symbols.items())}")
    return "\n".join(lines).encode()


def direct_key(
    module: torch.fx.GraphModule,
    inputs: Sequence[Any],
    kinds: dict[int, str],
    options: dict[str, Any],
    target: Target,
) -> bytes:
    """The key of a graph of Dynamo."""
    if any(True for _ in module.parameters()) or any(
        True for _ in module.buffers()
    ):
        raise Unkeyable("the graph holds tensors")
    lines = _header("direct", options, target)
    lines.append(_torch_state())
    for i, value in enumerate(inputs):
        if not isinstance(value, torch.Tensor):
            raise Unkeyable(f"an input of {type(value).__name__}")
        # What symbols the sizes have, only the fake tensors of the graph say.
        if not isinstance(value, FakeTensor):
            _tensor(value, None)
        lines.append(f"{i} {kinds.get(i, 'input')}")
    places = list(module.graph.find_nodes(op="placeholder"))
    if len(places) != len(inputs) or any(
        "example_value" not in n.meta for n in places
    ):
        raise Unkeyable("inputs without fake tensors")
    if any(True for _ in module.graph.find_nodes(op="get_attr")):
        raise Unkeyable("a captured value")
    lines += _lines(module, "example_value", False, None)
    return "\n".join(lines).encode()


# -- entries -------------------------------------------------------------------


def _dtype_text(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _pack_program(lowered: frontend.Program, program: Program) -> dict | None:
    key = program.executable.cache_key
    if not key:
        return None
    return {
        "code": key,
        "arguments": [
            {
                "name": a.name,
                "kind": a.kind,
                "dtype": _dtype_text(a.dtype),
                "sizes": a.sizes,
                "strides": a.strides,
                "view": a.view and [a.view.order, a.view.expanded],
                "captured": a.constant is not None,
            }
            for a in lowered.arguments
        ],
        "results": [
            [_dtype_text(r.dtype), r.sizes, r.permutation, r.expected]
            for r in lowered.results
        ],
        "updates": lowered.updates,
    }


def _tuple(value: list | None) -> tuple | None:
    return None if value is None else tuple(value)


def _unpack_program(
    entry: dict,
    captured: Sequence[torch.Tensor | None],
    cache: Cache,
    target: Target,
) -> tuple[frontend.Program, Program] | None:
    executable = cache.executable(entry["code"], target)
    if executable is None:
        return None
    arguments = [
        frontend.Argument(
            a["name"],
            a["kind"],
            getattr(torch, a["dtype"]),
            tuple(a["sizes"]),
            _tuple(a["strides"]),
            a["view"] and frontend.StridedView(*map(tuple, a["view"])),
            tensor if a["captured"] else None,
        )
        for a, tensor in zip(entry["arguments"], captured, strict=True)
    ]
    results = [
        frontend.Result(getattr(torch, d), tuple(s), _tuple(p), tuple(e))
        for d, s, p, e in entry["results"]
    ]
    lowered = frontend.Program(
        "", tuple(arguments), tuple(results), tuple(entry["updates"])
    )
    return lowered, Program(executable)


def _read(cache: Cache, key: bytes) -> dict | None:
    data = cache.find(key)
    return None if data is None else json.loads(data)


def _write(cache: Cache, key: bytes, entry: dict) -> None:
    cache.store(key, json.dumps(entry, separators=(",", ":")).encode())


def store_graph(
    cache: Cache,
    key: bytes,
    graph: torch.fx.Graph,
    rejected: dict[str, str],
    regions: Sequence[frontend.Region],
    runners: Sequence[tuple],
) -> None:
    """Keeps what became of a graph; `runners` has program, sources and code
    of each region."""
    place = {n: i for i, n in enumerate(graph.nodes)}
    by_name = {n.name: i for n, i in place.items()}
    packed = []
    for region, (lowered, sources, program) in zip(regions, runners):
        entry = _pack_program(lowered, program)
        if entry is None:
            return
        entry["nodes"] = [place[n] for n in region.nodes]
        entry["sources"] = [place[n] for n in sources]
        packed.append(entry)
    _write(
        cache,
        key,
        {
            "rejected": [[by_name[n], r] for n, r in rejected.items()],
            "regions": packed,
        },
    )


def load_graph(
    cache: Cache,
    key: bytes,
    module: torch.fx.GraphModule,
    target: Target,
    written: Sequence[int] = (),
) -> tuple[dict[str, str], list[frontend.Region], dict, list[tuple]] | None:
    """Rejected nodes with reasons, regions, levels of nodes, and of each
    region program, sources and code."""
    try:
        entry = _read(cache, key)
        if entry is None:
            return None
        nodes = list(module.graph.nodes)
        place = {n: i for i, n in enumerate(nodes)}
        rejected = {nodes[i].name: reason for i, reason in entry["rejected"]}
        regions, level = frontend.partition(module.graph, rejected)
        frontend.update_in_place(module.graph, regions, written)
        runners = []
        for region, packed in zip(regions, entry["regions"], strict=True):
            if [place[n] for n in region.nodes] != packed["nodes"]:
                return None
            sources = [nodes[i] for i in packed["sources"]]
            captured = [frontend.captured(module, n) for n in sources]
            found = _unpack_program(packed, captured, cache, target)
            if found is None:
                return None
            runners.append((found[0], sources, found[1]))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None
    return rejected, regions, level, runners


# How the results of a graph come about: (0, k) is result k of the program,
# (2, v) the plain value v.
Plan = list[tuple[int, Any]]


def store_direct(
    cache: Cache,
    key: bytes,
    lowered: frontend.Program,
    places: Sequence[int],
    program: Program,
    plan: Plan,
    ops: int,
) -> None:
    entry = _pack_program(lowered, program)
    plain = (type(None), bool, int, float, str)
    if entry is None or any(
        sort == 1 or type(value) not in plain for sort, value in plan
    ):
        return
    entry.update(places=list(places), plan=plan, ops=ops)
    _write(cache, key, entry)


def load_direct(
    cache: Cache, key: bytes, target: Target
) -> tuple[frontend.Program, list[int], Program, Plan, int] | None:
    try:
        entry = _read(cache, key)
        if entry is None:
            return None
        nothing = [None] * len(entry["arguments"])
        found = _unpack_program(entry, nothing, cache, target)
        if found is None:
            return None
        plan = [(int(sort), value) for sort, value in entry["plan"]]
        return found[0], entry["places"], found[1], plan, entry["ops"]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None


# -- when nothing is left to AOTAutograd ----------------------------------------


def traced_metadata() -> Any:
    """What AOTAutograd knows of the graph that it compiles now; None outside."""
    context = torch._guards.TracingContext.try_get()
    return context and context.fw_metadata


def needs_no_wrapper(graph: torch.fx.Graph, count: int) -> bool:
    """Whether the callable made of an inference graph does all that
    AOTAutograd's own wrapper around it would, for a call with `count` inputs.
    Asked while AOTAutograd compiles it."""
    from torch._functorch._aot_autograd.schemas import (
        OutputType,
        PlainTensorMeta,
    )

    meta = traced_metadata()
    if not meta:
        return False
    places = [
        getattr(n.meta.get("desc"), "idx", None)
        for n in graph.find_nodes(op="placeholder")
    ]
    return (
        places == list(range(count))
        and len(meta.input_info) == count
        and not any(
            i.mutates_data
            or i.mutates_metadata
            or i.mutation_inductor_storage_resize
            for i in meta.input_info
        )
        and all(
            o.output_type == OutputType.non_alias and not o.requires_grad
            and not o.dynamic_dims
            for o in meta.output_info
        )
        and all(
            type(x) is PlainTensorMeta
            for x in (*meta.subclass_inp_meta, *meta.subclass_fw_graph_out_meta)
        )
        and meta.num_intermediate_bases == 0
        and not meta.tokens
        and meta.grad_enabled_mutation is None
        and meta.num_graphsafe_rng_states == 0
        and not meta.act_input_indices
    )
