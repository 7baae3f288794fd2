# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""opinfo.json, and docs/operators.md made from it. Needs no torch."""

from __future__ import annotations

import json
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = HERE / "opinfo.json"
PAGE = HERE.parents[1] / "docs" / "operators.md"

LANES = ("f32", "i64", "bool", "bf16", "backward")

# Listed apart, first match counts: (class, what it is, names).
CLASSES = (
    ("sparse", "sparse layouts", r"sparse\.|to_sparse$"),
    ("fft", "Fourier transforms", r"fft\.|i?stft$"),
    (
        "factorization",
        "factorizations, and what LAPACK solves with them",
        r"cholesky|geqrf$|inverse$|pinverse$|logdet$|lu$|lu_solve$|lu_unpack$"
        r"|matrix_exp$|orgqr$|ormqr$|pca_lowrank$|qr$|svd|triangular_solve$"
        r"|linalg\.(cholesky|cond|det|eig|eigh|eigvals|householder|inv|ldl"
        r"|lstsq|lu|matrix_norm|matrix_power|matrix_rank|norm|pinv|qr|slogdet"
        r"|solve|svd|tensorinv|tensorsolve)|norm\.(nuc|fro)$",
    ),
    (
        "random",
        "random numbers, from eager's generator",
        r"bernoulli$|cauchy$|exponential$|geometric$|log_normal$|normal"
        r"|multinomial$|rand|uniform$"
        r"|nn\.functional\.(alpha_dropout|dropout|feature_alpha_dropout"
        r"|fractional_max_pool|multi_head_attention_forward|rrelu)",
    ),
    (
        "data",
        "sizes, or numbers on the host, that follow from values",
        r"allclose$|argwhere$|combinations$|corrcoef$|cov$|equal$|item$"
        r"|masked_select$|nonzero$|repeat_interleave$|tensor_split$|unique"
        r"|unravel_index$|nn\.functional\.(ctc_loss|gaussian_nll_loss)|resize_",
    ),
    ("complex", "complex numbers", r"complex$|polar$|view_as_complex$|cfloat$"
     r"|cdouble$|chalf$"),
    ("cuda", "kernels for another device", r"jiterator"),
)

# Where torch-mlir's own lowering is wrong and ours stands in its place.
WORKAROUNDS = {
    "argmax": "misses NaN",
    "argmin": "misses NaN",
    "max.reduction_with_dim": "the index misses NaN",
    "min.reduction_with_dim": "the index misses NaN",
    "maximum": "loses NaN of the first operand",
    "minimum": "loses NaN of the first operand",
    "eq": "x == x is folded to true, NaN or not",
    "sort": "NaN is left where it falls",
    "topk": "NaN is left where it falls",
    "fmax": "loses NaN",
    "fmin": "loses NaN",
    "fmod": "rounds: a - trunc(a / b) b",
    "floor_divide": "is floor(a / b): 1.0 // 0.1 gives 10",
    "div.floor_rounding": "is floor(a / b): 1.0 // 0.1 gives 10",
    "reciprocal": "asserts that no element is 0",
    "nn.functional.gelu": "tanh form: sqrt(2 / pi) has four right digits",
    "cumsum": "in f32, off by 1 % for 1e6 copies of 0.1",
    "sum": "carried in bf16 and f16",
    "mean": "carried in bf16 and f16",
    "view": "dynamic sizes of one rank are taken for a cast",
    "bitwise_left_shift": "a count outside of the width is undefined",
    "bitwise_right_shift": "a count outside of the width is undefined",
    "index_put": "negative indices are taken as they are",
}

MARKS = {
    "compiled": "compiled",
    "views": "views",
    "partial": "eager",
    "dynamo": "Dynamo",
    "upstream": "upstream",
    "slow": "**slow**",
    "wrong": "**wrong**",
    "error": "**error**",
    "crash": "**crash**",
}


def read() -> dict:
    if DATA.exists():
        return json.loads(DATA.read_text())
    return {"lanes": {}}


def keep(answers: dict, torch_version: str) -> None:
    """Puts new answers among those kept; one line an operator."""
    data = read()
    data["torch"] = torch_version
    lanes = data["lanes"]
    for lane, rows in answers.items():
        kept = lanes.setdefault(lane, {})
        for name, row in rows.items():
            if row["fate"] is None:
                kept.pop(name, None)
                continue
            kept[name] = [
                row["fate"],
                row.get("compiled", 0),
                row.get("samples", 0),
                sorted(row["reasons"]),
            ]
    text = ['{"torch": ' + json.dumps(data["torch"]) + ', "lanes": {']
    present = [lane for lane in LANES if lane in lanes]
    for lane in present:
        text.append(f'"{lane}": {{')
        rows = sorted(lanes[lane].items())
        for i, (name, row) in enumerate(rows):
            comma = "," if i + 1 < len(rows) else ""
            text.append(f"{json.dumps(name)}: {json.dumps(row)}{comma}")
        text.append("}" + ("," if lane != present[-1] else ""))
    text.append("}}")
    DATA.write_text("\n".join(text) + "\n")


