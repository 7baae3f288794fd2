# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Special functions as arithmetic, for the torch frontend.

For results of f32 and less, computed in f64: no care about cancellation is
needed, and one rounding is left. Tables are Chebyshev series, made by
scripts/special-coefficients.py; errors stay under 1e-9 of the value. Results of
f64 would need more terms and stay with eager.
"""

from __future__ import annotations

import functools
import math
from typing import Callable

import torch

aten = torch.ops.aten

TABLE: dict = {}

ERFCX = (
    0.77669137760708,
    -0.22836472289031626,
    0.007865722326596006,
    0.010488864927603514,
    -0.0025468631391996634,
    -2.8878658172054086e-05,
    8.7999437989666e-05,
    -3.4745017165396845e-07,
    -3.5980662238990517e-06,
    -1.4381599404319034e-07,
    1.5958722403552472e-07,
    2.1492268688640917e-08,
    -6.066687732174204e-09,
    -1.954937092727581e-09,
    7.153685898778454e-11,
    1.287232118225774e-10,
    1.7599922759007795e-11,
)
ERFINV_NEAR = (
    0.908162112870986,
    0.020396733354759847,
    -0.0015813081727943151,
    -1.713626128506704e-05,
    2.3719564382156313e-05,
    -2.282297030303282e-06,
    -2.1106434332930512e-07,
    7.12778104744472e-08,
    -3.1826879099225555e-09,
    -1.3030820393358627e-09,
    2.2238277894092692e-10,
)
ERFINV_FAR = (
    0.969637373950843,
    0.028384969662303743,
    -0.010296560998539747,
    0.0031630424479969967,
    -0.0007891114180569964,
    0.00011801313619021663,
    2.6168321004107438e-05,
    -3.488953859655847e-05,
    2.0842682100789718e-05,
    -9.604911304115238e-06,
    3.6359348446232417e-06,
    -1.0548158552139415e-06,
    1.362893184831105e-07,
    9.979726962722346e-08,
    -1.0784702853797476e-07,
    6.623532272749548e-08,
    -3.065324819853954e-08,
    1.0495799274158208e-08,
    -1.7764879630033614e-09,
    -8.859981518657876e-10,
    1.107363863524311e-09,
    -6.893162941145494e-10,
    3.0267628162779126e-10,
    -8.699337877477426e-11,
    1.9803329337227217e-12,
    1.7231648358781693e-11,
    -1.3630160324973799e-11,
)
I0_NEAR = (
    0.33839763720473803,
    -0.3046826723431984,
    0.17162090152220877,
    -0.09490109704804764,
    0.04930528423967071,
    -0.02373741480589947,
    0.010546460394594998,
    -0.004324309995050576,
    0.0016394756169413357,
    -0.0005763755745385824,
    0.00018850288509584165,
    -5.754195010082104e-05,
    1.6448448070728896e-05,
    -4.4167383584587505e-06,
    1.1173875391201037e-06,
    -2.670793853940612e-07,
    6.046995022541919e-08,
    -1.300025009986248e-08,
    2.6598237246823866e-09,
    -5.189795601635263e-10,
    9.675809035373237e-11,
    -1.726826291441556e-11,
)
I1_NEAR = (
    0.12629359322181682,
    -0.17641651835783406,
    0.1026436586898471,
    -0.05294598120809499,
    0.024726449030626516,
    -0.010564084894626197,
    0.004156422944312888,
    -0.0015135724506312532,
    0.0005122859561685758,
    -0.00016176081582589674,
    4.781565107550054e-05,
    -1.3273163656039436e-05,
    3.4702513081376785e-06,
    -8.568720264695455e-07,
    2.0032947535521353e-07,
    -4.445059128796328e-08,
    9.381537386495773e-09,
    -1.8872497517228294e-09,
    3.625590281552117e-10,
    -6.663489723502027e-11,
    1.1736186298890901e-11,
    -1.9839743977649436e-12,
)
I0_FAR = (
    0.4022452055070544,
    0.0033691164782556943,
    6.889758346916825e-05,
    2.8913705208347567e-06,
    2.0489185894690638e-07,
    2.266668990498178e-08,
    3.3962320257083865e-09,
    4.94060238822497e-10,
    1.1889147107846439e-11,
    -3.1499165279632416e-11,
    -1.3215811840447713e-11,
)
I1_FAR = (
    0.38928811750914005,
    -0.009761097491361469,
    -0.00011058893876262371,
    -3.882564808877691e-06,
    -2.512236237870209e-07,
    -2.6314688468895196e-08,
    -3.835380385964237e-09,
    -5.589743462196584e-10,
    -1.8974958123505413e-11,
    3.2526035830154884e-11,
    1.4125807436613782e-11,
)
J0_NEAR = (
    0.15772797147489012,
    -0.008723442352852221,
    0.2651786132033368,
    -0.37009499387264977,
    0.15806710233209725,
    -0.034893769411408884,
    0.004819180069467605,
    -0.00046062616620627504,
    3.246032882100508e-05,
    -1.7619469077621507e-06,
    7.608163592418782e-08,
    -2.679253530557673e-09,
    7.848696314479465e-11,
)
J1_NEAR = (
    0.08104484632565812,
    -0.1489751450676521,
    0.1609992623572097,
    -0.08268049176681791,
    0.022213639654966037,
    -0.003646940600769276,
    0.0004050337728354822,
    -3.255554866857259e-05,
    1.9858774049915165e-06,
    -9.521984756750436e-08,
    3.687133759097148e-09,
    -1.178026622695885e-10,
    3.160154580348003e-12,
)
Y0_NEAR = (
    -0.03314611320328494,
    -0.2744743055297453,
    0.17903431407718265,
    0.26156734625504663,
    -0.17730201278114358,
    0.04719668959576339,
    -0.007287962479552079,
    0.0007531135932577742,
    -5.632079141056987e-05,
    3.206532537654801e-06,
    -1.44072332740187e-07,
    5.248794787330516e-09,
    -1.5837552541812015e-10,
    4.02633081830612e-12,
)
Y1_NEAR = (
    0.0025380132357417816,
    -0.01608717304766875,
    -0.09591204536083074,
    0.08445197259652346,
    -0.028328123944594365,
    0.005289897544167113,
    -0.0006414551451326356,
    5.505982873338744e-05,
    -3.53808001868935e-06,
    1.7707804556154404e-07,
    -7.11055004989928e-09,
    2.344337905911516e-10,
    -6.4651518414115946e-12,
)
P0 = (
    0.9994603493475187,
    -0.0005365220468132117,
    3.0751847875194745e-06,
    -5.1705945376060975e-08,
    1.6306464635151382e-09,
    -7.86409137723707e-11,
)
Q0 = (
    -0.12444683684269607,
    0.0005470815954089319,
    -5.9315987288485175e-06,
    1.4377965798375193e-07,
    -5.817532749493056e-09,
    3.376097523734991e-10,
    -2.565397936797308e-11,
    2.404916100281365e-12,
)
P1 = (
    1.0009030408600137,
    0.0008989898330859408,
    -3.987284300488908e-06,
    6.177633960644299e-08,
    -1.8718907491063067e-09,
    8.816898659582339e-11,
)
Q1 = (
    0.3742222965562826,
    -0.0007702178839325664,
    7.3108922063643636e-06,
    -1.676782510726674e-07,
    6.583354662120443e-09,
    -3.749090950541556e-10,
    2.8121750359748866e-11,
)
K0_NEAR = (
    0.8433977275772223,
    0.787078990859296,
    0.06152577860244072,
    0.0019458946141853283,
    3.3247998700597626e-05,
    3.5563825166277007e-07,
    2.6056207418988497e-09,
    1.3895141631982779e-11,
)
K1_NEAR = (
    -0.5089237845320825,
    -0.2114356597763456,
    -0.010725575310322739,
    -0.0002513233586483403,
    -3.4112002554142968e-06,
    -3.026704146655771e-08,
    -1.89459722399161e-10,
)
K0_FAR = (
    1.2201515410329777,
    -0.0314481013119645,
    0.0015698838857300533,
    -0.00012849549581627802,
    1.39498137188765e-05,
    -1.8317555227191195e-06,
    2.766813639445015e-07,
    -4.660489897687948e-08,
    8.574034017414225e-09,
    -1.6975345093890614e-09,
    3.5773972814003283e-10,
    -7.957489244477396e-11,
    1.8559491149549264e-11,
)
K1_FAR = (
    1.3603130952422213,
    0.10392373657681724,
    -0.002857816859622779,
    0.00019521551847135162,
    -1.936197974166083e-05,
    2.406484947837217e-06,
    -3.5019606030878126e-07,
    5.7410841254500495e-08,
    -1.0345762465678097e-08,
    2.0150497551970347e-09,
    -4.1903547593419254e-10,
    9.218315187605315e-11,
    -2.129967838427791e-11,
)


def _wide(*arguments):
    """The arguments in f64 and the type of the result; None where a result of
    f64 is wanted, or where there is nothing to compute."""
    dtype = torch.result_type(*arguments) if len(arguments) > 1 else (
        arguments[0].dtype
    )
    if not dtype.is_floating_point:
        if dtype.is_complex:
            return None
        dtype = torch.get_default_dtype()
    if dtype == torch.float64 or any(a.numel() == 0 for a in arguments):
        return None
    return [a.to(torch.float64) for a in arguments], dtype


def _special(*ops) -> Callable:
    def add(function):
        @functools.wraps(function)
        def wrapped(*arguments):
            if not all(isinstance(a, torch.Tensor) for a in arguments):
                return NotImplemented
            wide = _wide(*arguments)
            if wide is None:
                return NotImplemented
            values, dtype = wide
            return function(*values).to(dtype)

        for op in ops:
            TABLE[op] = wrapped
        return function

    return add


def _series(coefficients, t):
    """Clenshaw's sum of a Chebyshev series in t from -1 to 1."""
    later, last = 0.0, 0.0
    for c in coefficients[:0:-1]:
        later, last = 2.0 * t * later - last + c, later
    return t * later - last + coefficients[0]


