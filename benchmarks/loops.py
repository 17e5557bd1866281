"""Closed loops: shares of known places, gaps of reached poses, and time beside mink.

The models are those of tests/loop_models.py, written from their lengths. Truths are closed poses: by formula for the
four-bar and the Stewart platform, and for the others the answers for targets far off. Gaps are measured by forward
kinematics. A step of mink holds the loop by its equality constraint, and follows the tip by a frame task.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import harness
import numpy as np

import poise
from poise import rotations
from poise.model.loop_gaps import compute_gaps

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests import loop_models

COUNT = 25_000  # places for each of four models
CLOSED = 1e-9  # [m, rad]
_SINGLE_CALLS = 300
_MAX_STEPS = 60
_RESIDUAL = 1e-6  # [m] at which mink's steps have arrived


def load_model(text: str) -> poise.Rig:
    """Load a model from its text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.xml")
        path.write_text(text, encoding="utf-8")
        return poise.load(path)


def largest_gaps(skeleton: poise.Skeleton, q: Any) -> Any:
    """Return the largest gap (k,) of each pose [m, rad]."""
    gaps = compute_gaps(skeleton, q)
    return np.maximum(gaps.distances, gaps.angles).max(axis=-1)


def truths(name: str, rig: poise.Rig, count: int) -> tuple[Any, str, str | None]:
    """Return closed poses q (k, nq), the joint of the goal and its root."""
    rng = np.random.default_rng(46)
    if name == "four_bar":
        angles = rng.uniform(-3.0, 3.0, count) + loop_models.FOUR_BAR_REST
        return np.array([loop_models.four_bar_q(angle) for angle in angles]), "tip", None
    if name == "stewart":
        shifts, turns = rng.uniform(-0.08, 0.08, (count, 3)), rotations.from_vector(rng.normal(size=(count, 3)) * 0.12)
        q = [loop_models.stewart_q(shift, turn) for shift, turn in zip(shifts, turns, strict=True)]
        return np.array(q), "tool", None
    tip, root = ("tip_b", None) if name == "five_bar" else ("toe", "roll")
    origin = rig.rest.world[tip].positions
    found = poise.solve(rig.rest, poise.Position(tip, origin + rng.uniform(-0.15, 0.15, (count, 3)), root=root))
    return found.q[largest_gaps(rig.skeleton, found.q) <= CLOSED], tip, root


def run(count: int) -> list[harness.Row]:
    """Solve for the places of closed poses of each model."""
    return [_row(name, make, count) for name, make in loop_models.MODELS.items()]


def _row(name: str, make: Any, count: int) -> harness.Row:
    rig = load_model(make())
    q, tip, root = truths(name, rig, count)
    world = poise.Pose(rig.skeleton, q).world[tip]
    goal: Any = poise.Position(tip, world.positions, root=root)
    if name == "stewart":
        goal = poise.Place(tip, world.positions, world.rotations, root=root)
    result, seconds = harness.quickest(lambda: poise.solve(rig.rest, goal, threads=1), 3, 60.0)
    gaps = largest_gaps(rig.skeleton, result.q)
    away = goal.with_target(
        (goal.position + np.array([0.0, 0.0, 5.0]), goal.rotation) if name == "stewart" else goal.target + 5.0
    )
    missed = poise.solve(rig.rest, away)
    prepared = poise.prepare(rig.rest, goal)
    targets = [(a, b) for a, b in zip(goal.position, goal.rotation, strict=True)] if name == "stewart" else goal.target
    times = [harness.timed(lambda i=i: prepared(targets[i]))[1] for i in range(min(_SINGLE_CALLS, len(q)))]
    return {
        "model": name,
        "loops": len(rig.skeleton.loops),
        "places": len(q),
        "reached [%]": 100 * float(result.reached.mean()),
        "reached with a gap above 1e-9": int((result.reached & (gaps > CLOSED)).sum()),
        "largest gap of reached": float(gaps[result.reached].max()),
        "5 m away: closed [%]": 100 * float((largest_gaps(rig.skeleton, missed.q) <= CLOSED).mean()),
        "in a batch [us]": seconds / len(q) * 1e6,
        "prepared, median [us]": float(np.median(times)) * 1e6,
    }


def run_mink(count: int = 40) -> list[harness.Row]:
    """Time steps of mink on the four-bar. Empty where mink is not installed."""
    try:
        mink, mujoco = importlib.import_module("mink"), importlib.import_module("mujoco")
    except ImportError:
        return []
    text = loop_models.four_bar()
    rig, model = load_model(text), mujoco.MjModel.from_xml_string(text)
    q, tip, _ = truths("four_bar", rig, count)
    step_times: list[float] = []
    step_counts: list[int] = []
    gaps: list[float] = []
    for target in poise.Pose(rig.skeleton, q).world[tip].positions:
        configuration = mink.Configuration(model)
        task = mink.FrameTask(tip, "site", position_cost=1.0, orientation_cost=0.0)
        task.set_target(mink.SE3.from_translation(target))
        tasks = [task, mink.EqualityConstraintTask(model, cost=1.0)]
        steps = 0
        while steps < _MAX_STEPS and np.linalg.norm(task.compute_error(configuration)[:3]) > _RESIDUAL:
            start = time.perf_counter()
            configuration.integrate_inplace(mink.solve_ik(configuration, tasks, 0.1, "daqp", damping=1e-9), 0.1)
            step_times.append(time.perf_counter() - start)
            steps += 1
        step_counts.append(steps)
        gaps.append(float(largest_gaps(rig.skeleton, configuration.q)))
    return [{
        "model": f"four_bar, one step of mink (median {int(np.median(step_counts))} to 1e-6 m)", "loops": 1,
        "places": count, "reached [%]": "", "reached with a gap above 1e-9": sum(gap > CLOSED for gap in gaps),
        "largest gap of reached": max(gaps), "5 m away: closed [%]": "", "in a batch [us]": "",
        "prepared, median [us]": float(np.median(step_times)) * 1e6,
    }]  # fmt: skip


def main(limit: int | None = None) -> int:
    """Run everything and write the table."""
    count = limit or COUNT
    note = (
        f"{count} truths each, start at rest, default tolerance; one thread, the best of three calls in a batch; "
        "prepared calls and mink's steps in the same run, one at a time. Gaps are in metres and radians."
    )
    harness.report("loops", "Closed loops", [*run(count), *run_mink()], [note])
    return 0


if __name__ == "__main__":
    sys.exit(main())
