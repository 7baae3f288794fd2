# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a graph of Dynamo to a functional one of ATen ops, where AOTAutograd has
nothing else to do.

AOTAutograd runs a whole graph twice, under four modes of dispatch. Of graphs
without gradients, whose sizes are known, all we need of it is which ATen ops each
node is made of. So each node is run once, alone, on fake tensors, by `_Recorder`,
which takes down the ops that decompositions leave; nodes that are equal in
everything that can be seen of their arguments are made of the same ops, and models
repeat their layers. The graph is what AOTAutograd would have made: both go by
PyTorch's own dispatch, and tests compare them.

Writes in place are undone: from an op that writes to an intermediate value on, its
result stands for the value. What of the value's memory was seen through other
views is then out of date, and a graph that looks there is not for us.

Whatever else is unusual is not either, and raises Unusual: inputs that are written,
results that share memory with inputs or each other, random numbers, autocast,
captured tensors, subclasses, gradients, sizes that are not known. AOTAutograd
traces all that.
"""

from __future__ import annotations

import operator
from typing import Any, Callable, Sequence

import torch
import torch.fx
from torch._prims_common import make_contiguous_strides_for
from torch._subclasses.fake_tensor import (
    FakeTensor,
    FakeTensorMode,
    in_kernel_invocation_manager,
    unset_fake_temporarily,
)
from torch.fx._lazy_graph_module import _LazyGraphModule
from torch.fx.node import map_aggregate, map_arg
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    autograd_would_have_decomposed,
)

from polynest import torch_cache, torch_recurrent, torch_sizes
from polynest.torch_decompositions import Decompositions, raw_indices

aten = torch.ops.aten


class Unusual(Exception):
    """What only AOTAutograd knows how to treat; the message says what it is."""


# -- what a node is made of ----------------------------------------------------


class _Ref:
    """In the arguments of a step: the value of that step, or, below 0, what the
    node takes: ~k is the k-th."""

    __slots__ = ("at",)

    def __init__(self, at: int) -> None:
        self.at = at


class _Slot:
    """A tensor while a node is run: what computes its value now, whether that
    is still so, and where the tensor is among what the node takes."""

    __slots__ = ("tensor", "at", "stale", "input")

    def __init__(self, tensor: torch.Tensor, at: int, input: int = -1) -> None:
        self.tensor, self.at, self.input = tensor, at, input
        self.stale = False


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def _place(tensor: torch.Tensor) -> tuple:
    return (
        tuple(tensor.shape),
        tensor.stride(),
        tensor.storage_offset(),
        tensor.dtype,
        tensor.is_conj(),
        tensor.is_neg(),
    )


# Questions, which leave no op behind.
_QUESTIONS = {
    torch.ops.prim.device.default,
    torch.ops.prim.layout.default,
    aten.is_contiguous.default,
    aten.is_contiguous.memory_format,
    aten.is_strides_like_format.default,
    aten.is_non_overlapping_and_dense.default,
    aten.size.default,
    aten.stride.default,
    aten.storage_offset.default,
    aten.numel.default,
    aten.dim.default,
}

# Other views of the same; each tensor made from nothing goes through one.
_SAME = {aten.detach.default, aten.alias.default}

_UNUSUAL_TAGS = {
    torch.Tag.nondeterministic_seeded,
    torch.Tag.data_dependent_output,
    torch.Tag.dynamic_output_shape,
    torch.Tag.inplace_view,
}

# Fake tensors ask other code what results of these look like than tensors of the
# meta device do, to the same end; that takes 0.3 to 1 ms for each size that is new.
_ASKED_OF_META = frozenset(
    [
        aten.add.Tensor,
        aten.addmm.default,
        aten.bmm.default,
        aten.constant_pad_nd.default,
        aten.div.Tensor,
        aten.exp.default,
        aten.mean.dim,
        aten.mm.default,
        aten.mul.Tensor,
        aten.neg.default,
        aten.permute.default,
        aten.rsqrt.default,
        aten.sigmoid.default,
        aten.slice.Tensor,
        aten.sqrt.default,
        aten.sub.Tensor,
        aten.sum.dim_IntList,
        aten.tanh.default,
        aten.unsqueeze.default,
        aten.view.default,
    ]
)
_ALLOCATIONS = frozenset(
    [aten.empty.memory_format, aten.empty_strided.default]
)

# Their results are known by memory, not by the value of what they view.
_BY_MEMORY = {aten.as_strided.default, aten.set_.source_Tensor}


class _Recorder(TorchDispatchMode):
    """Takes down the ATen ops that run, decomposed and without writes."""

    def __init__(
        self,
        table: Decompositions,
        fake_mode: FakeTensorMode,
        inputs: Sequence[torch.Tensor],
    ) -> None:
        super().__init__()
        self.table, self.fake_mode = table, fake_mode
        self.steps: list[tuple] = []
        self.written = False
        self.slots: dict[int, _Slot] = {}
        for k, tensor in enumerate(inputs):
            self.slots[id(tensor)] = _Slot(tensor, ~k, k)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in _QUESTIONS:
            return func(*args, **kwargs)
        if func in _SAME:
            return self._same(func, *args)
        if not isinstance(func, torch._ops.OpOverload) or func in _BY_MEMORY:
            raise Unusual(f"{func}")
        # In the order of AOTAutograd: composites, writes, decompositions.
        if self._is_composite(func, args, kwargs):
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        if func._schema.is_mutable:
            return self._write(func, args, kwargs)
        decomposition = self.table.get(func)
        if decomposition is not None:
            with self:
                result = decomposition(*args, **kwargs)
            if result is not NotImplemented:
                return result
        return self._record(func, args, kwargs)

    @staticmethod
    def _is_composite(func, args, kwargs) -> bool:
        if not func._can_decompose():
            return False
        if any(a.alias_info for a in func._schema.arguments):
            return True
        values: list[Any] = []
        map_aggregate((args, kwargs), values.append)
        return autograd_would_have_decomposed(func, values)

    def _record(self, func, args, kwargs):
        if any(
            t in _UNUSUAL_TAGS for t in func.tags
        ) and not _is_plain_index(func, args):
            raise Unusual(f"{func}")
        taken = map_aggregate(_without_defaults(func, args, kwargs), self._ref)
        result = self._result(func, args, kwargs)
        at = len(self.steps)
        if isinstance(result, (tuple, list)):
            self.steps.append((func, *taken, tuple(result)))
            for k, part in enumerate(result):
                if part is not None:
                    self.steps.append(
                        (operator.getitem, (_Ref(at), k), {}, part)
                    )
                    self._add(part)
        else:
            self.steps.append((func, *taken, result))
            self._add(result)
        return result

    def _result(self, func, args, kwargs):
        """What an op gives for fake tensors."""
        if func in _ALLOCATIONS and kwargs.get("device") == _CPU:
            return _fake(
                self.fake_mode, lambda: func(*args, **kwargs | {"device": "meta"})
            )
        if func not in _ASKED_OF_META or (
            # Where dimensions have one element, strides may differ.
            func is aten.view.default
            and args[0].stride() != make_contiguous_strides_for(args[0].shape)
        ):
            return func(*args, **kwargs)

        def look():
            with in_kernel_invocation_manager(self.fake_mode):
                return func(*args, **kwargs)

        return _fake(self.fake_mode, look)

    def _same(self, func, tensor):
        result = func(tensor)
        if type(result) is not FakeTensor or id(result) in self.slots:
            raise Unusual(f"{func} with an unusual result")
        self.slots[id(result)] = _Slot(result, self.slot(tensor).at)
        return result

    def _add(self, tensor: Any) -> None:
        """The last step made the tensor."""
        if type(tensor) is not FakeTensor or id(tensor) in self.slots:
            raise Unusual("an op with an unusual result")
        if not torch_sizes.are_numbers(tensor.shape):
            raise Unusual("a size that depends on values")
        self.slots[id(tensor)] = _Slot(tensor, len(self.steps) - 1)

    def _ref(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return _Ref(self.slot(value).at)
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            raise Unusual("a size that is not known")
        return value

    def slot(self, tensor: torch.Tensor) -> _Slot:
        slot = self.slots.get(id(tensor))
        if slot is None:
            raise Unusual("a captured tensor")
        if slot.stale:
            raise Unusual("a view of what was written")
        return slot

    def _write(self, func, args, kwargs):
        """`x.op_(...)` as `op(x, ...)`, which stands for x from here on."""
        plain = _without_writing(func)
        target = args[0]
        before = self.slot(target)
        with self:
            new = plain(*args, **kwargs)
        if new is target:
            return target
        after = self.slot(new)
        same = new.dtype == target.dtype and new.shape == target.shape
        if not same or new.stride() != target.stride():
            raise Unusual(f"{func} of another type, size or stride")
        memory, place = _storage(target), _place(target)
        for slot in self.slots.values():
            if _storage(slot.tensor) != memory:
                continue
            if _place(slot.tensor) == place:
                slot.at = after.at
            else:
                slot.stale = True
        before.at = after.at
        self.written = True
        return target


_CPU = torch.device("cpu")


def _fake(
    mode: FakeTensorMode, look: Callable[[], torch.Tensor]
) -> FakeTensor:
    """A fake tensor that looks like the one of the meta device that `look` makes."""
    with unset_fake_temporarily(), torch._C._DisablePythonDispatcher():
        value = look()
    return FakeTensor(mode, value, _CPU)


def _alike(mode: FakeTensorMode, tensor: torch.Tensor) -> FakeTensor:
    return _fake(
        mode,
        lambda: torch.empty_strided(
            tensor.shape,
            tensor.stride(),
            dtype=tensor.dtype,
            device="meta",
            requires_grad=tensor.requires_grad,
        ),
    )


def _without_defaults(
    func: torch._ops.OpOverload, args: Sequence, kwargs: dict
) -> tuple[tuple, dict]:
    """The arguments as the dispatcher passes them on."""
    declared = func._schema.arguments

    def is_default(argument: Any, value: Any) -> bool:
        default = argument.default_value
        return (
            argument.has_default_value()
            and type(value) is type(default)
            and (value is None or type(value) in (bool, int, float, str))
            and value == default
        )

    count = len(args)
    while count and is_default(declared[count - 1], args[count - 1]):
        count -= 1
    by_name = {a.name: a for a in declared}
    return tuple(args[:count]), {
        k: v for k, v in kwargs.items() if not is_default(by_name[k], v)
    }


def _is_plain_index(func: torch._ops.OpOverload, args: Sequence) -> bool:
    """Whether an indexing op has no mask, so that its size is known."""
    masks = (torch.bool, torch.uint8)
    return func is aten.index.Tensor and all(
        i is None or i.dtype not in masks for i in args[1]
    )


def _without_writing(func: torch._ops.OpOverload) -> Callable:
    """The op that computes what `func` writes to its first argument."""
    name = func._schema.name
    arguments = func._schema.arguments
    written = [
        a.name for a in arguments if a.alias_info and a.alias_info.is_write
    ]
    packet = getattr(
        getattr(torch.ops, func.namespace), name.partition("::")[2][:-1], None
    )
    plain = getattr(packet, func._overloadname, None) if packet else None
    if (
        not name.endswith("_")
        or plain is None
        or plain._schema.is_mutable
        or written != [arguments[0].name]
        or any(t in _UNUSUAL_TAGS for t in func.tags)
        or [(a.name, str(a.type)) for a in plain._schema.arguments]
        != [(a.name, str(a.type)) for a in arguments]
    ):
        raise Unusual(f"{func}")
    return plain


def _reads_any(
    recorder: _Recorder, result: Any, tensors: Sequence[torch.Tensor]
) -> bool:
    """Whether one of the tensors was used, or is part of the result."""
    chosen = {recorder.slot(t).at for t in tensors}
    used: list[Any] = []
    for _, args, kwargs, _ in recorder.steps:
        map_aggregate((args, kwargs), used.append)
    _map(result, used.append)
    return any(
        isinstance(v, _Ref)
        and v.at in chosen
        or isinstance(v, torch.Tensor)
        and recorder.slot(v).at in chosen
        for v in used
    )


class _Made:
    """What a sort of node is made of. `steps` are (op, arguments, keywords,
    fake result); `result` is what the node gives, with a _Part for each tensor;
    `writes` has what is written of what the node takes, by number, and the step
    that stands for it from then on."""

    __slots__ = ("steps", "result", "writes")

    def __init__(self, steps: list, result: Any, writes: list) -> None:
        self.steps, self.result, self.writes = steps, result, writes


class _Part:
    """A tensor of a node's result: what computes it, the tensor that it is
    itself among those taken (-1: none), and whose memory it has: ~k for that of
    the k-th taken, or a number that results with the same memory share."""

    __slots__ = ("at", "tensor", "itself", "memory")

    def __init__(self, slot: _Slot, memory: int) -> None:
        self.at, self.tensor, self.itself = slot.at, slot.tensor, slot.input
        self.memory = memory


# -- the graph -----------------------------------------------------------------


class _Memory:
    """The values that are views of each other."""

    __slots__ = ("values", "given", "written")

    def __init__(self, given: bool) -> None:
        self.values: list[_Value] = []
        self.given = given  # an input of the graph, the first of the values
        self.written = False


class _Value:
    """A tensor of Dynamo's graph: the node that computes it now, what it looks
    like, its memory and the byte of that where it begins."""

    __slots__ = ("node", "tensor", "memory", "begin", "look", "stale")

    def __init__(
        self,
        node: torch.fx.Node,
        tensor: torch.Tensor,
        memory: _Memory,
        begin: int = 0,
    ) -> None:
        self.node, self.tensor, self.memory = node, tensor, memory
        self.begin, self.stale = begin, False
        # Some composites go by whether a gradient could be asked for.
        self.look = (
            f"{tensor.dtype}{tuple(tensor.shape)}{tensor.stride()}"
            f"{tensor.requires_grad}"
        )
        memory.values.append(self)


def _map(value: Any, function: Callable[[Any], Any]) -> Any:
    """Of nested tuples and lists, which keep their kind, each item."""
    if isinstance(value, (tuple, list)):
        kind = list if isinstance(value, list) else tuple
        return kind(_map(v, function) for v in value)
    return function(value)


# Methods that are not about values.
_PLAIN_ATTRIBUTES = {"T", "mT"}


class _Builder:
    def __init__(
        self, module: torch.fx.GraphModule, table: Decompositions
    ) -> None:
        self.module, self.table = module, table
        self.graph = torch.fx.Graph()
        self.values: dict[torch.fx.Node, Any] = {}
        self.made: dict[tuple, _Made] = {}
        self.fake_mode: Any = None
        self.inputs: list[_Value] = []
        self.written: list[int] = []  # numbers of inputs

    def build(self) -> torch.fx.GraphModule:
        from torch._dispatch.python import enable_python_dispatcher

        nodes = list(self.module.graph.nodes)
        for i, node in enumerate(
            n for n in nodes if n.op == "placeholder"
        ):
            self._placeholder(node, i)
        if self.fake_mode is None:
            raise Unusual("a graph without inputs")
        with self.fake_mode, enable_python_dispatcher():
            for node in nodes:
                if node.op == "output":
                    self._output(node)
                elif node.op in ("call_function", "call_method"):
                    self._call(node)
                elif node.op != "placeholder":
                    raise Unusual(f"a node of sort {node.op}")
        self.graph.eliminate_dead_code()
        # Nobody calls it: to write its code would take as long as the rest.
        return _LazyGraphModule(torch.nn.Module(), self.graph)

    def _placeholder(self, node: torch.fx.Node, i: int) -> None:
        from torch._functorch._aot_autograd.descriptors import PlainAOTInput

        value = node.meta.get("example_value")
        if type(value) is not FakeTensor and not (
            isinstance(value, FakeTensor)
            and isinstance(value, torch.nn.Parameter)
        ):
            raise Unusual(f"an input of {type(value).__name__}")
        if (
            value.layout != torch.strided
            or value.device.type != "cpu"
            or value.is_quantized
            or value.is_conj()
            or value.is_neg()
            or not torch_sizes.are_numbers((*value.shape, *value.stride()))
        ):
            raise Unusual("an input of unusual layout")
        if value.requires_grad and torch.is_grad_enabled():
            raise Unusual("gradients")
        if self.fake_mode not in (None, value.fake_mode):
            raise Unusual("fake tensors of two modes")
        self.fake_mode = value.fake_mode
        new = self.graph.placeholder(f"arg{i}_1")
        new.meta["val"] = value
        new.meta["desc"] = PlainAOTInput(i)
        self.values[node] = _Value(new, value, _Memory(given=True))
        self.inputs.append(self.values[node])

    def _call(self, node: torch.fx.Node) -> None:
        target = node.target
        if target is torch._C._log_api_usage_once:
            return
        if target is operator.getitem and isinstance(
            self.values.get(node.args[0]), (tuple, list)
        ):
            self.values[node] = self.values[node.args[0]][node.args[1]]
            return
        places: dict[_Value, int] = {}

        def take(value: Any) -> Any:
            if not isinstance(value, _Value):
                return repr(value)
            if value.stale:
                raise Unusual("a view of what was written")
            return places.setdefault(value, len(places)), value.look

        sources = node.all_input_nodes
        looks = repr([_map(self.values[n], take) for n in sources])
        try:
            what = (
                "replaced"
                if target in torch_recurrent.REPLACEMENTS
                else torch_cache.function_text(target)
                if node.op == "call_function"
                else f".{target}"
            )
            text = torch_cache.argument_text(
                (node.args, node.kwargs), {n: k for k, n in enumerate(sources)}
            )
        except torch_cache.Unkeyable as reason:
            raise Unusual(str(reason)) from reason
        _check_function(node, what)
        key = (what, text, looks)
        values = list(places)
        made = self.made.get(key)
        if made is None:
            made = self.made[key] = self._make(node, values)
        self.values[node] = self._splice(node, made, values)

    def _run(
        self, node: torch.fx.Node, args: Any, kwargs: Any, fakes: list
    ) -> tuple[_Recorder, Any]:
        recorder = _Recorder(self.table, self.fake_mode, fakes)
        try:
            with recorder:
                if node.op == "call_function":
                    result = node.target(*args, **kwargs)
                else:
                    result = getattr(args[0], node.target)(*args[1:], **kwargs)
        except Unusual:
            raise
        except Exception as error:  # AOTAutograd knows better, or says so
            raise Unusual(f"{node.target}: {error}") from error
        return recorder, result

    def _make(self, node: torch.fx.Node, values: list[_Value]) -> _Made:
        """Runs a node on tensors that look like `values`."""
        fakes = [_alike(self.fake_mode, v.tensor) for v in values]
        by_value = dict(zip(values, fakes))
        args, kwargs = map_arg(
            (node.args, node.kwargs),
            lambda n: _map(
                self.values[n],
                lambda v: by_value[v] if isinstance(v, _Value) else v,
            ),
        )
        with raw_indices() as raw:
            recorder, result = self._run(node, args, kwargs, fakes)
        if raw and _reads_any(recorder, result, raw):
            recorder, result = self._run(node, args, kwargs, fakes)
        if node.op == "call_method" and _writes_by_name(node.target):
            # Of what writes no value nothing was taken down.
            if not recorder.written:
                raise Unusual(f".{node.target}")
        memories = {_storage(f): ~k for k, f in enumerate(fakes)}
        tensors = 0

        def part(value: Any) -> Any:
            nonlocal tensors
            if not isinstance(value, torch.Tensor):
                if value is None or type(value) in (bool, int, float):
                    return value
                raise Unusual(f"a result of {type(value).__name__}")
            slot = recorder.slot(value)
            if value.is_conj() or value.is_neg():
                raise Unusual("a view that negates or conjugates")
            tensors += 1
            memory = memories.setdefault(_storage(value), len(memories))
            return _Part(slot, memory)

        writes = []
        for k, fake in enumerate(fakes):
            slot = recorder.slot(fake)
            if slot.at != ~k:
                writes.append((k, slot.at))
        result = _map(result, part)
        if not tensors:
            raise Unusual(f"{node.target} without a tensor")
        return _Made(recorder.steps, result, writes)

    def _splice(
        self, node: torch.fx.Node, made: _Made, values: list[_Value]
    ) -> Any:
        """The ops that a node is made of, in the graph."""
        inputs = [v.node for v in values]
        steps: list[torch.fx.Node] = []
        trace = node.meta.get("stack_trace")

        def at(place: int) -> torch.fx.Node:
            return steps[place] if place >= 0 else inputs[~place]

        def resolve(value: Any) -> Any:
            return at(value.at) if isinstance(value, _Ref) else value

        for target, args, kwargs, value in made.steps:
            new = self.graph.create_node(
                "call_function",
                target,
                map_aggregate(args, resolve),
                map_aggregate(kwargs, resolve),
            )
            new.meta["val"] = value
            if trace:
                new.meta["stack_trace"] = trace
            steps.append(new)
        for k, place in made.writes:
            self._written(values[k], at(place))
        memories: dict[int, _Memory] = {
            ~k: v.memory for k, v in enumerate(values)
        }

        def result(value: Any) -> Any:
            if not isinstance(value, _Part):
                return value
            if value.itself >= 0:
                return values[value.itself]
            memory = memories.get(value.memory)
            if memory is None:
                memory = memories[value.memory] = _Memory(given=False)
            begin = value.tensor.storage_offset() * value.tensor.itemsize
            if value.memory < 0:
                begin += values[~value.memory].begin
            return _Value(at(value.at), value.tensor, memory, begin)

        return _map(made.result, result)

    def _written(self, value: _Value, node: torch.fx.Node) -> None:
        if value.memory.given and (
            # Elements that lie in one place.
            torch._debug_has_internal_overlap(value.memory.values[0].tensor)
        ):
            raise Unusual("an input of unusual layout that is written")
        value.memory.written = True
        for other in value.memory.values:
            if other is value:
                continue
            if other.look == value.look and other.begin == value.begin:
                other.node = node
            else:
                other.stale = True
        value.node = node

    def _output(self, node: torch.fx.Node) -> None:
        if not isinstance(node.args[0], (tuple, list)):
            raise Unusual("a result that is no tuple")
        results, memories = [], set()
        for i, value in enumerate(self.inputs):
            if not value.memory.written:
                continue
            if value.stale:
                raise Unusual("a part of an input that is written")
            self.written.append(i)
            results.append(value.node)
        for item in node.args[0]:
            value = self.values.get(item) if isinstance(
                item, torch.fx.Node
            ) else None
            if not isinstance(value, _Value):
                raise Unusual("a result that is no tensor")
            if value.stale:
                raise Unusual("a view of what was written")
            if value.memory.given or id(value.memory) in memories:
                raise Unusual("a result that shares memory")
            memories.add(id(value.memory))
            results.append(value.node)
        self.graph.output(tuple(results))


def _writes_by_name(method: str) -> bool:
    return method.endswith("_") and not method.endswith("__")


def _check_function(node: torch.fx.Node, what: str) -> None:
    """Functions that change PyTorch's state, not values, are not for us."""
    module = what.rpartition(".")[0]
    if what == "getattr":
        if node.args[1] not in _PLAIN_ATTRIBUTES:
            raise Unusual(f"attribute {node.args[1]}")
    elif module in ("torch._C", "math") or module.startswith(
        ("torch.amp", "torch.fx")
    ):
        raise Unusual(what)


def functional(
    module: torch.fx.GraphModule, table: Decompositions
) -> tuple[torch.fx.GraphModule, list[int]]:
    """The graph as AOTAutograd would hand it to an inference compiler, by the
    decompositions of `table`, and numbers of the inputs that are written, whose new
    values are the first results. Raises Unusual."""
    if torch.is_autocast_enabled("cpu"):
        raise Unusual("autocast")
    if torch._C._len_torch_dispatch_stack() or (
        torch._C._functorch.peek_interpreter_stack() is not None
    ):
        raise Unusual("a mode of dispatch")
    builder = _Builder(module, table)
    return builder.build(), builder.written
