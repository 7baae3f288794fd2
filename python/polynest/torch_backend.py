# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backend behind torch.compile(f, backend="polynest").

What Dynamo found becomes functional graphs of ATen ops, for inference
(torch_functional.py) and, by AOTAutograd, for training. Each graph is split into
regions that are compiled and ops that stay with eager: polynest.explain(f)(*args)
says which and why, for one call, polynest.report() for all that was compiled,
and the logger "polynest" as it goes, at level INFO. Options are those of
torch_options.py, for example

    torch.compile(f, backend="polynest", options={"freeze": True})

which mode="max-autotune" stands for, too; docs/pytorch.md describes them.

What was compiled is kept, and found again in other processes (polynest.Cache and
torch_cache.py say how).

With `freeze`, graphs without gradients take parameters and buffers as constants:
they are packed at the first call, and again when a tensor is replaced or changed
in place; buffers that the graph itself writes to, and tensors made under
torch.inference_mode, whose changes nobody counts, stay arguments. Changes that
PyTorch does not count (through `.data`, or another view of the memory in C) are
not seen.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import gc
import logging
import math
import operator
import os
import threading
import time
import weakref
from dataclasses import dataclass, field
from typing import Any, Callable, Collection, Iterator, Sequence

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from polynest import (
    _capi,
    _lowering,
    env,
    errors,
    progress,
    torch_cache,
    torch_check,
    torch_dump,
    torch_options,
    torch_repairs,
    torch_rewrites,
    torch_sizes,
    torch_training,
    torch_views,
)
from polynest import torch_frontend as frontend
from polynest.handles import (
    Cache,
    Context,
    Module,
    State,
    Target,
    default_cache,
)
from polynest.locks import ForkLock
from polynest.program import POOL_FROM_BYTES, Program, torch_maker

# -- what was done, for the user -------------------------------------------------


@dataclass
class GraphReport:
    """What became of one graph. Times in seconds. `cached` where it was found
    as a whole: then `compile_s` is what that took."""

    kind: str
    ops: int = 0
    regions: int = 0
    fallbacks: list[frontend.Fallback] = field(default_factory=list)
    frontend_s: float = 0.0
    compile_s: float = 0.0
    stages_ns: dict[str, int] = field(default_factory=dict)
    cached: bool = False

    @property
    def whole(self) -> bool:
        return not self.fallbacks

    def __str__(self) -> str:
        if self.whole:
            fate = "compiled whole"
        else:
            fate = f"{len(self.fallbacks)} left to eager"
        if self.cached:
            times = f"found in the cache in {self.compile_s:.2f} s"
        else:
            times = (
                f"lowered in {self.frontend_s:.2f} s, compiled in "
                f"{self.compile_s:.2f} s"
            )
        lines = [
            f"{self.kind} graph, {self.ops} ops: {fate}; {self.regions} "
            f"region{'' if self.regions == 1 else 's'}, {times}"
        ]
        counts = collections.Counter(map(str, self.fallbacks))
        lines += [
            f"  {text}" + (f" ({n} times)" if n > 1 else "")
            for text, n in counts.items()
        ]
        return "\n".join(lines)


_LOG = logging.getLogger("polynest")
_REPORTS: list[GraphReport] = []
_REPORTS_LIMIT = 1000


def reports() -> list[GraphReport]:
    """One report a graph, in order of compilation."""
    return list(_REPORTS)


def reset_reports() -> None:
    _REPORTS.clear()


def report() -> str:
    """What was compiled so far and what stayed with eager, as text."""
    return "\n".join(map(str, _REPORTS)) or "no graph was compiled yet"


def explain_fallbacks() -> list[frontend.Fallback]:
    """Every op that stayed with eager so far, with the reason."""
    return [f for r in _REPORTS for f in r.fallbacks]


def _add_report(item: GraphReport, seen: list[GraphReport] | None) -> None:
    if len(_REPORTS) >= _REPORTS_LIMIT:
        del _REPORTS[0]
    _REPORTS.append(item)
    if seen is not None:
        seen.append(item)
    for line in str(item).splitlines():
        _LOG.info("%s", line)


@dataclass
class Explanation:
    """What became of one call of a function, see `explain`."""

    result: Any
    graphs: list[GraphReport]
    breaks: list[str]

    def __str__(self) -> str:
        lines = [str(g) for g in self.graphs] or ["no graph was compiled"]
        lines += [f"graph break of Dynamo: {b}" for b in self.breaks]
        return "\n".join(lines)


def explain(
    function: Callable,
    *,
    options: dict[str, Any] | None = None,
    dynamic: bool | None = None,
) -> Callable[..., Explanation]:
    """explain(f)(*args) compiles f anew, calls it, and returns what became of
    it: `graphs`, `breaks` of Dynamo between them, and the `result`. As text,
    each op left to eager with its element type, the reason and its place in
    the user's source."""

    def call(*args: Any, **kwargs: Any) -> Explanation:
        seen: list[GraphReport] = []

        def backend(module, example_inputs):
            return polynest(
                module, example_inputs, options=options, _seen=seen
            )

        counters = torch._dynamo.utils.counters["graph_break"]
        before = collections.Counter(counters)
        result = torch.compile(function, backend=backend, dynamic=dynamic)(
            *args, **kwargs
        )
        breaks = [
            _one_line(text)
            for text in collections.Counter(counters) - before
        ]
        return Explanation(result, seen, breaks)

    return call


def _one_line(message: str) -> str:
    """The headline of one of Dynamo's messages, with the user's place."""
    lines = [x.strip() for x in message.splitlines() if x.strip()]
    frame = frontend.user_frame(message)
    place = f" ({frame[0]}:{frame[1]})" if frame else ""
    return (lines[0] if lines else "") + place


# -- compiled programs -----------------------------------------------------------------

# Graphs of repeated layers, and of a model compiled twice, give equal texts.
_PROGRAMS: "weakref.WeakValueDictionary[tuple, Program]" = (
    weakref.WeakValueDictionary()
)
_PROGRAMS_LOCK = ForkLock()


def _program(
    text: str, options: dict[str, Any], constants: Sequence[int] = ()
) -> Program:
    """The compiled text; `constants` are inputs that will be bound once."""
    cache = default_cache() if options["cache"] else None
    key = (
        text,
        tuple(constants),
        options["opt_level"],
        options["numerics"],
        options["target"],
        options["disabled_passes"],
    )
    with _PROGRAMS_LOCK:
        found = _PROGRAMS.get(key)
    if found is not None:
        return found
    choices = torch_options.choices(options)
    with Context() as context, Target(options["target"]) as target:
        with Module(context, text, "graph") as module:
            for i in constants:
                module.mark_constant(i)
            program = Program(module.executable(target, choices, cache))
    _report_problem(cache)
    with _PROGRAMS_LOCK:
        return _PROGRAMS.setdefault(key, program)


# Problems of caches that were told.
_TOLD: set[str] = set()


def _report_problem(cache: Cache | None) -> None:
    problem = cache.problem if cache is not None else ""
    if problem and problem not in _TOLD:
        _TOLD.add(problem)
        _LOG.warning("compiled code is not kept: %s", problem)


class _Signature:
    """Result makers and free call blocks for one set of sizes."""

    __slots__ = ("makers", "blocks", "inputs", "results")

    def __init__(self, inputs, results, makers) -> None:
        self.inputs, self.results, self.makers = inputs, results, makers
        self.blocks: list[_capi.CallBlock] = []

    def block(self) -> _capi.CallBlock:
        return _capi.CallBlock(self.inputs, self.results)


