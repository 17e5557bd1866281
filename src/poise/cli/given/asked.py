"""Goals and solver from the options of `poise solve`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from poise import solvers
from poise.cli.given.goals import goal_of_words
from poise.errors import InputError
from poise.model.pose import Pose
from poise.model.skeleton import Kind
from poise.problem.goals import Direction, Goal, LookAt, Near, Orientation, Place, Pole, Position
from poise.solvers.base.contract import Prefer, with_engine
from poise.solvers.base.parameters import parameters, read_options
from poise.solving.solve import chosen_solver

Numbers = tuple[float, ...]


class GoalOptions(NamedTuple):
    """Values of the goal options. Unset options are None or ()."""

    joint: str | None
    root: str | None
    to: Numbers | None
    rotation: Numbers | None
    direction: Numbers | None
    axis: Numbers | None
    look_at: Numbers | None
    pole: Numbers | None
    near: bool
    words: Sequence[str]

    def of_joint(self, start: Pose, *, main: bool = True) -> list[Goal]:
        """Build the goals of --joint, the main one first.

        Without `main` only the further goals, for use with a table of targets.
        """
        return [*(self._main() if main else ()), *self._beside(start)]

    def of_words(self, start: Pose) -> list[Goal]:
        """Build the goals of --goal and --near."""
        return [*(goal_of_words(text, start) for text in self.words), *([Near(start)] if self.near else [])]

    def _main(self) -> list[Goal]:
        if self.to is None and self.rotation is None:
            return []
        joint = self._joint("--to" if self.to is not None else "--rotation")
        if self.rotation is None:
            return [Position(joint, self.to or (), root=self.root)]
        if self.to is None:
            return [Orientation(joint, self.rotation, root=self.root)]
        return [Place(joint, self.to, self.rotation, root=self.root)]

    def _beside(self, start: Pose) -> list[Goal]:
        """Build the further goals of the same joint."""
        found: list[Goal] = []
        along: dict[str, Any] = {} if self.axis is None else {"axis": self.axis}
        if self.axis is not None and self.direction is None and self.look_at is None:
            raise InputError(
                "--axis says which axis of the joint --direction or --look-at X Y Z means: give one of them"
            )
        if self.direction is not None:
            found.append(Direction(self._joint("--direction"), self.direction, root=self.root, **along))
        if self.look_at is not None:
            if self.root is not None and not (self.to or self.rotation or self.direction or self.pole):
                raise InputError("--look-at takes no --root; --goal 'look-at JOINT X Y Z over=a,b' names what turns")
            found.append(LookAt(self._joint("--look-at"), self.look_at, **along))
        if self.pole is not None:
            tip = self._joint("--pole")
            found.append(Pole(self._bends(start, tip), self.pole, root=self.root, tip=tip))
        return found

    def _bends(self, start: Pose, tip: str) -> str:
        """Find the bend joint of --pole. It is the last moving joint above the tip."""
        skeleton = start.skeleton
        chain = [name for name in skeleton.chain(self.root, tip) if skeleton[name].kind != Kind.FIXED]
        if len(chain) < 2:  # noqa: PLR2004
            raise InputError(f"--pole turns a limb of two joints or more; above {tip!r} there are {len(chain)}")
        return chain[-1]

    def _joint(self, option: str) -> str:
        if self.joint is None:
            raise InputError(f"{option} needs --joint JOINT: it is that joint's target")
        return self.joint


def all_goals(first: GoalOptions, others: Sequence[GoalOptions], start: Pose, *, main: bool = True) -> tuple[Goal, ...]:
    """Build the goals of all --joint groups, in order.

    The goals of --goal and --near follow; InputError if there is none.

    Without `main` the targets of the first --joint are in a table.
    """
    parts = [first.of_joint(start, main=main), *(each.of_joint(start) for each in others)]
    for each, goals in zip((first, *others), parts, strict=True):
        if others and main and not goals:
            raise InputError(
                f"--joint {each.joint} has no target of its own: --to, --rotation, --direction and --look-at belong to "
                "the --joint before them"
            )
    found = [goal for goals in parts for goal in goals]
    found += first.of_words(start)
    if main and all(isinstance(goal, Near) for goal in found):
        raise InputError(
            "give a target: --joint JOINT with --to X Y Z, --rotation W X Y Z, --direction or --look-at; "
            "--goal 'KIND JOINT NUMBERS'; or many with --targets FILE"
        )
    return tuple(found)


def solver_of(
    name: str,
    start: Pose,
    goals: tuple[Goal, ...],
    prefer: Prefer,
    options: Sequence[str] = (),
    *,
    free_root: bool = False,
    natural: bool | None = None,
    **short: Any,
) -> solvers.Solver:
    """Build the solver from its name and options.

    `options` are texts name=value, `flags` the options with a flag of their own (None: unset).

    "auto" selects the default solver; if it lacks an option, the first of its engine, levenberg_marquardt, ccd and the
    others with that option. InputError for an option unknown to the named solver, or for "auto" to every solver.
    """
    given = {
        key: value.value if isinstance(value, StrEnum) else value for key, value in short.items() if value is not None
    }
    if name != "auto":
        chosen_solver(name, start, goals, prefer, natural=natural)  # raises if natural poses are not available
        _refuse_foreign(name, given)
        return solvers.named(name, **_together(name, options, given))
    if options:
        raise InputError("--option needs --solver NAME: it is that solver's own; `poise solvers` lists them")
    own = chosen_solver("auto", start, goals, prefer, free_root=free_root, natural=natural)
    for candidate in (own.name, "levenberg_marquardt", "ccd", *solvers.names()):
        if given.keys() <= _names_of(candidate):
            return with_engine(own, solvers.named(candidate, **given))
    raise InputError(f"no solver has all of {_listed(given)}; name one with --solver: {', '.join(solvers.names())}")


def _together(name: str, options: Sequence[str], given: dict[str, Any]) -> dict[str, Any]:
    """Merge both kinds of options. InputError for an option given twice."""
    read = read_options(type(solvers.named(name)), options, name)
    twice = sorted(read.keys() & given.keys())
    if twice:
        raise InputError(f"the option {twice[0]} is given twice: as --{twice[0]} and as --option {twice[0]}=...")
    return {**read, **given}


def _refuse_foreign(name: str, given: dict[str, Any]) -> None:
    foreign = given.keys() - _names_of(name)
    if foreign:
        raise InputError(f"the solver {name} has no {_listed(foreign)}")


def _names_of(name: str) -> set[str]:
    return {parameter.name for parameter in parameters(type(solvers.named(name)))}


def _listed(names: Any) -> str:
    return ", ".join(f"--{name}" for name in sorted(names))
