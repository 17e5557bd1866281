"""Sets of targets: made by forward kinematics, the same for the same seed, and as hard as they say."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.comparison.task import _SAMPLE_COUNT as SAMPLES
from poise.comparison.task import SetSizes, TargetSource, build_target_sets
from poise.io import samples
from poise.maths import rotations
from poise.problem.problem import Problem
from poise.solving.diagnosis import compute_max_violation

pytestmark = pytest.mark.long

SIZES = SetSizes(reachable=30, path=24, extreme=10)
ARM = poise.load(samples.path("arm.urdf"))
FIGURE = poise.load(samples.path("humanoid.bvh"))
CASES = {
    "arm to places": (ARM, poise.Place("tool", (0, 0, 0), (1, 0, 0, 0))),
    "arm to points": (ARM, poise.Position("tool", (0, 0, 0), offset=(0, 0, 0.1))),
    "arm turned": (ARM, poise.Orientation("tool", (1, 0, 0, 0))),
    "hand": (FIGURE, poise.Position("LeftHand", (0, 0, 0), root="LeftArm")),
}


def sets(case, seed=0, clip=None):
    rig, goal = CASES[case]
    problem = Problem(rig.rest.with_q(rig.skeleton.legal(rig.rest.q)[0]), (goal,))
    return problem, goal, build_target_sets(problem, goal, SIZES, seed, clip)


@pytest.mark.parametrize("case", CASES)
def test_every_target_can_be_reached(case):
    problem, goal, found = sets(case)
    for name in ("reachable", "path", "singular", "stretched"):
        if name in found:
            result = poise.solve(
                problem.start, goal.with_target(found[name].rows), tolerance=1e-5, angle_tolerance=1e-5
            )
            assert np.mean(result.reached) >= 0.9, name


@pytest.mark.parametrize("case", CASES)
def test_a_seed_gives_the_same_targets(case):
    first, second, other = (sets(case, seed)[2] for seed in (3, 3, 4))
    for name, one in first.items():
        np.testing.assert_array_equal(one.rows, second[name].rows)
        assert len(one) == len(second[name]) > 1
    assert not np.array_equal(first["reachable"].rows, other["reachable"].rows)


def test_an_orientation_has_nothing_to_stretch_for():
    assert set(sets("arm turned")[2]) == {"reachable", "path", "singular"}


@pytest.mark.parametrize("case", ["arm to places", "hand"])
def test_stretched_targets_are_far_and_leaving_ones_go_farther(case):
    problem, goal, found = sets(case)
    source = TargetSource(problem, goal, np.random.default_rng(0))
    first = problem.start.world[problem.joints[0]].positions
    away = {name: np.linalg.norm(one.rows[:, :3] - first, axis=1) for name, one in found.items()}
    everywhere = source.compute_distances(source.sample_poses(2000))
    assert away["stretched"].min() > np.quantile(everywhere, 0.9)
    assert away["leaving"].max() > everywhere.max()
    assert away["leaving"][0] < away["leaving"].max()
    assert away["leaving"][-1] < away["stretched"].min()


@pytest.mark.parametrize("case", ["arm to places", "arm to points", "arm turned", "hand"])
def test_singular_targets_are_those_of_poses_where_differences_say_so(case):
    problem, goal, found = sets(case)
    source = TargetSource(problem, goal, np.random.default_rng(0))
    anywhere = source.sample_poses(SAMPLES)
    chosen = source.compute_rows(anywhere)[:, None] == found["singular"].rows
    rows = chosen.all(axis=-1).any(axis=1)
    assert rows.sum() == SIZES.extreme
    some = np.flatnonzero(~rows)[:20]
    least = [least_by_differences(source, anywhere[i]) for i in (*np.flatnonzero(rows), *some)]
    assert max(least[: SIZES.extreme]) < min(least[SIZES.extreme :])


def least_by_differences(source, q):
    """The least singular value of the goal's Jacobian by central differences along each degree of freedom."""
    skeleton, way, columns = source.problem.skeleton, 1e-5, []
    for name in source.problem.joints:
        where = skeleton.q_slice(name)
        for axis in range(3 if where.stop - where.start == 4 else 1):
            ends = np.repeat(q[None], 2, axis=0)
            for row, by in zip(ends, (way, -way), strict=True):
                if where.stop - where.start == 4:
                    turn = rotations.from_vector(by * np.eye(3)[axis])
                    row[where] = rotations.multiply(turn, row[where])
                else:
                    row[where] += by
            columns.append(difference(source, *source.compute_rows(ends)) / (2 * way))
    return np.linalg.svd(np.stack(columns, axis=1), compute_uv=False)[-1]


def difference(source, a, b):
    """What leads from row b to row a: a length as a share of the reach, a rotation vector, or both."""
    parts = []
    if len(a) != 4:
        parts.append((a[:3] - b[:3]) / source.length)
    if len(a) != 3:
        parts.append(rotations.as_vector(rotations.multiply(a[-4:], rotations.inverse(b[-4:]))))
    return np.concatenate(parts)


