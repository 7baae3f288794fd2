# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The number of threads that compiled programs use."""

from __future__ import annotations

from polynest import _capi, errors


def set_thread_count(count: int) -> None:
    """For all later calls; 0 goes back to environment and affinity mask."""
    count = int(count)
    # What does not fit the C type would come out as another number.
    if not -1 < count < 2**31:
        raise errors.ArgumentError(f"{count} is no number of threads")
    _capi.lib().pn_thread_count_set(count)


def thread_count() -> int:
    return _capi.lib().pn_thread_count_get()
