# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package of the source tree, the tolerance table, expected failures."""

import contextlib
import gc
import json
import math
import os
import random
import signal
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

# What was compiled before would hide what the compiler does now: only tests of
# the cache have one, in a folder of their own.
os.environ["POLYNEST_CACHE"] = "0"

TOLERANCES = json.loads((ROOT / "test" / "tolerances.json").read_text())
EXPECTED = json.loads(
    (Path(__file__).resolve().parent / "expected_failures.json").read_text()
)


def pytest_collection_modifyitems(items):
    """An expected failure that passes is a failure: the table is wrong then."""
    for item in items:
        row = EXPECTED.get(item.name)
        if row is not None:
            item.add_marker(
                pytest.mark.xfail(
                    reason=f"{row['reason']} ({row['date']})",
                    strict=True,
                    # A crash would end the run: such a row has "run": false.
                    run=row.get("run", True),
                )
            )


def pytest_terminal_summary(terminalreporter):
    for kind in ("skipped", "xfailed"):
        count = len(terminalreporter.stats.get(kind, []))
        if count:
            terminalreporter.write_line(f"{kind}: {count}")


def seed():
    import numpy

    random.seed(0)
    numpy.random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


def pytest_collectstart(collector):
    """The same random numbers for a module's own inputs, whichever was imported
    before it."""
    if isinstance(collector, pytest.Module):
        with contextlib.suppress(ImportError):
            import torch  # noqa: F401
        seed()


@pytest.fixture(autouse=True)
def seeded():
    """The same random numbers for a test, whichever ran before it."""
    seed()


@pytest.fixture
def fresh_torch():
    """Nothing compiled before, no reports."""
    import torch

    from polynest import torch_backend

    torch._dynamo.reset()
    torch_backend.reset_reports()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache that is on, in a folder of its own."""
    import polynest

    monkeypatch.setenv("POLYNEST_CACHE", "1")
    monkeypatch.setenv("POLYNEST_CACHE_DIR", str(tmp_path / "cache"))
    return polynest.default_cache()


def compiled(function, **options):
    """torch.compile with the backend as an object: no installation needed."""
    import torch

    from polynest import torch_backend

    return torch.compile(function, backend=torch_backend.polynest, **options)


def compiled_anew(function, **options):
    """As `compiled`, by itself: functions compiled so far count for no limit."""
    import torch

    torch._dynamo.reset()
    return compiled(function, **options)


def by_thread_count(counts, call):
    """What the call gives with each of these numbers of threads."""
    import polynest

    before = polynest.thread_count()
    try:
        results = []
        for count in counts:
            polynest.set_thread_count(count)
            results.append(call())
        return results
    finally:
        polynest.set_thread_count(before)


def in_child(function):
    """Whether it is true in a forked child, which has a minute."""
    pid = os.fork()
    if pid == 0:
        good = False
        try:
            signal.alarm(60)
            good = function()
        finally:
            os._exit(0 if good else 1)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) == 0


def in_threads(count, work):
    """Calls work(0), work(1), ... at once, and raises what the first one that
    failed has raised."""
    failures = []

    def run(i):
        try:
            work(i)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def pool_bytes():
    """Of the pool of results, in use."""
    from polynest import _capi

    gc.collect()
    stats = _capi.PoolStats()
    _capi.lib().pn_pool_stats_get(stats)
    return stats.bytes_used


def bound(reference, dtype_name, n):
    """Largest allowed difference, by element, from the one table."""
    row = TOLERANCES["dtypes"][dtype_name]
    finite = reference.abs().nan_to_num(0.0, 0.0, 0.0)
    mean = finite.mean() if finite.numel() else 0.0
    return row["factor"] * row["unit"] * math.sqrt(max(n, 1)) * (finite + mean)


@pytest.fixture
def mlir(tmp_path):
    """Text of a small program: two results, one of them a row sum."""
    return """
#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @scale(%x: tensor<5x7xf32>, %y: tensor<5x7xf32>)
    -> (tensor<5x7xf32>, tensor<5xf32>) {
  %e = tensor.empty() : tensor<5x7xf32>
  %p = linalg.generic {indexing_maps = [#map, #map, #map],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<5x7xf32>, tensor<5x7xf32>)
      outs(%e : tensor<5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<5x7xf32>
  %z = arith.constant 0.0 : f32
  %r = tensor.empty() : tensor<5xf32>
  %f = linalg.fill ins(%z : f32) outs(%r : tensor<5xf32>) -> tensor<5xf32>
  %s = linalg.generic {indexing_maps = [#map, #row],
      iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<5x7xf32>) outs(%f : tensor<5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %o, %a : f32
    linalg.yield %t : f32
  } -> tensor<5xf32>
  return %p, %s : tensor<5x7xf32>, tensor<5xf32>
}
"""
