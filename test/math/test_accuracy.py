# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the functions of polynest-lower-math against their documented bounds."""
import ctypes
import math
import pathlib
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import accuracy  # noqa: E402

NARROW = ("exp", "tanh", "erf", "sin", "log", "roundeven", "ceil")
EXTRA = """
  func.func @ipow(%a: memref<?xi32>, %b: memref<?xi32>, %o: memref<?xi32>)
      attributes {llvm.emit_c_interface} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %n = memref.dim %a, %c0 : memref<?xi32>
    scf.for %i = %c0 to %n step %c8 {
      %x = vector.load %a[%i] : memref<?xi32>, vector<8xi32>
      %y = vector.load %b[%i] : memref<?xi32>, vector<8xi32>
      %r = math.ipowi %x, %y : vector<8xi32>
      vector.store %r, %o[%i] : memref<?xi32>, vector<8xi32>
    }
    return
  }
  func.func @fpow(%a: memref<?xf32>, %b: memref<?xi32>, %o: memref<?xf32>)
      attributes {llvm.emit_c_interface} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %n = memref.dim %a, %c0 : memref<?xf32>
    scf.for %i = %c0 to %n step %c8 {
      %x = vector.load %a[%i] : memref<?xf32>, vector<8xf32>
      %y = vector.load %b[%i] : memref<?xi32>, vector<8xi32>
      %r = math.fpowi %x, %y : vector<8xf32>, vector<8xi32>
      vector.store %r, %o[%i] : memref<?xf32>, vector<8xf32>
    }
    return
  }
"""

SUMS = """
  func.func @onetanh(%a: memref<?xf32>, %o: memref<?xf32>)
      attributes {llvm.emit_c_interface} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %one = arith.constant dense<1.0> : vector<8xf32>
    %n = memref.dim %a, %c0 : memref<?xf32>
    scf.for %i = %c0 to %n step %c8 {
      %x = vector.load %a[%i] : memref<?xf32>, vector<8xf32>
      %t = math.tanh %x : vector<8xf32>
      %r = arith.addf %one, %t : vector<8xf32>
      vector.store %r, %o[%i] : memref<?xf32>, vector<8xf32>
    }
    return
  }
  // Half of x times the sum: a quotient.
  func.func @halftanh(%a: memref<?xf32>, %o: memref<?xf32>)
      attributes {llvm.emit_c_interface} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %one = arith.constant dense<1.0> : vector<8xf32>
    %half = arith.constant dense<0.5> : vector<8xf32>
    %n = memref.dim %a, %c0 : memref<?xf32>
    scf.for %i = %c0 to %n step %c8 {
      %x = vector.load %a[%i] : memref<?xf32>, vector<8xf32>
      %h = arith.mulf %x, %half : vector<8xf32>
      %t = math.tanh %x : vector<8xf32>
      %s = arith.addf %one, %t : vector<8xf32>
      %r = arith.mulf %h, %s : vector<8xf32>
      vector.store %r, %o[%i] : memref<?xf32>, vector<8xf32>
    }
    return
  }
"""


def narrow_text():
    """The f16 and bf16 kernels, and the arith operations on two operands."""
    text = ""
    for name in NARROW:
        text += accuracy.kernel_text(name, "f16", 8)
        text += accuracy.kernel_text(name, "bf16", 8)
    for op in ("arith.maximumf", "arith.minimumf", "math.copysign"):
        short = op.split(".")[1]
        for lanes in (8, 1):
            body = accuracy.kernel_text("powf", "f32", lanes)
            text += body.replace("math.powf", op).replace("@powf", f"@{short}")
    return text


class Memref(ctypes.Structure):
    _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p),
                ("offset", ctypes.c_int64), ("size", ctypes.c_int64),
                ("stride", ctypes.c_int64)]


def call(function, *arrays):
    refs = [Memref(ctypes.addressof(a), ctypes.addressof(a), 0, len(a), 1)
            for a in arrays]
    function(*[ctypes.byref(r) for r in refs])


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    if "fma" not in pathlib.Path("/proc/cpuinfo").read_text():
        pytest.skip("no fused multiply-add here")
    return accuracy.build(accuracy.UNARY + accuracy.BINARY,
                          tmp_path_factory.mktemp("math"),
                          extra=EXTRA + SUMS + narrow_text())


