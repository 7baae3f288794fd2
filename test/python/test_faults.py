# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs that broke other compilers, by the number of their fault.

Those that a `.mlir` file shows best are in test/regression.
"""

from __future__ import annotations

import sys

import math
import re

import numpy as np
import pytest

import polynest
from polynest import errors

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

import torch.nn.functional as F  # noqa: E402

from conftest import compiled  # noqa: E402

from polynest import torch_backend  # noqa: E402


@pytest.fixture(autouse=True)
def fresh(fresh_torch):
    torch.manual_seed(11)


def bits(tensor):
    """For comparisons that tell zeros and NaNs apart."""
    return tensor.contiguous().view(
        {2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.itemsize]
    )


def test_b001_bytes_wrap_before_they_widen():
    def f(x):
        return (x + x).to(torch.int16)

    x = torch.tensor([200, 3], dtype=torch.uint8)
    assert compiled(f)(x).tolist() == [144, 6]


def test_b003_assignment_before_an_update_of_its_source():
    def f(dst, src):
        dst[0:] = src[0:]
        src += 1
        return src

    dst, src = torch.zeros(5), torch.arange(5.0)
    out = compiled(f)(dst, src)
    assert dst.tolist() == [0, 1, 2, 3, 4]
    assert src.tolist() == out.tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_b009_copysign_of_a_negative_zero(dtype):
    def f(x):
        return torch.copysign(x, -0.0)

    x = torch.tensor([1.5, -2.0, 0.0, -0.0, 7.0] * 7, dtype=dtype)
    assert torch.equal(bits(compiled(f)(x)), bits(-x.abs()))


def test_b021_rounding_through_half_precision():
    def f(x):
        y = x.t().to(torch.float16).to(torch.float32)
        return y, y.sum(1)

    x = torch.full((5, 4), 0.3)
    x[1] = 1 / 3
    x[2, 3] = 70000.0
    x = x.t().contiguous()
    y, total = compiled(f)(x)
    want = f(x)[0]
    assert torch.equal(y, want) and y[0, 0] == 0.300048828125
    assert y[1, 0] == 0.333251953125 and y[2, 3] == float("inf")
    finite = total.isfinite()
    assert torch.allclose(total[finite], want.sum(1)[finite], rtol=1e-6)
    assert torch.equal(finite, want.sum(1).isfinite())


def test_b023_comparison_with_its_own_rounded_maximum():
    def f(x, row):
        y = x / 8.0**0.5
        m = torch.maximum(y.amax(1), row)
        return (y == m[:, None]).sum(1)

    x = torch.randn(16, 65).to(torch.bfloat16)
    row = torch.full((16,), -100.0, dtype=torch.bfloat16)
    assert bool((compiled(f)(x, row) >= 1).all())


def test_b025_complex_numbers_stay_with_eager():
    def f(x, w):
        z = torch.view_as_complex(x)
        return torch.view_as_real(z * z.conj()).sum(-1) @ w

    x, w = torch.randn(4, 6, 2), torch.randn(6, 3)
    assert torch.allclose(compiled(f)(x, w), f(x, w), atol=1e-5)
    assert any("complex" in str(x) for x in torch_backend.explain_fallbacks())


def test_b027_indices_out_of_range_are_errors():
    def embed(table, i):
        return F.embedding(i, table)

    table = torch.randn(5, 3)
    f = compiled(embed)
    assert torch.equal(f(table, torch.tensor([4, 0])), table[[4, 0]])
    for bad in (5, -1):
        with pytest.raises(IndexError):
            f(table, torch.tensor([0, bad]))

    def pick(x, i):
        return torch.gather(x, 1, i)

    g = compiled(pick)
    for bad in (3, -1):
        with pytest.raises((IndexError, RuntimeError)):
            g(torch.randn(2, 3), torch.tensor([[0], [bad]]))

    def loss(x, target):
        return F.nll_loss(x, target)

    h = compiled(loss)
    with pytest.raises((IndexError, RuntimeError)):
        h(torch.randn(2, 3), torch.tensor([0, -1]))


def test_b031_gradient_of_the_last_window():
    def f(x):
        return F.avg_pool1d(
            x, 3, stride=3, ceil_mode=True, count_include_pad=True
        )

    x = torch.randn(1, 1, 5, requires_grad=True)
    y = compiled(f)(x)
    assert torch.allclose(y, f(x), atol=1e-6)
    y.sum().backward()
    third = 1 / 3
    want = torch.tensor([third, third, third, 0.5, 0.5])
    assert torch.allclose(x.grad.flatten(), want)


def test_b037_resize_after_an_update():
    def f(x):
        x += 1
        x.resize_(100)
        return x

    x = torch.arange(4.0)
    try:
        out = compiled(f)(x)
    except Exception as error:  # an error is as good as a fallback
        assert "resize" in str(error).lower()
        return
    assert out.shape == (100,) and out[:4].tolist() == [1, 2, 3, 4]


def test_b045_one_openmp_runtime():
    def f(x):
        return torch.tanh(x) + 1.0

    x = torch.randn(512, 1024)
    before = torch.get_num_threads()
    assert torch.allclose(compiled(f)(x), f(x), atol=1e-6)
    torch.mm(x, x.t())
    with open("/proc/self/maps") as maps:
        names = {line.split("/")[-1].strip() for line in maps if "/" in line}
    runtimes = {n for n in names if n.startswith(("libgomp", "libomp", "libiomp"))}
    assert len(runtimes) == 1, runtimes
    assert torch.get_num_threads() == before


def test_b051_product_of_two_element_types():
    def f(a, b):
        return torch.mm(a, b)

    a = torch.randn(4, 8)
    b = torch.randn(8, 16, dtype=torch.bfloat16)
    with pytest.raises(Exception) as caught:
        f(a, b)
    with pytest.raises(Exception) as ours:
        compiled(f)(a, b)
    assert "dtype" in str(caught.value)
    assert "BFloat16" in str(ours.value) or "dtype" in str(ours.value)


def test_b055_gradient_of_squared_running_sums():
    def f(x):
        return (torch.cumsum(x, 0) ** 2).sum()

    x = torch.randn(7, 5, dtype=torch.float64)
    ours = x.clone().requires_grad_()
    compiled(f)(ours).backward()
    plain = x.clone().requires_grad_()
    lower = torch.ones(7, 7, dtype=torch.float64).tril()
    ((lower @ plain) ** 2).sum().backward()
    assert torch.allclose(ours.grad, plain.grad, rtol=1e-10)


def test_b059_a_row_that_is_masked_everywhere():
    q, k, v = (torch.randn(1, 1, 4, 2) for _ in range(3))
    mask = torch.ones(1, 1, 4, 4, dtype=torch.bool)
    mask[0, 0, 2] = False

    def whole(q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def plain(q, k, v, mask):
        scores = q @ k.transpose(-1, -2) / 2.0**0.5
        scores = scores.masked_fill(~mask, float("-inf"))
        return torch.softmax(scores, -1) @ v

    for f in (whole, plain):
        have, want = compiled(f)(q, k, v, mask), f(q, k, v, mask)
        assert torch.equal(have.isnan(), want.isnan())
        rows = [0, 1, 3]
        assert torch.allclose(have[0, 0, rows], want[0, 0, rows], atol=1e-6)
    assert whole(q, k, v, mask)[0, 0, 2].tolist() == [0, 0]


def test_b113_the_middle_value_is_returned():
    def f(x, w, b):
        mean = x.mean(-1, keepdim=True)
        centred = x - mean
        variance = (centred * centred).mean(-1, keepdim=True)
        normal = centred * torch.rsqrt(variance + 1e-5)
        return normal * w + b, normal, variance

    x, w, b = torch.randn(9, 33), torch.randn(33), torch.randn(33)
    for have, want in zip(compiled(f)(x, w, b), f(x, w, b)):
        assert torch.allclose(have, want, atol=1e-5)


# -- programs ----------------------------------------------------------------------

EXTRACT = """
func.func @f(%t: tensor<37x35xf32>, %i: tensor<37xindex>) -> tensor<37x35xf32> {
  %e = tensor.empty() : tensor<37x35xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a)>,
      affine_map<(a, b) -> (a, b)>], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<37xindex>) outs(%e : tensor<37x35xf32>) {
  ^bb0(%row: index, %o: f32):
    %b = linalg.index 1 : index
    %v = tensor.extract %t[%row, %b] : tensor<37x35xf32>
    linalg.yield %v : f32
  } -> tensor<37x35xf32>
  return %r : tensor<37x35xf32>
}
"""


def test_b061_contiguous_extract_of_no_whole_vectors():
    rng = np.random.default_rng(3)
    t = rng.standard_normal((37, 35)).astype(np.float32)
    i = rng.permutation(37)
    np.testing.assert_array_equal(polynest.compile(EXTRACT)(t, i), t[i])


DIVIDE = """
func.func @f(%x: tensor<?x{0}>, %y: tensor<?x{0}>) -> tensor<?x{0}> {{
  %r = arith.divsi %x, %y : tensor<?x{0}>
  return %r : tensor<?x{0}>
}}
"""


@pytest.mark.parametrize("name", ["int32", "int64"])
def test_b095_division_by_zero_is_zero(name):
    low, high = np.iinfo(name).min, np.iinfo(name).max
    x = np.array([0, 1, -1, high, low] * 5, name)
    divide = polynest.compile(DIVIDE.format(f"i{name[3:]}"))
    assert not divide(x, np.zeros_like(x)).any()
    # The one quotient that does not fit wraps.
    np.testing.assert_array_equal(divide(x, np.full_like(x, -1)), -x)


STORES = """
func.func @part(%a: memref<12xf32>) {
  %c = arith.constant 7.0 : f32
  affine.for %i = 0 to 9 {
    affine.store %c, %a[%i] : memref<12xf32>
  }
  return
}
func.func @even(%a: memref<20xf32>) {
  %c = arith.constant 1.0 : f32
  affine.for %i = 0 to 16 step 2 {
    affine.store %c, %a[%i] : memref<20xf32>
  }
  return
}
func.func @sum(%x: memref<9xf32>, %a: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.store %zero, %a[0] : memref<1xf32>
  affine.for %i = 0 to 9 {
    %v = affine.load %x[%i] : memref<9xf32>
    %more = arith.cmpf ogt, %v, %zero : f32
    scf.if %more {
      %s = affine.load %a[0] : memref<1xf32>
      %t = arith.addf %s, %v : f32
      affine.store %t, %a[0] : memref<1xf32>
    }
  }
  %r = affine.load %a[0] : memref<1xf32>
  affine.store %r, %a[0] : memref<1xf32>
  return
}
"""


def test_b065_stores_end_where_the_loop_does():
    a = np.full(12, 5, np.float32)
    polynest.compile(STORES, entry="part")(a)
    assert a.tolist() == [7] * 9 + [5] * 3


def test_b066_stores_of_a_loop_with_a_step():
    a = np.zeros(20, np.float32)
    polynest.compile(STORES, entry="even")(a)
    assert a.tolist() == [1, 0] * 8 + [0] * 4


def test_b083_sum_under_a_condition_that_depends_on_data():
    x = np.array([1, -2, 3, -4, 5, -6, 7, 0, 9], np.float32)
    a = np.full(1, 99, np.float32)
    polynest.compile(STORES, entry="sum")(x, a)
    assert a.tolist() == [25]


def test_b117_levels_differ_and_unknown_ones_are_refused():
    stages = {
        level: polynest.lower(DIVIDE.format("i64"), "s3", opt_level=level)
        for level in ("plain", "default")
    }
    assert stages["plain"] != stages["default"]
    assert "vector" in stages["default"] and "vector" not in stages["plain"]
    with pytest.raises(errors.ArgumentError, match="opt_level|plain"):
        polynest.compile(EXTRACT, opt_level="3")


TOTAL = """
func.func @f(%x: tensor<?xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(a) -> (a)>,
      affine_map<(a) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<?xf32>) outs(%i : tensor<f32>) {
  ^bb0(%v: f32, %s: f32):
    %t = arith.addf %s, %v : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}
