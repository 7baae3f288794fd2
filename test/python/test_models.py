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


# Ops of single models that stay with eager.
LEFT = {"LSTM": {"aten.mkldnn_rnn_layer.default"}}


@pytest.mark.parametrize("name", model_zoo.names())
def test_model(name):
    subject = model_zoo.build(name, small=True)
    function = compiled(subject.module, options={"freeze": True})
    with torch.no_grad(), torch._dynamo.config.patch(allow_rnn=subject.rnn):
        inputs = subject.inputs(2)

        def call(f):
            subject.reset()
            return snapshot(subject, f(*inputs))

        have, again, want = call(function), call(function), call(subject.module)
    close(have, want, subject.terms)
    assert all(map(torch.equal, have, again))
    left = {f.op for f in torch_backend.explain_fallbacks()}
    assert left == LEFT.get(name, set()), torch_backend.report()
    assert len(torch_backend.reports()) == 1, torch_backend.report()
