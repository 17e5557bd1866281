from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from poise.errors import InputError, UnknownNameError
from poise.ground.contact import contacts as finding
from poise.ground.contact.contacts import Contacts, Thresholds, find_contacts, stances
from poise.ground.contact.in_place import add_travel, in_place
from poise.ground.contact.soles import find_soles
from poise.ground.figure.motion import BALL, FOOT
from poise.maths import rotations
from tests.ground.labelled_contacts import LABELS
from tests.ground.motions import motion, moved, path

FRAME = 1 / 60


def found(left, right=None, **options):
    """Whether the left foot stands (F,), heel or ball."""
    there = moved(left, path(len(left)) if right is None else right, **options)
    soles = find_soles(moved(path(5), path(5)))
    return find_contacts(there, soles).any[:, 0]


def step(frames, start, stop, height=0.2, length=0.5):
    """Offsets of a foot that stands, swings from frame start to stop, and stands."""
    share = np.clip((np.arange(frames) - start) / (stop - start), 0.0, 1.0)
    return path(frames, y=-length * (share - np.sin(2 * np.pi * share) / (2 * np.pi)), z=height * np.sin(np.pi * share))


def in_intervals(intervals, times):
    return np.any([(times >= start - 1e-6) & (times <= end + 1e-6) for start, end in intervals], axis=0)


def stood(data, file, clip=None):
    there = motion(data / file, clip)
    velocity = in_place(there)
    if velocity is not None:
        there, _ = add_travel(there, velocity)
    return stances(there, velocity)[1]


def starts(stands):
    """How many times a foot comes down, counting one that stands in the first frame."""
    return int(stands[0]) + int((np.diff(stands.astype(int)) == 1).sum())


class TestLabels:
    """Against the contacts that were labelled by hand: from where a point is down until it leaves, rolling or not."""

    @pytest.mark.parametrize("clip", LABELS)
    def test_each_contact_is_within_a_label(self, data, clip):
        _, contacts = stances(motion(data / f"bvh/{clip}.bvh"))
        last = contacts.times[-1]
        for leg, points in contacts.intervals().items():
            for point, intervals in points.items():
                labels = [(start, min(end, last)) for start, end in LABELS[clip][leg][point]]
                for start, end in intervals:
                    assert any(label[0] - 0.05 <= start and end <= label[1] + 0.05 for label in labels), (leg, point)

    @pytest.mark.parametrize("clip", LABELS)
    def test_what_stands_was_labelled(self, data, clip):
        _, contacts = stances(motion(data / f"bvh/{clip}.bvh"))
        labels = Contacts.from_intervals(LABELS[clip], contacts.legs, contacts.times)
        both = (contacts.heel & labels.heel).sum() + (contacts.ball & labels.ball).sum()
        assert both / (contacts.heel.sum() + contacts.ball.sum()) >= 0.97

    @pytest.mark.parametrize("clip", LABELS)
    def test_no_labelled_stance_is_without_a_contact(self, data, clip):
        _, contacts = stances(motion(data / f"bvh/{clip}.bvh"))
        labels = Contacts.from_intervals(LABELS[clip], contacts.legs, contacts.times)
        for leg in range(2):
            stands, edges = contacts.any[:, leg], np.diff(labels.any[:, leg].astype(int), prepend=0, append=0)
            for start, end in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
                if contacts.times[end - 1] - contacts.times[start] > 0.1:
                    assert stands[start:end].any()

    @pytest.mark.parametrize(
        ("clip", "low", "high"), [("cmu_12_01_walk", 0.45, 0.62), ("walk_mass", 0.45, 0.62), ("run_mass", 0.1, 0.3)]
    )
    def test_walks_stand_for_about_half_and_runs_for_less(self, data, clip, low, high):
        """Feet are slower than 0.25 m/s for as long; they roll on heels and toes in the rest of a stance."""
        _, contacts = stances(motion(data / f"bvh/{clip}.bvh"))
        assert low <= contacts.any.mean() <= high

    @pytest.mark.parametrize("clip", LABELS)
    @pytest.mark.parametrize("fps", [24.0, 30.0, 60.0])
    def test_the_frame_rate_moves_an_edge_by_at_most_a_frame(self, data, clip, fps):
        fast = stances(motion(data / f"bvh/{clip}.bvh"))[1].intervals()
        slow = stances(motion(data / f"bvh/{clip}.bvh", fps=fps))[1].intervals()
        for leg, points in fast.items():
            for point, intervals in points.items():
                least = max(2.0 / fps, 0.1)  # [s] of less, coarse frames may see nothing
                pairs = [
                    [each for each in found if each[1] - each[0] >= least] for found in (slow[leg][point], intervals)
                ]
                np.testing.assert_allclose(*pairs, atol=1 / fps + 1e-4, rtol=0)  # files round the step


