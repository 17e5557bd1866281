"""Pulls: solve problems with goals of partial pull.

A pull is how far the goal takes the rest of the body along. With 1 it may move all joints of its chain, the hips of a
free root included; with 0 it moves its own limb alone, the default chain of its joint. In between joints go that share
of the way between both answers.

Goals are taken by falling pull p_1 > p_2 > ... Let q_0 be the answer for the goals of pull 1, and q_k the one in which
those of pull p_k and above come in full; in each of them the limbs of the other goals reach for their targets alone.
The figure is then at q_0 + p_1 (q_1 - q_0) + p_2 (q_2 - q_1) + ..., with rotations as vectors from q_0. That is
continuous in all pulls where all goals can be met, also where two pulls change their order: the term between them
vanishes there. At last the goals of pull 1 are met from there, at first by their limbs, and the others reach as far as
their limbs do. What is missed within reach has the status held_back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.model.skeleton import Skeleton
from poise.problem.dof_layout import TARGET_SIZES
from poise.problem.goals import Balance, Goal, is_joint_goal
from poise.problem.problem import Problem, Tolerance, replace_pulls, require_all_goals
from poise.solvers.base import interface
from poise.solving.optional_goals import build_local_refinement, check_priority_request

SolveFunction = Callable[[Problem, Floats, Any, Tolerance, interface.Request], Any]  # the type of solve_and_measure


class _PulledCall(NamedTuple):
    """Problem, targets and pulls of one call.

    problem  starts from the origins
    targets  (k, W)
    pulls    of the goals; 1 where a goal moves its own limb alone anyway
    """

    problem: Problem
    targets: Floats
    pulls: tuple[float, ...]
    solver: Any
    tolerance: Tolerance
    request: interface.Request
    solve: SolveFunction


def solve_with_pulls(
    problem: Problem, targets: Floats, solver: Any, tolerance: Tolerance, request: interface.Request,
    solve: SolveFunction,
) -> interface.Answer:  # fmt: skip
    """Solve for targets (k, W) of goals with pulls.

    `solve` is the solve function for problems in which all goals pull fully. Bodies start from the problem's origin, so
    that a tracker does not give way step by step.
    """
    check_priority_request(request, "pulls below 1")
    silent = replace(request, trace=False, progress=None)
    base = problem if problem.origin is None else problem.with_start(problem.origin)
    call = _PulledCall(base, targets, _find_pulls(problem), solver, tolerance, silent, solve)
    starts = np.broadcast_to(problem.start_rows, (len(targets), problem.skeleton.nq))
    q, zeros = np.array(starts), np.zeros(len(targets), dtype=np.int64)
    is_met = require_all_goals(problem).is_met(problem.compute_errors(q, targets), tolerance)
    answer, rows = interface.Answer(q, is_met, zeros, zeros), np.flatnonzero(~is_met)
    if len(rows):
        own = call._replace(problem=base.select_rows(rows), targets=targets[rows])
        answer = interface.merge_rows(answer, rows, _solve_rows(own))
    return answer._replace(trace=interface.build_end_trace(problem, answer.q, targets)) if request.trace else answer


def _find_pulls(problem: Problem) -> tuple[float, ...]:
    """Find the pulls of goals. A goal without one that is about a pulled limb goes with it, as its Pole."""
    skeleton, goals = problem.skeleton, problem.goals
    found = [
        getattr(goal, "pull", 1.0) if is_joint_goal(goal) and _has_shared_joints(problem, goal) else 1.0
        for goal in goals
    ]
    limbs = [
        (skeleton.chain(None, goal.joint), pull)
        for goal, pull in zip(goals, found, strict=True)
        if is_joint_goal(goal) and pull < 1.0
    ]
    for i, goal in enumerate(goals):
        if is_joint_goal(goal) and not hasattr(goal, "pull"):
            name = skeleton.names[skeleton.index(goal.joint)]
            found[i] = min([pull for limb, pull in limbs if name in limb], default=1.0)
    return tuple(found)


def _has_shared_joints(problem: Problem, goal: Any) -> bool:
    """Return whether a goal moves joints beyond its own limb."""
    skeleton = problem.skeleton
    limb = skeleton.chain(None, goal.joint)
    moving = set(problem.joints).intersection(skeleton.ancestors(goal.joint))
    return bool(limb) and not moving.issubset(limb)


def _solve_rows(call: _PulledCall) -> interface.Answer:
    """Solve rows with missed goals."""
    skeleton, problem = call.problem.skeleton, call.problem
    answer = _solve_above(call, 1.0)
    first_q, before = answer.q, np.zeros(())
    offsets = np.zeros(())
    pulls = sorted({pull for pull in call.pulls if 0.0 < pull < 1.0}, reverse=True)
    for pull in pulls:
        further = _solve_above(call, pull)
        steps = _compute_steps(skeleton, first_q, further.q)
        offsets, before = offsets + pull * (steps - before), steps
        answer = _add_counts(answer, further)
    if pulls:
        answer = _add_counts(answer, _finish(call, _add_steps(skeleton, first_q, offsets)))
    is_met = problem.is_met(problem.compute_errors(answer.q, call.targets), call.tolerance)
    return answer._replace(met=is_met)


def _solve_above(call: _PulledCall, least_pull: float) -> interface.Answer:
    """Solve for goals of a least pull, then other limbs alone."""
    is_full = np.array(call.pulls) >= least_pull
    zeros, q = (
        np.zeros(len(call.targets), dtype=np.int64),
        np.array(np.broadcast_to(call.problem.start_rows, (len(call.targets), call.problem.skeleton.nq))),
    )
    answer = interface.Answer(q, zeros > 0, zeros, zeros)
    goals = [goal for goal, is_own in zip(call.problem.goals, is_full, strict=True) if is_own]
    if any(map(is_joint_goal, goals)):
        answer = _solve_part(call, q, is_full, call.solver, moves_limbs=False)
    if not is_full.all():
        answer = _add_counts(answer, _solve_part(call, answer.q, ~is_full, call.solver, moves_limbs=True))
    return answer


def _finish(call: _PulledCall, q: Floats) -> interface.Answer:
    """Meet goals of full pull from poses q (k, nq), then reach."""
    is_full, zeros = np.array(call.pulls) >= 1.0, np.zeros(len(q), dtype=np.int64)
    answer = interface.Answer(q, zeros > 0, zeros, zeros)
    skeleton = call.problem.skeleton
    is_joint = [is_joint_goal(goal) for goal in call.problem.goals]
    has_limb = [is_joint_goal(goal) and bool(skeleton.chain(None, goal.joint)) for goal in call.problem.goals]
    if (is_full & has_limb).any():
        answer = _add_counts(answer, _solve_part(call, answer.q, is_full & has_limb, call.solver, moves_limbs=True))
    # preferences for poses, such as Near, have had their say: a local solve would follow them back to the start
    stays = [is_joint_goal(goal) or isinstance(goal, Balance) for goal in call.problem.goals]
    if (is_full & is_joint).any():
        local = build_local_refinement(call.solver)
        answer = _add_counts(answer, _solve_part(call, answer.q, is_full & stays, local, moves_limbs=False))
    return _add_counts(answer, _solve_part(call, answer.q, ~is_full, call.solver, moves_limbs=True))


def _solve_part(call: _PulledCall, q: Floats, is_own: Bools, solver: Any, *, moves_limbs: bool) -> interface.Answer:
    """Solve for some of the goals from poses q (k, nq).

    moves_limbs  whether each of them moves its own limb alone
    """
    problem = call.problem
    goals = [goal for goal, is_chosen in zip(problem.goals, is_own, strict=True) if is_chosen]
    goals = _root_at_limbs(goals) if moves_limbs else list(replace_pulls(goals))
    start = problem.make_pose_unchecked(q)
    part = Problem(start, tuple(goals), problem.free_root and not moves_limbs)
    if not moves_limbs:
        part = part.with_origin(problem.start if problem.origin is None else problem.origin)
    return call.solve(
        part, call.targets[:, _find_columns(problem, is_own)], solver, call.tolerance, call.request
    ).answer


def _root_at_limbs(goals: Sequence[Goal]) -> list[Goal]:
    """Give goals the default chain of their joints."""
    found: list[Any] = []
    for goal in replace_pulls(goals):
        own: Any = goal
        changes: dict[str, Any] = {"root": None} if getattr(own, "root", None) is not None else {}
        if getattr(own, "relative_to", None) is not None:
            changes["follow"] = True
        found.append(replace(own, **changes) if changes else own)
    return found


def _find_columns(problem: Problem, is_own: Bools) -> Ints:
    """Find the target columns of some goals."""
    columns = [
        np.arange(measure.target_column, measure.target_column + TARGET_SIZES[measure.kind])
        for measure in problem.measures
        if is_own[measure.goal_index] and measure.target_column >= 0
    ]
    return np.concatenate(columns) if columns else np.zeros(0, dtype=np.int64)


def _compute_steps(skeleton: Skeleton, q: Floats, after: Floats) -> Floats:
    """Compute the steps (k, nq) from poses to others.

    Those of a rotation are its vector, in the first three of its columns.
    """
    turning, steps = skeleton.quaternion_columns, after - q
    turns = rotations.multiply(rotations.inverse(q[:, turning]), after[:, turning])
    turns = np.where(turns[..., :1] < 0.0, -turns, turns)
    steps[:, turning] = 0.0
    steps[:, turning[:, :3]] = rotations.as_vector(turns)
    return steps


def _add_steps(skeleton: Skeleton, q: Floats, steps: Floats) -> Floats:
    """Add steps (k, nq) to poses q."""
    turning, found = skeleton.quaternion_columns, q + steps
    turns = rotations.from_vector(steps[:, turning[:, :3]])
    found[:, turning] = rotations.normalise(rotations.multiply(q[:, turning], turns))
    is_still = ~steps.any(axis=1)
    found[is_still] = q[is_still]
    return skeleton.legal(found)[0]


def _add_counts(first: interface.Answer, then: interface.Answer) -> interface.Answer:
    """Return an answer with the counts of one before it."""
    return then._replace(
        iterations=first.iterations + then.iterations, joint_updates=first.joint_updates + then.joint_updates
    )
