# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is compiled once and found again: that it is found, that it is right,
and that nothing is found where something differs."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy
import pytest
import torch
from conftest import ROOT, compiled

import polynest
from polynest import _lowering, errors, torch_backend, torch_cache


@pytest.fixture(autouse=True)
def fresh(fresh_torch):
    torch_backend._PROGRAMS.clear()


def _new_start() -> None:
    """As in another process, but for the import of modules."""
    torch._dynamo.reset()
    torch_backend.reset_reports()
    torch_backend._PROGRAMS.clear()


@pytest.fixture
def no_lowering(monkeypatch):
    """From its call on, torch-mlir is out of reach."""

    def forbid():
        def refuse(*_, **__):
            raise AssertionError("torch-mlir was asked")

        monkeypatch.setattr(_lowering.Worker, "request", refuse)
        monkeypatch.setattr(_lowering.Worker, "start", lambda self: None)

    return forbid


@pytest.fixture
def no_tracing(no_lowering, monkeypatch):
    """From its call on, so is AOTAutograd."""

    def forbid():
        no_lowering()

        def refuse(*_, **__):
            raise AssertionError("AOTAutograd was asked")

        import torch._dynamo.backends.common as common

        monkeypatch.setattr(common, "aot_module_simplified", refuse)

    return forbid


def _same(have, want) -> None:
    assert type(have) is type(want)
    if isinstance(want, (list, tuple)):
        assert len(have) == len(want)
        for h, w in zip(have, want):
            _same(h, w)
    elif isinstance(want, torch.Tensor):
        assert have.dtype == want.dtype and have.stride() == want.stride()
        torch.testing.assert_close(have, want)
    else:
        assert have == want


def _cached() -> list[bool]:
    return [r.cached for r in torch_backend.reports()]


# -- programs -------------------------------------------------------------------


def test_programs_are_found(mlir, cache):
    x = numpy.arange(35, dtype=numpy.float32).reshape(5, 7)
    first = polynest.compile(mlir)
    assert first.executable.cached == "missing"
    assert first.timing["codegen"] > 0 and first.timing["cache"] > 0
    assert polynest.compile(mlir).executable.cached == "shared"
    for program in (first, polynest.compile(mlir, cache=False)):
        numpy.testing.assert_array_equal(program(x, x)[0], x * x)
    key = first.executable.cache_key
    assert len(key) == 64
    del first, program
    again = polynest.compile(mlir)
    assert again.executable.cached == "found" and again.timing["codegen"] == 0
    numpy.testing.assert_array_equal(again(x, x)[0], x * x)
    with polynest.Target("host") as host:
        with cache.executable(key, host) as other:
            assert other.entries == ["scale"] and other.cached == "found"
        wrong = key[:-1] + ("0" if key[-1] != "0" else "1")
        assert cache.executable(wrong, host) is None
    assert cache.stats()["entries"] == 1 and cache.problem == ""
    cache.clear()
    assert cache.stats()["entries"] == 0


def test_other_choices_are_not_found(mlir, cache):
    keys = {
        polynest.compile(mlir, **choice).executable.cache_key
        for choice in (
            {},
            {"opt_level": "plain"},
            {"numerics": "strict"},
            {"disabled_passes": ["fuse-nests"]},
            {"target": "cpu:haswell"},
        )
    }
    assert len(keys) == 5 and "" not in keys
    remarks = []
    program = polynest.compile(mlir, remark=lambda *r: remarks.append(r))
    assert program.executable.cached == "unused" and remarks


def test_bytes_and_limits(tmp_path, monkeypatch):
    monkeypatch.delenv("POLYNEST_CACHE")
    with polynest.Cache(tmp_path / "c", 1000) as cache:
        assert cache.find(b"key") is None
        assert cache.store(b"key", b"\0data") and cache.find(b"key") == b"\0data"
        assert not cache.store(b"large", bytes(1000))
        assert "above the limit of 1000" in cache.problem
        assert cache.directory == str(tmp_path / "c")
        stats = cache.stats()
        assert stats["limit_bytes"] == 1000 and stats["stored"] == 1
    with pytest.raises(errors.ArgumentError):
        cache.find(b"key")
    with pytest.raises(errors.ArgumentError):
        polynest.Cache(tmp_path, -1)


