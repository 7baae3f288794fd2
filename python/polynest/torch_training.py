# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a forward pass keeps for the backward pass.

AOTAutograd traces both as one graph, which is divided here. Kept is what costs the
fewest bytes: what pointwise operations make is computed again where it is used,
where a loop that reads its operands anyway does that on the way; results of
products, convolutions and reductions are kept. PyTorch's own solver decides by a
minimal cut.

Computing again gives the same bits: pointwise operations and functions round alike
in every loop, vector or not. Products are never computed twice, nor are sums of
more than four.

Inputs that the graph writes have their new values by the time of the backward
pass: what that needs of the old ones is kept as a copy.

The backward pass may write to what was kept for it, where nobody else sees that:
PyTorch calls such tensors donated. A large gradient takes the place of what it is
made of, element by element, such as that of logits theirs.
"""

from __future__ import annotations

import collections
from typing import Any, Iterable

import torch
import torch.fx

from polynest import torch_cache, torch_sizes
from polynest.torch_frontend import VIEWS
from polynest.torch_places import may_be_known

aten = torch.ops.aten


def _copy_written(graph: torch.fx.Graph, forward_results: int) -> None:
    """Has the backward pass read copies of inputs that are written, which it may
    not make itself."""
    from torch._functorch._aot_autograd.descriptors import (
        InputMutationAOTOutput,
    )
    from torch.utils.checkpoint import CheckpointPolicy

    (output,) = graph.find_nodes(op="output")
    written = {
        result.mutated_input
        for result in output.meta.get("desc", ())
        if isinstance(result, InputMutationAOTOutput)
    }
    if not written:
        return
    results = output.args[0][forward_results:]
    needed = _needed(n for n in results if isinstance(n, torch.fx.Node))
    for node in graph.find_nodes(op="placeholder"):
        if node.meta.get("desc") in written and node in needed:
            for copy in _copies(node):
                copy.meta["recompute"] = CheckpointPolicy.MUST_SAVE


def _copies(node: torch.fx.Node) -> list[torch.fx.Node]:
    """The copies that stand between an input and all who read its elements: mostly
    AOTAutograd has made one."""
    readers = [
        user
        for user in node.users
        if isinstance(user.meta.get("val"), torch.Tensor)
        # A copy has other strides where the input has gaps.
        and user.target is not aten.as_strided.default
    ]
    copies = [user for user in readers if user.target is aten.clone.default]
    others = [user for user in readers if user not in copies]
    if others:
        first = next(n for n in node.graph.nodes if n.op != "placeholder")
        with node.graph.inserting_before(first):
            copy = node.graph.call_function(aten.clone.default, (node,))
        with node.meta["val"].fake_mode:
            value = node.meta["val"].clone()
        copy.meta["val"] = value
        for user in others:
            user.replace_input_with(node, copy)
        copies.append(copy)
    return copies


def _recompute_known(graph: torch.fx.Graph) -> None:
    """Has the backward pass compute what no input decides: what adds at places
    should see what these are (`torch_places.py`)."""
    from torch.utils.checkpoint import CheckpointPolicy

    known: set[torch.fx.Node] = set()
    for node in graph.nodes:
        if (
            may_be_known(node)
            and known.issuperset(node.all_input_nodes)
            and "recompute" not in node.meta
        ):
            known.add(node)
            node.meta["recompute"] = CheckpointPolicy.MUST_RECOMPUTE
            node.meta["ac_graph_id"] = 0


def partition(
    joint: torch.fx.GraphModule, inputs: Any, **options: Any
) -> tuple[torch.fx.GraphModule, torch.fx.GraphModule]:
    """The forward and the backward graph, for aot_autograd."""
    import torch._functorch.config as config
    from torch._functorch.partitioners import (
        min_cut_rematerialization_partition,
    )

    _copy_written(joint.graph, options["num_fwd_outputs"])
    _recompute_known(joint.graph)
    # Equal operations of both passes stay two: where a gradient computes
    # something again, such as the scores of attention, that is so that it need
    # not be kept.
    with config.patch(cse=False):
        return min_cut_rematerialization_partition(joint, inputs, **options)


# What no cache holds.
_LARGE_BYTES = 32 << 20

# What two of them read lies in memory; one alone may compute it as it packs.
_PRODUCTS = (
    aten.mm.default,
    aten.bmm.default,
    aten.addmm.default,
    aten.baddbmm.default,
    aten.convolution.default,
)


def place_in_donated(graph: torch.fx.Graph) -> list[int]:
    """Makes gradients that may take the place of donated inputs of a backward graph
    its first results; returns the numbers of these inputs."""
    import torch._functorch.config as config

    meta = torch_cache.traced_metadata()
    donated = meta.bw_donated_idxs if meta and config.donated_buffer else None
    inputs = list(graph.find_nodes(op="placeholder"))
    memories = collections.Counter(
        n.meta["val"].untyped_storage()._cdata
        for n in inputs
        if isinstance(n.meta.get("val"), torch.Tensor)
        and n.meta["val"].layout == torch.strided
    )
    found: dict[int, torch.fx.Node] = {}
    for i in donated or ():
        value = inputs[i].meta.get("val")
        if (
            isinstance(value, torch.Tensor)
            and _is_large(value)
            and memories[value.untyped_storage()._cdata] == 1
        ):
            heir = _heir(inputs[i])
            if heir is not None and heir not in found.values():
                found[i] = heir
    if found:
        (output,) = graph.find_nodes(op="output")
        output.args = ((*found.values(), *output.args[0]),)
    return list(found)


def _is_large(value: torch.Tensor) -> bool:
    return (
        torch_sizes.are_numbers((*value.shape, *value.stride()))
        and value.is_contiguous()
        and value.nbytes >= _LARGE_BYTES
    )


def _heir(source: torch.fx.Node) -> torch.fx.Node | None:
    """What may be written over the input: made of it element by element, for two
    products, by the time that everything else that reads the input has done so."""
    like = source.meta["val"]
    # Who reads the input; what is made of it element by element, and what it may
    # be written as, with views of all.
    same, made, readers = {source}, {source}, set()
    heirs: list[torch.fx.Node] = []
    for node in source.graph.nodes:
        is_view = node.target in VIEWS
        if same.intersection(node.all_input_nodes):
            (same if is_view else readers).add(node)
        if not made.intersection(node.all_input_nodes):
            continue
        if is_view:
            made.add(node)
        elif torch.Tag.pointwise in getattr(node.target, "tags", ()):
            made.add(node)
            value = node.meta["val"]
            if (
                value.dtype == like.dtype
                and value.shape == like.shape
                and value.is_contiguous()
            ):
                heirs.append(node)
    for node in heirs:
        if readers <= _needed([node]) and _feeds_products(node):
            return node
    return None


def _needed(nodes: Iterable[torch.fx.Node]) -> set[torch.fx.Node]:
    """The nodes and all that they are computed from."""
    needed = set(nodes)
    work = [*needed]
    while work:
        for source in work.pop().all_input_nodes:
            if source not in needed:
                needed.add(source)
                work.append(source)
    return needed


def _feeds_products(node: torch.fx.Node) -> bool:
    """Whether two products at least read it, and it is no result."""
    products = 0
    work = [node]
    while work:
        for user in work.pop().users:
            if user.op == "output":
                return False
            if user.target in VIEWS:
                work.append(user)
            products += user.target in _PRODUCTS
    return products >= 2
