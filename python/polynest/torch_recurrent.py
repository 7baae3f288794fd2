# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of LSTMs, GRUs and RNNs as a product and a loop over time.

PyTorch unrolls GRUs and RNNs where they are traced, a copy of a cell for each
step, and hands LSTMs to oneDNN. Here the inputs of all steps are multiplied at
once; what is left is an op of one cell that runs over time, whose loop
`_recurrences.py` writes. What the ops below compute where they stay with eager
is said by PyTorch's own functions.

Left to PyTorch: gradients, dropout, projections, packed sequences, autocast,
and types other than f32 and f64 (oneDNN rounds a state of bf16 in each step).
"""

from __future__ import annotations

import copy
from typing import Any, Callable, Sequence

import torch
import torch.fx
import torch.nn.functional as F

aten = torch.ops.aten

# Of each op, the inputs are [time, batch, gates * width] with what does not
# depend on the state added up, `state` is [batch, width], `weight` is
# [gates * width, width]. The first result is the state after each step, in the
# order of the inputs also where `reverse` runs from the last one to the first.


def _steps(cell: Callable, inputs, carried: list, reverse: bool) -> list:
    """All steps of a cell: (input, *carried) -> carried."""
    out = [None] * inputs.size(0)
    places = range(len(out))
    for t in reversed(places) if reverse else places:
        carried = cell(inputs[t], *carried)
        out[t] = carried[0]
    return [torch.stack(out), *carried]


@torch.library.custom_op(
    "polynest::lstm_steps",
    mutates_args=(),
    schema="(Tensor inputs, Tensor state, Tensor cell, Tensor weight, "
    "bool reverse) -> (Tensor, Tensor)",
)
def lstm_steps(inputs, state, cell, weight, reverse):
    def step(x, h, c):
        i, f, g, o = (F.linear(h, weight) + x).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return [o.sigmoid() * c.tanh(), c]

    out, _, last = _steps(step, inputs, [state, cell.clone()], reverse)
    return out, last


@torch.library.custom_op(
    "polynest::gru_steps",
    mutates_args=(),
    schema="(Tensor inputs, Tensor state, Tensor weight, Tensor bias, "
    "bool reverse) -> Tensor",
)
def gru_steps(inputs, state, weight, bias, reverse):
    """`bias`, [width], is what the new state's product gets before it is
    multiplied by the reset gate."""

    def step(x, h):
        r, z, n = F.linear(h, weight).chunk(3, -1)
        xr, xz, xn = x.chunk(3, -1)
        n = ((n + bias) * (r + xr).sigmoid() + xn).tanh()
        return [(h - n) * (z + xz).sigmoid() + n]

    return _steps(step, inputs, [state], reverse)[0]


def _rnn_steps(function: Callable) -> Callable:
    def steps(inputs, state, weight, reverse):
        def step(x, h):
            return [function(F.linear(h, weight) + x)]

        return _steps(step, inputs, [state], reverse)[0]

    return steps


_RNN_SCHEMA = "(Tensor inputs, Tensor state, Tensor weight, bool reverse) -> Tensor"
rnn_tanh_steps = torch.library.custom_op(
    "polynest::rnn_tanh_steps",
    _rnn_steps(torch.tanh),
    mutates_args=(),
    schema=_RNN_SCHEMA,
)
rnn_relu_steps = torch.library.custom_op(
    "polynest::rnn_relu_steps",
    _rnn_steps(torch.relu),
    mutates_args=(),
    schema=_RNN_SCHEMA,
)


def _states(inputs, state):
    return inputs.new_empty((inputs.size(0), state.size(0), state.size(1)))


@lstm_steps.register_fake
def _(inputs, state, cell, weight, reverse):
    return _states(inputs, state), torch.empty_like(
        cell, memory_format=torch.contiguous_format
    )


@gru_steps.register_fake
def _(inputs, state, weight, bias, reverse):
    return _states(inputs, state)


@rnn_tanh_steps.register_fake
@rnn_relu_steps.register_fake
def _(inputs, state, weight, reverse):
    return _states(inputs, state)


# -- layers -----------------------------------------------------------------------

_Tensors = Sequence[torch.Tensor]


def _products(x, batch_first, weight, bias):
    """What the inputs of all steps add to the gates, [time, batch, ...]."""
    inputs = F.linear(x, weight, bias)
    return inputs.transpose(0, 1) if batch_first else inputs


def _lstm_layer(x, batch_first, states, weights, reverse):
    w_ih, w_hh, *biases = weights
    bias = torch.add(*biases) if biases else None
    inputs = _products(x, batch_first, w_ih, bias)
    out, cell = lstm_steps(inputs, *states, w_hh, reverse)
    return out, [out[0 if reverse else -1], cell]


def _gru_layer(x, batch_first, states, weights, reverse):
    w_ih, w_hh, *biases = weights
    width = w_hh.size(1)
    inner = w_hh.new_zeros(width)
    bias = None
    if biases:
        b_ih, b_hh = biases
        inner = b_hh[2 * width :]
        known = b_ih[: 2 * width] + b_hh[: 2 * width]
        bias = torch.cat([known, b_ih[2 * width :]])
    inputs = _products(x, batch_first, w_ih, bias)
    out = gru_steps(inputs, *states, w_hh, inner, reverse)
    return out, [out[0 if reverse else -1]]


def _rnn_layer(steps: Callable) -> Callable:
    def layer(x, batch_first, states, weights, reverse):
        w_ih, w_hh, *biases = weights
        bias = torch.add(*biases) if biases else None
        inputs = _products(x, batch_first, w_ih, bias)
        out = steps(inputs, *states, w_hh, reverse)
        return out, [out[0 if reverse else -1]]

    return layer


def _all_layers(
    layer: Callable,
    x: torch.Tensor,
    states: Sequence[_Tensors],
    params: _Tensors,
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[torch.Tensor, ...]:
    """`states` are those that a cell carries, each with one for a layer and
    direction."""
    count = 4 if has_biases else 2
    directions = 2 if bidirectional else 1
    last: list[list[torch.Tensor]] = []
    for n in range(num_layers):
        outs = []
        for d in range(directions):
            k = n * directions + d
            out, final = layer(
                x,
                # Later layers get what the ones before them left.
                batch_first and n == 0,
                [s[k] for s in states],
                params[k * count : (k + 1) * count],
                d == 1,
            )
            outs.append(out)
            last.append(final)
        x = torch.cat(outs, -1) if bidirectional else outs[0]
    if batch_first:
        x = x.transpose(0, 1)
    return x, *(torch.stack(s) for s in zip(*last))


def _is_ours(tensors: _Tensors, dropped: float) -> bool:
    first = tensors[0]
    return (
        not dropped
        and first.dtype in (torch.float32, torch.float64)
        and all(
            t.dtype == first.dtype and t.device.type == "cpu" for t in tensors
        )
        and not torch.is_autocast_enabled("cpu")
        and not (
            torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
        )
    )


def _replacement(function: Callable, layer: Callable, carried: int) -> Callable:
    """PyTorch's `function`, with our layers for the calls that they cover."""

    def replaced(*args: Any, **kwargs: Any) -> Any:
        # The other overload takes a packed sequence, sizes of batches second.
        if kwargs or len(args) != 9 or isinstance(args[3], (list, tuple)):
            return function(*args, **kwargs)
        x, states, params, has_biases, layers, dropout, train, both, first = args
        if carried == 1:
            states = [states]
        width = states[0].size(-1)
        dropped = dropout if train and layers > 1 else 0.0
        if (
            any(s.size(-1) != width for s in states)
            or len(params)
            != layers * (2 if both else 1) * (4 if has_biases else 2)
            or not _is_ours([x, *states, *params], dropped)
        ):
            return function(*args)
        return _all_layers(
            layer, x, states, params, has_biases, layers, both, first
        )

    return replaced


