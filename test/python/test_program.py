# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compile, lower, handles, errors and calls with arrays."""

import gc
import itertools
import subprocess
import sys

import numpy as np
import pytest
from conftest import in_threads, pool_bytes

import polynest
from polynest import _capi, env, errors
from polynest.handles import Context, Executable, Module, Target

SCALAR = """
func.func @twice(%x: tensor<f64>) -> tensor<f64> {
  %e = tensor.empty() : tensor<f64>
  %r = linalg.generic {indexing_maps = [affine_map<() -> ()>,
      affine_map<() -> ()>], iterator_types = []}
      ins(%x : tensor<f64>) outs(%e : tensor<f64>) {
  ^bb0(%a: f64, %o: f64):
    %s = arith.addf %a, %a : f64
    linalg.yield %s : f64
  } -> tensor<f64>
  return %r : tensor<f64>
}
"""

DYNAMIC = """
#map = affine_map<(d0, d1) -> (d0, d1)>
func.func @neg(%x: tensor<?x7xf32>) -> tensor<?x7xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x7xf32>
  %e = tensor.empty(%n) : tensor<?x7xf32>
  %r = linalg.generic {indexing_maps = [#map, #map],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x7xf32>) outs(%e : tensor<?x7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  } -> tensor<?x7xf32>
  return %r : tensor<?x7xf32>
}
"""


@pytest.fixture
def arrays():
    generator = np.random.default_rng(5)
    return [
        generator.standard_normal((5, 7)).astype(np.float32) for _ in range(2)
    ]


def expected(x, y):
    p = x * y
    return p, p.astype(np.float64).sum(1)


def check(results, x, y):
    p, s = expected(x, y)
    np.testing.assert_array_equal(results[0], p)
    np.testing.assert_allclose(results[1], s, rtol=1e-5, atol=1e-5)


def test_text(mlir, arrays):
    program = polynest.compile(mlir)
    assert program.name == "scale"
    check(program(*arrays), *arrays)


def test_path(mlir, arrays, tmp_path):
    path = tmp_path / "scale.mlir"
    path.write_text(mlir)
    check(polynest.compile(path)(*arrays), *arrays)
    check(polynest.compile(str(path))(*arrays), *arrays)
    check(polynest.compile(mlir.encode())(*arrays), *arrays)


def test_missing_file(tmp_path):
    with pytest.raises((errors.FileError, errors.NotFoundError)) as caught:
        polynest.compile(tmp_path / "none.mlir")
    assert "none.mlir" in str(caught.value)


@pytest.mark.parametrize("opt_level", ["plain", "default"])
@pytest.mark.parametrize("numerics", ["default", "strict"])
@pytest.mark.parametrize("verify", [True, False])
def test_options(mlir, arrays, opt_level, numerics, verify):
    program = polynest.compile(
        mlir, opt_level=opt_level, numerics=numerics, verify=verify
    )
    check(program(*arrays), *arrays)


@pytest.mark.parametrize(
    "options, word",
    [
        ({"opt_level": "fast"}, "opt_level"),
        ({"numerics": "loose"}, "numerics"),
        ({"results": "pickle"}, "results"),
        ({"disabled_passes": ["no-such-pass"]}, "no-such-pass"),
        ({"target": "cpu:abacus"}, "abacus"),
        ({"entry": "nothing"}, "scale"),
    ],
)
def test_bad_options(mlir, options, word):
    with pytest.raises(errors.PolynestError) as caught:
        polynest.compile(mlir, **options)
    assert word in str(caught.value)


@pytest.mark.parametrize("results", ["auto", "pool", "numpy"])
def test_results_numpy(mlir, arrays, results):
    program = polynest.compile(mlir, results=results)
    found = program(*arrays)
    assert all(type(r) is np.ndarray for r in found)
    assert found[0].flags.c_contiguous
    check(found, *arrays)


@pytest.mark.parametrize("results", ["auto", "pool", "torch"])
def test_results_torch(mlir, arrays, results):
    torch = pytest.importorskip("torch")
    program = polynest.compile(mlir, results=results)
    found = program(*map(torch.from_numpy, arrays))
    assert all(isinstance(r, torch.Tensor) for r in found)
    check([r.numpy() for r in found], *arrays)
    mixed = program(arrays[0], torch.from_numpy(arrays[1]))
    assert isinstance(mixed[0], torch.Tensor)


def test_pool_gives_blocks_back(mlir, arrays):
    program = polynest.compile(mlir, results="pool")
    program(*arrays)
    before = pool_bytes()
    kept = [program(*arrays) for _ in range(10)]
    assert pool_bytes() > before
    check(kept[3], *arrays)
    del kept
    assert pool_bytes() == before


