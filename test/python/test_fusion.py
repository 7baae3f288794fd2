# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Moves of data and scans in lanes, against eager, bit for bit: sizes around
whole vectors, static and dynamic, with NaN, infinities and zeros of both signs."""

import numpy as np
import pytest
import torch
from comparing import tensors
from conftest import by_thread_count, compiled_anew as compiled

import polynest

SIZES = (1, 3, 4, 7, 8, 9, 16, 17, 31, 33, 70)
EDGES = (float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1e-40, 3e38)


def numbers(*sizes, seed=0, edges=True):
    generator = torch.Generator().manual_seed(seed + sum(sizes))
    x = torch.randn(sizes, generator=generator)
    if edges and x.numel():
        flat = x.view(-1)
        for n, value in enumerate(EDGES):
            flat[(n * 37 + seed) % flat.numel()] = value
    return x


def same_bits(a, b):
    assert a.shape == b.shape and a.dtype == b.dtype
    if a.dtype == torch.float32:
        nan = a.isnan()
        assert torch.equal(nan, b.isnan())
        a, b = (t.masked_fill(nan, 0).view(torch.int32) for t in (a, b))
    assert torch.equal(a, b)


# -- rows that data choose ---------------------------------------------------------


@pytest.mark.parametrize("dynamic", [False, True])
def test_rows_that_data_choose(dynamic):
    def rows(table, i):
        return table[i]

    def scaled(table, i):
        return table[i] * 2.0

    f = compiled(rows, dynamic=dynamic)
    g = compiled(scaled, dynamic=dynamic)
    for columns in SIZES if dynamic else (1, 9, 70):
        table = numbers(11, columns)
        i = torch.tensor([10, 0, -11, 3, 3, -1, 7])
        same_bits(f(table, i), rows(table, i))
        same_bits(g(table, i), scaled(table, i))


@pytest.mark.parametrize("dynamic", [False, True])
def test_sums_into_rows_that_data_choose(dynamic):
    """In the order of the indices, of which some are equal; the rest of a row is
    added once."""

    def added(table, i, x):
        return table.index_add(0, i, x)

    def written(table, i, x):
        return table.index_copy(0, i, x)

    f = compiled(added, dynamic=dynamic)
    g = compiled(written, dynamic=dynamic)
    for columns in SIZES if dynamic else (0, 1, 3, 15, 16, 33, 70, 131):
        table, x = numbers(11, columns), numbers(7, columns, seed=5)
        i = torch.tensor([10, 0, 3, 3, 1, 10, 3])
        same_bits(f(table, i, x), added(table, i, x))
        same_bits(g(table, i[:4:2], x[:2]), written(table, i[:4:2], x[:2]))


def test_rows_of_other_types():
    def rows(table, i):
        return table[i]

    for dtype in (torch.uint8, torch.int16, torch.int64, torch.bool,
                  torch.float64, torch.bfloat16):
        table = numbers(6, 35, edges=False).mul(9).to(dtype)
        i = torch.tensor([5, 0, 2])
        assert torch.equal(compiled(rows)(table, i), rows(table, i))


def test_every_index_is_checked():
    """One of 33 out of range: in each vector, and in what is left over."""

    def take(x, i):
        return torch.exp(x[i])

    f = compiled(take)
    x = numbers(40, edges=False)
    good = torch.arange(33)
    assert torch.allclose(f(x, good), take(x, good))
    for at in range(33):
        for bad in (40, -41):
            i = good.clone()
            i[at] = bad
            with pytest.raises(IndexError):
                f(x, i)


# -- squares turned in registers -----------------------------------------------------


@pytest.mark.parametrize("dynamic", [False, True])
def test_transposes(dynamic):
    def turned(x):
        return x.t().contiguous()

    def added(x, y):
        return x.t() + y

    def scaled(x):
        return x.permute(0, 2, 1).contiguous() * 0.5

    # Both sizes larger than 1 first: those of 1 are compiled for themselves.
    for rows in (17, 1, 70, 600):
        if dynamic:
            f, g, h = (compiled(t, dynamic=True)
                       for t in (turned, added, scaled))
        for columns in ((33, 7, 515, 1100) if rows == 600 else
                        (33, 7, 515) + (8, 2, 16, 64) * dynamic):
            x, y = numbers(rows, columns), numbers(columns, rows, seed=5)
            if not dynamic:
                f, g, h = map(compiled, (turned, added, scaled))
            same_bits(f(x), turned(x))
            same_bits(g(x, y), added(x, y))
            z = numbers(3, rows, columns) if rows * columns < 9000 else x[None]
            same_bits(h(z), scaled(z))


def test_streams_of_odd_rows():
    """Results too large for the caches whose rows begin anywhere."""
    def padded(x):
        return torch.nn.functional.pad(x[1:-2, 3:-5], (2, 4, 1, 3))

    def computed(x):
        return torch.relu(x[:, 1:]) * 0.5 + x[:, :-1]

    def joined(x):
        return torch.cat([x[:, 700:], x[:, 3:-5], x[:, :1]], 1)

    for dtype, rows, columns in ((torch.float32, 1603, 1601),
                                 (torch.float32, 1605, 1574),
                                 (torch.float32, 1603, 1590),
                                 (torch.float32, 1603, 1606),
                                 (torch.float32, 3, 1000003),
                                 (torch.float64, 1201, 1203),
                                 (torch.bfloat16, 1501, 4099),
                                 (torch.int8, 2203, 5003)):
        x = numbers(rows, columns, edges=dtype == torch.float32)
        x = (x * 50).to(dtype)
        for function in (padded, joined,
                         computed)[:3 - (dtype == torch.int8)]:
            same_bits(compiled(function)(x), function(x))


def test_transposes_of_other_types():
    for dtype in (torch.uint8, torch.int16, torch.int64, torch.bool,
                  torch.float64, torch.bfloat16):
        x = numbers(70, 43, edges=False).mul(9).to(dtype)
        f = compiled(lambda x: x.t().contiguous())
        assert torch.equal(f(x), x.t())


def test_copies_alone():
    """Those that turn what they copy are compiled; what eager does as fast stays
    there."""
    turned = (
        (lambda x: x.t().contiguous(), (70, 130)),
        (lambda x: x.permute(0, 2, 3, 1).contiguous(), (2, 9, 16, 17)),
        (lambda x: x.transpose(1, 2).reshape(3, -1), (3, 40, 50)),
        (lambda x: x.contiguous(memory_format=torch.channels_last),
         (2, 9, 16, 17)),
        (lambda x: (x.t(), x.t().contiguous()), (70, 130)),
        (lambda x: x[::2, 3:].t().contiguous(), (170, 133)),
        (lambda x: x.t()[:, None].expand(-1, 3, -1).contiguous(), (70, 65)),
    )
    kept = (
        (lambda x: x.t().contiguous(), (7, 13)),
        (lambda x: x.t().contiguous(), (1, 5000)),
        (lambda x: x.t().clone(), (70, 130)),
        (lambda x: x[:, 3:].contiguous(), (70, 130)),
        (lambda x: x.permute(0, 2, 1, 3).contiguous(), (2, 9, 16, 17)),
        (lambda x: x[:, None].expand(-1, 3, -1).contiguous(), (70, 130)),
        (lambda x: x[None].expand(99, 70).contiguous(), (70,)),
    )
    for function, sizes in turned + kept:
        x = numbers(*sizes)
        with torch.no_grad():
            told = polynest.explain(function, dynamic=False)(x)
        wanted, got = function(x), told.result
        assert sum(g.regions for g in told.graphs) == (
            (function, sizes) in turned)
        if isinstance(wanted, tuple):
            assert got[0].data_ptr() == x.data_ptr()
            wanted, got = wanted[1], got[1]
        same_bits(got, wanted)
        assert got.stride() == wanted.stride()


@pytest.mark.parametrize("dynamic", [False, True])
def test_sums_so_far(dynamic):
    def sums(x):
        return torch.cumsum(x, -1)

    def counts(x):
        return torch.cumsum(x, -1)

    f, g = compiled(sums, dynamic=dynamic), compiled(counts, dynamic=dynamic)
    for rows in (1, 4, 9, 16, 33):
        for columns in SIZES:
            x = numbers(rows, columns, edges=False)
            wanted = torch.cumsum(x.double(), -1)
            assert torch.allclose(f(x).double(), wanted, rtol=2e-7, atol=1e-6)
            x = numbers(rows, columns)
            assert torch.equal(f(x).isnan(), sums(x).isnan())
            i = torch.randint(-(2**40), 2**40, (rows, columns))
            assert torch.equal(g(i), counts(i))


def test_sums_so_far_by_lines():
    """Two squares at once; the last one is streamed past the caches."""
    for rows, columns in ((8, 16), (9, 48), (33, 40), (24, 515), (3, 64),
                          (70, 528), (1600, 1616)):
        f = compiled(lambda x: torch.cumsum(x, -1))
        x = numbers(rows, columns, edges=rows == 70)
        wanted = torch.cumsum(x.double(), -1).float()
        same_bits(f(x), wanted)
    for dtype in (torch.bfloat16, torch.float16, torch.int32, torch.float64):
        f = compiled(lambda x: torch.cumsum(x, -1))
        x = numbers(33, 528, edges=False).mul(4).round().to(dtype)
        assert torch.equal(f(x), torch.cumsum(x, -1))


def test_sums_so_far_of_one_row():
    """In lanes along the row; products stay in order."""
    for count in (1, 7, 63, 64, 65, 4099, 70_001):
        for dtype in (torch.float32, torch.float64, torch.int32, torch.int64):
            x = numbers(count, edges=False).mul(4).round().to(dtype)
            f = compiled(lambda x: torch.cumsum(x, 0, dtype=x.dtype))
            assert torch.equal(f(x), torch.cumsum(x, 0, dtype=dtype))
    x = torch.tensor([0.0, 1e30, 1e30] * 30)
    f = compiled(lambda x: torch.cumprod(x, 0))
    same_bits(f(x), torch.cumprod(x, 0))


def test_products_so_far_of_narrow_floats():
    """What is shown is rounded, and may overflow, not what goes on."""
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.tensor([1e4, 1e4, 1e-4, 0.5] + [0.9961] * 500).to(dtype)
        f = compiled(lambda x: torch.cumprod(x, 0))
        assert torch.equal(f(x), torch.cumprod(x, 0))
        f = compiled(lambda x: torch.cumprod(x, 0, dtype=dtype))
        assert torch.equal(f(x.float()), torch.cumprod(x, 0))


def test_chosen_rows_that_are_asked_for():
    """A table beyond the cache: a row of a later iteration is asked for."""
    def rows(table, i):
        return table[i]

    for columns in (128, 300):
        table = numbers(5000, columns)
        i = torch.randint(-5000, 5000, (777,),
                          generator=torch.Generator().manual_seed(3))
        i[0], i[-2:] = -5000, 4999
        f = compiled(rows, dynamic=False)
        same_bits(f(table, i), rows(table, i))
        same_bits(f(table, i.flip(0)), rows(table, i.flip(0)))
        g = compiled(lambda i, t=table: t[i], dynamic=True)
        for count in (777, 5, 16, 0):
            same_bits(g(i[:count]), rows(table, i[:count]))
        i[-1] = 5000
        with pytest.raises((IndexError, RuntimeError)):
            f(table, i)


# -- reductions of whole arrays ------------------------------------------------------


@pytest.mark.parametrize("count", [100_003, 65_536, 70_000])
def test_whole_arrays(count):
    def totals(x):
        return x.sum(), x.amax(), x.amin(), (x * x).mean()

    x = numbers(count, edges=False)
    wanted = totals(x.double())
    f = compiled(totals)
    results = by_thread_count((1, 2, 3), lambda: f(x))
    for result in results:
        for a, b, first in zip(result, wanted, results[0]):
            assert abs(float(a) - float(b)) <= 1e-6 * count**0.5
            assert torch.equal(a, first)
    for at in (0, count // 2, count - 1):
        y = x.clone()
        y[at] = float("nan")
        assert all(bool(t.isnan()) for t in f(y))
    zeros = torch.full((count,), -0.0)
    for t in f(zeros)[1:3]:
        assert float(t) == 0 and bool(t.signbit())
    i = torch.randint(-(2**62), 2**62, (count,))
    assert torch.equal(compiled(lambda i: i.sum())(i), i.sum())


# -- divisions and extremes --------------------------------------------------------


def all_numbers(dtype, count, generator):
    """Random patterns: all magnitudes, subnormal, infinite and NaN ones."""
    width = 32 if dtype == np.float32 else 64
    whole = np.uint32 if width == 32 else np.uint64
    return generator.integers(0, 2 ** width, count, whole).view(dtype)


def same_numbers(found, wanted):
    nan = np.isnan(wanted)
    assert np.array_equal(np.isnan(found), nan)
    whole = np.int32 if wanted.dtype == np.float32 else np.int64
    assert np.array_equal(found[~nan].view(whole), wanted[~nan].view(whole))


def rows_divided(dtype, rows, columns):
    """Each row by the larger of its two divisors, which is not known before the
    loop over the row, but is there when it begins."""
    name = {np.float32: "f32", np.float64: "f64"}[dtype]
    whole = f"tensor<{rows}x{columns}x{name}>"
    ones = f"tensor<{rows}x{name}>"
    least = {np.float32: "0xFF800000", np.float64: "0xFFF0000000000000"}[dtype]
    program = polynest.compile(f"""
