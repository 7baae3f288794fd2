# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the benchmarks against other libraries share: contenders that take
turns, the machine's limits, and the page that tables are written into.

The contenders of a case take turns, round after round, each after a pause in
which the threads of the one before go to sleep, and an untimed call. A time is
the median over rounds of the median of a round's calls. A round in front of them
does not count: making a contender leaves work to the system, such as memory that it
moves, for which the one that comes next would wait.
"""
import argparse
import ctypes
import math
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import time

# What is measured is compiled, and now.
os.environ["POLYNEST_CACHE"] = "0"

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LINE_BYTES = 64
# Longer than any library's idle threads spin: libgomp's for 3 to 6 ms, ONNX
# Runtime's for 41, OpenBLAS's for 0.1 s and more unless it is told 2^22 cycles.
# They would have the processors of who comes next.
PAUSE_SECONDS = 0.06
os.environ["OPENBLAS_THREAD_TIMEOUT"] = "22"
# Settings of the user's would speak for one library and not for another.
FOREIGN = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OPENBLAS_NUM_THREADS",
           "OMP_NUM_THREADS", "MKL_NUM_THREADS", "GOMP_SPINCOUNT",
           "OMP_WAIT_POLICY", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA")


def clean_environment():
    """Starts the program anew without settings that libraries read."""
    if any(name in os.environ for name in FOREIGN):
        for name in FOREIGN:
            os.environ.pop(name, None)
        os.execv(sys.executable, [sys.executable, *sys.argv])


def keep_memory():
    """Lets the C library keep what it frees: results that libraries allocate
    themselves are then memory touched before, as ours are."""
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
        libc.mallopt(-1, (1 << 31) - 1)  # M_TRIM_THRESHOLD


def need_calls():
    """A build of the library alone has no calls in C: behind large arrays, which
    leave nothing of the interpreter in the caches, others take 5 to 10 us more."""
    from polynest import _capi

    if _capi.calls_module() is None:
        raise SystemExit(f"{_capi.CALLS_NAME} is not built: no times of calls "
                         "from Python without it")


def line_zeros(shape, dtype):
    """Zeros that begin at a cache line, as arrays that torch allocates do; NumPy's
    own begin 16 bytes into one. Touched."""
    import numpy as np

    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.empty(size + LINE_BYTES, np.uint8)
    room.fill(0)
    begin = -room.ctypes.data % LINE_BYTES
    return room[begin:begin + size].view(dtype).reshape(shape)


def on_line(array):
    """A contiguous copy that begins at a cache line."""
    out = line_zeros(array.shape, array.dtype)
    out[...] = array
    return out


def pattern(text):
    """A regular expression, as an argument."""
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no regular expression: {error}") from error


# -- contenders ----------------------------------------------------------------


class Skipped(Exception):
    """A library that cannot take part, and why."""


class Call:
    """A contender whose call and result are functions."""

    def __init__(self, call, result, close=lambda: None):
        self.call, self._result, self.close = call, result, close

    @property
    def result(self):
        return self._result()


def need(module, name):
    if module is None:
        raise Skipped(f"{name} is not installed")


def onnxruntime_call(model, inputs, out, threads):
    """An ONNX model with one result, its arrays bound beforehand; without `out`
    called as users do, with a result made anew."""
    try:
        import onnxruntime as ort
    except ImportError as error:
        raise Skipped(f"{error.name} is not installed") from error
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(model, options,
                                   providers=["CPUExecutionProvider"])
    if out is None:
        return keeping(lambda: session.run(None, inputs)[0])
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_input(name, "cpu", 0, array.dtype, array.shape,
                           array.ctypes.data)
    binding.bind_output(session.get_outputs()[0].name, "cpu", 0, out.dtype,
                        out.shape, out.ctypes.data)
    return Call(lambda: session.run_with_iobinding(binding), lambda: out)


def openvino_call(model, inputs, out, threads):
    """A model that OpenVINO reads (bytes of ONNX, or one of its own) with one
    result, its arrays bound beforehand, by name or in their order; without `out`
    called with all of them, and a new one for the result, in each call. Nothing is
    copied either way, which the defaults of its Python functions do with results."""
    try:
        import numpy as np
        import openvino as ov
    except ImportError as error:
        raise Skipped(f"{error.name} is not installed") from error
    core = ov.Core()
    if isinstance(model, bytes):
        model = core.read_model(model)
    compiled = core.compile_model(model, "CPU", {
        "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY"})
    arrays = list(inputs.values())
    request = compiled.create_infer_request()
    if out is None:
        result = compiled.output(0)
        size, dtype = tuple(result.shape), result.element_type.to_dtype()

        def call():
            made = np.empty(size, dtype)
            request.set_output_tensor(ov.Tensor(made, shared_memory=True))
            request.infer(arrays, share_inputs=True, share_outputs=True)
            return made
        return keeping(call)
    for i, array in enumerate(arrays):
        request.set_input_tensor(i, ov.Tensor(array, shared_memory=True))
    request.set_output_tensor(ov.Tensor(out, shared_memory=True))
    return Call(lambda: request.infer(share_outputs=True), lambda: out)


def keeping(function):
    """A contender that makes its result anew and keeps the last one."""
    held = [None]

    def call():
        held[0] = function()
    return Call(call, lambda: held[0])


def timed(call, seconds):
    """Median of as many calls as fit, at least 3."""
    clock, times, end = time.perf_counter, [], None
    while end is None or len(times) < 3 or clock() < end:
        start = clock()
        if end is None:
            end = start + seconds
        call()
        times.append(clock() - start)
    return statistics.median(times)


def take_turns(contenders, rounds, seconds, beside=None):
    """{name: seconds a call} of contenders by name; `beside` is called once in
    each round."""
    found = {name: [] for name in contenders}
    names = list(contenders)
    for i in range(rounds + 1 if rounds else 0):
        # Another one first each time.
        for name in names[i % len(names):] + names[:i % len(names)]:
            time.sleep(PAUSE_SECONDS)
            contenders[name].call()
            taken = timed(contenders[name].call, seconds)
            if i:
                found[name].append(taken)
        if i and beside:
            beside()
    return {name: statistics.median(t) for name, t in found.items() if t}


# -- the machine ---------------------------------------------------------------


def fma_peak(threads, seconds=0.4):
    """GFLOP/s of independent FMAs on registers."""
    from polynest import _capi

    function = _capi.lib().pn_measure_fma
    function.argtypes = [ctypes.c_int32, ctypes.c_int32, ctypes.c_double,
                         ctypes.POINTER(ctypes.c_double)]
    out = ctypes.c_double()
    if function(_capi.DTYPES["f32"], threads, seconds, ctypes.byref(out)):
        raise RuntimeError("the peak cannot be measured")
    return out.value


STREAMS = {"read": 1, "write": 2, "copy": 3, "triad": 4}


def stream_peak(stream, threads, array_bytes, seconds=0.4):
    """GB/s of the loop, with stores past the caches or without, the faster."""
    from polynest import _capi

    function = _capi.lib().pn_measure_stream
    function.argtypes = [ctypes.c_int32, ctypes.c_bool, ctypes.c_size_t,
                         ctypes.c_int32, ctypes.c_double,
                         ctypes.POINTER(ctypes.c_double)]
    best = 0.0
    for past in (False, True):
        out = ctypes.c_double()
        if function(STREAMS[stream], past, array_bytes, threads, seconds,
                    ctypes.byref(out)) == 0:
            best = max(best, out.value)
    if not best:
        raise RuntimeError("the bandwidth cannot be measured")
    return best


def machine():
    """Processor, what LLVM calls it, width of its vectors, number of CPUs."""
    from polynest.handles import Target

    match = re.search(r"^model name\s*:\s*(.*)$",
                      pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    with Target() as host:
        text = host.text()
    cpu, bits = (re.search(rf"^ *{field} +(\S+)", text, re.M)[1]
                 for field in ("llvm_cpu", "vector_bits"))
    return (f"{match[1] if match else platform.processor()} ({cpu}, {bits}-bit "
            f"vectors), {os.cpu_count()} CPUs")


def versions():
    import numpy as np

    found = [f"NumPy {np.__version__}"]
    try:
        blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        found.append("with " + " ".join(
            blas["openblas configuration"].split()[:2]))
    except KeyError:
        pass
    for name, label in (("torch", "torch"), ("onnxruntime", "ONNX Runtime"),
                        ("openvino", "OpenVINO")):
        try:
            module = __import__(name)
            found.append(f"{label} {module.__version__.split('-')[0]}")
        except ImportError:
            pass
    return ", ".join(found)


def commit():
    def git(*words):
        return subprocess.run(["git", "-C", str(ROOT), *words], text=True,
                              capture_output=True).stdout.strip()
    changed = git("status", "--porcelain", "--untracked-files=no")
    return git("rev-parse", "--short", "HEAD") + (" with changes" if changed
                                                  else "")


# -- tables --------------------------------------------------------------------


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def table(heads, rows):
    """Lines of a table; rows of texts."""
    return ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|",
            *("| " + " | ".join(row) + " |" for row in rows)]


def write_page(name, text, benchmark=None):
    """Replaces what stands between the marks of table `name`, which a benchmark
    of that name writes unless told."""
    begin = f"<!-- {name}: written by test/benchmark/{benchmark or name} -->"
    end = f"<!-- {name}: end -->"
    path = ROOT / "docs" / "performance.md"
    page = path.read_text()
    if begin not in page or end not in page:
        raise SystemExit(f"{path} has no marks for this table")
    head, rest = page.split(begin, 1)
    path.write_text(head + begin + "\n\n" + text + "\n" + end
                    + rest.split(end, 1)[1])
    print(f"wrote {path}")
