# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations on lists of tensors, one tensor at a time, for the torch frontend.

Optimizers update all parameters by a few such operations, and eager goes over
memory once for each of them. Taken apart, all that happens to one parameter is a
chain of pointwise operations, which the compiler makes one loop; the loops of all
parameters are one program.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

aten = torch.ops.aten

_PREFIX = "aten::_foreach_"


def _add_product(op: Callable) -> Callable:
    return lambda x, a, b, value=1: op(x, a, b, value=value)


def _norm(x, ord=2, dtype=None):
    return torch.linalg.vector_norm(x, ord, dtype=dtype)


def _copy(x, source, non_blocking=False):
    return aten.copy.default(x, source)


# What is not the function of the same name in `torch`.
_FUNCTIONS: dict[str, Callable] = {
    "addcmul": _add_product(torch.addcmul),
    "addcdiv": _add_product(torch.addcdiv),
    "copy": _copy,
    "max": torch.amax,
    "maximum": torch.clamp_min,
    "minimum": torch.clamp_max,
    "norm": _norm,
    "zero": torch.zeros_like,
}


def _one_by_one(op: torch._ops.OpOverload, function: Callable) -> Callable:
    """The operation as a list of results: lists among the arguments are taken
    apart, anything else goes to each."""
    schema = op._schema.arguments
    lists = {a.name for a in schema if isinstance(a.type, torch.ListType)}
    by_place = [a.name for a in schema if not a.kwarg_only]

    def decomposed(*args: Any, **kwargs: Any) -> list[torch.Tensor]:
        given = {**dict(zip(by_place, args)), **kwargs}
        parts = {n: v for n, v in given.items() if n in lists}
        count = len(next(iter(parts.values())))
        results = []
        for i in range(count):
            here = {n: parts[n][i] if n in parts else v
                    for n, v in given.items()}
            plain = [here.pop(n) for n in by_place if n in here]
            results.append(function(*plain, **here))
        return results

    return decomposed


def table() -> dict:
    """Decompositions of all operations on lists that give new tensors."""
    found = {}
    for full in torch._C._dispatch_get_all_op_names():
        name, _, overload = full.removeprefix("aten::").partition(".")
        if not full.startswith(_PREFIX) or name.endswith("_"):
            continue
        base = full.removeprefix(_PREFIX).partition(".")[0]
        function = _FUNCTIONS.get(base) or getattr(torch, base, None)
        op = getattr(getattr(aten, name), overload or "default")
        if function is None or op._schema.is_mutable:
            continue
        # A tensor of factors would be read on the host.
        if not any(
            a.name == "scalars" and isinstance(a.type, torch.TensorType)
            for a in op._schema.arguments
        ):
            found[op] = _one_by_one(op, function)
    return found
