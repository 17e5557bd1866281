"""Limits of whole rotations: the values, the kernel that moves rotations inside, and its array twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.transform import Rotation

import poise
from poise.kernels.layout import LIMIT_ROW
from poise.kernels.limits import clamp_rotation
from poise.kernels.vec_quat import read_quat, write_quat
from poise.maths import rotations
from poise.model.limit_bounds import clamp_rotations, compute_limit_angles, pack_limit
from tests.kernels.kernel_entries import compiled
from tests.strategies import rng_of, seeds, unit_quaternions

ORDERS = ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"]
CORNERS = [0.0, 0.3, 0.8, 1.5, 2.5, math.pi]


@compiled
def nearest_each(limit, q, out):
    for k in range(q.shape[0]):
        write_quat(out, k, clamp_rotation(limit, read_quat(q, k)))


def inside(limit, q):
    """What the kernel makes of rotations q (k, 4)."""
    out = np.zeros_like(q)
    nearest_each(pack_limit(limit), np.ascontiguousarray(q), out)
    return out


def random_cone(rng):
    a, b, c, d = rng.choice(CORNERS, 4)
    twist = sorted(rng.uniform(-4, 4, 2)) if rng.random() < 0.8 else (-math.inf, math.inf)
    across = None if rng.random() < 0.5 else tuple(rng.normal(size=3))
    return poise.SwingTwist(tuple(rng.normal(size=3)), ((-a, b), (-c, d)), tuple(twist), across)


def random_box(rng):
    ranges = {letter: tuple(sorted(rng.uniform(-4, 4, 2))) for letter in "xyz"}
    return poise.EulerBox(str(rng.choice(ORDERS)), **ranges)


def random_turns(rng, k=50):
    """Any rotations; some next to none, to half a turn and to half a turn of swing."""
    q = unit_quaternions(rng, k)
    q[: k // 4] *= [1, 1e-3, 1e-3, 1e-3]
    q[k // 4 : k // 2] *= [1e-4, 1, 1, 1]
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def swing_and_twist(limit, q):
    """Swing (k, 2) along the swing axes and twist (k,), by SciPy."""
    axis, (x, y) = np.array(limit.axis), np.array(limit.swing_axes)
    twist = 2 * np.arctan2(q[:, 1:] @ axis, q[:, 0])
    swing = Rotation.from_quat(q, scalar_first=True) * Rotation.from_rotvec(twist[:, None] * axis).inv()
    return np.stack([swing.as_rotvec() @ x, swing.as_rotvec() @ y], axis=-1), twist


def angle_between(p, q):
    return (Rotation.from_quat(p, scalar_first=True).inv() * Rotation.from_quat(q, scalar_first=True)).magnitude()


class TestSwingTwist:
    def test_one_half_angle_two_or_two_sides(self):
        axis = (0, 1, 0)
        assert poise.SwingTwist(axis, 0.5) == poise.SwingTwist(axis, (0.5, 0.5))
        assert poise.SwingTwist(axis, (0.5, 0.2)).sides == ((-0.5, 0.5), (-0.2, 0.2))
        assert poise.SwingTwist(axis, (0.5, (-0.1, 0.2))).sides == ((-0.5, 0.5), (-0.1, 0.2))

    def test_degrees(self):
        given_ = poise.SwingTwist.degrees((0, 2, 0), ((-10, 45), 30), (-20, 180), soft=2)
        wanted = poise.SwingTwist(
            (0, 1, 0), ((-math.radians(10), math.pi / 4), math.radians(30)), (-math.radians(20), math.pi), soft=2
        )
        assert given_ == wanted
        assert hash(given_) == hash(wanted)

    def test_the_source_is_not_compared_the_weight_is(self):
        assert poise.SwingTwist((1, 0, 0), 1, source="file") == poise.SwingTwist((1, 0, 0), 1)
        assert poise.SwingTwist((1, 0, 0), 1, soft=1) != poise.SwingTwist((1, 0, 0), 1)

    @pytest.mark.parametrize(
        ("axis", "first", "second"),
        [((1, 0, 0), (0, 1, 0), (0, 0, 1)), ((0, 1, 0), (0, 0, 1), (1, 0, 0)), ((0, 0, 1), (1, 0, 0), (0, 1, 0))],
    )
    def test_swing_axes_follow_the_twist_axis(self, axis, first, second):
        assert poise.SwingTwist(axis).swing_axes == (first, second)

    @given(seeds)
    def test_swing_axes_are_square_to_everything(self, seed):
        limit = random_cone(rng_of(seed))
        axes = np.array([limit.axis, *limit.swing_axes])
        np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(axes) == pytest.approx(1)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"axis": (0, 0, 0)}, "zero length"),
            ({"swing": -0.1}, "with 0 in it"),
            ({"swing": (0.1, (0.1, 0.2))}, "with 0 in it"),
            ({"swing": 3.2}, "at most 180 degrees"),
            ({"swing": (1, 2, 3)}, "one half-angle, or two"),
            ({"swing": "wide"}, "number"),
            ({"swing": math.nan}, "with 0 in it"),
            ({"twist": (1, -1)}, "empty range"),
            ({"twist": 0.3}, "pair"),
            ({"across": (0, -2, 0)}, "along the twist axis"),
            ({"soft": -1}, "soft"),
            ({"soft": math.nan}, "soft"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, arguments, message):
        with pytest.raises(poise.InputError, match=message):
            poise.SwingTwist(**{"axis": (0, 1, 0), **arguments})

    def test_bounded(self):
        assert not poise.SwingTwist((0, 1, 0)).bounded
        assert poise.SwingTwist((0, 1, 0), 3.0).bounded
        assert poise.SwingTwist((0, 1, 0), twist=(-3, 3)).bounded

    def test_half_a_turn_is_moved_onto_the_edge_of_a_cone(self):
        """Where the twist is not defined."""
        limit = poise.SwingTwist.degrees((0, 1, 0), 100)
        q = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
        ends = clamp_rotations(pack_limit(limit), q)
        np.testing.assert_allclose(angle_between(q, ends), math.radians(80), atol=1e-12)
        swing = compute_limit_angles(limit, q)[:, :2]
        np.testing.assert_allclose(np.linalg.norm(swing, axis=1), math.pi, atol=1e-12)

    @pytest.mark.long
    def test_a_twist_is_clamped_and_the_swing_stays(self):
        limit = poise.SwingTwist.degrees((0, 1, 0), 60, (-20, 20))
        swing, y = rotations.about(np.array([0.6, 0, 0.8]), 0.7), np.array([0.0, 1, 0])
        q = rotations.multiply(swing, rotations.about(y, math.radians(70)))
        wanted = rotations.multiply(swing, rotations.about(y, math.radians(20)))
        np.testing.assert_allclose(inside(limit, q[None])[0], wanted, atol=1e-14)

    def test_a_swing_ends_at_its_own_side(self):
        limit = poise.SwingTwist.degrees((0, 1, 0), ((-10, 50), (-20, 30)))
        x, y = map(np.array, limit.swing_axes)
        q = np.stack([rotations.about(axis, 1.0) for axis in (x, -x, y, -y)])
        ends = np.degrees(np.linalg.norm(swing_and_twist(limit, inside(limit, q))[0], axis=1))
        np.testing.assert_allclose(ends, [50, 10, 30, 20], atol=1e-9)

    def test_a_cone_may_be_wider_than_a_hemisphere(self):
        limit = poise.SwingTwist.degrees((0, 1, 0), 150)
        for degrees, left in ((149, 149), (170, 150)):
            q = inside(limit, rotations.about(np.array([1.0, 0, 0]), math.radians(degrees))[None])
            assert math.degrees(np.linalg.norm(swing_and_twist(limit, q)[0])) == pytest.approx(left)

    def test_a_swing_goes_back_the_shorter_way_round(self):
        limit = poise.SwingTwist.degrees((0, 1, 0), ((-160, 20), 90), across=(1, 0, 0))
        q = inside(limit, rotations.about(np.array([1.0, 0, 0]), math.radians(170))[None])
        assert angle_between(q, rotations.about(np.array([1.0, 0, 0]), math.radians(-160))[None]) < 1e-9

    @pytest.mark.parametrize(
        ("twist", "kept"), [(175, 175), (-175, -175), (150, 160), (-150, -160), (-10, -160), (10, 160)]
    )
    def test_a_twist_range_may_straddle_half_a_turn(self, twist, kept):
        limit = poise.SwingTwist.degrees((0, 0, 1), 30, (160, 200))
        q = inside(limit, rotations.about(np.array([0, 0, 1.0]), math.radians(twist))[None])
        assert angle_between(q, rotations.about(np.array([0, 0, 1.0]), math.radians(kept))[None]) < 1e-9

    @given(seeds)
    def test_the_swing_moves_to_the_nearest_point_of_the_ellipse(self, seed):
        rng = rng_of(seed)
        a, b, c, d = rng.uniform(0.1, 1.5, 4)
        limit = poise.SwingTwist(tuple(rng.normal(size=3)), ((-a, b), (-c, d)))
        q = random_turns(rng)
        before, after = swing_and_twist(limit, q)[0], swing_and_twist(limit, inside(limit, q))[0]
        angle = np.linspace(0, 2 * math.pi, 4001)
        edge = np.stack(
            [np.where(np.cos(angle) > 0, b, a) * np.cos(angle), np.where(np.sin(angle) > 0, d, c) * np.sin(angle)]
        )
        size = np.where(before > 0, [b, d], [a, c])
        for s, t, axes in zip(before, after, size, strict=True):
            if ((s / axes) ** 2).sum() < 1:
                np.testing.assert_allclose(t, s, atol=1e-9)
                continue
            ways = [s, s - 2 * math.pi * s / np.linalg.norm(s)]  # the same rotation, the other way round
            nearest = min(np.sqrt(((edge - way[:, None]) ** 2).sum(axis=0)).min() for way in ways)
            off = min(np.linalg.norm(t - way) for way in ways)
            assert off <= nearest + 1e-9
            assert off**2 >= nearest**2 - 1e-5  # the points that were tried are 0.002 apart


class TestEulerBox:
    @pytest.mark.parametrize("order", ORDERS)
    def test_a_rotation_made_of_legal_angles_is_legal(self, order):
        rng = rng_of(3)
        ranges = dict.fromkeys("xyz", (-1.2, 2.8))
        angles = rng.uniform(-1.2, 2.8, (500, 3))  # the middle one beyond a quarter turn, too
        q = Rotation.from_euler(order, angles).as_quat(scalar_first=True)
        np.testing.assert_array_equal(inside(poise.EulerBox(order, **ranges), q), q)

    @pytest.mark.parametrize("order", ORDERS)
    def test_what_is_moved_inside_has_legal_angles(self, order):
        rng = rng_of(4)
        limit = poise.EulerBox.degrees(order, x=(-30, 40), y=(-20, 25), z=(-50, 10))
        angles = Rotation.from_quat(inside(limit, random_turns(rng, 500)), scalar_first=True).as_euler(order)
        low, high = np.array(limit.ranges).T
        assert (angles >= low - 1e-12).all()
        assert (angles <= high + 1e-12).all()

    @pytest.mark.parametrize("order", ORDERS)
    def test_no_legal_rotation_is_nearer(self, order):
        rng = rng_of(5)
        limit = poise.EulerBox.degrees(order, x=(-30, 40), y=(-20, 25), z=(-50, 10))
        low, high = np.array(limit.ranges).T
        grid = np.stack(np.meshgrid(*[np.linspace(a, b, 25) for a, b in zip(low, high, strict=True)]), axis=-1)
        legal = Rotation.from_euler(order, grid.reshape(-1, 3)).as_quat(scalar_first=True)
        q = unit_quaternions(rng, 40)
        q = q[q[:, 0] > 0.6]
        off = np.abs((q * inside(limit, q)).sum(axis=1))
        assert (off >= np.abs(q @ legal.T).max(axis=1) - 1e-9).all()

    def test_one_angle_too_far_comes_back_alone(self):
        limit = poise.EulerBox.degrees("ZXY", x=(-30, 30), y=(-30, 30), z=(-30, 30))
        q = Rotation.from_euler("ZXY", [10, 50, -20], degrees=True).as_quat(scalar_first=True)
        angles = Rotation.from_quat(inside(limit, q[None])[0], scalar_first=True).as_euler("ZXY", degrees=True)
        np.testing.assert_allclose(angles, [10, 30, -20], atol=1e-9)

    @pytest.mark.parametrize("middle", [90, -90])
    def test_in_gimbal_lock_any_share_of_the_sum_will_do(self, middle):
        limit = poise.EulerBox.degrees("XYZ", x=(-20, 20), y=(-90, 90), z=(-50, 50))
        other = 60 if middle > 0 else -60
        q = Rotation.from_euler("XYZ", [0, middle, other], degrees=True).as_quat(scalar_first=True)
        assert angle_between(inside(limit, q[None]), q[None]) < 1e-9
        far = Rotation.from_euler("XYZ", [0, middle, 2 * other], degrees=True).as_quat(scalar_first=True)
        assert math.degrees(angle_between(inside(limit, far[None]), far[None])[0]) == pytest.approx(50, abs=1e-6)

    def test_an_angle_that_is_left_out_is_free(self):
        limit = poise.EulerBox("XYZ", y=(-0.1, 0.1))
        q = Rotation.from_euler("XYZ", [[3, 0.05, -2], [-2, -0.05, 3]]).as_quat(scalar_first=True)
        np.testing.assert_array_equal(inside(limit, q), q)
        assert limit.bounded
        assert not poise.EulerBox("XYZ").bounded

    @pytest.mark.parametrize(
        ("order", "ranges", "message"),
        [
            ("XYX", {}, "three different axes"),
            ("xyz", {}, "unknown rotation order"),
            (3, {}, "unknown rotation order"),
            ("XYZ", {"x": (1, 0)}, "empty range"),
            ("XYZ", {"y": 3}, "y angle is a pair"),
            ("XYZ", {"z": (0, math.nan)}, "range"),
            ("XYZ", {"soft": "much"}, "soft"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, order, ranges, message):
        with pytest.raises(poise.InputError, match=message):
            poise.EulerBox(order, **ranges)

    def test_equal_and_hashable(self):
        a, b = (
            poise.EulerBox.degrees("XYZ", x=(-180, 90)),
            poise.EulerBox("XYZ", x=(-math.pi, math.pi / 2), source="file"),
        )
        assert a == b
        assert hash(a) == hash(b)
        assert a != poise.EulerBox("XZY", x=(-math.pi, math.pi / 2))


@pytest.mark.parametrize("make", [random_cone, random_box])
class TestBoth:
    @given(seed=seeds)
    def test_what_was_moved_inside_stays_bit_for_bit(self, make, seed):
        rng = rng_of(seed)
        limit = make(rng)
        once = inside(limit, random_turns(rng))
        np.testing.assert_array_equal(inside(limit, once), once)
        np.testing.assert_allclose(np.linalg.norm(once, axis=1), 1, atol=1e-14)

    @given(seed=seeds)
    def test_the_sign_of_the_quaternion_is_kept(self, make, seed):
        rng = rng_of(seed)
        limit, q = make(rng), random_turns(rng)
        out = inside(limit, q)
        assert ((q * out).sum(axis=1) >= 0).all()
        same = np.abs(inside(limit, -q) + out).max(axis=1) < 1e-9
        assert same.mean() > 0.9  # but for ties: two that are equally near

    @given(seed=seeds)
    def test_the_array_twin_agrees(self, make, seed):
        rng = rng_of(seed)
        limit, q = make(rng), random_turns(rng)
        twin = clamp_rotations(pack_limit(limit), q)
        np.testing.assert_array_equal((twin == q).all(axis=1), (inside(limit, q) == q).all(axis=1))
        close = np.abs(twin - inside(limit, q)).max(axis=1) < 1e-9
        assert close.mean() > 0.9  # but for ties

    @pytest.mark.long
    @given(seed=seeds)
    def test_limits_of_one_kind_are_clamped_together_bit_for_bit(self, make, seed):
        rng = rng_of(seed)
        rows = np.array([pack_limit(make(rng)) for _ in range(9)])
        q = unit_quaternions(rng, 9 * 20).reshape(20, 9, 4)
        alone = np.stack([clamp_rotations(row, q[:, i]) for i, row in enumerate(rows)], axis=1)
        np.testing.assert_array_equal(clamp_rotations(rows, q), alone)
        np.testing.assert_array_equal(clamp_rotations(rows, q[0]), alone[0])

    @given(seed=seeds)
    def test_close_rotations_stay_close_where_the_limit_is_convex(self, make, seed):
        rng = rng_of(seed)
        limit = (
            poise.SwingTwist.degrees(tuple(rng.normal(size=3)), (40, (-30, 60)), (-40, 60))
            if make is random_cone
            else poise.EulerBox.degrees(str(rng.choice(ORDERS)), x=(-40, 30), y=(-30, 35), z=(-30, 50))
        )
        axis = rng.normal(size=3)
        q = rotations.about(axis / np.linalg.norm(axis), rng.uniform(-1.3, 1.3))
        tiny = rotations.about(np.array([0.0, 0.6, 0.8]), 1e-6)
        both = inside(limit, np.stack([q, rotations.multiply(tiny, q)]))
        assert angle_between(both[:1], both[1:])[0] < 1e-5


def test_no_limit_and_a_range_bind_no_turn():
    q = unit_quaternions(rng_of(1), 4)
    for limit in (None, poise.Range(-1, 1), poise.Range(-1, 1, soft=1.0)):
        np.testing.assert_array_equal(inside(limit, q), q)
    assert pack_limit(None).shape == (LIMIT_ROW,)


def test_values_are_those_that_the_limit_bounds():
    box = poise.EulerBox.degrees("ZXY", x=(100, 130))
    q = Rotation.from_euler("ZXY", [20, 110, 30], degrees=True).as_quat(scalar_first=True)
    np.testing.assert_allclose(np.degrees(compute_limit_angles(box, q)), [20, 110, 30], atol=1e-9)
    cone = poise.SwingTwist.degrees((0, 0, 1), 60)
    turned = rotations.multiply(
        rotations.about(np.array([0.6, 0.8, 0]), 0.5), rotations.about(np.array([0, 0, 1.0]), -1.0)
    )
    np.testing.assert_allclose(compute_limit_angles(cone, turned), [0.3, 0.4, -1.0], atol=1e-12)
