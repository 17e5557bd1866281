"""poise.retarget(): hands touch the body as in the source, and stay out of it."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.maths import rotations
from tests.retarget.characters import build_character, build_rig

THIGH, FLANK = 0.057, 0.055  # radii, of the height: the joint of the head is 0.88 of it over the ankle


def build_lowering(skeleton, forearm_deg, frames=60, most_deg=86.0):
    """Both arms go down from the T pose; forearms are bent inwards."""
    q = np.tile(skeleton.rest_q, (frames, 1))
    share = np.sin(0.5 * np.pi * np.linspace(0.0, 1.0, frames))
    for side, sign in (("Left", -1.0), ("Right", 1.0)):
        for name, angle in ((f"{side}Arm", most_deg), (f"{side}ForeArm", forearm_deg)):
            start = int(skeleton.q_start[skeleton.index(name)])
            q[:, start : start + 4] = rotations.about(np.array([0.0, 0.0, 1.0]), sign * np.radians(angle) * share)
    return poise.Clip.at_rate(poise.Pose(skeleton, q), 30.0, "lowers")


def measure_over(clip, body, side, start, end, radius):
    """How far (F,) a wrist is over a capsule, in arm lengths."""
    place = {name: clip.poses.world[name].positions for name in (f"{side}Hand", start, end)}
    points, up = body.reference.body.points, body.reference.body.up
    height = (points[body.rows["head"]] - points[body.rows["leftFoot"]]) @ up / 0.88
    way, axis = place[f"{side}Hand"] - place[start], place[end] - place[start]
    along = np.clip((way * axis).sum(axis=1) / (axis * axis).sum(axis=1), 0.0, 1.0)
    return (np.linalg.norm(way - along[:, None] * axis, axis=1) - radius * height) / body.arm_length


@pytest.mark.parametrize("side", ["Left", "Right"])
def test_hands_stay_out_of_thighs_that_are_farther_apart(side):
    source = build_character([1.0] * 12)
    target = build_rig(build_character([*[1.0] * 7, 2.1, *[1.0] * 4]))  # wide hips
    clip = build_lowering(source, 0.0)
    free, done = (poise.retarget(clip, target, hands=hands, ground=False) for hands in ("directions", "touch"))
    ends = side, f"{side}UpLeg", f"{side}Leg", THIGH
    assert measure_over(free.source, free.bodies[0], *ends).min() > 0.0
    assert measure_over(free, free.bodies[1], *ends).min() < -0.05
    assert measure_over(done, done.bodies[1], *ends).min() > -0.01
    assert done.near_body.any()
    apart = ~done.near_body.any(axis=1)
    assert apart.any()
    assert np.array_equal(free.poses.q[apart], done.poses.q[apart])


def test_hands_that_dip_into_thighs_for_a_few_frames_stay_out():
    """Pushes are averaged over time, which would leave half of a short one."""
    source = build_character([1.0] * 12)
    target = build_rig(build_character([*[1.0] * 7, 2.1, *[1.0] * 4]))  # wide hips
    down = build_lowering(source, 0.0).poses.q
    q = np.concatenate([down[:1]] * 20 + [down[0:60:15], down[59:], down[59::-15]] + [down[:1]] * 20)
    clip = poise.Clip.at_rate(poise.Pose(source, q), 120.0, "dips")
    free, done = (poise.retarget(clip, target, hands=hands, ground=False) for hands in ("directions", "touch"))
    deepest = [measure_over(one, one.bodies[1], "Left", "LeftUpLeg", "LeftLeg", THIGH).min() for one in (free, done)]
    assert deepest[0] < -0.14
    assert deepest[1] > -0.05  # one push leaves 0.066


def test_the_report_says_how_deep_a_hand_is():
    source = build_character([1.0] * 12)
    target = build_rig(build_character([*[1.0] * 7, 2.1, *[1.0] * 4]))  # wide hips
    clip = build_lowering(source, 0.0)
    free, done = (poise.retarget(clip, target, hands=hands, ground=False) for hands in ("directions", "touch"))
    for one in (free, done):
        found = next(row for row in one.report.clearance if row[:2] == ("leftHand", "leftUpperLeg"))
        for body, shown, over in zip(one.bodies, (one.source, one), (found.source, found.over), strict=True):
            wanted = measure_over(shown, body, "Left", "LeftUpLeg", "LeftLeg", THIGH)[found.frame]
            assert over == pytest.approx(wanted, abs=1e-9)
    depth = -measure_over(free, free.bodies[1], "Left", "LeftUpLeg", "LeftLeg", THIGH).min()
    assert any(f"leftHand is {depth:.2f} arm lengths in the leftUpperLeg" in sentence for sentence in free.report.notes)
    assert not any("arm lengths in the" in sentence for sentence in done.report.notes)
    assert "nearest to the body: " in str(done.report)


@pytest.mark.parametrize("side", ["Left", "Right"])
@pytest.mark.parametrize("factor", [0.96, 1.15])
def test_hands_that_touch_thighs_touch_them_on_other_arms(side, factor):
    source = build_character([1.0] * 12)
    target = build_rig(build_character([1.0, 1.0, 1.0, 1.1, factor, factor, *[1.0] * 6]))
    clip = build_lowering(source, 13.0)
    free, done = (poise.retarget(clip, target, hands=hands, ground=False) for hands in ("directions", "touch"))
    ends = side, f"{side}UpLeg", f"{side}Leg", THIGH
    wanted = measure_over(done.source, done.bodies[0], *ends)
    touches = np.abs(wanted) < 0.01
    assert touches.any()
    off, before = (np.abs(measure_over(one, done.bodies[1], *ends) - wanted)[touches] for one in (done, free))
    assert off.max() < 0.03
    assert before.max() > off.max()


def test_directions_alone_leave_hands_where_they_are(data):
    walk, target = poise.load(data / "bvh/cmu_12_01_walk.bvh"), poise.load(data / "glb/mixamo_human_makehuman.glb")
    free, done = (poise.retarget(walk, target, hands=hands) for hands in ("directions", "touch"))
    assert not free.near_body.any()
    assert done.near_body[:, 1].any()
    assert done.report.ok


@pytest.mark.parametrize("end", ["source", "target"])
def test_a_figure_without_a_head_has_no_head_to_keep_out_of(end):
    skeleton = build_character([1.0] * 12)
    rig, clip = build_rig(skeleton), build_lowering(skeleton, 0.0)
    match = poise.match(rig, rig).with_joint("head", **{end: ""})
    done = poise.retarget(clip, build_rig(build_character([1.1] * 12)), match=match, ground=False)
    assert np.isfinite(done.poses.q).all()


def test_a_target_without_neck_and_head_moves_otherwise_as_the_source(data):
    walk = poise.load(data / "bvh/cmu_12_01_walk.bvh")
    whole, neck = walk.skeleton, walk.skeleton.index("Neck")
    kept = [row for row in range(len(whole)) if neck not in whole.list_path(row)]
    parents = [kept.index(int(whole.parents[row])) if whole.parents[row] >= 0 else -1 for row in kept]
    names, kinds = zip(*[(whole.names[row], whole.kinds[row]) for row in kept], strict=True)
    frames = {"offsets": whole.A[kept, :3], "rotations": whole.A[kept, 3:]}
    bare = build_rig(poise.Skeleton.build(names, parents, kinds, **frames))
    done = poise.retarget(walk.clips[0], bare, source=walk, ground=False, hands="directions")
    assert max(limb.most for limb in done.report.limbs) < 1e-3
