# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of PyTorch's own test database, compiled and against eager.

The database (op_db of torch.testing) has sample inputs for each operator. Of
these `samples` takes a few small ones; `try_operator` compiles each and says
what became of it. `scripts/check_operators` runs all of them, each under a time
limit, and keeps the answers in opinfo.json, from which docs/operators.md is
made; test_opinfo.py repeats a fixed part. As a program, this file is one of the
workers: a line of JSON for each line that it reads.
"""

from __future__ import annotations

import copy
import functools
import json
import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
for folder in (HERE, HERE.parents[1] / "python"):
    sys.path.insert(0, str(folder))

# What the table says of the compiler is of this one.
os.environ["POLYNEST_CACHE"] = "0"

import torch  # noqa: E402
from comparing import check, longest, tensors  # noqa: E402

from polynest import torch_backend  # noqa: E402

DATA = HERE / "opinfo.json"

# Name of a lane -> element type of the samples, gradients too.
LANES = {
    "f32": (torch.float32, False),
    "i64": (torch.int64, False),
    "bool": (torch.bool, False),
    "bf16": (torch.bfloat16, False),
    "backward": (torch.float32, True),
}

# What an operator comes to, best first; that of an operator is the worst of
# its samples.
FATES = {
    "compiled": "compiled whole and equal to eager",
    "views": "nothing to compute: eager's views, or sizes alone; equal",
    "partial": "equal, with at least one op left to eager",
    "dynamo": "Dynamo or AOTAutograd does not take it, with any backend",
    "upstream": "AOTAutograd with eager kernels differs from eager, too",
    "slow": "not done in time",
    "wrong": "differs from eager",
    "error": "an error that eager does not give",
    "crash": "the process ended",
}
_ORDER = list(FATES)

# Operators that leave their result as the memory was.
UNINITIALIZED = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
}

_LARGEST = 40000  # elements of a sample
_LOOKED_AT = 80  # samples of an operator that are looked at


@functools.cache
def operators() -> dict:
    """Operator -> its entry in the database."""
    from torch.testing._internal import common_methods_invocations as database
    from torch.testing._internal.common_methods_invocations import op_db

    # Its own seeds are set here, in functions that Dynamo does not enter; ours
    # are set by _run.
    database.wrapper_set_seed = _without_seed
    return {name_of(op): op for op in op_db}


def _without_seed(function, *args, **kwargs):
    return function(*args, **kwargs)


def name_of(op) -> str:
    variant = op.variant_test_name
    return f"{op.name}.{variant}" if variant else op.name


def has_lane(op, lane: str) -> bool:
    dtype, gradients = LANES[lane]
    if gradients and not op.supports_autograd:
        return False
    return op.supports_dtype(dtype, "cpu")


# -- samples ------------------------------------------------------------------


def _features(sample) -> set:
    """What tells one sample from others, as far as a compiler cares."""
    inputs = (sample.input, sample.args, sample.kwargs)
    found = {("keyword", k) for k in sample.kwargs}
    found |= {("flag", k, v) for k, v in sample.kwargs.items()
              if isinstance(v, (bool, str))}
    shapes = set()
    for t in tensors(inputs):
        if t.layout != torch.strided:
            found.add("layout")
            continue
        if t.numel() == 0:
            found.add("empty")
        if t.dim() == 0:
            found.add("rank 0")
        if not t.is_contiguous():
            found.add("strided")
        found.add(("rank", t.dim()))
        shapes.add(t.shape)
    if len(shapes) > 1:
        found.add("shapes differ")
    return found


def _size(sample) -> int:
    return longest((sample.input, sample.args, sample.kwargs))


def samples(op, lane: str, most: int) -> list:
    """At most `most` samples: the first, the first made strided, and those
    that show most that is new."""
    dtype, gradients = LANES[lane]
    torch.manual_seed(0)
    pool = []
    for sample in op.sample_inputs("cpu", dtype, requires_grad=gradients):
        if len(pool) == _LOOKED_AT:
            break
        if _size(sample) <= _LARGEST:
            pool.append(sample)
    if not pool:
        return []
    features = [_features(s) for s in pool]
    chosen, seen = [0], set(features[0])
    while len(chosen) < min(most - 1, len(pool)):
        rest = [i for i in range(len(pool)) if i not in chosen]
        best = max(rest, key=lambda i: (len(features[i] - seen), -i))
        chosen.append(best)
        seen |= features[best]
    picked = [pool[i] for i in sorted(chosen)]
    try:
        strided = pool[0].noncontiguous()
    except (RuntimeError, TypeError, ValueError):
        strided = None
    if strided is not None and most > 1:
        picked.insert(1, strided)
    return picked


# -- one sample ----------------------------------------------------------------


def _call(function, gradients):
    """The function of a sample's inputs, with gradients where asked."""

    def forward(*args, **kwargs):
        return function(*args, **kwargs)

    if not gradients:
        return forward, forward

    def with_gradients(run):
        def both(*args, **kwargs):
            outputs = run(*args, **kwargs)
            total = 0.0
            for i, out in enumerate(tensors(outputs)):
                if out.is_complex():
                    out = torch.view_as_real(out)
                if out.requires_grad:
                    # Weights that tell elements apart, for every shape.
                    weight = torch.linspace(
                        0.5 + i, 1.5 + i, out.numel(), dtype=torch.float64
                    ).view(out.shape)
                    total = total + (out * weight.to(out.dtype)).sum()
            leaves = [
                t for t in tensors((args, kwargs)) if t.requires_grad
            ]
            if not isinstance(total, torch.Tensor) or not leaves:
                return outputs, ()
            found = torch.autograd.grad(total, leaves, allow_unused=True)
            return outputs, [g for g in found if g is not None]

        return both

    return forward, with_gradients


