"""Characters whose feet hang beside their legs: feet are put where the shins end."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import PoiseError

FEET = {"left": ("LowerLeg.L_1", "Foot.L_1"), "right": ("LowerLeg.R_1", "Foot.R_1")}


@pytest.fixture(scope="module")
def walk(data):
    return poise.load(data / "bvh/cmu_12_01_walk.bvh")


@pytest.fixture(scope="module")
def robot(data):
    with pytest.warns(poise.PoiseWarning, match="renamed"):
        return poise.load(data / "glb/robot_quaternius.glb")


@pytest.fixture(scope="module")
def free(walk, robot):
    return poise.retarget(walk, robot, ground=False)


def measure_shins(poses):
    """Lengths (..., 2) from knee to foot."""
    ways = [poses.world[foot].positions - poses.world[shin].positions for shin, foot in FEET.values()]
    return np.stack([np.linalg.norm(way, axis=-1) for way in ways], axis=-1)


def test_a_match_finds_feet_beside_their_legs(walk, robot):
    match = poise.match(walk, robot)
    assert {side: match[f"{side}Foot"].target for side in FEET} == {side: foot for side, (_, foot) in FEET.items()}


def test_feet_are_where_the_shins_end(free, robot):
    rest = measure_shins(robot.rest)
    assert np.abs(measure_shins(free.poses) - rest).max() < 1e-5 * rest.max()  # scales are of single precision
    for role in ("leftUpperLeg", "leftLowerLeg", "rightUpperLeg", "rightLowerLeg"):
        assert free.report.angles[role].max() < 0.01


def test_feet_that_stand_stay_where_they_are(walk, robot):
    done = poise.retarget(walk, robot)
    leg = done.bodies[1].leg_length
    for column, side in enumerate(done.contacts.legs):
        places = done.poses.world[FEET[side][1]].positions
        stands = done.contacts.heel[:, column] & done.contacts.ball[:, column]
        steps = np.linalg.norm(np.diff(places, axis=0), axis=1)[stands[1:] & stands[:-1]]
        assert np.percentile(steps, 95) * done.fps < 0.02 * leg  # lengths of the leg a second


def test_feet_go_along_when_the_way_is_taken_out(walk, robot, free):
    still = poise.retarget(walk, robot, ground=False, root="in_place")
    assert np.abs(measure_shins(still.poses) - measure_shins(free.poses)).max() < 1e-9
    assert np.ptp(still.poses.world["Foot.L_1"].positions[:, 2]) < 0.5 * np.ptp(
        free.poses.world["Foot.L_1"].positions[:, 2]
    )


def test_a_live_character_has_its_feet_there_too(walk, robot):
    live, plain = poise.Retargeter(walk, robot), poise.retarget(walk, robot, ground=False, hands="directions")
    for frame in (0, 100, 300):
        assert np.abs(live(plain.source.poses[frame]).world.positions - plain.poses[frame].world.positions).max() < 1e-9


def test_such_a_character_moves_others(data, robot):
    target = poise.load(data / "glb/cryptovoxels.vrm")
    clip = next(clip for clip in robot.clips if clip.name == "Robot_Dance")
    done = poise.retarget(clip, target, source=robot)
    assert done.report.ok, done.report
    again = poise.retarget(clip, robot, source=robot)
    assert np.abs(again.poses.world.positions - clip.poses.world.positions).max() < 1e-9


def test_a_foot_of_the_other_leg_is_refused(walk, data):
    target = poise.load(data / "glb/cryptovoxels.vrm")
    match = poise.match(walk, target)
    crossed = match.with_joint("leftFoot", target=match["rightFoot"].target)
    with pytest.raises(PoiseError):
        poise.retarget(walk, target, match=crossed)
