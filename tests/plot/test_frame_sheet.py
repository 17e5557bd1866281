"""scripts/frame_sheet.py: a planted clip frame by frame, from three sides."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest

import poise
from poise.ground.figure.figure import figure_of
from poise.io import samples
from poise.plot import frame_sheet as sheets
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
    assert sheets.choose_frames(10, None).tolist() == [0, 3, 6, 9]
    assert sheets.choose_frames(10, 4).tolist() == [0, 4, 8]
    assert len(sheets.choose_frames(1000, None)) <= sheets.MAX_DRAWN_FRAMES


def test_a_part_of_a_clip():
    assert sheets.choose_frames(1000, 1, "40:43").tolist() == [40, 41, 42, 43]
    assert sheets.choose_frames(50, 4, "40:").tolist() == [40, 44, 48]
    assert sheets.choose_frames(50, None, ":5").tolist() == [0, 3]
    for part in ("50:", "9:3", "three", "1:2:3", "-1:4"):
        with pytest.raises(poise.InputError, match="--frames"):
            sheets.choose_frames(50, None, part)


def test_all_that_is_drawn_is_in_its_cell(scene):
    frames = np.array([0, 5])
    assert frame_sheet.cell_of(scene, frames)[:3] == (sheets.MIN_ASIDE_M, sheets.MIN_BELOW_M, sheets.MIN_ABOVE_M)
    joints = scene.joints.copy()
    joints[5, scene.bones[-1, 1]] = scene.hips[5] + 2.0 * scene.way - [0.0, 0.0, 1.5]
    wide = frame_sheet.cell_of(scene._replace(joints=joints), frames)
    assert wide.aside == pytest.approx(2.0 + sheets.MARGIN_M)
    assert wide.below > 1.5
    assert wide.above == sheets.MIN_ABOVE_M
    assert wide.columns < sheets.COLUMNS


def test_lines_lead_to_feet_that_hang_elsewhere():
    """As game characters have them: the foot is no child of the shin, but follows it."""
    rig = poise.load(WALK)
    figure = figure_of(rig.clips[0], rig=rig)
    skeleton, (left, right) = figure.skeleton, figure.legs
    assert frame_sheet._jumped(figure) == []
    elsewhere = dataclasses.replace(figure, legs=(dataclasses.replace(left, foot=right.foot), right))
    shin, foot = skeleton.index(left.lower), skeleton.index(right.foot)
    toes = skeleton.index(left.toes)
    assert frame_sheet._jumped(elsewhere) == [(0, (shin, foot)), (0, (foot, toes))]


def test_three_views_of_who_goes_along_x():
    side, front, above = sheets.build_views(np.array([1.0, 0.0, 0.0]))
    points = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])  # ahead, left, up
    np.testing.assert_allclose(side.project_points(points), [[1, 0], [0, 0], [0, 1]], atol=1e-12)
    np.testing.assert_allclose(front.project_points(points), [[0, 0], [1, 0], [0, 1]], atol=1e-12)
    assert (above.project_points(points)[:, 1] != 0).all()
    assert abs(above.right @ above.up) < 1e-12


def test_what_is_over_its_bound_is_named(scene):
    calm = scene._replace(over=np.zeros_like(scene.over))
    popped = calm._replace(over=calm.over.copy())
    popped.over[3, scene.names.index("right knee")] = True  # between the frames that are shown
    sheet = frame_sheet.drawn(popped, np.array([0, 5]), "svg").decode()
    assert sheets.MISSED_COLOUR.lower() in sheet
    assert sheet.count("<!-- 5  right knee 3 -->") == 1
    assert sheets.MISSED_COLOUR.lower() not in frame_sheet.drawn(calm, np.array([0, 5]), "svg").decode()


def test_words_are_shortened_to_what_has_room():
    assert sheets.shorten_words("288  right toe 280", 18) == "288  right toe 280"
    assert sheets.shorten_words("288  right toe 280, right toe 281", 23) == "288  right toe 280..."


def test_the_source_is_behind_the_result(scene):
    rows = scene.bones[[i for i, colour in enumerate(scene.colours) if colour in sheets.LEG_COLOURS]]
    assert len(rows) == len(set(rows[:, 1].tolist()))
    upper = rows[0, 0]
    np.testing.assert_allclose(scene.source[:, upper], scene.joints[:, upper], atol=0.01)
    assert np.abs(scene.source - scene.joints).max() > 0.05


def test_a_mistake_is_a_sentence(tmp_path):
    with pytest.raises(poise.InputError, match="is for slope and stairs"):
        frame_sheet.main([WALK, "--terrain-direction", "along", "--out", str(tmp_path / "a.png")])
