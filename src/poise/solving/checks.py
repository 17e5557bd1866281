"""Check the arguments of solve() and prepare() and parse targets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from poise import solvers
from poise.errors import InputError
from poise.maths.arrays import real, short
from poise.maths.by_name import no_such_argument
from poise.maths.options import count, one_of, truth
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.problem.goals.base.targets import FARTHEST
from poise.solvers.base.contract import check_solver
from poise.solvers.base.parameters import parameters

_SAME_PLANE = 1e-9  # share of the skeleton size: joints with z within it count as lying in one plane


def check_arguments(
    start: Any, solver: Any, tolerance: Any, angle_tolerance: Any = None, free_root: Any = False, natural: Any = None
) -> None:
    """Check the arguments shared by solve() and prepare(). Raises InputError for the first unusable one."""
    if type(start) is not Pose:
        check_start(start)
    if type(solver) is not str:
        check_solver(solver)
    if tolerance is not None:
        check_tolerance(tolerance)
    if angle_tolerance is not None:
        check_angle_tolerance(angle_tolerance)
    if type(free_root) is not bool:
        truth("free_root", free_root)
    if natural is not None and type(natural) is not bool:
        truth("natural", natural)


def unknown_argument(function: Callable[..., Any], unknown: Iterable[str]) -> Exception:
    """Make the error for an unknown keyword argument."""
    names = [name for name, one in inspect.signature(function).parameters.items() if one.kind != one.VAR_KEYWORD]
    options = {parameter.name for name in solvers.names() for parameter in parameters(type(solvers.named(name)))}
    return no_such_argument(function.__name__, unknown, names, options)


def check_plane(start: Pose, goals: Iterable[Any]) -> None:
    """Refuse two-number targets of skeletons outside a plane.

    The skeleton must lie in a plane of constant z at rest; otherwise InputError.
    """
    for goal in goals:
        if getattr(goal, "flat", False):
            _refuse_plane(start, goal)


def _refuse_plane(start: Pose, flat: Any) -> None:
    points = Pose(start.skeleton, start.skeleton.rest_q).world.positions
    if len(points) and np.ptp(points[:, 2]) > _SAME_PLANE * np.ptp(points, axis=0).max():
        x, y = flat.target.reshape(-1, 3)[0, :2]
        raise InputError(
            f"the target of {flat.joint!r} needs three numbers, as the skeleton has a third axis: write "
            f"poise.{type(flat).__name__}({flat.joint!r}, [{x:g}, {y:g}, z])"
        )


def written_goal(given: Sequence[Any]) -> str:
    """Write a joint and a target as goal code. Returns "" for unrecognised arguments."""
    one = given[0] if given else None
    if isinstance(one, str) and len(given) > 1:
        return f"poise.Position({one!r}, {short(given[1])})"
    if isinstance(one, tuple) and len(one) > 1 and isinstance(one[0], str):
        return f"poise.Position({one[0]!r}, {short(one[1])})"
    if isinstance(one, str):
        return f"poise.Position({short(one)}, [x, y, z])" if len(one) > 1 else ""
    return ""


def check_request(*, prefer: Any, seeds: Any, threads: Any, progress: Any) -> None:
    """Check prefer, seeds, threads and progress."""
    one_of("prefer", prefer, ("first", "closest", "all"))
    if seeds is not None and count("seeds", seeds) == 0:
        raise InputError("seeds must be at least 1: the start pose")
    if seeds is not None and prefer == "first":
        raise InputError(
            f'seeds is the number of starts for prefer="closest" or "all"; "first" stops at the first solution: write '
            f'prefer="closest", seeds={seeds}'
        )
    if threads is not None and count("threads", threads) == 0:
        raise InputError("threads must be at least 1")
    if progress is not None and not callable(progress):
        raise InputError(f"progress must be a function of the number of targets done, not {short(progress)}")


def check_start(start: Any) -> None:
    """Check the type of the start, a Pose. A Rig or a Clip is refused with an example."""
    if not isinstance(start, Pose):
        example = "clip.poses[0]" if isinstance(start, Clip) else "rig.rest"
        what = "" if isinstance(start, Rig | Clip) else " as the start"
        raise InputError(f"give a Pose, such as {example}, not a {type(start).__name__}{what}")


def check_tolerance(tolerance: Any) -> None:
    """Check for one finite distance of 0 or more."""
    if not 0 <= real(tolerance, "tolerance") <= FARTHEST:
        raise InputError(f"tolerance must be a finite length of 0 or more, not {short(tolerance)}")


def check_angle_tolerance(tolerance: Any) -> None:
    """Check for one finite angle of 0 or more."""
    if not 0 <= real(tolerance, "angle_tolerance") < float("inf"):
        raise InputError(f"angle_tolerance must be a finite angle of 0 or more [rad], not {short(tolerance)}")
