# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chains of products and rows, run block by block, give what plain nests give."""

import itertools

import numpy as np
import pytest
import torch
from conftest import bound, by_thread_count, compiled

import polynest
from polynest import errors, torch_backend

MAX = "arith.maximumf"
# The lowest and the highest distance of columns that a row keeps.
MASKS = {"causal": (-10000, 0)}


def attention(heads, rows, columns, size, mask="none", dtype="f32"):
    """Text of softmax(q k^T / 4 [masked]) v; q: heads x rows x size, k and v:
    heads x columns x size, where "?" is a size that is not known. Masks: none,
    bias (an argument), causal (indices), or a pair: columns j of row i with
    low <= j - i <= high are kept."""
    names = {"b": heads, "i": rows, "j": columns}

    def empty(name, letters, kind):
        sizes = [f"%n{x}" for x in letters if names.get(x) == "?"]
        return f"\n  %{name} = tensor.empty({', '.join(sizes)}) : {kind}"

    qt = f"tensor<{heads}x{rows}x{size}x{dtype}>"
    kt = f"tensor<{heads}x{columns}x{size}x{dtype}>"
    st = f"tensor<{heads}x{rows}x{columns}x{dtype}>"
    rt = f"tensor<{heads}x{rows}x{dtype}>"
    bt = f"tensor<{rows}x{columns}x{dtype}>"
    low = {"f32": "0xFF800000", "f64": "0xFFF0000000000000"}[dtype]
    full = "affine_map<(b,i,j)->(b,i,j)>"
    row = "affine_map<(b,i,j)->(b,i)>"
    three = '"parallel","parallel","parallel"'
    reduce = '"parallel","parallel","reduction"'

    def generic(name, maps, kinds, ins, types, out, out_type, body):
        args = ", ".join(f"%x{i}: {dtype}" for i in range(len(ins) + 1))
        return f"""
  %{name} = linalg.generic {{indexing_maps = [{", ".join(maps)}],
      iterator_types = [{kinds}]}}
      ins({", ".join(ins)} : {", ".join(types)}) outs(%{out} : {out_type}) {{
  ^bb0({args}):
    {body}
  }} -> {out_type}"""

    if mask == "none":
        masked = f"linalg.yield %m : {dtype}"
    elif mask == "bias":
        masked = (f"%w = arith.addf %m, %x1 : {dtype}\n"
                  f"    linalg.yield %w : {dtype}")
    else:
        least, most = MASKS.get(mask, mask)
        masked = f"""%i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %least = arith.constant {least} : index
    %most = arith.constant {most} : index
    %away = arith.subi %j, %i : index
    %c0 = arith.cmpi sle, %away, %most : index
    %c1 = arith.cmpi sge, %away, %least : index
    %c = arith.andi %c0, %c1 : i1
    %w = arith.select %c, %m, %low : {dtype}
    linalg.yield %w : {dtype}"""
    bias = [", %bias: " + bt] if mask == "bias" else [""]
    maps = [full, "affine_map<(b,i,j)->(i,j)>", full] if mask == "bias" else [
        full, full]
    text = f"""
func.func @f(%q: {qt}, %k: {kt}, %v: {kt}{bias[0]}) -> {qt} {{
  %zero = arith.constant 0.0 : {dtype}
  %low = arith.constant {low} : {dtype}
  %scale = arith.constant 0.25 : {dtype}
  %first = arith.constant 0 : index
  %second = arith.constant 1 : index
  %nb = tensor.dim %q, %first : {qt}
  %ni = tensor.dim %q, %second : {qt}
  %nj = tensor.dim %k, %second : {kt}
  {empty("e", "bij", st)}{empty("r", "bi", rt)}{empty("o", "bid", qt)}
  %f = linalg.fill ins(%zero : {dtype}) outs(%e : {st}) -> {st}
  %s = linalg.generic {{indexing_maps = [affine_map<(b,i,j,d)->(b,i,d)>,
      affine_map<(b,i,j,d)->(b,j,d)>, affine_map<(b,i,j,d)->(b,i,j)>],
      iterator_types = [{three},"reduction"]}}
      ins(%q, %k : {qt}, {kt}) outs(%f : {st}) {{
  ^bb0(%x: {dtype}, %y: {dtype}, %c: {dtype}):
    %m = arith.mulf %x, %y : {dtype}
    %t = arith.addf %c, %m : {dtype}
    linalg.yield %t : {dtype}
  }} -> {st}"""
    text += generic("ss", maps, three,
                    ["%s", "%bias"] if mask == "bias" else ["%s"],
                    [st, bt] if mask == "bias" else [st], "e", st,
                    f"%m = arith.mulf %x0, %scale : {dtype}\n    {masked}")
    text += f"\n  %lows = linalg.fill ins(%low : {dtype}) outs(%r : {rt}) -> {rt}"
    text += generic("mx", [full, row], reduce, ["%ss"], [st], "lows", rt,
                    f"%m = {MAX} %x0, %x1 : {dtype}\n"
                    f"    linalg.yield %m : {dtype}")
    text += generic("ex", [full, row, full], three, ["%ss", "%mx"], [st, rt],
                    "e", st, f"%m = arith.subf %x0, %x1 : {dtype}\n"
                    f"    %t = math.exp %m : {dtype}\n"
                    f"    linalg.yield %t : {dtype}")
    text += f"\n  %none = linalg.fill ins(%zero : {dtype}) outs(%r : {rt}) -> {rt}"
    text += generic("sm", [full, row], reduce, ["%ex"], [st], "none", rt,
                    f"%m = arith.addf %x0, %x1 : {dtype}\n"
                    f"    linalg.yield %m : {dtype}")
    text += generic("dv", [full, row, full], three, ["%ex", "%sm"], [st, rt],
                    "e", st, f"%m = arith.divf %x0, %x1 : {dtype}\n"
                    f"    linalg.yield %m : {dtype}")
    return text + f"""
  %z = linalg.fill ins(%zero : {dtype}) outs(%o : {qt}) -> {qt}
  %out = linalg.batch_matmul ins(%dv, %v : {st}, {kt}) outs(%z : {qt}) -> {qt}
  return %out : {qt}
}}
"""


