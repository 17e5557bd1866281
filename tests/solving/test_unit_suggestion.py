"""A target far out of reach: the sentence asks for the unit in which it is within reach."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise

TARGET = np.array([0.4, 1.2, 0.35])  # [m] in reach of the left hand


def message_text(target, metres=1.0):
    """What a solve says of a target, in a file whose unit is so long; None: unknown."""
    rig = poise.load(poise.sample("humanoid"))
    skeleton = dataclasses.replace(rig.skeleton, metres_per_unit=metres)
    return poise.solve(poise.Pose(skeleton, rig.rest.q), poise.Position("LeftHand", target)).message()


@pytest.mark.parametrize(
    ("factor", "metres", "requested"),
    [
        (1.0, 1.0, ""),
        (3.0, 1.0, ""),
        (100.0, 1.0, "(is it in centimetres? the file's unit is 1 m)"),
        (1000.0, 1.0, "(is it in millimetres? the file's unit is 1 m)"),
        (0.01, 0.01, "(is it in metres? the file's unit is 0.01 m)"),
        (10.0, 0.01, "(is it in millimetres? the file's unit is 0.01 m)"),
        (100.0, None, "(a hundredth of it is within reach: is it in the unit of the file?)"),
        (0.01, None, "(it is, times a hundred, within reach: is it in the unit of the file?)"),
    ],
)
def test_another_unit_is_requested_where_it_brings_the_target_within_reach(factor, metres, requested):
    message = message_text(TARGET * factor, metres)
    assert message.startswith("reached" if factor == 1.0 else "out of reach")
    assert requested in message
    assert message.count("is it in") == bool(requested)


@pytest.mark.parametrize(
    ("metres", "requested"),
    [
        (1.0, "(is it in centimetres? the file's unit is 1 m)"),
        (None, "(a hundredth of it is nearly within reach: is it in the unit of the file?)"),
    ],
)
def test_another_unit_is_requested_where_it_brings_the_target_nearly_within_reach(metres, requested):
    assert "beyond the longest reach" in message_text([0.8, 1.1, 0.4])
    assert requested in message_text([80.0, 110.0, 40.0], metres)


@pytest.mark.parametrize("target", [[-40.0, 1.2, -400.0], [np.nextafter(0, 1), 0.0, 0.0], [1e100, 0.0, 0.0]])
def test_nothing_is_requested_where_no_unit_brings_it_near(target):
    message = message_text(target)
    assert message.startswith("out of reach")
    assert "is it in" not in message


def test_a_joint_that_cannot_leave_its_place_asks_for_no_unit():
    skeleton = poise.Skeleton.build("ab", [-1, 0], [1, 0], axes=[(0, 0, 1)] * 2)
    found = poise.solve(poise.Pose(skeleton, skeleton.rest_q), poise.Position("b", [1.0, 0, 0]))
    assert found.message().startswith("out of reach: the target is 1 beyond the longest reach of ")
