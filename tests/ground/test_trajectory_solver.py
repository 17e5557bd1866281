"""Solver of leg problems: blocks, threads, and values that cost least."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

import poise
from poise import Terrain
from poise.ground.trajectory import settling, solver
from poise.ground.trajectory.residuals import measure_residuals
from poise.ground.trajectory.solver import solve_problem
from poise.io import samples
from tests.ground.motions import load

GROUNDS = {"flat": Terrain.flat(), "slope": Terrain.slope(10), "stairs": Terrain.stairs(0.15, 0.3)}


@cache
def problems_of(ground):
    """Return the leg problems of the sample walk on a ground: with longer bones, then nearly as they are."""
    found = []

    def note(problem, **options):
        found.append(problem)
        return solve_problem(problem, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settling, "solve_problem", note)
        poise.plant_feet(load(samples.path("humanoid.glb")).clips[0], GROUNDS[ground])
    return found


def problem_of(ground):
    return problems_of(ground)[0]


@pytest.mark.parametrize("ground", GROUNDS)
class TestSolve:
    def test_it_costs_far_less_than_no_move(self, ground):
        problem = problem_of(ground)
        before, after = (
            measure_residuals(problem, values).cost.sum()
            for values in (np.zeros(problem.free.shape), solve_problem(problem))
        )
        assert after < 0.2 * before

    def test_what_is_not_free_does_not_move(self, ground):
        problem = problem_of(ground)
        assert (solve_problem(problem)[~problem.free] == 0.0).all()

    @pytest.mark.long
    def test_threads_change_no_bit(self, ground, monkeypatch):
        monkeypatch.setattr(solver, "_BLOCK_S", 0.5)
        problem = problem_of(ground)
        assert len(problem.free) * problem.step > 1.5
        np.testing.assert_array_equal(solve_problem(problem, 1), solve_problem(problem, 2))
        np.testing.assert_array_equal(solve_problem(problem, 1), solve_problem(problem, 5))

    def test_blocks_give_nearly_what_all_frames_at_once_give(self, ground, monkeypatch):
        problem = problem_of(ground)
        whole = solve_problem(problem)
        monkeypatch.setattr(solver, "_BLOCK_S", 0.5)
        blocks = solve_problem(problem)
        assert (blocks != whole).any()
        cost, least = (measure_residuals(problem, values).cost.sum() for values in (blocks, whole))
        assert cost < 1.1 * least
        if ground == "flat":  # over edges there are several ways that cost about the same
            np.testing.assert_allclose(blocks, whole, atol=0.003)

    def test_frames_that_cost_as_before_stay(self, ground):
        problem = problem_of(ground)
        start = 0.9 * solve_problem(problem)
        costs = measure_residuals(problem, start).cost
        np.testing.assert_array_equal(solve_problem(problem, start=start, costs=costs), start)
        middle = len(costs) // 2
        costs[middle] += 1e4
        moved = np.flatnonzero((solve_problem(problem, start=start, costs=costs) != start).any(axis=1))
        assert 0 < np.abs(moved - middle).max() <= 0.25 / problem.step + 1

    def test_a_start_is_improved(self, ground):
        first, second = problems_of(ground)
        assert (second.lengths < first.lengths).all()
        start = solve_problem(first)
        values = solve_problem(second, start=start)
        before, after = (measure_residuals(second, tried).cost.sum() for tried in (start, values))
        least = measure_residuals(second, solve_problem(second)).cost.sum()
        assert after < before
        assert after < 1.02 * least
        assert np.abs(values - start).max() < 0.05

    def test_nothing_near_costs_much_less(self, ground):
        """No move of one kind by a millimetre, smoothly over a fifth of a second, makes it better by 15 %."""
        problem = problem_of(ground)
        values = solve_problem(problem)
        best = measure_residuals(problem, values).cost.sum()
        around = round(0.1 / problem.step)
        bump = 0.5 + 0.5 * np.cos(np.linspace(-np.pi, np.pi, 2 * around + 1))
        for middle in range(around, len(values) - around, 4 * around):
            for column in range(values.shape[1]):
                for size in (-0.001, 0.001):
                    tried = values.copy()
                    tried[middle - around : middle + around + 1, column] += size * bump
                    tried = np.where(problem.free, tried, values)
                    assert measure_residuals(problem, tried).cost.sum() > 0.85 * best


def test_frames_that_are_given_up_are_solved_by_the_rest():
    problem = problem_of("slope")
    free = problem.free.copy()
    free[20:30] = False
    values = solve_problem(dataclasses.replace(problem, free=free))
    assert (values[20:30] == 0.0).all()
    assert np.isfinite(values).all()


@pytest.mark.parametrize("frames", [1, 2, 3, 4])
def test_problems_of_few_frames(frames):
    problem = problem_of("stairs").take_frames(slice(10, 10 + frames))
    values = solve_problem(problem)
    assert values.shape == problem.free.shape
    assert np.isfinite(values).all()


@pytest.mark.parametrize("frames", [3, 7, 40, 41, 55, 56, 80])
def test_all_frames_belong_to_a_block(frames, monkeypatch):
    problem = problem_of("flat")
    monkeypatch.setattr(solver, "_solve_block", lambda problem, *_: np.ones(problem.free.shape))
    monkeypatch.setattr(solver, "_improve", lambda *_: None)
    monkeypatch.setattr(solver, "_BLOCK_S", 0.3)
    assert (solve_problem(problem.take_frames(slice(0, frames))) == 1.0).all()


@pytest.mark.parametrize("legs", [("left",), ("right",), ("left", "right")])
def test_unknowns_of_each_leg_are_its_own(legs, monkeypatch):
    problems = []
    solve = solver._solve_block

    def keep_problem(problem, *start):
        problems.append(problem)
        return solve(problem, *start)

    monkeypatch.setattr(solver, "_solve_block", keep_problem)
    rig = poise.load(samples.path("humanoid.bvh"))
    poise.plant_feet(rig.clips[0], poise.Terrain.slope(8), rig=rig, legs=legs)
    columns = problems[0].columns
    assert columns.max() == problems[0].free.shape[1] - 1
    assert [row[1:] for row in columns.tolist()] == [list(range(1 + 5 * leg, 6 + 5 * leg)) for leg in range(len(legs))]
