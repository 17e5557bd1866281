"""What regression_gates.py measures, in a process with one Poise: a line with a gate's name in, a line of JSON out.

Only public names of Poise are used, so that the same script measures any checkout. Times are wall time in microseconds,
a number for each call (or each frame of a batch). Facts are what must be true whatever the time, such as equal bits.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import golden_rigs
import numpy as np
from golden_rigs import Case, places, poses, rig, size

import poise
from poise.model.anatomy.roll_bones import find_bending_roll_bones

POSES = 120  # new poses in a round
FRAMES = 8  # times that the clip of 31 frames is repeated
BATCH = 500
STEPS = 400  # of the tracker
SLOW_STEPS = 60  # calls with 27 goals
MOVED = 0.03  # [m] standard deviation by which targets of the robot are moved, so that none is met

LINKS = ("waist_pitch", *(f"{side}_{part}" for side in ("left", "right") for part in (
    "hip_roll", "knee", "ankle_roll", "shoulder_roll", "elbow", "wrist_yaw")))  # fmt: skip
PLANAR = Case("arm", golden_rigs.RIGS["arm"].load, "forearm_roll", "shoulder")
#: What is solved from new poses: name, rig, solver.
REQUESTED: tuple[tuple[str, Case, str], ...] = (
    *(("arm", golden_rigs.RIGS["arm"], name) for name in ("levenberg_marquardt", "ccd", "fabrik")),
    ("planar arm", PLANAR, "two_bone"),
    *(("figure", golden_rigs.RIGS["glb"], name) for name in ("levenberg_marquardt", "ccd", "two_bone", "fabrik")),
)
CLIPS = ("levenberg_marquardt", "ccd", "fabrik", "two_bone")


class Found(NamedTuple):
    """Times (or counts) by name, a number for each call; and facts by name."""

    times: dict[str, list[float]]
    facts: dict[str, Any]


def timed(calls: Iterator[Callable[[], Any]] | list[Callable[[], Any]]) -> tuple[list[Any], list[float]]:
    """What each call gives, and the microseconds that it takes."""
    results: list[Any] = []
    spent: list[float] = []
    for call in calls:
        began = perf_counter()
        results.append(call())
        spent.append((perf_counter() - began) * 1e6)
    return results, spent


def _same(a: list[Any], b: list[Any]) -> bool:
    return all(np.array_equal(x.q, y.q) for x, y in zip(a, b, strict=True))


def _problems(case: Case, count: int, seed: int) -> tuple[list[poise.Pose], list[poise.Position]]:
    """Poses that were not seen before, made beforehand, each with a goal of its own."""
    starts = poses(case, count, seed)
    spots = places(case, starts, seed + 1)[0]
    return [starts[i] for i in range(count)], [poise.Position(case.tip, spot, root=case.root) for spot in spots]


def _solving(pose: poise.Pose, goal: Any, solver: str) -> Callable[[], poise.Result]:
    return lambda: poise.solve(pose, goal, solver=solver)


def new_poses(round_: int) -> Found:
    """A new pose, and the same target and start for what was prepared."""
    found = Found({}, {})
    for label, case, solver in REQUESTED:
        starts, goals = _problems(case, POSES, 1000 * round_)
        go = poise.prepare(rig(case.name).rest, goals[0], solver=solver)
        targets, q = [np.array(goal.target) for goal in goals], [np.array(start.q) for start in starts]
        poise.solve(poses(case, 1, 7)[0], goals[0], solver=solver)
        go(targets[0], start=q[0])
        fresh, took = timed([_solving(start, goal, solver) for start, goal in zip(starts, goals, strict=True)])
        again, quick = timed([_going(go, target, start) for target, start in zip(targets, q, strict=True)])
        name = f"{label}, {solver}"
        found.times.update({f"{name}: new pose": took, f"{name}: prepared": quick})
        found.facts[f"{name}: same bits"] = _same(fresh, again)
    return found


def _going(go: Any, target: Any, start: Any) -> Callable[[], poise.Result]:
    return lambda: go(target, start=start)


def _motion(name: str) -> tuple[poise.Clip, poise.Position]:
    """The sample's walk, some times, and targets about the hand's way."""
    walk = rig(name).clips[0]
    rows = np.arange(FRAMES * len(walk)) % len(walk)
    given = [None if part is None else part[rows] for part in (walk.poses.translations, walk.poses.scales)]
    clip = poise.Clip.at_rate(poise.Pose(walk.skeleton, walk.poses.q[rows], *given), 30.0)
    spots = clip.poses.world_of("LeftHand").positions
    away = np.random.default_rng(5).uniform(-0.25, 0.25, spots.shape) * size(golden_rigs.RIGS[name])
    return clip, poise.Position("LeftHand", np.round(spots + away, 7), root="LeftArm")


def clips(round_: int) -> Found:
    """The same motion from GLB (the hips are translated in every frame) and from BVH, a frame."""
    found = Found({}, {})
    for solver in CLIPS:
        for name in ("glb", "bvh"):
            clip, goal = _motion(name)
            frames = len(clip)
            poise.solve(clip.poses[:31], poise.Position("LeftHand", goal.target[:31], root="LeftArm"), solver=solver)
            together, baking = timed([_baking(clip, goal, solver)])
            clip, goal = _motion(name)
            solved, solving = timed([_solving(clip.poses, goal, solver)])
            found.times[f"{solver}: bake() of {name}"] = [baking[0] / frames]
            found.times[f"{solver}: solve() of {name}"] = [solving[0] / frames]
            if round_ == 0:
                found.facts[f"{solver}, {name}: same bits"] = _frame_by_frame(
                    clip, goal, solver, together[0], solved[0]
                )
    return found


def _baking(clip: poise.Clip, goal: Any, solver: str) -> Callable[[], poise.Result]:
    # Each frame alone: targets leap. The package beside which it is measured may not know how to ask for that.
    alone: dict[str, Any] = {"continuous": False} if "continuous" in signature(poise.bake).parameters else {}
    return lambda: poise.bake(clip, goal, solver=solver, threads=1, **alone).result


def _frame_by_frame(clip: poise.Clip, goal: poise.Position, solver: str, *results: poise.Result) -> bool:
    """Whether the frames of a clip, each solved alone, have the bits of these results."""
    for i in range(31):
        alone = poise.solve(clip.poses[i], poise.Position("LeftHand", goal.target[i], root="LeftArm"), solver=solver)
        if not all(np.array_equal(result.q[i], alone.q) for result in results):
            return False
    return True


def robot(round_: int) -> Found:
    """Twenty-seven goals of a humanoid robot, prepared, none of them reached."""
    case = golden_rigs.RIGS["g1"]
    found, rng = rig("g1"), np.random.default_rng(round_)
    world = poise.Pose(found.skeleton, golden_rigs.random_q(case, SLOW_STEPS, 40 + round_, 0.2)).world
    links = [f"{name}_joint" for name in LINKS]
    moved = {name: world[name].positions + rng.normal(scale=MOVED, size=(SLOW_STEPS, 3)) for name in (*links, "pelvis")}

    def targets(i: int) -> list[Any]:
        turned = [world[name].rotations[i] for name in links]
        return [*(moved[name][i] for name in links), *turned, (moved["pelvis"][i], world["pelvis"].rotations[i])]

    every = [targets(i) for i in range(SLOW_STEPS)]
    goals: list[Any] = [poise.Position(name, [0.0, 0.0, 0.0]) for name in links]
    goals += [poise.Orientation(name, [1.0, 0.0, 0.0, 0.0]) for name in links]
    goals.append(poise.Place("pelvis", [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]))
    go = poise.prepare(found.rest, goals, solver=poise.LevenbergMarquardt(restarts=0, iterations=4))
    for target in every[:3]:
        go(target)
    results, took = timed([lambda target=target: go(target) for target in every])
    facts = {"goals": len(goals), "none reached": not any(result.reached for result in results)}
    facts["four iterations each"] = all(int(result.iterations) == 4 for result in results)
    return Found({"27 goals": took}, facts)


def tracker(round_: int) -> Found:
    """Steps of a tracker on an arm of six axes, with a speed limit that makes it lag behind its target."""
    case, found = golden_rigs.RIGS["arm"], Found({}, {})
    ends, turns = places(case, poses(case, 6, 50 + round_), 60 + round_)
    share = np.linspace(0.0, 1.0, STEPS // 5, endpoint=False)[:, None]
    line = np.concatenate([a + (b - a) * share for a, b in pairwise(ends)])
    kinds: dict[str, tuple[Any, Any]] = {
        "Place": (poise.Place(case.tip, ends[0], turns[0]), np.c_[line, np.tile(turns[0], (len(line), 1))]),
        "Position": (poise.Position(case.tip, ends[0]), line),
    }
    for name, (goal, targets) in kinds.items():
        follow = poise.Tracker(rig("arm").rest, goal, speed=0.5)
        for target in targets[:5]:
            follow(target, 1 / 60)
        follow.reset()
        results, took = timed([lambda target=target, follow=follow: follow(target, 1 / 60) for target in targets])
        found.times[f"tracker step, {name}"] = took
        found.facts[f"tracker, {name}: lags"] = float(np.mean([not result.reached for result in results])) > 0.5
    return found


@contextmanager
def counted() -> Iterator[list[int]]:
    """Count the calls of Python functions inside poise."""
    folder, count = str(Path(poise.__file__).parent) + "/", [0]

    def reported(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(folder):
            count[0] += 1

    sys.setprofile(reported)
    try:
        yield count
    finally:
        sys.setprofile(None)


def calls(_: int) -> Found:
    """Python calls of solve() on the sample humanoid: the first time on a rig, and when it was asked before.

    The first time without looking for the figure's roles and roll bones, once per skeleton.
    """
    _solve_left_foot(poise.load(golden_rigs.sample("humanoid.glb")).rest)
    start = poise.load(golden_rigs.sample("humanoid.glb")).rest
    find_bending_roll_bones(start.skeleton)
    with counted() as first:
        _solve_left_foot(start, **ALONE)
    _solve_left_foot(start)
    with counted() as warm:
        result = _solve_left_foot(start)
    return Found({"first": [float(first[0])], "warm": [float(warm[0])]}, {"reached": bool(result.reached)})


def _solve_left_foot(start: poise.Pose, **options: Any) -> poise.Result:
    return poise.solve(start, poise.Position("LeftFoot", [0.1, 0.3, 0.2]), **options)


def seconds(round_: int) -> Found:
    """What Result.seconds says of new poses, batches and prepared calls, and what a clock says, less its own time."""
    found = Found({}, {})
    own = float(np.median(timed([lambda: None] * 1000)[1]))
    for label, case, solver in REQUESTED:
        starts, goals = _problems(case, POSES // 2, 500 + 1000 * round_)
        go = poise.prepare(rig(case.name).rest, goals[0], solver=solver)
        targets = [np.array(goal.target) for goal in goals]
        batches = [places(case, golden_rigs.at_rest(case, BATCH), 70 + i)[0] for i in range(5)]
        kinds = {
            "new pose": [_solving(start, goal, solver) for start, goal in zip(starts, goals, strict=True)],
            "batch": [
                _solving(rig(case.name).rest, poise.Position(case.tip, spots, root=case.root), solver)
                for spots in batches
            ],
            "prepared": [lambda target=target, go=go: go(target) for target in targets],
        }
        for kind, jobs in kinds.items():
            jobs[0]()
            results, wall = timed(jobs[1:])
            found.times[f"{label}, {solver}, {kind}: wall"] = [spent - own for spent in wall]
            found.times[f"{label}, {solver}, {kind}: told"] = [result.seconds * 1e6 for result in results]
    return found


# What commits before natural poses do not know.
ALONE = {"natural": False} if "natural" in inspect.signature(poise.solve).parameters else {}

GATES: dict[str, Callable[[int], Found]] = {
    "new_poses": new_poses, "clips": clips, "robot": robot, "tracker": tracker, "calls": calls, "seconds": seconds,
}  # fmt: skip


def main() -> int:
    """Answer lines such as `new_poses 3` until there are no more."""
    answers, sys.stdout = sys.stdout, sys.stderr  # nothing else may be printed between answers
    for line in sys.stdin:
        name, round_ = line.split()
        try:
            found = GATES[name](int(round_))._asdict()
        except FileNotFoundError as error:
            found = {"missing": str(error)}
        print(json.dumps(found), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
