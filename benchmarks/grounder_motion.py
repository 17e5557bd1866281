"""Feet on the ground, live, as clips are played: how much more hips, knees and ankles jerk than the animation does.

Three clips of walks at 60 frames a second, each at a steady speed, at one that changes and as one that stops and goes,
on five grounds: 45 runs. Other clips by name (`--clips`). Nothing is smoothed; the first three frames are left out.

Beyond: change of step (second difference) of a joint, less the animation's largest of the same joint within 0.1 s, in
mm a frame of a figure with a leg of 0.85 m: 95 % of frames, by the worse leg, and the most of all. By forward
kinematics of what is shown; toe is the tip of the sole, which turns with the toes. Skate: speed of heels and balls
where the animation's are slower than 0.25 m/s and lower than 3 cm, without the first and last two frames of each
contact. Sunk: the pelvis below the animation's, over the mean of the ground under both feet. Deepest: of heels and
balls in the ground, and of tips of toes. Bend: the largest bend of a knee beside the animation's. Toes: the largest
turn of toes against their foot, from where the sole is level, beyond 65 degrees or the animation's largest. Lean: the
line from the hips to the head, forward as the figure travels, beyond the animation's: median of frames faster than 0.5
m/s.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import harness
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import poise
from poise import Clip, Grounder, Pose, Terrain
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, HIP, KNEE, Motion, motion_of
from poise.ground.report.measures import flat_toes, paths_of, toe_bends
from poise.maths.rotations import rotate

CLIPS = ("bvh/cmu_12_01_walk.bvh", "asf/02_01.amc", "fbx/pab_walk.fbx")
JOINTS = {"ankle": ANKLE, "knee": KNEE, "hip": HIP}
GATED = ("ankle", "knee", "hip", "toe", "head")
SPEEDS = {
    "steady": np.ones_like,
    "changing": lambda t: 1.1 + 0.7 * np.sin(2.0 * np.pi * t / 3.3),
    "stop and go": lambda t: np.select([t % 3.0 < 1.2, t % 3.0 < 2.0], [1.2, 0.0], 1.6),
}
GROUNDS = {
    "flat": lambda _way: Terrain.flat(),
    "slope 15": lambda way: Terrain.slope(15.0, direction=way),
    "stairs up": lambda way: Terrain.stairs(0.15, 0.30, direction=way),
    "stairs down": lambda way: Terrain.stairs(0.15, 0.30, direction=-way),
    "noise": lambda _way: Terrain.noise(0.1, 1.5, seed=3),
}
# [mm a frame] beyond the animation: in 95 % of frames, and at most.
BOUNDS = {"flat": (5, 15), "slope 15": (8, 20), "stairs up": (15, 30), "stairs down": (15, 30), "noise": (8, 20)}
RATE, SECONDS = 60.0, 12.0
NEAR = 6  # frames: 0.1 s
FIRST = 3  # frames left out
EDGE = 2  # frames left out at both ends of a contact
SLOW, LOW = 0.25, 0.03  # [m/s], [m]: a point of the sole stands
TOES = 65.0  # [degrees] toes bend
WALKS = 0.5  # [m/s] of hips from which on a lean is measured


def streamed(clip: Clip, speed: str) -> Pose:
    """The poses of a clip as they are played."""
    times = np.arange(0.0, SECONDS, 1.0 / RATE)
    place = np.cumsum(SPEEDS[speed](times)) / RATE
    return clip.at(clip.times[0] + place[place < clip.duration - 0.02])


def play(live: Grounder, poses: Pose) -> tuple[Pose, np.ndarray]:
    """What is shown for every pose, and the seconds that each took."""
    shown, seconds = [], np.empty(len(poses.q))
    given = [poses[i] for i in range(len(poses.q))]
    for i, pose in enumerate(given):
        began = time.perf_counter()
        shown.append(live(pose, 1.0 / RATE))
        seconds[i] = time.perf_counter() - began
    moved = None if shown[0].translations is None else np.array([pose.translations for pose in shown])
    return Pose(poses.skeleton, np.array([pose.q for pose in shown]), moved, poses.scales), seconds


def changes(places: np.ndarray) -> np.ndarray:
    """Changes of step (F, ...) of places (F, ..., 3); 0 at both ends."""
    found = np.zeros(places.shape[:-1])
    found[1:-1] = np.linalg.norm(np.diff(places, 2, axis=0), axis=-1)
    return found


def nearby(values: np.ndarray) -> np.ndarray:
    """The most within NEAR frames before and after."""
    padded = np.pad(values, ((NEAR, NEAR), *((0, 0),) * (values.ndim - 1)), mode="edge")
    return sliding_window_view(padded, 2 * NEAR + 1, axis=0).max(axis=-1)


def beyond(source: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """(F, ...) change of step of places (F, ..., 3) beyond the animation's [mm]."""
    found = 1000.0 * (changes(shown) - nearby(changes(source)))
    found[:FIRST] = 0.0
    return found


