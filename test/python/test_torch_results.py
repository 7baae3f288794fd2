# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of products that go on permuted, in parts or in slices, against eager:
sizes around vectors, one and none, dynamic, with NaN and infinities."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

import torch.nn.functional as F  # noqa: E402

from comparing import check, tensors  # noqa: E402
from conftest import compiled  # noqa: E402

from polynest import torch_backend  # noqa: E402


@pytest.fixture(autouse=True)
def fresh(fresh_torch):
    torch.manual_seed(7)


def numbers(*sizes):
    x = torch.randn(sizes) * 0.5
    for n, value in enumerate([float("nan"), float("inf"), -0.0]):
        if x.numel() > 60:
            x.view(-1)[n * 17 + 3] = value
    return x


def compare(function, *inputs, length, module=None, is_empty=False):
    with torch.no_grad():
        want = function(*inputs)
        have = (module or compiled(function))(*inputs)
    for a, b in zip(tensors(have), tensors(want), strict=True):
        assert a.shape == b.shape
        assert all(m == n for m, n, s in zip(a.stride(), b.stride(), a.shape) if s > 1)
        check(a, b, a.dtype, length)
    assert is_empty or not torch_backend.explain_fallbacks()


def heads(b, s, h, d):
    def function(x, w, y):
        return (x @ w + y).view(b, s, h, d).transpose(1, 2).contiguous()

    return function


@pytest.mark.parametrize("d", [16, 64, 24, 20, 1])
@pytest.mark.parametrize("b,s,h", [(2, 32, 3), (1, 48, 4), (3, 7, 2), (2, 1, 4)])
def test_heads(b, s, h, d):
    x, w = numbers(b * s, 40), numbers(40, h * d)
    compare(heads(b, s, h, d), x, w, numbers(h * d), length=41)


def test_nothing():
    x, w = torch.randn(0, 40), torch.randn(40, 64)
    b = torch.randn(64)
    compare(heads(0, 16, 2, 32), x, w, b, length=41, is_empty=True)
    x, w = torch.randn(16, 0), torch.randn(0, 64)
    compare(heads(2, 8, 2, 32), x, w, b, length=1, is_empty=True)
    x, w = torch.randn(9, 40), torch.randn(40, 64)
    compare(lambda x, w: (x @ w)[:, :0] * 2, x, w, length=40, is_empty=True)


def test_heads_of_any_batch():
    def function(x, w):
        y = x @ w
        b, s, _ = y.shape
        return F.gelu(y.view(b, s, 4, 32).transpose(1, 2)).contiguous()

    module = compiled(function, dynamic=True)
    w = numbers(48, 128)
    for b, s in [(2, 16), (3, 33), (5, 7), (2, 1), (1, 64)]:
        compare(function, numbers(b, s, 48), w, length=48, module=module)


@pytest.mark.parametrize("s", [64, 37])
def test_three_parts(s):
    w, b = numbers(48, 3 * 4 * 32), numbers(3 * 4 * 32)

    def stacked(x, w, b):
        y = (x @ w + b).view(2, s, 3, 4, 32)
        return y.permute(2, 0, 3, 1, 4).contiguous()

    def apart(x, w, b):
        y = (x @ w + b).view(2, s, 3, 4, 32)
        return [t.contiguous() for t in y.permute(2, 0, 3, 1, 4).unbind(0)]

    compare(stacked, numbers(2 * s, 48), w, b, length=49)
    compare(apart, numbers(2 * s, 48), w, b, length=49)


@pytest.mark.parametrize("m,n", [(64, 96), (33, 50), (128, 7), (1, 64)])
def test_turned(m, n):
    x, w, y = numbers(m, 48), numbers(48, n), numbers(n, m)
    compare(lambda x, w: (x @ w).t().contiguous(), x, w, length=48)
    compare(lambda x, w, y: torch.relu(x @ w).t() + y, x, w, y, length=49)


@pytest.mark.parametrize("n", [384, 768, 390, 6])
def test_chunks(n):
    x, w, b = numbers(60, 72), numbers(72, n), numbers(n)
    compare(lambda x, w: [t * 2 for t in (x @ w).chunk(3, 1)], x, w, length=72)
    compare(lambda x, w, b: [t.contiguous() for t in (x @ w + b).chunk(3, 1)],
            x, w, b, length=73)  # fmt: skip

    def gated(x, w):
        a, b = (x @ w).chunk(2, 1)
        return a * torch.sigmoid(b)

    compare(gated, x, w, length=73)


@pytest.mark.parametrize("low,high", [(0, 100), (28, 29), (50, 178), (0, 178)])
def test_slices(low, high):
    x, w = numbers(150, 72), numbers(72, 178)
    compare(lambda x, w: (x @ w)[:, low:high] * 2, x, w, length=72)
    compare(lambda x, w: (x @ w)[low // 2 : high // 2, 3:].contiguous(), x, w,
            length=72)  # fmt: skip
    compare(lambda x, w: [(x @ w)[:, low:high] * 2, (x @ w).sum(0)], x, w,
            length=72 * 150)  # fmt: skip
    compare(lambda x, w: torch.relu(x @ w)[:, low:high].softmax(1), x, w, length=200)


def test_last_row():
    x, w = numbers(2, 30, 72), numbers(72, 500)
    compare(lambda x, w: (x @ w)[:, -1] + 1, x, w, length=72)


def test_integers_wrap():
    x = torch.randint(-(2**31), 2**31 - 1, (64, 48), dtype=torch.int32)
    w = torch.randint(-(2**31), 2**31 - 1, (48, 96), dtype=torch.int32)

    def function(x, w):
        y = x @ w
        return y.view(2, 32, 3, 32).transpose(1, 2).contiguous(), y[:, :20] + 1

    want, have = function(x, w), compiled(function)(x, w)
    assert all(torch.equal(a, b) for a, b in zip(want, have))


@pytest.mark.parametrize("c,size", [(32, 16), (8, 7)])
def test_convolutions(c, size):
    x, w = torch.randn(2, 6, size, size), torch.randn(c, 6, 3, 3)

    def conv(x, w):
        return F.conv2d(x, w, padding=1)

    compare(lambda x, w: conv(x, w).permute(0, 2, 3, 1).contiguous(), x, w, length=54)
    compare(lambda x, w: F.pixel_shuffle(conv(x, w), 2), x, w, length=54)
    compare(lambda x, w: F.gelu(conv(x, w).flatten(2).transpose(1, 2)).contiguous(),
            x, w, length=55)  # fmt: skip
    compare(lambda x, w: torch.cat([conv(x, w).flatten(1), x.flatten(1)], 1), x, w,
            length=54)  # fmt: skip
    compare(lambda x, w: conv(x, w)[:, :3, 1:5] * 2, x, w, length=54)
