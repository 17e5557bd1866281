"""A target says the same in every form in which it can be given: the same bits from solve() and from prepare()."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from tests.contracts.cases import requested
from tests.strategies import figure, generic_arm, rng_of, seeds
from tests.workload import amount

SOLVERS = ("auto", "levenberg_marquardt", "ccd", "jacobian_transpose")


def rig(kind):
    """A skeleton, and a joint that is to go somewhere."""
    return (generic_arm(), "tool") if kind == "arm" else (figure(), "l_foot")


def forms(position, turn, length):
    """The same place in every form: what Place takes, and what a prepared problem takes."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = poise.rotations.as_matrix(turn), position
    scaled = turn * length
    row = np.concatenate([position, scaled])
    quaternion = poise.Place("x", position, scaled).rows()[3:]
    return {
        "numbers": [row, row.tolist(), (position, scaled), (list(position), scaled.tolist()), row[None], [row]],
        "unit": [np.concatenate([position, quaternion]), (position, quaternion)],
        "matrix": [matrix, matrix[:3], matrix.tolist(), (position, matrix[:3, :3]), matrix[None], matrix.T.copy().T],
    }


@pytest.mark.long
@pytest.mark.parametrize("kind", ["arm", "figure"])
@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=amount(40, 100))
@given(seed=seeds, length=st.sampled_from([1.0, 0.3, 1e-9, 7.0, 1e12, 1.0 + 1e-7, 1.0 + 6e-13]))
def test_every_form_of_a_place(kind, solver, seed, length):
    skeleton, joint = rig(kind)
    rng = rng_of(seed)
    start = poise.Pose(skeleton, skeleton.rest_q)
    turn = rng.normal(size=4)
    position, turn = start.world[joint].positions + rng.uniform(-0.2, 0.2, 3), turn / np.linalg.norm(turn)
    reach = None
    for given_ in forms(position, turn, length).values():
        rows = given_[0]
        goal = poise.Place(joint, *((rows[:3, 3], rows[:3, :3]) if np.shape(rows)[-1] == 4 else (rows[:3], rows[3:])))
        whole = requested(start, goal, solver)
        if whole is None:
            return
        reach = poise.prepare(start, goal, solver=solver) if reach is None else reach
        for form in given_:
            found = reach(form)
            np.testing.assert_array_equal(np.ravel(found.q), whole.q)
            assert np.ravel(found.status)[0] == whole.status
            np.testing.assert_array_equal(np.ravel(found.targets), goal.rows())
        from_start = reach(given_[0], start=start.q)
        np.testing.assert_array_equal(from_start.q, whole.q)
