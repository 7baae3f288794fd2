# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop nests that look like contractions and hide something.

Each Nest is a body over memrefs of i32, which wraps around, so that every order
of additions has one right result, and the same loops in Python. `i`, `j` and
`k` are rows, columns and the reduction where nothing else is said. Sizes are
large enough to be worth blocking and divide by nothing.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import numpy as np

M, N, K = 45, 53, 37


@dataclass(frozen=True)
class Nest:
    name: str
    arguments: dict[str, tuple[int, ...]]  # name: shape
    text: str
    python: Callable  # changes its arguments in place
    maps: str = ""


NESTS: list[Nest] = []


def nest(name, arguments, text, maps=""):
    def keep(function):
        NESTS.append(Nest(name, arguments, text, function, maps))
        return function
    return keep


def sum_nest(product, *, rows=f"0 to {M}", columns=f"0 to {N}",
             depth=f"0 to {K}", start="%zero", before="",
             after="affine.store %s, %c[%i, %j] : memref<45x53xi32>",
             update="%y = arith.addi %x, %p : i32"):
    """for i, for j, sum over k of `product`, which defines %p."""
    return f"""
  affine.for %i = {rows} {{
    affine.for %j = {columns} {{
      {before}
      %s = affine.for %k = {depth} iter_args(%x = {start}) -> i32 {{
        {product}
        {update}
        affine.yield %y : i32
      }}
      {after}
    }}
  }}
"""


def load(name, buffer, index, shape):
    kind = "x".join(map(str, shape))
    return f"%{name} = affine.load %{buffer}[{index}] : memref<{kind}xi32>\n"


TIMES = "%p = arith.muli %q, %r : i32\n"
AB = (load("q", "a", "%i, %k", (M, K)) + load("r", "b", "%k, %j", (K, N))
      + TIMES)
ABC = {"a": (M, K), "b": (K, N), "c": (M, N)}


@nest("plain", ABC, sum_nest(AB))
def _(a, b, c):
    c[:] = a @ b


# -- dependences -------------------------------------------------------------------


@nest("in_place_row", {"a": (M, M), "b": (M, M)}, sum_nest(
    load("q", "a", "%i, %k", (M, M)) + load("r", "b", "%k, %j", (M, M)) + TIMES,
    columns=f"0 to {M}", depth=f"0 to {M}",
    after=f"affine.store %s, %a[%i, %j] : memref<{M}x{M}xi32>"))
def _(a, b):
    for i in range(M):
        for j in range(M):
            a[i, j] = (a[i] * b[:, j]).sum(dtype=a.dtype)


@nest("in_place_square", {"a": (M, M)}, sum_nest(
    load("q", "a", "%i, %k", (M, M)) + load("r", "a", "%k, %j", (M, M)) + TIMES,
    columns=f"0 to {M}", depth=f"0 to {M}",
    after=f"affine.store %s, %a[%i, %j] : memref<{M}x{M}xi32>"))
def _(a):
    for i in range(M):
        for j in range(M):
            a[i, j] = (a[i] * a[:, j]).sum(dtype=a.dtype)


@nest("row_above", ABC, sum_nest(
    AB, rows=f"1 to {M}", after=load("d", "c", "%i - 1, %j", (M, N))
    + "%e = arith.addi %s, %d : i32\n"
    + f"affine.store %e, %c[%i, %j] : memref<{M}x{N}xi32>"))
def _(a, b, c):
    for i in range(1, M):
        c[i] = c[i - 1] + a[i] @ b


@nest("row_below", ABC, sum_nest(
    AB, rows=f"0 to {M - 1}", after=load("d", "c", "%i + 1, %j", (M, N))
    + "%e = arith.addi %s, %d : i32\n"
    + f"affine.store %e, %c[%i, %j] : memref<{M}x{N}xi32>"))
def _(a, b, c):
    for i in range(M - 1):
        c[i] = c[i + 1] + a[i] @ b


@nest("left_neighbour", ABC, sum_nest(
    AB, columns=f"1 to {N}", start="%d",
    before=load("d", "c", "%i, %j - 1", (M, N))))
def _(a, b, c):
    for j in range(1, N):
        c[:, j] = c[:, j - 1] + a @ b[:, j]


