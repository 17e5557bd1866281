"""FABRIK: the joints as points, dragged from the tip to the target and from the base back, again and again.

Aristidou and Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem", Graphical Models 73(5),
2011. Where sweeps creep (near full extension, among hinges whose axes differ) a Gauss-Newton finish takes over.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from poise import kernels
from poise.arrays import Floats, real
from poise.errors import InputError
from poise.handles import Handles
from poise.options import count
from poise.problem import Problem, Tolerance
from poise.request import Request
from poise.result import Answer, Trace


@dataclass(frozen=True, kw_only=True)
class FABRIK:
    """Forward and backward reaching."""

    iterations: int = 100
    bend: float = math.radians(2)
    finish: bool = True
    restarts: int = 8

    def __post_init__(self) -> None:
        object.__setattr__(self, "iterations", count("iterations", self.iterations))

    @property
    def name(self) -> str:
        return "fabrik"

    @property
    def handles(self) -> Handles:
        return Handles(goals=("Position",), several=False, coupled=False, prefer=("first",))

    def run(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        chain = problem.require_chain(self.name)
        k, m = len(targets), len(chain.links)
        x, errors, counts = np.zeros((k, m, 4)), np.zeros(k), np.zeros((k, 2), dtype=np.int64)
        rows = self.iterations + 1 if request.trace else 0
        trace_x, trace_error = np.zeros((rows, m, 4)), np.zeros(rows)
        allowed = tolerance.distance / float(chain.unit.max())
        options = np.array([allowed, self.iterations, self.bend, self.finish])
        kernels.fabrik.solve(
            chain.kinds, chain.axes, chain.ranges, chain.frames, chain.tips, chain.starts,
            np.ascontiguousarray(chain.to_kernel(targets)), options, x, errors, counts, trace_x, trace_error,
        )  # fmt: skip
        history = None
        if request.trace:
            done = int(counts[0, 0]) + 1
            history = Trace(trace_error[:done] * float(chain.unit[0]), chain.q_of(trace_x[:done], np.arange(done) > 0))
        q = chain.q_of(x, counts[:, 1] > 0)
        return Answer(q, errors <= allowed, counts[:, 0], counts[:, 1], history)


Solver = FABRIK
