"""Heads that look: neck, spine and pelvis turn as people do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from poise.io import samples
from poise.maths import rotations

FIGURE = poise.load(samples.path("humanoid.glb"))
HEAD = FIGURE.rest.world["Head"].positions
FEET = [poise.Pin("LeftFoot"), poise.Pin("RightFoot")]
STANDING = {"free_root": True}


def around(degrees, rise=0.0, far=2.0):
    """Points around the head by heading [degrees]: 0 ahead, 90 to the left."""
    angle = np.radians(degrees)
    return HEAD + far * np.stack([np.sin(angle), np.broadcast_to(rise, np.shape(angle)), np.cos(angle)], axis=-1)


def turned(pose, joint, base):
    """How a joint is turned from rest beside another one: rotation vectors [degrees]."""
    maps = [one.world[name].rotations for one in (pose, FIGURE.rest) for name in (base, joint)]
    now, rest = (rotations.multiply(rotations.inverse(a), b) for a, b in (maps[:2], maps[2:]))
    return np.degrees(rotations.as_vector(rotations.multiply(now, np.broadcast_to(rotations.inverse(rest), now.shape))))


@pytest.mark.parametrize("heading", [20, 60, 90, 104, -104])
def test_neck_and_spine_stay_within_human_ranges(heading):
    result = poise.solve(FIGURE.rest, poise.LookAt("Head", around(heading)))
    assert result.reached
    assert np.linalg.norm(turned(result.pose, "Head", "Chest")) < 61
    assert np.linalg.norm(turned(result.pose, "Chest", "Hips")) < 46


@pytest.mark.parametrize("heading", [120, -148])
def test_the_pelvis_of_a_figure_on_its_feet_helps(heading):
    result = poise.solve(FIGURE.rest, [*FEET, poise.LookAt("Head", around(heading))], **STANDING)
    assert result.reached
    assert result.natural
    assert np.linalg.norm(turned(result.pose, "Head", "Chest")) < 61
    assert np.linalg.norm(turned(result.pose, "Chest", "Hips")) < 46
    hips = rotations.multiply(
        result.pose.world["Hips"].rotations, rotations.inverse(FIGURE.rest.world["Hips"].rotations)
    )
    assert 10 < np.degrees(np.linalg.norm(rotations.as_vector(hips))) < 46


def test_the_head_begins():
    pose = poise.solve(FIGURE.rest, [*FEET, poise.LookAt("Head", around(10))], **STANDING).pose
    assert np.linalg.norm(turned(pose, "Head", "Chest")) > 8.5
    assert np.linalg.norm(turned(pose, "Chest", "Hips")) < 1.5


def test_a_level_target_twists_and_bends_nothing():
    pose = poise.solve(FIGURE.rest, poise.LookAt("Head", around(80))).pose
    for joint, base in (("Head", "Chest"), ("Chest", "Hips")):
        x, y, z = turned(pose, joint, base)
        assert abs(y) > 20
        assert np.hypot(x, z) < 2


def test_all_round_and_behind_it_is_met():
    targets = np.concatenate([around(np.arange(-180, 180, 15), rise) for rise in (-4, -1, 0, 1, 4)])
    for goals, options in (([], {}), (FEET, STANDING)):
        result = poise.solve(FIGURE.rest, [*goals, poise.LookAt("Head", targets)], **options)
        assert result.reached.all()


def test_what_goals_say_is_kept():
    target = around(60)
    shared = poise.solve(FIGURE.rest, poise.LookAt("Head", target, over={"Chest": 1, "Head": 1}))
    angles = [
        np.linalg.norm(turned(shared.pose, joint, base)) for joint, base in (("Chest", "Spine"), ("Head", "Neck"))
    ]
    assert angles[0] == pytest.approx(angles[1], rel=0.02)
    plain = poise.solve(FIGURE.rest, poise.LookAt("Head", target), natural=False)
    assert plain.joints == ("Chest", "Neck", "Head")
    near = poise.solve(FIGURE.rest, [poise.LookAt("Head", target), poise.Near(FIGURE.rest, joints=["Neck"])])
    assert near.reached


@settings(max_examples=15, deadline=None)
@given(rise=st.floats(-3, 3))
def test_it_is_continuous_round_the_body(rise):
    """From behind on one side to behind on the other, in steps of a quarter of a degree."""
    targets = around(np.arange(-178, 178, 0.25), rise)
    pose = poise.solve(FIGURE.rest, [*FEET, poise.LookAt("Head", targets)], **STANDING).pose
    for joint in ("Head", "Chest", "Hips"):
        own = pose.world[joint].rotations
        steps = rotations.as_vector(rotations.multiply(own[1:], rotations.inverse(own[:-1])))
        assert np.degrees(np.linalg.norm(steps, axis=-1)).max() < 3


def test_single_calls_batches_and_trackers_agree():
    targets = around(np.linspace(-120, 150, 17), 0.4)
    goals = [*FEET, poise.LookAt("Head", targets)]
    batch = poise.solve(FIGURE.rest, goals, **STANDING).pose.q
    singles = [poise.solve(FIGURE.rest, [*FEET, poise.LookAt("Head", target)], **STANDING).pose.q for target in targets]
    np.testing.assert_array_equal(batch, singles)
    tracker = poise.Tracker(FIGURE.rest, [*FEET, poise.LookAt("Head", targets[0])], **STANDING)
    shown = [tracker({"Head": target}, 1 / 30).pose.world["Head"].rotations for target in targets]
    own = poise.Pose(FIGURE.skeleton.with_free_root(), batch).world["Head"].rotations
    assert np.abs((np.array(shown) * own).sum(axis=-1)).min() > np.cos(np.radians(1))


def test_limits_are_kept():
    limited = FIGURE.skeleton.with_limits({"Neck": poise.SwingTwist([0, 1, 0], 0.2, (-0.1, 0.1))})
    result = poise.solve(poise.Pose(limited, limited.rest_q), poise.LookAt("Head", around(np.arange(-90, 91, 30), 0.5)))
    assert result.reached.all()
    assert np.all(result.violation <= 1e-9)
