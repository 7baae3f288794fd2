# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m polynest, what it prints on a terminal, and the demo's options."""

import io
import re
import time
import types

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

import polynest  # noqa: E402
from polynest import demo, env, errors, pretty, progress  # noqa: E402
from polynest.__main__ import _duration, main  # noqa: E402
from polynest.command_source import from_expression  # noqa: E402

SOFTMAX = "torch.softmax(torch.randn(8, 16), -1)"
MODEL = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(6, 4)
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x, y):
        return self.drop(self.layer(x)).relu(), y.byte() + 1

model = Net()
other = lambda x, y: x.sum() + y
wrong = lambda x, y: torch.mode(x)[0]
writes = lambda x, y: x.add_(1)

def inputs():
    return torch.randn(3, 6), torch.arange(4.0)
"""
CODE = re.compile(r"\x1b\[[\d;]*m")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return str(path)


@pytest.mark.parametrize(
    "stage, word",
    [
        ("torch", "torch.aten"),
        ("input", "linalg.generic"),
        ("s1", "memref"),
        ("s2", "affine.for"),
        ("s3", "memref"),
        ("s4", "memref"),
        ("s5", "llvm.func"),
        ("asm", "ret"),
    ],
)
def test_stages(capsys, stage, word):
    assert main(["-c", SOFTMAX, "--stage", stage]) == 0
    plain = capsys.readouterr().out
    assert word in plain and "\x1b" not in plain
    assert main(["-c", SOFTMAX, "--stage", stage, "--color", "always"]) == 0
    colored = capsys.readouterr().out
    assert "\x1b[" in colored
    text = CODE.sub("", colored)
    assert text.startswith(f"{SOFTMAX}  at {stage}, for host\n")
    assert "8x16xf32" in text
    # Below the description stands the same program, aligned.
    body = text.split("\n\n", 1)[1]
    assert body.split() == plain.split()


def test_what_is_printed_can_be_read_back(capsys):
    assert main(["-c", SOFTMAX, "--stage", "s2"]) == 0
    text = capsys.readouterr().out
    assert "llvm.func" in polynest.lower(text, "s5")


def test_run(capsys):
    assert main(["-c", "torch.ones(2, 2) + torch.full((2,), 2.0)",
                 "--stage", "run"]) == 0
    assert "3., 3." in capsys.readouterr().out


def test_seed():
    first = from_expression(SOFTMAX, 1).values[0]
    again = from_expression(SOFTMAX, 1).values[0]
    other = from_expression(SOFTMAX, 2).values[0]
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_files(capsys, model):
    assert main([model, "--stage", "run"]) == 0
    out = capsys.readouterr().out
    assert "tensor([1, 2, 3, 4], dtype=torch.uint8)" in out
    assert main([f"{model}:other", "--stage", "s3"]) == 0
    assert "memref<4xf32>" in capsys.readouterr().out
    assert main([model, "--color", "always"]) == 0
    text = CODE.sub("", capsys.readouterr().out)
    rows = [line.split() for line in text.splitlines()[2:6]]
    assert ["in0", "x", "3x6xf32"] in rows
    assert ["in2", "layer.weight", "4x6xf32", "bound", "once"] in rows


@pytest.mark.parametrize("what", ["-c", "file"])
def test_check_and_bench(capsys, model, what):
    given = ["-c", SOFTMAX] if what == "-c" else [model]
    assert main([*given, "--check", "--bench", "--seconds", "0.01",
                 "--threads", "1"]) == 0
    polynest.set_thread_count(0)
    out = capsys.readouterr().out
    assert "agrees" in out and "differs" not in out
    lines = [x.split() for x in out.splitlines()]
    assert ["least", "median", "calls", "to", "eager"] in lines
    times = [x for x in lines if x and x[0] in ("eager", "polynest")]
    assert len(times) == 2 and times[0][-1] == "1.00x"
    assert "1 threads" in out
    # Neither asks for a program.
    assert "linalg" not in out


def test_check_of_something_wrong(capsys, monkeypatch):
    from polynest.handles import Module

    original = Module.executable

    def executable(self, target, options=None, cache=None):
        if "polynest-fuse-nests" in options._fields[3] or (
            options._fields[0] == "plain"
        ):
            return original(self, target, options, cache)
        text = self.text.replace("arith.addf", "arith.subf")
        with polynest.Context() as context, Module(context, text) as other:
            return original(other, target, options, cache)

    monkeypatch.setattr(Module, "executable", executable)
    assert main(["-c", "torch.ones(3) + torch.rand(3)", "--check"]) == 1
    out = capsys.readouterr().out
    assert "differs: element [0] is" in out
    assert "the pass is polynest-fuse-nests" in out


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


@pytest.mark.parametrize(
    "text, name, word",
    [
        (None, "", "there is no file"),
        ("1 / 0", "", "raises ZeroDivisionError"),
        ("def", "", "raises SyntaxError"),
        ("x = 1", "", "defines no 'model'"),
        ("model = abs", "", "defines no 'inputs'"),
        (MODEL, ":none", "defines no 'none'"),
        (MODEL, ":wrong", "aten.mode.default of f32"),
        (MODEL, ":writes", "changes its buffers or inputs"),
        ("model, inputs = 3, ()", "", "model is a int"),
        ("model, inputs = abs, 3", "", "'inputs' is a int"),
        ("model = abs\ndef inputs(): raise KeyError(3)", "",
         "'inputs' of .* raises KeyError"),
    ],
)
def test_errors_of_files(capsys, tmp_path, text, name, word):
    path = tmp_path / "bad.py"
    if text is not None:
        path.write_text(text)
    assert main([f"{path}{name}"]) == 1
    assert re.search(word, capsys.readouterr().err)


def test_bad_options(capsys, model):
    for arguments, word in (
        (["-c", "torch.ones(2) + 1", "--target", "nope"], "nope"),
        (["-c", "torch.ones(2) + 1", model], "not both"),
        (["-c", "torch.ones(2) + 1", "--bench", "--seconds", "0"],
         "--seconds is 0.0"),
        (["-c", "torch.ones(2) + 1", "--bench", "--threads", "-1"],
         "-1 is no number of threads"),
    ):
        assert main(arguments) == 1
        assert word in capsys.readouterr().err


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


# -- the terminal --------------------------------------------------------------


@pytest.mark.parametrize(
    "color, variables, want",
    [
        ("auto", {}, True),
        ("auto", {"NO_COLOR": "1"}, False),
        ("auto", {"NO_COLOR": ""}, True),
        ("auto", {"TERM": "dumb"}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {}, False),
    ],
)
def test_when_there_are_colors(color, variables, want):
    with env.scope(**{"NO_COLOR": None, "TERM": "xterm", **variables}):
        assert pretty.Printer(Terminal(), color).color is want
        assert pretty.Printer(io.StringIO(), "auto").color is False


def test_aligned():
    text = (
        "func.func @f(%a: f32) {\n"
        "  %0 = arith.addf %a, %a : f32\n"
        "  %cst_1 = arith.constant 1.0 : f32\n"
        "    %1 = arith.mulf %0, %0 : f32\n"
        "  %a_very_long_name_of_it = arith.mulf %0, %0 : f32\n"
        "  return\n}\n"
    )
    lines = pretty.aligned(text).splitlines()
    assert lines[1] == "  %0     = arith.addf %a, %a : f32"
    assert lines[2] == "  %cst_1 = arith.constant 1.0 : f32"
    assert lines[3] == "    %1 = arith.mulf %0, %0 : f32"
    assert lines[4].startswith("  %a_very_long_name_of_it = ")
    assert pretty.aligned(text).split() == text.split()
    assert pretty.aligned("") == "" and pretty.aligned("x") == "x"


def test_styles():
    out = Terminal()
    printer = pretty.Printer(out, "always")
    printer.code('%0 = arith.constant 2.5 : tensor<2x?xf32> // "what"\n')
    text = out.getvalue()
    for piece, code in (
        ("%0", "33"), ("arith.constant", "34"), ("2.5", "31"),
        ("tensor<2x?xf32>", "36"), ('// "what"', "2"),
    ):
        assert f"\x1b[{code}m{piece}\x1b[0m" in text
    out = Terminal()
    pretty.Printer(out, "always").code("f:\n\tvaddps\t%ymm0, %ymm1\n", "asm")
    assert "\x1b[35mf:\x1b[0m" in out.getvalue()
    assert "\x1b[34mvaddps\x1b[0m       \x1b[33m%ymm0" in out.getvalue()


def test_tables():
    out = io.StringIO()
    printer = pretty.Printer(out)
    printer.table([("a", "bb"), ("long", "1"), ("", "123")], right=(1,))
    printer.table([])
    assert out.getvalue() == "a      bb\nlong    1\n      123\n"


@pytest.mark.parametrize(
    "seconds, text",
    [(2.0, "2.00 s"), (0.0123, "12.3 ms"), (0.123, "123 ms"),
     (1e-3, "1.00 ms"), (4.5e-6, "4.50 us"), (5e-9, "5 ns")],
)
def test_durations(seconds, text):
    assert _duration(seconds) == text


# -- progress ------------------------------------------------------------------


@pytest.fixture
def terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(progress, "sys", types.SimpleNamespace(stderr=stream))
    monkeypatch.setattr(progress, "APPEARS_AFTER_S", 0.02)
    return stream


def test_progress(terminal):
    with progress.shown():
        progress.say("lowering 3 ops")
        with progress.shown():
            progress.say("compiling 3 ops")
            time.sleep(0.4)
    progress.say("not any more")
    text = terminal.getvalue()
    assert "polynest: compiling 3 ops, 0 s" in text
    assert text.endswith("\r\x1b[2K") and "\n" not in text
    assert "not any more" not in text


def test_progress_of_what_is_quick(terminal, monkeypatch):
    monkeypatch.setattr(progress, "APPEARS_AFTER_S", 60)
    with progress.shown():
        progress.say("this")
    assert terminal.getvalue() == ""


def test_progress_switched_off(terminal, monkeypatch):
    monkeypatch.setenv("POLYNEST_PROGRESS", "0")
    with progress.shown():
        time.sleep(0.1)
    assert terminal.getvalue() == ""
    monkeypatch.setenv("POLYNEST_PROGRESS", "yes")
    with pytest.raises(errors.ArgumentError, match="POLYNEST_PROGRESS"):
        with progress.shown():
            pass


def test_progress_ends_with_an_error(terminal):
    with pytest.raises(KeyError):
        with progress.shown():
            time.sleep(0.1)
            raise KeyError
    assert terminal.getvalue().endswith("\r\x1b[2K")
    assert getattr(progress._LINES, "line", None) is None


def test_no_progress_without_a_terminal(monkeypatch):
    monkeypatch.setattr(progress, "APPEARS_AFTER_S", 0.01)
    stream = io.StringIO()
    monkeypatch.setattr(progress, "sys", types.SimpleNamespace(stderr=stream))
    with progress.shown():
        time.sleep(0.05)
    assert stream.getvalue() == ""
