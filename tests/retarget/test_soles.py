"""poise.retarget(): soles and supports of the source."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise.ground.contact.soles import find_soles
from poise.ground.figure.figure import figure_of
from poise.ground.figure.motion import motion_of, rest_motion
from poise.maths import rotations
from poise.maths.vectors import normalise
from poise.retargeting.body import measure_body
from poise.retargeting.hand_contact import compute_touch_weights
from poise.retargeting.paired_soles import find_foot_pair
from tests.retarget.characters import build_character, build_rig


def stand_on_toes(rig, side, degrees):
    """A motion of one frame: one foot is on its toes, and as low as the other foot, which is flat."""
    q = np.array(rig.skeleton.rest_q)
    for name, angle in ((f"{side}Foot", degrees), (f"{side}ToeBase", -degrees)):
        start = int(rig.skeleton.q_start[rig.skeleton.index(name)])
        q[start : start + 4] = rotations.about(np.array([1.0, 0.0, 0.0]), np.radians(angle))
    pose = poise.Pose(rig.skeleton, q[None])
    motion = motion_of(poise.Clip(np.zeros(1), pose), figure_of(rig.rest, rig=rig))
    lowest = motion.places[0, :, :, 2].min(axis=1)
    column = ("Left", "Right").index(side)
    lift = np.zeros((1, 2, 1, 3))
    lift[0, column, 0, 2] = lowest[1 - column] - lowest[column]
    return dataclasses.replace(motion, places=motion.places + lift)


@pytest.mark.parametrize("degrees", [35.0, 55.0])
@pytest.mark.parametrize("side", ["Left", "Right"])
def test_a_foot_measured_on_its_toes_has_the_sole_of_the_other_foot(side, degrees):
    rig = build_rig(build_character([1.0] * 12))
    motion = stand_on_toes(rig, side, degrees)
    measured, wanted = find_soles(motion), find_soles(rest_motion(motion.figure))
    assert np.ptp(np.linalg.norm(measured.normals, axis=-1)) > 0.05
    pair = find_foot_pair(motion, measured)
    paired = pair.pair_soles(measured)
    for name in ("heel", "ball", "tip"):
        assert np.abs(getattr(paired, name) - getattr(wanted, name)).max() < 1e-9, name
    assert pair.note == f"the {side.lower()} foot never stands flat: its sole is taken to be that of the other foot"


def test_soles_that_are_alike_stay():
    rig = build_rig(build_character([1.0] * 12))
    motion = rest_motion(figure_of(rig.rest, rig=rig))
    assert find_foot_pair(motion, find_soles(motion)) is None


@pytest.mark.long
@pytest.mark.parametrize("name", ["mixamo_human_makehuman.glb", "cryptovoxels.vrm", "knight_kaykit.glb"])
def test_legs_of_a_dance_on_tiptoe_point_as_in_the_source(data, name):
    """Its right foot never stands flat. Taken for flat, it pressed the legs 30 to 47 degrees aside."""
    dance, target = poise.load(data / "bvh/jesse_dance_rokoko.bvh"), poise.load(data / "glb" / name)
    done = poise.retarget(dance, target)
    assert "the right foot never stands flat: its sole is taken to be that of the other foot" in done.notes
    assert max(limb.p95 for limb in done.report.standing) < 6.0
    assert done.report.ok


def test_what_bears_is_what_bears_in_the_source(data):
    clip, target = poise.load(data / "bvh/mocapbank.bvh"), poise.load(data / "glb/knight_kaykit.glb")
    bearing = poise.retarget(clip, target).planted.bearing
    assert [part for part, on in zip(bearing.parts, bearing.on.T, strict=True) if on.any()] == ["right knee"]


def test_the_weight_of_hands_fades_where_an_arm_bears():
    rig = build_rig(build_character([1.0] * 12))
    body = measure_body(rig.skeleton, rig.roles.joints, [])
    times = np.arange(90) / 60.0
    positions = np.zeros((90, len(rig.skeleton), 3))  # hands together in all frames
    bears = np.zeros(90, dtype=bool)
    bears[40:50] = True
    weights = compute_touch_weights(times, positions, body, bears)
    assert not weights[bears].any()
    assert weights[0] == pytest.approx(1.0)
    assert np.abs(np.diff(weights)).max() < 0.2


def measure_feet(done):
    """Angles (F, 2) between the feet of both figures, from ankle to toes [degrees].

    A flat foot's toes are 13 degrees below its ankle in one file, 24 in another.
    """
    angles = []
    for side in ("left", "right"):
        ways = []
        for clip, body in zip((done.source, done), done.bodies, strict=True):
            ankles, toes = (clip.poses.world.positions[:, body.rows[f"{side}{part}"]] for part in ("Foot", "Toes"))
            ways.append(normalise(rotations.rotate(body.world_turn, toes - ankles)))
        angles.append(np.degrees(np.arccos(np.clip((ways[0] * ways[1]).sum(axis=1), -1.0, 1.0))))
    return np.stack(angles, axis=1)


@pytest.mark.parametrize("name", ["mixamo_human_makehuman.glb", "cryptovoxels.vrm"])
def test_feet_of_a_run_whose_rest_pose_is_a_stride_point_as_in_the_source(data, name):
    """Its left foot hangs behind at rest and never stands. Taken for level, it pointed 140 degrees off."""
    run, target = poise.load(data / "fbx/kenney_character.fbx"), poise.load(data / "glb" / name)
    done = poise.retarget(run, target, ground=False)
    assert measure_feet(done).max() < 30.0


@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
def test_feet_of_a_jog_over_a_rest_pose_in_stride_point_as_in_the_source(data):
    """It runs on its balls, and one foot is raised at rest. Taken for level, that one pointed 45 degrees off."""
    jog, target = (poise.load(data / name) for name in ("fbx/pab_jog.fbx", "glb/mixamo_human_makehuman.glb"))
    done = poise.retarget(jog, target, ground=False)
    assert measure_feet(done).max() < 25.0
