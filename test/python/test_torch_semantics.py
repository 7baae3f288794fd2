# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model does beside computing: autocast, dropout, buffers that change, a
cache that decoding writes to."""

import copy
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from conftest import ROOT, bound, compiled  # noqa: E402

sys.path.insert(0, str(ROOT / "test" / "benchmark"))

from polynest import torch_backend  # noqa: E402

pytestmark = pytest.mark.usefixtures("fresh_torch")


def left():
    return {f.op for f in torch_backend.explain_fallbacks()}


# -- autocast ------------------------------------------------------------------


def autocast(function):
    def call(*inputs):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return function(*inputs)

    return call


def near(have, want, exact, terms):
    """Within the bound of bf16 of eager under autocast, or as near to f64 as
    that is: roundings to bf16 add up over layers, in eager too."""
    assert have.dtype == want.dtype and have.shape == want.shape
    h, w, e = have.double(), want.double(), exact.double()
    limit = bound(w, "bf16", terms)
    own = (w - e).abs().max()
    off = (h - w).abs()
    assert bool((off <= limit).all()) or (h - e).abs().max() <= 2 * own, (
        f"{float(off.max())} from eager, which is {float(own)} from f64"
    )


@pytest.mark.parametrize("name", ["ResNet-50", "BERT-base"])
@pytest.mark.parametrize("outside", [True, False])
def test_autocast_of_models(name, outside):
    """The context around the compiled function, or inside of it."""
    pytest.importorskip("transformers")
    import model_zoo

    subject = model_zoo.build(name, small=True)
    inputs = subject.inputs(2)
    exact = subject.in_double()
    wide = [
        x.double() if x.is_floating_point() else x for x in inputs
    ]
    with torch.no_grad():
        want = autocast(subject.module)(*inputs)
        reference = exact.module(*wide)
        if outside:
            f = autocast(compiled(subject.module))
        else:
            f = compiled(autocast(subject.module))
        have = f(*inputs)
        again = f(*inputs)
    near(have, want, reference, subject.terms)
    assert torch.equal(have, again)
    assert left() == set(), torch_backend.report()
    plain = compiled(subject.module)
    with torch.no_grad():
        # Without the context it is another program.
        assert plain(*inputs).dtype == subject.module(*inputs).dtype


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_autocast_with_bound_weights(rows):
    """Weights are rounded and packed where they are bound, and images get their
    channels last; odd sizes, strides, paddings and groups."""
    layers = [
        torch.nn.Conv2d(3, 18, 3, padding=1),
        torch.nn.BatchNorm2d(18),
        torch.nn.ReLU(),
        torch.nn.Conv2d(18, 18, 3, stride=2, padding=2, groups=18),
        torch.nn.Conv2d(18, 34, 1, bias=False),
        torch.nn.Conv2d(34, 17, (3, 2), dilation=2, padding=(2, 1)),
        torch.nn.Flatten(),
        torch.nn.LazyLinear(33),
        torch.nn.GELU(),
        torch.nn.Linear(33, 7),
    ]
    model = torch.nn.Sequential(*layers).eval()
    x = torch.randn(rows, 3, 15, 13)
    with torch.no_grad():
        want = autocast(model)(x)
        have = autocast(
            torch.compile(
                model, backend="polynest", options={"freeze": True}
            )
        )(x)
        exact = copy.deepcopy(model).double()(x.double())
    near(have, want, exact, 17 * 9 * 11)
    assert left() == set(), torch_backend.report()


def test_rounded_twice():
    """A buffer of rounded values that another is made of, both narrow."""

    def rounded(x):
        return x.bfloat16().float()

    def f(x, w):
        return rounded(rounded(x @ w).t()) @ rounded(x)

    x, w = torch.randn(17, 33), torch.randn(33, 19)
    near(compiled(f)(x, w), f(x, w), f(x.double(), w.double()), 33)


OPS = {
    "linear": lambda x, w: torch.nn.functional.linear(x, w),
    "matmul and a sum in f32": lambda x, w: (x @ w.t()).float().sum(-1),
    "softmax in f32": lambda x, w: (x @ w.t()).softmax(-1),
    "norm in f32": lambda x, w: torch.nn.functional.layer_norm(
        x @ w.t(), (8,)
    ),
    "bf16 and f32 added": lambda x, w: x @ w.t() + x[:, :8],
    "exp": lambda x, w: (x @ w.t()).exp(),
    "cat": lambda x, w: torch.cat([x @ w.t(), x], -1),
    "attention": lambda x, w: torch.nn.functional.scaled_dot_product_attention(
        *(x.view(1, 2, 3, 8) for _ in range(3))
    ),
    "conv": lambda x, w: torch.nn.functional.conv1d(
        x.view(1, 6, 16), w.view(4, 6, 16)[:, :, :3].contiguous()
        if w.numel() == 384 else x.view(1, 6, 16)[:, :, :3].repeat(4, 1, 1)
    ),
}


@pytest.mark.parametrize("name", OPS)
def test_autocast_of_ops(name):
    torch.manual_seed(0)
    x, w = torch.randn(6, 16), torch.randn(8, 16)
    if name == "attention":
        x = torch.randn(6, 8)
    function = OPS[name]
    with torch.no_grad():
        want = autocast(function)(x, w)
        have = autocast(compiled(function))(x, w)
        exact = function(x.double(), w.double())
    near(have, want, exact, 16)
    assert left() == set(), torch_backend.report()


def test_autocast_of_gradients():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4)
    )
    x = torch.randn(8, 16)

    def gradients(function, dtype=torch.float32):
        model.to(dtype).zero_grad(set_to_none=True)
        loss = function(x.to(dtype)).float().square().sum()
        loss.backward()
        return [p.grad.clone() for p in model.parameters()]

    want = gradients(autocast(model))
    have = gradients(autocast(compiled(model)))
    exact = gradients(model, torch.float64)
    for h, w, e in zip(have, want, exact):
        near(h, w, e, 32)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_gradient_of_a_soft_margin(reduction):
    """Far from the margin it is small, and has all its digits."""
    x = torch.tensor([[15.0, -15.0, 0.5], [3.0, 40.0, -1.0]])
    target = torch.tensor([[1.0, -1.0, -1.0], [1.0, 1.0, 1.0]])

    def loss(x):
        return torch.nn.functional.soft_margin_loss(
            x, target.to(x.dtype), reduction=reduction
        )

    found = []
    for function, dtype in ((compiled(loss), x.dtype), (loss, torch.float64)):
        leaf = x.to(dtype, copy=True).requires_grad_()
        function(leaf).sum().backward()
        found.append(leaf.grad.double())
    assert torch.allclose(*found, rtol=1e-5, atol=0)


# -- dropout in training -------------------------------------------------------


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropout(p):
    """The same elements are dropped as in eager, going back too."""
    model = torch.nn.Sequential(
        torch.nn.Linear(6, 9), torch.nn.Dropout(p), torch.nn.ReLU(),
        torch.nn.Dropout(p), torch.nn.Linear(9, 3),
    ).train()
    x = torch.randn(5, 6)
    found = []
    for function in (model, compiled(model)):
        model.zero_grad(set_to_none=True)
        torch.manual_seed(3)
        y = function(x)
        y.square().sum().backward()
        after = torch.rand(4)
        found.append(
            [y.detach(), after, *(p.grad.clone() for p in model.parameters())]
        )
    for want, have in zip(*found):
        assert torch.allclose(have, want, atol=1e-5, rtol=1e-5)
    assert torch.equal(found[0][1], found[1][1])
    assert left() <= {
        "aten.native_dropout.default", "aten.bernoulli.p",
        "aten.rand.default", "aten.rand_like.default",
    }


def test_dropout_changes_with_every_call_and_not_in_evaluation():
    model = torch.nn.Dropout(0.5).train()
    f = compiled(lambda x: model(x) * 2)
    x = torch.ones(1000)
    with torch.no_grad():
        first, second = f(x), f(x)
        assert not torch.equal(first, second)
        kept = (first != 0).float().mean()
        assert 0.4 < kept < 0.6 and set(first.tolist()) == {0.0, 4.0}
        model.eval()
        assert torch.equal(f(x), 2 * x)


# -- buffers that change -------------------------------------------------------


class Average(torch.nn.Module):
    """A moving average, a count, and the last values."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("last", torch.zeros(3, 4))

    def forward(self, x):
        self.count += 1
        self.mean.lerp_(x.mean(0), 0.1)
        self.last = torch.cat([self.last[1:], x[:1]])
        return (x - self.mean) / self.count + self.last.sum(0)


