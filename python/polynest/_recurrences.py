# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops over time, for the ops of torch_recurrent.py.

torch-mlir does not know these ops. Before its passes run, each becomes a call of
a private function without body, whose types they convert; then the function
gets its body, a loop over the steps that carries the state as tensors. It is
written as text, and its product reads the recurrent weights as PyTorch keeps
them, a row for each column of the result: long runs.
"""

from __future__ import annotations

_PREFIX = "torch.polynest."

# Of each op: gates, tensors that a step carries, whether a bias comes last.
_CELLS = {
    "lstm_steps": (4, 2, False),
    "gru_steps": (3, 1, True),
    "rnn_tanh_steps": (1, 1, False),
    "rnn_relu_steps": (1, 1, False),
}


def _sigmoid(x: str) -> str:
    return f"""
      %{x}_n = arith.negf %{x} : ELEMENT
      %{x}_e = math.exp %{x}_n : ELEMENT
      %{x}_d = arith.addf %{x}_e, %one : ELEMENT
      %{x}_s = arith.divf %one, %{x}_d : ELEMENT"""


def _plus(*gates: int) -> str:
    return "".join(
        f"\n      %q{i} = arith.addf %g{i}, %x{i} : ELEMENT" for i in gates
    )


# From products %gI, inputs %xI, the state before %p0 (and %p1, and the bias %b).
_BODIES = {
    "lstm_steps": _plus(0, 1, 2, 3)
    + _sigmoid("q0")
    + _sigmoid("q1")
    + _sigmoid("q3")
    + """
      %new = math.tanh %q2 : ELEMENT
      %kept = arith.mulf %q1_s, %p1 : ELEMENT
      %added = arith.mulf %q0_s, %new : ELEMENT
      %cell = arith.addf %kept, %added : ELEMENT
      %bounded = math.tanh %cell : ELEMENT
      %state = arith.mulf %q3_s, %bounded : ELEMENT
      linalg.yield %state, %cell : ELEMENT, ELEMENT""",
    "gru_steps": _plus(0, 1)
    + _sigmoid("q0")
    + _sigmoid("q1")
    + """
      %inner = arith.addf %g2, %b : ELEMENT
      %reset = arith.mulf %inner, %q0_s : ELEMENT
      %sum = arith.addf %reset, %x2 : ELEMENT
      %new = math.tanh %sum : ELEMENT
      %off = arith.subf %p0, %new : ELEMENT
      %part = arith.mulf %off, %q1_s : ELEMENT
      %state = arith.addf %part, %new : ELEMENT
      linalg.yield %state : ELEMENT""",
    "rnn_tanh_steps": _plus(0)
    + """
      %state = math.tanh %q0 : ELEMENT
      linalg.yield %state : ELEMENT""",
    "rnn_relu_steps": _plus(0)
    + """
      %state = arith.maximumf %q0, %zero : ELEMENT
      linalg.yield %state : ELEMENT""",
}


def _tensor(sizes: list[int], element: str) -> str:
    return f"tensor<{'x'.join('?' if n < 0 else str(n) for n in sizes)}x{element}>"


def _body(cell: str, reverse: bool, name: str, types: list) -> str:
    """The function; `types` are those of its arguments, as pairs of sizes and
    element."""
    gates, carried, biased = _CELLS[cell]
    (time, batch, _), element = types[0]
    width = types[1][0][1]
    states = range(carried)
    row, line = _tensor([batch, width], element), _tensor([width], element)
    wide = _tensor([batch, gates * width], element)
    whole = _tensor([time, batch, gates * width], element)
    out = _tensor([time, batch, width], element)
    weight = _tensor([gates * width, width], element)
    rooms = ["%time"] * (time < 0) + ["%batch"] * (batch < 0)
    b = "%batch" if batch < 0 else str(batch)
    dynamic = "%batch" if batch < 0 else ""
    arguments = [f"%inputs: {whole}"]
    arguments += [f"%start{i}: {row}" for i in states]
    arguments += [f"%weight: {weight}"] + ([f"%bias: {line}"] if biased else [])
    results = ", ".join([out] + [row] * (carried - 1))
    each = ", ".join([row] * carried)
    starts = ", ".join(f"%s{i} = %start{i}" for i in states)
    pieces = "".join(
        f"""
    %from{i} = tensor.extract_slice %product[0, {i * width}] [{b}, {width}] [1, 1] : {wide} to {row}
    %in{i} = tensor.extract_slice %inputs[%at, 0, {i * width}] [1, {b}, {width}] [1, 1, 1] : {whole} to {row}"""
        for i in range(gates)
    )
    reads = [f"%from{i}" for i in range(gates)]
    reads += [f"%in{i}" for i in range(gates)] + [f"%s{i}" for i in states]
    names = [f"%g{i}" for i in range(gates)] + [f"%x{i}" for i in range(gates)]
    names += [f"%p{i}" for i in states] + (["%b"] if biased else [])
    names += [f"%old{i}" for i in states]
    maps = ["#same"] * len(reads) + ["#line"] * biased + ["#same"] * carried
    inputs = ", ".join(reads + ["%bias"] * biased)
    kinds = ", ".join([row] * len(reads) + [line] * biased)
    empties = "".join(
        f"\n    %new{i} = tensor.empty({dynamic}) : {row}" for i in states
    )
    at = "%t"
    turn = ""
    if reverse:
        at = "%back"
        turn = """
    %after = arith.addi %t, %c1 : index
    %back = arith.subi %time, %after : index"""
    next_ = [f"%next#{i}" if carried > 1 else "%next" for i in states]
    carry = f"{each}, {out}"
    returned = [f"%last#{carried}"] + [f"%last#{i}" for i in range(1, carried)]
    sized = ""
    if rooms:
        # Sizes of what loops carry are not followed; these are those of inputs.
        returned = [f"%r{i}" for i in range(carried)]
        t = "%time" if time < 0 else str(time)
        sized = f"""
  %r0 = tensor.extract_slice %last#{carried}[0, 0, 0] [{t}, {b}, {width}] [1, 1, 1] : {out} to {out}"""
        sized += "".join(
            f"""
  %r{i} = tensor.extract_slice %last#{i}[0, 0] [{b}, {width}] [1, 1] : {row} to {row}"""
            for i in range(1, carried)
        )
    return f"""
#state = affine_map<(b, n, k) -> (b, k)>
#weight = affine_map<(b, n, k) -> (n, k)>
#product = affine_map<(b, n, k) -> (b, n)>
#same = affine_map<(b, n) -> (b, n)>
#line = affine_map<(b, n) -> (n)>
func.func private @{name}({', '.join(arguments)}) -> ({results}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : {element}
  %one = arith.constant 1.0 : {element}
  %time = tensor.dim %inputs, %c0 : {whole}
  %batch = tensor.dim %inputs, %c1 : {whole}
  %none = tensor.empty({', '.join(rooms)}) : {out}
  %last:{carried + 1} = scf.for %t = %c0 to %time step %c1 iter_args({starts}, %out = %none) -> ({carry}) {{{turn}
    %room = tensor.empty({dynamic}) : {wide}
    %zeros = linalg.fill ins(%zero : {element}) outs(%room : {wide}) -> {wide}
    %product = linalg.generic {{indexing_maps = [#state, #weight, #product], iterator_types = ["parallel", "parallel", "reduction"]}} ins(%s0, %weight : {row}, {weight}) outs(%zeros : {wide}) {{
    ^bb0(%a: {element}, %w: {element}, %sum: {element}):
      %times = arith.mulf %a, %w : {element}
      %more = arith.addf %sum, %times : {element}
      linalg.yield %more : {element}
    }} -> {wide}{pieces.replace('%at', at)}{empties}
    %next{f':{carried}' if carried > 1 else ''} = linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = ["parallel", "parallel"]}} ins({inputs} : {kinds}) outs({', '.join(f'%new{i}' for i in states)} : {each}) {{
    ^bb0({', '.join(f'{n}: {element}' for n in names)}):{_BODIES[cell].replace('ELEMENT', element)}
    }} -> ({each})
    %kept = tensor.insert_slice {next_[0]} into %out[{at}, 0, 0] [1, {b}, {width}] [1, 1, 1] : {row} into {out}
    scf.yield {', '.join(next_)}, %kept : {carry}
  }}{sized}
  return {', '.join(returned)} : {results}
}}"""


