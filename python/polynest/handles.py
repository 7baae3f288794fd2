# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects of the C library as context managers.

Each handle may be closed at any time and in any order; the library keeps what
its children need. A handle that is used after `close` raises ArgumentError.
Handles are closed when collected.
"""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any, Callable, Sequence

from polynest import _capi, env, errors


class Handle:
    """One reference on an object of the library."""

    _release = ""

    def __init__(self, raw: int) -> None:
        self._raw: int | None = raw
        # Bound now: at interpreter exit the module may be gone before us.
        self._free = getattr(_capi.lib(), self._release)

    @property
    def raw(self) -> int:
        if self._raw is None:
            raise errors.ArgumentError(
                f"this {type(self).__name__.lower()} is closed"
            )
        return self._raw

    @property
    def closed(self) -> bool:
        return self._raw is None

    def close(self) -> None:
        raw, self._raw = self._raw, None
        if raw is not None:
            self._free(raw)

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_raw", None) is not None:
            self.close()


class Context(Handle):
    """A compiler instance. `remark` gets (pass, kind, location, {key: value})
    for each decision, `diagnostic` each warning; both may be called from any
    thread."""

    _release = "pn_context_release"

    def __init__(
        self,
        *,
        remark: Callable[[str, str, str, dict[str, str]], None] | None = None,
        diagnostic: Callable[[errors.Diagnostic], None] | None = None,
        worker_threads: int = 0,
    ) -> None:
        # Modules keep the library's context alive beyond this object, and it
        # may call back until then: modules hold `_callbacks` too.
        self._callbacks = _capi.context_options(
            remark, diagnostic, worker_threads
        )
        super().__init__(
            _capi.new_handle("pn_context_create", self._callbacks)
        )


class Target(Handle):
    """The description of a chip, by name ("host", "cpu:znver4"), or out of a
    target file."""

    _release = "pn_target_release"

    def __init__(self, name: str = "host") -> None:
        super().__init__(
            _capi.new_handle("pn_target_create_by_name", name.encode())
        )

    @classmethod
    def from_file(cls, path: str | os.PathLike) -> "Target":
        self = cls.__new__(cls)
        raw = _capi.new_handle("pn_target_create_from_file", _capi.path_bytes(path))
        Handle.__init__(self, raw)
        return self

    def text(self, format: str = "table") -> str:
        writer = _capi.Writer()
        _capi.lib().pn_target_print(
            self.raw, _choose(format, _capi.TARGET_FORMATS, "format"),
            writer.callback, None,
        )
        return writer.text


    def pipeline(self, stage: str, options: "Options | None" = None) -> str:
        """The passes of a stage, as text."""
        writer = _capi.Writer()
        _capi.lib().pn_pipeline_print(
            _choose(stage, _capi.STAGES, "stage"),
            self.raw,
            (options or Options()).struct(),
            writer.callback,
            None,
        )
        return writer.text

    def optimizations(self) -> list[str]:
        """Flags of the passes that options may disable, in the order in which
        they run, each once."""
        plain = Options(opt_level="plain")
        found: list[str] = []
        for stage in list(_capi.STAGES)[1:]:
            everything, kept = (
                re.findall(r"polynest-[a-z-]+", re.sub(r"\{[^}]*\}", "", text))
                for text in (self.pipeline(stage), self.pipeline(stage, plain))
            )
            found += [f for f in everything if f not in kept]
        return list(dict.fromkeys(found))


def known_targets() -> list[str]:
    library = _capi.lib()
    count = library.pn_target_known_count()
    return [library.pn_target_known_name(i).decode() for i in range(count)]


class Module(Handle):
    """A program as MLIR at some stage."""

    _release = "pn_module_destroy"

    def __init__(
        self, context: Context, text: str | bytes, name: str | None = None
    ) -> None:
        data = text.encode() if isinstance(text, str) else bytes(text)
        self._callbacks = context._callbacks
        super().__init__(
            _capi.new_handle(
                "pn_module_parse",
                context.raw,
                data,
                len(data),
                name.encode() if name else None,
                0,
            )
        )

    @classmethod
    def read(
        cls,
        context: Context,
        path: str | os.PathLike,
        *,
        trust_bytecode: bool = False,
    ) -> "Module":
        self = cls.__new__(cls)
        self._callbacks = context._callbacks
        flag = "trust_bytecode" if trust_bytecode else "default"
        raw = _capi.new_handle(
            "pn_module_read_file",
            context.raw,
            _capi.path_bytes(path),
            _capi.MODULE_FLAGS[flag],
        )
        Handle.__init__(self, raw)
        return self

    def clone(self) -> "Module":
        other = Module.__new__(Module)
        other._callbacks = self._callbacks
        Handle.__init__(other, _capi.new_handle("pn_module_clone", self.raw))
        return other

    @property
    def text(self) -> str:
        writer = _capi.Writer()
        _capi.lib().pn_module_print(self.raw, writer.callback, None)
        return writer.text

    def write(self, path: str | os.PathLike, *, bytecode: bool = False) -> None:
        _capi.lib().pn_module_write_file(self.raw, _capi.path_bytes(path), bytecode)

    def to_stage(
        self, stage: str, target: Target, options: "Options | None" = None
    ) -> dict[str, int]:
        """Brings the module to a stage, in place; nanoseconds by step. On an
        error the module is closed."""
        timing = _capi.compile_timing()
        number = _choose(stage, _capi.STAGES, "stage")
        struct = (options or Options()).struct()
        raw, target_raw = self.raw, target.raw
        try:
            _capi.lib().pn_compile_to_stage(
                raw, number, target_raw, struct, timing
            )
        except errors.PolynestError:
            self.close()
            raise
        return _capi.timing_dict(timing)

    def mark_constant(self, index: int, entry: str | None = None) -> None:
        """Marks an input as one whose value may be bound once."""
        if index < 0:
            raise errors.ArgumentError(f"input {index} is out of range")
        _capi.lib().pn_module_mark_constant(
            self.raw, entry.encode() if entry is not None else None, index
        )

    def executable(
        self,
        target: Target,
        options: "Options | None" = None,
        cache: "Cache | None" = None,
    ) -> "Executable":
        """Compiled, or out of the cache; see Cache."""
        timing = _capi.compile_timing()
        raw = _capi.new_handle(
            "pn_compile_to_executable",
            self.raw,
            target.raw,
            (options or Options()).struct(cache),
            timing,
        )
        outcomes = {v: k for k, v in _capi.CACHE_OUTCOMES.items()}
        return Executable(
            raw, _capi.timing_dict(timing), outcomes[timing.cache_outcome]
        )

    def library(
        self,
        target: Target,
        path: str | os.PathLike,
        header: str | os.PathLike | None = None,
        options: "Options | None" = None,
    ) -> None:
        """Writes a shared library and, where asked for, its C header."""
        _capi.lib().pn_compile_to_library(
            self.raw,
            target.raw,
            (options or Options()).struct(),
            _capi.path_bytes(path),
            _capi.path_bytes(header) if header is not None else None,
        )

    def assembly(
        self, target: Target, options: "Options | None" = None
    ) -> str:
        """Assembler text of the compiled module."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "module.s")
            _capi.lib().pn_compile_to_assembly(
                self.raw,
                target.raw,
                (options or Options()).struct(),
                _capi.path_bytes(path),
            )
            with open(path) as file:
                return file.read()

    def object_file(
        self,
        target: Target,
        path: str | os.PathLike,
        options: "Options | None" = None,
    ) -> None:
        _capi.lib().pn_compile_to_object(
            self.raw,
            target.raw,
            (options or Options()).struct(),
            _capi.path_bytes(path),
        )


