"""Answer out-of-reach targets of free chains in closed form.

The chain is straightened towards the target without twist.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise import solvers
from poise.maths.arrays import Bools, Floats
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.answers import merged
from poise.solvers.base.contract import Answer, Request


def stretched(
    solver: solvers.Solver, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request, far: Bools
) -> Answer:
    """Solve with straight lines for targets out of reach. `is_far` (k,) marks them among targets (k, W)."""
    line = solvers.named("fabrik")
    if far.all():
        return line.run(problem, targets, tolerance, request)
    silent, none = replace(request, progress=None), np.zeros(len(targets), dtype=np.int64)
    answer = Answer(np.empty((len(targets), problem.skeleton.nq)), far, none, none)
    for rows, method in ((far, line), (~far, solver)):
        if rows.any():
            answer = merged(answer, rows, method.run(problem.part(rows), targets[rows], tolerance, silent))
    return answer