def reference(q, k, v, mask, bias):
    """The same in float64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    with np.errstate(invalid="ignore"):
        s = np.einsum("bid,bjd->bij", q, k) * 0.25
        if mask == "bias":
            s = s + bias
        if mask not in ("none", "bias"):
            i, j = np.indices(s.shape[1:])
            least, most = MASKS.get(mask, mask)
            s = np.where((least <= j - i) & (j - i <= most), s, -np.inf)
        p = np.exp(s - s.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        return np.einsum("bij,bje->bie", p, v)


def data(shape, seed, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def close(got, exact, n):
    """Within the table's bound for reductions of `n`; NaN where NaN is."""
    assert np.array_equal(np.isnan(got), np.isnan(exact))
    most = bound(torch.from_numpy(exact), str(got.dtype).replace("float", "f"), n)
    difference = np.abs(np.nan_to_num(got) - np.nan_to_num(exact))
    assert (difference <= most.nan_to_num(np.inf).numpy()).all()


SHAPES = [
    (1, 1, 1, 1), (2, 3, 5, 7), (3, 33, 130, 16), (1, 700, 300, 17),
    (5, 97, 97, 8), (4, 192, 193, 32), (2, 257, 500, 24), (12, 150, 150, 64),
]  # yapf: disable


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("mask", ["none", "bias", "causal"])
def test_same_as_plain(shape, mask):
    heads, rows, columns, size = shape
    q, k, v = (data((heads, n, size), n + size) for n in (rows, columns, columns))
    bias = data((rows, columns), 3)
    # Two rows that are masked as a whole, and one that has one column.
    bias[::7] = -np.inf
    bias[::14, columns // 2] = 0
    args = [q, k, v] + ([bias] if mask == "bias" else [])
    text = attention(heads, rows, columns, size, mask)
    result = polynest.compile(text)(*args)
    plain = polynest.compile(text, opt_level="plain")(*args)
    exact = reference(q, k, v, mask, bias)
    for got in (result, plain):
        close(got, exact, columns + size)


@pytest.mark.parametrize("rows, columns", [(300, 300), (192, 192), (200, 333)])
def test_values_behind_mask(rows, columns):
    # Zero times what a mask hides is NaN in all rows, where that is infinite.
    heads, size = 4, 24
    text = attention(heads, rows, columns, size, "causal")
    fast = polynest.compile(text)
    plain = polynest.compile(text, opt_level="plain")
    q, k = (data((heads, n, size), n) for n in (rows, columns))
    for place in (0, 15, 16, 47, 48, 49, 95, 96, 143, 144, 191, columns - 1):
        v = data((heads, columns, size), 3)
        v[1, place, 5] = (np.nan, np.inf, -np.inf)[place % 3]
        result, expected = fast(q, k, v), plain(q, k, v)
        assert np.array_equal(np.isnan(result), np.isnan(expected))
        assert np.isnan(result[1, :, 5]).any()
        close(np.nan_to_num(result), np.nan_to_num(expected), columns + size)


@pytest.mark.parametrize(
    "place, value",
    list(itertools.product(["q", "k", "v"], [np.nan, np.inf, -np.inf])),
)
def test_edge_values(place, value):
    heads, rows, columns, size = 3, 200, 300, 16
    values = {
        "q": data((heads, rows, size), 1),
        "k": data((heads, columns, size), 2),
        "v": data((heads, columns, size), 3),
    }
    values[place][1, 70, 5] = value
    values[place][2, -1, -1] = value
    text = attention(heads, rows, columns, size)
    result = polynest.compile(text)(*values.values())
    plain = polynest.compile(text, opt_level="plain")(*values.values())
    assert np.array_equal(np.isnan(result), np.isnan(plain))
    assert np.array_equal(np.isinf(result), np.isinf(plain))
    finite = np.where(np.isfinite(plain), plain, np.nan)
    close(np.where(np.isfinite(plain), result, np.nan), finite, columns + size)


def test_same_bits_for_any_threads():
    text = attention(6, 300, 300, 32)
    program = polynest.compile(text)
    args = [data((6, 300, 32), seed) for seed in range(3)]
    results = by_thread_count((1, 2, 3, 5), lambda: program(*args))
    for result in results[1:]:
        assert np.array_equal(result, results[0])


def test_f64():
    q, k, v = (data((2, 300, 16), seed, np.float64) for seed in range(3))
    result = polynest.compile(attention(2, 300, 300, 16, dtype="f64"))(q, k, v)
    close(result, reference(q, k, v, "none", None), 316)


@pytest.mark.parametrize("shape", [(1, 384, 384, 16), (3, 500, 500, 24),
                                   (2, 333, 450, 8), (2, 450, 333, 8)], ids=str)
@pytest.mark.parametrize("mask", [(-10000, 0), (-10000, 7), (-10000, -1),
                                  (-10000, 100), (-60, 0), (-60, 40), (0, 10000)],
                         ids=str)
def test_masks_of_indices(shape, mask):
    heads, rows, columns, size = shape
    args = [data((heads, n, size), n + size) for n in (rows, columns, columns)]
    text = attention(heads, rows, columns, size, mask)
    exact = reference(*args, mask, None)
    for level in ("default", "plain"):
        got = polynest.compile(text, opt_level=level)(*args)
        close(got, exact, columns + size)


@pytest.mark.parametrize("known", ["", "b", "i", "j"])
@pytest.mark.parametrize("mask", ["none", "bias", "causal", (-60, 40)], ids=str)
def test_dynamic(known, mask):
    """Sizes that are not known: whole blocks, rests alone, and nothing."""
    shapes = [(3, 200, 333), (2, 1, 1), (1, 31, 700), (4, 64, 128), (3, 97, 5),
              (2, 0, 9), (0, 70, 70), (5, 65, 64)]
    if mask in ("none", "bias"):
        shapes.append((2, 40, 0))
    heads, rows, columns = [shape if letter in known else "?"
                            for letter, shape in zip("bij", (3, 200, 333))]
    text = attention(heads, rows, columns, 16, mask)
    program = polynest.compile(text)
    plain = polynest.compile(text, opt_level="plain")
    for shape in shapes:
        heads, rows, columns = (b if letter in known else a for letter, a, b in
                                zip("bij", shape, (3, 200, 333)))
        args = [data((heads, n, 16), n + 1) for n in (rows, columns, columns)]
        bias = data((rows, columns), 3)
        bias[::7] = -np.inf
        bias[::14, columns // 2:columns // 2 + 1] = 0
        if mask == "bias":
            args.append(bias)
        if rows and heads and columns and mask == "none":
            args[1][-1, 0, 3] = np.nan
            args[2][0, -1, 5] = np.inf
        got, expected = program(*args), plain(*args)
        assert np.array_equal(np.isnan(got), np.isnan(expected))
        finite = np.isfinite(expected)
        assert np.array_equal(np.where(finite, 0, got)[~np.isnan(got)],
                              np.where(finite, 0, expected)[~np.isnan(got)])
        assert np.allclose(got[finite], expected[finite], rtol=1e-4, atol=1e-5)


def test_long_products():
    """Long enough that sums end tile by tile, in the last of several blocks of a
    depth that moves with the block of rows."""
    args = [data((6, 700, 64), seed) for seed in range(3)]
    got = polynest.compile(attention(6, 700, 700, 64, "causal"))(*args)
    close(got, reference(*args, "causal", None), 764)


@pytest.mark.parametrize(
    "place, value",
    list(itertools.product(["q", "k", "v"], [np.nan, np.inf, -np.inf])),
)
def test_edge_values_behind_masks(place, value):
    """Masked columns count as they do in the plain form: 0 times infinity, and
    scores that are not numbers."""
    heads, rows, size = 4, 384, 16
    values = {
        name: data((heads, rows, size), seed)
        for seed, name in enumerate(["q", "k", "v"])
    }
    values[place][0, 0, 3] = value
    values[place][1, 200, 5] = value
    values[place][2, -1, -1] = value
    values[place][3, 100:300, 2] = value
    text = attention(heads, rows, rows, size, "causal")
    result = polynest.compile(text)(*values.values())
    plain = polynest.compile(text, opt_level="plain")(*values.values())
    assert np.array_equal(np.isnan(result), np.isnan(plain))
    assert np.array_equal(np.isposinf(result), np.isposinf(plain))
    assert np.array_equal(np.isneginf(result), np.isneginf(plain))
    finite = np.where(np.isfinite(plain), plain, np.nan)
    close(np.where(np.isfinite(plain), result, np.nan), finite, rows + size)


def keep_by_tril(s):
    n = s.shape[-1]
    return s.masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), -torch.inf)


