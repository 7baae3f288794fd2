# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that are made functional without AOTAutograd are those that it makes, and
what only it can treat is left to it."""

import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

import torch.nn.functional as F  # noqa: E402
from conftest import ROOT  # noqa: E402
from functorch.compile import make_boxed_func  # noqa: E402
from torch._dynamo.backends.common import aot_autograd  # noqa: E402

sys.path.insert(0, str(ROOT / "test" / "benchmark"))

from polynest import (  # noqa: E402
    torch_backend,
    torch_functional,
    torch_recurrent,
)
from polynest.torch_decompositions import (  # noqa: E402
    decomposition_table,
    decompositions,
)

pytestmark = pytest.mark.usefixtures("fresh_torch")

ALIAS = torch.ops.aten.alias.default


def sides(function, inputs, mode=torch.no_grad):
    """The graph as this package makes it, or why it does not, and as
    AOTAutograd does."""
    found = []

    def backend(module, example_inputs):
        module = torch_recurrent.replace(module)
        try:
            ours, _ = torch_functional.functional(module, decompositions())
        except torch_functional.Unusual as reason:
            ours = str(reason)

        def keep(graph, _):
            found.append((ours, graph))
            return make_boxed_func(graph.forward)

        return aot_autograd(
            fw_compiler=keep,
            inference_compiler=keep,
            decompositions=decomposition_table(),
        )(module, example_inputs)

    with mode():
        torch.compile(function, backend=backend, dynamic=False)(*inputs)
    assert len(found) == 1
    return found[0]


def meaning(module):
    """Of each result an expression of the inputs, shared parts once; which of
    several nodes comes first does not matter. Aliases are what they name."""
    expressions, number = {}, {}

    def look(value):
        if isinstance(value, torch.Tensor):
            return str((value.dtype, tuple(value.shape), value.stride()))
        if isinstance(value, (tuple, list)):
            return str([look(v) for v in value])
        return repr(value)

    for node in module.graph.nodes:
        if node.target is ALIAS:
            number[node] = number[node.args[0]]
            continue
        args = torch.fx.node.map_arg(
            (node.args, node.kwargs), lambda n: f"%{number[n]}"
        )
        if node.op == "output":
            names = {i: text for text, i in expressions.items()}
            return str(args), names
        what = node.name if node.op == "placeholder" else f"{node.target}{args}"
        text = f"{what} {look(node.meta['val'])}"
        number[node] = expressions.setdefault(text, hash(text))


def inplace(x):
    y = x + 1
    F.relu(y, inplace=True)
    y += 2
    y.mul_(x)
    return y * 2


def written_before_views(x):
    y = torch.zeros(4, 4)
    y.copy_(x.double())
    y.fill_(3)
    return y[1:] - x[1:], (x + 1).masked_fill_(x > 0, -1)


def written_input(x):
    y = x * 2
    x.add_(1)
    x *= y
    return x - y, y


def several(x):
    a, b = x.chunk(2)
    values, places = torch.max(x, 1)
    return torch.cat([b, a], 1), values, places, torch.stack(x.unbind(1))


def composites(x):
    y = F.layer_norm(x, (4,)).contiguous().to(torch.float64)
    z = torch.where(x > 0, x, -1.0).sum()
    return y, z, torch.einsum("ij,kj->ik", x, x), F.pad(x, (1, 1))


def made_here(x):
    i = torch.arange(4)
    return x[i, i], x.new_zeros(3), torch.full((2, 2), 0.5), torch.ones_like(x)


def twice(x):
    """Equal but for which arguments are the same tensor."""
    y = x + 1
    return x * x + x * y, y * y + y * x


def signs(x):
    """Equal but for a number's type or sign."""
    return x * 0.0 + 1, x * -0.0 + 1.0, x.int() * 2, x.int() * 2.0


def looks(x):
    """Equal but for strides and types of arguments."""
    return x + 1, x.t() + 1, x.int() + 1, x.double() + 1


def detached(x):
    return x.detach() * 2, x.T @ x, x.mT + 1, x.expand(2, 4, 4) + 1


def pools(x):
    """Indices that are read, that nobody reads, and of a single image."""
    image = x[None]
    one, places = F.max_pool2d(image, 2, return_indices=True)
    two = F.max_pool2d(image[None], 3, 1, 1)
    return one, places + 1, two, F.adaptive_max_pool2d(image[None], 2)


