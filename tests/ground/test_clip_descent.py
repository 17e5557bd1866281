"""The solve of a robot's clip: what has no task stays, what is too fast is slowed, frames at rest are left out."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from poise import Kind, Skeleton
from poise.ground.robot import clip_descent, clip_solve
from poise.ground.robot.clip_descent import NO_PAIRS, JointMotion
from poise.ground.robot.clip_solve import LinkTask, join_tasks, solve_motion
from poise.ground.robot.tree import build_tree
from poise.kernels.clip_least_squares import DIRECTION, PLACE, ROTATION

FRAMES, FPS, SPEED = 90, 30.0, 2.0
TIMES = np.arange(FRAMES) / FPS
TURNS = np.tile(np.eye(3), (FRAMES, 1, 1))


def solve(angles, tail, *, near=False, speed=np.inf, weight=30.0, times=TIMES):
    """Solve a base with an arm, which is to turn by angles, and a tail without a task, which begins with its own."""
    skeleton = Skeleton.build(
        ["base", "arm", "tail"], [-1, 0, 0], [Kind.FREE, Kind.HINGE, Kind.HINGE],
        axes=[(0, 0, 0), (0, 0, 1), (0, 0, 1)],
    )  # fmt: skip
    tree, full = build_tree(skeleton), np.ones(FRAMES)
    ahead = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
    tasks = join_tasks(
        [
            LinkTask(PLACE, 0, np.zeros(3), np.zeros((FRAMES, 3)), 30.0 * full),
            LinkTask(ROTATION, 0, np.zeros(3), TURNS.reshape(-1, 9), 30.0 * full),
            LinkTask(DIRECTION, 1, np.array([1.0, 0.0, 0.0]), ahead, weight * full),
        ]
    )
    start = JointMotion(np.zeros((FRAMES, 3)), TURNS, np.stack([0.0 * angles, tail], axis=1))
    speeds = np.full(2, speed)
    return solve_motion(tree, tasks, NO_PAIRS, start, times, speeds, 1.0, near=start if near else None)


def test_joints_without_a_task_stay_as_they_begin():
    tail = 0.3 * np.sin(TIMES)
    motion, _ = solve(np.full(FRAMES, 0.5), tail, near=True)
    assert np.array_equal(motion.values[:, 1], tail)
    assert np.abs(motion.values[:, 0] - 0.5).max() < 0.01


def test_joints_without_a_task_are_slowed_where_they_begin_too_fast():
    tail = np.where(TIMES < 1.5, 0.0, 0.5)
    motion, _ = solve(np.zeros(FRAMES), tail, near=True, speed=SPEED)
    assert np.abs(np.diff(motion.values, axis=0)).max() * FPS < SPEED
    assert np.abs(motion.values[[0, -1], 1] - [0.0, 0.5]).max() < 0.05


def test_frames_at_rest_are_left_out(monkeypatch):
    """A jump that is too fast takes many rounds, of which frames far from it need few."""
    counts, measure = [], clip_descent.measure_frames

    def count(*arguments):
        counts.append(len(arguments[8]))
        measure(*arguments)

    monkeypatch.setattr(clip_descent, "measure_frames", count)
    angles = np.where(TIMES < 1.5, 0.0, 2.0)
    motion, rounds = solve(angles, np.zeros(FRAMES), speed=SPEED, weight=1.0)
    assert 0.9 * SPEED < np.abs(np.diff(motion.values, axis=0)).max() * FPS < SPEED
    assert max(counts) == FRAMES
    assert sum(each == FRAMES for each in counts) < rounds


@pytest.mark.parametrize(("weight", "speed"), [(0.3, 2.0), (0.3, 4.0), (1.0, 1.0), (1.0, 2.0), (1.0, 4.0)])
def test_a_jump_is_solved_as_well_as_with_all_frames(weight, speed, monkeypatch):
    """Damped frames make small steps, but are neither at rest nor the end of the solve."""
    angles = np.where(TIMES < 1.5, 0.0, 2.0)
    found, _ = solve(angles, np.zeros(FRAMES), speed=speed, weight=weight)
    monkeypatch.setattr(clip_descent, "_find_windows", lambda moved, _is_moving: [(0, len(moved))])
    monkeypatch.setattr(clip_solve, "_MIN_GAIN", 1e-13)
    monkeypatch.setattr(clip_solve, "_MAX_ROUNDS", 400)
    lowest, _ = solve(angles, np.zeros(FRAMES), speed=speed, weight=weight)
    assert np.abs(found.values - lowest.values).max() < 0.005


def test_no_step_is_measured_twice(monkeypatch):
    """Without a frame that a step makes worse, all frames go a shorter way."""
    tried, measure = [], clip_descent.measure_frames

    def remember(*arguments):
        tried.append(np.concatenate([part.ravel() for part in arguments[8:11]]))
        measure(*arguments)

    monkeypatch.setattr(clip_descent, "measure_frames", remember)
    _, rounds = solve(np.zeros(FRAMES), np.where(TIMES < 1.5, 0.0, 0.5), near=True, speed=SPEED)
    assert len(tried) > rounds
    assert not any(np.array_equal(*pair) for pair in pairwise(tried))


def test_slides_rest_by_length_and_hinges_by_angle():
    skeleton = Skeleton.build(
        ["base", "slide", "arm"], [-1, 0, 1], [Kind.FREE, Kind.SLIDE, Kind.HINGE],
        axes=[(0, 0, 0), (1, 0, 0), (0, 0, 1)],
    )  # fmt: skip
    tree = build_tree(skeleton)
    rest = clip_descent._list_rest_steps(tree.arrays, tree.unknown_count)
    assert np.array_equal(rest, [1e-4, 1e-4, 1e-4, 2e-3, 2e-3, 2e-3, 1e-4, 2e-3])


def test_the_first_frames_are_spaced_evenly(monkeypatch):
    """At 120 frames a second every eighth counts, of which 90 frames have one more."""
    most, descend = [], clip_descent.descend

    def remember(problem, *arguments):
        most.append(problem.most[:, -1])
        return descend(problem, *arguments)

    monkeypatch.setattr(clip_solve, "descend", remember)
    solve(0.1 * TIMES, 0.1 * TIMES, speed=SPEED, times=0.25 * TIMES)
    assert len(most[0]) == 12
    assert most[0].min() > 0.8 * most[0].max()
