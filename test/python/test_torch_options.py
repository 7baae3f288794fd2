# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of torch.compile: what they take, and what each of them does."""

import threading

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

import polynest  # noqa: E402
from conftest import ROOT, TOLERANCES, compiled  # noqa: E402
from polynest import (  # noqa: E402
    _capi,
    errors,
    torch_backend,
    torch_check,
    torch_options,
)

pytestmark = pytest.mark.usefixtures("fresh_torch")


def run(function, *inputs, **options):
    with torch.no_grad():
        return compiled(function, **options)(*inputs)


# -- values --------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, word",
    [
        ({"speed": 3}, "unknown option 'speed'; the options are target"),
        ({"threads": "2"}, "option 'threads' is '2', not an int"),
        ({"threads": True}, "option 'threads' is True, not an int"),
        ({"threads": -1}, "option 'threads' is -1, not 0 to 1024"),
        ({"threads": 1025}, "not 0 to 1024"),
        ({"freeze": 1}, "option 'freeze' is 1, not a bool"),
        ({"strict": None}, "option 'strict' is None"),
        ({"check": "yes"}, "option 'check'"),
        ({"cache": 0}, "option 'cache'"),
        ({"dump": 3}, "option 'dump'"),
        ({"dump": "a\0b"}, "zero byte"),
        ({"results": "numpy"}, "'numpy', not one of auto, pool, torch"),
        ({"opt_level": "much"}, "'much', not one of plain, default"),
        ({"numerics": "odd"}, "'odd', not one of default, strict"),
        ({"target": "cpu:nope"}, "nope"),
        ({"disabled_passes": "nope"}, "nope"),
        ([("freeze", True)], "options is a list, not a dict"),
    ],
)
def test_bad_values(options, word):
    with pytest.raises(errors.PolynestError, match=word):
        torch_options.checked(options)


def test_bad_values_reach_the_user():
    with pytest.raises(Exception, match="option 'threads' is -1"):
        run(torch.sin, torch.ones(2), options={"threads": -1})


def test_unknown_target():
    with pytest.raises(errors.NotFoundError, match="known are host"):
        torch_options.checked({"target": "cpu:nope"})


def test_bad_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.FileError, match="file"):
        torch_options.checked({"dump": str(tmp_path / "file" / "x")})


def test_modes():
    for mode, freeze in (
        (None, False), ("default", False), ("max-autotune", True),
        ("max-autotune-no-cudagraphs", True),
    ):
        assert torch_options.checked(None, mode)["freeze"] is freeze
    with pytest.raises(errors.ArgumentError, match="reduce-overhead"):
        torch_options.checked(None, "reduce-overhead")


def test_max_autotune_freezes():
    model = torch.nn.Linear(8, 8)
    x = torch.randn(3, 8)
    bound = []
    original = torch_backend.Runner._bind

    def bind(self, arguments):
        bound.append(len(self._frozen))
        return original(self, arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch_backend.Runner, "_bind", bind)
        got = run(model, x, mode="max-autotune")
    assert bound == [2] and torch.allclose(got, model(x), atol=1e-6)


def test_documented():
    """docs/pytorch.md has a row for each option, with its default and text."""
    text = (ROOT / "docs" / "pytorch.md").read_text()
    for name, row in torch_options.OPTIONS.items():
        line = f"| `{name}` | `{row.default!r}` | {row.text} |"
        assert line in text, line


# -- threads -------------------------------------------------------------------


def test_threads():
    count = _capi.lib().pn_thread_count_get
    before = count()
    seen = []
    original = torch_backend.Runner.__call__

    def call(self, *arguments):
        seen.append(count())
        return original(self, *arguments)

    x = torch.randn(64, 64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch_backend.Runner, "__call__", call)
        patch.setattr(torch_backend, "_unrolled", lambda *_: None)
        f = compiled(lambda x: x.softmax(1), options={"threads": 5})
        with torch.no_grad():
            got = f(x)
    assert seen == [5] and count() == before
    assert torch.allclose(got, x.softmax(1), atol=1e-6)


def test_threads_end_with_an_error():
    count = _capi.lib().pn_thread_count_get
    before = count()
    f = compiled(
        lambda x, i: x.index_select(0, i), options={"threads": 3}
    )
    with torch.no_grad():
        assert f(torch.ones(4, 2), torch.tensor([1])).shape == (1, 2)
        with pytest.raises(IndexError):
            f(torch.ones(4, 2), torch.tensor([9]))
    assert count() == before


def test_threads_of_one_thread():
    inside, outside = [], []
    count = _capi.lib().pn_thread_count_get
    # Another thread need not have as many as this one: OpenMP's number is each
    # thread's own, and torch.set_num_threads may have changed it here.
    plain = threading.Thread(target=lambda: outside.append(count()))
    plain.start()
    plain.join()
    done = torch_backend._with_threads(lambda: inside.append(count()), 7)
    waiting = torch_backend._with_threads(
        lambda: (other.start(), other.join()), 7
    )
    other = threading.Thread(target=lambda: outside.append(count()))
    done()
    waiting()
    assert inside == [7] and outside[0] == outside[1]


