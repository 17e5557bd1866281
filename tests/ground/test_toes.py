"""Toes: bent out of the ground by the least angle, and feet that lean or step back from risers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poise.ground.figure.motion import ANKLE, BALL, FOOT, TOES
from poise.ground.legs.toes import heels_to_lower, raise_toes, step_back
from poise.maths import rotations
from tests.ground.feet import SOLES, feet_of, footing_of, standing, unturned

FINE = np.radians(7.5 / 2**9 + 0.01)  # angles are tried every 7.5 degrees, halved nine times; the scan's are 0.01 apart
TOUCH = 1e-4  # [m]
TIP = SOLES.tip[0]
BALL_AT, HEEL_AT = -0.15, 0.05  # [m] along y, which is backwards


def bends(turned):
    """By how much (F, L) [rad] toes are bent."""
    return np.linalg.norm(rotations.as_vector(turned.turns[:, :, TOES]), axis=-1)


def depth(motion, turned, footing):
    """How deep (F, L) tips are in the ground."""
    balls = turned.ankles + motion.places[:, :, BALL] - motion.places[:, :, ANKLE]
    tips = balls + rotations.rotate(turned.turns[:, :, TOES], np.broadcast_to(TIP, balls.shape))
    return footing.heights(tips) - tips[..., 2]


def scanned(motion, footing):
    """The first of many angles at which the tips of the first frame's left foot are out of the ground."""
    angles = np.radians(np.arange(0.0, 120.0, 0.01))
    tips = motion.places[0, 0, BALL] + rotations.rotate(rotations.about(np.array([-1.0, 0.0, 0.0]), angles), TIP)
    return angles[(footing.heights(tips) <= tips[:, 2] + TOUCH).argmax()]


def riser(place, height):
    return footing_of(lambda x, y: height * (y < place) + 0.0 * x)


class TestRaised:
    @settings(max_examples=25)
    @given(st.floats(0.001, 0.05), st.floats(-0.5, 0.5))
    def test_out_of_the_ground_by_the_least_angle(self, height, slope):
        motion = standing()
        footing = footing_of(lambda x, y: height + slope * (y + 0.2) + 0.0 * x)
        raised = raise_toes(motion, SOLES, feet_of(motion), unturned(motion), footing)
        assert depth(motion, raised, footing).max() <= TOUCH
        np.testing.assert_allclose(bends(raised), scanned(motion, footing), atol=FINE)

    def test_out_of_a_riser(self):
        motion, footing = standing(), riser(-0.19, 0.04)
        raised = raise_toes(motion, SOLES, feet_of(motion), unturned(motion), footing)
        assert depth(motion, raised, footing).max() <= TOUCH
        np.testing.assert_allclose(bends(raised), scanned(motion, footing), atol=FINE)

    def test_only_toes_that_are_in_the_ground_turn_and_nothing_else_does(self):
        motion = standing()
        footing = footing_of(lambda x, y: 0.02 * (x > 0) + 0.0 * y)
        before = unturned(motion)
        raised = raise_toes(motion, SOLES, feet_of(motion), before, footing)
        assert bends(raised)[0, 0] > 0.1
        np.testing.assert_array_equal(raised.turns[:, 1], before.turns[:, 1])
        np.testing.assert_array_equal(raised.turns[:, :, :TOES], before.turns[:, :, :TOES])

    @pytest.mark.parametrize("height", [-1.0, 0.0, 5e-5])
    def test_toes_that_are_not_or_only_touch_stay(self, height):
        motion = standing()
        before = unturned(motion)
        assert (
            raise_toes(motion, SOLES, feet_of(motion), before, footing_of(lambda x, y: height + 0.0 * x + 0.0 * y))
            is before
        )

    def test_where_no_angle_will_do_the_best_is_taken(self):
        motion = standing()
        raised = raise_toes(
            motion, SOLES, feet_of(motion), unturned(motion), footing_of(lambda x, y: 0.5 + 0.0 * x + 0.0 * y)
        )
        highest = np.radians(90.0) + np.arctan2(0.03, 0.05)  # the tip right above the ball's joint
        np.testing.assert_allclose(bends(raised), highest, atol=np.radians(7.5 / 2))

    def test_feet_without_toes_are_left_alone(self):
        motion = standing(toes=False)
        before = unturned(motion)
        assert (
            raise_toes(motion, SOLES, feet_of(motion), before, footing_of(lambda x, y: 0.02 + 0.0 * x + 0.0 * y))
            is before
        )


