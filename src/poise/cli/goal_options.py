"""Goals and solver built from the options of `poise solve`.

Example: `--goal "position LeftHand 0.4 1.2 0.3 weight=2"`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand

from poise import solvers
from poise.errors import InputError, UnknownNameError
from poise.io.text_parsing import parse_number
from poise.model.pose import Pose
from poise.model.skeleton import Kind
from poise.problem.goals import GOAL_CLASSES, Balance, Direction, Goal, LookAt, Near, Orientation, Place, Pole, Position
from poise.solvers.base.interface import Prefer, replace_finisher
from poise.solvers.base.option_parsing import Parameter, list_parameters, parse_options
from poise.solving.solve import choose_solver

_ARRAY_LENGTHS = {"rotation": 4}  # length of an array argument; the default is three


def format_goal_kind(goal_class: type) -> str:
    """Format a goal class as its command line word: "look-at"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", goal_class.__name__).lower()


_GOAL_CLASSES = {format_goal_kind(kind): kind for kind in GOAL_CLASSES}

GOAL_HELP = (
    f"a goal in words, KIND JOINT NUMBERS name=value: {', '.join(_GOAL_CLASSES)}. May be given several times: "
    '--goal "direction LeftHand 0 1 0 axis=1,0,0" --goal "near weight=0.5"'
)


def parse_goal(text: str, start: Pose) -> Goal:
    """Parse a goal. The text is its kind, its joint, the numbers of its target, then name=value options.

    A Near has no joint and no numbers: it refers to the start pose. A Balance takes the supporting joints, or none.
    """
    words = _split_words(text)
    if not words:
        raise InputError("an empty goal; write KIND JOINT NUMBERS, such as 'position LeftHand 0.4 1.2 0.3'")
    goal_class = _GOAL_CLASSES.get(words[0].lower())
    if goal_class is None:
        raise UnknownNameError("goal", words[0], tuple(_GOAL_CLASSES))
    arguments = [word for word in words[1:] if not _is_option(word, goal_class)]
    options = parse_options(
        goal_class, [word for word in words[1:] if _is_option(word, goal_class)], f"a {words[0].lower()} goal"
    )
    if goal_class is Near:
        if arguments:
            raise InputError(f"near takes no joint and no numbers, only joints=a,b and weight=w; not {arguments[0]!r}")
        return Near(start, **options)
    if goal_class is Balance:
        for name in arguments:
            start.skeleton.index(name)
        return Balance(arguments or None, **options)
    return goal_class(*_parse_arguments(words[0], goal_class, arguments, start), **options)


def _split_words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InputError(f"cannot read the goal {text!r}: {error}") from error


def _is_option(word: str, goal_class: type) -> bool:
    """Return whether a word is name=value. Joint names may contain an = as well."""
    name, equals, _ = word.partition("=")
    return bool(equals) and (
        name.isidentifier() or name.replace("-", "_") in {parameter.name for parameter in list_parameters(goal_class)}
    )


def _parse_arguments(kind_word: str, goal_class: type, arguments: Sequence[str], start: Pose) -> list[Any]:
    """Parse the joint and the arrays of a goal."""
    required_parameters = [parameter for parameter in list_parameters(goal_class) if parameter.is_required]
    lengths = [_ARRAY_LENGTHS.get(parameter.name, 3) for parameter in required_parameters[1:]]
    usage = f"{kind_word} JOINT" + "".join(
        f" {_format_placeholder(parameter)}" for parameter in required_parameters[1:]
    )
    if len(arguments) != 1 + sum(lengths):
        raise InputError(
            f"a goal is written '{usage}'; got {len(arguments)} words after {kind_word!r}: {' '.join(arguments)}"
        )
    start.skeleton.index(arguments[0])  # report an unknown joint before invalid numbers
    numbers = [_parse_number(word, usage) for word in arguments[1:]]
    parsed_arguments: list[Any] = [arguments[0]]
    for length in lengths:
        parsed_arguments.append(numbers[:length])
        numbers = numbers[length:]
    return parsed_arguments


def _format_placeholder(parameter: Parameter) -> str:
    return "W X Y Z" if _ARRAY_LENGTHS.get(parameter.name) else "X Y Z"


def _parse_number(word: str, usage: str) -> float:
    try:
        return parse_number(word)
    except ValueError as error:
        raise InputError(f"a goal is written '{usage}'; {word!r} is no number") from error


