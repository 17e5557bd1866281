"""How far joints move, and how smoothly."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Kind, Range, Skeleton
from poise.comparison.metrics import compute_displacements, compute_smoothness, compute_travel
from poise.comparison.task import Task
from poise.maths import rotations
from poise.problem.problem import Problem


def task_of(kinds, limits=None, length=2.0):
    names = [*(f"j{i}" for i in range(len(kinds))), "tip"]
    axes = [(0.0, 0.0, 1.0)] * len(names)
    offsets = [[0.0, 0.0, 0.0], *([[0.0, length, 0.0]] * len(kinds))]
    skeleton = Skeleton.build(names, range(-1, len(kinds)), [*kinds, Kind.FIXED], offsets=offsets, axes=axes)
    skeleton = skeleton.with_limits(limits or {})
    start = poise.Pose(skeleton, skeleton.rest_q)
    goal = poise.Position("tip", (0, 0, 0), root="j0")
    problem = Problem(start, (goal,))
    return Task("", start, goal, problem.complete_tolerance(None, None), {})


def test_a_ball_moves_by_the_angle_of_its_turn():
    task = task_of([Kind.BALL])
    turn = rotations.about(np.array([0.6, 0.0, 0.8]), np.array([0.3]))
    start = rotations.about(np.array([1.0, 0.0, 0.0]), np.array([1.0]))
    steps = compute_displacements(task, start, rotations.multiply(turn, start))
    np.testing.assert_allclose(steps[0, 0], [0.18, 0.0, 0.24], atol=1e-12)
    assert compute_travel(task, rotations.multiply(turn, start), start[0])[0] == pytest.approx(0.3)
    np.testing.assert_allclose(compute_displacements(task, start, -start), 0.0, atol=1e-9)  # the same turn


def test_a_free_hinge_goes_the_short_way_and_a_limited_one_cannot():
    a, b = np.array([[3.0]]), np.array([[-3.0]])
    free, bound = task_of([Kind.HINGE]), task_of([Kind.HINGE], {"j0": Range(-3.1, 3.1)})
    assert compute_displacements(free, a, b)[0, 0, 0] == pytest.approx(2 * np.pi - 6)
    assert compute_displacements(bound, a, b)[0, 0, 0] == pytest.approx(-6)


def test_a_slide_counts_by_the_length_of_the_chain():
    task = task_of([Kind.HINGE, Kind.SLIDE], {"j1": Range(-1.0, 1.0)})
    step = compute_displacements(task, np.array([[0.0, 0.0]]), np.array([[0.0, 0.5]]))[0, 1, 0]
    assert step == pytest.approx(0.5 / task.problem.plan.max_reach)


def test_even_motion_has_no_acceleration_and_a_jump_shows():
    task = task_of([Kind.HINGE])
    even = compute_smoothness(task, 0.1 * np.arange(6.0)[:, None])
    assert even == pytest.approx((0.1, 0.0, 0.0), abs=1e-12)
    jump = compute_smoothness(task, np.array([[0.0], [0.0], [1.0], [1.0], [1.0]]))
    assert jump == pytest.approx((1.0, 1.0, 2.0))


def test_too_few_frames_and_lost_answers_are_no_number():
    task = task_of([Kind.HINGE])
    assert np.isnan(compute_smoothness(task, np.zeros((1, 1)))).all()
    assert np.isnan(compute_smoothness(task, np.array([[0.0], [np.nan], [0.0], [0.0]])).step)


def test_a_coupled_joint_moves_by_its_own_turn():
    leader = Skeleton.build(
        ["a", "b", "tip"], [-1, 0, 1], [Kind.HINGE, Kind.HINGE, Kind.FIXED], axes=[(0, 0, 1)] * 3,
        offsets=[[0, 0, 0], [0, 1, 0], [0, 1, 0]], couplings=[None, poise.Coupling(0, 2.0, 0.1), None],
    )  # fmt: skip
    start, goal = poise.Pose(leader, leader.rest_q), poise.Position("tip", (0, 0, 0), root="a")
    problem = Problem(start, (goal,))
    task = Task("", start, goal, problem.complete_tolerance(None, None), {})
    assert compute_displacements(task, np.array([[0.0]]), np.array([[1.0]]))[0, :, 0] == pytest.approx([1.0, 2.0])


def test_a_hinge_with_one_end_cannot_go_the_short_way():
    task = task_of([Kind.HINGE], {"j0": Range(0.0, np.inf)})
    assert compute_displacements(task, np.array([[0.1]]), np.array([[6.2]]))[0, 0, 0] == pytest.approx(6.1)
