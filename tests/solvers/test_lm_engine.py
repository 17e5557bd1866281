"""The engine through its front door: what holds for every batch, tree, limit and goal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from scipy.spatial.transform import Rotation

import poise
from poise import Aim, Coupling, Direction, LookAt, Near, Orientation, Place, Pole, Position, Range
from poise.maths import rotations
from tests.contracts.moved_skeletons import in_units
from tests.contracts.trees import goals_at, near_q, rotated, some_limits
from tests.kernels.kernel_entries import entered
from tests.kernels.tree_cases import needs_eight_lanes
from tests.reference import slow_kinematics
from tests.reference.kernel_tree import pole_angle
from tests.strategies import (
    figure,
    generic_arm,
    random_q,
    random_skeleton,
    rng_of,
    seeds,
    straight_chain,
    unit_quaternions,
)

ROOT = Path(__file__).parent.parent.parent


def rest(skeleton):
    return poise.Pose(skeleton, skeleton.rest_q)


def slow_errors(skeleton, q, goals):
    """The errors of one pose by 4 x 4 matrices, in the order of the goals."""
    world, out = slow_kinematics.world(skeleton, q), []
    for goal in goals:
        if isinstance(goal, Near):
            continue
        m = world[skeleton.index(goal.joint)]
        turn = Rotation.from_matrix(m[:3, :3] / np.cbrt(np.linalg.det(m[:3, :3])))
        point = m[:3, 3] + m[:3, :3] @ getattr(goal, "offset", (0, 0, 0))
        if isinstance(goal, Position | Place):
            wanted = goal.target if isinstance(goal, Position) else goal.position
            out.append(np.linalg.norm(wanted - point))
        if isinstance(goal, Aim | LookAt):
            axis, way = turn.apply(goal.axis), goal.target - point
            out.append(np.arctan2(np.linalg.norm(np.cross(axis, way)), axis @ way))
        if isinstance(goal, Pole):
            limb = [world[row][:3, 3] for row in goal.limb(skeleton)]
            out.append(abs(pole_angle(*limb, goal.target)))
        if isinstance(goal, Orientation | Place):
            out.append((Rotation.from_quat(np.roll(goal.rotation, -1)) * turn.inv()).magnitude())
        if isinstance(goal, Direction):
            axis = turn.apply(goal.axis)
            out.append(np.arctan2(np.linalg.norm(np.cross(axis, goal.direction)), axis @ goal.direction))
    return np.array(out)


def moved_goal(goal, before, after):
    """A goal that is met before, for where its joint is after."""
    if isinstance(goal, Pole):
        return goal.with_target(after.positions)
    if isinstance(goal, Direction):
        back = goal.direction @ Rotation.from_quat(np.roll(before.rotations, -1)).as_matrix()
        return goal.with_target(rotated(after.rotations, back))
    point = after.positions + after.affine[:, :3] @ getattr(goal, "offset", (0, 0, 0))
    if isinstance(goal, Aim):
        return goal.with_target(point + 1.5 * rotated(after.rotations, goal.axis))
    if isinstance(goal, Place):
        return goal.with_target((point, after.rotations))
    return goal.with_target(point if isinstance(goal, Position) else after.rotations)


@given(seeds)
@settings(max_examples=80)
def test_any_goals_of_any_tree(seed):
    """Errors are those of forward kinematics, limits hold, and what is no goal's business does not move."""
    rng = rng_of(seed)
    s = random_skeleton(rng, 8)
    q = random_q(rng, s)
    s = some_limits(rng, s, q)
    start = poise.Pose(s, s.legal(q)[0])
    goals = goals_at(rng, poise.Pose(s, near_q(rng, s, start.q, 0.3)), int(rng.integers(1, 4)))
    if rng.random() < 0.3:
        goals.append(Near(start))
    result = poise.solve(start, goals, solver="levenberg_marquardt")
    np.testing.assert_allclose(result.errors, slow_errors(s, result.q, goals), atol=2e-8)
    assert result.violation <= 1e-9
    assert s.legal(result.q)[1] == ()
    kinds = [g.measures for g in goals for _ in g.measures]
    allowed = [result.tolerance if m == "position" else result.angle_tolerance for g in goals for m in g.measures]
    assert len(kinds) == len(allowed) == len(result.errors)
    assert result.reached == bool((result.errors <= np.array(allowed) * (1 + 1e-8)).all())
    moves = np.zeros(s.nq, dtype=bool)
    for name in result.joints:
        moves[s.q_slice(name)] = True
    np.testing.assert_array_equal(result.q[~moves], start.q[~moves])