def test_no_calls(kernels):
    names = subprocess.run(["nm", "-u", kernels[2]], check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    assert [n for n in names.split("\n") if " U " in n] == []


@pytest.mark.parametrize("element", ("f32", "f64"))
@pytest.mark.parametrize("name", accuracy.UNARY + accuracy.BINARY)
def test_bound(kernels, name, element):
    library, reference, _ = kernels
    bound = accuracy.BOUNDS[name][element == "f64"]
    vector = accuracy.measure(library, reference, name, element,
                              samples=None if element == "f32" else 6000)
    assert vector.worst <= bound and not vector.wrong, \
        accuracy.describe(vector)
    if name in accuracy.ALL:
        documented = accuracy.documented()[name]
        assert documented[2 * (element == "f64")] == bound
        assert documented[2 * (element == "f64") + 1] <= bound
    # One lane computes what eight do.
    scalar = accuracy.measure(library, reference, name, element, "_scalar",
                              samples=3000)
    assert scalar.worst <= bound and not scalar.wrong, \
        accuracy.describe(scalar)


def bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


@pytest.fixture(scope="module")
def looked_up(tmp_path_factory):
    """exp from numbers in a register, in vectors of several sizes."""
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    if "avx2" not in flags or "fma" not in flags:
        pytest.skip("no AVX2 here")
    text = "".join(accuracy.kernel_text("exp", "f32", lanes).replace(
        "@exp_f32", f"@exp{lanes}_f32") for lanes in (2, 4, 16, 24))
    text += "".join(accuracy.kernel_text("exp", element, 8)
                    for element in ("f16", "bf16"))
    return accuracy.build(["exp"], tmp_path_factory.mktemp("lookup"),
                          extra=text + SUMS, permutes=accuracy.PERMUTES)


def test_looked_up_exp(looked_up):
    library, reference, path = looked_up
    report = accuracy.measure(library, reference, "exp", "f32")
    assert report.worst <= accuracy.BOUNDS["exp"][0] and not report.wrong, \
        accuracy.describe(report)
    report = accuracy.measure(library, reference, "exp", "f64", samples=6000)
    assert report.worst <= accuracy.BOUNDS["exp"][1] and not report.wrong
    # Lanes compute the same wherever they are, NaN of all kinds among them.
    patterns = [0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7fc001ff,
                0x7f800001, 0xff8fffff, 0x7fffffff, 0xffffffff, 0, 1 << 31,
                1, (1 << 31) + 1]
    patterns += [bits(x) + d & 0xffffffff for x in (
        88.7228, 89.0, -87.3365, -103.2789, -103.972, -104.0, -176.0593, 3e38, -3e38,
        0.0866, -0.0866, 0.5, -1.0) for d in range(-3, 4)]
    patterns += [bits(n / 61) for n in range(-11000, 5500)]
    patterns += [0] * (-len(patterns) % 48)
    xs = (ctypes.c_float * len(patterns))()
    ctypes.memmove(xs, (ctypes.c_uint32 * len(patterns))(*patterns),
                   4 * len(patterns))
    results = []
    for symbol in ("exp_f32", "exp_f32_scalar", "exp2_f32", "exp4_f32",
                   "exp16_f32", "exp24_f32"):
        out = (ctypes.c_uint32 * len(patterns))()
        call(getattr(library, f"_mlir_ciface_{symbol}"), xs, out)
        results.append(list(out))
    for x, *got in zip(xs, *results):
        if math.isnan(x):
            assert all(g & 0x7fffffff > 0x7f800000 for g in got), (x, got)
        else:
            assert len(set(got)) == 1, (x, got)
    for element, read, write in (("f16", from_half, to_half),
                                 ("bf16", from_brain, to_brain)):
        ys = (ctypes.c_uint16 * 65536)(*range(65536))
        out = (ctypes.c_uint16 * 65536)()
        call(getattr(library, f"_mlir_ciface_exp_{element}"), ys, out)
        for pattern, got in zip(ys, out):
            want = exact("exp", read(pattern))
            if math.isnan(want):
                assert math.isnan(read(got)), (pattern, got)
            else:
                assert abs(got - write(want)) <= 1, (pattern, got, want)


def test_looks_up_in_a_register(looked_up):
    """Not in memory, element by element."""
    text = subprocess.run(
        [f"{accuracy.llvm_bin()}/llvm-objdump", "-d", looked_up[2]], check=True,
        stdout=subprocess.PIPE, text=True).stdout
    assert "vpermd" in text or "vpermps" in text


def from_half(pattern):
    return struct.unpack("<e", struct.pack("<H", pattern))[0]


def to_half(value):
    try:
        return struct.unpack("<H", struct.pack("<e", value))[0]
    except OverflowError:
        return 0xfc00 if value < 0 else 0x7c00


def from_brain(pattern):
    return struct.unpack("<f", struct.pack("<I", pattern << 16))[0]


def to_brain(value):
    """Half to even from double, which is exact for what comes in here."""
    if value == 0 or math.isinf(value):
        return struct.unpack("<I", struct.pack("<f", value))[0] >> 16
    exponent = max(math.frexp(value)[1] - 8, -133)
    rounded = math.ldexp(round(math.ldexp(value, -exponent)), exponent)
    if abs(rounded) >= 2.0**128:
        return 0xff80 if value < 0 else 0x7f80
    pattern = struct.unpack("<I", struct.pack("<f", rounded))[0] >> 16
    return pattern | (0x8000 if math.copysign(1, value) < 0 else 0)


def exact(name, x):
    if math.isnan(x):
        return math.nan
    if name == "log":
        return math.nan if x < 0 else -math.inf if x == 0 else math.log(x)
    if name in ("roundeven", "ceil"):
        if math.isinf(x):
            return x
        return math.copysign(round(x) if name == "roundeven" else math.ceil(x),
                             x)
    if name == "sin" and math.isinf(x):
        return math.nan
    if name == "exp" and x > 700:
        return math.inf
    return getattr(math, name)(x)


@pytest.mark.parametrize("element", ("f16", "bf16"))
@pytest.mark.parametrize("name", NARROW)
def test_narrow(kernels, name, element):
    """Every third argument: one rounding, so nearly always the nearest."""
    read, write = {"f16": (from_half, to_half),
                   "bf16": (from_brain, to_brain)}[element]
    patterns = list(range(0, 65536, 3))[:21840]
    xs = (ctypes.c_uint16 * len(patterns))(*patterns)
    out = (ctypes.c_uint16 * len(patterns))()
    call(getattr(kernels[0], f"_mlir_ciface_{name}_{element}"), xs, out)
    off = 0
    for pattern, got in zip(patterns, out):
        want = exact(name, read(pattern))
        if math.isnan(want):
            assert math.isnan(read(got)), (read(pattern), read(got))
            continue
        assert abs(got - write(want)) <= 1, (read(pattern), read(got), want)
        off += got != write(want)
    assert off <= len(patterns) // 500


@pytest.mark.parametrize("suffix", ("", "_scalar"))
def test_minimum_maximum(kernels, suffix):
    """IEEE 754-2019: NaN wins, -0 is below +0; copysign takes any sign."""
    points = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-45]
    pairs = [(x, y) for x in points for y in points]
    xs = (ctypes.c_float * 64)(*[p[0] for p in pairs])
    ys = (ctypes.c_float * 64)(*[p[1] for p in pairs])
    out = (ctypes.c_float * 64)()

    def order(value):
        return value, math.copysign(1, value)
    for name, choose in (("maximumf", max), ("minimumf", min)):
        call(getattr(kernels[0], f"_mlir_ciface_{name}_f32{suffix}"), xs, ys,
             out)
        for x, y, got in zip(xs, ys, out):
            if math.isnan(x) or math.isnan(y):
                assert math.isnan(got), (name, x, y, got)
            else:
                assert order(got) == order(choose(x, y, key=order)), \
                    (name, x, y, got)
    call(getattr(kernels[0], f"_mlir_ciface_copysign_f32{suffix}"), xs, ys, out)
    for x, y, got in zip(xs, ys, out):
        if not math.isnan(x) and not math.isnan(y):
            assert order(got) == order(math.copysign(x, y))


