"""Goals are values: what people type is checked once, copied, and comes out as rows of known width."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import poise
from poise import Aim, Direction, InputError, Near, Orientation, Pin, Place, Pole, Position
from poise.problem import goals
from tests.strategies import random_q, rng_of, seeds, straight_chain, unit_quaternions

SIZES = st.sampled_from([5e-324, 1e-200, 1e-9, 0.5, 1.0, 3.0, 1e9, 1e200])
BATCHES = st.sampled_from([(), (1,), (5,), (2, 3), (0,), (3, 0)])
IDENTITY = (1.0, 0.0, 0.0, 0.0)
SKELETON = straight_chain(3)
REST = poise.Pose(SKELETON, SKELETON.rest_q)
MIRROR = np.diag([1.0, 1.0, -1.0])


def scipy_matrices(q):
    return Rotation.from_quat(np.roll(q, -1, axis=-1).reshape(-1, 4)).as_matrix().reshape(*q.shape[:-1], 3, 3)


def rigid(position, rotation):
    """(..., 4, 4) of a position (..., 3) and a quaternion (..., 4)."""
    result = np.zeros((*position.shape[:-1], 4, 4))
    result[..., :3, :3], result[..., :3, 3], result[..., 3, 3] = scipy_matrices(rotation), position, 1.0
    return result


def one_of_each(rng, shape=(), **options):
    """A goal of every kind with a target, for the joint 'tip'."""
    points, q = rng.normal(size=(*shape, 3)), unit_quaternions(rng, *shape)
    return [
        Position("tip", points, **options),
        Orientation("tip", q, **options),
        Place("tip", points, q, **options),
        Direction("tip", points, axis=(0, 2, 0), **options),
        Aim("tip", points, axis=(0, 2, 0), offset=(1, 2, 3), **options),
        Pole("tip", points, tip="j2", **options),
    ]


def without_target():
    return [Pin("tip"), Pin("tip", rotation=False), Near(REST)]


def test_targets_of_several_goals_share_their_batch_axes():
    """(2, 1) and (3,) targets are two times three problems."""
    rng = rng_of(4)
    at = poise.Pose(SKELETON, random_q(rng, SKELETON, 2, 3))
    tips, elbows = rng.normal(size=(2, 1, 3)), 0.9 * at.world["j1"].positions[0]
    many = poise.solve(REST, [Position("tip", tips), Position("j2", elbows)])
    assert many.q.shape[:-1] == (2, 3)
    for i in range(2):
        for j in range(3):
            one = poise.solve(REST, [Position("tip", tips[i, 0]), Position("j2", elbows[j])])
            np.testing.assert_array_equal(one.q, many.q[i, j])


@pytest.mark.parametrize("rotation", [True, False])
def test_pins_of_a_batch_keep_each_where_it_stands(rotation):
    q = random_q(rng_of(3), SKELETON, 4)
    starts = poise.Pose(SKELETON, q)
    hand = Position("j2", starts.world["j2"].positions)
    result = poise.solve(starts, [Pin("tip", rotation=rotation), hand])
    assert result.reached.all()
    np.testing.assert_allclose(result.pose.world["tip"].positions, starts.world["tip"].positions, atol=1e-6)


class TestEveryGoal:
    @given(seeds, BATCHES)
    def test_rows_have_the_shape_and_width_it_says(self, seed, shape):
        for goal in one_of_each(rng_of(seed), shape):
            assert goal.shape == shape
            assert goal.rows().shape == (*shape, goal.width)
        for goal in without_target():
            assert goal.shape == ()
            assert goal.rows().shape == (goal.width,) == (0,)

    def test_what_is_measured_and_how_wide_a_target_is(self):
        every = [*one_of_each(rng_of(0)), *without_target()]
        both = ("position", "rotation")
        measures = [("position",), ("rotation",), both, ("direction",), ("aim",), ("pole",), both, ("position",), ()]
        assert [goal.measures for goal in every] == measures
        assert [goal.width for goal in every] == [3, 4, 7, 3, 3, 3, 0, 0, 0]

    @given(seeds, BATCHES)
    def test_rows_are_parsed_bit_for_bit(self, seed, shape):
        for goal in one_of_each(rng_of(seed), shape):
            rows = goal.rows()
            np.testing.assert_array_equal(goal.parse(rows), rows)
            np.testing.assert_array_equal(goal.with_target(rows).rows(), rows)

    @given(seeds)
    def test_a_new_target_changes_the_target_only(self, seed):
        rng = rng_of(seed)
        for goal, other in zip(one_of_each(rng, root="j1", weight=2.5), one_of_each(rng, (4,)), strict=True):
            new = goal.with_target(other.rows())
            assert type(new) is type(goal)
            assert (new.joint, new.root, new.weight) == ("tip", "j1", 2.5)
            for name in ("axis", "offset", "tip"):
                assert getattr(new, name, None) == getattr(goal, name, None)
            np.testing.assert_array_equal(new.rows(), other.rows())
            assert goal.shape == ()

    def test_parsing_gives_a_new_array_and_keeps_nothing(self):
        for goal, other in zip(one_of_each(rng_of(1)), one_of_each(rng_of(2), (3,)), strict=True):
            before, given, kept = goal.rows().copy(), other.rows().copy(), other.rows().copy()
            goal.parse(given)[...] = 7.0
            np.testing.assert_array_equal(given, kept)
            np.testing.assert_array_equal(goal.rows(), before)

    @pytest.mark.parametrize("goal", without_target(), ids=repr)
    def test_where_there_is_no_target_none_can_be_given(self, goal):
        for method in (goal.parse, goal.with_target):
            with pytest.raises(InputError, match=r"^(the Pin of 'tip'|Near) has no target that could be replaced"):
                method([0, 0, 0])

    def test_arrays_are_copied_and_read_only(self):
        points, q = np.array([[3.0, 0, 0]]), np.array([IDENTITY])
        every = [Position("tip", points), Orientation("tip", q), Place("tip", points, q), Direction("tip", points)]
        rows = [goal.rows().copy() for goal in every]
        points[:], q[:] = 9.0, 0.5
        for goal, before in zip(every, rows, strict=True):
            np.testing.assert_array_equal(goal.rows(), before)
            arrays = [value for value in vars(goal).values() if isinstance(value, np.ndarray)]
            assert arrays
            for array in arrays:
                with pytest.raises(ValueError, match="read-only"):
                    array[0] = 1.0

    def test_fields_can_be_replaced_but_not_set(self):
        for goal in [*one_of_each(rng_of(0)), *without_target()]:
            assert dataclasses.replace(goal, weight=3).weight == 3.0
            with pytest.raises(dataclasses.FrozenInstanceError):
                goal.weight = 2.0

    @pytest.mark.parametrize("weight", [0, -1.0, np.nan, np.inf, "2", None, True, [1.0], 10**400])
    def test_the_weight_is_a_finite_number_above_zero(self, weight):
        makers = [
            lambda: Position("tip", [0, 0, 0], weight=weight),
            lambda: Orientation("tip", IDENTITY, weight=weight),
            lambda: Place("tip", [0, 0, 0], IDENTITY, weight=weight),
            lambda: Place.from_matrix("tip", np.eye(4), weight=weight),
            lambda: Direction("tip", [0, 0, 1], weight=weight),
            lambda: Near(REST, weight=weight),
            lambda: Pin("tip", weight=weight),
        ]
        for make in makers:
            with pytest.raises(InputError, match=r"^the weight of ('tip'|Near) must be "):
                make()

    @pytest.mark.parametrize("weight", [1e-9, 2, np.float32(0.5), np.int64(3)])
    def test_numbers_of_numpy_are_weights(self, weight):
        goal = Pin("tip", weight=weight)
        assert type(goal.weight) is float
        assert goal.weight == weight


class TestOneTarget:
    """One target of plain numbers is read without the steps for arrays."""

    FORMS = (np.array, list, tuple, lambda numbers: np.array(numbers, dtype=np.longdouble))

    @given(seeds, st.sampled_from([1.0, 1 + 3e-13, 1 + 2e-12, 3.0, 1e-160, 1e160]))
    def test_it_has_the_bits_of_a_batch(self, seed, length):
        rng = rng_of(seed)
        point, quaternion = rng.normal(size=3), unit_quaternions(rng) * length
        batch = Place("tip", point[None], quaternion[None]).rows()
        for make in self.FORMS:
            p, q = make(point.tolist()), make(quaternion.tolist())
            np.testing.assert_array_equal(Place("tip", p, q).rows(), batch[0])
            np.testing.assert_array_equal(Position("tip", p).rows(), batch[0, :3])
            np.testing.assert_array_equal(Orientation("tip", q).rows(), batch[0, 3:])
            goal = Place("tip", [0, 0, 0], [1, 0, 0, 0])
            np.testing.assert_array_equal(goal.with_target((p, q)).rows(), batch[0])
            np.testing.assert_array_equal(goal.with_target(np.concatenate([p, q])).rows(), batch[0])

    @given(seeds)
    def test_a_matrix_has_the_bits_of_a_batch(self, seed):
        rng = rng_of(seed)
        point, matrix = rng.normal(size=3), scipy_matrices(unit_quaternions(rng))
        batch = Place("tip", point[None], matrix[None]).rows()
        for one in (matrix, np.asfortranarray(matrix), matrix.tolist()):
            np.testing.assert_array_equal(Place("tip", point, one).rows(), batch[0])
        transform = rigid(point, unit_quaternions(rng))
        batch = Place.from_matrix("tip", transform[None]).rows()
        for one in (transform, transform[:3], np.asfortranarray(transform), transform.tolist()):
            np.testing.assert_array_equal(Place.from_matrix("tip", one).rows(), batch[0])
            np.testing.assert_array_equal(Place("tip", point, matrix).with_target(one).rows(), batch[0])

    def test_integers_are_numbers(self):
        assert Place("tip", [1, -2, 3], (1, 0, 0, 0)).rows().tolist() == [1.0, -2.0, 3.0, 1.0, 0.0, 0.0, 0.0]
        assert Position("tip", [2**60, 0, 0]).rows().dtype == np.float64

    @pytest.mark.parametrize("point", [[np.nan, 0, 0], [0, 0, np.inf], [0, -2e100, 0], ["1", 0, 0], [10**400, 0, 0]])
    def test_a_bad_point_is_refused(self, point):
        for make in (lambda: Position("tip", point), lambda: Place("tip", point, [1, 0, 0, 0])):
            with pytest.raises(poise.InputError):
                make()

    @pytest.mark.parametrize("rotation", [[0, 0, 0, 0], [np.nan, 0, 0, 0], [np.inf, 0, 0, 0], np.diag([1.0, 1, -1])])
    def test_a_bad_rotation_is_refused(self, rotation):
        for make in (lambda: Orientation("tip", rotation), lambda: Place("tip", [0, 0, 0], rotation)):
            with pytest.raises(poise.InputError):
                make()

    def test_its_numbers_are_its_own_and_read_only(self):
        p, q = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 0.0, 0.0])
        goal = Place("tip", p, q, weight=2.0, rotation_weight=0.5, offset=(0, 0, 1), optional=True)
        other = goal.with_target((q[:3], q))
        p[0] = 5.0
        for one in (goal, other, copy.copy(other), pickle.loads(pickle.dumps(other)), dataclasses.replace(other)):  # noqa: S301
            for array in (one.rows(), one.position, one.rotation):
                with pytest.raises(ValueError, match="read-only"):
                    array[0] = 9.0
            assert one.rows().tolist() == [*one.position.tolist(), *one.rotation.tolist()]
            assert (one.weight, one.rotation_weight, one.offset, one.optional) == (2.0, 0.5, (0.0, 0.0, 1.0), True)
        assert goal.position.tolist() == [1.0, 2.0, 3.0]
        assert "_rows" not in pickle.dumps(goal).decode("latin-1")


class TestPosition:
    def test_a_point_in_the_plane_has_z_zero(self):
        np.testing.assert_array_equal(Place("tip", [1, 2], IDENTITY).position, [1, 2, 0])
        np.testing.assert_array_equal(Position("tip", [[1, 2], [3, 4]]).target, [[1, 2, 0], [3, 4, 0]])

    @pytest.mark.parametrize("target", [5, [1], [1, 2, 3, 4], np.zeros((3, 0))])
    def test_points_have_two_or_three_numbers(self, target):
        with pytest.raises(InputError, match=r"^the target of 'tip' needs 3 numbers \(or 2 in the plane\); its shape"):
            Position("tip", target)

    @pytest.mark.parametrize("far", [1.01e100, -1.01e100, 1e300])
    def test_no_coordinate_is_beyond_the_farthest(self, far):
        message = r"of 'tip' lies beyond 1e\+100, the largest length allowed"
        for target in ([0, far, 0], [far, 0], [[0, 0, 0], [0, 0, far]]):
            with pytest.raises(InputError, match="^the target " + message):
                Position("tip", target)
        with pytest.raises(InputError, match="^the position " + message):
            Place("tip", [0, far, 0], IDENTITY)
        assert (
            np.abs(Position("tip", [goals.MAX_COORDINATE, -goals.MAX_COORDINATE, 0]).target).max()
            == goals.MAX_COORDINATE
        )


class TestRotations:
    @given(seeds, BATCHES, SIZES)
    def test_only_the_direction_of_a_quaternion_counts(self, seed, shape, size):
        q = unit_quaternions(rng_of(seed), *shape)
        got = Orientation("tip", q / np.abs(q).max(axis=-1, keepdims=True) * size).rotation
        np.testing.assert_allclose((got * got).sum(axis=-1), 1.0, atol=1e-15, rtol=0)
        if size >= 1e-200:  # the smallest number of all has no digits to keep
            np.testing.assert_allclose(got, q, atol=1e-15, rtol=0)

    @given(seeds)
    def test_unit_quaternions_stay_bit_for_bit_beside_others(self, seed):
        q = unit_quaternions(rng_of(seed), 6)
        mixed = q * np.array([[1], [2], [1], [-1], [1e-3], [1]])
        got = Orientation("tip", mixed).rotation
        np.testing.assert_array_equal(got[[0, 2, 3, 5]], mixed[[0, 2, 3, 5]])
        np.testing.assert_allclose(got[[1, 4]], q[[1, 4]], atol=1e-15, rtol=0)

    def test_a_squared_length_is_one_within_1e_12(self):
        kept, scaled = np.array([1 + 0.4e-12, 0, 0, 0]), np.array([1 + 0.6e-12, 0, 0, 0])
        np.testing.assert_array_equal(Orientation("tip", kept).rotation, kept)
        np.testing.assert_array_equal(Orientation("tip", scaled).rotation, IDENTITY)

    @given(seeds, BATCHES)
    def test_matrices_and_quaternions_are_the_same_goal(self, seed, shape):
        q = unit_quaternions(rng_of(seed), *shape)
        got = Orientation("tip", scipy_matrices(q)).rotation
        np.testing.assert_allclose(got, np.where(q[..., :1] < 0, -q, q), atol=1e-15, rtol=0)

    def test_three_by_three_is_always_a_matrix_and_other_batches_are_quaternions(self):
        assert Orientation("tip", np.tile(np.eye(3), (4, 1, 1))).shape == (4,)
        assert Orientation("tip", np.tile(IDENTITY, (3, 1))).shape == (3,)
        assert Orientation("tip", np.tile(IDENTITY, (3, 3, 1))).shape == (3, 3)

    @pytest.mark.parametrize("rotation", [1.0, [1, 0, 0], np.eye(4)[:, :3], np.zeros((3, 3, 2))])
    def test_a_rotation_of_another_shape(self, rotation):
        with pytest.raises(InputError, match=r"^the rotation of 'tip' needs 4 numbers w x y z or a 3 x 3 matrix; its"):
            Orientation("tip", rotation)

    @pytest.mark.parametrize("rotation", [np.zeros(4), [[2, 0, 0, 0], [0, 0, 0, 0]]])
    def test_zero_length_is_no_rotation(self, rotation):
        with pytest.raises(
            InputError, match=r"^the rotation of 'tip' has zero length; the identity is \(1, 0, 0, 0\)$"
        ):
            Orientation("tip", rotation)

    @pytest.mark.parametrize(
        ("matrix", "gap"),
        [
            (2 * np.eye(3), "3"),
            (np.zeros((3, 3)), "1"),
            (np.eye(3) + 0.1 * np.eye(3, k=1), r"0\.1"),
            (1e200 * MIRROR, "inf"),
        ],
    )
    def test_scale_and_shear_are_no_rotation(self, matrix, gap):
        message = rf"^the rotation of 'tip' is no rotation matrix: it is not orthogonal, .* by {gap}; scale and shear"
        for rotation in (matrix, [np.eye(3), matrix]):
            with pytest.raises(InputError, match=message):
                Orientation("tip", rotation)

    @given(seeds)
    def test_a_mirror_is_no_rotation(self, seed):
        matrices = scipy_matrices(unit_quaternions(rng_of(seed), 3))
        matrices[1] = matrices[1] @ MIRROR
        with pytest.raises(InputError, match="^the rotation of 'tip' is no rotation matrix: it is mirrored, its det"):
            Orientation("tip", matrices)

    def test_a_matrix_is_orthogonal_within_1e_6(self):
        almost = np.eye(3)
        almost[0, 1] = 0.99e-6
        np.testing.assert_allclose(Orientation("tip", almost).rotation, IDENTITY, atol=1e-6)
        almost[0, 1] = 1.01e-6
        with pytest.raises(InputError, match="not orthogonal"):
            Orientation("tip", almost)


class TestPlace:
    @given(seeds, st.sampled_from([((), ()), ((4,), ()), ((), (4,)), ((2, 1), (3,)), ((0,), (1,)), ((5,), (5,))]))
    def test_positions_and_rotations_share_one_batch(self, seed, batches):
        rng, shape = rng_of(seed), np.broadcast_shapes(*batches)
        points, q = rng.normal(size=(*batches[0], 3)), unit_quaternions(rng, *batches[1])
        place = Place("tip", points, q)
        assert place.shape == shape
        np.testing.assert_array_equal(place.position, np.broadcast_to(points, (*shape, 3)))
        np.testing.assert_array_equal(place.rotation, np.broadcast_to(q, (*shape, 4)))
        np.testing.assert_array_equal(place.rows(), np.concatenate([place.position, place.rotation], axis=-1))

    def test_batches_that_do_not_go_together(self):
        message = r"^the position of 'tip' has the batch shape \(3,\), which does not go with its rotation's, \(4,\)$"
        with pytest.raises(InputError, match=message):
            Place("tip", np.zeros((3, 3)), np.ones((4, 4)))

    @given(seeds, BATCHES)
    def test_all_ways_to_write_a_place_agree(self, seed, shape):
        rng = rng_of(seed)
        points, q = rng.normal(size=(*shape, 3)), unit_quaternions(rng, *shape)
        q = np.where(q[..., :1] < 0, -q, q)
        matrices = rigid(points, q)
        place, other = Place("tip", points, q), Place("tip", [9, 9, 9], IDENTITY)
        np.testing.assert_array_equal(other.parse((points, q)), place.rows())
        np.testing.assert_array_equal(other.parse(place.rows()), place.rows())
        made = Place.from_matrix("tip", matrices, root="j1", weight=2)
        assert (made.joint, made.root, made.weight) == ("tip", "j1", 2.0)
        for rows in (
            made.rows(),
            other.parse(matrices),
            other.parse(matrices[..., :3, :]),
            other.parse((points, matrices[..., :3, :3])),
            other.with_target(matrices).rows(),
        ):
            np.testing.assert_array_equal(rows[..., :3], points)
            np.testing.assert_allclose(rows, place.rows(), atol=1e-15, rtol=0)

    def test_matrices_of_a_pose_are_places(self):
        matrices = REST.world.matrices
        place = Place.from_matrix("tip", matrices)
        np.testing.assert_array_equal(place.position, REST.world.positions)
        np.testing.assert_array_equal(place.rotation, REST.world.rotations)

    def test_the_last_row_of_a_matrix(self):
        matrix = np.eye(4)
        matrix[3, 0] = 0.9e-9
        assert Place.from_matrix("tip", matrix).shape == ()
        matrix[3, 0] = 2e-9
        message = r"^the target of 'tip' needs 0 0 0 1 as the last row of its matrix, not 2e-09 0 0 1; "
        for make in (lambda m: Place.from_matrix("tip", m), Place("tip", [0, 0, 0], IDENTITY).parse):
            for value in (matrix, [np.eye(4), matrix]):
                with pytest.raises(InputError, match=message):
                    make(value)

    def test_a_transposed_matrix_is_reported(self):
        matrix = rigid(np.array([1.0, 2, 3]), np.array(IDENTITY)).T
        with pytest.raises(InputError, match="not 1 2 3 1; matrices act on column vectors"):
            Place.from_matrix("tip", matrix)

    def test_a_matrix_with_scale_is_refused(self):
        with pytest.raises(InputError, match=r"^the rotation of 'tip' is no rotation matrix: it is not orthogonal"):
            Place.from_matrix("tip", np.diag([2.0, 2, 2, 1]))

    @pytest.mark.parametrize("matrix", [np.eye(3), np.zeros((4, 3)), 1.0, np.zeros(7)])
    def test_matrices_of_another_shape(self, matrix):
        with pytest.raises(InputError, match=r"^the target of 'tip' needs a 4 x 4 or 3 x 4 matrix; its shape is"):
            Place.from_matrix("tip", matrix)

    @pytest.mark.parametrize("value", [np.eye(3), np.zeros(3), np.zeros(4), 1.0, (1.0, 2.0, 3.0), np.zeros((5, 6))])
    def test_a_new_place_of_another_shape(self, value):
        place = Place("tip", [0, 0, 0], IDENTITY)
        for method in (place.parse, place.with_target):
            with pytest.raises(
                InputError, match=r"^the target of 'tip' needs a 4 x 4 or 3 x 4 matrix, 7 numbers x y z"
            ):
                method(value)

    def test_a_new_place_is_checked_like_the_first(self):
        place = Place("tip", [0, 0, 0], IDENTITY)
        with pytest.raises(InputError, match="^the rotation of 'tip' has zero length"):
            place.parse(np.zeros(7))
        with pytest.raises(InputError, match="^the position of 'tip' lies beyond"):
            place.parse([1e200, 0, 0, *IDENTITY])
        with pytest.raises(InputError, match="^the position of 'tip' needs 3 numbers"):
            place.parse((5, IDENTITY))


class TestDirection:
    @given(seeds, BATCHES, SIZES)
    def test_only_the_direction_counts(self, seed, shape, size):
        v = rng_of(seed).normal(size=(*shape, 3))
        unit = v / np.linalg.norm(v, axis=-1, keepdims=True)
        got = Direction("tip", v / np.abs(v).max(axis=-1, keepdims=True) * size).direction
        np.testing.assert_allclose((got * got).sum(axis=-1), 1.0, atol=1e-15, rtol=0)
        if size >= 1e-200:  # the smallest number of all has no digits to keep
            np.testing.assert_allclose(got, unit, atol=1e-15, rtol=0)

    def test_the_axis_is_the_joints_z_by_default_and_of_unit_length(self):
        assert Direction("tip", [1, 0, 0]).axis == (0.0, 0.0, 1.0)
        assert Direction("tip", [1, 0, 0], axis=[0, 3, 4]).axis == (0.0, 0.6, 0.8)

    @pytest.mark.parametrize("direction", [[0, 0, 0], [[2, 0, 0], [0, 0, 0]]])
    def test_zero_length_is_no_direction(self, direction):
        with pytest.raises(InputError, match=r"^the direction of 'tip' has zero length, so no direction$"):
            Direction("tip", direction)

    @pytest.mark.parametrize("axis", [[0, 0, 0], [1, 0], np.eye(3), [np.inf, 0, 0], "z"])
    def test_an_axis_that_is_none(self, axis):
        with pytest.raises(InputError, match="^an axis"):
            Direction("tip", [1, 0, 0], axis=axis)

    @pytest.mark.parametrize("direction", [5, [1, 0], IDENTITY, [np.nan, 0, 0]])
    def test_a_direction_is_three_finite_numbers(self, direction):
        with pytest.raises(InputError, match="^the direction of 'tip' must"):
            Direction("tip", direction)


class TestNear:
    def test_it_holds_for_all_joints_or_for_some(self):
        assert Near(REST).joints is None
        assert Near(REST, joints=(name for name in ["j2", "j0", "j2"])).joints == ("j2", "j0")
        assert Near(REST, joints=[]).joints == ()

    def test_aliases_are_resolved(self):
        skeleton = dataclasses.replace(SKELETON, aliases={"forearm": 1})
        assert Near(poise.Pose(skeleton, skeleton.rest_q), joints=["forearm", "j1"]).joints == ("j1",)

    def test_an_unknown_joint(self):
        with pytest.raises(poise.UnknownNameError, match=r"no joint 'j9'.* joints: j0, j1, j2, tip"):
            Near(REST, joints=["j1", "j9"])

    @pytest.mark.parametrize("joints", ["j1", 3])
    def test_joints_are_several_names(self, joints):
        with pytest.raises(InputError, match=r"^the joints of Near are several names, such as .*, not ('j1'|3)$"):
            Near(REST, joints=joints)

    def test_a_batch_of_poses_has_its_axes(self):
        poses = poise.Pose(SKELETON, np.tile(SKELETON.rest_q, (4, 1)))
        assert Near(poses).shape == (4,)
        assert Near(poses[0]).shape == ()

    @pytest.mark.parametrize("pose", [None, SKELETON.rest_q, SKELETON])
    def test_it_needs_a_pose(self, pose):
        with pytest.raises(InputError, match=r"^Near needs a Pose, such as rig\.rest, not "):
            Near(pose)


class TestPin:
    @pytest.mark.parametrize("rotation", [IDENTITY, 1, None, "no", np.eye(3)])
    def test_its_rotation_is_a_yes_or_no(self, rotation):
        with pytest.raises(InputError, match=r"(?s)^the rotation of the Pin of 'tip' must be True or False, not "):
            Pin("tip", rotation=rotation)

    def test_truths_of_numpy_are_truths(self):
        assert Pin("tip", rotation=np.bool_(False)).measures == ("position",)

    def test_it_keeps_its_root(self):
        assert Pin("tip", root="j1").root == "j1"