def _operators(module) -> list:
    found = []
    for function in module.body.operations:
        for region in function.operation.regions:
            for block in region.blocks:
                for op in block.operations:
                    if op.operation.name != "torch.operator":
                        continue
                    cell = op.attributes["name"].value.removeprefix(_PREFIX)
                    if cell in _CELLS:
                        found.append((op.operation, cell))
    return found


def declare(module) -> list[tuple[str, str, bool]]:
    """Turns ops of recurrences into calls. Symbols of the functions, which cell
    each runs, and whether backwards."""
    from torch_mlir import ir

    made: dict[tuple, str] = {}
    found = []
    for op, cell in _operators(module):
        *operands, last = op.operands
        flag = last.owner.attributes["value"]
        reverse = bool(ir.IntegerAttr(flag).value)
        ins = [v.type for v in operands]
        outs = [r.type for r in op.results]
        key = (cell, reverse, *map(str, ins), *map(str, outs))
        name = made.get(key)
        if name is None:
            name = made[key] = f"polynest_{cell}_{len(made)}"
            found.append((name, cell, reverse))
            kind = ir.FunctionType.get(ins, outs)
            with ir.InsertionPoint(module.body), op.location:
                ir.Operation.create(
                    "func.func",
                    attributes={
                        "sym_name": ir.StringAttr.get(name),
                        "function_type": ir.TypeAttr.get(kind),
                        "sym_visibility": ir.StringAttr.get("private"),
                    },
                    regions=1,
                )
        with ir.InsertionPoint(op), op.location:
            call = ir.Operation.create(
                "func.call",
                results=outs,
                operands=operands,
                attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
            )
        for old, new in zip(op.results, call.results):
            old.replace_all_uses_with(new)
        op.erase()
    return found


def define(module, found: list[tuple[str, str, bool]]) -> None:
    """Gives bodies to the functions that `declare` made."""
    from torch_mlir import ir

    by_name = {
        op.attributes["sym_name"].value: op.operation
        for op in module.body.operations
    }
    for name, cell, reverse in found:
        op = by_name[name]
        kind = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
        types = [
            (ir.RankedTensorType(t).shape, str(ir.RankedTensorType(t).element_type))
            for t in kind.inputs
        ]
        text = ir.Module.parse(_body(cell, reverse, name, types))
        (function,) = text.body.operations
        module.body.append(function.operation.clone())
        op.erase()
