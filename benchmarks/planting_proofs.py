"""Clips on eight grounds, judged by joint positions alone, beside bounds for what an eye sees.

Measures are those of planting_judge.py, not the product's own. Change of step is what an eye sees as a pop; its excess
is what a result has beyond the source's largest within 0.1 s, of ankle, knee, hip and toe, in millimetres a frame at
the clip's own rate. Rows are shares of clips that are within a bound; a clip has its largest value.

    python benchmarks/planting_proofs.py --quick                     # 15 clips on six grounds
    python benchmarks/planting_proofs.py --clips walk --grounds own,up --worst 5
    python benchmarks/planting_proofs.py --quick --beside OTHER/src  # the same by another checkout, side by side
    python benchmarks/planting_proofs.py --clips walk_mass --grounds stairs-up --sheet walk.png
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import harness
import numpy as np
import planting_judge as judge
import planting_sheets

import poise
from poise import Terrain
from poise.errors import PoiseError
from poise.ground.figure.figure import figure_of

Ground = Callable[[str, np.ndarray, np.ndarray], Terrain]
FILES = ("glb/*", "bvh/*.bvh", "asf/*.amc", "fbx/*.fbx", "vrma/*.vrma", "usd/*.usd*")
GROUNDS: dict[str, Ground | None] = {
    "own": None,  # its feet are locked on its own floor
    "flat": lambda up, _, __: Terrain.flat(up=up),
    "up": lambda up, ahead, _: Terrain.slope(15, direction=ahead, up=up),
    "down": lambda up, ahead, _: Terrain.slope(-15, direction=ahead, up=up),
    "side": lambda up, _, across: Terrain.slope(15, direction=across, up=up),
    "stairs-up": lambda up, ahead, _: Terrain.stairs(0.15, 0.30, direction=ahead, up=up),
    "stairs-down": lambda up, ahead, _: Terrain.stairs(0.15, 0.30, direction=-ahead, up=up),
    "hills": lambda up, _, __: Terrain.noise(0.3, up=up),
}
QUICK_GROUNDS = ("own", "flat", "up", "side", "stairs-up", "stairs-down")
QUICK = (
    "bvh/walk_mass.bvh",
    "bvh/run_mass.bvh",
    "bvh/cmu_12_01_walk.bvh",
    "bvh/cmu_12_01_walk.bvh@60",
    "bvh/cmu_12_01_walk.bvh@30",
    "bvh/jumping_jacks_cmu1.bvh",
    "asf/02_03.amc",
    "bvh/jesse_dance_rokoko.bvh",
    "fbx/pab_walk.fbx",
    "fbx/cmu_91_50_m2m.fbx",
    "glb/mannequiny_gdquest.glb:run_root.001",
    "glb/robot_quaternius.glb:Robot_Walking",
    "glb/knight_kaykit.glb:Walking_A",
    "glb/fox.glb:Walk",
    "vrma/walk_cmu.vrma",
)
STAIRS = ("stairs-up", "stairs-down")
SLOPES = ("up", "down", "side")
EXCESS = {"own": (5.0, 10.0), "stairs": (12.0, 25.0), "other": (8.0, 15.0)}  # [mm a frame] of most clips, and of all


class Task(NamedTuple):
    """A clip on some grounds; rate resamples it where it is not 0."""

    file: str
    clip: str
    rate: int
    grounds: tuple[str, ...]
    again: bool

    @property
    def name(self) -> str:
        """File and clip, and the rate of one that is resampled."""
        return f"{self.file}:{self.clip}" + (f"@{self.rate}" if self.rate else "")


@cache
def load(folder: Path, file: str) -> poise.Rig | None:
    """The rig of a file; None where it cannot be read, which is the business of others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return poise.load(folder / file)
        except PoiseError:
            return None


def list_tasks(folder: Path, options: argparse.Namespace) -> Iterator[Task]:
    """The clips that are asked for, each with its grounds."""
    grounds = tuple(options.grounds.split(",")) if options.grounds else QUICK_GROUNDS if options.quick else (*GROUNDS,)
    paths = [path for pattern in FILES for path in sorted(folder.glob(pattern))]
    known = [path.relative_to(folder).as_posix() for path in paths]
    for word in QUICK if options.quick else known:
        file, _, rate = word.partition("@")
        file, _, chosen = file.partition(":")
        rig = load(folder, file)
        names = [clip.name for clip in rig.clips] if rig else []
        for name in [chosen] if chosen and rig else names:
            yield Task(file, name, int(rate or options.rate), grounds, options.again)


