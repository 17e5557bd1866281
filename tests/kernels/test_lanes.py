"""The lane type against NumPy, compiled and not, and that kernels give the same in both."""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import typeof, types
from numba.core.registry import cpu_target

from poise.kernels.arm_lm import ArmProblems, solve_range
from poise.kernels.lanes import (
    LANES4,
    LANES8,
    SCALAR,
    broadcast,
    count_lanes,
    get_lane,
    half_angle_sincos,
    mask_to_bits,
    maximum,
    minimum,
    round_half_even,
    select,
    set_lane,
    sqrt,
    stack_array,
    stack_matrix,
    view_lanes,
)
from poise.maths.arrays import allocate_aligned
from tests.kernels import kernel_entries
from tests.strategies import rng_of
from tests.workload import amount

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent.parent
KINDS = [SCALAR, LANES4, LANES8]
SEVEN = 7
numbers = st.floats(-1e6, 1e6).map(lambda x: x if abs(x) > 1e-100 else 0.0)  # quotients stay finite
compiled = partial(
    kernel_entries.compiled, error_model="numpy"
)  # no contraction: a product and a sum are two roundings, as in NumPy


def arithmetic(kind, data, out):
    """Every operator and function of values once: rows of data (3,) to rows of out."""
    x, y = view_lanes(kind, data, 0, 3), view_lanes(kind, out, 0, 14)
    a, b, c = x[0], x[1], x[2]
    y[0], y[1], y[2], y[3] = a + b, a - b, a * b, a / b
    y[4], y[5] = minimum(a, b), maximum(a, b)
    y[6], y[7] = sqrt(maximum(c, -c)), round_half_even(c)
    y[8] = select((a < b) & (b <= c), a, b)
    y[9] = select((a > b) | (b >= c), 2.0 * a, -b)
    y[10] = 1.0 - a
    y[11] = a * 2 + 1
    z = a + 0.0  # uncompiled, `a` is a view: += on it would write into the work array
    z += b
    z *= c
    y[12] = z
    y[13] = select(a == b, a, c) + broadcast(kind, 0.5)


def masks(kind, data):
    x = view_lanes(kind, data, 0, 3)
    return (
        mask_to_bits(x[0] < x[1]),
        mask_to_bits((x[0] < x[1]) & (x[1] < x[2])),
        mask_to_bits((x[0] >= x[1]) | (x[1] == x[2])),
    )


def moving(kind, data, out):
    """Single lanes, rooms and views."""
    w = count_lanes(kind)
    own, table = stack_array(kind, SEVEN), stack_matrix(kind, 2, 3)
    x, y = view_lanes(kind, data, 0, 3), view_lanes(kind, out, 0, 2, 3)
    for l in range(w):
        x[0] = set_lane(x[0], l, get_lane(x[1], w - 1 - l) + 10.0 * l)
    for i in range(3):
        own[i], table[1, i] = x[i], x[2 - i]
    for i in range(3):
        y[0, i], y[1, i] = own[i], table[1, i]
    last = view_lanes(kind, out, 8 * w, 1, 2, 2)
    last[0, 1, 1] = broadcast(kind, 3.0)
    return own.shape[0], table.shape[1], last.shape[1]


def filled(values):
    out = allocate_aligned(np.size(values))
    out[:] = np.ravel(values)
    return out


@cache
def fast(function, kind):
    """The function compiled for a kind, which is a constant in it."""
    inner = compiled(function)
    if function is masks:
        return compiled(lambda data: inner(kind, data))
    return compiled(lambda data, out: inner(kind, data, out))


def each(kind):
    """How to run a function for a kind: compiled, and as it stands."""
    return [lambda f, *args: fast(f, kind)(*args), lambda f, *args: f(kind, *args)]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(data=st.data())
def test_operators_and_functions_are_those_of_numpy(kind, data):
    w = kind.width
    rows = data.draw(st.lists(st.lists(numbers, min_size=w, max_size=w), min_size=3, max_size=3))
    rows[1] = [x or 1.0 for x in rows[1]]  # divisors
    a, b, c = np.array(rows)
    want = [
        a + b, a - b, a * b, a / b, np.minimum(a, b), np.maximum(a, b), np.sqrt(abs(c)), np.rint(c),
        np.where((a < b) & (b <= c), a, b), np.where((a > b) | (b >= c), 2 * a, -b), 1 - a, a * 2 + 1, (a + b) * c,
        np.where(a == b, a, c) + 0.5,
    ]  # fmt: skip
    weights = 1 << np.arange(w)
    sets = [(a < b), (a < b) & (b < c), (a >= b) | (b == c)]
    for run in each(kind):
        out = filled(np.full((14, w), np.nan))
        run(arithmetic, filled(rows), out)
        np.testing.assert_array_equal(out.reshape(14, w), want)
        assert [int(x) for x in run(masks, filled(rows))] == [int((s * weights).sum()) for s in sets]


