"""Drag at random for a while (POISE_SOAK_SECONDS, default 5): nothing breaks, and memory stays flat on both sides."""

from __future__ import annotations

import gc
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.viewer.browser import assert_shown_is_solved

pytestmark = pytest.mark.long

SECONDS = float(os.environ.get("POISE_SOAK_SECONDS", "5"))
MOST_GROWTH = 50e6  # [bytes] of this process, and of the page
STATUS = Path("/proc/self/status")


def resident():
    """Memory that this process has [bytes]."""
    gc.collect()
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmRSS"))
    return 1024 * int(line.split()[1])


def heap(client):
    """Memory that the page's objects and buffers have [bytes]."""
    client.send("HeapProfiler.collectGarbage")
    client.send("HeapProfiler.collectGarbage")
    usage = client.send("Runtime.getHeapUsage")
    return usage["usedSize"] + usage.get("backingStorageSize", 0)


@pytest.mark.skipif(not STATUS.exists(), reason="memory of a process is read from /proc")
def test_dragging_at_random_for_a_while(served):
    seed = int(os.environ.get("POISE_SOAK_SEED", "7" if "CI" in os.environ else str(int(time.time()))))
    sys.stdout.write(f"POISE_SOAK_SEED={seed} does the same again\n")  # pytest shows it where the test fails
    rng = np.random.default_rng(seed)
    tab = served("two_methods", new=True)
    client = tab.context.new_cdp_session(tab.page)
    for _ in range(6):  # caches fill, and undo is as long as it gets
        drag(tab, rng)
    before = resident(), heap(client)
    end, drags = time.monotonic() + SECONDS, 0
    while time.monotonic() < end or drags < 6:
        drag(tab, rng)
        drags += 1
    assert_shown_is_solved(tab)
    grown = resident() - before[0], heap(client) - before[1]
    assert max(grown) < MOST_GROWTH, f"{drags} drags: Python grew by {grown[0]} bytes, the page by {grown[1]}"


def drag(tab, rng):
    """One drag anywhere in the view, and now and then something else that a person does meanwhile."""
    box = tab.at("view-a").bounding_box()
    middle = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    x, y = tab.press()
    ways = middle + rng.uniform(-0.3, 0.3, size=(4, 2)) * (box["width"], box["height"])
    corners = np.vstack([[x, y], ways, middle])
    steps = np.linspace(0, len(corners) - 1, 50)
    tab.move(np.column_stack([np.interp(steps, range(len(corners)), corners[:, i]) for i in range(2)]))
    what = rng.integers(6)
    if what == 0:
        tab.key("Control+z")
    elif what == 1:
        tab.page.locator(".joint:not([hidden])").nth(int(rng.integers(5))).click()
    elif what == 2:
        tab.pick("solver-a", str(rng.choice(["ccd", "fabrik", "levenberg_marquardt"])))
    tab.answered()
