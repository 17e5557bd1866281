"""A solver that knows no closed loops, and so leaves them open."""

from __future__ import annotations

import poise
import poise.extend


class Blind:
    """A solver of someone else that knows no loops: the engine on the tree alone."""

    name = "blind"
    handles = poise.extend.Capabilities(loops=True)

    def run(self, problem, targets, tolerance, request):
        start = problem.start
        tree = poise.Pose(start.skeleton.with_loops(()), start.q)
        engine = poise.solvers.make_solver("levenberg_marquardt")
        return engine.run(poise.extend.Problem(tree, problem.goals, problem.free_root), targets, tolerance, request)


def solve_blindly(start, goals, **options):
    return poise.solve(start, goals, solver=Blind(), **options)
