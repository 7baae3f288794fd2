# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training: what a forward pass keeps, gradients that have rules of their own,
optimizers' steps."""

import copy
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

import torch.nn.functional as F  # noqa: E402

from comparing import (  # noqa: E402
    check,
    check_gradients,
    gradients,
    longest,
    whole,
)
from conftest import ROOT, compiled  # noqa: E402

sys.path.insert(0, str(ROOT / "test" / "benchmark"))

from polynest import torch_rewrites, torch_training  # noqa: E402

aten = torch.ops.aten


@pytest.fixture(autouse=True)
def fresh(fresh_torch):
    torch.manual_seed(11)


# -- memory ----------------------------------------------------------------------


def kept_bytes(function, inputs, own):
    """Bytes of memory that a call leaves behind for the way back, besides
    inputs and parameters."""
    kept = {}

    def pack(tensor):
        memory = tensor.untyped_storage()
        kept[memory.data_ptr()] = memory.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        result = function(*inputs)
    for tensor in (*inputs, *own):
        kept.pop(tensor.untyped_storage().data_ptr(), None)
    result.sum().backward()
    return sum(kept.values())


class Block(torch.nn.Module):
    """Norms, attention, gates: much that is pointwise between products."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.first = torch.nn.LayerNorm(width)
        self.second = torch.nn.LayerNorm(width)
        self.into = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (
            t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for t in self.into(self.first(x)).chunk(3, -1)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.second(x))))


def convolutions():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8),
        torch.nn.SiLU(), torch.nn.Conv2d(8, 8, 3, padding=1),
        torch.nn.GroupNorm(2, 8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(8 * 36, 5),
    )


@pytest.mark.parametrize(
    "make, shape",
    [
        (Block, (2, 48, 32)),
        (convolutions, (2, 3, 12, 12)),
        (lambda: torch.nn.Sequential(
            torch.nn.Linear(16, 64), torch.nn.Tanh(),
            torch.nn.Linear(64, 64), torch.nn.Softplus(),
            torch.nn.Linear(64, 4), torch.nn.LogSoftmax(-1)), (128, 16)),
    ],
    ids=["attention", "convolutions", "mlp"],
)
def test_a_forward_pass_keeps_no_more_than_eager(make, shape):
    model = make()
    other = copy.deepcopy(model)
    x = torch.randn(shape)
    own = [*model.parameters(), *model.buffers()]
    theirs = kept_bytes(other, [x], [*other.parameters(), *other.buffers()])
    f = compiled(model)
    kept_bytes(f, [x], own)
    for p in model.parameters():
        p.grad = None
    ours = kept_bytes(f, [x], own)
    assert 0 < ours <= theirs
    for p, q in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.allclose(p.grad, q.grad, rtol=1e-3, atol=1e-4)
    whole()


@pytest.mark.parametrize(
    "name", ["ResNet-18, training", "GPT-2 of 4 layers, training"]
)
def test_models_keep_no_more_than_eager(name):
    pytest.importorskip("transformers")
    import model_zoo

    subject = model_zoo.build(name, small=True)
    inputs = subject.inputs(2)
    own = [*subject.module.parameters(), *subject.module.buffers()]
    f = compiled(subject.module)
    ours, theirs = (
        kept_bytes(function, inputs, own) for function in (f, subject.module)
    )
    assert 0 < ours <= theirs


# -- gradients -------------------------------------------------------------------

POOLS = {
    "average": (lambda x: F.avg_pool2d(x, 3, 2, 1), (2, 3, 11, 8)),
    "average_clipped": (
        lambda x: F.avg_pool2d(x, (3, 2), (2, 3), 1, True, False),
        (2, 3, 11, 8),
    ),
    "average_divisor": (
        lambda x: F.avg_pool2d(x, 2, 3, divisor_override=5), (3, 9, 13)),
    "average_overlap": (lambda x: F.avg_pool2d(x, 5, 1, 2), (1, 2, 7, 6)),
    "average_1d": (lambda x: F.avg_pool1d(x, 4, 3, 1, True), (2, 3, 11)),
    "average_3d": (
        lambda x: F.avg_pool3d(x, 2, (2, 1, 3)), (1, 2, 5, 4, 8)),
    "average_sparse": (lambda x: F.avg_pool2d(x, 1, 4), (1, 2, 9, 9)),
    "adaptive": (lambda x: F.adaptive_avg_pool2d(x, (3, 5)), (2, 3, 7, 11)),
    "adaptive_up": (lambda x: F.adaptive_avg_pool2d(x, (7, 4)), (2, 3, 3, 9)),
    "adaptive_1d": (lambda x: F.adaptive_avg_pool1d(x, 4), (2, 3, 10)),
    "adaptive_3d": (
        lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4)), (1, 2, 5, 4, 6)),
    "adaptive_max": (lambda x: F.adaptive_max_pool2d(x, (3, 4)), (2, 3, 7, 9)),
    "adaptive_max_3d": (
        lambda x: F.adaptive_max_pool3d(x, 2), (2, 3, 5, 4, 3)),
    "max": (lambda x: F.max_pool2d(x, 3, 2, 1), (2, 3, 9, 10)),
    "max_3d": (lambda x: F.max_pool3d(x, 3, 2, 1), (2, 2, 5, 6, 7)),
    "repeated": (
        lambda x: F.pad(x, (2, 3, 1, 4), mode="replicate"), (2, 3, 5, 6)),
    "repeated_1d": (lambda x: F.pad(x, (3, 0), mode="replicate"), (2, 3, 1)),
    "repeated_and_cut": (
        lambda x: F.pad(x, (-1, 2, 3, -2), mode="replicate"), (2, 3, 5, 6)),
}


@pytest.fixture
def placed(monkeypatch):
    """How many gradients took the place of donated inputs, for each graph; small
    ones, too."""
    found = []
    place = torch_training.place_in_donated
    monkeypatch.setattr(torch_training, "_LARGE_BYTES", 1024)
    monkeypatch.setattr(
        torch_training,
        "place_in_donated",
        lambda graph: found.append(len(numbers := place(graph))) or numbers,
    )
    return found


def logits_and_loss(x, w, classes):
    logits = x @ w.t()
    return logits, F.cross_entropy(logits, classes)


def read_by_product(logits, loss, w):
    return loss + (logits @ (w * w)).sum()


READERS = {
    # Of logits that nothing else reads: those of the gradient's products are
    # written over them.
    "alone": (lambda *a: logits_and_loss(*a)[1], 1),
    "scaled": (lambda *a: 3 * logits_and_loss(*a)[1].exp(), 1),
    # Who calls has them.
    "returned": (lambda *a: sum(t.sum() for t in logits_and_loss(*a)), 1),
    "a result": (logits_and_loss, 0),
    # A product reads them that the gradient is not made of.
    "read again": (lambda *a: read_by_product(*logits_and_loss(*a), a[1]), 0),
}


@pytest.mark.parametrize("name", READERS)
def test_gradients_take_the_place_of_logits(name, placed):
    function, count = READERS[name]
    x, w = torch.randn(24, 40), torch.randn(70, 40)
    classes = torch.randint(0, 70, (24,))
    leaves = [t.clone().requires_grad_() for t in (x, w)]
    wide = [t.double().requires_grad_() for t in (x, w)]
    ours = compiled(function)
    for _ in range(3):
        for t in (*leaves, *wide):
            t.grad = None
        have, want = ours(*leaves, classes), function(*wide, classes)
        if name == "a result":
            kept = have[0].detach().clone()
            have[1].backward()
            want[1].backward()
            assert torch.equal(have[0], kept)
        else:
            have.backward()
            want.backward()
        for h, v in zip(leaves, wide):
            check(h.grad, v.grad, torch.float32, 70)
    whole()
    assert placed == [count]


def test_graphs_that_are_kept_own_their_logits(placed):
    """Without donation a backward pass may run twice."""
    x = torch.randn(24, 40, requires_grad=True)
    w = torch.randn(70, 40, requires_grad=True)
    classes = torch.randint(0, 70, (24,))
    with torch._functorch.config.patch(donated_buffer=False):
        loss = compiled(READERS["alone"][0])(x, w, classes)
        loss.backward(retain_graph=True)
        first = x.grad.clone(), w.grad.clone()
        x.grad = w.grad = None
        loss.backward()
    assert placed == [0]
    assert torch.equal(x.grad, first[0]) and torch.equal(w.grad, first[1])


@pytest.mark.parametrize("name", POOLS)
def test_gradient_of_a_pool(name):
    function, shape = POOLS[name]
    check_gradients(function, torch.randn(shape))


TRANSPOSED = {
    "plain": ((2, 4, 5, 6), (4, 3, 3, 3), {}),
    "stride": ((2, 4, 5, 6), (4, 3, 3, 2), {"stride": 2, "padding": 1}),
    "output_padding": (
        (2, 4, 5, 6), (4, 3, 3, 3), {"stride": 3, "output_padding": 2}),
    "dilation": (
        (1, 4, 5, 6), (4, 3, 2, 3), {"dilation": 2, "output_padding": 1}),
    "groups": ((2, 4, 5, 6), (4, 3, 3, 3), {"groups": 2}),
    "groups_and_stride": (
        (2, 6, 4, 5), (6, 2, 3, 2), {"groups": 3, "stride": 2, "padding": 1}),
    "row": ((2, 4, 7), (4, 3, 4), {"stride": 2}),
    "volume": ((1, 4, 3, 4, 5), (4, 2, 2, 3, 2), {"padding": 1}),
}


@pytest.mark.parametrize("name", TRANSPOSED)
def test_gradient_of_a_transposed_convolution(name):
    shape, weight, options = TRANSPOSED[name]
    op = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[
        len(shape) - 3]
    bias = torch.randn(weight[1] * options.get("groups", 1))
    check_gradients(
        lambda x, w, b: op(x, w, b, **options),
        torch.randn(shape), torch.randn(weight), bias,
    )


STRIDED = {
    "plain": ((2, 4, 9, 8), (5, 4, 3, 3), {"stride": 2, "padding": 1}),
    "one": ((2, 4, 9, 8), (5, 4, 1, 1), {"stride": 2}),
    "wide": ((2, 4, 13, 14), (5, 4, 7, 7), {"stride": 2, "padding": 3}),
    "apart": ((1, 4, 11, 12), (5, 4, 2, 3), {"stride": (4, 3)}),
    "far": ((1, 2, 9, 5), (3, 2, 3, 2), {"stride": (2, 3), "padding": (4, 3)}),
    "unread_end": ((1, 2, 10, 12), (3, 2, 3, 3), {"stride": 4}),
    "groups": (
        (2, 6, 9, 8), (4, 3, 3, 3), {"stride": 2, "padding": 1, "groups": 2}),
    "depthwise": (
        (3, 6, 9, 8), (6, 1, 3, 3), {"stride": 2, "padding": 1, "groups": 6}),
    "groups_and_dilation": (
        (2, 6, 9, 8), (4, 3, 3, 2), {"dilation": (2, 3), "groups": 2}),
    "dilation_alone": (
        (2, 4, 9, 8), (5, 4, 3, 3), {"dilation": 2, "padding": (1, 5)}),
    "padding_beyond_windows": ((2, 3, 5, 4), (4, 3, 2, 2), {"padding": 4}),
    "groups_in_a_row": ((2, 4, 9), (4, 2, 3), {"groups": 2}),
    "groups_in_a_volume": ((1, 4, 4, 5, 3), (4, 2, 2, 3, 2), {"groups": 2}),
    "no_batch": ((0, 4, 9, 8), (5, 4, 3, 3), {"stride": 2}),
    "row": ((2, 4, 17), (3, 4, 5), {"stride": 3, "padding": 2}),
    "volume": (
        (1, 2, 5, 6, 7), (3, 2, 3, 2, 3), {"stride": 2, "padding": 1}),
    "dilation": ((1, 4, 11, 12), (5, 4, 3, 3), {"stride": 2, "dilation": 2}),
    "one_dimension": ((1, 4, 7, 12), (5, 4, 3, 3), {"stride": (1, 2)}),
}


@pytest.mark.parametrize("name", STRIDED)
def test_gradient_of_a_convolution_with_strides(name):
    shape, weight, options = STRIDED[name]
    op = (F.conv1d, F.conv2d, F.conv3d)[len(shape) - 3]
    check_gradients(
        lambda x, w, b: op(x, w, b, **options),
        torch.randn(shape), torch.randn(weight), torch.randn(weight[0]),
        left=[] if shape[0] else ["aten.convolution_backward.default"],
    )


@pytest.mark.parametrize(
    ("function", "weight"),
    [
        (lambda x, w: F.conv2d(x, w, None, 2), (5, 4, 3, 3)),
        (lambda x, w: F.conv2d(x.detach(), w, None, 2), (5, 4, 3, 3)),
        (lambda x, w: F.conv2d(x, w, None, (1, 3)), (5, 4, 1, 1)),
    ],
    ids=["both", "weights", "one by one"],
)
def test_gradient_of_weights_of_unknown_channels(function, weight):
    inputs = torch.randn(1, 4, 10, 12), torch.randn(weight)
    have = gradients(compiled(function, dynamic=True), inputs)
    want = gradients(function, [x.double() for x in inputs])
    for h, w in zip(have, want, strict=True):
        if w is not None:
            check(h, w, h.dtype, longest(inputs))
    whole(["aten.convolution_backward.default"])


@pytest.mark.parametrize(
    "layer",
    [
        torch.nn.Conv2d(6, 4, 3, padding=1),
        torch.nn.Conv2d(6, 4, 3, stride=2, groups=2),
        torch.nn.ConvTranspose2d(6, 4, 3, stride=2),
    ],
    ids=["plain", "groups", "transposed"],
)
def test_gradients_of_weights_lie_as_these_do(layer):
    """Of others autograd keeps a copy, in the strides of the weights."""
    strides = []
    hook = layer.weight.register_hook(lambda g: strides.append(g.stride()))
    compiled(layer)(torch.randn(2, 6, 9, 8)).sum().backward()
    hook.remove()
    assert strides == [layer.weight.stride()]


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")])
def test_gradient_of_distances(p):
    a, b = torch.randn(2, 5, 3), torch.randn(2, 4, 3)
    b[0, 1] = a[0, 2]  # none between these two
    b[1, 0, 1] = a[1, 3, 1]
    have = gradients(compiled(lambda a, b: torch.cdist(a, b, p)), (a, b))
    want = gradients(lambda a, b: torch.cdist(a, b, p), (a, b))
    for h, w in zip(have, want, strict=True):
        assert torch.allclose(h, w, rtol=1e-4, atol=1e-5, equal_nan=True)


OTHERS = {
    "masked_scatter": lambda x, y: torch.masked_scatter(
        x, torch.tensor([True, False, True, True, False, True]), y),
    "kthvalue": lambda x, y: torch.kthvalue(x, 3).values * y.sum(),
    "median": lambda x, y: x.median(-1).values + y.median(-1).values.sum(),
    "index_add": lambda x, y: x.index_add(
        -1, torch.tensor([2, 0, 2]), y[:, :3]),
    "max": lambda x, y: x.max(-1).values * y.min(0).values.sum(),
}


@pytest.mark.parametrize("name", OTHERS)
def test_gradient_of_what_is_chosen(name):
    check_gradients(OTHERS[name], torch.randn(4, 6), torch.randn(4, 6))


# -- sums of gradients -----------------------------------------------------------


def traced(function, *inputs):
    """The graph of the first input's gradient, decomposed, before and after
    rewrites."""
    from torch.fx.experimental.proxy_tensor import make_fx

    from polynest.torch_decompositions import decomposition_table

    def run(x, *others):
        leaf = x.detach().requires_grad_()
        return torch.autograd.grad(function(leaf, *others).sum(), [leaf])

    module = make_fx(
        run, tracing_mode="fake", decomposition_table=decomposition_table()
    )(*inputs)
    before = copy.deepcopy(module)
    torch_rewrites.rewrite(module)
    module.recompile()
    return before, module


def targets(module):
    return [n.target for n in module.graph.nodes if n.op == "call_function"]


SUMS = {
    "differences": lambda x: (x[1:] - x[:-1]).square(),
    "differences_inside": lambda x: (x[:, 1:] - x[:, :-1]).square(),
    "halves": lambda x: x[:3].exp().sum() + x[3:].sin().sum(),
    "rows": lambda x: sum(x[i] * (i + 1) for i in range(6)),
    "overlap": lambda x: (x[:5].exp().sum() + x[2:].sin().sum()
                          + x[1:4].cos().sum()),
    "some": lambda x: x[1:2].exp().sum() + x[4:5].sin().sum(),
}


@pytest.mark.parametrize("name", SUMS)
def test_padded_gradients_are_joined(name):
    x = torch.randn(6, 7)
    before, after = traced(SUMS[name], x)
    assert aten.constant_pad_nd.default in targets(before)
    assert aten.constant_pad_nd.default not in targets(after)
    assert torch.equal(before(x)[0], after(x)[0])
    check_gradients(SUMS[name], x)


def test_joined_gradients_have_the_signs_of_zero():
    def function(x):
        return x[:4] * -0.0 + x[2:] * -0.0

    x = torch.randn(6, 3)
    before, after = traced(function, x)
    assert aten.constant_pad_nd.default not in targets(after)
    want = before(x)[0].signbit()
    assert bool(want.any()) and not bool(want.all())
    assert torch.equal(after(x)[0].signbit(), want)
    leaf = x.clone().requires_grad_()
    compiled(function)(leaf).sum().backward()
    assert torch.equal(leaf.grad.signbit(), want)


def test_long_sums_of_padded_gradients():
    """Zero is added to each part once, not at every sum."""
    x = torch.randn(20, 3)
    before, after = traced(
        lambda x: sum((x[i] * (i + 1)).sum() for i in range(20)), x
    )
    assert aten.constant_pad_nd.default not in targets(after)
    assert targets(after).count(aten.add.Scalar) == 20
    assert torch.equal(before(x)[0], after(x)[0])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[1:].exp().sum() + x[:, 1:].sin().sum(),
        lambda x: x[1:].exp().sum() + x.sin().sum(),
        lambda x: x[::2].exp().sum() + x[1:].sin().sum(),
    ],
    ids=["two dimensions", "one of all", "with steps"],
)
def test_other_sums_of_gradients_stay(function):
    x = torch.randn(6, 7)
    _, after = traced(function, x)
    assert aten.constant_pad_nd.default in targets(after)
    assert aten.cat.default not in targets(after)
    check_gradients(function, x)


class Tied(torch.nn.Module):
    """One table in front and behind."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(29, 8)

    def forward(self, tokens):
        x = torch.tanh(self.table(tokens))
        return F.linear(x, self.table.weight).log_softmax(-1)


