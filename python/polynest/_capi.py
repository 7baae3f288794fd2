# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C library through ctypes; the only file that uses it.

`FUNCTIONS` gives each function's result and parameters with the ownership
markers of the headers; test_capi.py compares it with include/polynest/*.h.
The library is loaded at the first use of `lib()`.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.machinery
import importlib.util
import os
import re
from array import array
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_bool,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)
from pathlib import Path
from typing import Any, Callable, Iterable, Sequence

from polynest import env, errors
from polynest.locks import ForkLock

# Of the headers this file was written against.
VERSION = (0, 1, 0)

# -- structs and enums --------------------------------------------------------


class Diagnostic(Structure):
    _fields_ = [
        ("severity", c_int),
        ("line", c_int32),
        ("column", c_int32),
        ("reserved", c_int32),
        ("file", c_char_p),
        ("text", c_char_p),
    ]


RemarkFn = CFUNCTYPE(
    None,
    c_void_p,
    c_char_p,
    c_int,
    c_char_p,
    POINTER(c_char_p),
    POINTER(c_char_p),
    c_size_t,
)
DiagnosticFn = CFUNCTYPE(None, c_void_p, POINTER(Diagnostic))
StageFn = CFUNCTYPE(None, c_void_p, c_int, c_void_p)
# The text is not terminated: a void pointer, so that ctypes leaves it alone.
WriteFn = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)


class ContextOptions(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("worker_threads", c_uint32),
        ("reserved", c_uint32),
        ("remark_fn", RemarkFn),
        ("diagnostic_fn", DiagnosticFn),
        ("user", c_void_p),
    ]


class CompileOptions(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("opt_level", c_int),
        ("numerics", c_int),
        ("verify_stages", c_bool),
        ("time_nests", c_bool),
        ("reserved", c_uint8 * 6),
        ("disabled_passes", c_char_p),
        ("stage_fn", StageFn),
        ("user", c_void_p),
        ("cache", c_void_p),
    ]


class CompileTiming(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("stage_ns", c_int64 * 6),
        ("translate_ns", c_int64),
        ("optimize_ns", c_int64),
        ("codegen_ns", c_int64),
        ("link_ns", c_int64),
        ("cache_ns", c_int64),
        ("total_ns", c_int64),
        ("cache_outcome", c_int),
        ("reserved", c_int32),
    ]


class CacheOptions(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("directory", c_char_p),
        ("limit_bytes", c_uint64),
        ("reserved", c_uint64),
    ]


class CacheStats(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("entries", c_uint64),
        ("bytes", c_uint64),
        ("limit_bytes", c_uint64),
        ("shared", c_uint64),
        ("found", c_uint64),
        ("missing", c_uint64),
        ("damaged", c_uint64),
        ("stored", c_uint64),
    ]


class ValueType(Structure):
    _fields_ = [
        ("dtype", c_int),
        ("rank", c_int32),
        ("sizes", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
    ]


class Memref(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("offset", c_int64),
        ("sizes", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("dtype", c_int32),
        ("rank", c_int32),
    ]


class PoolStats(Structure):
    _fields_ = [
        ("bytes_used", c_uint64),
        ("bytes_held", c_uint64),
        ("bytes_limit", c_uint64),
        ("hits", c_uint64),
        ("misses", c_uint64),
    ]


STRUCTS = {
    "pn_diagnostic_t": Diagnostic,
    "pn_context_options_t": ContextOptions,
    "pn_compile_options_t": CompileOptions,
    "pn_compile_timing_t": CompileTiming,
    "pn_value_type_t": ValueType,
    "pn_memref_t": Memref,
    "pn_pool_stats_t": PoolStats,
    "pn_cache_options_t": CacheOptions,
    "pn_cache_stats_t": CacheStats,
}
CALLBACKS = {
    "pn_remark_fn": RemarkFn,
    "pn_diagnostic_fn": DiagnosticFn,
    "pn_stage_fn": StageFn,
    "pn_write_fn": WriteFn,
}

DYNAMIC = -(2**63)

DTYPES = {
    "invalid": 0,
    "bool": 1,
    "i8": 2,
    "i16": 3,
    "i32": 4,
    "i64": 5,
    "index": 6,
    "f16": 7,
    "bf16": 8,
    "f32": 9,
    "f64": 10,
}
ERROR_CODES = {
    "none": 0,
    "internal": 1,
    "memory": 2,
    "argument": 3,
    "parse": 4,
    "verify": 5,
    "unsupported": 6,
    "pass": 7,
    "io": 8,
    "not_found": 9,
    "link": 10,
    "signature": 11,
    "overlap": 12,
    "assert": 13,
    "corrupt": 14,
    "target": 15,
    "version": 16,
}
SEVERITIES = {"error": 1, "warning": 2, "remark": 3, "note": 4}
STAGES = {"input": 0, "s1": 1, "s2": 2, "s3": 3, "s4": 4, "s5": 5}
OPT_LEVELS = {"plain": 0, "default": 1}
NUMERICS = {"default": 0, "strict": 1}
REMARK_KINDS = {"applied": 1, "declined": 2, "analysis": 3}
TARGET_FORMATS = {"table": 1, "file": 2}
CACHE_OUTCOMES = {"unused": 0, "missing": 1, "found": 2, "shared": 3}
MODULE_FLAGS = {"default": 0, "trust_bytecode": 1}
ENUMS = {
    "pn_dtype": ("PN_DTYPE_", DTYPES),
    "pn_error_code": ("PN_ERROR_", ERROR_CODES),
    "pn_severity": ("PN_SEVERITY_", SEVERITIES),
    "pn_stage": ("PN_STAGE_", STAGES),
    "pn_opt_level": ("PN_OPT_", OPT_LEVELS),
    "pn_numerics": ("PN_NUMERICS_", NUMERICS),
    "pn_remark_kind": ("PN_REMARK_", REMARK_KINDS),
    "pn_target_format": ("PN_TARGET_FORMAT_", TARGET_FORMATS),
    "pn_cache_outcome": ("PN_CACHE_OUTCOME_", CACHE_OUTCOMES),
    "pn_module_flags": ("PN_MODULE_", MODULE_FLAGS),
}

# -- functions --------------------------------------------------------------------


class Marked:
    """A pointer type with the ownership marker of its prototype."""

    def __init__(self, marker: str, ctype: Any, name: str) -> None:
        self.marker, self.ctype, self.name = marker, ctype, name


def _keep(ctype: Any, name: str) -> Marked:
    return Marked("PN_KEEP", ctype, name)


def _give(ctype: Any, name: str) -> Marked:
    return Marked("PN_GIVE", ctype, name)


def _take(ctype: Any, name: str) -> Marked:
    return Marked("PN_TAKE", ctype, name)


def _handle(name: str, marker=_keep) -> Marked:
    return marker(c_void_p, f"{name} *")


def _new(name: str) -> Marked:
    return _give(POINTER(c_void_p), f"{name} **")


_ERROR = _give(c_void_p, "pn_error_t *")
_STRING = _keep(c_char_p, "char *")
_USER = _keep(c_void_p, "void *")
_MEMREFS = _keep(POINTER(Memref), "pn_memref_t *")
_SIZES = _keep(POINTER(c_int64), "int64_t *")
_OPTIONS = _keep(POINTER(CompileOptions), "pn_compile_options_t *")
_TIMING = _keep(POINTER(CompileTiming), "pn_compile_timing_t *")
_TYPE = _keep(POINTER(ValueType), "pn_value_type_t *")
_CONTEXT = _handle("pn_context_t")
_MODULE = _handle("pn_module_t")
_TARGET = _handle("pn_target_t")
_EXECUTABLE = _handle("pn_executable_t")
_ENTRY = _handle("pn_entry_t")
_STATE = _handle("pn_state_t")
_CACHE = _handle("pn_cache_t")
_BYTES = _keep(c_void_p, "void *")

FUNCTIONS: dict[str, tuple] = {
    # base.h
    "pn_dtype_size": (c_size_t, c_int),
    "pn_dtype_name": (_STRING, c_int),
    "pn_version": (c_uint32,),
    "pn_version_string": (_STRING,),
    "pn_llvm_version_string": (_STRING,),
    # error.h
    "pn_error_code": (c_int, _handle("pn_error_t")),
    "pn_error_message": (_STRING, _handle("pn_error_t")),
    "pn_error_code_name": (_STRING, c_int),
    "pn_error_diagnostic_count": (c_size_t, _handle("pn_error_t")),
    "pn_error_diagnostic_at": (
        c_bool,
        _handle("pn_error_t"),
        c_size_t,
        _keep(POINTER(Diagnostic), "pn_diagnostic_t *"),
    ),
    "pn_error_destroy": (None, _handle("pn_error_t", _take)),
    # context.h
    "pn_context_create": (
        _ERROR,
        _keep(POINTER(ContextOptions), "pn_context_options_t *"),
        _new("pn_context_t"),
    ),
    "pn_context_retain": (None, _CONTEXT),
    "pn_context_release": (None, _handle("pn_context_t", _take)),
    # module.h
    "pn_module_parse": (
        _ERROR,
        _CONTEXT,
        _STRING,
        c_size_t,
        _STRING,
        c_uint32,
        _new("pn_module_t"),
    ),
    "pn_module_read_file": (
        _ERROR,
        _CONTEXT,
        _STRING,
        c_uint32,
        _new("pn_module_t"),
    ),
    "pn_module_clone": (_ERROR, _MODULE, _new("pn_module_t")),
    "pn_module_mark_constant": (_ERROR, _MODULE, _STRING, c_size_t),
    "pn_module_print": (None, _MODULE, WriteFn, _USER),
    "pn_module_write_file": (_ERROR, _MODULE, _STRING, c_bool),
    "pn_module_destroy": (None, _handle("pn_module_t", _take)),
    # target.h
    "pn_target_known_count": (c_size_t,),
    "pn_target_known_name": (_STRING, c_size_t),
    "pn_target_create_host": (_ERROR, _new("pn_target_t")),
    "pn_target_create_by_name": (_ERROR, _STRING, _new("pn_target_t")),
    "pn_target_create_from_file": (_ERROR, _STRING, _new("pn_target_t")),
    "pn_target_create_from_text": (
        _ERROR,
        _STRING,
        c_size_t,
        _STRING,
        _new("pn_target_t"),
    ),
    "pn_target_retain": (_handle("pn_target_t", _give), _TARGET),
    "pn_target_release": (None, _handle("pn_target_t", _take)),
    "pn_target_print": (_ERROR, _TARGET, c_int, WriteFn, _USER),
    "pn_target_request_amx": (c_bool,),
    # compile.h
    "pn_pipeline_print": (_ERROR, c_int, _TARGET, _OPTIONS, WriteFn, _USER),
    "pn_module_stage": (
        _ERROR,
        _MODULE,
        Marked("", POINTER(c_int), "pn_stage_t *"),
    ),
    "pn_compile_to_stage": (
        _ERROR,
        _MODULE,
        c_int,
        _TARGET,
        _OPTIONS,
        _TIMING,
    ),
    "pn_compile_to_executable": (
        _ERROR,
        _MODULE,
        _TARGET,
        _OPTIONS,
        _TIMING,
        _new("pn_executable_t"),
    ),
    "pn_compile_to_assembly": (_ERROR, _MODULE, _TARGET, _OPTIONS, _STRING),
    "pn_compile_to_object": (_ERROR, _MODULE, _TARGET, _OPTIONS, _STRING),
    "pn_compile_to_library": (
        _ERROR,
        _MODULE,
        _TARGET,
        _OPTIONS,
        _STRING,
        _STRING,
    ),
    # cache.h
    "pn_cache_create": (
        _ERROR,
        _keep(POINTER(CacheOptions), "pn_cache_options_t *"),
        _new("pn_cache_t"),
    ),
    "pn_cache_retain": (None, _CACHE),
    "pn_cache_release": (None, _handle("pn_cache_t", _take)),
    "pn_cache_directory": (_STRING, _CACHE),
    "pn_cache_problem": (_STRING, _CACHE),
    "pn_cache_stats_get": (
        _ERROR,
        _CACHE,
        _keep(POINTER(CacheStats), "pn_cache_stats_t *"),
    ),
    "pn_cache_clear": (_ERROR, _CACHE),
    "pn_cache_store": (
        c_bool,
        _CACHE,
        _BYTES,
        c_size_t,
        _BYTES,
        c_size_t,
    ),
    "pn_cache_find": (c_bool, _CACHE, _BYTES, c_size_t, WriteFn, _USER),
    "pn_executable_cache_key": (_STRING, _EXECUTABLE),
    "pn_cache_find_executable": (
        _ERROR,
        _CACHE,
        _STRING,
        _TARGET,
        _new("pn_executable_t"),
    ),
    # executable.h
    "pn_executable_load": (_ERROR, _STRING, _new("pn_executable_t")),
    "pn_executable_retain": (None, _EXECUTABLE),
    "pn_executable_release": (None, _handle("pn_executable_t", _take)),
    "pn_executable_entry_count": (c_size_t, _EXECUTABLE),
    "pn_executable_entry_at": (_ENTRY, _EXECUTABLE, c_size_t),
    "pn_executable_find_entry": (
        _ERROR,
        _EXECUTABLE,
        _STRING,
        _keep(POINTER(c_void_p), "pn_entry_t **"),
    ),
    "pn_entry_name": (_STRING, _ENTRY),
    "pn_entry_input_count": (c_size_t, _ENTRY),
    "pn_entry_result_count": (c_size_t, _ENTRY),
    "pn_entry_input_type": (c_bool, _ENTRY, c_size_t, _TYPE),
    "pn_entry_result_type": (c_bool, _ENTRY, c_size_t, _TYPE),
    "pn_entry_input_is_constant": (c_bool, _ENTRY, c_size_t),
    "pn_entry_input_is_mutable": (c_bool, _ENTRY, c_size_t),
    "pn_entry_state_bytes": (c_size_t, _ENTRY),
    "pn_entry_arena_bytes": (c_size_t, _ENTRY),
    "pn_entry_result_sizes": (_ERROR, _ENTRY, _MEMREFS, c_size_t, _SIZES),
    "pn_executable_code_bytes": (c_size_t, _EXECUTABLE),
    "pn_executable_nest_times": (c_size_t, _EXECUTABLE, _SIZES, c_size_t),
    "pn_entry_invoke": (
        _ERROR,
        _ENTRY,
        _MEMREFS,
        c_size_t,
        _MEMREFS,
        c_size_t,
    ),
    # state.h
    "pn_state_create": (
        _ERROR,
        _ENTRY,
        _MEMREFS,
        c_size_t,
        _new("pn_state_t"),
    ),
    "pn_state_destroy": (None, _handle("pn_state_t", _take)),
    "pn_state_reads_constant": (c_bool, _STATE, c_size_t),
    "pn_state_invoke": (
        _ERROR,
        _STATE,
        _MEMREFS,
        c_size_t,
        _MEMREFS,
        c_size_t,
    ),
    # runtime.h
    "pn_thread_count_set": (c_int, c_int32),
    "pn_thread_count_get": (c_int32,),
    "pn_thread_count_override": (c_int32, c_int32),
    "pn_parallel_runtime_name": (_STRING,),
    "pn_pool_alloc": (_give(c_void_p, "void *"), c_size_t),
    "pn_pool_free": (None, _take(c_void_p, "void *")),
    "pn_pool_trim": (None, c_size_t),
    "pn_pool_limit_set": (None, c_size_t),
    "pn_pool_stats_get": (
        None,
        _keep(POINTER(PoolStats), "pn_pool_stats_t *"),
    ),
}

# In the headers, but of no use to Python: called by generated code, by tools
# that measure or run passes, and by C programs that look into memrefs and
# targets themselves.
NOT_BOUND = {
    "pn_measure_fma",
    "pn_measure_isa_name",
    "pn_measure_stream",
    "pn_passes_register",
    "pn_parallel_for",
    "pn_rt_region_run",
    "pn_rt_context_create",
    "pn_rt_context_destroy",
    "pn_rt_context_reset",
    "pn_rt_arena",
    "pn_rt_alloc",
    "pn_rt_free",
    "pn_memref_check",
    "pn_memref_element_count",
    "pn_memref_span",
    "pn_memref_overlaps",
    "pn_memref_is_contiguous",
    "pn_memref_descriptor_size",
    "pn_memref_descriptor_fill",
    "pn_target_create_host_with",
    "pn_target_get_info",
    "pn_target_has_feature",
}


def ctype_of(parameter: Any) -> Any:
    return parameter.ctype if isinstance(parameter, Marked) else parameter


# -- loading ------------------------------------------------------------------------

LIBRARY_NAME = "libpolynest.so"
_LOADED: ctypes.CDLL | None = None
_LOCK = ForkLock()


def candidate_paths() -> list[str]:
    """Where the library is looked for, in order: the environment, beside this
    package, the build folders of a source tree, the system's search path."""
    chosen = env.library_path()
    if chosen is not None:
        return [chosen]
    here = Path(__file__).resolve().parent
    paths = [here / "lib" / LIBRARY_NAME]
    root = here.parent.parent
    if (root / "CMakeLists.txt").is_file():
        for build in ("build-release", "build"):
            paths += [
                root / build / "lib" / LIBRARY_NAME,
                root / build / LIBRARY_NAME,
            ]
    return [str(p) for p in paths] + [LIBRARY_NAME]


def lib() -> ctypes.CDLL:
    """The library; loads it at the first call. Raises LibraryNotFoundError
    with the paths tried, or VersionError."""
    global _LOADED
    if _LOADED is None:
        with _LOCK:
            if _LOADED is None:
                before = _mapped_files()
                loaded = _load(candidate_paths())
                _AREAS.extend(_unwritten_areas(_mapped_files() - before))
                # The linker has read all tables of symbols.
                release_pages()
                _LOADED = loaded
    return _LOADED


CALLS_NAME = "polynest_calls"


@functools.cache
def calls_module() -> Any:
    """The extension module whose calls are in C (lib/Python/Calls.c), from beside
    the library; None where there is none, as in a build without the headers of
    Python."""
    path = Path(lib()._name).resolve().parent / f"{CALLS_NAME}.abi3.so"
    if not path.is_file():
        return None
    loader = importlib.machinery.ExtensionFileLoader(CALLS_NAME, str(path))
    spec = importlib.util.spec_from_loader(CALLS_NAME, loader)
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError:
        # Of another interpreter, such as one without a lock.
        return None
    return module


def call_in_c(
    exchange: Any,
    block: CallBlock,
    entry: int,
    argument_count: int,
    inputs: Sequence[tuple[int, int, tuple[int, ...]]],
    results: Sequence[tuple],
    plan: Sequence[Any],
    types: Sequence[type],
    empty: Callable,
    fallback: Callable,
) -> Callable | None:
    """What `make` of the extension module gives, for descriptors as in `block`:
    `results` are (element type, sizes) for those of the pool, or arguments and
    keywords for `empty`. None where there is no module or it takes no such
    call."""
    module = calls_module()
    if module is None:
        return None
    library = lib()
    functions = [
        ctypes.cast(function, c_void_p).value
        for function in (
            library.pn_entry_invoke,
            library.pn_pool_alloc,
            library.pn_pool_free,
        )
    ]
    made = tuple(
        (*_DLPACK[first], rest) if isinstance(first, str) else (first, rest)
        for first, rest in results
    )
    try:
        return module.make(
            (*functions, entry),
            exchange,
            bytes(block._keep[0]),
            block._keep,
            block.counts[0],
            argument_count,
            tuple(inputs),
            made,
            tuple(plan),
            tuple(types),
            empty,
            fallback,
            check,
        )
    except ValueError:
        return None


# -- memory of the compiler's files --------------------------------------------

# Where mappings of those that came with the library, which is never unloaded,
# begin, and their bytes.
_AREAS: list[tuple[int, int]] = []
_COMPILER_FILE = re.compile(r"/lib(polynest|MLIR|LLVM)[^/]*$")
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+)(?: +\S+){3} *(.*)")
_MADV_DONTNEED = 4  # of Linux, asm-generic/mman-common.h


def _mapped_files() -> set[str]:
    try:
        text = Path("/proc/self/maps").read_text()
    except OSError:  # not Linux
        return set()
    paths = (line.partition("/") for line in text.splitlines())
    return {
        slash + path
        for _, slash, path in paths
        if _COMPILER_FILE.search(slash + path)
    }


def _unwritten_areas(files: set[str]) -> list[tuple[int, int]]:
    """Mappings of files that cannot be written and in which nothing was: neither
    data nor what the linker has patched. To ask the system takes 10 ms."""
    try:
        lines = Path("/proc/self/smaps").read_text().splitlines()
    except OSError:
        return []
    found, area = [], None
    for line in lines:
        mapping = _MAPPING.fullmatch(line)
        if mapping is not None:
            begin, end = (int(n, 16) for n in mapping.group(1, 2))
            rights, path = mapping.group(3, 4)
            plain = path in files and "w" not in rights
            area = (begin, end - begin) if plain else None
        elif area is not None and line.split() == ["Anonymous:", "0", "kB"]:
            found.append(area)
    return found


def release_pages() -> int:
    """Takes pages of the compiler's files out of this process's memory, some 70
    MiB after loading and after compiling; what is used again is mapped again
    from the system's cache of files. Gives the number of mappings, 0 where the
    system has none of this."""
    if not _AREAS:
        return 0
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, c_size_t, c_int]
    return sum(madvise(*area, _MADV_DONTNEED) == 0 for area in _AREAS)


def release_memory() -> None:
    """After compiling: gives back those pages, and what the heap has left over, some
    50 MiB after a large model."""
    release_pages()
    # Of the GNU C library.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(c_size_t(0))


def _load(paths: Iterable[str]) -> ctypes.CDLL:
    tried = []
    for path in paths:
        if os.sep in path and not os.path.exists(path):
            tried.append(f"{path}: no such file")
            continue
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            tried.append(f"{path}: {error}")
            continue
        _declare(library, path)
        return library
    raise errors.LibraryNotFoundError(
        "the compiler's shared library was not found; tried\n  "
        + "\n  ".join(tried)
        + "\nbuild it, or set POLYNEST_LIBRARY to its path"
    )


def _declare(library: ctypes.CDLL, path: str) -> None:
    try:
        library.pn_version.restype = c_uint32
        have = int(library.pn_version())
    except AttributeError:
        raise errors.VersionError(f"{path} is not a polynest library") from None
    found = (have >> 16, have >> 8 & 255, have & 255)
    # In major version 0 another minor version is another interface.
    if found[:2] != VERSION[:2]:
        raise errors.VersionError(
            f"{path} is version {'.'.join(map(str, found))}; this package "
            f"needs {VERSION[0]}.{VERSION[1]}"
        )
    for name, (result, *parameters) in FUNCTIONS.items():
        function = getattr(library, name, None)
        if function is None:
            raise errors.VersionError(
                f"{path} has no function {name}: it was built from another "
                "revision; build it again"
            )
        function.restype = ctype_of(result)
        function.argtypes = [ctype_of(p) for p in parameters]
        if result is _ERROR:
            function.errcheck = _check_error
        elif name == "pn_pool_alloc":
            function.errcheck = _check_block
        elif name == "pn_thread_count_set":
            function.errcheck = _check_code
        else:
            function.errcheck = _pass_through


def _pass_through(result, function, arguments):
    return result


def _check_block(result, function, arguments):
    if result is None:
        raise errors.OutOfMemoryError(f"no memory for {arguments[0]} bytes")
    return result


def _check_code(result, function, arguments):
    if result:
        raise errors.ArgumentError(
            f"{function.__name__}: {arguments[0]} is out of range"
        )
    return result


def _check_error(result, function, arguments):
    if result is not None:
        raise _exception(result)
    return None


_CODES = {
    ERROR_CODES[cls.code.replace("-", "_")]: cls
    for cls in (
        errors.InternalError,
        errors.OutOfMemoryError,
        errors.ArgumentError,
        errors.ParseError,
        errors.VerifyError,
        errors.UnsupportedError,
        errors.PassError,
        errors.FileError,
        errors.NotFoundError,
        errors.LinkError,
        errors.SignatureError,
        errors.OverlapError,
        errors.ProgramAssertionError,
        errors.CorruptError,
        errors.TargetError,
        errors.VersionError,
    )
}
_SEVERITY_NAMES = {v: k for k, v in SEVERITIES.items()}


def _text(data: bytes | None) -> str:
    return (data or b"").decode(errors="replace")


def _diagnostic(d: Diagnostic) -> errors.Diagnostic:
    return errors.Diagnostic(
        _SEVERITY_NAMES.get(d.severity, "error"),
        _text(d.text),
        _text(d.file),
        d.line,
        d.column,
    )


def _exception(handle: int) -> errors.PolynestError:
    """The exception for an error object, which it destroys."""
    library = lib()
    try:
        found = []
        item = Diagnostic()
        for i in range(library.pn_error_diagnostic_count(handle)):
            if library.pn_error_diagnostic_at(handle, i, ctypes.byref(item)):
                found.append(_diagnostic(item))
        cls = _CODES.get(library.pn_error_code(handle), errors.InternalError)
        return cls(_text(library.pn_error_message(handle)), tuple(found))
    finally:
        library.pn_error_destroy(handle)


# -- help for the object layer ---------------------------------------------------------


def path_bytes(path: str | os.PathLike) -> bytes:
    """The path as C takes it, which ends at a zero byte."""
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise errors.ArgumentError(f"the path {path!r} holds a zero byte")
    return encoded


def new_handle(function: str, *arguments: Any) -> int:
    """Calls a function whose last parameter receives a handle."""
    out = c_void_p()
    getattr(lib(), function)(*arguments, ctypes.byref(out))
    return out.value


class Writer:
    """A write callback that collects text."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.callback = WriteFn(self._write)

    def _write(self, user, data, size) -> None:
        self.pieces.append(ctypes.string_at(data, size))

    @property
    def data(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace")


def context_options(
    remark: Callable | None,
    diagnostic: Callable[[errors.Diagnostic], None] | None,
    worker_threads: int,
) -> ContextOptions:
    """Options whose callbacks live as long as the struct. `remark` is called
    with (pass, kind, location, {key: value}), possibly from several threads."""
    options = ContextOptions(ctypes.sizeof(ContextOptions), worker_threads)
    kinds = {v: k for k, v in REMARK_KINDS.items()}
    if remark is not None:

        def on_remark(user, flag, kind, location, keys, values, count):
            pairs = {_text(keys[i]): _text(values[i]) for i in range(count)}
            remark(_text(flag), kinds.get(kind, "?"), _text(location), pairs)

        options.remark_fn = RemarkFn(on_remark)
    if diagnostic is not None:
        options.diagnostic_fn = DiagnosticFn(
            lambda user, d: diagnostic(_diagnostic(d.contents))
        )
    return options


def compile_options(
    opt_level: str,
    numerics: str,
    verify: bool,
    disabled_passes: Sequence[str],
    cache: int | None = None,
) -> CompileOptions:
    for value, table, name in (
        (opt_level, OPT_LEVELS, "opt_level"),
        (numerics, NUMERICS, "numerics"),
    ):
        if value not in table:
            raise errors.ArgumentError(
                f"{name} is '{value}', not one of {', '.join(table)}"
            )
    options = CompileOptions(
        ctypes.sizeof(CompileOptions),
        OPT_LEVELS[opt_level],
        NUMERICS[numerics],
        verify,
    )
    if disabled_passes:
        options.disabled_passes = ",".join(disabled_passes).encode()
    options.cache = cache
    return options


def cache_options(
    directory: str | os.PathLike | None, limit_bytes: int
) -> CacheOptions:
    return CacheOptions(
        ctypes.sizeof(CacheOptions),
        path_bytes(directory) if directory is not None else None,
        limit_bytes,
    )


def cache_stats(cache: int) -> dict[str, int]:
    stats = CacheStats(ctypes.sizeof(CacheStats))
    lib().pn_cache_stats_get(cache, stats)
    return {n: getattr(stats, n) for n, _ in CacheStats._fields_[1:]}


def compile_timing() -> CompileTiming:
    return CompileTiming(ctypes.sizeof(CompileTiming))


def timing_dict(timing: CompileTiming) -> dict[str, int]:
    """Nanoseconds of each step by name."""
    steps = {name: timing.stage_ns[i] for name, i in STAGES.items()}
    for name in (
        "translate", "optimize", "codegen", "link", "cache", "total"
    ):
        steps[name] = getattr(timing, name + "_ns")
    return steps


def value_type(entry: int, index: int, is_input: bool) -> tuple | None:
    """(dtype number, sizes, strides or None); None past the last one."""
    out = ValueType()
    name = "pn_entry_input_type" if is_input else "pn_entry_result_type"
    if not getattr(lib(), name)(entry, index, ctypes.byref(out)):
        return None
    sizes = tuple(out.sizes[i] for i in range(out.rank))
    strides = None
    if out.strides:
        strides = tuple(out.strides[i] for i in range(out.rank))
    return out.dtype, sizes, strides


def array_address(a: Any) -> int:
    """Where the elements of a NumPy array begin. The first field of the array
    object behind Python's own head, as every extension that was built against
    NumPy reads it; __array_interface__ takes five times as long."""
    return _pointer_at(id(a) + _HEAD_BYTES).value or 0


def buffer_address(buffer: Any) -> int:
    """Where a writable buffer begins, for as long as there is one."""
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


def bytes_at(address: int, size: int) -> bytearray:
    """A copy of memory."""
    return bytearray((ctypes.c_char * size).from_address(address))


_pointer_at = c_void_p.from_address
_HEAD_BYTES = object.__basicsize__

_WORDS = ctypes.sizeof(Memref) // 8


def check(error: int | None) -> None:
    """Raises the exception for an error object, if it is one."""
    if error is not None:
        raise _exception(error)


class CallBlock:
    """Descriptors of one call, filled once for a signature. A call writes the
    data pointers only: `pointers[i]` of inputs, then results, by item.

    Used by one thread at a time.
    """

    __slots__ = (
        "_keep",
        "words",
        "inputs",
        "results",
        "counts",
        "_callee",
        "function",
        "arguments",
    )

    def __init__(
        self, inputs: Sequence[tuple], results: Sequence[tuple]
    ) -> None:
        """Each item: (dtype number, sizes, strides or None)."""
        everything = [*inputs, *results]
        memrefs = (Memref * max(1, len(everything)))()
        numbers = array("q", [0])
        places = []
        for dtype, sizes, strides in everything:
            at = len(numbers)
            numbers.extend(sizes)
            middle = len(numbers)
            numbers.extend(strides or ())
            places.append((at, middle if strides is not None else None))
        base, _ = numbers.buffer_info()
        pointer = POINTER(c_int64)
        for item, memref, (at, middle) in zip(everything, memrefs, places):
            memref.dtype, memref.rank = item[0], len(item[1])
            # Not read before it is set; questions about sizes want some.
            memref.data = base
            memref.sizes = ctypes.cast(base + 8 * at, pointer)
            if middle is not None:
                memref.strides = ctypes.cast(base + 8 * middle, pointer)
        self._keep = (memrefs, numbers)
        self.words = memoryview(memrefs).cast("B").cast("q")
        self.inputs = ctypes.cast(memrefs, POINTER(Memref))
        self.results = ctypes.cast(
            ctypes.addressof(memrefs) + 8 * _WORDS * len(inputs),
            POINTER(Memref),
        )
        self.counts = (len(inputs), len(results))
        self._callee = self.function = self.arguments = None

    def set_pointer(self, index: int, address: int) -> None:
        self.words[index * _WORDS] = address

    def prepare(self, name: str, callee: int) -> None:
        """Arguments that need no conversion, for a function that converts and
        checks nothing: both take longer than a small call. What
        `function(*arguments)` returns is for `check`."""
        n_in, n_out = self.counts
        library = lib()
        self._callee = callee
        self.function = library._FuncPtr((name, library))
        self.function.restype = c_void_p
        self.arguments = (
            c_void_p(callee),
            self.inputs,
            c_size_t(n_in),
            self.results,
            c_size_t(n_out),
        )

    def invoke(self, entry: int) -> None:
        if self._callee != entry:
            self.prepare("pn_entry_invoke", entry)
        check(self.function(*self.arguments))

    def invoke_state(self, state: int) -> None:
        """The same with the constants bound: inputs are the others. A block is
        for entries or for states."""
        if self._callee != state:
            self.prepare("pn_state_invoke", state)
        check(self.function(*self.arguments))


WORDS = _WORDS


def result_sizes(
    entry: int, block: CallBlock, ranks: Sequence[int]
) -> list[tuple[int, ...]]:
    out = (c_int64 * max(1, sum(ranks)))()
    lib().pn_entry_result_sizes(entry, block.inputs, block.counts[0], out)
    sizes, at = [], 0
    for rank in ranks:
        sizes.append(tuple(out[at : at + rank]))
        at += rank
    return sizes


# -- results out of the recycling pool --------------------------------------------------


class _DLTensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint8 * 2),
        ("shape", c_void_p),
        ("strides", c_void_p),
        ("byte_offset", c_uint64),
    ]


class _DLManagedTensor(Structure):
    _fields_ = [
        ("tensor", _DLTensor),
        ("manager", c_void_p),
        ("deleter", c_void_p),
    ]


# (DLPack type code, bits) by the name of the element type.
_DLPACK = {
    "bool": (6, 8),
    "i8": (0, 8),
    "u8": (1, 8),
    "i16": (0, 16),
    "i32": (0, 32),
    "i64": (0, 64),
    "f16": (2, 16),
    "bf16": (4, 16),
    "f32": (2, 32),
    "f64": (2, 64),
}

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [c_void_p, c_char_p, c_void_p]
_new_capsule.errcheck = _pass_through


class PooledTensor:
    """Makes DLPack capsules for results of one shape.

    The DLPack struct stands at the start of the block that also holds the
    elements, so that its deleter, which gets the struct's address, is
    pn_pool_free itself: no Python runs when the tensor dies.
    """

    __slots__ = ("_bytes", "_head", "_template", "_size", "_patches")

    def __init__(self, dtype: str, sizes: Sequence[int]) -> None:
        code, bits = _DLPACK[dtype]
        rank = len(sizes)
        fixed = ctypes.sizeof(_DLManagedTensor)
        self._head = -(-(fixed + 16 * max(1, rank)) // 64) * 64
        head = (c_uint8 * self._head)()
        managed = _DLManagedTensor.from_buffer(head)
        managed.tensor.device_type = 1
        managed.tensor.ndim = rank
        managed.tensor.code, managed.tensor.bits = code, bits
        managed.tensor.lanes[0] = 1
        managed.deleter = ctypes.cast(lib().pn_pool_free, c_void_p).value
        numbers = (c_int64 * (2 * max(1, rank))).from_buffer(head, fixed)
        step = 1
        for d in range(rank - 1, -1, -1):
            numbers[d] = sizes[d]
            numbers[rank + d] = step
            step *= sizes[d]
        self._template = head
        self._bytes = self._head + step * (bits // 8)
        self._patches = (fixed, fixed + 8 * rank)

    def new(self) -> tuple[int, Any]:
        """(address of the elements, capsule); the capsule must be consumed."""
        block = lib().pn_pool_alloc(self._bytes)
        ctypes.memmove(block, self._template, self._head)
        managed = _DLManagedTensor.from_address(block)
        shape, strides = self._patches
        managed.tensor.data = block + self._head
        managed.tensor.shape = block + shape
        managed.tensor.strides = block + strides
        return block + self._head, _new_capsule(block, b"dltensor", None)
