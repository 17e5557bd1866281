"""Measure solve times on chains of growing length.

They have free ball joints and bones of length 1 and are straight at the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.comparison.trials.method import Method
from poise.comparison.trials.runs import Tell, run, usable_methods
from poise.comparison.trials.task import TargetSet, Task
from poise.comparison.trials.turns import Competitor, batches, in_turns
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton
from poise.problem.goals import Position
from poise.problem.problem import Problem

SIZES, FULL_SIZES = (2, 5, 10, 20, 50), (2, 5, 10, 20, 50, 100, 200)
ONE_SIZE = {"autodiff": 10}  # it compiles for seconds at each length
_TARGETS, _ROUNDS = 20, 3
_MOST = 0.5  # share solved: chains with less are left out
_TOLERANCE = 1e-4  # share of the chain length
_NEAR, _FAR = 0.2, 0.9  # shares of the chain length: range of target distances


class Grown(NamedTuple):
    """Share solved and times on a chain of `joints` joints. Times are of a call and of one target in a batch [us].

    `batch` is NaN where a method solves no batches.
    """

    joints: int
    solved: float
    call: float
    batch: float


def growth(methods: Sequence[Method], sizes: Sequence[int], seconds: float, tell: Tell) -> dict[str, list[Grown]]:
    """Measure each method on each chain length. Methods that refuse a length are left out there."""
    found: dict[str, list[Grown]] = {method.name: [] for method in methods}
    for joints in sizes:
        asked = [method for method in methods if ONE_SIZE.get(method.name, joints) == joints]
        for name, grown in _grown(asked, _chain(joints), seconds):
            found[name].append(grown)
        tell(f"{joints} joints")
    return found


def _grown(methods: Sequence[Method], task: Task, seconds: float) -> list[tuple[str, Grown]]:
    """Measure the methods able to solve one chain."""
    usable, _ = usable_methods(methods, task)
    try:
        runs = [run(ready, task, task.main, seconds) for _, ready in usable]
        asked = [
            Competitor(ready, task.main.rows, [None] * len(task.main), float(done.solved().mean()))
            for (_, ready), done in zip(usable, runs, strict=True)
        ]
        calls = in_turns(asked, _ROUNDS, seconds, lambda _: None)
        many = batches(asked, task, (_TARGETS,), _ROUNDS, seconds, lambda _: None)
    finally:
        for _, ready in usable:
            ready.close()
    grown = [
        (method.name, Grown(len(task.joints), one.solved, _median(call), _median(batch.times.get(_TARGETS))))
        for (method, _), one, call, batch in zip(usable, asked, calls, many, strict=True)
    ]
    return [(name, one) for name, one in grown if np.isfinite(one.call)]


def _median(times: Floats | None) -> float:
    """Compute the median of successful calls. NaN without any."""
    finite = np.zeros(0) if times is None else times[np.isfinite(times)]
    return float(np.median(finite)) if finite.size else float("nan")


def exponent(grown: Sequence[Grown]) -> float:
    """Fit the exponent of time against the number of joints.

    It is the slope of a line through their logarithms, from 10 joints on.

    An exponent of 1 means a constant cost per joint. NaN for fewer than two sizes. Times are from batches if there are
    any: the overhead of a single call hides a few microseconds of arithmetic.
    """
    some = [one for one in grown if one.joints >= 10 and one.solved >= _MOST and one.call > 0]  # noqa: PLR2004
    if len(some) < 2:  # noqa: PLR2004
        return float("nan")
    times = [one.call if np.isnan(one.batch) else one.batch for one in some]
    return float(np.polyfit(np.log([one.joints for one in some]), np.log(times), 1)[0])


def _chain(joints: int) -> Task:
    names = [*(f"bone_{i}" for i in range(joints)), "tip"]
    kinds = [Kind.BALL] * joints + [Kind.FIXED]
    offsets = [[0.0, float(i > 0), 0.0] for i in range(joints + 1)]
    skeleton = Skeleton.build(names, range(-1, joints), kinds, offsets=offsets)
    start, goal = Pose(skeleton, skeleton.rest_q), Position("tip", (0, 0, 0), root="bone_0")
    problem = Problem(start, (goal,))
    targets = TargetSet("reachable", "evenly in a shell", _shell(joints), follows=False, start=start.q)
    return Task("", start, goal, problem.tolerance(_TOLERANCE * joints, None), {targets.name: targets})


def _shell(joints: int) -> Floats:
    """Sample targets (k, 3) in a shell around the base. Its radii are two shares of the reach."""
    rng = np.random.default_rng(joints)
    way = rng.normal(size=(_TARGETS, 3))
    away = joints * np.cbrt(rng.uniform(_NEAR**3, _FAR**3, (_TARGETS, 1)))
    return away * way / np.linalg.norm(way, axis=1, keepdims=True)
