# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests of operators compare results by: one table of tolerances."""

import torch
from conftest import bound, compiled

from polynest import torch_backend

NAMES = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
}


def tensors(tree):
    leaves = torch.utils._pytree.tree_leaves(tree)
    return [x for x in leaves if isinstance(x, torch.Tensor)]


def longest(inputs):
    """Bounds the length of every reduction of a case."""
    return max((x.numel() for x in tensors(inputs)), default=1)


def wide_reference(function, inputs, results):
    """The results in float64, where the function is one of f32 tensors and
    eager's own results agree with them; None elsewhere. A function with jumps
    (floor, rounding) has another value in float64."""
    if any(r.dtype is not torch.float32 for r in results):
        return None
    wide = torch.utils._pytree.tree_map(
        lambda x: x.double()
        if isinstance(x, torch.Tensor) and x.is_floating_point()
        else x,
        inputs,
    )
    try:
        found = tensors(function(*wide))
    except (RuntimeError, TypeError):
        return None
    n = longest(inputs)
    for r, w in zip(results, found):
        if w.dtype is not torch.float64 or w.shape != r.shape:
            return None
        off = (r.double() - w).abs() > bound(w, "f32", n)
        if bool((off & r.isfinite() & w.isfinite()).any()):
            return None
    return found


def check(got, reference, dtype, n):
    same_nan = got.isnan() == reference.isnan()
    assert bool(same_nan.all()), f"NaN differs: {got} against {reference}"
    special = reference.isnan() | reference.isinf()
    equal = (got.to(reference.dtype) == reference) | got.isnan()
    assert bool((equal | ~special).all()), f"{got} against {reference}"
    difference = (got.double() - reference.double()).abs()
    limit = bound(reference.double(), NAMES[dtype], n)
    bad = (difference > limit) & ~special
    assert not bool(bad.any()), (
        f"off by {difference[bad].max().item()}, allowed "
        f"{limit[bad].min().item()}: {got[bad][:8]} against "
        f"{reference[bad][:8]}"
    )


def gradients(function, inputs):
    """The result's gradients, weighted so that elements differ."""
    leaves = [x.detach().clone() for x in inputs]
    for leaf in leaves:
        leaf.requires_grad_(leaf.is_floating_point())
    out = function(*leaves)
    weight = torch.linspace(0.5, 1.5, out.numel(), dtype=torch.float64)
    (out * weight.view(out.shape).to(out.dtype)).sum().backward()
    return [x.grad for x in leaves if x.requires_grad]


def whole(left=()):
    """Nothing but these operators was left to eager."""
    found = {f.op for f in torch_backend.explain_fallbacks()}
    assert found == set(left), torch_backend.report()


def check_gradients(function, *inputs, left=()):
    have = gradients(compiled(function), inputs)
    wide = [x.double() if x.is_floating_point() else x for x in inputs]
    want = gradients(function, wide)
    for h, w in zip(have, want, strict=True):
        check(h, w, h.dtype, longest(inputs))
    whole(left)