@pytest.mark.parametrize("kind", KINDS)
def test_views_rooms_and_single_lanes(kind):
    w = kind.width
    rows = rng_of(0).normal(size=(3, w))
    results = []
    for run in each(kind):
        data, out = filled(rows), filled(np.zeros((12, w)))
        assert tuple(run(moving, data, out)) == (SEVEN, 3, 2)
        changed = rows.copy()
        changed[0] = rows[1][::-1] + 10.0 * np.arange(w)
        np.testing.assert_array_equal(data.reshape(3, w), changed)  # a view: what is written stands in the work array
        want = np.zeros((12, w))
        want[:3], want[3:6], want[11] = changed, changed[::-1], 3.0
        np.testing.assert_array_equal(out.reshape(12, w), want)
        results.append(out.tobytes())
    assert results[0] == results[1]


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_numba_learns_what_a_part_is_made_of_and_how_many_axes_it_has(axes):
    context, work = cpu_target.typing_context, types.Array(types.float64, 1, "C")
    context.refresh()
    reported = context.resolve_function_type(view_lanes, (typeof(LANES4), work, *[types.intp] * (1 + axes)), {})
    assert reported.return_type == types.Array(typeof(LANES4).value_type, axes, "C")
    assert reported.args == (typeof(LANES4), work, *[types.intp] * (1 + axes))


def test_with_lane_leaves_other_holders_of_the_value_alone():
    value = broadcast(LANES4, 1.0)
    other = set_lane(value, 2, 5.0)
    np.testing.assert_array_equal(value, [1, 1, 1, 1])
    np.testing.assert_array_equal(other, [1, 1, 5, 1])
    assert set_lane(1.0, 0, 5.0) == 5.0


def turn_all(kind, data, out):
    w = count_lanes(kind)
    for i in range(data.shape[0] // w):
        x, y = view_lanes(kind, data, i * w, 1), view_lanes(kind, out, 2 * i * w, 2)
        y[0], y[1] = half_angle_sincos(x[0])


def sines(kind, x):
    """Both numbers of each x, compiled in lanes."""
    out = filled(np.zeros((2, len(x))))
    fast(turn_all, kind)(filled(x), out)
    return out.reshape(-1, 2, kind.width).swapaxes(0, 1).reshape(2, -1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", [1e-300, 1e-8, 1.0, math.pi, 10.0, 1e4])
def test_half_turns_are_sines_and_cosines(kind, most):
    x = np.concatenate([rng_of(1).uniform(-most, most, size=990), np.pi * np.arange(-4, 5), [-most]])
    allowed = 2e-15 + 1.2e-16 * most / 2  # far out, the whole turns taken off are rounded once
    for s, c in (sines(kind, x), half_angle_sincos(x)):
        sign = np.where(np.cos(x / 2) * c + np.sin(x / 2) * s < 0, -1, 1)  # both may be negated
        np.testing.assert_allclose(s * sign, np.sin(x / 2), rtol=0, atol=allowed)
        np.testing.assert_allclose(c * sign, np.cos(x / 2), rtol=0, atol=allowed)
        np.testing.assert_allclose(s * s + c * c, 1, atol=2e-15)


# --- kernels -----------------------------------------------------------------------------------------------------


def arm_cases(count=10):
    """Answers of some of ten small problems by the kernels of serial arms; the settings of the engine."""
    import poise
    from poise.problem.arm_packing import find_arm
    from poise.solvers.base.lm_engine import pack_arm_settings
    from tests.strategies import generic_arm

    s = generic_arm()
    pose, rng = poise.Pose(s, np.full(6, 0.2)), rng_of(5)
    at = poise.Pose(s, rng.uniform(-2, 2, size=(10, 6))).world["tool"]
    goal = poise.Place("tool", at.positions * np.where(np.arange(10) == 3, 9, 1)[:, None], at.rotations)
    problem = poise.prepare(pose, goal).problem
    solver = poise.LevenbergMarquardt(restarts=8)
    arm = find_arm(problem)
    options = pack_arm_settings(
        arm, problem.plan.kernel_unit_in_world, problem.complete_tolerance(None, None), solver.arm_options
    )
    targets = problem.compute_kernel_targets(goal.rows())
    tips = allocate_aligned(arm.seed_tips.size)
    tips[:] = arm.seed_tips
    out = []
    for kind, together in itertools.product((LANES4, LANES8), (count, 1)):  # a lone target has all lanes to itself
        x, errors, counts = np.zeros((count, 6)), np.zeros(count), np.zeros((count, 3), dtype=np.int64)
        for first in range(0, count, together):
            arm_driver(kind)(
                arm.links, arm.seeds, tips, targets, problem.start_u, options, first, first + together,
                x, errors, counts, np.zeros((0, 7)),
            )  # fmt: skip
        out.append([x.tolist(), np.sqrt(errors).tolist(), counts.tolist()])
    return out


@cache
def arm_driver(kind):
    """Problems first..last of an arm, in lanes of a kind."""

    def solve(links, seeds, poses, targets, starts, options, first, last, x, errors, counts, trace):
        problems = ArmProblems(links, seeds, poses, targets, starts, options, x, errors, counts)
        solve_range(kind, problems, first, last, trace)

    return compiled(solve, fastmath={"contract"})


@pytest.mark.long
def test_lanes_and_plain_numbers_agree():
    count = amount(5, 10)  # a vector of four lanes and a part of one; the fourth is out of reach
    code = f"import json; from tests.kernels.test_lanes import arm_cases; print(json.dumps(arm_cases({count})))"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT,
        env=os.environ | {"POISE_KERNELS": "plain"},
    )  # fmt: skip
    (four, *others), plain = arm_cases(), json.loads(done.stdout)
    for got in (*others, *plain):
        for part, want in zip(got, four, strict=True):
            np.testing.assert_allclose(part, want[: len(part)], atol=1e-9)
    assert all(len(part) == count for got in plain for part in got)
    assert sum(counts[2] for counts in four[2]) == 9