def _inputs(sample):
    return copy.deepcopy(
        ((sample.input, *sample.args), dict(sample.kwargs))
    )


class _Difference(Exception):
    """What differs from eager."""


def _compare(have, want, reference, n, values=True) -> None:
    if len(have) != len(want):
        raise _Difference(f"{len(have)} results, not {len(want)}")
    for i, (h, w) in enumerate(zip(have, want)):
        if h.dtype != w.dtype or h.shape != w.shape:
            raise _Difference(
                f"result {i} is {h.dtype} {list(h.shape)}, not {w.dtype} "
                f"{list(w.shape)}"
            )
        h, w = h.detach(), w.detach()
        if not values:
            same = h.stride() == w.stride()
        elif w.layout != torch.strided or w.is_quantized:
            same = torch.allclose(
                h.to_dense().double(), w.to_dense().double(), equal_nan=True
            )
        elif w.dtype.is_complex:
            same = torch.allclose(h, w, 1e-4, 1e-5, equal_nan=True)
        elif w.is_floating_point():
            same = _close(h, w, n) or (
                reference is not None
                and (_close(h, reference[i], n) or _as_near(h, w, reference[i]))
            )
        else:
            same = torch.equal(h, w)
        if not same:
            raise _Difference(f"result {i}: {_brief(h)}, not {_brief(w)}")


def _close(have, reference, n) -> bool:
    try:
        check(have, reference, have.dtype, n)
    except AssertionError:
        return False
    return True


def _as_near(have, want, reference) -> bool:
    """Whether a result is about as near to f64 as eager's own, which is further
    off than the table allows: some gradients cancel."""
    off, own = (
        (t.double() - reference.double()).abs().max() for t in (have, want)
    )
    return bool(off <= 4 * own)


def _brief(tensor) -> str:
    text = str(tensor.flatten()[:6].tolist())
    return text if len(text) < 120 else text[:117] + "..."


def _in_f64(function, args, kwargs, expected, gradients):
    """The results, and gradients where asked, in f64, where their types and shapes are like eager's: what
    is as near to them as the table allows is right, even where eager in f32
    is not."""
    wide = torch.utils._pytree.tree_map(
        lambda x: x.double()
        if isinstance(x, torch.Tensor) and x.dtype == torch.float32
        else x,
        (args, kwargs),
    )
    try:
        found = tensors(_run(function, *wide, gradients))
    except (RuntimeError, TypeError, ValueError):
        return None
    same = [
        (f.dtype == w.dtype or f.dtype == torch.float64) and f.shape == w.shape
        for f, w in zip(found, expected)
    ]
    if len(found) != len(expected) or not all(same):
        return None
    return found


def _run(function, args, kwargs, gradients):
    torch.manual_seed(1)
    if gradients:
        return function(*args, **kwargs)
    with torch.no_grad():
        return function(*args, **kwargs)