class Options:
    """How to compile. `opt_level` "plain" leaves the nests as they are;
    `numerics` "strict" allows only reordered sums and fused multiply-adds;
    `verify` checks the form after each stage; `disabled_passes` are flags of
    passes of stage 3 to leave out."""

    def __init__(
        self,
        *,
        opt_level: str = "default",
        numerics: str = "default",
        verify: bool = True,
        disabled_passes: Sequence[str] = (),
    ) -> None:
        if isinstance(disabled_passes, str):
            disabled_passes = [disabled_passes]
        self._fields = (opt_level, numerics, bool(verify), disabled_passes)
        self.struct()  # refuses bad values here, where they were written

    def struct(self, cache: "Cache | None" = None) -> Any:
        return _capi.compile_options(
            *self._fields, None if cache is None else cache.raw
        )


class Executable(Handle):
    """Compiled code. `cached` says what a cache had to do with it: "unused",
    "missing", "found" (on disk) or "shared" (in this process)."""

    _release = "pn_executable_release"

    def __init__(
        self,
        raw: int,
        timing: dict[str, int] | None = None,
        cached: str = "unused",
    ) -> None:
        super().__init__(raw)
        self.timing = timing or {}
        self.cached = cached

    @property
    def cache_key(self) -> str:
        """Where a cache keeps it; "" for one compiled without."""
        return _capi.lib().pn_executable_cache_key(self.raw).decode()

    @property
    def code_bytes(self) -> int:
        """Of machine code; of a library with those of the runtime in it."""
        return _capi.lib().pn_executable_code_bytes(self.raw)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Executable":
        """A library written by `Module.library`."""
        return cls(_capi.new_handle("pn_executable_load", _capi.path_bytes(path)))

    @property
    def entries(self) -> list[str]:
        library = _capi.lib()
        return [
            library.pn_entry_name(
                library.pn_executable_entry_at(self.raw, i)
            ).decode()
            for i in range(library.pn_executable_entry_count(self.raw))
        ]

    def entry(self, name: str | None = None) -> int:
        """The raw entry, valid while the executable is open."""
        return _capi.new_handle(
            "pn_executable_find_entry",
            self.raw,
            name.encode() if name is not None else None,
        )


