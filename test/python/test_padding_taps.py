# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Taps of padding that contractions leave out: as if they were not."""

import os

import numpy as np
import pytest

from polynest.handles import Context, Module, Options, Target
from polynest.program import Program

# Spatial sizes, padding before and behind, window, stride, dilation, channels in
# and out, batch.
CASES = {
    "7x7": ((7, 7), (1, 1), (1, 1), (3, 3), 1, 1, 256, 200, 1),
    "batch": ((5, 7), (1, 1), (1, 1), (3, 3), 1, 1, 256, 64, 5),
    "strided": ((14, 14), (1, 1), (1, 1), (3, 3), 2, 1, 256, 161, 2),
    "dilated": ((9, 8), (2, 2), (2, 2), (3, 3), 1, 2, 256, 160, 1),
    "one-sided": ((6, 6), (2, 0), (0, 3), (3, 4), 1, 1, 300, 240, 1),
    "wide": ((3, 3), (4, 4), (4, 4), (5, 5), 1, 1, 256, 132, 1),
    "row": ((29,), (3,), (3,), (7,), 1, 1, 320, 296, 1),
    "volume": ((3, 4, 5), (1, 1, 1), (1, 1, 1), (3, 3, 3), 1, 1, 256, 160, 1),
    "rows-in-blocks": ((14, 14), (1, 1), (1, 1), (3, 3), 1, 1, 256, 64, 1),
}


def shape_text(shape, kind):
    return f"tensor<{'x'.join(map(str, shape))}x{kind}>"


def conv_program(case, kind, start):
    """A convolution with channels last, as a generic, so that any rank does.
    Bytes, of the image without sign, are added up in i32."""
    wide = "i32" if kind == "i8" else kind
    sizes, low, high, window, stride, dilation, cin, cout, batch = case
    rank = len(sizes)
    padded = [s + a + b for s, a, b in zip(sizes, low, high)]
    out = [(s - (k - 1) * dilation - 1) // stride + 1
           for s, k in zip(padded, window)]
    x = shape_text((batch, *sizes, cin), kind)
    p = shape_text((batch, *padded, cin), kind)
    w = shape_text((*window, cin, cout), kind)
    y = shape_text((batch, *out, cout), wide)
    o = [f"o{i}" for i in range(rank)]
    u = [f"u{i}" for i in range(rank)]
    dims = ", ".join(["n", *o, "f", *u, "c"])
    image = ", ".join(
        ["n", *(f"{a} * {stride} + {b} * {dilation}" for a, b in zip(o, u)), "c"])
    ends = [", ".join(map(str, (0, *side, 0))) for side in (low, high)]
    multiply, add = ("mulf", "addf") if kind[0] == "f" else ("muli", "addi")
    zero = "0.0" if kind[0] == "f" else "0"
    kinds = ", ".join(['"parallel"'] * (rank + 2) + ['"reduction"'] * (rank + 1))
    arguments = ", ".join(f"%b{i}: index" for i in range(rank + 2))
    a, b, extended = "%a", "%b", ""
    if wide != kind:
        a, b, extended = "%d", "%g", f"""
      %d = arith.extui %a : {kind} to {wide}
      %g = arith.extsi %b : {kind} to {wide}"""
    return out, f"""
func.func @f(%x: {x}, %w: {w} {{polynest.constant}}) -> {y} {{
  %z = arith.constant {zero} : {kind}
  %s = arith.constant {start} : {wide}
  %p = tensor.pad %x low[{ends[0]}] high[{ends[1]}] {{
  ^bb0({arguments}):
    tensor.yield %z : {kind}
  }} : {x} to {p}
  %e = tensor.empty() : {y}
  %i = linalg.fill ins(%s : {wide}) outs(%e : {y}) -> {y}
  %r = linalg.generic {{
      indexing_maps = [affine_map<({dims}) -> ({image})>,
                       affine_map<({dims}) -> ({", ".join(u)}, c, f)>,
                       affine_map<({dims}) -> (n, {", ".join(o)}, f)>],
      iterator_types = [{kinds}]}} ins(%p, %w : {p}, {w}) outs(%i : {y}) {{
    ^bb0(%a: {kind}, %b: {kind}, %c: {wide}):{extended}
      %m = arith.{multiply} {a}, {b} : {wide}
      %t = arith.{add} %c, %m : {wide}
      linalg.yield %t : {wide}
  }} -> {y}
  return %r : {y}
}}
"""


def compile_both(text, seen):
    """With everything, and plain; `seen` gets the passes' remarks on taps."""
    def note(flag, kind, location, values):
        if kind == "applied" and "share" in values:
            seen.append(flag)
    made = []
    with Context(remark=note) as context, Target() as target:
        for level in ("default", "plain"):
            with Module(context, text) as module:
                made.append(Program(
                    module.executable(target, Options(opt_level=level))))
    return made


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind, start", [("f32", "-0.0"), ("f32", "0.5"),
                                         ("f64", "0.0"), ("i32", "3"),
                                         ("i8", "-7")])
def test_taps(name, kind, start):
    case = CASES[name]
    sizes, _, _, window, _, _, cin, cout, batch = case
    out, text = conv_program(case, kind, start)
    generator = np.random.default_rng(len(name))
    dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32,
             "i8": np.int8}[kind]
    shapes = (batch, *sizes, cin), (*window, cin, cout)
    if kind[0] == "i":
        info = np.iinfo(dtype)
        x, w = (generator.integers(info.min, info.max, s, dtype, endpoint=True)
                for s in shapes)
    else:
        x, w = (generator.standard_normal(s).astype(dtype) for s in shapes)
    seen = []
    fast, plain = compile_both(text, seen)
    # Many cores get parts of the reduction.
    assert seen or kind != "f32" or os.cpu_count() > 2
    weights = [w]
    if kind[0] != "i":
        # The last one is finite again: nothing is left of those before.
        for value in (np.nan, np.inf, -np.inf):
            bad = w.copy()
            bad[(0,) * len(window) + (cin // 2, cout // 3)] = value
            bad[(-1,) * len(window) + (3, cout - 1)] = value
            weights.append(bad)
        weights.append(w)
    for v in weights:
        got, expected = fast.bind(v)(x), plain.bind(v)(x)
        if kind[0] == "i":
            np.testing.assert_array_equal(got, expected)
            continue
        np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
        np.testing.assert_array_equal(np.isinf(got), np.isinf(expected))
        finite = np.isfinite(expected)
        bound = np.finfo(dtype).eps * 200 * np.sqrt(cin * np.prod(window))
        assert (abs(got[finite] - expected[finite]) <= bound).all()
        if v is not w:
            assert np.isnan(expected).any()
    # What the image brings in goes where its windows are.
    if kind[0] != "i":
        x[0][(0,) * len(sizes)] = np.inf
        x[-1][(-1,) * len(sizes)][5] = np.nan
        got, expected = fast.bind(w)(x), plain.bind(w)(x)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
        np.testing.assert_array_equal(np.isinf(got), np.isinf(expected))