@pytest.mark.parametrize("options", [{}, {"freeze": True}, {"check": True}])
def test_buffers(options):
    model = Average()
    other = copy.deepcopy(model)
    f = compiled(model, options=options)
    with torch.no_grad():
        for _ in range(4):
            x = torch.randn(5, 4)
            have, want = f(x), other(x)
            assert torch.allclose(have, want, atol=1e-6)
            for a, b in zip(model.buffers(), other.buffers(), strict=True):
                assert torch.allclose(a, b, atol=1e-6)
    assert int(model.count) == 4


def test_running_statistics():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3, momentum=0.2),
        torch.nn.ReLU(), torch.nn.Conv2d(3, 2, 3), torch.nn.BatchNorm2d(2),
    ).train()
    other = copy.deepcopy(model)
    f = compiled(model)
    for _ in range(3):
        x = torch.randn(2, 2, 7, 7)
        for m, g in ((model, f), (other, other)):
            m.zero_grad(set_to_none=True)
            g(x).square().mean().backward()
    for (name, a), b in zip(
        model.named_buffers(), other.buffers(), strict=True
    ):
        assert torch.allclose(a, b, atol=1e-5), name
    # In evaluation they are used and stay.
    model.eval(), other.eval()
    before = [b.clone() for b in model.buffers()]
    with torch.no_grad():
        x = torch.randn(2, 2, 7, 7)
        assert torch.allclose(f(x), other(x), atol=1e-4)
    assert all(map(torch.equal, before, model.buffers()))


