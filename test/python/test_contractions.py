# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contractions: nests with traps, random programs, layers of networks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import by_thread_count

import contraction_nests
from polynest.handles import Context, Options
from polynest.program import Program

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "fuzz"))
sys.path.insert(0, str(ROOT / "test" / "benchmark"))

import contraction_fuzz  # noqa: E402
import conv_layers  # noqa: E402

NESTS = {n.name: n for n in contraction_nests.NESTS}


@pytest.mark.parametrize("name", NESTS)
def test_nest(name):
    """Blocked or declined, a nest changes its buffers as its loops say."""
    nest = NESTS[name]
    generator = np.random.default_rng(len(name))
    before = [
        generator.integers(-(2**31), 2**31, shape).astype(np.int32)
        for shape in nest.arguments.values()
    ]
    expected = [a.copy() for a in before]
    with np.errstate(over="ignore"):
        nest.python(*expected)
    text = contraction_nests.program(nest)
    with Context() as context:
        for target in contraction_fuzz.runnable_targets():
            levels = ("default", "plain") if target == "host" else ("default",)
            for level in levels:
                program = Program(
                    contraction_fuzz.compile_for(
                        context, text, target, Options(opt_level=level)
                    )
                )
                got = [a.copy() for a in before]
                program(*got)
                for n, g, e in zip(nest.arguments, got, expected):
                    np.testing.assert_array_equal(
                        g, e, err_msg=f"{n} on {target}, opt level {level}"
                    )


@pytest.mark.parametrize("family, count", [
    ("matmul", 40), ("einsum", 25), ("conv", 30), ("hooks", 30),
])
def test_random(family, count, tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "test" / "fuzz" / "contraction_fuzz.py",
         "--families", family, "--count", str(count), "--keep", tmp_path,
         "--shrink-budget", "20"],
        capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count} cases, 0 failures" in done.stdout


