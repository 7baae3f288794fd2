# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The number of threads that compiled programs use."""

from __future__ import annotations

from polynest import _capi


def set_thread_count(count: int) -> None:
    """For all later calls; 0 goes back to environment and affinity mask."""
    _capi.lib().pn_thread_count_set(int(count))


def thread_count() -> int:
    return _capi.lib().pn_thread_count_get()
