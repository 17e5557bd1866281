"""Characters whose arms end before a hand, as sources and as targets."""

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.model.skeleton import Kind
from poise.retargeting.added_joints import complete_arms
from poise.retargeting.robot_body import measure_robot_body
from tests.retarget.characters import build_character, build_clip, build_rig, find_directions, measure_angles

# joints that are cut off with all below them, and the part that is missing then
CUTS = {"hands": (("Hand",), "hand"), "forearms": (("ForeArm",), "forearm"), "arms": (("Shoulder",), "arm")}
ENDS = {"hands": ("LowerArm", "UpperArm"), "forearms": ("UpperArm",), "arms": ()}


def cut_joints(skeleton, ends, *, sides=("Left", "Right"), with_end=False):
    """The skeleton without some joints of its arms, and all below them. With an end, joints stay that are no hands."""
    cut = set()
    for row, name in enumerate(skeleton.names):
        if name in {f"{side}{end}" for side in sides for end in ends} or int(skeleton.parents[row]) in cut:
            cut.add(row)
    kept = [row for row in range(len(skeleton)) if row not in cut]
    places = {row: place for place, row in enumerate(kept)}
    names, offsets = [skeleton.names[row] for row in kept], [skeleton.A[row, :3] for row in kept]
    parents = [places.get(int(skeleton.parents[row]), -1) for row in kept]
    for row in sorted(cut) if with_end else ():
        if int(skeleton.parents[row]) in places:
            names.append(f"{skeleton.names[int(skeleton.parents[row])]}_end")
            parents.append(places[int(skeleton.parents[row])])
            offsets.append(skeleton.A[row, :3])
    return poise.Skeleton.build(names, parents, [Kind.BALL] * len(names), offsets=offsets, up="y")


@pytest.fixture(scope="module")
def whole():
    return build_character([1.0] * 12)


@pytest.mark.parametrize("what", CUTS)
def test_a_target_follows_as_far_as_its_arms_go(whole, what):
    cut, word = CUTS[what]
    clip, target = build_clip(whole, 1), build_rig(cut_joints(whole, cut))
    assert not any(role.endswith("Hand") for role in target.roles.joints)
    done = poise.retarget(clip, target, ground=False, hands="directions")
    assert any(f"the target has no known left and right {word}" in note for note in done.notes), done.notes
    assert done.skeleton.names == target.skeleton.names
    reported = {limb.role: limb for limb in done.report.limbs}
    for side in ("left", "right"):
        assert f"{side}Hand" in done.report.unmatched
        assert reported[f"{side}LowerLeg"].most < 0.01
        assert {f"{side}{part}" for part in ENDS[what]} == {
            role for role in reported if role.startswith(side) and "Arm" in role
        }
        for part in ENDS[what]:
            assert reported[f"{side}{part}"].most < 0.01
    whole_arms = poise.retarget(clip, build_rig(whole), ground=False, hands="directions")
    for name in set(done.skeleton.names) & {"LeftArm", "RightForeArm", "Head", "LeftFoot"}:  # as with its hands
        pairs = zip(done.poses.world[name].rotations, whole_arms.poses.world[name].rotations, strict=True)
        assert max(1.0 - abs(float(one @ other)) for one, other in pairs) < 1e-4  # the hand is 1.1 degrees off the line


@pytest.mark.parametrize("what", ["hands", "forearms"])
@pytest.mark.parametrize("robot", [False, True], ids=["character", "robot"])
def test_a_source_leads_as_far_as_its_arms_go(data, whole, what, robot):
    cut, word = CUTS[what]
    short = cut_joints(whole, cut)
    clip = build_clip(short, 1, size=0.2)
    target = poise.load(data / "urdf/g1_29dof.urdf") if robot else build_rig(whole)
    done = poise.retarget(clip, target, ground=False, hands="directions")
    assert any(f"the source has no known left and right {word}" in note for note in done.notes), done.notes
    assert done.source.skeleton.names == short.names
    if not robot:
        roles = build_rig(whole).roles.joints
        for side in ("left", "right"):
            ways = [find_directions(one, roles, f"{side}UpperArm", f"{side}LowerArm") for one in (done,)]
            if what == "hands":  # the elbow is a joint of the source
                ways.append(find_directions(clip, roles, f"{side}UpperArm", f"{side}LowerArm"))
                assert measure_angles(*ways).max() < 0.01