# -- decoding with a static cache ----------------------------------------------


class Decoder(torch.nn.Module):
    """One layer of attention over what came before, written in place."""

    def __init__(self, width=8, heads=2, room=12):
        super().__init__()
        self.heads = heads
        self.into = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        shape = (1, heads, room, width // heads)
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))
        self.register_buffer("places", torch.arange(room))

    def forward(self, x, at):
        q, k, v = (
            t.view(1, 1, self.heads, -1).transpose(1, 2)
            for t in self.into(x).chunk(3, -1)
        )
        self.keys.index_copy_(2, at, k)
        self.values[:, :, at] = v
        mask = self.places <= at
        y = torch.nn.functional.scaled_dot_product_attention(
            q, self.keys, self.values, attn_mask=mask[None, None, None]
        )
        return self.out(y.transpose(1, 2).reshape(1, 1, -1))


@pytest.mark.parametrize("options", [{}, {"freeze": True}, {"check": True}])
def test_decoding(options):
    torch.manual_seed(0)
    model = Decoder().eval()
    other = copy.deepcopy(model)
    f = compiled(model, options=options)
    keys, address = model.keys, model.keys.data_ptr()
    with torch.no_grad():
        for step in range(10):
            x, at = torch.randn(1, 1, 8), torch.tensor([step])
            assert torch.allclose(f(x, at), other(x, at), atol=1e-5)
            assert torch.allclose(model.keys, other.keys, atol=1e-6)
            assert torch.allclose(model.values, other.values, atol=1e-6)
    # In place, and one program for all steps.
    assert model.keys is keys and keys.data_ptr() == address
    assert bool((model.keys[:, :, 10:] == 0).all())
    assert len(torch_backend.reports()) == 1
    assert left() == set(), torch_backend.report()


def test_decoding_after_the_cache_was_filled_anew():
    """A weight that is bound once stays bound, a cache never is."""
    model = Decoder().eval()
    other = copy.deepcopy(model)
    f = compiled(model, options={"freeze": True})
    with torch.no_grad():
        for round_ in range(2):
            for step in range(3):
                x, at = torch.randn(1, 1, 8), torch.tensor([step])
                assert torch.allclose(f(x, at), other(x, at), atol=1e-5)
            for m in (model, other):
                m.keys.zero_()
                m.values.fill_(0.5)
            model.out.weight.mul_(2)
            other.out.weight.mul_(2)


# -- strides of attention ------------------------------------------------------

