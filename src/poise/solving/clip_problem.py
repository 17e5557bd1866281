"""The problem of a clip, with its motion."""

from __future__ import annotations

from typing import NamedTuple

from poise import solvers
from poise.maths.arrays import Floats
from poise.problem.problem import Problem, Tolerance


class ClipProblem(NamedTuple):
    """Problem of a clip. Its frames are in the order of a sweep.

    problem                 has a start for each frame
    targets                 (k, W)
    tolerance, solver       of the first solve; the solver without restarts
    times                   (k,) [s]
    clip_motion             (k - 1, m) rotation of each joint between two frames of the clip
    allowed_error_increase  (c,) allowed increase of the errors of a missed target
    is_natural              whether the first solve used natural poses
    """

    problem: Problem
    targets: Floats
    tolerance: Tolerance
    solver: solvers.Solver
    times: Floats
    clip_motion: Floats
    allowed_error_increase: Floats
    is_natural: bool
