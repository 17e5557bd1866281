"""The "units" object in the JSON of the commands."""

from __future__ import annotations

import json

import numpy as np
import pytest

import poise
from poise.io import samples
from tests.command_line import ARM, HUMANOID, run

WALK = samples.path("humanoid.bvh")
LOOK = ("--every-frame", "--joint", "Head", "--look-at", "2", "1.6", "2")
TRC = (
    "PathFileType\t4\t(X/Y/Z)\ta.trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\n30\t30\t1\t1\tmm\n"
    "Frame#\tTime\tHips\t\t\n\t\tX1\tY1\tZ1\n1\t0.0\t0\t1000\t0\n"
)
HUMANOID_METRES = poise.load(HUMANOID).skeleton.metres_per_unit
# command, metres of a unit, units of measures of its own
CASES = [
    (("info", HUMANOID), HUMANOID_METRES, {}),
    (("info", "a.trc"), 0.001, {}),
    (("limits", HUMANOID), HUMANOID_METRES, {}),
    (("limits", HUMANOID, "--anatomical", "--dry-run"), HUMANOID_METRES, {}),
    (("solve", ARM, "--joint", "tool", "--to", "0.25", "-0.4", "0.5"), 1.0, {}),
    (("solve", ARM, "--joint", "tool", "--targets", "targets.npy"), 1.0, {}),
    (("solve", HUMANOID, *LOOK), HUMANOID_METRES, {}),
    (("lock", WALK, "-o", "locked.bvh"), None, {"skate": "cm/s", "penetration": "mm", "velocity": "m/s"}),
    (("lock", WALK, "-o", "locked/"), None, {"skate_after": "cm/s", "sunk_after": "mm s"}),
    (("convert", WALK, "walk.glb"), None, {}),
    (("fit", "a.trc", "--on", HUMANOID, "-o", "a.glb"), HUMANOID_METRES, {}),
]


@pytest.mark.parametrize(("words", "metres_per_unit", "measures"), CASES)
def test_json_says_its_units(words, metres_per_unit, measures, tmp_path):
    (tmp_path / "a.trc").write_text(TRC)
    (tmp_path / "locked").mkdir()
    np.save(tmp_path / "targets.npy", [[0.25, -0.4, 0.5]])
    units = json.loads(run(*words, "--json", cwd=tmp_path).stdout)["units"]
    common = {"length": "file unit", "angle": "rad", "rotation": "quaternion w, x, y, z", "time": "s"}
    expected = common | {"metres_per_unit": metres_per_unit} | measures
    assert expected.items() <= units.items()


@pytest.mark.parametrize("command", [("lock",), ("plant", "--terrain", "slope:5")])
def test_a_written_report_says_its_units(command, tmp_path):
    words = (command[0], WALK, *command[1:], "-o", "out.bvh", "--report", "report.json", "--json")
    printed = json.loads(run(*words, cwd=tmp_path).stdout)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["units"].items() <= printed["units"].items()
    assert {"skate": "cm/s", "jerk": "m/s^3", "time": "s", "metres_per_unit": None}.items() <= report["units"].items()