def test_most_goals_near_the_start_are_reached():
    """Targets that a legal pose nearby meets: the engine finds that one, or another."""
    reached = 0
    for seed in range(100):
        rng = rng_of(seed)
        s = random_skeleton(rng, 8, kinds=(0, 1, 2, 3))
        q = random_q(rng, s)
        s = some_limits(rng, s, q)
        start = poise.Pose(s, s.legal(q)[0])
        goals = goals_at(rng, start, 2, look=False)  # its joints alone cannot make up for what moves the others
        moving = poise.solve(start, goals, solver="levenberg_marquardt").joints
        wanted = near_q(rng, s, start.q, 0.3)
        still = np.setdiff1d(np.arange(s.nq), [i for name in moving for i in np.arange(s.nq)[s.q_slice(name)]])
        wanted[still] = start.q[still]
        world = poise.Pose(s, wanted).world
        goals = [moved_goal(goal, start.world[goal.joint], world[goal.joint]) for goal in goals]
        reached += poise.solve(start, goals, solver="levenberg_marquardt").reached
    assert reached == 100


@pytest.mark.parametrize("away", [0.0, 1e-9])
def test_a_start_that_meets_its_goals_comes_back_bit_for_bit(away):
    rng = rng_of(3)
    for s in (figure(), generic_arm()):
        start = poise.Pose(s, near_q(rng, s, s.rest_q, 0.4))
        tip, tolerances = s.names[-1], {"tolerance": 1e-6, "angle_tolerance": 1e-6}
        at = start.world[tip]
        goal = Place(tip, at.positions + away, at.rotations)
        prepared = poise.prepare(start, goal, **tolerances)
        several = [goal, Direction("j3" if tip == "tool" else "head", (0, 0, 1), axis=(0, 0, 1))]
        several[1] = Direction(several[1].joint, rotated(start.world[several[1].joint].rotations, (0, 0, 1)))
        results = [
            poise.solve(start, goal, **tolerances),
            poise.solve(start, goal, trace=True, **tolerances),
            poise.solve(start, goal, prefer="closest", **tolerances),
            poise.solve(start, several, **tolerances),
            prepared(goal.rows()),
            prepared((goal.position, goal.rotation)),
            prepared(goal.rows(), start=start.q),
            poise.solve(start, goal.with_target(np.tile(goal.rows(), (9, 1))), **tolerances),
            prepared(np.tile(goal.rows(), (9, 1))),
        ]
        for i, result in enumerate(results):
            assert np.all(result.reached)
            assert np.all(result.q == start.q)
            if i != 2:
                assert not np.any(result.iterations)


def test_where_no_error_is_a_number_the_start_is_the_answer():
    """So far away, in sizes of the arm, that the squared error is infinite in every pose."""
    start = in_units(poise.Pose(generic_arm(), [0.1, -0.4, 0.3, 0.5, -0.2, 0.3]), 1e-60)
    targets = np.tile([[1e99, 0, 0], [2e-61, 3e-61, 3e-61], [0, 1e99, 0]], (4, 1))
    whole = poise.solve(start, Position("tool", targets), tolerance=1e-66)
    np.testing.assert_array_equal(whole.reached, [False, True, False] * 4)
    np.testing.assert_array_equal(whole.q[~whole.reached], [start.q] * 8)
    for row, target in enumerate(targets[:3]):
        for traced in (False, True):
            alone = poise.solve(start, Position("tool", target), tolerance=1e-66, trace=traced)
            np.testing.assert_array_equal(alone.q, whole.q[row])
            assert alone.iterations == whole.iterations[row]


