"""Feet on the ground, live: microseconds a frame and character, through the public call, with the share of each stage.

Frames of clips of the data, 120 a second, over and over; a rig without a clip walks as its own family's clip does.
Elapsed time, one call at a time, poses made before: the median and the 99th percentile of all frames, then of the
stages in a run of their own: the kernel, the terrain (not on a plane, which the kernel knows by itself), and the rest:
checks, copies and the Pose that is returned.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import harness
import numpy as np

import poise
from poise import Grounder, Pose, Terrain

RIGS = {
    "woman, 68 joints (GLB)": ("glb/human_female_m2m.glb", "glb/human_anim_m2m.glb"),
    "walk, 58 joints (BVH)": ("bvh/walk_mass.bvh", "bvh/walk_mass.bvh"),
    "walk, 38 joints (BVH)": ("bvh/cmu_12_01_walk.bvh", "bvh/cmu_12_01_walk.bvh"),
}
GROUNDS = {"flat": Terrain.flat, "noise 5 cm": lambda: Terrain.noise(0.05)}
FRAMES, STEP, CROWD = 4000, 1 / 120, 100
REQUESTED = 20.0  # [us]


def poses_of(data: Path, rig: str, clip: str) -> tuple[poise.Clip, list[Pose]]:
    """A clip, and its frames on the skeleton of the rig, over and over."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        skeleton, source = poise.load(data / rig).skeleton, poise.load(data / clip).clips[0]
    moved = np.array(source.resample(1 / STEP).poses.q)
    clip_here = poise.Clip.at_rate(Pose(skeleton, moved), 1 / STEP)
    return clip_here, [clip_here.poses[i % len(moved)] for i in range(FRAMES)]


class Stages:
    """Stands in for what a Grounder calls, and adds up the time that it takes."""

    def __init__(self, call: Any) -> None:
        self.call, self.seconds = call, 0.0

    def __call__(self, *arguments: Any) -> Any:
        """Call, and count the seconds."""
        began = time.perf_counter()
        answer = self.call(*arguments)
        self.seconds += time.perf_counter() - began
        return answer


def whole(live: Grounder, poses: list[Pose]) -> np.ndarray:
    """Seconds of each frame."""
    seconds = np.empty(len(poses))
    for i, pose in enumerate(poses):
        began = time.perf_counter()
        live(pose, STEP)
        seconds[i] = time.perf_counter() - began
    return seconds[10:]


def parts(live: Grounder, poses: list[Pose]) -> tuple[float, float, float]:
    """Median seconds a frame in the kernel, in the terrain, and in all."""
    kernel, ground = Stages(live._step), Stages(live.terrain.sample)  # noqa: SLF001
    live._step = kernel  # noqa: SLF001
    object.__setattr__(live.terrain, "sample", ground)
    rows = []
    for pose in poses:
        kernel.seconds = ground.seconds = 0.0
        began = time.perf_counter()
        live(pose, STEP)
        rows.append((kernel.seconds, ground.seconds, time.perf_counter() - began))
    return tuple(np.median(rows[10:], axis=0).tolist())


def row(name: str, kind: str, clip: poise.Clip, poses: list[Pose]) -> harness.Row:
    """One figure on one ground."""
    median, slow = harness.spread(whole(Grounder(clip, GROUNDS[kind]()), poses), 1e-6)
    kernel, ground, total = parts(Grounder(clip, GROUNDS[kind]()), poses)
    crowd = Pose(clip.skeleton, np.tile(poses[0].q, (CROWD, 1)))
    many = np.median(whole(Grounder(clip, GROUNDS[kind]()), [crowd] * 200)) / CROWD
    return {
        "figure": name, "ground": kind, "a frame, median [us]": median, "99 % [us]": slow,
        "kernel": f"{100 * kernel / total:.0f} %", "terrain": f"{100 * ground / total:.0f} %",
        "checks, copies, Pose": f"{100 * (total - kernel - ground) / total:.0f} %",
        f"one of a crowd of {CROWD} [us]": float(many * 1e6),
    }  # fmt: skip


def main(names: tuple[str, ...] = tuple(RIGS)) -> int:
    """Run everything and write the table."""
    data = harness.data_folder()
    notes = [f"Asked for: below {REQUESTED:g} us a frame and character on flat ground."]
    rows = []
    if data is None:
        notes.append("Left out, the test data is not here: set POISE_DATA.")
    for name in names if data else ():
        clip, poses = poses_of(data, *RIGS[name])
        rows += [row(name, kind, clip, poses) for kind in GROUNDS]
    harness.report("grounder", "Feet on the ground, live", rows, notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
