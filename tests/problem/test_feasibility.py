"""What lengths alone allow: no place that some pose reaches is ever called out of reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import poise
from poise import CCD, Direction, Kind, LevenbergMarquardt, Place, Position, Range, Status
from poise.maths import rotations
from poise.problem.feasibility import find_unreachable, pull_inside_reach
from poise.problem.problem import Problem, Tolerance
from tests.reference import slow_kinematics
from tests.strategies import random_q, random_skeleton, rng_of, seeds

AXES = np.eye(3)


def gantry(*, unit=1.0, tip=False, ranges=((0, 2), (0, 1), (-1, 0)), offset=0.0):
    """Three slides along x, y and z, and maybe a tool."""
    limits = [Range(low * unit, high * unit) for low, high in ranges]
    names, kinds = ["x", "y", "z"], [Kind.SLIDE] * 3
    return poise.Skeleton.build(
        [*names, "tool"] if tip else names,
        range(-1, 3 if tip else 2),
        [*kinds, Kind.FIXED] if tip else kinds,
        offsets=offset * unit * np.ones((4 if tip else 3, 3)),
        axes=[*AXES, np.zeros(3)] if tip else AXES,
        limits=[*limits, None] if tip else limits,
    )


def rest(skeleton):
    return poise.Pose(skeleton, skeleton.rest_q)


@pytest.mark.parametrize("root", [None, "x"])
@pytest.mark.parametrize("solver", ["auto", "ccd", "levenberg_marquardt", "damped_least_squares"])
def test_the_last_slide_of_a_gantry_moves_itself(solver, root):
    """A slide moves its own origin, unlike a joint that turns."""
    s = gantry()
    for target in ([1.2, 0.5, -0.5], [2, 1, -1], [0.1, 0.1, -0.9]):
        result = poise.solve(rest(s), Position("z", target, root=root), solver=solver)
        assert result.status is Status.reached, result.message()
        np.testing.assert_allclose(slow_kinematics.world(s, result.q)[2][:3, 3], target, atol=1e-6)


def test_a_slide_alone():
    s = poise.Skeleton.build(["rail"], [-1], [Kind.SLIDE], axes=[(0, 0, 1)], limits=[Range(-3, -1)])
    assert poise.solve(rest(s), Position("rail", [0, 0, -2])).reached
    assert poise.solve(rest(s), Position("rail", [0, 0, -2], root="rail")).reached
    assert poise.solve(rest(s), Position("rail", [0, 0, -0.5])).status is Status.limited
    assert poise.solve(rest(s), Position("rail", [0, 0, -5])).status is Status.out_of_reach


def test_a_turn_that_something_constant_follows_moves_its_origin():
    """B with a length: the joint's own origin goes round its axis."""
    s = poise.Skeleton.build(["crank"], [-1], [Kind.HINGE], axes=[(0, 0, 1)])
    b = s.B.copy()
    b[0, 0, 3] = 2.0
    s = replace(s, B=b)
    assert poise.solve(rest(s), Position("crank", [0, 2, 0])).reached


def test_what_nothing_moves_stands_where_it_stands():
    """A mark beside the arm that is met as it is, is not what is out of reach."""
    s = poise.Skeleton.build(
        ["base", "mark", "rail", "tip"], [-1, 0, 0, 2], [0, 0, Kind.SLIDE, 0],
        offsets=[(1, 0, 0), (0, 2, 0), (0, 0, 0), (0, 0, 1)], rotations=[(0.6, 0.8, 0, 0)] + [(1, 0, 0, 0)] * 3,
        axes=[(1, 0, 0)] * 4, limits=[None, None, Range(0, 1), None],
    )  # fmt: skip
    start = rest(s)
    at = {name: start.world[name].positions for name in ("mark", "tip")}
    wanted = [Position("mark", at["mark"]), Position("tip", at["tip"] + np.array((-0.2, 0, 0)))]
    assert poise.solve(start, wanted).status is Status.limited
    wanted = [Position("mark", at["mark"], offset=(0.1, 0.2, 0.3)), wanted[1]]
    result = poise.solve(start, wanted)
    assert result.status is Status.out_of_reach
    assert "the target of 'mark' is 0.3742 beyond the longest reach of 0" in result.message()


