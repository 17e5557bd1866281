"""Goals with a target in the frame of another joint."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from poise import rotations
from poise.errors import InputError, UnknownNameError, UnsupportedError
from poise.io import samples
from tests.strategies import random_q, random_skeleton, rng_of, seeds, straight_chain

KINDS = ["position", "offset", "orientation", "place", "direction", "aim"]
X = np.array([1.0, 0.0, 0.0])


def frame_of(pose, joint):
    """Affine map and rotation of a joint in the world."""
    transform = pose.world[joint]
    return transform.affine, transform.rotations


def relative_goal(kind, pose, joint, reference, **fields):
    """A goal of a kind that a pose meets, from world transforms alone."""
    (tip, tip_rotation), (base, base_rotation) = frame_of(pose, joint), frame_of(pose, reference)
    offset = np.array([0.2, -0.1, 0.3]) if kind == "offset" else np.zeros(3)
    point = np.linalg.solve(base[..., :3], (tip[..., :3] @ offset + tip[..., 3] - base[..., 3])[..., None])[..., 0]
    rotation = rotations.multiply(rotations.inverse(base_rotation), tip_rotation)
    axis = rotations.rotate(rotation, X)
    fields["relative_to"] = reference
    if kind in ("position", "offset"):
        return poise.Position(joint, point, offset=offset, **fields)
    if kind == "orientation":
        return poise.Orientation(joint, rotation, **fields)
    if kind == "place":
        return poise.Place(joint, point, rotation, **fields)
    if kind == "direction":
        return poise.Direction(joint, axis, axis=X, **fields)
    ray_end = tip[..., 3] + np.abs(np.ptp(pose.world.positions)) * rotations.rotate(tip_rotation, X)
    return poise.Aim(joint, np.linalg.solve(base[..., :3], ray_end - base[..., 3]), axis=X, **fields)


def near(rng, skeleton, q, moving, size):
    """The configuration with some joints moved by a little."""
    q = q.copy()
    for joint in moving:
        row = skeleton.index(joint)
        start, kind = skeleton.q_start[row], skeleton.kinds[row]
        if kind in (1, 2):
            q[start] += rng.uniform(-size, size)
        elif kind == 3:
            turn = rotations.from_vector(rng.normal(size=3) * size)
            q[start : start + 4] = rotations.multiply(q[start : start + 4], turn)
    return q


@pytest.mark.long
@given(seeds, st.sampled_from(KINDS))
@settings(max_examples=150)
def test_a_pose_is_found_again_from_nearby(seed, kind):
    """Joints of all kinds, couplings, mirrored and other scales, on both sides of the common ancestor."""
    rng = rng_of(seed)
    s = random_skeleton(rng, 9)
    joint, reference = (s.names[i] for i in rng.choice(len(s.names), 2, replace=False))
    truth = poise.Pose(s, random_q(rng, s))
    goal = relative_goal(kind, truth, joint, reference)
    moving = poise.solve(truth, goal, solver="levenberg_marquardt").joints
    start = poise.Pose(s, near(rng, s, truth.q, moving, 0.05))
    result = poise.solve(start, goal, solver="levenberg_marquardt", tolerance=1e-7, angle_tolerance=1e-7)
    assert result.reached
    # both frames of the answer, from its world transforms: the same goal again
    again = relative_goal(kind, result.pose, joint, reference)
    if kind in ("position", "offset", "place"):
        assert np.abs(again.rows()[..., :3] - goal.rows()[..., :3]).max() < 2e-7
    elif kind == "direction":
        assert np.abs(again.direction - goal.direction).max() < 2e-7
    common = set(s.list_path(s.index(joint))) & set(s.list_path(s.index(reference)))
    assert not common & {s.index(name) for name in result.joints if not s.couplings[s.index(name)]} or any(s.couplings)


@pytest.mark.parametrize("kind", KINDS)
def test_a_still_reference_gives_the_answer_of_the_world_goal(kind):
    """The joints on the other side keep still: the pose is that of a goal with the target in the world."""
    skeleton = straight_chain(6, length=0.3)
    rng = rng_of(3)
    start = poise.Pose(skeleton, near(rng, skeleton, skeleton.rest_q, skeleton.names, 0.3))
    truth = poise.Pose(skeleton, near(rng, skeleton, start.q, skeleton.names[2:], 0.2))
    relative = relative_goal(kind, truth, "tip", "j1", follow=True)
    affine, rotation = frame_of(start, "j1")
    rows = relative.rows()
    world = dataclasses.replace(relative, relative_to=None, follow=False, root="j2")
    if kind == "orientation":
        world = world.with_target(rotations.multiply(rotation, rows))
    elif kind == "direction":
        world = world.with_target(rotations.rotate(rotation, rows))
    elif kind == "place":
        world = world.with_target((affine[:, :3] @ rows[:3] + affine[:, 3], rotations.multiply(rotation, rows[3:])))
    else:
        world = world.with_target(affine[:, :3] @ rows + affine[:, 3])
    options = {"solver": "levenberg_marquardt", "tolerance": 1e-10, "angle_tolerance": 1e-10}
    first, second = poise.solve(start, relative, **options), poise.solve(start, world, **options)
    assert first.reached
    assert second.reached
    assert np.abs(first.q - second.q).max() < 1e-9


def two_hands(count, seed=0):
    """The bundled figure, its start, and goals of one hand in the frame of the other that poses meet."""
    rig = poise.load(samples.path("humanoid.glb"))
    s, rng = rig.skeleton, rng_of(seed)
    arms = [f"{side}{bone}" for side in ("Left", "Right") for bone in ("Arm", "ForeArm", "Hand")]
    q = np.array([near(rng, s, rig.rest.q, arms, 0.4) for _ in range(count)])
    truth = poise.Pose(s, q)
    tip, base = truth.world["LeftHand"], truth.world["RightHand"]
    turn = rotations.inverse(base.rotations)
    position = rotations.rotate(turn, tip.positions - base.positions)
    return rig, poise.Place("LeftHand", position, rotations.multiply(turn, tip.rotations), relative_to="RightHand")


def test_two_hands_keep_a_box_between_them():
    rig, goal = two_hands(300)
    result = poise.solve(rig.rest, goal, tolerance=1e-6, angle_tolerance=1e-6)
    assert result.reached.all()
    moved = {
        name
        for name in result.joints
        if not np.array_equal(
            result.pose.local_rotations[..., rig.skeleton.index(name), :],
            np.broadcast_to(rig.rest.local_rotations[rig.skeleton.index(name)], (300, 4)),
        )
    }
    assert {"LeftArm", "RightArm"} <= moved
    assert not {"Chest", "Spine", "Hips"} & moved


def test_a_moving_cart_changes_nothing():
    """The root moves both hands: their goal, and the joints of the answer, are the same."""
    rig, goal = two_hands(20)
    s = rig.skeleton
    turned = np.array(rig.rest.q)
    start = s.q_start[0] + (3 if s.kinds[0] == 4 else 0)
    turned[start : start + 4] = rotations.about(np.array([0.0, 1.0, 0.0]), 1.0)
    first, second = poise.solve(rig.rest, goal), poise.solve(poise.Pose(s, turned), goal)
    columns = [c for c in range(s.nq) if not start <= c < start + 4]
    assert np.abs(first.q[:, columns] - second.q[:, columns]).max() < 1e-9


def test_same_bits_alone_in_a_batch_and_prepared():
    rig, goal = two_hands(20)
    batch = poise.solve(rig.rest, goal, threads=2)
    prepared = poise.prepare(rig.rest, goal)
    for i in range(20):
        single = poise.solve(rig.rest, goal.with_target(goal.rows()[i]))
        assert np.array_equal(single.q, batch.q[i])
        assert np.array_equal(single.errors, batch.errors[i])
        assert np.array_equal(prepared((goal.position[i], goal.rotation[i])).q, batch.q[i])
    starts = poise.Pose(rig.skeleton, np.repeat(rig.rest.q[None], 20, axis=0))
    assert np.array_equal(poise.solve(starts, goal).q, batch.q)


@pytest.mark.parametrize(
    "solver", ["damped_least_squares", "pseudo_inverse", "selectively_damped", "jacobian_transpose"]
)
def test_jacobian_methods_take_relative_goals(solver):
    rig, goal = two_hands(5)
    goal = poise.Position("LeftHand", goal.position, relative_to="RightHand")
    assert poise.solve(rig.rest, goal, solver=solver).reached.all()


@pytest.mark.parametrize("solver", ["ccd", "fabrik", "two_bone", "autodiff"])
def test_other_methods_refuse_with_a_sentence(solver):
    rig, _ = two_hands(1)
    goal = poise.Position("LeftHand", (0, 0, 0.1), relative_to="RightHand")
    with pytest.raises(UnsupportedError, match="relative_to"):
        poise.solve(rig.rest, goal, solver=solver)


def test_wrong_references_are_refused():
    rig, _ = two_hands(1)
    with pytest.raises(InputError, match="relative to the joint itself"):
        poise.Position("LeftHand", (0, 0, 0), relative_to="LeftHand")
    with pytest.raises(InputError, match="needs relative_to"):
        poise.Position("LeftHand", (0, 0, 0), follow=True)
    with pytest.raises(InputError, match="name of a joint"):
        poise.Position("LeftHand", (0, 0, 0), relative_to=3)
    with pytest.raises(UnknownNameError, match="RightHnd"):
        poise.solve(rig.rest, poise.Position("LeftHand", (0, 0, 0), relative_to="RightHnd"))
    circle = [
        poise.Position("LeftHand", (0, 0, 0.1), relative_to="RightHand"),
        poise.Position("RightHand", (0, 0, 0.1), relative_to="Head"),
        poise.Direction("Head", (0, 0, 1), relative_to="LeftHand"),
    ]
    with pytest.raises(InputError, match="in a circle"):
        poise.solve(rig.rest, circle)
    assert poise.solve(rig.rest, circle[:2]).status is not None


def test_a_missed_goal_is_told_in_the_frame_of_its_reference():
    """The joints above both hands move both alike: no message asks for them."""
    rig, _ = two_hands(1)
    far = poise.Position("LeftHand", (0, 0, -3), relative_to="RightHand")
    result = poise.solve(rig.rest, far)
    assert f"{result.length(result.errors[0])} in the frame of 'RightHand' left" in str(result)
    assert "stood still" not in str(result)
    free = poise.solve(rig.rest, poise.Orientation("LeftHand", (1, 0, 0, 0), relative_to="RightHand"))
    assert "in the frame of" not in str(free)  # angles are those of the world
    fixed = poise.solve(rig.rest, poise.Position("LeftHand", (0, 0, 0), relative_to="LeftArm"))
    assert fixed.status == poise.Status.over_constrained
    assert "stood still" not in str(fixed)
    pair = poise.solve(rig.rest, [far, poise.Position("LeftFoot", (0, 30, 0))])
    assert "in the frame of" not in str(pair)  # the largest distance is that of the foot


def test_differentiable_residuals_refuse_with_a_sentence():
    pytest.importorskip("jax")
    import poise.jax

    rig, _ = two_hands(1)
    goal = poise.Position("LeftHand", (0, 0, 0.1), relative_to="RightHand")
    with pytest.raises(UnsupportedError, match="relative_to"):
        poise.jax.residual(rig.rest, goal)
