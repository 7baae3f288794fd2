# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m polynest and the demo's options."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from polynest import demo  # noqa: E402
from polynest.__main__ import lower_expression, main  # noqa: E402

SOFTMAX = "torch.softmax(torch.randn(8, 16), -1)"


@pytest.mark.parametrize(
    "stage, word",
    [
        ("input", "linalg.generic"),
        ("s1", "memref"),
        ("s2", "affine.for"),
        ("s3", "memref"),
        ("s4", "memref"),
        ("s5", "llvm.func"),
    ],
)
def test_stages(capsys, stage, word):
    assert main(["-c", SOFTMAX, "--stage", stage]) == 0
    assert word in capsys.readouterr().out


def test_run(capsys):
    assert main(["-c", "torch.ones(2, 2) + torch.full((2,), 2.0)",
                 "--stage", "run"]) == 0
    assert "3., 3." in capsys.readouterr().out


def test_seed():
    first = lower_expression(SOFTMAX, 1)[1][0]
    again = lower_expression(SOFTMAX, 1)[1][0]
    other = lower_expression(SOFTMAX, 2)[1][0]
    assert torch.equal(first, again) and not torch.equal(first, other)


@pytest.mark.parametrize(
    "expression, word",
    [
        ("1 +", "not an expression"),
        ("torch.mode(torch.randn(4))[0] + 1", "mode"),
        ("foo(3)", "the expression raises NameError: name 'foo'"),
        ("torch.ones(3) + torch.ones(4)", "raises RuntimeError: The size"),
        ("torch.ones(3).sum().item()", "gives no tensor but a float"),
        ("1 + 1", "gives no tensor but a int"),
        ("None", "gives no tensor but a NoneType"),
    ],
)
def test_errors(capsys, expression, word):
    assert main(["-c", expression]) == 1
    assert word in capsys.readouterr().err


def test_unknown_target(capsys):
    assert main(["-c", "torch.ones(2) + 1", "--target", "nope"]) == 1
    assert "nope" in capsys.readouterr().err


def test_lists(capsys):
    assert main(["--targets"]) == 0
    assert "host" in capsys.readouterr().out
    assert main(["--environment"]) == 0
    assert "POLYNEST_LIBRARY" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert "LLVM 22" in capsys.readouterr().out
    assert main([]) == 2


def test_demo_options(capsys):
    for bad in (["--batch", "0"], ["--model", "vgg"], ["--seconds", "0"]):
        with pytest.raises(SystemExit) as caught:
            demo.main(bad)
        assert caught.value.code == 2
    unit, factor, path = demo._tolerance()
    assert 0 < unit < 1 and factor > 0 and path.endswith("tolerances.json")