@pytest.mark.parametrize("last", [True, False])
def test_of_several_goals_the_position_alone_is_pulled_into_reach(last):
    """Lengths may be off by a share of themselves, since scale is not uniform: the target stands well within two."""
    s = poise.Skeleton.build(
        ["a", "b", "tip"], [-1, 0, 1], [3, 3, 0], offsets=[(0, 0, 0), (0, 1, 0), (0, 1, 0)],
        scales=[(1.02, 1, 1), (1, 1, 1.01), (1, 1, 1)],
    )  # fmt: skip
    far, way = (3.0, 0.0, 4.0), (0.0, 0.0, 1.0)
    goals = [Direction("tip", way), Position("tip", far)] if last else [Position("tip", far), Direction("tip", way)]
    problem = Problem(rest(s), tuple(goals))
    found = np.split(pull_inside_reach(problem, problem.build_target_rows([goal.rows() for goal in goals], ()))[0], 2)
    point, turned = found[::-1] if last else found
    np.testing.assert_array_equal(turned, way)
    np.testing.assert_allclose(point / np.linalg.norm(point), np.divide(far, 5.0), atol=1e-12)
    assert 1.7 < np.linalg.norm(point) < 2.0


# --- by search -----------------------------------------------------------------------------------------------------


def limits_of_slides(rng, skeleton):
    """Ranges for most slides and hinges: on either side of zero, with one end or both."""
    limits = {}
    for name in skeleton.names:
        joint = skeleton[name]
        if joint.kind in (Kind.HINGE, Kind.SLIDE) and joint.coupling is None and rng.random() < 0.8:
            low, high = np.sort(rng.uniform(-2, 2, size=2))
            one_sided = joint.kind == Kind.SLIDE and rng.random() < 0.2
            limits[name] = Range(-np.inf if one_sided else low, high)
    return skeleton.with_limits(limits)


def moving(skeleton, root, tip, offset):
    """From the definition: all joints from the root to the tip, the tip where its own motion moves the point."""
    rows = [skeleton.index(name) for name in (*skeleton.chain(root, tip), tip)]
    return rows if offset.any() or skeleton[tip].kind == Kind.SLIDE else rows[:-1]


def tried(rng, skeleton, q, row, amount):
    """A legal configuration that differs from q in one joint."""
    q, start = q.copy(), skeleton.q_start[row]
    if skeleton.kinds[row] in (Kind.HINGE, Kind.SLIDE):
        ends = [end for end in skeleton.value_ranges[start] if np.isfinite(end)]
        q[start] = rng.choice(ends) if ends and rng.random() < 0.5 else q[start] + amount * rng.normal()
    elif skeleton.kinds[row] in (Kind.BALL, Kind.FREE):
        where = slice(start + (3 if skeleton.kinds[row] == Kind.FREE else 0), None)
        turn = rotations.from_vector(amount * rng.normal(size=3))
        q[where][:4] = rotations.multiply(turn, q[where][:4])
    return skeleton.legal(q)[0]


def searched(rng, skeleton, q, rows, distance, steps=25):
    """The configuration with the largest distance that trying one joint after the other finds."""
    best, most = q, distance(q)
    for step in range(steps if rows else 0):
        other = tried(rng, skeleton, best, int(rng.choice(rows)), 2.0 * 0.9**step)
        found = distance(other)
        if found > most:
            best, most = other, found
    return best


@pytest.mark.long
@settings(max_examples=40)
@given(seed=seeds)
def test_what_a_pose_reaches_is_never_out_of_reach(seed):
    """Any tree with slides, couplings and scales of either sign; poses at random, stretched and folded by search."""
    rng = rng_of(seed)
    s = limits_of_slides(rng, random_skeleton(rng, 6, kinds=(0, 1, 2, 2, 3, 4)))
    start = poise.Pose(s, s.legal(random_q(rng, s))[0])
    tip = s.names[-1]
    root = None if rng.random() < 0.3 else rng.choice(s.ancestors(tip) or [None])
    offset = rng.normal(size=3) * (rng.random() < 0.5)
    rows = moving(s, root, tip, offset)

    def point(q):
        m = slow_kinematics.world(s, q)[-1]
        return m[:3, :3] @ offset + m[:3, 3]

    origin = slow_kinematics.world(s, start.q)[rows[0] if rows else -1][:3, 3]
    a = start.q
    for row in 3 * rows:
        a = tried(rng, s, a, row, 2.0)
    reached = [
        a,
        searched(rng, s, a, rows, lambda q: np.linalg.norm(point(q) - origin)),
        searched(rng, s, a, rows, lambda q: -np.linalg.norm(point(q) - origin)),
        searched(rng, s, start.q, rows, lambda q: -np.linalg.norm(point(q) - point(a))),
    ]
    wanted = np.array([point(q) for q in reached])
    for goal in (Position(tip, wanted, offset=offset, root=root), Place(tip, wanted, [1, 0, 0, 0], offset=offset)):
        if goal.root != root and root is not None:
            continue  # without a root fewer joints may move
        problem = Problem(start, (goal,))
        found = find_unreachable(
            problem, goal.rows(), Tolerance(1e-9 * max(problem.plan.kernel_unit_in_world, 1.0), 1e-9)
        )
        np.testing.assert_array_equal(found, 0)
        for solver in (CCD(iterations=0), LevenbergMarquardt(iterations=0)):
            try:
                codes = poise.solve(start, goal, solver=solver).codes
            except poise.UnsupportedError:
                continue  # CCD moves one joint at a time: none that are coupled
            assert not (codes == Status.out_of_reach).any()


