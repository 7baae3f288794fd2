# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Special functions, sorts and scans of ours, at edges, against eager in f64."""

import math

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

import mpmath  # noqa: E402
from comparing import tensors  # noqa: E402
from conftest import compiled  # noqa: E402

from polynest import torch_backend  # noqa: E402
from polynest import torch_frontend as frontend  # noqa: E402

pytestmark = pytest.mark.usefixtures("fresh_torch")
special = torch.special
nan, inf = math.nan, math.inf

EDGES = [0.0, -0.0, nan, inf, -inf, 1e-30, -1e-30, 1e-6, 1e30, -1e30, 50.0,
         -50.0, 0.5, 1.0, 2.0, 8.0, -8.0, 7.999, 1 - 2**-24]
FUNCTIONS = [
    torch.lgamma, torch.digamma, torch.erfc, special.erfcx, torch.erfinv,
    special.log_ndtr, torch.i0, special.i0e, special.i1, special.i1e,
    special.bessel_j0, special.bessel_j1, special.bessel_y0, special.bessel_y1,
    special.modified_bessel_k0, special.modified_bessel_k1,
    special.scaled_modified_bessel_k0, special.scaled_modified_bessel_k1,
    special.spherical_bessel_j0, special.ndtri,
]  # fmt: skip


# In f64 eager's own are off by up to 7e-7 between 5 and 8.
WAVES = {
    special.bessel_j0: lambda x: mpmath.besselj(0, x),
    special.bessel_j1: lambda x: mpmath.besselj(1, x),
    special.bessel_y0: lambda x: mpmath.bessely(0, x),
    special.bessel_y1: lambda x: mpmath.bessely(1, x),
}


def in_f64(function, x):
    want = function(x.double())
    exact = WAVES.get(function)
    if exact is not None:
        for i, number in enumerate(x.tolist()):
            if bool(want[i].isfinite()) and 1e-5 < abs(number) < 100:
                want[i] = float(exact(number))
    return want


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_special_function(function):
    x = torch.cat([torch.linspace(-20, 20, 401), torch.tensor(EDGES)])
    if function in (torch.erfinv, special.ndtri):
        x = torch.cat([x, x / 20, torch.tensor([1e-45, 1e-38, 1e-10, -2.0])])
    want = in_f64(function, x)
    have = compiled(function)(x)
    assert not torch_backend.explain_fallbacks()
    narrow = want.float()
    plain = narrow.isfinite()
    torch.testing.assert_close(
        have[~plain], narrow[~plain], rtol=0, atol=0, equal_nan=True
    )
    # One rounding of f32; near zeros of waves, what the angle carries.
    off = (have.double() - want).abs()[plain]
    assert bool((off <= 1e-7 * want.abs()[plain] + 1e-9).all()), off.max()


def test_trigamma_and_low_precision():
    x = torch.linspace(-5.3, 9.1, 98)
    want = torch.polygamma(1, x.double()).float()
    have = compiled(lambda x: torch.polygamma(1, x))(x)
    torch.testing.assert_close(have, want, rtol=1e-6, atol=0)
    low = x.to(torch.bfloat16)
    assert torch.equal(compiled(torch.erfc)(low), torch.erfc(low))
    assert not torch_backend.explain_fallbacks()


def test_numbers_before_f64_and_i64_are_not_rounded():
    def function(x, i):
        return (
            math.pi - x,
            math.pi / x,
            torch.pow(math.pi, x),
            5_000_000_001 - i,
            16_777_217 - i,
            0.1 - i,
        )

    x = torch.linspace(0.1, 3, 9, dtype=torch.float64)
    i = torch.arange(9)
    for h, w in zip(compiled(function)(x, i), function(x, i)):
        assert h.dtype == w.dtype
        torch.testing.assert_close(h, w, rtol=1e-14, atol=0)
    assert not torch_backend.explain_fallbacks()


def test_wide_special_functions_stay_with_eager():
    x = torch.linspace(0.1, 3, 9, dtype=torch.float64)
    assert torch.equal(compiled(torch.lgamma)(x), torch.lgamma(x))
    assert torch_backend.explain_fallbacks()