class Cache(Handle):
    """Compiled code that is kept from one process to the next, in
    `directory` or where the environment says (POLYNEST_CACHE_DIR,
    XDG_CACHE_HOME, HOME). What was not used for longest goes first where all
    entries have more than `limit_bytes` (0: POLYNEST_CACHE_SIZE_MIB, else 1
    GiB). Where the directory cannot be used, `problem` says why, once something
    was looked up, and everything works without."""

    _release = "pn_cache_release"

    def __init__(
        self,
        directory: str | os.PathLike | None = None,
        limit_bytes: int = 0,
    ) -> None:
        if limit_bytes < 0:
            raise errors.ArgumentError(f"limit_bytes is {limit_bytes}")
        options = _capi.cache_options(directory, limit_bytes)
        super().__init__(_capi.new_handle("pn_cache_create", options))

    @property
    def directory(self) -> str:
        return os.fsdecode(_capi.lib().pn_cache_directory(self.raw))

    @property
    def problem(self) -> str:
        text = _capi.lib().pn_cache_problem(self.raw)
        return text.decode(errors="replace")

    def stats(self) -> dict[str, int]:
        """What the directory holds, and what this cache did."""
        return _capi.cache_stats(self.raw)

    def clear(self) -> None:
        _capi.lib().pn_cache_clear(self.raw)

    def store(self, key: bytes, data: bytes) -> bool:
        return _capi.lib().pn_cache_store(
            self.raw, key, len(key), data, len(data)
        )

    def find(self, key: bytes) -> bytes | None:
        writer = _capi.Writer()
        found = _capi.lib().pn_cache_find(
            self.raw, key, len(key), writer.callback, None
        )
        return writer.data if found else None

    def executable(self, key: str, target: Target) -> "Executable | None":
        """The executable whose `cache_key` this is, if it is still there."""
        raw = _capi.new_handle(
            "pn_cache_find_executable", self.raw, key.encode(), target.raw
        )
        return Executable(raw, cached="found") if raw else None


# By what the environment says, so that a change takes effect at the next use.
_CACHES: dict[tuple, Cache] = {}


def default_cache() -> Cache:
    """The cache of this process, as the environment has it now."""
    settings = env.cache_settings()
    found = _CACHES.get(settings)
    if found is None:
        found = _CACHES.setdefault(settings, Cache())
    return found


class State(Handle):
    """An entry with its constants bound; `constants` is a call block that has
    them as its inputs. Keeps the code alive, not the memory of the constants
    that calls read."""

    _release = "pn_state_destroy"

    def __init__(self, entry: int, constants: Any) -> None:
        super().__init__(
            _capi.new_handle(
                "pn_state_create",
                entry,
                constants.inputs,
                constants.counts[0],
            )
        )

    def reads(self, index: int) -> bool:
        """Whether calls read the memory of constant `index`."""
        return _capi.lib().pn_state_reads_constant(self.raw, index)


def _choose(value: str, table: dict[str, int], what: str) -> int:
    if value not in table:
        raise errors.ArgumentError(
            f"{what} is '{value}', not one of {', '.join(table)}"
        )
    return table[value]
