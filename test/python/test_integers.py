# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers against eager, by value and element type, over their whole range.

Bytes of 128 and more are no negative numbers, whatever reads them, and no
integer goes through a float on its way.
"""

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from conftest import ROOT, compiled

from polynest import errors, torch_backend

BYTES = torch.tensor([0, 1, 3, 127, 128, 129, 200, 255], dtype=torch.uint8)
FACTORS = torch.tensor([255, 128, 7, 200, 1, 131, 16, 129], dtype=torch.uint8)


@pytest.fixture(autouse=True)
def fresh(fresh_torch):
    pass


def check(function, *inputs, whole=True):
    """Against eager, and, if `whole`, that nothing stayed with eager."""
    want = torch.utils._pytree.tree_leaves(function(*inputs))
    have = torch.utils._pytree.tree_leaves(compiled(function)(*inputs))
    names = [n for n, _ in function.names] if hasattr(
        function, "names"
    ) else range(len(want))
    assert len(have) == len(want)
    for name, h, w in zip(names, have, want):
        assert h.dtype == w.dtype, f"{name}: {h.dtype}, not {w.dtype}"
        assert torch.allclose(h.double(), w.double(), rtol=1e-6, atol=1e-9,
                              equal_nan=True), f"{name}: {h}, not {w}"
        if not w.is_floating_point():
            assert torch.equal(h, w), f"{name}: {h}, not {w}"
    if whole:
        left = torch_backend.explain_fallbacks()
        assert not left, list(map(str, left))


def table(ops):
    """One function for all of a table, so that it is compiled once."""

    def function(*inputs):
        return [op(*inputs) for _, op in function.names]

    function.names = list(ops.items())
    return function


UNARY = {
    "abs": torch.abs,
    "neg": lambda x: -x,
    "not": lambda x: ~x,
    "sign": torch.sign,
    "square": torch.square,
    "power": lambda x: x**3,
    "root": lambda x: x**0.5,
    "sqrt": torch.sqrt,
    "log1p": torch.log1p,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "logical not": torch.logical_not,
    "f32": lambda x: x.float(),
    "f16": lambda x: x.half(),
    "i8": lambda x: x.to(torch.int8),
    "i16": lambda x: x.short(),
    "i64": lambda x: x.long(),
    "bool": lambda x: x.bool(),
    "sum": lambda x: x.sum(),
    "prod": lambda x: x[1:].prod(),
    "mean": lambda x: x.float().mean(),
    "amax": lambda x: x.amax(),
    "amin": lambda x: x.amin(),
    "max": lambda x: torch.max(x, 0),
    "min": lambda x: torch.min(x, 0),
    "argmax": lambda x: x.argmax(),
    "argmin": lambda x: x[1:].argmin(),
    "sort": lambda x: torch.sort(x, descending=True),
    "cumsum": lambda x: x.cumsum(0),
    "cumprod": lambda x: x[1:].cumprod(0),
    "all": lambda x: x.all(),
    "slice": lambda x: x[2:5],
    "flip": lambda x: x.flip(0),
    "gather": lambda x: x[torch.tensor([7, 4, 0])],
    "pad": lambda x: F.pad(x, (1, 2), value=200),
    "pad 7": lambda x: F.pad(x, (1, 2), value=7),
    "constant": lambda x: x + torch.full((8,), 200, dtype=torch.uint8),
    "constant f32": lambda x: (
        torch.full((8,), 200, dtype=torch.uint8) * x.float()
    ),
    "filled": lambda x: torch.full_like(x, 255) + x,
    "range": lambda x: torch.arange(100, 250, dtype=torch.uint8)[40:48] > x,
    "shift left": lambda x: [x << n for n in (0, 1, 7, 8, 31, 255)],
    "shift right": lambda x: [x >> n for n in (0, 1, 7, 8, 31, 255)],
    "normalize": lambda x: (x / 255 - 0.5) / 0.25,
    "and back": lambda x: (x.float() * 0.999 + 0.5).to(torch.uint8),
    "wraps": lambda x: (x + x).float() / (x * x + 1),
    "matmul": lambda x: x.view(2, 4) @ x.view(4, 2),
    "masked fill": lambda x: x.masked_fill(x > 127, 129),
    "add up": lambda x: x.scatter_add(0, torch.tensor([1, 1, 4]), x[5:]),
    "put": lambda x: x.index_put((torch.tensor([1]),), x[7:]),
}

BINARY = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "fmod": torch.fmod,
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "where": lambda x, y: torch.where(x > 100, x, y),
    "cat": lambda x, y: torch.cat([x, y]),
    "alpha": lambda x, y: torch.add(x, y, alpha=3),
    "clamp": lambda x, y: x.clamp(y, y + 3),
}
INTEGER_BINARY = {
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
}
FLOAT_BINARY = {"atan2": torch.atan2}


def test_ops_of_bytes():
    check(table(UNARY), BYTES)


@pytest.mark.parametrize(
    "dtype",
    [
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.float16,
        torch.float32,
        torch.float64,
    ],
    ids=str,
)
@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
def test_bytes_beside_others(dtype, first):
    other = FACTORS
    if dtype != torch.uint8:
        values = [-100, 127, 7, -1, 1, 50, 16, -3]
        other = torch.tensor(values, dtype=dtype)
    ops = dict(BINARY)
    if dtype.is_floating_point:
        for name in ("//", "floor", "%"):  # of floats, for other tests
            del ops[name]
        ops |= FLOAT_BINARY
    else:
        ops |= INTEGER_BINARY
    divisor = BYTES.clone()
    divisor[0] = 9
    pair = (BYTES, other) if first else (other, divisor)
    check(table(ops), *pair)


SCALAR = {
    **{k: v for k, v in BINARY.items()
       if k not in ("maximum", "minimum", "cat", "clamp", "where")},
    "masked": lambda x, y: torch.where(x > 100, x, x * 0 + y),
}


@pytest.mark.parametrize("number", [-3, -1, 1, 127, 128, 200, 255, 300, 1000])
def test_bytes_beside_integers(number):
    ops = {
        name: lambda x, op=op: op(x, number)
        for name, op in SCALAR.items()
        if number >= 0 or name != "alpha"
    }
    if 0 <= number < 256:
        ops["where"] = lambda x: torch.where(x > 100, x, number)
        ops["clamp"] = lambda x: (x.clamp(min=number), x.clamp(max=number))
        ops["fill"] = lambda x: x.masked_fill(x > 100, number)
        ops["pad"] = lambda x: F.pad(x, (1, 1), value=number)
    check(table(ops), BYTES)


@pytest.mark.parametrize("number", [-1.5, 0.5, 100.5, 255.0, 300.25])
def test_bytes_beside_floats(number):
    names = "+ - * / < <= > >= == !=".split()
    ops = {n: lambda x, op=BINARY[n]: op(x, number) for n in names}
    ops["power"] = lambda x: x[1:] ** number
    ops["from"] = lambda x: number - x
    check(table(ops), BYTES)


def test_bytes_of_rank_0():
    ops = dict(BINARY) | INTEGER_BINARY
    del ops["clamp"], ops["cat"], ops["alpha"]
    signed = torch.tensor([-100, 127, 7, -1, 1], dtype=torch.int8)
    for x, y in (
        (BYTES, torch.tensor(300)),
        (BYTES, torch.tensor(-3, dtype=torch.int8)),
        (signed, torch.tensor(200, dtype=torch.uint8)),
        (torch.tensor(200, dtype=torch.uint8), signed),
    ):
        # torch-mlir crashes on numbers beside int8.
        check(table(ops), x, y, whole=signed is not x and signed is not y)


def test_every_byte():
    x = torch.arange(256, dtype=torch.int32).to(torch.uint8)
    ops = {
        f"{name} {k}": lambda x, op=BINARY[name], k=k: op(x, k)
        for name in "< <= > >= == !=".split()
        for k in (0, 100, 127, 128, 129, 200, 255)
    }
    check(table(ops), x)


def test_ops_not_known_of_bytes_stay_with_eager():
    x, y = BYTES, FACTORS
    for function in (
        lambda x, y: torch.pow(x, y) + y,
        lambda x, y: x.view(torch.int8) + y,
    ):
        torch._dynamo.reset()
        check(function, x, y, whole=False)
    assert any(
        "bytes" in str(f) for f in torch_backend.explain_fallbacks()
    )


def test_bytes_on_the_command_line():
    text = "torch.tensor([130, 3], dtype=torch.uint8) + 1"
    answer = subprocess.run(
        [sys.executable, "-m", "polynest", "-c", text, "--stage", "run"],
        capture_output=True,
        text=True,
        cwd=ROOT / "python",
    )
    assert "[131,   4], dtype=torch.uint8" in answer.stdout, answer


# -- no integer through a float ---------------------------------------------------


INTEGERS = {
    "neg": lambda x, y: -x,
    "abs": lambda x, y: x[1:].abs(),
    "//": lambda x, y: x // y,
    "floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "%": lambda x, y: x % y,
    "fmod": torch.fmod,
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "maximum": torch.maximum,
    "<": lambda x, y: x < y,
    "sign": lambda x, y: x.sign(),
    "square": lambda x, y: x * x,
    "relu": lambda x, y: x.relu(),
    "clamp": lambda x, y: x.clamp(-3, None),
    "amax": lambda x, y: x.amax(),
    "max": lambda x, y: x.max(0),
    "sort": lambda x, y: x.sort(stable=True),
    "sum": lambda x, y: x.sum(),
    "cumsum": lambda x, y: x.cumsum(0),
    "where": lambda x, y: torch.where(x > y, x, y),
    "// 7": lambda x, y: x // 7,
    "// -7": lambda x, y: x // -7,
    "// 1": lambda x, y: x // 1,
    "from 100": lambda x, y: 100 // y,
    "from -100": lambda x, y: -100 // y,
    "% 7": lambda x, y: x % 7,
    "% -7": lambda x, y: x % -7,
    "trunc -7": lambda x, y: torch.div(x, -7, rounding_mode="trunc"),
}


@pytest.mark.parametrize(
    "dtype", [torch.int8, torch.int16, torch.int32, torch.int64], ids=str
)
def test_integers_are_exact(dtype):
    info = torch.iinfo(dtype)
    big = min(2**53 + 1, info.max - 2)
    middle = min(2**24 + 1, info.max - 4)
    x = torch.tensor(
        [info.min, info.max, big, -big, middle, -middle, 0, 1, -1, 13, -13, 14],
        dtype=dtype,
    )
    for step in (0, 1, 5):
        y = torch.tensor(
            [7, -7, 3, 3, -3, info.max, 2, info.min, big, 5, 5, -7],
            dtype=dtype,
        ).roll(step)
        # torch-mlir crashes on numbers beside int8.
        check(table(INTEGERS), x, y, whole=dtype != torch.int8)


# Those that stay with eager raise its own.
ERRORS = (RuntimeError, errors.ProgramAssertionError)
DIVISIONS = {
    "//": lambda x, y: x // y,
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "%": lambda x, y: x % y,
    "fmod": torch.fmod,
}


@pytest.mark.parametrize("name", DIVISIONS)
def test_division_by_zero_is_an_error(name):
    op = DIVISIONS[name]
    x = torch.tensor([5, -7, 9])
    function = compiled(op)
    function(x, torch.tensor([2, 3, 4]))
    with pytest.raises(ERRORS, match="ZeroDivisionError"):
        function(x, torch.tensor([2, 0, 4]))
    byte = x.to(torch.uint8)
    with pytest.raises(ERRORS, match="ZeroDivisionError"):
        compiled(op)(byte, torch.zeros(3, dtype=torch.uint8))
    with pytest.raises(ERRORS, match="ZeroDivisionError"):
        compiled(lambda x: op(x, 0))(x)