def places_of(motion: Motion, poses: Pose, live: Grounder, head: str) -> dict[str, np.ndarray]:
    """Places (F, n, 3) [m], z up, of what is gated."""
    found = {joint: motion.places[:, :, at] for joint, at in JOINTS.items()}
    tops = rotate(live.figure.turn, poses.world_of(head).positions / live.figure.metre)
    return found | {"toe": live.gait.soles.points(motion)[:, :, 2], "head": tops[:, None]}


def leans(places: dict[str, np.ndarray], way: np.ndarray) -> np.ndarray:
    """(F,) [degrees] by which the line from hips to head leans forward along level ways (F, 2)."""
    up = places["head"][:, 0] - places["hip"].mean(axis=1)
    return np.degrees(np.arctan2((up[:, :2] * way).sum(axis=1), up[:, 2]))


def leaned(source: dict[str, np.ndarray], shown: dict[str, np.ndarray]) -> float:
    """[degrees] by which the figure leans forward beyond the animation, while it travels."""
    speed = np.gradient(source["hip"].mean(axis=1)[:, :2], axis=0) * RATE
    size = np.linalg.norm(speed, axis=1)
    moves = size > WALKS
    way = speed[moves] / size[moves, None]
    lean = [leans({name: at[moves] for name, at in each.items()}, way) for each in (shown, source)]
    return float(np.median(lean[0] - lean[1]))


def toes_beyond(live: Grounder, source: Motion, shown: Motion, reference: Motion) -> float:
    """[degrees] by which toes bend beyond 65 degrees, or beyond the animation's largest."""
    flat = flat_toes(paths_of(reference, live.gait.soles, Footing(Terrain.flat(), live.figure)), reference)
    own, now = (toe_bends(motion, flat).max(axis=0) for motion in (source, shown))
    return float((now - np.maximum(own, TOES)).max())


def bends(motion: Motion) -> np.ndarray:
    """(F, L) by how much each knee is bent [degrees]."""
    thigh, shin = (np.diff(motion.places[:, :, [a, b]], axis=2)[:, :, 0] for a, b in ((HIP, KNEE), (KNEE, ANKLE)))
    cosine = (thigh * shin).sum(-1) / np.linalg.norm(thigh, axis=-1) / np.linalg.norm(shin, axis=-1)
    return np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))


