"""Closing of loops after missed goals.

Where goals and loops cannot both be met, the engine shares the misses among all of them. A loop is a limit: so the
loops alone are solved once more, from the answer on. The goals are then missed by a little more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise.maths.arrays import Bools, Floats
from poise.problem.feasibility import has_closed_loops
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base import lm_engine

_CLOSING_ITERATIONS = 60  # of a start that may be far from closed


def close_loops(problem: Problem, q: Floats, is_met: Bools, options: lm_engine.LmOptions) -> Floats:
    """Return poses q (k, nq) with closed loops. Rows with met goals stay.

    Limits are kept: what they forbid stays open. The other joints keep their values.
    """
    if not problem.plan.layout.ties or is_met.all():
        return q
    rows = np.flatnonzero(~is_met)
    rows = rows[~has_closed_loops(problem.select_rows(rows), q[rows])]
    if not len(rows):
        return q
    closing = Problem(problem.select_rows(rows).make_pose(q[rows]), ())  # no goals: loops alone
    options = replace(options, iterations=_CLOSING_ITERATIONS, restarts=0, polish_iterations=0)
    engine = lm_engine.TreeEngine(closing, Tolerance(0.0, 0.0), options)
    output = engine.solve(engine.pack_targets(np.zeros((len(rows), 0))), closing.start_u, threads=1)
    q = q.copy()
    q[rows] = closing.compute_q(output.u, output.iterations > 0)
    return q
