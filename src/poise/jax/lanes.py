"""Batches of targets in blocks of lanes.

Blocks have equal size and the last one is filled up, so one compiled program serves all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from poise.jax.descent import LANES, State, program
from poise.jax.tree import Lane, Packed
from poise.maths.arrays import Bools, Floats, Ints
from poise.problem.layout import POSITION
from poise.problem.plan import Plan
from poise.timing.clock import note_pause


def _note_compiling(event: str, duration_secs: float, **_more: Any) -> None:
    """Exclude JAX compilation from the time of a call."""
    if event.startswith("/jax/core/compile/"):
        note_pause(duration_secs)


jax.monitoring.register_event_duration_secs_listener(_note_compiling)


@dataclass(frozen=True, eq=False)
class LaneResult:
    """Result of a batch: u, squared error, met and iterations. u is (k, nu), the others (k,)."""

    u: Floats
    errors: Floats
    met: Bools
    iterations: Ints

    def better(self, rows: Ints, other: LaneResult) -> LaneResult:
        """Merge a second attempt for some rows. Met or smaller errors win; iterations add up."""
        u, errors, met, iterations = self.u.copy(), self.errors.copy(), self.met.copy(), self.iterations.copy()
        iterations[rows] += other.iterations
        wins = other.met | (other.errors < errors[rows])
        chosen = rows[wins]
        u[chosen], errors[chosen], met[chosen] = other.u[wins], other.errors[wins], other.met[wins]
        return LaneResult(u, errors, met, iterations)


class LaneProgram:
    """Batch of targets with its compiled method.

    history  with trace: squared errors (rows,) and u (rows, nu) of every attempt for the single target
    """

    def __init__(self, plan: Plan, aims: Floats, targets: Floats, method: str, damping: float, trace: bool) -> None:
        self.plan, self.aims, self.targets = plan, aims, targets
        self.count, self.damping, self.trace = len(targets), damping, trace
        self.history: list[tuple[Floats, Floats]] = []
        self.program = program(method)
        with jax.enable_x64(True):
            self.packed = Packed(plan, aims)
        self.lanes = self.packed.lanes(targets)

    def within_reach(self) -> Bools:
        """Find the targets (k,) within reach of the bone lengths."""
        near = np.ones(self.count, dtype=bool)
        for i, term in enumerate(self.plan.layout.terms):
            if term.kind == POSITION:
                shortest, longest, origin = self.plan.reaches[i]
                number, slack = self.plan.terms[i, 3], np.sqrt(self.aims[i, 8])
                distance = np.sqrt(((self.targets[:, number : number + 3] - origin) ** 2).sum(axis=-1))
                near &= (distance <= longest + slack) & (distance >= shortest - slack)
        return near

    def solve(self, rows: Ints, u: Floats, most: int, worth: float) -> LaneResult:
        """Run one attempt for some targets. It starts at u (len(rows), nu)."""
        blocks: list[LaneResult] = []
        with jax.enable_x64(True):
            for first in range(0, len(rows), LANES):
                own = np.minimum(np.arange(first, first + LANES), len(rows) - 1)  # the last target fills up the block
                state = self._block(rows[own], u[own], most, worth)
                kept = slice(min(LANES, len(rows) - first))
                found = (self.packed.u_of(state.place), state.error, state.met, state.iterations)
                blocks.append(LaneResult(*(np.asarray(part)[kept] for part in found)))
        names = ("u", "errors", "met", "iterations")
        return LaneResult(*(np.concatenate([getattr(block, name) for block in blocks]) for name in names))

    def _block(self, rows: Ints, u: Floats, most: int, worth: float) -> State:
        rig, lane = self.packed.rig, Lane(*(part[rows] for part in self.lanes))
        state = self.program.begin(rig, lane, self.packed.place(u), self.damping)
        if not self.trace:
            return self.program.advance(rig, lane, state, most, worth)
        seen = [state]
        while int(state.iterations[0]) < most and not bool(state.done[0]):
            state = self.program.advance(rig, lane, state, int(state.iterations[0]) + 1, worth)
            seen.append(state)
        errors = np.array([float(state.error[0]) for state in seen])
        self.history.append((errors, np.concatenate([self.packed.u_of(state.place)[:1] for state in seen])))
        return state