# --- One goal from plain options -------------------------------------------------------------------------------------


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
    goal_texts: Sequence[str]

    def build_joint_goals(self, start: Pose, *, includes_main: bool = True) -> list[Goal]:
        """Build the goals of --joint, the main one first.

        Without `includes_main` only the further goals, for use with a table of targets.
        """
        return [*(self._build_main_goals() if includes_main else ()), *self._build_other_goals(start)]

    def build_word_goals(self, start: Pose) -> list[Goal]:
        """Build the goals of --goal and --near."""
        return [*(parse_goal(text, start) for text in self.goal_texts), *([Near(start)] if self.near else [])]

    def _build_main_goals(self) -> list[Goal]:
        if self.to is None and self.rotation is None:
            return []
        joint = self._require_joint("--to" if self.to is not None else "--rotation")
        if self.rotation is None:
            return [Position(joint, self.to or (), root=self.root)]
        if self.to is None:
            return [Orientation(joint, self.rotation, root=self.root)]
        return [Place(joint, self.to, self.rotation, root=self.root)]

    def _build_other_goals(self, start: Pose) -> list[Goal]:
        """Build the further goals of the same joint."""
        goals: list[Goal] = []
        axis_option: dict[str, Any] = {} if self.axis is None else {"axis": self.axis}
        if self.axis is not None and self.direction is None and self.look_at is None:
            raise InputError(
                "--axis says which axis of the joint --direction or --look-at X Y Z means: give one of them"
            )
        if self.direction is not None:
            goals.append(Direction(self._require_joint("--direction"), self.direction, root=self.root, **axis_option))
        if self.look_at is not None:
            if self.root is not None and not (self.to or self.rotation or self.direction or self.pole):
                raise InputError("--look-at takes no --root; --goal 'look-at JOINT X Y Z over=a,b' names what turns")
            goals.append(LookAt(self._require_joint("--look-at"), self.look_at, **axis_option))
        if self.pole is not None:
            tip = self._require_joint("--pole")
            goals.append(Pole(self._find_bend_joint(start, tip), self.pole, root=self.root, tip=tip))
        return goals

    def _find_bend_joint(self, start: Pose, tip: str) -> str:
        """Find the bend joint of --pole. It is the last moving joint above the tip."""
        skeleton = start.skeleton
        chain = [name for name in skeleton.chain(self.root, tip) if skeleton[name].kind != Kind.FIXED]
        if len(chain) < 2:  # noqa: PLR2004
            raise InputError(f"--pole turns a limb of two joints or more; above {tip!r} there are {len(chain)}")
        return chain[-1]

    def _require_joint(self, option: str) -> str:
        if self.joint is None:
            raise InputError(f"{option} needs --joint JOINT: it is that joint's target")
        return self.joint


def build_goals(
    first_group: GoalOptions, other_groups: Sequence[GoalOptions], start: Pose, *, includes_main: bool = True
) -> tuple[Goal, ...]:
    """Build the goals of all --joint groups, in order.

    The goals of --goal and --near follow; InputError if there is none.

    Without `includes_main` the targets of the first --joint are in a table.
    """
    goals_by_group = [
        first_group.build_joint_goals(start, includes_main=includes_main),
        *(group.build_joint_goals(start) for group in other_groups),
    ]
    for group, goals in zip((first_group, *other_groups), goals_by_group, strict=True):
        if other_groups and includes_main and not goals:
            raise InputError(
                f"--joint {group.joint} has no target of its own: --to, --rotation, --direction and --look-at belong "
                "to the --joint before them"
            )
    all_goals = [goal for goals in goals_by_group for goal in goals]
    all_goals += first_group.build_word_goals(start)
    if includes_main and all(isinstance(goal, Near) for goal in all_goals):
        raise InputError(
            "give a target: --joint JOINT with --to X Y Z, --rotation W X Y Z, --direction or --look-at; "
            "--goal 'KIND JOINT NUMBERS'; or many with --targets FILE"
        )
    return tuple(all_goals)


