# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of LSTMs, GRUs and RNNs: one loop over time, equal to eager."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from conftest import bound, compiled  # noqa: E402

from polynest import torch_backend  # noqa: E402

CELLS = {
    "lstm": (torch.nn.LSTM, {}),
    "gru": (torch.nn.GRU, {}),
    "tanh": (torch.nn.RNN, {"nonlinearity": "tanh"}),
    "relu": (torch.nn.RNN, {"nonlinearity": "relu"}),
}


@pytest.fixture(autouse=True)
def fresh(fresh_torch):
    torch.manual_seed(1)
    with torch._dynamo.config.patch(allow_rnn=True):
        yield


def leaves(result):
    return torch.utils._pytree.tree_leaves(result)


def close(have, want, name="f32", terms=64):
    have, want = leaves(have), leaves(want)
    assert len(have) == len(want)
    for h, w in zip(have, want):
        assert h.dtype == w.dtype and h.shape == w.shape
        assert h.is_contiguous() == w.is_contiguous()
        assert torch.equal(h.isnan(), w.isnan())
        off = (h.double() - w.double()).abs() / bound(w, name, terms)
        if off.numel():
            assert float(off.nan_to_num(0.0).max()) <= 1


def layer(cell, inputs=5, width=7, **options):
    function, more = CELLS[cell]
    return function(inputs, width, **options, **more).eval()


def states(cell, *sizes, **options):
    h = torch.randn(*sizes, **options)
    return (h, torch.randn(*sizes, **options)) if cell == "lstm" else h


def run(model, *args, **options):
    """Results of the backend and of eager; nothing was left to eager."""
    with torch.no_grad():
        have = compiled(model, **options)(*args)
        want = model(*args)
    report = torch_backend.report()
    assert not torch_backend.explain_fallbacks(), report
    return have, want


def program_text(model, *args):
    """The text of the one program that a model becomes."""
    programs, seen = torch_backend._program, []

    def record(text, options, constants=()):
        seen.append(text)
        return programs(text, options, constants)

    torch_backend._program = record
    try:
        close(*run(model, *args))
    finally:
        torch_backend._program = programs
    (text,) = seen
    return text


@pytest.mark.parametrize("cell", CELLS)
def test_several_layers_in_both_directions(cell):
    model = layer(cell, num_layers=2, bidirectional=True)
    x = torch.randn(6, 3, 5)
    close(*run(model, x, states(cell, 4, 3, 7), options={"freeze": True}))


@pytest.mark.parametrize("cell", CELLS)
def test_batch_first_without_bias(cell):
    model = layer(cell, num_layers=2, batch_first=True, bias=False).double()
    x = torch.randn(3, 4, 5, dtype=torch.float64)
    close(*run(model, x), "f64")


@pytest.mark.parametrize("cell", CELLS)
def test_one_step_of_one(cell):
    close(*run(layer(cell, 1, 1, bidirectional=True), torch.randn(1, 1, 1)))


def test_wide_row_of_one():
    """The product that streams its weights."""
    model = layer("lstm", 48, 80)
    close(*run(model, torch.randn(9, 1, 48), options={"freeze": True}))


@pytest.mark.parametrize("cell", CELLS)
def test_no_nan_is_lost(cell):
    x = torch.randn(4, 2, 5)
    x[1, 0, 2] = torch.nan
    x[2, 1, 3] = torch.inf
    x[0, 1, 1] = -0.0
    close(*run(layer(cell), x))


def test_sequence_without_batch():
    close(*run(layer("gru"), torch.randn(6, 5)))


def test_batch_of_none():
    """What has no elements stays with eager."""
    model = layer("lstm")
    x = torch.randn(4, 0, 5)
    with torch.no_grad():
        close(compiled(model)(x), model(x))


@pytest.mark.parametrize("inputs, width", [(5, 7), (48, 64)])
def test_unknown_sizes(inputs, width):
    model = layer("lstm", inputs, width, bidirectional=True)
    with torch.no_grad():
        function = compiled(model, dynamic=True)
        for time, batch in ((3, 2), (7, 5), (2, 4)):
            x = torch.randn(time, batch, inputs)
            close(function(x), model(x))
    assert not torch_backend.explain_fallbacks(), torch_backend.report()
    assert len(torch_backend.reports()) == 1


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_code_does_not_grow_with_the_sequence(cell):
    model = layer(cell)
    texts = []
    for time in (4, 400):
        torch._dynamo.reset()
        text = program_text(model, torch.randn(time, 2, 5))
        texts.append(text.replace("400x", "4x"))
    assert "scf.for" in texts[0]
    assert len(texts[0].splitlines()) == len(texts[1].splitlines())


def test_equal_layers_share_a_function():
    text = program_text(layer("gru", num_layers=3), torch.randn(4, 2, 5))
    assert text.count("func.func private") == 1
    assert text.count("call @") == 3


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_gradients_are_pytorchs(cell):
    model = layer(cell)
    x = torch.randn(3, 2, 5, requires_grad=True)
    function = compiled(model)
    have = torch.autograd.grad(
        leaves(function(x))[0].sum(), [x, *model.parameters()])
    want = torch.autograd.grad(
        leaves(model(x))[0].sum(), [x, *model.parameters()])
    for h, w in zip(have, want):
        assert torch.allclose(h, w, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("options", [{"proj_size": 3}, {"dtype": torch.bfloat16}])
def test_what_is_not_covered(options):
    """Projections are unrolled, bf16 is oneDNN's."""
    model = layer("lstm", **options)
    x = torch.randn(3, 2, 5, dtype=options.get("dtype"))
    with torch.no_grad():
        have, want = compiled(model)(x), model(x)
    for h, w in zip(leaves(have), leaves(want), strict=True):
        assert h.dtype == w.dtype
        assert torch.allclose(h, w, rtol=1e-2, atol=1e-2)


def test_checked_and_left_to_eager():
    """The op alone, as eager runs it."""
    model = layer("gru", num_layers=2, bidirectional=True)
    x = torch.randn(4, 2, 5)
    close(*run(model, x, options={"check": True}))
    inputs, h = torch.randn(5, 2, 12), torch.randn(2, 3)
    c, weight = torch.randn(2, 3), torch.randn(12, 3)
    for reverse in (False, True):
        torch.library.opcheck(
            torch.ops.polynest.lstm_steps.default,
            (inputs, h, c, weight, reverse),
            test_utils=("test_schema", "test_faketensor"),
        )


def test_export(tmp_path):
    import polynest

    model = layer("lstm", num_layers=2, batch_first=True, bidirectional=True)
    x = torch.randn(2, 6, 5)
    polynest.export(model, (x,), tmp_path / "lstm.so")
    out, _ = polynest.load(tmp_path / "lstm.so")(x)
    with torch.no_grad():
        want, _ = model(x)
    assert torch.allclose(torch.as_tensor(out), want, rtol=1e-4, atol=1e-5)
