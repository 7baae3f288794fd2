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
"""

from __future__ import annotations

from typing import Any

import torch
import torch.fx


def partition(
    joint: torch.fx.GraphModule, inputs: Any, **options: Any
) -> tuple[torch.fx.GraphModule, torch.fx.GraphModule]:
    """The forward and the backward graph, for aot_autograd."""
    import torch._functorch.config as config
    from torch._functorch.partitioners import (
        min_cut_rematerialization_partition,
    )

    # Equal operations of both passes stay two: where a gradient computes
    # something again, such as the scores of attention, that is so that it need
    # not be kept.
    with config.patch(cse=False):
        return min_cut_rematerialization_partition(joint, inputs, **options)