# What a weight that was bound is known by.
_ADDRESS = torch.Tensor.data_ptr
_VERSION = operator.attrgetter("_version")
_count_writes = torch.autograd.graph.increment_version


class Runner:
    """Calls one compiled region: tensors in, list of tensors out, with None for
    each argument that the program gave a new value where it is.

    In the steady state a call reads the data pointers, checks strides, and
    makes the results; nothing is parsed, compared by name or allocated
    besides. Calls of several threads may overlap.
    """

    # FX names the targets of its calls by these.
    __name__ = "run_region"

    def __init__(
        self,
        program: Program,
        lowered: frontend.Program,
        results: str,
        sources: Sequence[int],
    ) -> None:
        """`sources[i]` is the position, in the runner's arguments, of the
        program's argument i; captured constants have -1. The program's own
        constants are bound once."""
        self.program = program
        self.lowered = lowered
        self.places = list(sources)
        self._entry = program._entry
        self._results = results
        frozen = set(program.constants)
        # Program arguments that a call passes, in order.
        self._passed = [
            i for i in range(len(lowered.arguments)) if i not in frozen
        ]
        places = {i: at * _capi.WORDS for at, i in enumerate(self._passed)}
        self._frozen: list[tuple[int, int, Any]] = []
        # Arguments of a call among them: the graph captured the others.
        self._weights = [
            s for i, s in enumerate(sources) if i in frozen and s >= 0
        ]
        # (what was bound, the state, the tensors behind both)
        self._bound: tuple[list, State, list] | None = None
        self._lock = ForkLock()
        self._permutations = [r.permutation for r in lowered.results]
        # Positions of what is written, and nothing for each in the results.
        self._written = [sources[i] for i in lowered.updates]
        self._nothing: list[None] = [None] * len(self._written)
        self._constants = []
        self._tensors = []
        self._scalars = []
        self._dynamic = []
        for i, (argument, source) in enumerate(
            zip(lowered.arguments, sources)
        ):
            if i in frozen:
                self._frozen.append((i, source, argument))
                continue
            place = places[i]
            if argument.constant is not None:
                held = _captured(argument)
                self._constants.append((place, held.data_ptr(), held))
            elif argument.kind == "scalar":
                self._scalars.append((place, source, argument.dtype))
            else:
                strides = _fixed_strides(argument)
                self._tensors.append((place, source, strides))
                for d, size in enumerate(argument.sizes):
                    if size is None:
                        order = argument.view.order if argument.view else None
                        self._dynamic.append(
                            (i, source, order[d] if order else d, d)
                        )
        self._signatures: dict[tuple, _Signature] = {}
        self._fixed = None if self._dynamic else self._signature(())

    def __call__(self, *arguments: Any) -> list[torch.Tensor]:
        signature = self._fixed
        if signature is None:
            key = tuple(
                [arguments[s].size(d) for _, s, d, _ in self._dynamic]
            )
            signature = self._signatures.get(key)
            if signature is None:
                signature = self._signature(key)
                if len(self._signatures) >= 256:
                    self._signatures.clear()
                self._signatures[key] = signature
        try:
            block = signature.blocks.pop()
        except IndexError:
            block = self.new_block(signature)
        words = block.words
        held = None
        copies = []
        if self._written:
            _count_writes([arguments[s] for s in self._written])
        # A local reference: another thread may bind anew during this call.
        bound = self._binding(arguments) if self._frozen else None
        for place, source, strides in self._tensors:
            tensor = arguments[source]
            if strides is None or tensor.stride() != strides:
                tensor = _as_expected(tensor, strides)
                held = (held, tensor)
                if source in self._written:
                    copies.append((arguments[source], tensor))
            words[place] = tensor.data_ptr()
        for place, source, dtype in self._scalars:
            number = torch.tensor(arguments[source], dtype=dtype)
            held = (held, number)
            words[place] = number.data_ptr()
        results = []
        at = len(self._passed) * _capi.WORDS
        for make in signature.makers:
            words[at], result = make()
            at += _capi.WORDS
            results.append(result)
        if bound is None:
            block.invoke(self._entry)
        else:
            block.invoke_state(bound[1].raw)
        signature.blocks.append(block)
        for tensor, copy in copies:
            tensor.copy_(copy)
        for i, permutation in enumerate(self._permutations):
            if permutation is not None:
                results[i] = results[i].permute(permutation)
        return results + self._nothing if self._nothing else results

    def new_block(self, signature: _Signature) -> _capi.CallBlock:
        block = signature.block()
        block.prepare("pn_entry_invoke", self._entry)
        for place, address, _ in self._constants:
            block.words[place] = address
        return block

    def _binding(self, arguments: Sequence[Any]) -> tuple[list, State, list]:
        """What `_bound` holds, for the frozen arguments as they are now."""
        weights = [arguments[s] for s in self._weights]
        # At every call: without a step of the interpreter for each.
        try:
            now = [*map(_ADDRESS, weights), *map(_VERSION, weights)]
        except RuntimeError:
            # One that was put there since is of inference mode: who knows
            # whether it changed?
            return [], *self._bind(arguments)
        bound = self._bound
        if bound is None or bound[0] != now:
            with self._lock:
                self._bound = bound = (now, *self._bind(arguments))
        return bound

    def _bind(self, arguments: Sequence[Any]) -> tuple[State, list]:
        tensors, fields, held = [], [], []
        for i, source, argument in self._frozen:
            if source < 0:
                tensor = _captured(argument)
            else:
                strides = _fixed_strides(argument)
                tensor = arguments[source].detach()
                # While it is held, no other tensor gets its address, by which
                # it is told from others.
                held.append(tensor)
                if strides is None or tensor.stride() != strides:
                    tensor = _as_expected(tensor, strides)
            tensors.append(tensor)
            fields.append(self._descriptor(i, list(argument.sizes)))
        block = _capi.CallBlock(fields, [])
        for at, tensor in enumerate(tensors):
            block.set_pointer(at, tensor.data_ptr())
        state = State(self._entry, block)
        held += [t for at, t in enumerate(tensors) if state.reads(at)]
        return state, held

    def _descriptor(self, i: int, have: list[int]) -> tuple:
        """Element type, sizes and strides of argument i as it is passed."""
        argument = self.lowered.arguments[i]
        strides = _fixed_strides(argument)
        if argument.view is not None or strides == tuple(_row_major(have)):
            strides = None
        return self.program.inputs[i][0], tuple(have), strides

    def _signature(self, key: tuple[int, ...]) -> _Signature:
        sizes = [list(a.sizes) for a in self.lowered.arguments]
        for (i, _, _, d), size in zip(self._dynamic, key):
            sizes[i][d] = size
        everything = [self._descriptor(i, have) for i, have in enumerate(sizes)]
        inputs = [everything[i] for i in self._passed]
        shapes = [r.sizes for r in self.lowered.results]
        if any(None in s for s in shapes):
            probe = _capi.CallBlock(everything, [])
            shapes = _capi.result_sizes(
                self._entry, probe, [len(s) for s in shapes]
            )
            self._compare(shapes, sizes)
        results = [
            (number, tuple(s), None)
            for (number, _, _), s in zip(self.program.results, shapes)
        ]
        makers = [
            self._maker(r.dtype, s)
            for r, (_, s, _) in zip(self.lowered.results, results)
        ]
        return _Signature(inputs, results, makers)

    def _compare(
        self, shapes: Sequence[Sequence[int]], sizes: Sequence[Sequence[int]]
    ) -> None:
        """Sizes of results are what the graph said; `sizes` are those of the
        arguments. A wrong one would be memory of others."""
        for k, (result, shape) in enumerate(zip(self.lowered.results, shapes)):
            for d, (tree, have) in enumerate(zip(result.expected, shape)):
                want = tree and torch_sizes.value_of(tree, sizes)
                if want is not None and have != want:
                    raise errors.InternalError(
                        f"dimension {d} of result {k} would have {have} "
                        f"elements; the graph says {want}"
                    )

    def _maker(
        self, dtype: torch.dtype, sizes: Sequence[int]
    ) -> Callable[[], tuple[int, Any]]:
        return torch_maker(
            _element_name(dtype), sizes, self.pools(dtype, sizes)
        )

    def pools(
        self, dtype: torch.dtype, sizes: Sequence[int], in_c: bool = False
    ) -> bool:
        """Whether a result comes out of the recycling pool. In C that is quicker
        than torch.empty_strided, which reads its arguments as Python's objects."""
        count = math.prod(sizes)
        pooled = self._results == "pool" or (
            self._results == "auto"
            and (in_c or count * dtype.itemsize >= POOL_FROM_BYTES)
        )
        return pooled and count > 0