def test_gradient_of_a_tied_embedding():
    model = Tied()
    tokens = torch.tensor([[3, 4, 3, 0], [28, 3, 7, 7]])
    x = torch.randn(29, 8)

    def function(table, tokens):
        return torch.func.functional_call(
            model, {"table.weight": table}, (tokens,))

    before, after = traced(function, x, tokens)
    assert len(targets(after)) < len(targets(before))
    assert torch.allclose(before(x, tokens)[0], after(x, tokens)[0])
    check_gradients(function, x, tokens)


# -- losses by class -------------------------------------------------------------

LOSSES = {
    "mean": {},
    "sum": {"reduction": "sum"},
    "none": {"reduction": "none"},
    "weighted": {"weight": torch.rand(7) + 0.5},
    "weighted_none": {"weight": torch.rand(7) + 0.5, "reduction": "none"},
    "ignored": {"ignore_index": 3},
    "smooth": {"label_smoothing": 0.1},
}
CLASSES = [(7,), (5, 7), (1, 7), (2, 7, 3, 4)]


@pytest.mark.parametrize("shape", CLASSES, ids=str)
@pytest.mark.parametrize("name", LOSSES)
def test_gradient_of_a_loss_by_class(name, shape):
    options = dict(LOSSES[name])
    weight = options.pop("weight", None)
    classes = torch.randint(7, shape[:1] * (len(shape) > 1) + shape[2:])
    if classes.numel() > 1:
        classes.view(-1)[::3] = options.get("ignore_index", -100)

    def function(x):
        given = None if weight is None else weight.to(x.dtype)
        return F.cross_entropy(x, classes, given, **options).view(-1)

    check_gradients(function, torch.randn(shape))


