"""Pole: to which side a limb bends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import poise
from poise import InputError, Place, Pole, Pose, Position, Status
from poise.io import samples
from poise.maths import rotations
from tests.reference.kernel_tree import pole_angle
from tests.strategies import figure, random_q, rng_of, seeds, straight_chain

FIGURE = poise.load(samples.path("humanoid.bvh")).rest
KNEE, FOOT = (FIGURE.world[name].positions for name in ("LeftLeg", "LeftFoot"))
LEG = straight_chain(2)  # a hip and a knee that are balls; the tip hangs in the knee
UPRIGHT = Pose(LEG, LEG.rest_q)


def bent(angle=1.0, about=(0.0, 0.0, 1.0)):
    """The leg with its knee bent."""
    return UPRIGHT.replace({"j1": rotations.about(np.array(about), angle)})


def missed_by(pose, pole, first, tip):
    return abs(pole_angle(*(pose.world[name].positions for name in (first, pole.joint, tip)), pole.target))


@given(seeds)
@settings(max_examples=60)
def test_the_error_is_the_angle_about_the_line(seed):
    rng = rng_of(seed)
    pose = Pose(LEG, random_q(rng, LEG))
    goal = Pole("j1", rng.normal(size=3) * 2)
    result = poise.solve(pose, goal, solver=poise.LevenbergMarquardt(iterations=int(rng.integers(3)), restarts=0))
    np.testing.assert_allclose(result.errors, [missed_by(result.pose, goal, "j0", "tip")], atol=1e-6)
    np.testing.assert_array_equal(result.angle_errors, result.errors)


@pytest.mark.parametrize("count", [2, 5])
def test_of_many_each_has_the_status_it_has_alone(count):
    """A foot that is turned, and a knee whose side its limit keeps away: what holds it is found for all at once."""
    s = LEG.with_limits({"j0": poise.SwingTwist((0, 1, 0), swing=0.3, twist=(-0.1, 0.1))})
    sides = rotations.rotate(
        rotations.about(np.array([0.0, 1.0, 0.0]), np.linspace(0.0, 3.0, count)), np.array([3.0, 0.5, 0.0])
    )
    start = Pose(s, bent().q)
    solver = poise.LevenbergMarquardt(iterations=30, restarts=1)
    many = poise.solve(start, [Position("tip", [0.3, 1.5, 0.2]), Pole("j1", sides)], solver=solver)
    assert not many.reached.all()
    for k, side in enumerate(sides):
        one = poise.solve(start, [Position("tip", [0.3, 1.5, 0.2]), Pole("j1", side)], solver=solver)
        assert one.status == many.codes[k]
        assert one.message() == many.message(k)


@pytest.mark.parametrize("seed", range(30))
def test_a_foot_and_the_side_of_its_knee(seed):
    """Seven degrees of freedom, or six: both goals are met, together."""
    rng = rng_of(seed)
    goals = [
        Position("LeftFoot", FOOT + rng.uniform([-0.2, 0.15, -0.2], [0.2, 0.4, 0.2])),
        Pole("LeftLeg", KNEE + rng.normal(size=3) * 2),
    ]
    result = poise.solve(FIGURE, goals)
    assert result.reached, str(result)
    assert missed_by(result.pose, goals[1], "LeftUpLeg", "LeftFoot") <= result.angle_tolerance
    assert np.linalg.norm(result.pose.world["LeftFoot"].positions - goals[0].target) <= result.tolerance
    assert result.errors.shape == (2,)


def test_a_knee_that_is_a_hinge():
    s = figure(free=False)
    start = Pose(s, s.rest_q).replace({"l_knee": 0.5})
    foot = start.world["l_foot"].positions
    for way in ([1, 0, 0.2], [-1, 0, 0.5], [0.1, 0, -1], [0, 1, 1]):
        goals = [
            Position("l_foot", foot + np.array([0.05, 0.1, 0.1])),
            Pole("l_knee", start.world["l_knee"].positions + way),
        ]
        result = poise.solve(start, goals)
        assert result.reached
        assert missed_by(result.pose, goals[1], "l_leg", "l_foot") <= 1e-4


def test_a_foot_that_keeps_its_rotation_too():
    turn = FIGURE.world["LeftFoot"].rotations
    goals = [Place("LeftFoot", FOOT + np.array([0, 0.2, 0.1]), turn), Pole("LeftLeg", KNEE + np.array([1, 0, 1]))]
    result = poise.solve(FIGURE, goals)
    assert result.reached
    assert result.errors.shape == (3,)


def test_a_pole_exactly_on_the_other_side_is_turned_to():
    start = bent()
    knee, tip = start.world["j1"].positions, start.world["tip"].positions
    other = tip * (knee @ tip) / (tip @ tip) * 2 - knee  # mirrored at the line
    result = poise.solve(start, [Position("tip", tip), Pole("j1", other)])
    assert result.reached
    np.testing.assert_allclose(result.pose.world["j1"].positions, other, atol=1e-3)


class TestWithoutASide:
    def check(self, start, pole, **options):
        result = poise.solve(start, Pole("j1", pole), **options)
        assert (result.reached, result.iterations) == (True, 0)
        np.testing.assert_array_equal(result.errors, [0.0])
        np.testing.assert_array_equal(result.q, start.q)

    def test_a_straight_limb(self):
        self.check(UPRIGHT, [1.0, 0, 0])

    @pytest.mark.parametrize("unit", [1e-6, 1e6])
    def test_a_limb_straight_to_rounding(self, unit):
        s = straight_chain(2, length=unit, direction=(0.6, 0.48, 0.64))
        start = Pose(s, s.rest_q).replace({"j0": [0.9, 0.1, 0.3, 0.2], "j1": [1, 1e-9, 0, 0]})
        self.check(start, np.array([1.0, 0, 0]) * unit)

    @pytest.mark.parametrize("where", [-1.0, 0.0, 0.3, 1.0, 2.0])
    def test_a_pole_on_the_line(self, where):
        start = bent()
        self.check(start, start.world["tip"].positions * where)

    @pytest.mark.parametrize("where", [0.3, 2.0])
    def test_a_pole_on_the_line_to_rounding(self, where):
        start = bent()
        self.check(start, start.world["tip"].positions * where + [1e-13, -1e-13, 1e-13])

    def test_a_limb_folded_onto_its_first_joint(self):
        self.check(bent(np.pi), [1.0, 0, 0])

    def test_a_limb_without_length(self):
        s = straight_chain(2, length=0.0)
        self.check(Pose(s, s.rest_q), [1.0, 0, 0])

    @pytest.mark.parametrize("angle", [1e-2, 1e-4, 1e-5])
    def test_near_there_the_side_still_counts(self, angle):
        start = bent(angle)
        result = poise.solve(start, Pole("j1", [1.0, 1.0, 1.0]))
        assert result.reached
        assert result.iterations > 0

    def test_a_target_out_of_reach_straightens_the_limb(self):
        goals = [Position("tip", [0, 5, 0.1]), Pole("j1", [1, 1, 1])]
        result = poise.solve(bent(), goals)
        assert result.status == Status.out_of_reach
        assert np.isfinite(result.errors).all()
        assert result.errors[0] == pytest.approx(3.0, abs=0.01)

    def test_a_straight_limb_that_has_to_bend_takes_the_side_requested(self):
        for way in ([1, 0, 0], [0, 0, -1], [-1, 0.3, 0.4]):
            goals = [Position("tip", [0.02, 1.2, 0.01]), Pole("j1", way)]
            result = poise.solve(UPRIGHT, goals)
            assert result.reached
            assert missed_by(result.pose, goals[1], "j0", "tip") <= result.angle_tolerance


@pytest.mark.parametrize("name", ["knight_kaykit.glb", "mixamo_human_makehuman.glb"])
def test_both_legs_of_real_rigs(data, name):
    """Feet lifted, knees turned outwards, at once."""
    rig = poise.load(data / "glb" / name)
    s, world = rig.skeleton, rig.rest.world
    feet = [n for n in s.names if n.lower().endswith(("foot", "foot.l", "foot.r"))][:2]
    assert len(feet) == 2
    goals = []
    for foot in feet:
        knee = s.ancestors(foot)[-1]
        length = np.linalg.norm(world[foot].positions - world[knee].positions)
        out = np.sign(world[foot].positions[0]) * length
        goals.append(Position(foot, world[foot].positions + np.array([0, 0.4 * length, 0.1 * length])))
        goals.append(Pole(knee, world[knee].positions + np.array([out, 0, 2 * length]), tip=foot))
    result = poise.solve(rig.rest, goals)
    assert result.reached, (feet, str(result))
    for pole in goals[1::2]:
        first = s.names[pole.limb(s).first]
        assert missed_by(result.pose, pole, first, pole.tip) <= result.angle_tolerance


class TestValue:
    def test_a_joint_that_bends_no_limb(self):
        for pole in (Pole("LeftUpLeg", [0, 0, 1], tip="LeftFoot"), Pole("LeftLeg", [0, 0, 1], tip="RightFoot")):
            with pytest.raises(InputError, match="^a Pole is for a joint inside a limb; "):
                poise.solve(FIGURE, pole)

    def test_the_tip_must_be_named_where_it_is_not_clear(self):
        with pytest.raises(InputError, match="^name the tip of the limb that 'Hips' bends, tip=; .*'Spine'"):
            poise.solve(FIGURE, Pole("Hips", [0, 0, 1]))
        with pytest.raises(InputError, match="are: none$"):
            poise.solve(FIGURE, Pole("Head_end", [0, 0, 1]))

    def test_what_is_no_pole(self):
        for wrong in ([1, 2], [np.nan, 0, 0], "forwards"):
            with pytest.raises(InputError, match="^the pole of 'LeftLeg'"):
                Pole("LeftLeg", wrong)
        with pytest.raises(InputError, match="^the weight of 'LeftLeg' must be"):
            Pole("LeftLeg", [0, 0, 1], weight=0)

    def test_ccd_says_that_it_is_not_for_it(self):
        with pytest.raises(poise.UnsupportedError, match="ccd solves .* goals, not Pole"):
            poise.solve(FIGURE, Pole("LeftLeg", [0, 0, 1]), solver="ccd")