def _captured(argument: frontend.Argument) -> torch.Tensor:
    """The tensor that the graph captured, as the program has it: contiguous
    behind the view."""
    return frontend.behind(argument.constant, argument.view).contiguous()


def _fixed_strides(argument: frontend.Argument) -> tuple[int, ...] | None:
    """Strides of the caller's tensor where all are known."""
    strides = argument.strides
    return None if strides is None or None in strides else strides


_ELEMENT_NAMES = {
    **frontend.DTYPE_NAMES,
    torch.bool: "bool",
    torch.uint8: "u8",
}


def _element_name(dtype: torch.dtype) -> str:
    return _ELEMENT_NAMES[dtype]


def _row_major(sizes: Sequence[int]) -> list[int]:
    out, step = [0] * len(sizes), 1
    for d in range(len(sizes) - 1, -1, -1):
        out[d] = step
        step *= max(sizes[d], 1)
    return out


def _as_expected(
    tensor: torch.Tensor, strides: tuple[int, ...] | None
) -> torch.Tensor:
    """A tensor with the strides that the program was compiled for. Guards of
    Dynamo make copies rare: results of eager ops whose strides differ from
    what their fake tensors said."""
    if strides is None:
        return tensor.contiguous()
    if all(
        n == 1 or have == want
        for n, have, want in zip(tensor.shape, tensor.stride(), strides)
    ):
        return tensor
    sizes = tensor.shape
    for d, (n, step) in enumerate(zip(sizes, strides)):
        if step == 0 and n > 1:
            # Expanded: all elements along it are one.
            tensor = tensor.narrow(d, 0, 1)
    made = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype)
    return made.copy_(tensor).expand(sizes)


def _lazy_inputs(graph: torch.fx.Graph) -> list[int]:
    """Inputs whose memory holds other numbers than they stand for: views that
    negate or conjugate. Dynamo guards on which of them do."""
    values = [n.meta.get("val") for n in graph.nodes if n.op == "placeholder"]
    return [
        i
        for i, value in enumerate(values)
        if isinstance(value, torch.Tensor)
        and (value.is_neg() or value.is_conj())
    ]


def _settling(function: Callable, lazy: Sequence[int]) -> Callable:
    def call(*arguments: Any) -> Any:
        settled = list(arguments)
        for i in lazy:
            settled[i] = settled[i].resolve_conj().resolve_neg()
        return function(*settled)

    return call


# -- garbage --------------------------------------------------------------------

