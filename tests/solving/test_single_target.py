"""One target from one start: what is kept between calls must not be what differs between them."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise.problem.problem import Problem
from poise.problem.target_parsing import MAX_COORDINATE
from poise.solving.arguments import find_plain_shape, parse_targets, read_plain_row
from poise.solving.diagnosis import can_start, clamp_start
from tests.contracts.trees import any_problem, some_limits
from tests.strategies import figure, generic_arm, random_q, random_skeleton, rng_of

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS)
def test_a_start_stands_where_a_pose_is_made_of_it_unchanged_and_legal(seed):
    rng = rng_of(seed)
    skeleton = random_skeleton(rng, 6)
    skeleton = some_limits(rng, skeleton, skeleton.rest_q)
    q = random_q(rng, skeleton)
    if rng.random() < 0.5:
        q = skeleton.legal(q)[0]
    pose = poise.Pose(skeleton, q)
    unchanged = np.array_equal(pose.q, q) and clamp_start(pose).clamped_names == ()
    assert can_start(skeleton, np.array(q)) == unchanged
    if len(q):
        q[rng.integers(len(q))] = rng.choice([np.nan, np.inf, -np.inf])
        assert not can_start(skeleton, q)


def test_a_start_whose_rotation_is_not_of_unit_length_does_not_stand():
    skeleton = figure()
    q = np.array(skeleton.rest_q)
    assert can_start(skeleton, q)
    at = skeleton.quaternion_columns[2]
    q[at] *= 1 + 1e-11
    assert not can_start(skeleton, q)
    assert np.array_equal(poise.Pose(skeleton, q).q[at], skeleton.rest_q[at] / np.linalg.norm(skeleton.rest_q[at]))


@given(SEEDS)
def test_plain_targets_are_what_the_goals_make_of_them(seed):
    rng = rng_of(seed)
    requested = any_problem(rng)
    problem = Problem(requested.start, requested.goals)
    aimed = [goal for goal in problem.goals if goal.width]
    plain = find_plain_shape(problem)
    if any(not goal.width and not isinstance(goal, poise.Near) for goal in problem.goals):
        assert plain.widths == ()
        return
    targets = [np.array(goal.rows()).reshape(-1, goal.width)[0] for goal in aimed]
    given_ = targets if len(targets) > 1 else targets[0]
    row = read_plain_row(plain, given_)
    assert row is not None
    assert np.array_equal(row[0], np.concatenate(parse_targets(problem.goals, given_)))
    row[:] = np.nan
    assert all(np.isfinite(target).all() for target in targets), "a copy"
    spoilt = [target.copy() for target in targets]
    which = rng.integers(len(spoilt))
    spoilt[which][rng.integers(len(spoilt[which]))] = rng.choice([np.nan, np.inf, 2 * MAX_COORDINATE])
    spoilt_ = spoilt if len(spoilt) > 1 else spoilt[0]
    found = read_plain_row(plain, spoilt_)
    assert found is None or np.array_equal(found[0], np.concatenate(parse_targets(problem.goals, spoilt_)))


@pytest.mark.parametrize(
    "target",
    [
        [0.1, 0.2, 0.3], np.array([0.1, 0.2]), np.array([1, 2, 3]), np.zeros((1, 3)), "abc", None,
        np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 0, 1]),
    ],
)  # fmt: skip
def test_anything_else_is_left_to_the_goals(target):
    arm = generic_arm()
    problem = Problem(poise.Pose(arm, arm.rest_q), (poise.Position("tool", [0.3, 0.2, 0.4]),))
    assert read_plain_row(find_plain_shape(problem), target) is None


def test_rotations_may_be_matrices():
    arm = generic_arm()
    at = poise.Pose(arm, np.full(6, 0.3)).world["tool"]
    rotation, place = poise.Orientation("tool", at.rotations), poise.Place("tool", at.positions, at.rotations)
    matrix = np.eye(4)
    matrix[:3] = at.matrices[:3]
    for goal, given_ in ((rotation, matrix[:3, :3]), (place, matrix[:3]), (place, matrix)):
        plain = find_plain_shape(Problem(poise.Pose(arm, arm.rest_q), (goal,)))
        found = read_plain_row(plain, given_.copy())
        assert found is not None
        np.testing.assert_allclose(found, goal.rows()[None], atol=1e-12)
        assert read_plain_row(plain, given_.T[:, :-1].copy()) is None
        assert read_plain_row(plain, np.zeros(given_.shape)) is None


@pytest.mark.parametrize("width", [3, 4, 7])
def test_no_rotation_and_no_direction_is_left_to_the_goals(width):
    """A row of zeros: neither a quaternion nor a direction can be made of it."""
    arm = generic_arm()
    goal = {
        3: poise.Direction("tool", [0, 0, 1]),
        4: poise.Orientation("tool", [1, 0, 0, 0]),
        7: poise.Place("tool", [0, 0, 0], [1, 0, 0, 0]),
    }[width]
    problem = Problem(poise.Pose(arm, arm.rest_q), (goal,))
    assert read_plain_row(find_plain_shape(problem), np.zeros(width)) is None
    with pytest.raises(poise.InputError):
        poise.prepare(problem.start, goal)(np.zeros(width))


def test_a_place_may_be_a_pair():
    arm = generic_arm()
    at = poise.Pose(arm, arm.rest_q).world["tool"]
    go = poise.prepare(poise.Pose(arm, arm.rest_q), poise.Place("tool", at.positions, at.rotations), solver="ccd")
    moved = np.array(at.positions) + 0.01
    pair, row = go((moved, np.array(at.rotations))), go(np.concatenate([moved, at.rotations]))
    assert np.array_equal(pair.q, row.q)
    assert np.array_equal(pair.targets, row.targets)


@pytest.mark.parametrize("count", [1, 6])
def test_a_start_outside_its_limits_is_moved_inside_and_reported(count):
    """Whether one joint is outside or all of them."""
    arm = generic_arm(1.0)
    at = poise.Pose(arm, np.full(6, -0.4)).world["tool"]
    row = np.concatenate([at.positions, at.rotations])
    go = poise.prepare(poise.Pose(arm, np.zeros(6)), poise.Place("tool", row[:3], row[3:]))
    outside = np.where(np.arange(6) < count, 1.5, 0.2)
    found = go(row, outside)
    assert found.moved_inside == tuple(f"j{i}" for i in range(count))
    np.testing.assert_array_equal(found.q, go(row, np.minimum(outside, 1.0)).q)


def test_goals_that_read_targets_in_their_own_way_always_do():
    class Below(poise.Position):
        def parse(self, value):
            return super().parse(value) - [0.0, 0.0, 0.1]

    arm = generic_arm()
    problem = Problem(poise.Pose(arm, arm.rest_q), (Below("tool", [0.3, 0.2, 0.4]),))
    assert read_plain_row(find_plain_shape(problem), np.array([0.3, 0.2, 0.4])) is None


@pytest.mark.parametrize("solver", ["levenberg_marquardt", "ccd", "fabrik"])
@pytest.mark.parametrize("made", [generic_arm, figure])
def test_a_result_knows_the_start_that_was_given(made, solver):
    skeleton = made()
    rng = rng_of(3)
    q = skeleton.legal(skeleton.rest_q + 0.0)[0]
    tip = skeleton.names[-1]
    elsewhere = skeleton.legal(random_q(rng, skeleton))[0]
    goal = poise.Position(tip, poise.Pose(skeleton, elsewhere).world[tip].positions)
    go = poise.prepare(poise.Pose(skeleton, q), goal, solver=solver)
    start = poise.Pose(skeleton, skeleton.legal(random_q(rng, skeleton))[0])
    found = go(np.array(goal.target), start=np.array(start.q))
    fresh = poise.solve(start, goal, solver=solver)
    assert np.array_equal(found.q, fresh.q)
    for result in (found, fresh):
        assert np.array_equal(result.problem.start.q, start.q)
        assert np.array_equal(result.blend(0.0).q, start.q)


def test_what_near_prefers_is_not_kept():
    skeleton = figure()
    rest = poise.Pose(skeleton, skeleton.rest_q)
    tip = skeleton.names[-1]
    goal = poise.Position(tip, rest.world[tip].positions + 0.05)
    poses = [poise.Pose(skeleton, skeleton.legal(random_q(rng_of(seed), skeleton))[0]) for seed in (1, 2)]
    alone = [
        poise.solve(poise.Pose(figure(), skeleton.rest_q), [goal, poise.Near(poise.Pose(figure(), p.q))]) for p in poses
    ]
    for _ in range(2):
        for pose, other in zip(poses, alone, strict=True):
            assert np.array_equal(poise.solve(rest, [goal, poise.Near(pose)]).q, other.q)
    assert not np.array_equal(alone[0].q, alone[1].q)


def test_goals_come_back_as_they_were_given():
    skeleton = generic_arm()
    start = poise.Pose(skeleton, skeleton.rest_q)
    for solver in ("auto", "ccd"):
        goals = [poise.Position("tool", [0.3, 0.2, 0.4 + i / 10]) for i in range(3)]
        results = [poise.solve(start, goal, solver=solver) for goal in goals]
        assert all(result.goals == (goal,) for result, goal in zip(results, goals, strict=True))


def test_solvers_that_may_change_are_queried_again():
    @dataclass
    class Settable:
        iterations: int = 0
        name: str = "settable"

        @property
        def handles(self):
            return poise.CCD().handles

        def run(self, *given):
            return poise.CCD(iterations=self.iterations).run(*given)

    skeleton = generic_arm()
    start, goal = poise.Pose(skeleton, skeleton.rest_q), poise.Position("tool", [0.3, 0.2, 0.4])
    solver = Settable()
    assert not poise.solve(start, goal, solver=solver).reached
    solver.iterations = 100
    assert poise.solve(start, goal, solver=solver).reached


def test_a_listener_of_progress_is_not_kept():
    class Reported:
        def __call__(self, done, total, stage):
            pass

    skeleton = generic_arm()
    reported = Reported()
    poise.solve(poise.Pose(skeleton, skeleton.rest_q), poise.Position("tool", [0.3, 0.2, 0.4]), progress=reported)
    gone = weakref.ref(reported)
    del reported
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("how", [{"tolerance": True}, {"free_root": True}, {"prefer": "nicest"}, {"seeds": 3}])
def test_what_was_checked_once_is_checked_again(how):
    skeleton = generic_arm()
    start, goal = poise.Pose(skeleton, skeleton.rest_q), poise.Position("tool", [0.3, 0.2, 0.4])
    poise.solve(start, goal, tolerance=1, free_root=False)
    for _ in range(2):
        with pytest.raises(poise.PoiseError):
            poise.solve(start, goal, **how)
    with pytest.raises(poise.UnknownNameError):
        poise.solve(start, poise.Position("tol", [0.3, 0.2, 0.4]))


@dataclass(frozen=True)
class Listed:
    """A frozen solver with a field that cannot be hashed."""

    steps: list = field(default_factory=lambda: [0])
    name: str = "listed"

    @property
    def handles(self):
        return poise.CCD().handles

    def run(self, *given):
        return poise.CCD(iterations=self.steps[0]).run(*given)


class Steps(poise.CCD):
    """A special case whose values are equal although they do other things."""

    def __init__(self, most):
        super().__init__()
        object.__setattr__(self, "most", most)

    def _pack_options(self, *given):
        options = super()._pack_options(*given)
        options[1] = self.most
        return options


@pytest.mark.parametrize("made", [lambda most: Listed([most]), Steps])
def test_solvers_of_ones_own_are_never_taken_for_each_other(made):
    skeleton = generic_arm()
    start, goal = poise.Pose(skeleton, skeleton.rest_q), poise.Position("tool", [0.3, 0.2, 0.4])
    for _ in range(2):
        assert not poise.solve(start, goal, solver=made(0)).reached
        assert poise.solve(start, goal, solver=made(100)).reached


class Millimetres(poise.Position):
    """A goal of one's own, whose targets are in another unit."""

    def parse(self, value):
        return super().parse(np.asarray(value, dtype=float) / 1000.0)


