"""Weight: figures on pinned feet stand where these carry them."""

from __future__ import annotations

import numpy as np

import poise
from poise.io import samples

FORWARD, UP, LEFT = np.eye(3)[[2, 1, 0]]  # of the sample figure
FIGURE = poise.load(samples.path("humanoid.glb"))
FEET = FIGURE.rest.world["LeftFoot"].positions, FIGURE.rest.world["RightFoot"].positions
HANGING = poise.solve(
    FIGURE.rest,
    [poise.Position(f"{s}Hand", FIGURE.rest.world[f"{s}Arm"].positions - 0.5 * UP) for s in ("Left", "Right")],
).pose  # fmt: skip


def kick(places, **options):
    """The left foot at places (..., 3), on the right foot."""
    goals = [poise.Pin("RightFoot"), poise.Position("LeftFoot", places)]
    return poise.solve(HANGING, goals, free_root=True, **options)


def beside(pose, foot=FEET[1]):
    """How far the centre of mass is beside a foot, level."""
    way = poise.centre_of_mass(pose) - foot
    return np.abs(way @ LEFT)


def test_a_figure_on_one_foot_stands_above_it():
    ahead = FEET[0] + 0.3 * UP + 0.3 * FORWARD
    result = kick(ahead)
    assert result.reached
    assert beside(result.pose) < 0.06
    assert beside(kick(ahead, natural=False).pose) > 0.08
    np.testing.assert_allclose(result.pose.world["RightFoot"].positions, FEET[1], atol=1e-3)


def test_feet_that_carry_it_leave_it_alone():
    goals = [
        poise.Pin("RightFoot"),
        poise.Pin("LeftFoot"),
        poise.Position("LeftHand", HANGING.world["LeftHand"].positions + 0.2 * UP + 0.1 * FORWARD),
    ]
    result = poise.solve(HANGING, goals, free_root=True)
    np.testing.assert_allclose(result.pose.world["Hips"].positions, HANGING.world["Hips"].positions, atol=1e-3)
    hand = poise.Position("LeftHand", HANGING.world["LeftHand"].positions + 0.1 * UP)
    other = poise.solve(HANGING, [poise.Pin("RightFoot"), hand], free_root=True)  # the left foot is on the floor still
    np.testing.assert_allclose(other.pose.world["Hips"].positions, HANGING.world["Hips"].positions, atol=1e-3)


def test_a_start_that_does_not_stand_keeps_its_weight():
    """A frame of a leap: the centre of mass is far beside the foot on the floor."""
    free = HANGING.on(HANGING.skeleton.with_free_root())
    q = free.q.copy()
    q[:3] += 0.5 * LEFT
    start = poise.Pose(free.skeleton, q)
    foot = start.world["LeftFoot"].positions + 0.2 * UP + 0.1 * LEFT
    pinned = poise.Position("RightFoot", start.world["RightFoot"].positions - 0.4 * LEFT)
    leap = poise.solve(start, [pinned], free_root=True).pose
    lifted = poise.solve(leap, [poise.Pin("RightFoot"), poise.Position("LeftFoot", foot)], free_root=True)
    assert lifted.reached


def test_it_is_continuous_and_the_same_in_batches():
    way = np.linspace(0, 1, 200)[:, None]
    places = FEET[0] + way * (0.5 * UP + 0.5 * FORWARD + 0.2 * LEFT)
    batch = kick(places)
    assert batch.reached.all()
    np.testing.assert_array_equal(batch.pose.q[::40], [kick(place).pose.q for place in places[::40]])
    hips = batch.pose.world["Hips"].positions
    assert np.linalg.norm(np.diff(hips, axis=0), axis=1).max() < 0.01
    assert np.linalg.norm(np.diff(hips, n=2, axis=0), axis=1).max() < 0.002


def squat(hips, joint="Foot", **options):
    """Hips at places (..., 3), on pinned feet or toes."""
    goals = [*(poise.Pin(side + joint) for side in ("Left", "Right")), poise.Position("Hips", hips)]
    return poise.solve(HANGING, goals, free_root=True, **options)


def measure_lean(pose):
    """How far (...) trunks are bent ahead [deg]."""
    trunk = pose.world["Neck"].positions - pose.world["Hips"].positions
    return np.degrees(np.arctan2(trunk @ FORWARD, trunk @ UP))


HIPS = HANGING.world["Hips"].positions


