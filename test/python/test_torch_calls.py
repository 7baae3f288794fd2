# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls in C (lib/Python/Calls.c) against those in Python."""

import gc
import sys

import pytest

torch = pytest.importorskip("torch")

from conftest import in_threads, pool_bytes  # noqa: E402

from polynest import _capi, errors, torch_backend  # noqa: E402

pytestmark = pytest.mark.skipif(
    _capi.calls_module() is None, reason="built without Python's headers"
)


def built(function, *arguments):
    """What the backend makes of the function's graph."""
    seen = []

    def backend(graph, inputs):
        seen.append(
            torch_backend.polynest(graph, inputs, options={"cache": False})
        )
        return seen[0]

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(function, backend=backend, dynamic=False)(*arguments)
    (call,) = seen
    return call


def built_in_c(function, *arguments):
    call = built(function, *arguments)
    assert type(call).__name__ == "builtin_function_or_method"
    return call


@pytest.mark.parametrize(
    "sizes", [(0, 3), (1,), (), (7, 5), (300, 301), (64, 1024)], ids=str
)
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool], ids=str
)
def test_results_are_those_of_eager(sizes, dtype):
    generator = torch.Generator().manual_seed(3)
    x = torch.randint(0, 9, sizes, generator=generator).to(dtype)
    y = torch.randint(0, 9, sizes, generator=generator).to(dtype)

    def function(x, y):
        return torch.where(x > y, x, y), x != y

    call = built(function, x, y)
    for _ in range(3):
        for got, want in zip(call(x, y), function(x, y), strict=True):
            assert got.dtype == want.dtype and torch.equal(got, want)
            assert got.is_contiguous()


def test_other_strides_and_types_are_taken_all_the_same():
    x, y = torch.randn(6, 10), torch.randn(6, 10)
    call = built_in_c(lambda x, y: x * 2 - y, x, y)
    want = x * 2 - y
    turned = y.t().contiguous().t()
    shifted = torch.randn(61)[1:].view(6, 10).copy_(x)

    class Derived(torch.Tensor):
        pass

    for a, b in (
        (x, turned),
        (shifted, y),
        (torch.nn.Parameter(x), y),
        (x.as_subclass(Derived), y),
    ):
        with torch.no_grad():
            (got,) = call(a, b)
        assert torch.equal(torch.Tensor(got), want)
    with pytest.raises(IndexError):
        call(x)
    with pytest.raises(AttributeError):
        call(x, 1)


def test_results_keep_their_memory():
    # Whole numbers: their sum is the same in any order.
    x = torch.randint(-100, 100, (300, 400)).float()
    call = built_in_c(lambda x: (x + 1, x.sum()), x)
    before = pool_bytes()
    kept = [call(x + i) for i in range(4)]
    assert pool_bytes() >= before + 4 * 4 * 300 * 400
    for i, (image, total) in enumerate(kept):
        assert torch.equal(image, (x + i) + 1)
        assert torch.equal(total, (x + i).sum())
    view = kept[0][0][5]
    del kept, image, total
    assert torch.equal(view, x[5] + 1)
    del view
    assert pool_bytes() == before


@pytest.mark.parametrize("sizes", [(), (1,), (3, 5)], ids=str)
def test_small_results_come_from_the_pool(sizes):
    call = built_in_c(lambda x: x + 1, torch.ones(sizes))
    before = pool_bytes()
    kept = [call(torch.full(sizes, float(i)))[0] for i in range(9)]
    elements = kept[0].numel()
    assert pool_bytes() >= before + 9 * 4 * elements
    for i, result in enumerate(kept):
        assert torch.equal(result, torch.full(sizes, i + 1.0))
        assert result.untyped_storage().nbytes() == 4 * elements
    del kept, result
    assert pool_bytes() == before


def test_errors_are_raised():
    a, b = torch.tensor([7, 8]), torch.tensor([2, 3])
    call = built_in_c(lambda a, b: a // b, a, b)
    assert call(a, b)[0].tolist() == [3, 2]
    for _ in range(3):
        with pytest.raises(errors.ProgramAssertionError):
            call(a, torch.tensor([1, 0]))
    assert call(a, b)[0].tolist() == [3, 2]


def test_nothing_is_held_after_a_call():
    x = torch.randn(16)
    call = built_in_c(lambda x: (x * 2, None, x * 3), x)
    counted = (x, None, torch.float32, torch.Tensor, torch.empty_strided)

    def counts():
        # What finalizers of earlier tests let go is found by a later collection.
        while gc.collect():
            pass
        return [sys.getrefcount(value) for value in counted]

    call(x)
    before = counts()
    for _ in range(1000):
        call(x)
    held = [after - count for after, count in zip(counts(), before)]
    assert all(abs(count) < 100 for count in held), held


def test_calls_of_several_threads_overlap():
    x = torch.randn(500, 500)
    call = built_in_c(lambda x: x.softmax(1), x)
    wrong = []

    def work(shift):
        want = (x * shift).softmax(1)
        for _ in range(20):
            if not torch.allclose(call(x * shift)[0], want, atol=1e-6):
                wrong.append(shift)

    in_threads(4, work)
    assert not wrong


def test_what_does_not_fit_is_refused():
    exchange = torch.Tensor.__dlpack_c_exchange_api__
    block = _capi.CallBlock([(_capi.DTYPES["f32"], (4,), None)], [])
    one = (0, 0, (1,))

    def make(inputs=(one,), results=(), plan=()):
        return _capi.call_in_c(
            exchange, block, 1, 1, inputs, results, plan, (torch.Tensor,),
            torch.empty_strided, lambda *a: list(a),
        )

    assert make() is not None
    # Anything but a tensor goes to the function of Python's.
    assert make()(3) == [3] and make()() == []
    assert make(inputs=[(1, 0, (1,))]) is None
    assert make(inputs=[(0, 1, (1,))]) is None
    assert make(inputs=[(-1, 0, (1,))]) is None
    assert make(inputs=[(0, 0, (1,) * 65)]) is None
    assert make(inputs=[one] * 65) is None
    assert make(results=[("f32", (4,))]) is None
    assert make(plan=[0]) is None
    for inputs in [(0, 0)], [(0, 0, 1)], [0]:
        with pytest.raises((TypeError, ValueError)):
            if make(inputs=inputs) is None:
                raise ValueError
