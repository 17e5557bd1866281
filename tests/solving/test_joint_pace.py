"""The pace of joints: a flow that no frame rate changes, inside limits, and to rounding what arrays say."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from poise import EulerBox, Range, SwingTwist, kernels
from poise.maths import rotations
from poise.solving.diagnosis import compute_max_violation
from poise.solving.tracker import SpeedLimitedMotion
from tests.conftest import ROOT
from tests.kernels.kernel_entries import entered
from tests.reference import slow_pace
from tests.reference.slow_pace import rotation_angle
from tests.strategies import random_q, random_skeleton, rng_of, seeds, straight_chain

NEVER, TINY, HUGE = 0.0, 5e-324, 1e300
TIMES = st.sampled_from([NEVER, TINY, 1e-9, 1 / 60, 0.7, 30.0, HUGE])
HALF_LIVES = st.sampled_from([0.0, TINY, 1e-9, 0.05, 0.4, 1e9])
SPEEDS = st.sampled_from([math.inf, TINY, 1e-6, 0.3, 4.0, HUGE])
AXIS = (0.6, 0.0, 0.8)
CONE = SwingTwist((0, 0, 1), swing=0.9, twist=(-0.5, 0.7))
BOX = EulerBox("XYZ", x=(-0.4, 1.9), y=(-0.3, 0.3), z=(-2.0, 0.1))


def left_of(distance, seconds, speed, half_life):
    """The compiled one, of numbers of any kind."""
    return entered(kernels.speed_limited_motion.compute_remaining_distance)(
        float(distance), float(seconds), float(speed), float(half_life)
    )


def limited(rng, skeleton):
    """The same with a limit of any kind on half of its joints; those that lead others have none."""
    leaders, limits = {skeleton.names[c.leader] for c in skeleton.couplings if c}, {}
    for name in skeleton.names:
        kind, low, high = skeleton[name].kind, *np.sort(rng.uniform(-4, 4, size=2))
        soft = float(rng.choice([0.0, 0.0, 0.5]))
        if rng.random() < 0.5 and kind and not skeleton[name].coupling and name not in leaders:
            on_balls = [Range(low, high, axis=AXIS, soft=soft), CONE, BOX]
            limits[name] = Range(low, high, soft=soft) if kind < 3 else on_balls[rng.integers(3)]
    return skeleton.with_limits(limits)


def towards(rng, skeleton, q):
    """A goal that is q, the same rotations written the other way, q after whole turns, nearby, or anywhere."""
    goal = q.copy()
    way = rng.integers(5)
    if way == 1:
        goal[skeleton.quaternion_columns] *= -1
    elif way == 2:
        hinges = skeleton.q_start[skeleton.kinds == 1]
        goal[hinges] += 2 * np.pi * rng.integers(-3, 4, size=len(hinges))
    elif way == 3:
        goal = 1e-7 * random_q(rng, skeleton) + q
        goal[skeleton.quaternion_columns] = rotations.normalise(goal[skeleton.quaternion_columns])
    elif way == 4:
        goal = random_q(rng, skeleton)
        goal[skeleton.q_start[skeleton.kinds == 1]] *= 5
    return skeleton.legal(goal)[0]


def signed_like(skeleton, q, other):
    """The same rotations, those written the other way than in `other` turned over."""
    q, turns = q.copy(), skeleton.quaternion_columns
    q[turns] *= np.where((q[turns] * other[turns]).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    return q


def case(seed):
    """A skeleton with limits, and two legal configurations."""
    rng = rng_of(seed)
    skeleton = limited(rng, random_skeleton(rng, 9))
    q = skeleton.legal(random_q(rng, skeleton))[0]
    return skeleton, q, towards(rng, skeleton, q)


def plain_cases():
    """Where some steps lead; compiled or not."""
    out = []
    for seed in range(12):
        skeleton, q, goal = case(seed)
        for seconds, half_life, speed in ((0.0, 0.0, 1.0), (0.2, 0.3, 0.7), (0.5, 0.0, 2.0), (0.3, 0.1, None)):
            out.append(SpeedLimitedMotion(skeleton, half_life, speed)(q, goal, seconds).tolist())
    return out


class TestArrays:
    """The kernel beside the arrays of tests/reference/slow_pace.py."""

    @pytest.mark.long
    @given(seed=seeds, seconds=TIMES, half_life=HALF_LIVES, speed=SPEEDS)
    @settings(max_examples=150)
    def test_it_goes_where_the_arrays_do(self, seed, seconds, half_life, speed):
        skeleton, q, goal = case(seed)
        by_name = {name: speed for name in skeleton.names if rng_of(seed).random() < 0.9}
        speeds = np.array([by_name.get(name, math.inf) for name in skeleton.names])
        with np.errstate(over="ignore"):  # uncompiled, numbers of NumPy warn
            found = SpeedLimitedMotion(skeleton, half_life, by_name)(q, goal, seconds)
        wanted = slow_pace.approached(skeleton, q, goal, seconds, half_life, speeds)
        # Whether a way is nothing or a rounding decides which of its two quaternions stands for a rotation.
        np.testing.assert_allclose(found, signed_like(skeleton, wanted, found), rtol=1e-13, atol=2e-12)
        assert compute_max_violation(skeleton, found[None]) <= 1e-9

    @given(st.floats(0, 1e6), TIMES, SPEEDS, HALF_LIVES)
    def test_what_is_left_is_what_the_arrays_say(self, distance, seconds, speed, half_life):
        wanted = slow_pace.left_of(np.array([distance]), seconds, np.array([speed]), half_life)
        assert left_of(distance, seconds, speed, half_life) == pytest.approx(wanted[0], rel=1e-12, abs=1e-15 * distance)

    @given(seed=seeds, seconds=TIMES, half_life=HALF_LIVES, speed=SPEEDS)
    @settings(max_examples=50)
    def test_where_it_is_already_nothing_moves_by_a_bit(self, seed, seconds, half_life, speed):
        skeleton, q, _ = case(seed)
        assert SpeedLimitedMotion(skeleton, half_life, speed)(q, q.copy(), seconds).tobytes() == q.tobytes()

    @given(seed=seeds)
    @settings(max_examples=30)
    def test_what_arrives_has_the_bits_of_its_goal(self, seed):
        rng = rng_of(seed)
        s = random_skeleton(rng, 9)
        q, goal = random_q(rng, s), random_q(rng, s)
        for each in (q, goal):
            columns = s.q_start[(s.kinds == 1) | (s.kinds == 2)]
            each[columns] *= rng.uniform(0.01, 0.5, size=len(columns))  # no way round is shorter; digits of any size
        assert SpeedLimitedMotion(s, 0.0, 1e3)(q, goal, 1.0).tobytes() == goal.tobytes()

    @pytest.mark.long
    def test_uncompiled_agrees(self):
        code = "import json, tests.solving.test_joint_pace as t; print(json.dumps(t.plain_cases()))"
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT,
            env=os.environ | {"POISE_KERNELS": "plain"},
        )  # fmt: skip
        for compiled, plain in zip(plain_cases(), json.loads(done.stdout), strict=True):
            np.testing.assert_allclose(compiled, plain, atol=1e-12)


class TestFlow:
    @given(st.floats(0, 10), st.floats(0.001, 2), st.floats(0.01, 10), st.floats(0, 1), st.floats(0, 1))
    def test_two_steps_are_one(self, distance, seconds, speed, half_life, share):
        """The closed form is a flow: where it leads depends on the time alone, not on how it is cut up."""
        for most in (speed, math.inf):
            part = left_of(distance, share * seconds, most, half_life)
            parts = left_of(part, (1 - share) * seconds, most, half_life)
            assert parts == pytest.approx(left_of(distance, seconds, most, half_life), abs=1e-9)

    @given(seed=seeds, half_life=st.sampled_from([0.0, 0.3]), speed=st.sampled_from([0.4, 5.0, math.inf]))
    @settings(max_examples=50)
    def test_two_steps_of_every_kind_of_joint_are_one(self, seed, half_life, speed):
        """Not where limits stand between: a pose that is moved inside them is somewhere else."""
        rng = rng_of(seed)
        s = random_skeleton(rng, 8).with_limits({})
        q, goal = random_q(rng, s), random_q(rng, s)
        step = SpeedLimitedMotion(s, half_life, speed)
        once, twice = step(q, goal, 0.5), step(step(q, goal, 0.2), goal, 0.3)
        np.testing.assert_allclose(poise.Pose(s, twice).world.affine, poise.Pose(s, once).world.affine, atol=1e-9)

    def test_half_is_left_after_the_half_life_and_speed_is_kept(self):
        assert left_of(1, 0.2, math.inf, 0.2) == pytest.approx(0.5)
        assert left_of(1, 0.2, math.inf, 0) == 0
        assert left_of(1, 0, math.inf, 0) == 1
        assert left_of(1, 0.2, 2, 0) == pytest.approx(0.6)


class TestLimits:
    def test_what_slerp_leads_out_of_a_cone_is_moved_inside(self):
        """Beyond a right angle a cone is not convex: the shortest way between two of its rotations leaves it."""
        narrow = SwingTwist((0, 0, 1), swing=((-0.1, 0.1), (-2.9, 2.9)), twist=(-1.5, 1.5))
        s = straight_chain(1).with_limits({"j0": narrow})
        rng, left = rng_of(5), 0.0
        for _ in range(40):
            q, goal = s.legal(random_q(rng, s))[0], s.legal(random_q(rng, s))[0]
            step = SpeedLimitedMotion(s, 0.0, 1.0)
            shown = step(q, goal, 0.5)
            share = min(0.5 / rotation_angle(q, goal), 1.0)
            left = max(left, compute_max_violation(s, rotations.slerp(q, goal, share)[None]))
            assert compute_max_violation(s, shown[None]) <= 1e-9
        assert left > 0.1

    @pytest.mark.parametrize("side", [1.0, -1.0])
    def test_a_ball_on_a_hinge_without_ends_goes_the_shorter_way_however_it_is_written(self, side):
        s = straight_chain(1).with_limits({"j0": Range(-1, 1, axis=AXIS, soft=1.0)})
        q, goal = (rotations.about(np.array(AXIS), side * angle) for angle in (0.2, 0.4))
        for sign in (1.0, -1.0):
            shown = SpeedLimitedMotion(s, 0.0, 1.0)(q, sign * goal, 0.1)
            assert rotations.twist_angle(shown, np.array(AXIS)) == pytest.approx(side * 0.3)

    def test_a_ball_on_a_hinge_goes_along_a_range_beyond_half_a_turn(self):
        s = straight_chain(1).with_limits({"j0": Range(2.5, 3.8, axis=AXIS)})
        q, goal = (rotations.about(np.array(AXIS), angle) for angle in (3.7, 2.6))
        shown = SpeedLimitedMotion(s, 0.0, 1.0)(q, goal, 0.5)
        assert rotation_angle(shown, rotations.about(np.array(AXIS), 3.2)) < 1e-9

    def test_what_is_hardly_outside_is_left_alone(self):
        s = straight_chain(1, kind=1, axes=[(0, 0, 1)]).with_limits({"j0": Range(-1, 1)})
        off = 1.0 + 4e-10
        assert SpeedLimitedMotion(s, 0.0, None)(np.array([0.5]), np.array([off]), 1.0)[0] == off
        assert SpeedLimitedMotion(s, 0.0, None)(np.array([0.5]), np.array([1.0 + 2e-9]), 1.0)[0] == 1.0

    def test_a_follower_has_no_numbers_and_its_leader_does_not_wrap(self):
        s = poise.Skeleton.build(
            "ab", [-1, 0], [1, 1], axes=[(0, 0, 1)] * 2, couplings=[None, poise.Coupling(0, 0.5, 0.1)]
        )
        assert SpeedLimitedMotion(s, 0, {"a": 0.5, "b": 1e-9})(np.array([3.0]), np.array([-3.0]), 0.2) == pytest.approx(
            [2.9]
        )

    @given(seed=seeds, half_life=st.sampled_from([0.0, 0.3]))
    @settings(max_examples=40)
    def test_speeds_of_every_kind_of_joint_and_limits_hold(self, seed, half_life):
        rng = rng_of(seed)
        s = random_skeleton(rng, 7)
        limits = {}
        for name in s.names:
            joint = s[name]
            if joint.kind and not joint.coupling and rng.random() < 0.5:
                limits[name] = Range(*np.sort(rng.uniform(-3, 3, size=2)), axis=None if joint.kind < 3 else (0, 1, 0))
        leaders = {s.names[c.leader] for c in s.couplings if c}
        s = s.with_limits({name: limit for name, limit in limits.items() if name not in leaders})
        q, goal = s.legal(random_q(rng, s))[0], s.legal(random_q(rng, s))[0]
        speed, dt = float(rng.uniform(0.1, 3)), float(rng.uniform(0.01, 1))
        step = SpeedLimitedMotion(s, half_life, speed)
        on_the_way = step(q, goal, dt)
        assert s.legal(on_the_way)[1] == ()
        assert (rotation_angle(q[s.quaternion_columns], on_the_way[s.quaternion_columns]) <= speed * dt + 1e-9).all()
        numbers = np.setdiff1d(np.arange(s.nq), s.quaternion_columns)
        assert (np.abs(q - on_the_way)[numbers] <= speed * dt + 1e-9).all()
        there, wanted = SpeedLimitedMotion(s, half_life, None)(q, goal, 1e6), s.legal(goal)[0]
        np.testing.assert_allclose(poise.Pose(s, there).world.affine, poise.Pose(s, wanted).world.affine, atol=1e-8)

    def test_a_bent_ball_goes_along_its_range_not_across_what_it_forbids(self):
        axis = np.array([0.0, 0.0, 1.0])
        s = straight_chain(1).with_limits({"j0": Range.degrees(-170, 170, axis=axis)})
        q, goal = (rotations.about(axis, math.radians(angle)) for angle in (-160, 160))
        step, angles = SpeedLimitedMotion(s, 0, math.radians(100)), []
        for _ in range(4):
            q = step(q, goal, 1.0)
            angles.append(math.degrees(float(rotations.twist_angle(q, axis))))
        assert angles == pytest.approx([-60, 40, 140, 160])

    def test_a_hinge_without_ends_takes_the_shorter_way(self):
        s = straight_chain(1, kind=1, axes=[(0, 0, 1)])
        assert SpeedLimitedMotion(s, 0, 0.5)(np.array([3.0]), np.array([-3.0]), 0.2) == pytest.approx([3.1])
        limited = s.with_limits({"j0": Range(-3.1, 3.1)})
        assert SpeedLimitedMotion(limited, 0, 0.5)(np.array([3.0]), np.array([-3.0]), 0.2) == pytest.approx([2.9])
