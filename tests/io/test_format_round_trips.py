"""From one format to another and back into the first."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.errors import UnsupportedError
from poise.io.formats import bvh, gltf
from poise.model.channels import Channel
from poise.model.clip import Clip, KeyedClip
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from tests.io.gltf_samples import content, saved_arm


@pytest.mark.parametrize("name", ["fox.glb", "robot_quaternius.glb"])
@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
def test_a_clip_goes_through_bvh_and_back_into_its_glb(data, tmp_path, name):
    rig = poise.load(data / "glb" / name)
    clip = rig.clips[0].resample(30)
    poise.save(clip, tmp_path / "a.bvh")
    through = poise.load(tmp_path / "a.bvh")
    poise.save(through.clips[0], tmp_path / "b.glb", like=rig)
    back = poise.load(tmp_path / "b.glb")
    assert back.skeleton == rig.skeleton
    assert len(back.clips) == len(rig.clips) + 1
    moving = [row for row, joint in enumerate(rig.skeleton.names) if joint in through.skeleton]
    ours, theirs = back.clips[-1].at(clip.times).world.positions, clip.poses.world.positions
    assert np.abs(ours - theirs)[:, moving].max() < 1e-5 * np.ptp(theirs)


def test_a_pose_goes_through_bvh_and_back_into_its_glb(data, tmp_path):
    rig = poise.load(data / "glb" / "fox.glb")
    pose = rig.rest.replace({"b_Neck_04": [4, 1, 2, 3]})
    poise.save(pose, tmp_path / "a.bvh")
    poise.save(poise.load(tmp_path / "a.bvh").pose, tmp_path / "b.glb", like=rig)
    back = poise.load(tmp_path / "b.glb")
    assert back.skeleton == rig.skeleton
    assert np.abs(back.pose.world.positions - pose.world.positions).max() < 1e-6 * np.ptp(pose.world.positions)


def test_a_tree_in_which_nothing_moves_is_not_in_the_bvh_and_stays_in_the_glb(data, tmp_path):
    """The Fox has two roots: the skeleton's, and `fox`, the node of its mesh; a BVH file has one."""
    rig = poise.load(data / "glb" / "fox.glb")
    assert rig.skeleton["fox"].kind == Kind.FIXED
    assert rig.skeleton["fox"].parent is None
    poise.save(rig.clips[0], tmp_path / "a.bvh")
    through = poise.load(tmp_path / "a.bvh")
    assert set(rig.skeleton.names) - set(through.skeleton.names) == {"fox"}
    poise.save(through.clips[0], tmp_path / "b.glb", like=rig)
    row = rig.skeleton["fox"].source_id
    assert content(tmp_path / "b.glb")[0]["nodes"][row] == content(data / "glb" / "fox.glb")[0]["nodes"][row]


def with_ends(**more) -> Skeleton:
    """Return the joints of the sample arm, a BVH file's End Site and perhaps others."""
    names = ["shoulder", "elbow", "hand", "hand_end", *more]
    kinds = [Kind.BALL] * 3 + [Kind.FIXED] + [kind for _, kind in more.values()]
    return Skeleton.build(names, [-1, 0, 1, 2] + [parent for parent, _ in more.values()], kinds)


def test_only_fixed_ends_are_left_out(tmp_path):
    rig = gltf.read(saved_arm(tmp_path / "a.glb"))
    s = with_ends()
    still = Clip(np.array([0, 2.0]), Pose(s, np.tile(s.rest_q, (2, 1))), "still")
    keys = Channel(3, "translation", "STEP", np.zeros(1), np.ones((1, 3)))
    for thing in (still, Pose(s, s.rest_q), KeyedClip(s, (keys,))):
        gltf.write(thing, tmp_path / "b.glb", rig.skeleton)
        assert gltf.read(tmp_path / "b.glb").skeleton.names == rig.skeleton.names
    for s in (
        with_ends(tip=(2, Kind.BALL)),
        with_ends(tip=(3, Kind.FIXED), top=(4, Kind.BALL)),
        Skeleton.build(["unattended"], [-1], [Kind.FIXED]),
    ):
        with pytest.raises(UnsupportedError, match=f"has no joints .*{s.names[-1]}"):
            gltf.write(Pose(s, s.rest_q), tmp_path / "c.glb", rig.skeleton)
    assert not (tmp_path / "c.glb").exists()


def test_names_stay_exact_and_are_reported_escaped(tmp_path):
    """A name with a line break and a terminal's escape sequence is one line of plain text in notes and errors."""
    odd = "a\n\x1b[2J"
    rig = gltf.read(saved_arm(tmp_path / "a.glb", nodes=[{"name": odd}, {"name": odd}, {"name": "x\0"}]))
    assert rig.skeleton.names == (odd, f"{odd}_1", "x\0")
    assert rig.notes == (r"nodes shared a name and were renamed: a\n\x1b[2J_1",)
    with pytest.raises(poise.UnknownNameError) as caught:
        rig.skeleton.index("b")
    assert str(caught.value).isprintable()
    assert r"a\n\x1b[2J, a\n\x1b[2J_1, x\x00" in str(caught.value)
    joint = "%s a\x1b\n{\nOFFSET 0 0 0\nCHANNELS 0\n"
    text = f"HIERARCHY\n{joint % 'ROOT'}{joint % 'JOINT'}}}\n}}\nMOTION\nFrames: 0\nFrame Time: 1\n"
    (tmp_path / "a.bvh").write_text(text)
    rig = bvh.read(tmp_path / "a.bvh")
    assert rig.skeleton.names == ("a\x1b", "a\x1b_1")
    assert rig.notes
    assert all(note.isprintable() for note in rig.notes)


def test_lengths_go_back_into_the_scale_of_the_document(data, tmp_path):
    """The armature's 0.01 goes into the offsets of the BVH and comes out of them again: the mesh is bound to it."""
    rig = poise.load(data / "glb" / "mixamo_human_makehuman.glb")
    pose = poise.solve(rig.rest, poise.Position("mixamorig:LeftHand", [0.3, 1.2, 0.3])).pose
    poise.save(pose, tmp_path / "a.bvh")
    read = poise.load(tmp_path / "a.bvh")
    poise.save(read.pose, tmp_path / "pose.glb", like=rig)
    poise.save(read.clips[0], tmp_path / "clip.glb", like=rig)
    for back in (poise.load(tmp_path / "pose.glb").pose, poise.load(tmp_path / "clip.glb").clips[-1].at(0)):
        np.testing.assert_allclose(back.world.matrices, pose.world.matrices, atol=2e-5)
