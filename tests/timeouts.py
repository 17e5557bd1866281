"""How a test notices code that hangs or grows with the square of its input, on a machine that may be slow or busy.

No test compares seconds with what is usual somewhere. Either the input is so large that such code would take minutes,
and NO_HANG stands far from both; or the work is counted in lines of Python, which are the same on every machine.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

NO_HANG = 30.0  # seconds of processor time; what is guarded takes two at most, with a square loop of Python minutes
PATIENCE = float(os.environ.get("POISE_PATIENCE", "120"))  # [s] a machine may be busy, and a kernel may compile
PROCESS = 600.0  # seconds until a process that was started is given up; it may have to compile on a busy machine


@contextmanager
def no_hang() -> Iterator[None]:
    """What is inside ends before NO_HANG has passed."""
    start = time.process_time()
    try:
        yield
    finally:  # also where it ends in an error
        assert time.process_time() - start < NO_HANG


def lines_run(call: Callable[[], object]) -> int:
    """How many lines of Python a call runs, those of all that it calls among them."""
    count = 0

    def traced(_frame, event, _argument):
        nonlocal count
        count += event == "line"
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def assert_linear(call: Callable[[int], object], size: int) -> None:
    """The work of call(n) grows with n and not faster: each `size` more take as many lines as the `size` before."""
    call(size)  # what is done once and remembered
    first, second, third = (lines_run(lambda n=n: call(n)) for n in (size, 2 * size, 3 * size))
    assert 0 < third - second < 1.02 * (second - first)