@pytest.mark.parametrize("solver", ["levenberg_marquardt", "ccd"])
def test_targets_in_a_unit_of_ones_own_are_read_once_everywhere(solver):
    skeleton = generic_arm()
    rest = poise.Pose(skeleton, skeleton.rest_q)
    there = rest.world["tool"].positions + np.array([0.02, -0.01, 0.015])
    goal = Millimetres("tool", 1000.0 * there)
    found = poise.prepare(rest, goal, solver=solver)(1000.0 * there)
    assert found.reached
    assert np.allclose(found.targets, there)
    assert poise.prepare(rest, goal, solver=solver)((1000.0 * there).tolist()).reached
    tracker = poise.Tracker(rest, goal, solver=solver)
    assert tracker(1000.0 * there).errors.max() < 1e-3


def pickled(value):
    return pickle.loads(pickle.dumps(value))  # noqa: S301  (written here)


@pytest.mark.parametrize("copied", [pickled, copy.deepcopy, copy.copy])
@pytest.mark.parametrize("solver", ["auto", "ccd", "fabrik"])
@pytest.mark.parametrize("made", [generic_arm, figure])
def test_what_is_prepared_may_be_copied(made, solver, copied):
    skeleton = made()
    rest, tip = poise.Pose(skeleton, skeleton.legal(skeleton.rest_q)[0]), skeleton.names[-1]
    goal = poise.Position(tip, rest.world[tip].positions + 0.01)
    go, junk = poise.prepare(rest, goal, solver=solver), []
    follow = poise.Tracker(rest, goal, solver=solver, speed=1.0)
    target = np.array(goal.target)
    wanted, shown = go(target).q, follow(target).q
    follow.reset()
    for i in range(20):
        junk.append(np.zeros(i * 13 + 1))
        assert np.array_equal(copied(go)(target).q, wanted)
        assert np.array_equal(copied(follow)(target).q, shown)


