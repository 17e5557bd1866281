"""Closed loops that solves hold: linkages, a Stewart platform and a leg after Cassie's, against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import rotations
from poise.model.loop_gaps import compute_gaps
from tests import loop_models
from tests.strategies import rng_of
from tests.workload import amount

COUNT = amount(300, 20_000)
CLOSED = 1e-9  # [m, rad]


def load_model(folder, text):
    path = folder / "model.xml"
    path.write_text(text, encoding="utf-8")
    return poise.load(path)


@pytest.fixture
def four_bar(tmp_path):
    return load_model(tmp_path, loop_models.four_bar())


def largest_gaps(skeleton, q):
    gaps = compute_gaps(skeleton, q)
    return np.maximum(gaps.distances, gaps.angles).max(axis=-1)


def point_goal(skeleton, q, joint, offset):
    world = poise.Pose(skeleton, q).world[joint]
    return poise.Position(joint, world.affine[..., :3] @ np.array(offset) + world.affine[..., 3], offset=offset)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_four_bar_is_its_closed_form_on_both_branches(four_bar, side):
    """The crank moves by steps; each answer starts from the last, through all of its turn."""
    skeleton = four_bar.skeleton
    angles = np.linspace(0.9, 0.9 + 2 * np.pi, 200)
    q = np.array([loop_models.four_bar_q(angle, side=side) for angle in angles])
    pose = poise.Pose(skeleton, q[0])
    for truth in q[1:]:
        result = poise.solve(pose, point_goal(skeleton, truth, "b", (0.1, 0.0, 0.05)), tolerance=1e-11)
        assert result.reached
        assert np.abs((result.q - truth + np.pi) % (2 * np.pi) - np.pi).max() < CLOSED
        pose = result.pose


def test_reached_poses_are_closed_and_known_places_are_found(four_bar):
    skeleton = four_bar.skeleton
    angles = rng_of(0).uniform(-1.5, 1.5, COUNT) + loop_models.FOUR_BAR_REST
    q = np.array([loop_models.four_bar_q(angle) for angle in angles])
    result = poise.solve(four_bar.rest, point_goal(skeleton, q, "b", (0.1, 0.0, 0.05)))
    assert result.reached.all()
    assert largest_gaps(skeleton, result.q).max() <= CLOSED
    assert set(result.joints) == {"a", "b", "c"}  # the rocker is passive


def test_a_stewart_platform_finds_its_legs(tmp_path):
    """Six loops; the places of the platform and the lengths of its legs are known by formula."""
    rig = load_model(tmp_path, loop_models.stewart())
    skeleton, rng = rig.skeleton, rng_of(1)
    shifts, turns = rng.uniform(-0.08, 0.08, (COUNT, 3)), rotations.from_vector(rng.normal(size=(COUNT, 3)) * 0.12)
    q = np.array([loop_models.stewart_q(shift, turn) for shift, turn in zip(shifts, turns, strict=True)])
    world = poise.Pose(skeleton, q).world["tool"]
    result = poise.solve(
        rig.rest, poise.Place("tool", world.positions, world.rotations), tolerance=1e-10, angle_tolerance=1e-10
    )
    assert result.reached.all()
    assert largest_gaps(skeleton, result.q).max() <= CLOSED
    legs = [int(skeleton.q_start[skeleton.index(f"slide{i}")]) for i in range(6)]
    assert np.abs(result.q[:, legs] - q[:, legs]).max() < 2e-9


@pytest.mark.parametrize("name", sorted(loop_models.MODELS))
def test_places_of_closed_poses_are_found_again(tmp_path, name):
    """The truths are other closed poses: the answers for targets far off, which keep the loops closed."""
    rig = load_model(tmp_path, loop_models.MODELS[name]())
    skeleton, rng = rig.skeleton, rng_of(2)
    tip = {"four_bar": "tip", "five_bar": "tip_b", "stewart": "tool", "cassie_leg": "toe"}[name]
    root = {"cassie_leg": "roll"}.get(name)
    origin = rig.rest.world[tip].positions
    away = poise.Position(tip, origin + rng.uniform(-0.15, 0.15, (COUNT, 3)), root=root)
    missed = poise.solve(rig.rest, away)
    gaps = largest_gaps(skeleton, missed.q)
    assert not (missed.reached & (gaps > CLOSED)).any()
    assert (gaps <= CLOSED).mean() > 0.98
    truth = missed.q[gaps <= CLOSED]
    goal = poise.Position(tip, poise.Pose(skeleton, truth).world[tip].positions, root=root)
    found = poise.solve(rig.rest, goal)
    assert found.reached.mean() > 0.99
    assert largest_gaps(skeleton, found.q)[found.reached].max() <= CLOSED


def test_a_start_that_is_open_is_closed(four_bar):
    skeleton = four_bar.skeleton
    open_pose = poise.Pose(skeleton, skeleton.rest_q + np.array([0.0, 0.2, 0.3]))
    assert largest_gaps(skeleton, open_pose.q) > 0.03
    truth = loop_models.four_bar_q(1.2)
    result = poise.solve(open_pose, point_goal(skeleton, truth, "b", (0.1, 0.0, 0.05)))
    assert result.reached
    assert largest_gaps(skeleton, result.q) <= CLOSED
    gap = largest_gaps(skeleton, open_pose.q)
    assert f"the loop 'rod' of 'b' and 'c', open by {1e3 * gap:.3g} mm at the start, is closed" in result.message()
    assert "at the start" not in poise.solve(four_bar.rest, point_goal(skeleton, truth, "b", (0.1, 0, 0.05))).message()


def test_a_target_out_of_reach_opens_no_loop(four_bar):
    goal = poise.Position("b", (3.0, 0.0, 1.0), offset=(0.1, 0.0, 0.05))
    result = poise.solve(four_bar.rest, goal)
    assert not result.reached
    assert largest_gaps(four_bar.skeleton, result.q) <= CLOSED


def test_same_bits_alone_in_a_batch_and_prepared(four_bar):
    skeleton = four_bar.skeleton
    q = np.array([loop_models.four_bar_q(angle) for angle in np.linspace(0.2, 1.6, 20)])
    goal = point_goal(skeleton, q, "b", (0.1, 0.0, 0.05))
    batch, prepared = poise.solve(four_bar.rest, goal, threads=2), poise.prepare(four_bar.rest, goal)
    for i in range(20):
        assert np.array_equal(poise.solve(four_bar.rest, goal.with_target(goal.target[i])).q, batch.q[i])
        assert np.array_equal(prepared(goal.target[i]).q, batch.q[i])


@pytest.mark.parametrize("prefer", ["closest", "all"])
def test_other_answers_hold_the_loops(four_bar, prefer):
    skeleton = four_bar.skeleton
    goal = point_goal(skeleton, loop_models.four_bar_q(1.3), "b", (0.1, 0.0, 0.05))
    result = poise.solve(four_bar.rest, goal, prefer=prefer)
    assert result.reached
    assert largest_gaps(skeleton, result.q) <= CLOSED
    if prefer == "all":
        assert (
            largest_gaps(skeleton, result.solutions.q if hasattr(result.solutions, "q") else result.solutions).max()
            <= CLOSED
        )


def test_joints_outside_the_ring_leave_the_loop_alone(tmp_path):
    """Only loops whose ring has a moving joint take part."""
    rig = load_model(tmp_path, loop_models.cassie_leg())
    goal = poise.Position("achilles", rig.rest.world["achilles"].positions, root="roll")
    assert "tarsus" not in poise.solve(rig.rest, goal).joints
