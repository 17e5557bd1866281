"""Everything measured in a comparison, as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from poise.comparison.findings.columns import COLUMNS, Column
from poise.comparison.findings.measured import Measured
from poise.comparison.trials.task import LEVELS, Task
from poise.errors import InputError, UnknownNameError


@dataclass(frozen=True, eq=False, repr=False)
class Findings:
    """Task, machine and metrics of the compared methods.

    task      the task of all methods
    methods   in order of rank, methods unable to do the task last
    machine   processor and software versions
    settings  effort and seed
    seconds   duration of the comparison
    """

    task: Task
    methods: tuple[Measured, ...]
    machine: dict[str, str | int]
    settings: dict[str, Any]
    seconds: float

    @property
    def compared(self) -> tuple[Measured, ...]:
        """The methods measured on the task, best first."""
        return tuple(method for method in self.methods if method.refused is None)

    @property
    def refused(self) -> tuple[Measured, ...]:
        """The methods unable to do the task, each with its reason."""
        return tuple(method for method in self.methods if method.refused is not None)

    @property
    def best(self) -> Measured:
        """The method of the first rank. InputError where no method took the task."""
        if not self.compared:
            raise InputError(f"no method takes this task: {self.methods[0].refused if self.methods else 'none given'}")
        return self.compared[0]

    def __getitem__(self, name: str) -> Measured:
        """Return a method by its name."""
        for method in self.methods:
            if method.name == name:
                return method
        raise UnknownNameError("method", name, [method.name for method in self.methods])

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns with a value for any method."""
        return tuple(c for c in COLUMNS if any(not math.isnan(c.of(method)) for method in self.compared))

    def rows(self) -> list[dict[str, Any]]:
        """Return a dictionary for each method. It holds the name, ranks, and a number or None for each column."""
        return [self._row(method) for method in self.methods]

    def _row(self, method: Measured) -> dict[str, Any]:
        row: dict[str, Any] = {"method": method.name, "family": method.family, "refused": method.refused}
        if method.refused is not None:
            return row
        row["ranks"] = None if method.ranks is None else method.ranks._asdict()
        return row | {column.key: _plain(column.of(method)) for column in COLUMNS}

    def document(self) -> dict[str, Any]:
        """Return the whole comparison as JSON data. It holds the task, the columns, the rows and the curves."""
        task = self.task
        return {
            "task": {
                "rig": task.name, "joint": task.goal.joint, "goal": type(task.goal).__name__,
                "joints": list(task.joints), "tolerance": task.tolerance.distance,
                "angle_tolerance": task.tolerance.angle, "levels": list(LEVELS),
                "sets": {one.name: {"targets": len(one), "text": one.text} for one in task.sets.values()},
            },
            "machine": self.machine,
            "settings": self.settings,
            "seconds": self.seconds,
            "columns": {c.key: {"title": c.title, "unit": c.unit, "text": c.text} for c in COLUMNS},
            "methods": [self._row(method) | _curves(method) for method in self.methods],
        }  # fmt: skip


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _curves(method: Measured) -> dict[str, Any]:
    """Collect the curves of a method for JSON."""
    found: dict[str, Any] = {"text": method.text, "options": method.options}
    found["growth"] = [
        {"joints": g.joints, "solved": g.solved, "call": _plain(g.call), "batch": _plain(g.batch)}
        for g in method.growth
    ]
    found["batches"] = [{"size": size, "us": time} for size, time in method.batch_times.items()]
    if method.convergence is not None:
        low, middle, high = method.convergence.quantiles().tolist()
        found["convergence"] = {"quarter": low, "median": middle, "three_quarters": high}
    return found