def load_clip(task: Task) -> tuple[poise.Rig, poise.Clip]:
    """The rig and the clip of a task."""
    folder = harness.data_folder()
    rig = load(folder, task.file) if folder else None
    assert rig is not None
    clip = next(clip for clip in rig.clips if clip.name == task.clip)
    return rig, clip.resample(float(task.rate)) if task.rate else clip


def judge_task(task: Task) -> list[dict[str, Any]]:
    """Plant a clip on its grounds and judge it."""
    rig, clip = load_clip(task)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [judge_clip(task, rig, clip, ground) for ground in task.grounds]


def build_first(task: Task) -> tuple[judge.Scene, str]:
    """The scene of a clip on the first of its grounds, and its title."""
    rig, clip = load_clip(task)
    return judge.build_scene(plant(rig, clip, task.grounds[0]), rig), f"{task.name} on {task.grounds[0]}"


def judge_clip(task: Task, rig: poise.Rig, clip: poise.Clip, ground: str) -> dict[str, Any]:
    """The measures of a clip on a ground; the sentence of an error where it cannot be planted."""
    row: dict[str, Any] = {"clip": task.name, "ground": ground}
    try:
        planted, seconds = harness.worked(lambda: plant(rig, clip, ground))
    except PoiseError as error:
        return row | {"error": str(error)}
    scene = judge.build_scene(planted, rig)
    row |= judge.judge_scene(scene)
    row |= {"ms a frame": 1000.0 * seconds / len(planted), "ok": planted.report.ok}
    row["worse"] = [worse.measure for worse in planted.report.worse]
    if task.again:
        result = poise.Clip(planted.times, planted.poses, planted.name)
        again = plant(rig, result, ground, planted.terrain)
        row["again"] = judge.measure_apart(result, again, scene.metre)
    return row


def plant(rig: poise.Rig, clip: poise.Clip, ground: str, terrain: Terrain | None = None) -> poise.Planted:
    """Plant a clip on a ground of this name, or on a terrain that was made for it before."""
    build = GROUNDS[ground]
    if build is None:
        return poise.lock_feet(clip, rig=rig)
    if terrain is None:
        up, ahead, across = find_ways(rig, clip)
        terrain = build(up, ahead, across)
    return poise.plant_feet(clip, terrain, rig=rig)


def find_ways(rig: poise.Rig, clip: poise.Clip) -> tuple[str, np.ndarray, np.ndarray]:
    """The up axis, and where a clip goes, else where it faces: ahead and to its left."""
    figure = figure_of(clip, rig=rig)
    axis = {"y": 1, "z": 2}[figure.up]
    track = judge.Track(clip.poses.world.positions, clip.poses.world.rotations)
    legs = tuple(judge.find_leg(leg, clip.skeleton) for leg in figure.legs)
    ahead = judge.find_heading(track, legs, axis, figure.metre)
    return figure.up, ahead, np.cross(np.eye(3)[axis], ahead)


def run_tasks(tasks: Sequence[Task], jobs: int) -> Iterator[dict[str, Any]]:
    """Rows of all tasks in their order, told as they come."""
    began = time.perf_counter()
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        answers = pool.map(judge_task, tasks) if jobs > 1 else map(judge_task, tasks)
        for number, (task, rows) in enumerate(zip(tasks, answers, strict=True), 1):
            seconds = time.perf_counter() - began
            print(f"\r{number}/{len(tasks)} {seconds:.0f} s {task.name[:70]:70}", end="", file=sys.stderr, flush=True)
            yield from rows
    print(file=sys.stderr)


class Figure(NamedTuple):
    """A value of each clip, and the bound that some share of the clips is to keep."""

    proof: str
    name: str
    grounds: tuple[str, ...]
    read: Callable[[dict[str, Any]], tuple[float, str]]
    bound: float
    asked: float  # [%] of clips