func.func @f(%x: {whole}, %y: tensor<{rows}x2x{name}>) -> {whole} {{
  %s = arith.constant {least} : {name}
  %v = tensor.empty() : {ones}
  %i = linalg.fill ins(%s : {name}) outs(%v : {ones})
      -> {ones}
  %m = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}}
      ins(%y : tensor<{rows}x2x{name}>) outs(%i : {ones}) {{
  ^bb0(%a: {name}, %b: {name}):
    %q = arith.maximumf %a, %b : {name}
    linalg.yield %q : {name}
  }} -> {ones}
  %e = tensor.empty() : {whole}
  %r = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                       affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%x, %m : {whole}, {ones}) outs(%e : {whole}) {{
  ^bb0(%a: {name}, %b: {name}, %o: {name}):
    %q = arith.divf %a, %b : {name}
    linalg.yield %q : {name}
  }} -> {whole}
  return %r : {whole}
}}""")
    return lambda x, y: program(x, np.stack([y, y], 1))


def extreme_of(operation, dtype, columns, start):
    name = {np.float32: "f32", np.float64: "f64"}[dtype]
    whole = f"tensor<?x{columns}x{name}>"
    return polynest.compile(f"""
func.func @f(%x: {whole}) -> tensor<?x{name}> {{
  %c0 = arith.constant 0 : index
  %s = arith.constant {start} : {name}
  %n = tensor.dim %x, %c0 : {whole}
  %e = tensor.empty(%n) : tensor<?x{name}>
  %i = linalg.fill ins(%s : {name}) outs(%e : tensor<?x{name}>)
      -> tensor<?x{name}>
  %r = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}}
      ins(%x : {whole}) outs(%i : tensor<?x{name}>) {{
  ^bb0(%a: {name}, %b: {name}):
    %q = {operation} %a, %b : {name}
    linalg.yield %q : {name}
  }} -> tensor<?x{name}>
  return %r : tensor<?x{name}>
}}""")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_divided_by_numbers_of_all_kinds(dtype):
    """Quotients are correctly rounded, whether they are computed with the
    inverse or not: random patterns, patterns near each other, and powers of two
    around the border of the range."""
    generator = np.random.default_rng(7)
    columns = 515
    rows = 400
    f = rows_divided(dtype, rows, columns)
    fraction = 23 if dtype == np.float32 else 52
    border, other = (100, 20) if dtype == np.float32 else (900, 60)
    for step in range(5):
        if step == 0:
            x = all_numbers(dtype, rows * columns, generator)
            y = all_numbers(dtype, rows, generator)
        else:
            # Long significands, few bits, or all bits but few.
            def significands(count):
                bits = generator.integers(0, 1 << fraction, count)
                if step == 2:
                    bits = bits & ~generator.integers(0, 1 << fraction, count)
                    bits = bits & generator.integers(0, 1 << fraction, count)
                if step == 3:
                    bits = (1 << fraction) - 1 - (bits >> (fraction - 4))
                return 1 + bits / 2.0 ** fraction
            x = significands(rows * columns) * 2.0 ** generator.integers(
                -4, 4, rows * columns)
            y = significands(rows) * 2.0 ** generator.integers(-4, 4, rows)
            x[::97] = 2.0 ** generator.integers(
                -border - 2, border + 2, x[::97].size).astype(np.float64)
            y[::13] = 2.0 ** generator.integers(
                -other - 2, other + 2, y[::13].size).astype(np.float64)
            x[::2] = -x[::2]
            y[::3] = -y[::3]
        x = x.astype(dtype).reshape(rows, columns)
        y = y.astype(dtype)
        if step == 4:
            # Quotients as near as can be to half way between two numbers.
            half = significands(x.size).reshape(x.shape) + 2.0 ** -(fraction + 1)
            x = (half * y[:, None].astype(np.longdouble)).astype(dtype)
        if step:
            # One row that is in range as a whole, one that never is.
            x[3], x[4] = 1.5, 0.0
        with np.errstate(all="ignore"):
            wanted = x / y[:, None]
        same_numbers(f(x, y), wanted)


def test_divisors_that_are_special():
    columns = 64
    y = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-45, 3e38, 2 ** 20,
                  2 ** -20, 2 ** 20 * 1.0000001, 2 ** -20 * 0.9999999],
                 np.float32)
    f = rows_divided(np.float32, len(y), columns)
    for value in (1.0, -3.0, 0.0, -0.0, np.inf, np.nan, 1e-45, 3e38):
        x = np.full((len(y), columns), value, np.float32)
        with np.errstate(all="ignore"):
            same_numbers(f(x, y), x / y[:, None])


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 64, 131])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("operation, start", [
    ("arith.maximumf", "-1.0e+30"), ("arith.minimumf", "1.0e+30"),
    ("arith.maximumf", "-0.0"), ("arith.minimumf", "0.0")])
def test_extremes_of_rows_by_bits(operation, start, dtype, columns):
    """A NaN anywhere, zeros of either sign alone or mixed, infinities."""
    generator = np.random.default_rng(11)
    is_maximum = operation.endswith("maximumf")
    f = extreme_of(operation, dtype, columns, start)
    rows = []
    for at in range(columns):
        for value in (np.nan, -np.nan, np.inf, -np.inf):
            row = generator.standard_normal(columns)
            row[at] = value
            rows.append(row)
        for base, value in ((0.0, -0.0), (-0.0, 0.0)):
            row = np.full(columns, base)
            row[at] = value
            rows.append(row)
            rows.append(np.where(np.arange(columns) == at, value,
                                 -1.0 if is_maximum else 1.0))
    rows += [np.zeros(columns), np.full(columns, -0.0),
             np.full(columns, -np.inf), np.full(columns, np.inf)]
    x = np.array(rows).astype(dtype)
    padded = np.concatenate(
        [x, np.full((len(x), 1), float(start), dtype)], 1)
    wanted = (padded.max(1) if is_maximum else padded.min(1)).astype(dtype)
    # NumPy leaves open which zero; by IEEE 754-2019 -0 is below +0.
    zero = wanted == 0
    signs = np.signbit(np.where(padded == 0, padded, 1 if not is_maximum else -1))
    negative = signs.all(1) if is_maximum else signs.any(1)
    wanted[zero] = np.where(negative, -0.0, 0.0)[zero]
    same_numbers(f(x), wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 7, 64, 1003])
def test_maximum_with_zero_by_bits(dtype, count):
    """All magnitudes, NaN, infinities; of two zeros the positive one."""
    name = {np.float32: "f32", np.float64: "f64"}[dtype]
    f = polynest.compile(f"""