def scaled(line, scale):
    """A line of a BVH file in other units: an offset, or a frame, whose first three numbers are a place."""
    words = line.split()
    first = 1 if words[:1] == ["OFFSET"] else 0 if len(words) > 6 and words[0] != "CHANNELS" else len(words)
    return " ".join([*words[:first], *(repr(scale * float(w)) for w in words[first : first + 3]), *words[first + 3 :]])


@pytest.mark.parametrize("scale", [1e-3, 25.4])
def test_units_do_not_matter(data, tmp_path, scale):
    text = (data / "bvh/walk_mass.bvh").read_text()
    (tmp_path / "scaled.bvh").write_text("\n".join(scaled(line, scale) for line in text.splitlines()))
    (soles, contacts), (others, same) = (
        stances(motion(file)) for file in (data / "bvh/walk_mass.bvh", tmp_path / "scaled.bvh")
    )
    np.testing.assert_allclose(others.heel, soles.heel, atol=1e-9)
    np.testing.assert_array_equal(same.heel, contacts.heel)
    np.testing.assert_array_equal(same.ball, contacts.ball)


class TestClips:
    def test_a_reference_pose_stands_nowhere(self, data):
        assert not stood(data, "bvh/cmu_12_01_walk.bvh").any[0].any()

    @pytest.mark.parametrize("clip", ["Walking_A", "Walking_B", "Walking_C"])
    def test_a_walking_knight_stands_on_one_foot_and_then_on_the_other(self, data, clip):
        stands = stood(data, "glb/knight_kaykit.glb", clip).any
        assert (stands.mean(axis=0) > 0.2).all()  # drawn feet slide on ground that passes evenly
        assert max(starts(foot) for foot in stands.T) <= 2

    @pytest.mark.parametrize("clip", ["Running_A", "Running_B", "Running_Strafe_Left", "Running_Strafe_Right"])
    def test_a_running_knight_flies_and_touches_down_once_a_cycle(self, data, clip):
        stands = stood(data, "glb/knight_kaykit.glb", clip).any
        assert [starts(foot) for foot in stands.T] == [1, 1]
        assert not stands.all(axis=1).any()
        assert (~stands.any(axis=1)).mean() > 0.3

    def test_a_jump_leaves_the_ground_and_does_not_stand_at_its_top(self, data):
        contacts = stood(data, "glb/knight_kaykit.glb", "Jump_Full_Long")
        assert [starts(foot) for foot in contacts.any.T] == [2, 2]
        assert not contacts.any[(contacts.times > 0.4) & (contacts.times < 1.7)].any()

    def test_jumping_jacks_come_down_six_times(self, data):
        stands = stood(data, "bvh/jumping_jacks_cmu1.bvh").any
        assert [starts(foot) for foot in stands.T] == [7, 7]

    @pytest.mark.parametrize(
        ("file", "clip"),
        [
            ("glb/knight_kaykit.glb", "Idle"),
            ("glb/knight_kaykit.glb", "T-Pose"),
            ("glb/human_anim_m2m.glb", None),
            ("glb/fox.glb", "Survey"),
            ("glb/robot_quaternius.glb", "Robot_Idle"),
        ],
    )
    def test_a_figure_that_stands_stands_on_all_feet_all_the_time(self, data, file, clip):
        assert stood(data, file, clip).any.all()

    def test_a_walking_fox_is_never_in_the_air(self, data):
        stands = stood(data, "glb/fox.glb", "Walk").any
        assert stands.any(axis=1).mean() > 0.5  # drawn feet slide in some of its 18 frames
        assert not stands.all(axis=1).any()

    def test_a_climber_stands_on_the_rungs(self, data):
        there = motion(data / "bvh/cmu_01_03_climb_ladder.bvh")
        _, contacts = stances(there)
        high = contacts.any & (there.places[:, :, BALL, 2] > 0.4)
        assert high.sum() / 120 > 2.0  # seconds


