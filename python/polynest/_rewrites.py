# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrites of torch-mlir's output into what the compiler reads.

tm_tensor.scan and tm_tensor.scatter become scf loops: plain MLIR does not know
that dialect. Both ops are sequential along one dimension, and scf loops over
tensors say exactly that; bufferization turns them into loads and stores in
place. Running sums of floats are carried in f64, as eager does on CPUs: in f32
the sum of 1e6 copies of 0.1 is off by 1 %. tm_tensor.sort, which the compiler
reads, gets eager's order: NaN is above every number. Other tm_tensor ops are
left alone and refused later, by name.

The maximum and minimum that propagate NaN are put back in their place.

Results that nobody reads are taken off linalg.generic: a maximum comes with
the index of the maximum, which would double its work.
"""

from __future__ import annotations


class _Builder:
    """Index constants, nested loops and cloned bodies at one place."""

    def __init__(self, op):
        from torch_mlir import ir
        from torch_mlir.dialects import arith, scf, tensor

        self.ir, self.arith, self.scf, self.tensor = ir, arith, scf, tensor
        self.location = op.location
        self.index = ir.IndexType.get()

    def constant(self, value: int):
        return self.arith.ConstantOp(self.index, value).result

    def size(self, value, dim: int):
        size = self.ir.RankedTensorType(value.type).shape[dim]
        if size >= 0:
            return self.constant(size)
        return self.tensor.DimOp(value, self.constant(dim)).result

    def loops(self, sizes, carried, body, indices=()):
        """Nest of scf.for; body(indices, carried) -> new carried values."""
        if not sizes:
            return body(list(indices), list(carried))
        loop = self.scf.ForOp(
            self.constant(0), sizes[0], self.constant(1), list(carried)
        )
        with self.ir.InsertionPoint(loop.body):
            inner = self.loops(
                sizes[1:],
                list(loop.inner_iter_args),
                body,
                [*indices, loop.induction_variable],
            )
            self.scf.YieldOp(inner)
        return list(loop.results)

    def inline(self, block, arguments):
        """Copies a block's ops to the insertion point; its yielded values."""
        mapping = dict(zip(block.arguments, arguments))
        *ops, last = list(block.operations)
        for op in ops:
            copy = op.operation.clone()
            for i, operand in enumerate(op.operands):
                copy.operands[i] = mapping.get(operand, operand)
            mapping.update(zip(op.results, copy.results))
        return [mapping.get(v, v) for v in last.operands]


def _replace(op, values) -> None:
    for old, new in zip(op.results, values):
        old.replace_all_uses_with(new)
    op.operation.erase()


def _constant(value) -> int | None:
    """The value of a constant index."""
    from torch_mlir import ir

    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    attribute = owner.attributes["value"]
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else None


class _Flat:
    """A flat loop of a static number of places as two, where an element's
    expression takes its variable apart by `inner` places a row."""

    def __init__(self, b, rows: int, inner: int):
        self.sizes = [b.constant(rows), b.constant(inner)]
        self.rows, self.inner = rows, inner
        self.at = self.row = self.column = None

    def enter(self, b, row, column):
        start = b.arith.MulIOp(row, self.sizes[1]).result
        self.at = b.arith.AddIOp(start, column).result
        self.row, self.column = row, column
        return self.at

    def divide(self, name: str, value, by: int | None):
        """What a division of `value` is, if that is known."""
        if value == self.at and by == self.inner:
            return self.column if name == "arith.remsi" else self.row
        if value == self.row and name == "arith.remsi" and by and by >= self.rows:
            return self.row
        return None