func.func @f(%x: tensor<{count}x{name}>) -> tensor<{count}x{name}> {{
  %z = arith.constant 0.0 : {name}
  %e = tensor.empty() : tensor<{count}x{name}>
  %r = linalg.map ins(%x : tensor<{count}x{name}>)
      outs(%e : tensor<{count}x{name}>) (%a: {name}, %b: {name}) {{
    %m = arith.maximumf %a, %z : {name}
    linalg.yield %m : {name}
  }}
  return %r : tensor<{count}x{name}>
}}""")
    x = all_numbers(dtype, count, np.random.default_rng(count))
    edges = np.array(EDGES, dtype)[:count]
    x[:len(edges)] = edges
    wanted = np.where(x == 0, dtype(0), np.maximum(x, dtype(0)))
    same_numbers(f(x), wanted)


# -- few elements of what is computed ----------------------------------------------


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("classes", [1, 4, 7, 33, 130])
def test_loss_of_the_chosen_class(classes, reduction):
    """Only the chosen elements of log-softmax are computed; some rows are
    ignored, one is all -inf but the chosen class, one has a NaN."""
    x = numbers(19, classes, edges=False)
    target = torch.arange(19) * 5 % classes
    target[::6] = -100

    def loss(x, target):
        return torch.nn.functional.cross_entropy(x, target, reduction=reduction)

    f = compiled(loss, dynamic=False)
    torch.testing.assert_close(f(x, target), loss(x, target))
    if reduction == "none":
        x[1] = -torch.inf
        x[1, target[1]] = 0.5
        x[2, classes // 2] = torch.nan
        x[3] = -torch.inf
        torch.testing.assert_close(f(x, target), loss(x, target),
                                   equal_nan=True)


def test_weighted_loss_of_the_chosen_class():
    x, weight = numbers(9, 40, edges=False), torch.rand(40) + 0.5
    target = torch.arange(9) * 7 % 40

    def loss(x, target, weight):
        return torch.nn.functional.cross_entropy(
            x, target, weight=weight, label_smoothing=0.1)

    torch.testing.assert_close(compiled(loss, dynamic=False)(x, target, weight),
                               loss(x, target, weight))


def test_few_elements_keep_their_bits():
    """A column of, and a row's gathered elements of what is computed whole."""
    x = numbers(40, 64, seed=3)
    i = torch.tensor([5, 0, 63, 5])

    def column(x):
        return (x * 2 + x.abs())[:, 3]

    def chosen(x, i):
        return (x.half().float() - x[:, :1])[:, i]

    same_bits(compiled(column, dynamic=False)(x), column(x))
    same_bits(compiled(chosen, dynamic=False)(x, i), chosen(x, i))


