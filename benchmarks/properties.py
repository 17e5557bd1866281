"""What each method is like: size, speed, hinges, limits, singularities, convergence, number of joints.

The words of the table come from thresholds on numbers, which are below it. Nothing is typed by hand: what a solver can
do is what its file declares, sizes are counted from the sources, the rest is measured by poise.compare().
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import sys
from typing import NamedTuple

import harness
import numpy as np
from fabrik_table import chain
from property_table.table import Properties, properties
from property_table.words import figures, growth_rows, notes, rows

import poise
from poise.comparison.runs import FULL_CHAIN_JOINT_COUNTS, ScalingPoint

BONES = 10
TOLERANCE = 1e-4  # of the reach
CLOSE = 1e-10  # of the reach: so that the end of the convergence is seen
FULL = poise.Effort(
    reachable=500, path=240, extreme=200, joints=(), batches=(), rounds=1, timed=3, traced=40, seconds=9.0
)  # times: see below
ENDS = poise.Effort(reachable=40, path=4, extreme=2, joints=(), batches=(), rounds=1, timed=3, traced=40, seconds=8.0)
SLOW = {"autodiff": 20}  # gets fewer of them
TARGETS, FEW = 200, 10  # for each number of joints: in a batch, in single calls
RUNS = 9


def hinges(bones: int) -> poise.Skeleton:
    """Hinges across the chain, each 50 degrees on, that turn 1.2 rad either way."""
    angle = np.arange(bones) * np.radians(50)
    axes = np.stack([np.cos(angle), np.zeros(bones), np.sin(angle)], axis=-1)
    return chain(bones, 1.0, poise.Range(-1.2, 1.2), axes)


def leg() -> poise.Skeleton:
    """Two bones of 0.4: a ball and a knee that bends from 0 to 150 degrees."""
    kinds = [poise.Kind.BALL, poise.Kind.HINGE, poise.Kind.FIXED]
    offsets, axes = [[0, 0, 0], [0, -0.4, 0], [0, -0.4, 0]], [[0, 1, 0], [1, 0, 0], [0, 1, 0]]
    skeleton = poise.Skeleton.build(["hip", "knee", "tip"], [-1, 0, 1], kinds, offsets=offsets, axes=axes)
    return skeleton.with_limits({"knee": poise.Range.degrees(0, 150)})


def chains() -> dict[str, tuple[poise.Skeleton, float]]:
    """Each chain by its name in the table, and its reach."""
    return {
        f"{BONES} balls": (chain(BONES, 1.0), float(BONES)),
        f"{BONES} hinges": (hinges(BONES), float(BONES)),
        "leg": (leg(), 0.8),
    }


def compared(skeleton: poise.Skeleton, tolerance: float, effort: poise.Effort, only: str | None) -> poise.Comparison:
    """Give every solver of the folder, or one, the same targets."""
    start = poise.Pose(skeleton, skeleton.rest_q)
    goal = poise.Position("tip", (0, 0, 0), root=skeleton.names[0])
    return poise.compare(start, goal, tolerance=tolerance, effort=effort, solvers=[only] if only else "all")


def timed(comparison: poise.Comparison) -> poise.Comparison:
    """The comparison with times in processor time, which a busy machine changes less, of a few runs the least."""
    task, made = comparison.task, []
    for method in comparison.methods:
        if method.refused is None:
            times = _times(method.name, task.start, task.goal.with_target(task.main.rows), task.tolerance.distance)
            batches = {len(task.main.rows): np.array([times.batch])}
            made.append(dataclasses.replace(method, calls=np.array([[times.call]]), batches=batches))
        else:
            made.append(method)
    return dataclasses.replace(comparison, methods=tuple(made))


class Times(NamedTuple):
    """Processor time of a call and of one target in a batch [us], and the share solved."""

    call: float
    batch: float
    solved: float


def _times(name: str, start: poise.Pose, goal: poise.Position, tolerance: float) -> Times:
    """Solve all targets of the goal in one call, and the first few one by one."""
    how = {"solver": name, "tolerance": tolerance}
    targets = np.asarray(goal.target)
    poise.solve(start, goal, threads=1, **how)  # compiles
    result, batch = harness.quickest(lambda: poise.solve(start, goal, threads=1, **how), RUNS)
    reach = poise.prepare(start, goal.with_target(targets[0]), **how)
    _, calls = harness.quickest(lambda: [reach(target) for target in targets[:FEW]], RUNS)
    few = min(FEW, len(targets))
    return Times(1e6 * calls / few, 1e6 * batch / len(targets), float(result.reached.mean()))


def grown(comparison: poise.Comparison, sizes: tuple[int, ...]) -> poise.Comparison:
    """The comparison with the growth of every method over all sizes, in processor time, of a few runs the least."""
    found: dict[str, list[ScalingPoint]] = {method.name: [] for method in comparison.methods}
    for joints in sizes:
        for name, sizes_of in found.items():
            try:
                sizes_of.append(_grown(name, joints))
            except poise.UnsupportedError:
                continue  # it is listed with the sizes that it takes
        print(f"{joints} joints", flush=True)
    made = [dataclasses.replace(method, growth=tuple(found[method.name])) for method in comparison.methods]
    return dataclasses.replace(comparison, methods=tuple(made))


def _grown(name: str, joints: int) -> ScalingPoint:
    """One method on a chain of balls, targets in every direction between 0.2 and 0.9 of the reach."""
    rng = np.random.default_rng(joints)
    ways = rng.normal(size=(TARGETS, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    targets = (joints * np.cbrt(rng.uniform(0.2**3, 0.9**3, (TARGETS, 1))) * ways)[: SLOW.get(name)]
    skeleton = chain(joints, 1.0)
    goal = poise.Position("tip", targets, root=skeleton.names[0])
    times = _times(name, poise.Pose(skeleton, skeleton.rest_q), goal, TOLERANCE * joints)
    return ScalingPoint(joints, times.solved, times.call, times.batch)


def measured(
    effort: poise.Effort = FULL,
    ends: poise.Effort = ENDS,
    sizes: tuple[int, ...] = FULL_CHAIN_JOINT_COUNTS,
    only: str | None = None,
) -> Properties:
    """Measure everything, for every solver or for one."""
    found = {}
    for name, (skeleton, reach) in chains().items():
        found[name] = timed(compared(skeleton, TOLERANCE * reach, effort, only))
        print(f"{name}: {found[name].seconds:.0f} s", flush=True)
    first, (skeleton, reach) = next(iter(chains().items()))
    found[first] = grown(found[first], sizes)
    return properties(found, compared(skeleton, CLOSE * reach, ends, only))


def main() -> int:
    """Run everything and write the table."""
    table = measured()
    machine = ", ".join(f"{key} {value}" for key, value in harness.machine().items())
    when = dt.datetime.now(tz=dt.UTC).date().isoformat()
    what = (
        f"Chains: {BONES} balls without limits and {BONES} hinges within 1.2 rad of straight, each 50 degrees on, "
        "bones one long, straight at the start; a leg of a ball and a knee that bends up to 150 degrees. Targets are "
        f"the tips of random legal poses, solved to {TOLERANCE:g} of the reach, one at a time from the start. Speed: "
        "on the first chain that a method takes, all targets in a batch; on ever longer chains batches of "
        f"{TARGETS}, of {SLOW['autodiff']} for autodiff. Processor time, one thread, default options, of {RUNS} runs "
        "the least."
    )
    made = f"Measured on {when}: {machine}. Repeat it with `python benchmarks/run.py properties`."
    message = [made, what, *notes(table)]
    numbers = ["### The numbers behind it", harness.table(figures(table))]
    harness.report("properties", "Properties of the methods", rows(table), [*message, *numbers])
    path = harness.RESULTS / "properties.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document |= {"notes": message, "figures": figures(table), "growth": growth_rows(table)}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
