# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole programs with fixed seeds, and that wrong results are noticed."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import linalg_fuzz  # noqa: E402
import tensor_programs  # noqa: E402

COUNT = 100


def test_programs_agree():
    # In a process of its own: a crash is a failure, not the end of the lane.
    done = subprocess.run(
        [sys.executable, str(HERE / "linalg_fuzz.py"), "--count", str(COUNT)],
        capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert f"{COUNT} programs agree" in done.stdout


def test_every_kind_of_step_appears():
    kinds, elems, exact, dynamic = Counter(), Counter(), Counter(), 0
    for seed in range(1, 2 * COUNT):
        program = tensor_programs.Program(seed)
        assert len(program.steps) >= 3
        for step in program.steps:
            kinds[step.kind] += 1
            for value in step.results:
                elems[value.elem] += 1
        for value in program.results:
            exact[value.r.exact] += 1
        dynamic += "?" in program.text()[0]
    assert len(kinds) == 27 and min(kinds.values()) >= 3, kinds
    assert {"f16", "bf16", "f32", "f64", "i1", "i8", "i32", "i64"} <= set(elems)
    # Most results are known to the bit.
    assert exact[True] > 3 * exact[False] > 0
    assert dynamic > 20


@pytest.mark.parametrize("elem", ["f32", "i32", "i1"])
def test_wrong_result_is_noticed(elem):
    for seed in range(1, 200):
        program = tensor_programs.Program(seed)
        for value in program.results:
            if value.elem != elem or not value.r.lo.size or not value.r.exact:
                continue
            got = value.r.lo.copy()
            assert linalg_fuzz.difference(value, got) is None
            flat = got.reshape(-1)
            old = flat[-1]
            if elem == "f32":
                if np.isnan(old):
                    continue
                flat[-1] = np.nextafter(old, np.float32(np.inf))
                if np.isinf(old):
                    flat[-1] = np.nan
            else:
                flat[-1] = old ^ True
            assert linalg_fuzz.difference(value, got) is not None
            return
    pytest.fail(f"no program returns {elem}")
