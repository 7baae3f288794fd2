# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""polynest.export and polynest.load: libraries of PyTorch models."""

import collections
import errno
import functools
import json
import os
import shutil
import subprocess
import sys

import numpy
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

import polynest  # noqa: E402
from comparing import check, longest  # noqa: E402
from conftest import ROOT, bound, in_threads, pool_bytes  # noqa: E402
from polynest import errors, exported  # noqa: E402


def agree(got, want, inputs):
    assert got.shape == want.shape and got.dtype == want.dtype
    if want.is_floating_point():
        check(got, want, want.dtype, longest(inputs))
    else:
        assert torch.equal(got, want)


class Small(torch.nn.Module):
    """Convolution, norm, product, and a table of bytes."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(8)
        self.last = torch.nn.Linear(8, 5)
        self.tied = self.last.weight
        table = torch.arange(200, 205, dtype=torch.uint8)
        self.register_buffer("table", table)
        self.register_buffer("share", torch.ones(5) / 3, persistent=False)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x))).mean((2, 3))
        y = self.last(x) * self.share
        return {"y": y, "best": self.table[y.argmax(-1)]}


def small():
    torch.manual_seed(0)
    model = Small().eval()
    with torch.no_grad():
        model.norm.running_mean.copy_(torch.randn(8))
    return model, (torch.randn(4, 3, 9, 7),)


@pytest.fixture(scope="module")
def small_files(tmp_path_factory):
    model, inputs = small()
    path = tmp_path_factory.mktemp("small") / "small.so"
    return polynest.export(model, inputs, path)


def test_model(small_files):
    model, inputs = small()
    loaded = polynest.load(small_files.library)
    with torch.no_grad():
        want = model(*inputs)
    got = loaded(*inputs)
    agree(got["y"], want["y"], inputs)
    assert torch.equal(got.best, want["best"])
    # NumPy in, NumPy out.
    plain = loaded(inputs[0].numpy())
    assert plain.y.dtype == numpy.float32 and plain.best.dtype == numpy.uint8
    assert numpy.array_equal(plain.y, got.y.numpy())
    # Strided inputs are read where they are.
    strided = inputs[0].to(memory_format=torch.channels_last)
    agree(loaded(strided).y, want["y"], inputs)
    assert loaded.name == "small" and loaded.target == "host"


def test_files(small_files):
    folder = small_files.library.parent
    names = ["small.h", "small.so", "small.weights", "small_main.c"]
    assert sorted(p.name for p in folder.iterdir()) == names
    data = small_files.weights.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    assert length % 64 == 56
    shapes = {n: t["shape"] for n, t in header.items() if n[0] != "_"}
    assert shapes["conv.weight"] == [8, 3, 3, 3] and shapes["share"] == [5]
    ends = [t["data_offsets"] for n, t in header.items() if n[0] != "_"]
    ends.sort()
    assert ends[0][0] == 0 and ends[-1][1] == len(data) - 8 - length
    assert all(a[1] == b[0] for a, b in zip(ends, ends[1:]))


def test_without_torch(small_files, tmp_path):
    model, inputs = small()
    with torch.no_grad():
        want = model(*inputs)["y"].numpy()
    numpy.save(tmp_path / "x.npy", inputs[0].numpy())
    code = (
        "import sys, numpy, polynest\n"
        "loaded = polynest.load(sys.argv[1])\n"
        "y = loaded(numpy.load(sys.argv[2])).y\n"
        "numpy.save(sys.argv[3], y)\n"
        "assert 'torch' not in sys.modules\n"
    )
    out = tmp_path / "y.npy"
    subprocess.run(
        [sys.executable, "-c", code, small_files.library,
         tmp_path / "x.npy", out],
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert numpy.allclose(numpy.load(out), want, atol=1e-5)


def run_main(files, *arguments, folder=None):
    folder = folder or files.library.parent
    program = folder / "main"
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
               files.main, "-L.", f"-l:{files.library.name}",
               "-Wl,-rpath,$ORIGIN", "-o", program]
    subprocess.run(command, check=True, cwd=folder)
    return subprocess.run(
        [program, *map(str, arguments)], cwd=folder, capture_output=True,
        text=True, env={},
    )


needs_cc = pytest.mark.skipif(
    shutil.which("cc") is None, reason="no C compiler"
)


@needs_cc
def test_program(small_files, tmp_path):
    model, inputs = small()
    x = tmp_path / "x"
    inputs[0].numpy().tofile(x)
    done = run_main(small_files, "-n", 3, "-o", tmp_path / "out", x)
    assert done.returncode == 0, done.stderr
    assert "out0: f32 4x5" in done.stdout and "3 calls" in done.stderr
    got = torch.from_numpy(
        numpy.fromfile(tmp_path / "out0", numpy.float32).reshape(4, 5)
    )
    with torch.no_grad():
        want = model(*inputs)
    agree(got, want["y"], inputs)
    best = numpy.fromfile(tmp_path / "out1", numpy.uint8)
    assert best.tolist() == want["best"].tolist()
    folder = small_files.library.parent
    empty, longer = tmp_path / "empty", tmp_path / "longer"
    empty.touch()
    longer.write_bytes(x.read_bytes() + b"0")
    for arguments, word in (
        ([tmp_path / "nothing"], "cannot open"),
        ([tmp_path], "cannot read"),
        ([empty], "not the right number of bytes"),
        ([longer], "not the right number of bytes"),
        ([x, x], "more files than inputs"),
        (["-w", tmp_path / "x"], "not the weights of this library"),
        (["-n", "0"], "bad option"),
        (["-n", "3x"], "bad option"),
        (["-n", str(2**32 + 1)], "bad option"),
        (["-t", "x"], "bad option"),
        (["-t", ""], "bad option"),
        (["-t", "-1"], "bad option"),
        (["-t", "2.5"], "bad option"),
        (["-s", "3"], "bad option"),
    ):
        done = subprocess.run(
            [folder / "main", *map(str, arguments)], cwd=folder,
            capture_output=True, text=True,
        )
        assert done.returncode == 1 and word in done.stderr
    (folder / "main").unlink()


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(6, 4)

    def forward(self, x, y, *, scale=2.0):
        z = self.layer(x).softmax(-1) * scale
        return z.sum(0), torch.cat([z, y]), x.shape[0], None


def test_dynamic(tmp_path):
    torch.manual_seed(0)
    model = Head().eval()
    batch = torch.export.Dim("batch", min=1, max=50)
    rows = torch.export.Dim("rows")
    files = polynest.export(
        model,
        (torch.randn(3, 6), torch.randn(5, 4)),
        tmp_path / "head.so",
        kwargs={"scale": 3.0},
        dynamic_shapes={"x": {0: batch}, "y": {0: rows}, "scale": None},
    )
    loaded = polynest.load(files.library)
    for b, r in ((3, 5), (1, 1), (50, 2), (17, 0)):
        inputs = (torch.randn(b, 6), torch.randn(r, 4))
        got = loaded(*inputs, scale=3.0)
        with torch.no_grad():
            want = model(*inputs, scale=3.0)
        agree(got[0], want[0], inputs)
        agree(got[1], want[1], inputs)
        assert got[2:] == (b, None)
    with pytest.raises(errors.ProgramAssertionError, match="at most 50"):
        loaded(torch.randn(51, 6), torch.randn(1, 4), scale=3.0)
    with pytest.raises(errors.SignatureError, match="exported for 3.0"):
        loaded(torch.randn(3, 6), torch.randn(1, 4), scale=2.0)
    with pytest.raises(errors.SignatureError, match="dict of scale"):
        loaded(torch.randn(3, 6), torch.randn(1, 4))
    if shutil.which("cc"):
        done = run_main(files, "-s", "7,2")
        assert done.returncode == 0 and "out1: f32 9x4" in done.stdout
        done = run_main(files, "-s", "51,2")
        assert done.returncode == 1 and "at most 50" in done.stderr
        assert "dimension 0 of" in done.stderr


def test_sizes_that_depend(tmp_path):
    """Two inputs of one batch, one of twice that many rows."""

    class Model(torch.nn.Module):
        def forward(self, x, y, z):
            return (x + y).sum(1), z.reshape(x.shape[0], 2, -1)

    batch = torch.export.Dim("batch", min=2)
    files = polynest.export(
        Model(),
        (torch.randn(3, 4), torch.randn(3, 4), torch.randn(6, 5)),
        tmp_path / "m.so",
        dynamic_shapes=({0: batch}, {0: batch}, {0: 2 * batch}),
    )
    loaded = polynest.load(files.library)
    x, y, z = torch.randn(5, 4), torch.randn(5, 4), torch.randn(10, 5)
    got = loaded(x, y, z)
    agree(got[0], (x + y).sum(1), (x, y))
    assert torch.equal(got[1], z.reshape(5, 2, 5))
    for sizes in ((5, 4, 10), (5, 5, 9)):
        wrong = [
            torch.randn(n, 5 if i == 2 else 4) for i, n in enumerate(sizes)
        ]
        with pytest.raises(errors.ProgramAssertionError, match="must be"):
            loaded(*wrong)


def test_exported_program(tmp_path):
    model, inputs = small()
    program = torch.export.export(model, inputs)
    torch.export.save(program, tmp_path / "small.pt2")
    for name, p in (
        ("a", program),
        ("b", torch.export.load(tmp_path / "small.pt2")),
    ):
        files = polynest.export(p, path=tmp_path / f"{name}.so")
        with torch.no_grad():
            want = model(*inputs)
        agree(polynest.load(files.library)(*inputs).y, want["y"], inputs)
    with pytest.raises(errors.ArgumentError, match="has its args already"):
        polynest.export(program, inputs, tmp_path / "c.so")


class Counter(torch.nn.Module):
    """A cache that is written at a position, and a count."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(4, 3))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x, position):
        self.count.add_(1)
        self.cache.index_copy_(0, position, x)
        return self.cache.sum(0) * self.count


