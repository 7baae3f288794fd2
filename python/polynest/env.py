# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The only reader of environment variables.

Every variable is read when asked for, so that a change takes effect at the
next use; `scope` sets some for a while and restores them.
"""

from __future__ import annotations

import contextlib
import os
from typing import Iterator

from polynest.errors import ArgumentError

# Name -> what it does; printed by `python -m polynest --environment`.
VARIABLES = {
    "POLYNEST_CACHE": "0: no compiled code is kept, or taken from what was "
    "(default 1)",
    "POLYNEST_CACHE_DIR": "where compiled code is kept (default "
    "$XDG_CACHE_HOME/polynest/code, else ~/.cache/polynest/code)",
    "POLYNEST_CACHE_SIZE_MIB": "what all that is kept may take together "
    "(default 1024)",
    "POLYNEST_LIBRARY": "path of libpolynest.so, before every other place",
    "POLYNEST_LOWERING_TIMEOUT": "seconds torch-mlir may take for one graph "
    "(default 300)",
    "POLYNEST_PROGRESS": "0: no line on the terminal while something large "
    "compiles (default 1)",
    "POLYNEST_STRICT": "1: an op that would stay with eager is an error "
    "(default 0)",
}


def library_path() -> str | None:
    return os.environ.get("POLYNEST_LIBRARY") or None


def lowering_timeout_s() -> float:
    text = os.environ.get("POLYNEST_LOWERING_TIMEOUT", "300")
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value <= 1e6:
        raise ArgumentError(
            f"POLYNEST_LOWERING_TIMEOUT is '{text}', not a number of seconds "
            "above 0"
        )
    return value


def _flag(name: str, default: str) -> bool:
    text = os.environ.get(name) or default
    if text not in ("0", "1"):
        raise ArgumentError(f"{name} is '{text}', neither 0 nor 1")
    return text == "1"


def strict() -> bool:
    return _flag("POLYNEST_STRICT", "0")


def progress() -> bool:
    return _flag("POLYNEST_PROGRESS", "1")


def color() -> bool:
    """Whether a terminal may be written to in colours (https://no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def cache_settings() -> tuple[str | None, ...]:
    """What the library reads when it makes a cache."""
    names = [n for n in VARIABLES if n.startswith("POLYNEST_CACHE")]
    return tuple(
        os.environ.get(n) for n in (*names, "XDG_CACHE_HOME", "HOME")
    )


def child_environment(package_root: str) -> dict[str, str]:
    """This process's environment, with the package on the import path."""
    env = dict(os.environ)
    path = env.get("PYTHONPATH")
    env["PYTHONPATH"] = package_root + (os.pathsep + path if path else "")
    return env


@contextlib.contextmanager
def scope(**values: str | None) -> Iterator[None]:
    """Sets variables (None removes one) and restores them at the end."""
    before = {name: os.environ.get(name) for name in values}
    try:
        _assign(values)
        yield
    finally:
        _assign(before)


def _assign(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