def class_of(name: str) -> str:
    for key, _, pattern in CLASSES:
        if re.match(pattern, name):
            return key
    return "dense"


def good(row) -> bool:
    return row[0] in ("compiled", "views")


def equal(row) -> bool:
    return row[0] in ("compiled", "views", "partial", "dynamo", "upstream")


def _counts(lanes, key):
    lines = [
        "| lane | operators | compiled | views | some eager | Dynamo | upstream "
        "| wrong or failed | compiled share |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for lane, rows in lanes.items():
        mine = [r for n, r in rows.items() if class_of(n) == key]
        if not mine:
            continue
        fates = [r[0] for r in mine]
        numbers = [
            fates.count(f)
            for f in ("compiled", "views", "partial", "dynamo", "upstream")
        ]
        bad = sum(not equal(r) for r in mine)
        share = 100 * sum(map(good, mine)) / len(mine)
        lines.append(
            f"| {lane} | {len(mine)} | "
            + " | ".join(map(str, [*numbers, bad]))
            + f" | {share:.1f} % |"
        )
    return lines


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")


def _reasons(lanes, names):
    lines = ["| operator | lanes | why |", "|---|---|---|"]
    for name in names:
        found: dict[str, list[str]] = {}
        for lane, rows in lanes.items():
            row = rows.get(name)
            if row is not None and not good(row):
                why = "; ".join(row[3])
                if len(why) > 240:
                    why = why[:237] + "..."
                found.setdefault(f"{MARKS[row[0]]}: {_cell(why)}", []).append(
                    lane
                )
        for why, where in found.items():
            lines.append(f"| {_cell(name)} | {', '.join(where)} | {why} |")
    return lines


def page() -> str:
    data = read()
    lanes = data["lanes"]
    names = sorted({n for rows in lanes.values() for n in rows})
    out = [
        "<!-- Generated by scripts/check_operators; do not edit. -->",
        "# Operators",
        "",
        "Every operator of PyTorch's own test database (`op_db` of "
        f"torch {data.get('torch', '')}), compiled with",
        '`torch.compile(f, backend="polynest")` and compared with eager: up to '
        "5 small samples",
        "each (the first, the first made strided, and those that differ most "
        "in ranks,",
        "keywords, empty and broadcast inputs), with the bounds of",
        "`test/tolerances.json`. An operator counts as its worst sample does.",
        "Lanes are element types of the samples, of which all but f32 take two; `backward` is f32 with "
        "gradients.",
        "",
        "- compiled: whole, and equal to eager. views: equal, and nothing to "
        "compute.",
        "- eager: equal, but in some sample some op of the graph was left to "
        "eager.",
        "- Dynamo: Dynamo or AOTAutograd does not take it, whatever the backend.",
        "- upstream: AOTAutograd with eager's own kernels differs from eager.",
        "",
        "## Dense real results whose shapes follow from input shapes",
        "",
        *_counts(lanes, "dense"),
        "",
    ]
    for key, what, _ in CLASSES:
        lines = _counts(lanes, key)
        if len(lines) > 2:
            out += [f"### Apart: {what}", "", *lines, ""]
    out += [
        "## Wrong in torch-mlir, and what we do instead",
        "",
        "These have a decomposition or a rewrite of ours in place of "
        "torch-mlir's lowering.",
        "",
        "| operator | torch-mlir's lowering |",
        "|---|---|",
        *(f"| {_cell(n)} | {_cell(why)} |" for n, why in WORKAROUNDS.items()),
        "",
        "## What is not compiled whole, and why",
        "",
    ]
    order = ["dense", *(c[0] for c in CLASSES)]
    titles = {"dense": "dense", **{c[0]: c[1] for c in CLASSES}}
    for key in order:
        some = [
            n
            for n in names
            if class_of(n) == key
            and any(not good(r[n]) for r in lanes.values() if n in r)
        ]
        if some:
            out += [f"### {titles[key]}", "", *_reasons(lanes, some), ""]
    out += [
        "## All",
        "",
        "| operator | class | " + " | ".join(lanes) + " |",
        "|---|---|" + "---|" * len(lanes),
    ]
    for name in names:
        marks = [
            MARKS[rows[name][0]] if name in rows else ""
            for rows in lanes.values()
        ]
        out.append(
            f"| {_cell(name)} | {class_of(name)} | " + " | ".join(marks) + " |"
        )
    return "\n".join(out) + "\n"


def write_page() -> None:
    PAGE.write_text(page())