class TestByHand:
    def test_a_step_is_two_contacts(self):
        stands = found(step(120, 40, 70))
        assert starts(stands) == 2
        assert stands[:38].all()
        assert stands[72:].all()
        assert not stands[46:64].any()

    def test_a_slow_slide_is_a_contact_and_a_fast_one_is_not(self):
        assert found(path(120, y=0.2 * np.arange(120) * FRAME)).all()
        assert not found(path(120, y=0.8 * np.arange(120) * FRAME)).any()

    @pytest.mark.parametrize(("frames", "stands"), [(9, True), (14, False), (40, False)])
    def test_a_foot_that_goes_on_at_a_speed_between_both_thresholds_slides(self, frames, stands):
        """At 0.3 m/s: 6 cm take 12 frames. What stands before and after goes on standing."""
        along = 0.3 * FRAME * np.clip(np.arange(120) - 40, 0, frames)
        slides = found(path(120, y=along))
        assert slides[42 : 38 + frames].any() == stands
        assert slides[:38].all()
        assert slides[44 + frames :].all()

    def test_a_short_gap_is_closed_where_the_foot_comes_back(self):
        jerk = np.where((np.arange(120) >= 60) & (np.arange(120) < 63), 0.025, 0.0)
        assert found(path(120, y=jerk)).all()

    def test_a_short_gap_after_which_the_foot_stands_elsewhere_stays(self):
        assert starts(found(path(120, y=np.where(np.arange(120) < 60, 0.0, 0.2)))) == 2

    def test_the_floor_may_drift(self):
        assert found(path(300, z=np.linspace(0.0, 0.05, 300))).all()

    @pytest.mark.parametrize("level", [0.15, 0.3])
    def test_a_foot_that_stands_still_on_a_step_stands(self, level):
        up = np.interp(np.arange(240), [60, 90], [0.0, level]) + 0.1 * np.sin(
            np.pi * np.clip((np.arange(240) - 60) / 30, 0, 1)
        )
        stands = found(path(240, z=up))
        assert stands[100:].all()
        assert not stands[65:80].any()

    @pytest.mark.parametrize(("height", "speed", "stands"), [
        (0.028, 0.0, True), (0.028, 0.15, False), (0.022, 0.15, True), (0.035, 0.0, False),
    ])  # fmt: skip
    def test_a_foot_at_rest_stands_up_to_3_cm_above_its_floor(self, height, speed, stands):
        up = np.interp(np.arange(120), [30, 36, 60, 66], [0.0, height, height, 0.0])
        along = speed * FRAME * np.clip(np.arange(120) - 30, 0, 36)
        assert found(path(120, y=along, z=up))[39:57].all() == stands

    def test_a_heel_that_rises_slowly_leaves_lower_than_one_that_comes_down_arrives(self):
        up = np.interp(np.arange(180), [60, 78, 96], [0.0, 0.045, 0.0])  # 0.15 m/s
        heel = find_contacts(moved(path(180, z=up), path(180)), find_soles(moved(path(5), path(5)))).heel[:, 0]
        left, landed = np.flatnonzero(~heel)[[0, -1]]
        assert up[landed] > up[left] + 0.002

    def test_no_contact_goes_over_a_cut(self):
        there = path(60, x=np.where(np.arange(60) < 30, 0.0, 5.0))
        stands = found(there, there)
        assert starts(stands) == 2
        assert not stands[30]

    def test_in_one_frame_what_is_low_stands(self):
        assert found(path(1)).all()
        assert not found(path(1, z=np.array([0.3]))).any()

    @pytest.mark.parametrize(("degrees", "stands"), [(-150.0, False), (-80.0, True), (80.0, True), (150.0, False)])
    def test_a_foot_whose_sole_faces_up_does_not_stand(self, degrees, stands):
        """A leg that kneels has its foot behind it, sole up."""
        there = moved(path(60), path(60))
        there.turns[:, 0, FOOT] = rotations.about(np.array([1.0, 0.0, 0.0]), np.radians(degrees))
        on = find_contacts(there, find_soles(moved(path(5), path(5)))).any
        assert on[:, 0].all() == on[:, 0].any() == stands
        assert on[:, 1].all()

    @pytest.mark.parametrize("frames", [1, 2, 3])
    def test_without_time_what_is_low_stands(self, frames):
        assert found(path(frames), times=np.zeros(frames)).all()

    def test_the_same_motion_gives_the_same_contacts(self):
        there = moved(step(120, 40, 70), step(120, 75, 105))
        first, second = stances(there)[1], stances(dataclasses.replace(there))[1]
        np.testing.assert_array_equal(first.heel, second.heel)
        np.testing.assert_array_equal(first.ball, second.ball)


