# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every function of op_cases.py against eager, compiled and whole."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from comparing import check, longest, tensors, wide_reference  # noqa: E402
from op_cases import CASES  # noqa: E402

from polynest import torch_backend  # noqa: E402

@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_op(case):
    torch._dynamo.reset()
    torch_backend.reset_reports()
    torch._dynamo.utils.counters.clear()
    inputs = case.inputs()
    with torch.no_grad():
        expected = case.function(*inputs)
        wide = wide_reference(case.function, inputs, tensors(expected))
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