def list_figures() -> tuple[Figure, ...]:
    """All proofs, in their order."""
    every = tuple(GROUNDS)
    other = tuple(name for name in GROUNDS if name not in ("own", *STAIRS))
    figures: list[Figure] = []
    for words, grounds, key, share in (("own floor", ("own",), "own", 95), ("flat, slopes, hills", other, "other", 90),
                                       ("stairs", STAIRS, "stairs", 90)):  # fmt: skip
        for bound, asked in zip(EXCESS[key], (share, 97), strict=True):
            figures.append(
                Figure("1", f"excess of change of step, {words} [mm a frame]", grounds, excess, bound, asked)
            )
    figures += [
        Figure("2", "pelvis on the own floor, median [mm]", ("own",), pelvis("median"), 3.0, 100),
        Figure("2", "pelvis on the own floor, largest [mm]", ("own",), pelvis("largest"), 20.0, 95),
        Figure("3", "skate in true contacts [cm/s]", every, skate, 0.1, 100),
        Figure("3", "depth, flat and slopes [mm]", ("own", "flat", *SLOPES), worst("depth"), 2.0, 100),
        Figure("3", "depth, stairs and hills [mm]", (*STAIRS, "hills"), worst("depth"), 5.0, 100),
        Figure("3", "float in true contacts [mm]", every, worst("float"), 5.0, 100),
        Figure("4", "toe bend beyond 65 degrees or the source's [deg]", every, toe_bend, 0.0, 100),
        Figure("4", "toe pitch at push-off from the source's [deg]", every, toe_pitch, 5.0, 90),
        Figure("5", "knee bend beyond the source's, slopes [deg]", SLOPES, knee_bend, 20.0, 100),
        Figure("5", "knee bend beyond the source's, stairs [deg]", STAIRS, knee_bend, 35.0, 100),
        Figure("5", "pelvis over mean support, slopes [% lost]", SLOPES, support, 10.0, 100),
        Figure("5", "pelvis over mean support, stairs [% lost]", STAIRS, support, 15.0, 100),
        Figure("7", "planting twice [mm]", every, again, 2.0, 95),
    ]
    return tuple(figures)


def excess(row: dict[str, Any]) -> tuple[float, str]:
    """The largest excess of ankle, knee, hip and toe."""
    part = max((row["excess"][part] for part in judge.PARTS if part in row["excess"]), key=lambda part: part["mm"])
    return part["mm"], f"{part['joint']} {part['frame']} (source {part['source']:.1f})"


def pelvis(key: str) -> Callable[[dict[str, Any]], tuple[float, str]]:
    """The offset of the pelvis."""
    return lambda row: (row["pelvis"][key], f"{row['pelvis']['rise']:.0f} mm at {row['pelvis']['frame']}")


def worst(key: str) -> Callable[[dict[str, Any]], tuple[float, str]]:
    """A depth or height, and where it is."""
    return lambda row: (row[key]["mm"], f"{row[key]['point']} {row[key]['frame']}")


def skate(row: dict[str, Any]) -> tuple[float, str]:
    """Skate in true contacts."""
    return row["skate"], f"source {row['skate_source']:.1f}"


def again(row: dict[str, Any]) -> tuple[float, str]:
    """How far joints are moved when the result is planted again; not a number where that was not tried."""
    return row.get("again", float("nan")), ""


def toe_bend(row: dict[str, Any]) -> tuple[float, str]:
    """Bend of toes beyond 65 degrees, and beyond the source's own."""
    found = row["toe_bend"]
    words = f"{found['deg']:.0f} (source {found['source']:.0f}) at {found['frame']}"
    return max(0.0, found["deg"] - max(65.0, found["source"] + 1.0)), words


def toe_pitch(row: dict[str, Any]) -> tuple[float, str]:
    """Pitch of toes beside the source's at push-off."""
    return row["toe_pitch"]["deg"], f"median {row['toe_pitch']['median']:.0f}, frame {row['toe_pitch']['frame']}"


def knee_bend(row: dict[str, Any]) -> tuple[float, str]:
    """How much more a knee bends at most than in the source."""
    found = row["knee_bend"]
    return found["gain"], f"{found['deg']:.0f} (source {found['source']:.0f}) at {found['frame']}"