"""


def test_b099_sum_of_a_million_tenths():
    x = np.full(1_000_000, 0.1, np.float32)
    assert abs(float(polynest.compile(TOTAL)(x)) - 100000) <= 0.1


# Threefry-2x32 with 20 rounds: one scf.while a group of four.
THREEFRY = """
func.func @f(%k0: tensor<2x8xi32>, %k1: tensor<2x8xi32>, %c0: tensor<2x8xi32>,
             %c1: tensor<2x8xi32>, %rotations: tensor<8xi32>)
    -> (tensor<2x8xi32>, tensor<2x8xi32>) {
  %e = tensor.empty() : tensor<2x8xi32>
  %r:2 = linalg.generic {indexing_maps = [
      affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>,
      affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>,
      affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%k0, %k1, %c0, %c1 : tensor<2x8xi32>, tensor<2x8xi32>,
          tensor<2x8xi32>, tensor<2x8xi32>)
      outs(%e, %e : tensor<2x8xi32>, tensor<2x8xi32>) {
  ^bb0(%a: i32, %b: i32, %x: i32, %y: i32, %o0: i32, %o1: i32):
    %parity = arith.constant 466688986 : i32
    %t = arith.xori %a, %b : i32
    %k2 = arith.xori %t, %parity : i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %five = arith.constant 5 : i32
    %width = arith.constant 32 : i32
    %x0 = arith.addi %x, %a : i32
    %y0 = arith.addi %y, %b : i32
    %g:6 = scf.while (%i = %zero, %p = %x0, %q = %y0, %s0 = %b, %s1 = %k2, %s2 = %a)
        : (i32, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32, i32, i32) {
      %more = arith.cmpi slt, %i, %five : i32
      scf.condition(%more) %i, %p, %q, %s0, %s1, %s2 : i32, i32, i32, i32, i32, i32
    } do {
    ^bb0(%i: i32, %p: i32, %q: i32, %s0: i32, %s1: i32, %s2: i32):
      %odd = arith.andi %i, %one : i32
      %base = arith.muli %odd, %four : i32
      %h:3 = scf.while (%j = %zero, %u = %p, %v = %q) : (i32, i32, i32) -> (i32, i32, i32) {
        %again = arith.cmpi slt, %j, %four : i32
        scf.condition(%again) %j, %u, %v : i32, i32, i32
      } do {
      ^bb0(%j: i32, %u: i32, %v: i32):
        %sum = arith.addi %u, %v : i32
        %at = arith.addi %base, %j : i32
        %place = arith.index_cast %at : i32 to index
        %n = tensor.extract %rotations[%place] : tensor<8xi32>
        %m = arith.subi %width, %n : i32
        %left = arith.shli %v, %n : i32
        %right = arith.shrui %v, %m : i32
        %turned = arith.ori %left, %right : i32
        %mixed = arith.xori %turned, %sum : i32
        %next = arith.addi %j, %one : i32
        scf.yield %next, %sum, %mixed : i32, i32, i32
      }
      %pk = arith.addi %h#1, %s0 : i32
      %qk = arith.addi %h#2, %s1 : i32
      %step = arith.addi %i, %one : i32
      %qi = arith.addi %qk, %step : i32
      scf.yield %step, %pk, %qi, %s1, %s2, %s0 : i32, i32, i32, i32, i32, i32
    }
    linalg.yield %g#1, %g#2 : i32, i32
  } -> (tensor<2x8xi32>, tensor<2x8xi32>)
  return %r#0, %r#1 : tensor<2x8xi32>, tensor<2x8xi32>
}
"""

ROTATIONS = [13, 15, 26, 6, 17, 29, 16, 24]


def threefry(k0, k1, x, y):
    """Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011."""
    keys = [k0, k1, k0 ^ k1 ^ np.uint32(0x1BD11BDA)]
    x, y = x + keys[0], y + keys[1]
    for group in range(5):
        for j in range(4):
            n = np.uint32(ROTATIONS[4 * (group % 2) + j])
            x = x + y
            y = (y << n | y >> (np.uint32(32) - n)) ^ x
        x = x + keys[(group + 1) % 3]
        y = y + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


def test_b057_threefry_is_exact():
    # The published answer for keys and counters that are zero.
    zero = np.zeros((2, 8), np.uint32)
    x, y = threefry(zero, zero, zero, zero)
    assert (x[0, 0], y[0, 0]) == (0x6B200159, 0x99BA4EFE)
    rng = np.random.default_rng(9)
    inputs = rng.integers(0, 2**32, (4, 2, 8), dtype=np.uint32)
    inputs[:, 0, 0] = 0
    signed = [i.view(np.int32) for i in inputs]
    rotations = np.array(ROTATIONS, np.int32)
    have = polynest.compile(THREEFRY)(*signed, rotations)
    for ours, want in zip(have, threefry(*inputs)):
        np.testing.assert_array_equal(ours.view(np.uint32), want)


# -- nests ---------------------------------------------------------------------------

NESTS = """
func.func @init(%x: memref<3x2x5xf32>, %o: memref<3x2xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 3 {
    affine.store %zero, %o[%i, 0] : memref<3x2xf32>
    affine.store %zero, %o[%i, 1] : memref<3x2xf32>
  }
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 2 {
      affine.for %k = 0 to 5 {
        %v = affine.load %x[%i, %j, %k] : memref<3x2x5xf32>
        %s = affine.load %o[%i, %j] : memref<3x2xf32>
        %t = arith.addf %s, %v : f32
        affine.store %t, %o[%i, %j] : memref<3x2xf32>
      }
    }
  }
  return
}
func.func @twice(%x: memref<5x7xf32>, %o: memref<7x5xf32>) {
  %two = arith.constant 2.0 : f32
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 5 {
      %v = affine.load %x[%j, %i] : memref<5x7xf32>
      affine.store %v, %o[%i, %j] : memref<7x5xf32>
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 5 {
      %v = affine.load %o[%i, %j] : memref<7x5xf32>
      %w = arith.mulf %v, %two : f32
      affine.store %w, %o[%i, %j] : memref<7x5xf32>
    }
  }
  return
}
func.func @scalar(%p: memref<f32>, %n: index, %o: memref<4xf32>) {
  %one = arith.constant 1.0 : f32
  affine.store %one, %p[] : memref<f32>
  affine.for %i = 0 to %n {
    affine.store %one, %o[1] : memref<4xf32>
    affine.store %one, %o[1] : memref<4xf32>
    %v = affine.load %o[1] : memref<4xf32>
    %w = affine.load %o[1] : memref<4xf32>
    %r = affine.load %p[] : memref<f32>
    %s = arith.addf %v, %w : f32
    %t = arith.addf %s, %r : f32
    affine.store %t, %p[] : memref<f32>
    affine.store %t, %o[2] : memref<4xf32>
  }
  return
}
func.func @shifted(%a: memref<8xf32>, %o: memref<4x8xf32>) {
  affine.for %i = 0 to 4 {
    affine.parallel (%j) = (max(0, %i - 1)) to (8) {
      %v = affine.load %a[%i] : memref<8xf32>
      affine.store %v, %o[%i, %j] : memref<4x8xf32>
    }
  }
  return
}
func.func @mixed(%n: index, %p: memref<f32>, %o: memref<6x6xf32>) {
  %c = arith.constant 3.0 : f32
  affine.store %c, %p[] : memref<f32>
  affine.parallel (%i) = (0) to (6) {
    affine.for %j = 0 to min affine_map<(d0)[s0] -> (d0 + 1, s0)>(%i)[%n] {
      %v = affine.load %p[] : memref<f32>
      affine.store %v, %o[%i, %j] : memref<6x6xf32>
    }
  }
  return
}
"""


def nest(entry):
    return polynest.compile(NESTS, entry=entry)


def test_b071_initial_values_of_all_columns():
    o = np.full((3, 2), 9, np.float32)
    nest("init")(np.ones((3, 2, 5), np.float32), o)
    assert (o == 5).all()


def test_b075_elements_are_scaled_once():
    x = np.arange(35, dtype=np.float32).reshape(5, 7)
    o = np.zeros((7, 5), np.float32)
    nest("twice")(x, o)
    np.testing.assert_array_equal(o, 2 * x.T)


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_b082_stores_in_a_loop_that_may_not_run(trips):
    p, o = np.zeros((), np.float32), np.zeros(4, np.float32)
    nest("scalar")(p, trips, o)
    assert p == 1 + 2 * trips
    want = [0, 1, 1 + 2 * trips, 0] if trips else [0, 0, 0, 0]
    assert o.tolist() == want


def test_b084_bound_of_a_parallel_loop_that_another_loop_moves():
    a = np.arange(1, 9, dtype=np.float32)
    o = np.zeros((4, 8), np.float32)
    nest("shifted")(a, o)
    want = np.zeros((4, 8), np.float32)
    for i in range(4):
        want[i, max(0, i - 1) :] = a[i]
    np.testing.assert_array_equal(o, want)


@pytest.mark.parametrize("n", [0, 2, 9])
def test_b081_scalar_stores_and_mixed_loops(n):
    # Rows are cut at their own number and at n; 9 is past the end of none.
    p, o = np.zeros((), np.float32), np.zeros((6, 6), np.float32)
    nest("mixed")(n, p, o)
    want = np.zeros((6, 6), np.float32)
    for i in range(6):
        want[i, : min(i + 1, n)] = 3
    np.testing.assert_array_equal(o, want)
    assert p == 3


PRODUCT = """
func.func @f(%n: index, %x: tensor<?x{0}>) -> tensor<{0}> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : {0}
  %r = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%one) -> {0} {{
    %v = tensor.extract %x[%i] : tensor<?x{0}>
    scf.reduce(%v : {0}) {{
    ^bb0(%a: {0}, %b: {0}):
      %p = arith.muli %a, %b : {0}
      scf.reduce.return %p : {0}
    }}
  }}
  %t = tensor.from_elements %r : tensor<{0}>
  return %t : tensor<{0}>
}}
"""


@pytest.mark.parametrize("element", ["i64", "index"])
def test_b091_product_of_a_parallel_loop(element):
    f = polynest.compile(PRODUCT.format(element))
    for n in (0, 1, 7):
        x = np.arange(2, 2 + n, dtype=np.int64)
        assert int(f(n, x)) == int(np.prod(x, dtype=np.int64))


# -- speed, by counts ----------------------------------------------------------


@pytest.fixture
def lowered_texts(monkeypatch):
    """The programs that the backend compiles, in order."""
    texts = []
    compile_text = torch_backend._program

    def keep(text, *arguments):
        texts.append(text)
        return compile_text(text, *arguments)

    monkeypatch.setattr(torch_backend, "_program", keep)
    return texts


def nests_of(text):
    """Headers of the outermost loops of each function, and what they hold."""
    found = []
    for line in text.splitlines():
        body = line[4:]
        if line.startswith("    ") and "affine." in body[:40]:
            if "affine.for" in body or "affine.parallel" in body:
                if not body.startswith(" "):
                    found.append([])
        if found:
            found[-1].append(line)
    return found


def test_b039_chains_that_share_inputs_grow_with_their_operations(
    lowered_texts,
):
    def chains(count):
        def f(x, y):
            outs = []
            for _ in range(count):
                x, y = x * 0.5 + y, (x - y).abs() + x
                outs.append(x * y)
            return outs

        return f

    operations = {}
    for count in (5, 10, 20):
        torch._dynamo.reset()
        lowered_texts.clear()
        x, y = torch.randn(2, 64, 64)
        torch.testing.assert_close(
            compiled(chains(count))(x, y), chains(count)(x, y)
        )
        (text,) = lowered_texts
        s4 = polynest.lower(text, "s4")
        # Producers are computed once: all chains are one nest.
        assert s4.count("polynest.kernel") == 1
        operations[count] = s4.count("arith.")
    assert operations[20] <= 2.1 * operations[10] <= 4.4 * operations[5]


def test_b041_a_small_call_takes_few_steps():
    text = """
