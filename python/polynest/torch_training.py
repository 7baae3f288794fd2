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
"""

from __future__ import annotations

from typing import Any

import torch
import torch.fx

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
    needed: set[Any] = set(output.args[0][forward_results:])
    for node in reversed(graph.nodes):
        if node in needed:
            needed.update(node.all_input_nodes)
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


def partition(
    joint: torch.fx.GraphModule, inputs: Any, **options: Any
) -> tuple[torch.fx.GraphModule, torch.fx.GraphModule]:
    """The forward and the backward graph, for aot_autograd."""
    import torch._functorch.config as config
    from torch._functorch.partitioners import (
        min_cut_rematerialization_partition,
    )

    _copy_written(joint.graph, options["num_fwd_outputs"])
    # Equal operations of both passes stay two: where a gradient computes
    # something again, such as the scores of attention, that is so that it need
    # not be kept.
    with config.patch(cse=False):
        return min_cut_rematerialization_partition(joint, inputs, **options)
