"""Changes of step, with answers worked out by hand, and the verdict on them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise import Terrain
from poise.ground.figure.motion import KNEE
from poise.ground.figure.steps import changes_of_step
from poise.ground.plant import plant_feet
from poise.ground.report.jumps import Hitch, hitches_of, jumps_of
from poise.ground.report.report import report_of
from poise.io import samples

RIG = poise.load(samples.path("humanoid.bvh"))


def at_rate(fps, seconds=1.0):
    return np.arange(round(seconds * fps) + 1) / fps


@pytest.mark.parametrize("fps", [24, 30, 60, 120, 240, 480])
class TestChangesOfStep:
    def test_a_constant_acceleration(self, fps):
        """a t^2 of 120 Hz at most: of 12 m/s^2 at 120 frames a second 12 / 120^2 m = 0.83 mm."""
        times = at_rate(fps)
        found = changes_of_step(times, 6.0 * times[:, None, None] ** 2 * [0.0, 0.6, 0.8])
        rate = min(fps, 120)
        np.testing.assert_allclose(found[len(found) // 2], 1000 * 12.0 / rate**2, rtol=1e-9)

    def test_a_jump_of_a_centimetre_counts_whole(self, fps):
        times = at_rate(fps)
        place = np.where(times < 0.5 - 1e-9, 0.0, 0.01)[:, None, None] * [1.0, 0, 0]
        assert changes_of_step(times, place).max() == pytest.approx(10.0)

    def test_constant_speed_has_none(self, fps):
        times = at_rate(fps)
        np.testing.assert_allclose(changes_of_step(times, times[:, None, None] * [3.0, 4, 5]), 0, atol=1e-11)


def test_nothing_is_measured_across_cuts_and_gaps():
    times = at_rate(60)
    place = np.where(np.arange(61) < 30, 0.0, 5.0)[:, None, None] * [1.0, 0, 0]
    shots = np.where(np.arange(61) < 30, 0, 30)
    assert changes_of_step(times, place).max() > 1000
    assert changes_of_step(times, place, shots).max() == 0.0
    late = times + np.where(np.arange(61) < 30, 0.0, 2.0)
    assert changes_of_step(late, place).max() == 0.0


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_few_frames(frames):
    found = changes_of_step(at_rate(60)[:frames], np.zeros((frames, 2, 3)))
    np.testing.assert_array_equal(found, np.zeros((frames, 2)))


@pytest.fixture(scope="module")
def planted():
    return plant_feet(RIG.clips[0], Terrain.flat(), rig=RIG)


def moved(planted, frame, leg, part, by):
    """The report's motions, one place of one frame of the result moved."""
    before, after = planted.report.motions
    places = after.places.copy()
    places[frame, leg, part] += by
    return before, dataclasses.replace(after, places=places)


def test_a_pop_is_found_where_it_is(planted):
    pair = moved(planted, 20, 1, KNEE, [0.0, 0.0, 0.05])
    jumps = jumps_of(pair)
    frame, joint = jumps.worst
    assert jumps.joints[joint] == "right knee"
    assert frame == 20
    usual = jumps_of(planted.report.motions)
    assert jumps.after[20, joint] == pytest.approx(100.0, abs=usual.after[20, joint] + 1e-9)
    np.testing.assert_array_equal(jumps.before, usual.before)


def test_the_bound_is_the_source_nearby_and_some_room(planted):
    usual = jumps_of(planted.report.motions, room=5.0)
    fps = 1.0 / np.median(np.diff(planted.times))
    room = 5.0 * min((120 / fps) ** 2, 6.0)
    near = np.abs(planted.times[:, None] - planted.times) <= 0.1 + 1e-9
    wanted = np.array([usual.before[rows].max(axis=0) for rows in near]) + room
    np.testing.assert_allclose(usual.bound, wanted, rtol=1e-12)


def test_what_is_beyond_the_source_is_told_by_joint(planted):
    usual, popped = (jumps_of(pair) for pair in (planted.report.motions, moved(planted, 20, 1, KNEE, [0.0, 0.0, 0.05])))
    joint = popped.joints.index("right knee")
    wanted = (popped.after[20, joint] - usual.before[17:24, joint].max()).item()  # 0.1 s are three frames
    assert popped.excess["right knee"] == pytest.approx(wanted)
    assert popped.excess["left knee"] == usual.excess["left knee"]
    assert min(popped.excess.values()) >= 0.0