def _in(x, low, high):
    """x from [low, high] to [-1, 1], kept there."""
    t = (x - 0.5 * (low + high)) * (2.0 / (high - low))
    return torch.clamp(t, -1.0, 1.0)


def _nan_as(x, value):
    """`value`, NaN where x is: clamps above may have lost it."""
    return torch.where(x != x, x, value)


# -- gamma -----------------------------------------------------------------------

_SHIFT = 8


def _stirling(y):
    """log gamma for y >= 8."""
    r = 1.0 / y
    s = r * r
    tail = r * (1 / 12 + s * (-1 / 360 + s * (1 / 1260 + s * (
        -1 / 1680 + s * (1 / 1188 - s * (691 / 360360))))))
    return (y - 0.5) * torch.log(y) - y + 0.5 * math.log(2 * math.pi) + tail


def _lgamma_positive(x):
    product = x
    for k in range(1, _SHIFT):
        product = product * (x + k)
    small = x < _SHIFT
    y = torch.where(small, x + _SHIFT, x)
    product = torch.where(small, product, 1.0)
    return _stirling(y) - torch.log(product)


@_special(aten.lgamma.default)
def lgamma(x):
    # gamma(x) gamma(1 - x) = pi / sin(pi x) takes negatives to positives.
    negative = x < 0.5
    out = _lgamma_positive(torch.where(negative, 1.0 - x, x))
    part = x - torch.round(x)
    sine = torch.abs(torch.sin(math.pi * part))
    other = math.log(math.pi) - torch.log(sine) - out
    # At whole numbers below 1 the sine is not quite 0.
    other = torch.where(part == 0.0, math.inf, other)
    out = torch.where(negative, other, out)
    out = torch.where(torch.abs(x) == math.inf, math.inf, out)
    return _nan_as(x, out)


