#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the tables of python/polynest/torch_special.py.

Each row is a Chebyshev series on [-1, 1] of a smooth function that is left when
what varies fast is taken out; interpolation at Chebyshev points with mpmath at
30 digits. A series ends where its coefficients fall under 1e-11 of its largest
one: far below half a unit of f32. Needs mpmath.
"""

from mpmath import (
    besseli, besselj, besselk, bessely, cos, erfc, erfinv, exp, fdot, log, mp,
    mpf, pi, sin, sqrt,
)

mp.dps = 30
CUT = mpf("1e-11")


def series(function, low, high, points=40):
    low, high = mpf(low), mpf(high)
    nodes = [cos(pi * (k + mpf(1) / 2) / points) for k in range(points)]
    values = [function((high - low) / 2 * t + (high + low) / 2) for t in nodes]
    out = []
    for j in range(points):
        weights = [cos(pi * j * (k + mpf(1) / 2) / points)
                   for k in range(points)]
        out.append(fdot(values, weights) * 2 / points)
    out[0] /= 2
    largest = max(abs(c) for c in out)
    while abs(out[-1]) < CUT * largest:
        out.pop()
    if len(out) > points - 4:
        raise SystemExit(f"a series from {low} to {high} does not end")
    return [float(c) for c in out]


def amplitude(order):
    """Amplitudes of the cosine and sine in besselj, in u = (8 / x)^2."""

    def parts(u):
        x = 8 / sqrt(u)
        a = x - (2 * order + 1) * pi / 4
        j, y, s = besselj(order, x), bessely(order, x), sqrt(pi * x / 2)
        return (j * cos(a) + y * sin(a)) * s, (y * cos(a) - j * sin(a)) * s * x

    return lambda u: parts(u)[0], lambda u: parts(u)[1]


def erfinv_ratio(w):
    """erfinv(y) / sqrt(w) with w = -log(1 - y^2)."""
    with mp.workdps(90):
        return erfinv(sqrt(1 - exp(-w))) / sqrt(w)


def scaled_erfc(t):
    """erfcx(x) (1 + x) with t = (x - 2) / (x + 2)."""
    x = 2 * (1 + t) / (1 - t)
    return exp(x * x) * erfc(x) * (1 + x)


TABLES = {
    "ERFCX": series(scaled_erfc, -1, 1),
    # in w, and in sqrt(w)
    "ERFINV_NEAR": series(erfinv_ratio, 0, 5),
    "ERFINV_FAR": series(lambda s: erfinv_ratio(s * s), sqrt(mpf(5)), 10.75),
    # exp(-x) besseli in x up to 8, then times sqrt(x) in 8 / x
    "I0_NEAR": series(lambda x: exp(-x) * besseli(0, x), 0, 8),
    "I1_NEAR": series(
        lambda x: exp(-x) * besseli(1, x) / x if x > 1e-12
        else mpf(1) / 2, 0, 8),
    "I0_FAR": series(
        lambda v: exp(-8 / v) * besseli(0, 8 / v) * sqrt(8 / v), 0, 1),
    "I1_FAR": series(
        lambda v: exp(-8 / v) * besseli(1, 8 / v) * sqrt(8 / v), 0, 1),
    # in x^2 up to 64
    "J0_NEAR": series(lambda u: besselj(0, sqrt(u)), 0, 64),
    "J1_NEAR": series(lambda u: besselj(1, sqrt(u)) / sqrt(u), 0, 64),
    "Y0_NEAR": series(
        lambda u: bessely(0, sqrt(u))
        - 2 / pi * log(sqrt(u)) * besselj(0, sqrt(u)), 0, 64),
    "Y1_NEAR": series(
        lambda u: (bessely(1, sqrt(u)) - 2 / pi * (
            log(sqrt(u)) * besselj(1, sqrt(u)) - 1 / sqrt(u))) / sqrt(u),
        0, 64),
    "P0": series(amplitude(0)[0], 0, 1),
    "Q0": series(amplitude(0)[1], 0, 1),
    "P1": series(amplitude(1)[0], 0, 1),
    "Q1": series(amplitude(1)[1], 0, 1),
    # in x^2 up to 4, then in 2 / x
    "K0_NEAR": series(
        lambda u: besselk(0, sqrt(u)) + log(sqrt(u)) * besseli(0, sqrt(u)),
        0, 4),
    "K1_NEAR": series(
        lambda u: (besselk(1, sqrt(u)) - 1 / sqrt(u)
                   - log(sqrt(u)) * besseli(1, sqrt(u))) / sqrt(u), 0, 4),
    "K0_FAR": series(
        lambda v: exp(2 / v) * besselk(0, 2 / v) * sqrt(2 / v), 0, 1),
    "K1_FAR": series(
        lambda v: exp(2 / v) * besselk(1, 2 / v) * sqrt(2 / v), 0, 1),
}

if __name__ == "__main__":
    for name, row in TABLES.items():
        print(f"{name} = (")
        for c in row:
            print(f"    {c!r},")
        print(")")