_COMPILING_LOCK = threading.Lock()
_COMPILING: list[int] = []  # the threads that compile now
_COLLECTS = False  # whether Python did before


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Python collects no garbage meanwhile. The nodes of graphs are so many new
    objects that it would look through all it has, with PyTorch loaded for 0.25 s;
    behind it, only the new ones have to be."""
    global _COLLECTS
    with _COMPILING_LOCK:
        if not _COMPILING:
            _COLLECTS = gc.isenabled()
            gc.disable()
        _COMPILING.append(threading.get_ident())
    try:
        yield
    finally:
        with _COMPILING_LOCK:
            _COMPILING.remove(threading.get_ident())
            if not _COMPILING and _COLLECTS:
                gc.enable()


def _go_on_in_child() -> None:
    """A forked child has none of the other threads that compiled."""
    compiling = len(_COMPILING)
    own = threading.get_ident()
    _COMPILING[:] = [thread for thread in _COMPILING if thread == own]
    if compiling and not _COMPILING and _COLLECTS:
        gc.enable()
    _COMPILING_LOCK.release()


os.register_at_fork(
    before=_COMPILING_LOCK.acquire,
    after_in_parent=_COMPILING_LOCK.release,
    after_in_child=_go_on_in_child,
)


# -- from a graph to something callable ---------------------------------------------------


class GraphCompiler:
    """Compiles one ATen graph for a backend call's options."""

    def __init__(
        self,
        options: dict[str, Any],
        kind: str,
        kinds: dict[int, str],
        seen: list[GraphReport] | None = None,
        written: Sequence[int | None] = (),
    ) -> None:
        """`written` are numbers of the graph's inputs, new values of which are
        its first results (None: not to be put there). What is compiled gives
        None for those that it has put there itself."""
        self.options = options
        self.written = written
        self.seen = seen
        self.kinds = kinds
        self.report = GraphReport(kind)
        self.dump: torch_dump.GraphDump | None = None
        if options["dump"]:
            self.dump = torch_dump.GraphDump(options["dump"], kind)
        # What a direct entry of the cache needs, where the graph became one
        # program with nothing around it.
        self.straight: _Straight | None = None

    def compile(self, module: torch.fx.GraphModule) -> Callable:
        with progress.shown(), _without_collector():
            built = self._compile(module)
        # Backward passes are compiled later than the rest.
        _capi.release_memory()
        return built

    def _compile(self, module: torch.fx.GraphModule) -> Callable:
        torch_rewrites.rewrite(module)
        graph = module.graph
        torch_repairs.repair(graph)
        if self.dump is not None:
            self.dump.graph(module)
        kinds = self._argument_kinds(graph)
        self.report.ops = sum(
            node.op == "call_function"
            and node.target is not _GETITEM
            and not frontend.is_symbolic_scalar(node)
            for node in graph.nodes
        )
        rejected, regions, level, runners = self._find_or_compile(
            module, kinds
        )
        self._explain(graph, rejected, regions)
        self.report.regions = len(regions)
        self._tell()
        built, self.straight = _assemble(
            module, regions, level, runners, self.options["results"]
        )
        if self.options["check"]:
            self.straight = None
            parts = [_Part(*r) for r in runners]
            checker = torch_check.PartChecker(
                module,
                self.report.kind,
                list(zip(regions, parts)),
                _Recompiler(self, module, kinds),
            )
            built = checker.wrap(built)
        built = _with_threads(built, self.options["threads"])
        lazy = _lazy_inputs(graph)
        if lazy:
            self.straight = None
            return _settling(built, lazy)
        return built

    def leave(self, module: torch.fx.GraphModule, reason: str) -> Callable:
        """Leaves a graph to eager as a whole."""
        nodes = [n for n in module.graph.nodes if n.op.startswith("call_")]
        self.report.ops = len(nodes)
        self.report.fallbacks = [fallback_of(n, reason) for n in nodes]
        self._tell()
        return module.forward

    def _tell(self) -> None:
        """Hands on the report."""
        _add_report(self.report, self.seen)
        if self.dump is not None:
            self.dump.report(self.report)
        if self.report.fallbacks and (
            env.strict() or self.options["strict"]
        ):
            raise errors.UnsupportedError(
                "ops would stay with eager: "
                + "; ".join(map(str, self.report.fallbacks))
            )

    def _find_or_compile(self, module, kinds) -> tuple:
        """Rejected nodes, regions, levels of nodes, and of each region
        program, sources and code."""
        if not self.options["cache"]:
            return self._compile_all(module, kinds)
        cache = default_cache()
        start = time.perf_counter()
        with Target(self.options["target"]) as target:
            try:
                key = torch_cache.graph_key(
                    module,
                    self.report.kind,
                    kinds,
                    self.options,
                    target,
                    self.written,
                )
            except torch_cache.Unkeyable as reason:
                _LOG.debug("not looked up before torch-mlir: %s", reason)
                return self._compile_all(module, kinds)
            found = torch_cache.load_graph(
                cache, key, module, target, self.written
            )
        if found is not None:
            self.report.cached = True
            self.report.compile_s = time.perf_counter() - start
            return found
        before = _guard_count(module.graph)
        rejected, regions, level, runners = self._compile_all(module, kinds)
        # Guards that compiling added would be missing where it is found.
        if _guard_count(module.graph) == before:
            torch_cache.store_graph(
                cache, key, module.graph, rejected, regions, runners
            )
        return rejected, regions, level, runners

    def _compile_all(self, module, kinds) -> tuple:
        graph = module.graph
        rejected = frontend.refusals(graph)
        done: dict[tuple[str, ...], tuple] = {}
        while True:
            regions, level = frontend.partition(graph, rejected)
            frontend.update_in_place(graph, regions, self.written)
            refused = self._compile_regions(
                module, regions, kinds, done, rejected
            )
            if not refused:
                break
        return rejected, regions, level, [done[r.key] for r in regions]

    def _argument_kinds(self, graph: torch.fx.Graph) -> dict[str, str]:
        kinds = {}
        for node in graph.find_nodes(op="placeholder"):
            at = getattr(node.meta.get("desc"), "idx", None)
            if at in self.kinds:
                kinds[node.name] = self.kinds[at]
        return kinds

    def _compile_regions(
        self, module, regions, kinds, done, rejected
    ) -> bool:
        """Fills `done`; True where a region was refused and `rejected` grew,
        so that the graph must be partitioned again."""
        for region in regions:
            if region.key in done:
                continue
            try:
                done[region.key] = self._compile_region(
                    module, region, kinds, self.dump and self.dump.part()
                )
            except frontend.RegionRefused as refusal:
                named = {
                    n.name: refusal.nodes[n.name]
                    for n in region.nodes
                    if n.name in refusal.nodes and n.name not in rejected
                }
                if named:
                    rejected.update(_with_equals(region, named))
                else:
                    rejected.update(
                        self._search(module, region, kinds, refusal.reason)
                    )
                return True
        return False

    def _compile_region(
        self,
        module,
        region,
        kinds,
        dump: torch_dump.PartDump | None = None,
    ) -> tuple:
        start = time.perf_counter()
        what = f"{len(region.nodes)} ops of a {self.report.kind} graph"
        progress.say(f"lowering {what}")
        try:
            lowered, sources = frontend.lower_region(
                module, region, kinds, seen=dump and dump.torch
            )
        except frontend.RegionRefused as refusal:
            if dump is not None:
                dump.refused(refusal.reason)
            raise
        if dump is not None:
            dump.stages(
                lowered.text,
                self.options["target"],
                torch_options.choices(self.options),
                self._frozen(lowered),
            )
        progress.say(f"compiling {what}")
        middle = time.perf_counter()
        self.report.frontend_s += middle - start
        try:
            program = _program(
                lowered.text, self.options, self._frozen(lowered)
            )
        except (
            errors.UnsupportedError,
            errors.VerifyError,
            errors.PassError,
            errors.ParseError,
            errors.InternalError,
            errors.CorruptError,
        ) as error:
            raise self._located(module, region, kinds, error) from error
        self.report.compile_s += time.perf_counter() - middle
        for step, ns in program.timing.items():
            self.report.stages_ns[step] = (
                self.report.stages_ns.get(step, 0) + ns
            )
        return lowered, sources, program

    def _frozen(self, lowered: frontend.Program) -> list[int]:
        """Arguments to bind once; none where gradients are computed."""
        if not self.options["freeze"] or self.report.kind != "inference":
            return []
        return [
            i
            for i, argument in enumerate(lowered.arguments)
            if argument.kind in ("parameter", "buffer", "constant")
            and None not in argument.sizes
        ]

    def _located(self, module, region, kinds, error) -> Exception:
        """The refusal with the guilty nodes: compiles once more, with
        locations in the text."""
        names = {n.name for n in region.nodes}
        text = str(error.message)
        try:
            lowered, _ = frontend.lower_region(
                module, region, kinds, locations=True
            )
            _program(lowered.text, self.options)
        except errors.PolynestError as again:
            places = {}
            for d in again.diagnostics:
                name = d.file.removeprefix("node/")
                if name in names and d.severity == "error":
                    places.setdefault(name, d.text)
            return frontend.RegionRefused(text, places)
        except frontend.RegionRefused:
            pass
        return frontend.RegionRefused(text)

    def _search(self, module, region, kinds, reason) -> dict[str, str]:
        """Finds nodes that are refused alone, one of each sort; where none is,
        the whole region stays with eager."""
        guilty: dict[str, str] = {}
        tried: dict[Any, str | None] = {}
        for node in region.nodes:
            if node.target is _GETITEM or node.target in frontend.TRIVIAL:
                continue
            sort = _sort_of(node)
            if sort not in tried:
                tried[sort] = self._refused_alone(module, node, kinds)
            if tried[sort] is not None:
                guilty[node.name] = tried[sort]
        return guilty or {n.name: reason for n in region.nodes}

    def _refused_alone(self, module, node, kinds) -> str | None:
        members = [node] + [
            u for u in node.users if u.target is _GETITEM
        ]
        chosen = set(members)
        single = frontend.Region(0, members)
        single.inputs = [
            p
            for p in node.all_input_nodes
            if not frontend.is_symbolic_scalar(p)
        ]
        single.outputs = [
            m
            for m in members
            if isinstance(m.meta.get("val"), torch.Tensor)
            and (m is not node or len(chosen) == 1)
        ]
        if not single.outputs:
            return None
        try:
            self._compile_region(module, single, kinds)
        except frontend.RegionRefused as refusal:
            return refusal.reason
        return None

    def _explain(self, graph, rejected, regions) -> None:
        compiled = {n.name for r in regions for n in r.nodes}
        for node in graph.nodes:
            if node.op != "call_function" or node.name in compiled:
                continue
            reason = rejected.get(node.name)
            if reason is None or node.target is _GETITEM:
                continue
            self.report.fallbacks.append(fallback_of(node, reason))


