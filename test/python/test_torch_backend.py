# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The torch.compile backend: views, aliases, sizes, training, fallbacks."""

import contextlib
import copy
import gc
import math
import threading

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

import torch.nn.functional as F  # noqa: E402

from conftest import (  # noqa: E402
    bound,
    by_thread_count,
    compiled,
    in_child,
    in_threads,
)

from polynest import (  # noqa: E402
    env,
    errors,
    torch_backend,
    torch_functional,
)

NAMES = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
}


@pytest.fixture(autouse=True)
def fresh(fresh_torch):
    torch.manual_seed(3)


def leaves(tree):
    return torch.utils._pytree.tree_leaves(tree)


def same(have, want, exact=False):
    have, want = leaves(have), leaves(want)
    assert len(have) == len(want)
    for h, w in zip(have, want):
        if not isinstance(w, torch.Tensor):
            assert h == w and type(h) is type(w)
            continue
        assert h.dtype == w.dtype and h.shape == w.shape
        if exact or not w.is_floating_point():
            assert torch.equal(h, w)
            continue
        name = NAMES[w.dtype]
        off = (h.double() - w.double()).abs() > bound(w.double(), name, 1000)
        assert not bool(off.any()), f"{h[off][:8]} against {w[off][:8]}"
        assert torch.equal(h.isnan(), w.isnan())


def check(function, *inputs, whole=True, exact=False, **options):
    """Compares two calls with eager; returns the compiled function."""
    copies = [
        x.clone() if isinstance(x, torch.Tensor) else x for x in inputs
    ]
    with torch.no_grad():
        want = function(*copies)
        g = compiled(function, **options)
        same(g(*inputs), want, exact)
    if whole:
        assert not torch_backend.explain_fallbacks(), torch_backend.report()
    return g


# -- inputs and outputs --------------------------------------------------------


def test_entry_point():
    names = torch._dynamo.list_backends()
    from importlib.metadata import PackageNotFoundError, version

    try:
        version("polynest")
    except PackageNotFoundError:
        pytest.skip("the package is not installed")
    assert "polynest" in names
    f = torch.compile(lambda x: x + 1, backend="polynest")
    with torch.no_grad():
        same(f(torch.zeros(3)), torch.ones(3))


INPUTS = {
    "transposed": lambda: torch.randn(7, 5).t(),
    "permuted": lambda: torch.randn(2, 3, 4).permute(2, 0, 1),
    "channels_last": lambda: torch.randn(2, 3, 5, 4).to(
        memory_format=torch.channels_last
    ),
    "expanded": lambda: torch.randn(5, 1).expand(5, 7),
    "expanded_all": lambda: torch.randn(1).expand(4, 5),
    "expanded_transposed": lambda: torch.randn(3, 1, 4).expand(3, 2, 4).mT,
    "step": lambda: torch.randn(10, 14)[::2, ::2],
    "offset": lambda: torch.randn(10, 14)[3:, 5:],
    "column": lambda: torch.randn(6, 5)[:, 2],
    "overlapping": lambda: torch.randn(20).as_strided((4, 5), (3, 1)),
    "size_one_strides": lambda: torch.randn(4, 9)[:, :1],
    "zero_d": lambda: torch.randn(4)[2],
    "size_zero": lambda: torch.randn(0, 4),
    "bf16": lambda: torch.randn(4, 5).bfloat16().t(),
    "bool": lambda: (torch.randn(4, 5) > 0).t(),
    "u8": lambda: torch.randint(0, 255, (4, 5), dtype=torch.uint8).t(),
    "i64": lambda: torch.randint(-9, 9, (4, 5)).t(),
}


@pytest.mark.parametrize("name", INPUTS)
def test_strided_inputs(name):
    x = INPUTS[name]()
    check(
        lambda x: (x * 2, x.float().sum(), x.float() + 1),
        x,
    )


@pytest.mark.parametrize("name", INPUTS)
def test_result_strides(name):
    x = INPUTS[name]()
    function = lambda x: x.float() * 2 + 1  # noqa: E731
    with torch.no_grad():
        want, have = function(x), compiled(function)(x)
    if 0 not in want.stride():
        assert have.stride() == want.stride()


def test_input_returned():
    x, y = torch.randn(3, 4), torch.randn(3, 4)

    def function(x, y):
        return x, y.t(), x + y, x

    g = check(function, x, y)
    with torch.no_grad():
        result = g(x, y)
    assert result[0].data_ptr() == x.data_ptr()
    assert result[1].data_ptr() == y.data_ptr()


def test_none_numbers_duplicates():
    def function(x):
        y = x * 2
        return y, None, 3, "text", y, [y + 1, {"k": y}]

    check(function, torch.randn(4))


def test_result_is_a_constant():
    def function(x):
        return torch.tensor([1.0, 2.0]), torch.arange(4), x + 1

    check(function, torch.randn(4), whole=False)


def test_views_of_results():
    def function(x):
        y = x * 2
        return y, y[1:], y.t(), y.view(-1)

    check(function, torch.randn(3, 4))


def broken(x):
    y = x + 1
    z = y[0]
    torch._dynamo.graph_break()
    z.add_(5)
    return y


def written_out(x):
    y = x + 1
    z = y[:, :1]
    torch.mul(z, 2, out=z)
    return y


def viewed_before_break(x):
    y = x + 1
    t = y[0]
    x.unsqueeze_(0)
    y.add_(1)
    return t * 1


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize(
    "function", [broken, written_out, viewed_before_break]
)
def test_writes_between_graphs(function, grad, dynamic):
    g = compiled(function, dynamic=dynamic)
    with torch.set_grad_enabled(grad):
        for x in (torch.ones(2, 2), torch.randn(2, 2), torch.randn(3, 5)):
            same(g(x.clone()), function(x.clone()), exact=True)


# Of a tensor results with its memory.
SHARING = {
    "select": lambda y: (y, y[0]),
    "chunk": lambda y: (y, *y.chunk(2)),
    "split": lambda y: (*y.split([1, 3]), y),
    "unbind": lambda y: (*y.unbind(1), y.view(-1)),
    "view": lambda y: (y.view(y.shape[0], 2, -1), y),
    "expand": lambda y: (y, y[:, None].expand(-1, 3, -1)[:, 1]),
    "t": lambda y: (y.t(), y, y.t()[1:]),
    "hidden": lambda y: (y[0], y * 2, y[:, 1]),
    "twice": lambda y: (y, y[0], y, y[0], y.sum()),
    "permuted": lambda y: (lambda z: (z[1:], z.t().view(-1), z))(y.t() + 1),
    "pair": lambda y: (lambda m: (m[0], m[0][1:], m[1]))(y.max(1)),
    "eager": lambda y: (lambda z: (z, z[0]))(
        y + torch.bernoulli(torch.ones_like(y))
    ),
}