def test_reductions():
    """Sums over the first axis, products of few rows, and their like."""
    done = subprocess.run(
        [sys.executable, ROOT / "test" / "fuzz" / "reduction_fuzz.py",
         "--count", "120"],
        capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "120 cases, 0 failures" in done.stdout
    # Most of what is left is too small.
    words = done.stdout.split()
    assert int(words[-4]) > 20 and int(words[-2]) > 5, done.stdout


def kept_specs():
    path = Path(__file__).resolve().parent / "contraction_specs.json"
    return json.loads(path.read_text())


@pytest.mark.parametrize("item", kept_specs(), ids=lambda i: i["id"])
def test_kept(item):
    """Cases that failed once, and some that random ones seldom are."""
    with Context() as context:
        for target in contraction_fuzz.runnable_targets():
            contraction_fuzz.check_case(item["spec"], context, target)


@pytest.mark.parametrize("m, n, k", [(33, 47, 500), (1, 65, 257), (5, 3, 2000)])
def test_half_sums(m, n, k):
    """Sums in f16 are rounded once: they lose no terms and do not overflow on
    the way, except with strict numerics."""
    text = f"""
func.func @f(%a: tensor<{m}x{k}xf16>, %b: tensor<{k}x{n}xf16>)
    -> tensor<{m}x{n}xf16> {{
  %z = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<{m}x{n}xf16>
  %i = linalg.fill ins(%z : f16) outs(%e : tensor<{m}x{n}xf16>)
    -> tensor<{m}x{n}xf16>
  %r = linalg.matmul ins(%a, %b : tensor<{m}x{k}xf16>, tensor<{k}x{n}xf16>)
    outs(%i : tensor<{m}x{n}xf16>) -> tensor<{m}x{n}xf16>
  return %r : tensor<{m}x{n}xf16>
}}
"""
    generator = np.random.default_rng(k)
    a = (generator.standard_normal((m, k)) * 40).astype(np.float16)
    b = (generator.standard_normal((k, n)) * 40).astype(np.float16)
    # 110 * 110 * k / 2 is far past what f16 holds; half of it is taken back.
    a[0], b[:, 0] = 110, 110
    b[k // 2:, 0] = -110
    expected = a.astype(np.float64) @ b.astype(np.float64)
    magnitude = abs(a.astype(np.float64)) @ abs(b.astype(np.float64))
    bound = abs(expected) * 2.0**-11 + 2**-24 + (
        2 * 2.0**-23 * np.sqrt(k + 1) * magnitude)
    with Context() as context:
        for target in contraction_fuzz.runnable_targets():
            program = Program(
                contraction_fuzz.compile_for(context, text, target, Options())
            )
            got = program(a, b)
            assert got.dtype == np.float16
            fits = abs(expected) < 65000
            assert (abs(got - expected) <= bound)[fits].all(), target


WIDE = {"s8": ("i8", "arith.extsi"), "u8": ("i8", "arith.extui"),
        "s16": ("i16", "arith.extsi"), "u16": ("i16", "arith.extui")}
NARROW = {"s8": np.int8, "u8": np.uint8, "s16": np.int16, "u16": np.uint16}


def narrow_program(left, right, m, n, k, turned, subtracts=False, shift=0):
    """Numbers of k columns, less `shift`, times numbers of k rows."""
    (a, extend_a), (b, extend_b) = WIDE[left], WIDE[right]
    second = "(i, j, k) -> (j, k)" if turned else "(i, j, k) -> (k, j)"
    shape_b = f"tensor<{n}x{k}x{b}>" if turned else f"tensor<{k}x{n}x{b}>"
    combine = "subi" if subtracts else "addi"
    dims = "%m" if m == "?" else ""
    return f"""
func.func @f(%a: tensor<{m}x{k}x{a}>, %b: {shape_b}) -> tensor<{m}x{n}xi32> {{
  %z = arith.constant 0 : i32
  %off = arith.constant {shift} : i32
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : tensor<{m}x{k}x{a}>
  %e = tensor.empty({dims}) : tensor<{m}x{n}xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<{m}x{n}xi32>)
    -> tensor<{m}x{n}xi32>
  %r = linalg.generic {{
      indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<{second}>,
                       affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : tensor<{m}x{k}x{a}>, {shape_b})
      outs(%i : tensor<{m}x{n}xi32>) {{
    ^bb0(%x: {a}, %y: {b}, %s: i32):
      %x0 = {extend_a} %x : {a} to i32
      %x1 = arith.subi %x0, %off : i32
      %y1 = {extend_b} %y : {b} to i32
      %p = arith.muli %x1, %y1 : i32
      %t = arith.{combine} %s, %p : i32
      linalg.yield %t : i32
  }} -> tensor<{m}x{n}xi32>
  return %r : tensor<{m}x{n}xi32>
}}
"""


def narrow_values(generator, kind, shape):
    """All numbers, the extreme ones often."""
    info = np.iinfo(NARROW[kind])
    values = generator.integers(info.min, info.max, shape, endpoint=True)
    pick = generator.integers(0, 4, shape)
    values[pick == 0] = info.min
    values[pick == 1] = info.max
    return values.astype(NARROW[kind])


@pytest.mark.parametrize("left, right", [
    ("s8", "s8"), ("u8", "s8"), ("s8", "u8"), ("u8", "u8"), ("s16", "s16"),
    ("s8", "s16"), ("u16", "s16"), ("u16", "u16"), ("s16", "u8")])
def test_narrow_numbers(left, right):
    """Products of narrow numbers are exact, modulo 2^32, whatever their signs,
    for every length of the reduction, by rows and columns of any kind."""
    generator = np.random.default_rng(len(left) + 7 * len(right))
    cases = [(33, 40, 64, False, False, 0), (31, 49, 257, True, False, 0),
             ("?", 24, 131, False, False, 0), (64, 64, 9, True, True, 0),
             (40, 33, 66, False, True, 0), (30, 70, 1023, False, False, 3)]
    with Context() as context:
        for target in contraction_fuzz.runnable_targets():
            for m, n, k, turned, subtracts, shift in cases:
                text = narrow_program(left, right, m, n, k, turned, subtracts,
                                      shift)
                program = Program(
                    contraction_fuzz.compile_for(context, text, target, Options())
                )
                for rows in (1, 50) if m == "?" else (m,):
                    x = narrow_values(generator, left, (rows, k))
                    y = narrow_values(generator, right, (k, n))
                    # Sums of the largest products.
                    x[-1] = np.iinfo(x.dtype).min
                    y[:, -1] = np.iinfo(y.dtype).min
                    x0 = x.astype(np.int64) - shift
                    exact = x0 @ y.astype(np.int64)
                    exact = (-exact if subtracts else exact).astype(np.int32)
                    given = np.ascontiguousarray(y.T) if turned else y
                    signed = [v.view(f"i{v.itemsize}") for v in (x, given)]
                    np.testing.assert_array_equal(
                        program(*signed), exact, err_msg=f"{target} {m}x{n}x{k}"
                    )


def test_narrow_nans():
    """Words of bf16 that are not filled up meet zeros alone: NaN and infinity
    come out where the plain sums have them, and nowhere else."""
    torch = pytest.importorskip("torch")
    k = 77
    text = f"""
func.func @f(%a: tensor<33x{k}xbf16>, %b: tensor<{k}x40xbf16>)
    -> tensor<33x40xf32> {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<33x40xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<33x40xf32>)
    -> tensor<33x40xf32>
  %r = linalg.matmul ins(%a, %b : tensor<33x{k}xbf16>, tensor<{k}x40xbf16>)
    outs(%i : tensor<33x40xf32>) -> tensor<33x40xf32>
  return %r : tensor<33x40xf32>
}}
"""
    generator = np.random.default_rng(5)
    x = generator.integers(-4, 5, (33, k)).astype(np.float32)
    y = generator.integers(-4, 5, (k, 40)).astype(np.float32)
    x[4, k - 1], x[5, 0], x[32, 3] = np.nan, np.inf, -np.inf
    y[k - 1, 7], y[0, 39] = np.inf, np.nan
    narrow = [torch.from_numpy(v).bfloat16() for v in (x, y)]
    with np.errstate(invalid="ignore"):
        exact = x.astype(np.float64) @ y.astype(np.float64)
    with Context() as context:
        for target in contraction_fuzz.runnable_targets():
            program = Program(
                contraction_fuzz.compile_for(context, text, target, Options())
            )
            got = np.asarray(program(*narrow))
            np.testing.assert_array_equal(got, exact.astype(np.float32), target)


TILED = [name for name in ("sapphirerapids@host", "sapphirerapids-small@host")
         if name in contraction_fuzz.runnable_targets()]


def tile_program(left, right, sizes, known, turned):
    """Rows times columns, either turned, with sizes that are known or not."""
    wide = "f32" if left == "bf16" else "i32"
    kinds = {"bf16": ("bf16", "arith.extf"), **WIDE}
    (a, extend_a), (b, extend_b) = kinds[left], kinds[right]
    size = {d: str(sizes[d]) if d in known else "?" for d in "mnk"}
    first, second = ("km" if turned[0] else "mk"), ("nk" if turned[1] else "kn")
    shapes = [f"tensor<{size[d[0]]}x{size[d[1]]}x{t}>"
              for d, t in ((first, a), (second, b))]
    out = f"tensor<{size['m']}x{size['n']}x{wide}>"
    dims = ", ".join(f"%{d}" for d in "mn" if d not in known)
    product, plus = ("mulf", "addf") if wide == "f32" else ("muli", "addi")
    return f"""
func.func @f(%a: {shapes[0]}, %b: {shapes[1]}) -> {out} {{
  %z = arith.constant {"0.0" if wide == "f32" else "0"} : {wide}
  %cm = arith.constant {first.index("m")} : index
  %cn = arith.constant {second.index("n")} : index
  %m = tensor.dim %a, %cm : {shapes[0]}
  %n = tensor.dim %b, %cn : {shapes[1]}
  %e = tensor.empty({dims}) : {out}
  %i = linalg.fill ins(%z : {wide}) outs(%e : {out}) -> {out}
  %r = linalg.generic {{
      indexing_maps = [affine_map<(m, n, k) -> ({first[0]}, {first[1]})>,
                       affine_map<(m, n, k) -> ({second[0]}, {second[1]})>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : {shapes[0]}, {shapes[1]}) outs(%i : {out}) {{
    ^bb0(%x: {a}, %y: {b}, %s: {wide}):
      %x1 = {extend_a} %x : {a} to {wide}
      %y1 = {extend_b} %y : {b} to {wide}
      %p = arith.{product} %x1, %y1 : {wide}
      %t = arith.{plus} %s, %p : {wide}
      linalg.yield %t : {wide}
  }} -> {out}
  return %r : {out}
}}
"""


def tile_values(generator, kind, shape):
    """Numbers whose sums are exact; of bf16 also NaN and infinity."""
    if kind != "bf16":
        return narrow_values(generator, kind, shape)
    values = generator.integers(-4, 5, shape).astype(np.float32)
    for value in (np.nan, np.inf, -np.inf):
        values[tuple(generator.integers(0, n) for n in shape)] = value
    return values


def check_tiles(left, right, sizes, known, turned, generator, context):
    torch = pytest.importorskip("torch") if left == "bf16" else None
    x = tile_values(generator, left, (sizes["m"], sizes["k"]))
    y = tile_values(generator, right, (sizes["k"], sizes["n"]))
    with np.errstate(invalid="ignore"):
        wide = np.float64 if torch else np.int64
        exact = x.astype(wide) @ y.astype(wide)
    exact = exact.astype(np.float32 if torch else np.int32)
    given = [np.ascontiguousarray(v.T if t else v)
             for v, t in zip((x, y), turned)]
    given = [torch.from_numpy(v).bfloat16() if torch else v.view(np.int8)
             for v in given]
    text = tile_program(left, right, sizes, known, turned)
    for target in TILED:
        program = Program(
            contraction_fuzz.compile_for(context, text, target, Options())
        )
        np.testing.assert_array_equal(
            np.asarray(program(*given)), exact,
            err_msg=f"{target} {left} {right} {sizes} {known} {turned}",
        )


@pytest.mark.parametrize("left, right", [
    ("s8", "s8"), ("u8", "s8"), ("s8", "u8"), ("u8", "u8"), ("bf16", "bf16")])
def test_tiles(left, right):
    """Products by tiles, in plain form, are exact for sizes that fill tiles and
    that do not, known or not, with either operand turned; NaN and infinity
    stay in their rows and columns."""
    generator = np.random.default_rng(len(left) + 3 * len(right))
    lengths = [7, 8, 15, 16, 17, 31, 33, 63, 65, 127, 257]
    with Context() as context:
        done = 0
        while done < 8:
            sizes = {d: int(generator.choice(lengths)) for d in "mnk"}
            if sizes["m"] * sizes["n"] * sizes["k"] < 32768:
                continue
            known = ["mnk", "nk", "mk", "mn", "k", ""][done % 6]
            turned = (bool(done & 1), bool(done & 2))
            check_tiles(left, right, sizes, known, turned, generator, context)
            done += 1


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("known", ["kn", "n", ""])
def test_unknown_rows(turned, known):
    """Products with any number of rows, few or many, by a matrix past L2: the
    condition on the rows chooses between two forms."""
    sizes = {"k": 1027, "n": 1029}
    k, n = (str(sizes[d]) if d in known else "?" for d in "kn")
    a, c = f"tensor<?x{k}xf32>", f"tensor<?x{n}xf32>"
    b = f"tensor<{n}x{k}xf32>" if turned else f"tensor<{k}x{n}xf32>"
    second = "(i, j, k) -> (j, k)" if turned else "(i, j, k) -> (k, j)"
    dims = "%m" if "n" in known else "%m, %n"
    text = f"""
func.func @f(%a: {a}, %b: {b}) -> {c} {{
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a, %c0 : {a}
  %n = tensor.dim %b, %c{0 if turned else 1} : {b}
  %e = tensor.empty({dims}) : {c}
  %i = linalg.fill ins(%z : f32) outs(%e : {c}) -> {c}
  %r = linalg.generic {{
      indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<{second}>,
                       affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : {a}, {b}) outs(%i : {c}) {{
    ^bb0(%x: f32, %y: f32, %s: f32):
      %p = arith.mulf %x, %y : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
  }} -> {c}
  return %r : {c}
}}
"""
    generator = np.random.default_rng(4)
    y = generator.standard_normal((sizes["k"], sizes["n"]), np.float32)
    given = np.ascontiguousarray(y.T) if turned else y
    with Context() as context:
        for target in contraction_fuzz.runnable_targets():
            program = Program(
                contraction_fuzz.compile_for(context, text, target, Options())
            )
            for m in (0, 1, 3, 4, 9, 16, 17, 40):
                x = generator.standard_normal((m, sizes["k"]), np.float32)
                got = program(x, given)
                exact = x.astype(np.float64) @ y
                bound = 1e-5 * (abs(x).astype(np.float64) @ abs(y))
                assert got.shape == exact.shape
                assert (abs(got - exact) <= bound).all(), (target, m)


def one_result(text, target, inputs, counts):
    """What the program gives, to the bit, with each of these numbers of threads."""
    with Context() as context:
        program = Program(
            contraction_fuzz.compile_for(context, text, target, Options())
        )
        results = by_thread_count(counts, lambda: program(*inputs))
    first = results[0]
    for other in results[1:]:
        assert first.tobytes() == other.tobytes(), target
    return first


def test_parts_of_a_reduction():
    """Parts do not depend on the number of threads, and leave nothing out; a sum
    of zeros keeps its sign."""
    generator = np.random.default_rng(5)
    for m, n, k in ((64, 64, 8192), (33, 40, 8191), (16, 70, 5003)):
        text = f"""
func.func @f(%a: tensor<{m}x{k}xf32>, %b: tensor<{k}x{n}xf32>,
             %c: tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32> {{
  %r = linalg.matmul ins(%a, %b : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>)
      outs(%c : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  return %r : tensor<{m}x{n}xf32>
}}
"""
        x = generator.standard_normal((m, k), np.float32)
        y = generator.standard_normal((k, n), np.float32)
        z = generator.standard_normal((m, n), np.float32)
        x[3] = -0.0
        z[3] = -0.0
        y[:, :] = np.where(np.arange(n) == 7, abs(y), y)
        y[k - 1, 5] = np.inf
        x[:, k - 1] = abs(x[:, k - 1])
        x[3, k - 1] = -0.0
        keep = np.arange(n) != 5
        finite = np.where(np.isinf(y), 0, y).astype(np.float64)
        exact = z + x.astype(np.float64) @ finite
        bound = 1e-5 * (abs(x) @ abs(finite) + 1)
        for target in contraction_fuzz.runnable_targets():
            first = one_result(text, target, (x, y, z), (1, 2, 3))
            assert first[3, 7] == 0 and np.signbit(first[3, 7]), target
            assert np.isnan(first[3, 5]) and np.isinf(first[4, 5]), target
            assert (abs(first - exact) <= bound)[:, keep].all(), target


@pytest.mark.parametrize(
    "m, n, k",
    [(70, 500, 300), (65, 1003, 131), (33, 4001, 40), (50, 50, 12501)],
)
@pytest.mark.parametrize("turned", [False, True])
def test_packs_by_columns(m, n, k, turned):
    """Columns that outgrow all caches, which are packed block by block of them for
    all rows, with what follows the sums; of a long reduction, in parts."""
    generator = np.random.default_rng(m)
    lies = f"{n}x{k}" if turned else f"{k}x{n}"
    place = "(i, j, k) -> (j, k)" if turned else "(i, j, k) -> (k, j)"
    text = f"""
func.func @f(%a: tensor<{m}x{k}xf32>, %b: tensor<{lies}xf32>,
             %c: tensor<{n}xf32>) -> tensor<{m}x{n}xf32> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{m}x{n}xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<{m}x{n}xf32>)
      -> tensor<{m}x{n}xf32>
  %p = linalg.generic {{
      indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<{place}>,
                       affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : tensor<{m}x{k}xf32>, tensor<{lies}xf32>)
      outs(%i : tensor<{m}x{n}xf32>) {{
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.mulf %x, %y : f32
    %t = arith.addf %z, %s : f32
    linalg.yield %t : f32
  }} -> tensor<{m}x{n}xf32>
  %r = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                       affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%p, %c : tensor<{m}x{n}xf32>, tensor<{n}xf32>)
      outs(%e : tensor<{m}x{n}xf32>) {{
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    %t = arith.maximumf %s, %zero : f32
    linalg.yield %t : f32
  }} -> tensor<{m}x{n}xf32>
  return %r : tensor<{m}x{n}xf32>
}}
"""
    x = generator.standard_normal((m, k), np.float32)
    y = generator.standard_normal((n, k) if turned else (k, n), np.float32)
    z = generator.standard_normal(n, np.float32)
    columns = y.T if turned else y
    x[2, k - 1] = np.nan
    columns[0, n - 1] = np.inf
    x[:, 0] = abs(x[:, 0])
    finite = np.where(np.isinf(columns), 0, columns).astype(np.float64)
    known = np.nan_to_num(x).astype(np.float64)
    exact = np.maximum(known @ finite + z, 0)
    bound = 1e-5 * (abs(known) @ abs(finite) + 1)
    for target in contraction_fuzz.runnable_targets():
        first = one_result(text, target, (x, y, z), (1, 3))
        assert np.isnan(first[2]).all(), target
        rows = np.arange(m) != 2
        assert np.isinf(first[rows, n - 1]).all(), target
        off = abs(first - exact) <= bound
        assert off[rows, : n - 1].all(), target


@pytest.mark.parametrize("m, k", [(1001, 33), (523, 100), (3, 64), ("?", 17)])
def test_short_reduction(m, k):
    """Blocks along the rows of a large result, with code behind the sums."""
    generator = np.random.default_rng(k)
    text = f"""
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
func.func @f(%a: tensor<{m}x{k}xf32>, %b: tensor<{k}x1801xf32>,
             %v: tensor<1801xf32>, %c: tensor<{m}x1801xf32>)
    -> tensor<{m}x1801xf32> {{
  %r = linalg.matmul ins(%a, %b : tensor<{m}x{k}xf32>, tensor<{k}x1801xf32>)
      outs(%c : tensor<{m}x1801xf32>) -> tensor<{m}x1801xf32>
  %s = linalg.generic {{indexing_maps = [#row, #id],
                       iterator_types = ["parallel", "parallel"]}}
      ins(%v : tensor<1801xf32>) outs(%r : tensor<{m}x1801xf32>) {{
    ^bb0(%x: f32, %y: f32):
      %t = arith.addf %x, %y : f32
      linalg.yield %t : f32
  }} -> tensor<{m}x1801xf32>
  return %s : tensor<{m}x1801xf32>
}}
"""
    for rows in (0, 1, 5, 402) if m == "?" else (m,):
        x = generator.standard_normal((rows, k), np.float32)
        y = generator.standard_normal((k, 1801), np.float32)
        v = generator.standard_normal(1801, np.float32)
        z = generator.standard_normal((rows, 1801), np.float32)
        exact = z + v + x.astype(np.float64) @ y
        bound = 1e-5 * (abs(x) @ abs(y) + abs(v) + abs(z))
        for target in contraction_fuzz.runnable_targets():
            with Context() as context:
                program = Program(
                    contraction_fuzz.compile_for(context, text, target, Options())
                )
                assert (abs(program(x, y, v, z) - exact) <= bound).all(), target


def test_network_layers():
    """The tables of layers have the published numbers of multiply-adds, in
    millions, classifiers left out."""
    millions = {
        name: round(sum(layer.flops for layer in layers()) / 2e6)
        for name, layers in conv_layers.NETWORKS.items()
    }
    assert millions == {
        "ResNet-50": 4087, "MobileNetV2": 299, "ConvNeXt-T": 4455,
        "RegNetY-400MF": 401,
    }
