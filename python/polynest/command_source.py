# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `python -m polynest` compiles: an expression, or a model in a file.

Both become one program with the tensors that it takes. Tensors that an
expression makes by torch.randn and the like are arguments of the program; so are
a model's weights, which are bound once.
"""

from __future__ import annotations

import runpy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

from polynest.errors import ArgumentError, FileError, PolynestError, headline

# Calls of these in an expression make its arguments.
_MAKERS = (
    "randn rand randint randperm ones zeros full arange linspace tensor eye"
).split()


@dataclass
class Source:
    """`torch_text` is what torch-mlir gets, `text` what it makes of it,
    `values` the program's arguments, of which `constants` are bound once.
    `eager` runs the original and gives its tensors; `outputs` are the places of
    those among them that the program computes, in its order."""

    title: str
    torch_text: str
    text: str
    values: list[Any]
    names: list[str]
    results: list[Any]
    eager: Callable[[], list[Any]]
    constants: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)


def _tensors(tree: Any) -> list[Any]:
    import torch

    leaves = torch.utils._pytree.tree_leaves(tree)
    return [x for x in leaves if isinstance(x, torch.Tensor)]


# -- expressions ---------------------------------------------------------------


class _Recorder:
    """Stands for the torch module: on the first run keeps what the makers
    return, on the second gives it back as arguments."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self.made: list[Any] = []
        self.replay: list[Any] | None = None

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._torch, name)
        if name not in _MAKERS:
            return value

        def make(*args: Any, **kwargs: Any) -> Any:
            if self.replay is not None:
                return self.replay.pop(0)
            self.made.append(value(*args, **kwargs))
            return self.made[-1]

        return make


def from_expression(expression: str, seed: int = 0) -> Source:
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    from polynest import torch_frontend as frontend
    from polynest import torch_repairs
    from polynest.torch_decompositions import decomposition_table

    torch.manual_seed(seed)
    recorder = _Recorder(torch)
    try:
        code = compile(expression, "<expression>", "eval")
    except SyntaxError as error:
        raise ArgumentError(f"not an expression: {error}") from error
    scope = {"torch": recorder, "F": torch.nn.functional, "nn": torch.nn}

    def function(*arguments: Any) -> Any:
        recorder.replay = list(arguments)
        return torch.utils._pytree.tree_leaves(eval(code, dict(scope)))

    # Whatever the expression, or what it calls, may raise.
    try:
        with torch.no_grad():
            value = eval(code, dict(scope))
            inputs = recorder.made
            if not _tensors(value):
                raise ArgumentError(
                    f"the expression gives no tensor but a "
                    f"{type(value).__name__}"
                )
            module = make_fx(
                function,
                decomposition_table=decomposition_table(),
                tracing_mode="fake",
            )(*inputs)
    except ArgumentError:
        raise
    except Exception as error:
        raise ArgumentError(
            f"the expression raises {headline(error)}"
        ) from error
    torch_repairs.repair(module.graph)
    refused = frontend.refusals(module.graph)
    regions, _ = frontend.partition(module.graph, refused)
    if refused or len(regions) != 1:
        details = "; ".join(f"{k}: {v}" for k, v in refused.items())
        raise ArgumentError(
            "the expression does not compile as a whole"
            + (f": {details}" if details else "")
        )
    seen: list[str] = []
    try:
        program, sources = frontend.lower_region(
            module, regions[0], seen=seen.append
        )
    except frontend.RegionRefused as refusal:
        details = "; ".join(f"{k}: {v}" for k, v in refusal.nodes.items())
        raise ArgumentError(f"not compiled: {details or refusal}") from refusal
    names = [n.name for n in module.graph.find_nodes(op="placeholder")]
    values = []
    for argument, source in zip(program.arguments, sources):
        value = argument.constant
        if value is None:
            value = inputs[names.index(source.name)]
        values.append(frontend.behind(value, argument.view))
    output = next(iter(module.graph.find_nodes(op="output"))).args[0]
    given = [n for n in output if isinstance(n, torch.fx.Node)]

    def eager() -> list[Any]:
        with torch.no_grad():
            return _tensors(function(*inputs))

    return Source(
        expression,
        seen[0],
        program.text,
        values,
        [a.name for a in program.arguments],
        list(program.results),
        eager,
        [],
        [given.index(n) for n in regions[0].outputs],
    )


# -- files ---------------------------------------------------------------------


def from_file(place: str, seed: int = 0) -> Source:
    """A Python file with `model`, a module or a function, and `inputs`, its
    arguments or a function that makes them. FILE:NAME takes another name."""
    import torch

    path, _, name = place.partition(":")
    name = name or "model"
    if not Path(path).is_file():
        raise FileError(f"there is no file '{path}'")
    torch.manual_seed(seed)
    try:
        scope = runpy.run_path(path, run_name="polynest_source")
    except Exception as error:  # whatever the file raises
        raise ArgumentError(f"'{path}' raises {headline(error)}") from error
    for needed in (name, "inputs"):
        if needed not in scope:
            raise ArgumentError(f"'{path}' defines no '{needed}'")
    model, inputs = scope[name], scope["inputs"]
    try:
        inputs = inputs() if callable(inputs) else inputs
    except Exception as error:
        raise ArgumentError(
            f"'inputs' of '{path}' raises {headline(error)}"
        ) from error
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    if isinstance(model, torch.nn.Module):
        model.eval()
    return _from_model(place, model, inputs)


def _from_model(title: str, model: Any, inputs: Any) -> Source:
    import torch

    from polynest import torch_export

    if not isinstance(inputs, (tuple, list)):
        raise ArgumentError(
            f"'inputs' is a {type(inputs).__name__}, not a tuple"
        )
    graph = torch_export.trace(model, tuple(inputs))
    seen: list[str] = []
    lowered = graph.lower("main", seen.append)
    leaves = torch.utils._pytree.tree_leaves(tuple(inputs))
    values, names = [], []
    for item in lowered.arguments:
        if "tensor" in item:
            names.append(item["tensor"])
            values.append(graph.tensors[item["tensor"]].contiguous())
        else:
            names.append(item["name"])
            values.append(leaves[item["input"]])
    kinds = [p[0] for p in lowered.plan]
    if lowered.writes or any(k in ("input", "tensor") for k in kinds):
        raise PolynestError(
            "the model changes its buffers or inputs, or returns one"
        )
    computed = [p[1] for p in lowered.plan if p[0] == "result"]

    def eager() -> list[Any]:
        with torch.no_grad():
            return _tensors(model(*inputs))

    return Source(
        title,
        seen[-1],
        lowered.text,
        values,
        names,
        list(lowered.program.results),
        eager,
        lowered.constants,
        [computed.index(k) for k in range(len(lowered.program.results))],
    )
