# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wheel: what is in it, and that it works away from the source tree.

The wheel is built without compiling, and the library is installed into it out
of the build folder under test, as `pip install .` does after compiling.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from polynest import _capi

ROOT = Path(__file__).resolve().parents[2]
# An editable install finds modules by a hook in front of every path.
MODEL = """
import sys
sys.meta_path[:] = [
    f for f in sys.meta_path if "editable" not in type(f).__module__
]
import torch, polynest
from polynest import _capi
print(polynest.__file__)
print(_capi.lib()._name)
compiled = torch.compile(torch.nn.GELU(), backend="polynest")
x = torch.linspace(-3, 3, 7)
assert torch.allclose(compiled(x), torch.nn.functional.gelu(x), atol=1e-6)
assert not polynest.explain_fallbacks()
"""


def run(*command, **options):
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the unpacked wheel and the library in it."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "-q", "--disable-pip-version-check")
    options = ("--no-deps", "--no-build-isolation", "-C", "wheel.cmake=false")
    run(*pip, "wheel", *options, "-w", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    build = Path(_capi.lib()._name).resolve().parent.parent
    install = ("cmake", "--install", str(build), "--component", "python")
    run(*install, "--prefix", str(folder / "site"))
    return folder / "site"


def test_version_and_entry_points(site):
    (info,) = site.glob("*.dist-info")
    version = (ROOT / "VERSION").read_text().strip()
    assert info.name == f"polynest-{version}.dist-info"
    entries = (info / "entry_points.txt").read_text()
    assert "polynest = polynest.torch_backend:polynest" in entries
    assert "polynest = polynest.__main__:main" in entries


def test_holds_every_module_and_the_library(site):
    sources = {p.name for p in (ROOT / "python/polynest").glob("*.py")}
    assert {p.name for p in (site / "polynest").glob("*.py")} == sources
    assert (site / "polynest/lib/libpolynest.so").is_file()
    assert (site / "polynest/lib/libpolynest_rt.a").is_file()


def test_compiles_by_the_name_of_the_backend_alone(site, tmp_path):
    variables = {
        k: v for k, v in os.environ.items() if k != "POLYNEST_LIBRARY"
    }
    variables["PYTHONPATH"] = str(site)
    shown = run(
        sys.executable, "-c", MODEL, cwd=tmp_path, env=variables
    ).splitlines()
    assert shown[0] == str(site / "polynest/__init__.py")
    assert shown[1] == str(site / "polynest/lib/libpolynest.so")
