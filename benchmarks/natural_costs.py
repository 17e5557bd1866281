"""Proof 7 of natural_proofs.py: what natural poses cost, beside another checkout in runs that alternate."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np
import pose_tasks
from pose_judge import Measured

import poise

BATCH, CALLS, ROUNDS = 256, 15, 3
TIMED = (
    "hand to the floor ahead",
    "reach high and ahead",
    "squat by 0.25 of the leg",
    "sit on a chair, hands on knees",
)
BOUNDS = {
    "whole figure": 1.5,
    "whole figure, in a batch": 1.5,
    "prepared hand": 1.3,
    "natural=False, prepared hand": 1.1,
}


def judge_costs(folder: Path, options: argparse.Namespace) -> Iterator[Measured]:
    """The microseconds that a pose takes: the least of some calls, of a batch by its size."""
    for file in pose_tasks.list_files(options):
        figure = pose_tasks.load_figure(folder, file)
        for task in (task for task in pose_tasks.TASKS if task.name in TIMED):
            call = make_call(figure, task)
            yield make_cost("whole figure", file, task.name, time_call(call))
            shifts = np.random.default_rng(7).uniform(-0.03, 0.03, (BATCH, 3)) * figure.body.leg
            batch = make_call(figure, task, shifts)
            yield make_cost("whole figure, in a batch", file, task.name, time_call(batch) / BATCH)
        hand, at = figure.body.joints["leftHand"], figure.body.at("leftUpperArm")
        place = at + figure.sizes["arm"] * (0.6 * figure.body.forward - 0.3 * figure.body.up)
        for name, natural in (("prepared hand", None), ("natural=False, prepared hand", False)):
            ready = poise.prepare(figure.body.rest, poise.Position(hand, place), natural=natural)
            yield make_cost(name, file, "ahead", time_call(partial(ready, place)))


def make_call(figure: pose_tasks.Figure, task: pose_tasks.Task, shifts: Any = 0.0) -> Callable[[], Any]:
    """A solve of a task, whose places may be shifted in a batch."""
    goals: list[Any] = [poise.Pin(figure.body.joints[role]) for role in pose_tasks.find_pinned(figure, task)]
    goals += [
        poise.Position(figure.body.joints[target.role], pose_tasks.find_place(figure, target) + shifts)
        for target in task.targets
    ]
    return lambda: poise.solve(figure.body.rest, goals, free_root=True)


def time_call(call: Callable[[], Any]) -> float:
    """The least microseconds of some calls."""
    call()
    return 1e6 * min(harness.timed(call)[1] for _ in range(CALLS))


def make_cost(name: str, file: str, case: str, microseconds: float) -> Measured:
    """A time, which has no bound by itself."""
    return Measured("7", f"{name} [us]", float("inf"), False, file, case, microseconds)


def compare_costs(own: Sequence[Measured], other: Sequence[Measured]) -> Iterator[Measured]:
    """How many times as long each case takes as by the other checkout, by the least of all runs."""
    for name, bound in BOUNDS.items():
        least, theirs = (find_least(measured, f"{name} [us]") for measured in (own, other))
        for key in least.keys() & theirs.keys():
            ratio = least[key] / theirs[key]
            yield Measured("7", f"{name}, times the other's", bound, True, *key, ratio, f"{least[key]:.0f} us")


def find_least(measured: Sequence[Measured], name: str) -> dict[tuple[str, str], float]:
    """The least value of each case of a measure."""
    found: dict[tuple[str, str], float] = {}
    for each in measured:
        if each.measure == name:
            key = (each.figure, each.case)
            found[key] = min(each.value, found.get(key, float("inf")))
    return found
