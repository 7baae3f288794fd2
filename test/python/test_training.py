# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training: what a forward pass keeps, optimizers' steps."""

import copy
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

import torch.nn.functional as F  # noqa: E402

from comparing import check  # noqa: E402
from conftest import ROOT, compiled  # noqa: E402

sys.path.insert(0, str(ROOT / "test" / "benchmark"))

from polynest import torch_backend  # noqa: E402


@pytest.fixture(autouse=True)
def fresh(fresh_torch):
    torch.manual_seed(11)


def whole(left=()):
    found = {f.op for f in torch_backend.explain_fallbacks()}
    assert found == set(left), torch_backend.report()


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
