# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command line: what a PyTorch expression becomes at each stage.

    python -m polynest -c "torch.softmax(torch.randn(8, 1024), -1)" --stage s3

Tensors that the expression makes by torch.randn, torch.rand, torch.ones and
the like become the arguments of the program; the rest is compiled.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, Sequence

from polynest import __version__, env
from polynest.errors import ArgumentError, PolynestError


def _parser() -> argparse.ArgumentParser:
    from polynest._capi import NUMERICS, OPT_LEVELS, STAGES

    parser = argparse.ArgumentParser(
        prog="python -m polynest", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "-c",
        metavar="EXPRESSION",
        dest="expression",
        help="a PyTorch expression",
    )
    parser.add_argument(
        "--stage",
        choices=[*STAGES, "run"],
        default="input",
        help="print the program after this stage, or run it and print the "
        "result (default: %(default)s)",
    )
    parser.add_argument("--target", default="host", help="a target's name")
    parser.add_argument(
        "--opt-level", choices=list(OPT_LEVELS), default="default"
    )
    parser.add_argument(
        "--numerics", choices=list(NUMERICS), default="default"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of random inputs"
    )
    parser.add_argument(
        "--targets", action="store_true", help="list the known targets"
    )
    parser.add_argument(
        "--environment",
        action="store_true",
        help="list the environment variables",
    )
    parser.add_argument(
        "--version", action="store_true", help="print the versions"
    )
    return parser


# Calls of these in the expression make its arguments.
_MAKERS = (
    "randn rand randint randperm ones zeros full arange linspace tensor eye"
).split()


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


def lower_expression(expression: str, seed: int = 0) -> tuple[Any, list]:
    """The expression's program (a frontend Program) and its arguments."""
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
    scope = {
        "torch": recorder,
        "F": torch.nn.functional,
        "nn": torch.nn,
    }

    def function(*arguments: Any) -> Any:
        recorder.replay = list(arguments)
        return torch.utils._pytree.tree_leaves(eval(code, dict(scope)))

    # Whatever the expression, or what it calls, may raise.
    try:
        with torch.no_grad():
            value = eval(code, dict(scope))
            inputs = recorder.made
            if not any(
                isinstance(leaf, torch.Tensor)
                for leaf in torch.utils._pytree.tree_leaves(value)
            ):
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
        lines = str(error).strip().splitlines() or ["no message"]
        raise ArgumentError(
            f"the expression raises {type(error).__name__}: {lines[0]}"
        ) from error
    torch_repairs.repair(module.graph)
    refused = {
        n.name: reason
        for n in module.graph.nodes
        if n.op == "call_function"
        and not frontend.is_symbolic_scalar(n)
        and (reason := frontend.refusal(n)) is not None
    }
    regions, _ = frontend.partition(module.graph, refused)
    if refused or len(regions) != 1:
        details = "; ".join(f"{k}: {v}" for k, v in refused.items())
        raise ArgumentError(
            "the expression does not compile as a whole"
            + (f": {details}" if details else "")
        )
    try:
        program, sources = frontend.lower_region(module, regions[0])
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
    return program, values


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        if options.version:
            from polynest import _capi

            library = _capi.lib()
            print(
                f"polynest {__version__}, library "
                f"{library.pn_version_string().decode()}, LLVM "
                f"{library.pn_llvm_version_string().decode()}"
            )
        elif options.targets:
            from polynest import known_targets

            print("\n".join(["host", *known_targets()]))
        elif options.environment:
            for name, text in env.VARIABLES.items():
                print(f"{name}: {text}")
        elif options.expression:
            _show(options)
        else:
            parser.print_usage(sys.stderr)
            return 2
    except PolynestError as error:
        print(f"polynest: {error}", file=sys.stderr)
        return 1
    return 0


def _show(options: argparse.Namespace) -> None:
    import polynest

    with polynest.Target(options.target):
        pass  # refuses names that nothing has, at any stage
    program, values = lower_expression(options.expression, options.seed)
    choices = {
        "target": options.target,
        "opt_level": options.opt_level,
        "numerics": options.numerics,
    }
    if options.stage == "run":
        results = polynest.compile(program.text, **choices).call(values)
        for result, declared in zip(results, program.results):
            # The text has no unsigned types.
            result = result.view(declared.dtype)
            if declared.permutation is not None:
                result = result.permute(declared.permutation)
            print(result)
    elif options.stage == "input":
        print(program.text, end="")
    else:
        print(polynest.lower(program.text, options.stage, **choices), end="")


if __name__ == "__main__":
    sys.exit(main())
