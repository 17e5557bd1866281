"""Sheets of retargeted clips: the source over the target, from the side and the front."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import plot
from poise.io import samples
from poise.plot import frame_sheet as sheets
from poise.plot.retargeted_frames import build_motion_scene
from poise.retargeting.report import MAX_PLANTED_LEG_ERROR_DEG
from tests.retarget.characters import build_character, build_clip, build_rig


@pytest.fixture(scope="module")
def done() -> poise.Retargeted:
    walk, figure = (poise.load(samples.path(name)) for name in ("humanoid.bvh", "humanoid.glb"))
    return poise.retarget(walk, figure)


def test_figures_are_as_large_as_each_other_with_hips_in_one_place(done):
    scene = build_motion_scene(done)
    legs = []
    for lines, body in zip((scene.source, scene.target), done.bodies, strict=True):
        hips = [lines.points[:, body.rows[f"{side}UpperLeg"]] for side in ("left", "right")]
        np.testing.assert_allclose(0.5 * (hips[0] + hips[1]), 0.0, atol=1e-9)
        knee, ankle = (lines.points[:, body.rows[f"left{part}"]] for part in ("LowerLeg", "Foot"))
        legs.append(np.linalg.norm(knee - hips[0], axis=-1) + np.linalg.norm(ankle - knee, axis=-1))
    assert legs[1] == pytest.approx(legs[0], rel=0.05)
    assert np.ptp(scene.target.points[..., 2], axis=1).max() < 1.1 * sheets.PERSON_M


def test_the_figure_faces_to_the_right_in_the_side_view(done):
    scene = build_motion_scene(done)
    side, front = sheets.build_views(scene.headings[5])[:2]
    ways = [scene.target.points[5, done.bodies[1].rows[f"{name}"]] for name in ("leftUpperLeg", "rightUpperLeg")]
    across = ways[0] - ways[1]
    assert abs(side.project_points(across)[0]) < 0.5 * abs(front.project_points(across)[0])
    assert front.project_points(across)[0] > 0.0


def test_what_exceeds_its_bound_is_red_and_named(done, tmp_path):
    arm = next(row.role for row in done.match.joints if row.role == "leftLowerArm")
    report = done.report
    assert not any((report.angles[role] > report.bounds[role]).any() for role in report.angles)
    calm, missed = tmp_path / "calm.svg", tmp_path / "missed.svg"
    plot.draw_frames(done, calm)
    assert sheets.MISSED_COLOUR.lower() not in calm.read_text()
    report.angles[arm][4] = report.bounds[arm] + 1.0  # between the frames that are drawn
    try:
        plot.draw_frames(done, missed)
    finally:
        report.angles[arm][4] = 0.0
    assert sheets.MISSED_COLOUR.lower() in missed.read_text()
    assert missed.read_text().count("<!-- 6  leftLowerArm -->") == 1


def test_the_step_of_frames_is_chosen(done, tmp_path):
    for every, count in ((None, 11), (10, 4)):
        plot.draw_frames(done, tmp_path / "a.svg", every=every)
        text = (tmp_path / "a.svg").read_text()
        assert sum(f"<!-- {frame}   -->" in text or f"<!-- {frame}  -->" in text for frame in range(31)) == count
    with pytest.raises(poise.InputError, match="every must be a whole number"):
        plot.draw_frames(done, tmp_path / "a.svg", every=-1)


@pytest.mark.parametrize("root", ["travel", "in_place"])
def test_other_characters_and_grounds_are_drawn(tmp_path, root):
    source, target = build_character([1.0] * 12), build_rig(build_character([1.0] * 8 + [1.5, 1.5, 1.0, 1.0]))
    for ground in (False, None):
        moved = poise.retarget(build_clip(source, 1), target, ground=ground, root=root)
        plot.draw_frames(moved, tmp_path / "a.png")
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_has_the_words_of_the_table(done, tmp_path):
    done.report.save(tmp_path / "a.html")
    done.report.to_html(tmp_path / "b.html")
    page = (tmp_path / "a.html").read_text()
    assert page == (tmp_path / "b.html").read_text()
    for words in ("direction of limbs [deg]", "while their feet stand", "ok: nothing exceeds its bound"):
        assert words in page
        assert words in str(done.report)
    for fact in done.report.facts:
        assert fact[1:].replace(">", "&gt;") in page
        assert fact in str(done.report)
    assert page.count('<svg viewBox="0 0 400') == 6  # four limbs and two feet
    assert set(done.report.bounds) == set(done.report.angles)
    assert done.report.bounds["leftLowerLeg"] == MAX_PLANTED_LEG_ERROR_DEG
    limb = next(limb for limb in done.report.limbs if limb.role == "leftLowerLeg")
    assert done.report.angles["leftLowerLeg"].max() == pytest.approx(limb.most)


def test_a_robot_whose_torso_carries_the_hips_is_drawn_as_a_whole(data):
    walk = poise.load(data / "bvh/walk_mass.bvh")
    with pytest.warns(poise.PoiseWarning, match="tendons"):
        robot = poise.load(data / "mjcf/humanoid.xml")
    done = poise.retarget(walk, robot, ground=False)
    drawn = set(build_motion_scene(done).target.bones.ravel().tolist())
    assert drawn >= set(done.bodies[1].rows.values())