def test_integer_powers(kernels):
    bases = [0, 1, -1, 2, -2, 3, 7, -5, 10, 46341, 2**31 - 1, -2**31]
    powers = [0, 1, 2, 3, 4, 5, 31, 32, 33, 100, 2**31 - 1, -1, -2, -3, -2**31]
    pairs = [(b, p) for b in bases for p in powers]
    pairs += [(1, 1)] * (-len(pairs) % 8)
    xs = (ctypes.c_int32 * len(pairs))(*[b for b, _ in pairs])
    ys = (ctypes.c_int32 * len(pairs))(*[p for _, p in pairs])
    out = (ctypes.c_int32 * len(pairs))()
    call(kernels[0]._mlir_ciface_ipow, xs, ys, out)
    for (base, power), got in zip(pairs, out):
        if power >= 0:
            want = pow(base, power, 2**32)
        else:
            want = {1: 1, -1: -1 if power % 2 else 1}.get(base, 0)
        assert (got - want) % 2**32 == 0, (base, power, got)
    reals = [0.0, -0.0, 1.0, -1.0, 1.1, -1.1, 0.3, -2.0, math.inf, -math.inf,
             math.nan, 1e-40, 3e38]
    pairs = [(x, p) for x in reals for p in powers]
    pairs += [(1.0, 1)] * (-len(pairs) % 8)
    fs = (ctypes.c_float * len(pairs))(*[x for x, _ in pairs])
    ys = (ctypes.c_int32 * len(pairs))(*[p for _, p in pairs])
    fout = (ctypes.c_float * len(pairs))()
    call(kernels[0]._mlir_ciface_fpow, fs, ys, fout)
    for x, (_, power), got in zip(fs, pairs, fout):
        try:
            want = math.pow(x, power)
        except OverflowError:
            want = -math.inf if x < 0 and power % 2 else math.inf
        except ValueError:  # zero to a negative power
            odd = power % 2
            want = math.copysign(math.inf, x) if odd else math.inf
        want = ctypes.c_float(want).value
        if math.isnan(want):
            assert math.isnan(got)
        elif want == 0 or math.isinf(want):
            assert (got, math.copysign(1, got)) == \
                (want, math.copysign(1, want)), (x, power, got)
        else:
            assert abs(got - want) <= abs(want) * 2e-7, (x, power, got, want)