# -- strict --------------------------------------------------------------------


def test_strict():
    def function(x):
        return torch.mode(x)[0] + 1

    x = torch.randn(5)
    assert torch.equal(run(function, x), function(x))
    torch._dynamo.reset()
    with pytest.raises(Exception, match="would stay with eager.*mode"):
        run(function, x, options={"strict": True})


# -- dump ----------------------------------------------------------------------


def test_dump(tmp_path):
    def function(x, w):
        y = torch.mode(torch.relu(x @ w))[0]
        return y.exp() + 1

    folder = tmp_path / "deep" / "dump"
    x, w = torch.randn(6, 4), torch.randn(4, 5)
    for _ in range(2):
        torch._dynamo.reset()
        got = run(function, x, w, options={"dump": str(folder)})
        assert torch.allclose(got, function(x, w), atol=1e-5)
    graphs = sorted(p.name for p in folder.iterdir())
    assert graphs == ["graph-0-inference", "graph-1-inference"]
    graph = folder / graphs[1]
    assert "aten.mode" in (graph / "graph.txt").read_text()
    assert "left to eager" in (graph / "report.txt").read_text()
    parts = sorted(p.name for p in graph.glob("part-*"))
    whole = [p for p in parts if (graph / p / "s5.mlir").exists()]
    refused = [p for p in parts if (graph / p / "refused.txt").exists()]
    # The first try has mode in it; then there are two regions.
    assert len(whole) == 2 and len(refused) >= 1
    words = {
        "torch.mlir": "torch.aten", "input.mlir": "linalg", "s1.mlir":
        "memref", "s2.mlir": "affine", "s3.mlir": "memref", "s4.mlir":
        "func", "s5.mlir": "llvm.func",
    }
    for part in whole:
        for name, word in words.items():
            assert word in (graph / part / name).read_text(), name
    assert "mode" in (graph / refused[0] / "refused.txt").read_text() or (
        "torch.operator" in (graph / refused[0] / "refused.txt").read_text()
    )


def test_dump_of_training(tmp_path):
    x = torch.randn(4, requires_grad=True)
    compiled(lambda x: x.sin().sum(), options={"dump": str(tmp_path)})(
        x
    ).backward()
    kinds = sorted(p.name.split("-")[2] for p in tmp_path.iterdir())
    assert kinds == ["backward", "forward"]


def test_dump_marks_bound_weights(tmp_path):
    model = torch.nn.Linear(4, 5).eval()
    with torch.no_grad():
        compiled(model, options={"dump": str(tmp_path), "freeze": True})(
            torch.randn(3, 4)
        )
    (part,) = tmp_path.glob("*/part-*")
    for name in ("input.mlir", "s1.mlir"):
        assert (part / name).read_text().count("polynest.constant") == 2, name


# -- check ---------------------------------------------------------------------


def test_bounds_are_those_of_the_tests():
    names = {torch.float16: "f16", torch.bfloat16: "bf16",
             torch.float32: "f32", torch.float64: "f64"}
    for dtype, (unit, factor) in torch_check.BOUNDS.items():
        row = TOLERANCES["dtypes"][names[dtype]]
        assert row["unit"] == unit and row["factor"] == factor


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.norm = torch.nn.BatchNorm2d(4)
        self.drop = torch.nn.Dropout(0.5)
        self.last = torch.nn.Linear(4, 3)

    def forward(self, x):
        x = self.drop(torch.relu(self.norm(self.conv(x))))
        return self.last(x.mean((2, 3))).log_softmax(-1)


@pytest.mark.parametrize("training", [False, True])
def test_check_of_what_is_right(training):
    """Dropout draws the same numbers as without the option, and running means
    change once."""
    x = torch.randn(2, 3, 8, 8)
    results = []
    for options in ({"check": False}, {"check": True}):
        torch._dynamo.reset()
        torch.manual_seed(0)
        model = Model().train(training)
        f = compiled(model, options=options)
        for _ in range(2):
            y = f(x)
            y.square().sum().backward()
        results.append(
            (y, torch.rand(3), model.norm.running_mean, model.conv.weight.grad)
        )
    for a, b in zip(*results):
        assert torch.equal(a, b)


def test_check_of_writes_and_aliases():
    def function(x, y):
        x.add_(1)
        y.mul_(2)
        return x + y, x

    base = torch.arange(6.0)
    want = base.clone()
    function(want[:4], want[2:])
    got = run(function, base[:4], base[2:], options={"check": True})
    assert torch.equal(base, want) and torch.equal(got[0], want[:4] + want[2:])