def of_meta(x):
    """What is asked of tensors of the meta device, of unusual layouts."""
    turned = (x.unsqueeze(1) * x[:, :1]).permute(2, 0, 1)
    long = x.view(2, 1, 8)
    one = x[1:2].unsqueeze(0)
    return (
        turned + turned.neg(),
        turned[1:3].sqrt() / 2,
        F.pad(turned, (1, 2)),
        turned.sum(1),
        turned.mean((0, 2), keepdim=True),
        turned - x,
        torch.sigmoid(x.t()[::2]) + torch.tanh(x.t()[::2]),
        torch.rsqrt(one.exp()).view(1, 4, 1),
        one.permute(2, 1, 0).view(4, 1) * 3,
        long.transpose(1, 2) * 2,
        long.expand(2, 3, 8).sum(-1),
        torch.bmm(turned, turned.mT),
        torch.mm(x, x.t()),
        torch.addmm(x[0], x.t(), x),
        torch.empty(0, 3),
        (x > 0) + x.to(torch.int32) * 2.5,
    )


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize(
    "function",
    [
        of_meta,
        inplace,
        written_before_views,
        written_input,
        several,
        composites,
        made_here,
        twice,
        signs,
        looks,
        detached,
        pools,
    ],
)
def test_same_graph(function, mode):
    ours, theirs = sides(function, [torch.randn(4, 4)], mode)
    assert not isinstance(ours, str), ours
    assert meaning(ours) == meaning(theirs)


def test_indices_that_nobody_reads_are_not_made():
    """They go by their own, and to make them takes longer than all the rest."""
    found = []
    dispatch = torch_functional._Recorder.__torch_dispatch__

    def counted(self, func, types, args=(), kwargs=None):
        found.append(func)
        return dispatch(self, func, types, args, kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            torch_functional._Recorder, "__torch_dispatch__", counted
        )
        sides(lambda x: F.max_pool2d(x, 3, 2, 1), [torch.randn(1, 2, 8, 8)])
        few = len(found)
        sides(
            lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
            [torch.randn(1, 2, 8, 8)],
        )
    assert few < 8 < len(found) - few


@pytest.mark.parametrize(
    "name",
    [
        "ResNet-50",
        "MobileNetV2",
        "BERT-base",
        "GPT-2",
        "GPT-2, decode",
        "Llama, 8 layers, decode",
        "U-Net with attention",
        "DLRM",
        "LSTM",
    ],
)
def test_same_graph_of_models(name):
    """The more so where modules hold parameters, which need gradients
    elsewhere: what some ops are made of goes by that."""
    pytest.importorskip("transformers")
    import model_zoo

    subject = model_zoo.build(name, small=True)
    torch._dynamo.config.allow_rnn = subject.rnn
    ours, theirs = sides(subject.module, subject.inputs(2))
    assert not isinstance(ours, str), ours
    assert meaning(ours) == meaning(theirs)


def view_of_written(x):
    y = x + 1
    z = y[1:]
    y.mul_(2)
    return z + 1


def written_view(x):
    y = x + 1
    y[1:].mul_(2)
    return y + 1


def other_rows(x):
    """Views of views that look alike and begin elsewhere."""
    y = x + 1
    z, w = y[0:3][0:1], y[1:3][0:1]
    z.add_(1)
    return w * 2


def written_row(x):
    y = x * 2
    x[1].add_(1)
    return y


def shared(x):
    y = x + 1
    return y, y[0]


def view_of_input(x):
    return x.t()


def random(x):
    return F.dropout(x, 0.5, True)


def captured(x):
    return torch.tensor([1.0, 2.0, 3.0, 4.0]) + x


def turned(x):
    y = x + 1
    y.t_()
    return y * x


def rounded(x):
    y = x.half()
    y *= x
    return y


def given(x):
    y = torch.empty(4, 4)
    torch.add(x, 1, out=y)
    return y * 2


def conjugate(x):
    y = torch.complex(x, x)
    z = y.conj()
    y.mul_(2)
    return z.real * 2


def by_memory(x):
    y = x + 1
    y.as_strided((2, 2), (1, 2), 1).zero_()
    return y


def stale_by_memory(x):
    y = x + 1
    z = y.as_strided((2, 2), (6, 1), 0)
    y.add_(1)
    return z * 2


def from_the_start(x):
    return (x + 1)[1:].as_strided((4,), (1,), 0) * 2


LEFT = [
    (view_of_written, "view of what was written"),
    (written_view, "view of what was written"),
    (other_rows, "view of what was written"),
    (written_row, "a part of an input that is written"),
    (by_memory, "as_strided"),
    (stale_by_memory, "as_strided"),
    (from_the_start, "as_strided"),
    (shared, "shares memory"),
    (view_of_input, "shares memory"),
    (random, "native_dropout"),
    (captured, "captured tensor"),
    (turned, "t_"),
    (rounded, "another type"),
    (given, "add.out"),
    (conjugate, "negates or conjugates"),
]


