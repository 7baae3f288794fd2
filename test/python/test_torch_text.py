# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is written without torch-mlir is what its importer makes."""

import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

import torch.nn.functional as F  # noqa: E402
from conftest import ROOT  # noqa: E402

sys.path.insert(0, str(ROOT / "test" / "benchmark"))

from polynest import (  # noqa: E402
    torch_backend,
    torch_frontend,
    torch_text,
)

pytestmark = pytest.mark.usefixtures("fresh_torch")


def parsed(text):
    """The module as torch-mlir prints it, with places."""
    from torch_mlir import ir
    from torch_mlir.dialects import torch as dialect

    with ir.Context() as context:
        dialect.register_dialect(context)
        module = ir.Module.parse(text)
        places = [
            str(op.location)
            for op in module.body.operations[0].regions[0].blocks[0].operations
        ]
        return str(module), places


@pytest.fixture
def texts(monkeypatch):
    """Both texts, or why one was not written, of each region lowered."""
    found = []

    def both(graph, entry, *_):
        try:
            ours = parsed(torch_text.write(graph, entry))
        except torch_text.NotWritten as reason:
            ours = str(reason)
        holder = torch.fx.GraphModule(torch.nn.Module(), graph)
        theirs = torch_frontend._import(holder.graph, entry, [])
        found.append((ours, parsed(theirs)))
        return None

    monkeypatch.setattr(torch_frontend, "_lower_written", both)
    return found


def numbers(x):
    """Of each sort in the place of each other."""
    i = (x * 4).long()
    return (
        x * 2 + True,
        torch.add(x, x, alpha=2) / 3.5,
        torch.where(x > 0, x, -1.0),
        i // 3 + i.clamp(0, 7),
        torch.full((2,), True),
        x.clamp(min=-0.0, max=float("inf")),
        torch.full((3,), float("nan"), dtype=torch.float64),
    )


def lists(x):
    a, b = x.split([1, 3], 1)
    values, places = x.sort(1)
    i = torch.arange(4)
    return (
        torch.cat([b, a], 1),
        values * 2,
        places + 1,
        x[:, i],
        x[i, i] + 1,
        F.avg_pool2d(x[None, None], 2),
        F.conv2d(x[None, None], x[None, None, :2, :2], padding=(1, 0)),
    )


def types(x):
    return (
        x.half() + 1,
        x.bfloat16() * 2,
        x.to(torch.int8) + 1,
        x.to(torch.int16) + 1,
        x.to(torch.int32) * 3,
        x > 0,
        x.double().mean(),
        x.to(torch.uint8) >> 1,
        x.t().contiguous(memory_format=torch.contiguous_format) + 1,
    )


@pytest.mark.parametrize("function", [numbers, lists, types])
def test_same_text(function, texts):
    with torch.no_grad():
        torch.compile(function, backend=torch_backend.polynest)(
            torch.rand(4, 4)
        )
    assert texts
    for ours, theirs in texts:
        assert not isinstance(ours, str), ours
        assert ours == theirs


@pytest.mark.parametrize(
    "name",
    [
        "ResNet-50",
        "ResNet-18, training",
        "BERT-base",
        "GPT-2, decode",
        "DLRM",
        "LSTM",
    ],
)
def test_same_text_of_models(name, texts):
    pytest.importorskip("transformers")
    import model_zoo

    subject = model_zoo.build(name, small=True)
    with (
        torch._dynamo.config.patch(allow_rnn=subject.rnn),
        torch.set_grad_enabled(subject.trains),
    ):
        subject.call(
            torch.compile(
                subject.module, backend=torch_backend.polynest, dynamic=False
            ),
            subject.inputs(2),
        )
    assert texts
    for ours, theirs in texts:
        assert not isinstance(ours, str), ours
        assert ours == theirs


def test_sizes_that_vary_are_left(texts):
    x = torch.rand(6, 4)
    torch._dynamo.mark_dynamic(x, 0)
    with torch.no_grad():
        torch.compile(lambda x: x * 2, backend=torch_backend.polynest)(x)
    assert all(isinstance(ours, str) for ours, _ in texts)


def test_library_is_not_loaded(tmp_path):
    """In the user's process: it is large."""
    import subprocess

    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "from polynest import torch_backend\n"
        "f = torch.compile(lambda x: x * 2, backend=torch_backend.polynest)\n"
        "with torch.no_grad():\n"
        "    assert f(torch.ones(3)).sum() == 6\n"
        "assert len(torch_backend.reports()) == 1\n"
        "assert 'TorchMLIR' not in open('/proc/self/maps').read()\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
