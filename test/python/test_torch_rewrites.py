# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrites of graphs that look at several ops: they apply, and where they must
not, results are still eager's."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

import torch.nn.functional as F  # noqa: E402

from conftest import bound, compiled  # noqa: E402

from polynest import errors, torch_backend  # noqa: E402


@pytest.fixture(autouse=True)
def fresh(fresh_torch):
    torch.manual_seed(5)


def check(function, *inputs, left=()):
    with torch.no_grad():
        want = function(*inputs)
        have = compiled(function)(*inputs)
    assert have.shape == want.shape and have.dtype == want.dtype
    off = (have.double() - want.double()).abs()
    assert bool((off <= bound(want.double(), "f32", 100)).all())
    assert {f.op for f in torch_backend.explain_fallbacks()} == set(left)


# -- bags of embeddings ----------------------------------------------------------

BAG = "aten._embedding_bag_forward_only.default"
TABLE = torch.randn(31, 24)


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("shape", [(5, 3), (1, 7), (6, 1)])
def test_bags_of_one_size(mode, shape):
    rows = torch.randint(31, shape)
    check(lambda t, i: F.embedding_bag(i, t, mode=mode) + 1, TABLE, rows)


@pytest.mark.parametrize("dims", [(0,), (0, 1), (1,)])
def test_bags_of_unknown_size(dims):
    def function(t, i):
        return F.embedding_bag(i, t, mode="sum") * 2

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch_backend.reset_reports()
    module = torch.compile(function, backend=torch_backend.polynest)
    with torch.no_grad():
        for n, (rows, size) in enumerate([(5, 3), (2, 7), (9, 4), (3, 3)]):
            indices = torch.randint(
                31, (rows if 0 in dims else 6, size if 1 in dims else 4)
            )
            if n == 0:
                for d in dims:
                    torch._dynamo.mark_dynamic(indices, d)
            have, want = module(TABLE, indices), function(TABLE, indices)
            off = (have.double() - want.double()).abs()
            assert bool((off <= bound(want.double(), "f32", 100)).all())
    assert not torch_backend.explain_fallbacks()
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_bags_of_equal_offsets():
    rows = torch.randint(31, (12,))
    check(
        lambda t, i: F.embedding_bag(i, t, torch.arange(0, 12, 4)), TABLE, rows
    )


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "max"},
        {"padding_idx": 3},
        {"per_sample_weights": torch.rand(5, 4), "mode": "sum"},
    ],
)
def test_bags_with_more_options_stay(options):
    rows = torch.randint(31, (5, 4))
    rows[0, 0] = 3
    check(lambda t, i: F.embedding_bag(i, t, **options) + 1, TABLE, rows,
          left=[BAG])


@pytest.mark.parametrize(
    "options",
    [
        {"padding_idx": 0},
        {"padding_idx": -1},
        {"per_sample_weights": torch.arange(5.0)},
    ],
)
def test_bags_of_unknown_number_with_more_options_stay(options):
    rows, offsets = torch.tensor([0, 1, 30, 1, 0]), torch.tensor([0, 3])

    def function(t, i, o):
        return F.embedding_bag(i, t, o, mode="sum", **options) + 1

    with torch.no_grad():
        module = torch.compile(function, backend="polynest", dynamic=True)
        have = module(TABLE, rows, offsets)
        torch.testing.assert_close(have, function(TABLE, rows, offsets))
    assert {f.op for f in torch_backend.explain_fallbacks()} == {BAG}


def test_bags_of_several_sizes_stay():
    rows = torch.randint(31, (10,))

    def last_is_short(t, i):
        return F.embedding_bag(i, t, torch.arange(0, 10, 4)) * 2

    check(last_is_short, TABLE, rows, left=[BAG])
    torch_backend.reset_reports()
    offsets = torch.tensor([0, 0, 7])
    check(lambda t, i, o: F.embedding_bag(i, t, o) * 2, TABLE, rows, offsets,
          left=[BAG])


def test_bag_with_index_out_of_range():
    rows = torch.tensor([[0, 1], [2, 31]])
    with torch.no_grad(), pytest.raises(errors.ProgramAssertionError):
        compiled(lambda t, i: F.embedding_bag(i, t) + 1)(TABLE, rows)


# -- one place of each row ---------------------------------------------------------


@pytest.mark.parametrize("shape", [(7,), (7, 5), (7, 3, 2)])
@pytest.mark.parametrize("known", [False, True])
def test_places_of_rows(shape, known):
    """Of rows of unknown number, from either end; past it is an error."""
    def function(x, places):
        return x[torch.arange(x.shape[0]), places] * 2

    compile_ = compiled(function, dynamic=None if known else True)
    with torch.no_grad():
        for rows in (3, 1, 8, 5):
            x = torch.randn(rows, *shape)
            places = torch.randint(-shape[0], shape[0], (rows,))
            if known and rows > 1:
                torch._dynamo.mark_dynamic(x, 0)
                torch._dynamo.mark_dynamic(places, 0)
            assert torch.equal(compile_(x, places), function(x, places))
        assert not torch_backend.explain_fallbacks(), torch_backend.report()
        for place in (shape[0], -shape[0] - 1):
            with pytest.raises((IndexError, errors.PolynestError)):
                compile_(torch.randn(2, *shape), torch.tensor([0, place]))


def test_other_places():
    """What is not a place of each row stays as it was."""
    def function(x, y, places):
        n = places.shape[0]
        return (x[torch.arange(n), places], y[torch.arange(1, n + 1), places],
                y[places, torch.arange(n)], y[torch.arange(n), :, places])

    compile_ = compiled(function, dynamic=True)
    with torch.no_grad():
        for rows in (3, 5):
            places = torch.randint(3, (rows,))
            args = torch.randn(rows + 2, 9), torch.randn(rows + 4, 9, 9), places
            for have, want in zip(compile_(*args), function(*args)):
                assert torch.equal(have, want)