def keep_by_range(s):
    i = torch.arange(s.shape[-1])
    return torch.where(i[:, None] >= i[None, :], s, -torch.inf)


def keep_by_bias(s):
    n = s.shape[-1]
    return s + torch.full((n, n), -torch.inf).triu(1)


@pytest.mark.parametrize("keep", [keep_by_tril, keep_by_range, keep_by_bias, None])
def test_torch(keep):
    def plain(q, k, v):
        scores = q @ k.transpose(-1, -2) * 0.25
        return torch.softmax(keep(scores), -1) @ v

    def library(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=True, scale=0.25)

    args = [torch.from_numpy(data((2, 3, 400, 16), seed)) for seed in range(3)]
    with torch.no_grad():
        got = compiled(plain if keep else library)(*args)
    exact = library(*(x.double() for x in args))
    close(got.numpy(), exact.numpy(), 416)


ROWS, COLUMNS = 40, 50


def bits():
    mask = torch.from_numpy(data((ROWS, COLUMNS), 9)) > 0
    mask[3] = False
    return mask


@pytest.mark.parametrize("heads, columns, options", [
    (3, COLUMNS, {}),
    (3, ROWS, {"is_causal": True}),
    (3, COLUMNS, {"attn_mask": torch.from_numpy(data((ROWS, COLUMNS), 8))}),
    (3, COLUMNS, {"attn_mask": bits()}),
    (6, COLUMNS, {"enable_gqa": True}),
    (3, COLUMNS, {"scale": 0.3}),
], ids=["plain", "causal", "bias", "bits", "groups", "scale"])
def test_gradients_of_the_fused_operator(fresh_torch, heads, columns, options):
    """Both graphs are compiled whole; gradients are as good as eager's, a row
    that is masked everywhere included."""
    shapes = [(2, heads, ROWS, 16), (2, 3, columns, 16), (2, 3, columns, 16)]
    inputs = [torch.from_numpy(data(s, i)) for i, s in enumerate(shapes)]

    def gradients(function, dtype):
        leaves = [x.to(dtype, copy=True).requires_grad_() for x in inputs]
        mask = options.get("attn_mask")
        extra = dict(options)
        if mask is not None and mask.dtype != torch.bool:
            extra["attn_mask"] = mask.to(dtype)
        out = function(*leaves, **extra)
        weights = torch.linspace(-1, 1, out.numel(), dtype=dtype)
        (out * weights.reshape(out.shape)).sum().backward()
        return [x.grad for x in leaves]

    attend = torch.nn.functional.scaled_dot_product_attention
    got = gradients(compiled(attend), torch.float32)
    exact = gradients(attend, torch.float64)
    assert polynest.report().count("compiled whole") == 2
    for mine, right in zip(got, exact):
        close(mine.numpy(), right.numpy(), 16 * (ROWS + columns))


