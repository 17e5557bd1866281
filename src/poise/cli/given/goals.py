"""Goals as text on the command line. Example: `--goal "position LeftHand 0.4 1.2 0.3 weight=2"`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from poise.errors import InputError, UnknownNameError
from poise.io.numbers import number
from poise.model.pose import Pose
from poise.problem.goals import GOALS, Balance, Goal, Near
from poise.solvers.base.parameters import Parameter, parameters, read_options

_NUMBERS = {"rotation": 4}  # length of an array argument; the default is three


def word_of(kind: type) -> str:
    """Format a goal class as its command line word: "look-at"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()


_KINDS = {word_of(kind): kind for kind in GOALS}

HELP = (
    f"a goal in words, KIND JOINT NUMBERS name=value: {', '.join(_KINDS)}. May be given several times: "
    '--goal "direction LeftHand 0 1 0 axis=1,0,0" --goal "near weight=0.5"'
)


def goal_of_words(text: str, start: Pose) -> Goal:
    """Parse a goal. The text is its kind, its joint, the numbers of its target, then name=value options.

    A Near has no joint and no numbers: it refers to the start pose. A Balance takes the supporting joints, or none.
    """
    words = _split(text)
    if not words:
        raise InputError("an empty goal; write KIND JOINT NUMBERS, such as 'position LeftHand 0.4 1.2 0.3'")
    kind = _KINDS.get(words[0].lower())
    if kind is None:
        raise UnknownNameError("goal", words[0], tuple(_KINDS))
    plain = [word for word in words[1:] if not _is_option(word, kind)]
    options = read_options(kind, [word for word in words[1:] if _is_option(word, kind)], f"a {words[0].lower()} goal")
    if kind is Near:
        if plain:
            raise InputError(f"near takes no joint and no numbers, only joints=a,b and weight=w; not {plain[0]!r}")
        return Near(start, **options)
    if kind is Balance:
        for name in plain:
            start.skeleton.index(name)
        return Balance(plain or None, **options)
    return kind(*_arguments(words[0], kind, plain, start), **options)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InputError(f"cannot read the goal {text!r}: {error}") from error


def _is_option(word: str, kind: type) -> bool:
    """Return whether a word is name=value. Joint names may contain an = as well."""
    name, equals, _ = word.partition("=")
    return bool(equals) and (name.isidentifier() or name.replace("-", "_") in {p.name for p in parameters(kind)})


def _arguments(word: str, kind: type, plain: Sequence[str], start: Pose) -> list[Any]:
    """Parse the joint and the arrays of a goal."""
    required = [p for p in parameters(kind) if p.required]
    sizes = [_NUMBERS.get(p.name, 3) for p in required[1:]]
    wanted = f"{word} JOINT" + "".join(f" {_letters(p)}" for p in required[1:])
    if len(plain) != 1 + sum(sizes):
        raise InputError(f"a goal is written '{wanted}'; got {len(plain)} words after {word!r}: {' '.join(plain)}")
    start.skeleton.index(plain[0])  # report an unknown joint before invalid numbers
    numbers = [_number(word, wanted) for word in plain[1:]]
    arrays: list[Any] = [plain[0]]
    for size in sizes:
        arrays.append(numbers[:size])
        numbers = numbers[size:]
    return arrays


def _letters(parameter: Parameter) -> str:
    return "W X Y Z" if _NUMBERS.get(parameter.name) else "X Y Z"


def _number(word: str, wanted: str) -> float:
    try:
        return number(word)
    except ValueError as error:
        raise InputError(f"a goal is written '{wanted}'; {word!r} is no number") from error