def test_forearms_end_where_a_joint_is(whole):
    """A joint below the forearm shows its length; without one it has that of people."""
    ended, bare = (cut_joints(whole, ("Hand",), with_end=with_end) for with_end in (True, False))
    clip = build_clip(whole, 1)
    lengths = {}
    for name, skeleton in (("ended", ended), ("bare", bare), ("whole", whole)):
        done = poise.retarget(clip, build_rig(skeleton), ground=False, hands="directions")
        lengths[name] = done.bodies[1].arm_length
        assert not done.report.worse
    assert lengths["ended"] == pytest.approx(lengths["whole"], rel=1e-9)
    assert lengths["bare"] == pytest.approx(1.785 * 0.28, rel=1e-9)


def test_fingers_of_a_forearm_show_its_end(whole):
    """Some figures have fingers on the forearm. It ends amid them, not at their tips."""
    skeleton = cut_joints(whole, ("Hand",))
    names, parents, offsets = list(skeleton.names), skeleton.parents.tolist(), list(skeleton.A[:, :3])
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        for finger, ahead in (("Thumb", 0.03), ("Finger_2", -0.03)):
            parent = names.index(f"{side}ForeArm")
            for number in (1, 2):
                names.append(f"{finger}_{number}.{side[0]}")
                parents.append(parent)
                offsets.append(np.array([0.24 * sign if number == 1 else 0.05 * sign, 0.0, ahead * (number == 1)]))
                parent = len(names) - 1
    fingered = poise.Skeleton.build(names, parents, [Kind.BALL] * len(names), offsets=offsets, up="y")
    done = poise.retarget(build_clip(whole, 1), build_rig(fingered), ground=False, hands="directions")
    assert done.bodies[1].joints["leftIndexProximal"] == "Finger_2_1.L"
    assert done.bodies[1].arm_length == pytest.approx(0.28 + 0.24, abs=0.005)  # the tips are at 0.57


def test_ends_of_arms_touch_as_hands_do(whole):
    """Arms in front of the body: the ends of forearms are as near to each other as the source's hands."""
    target = build_rig(
        cut_joints(build_character([1, 1, 1, 1.6, 0.8, 0.8, 1, 1, 1, 1, 1, 1]), ("Hand",), with_end=True)
    )
    clip = build_clip(whole, 1, frames=3, size=0.0)
    q = np.array(clip.poses.q)
    for name, angle in (("LeftArm", -1.3), ("LeftForeArm", -1.5), ("RightArm", 1.3), ("RightForeArm", 1.5)):
        start = int(whole.q_start[whole.index(name)])
        q[:, start : start + 4] = poise.rotations.from_vector((0.0, angle, 0.0))
    clip = poise.Clip(clip.times, poise.Pose(whole, q), "touch")
    done = poise.retarget(clip, target, ground=False, clear=False)
    assert done.report.hands is not None
    assert done.report.hands[1] < 0.01
    apart = poise.retarget(clip, target, ground=False, clear=False, hands="directions")
    assert np.abs(apart.poses.q - done.poses.q).max() > 0.01


def test_one_arm_alone_and_live_figures(whole):
    clip = build_clip(whole, 1)
    source, target = build_rig(whole, clips=(clip,)), build_rig(cut_joints(whole, ("Hand",), sides=("Left",)))
    done = poise.retarget(clip, target)
    assert any("the target has no known left hand: the arm ends with its forearm" in note for note in done.notes)
    for one, other in ((source, target), (target, source)):
        live = poise.Retargeter(one, other)
        assert live(one.rest).skeleton.names == other.skeleton.names