def test_check_of_dynamic_sizes_and_numbers():
    f = compiled(
        lambda x: (x.softmax(0), x.shape[0] * 2, x.sum()),
        options={"check": True}, dynamic=True,
    )
    with torch.no_grad():
        for n in (4, 7, 9):
            x = torch.randn(n, 3)
            assert f(x)[1] == 2 * n


def spoiled(monkeypatch, unless="nothing", what="arith.addf"):
    """A compiler that subtracts where it should add, unless a pass is left
    out."""
    original = torch_backend._program

    def program(text, options, constants=()):
        off = options["disabled_passes"].split(",")
        plain = options["opt_level"] == "plain"
        right = unless in off or (plain and unless != "nothing")
        if not right:
            text = text.replace(what, "arith.subf")
        return original(text, options, constants)

    monkeypatch.setattr(torch_backend, "_program", program)


def test_check_names_the_op(monkeypatch):
    spoiled(monkeypatch)

    def function(x, y):
        return x.exp() * y + 1.0

    x, y = torch.randn(3, 4), torch.randn(3, 4)
    with pytest.raises(Exception) as caught:
        run(function, x, y, options={"check": True})
    text = str(caught.value)
    assert isinstance(caught.value, errors.DifferenceError)
    assert "inference graph, part 1 of 1, result of aten.add" in text
    assert "test_torch_options.py:" in text
    assert "element [0, 0] is" in text and "12 of 12 elements differ" in text
    assert "differs without optimizations, too: the op is aten.add" in text


@pytest.mark.parametrize(
    "guilty", ["polynest-fuse-nests", "polynest-vectorize-nests",
               "polynest-fold-views"]
)
def test_check_names_the_pass(monkeypatch, guilty):
    spoiled(monkeypatch, unless=guilty)
    with pytest.raises(errors.DifferenceError, match=f"the pass is {guilty}"):
        run(lambda x: x.exp() + 1.0, torch.randn(8), options={"check": True})


def test_check_names_the_part(monkeypatch):
    def function(x):
        y = x.exp() * 2.0
        z = torch.mode(y)[0]
        return z.sin() + 1.0

    spoiled(monkeypatch)
    with pytest.raises(errors.DifferenceError, match="part 2 of 2"):
        run(function, torch.randn(3, 4), options={"check": True})


def test_check_of_a_decomposition(monkeypatch):
    """What a decomposition does wrong, its own ops do not show."""
    from polynest import torch_decompositions

    rules = torch_decompositions.decompositions()

    class Wrong:
        def get(self, op):
            if op is torch.ops.aten.erf.default:
                return lambda x: x.tanh()
            return rules.get(op)

    monkeypatch.setattr(torch_decompositions, "decompositions", Wrong)
    with pytest.raises(errors.DifferenceError, match="decomposition"):
        run(lambda x: x.erf(), torch.randn(9), options={"check": True})


@pytest.mark.parametrize(
    "got, want, word",
    [
        (1, 2, "is 1, eager has 2"),
        (float("nan"), float("nan"), None),
        (3, torch.ones(2), "eager has a tensor"),
        (torch.ones(2), torch.ones(3), "has shape"),
        (torch.ones(2), torch.ones(2).double(), "has dtype"),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), "element [1] is 2"),
        (torch.tensor([True]), torch.tensor([True]), None),
        (torch.tensor([float("nan")]), torch.tensor([float("nan")]), None),
        (torch.tensor([float("nan")]), torch.tensor([1.0]), "is nan"),
        (torch.tensor([float("inf")]), torch.tensor([-float("inf")]), "inf"),
        (torch.tensor([1e38]), torch.tensor([float("inf")]), "has inf"),
        (torch.tensor([1.0 + 2e-7]), torch.tensor([1.0]), None),
        (torch.tensor([1.001]), torch.tensor([1.0]), "element [0]"),
        (torch.ones(0), torch.ones(0), None),
        (torch.tensor(2.0), torch.tensor(1.0), "element [] is 2.0"),
        (torch.tensor([1j]), torch.tensor([2j]), "differs"),
        (torch.ones(2).to_sparse(), torch.ones(2).to_sparse(), None),
    ],
)
def test_differences(got, want, word):
    text = torch_check.difference(got, want)
    assert text is None if word is None else word in text


def test_copies_share_memory_as_the_inputs_do():
    base = torch.arange(8.0)
    views = [base[2:6], base.view(2, 4).t(), torch._neg_view(base), 5,
             torch.ones(2).to_sparse()]
    copies = torch_check._copies(views)
    for a, b in zip(views[:3], copies[:3]):
        assert torch.equal(a, b) and a.stride() == b.stride()
    copies[0][0] = 100.0
    assert copies[1].reshape(-1).max() == 100.0 and base.max() == 7.0


def test_cache_is_off_where_compiling_matters(tmp_path):
    assert torch_options.checked({"check": True})["cache"] is False
    assert torch_options.checked({"dump": str(tmp_path)})["cache"] is False
    assert torch_options.checked(None)["cache"] is True
