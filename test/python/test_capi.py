# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""_capi.py against the headers: names, arity, types, markers, enums, structs."""

import ctypes
import re
import subprocess
import sys
import threading
from ctypes import POINTER

import pytest
from conftest import ROOT, in_child

from polynest import __version__, _capi

HEADERS = sorted((ROOT / "include" / "polynest").glob("*.h"))
SCALARS = {
    "void": None,
    "bool": ctypes.c_bool,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
}


def source():
    text = "\n".join(h.read_text() for h in HEADERS)
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = text.replace("\\\n", " ")
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


TEXT = source()
ENUM_TYPES = set(re.findall(r"\}\s*(pn_\w+)\s*;", re.sub(
    r"typedef struct[^}]*\}\s*pn_\w+\s*;", "", TEXT)))


def split_arguments(text):
    text = text.strip()
    return [] if text in ("", "void") else [a.strip() for a in text.split(",")]


def parse_type(text):
    """(marker, type without const, with one space before its stars)."""
    marker = next(
        (m for m in ("PN_KEEP", "PN_GIVE", "PN_TAKE") if m in text.split()), ""
    )
    words = re.sub(r"\b(PN_\w+|const)\b", " ", text).replace("*", " * ")
    words = words.split()
    stars = "*" * words.count("*")
    names = [w for w in words if w != "*"]
    return marker, names, stars


def prototypes():
    found = {}
    pattern = re.compile(r"PN_EXPORT\b([^;{]*?)\b(pn_\w+)\s*\(([^;]*?)\)\s*;")
    for result, name, arguments in pattern.findall(TEXT):
        found[name] = (result, split_arguments(arguments))
    return found


PROTOTYPES = prototypes()


def check_value(declared, bound, where):
    """One result or parameter of the header against the table's."""
    marker, names, stars = parse_type(declared)
    base = names[0]
    if not stars:
        assert not isinstance(bound, _capi.Marked), where
        if base in SCALARS:
            assert bound is SCALARS[base], where
        elif base in _capi.CALLBACKS:
            assert bound is _capi.CALLBACKS[base], where
        else:
            assert base in ENUM_TYPES, f"{where}: unknown type {base}"
            assert bound is ctypes.c_int, where
        return
    assert isinstance(bound, _capi.Marked), where
    assert bound.name == f"{base} {stars}", where
    if bound.marker:
        assert bound.marker == marker, where
    if base == "char":
        assert bound.ctype is ctypes.c_char_p, where
    elif stars == "**":
        assert bound.ctype is POINTER(ctypes.c_void_p), where
    elif base in _capi.STRUCTS:
        assert bound.ctype is POINTER(_capi.STRUCTS[base]), where
    elif base in SCALARS and SCALARS[base] is not None:
        assert bound.ctype is POINTER(SCALARS[base]), where
    elif base in ENUM_TYPES:
        assert bound.ctype is POINTER(ctypes.c_int), where
    else:
        assert bound.ctype is ctypes.c_void_p, where


def test_headers_are_found():
    assert len(HEADERS) > 5
    assert len(PROTOTYPES) > 40


@pytest.mark.parametrize("name", sorted(_capi.FUNCTIONS))
def test_function(name):
    assert name in PROTOTYPES, f"{name} is in no header"
    result, arguments = PROTOTYPES[name]
    bound_result, *bound = _capi.FUNCTIONS[name]
    assert len(bound) == len(arguments), f"{name}: arity"
    check_value(result, bound_result, f"{name}: result")
    for i, (declared, have) in enumerate(zip(arguments, bound)):
        check_value(declared, have, f"{name}: parameter {i} ({declared})")


def test_every_function_is_bound_or_listed():
    missing = set(PROTOTYPES) - set(_capi.FUNCTIONS) - _capi.NOT_BOUND
    assert not missing
    assert not _capi.NOT_BOUND - set(PROTOTYPES)
    assert not _capi.NOT_BOUND & set(_capi.FUNCTIONS)


