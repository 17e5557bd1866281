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
