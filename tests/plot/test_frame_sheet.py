"""scripts/frame_sheet.py: a planted clip frame by frame, from three sides."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import poise
from poise.io import samples
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import frame_sheet

WALK = str(samples.path("humanoid.bvh"))


@pytest.fixture(scope="module")
def scene() -> frame_sheet.Scene:
    rig = poise.load(WALK)
    return frame_sheet.scene_of(poise.plant_feet(rig.clips[0], poise.Terrain.stairs(0.2, 0.25), rig=rig))


def test_a_sheet_of_the_sample_walk(tmp_path, capsys):
    out = tmp_path / "sheet.png"
    ground = ["--terrain", "stairs:0.15,0.30", "--terrain-direction", "against"]
    frame_sheet.main([WALK, *ground, "--every", "10", "--out", str(out)])
    assert out.read_bytes().startswith(b"\x89PNG")
    assert "stairs, 0.15 up every 0.3, climbing along (" in capsys.readouterr().out


def test_every_third_frame_and_fewer_of_long_clips():
    assert frame_sheet.frames_of(10, None).tolist() == [0, 3, 6, 9]
    assert frame_sheet.frames_of(10, 4).tolist() == [0, 4, 8]
    assert len(frame_sheet.frames_of(1000, None)) <= frame_sheet.MOST


def test_three_views_of_who_goes_along_x():
    side, front, above = frame_sheet.views_of(np.array([1.0, 0.0, 0.0]))
    points = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])  # ahead, left, up
    np.testing.assert_allclose(side.seen(points), [[1, 0], [0, 0], [0, 1]], atol=1e-12)
    np.testing.assert_allclose(front.seen(points), [[0, 0], [1, 0], [0, 1]], atol=1e-12)
    assert (above.seen(points)[:, 1] != 0).all()
    assert abs(above.right @ above.up) < 1e-12


def test_what_is_over_its_bound_is_named(scene):
    assert scene.over.any()
    written = frame_sheet.drawn(scene, np.array([0, len(scene.over) - 1]), "svg").decode()
    assert frame_sheet.OVER.lower() in written
    calm = scene._replace(over=np.zeros_like(scene.over))
    assert frame_sheet.OVER.lower() not in frame_sheet.drawn(calm, np.array([0, 5]), "svg").decode()


def test_the_source_is_behind_the_result(scene):
    rows = scene.bones[[i for i, colour in enumerate(scene.colours) if colour in frame_sheet.LEGS]]
    assert len(rows) == len(set(rows[:, 1].tolist()))
    upper = rows[0, 0]
    np.testing.assert_allclose(scene.source[:, upper], scene.joints[:, upper], atol=0.01)
    assert np.abs(scene.source - scene.joints).max() > 0.05


def test_a_mistake_is_a_sentence(tmp_path):
    with pytest.raises(poise.InputError, match="is for slope and stairs"):
        frame_sheet.main([WALK, "--terrain-direction", "along", "--out", str(tmp_path / "a.png")])