def rows():
    x = torch.randn(5, 7, generator=torch.Generator().manual_seed(1))
    x[1, 2] = x[1, 5] = nan
    x[2] = nan
    x[3, 3], x[3, 1] = inf, -inf
    x[0, 4] = x[0, 1]
    x[4, 0], x[4, 3] = 0.0, -0.0
    return x


SORTS = {
    "ascending": lambda x: torch.sort(x, 1),
    "descending": lambda x: torch.sort(x, 0, True),
    "stable": lambda x: torch.sort(x, dim=1, stable=True, descending=True),
    "one": lambda x: torch.sort(x[:, :1], 1),
    "transposed": lambda x: torch.sort(x.t(), 0),
    "rank 0": lambda x: torch.sort(x[0, 0]),
    "argsort": lambda x: torch.argsort(x, stable=True),
    "int": lambda x: torch.sort((x.nan_to_num(1, 2, 2) * 3).long(), 1),
    "u8": lambda x: torch.sort((x.nan_to_num(1, 2, 2).abs() * 99).byte(), 0),
    "bool": lambda x: torch.sort(x > 0, dim=1, stable=True),
    "sums of bool": lambda x: (
        (x > 0).index_add(0, torch.tensor([0, 0, 1]), x[:3] > 0),
        (x > 0).scatter_add(
            1, torch.tensor([[0, 0, 2]]), torch.ones(1, 3, dtype=torch.bool)
        ),
    ),
    "topk": lambda x: torch.topk(x, 3)[0],
    "smallest": lambda x: torch.topk(x, 2, 0, False)[0],
    "kthvalue": lambda x: torch.kthvalue(x, 2, 0)[0],
    "median": lambda x: (
        torch.median(x),
        torch.median(x, 1),
        torch.nanmedian(x),
        torch.nanmedian(x, 1)[0],
        torch.median(x, 0, True),
    ),
    "equal to itself": lambda x: (x == x, x.sum(0) == x.sum(0)),
    "choice of equals": lambda x: (
        torch.where(x > 0, x[:, :1], x[:, :1]).sum(1),
        torch.where(x > 0, x.sum(), x.sum()),
        torch.where(x > 0, x, x),
    ),
    "float and integer": lambda x: [
        f(*pair)
        for f in (torch.maximum, torch.minimum, torch.fmax)
        for i in (x.isinf().long(), torch.tensor(3))
        for pair in ((x, i), (i, x), (x.double(), i))
    ],
    "running maximum": lambda x: (torch.cummax(x, 0), torch.cummax(x, 1)),
    "running minimum": lambda x: (torch.cummin(x, 1), torch.cummin(x[0, 0], 0)),
    "running of int": lambda x: torch.cummax((x > 0).long(), 1),
    "logcumsumexp": lambda x: (
        torch.logcumsumexp(x, 1),
        torch.logcumsumexp(x * 0 + 10000, 0),
        torch.logcumsumexp(x * 0 - inf, 1),
    ),
    "searchsorted": lambda x: [
        torch.searchsorted(torch.sort(x[0])[0], x, right=r, out_int32=r)
        for r in (False, True)
    ],
    "searchsorted rows": lambda x: torch.searchsorted(
        torch.sort(x, 1)[0], x.flip(0)
    ),
    "bucketize": lambda x: torch.bucketize(x, torch.sort(x[0, :1])[0]),
    "adaptive_max_pool": lambda x: torch.nn.functional.adaptive_max_pool2d(
        x.unfold(1, 3, 2).nan_to_num(0.5), (3, 2), return_indices=True
    ),
    "cdist": lambda x: [
        torch.cdist(x.nan_to_num(1, 2, 3), x[:2].nan_to_num(1, 2, 3), p)
        for p in (0.0, 1.0, 2.0, 2.5, inf)
    ],
    "hypot": lambda x: (
        torch.hypot(x, x.flip(0)),
        torch.hypot(x * 1e30, x * 1e30),
        torch.hypot(x * 1e-30, x * 1e-30),
    ),
    "index_reduce": lambda x: [
        x.index_reduce(
            0, torch.tensor([0, 2, 2]), x[2:] * 2, r, include_self=s
        )
        for r in ("prod", "amin", "amax", "mean")
        for s in (False, True)
    ],
    "means of integers": lambda x: [
        (x.nan_to_num(1, 2, 2) * 9).to(t).scatter_reduce(
            d,
            torch.tensor([[0, 2, 2], [2, 2, 4]]),
            (x.nan_to_num(-1, 3, 3) * 7)[:3].to(t),
            "mean",
            include_self=s,
        )
        for t in (torch.int64, torch.int32, torch.int8)
        for d in (0, -1)
        for s in (False, True)
    ],
    "rows by indices": lambda x: (
        x.index_add(-1, torch.tensor([6, 0, 6]), x[:, :3], alpha=2),
        x.index_add(1, torch.tensor(2, dtype=torch.int32), x[:, :1]),
        x.t().index_add(0, torch.tensor([1]), x[:, :1].t()),
        x[0, 0].index_add(0, torch.tensor([0]), x[0, 1]),
        (x > 0).int().index_add(0, torch.tensor([1, 1]), (x[:2] > 0).int()),
        x.index_copy(1, torch.tensor([6, 0]), x[:, :2]),
        x[0, 0].index_copy(0, torch.tensor([0]), x[0, 1]),
        x.index_fill(-1, torch.tensor([-1, 0, -7]), 2.5),
        x.t().index_fill(0, torch.tensor(-2), x[0, 0]),
        x[0, 0].index_fill(0, torch.tensor([-1, 0]), 3),
        (x > 0).int().index_fill(1, torch.tensor([-3]), 2.5),
        x.index_fill(0, torch.tensor([], dtype=torch.int64), 1),
    ),
    "diagonal_scatter": lambda x: (
        torch.diagonal_scatter(x, x[0, :5], 1),
        torch.diagonal_scatter(x, x[0, :3], -2),
    ),
    "as_strided": lambda x: (
        torch.as_strided(x, (3, 2), (2, 5), 1) * 2,
        torch.as_strided_scatter(x, x[:3, :2], (3, 2), (2, 5), 1),
    ),
    "indexed writes": lambda x: (
        torch.put(x, torch.tensor([[0, 34], [-1, 7]]), x[:2, :2], True),
        torch.put(x, torch.tensor([3, 5]), x[0, :2]),
        x.scatter_add(-1, torch.tensor([[0, 2], [2, 2]]), x[:2, :2]),
        x.scatter_add(0, torch.tensor([[0, 2, 4], [4, 2, 0]]), x[3:, :3]),
        (y := x * 2).scatter_add(1, torch.tensor([[6], [0], [6]]), y[:3, 2:3]),
        x.scatter(1, torch.tensor([[0, 2], [3, 2]]), x[:2, :2], reduce="add"),
        x.scatter(
            -1, torch.tensor([[0, 2], [3, 2]]), x[:2, :2], reduce="multiply"
        ),
        x[0, 0].index_reduce(0, torch.tensor([0]), x[0, 1], "amax"),
        torch.masked_scatter(x[0], x > 0, x),
    ),
    "products": lambda x: (
        (x > 0).cumprod(1, dtype=torch.float32),
        x[0, 0].cumprod(0),
        (x > 0).prod(1),
        (x > 0).prod(1, dtype=torch.float32),
        x[0, 0].prod(0),
        (x[0, 0] > 0).prod(0),
        x[0, 0].amax(0, True),
        torch.aminmax(x[0, 0], dim=0),
    ),
    "quantile": lambda x: (
        torch.quantile(x, 0.3, 1),
        torch.nanquantile(x, torch.tensor([0.1, 0.9]), 0),
    ),
}


