"""bake(): solve every frame of a clip from its own pose, and return the clip with what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from poise import solvers
from poise.errors import InputError
from poise.model.clip import Clip
from poise.problem.goals import Goal, Near
from poise.solving.result import Result
from poise.solving.solve import checked_goals, solve


@dataclass(frozen=True, eq=False)
class Baked(Clip):
    """A clip of solved poses, and their Result: a batch with one entry for each frame.

    Parameters
    ----------
    times, poses, name
        As for Clip.
    result
        The results of all frames.
    """

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
) -> Baked:
    """Solve every frame of a clip, each from its own pose.

    Parameters
    ----------
    clip
        The poses to start from; their times, name, translations and scales are kept.
    goals
        As for `solve`. Each target is one for all frames, or has a leading axis with one for each frame.
    solver, tolerance, angle_tolerance, free_root, threads, progress, natural
        As for `solve`.

    Returns
    -------
    Baked
        The solved clip. A frame that met its goals keeps its pose bit for bit.

    Notes
    -----
    Each frame is solved on its own: targets that move smoothly give smooth motion where they stay within reach.
    """
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
    result = solve(
        clip.poses, wanted, solver=solver, tolerance=tolerance, angle_tolerance=angle_tolerance, free_root=free_root,
        threads=threads, progress=progress, natural=natural,
    )  # fmt: skip
    return Baked(np.array(clip.times), result.pose, clip.name, result=result)
