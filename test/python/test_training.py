# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training: optimizers' steps."""

import copy

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from comparing import check  # noqa: E402
from conftest import compiled  # noqa: E402

from polynest import torch_backend  # noqa: E402


@pytest.fixture(autouse=True)
def fresh(fresh_torch):
    torch.manual_seed(11)


def whole(left=()):
    found = {f.op for f in torch_backend.explain_fallbacks()}
    assert found == set(left), torch_backend.report()


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