QUERIES = {
    "dense": lambda: torch.randn(2, 3, 5, 8),
    "rows outside": lambda: torch.randn(2, 5, 3, 8).transpose(1, 2),
    "heads outside": lambda: torch.randn(3, 2, 5, 8).transpose(0, 1),
    "part of a product": lambda: torch.randn(2, 5, 3, 24).transpose(1, 2)[
        ..., :8
    ],
    "one for the batch": lambda: torch.randn(1, 3, 5, 8).expand(2, 3, 5, 8),
}


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("name", QUERIES)
def test_attention_is_laid_out_like_its_query(name, gradients):
    """As eager does, so that what views the result there does so here."""
    torch.manual_seed(0)
    query = QUERIES[name]()
    key, value = torch.randn(2, 2, 3, 7, 8).unbind()
    weight = torch.randn(8, requires_grad=gradients)
    attend = torch.nn.functional.scaled_dot_product_attention
    own = attend(query, key, value)
    shape = (2, -1) if name != "heads outside" else (2, 3, 40)
    rows = (1, 2) if own.stride(1) < own.stride(2) else (1, 1)

    def function(q, w):
        out = attend(q, key, value * w)
        return out, out.transpose(*rows).view(shape)

    want = function(query, weight)
    have = compiled(function)(query, weight)
    for h, w in zip(have, want):
        assert torch.allclose(h, w, atol=1e-5)
        assert h.stride() == w.stride()
    assert left() == set(), torch_backend.report()


SCATTERS = {
    "one_row": (lambda x, y: torch.slice_scatter(x, y, 0, 2, 6), (8, 3), (1, 3)),
    "no_place": (lambda x, y: torch.slice_scatter(x, y, 0, 2, 6), (2, 3), (1, 3)),
    "long": (lambda x, y: torch.slice_scatter(x, y, 0, -4, None), (8, 3), (5, 3)),
    "steps": (lambda x, y: torch.slice_scatter(x, y, 0, 0, None, 2), (5, 3), (2, 3)),
    "one_column": (lambda x, y: torch.slice_scatter(x, y, 0, 2), (5, 3), (3, 1)),
    "past_end": (lambda x, y: torch.select_scatter(x, y, 0, 5), (5, 3), (3,)),
    "before": (lambda x, y: torch.select_scatter(x, y, 0, -6), (5, 3), (3,)),
    "one_number": (lambda x, y: torch.select_scatter(x, y, 0, 1), (5, 3), (1,)),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", SCATTERS)
def test_slices_of_another_size_are_errors(name, dynamic):
    """Also where neither eager's meta kernel nor its decomposition looks."""
    function, *shapes = SCATTERS[name]
    inputs = [torch.randn(shape) for shape in shapes]
    with pytest.raises((RuntimeError, IndexError)):
        function(*inputs)
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="polynest", dynamic=dynamic)
    with pytest.raises((RuntimeError, IndexError)):
        compiled(*inputs)


def test_slices_of_constant_rows_meet_other_sizes():
    rows = torch.randn(4, 3)

    def function(x):
        return torch.slice_scatter(x, rows, 0, -6, -2) + 1

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="polynest", dynamic=True)
    for length in (8, 9, 6):
        x = torch.randn(length, 3)
        torch.testing.assert_close(compiled(x), function(x))
    with pytest.raises(RuntimeError):
        compiled(torch.randn(5, 3))


ORDERED = {
    "softmax": lambda x: torch.softmax(x, 1),
    "softmax of the last": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, 1),
    "batch_norm": torch.nn.BatchNorm2d(4),
    "batch_norm of known statistics": torch.nn.BatchNorm2d(4).eval(),
}


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("name", ORDERED)
def test_norms_have_strides_of_eager(name, gradients):
    """Contiguous, or images with channels last, whatever those of the input."""
    function = ORDERED[name]
    inputs = [
        torch.randn(2, 4, 5, 6).contiguous(memory_format=torch.channels_last),
        torch.randn(5, 4, 2, 6).permute(2, 1, 0, 3),
        torch.randn(2, 4, 5, 12)[..., ::2],
        torch.randn(1, 4, 5, 6).expand(2, 4, 5, 6),
    ]
    for x in inputs:
        x.requires_grad_(gradients)
        want = function(x)
        have = compiled(function)(x)
        assert have.stride() == want.stride()
        assert torch.allclose(have, want, atol=1e-5)
    assert left() == set(), torch_backend.report()
