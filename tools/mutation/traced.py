"""A pytest plugin: which lines of the package each test runs, and how long it takes.

    MUTATION_TRACE=lines.jsonl MUTATION_SOURCE=.../src/poise pytest -p mutation.traced tests/...

One line of JSON a test that passes; of a test with many cases some are run. A test that works longer than
MUTATION_LONGEST seconds of processor time is ended and counts as failed. A function that has run many of its lines in
one test is looked at no longer: loops stay quick.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

SOURCE = os.environ["MUTATION_SOURCE"] + os.sep
LONGEST = float(os.environ.get("MUTATION_LONGEST", "0"))
CASES = int(os.environ.get("MUTATION_CASES", "5"))  # of one test
ENOUGH = 400  # lines run in one function, in one test

lines: dict[CodeType, set[int]] = defaultdict(set)
counts: dict[CodeType, int] = defaultdict(int)
ours: dict[CodeType, bool] = {}
out = Path(os.environ["MUTATION_TRACE"])
repeat = "MUTATION_REPEAT" in os.environ  # what was traced before is traced again, since tests have changed
known = set() if repeat or not out.is_file() else {json.loads(line)["test"] for line in out.read_text().splitlines()}


def called(frame: FrameType, _event: str, _what: Any) -> Any:
    """A function begins."""
    code = frame.f_code
    if code not in ours:
        ours[code] = code.co_filename.startswith(SOURCE)
    if not ours[code] or counts[code] > ENOUGH:
        return None
    lines[code].add(frame.f_lineno)
    return inside


def inside(frame: FrameType, event: str, _what: Any) -> Any:
    """A line of one of our functions is run."""
    code = frame.f_code
    if event == "line":
        lines[code].add(frame.f_lineno)
        counts[code] += 1
        if counts[code] > ENOUGH:
            frame.f_trace_lines = False
            return None
    return inside


class TooLongError(BaseException):
    """A test is longer than it may be."""


def too_long(*_: Any) -> None:
    raise TooLongError


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test with many cases some, spread evenly; a trace that was interrupted goes on where it stopped."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases[item.nodeid.split("[")[0]].append(item)
    some = {each for same in cases.values() for each in same[:: max(1, -(-len(same) // CASES))]}
    items[:] = [item for item in items if item in some and item.nodeid not in known]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Trace one test, its fixtures included."""
    lines.clear()
    counts.clear()
    item.stash[FAILED] = False
    began = worked()
    threading.settrace(called)
    sys.settrace(called)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        if not item.stash[FAILED]:
            write(item.nodeid, worked() - began)


def worked() -> float:
    """Seconds of processor time so far, of processes that were waited for, too: the same on a busy machine."""
    return sum(os.times()[:4])


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """A test that is too long fails."""
    if LONGEST:
        signal.signal(signal.SIGPROF, too_long)
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        return (yield)
    except TooLongError:
        pytest.fail("too long", pytrace=False)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    """Remember whether a part of the test did not pass."""
    report = yield
    item.stash[FAILED] = item.stash[FAILED] or not report.passed
    return report


def write(test: str, seconds: float) -> None:
    """Append what a test ran: the file's lines as ranges of neighbours."""
    files: dict[str, set[int]] = defaultdict(set)
    for code, found in lines.copy().items():
        if found:
            files[code.co_filename.removeprefix(SOURCE)] |= found
    row = {"test": test, "seconds": round(seconds, 4), "lines": {file: sorted(set_) for file, set_ in files.items()}}
    with out.open("a") as file:
        file.write(json.dumps(row, separators=(",", ":")) + "\n")
