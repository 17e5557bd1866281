"""Cyclic coordinate descent: joint by joint, turn so that the tip comes as near to the target as that joint can.

Wang and Chen, "A combined optimization method for solving the inverse kinematics problem of mechanical
manipulators", IEEE Trans. Robotics and Automation 7(4), 1991; the hinge step in closed form is their
equation for one joint. Every step lowers the distance or leaves it, also at a limit (`hinge="exact"`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from poise import kernels
from poise.arrays import Floats, real
from poise.errors import InputError
from poise.handles import Handles
from poise.options import count, one_of
from poise.problem import Problem, Tolerance
from poise.request import Request
from poise.result import Answer, Trace


@dataclass(frozen=True, kw_only=True)
class CCD:
    """Cyclic coordinate descent for a Position goal on ball joints, hinges, slides and their ranges.

    iterations  most sweeps over the chain; up to 1,000,000, as are restarts
    order       "base-first" unrolls the whole chain and needs few sweeps; a sweep that gains less than a
                fifth is followed by one from the tip, and that one's change is continued while it pays (a
                pattern move: it leaps along the valleys in which coordinate methods creep). "tip-first" is
                the classic order: it curls the tip and does neither
    bend        [rad] a chain that is straight within this angle, with its goal unmet, is bent by it first,
                always to the same side: a straight chain cannot come nearer to a target on its own line.
                0 switches it off
    hinge       "exact" is the closed-form minimiser of the distance over the hinge angle, inside its range.
                "project" is the classic formulation: turn freely, turn back so that the hinge axis returns,
                read the angle, clamp
    max_turn    [rad] most that a joint turns in one step (damping); inf is no cap. Below pi no change is continued
    restarts    how often to start again from elsewhere inside the limits when the sweeps stall short of a
                target that the lengths allow; first near the start pose, then farther away. Sweeps of
                restarts count as iterations. A coordinate method can stall at a limit that it would have
                to leave first; without a restart that would look as if the limits kept the target away.
                None: 8 base first, none in the classic order, which never restarts

    `CCD(order="tip-first", bend=0)` is the classic form.
    """

    iterations: int = 100
    order: Literal["base-first", "tip-first"] = "base-first"
    bend: float = math.radians(2)
    hinge: Literal["exact", "project"] = "exact"
    max_turn: float = math.inf
    restarts: int | None = None

    def __post_init__(self) -> None:
        one_of("order", self.order, ("base-first", "tip-first"))
        one_of("hinge", self.hinge, ("exact", "project"))
        numbers: dict[str, Any] = {
            "iterations": count("iterations", self.iterations),
            "restarts": None if self.restarts is None else count("restarts", self.restarts),
            "bend": real(self.bend, "bend"),
            "max_turn": real(self.max_turn, "max_turn"),
        }
        if not 0 <= numbers["bend"] < math.pi / 2:
            raise InputError(f"bend must be an angle from 0 up to a quarter turn (pi/2 rad), not {self.bend!r}")
        if not numbers["max_turn"] > 0:
            raise InputError(f"max_turn must be an angle above 0, not {self.max_turn!r}")
        for option, number in numbers.items():
            object.__setattr__(self, option, number)  # numbers of NumPy too become plain ones

    @property
    def name(self) -> str:
        """The solver's name."""
        return "ccd"

    def _options(self, tolerance: float) -> Floats:
        """The options as the kernel takes them."""
        base_first = self.order == "base-first"
        restarts = (8 if base_first else 0) if self.restarts is None else self.restarts
        project = self.hinge == "project"
        return np.array([tolerance, self.iterations, base_first, project, self.bend, self.max_turn, restarts])

    @property
    def handles(self) -> Handles:
        """One position; coupled joints only where one of them is on the way."""
        return Handles(limits=("Range",), goals=("Position",), several=False, coupled=False, prefer=("first",))

    def run(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Solve for the targets (k, 3) of a chain: a single Position goal."""
        chain = problem.require_chain(self.name)
        k, m = len(targets), len(chain.links)
        x, errors, counts = np.zeros((k, m, 4)), np.zeros(k), np.zeros((k, 2), dtype=np.int64)
        rows = self.iterations + 1 if request.trace else 0
        trace_x, trace_error = np.zeros((rows, m, 4)), np.zeros(rows)
        allowed = tolerance.distance / float(chain.unit.max())
        kernels.ccd.solve(
            chain.kinds, chain.axes, chain.ranges, chain.frames, chain.tips, chain.reach, chain.starts,
            np.ascontiguousarray(chain.to_kernel(targets)), self._options(allowed), x, errors, counts, trace_x,
            trace_error,
        )  # fmt: skip
        history = None
        if request.trace:
            done = int(counts[0, 0]) + 1
            history = Trace(trace_error[:done] * float(chain.unit[0]), chain.q_of(trace_x[:done], np.arange(done) > 0))
        q = chain.q_of(x, counts[:, 1] > 0)
        return Answer(q, errors <= allowed, counts[:, 0], counts[:, 1], history)


Solver = CCD
