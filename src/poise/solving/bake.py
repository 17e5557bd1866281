"""Solve every frame of a clip from its own pose, without jumps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal

import numpy as np

from poise import solvers
from poise.calls.argument_checks import check_bool
from poise.errors import InputError
from poise.formatting import format_fields
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.problem.feasibility import has_closed_loops
from poise.problem.goals import Goals, Near
from poise.solvers.natural.auto import select_solver
from poise.solvers.natural.floor import FloorTerrain, make_floor
from poise.solving.jump_removal import remove_jumps
from poise.solving.result import Result
from poise.solving.solve import check_goals, solve


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

    __repr__ = format_fields

    result: Result = field(kw_only=True)


def bake(
    clip: Clip,
    goals: Goals,
    *,
    solver: str | solvers.Solver = "auto",
    tolerance: float | None = None,
    angle_tolerance: float | None = None,
    free_root: bool = False,
    threads: int | None = None,
    progress: bool | Callable[[int, int, str], None] | None = None,
    natural: bool | None = None,
    floor: float | Literal["auto"] | FloorTerrain | None = None,
    continuous: bool = True,
) -> Baked:
    """Solve every frame of a clip without jumps. Each frame starts from its own pose.

    Parameters
    ----------
    clip
        The poses to start from; their times, name, translations and scales are kept.
    goals
        As for `solve`. Each target is one for all frames, or has a leading axis with one for each frame.
    solver, tolerance, angle_tolerance, free_root, threads, progress, natural, floor
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

    Natural poses are not left so easily. There a jump is a step out of line with the steps around it, beyond those of
    the clip and the target; a calm clip has none, at any frame rate. The offset that removes it is spread over at most
    a second of the frames beside it, which are solved again from there; all others keep what they have alone.

    Remaining jumps come from the target: it jumps itself, or it enters the reach, where an elbow opens at unbounded
    speed. `Near(clip.poses)` among the goals also ties each frame to its source pose.
    """
    is_continuous = check_bool(continuous, "continuous")
    if not isinstance(clip, Clip):
        type_name: Any = type(clip).__name__
        raise InputError(f"give a Clip, such as rig.clips[0], not a {type_name}")
    checked_goals = check_goals(goals)
    frame_count = len(clip)
    for goal in checked_goals:
        if goal.shape not in {(), (frame_count,)}:
            singular, plural = ("pose", "poses") if isinstance(goal, Near) else ("target", "targets")
            raise InputError(
                f"clip {clip.name!r} has {frame_count} frames; a goal takes one {singular}, or one for each "
                "frame; this "
                f"{type(goal).__name__} has {plural} of shape {goal.shape}"
            )
    start_time = perf_counter()
    result = solve(
        clip.poses, checked_goals, solver=solver, tolerance=tolerance, angle_tolerance=angle_tolerance,
        free_root=free_root,
        threads=threads, progress=progress, natural=natural, floor=floor,
    )  # fmt: skip
    if is_continuous:
        ground = make_floor(floor, result.problem.start, checked_goals)
        used_solver = select_solver(solver, result.problem, "first", natural, ground)
        result = _apply_jump_removal(result, used_solver, clip.times, start_time)
    return Baked(np.array(clip.times), result.pose, clip.name, result=result)


def _apply_jump_removal(result: Result, solver: solvers.Solver, times: Floats, start_time: float) -> Result:
    """Return the Result with jumping frames solved again."""
    smoothed = remove_jumps(result, solver, times)
    if smoothed is None:
        return result
    answer, errors = smoothed
    is_reached = result.problem.is_met(errors, result.tolerances)
    if result.problem.skeleton.loops:
        is_reached &= has_closed_loops(result.problem, answer.q)
    counts = {"iterations": answer.iterations, "joint_updates": answer.joint_updates}
    return result.with_pose(answer.q, errors, start_time, reached=is_reached, **counts)