def support(row: dict[str, Any]) -> tuple[float, str]:
    """How much lower the pelvis is over its mean support."""
    found = row["support"]
    return 100.0 * (1.0 - found["lowest"]), f"median {found['median']:.2f}, frame {found['frame']}"


def tabulate(rows: Sequence[dict[str, Any]]) -> list[harness.Row]:
    """The lines of all proofs."""
    lines: list[harness.Row] = []
    for figure in list_figures():
        values = np.array([figure.read(row)[0] for row in rows if row["ground"] in figure.grounds])
        values = values[~np.isnan(values)]
        if len(values):
            kept = int((values <= figure.bound).sum())
            lines.append({
                "proof": figure.proof, "measure": figure.name, "bound": f"{figure.bound:g}",
                "clips within": f"{kept} of {len(values)}", "%": round(100 * kept / len(values), 1),
                "asked %": figure.asked, "median": round(float(np.median(values)), 2),
                "p90": round(float(np.percentile(values, 90)), 2), "worst": round(float(values.max()), 2),
            })  # fmt: skip
    return [*lines, *tabulate_events(rows)]


def tabulate_events(rows: Sequence[dict[str, Any]]) -> list[harness.Row]:
    """The lines of hitches on the own floor: of all events, and of toe-offs that are clear."""
    events = [event for row in rows if row["ground"] == "own" for event in row["events"]]
    words = ", ".join(
        f"{sum(event['hitch'] for event in events if event['kind'] == kind)} at {kind}s"
        for kind in ("toe-off", "landing")
    )
    kinds = {
        f"no hitch at toe-offs and landings, own floor: {words}": events,
        "no hitch at toe-offs with bent legs of feet that leave, own floor": [e for e in events if e.get("clear")],
    }
    lines: list[harness.Row] = []
    for measure, chosen in kinds.items():
        hitches = sum(event["hitch"] for event in chosen)
        lines += [{
            "proof": "2", "measure": measure, "bound": "0", "clips within": f"{len(chosen) - hitches} of {len(chosen)}",
            "%": round(100 - 100 * hitches / len(chosen), 1), "asked %": "all but 5", "median": "", "p90": "",
            "worst": hitches,
        }] if chosen else []  # fmt: skip
    return lines


def tabulate_rates(rows: Sequence[dict[str, Any]]) -> str:
    """The excess by frame rate, and what a frame costs."""
    lines: list[str] = []
    for rate in sorted({round(row["rate"]) for row in rows if row["frames"] > 2}):
        chosen = [row for row in rows if round(row["rate"]) == rate]
        parts = []
        for name, grounds in (("own", ("own",)), ("stairs", STAIRS), ("other", (*SLOPES, "flat", "hills"))):
            values = [excess(row)[0] for row in chosen if row["ground"] in grounds]
            if values:
                parts.append(f"{name} {np.median(values):.1f} ({max(values):.1f})")
        lines.append(f"{rate} frames a second: {', '.join(parts)}")
    cost = float(np.median([row["ms a frame"] for row in rows]))
    share = 100 * float(np.mean([row["contact"] for row in rows]))
    lines.append(
        f"processor time a frame: median {cost:.2f} ms; heels and balls in true contact {share:.0f} % of the time"
    )
    lines.append(f"report ok: {sum(row['ok'] for row in rows)} of {len(rows)}")
    return "excess of change of step, median of clips (worst):\n" + "\n".join(f"  {line}" for line in lines)


def describe_worst(rows: Sequence[dict[str, Any]], count: int) -> str:
    """The worst clips beyond each bound, with joint and frame."""
    lines: list[str] = []
    for figure in list_figures():
        found = [(*figure.read(row), row) for row in rows if row["ground"] in figure.grounds]
        beyond = sorted((one for one in found if one[0] > figure.bound), key=lambda one: -one[0])
        if beyond and not (lines and lines[-1].startswith(f"{figure.proof} {figure.name}")):
            lines.append(f"{figure.proof} {figure.name}, bound {figure.bound:g}")
            lines += [
                f"    {value:8.2f}  {row['clip']} {row['ground']}: {words}" for value, words, row in beyond[:count]
            ]
    hitches = [
        (row["clip"], event) for row in rows if row["ground"] == "own" for event in row["events"] if event["hitch"]
    ]
    lines += [
        "2 hitches",
        *(f"    {name} own: {event['leg']} {event['kind']} {event['frame']}" for name, event in hitches[: 3 * count]),
    ]
    return "\n".join(lines)


