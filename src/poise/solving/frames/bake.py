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
        Whether frames where a joint leaps are solved again from the frame before. False: each frame alone, as `solve`
        gives it.

    Returns
    -------
    Baked
        The solved clip. A frame that met its goals keeps its pose bit for bit.

    Notes
    -----
    Each frame is solved on its own first. Alone, two frames that are nearly alike may come to different answers:
    another way of bending, another twist of a limb that is stretched out. A joint leaps where it turns between two
    frames by more than 1.5 times what it turns in the clip, and a degree. Such a frame is solved again, without
    restarts, from the pose found for the frame before, turned on as the clip turns its joints between the two; so are
    those after it while they leap, and then the same backwards. The new pose is taken where it leaps less than half as
    much, meets the goals if the old one did, and else misses them by at most 1 % of the chain's length (0.01 rad) more.
    All other frames stay as they were, bit for bit, and so do clips without leaps.

    What is left is what the target asks for: it leaps itself, or comes within reach, where an elbow opens with a speed
    that has no bound. `Near(clip.poses)` among the goals ties each frame to its source pose besides.
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