def written_in_turn(results):
    with torch.no_grad():
        for i, r in enumerate(results):
            r.add_(i + 1)
    return results


@pytest.mark.parametrize(
    "options",
    [{}, {"check": True}, {"results": "pool"}, {"dynamic": True}],
    ids=["plain", "check", "pool", "dynamic"],
)
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", SHARING)
def test_results_share_memory(name, grad, options):
    def function(x):
        return SHARING[name](x * 2 + 1)

    options = dict(options)
    dynamic = options.pop("dynamic", False)
    g = compiled(function, dynamic=dynamic, options=options)
    sizes = [(4, 4), (4, 4)]
    if dynamic and name not in ("split", "unbind", "chunk"):
        sizes.append((4, 6))
    with torch.set_grad_enabled(grad):
        for n in sizes:
            x = torch.randn(n)
            want = written_in_turn(function(x))
            have = written_in_turn(g(x))
            same(have, want)
            assert [h.stride() for h in have] == [w.stride() for w in want]
    if name != "eager":
        assert not torch_backend.explain_fallbacks(), torch_backend.report()


# Of an input results with its memory, at places that sizes decide.
OF_INPUTS = {
    "slice": lambda x: (x[x.shape[0] // 2 :],),
    "step": lambda x: (x.t()[x.shape[1] // 2 :: 2],),
    "chunk": lambda x: x.chunk(3, 1)[1:],
    "unfold": lambda x: (x.chunk(3)[1].unfold(0, 2, 1),),
    "select": lambda x: (x[x.shape[0] // 2],),
    "expand": lambda x: (x[1].expand(x.shape[0] + 1, x.shape[1]),),
    "view": lambda x: (x.view(x.shape[1], -1)[1:], x),
    "narrow": lambda x: (x.narrow(1, x.shape[1] // 4, x.shape[1] // 2),),
}


def written_behind(x):
    y = x[x.shape[0] // 2 :]
    x.add_(1)
    return x * 2, y


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", OF_INPUTS)
def test_results_share_memory_of_inputs(name, grad):
    def function(x):
        return (x * 2, *OF_INPUTS[name](x))

    g = compiled(function, dynamic=True)
    for n in ((8, 8), (12, 12)):
        x = torch.randn(n).requires_grad_(grad)
        want, have = function(x), g(x)
        same(have, want, exact=True)
        for h, w in zip(have[1:], want[1:]):
            assert h.data_ptr() == w.data_ptr()
            assert h.stride() == w.stride()
        if grad:
            sides = [
                torch.autograd.grad(sum((r * r).sum() for r in results), x)
                for results in (have, want)
            ]
            same(*sides)


def test_results_share_memory_of_written_inputs():
    g = compiled(written_behind, dynamic=True)
    for n in (4, 7):
        x = torch.randn(n, 5)
        y = x.clone()
        same(g(x), written_behind(y), exact=True)
        same(x, y, exact=True)


def test_results_share_memory_from_the_cache(cache):
    def function(x):
        y = x * 2 + 1
        return y.t(), y[1:], x + 3

    for found in (False, True):
        torch._dynamo.reset()
        torch_backend.reset_reports()
        torch_backend._PROGRAMS.clear()
        x = torch.randn(3, 5)
        with torch.no_grad():
            have = written_in_turn(compiled(function)(x))
            same(have, written_in_turn(function(x)))
        assert [r.cached for r in torch_backend.reports()] == [found]


@pytest.mark.parametrize("name", ["select", "t", "hidden", "view"])
def test_training_with_results_that_share_memory(name):
    def function(x):
        return SHARING[name](x.exp())

    x = torch.randn(4, 4)
    sides = []
    for f in (function, compiled(function)):
        a = x.clone().requires_grad_()
        results = f(a * 1)
        results[0].mul_(3)
        loss = sum((r * r).sum() for r in results)
        sides.append(([r.detach() for r in results], a))
        try:
            loss.backward()
        except RuntimeError as error:
            sides[-1] = "modified by an inplace" in str(error)
    if isinstance(sides[0], bool):
        assert sides[0] == sides[1]
    else:
        same(sides[1][0], sides[0][0])
        same(sides[1][1].grad, sides[0][1].grad)


def test_gradients_of_views_written_later():
    """Autograd knows what the views of results are views of."""
    y, z = compiled(lambda x: SHARING["select"](x + 1))(torch.ones(2, 2))
    w = torch.full((2,), 3.0, requires_grad=True)
    z.mul_(w)
    y.sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]


LAID_OUT = {
    "elementwise": ((5, 4), lambda x: x.t() * 2),
    "product": ((5, 4), lambda x: (x @ x.t()).t()),
    "view": ((2, 3, 9), lambda x: (x + 1).permute(2, 0, 1)),
    "channels last": (
        (2, 9, 9, 3),
        lambda x: torch.nn.functional.max_pool2d(x.permute(0, 3, 1, 2), 3),
    ),
    "convolution": (
        (2, 9, 9, 3),
        lambda x: torch.nn.functional.conv2d(
            x.permute(0, 3, 1, 2), torch.ones(4, 3, 3, 3)
        ),
    ),
    "attention": (
        (2, 5, 3, 8),
        lambda x: torch.nn.functional.scaled_dot_product_attention(
            *[x.transpose(1, 2)] * 3
        ),
    ),
    "contiguous": ((5, 4), lambda x: x.t().contiguous() + 1),
    "padded": (
        (2, 7, 5, 3),
        lambda x: torch.nn.functional.pad(
            x.permute(0, 3, 1, 2), (1, 2, 0, 1), mode="replicate"
        ),
    ),
    "beside a view": ((5, 4), lambda x: ((x + 1).t(), x.t() * 3)),
    "reshaped": ((5, 4, 3), lambda x: (x.permute(2, 0, 1) * 2).flatten(1)),
}


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", LAID_OUT)
def test_strides_of_results(name, dynamic, grad):
    sizes, function = LAID_OUT[name]
    g = compiled(function, dynamic=dynamic)
    for more in range(3 if dynamic else 1):
        x = torch.randn(sizes[0] + more, *sizes[1:], requires_grad=grad)
        want, have = function(x), g(x)
        if isinstance(want, torch.Tensor):
            want, have = [want], [have]
        same(have, want)
        assert [h.stride() for h in have] == [w.stride() for w in want]
    for report in torch_backend.reports():
        assert report.whole or report.kind == "backward", str(report)


def test_results_do_not_alias_between_calls():
    x = torch.randn(300, 400)
    with torch.no_grad():
        g = compiled(lambda x: x + 1)
        first = g(x)
        kept = first.clone()
        second = g(x * 5)
        assert torch.equal(first, kept)
        same(second, x * 5 + 1)


@pytest.mark.parametrize(
    "function, regions",
    [
        (lambda x: x.repeat_interleave(3, 1), 1),
        (lambda x: x.repeat_interleave(3, 0), 0),
        (lambda x: x.t().contiguous(), 1),
        (lambda x: x[0, 0].expand(70, 80).clone(), 0),
    ],
    ids=("elements", "rows", "turned", "one"),
)
def test_copies_alone(function, regions):
    check(function, torch.randn(64, 65), exact=True)
    assert [r.regions for r in torch_backend.reports()] == [regions]


def test_in_place():
    def function(x, y):
        x.add_(1)
        y[1:] *= 2
        return x * y

    x, y = torch.randn(4, 5), torch.randn(4, 5)
    a, b = x.clone(), y.clone()
    with torch.no_grad():
        want = function(a, b)
        have = compiled(function)(x, y)
    same((have, x, y), (want, a, b), exact=True)


def test_read_before_write():
    """The destination holds the source's values from before the add."""

    def function(dst, src):
        dst[0:] = src[0:]
        src += 1
        return src

    dst, src = torch.zeros(5), torch.randn(5)
    before = src.clone()
    with torch.no_grad():
        result = compiled(function)(dst, src)
    assert torch.equal(dst, before)
    assert torch.equal(result, before + 1) and torch.equal(src, before + 1)


def test_resize_after_in_place():
    def function(x):
        x += 1
        x.resize_(8)
        x[4:] = 0
        return x

    with torch.no_grad():
        want = function(torch.ones(4))
        try:
            have = compiled(function)(torch.ones(4))
        except Exception:
            return  # an error is one of the two right answers
    same(have, want)


def test_big_result_survives_its_program():
    with torch.no_grad():
        result = compiled(lambda x: x * 3, options={"results": "pool"})(
            torch.ones(1000, 1000)
        )
    torch._dynamo.reset()
    assert float(result.sum()) == 3e6


@pytest.mark.parametrize("results", ["auto", "pool", "torch"])
def test_results_option(results):
    g = check(
        lambda x: (x + 1, x.sum(), x.t() * 2),
        torch.randn(70, 50),
        options={"results": results},
    )
    if results == "torch":
        with torch.no_grad():
            result = g(torch.randn(70, 50))[0]
        result.resize_(10000)


def test_numerics_and_level_options():
    for level in ("plain", "default"):
        for numerics in ("default", "strict"):
            torch._dynamo.reset()
            check(
                lambda x: torch.softmax(x @ x.t(), -1),
                torch.randn(9, 17),
                options={"opt_level": level, "numerics": numerics},
            )


@pytest.mark.parametrize(
    "options, word",
    [
        ({"speed": "high"}, "speed"),
        ({"opt_level": "O3"}, "O3"),
        ({"strict": "no"}, "strict"),
        ({"results": "numpy"}, "numpy"),
    ],
)
def test_bad_options(options, word):
    with pytest.raises(Exception, match=word):
        with torch.no_grad():
            compiled(lambda x: x + 1, options=options)(torch.ones(2))


# -- sizes that are not fixed --------------------------------------------------------


def compiles():
    return len(torch_backend.reports())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + torch.full((1,), x.shape[0]),
        lambda x: x.view(-1, 2).sum(1),
        lambda x: torch.cat([x, x * 2]),
        lambda x: (x.softmax(0), x.shape[0] * 2),
        lambda x: x[1:] - x[:-1],
        lambda x: x.expand(3, x.shape[0]) + 1,
        lambda x: torch.arange(x.shape[0]) + x,
        lambda x: x.mean() * x.numel(),
        lambda x: x * (1.0 / math.sqrt(x.size(0))),
        lambda x: x / x.size(0) ** 0.5 - 1 / x.size(0),
        lambda x: x[:torch.sym_sum([x.size(0) // 2, x.size(0) // 4, -1])] + 1,
    ],
)
def test_dynamic_sizes(function):
    g = compiled(function, dynamic=True)
    with torch.no_grad():
        for n in (8, 10, 12, 16, 44):
            x = torch.randn(n)
            same(g(x), function(x))
    assert compiles() == 1, torch_backend.report()
    assert not torch_backend.explain_fallbacks(), torch_backend.report()


def test_chunks_of_dynamic_sizes():
    def function(x):
        return [y * 2 for y in x.chunk(4)]

    def run(backend, sizes):
        torch._dynamo.reset()
        graphs = []

        def counting(graph, inputs):
            graphs.append(graph)
            return backend(graph, inputs)

        g = torch.compile(function, backend=counting, dynamic=True)
        with torch.no_grad():
            for n in sizes:
                x = torch.randn(n)
                same(g(x), function(x))
        return len(graphs)

    ours, nothing = torch_backend.polynest, lambda graph, _: graph.forward
    assert run(ours, (8, 11, 12, 16, 44)) == 1
    assert not torch_backend.explain_fallbacks(), torch_backend.report()
    # Of a last part of one element Dynamo asks for a graph of its own.
    sizes = (8, 10, 12, 14, 44)
    assert run(ours, sizes) == run(nothing, sizes) <= 2


# Functions with a computed size that is 1 where it is broadcast, and numbers of
# rows, with some of which it is not: they make another graph.
SIZES_OF_ONE = {
    "slice": (lambda x: x[: x.shape[0] // 2] - x, (2, 3)),
    "rest": (lambda x: x[x.shape[0] // 2 :] * x, (2,)),
    "chunk": (lambda x: x.chunk(3)[0] - torch.ones(4, 16), (2, 12, 3, 11)),
    "last chunk": (lambda x: x.chunk(2)[-1] * x, (2, 3)),
    "split": (lambda x: [p * x for p in x.split(x.shape[0] // 2)], (2,)),
    "reshape": (lambda x: x.chunk(3)[0].reshape(-1, 1) - x.chunk(3)[0], (2, 3)),
    "divided": (lambda x: x.view(2, -1, 16) * x, (2,)),
    "parts": (
        lambda x: x.view(2, -1, 16)[:, : x.shape[0] // 2].exp() + x[None], (2,)
    ),
    "expand": (lambda x: x[: x.shape[0] // 2].expand(7, -1) * 2, (2, 3)),
    "full": (lambda x: x + x.new_full((x.shape[0] // 3, 1), 2.0), (3, 4, 5)),
    "product": (
        lambda x: x[: x.shape[0] // 2, None] @ torch.ones(4, 16, 5), (2, 8, 3)
    ),
    "extremes": (lambda x: x[: x.shape[0] // 2].max(1, True)[0] - x, (2, 3)),
    "written": (lambda x: x.clone().add_(x[: x.shape[0] // 2]), (2, 3)),
    "size": (lambda x: (x[: x.shape[0] // 2] - x, x.shape[0] // 2), (2, 3)),
    "range": (
        lambda x: x if x.shape[0] > 3 else x[: x.shape[0] // 2] - x, (2, 3, 5)
    ),
    "eager": (
        lambda x: torch.linalg.svdvals(x[: x.shape[0] // 2])
        + x[: x.shape[0] // 2] - x,
        (2, 3),
    ),
}


@pytest.mark.parametrize("name", SIZES_OF_ONE)
def test_computed_sizes_of_one(name):
    function, rows = SIZES_OF_ONE[name]
    g = compiled(function, dynamic=True)
    with torch.no_grad():
        for n in rows:
            x = torch.randn(n, 16)
            have, want = leaves(g(x)), leaves(function(x))
            same(have, want)
            for h, w in zip(have, want):
                assert w is h or type(w) is int or h.stride() == w.stride()
    left = torch_backend.explain_fallbacks()
    assert bool(left) == (name == "eager"), torch_backend.report()
    for n in rows:
        x = torch.randn(n, 16, requires_grad=True)
        gradients = []
        for f in (g, function):
            results = [r for r in leaves(f(x)) if type(r) is not int]
            total = sum((r * r).sum() for r in results)
            gradients += torch.autograd.grad(total, x)
        same(*gradients)


def test_dynamic_matmul():
    g = compiled(lambda a, b: torch.relu(a @ b) + 1, dynamic=True)
    with torch.no_grad():
        for m, k, n in ((3, 4, 5), (7, 9, 11), (33, 17, 65)):
            a, b = torch.randn(m, k), torch.randn(k, n)
            same(g(a, b), torch.relu(a @ b) + 1)
    assert compiles() == 1


def test_sizes_of_results_are_compared(monkeypatch):
    """A result of other sizes than the graph says is an error: here the program
    is made to say others."""
    from polynest import _capi

    def function(x, y):
        parts = x.view(-1, 4).exp(), torch.cat([x, y]), -x[: x.size(0) // 2]
        return *parts, (x[:, None] * y[None]).transpose(0, 1)

    g = compiled(function, dynamic=True)
    for n, m in ((16, 6), (20, 7)):
        x, y = torch.randn(n), torch.randn(m)
        for got, want in zip(g(x, y), function(x, y), strict=True):
            assert got.shape == want.shape
            torch.testing.assert_close(got, want)
    wrong = _capi.result_sizes
    for k, d in ((0, 0), (1, 0), (2, 0), (3, 0), (3, 1)):

        def other(*arguments, k=k, d=d):
            sizes = [list(s) for s in wrong(*arguments)]
            sizes[k][d] += 1
            return sizes

        monkeypatch.setattr(_capi, "result_sizes", other)
        with pytest.raises(errors.InternalError, match=f"result {k}"):
            g(torch.randn(24 + 4 * k), torch.randn(9 + d))


def test_dynamic_number():
    g = compiled(lambda x, n: x * n + n, dynamic=True)
    with torch.no_grad():
        for n in (3, 7, 11):
            x = torch.randn(5)
            same(g(x, n), x * n + n)
    assert compiles() <= 2


def test_size_changes():
    """Without dynamic=True Dynamo makes the size dynamic at the second one."""
    g = compiled(lambda x: torch.tanh(x).sum(1))
    with torch.no_grad():
        for n in (5, 6, 7, 9, 1, 0):
            x = torch.randn(n, 3)
            same(g(x), torch.tanh(x).sum(1))


# -- training ---------------------------------------------------------------------------


def gradients(model, inputs, call):
    model.zero_grad()
    ins = [x.clone().requires_grad_() for x in inputs]
    call(*ins).square().sum().backward()
    return [p.grad.clone() for p in model.parameters()] + [
        x.grad for x in ins
    ]


MODELS = {
    "mlp": lambda: (
        torch.nn.Sequential(
            torch.nn.Linear(5, 9), torch.nn.GELU(), torch.nn.Linear(9, 3)
        ),
        (torch.randn(4, 5),),
    ),
    "norms": lambda: (
        torch.nn.Sequential(
            torch.nn.LayerNorm(6), torch.nn.Linear(6, 8), torch.nn.SiLU(),
            torch.nn.LayerNorm(8),
        ),
        (torch.randn(4, 6),),
    ),
    "conv": lambda: (
        torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4),
            torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        ),
        (torch.randn(2, 3, 8, 8),),
    ),
    "attention": lambda: (
        torch.nn.MultiheadAttention(8, 2, batch_first=True),
        (torch.randn(2, 5, 8),) * 3,
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_training(name):
    model, inputs = MODELS[name]()
    model.eval() if name == "attention" else model.train()

    def run(*xs):
        result = model(*xs)
        return result[0] if isinstance(result, tuple) else result

    want = gradients(model, inputs, run)
    have = gradients(model, inputs, compiled(run))
    model.double()
    wide = gradients(model, [x.double() for x in inputs], run)
    # Gradients of norms are differences of nearly equal sums: what can be
    # asked for is an error like eager's own.
    for h, w, r in zip(have, want, wide):
        allowed = 4 * (w - r).abs().max() + bound(r, "f32", 1000)
        assert bool(((h - r).abs() <= allowed).all()), (h, w)
    kinds = {r.kind for r in torch_backend.reports()}
    assert kinds == {"forward", "backward"}


def test_training_steps():
    """Weights change in place between calls."""
    model = torch.nn.Linear(4, 3)
    other = torch.nn.Linear(4, 3)
    other.load_state_dict(model.state_dict())
    g = compiled(other)
    steps = [
        torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, other)
    ]
    for _ in range(4):
        x = torch.randn(5, 4)
        for call, step in zip((model, g), steps):
            step.zero_grad()
            call(x).square().mean().backward()
            step.step()
    same(list(other.parameters()), list(model.parameters()))


def test_weights_change_after_compilation():
    model = torch.nn.Linear(4, 3)
    g = compiled(model)
    x = torch.randn(2, 4)
    with torch.no_grad():
        g(x)
        model.weight.mul_(2)
        same(g(x), model(x))
        model.weight.data.add_(1)
        same(g(x), model(x))
        model.weight.data = torch.randn(3, 4)
        same(g(x), model(x))
        model.load_state_dict(torch.nn.Linear(4, 3).state_dict())
        same(g(x), model(x))


def test_avg_pool_gradient():
    """The last window of ceil mode covers two elements."""

    def function(x):
        return F.avg_pool1d(x, 3, 3, 0, True, True)

    x = torch.randn(1, 1, 5, requires_grad=True)
    compiled(function)(x).sum().backward()
    third = torch.tensor(1 / 3)
    want = torch.stack([third, third, third] + [torch.tensor(0.5)] * 2)
    torch.testing.assert_close(x.grad.flatten(), want)


# -- what must raise, or stay with eager ----------------------------------------------------

BAD_INDEX = {
    "gather": (lambda x, i: x.gather(0, i), 9),
    "gather_negative": (lambda x, i: x.gather(0, i), -1),
    "index_select": (lambda x, i: x.index_select(0, i), 9),
    "index_select_negative": (lambda x, i: x.index_select(0, i), -1),
    "index": (lambda x, i: x[i], 9),
    "index_negative": (lambda x, i: x[i], -10),
    "embedding": (lambda x, i: F.embedding(i, x.view(-1, 1)), 9),
    "embedding_negative": (lambda x, i: F.embedding(i, x.view(-1, 1)), -1),
    "scatter": (lambda x, i: x.scatter(0, i, 1.0), 9),
    "scatter_negative": (lambda x, i: x.scatter(0, i, 1.0), -1),
    "index_put": (lambda x, i: x.index_put((i,), x[:1]), 9),
    "index_add": (lambda x, i: x.index_add(0, i, x[:1]), 9),
    "index_add_negative": (lambda x, i: x.index_add(0, i, x[:1]), -1),
    "index_copy_negative": (lambda x, i: x.index_copy(0, i, x[:1]), -1),
    "index_fill": (lambda x, i: x.index_fill(0, i, 1.0), 9),
    "index_fill_negative": (lambda x, i: x.index_fill(0, i, 1.0), -10),
    "nll_loss": (
        lambda x, i: F.nll_loss(x.view(1, -1).log_softmax(1), i), 9
    ),
    "nll_loss_negative": (
        lambda x, i: F.nll_loss(x.view(1, -1).log_softmax(1), i), -1
    ),
    # There is another plane behind, or in front.
    "unpool": (
        lambda x, i: F.max_unpool2d(x[:2, None, None], planes(i, i * 0), 3), 9
    ),
    "unpool_negative": (
        lambda x, i: F.max_unpool2d(x[:2, None, None], planes(i * 0, i), 3), -1
    ),
}


def planes(*indices):
    return torch.stack(indices)[..., None]


@pytest.mark.parametrize("name", BAD_INDEX)
def test_bad_index_raises(name):
    function, bad = BAD_INDEX[name]
    x = torch.rand(9)
    with torch.no_grad():
        g = compiled(function)
        same(g(x, torch.tensor([4])), function(x, torch.tensor([4])))
        with pytest.raises((IndexError, RuntimeError)):
            function(x, torch.tensor([bad]))
        with pytest.raises((IndexError, RuntimeError)):
            g(x, torch.tensor([bad]))
        same(g(x, torch.tensor([8])), function(x, torch.tensor([8])))


def test_mixed_dtype_matmul():
    with pytest.raises(Exception, match="(?i)dtype|same type|bfloat16"):
        with torch.no_grad():
            compiled(torch.mm)(torch.randn(4, 8), torch.randn(8, 16).bfloat16())


def test_integer_division_by_zero_raises():
    zero = torch.zeros(4, dtype=torch.int32)
    with torch.no_grad():
        try:
            torch.ones(4, dtype=torch.int32) // zero
        except RuntimeError:
            return
        compiled(lambda a, b: a // b)(torch.ones_like(zero), zero)


def test_fallback_reasons():
    def function(x):
        values, _ = torch.mode(torch.tanh(x))
        return values * 2, torch.linalg.matrix_exp(x.sin()).log()

    check(function, torch.rand(4, 4), whole=False)
    found = torch_backend.explain_fallbacks()
    assert {f.op for f in found} == {
        "aten.mode.default",
        "aten.linalg_matrix_exp.default",
    }
    for f in found:
        assert f.reason and __file__ in f.place
    text = torch_backend.report()
    assert "mode" in text and "matrix_exp" in text and "left to eager" in text
    (one,) = torch_backend.reports()
    assert not one.whole and one.regions >= 2 and one.compile_s > 0


def test_many_alternations():
    """Regions and eager ops in turn, with values that skip over them."""

    def function(x):
        y, kept = x, []
        for i in range(5):
            y = torch.linalg.matrix_exp(torch.tanh(y) - i) * 1.5
            kept.append(y.sum())
        return y + x, torch.stack(kept)

    check(function, torch.randn(4, 4), whole=False)


def test_random_numbers_are_eager():
    g = compiled(lambda x: F.dropout(x, 0.5) * 2)
    x = torch.ones(1000)
    with torch.no_grad():
        a, b = g(x), g(x)
    assert not torch.equal(a, b)
    assert {0.0, 4.0} == set(a.unique().tolist())
    assert "random" in torch_backend.report()


def test_no_fallback_is_an_error():
    with torch.no_grad():
        with pytest.raises(Exception, match="aten.mode"):
            compiled(lambda x: torch.mode(x)[0] + 1,
                     options={"strict": True})(torch.randn(4))
    torch._dynamo.reset()
    with env.scope(POLYNEST_STRICT="1"), torch.no_grad():
        with pytest.raises(Exception, match="aten.mode"):
            compiled(lambda x: torch.mode(x)[0] + 1)(torch.randn(4))


def test_complex_is_refused_by_name():
    def function(x):
        z = torch.view_as_complex(x)
        return torch.view_as_real(z * z.conj()) + 1

    check(function, torch.randn(4, 2), whole=False)
    assert "complex" in torch_backend.report()


def test_data_dependent_size():
    check(lambda x: (x + 1)[x > 0] * 2, torch.randn(20), whole=False)


def test_graph_break():
    def function(x):
        y = x * 2
        if float(y.sum()) > 0:
            return y + 1
        return y - 1

    check(function, torch.ones(4), whole=False)
    check(function, -torch.ones(4), whole=False)


def test_custom_op_stays_with_eager():
    @torch.library.custom_op("polynest_test::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    twice.register_fake(torch.empty_like)
    check(lambda x: twice(x + 1) * 3, torch.randn(4), whole=False)
    assert "twice" in torch_backend.report()


# -- same results, whatever is beside -------------------------------------------------------


def test_extra_output_changes_nothing():
    a, b = torch.randn(33, 65), torch.randn(65, 17)
    with torch.no_grad():
        one = compiled(lambda a, b: a @ b)(a, b)
        torch._dynamo.reset()
        two = compiled(lambda a, b: (a @ b, (a @ b).sum()))(a, b)[0]
    assert torch.equal(one, two)


def test_thread_count_changes_nothing():
    x = torch.randn(64, 300)
    g = compiled(lambda x: torch.softmax(x @ x.t(), 1).sum(0))
    with torch.no_grad():
        found = by_thread_count((1, 2, 3), lambda: g(x).clone())
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])


def test_many_threads():
    g = compiled(lambda x, y: torch.softmax(x @ y, -1))
    with torch.no_grad():
        g(torch.randn(9, 7), torch.randn(7, 5))

    def work(_):
        with torch.no_grad():
            for _ in range(50):
                x, y = torch.randn(9, 7), torch.randn(7, 5)
                same(g(x, y), torch.softmax(x @ y, -1))

    in_threads(6, work)


def test_inference_mode():
    g = compiled(lambda x: x * 2 + 1)
    with torch.inference_mode():
        x = torch.randn(5)
        same(g(x), x * 2 + 1)
        same(g(x), x * 2 + 1)


def test_equal_graphs_compile_once():
    f = compiled(lambda x: x * 2.5 + 1)
    g = compiled(lambda x: x * 2.5 + 1)
    x = torch.randn(6)
    with torch.no_grad():
        f(x), g(x)
    first, second = torch_backend.reports()
    assert first.compile_s > 10 * second.compile_s


@pytest.mark.parametrize("dynamic", [False, True])
def test_copies_alone_are_compiled_where_they_turn(dynamic):
    """A copy along another dimension than the operand lies in is one kernel, of
    whole rows it is eager's; also where sizes are not known."""
    for f, sizes, regions in (
        (lambda x: x.t().contiguous(), (97, 130), 1),
        (lambda x: x.permute(2, 0, 1)[:, 1:].contiguous(), (7, 30, 65), 1),
        (lambda x: x[1:].clone(), (97, 130), 0),
    ):
        x = torch.randn(sizes)
        torch_backend.reset_reports()
        with torch.no_grad():
            assert torch.equal(compiled(f, dynamic=dynamic)(x), f(x))
        assert [r.regions for r in torch_backend.reports()] == [regions]


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("options", [{}, {"freeze": True}])
def test_small_calls(options, strided):
    """What is called without AOTAutograd's wrapper: several results, plain
    values among them, one argument twice, one not at all, other strides, other
    threads."""
    from concurrent.futures import ThreadPoolExecutor

    w = torch.nn.Parameter(torch.randn(4, 4))

    def f(x, y, unused):
        z = x + y
        out = z @ w
        if strided:
            out = out.t().contiguous().t()
        return z.sum(), None, 7, out, z, {"twice": z * 2}

    g = compiled(f, options=options or None)
    with torch.no_grad():
        inputs = [
            (torch.randn(4, 4), torch.randn(4, 4), torch.randn(1)),
            (torch.randn(4, 4).t(), torch.randn(8, 4)[::2], torch.randn(1)),
        ]
        inputs.append((inputs[0][0], inputs[0][0], inputs[0][0]))
        for x in inputs * 2:
            have, want = g(*x), f(*x)
            assert have[1:3] == (None, 7) and len(have) == 6
            for i in (0, 3, 4):
                torch.testing.assert_close(have[i], want[i])
                assert not have[i].requires_grad
            torch.testing.assert_close(have[5]["twice"], want[5]["twice"])

        def run(i):
            x = torch.full((4, 4), float(i))
            with torch.no_grad():
                for _ in range(50):
                    assert (g(x, x, x)[4] == 2 * i).all()
            return True

        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(run, range(4)))
    with torch.inference_mode():
        x = inputs[0]
        torch.testing.assert_close(g(*x)[0], f(*x)[0])


def test_weights_are_not_in_the_text():
    from polynest import torch_frontend as frontend

    texts = []
    original = torch_backend._program

    def spy(text, *arguments):
        texts.append(text)
        return original(text, *arguments)

    model = torch.nn.Linear(300, 200)
    constant = torch.randn(50, 200)
    torch_backend._program = spy
    try:
        check(lambda x: model(x) + constant, torch.randn(50, 300))
    finally:
        torch_backend._program = original
    assert len(texts) == 1 and len(texts[0]) < 5000
    assert "dense_resource" not in texts[0]
    assert frontend.DYNAMIC is None


def test_library_error_types():
    # Eager raises either, by the op.
    assert issubclass(errors.ProgramAssertionError, IndexError)
    assert issubclass(errors.ProgramAssertionError, RuntimeError)


# -- frozen weights ----------------------------------------------------------------


def frozen(model):
    return compiled(model, options={"freeze": True})


@pytest.fixture
def states(monkeypatch):
    """An element for each time that weights were packed."""
    made, state = [], torch_backend.State

    def counted(*arguments):
        made.append(1)
        return state(*arguments)

    monkeypatch.setattr(torch_backend, "State", counted)
    return made


def network():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(16 * 81, 40),
        torch.nn.GELU(),
        torch.nn.Linear(40, 33),
    ).eval()
    model[1].running_mean.normal_()
    model[1].running_var.uniform_(0.5, 2.0)
    return model


def test_frozen_weights_follow_changes():
    model = network()
    f = frozen(model)
    x = torch.randn(4, 3, 9, 9)
    with torch.no_grad():
        same(f(x), model(x))
        bits = f(x)
        assert torch.equal(f(x), bits)
        model[4].weight.mul_(2.0)
        same(f(x), model(x))
        model[1].running_mean.add_(1.0)
        same(f(x), model(x))
        model[6].weight = torch.nn.Parameter(torch.randn(33, 40))
        same(f(x), model(x))
        assert not torch.equal(f(x), bits)


def test_weights_made_in_inference_mode_are_not_frozen(states):
    """They have no version by which a change would be seen."""
    with torch.inference_mode():
        model = network()
    f = frozen(model)
    x = torch.randn(4, 3, 9, 9)
    for context in (torch.no_grad, torch.inference_mode):
        with context():
            same(f(x), model(x))
        with torch.inference_mode():
            model[4].weight.mul_(2.0)
            model[1].running_mean.add_(1.0)
        with context():
            same(f(x), model(x))
    assert not states


def test_frozen_weights_replaced_by_those_of_inference_mode():
    model = torch.nn.Linear(256, 256, bias=False).eval()
    f = frozen(model)
    x = torch.randn(192, 256)
    with torch.inference_mode():
        same(f(x), model(x))
        # A change of what is no tensor of this mode is counted.
        model.weight.mul_(2.0)
        same(f(x), model(x))
        for _ in range(2):
            model.weight = torch.nn.Parameter(torch.randn(256, 256))
            same(f(x), model(x))
            model.weight.mul_(2.0)
            same(f(x), model(x))


def test_frozen_weights_replaced_at_the_same_address():
    # Large enough to be packed, so that calls do not read the weight itself.
    model = torch.nn.Linear(256, 256, bias=False).eval()
    f = frozen(model)
    x = torch.randn(192, 256)
    with torch.no_grad():
        same(f(x), model(x))
        # Freed memory is handed out again; each weight has version 0.
        for _ in range(10):
            for _ in range(2):
                model.weight = torch.nn.Parameter(torch.randn(256, 256))
            same(f(x), model(x))


def test_frozen_weights_are_packed_once(states):
    model = network()
    f = frozen(model)
    with torch.no_grad():
        for _ in range(5):
            f(torch.randn(4, 3, 9, 9))
    assert len(states) == 1


class Counted(torch.nn.Module):
    """Adds up what it has seen in a buffer."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(64, 64)
        self.register_buffer("seen", torch.zeros(64))

    def forward(self, x):
        self.seen.add_(x.sum(0))
        return self.linear(x) + self.seen


def test_buffers_that_calls_write_to_are_not_frozen(states):
    model = Counted().eval()
    plain = copy.deepcopy(model)
    f = frozen(model)
    with torch.no_grad():
        for _ in range(4):
            x = torch.randn(8, 64)
            same(f(x), plain(x))
            same(model.seen, plain.seen)
    assert len(states) == 1


def test_frozen_weights_with_gradients_are_arguments():
    model = torch.nn.Linear(5, 3)
    f = frozen(model)
    x = torch.randn(2, 5)
    f(x).sum().backward()
    have = model.weight.grad.clone()
    model.weight.grad = None
    model(x).sum().backward()
    same(have, model.weight.grad)


def test_changes_are_seen_with_fewer_guards(fresh_torch):
    """As docs/pytorch.md advises: modules are asked for again where one changed."""
    model = network()
    x = torch.randn(4, 3, 9, 9)
    with torch._dynamo.config.patch(use_recursive_dict_tags_for_guards=True):
        f = frozen(model)
        with torch.no_grad():
            for change in (
                lambda: None,
                lambda: model[4].weight.mul_(2.0),
                lambda: model[1].running_var.add_(1.0),
                lambda: setattr(model[1], "eps", 0.5),
                lambda: setattr(model[6], "bias", torch.nn.Parameter(torch.ones(33))),
                lambda: setattr(model[6].weight, "data", torch.randn(33, 40)),
                lambda: setattr(model[0].weight, "data", torch.randn(16, 3, 3, 3)),
                lambda: model.__setitem__(2, torch.nn.Sigmoid()),
            ):
                change()
                for _ in range(3):
                    same(f(x), model(x))
            # Another shape at the same address.
            weight = model[6].weight
            weight.data = weight.data.reshape(-1)[: 20 * 40].reshape(20, 40)
            model[6].bias.data = model[6].bias.data[:20]
            same(f(x), model(x))


def test_frozen_strided_and_shared_weights():
    first = torch.nn.Linear(8, 8, bias=False)
    second = torch.nn.Linear(8, 8, bias=False)
    second.weight = torch.nn.Parameter(first.weight.detach().t())
    model = torch.nn.Sequential(first, second, first).eval()
    f = frozen(model)
    x = torch.randn(3, 8)
    with torch.no_grad():
        same(f(x), model(x))
        first.weight.add_(0.5)
        same(f(x), model(x))


def test_frozen_with_dynamic_sizes():
    model = torch.nn.Linear(6, 7).eval()
    f = compiled(model, options={"freeze": True}, dynamic=True)
    with torch.no_grad():
        for n in (3, 5, 2):
            x = torch.randn(n, 6)
            same(f(x), model(x))


def test_frozen_calls_from_threads():
    model = network()
    f = frozen(model)
    x = torch.randn(2, 3, 9, 9)
    with torch.no_grad():
        want = model(x)
        f(x)
    results = []

    def work(_):
        with torch.no_grad():
            for _ in range(10):
                results.append(f(x))

    in_threads(4, work)
    assert len(results) == 40
    for have in results:
        same(have, want)


RESHAPES = {
    "column": lambda y: y.reshape(-1, 1),
    "row": lambda y: y.reshape(1, -1),
    "other-rows": lambda y: y.reshape(-1, 3),
    "two-rows": lambda y: y.reshape(2, -1),
    "swapped": lambda y: y.reshape(y.shape[1], y.shape[0]),
    "more": lambda y: y.reshape(2, -1, 3),
    "ones": lambda y: y.reshape(-1, 2, 1),
    "fewer": lambda y: y.reshape(2, 3, -1).reshape(-1, 4),
    "same-rank-3": lambda y: y.reshape(2, 3, -1).reshape(1, 1, -1),
    "flat": lambda y: y.reshape(-1),
}


@pytest.mark.parametrize("name", RESHAPES)
def test_reshape_of_dynamic_sizes(name):
    function = compiled(lambda y: RESHAPES[name](y + 1) * 2, dynamic=True)
    for sizes in ((4, 6), (8, 12), (12, 3)):
        y = torch.arange(float(sizes[0] * sizes[1])).reshape(sizes)
        want = RESHAPES[name](y + 1) * 2
        got = function(y)
        assert got.shape == want.shape and torch.equal(got, want)


JOINS = {
    "all-but-last": lambda y: y.reshape(-1, y.shape[-1]),
    "first-two": lambda y: y.reshape(-1, y.shape[2], y.shape[3]),
    "middle": lambda y: y.reshape(y.shape[0], -1, y.shape[3]),
    "last-two": lambda y: y.reshape(y.shape[0], y.shape[1], -1),
    "halves": lambda y: y.reshape(-1, y.shape[2] * y.shape[3]),
    "parted": lambda y: y.reshape(y.shape[0], 2, 2, y.shape[2], y.shape[3]),
    "other": lambda y: y.reshape(y.shape[2], -1, y.shape[0]),
    "last-parted": lambda y: y.reshape(*y.shape[:3], 2, -1),
}


@pytest.mark.parametrize("name", JOINS)
def test_joins_of_dynamic_sizes(name):
    function = compiled(lambda y: JOINS[name](y + 1) * 2, dynamic=True)
    for batch, rows in ((3, 9), (2, 5), (8, 12)):
        y = torch.arange(batch * 4.0 * rows * 6).reshape(batch, 4, rows, 6)
        want = JOINS[name](y + 1) * 2
        got = function(y)
        assert got.shape == want.shape and torch.equal(got, want)


MOVES = {
    "repeat": lambda y: y.repeat(1, 2, 1, 3),
    "repeat-front": lambda y: y.repeat(2, 1, 1, 1, 4, 1),
    "repeat-rows": lambda y: y.repeat(1, 1, y.shape[0], 1),
    "repeat-nothing": lambda y: (-y).repeat(1, 0, 1, 2),
    "tile": lambda y: torch.tile(y, (3,)),
    "heads": lambda y: (-y).transpose(1, 2).reshape(y.shape[0], y.shape[2], -1),
    "last-first": lambda y: (-y).permute(3, 0, 1, 2).reshape(-1, y.shape[0] * 4),
    "shuffle": lambda y: F.pixel_shuffle(-y, 2),
    "unshuffle": lambda y: F.pixel_unshuffle(y, 2),
}


@pytest.mark.parametrize("name", MOVES)
def test_moves_of_dynamic_sizes(name, tmp_path):
    """Values go where a reshape of them is copied, at once."""
    function = compiled(
        lambda y: MOVES[name](y), dynamic=True, options={"dump": str(tmp_path)}
    )
    for batch, rows in ((9, 30), (2, 6), (8, 14)):
        y = torch.arange(batch * 4.0 * rows * 6).reshape(batch, 4, rows, 6)
        torch._dynamo.mark_static(y, 1)
        y[0, 1, 2, :4] = torch.tensor([-0.0, math.nan, math.inf, -math.inf])
        want = MOVES[name](y)
        got = function(y)
        assert got.shape == want.shape
        assert torch.equal(got.view(torch.int32), want.view(torch.int32))
    (path, *_) = tmp_path.glob("*/*/s3.mlir")
    assert "memref.alloc" not in path.read_text()


def test_rolls_past_the_end_of_dynamic_sizes():
    def function(x):
        return x.roll(7), x.roll(-9, 0), x.roll(2, 0) * 2

    g = compiled(function, dynamic=True)
    for n in (12, 5, 7, 2, 30):
        x = torch.arange(float(n))
        same(g(x), function(x))


def test_size_of_another_tensor():
    """A number that no dimension of the region's tensors shows."""
    function = compiled(
        lambda x, a: x.reshape(4, a.shape[0]) + a.shape[0], dynamic=True
    )
    for rows in (5, 7, 2):
        x, a = torch.arange(4.0 * rows), torch.zeros(rows)
        want = x.reshape(4, rows) + rows
        assert torch.equal(function(x, a), want)
    assert not torch_backend.explain_fallbacks()


def test_attention_block_of_dynamic_sizes():
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = torch.nn.Linear(24, 72)
            self.out = torch.nn.Linear(24, 24)

        def forward(self, x):
            batch, rows, width = x.shape
            parts = self.qkv(x).view(batch, rows, 3, 3, 8)
            q, k, v = parts.permute(2, 0, 3, 1, 4)
            scores = torch.softmax(q @ k.transpose(-1, -2), -1)
            joined = (scores @ v).transpose(1, 2).reshape(batch, rows, width)
            return x + self.out(joined)

    block = Block().eval()
    function = compiled(block, dynamic=True, options={"freeze": True})
    with torch.no_grad():
        for batch, rows in ((3, 17), (2, 5), (8, 12)):
            x = torch.randn(batch, rows, 24)
            torch.testing.assert_close(function(x), block(x))


def test_views_that_negate(fresh_torch):
    """torch keeps a bit that says so; memory holds other numbers."""
    function = compiled(lambda a, b: (a + a, a * b))
    ones, two = torch.ones(20, 400), torch.full((20, 400), 2.0)
    for x in (torch._neg_view(ones), torch.complex(ones, ones).conj().imag,
              ones, -ones):
        for given, want in zip(function(x, two), (x + x, x * two)):
            assert torch.equal(given, want)
    assert torch.equal(ones, torch.ones(20, 400))


@pytest.mark.parametrize("collects", [True, False])
def test_collector_rests_while_graphs_compile(collects, monkeypatch):
    """What is made of a graph brings on no search through all objects, and
    whether Python collects is as it was, errors or not."""
    seen = []

    def functional(*arguments):
        seen.append(gc.isenabled())
        raise RuntimeError("planted")

    def backend(module, inputs):
        with monkeypatch.context() as patch:
            patch.setattr(torch_functional, "functional", functional)
            with pytest.raises(RuntimeError, match="planted"):
                torch_backend.polynest(
                    module, inputs, options={"cache": False}
                )
        seen.append(gc.isenabled())
        built = torch_backend.polynest(module, inputs)
        seen.append(gc.isenabled())
        return built

    before = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        x = torch.arange(6.0)
        with torch.no_grad():
            out = torch.compile(lambda x: x * 3, backend=backend)(x)
    finally:
        (gc.enable if before else gc.disable)()
    assert torch.equal(out, x * 3)
    assert seen == [False, collects, collects]


@pytest.mark.parametrize("compiles", [False, True])
def test_collector_of_a_forked_child(compiles):
    """Where another thread compiles, a child has a collector all the same, but
    none until what it compiles itself is done."""
    inside, done = threading.Event(), threading.Event()

    def compile_meanwhile():
        with torch_backend._without_collector():
            inside.set()
            done.wait()

    assert gc.isenabled()
    other = threading.Thread(target=compile_meanwhile)
    other.start()
    inside.wait()
    with contextlib.ExitStack() as own:
        if compiles:
            own.enter_context(torch_backend._without_collector())

        def collects_in_time():
            collects = gc.isenabled()
            own.close()
            return collects != compiles and gc.isenabled()

        good = in_child(collects_in_time)
    collects = gc.isenabled()
    done.set()
    other.join()
    assert good and not collects and gc.isenabled()
