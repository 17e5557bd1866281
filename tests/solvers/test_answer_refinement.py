"""Goals that contradict each other, on sheared rigs and with a Balance: the work is bounded, the answer as near."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import poise
from poise import Balance, Pin, Place, Position
from poise.io import samples

RIG = poise.load(samples.path("humanoid.glb"))
MOST_STEPS = 1500  # a thousand of the engine's, which is compiled; some 200 of descents, where 4,000 were


@functools.cache
def sheared_rest():
    """The figure, every joint scaled by 0.85 to 1.15 along each axis."""
    scales = 1 + 0.15 * np.random.default_rng(3).uniform(-1, 1, (len(RIG.skeleton), 3))
    return poise.Pose(RIG.skeleton, RIG.rest.q, scales=scales)


def contradicting(seed):
    """Places of both hands and the head, further apart than arms and spine are long."""
    rng, world = np.random.default_rng(200 + seed), sheared_rest().world
    turn = rng.normal(size=4)
    spread = {"LeftHand": 0.5, "RightHand": 0.5, "Head": 0.3}
    return [
        Place(name, world[name].positions + rng.normal(size=3) * by, turn, root="Spine") for name, by in spread.items()
    ]


@pytest.mark.parametrize("seed", [2])
def test_contradicting_places_of_a_sheared_figure(seed):
    goals = contradicting(seed)
    result = poise.solve(sheared_rest(), goals)
    assert not result.reached
    assert result.iterations < MOST_STEPS
    again = poise.solve(result.pose, goals)  # what is left to gain from there
    assert np.linalg.norm(again.errors) > 0.98 * np.linalg.norm(result.errors)


def test_the_same_places_are_met_where_a_pose_has_them():
    """Nothing is given up that can be reached: places of a random pose, arms and spine turned."""
    rest, skeleton = sheared_rest(), RIG.skeleton
    for seed in range(6):
        rng, q = np.random.default_rng(seed), np.array(rest.q)
        for name in ("Spine", "Chest", "LeftArm", "LeftForeArm", "RightArm", "RightForeArm", "Neck", "Head"):
            turn = np.r_[1.0, rng.normal(size=3) * 0.8]
            q[skeleton.q_slice(name)] = turn / np.linalg.norm(turn)
        world = rest.with_q(skeleton.legal(q)[0]).world
        goals = [
            Place(n, world[n].positions, world[n].rotations, root="Spine") for n in ("LeftHand", "RightHand", "Head")
        ]
        assert poise.solve(rest, goals).reached


@pytest.mark.parametrize("seed", [2, 3])
def test_a_figure_that_cannot_stand_and_reach(seed):
    rng, hand = np.random.default_rng(600 + seed), RIG.rest.world["LeftHand"].positions
    head = RIG.rest.world["Head"].positions
    goals = [Pin("LeftFoot"), Pin("RightFoot"), Balance()]
    goals += [Position("LeftHand", hand + rng.normal(size=3) * 0.5) for _ in range(2)]
    goals.append(Position("Head", head + rng.normal(size=3) * 0.5))
    result = poise.solve(RIG.rest, goals, free_root=True)
    assert not result.reached
    settled = (
        result.iterations
        - poise.solve(RIG.rest, [g for g in goals if not isinstance(g, Balance)], free_root=True).iterations
    )
    assert settled <= 60
