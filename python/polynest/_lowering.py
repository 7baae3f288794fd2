# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parent's side of the lowering worker (see _lowering_worker.py)."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from polynest import env
from polynest.locks import ForkLock


class LoweringCrash(Exception):
    """The worker died or did not answer in time; the message says which."""


class LoweringTimeout(LoweringCrash):
    """It did not answer in time."""


class Worker:
    """One child process; restarted after a crash and in a forked child.

    Internally locked: requests of several threads queue.
    """

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._process: subprocess.Popen | None = None
        self._owner = 0
        self._errors = None

    def start(self) -> None:
        """Starts the child ahead of its first request."""
        with self._lock:
            self._ensure()

    def request(
        self,
        module: str,
        locations: bool = False,
        updates: dict[int, int] | None = None,
        quick: bool = False,
    ) -> dict:
        """`updates`: results that are new values of arguments. A `quick` answer
        that is no module does not say what is wrong."""
        message = json.dumps(
            {
                "module": module,
                "locations": locations,
                "updates": list((updates or {}).items()),
                "quick": quick,
            }
        )
        body = message.encode()
        with self._lock:
            process = self._ensure()
            limit = env.lowering_timeout_s()
            timed_out = threading.Event()

            def expire() -> None:
                timed_out.set()
                process.kill()

            timer = threading.Timer(limit, expire)
            timer.daemon = True
            timer.start()
            try:
                process.stdin.write(struct.pack("<I", len(body)) + body)
                process.stdin.flush()
                head = process.stdout.read(4)
                if len(head) == 4:
                    (size,) = struct.unpack("<I", head)
                    answer = process.stdout.read(size)
                    if len(answer) == size:
                        return json.loads(answer)
            except (BrokenPipeError, ValueError):
                pass
            finally:
                timer.cancel()
            status = process.wait()
            tail = self._error_tail()
            self._close()
        if timed_out.is_set():
            raise LoweringTimeout(
                f"torch-mlir did not finish in {limit:g} s"
            )
        raise LoweringCrash(
            f"torch-mlir ended with status {status}" + (tail and f": {tail}")
        )

    def close(self) -> None:
        with self._lock:
            self._close()

    def _ensure(self) -> subprocess.Popen:
        if self._process is not None and self._owner != os.getpid():
            # A forked child must not talk over its parent's pipes.
            self._process = None
        if self._process is not None and self._process.poll() is not None:
            self._close()
        if self._process is None:
            package_root = str(Path(__file__).resolve().parent.parent)
            self._errors = tempfile.TemporaryFile()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "polynest._lowering_worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=env.child_environment(package_root),
            )
            self._owner = os.getpid()
        return self._process

    def _error_tail(self) -> str:
        if self._errors is None:
            return ""
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - 4000))
        lines = self._errors.read().decode(errors="replace").splitlines()
        for line in lines:
            if "Assertion" in line or "LLVM ERROR" in line or "Error" in line:
                return line.strip()[:300]
        return lines[-1].strip()[:300] if lines else ""

    def _close(self) -> None:
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        for stream in (process.stdin, process.stdout):
            try:
                stream.close()
            except OSError:
                pass
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._errors is not None:
            self._errors.close()
            self._errors = None


_WORKER = Worker()


def worker() -> Worker:
    return _WORKER