class _Part:
    """The compiled code of one region, to be called with the values of
    `nodes`."""

    def __init__(
        self,
        lowered: frontend.Program,
        sources: Sequence[torch.fx.Node],
        program: Program,
    ) -> None:
        places, self.nodes = _taken(lowered, sources)
        self.call = Runner(program, lowered, "torch", places)


class _Recompiler:
    """Compiles regions of a graph again, with other options."""

    def __init__(self, compiler: GraphCompiler, module, kinds) -> None:
        self.compiler, self.module, self.kinds = compiler, module, kinds
        self.lowered: dict[tuple[str, ...], tuple] = {}

    @functools.cached_property
    def passes(self) -> list[str]:
        """Flags of the optimizations, in the order in which they run."""
        with Target(self.compiler.options["target"]) as target:
            return target.optimizations()

    def __call__(self, region: frontend.Region, **changes: Any) -> _Part:
        found = self.lowered.get(region.key)
        if found is None:
            found = frontend.lower_region(self.module, region, self.kinds)
            self.lowered[region.key] = found
        lowered, sources = found
        program = _program(
            lowered.text,
            {**self.compiler.options, **changes},
            self.compiler._frozen(lowered),
        )
        return _Part(lowered, sources, program)


def _with_threads(function: Callable, count: int) -> Callable:
    """The function with another number of threads, that of the option."""
    if not count:
        return function
    override = _capi.lib().pn_thread_count_override

    def call(*arguments: Any) -> Any:
        before = override(count)
        try:
            return function(*arguments)
        finally:
            override(before)

    return call


def fallback_of(node: torch.fx.Node, reason: str) -> frontend.Fallback:
    frame = frontend.user_frame(node.meta.get("stack_trace"))
    return frontend.Fallback(
        str(node.target),
        reason,
        f"{frame[0]}:{frame[1]}" if frame else "",
        _dtype_name(node),
    )


def _guard_count(graph: torch.fx.Graph) -> int:
    """Guards on sizes of the graph so far."""
    for node in graph.nodes:
        for value in frontend.node_values(node):
            environment = getattr(
                getattr(value, "fake_mode", None), "shape_env", None
            )
            if environment is not None:
                return len(environment.guards)
    return 0


def _dtype_name(node: torch.fx.Node) -> str:
    for source in (node, *node.all_input_nodes):
        for value in frontend.node_values(source):
            if isinstance(value, torch.Tensor):
                name = str(value.dtype).removeprefix("torch.")
                return _ELEMENT_NAMES.get(value.dtype, name)
    return ""


_GETITEM = frontend.operator.getitem


def _sort_of(node: torch.fx.Node) -> tuple:
    """Equal for nodes that lower alike: op, element types, ranks and the
    arguments that are no nodes."""
    shapes = []
    for p in node.all_input_nodes:
        for value in frontend.node_values(p):
            if isinstance(value, torch.Tensor):
                shapes.append((value.dtype, value.dim()))
    plain = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: None)
    return (node.target, tuple(shapes), repr(plain))


def _with_equals(region, named: dict[str, str]) -> dict[str, str]:
    """Nodes of the same sort as a refused one are refused with it: lowering
    stops at the first, and each try costs a lowering."""
    sorts = {}
    for node in region.nodes:
        if node.name in named:
            # A result of several is refused with the op that gives it.
            source = node.args[0] if node.target is _GETITEM else node
            sorts[_sort_of(source)] = named[node.name]
    return {
        n.name: sorts[_sort_of(n)]
        for n in region.nodes
        if n.target is not _GETITEM and _sort_of(n) in sorts
    }


@dataclass
class _Straight:
    """One program and what to do with its arguments and results: `places`
    has the position of each argument among the graph's inputs, -1 for what the
    graph captured; see _arranged for `plan`."""

    program: Program
    lowered: frontend.Program
    places: list[int]
    plan: torch_cache.Plan


def _assemble(
    module, regions, level, runners, results
) -> tuple[Callable, _Straight | None]:
    """The graph with its regions replaced by runners."""
    graph = torch.fx.Graph()
    new: dict[torch.fx.Node, torch.fx.Node] = {}
    for node in module.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            new[node] = graph.node_copy(node)
    compiled = {n: r for r in regions for n in r.nodes}
    by_level = {r.level: i for i, r in enumerate(regions)}
    updated: dict[int, torch.fx.Node] = {}
    numbers = _needed_numbers(module.graph, compiled, runners)
    # Within a level: numbers that the region needs, the region, the rest.
    # Allocations are made where they are used; the results of batch-norm that
    # inference leaves empty are used nowhere.
    order = [
        n
        for n in module.graph.nodes
        if n.op == "call_function"
        and n not in compiled
        and n.target is not frontend.ALLOCATION
        and (not frontend.is_symbolic_scalar(n) or n in numbers)
    ]
    pending = sorted(order, key=lambda n: level[n])
    position = {n: i for i, n in enumerate(order)}
    emitted: set[int] = set()

    def emit_region(i: int) -> None:
        if i in emitted:
            return
        emitted.add(i)
        lowered, sources, program = runners[i]
        places, taken = _taken(lowered, sources)
        runner = Runner(program, lowered, results, places)
        call = graph.call_function(runner, tuple(map(resolve, taken)))
        for k, output in enumerate(regions[i].outputs):
            new[output] = graph.call_function(_GETITEM, (call, k))
        for k, (place, *_) in enumerate(
            regions[i].updates, len(regions[i].outputs)
        ):
            updated[place] = graph.call_function(_GETITEM, (call, k))

    def resolve(node: torch.fx.Node) -> torch.fx.Node:
        if node in new:
            return new[node]
        if node in compiled:
            emit_region(by_level[compiled[node].level])
        else:
            emit(node)
        return new[node]

    def emit(node: torch.fx.Node) -> None:
        for p in node.all_input_nodes:
            resolve(p)
        new[node] = graph.node_copy(node, lambda n: new[n])

    for node in sorted(pending, key=lambda n: (level[n], position[n])):
        if node not in new:
            emit(node)
    for i, region in enumerate(regions):
        if region.updates:
            emit_region(i)
    output = next(iter(module.graph.find_nodes(op="output")))
    outputs = output.args[0]
    if updated:
        outputs = [
            updated[place] if place in updated else value
            for place, value in enumerate(outputs)
        ]
    graph.output(
        torch.fx.node.map_arg(
            outputs, lambda n: n if n.graph is graph else resolve(n)
        )
    )
    for node in list(graph.nodes):
        node.type = None
    graph.eliminate_dead_code()
    simple = _straight(graph)
    if simple is None:
        return torch.fx.GraphModule(module, graph).forward, None
    runner, taken, plan, count = simple
    places = [taken[p] if p >= 0 else -1 for p in runner.places]
    return (
        _arranged(runner, taken, plan, count),
        _Straight(runner.program, runner.lowered, places, plan),
    )


def _taken(
    lowered: frontend.Program, sources: Sequence[torch.fx.Node]
) -> tuple[list[int], list[torch.fx.Node]]:
    """Where each argument of a program stands among those that a call passes
    (-1 for what the graph captured), and the nodes that those come from."""
    places, taken = [], []
    for argument, source in zip(lowered.arguments, sources):
        if argument.constant is not None:
            places.append(-1)
            continue
        places.append(len(taken))
        taken.append(source)
    return places, taken