def test_strided_inputs(mlir):
    program = polynest.compile(mlir)
    wide = np.arange(10 * 14, dtype=np.float32).reshape(10, 14)
    x = wide[::2, ::2]
    y = np.asfortranarray(np.arange(35, dtype=np.float32).reshape(5, 7))
    check(program(x, y), x, y)
    flipped = x[::-1, ::-1]
    check(program(flipped, y), flipped, y)
    row = np.broadcast_to(np.arange(7, dtype=np.float32), (5, 7))
    check(program(row, y), row, y)


def test_strided_torch(mlir):
    torch = pytest.importorskip("torch")
    program = polynest.compile(mlir)
    base = torch.arange(200.0)
    x = base[3 : 3 + 35].view(7, 5).t()
    y = base.as_strided((5, 7), (0, 2), 11)
    check([r.numpy() for r in program(x, y)], x.numpy(), y.numpy())


def test_inputs_may_be_the_same(mlir, arrays):
    x = arrays[0]
    check(polynest.compile(mlir)(x, x), x, x)


def test_scalar():
    program = polynest.compile(SCALAR)
    result = program(np.array(2.5))
    assert result.shape == () and result == 5.0


def test_dynamic_sizes():
    program = polynest.compile(DYNAMIC)
    for n in (1, 2, 3, 100, 0):
        x = np.arange(n * 7, dtype=np.float32).reshape(n, 7)
        np.testing.assert_array_equal(program(x), -x)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda x, y: (x,), "takes 2 arguments, 1"),
        (lambda x, y: (x, y, x), "takes 2 arguments, 3"),
        (lambda x, y: (x, y.astype(np.float64)), "argument 1.*float64.*f32"),
        (lambda x, y: (x, y.ravel()), "argument 1.*rank 1, not 2"),
        (lambda x, y: (x, y[:, :6]), "argument 1.*size 6 in dimension 1"),
        (lambda x, y: (x, [1.0]), "list"),
        (lambda x, y: (x, 3), "number"),
        (lambda x, y: (x, y.astype(">f4")), "not native"),
    ],
)
def test_call_errors(mlir, arrays, make, message):
    program = polynest.compile(mlir)
    with pytest.raises(errors.SignatureError, match=message) as caught:
        program(*make(*arrays))
    assert isinstance(caught.value, TypeError)
    assert caught.value.code == "signature"
    check(program(*arrays), *arrays)


@pytest.mark.parametrize(
    "text",
    [
        "func.func @f( {\n",
        "module {\n",
        "func.func @f(%x: tensor<4xf32>) -> tensor<5xf32> {\n"
        "  return %x : tensor<4xf32>\n}",
        'func.func @f() { "no.such"() : () -> ()\n return\n}',
        "\x00\x01 { \n",
        "{",
    ],
)
def test_broken_text(text):
    with pytest.raises(errors.PolynestError) as caught:
        polynest.compile(text)
    error = caught.value
    assert error.code in ("parse", "verify", "unsupported", "not-found")
    if error.code == "parse":
        assert error.diagnostics and error.location[1] >= 1
        assert error.location[0] in str(error)


def test_every_stage(mlir):
    for stage in ("input", "s1", "s2", "s3", "s4", "s5"):
        text = polynest.lower(mlir, stage)
        assert "func" in text
        assert polynest.lower(text, stage)
    with pytest.raises(errors.ArgumentError, match="s9"):
        polynest.lower(mlir, "s9")


def test_later_stage_compiles(mlir, arrays):
    program = polynest.compile(polynest.lower(mlir, "s2"))
    check(program(*arrays), *arrays)


def test_timing(mlir):
    timing = polynest.compile(mlir).timing
    assert timing["total"] > 0
    assert set(timing) >= {"s1", "s2", "s3", "codegen", "link"}


def test_remarks(mlir):
    found = []
    polynest.compile(mlir, remark=lambda *r: found.append(r))
    for flag, kind, location, values in found:
        assert flag and kind in _capi.REMARK_KINDS
        assert isinstance(location, str) and isinstance(values, dict)


def test_targets():
    names = polynest.known_targets()
    assert names
    with Target(names[0]) as target:
        assert names[0].split(":")[-1] in target.text()
        file_text = target.text("file")
    assert file_text


