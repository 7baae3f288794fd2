# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of what is computed from their operands, against eager: weights that
are integers with scales and zero points, for each row, each column or groups of
them. All numbers are small integers and powers of two, so that sums are exact in
any order."""

import pytest
import torch
from conftest import compiled_anew as compiled

# Rows, columns and depth.
EMPTY = ((0, 5, 7), (5, 0, 7), (5, 7, 0))
SIZES = (
    (1, 130, 257), (3, 300, 500), (7, 520, 513), (17, 129, 131), (130, 97, 200),
)


def integers(generator, *sizes, dtype=torch.float32, low=-8, high=8):
    return torch.randint(low, high, sizes, generator=generator).to(dtype)


def scales(generator, *sizes):
    return 2.0 ** torch.randint(-3, 3, sizes, generator=generator)


def by_row(x, q, s):
    return x @ (q.float() * s[:, None]).t()


def with_zero_point(x, q, s, z):
    return x @ ((q.float() - z[:, None]) * s[:, None]).t()


def by_column(x, q, s):
    return torch.relu(x @ (q.t().contiguous().float() * s[None, :]) - 1)


def by_rows_of_depth(x, q, s):
    return x @ (q.float() * s[None, :]).t()


def both_sides(x, q, s):
    return (x * 2) @ (q.float() * s[:, None]).t()


@pytest.mark.parametrize("dtype, dynamic", [
    (torch.int8, False), (torch.int8, True), (torch.uint8, True),
    (torch.bfloat16, True),
])
def test_scaled(dtype, dynamic):
    generator = torch.Generator().manual_seed(0)
    low = 0 if dtype == torch.uint8 else -8
    programs = [
        compiled(f, dynamic=dynamic)
        for f in (by_row, with_zero_point, by_column, by_rows_of_depth,
                  both_sides)
    ]
    for m, n, k in SIZES:
        x = integers(generator, m, k)
        q = integers(generator, n, k, dtype=dtype, low=low)
        s, d = scales(generator, n), scales(generator, k)
        z = integers(generator, n)
        for f, program in zip(
            (by_row, with_zero_point, by_column, by_rows_of_depth, both_sides),
            programs,
        ):
            arguments = {
                with_zero_point: (x, q, s, z), by_rows_of_depth: (x, q, d),
            }.get(f, (x, q, s))
            if not dynamic:
                program = compiled(f, dynamic=False)
            assert torch.equal(program(*arguments), f(*arguments)), (
                f.__name__, m, n, k,
            )


def test_any_number_of_rows():
    generator = torch.Generator().manual_seed(1)
    q = integers(generator, 200, 300, dtype=torch.int8)
    s = scales(generator, 200)
    program = compiled(by_row, dynamic=True)
    for m in (2, 3, 4, 8, 9, 16, 17, 64, 129, 300):
        x = integers(generator, m, 300)
        torch._dynamo.mark_dynamic(x, 0)
        assert torch.equal(program(x, q, s), by_row(x, q, s)), m


@pytest.mark.parametrize("m, n, k", EMPTY)
def test_empty(m, n, k):
    generator = torch.Generator().manual_seed(9)
    x, s = integers(generator, m, k), scales(generator, n)
    q = integers(generator, n, k, dtype=torch.int8)
    assert torch.equal(compiled(by_row)(x, q, s), by_row(x, q, s))


@pytest.mark.parametrize("rows, size", [
    (1, 64), (3, 32), (8, 128), (40, 64), (40, 24),
])
def test_groups(rows, size):
    def groups(x, q, s):
        w = (q.view(q.shape[0], -1, size).float() * s[:, :, None]).view(q.shape)
        return x @ w.t()

    generator = torch.Generator().manual_seed(2)
    x = integers(generator, rows, 6 * size)
    q = integers(generator, 97, 6 * size, dtype=torch.int8)
    s = scales(generator, 97, 6)
    assert torch.equal(compiled(groups)(x, q, s), groups(x, q, s))


@pytest.mark.parametrize("rows", [1, 5, 40])
def test_two_in_a_byte(rows):
    def nibbles(x, p, s):
        low, high = (p & 15).float() - 8, (p >> 4).float() - 8
        w = torch.stack([low, high], -1).view(p.shape[0], -1)
        return x @ (w * s[:, None]).t()

    generator = torch.Generator().manual_seed(3)
    x = integers(generator, rows, 2 * 130)
    p = integers(generator, 97, 130, dtype=torch.uint8, low=0, high=256)
    s = scales(generator, 97)
    assert torch.equal(compiled(nibbles)(x, p, s), nibbles(x, p, s))


@pytest.mark.parametrize("rows", [3, 40])
def test_scales_that_are_special(rows):
    generator = torch.Generator().manual_seed(4)
    x = integers(generator, rows, 131)
    q = integers(generator, 97, 131, dtype=torch.int8)
    s = scales(generator, 97)
    special = (float("nan"), float("inf"), -float("inf"), 0.0)
    for at, value in enumerate(special):
        s[at * 17] = value
    got, want = compiled(by_row)(x, q, s), by_row(x, q, s)
    assert torch.equal(got.isnan(), want.isnan())
    assert torch.equal(got.nan_to_num(0, 1, -1), want.nan_to_num(0, 1, -1))


@pytest.mark.parametrize("rows", [2, 50])
def test_integers_that_wrap(rows):
    def shifted(x, q):
        return x @ (q * 65537 - 3).t()

    generator = torch.Generator().manual_seed(5)
    every = {"dtype": torch.int32, "low": -2**31, "high": 2**31}
    x = integers(generator, rows, 131, **every)
    q = integers(generator, 97, 131, **every)
    assert torch.equal(compiled(shifted)(x, q), shifted(x, q))


def test_convolution():
    def convolved(x, q, s):
        w = q.float() * s[:, None, None, None]
        return torch.nn.functional.conv2d(x, w, padding=1)

    generator = torch.Generator().manual_seed(6)
    for channels in (5, 16):
        x = integers(generator, 2, channels, 9, 11)
        q = integers(generator, 24, channels, 3, 3, dtype=torch.int8)
        s = scales(generator, 24)
        for form in (torch.contiguous_format, torch.channels_last):
            y = x.to(memory_format=form)
            assert torch.equal(compiled(convolved)(y, q, s), convolved(y, q, s))


def test_weights_that_are_bound():
    class Linear(torch.nn.Module):
        def __init__(self):
            super().__init__()
            generator = torch.Generator().manual_seed(7)
            q = integers(generator, 97, 131, dtype=torch.int8)
            self.register_buffer("q", q)
            self.register_buffer("s", scales(generator, 97))

        def forward(self, x):
            return by_row(x, self.q, self.s)

    model = Linear()
    generator = torch.Generator().manual_seed(8)
    for rows in (1, 8, 30):
        x = integers(generator, rows, 131)
        with torch.no_grad():
            got = compiled(model, options={"freeze": True})(x)
        assert torch.equal(got, model(x)), rows
