# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command line: what a PyTorch expression or model becomes at each stage.

    python -m polynest -c "torch.softmax(torch.randn(8, 1024), -1)" --stage s3
    python -m polynest model.py --bench --check

A file defines `model`, a module or a function, and `inputs`, its arguments or a
function that makes them; FILE:NAME takes another name than `model`. Tensors that
an expression makes by torch.randn, torch.rand, torch.ones and the like become
the arguments of the program; the rest is compiled.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from typing import Any, Callable, Sequence

from polynest import __version__, env, progress
from polynest.command_source import Source, from_expression, from_file
from polynest.errors import ArgumentError, PolynestError
from polynest.pretty import Printer


def _parser() -> argparse.ArgumentParser:
    from polynest._capi import NUMERICS, OPT_LEVELS, STAGES

    parser = argparse.ArgumentParser(
        prog="python -m polynest", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "file", nargs="?", metavar="FILE.py[:NAME]", help="a model in a file"
    )
    parser.add_argument(
        "-c",
        metavar="EXPRESSION",
        dest="expression",
        help="a PyTorch expression",
    )
    parser.add_argument(
        "--stage",
        choices=["torch", *STAGES, "asm", "run"],
        help="print the program as torch-mlir takes it, after this stage, or as "
        "assembler text; or run it and print the result (default: input, "
        "without --bench and --check)",
    )
    parser.add_argument(
        "--bench",
        action="store_true",
        help="time calls, beside eager's",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare the results with eager's; where they differ, name the "
        "pass",
    )
    parser.add_argument("--target", default="host", help="a target's name")
    parser.add_argument(
        "--opt-level", choices=list(OPT_LEVELS), default="default"
    )
    parser.add_argument(
        "--numerics", choices=list(NUMERICS), default="default"
    )
    parser.add_argument(
        "--threads", type=int, default=0, help="threads of --bench, eager too"
    )
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="of --bench, for each"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of random inputs"
    )
    parser.add_argument(
        "--color",
        choices=["auto", "always", "never"],
        default="auto",
        help="auto: on a terminal, unless NO_COLOR is set",
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
        elif options.expression or options.file:
            return _show(options)
        else:
            parser.print_usage(sys.stderr)
            return 2
    except PolynestError as error:
        printer = Printer(sys.stderr, options.color)
        printer.line(f"{printer.styled('polynest:', 'red')} {error}")
        return 1
    return 0


def _show(options: argparse.Namespace) -> int:
    import polynest

    if options.expression and options.file:
        raise ArgumentError("an expression or a file, not both")
    if not 0 < options.seconds < 1e4:
        raise ArgumentError(f"--seconds is {options.seconds}")
    with polynest.Target(options.target):
        pass  # refuses names that nothing has, at any stage
    printer = Printer(sys.stdout, options.color)
    with progress.shown():
        progress.say("lowering")
        if options.expression:
            source = from_expression(options.expression, options.seed)
        else:
            source = from_file(options.file, options.seed)
        command = _Command(options, source, printer)
        stage = options.stage
        if stage is None and not (options.bench or options.check):
            stage = "input"
        text = command.text(stage) if stage not in (None, "run") else None
    if text is not None:
        command.describe(stage)
        printer.code(text, "asm" if stage == "asm" else "mlir")
    if stage == "run":
        for result in command.run():
            print(result)
    agrees = command.check() if options.check else True
    if options.bench:
        command.bench()
    return 0 if agrees else 1


class _Command:
    """One source, and what is asked about it."""

    def __init__(
        self, options: argparse.Namespace, source: Source, printer: Printer
    ) -> None:
        self.options, self.source, self.printer = options, source, printer
        self.choices: dict[str, Any] = {
            "target": options.target,
            "opt_level": options.opt_level,
            "numerics": options.numerics,
        }

    def text(self, stage: str) -> str:
        import polynest

        if stage == "torch":
            return self.source.torch_text
        if stage == "input":
            return self.source.text
        progress.say(f"compiling to {stage}")
        chosen = polynest.Options(
            opt_level=self.options.opt_level, numerics=self.options.numerics
        )
        with (
            polynest.Context() as context,
            polynest.Target(self.options.target) as target,
            polynest.Module(context, self.source.text) as module,
        ):
            for i in self.source.constants:
                module.mark_constant(i)
            if stage == "asm":
                return module.assembly(target, chosen)
            module.to_stage(stage, target, chosen)
            return module.text

    def describe(self, stage: str) -> None:
        """What is to follow, for people."""
        if not self.printer.color:
            return
        self.printer.heading(
            f"{self.source.title}  at {stage}, for {self.options.target}"
        )
        self.printer.table(self._values())
        self.printer.line()

    def _values(self) -> list[tuple[str, ...]]:
        rows = [("", "name", "type", "")]
        constants = set(self.source.constants)
        for i, (name, value) in enumerate(
            zip(self.source.names, self.source.values)
        ):
            fate = "bound once" if i in constants else ""
            rows.append((f"in{i}", name, _type(value), fate))
        for i, result in enumerate(self.source.results):
            sizes = "x".join(map(str, (*result.sizes, _name(result.dtype))))
            rows.append((f"out{i}", "", sizes, ""))
        return rows

    def compiled(self, **changes: Any) -> Callable[[], list[Any]]:
        """A function that calls the program with its arguments."""
        import polynest
        from polynest.program import Program

        choices = {**self.choices, **changes}
        target_name = choices.pop("target")
        with (
            polynest.Context() as context,
            polynest.Target(target_name) as target,
            polynest.Module(context, self.source.text) as module,
        ):
            for i in self.source.constants:
                module.mark_constant(i)
            program: Any = Program(
                module.executable(target, polynest.Options(**choices))
            )
        values = self.source.values
        if program.constants:
            held = set(program.constants)
            program = program.bind(*(values[i] for i in program.constants))
            values = [v for i, v in enumerate(values) if i not in held]
        return lambda: program.call(values)

    def run(self) -> list[Any]:
        with progress.shown():
            progress.say("compiling")
            call = self.compiled()
        return self._finished(call())

    def _finished(self, results: list[Any]) -> list[Any]:
        """Results as eager has them: the text has no unsigned types, and no
        strides."""
        made = []
        for result, declared in zip(results, self.source.results):
            result = result.view(declared.dtype)
            if declared.permutation is not None:
                result = result.permute(declared.permutation)
            made.append(result)
        return made

    # -- check --

    def check(self) -> bool:
        from polynest import torch_check

        everything = self.source.eager()
        expected = [everything[i] for i in self.source.outputs]
        n = max((v.numel() for v in (*self.source.values, *expected)),
                default=1)

        def difference(**changes: Any) -> list[str | None]:
            results = self._finished(self.compiled(**changes)())
            return [
                torch_check.difference(got, want, None, n)
                for got, want in zip(results, expected)
            ]

        with progress.shown():
            progress.say("compiling, to compare with eager")
            found = difference()
        for i, (text, want) in enumerate(zip(found, expected)):
            good = text is None
            verdict = self.printer.styled(
                "agrees" if good else "differs", "green" if good else "red"
            )
            detail = "" if good else f": {text}"
            self.printer.line(f"result {i}  {_type(want)}  {verdict}{detail}")
        if not any(found):
            return True
        with progress.shown():
            progress.say("looking for the pass")
            self.printer.line(
                torch_check.blame(
                    lambda **changes: any(difference(**changes)),
                    self._passes(),
                )
            )
        return False

    def _passes(self) -> list[str]:
        import polynest

        with polynest.Target(self.options.target) as target:
            return target.optimizations()

    # -- bench --

    def bench(self) -> None:
        import torch

        from polynest.threads import set_thread_count, thread_count

        if self.options.threads:
            set_thread_count(self.options.threads)
            torch.set_num_threads(self.options.threads)
        with progress.shown():
            progress.say("compiling")
            start = time.perf_counter()
            call = self.compiled()
            took = time.perf_counter() - start
            progress.say("timing")
            rows = []
            for name, function in (
                ("eager", self.source.eager),
                ("polynest", call),
            ):
                rows.append((name, *_times(function, self.options.seconds)))
        base = rows[0][1]
        self.printer.table(
            [
                ("", "least", "median", "calls", "to eager"),
                *(
                    (name, _duration(least), _duration(median), str(calls),
                     f"{base / least:.2f}x")
                    for name, least, median, calls in rows
                ),
            ],
            right=(1, 2, 3, 4),
        )
        self.printer.line(
            f"compiled in {took:.2f} s; {thread_count()} threads", "dim"
        )


def _times(
    function: Callable[[], Any], seconds: float
) -> tuple[float, float, int]:
    """Least and median seconds of a call, and how many calls there were."""
    function()
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while len(taken) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        function()
        taken.append(time.perf_counter() - start)
    taken.sort()
    return taken[0], taken[len(taken) // 2], len(taken)


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            digits = max(0, 2 - int(math.log10(seconds / size)))
            return f"{seconds / size:.{digits}f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def _name(dtype: Any) -> str:
    from polynest import torch_frontend as frontend

    return frontend.DTYPE_NAMES.get(dtype, str(dtype))


def _type(value: Any) -> str:
    return "x".join(map(str, (*value.shape, _name(value.dtype))))


if __name__ == "__main__":
    sys.exit(main())