def test_elements_of_what_is_overwritten():
    """What an element was computed from changes before the element is read."""
    x = numbers(64, edges=False)

    def late(x, i):
        y = x * 3
        x.mul_(0)
        return y[i] + x[i]

    i = torch.tensor([7])
    mine, theirs = x.clone(), x.clone()
    same_bits(compiled(late, dynamic=False)(mine, i), late(theirs, i))
    same_bits(mine, theirs)


# -- copies of what is computed ------------------------------------------------------

F = torch.nn.functional
COPIES = {
    "turned": lambda x: F.layer_norm(x, x.shape[-1:]).t().contiguous(),
    "channels_last": lambda x: torch.einsum("ij,jk->ki", x, x.t()).contiguous(),
    "padded": lambda x: F.pad(x.cumsum(-1), (1, 2)),
    "padded_twice": lambda x: F.pad(F.pad(x.softmax(-1), (1, 0)), (0, 2, 3, 0)),
    "joined": lambda x: torch.cat([x.cumsum(-1), x.t().contiguous().t()], 1),
    "wrapped": lambda x: F.pad((x * 2)[None], (1, 2), mode="circular"),
    "mirrored": lambda x: F.pad(x.cumsum(-1)[None], (1, 1), mode="reflect"),
    "halves": lambda x: torch.cat(x.cumsum(-1).chunk(2, 1)[::-1], 1),
    "ends": lambda x: x[1:].softmax(-1)[:, :-1].t().contiguous(),
    "odd": lambda x: torch.cat([x[::2].cumsum(-1), x[1::2].cumsum(-1)]),
    "shifted": lambda x: x.cumsum(-1).roll((1, -2), (0, 1)).t().contiguous(),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_unknown_sizes(name):
    """One program for all sizes: it is compiled again at most for those of 1."""
    function = COPIES[name]
    program = compiled(function, dynamic=True)
    for rows, columns in ((5, 7), (2, 3), (17, 16), (3, 33), (64, 2), (1, 9)):
        x = numbers(rows, columns, edges=False)
        torch.testing.assert_close(
            program(x), function(x), rtol=1e-5, atol=1e-5
        )


# -- consumers of what several nests write ------------------------------------------


def put_rows(x, y):
    z = x + 1.0
    z[1:2] = y[:1]
    return z * 3.0


def add_to_rows(x, y):
    z = x + 1.0
    z[:, :1] += y[:, :1]
    return z * 3.0


def seen_twice(x, y):
    z = torch.cat([x * 2.0, y], 1)
    return z.abs(), z - 1.0


def seen_before(x, y):
    z = x * 2.0
    first = z + 0.5
    z[:1] = y[:1]
    return first, -z


PARTS = {
    "pad": lambda x, y: torch.nn.functional.pad(x * 2.0, (1, 2, 3, 4)) + 1.0,
    "chain": lambda x, y: (
        (torch.nn.functional.pad(x * 2.0, (2, 0, 0, 1), value=-0.0) + 1.0) * 2.0
    ).abs(),
    "twice": lambda x, y: torch.nn.functional.pad(
        torch.nn.functional.pad(x, (1, 1), value=3.0) * 2.0, (1, 0, 2, 2)
    )
    - 1.0,
    "border": lambda x, y: torch.nn.functional.pad(x[:, 1:], (1, 0)) * y,
    "stack": lambda x, y: torch.stack([x * 2.0, y + 1.0, x]) * 3.0,
    "last": lambda x, y: torch.stack([x * 2.0, y + 1.0], -1) * 3.0,
    "columns": lambda x, y: torch.cat([x, y * 2.0, x], 1).abs() * 2.0,
    "rows": lambda x, y: torch.cat([torch.cat([x, y]) * 2.0, y + x]) - 1.0,
    "two": lambda x, y: torch.cat([x, y], 1) - torch.cat([y * 2.0, x], 1),
    "seams": lambda x, y: torch.cat([x, y, y[:1]]) * torch.cat([y[:1], x, x + y]),
    "roll": lambda x, y: x - x.roll(1, 0) + y.roll((2, -1), (0, 1)),
    "shift": lambda x, y: torch.cat([x[1:], x[:1]]) * y,
    "turned": lambda x, y: torch.cat([x, y], 1).t().contiguous() - 1.0,
    "flipped": lambda x, y: torch.cat([x, y * 2.0]).flip(0) + 1.0,
    "split": lambda x, y: [part - 1.0 for part in (x * y).split(2, 1)],
    "rotary": lambda x, y: x * y + torch.cat([-x[:, 1:], x[:, :1]], 1) * y,
    "circular": lambda x, y: torch.nn.functional.pad(
        (x * 2.0)[None], (1, 1, 1, 1), mode="circular"
    )
    + 1.0,
    "largest": lambda x, y: torch.nn.functional.pad(x * 2.0, (1, 2, 3, 4)).amax(1),
    "put": put_rows,
    "add": add_to_rows,
    "seen twice": seen_twice,
    "seen before": seen_before,
    "ints": lambda x, y: (
        torch.nn.functional.pad((x > 0).int() * 7, (1, 2), value=2**31 - 1) + 1
    ),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", PARTS)
def test_consumers_of_parts(name, dynamic):
    function = PARTS[name]
    f = compiled(function, dynamic=dynamic)
    for rows, columns in ((2, 3), (5, 16), (33, 70)):
        x, y = (numbers(rows, columns, seed=seed) for seed in (1, 2))
        got, want = tensors(f(x, y)), tensors(function(x, y))
        for a, b in zip(got, want, strict=True):
            same_bits(a, b)
            if not dynamic:
                assert a.stride() == b.stride()


@pytest.mark.parametrize("name", ["pad", "stack", "columns", "rows", "roll", "split"])
def test_consumers_of_no_parts(name):
    function = PARTS[name]
    for rows, columns in ((0, 3), (4, 0), (1, 1)):
        x, y = (numbers(rows, columns, seed=seed) for seed in (1, 2))
        got, want = tensors(compiled(function)(x, y)), tensors(function(x, y))
        for a, b in zip(got, want, strict=True):
            same_bits(a, b)


def test_consumers_of_parts_in_place():
    def step(x, y):
        x.copy_(torch.cat([x[1:], y[:1]]) * 2.0)
        return x.roll(1, 0) - x

    x, y = numbers(9, 17, seed=1), numbers(9, 17, seed=2)
    z = x.clone()
    same_bits(compiled(step)(x, y), step(z, y))
    same_bits(x, z)


def test_rows_of_parts():
    def rows(x, y):
        z = torch.cat([x * 2.0, y])
        return z.softmax(1), torch.nn.functional.layer_norm(z, z.shape[1:])

    x, y = (numbers(7, 65, seed=seed, edges=False) for seed in (1, 2))
    for a, b in zip(compiled(rows)(x, y), rows(x, y), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


COLUMNS = {
    "softmax": lambda x: x.softmax(0),
    "log_softmax": lambda x: x.log_softmax(0),
    "normalize": lambda x: torch.nn.functional.normalize(x, dim=0),
    "scaled": lambda x: (x - x.mean(0)) / (x.var(0, correction=0) + 1e-5).sqrt(),
    "relu": lambda x: (x.relu(), x.relu().sum(0), x.relu().amax(0)),
    "exp": lambda x: (lambda y: (y, y.sum(0), y.amin(0)))((x / 4).exp()),
}


@pytest.mark.parametrize("name", list(COLUMNS))
def test_statistics_of_columns(name):
    """Columns are reduced while what they are reduced from is stored, or, where
    that goes to memory, computed again."""
    run = COLUMNS[name]
    shapes = [(1, 1), (1, 9), (9, 1), (9, 4), (67, 300), (1000, 33), (2100, 2101)]
    for shape in shapes:
        x = torch.randn(shape)
        check_close(run, x)
    x = torch.randn(67, 300)
    x[3, 5], x[5, 7], x[6, 10], x[:, 8] = -torch.inf, torch.nan, -0.0, -torch.inf
    check_close(run, x)
    check_close(run, torch.randn(301, 129)[:, 1:100])
    check_close(run, torch.randn(129, 301).t())
    check_close(run, torch.randn(66, 70), dynamic=True)
    check_close(lambda x: run(x.movedim(1, 0)), torch.randn(5, 130, 77))


WHOLE = {
    "scaled": lambda x: (x - x.mean()) / x.std(correction=0),
    "scaled_by_both": lambda x: (x - x.mean()) / (x.mean() + x.std(correction=0)),
    "range": lambda x: (x - x.min()) / (x.max() - x.min() + 1),
    "rows": lambda x: (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True,
                                                             correction=0) + 1e-5),
    "relu_and_sum": lambda x: (x.relu(), (x * x - 1).sum(), (x - 2).abs()),
    "sums": lambda x: (x.sum(), x.sum(0, keepdim=True).sum(), x.sum(), x.exp().sum(1),
                       x.exp().sum(1, keepdim=True) * x),
}


@pytest.mark.parametrize("name", list(WHOLE))
def test_uses_of_whole_statistics(name):
    """What is computed from an array and its statistics, some of them asked for
    twice, is the same whatever nests read the array together."""
    run = WHOLE[name]
    for shape in [(1, 2), (7, 9), (512, 520)]:
        check_close(run, torch.randn(shape))
    x = torch.randn(70, 131)
    f = compiled(run)
    for value in (-0.0, 1e-40, torch.inf, torch.nan):
        x[3, 5] = value
        torch.testing.assert_close(f(x), run(x), rtol=3e-5, atol=3e-5, equal_nan=True)
    check_close(run, torch.randn(129, 301).t()[:, 1:100])
    check_close(run, torch.randn(66, 70), dynamic=True)
    if name != "range":
        check_close(run, torch.randn(0, 5))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16,
                                   torch.int32, torch.int64])
