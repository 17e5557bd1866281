"""Solvers that somebody else made: derived from one of Poise's, or inside one that goes round another."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

import poise
from poise import LevenbergMarquardt, Position
from poise.io import samples

ARM = poise.load(samples.path("arm.urdf")).rest
GOAL = Position("tool", [0.3, 0.2, 0.5])


@dataclass(frozen=True)
class Counting(LevenbergMarquardt):
    """Counts its calls, in a list that does not take part in comparisons."""

    calls: list = field(default_factory=list, compare=False)

    def run(self, problem, targets, tolerance, request):
        """As its parent's."""
        self.calls.append(len(targets))
        return super().run(problem, targets, tolerance, request)


def test_a_single_target_calls_what_was_derived():
    solver = Counting()
    assert poise.solve(ARM, GOAL, solver=solver).reached
    assert solver.calls == [1]
    many = poise.solve(ARM, GOAL.with_target(np.array([GOAL.target])), solver=solver)
    assert many.reached.all()
    assert solver.calls == [1, 1]


def test_a_solver_inside_another_stands_for_itself_only():
    first, second = Counting(), Counting()
    for inner in (first, second):
        poise.solve(ARM, GOAL, solver=poise.Anneal(solver=inner))
    assert first.calls
    assert second.calls


@pytest.mark.parametrize("weight", [1.0, 3.0])
@pytest.mark.parametrize("name", ["levenberg_marquardt", "ccd", "damped_least_squares"])
def test_a_trace_of_a_lone_position_tells_distances_whatever_its_weight(name, weight):
    goal = Position("tool", GOAL.target, weight=weight)
    found = poise.solve(ARM, goal, solver=name, trace=True)
    far = np.linalg.norm(ARM.world["tool"].positions - goal.target)
    np.testing.assert_allclose(found.trace.errors[0], far, rtol=1e-9)
    plain = poise.solve(ARM, GOAL, solver=name, trace=True)
    np.testing.assert_allclose(found.trace.errors, plain.trace.errors, atol=1e-9)


def test_solutions_of_a_direction_are_families():
    """A direction takes two of three degrees of freedom: poses along the third are one answer, not hundreds."""
    s = poise.Skeleton.build(
        "abct", range(-1, 3), [poise.Kind.HINGE] * 3 + [poise.Kind.FIXED], offsets=[(0, 0, 0), *[(0.3, 0, 0)] * 3],
        axes=[(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 0, 0)],
    )  # fmt: skip
    goal = poise.Direction("t", [0.6, 0.0, 0.8], axis=(0, 0.6, 0.8))
    few = poise.solve(poise.Pose(s, s.rest_q), goal, prefer="all").solutions
    assert 1 <= few.shape[0] <= 60