def test_a_long_chain_is_stretched_as_far_as_it_goes():
    n = 20
    offsets = [[0.0, float(i > 0), 0.0] for i in range(n + 1)]
    chain = poise.Skeleton.build(
        [*(f"b{i}" for i in range(n)), "tip"], range(-1, n), [poise.Kind.BALL] * n + [poise.Kind.FIXED], offsets=offsets
    )
    problem = Problem(poise.Pose(chain, chain.rest_q), (poise.Position("tip", (0, 0, 0), root="b0"),))
    found = build_target_sets(problem, problem.goals[0], SIZES, 0)
    assert np.linalg.norm(found["leaving"].rows, axis=1).max() == pytest.approx(1.05 * n, rel=0.01)
    assert np.linalg.norm(found["stretched"].rows, axis=1).min() > 0.9 * n


def test_a_folded_chain_is_stretched_too():
    n = 12
    offsets = [[0.0, float(i > 0), 0.0] for i in range(n + 1)]
    chain = poise.Skeleton.build(
        [*(f"b{i}" for i in range(n)), "tip"], range(-1, n), [poise.Kind.BALL] * n + [poise.Kind.FIXED], offsets=offsets
    )
    q = np.tile(rotations.from_vector(np.array([0.0, 0.0, 2.5])), n)
    problem = Problem(poise.Pose(chain, q), (poise.Position("tip", (0, 0, 0), root="b0"),))
    found = build_target_sets(problem, problem.goals[0], SIZES, 0)
    assert np.linalg.norm(found["leaving"].rows, axis=1).max() > 1.05 * 0.97 * n


@pytest.mark.parametrize("limit", [poise.EulerBox("ZXY", x=(-0.8, 0.8), y=(-0.8, 0.8), z=(-0.8, 0.8)),
                                   poise.SwingTwist((1, 0, 0), swing=(0.8, 0.6), twist=(-0.5, 0.5))])  # fmt: skip
def test_random_poses_fill_the_limits_of_balls(limit):
    skeleton = FIGURE.skeleton.with_limits({"LeftArm": limit})
    goal = poise.Position("LeftHand", (0, 0, 0), root="LeftArm")
    problem = Problem(poise.Pose(skeleton, skeleton.legal(skeleton.rest_q[None])[0][0]), (goal,))
    q = TargetSource(problem, goal, np.random.default_rng(0)).sample_poses(300)
    assert compute_max_violation(skeleton, q) <= 1e-9
    at = skeleton.q_slice("LeftArm")
    out = 0
    for axis in np.eye(3):  # a pose inside can be turned a little any way
        for sign in (-1, 1):
            turned = q.copy()
            turned[:, at] = rotations.multiply(np.tile(rotations.from_vector(sign * 0.02 * axis), (300, 1)), q[:, at])
            out = out | np.array([compute_max_violation(skeleton, one[None]) > 1e-6 for one in turned])
    assert np.mean(out) < 0.4


def test_a_free_root_in_the_chain_turns_and_a_follower_counts_once():
    goal = poise.Position("LeftHand", (0, 0, 0), root=FIGURE.skeleton.names[0])
    source = TargetSource(Problem(FIGURE.rest, (goal,)), goal, np.random.default_rng(0))
    assert source.compute_jacobians(FIGURE.rest.q[None]).shape == (1, 3, 3 * len(source.problem.joints))
    coupled = poise.Skeleton.build(
        ["a", "b", "tip"], [-1, 0, 1], [1, 1, 0], axes=[(0, 0, 1)] * 3, offsets=[[0, 0, 0], [0, 1, 0], [0, 1, 0]],
        couplings=[None, poise.Coupling(0, 2.0, 0.0), None],
    )  # fmt: skip
    tip = poise.Position("tip", (0, 0, 0), root="a")
    one = TargetSource(Problem(poise.Pose(coupled, coupled.rest_q), (tip,)), tip, np.random.default_rng(0))
    assert one.compute_jacobians(coupled.rest_q[None]).shape == (1, 3, 1)


def test_a_clip_of_another_rig_is_refused():
    with pytest.raises(poise.InputError, match="is of another rig"):
        sets("arm to points", clip=FIGURE.clips[0])


def test_a_made_up_path_is_smooth_and_begins_at_the_start():
    problem, goal, _ = sets("arm to points")
    path = build_target_sets(problem, goal, SIZES._replace(path=200), 0)["path"]
    np.testing.assert_array_equal(path.start, problem.start.q)
    here = TargetSource(problem, goal, np.random.default_rng(0)).compute_rows(problem.start.q[None])[0]
    np.testing.assert_allclose(path.rows[0], here, atol=1e-12)
    steps = np.linalg.norm(np.diff(path.rows, axis=0), axis=1)
    assert steps.max() < 0.1 * np.ptp(path.rows, axis=0).max()
    assert path.starts_from_previous


def test_the_path_of_a_clip_is_where_the_clip_has_the_joint():
    clip = FIGURE.clips[0]
    _, _, found = sets("hand", clip=clip)
    path = found["path"]
    count = min(SIZES.path, len(clip))
    assert len(path) == count
    chest = clip.poses[:count].world["LeftShoulder"].matrices
    inside = np.linalg.inv(chest) @ clip.poses[:count].world["LeftHand"].matrices
    still = FIGURE.rest.world["LeftShoulder"].matrices
    np.testing.assert_allclose(path.rows, (still @ inside)[:, :3, 3], atol=1e-9)
    assert clip.name in path.text