func.func @f(%x: tensor<96x128xf32>) -> tensor<96xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<96xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<96xf32>)
      -> tensor<96xf32>
  %r = linalg.reduce { arith.addf } ins(%x : tensor<96x128xf32>)
      outs(%i : tensor<96xf32>) dimensions = [1]
  return %r : tensor<96xf32>
}
"""
    # One kernel, nothing beside the result that would have to be allocated.
    s4 = polynest.lower(text, "s4")
    assert s4.count("polynest.kernel") == 1
    assert "alloc" not in s4 and "polynest.arena" not in s4
    program = polynest.compile(text)
    x = np.ones((96, 128), np.float32)
    assert (program(x) == 128).all()

    compiled_sum = compiled(lambda x: x.sum(1))
    t = torch.ones(96, 128)
    assert (compiled_sum(t) == 128).all()

    def steps(function, argument):
        """Calls of our Python functions, and those that these make."""
        count = 0

        def on_event(frame, event, _):
            nonlocal count
            ours = "polynest" in frame.f_code.co_filename.split("/")
            count += ours and event in ("call", "c_call")

        function(argument)
        sys.setprofile(on_event)
        try:
            function(argument)
        finally:
            sys.setprofile(None)
        return count

    assert steps(program, x) <= 33
    assert steps(compiled_sum, t) <= 20


def test_b086_vector_operations_are_no_input():
    text = """
