# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contenders of the `models` benchmark, each in a process of its own.

A contender is a forked child of the process that built the model, so that all
have the same weights, begin with the same memory, and a crash or a hang costs
one line of the table. The child says what preparation took and whether the
result is right, then calls the model for a while each time it is asked to.
"""
from __future__ import annotations

import importlib
import io
import json
import math
import multiprocessing
import os
import pathlib
import resource
import shutil
import signal
import statistics
import tempfile
import time
import traceback
import warnings

import torch
import torch._dynamo

import harness
from harness import Skipped

OURS, EAGER, NOTHING = "ours", "eager", "Dynamo alone"
FROZEN, INDUCTOR = "Inductor, freezing", "Inductor"
ONNX, OPENVINO = "ONNX Runtime", "OpenVINO"
DYNAMIC = "ours, dynamic"
BF16, EAGER_BF16 = "ours, bf16", "eager, bf16"
FROZEN_BF16 = "Inductor, freezing, bf16"
UNDER_AUTOCAST = (BF16, EAGER_BF16, FROZEN_BF16)
TOLERANCES = json.loads(
    (harness.ROOT / "test" / "tolerances.json").read_text())
MIB = 1 << 20


# -- makers: a subject and its inputs to a call without arguments --------------


def ours(subject, inputs, threads, dynamic=False):
    from polynest import threads as our_threads
    from polynest import torch_backend

    our_threads.set_thread_count(threads)
    return torch.compile(subject.module, backend=torch_backend.polynest,
                         dynamic=dynamic,
                         options={"freeze": not subject.trains})


def dynamic(subject, inputs, threads):
    """The same with sizes of batches and sequences that are not known: compiled
    for others than those of the inputs."""
    if subject.cached:
        raise Skipped("a cache has room for as many rows as it was made for")
    dims = varying(subject)
    # Dynamo takes sizes of 1 as they are.
    is_one = any(t.shape[d] == 1 for t, ds in zip(inputs, dims) for d in ds)
    first = []
    for tensor, ds in zip(subject.inputs(1 if is_one else 5), dims):
        if is_table(tensor, ds):
            tensor = tensor[:, :2 * tensor.shape[1] // 3].contiguous()
        for d in ds:
            if tensor.shape[d] > 1:
                torch._dynamo.mark_dynamic(tensor, d)
        first.append(tensor)
    function = ours(subject, first, threads, dynamic=None)
    subject.call(function, first)
    return function


def is_table(tensor, dims):
    """Whether a tensor is one of tokens, a row for each of a batch."""
    return 0 in dims and tensor.dim() == 2 and not tensor.is_floating_point()


def varying(subject):
    """Dimensions of each input that are a batch's or a sequence's: those that
    another batch has otherwise, and both of a table of tokens."""
    found = []
    for few, many in zip(subject.inputs(2), subject.inputs(4)):
        dims = {d for d, (n, m) in enumerate(zip(few.shape, many.shape))
                if n != m}
        if is_table(few, dims):
            dims.add(1)
        found.append(sorted(dims))
    return found


def eager(subject, inputs, threads):
    return subject.module


def nothing(subject, inputs, threads):
    return torch.compile(subject.module, dynamic=False,
                         backend=lambda graph, _: graph.forward)


def inductor(freezing):
    def make(subject, inputs, threads):
        import torch._inductor.config as config

        if freezing and subject.trains:
            raise Skipped("weights that are trained are not frozen")
        config.freezing = freezing
        return torch.compile(subject.module, dynamic=False)
    return make


def autocast(make):
    """The same under autocast: products in bf16, sums in f32."""
    def made(subject, inputs, threads):
        function = make(subject, inputs, threads)

        def call(*arguments):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return function(*arguments)
        return call
    return made


def first_line(error):
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:80]}"


def arrays(inputs):
    return {f"x{i}": t.numpy() for i, t in enumerate(inputs)}


def wanted(subject, inputs):
    if subject.trains:
        raise Skipped("gradients are not exported")
    if subject.state():
        raise Skipped("a cache is not exported")
    with torch.no_grad():
        return torch.empty_like(subject.module(*inputs),
                                memory_format=torch.contiguous_format)


def onnxruntime(subject, inputs, threads):
    out, held = wanted(subject, inputs), io.BytesIO()
    try:
        importlib.import_module("onnxruntime")
        torch.onnx.export(subject.module, inputs, held, dynamo=False,
                          input_names=list(arrays(inputs)), opset_version=20)
    except ImportError as error:
        raise Skipped(f"{error.name} is not installed") from error
    except Exception as error:  # noqa: BLE001 - whatever an exporter raises
        raise Skipped(f"not exported ({first_line(error)})") from error
    found = harness.onnxruntime_call(held.getvalue(), arrays(inputs),
                                     out.numpy(), threads)
    return lambda *_: (found.call(), out)[1]


def openvino(subject, inputs, threads):
    out = wanted(subject, inputs)
    try:
        ov = importlib.import_module("openvino")
        model = ov.convert_model(
            subject.module, example_input=inputs,
            input=[ov.PartialShape(t.shape) for t in inputs])
    except ImportError as error:
        raise Skipped(f"{error.name} is not installed") from error
    except Exception as error:  # noqa: BLE001
        raise Skipped(f"not converted ({first_line(error)})") from error
    found = harness.openvino_call(model, arrays(inputs), out.numpy(), threads)
    return lambda *_: (found.call(), out)[1]


MAKERS = {OURS: ours, EAGER: eager, NOTHING: nothing, OPENVINO: openvino,
          ONNX: onnxruntime, FROZEN: inductor(True), INDUCTOR: inductor(False),
          DYNAMIC: dynamic, BF16: autocast(ours), EAGER_BF16: autocast(eager),
          FROZEN_BF16: autocast(inductor(True))}
PEERS = (EAGER, INDUCTOR, FROZEN, ONNX, OPENVINO)


# -- in the child --------------------------------------------------------------


def peak_mib():
    """Of this process, and of the largest child it still has."""
    def high(pid):
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
        for line in text.splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        return 0.0
    me, helper = os.getpid(), 0.0
    for task in pathlib.Path(f"/proc/{me}/task").iterdir():
        try:
            for pid in (task / "children").read_text().split():
                helper = max(helper, high(pid))
        except OSError:
            pass
    ended = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return high(me), max(helper, ended)


def difference(have, want, terms):
    """(largest difference, what is wrong or None)."""
    if have.shape != want.shape or have.dtype != want.dtype:
        return 0.0, f"{have.dtype} {tuple(have.shape)}"
    if not want.is_floating_point():
        return 0.0, None if torch.equal(have, want) else "other integers"
    row = TOLERANCES["dtypes"]["f32"]
    bound = row["factor"] * row["unit"] * math.sqrt(terms) * (
        want.abs() + want.abs().mean())
    off = (have.double() - want.double()).abs()
    share = (off / bound).nan_to_num(math.inf)
    worst = float(share.max())
    text = f"{worst:.1f} times the tolerance" if not worst <= 1 else None
    return float(off.max()), text


def norm(tensors):
    return math.sqrt(sum(float(t.double().square().sum()) for t in tensors))


def compare_gradients(subject, inputs, have, want):
    """The same for a loss and its gradients. A value near 0 may fall on either
    side of a rectifier, and single elements of gradients with it, in eager as in
    ours: the whole is compared with f64, and may be off four times as far as
    eager is."""
    double = subject.in_double()
    loss = double.call(double.module, tuple(
        x.double() if x.is_floating_point() else x for x in inputs))
    exact = [loss, *double.state()]
    if len(have) != len(exact):
        return 0.0, f"{len(have)} gradients for {len(exact)}"
    off, theirs = (norm([x - e for x, e in zip(found, exact)]) / norm(exact)
                   for found in (have, want))
    row = TOLERANCES["dtypes"]["f32"]
    most = 4 * theirs + row["factor"] * row["unit"] * math.sqrt(subject.terms)
    return off, (None if off <= most else
                 f"{off:.1e} off in norm, eager {theirs:.1e}")


def compare_rounded(subject, inputs, have, want):
    """The same under autocast: a result may be off f32's twice as far as eager's
    under autocast is, as a whole."""
    rounded = subject.call(autocast(eager)(subject, inputs, 1), inputs)
    off, theirs = (norm([x.float() - w for x, w in zip(found, want)])
                   / norm(want)
                   for found in (have, [rounded, *subject.state()]))
    return off, (None if off <= 2 * theirs else
                 f"{off:.1e} off in norm, eager {theirs:.1e}")


def compare(subject, inputs, have, want):
    found = [difference(h, w, subject.terms) for h, w in zip(have, want)]
    wrong = [w for _, w in found if w]
    return max(d for d, _ in found), wrong[0] if wrong else None


class Child:
    """What a child does, step by step."""

    def __init__(self, name, subject, batch, threads):
        torch.set_num_threads(threads)
        torch._dynamo.config.allow_rnn = subject.rnn
        self.name, self.subject, self.threads = name, subject, threads
        self.inputs = subject.inputs(batch)
        self.function = None

    def call(self):
        return self.subject.call(self.function, self.inputs)

    def snapshot(self, result):
        return [t.clone() for t in (result, *self.subject.state())]

    def written(self, result):
        """The same in a file: copies in memory would count as the contender's."""
        file = tempfile.NamedTemporaryFile(prefix="models-")
        torch.save([result, *self.subject.state()], file.name)
        return file

    def prepare(self):
        """First call, checks, memory."""
        start = time.perf_counter()
        self.function = MAKERS[self.name](
            self.subject, self.inputs, self.threads)
        result = self.call()
        said = {"first_s": time.perf_counter() - start}
        first = self.written(result)
        again = self.written(self.call())
        said["peak_mib"], said["helper_mib"] = peak_mib()
        said.update(self.told())
        first, again = (torch.load(file.name) for file in (first, again))
        want = self.snapshot(
            self.subject.call(self.subject.module, self.inputs))
        check = (compare_gradients if self.subject.trains
                 else compare_rounded if self.name in UNDER_AUTOCAST else compare)
        for result in (first, again):
            off, wrong = check(self.subject, self.inputs, result, want)
            said["difference"], said["wrong"] = off, wrong
            if wrong:
                break
        said["repeats"] = all(map(torch.equal, first, again))
        return said

    def told(self):
        if self.name == EAGER:
            return work_of(self.subject, self.inputs)
        if self.name not in (OURS, DYNAMIC, BF16):
            return {}
        from polynest import torch_backend

        found = torch_backend.reports()
        return {"graphs": len(found),
                "ops": sum(r.ops for r in found),
                "regions": sum(r.regions for r in found),
                "fallbacks": sorted(
                    {str(f) for r in found for f in r.fallbacks}),
                "frontend_s": sum(r.frontend_s for r in found),
                "compile_s": sum(r.compile_s for r in found)}

    def turn(self, seconds):
        """Median of a turn's calls."""
        clock, times = time.perf_counter, []
        end = clock() + seconds
        self.call()
        while not times or clock() < end:
            start = clock()
            self.call()
            times.append(clock() - start)
        return statistics.median(times)


