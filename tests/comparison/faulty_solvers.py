"""Solvers that behave badly, and one that takes its time: what a comparison has to see through."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from poise.solvers import make_solver
from poise.solvers.base.interface import Answer, Capabilities, Trace


def unmoved(problem, targets):
    return np.repeat(problem.start.q[None], len(targets), axis=0)


def answer(q, met, iterations=1):
    counts = np.full(len(q), iterations)
    return Answer(q, np.full(len(q), met), counts, counts)


@dataclass(frozen=True)
class Liar:
    """Does nothing and says that it met every target."""

    name = "liar"
    handles = Capabilities()

    def run(self, problem, targets, tolerance, request):
        found = answer(unmoved(problem, targets), met=True)
        if not request.trace:
            return found
        q = np.repeat(problem.start.q[None], 3, axis=0)
        return found._replace(trace=Trace(np.array([1.0, 1e-3, 1e-9]), q))  # errors that it made up


@dataclass(frozen=True)
class Outlaw:
    """Finds the pose and leaves the limits on the way out."""

    by: float = 0.01
    name = "outlaw"
    handles = Capabilities()

    def run(self, problem, targets, tolerance, request):
        found = make_solver("levenberg_marquardt").run(problem, targets, tolerance, request)
        q = found.q.copy()
        q[:, 0] = problem.skeleton.value_ranges[0, 1] + self.by
        return answer(q, met=True)


@dataclass(frozen=True)
class Lost:
    """Answers with no numbers."""

    name = "lost"
    handles = Capabilities()

    def run(self, problem, targets, tolerance, request):
        return answer(np.full_like(unmoved(problem, targets), np.nan), met=False)


@dataclass(frozen=True)
class Sleeper:
    """Waits, then does nothing."""

    seconds: float = 0.02
    name = "sleeper"
    handles = Capabilities()

    def run(self, problem, targets, tolerance, request):
        time.sleep(self.seconds * (len(targets) > 0))
        return answer(unmoved(problem, targets), met=False)


@dataclass(frozen=True)
class Homebody:
    """Solves, and is sure of it only where it starts from rest."""

    name = "homebody"
    handles = Capabilities()

    def run(self, problem, targets, tolerance, request):
        found = make_solver("levenberg_marquardt").run(problem, targets, tolerance, request)
        at_rest = bool((problem.start.q == problem.skeleton.legal(problem.skeleton.rest_q)[0]).all())
        return found._replace(met=np.full(len(targets), at_rest))


@dataclass(frozen=True)
class Murky:
    """Solves, and nobody can read its trace."""

    name = "murky"
    handles = Capabilities()

    def run(self, problem, targets, tolerance, request):
        found = make_solver("levenberg_marquardt").run(problem, targets, tolerance, request)
        trace = Trace(np.full(2, np.nan), np.full((2, problem.skeleton.nq), np.nan)) if request.trace else None
        return found._replace(trace=trace)
