# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The README's examples, run as they stand, give the output it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from polynest import _capi

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks():
    return BLOCK.findall((ROOT / "README.md").read_text())


def python_examples():
    """Each Python block with the text block behind it."""
    found = blocks()
    return [
        (code, found[i + 1][1])
        for i, (kind, code) in enumerate(found)
        if kind == "python" and found[i + 1][0] == "text"
    ]


def console_commands():
    """Commands of the console blocks with what the README shows for each."""
    for kind, text in blocks():
        if kind == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                yield command, output


def library():
    """The library that this run tests."""
    return Path(_capi.lib()._name).resolve()


def environment():
    variables = dict(os.environ)
    tools = library().parent.parent / "bin"
    variables["PATH"] = f"{tools}{os.pathsep}{variables['PATH']}"
    variables["POLYNEST_LIBRARY"] = str(library())
    return variables


def assert_same_output(actual, shown):
    """Words exactly; numbers to three digits, since they vary with the CPU.
    The share of its bound that an error takes varies more and is left out."""
    share = re.compile(r"at \S+ of its bound")
    actual, shown = (
        share.sub("within its bound", text).replace("[", " ").replace("]", " ")
        for text in (actual, shown)
    )
    assert len(actual.split()) == len(shown.split()), actual
    for a, s in zip(actual.split(), shown.split()):
        try:
            expected = float(s)
        except ValueError:
            assert a == s
            continue
        assert float(a) == pytest.approx(expected, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("number", range(len(python_examples())))
def test_python_examples(number):
    code, shown = python_examples()[number]
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert_same_output(run.stdout, shown)


def test_console_examples(tmp_path):
    commands = list(console_commands())
    assert len(commands) >= 5
    for command, shown in commands:
        if match := re.fullmatch(r"cat (\S+)", command):
            (tmp_path / match[1]).write_text(shown)
            continue
        run = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert run.returncode == 0, f"{command}: {run.stderr}"
        assert_same_output(run.stdout, shown)