def _needed_numbers(graph, compiled, runners) -> set:
    live = frontend.live_outside(graph, set(compiled))
    needed = {n for n in live if frontend.is_symbolic_scalar(n)}
    work = [s for _, sources, _ in runners for s in sources]
    while work:
        node = work.pop()
        if node in needed or not frontend.is_symbolic_scalar(node):
            continue
        needed.add(node)
        work.extend(node.all_input_nodes)
    return needed


def _straight(
    graph: torch.fx.Graph,
) -> tuple[Runner, list[int], torch_cache.Plan, int] | None:
    """For a graph of one runner: the runner, the positions of what it takes
    among the inputs, where the results come from, and the number of inputs."""
    placeholders, calls, picks, output = [], [], {}, None
    for node in graph.nodes:
        if node.op == "placeholder":
            placeholders.append(node)
        elif node.op == "output":
            output = node
        elif isinstance(node.target, Runner):
            calls.append(node)
        elif node.target is _GETITEM and node.args[0] in calls:
            picks[node] = node.args[1]
        else:
            return None
    if len(calls) != 1 or not isinstance(output.args[0], (tuple, list)):
        return None
    place = {n: i for i, n in enumerate(placeholders)}
    runner = calls[0].target
    taken = [place[a] for a in calls[0].args]
    plan = []
    for value in output.args[0]:
        if isinstance(value, torch.fx.Node):
            if value in picks:
                plan.append((0, picks[value]))
            elif value in place:
                plan.append((1, place[value]))
            else:
                return None
        else:
            plan.append((2, value))
    return runner, taken, plan, len(placeholders)


def _arranged(
    runner: Runner, taken: list[int], plan: torch_cache.Plan, count: int
) -> Callable:
    """A function of `count` arguments that calls the runner with those of
    positions `taken`. A result is (0, k), the runner's result k, (1, i),
    argument i, or (2, v), the plain value v."""
    if plan == [(0, i) for i in range(len(plan))]:
        if taken == list(range(count)):
            return runner
        return lambda *arguments: runner(*[arguments[i] for i in taken])

    def call(*arguments):
        results = runner(*[arguments[i] for i in taken])
        return [
            results[x] if sort == 0 else arguments[x] if sort == 1 else x
            for sort, x in plan
        ]

    return call


# -- entry point ---------------------------------------------------------------------------


def _input_kinds(example_inputs: Sequence[Any]) -> dict[int, str]:
    kinds = {}
    for i, value in enumerate(example_inputs):
        if isinstance(value, torch.Tensor) and value.is_inference():
            # It has no version: a change in place would not be seen.
            continue
        if isinstance(value, torch.nn.Parameter):
            kinds[i] = "parameter"
        # Dynamo's mark of a tensor that belongs to a module.
        elif getattr(value, "_dynamo_static_input_type", None) is not None:
            kinds[i] = "buffer"
    return kinds


def _unwritten(
    kinds: dict[int, str], written: Collection[int]
) -> dict[int, str]:
    """The kinds of inputs without those that the graph writes to, such as caches
    of decoding: were they frozen, each call would bind all that is, and pack it
    anew."""
    return {i: kind for i, kind in kinds.items() if i not in written}


def _traced_writes(inputs: int, own: int) -> list[int]:
    """What the graph writes that AOTAutograd compiles now: numbers of the graph's
    inputs, and behind these of its own tensors; all where some are not known."""
    meta = torch_cache.traced_metadata()
    infos = meta.input_info if meta else ()
    count = inputs + own
    if len(infos) != count:
        return [*range(count)] if any(i.mutates_data for i in infos) else []
    # AOTAutograd has the graph's own in front.
    return [
        (i - own) % count for i, info in enumerate(infos) if info.mutates_data
    ]


def _fake_inputs(module: torch.fx.GraphModule) -> list[Any]:
    nodes = module.graph.find_nodes(op="placeholder")
    return [n.meta.get("example_value") for n in nodes]


def _in_one_memory(values: Sequence[Any]) -> list[int]:
    """Numbers of the fake inputs that share memory with others, apart or not."""
    memories = {
        i: v.untyped_storage()._cdata
        for i, v in enumerate(values)
        if type(v) is FakeTensor and _has_memory(v)
    }
    counts = collections.Counter(memories.values())
    return [i for i, memory in memories.items() if counts[memory] > 1]


def _seen_apart(
    module: torch.fx.GraphModule, example_inputs: Sequence[Any]
) -> list[Any]:
    """The inputs of a graph as AOTAutograd is to see them: where some share memory
    now, it would keep, unguarded, how they lie in it. Those without gradients are
    apart for it; whether they are is asked at each call."""
    seen = list(example_inputs)
    # These ask where in its memory a tensor lies.
    if any(
        word in str(node.target)
        for node in module.graph.nodes
        for word in ("as_strided", "storage_offset")
    ):
        return seen
    values = _fake_inputs(module)
    for i in _in_one_memory(values):
        v = values[i]
        if not (v.requires_grad or v.is_conj() or v.is_neg()):
            with v.fake_mode:
                seen[i] = torch.empty_strided(
                    v.shape, v.stride(), dtype=v.dtype, device=v.device
                )
    return seen


class _Overlapped(Exception):
    """Inputs of a graph did, some of which it writes, as it was traced."""


def _takes_bases(graph: torch.fx.Graph) -> bool:
    """Whether a graph of AOTAutograd takes one memory in the place of inputs that
    overlapped as it was traced."""
    from torch._functorch._aot_autograd.descriptors import (
        SyntheticBaseAOTInput,
        ViewBaseAOTInput,
    )

    bases = SyntheticBaseAOTInput, ViewBaseAOTInput
    return any(
        isinstance(n.meta.get("desc"), bases)
        for n in graph.find_nodes(op="placeholder")
    )


def polynest(
    module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: dict[str, Any] | None = None,
    mode: str | None = None,
    _seen: list[GraphReport] | None = None,
) -> Callable:
    """The backend function that torch.compile calls with a Dynamo graph."""
    checked = torch_options.checked(options, mode)
    kinds = _input_kinds(example_inputs)
    # Whoever asks what becomes of a graph wants it compiled.
    checked["cache"] = checked["cache"] and _seen is None
    cache = default_cache() if checked["cache"] else None
    key = _direct_key(module, example_inputs, kinds, checked) if cache else None
    found = _find_direct(cache, key, checked) if key else None
    if found is not None:
        return found
    with _without_collector():
        built = _compile_anew(
            module, example_inputs, checked, kinds, _seen, cache, key
        )
    if checked["check"]:
        return torch_check.checked_graph(module, built)
    return built


def _direct_key(module, inputs, kinds, options) -> bytes | None:
    try:
        with Target(options["target"]) as target:
            return torch_cache.direct_key(
                module, inputs, kinds, options, target
            )
    except torch_cache.Unkeyable as reason:
        _LOG.debug("not looked up before AOTAutograd: %s", reason)
        return None