def compare(rows: Sequence[dict[str, Any]], other: Sequence[dict[str, Any]]) -> str:
    """The lines of both checkouts beside each other."""
    theirs = {(line["measure"].partition(": ")[0], line["bound"]): line for line in tabulate(other)}
    lines: list[harness.Row] = []
    for line in tabulate(rows):
        beside = theirs.get((line["measure"].partition(": ")[0], line["bound"]), {})
        new = {key: line[key] for key in ("proof", "measure", "bound", "clips within", "median", "p90", "worst")}
        lines.append(new | {f"other: {key}": beside.get(key, "") for key in ("clips within", "median", "p90", "worst")})
    costs = [float(np.median([row["ms a frame"] for row in found])) for found in (rows, other)]
    return harness.table(lines) + f"\n\nprocessor time a frame: {costs[0]:.2f} ms, other {costs[1]:.2f} ms"


def run_other(source: str, arguments: Sequence[str]) -> list[dict[str, Any]]:
    """The rows that another checkout gets, by this judge."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        command = [sys.executable, __file__, *arguments, "--json", str(path), "--worst", "0"]
        environment = os.environ | {"PYTHONPATH": str(Path(source).resolve())}
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", default="", metavar="PATTERN", help="only clips whose FILE:NAME contains this")
    parser.add_argument("--grounds", default="", help=f"some of {','.join(GROUNDS)}; all by default")
    parser.add_argument("--limit", type=int, default=0, help="only the first so many clips")
    parser.add_argument("--quick", action="store_true", help="15 clips of different rates and rigs on six grounds")
    parser.add_argument("--rate", type=int, default=0, help="resample clips to so many frames a second")
    parser.add_argument("--again", action="store_true", help="plant each result again (proof 7)")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--worst", type=int, default=3, help="so many clips are named beyond each bound")
    parser.add_argument("--json", type=Path, help="write the measures: a line for each clip and ground")
    parser.add_argument("--beside", metavar="OTHER/src", help="the sources of another checkout, judged alike")
    parser.add_argument("--sheet", type=Path, help="draw the frames around each toe-off of the first clip and ground")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.grounds.split(",") if name and name not in GROUNDS]
    if unknown:
        parser.error(f"no ground {unknown[0]!r}; there are: {', '.join(GROUNDS)}")
    return options


def main(arguments: Sequence[str] = ("--again", "--jobs", "2")) -> int:
    """Judge what is asked for; without a choice of clips and grounds the table is written as well."""
    options = parse(arguments)
    folder = harness.data_folder()
    if folder is None:
        return harness.exit_code("planting_proofs needs the real clips: set POISE_DATA to their folder")
    tasks = [task for task in list_tasks(folder, options) if options.clips in task.name]
    tasks = tasks[: options.limit] if options.limit else tasks
    if options.sheet:
        print(planting_sheets.draw_sheet(*build_first(tasks[0]), options.sheet))
        return 0
    answers = list(run_tasks(tasks, options.jobs))
    if options.json:
        options.json.write_text("".join(json.dumps(row) + "\n" for row in answers), encoding="utf-8")
    rows = [row for row in answers if "error" not in row]
    refused = list(dict.fromkeys(row["clip"] for row in answers if "error" in row))
    notes = [tabulate_rates(rows), *([f"Refused: {', '.join(refused)}."] if refused else [])]
    if not (options.clips or options.grounds or options.limit or options.quick or options.rate):
        about = str(__doc__).split("\n\n")[1].strip()
        harness.report(
            "planting_proofs", "Planted clips, judged by joint positions alone", tabulate(rows), [about, *notes]
        )
    elif options.beside:
        mine = [word for word in arguments if word not in ("--beside", options.beside)]
        print(compare(rows, run_other(options.beside, mine)))
    else:
        print("\n\n".join([harness.table(tabulate(rows)), *notes]))
    if options.worst:
        print(describe_worst(rows, options.worst))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
