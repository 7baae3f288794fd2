# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What stays with eager: how it is told, its order, tensors without elements."""

import logging
import operator

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from conftest import compiled  # noqa: E402

import polynest  # noqa: E402
from polynest import torch_backend  # noqa: E402

pytestmark = pytest.mark.usefixtures("fresh_torch")


def with_sort(x):
    y = torch.relu(x).sum(0)
    z = torch.linalg.qr(x)[1] * 2
    return y + z


def test_explain_names_the_op_its_type_and_place():
    x = torch.randn(5, 6)
    told = polynest.explain(with_sort)(x)
    (graph,) = told.graphs
    (left,) = graph.fallbacks
    assert "qr" in left.op and left.dtype == "f32" and left.reason
    line = with_sort.__code__.co_firstlineno + 2
    assert left.place == f"{__file__}:{line}"
    assert f"{left.op} of f32: {left.reason} ({left.place})" in str(told)
    torch.testing.assert_close(told.result, with_sort(x))


def test_explain_takes_options_and_counts_graph_breaks():
    def broken(x):
        y = x * 2
        torch._dynamo.graph_break()
        return y + 1

    x = torch.randn(5)
    told = polynest.explain(broken, options={"numerics": "strict"})(x)
    assert len(told.graphs) == 2 and len(told.breaks) == 1
    assert "graph break" in str(told)
    torch.testing.assert_close(told.result, x * 2 + 1)
    # Every call explains anew.
    assert len(polynest.explain(broken)(x).graphs) == 2
    with pytest.raises(Exception, match="unknown option"):
        polynest.explain(broken, options={"nonsense": True})(x)


def test_log_names_what_is_left(caplog):
    with caplog.at_level(logging.INFO, logger="polynest"):
        compiled(with_sort)(torch.randn(4, 4))
    text = caplog.text
    assert "qr.default of f32" in text and __file__ in text


def test_random_ops_keep_their_order():
    def draws(x):
        low = torch.linalg.qr(x)[1]
        late = torch.rand_like(torch.relu(low * 3))
        early = torch.rand_like(x)
        return late * 2, early + 1

    x = torch.randn(4, 4)
    torch.manual_seed(3)
    want = draws(x)
    torch.manual_seed(3)
    have = compiled(draws)(x)
    for h, w in zip(have, want):
        torch.testing.assert_close(h, w)
    # The second is computed before the first could be.
    assert torch_backend.explain_fallbacks()