@pytest.mark.parametrize("name", SORTS)
def test_order(name):
    function = SORTS[name]
    x = rows()
    want = torch.utils._pytree.tree_leaves(function(x))
    have = torch.utils._pytree.tree_leaves(compiled(function)(x))
    for h, w in zip(have, want):
        assert h.dtype == w.dtype
        torch.testing.assert_close(h, w, equal_nan=True)
    assert not torch_backend.explain_fallbacks(), torch_backend.report()


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("k", [1, 5, 32, 33])
@pytest.mark.parametrize("dim", [0, 1])
def test_few_of_many(k, dim, dynamic):
    x = torch.randn(161, 170, generator=torch.Generator().manual_seed(k))
    edges = torch.tensor([nan, inf, -inf, 0.0, -0.0, 1.0, 1.0, 1.0])
    x[:, 3:88:11] = edges
    x[9:90:11] = edges[:, None]
    x[1], x[2, :], x[3] = nan, 1.0, torch.arange(170)
    for y in (x, x.double()) if dynamic else (x, x.double(), x.t()):
        for largest in (True, False):
            torch._dynamo.reset()  # before eager takes over for good
            if dynamic:
                torch._dynamo.mark_dynamic(y, [0, 1])
            have, at = compiled(lambda y: torch.topk(y, k, dim, largest))(y)
            order = y.sort(dim=dim, descending=largest, stable=True)
            want, places = (t.narrow(dim, 0, k) for t in order)
            assert torch.equal(at, places)
            torch.testing.assert_close(have, want, rtol=0, atol=0, equal_nan=True)
            assert torch.equal(have.signbit(), want.signbit())
            least = compiled(lambda y: torch.kthvalue(y, k, dim)[0])(y)
            torch.testing.assert_close(
                least, torch.kthvalue(y, k, dim)[0], rtol=0, atol=0, equal_nan=True
            )
    assert not torch_backend.explain_fallbacks(), torch_backend.report()


