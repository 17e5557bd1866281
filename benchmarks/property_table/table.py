"""The table of properties: what each method is like, from what its file declares and from what was measured of it.

    comparisons on several chains, handles, sources --> Properties --> words by stated thresholds --> Markdown, rows

No word stands here for a method: words.py finds every word by a stated threshold on a number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from poise import solvers
from poise.comparison.compare import Comparison
from poise.comparison.metrics import NAN, Convergence, MethodMetrics
from poise.comparison.runs import ScalingPoint
from poise.errors import InputError
from poise.model.skeleton import Joint, Kind
from poise.solvers.base.interface import Capabilities
from property_table.sources import Size, sizes

SOLVES = 0.95  # of the targets: at least this share is "solves", and counts for the number of joints
FIRST, LAST = 1e-3, 1e-9  # of the first error: between these the digits an iteration are counted


class OnChain(NamedTuple):
    """What was measured of a method on one chain; NaN where there is no figure.

    solved, singular, stretched  shares of the targets: all, near singular poses, near stretched-out poses
    call, batch                  time of a call, of one target in the largest batch [us]; of all rounds the least: what
                                 a busy machine adds is not the method's
    violation                    largest amount by which a limit was left [rad, file units]
    leaving                      largest turn of a joint while the target leaves the reach [rad a frame]
    """

    solved: float
    singular: float
    stretched: float
    call: float
    batch: float
    violation: float
    leaving: float


class Converging(NamedTuple):
    """How the error falls: iterations to FIRST of the first error, digits an iteration from there to LAST.

    rises and stalled are shares of iterations after which the error was larger, and of targets never met.
    """

    iterations: float
    digits: float
    rises: float
    stalled: float


@dataclass(frozen=True)
class Property:
    """A method: its name, the first line of its class, what it declares, and what was measured.

    chains  by the name of the chain; those that it refused are missing
    grown   on chains of ever more joints
    """

    name: str
    text: str
    size: Size
    handles: Capabilities
    chains: dict[str, OnChain]
    converging: Converging | None
    grown: tuple[ScalingPoint, ...]

    @property
    def worst_leaving(self) -> float:
        """Over the chains [rad a frame]; NaN where any is missing."""
        return _worst([one.leaving for one in self.chains.values()])

    @property
    def least_singular(self) -> float:
        """The smallest share of targets near singular and stretched-out poses that it solved on any chain."""
        return -_worst([-share for one in self.chains.values() for share in (one.singular, one.stretched)])

    @property
    def violation(self) -> float:
        """Over the chains [rad, file units]."""
        return _worst([one.violation for one in self.chains.values()])

    @property
    def largest(self) -> int | None:
        """The most joints of which it solved SOLVES of the targets; None where it took no such chain."""
        return max((one.joint_count for one in self.grown if one.solved_share >= SOLVES), default=None)


@dataclass(frozen=True)
class Properties:
    """The table.

    methods  one for each solver
    hinged   names of the chains whose joints are hinges
    limited  names of the chains that have limits
    frames   of the way of a target out of reach and back
    tried    numbers of joints that were tried
    """

    methods: tuple[Property, ...]
    hinged: tuple[str, ...]
    limited: tuple[str, ...]
    frames: int
    tried: tuple[int, ...]


def properties(comparisons: Mapping[str, Comparison], close: Comparison | None = None) -> Properties:
    """Make the table from comparisons of all solvers, by the name of their chain.

    close   of the convergence: one whose tolerance is so small that the end of it is seen; else the first
    Growth is taken from whichever comparison has it. Raises InputError where there is no comparison.
    """
    if not comparisons:
        raise InputError("properties() needs at least one comparison")
    every = tuple(comparisons.values())
    names = [name for name in solvers.names() if any(_of(one, name) is not None for one in every)]
    made: dict[str, Any] = {name: solvers.make_solver(name) for name in names}
    lines = sizes(made.values())
    methods = tuple(
        Property(
            name,
            next(found.text for one in every if (found := _of(one, name)) is not None),
            lines[name],
            made[name].handles,
            {chain: on for chain, one in comparisons.items() if (on := _on_chain(one, name)) is not None},
            _converging([close or every[0], *every], name),
            _grown(every, name),
        )
        for name in names
    )
    return Properties(
        methods,
        tuple(chain for chain, one in comparisons.items() if any(joint.kind == Kind.HINGE for joint in _joints(one))),
        tuple(chain for chain, one in comparisons.items() if any(joint.limit is not None for joint in _joints(one))),
        max((len(one.task.sets["leaving"]) for one in every if "leaving" in one.task.sets), default=0),
        tuple(sorted({grown.joint_count for method in methods for grown in method.grown})),
    )


def _joints(comparison: Comparison) -> list[Joint]:
    """Those that move."""
    return [comparison.task.start.skeleton[name] for name in comparison.task.joints]


def _worst(values: Sequence[float]) -> float:
    """The largest; NaN where any is missing."""
    return float(np.max(values)) if values else NAN


def _of(comparison: Comparison, name: str) -> MethodMetrics | None:
    """A method of a comparison that it took or refused."""
    return next((method for method in comparison.methods if method.name == name), None)


def _on_chain(comparison: Comparison, name: str) -> OnChain | None:
    found = _of(comparison, name)
    if found is None or found.refused is not None:
        return None
    call = NAN if found.calls is None else float(np.nanmedian(np.nanmin(found.calls, axis=0)))
    batch = float(np.nanmin(found.batches[max(found.batches)])) if found.batches else NAN
    shares = (
        found.compute_solved_share(),
        found.compute_solved_share(name="singular"),
        found.compute_solved_share(name="stretched"),
    )
    return OnChain(*shares, call, batch, found.violation, found.smooth("leaving").step)


def _converging(comparisons: Sequence[Comparison], name: str) -> Converging | None:
    """From the first comparison that the method took."""
    for comparison in comparisons:
        found = _of(comparison, name)
        if found is not None and found.convergence is not None:
            return converging(found.convergence)
    return None


def converging(curves: Convergence) -> Converging:
    """Count iterations of the median curve; infinite where it does not come so far."""
    middle = curves.quantiles()[1]
    first, last = _iterations_to(middle, FIRST), _iterations_to(middle, LAST)
    steps = last - first
    digits = math.log10(FIRST / LAST) / steps if 0 < steps < math.inf else (math.inf if steps == 0 else 0.0)
    return Converging(first, digits, curves.rise_share, curves.stalled_share)


def _iterations_to(curve: Any, share: float) -> float:
    below = np.flatnonzero(curve <= share)
    return float(below[0]) if below.size else math.inf


def _grown(comparisons: Sequence[Comparison], name: str) -> tuple[ScalingPoint, ...]:
    found = (_of(one, name) for one in comparisons)
    return next((method.growth for method in found if method is not None and method.growth), ())
