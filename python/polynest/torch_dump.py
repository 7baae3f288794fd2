# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the option `dump` writes.

    FOLDER/graph-0-inference/graph.txt    the ATen graph
                             report.txt   what became of it
                             part-0/torch.mlir    what torch-mlir gets
                                    input.mlir    what it makes of that, with
                                                  bound weights marked
                                    s1.mlir ... s5.mlir
                                    refused.txt   why it was not compiled

Graphs have the next number that is free in the folder, whoever writes there.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any, Callable

from polynest import errors
from polynest.handles import Context, Module, Options, Target

_STAGES = ("s1", "s2", "s3", "s4", "s5")


class GraphDump:
    """The folder of one graph."""

    def __init__(self, folder: str, kind: str) -> None:
        self.parts = 0
        self.folder = _new_folder(Path(folder), kind)

    def graph(self, module: Any) -> None:
        text = module.print_readable(print_output=False)
        _write(self.folder / "graph.txt", text)

    def report(self, report: Any) -> None:
        _write(self.folder / "report.txt", f"{report}\n")

    def part(self) -> "PartDump":
        number, self.parts = self.parts, self.parts + 1
        return PartDump(self.folder / f"part-{number}")


class PartDump:
    """The folder of one part of a graph."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        _guarded(folder.mkdir)

    def torch(self, text: str) -> None:
        _write(self.folder / "torch.mlir", text)

    def refused(self, reason: str) -> None:
        _write(self.folder / "refused.txt", f"{reason}\n")

    def stages(
        self, text: str, target: str, options: Options, constants: list[int]
    ) -> None:
        """Each stage as far as it comes: an error is that of the compilation
        that follows."""
        _write(self.folder / "input.mlir", text)
        try:
            with Context() as context, Target(target) as chip:
                with Module(context, text, "graph") as module:
                    for i in constants:
                        module.mark_constant(i)
                    if constants:
                        _write(self.folder / "input.mlir", module.text)
                    for stage in _STAGES:
                        module.to_stage(stage, chip, options)
                        _write(self.folder / f"{stage}.mlir", module.text)
        except errors.FileError:
            raise
        except errors.PolynestError as error:
            self.refused(str(error))


def _new_folder(folder: Path, kind: str) -> Path:
    for number in itertools.count():
        taken = any(folder.glob(f"graph-{number}-*"))
        path = folder / f"graph-{number}-{kind}"
        if taken:
            continue
        try:
            os.makedirs(path)
        except FileExistsError:
            continue
        except OSError as error:
            raise _failed(path, error) from error
        return path
    raise AssertionError


def _write(path: Path, text: str) -> None:
    _guarded(lambda: path.write_text(text))


def _guarded(action: Callable[[], Any]) -> None:
    try:
        action()
    except OSError as error:
        raise _failed(error.filename, error) from error


def _failed(path: Any, error: OSError) -> errors.FileError:
    return errors.FileError(f"cannot write '{path}': {error.strerror}")
