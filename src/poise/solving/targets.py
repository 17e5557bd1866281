"""Parse the targets of prepared problems and trackers. The result is an array of rows for the kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from poise import kernels
from poise.errors import InputError, UnknownNameError
from poise.maths.arrays import Floats, Ints, short
from poise.problem.goals import GOALS, Aim, Direction, Goal, LookAt, Orientation, Place, Pole, Position
from poise.problem.goals.base.targets import FARTHEST
from poise.problem.problem import Problem

_ARRAY, _FLOAT = np.ndarray, np.dtype(np.float64)
_PLACE = Place.width
_MATRICES = {4: ((3, 3),), _PLACE: ((4, 4), (3, 4))}
_KNOWN = {kind.parse for kind in (Aim, Direction, LookAt, Orientation, Place, Pole, Position)}


class Plain(NamedTuple):
    """Shape of targets made of plain numbers.

    widths  number of values in the target of each goal; empty if goals must parse their targets themselves
    terms   (t, 3) kind and column of each measure in a row; see kernels/tree/doors.py
    """

    widths: tuple[int, ...]
    terms: Ints


def reads_plainly(goal: Goal) -> bool:
    """Return whether the goal accepts plain numbers as a row. Goal subclasses may parse targets in another way."""
    return type(goal).parse in _KNOWN


def plain_of(problem: Problem) -> Plain:
    """Find the shape of plain targets of a problem. `widths` is empty where a goal has no target or its own parser."""
    goals = problem.goals
    known = all(goal.width and reads_plainly(goal) for goal in goals)
    rows = [(measure.kind, measure.column, 0) for measure in problem.measures]
    widths = tuple(goal.width for goal in goals) if known else ()
    return Plain(widths, np.array(rows, dtype=np.int64).reshape(-1, 3))


def plain_row(plain: Plain, target: Any) -> Floats | None:
    """Return the row (1, W) of a plain target, or None.

    Matrices count as plain; the row is a copy. Goals must parse all other targets.
    """
    given: Sequence[Any] = (target,) if len(plain.widths) == 1 else target if type(target) in (list, tuple) else ()
    if len(given) != len(plain.widths) or not given:
        return None
    parts: list[Any] = []
    for part, width in zip(given, plain.widths, strict=True):
        is_pair = width == _PLACE and type(part) is tuple and len(part) == 2  # noqa: PLR2004  (position, rotation)
        pairs = zip(part, (3, 4), strict=True) if is_pair else ((part, width),)
        for numbers, count in pairs:
            if type(numbers) is not _ARRAY or numbers.dtype is not _FLOAT:
                return None
            row = numbers.reshape(1, -1) if numbers.shape == (count,) else of_matrix(numbers, count)
            if row is None:
                return None
            parts.append(row)
    row = np.concatenate(parts, axis=1)
    return row if kernels.tree.doors.plain(row[0], plain.terms, FARTHEST) else None


def of_matrix(matrix: Floats, width: int) -> Floats | None:
    """Convert a rotation matrix or a rigid transform to a row.

    A matrix (3, 3) gives (1, 4), a transform (3|4, 4) gives (1, 7). The result equals the parsing of goals; None for
    other shapes.

    The last row of a transform must be exactly 0 0 0 1; goals may let others pass.
    """
    if matrix.shape not in _MATRICES.get(width, ()):
        return None
    row = np.empty((1, width))
    wrong = kernels.values.turns.quaternions(matrix.reshape(1, -1).copy(), row)
    return row if wrong < 0 else None


def parsed(goals: tuple[Goal, ...], target: Any) -> list[Floats]:
    """Parse targets into rows (..., width). There is one for each goal with a target.

    Several targets are a sequence, an array with the goals along its first axis, or a mapping by joint. A goal of the
    same kind counts as its own target.
    """
    aimed = [goal for goal in goals if goal.width]
    return [_row_of(goal, one) for goal, one in zip(aimed, _each(aimed, target), strict=True)]


def _each(aimed: Sequence[Goal], target: Any) -> Any:
    """Split the target into one for each goal."""
    names = [getattr(goal, "joint", "") for goal in aimed]
    if isinstance(target, Mapping) and len(set(names)) == len(names):
        given: Mapping[Any, Any] = target
        for name in given:
            if name not in names:
                raise UnknownNameError("target for the joint", str(name), names, plural="joints with targets")
        missing = [name for name in names if name not in given]
        if not missing:
            return [given[name] for name in names]
        raise InputError(f"no target is given for {', '.join(map(repr, missing))}")
    if len(aimed) == 1:
        return [target[0] if _is_goals(target) and len(target) == 1 else target]
    if not isinstance(target, list | tuple | np.ndarray) or len(target) != len(aimed):
        raise InputError(f"give a list of {len(aimed)} targets, one for each of: {', '.join(map(repr, names))}")
    return target


def _is_goals(target: Any) -> bool:
    return isinstance(target, list | tuple) and bool(target) and isinstance(target[0], GOALS)


def _row_of(goal: Goal, target: Any) -> Floats:
    """Parse the target of one goal into a row. A goal of the same kind and joint counts as its own target."""
    if not isinstance(target, GOALS):
        return goal.parse(target)
    joint = getattr(goal, "joint", None)
    if type(target) is not type(goal) or getattr(target, "joint", None) != joint:
        raise InputError(
            f"the prepared goal is a {type(goal).__name__} of {joint!r}: give its target, or a {type(goal).__name__} "
            f"of {joint!r}, not {short(target)}"
        )
    return target.rows()