# --- units ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tip", [False, True])
@pytest.mark.parametrize("offset", [0.0, 0.1])
@pytest.mark.parametrize("single", [True, False])
def test_the_status_is_the_same_in_any_unit(single, offset, tip):
    """In millimetres, metres, kilometres and beyond: reached, limited, stalled, out of reach."""
    targets = np.array([
        [1.2, 0.5, -0.5], [2.1, 0.5, -0.5], [1.2, 0.5, 0.35], [0.3, 1.4, -1.2], [9, 9, 9], [2, 1, -1]
    ])  # fmt: skip
    turns = np.tile([0.8, 0.6, 0, 0], (6, 1))
    for make in (Position, lambda name, at: Place(name, at, turns if at.ndim > 1 else turns[0])):
        observed = []
        for unit in (1.0, 1e-6, 1e-3, 1e3, 1e6, 1e9, 1e-9):
            s = gantry(unit=unit, tip=tip, offset=offset)
            rows = targets * unit
            goals = [make(s.names[-1], row) for row in rows] if single else [make(s.names[-1], rows)]
            results = [poise.solve(rest(s), goal, tolerance=1e-6 * unit) for goal in goals]
            observed.append([code for result in results for code in np.ravel(result.codes).tolist()])
        assert all(codes == observed[0] for codes in observed), observed


def test_a_slide_near_its_end_is_not_at_it_in_any_unit():
    """A ten thousandth of its length away from the end: the joint could still move, and does not block."""
    for unit in (1.0, 1e-3, 1e-6, 1e-9, 1e6):
        s = poise.Skeleton.build(
            ["rail", "tip"], [-1, 0], [Kind.SLIDE, Kind.FIXED], offsets=[(0, 0, 0), (0, unit, 0)],
            axes=[(1, 0, 0), (0, 0, 0)], limits=[Range(0, unit), None],
        )  # fmt: skip
        start = poise.Pose(s, [unit * (1 - 1e-4)])
        result = poise.solve(start, Position("tip", [unit * (1 - 1e-4), 0.8 * unit, 0]), tolerance=1e-6 * unit)
        assert result.status is Status.over_constrained, (unit, result.message())


@given(seed=seeds)
def test_a_base_that_another_goal_speaks_of(seed):
    """A pole makes the fixed base of its limb a frame of its own; what hangs in it is still measured from the world."""
    rng = rng_of(seed)
    skeleton = poise.Skeleton.build(
        ["base", "ball", "slide", "tip"],
        range(-1, 3),
        [Kind.FIXED, Kind.BALL, Kind.SLIDE, Kind.BALL],
        offsets=rng.normal(size=(4, 3)),
        rotations=rotations.normalise(rng.normal(size=(4, 4))),
        axes=[[0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0]],
    )
    pose = rest(skeleton).with_q(random_q(rng, skeleton))
    point = (0.5, -0.3, 0.2)
    there = pose.world["ball"].matrices @ [*point, 1.0]
    pole = poise.Pole("slide", rng.normal(size=3), root="base", tip="tip")
    problem = Problem(rest(skeleton), (pole, Position("ball", there[:3], offset=point)))
    rows = problem.build_target_rows([goal.rows() for goal in problem.goals], ())
    assert not find_unreachable(problem, rows, Tolerance(1e-9, 1e-9)).any()
