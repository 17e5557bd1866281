"""Limbs with a Pole: what moves besides the chain, and how far elbows and knees are off the side of the pole.

Both arms and both legs of four characters reach for random places, elbows and knees turned to random points. Judged by
a forward kinematics of its own (tools/random_cases/kinematics.py), as angles about the line from shoulder to hand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import harness
import numpy as np

import poise

sys.path.append(str(harness.HERE.parent / "tools"))
from random_cases.kinematics import Array, length, world

TARGETS = 200
SEED = 17
NEAR, FAR = 0.3, 0.95  # shares of its length that a limb reaches: one whose elbow bends by 150 degrees comes to 0.26
CLEAR = 0.1  # [deg] how far a middle joint may be off the pole's side
LIMBS = {"Arm": ("UpperArm", "LowerArm", "Hand"), "Leg": ("UpperLeg", "LowerLeg", "Foot")}
FILES = (
    "humanoid.glb",
    "glb/mixamo_human_makehuman.glb",
    "bvh/cmu_12_01_walk.bvh",
    "fbx/kenney_character.fbx",
)
WAYS = (("named", "auto"), ("named", "levenberg_marquardt"), ("default", "auto"))


class Limb(NamedTuple):
    """Names of the first joint of a limb, of the one that bends, and of the tip."""

    first: str
    middle: str
    tip: str


def characters() -> Iterator[tuple[str, poise.Rig]]:
    """The characters, by name, without those whose files are not here."""
    for name in FILES:
        folder = harness.data_folder()
        path = poise.samples.path(name) if "/" not in name else (folder or Path("nowhere")) / name
        if not Path(path).is_file():
            print(f"pole_sides: without {name}, which is not here", flush=True)
            continue
        yield Path(name).name, poise.load(path)


def find_limbs(rig: poise.Rig) -> list[Limb]:
    """Both arms and both legs."""
    joints = poise.find_roles(rig).joints
    return [Limb(*(joints[side + part] for part in parts)) for parts in LIMBS.values() for side in ("left", "right")]


def tasks(rest: poise.Pose, limb: Limb, count: int, seed: int) -> tuple[Array, Array]:
    """Places (count, 3) of a limb's tip that it reaches, and poles (count, 3) about its first joint."""
    rng = np.random.default_rng(seed)
    first, middle, tip = _points(rest, rest.q[None], limb)
    upper, lower = float(length(middle - first)[0]), float(length(tip - middle)[0])
    ways = rng.normal(size=(count, 3))
    nearest = abs(upper - lower) / (upper + lower)
    shares = rng.uniform(max(NEAR, nearest + 0.05), FAR, size=(count, 1))
    targets = first + (upper + lower) * shares * ways / length(ways)[:, None]
    return targets, first + rng.normal(size=(count, 3)) * (upper + lower)


def _points(rest: poise.Pose, q: Array, limb: Limb) -> list[Array]:
    """Where the joints of a limb are (k, 3), for configurations (k, nq)."""
    place = world(rest, q)[1]
    return [place[:, rest.skeleton.index(name)] for name in limb]


def degrees_off(first: Array, middle: Array, tip: Array, poles: Array) -> Array:
    """Angles (k,) [deg] about the line from first joint to tip, between the middle joint and the pole."""
    line = (tip - first) / length(tip - first)[:, None]
    bend, side = (v - line * (v * line).sum(axis=-1, keepdims=True) for v in (middle - first, poles - first))
    return np.degrees(np.arctan2(length(np.cross(bend, side)), (bend * side).sum(axis=-1)))


def moved_outside(before: poise.Pose, q: Array, names: set[str]) -> float:
    """The most that a number of q changed which belongs to none of these joints."""
    skeleton, change = before.skeleton, np.abs(q - before.q).max(axis=0)
    for name in names:
        change[skeleton.q_slice(name)] = 0.0
    return float(change.max(initial=0.0))


def turned(before: poise.Pose, q: Array, names: set[str]) -> float:
    """The most [deg] that one of these joints turned."""
    most = 0.0
    for name in names:
        own = before.skeleton.q_slice(name)
        if own.stop - own.start >= 4:  # a rotation: the last four numbers
            cosine = np.abs((q[:, own][:, -4:] * before.q[own][-4:]).sum(axis=-1)).clip(0.0, 1.0)
            most = max(most, float(np.degrees(2.0 * np.arccos(cosine)).max()))
    return most


def measure(rig: poise.Rig, root: str, solver: Any, count: int) -> harness.Row:
    """Solve for all limbs of a character, each alone; figures over all of them."""
    rest, off, missed, outside, above, reached = rig.rest, [], [], 0.0, 0.0, 0
    for number, limb in enumerate(find_limbs(rig)):
        targets, poles = tasks(rest, limb, count, SEED + number)
        hand = poise.Position(limb.tip, targets, root=limb.first if root == "named" else None)
        result = poise.solve(rest, [hand, poise.Pole(limb.middle, poles, tip=limb.tip)], solver=solver)
        first, middle, tip = _points(rest, result.q, limb)
        chain = set(rig.skeleton.chain(hand.root, limb.tip))
        outside = max(outside, moved_outside(rest, result.q, chain))
        above = max(above, turned(rest, result.q, chain - {limb.first, limb.middle}))
        missed.append(length(tip - targets) / result.tolerance)
        off.append(degrees_off(first, middle, tip, poles))
        reached += int(np.sum(result.reached))
    angles, far = np.concatenate(off), np.concatenate(missed)
    return {
        "root of the Position": root, "solver": solver, "targets": len(angles), "reached": reached,
        "tip off, worst [tolerances]": float(far.max()),
        "moved outside the chain": outside, "others of the chain turned [deg]": above,
        "off the pole, median [deg]": float(np.median(angles)), "worst [deg]": float(angles.max()),
        f"beyond {CLEAR} deg": int((angles > CLEAR).sum()),
    }  # fmt: skip


def main(count: int = TARGETS, report: Callable[..., object] = harness.report) -> int:
    """Run everything and write the table."""
    rows = [
        {"character": name, **measure(rig, root, solver, count)} for name, rig in characters() for root, solver in WAYS
    ]
    note = (
        f"{count} targets for each of two arms and two legs, at {NEAR:g} to {FAR:g} of the limb's length, each with a "
        "pole of its own; judged by a forward kinematics of the benchmark's own. The Pole names no root. With a root, "
        "the upper arm or leg, the Position's chain has no other joints; the default chain of an arm begins at the "
        "collar bone, which natural poses keep still."
    )
    report("pole_sides", "Sides of elbows and knees", rows, [note])
    return 0


if __name__ == "__main__":
    sys.exit(main())
