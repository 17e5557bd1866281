"""Solve clips frame by frame and remove jumps.

Frames solved independently are solved again from the previous frame where that reduces a jump.

A frame on its own has several solutions: knees and elbows may bend to either side, and an extended limb may have any
twist. Two similar frames may get different ones. A frame can also start from the solution of the previous frame,
advanced by the clip's own joint motion between the two. This is done only where a joint jumps, and accepted only if the
jump is removed and the goals are as good as before. All other frames stay unchanged bit for bit.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from poise import solvers
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.model.skeleton import Kind
from poise.problem.layout import FIXED, LENGTHS, SLIDE
from poise.problem.problem import Problem, Tolerance
from poise.solvers.base.answers import merged, rows_of
from poise.solvers.base.contract import Answer, Request, engine_of
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solving.result import Result
from poise.solving.settled import settled
from poise.solving.solved import solved

OWN = 1.5  # factor: joint motion up to this multiple of the clip's own motion is no jump
SEEN = float(np.radians(1.0))  # [rad] further joint motion per frame that is no jump
CALMER = 0.5  # share of a jump that may remain; a larger one is caused by the target
SPARED = 0.01  # of the chain length, or [rad]: allowed error increase of a missed target

Found: TypeAlias = tuple[Answer, Floats]  # answers and their errors (k, c)


class ClipFrames(NamedTuple):
    """Frames of a clip in processing order. Holds the problem, targets, tolerances and solver.

    problem    has a start for each frame
    own        (k - 1, m) rotation of each joint between two frames of the clip
    allowed    (c,) allowed increase of the errors of a missed target
    """

    problem: Problem
    targets: Floats
    tolerance: Tolerance
    solver: solvers.Solver
    own: Floats
    allowed: Floats


def without_leaps(result: Result, solver: solvers.Solver) -> Found | None:
    """Remove jumps from the solved frames of a clip.

    Returns the answers and their errors (k, c), or None where no jump can be removed.
    """
    problem, k = result.problem, len(result.q)
    if k <= 1 or not problem.start.shape or not problem.joints:
        return None
    frames = _frames(problem, result.targets, result.tolerances, _calm(solver))
    none = np.zeros(k, dtype=np.int64)
    first = Answer(np.array(result.q), np.array(result.reached), none + result.iterations, none + result.joint_updates)
    best = first, np.array(result.errors)
    # backwards as well: a jump may end at a frame that must not change
    for turn in (slice(None), slice(None, None, -1)):
        best = _pass(frames, best, turn)
    return None if best[0] is first else best


def _frames(problem: Problem, targets: Floats, tolerance: Tolerance, solver: solvers.Solver) -> ClipFrames:
    plan = problem.plan
    more = np.array([SPARED * (plan.length if m.kind in LENGTHS else 1.0) for m in problem.measures])
    return ClipFrames(
        problem, targets, tolerance, solver, _turned(problem, problem.start_rows[1:], problem.start_rows[:-1]), more
    )


def _calm(solver: Any) -> Any:
    """Return the solver without restarts."""
    own: Any = engine_of(solver)
    if type(own) is LevenbergMarquardt:
        return settled(own)
    has_restarts = is_dataclass(own) and any(each.name == "restarts" for each in fields(own))
    return replace(cast("Any", own), restarts=0) if has_restarts else own


def _turned(problem: Problem, q: Floats, before: Floats) -> Floats:
    """Measure the rotation (r, m) of each moving joint between poses.

    Poses are (r, nq); slides count in lengths of the rig.
    """
    plan = problem.plan
    nodes = dict.fromkeys(node._replace(row=0, parent=0) for node in plan.layout.nodes if node.kind != FIXED)
    gains = np.array([1.0 / plan.size if node.kind == SLIDE else 1.0 for node in nodes])
    return plan.differences(plan.u_of(q), plan.u_of(before)) * gains


def _excess(frames: ClipFrames, rows: Ints, q: Floats, before: Floats) -> Floats:
    """Compute joint motion (r,) in excess of the clip's own. It compares each frame with the one before."""
    return (_turned(frames.problem, q, before) - OWN * frames.own[rows - 1]).max(axis=-1)


def _pass(frames: ClipFrames, found: Found, turn: slice) -> Found:
    """Sweep the frames in one direction. Frames without an improvement are unchanged."""
    rows = np.arange(len(found[0].q))[turn]
    there = frames._replace(problem=frames.problem.part(rows), targets=frames.targets[rows], own=frames.own[turn])
    before = _at(found, rows)
    after = _followed(there, *_at(before, np.arange(len(rows))))
    better = None if after is None else _worth(there, before[0].q, after[0].q)
    if after is None or better is None or not better.any():
        return found
    q, met = np.where(better[:, None], after[0].q, before[0].q), np.where(better, after[0].met, before[0].met)
    errors = np.where(better[:, None], after[1], before[1])
    return _at((after[0]._replace(q=q, met=met), errors), rows)  # rows backwards are their own inverse