@nest("next_row_is_operand", {"a": (M, M), "b": (M, M)}, sum_nest(
    load("q", "a", "%i, %k", (M, M)) + load("r", "b", "%k, %j", (M, M)) + TIMES,
    rows=f"0 to {M - 1}", columns=f"0 to {M}", depth=f"0 to {M}",
    after=f"affine.store %s, %a[%i + 1, %j] : memref<{M}x{M}xi32>"))
def _(a, b):
    for i in range(M - 1):
        a[i + 1] = a[i] @ b


@nest("other_half_of_operand", {"a": (M, 2 * M), "b": (M, M)}, sum_nest(
    load("q", "a", "%i, %k", (M, 2 * M)) + load("r", "b", "%k, %j", (M, M))
    + TIMES, columns=f"0 to {M}", depth=f"0 to {M}",
    after=f"affine.store %s, %a[%i, %j + {M}] : memref<{M}x{2 * M}xi32>"))
def _(a, b):
    a[:, M:] = a[:, :M] @ b


@nest("half_of_operand_and_one", {"a": (M, 2 * M), "b": (M, M)}, sum_nest(
    load("q", "a", "%i, %k", (M, 2 * M)) + load("r", "b", "%k, %j", (M, M))
    + TIMES, columns=f"0 to {M}", depth=f"0 to {M}",
    after=f"affine.store %s, %a[%i, %j + {M - 1}] : memref<{M}x{2 * M}xi32>"))
def _(a, b):
    for i in range(M):
        for j in range(M):
            a[i, j + M - 1] = (a[i, :M] * b[:, j]).sum(dtype=a.dtype)


@nest("transposed_result", {"a": (M, K), "b": (K, M), "c": (M, M)}, sum_nest(
    load("q", "a", "%i, %k", (M, K)) + load("r", "b", "%k, %j", (K, M)) + TIMES,
    columns=f"0 to {M}", after=load("d", "c", "%j, %i", (M, M))
    + "%e = arith.addi %s, %d : i32\n"
    + f"affine.store %e, %c[%i, %j] : memref<{M}x{M}xi32>"))
def _(a, b, c):
    for i in range(M):
        for j in range(M):
            c[i, j] = c[j, i] + (a[i] * b[:, j]).sum(dtype=a.dtype)


