"""Check the arguments of solve() and prepare() and parse targets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from poise import kernels, solvers
from poise.calls.argument_checks import check_bool, check_choice, check_count, make_argument_error
from poise.errors import InputError, UnknownNameError
from poise.maths.arrays import Floats, Ints, abbreviate, check_real
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.problem.goals import GOAL_CLASSES, Aim, Direction, Goal, LookAt, Near, Orientation, Place, Pole, Position
from poise.problem.pose_preference import find_preferred_shape
from poise.problem.problem import Problem
from poise.problem.target_parsing import MAX_COORDINATE
from poise.solvers.base.interface import check_solver
from poise.solvers.base.option_parsing import list_parameters

_PLANE_TOLERANCE_SHARE = 1e-9  # share of the skeleton size: joints with z within it count as lying in one plane


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
        check_bool(free_root, "free_root")
    if natural is not None and type(natural) is not bool:
        check_bool(natural, "natural")


def make_unknown_argument_error(function: Callable[..., Any], unknown: Iterable[str]) -> Exception:
    """Make the error for an unknown keyword argument."""
    names = [
        name
        for name, argument in inspect.signature(function).parameters.items()
        if argument.kind != argument.VAR_KEYWORD
    ]
    options = {
        parameter.name for name in solvers.names() for parameter in list_parameters(type(solvers.make_solver(name)))
    }
    return make_argument_error(function.__name__, unknown, names, options)


def check_planar_targets(start: Pose, goals: Iterable[Any]) -> None:
    """Refuse two-number targets of skeletons outside a plane.

    The skeleton must lie in a plane of constant z at rest; otherwise InputError.
    """
    for goal in goals:
        if getattr(goal, "flat", False):
            _check_planar_rest(start, goal)


def _check_planar_rest(start: Pose, planar_goal: Any) -> None:
    rest_positions = Pose(start.skeleton, start.skeleton.rest_q).world.positions
    if (
        len(rest_positions)
        and np.ptp(rest_positions[:, 2]) > _PLANE_TOLERANCE_SHARE * np.ptp(rest_positions, axis=0).max()
    ):
        x, y = planar_goal.target.reshape(-1, 3)[0, :2]
        raise InputError(
            f"the target of {planar_goal.joint!r} needs three numbers, as the skeleton has a third axis: write "
            f"poise.{type(planar_goal).__name__}({planar_goal.joint!r}, [{x:g}, {y:g}, z])"
        )


def format_goal_code(arguments: Sequence[Any]) -> str:
    """Write a joint and a target as goal code. Returns "" for unrecognised arguments."""
    first_argument = arguments[0] if arguments else None
    if isinstance(first_argument, str) and len(arguments) > 1:
        return f"poise.Position({first_argument!r}, {abbreviate(arguments[1])})"
    if isinstance(first_argument, tuple) and len(first_argument) > 1 and isinstance(first_argument[0], str):
        return f"poise.Position({first_argument[0]!r}, {abbreviate(first_argument[1])})"
    if isinstance(first_argument, str):
        return f"poise.Position({abbreviate(first_argument)}, [x, y, z])" if len(first_argument) > 1 else ""
    return ""


def check_request(*, prefer: Any, seeds: Any, threads: Any) -> None:
    """Check prefer, seeds and threads."""
    check_choice(prefer, "prefer", ("first", "closest", "all"))
    if seeds is not None and check_count(seeds, "seeds") == 0:
        raise InputError("seeds must be at least 1: the start pose")
    if seeds is not None and prefer == "first":
        raise InputError(
            f'seeds is the number of starts for prefer="closest" or "all"; "first" stops at the first solution: write '
            f'prefer="closest", seeds={seeds}'
        )
    if threads is not None and check_count(threads, "threads") == 0:
        raise InputError("threads must be at least 1")


def check_start(start: Any) -> None:
    """Check the type of the start, a Pose. A Rig or a Clip is refused with an example."""
    if not isinstance(start, Pose):
        example = "clip.poses[0]" if isinstance(start, Clip) else "rig.rest"
        role_text = "" if isinstance(start, Rig | Clip) else " as the start"
        raise InputError(f"give a Pose, such as {example}, not a {type(start).__name__}{role_text}")


def check_tolerance(tolerance: Any) -> None:
    """Check for one finite distance of 0 or more."""
    if not 0 <= check_real(tolerance, "tolerance") <= MAX_COORDINATE:
        raise InputError(f"tolerance must be a finite length of 0 or more, not {abbreviate(tolerance)}")


def check_angle_tolerance(tolerance: Any) -> None:
    """Check for one finite angle of 0 or more."""
    if not 0 <= check_real(tolerance, "angle_tolerance") < float("inf"):
        raise InputError(f"angle_tolerance must be a finite angle of 0 or more [rad], not {abbreviate(tolerance)}")


# --- Parse the targets of prepared problems and trackers -------------------------------------------------------------
#
# The result is an array of rows for the kernels.


_ARRAY_TYPE, _FLOAT_DTYPE = np.ndarray, np.dtype(np.float64)
_PLACE_WIDTH = Place.width
_MATRIX_SHAPES = {4: ((3, 3),), _PLACE_WIDTH: ((4, 4), (3, 4))}
_KNOWN_PARSERS = {kind.parse for kind in (Aim, Direction, LookAt, Orientation, Place, Pole, Position)}


class PlainTargetShape(NamedTuple):
    """Shape of targets made of plain numbers.

    widths  number of values in the target of each goal; empty if goals must parse their targets themselves
    terms   (t, 3) kind and column of each measure in a row; see kernels/kernel_coordinates.py
    """

    widths: tuple[int, ...]
    terms: Ints


def accepts_plain_rows(goal: Goal) -> bool:
    """Return whether the goal accepts plain numbers as a row. Goal subclasses may parse targets in another way."""
    return type(goal).parse in _KNOWN_PARSERS


def list_target_goals(goals: Sequence[Goal]) -> tuple[Goal, ...]:
    """List all goals but Near."""
    return tuple([goal for goal in goals if not isinstance(goal, Near)])


def find_plain_shape(problem: Problem) -> PlainTargetShape:
    """Find the shape of plain targets of a problem.

    `widths` is empty where a goal but Near has no target or its own parser, and for a batch of preferred poses.
    """
    goals = () if find_preferred_shape(problem.goals) else list_target_goals(problem.goals)
    has_known_parsers = all(goal.width and accepts_plain_rows(goal) for goal in goals)
    term_rows = [(measure.kind, measure.target_column, 0) for measure in problem.measures]
    widths = tuple(goal.width for goal in goals) if has_known_parsers else ()
    return PlainTargetShape(widths, np.array(term_rows, dtype=np.int64).reshape(-1, 3))


def read_plain_row(shape: PlainTargetShape, target: Any) -> Floats | None:
    """Return the row (1, W) of a plain target, or None.

    Matrices count as plain; the row is a copy. Goals must parse all other targets.
    """
    if type(target) is _ARRAY_TYPE and target.dtype is _FLOAT_DTYPE and target.shape == shape.widths:  # of one goal
        row = target[None].copy()
        return row if kernels.kernel_coordinates.normalise_target(row[0], shape.terms, MAX_COORDINATE) else None
    goal_targets: Any = (target,) if len(shape.widths) == 1 else target if type(target) in (list, tuple) else ()
    if len(goal_targets) != len(shape.widths) or not goal_targets:
        return None
    goal_rows: list[Any] = []
    for goal_target, width in zip(goal_targets, shape.widths, strict=True):
        is_pair = width == _PLACE_WIDTH and type(goal_target) is tuple and len(goal_target) == 2  # noqa: PLR2004  (position, rotation)
        pairs = zip(goal_target, (3, 4), strict=True) if is_pair else ((goal_target, width),)
        for numbers, row_width in pairs:
            if type(numbers) is not _ARRAY_TYPE or numbers.dtype is not _FLOAT_DTYPE:
                return None
            row = numbers.reshape(1, -1) if numbers.shape == (row_width,) else read_matrix(numbers, row_width)
            if row is None:
                return None
            goal_rows.append(row)
    row = np.concatenate(goal_rows, axis=1)
    return row if kernels.kernel_coordinates.normalise_target(row[0], shape.terms, MAX_COORDINATE) else None


def read_matrix(matrix: Floats, width: int) -> Floats | None:
    """Convert a rotation matrix or a rigid transform to a row.

    A matrix (3, 3) gives (1, 4), a transform (3|4, 4) gives (1, 7). The result equals the parsing of goals; None for
    other shapes.

    The last row of a transform must be exactly 0 0 0 1; goals may let others pass.
    """
    if matrix.shape not in _MATRIX_SHAPES.get(width, ()):
        return None
    row = np.empty((1, width))
    invalid_row = kernels.rotation_matrices.convert_to_quaternions(matrix.reshape(1, -1).copy(), row)
    return row if invalid_row < 0 else None


def parse_targets(goals: tuple[Goal, ...], target: Any) -> list[Floats]:
    """Parse targets into rows (..., width). There is one for each goal with a target.

    Several targets are a sequence, an array with the goals along its first axis, or a mapping by joint. A goal of the
    same kind counts as its own target.
    """
    target_goals = [goal for goal in goals if goal.width]
    return [
        _parse_target(goal, goal_target)
        for goal, goal_target in zip(target_goals, _split_targets(target_goals, target), strict=True)
    ]


def _split_targets(target_goals: Sequence[Goal], target: Any) -> Any:
    """Split the target into one for each goal."""
    joint_names = [getattr(goal, "joint", "") for goal in target_goals]
    if isinstance(target, Mapping) and len(set(joint_names)) == len(joint_names):
        targets_by_joint: Mapping[Any, Any] = target
        for name in targets_by_joint:
            if name not in joint_names:
                raise UnknownNameError("target for the joint", str(name), joint_names, plural="joints with targets")
        missing_names = [name for name in joint_names if name not in targets_by_joint]
        if not missing_names:
            return [targets_by_joint[name] for name in joint_names]
        raise InputError(f"no target is given for {', '.join(map(repr, missing_names))}")
    if len(target_goals) == 1:
        return [target[0] if _is_goal_sequence(target) and len(target) == 1 else target]
    if not isinstance(target, list | tuple | np.ndarray) or len(target) != len(target_goals):
        raise InputError(
            f"give a list of {len(target_goals)} targets, one for each of: {', '.join(map(repr, joint_names))}"
        )
    return target


def _is_goal_sequence(target: Any) -> bool:
    return isinstance(target, list | tuple) and bool(target) and isinstance(target[0], GOAL_CLASSES)


def _parse_target(goal: Goal, target: Any) -> Floats:
    """Parse the target of one goal into a row. A goal of the same kind and joint counts as its own target."""
    if not isinstance(target, GOAL_CLASSES):
        return goal.parse(target)
    joint = getattr(goal, "joint", None)
    if type(target) is not type(goal) or getattr(target, "joint", None) != joint:
        raise InputError(
            f"the prepared goal is a {type(goal).__name__} of {joint!r}: give its target, or a {type(goal).__name__} "
            f"of {joint!r}, not {abbreviate(target)}"
        )
    return target.rows()