def test_gradient_of_a_loss_is_made_where_it_is_read():
    """Nothing as large as the scores but the scores, and what a row's gradient is
    made of."""
    x, classes = torch.randn(6, 40), torch.randint(40, (6,))

    def function(x, classes):
        return F.cross_entropy(x, classes)

    before, after = traced(function, x, classes)
    assert aten.scatter.value not in targets(before)
    sums = [targets(m).count(aten.sum.dim_IntList) for m in (before, after)]
    assert sums[1] == sums[0] - 1
    read = [n.args[0].target for n in after.graph.nodes
            if n.target is aten.gather.default]
    # Of the scores themselves.
    assert read == [aten.alias.default]
    assert torch.equal(before(x, classes)[0], after(x, classes)[0])


def test_chosen_elements_have_the_signs_of_zero():
    """A sum that has one element besides zeros is not -0.0, nor is one for which
    no element is chosen."""
    places = torch.tensor([[0], [2], [9], [-1]])

    def function(x, y):
        chosen = torch.where(torch.arange(3) == places, x, 0.0)
        return chosen.sum(1, keepdim=True) * y

    x = torch.tensor([[-0.0], [2.0], [3.0], [float("nan")]])
    y = torch.ones(4, 1)
    with torch.no_grad():
        have, want = compiled(function)(x, y), function(x, y)
    assert torch.equal(have, want)
    assert torch.equal(have.signbit(), want.signbit())
    whole()