def test_what_was_worked_out_is_not_pickled():
    skeleton = generic_arm()
    start, goal = poise.Pose(skeleton, skeleton.rest_q), poise.Position("tool", [0.3, 0.2, 0.4])
    assert len(pickle.dumps(poise.solve(start, goal))) < 20_000


def test_no_caller_can_move_a_tracker_by_what_it_showed():
    skeleton = generic_arm()
    for speed in (None, 0.5):
        rest = poise.Pose(skeleton, skeleton.rest_q)
        follow = poise.Tracker(rest, poise.Position("tool", [0.3, 0.2, 0.4]), speed=speed)
        found = follow(np.array([0.3, 0.2, 0.4]))
        shown = np.array(follow.pose.q)
        with pytest.raises(ValueError, match="read-only"):
            found.q[:] = 0.5
        assert np.array_equal(follow.pose.q, shown)


@pytest.mark.parametrize("index", [(slice(None), 0), (0, 1), (..., None)])
def test_a_batch_of_poses_has_no_other_axes_to_index(index):
    skeleton = figure()
    poses = poise.Pose(skeleton, np.tile(skeleton.rest_q, (3, 1)))
    with pytest.raises(poise.InputError, match="must end with an axis"):
        poses[index]


def test_poses_of_a_batch_cannot_be_written_to():
    skeleton = figure()
    poses = poise.Pose(skeleton, np.tile(skeleton.rest_q, (3, 1)), np.zeros((3, len(skeleton), 3)))
    for pose in (poses[0], poses[1:]):
        assert not pose.q.flags.writeable
        assert not pose.translations.flags.writeable