def _shifted_sum(x, power):
    """Sum of (x + k)^-power for the steps of the shift, and the end of it."""
    small = x < _SHIFT
    total = 0.0
    for k in range(_SHIFT):
        r = 1.0 / (x + k)
        total = total + (r if power == 1 else r * r)
    return torch.where(small, total, 0.0), torch.where(small, x + _SHIFT, x)


@_special(aten.digamma.default)
def digamma(x):
    negative = x < 0.5
    total, y = _shifted_sum(torch.where(negative, 1.0 - x, x), 1)
    s = 1.0 / (y * y)
    tail = s * (1 / 12 + s * (-1 / 120 + s * (1 / 252 + s * (
        -1 / 240 + s * (1 / 132 - s * (691 / 32760))))))
    out = torch.log(y) - 0.5 / y - tail - total
    part = x - torch.round(x)
    angle = math.pi * part
    other = out - math.pi * torch.cos(angle) / torch.sin(angle)
    other = torch.where(part == 0.0, math.nan, other)
    out = torch.where(negative, other, out)
    # The pole at 0 has the sign of the side it is seen from.
    out = torch.where(x == 0.0, -1.0 / x, out)
    return _nan_as(x, out)


def trigamma(x):
    negative = x < 0.5
    total, y = _shifted_sum(torch.where(negative, 1.0 - x, x), 2)
    r = 1.0 / y
    s = r * r
    out = total + r + 0.5 * s + r * s * (1 / 6 + s * (-1 / 30 + s * (
        1 / 42 + s * (-1 / 30 + s * (5 / 66)))))
    sine = math.pi / torch.sin(math.pi * (x - torch.round(x)))
    return _nan_as(x, torch.where(negative, sine * sine - out, out))