def test_switched_off(mlir, cache, monkeypatch):
    monkeypatch.setenv("POLYNEST_CACHE", "0")
    assert polynest.default_cache() is not cache
    assert polynest.compile(mlir).executable.cached == "unused"
    assert polynest.default_cache().directory == ""
    assert not Path(cache.directory).exists()


# -- graphs ----------------------------------------------------------------------


def _mixed(x, w):
    y = torch.nn.functional.gelu(x @ w)
    return y, None, (y.t().contiguous().t() * 2, y.sum(0)), 3


@pytest.mark.parametrize("options", [{}, {"freeze": True}])
def test_before_autograd(cache, no_tracing, options):
    x, w = torch.randn(6, 5), torch.nn.Parameter(torch.randn(5, 4))
    with torch.no_grad():
        want = _mixed(x, w)
        _same(compiled(_mixed, options=options)(x, w), want)
        assert _cached() == [False]
        _new_start()
        no_tracing()
        f = compiled(_mixed, options=options)
        for _ in range(2):
            _same(f(x, w), want)
        assert _cached() == [True]
        assert "found in the cache" in polynest.report()


def _variants():
    x = torch.randn(6, 4)
    yield "element type", x.double(), {}
    yield "sizes", torch.randn(6, 5), {}
    yield "strides", torch.randn(4, 6).t(), {}
    yield "strides of a slice", torch.randn(6, 8)[:, ::2], {}
    yield "gradient", torch.randn(6, 4, requires_grad=True), {}
    yield "numerics", x, {"numerics": "strict"}
    yield "opt_level", x, {"opt_level": "plain"}
    yield "passes", x, {"disabled_passes": "fuse-nests"}
    yield "target", x, {"target": "cpu:haswell"}


@pytest.mark.parametrize("name,x,options", [*_variants()])
def test_what_differs_is_not_found(cache, name, x, options):
    def f(x):
        return torch.softmax(x, -1) + 1

    compiled(f)(torch.randn(6, 4))
    _new_start()
    with torch.no_grad() if name != "gradient" else torch.enable_grad():
        torch.testing.assert_close(compiled(f, options=options or None)(x), f(x))
    assert _cached() == [False]
    _new_start()
    with torch.no_grad() if name != "gradient" else torch.enable_grad():
        torch.testing.assert_close(compiled(f, options=options or None)(x), f(x))
    assert _cached() == [True]


def test_state_of_torch(cache):
    def f(x, w):
        return x @ w + torch.ones(3)

    x, w = torch.randn(4, 8), torch.randn(8, 3)
    _same(compiled(f)(x, w), f(x, w))
    _new_start()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        have = compiled(f)(x, w)
        assert have.dtype == f(x, w).dtype
    torch.testing.assert_close(have.float(), f(x, w), rtol=0.05, atol=0.1)
    assert _cached() == [False]
    _new_start()
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        have = compiled(f)(x, w)
        assert have.dtype == torch.float64
        torch.testing.assert_close(have, f(x, w), rtol=1e-5, atol=1e-5)
    finally:
        torch.set_default_dtype(before)
    assert _cached() == [False]


def test_operators_and_numbers_differ(cache):
    x = torch.randn(3, 4)
    functions = [
        lambda x: x + 1.0,
        lambda x: x + 1,
        lambda x: x + 2.0,
        lambda x: x * 1.25,
        lambda x: x * 1.5,
        lambda x: x - 1.0,
        lambda x: x.sum(0),
        lambda x: x.sum(1),
        lambda x: x.sum(0, keepdim=True),
        lambda x: (x + 1.0, x),
        lambda x: (x, x + 1.0),
    ]
    for _ in range(2):
        for f in functions:
            _new_start()
            _same(compiled(f)(x), f(x))


def test_captured_tensors(cache):
    """Their contents are not in the entries."""
    x = torch.randn(3)
    for turn in range(2):
        for numbers in ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]):
            _new_start()

            def f(x):
                return x * torch.tensor(numbers)

            _same(compiled(f)(x), f(x))


