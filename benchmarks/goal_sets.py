"""Relative goals and ranges: what share is reached of targets that forward kinematics made, and at what cost.

Both hands of robots at relative places; random sets with a pose known inside; arms of five axes whose tool may turn
freely; and mink's RelativeFrameTask on the same places to the same residual. Errors are judged here, from world
transforms alone.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import harness
import numpy as np
from numpy.typing import NDArray
from robot_cases.targets import Limb, anywhere, limb_of
from robots import environments

import poise
from poise import Range, SwingTwist, Within, rotations

Floats = NDArray[np.float64]
TOLERANCE = 1e-6  # [m] and [rad]
SEED = 46
PLACES = 2_000
SETS = 5_000
TOOLS = 1_000
PEER_PLACES = 200
CLOSEST = 60  # sets of each robot that are also asked for the nearest pose
ROUNDS = 5
HANDS = {
    "G1": ("urdf/g1_29dof.urdf", "left_hand_palm_joint", "right_hand_palm_joint"),
    "simple humanoid": ("urdf/simple_humanoid/urdf/simple_humanoid.urdf", "LARM_WRIST_R", "RARM_WRIST_R"),
    "TIAGo Pro, two arms": ("robots/tiago_pro.urdf", "arm_left_tool_joint", "arm_right_tool_joint"),
}
SET_ROBOTS = {
    "UR5": ("urdf/ur5.urdf", "ee_fixed_joint"),
    "Panda": ("urdf/panda.urdf", "panda_hand_tcp_joint"),
    "Fanuc": ("robots/fanuc_moveit.urdf", "joint_6-tool0"),
    "SO-100": ("robots/so100.urdf", "gripper"),
    "G1, left hand": ("urdf/g1_29dof.urdf", "left_hand_palm_joint"),
    "TIAGo Pro, left arm": ("robots/tiago_pro.urdf", "arm_left_tool_joint"),
}
FIVE_AXES = {
    "five axes": ("field/five_axis.urdf", "j5"),
    "SO-100": ("robots/so100.urdf", "wrist_roll"),
}
PEER_ROBOT, PEER_LINKS = "G1", ("left_rubber_hand", "right_rubber_hand")
ROUND = 1 + 1e-6  # of a tolerance: what is judged here is rounded otherwise
FREE = (-math.inf, math.inf)
_OPTIONS: dict[str, Any] = {"tolerance": TOLERANCE, "angle_tolerance": TOLERANCE}


class Relative(NamedTuple):
    """Places of a joint in the frame of another: positions (k, 3), rotations (k, 4)."""

    positions: Floats
    rotations: Floats


def find_relative(pose: poise.Pose, joint: str, reference: str) -> Relative:
    """Find where a joint is in the frame of another; robots have no scale."""
    tip, base = pose.world[joint], pose.world[reference]
    back = rotations.inverse(base.rotations)
    return Relative(rotations.rotate(back, tip.positions - base.positions), rotations.multiply(back, tip.rotations))


def load_rest(name: str) -> poise.Pose:
    """The rest pose of a robot of the test data."""
    folder = harness.data_folder()
    assert folder is not None
    return poise.load(folder / name).rest


def measure_angle(first: Floats, second: Floats) -> Floats:
    """Angles [rad] between rotations, from the vector part, which is exact for small ones."""
    turn = rotations.multiply(rotations.inverse(first), second)
    return 2 * np.arctan2(np.linalg.norm(turn[..., 1:], axis=-1), np.abs(turn[..., 0]))


# --- both hands on a box ---------------------------------------------------------------------------------------------


def make_hand_places(rest: poise.Pose, left: str, right: str, count: int) -> Relative:
    """Places of the left hand in the frame of the right, of random configurations of both arms."""
    rng = np.random.default_rng(SEED)
    q = anywhere(limb_of(rest, left), rng, count)
    other = limb_of(rest, right)
    q[:, other.columns] = anywhere(other, rng, count)[:, other.columns]
    return find_relative(poise.Pose(rest.skeleton, q), left, right)


def run_hands(label: str, count: int) -> harness.Row:
    """Ask for all relative places from rest in one call."""
    file, left, right = HANDS[label]
    rest = load_rest(file)
    wanted = make_hand_places(rest, left, right, count)
    goal = poise.Place(left, wanted.positions, wanted.rotations, relative_to=right)
    result, seconds = harness.quickest(lambda: poise.solve(rest, goal, threads=1, **_OPTIONS))
    found = find_relative(poise.Pose(rest.skeleton, result.q), left, right)
    distances = np.linalg.norm(found.positions - wanted.positions, axis=-1)
    angles = measure_angle(found.rotations, wanted.rotations)
    met = (distances <= TOLERANCE * ROUND) & (angles <= TOLERANCE * ROUND)
    row = {"part": "relative places", "robot": label, "asked": count, "reached [%]": 100 * float(met.mean())}
    worst = {"worst [m]": float(distances[met].max(initial=0)), "worst [rad]": float(angles[met].max(initial=0))}
    return row | worst | {"us each": seconds / count * 1e6}


# --- random sets ---------------------------------------------------------------------------------------------------


def draw_interval(rng: np.random.Generator) -> tuple[float, float]:
    """An exact, a bounded or a free axis."""
    kind = rng.integers(4)
    return (0.0, 0.0) if kind == 0 else FREE if kind == 1 else (-rng.uniform(0, 0.2), rng.uniform(0, 0.2))


def draw_turn(rng: np.random.Generator) -> tuple[Any, Floats]:
    """A set of rotations, and a rotation inside it."""
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    kind = rng.integers(4)
    if kind == 0:
        return None, np.array([1.0, 0.0, 0.0, 0.0])
    if kind == 1:
        return Range(*FREE, axis=axis), rotations.about(axis, rng.uniform(-np.pi, np.pi))
    low, high = -rng.uniform(0, 1), rng.uniform(0, 1)
    turn = rotations.about(axis, rng.uniform(low, high))
    if kind == 2:
        return Range(low, high, axis=axis), turn
    swing = rng.uniform(0.05, 0.8)
    limit = SwingTwist(axis=(0, 0, 1), swing=swing, twist=(low, high))
    across = np.array([*rng.normal(size=2), 0.0])
    tilt = rotations.about(across / np.linalg.norm(across), rng.uniform(0, swing))
    return limit, rotations.multiply(tilt, rotations.about(np.array([0.0, 0.0, 1.0]), rng.uniform(low, high)))


class KnownSet(NamedTuple):
    """A goal with a range, and the place of a pose inside it."""

    goal: poise.Place
    position: Floats
    rotation: Floats


def make_set(rng: np.random.Generator, tip: str, position: Floats, rotation: Floats) -> KnownSet:
    """A random set that holds a place."""
    intervals = [draw_interval(rng) for _ in range(3)]
    turn, inside = draw_turn(rng)
    axes = "joint" if rng.random() < 0.5 else "target"
    target_rotation = rotations.multiply(rotation, rotations.inverse(inside))
    offset = np.array([rng.uniform(max(low, -1.0), min(high, 1.0)) for low, high in intervals])
    target = position - rotations.rotate(rotation if axes == "joint" else target_rotation, offset)
    x, y, z = intervals
    within = Within(x, y, z, turn=turn, axes=axes)
    return KnownSet(poise.Place(tip, target, target_rotation, within=within), position, rotation)


def measure_excess(goal: poise.Place, position: Floats, rotation: Floats) -> tuple[float, float]:
    """How far a place is outside a set [m, rad]: by the box, and by the angle or the swing and twist of the turn."""
    within = goal.within
    assert within is not None
    axes = rotation if within.axes == "joint" else goal.rotation
    local = rotations.rotate(rotations.inverse(axes), position - goal.position)
    low, high = np.array(within.intervals).T
    distance = float(np.linalg.norm(local - np.clip(local, low, high)))
    turn, limit = rotations.multiply(rotations.inverse(goal.rotation), rotation), within.turn
    if limit is None:
        return distance, float(measure_angle(np.array([1.0, 0.0, 0.0, 0.0]), turn))
    assert isinstance(limit, Range | SwingTwist)
    axis = np.asarray(limit.axis)
    twist = 2 * math.atan2(float(turn[1:] @ axis), float(turn[0]))
    twist = (twist + math.pi) % (2 * math.pi) - math.pi
    swing = float(
        2 * np.arctan2(np.linalg.norm(turn[1:] - (turn[1:] @ axis) * axis), np.hypot(turn[0], turn[1:] @ axis))
    )
    ends = (limit.low, limit.high) if isinstance(limit, Range) else limit.twist
    widest = 0.0 if isinstance(limit, Range) else float(np.max(limit.swing))
    return distance, math.hypot(max(ends[0] - twist, twist - ends[1], 0.0), max(swing - widest, 0.0))


def run_sets(label: str, count: int) -> harness.Row:
    """Ask for random sets from rest, and for the places inside them and the targets alone, one call each."""
    file, tip = SET_ROBOTS[label]
    rest = load_rest(file)
    limb = limb_of(rest, tip)
    rng = np.random.default_rng([SEED, len(label)])
    known = poise.Pose(rest.skeleton, anywhere(limb, rng, count)).world[tip]
    sets = [make_set(rng, tip, *place) for place in zip(known.positions, known.rotations, strict=True)]
    targets = poise.Place(tip, [s.goal.position for s in sets], [s.goal.rotation for s in sets])
    exact = {
        "inside": poise.solve(rest, poise.Place(tip, known.positions, known.rotations), **_OPTIONS),
        "target": poise.solve(rest, targets, **_OPTIONS),
    }
    q, met, seconds, worst = np.empty((count, len(rest.q))), np.zeros(count, dtype=bool), [], np.zeros(2)
    for i, one in enumerate(sets):
        began = time.perf_counter()
        result = poise.solve(rest, one.goal, **_OPTIONS)
        seconds.append(time.perf_counter() - began)
        q[i] = result.q
        at = result.pose.world[tip]
        excess = np.array(measure_excess(one.goal, at.positions, at.rotations))
        met[i] = (excess <= TOLERANCE * ROUND).all()
        worst = np.maximum(worst, excess) if met[i] else worst
    row = {"part": "sets", "robot": label, "asked": count, "reached [%]": 100 * float(met.mean())}
    row |= {"worst [m]": float(worst[0]), "worst [rad]": float(worst[1]), "us each": float(np.median(seconds)) * 1e6}
    row |= {f"farther than the {name} [%]": compare(limb, q, met, one) for name, one in exact.items()}
    return row | {"closest, farther than the inside [%]": compare_closest(limb, sets[:CLOSEST])}


def compare_closest(limb: Limb, sets: list[KnownSet]) -> float:
    """The share of `compare`, where both goals are asked for the pose nearest to the start."""
    farther: list[float] = []
    for one in sets:
        exact = poise.Place(one.goal.joint, one.position, one.rotation)
        pair = [poise.solve(limb.rest, goal, prefer="closest", **_OPTIONS) for goal in (one.goal, exact)]
        if pair[0].reached and pair[1].reached:
            near, far = (np.linalg.norm((each.q - limb.rest.q)[limb.columns]) for each in pair)
            farther.append(float(near > far + TOLERANCE))
    return 100 * float(np.mean(farther))


def compare(limb: Limb, q: Floats, met: NDArray[np.bool_], exact: Any) -> float:
    """Share [%] of sets whose answer is farther from the start than that of an exact goal; where both are met."""
    both = met & exact.reached
    ways = [np.linalg.norm((each - limb.rest.q)[:, limb.columns], axis=-1) for each in (q, exact.q)]
    return 100 * float((ways[0][both] > ways[1][both] + TOLERANCE).mean())


# --- five axes -------------------------------------------------------------------------------------------------------


def run_tools(label: str, count: int) -> harness.Row:
    """Ask for places whose rotation about the tool's z axis is another than the arm can have, and free."""
    file, tip = FIVE_AXES[label]
    rest = load_rest(file)
    rng = np.random.default_rng(SEED)
    known = poise.Pose(rest.skeleton, anywhere(limb_of(rest, tip), rng, count)).world[tip]
    turn = rotations.about(np.array([0.0, 0.0, 1.0]), rng.uniform(-np.pi, np.pi, count))
    wanted = rotations.multiply(known.rotations, turn)
    free = Within(turn=Range(*FREE, axis=(0, 0, 1)))
    goal = poise.Place(tip, known.positions, wanted, within=free)
    result, seconds = harness.quickest(lambda: poise.solve(rest, goal, threads=1, **_OPTIONS))
    at = poise.Pose(rest.skeleton, result.q).world[tip]
    distances = np.linalg.norm(at.positions - known.positions, axis=-1)
    left = rotations.multiply(rotations.inverse(wanted), at.rotations)
    angles = 2 * np.arctan2(np.linalg.norm(left[:, 1:3], axis=-1), np.hypot(left[:, 0], left[:, 3]))
    met = (distances <= TOLERANCE * ROUND) & (angles <= TOLERANCE * ROUND)
    row = {"part": "free turn", "robot": label, "asked": count, "reached [%]": 100 * float(met.mean())}
    worst = {"worst [m]": float(distances[met].max(initial=0)), "worst [rad]": float(angles[met].max(initial=0))}
    return row | worst | {"us each": seconds / count * 1e6}