def standing(places: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """(F, ...) whether points of soles stand: slow and low, but for both ends of each contact."""
    speed = np.linalg.norm(np.diff(places, axis=0, prepend=places[:1]), axis=-1) * RATE
    stands = (np.maximum(speed, np.roll(speed, -1, axis=0)) < SLOW) & (heights < LOW)
    padded = np.pad(stands, ((EDGE, EDGE), *((0, 0),) * (stands.ndim - 1)))
    return sliding_window_view(padded, 2 * EDGE + 1, axis=0).all(axis=-1)


def skated(live: Grounder, source: Motion, shown: Motion) -> float:
    """[cm/s] at which heels and balls slide that stand in the animation."""
    before, after = (live.gait.soles.points(motion)[:, :, :2] for motion in (source, shown))
    stands = standing(before, before[..., 2] - live.gait.level)
    slid = np.linalg.norm(np.diff(after[..., :2], axis=0, prepend=after[:1, ..., :2]), axis=-1)[stands]
    return float(100.0 * RATE * slid.mean()) if slid.size else 0.0


def row(clip: Clip, rig: poise.Rig, way: np.ndarray, name: str, speed: str, kind: str) -> harness.Row:
    """One run."""
    terrain = GROUNDS[kind](way)
    live, poses = Grounder(clip, terrain, rig=rig), streamed(clip, speed)
    answer, seconds = play(live, poses)
    times = np.arange(len(seconds)) / RATE
    source, shown = (motion_of(Clip(times, each), live.figure) for each in (poses, answer))
    head = rig.roles.joints["head"]
    before, after = (places_of(*each, live, head) for each in ((source, poses), (shown, answer)))
    found = {joint: beyond(before[joint], after[joint]).max(axis=1) for joint in GATED}
    footing = Footing(terrain, live.figure)
    heights = paths_of(shown, live.gait.soles, footing).heights[FIRST:]
    depth = [1000.0 * max(-float(each.min()), 0.0) for each in (heights[..., :2], heights[..., 2])]
    rise = footing.sample(shown.places[:, :, ANKLE])[0].mean(axis=1) - live.gait.level
    sunk = (source.places[:, :, HIP, 2] - shown.places[:, :, HIP, 2]).mean(axis=1) + rise
    result: harness.Row = {"clip": name, "speed": speed, "ground": kind}
    for joint in GATED:
        result |= {f"{joint} 95 %": np.percentile(found[joint], 95), f"{joint} most": found[joint].max()}
    result["within"] = "yes" if all(_within(found[joint], kind) for joint in GATED) else "no"
    bend = [bends(motion).max() for motion in (source, shown)]
    return result | {
        "skate [cm/s]": skated(live, source, shown), "deepest [mm]": depth[0], "tip [mm]": depth[1],
        "sunk, median [mm]": 1000.0 * np.median(sunk), "bend beyond [degrees]": bend[1] - bend[0],
        "toes beyond [degrees]": toes_beyond(live, source, shown, motion_of(clip, live.figure)),
        "lean [degrees]": leaned(before, after),
        "a frame, median [us]": harness.spread(seconds[10:], 1e-6)[0],
    }  # fmt: skip


def _within(found: np.ndarray, kind: str) -> bool:
    usual, most = BOUNDS[kind]
    return bool(np.percentile(found, 95) <= usual and found.max() <= most)


def rows_of(data: Path, names: list[str], speeds: list[str], grounds: list[str]) -> list[harness.Row]:
    """All runs of some clips."""
    rows = []
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rig = poise.load(data / name)
            clip = max(rig.clips, key=lambda each: each.duration)
            way = np.array(poise.travel_direction(clip, rig=rig))
        tag = Path(name).stem.removesuffix("_m2m")
        rows += [row(clip, rig, way, tag, speed, kind) for kind in grounds for speed in speeds]
    return rows


def summed(rows: list[harness.Row]) -> list[harness.Row]:
    """The worst of each ground."""
    found = []
    for kind in GROUNDS:
        here = [each for each in rows if each["ground"] == kind]
        if here:
            worst = {f"{j} {of}": max(each[f"{j} {of}"] for each in here) for j in GATED for of in ("95 %", "most")}
            within = sum(each["within"] == "yes" for each in here)
            found.append({"ground": kind, "within": f"{within} of {len(here)}", **worst})
    return found


def main() -> int:
    """Run everything and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", nargs="+", default=list(CLIPS), help="files of the data")
    parser.add_argument("--speeds", nargs="+", default=list(SPEEDS), choices=list(SPEEDS))
    parser.add_argument("--grounds", nargs="+", default=list(GROUNDS), choices=list(GROUNDS))
    parser.add_argument("--print", action="store_true", help="print the table and write nothing")
    options, _ = parser.parse_known_args()
    data = harness.data_folder()
    if data is None:
        harness.report("grounder_motion", "Feet on the ground, live, joint by joint", [],
                       ["Left out, the test data is not here: set POISE_DATA."])  # fmt: skip
        return 0
    rows = rows_of(data, options.clips, options.speeds, options.grounds)
    if options.print:
        print(harness.table(rows), harness.table(summed(rows)), sep="\n\n")
        return 0
    asked = "; ".join(f"{kind} {usual} / {most}" for kind, (usual, most) in BOUNDS.items())
    notes = [f"Asked for, 95 % of frames / at most [mm a frame]: {asked}.", harness.table(summed(rows))]
    harness.report("grounder_motion", "Feet on the ground, live, joint by joint", rows, notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