def _find_direct(
    cache: Cache, key: bytes, options: dict[str, Any]
) -> Callable | None:
    """What an equal graph of Dynamo was made into."""
    start = time.perf_counter()
    with Target(options["target"]) as target:
        found = torch_cache.load_direct(cache, key, target)
    if found is None:
        return None
    lowered, places, program, plan, ops = found
    straight = _Straight(program, lowered, places, plan)
    call = _direct_call(straight, options)
    report = GraphReport("inference", ops, 1, cached=True)
    report.compile_s = time.perf_counter() - start
    _add_report(report, None)
    return call


def _direct_call(straight: _Straight, options: dict[str, Any]) -> Callable:
    """A function of all inputs of a graph of Dynamo."""
    return _with_threads(
        _straight_call(straight, options["results"]), options["threads"]
    )


def _straight_call(straight: _Straight, results: str) -> Callable:
    runner = Runner(
        straight.program, straight.lowered, results, straight.places
    )
    quick = _unrolled(runner, straight.plan)
    if quick is not None:
        return _in_c(runner, straight.plan, quick) or quick
    if straight.plan == [(0, i) for i in range(len(straight.plan))]:
        return lambda *arguments: runner(*arguments)

    def call(*arguments):
        outs = runner(*arguments)
        return [outs[x] if sort == 0 else x for sort, x in straight.plan]

    return call


def _unrolled(runner: Runner, plan: torch_cache.Plan) -> Callable | None:
    """What the runner does at a call, without its loops and branches, as text
    that is compiled: those take as long as the rest of a small call. None where
    there is more to do."""
    signature = runner._fixed
    if (
        signature is None
        or runner._frozen
        or runner._scalars
        or runner._constants
        or runner.lowered.updates
        or any(p is not None for p in runner._permutations)
    ):
        return None
    names: dict[str, Any] = {
        "blocks": signature.blocks,
        "new": lambda: runner.new_block(signature),
        "fit": _as_expected,
        "check": _capi.check,
    }
    lines = [
        "def call(*a):",
        "    try:",
        "        block = blocks.pop()",
        "    except IndexError:",
        "        block = new()",
        "    words = block.words",
    ]
    for k, (place, source, strides) in enumerate(runner._tensors):
        names[f"s{k}"] = strides
        lines += [
            f"    t{k} = a[{source}]",
            f"    if t{k}.stride() != s{k}:",
            f"        t{k} = fit(t{k}, s{k})",
            f"    words[{place}] = t{k}.data_ptr()",
        ]
    at = len(runner._passed) * _capi.WORDS
    for k, make in enumerate(signature.makers):
        names[f"m{k}"] = make
        lines.append(f"    words[{at}], r{k} = m{k}()")
        at += _capi.WORDS
    outs = []
    for k, (sort, value) in enumerate(plan):
        names[f"v{k}"] = value
        outs.append(f"r{value}" if sort == 0 else f"v{k}")
    lines += [
        "    error = block.function(*block.arguments)",
        "    if error is not None:",
        "        check(error)",
        "    blocks.append(block)",
        f"    return [{', '.join(outs)}]",
    ]
    exec("\n".join(lines), names)
    # Not among its own globals: a cycle would keep the code for long.
    return names.pop("call")


