"""Every clip of the test data on eight grounds and locked on its own: how many stand as they should.

Each clip is put on flat ground, slopes of 10 and 20 degrees up, 20 down and across, stairs of 0.15 by 0.30 m up and
down its way, and hills, and its feet are locked on its own floor. Counted are those whose report says `ok`, and those
that one of its measures says no to: pops (changes of step of single frames), skate, depth, reach, knees. "Again" are
those that are moved by at most 2 mm when the result is put on the same ground, or locked, once more.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import harness
import numpy as np

import poise
from poise import Terrain
from poise.errors import PoiseError
from poise.ground.figure.figure import Figure, figure_of
from poise.ground.figure.motion import BALL, HIP, motion_of
from poise.ground.plant import Planted
from poise.maths import rotations

SAME = 0.002  # [m] of a figure that is 1.7 m tall
FILES = ("glb/*", "bvh/*.bvh", "asf/*.amc", "fbx/*.fbx", "vrma/*.vrma", "usd/*.usd*")
MEASURES = {"d2": "pops", "skate": "skate", "penetration": "depth", "reach": "reach", "knee": "knees"}
Ground = Callable[[str, np.ndarray, np.ndarray], Terrain]
GROUNDS: dict[str, Ground] = {
    "flat": lambda up, _, __: Terrain.flat(up=up),
    "slope 10 up": lambda up, ahead, _: Terrain.slope(10, direction=ahead, up=up),
    "slope 20 up": lambda up, ahead, _: Terrain.slope(20, direction=ahead, up=up),
    "slope 20 down": lambda up, ahead, _: Terrain.slope(-20, direction=ahead, up=up),
    "slope 20 across": lambda up, _, across: Terrain.slope(20, direction=across, up=up),
    "stairs up": lambda up, ahead, _: Terrain.stairs(0.15, 0.30, direction=ahead, up=up),
    "stairs down": lambda up, ahead, _: Terrain.stairs(0.15, 0.30, direction=-ahead, up=up),
    "hills": lambda up, _, __: Terrain.noise(0.3, up=up),
}


def clips(folder: Path) -> Iterator[tuple[poise.Rig, poise.Clip, Figure]]:
    """All clips of figures with legs."""
    for file in (path for pattern in FILES for path in sorted(folder.glob(pattern))):
        try:
            rig = poise.load(file)
        except PoiseError:
            continue  # what cannot be read is the business of others
        for clip in rig.clips:
            try:
                yield rig, clip, figure_of(clip, rig=rig)
            except PoiseError:
                break


def ways(clip: poise.Clip, figure: Figure) -> tuple[np.ndarray, np.ndarray]:
    """Where a clip goes, else where its feet point: ahead, and to its left, along the axes of its file."""
    places = motion_of(clip, figure).places
    way = (places[-1, :, HIP] - places[0, :, HIP]).mean(axis=0)
    if np.hypot(*way[:2]) < 0.5:
        way = (places[:, :, BALL] - places[:, :, HIP]).mean(axis=(0, 1))
    ahead = np.array([way[0], way[1], 0.0]) if np.hypot(*way[:2]) > 1e-3 else np.array([0.0, -1.0, 0.0])
    across = np.array([-ahead[1], ahead[0], 0.0])
    turn = rotations.inverse(figure.turn)
    return rotations.rotate(turn, ahead), rotations.rotate(turn, across)


def once_more(result: Planted, rig: poise.Rig, *, locked: bool) -> bool:
    """Whether the clip that came out, which nobody knows to be a result, stays as it is when that is done again."""
    clip = poise.Clip(result.times, result.poses, result.name)
    again = poise.lock_feet(clip, rig=rig) if locked else poise.plant_feet(clip, result.terrain, rig=rig)
    ways = np.linalg.norm(again.poses.world.positions - clip.poses.world.positions, axis=-1)
    return bool(ways.max() <= SAME * result.figure.metre)


def judged(name: str, results: list[Planted], again: list[bool]) -> harness.Row:
    """The line of a ground; again: which results stay as they are."""
    counts = Counter(worse.measure for planted in results for worse in planted.report.worse)
    over = [float((p.report.jumps.after - p.report.jumps.bound).max()) for p in results]
    return {
        "ground": name,
        "clips": len(results),
        "ok": sum(planted.report.ok for planted in results),
        **{word: counts[measure] for measure, word in MEASURES.items()},
        "again": sum(again),
        "pops beyond the bound, 90 % below [mm]": float(np.percentile(np.maximum(over, 0.0), 90)),
    }


def main() -> int:
    """Plant everything and write the table."""
    folder = harness.data_folder()
    if folder is None:
        return harness.exit_code("plant_all_clips needs the real clips: set POISE_DATA to their folder")
    results: dict[str, list[Planted]] = {"locked": [], **{name: [] for name in GROUNDS}}
    again: dict[str, list[bool]] = {name: [] for name in results}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rig, clip, figure in clips(folder):
            ahead, across = ways(clip, figure)
            results["locked"].append(poise.lock_feet(clip, rig=rig))
            for name, ground in GROUNDS.items():
                results[name].append(poise.plant_feet(clip, ground(figure.up, ahead, across), rig=rig))
            for name, planted in results.items():
                again[name].append(once_more(planted[-1], rig, locked=name == "locked"))
            print(f"{clip.name}: done", file=sys.stderr)
    rows = [judged(name, planted, again[name]) for name, planted in results.items()]
    harness.report("plant_all_clips", "Every clip on every ground", rows, [__doc__.split("\n\n", 1)[1].strip()])
    return 0


if __name__ == "__main__":
    sys.exit(main())