def test_places_along_other_axes(dtype):
    """Extremes and their first places, NaN before all numbers, in one loop over
    rows, whose groups and parts are searched apart."""
    runs = [lambda x, d: x.argmax(d), lambda x, d: tuple(x.min(d))]
    shapes = [((1, 7), 0), ((7, 1), 0), ((70, 5), 0), ((300, 67), 0),
              ((1000, 333), 0), ((3000, 257), 0), ((5, 200, 77), 1)]
    for run in runs:
        for shape, axis in shapes:
            program = compiled(lambda x: run(x, axis))
            x = numbers(*shape, edges=False).mul(3).round().to(dtype)
            edges = x.clone()
            if dtype.is_floating_point:
                edges.view(-1)[::29] = -torch.inf
                edges.view(-1)[::31] = torch.nan
                edges[..., -1] = -torch.inf
            for y in (x, edges):
                for got, want in zip(tensors(program(y)), tensors(run(y, axis))):
                    assert got.dtype == want.dtype
                    torch.testing.assert_close(got, want, rtol=0, atol=0,
                                               equal_nan=True)
    x = numbers(130, 77, edges=True)
    for run in runs:
        got = compiled(lambda x: run(x, 0), dynamic=True)(x)
        for a, b in zip(tensors(got), tensors(run(x, 0))):
            torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


def check_close(run, x, **options):
    got = compiled(run, **options)(x)
    torch.testing.assert_close(got, run(x), rtol=3e-5, atol=3e-5, equal_nan=True)
