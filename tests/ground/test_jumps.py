"""Changes of step, with answers worked out by hand, and the verdict on them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise import Terrain
from poise.ground.figure.motion import ANKLE, FOOT, HIP, KNEE, TOES
from poise.ground.figure.steps import changes_of_step
from poise.ground.plant import plant_feet
from poise.ground.report import verdict
from poise.ground.report.jumps import Hitch, Hitches, hitches_of, jumps_of
from poise.ground.report.measures import knee_bends, shape_of
from poise.ground.report.report import report_of
from poise.io import samples
from poise.maths import rotations

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
    near = np.abs(planted.times[:, None] - planted.times) <= 0.1 + 1e-9
    wanted = np.array([usual.before[rows].max(axis=0) for rows in near])
    np.testing.assert_allclose(usual.allowed, wanted, rtol=1e-12)
    np.testing.assert_allclose(usual.bound, wanted + 5.0, rtol=1e-12)


@pytest.mark.parametrize("fps", [24, 30, 60, 120])
def test_the_bound_of_a_pop_is_the_same_at_every_frame_rate(fps):
    clip = RIG.clips[0].resample(fps)
    source = plant_feet(clip, Terrain.flat(), rig=RIG).report.motions[0]
    places = source.places.copy()
    places[len(places) // 2, 0, KNEE, 0] += 0.02
    pair = source, dataclasses.replace(source, places=places)
    jumps = jumps_of(pair, room=10.0)
    assert jumps.excess["left knee"] == pytest.approx(40.0, abs=jumps.allowed.max())
    np.testing.assert_allclose(jumps.bound - jumps.allowed, 10.0)


@pytest.mark.parametrize(
    ("terrain", "bounds"),
    [
        (Terrain.flat(), verdict.PLANE),
        (Terrain.slope(15), verdict.PLANE),
        (Terrain.noise(0.1), verdict.HILLS),
        (Terrain.stairs(0.15, 0.3), verdict.STEPS),
        (Terrain.function(lambda x, _: 0 * x), verdict.STEPS),
    ],
)
def test_the_bounds_of_grounds(terrain, bounds):
    assert verdict.bounds_on(terrain) == bounds
    assert verdict.bounds_on(terrain, own=True) == verdict.OWN_FLOOR


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


def measures_told(planted, motion=None, **changed):
    """What a verdict tells of a source beside itself, with some of the evidence changed."""
    report, source = planted.report, planted.report.motions[0]
    shape = shape_of(report.paths[0], source)
    still = verdict.Evidence(
        verdict.OWN_FLOOR, (source, motion or source), report.paths[1], report.contacts, jumps_of((source, source)),
        hitches_of((source, source), report.contacts), shape, np.zeros(report.contacts.heel.shape),
        np.zeros(len(planted)),
    )  # fmt: skip
    return {worse.measure: worse for worse in verdict.verdict_of(still._replace(**changed))}


class TestVerdict:
    def test_a_source_beside_itself_is_fine(self, planted):
        assert measures_told(planted) == {}

    def test_a_pelvis_that_sinks_counts_on_the_own_floor_alone(self, planted):
        sunk = -30.0 * (np.arange(len(planted)) == 7)
        told = measures_told(planted, pelvis=sunk)
        assert (told["pelvis"].value, told["pelvis"].bound, told["pelvis"].first) == (30.0, 20.0, 7)
        assert str(told["pelvis"]).startswith(
            "the pelvis is 30 mm off its height in the source, more than 20, at frame 7"
        )
        assert measures_told(planted, pelvis=sunk, bounds=verdict.PLANE) == {}

    def test_a_knee_that_folds_has_the_bound_of_its_source(self, planted):
        source = planted.report.motions[0]
        most = knee_bends(source).max(axis=0)
        places = source.places.copy()
        places[9, 1, ANKLE] = places[9, 1, HIP]  # folded up
        told = measures_told(planted, dataclasses.replace(source, places=places))
        assert told["bend"].bound == pytest.approx(most[1] + 20.0)
        assert str(told["bend"]).startswith("the right knee is bent by 1")
        assert "at frame 9 (" in str(told["bend"])

    def test_toes_may_be_bent_by_65_degrees(self, planted):
        source = planted.report.motions[0]
        shape = shape_of(planted.report.paths[0], source)
        shape.toes[0] = 1.0, 0.0, 0.0, 0.0
        for angle, measures in ((50.0, set()), (85.0, {"toe"})):
            turns = source.turns.copy()
            turn = rotations.about(np.array([1.0, 0, 0]), np.radians(angle))
            turns[:, 0, TOES] = rotations.multiply(turns[:, 0, FOOT], turn)
            flat = turns.copy()
            flat[:, 0, TOES] = turns[:, 0, FOOT]
            pair = dataclasses.replace(source, turns=flat), dataclasses.replace(source, turns=turns)
            told = measures_told(planted, motions=pair, shape=shape)
            assert set(told) == measures
        assert str(told["toe"]).startswith("the left toes are bent by 85 deg, more than 65, at frame")

    def test_a_hitch_counts_on_the_own_floor_alone(self, planted):
        hitches = Hitches(2, 2, (Hitch("left", "toe-off", 12),))
        told = measures_told(planted, hitches=hitches)
        sentence = "knees hitch at 1 of 4 toe-offs and landings, first the left one at a toe-off"
        assert str(told["hitch"]).startswith(sentence)
        assert told["hitch"].first == 12
        assert measures_told(planted, hitches=hitches, bounds=verdict.STEPS) == {}

    def test_a_figure_that_stands_without_a_contact_is_not_fine(self, planted):
        never = np.zeros_like(planted.contacts.heel)
        nothing = dataclasses.replace(planted.report.contacts, heel=never, ball=never)
        told = measures_told(planted, contacts=nothing)
        assert set(told) == {"contact"}
        assert str(told["contact"]).startswith("no foot is found to stand, at frames 0 to 30")
        lying = dataclasses.replace(planted.report.motions[0], places=planted.report.motions[0].places * [1, 1, 0.1])
        assert "contact" not in measures_told(planted, contacts=nothing, motions=(lying, lying))


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
