"""The unit of length, the up axis and where a figure stands do not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from poise.maths import rotations
from tests.contracts.clips import VERBS, walk
from tests.contracts.moved_skeletons import QUARTER, in_units, lengths_in, placed
from tests.contracts.problems import PROBLEMS, TRIED, answer
from tests.contracts.trees import any_problem
from tests.ground.clips import clip_of
from tests.strategies import rng_of, seeds, unit_quaternions

tried_pairs = pytest.mark.parametrize(("problem", "name"), TRIED)


def plain(result, unit):
    """q and errors of a result, lengths in units of a problem in plain units."""
    lengths = [measure in ("position", "balance") for goal in result.goals for measure in goal.measures]
    q = np.where(lengths_in(result.pose.skeleton), result.q / unit, result.q)
    return q, np.where(lengths, result.errors / unit, result.errors)


def assert_same_bits(one, other, unit):
    for mine, theirs in zip(plain(one, unit), plain(other, 1.0), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.iterations, other.iterations)
    np.testing.assert_array_equal(one.codes, other.codes)


@tried_pairs
def test_a_power_of_two_of_the_unit_changes_no_bit(problem, name):
    """It scales without rounding: the same steps, the same answer."""
    usual = answer(problem, name)
    for unit in (2.0**-10, 2.0**10) if usual is not None else ():
        assert_same_bits(PROBLEMS[problem].in_units(unit).solved(name, slice(None)), usual, unit)


@tried_pairs
def test_any_unit(problem, name):
    """Other roundings on the way to the same: what is reached stays reached, what is left stays."""
    usual = answer(problem, name)
    for unit in (1e-3, 2.54, 1e3) if usual is not None else ():
        other = PROBLEMS[problem].in_units(unit).solved(name, slice(None))
        assert_alike(other, usual, unit)


@tried_pairs
def test_turned(problem, name):
    """Rig and targets turned as one, about the rig's base; a quarter turn brings the up axis from y to z."""
    usual = answer(problem, name)
    for turn in (QUARTER, unit_quaternions(rng_of(6))) if usual is not None else ():
        base = PROBLEMS[problem].start.world.positions[0]
        requested = PROBLEMS[problem].placed(turn, base - rotations.rotate(turn, base))
        assert_alike(requested.solved(name, slice(None)), usual, 1.0)


@tried_pairs
def test_elsewhere(problem, name):
    """Rig and targets shifted as one, by a length or two of the rig."""
    usual = answer(problem, name)
    for shift in ((0, 0, 4), (3, -1, 2)) if usual is not None else ():
        requested = PROBLEMS[problem].placed(np.array([1.0, 0, 0, 0]), np.array(shift))
        assert_alike(requested.solved(name, slice(None)), usual, 1.0)


@tried_pairs
def test_far_away(problem, name):
    """Rig and targets far from their parent, turned: what joints reach is what they reach anywhere."""
    usual = answer(problem, name)
    for far in (10.0, 1e3, 1e5) if usual is not None else ():
        shift = far * np.array([0.6, -0.64, 0.48])
        other = PROBLEMS[problem].placed(unit_quaternions(rng_of(7)), shift).solved(name, slice(None))
        assert_alike(other, usual, 1.0)
        took, takes = np.median(other.iterations), np.median(usual.iterations)
        assert abs(took - takes) <= 1 or takes > 100, "hundreds of steps add up roundings"


def assert_alike(one, other, unit):
    """Two answers that differ by roundings on their way.

    Of what is missed, the best is only unique where a distance alone is left.
    """
    np.testing.assert_array_equal(one.reached, other.reached)
    mine, theirs = plain(one, unit)[1], plain(other, 1.0)[1]
    if len(one.goals) == 1 and one.goals[0].measures == ("position",):
        np.testing.assert_allclose(mine, theirs, rtol=0.1, atol=2e-4)
    assert one.violation <= 1e-9


@pytest.mark.long
@given(seed=seeds, power=st.integers(-30, 30))
@example(seed=68, power=11)  # slides without limits and nothing else: only the skeleton has a length
@example(seed=322, power=30)  # one joint, and a goal at it
@settings(max_examples=25)
def test_any_goals_of_any_tree(seed, power):
    """Of joints of every kind."""
    requested, unit = any_problem(rng_of(seed)), 2.0**power
    usual = requested.solved("levenberg_marquardt", slice(None))
    assert_same_bits(requested.in_units(unit).solved("levenberg_marquardt", slice(None)), usual, unit)


# --- whole clips -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["plant_feet", "lock_feet", "Grounder"])
def test_verbs_on_real_motion(verb, data):
    """In millimetres of another file's unit, and with z up: where joints are differs by a millionth of a figure."""
    _, clip = clip_of(data, "run_mass")
    usual, size = VERBS[verb](clip).poses.world.positions, np.linalg.norm(clip.skeleton.A[1:, :3], axis=-1).sum()
    small, upright = VERBS[verb](in_units(clip, 0.001)), VERBS[verb](placed(clip, QUARTER, np.zeros(3)))
    np.testing.assert_allclose(small.poses.world.positions / 0.001, usual, rtol=0, atol=1e-6 * size)
    np.testing.assert_allclose(
        upright.poses.world.positions, rotations.rotate(QUARTER, usual), rtol=0, atol=1e-6 * size
    )


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("unit", [1e-3, 0.0254, 1e3])
def test_verbs_in_any_unit(verb, unit):
    usual = VERBS[verb](walk()).poses.world.positions
    other = VERBS[verb](in_units(walk(), unit)).poses.world.positions / unit
    np.testing.assert_allclose(other, usual, atol=2e-6)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("shift", [(0, 0, 0), (4, 0, 0)])
def test_verbs_with_another_axis_up(verb, shift):
    """Z up, there or elsewhere on the slope, which is level from side to side."""
    usual = VERBS[verb](walk()).poses.world.positions
    other = VERBS[verb](placed(walk(), QUARTER, np.array(shift))).poses.world.positions
    np.testing.assert_allclose(other, rotations.rotate(QUARTER, usual) + shift, atol=2e-6)
