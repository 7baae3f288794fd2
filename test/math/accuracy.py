# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the functions that polynest-lower-math makes against the C library.

    test/math/accuracy.py                  quick measurement of all functions
    test/math/accuracy.py exp sin          of some
    test/math/accuracy.py --exhaustive     every f32 argument (minutes each)
    test/math/accuracy.py --write-docs     renew the table of docs/vector-math.md
                                           (or the rows of named functions)

Every function is lowered on vectors and on scalars, compiled for this processor
and compared in units in the last place. BOUNDS is what the documentation
promises; test_accuracy.py holds the measurements against it.
"""
import argparse
import ctypes
import itertools
import math
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DOCS = ROOT / "docs" / "vector-math.md"
BUILD = pathlib.Path(os.environ.get("POLYNEST_BUILD", ROOT / "build"))

# In the order of reference.c.
UNARY = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos",
         "cosh", "erf", "erfc", "exp", "exp2", "expm1", "log", "log10", "log1p",
         "log2", "rsqrt", "sin", "sinh", "tan", "tanh", "ceil", "floor",
         "round", "roundeven", "trunc"]
BINARY = ["powf", "atan2"]
EXACT = {"ceil", "floor", "round", "roundeven", "trunc"}
ALL = [n for n in UNARY if n not in EXACT] + BINARY

# Bounds in ulp, (f32, f64).
BOUNDS = {
    "acos": (1.5, 1.5), "acosh": (0.6, 2.5), "asin": (2.0, 2.5),
    "asinh": (0.6, 2.0), "atan": (1.75, 2.0), "atan2": (2.0, 2.0),
    "atanh": (0.6, 2.25), "cbrt": (0.6, 0.6), "cos": (2.0, 2.0),
    "cosh": (2.0, 2.25), "erf": (2.0, 1.5), "erfc": (0.7, 5.0),
    "exp": (1.75, 1.75), "exp2": (1.5, 1.5), "expm1": (1.75, 2.25),
    "log": (1.0, 1.0), "log10": (1.25, 1.0), "log1p": (1.75, 1.75),
    "log2": (1.25, 1.25), "powf": (0.7, 2.0), "rsqrt": (1.6, 1.6),
    "sin": (2.0, 2.0), "sinh": (0.7, 2.5), "tan": (0.6, 4.0),
    "tanh": (1.5, 2.0),
}
BOUNDS.update({name: (0.0, 0.0) for name in EXACT})

# What looks numbers up on a target with AVX2.
PERMUTES = "256:llvm.x86.avx2.permd"
PIPELINE = ("--polynest-lower-math --convert-vector-to-scf --convert-scf-to-cf "
            "--convert-vector-to-llvm --expand-strided-metadata "
            "--finalize-memref-to-llvm --convert-func-to-llvm "
            "--convert-math-to-llvm --convert-arith-to-llvm "
            "--convert-cf-to-llvm --canonicalize --cse "
            "--reconcile-unrealized-casts").split()


class Report(ctypes.Structure):
    _fields_ = [(n, ctypes.c_double) for n in ("worst", "x", "y", "got", "want")]
    _fields_ += [("wrong", ctypes.c_int64), ("count", ctypes.c_int64)]
    _fields_ += [(n, ctypes.c_double)
                 for n in ("wrong_x", "wrong_y", "wrong_got", "wrong_want")]


def llvm_bin():
    """The LLVM tools that the build was configured with."""
    site = (BUILD / "test" / "lit.site.cfg.py").read_text()
    return re.search(r'llvm_bin_dir = r?"([^"]+)"', site).group(1)


def kernel_text(name, element, lanes):
    """A loop that applies one operation, `lanes` elements at a time."""
    arity = 2 if name in BINARY else 1
    args = ", ".join(f"%a{k}: memref<?x{element}>" for k in range(arity + 1))
    kind = element if lanes == 1 else f"vector<{lanes}x{element}>"
    op = "memref.load" if lanes == 1 else "vector.load"
    put = "memref.store" if lanes == 1 else "vector.store"
    tail = "" if lanes == 1 else f", {kind}"
    loads = "\n".join(f"      %v{k} = {op} %a{k}[%i] : memref<?x{element}>{tail}"
                      for k in range(arity))
    values = ", ".join(f"%v{k}" for k in range(arity))
    symbol = f"{name}_{element}" + ("_scalar" if lanes == 1 else "")
    return f"""
  func.func @{symbol}({args}) attributes {{llvm.emit_c_interface}} {{
    %c0 = arith.constant 0 : index
    %step = arith.constant {lanes} : index
    %n = memref.dim %a0, %c0 : memref<?x{element}>
    scf.for %i = %c0 to %n step %step {{
{loads}
      %r = math.{name} {values} : {kind}
      {put} %r, %a{arity}[%i] : memref<?x{element}>{tail}
    }}
    return
  }}"""


def pipeline(permutes):
    """The passes, with instructions that look numbers up, or without."""
    if not permutes:
        return PIPELINE
    return [f"{PIPELINE[0]}=permutes={permutes}", *PIPELINE[1:]]


def build(names, directory, scalar=True, cpu="native", extra="", permutes=""):
    """Compiles the kernels and `extra` functions; returns the loaded library,
    the one with the references, and the path of the first."""
    directory = pathlib.Path(directory)
    text = "module {"
    for name in names:
        for element, lanes in (("f32", 8), ("f64", 4)):
            text += kernel_text(name, element, lanes)
            if scalar:
                text += kernel_text(name, element, 1)
    source = directory / "kernels.mlir"
    source.write_text(text + extra + "\n}\n")
    tools = llvm_bin()
    opt = subprocess.run([BUILD / "bin" / "polynest-opt", source,
                          *pipeline(permutes)],
                         check=True, stdout=subprocess.PIPE)
    llvm = subprocess.run([f"{tools}/mlir-translate", "--mlir-to-llvmir"],
                          input=opt.stdout, check=True, stdout=subprocess.PIPE)
    (directory / "kernels.ll").write_bytes(llvm.stdout)
    library = directory / "kernels.so"
    subprocess.run([f"{tools}/llc", "-O2", f"-mcpu={cpu}", "-filetype=obj",
                    "-relocation-model=pic", directory / "kernels.ll", "-o",
                    directory / "kernels.o"], check=True)
    subprocess.run([f"{tools}/clang", "-shared", directory / "kernels.o", "-o",
                    library], check=True)
    reference = directory / "reference.so"
    subprocess.run([f"{tools}/clang", "-O2", "-shared", "-fPIC",
                    HERE / "Inputs" / "reference.c", "-o", reference, "-lm"],
                   check=True)
    return ctypes.CDLL(str(library)), ctypes.CDLL(str(reference)), library


def special(wide):
    """Arguments where functions change course, and their neighbours."""
    code, whole = ("<d", "<q") if wide else ("<f", "<i")
    anchors = [0.0, 0.5, 0.9, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.5, 10.0, 9.5,
               0.75, 0.25, 0.1, 1e-3, 0.7071067811865476, 1.4142135623730951,
               0.34657359, 0.69314718, 0.41421356, 2.41421356, 3.925, 6.0, 19.5,
               28.0, 10.06, 26.54, 27.226, 88.72284, 89.4159, 103.97208, 87.33655,
               709.782712893384, 745.1332191019411, 708.3964185322641,
               710.4758600739439, 128.0, 149.0, 150.0, 126.0, 1024.0, 1074.0,
               1075.0, 1022.0, 17.328, 36.7368, 131072.0, 131073.0, 2.0**30,
               176.0593, 254.0, 1418.177, 2046.0,
               2.0**22, 2.0**23, 2.0**24, 2.0**52, 2.0**53, 8388609.0, 1e10,
               1e20, 1e30, 3.4028234e38, 1.17549435e-38, 1e-30, 1e-40, 1e-45]
    anchors += [k * 1.5707963267948966 for k in range(1, 40)]
    if wide:
        anchors += [2.0**1023, 2.2250738585072014e-308, 1e-310, 5e-324, 1e22,
                    1e300, 1e200, 1e155, 1e-200, 1.7976931348623157e308,
                    5.319372648326541e255]
    result = [float("inf"), float("nan")]
    for anchor in anchors:
        pattern = struct.unpack(whole, struct.pack(code, anchor))[0]
        for step in range(-3, 4):
            if pattern + step >= 0:
                packed = struct.pack(whole, pattern + step)
                result.append(struct.unpack(code, packed)[0])
    return result + [-x for x in result]


def random_doubles(count, seed):
    """All exponents, moderate ones, and the unit interval."""
    source = random.Random(seed)
    result = []
    for _ in range(count):
        pattern = source.getrandbits(64)
        result.append(struct.unpack("<d", struct.pack("<Q", pattern))[0])
        result.append(source.choice((-1, 1)) * source.uniform(1, 2) *
                      2.0**source.uniform(-12, 10))
        result.append(source.uniform(-1.3, 1.3))
        result.append(source.uniform(-30, 30))
    return result


def power_arguments(count, seed, wide):
    """Pairs whose power is mostly in range, and integers as exponents."""
    source = random.Random(seed)
    limit = 1020 if wide else 150
    xs, ys = [], []
    for _ in range(count):
        x = source.uniform(1, 2) * 2.0**source.uniform(-4, 4)
        if source.random() < 0.3:
            x = 1 + source.uniform(-1, 1) * 2.0**source.uniform(-20, 0)
        if source.random() < 0.2:
            x = 2.0**source.uniform(-limit, limit) * 0.75
        log = abs(math.log2(x)) or 1.0
        y = source.uniform(-1.05, 1.05) * limit / log
        if source.random() < 0.3:
            y = float(round(min(max(y, -1e9), 1e9)))
            x *= source.choice((-1, 1))
        xs.append(x)
        ys.append(y)
    points = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 2.5, 1e10, 2.0**23 + 1, 2.0**24,
              2.0**53, 1e-30, 1e-40, 1e30, 5e-324 if wide else 1e-45,
              float("inf"), float("nan"), 0.9999999, 1.0000001, 7.0, 1e-5]
    if not wide:
        points = [struct.unpack("<f", struct.pack("<f", p))[0] for p in points]
    points += [-p for p in points]
    for x, y in itertools.product(points, points):
        xs.append(x)
        ys.append(y)
    return xs, ys


def angle_arguments(count, seed):
    source = random.Random(seed)
    xs, ys = power_arguments(0, 0, False)
    for _ in range(count):
        scale = 2.0**source.uniform(-100, 100)
        xs.append(source.uniform(-1, 1) * scale)
        ys.append(source.uniform(-1, 1) * scale * 2.0**source.uniform(-30, 30))
    return xs, ys


def measure(library, reference, name, element, suffix="", samples=None,
            exhaustive=False):
    """The report over the quick or the exhaustive set of arguments."""
    wide = element == "f64"
    real = ctypes.c_double if wide else ctypes.c_float
    kernel = ctypes.cast(getattr(library, f"_mlir_ciface_{name}_{element}{suffix}"),
                         ctypes.c_void_p)
    report = Report()
    listed = getattr(reference, element + "_list")

    def run(arity, index, xs, ys):
        array = real * len(xs)
        listed(kernel, arity, index, ctypes.c_int64(len(xs)), array(*xs),
               array(*ys), ctypes.byref(report))
    if name in BINARY:
        index = BINARY.index(name)
        count = samples or 60000
        if name == "powf":
            xs, ys = power_arguments(count, 1, wide)
        else:
            xs, ys = angle_arguments(count, 2)
        run(2, index, xs, ys)
        return report
    index = UNARY.index(name)
    xs = special(wide)
    run(1, index, xs, xs)
    if wide:
        xs = random_doubles(samples or 12000, 3)
        run(1, index, xs, xs)
    else:
        stride = 1 if exhaustive else 2**32 // (samples or 500000) | 1
        u64 = ctypes.c_uint64
        reference.f32_patterns(kernel, index, u64(0), u64(2**32 - 1),
                               u64(stride), ctypes.byref(report))
    return report


def describe(report):
    text = f"{report.worst:9.3f} ulp at {report.x!r}"
    if report.y:
        text += f", {report.y!r}"
    text += f": {report.got!r} for {report.want!r}"
    if report.wrong:
        text += (f"; {report.wrong} wrong: ({report.wrong_x!r}, "
                 f"{report.wrong_y!r}) gave {report.wrong_got!r} for "
                 f"{report.wrong_want!r}")
    return text


def instructions(directory):
    """Vector instructions of one f32 loop iteration of 16 lanes, by name.

    Counted in the assembly for x86-64-v4 between the label of the loop with
    most instructions and its jump back. The blocks for huge arguments of sin,
    cos and tan are the largest and are left out.
    """
    names = ALL
    text = "".join(kernel_text(n, "f32", 16) for n in names)
    text = f"module {{{text}}}"
    source = pathlib.Path(directory) / "count.mlir"
    source.write_text(text)
    tools = llvm_bin()
    opt = subprocess.run([BUILD / "bin" / "polynest-opt", source] + PIPELINE,
                         check=True, stdout=subprocess.PIPE)
    llvm = subprocess.run([f"{tools}/mlir-translate", "--mlir-to-llvmir"],
                          input=opt.stdout, check=True, stdout=subprocess.PIPE)
    assembly = subprocess.run(
        [f"{tools}/llc", "-O2", "-mcpu=x86-64-v4", "-o", "-"],
        input=llvm.stdout, check=True, stdout=subprocess.PIPE).stdout.decode()
    counts = {}
    for name in names:
        body = assembly.split(f"\n{name}_f32:")[1].split(".Lfunc_end")[0]
        lines = body.splitlines()
        labels = {m.group(1): k for k, line in enumerate(lines)
                  if (m := re.match(r"(\.LBB\w+):", line))}
        best = 0
        for k, line in enumerate(lines):
            jump = re.match(r"\s+j\w+\s+(\.LBB\w+)", line)
            if jump and labels.get(jump.group(1), k) < k:
                loop = lines[labels[jump.group(1)]:k]
                blocks = [0]
                for text in loop:
                    if re.match(r"# %bb|\.LBB", text):
                        blocks.append(0)
                    blocks[-1] += bool(re.match(r"\s+v", text))
                rare = {"sin": 1, "cos": 1, "tan": 2}.get(name, 0)
                blocks.sort()
                best = max(best, sum(blocks[:len(blocks) - rare]))
        counts[name] = best
    return counts


def nanoseconds(library, name, element):
    """Time of one element, in cache, best of some runs."""
    class Memref(ctypes.Structure):
        _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p),
                    ("offset", ctypes.c_int64), ("size", ctypes.c_int64),
                    ("stride", ctypes.c_int64)]
    count = 2048
    real = ctypes.c_double if element == "f64" else ctypes.c_float
    arrays = [(real * count)(*[0.1 + 0.8 * k / count for k in range(count)])
              for _ in range(3)]
    refs = [Memref(ctypes.addressof(a), ctypes.addressof(a), 0, count, 1)
            for a in arrays]
    arguments = [ctypes.byref(r) for r in refs]
    if name not in BINARY:
        arguments.pop()
    function = getattr(library, f"_mlir_ciface_{name}_{element}")
    best = math.inf
    for _ in range(60):
        start = time.perf_counter_ns()
        for _ in range(20):
            function(*arguments)
        best = min(best, time.perf_counter_ns() - start)
    return best / 20 / count


HEADING = """\
| function | f32 bound | f32 measured | f64 bound | f64 measured | instructions \
| ns an element, f32 | f64 |
|---|---|---|---|---|---|---|---|
"""
BEGIN, END = "<!-- begin table -->", "<!-- end table -->"


def documented_lines():
    """Lines of the documentation's table, by function."""
    text = DOCS.read_text().split(BEGIN)[1].split(END)[0]
    return {line.split("|")[1].strip(): line
            for line in text.strip().splitlines()[2:]}


