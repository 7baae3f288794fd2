# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Moves of data and scans in lanes, against eager, bit for bit: sizes around
whole vectors, static and dynamic, with NaN, infinities and zeros of both signs."""

import pytest
import torch

from polynest import torch_backend

SIZES = (1, 3, 4, 7, 8, 9, 16, 17, 31, 33, 70)
EDGES = (float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1e-40, 3e38)


def compiled(function, **options):
    torch._dynamo.reset()
    return torch.compile(function, backend=torch_backend.polynest, **options)


def numbers(*sizes, seed=0, edges=True):
    generator = torch.Generator().manual_seed(seed + sum(sizes))
    x = torch.randn(sizes, generator=generator)
    if edges and x.numel():
        flat = x.view(-1)
        for n, value in enumerate(EDGES):
            flat[(n * 37 + seed) % flat.numel()] = value
    return x


def same_bits(a, b):
    assert a.shape == b.shape and a.dtype == b.dtype
    if a.dtype == torch.float32:
        nan = a.isnan()
        assert torch.equal(nan, b.isnan())
        a, b = (t.masked_fill(nan, 0).view(torch.int32) for t in (a, b))
    assert torch.equal(a, b)


# -- rows that data choose ---------------------------------------------------------


@pytest.mark.parametrize("dynamic", [False, True])
def test_rows_that_data_choose(dynamic):
    def rows(table, i):
        return table[i]

    def scaled(table, i):
        return table[i] * 2.0

    f = compiled(rows, dynamic=dynamic)
    g = compiled(scaled, dynamic=dynamic)
    for columns in SIZES:
        table = numbers(11, columns)
        i = torch.tensor([10, 0, -11, 3, 3, -1, 7])
        same_bits(f(table, i), rows(table, i))
        same_bits(g(table, i), scaled(table, i))


def test_rows_of_other_types():
    def rows(table, i):
        return table[i]

    for dtype in (torch.uint8, torch.int16, torch.int64, torch.bool,
                  torch.float64, torch.bfloat16):
        table = numbers(6, 35, edges=False).mul(9).to(dtype)
        i = torch.tensor([5, 0, 2])
        assert torch.equal(compiled(rows)(table, i), rows(table, i))


def test_every_index_is_checked():
    """One of 33 out of range: in each vector, and in what is left over."""

    def take(x, i):
        return torch.exp(x[i])

    f = compiled(take)
    x = numbers(40, edges=False)
    good = torch.arange(33)
    assert torch.allclose(f(x, good), take(x, good))
    for at in range(33):
        for bad in (40, -41):
            i = good.clone()
            i[at] = bad
            with pytest.raises(IndexError):
                f(x, i)