class TestHeelsToLower:
    def lifted(self, angle):
        """Feet that stand on their balls with their heels up, and what is asked of them."""
        motion = standing(30)
        turn = rotations.about(np.array([1.0, 0.0, 0.0]), angle)
        motion.turns[:, :, FOOT] = turn
        balls = motion.places[:, :, ANKLE] + SOLES.ball
        motion.places[:, :, ANKLE] = balls - rotations.rotate(turn, SOLES.ball)
        motion.places[:, :, BALL] = motion.places[:, :, ANKLE] + rotations.rotate(turn, np.array([0.0, -0.15, -0.07]))
        return motion, feet_of(motion, free=True)

    def test_none_in_front_of_nothing(self):
        motion, feet = self.lifted(0.6)
        assert not heels_to_lower(motion, SOLES, feet, footing_of(lambda x, y: 0.0 * x + 0.0 * y)).any()

    def test_none_of_feet_that_are_not_free(self):
        motion, feet = self.lifted(0.6)
        feet.free[:] = False
        assert not heels_to_lower(motion, SOLES, feet, riser(BALL_AT - 0.005, 0.3)).any()

    def test_lower_in_front_of_a_riser_until_the_tip_is_out_or_the_heel_down(self):
        motion, feet = self.lifted(1.0)
        joint = motion.places[0, 0, BALL, 1]
        assert joint < BALL_AT  # a heel that is up pushes the toes' joint forward
        down = heels_to_lower(motion, SOLES, feet, riser(joint + 0.005, 0.3))
        assert (down > 0.1).all()
        assert (down <= 1.0 + 1e-9).all()
        np.testing.assert_allclose(down, down[0, 0], atol=1e-12)

    def test_and_for_a_twentieth_of_a_second_after_the_ball_has_left(self):
        motion, feet = self.lifted(1.0)
        feet.free[10:] = False  # the last in which the ball stands alone is frame 9, of 60 a second
        down = heels_to_lower(motion, SOLES, feet, riser(motion.places[0, 0, BALL, 1] + 0.005, 0.3))
        np.testing.assert_allclose(down[:12], down[0, 0], atol=1e-12)
        assert (np.diff(down[11:], axis=0) <= 1e-12).all()
        assert not down[18:].any()


class TestStepBack:
    def test_back_from_a_riser_and_no_further_than_out_of_it(self):
        motion, footing = standing(), riser(-0.18, 0.3)
        feet = feet_of(motion)
        back = step_back(motion, SOLES, feet, unturned(motion), np.zeros((1, 2), bool), footing)
        moved = back.ankles - feet.ankles
        np.testing.assert_allclose(moved[..., [0, 2]], 0.0, atol=1e-12)
        assert (moved[..., 1] >= 0.02).all()
        assert (moved[..., 1] <= 0.025 + 1e-12).all()  # tried every 5 mm

    def test_up_where_that_will_not_do(self):
        motion = standing()
        feet = feet_of(motion)
        ground = footing_of(lambda x, y: 0.07 + 0.0 * x + 0.0 * y)
        up = step_back(motion, SOLES, feet, unturned(motion), np.zeros((1, 2), bool), ground)
        np.testing.assert_allclose(up.ankles - feet.ankles, np.broadcast_to([0.0, 0.0, 0.07], (1, 2, 3)), atol=1e-12)

    def test_back_a_little_and_up_a_little(self):
        motion = standing(offset=(0.0, 0.0, -0.0005))  # the sole is half a millimetre in the ground
        feet = feet_of(motion)
        back = step_back(motion, SOLES, feet, unturned(motion), np.zeros((1, 2), bool), riser(-0.18, 0.3))
        assert (back.ankles - feet.ankles)[..., 1].min() >= 0.02
        np.testing.assert_allclose((back.ankles - feet.ankles)[..., 2], 0.0005, atol=1e-9)

    def test_up_where_the_leg_is_too_short_to_get_back(self):
        motion = standing()
        feet, turned = feet_of(motion), unturned(motion)
        turned.missing[:] = 0.02
        up = step_back(motion, SOLES, feet, turned, np.zeros((1, 2), bool), riser(-0.18, 0.3))
        np.testing.assert_allclose(up.ankles - feet.ankles, np.broadcast_to([0.0, 0.0, 0.3], (1, 2, 3)), atol=1e-12)

    def test_standing_feet_stay(self):
        motion = standing()
        feet = feet_of(motion)
        stands = np.array([[True, False]])
        back = step_back(motion, SOLES, feet, unturned(motion), stands, riser(-0.18, 0.3))
        np.testing.assert_array_equal(back.ankles[0, 0], feet.ankles[0, 0])
        assert (back.ankles[0, 1] != feet.ankles[0, 1]).any()

    def test_feet_that_are_out_stay(self):
        motion = standing()
        feet = feet_of(motion)
        out = step_back(motion, SOLES, feet, unturned(motion), np.zeros((1, 2), bool), riser(-0.25, 0.3))
        assert out is feet

    def test_a_foot_that_faces_elsewhere_steps_back_its_own_way(self):
        motion = standing()
        quarter = rotations.about(np.array([0.0, 0.0, 1.0]), np.pi / 2)
        motion.turns[:, :, FOOT:] = quarter  # faces +x
        motion.places[:, :, BALL] = motion.places[:, :, ANKLE] + rotations.rotate(quarter, np.array([0, -0.15, -0.07]))
        feet = feet_of(motion)
        wall = footing_of(lambda x, y: 0.3 * (x > 0.1 + 0.18) + 0.0 * y)
        back = step_back(motion, SOLES, feet, unturned(motion), np.zeros((1, 2), bool), wall)
        moved = (back.ankles - feet.ankles)[0, 0]
        np.testing.assert_allclose(moved[1:], 0.0, atol=1e-12)
        assert moved[0] <= -0.02