def documented():
    """Rows of the documentation's table: name to its first four numbers."""
    return {name: [float(cell) for cell in line.strip("|").split("|")[1:5]]
            for name, line in documented_lines().items()}


def write_docs(library, reference, names, directory, samples32):
    """Measures functions anew and replaces their rows of the table."""
    counts = instructions(directory)
    lines = documented_lines()
    for name in names:
        if name not in ALL:
            continue
        cells = [name]
        for wide, samples in ((False, samples32), (True, 200000)):
            if name in BINARY:
                samples = 1000000
            element = "f64" if wide else "f32"
            report = measure(library, reference, name, element,
                             samples=samples)
            print(f"{name:10s} {element} {describe(report)}", flush=True)
            # Rounded up, so that the number stays a bound of what was seen.
            worst = math.ceil(report.worst * 100) / 100
            cells += [str(BOUNDS[name][wide]), f"{worst:.2f}"]
        cells.append(str(counts[name]))
        cells += [f"{nanoseconds(library, name, e):.2f}" for e in ("f32", "f64")]
        lines[name] = "| " + " | ".join(cells) + " |"
    head, rest = DOCS.read_text().split(BEGIN)
    body = "\n".join(lines[name] for name in sorted(lines))
    DOCS.write_text(f"{head}{BEGIN}\n{HEADING}{body}\n{END}"
                    f"{rest.split(END)[1]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--exhaustive", action="store_true")
    parser.add_argument("--samples", type=int)
    parser.add_argument("--scalar", action="store_true")
    parser.add_argument("--keep", default=None,
                        help="a directory for the intermediate files")
    parser.add_argument("--write-docs", action="store_true")
    parser.add_argument("--look-up", action="store_true",
                        help="with numbers from a register (AVX2)")
    options = parser.parse_args()
    names = options.names or UNARY + BINARY
    with tempfile.TemporaryDirectory() as directory:
        library, reference, _ = build(
            names, options.keep or directory,
            permutes=PERMUTES if options.look_up else "")
        if options.write_docs:
            write_docs(library, reference, names, directory,
                       options.samples or 50000000)
            return
        for name in names:
            for element in ("f32", "f64"):
                report = measure(library, reference, name, element,
                                 "_scalar" if options.scalar else "",
                                 options.samples, options.exhaustive)
                print(f"{name:10s} {element} {describe(report)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
