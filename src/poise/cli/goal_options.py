"""Goals built from the options of `poise solve`.

Example: `--goal "position LeftHand 0.4 1.2 0.3 weight=2"`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

from poise.cli.within_text import WITHIN_HELP, parse_within
from poise.errors import InputError, UnknownNameError
from poise.io.text_parsing import parse_number
from poise.model.pose import Pose
from poise.model.skeleton import Kind
from poise.problem.goals import GOAL_CLASSES, Balance, Direction, Goal, LookAt, Near, Orientation, Place, Pole, Position
from poise.solvers.base.option_parsing import Parameter, list_parameters, parse_options

_ARRAY_LENGTHS = {"rotation": 4}  # length of an array argument; the default is three


def format_goal_kind(goal_class: type) -> str:
    """Format a goal class as its command line word: "look-at"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", goal_class.__name__).lower()


_GOAL_CLASSES = {format_goal_kind(kind): kind for kind in GOAL_CLASSES}

GOAL_HELP = (
    f"a goal in words, KIND JOINT NUMBERS name=value: {', '.join(_GOAL_CLASSES)}. May be given several times: "
    '--goal "direction LeftHand 0 1 0 axis=1,0,0" --goal "near weight=0.5". relative=JOINT measures the target in the '
    f"frame of another joint, within=PARTS allows a range about it: {WITHIN_HELP}"
)
_SHORT_NAMES = {"relative": "relative_to"}  # words of options with longer names in Python


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
    options = _parse_options(words, goal_class)
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


def _parse_options(words: Sequence[str], goal_class: type) -> dict[str, Any]:
    """Parse the words name=value of a goal. `within` has a language of its own."""
    label = f"a {words[0].lower()} goal"
    names = {parameter.name for parameter in list_parameters(goal_class)}
    plain_options: list[str] = []
    ranges: dict[str, Any] = {}
    for word in words[1:]:
        if not _is_option(word, goal_class):
            continue
        name, _, value = word.partition("=")
        long_name = _SHORT_NAMES.get(name, name)
        if name != "within" or name not in names:
            plain_options.append(f"{long_name}={value}" if long_name in names else word)
        elif ranges:
            raise InputError(f"the option within of {label} is given twice")
        else:
            ranges[name] = parse_within(value)
    return parse_options(goal_class, plain_options, label) | ranges


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

    def build_joint_goals(self, start: Pose, *, includes_target: bool = True) -> list[Goal]:
        """Build the goals of --joint: its target, then directions and a pole.

        Without `includes_target` the target is in a table.
        """
        return [*(self._build_target_goals() if includes_target else ()), *self._build_direction_goals(start)]

    def build_text_goals(self, start: Pose) -> list[Goal]:
        """Build the goals of --goal and --near."""
        return [*(parse_goal(text, start) for text in self.goal_texts), *([Near(start)] if self.near else [])]

    def _build_target_goals(self) -> list[Goal]:
        if self.to is None and self.rotation is None:
            return []
        joint = self._require_joint("--to" if self.to is not None else "--rotation")
        if self.rotation is None:
            return [Position(joint, self.to or (), root=self.root)]
        if self.to is None:
            return [Orientation(joint, self.rotation, root=self.root)]
        return [Place(joint, self.to, self.rotation, root=self.root)]

    def _build_direction_goals(self, start: Pose) -> list[Goal]:
        """Build the goals of --direction, --look-at and --pole."""
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
            goals.append(Pole(self._find_bending_joint(start, tip), self.pole, root=self.root, tip=tip))
        return goals

    def _find_bending_joint(self, start: Pose, tip: str) -> str:
        """Find the bending joint of --pole. It is the last moving joint above the tip."""
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
    first_group: GoalOptions, later_groups: Sequence[GoalOptions], start: Pose, *, includes_target: bool = True
) -> tuple[Goal, ...]:
    """Build the goals of all --joint groups, in order.

    The goals of --goal and --near follow; InputError if there is none.

    Without `includes_target` the targets of the first --joint are in a table.
    """
    goals_by_group = [
        first_group.build_joint_goals(start, includes_target=includes_target),
        *(group.build_joint_goals(start) for group in later_groups),
    ]
    for group, goals in zip((first_group, *later_groups), goals_by_group, strict=True):
        if later_groups and includes_target and not goals:
            raise InputError(
                f"--joint {group.joint} has no target of its own: --to, --rotation, --direction and --look-at belong "
                "to the --joint before them"
            )
    all_goals = [goal for goals in goals_by_group for goal in goals]
    all_goals += first_group.build_text_goals(start)
    if includes_target and all(isinstance(goal, Near) for goal in all_goals):
        raise InputError(
            "give a target: --joint JOINT with --to X Y Z, --rotation W X Y Z, --direction or --look-at; "
            "--goal 'KIND JOINT NUMBERS'; or many with --targets FILE"
        )
    return tuple(all_goals)
