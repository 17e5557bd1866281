"""The motions and the verbs for whole clips that the contracts are about."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np

import poise
from poise import Clip, Grounder, Kind, LevenbergMarquardt, Pose, Position, Terrain, Tracker
from poise.io import samples
from poise.maths import rotations
from tests.strategies import generic_arm, rng_of

FRAMES = 31


@cache
def walk(suffix=".bvh"):
    """The bundled walk; in the glTF file its hips move by translations, in the BVH file by the numbers of a joint."""
    return poise.load(samples.path(f"humanoid{suffix}")).clips[0]


@cache
def translated():
    """The walk of the BVH file on the skeleton of a glTF file: hips that turn, moved by translations."""
    s, q = walk().skeleton, walk().poses.q
    kinds = np.where(s.kinds == Kind.FREE, Kind.BALL, s.kinds)
    twin = poise.Skeleton.build(
        s.names, s.parents, kinds, offsets=s.A[:, :3], rotations=s.A[:, 3:], axes=s.axes, limits=s.limits
    )
    moved = np.tile(s.A[:, :3], (FRAMES, 1, 1))
    moved[:, 0] = walk().poses.world.positions[:, 0]
    return Clip(walk().times, Pose(twin, q[:, 3:], moved), walk().name)


def stretched(amounts, joints=("LeftArm", "LeftForeArm", "LeftHand")):
    """The walk with some bones as long as a list of factors says, taken in turns."""
    clip = translated()
    rows = [clip.skeleton.index(joint) for joint in joints]
    moved = clip.poses.translations.copy()
    moved[:, rows] *= np.resize(amounts, FRAMES)[:, None, None]
    return Clip(clip.times, dataclasses.replace(clip.poses, translations=moved), clip.name)


@cache
def grown(noise=0.0):
    """The walk of a figure that grows: its hips' scale changes from frame to frame, uniform but for some noise."""
    clip, scales = translated(), np.ones((FRAMES, len(walk().skeleton), 3))
    scales[:, 0] *= np.linspace(0.9, 1.2, FRAMES)[:, None]
    scales *= 1 + noise * rng_of(1).uniform(-1, 1, size=scales.shape)
    return Clip(clip.times, dataclasses.replace(clip.poses, scales=scales), clip.name)


@cache
def swung():
    """A serial arm that swings."""
    s, t = generic_arm(), np.linspace(0, 2 * np.pi, FRAMES)[:, None]
    return Clip.at_rate(Pose(s, 0.4 * np.sin(t + np.arange(6)) + 0.2), 30.0, "swing")


MOTIONS = {
    "numbers": walk,
    "translations": lambda: walk(".glb"),
    "the same by translations": translated,
    "lengths of two kinds": lambda: stretched((1.0, 1.25)),
    "lengths of every frame": lambda: stretched(np.linspace(0.8, 1.3, FRAMES)),
    "one length of every frame": lambda: stretched(np.linspace(0.8, 1.3, FRAMES), ("LeftForeArm",)),
    "scale": grown,
    "nearly uniform scale": lambda: grown(3e-4),
    "an arm": swung,
}


def reached_for(clip, far=None):
    """A position for every frame, near where the hand is; in frame `far` out of reach."""
    joint = "tool" if "tool" in clip.skeleton.names else "LeftHand"
    world, size = clip.poses.world, np.linalg.norm(clip.skeleton.A[1:, :3], axis=-1).sum()
    away = rotations.rotate(world.rotations[:, 0], np.array([0.02, 0.05, -0.015]))
    targets = world[joint].positions + size * away
    if far is not None:
        targets[far] += 10.0 * size
    return Position(joint, targets)


def _followed(clip):
    """What a tracker shows that begins at the first frame and follows the hand."""
    goal = reached_for(clip)
    follow = Tracker(clip.poses[0], goal.with_target(goal.target[0]), speed=None, damping=0.05)
    return follow.clip(goal.target, clip.fps, clip.name)


def _live(clip):
    """What a grounder shows, frame by frame."""
    live = Grounder(clip, _slope(clip))
    shown = [live(clip.poses[i], 1 / clip.fps) for i in range(len(clip))]
    return Clip(clip.times, stacked(shown), clip.name)


def stacked(poses):
    """Single poses as a batch."""
    moved, scales = ([getattr(pose, name) for pose in poses] for name in ("translations", "scales"))
    return Pose(
        poses[0].skeleton,
        np.array([pose.q for pose in poses]),
        None if moved[0] is None else np.array(moved),
        None if scales[0] is None else np.array(scales),
    )


def _slope(clip):
    return Terrain.slope(8, up=poise.Grounder(clip, Terrain.flat()).figure.up)


def _fitted(clip):
    return poise.fit(clip.poses[0], clip.poses.world.positions, fps=clip.fps, name=clip.name)


VERBS = {
    "bake": lambda clip: poise.bake(clip, reached_for(clip)),
    "bake with the engine": lambda clip: poise.bake(clip, reached_for(clip), solver=LevenbergMarquardt()),
    "fit": _fitted,
    "Tracker": _followed,
    "plant_feet": lambda clip: poise.plant_feet(clip, _slope(clip)),
    "lock_feet": poise.lock_feet,
    "Grounder": _live,
}
"""What makes a clip of a clip."""