# --- mink ------------------------------------------------------------------------------------------------------------


def run_peer(count: int) -> list[harness.Row]:
    """Places of both hands with mink and with Poise, in turn, from zero; RuntimeError where mink cannot be run."""
    file, left, right = HANDS[PEER_ROBOT]
    rest = load_rest(file)
    start = poise.Pose(rest.skeleton, np.zeros_like(rest.q))
    wanted = make_hand_places(rest, left, right, count)
    goal = poise.Place(left, wanted.positions[0], wanted.rotations[0], relative_to=right)
    ready = poise.prepare(start, goal, **_OPTIONS)
    targets = list(zip(wanted.positions, wanted.rotations, strict=True))
    matrices = np.tile(np.eye(4), (count, 1, 1))
    matrices[:, :3, :3], matrices[:, :3, 3] = rotations.as_matrix(wanted.rotations), wanted.positions
    times: dict[str, list[Floats]] = {name: [] for name in ("prepared(target)", "poise.solve(start, goal)", "mink")}
    folder = harness.data_folder()
    assert folder is not None
    with tempfile.TemporaryDirectory() as work:
        job, out = Path(work) / "job.npz", Path(work) / "out.npz"
        links = dict(zip(("moving", "reference"), PEER_LINKS, strict=True))
        np.savez(job, targets=matrices, tolerance=TOLERANCE, angle_tolerance=TOLERANCE, **links)
        worker = harness.HERE / "peers" / "mink_relative.py"
        command = [str(environments.python("mink")), str(worker), str(folder / file), str(job), str(out)]
        for _ in range(ROUNDS):
            times["prepared(target)"].append(time_each(ready, targets))
            times["poise.solve(start, goal)"].append(
                time_each(lambda target: poise.solve(start, goal.with_target(target), **_OPTIONS), targets)
            )
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                message = (done.stderr.strip().splitlines() or ["no reason"])[-1]
                raise RuntimeError(message)
            with np.load(out) as answers:
                times["mink"].append(answers["seconds"])
                peer_met = answers["met"]
    met = {"mink": peer_met} | dict.fromkeys(times.keys() - {"mink"}, np.array([ready(t).reached for t in targets]))
    both = np.all(list(met.values()), axis=0)
    ours = float(np.median(np.median(times["prepared(target)"], axis=0)[both]))
    rows: list[harness.Row] = []
    for name, rounds in times.items():
        each = np.median(rounds, axis=0)
        typical = float(np.median(each[both]))
        rows.append({
            "call": name, "reached [%]": 100 * float(met[name].mean()), "median [us]": typical * 1e6,
            "99 % [us]": float(np.percentile(each[both], 99)) * 1e6, "of prepared": typical / ours,
        })  # fmt: skip
    return rows


