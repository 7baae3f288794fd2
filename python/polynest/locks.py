# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Locks that a forked child finds free."""

from __future__ import annotations

import os
import threading
import weakref


class ForkLock:
    """A lock for `with`. A thread that holds it while another one forks is not
    there in the child, and would never let go of it. What it guards may then be
    half done: only for what stays whole, or what the child makes anew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: int | None = None
        _ALL.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()
        self._holder = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        self._holder = None
        self._lock.release()

    def renew_in_child(self) -> None:
        if self._holder != threading.get_ident():
            self._lock, self._holder = threading.Lock(), None


_ALL: "weakref.WeakSet[ForkLock]" = weakref.WeakSet()


def _renew_all() -> None:
    for lock in list(_ALL):
        lock.renew_in_child()


os.register_at_fork(after_in_child=_renew_all)
