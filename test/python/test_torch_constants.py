# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers beside tensors, and tensors of one value: all types meet all numbers,
and every result is eager's, bit by bit where nothing is rounded."""

import itertools
import math

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from conftest import compiled  # noqa: E402

pytestmark = pytest.mark.usefixtures("fresh_torch")

F = torch.nn.functional

NUMBERS = (-3, -1, 0, 1, 2, 0.5, True)
SIGNED = (torch.int8, torch.int32, torch.int64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

VALUES = {
    torch.bool: [True, False, True, False, True, False, True, False],
    **{t: [1, 2, 3, -3, 7, 0, -1, 100] for t in SIGNED},
    **{t: [1.0, 2.0, 3.0, -3.0, 7.5, 0.0, -0.5, math.inf] for t in FLOATS},
}

OPS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "floordiv": lambda a, b: a // b,
    "remainder": lambda a, b: a % b,
    "fmod": torch.fmod,
    "div floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "div trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "pow": lambda a, b: a**b,
    "add alpha": lambda a, b: torch.add(a, b, alpha=-2),
    "sub alpha": lambda a, b: torch.sub(a, b, alpha=-2),
    "rsub alpha": lambda a, b: torch.rsub(a, b, alpha=-2),
    "maximum": lambda a, b: torch.maximum(a, torch.full((), b)),
    "where": lambda a, b: torch.where(a != 0, a, b),
    "where else": lambda a, b: torch.where(a != 0, b, a),
    "masked_fill": lambda a, b: a.masked_fill(a != 1, b),
    "clamp": lambda a, b: torch.clamp(a, max=b),
    "logical_and": lambda a, b: torch.logical_and(a, torch.full((), b)),
}


def cases(function, tensors):
    """A function for each number that eager takes, the tensor on either side."""
    for number, turned in itertools.product(NUMBERS, (False, True)):

        def call(x, number=number, turned=turned):
            return function(number, x) if turned else function(x, number)

        try:
            call(*tensors)
        except (RuntimeError, TypeError, AttributeError):
            continue
        yield f"{number} {'first' if turned else 'second'}", call


def agree(have, want, what):
    assert have.dtype == want.dtype, f"{what}: {have.dtype} for {want.dtype}"
    if want.is_floating_point():
        # One unit in the last place: eager's own kernels differ by as much
        # between whole vectors and what is left over.
        unit = torch.finfo(want.dtype).eps
        torch.testing.assert_close(
            have, want, rtol=unit, atol=0, equal_nan=True, msg=what
        )
    else:
        assert torch.equal(have, want), f"{what}: {have} for {want}"


def run_together(calls, x):
    """Many small functions as one graph: what is compared are its results."""
    names, functions = zip(*calls)

    def all_of_them(x):
        return [f(x) for f in functions]

    wrong = []
    for name, have, want in zip(
        names, compiled(all_of_them)(x), all_of_them(x)
    ):
        try:
            agree(have, want, name)
        except AssertionError as error:
            wrong.append(str(error) + f"; {have.tolist()} for {want.tolist()}")
    assert not wrong, "\n".join(wrong)


# What PyTorch's own shape functions and kernels do not agree on.
DISPUTED = {("pow", torch.bool, "True second")}


def table(dtype, tensor):
    """Every op with every number, on what `tensor` makes of an argument."""
    probe = tensor(torch.tensor(VALUES[dtype], dtype=dtype))
    for name, function in OPS.items():
        for what, call in cases(function, [probe]):
            if (name, dtype, what) not in DISPUTED:
                yield f"{name}, {what}", lambda x, call=call: call(tensor(x))


# The whole table takes 7 minutes: what is left out are types whose path another
# one shares, and values that are folded like others.
@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.int64, torch.bfloat16, torch.float32], ids=str
)
def test_numbers_beside_tensors(dtype):
    x = torch.tensor(VALUES[dtype], dtype=dtype)
    run_together(list(table(dtype, lambda x: x)), x)


@pytest.mark.parametrize(
    "dtype, value",
    [
        (torch.bool, 1),
        (torch.int8, -1),
        (torch.int64, 0),
        (torch.float16, 2),
        (torch.float32, 0),
        (torch.float64, -1),
    ],
    ids=str,
)
def test_numbers_beside_tensors_of_one_value(dtype, value):
    calls = list(table(dtype, lambda x: torch.full((3,), value, dtype=dtype)))
    # What depends on the argument keeps the graph from being nothing but
    # constants, which would stay with eager.
    calls.append(("argument", lambda x: torch.exp(x)))
    run_together(calls, torch.tensor([1.0, 2.0]))


CONSTANTS = {
    "ones == 1": lambda x: (torch.ones(4) == 1) & (x > -99),
    "zeros_like": lambda x: torch.zeros_like(x) == 0,
    "new_ones": lambda x: x.new_ones(4) >= 1,
    "masked_fill": lambda x: x.masked_fill(torch.zeros(4) == 0, 5.0),
    "where of one type": lambda x: torch.where(torch.ones(4) > 0, x, 0.0),
    "where of two types": lambda x: torch.where(torch.ones(4) > 0, 1, x),
    "where of two shapes": lambda x: torch.where(torch.ones(2, 4) < 1, 0.0, x),
    "cat of two values": lambda x: x
    + (torch.cat([torch.ones(2), torch.zeros(2)]) == 1),
    "cat of two types": lambda x: x
    * torch.cat([torch.ones(2), torch.zeros(2, dtype=torch.int64)]),
    "cat of i8": lambda x: x
    * torch.cat([x.new_full((4,), -3, dtype=torch.int8)[:2] // 2, x[:2]]),
    "views": lambda x: x * (torch.ones(2, 2).t().reshape(4) * -1),
    "expanded": lambda x: x[None] + torch.ones(1).expand(3, 4) * -1,
    "transposed": lambda x: torch.ones(4, 2).t() * -1 + x,
    "negative zero": lambda x: x / (torch.zeros(4) * -1),
    "nan": lambda x: x + torch.zeros(4) / 0,
    "big": lambda x: x.long() + (torch.ones(4, dtype=torch.int64) << 62),
    "exp": lambda x: x * torch.exp(torch.ones(4) * -1),
    "mask": lambda x: x + (1 - torch.tril(torch.ones(4, 4))) * -10000,
    "number first": lambda x: -3 // x,
    "cosine_embedding_loss": lambda x: F.cosine_embedding_loss(
        x[None], -x[None], torch.ones(1)
    ),
}


def test_constants_of_graphs():
    run_together(list(CONSTANTS.items()), torch.tensor([1.5, -2.0, 3.0, 0.5]))


def test_sizes_that_are_not_known():
    def function(x):
        ones = torch.ones(x.shape[0], dtype=x.dtype)
        return (ones == 1) & (x > -99), x + ones * -1, x // 2, ones > 0

    call = compiled(function, dynamic=True)
    for n in (4, 7):
        x = torch.arange(n) - 1.5
        for have, want in zip(call(x), function(x)):
            agree(have, want, f"size {n}")