_LAYERS = {
    "lstm": (_lstm_layer, 2),
    "gru": (_gru_layer, 1),
    "rnn_tanh": (_rnn_layer(rnn_tanh_steps), 1),
    "rnn_relu": (_rnn_layer(rnn_relu_steps), 1),
}
_REPLACED = {
    getattr(torch, name): _replacement(getattr(torch, name), *layer)
    for name, layer in _LAYERS.items()
}
REPLACEMENTS = frozenset(_REPLACED.values())


def decompositions(plain: dict[Any, Callable]) -> dict[Any, Callable]:
    """Rules for torch.export, which keeps the ops of layers; those of `plain`
    take what ours do not cover."""
    ops = {name: getattr(aten, name).input for name in _LAYERS}
    return {
        op: _replacement(plain[op], *_LAYERS[name])
        for name, op in ops.items()
        if op in plain
    }


def replace(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """A graph of Dynamo's with our layers in place of PyTorch's, whose rules
    AOTAutograd applies before any table is asked."""
    if all(n.target not in _REPLACED for n in module.graph.nodes):
        return module
    replaced = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    replaced.meta.update(module.meta)
    for node in replaced.graph.nodes:
        node.target = _REPLACED.get(node.target, node.target)
    replaced.recompile()
    return replaced
