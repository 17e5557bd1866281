"""Kernels of the library give the bits of the JIT, on recorded calls: all, or some that the commit draws."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from poise.kernels import levels, native
from tests.tools.fresh_build import choose_kernels

ROOT = Path(__file__).parent.parent.parent
TOOL = ROOT / "tools" / "native" / "recorded_calls.py"
LANES = ("4", "8") if native.load_library() and levels.LEVELS[levels.find_level()].lane_count == 8 else ("4",)
# Kernels of the other lane count are recorded in the run with that count.
OTHER_LANES = {"4": "8", "8": "4"}
ALWAYS_CALLED = {"arm_targets.solve_targets4"}  # a lone target of an arm takes four lanes with eight, too

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not native.get_library_path().exists(), reason="this platform has no library of kernels"),
]


def run_tool(action: str, file: Path, **variables: str) -> dict:
    """Run the tool and return what it prints as JSON."""
    done = subprocess.run(
        [sys.executable, str(TOOL), action, str(file)], capture_output=True, text=True, check=False,
        env=os.environ | variables,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


class Recorded(NamedTuple):
    """Recorded calls of kernels: the number of lanes, the file, and the number of calls of each kernel."""

    lanes: str
    file: Path
    counts: dict[str, int]


@pytest.fixture(scope="module", params=LANES)
def recorded(request, tmp_path_factory):
    """Record calls of every kernel of the library."""
    file = tmp_path_factory.mktemp("calls") / "calls.pickle"
    return Recorded(request.param, file, run_tool("record", file, POISE_KERNELS="native", POISE_LANES=request.param))


def test_a_kernel_gives_the_bits_of_the_jit(recorded, tmp_path):
    without_calls = {name for name, count in recorded.counts.items() if not count}
    of_other_lanes = {name for name in recorded.counts if name.endswith(OTHER_LANES[recorded.lanes])}
    assert without_calls == of_other_lanes - ALWAYS_CALLED
    calls, chosen = pickle.loads(recorded.file.read_bytes()), choose_kernels(tmp_path)  # noqa: S301  (written above)
    file = tmp_path / "chosen.pickle"
    file.write_bytes(pickle.dumps({name: calls[name] for name in chosen}))
    outcome = run_tool("compare", file, POISE_KERNELS="jit", POISE_LANES=recorded.lanes)
    assert outcome["different"] == {}
    assert outcome["equal"] == sum(recorded.counts[name] for name in chosen) > 0


def test_a_changed_bit_is_seen(recorded, tmp_path):
    """The comparison itself: a file with one bit changed in one written array."""
    calls = pickle.loads(recorded.file.read_bytes())  # noqa: S301  (written above)
    before, after, result = calls["kernel_coordinates.convert_u_to_q"][0]
    after[-1].reshape(-1).view("uint8")[0] ^= 1
    file = tmp_path / "changed.pickle"
    file.write_bytes(pickle.dumps({"kernel_coordinates.convert_u_to_q": [(before, after, result)]}))
    assert run_tool("compare", file, POISE_KERNELS="native")["different"] == {"kernel_coordinates.convert_u_to_q": 1}
