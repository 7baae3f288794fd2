# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every function of op_cases.py against eager, compiled and whole."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from conftest import bound  # noqa: E402
from op_cases import CASES  # noqa: E402

from polynest import torch_backend  # noqa: E402

NAMES = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
}


def tensors(tree):
    leaves = torch.utils._pytree.tree_leaves(tree)
    return [x for x in leaves if isinstance(x, torch.Tensor)]


def wide_reference(case, inputs, results):
    """The results in float64, where the function is one of f32 tensors and
    eager's own results agree with them; None elsewhere. A function with jumps
    (floor, rounding) has another value in float64."""
    if any(r.dtype is not torch.float32 for r in results):
        return None
    wide = tuple(
        x.double()
        if isinstance(x, torch.Tensor) and x.is_floating_point()
        else x
        for x in inputs
    )
    try:
        found = tensors(case.function(*wide))
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


def longest(inputs):
    """Bounds the length of every reduction of a case."""
    return max(
        (x.numel() for x in inputs if isinstance(x, torch.Tensor)), default=1
    )


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


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_op(case):
    torch._dynamo.reset()
    torch_backend.reset_reports()
    torch._dynamo.utils.counters.clear()
    inputs = case.inputs()
    with torch.no_grad():
        expected = case.function(*inputs)
        wide = wide_reference(case, inputs, tensors(expected))
        compiled = torch.compile(
            case.function, backend=torch_backend.polynest
        )
        result = compiled(*inputs)
    left = torch_backend.explain_fallbacks()
    if case.eager:
        # Either we left an op to eager, with a reason, or Dynamo did before it
        # asked us.
        assert all(f.reason for f in left)
        assert left or torch._dynamo.utils.counters["graph_break"]
    else:
        assert not left, torch_backend.report()
    want, have = tensors(expected), tensors(result)
    assert len(want) == len(have)
    for i, (w, h) in enumerate(zip(want, have)):
        assert h.dtype == w.dtype
        assert h.shape == w.shape
        if case.zeros:
            assert not bool(h.any())
            negative = torch.copysign(torch.ones(()), case.zeros[0]) < 0
            assert bool((torch.signbit(h) == negative).all())
        elif w.is_floating_point():
            reference = wide[i] if wide is not None else w
            check(h, reference, w.dtype, longest(inputs))
            if case.bits:
                numbers = ~w.isnan()
                assert torch.equal(
                    torch.signbit(w)[numbers], torch.signbit(h)[numbers]
                )
        elif w.dtype.is_complex:
            assert torch.allclose(w, h)
        else:
            assert torch.equal(w, h)


def test_names_are_unique():
    names = [c.name for c in CASES]
    assert len(names) == len(set(names))
