"""Comparison data, its columns, the text table and the verdict.

Every table, page and JSON file reads its columns from here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from poise.comparison.findings.measured import NAN, Measured
from poise.comparison.trials.growth import exponent
from poise.comparison.trials.task import LEVELS
from poise.maths.arrays import Floats


@dataclass(frozen=True)
class Column:
    """One numeric column: key, heading, unit, meaning and function.

    The key is that of the JSON file; NaN stands for a missing value.
    """

    key: str
    title: str
    unit: str
    text: str
    of: Callable[[Measured], float]


def _solved_at(level: float) -> Callable[[Measured], float]:
    return lambda method: _percent(method.solved(level))


def _middle(values: Floats, share: float) -> float:
    """Compute a quantile. It is inf next to an infinite value, because those targets have no answer."""
    if not values.size:
        return NAN
    with np.errstate(invalid="ignore"):  # inf - inf
        found = float(np.quantile(values, share))
    return float("inf") if np.isnan(found) and not np.isnan(values).any() else found


def _percent(share: float) -> float:
    return 100.0 * share


_COUNT = Column(
    "targets", "targets", "", "number of targets; a slow method gets a random part of them",
    lambda m: NAN if m.main is None else float(len(m.main)),
)  # fmt: skip
_LEVELS: tuple[Column, ...] = tuple(
    Column(
        f"solved_{level:g}", f"solved {level:g}x", "%",
        f"targets within {level:g} times the tolerance, by forward kinematics", _solved_at(level),
    )
    for level in LEVELS
)  # fmt: skip
_OTHERS: tuple[Column, ...] = (
    Column("call", "a call", "us", "median time of a call for one target, from the start pose",
           lambda m: _middle(m.call_times, 0.5)),
    Column("call_p99", "p99", "us", "99th percentile of the call times for all targets", lambda m: m.call_p99),
    Column("batch", "in a batch", "us", "time of one target in the largest affordable batch, in one call on one core",
           lambda m: m.batch_time),
    Column("iterations", "iterations", "", "median; each method defines its own iteration",
           lambda m: m.iterations()),
    Column("left", "left", "distance", "median distance left", lambda m: _middle(m.left(is_position=True), 0.5)),
    Column("left_p99", "left, p99", "distance", "99th percentile of the distance left",
           lambda m: _middle(m.left(is_position=True), 0.99)),
    Column("turn", "turn left", "rad", "median angle left", lambda m: _middle(m.left(is_position=False), 0.5)),
    Column("turn_p99", "turn left, p99", "rad", "99th percentile of the angle left",
           lambda m: _middle(m.left(is_position=False), 0.99)),
    Column("violation", "limits left by", "rad", "largest limit violation of any answer",
           lambda m: m.violation),
    Column("violated", "outside limits", "%", "answers outside a limit by more than 1e-6",
           lambda m: _percent(m.violated)),
    Column("travel", "travel", "rad", "median distance of a solution from the start: root of the sum of squared angles",
           lambda m: m.travel),
    Column("path", "path", "%", "frames of the path solved, each from the previous answer",
           lambda m: _percent(m.solved(name="path"))),
    Column("step", "step", "rad", "largest rotation of a joint between two frames of the path",
           lambda m: m.smooth("path").step),
    Column("acceleration", "acceleration", "rad", "largest second difference of joint rotation along the path",
           lambda m: m.smooth("path").acceleration),
    Column("jerk", "jerk", "rad", "largest third difference of joint rotation along the path",
           lambda m: m.smooth("path").jerk),
    Column("singular", "singular", "%", "targets of nearly singular poses solved",
           lambda m: _percent(m.solved(name="singular"))),
    Column("stretched", "stretched", "%", "targets of nearly extended poses solved",
           lambda m: _percent(m.solved(name="stretched"))),
    Column("stretched_iterations", "iterations stretched", "", "median for nearly extended poses",
           lambda m: m.iterations("stretched")),
    Column("leaving_step", "step beyond reach", "rad",
           "largest rotation of a joint between two frames while the target leaves the reach and returns",
           lambda m: m.smooth("leaving").step),
    Column("growth", "growth", "", "exponent of the time over the number of joints (1: a constant cost per joint)",
           lambda m: exponent(m.growth)),
    Column("wrong_claims", "claims wrongly", "%", "targets claimed as met but missed by forward kinematics",
           lambda m: _percent(m.wrong_claims)),
)  # fmt: skip
COLUMNS = (_COUNT, *_LEVELS, *_OTHERS)
