"""Trackers that start outside limits: joints come back at their own pace, and every frame names them."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Position, Range, SwingTwist
from poise.io import samples
from poise.maths import rotations
from tests.reference.slow_pace import rotation_angle
from tests.strategies import straight_chain

DT = 1 / 60


def arm_outside(by=0.6):
    """The sample arm with its shoulder beyond its range, a target, and the row of the shoulder."""
    arm = poise.load(samples.path("arm.urdf"))
    q = np.zeros(6)
    q[1] = arm.skeleton.value_ranges[1, 1] + by
    return poise.Pose(arm.skeleton, q), [0.3, 0.2, 0.5]


def chain_outside(limit):
    """A chain of balls, the second of which a limit does not let turn as it does, and the columns of that one."""
    chain = straight_chain(3).with_limits({"j1": limit})
    start = poise.Pose(chain, chain.rest_q).replace({"j1": rotations.about(np.array([0.6, 0.0, 0.8]), 1.5)})
    return start, chain.q_slice("j1")


def test_a_hinge_comes_back_at_its_speed_and_is_named_until_it_is_inside():
    start, target = arm_outside()
    follow = poise.Tracker(start, Position("tool", target), speed=1.0)
    np.testing.assert_array_equal(follow.pose.q, start.q)
    q, high, named = start.q, start.skeleton.value_ranges[1, 1], 0
    for _ in range(60):
        was_outside = q[1] > high + 1e-9
        result = follow(target, dt=DT)
        assert np.abs(result.q - q).max() <= 1.0 * DT + 1e-12
        assert result.moved_inside == (("shoulder",) if was_outside else ())
        assert result.violation == pytest.approx(max(result.q[1] - high, 0.0), abs=1e-9)
        named, q = named + was_outside, result.q
    assert named == 36  # 0.6 rad at 1 rad/s


def test_damping_alone_halves_what_is_outside_in_its_half_life():
    start, target = arm_outside()
    follow = poise.Tracker(start, Position("tool", target), damping=0.5)
    first = follow(target, dt=DT)
    before = start.q[1] - follow.solved.q[1]
    assert first.q[1] - follow.solved.q[1] == pytest.approx(before * 2 ** (-DT / 0.5))
    assert first.moved_inside == ("shoulder",)


def test_at_once_without_a_pace_and_named_in_the_first_frame():
    start, target = arm_outside()
    follow = poise.Tracker(start, Position("tool", target))
    first, second = follow(target, dt=DT), follow(target, dt=DT)
    assert first.violation <= 1e-9
    assert (first.moved_inside, second.moved_inside) == (("shoulder",), ())
    np.testing.assert_array_equal(
        first.q,
        poise.Tracker(first.pose.with_q(start.skeleton.legal(start.q)[0]), Position("tool", target))(target, dt=DT).q,
    )


@pytest.mark.parametrize(
    "limit", [SwingTwist((0, 1, 0), swing=0.4, twist=(-0.1, 0.1)), Range(-0.5, 0.5, axis=(0, 0, 1)),
              poise.EulerBox("XYZ", x=(-0.2, 0.2), y=(-0.2, 0.2), z=(-0.3, 0.3))]
)  # fmt: skip
def test_a_ball_comes_back_at_its_speed(limit):
    start, own = chain_outside(limit)
    follow = poise.Tracker(start, Position("tip", [1.0, 1.5, 0.2]), speed=2.0)
    q = start.q
    for frame in range(90):
        result = follow([1.0, 1.5, 0.2], dt=DT)
        columns = start.skeleton.quaternion_columns
        assert rotation_angle(result.q[columns], q[columns]).max() <= 2.0 * DT + 1e-9
        assert (result.moved_inside == ("j1",)) == (start.skeleton.legal(q)[1] == ("j1",))
        assert frame or result.moved_inside == ("j1",)
        q = result.q
    assert result.violation <= 1e-9
    assert result.moved_inside == ()
    assert own.stop - own.start == 4


def test_a_pose_outside_its_limits_is_not_reached():
    """Every frame meets the goal, and the legal ones alone reach it."""
    start, target = arm_outside()
    follow, frames = poise.Tracker(start, Position("tool", target), tolerance=10.0, speed=1.0), 0
    for _ in range(40):
        result = follow(target, dt=DT)
        outside = result.violation > 1e-9
        assert result.reached is not outside
        if outside:
            frames += 1
            assert result.status is poise.Status.on_the_way
            message_text = f"{result.length(float(result.error))} left; still outside its limits: shoulder"
            assert result.message() == f"on the way (held back by speed): {message_text}"
    assert frames == 35


def test_two_frames_of_half_the_time_show_what_one_shows():
    start, _ = arm_outside()
    target = start.with_q(start.skeleton.legal(start.q)[0]).world["tool"].positions  # where the solved pose rests
    whole, halves = (poise.Tracker(start, Position("tool", target), speed=1.0, damping=0.1) for _ in range(2))
    for _ in range(20):
        once = whole(target, dt=DT)
        halves(target, dt=DT / 2)
        np.testing.assert_allclose(halves(target, dt=DT / 2).q, once.q, atol=1e-9)


def test_reset_to_a_pose_outside_and_back_to_the_first():
    start, target = arm_outside()
    rest = poise.Pose(start.skeleton, np.zeros(6))
    follow = poise.Tracker(rest, Position("tool", target), speed=1.0)
    assert follow(target, dt=DT).moved_inside == ()
    follow.reset(start)
    np.testing.assert_array_equal(follow.pose.q, start.q)
    assert follow(target, dt=DT).moved_inside == ("shoulder",)
    follow.reset()
    np.testing.assert_array_equal(follow.pose.q, rest.q)
    assert follow(target, dt=DT).moved_inside == ()


def test_a_root_that_is_freed_keeps_to_its_speed():
    """A figure whose file has no free root: the joints' numbers stand elsewhere once it has one."""
    rest = poise.load(samples.path("humanoid.glb")).rest
    goal = Position("LeftHand", rest.world["LeftHand"].positions, root="Hips")
    follow = poise.Tracker(rest, goal, speed=0.5, free_root=True)
    q, target = follow.pose.q, rest.world["LeftHand"].positions + np.array([0.5, 0.3, 0.4])
    for _ in range(3):
        result = follow(target, dt=DT)
        columns = follow.skeleton.quaternion_columns
        assert rotation_angle(result.q[columns], q[columns]).max() <= 0.5 * DT + 1e-9
        q = result.q
