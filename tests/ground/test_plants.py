"""Plants: where feet stand on slopes, stairs, and at the edges of the ground."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poise import Terrain
from poise.ground.contact.contacts import Contacts
from poise.ground.contact.plants import STEP_M, find_plants, find_raised_stances, in_frames, stances_of
from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, BALL, FOOT
from poise.ground.legs.feet import _find_level
from poise.maths import rotations
from tests.ground.motions import moved, path, two_legs

LONG, TIP, MARGIN = 0.2, 0.05, 0.015  # [m] from heel to ball and from there to the tip; free ground before and behind
FIRM = 0.05  # [m] behind the ball that is on the ground if anything is
SOLES = Soles(*(np.array([point] * 2) for point in ([0.0, 0.05, -0.1], [0.0, -0.15, -0.1], [0.0, -0.05, -0.03])))
HOCKS = Soles(*(np.array([point] * 2) for point in ([0.0, 0.0, -0.1], [0.0, 0.0, -0.1], [0.0, 0.0, 0.0])))
FLAT = Footing(Terrain.flat(up="z"), two_legs())
AHEAD = np.array([0.0, -1.0, 0.0])
STEEPEST = np.radians(40.0)


def contacts_of(heel, ball=None):
    """Contacts (F,) of the left foot; the right one never stands."""
    heel = np.asarray(heel, dtype=bool)
    ball = heel if ball is None else np.asarray(ball, dtype=bool)
    none = np.zeros_like(heel)
    columns = (np.stack([heel, none], 1), np.stack([ball, none], 1))
    return Contacts(("left", "right"), np.arange(len(heel)) / 60.0, *columns)


def footing_of(height, **options):
    return Footing(Terrain.function(height, up="z", **options), two_legs())


def plants_of(footing, *, offset=(0.0, 0.0, 0.0), yaw=0.0, soles=SOLES, steepest=STEEPEST, farthest=0.15):
    """Plants of a left foot that stands with its ankle 0.1 m over (0.1, 0, 0) + offset, turned by a yaw."""
    motion = moved(np.tile(offset, (6, 1)), path(6))
    turn = rotations.about(np.array([0.0, 0.0, 1.0]), yaw)
    ankles = motion.places[:, :, ANKLE : ANKLE + 1]
    motion.places[:, :, BALL:] = ankles + rotations.rotate(turn, motion.places[:, :, BALL:] - ankles)
    motion.turns[:, :, FOOT:] = turn
    return find_plants(motion, soles, contacts_of([True] * 6), footing, steepest, farthest)


def angle(turns):
    return np.linalg.norm(rotations.as_vector(turns), axis=-1)


class TestSlopes:
    @settings(max_examples=25)
    @given(st.floats(-0.7, 0.7), st.floats(-0.35, 0.35), st.floats(-3.1, 3.1))
    def test_heel_and_ball_are_on_it_and_as_far_apart_as_before(self, a, b, yaw):
        footing = footing_of(lambda x, y: a * x + b * y + 0.3)
        plants = plants_of(footing, yaw=yaw)
        for point in (plants.heel, plants.ball):
            np.testing.assert_allclose(footing.heights(point), point[:, 2], atol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(plants.ball - plants.heel, axis=1), LONG, atol=1e-12)

    @given(st.floats(-0.7, 0.7), st.floats(-0.35, 0.35))
    @settings(max_examples=25)
    def test_the_foot_is_turned_as_it_is_planted_and_its_sole_is_on_the_slope(self, a, b):
        plants = plants_of(footing_of(lambda x, y: a * x + b * y))
        along = rotations.rotate(plants.turn, SOLES.ball[:1] - SOLES.heel[:1])
        np.testing.assert_allclose(along, plants.ball - plants.heel, atol=1e-9)
        up = rotations.rotate(plants.turn, np.array([0.0, 0.0, 1.0]))[0]
        np.testing.assert_allclose(up, np.array([-a, -b, 1.0]) / np.sqrt(1 + a * a + b * b), atol=1e-9)

    @pytest.mark.parametrize("slope", [-30.0, 30.0])
    def test_no_steeper_than_allowed(self, slope):
        plants = plants_of(footing_of(lambda x, y: np.tan(np.radians(slope)) * y + 0 * x), steepest=np.radians(10.0))
        assert angle(plants.tilt) == pytest.approx(np.radians(10.0), abs=1e-9)
        assert np.degrees(angle(plants.turn)) == pytest.approx(10.0, abs=1e-6)
        assert abs((plants.ball - plants.heel)[0, 2]) <= LONG * np.sin(np.radians(10.0)) + 1e-12
        np.testing.assert_allclose(np.linalg.norm(plants.ball - plants.heel, axis=1), LONG, atol=1e-12)

    def test_on_bumps_heel_and_ball_are_as_far_apart_as_before(self):
        bumps = footing_of(lambda x, y: 0.03 * np.sin(20 * y) + 0 * x)
        for y in (0.0, 0.05, 0.1):
            plants = plants_of(bumps, offset=(0.0, y, 0.0))
            np.testing.assert_allclose(np.linalg.norm(plants.ball - plants.heel, axis=1), LONG, atol=1e-12)
            np.testing.assert_allclose(bumps.heights(plants.heel), plants.heel[:, 2], atol=1e-3)

    def test_on_level_ground_nothing_changes(self):
        plants = plants_of(FLAT)
        np.testing.assert_allclose(plants.turn, [[1.0, 0.0, 0.0, 0.0]], atol=1e-12)
        np.testing.assert_allclose(plants.heel, [[0.1, 0.05, 0.0]], atol=1e-12)
        np.testing.assert_allclose(plants.ball, [[0.1, -0.15, 0.0]], atol=1e-12)
        assert np.abs(plants.rise).max() < 1e-12
        assert not plants.shift.any()

    def test_the_rise_is_what_the_ground_is_higher_than_the_clips(self):
        plants = plants_of(Footing(Terrain.flat(0.4, up="z"), two_legs()), offset=(0.0, 0.0, 0.15))
        np.testing.assert_allclose(plants.rise, 0.25, atol=1e-12)


class TestStairs:
    STAIRS = Terrain.stairs(0.15, 0.30, up="z")

    def sole(self, plants, footing):
        """Heights of the ground every millimetre under and beside the sole."""
        along = plants.ball - plants.heel
        share = np.linspace(-MARGIN / LONG, 1 + (TIP + MARGIN) / LONG, 281)
        return footing.heights(plants.heel + share[:, None] * along)

    @pytest.mark.parametrize("yaw", [0.0, np.pi], ids=["up", "down"])
    @pytest.mark.parametrize("place", np.linspace(0.503, 0.803, 11))
    def test_soles_stand_off_edges_by_the_least_way_with_room_before_a_riser(self, yaw, place):
        turn = rotations.about(np.array([0.0, 0.0, 1.0]), yaw)
        centre = np.array([0.1, -place, 0.0])
        footing = Footing(self.STAIRS, two_legs())
        plants = plants_of(footing, offset=centre - [0.1, 0.0, 0.0], yaw=yaw)
        assert np.ptp(self.sole(plants, footing)) < 0.03
        assert abs(plants.shift[0]) <= 0.15
        ways = np.linspace(-0.15, 0.15, 301)
        heel, direction = centre + rotations.rotate(turn, SOLES.heel[0]), rotations.rotate(turn, AHEAD)
        spots = np.linspace(-MARGIN, LONG + TIP + MARGIN, 281)
        good = np.array([np.ptp(footing.heights(heel + (way + spots)[:, None] * direction)) < 0.03 for way in ways])
        if yaw:
            assert abs(plants.shift[0]) <= np.abs(ways[good]).min() + 0.01  # tried every centimetre
        else:  # treads are too short for a foot with 5 cm of room: it stands as far back as it can
            behind = plants.heel - (MARGIN + 0.01) * direction
            assert footing.heights(behind)[0] < footing.heights(plants.heel)[0]

    def test_no_further_than_allowed(self):
        footing = Footing(self.STAIRS, two_legs())
        for farthest in (0.0, 0.03):
            shifts = [
                plants_of(footing, offset=(0.0, y, 0.0), farthest=farthest).shift[0] for y in np.linspace(0, 1, 21)
            ]
            assert np.abs(shifts).max() == pytest.approx(farthest, abs=1e-12)

    def test_where_no_place_will_do_heel_and_ball_stand_and_toes_stick_out(self):
        narrow = footing_of(lambda x, y: 0.3 * np.floor((y + 1e-9) / 0.235) + 0 * x)
        plants = plants_of(narrow, offset=(0.0, 0.12, 0.0))
        np.testing.assert_allclose(narrow.heights(plants.heel), narrow.heights(plants.ball), atol=1e-12)

    def test_the_heel_comes_before_the_toes(self):
        narrow = footing_of(lambda x, y: 0.3 * np.floor((y + 1e-9) / 0.235) + 0 * x)
        plants = plants_of(narrow, offset=(0.0, 0.235 - 0.006 - 0.05, 0.0))  # the heel is 6 mm from the edge behind it
        assert plants.shift == pytest.approx(0.01, abs=1e-12)

    @pytest.mark.parametrize("place", np.linspace(0.0, 0.22, 12))
    def test_toes_are_free_of_the_riser_and_the_ball_lies_firmly_while_the_heel_hangs(self, place):
        """Treads of 0.235 m, 0.3 m high, for a foot of 0.25 m that climbs them."""
        narrow = footing_of(lambda x, y: 0.3 * np.floor(-(y + 1e-9) / 0.235) + 0 * x)
        plants = plants_of(narrow, offset=(0.0, -place, 0.0))
        sole = plants.ball + np.linspace(0.01 - FIRM, TIP + MARGIN, 101)[:, None] * AHEAD  # tried every centimetre
        assert np.ptp(narrow.heights(sole)) == 0.0
        assert narrow.heights(plants.heel) < plants.ball[:, 2] - 0.2
        np.testing.assert_array_equal(plants.hangs, [[True, False]])
        np.testing.assert_allclose(plants.ball[:, 2], narrow.heights(plants.ball), atol=1e-12)
        np.testing.assert_allclose(plants.heel[:, 2], plants.ball[:, 2], atol=1e-12)

    @pytest.mark.parametrize("yaw", [0.0, np.pi], ids=["up", "down"])
    def test_a_foot_over_an_edge_is_level_on_the_higher_tread(self, yaw):
        footing = Footing(self.STAIRS, two_legs())
        centre = np.array([0.1, -0.8 if yaw else -0.75, 0.0])
        plants = plants_of(footing, offset=centre - [0.1, 0.0, 0.0], yaw=yaw, farthest=0.0)
        heights = footing.heights(plants.heel), footing.heights(plants.ball)
        assert abs(heights[0] - heights[1]) == pytest.approx(0.15)
        np.testing.assert_allclose(plants.heel[:, 2], np.maximum(*heights), atol=1e-12)
        np.testing.assert_allclose(plants.ball[:, 2], np.maximum(*heights), atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(plants.ball - plants.heel, axis=1), LONG, atol=1e-12)
        np.testing.assert_allclose(plants.turn, [rotations.about(np.array([0.0, 0.0, 1.0]), yaw)], atol=1e-12)
        np.testing.assert_array_equal(plants.hangs, [[not yaw, bool(yaw)]])

    @pytest.mark.parametrize(("heel", "ball"), [(True, False), (False, True)])
    def test_what_stands_alone_stands_on_the_ground(self, heel, ball):
        footing = Footing(self.STAIRS, two_legs())
        for yaw in (0.0, np.pi):
            motion = moved(np.tile([0.0, -0.8 if yaw else -0.75, 0.0], (6, 1)), path(6))
            motion.turns[:, :, FOOT:] = rotations.about(np.array([0.0, 0.0, 1.0]), yaw)
            plants = find_plants(motion, SOLES, contacts_of([heel] * 6, [ball] * 6), footing, STEEPEST, 0.0)
            stands = plants.heel if heel else plants.ball
            np.testing.assert_allclose(stands[:, 2], footing.heights(stands), atol=1e-12)
            np.testing.assert_array_equal(plants.hangs, [[ball, heel]])


class TestHocks:
    @pytest.mark.parametrize("slope", [0.0, 0.4])
    def test_a_foot_of_no_length_stands_at_its_point(self, slope):
        footing = footing_of(lambda x, y: slope * y + 0 * x)
        plants = plants_of(footing, soles=HOCKS, offset=(0.0, 0.3, 0.0))
        np.testing.assert_allclose(plants.heel, plants.ball, atol=1e-12)
        np.testing.assert_allclose(plants.ball, [[0.1, 0.3, 0.3 * slope]], atol=1e-12)
        np.testing.assert_allclose(plants.turn, plants.tilt, atol=1e-12)
        assert angle(plants.tilt) == pytest.approx(np.arctan(slope), abs=1e-12)

    def test_at_an_edge_it_finds_no_way_along_itself(self):
        footing = footing_of(lambda x, y: 0.3 * (y > 0) + 0 * x)
        plants = plants_of(footing, soles=HOCKS)
        assert np.isfinite(plants.turn).all()
        assert plants.shift == pytest.approx(0.0)


class TestEdgesOfTheGround:
    def test_beyond_the_edge_the_nearest_ground_counts(self):
        small = Footing(Terrain.heightmap(np.full((4, 4), 0.2), size=(1.0, 1.0), up="z"), two_legs())
        plants = plants_of(small, offset=(5.0, 5.0, 0.0))
        np.testing.assert_allclose(plants.ball[:, 2], 0.2, atol=1e-12)
        np.testing.assert_allclose(plants.ball[:, :2], [[5.1, 4.85]], atol=1e-12)

    def test_over_a_hole_the_nearest_ground_counts(self):
        heights = np.full((9, 9), 0.2)
        heights[3:6, 3:6] = np.nan
        holed = Footing(Terrain.heightmap(heights, size=(2.0, 2.0), holes=True, up="z"), two_legs())
        plants = plants_of(holed, offset=(-0.1, 0.05, 0.0))
        assert not holed.sample(plants.ball)[2].any()
        np.testing.assert_allclose(plants.ball[:, 2], 0.2, atol=1e-12)


class TestStances:
    def test_runs_of_each_foot(self):
        contacts = contacts_of([1, 1, 0, 0, 0, 1], [0, 1, 1, 0, 0, 0])
        leg, start, end, flat = stances_of(contacts)
        np.testing.assert_array_equal(leg, [0, 0])
        np.testing.assert_array_equal(start, [0, 5])
        np.testing.assert_array_equal(end, [3, 6])
        np.testing.assert_array_equal(flat, [True, False])

    def test_no_stance_is_no_plant(self):
        motion = moved(path(4), path(4))
        plants = find_plants(motion, SOLES, contacts_of([0] * 4), FLAT, STEEPEST, 0.15)
        assert [len(getattr(plants, f.name)) for f in dataclasses.fields(plants)[1:]] == [0] * 8
        assert plants.heel.shape == (0, 3)

    def test_in_every_third_frame_a_stance_holds_the_frames_it_held(self):
        contacts = contacts_of([0, 1, 1, 1, 1, 0, 1, 0, 0, 1])
        motion = moved(path(10), path(10))
        plants = find_plants(motion, SOLES, contacts, FLAT, STEEPEST, 0.15)
        fewer = in_frames(plants, 3).stances
        assert list(zip(fewer.start, fewer.end, strict=True)) == [(1, 2), (2, 3), (3, 4)]

    def test_a_foot_that_slid_is_planted_half_way(self):
        slide = np.concatenate([np.zeros(5), np.linspace(0.0, 0.02, 5)])
        motion = moved(path(10, y=slide), path(10))
        plants = find_plants(motion, SOLES, contacts_of([1] * 10), FLAT, STEEPEST, 0.15)
        np.testing.assert_allclose(plants.ball, [[0.1, -0.14, 0.0]], atol=1e-12)

    def test_a_foot_that_turned_is_planted_half_way_whatever_the_signs_of_its_quaternions(self):
        motion = moved(path(4), path(4))
        yaw = rotations.about(np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.1, 0.2, 0.3]))
        motion.turns[:, 0, FOOT] = yaw * np.array([1, -1, 1, -1])[:, None]
        plants = find_plants(motion, SOLES, contacts_of([1] * 4), FLAT, STEEPEST, 0.15)
        assert angle(plants.turn) == pytest.approx(0.15, abs=1e-9)

    def test_the_heel_alone_is_no_tilt_of_the_foot_to_the_ball(self):
        lifted = rotations.about(np.array([1.0, 0.0, 0.0]), -0.4)  # toes up
        motion = moved(path(4), path(4))
        motion.turns[:, 0, FOOT] = lifted
        contacts = contacts_of([1] * 4, [0] * 4)
        plants = find_plants(motion, SOLES, contacts, FLAT, STEEPEST, 0.15)
        np.testing.assert_allclose(plants.turn, lifted[None], atol=1e-12)


class TestOwnFloor:
    """Stances on the floor of the clip itself, at 0."""

    def plant(self, motion, heel, ball):
        return find_plants(motion, SOLES, contacts_of(heel, ball), FLAT, STEEPEST, 0.15, 0.0)

    @pytest.mark.parametrize("ball", [[0, 0, 0, 0], [0, 0, 1, 1]])
    def test_a_heel_stands_on_the_floor_however_high_its_ball_is(self, ball):
        motion = moved(path(4), path(4))
        toes_up = rotations.about(np.array([1.0, 0.0, 0.0]), -1.0)
        motion.turns[:, 0, FOOT] = toes_up
        motion.places[:, 0, :, 2] -= (motion.places[0, 0, ANKLE] + rotations.rotate(toes_up, SOLES.heel[0]))[2]
        plants = self.plant(motion, [1] * 4, ball)
        np.testing.assert_allclose(plants.heel[0, 2], 0.0, atol=1e-12)
        assert any(ball) or abs(plants.rise[0]) < 1e-12  # m

    @pytest.mark.parametrize("frames", [6, 10])
    @pytest.mark.parametrize("heel_first", [False, True])
    def test_a_ball_on_a_rung_stays_there_while_its_heel_hangs_a_little(self, frames, heel_first):
        """The stance lasts for 6 frames: it is at the end of the clip, or before it."""
        motion, ball = moved(path(frames), path(frames)), np.arange(frames) < 6
        pitch = rotations.about(np.array([1.0, 0.0, 0.0]), -np.arcsin(0.016 / LONG))
        motion.turns[:, 0, FOOT] = pitch
        motion.places[:, 0, :, 2] += 0.27 - (motion.places[0, 0, ANKLE] + rotations.rotate(pitch, SOLES.ball[0]))[2]
        plants = self.plant(motion, ball, ball & (np.arange(frames) >= heel_first))
        np.testing.assert_allclose(plants.ball[0, 2], 0.27, atol=1e-12)

    @pytest.mark.parametrize(("height", "stays"), [(0.03, 0.0), (0.06, 0.06)])
    def test_what_stands_well_above_it_stays_there(self, height, stays):
        plants = self.plant(moved(path(4, z=height), path(4)), [1] * 4, [1] * 4)
        np.testing.assert_allclose(plants.ball[0, 2], stays, atol=1e-12)

    def test_a_foot_is_as_high_as_it_is_for_most_of_the_time(self):
        plants = self.plant(moved(path(10, z=np.arange(10) // 9 * 0.05), path(10)), [1] * 10, [1] * 10)
        np.testing.assert_allclose(plants.rise, 0.0, atol=1e-12)


class TestRaisedStances:
    def measure(self, heights, heel, ball, floor=0.0, pitch=0.0):
        """Heights at which the left foot stands. Its ankle is 0.1 m over these heights (F,)."""
        motion = moved(path(len(heights), z=np.asarray(heights)), path(len(heights)))
        motion.turns[:, 0, FOOT] = rotations.about(np.array([1.0, 0.0, 0.0]), -pitch)
        return find_raised_stances(motion, SOLES, contacts_of(heel, ball), floor, least=STEP_M)[:, 0]

    def test_where_one_is_a_step_up_lower_steps_count_too(self):
        heights, on = np.repeat([0.0, 0.02, 0.09, 0.18], 4), [1, 1, 1, 0] * 4
        steps = self.measure(heights, on, on).reshape(4, 4)
        np.testing.assert_allclose(steps[:, 0], [0.0, 0.0, 0.09, 0.18], atol=1e-12)
        assert not steps[:, 3].any()
        assert not self.measure(heights[:12], on[:12], on[:12]).any()

    @pytest.mark.parametrize("pitch", [0.5, 0.8])
    def test_a_heel_on_the_floor_whose_toes_are_up_is_on_no_step(self, pitch):
        heel = rotations.rotate(rotations.about(np.array([1.0, 0.0, 0.0]), -pitch), SOLES.heel[0])[2]
        ball = rotations.rotate(rotations.about(np.array([1.0, 0.0, 0.0]), -pitch), SOLES.ball[0])[2]
        assert ball - heel > 0.09
        lowered = np.full(6, -0.1 - heel)
        assert not self.measure(lowered, [1] * 6, [0] * 6, pitch=pitch).any()
        on_step = self.measure(lowered + 0.2, [1] * 6, [0] * 6, pitch=pitch)
        np.testing.assert_allclose(on_step, 0.2, atol=1e-12)


class TestFloor:
    def test_the_lowest_level_of_stairs_is_the_floor(self):
        climb = np.repeat([0.0, 0.17, 0.34, 0.51], 20) + 0.001 * np.sin(np.arange(80.0))
        assert _find_level(climb) == pytest.approx(0.0, abs=0.002)

    @pytest.mark.parametrize("count", [6, 20, 49, 51, 400])
    def test_a_single_faulty_frame_is_no_floor(self, count):
        heights = 0.004 * np.sin(1.7 * np.arange(count))
        assert _find_level(np.append(heights, -0.13)) == pytest.approx(0.0, abs=0.006)