@pytest.mark.parametrize("shape", [(0, 9), (4, 1), (1, 1), (3, 9)])
def test_none_and_all_of_a_row(shape):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    for k in {0, 1, shape[1]}:
        torch._dynamo.reset()
        for h, w in zip(
            compiled(lambda x: torch.topk(x, k))(x), torch.topk(x, k)
        ):
            assert h.dtype == w.dtype and torch.equal(h, w)


def test_logcumsumexp_of_any_length():
    """Exponentials of 1000 are infinite."""
    f = compiled(lambda x: torch.logcumsumexp(x, 1), dynamic=True)
    for n in (7, 9):
        x = torch.randn(3, n) * 1000
        torch.testing.assert_close(f(x), torch.logcumsumexp(x, 1))


@pytest.mark.parametrize(
    "function",
    [lambda x: torch.topk(x, 2), lambda x: torch.sort(x.repeat(1, 4) > 1, 1)],
)
def test_order_of_equals_is_eager(function):
    x = torch.tensor([[3, 1, 3, 2, 1, 3], [1, 1, 1, 2, 2, 0]])
    have = compiled(function)(x)
    for h, w in zip(have, function(x)):
        assert torch.equal(h, w)
    assert torch_backend.explain_fallbacks()


def test_writes_by_a_mask():
    x, mask = rows(), torch.tensor([True, False, True, False, False])

    def several(x, mask):
        y = x.clone()
        y[mask] = x[3:] * 2
        return y + 1

    def one(x, mask):
        y = x.clone()
        y[mask] = 2.0
        return y + 1

    for function, left in ((several, True), (one, False)):
        torch._dynamo.reset()
        torch_backend.reset_reports()
        torch.testing.assert_close(
            compiled(function)(x, mask), function(x, mask), equal_nan=True
        )
        assert bool(torch_backend.explain_fallbacks()) == left


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("accumulate", [False, True])
def test_writes_one_value_by_a_mask(accumulate, dynamic):
    none = torch.zeros(4, dtype=torch.bool)
    some = torch.tensor([True, False, True, False])
    x = -torch.ones(3, 4, 2)
    values = (torch.tensor(7.0), torch.arange(2.0), torch.ones(3, 1, 2))

    def wide(x, mask, value):
        return torch.ops.aten.index_put(x, [None, mask], value, accumulate)

    def flat(x, mask, value):
        x = x[0, :, 0]
        return x.index_put((mask,), value.view(-1)[:1], accumulate)

    def whole(x, mask, value):
        return x.index_put((x * mask[:, None] > 0,), value.sum())

    torch_backend.reset_reports()
    for function in (wide, flat, whole):
        torch._dynamo.reset()
        g = torch.compile(function, backend="polynest", dynamic=dynamic)
        for value in values:
            for mask in (some, none, ~none):
                args = -x if mask is some else x, mask, value
                with torch.no_grad():
                    same = torch.equal(g(*args), function(*args))
                assert same, (function, mask, value)
    assert not torch_backend.explain_fallbacks()


