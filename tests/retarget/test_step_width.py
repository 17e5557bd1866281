"""poise.retarget(): how far apart feet stand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise.ground.contact.contacts import Contacts
from poise.maths import rotations
from poise.retargeting.body import measure_body
from poise.retargeting.limb_ends import LEG, move_limb_ends
from poise.retargeting.match import match_roles
from poise.retargeting.step_width import scale_width, set_step_width
from tests.retarget.characters import build_character, build_rig

FRAMES = 7
LENGTHS = st.floats(1e-3, 1e3)


def build_body(hip):
    rig = build_rig(build_character([1.0] * 7 + [hip] + [1.0] * 4))
    return measure_body(rig.skeleton, match_roles(rig.roles, rig.roles).list_joints(of_target=True), [])


def stand(body, degrees=0.0):
    """Poses at rest, lying on one side by `degrees`."""
    q = np.tile(body.skeleton.rest_q, (FRAMES, 1))
    q[:, :4] = rotations.about(np.array([0.0, 0.0, 1.0]), np.radians(degrees))
    return poise.Pose(body.skeleton, q)


def build_contacts(*, right=True, legs=("left", "right")):
    on = np.ones((FRAMES, len(legs)), dtype=bool)
    on[3:5, 0] = False
    if len(legs) > 1:
        on[:, 1] = right
    return Contacts(legs, np.arange(FRAMES) / 30.0, on, on)


def measure_width(poses):
    world = poses.world
    return (world["LeftFoot"].positions - world["RightFoot"].positions)[:, 0]


def move(hip, target_hip, contacts, degrees=0.0):
    source, target = build_body(hip), build_body(target_hip)
    poses = stand(target, degrees)
    return poses, set_step_width(poses, stand(source, degrees).world.positions, (source, target), contacts), target


@pytest.mark.parametrize(("hip", "target_hip"), [(1.0, 0.6), (1.0, 1.5), (1.2, 1.0)])
def test_feet_stand_as_far_apart_for_the_hips(hip, target_hip):
    source, target = build_body(hip), build_body(target_hip)
    turned = np.array(stand(source).q)  # both thighs inward: feet of the source stand nearer than its hips are wide
    for name, angle in (("LeftUpLeg", -3.0), ("RightUpLeg", 3.0)):
        start = int(source.skeleton.q_start[source.skeleton.index(name)])
        turned[:, start : start + 4] = rotations.about(np.array([0.0, 0.0, 1.0]), np.radians(angle))
    from_poses, poses = poise.Pose(source.skeleton, turned), stand(target)
    moved = set_step_width(poses, from_poses.world.positions, (source, target), build_contacts())
    ratio = measure_width(from_poses)[0] / (0.2 * hip)
    assert 0.3 < ratio < 0.8
    assert np.allclose(measure_width(moved) / (0.2 * target_hip), ratio, atol=0.01)  # legs are nearly straight
    for name in ("LeftFoot", "RightFoot", "Hips"):  # feet and hips turn as before
        assert np.allclose(moved.world[name].rotations, poses.world[name].rotations, atol=1e-9)


def test_a_leg_turns_by_six_degrees_at_most():
    poses, moved, target = move(0.2, 4.0, build_contacts())
    assert np.array_equal(poses.q, moved.q)  # hips are as wide as feet are apart in both
    source = build_body(4.0)
    crossed = stand(source).world.positions.copy()
    crossed[:, [source.rows["leftFoot"], source.rows["rightFoot"]], 0] = 0.0
    moved = set_step_width(poses, crossed, (source, target), build_contacts())
    change = measure_width(poses) - measure_width(moved)
    assert np.allclose(change, 0.2 * target.leg_length, rtol=0.01)  # legs are nearly straight


@pytest.mark.parametrize(
    "contacts", [build_contacts(right=False), build_contacts(legs=("left",))], ids=["right foot in the air", "one leg"]
)
def test_one_foot_alone_has_no_step_width(contacts):
    poses, moved, _ = move(1.0, 0.5, contacts)
    assert moved is poses


def test_who_lies_on_one_side_keeps_the_feet():
    source, target = build_body(1.0), build_body(0.5)
    poses, positions = stand(target, 80.0), stand(source, 80.0).world.positions.copy()
    positions[:, source.rows["leftFoot"]] += [0.3, 0.0, 0.0]
    assert np.array_equal(set_step_width(poses, positions, (source, target), build_contacts()).q, poses.q)


def test_a_body_that_lies_down_is_moved_less_and_less():
    source, target = build_body(1.0), build_body(0.5)
    moves = []
    for degrees in np.linspace(40.0, 65.0, 26):
        poses, positions = stand(target, degrees), stand(source, degrees).world.positions
        moved = set_step_width(poses, positions * [1.5, 1.0, 1.0], (source, target), build_contacts())
        moves.append(np.abs(moved.world.positions - poses.world.positions).max())
    assert moves[0] > 0.01
    assert moves[-1] == 0.0
    assert np.abs(np.diff(moves)).max() < 0.3 * moves[0]


def test_hips_in_one_point_give_no_width():
    source, target = build_body(0.0), build_body(1.0)
    poses = stand(target)
    assert set_step_width(poses, stand(source).world.positions, (source, target), build_contacts()) is poses


def test_a_leg_that_cannot_reach_keeps_its_bend():
    """Stretched at the side of its place, a leg would snap straight and bend again."""
    _, moved, target = move(0.5, 1.0, build_contacts())
    bent = np.array(moved.q)
    start = int(target.skeleton.q_start[target.skeleton.index("LeftLeg")])
    bent[:, start : start + 4] = rotations.about(np.array([1.0, 0.0, 0.0]), np.radians(15.0))
    poses = poise.Pose(target.skeleton, bent)
    far = np.zeros((FRAMES, 2, 3))
    far[:, 0] = 0.3, -0.1, 0.0
    moved = move_limb_ends(poses, target, LEG, far)
    reaches = [
        np.linalg.norm(one.world["LeftFoot"].positions - one.world["LeftUpLeg"].positions, axis=1)
        for one in (poses, moved)
    ]
    assert np.allclose(*reaches, rtol=1e-6)
    assert np.abs(moved.world["LeftFoot"].positions - poses.world["LeftFoot"].positions).max() > 0.1


@given(LENGTHS, LENGTHS, LENGTHS, st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=8))
def test_scaled_widths_grow_with_widths_and_keep_their_side(hips, target_hips, ratio, widths):
    widths = np.sort(np.array(widths))
    scaled = scale_width(widths, hips, target_hips, ratio)
    assert (np.diff(scaled) >= -1e-9 * np.abs(scaled).max()).all()
    assert np.array_equal(np.sign(scaled), np.sign(widths))
    assert np.allclose(scale_width(np.array([0.0, hips]), hips, target_hips, ratio), [0.0, target_hips])


@pytest.mark.parametrize(
    "name", ["glb/cryptovoxels.vrm", "glb/mixamo_human_makehuman.glb", "bvh/jesse_dance_rokoko.bvh"]
)
def test_steps_of_a_walk_are_as_wide_for_the_hips(data, name):
    """Legs of the VRM went past each other at 0.01 leg lengths: its hips are narrow."""
    walk, target = poise.load(data / "bvh/cmu_12_01_walk.bvh"), poise.load(data / name)
    done = poise.retarget(walk, target)
    source_width, width = done.report.step_width
    assert width == pytest.approx(source_width, rel=0.06)
    if name.startswith("bvh"):  # in the air its feet cross a little, as its hips are narrow
        return
    body = done.bodies[1]
    points = done.poses.world.positions
    hips = points[:, body.rows["leftUpperLeg"]] - points[:, body.rows["rightUpperLeg"]]
    across = hips[:, [0, 2]] / np.linalg.norm(hips[:, [0, 2]], axis=-1, keepdims=True)
    ankles = (points[:, body.rows["leftFoot"]] - points[:, body.rows["rightFoot"]])[:, [0, 2]]
    assert np.percentile((ankles * across).sum(axis=-1), 1.0) > 0.05 * body.leg_length
