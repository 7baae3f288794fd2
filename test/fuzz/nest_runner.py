#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles functions over memrefs two ways and runs both on equal inputs.

Standard library only; polynest-opt, mlir-translate and clang of the right
version come from PATH. Buffers end at a page that cannot be touched, so a read
or write past the end kills the process; the case under test is printed before.
"""

import ctypes
import math
import os
import struct
import subprocess
import tempfile

LOWERING = [
    "--lower-affine",
    "--convert-scf-to-cf",
    "--expand-strided-metadata",
    "--lower-affine",
    "--convert-vector-to-llvm",
    "--convert-math-to-llvm",
    "--convert-math-to-libm",
    "--convert-arith-to-llvm",
    "--convert-index-to-llvm",
    "--finalize-memref-to-llvm",
    "--convert-func-to-llvm",
    "--convert-cf-to-llvm",
    "--reconcile-unrealized-casts",
]

# name: size in bytes, struct code; i1 lies in memory as one byte.
TYPES = {
    "f32": (4, "f"),
    "f64": (8, "d"),
    "i1": (1, "b"),
    "i8": (1, "b"),
    "i16": (2, "h"),
    "i32": (4, "i"),
    "i64": (8, "q"),
    "index": (8, "q"),
}

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [
    ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
PAGE = 4096


class Buffer:
    """`size` bytes that end where an untouchable page begins."""

    def __init__(self, size, at_start=False):
        pages = max(1, -(-size // PAGE))
        self.total = (pages + 2) * PAGE
        self.base = _libc.mmap(None, self.total, 3, 0x22, -1, 0)
        _libc.mprotect(self.base, PAGE, 0)
        _libc.mprotect(self.base + (pages + 1) * PAGE, PAGE, 0)
        self.size = size
        self.inside = pages * PAGE
        self.address = self.base + PAGE
        ctypes.memset(self.address, 0xA5, self.inside)
        if not at_start:
            self.address += self.inside - size

    def fill(self, data):
        ctypes.memmove(self.address, data, len(data))

    def data(self):
        """The whole mapping, so that stray writes count as differences."""
        return ctypes.string_at(self.base + PAGE, self.inside)

    def close(self):
        _libc.munmap(self.base, self.total)


def run_tool(command, text):
    done = subprocess.run(command, input=text.encode(), capture_output=True)
    if done.returncode:
        raise RuntimeError("%s failed:\n%s" % (
            " ".join(command), done.stderr.decode()[:4000]))
    return done.stdout.decode()


def optimize(text, pipeline):
    """Runs a pipeline of function passes and returns the module's text."""
    return run_tool(["polynest-opt", "--pass-pipeline=builtin.module(func.func(%s))" %
                     pipeline], text)


def build(modules, flags=("-O1",)):
    """Links modules of distinct symbols into one library and loads it."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, text in enumerate(modules):
            lowered = run_tool(["polynest-opt"] + LOWERING, text)
            llvm = run_tool(["mlir-translate", "--mlir-to-llvmir"], lowered)
            files.append(os.path.join(folder, "m%d.ll" % number))
            with open(files[-1], "w") as out:
                out.write(llvm)
        library = os.path.join(folder, "nests.so")
        done = subprocess.run(
            ["clang", "-shared", "-fPIC", "-march=native",
             "-Wno-override-module", "-fno-vectorize", "-fno-slp-vectorize",
             *flags, "-o", library, *files, "-lm"], capture_output=True)
        if done.returncode:
            raise RuntimeError(done.stderr.decode()[:4000])
        return ctypes.CDLL(library)


def descriptor(address, offset, sizes, strides):
    """A ranked memref descriptor as the C interface takes it."""
    fields = [address, address, offset, *sizes, *strides]
    return (ctypes.c_int64 * len(fields))(*fields)


def row_major(sizes):
    strides = [1] * len(sizes)
    for d in range(len(sizes) - 2, -1, -1):
        strides[d] = strides[d + 1] * sizes[d + 1]
    return strides


def compare(kind, left, right, tolerance):
    """Index of the first element that differs, or None. NaN equals NaN; zeros
    must have equal signs when the tolerance is 0."""
    size, code = TYPES[kind]
    if left == right:
        return None
    count = len(left) // size
    a = struct.unpack("%d%s" % (count, code), left[:count * size])
    b = struct.unpack("%d%s" % (count, code), right[:count * size])
    for i, (x, y) in enumerate(zip(a, b)):
        if kind in ("f32", "f64"):
            if math.isnan(x) and math.isnan(y):
                continue
            if x == y and (tolerance or
                           math.copysign(1, x) == math.copysign(1, y)):
                continue
            if tolerance and abs(x - y) <= tolerance * (1 + abs(x)):
                continue
        elif x == y:
            continue
        return i
    if len(left) % size and left[count * size:] != right[count * size:]:
        return count
    return None
