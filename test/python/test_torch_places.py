# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums at places that are known as a graph is compiled: gathered as slices, and
equal to eager's."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

import torch.nn.functional as F  # noqa: E402

from comparing import check, check_gradients, gradients  # noqa: E402
from conftest import compiled  # noqa: E402

from polynest import errors, torch_places  # noqa: E402

aten = torch.ops.aten


@pytest.fixture(autouse=True)
def fresh(fresh_torch):
    torch.manual_seed(17)


@pytest.fixture
def gathered(monkeypatch):
    """Of each op that adds at places, whether it was replaced."""
    found = []

    def counting(graph):
        before = sum(n.target in torch_places.PUTS for n in graph.nodes)
        gather_sums(graph)
        graph.eliminate_dead_code()
        after = sum(n.target in torch_places.PUTS for n in graph.nodes)
        found.extend([True] * (before - after) + [False] * after)

    gather_sums = torch_places.gather_sums
    monkeypatch.setattr("polynest.torch_rewrites.gather_sums", counting)
    return found


def interpolated(mode, size, **more):
    return lambda x: F.interpolate(x, size=size, mode=mode, **more)


@pytest.mark.parametrize(
    "mode, shape, size",
    [
        ("nearest", (2, 3, 5, 7), (10, 14)),
        ("nearest", (2, 3, 5, 7), (15, 7)),
        ("nearest", (1, 1, 1, 1), (2, 3)),
        ("nearest", (2, 3, 10, 14), (5, 7)),
        ("nearest", (2, 3, 6, 8), (9, 12)),
        ("nearest", (2, 3, 9), (17,)),
        ("nearest", (1, 2, 3, 4, 5), (6, 8, 10)),
        ("nearest-exact", (2, 3, 5, 7), (10, 14)),
        ("bilinear", (2, 3, 5, 7), (10, 14)),
        ("bilinear", (2, 3, 5, 7), (9, 13)),
        ("bilinear", (2, 3, 8, 6), (4, 3)),
        ("linear", (2, 3, 9), (18,)),
        ("trilinear", (1, 2, 3, 4, 5), (6, 8, 10)),
        ("bicubic", (1, 2, 5, 7), (10, 14)),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_of_interpolation(gathered, mode, shape, size, dtype):
    check_gradients(interpolated(mode, size), torch.randn(shape, dtype=dtype))
    assert gathered and all(gathered)


def test_gradients_of_interpolation_with_corners(gathered):
    function = interpolated("bilinear", (10, 14), align_corners=True)
    check_gradients(function, torch.randn(2, 3, 5, 7))
    assert gathered == [True] * 4


def test_sums_of_low_precision_round_once(gathered):
    x = torch.randn(2, 3, 5, 7).bfloat16()
    check_gradients(interpolated("nearest", (20, 28)), x)
    assert gathered == [True]


def test_images_whose_columns_lie_first():
    x = torch.randn(2, 3, 5, 7).to(memory_format=torch.channels_last)
    check_gradients(interpolated("bilinear", (10, 14)), x)
    check_gradients(interpolated("nearest", (10, 14)), x.transpose(2, 3))


def test_unknown_batch(gathered):
    """Sizes that are not known leave the op as it is."""
    function = interpolated("nearest", (10, 14))
    module = compiled(function, dynamic=True)
    for n in (2, 3, 5):
        x = torch.randn(n, 3, 5, 7)
        (have,), (want,) = gradients(module, [x]), gradients(function, [x])
        check(have, want.double(), have.dtype, 4)
    assert gathered and not any(gathered)


@pytest.mark.parametrize("kernel, dilation, padding, stride", [
    (3, 1, 1, 1), (2, 1, 0, 2), (3, 2, 1, 1), ((1, 3), 1, (0, 1), (1, 2)),
])
def test_unfolded_images(gathered, kernel, dilation, padding, stride):
    def unfolded(x):
        return F.unfold(x, kernel, dilation, padding, stride)

    x = torch.randn(2, 3, 9, 11)
    check_gradients(unfolded, x)
    columns = torch.randn_like(unfolded(x))

    def folded(c):
        return F.fold(c, (9, 11), kernel, dilation, padding, stride)

    have = compiled(folded)(columns)
    check(have, folded(columns.double()), have.dtype, 9)
    check_gradients(folded, columns)
    assert gathered and all(gathered)


@pytest.mark.parametrize("pad", [
    (2, 1, 3, 4), (1, 1, 0, 0), (-1, 2, 2, -2), (6, 6, 4, 4),
])
def test_paddings_that_reflect(pad):
    check_gradients(
        lambda x: F.pad(x, pad, mode="reflect"), torch.randn(2, 3, 5, 7)
    )


def check_pool(pool, shape, *rule, ceil_mode):
    # No two elements are equal: the maximum has one place in any precision.
    x = torch.randperm(torch.Size(shape).numel()).view(shape) / 64.0
    check_gradients(lambda x: pool(x, *rule, ceil_mode=ceil_mode), x)


@pytest.mark.parametrize("pool", [F.max_pool2d, F.avg_pool2d])
@pytest.mark.parametrize("kernel, stride, padding, ceil_mode", [
    (2, 2, 0, False), (2, 2, 1, True), (3, 2, 1, True), (2, 3, 0, False),
    (4, 4, 2, True), (3, 1, 1, False), ((2, 3), (3, 4), (1, 0), False),
])
def test_pools(pool, kernel, stride, padding, ceil_mode):
    check_pool(
        pool, (2, 3, 9, 11), kernel, stride, padding, ceil_mode=ceil_mode
    )


@pytest.mark.parametrize("pool", [F.max_pool2d, F.avg_pool2d])
def test_pools_of_windows_that_lie_far_apart(pool):
    """More than so many slices: the places are computed, or scattered to."""
    check_pool(
        pool, (1, 2, 6, 200), (2, 10), (2, 9), (1, 3), ceil_mode=False
    )


def test_pools_of_nans():
    x = torch.randn(1, 2, 6, 6)
    x[0, 0, 2, 3] = float("nan")
    x[0, 1, :2, :2] = float("-inf")
    have = gradients(compiled(lambda x: F.max_pool2d(x, 2)), [x])
    want = gradients(lambda x: F.max_pool2d(x, 2), [x])
    assert torch.equal(have[0], want[0])


# -- puts of any graph -----------------------------------------------------------


def put(x, indices, values):
    return aten.index_put.default(x, indices, values, True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.int8])
def test_a_sum_that_is_not_zero_before(gathered, dtype):
    def function(x, v):
        i = torch.arange(6) // 2
        return put(x, (None, i), v)

    x = torch.arange(12).view(3, 4).to(dtype)
    v = torch.arange(18).view(3, 6).to(dtype) * 13
    assert torch.equal(compiled(function)(x, v), function(x, v))
    assert gathered == [True]


def test_negative_places_and_one_value(gathered):
    def function(x, v):
        return put(x, (torch.arange(3) - 3,), v)

    x, v = torch.randn(5, 4), torch.randn(())
    assert torch.equal(compiled(function)(x, v), function(x, v))
    assert gathered == [True]


def test_axes_that_are_exchanged(gathered):
    """The first axis follows the last dimension of the places, and what lies
    between indexed dimensions comes behind them."""

    def function(x, v):
        i, j = torch.arange(4), torch.arange(6) // 3
        return put(x, (i, None, j.unsqueeze(1)), v)

    x, v = torch.randn(4, 3, 2), torch.randn(6, 4, 3)
    have = compiled(function)(x, v)
    check(have, function(x.double(), v.double()), have.dtype, 3)
    assert gathered == [True]


def test_one_place_for_many(gathered):
    def function(x, v):
        i = torch.zeros(5, 3, dtype=torch.int64)
        return put(x, (i, torch.arange(5).unsqueeze(1)), v)

    x, v = torch.zeros(2, 6), torch.randn(5, 3)
    have = compiled(function)(x, v)
    check(have, function(x.double(), v.double()), have.dtype, 3)
    assert gathered == [True]


def test_zeros_have_the_sign_of_a_sum(gathered):
    def function(v):
        return put(torch.zeros(3), (torch.arange(3),), v)

    v = torch.tensor([-0.0, 0.0, -1.0])
    assert torch.signbit(compiled(function)(v)).tolist() == [False, False, True]
    assert gathered == [True]


def test_nans_stay_where_they_go(gathered):
    def function(v):
        return put(torch.zeros(4), (torch.arange(6) // 2,), v)

    v = torch.tensor([1.0, float("nan"), 2.0, 3.0, float("inf"), 4.0])
    have, want = compiled(function)(v), function(v)
    assert torch.equal(have.nan_to_num(7.0), want.nan_to_num(7.0))
    assert gathered == [True]


@pytest.mark.parametrize("index", [
    lambda: torch.arange(4) + 3,  # outside
    lambda: torch.arange(4) - 7,
])
def test_places_outside_are_errors(gathered, index):
    def function(x, v):
        return put(x, (index(),), v)

    with pytest.raises(errors.ProgramAssertionError):
        compiled(function)(torch.zeros(6), torch.randn(4))
    assert not any(gathered)


def test_places_that_data_choose_stay(gathered):
    def function(x, i, v):
        return put(x, (i,), v)

    x, v = torch.randn(5, 4), torch.randn(7, 4)
    i = torch.tensor([0, 4, 4, 2, 1, 0, 0])
    have = compiled(function)(x, i, v)
    check(have, function(x.double(), i, v.double()), have.dtype, 4)
    assert gathered == [False]


def test_places_on_a_diagonal_stay(gathered):
    """Both axes follow one dimension."""

    def function(x, v):
        i = torch.arange(5)
        return put(x, (i, i), v)

    x, v = torch.randn(5, 6), torch.randn(5)
    assert torch.equal(compiled(function)(x, v), function(x, v))
    assert gathered == [False]


def test_places_without_a_pattern_stay(gathered):
    def function(x, v):
        i = torch.arange(400)
        return put(x, (i * i % 211,), v)

    x, v = torch.randn(211), torch.randn(400)
    have = compiled(function)(x, v)
    check(have, function(x.double(), v.double()), have.dtype, 8)
    assert gathered == [False]


def test_an_axis_that_is_too_long(gathered):
    def function(x, v):
        return put(x, (torch.arange(1 << 15) // 2,), v)

    x, v = torch.randn(1 << 14), torch.randn(1 << 15)
    have = compiled(function)(x, v)
    check(have, function(x.double(), v.double()), have.dtype, 3)
    assert gathered == [False]


def test_a_put_that_is_read_twice(gathered):
    """Its sum with another one is no sum of both."""

    def function(v, w):
        i = torch.arange(6) // 2
        a = put(v.new_zeros(4), (i,), v)
        b = put(w.new_zeros(4), (i,), w)
        return a + b, a * 2

    v, w = torch.randn(6), torch.randn(6)
    for have, want in zip(
        compiled(function)(v, w), function(v.double(), w.double())
    ):
        check(have, want, have.dtype, 4)
    assert gathered == [True, True]


def test_nothing_to_add(gathered):
    def function(x, v):
        return put(x, (torch.arange(0),), v)

    x = torch.randn(3, 2)
    assert torch.equal(compiled(function)(x, torch.empty(0, 2)), x)
    assert not any(gathered)


# -- runs ------------------------------------------------------------------------


@pytest.mark.parametrize("table, size", [
    ((0, 0, 0, 1, 1, 2, 2, 3), 4),
    ((2, 1, 0, 1, 2, 3, 2, 1), 4),
    (tuple(i * 3 for i in range(5)), 14),
    (tuple(i * 2 // 3 for i in range(12)), 8),
    ((-1, 0, 2, 4, -1), 6),
    ((3,), 5),
    ((-1, -1), 2),
])
def test_every_source_is_in_one_run(table, size):
    axis = torch_places._plan([table], size)
    phases = len(axis.phases)
    found = {}
    for p, (runs,) in enumerate(axis.phases):
        for run in runs:
            for k in range(run.count):
                source = run.begin + k * run.step
                assert source not in found
                found[source] = p + (run.first + k) * phases
    assert found == {s: t for s, t in enumerate(table) if t >= 0}


def test_terms_that_are_too_many():
    term = torch_places.Term(None, {0: (0, 1)})
    assert torch_places.plan([term] * 65, [2]) is None
    assert torch_places.plan([term] * 2, [2]) is not None