def test_aliases_and_writes(cache):
    """AOTAutograd's wrapper stays where it has something to do."""

    def view(x, y):
        return x.t(), x + y

    def same(x, y):
        return x, x + y

    def write(x, y):
        x.add_(y)
        return x * 2

    def resize(x, y):
        x.t_()
        return x.sum(0) + 1

    for f in (view, same, write, resize, write, view):
        for _ in range(2):
            _new_start()
            x, y = torch.randn(3, 3), torch.randn(3, 3)
            have, want = (x.clone(), y.clone()), (x.clone(), y.clone())
            _same(compiled(f)(*have), f(*want))
            _same(have, want)
    with torch.no_grad():
        for _ in range(2):
            _new_start()
            x = torch.randn(3, 3)
            out = compiled(view)(x, x)
            assert out[0].data_ptr() == x.data_ptr()
            _same(out, view(x, x))


def test_modes_inside(cache):
    def f(x):
        with torch.no_grad():
            y = x * 2
        return y + 1

    def leave(x):
        torch._C._set_grad_enabled(False)
        return x + 1

    x = torch.randn(4)
    for _ in range(2):
        for g in (f, leave):
            _new_start()
            _same(compiled(g)(x), x * 2 + 1 if g is f else x + 1)
            assert torch.is_grad_enabled() == (g is f)
            torch.set_grad_enabled(True)


def test_operators_left_to_eager(cache, no_lowering):
    def f(x):
        y = x * 2 + 1
        return torch.linalg.svdvals(y) + y.sum()

    x = torch.randn(5, 5)
    want = f(x)
    _same(compiled(f)(x), want)
    before = str(torch_backend.explain_fallbacks()[0])
    assert "svd" in before
    _new_start()
    no_lowering()
    _same(compiled(f)(x), want)
    assert _cached() == [True]
    assert str(torch_backend.explain_fallbacks()[0]) == before


def test_strict_stays_strict(cache):
    def f(x):
        return torch.linalg.svdvals(x * 2).sum()

    for _ in range(2):
        _new_start()
        with pytest.raises(Exception, match="would stay with eager"):
            compiled(f, options={"strict": True})(torch.randn(5, 5))


def test_training(cache, no_lowering):
    def f(x, w):
        return torch.tanh(x @ w).pow(2).mean()

    def run(g):
        x = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
        w = torch.linspace(1, 2, 8).reshape(4, 2).requires_grad_()
        out = g(x, w)
        out.backward()
        return out.detach(), x.grad, w.grad

    want = run(f)
    for turn in range(2):
        _new_start()
        if turn:
            no_lowering()
        for have, expected in zip(run(compiled(f)), want):
            torch.testing.assert_close(have, expected)
        assert _cached() == [bool(turn)] * 2


def test_dynamic_sizes(cache, no_lowering):
    def f(x, y):
        return torch.softmax(x, 1) @ y + x.shape[0]

    def run():
        g = compiled(f, dynamic=True)
        for m, n in ((3, 5), (7, 4), (5, 5), (2, 9)):
            x, y = torch.randn(m, n), torch.randn(n, 6)
            torch.testing.assert_close(g(x, y), f(x, y))

    run()
    first = len(torch_backend.reports())
    _new_start()
    no_lowering()
    run()
    assert _cached() == [True] * first


def test_random_numbers_stay_eager(cache):
    def f(x):
        return torch.rand_like(x) + x * 2

    x = torch.randn(8)
    for _ in range(2):
        _new_start()
        torch.manual_seed(3)
        have = compiled(f)(x)
        torch.manual_seed(3)
        _same(have, f(x))


def test_own_functions_have_no_key(cache):
    """What a user's operator does is not in its name."""
    with torch.library._scoped_library("polynest_test", "FRAGMENT") as library:
        library.define("scale(Tensor x) -> Tensor")
        for factor in (2.0, 3.0):
            with torch.library._scoped_library("polynest_test", "IMPL") as own:
                own.impl(
                    "scale",
                    lambda x, factor=factor: x * factor,
                    "CompositeImplicitAutograd",
                )
                _new_start()
                x = torch.randn(4)
                f = compiled(lambda x: torch.ops.polynest_test.scale(x) + 1)
                torch.testing.assert_close(f(x), x * factor + 1)
    module = torch.fx.symbolic_trace(lambda x: x + 1)
    with polynest.Target("host") as host:
        for function in (test_training, print, subprocess.run):
            with pytest.raises(torch_cache.Unkeyable):
                torch_cache.function_text(function)
        with pytest.raises(torch_cache.Unkeyable):
            torch_cache.direct_key(module, [3], {}, {}, host)


