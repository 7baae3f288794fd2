# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A line on the terminal while something large compiles.

    with progress.shown():
        progress.say("lowering 153 ops")

The line appears after a while, has the seconds, and is gone at the end. Nothing
is written where the standard error is no terminal, or POLYNEST_PROGRESS is 0.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
import time
from typing import Iterator, TextIO

from polynest import env

APPEARS_AFTER_S = 1.0
_EVERY_S = 0.2


class _Line:
    """What one compilation shows. `what` is replaced as it goes on."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.what = ""
        self.start = time.monotonic()
        self.drawn = False
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        wait = APPEARS_AFTER_S
        while not self.done.wait(wait):
            wait = _EVERY_S
            self._draw()

    def _draw(self) -> None:
        seconds = time.monotonic() - self.start
        text = f"polynest: {self.what or 'compiling'}, {seconds:.0f} s"
        width = shutil.get_terminal_size().columns
        self._write(f"\r\x1b[2K{text[: max(width - 1, 10)]}")
        self.drawn = True

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # closed meanwhile
            self.stream.write(text)
            self.stream.flush()

    def close(self) -> None:
        self.done.set()
        self.thread.join()
        if self.drawn:
            self._write("\r\x1b[2K")


_LINES = threading.local()


@contextlib.contextmanager
def shown() -> Iterator[None]:
    """Shows what `say` says, of this thread, until the end. Inner ones go on
    with the line of the outer one."""
    stream = sys.stderr
    if (
        getattr(_LINES, "line", None) is not None
        or stream is None
        or not stream.isatty()
        or not env.progress()
    ):
        yield
        return
    _LINES.line = line = _Line(stream)
    try:
        yield
    finally:
        _LINES.line = None
        line.close()


def say(what: str) -> None:
    line = getattr(_LINES, "line", None)
    if line is not None:
        line.what = what
