"""Every clip of the test data on eight grounds and locked on its own: how many stand as they should.

Each clip is put on flat ground, slopes of 10 and 20 degrees up, 20 down and across, stairs of 0.15 by 0.30 m up and
down its way, and hills, and its feet are locked on its own floor. Counted are those whose report says `ok`, and those
that one of its measures says no to: pops (changes of step of single frames), skate, depth, reach, knees.
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


def judged(name: str, results: list[Planted]) -> harness.Row:
    """The line of a ground."""
    counts = Counter(worse.measure for planted in results for worse in planted.report.worse)
    over = [float((p.report.jumps.after - p.report.jumps.bound).max()) for p in results]
    return {
        "ground": name,
        "clips": len(results),
        "ok": sum(planted.report.ok for planted in results),
        **{word: counts[measure] for measure, word in MEASURES.items()},
        "pops beyond the bound, 90 % below [mm]": float(np.percentile(np.maximum(over, 0.0), 90)),
    }


def main() -> int:
    """Plant everything and write the table."""
    folder = harness.data_folder()
    if folder is None:
        return harness.exit_code("every_clip needs the real clips: set POISE_DATA to their folder")
    results: dict[str, list[Planted]] = {"locked": [], **{name: [] for name in GROUNDS}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rig, clip, figure in clips(folder):
            ahead, across = ways(clip, figure)
            results["locked"].append(poise.lock_feet(clip, rig=rig))
            for name, ground in GROUNDS.items():
                results[name].append(poise.plant_feet(clip, ground(figure.up, ahead, across), rig=rig))
            print(f"{clip.name}: done", file=sys.stderr)
    rows = [judged(name, planted) for name, planted in results.items()]
    harness.report("every_clip", "Every clip on every ground", rows, [__doc__.split("\n\n", 1)[1].strip()])
    return 0


if __name__ == "__main__":
    sys.exit(main())
