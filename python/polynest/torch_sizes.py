# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions of sizes that are not known, as lists that can be kept in files.

`["number", n]`, `["place", argument, dimension]` (or what else a caller names a
symbol by), `["not", tree]`, or an operator and two trees. See
`exported.insert_assertions` for what becomes of conditions in programs.
"""
from __future__ import annotations

import operator
from typing import Any, Callable, Iterable, Sequence

from polynest import errors

_OPERATORS = {
    "Add": "+",
    "Mul": "*",
    "FloorDiv": "//",
    "CleanDiv": "//",
    "Mod": "%",
    "PythonMod": "%",
    "Max": "max",
    "Min": "min",
    "Equality": "==",
    "Unequality": "!=",
    "StrictLessThan": "<",
    "LessThan": "<=",
    "StrictGreaterThan": ">",
    "GreaterThan": ">=",
    "And": "and",
    "Or": "or",
    "Not": "not",
}

_ARITHMETIC = {
    "+": operator.add,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "max": max,
    "min": min,
}


def are_numbers(sizes: Iterable) -> bool:
    """Whether no size is symbolic, even one that can only be one number."""
    return all(type(n) is int for n in sizes)


def has_zero(sizes: Iterable) -> bool:
    """Whether one is the number 0, not symbolic."""
    return any(type(n) is int and n == 0 for n in sizes)


def tree_of(expression: Any, place_of: Callable[[Any], list | None]) -> list:
    """A sympy expression as a tree; `place_of` a symbol is its tree, or None."""
    if expression.is_Symbol:
        place = place_of(expression)
        if place is None:
            raise errors.UnsupportedError(
                f"size {expression} is that of no argument"
            )
        return place
    if expression.is_Integer:
        return ["number", int(expression)]
    name = type(expression).__name__
    found = _OPERATORS.get(name)
    if name == "Pow" and expression.exp.is_Integer and expression.exp > 0:
        base = tree_of(expression.base, place_of)
        tree = base
        for _ in range(int(expression.exp) - 1):
            tree = ["*", tree, base]
        return tree
    if found is None or not expression.args:
        raise errors.UnsupportedError(
            f"a condition on sizes has no form in the library: {expression}"
        )
    trees = [tree_of(a, place_of) for a in expression.args]
    if found == "not":
        return ["not", trees[0]]
    tree = trees[0]
    for more in trees[1:]:
        tree = [found, tree, more]
    return tree


def value_of(tree: Sequence, sizes: Sequence[Sequence[int]]) -> int | None:
    """The number that a tree of arithmetic stands for, where `sizes` are those
    of all arguments; None for a division by zero."""
    name, *rest = tree
    if name == "number":
        return rest[0]
    if name == "place":
        argument, dimension = rest
        return sizes[argument][dimension]
    a, b = (value_of(t, sizes) for t in rest)
    if a is None or b is None or (name in ("//", "%") and b == 0):
        return None
    return _ARITHMETIC[name](a, b)
