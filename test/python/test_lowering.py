# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lowering worker: crashes, hangs and forks stay away from the user."""

import os
import re
import threading

import pytest
from conftest import in_child

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from polynest import (  # noqa: E402
    _lowering,
    env,
    locks,
    torch_backend,
    torch_frontend,
)
from polynest import _lowering_worker as child  # noqa: E402

GOOD = """
func.func @main(%a: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.relu %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
"""


@pytest.fixture
def worker():
    found = _lowering.Worker()
    yield found
    found.close()


def test_lowers(worker):
    answer = worker.request(GOOD)
    assert answer["ok"] and "linalg.generic" in answer["text"]
    assert "torch" not in answer["text"]
    assert "loc(" not in answer["text"]
    assert "loc(" in worker.request(GOOD, locations=True)["text"]


def test_reports_errors(worker):
    answer = worker.request("module { nonsense")
    assert not answer["ok"] and answer["kind"] == "unread"
    assert answer["message"]
    assert worker.request(GOOD)["ok"]


def test_names_the_op_it_cannot_lower(worker):
    text = GOOD.replace("torch.aten.relu", "torch.aten.erfinv")
    answer = worker.request(text)
    assert not answer["ok"] and "erfinv" in answer["message"]
    assert answer["places"]


def test_quick_answers(worker):
    """The same where nothing is wrong; what is wrong is found as well."""
    assert worker.request(GOOD, quick=True) == worker.request(GOOD)
    wrong = GOOD.replace("torch.aten.relu", "torch.aten.erfinv")
    assert not worker.request(wrong, quick=True)["ok"]
    # Then whoever asked has to ask again.
    assert torch_frontend._ask_quickly(wrong, {}) is None
    assert torch_frontend._ask_quickly(GOOD, {})["ok"]


def test_parts_of_a_pipeline():
    inner = ["a(b{c=1,2},d)", "func.func(convert-torch-to-x{k=l,m})", "e", "f"]
    assert child._parts(f"builtin.module({','.join(inner)})") == [
        f"builtin.module({','.join(inner[:2])})",
        "builtin.module(e,f)",
    ]


@pytest.mark.parametrize("name", ["LoweringCrash", "LoweringTimeout"])
def test_asks_again_after_a_quick_crash(monkeypatch, name):
    torch._dynamo.reset()
    torch_backend.reset_reports()
    request, quick = _lowering.Worker.request, []

    def crash(self, text, locations=False, updates=None, is_quick=False):
        quick.append(is_quick)
        if is_quick:
            raise getattr(_lowering, name)("torch-mlir ended with status -6")
        return request(self, text, locations, updates)

    monkeypatch.setattr(_lowering.Worker, "request", crash)
    x = torch.randn(4)
    with torch.no_grad():
        g = torch.compile(
            lambda x: torch.tanh(x) + 1, backend=torch_backend.polynest
        )
        torch.testing.assert_close(g(x), torch.tanh(x) + 1)
    # What took too long once would again.
    assert quick.count(False) == (1 if name == "LoweringCrash" else 0)


def test_survives_a_crash(worker):
    worker.request(GOOD)
    worker._process.kill()
    worker._process.wait()
    assert worker.request(GOOD)["ok"]


def test_crash_during_a_request(worker, monkeypatch):
    with env.scope(PYTHONPATH=None):
        worker.start()
    process = worker._process
    original = process.stdin.write

    def write_and_die(data):
        process.kill()
        process.wait()
        return original(data)

    monkeypatch.setattr(process.stdin, "write", write_and_die)
    with pytest.raises(_lowering.LoweringCrash, match="status -9"):
        worker.request(GOOD)
    assert worker.request(GOOD)["ok"]


def test_time_limit(worker):
    worker.request(GOOD)
    with env.scope(POLYNEST_LOWERING_TIMEOUT="0.000001"):
        with pytest.raises(_lowering.LoweringCrash, match="did not finish"):
            worker.request(GOOD)
    assert worker.request(GOOD)["ok"]


def test_crash_leaves_ops_to_eager(monkeypatch):
    torch._dynamo.reset()
    torch_backend.reset_reports()

    def crash(self, *_):
        raise _lowering.LoweringCrash("torch-mlir ended with status -6")

    monkeypatch.setattr(_lowering.Worker, "request", crash)
    x = torch.randn(4)
    with torch.no_grad():
        g = torch.compile(
            lambda x: torch.tanh(x) + 1, backend=torch_backend.polynest
        )
        assert torch.equal(g(x), torch.tanh(x) + 1)
    assert "status -6" in torch_backend.report()


def answers(worker):
    good = worker.request(GOOD)["ok"]
    worker.close()
    return good


def test_forked_child_has_its_own(worker):
    worker.request(GOOD)
    assert in_child(lambda: answers(worker))
    assert worker.request(GOOD)["ok"]


def test_forked_while_another_thread_asks(worker):
    """The child has no such thread, which would never give the lock back."""
    inside, done = threading.Event(), threading.Event()

    def ask():
        with worker._lock:
            inside.set()
            done.wait()

    other = threading.Thread(target=ask)
    other.start()
    inside.wait()

    try:
        assert in_child(lambda: answers(worker))
        # Nor is it free where it was held.
        assert worker._lock._lock.locked()
    finally:
        done.set()
        other.join()
    assert worker.request(GOOD)["ok"]


def test_forked_by_who_holds_a_lock():
    lock = locks.ForkLock()
    with lock:
        assert in_child(lambda: lock._lock.locked())
    assert in_child(lambda: not lock._lock.locked())


def test_closed_input_ends_the_child(worker):
    worker.request(GOOD)
    process = worker._process
    process.stdin.close()
    assert process.wait(timeout=10) == 0


def test_rewrites():
    scan = child.lower(
        "func.func @main(%a: !torch.vtensor<[4,5],f32>) -> "
        "!torch.vtensor<[4,5],f32> {\n"
        "  %n = torch.constant.none\n"
        "  %d = torch.constant.int 1\n"
        "  %0 = torch.aten.cumsum %a, %d, %n : !torch.vtensor<[4,5],f32>, "
        "!torch.int, !torch.none -> !torch.vtensor<[4,5],f32>\n"
        "  return %0 : !torch.vtensor<[4,5],f32>\n}",
        False,
    )
    assert scan["ok"], scan
    assert "scf.for" in scan["text"] and "tm_tensor" not in scan["text"]
    assert "f64" in scan["text"]


def test_scatters_read_their_operands_where_they_lie():
    scatter = child.lower(
        "func.func @main(%a: !torch.vtensor<[4,9],f32>, "
        "%i: !torch.vtensor<[3,5],si64>, %v: !torch.vtensor<[3,5],f32>) -> "
        "!torch.vtensor<[4,9],f32> {\n"
        "  %d = torch.constant.int 1\n"
        "  %0 = torch.aten.scatter_add %a, %d, %i, %v : "
        "!torch.vtensor<[4,9],f32>, !torch.int, !torch.vtensor<[3,5],si64>, "
        "!torch.vtensor<[3,5],f32> -> !torch.vtensor<[4,9],f32>\n"
        "  return %0 : !torch.vtensor<[4,9],f32>\n}",
        False,
    )
    assert scatter["ok"], scatter
    row, column = re.findall(r"scf\.for (%\w+) = ", scatter["text"])
    loops = scatter["text"].partition("scf.for")[2]
    for operand in ("%arg1", "%arg2"):
        assert f"tensor.extract {operand}[{row}, {column}]" in loops
    assert "arith.remsi" not in loops and "%inserted_slice" not in loops