@pytest.mark.parametrize("few", [{"iterations": 1, "restarts": 0}, {"iterations": 2, "restarts": 1}])
@pytest.mark.parametrize("target", [(1.0, 1.5, 0.5), (9.0, 0.0, 0.0)])
def test_a_trace_has_a_row_for_every_iteration(few, target):
    """Preferences take more iterations than an attempt was allowed; each attempt has a row for where it begins."""
    s = straight_chain(3)
    softly = s.with_limits({"j*": poise.SwingTwist.degrees((0, 1, 0), swing=5, twist=(-5, 5), soft=0.1)})
    for skeleton, near in ((s, [Near(rest(s))]), (softly, [])):
        solver = poise.LevenbergMarquardt(**few)
        found = poise.solve(rest(skeleton), [Position("tip", target), *near], solver=solver, trace=True)
        assert found.iterations > few["iterations"] * (1 + few["restarts"])
        assert len(found.trace.q) > found.iterations
        np.testing.assert_array_equal(found.trace.q[0], skeleton.rest_q)
        assert np.abs(found.trace.q - found.q).max(axis=1).min() < 1e-9


class TestTurns:
    """Rotations half a turn away, where a matrix's antisymmetric part is zero."""

    @pytest.mark.parametrize("short", [0.0, 1e-15, 1e-9, 1e-6, 1e-3])
    @pytest.mark.parametrize("kind", [1, 3])
    @pytest.mark.parametrize("sign", [-1, 1])
    def test_half_a_turn(self, short, kind, sign):
        s = straight_chain(2, kind=kind, axes=[(0, 0, 1)] * 2)
        for axis in [(0, 0, 1)] if kind == 1 else [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0, -0.8)]:
            turn = Rotation.from_rotvec(sign * (np.pi - short) * np.array(axis))
            for goal in (
                Orientation("tip", np.roll(turn.as_quat(), 1)),
                Orientation("tip", turn.as_matrix()),
                Direction("tip", turn.apply((1, 2, 0)), axis=(1, 2, 0)),
            ):
                for shape in ((), (3,)):
                    rows = np.broadcast_to(goal.rows(), (*shape, goal.width))
                    assert np.all(poise.solve(rest(s), goal.with_target(rows), angle_tolerance=1e-8).reached)


@pytest.mark.parametrize("angle", [1e-3, 0.2, 2.0, 3.1])
def test_what_is_within_a_wide_tolerance_is_met_as_it_stands(angle):
    start = poise.Pose(generic_arm(), np.full(6, 0.2))
    there = start.world["tool"]
    turned = rotations.multiply(rotations.about(np.array([0.6, 0.0, 0.8]), angle), there.rotations)
    for share, moves in ((1.001, False), (0.999, True)):
        found = poise.solve(start, Place("tool", there.positions, turned), angle_tolerance=share * angle)
        assert found.reached
        assert (found.iterations > 0) == moves


def test_coupled_joints_on_the_way_are_solved():
    """Two fingers' worth of hinges that follow one number, ratios and offsets included."""
    s = poise.Skeleton.build(
        ["palm", "a", "b", "c", "tip"], range(-1, 4), [1, 1, 1, 1, 0], offsets=[(0, 0, 0), *[(1, 0, 0)] * 4],
        axes=[(0, 1, 0), *[(0, 0, 1)] * 3, (0, 0, 0)], limits=[Range(-1, 1), Range(0, 1.5), None, None, None],
        couplings=[None, None, Coupling(1, 0.7, 0.1), Coupling(1, -0.4, 0.2), None],
    )  # fmt: skip
    rng = rng_of(4)
    goals = rng.uniform((-1, 0), (1, 1.5), size=(50, 2))
    targets = poise.Pose(s, goals).world["tip"].positions
    result = poise.solve(rest(s), Position("tip", targets), solver="levenberg_marquardt")
    assert result.reached.all()
    assert result.violation <= 1e-9
    both = poise.solve(rest(s), [Position("tip", targets), Position("b", poise.Pose(s, goals).world["b"].positions)])
    assert both.reached.all()
    np.testing.assert_allclose(both.q, goals, atol=1e-4)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_length_changes_no_status(unit):
    rng = rng_of(5)

    def codes(size):
        s = figure()
        s = poise.Skeleton.build(s.names, s.parents, s.kinds, offsets=s.A[:, :3] * size, axes=s.axes, limits=s.limits)
        goals = [Position("l_foot", feet * size), Position("r_foot", feet[::-1] * size), Direction("head", (1, 1, 0))]
        return poise.solve(rest(s), goals, solver="levenberg_marquardt").codes

    feet = rng.uniform(-0.7, 0.7, size=(200, 3)) + np.array((0, 0.7, 0))
    ours = codes(unit)
    assert len(set(ours.tolist())) > 1
    np.testing.assert_array_equal(ours, codes(1.0))


