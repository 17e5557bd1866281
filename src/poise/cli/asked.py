"""What the options of `poise solve` ask for: a goal, and a solver that has the options that were given."""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from typing import Any

from poise import solvers
from poise.errors import InputError
from poise.goals import Goal, Orientation, Place, Position
from poise.pose import Pose
from poise.request import Prefer
from poise.solve import chosen_solver

Numbers = tuple[float, ...]


def goal_of(
    joint: str, root: str | None, to: Numbers | None, rotation: Numbers | None
) -> Position | Orientation | Place:
    """A Position, an Orientation or, with both, a Place; InputError with neither."""
    if to is None and rotation is None:
        raise InputError("give a target with --to X Y Z, --rotation W X Y Z or both, or many with --targets FILE")
    if rotation is None:
        return Position(joint, to or (), root=root)
    if to is None:
        return Orientation(joint, rotation, root=root)
    return Place(joint, to, rotation, root=root)


def solver_of(name: str, start: Pose, goal: Goal, prefer: Prefer, **options: Any) -> solvers.Solver:
    """Make the solver; options that are None were not given.

    "auto" is the library's own choice, or where that lacks an option the first solver that has it. InputError for an
    option that the named solver, or for "auto" every solver, lacks.
    """
    given = {
        key: value.value if isinstance(value, StrEnum) else value for key, value in options.items() if value is not None
    }
    if name != "auto":
        _refuse_foreign(name, given)
        return solvers.named(name, **given)
    own = chosen_solver("auto", start, (goal,)).name if prefer == "first" else "levenberg_marquardt"
    for candidate in (own, *solvers.names()):
        if given.keys() <= _options_of(candidate):
            return solvers.named(candidate, **given)
    raise InputError(f"no solver has all of {_listed(given)}; name one with --solver: {', '.join(solvers.names())}")


def _refuse_foreign(name: str, given: dict[str, Any]) -> None:
    foreign = given.keys() - _options_of(name)
    if foreign:
        raise InputError(f"the solver {name} has no {_listed(foreign)}")


def _options_of(name: str) -> set[str]:
    solver: Any = solvers.named(name)
    return {field.name for field in dataclasses.fields(solver)}


def _listed(names: Any) -> str:
    return ", ".join(f"--{name}" for name in sorted(names))
