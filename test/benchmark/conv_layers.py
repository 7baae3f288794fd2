# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolution layers of published networks, from their definitions.

Each function yields the layers of a network at 224 x 224 in order. A layer is
Layer(channels in, channels out, input size, kernel, stride, padding, groups);
sizes are square. ConvNeXt's linear layers stand as the 1 x 1 convolutions that
they are. Classifiers are left out.
"""
from typing import Iterator, NamedTuple


class Layer(NamedTuple):
    cin: int
    cout: int
    size: int
    kernel: int
    stride: int
    padding: int
    groups: int

    @property
    def out_size(self) -> int:
        return (self.size + 2 * self.padding - self.kernel) // self.stride + 1

    @property
    def flops(self) -> int:
        """Of one image."""
        return (2 * self.cout * self.out_size**2 * self.kernel**2
                * self.cin // self.groups)

    @property
    def name(self) -> str:
        text = (f"{self.cin}->{self.cout} {self.kernel}x{self.kernel} "
                f"{self.size}²")
        if self.stride > 1:
            text += f" /{self.stride}"
        if self.groups == self.cin == self.cout and self.groups > 1:
            text += " depthwise"
        elif self.groups > 1:
            text += f" {self.groups} groups"
        return text


def resnet50() -> Iterator[Layer]:
    """He et al. 2015, with the stride in the 3 x 3 convolution."""
    yield Layer(3, 64, 224, 7, 2, 3, 1)
    cin, size = 64, 56
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2),
                                  (512, 3, 2)):
        for block in range(blocks):
            s = stride if block == 0 else 1
            yield Layer(cin, width, size, 1, 1, 0, 1)
            yield Layer(width, width, size, 3, s, 1, 1)
            if block == 0:
                yield Layer(cin, 4 * width, size, 1, s, 0, 1)
            size //= s
            yield Layer(width, 4 * width, size, 1, 1, 0, 1)
            cin = 4 * width


def mobilenet_v2() -> Iterator[Layer]:
    """Sandler et al. 2018, table 2."""
    yield Layer(3, 32, 224, 3, 2, 1, 1)
    cin, size = 32, 112
    for expand, cout, blocks, stride in (
            (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
            (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(blocks):
            s = stride if block == 0 else 1
            width = cin * expand
            if expand > 1:
                yield Layer(cin, width, size, 1, 1, 0, 1)
            yield Layer(width, width, size, 3, s, 1, width)
            size //= s
            yield Layer(width, cout, size, 1, 1, 0, 1)
            cin = cout
    yield Layer(cin, 1280, size, 1, 1, 0, 1)


def convnext_tiny() -> Iterator[Layer]:
    """Liu et al. 2022."""
    yield Layer(3, 96, 224, 4, 4, 0, 1)
    size, before = 56, None
    for width, blocks in ((96, 3), (192, 3), (384, 9), (768, 3)):
        if before:
            yield Layer(before, width, size, 2, 2, 0, 1)
            size //= 2
        for _ in range(blocks):
            yield Layer(width, width, size, 7, 1, 3, width)
            yield Layer(width, 4 * width, size, 1, 1, 0, 1)
            yield Layer(4 * width, width, size, 1, 1, 0, 1)
        before = width


def regnet_y_400mf() -> Iterator[Layer]:
    """Radosavovic et al. 2020: groups of 8, squeeze ratio 1/4."""
    yield Layer(3, 32, 224, 3, 2, 1, 1)
    cin, size = 32, 112
    for width, blocks in ((48, 1), (104, 3), (208, 6), (440, 6)):
        for block in range(blocks):
            s = 2 if block == 0 else 1
            if block == 0:
                yield Layer(cin, width, size, 1, s, 0, 1)
            yield Layer(cin, width, size, 1, 1, 0, 1)
            yield Layer(width, width, size, 3, s, 1, width // 8)
            size //= s
            yield Layer(width, cin // 4, 1, 1, 1, 0, 1)
            yield Layer(cin // 4, width, 1, 1, 1, 0, 1)
            yield Layer(width, width, size, 1, 1, 0, 1)
            cin = width


NETWORKS = {
    "ResNet-50": resnet50,
    "MobileNetV2": mobilenet_v2,
    "ConvNeXt-T": convnext_tiny,
    "RegNetY-400MF": regnet_y_400mf,
}


def distinct() -> dict[Layer, list[str]]:
    """Each layer once, with the networks that have it."""
    found: dict[Layer, list[str]] = {}
    for network, layers in NETWORKS.items():
        for layer in layers():
            names = found.setdefault(layer, [])
            if network not in names:
                names.append(network)
    return found
