# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of a graph that are views of each other's memory, or of an input's.

What is compiled gives each result memory of its own. Where AOTAutograd hands out
a graph with results that share memory, a later write to one must be seen in the
others. So the graph is compiled without them: it gives what they are views of,
and the sizes that they need; PyTorch makes the views of that after each call.

Views of inputs AOTAutograd makes itself, but where sizes are not known it takes
strides and place in memory from what the graph gives. So they are views there, too.

Gradients, and what a forward pass keeps for the other, are nobody's to write.
"""

from __future__ import annotations

import copy
import operator
from typing import Any, Callable

import torch
import torch.fx

from polynest import torch_frontend as frontend

aten = torch.ops.aten

# Views whose schemas do not say so.
_VIEWS = {aten._unsafe_view.default, aten._reshape_alias.default}


def _memory(value: Any) -> int | None:
    """Equal for tensors of one memory."""
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return None
    return value.untyped_storage()._cdata


def _viewed(node: torch.fx.Node) -> torch.fx.Node | None:
    """What a node makes a view of, or views."""
    if node.op != "call_function" or not node.all_input_nodes:
        return None
    first = node.all_input_nodes[0]
    if node.target is operator.getitem:
        return first if _viewed(first) is not None else None
    is_view = isinstance(node.target, torch._ops.OpOverload) and (
        node.target.is_view or node.target in _VIEWS
    )
    return first if is_view else None


def _chain(node: torch.fx.Node) -> list[torch.fx.Node]:
    """From the node that owns the memory to this one."""
    chain, memory = [node], _memory(node.meta.get("val"))
    while (source := _viewed(chain[-1])) is not None:
        value = source.meta.get("val")
        if isinstance(value, torch.Tensor) and _memory(value) != memory:
            break
        chain.append(source)
    return chain[::-1]


def _shared(results: list[Any]) -> list[list[torch.fx.Node]]:
    """Of each result that has its memory from another node of the graph, an input
    or one that gives several results theirs, the chain."""
    by_memory: dict[int, dict[torch.fx.Node, None]] = {}
    for node in results:
        if isinstance(node, torch.fx.Node):
            memory = _memory(node.meta.get("val"))
            if memory is not None:
                by_memory.setdefault(memory, {})[node] = None
    found = []
    for nodes in by_memory.values():
        chains = [_chain(n) for n in nodes]
        base = chains[0][0]
        if any(c[0] is not base for c in chains):
            continue
        if base.op == "placeholder" or (
            base.op == "call_function"
            and len(nodes) > 1
            and frontend.memory_order(base.meta["val"]) is not None
        ):
            found += [c for c in chains if len(c) > 1]
    return found


def separate(
    module: torch.fx.GraphModule, count: int | None, tracked: bool
) -> tuple[torch.fx.GraphModule, Callable[[Callable], Callable]] | None:
    """The graph without those of its first `count` results (None: of all) that
    are views of others, and what makes of its callable that of the whole graph.
    None where there are no such results. `tracked`: autograd is to know which
    memory the views are of."""
    output = next(iter(module.graph.find_nodes(op="output")))
    if not isinstance(output.args[0], (tuple, list)):
        return None
    if not _shared(list(output.args[0])[:count]):
        return None
    smaller = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    output = next(iter(smaller.graph.find_nodes(op="output")))
    results = list(output.args[0])
    chains = _shared(results[:count])
    replayed: dict[torch.fx.Node, None] = {}
    needed: dict[torch.fx.Node, None] = {}
    inputs = list(smaller.graph.find_nodes(op="placeholder"))
    bases: dict[torch.fx.Node, None] = {}
    for chain in chains:
        of_input = chain[0].op == "placeholder"
        (bases if of_input else needed)[chain[0]] = None
        for node in chain[1:]:
            replayed[node] = None
            for other in node.all_input_nodes:
                if frontend.is_symbolic_scalar(other):
                    needed[other] = None
    views = {c[-1] for c in chains}
    # What the smaller graph gives: the other results, then what is needed. Inputs
    # are at hand.
    kept = [
        r for r in results if not isinstance(r, torch.fx.Node) or r not in views
    ]
    there = {r for r in kept if isinstance(r, torch.fx.Node)}
    kept += [n for n in needed if n not in there]

    after = torch.fx.Graph()
    new: dict[torch.fx.Node, torch.fx.Node] = {}
    given = [after.placeholder(f"given{i}") for i in range(len(kept))]
    for i, value in enumerate(kept):
        if isinstance(value, torch.fx.Node):
            new[value] = given[i]
    for node in bases:
        new[node] = after.placeholder(node.name)
    for node in smaller.graph.nodes:
        if node in replayed:
            new[node] = after.node_copy(node, lambda n: new[n])
            new[node].meta.clear()
    after.output(torch.fx.node.map_arg(tuple(results), lambda n: new[n]))
    make = torch.fx.GraphModule(torch.nn.Module(), after).forward

    places = [inputs.index(node) for node in bases]
    output.args = (tuple(kept),)
    output.meta.pop("desc", None)
    for node in reversed(replayed):
        if not node.users:
            smaller.graph.erase_node(node)
    smaller.recompile()

    def joined(function: Callable) -> Callable:
        def call(*arguments: Any) -> Any:
            given = function(*arguments)
            with torch.set_grad_enabled(tracked):
                return make(*given, *[arguments[i] for i in places])

        return call

    return smaller, joined
