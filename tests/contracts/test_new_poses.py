"""A pose that was never seen gives the bits of one that was prepared, whatever was solved before it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings

import poise
from tests.contracts.problems import PROBLEMS, ROWS, TRIED, accepted, same_bits
from tests.contracts.trees import any_problem, near_q
from tests.strategies import rng_of, seeds

tried_pairs = pytest.mark.parametrize(("problem", "name"), TRIED)


def starts_near(pose, count, seed, moving):
    """Legal configurations near a pose, of which only the joints named differ from it."""
    s = pose.skeleton
    near = near_q(rng_of(seed), s, np.tile(pose.q, (count, 1)), 0.3)
    for joint in set(s.names) - set(moving):
        near[:, s.q_slice(joint)] = pose.q[s.q_slice(joint)]
    return s.legal(near)[0]


def repeat(pose):
    """The same pose on a skeleton that shares nothing with the first, and for which nothing was packed."""
    s = pickle.loads(pickle.dumps(pose.skeleton))  # noqa: S301
    assert s is not pose.skeleton
    return poise.Pose(s, pose.q, pose.translations, pose.scales)


@tried_pairs
def test_prepared_from_another_start(problem, name):
    """Joints that move differ from the pose that was prepared, then all of them, then none."""
    requested = PROBLEMS[problem]
    if not accepted(problem, name):
        return
    reach, s = requested.prepared(name), requested.start.skeleton
    joints = reach.problem.joints
    starts = [q for moving in (joints, s.names, ()) for q in starts_near(requested.start, 2, 3, moving)]
    for row, q in enumerate(starts):
        fresh = requested.solved(name, row, requested.start.with_q(q))
        found = reach(requested.targets(row), start=q)
        same_bits(found, fresh)
        assert (found.message(), found.moved_inside) == (fresh.message(), fresh.moved_inside)


@tried_pairs
def test_prepared_from_its_own_start(problem, name):
    requested = PROBLEMS[problem]
    if accepted(problem, name):
        reach = requested.prepared(name)
        for row in (0, 3, ROWS - 1):
            fresh = requested.solved(name, row, requested.start.with_q(requested.start.q))
            same_bits(reach(requested.targets(row)), fresh)
            same_bits(reach(requested.targets(row), start=requested.start.q.tolist()), fresh)


@tried_pairs
def test_a_start_outside_its_limits(problem, name):
    """It is moved inside and named, prepared or not."""
    requested, s = PROBLEMS[problem], PROBLEMS[problem].start.skeleton
    bent = s.legal(rng_of(5).normal(size=s.nq) * 9.0)[1]
    if bent and accepted(problem, name):
        q = poise.Pose(s, rng_of(5).normal(size=s.nq) * 9.0).q
        fresh, found = (
            requested.solved(name, 0, requested.start.with_q(q)),
            requested.prepared(name)(requested.targets(0), start=q),
        )
        same_bits(found, fresh)
        assert found.moved_inside == fresh.moved_inside == bent


@tried_pairs
def test_a_skeleton_that_was_never_used(problem, name):
    requested = PROBLEMS[problem]
    known = requested.solved(name, 2)
    if known is not None:
        same_bits(requested.solved(name, 2, repeat(requested.start)), known)


@pytest.mark.long
@pytest.mark.parametrize("name", ["levenberg_marquardt", "damped_least_squares", "ccd", "fabrik", "two_bone"])
def test_what_is_remembered_of_other_goals_is_not_used(name):
    """One skeleton, goals that differ in one thing: each gives the bits of being the first that was asked."""
    start = PROBLEMS["a leg"].start
    at, knee = start.world["LeftFoot"], start.world["LeftLeg"].positions
    point = at.positions + np.array([0.05, 0.2, 0.1])
    ahead, plain = point + np.array([1.0, 0.5, 2.0]), poise.Position("LeftFoot", point)
    wanted = [
        [plain],
        *([poise.Position("LeftFoot", point, offset=offset)] for offset in ((0, 0.125, 0), (0.25, 0, 0))),
        *([poise.Position("LeftFoot", point, root=root)] for root in ("LeftLeg", "LeftUpLeg", "Hips")),
        *([poise.Position(joint, point)] for joint in ("LeftLeg", "LeftToe", "RightFoot")),
        *([poise.Aim("LeftFoot", ahead, axis=axis)] for axis in np.eye(3)),
        *([poise.Aim("LeftFoot", ahead, axis=(0, 1, 0), offset=offset)] for offset in ((0, 0.125, 0), (0.25, 0, 0))),
        *([poise.LookAt("Head", ahead, over={"Neck": share, "Head": 1})] for share in (1, 2)),
        *([plain, poise.Pole("LeftLeg", knee + way)] for way in np.eye(3)),
        *([poise.Pole("Spine", ahead, root="Hips", tip=tip)] for tip in ("Chest", "Neck")),
        *([plain, poise.Near(pose)] for pose in (start, poise.Pose(start.skeleton, start.skeleton.rest_q))),
        [poise.Place("LeftFoot", point, at.rotations)],
        [poise.Position("LeftFoot", point, weight=2.0), poise.Direction("LeftFoot", (0, 1, 0), axis=(0, 1, 0))],
        [plain, poise.Pin("RightFoot"), poise.Position("LeftHand", ahead)],
    ]  # fmt: skip
    taken = 0
    for goals in [*wanted, *wanted[::-1]]:
        try:
            first = poise.solve(repeat(start), goals, solver=name)
        except poise.UnsupportedError:
            continue
        same_bits(poise.solve(start, goals, solver=name), first)
        taken += 1
    assert taken >= 6


@given(seed=seeds)
@settings(max_examples=25)
def test_any_goals_of_any_tree(seed):
    rng = rng_of(seed)
    requested = any_problem(rng)
    name = ("levenberg_marquardt", "damped_least_squares")[seed % 2 if len(requested.goals) == 1 else 0]
    reach = requested.prepared(name)
    for row, q in enumerate(near_q(rng, requested.start.skeleton, np.tile(requested.start.q, (3, 1)), 0.3)):
        found = reach(requested.targets(row), start=q)
        same_bits(found, requested.solved(name, row, requested.start.with_q(q)))