@pytest.mark.parametrize("high", [0.0, 1.0])
def test_a_range_with_one_end_holds_in_every_attempt(high):
    """Also where a large tolerance is met at once by another start."""
    s = straight_chain(1, kind=1, axes=[(0, 0, 1)], limits=[Range(-np.inf, high)])
    for angle in np.linspace(0.2, 3, 9) + high:
        goal = Direction("tip", (-np.sin(angle), np.cos(angle), 0), axis=(0, 1, 0))
        for prefer in ("first", "closest", "all"):
            result = poise.solve(rest(s), goal, angle_tolerance=0.3, prefer=prefer)
            assert result.violation <= 1e-9
            assert s.legal(result.q)[1] == ()


def test_weights_say_which_goal_gives_way():
    s = straight_chain(3)
    left, right = (-2.0, 1.0, 0.0), (2.0, 1.0, 0.0)
    for heavy in (left, right):
        goals = [Position("tip", p, weight=30.0 if p == heavy else 1.0) for p in (left, right)]
        result = poise.solve(rest(s), goals)
        assert not result.reached
        tip = result.pose.world["tip"].positions
        np.testing.assert_allclose(tip, heavy, atol=0.02)


def test_the_free_root_serves_several_goals():
    s = figure()
    shift = np.array([3.0, -2.0, 5.0])
    wanted = rest(s).replace({"hip": [*(shift + np.array((0, 0.2, 0))), 0.8, 0, 0.6, 0]})
    goals = [Place(n, wanted.world[n].positions, wanted.world[n].rotations) for n in ("l_foot", "r_foot", "head")]
    assert not poise.solve(rest(s), goals).reached
    result = poise.solve(rest(s), goals, free_root=True)
    assert result.reached
    assert "hip" in result.joints


NARROW = """
import numpy as np, poise
from poise.maths import arrays as machine
from tests.strategies import figure, generic_arm, rng_of
rng = rng_of(0)
for s, tip in ((generic_arm(), "tool"), (figure(), "l_foot")):
    pose = poise.Pose(s, s.rest_q)
    off = rng.uniform((-0.1, 0.05, -0.1), (0.1, 0.2, 0.1), size=(9, 3))
    goal = poise.Position(tip, pose.world[tip].positions + off)
    result = poise.solve(pose, goal, solver="levenberg_marquardt")
    assert result.reached.all() and poise.solve(pose, goal.with_target(goal.rows()[0])).reached
    for value in result.q.ravel(): print(value.hex())
print(machine.find_simd_width())
"""


@pytest.mark.long
@needs_eight_lanes
def test_four_lanes_work_as_eight_do():
    out = {}
    for lanes in "48":
        done = subprocess.run(
            [sys.executable, "-c", NARROW], check=True, capture_output=True, text=True, cwd=ROOT,
            env=os.environ | {"POISE_LANES": lanes},
        )  # fmt: skip
        *values, width = done.stdout.split()
        assert width == lanes
        out[lanes] = np.array([float.fromhex(v) for v in values])
    np.testing.assert_allclose(out["4"], out["8"], atol=1e-9)


@pytest.mark.long
def test_a_lane_width_that_does_not_exist_is_refused():
    done = subprocess.run(
        [sys.executable, "-c", NARROW], check=False, capture_output=True, text=True, cwd=ROOT,
        env=os.environ | {"POISE_LANES": "5"},
    )  # fmt: skip
    assert "POISE_LANES must be 4 or 8, not '5'" in done.stderr


@given(seeds)
@settings(max_examples=30)
def test_the_residual_of_a_rotation_is_twice_the_sine_of_half_the_angle(seed):
    from poise.kernels.vec_quat import Quat, rotation_error

    rng = rng_of(seed)
    a, b = unit_quaternions(rng, 2)
    assume(abs(a @ b) > 1e-9)
    left = Rotation.from_quat(np.roll(a, -1)) * Rotation.from_quat(np.roll(b, -1)).inv()
    want = left.as_rotvec() * 2 * np.sin(left.magnitude() / 2) / left.magnitude()
    np.testing.assert_allclose(entered(rotation_error)(Quat(*a), Quat(*b)), want, atol=1e-12)
