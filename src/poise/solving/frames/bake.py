"""Solve every frame of a clip from its own pose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from poise import solvers
from poise.errors import InputError
from poise.maths.in_words import in_words
from poise.maths.options import truth
from poise.model.clip import Clip
from poise.problem.goals import Goal, Near
from poise.problem.loops import leave_loops_closed
from poise.solvers.natural.auto import chosen
from poise.solving.frames.continuity import without_leaps
from poise.solving.result import Result
from poise.solving.solve import checked_goals, solve


@dataclass(frozen=True, eq=False)
class Baked(Clip):
    """Clip of solved poses with a batched Result. The Result has one entry for each frame.

    Parameters
    ----------
    times, poses, name
        As for Clip.
    result
        The results of all frames.
    """

    __repr__ = in_words

    result: Result = field(kw_only=True)


def bake(
    clip: Clip,
    goals: Goal | Sequence[Goal],
    *,
    solver: str | solvers.Solver = "auto",
    tolerance: float | None = None,
    angle_tolerance: float | None = None,
    free_root: bool = False,
    threads: int | None = None,
    progress: bool | Callable[[int], None] | None = None,
    natural: bool | None = None,
    continuous: bool = True,
) -> Baked:
    """Solve every frame of a clip without jumps. Each frame starts from its own pose.

    Parameters
    ----------
    clip
        The poses to start from; their times, name, translations and scales are kept.
    goals
        As for `solve`. Each target is one for all frames, or has a leading axis with one for each frame.
    solver, tolerance, angle_tolerance, free_root, threads, progress, natural
        As for `solve`.
    continuous
        Whether frames with a joint jump are solved again from the previous frame. False: each frame is solved on its
        own, as by `solve`.

    Returns
    -------
    Baked
        The solved clip. A frame that met its goals keeps its pose bit for bit.

    Notes
    -----
    Each frame is first solved on its own. Two similar frames may then get different solutions: knees bend the other
    way, or an extended limb has another twist. A joint jumps if it rotates between two frames by more than 1.5 times
    its rotation in the clip plus one degree. Such a frame is solved again without restarts, starting from the solution
    of the previous frame advanced by the clip's own joint motion. The following frames are solved again while they
    jump, and then the same is done backwards. A new pose is accepted if its jump is less than half as large and its
    goals are as good: met if they were met before, otherwise missed by at most 1 % of the chain's length (0.01 rad)
    more. All other frames, and clips without jumps, stay unchanged bit for bit.

    Remaining jumps come from the target: it jumps itself, or it enters the reach, where an elbow opens at unbounded
    speed. `Near(clip.poses)` among the goals also ties each frame to its source pose.
    """
    goes_on = truth("continuous", continuous)
    if not isinstance(clip, Clip):
        what: Any = type(clip).__name__
        raise InputError(f"give a Clip, such as rig.clips[0], not a {what}")
    wanted = checked_goals(goals)
    frames = len(clip)
    for goal in wanted:
        if goal.shape not in {(), (frames,)}:
            one, many = ("pose", "poses") if isinstance(goal, Near) else ("target", "targets")
            raise InputError(
                f"clip {clip.name!r} has {frames} frames; a goal takes one {one}, or one for each frame; this "
                f"{type(goal).__name__} has {many} of shape {goal.shape}"
            )
    began = perf_counter()
    result = solve(
        clip.poses, wanted, solver=solver, tolerance=tolerance, angle_tolerance=angle_tolerance, free_root=free_root,
        threads=threads, progress=progress, natural=natural,
    )  # fmt: skip
    if goes_on:
        result = _without_leaps(result, chosen(solver, result.problem, "first", natural), began)
    return Baked(np.array(clip.times), result.pose, clip.name, result=result)


def _without_leaps(result: Result, solver: solvers.Solver, began: float) -> Result:
    """Return the Result with jumping frames solved again."""
    found = without_leaps(result, solver)
    if found is None:
        return result
    answer, errors = found
    reached = result.problem.met(errors, result.tolerances)
    if result.problem.skeleton.loops:
        reached &= leave_loops_closed(result.problem, answer.q, result.tolerances)
    counts = {"iterations": answer.iterations, "joint_updates": answer.joint_updates}
    return result.shown(answer.q, errors, began, reached=reached, **counts)