@needs_cc
def test_buffers_that_change(tmp_path):
    model = Counter()
    inputs = (torch.randn(1, 3), torch.tensor([2]))
    files = polynest.export(model, inputs, tmp_path / "counter.so")
    loaded, again = (polynest.load(files.library) for _ in range(2))
    for step in range(4):
        x, at = torch.randn(1, 3), torch.tensor([step])
        agree(loaded(x, at), model(x, at), (x,))
    agree(torch.as_tensor(loaded.buffers["cache"]), model.cache, ())
    assert int(loaded.buffers["count"]) == 4
    fresh = Counter()
    agree(again(*inputs), fresh(*inputs), inputs)
    inputs[0].numpy().tofile(tmp_path / "x")
    numpy.zeros(1, numpy.int64).tofile(tmp_path / "at")
    done = run_main(files, "-n", 3, "x", "at")
    want = (3 * inputs[0][0]).tolist()
    line = next(x for x in done.stdout.splitlines() if " 3 " in x)
    got = [float(n) for n in line.split()[3:]]
    assert numpy.allclose(got, want, rtol=1e-4)


def test_pool_of_the_caller(tmp_path):
    """What a library's code takes for a call is of the pool that gets it back."""
    model, inputs = small()
    files = polynest.export(model, inputs, tmp_path / "small.so")
    before = pool_bytes()
    loaded = polynest.load(files.library)
    loaded(*inputs)
    assert before < pool_bytes() < 1 << 40
    del loaded
    assert pool_bytes() == before


