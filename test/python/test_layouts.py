# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of convolutions with bound weights, whose buffers change layout."""

import copy
import random

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from torch import nn  # noqa: E402

from conftest import bound, compiled  # noqa: E402

from polynest import torch_backend  # noqa: E402


pytestmark = pytest.mark.usefixtures("fresh_torch")


class Branch(nn.Module):
    """Two ways from one image, joined by a sum or along the channels."""

    def __init__(self, left, right, joins):
        super().__init__()
        self.left, self.right, self.joins = left, right, joins

    def forward(self, x):
        a, b = self.left(x), self.right(x)
        return a + b if self.joins == "sum" else torch.cat([a, b], 1)


def network(rng, dims):
    """Layers, and what an image of any size from 9 up goes through."""
    conv = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[dims - 1]
    norm = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[dims - 1]
    pool = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)[dims - 1]
    mean = (nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)[dims - 1]
    channels = rng.choice([3, 4, 8])
    layers, first = [], channels
    for _ in range(rng.randint(2, 4)):
        kind = rng.choice(["conv"] * 4 + ["groups", "depthwise", "branch", "pool"])
        if kind == "pool":
            layers.append(rng.choice([pool(3, 1, 1), mean(3, 1, 1)]))
            continue
        groups = {"groups": 2, "depthwise": channels}.get(kind, 1)
        # torch-mlir lowers groups in two dimensions only.
        if channels % groups or dims != 2:
            groups = 1
        k = rng.choice([1, 3, 3, 5])
        # Numbers of channels that are no whole vectors, too.
        out = groups * rng.choice([1, 5, 8, 12]) if groups > 1 else rng.choice(
            [4, 7, 16, 24])

        def make(inputs, outputs, kernel, g):
            return conv(inputs, outputs, kernel, padding=kernel // 2, groups=g,
                        stride=rng.choice([1, 1, 1, 2]) if kind == "conv" else 1,
                        bias=rng.random() < 0.5)
        if kind == "branch":
            joins = rng.choice(["sum", "cat"])
            layers.append(Branch(make(channels, out, k, 1),
                                 make(channels, out, 1, 1), joins))
            out *= 2 if joins == "cat" else 1
        else:
            layers.append(make(channels, out, k, groups))
        channels = out
        if rng.random() < 0.5:
            layers.append(norm(channels))
        if rng.random() < 0.7:
            layers.append(rng.choice([nn.ReLU(), nn.SiLU(), nn.ReLU6()]))
    if rng.random() < 0.4:
        layers.append(nn.Flatten(2))
    return nn.Sequential(*layers), first


def check(model, x):
    model.eval()
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    frozen = compiled(model, options={"freeze": True})
    with torch.no_grad():
        want = copy.deepcopy(model).double()(x.double())
        # The second call has the weights bound.
        for _ in range(2):
            got = frozen(x)
    assert got.shape == want.shape
    off = (got.double() - want).abs() > bound(want, "f32", 2000)
    off &= ~(got.isnan() & want.isnan())
    assert not bool(off.any()), f"{got[off][:6]} against {want[off][:6]}"
    assert torch.equal(got.isnan(), want.isnan())
    assert not torch_backend.explain_fallbacks()


@pytest.mark.parametrize("seed", range(14))
def test_random(seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    dims = rng.choice([1, 2, 2, 2, 3])
    model, channels = network(rng, dims)
    sizes = [rng.choice([9, 10, 13, 17]) for _ in range(dims)]
    x = torch.randn(rng.choice([1, 2, 3]), channels, *sizes)
    check(model, x)


def test_nan_stays_in_its_window():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(),
                          nn.Conv2d(8, 16, 3, padding=1))
    x = torch.randn(1, 3, 17, 17)
    x[0, 1, 8, 8] = float("nan")
    x[0, 2, 0, 16] = float("inf")
    check(model, x)


def test_channels_last_input():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1, stride=2), nn.ReLU(),
                          nn.Conv2d(16, 8, 1))
    x = torch.randn(2, 8, 15, 15).to(memory_format=torch.channels_last)
    check(model, x)


@pytest.mark.parametrize("sizes", [(2, 4, 1, 1), (1, 4, 1, 33), (3, 4, 2, 7)])
def test_small(sizes):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), nn.ReLU(),
                          nn.Conv2d(8, 8, 3, padding=1))
    check(model, torch.randn(sizes))


def test_group_norm_between():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16),
                          nn.SiLU(), nn.Upsample(scale_factor=2.0),
                          nn.Conv2d(16, 8, 3, padding=1), nn.GroupNorm(8, 8))
    check(model, torch.randn(2, 3, 9, 11))


def test_group_norm_keeps_pixels_apart():
    """A dimension that joins channels and pixels would fix the layout."""
    from torch.fx.experimental.proxy_tensor import make_fx

    from polynest.torch_decompositions import decomposition_table

    def norm(x, w, b):
        return nn.functional.group_norm(x, 2, w, b)

    graph = make_fx(norm, decomposition_table(), "fake")(
        torch.randn(3, 6, 5, 7), torch.randn(6), torch.randn(6)).graph
    sizes = [n.meta["val"].shape for n in graph.nodes if "val" in n.meta]
    assert (3, 2, 3, 5, 7) in sizes
    assert not any(n % 35 == 0 for shape in sizes for n in shape)
