"""Leaps of baked clips: those that neither the clip nor the target has.

Hands and feet of recorded clips follow targets beyond their reach, and targets that swing through its end. A leap is by
how much a joint turns more, between two frames, than 1.5 times what it turns in the clip itself and what the target
turns about the first joint that moves, seen from what carries that one.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import harness
import numpy as np

import poise
from poise.maths import rotations

WALKS = ("walk_mass", "cmu_12_01_walk")
CLIPS = (*WALKS, "run_mass", "cmu_01_03_climb_ladder", "jumping_jacks_cmu1", "human_anim_m2m", "mannequiny_gdquest")
FRAMES = 300  # at most, one after the other
LIMBS = {"rightHand": "rightUpperArm", "leftFoot": "leftUpperLeg"}
SOLVERS: dict[str, dict[str, Any]] = {
    "auto": {},
    "auto, natural=False": {"natural": False},
    "auto, from the hips": {},
    "levenberg_marquardt": {"solver": "levenberg_marquardt"},
    "two_bone": {"solver": "two_bone"},
    "fabrik": {"solver": "fabrik"},
    "ccd": {"solver": "ccd"},
}
LEAP = 2.0  # [deg]


class Moving(NamedTuple):
    """A clip and who is who."""

    name: str
    clip: poise.Clip
    joints: dict[str, str]


def moving(folder: Path) -> Iterator[Moving]:
    """The clips, the first of each file."""
    for name in CLIPS:
        path = next(path for path in (folder / "bvh" / f"{name}.bvh", folder / "glb" / f"{name}.glb") if path.is_file())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", poise.PoiseWarning)
            rig = poise.load(path)
        clip = rig.clips[0]
        begin = 1 if len(clip) > FRAMES else 0  # the first frame of CMU's clips is a T
        part = slice(begin, begin + FRAMES)
        yield Moving(name, poise.Clip(clip.times[part], clip.poses[part], clip.name), dict(rig.roles.joints))


def beyond(given: Moving, tip: str) -> np.ndarray:
    """A point out of reach in all frames (3,), where the tip points in the middle of the clip."""
    world = given.clip.poses.world.positions
    first, at = (world[:, given.clip.skeleton.index(given.joints[role])] for role in (LIMBS[tip], tip))
    middle = len(at) // 2
    way = at[middle] - first[middle]
    away = np.linalg.norm(first - first[middle], axis=-1).max() + np.ptp(world[0], axis=0).max()
    return np.tile(first[middle] + way / np.linalg.norm(way) * 1.5 * away, (len(at), 1))


def across(given: Moving, tip: str) -> np.ndarray:
    """Points (frames, 3) that swing along the line from the limb's first joint to its tip, 50 % out and in a second."""
    world = given.clip.poses.world.positions
    first, at = (world[:, given.clip.skeleton.index(given.joints[role])] for role in (LIMBS[tip], tip))
    return first + (at - first) * (1.0 + 0.5 * np.sin(2 * np.pi * given.clip.times))[:, None]


def turns(poses: poise.Pose, joints: tuple[str, ...]) -> np.ndarray:
    """How far (frames - 1, joints) each joint turns between frames, in its parent [deg]."""
    world, parents = poses.world, poses.skeleton.parents
    found: list[np.ndarray] = []
    for name in joints:
        row = poses.skeleton.index(name)
        own = world.rotations[:, row]
        if parents[row] >= 0:
            own = rotations.multiply(rotations.inverse(world.rotations[:, parents[row]]), own)
        on = rotations.multiply(rotations.inverse(own[:-1]), own[1:])
        found.append(2 * np.arctan2(np.linalg.norm(on[:, 1:], axis=-1), np.abs(on[:, 0])))
    return np.degrees(np.array(found).T)


def target_turns(clip: poise.Clip, first: str, targets: np.ndarray) -> np.ndarray:
    """How far (frames - 1,) the target turns about a joint, seen from what carries it [deg]."""
    row, world = clip.skeleton.index(first), clip.poses.world
    way = targets - world.positions[:, row]
    if clip.skeleton.parents[row] >= 0:
        way = rotations.rotate(rotations.inverse(world.rotations[:, clip.skeleton.parents[row]]), way)
    a, b = way[:-1], way[1:]
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), (a * b).sum(axis=-1)))


def baked(given: Moving, tip: str, targets: np.ndarray, solver: str, *, continuous: bool) -> dict[str, Any]:
    """The leaps of one clip (frames - 1,), what share is reached, and the time it takes."""
    root = {"auto, from the hips": given.joints["hips"], "two_bone": given.joints[LIMBS[tip]]}.get(solver)
    goal = poise.Position(given.joints[tip], targets, root=root)
    began = time.perf_counter()
    made = poise.bake(given.clip, goal, continuous=continuous, **SOLVERS[solver])
    seconds = time.perf_counter() - began
    joints = made.result.joints
    allowed = 1.5 * turns(given.clip.poses, joints) + target_turns(given.clip, joints[0], targets)[:, None]
    leaps = (turns(made.poses, joints) - allowed).max(axis=-1)
    return {"leaps": leaps, "reached": float(np.mean(made.result.reached)), "us": seconds / len(given.clip) * 1e6}


def row(given: Moving, where: str, solver: str) -> dict[str, Any]:
    """One clip by one solver, both limbs: each frame alone, and baked."""
    out: dict[str, Any] = {"clip": given.name, "targets": where, "solver": solver}
    place = {"beyond reach": beyond, "across its end": across}[where]
    for what, continuous in (("alone", False), ("baked", True)):
        found = [baked(given, tip, place(given, tip), solver, continuous=continuous) for tip in LIMBS]
        leaps = np.concatenate([one["leaps"] for one in found])
        out |= {
            f"{what}: worst leap [deg]": round(max(0.0, float(leaps.max())), 1),
            f"{what}: leaps": int((leaps > LEAP).sum()),
            f"{what}: reached [%]": round(100 * float(np.mean([one["reached"] for one in found])), 1),
            f"{what} [us a frame]": float(np.mean([one["us"] for one in found])),
        }
    return out


def main() -> int:
    """Bake all, write the table; 1 where a walk with targets beyond reach leaps."""
    folder = harness.data_folder()
    if folder is None:
        print("continuity: no test data (POISE_DATA)")
        return 0
    rows: list[dict[str, Any]] = []
    for given in moving(folder):
        if not {"hips", *LIMBS, *LIMBS.values()} <= given.joints.keys():
            print(f"continuity: {given.name} has no sure arms and legs")
            continue
        for where in ("beyond reach", "across its end"):
            rows += [row(given, where, solver) for solver in SOLVERS]
    proof = [one for one in rows if one["clip"] in WALKS and one["targets"] == "beyond reach"]
    worst = {what: max(one[f"{what}: worst leap [deg]"] for one in proof) for what in ("alone", "baked")}
    proof_words = (
        f"Walks with targets beyond reach: a joint turns by at most {worst['baked']} degrees more than 1.5 times the "
        f"clip's own turn and the target's ({worst['alone']} where each frame is solved alone); less than {LEAP:g} are "
        "asked for."
    )
    across_words = (
        f"A leap counts from {LEAP:g} degrees. Where a target comes within reach, the elbow or knee of a straight limb "
        "opens as the square root of what the target comes nearer: that leap is the target's, though the measure here "
        "does not know it. Frames that met their goals in the clip keep their pose, also between two that do not."
    )
    harness.report(
        "continuity", "Baked clips: leaps that neither the clip nor the target has", rows, (proof_words, across_words)
    )
    return 0 if worst["baked"] < LEAP else 1


if __name__ == "__main__":
    sys.exit(main())
