"""Solvers that somebody else made: derived from one of Poise's, or inside one that goes round another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

import poise
from poise import LevenbergMarquardt, Position
from poise.io import samples

ARM = poise.load(samples.path("arm.urdf")).rest
GOAL = Position("tool", [0.3, 0.2, 0.5])
COLUMNS = ("q", "met", "iterations", "joint_updates")


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


@dataclass(frozen=True)
class Wrong(poise.CCD):
    """Answers from the call `good` on with something that is no answer."""

    wrong: Callable = field(default=lambda answer: answer)
    good: int = 0
    calls: list = field(default_factory=list, compare=False)

    def run(self, problem, targets, tolerance, request):
        """As its parent's, then made wrong."""
        answer = super().run(problem, targets, tolerance, request)
        if len(targets):
            self.calls.append(len(targets))
        return self.wrong(answer) if len(self.calls) > self.good else answer


WRONGS = {
    "too few numbers": lambda answer: answer._replace(q=answer.q[:, 1:]),
    "too few rows": lambda answer: answer._replace(q=answer.q[:0]),
    "NaN": lambda answer: answer._replace(q=answer.q * np.nan),
    "counts of another shape": lambda answer: answer._replace(iterations=np.zeros((len(answer.q), 2))),
    "NaN among what is met": lambda answer: answer._replace(met=np.full(len(answer.q), np.nan)),
}


@pytest.mark.parametrize("wrong", WRONGS)
@pytest.mark.parametrize("good", [0, 1])
def test_a_wrong_answer_is_reported_alike_from_inside_another(wrong, good):
    """In the first call, and where the solver is started again."""
    far = [GOAL.with_target([0.6, 0.2, 0.5])] if good else [GOAL]
    with pytest.raises(poise.InputError) as alone:
        poise.solve(ARM, far, solver=Wrong(iterations=1, restarts=0, wrong=WRONGS[wrong]))
    with pytest.raises(poise.InputError) as inside:
        poise.solve(
            ARM, far, solver=poise.Anneal(solver=Wrong(iterations=1, restarts=0, wrong=WRONGS[wrong], good=good))
        )
    assert str(inside.value) == str(alone.value)


def test_lists_are_an_answer_inside_another_too():
    lists = Wrong(wrong=lambda answer: answer._replace(**{name: getattr(answer, name).tolist() for name in COLUMNS}))
    found = poise.solve(ARM, GOAL, solver=poise.Anneal(solver=lists))
    np.testing.assert_array_equal(found.q, poise.solve(ARM, GOAL, solver=poise.Anneal(solver=poise.CCD())).q)


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