def test_results_whose_strides_differ_from_what_was_said():
    # Eager's result of an op left to it may be expanded where its fake is not,
    # and the other way round.
    from polynest.torch_backend import _as_expected

    x = torch.arange(6.0).view(2, 3)
    made = _as_expected(x[:, :1].expand(2, 3).contiguous(), (1, 0))
    assert made.stride() == (1, 0)
    assert torch.equal(made, x[:, :1].expand(2, 3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_norms_square_and_take_no_powers(dtype, tmp_path):
    inf, nan = math.inf, math.nan
    edges = torch.tensor(
        [[0.0, -0.0], [inf, 1], [nan, 2], [1e-30, 1e-30], [-inf, nan]], dtype=dtype)
    for norm in (
        lambda x: torch.linalg.vector_norm(x, dim=-1),
        lambda x: torch.linalg.vector_norm(x, dim=(0, 1), keepdim=True),
        lambda x: torch.linalg.vector_norm(x, dtype=torch.float64),
        lambda x: torch.nn.functional.normalize(x, dim=-1),
    ):
        for x in (edges, torch.randn(7, 33, dtype=dtype), edges[:0], edges[:, :0]):
            have, want = compiled(norm)(x), norm(x)
            assert have.dtype == want.dtype and have.shape == want.shape
            assert torch.allclose(have, want, rtol=1e-6, equal_nan=True)
    torch._dynamo.reset()
    torch.compile(lambda x: torch.nn.functional.normalize(x, dim=-1),
                  backend="polynest", options={"dump": str(tmp_path)})(edges)
    (text,) = tmp_path.glob("**/s2.mlir")
    assert "math.powf" not in text.read_text()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_norms_of_low_precision_are_summed_in_f32(dtype):
    x = torch.full((50, 3), 3000.0).to(dtype)
    x[1:, 1] = 0.01
    y = torch.randn(50, 3, generator=torch.Generator().manual_seed(3)).to(dtype)
    for norm in (
        lambda x: x.norm(),
        lambda x: x.norm(p=3),
        lambda x: torch.linalg.vector_norm(x, 1, dim=0),
        lambda x: torch.linalg.vector_norm(x, math.inf),
        lambda x: torch.linalg.vector_norm(x, dtype=torch.float32),
        lambda x: torch.nn.functional.normalize(x, dim=0),
        lambda x: torch.nn.functional.cosine_similarity(x, x, dim=0),
    ):
        for value in (x, y):
            have, want = compiled(norm)(value), norm(value)
            assert have.dtype == want.dtype
            torch.testing.assert_close(have, want, rtol=1e-2, atol=1e-5)


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str
)
@pytest.mark.parametrize("exponent", [0.5, -0.5, -1, 2])
def test_powers_of_special_values(dtype, exponent):
    values = [-inf, inf, nan, 0.0, -0.0, 4.0, -4.0, 2.0, 60000.0]
    x = torch.tensor(values).to(dtype)
    have, want = compiled(lambda x: x**exponent)(x), x**exponent
    torch.testing.assert_close(have, want, equal_nan=True)
    plain = ~want.isnan()
    assert torch.equal(have.signbit()[plain], want.signbit()[plain])


@pytest.mark.parametrize("rank", [3, 4])
def test_indices_of_nan_in_max_pools(rank):
    x = torch.randn(2, 3, 9, 11, generator=torch.Generator().manual_seed(5))
    x[0, 0, 1, 0] = x[0, 1, 8, 10] = x[1, 2, 4, 4] = x[1, 2, 4, 5] = nan
    x[1, 0, 2:5, 2:5] = nan
    x[0, 2, 0:4, 0:4] = -inf
    x = x[0] if rank == 3 else x
    for options in (
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": (2, 3), "stride": 1, "dilation": (1, 2)},
        {"kernel_size": 3, "stride": (3, 2), "padding": (1, 0),
         "dilation": (2, 1), "ceil_mode": True},
        {"kernel_size": 4, "padding": 2, "dilation": 2, "stride": 1},
        {"kernel_size": 2, "stride": 4, "ceil_mode": True},
        {"kernel_size": (6, 5), "padding": 2},
    ):
        def pool(x):
            return torch.nn.functional.max_pool2d(
                x, return_indices=True, **options
            )

        # Of equal elements the first counts.
        for x in (x, x.round(), x.bfloat16()):
            for h, w in zip(compiled(pool)(x), pool(x)):
                torch.testing.assert_close(
                    h, w, rtol=0, atol=0, equal_nan=True
                )


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": (1, 2, 3), "padding": (1, 0, 1),
         "ceil_mode": True},
        {"kernel_size": (4, 3, 3), "padding": 1, "dilation": (1, 2, 1)},
    ],
)
def test_indices_of_nan_in_max_pools_of_volumes(options):
    x = torch.randn(2, 2, 6, 7, 8, generator=torch.Generator().manual_seed(5))
    x[0, 0, 0, 0, 0] = x[0, 1, 2, 2:5, 3] = nan
    x[1, 0, 1:5, 1:6, 1:6] = nan
    x[1, 1] = -inf

    def pool(x):
        return torch.nn.functional.max_pool3d(
            x, return_indices=True, **options
        )

    for x in (x, x.round(), x[0]):
        for h, w in zip(compiled(pool)(x), pool(x)):
            torch.testing.assert_close(h, w, rtol=0, atol=0, equal_nan=True)
    grown = []
    for function in (compiled(pool), pool):
        leaf = x.clone().requires_grad_()
        with torch.enable_grad():
            function(leaf)[0].sum().backward()
        grown.append(leaf.grad)
    assert torch.equal(*grown)


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bfloat16,
                                   torch.float16, torch.bool])
