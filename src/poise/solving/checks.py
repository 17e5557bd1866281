"""What solve() and prepare() are given: the right kinds of things, or one sentence that says what to give."""

from __future__ import annotations

from typing import Any

from poise.errors import InputError
from poise.maths.arrays import real, short
from poise.maths.options import count, one_of, truth
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.solvers.base.contract import check_solver


def check_arguments(
    start: Any, solver: Any, tolerance: Any, angle_tolerance: Any = None, free_root: Any = False, natural: Any = None
) -> None:
    """Check what solve() and prepare() share; InputError for the first that cannot be used."""
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


def check_request(*, prefer: Any, seeds: Any, threads: Any, progress: Any) -> None:
    """How a solve is to be done."""
    one_of("prefer", prefer, ("first", "closest", "all"))
    if seeds is not None and count("seeds", seeds) == 0:
        raise InputError("seeds must be at least 1: the start pose")
    if seeds is not None and prefer == "first":
        raise InputError(
            'seeds is how many starts to try for prefer="closest" or "all"; "first" stops when it is there'
        )
    if threads is not None and count("threads", threads) == 0:
        raise InputError("threads must be at least 1")
    if progress is not None and not callable(progress):
        raise InputError(f"progress must be a function of the number of targets done, not {short(progress)}")


def check_start(start: Any) -> None:
    """The start is a Pose, not the rig or clip that has one."""
    if not isinstance(start, Pose):
        example = "clip.poses[0]" if isinstance(start, Clip) else "rig.rest"
        what = "" if isinstance(start, Rig | Clip) else " as the start"
        raise InputError(f"give a Pose, such as {example}, not a {type(start).__name__}{what}")


def check_tolerance(tolerance: Any) -> None:
    """The tolerance is one finite number of 0 or more."""
    if not 0 <= real(tolerance, "tolerance") < float("inf"):
        raise InputError(f"tolerance must be a finite length of 0 or more, not {tolerance!r}")


def check_angle_tolerance(tolerance: Any) -> None:
    """The angle tolerance is one finite number of 0 or more."""
    if not 0 <= real(tolerance, "angle_tolerance") < float("inf"):
        raise InputError(f"angle_tolerance must be a finite angle of 0 or more [rad], not {tolerance!r}")