def time_each(call: Any, targets: list[Any]) -> Floats:
    """Seconds of each call."""
    seconds = np.empty(len(targets))
    for i, target in enumerate(targets):
        began = time.perf_counter()
        call(target)
        seconds[i] = time.perf_counter() - began
    return seconds


def main(limit: int | None = None) -> int:
    """Run everything and write the table."""
    if harness.data_folder() is None:
        return harness.exit_code("goal_sets: skipped, there is no test data; benchmarks/fetch_data.py fetches it")
    rows = [run_hands(label, limit or PLACES) for label in HANDS]
    set_count = -(-SETS // len(SET_ROBOTS)) if limit is None else limit
    rows += [run_sets(label, set_count) for label in SET_ROBOTS]
    rows += [run_tools(label, limit or TOOLS) for label in FIVE_AXES]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    rows = [{name: row.get(name, "") for name in columns} for row in rows]
    how = (
        f"Tolerance {TOLERANCE:g} m and rad, judged by world transforms. Relative places are the left hand's in the "
        "frame of the right, solved from rest in a batch; so are free turns about the tool's z axis. Each set is a "
        "call of its own, from rest; an axis of it is exact, free or up to 0.2 m wide on each side, its turn exact, "
        "about one random axis (free or up to 1 rad each way) or a cone. Farther than: share of answers whose joints "
        "move more than in the answer to the exact place of the pose known inside, or to the target alone where it "
        f"is reached. Closest: the same for {CLOSEST} of them, both asked for with prefer=closest."
    )
    notes = [how]
    try:
        peers = run_peer(min(limit or PEER_PLACES, PEER_PLACES))
    except RuntimeError as error:
        notes.append(f"mink left out: {error}")
    else:
        notes.append("### Beside mink's RelativeFrameTask")
        notes.append(harness.table(peers))
        notes.append(
            f"Both hands of the {PEER_ROBOT} from zero, {PEER_PLACES} of these places, each alone, until both errors "
            f"are within {TOLERANCE:g}: in turn in one run, medians of {ROUNDS} rounds over the places that all reach. "
            "mink iterates with daqp, joint limits and unit steps, at most 300."
        )
    harness.report("goal_sets", "Relative goals and ranges", rows, notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