@pytest.mark.parametrize("speed", [0.1, 0.5, 2.0, 5.0])
def test_thresholds_of_a_clip_in_place_rise_with_its_speed(speed):
    """Heights by as much for each metre a second; speeds to a share of it that has a bound."""
    own, slow, fast = Thresholds(), Thresholds().loosen(speed), Thresholds().loosen(2 * speed)
    for name in ("on_height", "heel_off", "ball_off"):
        more = [getattr(one, name) - getattr(own, name) for one in (slow, fast)]
        assert 0.0 < more[0] < 0.1 * speed
        assert more[1] == pytest.approx(2 * more[0])
    share, most = finding._OWN, finding._MAX_OWN
    for name, times in (("on_speed", 1.0), ("off_speed", 1.5)):
        assert getattr(slow, name) == pytest.approx(max(getattr(own, name), times * min(share * speed, most)))
    assert slow.rise == max(own.rise, 0.5 * speed)
    assert slow.level
    assert not own.level


class TestIntervals:
    times = np.arange(100) / 50

    def given(self, intervals):
        return Contacts.from_intervals(intervals, ("left", "right"), self.times)

    def test_there_and_back(self, data):
        _, contacts = stances(motion(data / "bvh/cmu_12_01_walk.bvh"))
        again = Contacts.from_intervals(contacts.intervals(), contacts.legs, contacts.times)
        np.testing.assert_array_equal(again.heel, contacts.heel)
        np.testing.assert_array_equal(again.ball, contacts.ball)

    def test_frames_within_stand(self):
        contacts = self.given({"left": {"heel": [(0.1, 0.2), [1.0, 1.98]]}})
        np.testing.assert_array_equal(np.flatnonzero(contacts.heel[:, 0]), [*range(5, 11), *range(50, 100)])
        assert not contacts.ball.any()
        assert not contacts.heel[:, 1].any()

    def test_an_interval_between_frames_is_the_nearest_frame(self):
        assert np.flatnonzero(self.given({"right": {"ball": [(0.101, 0.105)]}}).ball[:, 1]).tolist() == [5]

    @pytest.mark.parametrize(
        ("intervals", "message"),
        [
            ({"left": {"heel": [(0.5, 0.4)]}}, "left.heel: the interval 0.5 to 0.4 s starts after its end"),
            ({"left": {"heel": [(0.5, 2.4)]}}, "0.5 to 2.4 s is not in the clip, which runs from 0 to 1.98 s"),
            ({"left": {"heel": [(-0.5, 0.4)]}}, "-0.5 to 0.4 s is not in the clip"),
            ({"left": {"ball": [(0.5, 1.0), (0.4, 0.6)]}}, "left.ball: the interval 0.5 to 1 s overlaps"),
            ({"left": {"ball": [(0.5, float("nan"))]}}, "two numbers .start, end. in seconds, not"),
            ({"left": {"ball": [(0.5,)]}}, "two numbers"),
            ({"left": {"ball": [0.5, 1.0]}}, "two numbers"),
            ({"left": {"ball": [(True, 1)]}}, "two numbers"),
            ({"left": {"ball": 0.5}}, "left.ball: give a list of intervals"),
            ({"left": [(0.5, 1.0)]}, "contacts of leg 'left' must be a table"),
            ([("left", 1)], "contacts must be a table"),
        ],
    )
    def test_what_cannot_be_is_refused_in_a_sentence(self, intervals, message):
        with pytest.raises(InputError, match=message):
            self.given(intervals)

    def test_unknown_names_say_what_there_is(self):
        with pytest.raises(UnknownNameError, match="no leg 'lft'; did you mean 'left'.* legs: left, right"):
            self.given({"lft": {}})
        with pytest.raises(UnknownNameError, match="no contact point 'toe'; contact points: heel, ball"):
            self.given({"left": {"toe": []}})