def test_a_source_that_pops_is_told(planted):
    source = planted.report.motions[0]
    assert not jumps_of((source, source)).pops.any()
    popped = moved(planted, 15, 0, KNEE, [0.0, 0.2, 0.0])[1]
    jumps = jumps_of((popped, popped))
    assert {jumps.joints[joint] for _, joint in np.argwhere(jumps.pops)} == {"left knee"}
    assert set(np.argwhere(jumps.pops)[:, 0].tolist()) <= {14, 15, 16}
    told = dataclasses.replace(planted.report, jumps=jumps)
    assert "the source itself pops in" in str(told)
    assert "most the left knee at frame 15" in str(told)
    assert "itself pops" not in str(planted.report)
    assert ["left knee", 15] in told.as_object()["jumps"]["source_pops"]


def test_a_knee_that_waits_has_a_hitch(planted):
    source = planted.report.motions[0]
    contacts = planted.contacts
    usual = hitches_of((source, source), contacts)
    assert usual.found == ()
    assert usual.toe_offs + usual.landings > 1
    standing = contacts.any[:, 0]
    last = int(np.flatnonzero(standing[:-1] & ~standing[1:])[0])
    knee = source.places[:, 0, KNEE]
    at = last - 2 + int(np.linalg.norm(np.diff(knee, axis=0), axis=-1)[last - 2 : last + 1].argmax())
    places = source.places.copy()
    places[at + 1, 0, KNEE] = places[at, 0, KNEE]
    found = hitches_of((source, dataclasses.replace(source, places=places)), contacts)
    assert found.found == (Hitch("left", "toe-off", last),)
    told = dataclasses.replace(planted.report, hitches=found)
    assert f"knees hitch at 1 of {usual.toe_offs} toe-offs, 0 of" in str(told)
    assert told.as_object()["hitches"]["found"] == [{"leg": "left", "kind": "toe-off", "frame": last}]


def test_the_head_is_among_the_joints(planted):
    assert planted.report.jumps.joints[-1] == "head"
    assert {"left hip", "right toe", "left hand"} < set(planted.report.jumps.joints)


def spoilt(planted, turn):
    """The report of a result one of whose joints is turned in some frames."""
    q = planted.poses.q.copy()
    for joint, frames, quaternion in turn:
        q[frames, RIG.skeleton.q_slice(joint)] = quaternion
    clip = poise.Clip(planted.times, planted.poses.with_q(q), "spoilt")
    return report_of(planted.travelled, clip, planted.contacts, planted.soles, planted.figure, planted.terrain)


def test_a_source_left_as_it_is_has_no_pops(planted):
    same = report_of(planted.source, planted.source, planted.contacts, planted.soles, planted.figure, planted.terrain)
    assert not [worse for worse in same.worse if worse.measure in ("d2", "knee")]


def bent(planted, angle):
    """The report of the result with the left knee at an angle in four frames."""
    return spoilt(planted, [("LeftLeg", slice(10, 14), [np.cos(angle / 2), np.sin(angle / 2), 0.0, 0.0])])


def test_a_knee_that_is_turned_back_for_a_while(planted):
    """To one of two sides it is bent backwards; to both it pops."""
    found = [{worse.measure: worse for worse in bent(planted, angle).worse} for angle in (0.6, -0.6)]
    for reported in found:
        assert 8 <= reported["d2"].first <= 15
        assert "pops: its step changes by" in reported["d2"].sentence
        assert f"at frame {reported['d2'].first} (" in reported["d2"].sentence
    (knee,) = (reported["knee"] for reported in found if "knee" in reported)
    assert (knee.first, knee.last) == (10, 13)
    assert str(knee).startswith("the left knee is bent backwards by")


@pytest.mark.parametrize(
    ("aside", "measure"), [([0.1, 0, 0], "skate"), ([0, -0.2, 0], "penetration"), ([0, 0.2, 0], "reach")]
)
def test_feet_that_slide_sink_and_float_are_reported(planted, aside, measure):
    q = planted.poses.q.copy()
    q[:, :3] += np.linspace(0, planted.figure.metre, len(planted))[:, None] * aside  # the hips are a free joint
    clip = poise.Clip(planted.times, planted.poses.with_q(q), "moved")
    found = report_of(planted.travelled, clip, planted.contacts, planted.soles, planted.figure, planted.terrain)
    reported = {worse.measure: worse for worse in found.worse}
    assert reported[measure].value > reported[measure].bound
    assert reported[measure].first <= reported[measure].last < len(planted)
    assert "frame" in reported[measure].sentence


def test_the_report_tells_them_everywhere(planted, tmp_path):
    found = bent(planted, 0.6)
    plain = found.as_object()
    assert plain["ok"] is False
    assert plain["worse"][0]["sentence"] == str(found.worse[0])
    assert plain["jumps"]["worst"]["joint"] in found.jumps.joints
    assert "change of step, most [mm/frame^2]" in str(found)
    found.to_html(tmp_path / "page.html")
    assert "pops" in (tmp_path / "page.html").read_text()