class _Elements:
    """Elements of tensors, written where they are read: columns of what is put
    side by side, and what few pure operations compute from places alone, as
    torch-mlir flattens the operands of a scatter."""

    most_operations = 16

    def __init__(self, b, flat: _Flat | None = None):
        self.b, self.flat = b, flat

    def get(self, value, at):
        op = value.owner
        found = None
        if not isinstance(op, self.b.ir.Block):
            if op.name == "tensor.insert_slice":
                source = self._source_of(op, at)
                found = source and self.get(*source)
            elif op.name == "linalg.generic":
                found = self._compute(op, value, at)
        return found or self.b.tensor.ExtractOp(value, at).result

    def _source_of(self, op, at):
        """The operand of an insertion that has the element, and where."""
        offsets, sizes, strides = (
            list(op.attributes[f"static_{name}"])
            for name in ("offsets", "sizes", "strides")
        )
        source, target = op.operands[0], op.operands[1]
        shape = self.b.ir.RankedTensorType(target.type).shape
        if self.b.ir.RankedTensorType(source.type).rank != len(shape):
            return None
        if min(offsets) < 0 or min(sizes) < 0 or any(s != 1 for s in strides):
            return None
        places = list(at)
        for d, (offset, size) in enumerate(zip(offsets, sizes)):
            if offset == 0 and size == shape[d]:
                continue
            place = _constant(at[d])
            if place is None:
                return None
            if not offset <= place < offset + size:
                return target, at
            places[d] = self.b.constant(place - offset)
        return source, places

    def body_of(self, op, value):
        """Operations of a result that places alone decide, or none."""
        ir = self.b.ir
        block = op.regions[0].blocks[0]
        maps = [ir.AffineMapAttr(m).value for m in op.attributes["indexing_maps"]]
        kinds = [str(kind) for kind in op.attributes["iterator_types"]]
        last = list(block.operations)[-1].operands
        place = list(op.results).index(value)
        ops, wanted = _needed(block, [last[place]])
        if (
            not ops
            or len(ops) > self.most_operations
            or any("parallel" not in kind for kind in kinds)
            or any(argument in wanted for argument in block.arguments)
        ):
            return None
        for inner in ops:
            name = inner.operation.name
            if name == "tensor.extract":
                if any(_from_data(v, block) for v in list(inner.operands)[1:]):
                    return None
            elif not name.startswith(("arith.", "linalg.index")):
                return None
        return ops, last[place], maps[len(maps) - len(op.results) + place]

    def _compute(self, op, value, at):
        ir = self.b.ir
        body = self.body_of(op, value)
        if not body:
            return None
        ops, result, where = body
        variables: dict[int, object] = {}
        for index, expr in zip(at, where.results):
            if isinstance(expr, ir.AffineDimExpr):
                variables[expr.position] = index
            elif not isinstance(expr, ir.AffineConstantExpr):
                return None
        if len(variables) != where.n_dims:
            return None
        mapping: dict = {}
        for inner in ops:
            name = inner.operation.name
            operands = [mapping.get(v, v) for v in inner.operands]
            if name == "linalg.index":
                dim = ir.IntegerAttr(inner.attributes["dim"]).value
                mapping[inner.results[0]] = variables[dim]
                continue
            if self.flat and name in ("arith.divsi", "arith.remsi"):
                known = self.flat.divide(name, operands[0], _constant(operands[1]))
                if known is not None:
                    mapping[inner.results[0]] = known
                    continue
            copy = inner.operation.clone()
            for i, operand in enumerate(operands):
                copy.operands[i] = operand
            mapping.update(zip(inner.results, copy.results))
        return mapping.get(result, result)


