# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of torch.compile(..., backend="polynest", options={...}).

One row each: the default, whose type is the option's, what values it may have,
and what it does. docs/pytorch.md has the same table, which a test compares.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from polynest import errors
from polynest._capi import NUMERICS, OPT_LEVELS
from polynest.handles import Options, Target

THREADS_MAX = 1024  # PN_THREAD_COUNT_MAX


@dataclass(frozen=True)
class Option:
    default: Any
    text: str
    choices: tuple[str, ...] = ()


OPTIONS = {
    "target": Option(
        "host", "name of the CPU to compile for; `python -m polynest --targets`"
    ),
    "threads": Option(
        0,
        "threads of each call, up to 1024; 0: as many as PyTorch's own loops "
        "take",
    ),
    "freeze": Option(
        False,
        "True: parameters and buffers are bound and packed once, at the first "
        "call, and again when one is replaced or changed in place; buffers "
        "that the graph writes to, such as caches of decoding, stay arguments",
    ),
    "strict": Option(
        False, "True: an op that would stay with eager is an error"
    ),
    "check": Option(
        False,
        "True: each call also runs in eager; what differs is a DifferenceError "
        "that names the part and the pass",
    ),
    "dump": Option(
        "",
        "a folder that gets each part as torch-mlir takes it and after each "
        "stage",
    ),
    "cache": Option(True, "False: all of it is compiled anew"),
    "opt_level": Option(
        "default", "plain: loops stay as they are", tuple(OPT_LEVELS)
    ),
    "numerics": Option(
        "default",
        "strict: sums may be reordered and products fused into them, no more",
        tuple(NUMERICS),
    ),
    "disabled_passes": Option(
        "", "flags of passes to leave out, separated by commas"
    ),
    "results": Option(
        "auto",
        "where results live: pool, memory that is used again, torch, PyTorch's "
        "own, or auto, the pool where that is quicker",
        ("auto", "pool", "torch"),
    ),
}

# Modes of torch.compile -> the options that they stand for.
MODES: dict[str | None, dict[str, Any]] = {
    None: {},
    "default": {},
    "max-autotune": {"freeze": True},
    "max-autotune-no-cudagraphs": {"freeze": True},
}


def checked(
    given: dict[str, Any] | None, mode: str | None = None
) -> dict[str, Any]:
    """All options with their values. Raises ArgumentError."""
    if mode not in MODES:
        known = ", ".join(m for m in MODES if m)
        raise errors.ArgumentError(
            f"mode '{mode}' is not supported; use one of {known}, or options="
            "{...}"
        )
    if given is not None and not isinstance(given, dict):
        raise errors.ArgumentError(
            f"options is a {type(given).__name__}, not a dict"
        )
    options = {name: row.default for name, row in OPTIONS.items()}
    options.update(MODES[mode])
    for name, value in (given or {}).items():
        options[name] = _checked_value(name, value)
    # Refuses names of targets and passes that nothing has.
    compiling = choices(options)
    with Target(options["target"]) as target:
        target.pipeline("s3", compiling)
    if options["dump"]:
        _check_folder(options["dump"])
    if options["dump"] or options["check"]:
        # Both are about what compiling does.
        options["cache"] = False
    return options


def _checked_value(name: str, value: Any) -> Any:
    row = OPTIONS.get(name)
    if row is None:
        raise errors.ArgumentError(
            f"unknown option '{name}'; the options are " + ", ".join(OPTIONS)
        )
    if name == "dump" and isinstance(value, os.PathLike):
        value = os.fspath(value)
    if type(value) is not type(row.default):
        kind = type(row.default).__name__
        article = "an" if kind == "int" else "a"
        raise errors.ArgumentError(
            f"option '{name}' is {value!r}, not {article} {kind}"
        )
    if row.choices and value not in row.choices:
        raise errors.ArgumentError(
            f"option '{name}' is '{value}', not one of "
            + ", ".join(row.choices)
        )
    if name == "threads" and not 0 <= value <= THREADS_MAX:
        raise errors.ArgumentError(
            f"option 'threads' is {value}, not 0 to {THREADS_MAX}"
        )
    return value


def choices(options: dict[str, Any]) -> Options:
    """Those that the compiler itself has."""
    disabled = options["disabled_passes"].split(",")
    return Options(
        opt_level=options["opt_level"],
        numerics=options["numerics"],
        disabled_passes=[flag for flag in disabled if flag],
    )


def _check_folder(path: str) -> None:
    if "\0" in path:
        raise errors.ArgumentError("option 'dump' has a zero byte")
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise errors.FileError(
            f"option 'dump' is '{path}': {error.strerror}"
        ) from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise errors.FileError(f"option 'dump': cannot write to '{path}'")
