# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs and tables for a terminal: aligned, and in colours.

Colours are those of the terminal's own sixteen, so that they fit its background.
Without colours the text is the same but for the codes: `Printer.code` then
changes nothing at all, so that what goes to a file can be read back.
"""

from __future__ import annotations

import re
from typing import Iterable, Sequence, TextIO

from polynest import env

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "heading": "1;36",
}

# First match counts. Names of groups are styles.
_MLIR = re.compile(
    r"(?P<dim>//[^\n]*|loc\([^\n]*\))"
    r"|(?P<green>\"(?:[^\"\\\n]|\\.)*\")"
    r"|(?P<yellow>%[\w#$.-]+)"
    r"|(?P<magenta>@[\w$.-]+)"
    r"|(?P<cyan>\b(?:tensor|memref|vector)<(?:[^<>\n]|<[^<>\n]*>)*>"
    r"|\b(?:b?f16|[fi]\d+|index)\b|!\w[\w.]*(?:<[^>\n]*>)?)"
    r"|(?P<blue>\b[a-z_]\w*\.[a-z_][\w.]*|\breturn\b|\bmodule\b)"
    r"|(?P<bold>\bto\b|\bstep\b|\bins\b|\bouts\b|\biter_args\b|->)"
    r"|(?P<red>(?<![\w.#%])-?\d[\w.+-]*)"
)
_ASM = re.compile(
    r"(?P<dim>#[^\n]*|^\s+\.[^\n]*)"
    r"|(?P<magenta>^[\w.$@]+:)"
    r"|(?P<blue>(?<=\t)[a-z][\w.]*)"
    r"|(?P<yellow>%\w+|\b[xvwqds]\d+\b)"
    r"|(?P<red>\$-?\w+)",
    re.M,
)
_DEFINITION = re.compile(r"^( *)(%[\w#:$.-]+) = ")
# Longer names than this are not waited for.
_NAME_WIDTH = 14


def aligned(text: str) -> str:
    """The program with the definitions of neighbouring lines one below the
    other."""
    out: list[str] = []
    run: list[tuple[str, str, str]] = []

    def flush() -> None:
        width = max((len(n) for _, n, _ in run if len(n) <= _NAME_WIDTH),
                    default=0)
        out.extend(f"{i}{n:<{width}} = {rest}" for i, n, rest in run)
        run.clear()

    for line in text.splitlines():
        found = _DEFINITION.match(line)
        if found is None or (run and run[0][0] != found[1]):
            flush()
        if found is None:
            out.append(line)
        else:
            run.append((found[1], found[2], line[found.end() :]))
    flush()
    return "\n".join(out) + ("\n" if text.endswith("\n") else "")


def aligned_asm(text: str) -> str:
    """Mnemonics in one column, operands in the next."""
    lines = []
    for line in text.splitlines():
        parts = line.split("\t", 2)
        if len(parts) == 3 and parts[0] == "" and not parts[1].startswith("."):
            line = f"\t{parts[1]:<12} {parts[2]}"
        lines.append(line)
    return "\n".join(lines) + ("\n" if text.endswith("\n") else "")


class Printer:
    """Writes to a stream, in colours where asked for: "always", "never" or
    "auto", which is on a terminal whose user wants them."""

    def __init__(self, stream: TextIO, color: str = "auto") -> None:
        self.stream = stream
        self.color = color == "always" or (
            color == "auto" and stream.isatty() and env.color()
        )

    def styled(self, text: str, style: str) -> str:
        if not self.color or not text:
            return text
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m"

    def line(self, text: str = "", style: str = "") -> None:
        self.stream.write((self.styled(text, style) if style else text) + "\n")

    def heading(self, text: str) -> None:
        """For people only: where there are no colours, code is what is read."""
        if self.color:
            self.line(text, "heading")

    def code(self, text: str, language: str = "mlir") -> None:
        if not self.color:
            self.stream.write(text)
            return
        if language == "asm":
            text, pattern = aligned_asm(text), _ASM
        else:
            text, pattern = aligned(text), _MLIR
        self.stream.write(
            pattern.sub(
                lambda m: self.styled(m[0], m.lastgroup or "bold"), text
            )
        )

    def table(
        self, rows: Iterable[Sequence[str]], right: Sequence[int] = ()
    ) -> None:
        """Rows of cells in columns; those in `right` end one below the other.
        The first row is the head."""
        listed = [tuple(map(str, row)) for row in rows]
        if not listed:
            return
        widths = [max(map(len, column)) for column in zip(*listed)]
        for number, row in enumerate(listed):
            cells = [
                f"{cell:>{w}}" if i in right else f"{cell:<{w}}"
                for i, (cell, w) in enumerate(zip(row, widths))
            ]
            text = "  ".join(cells).rstrip()
            self.line(text, "" if number else "bold")
