# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that give inputs new values where these are, from text and from
PyTorch, plain and optimized."""

import numpy as np
import pytest
import torch

import polynest
from polynest import errors, torch_backend

SIZES = [1, 7, 64, 1000]

STEP = """
#id = affine_map<(i, j) -> (i, j)>
func.func @f(%p: tensor<?x?xf32>{strides}, %g: tensor<?x?xf32>, %m: tensor<?x?xf32>)
    -> (tensor<?x?xf32> {{polynest.updates = 0}}, tensor<f32>,
        tensor<?x?xf32> {{polynest.updates = 2}}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rate = arith.constant 0.25 : f32
  %zero = arith.constant 0.0 : f32
  %a = tensor.dim %p, %c0 : tensor<?x?xf32>
  %b = tensor.dim %p, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%a, %b) : tensor<?x?xf32>
  %s = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %old = linalg.generic {{indexing_maps = [#id, affine_map<(i, j) -> ()>],
      iterator_types = ["reduction", "reduction"]}}
      ins(%p : tensor<?x?xf32>) outs(%z : tensor<f32>) {{
  ^bb0(%x: f32, %t: f32):
    %y = arith.maximumf %x, %t : f32
    linalg.yield %y : f32
  }} -> tensor<f32>
  %n = linalg.generic {{indexing_maps = [#id, #id, #id],
      iterator_types = ["parallel", "parallel"]}}
      ins(%m, %g : tensor<?x?xf32>, tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) {{
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.mulf %x, %rate : f32
    %u = arith.addf %t, %y : f32
    linalg.yield %u : f32
  }} -> tensor<?x?xf32>
  %q = linalg.generic {{indexing_maps = [#id, #id, #id],
      iterator_types = ["parallel", "parallel"]}}
      ins(%p, %n : tensor<?x?xf32>, tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) {{
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.mulf %y, %rate : f32
    %u = arith.subf %x, %t : f32
    linalg.yield %u : f32
  }} -> tensor<?x?xf32>
  return %q, %old, %n : tensor<?x?xf32>, tensor<f32>, tensor<?x?xf32>
}}
"""


def sized(text, *sizes):
    """The text with its tensors of two dimensions of these sizes, if any."""
    if not sizes:
        return text
    a, b = sizes
    text = text.replace("tensor.empty(%a, %b)", "tensor.empty()")
    return text.replace("?x?", f"{a}x{b}")


def numbers(*shape, seed=0):
    x = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    if x.size > 8:
        x.reshape(-1)[[1, 4, 6]] = np.nan, np.inf, -0.0
    return x


@pytest.mark.parametrize("level", ["plain", "default"])
@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize(
    "shape", [(0, 3), (1, 1), (3, 7), (5, 64), (64, 257)]
)
def test_a_step_in_place(shape, static, level):
    """Momentum, with the largest of the old values as a result."""
    text = sized(STEP.format(strides=""), *(shape if static else ()))
    f = polynest.compile(text, opt_level=level)
    p, g, m = (numbers(*shape, seed=k) for k in range(3))
    if p.size > 8:
        p.reshape(-1)[1] = 5  # maxima of NaN are another matter
    new = m * np.float32(0.25) + g
    want = p - new * np.float32(0.25)
    largest = max(float(p.max(initial=0)), 0.0)
    old = f(p, g, m)
    assert float(old) == largest
    np.testing.assert_array_equal(m, new)
    np.testing.assert_array_equal(p, want)


@pytest.mark.parametrize("level", ["plain", "default"])
@pytest.mark.parametrize("kept", [True, False])
def test_strided_inputs(kept, level):
    """Whose strides the program takes, and which it is given copies of: elements
    in between stay."""
    strides = " {polynest.strides = array<i64: 20, 2>}" if kept else ""
    f = polynest.compile(
        sized(STEP.format(strides=strides), 5, 7), opt_level=level
    )
    whole = numbers(5, 20)
    whole[np.isnan(whole)] = 2
    before = whole.copy()
    g, m = numbers(5, 7, seed=1), numbers(5, 7, seed=2)
    new = m * np.float32(0.25) + g
    f(whole[:, 1:15:2], g, m)
    before[:, 1:15:2] -= new * np.float32(0.25)
    np.testing.assert_array_equal(whole, before)


def test_inputs_that_overlap_are_refused():
    f = polynest.compile(sized(STEP.format(strides=""), 4, 4))
    x, y = numbers(4, 4), numbers(4, 4, seed=1)
    for arguments in ((x, x, y), (x, y, x), (x, y, x.T)):
        with pytest.raises(errors.OverlapError):
            f(*arguments)
    both = numbers(8, 4)
    f(both[:4], y, both[4:])
    with pytest.raises(errors.OverlapError):
        f(both[:4], y, both[3:7])
    whole = np.zeros((7,), np.float32)
    window = np.lib.stride_tricks.as_strided(whole, (4, 4), (4, 4))
    with pytest.raises(errors.OverlapError):
        f(window, y, x)
    x.flags.writeable = False
    with pytest.raises(errors.SignatureError, match="read-only"):
        f(x, y, numbers(4, 4))


# Updates whose new values read other elements of the old ones.
ELSEWHERE = {
    "turned": ("(i, j) -> (j, i)", lambda p, q: (p.T, q)),
    "backwards": ("(i, j) -> (5 - i, 5 - j)", lambda p, q: (p[::-1, ::-1], q)),
    "repeated": ("(i, j) -> (i, 0)", lambda p, q: (p[:, :1] + 0 * p, q)),
}
READ = """
func.func @f(%p: tensor<6x6xf32>, %q: tensor<6x6xf32>)
    -> (tensor<6x6xf32> {{polynest.updates = 0}}) {{
  %e = tensor.empty() : tensor<6x6xf32>
  %n = linalg.generic {{indexing_maps = [affine_map<{map}>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      ins(%p : tensor<6x6xf32>) outs(%e : tensor<6x6xf32>) {{
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }} -> tensor<6x6xf32>
  return %n : tensor<6x6xf32>
}}
"""


@pytest.mark.parametrize("level", ["plain", "default"])
@pytest.mark.parametrize("name", ELSEWHERE)
def test_elements_that_are_read_elsewhere(name, level):
    map_, function = ELSEWHERE[name]
    f = polynest.compile(READ.format(map=map_), opt_level=level)
    p = np.arange(36, dtype=np.float32).reshape(6, 6)
    want = np.array(function(p.copy(), p.copy())[0])
    f(p, numbers(6, 6))
    np.testing.assert_array_equal(p, want)


EXCHANGE = """
func.func @f(%p: tensor<?xf32>, %q: tensor<?xf32>, %r: tensor<?xf32>)
    -> (tensor<?xf32> {polynest.updates = 1}, tensor<?xf32> {polynest.updates = 2},
        tensor<?xf32> {polynest.updates = 0}, tensor<?xf32>) {
  return %p, %q, %r, %q : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
"""


@pytest.mark.parametrize("level", ["plain", "default"])
@pytest.mark.parametrize("size", [0, *SIZES])
def test_inputs_that_trade_places(size, level):
    f = polynest.compile(EXCHANGE, opt_level=level)
    p, q, r = (numbers(size, seed=k) for k in range(3))
    want = r.copy(), p.copy(), q.copy()
    kept = f(p, q, r)
    for have, wanted in zip((p, q, r, kept), (*want, want[2])):
        np.testing.assert_array_equal(have, wanted)


# Both are written over one input, as far as the program says.
OVER = """
func.func @f(%p: tensor<9xf32>, %q: tensor<9xf32>)
    -> (tensor<9xf32> {polynest.updates = 0}, tensor<9xf32> {polynest.updates = 1}) {
  %a = linalg.negf ins(%q : tensor<9xf32>) outs(%p : tensor<9xf32>) -> tensor<9xf32>
  %x = tensor.extract_slice %q[4] [2] [1] : tensor<9xf32> to tensor<2xf32>
  %b = tensor.insert_slice %x into %p[1] [2] [1] : tensor<2xf32> into tensor<9xf32>
  return %a, %b : tensor<9xf32>, tensor<9xf32>
}
"""


@pytest.mark.parametrize("level", ["plain", "default"])
def test_inputs_that_others_are_written_over(level):
    f = polynest.compile(OVER, opt_level=level)
    p, q = numbers(9), numbers(9, seed=1)
    new = p.copy()
    new[1:3] = q[4:6]
    want = -q
    f(p, q)
    np.testing.assert_array_equal(p, want)
    np.testing.assert_array_equal(q, new)


# An input that stays as it is, and is written over for another result.
STAYS = """
func.func @f(%p: tensor<9xf32>, %x: f32)
    -> (tensor<9xf32> {polynest.updates = 0}, tensor<9xf32>) {
  %c4 = arith.constant 4 : index
  %n = tensor.insert %x into %p[%c4] : tensor<9xf32>
  %e = tensor.empty() : tensor<9xf32>
  %b = linalg.abs ins(%n : tensor<9xf32>) outs(%e : tensor<9xf32>) -> tensor<9xf32>
  return %p, %b : tensor<9xf32>, tensor<9xf32>
}
"""


@pytest.mark.parametrize("level", ["plain", "default"])
def test_an_input_that_stays(level):
    f = polynest.compile(STAYS, opt_level=level)
    p = numbers(9)
    before = p.copy()
    want = np.abs(before)
    want[4] = 7
    np.testing.assert_array_equal(f(p, -7.0), want)
    np.testing.assert_array_equal(p, before)


ROWS = """
func.func @f(%cache: tensor<64x16xf32>, %row: tensor<1x16xf32>, %at: index)
    -> (tensor<64x16xf32> {polynest.updates = 0}, tensor<16xf32>) {
  %new = tensor.insert_slice %row into %cache[%at, 0] [1, 16] [1, 1]
      : tensor<1x16xf32> into tensor<64x16xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %s = linalg.reduce ins(%new : tensor<64x16xf32>) outs(%z : tensor<16xf32>)
      dimensions = [0] (%x: f32, %t: f32) {
    %y = arith.addf %x, %t : f32
    linalg.yield %y : f32
  }
  return %new, %s : tensor<64x16xf32>, tensor<16xf32>
}
"""


@pytest.mark.parametrize("level", ["plain", "default"])
def test_a_row_of_a_cache(level):
    f = polynest.compile(ROWS, opt_level=level)
    cache = np.zeros((64, 16), np.float32)
    want = cache.copy()
    for at in (3, 0, 63, 3):
        row = numbers(1, 16, seed=at)
        row[~np.isfinite(row)] = 1
        want[at] = row
        total = f(cache, row, at)
        np.testing.assert_array_equal(cache, want)
        np.testing.assert_allclose(total, want.sum(0), rtol=1e-5, atol=1e-5)
    # Nothing but the row is written: there is no other store of 64 rows.
    text = polynest.lower(ROWS, "s3")
    assert "memref.copy" not in text and "64x16xf32>, %" not in text
    assert "memref.alloc" not in text


def test_a_step_needs_no_memory():
    """Of its own for new values: all is in the inputs."""
    text = sized(STEP.format(strides=""), 64, 256)
    text = polynest.lower(text, "s3")
    # Parts of the maximum are all that there is.
    assert "memref.alloc" not in text and "to memref<64x256xf32>" not in text


# -- from PyTorch --------------------------------------------------------------


def both(function, *inputs, calls=2, options=None):
    """Compares results and inputs of calls with eager's; the compiled function."""
    torch._dynamo.reset()
    compiled = torch.compile(
        function,
        backend=torch_backend.polynest,
        options=options,
        dynamic=False,
    )
    mine = [x.clone() for x in inputs]
    theirs = [x.clone() for x in inputs]
    with torch.no_grad():
        for _ in range(calls):
            have, want = compiled(*mine), function(*theirs)
            torch.testing.assert_close(have, want)
            torch.testing.assert_close(mine, theirs)
    return compiled


def in_place(function, *inputs):
    """How many inputs the one program of a function writes."""
    count = []
    run = torch_backend.Runner.__call__

    def counted(self, *arguments):
        count.append(len(self._written))
        return run(self, *arguments)

    torch_backend.Runner.__call__ = counted
    try:
        both(function, *inputs, calls=1)
    finally:
        torch_backend.Runner.__call__ = run
    return count


def momentum(p, g, m):
    m.mul_(0.9).add_(g)
    p.sub_(m, alpha=0.1)
    return (p * p).sum()


def moved(x, y):
    x.copy_(x.t().clone())
    return y + x


def replaced(x, y):
    x.copy_(y * 2)


def cached(cache, row):
    cache.index_copy_(1, torch.tensor([3]), row)
    return (cache * 2).sum(0)


def kept(x, y):
    before = x * 1
    x.add_(y)
    return before, x + 1


def doubled(x, y):
    x.add_(1)
    y.copy_(x)
    return x * 1


def channels(x, y):
    x.mul_(y.mean(dim=(2, 3), keepdim=True))
    return x.sum(1)


def parts(x, y):
    """Of which AOTAutograd makes a graph."""
    x[:, ::2].add_(y[:, ::2])
    y[2].zero_()
    return x.sum()


def square(n=8):
    return torch.randn(n, n)


def whole():
    """Whose sums are exact in any order: those of `square` may cancel."""
    return torch.randint(-8, 9, (8, 8)).float()


CASES = {
    "momentum": (momentum, [square(), square(), square()], 2),
    "turned": (moved, [square(), square()], 1),
    "replaced": (replaced, [square(), square()], 1),
    "cached": (cached, [torch.randn(4, 8, 16), torch.randn(4, 1, 16)], 1),
    "kept": (kept, [square(), square()], 1),
    "parts": (parts, [whole(), whole()], 2),
    "doubled": (doubled, [square(), square()], 2),
    "of one element": (momentum, [torch.randn(1)] * 3, 2),
    "odd": (momentum, [torch.randn(7, 13, 3) for _ in range(3)], 2),
    "turned inputs": (momentum, [square().t() for _ in range(3)], 2),
    "bytes": (replaced, [torch.ones(9, dtype=torch.int8)] * 2, 1),
    "halves": (replaced, [square().bfloat16() for _ in range(2)], 1),
    "channels last": (
        channels,
        [
            torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
            torch.randn(2, 3, 4, 5),
        ],
        1,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_inputs_are_written_in_place(name):
    function, inputs, count = CASES[name]
    assert in_place(function, *inputs) == [count]


@pytest.mark.parametrize("options", [{}, {"freeze": True}, {"check": True}])
@pytest.mark.parametrize("name", CASES)
def test_written_as_eager_does(name, options):
    function, inputs, _ = CASES[name]
    both(function, *inputs, calls=3, options=options)


def seen_by_eager(x, y):
    """An op that stays with eager reads the old value."""
    r = torch.linalg.qr(x)[1]
    x.add_(y)
    return r + x


def test_copies_where_it_must_be():
    assert 1 not in in_place(seen_by_eager, square(), square())


def doubled(x, y):
    x.mul_(2)
    y.add_(1)
    return x - y


def shifted(x, y):
    """Of which AOTAutograd makes a graph."""
    x[:, 1:].mul_(2)
    y.add_(x.sum() * 0.001)
    return x.sum() - y


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [moved, doubled, shifted])
@pytest.mark.parametrize("places", [(64, 63, 8, 0), (63, 64, 0), (0, 64, 8)])
def test_parts_of_one_memory(function, places, dynamic):
    """Are apart, or eager runs the graph, however they lay as it was compiled."""
    torch._dynamo.reset()
    compiled = torch.compile(
        function, backend=torch_backend.polynest, dynamic=dynamic
    )
    for first in places:
        mine, theirs = torch.arange(128.0), torch.arange(128.0)

        def views(x):
            return x[:64].view(8, 8), x[first:][:64].view(8, 8)

        with torch.no_grad():
            have, want = compiled(*views(mine)), function(*views(theirs))
        torch.testing.assert_close(have, want)
        torch.testing.assert_close(mine, theirs)


def twice(w, x):
    x.mul_(x.roll(1))
    return (w * x).sum()


def before(w, x):
    read = x.sin()
    x.mul_(2)
    return (w * read * x).sum()


def behind_a_view(w, x):
    read = x.t().exp().t()
    x.sigmoid_()
    return (w * read * x).sum()


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(
    "function, through",
    [
        (twice, False),
        (twice, True),
        (before, False),  # with gradients an error of eager, too
        (behind_a_view, False),
        (behind_a_view, True),
    ],
)
def test_old_values_in_gradients(function, through, gaps, dynamic):
    """The backward pass needs what an input was before it was written."""
    torch._dynamo.reset()
    compiled = torch.compile(
        function, backend=torch_backend.polynest, dynamic=dynamic
    )
    results = []
    for f in (compiled, function):
        start = torch.linspace(-1, 1, 48).view(6, 8)
        start.requires_grad_(through)
        x = (start * 1)[:, 1:6] if gaps else (start * 1)[1:5]
        w = torch.linspace(1, 2, x.numel()).view(x.shape)
        w.requires_grad_()
        out = f(w, x)
        out.backward()
        results.append((out, x, w.grad, start.grad))
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("places", [(64, 63, 0), (0, 64, 63)])
@pytest.mark.parametrize("through", [False, True])
def test_parts_of_one_memory_with_gradients(through, places, dynamic):
    """Of something else, and of what is written itself."""
    torch._dynamo.reset()

    def function(w, x, y):
        x.mul_(2)
        y.add_(1)
        return (w * (x - y)).sum()

    compiled = torch.compile(
        function, backend=torch_backend.polynest, dynamic=dynamic
    )
    for first in places:
        results = []
        for f in (compiled, function):
            start = torch.arange(128.0, requires_grad=through)
            memory = start * 1
            w = torch.ones(64, requires_grad=True)
            out = f(w, memory[:64], memory[first:][:64])
            out.backward()
            results.append((out, w.grad, memory, start.grad))
        for have, want in zip(*results):
            if want is None:
                assert have is None
            else:
                torch.testing.assert_close(have, want)


@pytest.mark.parametrize("places", [(64, 20, 0), (20, 64, 20)])
def test_own_tensors_of_a_graph_that_overlap(places):
    """An optimizer's, whose parameters become parts of one memory."""
    torch._dynamo.reset()
    memory = [torch.arange(128.0) for _ in range(2)]
    parameters = [
        [torch.nn.Parameter(m[:64].view(8, 8)) for _ in range(2)]
        for m in memory
    ]
    steps = [
        torch.optim.SGD(p, 0.5, weight_decay=0.5).step for p in parameters
    ]
    steps[0] = torch.compile(steps[0], backend=torch_backend.polynest)
    for first in places:
        for m, own, step in zip(memory, parameters, steps):
            own[1].data = m[first:][:64].view(8, 8)
            for p in own:
                p.grad = torch.ones_like(p)
            step()
        torch.testing.assert_close(*memory)


def test_versions_grow():
    p, g, m = square(), square(), square()
    compiled = both(momentum, p, g, m)
    x = p.requires_grad_()
    y = x * x  # saves x
    before = [t._version for t in (p, g, m)]
    with torch.no_grad():
        compiled(x.detach(), g, m)
    after = [t._version for t in (p, g, m)]
    assert [a > b for a, b in zip(after, before)] == [True, False, True]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_tensors_of_inference_mode():
    with torch.inference_mode():
        x = square()
    y = square()
    compiled = torch.compile(replaced, backend=torch_backend.polynest)
    with torch.inference_mode():
        compiled(x, y)
    torch.testing.assert_close(x, y * 2)
    with torch.no_grad(), pytest.raises(RuntimeError, match="[Ii]nference"):
        compiled(x, y)


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01),
    "nesterov": lambda p: torch.optim.SGD(
        p, 0.1, momentum=0.9, nesterov=True, foreach=True
    ),
    "adam": lambda p: torch.optim.Adam(p, 0.01, amsgrad=True),
    "adamw": lambda p: torch.optim.AdamW(p, 0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, 0.01, centered=True),
}


@pytest.mark.parametrize("options", [{}, {"check": True}])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name, options):
    torch._dynamo.reset()
    shapes = [(33, 7), (5,), (1,), (4, 3, 3, 3), (64, 64)]
    torch.manual_seed(0)
    start = [torch.randn(s) for s in shapes]
    mine, theirs = (
        [torch.nn.Parameter(x.clone()) for x in start] for _ in range(2)
    )
    ours, eager = OPTIMIZERS[name](mine), OPTIMIZERS[name](theirs)
    step = torch.compile(
        ours.step, backend=torch_backend.polynest, options=options
    )
    for _ in range(5):
        for p, q in zip(mine, theirs):
            p.grad = torch.randn_like(p)
            q.grad = p.grad.clone()
        before = [p._version for p in mine]
        step()
        eager.step()
        assert all(p._version > b for p, b in zip(mine, before))
        torch.testing.assert_close(mine, theirs)
    torch.testing.assert_close(
        ours.state_dict()["state"], eager.state_dict()["state"]
    )


def test_found_in_the_cache(cache):
    """By another key than the same graph whose results are its own."""

    def apart(p, g, m):
        new = m * 0.9 + g
        p = p - 0.1 * new
        return (p * p).sum(), new, p

    for function, cached in ((apart, 0), (momentum, 0), (momentum, 1)):
        torch_backend._PROGRAMS.clear()
        torch_backend.reset_reports()
        both(function, square(), square(), square())
        assert [r.cached for r in torch_backend.reports()] == [bool(cached)]