def test_inputs_that_are_written(tmp_path):
    class Model(torch.nn.Module):
        def forward(self, x, y):
            x.mul_(2.0)
            return x + y, y

    x, y = torch.randn(3), torch.randn(3)
    files = polynest.export(Model(), (x.clone(), y), tmp_path / "w.so")
    loaded = polynest.load(files.library)
    mine = x.clone()
    got = loaded(mine, y)
    assert torch.equal(mine, 2 * x) and torch.equal(got[0], 2 * x + y)
    assert got[1] is y
    plain = x.numpy().copy()
    loaded(plain, y.numpy())
    assert numpy.array_equal(plain, 2 * x.numpy())


def test_written_inputs_that_overlap(tmp_path):
    """Each is written once all is computed, which is not what a model does
    whose inputs share memory."""

    def write(x, y):
        x.add_(1)
        y.add_(1)
        return x + y

    vectors = polynest.load(
        polynest.export(
            write, (torch.zeros(4), torch.zeros(4)), tmp_path / "v.so"
        ).library
    )

    def read(x, y):
        x.add_(y)
        return x.sum() + y.sum()

    columns = polynest.load(
        polynest.export(
            read, (torch.zeros(4, 3), torch.zeros(4, 3)), tmp_path / "c.so"
        ).library
    )
    for make in (torch.zeros, numpy.zeros):
        base, table = make(6), make((4, 7))
        if make is numpy.zeros:
            base, table = base.astype("f4"), table.astype("f4")
        one = make((1,)).astype("f4") if make is numpy.zeros else make(1)
        spread = (
            one.expand(4)
            if make is torch.zeros
            else numpy.lib.stride_tricks.as_strided(one, (4,), (0,))
        )
        for loaded, inputs in (
            (vectors, (base[:4], base[2:])),
            (vectors, (base[2:], base[:4])),
            (vectors, (base[:4], base[:4])),
            (vectors, (base[:4],) * 2),
            (columns, (table[:, :3], table[:, 2:5])),
            (columns, (table[:, 3:6], table[:, 3:6])),
        ):
            with pytest.raises(errors.OverlapError, match="argument [01]"):
                loaded(*inputs)
            assert not base.any() and not table.any()
        with pytest.raises(errors.OverlapError, match="elements of it"):
            vectors(spread, base[:4])
        assert not base.any() and not spread.any()
        # Neighbours, and columns between each other's, share nothing.
        assert float(columns(table[:, :3], table[:, 3:6])) == 0
        assert float(columns(table[:, 0:6:2], table[:, 1:7:2])) == 0
        base = make(8) if make is torch.zeros else make(8).astype("f4")
        assert float(vectors(base[0:8:2], base[1:8:2]).sum()) == 8
        assert base.tolist() == [1.0] * 8
    # An input that is read alone may be given twice.
    plain = polynest.load(
        polynest.export(
            torch.add, (torch.ones(3), torch.ones(3)), tmp_path / "p.so"
        ).library
    )
    x = torch.ones(3)
    assert plain(x, x).tolist() == [2.0] * 3