def _polygamma(n, x):
    if n == 0:
        return torch.digamma(x)
    wide = _wide(x)
    if n != 1 or wide is None:
        return NotImplemented
    (value,), dtype = wide
    return trigamma(value).to(dtype)


TABLE[aten.polygamma.default] = _polygamma


# -- error functions ---------------------------------------------------------------


def _erfcx_positive(x):
    return _series(ERFCX, (x - 2.0) / (x + 2.0)) / (1.0 + x)


def _erfcx_of_magnitude(x):
    magnitude = torch.clamp(torch.abs(x), max=1e150)
    return magnitude, _erfcx_positive(magnitude)


@_special(aten.erfc.default)
def erfc(x):
    magnitude, scaled = _erfcx_of_magnitude(x)
    out = torch.exp(-magnitude * magnitude) * scaled
    return _nan_as(x, torch.where(x < 0.0, 2.0 - out, out))


@_special(aten.special_erfcx.default)
def erfcx(x):
    magnitude, scaled = _erfcx_of_magnitude(x)
    other = 2.0 * torch.exp(magnitude * magnitude) - scaled
    return _nan_as(x, torch.where(x < 0.0, other, scaled))


def _inverse(w):
    """erfinv(y) for w = -log(1 - y^2)."""
    s = torch.sqrt(w)
    near = _series(ERFINV_NEAR, _in(w, 0.0, 5.0))
    far = _series(ERFINV_FAR, _in(s, math.sqrt(5.0), 10.75))
    return s * torch.where(w < 5.0, near, far)


@_special(aten.erfinv.default)
def erfinv(x):
    # Of an f32 neither factor loses anything.
    w = -torch.log((1.0 - x) * (1.0 + x))
    out = _inverse(w)
    out = torch.where(x < 0.0, -out, out)
    # By its slope where 1 - x^2 is 1.
    out = torch.where(torch.abs(x) < 1e-7, x * (math.sqrt(math.pi) / 2), out)
    out = torch.where(torch.abs(x) == 1.0, x * math.inf, out)
    return torch.where(torch.abs(x) <= 1.0, out, math.nan)


@_special(aten.special_ndtri.default)
def ndtri(p):
    low = p < 0.5
    out = math.sqrt(2.0) * _inverse(-torch.log(4.0 * p * (1.0 - p)))
    # Near a half, 4 p (1 - p) is 1 - d^2 and rounds to 1.
    d = 2.0 * p - 1.0
    slope = d * math.sqrt(math.pi / 2)
    out = torch.where(torch.abs(d) < 1e-6, torch.abs(slope), out)
    out = torch.where(low, -out, out)
    out = torch.where(p == 0.0, -math.inf, out)
    out = torch.where(p == 1.0, math.inf, out)
    return torch.where((p >= 0.0) & (p <= 1.0), out, math.nan)


@_special(aten.special_log_ndtr.default)
def log_ndtr(x):
    t = x * math.sqrt(0.5)
    magnitude, scaled = _erfcx_of_magnitude(t)
    below = torch.log(0.5 * scaled) - magnitude * magnitude
    tail = 0.5 * torch.exp(-magnitude * magnitude) * scaled
    return _nan_as(x, torch.where(x < 0.0, below, torch.log1p(-tail)))


# -- Bessel functions ----------------------------------------------------------------


def _scaled_i(x, order):
    """exp(-x) besseli(order, x) for x >= 0."""
    near = _series((I0_NEAR, I1_NEAR)[order], _in(x, 0.0, 8.0))
    if order == 1:
        near = near * x
    beyond = torch.clamp(x, min=8.0)
    far = _series((I0_FAR, I1_FAR)[order], _in(8.0 / beyond, 0.0, 1.0))
    return torch.where(x < 8.0, near, far / torch.sqrt(beyond))


def _bessel_i(order, scaled):
    def function(x):
        magnitude = torch.abs(x)
        out = _scaled_i(magnitude, order)
        if not scaled:
            # In two steps: exp alone overflows later than the product.
            half = torch.exp(0.5 * torch.clamp(magnitude, max=1000.0))
            out = out * half * half
            # As eager, which multiplies 0 by infinity.
            out = torch.where(magnitude == math.inf, math.nan, out)
        if order == 1:
            out = torch.where(x < 0.0, -out, out)
        return _nan_as(x, out)

    return function