@nest("last_column_wins", {**ABC, "c": (M, (N + 1) // 2)}, sum_nest(
    AB, after=f"affine.store %s, %c[%i, %j floordiv 2] : "
    f"memref<{M}x{(N + 1) // 2}xi32>"))
def _(a, b, c):
    for j in range(N):
        c[:, j // 2] = a @ b[:, j]


@nest("all_rows_into_one", {**ABC, "c": (1, N)}, sum_nest(
    AB, start="%d", before=load("d", "c", "0, %j", (1, N)),
    after=f"affine.store %s, %c[0, %j] : memref<1x{N}xi32>"))
def _(a, b, c):
    c[0] += (a @ b).sum(0, dtype=c.dtype)


@nest("twice", {**ABC, "d": (N, M)}, sum_nest(
    AB, after=f"affine.store %s, %c[%i, %j] : memref<{M}x{N}xi32>\n"
    f"affine.store %s, %d[%j, %i] : memref<{N}x{M}xi32>"))
def _(a, b, c, d):
    c[:] = a @ b
    d[:] = c.T


@nest("chain", {"a": (M, K), "b": (K, N), "c": (M, N), "d": (N, M),
                "e": (M, M)},
      sum_nest(AB) + sum_nest(
          load("q", "c", "%i, %k", (M, N)) + load("r", "d", "%k, %j", (N, M))
          + TIMES, columns=f"0 to {M}", depth=f"0 to {N}",
          after=f"affine.store %s, %e[%i, %j] : memref<{M}x{M}xi32>")
      + sum_nest(
          load("q", "e", "%i, %k", (M, M)) + load("r", "a", "%k, %j", (M, K))
          + TIMES, columns=f"0 to {K}", depth=f"0 to {M}",
          after=f"affine.store %s, %c[%i, %j] : memref<{M}x{N}xi32>"))
def _(a, b, c, d, e):
    c[:] = a @ b
    e[:] = c @ d
    c[:, :K] = e @ a


# -- loops -------------------------------------------------------------------------


@nest("triangle", ABC, sum_nest(AB, rows=f"0 to {K}", depth="0 to #own(%i)"),
      "#own = affine_map<(d0) -> (d0 + 1)>")
def _(a, b, c):
    for i in range(K):
        c[i] = a[i, :i + 1] @ b[:i + 1]


@nest("upper_triangle", ABC, sum_nest(
    AB, rows=f"0 to {K}", depth=f"#own(%i) to {K}"),
    "#own = affine_map<(d0) -> (d0)>")
def _(a, b, c):
    for i in range(K):
        c[i] = a[i, i:] @ b[i:]


@nest("columns_by_row", ABC, sum_nest(AB, columns="0 to #own(%i)"),
      "#own = affine_map<(d0) -> (d0 + 8)>")
def _(a, b, c):
    for i in range(M):
        c[i, :i + 8] = a[i] @ b[:, :i + 8]


@nest("steps", ABC, sum_nest(
    AB, rows=f"3 to {M} step 2", columns=f"1 to {N} step 3",
    depth=f"2 to {K} step 5"))
def _(a, b, c):
    c[3::2, 1::3] = a[3::2, 2::5] @ b[2::5, 1::3]


@nest("reversed", ABC, sum_nest(
    load("q", "a", f"%i, {K - 1} - %k", (M, K))
    + load("r", "b", f"{K - 1} - %k, {N - 1} - %j", (K, N)) + TIMES,
    after=f"affine.store %s, %c[{M - 1} - %i, %j] : memref<{M}x{N}xi32>"))
def _(a, b, c):
    c[::-1] = a @ b[:, ::-1]


@nest("no_depth", ABC, sum_nest(AB, depth="0 to 0", start="%seven"))
def _(a, b, c):
    c[:] = 7


@nest("empty_depth", ABC, sum_nest(AB, depth="9 to 4", start="%seven"))
def _(a, b, c):
    c[:] = 7


@nest("tiled_by_hand", ABC, f"""
  affine.for %ii = 0 to {M} step 8 {{
    affine.for %j = 0 to {N} {{
      affine.for %i = #from(%ii) to min #to(%ii) {{
        %s = affine.for %k = 0 to {K} iter_args(%x = %zero) -> i32 {{
          {AB}
          %y = arith.addi %x, %p : i32
          affine.yield %y : i32
        }}
        affine.store %s, %c[%i, %j] : memref<{M}x{N}xi32>
      }}
    }}
  }}
""", f"""#from = affine_map<(d0) -> (d0)>
#to = affine_map<(d0) -> (d0 + 8, {M})>""")
def _(a, b, c):
    c[:] = a @ b


def _memory_order(order):
    bounds = {"i": M, "j": N, "k": K}
    heads = "\n".join(f"affine.for %{x} = 0 to {bounds[x]} {{" for x in order)

    @nest("in_memory_" + order, ABC,
          heads + AB + load("x", "c", "%i, %j", (M, N))
          + "%y = arith.addi %x, %p : i32\n"
          + f"affine.store %y, %c[%i, %j] : memref<{M}x{N}xi32>\n" + "}\n" * 3)
    def _(a, b, c):
        c[:] += a @ b


for _order in ("ijk", "ikj", "jik", "jki", "kij", "kji"):
    _memory_order(_order)


@nest("outer_repetition", ABC, "affine.for %t = 0 to 3 {" + sum_nest(
    AB, start="%d", before=load("d", "c", "%i, %j", (M, N))) + "}")
def _(a, b, c):
    for _ in range(3):
        c[:] += a @ b


# -- what is summed ----------------------------------------------------------------


@nest("scaled_sum", ABC, sum_nest(
    AB, update="%z = arith.muli %x, %seven : i32\n"
    "%y = arith.addi %z, %p : i32"))
def _(a, b, c):
    c[:] = 0
    for k in range(K):
        c[:] = c * 7 + a[:, k:k + 1] * b[k]


@nest("product_minus_sum", ABC, sum_nest(
    AB, update="%y = arith.subi %p, %x : i32"))
def _(a, b, c):
    c[:] = 0
    for k in range(K):
        c[:] = a[:, k:k + 1] * b[k] - c


@nest("sum_minus_product", ABC, sum_nest(
    AB, update="%y = arith.subi %x, %p : i32", start="%seven"))
def _(a, b, c):
    c[:] = 7 - a @ b


@nest("largest_product", ABC, sum_nest(
    AB, update="%y = arith.maxsi %x, %p : i32"))
def _(a, b, c):
    c[:] = 0
    for k in range(K):
        c[:] = c.clip(min=a[:, k:k + 1] * b[k])


@nest("sum_of_sums", ABC, sum_nest(
    load("q", "a", "%i, %k", (M, K)) + load("r", "b", "%k, %j", (K, N))
    + "%p = arith.addi %q, %r : i32\n"))
def _(a, b, c):
    c[:] = a.sum(1, dtype=c.dtype)[:, None] + b.sum(0, dtype=c.dtype)


@nest("square_of_difference", ABC, sum_nest(
    load("q", "a", "%i, %k", (M, K)) + load("r", "b", "%k, %j", (K, N))
    + "%d = arith.subi %q, %r : i32\n%p = arith.muli %d, %d : i32\n"))
def _(a, b, c):
    for i in range(M):
        c[i] = ((a[i][:, None] - b) ** 2).sum(0, dtype=c.dtype)


@nest("two_sums", {**ABC, "d": (M, N)}, f"""
  affine.for %i = 0 to {M} {{
    affine.for %j = 0 to {N} {{
      %s:2 = affine.for %k = 0 to {K} iter_args(%x = %zero, %u = %zero)
          -> (i32, i32) {{
        {AB}
        %y = arith.addi %x, %p : i32
        %v = arith.addi %u, %q : i32
        affine.yield %y, %v : i32, i32
      }}
      affine.store %s#0, %c[%i, %j] : memref<{M}x{N}xi32>
      affine.store %s#1, %d[%i, %j] : memref<{M}x{N}xi32>
    }}
  }}
""")
def _(a, b, c, d):
    c[:] = a @ b
    d[:] = a.sum(1, dtype=d.dtype)[:, None]


@nest("sums_that_swap", {**ABC, "d": (M, N)}, f"""
  affine.for %i = 0 to {M} {{
    affine.for %j = 0 to {N} {{
      %s:2 = affine.for %k = 0 to {K} iter_args(%x = %zero, %u = %seven)
          -> (i32, i32) {{
        {AB}
        %y = arith.addi %x, %p : i32
        affine.yield %u, %y : i32, i32
      }}
      affine.store %s#0, %c[%i, %j] : memref<{M}x{N}xi32>
      affine.store %s#1, %d[%i, %j] : memref<{M}x{N}xi32>
    }}
  }}
""")
def _(a, b, c, d):
    c[:], d[:] = 0, 7
    for k in range(K):
        c[:], d[:] = d.copy(), c + a[:, k:k + 1] * b[k]


@nest("factor_of_both", {**ABC, "d": (M, N)}, sum_nest(
    AB.replace("%p", "%g") + load("t", "d", "%i, %j", (M, N))
    + "%p = arith.muli %g, %t : i32\n"))
def _(a, b, c, d):
    c[:] = (a @ b) * d


@nest("factor_of_depth", {**ABC, "d": (K,)}, sum_nest(
    AB.replace("%p", "%g") + load("t", "d", "%k", (K,))
    + "%p = arith.muli %g, %t : i32\n"))
def _(a, b, c, d):
    c[:] = (a * d) @ b


@nest("centred_operands", {**ABC, "d": (M,), "e": (N,)}, sum_nest(
    load("q0", "a", "%i, %k", (M, K)) + load("r0", "b", "%k, %j", (K, N))
    + load("qm", "d", "%i", (M,)) + load("rm", "e", "%j", (N,))
    + "%q = arith.subi %q0, %qm : i32\n%r = arith.subi %r0, %rm : i32\n"
    + TIMES))
def _(a, b, c, d, e):
    c[:] = (a - d[:, None]) @ (b - e)


@nest("index_as_data", ABC, sum_nest(
    load("q0", "a", "%i, %k", (M, K)) + load("r", "b", "%k, %j", (K, N))
    + "%n = affine.apply affine_map<(d0, d1) -> (d0 * 3 - d1)>(%i, %k)\n"
    + "%m = arith.index_cast %n : index to i32\n"
    + "%q = arith.addi %q0, %m : i32\n" + TIMES))
def _(a, b, c):
    i, k = np.ogrid[:M, :K]
    c[:] = (a + (i * 3 - k).astype(a.dtype)) @ b


@nest("guarded", ABC, sum_nest(
    AB.replace("%p", "%g")
    + "%n = affine.apply affine_map<(d0, d1) -> (d0 - d1)>(%k, %i)\n"
    + "%o = arith.index_cast %n : index to i32\n"
    + "%f = arith.cmpi sgt, %o, %zero : i32\n"
    + "%p = arith.select %f, %g, %zero : i32\n"))
def _(a, b, c):
    for i in range(M):
        c[i] = a[i, i + 1:] @ b[i + 1:]


@nest("band_of_left_moves_both", {"a": (M + N, K), "b": (K, N), "c": (M, N)},
      sum_nest(load("q", "a", "%i + %j", (M + N, K))
               .replace("%i + %j]", "%i + %j, %k]")
               + load("r", "b", "%k, %j", (K, N)) + TIMES))
def _(a, b, c):
    for j in range(N):
        c[:, j] = a[j:j + M] @ b[:, j]


@nest("correlation", {"a": (M, N + K), "b": (K,), "c": (M, N)}, sum_nest(
    load("q", "a", "%i, %j + %k", (M, N + K)) + load("r", "b", "%k", (K,))
    + TIMES))
def _(a, b, c):
    for j in range(N):
        c[:, j] = a[:, j:j + K] @ b


@nest("halves_and_remainders", {"a": ((M + 1) // 2, K), "b": (K, 8),
                                "c": (M, N)}, sum_nest(
    load("q", "a", "%i floordiv 2, %k", ((M + 1) // 2, K))
    + load("r", "b", "%k, %j mod 8", (K, 8)) + TIMES))
def _(a, b, c):
    for i in range(M):
        for j in range(N):
            c[i, j] = (a[i // 2] * b[:, j % 8]).sum(dtype=a.dtype)


@nest("same_row_twice", {"a": (M, K), "b": (M, K), "c": (M, N)}, sum_nest(
    load("q", "a", "%i, %k", (M, K)) + load("r", "b", "%i, %k", (M, K))
    + TIMES))
def _(a, b, c):
    c[:] = (a * b).sum(1, dtype=c.dtype)[:, None]


@nest("diagonal", {"a": (M, K, M), "b": (K, N), "c": (M, N)}, sum_nest(
    load("q", "a", "%i, %k, %i", (M, K, M)) + load("r", "b", "%k, %j", (K, N))
    + TIMES))
def _(a, b, c):
    for i in range(M):
        c[i] = a[i, :, i] @ b


@nest("flat_buffers", {"a": (M * K,), "b": (K * N,), "c": (M * N,)}, sum_nest(
    load("q", "a", f"%i * {K} + %k", (M * K,))
    + load("r", "b", f"%k * {N} + %j", (K * N,)) + TIMES,
    after=f"affine.store %s, %c[%i * {N} + %j] : memref<{M * N}xi32>"))
def _(a, b, c):
    c[:] = (a.reshape(M, K) @ b.reshape(K, N)).ravel()


@nest("flat_overlap", {"a": (M, K), "b": (K, N), "c": (M * N,)}, sum_nest(
    AB, after=f"affine.store %s, %c[%i * {N - 1} + %j] : memref<{M * N}xi32>"))
def _(a, b, c):
    for i in range(M):
        c[i * (N - 1):i * (N - 1) + N] = a[i] @ b


@nest("gathered_rows", {**ABC, "d": (M,)}, sum_nest(
    "%q = memref.load %a[%row, %k] : memref<45x37xi32>\n"
    + load("r", "b", "%k, %j", (K, N)) + TIMES,
    before=load("t", "d", "%i", (M,)) + f"""
      %n = arith.constant {M} : i32
      %w = arith.remui %t, %n : i32
      %row = arith.index_cast %w : i32 to index"""))
def _(a, b, c, d):
    c[:] = a[d.view(np.uint32) % M] @ b


@nest("scattered_rows", {**ABC, "d": (M,)}, sum_nest(
    AB, before=load("t", "d", "%i", (M,)) + f"""
      %n = arith.constant {M} : i32
      %w = arith.remui %t, %n : i32
      %row = arith.index_cast %w : i32 to index""",
    after=f"memref.store %s, %c[%row, %j] : memref<{M}x{N}xi32>"))
def _(a, b, c, d):
    for i in range(M):
        c[d.view(np.uint32)[i] % M] = a[i] @ b


def program(item: Nest) -> str:
    arguments = ", ".join(
        f"%{name}: memref<{'x'.join(map(str, shape))}xi32>"
        for name, shape in item.arguments.items())
    return f"""{item.maps}
func.func @f({arguments}) {{
  %zero = arith.constant 0 : i32
  %seven = arith.constant 7 : i32
{item.text}
  return
}}
"""