def test_library(mlir, arrays, tmp_path):
    path = tmp_path / "libscale.so"
    header = tmp_path / "scale.h"
    with Context() as context, Target() as target:
        with Module(context, mlir) as module:
            module.library(target, path, header)
    assert "scale" in header.read_text()
    program = polynest.Program(Executable.load(path))
    check(program(*arrays), *arrays)


def test_closed_handles(mlir, arrays):
    program = polynest.compile(mlir)
    program.executable.close()
    program.executable.close()
    with pytest.raises(errors.ArgumentError, match="closed"):
        program(*arrays)
    context = Context()
    context.close()
    with pytest.raises(errors.ArgumentError, match="closed"):
        Module(context, mlir)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_any_order_of_closing(mlir, arrays, order):
    context = Context()
    target = Target()
    module = Module(context, mlir)
    executable = module.executable(target)
    handles = [context, target, module, executable]
    program = polynest.Program(executable)
    for i in order:
        if not executable.closed:
            check(program(*arrays), *arrays)
        handles[i].close()


def test_any_order_of_collection(mlir):
    for order in itertools.permutations(range(3)):
        context = Context()
        module = Module(context, mlir)
        handles = [context, module, module.clone()]
        del context, module
        for i in order:
            handles[i] = None
            gc.collect()


def test_many_threads(mlir, arrays):
    program = polynest.compile(mlir)

    def work(seed):
        generator = np.random.default_rng(seed)
        for _ in range(200):
            x, y = generator.standard_normal((2, 5, 7), np.float32)
            check(program(x, y), x, y)

    in_threads(8, work)


def test_compile_in_threads(mlir, arrays):
    programs = [None] * 4

    def work(i):
        programs[i] = polynest.compile(mlir)

    in_threads(4, work)
    for program in programs:
        check(program(*arrays), *arrays)


def test_thread_count():
    before = polynest.thread_count()
    polynest.set_thread_count(1)
    assert polynest.thread_count() == 1
    polynest.set_thread_count(0)
    assert polynest.thread_count() == before
    for count in (-1, 2**31, 2**40, -(2**40)):
        with pytest.raises(errors.ArgumentError):
            polynest.set_thread_count(count)


def test_wrong_kinds_of_arguments(tmp_path):
    with pytest.raises(errors.ArgumentError, match="target is a int"):
        polynest.compile(SCALAR, target=5)
    with pytest.raises(errors.ArgumentError, match="zero byte"):
        polynest.compile(f"{tmp_path}/a\0b.mlir")


def test_missing_library():
    code = (
        "import polynest\n"
        "try:\n"
        "    polynest.thread_count()\n"
        "except polynest.PolynestError as e:\n"
        "    print(type(e).__name__, '/no/such/lib.so' in str(e))\n"
    )
    with env.scope(POLYNEST_LIBRARY="/no/such/lib.so"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=env.child_environment(
                str(__import__("conftest").ROOT / "python")
            ),
        )
    assert done.stdout.split() == ["LibraryNotFoundError", "True"], done.stderr


def test_import_is_light():
    code = (
        "import sys, polynest\n"
        "print([m for m in ('torch', 'numpy', 'jax', 'polynest._capi')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=env.child_environment(str(__import__("conftest").ROOT / "python")),
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_environment():
    with env.scope(POLYNEST_STRICT="1"):
        assert env.strict()
        with env.scope(POLYNEST_STRICT=None):
            assert not env.strict()
        assert env.strict()
    with env.scope(POLYNEST_STRICT="maybe"):
        with pytest.raises(errors.ArgumentError, match="maybe"):
            env.strict()
    for bad in ("0", "-1", "soon", "nan"):
        with env.scope(POLYNEST_LOWERING_TIMEOUT=bad):
            with pytest.raises(errors.ArgumentError):
                env.lowering_timeout_s()


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="nonsense"):
        polynest.nonsense
    assert "compile" in dir(polynest)


# -- plain numbers -------------------------------------------------------------

NUMBER = """
func.func @same(%x: {0}) -> {0} {{
  return %x : {0}
}}
"""


@pytest.mark.parametrize(
    "element, number",
    [
        ("f32", 0.5),
        ("f64", -3),
        ("f16", float("inf")),
        ("i8", -128),
        ("i64", 2**63 - 1),
        ("i1", True),
        ("tensor<f32>", 1e30),
    ],
)
def test_numbers_serve_as_single_elements(element, number):
    result = polynest.compile(NUMBER.format(element))(number)
    expected = np.asarray(result).dtype.type(number)
    assert result.shape == () and result == expected