def test_translations_of_a_free_joint_alone_stand_in_no_plan():
    skeleton = figure()
    root = skeleton.names[0]
    pose = poise.Pose(skeleton, skeleton.rest_q, np.array(skeleton.A[:, :3]))
    turned = poise.Orientation(root, [0.9, 0.1, 0.0, 0.0], root=root)
    assert poise.solve(pose, turned).reached


def test_a_progress_that_is_empty_is_reported_all_the_same():
    class Log(list):
        def __call__(self, *call):
            self.append(call)

    skeleton, log = generic_arm(), Log()
    poise.solve(poise.Pose(skeleton, skeleton.rest_q), poise.Position("tool", [0.3, 0.2, 0.4]), progress=log)
    assert log == [(1, 1, "solving")]


@pytest.mark.parametrize("start", [np.zeros(6, dtype=complex), np.array(["a"] * 6), np.full(6, np.nan), np.zeros(5)])
def test_a_start_that_is_no_configuration_is_reported_in_a_sentence(start):
    skeleton = generic_arm()
    for solver in ("auto", "ccd"):
        go = poise.prepare(
            poise.Pose(skeleton, skeleton.rest_q), poise.Position("tool", [0.3, 0.2, 0.4]), solver=solver
        )
        with pytest.raises(poise.InputError):
            go(np.array([0.3, 0.2, 0.4]), start=start)


def test_scales_that_cancel_out_until_a_joint_between_them_turns():
    """The spine turns for neither goal. Once it is bent, what hangs on it is sheared, and answers are corrected."""
    skeleton = poise.Skeleton.build(
        ["hips", "foot", "waist", "spine", "arm", "elbow", "hand"], [-1, 0, 0, 2, 3, 4, 5], [3, 0, 0, 1, 3, 3, 0],
        offsets=[(0, 0, 0), (1, 0, 0), (0, 0, 0), *[(0, 1, 0)] * 4], axes=[(0, 0, int(i == 3)) for i in range(7)],
        scales=[(1, 1, 1), (1, 1, 1), (1, 2, 1), (2, 1, 2), *[(1, 1, 1)] * 3],
    )  # fmt: skip
    straight = poise.Pose(skeleton, skeleton.rest_q)
    bent = straight.replace({"spine": 0.7})
    there = bent.replace(dict.fromkeys(("hips", "arm", "elbow"), (0.8, 0, 0, -0.6))).world
    goals = [
        poise.Position("hand", there["hand"].positions, root="arm"),
        poise.Position("foot", there["foot"].positions, root="hips"),
    ]
    poise.solve(straight, goals)  # kept, and taken up again from a start that is sheared
    assert poise.solve(bent, goals).reached