def _plain(tree):
    """What is no tensor among the results."""
    leaves = torch.utils._pytree.tree_leaves(tree)
    return [x for x in leaves if not isinstance(x, torch.Tensor)]


def _short(error) -> str:
    lines = [x.strip() for x in str(error).splitlines() if x.strip()]
    text = lines[0] if lines else ""
    return f"{type(error).__name__}: {text}"[:240]


def try_sample(op, sample, lane: str) -> tuple[str, list[str]]:
    """What becomes of one sample, with reasons. Raises what eager raises."""
    function, (_, gradients) = op.get_op(), LANES[lane]
    forward, around = _call(function, gradients)
    torch._dynamo.reset()
    torch_backend.reset_reports()
    torch._dynamo.utils.counters.clear()
    args, kwargs = _inputs(sample)
    eager = around(forward) if gradients else forward
    expected = _run(eager, args, kwargs, gradients)
    wide = None
    dense = all(t.layout == torch.strided for t in tensors(expected))
    if dense:
        everything, named = _inputs(sample)
        wide = _in_f64(eager, everything, named, tensors(expected), gradients)

    def outcome(backend):
        compiled = torch.compile(forward, backend=backend, dynamic=False)
        called = around(compiled) if gradients else compiled
        args, kwargs = _inputs(sample)
        result = _run(called, args, kwargs, gradients)
        n = longest((args, kwargs))
        values = name_of(op) not in UNINITIALIZED
        _compare(tensors(result), tensors(expected), wide, n, values)
        if repr(_plain(result)) != repr(_plain(expected)):
            raise _Difference(f"{_plain(result)}, not {_plain(expected)}")

    try:
        outcome(torch_backend.polynest)
    except Exception as error:  # any error is an answer here
        torch._dynamo.reset()
        fate = "wrong" if isinstance(error, _Difference) else "error"
        try:
            outcome("aot_eager")
        except _Difference as upstream:
            if fate == "wrong":
                return "upstream", [str(upstream)]
        except Exception as upstream:
            if fate == "error":
                return "dynamo", [_short(upstream)]
        return fate, [str(error) if fate == "wrong" else _short(error)]
    left = torch_backend.explain_fallbacks()
    if left:
        return "partial", sorted({f"{f.op}: {f.reason}" for f in left})
    breaks = torch._dynamo.utils.counters["graph_break"]
    if breaks:
        return "dynamo", sorted({_first_line(b) for b in breaks})
    if any(r.regions for r in torch_backend.reports()):
        return "compiled", []
    return "views", []


def _first_line(text) -> str:
    lines = [x.strip() for x in str(text).splitlines() if x.strip()]
    return " ".join(lines[:2])[:240]


def try_operator(name: str, lane: str, most: int) -> dict:
    """What becomes of one operator: {"fate", "samples", "compiled",
    "reasons", "complex"}."""
    op = operators()[name]
    fates, reasons, shapes = [], {}, {"complex": False}
    try:
        chosen = samples(op, lane, most)
    except Exception as error:  # of the database, not of ours
        return {"fate": None, "reasons": {f"no samples, {_short(error)}": 1}}
    for sample in chosen:
        try:
            args, kwargs = _inputs(sample)
            out = _run(op.get_op(), args, kwargs, LANES[lane][1])
        except Exception:
            continue
        if any(t.dtype.is_complex for t in tensors(out)):
            shapes["complex"] = True
        try:
            fate, why = try_sample(op, sample, lane)
        except Exception as error:
            fate, why = "error", [f"of the test itself, {_short(error)}"]
        fates.append(fate)
        for reason in why:
            reasons[reason] = reasons.get(reason, 0) + 1
    if not fates:
        return {"fate": None, "reasons": {"no sample runs in eager": 1}}
    # One compiled sample is enough for an operator that else makes views.
    worst = max(fates, key=_ORDER.index)
    if worst == "views" and "compiled" in fates:
        worst = "compiled"
    return {
        "fate": worst,
        "samples": len(fates),
        "compiled": sum(f in ("compiled", "views") for f in fates),
        "reasons": reasons,
        **shapes,
    }


def main() -> None:
    """A worker: {"op", "lane", "samples"} in, an answer out, line by line."""
    sink = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for line in sys.stdin:
        asked = json.loads(line)
        answer = try_operator(asked["op"], asked["lane"], asked["samples"])
        sink.write(json.dumps(answer) + "\n")
        sink.flush()


if __name__ == "__main__":
    main()
