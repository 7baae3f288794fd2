#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fits the polynomials of polynest-lower-math and prints their C++ tables.

    scripts/math-coefficients.py > lib/Conversion/MathCoefficients.inc

Each table approximates a smooth function g by a polynomial p so that the
largest |w (g - p)| is nearly smallest, where the weight w turns the error of p
into the relative error of the function that is computed from it. The fit is a
weighted least-squares iteration on a Chebyshev grid in multiple precision.
Coefficients are rounded to the working precision one after the other, lowest
power first, and the rest is fitted again each time, so that later ones make up
for the rounding of earlier ones. The error printed beside a table is measured
with the rounded coefficients on another grid. Needs mpmath; takes some minutes.

With arguments, prints only the tables whose name contains one of them.
"""
import struct
import sys

import mpmath
from mpmath import mp, mpf

mp.prec = 200
LN2 = mp.log(2)
PI = mp.pi


def round_to(value, bits):
    """The nearest number with `bits` significant bits (24: f32, 53: f64)."""
    if value == 0:
        return mpf(0)
    mantissa, exponent = mp.frexp(value)
    return mp.ldexp(mp.nint(mp.ldexp(mantissa, bits)), exponent - bits)


def chebyshev_grid(low, high, count):
    """Chebyshev points of [low, high]; none of them is an end or the middle."""
    middle, half = (low + high) / 2, (high - low) / 2
    return [middle - half * mp.cos(PI * (2 * k + 1) / (2 * count))
            for k in range(count)]


def horner(coefficients, x):
    result = mpf(0)
    for c in reversed(coefficients):
        result = result * x + c
    return result


def solve(points, values, weights, first, degree, rounds):
    """Nearly minimax coefficients of x^first ... x^degree.

    Lawson's iteration: least squares whose weights grow where the error is
    large. Unlike an exchange it needs no alternation, which is lost where
    lower coefficients are already rounded.
    """
    terms = degree + 1 - first
    rows = [[w * x ** (first + k) for k in range(terms)]
            for x, w in zip(points, weights)]
    right = [w * v for w, v in zip(weights, values)]
    lawson = [mpf(1)] * len(points)
    best, best_worst = None, None
    for _ in range(rounds):
        matrix = mp.matrix(terms, terms)
        vector = mp.matrix(terms, 1)
        for i in range(terms):
            scaled = [l * row[i] for l, row in zip(lawson, rows)]
            for j in range(i, terms):
                matrix[i, j] = mp.fdot(zip(scaled, (r[j] for r in rows)))
                matrix[j, i] = matrix[i, j]
            vector[i] = mp.fdot(zip(scaled, right))
        solution = mp.lu_solve(matrix, vector)
        errors = [abs(y - mp.fdot(zip(row, solution)))
                  for row, y in zip(rows, right)]
        worst = max(errors)
        if best is None or worst < best_worst:
            best, best_worst = solution, worst
        if worst == 0:
            break
        lawson = [l * (e / worst + mpf("0.01")) for l, e in
                  zip(lawson, errors)]
        total = max(lawson)
        lawson = [l / total for l in lawson]
    return list(best)


def fit(g, weight, low, high, degree, bits, fixed=()):
    """Rounded coefficients and the measured error of a fit."""
    low, high = mpf(low), mpf(high)
    points = chebyshev_grid(low, high, max(120, 10 * (degree + 2)))
    values = [g(x) for x in points]
    weights = [abs(weight(x)) for x in points]
    done = [mpf(c) for c in fixed]
    while len(done) <= degree:
        first = len(done)
        rest = [v - horner(done, x) for x, v in zip(points, values)]
        tail = solve(points, rest, weights, first, degree, 12)
        done.append(round_to(tail[0], bits))
    check = chebyshev_grid(low, high, 1001)
    error = max(abs(weight(x) * (g(x) - horner(done, x))) for x in check)
    return done, error


TABLES = []


def table(name, text, g, weight, low, high, degree, bits, fixed=()):
    TABLES.append((name, text, g, weight, low, high, degree, bits, fixed))


CONSTANTS = []


def constant(name, value, bits, parts):
    """A constant split into parts of `bits` bits, each truncated towards zero
    so that all have the sign of the value; the last is rounded."""
    CONSTANTS.append((name, +value, bits, parts))


def truncate_to(value, bits):
    mantissa, exponent = mp.frexp(value)
    return mp.ldexp(mp.floor(mp.ldexp(abs(mantissa), bits)) * mp.sign(value),
                    exponent - bits)


def split(value, bits, parts):
    result = []
    for k in range(parts):
        part = round_to(value, bits) if k == parts - 1 \
            else truncate_to(value, bits)
        result.append(part)
        value -= part
    return result


def log_rest(f):
    """(log(1+f) - f + f^2/2) / f^3"""
    return (mp.log1p(f) - f + f * f / 2) / f ** 3


def in_square(function):
    """z -> (function(x) - x) / x^3 with z = x^2, for an odd function."""
    def g(z):
        x = mp.sqrt(z)
        return (function(x) - x) / (x * z)
    return g


def in_square_weight(function):
    def weight(z):
        x = mp.sqrt(z)
        return x * z / function(x)
    return weight


def define():
    widened = mpf("1.001")  # the reduced argument's own rounding
    for suffix, bits in (("F32", 24), ("F64", 53)):
        wide = bits == 53
        # exp and exp2: the exponent is even, so the argument spans +-ln 2.
        table("kExp" + suffix, "exp(r), |r| <= ln 2", mp.exp,
              lambda r: mp.exp(-r), -LN2 * widened, LN2 * widened,
              13 if wide else 7, bits, (1,))
        if not wide:
            # With quarters or eighths of powers of two from a table.
            eighth = LN2 / 8 * widened
            table("kExpEighth" + suffix,
                  "(exp(r)-1-r)/r^2, |r| <= ln(2)/8, absolute in exp",
                  lambda r: (mp.expm1(r) - r) / r ** 2, lambda r: r ** 2,
                  -eighth, eighth, 2, bits)
            sixteenth = eighth / 2
            table("kExpSixteenth" + suffix,
                  "(exp(r)-1-r)/r^2, |r| <= ln(2)/16, absolute in exp",
                  lambda r: (mp.expm1(r) - r) / r ** 2, lambda r: r ** 2,
                  -sixteenth, sixteenth, 1, bits)
        table("kExp2" + suffix, "2^r, |r| <= 1", lambda r: mpf(2) ** r,
              lambda r: mpf(2) ** -r, -1, 1, 13 if wide else 7, bits, (1,))
        table("kExpm1" + suffix, "(exp(r)-1-r)/r^2, |r| <= ln(2)/2",
              lambda r: (mp.expm1(r) - r) / r ** 2,
              lambda r: r ** 2 / mp.expm1(r), -LN2 / 2 * widened,
              LN2 / 2 * widened, 9 if wide else 4, bits)
        # tanh: near 0, and e^2x with |error| small against 1 + e^2x.
        table("kTanh" + suffix, "(tanh(x)-x)/x^3 in z = x^2, |x| <= 0.625",
              in_square(mp.tanh), in_square_weight(mp.tanh), mpf("1e-9"),
              mpf("0.626") ** 2, 10 if wide else 4, bits)
        table("kExpShort" + suffix, "exp(r), |r| <= ln(2)/2", mp.exp,
              lambda r: mp.exp(-r), -LN2 / 2 * widened, LN2 / 2 * widened,
              11 if wide else 6, bits, (1,))
        # sin over half a turn, and both over a quarter for tan.
        table("kSin" + suffix, "(sin(x)-x)/x^3 in z = x^2, |x| <= pi/2",
              in_square(mp.sin), in_square_weight(mp.sin), mpf("1e-9"),
              (PI / 2 * widened) ** 2, 7 if wide else 3, bits)
        table("kSinQuarter" + suffix, "(sin(x)-x)/x^3 in z = x^2, |x| <= pi/4",
              in_square(mp.sin), in_square_weight(mp.sin), mpf("1e-9"),
              (PI / 4 * widened) ** 2, 5 if wide else 2, bits)
        table("kCosQuarter" + suffix,
              "(cos(x)-1+x^2/2)/x^4 in z = x^2, |x| <= pi/4",
              lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z ** 2,
              lambda z: z ** 2 / mp.cos(mp.sqrt(z)), mpf("1e-9"),
              (PI / 4 * widened) ** 2, 5 if wide else 2, bits)
        table("kAsin" + suffix, "(asin(x)-x)/x^3 in z = x^2, |x| <= 0.5415",
              in_square(mp.asin), in_square_weight(mp.asin), mpf("1e-9"),
              mpf("0.5416") ** 2, 12 if wide else 4, bits)
        table("kSinh" + suffix, "(sinh(x)-x)/x^3 in z = x^2, |x| <= 1.5",
              in_square(mp.sinh), in_square_weight(mp.sinh), mpf("1e-9"),
              mpf("2.25"), 7 if wide else 3, bits)
    # log: a polynomial in f for f32; for f64 in s = f/(2+f).
    low, high = mp.sqrt(mpf("0.5")) - 1, mp.sqrt(mpf(2)) - 1
    table("kLogF32", "(log(1+f)-f+f^2/2)/f^3, sqrt(1/2) <= 1+f <= sqrt(2)",
          log_rest, lambda f: f ** 3 / mp.log1p(f), low, high, 7, 24)
    limit = (high / (2 + high)) ** 2 * widened

    def atanh_rest(z):
        s = mp.sqrt(z)
        return (2 * mp.atanh(s) - 2 * s) / (s * z)

    def atanh_weight(z):
        s = mp.sqrt(z)
        return s * z / (2 * mp.atanh(s))
    table("kLogF64", "(2 atanh(s)-2s)/s^3 in z = s^2, |s| <= 3-sqrt(8)",
          atanh_rest, atanh_weight, mpf("1e-9"), limit, 6, 53)
    table("kAtanF32", "(atan(x)-x)/x^3 in z = x^2, 0 <= x <= 1",
          in_square(mp.atan), in_square_weight(mp.atan), mpf("1e-9"), 1, 7, 24)
    table("kAtanF64", "(atan(x)-x)/x^3 in z = x^2, |x| <= tan(pi/8)",
          in_square(mp.atan), in_square_weight(mp.atan), mpf("1e-9"),
          (mp.sqrt(mpf(2)) - 1) ** 2 * widened, 10, 53)

    # erf: near 0, the fourth root of erfc, and erfc over the half line.
    def erf_rest(z):
        x = mp.sqrt(z)
        return mp.erf(x) / x - 1

    def erf_weight(z):
        x = mp.sqrt(z)
        return x / mp.erf(x)
    table("kErfF32", "erf(x)/x-1 in z = x^2, |x| <= 0.9", erf_rest,
          erf_weight, mpf("1e-9"), mpf("0.9") ** 2, 5, 24)
    table("kErfF64", "erf(x)/x-1 in z = x^2, |x| <= 1", erf_rest, erf_weight,
          mpf("1e-9"), 1, 11, 53)
    table("kErfTailF32", "erfc(x)^(1/4), 0.9 <= x <= 3.925, absolute in erfc",
          lambda x: mp.root(mp.erfc(x), 4),
          lambda x: 4 * mp.erfc(x) ** mpf("0.75"), mpf("0.9"), mpf("3.925"), 8,
          24)

    def scaled_erfc(center):
        def g(t):
            x = center * (1 + t) / (1 - t)
            return (x + center) * mp.exp(x * x) * mp.erfc(x)
        return g
    for suffix, bits, top, degree in (("F32", 24, mpf("10.1"), 9),
                                      ("F64", 53, mpf("27.3"), 23)):
        center = mpf(ERFC_CENTER[suffix])
        g = scaled_erfc(center)
        table("kErfc" + suffix, f"(x+{center}) exp(x^2) erfc(x), 0 <= x <= "
              f"{mp.nstr(top, 3)}, in t = (x-{center})/(x+{center})".replace(
                  ".0", ""), g, lambda t, g=g: 1 / g(t), -1,
              (top - center) / (top + center), degree, bits)
    # Powers: log2 and exp2 to some 36 bits; the tail of a long logarithm.
    table("kPowLog2", "log2(1+f)/f, sqrt(1/2) <= 1+f <= sqrt(2)",
          lambda f: mp.log1p(f) / f / LN2, lambda f: f * LN2 / mp.log1p(f),
          low, high, 13, 53)
    table("kPowExp2", "2^r, |r| <= 1/2", lambda r: mpf(2) ** r,
          lambda r: mpf(2) ** -r, mpf("-0.5"), mpf("0.5"), 7, 53, (1,))

    def tail(z):
        s = mp.sqrt(z)
        return (2 * mp.atanh(s) - 2 * s - 2 * s * z / 3) / (s * z * z)

    def tail_weight(z):
        s = mp.sqrt(z)
        return s * z * z / (2 * mp.atanh(s))
    table("kPowLogTail", "(2 atanh(s)-2s-2s^3/3)/s^5 in z = s^2", tail,
          tail_weight, mpf("1e-6"), limit, 6, 53)
    table("kCbrt", "cbrt(m), 1 <= m < 2", mp.cbrt, lambda m: 1 / mp.cbrt(m), 1,
          2, 4, 53)


ERFC_CENTER = {"F32": 3, "F64": 4}


def define_constants():
    for suffix, bits in (("F32", 24), ("F64", 53)):
        constant("kLn2" + suffix, LN2, bits, 2)
        constant("kLog2E" + suffix, 1 / LN2, bits, 2)
        constant("kLog10E" + suffix, 1 / mp.log(10), bits, 2)
        constant("kLog10Of2" + suffix, mp.log10(2), bits, 2)
        constant("kPi" + suffix, PI, bits, 3)
        constant("kInversePi" + suffix, 1 / PI, bits, 1)
        constant("kErfcCenter" + suffix, mpf(ERFC_CENTER[suffix]), bits, 1)
    # 1/pi for the reduction of huge arguments; the long one times 2^200.
    with mp.workprec(1600):
        inverse = 1 / +mp.pi
        constant("kInversePi29", inverse, 29, 7)
        constant("kInversePi53", mp.ldexp(inverse, 200), 53, 22)
    constant("kTwoThirds", mpf(2) / 3, 53, 2)
    constant("kCbrtOf2", mp.cbrt(2), 53, 1)
    constant("kCbrtOf4", mp.cbrt(4), 53, 1)


def literal(value):
    text = float(value).hex()
    mantissa, exponent = text.split("p")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return mantissa + "p" + exponent


def main():
    define()
    define_constants()
    wanted = sys.argv[1:]
    print("// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception")
    print("// Made by scripts/math-coefficients.py; do not edit.")
    print("// Lowest power first. Errors are relative to the function.\n")
    for name, text, g, weight, low, high, degree, bits, fixed in TABLES:
        if wanted and not any(w in name for w in wanted):
            continue
        coefficients, error = fit(g, weight, low, high, degree, bits, fixed)
        print(f"// {text}; error 2^{float(mp.log(error, 2)):.1f}")
        print(f"constexpr double {name}[] = {{")
        for c in coefficients:
            print(f"    {literal(c)},")
        print("};", flush=True)
    for name, value, bits, parts in CONSTANTS:
        if wanted and not any(w in name for w in wanted):
            continue
        print(f"constexpr double {name}[] = {{")
        with mp.workprec(1600):
            split_parts = split(value, bits, parts)
        for part in split_parts:
            print(f"    {literal(part)},")
        print("};")


if __name__ == "__main__":
    main()
