# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Polynest: a compiler for tensor programs.

    torch.compile(f, backend="polynest")     PyTorch
    polynest.compile(text_or_path)(*arrays)  MLIR text: linalg on tensors
    polynest.export(f, args, "f.so")         a library, without PyTorch
    polynest.load("f.so")(*arrays)           called back

Importing this package imports no framework and does not load the library.
"""

from __future__ import annotations

from typing import Any

from polynest.errors import PolynestError

__version__ = "0.1.0"

_HOME = {
    "compile": "polynest.program",
    "lower": "polynest.program",
    "Program": "polynest.program",
    "Cache": "polynest.handles",
    "Context": "polynest.handles",
    "Executable": "polynest.handles",
    "Module": "polynest.handles",
    "Options": "polynest.handles",
    "Target": "polynest.handles",
    "default_cache": "polynest.handles",
    "known_targets": "polynest.handles",
    "export": "polynest.torch_export",
    "ExportedFiles": "polynest.torch_export",
    "load": "polynest.exported",
    "ExportedModel": "polynest.exported",
    "report": "polynest.torch_backend",
    "explain": "polynest.torch_backend",
    "explain_fallbacks": "polynest.torch_backend",
    "set_thread_count": "polynest.threads",
    "thread_count": "polynest.threads",
}
__all__ = ["PolynestError", "__version__", *_HOME]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'polynest' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