def _in_c(
    runner: Runner, plan: torch_cache.Plan, otherwise: Callable
) -> Callable | None:
    """The same as a function in C, which is quicker and touches less memory.
    Arguments that are not as the graph was compiled for go to `otherwise`."""
    exchange = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    if exchange is None or any(s is None for _, _, s in runner._tensors):
        return None
    signature = runner._fixed
    results: list[tuple] = []
    for result, (_, sizes, _) in zip(
        runner.lowered.results, signature.results
    ):
        if runner.pools(result.dtype, sizes, in_c=True):
            results.append((_element_name(result.dtype), sizes))
        else:
            shape = (sizes, tuple(_row_major(sizes)))
            results.append((shape, {"dtype": result.dtype}))
    return _capi.call_in_c(
        exchange,
        runner.new_block(signature),
        runner._entry,
        max((source for _, source, _ in runner._tensors), default=-1) + 1,
        [
            (source, place // _capi.WORDS, strides)
            for place, source, strides in runner._tensors
        ],
        results,
        [value if sort == 0 else (value,) for sort, value in plan],
        (torch.Tensor, torch.nn.Parameter),
        torch.empty_strided,
        otherwise,
    )


def _compile_anew(
    module, example_inputs, options, kinds, seen, cache, key
) -> Callable:
    # It starts while the graph is traced.
    _lowering.worker().start()

    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    from polynest import torch_functional, torch_recurrent
    from polynest.torch_decompositions import (
        decomposition_table,
        decompositions,
    )

    _capi.lib()
    _keep_assertions(module)
    module = torch_recurrent.replace(module)
    try:
        graph, written = torch_functional.functional(module, decompositions())
        overlaps = _Overlaps(
            [n.meta["val"] for n in graph.graph.find_nodes(op="placeholder")],
            written,
        )
    except torch_functional.Unusual as reason:
        _LOG.debug("traced by AOTAutograd: %s", reason)
    else:
        kept = _unwritten(kinds, written)
        in_place = [] if _refuses_writes(example_inputs, written) else written
        only = GraphCompiler(options, "inference", kept, seen, in_place)
        built = only.compile(graph)
        if written:
            return _where_apart(_writing(built, written), module, overlaps)
        if only.straight is None:
            return lambda *arguments: built(*arguments)
        return _kept_direct(only, options, cache, key)
    compilers: list[tuple[GraphCompiler, bool]] = []
    own = [*module.parameters(), *module.buffers()]
    all_written: set[int] = set()

    def compiler(kind: str) -> Callable:
        def compile_graph(graph: torch.fx.GraphModule, _: Any) -> Callable:
            if _takes_bases(graph.graph):
                raise _Overlapped
            all_written.update(_traced_writes(len(example_inputs), len(own)))
            apart = _views_apart(graph, kind)
            written: list[int | None] = []
            if kind == "backward" and not options["check"]:
                written += torch_training.place_in_donated(graph.graph)
            elif apart is None:
                written = _written_in_place(
                    graph, kind, module, example_inputs
                )
            compiler = GraphCompiler(
                options, kind, _unwritten(kinds, all_written), seen, written
            )
            plain = kind == "inference" and torch_cache.needs_no_wrapper(
                graph.graph, len(example_inputs)
            )
            if apart is None:
                built = compiler.compile(graph)
            else:
                graph, joined = apart
                built = joined(compiler.compile(graph))
                compiler.straight = None
            if kind == "backward" and written:
                built = _without_first(built, len(written))
            elif any(i is not None for i in written):
                built = _returning(built, written)
            compilers.append((compiler, plain))
            return make_boxed_func(built)

        return compile_graph

    try:
        built = aot_autograd(
            fw_compiler=compiler("forward"),
            bw_compiler=compiler("backward"),
            inference_compiler=compiler("inference"),
            partition_fn=torch_training.partition,
            decompositions=decomposition_table(),
        )(module, _seen_apart(module, example_inputs))
    except (_Overlapped, AssertionError, RecursionError) as error:
        # With gradients, AOTAutograd itself fails at some.
        is_ours = isinstance(error, _Overlapped)
        if not is_ours and not _in_one_memory(_fake_inputs(module)):
            raise
        return GraphCompiler(options, "Dynamo", {}, seen).leave(
            module, "inputs that are written overlap others"
        )
    if all_written:
        overlaps = _Overlaps([*_fake_inputs(module), *own], all_written)
        return _where_apart(built, module, overlaps, own)
    if len(compilers) != 1:
        return built
    only, plain = compilers[0]
    straight = only.straight
    if not plain or straight is None or any(s == 1 for s, _ in straight.plan):
        return built
    return _kept_direct(only, options, cache, key)


_ASSERTIONS = (
    torch._assert_async,
    torch.ops.aten._assert_async,
    torch.ops.aten._assert_async.default,
)


def _keep_assertions(module: torch.fx.GraphModule) -> None:
    """Gives assertions without a message eager's: PyTorch drops these, which have
    no result, as dead code."""
    found = [
        node
        for target in _ASSERTIONS
        for node in module.graph.find_nodes(op="call_function", target=target)
        if len(node.args) + len(node.kwargs) == 1
    ]
    for node in found:
        node.target = torch.ops.aten._assert_async.msg
        node.args = (
            *node.args,
            *node.kwargs.values(),
            "Expected Tensor with single nonzero value, but got zero",
        )
        node.kwargs = {}
    if found:
        module.recompile()


class _Overlaps:
    """Asks whether an input that is written may have elements in common with
    another one: whether their bytes, from the first to the last, do. `values` are
    the fake tensors of the inputs, `written` numbers of some."""

    def __init__(
        self, values: Sequence[Any], written: Collection[int]
    ) -> None:
        # Numbers of the tensors, and of those among them that are written.
        self.places = [
            i
            for i, v in enumerate(values)
            if isinstance(v, torch.Tensor) and _has_memory(v)
        ]
        chosen = set(written)
        self.written = {
            at for at, i in enumerate(self.places) if i in chosen
        }
        spans = [_span(values[i]) for i in self.places]
        self.spans = spans if torch_sizes.are_numbers(spans) else None
        # Where they lay when they were apart: mostly where they still do.
        self.apart: tuple | None = None

    def __call__(self, arguments: Sequence[Any]) -> bool:
        tensors = [arguments[i] for i in self.places]
        addresses = [*map(_ADDRESS, tensors)]
        spans = self.spans or [_span(t) for t in tensors]
        if (addresses, spans) == self.apart:
            return False
        # Ends of all, and of what is written, that begin further in front.
        end = written_end = 0
        for i in sorted(range(len(addresses)), key=addresses.__getitem__):
            begin, is_written = addresses[i], i in self.written
            if spans[i] == 0:
                continue
            if begin < (end if is_written else written_end):
                return True
            end = max(end, begin + spans[i])
            if is_written:
                written_end = max(written_end, begin + spans[i])
        self.apart = addresses, spans
        return False


def _has_memory(value: torch.Tensor) -> bool:
    """Whether it has an address, and all elements from there on."""
    return (
        value.layout == torch.strided
        and value.device.type == "cpu"
        and not is_traceable_wrapper_subclass(value)
    )


def _span(value: torch.Tensor) -> Any:
    """Bytes from the first element to behind the last; 0 without elements, if
    that is known."""
    if torch_sizes.has_zero(value.shape):
        return 0
    last = sum((n - 1) * step for n, step in zip(value.shape, value.stride()))
    return (last + 1) * value.element_size()


def _written_in_place(
    graph: torch.fx.GraphModule,
    kind: str,
    module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
) -> list[int | None]:
    """Of a graph of AOTAutograd without gradients, the inputs whose new values its
    first results are; None for those that have to be copied there. `module` is the
    graph of Dynamo, which holds some of the inputs."""
    from torch._functorch._aot_autograd.descriptors import (
        BufferAOTInput,
        InputMutationAOTOutput,
        ParamAOTInput,
        PlainAOTInput,
    )

    def given(source: Any) -> torch.Tensor | None:
        if type(source) is PlainAOTInput:
            return example_inputs[source.idx]
        if type(source) in (BufferAOTInput, ParamAOTInput):
            return operator.attrgetter(source.target)(module)
        return None

    meta = torch_cache.traced_metadata()
    inputs = list(graph.graph.find_nodes(op="placeholder"))
    if kind != "inference" or not meta or len(inputs) != len(meta.input_info):
        return []
    places = {n.meta.get("desc"): i for i, n in enumerate(inputs)}
    output = next(iter(graph.graph.find_nodes(op="output")))
    written: list[int | None] = []
    for result in output.meta.get("desc", ()):
        if not isinstance(result, InputMutationAOTOutput):
            break
        i, tensor = places.get(result.mutated_input), given(result.mutated_input)
        info = meta.input_info[i] if i is not None else None
        if (
            info is None
            or tensor is None
            or tensor.is_inference()
            or not info.mutates_data
            or info.mutates_metadata
            or info.mutates_storage_metadata
        ):
            i = None
        written.append(i)
    return written


def _returning(built: Callable, written: Sequence[int | None]) -> Callable:
    """Returns, for the first results of `built` that it has put into inputs itself,
    these: AOTAutograd's wrapper copies them, which does nothing where both are one
    memory."""

    def call(*arguments):
        results = list(built(*arguments))
        for at, i in enumerate(written):
            if results[at] is None and i is not None:
                results[at] = arguments[i].detach()
        return results

    return call


def _without_first(built: Callable, count: int) -> Callable:
    """`built` without its first results."""
    return lambda *arguments: built(*arguments)[count:]


def _refuses_writes(inputs: Sequence[Any], written: Sequence[int]) -> bool:
    """Whether there may be an error in writing, which PyTorch's copies raise: of a
    tensor made under torch.inference_mode, outside of it."""
    return any(inputs[i].is_inference() for i in written)


def _writing(built: Callable, written: Sequence[int]) -> Callable:
    """Copies the first results of `built` to the inputs that they are new values
    of, but for those that it has put there itself."""

    def call(*arguments):
        results = built(*arguments)
        for i, value in zip(written, results):
            if value is not None:
                arguments[i].copy_(value)
        return results[len(written) :]

    return call


def _where_apart(
    built: Callable,
    module: torch.fx.GraphModule,
    overlaps: _Overlaps,
    own: Sequence[torch.Tensor] = (),
) -> Callable:
    """`built`, made of a graph of Dynamo, where what it writes shares no memory
    with others, which no guard asks: where it does, what is read after a write may
    have been written, and eager runs the graph. `own` are the graph's tensors."""

    def call(*arguments):
        if overlaps((*arguments, *own)):
            return module.forward(*arguments)
        return built(*arguments)

    return call


def _views_apart(graph: torch.fx.GraphModule, kind: str) -> tuple | None:
    """torch_views.separate for a graph of AOTAutograd."""
    if kind == "inference":
        return torch_views.separate(graph, None, tracked=True)
    meta = torch_cache.traced_metadata()
    if kind != "forward" or not meta:
        return None
    return torch_views.separate(
        graph, meta.num_forward_returns, tracked=False
    )


def _kept_direct(
    compiler: GraphCompiler,
    options: dict[str, Any],
    cache: Cache | None,
    key: bytes | None,
) -> Callable:
    """What calls the one program that a graph became, without AOTAutograd's
    wrapper, which takes longer than a small call."""
    straight = compiler.straight
    if key is not None and -1 not in straight.places:
        torch_cache.store_direct(
            cache,
            key,
            straight.lowered,
            straight.places,
            straight.program,
            straight.plan,
            compiler.report.ops,
        )
    return _direct_call(straight, options)