def _flat_of(b, value, places: int) -> _Flat | None:
    """How the expression of an element takes the first place apart."""
    op = value.owner
    if isinstance(op, b.ir.Block) or op.name != "linalg.generic" or places < 1:
        return None
    body = _Elements(b).body_of(op, value)
    for inner in body[0] if body else []:
        if inner.operation.name != "arith.remsi":
            continue
        of, by = inner.operands
        length = _constant(by)
        if (
            not isinstance(of.owner, b.ir.Block)
            and of.owner.name == "linalg.index"
            and b.ir.IntegerAttr(of.owner.attributes["dim"]).value == 0
            and length
            and length > 1
            and places % length == 0
        ):
            return _Flat(b, places // length, length)
    return None


def _rewrite_scan(op) -> None:
    b = _Builder(op)
    ir = b.ir
    source, out, _ = op.operands
    dim = op.attributes["dimension"].value
    inclusive = op.attributes["inclusive"].value
    block = op.regions[0].blocks[0]
    ops = list(block.operations)
    element = ir.RankedTensorType(source.type).element_type
    is_sum = len(ops) == 2 and ops[0].operation.name == "arith.addf"
    if not inclusive or list(op.results[1].uses):
        return
    wide = element
    if is_sum and not isinstance(element, ir.F64Type):
        wide = ir.F64Type.get()
    rank = ir.RankedTensorType(source.type).rank
    with ir.InsertionPoint(op), b.location:
        sizes = [b.size(source, d) for d in range(rank)]
        length = sizes.pop(dim)

        def row(outer, carried):
            def step(inner, state):
                at = outer[:dim] + inner + outer[dim:]
                total, result = state
                value = b.tensor.ExtractOp(source, at).result
                if wide != element:
                    value = b.arith.ExtFOp(wide, value).result
                    total = b.arith.AddFOp(value, total).result
                else:
                    (total,) = b.inline(block, [value, total])
                stored = total
                if wide != element:
                    stored = b.arith.TruncFOp(element, total).result
                result = b.tensor.InsertOp(stored, result, at).result
                return [total, result]

            start = b.tensor.ExtractOp(op.operands[2], outer).result
            if wide != element:
                start = b.arith.ExtFOp(wide, start).result
            return b.loops([length], [start, carried[0]], step)[1:]

        (result,) = b.loops(sizes, [out], row)
        _replace(op, [result])


def _rewrite_scatter(op) -> None:
    from torch_mlir.dialects import cf

    b = _Builder(op)
    ir = b.ir
    updates, indices, out = op.operands
    targets = list(op.attributes["dimension_map"])
    block = op.regions[0].blocks[0]
    index_element = ir.RankedTensorType(indices.type).element_type
    # An update is a window of the target: either over all its dimensions, with
    # the index as the window's corner, or over the dimensions not indexed.
    window_dims = list(range(ir.RankedTensorType(out.type).rank))
    rank = ir.RankedTensorType(updates.type).rank
    if rank != 1 + len(window_dims):
        window_dims = [d for d in window_dims if d not in targets]
    if rank != 1 + len(window_dims):
        return
    with ir.InsertionPoint(op), b.location:
        sizes = [b.size(updates, d) for d in range(rank)]
        zero = b.arith.ConstantOp(index_element, 0).result
        limits = [b.size(out, d) for d in targets]
        flat = _flat_of(b, updates, ir.RankedTensorType(updates.type).shape[0])
        elements = _Elements(b, flat)

        def step(at, state):
            if flat:
                at = [flat.enter(b, *at[:2]), *at[2:]]
            where = dict(zip(window_dims, at[1:]))
            for k, dim in enumerate(targets):
                raw = elements.get(indices, [at[0], b.constant(k)])
                index = b.arith.IndexCastOp(b.index, raw).result
                if dim in where:
                    index = b.arith.AddIOp(index, where[dim]).result
                low = b.arith.CmpIOp(
                    b.arith.CmpIPredicate.sge, raw, zero
                ).result
                high = b.arith.CmpIOp(
                    b.arith.CmpIPredicate.slt, index, limits[k]
                ).result
                inside = b.arith.AndIOp(low, high).result
                cf.AssertOp(inside, "index out of range in scatter")
                where[dim] = index
            place = [where[d] for d in range(len(where))]
            update = elements.get(updates, at)
            old = b.tensor.ExtractOp(state[0], place).result
            (value,) = b.inline(block, [update, old])
            return [b.tensor.InsertOp(value, state[0], place).result]

        if flat:
            sizes[:1] = flat.sizes
        (result,) = b.loops(sizes, [out], step)
        _replace(op, [result])


def _rewrite_sort(op) -> None:
    """torch-mlir compares with <= or >=, which are false for NaN."""
    from torch_mlir import ir
    from torch_mlir.dialects import arith

    block = op.regions[0].blocks[0]
    ops = [o.operation for o in block.operations]
    if [o.name for o in ops] != ["arith.cmpf", "tm_tensor.yield"]:
        return
    compare, last = ops
    predicate = ir.IntegerAttr(compare.attributes["predicate"]).value
    first, second = compare.operands
    above = {3: first, 5: second}.get(predicate)
    if above is None or list(compare.operands) != list(block.arguments)[:2]:
        return
    with ir.InsertionPoint(last), last.location:
        nan = arith.CmpFOp(arith.CmpFPredicate.UNO, above, above).result
        goes_first = arith.OrIOp(compare.results[0], nan).result
    last.operands[0] = goes_first


def _needed(block, roots) -> tuple[list, set]:
    """The block's ops that `roots` depend on, in order, and its arguments."""
    wanted = set(roots)
    ops = []
    for op in reversed(list(block.operations)[:-1]):
        if op.regions or op.operation.name.startswith("cf."):
            return [], set()
        if any(r in wanted for r in op.results):
            ops.append(op)
            wanted.update(op.operands)
    return ops[::-1], wanted


def _drop_unused_results(op) -> None:
    from torch_mlir import ir

    results = list(op.operation.results)
    kept = [i for i, r in enumerate(results) if list(r.uses)]
    if len(kept) == len(results) or not kept:
        return
    block = op.regions[0].blocks[0]
    yielded = list(list(block.operations)[-1].operands)
    ops, wanted = _needed(block, [yielded[i] for i in kept])
    operands = list(op.operation.operands)
    n_in = len(operands) - len(results)
    gone = [n_in + i for i in range(len(results)) if i not in kept]
    if not ops or any(block.arguments[i] in wanted for i in gone):
        return
    stay = [i for i in range(len(operands)) if i not in gone]
    maps = list(op.attributes["indexing_maps"])
    attributes = {
        "indexing_maps": ir.ArrayAttr.get([maps[i] for i in stay]),
        "iterator_types": op.attributes["iterator_types"],
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([n_in, len(kept)]),
    }
    with ir.InsertionPoint(op), op.location:
        new = ir.Operation.create(
            "linalg.generic",
            results=[results[i].type for i in kept],
            operands=[operands[i] for i in stay],
            attributes=attributes,
            regions=1,
        )
        types = [block.arguments[i].type for i in stay]
        body = new.regions[0].blocks.append(*types)
        mapping = {block.arguments[i]: body.arguments[j] for j, i in enumerate(stay)}
        with ir.InsertionPoint(body):
            for inner in ops:
                copy = inner.operation.clone()
                for i, operand in enumerate(inner.operands):
                    copy.operands[i] = mapping.get(operand, operand)
                mapping.update(zip(inner.results, copy.results))
            ir.Operation.create(
                "linalg.yield",
                operands=[mapping.get(yielded[i], yielded[i]) for i in kept],
            )
    for j, i in enumerate(kept):
        results[i].replace_all_uses_with(new.results[j])
    op.operation.erase()


def _collect(op, found) -> None:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                # Inner ops first: an outer one may be replaced as a whole.
                _collect(inner.operation, found)
                if inner.operation.name in _REWRITES:
                    found.append(inner)


def _propagate_nan(op) -> bool:
    """A body of nothing but a comparison and a selection is how torch-mlir
    writes aten.maximum and aten.minimum, and only those: it loses NaN in the
    first operand. In its place comes the IEEE 754-2019 operation."""
    from torch_mlir import ir

    block = op.regions[0].blocks[0]
    ops = [o.operation for o in block.operations]
    names = [o.name for o in ops]
    if names != ["arith.cmpf", "arith.select", "linalg.yield"]:
        return False
    compare, select, last = ops
    predicate = ir.IntegerAttr(compare.attributes["predicate"]).value
    name = {2: "arith.maximumf", 4: "arith.minimumf"}.get(predicate)
    inputs = list(block.arguments)[:2]
    if (
        name is None
        or list(compare.operands) != inputs
        or list(select.operands) != [compare.results[0], *inputs]
        or list(last.operands) != [select.results[0]]
    ):
        return False
    with ir.InsertionPoint(select), select.location:
        new = ir.Operation.create(
            name, results=[select.results[0].type], operands=inputs
        )
    select.results[0].replace_all_uses_with(new.results[0])
    select.erase()
    compare.erase()
    return True


def _from_data(value, block) -> bool:
    """Whether a value in a body depends on elements, not on places alone."""
    from torch_mlir import ir

    if isinstance(value.owner, ir.Block):
        return value.owner == block
    op = value.owner
    if op.name == "tensor.extract":
        return True
    return any(_from_data(v, block) for v in op.operands)


def _guard_reads(op) -> None:
    """Asserts the range of each computed index of a tensor.extract, where
    torch-mlir has not: eager raises there, and a stray read must not be."""
    block = op.regions[0].blocks[0]
    inner = [o.operation for o in block.operations]
    names = {o.name for o in inner}
    if "cf.assert" in names or "tensor.extract" not in names:
        return
    from torch_mlir.dialects import cf

    b = _Builder(op)
    for read in inner:
        if read.name != "tensor.extract":
            continue
        source, *indices = read.operands
        for dim, index in enumerate(indices):
            if not _from_data(index, block):
                continue
            with b.ir.InsertionPoint(read), b.location:
                # Unsigned: a negative index is a huge one.
                inside = b.arith.CmpIOp(
                    b.arith.CmpIPredicate.ult, index, b.size(source, dim)
                ).result
                cf.AssertOp(inside, "index out of range")


_INTEGER_DIVISIONS = frozenset(
    ["arith.divsi", "arith.remsi", "arith.divui", "arith.remui",
     "arith.floordivsi", "arith.ceildivsi"]
)


def _is_number_not_0(value) -> bool:
    from torch_mlir import ir

    if isinstance(value.owner, ir.Block):
        return False
    if value.owner.name != "arith.constant":
        return False
    constant = value.owner.attributes["value"]
    if isinstance(constant, ir.DenseElementsAttr):
        if not constant.is_splat:
            return False
        constant = constant.get_splat_value()
    return isinstance(constant, ir.IntegerAttr) and constant.value != 0


def _guard_divisions(op) -> None:
    """Asserts that no integer is divided by zero: eager raises there."""
    block = op.regions[0].blocks[0]
    found = [
        o.operation
        for o in block.operations
        if o.operation.name in _INTEGER_DIVISIONS
    ]
    if not found:
        return
    from torch_mlir.dialects import cf

    outside = dict(zip(block.arguments, op.operation.operands))
    b = _Builder(op)
    done = set()
    for inner in found:
        by = inner.operands[1]
        if by in done or _is_number_not_0(outside.get(by, by)):
            continue
        done.add(by)
        with b.ir.InsertionPoint(inner), b.location:
            zero = b.arith.ConstantOp(by.type, 0).result
            is_not = b.arith.CmpIOp(b.arith.CmpIPredicate.ne, by, zero).result
            cf.AssertOp(is_not, "ZeroDivisionError")


def _rewrite_generic(op) -> None:
    if _propagate_nan(op):
        return
    _guard_reads(op)
    _guard_divisions(op)
    _drop_unused_results(op)


_REWRITES = {
    "linalg.generic": _rewrite_generic,
    "tm_tensor.scan": _rewrite_scan,
    "tm_tensor.scatter": _rewrite_scatter,
    "tm_tensor.sort": _rewrite_sort,
}


def equal_sizes(module) -> dict[str, list[list[int]]]:
    """Which sizes of arguments are equal, as the frontend has found: for each
    function, lists of argument, dimension, argument, dimension, and so on.
    torch-mlir's passes drop the attribute that says so."""
    return {
        op.attributes["sym_name"].value: [
            list(places)
            for places in op.operation.attributes["torch.equal_sizes"]
        ]
        for op in module.body.operations
        if "torch.equal_sizes" in op.operation.attributes
    }


def _assert_sizes(function, sizes: list[list[int]]) -> None:
    """Says so at the start: with one size for all, nests and reshapes of several
    arguments match."""
    from torch_mlir.dialects import cf

    block = function.regions[0].blocks[0]
    b = _Builder(function)
    with b.ir.InsertionPoint.at_block_begin(block), b.location:
        for places in sizes:
            (first, d), *others = zip(places[::2], places[1::2])
            size = b.size(block.arguments[first], d)
            for argument, other in others:
                equal = b.arith.CmpIOp(
                    b.arith.CmpIPredicate.eq,
                    size,
                    b.size(block.arguments[argument], other),
                )
                cf.AssertOp(
                    equal.result,
                    f"sizes differ: dimension {d} of input {first} and "
                    f"dimension {other} of input {argument} must be equal",
                )


def rewrite_module(
    module, sizes: dict[str, list[list[int]]] | None = None
) -> None:
    """Applies every rewrite of this file to a module; `sizes` is what
    `equal_sizes` found before torch-mlir's passes ran."""
    for op in module.body.operations:
        places = sizes and sizes.get(op.attributes["sym_name"].value)
        if places:
            _assert_sizes(op.operation, places)
    found: list = []
    _collect(module.operation, found)
    for op in found:
        _REWRITES[op.operation.name](op)
