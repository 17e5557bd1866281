"""Characters whose feet hang beside their legs: feet are put where the shins end."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import PoiseError
from poise.model.skeleton import Kind
from tests.retarget.characters import build_character, build_rig

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


def test_feet_of_the_same_character_follow_skipped_rows(robot):
    clip = next(clip for clip in robot.clips if clip.name == "Robot_Walking")
    match = poise.match(robot, robot).with_joint("leftUpperLeg", skip=True)
    done = poise.retarget(clip, robot, source=robot, match=match, ground=False)
    rest = measure_shins(robot.rest)
    assert np.abs(measure_shins(done.poses) - rest).max() < 1e-5 * rest.max()
    live = poise.Retargeter(robot, robot, match=match)
    assert np.abs(measure_shins(live(clip.poses[5])) - rest).max() < 1e-5 * rest.max()


def build_detached(kind):
    """A figure whose feet hang below a root beside its legs, with toes below them."""
    whole = build_character([1.0] * 12)
    places = np.vstack([np.zeros(3), poise.Pose(whole, whole.rest_q).world.positions])
    names = ["Root", *whole.names]
    parents = [
        -1,
        *(0 if name.endswith("Foot") else int(row) + 1 for name, row in zip(whole.names, whole.parents, strict=True)),
    ]
    kinds = [kind if name.endswith("Foot") else Kind.BALL for name in names]
    offsets = [place - (places[parent] if parent >= 0 else 0.0) for place, parent in zip(places, parents, strict=True)]
    return build_rig(poise.Skeleton.build(names, parents, kinds, offsets=offsets, up="y"))


@pytest.mark.long
@pytest.mark.parametrize("kind", [Kind.BALL, Kind.FREE])
def test_detached_feet_are_planted_like_others(walk, kind):
    whole, rig = build_rig(build_character([1.0] * 12)), build_detached(kind)
    assert poise.match(walk, rig)["leftToes"].target == "LeftToeBase"
    for ground in (False, None):
        done, other = (poise.retarget(walk, target, ground=ground) for target in (rig, whole))
        for name in ("LeftLeg", "LeftFoot", "RightFoot", "RightToeBase"):
            off = done.poses.world[name].positions - other.poses.world[name].positions
            assert np.abs(off).max() < (1e-9 if ground is False else 1e-5), (name, ground)


@pytest.mark.parametrize("target", ["rightFoot", "hips"])
def test_a_foot_of_another_part_is_refused(walk, data, target):
    rig = poise.load(data / "glb/cryptovoxels.vrm")
    match = poise.match(walk, rig)
    crossed = match.with_joint("leftFoot", target=match[target].target)
    with pytest.raises(PoiseError):
        poise.retarget(walk, rig, match=crossed)
