# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Child process that runs torch-mlir's pass pipelines.

torch-mlir can abort or hang on valid graphs, and an abort inside the user's
process would take the user's work with it. So the frontend imports a graph in
the user's process, and this process lowers it. It needs no torch, starts in
about 0.2 s, stays for the life of its parent and ends with its standard input.

Protocol: each message is a 4-byte little-endian length and that many bytes of
JSON. Request {"module": text, "locations": bool, "updates": [[result, argument],
...], "quick": bool}, the results of the one function that are new values of
arguments, and whether what fails will be asked for again, see `_run`; answer
{"ok": true, "text": ...} or {"ok": false, "kind": "unread" | "unsupported" |
"error", "message": ..., "places": [[location, message], ...]}; "unread" is text
that torch-mlir does not parse.
"""

from __future__ import annotations

import json
import os
import select
import struct
import sys
from typing import Sequence

# What the compiler accepts as its input. Everything else in a lowered module
# stays with eager, with the op's name as the reason.
ACCEPTED_DIALECTS = frozenset(
    ["builtin", "func", "arith", "math", "linalg", "tensor", "scf", "cf", "affine"]
)
# Of a dialect it does not know it reads these, in generic form.
ACCEPTED_FOREIGN = frozenset(["tm_tensor.sort", "tm_tensor.yield"])
PIPELINE = (
    "builtin.module(func.func(torch-match-quantized-custom-ops),"
    "torchdynamo-export-to-torch-backend-pipeline{extra-library=},"
    "torch-backend-to-linalg-on-tensors-backend-pipeline"
    "{allow-non-finites=true})"
)

_LAST_PASS = "torch-verify-linalg-on-tensors-backend-contract"


_CONVERSION = "func.func(convert-torch-to-"


def _parts(pipeline: str) -> list[str]:
    """The pipeline cut behind each conversion."""
    anchor, _, inner = pipeline.removesuffix(")").partition("(")
    passes, depth = [""], 0
    for c in inner:
        depth += (c in "({") - (c in ")}")
        if c == "," and depth == 0:
            passes.append("")
        else:
            passes[-1] += c
    parts: list[list[str]] = [[]]
    for i, text in enumerate(passes):
        parts[-1].append(text)
        if text.startswith(_CONVERSION) and i + 1 < len(passes):
            parts.append([])
    return [f"{anchor}({','.join(part)})" for part in parts]


def _run(module, pipeline: str, quick: bool) -> None:
    """Runs passes; raises where one fails or makes what is not valid. To verify
    after each takes as long as the passes: of a `quick` run, conversions and
    the end are verified."""
    from torch_mlir.passmanager import PassManager

    for part in _parts(pipeline) if quick else [pipeline]:
        passes = PassManager.parse(part)
        passes.enable_verifier(not quick)
        passes.run(module.operation)
        if quick and not module.operation.verify():
            raise ValueError("a pass has made what is not valid")


def read_message(stream) -> dict | None:
    head = stream.read(4)
    if len(head) < 4:
        return None
    (size,) = struct.unpack("<I", head)
    body = stream.read(size)
    return None if len(body) < size else json.loads(body)


def write_message(stream, message: dict) -> None:
    body = json.dumps(message).encode()
    stream.write(struct.pack("<I", len(body)) + body)
    stream.flush()


def _walk(op):
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner
                yield from _walk(inner.operation)


def _foreign_ops(module) -> tuple[list[list[str]], bool]:
    """Ops of dialects the compiler does not read, with their places, and whether
    there are some that it reads in generic form."""
    found, generic = [], False
    for op in _walk(module.operation):
        name = op.operation.name
        dialect = name.partition(".")[0]
        if name in ACCEPTED_FOREIGN:
            generic = True
            continue
        if dialect not in ACCEPTED_DIALECTS or name == (
            "builtin.unrealized_conversion_cast"
        ):
            found.append([str(op.location), f"no lowering of '{name}'"])
    return found, generic


def _mark_updates(module, updates: Sequence[Sequence[int]]) -> None:
    """Says of the public function which of its results update arguments."""
    from torch_mlir import ir

    for op in module.body.operations:
        function = op.operation
        if "sym_visibility" in function.attributes:
            continue
        type_ = ir.FunctionType(function.attributes["function_type"].value)
        marks: list[dict] = [{} for _ in type_.results]
        i64 = ir.IntegerType.get_signless(64)
        for result, argument in updates:
            number = ir.IntegerAttr.get(i64, argument)
            marks[result]["polynest.updates"] = number
        function.attributes["res_attrs"] = ir.ArrayAttr.get(
            [ir.DictAttr.get(m) for m in marks]
        )


def lower(
    text: str,
    locations: bool,
    updates: Sequence[Sequence[int]] = (),
    quick: bool = False,
) -> dict:
    from torch_mlir import ir
    from torch_mlir._mlir_libs import _mlir, _torchMlir
    from torch_mlir.passmanager import PassManager

    from polynest import _recurrences, _rewrites

    # Whoever looks at an operation gets the class for it from the module of its
    # dialect, and importing those takes longer than most graphs do here. No class
    # is needed for what is only looked at.
    _mlir.globals.dialect_search_modules = []
    places: list[list[str]] = []

    def collect(diagnostic) -> bool:
        if diagnostic.severity == ir.DiagnosticSeverity.ERROR:
            places.append([str(diagnostic.location), diagnostic.message])
        return True

    with ir.Context() as context:
        context.emit_error_diagnostics = True
        context.attach_diagnostic_handler(collect)
        _torchMlir.register_dialect(context)
        kind = "unread"
        try:
            module = ir.Module.parse(text)
            kind = "error"
            sizes = _rewrites.equal_sizes(module)
            recurrences = _recurrences.declare(module)
            pipeline = str(PassManager.parse(PIPELINE))
            if recurrences:
                # The last pass refuses calls; `_foreign_ops` finds the rest.
                pipeline = pipeline.replace(f",{_LAST_PASS}", "")
            _run(module, pipeline, quick)
            _rewrites.rewrite_module(module, sizes)
            _recurrences.define(module, recurrences)
            # Attributes of the torch dialect mean nothing to the compiler
            # and its parser refuses them.
            for op in module.body.operations:
                for named in list(op.operation.attributes):
                    name = getattr(named, "name", named)
                    if name.startswith("torch."):
                        del op.operation.attributes[name]
            if updates:
                _mark_updates(module, updates)
        except Exception as error:  # a report to the parent, not control flow
            message = places[0][1] if places else str(error)
            return {
                "ok": False,
                "kind": kind,
                "message": message.strip(),
                "places": places,
            }
        foreign, generic = _foreign_ops(module)
        if foreign:
            return {
                "ok": False,
                "kind": "unsupported",
                "message": foreign[0][1],
                "places": foreign,
            }
        return {
            "ok": True,
            "text": module.operation.get_asm(
                enable_debug_info=locations,
                print_generic_op_form=generic,
            ),
        }


def main() -> None:
    source = sys.stdin.buffer
    # MLIR and its passes may write to descriptor 1; the answers must not mix
    # with that, so they go out on a private copy of it.
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # While the first graph is still being traced.
    import torch_mlir.passmanager  # noqa: F401

    # What torch-mlir does once takes as long as many a graph.
    if not select.select([source], [], [], 0)[0]:
        lower("", False, quick=True)
    while True:
        request = read_message(source)
        if request is None:
            return
        write_message(
            sink,
            lower(
                request["module"],
                request["locations"],
                request["updates"],
                request["quick"],
            ),
        )


if __name__ == "__main__":
    main()