def _worth(frames: ClipFrames, before: Floats, after: Floats) -> Bools:
    """Choose the frames (k,) to accept from poses `after`.

    A run of changed frames is accepted as a whole if its jumps decrease, and rejected otherwise.

    Frames outside a run do not depend on it.
    """
    every = np.arange(1, len(before))
    was, now = (np.maximum(_excess(frames, every, q[1:], q[:-1]) - SEEN, 0.0) for q in (before, after))
    taken = (before != after).any(axis=-1)
    ends = np.flatnonzero(np.diff(np.concatenate([[False], taken, [False]]).astype(np.int64)))
    for first, last in ends.reshape(-1, 2):
        steps = slice(max(first - 1, 0), last)
        taken[first:last] = now[steps].sum() < was[steps].sum() and now[steps].max() <= was[steps].max()
    return taken


def _at(found: Found, rows: Ints) -> Found:
    """Copy the answers and errors of some frames."""
    answer, errors = found
    return rows_of(answer, rows), errors[rows]


def _followed(frames: ClipFrames, answer: Answer, errors: Floats) -> Found | None:
    """Solve each jumping frame from the one before. Returns None where no jump is removed."""
    every, stays = np.arange(1, len(answer.q)), (answer.q == frames.problem.start_rows).all(axis=-1)
    leaps = every[(_excess(frames, every, answer.q[1:], answer.q[:-1]) > SEEN) & ~stays[1:]]
    if len(leaps):
        # All at once, each from the unchanged previous frame: most jumps come from the target and stay.
        leaps = leaps[_calmer(frames, leaps, (answer, errors), _again(frames, leaps, answer.q))]
    if not len(leaps):
        return None
    planned, follows = set(leaps.tolist()), False
    for i in range(int(leaps[0]), len(answer.q)):
        if not (follows or i in planned):
            continue
        row, follows = np.array([i]), False
        if not stays[i] and _excess(frames, row, answer.q[row], answer.q[row - 1])[0] > SEEN:
            again = _again(frames, row, answer.q)
            follows = bool(_calmer(frames, row, (answer, errors), again)[0])
            if follows:
                answer, errors[i] = merged(answer, row, again[0]), again[1][0]
    return answer, errors


def _calmer(frames: ClipFrames, rows: Ints, found: Found, again: Found) -> Bools:
    """Find frames with smaller jumps and equally good goals."""
    (answer, errors), (other, left) = found, again
    before = answer.q[rows - 1]
    leapt, leaps = (_excess(frames, rows, q, before) for q in (answer.q[rows], other.q))
    met = frames.problem.met(errors[rows], frames.tolerance)
    as_good = np.where(met, frames.problem.met(left, frames.tolerance), (left <= errors[rows] + frames.allowed).all(-1))
    return as_good & (leaps < CALMER * leapt)


def _again(frames: ClipFrames, rows: Ints, q: Floats) -> Found:
    """Solve frames from the answers (k, nq) of the previous frames.

    These are first moved by the clip's own motion between the two frames.
    """
    part = frames.problem.part(rows)
    start = part.at(part.posed(_carried(frames.problem, rows, q)))
    return solved(start, frames.targets[rows], frames.solver, frames.tolerance, Request())


def _carried(problem: Problem, rows: Ints, q: Floats) -> Floats:
    """Propagate the previous answers by the clip's joint motion. All other joints take their pose from the clip.

    The rotation of a joint between two frames of the clip is taken in the joint's own frame, so that twist stays twist.
    """
    s, clip, before = problem.skeleton, problem.start_rows, problem.start_rows[rows - 1]
    found = clip[rows].copy()
    for name in problem.joints:
        row = s.index(name)
        at = np.arange(s.q_start[row], s.q_start[row] + Kind(s.kinds[row]).nq)
        turns = at[-4:] if len(at) >= Kind.BALL.nq else at[:0]
        straight = at[: len(at) - len(turns)]
        found[:, straight] += q[rows - 1][:, straight] - before[:, straight]
        if len(turns):
            on = rotations.multiply(rotations.inverse(before[:, turns]), found[:, turns])
            found[:, turns] = rotations.normalised(rotations.multiply(q[rows - 1][:, turns], on))
    return s.legal(found)[0]
