"""A robot arm: placements, all solutions, limits of one's own, and a comparison of methods."""

from __future__ import annotations

import numpy as np

import poise
from poise import extend, samples

arm = poise.load(samples.path("arm.urdf"))
place = poise.Pose(arm.skeleton, np.full(arm.skeleton.nq, 0.3)).world["tool"].matrices
goal = poise.Place.from_matrix("tool", place)

every = poise.solve(arm.rest, goal, prefer="all")
print(len(every.solutions), every.solutions.q[0], hasattr(poise.solve(arm.rest, goal), "solutions"))
for joint in map(arm.skeleton.__getitem__, arm.skeleton.names):
    limit = joint.limit
    if isinstance(limit, poise.Range):
        print(joint.name, joint.kind.name, np.degrees([limit.low, limit.high]))

narrow = arm.skeleton.with_limits({arm.skeleton.names[1]: poise.Range.degrees(-10, 10)})
held = poise.solve(poise.Pose(narrow, narrow.rest_q), goal, solver=poise.DampedLeastSquares(iterations=50))
print(held.status, held.violation, [str(loop) for loop in held.open_loops()])


class Fixed:
    """A solver of one's own: it returns the start."""

    name = "fixed"
    handles = extend.Capabilities()

    def run(
        self, problem: extend.Problem, targets: extend.Floats, tolerance: extend.Tolerance, request: extend.Request
    ) -> extend.Answer:
        """Return the start for every target."""
        none = np.zeros(len(targets), dtype=np.int64)
        return extend.Answer(problem.start_rows.repeat(len(targets), axis=0), none > 0, none, none)


own: poise.solvers.Solver = Fixed()
print(poise.solve(arm.rest, goal, solver=own).reached, poise.solvers.names())