def test_fixed_numbers(tmp_path):
    x = torch.ones(3)
    for i, (fixed, same, others) in enumerate((
        (float("nan"), -float("nan"), (0.0, 1)),
        (0.0, 0.0, (-0.0, 0, float("nan"), False)),
        (-0.0, -0.0, (0.0,)),
        (1.0, 1.0, (1, True)),
    )):
        loaded = polynest.load(
            polynest.export(
                lambda x, s: (x / s if s == 0.0 else x * s),
                (x, fixed),
                tmp_path / f"f{i}.so",
            ).library
        )
        want = x / torch.tensor(fixed) if fixed == 0 else x * fixed
        got = loaded(x, same)
        assert torch.equal(got.nan_to_num(), want.nan_to_num())
        assert torch.equal(got.isnan(), want.isnan())
        for other in others:
            with pytest.raises(errors.SignatureError, match="exported for"):
                loaded(x, other)


Pair = collections.namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    "function, inputs",
    [
        (lambda x: x, (torch.randn(2, 3),)),
        (lambda x: x.t(), (torch.randn(2, 3),)),
        (lambda x: (x.t() + 1, 5, "word", None), (torch.randn(2, 3),)),
        (lambda x: x + torch.arange(3), (torch.randn(2, 3).t().t(),)),
        (lambda x: x.exp(), (torch.randn(3, 2).t(),)),
        (lambda x: x.exp(), (torch.randn(1, 3).expand(2, 3),)),
        (lambda x: x & True, (torch.tensor([True, False]),)),
        (lambda x: x.bfloat16() @ x.bfloat16(), (torch.randn(4, 4),)),
        (lambda x: Pair(x + 1, [x, {"k": x * 2}]), (torch.randn(()),)),
        (lambda p: p["a"] + p["b"][0],
         ({"a": torch.ones(2), "b": [torch.ones(2)]},)),
        (lambda x: x.sum(), (torch.randn(0, 3),)),
    ],
)
def test_forms(tmp_path, function, inputs):
    if function(*inputs) is inputs[0]:
        with pytest.raises(errors.UnsupportedError, match="computes nothing"):
            polynest.export(function, inputs, tmp_path / "f.so")
        return
    files = polynest.export(function, inputs, tmp_path / "f.so")
    leaves = torch.utils._pytree.tree_leaves
    got = polynest.load(files.library)(*inputs)
    want = function(*inputs)
    if isinstance(want, Pair):
        got = (got.a, got.b[0], got.b[1].k)
    for g, w in zip(leaves(got), leaves(want), strict=True):
        if isinstance(w, torch.Tensor):
            agree(g, w, inputs)
        else:
            assert g == w