@pytest.mark.parametrize(
    "element, number, why",
    [
        ("i8", 128, "i8 does not hold"),
        ("i8", 1.0, "i8 does not hold"),
        ("i64", 2**63, "i64 does not hold"),
        ("i1", 1, "bool does not hold"),
        ("tensor<1xf32>", 1.0, "not an array of rank 1"),
    ],
)
def test_numbers_that_lose_something_are_refused(element, number, why):
    program = polynest.compile(NUMBER.format(element))
    with pytest.raises(errors.SignatureError, match=why):
        program(number)


def test_too_many_numbers_are_refused():
    with pytest.raises(errors.SignatureError, match="takes 1 arguments"):
        polynest.compile(NUMBER.format("f32"))(1.0, np.float32(2))


# -- constants ------------------------------------------------------------------

WEIGHTED = """
func.func @f(%w: tensor<6x5xf32> {polynest.constant}, %x: tensor<?x6xf32>,
             %b: tensor<5xf32> {polynest.constant}) -> tensor<?x5xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x6xf32>
  %e = tensor.empty(%n) : tensor<?x5xf32>
  %i = linalg.broadcast ins(%b : tensor<5xf32>) outs(%e : tensor<?x5xf32>)
    dimensions = [0]
  %y = linalg.matmul ins(%x, %w : tensor<?x6xf32>, tensor<6x5xf32>)
    outs(%i : tensor<?x5xf32>) -> tensor<?x5xf32>
  return %y : tensor<?x5xf32>
}
"""