def make_solver(
    name: str,
    start: Pose,
    goals: tuple[Goal, ...],
    prefer: Prefer,
    options: Sequence[str] = (),
    *,
    free_root: bool = False,
    natural: bool | None = None,
    **flags: Any,
) -> solvers.Solver:
    """Build the solver from its name and options.

    `options` are texts name=value, `flags` the options with a flag of their own (None: unset).

    "auto" selects the default solver; if it lacks an option, the first of its engine, levenberg_marquardt, ccd and the
    others with that option. InputError for an option unknown to the named solver, or for "auto" to every solver.
    """
    flag_values = {
        key: value.value if isinstance(value, StrEnum) else value for key, value in flags.items() if value is not None
    }
    if name != "auto":
        choose_solver(name, start, goals, prefer, natural=natural)  # raises if natural poses are not available
        _check_option_names(name, flag_values)
        return solvers.make_solver(name, **_merge_options(name, options, flag_values))
    if options:
        raise InputError("--option needs --solver NAME: it is that solver's own; `poise solvers` lists them")
    default_solver = choose_solver("auto", start, goals, prefer, free_root=free_root, natural=natural)
    for candidate_name in (default_solver.name, "levenberg_marquardt", "ccd", *solvers.names()):
        if flag_values.keys() <= _list_option_names(candidate_name):
            return replace_finisher(default_solver, solvers.make_solver(candidate_name, **flag_values))
    raise InputError(
        f"no solver has all of {_format_flags(flag_values)}; name one with --solver: {', '.join(solvers.names())}"
    )


def _merge_options(name: str, options: Sequence[str], flags: dict[str, Any]) -> dict[str, Any]:
    """Merge both kinds of options. InputError for an option given twice."""
    parsed_options = parse_options(type(solvers.make_solver(name)), options, name)
    repeated_names = sorted(parsed_options.keys() & flags.keys())
    if repeated_names:
        repeated_name = repeated_names[0]
        raise InputError(
            f"the option {repeated_name} is given twice: as --{repeated_name} and as --option {repeated_name}=..."
        )
    return {**parsed_options, **flags}


def _check_option_names(name: str, flags: dict[str, Any]) -> None:
    unknown_names = flags.keys() - _list_option_names(name)
    if unknown_names:
        raise InputError(f"the solver {name} has no {_format_flags(unknown_names)}")


def _list_option_names(name: str) -> set[str]:
    return {parameter.name for parameter in list_parameters(type(solvers.make_solver(name)))}


def _format_flags(names: Any) -> str:
    return ", ".join(f"--{name}" for name in sorted(names))


# --- Repeated --joint options ----------------------------------------------------------------------------------------
#
# Each one begins a group; the target options after it belong to that group.


_GROUP_OPTION = "--joint"
# parameter names of a group
_GROUP_OPTION_NAMES = ("joint", "root", "to", "rotation", "direction", "axis", "look_at", "pole")
_META_KEY = "poise.groups"  # key of the further groups in the context's meta


class SplitArguments(NamedTuple):
    """Split command line: words of the first group, and further groups."""

    first_words: list[str]
    other_groups: list[list[str]]


class GroupedCommand(TyperCommand):
    """Command with repeatable --joint. `read_groups` returns the groups after the first."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the first group with all shared options. Each further group is parsed by itself."""
        group_options = [option for option in self.params if option.name in _GROUP_OPTION_NAMES]
        first_words, groups = split_groups(
            args, {text: option.nargs for option in group_options for text in option.opts}
        )
        group_command = TyperCommand(self.name, params=group_options)
        ctx.meta[_META_KEY] = [
            group_command.make_context(ctx.info_name, group, parent=ctx.parent).params for group in groups
        ]
        return super().parse_args(ctx, first_words)


def split_groups(words: Sequence[str], value_counts: dict[str, int]) -> SplitArguments:
    """Split a command line at repeated --joint options.

    Parameters
    ----------
    words
        The words after the command.
    value_counts
        Number of values of each option of a group.

    Raises
    ------
    InputError
        For an option repeated within a group.
    """
    shared_words: list[str] = []
    groups: list[list[str]] = [[]]
    used_options: set[str] = set()
    remaining = list(words)
    while remaining:
        option, equals, _ = remaining[0].partition("=")
        if option not in value_counts:
            shared_words.append(remaining.pop(0))
            continue
        if option == _GROUP_OPTION and option in used_options:
            groups.append([])
            used_options = set()
        if option in used_options:
            raise InputError(f"{option} is given twice for one --joint; it belongs to the --joint before it")
        used_options.add(option)
        word_count = 1 + value_counts[option] - bool(equals)
        groups[-1] += remaining[:word_count]
        remaining = remaining[word_count:]
    return SplitArguments(shared_words + groups[0], groups[1:])


def read_groups(context: typer.Context) -> list[GoalOptions]:
    """Return the goal options of the groups after the first."""
    group_params: list[dict[str, Any]] = context.meta.get(_META_KEY, [])
    return [GoalOptions(**params, near=False, goal_texts=()) for params in group_params]
