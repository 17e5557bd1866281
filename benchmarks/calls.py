"""Time of calls beside the kernels: packing, goals, poses, results, small batches, clips and files.

Fresh processes measure all rows in turns: with this checkout and, with --beside, with the package of another one. A row
is the median of the processes; within a process it is the median of repeats of many calls. Times are processor times,
those of rows with threads are wall times.

    python benchmarks/calls.py [--beside FOLDER/src] [--rounds 5] [ROW ...]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import harness
import numpy as np

import poise
from poise.extend import Kind

ROUNDS = 5
REPEATS = 7  # of each row in a process
SECONDS = 0.15  # of each repeat, about
MAX_CALLS = 2000  # of each repeat
PATIENCE = 1800  # s for a process
SEED = 7
FRAMES = 512  # of a clip
LIMBS = ("leftHand", "rightHand", "leftFoot", "rightFoot", "head", "chest")
QUATERNION = (0.5, 0.5, -0.5, 0.5)


class Case(NamedTuple):
    """A row: its name, the call, what a call does, and whether threads take part."""

    name: str
    call: Callable[[], Any]
    count: int = 1
    is_wall: bool = False


def find_file(path: str, sample: str) -> Path:
    """A file of the test data, or a bundled one where the data is not here."""
    folder = harness.data_folder()
    found = None if folder is None else folder / path
    return found if found is not None and found.is_file() else Path(poise.sample(sample))


def cycle(values: Any) -> Callable[[], Any]:
    """A function that gives one value after the other, again and again."""
    values, i = list(values), 0

    def give() -> Any:
        nonlocal i
        i += 1
        return values[i % len(values)]

    return give


def list_values() -> Iterator[Case]:
    """Goals, poses, forward kinematics, results: single calls of a few microseconds."""
    arm = poise.load(find_file("urdf/ur5.urdf", "arm.urdf")).rest
    tip, point, rotation = arm.skeleton.names[-1], np.array([0.3, 0.2, 0.4]), np.array(QUATERNION)
    figure = poise.load(find_file("glb/human_anim_m2m.glb", "humanoid")).rest
    goal, row, matrix = poise.Place(tip, point, rotation), np.concatenate([point, rotation]), np.eye(4)
    matrix[:3, 3] = point
    yield Case("Place", lambda: poise.Place(tip, point, rotation))
    yield Case("Place of lists", lambda: poise.Place(tip, [0.3, 0.2, 0.4], list(QUATERNION)))
    yield Case("Place.from_matrix", lambda: poise.Place.from_matrix(tip, matrix))
    yield Case("Place.with_target, a row", lambda: goal.with_target(row))
    yield Case("Place.with_target, a matrix", lambda: goal.with_target(matrix))
    yield Case("Position", lambda: poise.Position(tip, point))
    position = poise.Position(tip, point)
    yield Case("Position.with_target", lambda: position.with_target(point))
    poise.solve(arm, goal)  # kernels are loaded from here on
    arm_q, figure_q = arm.q.copy(), figure.q.copy()
    yield Case("Pose, arm", lambda: poise.Pose(arm.skeleton, arm_q))
    yield Case("Pose, figure", lambda: poise.Pose(figure.skeleton, figure_q))
    arm_q_next = cycle(arm.q + 0.01 * np.random.default_rng(SEED).normal(size=(64, arm.skeleton.nq)))
    yield Case("forward kinematics of a new q, arm", lambda: poise.Pose(arm.skeleton, arm_q_next()).world.affine)
    yield Case("world_of, arm", lambda: arm.world_of(tip))
    yield Case("Jacobian, arm", lambda: arm.jacobian(tip))
    yield Case("Jacobian, figure", lambda: figure.jacobian("leftHand"))


def list_results() -> Iterator[Case]:
    """What is read of a result, besides the call; a reached target of an arm and of a figure."""
    for label, path, sample, joint in (
        ("arm", "urdf/ur5.urdf", "arm.urdf", None),
        ("figure", "glb/human_anim_m2m.glb", "humanoid", "leftHand"),
    ):
        start = poise.load(find_file(path, sample)).rest
        name = start.skeleton.names[-1] if joint is None else start.skeleton.names[start.skeleton.index(joint)]
        targets = list_targets(start, name)
        reach = poise.prepare(start, poise.Position(name, targets[0]))
        give = cycle(targets)
        yield Case(f"prepared {label}", lambda reach=reach, give=give: reach(give()))
        for what, read in (
            ("pose", lambda result: result.pose),
            ("status", lambda result: result.status),
            ("message()", lambda result: result.message()),
            ("world of the tip", lambda result, name=name: result.pose.world[name].positions),
        ):
            yield Case(f"prepared {label}, {what}", lambda reach=reach, give=give, read=read: read(reach(give())))


def list_targets(start: poise.Pose, joint: str, count: int = 64) -> list[np.ndarray]:
    """Positions of a joint in poses near the start, those that a solve reaches."""
    return [goal.position for goal in list_places(start, joint, count, with_rotation=False)]


def list_places(start: poise.Pose, joint: str, count: int = 64, *, with_rotation: bool = True) -> list[poise.Place]:
    """Places of a joint in poses near the start, those that a solve reaches."""
    rng, skeleton, places = np.random.default_rng(SEED), start.skeleton, []
    while len(places) < count:
        other = skeleton.legal(poise.Pose(skeleton, turn_joints(start, rng, 0.3)).q)[0]
        world = start.blend(poise.Pose(skeleton, other), rng.uniform(0.05, 0.25)).world[joint]
        place = poise.Place(joint, world.positions, world.rotations)
        if poise.solve(start, place if with_rotation else poise.Position(joint, place.position)).reached:
            places.append(place)
    return places


def turn_joints(start: poise.Pose, rng: np.random.Generator, size: float) -> np.ndarray:
    """The numbers of a pose with small changes. Roots stay."""
    q = np.array(start.q)
    for row, kind in enumerate(start.skeleton.kinds):
        columns = start.skeleton.q_slice(start.skeleton.names[row])
        if kind in (Kind.HINGE, Kind.SLIDE):
            q[columns] += rng.normal(scale=size)
        elif kind == Kind.BALL:
            q[columns] += rng.normal(scale=size, size=4)
            q[columns] /= np.linalg.norm(q[columns])
    return q


def list_solves() -> Iterator[Case]:
    """Solves: goals made each time, weights that change, own starts, small batches, bodies, threads."""
    arm = poise.load(find_file("urdf/ur5.urdf", "arm.urdf")).rest
    panda = poise.load(find_file("urdf/panda.urdf", "arm.urdf")).rest
    figure_rig = poise.load(find_file("glb/human_anim_m2m.glb", "humanoid"))
    figure = figure_rig.rest
    tip = arm.skeleton.names[-1]
    give = cycle([(place.position, place.rotation) for place in list_places(arm, tip)])
    yield Case("solve, goal made", lambda: poise.solve(arm, poise.Place(tip, *give())))
    for count in (1, 10):
        targets = np.array(list_targets(arm, tip, count))
        reach = poise.prepare(arm, poise.Position(tip, targets[0]))
        yield Case(f"prepared batch of {count}", lambda reach=reach, targets=targets: reach(targets))
        goal = poise.Position(tip, targets)
        yield Case(f"solve, batch of {count}", lambda goal=goal: poise.solve(arm, goal))
    weights = cycle(np.linspace(0.5, 2.0, 997).tolist())
    for label, start, joint in (("hand", figure, "leftHand"), ("Panda", panda, panda.skeleton.names[-1])):
        target, turned = start.world[joint].positions - 0.02, start.world[joint].rotations
        yield Case(
            f"weight changes, {label}",
            lambda start=start, joint=joint, target=target, turned=turned: poise.solve(
                start, poise.Place(joint, target, turned, rotation_weight=weights())
            ),
        )
    yield from list_near_solves(panda, panda.skeleton.names[-1])
    goals = list_goals(figure)
    yield Case(
        "weight changes, six goals",
        lambda: poise.solve(figure, [poise.Position(g.joint, g.target, weight=weights()) for g in goals]),
    )
    yield from list_body_solves(figure_rig, goals)
    yield from list_limb_solves()


def list_near_solves(start: poise.Pose, tip: str) -> Iterator[Case]:
    """An arm with seven axes, with and without a preferred pose: alone and in a batch."""
    near, places = poise.Near(start), list_places(start, tip)
    give = cycle([np.concatenate([place.position, place.rotation]) for place in places])
    rows = np.resize([place.rows() for place in places], (4096, 7))
    many = poise.Place(tip, rows[:, :3], rows[:, 3:])
    for label, others in (("without Near", []), ("with Near", [near])):
        reach = poise.prepare(start, [places[0], *others])
        make = cycle(places)
        yield Case(f"arm {label}, prepared", lambda reach=reach: reach(give()))
        yield Case(f"arm {label}, solve", lambda make=make, others=others: poise.solve(start, [make(), *others]))
        yield Case(
            f"arm {label}, a target of 4,096",
            lambda others=others: poise.solve(start, [many, *others], threads=1),
            len(rows),
        )


def list_goals(pose: poise.Pose, size: float = 0.03) -> list[poise.Position]:
    """Six goals of a figure, each a little away from the pose."""
    shifts = np.random.default_rng(SEED).normal(scale=size * measure_size(pose), size=(len(LIMBS), 3))
    return [poise.Position(limb, pose.world[limb].positions + shift) for limb, shift in zip(LIMBS, shifts, strict=True)]


def make_frames(poses: poise.Pose, count: int) -> poise.Pose:
    """Frames of a clip again and again, each with its joints turned a little."""
    frames = poses[np.resize(np.arange(len(poses)), count)]
    turned = frames.q + np.random.default_rng(SEED).normal(scale=0.005, size=frames.q.shape)
    return frames.with_q(poses.skeleton.legal(turned)[0])


def measure_size(pose: poise.Pose) -> float:
    """The largest extent of a pose [file units]."""
    return float(np.ptp(pose.world.positions, axis=0).max())


def list_body_solves(rig: poise.Rig, goals: list[poise.Position]) -> Iterator[Case]:
    """Several goals of a figure, from one start and from own starts, alone and in batches."""
    start = rig.rest
    reach = poise.prepare(start, goals, free_root=True)
    targets = [goal.target for goal in goals]
    yield Case("six goals, free root, prepared", lambda: reach(targets))
    far = [target + 5.0 * measure_size(start) for target in targets]
    plain = poise.prepare(start, goals, natural=False)
    yield Case("six goals, natural=False, prepared", lambda: plain(targets))
    yield Case("six goals that cannot be met", lambda: plain(far))
    poses = make_frames(rig.clips[0].poses, FRAMES)
    wanted = {limb: poses.world[limb].positions for limb in LIMBS}
    two = [poise.Position(limb, wanted[limb] + 0.01 * measure_size(start)) for limb in ("leftHand", "rightFoot")]
    yield Case("solve(clip.poses, hand + foot), a frame", lambda: poise.solve(poses, two, threads=1), len(poses))
    six = [poise.Position(limb, wanted[limb]) for limb in LIMBS]
    yield Case("six goals from own starts, a target", lambda: poise.solve(poses, six, threads=1), len(poses))
    many = [poise.Position(goal.joint, np.resize(wanted[goal.joint], (512, 3))) for goal in goals]
    for threads in (1, 2):
        yield Case(
            f"512 problems of six goals, threads={threads}, a target",
            lambda threads=threads: poise.solve(start, many, threads=threads, natural=False),
            512,
            is_wall=True,
        )


def list_limb_solves() -> Iterator[Case]:
    """Two bones and chains, trackers, first solves of a new kind."""
    limb = make_chain(3)
    target = cycle(list_targets(limb, "j2"))
    for solver in ("two_bone", "ccd", "fabrik"):
        reach = poise.prepare(limb, poise.Position("j2", [0.5, 1.0, 0.5]), solver=solver)
        yield Case(f"two bones, {solver}, prepared", lambda reach=reach: reach(target()))
    yield Case("two bones, solve", lambda: poise.solve(limb, poise.Position("j2", target()), solver="two_bone"))
    arm = poise.load(find_file("urdf/ur5.urdf", "arm.urdf")).rest
    figure = poise.load(find_file("glb/human_anim_m2m.glb", "humanoid")).rest
    for label, start, joint in (("arm", arm, arm.skeleton.names[-1]), ("hand", figure, "leftHand")):
        give = cycle(list_targets(start, joint))
        track = poise.Tracker(start, poise.Position(joint, give()))
        yield Case(f"Tracker, {label}", lambda track=track, give=give: track(give()))
    hand, long = poise.Position("leftHand", [0.1, 1.2, 0.3]), make_chain(500)
    far = poise.Position("j499", [1.0, 300.0, 2.0])
    for label, start, goal in (("hand", figure, hand), ("500 joints", long, far)):
        yield Case(
            f"first prepare of a new kind, {label}",
            lambda start=start, goal=goal: (forget_kinds(start.skeleton), poise.prepare(start, goal)),
        )


# What skeletons remember of kinds of goals, in this Poise and in earlier ones.
KINDS = (
    "layouts", "trees", "plans", "singles", "error paths", "stages", "sided", "limb of a goal", "limb plans",
    "rest lengths", "noise rows", "chain rows",
)  # fmt: skip


def forget_kinds(skeleton: Any) -> None:
    """Make all kinds of goals new to a skeleton. What it knows of itself, such as roles, stays."""
    for subject in KINDS:
        skeleton.__dict__.get("_remembered", {}).pop(subject, None)


def make_chain(count: int) -> poise.Pose:
    """A chain of balls, one unit apart, along y."""
    names = [f"j{i}" for i in range(count)]
    offsets = np.zeros((count, 3))
    offsets[1:, 1] = 1.0
    skeleton = poise.Skeleton.build(names, list(range(-1, count - 1)), [Kind.BALL] * count, offsets=offsets)
    return poise.Pose(skeleton, skeleton.rest_q)


def list_files() -> Iterator[Case]:
    """Clips of files and reading."""
    glb = find_file("glb/knight_kaykit.glb", "humanoid")
    rig = poise.load(glb)
    frames = sum(len(clip.poses) for clip in rig.clips)

    def sample_clips() -> None:
        for clip in poise.load(glb).clips:
            clip.poses  # noqa: B018  (sampled on demand)

    yield Case("GLB with its clips' poses, a frame", sample_clips, frames)
    urdf = find_file("urdf/panda.urdf", "arm.urdf")
    yield Case("load a URDF", lambda: poise.load(urdf))
    fbx = find_file("fbx/kenney_character.fbx", "humanoid")
    if fbx.suffix == ".fbx":
        yield Case("load an FBX", lambda: poise.load(fbx), is_wall=True)


PARTS = (list_values, list_results, list_solves, list_files)


def measure(case: Case) -> float:
    """Median time of a call, for one of `count` things [us]."""
    clock = time.perf_counter if case.is_wall else time.process_time
    case.call()
    began = time.perf_counter()
    case.call()
    one = max(time.perf_counter() - began, 1e-7)
    calls = max(1, min(MAX_CALLS, round(SECONDS / one)))
    repeats = REPEATS if one < SECONDS else 3
    return time_calls(case.call, clock, repeats, calls) / case.count


def time_calls(action: Callable[[], Any], clock: Callable[[], float], repeats: int, calls: int) -> float:
    """Median time of a call [us], of repeats of some calls without garbage collection."""
    times = []
    gc.collect()
    gc.disable()
    for _ in range(repeats):
        began = clock()
        for _ in range(calls):
            action()
        times.append((clock() - began) / calls)
    gc.enable()
    return float(np.median(times)) * 1e6


def measure_rows(names: list[str]) -> dict[str, float]:
    """Measure all rows in this process, or those whose names contain one of `names`."""
    return {
        case.name: measure(case)
        for part in PARTS
        for case in part()
        if not names or any(name in case.name for name in names)
    }


def run_process(source: str, names: list[str]) -> dict[str, float]:
    """Measure the rows in a fresh process that imports the package from `source`."""
    environment = os.environ | {"PYTHONPATH": source, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, "--measure", *names],
        env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr[-1000:])
    return json.loads(done.stdout.splitlines()[-1])


def main(arguments: Sequence[str] = ()) -> int:
    """Measure with this package and another one in turns, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="parts of names of rows; all by default")
    parser.add_argument("--beside", metavar="FOLDER", help="folder `src` of another checkout, measured in turns")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(list(arguments))
    if options.measure:
        print(json.dumps(measure_rows(options.rows)))
        return 0
    sources = [str(Path(poise.__file__).parent.parent), *([options.beside] if options.beside else [])]
    rounds: dict[str, list[dict[str, float]]] = {source: [] for source in sources}
    for _ in range(options.rounds):
        for source in sources:
            rounds[source].append(run_process(source, options.rows))
    medians = [
        {name: float(np.median([each[name] for each in rounds[source]])) for name in rounds[source][0]}
        for source in sources
    ]
    rows = [
        {
            "call": name,
            "us": here,
            **({"beside": medians[1][name], "times": medians[1][name] / here} if medians[1:] else {}),
        }
        for name, here in medians[0].items()
    ]
    notes = [
        "A call each, or a frame or a target where the row says so; `prepared ..., pose` is the call and what is read.",
        f"Medians of {options.rounds} processes.",
    ]
    if options.beside:
        notes.append(
            "`beside` is another checkout, measured in turns with this one; `times` is how much quicker this is."
        )
    if options.rows:
        print(harness.table(rows))
    else:
        harness.report("calls", "Calls beside the kernels", rows, notes)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