def test_bound_constants():
    program = polynest.compile(WEIGHTED)
    rng = np.random.default_rng(5)
    w = rng.standard_normal((6, 5)).astype(np.float32)
    b = rng.standard_normal(5).astype(np.float32)
    bound = program.bind(w, b)
    for n in (1, 3, 0):
        x = rng.standard_normal((n, 6)).astype(np.float32)
        np.testing.assert_allclose(bound(x), x @ w + b, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(bound(x), program(w, x, b))
    # Strided constants are copied, and held for as long as calls read them.
    other = program.bind(np.asfortranarray(w), np.repeat(b, 2)[::2])
    del w, b
    gc.collect()
    np.testing.assert_array_equal(other(x), bound(x))


def test_wrong_constants():
    program = polynest.compile(WEIGHTED)
    w, b = np.ones((6, 5), np.float32), np.ones(5, np.float32)
    x = np.ones((2, 6), np.float32)
    with pytest.raises(errors.SignatureError, match="has 2 constants, 1"):
        program.bind(w)
    with pytest.raises(errors.SignatureError, match="argument 2 .* rank 2"):
        program.bind(w, w)
    bound = program.bind(w, b)
    with pytest.raises(errors.SignatureError, match="takes 1 arguments"):
        bound(w, x, b)
    with pytest.raises(errors.SignatureError, match="element type float64"):
        bound(x.astype(np.float64))
    with pytest.raises(errors.SignatureError, match="has 0 constants, 1"):
        polynest.compile(SCALAR).bind(x)


def test_marked_constants():
    with Context() as context, Module(context, SCALAR) as module:
        module.mark_constant(0)
        with pytest.raises(errors.ArgumentError, match="out of range"):
            module.mark_constant(1)
        with pytest.raises(errors.NotFoundError, match="no public function"):
            module.mark_constant(0, "other")
        with Target("host") as target:
            program = polynest.Program(module.executable(target))
    assert program.bind(2.5)() == 5.0


WRITES = """
func.func @f(%x: memref<4xf32>, %y: memref<4xf32>) {
  affine.for %i = 0 to 4 {
    %0 = affine.load %x[%i] : memref<4xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %y[%i] : memref<4xf32>
  }
  return
}
"""


def test_what_is_written_is_writable():
    program = polynest.compile(WRITES)
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    x.setflags(write=False)
    assert program(x, y) is None
    np.testing.assert_array_equal(y, x + x)
    y.setflags(write=False)
    with pytest.raises(errors.SignatureError, match="argument 1 .* read-only"):
        program(x, y)
    data = b"\0" * 16
    with pytest.raises(errors.SignatureError, match="read-only"):
        program(x, np.frombuffer(data, np.float32))
    assert data == b"\0" * 16
    import torch

    z = torch._neg_view(torch.zeros(4))
    with pytest.raises(errors.SignatureError, match="argument 1 .* negates"):
        program(x, z)


def test_tensors_with_the_negative_bit():
    import torch

    # Large enough that memory that is given back is used again at once.
    program = polynest.compile("""
func.func @f(%a: tensor<20x400xf32>) -> tensor<20x400xf32> {
  %y = arith.addf %a, %a : tensor<20x400xf32>
  return %y : tensor<20x400xf32>
}
""", results="torch")
    ones = torch.ones(20, 400)
    for x in (torch._neg_view(ones), torch.complex(ones, ones).conj().imag):
        assert x.is_neg()
        assert torch.equal(program(x), torch.full((20, 400), -2.0))
    assert torch.equal(ones, torch.ones(20, 400))


# -- calls that were seen before ---------------------------------------------------

_ADD = """
func.func @f(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %r = arith.addf %a, %b : tensor<?xf32>
  return %r : tensor<?xf32>
}
"""


def test_calls_of_changing_kinds():
    """Each kind twice and more, so that the quick way is taken, and left."""
    torch = pytest.importorskip("torch")
    program = polynest.compile(_ADD)
    x = np.arange(24, dtype=np.float32)
    t = torch.arange(24, dtype=torch.float32)
    negated = torch.complex(t, t + 1).conj().imag
    assert negated.is_neg()
    arguments = [
        (x, x[::-1]),
        (x[:7], x[7:14]),
        (x[::2], x[1::2]),
        (x[:12], x[12:]),
        (t[:12], t[12:]),
        (t, t.flip(0)),
        (t[:7], t[7:14]),
        (t[::2], t[1::2]),
        (t[:12], t[12:]),
        (t[::2], t[1::2]),
        (t, negated),
        (negated, t),
        (t, x),
        (x, t),
        (torch.nn.Parameter(t), t),
        (x[:0], x[:0]),
        (t[:0], t[:0]),
        (t[:1], t[3:4]),
    ]
    for _ in range(2):
        for a, b in arguments:
            for _ in range(3):
                have = program(a, b)
                plain = [
                    v.detach().resolve_neg().numpy()
                    if torch.is_tensor(v)
                    else v
                    for v in (a, b)
                ]
                np.testing.assert_array_equal(np.asarray(have), sum(plain))


def test_quick_calls_are_checked():
    torch = pytest.importorskip("torch")
    program = polynest.compile(_ADD)
    t = torch.randn(6)
    for a in (t, t.numpy()):
        for _ in range(3):
            program(a, a)
        wrong = [
            (a,),
            (a, a, a),
            (a, t.double()),
            (a, t.numpy().astype(np.int32)),
            (a, t.reshape(2, 3)),
            (a, "text"),
            (a, t.to_sparse()),
            (a, torch.empty(6, device="meta")),
            (a, t.numpy().astype(">f4")),
        ]
        for arguments in wrong:
            with pytest.raises((errors.PolynestError, RuntimeError)):
                program(*arguments)
        np.testing.assert_array_equal(
            np.asarray(program(a, a)), np.asarray(a) * 2
        )
    program.executable.close()
    with pytest.raises(errors.ArgumentError, match="closed"):
        program(t, t)


def test_quick_calls_report_assertions():
    program = polynest.compile(
        """
func.func @f(%a: tensor<i32>) -> tensor<i32> {
  %x = tensor.extract %a[] : tensor<i32>
  %z = arith.constant 0 : i32
  %ok = arith.cmpi sge, %x, %z : i32
  cf.assert %ok, "negative"
  return %a : tensor<i32>
}
"""
    )
    for value in (1, 2, 3, -1, 4, -2):
        x = np.array(value, np.int32)
        if value < 0:
            with pytest.raises(errors.ProgramAssertionError, match="negative"):
                program(x)
        else:
            assert program(x) == value


def test_quick_calls_keep_nothing():
    import weakref

    program = polynest.compile(_ADD)
    x = np.ones(3, np.float32)
    for _ in range(3):
        program(x, x)
    gone = weakref.ref(program.executable)
    gc.disable()
    try:
        del program
        assert gone() is None
    finally:
        gc.enable()


def test_quick_calls_of_threads():
    """Calls that overlap have blocks of their own."""
    from concurrent.futures import ThreadPoolExecutor

    program = polynest.compile(_ADD)
    arrays = [np.full(1000, i, np.float32) for i in range(8)]

    def run(i):
        for _ in range(300):
            assert (program(arrays[i], arrays[i]) == 2 * i).all()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(8)))


def test_addresses_of_arrays():
    from polynest import _capi

    for a in (np.zeros(3), np.zeros((2, 3))[:, ::2], np.zeros(0),
              np.arange(5)[::-1], np.frombuffer(b"abcd", np.int8)):
        assert _capi.array_address(a) == a.__array_interface__["data"][0]