_special(aten.i0.default, aten.special_modified_bessel_i0.default)(
    _bessel_i(0, False)
)
_special(aten.special_i0e.default)(_bessel_i(0, True))
_special(aten.special_i1.default, aten.special_modified_bessel_i1.default)(
    _bessel_i(1, False)
)
_special(aten.special_i1e.default)(_bessel_i(1, True))


def _near_k(x, order):
    u = _in(x * x, 0.0, 4.0)
    i = _scaled_i(x, order) * torch.exp(x)
    if order == 0:
        return _series(K0_NEAR, u) - torch.log(x) * i
    return _series(K1_NEAR, u) * x + 1.0 / x + torch.log(x) * i


def _bessel_k(order, scaled):
    def function(x):
        close = torch.clamp(x, max=2.0)
        near = _near_k(close, order)
        beyond = torch.clamp(x, min=2.0)
        far = _series((K0_FAR, K1_FAR)[order], _in(2.0 / beyond, 0.0, 1.0))
        far = far / torch.sqrt(beyond)
        if scaled:
            near = near * torch.exp(close)
        else:
            far = far * torch.exp(-beyond)
        out = torch.where(x <= 2.0, near, far)
        out = torch.where(x == 0.0, math.inf, out)
        out = torch.where(x < 0.0, math.nan, out)
        return _nan_as(x, out)

    return function


_special(aten.special_modified_bessel_k0.default)(_bessel_k(0, False))
_special(aten.special_modified_bessel_k1.default)(_bessel_k(1, False))
_special(aten.special_scaled_modified_bessel_k0.default)(_bessel_k(0, True))
_special(aten.special_scaled_modified_bessel_k1.default)(_bessel_k(1, True))


def _waves(x, order):
    """Amplitude, and both parts of the angle, for x >= 8."""
    r = 8.0 / x
    u = _in(r * r, 0.0, 1.0)
    p = _series((P0, P1)[order], u)
    q = _series((Q0, Q1)[order], u) / x
    angle = x - (2 * order + 1) * math.pi / 4
    return torch.sqrt(2.0 / (math.pi * x)), p, q, angle


def _bessel_j(order):
    def function(x):
        magnitude = torch.abs(x)
        near = _near_j(magnitude, order)
        a, p, q, angle = _waves(torch.clamp(magnitude, min=8.0), order)
        far = a * (p * torch.cos(angle) - q * torch.sin(angle))
        out = torch.where(magnitude < 8.0, near, far)
        out = torch.where(magnitude == math.inf, math.nan, out)
        if order == 1:
            out = torch.where(x < 0.0, -out, out)
        return _nan_as(x, out)

    return function


def _near_j(x, order):
    out = _series((J0_NEAR, J1_NEAR)[order], _in(x * x, 0.0, 64.0))
    return out * x if order == 1 else out


def _bessel_y(order):
    def function(x):
        close = torch.clamp(x, max=8.0)
        u = _in(close * close, 0.0, 64.0)
        near = _series((Y0_NEAR, Y1_NEAR)[order], u)
        waves = torch.log(close) * _near_j(close, order)
        if order == 1:
            near = near * close
            waves = waves - 1.0 / close
        near = near + (2.0 / math.pi) * waves
        a, p, q, angle = _waves(torch.clamp(x, min=8.0), order)
        far = a * (p * torch.sin(angle) + q * torch.cos(angle))
        out = torch.where(x < 8.0, near, far)
        out = torch.where(x == 0.0, -math.inf, out)
        out = torch.where(x < 0.0, math.nan, out)
        out = torch.where(x == math.inf, math.nan, out)
        return _nan_as(x, out)

    return function


_special(aten.special_bessel_j0.default)(_bessel_j(0))
_special(aten.special_bessel_j1.default)(_bessel_j(1))
_special(aten.special_bessel_y0.default)(_bessel_y(0))
_special(aten.special_bessel_y1.default)(_bessel_y(1))


@_special(aten.special_spherical_bessel_j0.default)
def _spherical_j0(x):
    s = x * x
    # sin(x) / x, by its series where x is small.
    near = 1.0 - s * (1 / 6 - s * (1 / 120 - s / 5040))
    out = torch.where(torch.abs(x) < 0.05, near, torch.sin(x) / x)
    return torch.where(torch.abs(x) == math.inf, 0.0, out)