def test_sheets_pages_and_matches_of_short_arms(tmp_path, whole):
    clip, target = build_clip(whole, 1), build_rig(cut_joints(whole, ("Hand",)))
    done = poise.retarget(clip, target, ground=False)
    done.report.save(tmp_path / "a.html")
    done.match.save(tmp_path / "a.toml")
    again = poise.retarget(clip, target, match=poise.Match.load(tmp_path / "a.toml"), ground=False)
    assert np.array_equal(again.poses.q, done.poses.q)
    pytest.importorskip("matplotlib")
    from poise.plot.retargeted_frames import build_motion_scene

    scene = build_motion_scene(done)
    assert scene.target.points.shape[1] == len(target.skeleton) + 2


def test_a_source_without_arms_and_targets_without_legs_are_refused(whole):
    clip = build_clip(cut_joints(whole, ("Shoulder",)), 1)
    with pytest.raises(poise.UnsupportedError, match="the source has no known leftUpperArm"):
        poise.retarget(clip, build_rig(whole))
    with pytest.raises(poise.UnsupportedError, match="the target has no known leftUpperLeg.*: name legs in"):
        poise.retarget(build_clip(whole, 1), poise.load(samples.path("arm.urdf")))


def add_joints(skeleton, joints):
    """The skeleton with more joints: their names, parents and offsets."""
    names, parents, offsets = list(skeleton.names), skeleton.parents.tolist(), list(skeleton.A[:, :3])
    for name, parent, offset in joints:
        names.append(name)
        parents.append(names.index(parent))
        offsets.append(np.array(offset))
    return poise.Skeleton.build(names, parents, [Kind.BALL] * len(names), offsets=offsets, up="y")


def find_rest_end(rig, side="left", start="LowerArm"):
    """The way (3,) from a bone's joint to the hand of the completed arms at rest."""
    arms = complete_arms(rig, rig.roles.joints)
    places = poise.Pose(arms.skeleton, arms.skeleton.rest_q).world.positions
    return (
        places[arms.skeleton.index(arms.joints[f"{side}Hand"])]
        - places[arms.skeleton.index(arms.joints[f"{side}{start}"])]
    )


@pytest.mark.parametrize("tip", [0.4, 0.55])
def test_arms_of_one_joint_that_hang_point_to_their_end(whole, tip):
    skeleton = cut_joints(whole, ("ForeArm",))
    hanging = add_joints(skeleton, [(f"{side}Arm_end", f"{side}Arm", (0.0, -tip, 0.0)) for side in ("Left", "Right")])
    assert find_rest_end(build_rig(hanging), start="UpperArm") == pytest.approx([0.0, -tip, 0.0], abs=1e-9)


@pytest.mark.parametrize("aside", [(0.02, -0.12, 0.0), (0.0, -0.5, 0.1)])
def test_watches_and_props_are_no_ends_of_forearms(whole, aside):
    skeleton = cut_joints(whole, ("Hand",), with_end=True)
    worn = add_joints(skeleton, [(f"{side}Prop", f"{side}ForeArm", aside) for side in ("Left", "Right")])
    assert find_rest_end(build_rig(worn)) == pytest.approx([0.25, 0.0, 0.005], abs=1e-9)
    bare = add_joints(cut_joints(whole, ("Hand",)), [("Prop", "LeftForeArm", aside)])
    assert find_rest_end(build_rig(bare)) == pytest.approx([0.785 * 0.28, 0.0, 0.0], abs=1e-9)


def test_robots_have_the_same_forearms_as_sources_and_targets(data):
    rig = poise.load(data / "robots/h1.urdf")
    arms, body = complete_arms(rig, rig.roles.joints), measure_robot_body(rig, rig.roles.joints)
    for side in ("left", "right"):
        ends = [one.skeleton.A[one.skeleton.index(one.joints[f"{side}Hand"]), :3] for one in (arms, body)]
        assert ends[0] == pytest.approx(ends[1], abs=1e-12)


def test_names_of_added_joints_are_free(whole):
    taken = add_joints(cut_joints(whole, ("Hand",)), [("leftHand of no joint", "Head", (0.0, 0.1, 0.0))])
    rig = build_rig(taken)
    assert complete_arms(rig, rig.roles.joints).joints["leftHand"] == "leftHand of no joint_"
