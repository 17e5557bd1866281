"""The page that solves without Python: its size, its sources, and its answers in node, bit for bit Python's."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from poise.kernels import native
from tests.docs.pages import DOCS
from tests.timeouts import PROCESS

PAGE, ROOT = DOCS / "try.html", DOCS.parent
MAX_BYTES = 2_500_000
TARGETS = 200  # of each scene and method
EQUAL_FIELDS = ("q", "reached", "iterations")

library = native.load_library()
needs_portable = pytest.mark.skipif(
    library is None or "portable" not in library.list_levels(), reason="no library here has the portable level"
)
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def run(*command: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command on the level whose bits are WebAssembly's."""
    variables = os.environ | {"POISE_LEVEL": "portable", "POISE_QUIET": "1"}
    for name in ("POISE_LANES", "POISE_KERNELS"):
        variables.pop(name, None)
    return subprocess.run(
        command, check=False, cwd=ROOT, env=variables, input=given, capture_output=True, text=True, timeout=PROCESS
    )


@pytest.fixture(scope="module")
def expected():
    """Runs of targets, with the answers of Python."""
    finished = run(sys.executable, "-m", "tests.docs.try_cases", str(TARGETS))
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def find_differences(expected, own) -> list[str]:
    """List answers that differ from Python's in any bit.

    Only an angle may differ in its last bits: NumPy and JavaScript each have an arc tangent of their own.
    """
    faults = []
    for run_of_python, run_of_page in zip(expected, own, strict=True):
        for answer, other in zip(run_of_python["answers"], run_of_page["answers"], strict=True):
            same = all(answer[field] == other[field] for field in EQUAL_FIELDS)
            (distance, *angles), (own_distance, *own_angles) = (decode(each["errors"]) for each in (answer, other))
            if not same or distance != own_distance or not np.allclose(angles, own_angles, rtol=1e-15, atol=1e-15):
                faults.append(f"{run_of_python['scene']}, {run_of_python['method']}: {answer} and {other}")
    return faults


def decode(text):
    return np.frombuffer(base64.b64decode(text))


def test_the_page_is_one_small_file_without_addresses():
    text = PAGE.read_text(encoding="utf-8")
    assert len(text.encode()) <= MAX_BYTES
    assert "default-src 'none'" in text
    assert re.findall(r"\b(?:src|href|url|import)\b\s*[=(]\s*[^;>\s]*//", text) == []


@needs_portable
def test_the_page_is_made_from_the_present_sources():
    finished = run(sys.executable, "docs/try_page/_build.py", "--check")
    assert finished.returncode == 0, f"{finished.stdout}{finished.stderr}: run python docs/try_page/_build.py"


@needs_portable
@needs_node
def test_node_answers_like_python_bit_for_bit(expected):
    finished = run("node", "tests/docs/try_answers.mjs", str(PAGE), given=json.dumps(expected))
    assert finished.returncode == 0, finished.stderr
    own = json.loads(finished.stdout)
    assert sum(len(each["answers"]) for each in own) >= 15 * TARGETS  # five axes without FABRIK, which has no direction
    assert {answer["reached"] for each in own for answer in each["answers"]} == {False, True}
    assert find_differences(expected, own) == []