@pytest.mark.parametrize(
    "function",
    [
        lambda x, e: torch.cat([x, e]) * 2,
        lambda x, e: torch.cat([e, e]) * 2,
        lambda x, e: e.sum() + x,
        lambda x, e: e.sum(0) + x,
        lambda x, e: e.prod() + x,
        lambda x, e: e.mean(0) + x,
        lambda x, e: (e > 0).all() | (x > 0),
        lambda x, e: (e > 0).any() | (x > 0),
        lambda x, e: torch.mm(e.t(), e) + 1,
        lambda x, e: torch.addmm(x[0], e.t(), e),
        lambda x, e: torch.exp(e) * 2 + e,
        lambda x, e: (e.t().relu(), x.relu()),
        lambda x, e: torch.softmax(e, 1),
        lambda x, e: torch.nn.functional.pad(e, (1, 1, 1, 1), value=3.0),
        lambda x, e: x.index_add(0, torch.zeros(0, dtype=torch.int64), e),
        lambda x, e: x.index_select(0, torch.zeros(0, dtype=torch.int64)),
        lambda x, e: (e.std(), e.var(0)),
        lambda x, e: (*torch.std_mean(e, 0), *torch.var_mean(e)),
        lambda x, e: e[torch.zeros(0, dtype=torch.int64)],
        lambda x, e: torch.nn.functional.mse_loss(e, e),
        lambda x, e: torch.layer_norm(e, (6,)),
        lambda x, e: torch.nn.functional.conv1d(e.view(0, 6, 1), x[:, :, None]),
        lambda x, e: e.long().sum(0) + e.bool().sum(),
    ],
)
def test_tensors_without_elements_are_not_left(function):
    x, e = torch.randn(5, 6), torch.randn(0, 6)
    want = function(x, e)
    have = compiled(function)(x, e)
    leaves = torch.utils._pytree.tree_leaves
    for h, w in zip(leaves(have), leaves(want)):
        assert h.stride() == w.stride()
        torch.testing.assert_close(h, w, equal_nan=True)
    assert not torch_backend.explain_fallbacks(), torch_backend.report()


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    "check",
    [
        lambda x: torch._assert_async(x),
        lambda x: torch._assert_async(input=x),
        lambda x: torch._assert_async(x, "too small"),
    ],
)
def test_assertions_are_kept(check, training):
    """PyTorch itself drops those without a message as it traces."""

    def function(x):
        check(x.min() > 0)
        return x * 2

    f = compiled(function)
    x = torch.ones(7, requires_grad=training)
    assert torch.equal(f(x), x * 2)
    for wrong in (x - 1, x - 2):
        with pytest.raises(RuntimeError) as want:
            function(wrong)
        with pytest.raises(RuntimeError, match=str(want.value)):
            f(wrong)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        torch.linalg.inv,
        torch.linalg.cholesky,
        lambda x: torch.linalg.solve(x, torch.ones(3)),
        lambda x: torch.linalg.matrix_power(x, -1) @ torch.linalg.inv(x + 2),
        lambda x: torch.linalg.lu_factor(torch.tanh(x))[0],
        torch.bernoulli,
    ],
)
def test_errors_of_numbers(function, training):
    """Of matrices without an inverse or a factor, and of no probabilities."""
    f = compiled(function)
    good = torch.eye(3, requires_grad=training)
    torch.testing.assert_close(f(good), function(good))
    bad = torch.zeros(3, 3)
    bad[0] = -1
    bad.requires_grad_(training)
    with pytest.raises(RuntimeError) as want:
        function(bad)
    with pytest.raises(want.type) as have:
        f(bad)
    assert str(have.value) == str(want.value)


def test_random_numbers_are_those_of_eager():
    f = compiled(torch.bernoulli)
    p = torch.rand(50)
    results = []
    for function in (f, torch.bernoulli):
        torch.manual_seed(3)
        results.append(function(p))
    assert torch.equal(*results)


def test_determinants():
    """Also with zeros where torch-mlir has a pivot."""
    f = compiled(lambda x: torch.linalg.det(x) * 2)
    for rows in ([[0.0, 1], [1, 0]], [[1.0, 2], [2, 4]], [[3.0, 1], [1, 2]]):
        x = torch.tensor(rows)
        torch.testing.assert_close(f(x), torch.linalg.det(x) * 2)
    (left,) = torch_backend.explain_fallbacks()
    assert "permutations" in left.reason


def test_refusal_that_names_one_of_several_results(monkeypatch):
    """It is the op's: partitioned without that, the graph stays as it was."""
    lower = torch_backend.frontend.lower_region
    count = 0

    def refuse(module, region, *arguments, **options):
        nonlocal count
        count += 1
        if count > 20:
            pytest.fail("no end of regions")
        named = [n.name for n in region.nodes if n.target is operator.getitem]
        if named:
            raise torch_backend.frontend.RegionRefused(
                "refused", dict.fromkeys(named, "refused")
            )
        return lower(module, region, *arguments, **options)

    def f(x):
        return torch.sort(x * 2, 0)[0] + 1

    monkeypatch.setattr(torch_backend.frontend, "lower_region", refuse)
    x = torch.randn(3, 3)
    torch.testing.assert_close(compiled(f)(x), f(x))
    (left,) = torch_backend.explain_fallbacks()
    assert "sort" in left.op and left.reason == "refused"
