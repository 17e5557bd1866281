"""Time of a call against the number of joints, and time of a target against the number of targets and threads.

Every chain has bones of length 1 and the shape of an arc that turns by 2 rad, and its targets are tips of poses near
the start: a longer one has the same problem in more pieces. Prepared calls, one target each, processor time. The time
of a target is that of a prepared call with many targets, divided by them: elapsed time, with one thread and with two.

    python benchmarks/call_cost.py [--quick] [--only joints|targets|memory]
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import harness
import numpy as np
from calls import time_calls
from numpy.typing import NDArray

import poise
from poise.extend import Kind

Floats = NDArray[np.float64]
JOINTS = (6, 8, 12, 16, 17, 24, 32, 48, 64, 96, 128, 192, 256, 384, 500)
TARGETS = (
    1, 2, 4, 8, 16, 32, 64, 65, 128, 256, 512, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000,
)  # fmt: skip
THREADS = (1, 2)
KINDS = 256  # of goals, twice as many as a skeleton keeps
QUICK_JOINTS, QUICK_TARGETS, QUICK_KINDS = (6, 17, 32, 64), (1, 2, 64, 65, 512), 8
ARC_RAD = 2.0  # of a chain from end to end; straight chains are singular
CHANGE_RAD = 0.3  # of all joints together, from the start to the pose that gives a target
TARGET_COUNT = 16  # targets of a single call, in turns
DISTINCT_COUNT = 4096  # targets of a batch, repeated
SECONDS = 0.1  # of each repeat, about
REPEATS = 7
PATIENCE_S = 40.0  # of all calls of one number; fewer repeats where they take longer
SEED = 11
LIMBS = 5


class Subject(NamedTuple):
    """A skeleton at its start, the joints with goals, and the first moving joint."""

    start: poise.Pose
    tips: tuple[str, ...]
    root: str
    has_rotations: bool = False


Curve = tuple[str, Callable[[int], Subject], Any]  # name, subject with a number of joints, solver


def build_chain(count: int, kind: Kind, *, has_rotations: bool = False) -> Subject:
    """Build a chain of balls, or of hinges whose axes take turns, bent to an arc."""
    axes = np.eye(3)[[(2, 0, 1)[i % 3] if i else 1 for i in range(count)]]
    skeleton = poise.Skeleton.build(
        [*(f"j{i}" for i in range(count)), "tip"],
        range(-1, count),
        [kind] * count + [Kind.FIXED],
        offsets=[[0.0, float(i > 0), 0.0] for i in range(count + 1)],
        axes=[*axes, [0, 0, 0]] if kind == Kind.HINGE else None,
        limits=[*[poise.Range(-np.pi, np.pi)] * count, None] if kind == Kind.HINGE else None,
    )
    return Subject(bend_to_arc(skeleton, count), ("tip",), "j0", has_rotations)


def build_figure(count: int) -> Subject:
    """Build five chains of balls from one root: a spine, two arms at its end, two legs. Goals at hands and feet."""
    size = (count - 1) // LIMBS
    sizes = [count - 1 - 4 * size, size, size, size, size]
    names, parents, offsets = ["root"], [-1], [[0.0, 0.0, 0.0]]
    ways = ((0, 1, 0), (1, 0.2, 0), (-1, 0.2, 0), (0.2, -1, 0), (-0.2, -1, 0))
    for limb, (length, way) in enumerate(zip(sizes, ways, strict=True)):
        parent = sizes[0] if limb in (1, 2) else 0
        for i in range(length):
            parents.append(parent)
            names.append(f"limb{limb}_{i}")
            offsets.append(list(way))
            parent = len(names) - 1
    skeleton = poise.Skeleton.build(names, parents, [Kind.BALL] * count, offsets=offsets)
    tips = tuple(f"limb{limb}_{size - 1}" for limb in range(1, LIMBS))
    return Subject(bend_to_arc(skeleton, 2 * size), tips, "root")


def build_hand(count: int) -> Subject:
    """Build an arm of three balls on a root that has many other joints: a face, fingers, helpers."""
    names = ["root", "upper", "fore", "hand", *(f"other{i}" for i in range(count - 4))]
    parents = [-1, 0, 1, 2, *(0 if i % 8 == 0 else 3 + i for i in range(count - 4))]
    offsets = [[0, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0], *[[0, 0.1, 0]] * (count - 4)]
    skeleton = poise.Skeleton.build(names, parents, [Kind.BALL] * count, offsets=offsets)
    return Subject(bend_to_arc(skeleton, 3), ("hand",), "upper")


def bend_to_arc(skeleton: poise.Skeleton, length: int) -> poise.Pose:
    """Turn every joint by its part of the arc."""
    q, angle = np.array(skeleton.rest_q), ARC_RAD / length
    for row, kind in enumerate(skeleton.kinds):
        columns = skeleton.q_slice(skeleton.names[row])
        if kind == Kind.BALL:
            q[columns] = [np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)]
        elif kind == Kind.HINGE:
            q[columns] = angle
    return poise.Pose(skeleton, q)


def list_targets(subject: Subject, count: int) -> list[Floats]:
    """Targets (count, 3 or 7) of every tip: where it is in poses that differ a little from the start."""
    rng, skeleton = np.random.default_rng(SEED), subject.start.skeleton
    q = np.tile(subject.start.q, (count, 1))
    chains = [skeleton.chain(subject.root, tip) for tip in subject.tips]
    size = CHANGE_RAD / np.sqrt(max(map(len, chains)))
    for joint in dict.fromkeys(joint for chain in chains for joint in chain):
        columns, kind = skeleton.q_slice(joint), skeleton.kinds[skeleton.index(joint)]
        if kind == Kind.HINGE:
            q[:, columns] += rng.normal(scale=size, size=(count, 1))
        elif kind == Kind.BALL:
            q[:, columns] += rng.normal(scale=size / 2, size=(count, 4))
            q[:, columns] /= np.linalg.norm(q[:, columns], axis=1, keepdims=True)
    world = poise.Pose(skeleton, skeleton.legal(q)[0]).world
    tips = [world[tip] for tip in subject.tips]
    return [
        np.concatenate([tip.positions, tip.rotations], axis=1) if subject.has_rotations else tip.positions
        for tip in tips
    ]


def make_goals(subject: Subject, targets: Sequence[Floats], weight: float = 1.0) -> list[poise.Place | poise.Position]:
    """Make a goal for every tip."""
    options: dict[str, Any] = {"root": subject.root, "weight": weight}
    return [
        poise.Place(tip, target[:3], target[3:], **options)
        if subject.has_rotations
        else poise.Position(tip, target, **options)
        for tip, target in zip(subject.tips, targets, strict=True)
    ]


def prepare_calls(subject: Subject, solver: Any, threads: int, count: int) -> tuple[Any, list[Floats]]:
    """Prepare the problem. Returns the call and its targets, an array (count, width) for each goal."""
    targets = list_targets(subject, count)
    goals = make_goals(subject, [rows[0] for rows in targets])
    return poise.prepare(subject.start, goals, solver=solver, threads=threads), targets


def measure(action: Callable[[], Any], clock: Callable[[], float], count: int) -> float:
    """Median time of an action that does `count` things [us], of as many repeats as patience allows."""
    began = time.perf_counter()
    action()
    once = max(time.perf_counter() - began, 1e-7)
    repeats = max(1, min(REPEATS, int(PATIENCE_S / once)))
    calls = max(1, round(SECONDS / once)) if once < SECONDS else 1
    return time_calls(action, clock, repeats, calls) / count


CURVES: tuple[Curve, ...] = (
    ("hinges to a place, auto", lambda count: build_chain(count, Kind.HINGE, has_rotations=True), "auto"),
    ("balls, auto", lambda count: build_chain(count, Kind.BALL), "auto"),
    ("balls, ccd", lambda count: build_chain(count, Kind.BALL), "ccd"),
    ("balls, fabrik", lambda count: build_chain(count, Kind.BALL), "fabrik"),
    ("five limbs with four goals, auto", build_figure, "auto"),
    ("a limb beside other joints, auto", build_hand, "auto"),
)


def measure_joints(counts: Sequence[int]) -> Iterator[harness.Row]:
    """Measure a single call of every curve for each number of joints."""
    for count in counts:
        row: harness.Row = {"joints": count}
        for name, build, solver in CURVES:
            reach, rows = prepare_calls(build(count), solver, 1, TARGET_COUNT)
            calls = [[row[i] for row in rows] if len(rows) > 1 else rows[0][i] for i in range(TARGET_COUNT)]
            missed = sum(not reach(targets).reached for targets in calls)
            if missed:
                print(f"{name}, {count} joints: {missed} of {TARGET_COUNT} missed", file=sys.stderr)
            row[name] = measure(partial(_call_each, reach, calls), time.process_time, TARGET_COUNT)
        print(json.dumps(row), flush=True)
        yield row


def _call_each(reach: Callable[[Any], Any], calls: Sequence[Any]) -> None:
    for targets in calls:
        reach(targets)


def list_batches() -> Iterator[tuple[str, Subject, Any]]:
    """What the numbers of targets are measured with: the bundled arm, and a hand of the bundled figure."""
    arm = poise.load(poise.sample("arm.urdf")).rest
    bent_arm = arm.with_q(np.array([0.3, 0.4, 0.8, 0.2, 0.5, 0.1]))
    yield "arm to a place, auto", Subject(bent_arm, ("flange_tool",), "base_turn", has_rotations=True), "auto"
    figure = poise.load(poise.sample("humanoid")).rest
    hand = poise.Position("LeftHand", [0.4, 1.2, 0.35], root="LeftArm")
    yield "hand of a figure, auto", Subject(poise.solve(figure, hand).pose, ("LeftHand",), "LeftArm"), "auto"
    yield "limb, two_bone", build_hand(4), "two_bone"


def measure_targets(counts: Sequence[int]) -> Iterator[harness.Row]:
    """Measure calls with each number of targets, with one thread and with two."""
    prepared = [
        (f"{name}, threads={threads}", *prepare_calls(subject, solver, threads, DISTINCT_COUNT))
        for name, subject, solver in list_batches()
        for threads in THREADS
    ]
    for count in counts:
        row: harness.Row = {"targets": count}
        for name, reach, rows in prepared:
            targets = rows[0][0] if count == 1 else np.resize(rows[0], (count, rows[0].shape[1]))
            row[name] = measure(partial(reach, targets), time.perf_counter, count)
        print(json.dumps(row), flush=True)
        yield row


def measure_memory(kinds: int) -> Iterator[harness.Row]:
    """Measure what skeletons keep after solves with many kinds of goals: weights that differ."""
    figure = poise.load(poise.sample("humanoid")).rest
    arm = next(list_batches())[1]
    for name, subject in (
        ("bundled arm, a position", arm._replace(has_rotations=False)),
        ("bundled figure, four positions", Subject(figure, ("LeftHand", "RightHand", "LeftFoot", "RightFoot"), "Hips")),
        ("500 balls in five limbs, four positions", build_figure(JOINTS[-1])),
    ):
        targets = [rows[0] for rows in list_targets(subject, 1)]
        poise.solve(subject.start, make_goals(subject, targets)).message()
        gc.collect()
        tracemalloc.start()
        kept = []
        for kind in range(1, kinds + 1):
            poise.solve(subject.start, make_goals(subject, targets, weight=1.0 + kind / kinds)).message()
            if kind in (kinds // 2, kinds):
                gc.collect()
                kept.append(tracemalloc.get_traced_memory()[0] / 1e6)
        tracemalloc.stop()
        row = {"skeleton": name, "joints": len(subject.start.skeleton), f"after {kinds // 2} kinds [MB]": kept[0]}
        yield row | {f"after {kinds} kinds [MB]": kept[1]}


def main(arguments: Sequence[str] = ()) -> int:
    """Measure both and write the tables."""
    parser = argparse.ArgumentParser(description="Cost of a call against joints, targets and threads; kept memory.")
    parser.add_argument("--quick", action="store_true", help="few numbers, no files written")
    parser.add_argument("--only", choices=("joints", "targets", "memory"), help="one of the tables, no files written")
    options = parser.parse_args(list(arguments))
    is_quick = options.quick
    tables = {
        "joints": lambda: measure_joints(QUICK_JOINTS if is_quick else JOINTS),
        "targets": lambda: measure_targets(QUICK_TARGETS if is_quick else TARGETS),
        "memory": lambda: measure_memory(QUICK_KINDS if is_quick else KINDS),
    }
    rows = {name: list(make()) for name, make in tables.items() if options.only in (None, name)}
    if is_quick or options.only:
        for table in rows.values():
            print(harness.table(table))
        return 0
    how = f"A prepared call with one target [µs], against the number of joints: processor time, median of {REPEATS}."
    batches = (
        f"Elapsed time of a prepared call, divided by its targets: median of {REPEATS} repeats, of fewer where a call "
        "takes long. The page on performance shows both tables as curves, and says where their steps are."
    )
    memory = "What Python has allocated since the first solve and not freed, measured by tracemalloc."
    notes = [how, "### A target of a call with many [µs]", harness.table(rows["targets"]), batches]
    notes += ["### Memory kept by a skeleton after kinds of goals", harness.table(rows["memory"]), memory]
    harness.report("call_cost", "Cost against joints, targets and threads", rows["joints"], notes)
    path = harness.RESULTS / "call_cost.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document |= {name: rows[name] for name in ("targets", "memory")}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