@pytest.mark.parametrize("function,reason", LEFT)
def test_left_to_autograd(function, reason):
    ours, _ = sides(function, [torch.randn(4, 4)])
    assert isinstance(ours, str) and reason in ours


def test_gradients_and_autocast_are_left():
    x = torch.randn(4, 4, requires_grad=True)
    ours, _ = sides(lambda x: x * 2, [x], torch.enable_grad)
    assert ours == "gradients"
    with torch.autocast("cpu", dtype=torch.bfloat16):
        ours, _ = sides(lambda x: x @ x, [torch.randn(4, 4)])
    assert ours == "autocast"


@pytest.mark.parametrize("function", [f for f, _ in LEFT[:9]] + [inplace])
def test_results_and_what_is_written(function):
    """As in eager, in whichever way it is compiled."""
    x = torch.randn(4, 4)
    mine, theirs = x.clone(), x.clone()
    with torch.no_grad():
        want = function(theirs)
        have = torch.compile(function, backend=torch_backend.polynest)(mine)
    torch.testing.assert_close(have, want)
    torch.testing.assert_close(mine, theirs)


def exchanged(x, y):
    z = x.clone()
    x.copy_(y)
    y.copy_(z)
    return z


def kept_before(x, y):
    before = x.clone()
    x.add_(y)
    x[0]
    return before, x * y


def turned_over(x, y):
    x.copy_(x.t().clone())
    y.copy_(x)
    return x.sum()


def counted(x, y):
    """As caches of decoding are: a row written, and its number."""
    place = y[0, :1].long() * 0 + 2
    x.index_copy_(1, place, y[:, :1] * 2)
    y.mul_(2).add_(1)
    return (x @ y).relu()


def left_in_between(x, y):
    x.add_(1)
    y.copy_(torch.linalg.qr(x)[1])
    return x * y


WRITTEN = [exchanged, kept_before, turned_over, counted, left_in_between]


@pytest.mark.parametrize("options", [{}, {"freeze": True}], ids=str)
@pytest.mark.parametrize("function", WRITTEN)
def test_written_inputs(function, options):
    """Of the same values as in eager at each call; the second time with memory
    that both inputs share, which is written before it is read."""
    compiled = torch.compile(
        function, backend=torch_backend.polynest, options=options, dynamic=False
    )
    mine = [torch.randn(4, 4), torch.randn(4, 4)]
    for a, b in ((0, 1), (1, 0), (0, 0)):
        theirs = [x.clone() for x in mine]
        with torch.no_grad():
            have = compiled(mine[a], mine[b].view(4, 4))
            want = function(theirs[a], theirs[b].view(4, 4))
        torch.testing.assert_close(have, want)
        torch.testing.assert_close(mine, theirs)


def test_written_inputs_are_counted():
    """Whoever keeps what was computed from them sees that they have changed."""
    x = torch.randn(4)
    before = x._version
    with torch.no_grad():
        torch.compile(
            lambda x: x.add_(1).sum(), backend=torch_backend.polynest
        )(x)
    assert x._version > before


def test_parts_left_to_eager():
    """A graph of several parts, called without AOTAutograd's wrapper."""

    def function(x):
        y = torch.cumsum(x, 0) + 1
        return torch.linalg.qr(y)[1] * 2, y

    x = torch.randn(4, 4)
    with torch.no_grad():
        want = function(x)
        have = torch.compile(function, backend=torch_backend.polynest)(x)
    torch.testing.assert_close(have, want)


def test_views_that_negate():
    """The bit of a view is part of its values, with this way and with
    AOTAutograd's, which takes what writes to its input."""

    def negated(x):
        return torch._neg_view(x) * 2

    def written(x):
        x.add_(1)
        return torch._neg_view(x) * 2

    def imaginary(z):
        return z.conj().imag * 2

    x = torch.tensor([1.0, -2.0, 0.0])
    z = torch.complex(x, 3 - x)
    for function, argument in ((negated, x), (written, x), (imaginary, z)):
        f = torch.compile(function, backend="polynest")
        with torch.no_grad():
            expected = function(argument.clone())
            assert torch.equal(f(argument.clone()), expected)


def test_rules_are_gathered_once():
    assert decomposition_table() is decomposition_table()
    assert decompositions() is decompositions()


def test_rules_are_found_one_by_one():
    """As in the whole table, and nothing besides."""
    rules = decompositions()
    for op, rule in decomposition_table().items():
        found = rules.get(op)
        # Those of composed ops are made anew each time.
        assert found is rule or (found and op._can_decompose()), op
    assert rules.get(torch.ops.aten.mm.default) is None
    assert torch.ops.aten.fft_fft.default not in decomposition_table()
    assert rules.get(torch.ops.aten.fft_fft.default) is None