class TestPlacedHips:
    """Trunks bow about placed hips until feet carry the weight."""

    def test_the_bow_brings_the_weight_above_the_soles(self):
        pose = squat(HIPS - 0.35 * UP - 0.2 * FORWARD).pose
        assert abs((poise.centre_of_mass(pose) - FEET[0]) @ FORWARD) < 0.06
        assert 15.0 < measure_lean(pose) < 40.0
        np.testing.assert_allclose(pose.world["Hips"].positions, HIPS - 0.35 * UP - 0.2 * FORWARD, atol=1e-4)

    def test_what_feet_carry_stays_upright(self):
        assert abs(measure_lean(squat(HIPS - 0.35 * UP - 0.05 * FORWARD).pose)) < 3.0

    def test_raised_heels_bring_it_above_the_balls(self):
        pose = squat(HIPS - 0.35 * UP - 0.05 * FORWARD, "Toe").pose
        assert pose.world["LeftFoot"].positions @ UP > FEET[0] @ UP + 0.02
        ball = HANGING.world["LeftToe"].positions
        assert abs((poise.centre_of_mass(pose) - ball) @ FORWARD) < 0.04

    def test_who_sits_stays_upright(self):
        assert abs(measure_lean(squat(HIPS - 0.35 * UP - 0.45 * FORWARD).pose)) < 3.0

    def test_hands_with_goals_leave_the_trunk_upright(self):
        turned = [poise.Orientation(f"{s}Hand", HANGING.world[f"{s}Hand"].rotations) for s in ("Left", "Right")]
        goals = [poise.Pin("LeftFoot"), poise.Pin("RightFoot"), *turned]
        goals += [poise.Position("Hips", HIPS - 0.35 * UP - 0.2 * FORWARD)]
        assert abs(measure_lean(poise.solve(HANGING, goals, free_root=True).pose)) < 5.0

    def test_a_weight_beside_the_feet_of_the_start_is_wanted(self):
        """A frame of a clip whose hips go down by a millimetre, on both feet and on one."""
        start = poise.solve(HANGING, [poise.Position("Hips", HIPS - 0.3 * UP - 0.3 * FORWARD)], free_root=True).pose
        feet = [poise.Position(f"{s}Foot", start.world[f"{s}Foot"].positions + 0.1 * UP) for s in ("Left", "Right")]
        leans = poise.solve(start, feet, free_root=True).pose
        for pins in (("LeftFoot", "RightFoot"), ("LeftFoot",)):
            lower = poise.Position("Hips", leans.world["Hips"].positions - 0.001 * UP)
            pose = poise.solve(leans, [*map(poise.Pin, pins), lower], free_root=True).pose
            moves = pose.world.positions - leans.world.positions
            assert np.linalg.norm(moves[pose.skeleton.index("Head")]) < 0.005

    def test_a_trunk_that_hangs_does_not_bow(self):
        feet = [poise.Pin("LeftFoot"), poise.Pin("RightFoot")]
        hands = [poise.Position(f"{s}Hand", f + 0.15 * FORWARD) for s, f in zip(("Left", "Right"), FEET, strict=True)]
        bent = poise.solve(HANGING, [*feet, *hands], free_root=True).pose
        assert measure_lean(bent) > 90.0
        hips = bent.world["Hips"].positions - np.linspace(-0.12, 0.16, 141)[:, None] * FORWARD
        dragged = poise.solve(bent, [*feet, poise.Position("Hips", hips)], free_root=True).pose
        assert np.abs(np.diff(measure_lean(dragged))).max() < 1.0

    def test_it_is_continuous_and_the_same_in_batches(self):
        places = HIPS - 0.35 * UP - np.linspace(0.0, 0.5, 251)[:, None] * FORWARD
        for joint in ("Foot", "Toe"):
            batch = squat(places, joint)
            assert np.abs(np.diff(measure_lean(batch.pose))).max() < 3.0
            ones = [squat(place, joint).pose.q for place in places[::50]]
            np.testing.assert_array_equal(batch.pose.q[::50], ones)


def test_heels_rise_by_the_least_that_will_do():
    """A heel at its end is too far from the hip here: the angle between is found, not the end."""
    rest = FIGURE.rest
    hips = rest.world["Hips"].positions + np.linspace(0.9, 1.1, 101)[:, None] * np.array([0.1188, -0.0502, -0.2687])
    goals = [poise.Pin("LeftToe"), poise.Pin("RightToe"), poise.Position("Hips", hips)]
    goals += [poise.Orientation("Hips", rest.world["Hips"].rotations)]
    result = poise.solve(rest, goals, free_root=True)
    assert result.reached.all()
    assert np.linalg.norm(np.diff(result.pose.world.positions, axis=0), axis=2).max() < 0.005


def test_a_twisted_trunk_bows_to_where_its_chest_looks():
    """A hand low behind: the trunk goes over to the hand's side, and the face with it."""
    goals = [poise.Pin("LeftFoot"), poise.Pin("RightFoot")]
    goals += [poise.Position("LeftHand", FEET[0] + 0.14 * LEFT - 0.28 * FORWARD + 0.19 * UP)]
    result = poise.solve(HANGING, goals, free_root=True)
    trunk = result.pose.world["Neck"].positions - result.pose.world["Hips"].positions
    assert result.reached
    assert trunk @ LEFT > trunk @ FORWARD