def enum_values(name):
    body = re.search(r"enum " + name + r"\s*\{(.*?)\}", TEXT, re.S).group(1)
    return {
        k: int(v) for k, v in re.findall(r"(PN_\w+)\s*=\s*(-?\d+)", body)
    }


@pytest.mark.parametrize("name", sorted(_capi.ENUMS))
def test_enum(name):
    prefix, table = _capi.ENUMS[name]
    assert enum_values(name) == {
        prefix + k.upper(): v for k, v in table.items()
    }


@pytest.mark.parametrize("name", sorted(_capi.STRUCTS))
def test_struct_fields(name):
    pattern = r"typedef struct \w+\s*\{([^}]*)\}\s*" + name + r"\s*;"
    body = re.search(pattern, TEXT).group(1)
    declared = []
    for line in body.split(";"):
        line = line.strip()
        if line:
            match = re.search(r"(\w+)\s*(\[[^\]]*\])?$", line)
            declared.append(match.group(1))
    fields = [f[0] for f in _capi.STRUCTS[name]._fields_]
    assert fields == declared


@pytest.mark.parametrize("name", sorted(_capi.CALLBACKS))
def test_callback_arity(name):
    pattern = r"typedef \w+ \(\*" + name + r"\)\(([^)]*)\)"
    arguments = split_arguments(re.search(pattern, TEXT).group(1))
    assert len(_capi.CALLBACKS[name]._argtypes_) == len(arguments)


def test_struct_sizes_match_static_assertions():
    sizes = dict(re.findall(
        r"PN_STATIC_ASSERT\(sizeof\((pn_\w+)\) == (\d+),", TEXT))
    # Its own assertion says what it is on other machines, too.
    sizes["pn_memref_t"] = 40
    for name, struct in _capi.STRUCTS.items():
        assert ctypes.sizeof(struct) == int(sizes[name]), name


def test_versions_agree():
    version = (ROOT / "VERSION").read_text().strip()
    assert __version__ == version
    assert ".".join(map(str, _capi.VERSION)) == version
    assert _capi.lib().pn_version_string().decode() == version


def test_every_function_has_errcheck():
    library = _capi.lib()
    for name in _capi.FUNCTIONS:
        assert getattr(library, name).errcheck is not None, name


def test_codes_have_names():
    library = _capi.lib()
    for name, code in _capi.ERROR_CODES.items():
        spelled = library.pn_error_code_name(code).decode()
        assert spelled.replace(" ", "_").removeprefix("out_of_") == name
    for name, number in _capi.DTYPES.items():
        spelled = library.pn_dtype_name(number).decode()
        assert spelled == {"bool": "i1"}.get(name, name)


def test_pages_of_the_compiler_are_given_back():
    """And are there again for whoever compiles."""
    script = """
import re, sys
from pathlib import Path
from polynest import Context, Module, Target, _capi

def held():
    total, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if re.match("[0-9a-f]+-[0-9a-f]+ ", line):
            inside = re.search("lib(MLIR|LLVM|polynest)[^/]*$", line)
        elif inside and line.startswith("Rss:"):
            total += int(line.split()[1])
    return total

def compiled():
    text = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {"
    text += "  %0 = arith.addf %x, %x : tensor<4xf32>\\n"
    text += "  return %0 : tensor<4xf32> }"
    with Context() as context, Target("host") as target:
        with Module(context, text, "m") as module:
            return module.executable(target)

_capi.lib()
first = compiled()
before = held()
assert _capi.release_pages() > 0
assert held() < before / 2, (before, held())
second = compiled()
assert held() > 0
before = held()
_capi.release_memory()
assert held() < before
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_loaded_in_a_child_that_was_forked_while_another_thread_loads():
    """The child has no such thread, which would never give the lock back."""
    inside, done = threading.Event(), threading.Event()

    def load():
        with _capi._LOCK:
            inside.set()
            done.wait()

    def load_again():
        _capi._LOADED = None
        return _capi.lib() is not None

    other = threading.Thread(target=load)
    other.start()
    inside.wait()
    try:
        assert in_child(load_again)
    finally:
        done.set()
        other.join()
