# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The option `check`: every call also runs in eager.

Two comparisons. Each compiled part of a graph gets what eager computed before it
and is compared with its own ops run one by one: so the first part that differs
is the guilty one, and a search over the passes, and then over the ops, says more.
The whole of a graph of Dynamo is compared with that graph run in eager, which
also finds what decompositions and partitioning did wrong.

Eager draws the same random numbers in both runs. Results are equal where they
are within a bound of eager's or of what f64 gives: `factor` units times the root of
the number of elements that may have been summed, as in the tests. Where eager
itself is further from f64, so may the compiled part be.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any, Callable, Iterator, Sequence

import torch
import torch.fx

from polynest import errors
from polynest import torch_frontend as frontend

# By element type: the unit, and how many of them. The same as
# test/tolerances.json, which a test compares.
BOUNDS = {
    torch.float16: (2.0**-10, 4.0),
    torch.bfloat16: (2.0**-7, 4.0),
    torch.float32: (2.0**-23, 8.0),
    torch.float64: (2.0**-52, 8.0),
}


# -- comparing two tensors -----------------------------------------------------


def _limit(reference: torch.Tensor, dtype: torch.dtype, n: int) -> Any:
    unit, factor = BOUNDS[dtype]
    size = reference.abs().nan_to_num(0.0, 0.0, 0.0)
    mean = size.mean() if size.numel() else 0.0
    return factor * unit * math.sqrt(max(n, 1)) * (size + mean)


def _bad(
    got: torch.Tensor,
    want: torch.Tensor,
    dtype: torch.dtype,
    n: int,
    error: float = 0.0,
) -> torch.Tensor:
    """Where two floating-point tensors differ by more than the bound, and than
    `error`."""
    got, want = got.double(), want.double()
    special = ~(got.isfinite() & want.isfinite())
    same = (got == want) | (got.isnan() & want.isnan())
    limit = _limit(want, dtype, n).clamp(min=error)
    near = (got - want).abs() <= limit
    return ~(same | (near & ~special))


# How many times as far as eager from what f64 gives is near enough: sums that
# cancel have errors of the size of what is summed, in any order.
_TIMES_EAGER = 16.0


def _error_of(want: torch.Tensor, wide: torch.Tensor) -> float:
    off = (want.double() - wide.double()).abs()
    off = off[off.isfinite()]
    return _TIMES_EAGER * float(off.max()) if off.numel() else 0.0


def difference(
    got: Any, want: Any, wide: Any = None, n: int = 1
) -> str | None:
    """What is different, as text; None where the two are equal."""
    if not isinstance(want, torch.Tensor):
        same = got == want or (got != got and want != want)
        return None if same else f"is {got!r}, eager has {want!r}"
    if not isinstance(got, torch.Tensor):
        return f"is {got!r}, eager has a tensor"
    for what in ("dtype", "shape"):
        a, b = getattr(got, what), getattr(want, what)
        if a != b:
            return f"has {what} {a}, eager has {b}"
    if want.layout != torch.strided or want.dtype.is_complex:
        equal = torch.allclose(
            got.to_dense(), want.to_dense(), 1e-4, 1e-5, equal_nan=True
        )
        return None if equal else "differs"
    got, want = got.detach(), want.detach()
    allowed = ""
    if want.dtype in BOUNDS:
        bad = _bad(got, want, want.dtype, n)
        if bad.any() and isinstance(wide, torch.Tensor):
            bad &= _bad(got, wide, want.dtype, n, _error_of(want, wide))
        allowed = "; allowed is a difference of {:.3g}"
    else:
        bad = got != want
    if not bad.any():
        return None
    place = tuple(int(i) for i in bad.nonzero()[0])
    if allowed:
        limit = _limit(want.double(), want.dtype, n)
        allowed = allowed.format(float(limit[place]))
    return (
        f"element {list(place)} is {got[place].item()!r}, eager has "
        f"{want[place].item()!r}{allowed}; {int(bad.sum())} of {want.numel()} "
        "elements differ"
    )


@contextlib.contextmanager
def _same_numbers(before: torch.Tensor) -> Iterator[None]:
    """Random numbers from `before` on, and then those that would have come."""
    after = torch.get_rng_state()
    torch.set_rng_state(before)
    try:
        yield
    finally:
        torch.set_rng_state(after)


# -- which pass ----------------------------------------------------------------

_PLAIN = "it differs without optimizations, too"