@pytest.mark.parametrize(
    "choice",
    [
        lambda x, i: torch.where(torch.arange(3) == i, x.int(), 0),
        lambda x, i: torch.where(torch.arange(3) == i + 0.5, x, 0.0),
        lambda x, i: torch.where(i.sum() == i.view(1, 4), x, 0.0),
    ],
    ids=["integers", "between", "one number"],
)
def test_other_chosen_elements(choice):
    """Sums of integers are wide, between two numbers there is no element, and one
    number for all is no row of them."""
    x, places = torch.randn(4, 1) * 100, torch.tensor([[0], [2], [9], [-1]])

    def function(x, places):
        return choice(x, places).sum(1, keepdim=True)

    with torch.no_grad():
        have, want = compiled(function)(x, places), function(x, places)
    assert have.dtype == want.dtype and torch.equal(have, want)


# -- optimizers ------------------------------------------------------------------

OPTIMIZERS = {
    "sgd": (torch.optim.SGD, {}),
    "momentum": (torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.01}),
    "nesterov": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    "adam": (torch.optim.Adam, {}),
    "amsgrad": (torch.optim.Adam, {"amsgrad": True, "weight_decay": 0.01}),
    "adamw": (torch.optim.AdamW, {"weight_decay": 0.1}),
    "rmsprop": (torch.optim.RMSprop, {"momentum": 0.5, "centered": True}),
    "adagrad": (torch.optim.Adagrad, {}),
    "adadelta": (torch.optim.Adadelta, {}),
}


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer_steps(name, foreach):
    kind, options = OPTIMIZERS[name]
    models = [
        torch.nn.Sequential(
            torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3)
        )
    ]
    models.append(copy.deepcopy(models[0]))
    steps = [
        kind(m.parameters(), lr=0.05, foreach=foreach, **options)
        for m in models
    ]
    ours = compiled(steps[0].step)
    for _ in range(4):
        x = torch.randn(6, 5)
        for model in models:
            model.zero_grad(set_to_none=True)
            model(x).square().mean().backward()
        ours(), steps[1].step()
        for p, q in zip(*(m.parameters() for m in models), strict=True):
            assert torch.allclose(p, q, rtol=1e-5, atol=1e-6)
    whole()


