"""Feet put on the ground: frames a second of whole clips, one core, the whole pipeline but reading the file.

A clip of the data is repeated to 5,000 frames. Each round plants it anew on a new Clip, so that nothing is remembered:
roles, forward kinematics, contacts, plants, feet, legs and the poses that come out. Processor time, the median of the
rounds. Stages are timed by the functions that `plant_feet` calls, in rounds of their own.

    python benchmarks/plant_feet.py --beside OTHER/src  # the same rows by another checkout, in turns
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import harness
import numpy as np

import poise
from poise import Terrain

CLIPS = {
    "dance, 73 joints": "bvh/jesse_dance_rokoko.bvh",
    "walk, 58 joints": "bvh/walk_mass.bvh",
}
RATES = (None, 60.0, 30.0)  # [frames/s] the clip's own, and slower: feet are worked out in at least 100
FRAMES, ROUNDS = 5000, 7
SHORT = 564  # frames of a clip whose frames are to cost as much as those of a long one
REQUESTED = 20_000
STAGES = {
    "roles and figure": ("figure_of",),
    "forward kinematics of legs": ("motion_of",),
    "in place?": ("ground_velocity", "travelled"),
    "soles and contacts": ("stances",),
    "plants": ("find_plants",),
    "feet": ("join_rolls", "place_feet", "every", "find_early_heels"),
    "pelvis, legs, toes": ("settle_legs",),
    "poses written": ("write_poses",),
}


def clip_of(path: Path, rate: float | None, frames: int = FRAMES) -> poise.Clip:
    """A clip of so many frames: the file's, over and over."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clip = poise.load(path).clips[0]
    clip = clip if rate is None else clip.resample(rate)
    rows = np.arange(frames) % len(clip)
    return poise.Clip.at_rate(clip.poses.with_q(clip.poses.q)[rows], rate or round(clip.fps))


def fresh(clip: poise.Clip) -> poise.Clip:
    """The same clip, with nothing worked out."""
    return poise.Clip(clip.times, poise.Pose(clip.skeleton, clip.poses.q), clip.name)


def frames_a_second(clip: poise.Clip, terrain: Terrain, rounds: int = ROUNDS) -> float:
    """Median over the rounds, by processor time."""
    seconds = []
    for _ in range(rounds + 1):
        new = fresh(clip)
        start = time.process_time()
        poise.plant_feet(new, terrain)
        seconds.append(time.process_time() - start)
    return len(clip) / float(np.median(seconds[1:]))


@contextmanager
def timed(spent: dict[str, float]) -> Iterator[None]:
    """While this lasts, add the processor time of each stage to `spent`."""
    from poise.ground import found, plant, stages  # noqa: PLC0415 - other checkouts may lack them

    def wrapped(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            start = time.process_time()
            result = function(*arguments, **named)
            spent[stage] += time.process_time() - start
            return result

        return call

    rooms = (plant, found, stages)
    homes = {name: next(room for room in rooms if hasattr(room, name)) for names in STAGES.values() for name in names}
    kept = {name: getattr(home, name) for name, home in homes.items()}
    for stage, names in STAGES.items():
        for name in names:
            setattr(homes[name], name, wrapped(stage, kept[name]))
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(homes[name], name, function)


def share_stages(clip: poise.Clip, terrain: Terrain) -> dict[str, float]:
    """Share of each stage [%]."""
    spent = dict.fromkeys((*STAGES, "the rest"), 0.0)
    with timed(spent):
        start = time.process_time()
        for _ in range(ROUNDS):
            poise.plant_feet(fresh(clip), terrain)
        whole = time.process_time() - start
    spent["the rest"] = whole - sum(spent.values())
    return {stage: 100 * seconds / whole for stage, seconds in spent.items()}


def measure(rounds: int = 1) -> dict[str, float]:
    """Milliseconds a frame of all rows, of clips that stand already, and of a short clip."""
    folder, terrain, costs = harness.data_folder(), Terrain.flat(), {}
    assert folder is not None
    for name, file in CLIPS.items():
        for rate in RATES:
            clip = clip_of(folder / file, rate)
            costs[f"{name}, {rate:g} frames/s" if rate else name] = 1000.0 / frames_a_second(clip, terrain, rounds)
        planted = poise.plant_feet(clip_of(folder / file, None), terrain)
        again = poise.Clip(planted.times, planted.poses)
        costs[f"{name}, planted already"] = 1000.0 / frames_a_second(again, terrain, rounds)
        short = clip_of(folder / file, None, SHORT)
        costs[f"{name}, {SHORT} frames"] = 1000.0 / frames_a_second(short, terrain, rounds)
    return costs


def measure_beside(other: str, turns: int = 3) -> list[harness.Row]:
    """The rows of this checkout and of another one, by fresh processes in turns."""
    here = str(Path(poise.__file__).parent.parent)
    found: dict[str, list[dict[str, float]]] = {here: [], other: []}
    for _ in range(turns):
        for source, costs in found.items():
            command = [sys.executable, __file__, "--measure"]
            environment = os.environ | {"PYTHONPATH": str(Path(source).resolve())}
            done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            costs.append(json.loads(done.stdout))
    medians = [
        {name: float(np.median([each[name] for each in costs])) for name in costs[0]} for costs in found.values()
    ]
    return [
        {"clip": name, "ms a frame": round(cost, 4), "other": round(medians[1][name], 4),
         "times the other's": round(cost / medians[1][name], 2)}
        for name, cost in medians[0].items()
    ]  # fmt: skip


def main(arguments: Sequence[str] = ()) -> int:
    """Run everything and write the tables."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", maxsplit=1)[0])
    parser.add_argument("--beside", metavar="OTHER/src", help="the sources of another checkout, measured in turns")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(list(arguments))
    folder = harness.data_folder()
    if folder is None:
        return harness.exit_code("plant_feet needs the real clips: set POISE_DATA to their folder")
    if options.measure:
        print(json.dumps(measure()))
        return 0
    if options.beside:
        print(harness.table(measure_beside(options.beside)))
        return 0
    terrain = Terrain.flat()
    clips = {
        f"{name}, {rate:g} frames/s" if rate else name: clip_of(folder / file, rate)
        for name, file in CLIPS.items()
        for rate in RATES
    }
    rows: list[harness.Row] = []
    for name, clip in clips.items():
        speed = frames_a_second(clip, terrain)
        rows.append({"clip": name, "frames/s": round(speed), "of those asked": round(speed / REQUESTED, 2)})
    shares = share_stages(next(iter(clips.values())), terrain)
    split = ", ".join(f"{stage} {share:.0f} %" for stage, share in shares.items())
    notes = [
        __doc__.split("\n\n", 1)[1].strip(),
        f"Asked: {REQUESTED:,} frames a second. Of the first clip's time: {split}.",
    ]
    harness.report("plant_feet", "Feet put on flat ground", rows, notes)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