def blame(wrong: Callable[..., bool], passes: Sequence[str]) -> str:
    """Names the pass with which something begins to differ. `wrong` compiles it
    with an `opt_level` or `disabled_passes` and says whether it does."""
    if wrong(opt_level="plain"):
        return _PLAIN
    # With all from `low` on left out it is right, with those from `high` on it
    # is not.
    low, high = 0, len(passes)
    while high - low > 1:
        middle = (low + high) // 2
        if wrong(disabled_passes=list(passes[middle:])):
            high = middle
        else:
            low = middle
    return f"the pass is {passes[low]}, with which it begins to differ"


# -- parts of an ATen graph ----------------------------------------------------


def _in_f64(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype == torch.float32:
        return value.double()
    return value


class PartChecker:
    """Compares the parts of one graph. `parts` are (region, runner), in order;
    `kind` is that of the graph."""

    def __init__(
        self,
        module: torch.fx.GraphModule,
        kind: str,
        parts: Sequence[tuple[frontend.Region, Callable]],
        recompile: Callable[..., Callable],
    ) -> None:
        """`recompile(region, **changes)` gives a part's runner for changed
        options, or for another region; it raises what compiling raises."""
        self.module, self.kind, self.parts = module, kind, parts
        self.recompile = recompile

    def wrap(self, function: Callable) -> Callable:
        def call(*arguments: Any) -> Any:
            before = torch.get_rng_state()
            with torch.no_grad(), _same_numbers(before):
                self.compare(arguments)
            torch.set_rng_state(before)
            return function(*arguments)

        return call

    def compare(self, arguments: Sequence[Any]) -> None:
        # Keeps what every node gave.
        recorder = torch.fx.Interpreter(
            self.module, garbage_collect_values=False
        )
        if any(
            getattr(getattr(n.target, "_schema", None), "is_mutable", False)
            for n in self.module.graph.nodes
        ):
            arguments = _copies(arguments)
        recorder.run(*arguments)
        values = recorder.env
        for number, (region, runner) in enumerate(self.parts):
            found = self._difference(region, runner, values)
            if found is None:
                continue
            node, text = found
            raise errors.DifferenceError(
                f"{self.kind} graph, part {number + 1} of {len(self.parts)}, "
                f"result of {_name(node)}: {text}; "
                + self._guilty(region, values)
            )

    def _difference(
        self, region: frontend.Region, runner: Callable, values: dict
    ) -> tuple[torch.fx.Node, str] | None:
        """The first of a part's results that differs."""
        updated = {target: value for _, value, target in region.updates}
        inputs = [
            values[n].clone() if n in updated else values[n]
            for n in runner.nodes
        ]
        results = runner.call(*inputs)[: len(region.outputs)]
        results += [x for n, x in zip(runner.nodes, inputs) if n in updated]
        outputs = region.outputs + [
            updated[n] for n in runner.nodes if n in updated
        ]
        n = max(
            (
                v.numel()
                for node in (*region.inputs, *region.nodes)
                for v in _tensors(values.get(node))
            ),
            default=1,
        )
        wide: dict | None = None
        for node, result in zip(outputs, results):
            text = difference(result, values[node], None, n)
            if text is None:
                continue
            if wide is None:
                wide = self._wide(region, values)
            text = difference(result, values[node], wide.get(node), n)
            if text is not None:
                return node, text
        return None

    def _wide(self, region: frontend.Region, values: dict) -> dict:
        """What the part's ops give with f64 in place of f32, as far as that
        goes."""
        wide: dict = {}
        look = {n: _in_f64(values[n]) for n in region.inputs}
        for node in region.nodes:

            def of(p: torch.fx.Node) -> Any:
                return look.get(p, values.get(p))

            args, kwargs = torch.fx.node.map_arg(
                (node.args, node.kwargs), of
            )
            kwargs = {
                k: torch.float64 if v is torch.float32 else v
                for k, v in kwargs.items()
            }
            try:
                look[node] = node.target(*args, **kwargs)
            except (RuntimeError, TypeError, IndexError, ValueError):
                break
            wide[node] = look[node]
        return wide

    # -- who is guilty --

    def _guilty(self, region: frontend.Region, values: dict) -> str:
        try:
            return self._guilty_pass(region, values)
        except (errors.PolynestError, frontend.RegionRefused) as error:
            return f"the search for the pass ended with: {error}"

    def _wrong(self, region, values, **changes) -> bool:
        runner = self.recompile(region, **changes)
        return self._difference(region, runner, values) is not None

    def _guilty_pass(self, region: frontend.Region, values: dict) -> str:
        def wrong(disabled_passes: Sequence[str] = (), **changes: Any) -> bool:
            off = ",".join(disabled_passes)
            return self._wrong(region, values, disabled_passes=off, **changes)

        if wrong(opt_level="plain"):
            return f"{_PLAIN}: {self._guilty_op(region, values)}"
        return blame(wrong, self.recompile.passes)

    def _guilty_op(self, region: frontend.Region, values: dict) -> str:
        """The first op that differs when it is compiled alone."""
        for node in region.nodes:
            if not isinstance(node.meta.get("val"), torch.Tensor):
                continue
            single = frontend.Region(0, [node])
            single.inputs = [
                p
                for p in node.all_input_nodes
                if not frontend.is_symbolic_scalar(p)
            ]
            single.outputs = [node]
            try:
                if self._wrong(single, values, opt_level="plain"):
                    return f"the op is {_name(node)}"
            except (errors.PolynestError, frontend.RegionRefused):
                continue
        return "no op does so alone"


def _tensors(value: Any) -> list[torch.Tensor]:
    leaves = torch.utils._pytree.tree_leaves(value)
    return [x for x in leaves if isinstance(x, torch.Tensor)]


def _name(node: torch.fx.Node) -> str:
    frame = frontend.user_frame(node.meta.get("stack_trace"))
    place = f" ({frame[0]}:{frame[1]})" if frame else ""
    return f"{node.target}{place}"


# -- a graph of Dynamo ---------------------------------------------------------


def own_tensors(module: torch.fx.GraphModule) -> dict[str, torch.Tensor]:
    """Those that a graph of Dynamo holds, as an optimizer's step does, by name
    and in the order of AOTAutograd."""
    return dict(
        [
            *module.named_parameters(remove_duplicate=False),
            *module.named_buffers(remove_duplicate=False),
        ]
    )


def _copies(inputs: Sequence[Any]) -> list[Any]:
    """Copies that share memory where the inputs do."""
    storages: dict[int, torch.UntypedStorage] = {}
    copies = []
    for value in inputs:
        if not isinstance(value, torch.Tensor):
            copies.append(value)
            continue
        if value.layout != torch.strided:
            copies.append(value.detach().clone())
            continue
        plain = value.detach()
        storage = plain.untyped_storage()
        copy = storages.get(storage.data_ptr())
        if copy is None or copy.nbytes() != storage.nbytes():
            copy = storage.clone()
            storages[storage.data_ptr()] = copy
        made = torch.empty(0, dtype=plain.dtype).set_(
            copy, plain.storage_offset(), plain.shape, plain.stride()
        )
        if plain.is_conj():
            made = made.conj()
        if plain.is_neg():
            made = torch._neg_view(made)
        copies.append(made)
    return copies


class _WithOthers(torch.fx.Interpreter):
    """Runs a graph with `others` in the place of the tensors that it holds."""

    def __init__(
        self, module: torch.fx.GraphModule, others: dict[str, torch.Tensor]
    ) -> None:
        super().__init__(module)
        self.others = others

    def fetch_attr(self, target: str) -> Any:
        other = self.others.get(target)
        return super().fetch_attr(target) if other is None else other


def checked_graph(
    module: torch.fx.GraphModule, function: Callable
) -> Callable:
    """`function`, what a graph of Dynamo was made into, compared at each call
    with the graph as it is, on copies of its inputs and of what it holds."""
    held = own_tensors(module)

    def call(*inputs: Any) -> Any:
        before = torch.get_rng_state()
        copies = _copies((*inputs, *held.values()))
        results = function(*inputs)
        others = dict(zip(held, copies[len(inputs) :]))
        with torch.no_grad(), _same_numbers(before):
            expected = _WithOthers(module, others).run(*copies[: len(inputs)])
        n = max((t.numel() for t in _tensors((inputs, expected))), default=1)
        pairs = [
            (f"result {i}", got, want)
            for i, (got, want) in enumerate(
                zip(
                    torch.utils._pytree.tree_leaves(results),
                    torch.utils._pytree.tree_leaves(expected),
                )
            )
        ]
        places = [f"input {i}" for i in range(len(inputs))] + [*held]
        pairs += [
            (f"{place} after the call", got, want)
            for place, got, want in zip(
                places, (*inputs, *held.values()), copies
            )
        ]
        for what, got, want in pairs:
            # Each part was compared within the tighter bound of its own size.
            text = difference(got, want, None, 64 * n)
            if text is not None:
                raise errors.DifferenceError(
                    f"{what} of the graph: {text}; each compiled part agrees "
                    "with its ops, so that it is their decomposition that "
                    "differs, or how small errors grow"
                )
        return results

    return call