@pytest.mark.parametrize("name", ["BERT-base", "DLRM", "GNN by scatter"])
def test_whole_models(tmp_path, name):
    pytest.importorskip("transformers")
    sys.path.insert(0, str(ROOT / "test" / "benchmark"))
    import model_zoo

    subject = model_zoo.build(name, small=True)
    inputs = subject.inputs(2)
    files = polynest.export(
        torch.compile(subject.module), inputs, tmp_path / "model.so"
    )
    with torch.no_grad():
        want = subject.module(*inputs)
    got = polynest.load(files.library)(*inputs)
    off = (got.double() - want.double()).abs()
    assert bool((off <= bound(want, "f32", subject.terms)).all())


def test_op_left_to_eager(tmp_path):
    def function(x):
        y = torch.mode(x)[0] + 1
        return y, torch.rand_like(x)

    with pytest.raises(errors.UnsupportedError) as caught:
        polynest.export(function, (torch.randn(4),), tmp_path / "f.so")
    text = str(caught.value)
    assert "aten.mode.default of f32" in text and "rand" in text
    assert "test_export.py:" in text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change, kind, word",
    [
        ({"path": None}, errors.ArgumentError, "where the library goes"),
        ({"path": 3}, errors.ArgumentError, "path is a int"),
        ({"path": "x"}, errors.ArgumentError, "does not end in .so"),
        ({"path": "no/x.so"}, errors.FileError, "no folder"),
        ({"path": "a b.so"}, errors.ArgumentError, "may have letters"),
        ({"path": "dir.so"}, errors.FileError, "no regular file"),
        ({"path": "side.so"}, errors.FileError, "side.weights"),
        ({"args": None}, errors.ArgumentError, "args is a NoneType"),
        ({"args": torch.ones(2)}, errors.ArgumentError, "args is a Tensor"),
        ({"kwargs": 3}, errors.ArgumentError, "kwargs is a int"),
        ({"model": 3}, errors.ArgumentError, "model is a int"),
        ({"name": "a-b"}, errors.ArgumentError, "no C identifier"),
        ({"target": "cpu:nope"}, errors.NotFoundError, "nope"),
        ({"target": 3}, errors.ArgumentError, "target is a int"),
        ({"opt_level": "much"}, errors.ArgumentError, "much"),
        ({"numerics": "odd"}, errors.ArgumentError, "odd"),
        ({"disabled_passes": ["nope"]}, errors.ArgumentError, "nope"),
        ({"args": (torch.ones(2), 1)}, errors.UnsupportedError, "trace"),
        ({"model": lambda x: x.conj() + 1j}, errors.UnsupportedError,
         "complex"),
        ({"dynamic_shapes": {"y": 3}}, errors.UnsupportedError, "trace"),
    ],
)
def test_bad_arguments(tmp_path, monkeypatch, change, kind, word):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dir.so").mkdir()
    (tmp_path / "side.weights").mkdir()
    before = sorted(p.name for p in tmp_path.iterdir())
    given = {"model": torch.relu, "args": (torch.ones(2),), "path": "x.so"}
    given.update(change)
    with pytest.raises(kind, match=word):
        polynest.export(given.pop("model"), given.pop("args"),
                        given.pop("path"), **given)
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_dynamic_functions(tmp_path):
    """Functions say what varies as modules do: in order, or by name."""
    vary = {0: torch.export.Dim.DYNAMIC}

    def add(x, y, *, scale=1.0):
        return (x + y) * scale

    class Adder:
        def __call__(self, x, y):
            return x + y

        def method(self, x, y):
            return x + y

    a, b = torch.randn(5), torch.randn(5)
    for i, (function, shapes) in enumerate((
        (add, (vary, vary)),
        (add, [vary, vary]),
        (add, {"x": vary, "y": vary}),
        (lambda x, y: x + y, {"x": vary, "y": vary}),
        (Adder(), (vary, vary)),
        (Adder().method, {"x": vary, "y": vary}),
        (functools.partial(add, scale=1.0), (vary, vary)),
        (lambda *t: t[0] + t[1], ((vary, vary),)),
        (torch.add, (vary, vary)),
    )):
        path = tmp_path / f"f{i}.so"
        loaded = polynest.load(
            polynest.export(
                function, (torch.ones(4), torch.ones(4)), path,
                dynamic_shapes=shapes,
            ).library
        )
        agree(loaded(a, b), a + b, (a, b))
    loaded = polynest.load(
        polynest.export(
            add, (torch.ones(4),), tmp_path / "k.so",
            kwargs={"y": torch.ones(4), "scale": 2.0},
            dynamic_shapes={"x": vary, "y": vary, "scale": None},
        ).library
    )
    agree(loaded(a, y=b, scale=2.0), (a + b) * 2, (a, b))


