"""A comparison that has everything a page must cope with."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

import poise
from poise import solvers
from poise.comparison.runs import QUICK
from poise.solvers.base.interface import Capabilities
from tests.comparison.faulty_solvers import Liar, Lost, answer

EFFORT = dataclasses.replace(QUICK, joints=(2, 10), rounds=3, timed=3, traced=3, seconds=0.2)
HOSTILE = '<script>alert("1")</script> & <b>'


@dataclass(frozen=True)
class Hostile:
    """Reaches the first half of the targets only, under a name that is no name."""

    name = f"{HOSTILE} with a name that is longer than any column is wide"
    handles = Capabilities()

    def run(self, problem, targets, tolerance, request):
        found = solvers.make_solver("levenberg_marquardt").run(problem, targets, tolerance, request)
        q = np.where((targets[:, :1] > 0), found.q, problem.start.q)
        return answer(q, met=False)


def compared(arm):
    """Methods that solve, one that lies, one that gives nothing, one that misses half, one that refuses."""
    given = ["levenberg_marquardt", "ccd", "jacobian_transpose", "two_bone", Liar(), Lost(), Hostile()]
    return poise.compare(arm, poise.Position("tool", (0, 0, 0)), solvers=given, effort=EFFORT, name="arm <i>.urdf")
