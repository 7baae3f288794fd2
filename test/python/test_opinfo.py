# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A fixed part of opinfo.json again: what is said to be compiled still is.

All of it is run by scripts/check_operators.
"""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")
pytest.importorskip("expecttest")

import opinfo  # noqa: E402
import opinfo_table  # noqa: E402

LANES = opinfo_table.read()["lanes"]
EVERY = {"f32": 31, "i64": 67, "bool": 97, "bf16": 113, "backward": 71}


def chosen():
    for lane, rows in LANES.items():
        names = sorted(n for n, r in rows.items() if r[0] == "compiled")
        for name in names[7 :: EVERY[lane]]:
            yield lane, name


@pytest.mark.parametrize("lane, name", list(chosen()))
def test_operator_is_still_compiled(lane, name):
    answer = opinfo.try_operator(name, lane, 2)
    assert answer["fate"] in ("compiled", "views"), answer["reasons"]


def test_table_has_every_operator_and_no_failure():
    for lane, rows in LANES.items():
        missing = {
            name
            for name, op in opinfo.operators().items()
            if opinfo.has_lane(op, lane) and name not in rows
        }
        # What the database has no sample for that runs here has no row.
        apart = {n for n in missing if opinfo_table.class_of(n) != "dense"}
        assert not missing - apart
        failed = [n for n, r in rows.items() if not opinfo_table.equal(r)]
        assert not failed


def test_share_of_compiled_operators():
    rows = {
        n: r
        for n, r in LANES["f32"].items()
        if opinfo_table.class_of(n) == "dense"
    }
    share = sum(map(opinfo_table.good, rows.values())) / len(rows)
    assert share >= 0.9


def test_classes_apart():
    assert opinfo_table.class_of("fft.rfft") == "fft"
    assert opinfo_table.class_of("linalg.qr") == "factorization"
    assert opinfo_table.class_of("linalg.vector_norm") == "dense"
    assert opinfo_table.class_of("add") == "dense"
    for name in opinfo_table.WORKAROUNDS:
        assert name in opinfo.operators(), name


def test_samples_are_few_and_show_much():
    op = opinfo.operators()["matmul"]
    few = opinfo.samples(op, "f32", 5)
    assert 2 <= len(few) <= 5
    operands = few[1].input, few[1].args[0]
    assert any(not t.is_contiguous() for t in operands)
    assert len(opinfo.samples(op, "f32", 1)) == 1