FOREACH = {
    "_foreach_add.Scalar": lambda a, b: torch._foreach_add(a, 2.5),
    "_foreach_add.List": lambda a, b: torch._foreach_add(a, b, alpha=0.5),
    "_foreach_add.ScalarList": lambda a, b: torch._foreach_add(a, [1.0, 2.0]),
    "_foreach_add.Tensor": lambda a, b: torch._foreach_add(a, b[1][0, 0]),
    "_foreach_mul.Tensor": lambda a, b: torch._foreach_mul(a, b[1][0, 0]),
    "_foreach_sub.List": lambda a, b: torch._foreach_sub(a, b, alpha=2),
    "_foreach_div.ScalarList": lambda a, b: torch._foreach_div(a, [3.0, 0.5]),
    "_foreach_lerp.Scalar": lambda a, b: torch._foreach_lerp(a, b, 0.3),
    "_foreach_lerp.List": lambda a, b: torch._foreach_lerp(a, b, b),
    "_foreach_addcmul.Scalar": lambda a, b: torch._foreach_addcmul(
        a, b, a, 0.5),
    "_foreach_addcmul.ScalarList": lambda a, b: torch._foreach_addcmul(
        a, b, a, [0.5, 2.0]),
    "_foreach_addcdiv.Scalar": lambda a, b: torch._foreach_addcdiv(
        a, b, a, 2.0),
    "_foreach_pow.ScalarAndTensor": lambda a, b: torch._foreach_pow(2.0, a),
    "_foreach_maximum.List": lambda a, b: torch._foreach_maximum(a, b),
    "_foreach_minimum.Scalar": lambda a, b: torch._foreach_minimum(a, 0.2),
    "_foreach_clamp_max.List": lambda a, b: torch._foreach_clamp_max(a, b),
    "_foreach_norm": lambda a, b: torch._foreach_norm(a, 2),
    "_foreach_max": lambda a, b: torch._foreach_max(a),
    "_foreach_sqrt": lambda a, b: torch._foreach_sqrt(a),
    "_foreach_neg": lambda a, b: torch._foreach_neg(a),
    "_foreach_reciprocal": lambda a, b: torch._foreach_reciprocal(a),
}


@pytest.mark.parametrize("name", FOREACH)
def test_operation_on_a_list(name):
    function = FOREACH[name]
    a = [torch.rand(3) + 0.1, torch.rand(2, 5) + 0.1]
    b = [torch.rand(3), torch.rand(2, 5)]
    with torch.no_grad():
        have, want = compiled(function)(a, b), function(a, b)
    for h, w in zip(have, want, strict=True):
        check(h, w, w.dtype, 10)
    whole()


def test_updates_of_a_list_in_place():
    def function(a, b):
        torch._foreach_mul_(a, 0.5)
        torch._foreach_add_(a, b, alpha=2)
        torch._foreach_copy_(b, a)

    lists = [[torch.rand(3), torch.rand(2, 5)] for _ in range(2)]
    others = copy.deepcopy(lists)
    with torch.no_grad():
        compiled(function)(*lists)
        function(*others)
    for mine, theirs in zip(lists, others, strict=True):
        for h, w in zip(mine, theirs, strict=True):
            check(h, w, w.dtype, 1)
    whole()