def test_damaged_entries(cache):
    def f(x):
        return torch.tanh(x) * 2

    x = torch.randn(9)
    compiled(f)(x)
    files = sorted(Path(cache.directory).iterdir())
    assert len(files) == 3
    for path in files:
        data = bytearray(path.read_bytes())
        for at in (0, 9, 20, 50, 60, 90, len(data) - 1):
            data[at] ^= 4
            path.write_bytes(data)
            data[at] ^= 4
            _new_start()
            _same(compiled(f)(x), f(x))
        _new_start()
        path.write_bytes(data[: len(data) // 2])
        _same(compiled(f)(x), f(x))
    _new_start()
    _same(compiled(f)(x), f(x))
    assert _cached() == [True]


def test_entries_that_do_not_fit(cache):
    """Sound, but not what belongs there."""

    def f(x):
        return torch.tanh(x) * 2

    x = torch.randn(9)
    compiled(f)(x)
    keys = []
    find = polynest.Cache.find

    def noting(self, key):
        keys.append(key)
        return find(self, key)

    polynest.Cache.find = noting
    try:
        _new_start()
        compiled(f)(x)
    finally:
        polynest.Cache.find = find
    for key in keys:
        for data in (b"", b"[]", b"{}", b"\xff", b'{"code": "x"}',
                     b'{"regions": [], "rejected": [[999, "r"]]}'):
            cache.store(key, data)
            _new_start()
            _same(compiled(f)(x), f(x))


def test_code_that_is_gone(cache):
    """The graph's entry is there, its code is not."""

    def f(x):
        return torch.tanh(x) * 2

    x = torch.randn(9)
    compiled(f)(x)
    code = max(Path(cache.directory).iterdir(), key=lambda p: p.stat().st_size)
    code.unlink()
    _new_start()
    _same(compiled(f)(x), f(x))
    assert _cached() == [False] and code.exists()


def test_unusable_folder(monkeypatch, caplog, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POLYNEST_CACHE", "1")
    monkeypatch.setenv("POLYNEST_CACHE_DIR", str(tmp_path / "file" / "c"))
    for k in range(2):
        _new_start()
        x = torch.randn(5)
        torch.testing.assert_close(compiled(lambda x: x + k)(x), x + k)
    told = [r.message for r in caplog.records if "is not kept" in r.message]
    assert len(told) == 1 and "Not a directory" in told[0]


def test_explain_compiles(cache):
    def f(x):
        return x * 2 + 1

    x = torch.randn(5)
    compiled(f)(x)
    _new_start()
    assert not polynest.explain(f)(x).graphs[0].cached


# -- processes -------------------------------------------------------------------

_PROGRAM = textwrap.dedent(
    """
    import torch
    from polynest import torch_backend

    def f(x, w):
        return torch.softmax(torch.relu(x @ w), -1)

    torch.manual_seed(1)
    x, w = torch.randn(32, 16), torch.randn(16, 8)
    with torch.no_grad():
        have = torch.compile(f, backend=torch_backend.polynest)(x, w)
        torch.testing.assert_close(have, f(x, w))
    print(*(r.cached for r in torch_backend.reports()))
    """
)


def _start(folder) -> subprocess.Popen:
    environment = dict(
        os.environ,
        POLYNEST_CACHE="1",
        POLYNEST_CACHE_DIR=str(folder),
        PYTHONPATH=str(ROOT / "python"),
    )
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finish(process: subprocess.Popen) -> str:
    out, errors_text = process.communicate(timeout=300)
    assert process.returncode == 0, errors_text
    return out.strip()


def test_processes(tmp_path):
    """Two that race, one that is killed, one that finds what they left."""
    racing = [_start(tmp_path / "c") for _ in range(2)]
    for process in racing:
        assert _finish(process) in ("True", "False")
    assert _finish(_start(tmp_path / "c")) == "True"
    killed = _start(tmp_path / "d")
    while not (tmp_path / "d").exists() and killed.poll() is None:
        pass
    killed.kill()
    killed.communicate()
    assert _finish(_start(tmp_path / "d")) in ("True", "False")
    assert _finish(_start(tmp_path / "d")) == "True"
