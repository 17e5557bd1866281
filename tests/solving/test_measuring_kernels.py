"""Kernels of chains and limbs convert, solve and measure: in one call, with the bits of the steps one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise.extend import Kind, Request
from poise.kernels import chain_targets, layout
from poise.problem.chain import find_chain
from poise.problem.goal_errors import convert_error_parts
from poise.solvers.base.interface import Answer, MeasuredOutput
from poise.solving import single_target
from poise.solving import solve as solve_module
from tests.contracts.trees import near_q, some_limits
from tests.kernels.kernel_entries import entered
from tests.strategies import figure, random_q, random_skeleton, rng_of, straight_chain

FIELDS = (
    "q", "errors", "reached", "codes", "iterations", "joint_updates", "targets", "solver", "natural", "moved_inside",
    "tolerances", "trace", "solutions_q",
)  # fmt: skip
SOLVERS = ("ccd", "fabrik", "two_bone")
COUNT = 70  # targets: more than the kernel solves for at once in a call


def limited_chain(rng):
    skeleton = straight_chain(int(rng.integers(3, 7)), kind=Kind.BALL)
    limits = {
        "j0": poise.SwingTwist((0, 1, 0), swing=1.2, twist=(-0.8, 0.8)),
        "j1": poise.Range(-1.0, 1.5, axis=(1, 0, 0)),
        "j2": poise.EulerBox("XYZ", x=(-1, 1), y=(-0.5, 0.5), z=(-1, 1)),
    }
    return skeleton.with_limits(limits)


def any_chain(rng):
    """Make a skeleton and a legal start: balls with and without limits, hinges, slides, scales, a free root."""
    which = rng.integers(4)
    if which == 0:
        skeleton = straight_chain(int(rng.integers(2, 7)), kind=Kind.BALL)
    elif which == 1:
        skeleton = limited_chain(rng)
    elif which == 2:
        skeleton = random_skeleton(rng, int(rng.integers(3, 8)), couple=False, kinds=(1, 2, 3))
        skeleton = some_limits(rng, skeleton, skeleton.rest_q)
    else:
        skeleton = random_skeleton(rng, int(rng.integers(3, 8)), couple=False)
    return poise.Pose(skeleton, skeleton.legal(random_q(rng, skeleton))[0])


def any_limb(rng):
    """Make a limb of two balls, of a ball and a hinge with or without a range, or of two parallel hinges."""
    which = rng.integers(4)
    if which == 0:
        skeleton = straight_chain(3, kind=Kind.HINGE, axes=[(0, 0, 1)] * 3)
    else:
        skeleton = straight_chain(3)
        if which > 1:
            low, high = rng.uniform(-3, 0), rng.uniform(0, 3)
            skeleton = skeleton.with_limits({"j1": poise.Range(low, high, axis=(1, 0, 0))})
    return poise.Pose(skeleton, near_q(rng, skeleton, skeleton.rest_q, 0.8))


def make_goal(rng, start, joint, *, kinds=("position",)):
    """Make a goal with a batch of targets: poses near the start, and some that are out of reach."""
    skeleton = start.skeleton
    world = poise.Pose(skeleton, near_q(rng, skeleton, np.tile(start.q, (COUNT, 1)), 0.7)).world[joint]
    positions = world.positions * rng.choice([1.0, 1.0, 1.0, 5.0], (COUNT, 1))
    kind = rng.choice(kinds)
    if kind == "place":
        return poise.Place(joint, positions, world.rotations)
    return poise.Orientation(joint, world.rotations) if kind == "orientation" else poise.Position(joint, positions)


def any_case(seed):
    """Return a start, a goal with targets and a solver that takes them."""
    rng = rng_of(seed)
    solver = str(rng.choice(SOLVERS))
    start = any_limb(rng) if solver == "two_bone" else any_chain(rng)
    joint = "j2" if solver == "two_bone" else start.skeleton.names[-1]
    kinds = ("position", "place", "orientation") if solver == "ccd" else ("position",)
    goal = make_goal(rng, start, joint, kinds=kinds)
    try:
        return start, goal, poise.prepare(start, goal.with_target(goal.rows()[0]), solver=solver)
    except poise.UnsupportedError:
        return None


def check_equal(found, wanted):
    for name in FIELDS:
        a, b = getattr(found, name), getattr(wanted, name)
        if isinstance(b, np.ndarray):
            assert a.dtype == b.dtype, name
            assert a.shape == b.shape, name
            assert a.tobytes() == b.tobytes(), name
            assert not a.flags.writeable, name
        else:
            assert a == b, name


@given(st.integers(0, 2**32 - 1))
def test_a_target_has_the_bits_of_a_large_batch(seed):
    case = any_case(seed)
    if case is None:
        return
    start, goal, call = case
    batch = poise.solve(start, goal, solver=call.solver)
    rows = goal.rows()
    few = call(rows[:9].copy())
    for i in range(9):
        check_equal(call(rows[i].copy()), batch[i])
    check_equal(few, batch[:9])
    check_equal(poise.solve(start, goal.with_target(rows[:9]), solver=call.solver), batch[:9])


@given(st.integers(0, 2**32 - 1))
def test_measured_errors_are_those_of_forward_kinematics(seed):
    case = any_case(seed)
    if case is None:
        return
    _, goal, call = case
    problem, bound = call.problem, call.single.bind(call.problem)
    for rows in (goal.rows()[:1], goal.rows()):
        targets = np.ascontiguousarray(rows)
        output = bound.solve(targets)
        errors = problem.compute_errors(output[0], targets)
        if type(output) is not Answer and problem.error_paths is not None:
            assert type(output) is MeasuredOutput
            assert output.error_parts is not None
            factors = problem.error_paths.angle_factors
            assert convert_error_parts(factors, output.error_parts).tobytes() == errors.tobytes()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_bad_targets_raise_alone_and_in_a_batch(solver, bad):
    start = poise.Pose(chain := straight_chain(3), chain.rest_q)
    call = poise.prepare(start, poise.Position("j2", (0.3, 1.0, 0.4)), solver=solver)
    rows = np.tile([0.3, 1.0, 0.4], (5, 1))
    rows[3, 1] = bad
    for given_rows in (rows[3], rows):
        with pytest.raises(poise.InputError) as prepared:
            call(given_rows)
        with pytest.raises(poise.InputError) as solved:
            poise.solve(start, poise.Position("j2", given_rows), solver=solver)
        assert str(prepared.value) == str(solved.value)


@pytest.mark.parametrize("solver", SOLVERS)
def test_few_targets_take_one_kernel_call(solver, monkeypatch):
    start = poise.Pose(chain := straight_chain(3), chain.rest_q)
    call = poise.prepare(start, poise.Position("j2", (0.3, 1.0, 0.4)), solver=solver)
    rows = rng_of(2).normal(size=(4, 3))
    few = call(rows.reshape(2, 2, 3))
    assert "lazy_source" in few.__dict__
    assert few.pose.shape == (2, 2)
    for module in (single_target, solve_module):
        monkeypatch.setattr(module, "MAX_FAST_TARGETS", 0)
    general = call(rows.reshape(2, 2, 3))
    assert "lazy_source" not in general.__dict__
    check_equal(few, general)


@pytest.mark.parametrize("solver", ["ccd", "fabrik"])
def test_few_targets_from_a_start_outside_its_limits_name_the_joints(solver):
    skeleton = straight_chain(4).with_limits({"j1": poise.Range(-0.2, 0.2, axis=(1, 0, 0))})
    q = np.array(skeleton.rest_q)
    q[skeleton.q_slice("j1")] = np.cos(0.5), np.sin(0.5), 0, 0
    call = poise.prepare(poise.Pose(skeleton, q), poise.Position("j3", (0.3, 1.0, 0.4)), solver=solver)
    rows = rng_of(2).normal(size=(4, 3))
    assert call(rows).moved_inside == call(rows[0]).moved_inside == ("j1",)
    assert np.array_equal(call(rows).q[2], call(rows[2].copy()).q)


def test_a_target_that_a_goal_of_the_figure_cannot_meet_is_explained():
    start = poise.Pose(skeleton := figure(), skeleton.rest_q)
    tip = skeleton.names[-1]
    far = start.world[tip].positions + 100.0
    for solver in ("ccd", "fabrik"):
        result = poise.prepare(start, poise.Position(tip, far), solver=solver)(far)
        assert result.status == poise.Status.out_of_reach
        assert np.array_equal(result.errors, result.problem.compute_errors(result.q[None], result.targets)[0])


def test_kernels_read_the_tables_in_the_order_of_their_packing():
    start = poise.Pose(skeleton := limited_chain(rng_of(1)), skeleton.rest_q)
    call = poise.prepare(start, poise.Position(skeleton.names[-1], (0.3, 1.0, 0.4)), solver="ccd")
    bound = call.solver.bind(call.problem, call.tolerance, Request())
    tables, positions, *_ = bound.kernel.packed
    read = entered(chain_targets.read_tables)(tables, positions)
    chain, paths = find_chain(call.problem), call.problem.error_paths
    wanted = {
        "axes": chain.axes, "ranges": chain.ranges, "limits": chain.limits, "tip": chain.tips,
        "target_terms": chain.target_columns, "link_conversions": chain.link_conversions,
        "path_table": paths.table, "path_spans": paths.spans, "measures": paths.measure_rows,
    }  # fmt: skip
    assert len(read) == len(layout.ChainTables._fields)
    for name, values in wanted.items():
        assert np.array_equal(getattr(read, name), values), name