func.func @f(%x: memref<6xf32>, %r: memref<6xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0], %zero {in_bounds = [true]}
      : memref<6xf32>, vector<6xf32>
  %outer = vector.create_mask %c5 : vector<6xi1>
  %inner = vector.create_mask %c2 : vector<6xi1>
  vector.mask %outer {
    vector.transfer_write %v, %r[%c0], %inner {in_bounds = [true]}
        : vector<6xf32>, memref<6xf32>
  } : vector<6xi1>
  return
}
"""
    with pytest.raises(errors.UnsupportedError, match="dialect 'vector'"):
        polynest.compile(text)


def points_of(nest: list[str]) -> int:
    """Iterations of the innermost loops, those that follow each other in a row
    of an outer one taken for one: they find it in a cache."""
    most, around = 1, []
    for line in nest:
        found = re.match(r"( *)affine\.(?:for|parallel).* = "
                         r"\(?(\d+)\)? to \(?(\d+)\)?", line)
        if found:
            depth = len(found[1])
            around = [(d, n) for d, n in around if d < depth]
            around.append((depth, int(found[3]) - int(found[2])))
            most = max(most, math.prod(n for _, n in around))
    return most


def test_b107_squared_differences_along_each_axis(lowered_texts):
    def f(x):
        return sum((x.diff(dim=d) ** 2).sum() for d in range(3))

    x = torch.randn(20, 24, 32, requires_grad=True)
    want = f(x)
    (want_gradient,) = torch.autograd.grad(want, x)
    got = compiled(f)(x)
    (gradient,) = torch.autograd.grad(got, x)
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(gradient, want_gradient)
    forward, backward = (polynest.lower(t, "s3") for t in lowered_texts)
    # One pass an axis or fewer, without buffers but for the parts of the sums.
    assert 1 <= len(nests_of(forward)) <= 6
    sizes = re.findall(r"memref<(\d+)xi8> {polynest.arena}", forward)
    assert all(int(size) <= 1024 for size in sizes) and "alloc" not in forward
    # Borders are nests of their own.
    points = sum(points_of(nest) for nest in nests_of(backward))
    assert x.numel() <= points <= 4 * x.numel()