@pytest.mark.parametrize("scale", [0.25, None])
@pytest.mark.parametrize("causal, keys", [(False, "others"),
                                          (True, "as many")])
def test_unknown_sizes_in_torch(fresh_torch, causal, keys, scale, tmp_path):
    """One program for all sizes runs block by block: no buffer holds all scores.
    Sizes that are equal in the first call alone may differ in others."""
    def attend(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal, scale=scale)

    function = compiled(attend, dynamic=True, options={"dump": str(tmp_path)})
    shapes = [(2, 3, 200, 16), (3, 2, 333, 24), (2, 5, 64, 8), (4, 4, 31, 16),
              (2, 2, 2, 5)]
    for number, (batch, heads, rows, size) in enumerate(shapes):
        columns = rows if keys == "as many" else rows + 7 + 60 * (number % 2)
        if keys == "others" and number == 0 and not causal:
            columns = rows + heads
        args = [torch.from_numpy(data((batch, heads, n, size), n + seed))
                for seed, n in enumerate((rows, columns, columns))]
        with torch.no_grad():
            got = function(*args)
            exact = attend(*(x.double() for x in args))
        close(got.numpy(), exact.numpy(), columns + size)
    # Of two shapes, Dynamo compiles again where sizes begin to differ.
    assert len(torch_backend.reports()) <= 2
    stages = [path.read_text() for path in tmp_path.rglob("*s3*")]
    assert stages
    for text in stages:
        allocs = [line for line in text.splitlines() if "memref.alloc" in line]
        assert any("x?xf32>" in line for line in allocs)
        assert not any("memref<?x?x?x?xf32>" in line for line in allocs), allocs


def test_sizes_that_differ():
    """What assertions say of sizes is asked before anything is done."""
    text = attention("?", "?", "?", 16)
    program = polynest.compile(text)
    q, k, v = (data((2, 90, 16), seed) for seed in range(3))
    for wrong in ([q, k[:1], v], [q, k, v[:1]], [q, k, v[:, :50]],
                  [q[:1], k, v]):
        with pytest.raises(errors.ProgramAssertionError, match="sizes differ"):
            program(*wrong)
    close(program(q, k, v), reference(q, k, v, "none", None), 106)