@pytest.mark.parametrize(
    "stem",
    ["net_init", "net_problem", "net_packed", "-net", "_init",
     # Names that the program has itself.
     "fail", "values", "memref", "COUNT", "data", "main"],
)
def test_odd_names(tmp_path, stem):
    inputs = (torch.randn(3, 4),)
    model = torch.nn.Linear(4, 5).eval()
    files = polynest.export(model, inputs, tmp_path / f"{stem}.so")
    with torch.no_grad():
        agree(polynest.load(files.library)(*inputs), model(*inputs), inputs)
    if not shutil.which("cc"):
        return
    # As the head of the program says.
    head = files.main.read_text()
    command = next(x for x in head.splitlines() if " cc " in x)
    command = command.strip(" *").replace(f"-o {stem}_main", "-o main")
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    assert run_main(files).returncode == 0  # with warnings as errors
    done = subprocess.run(
        ["./main"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0 and "out0: f32 3x5" in done.stdout


def test_files_that_cannot_be_written(tmp_path, monkeypatch):
    from polynest import torch_export

    model = torch.nn.Linear(4, 5).eval()
    inputs = (torch.ones(3, 4),)
    with pytest.raises(errors.FileError, match="x.so"):
        polynest.export(model, inputs, tmp_path / f"{'x' * 300}.so")

    def fail(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for owner, name in (
        (torch_export.tempfile, "mkdtemp"),
        (torch_export, "_bytes"),
        (torch_export, "_write_weights"),
        (torch_export.os, "replace"),
        (torch_export.os, "chmod"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, fail)
            with pytest.raises(errors.FileError, match="f.*No space"):
                polynest.export(model, inputs, tmp_path / "f.so")
        assert list(tmp_path.iterdir()) == []


def test_reserved_name(tmp_path):
    files = polynest.export(torch.sin, (torch.ones(2),), tmp_path / "sin.so")
    assert "entry_sin_init" in files.header.read_text()
    x = torch.randn(2)
    agree(polynest.load(files.library)(x), torch.sin(x), (x,))
    if shutil.which("cc"):
        assert run_main(files).returncode == 0


def _foreign_target():
    """A known x86 target that this machine cannot run."""
    for name in polynest.known_targets():
        with polynest.Target(name) as target:
            text = target.text("file")
        if "x86_64" not in text:
            continue
        try:
            polynest.compile(
                "func.func @f(%x: f32) -> tensor<f32> {\n"
                "  %t = tensor.from_elements %x : tensor<f32>\n"
                "  return %t : tensor<f32>\n}\n",
                target=name, cache=False,
            )
        except errors.TargetError:
            return name
    pytest.skip("this machine runs all known targets")


def test_targets(tmp_path):
    x = torch.randn(5, 3)
    files = polynest.export(
        torch.exp, (x,), tmp_path / "h.so", target="cpu:haswell"
    )
    loaded = polynest.load(files.library)
    assert loaded.target == "cpu:haswell"
    agree(loaded(x), x.exp(), (x,))
    wide = polynest.export(
        torch.exp, (x,), tmp_path / "w.so", target=_foreign_target()
    )
    with pytest.raises(errors.TargetError, match="processor with .* lacks"):
        polynest.load(wide.library)
    if shutil.which("cc"):
        done = run_main(wide)
        assert done.returncode == 1 and "which this one lacks" in done.stderr


def test_wrong_arguments(small_files):
    loaded = polynest.load(small_files.library)
    for arguments, word in (
        ((), "must be a tuple of 1"),
        ((torch.randn(4, 3, 9, 8),), "argument 0 has size 8 in dimension 3"),
        ((torch.randn(4, 3, 9, 7).double(),), "argument 0 has element type"),
        ((torch.randn(4, 3),), "argument 0 has rank 2"),
        (("word",), "argument 0 is a str"),
    ):
        with pytest.raises(errors.SignatureError, match=word):
            loaded(*arguments)
    with loaded:
        pass
    with pytest.raises(errors.ArgumentError, match="closed"):
        loaded(small()[1][0])


def test_damaged_files(small_files, tmp_path):
    library = shutil.copy(small_files.library, tmp_path / "small.so")
    weights = tmp_path / "small.weights"
    with pytest.raises(
        errors.FileError, match="small.weights.*Executable.load takes"
    ):
        polynest.load(library)
    data = small_files.weights.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    bad = dict(header)
    bad["conv.weight"] = {**header["conv.weight"], "shape": [8, 3, 3, 4]}
    none = dict(header, __metadata__={})
    metadata = header["__metadata__"]
    unsummed = dict(header, __metadata__={"polynest": metadata["polynest"]})
    swapped = dict(header)
    swapped["share"], swapped["last.bias"] = (
        header["last.bias"], header["share"],
    )
    for i, damaged in enumerate((
        b"",
        data[:100],
        data[:-1],
        b"\0" * 64,
        (2**63).to_bytes(8, "little") + data[8:],
        *(
            len(t).to_bytes(8, "little") + t + data[8 + length :]
            for t in (json.dumps(h).encode() for h in (bad, none, unsummed, swapped))
        ),
    )):
        weights.write_bytes(damaged)
        with pytest.raises(errors.CorruptError, match="small"):
            polynest.load(library)
            raise AssertionError(i)
    other = polynest.export(
        torch.relu, (torch.ones(2),), tmp_path / "other.so"
    )
    with pytest.raises(errors.CorruptError, match="another library"):
        polynest.load(library, weights=other.weights)
    with pytest.raises(errors.FileError, match="no library"):
        polynest.load(tmp_path / "none.so")
    with pytest.raises(errors.ArgumentError, match="path is a int"):
        polynest.load(3)


def test_any_byte_that_changes(small_files, tmp_path):
    """It is found when the file is loaded, or nothing of it was read."""
    library = shutil.copy(small_files.library, tmp_path / "small.so")
    weights = tmp_path / "small.weights"
    data = small_files.weights.read_bytes()
    length = int.from_bytes(data[:8], "little")
    x = small()[1][0]
    want = polynest.load(small_files.library)(x).y
    header = json.loads(data[8 : 8 + length])
    ends = [
        place
        for n, t in header.items() if n[0] != "_"
        for place in (t["data_offsets"][0], t["data_offsets"][1] - 1)
    ]
    places = [8 + length + p for p in ends] + list(range(0, 8 + length, 41))
    harmless = 0
    for k, place in enumerate(places):
        changed = bytearray(data)
        changed[place] ^= (0x40, 0x01, 0x80)[k % 3]
        weights.write_bytes(changed)
        try:
            loaded = polynest.load(library)
        except (errors.CorruptError, errors.VersionError):
            continue
        harmless += 1
        assert torch.equal(loaded(x).y, want)
        assert place < 8 + length
    assert harmless < len(places) / 4


def _with_description(data, change):
    """A weights file with a description that was changed and summed anew."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    description = json.loads(header["__metadata__"]["polynest"])
    change(description)
    text = json.dumps(description)
    header["__metadata__"] = {
        "polynest": text, "polynest.sum": exported.sum_of_text(text),
    }
    head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + data[8 + length :]


@pytest.mark.parametrize(
    "change",
    [
        {"plan": [["resulv", 0], ["result", 1]]},
        {"plan": [["result", 2], ["result", 1]]},
        {"plan": [["result", -1], ["result", 1]]},
        {"plan": [["result", True], ["result", 1]]},
        {"plan": [["input", 1], ["result", 1]]},
        {"plan": [["size", 0], ["result", 1]]},
        {"plan": [["tensor", "none"], ["result", 1]]},
        {"plan": [["value", [1]], ["result", 1]]},
        {"plan": [["value"], ["result", 1]]},
        {"plan": [["result", 1]]},
        {"plan": 3},
        {"writes": [["inpuv", 0, 0]]},
        {"writes": [["input", 1, 0]]},
        {"writes": [["buffer", "none", 0]]},
        {"writes": [["input", 0, 2]]},
        {"fixed": {"7": 1}},
        {"fixed": {"x": 1}},
        {"returns": ["set", [None, None]]},
        {"returns": ["dict", [None, None]]},
        {"call": ["tuple", 3]},
        {"constants": []},
        {"arguments": []},
        {"sums": {}},
        {"results": [{}, {}]},
    ],
)
def test_descriptions_that_are_wrong(small_files, tmp_path, change):
    data = small_files.weights.read_bytes()
    weights = tmp_path / "w.weights"
    weights.write_bytes(_with_description(data, lambda d: None))
    polynest.load(small_files.library, weights=weights)
    weights.write_bytes(_with_description(data, lambda d: d.update(change)))
    with pytest.raises(errors.CorruptError, match="w.weights"):
        polynest.load(small_files.library, weights=weights)


def test_formats(small_files, tmp_path):
    data = small_files.weights.read_bytes()
    weights = tmp_path / "w.weights"
    weights.write_bytes(_with_description(data, lambda d: d.update(format=1)))
    with pytest.raises(errors.VersionError, match="has format 1"):
        polynest.load(small_files.library, weights=weights)


def test_no_library(tmp_path):
    """Said before its weights are missed."""
    path = tmp_path / "text.so"
    path.write_text("no library")
    with pytest.raises(polynest.PolynestError, match="text.so") as caught:
        polynest.load(path)
    assert "weights" not in str(caught.value)


def test_names_of_tensors(tmp_path):
    """Those that the file, or the export itself, has a use for."""

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name in ("__metadata__", "__metadata___", "polynest"):
                self.register_buffer(name, torch.randn(3))
            self.constant = torch.nn.ParameterList(
                torch.randn(3) for _ in range(6)
            )

        def forward(self, x):
            self.__metadata__.add_(1)
            x = x * self.__metadata__ + getattr(self, "__metadata___")
            for p in self.constant:
                x = x * p
            return x * torch.tensor([2.0, 3.0, 4.0]) + self.polynest

    model = Model().eval()
    inputs = (torch.randn(3),)
    loaded = polynest.load(
        polynest.export(model, inputs, tmp_path / "n.so").library
    )
    for _ in range(2):
        got = loaded(*inputs)
        with torch.no_grad():
            agree(got, model(*inputs), inputs)


def test_again_over_the_old(small_files, tmp_path):
    """A library that is in use stays what it is when another takes its
    place."""
    path = tmp_path / "f.so"
    first = polynest.load(
        polynest.export(torch.sin, (torch.ones(3),), path).library
    )
    second = polynest.load(
        polynest.export(torch.cos, (torch.ones(3),), path).library
    )
    x = torch.randn(3)
    agree(first(x), x.sin(), (x,))
    agree(second(x), x.cos(), (x,))


def test_threads(small_files):
    loaded = polynest.load(small_files.library)
    x = small()[1][0]
    want, found = loaded(x).y, []

    def work(_):
        found.extend(loaded(x).y for _ in range(20))

    in_threads(4, work)
    assert len(found) == 80 and all(torch.equal(f, want) for f in found)


def test_assertions_are_inserted_as_text():
    text = (
        "module {\n  func.func @f(%arg0: tensor<?x3xf32>, %arg1: tensor<i64>)"
        " -> tensor<?xf32> {\n    return\n  }\n}\n"
    )
    place, number = ["place", 0, 0], ["number", 4]
    tree = ["and", ["==", ["%", place, number], ["number", 0]],
            ["not", ["<", ["place", 1, None], ["max", number, place]]]]
    made = exported.insert_assertions(
        text, "f", [exported.Assertion(tree, 'say "what"')]
    )
    lines = [x.strip() for x in made.splitlines()[2:]]
    assert lines[0] == "%polynest_0 = arith.constant 0 : index"
    assert lines[1] == (
        "%polynest_1 = tensor.dim %arg0, %polynest_0 : tensor<?x3xf32>"
    )
    assert any("tensor.extract %arg1[] : tensor<i64>" in x for x in lines)
    assert any(
        x.startswith("cf.assert") and r"say \"what\"" in x for x in lines
    )
    assert exported.insert_assertions(text, "f", []) == text
    with pytest.raises(errors.InternalError):
        exported.insert_assertions(
            text, "g", [exported.Assertion(tree, "")]
        )
