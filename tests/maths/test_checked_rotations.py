"""poise.rotations: what is right gives the internal functions' bits, what is wrong an InputError."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.maths import rotations as plain

R = poise.rotations
A, B = plain.normalise([0.1, -0.7, 0.3, 0.5]), plain.normalise([0.9, 0.1, -0.2, 0.4])
V = np.array([0.3, -2.0, 0.7])
AXIS = np.array([0.0, 0.6, 0.8])
M = plain.as_matrix(A)
RIGHT = {
    "multiply": (A, B),
    "inverse": (A,),
    "rotate": (A, V),
    "about": (AXIS, 0.4),
    "as_matrix": (A,),
    "from_matrix": (M,),
    "slerp": (A, B, 0.3),
    "as_vector": (A,),
    "from_vector": (V,),
    "twist_angle": (A, AXIS),
    "rotation_part": (2.0 * M,),
    "normalise": (A,),
    "unit": (A,),
    "rotation_between": (V, AXIS),
}


@pytest.mark.parametrize("name", RIGHT)
def test_lists_and_arrays_give_the_bits_of_the_internal_function(name):
    arrays = RIGHT[name]
    expected = getattr(plain, name)(*arrays)
    np.testing.assert_array_equal(getattr(R, name)(*arrays), expected)
    np.testing.assert_array_equal(getattr(R, name)(*(np.asarray(one).tolist() for one in arrays)), expected)


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("wrong", [None, "abc", [], {}, "nan", "batch", np.zeros((2, 0)), [[1, 2], [3]], 1j])
def test_each_wrong_argument_is_an_input_error(name, wrong):
    for at, right in enumerate(RIGHT[name]):
        bad = {"nan": np.full(np.shape(right), np.nan), "batch": np.full((2, *np.shape(right)), right)}
        given = [np.full((3, *np.shape(one)), one) for one in RIGHT[name]]
        given[at] = bad.get(wrong, wrong) if isinstance(wrong, str) else wrong
        if isinstance(wrong, str) and wrong == "batch" and len(given) == 1:
            continue  # a batch alone is right
        if np.shape(right) == () and isinstance(wrong, list) and not wrong:
            continue  # no angles
        with pytest.raises(poise.InputError):
            getattr(R, name)(*given)


def test_the_rotation_of_a_rigid_transform_is_taken():
    rigid = np.eye(4)
    rigid[:3, :3], rigid[:3, 3] = plain.as_matrix(np.full(4, 0.5)), [1.0, 2.0, 3.0]
    np.testing.assert_allclose(R.from_matrix(rigid), np.full(4, 0.5), atol=1e-15)
    np.testing.assert_allclose(R.from_matrix(rigid[:3].tolist()), np.full(4, 0.5), atol=1e-15)
    np.testing.assert_allclose(R.from_matrix(np.stack([rigid, rigid])), np.full((2, 4), 0.5), atol=1e-15)


@pytest.mark.parametrize(
    ("matrix", "reason"),
    [
        (np.zeros((3, 3)), "not orthogonal"),
        (np.diag([1.0, 1.0, -1.0]), "mirrored"),
        (-np.eye(3), "mirrored"),
        (2.0 * np.eye(3), "not orthogonal"),
        (np.full((3, 3), 1e200), "not orthogonal"),
        (np.full((3, 3), np.nan), "must be finite"),
        (np.diag([1.0, 1.0, 1.0, 2.0]), "needs 0 0 0 1 as the last row"),
        (np.zeros((4, 4)), "needs 0 0 0 1 as the last row"),
        (np.diag([1.0, 1.0, -1.0, 1.0]), "mirrored"),
        (np.eye(2), r"its shape is \(2, 2\)"),
        (np.ones(9), r"its shape is \(9,\)"),
        (1.0, r"its shape is \(\)"),
    ],
)
def test_a_matrix_that_is_no_rotation(matrix, reason):
    with pytest.raises(poise.InputError, match=reason):
        R.from_matrix(matrix)


def test_quaternions_and_axes_of_any_length_but_zero():
    np.testing.assert_allclose(R.rotate(3.0 * A, V), plain.rotate(A, V), rtol=1e-14)
    np.testing.assert_allclose(R.rotate(1e-200 * A, V), plain.rotate(A, V), rtol=1e-14)
    np.testing.assert_allclose(R.as_matrix(1e200 * A), M, atol=1e-15)
    np.testing.assert_allclose(R.about([0, 0, 1e-300], 0.4), plain.about(np.array([0.0, 0.0, 1.0]), 0.4))
    np.testing.assert_allclose(R.twist_angle(A, 7.0 * AXIS), plain.twist_angle(A, AXIS), rtol=1e-14)
    for call in (lambda: R.as_matrix(np.zeros(4)), lambda: R.about(np.zeros(3), 1.0), lambda: R.inverse([0, 0, 0, 0])):
        with pytest.raises(poise.InputError, match="zero length"):
            call()


def test_results_share_no_memory_with_what_was_given():
    q = A.copy()
    for name in ("unit", "normalise", "inverse"):
        assert not np.shares_memory(getattr(R, name)(q), q)
