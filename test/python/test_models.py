# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small ones of the models that test/benchmark/models measures: compiled whole,
equal to eager, the same bits when called again."""

import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")
pytest.importorskip("transformers")

from conftest import ROOT, bound, compiled  # noqa: E402

sys.path.insert(0, str(ROOT / "test" / "benchmark"))

import model_zoo  # noqa: E402
from model_runners import compare_gradients  # noqa: E402

from polynest import torch_backend  # noqa: E402


@pytest.fixture(autouse=True)
def fresh(fresh_torch):
    pass


def snapshot(subject, result):
    return [t.clone() for t in (result, *subject.state())]


def close(have, want, terms):
    for h, w in zip(have, want, strict=True):
        assert h.dtype == w.dtype and h.shape == w.shape
        off = (h.double() - w.double()).abs() / bound(w, "f32", terms)
        assert float(off.max()) <= 1, f"{float(off.max())} tolerances"


@pytest.mark.parametrize("name", model_zoo.names())
def test_model(name):
    subject = model_zoo.build(name, small=True)
    function = compiled(subject.module, options={"freeze": not subject.trains})
    with torch._dynamo.config.patch(allow_rnn=subject.rnn):
        inputs = subject.inputs(2)

        def call(f):
            return snapshot(subject, subject.call(f, inputs))

        have, again, want = call(function), call(function), call(subject.module)
    if subject.trains:
        _, wrong = compare_gradients(subject, inputs, have, want)
        assert not wrong, wrong
    else:
        close(have, want, subject.terms)
    assert all(map(torch.equal, have, again))
    assert not torch_backend.explain_fallbacks(), torch_backend.report()
    graphs = 2 if subject.trains else 1
    assert len(torch_backend.reports()) == graphs, torch_backend.report()


def test_weights_stay_weights_between_regions():
    """What an eager op divides takes weights as they are, not copies of their
    transposes out of an earlier region."""

    class Halves(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(8, 8)
            self.second = torch.nn.Linear(8, 24)

        def forward(self, x):
            x = torch.linalg.qr(self.first(x)).Q
            return self.second(x) * self.second.weight.t()[:1]

    model = Halves()
    programs, seen = torch_backend._program, []

    def record(text, options, constants=()):
        seen.append((text, list(constants)))
        return programs(text, options, constants)

    torch_backend._program = record
    try:
        x = torch.randn(8, 8)
        with torch.no_grad():
            have = compiled(model, options={"freeze": True})(x)
            want = model(x)
    finally:
        torch_backend._program = programs
    close([have], [want], 8)
    first, second = (
        text.partition("@main(")[2].partition("->")[2].partition("{")[0]
        for text, _ in seen)
    assert "24" not in first and "24" in second
    # Weight and bias of the second layer.
    assert len(seen[1][1]) == 2
