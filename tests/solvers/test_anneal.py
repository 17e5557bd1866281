"""Annealing: restarts around any solver, judged by what is measured."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings

import poise
from poise import Position, Range, solvers
from poise.solvers.base.random_starts import DRAWS_PER_JOINT, draw_random_starts
from tests.reference.slow_limits import violation
from tests.strategies import figure, generic_arm, random_q, random_skeleton, rng_of, seeds, straight_chain

PLAIN = poise.CCD(restarts=0, iterations=30)


def zero(skeleton):
    return poise.Pose(skeleton, skeleton.rest_q)


def reachable(skeleton, count, seed=1):
    low, high = skeleton.value_ranges.T
    q = rng_of(seed).uniform(low, high, size=(count, skeleton.nq))
    return poise.Pose(skeleton, q).world["tool"].positions


@pytest.mark.parametrize("schedule", ["growing", "cooling"])
def test_it_solves_what_its_solver_leaves(schedule):
    arm = generic_arm(limit=1.5)
    goal = Position("tool", reachable(arm, 200), root="j0")
    plain = poise.solve(zero(arm), goal, solver=PLAIN, tolerance=1e-3)
    found = poise.solve(zero(arm), goal, solver=poise.Anneal(solver=PLAIN, schedule=schedule), tolerance=1e-3)
    assert plain.reached.mean() < 0.98
    assert found.reached.mean() > plain.reached.mean() + 0.5 * (1 - plain.reached.mean())
    assert (found.reached | ~plain.reached).all()
    assert (found.errors <= plain.errors).all()
    assert found.violation <= 1e-9


@pytest.mark.parametrize("name", [name for name in solvers.names() if name != "anneal"])
def test_every_solver_can_be_started_again(name):
    """Each takes a batch of starts, and what it reaches alone is left bit for bit."""
    chain = straight_chain(2 if name == "two_bone" else 3)
    goal = Position("tip", rng_of(2).uniform(-1.7, 1.7, size=(9, 3)))
    inner = solvers.make_solver(name)
    alone = poise.solve(zero(chain), goal, solver=inner)
    found = poise.solve(zero(chain), goal, solver=poise.Anneal(solver=name, restarts=3))
    np.testing.assert_array_equal(found.q[alone.reached], alone.q[alone.reached])
    assert (found.errors <= alone.errors).all()
    assert (found.iterations >= alone.iterations).all()


def test_it_stops_when_all_is_met_and_tries_nothing_that_lengths_forbid():
    chain = straight_chain(4)
    for target in ([1, 2, 1], [0, 9, 0]):
        alone = poise.solve(zero(chain), Position("tip", target), solver="ccd")
        found = poise.solve(zero(chain), Position("tip", target), solver="anneal")
        np.testing.assert_array_equal(found.q, alone.q)
        assert found.iterations == alone.iterations


class Counting:
    """A solver that counts how many targets it is given each time."""

    name, handles = "counting", PLAIN.handles

    def __init__(self):
        self.counts = []

    def run(self, problem, targets, tolerance, request):
        self.counts.append(len(targets))
        return PLAIN.run(problem, targets, tolerance, request)


def test_only_what_was_missed_is_tried_again():
    arm, inner = generic_arm(limit=1.5), Counting()
    goal = Position("tool", reachable(arm, 100), root="j0")
    plain = poise.solve(zero(arm), goal, solver=PLAIN, tolerance=1e-3)
    found = poise.solve(zero(arm), goal, solver=poise.Anneal(solver=inner, restarts=200), tolerance=1e-3)
    counts = [count for count in inner.counts if count]
    assert counts[:2] == [100, 100 - plain.reached.sum()]
    assert counts == sorted(counts, reverse=True)
    assert found.reached.all()
    assert len(counts) < 201


def test_the_best_is_kept():
    arm = generic_arm(limit=0.5)
    goal = Position("tool", rng_of(5).uniform(-0.5, 0.5, size=(100, 3)), root="j0")
    plain = poise.solve(zero(arm), goal, solver=PLAIN)
    found = poise.solve(zero(arm), goal, solver=poise.Anneal(solver=PLAIN, restarts=1))
    assert (~found.reached).sum() > 20
    assert (found.errors <= plain.errors).all()


def test_iterations_and_trace_are_of_all_attempts():
    arm = generic_arm(limit=0.3)
    goal = Position("tool", [0, 0, -0.1], root="j0")  # the limits keep it away
    once = poise.solve(zero(arm), goal, solver=PLAIN)
    found = poise.solve(zero(arm), goal, solver=poise.Anneal(solver=PLAIN, restarts=5), trace=True)
    assert not found.reached
    assert found.iterations > once.iterations
    assert len(found.trace.errors) == found.iterations + 6  # a start each
    assert found.trace.errors.min() == pytest.approx(found.errors[0], rel=1e-9)


def test_several_goals_around_the_engine():
    skeleton = figure()
    goals = [Position("l_foot", [0.3, 0.4, 0.3]), Position("r_foot", [-0.2, 0.3, 0.2])]
    solver = poise.Anneal(solver=poise.LevenbergMarquardt(restarts=0, iterations=3), restarts=20)
    assert poise.solve(zero(skeleton), goals, solver=solver).reached


def test_it_handles_what_its_solver_handles():
    chain = straight_chain(3)
    goal = poise.Orientation("tip", [1, 0, 0, 0])
    with pytest.raises(poise.UnsupportedError, match="anneal"):
        poise.solve(zero(chain), [goal, goal], solver=poise.Anneal(solver=PLAIN))
    with pytest.raises(poise.UnsupportedError, match="anneal looks for 'first'"):
        poise.solve(zero(chain), goal, solver=poise.Anneal(solver="levenberg_marquardt"), prefer="closest")
    assert poise.Anneal(solver="levenberg_marquardt").handles.goals == poise.LevenbergMarquardt().handles.goals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "cdd"}, "did you mean 'ccd'"),
        ({"solver": poise.CCD}, "not the class itself"),
        ({"spread": 0}, "spread must be a share"),
        ({"spread": np.nan}, "spread"),
        ({"restarts": -1}, "restarts must be a whole number"),
        ({"schedule": "warming"}, "'growing' or 'cooling'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(poise.PoiseError, match=message):
        poise.Anneal(**options)


class TestScattered:
    @given(seed=seeds)
    @settings(max_examples=40)
    def test_legal_within_the_share_and_only_these_joints(self, seed):
        rng = rng_of(seed)
        s = random_skeleton(rng, 6, couple=False)
        limits = {}
        for name in s.names:
            low, high = np.sort(rng.uniform(-3, 3, size=2))
            if s[name].kind:
                limits[name] = Range(low, high, axis=(0, 0, 1) if s[name].kind >= 3 else None)
        s = s.with_limits({name: limit for name, limit in limits.items() if rng.random() < 0.5})
        q = s.legal(random_q(rng, s, 5))[0]
        rows, share = tuple(i for i in range(1, 6) if s.kinds[i]), float(rng.uniform(0.01, 1))
        away = draw_random_starts(
            s, q, rows, share, rng.random((len(rows), DRAWS_PER_JOINT)), unbounded_length=2.0, translating_rows=rows
        )
        assert violation(s, away) <= 1e-9
        first = s.q_slice("j0")
        np.testing.assert_array_equal(away[:, first], q[:, first])
        for name in s.names[1:]:
            joint, part = s[name], s.q_slice(name)
            if joint.kind in (1, 2):
                limit = joint.limit
                span = limit.high - limit.low if limit else np.pi if joint.kind == 1 else 2.0
                assert (np.abs(away[:, part] - q[:, part]) <= share * span + 1e-12).all()
            elif joint.kind == 3 and not joint.limit:
                cosine = np.abs((away[:, part] * q[:, part]).sum(axis=-1))
                assert (2 * np.arccos(np.minimum(cosine, 1)) <= share * np.pi + 1e-6).all()

    def test_a_full_share_reaches_the_whole_range(self):
        s = generic_arm()
        ends = [
            draw_random_starts(
                s,
                s.rest_q[None],
                (2,),
                1.0,
                np.full((1, DRAWS_PER_JOINT), d),
                unbounded_length=1.0,
            )
            for d in (0, 1)
        ]
        assert [end[0, 2] for end in ends] == [-2.8, 2.8]

    def test_values_are_drawn_evenly_from_what_the_range_allows(self):
        s = generic_arm()
        q = s.rest_q[None].copy()
        q[0, 2] = 2.0
        half = draw_random_starts(s, q, (2,), 0.5, np.full((1, DRAWS_PER_JOINT), 0.5), unbounded_length=1.0)
        assert half[0, 2] == pytest.approx((2.0 - 2.8 + 2.8) / 2)


def test_options_are_a_frozen_value():
    assert poise.Anneal() == poise.Anneal(solver="ccd") == poise.Anneal(solver=poise.CCD())
    assert hash(poise.Anneal()) == hash(dataclasses.replace(poise.Anneal()))
