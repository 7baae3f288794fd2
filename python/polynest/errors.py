# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions of the package; one subclass for each code of the C library."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler with its place; line 0 is unknown."""

    severity: str
    text: str
    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.file else ""
        return f"{place}{self.severity}: {self.text}"


class PolynestError(Exception):
    """A failure of the compiler or of a compiled program.

    `code` is the name of the C library's error code, `diagnostics` the
    messages it collected, `location` the place of the first one that has one.
    """

    code = "internal"

    def __init__(
        self, message: str, diagnostics: tuple[Diagnostic, ...] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.diagnostics = tuple(diagnostics)

    @property
    def location(self) -> tuple[str, int, int] | None:
        for d in self.diagnostics:
            if d.file:
                return (d.file, d.line, d.column)
        return None

    def __str__(self) -> str:
        lines = [self.message]
        lines += [str(d) for d in self.diagnostics if d.text != self.message]
        return "\n  ".join(lines)


class InternalError(PolynestError):
    code = "internal"


class OutOfMemoryError(PolynestError, MemoryError):
    code = "memory"


class ArgumentError(PolynestError, ValueError):
    code = "argument"


class ParseError(PolynestError):
    code = "parse"


class VerifyError(PolynestError):
    code = "verify"


class UnsupportedError(PolynestError):
    code = "unsupported"


class PassError(PolynestError):
    code = "pass"


class FileError(PolynestError, OSError):
    code = "io"


class NotFoundError(PolynestError, LookupError):
    code = "not-found"


class LinkError(PolynestError):
    code = "link"


class SignatureError(PolynestError, TypeError):
    code = "signature"


class OverlapError(PolynestError, ValueError):
    code = "overlap"


class ProgramAssertionError(PolynestError, IndexError, RuntimeError):
    """An assertion of the program failed, for example an index check. Eager has
    IndexError for some of these, RuntimeError for others."""

    code = "assert"


class CorruptError(PolynestError):
    code = "corrupt"


class TargetError(PolynestError):
    code = "target"


class VersionError(PolynestError, ImportError):
    code = "version"


class DifferenceError(PolynestError):
    """Compiled code and eager differ, see the option `check`."""

    code = "difference"


class LibraryNotFoundError(PolynestError, ImportError):
    """The compiler's shared library is missing; lists the paths tried."""

    code = "library"


def headline(error: Exception) -> str:
    """The kind of any exception, and the first line of what it says."""
    lines = [x.strip() for x in str(error).splitlines() if x.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