@pytest.mark.parametrize("n", [16, 100])
def test_sorts_of_equal_elements(dtype, n):
    """Eager's order of equal elements is its own, where there are more than
    it sorts by insertion."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    torch_backend.reset_reports()
    x = torch.randint(0, 2 if dtype == torch.bool else 7, (n, 3)).to(dtype)
    is_bool = dtype == torch.bool
    functions = {
        "both": (lambda x: torch.sort(x, 0), n > 16 or is_bool),
        "indices": (lambda x: torch.argsort(x, 0, True), n > 16 or is_bool),
        "values": (lambda x: torch.sort(x, 0)[0], is_bool),
        "stable": (lambda x: torch.sort(x, dim=0, stable=True), False),
    }
    for name, (function, stays) in functions.items():
        torch_backend.reset_reports()
        with torch.no_grad():
            have, want = compiled(function)(x), function(x)
        for h, w in zip(tensors(have), tensors(want)):
            assert torch.equal(h, w), name
        left = {f.op for f in torch_backend.explain_fallbacks()}
        assert bool(left) is stays, (name, torch_backend.report())


def test_stable_sort_left_to_eager(monkeypatch):
    original = frontend.refusal

    def refusal(node):
        return "no" if "sort" in str(node.target) else original(node)

    monkeypatch.setattr(frontend, "refusal", refusal)
    torch._dynamo.reset()
    x = torch.randint(0, 3, (200,))
    have = compiled(lambda x: torch.sort(x, stable=True)[1] + 1)(x)
    assert torch.equal(have, torch.sort(x, stable=True)[1] + 1)