def work_of(subject, inputs):
    """Multiplications and additions of products and convolutions, and bytes that
    have to be read: the parameters and the cache, once."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        subject.call(subject.module, inputs)
    read = [*subject.module.parameters(), *subject.state(), *inputs]
    # Of a table of embeddings only some rows are read.
    tables = {id(m.weight) for m in subject.module.modules() if isinstance(
        m, (torch.nn.Embedding, torch.nn.EmbeddingBag))}
    used = {id(m.weight) for m in subject.module.modules()
            if isinstance(m, torch.nn.Linear)}
    return {"flops": counter.get_total_flops(),
            "bytes": sum(t.numel() * t.element_size() for t in read
                         if id(t) not in tables or id(t) in used)}


def run_child(pipe, name, subject, batch, threads, quiet):
    if quiet:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.dup2(2, 1)
    warnings.simplefilter("ignore")
    try:
        with torch.set_grad_enabled(subject.trains):
            child = Child(name, subject, batch, threads)
            pipe.send(("ready", child.prepare()))
            while True:
                seconds = pipe.recv()
                if seconds is None:
                    break
                pipe.send(("time", child.turn(seconds)))
    except Skipped as reason:
        pipe.send(("skipped", str(reason)))
    except EOFError:
        pass
    except BaseException as error:  # noqa: BLE001 - told to the parent
        traceback.print_exc()
        pipe.send(("failed", first_line(error)))
    pipe.close()
    # Threads of libraries do not always end by themselves.
    os._exit(0)


# -- in the parent -------------------------------------------------------------


class Runner:
    """A child as its parent sees it."""

    def __init__(self, name, subject, batch, threads, quiet):
        context = multiprocessing.get_context("fork")
        self.name = name
        self._cache = tempfile.mkdtemp(prefix="models-")
        # Inductor compiles from nothing; children of a fork read this.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = self._cache
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=self._main, args=(
            theirs, name, subject, batch, threads, quiet))
        self._process.start()
        theirs.close()

    @staticmethod
    def _main(*arguments):
        os.setsid()
        run_child(*arguments)

    def answer(self, seconds):
        """("ready" | "time", value) or ("skipped" | "failed", reason)."""
        try:
            if self._pipe.poll(max(seconds, 0.0)):
                return self._pipe.recv()
            return "failed", f"no answer in {seconds:.0f} s"
        except EOFError:
            self._process.join(5)
            return "failed", f"ended with status {self._process.exitcode}"

    def turn(self, seconds, limit):
        self._pipe.send(seconds)
        return self.answer(limit)

    def close(self):
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.kill()
        self._process.join()
        self._pipe.close()
        shutil.rmtree(self._cache, ignore_errors=True)