@pytest.mark.parametrize("form", ["kernels", "looked_up"])
def test_one_plus_tanh(form, request):
    """As near as the documented bound of tanh makes the sum, and nearer where
    the two cancel; zero and two where tanh is -1 and 1. Half of x times the sum
    is as near."""
    library = request.getfixturevalue(form)[0]
    xs = [n / 512 for n in range(-60000, 60000)]
    xs += [math.inf, -math.inf, math.nan, 0.0, -0.0, 3e38, -3e38, 1e-45]
    values = (ctypes.c_float * len(xs))(*xs)
    out, halves = [(ctypes.c_float * len(xs))() for _ in range(2)]
    call(library._mlir_ciface_onetanh, values, out)
    call(library._mlir_ciface_halftanh, values, halves)
    for x, got, half in zip(values, out, halves):
        if math.isnan(x):
            assert math.isnan(got) and math.isnan(half)
            continue
        want = 2 / (1 + math.exp(-2 * x)) if x > -300 else 0.0
        ulps = 3 if x > -10 else 8
        assert abs(got - want) <= max(ulps * 2**-24 * want, 2**-126), (x, got)
        assert x != -math.inf or got == 0
        if x == -math.inf:
            assert math.isnan(half)
        elif x == math.inf or x == 0:
            assert (half, math.copysign(1, half)) == (x, math.copysign(1, x))
        else:
            bound = max(ulps * 2**-24 * want, 2**-126) * abs(x) / 2 + 1e-45
            assert abs(half - x * want / 2) <= bound, (x, half)
