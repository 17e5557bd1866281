"""A pose or clip of another skeleton is refused in a sentence; its numbers never count for other joints."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise import Clip, Grounder, Pose, Position, Terrain
from poise.io import samples
from tests.contracts.clips import walk
from tests.strategies import generic_arm

ARM = generic_arm()
RIG = poise.load(samples.path("humanoid.bvh"))
THERE = [0.3, 0.2, 0.4]


def renamed(skeleton):
    """As many joints of the same kinds under other names: their numbers would fit."""
    return dataclasses.replace(skeleton, names=tuple(f"other {name}" for name in skeleton.names))


def swapped(skeleton):
    """The same joints, two that follow each other under each other's name."""
    names = list(skeleton.names)
    names[2:4] = names[3:1:-1]
    return dataclasses.replace(skeleton, names=tuple(names))


def rehung(skeleton):
    """The same joints, one of them on its grandparent."""
    parents = np.array(skeleton.parents)
    row = np.flatnonzero(parents > 0)[-1]
    parents[row] = parents[parents[row]]
    return dataclasses.replace(skeleton, parents=parents)


def longer(skeleton):
    """A joint more, which has no numbers."""
    parts = {name: np.concatenate([(a := getattr(skeleton, name)), a[-1:]]) for name in ("axes", "A", "B", "parents")}
    more = {name: (*getattr(skeleton, name), empty) for name, empty in _EMPTY.items() if getattr(skeleton, name)}
    kinds = np.append(skeleton.kinds, poise.Kind.FIXED)
    return dataclasses.replace(skeleton, names=(*skeleton.names, "more"), kinds=kinds, **parts, **more)


_EMPTY = {"limits": None, "couplings": None, "source_ids": None, "euler": ""}
OTHERS = {"renamed": renamed, "swapped": swapped, "rehung": rehung, "longer": longer}


def arm(change):
    skeleton = change(ARM)
    return Pose(skeleton, skeleton.rest_q)


def clip(change):
    poses = RIG.clips[0].poses
    return Clip(RIG.clips[0].times, Pose(change(poses.skeleton), poses.q), "walk")


def keyed(change):
    read = walk(".glb")
    return poise.KeyedClip(change(read.skeleton), read.tracks, read.name)


def same(skeleton):
    return dataclasses.replace(skeleton)


def near(change):
    return [Position("tool", THERE), poise.Near(arm(change))]


def at(count):
    return Position("tool", np.tile(THERE, (count, 1)))


def live():
    return Grounder(RIG.clips[0], Terrain.flat())


REQUESTED = {
    "Near, solve": lambda change: poise.solve(arm(same), near(change)),
    "Near, many": lambda change: poise.solve(arm(same), [at(5), near(change)[1]]),
    "Near, prepare": lambda change: poise.prepare(arm(same), near(change)),
    "Near, Tracker": lambda change: poise.Tracker(arm(same), near(change)),
    "Near, bake": lambda change: poise.bake(
        RIG.clips[0], [Position("LeftHand", THERE), poise.Near(clip(change).poses[0])]
    ),
    "Near, starts": lambda change: poise.solve(clip(same).poses[:3], [
        Position("LeftHand", np.tile(THERE, (3, 1))), poise.Near(clip(change).poses[0])
    ]),
    "reset": lambda change: poise.Tracker(arm(same), Position("tool", THERE)).reset(arm(change)),
    "step": lambda change: live()(clip(change).poses[0], 0.01),
    "blended": lambda change: arm(same).blend(arm(change), 0.5),
    "Clip.on": lambda change: clip(same).on(change(RIG.skeleton)),
    "KeyedClip.on": lambda change: keyed(same).on(change(walk(".glb").skeleton)),
    "a rig's pose": lambda change: dataclasses.replace(RIG, pose=clip(change).poses[0]),
    "a rig's clip": lambda change: dataclasses.replace(RIG, clips=(*RIG.clips, clip(change))),
    "with_skeleton": lambda change: RIG.with_skeleton(change(RIG.skeleton)),
    "compare": lambda change: poise.compare(
        RIG.rest, Position("LeftHand", THERE), solvers=["ccd"], clip=clip(change), targets="given", effort="quick"
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", OTHERS)
@pytest.mark.parametrize("requested", REQUESTED)
def test_another_skeleton_is_reported(requested, change):
    with pytest.raises(poise.InputError, match="another skeleton|same skeleton") as error:
        REQUESTED[requested](OTHERS[change])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("requested", [name for name in REQUESTED if name != "compare"])
def test_an_equal_skeleton_is_the_same(requested):
    REQUESTED[requested](same)


@pytest.mark.parametrize(
    "requested", ["Clip.on", "KeyedClip.on", "a rig's pose", "with_skeleton", "reset", "Near, solve"]
)
def test_limits_and_proportions_may_differ(requested):
    def change(skeleton):
        A = np.array(skeleton.A)
        A[1:, :3] *= 1.5
        return dataclasses.replace(skeleton, A=A)

    REQUESTED[requested](change)


@pytest.mark.parametrize("change", OTHERS)
def test_the_viewer_shows_no_pose_of_another_skeleton(change):
    pytest.importorskip("websockets", reason="the extra `view` is not installed")
    view = poise.view(RIG, open_browser=False)
    try:
        with pytest.raises(poise.InputError, match="another skeleton"):
            view.pose = clip(OTHERS[change]).poses[0]
        view.pose = clip(same).poses[0]
    finally:
        view.close()


@pytest.mark.parametrize("suffix", [".glb", ".bvh"])
def test_a_document_of_other_joints_is_not_written_into(suffix, tmp_path):
    like = poise.load(samples.path(f"humanoid{suffix}"))
    pose = Pose(renamed(like.skeleton), like.rest.q)
    with pytest.raises(poise.UnsupportedError, match="joints"):
        poise.save(pose, tmp_path / f"a{suffix}", like=like)
    assert not list(tmp_path.iterdir())
