"""The benchmark of the viewer runs and has a row for everything. Times are never asserted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.workload import is_drawn

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not is_drawn("benchmark of the viewer", 4), reason="this commit does not draw it"),
]

FOLDER = Path(__file__).parent.parent.parent / "benchmarks"


def test_the_viewer_is_loaded_dragged_played_and_soaked(chromium, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(FOLDER))
    import harness
    import viewer

    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    rigs = viewer.rigs
    monkeypatch.setattr(viewer, "REAL", ())
    monkeypatch.setattr(viewer, "rigs", lambda data: dict(list(rigs(data).items())[::2]))
    for name, value in (("ROUNDS", 1), ("MOVES", 20), ("PLAYED", 0.3)):
        monkeypatch.setattr(viewer, name, value)
    viewer.run(chromium, 0.1)
    text = (tmp_path / "viewer.md").read_text()
    assert text.count("scene ccd, 7 joints") == 2  # loaded and dragged
    assert text.count("humanoid.glb, 22 joints") == 3  # played, too
    assert "| 236 |" in text  # 40 bytes and 7 joints of 7 numbers
    assert "grew by" in text
    for module in ("harness", "viewer"):
        del sys.modules[module]
