"""Old names of options. They work for one version more, with a warning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from poise.cli.terminal import say
from poise.errors import InputError


class Renamed(NamedTuple):
    """Old option: its number of values, and its replacement.

    `{0}` in the replacement is its first value.
    """

    values: int
    now: tuple[str, ...]

    def write(self, given: Sequence[str]) -> list[str]:
        """Format the replacement words for values or placeholder names."""
        return [word.format(*given) for word in self.now]


_CLIP = {"--from-clip": Renamed(1, ("--clip", "{0}"))}
_QUICK = {"--quick": Renamed(0, ("--effort", "quick"))}
RENAMED: dict[str, dict[str, Renamed]] = {
    "solve": _CLIP,
    "plant": _CLIP,
    "lock": _CLIP,
    "compare": {
        "--chain": Renamed(2, ("--root", "{0}", "--joint", "{1}")),
        **_QUICK,
        "--full": Renamed(0, ("--effort", "full")),
    },
    "bench": _QUICK,
}


def renew(verb: str, words: Sequence[str]) -> list[str]:
    """Replace old option names of a command line.

    A warning on standard error is printed for each old name.

    Parameters
    ----------
    verb
        The command.
    words
        The words after it on the command line.

    Raises
    ------
    InputError
        For an old option without its values, or given together with its new name.
    """
    old, left, found, said = RENAMED.get(verb, {}), list(words), list[str](), dict[str, str]()
    while left and left[0] != "--":
        name, equals, value = left[0].partition("=")
        if name not in old:
            found.append(left.pop(0))
            continue
        del left[0]
        given = ([value] if equals else []) + left
        renamed = old[name]
        today = " ".join(renamed.write(("ROOT", "JOINT") if renamed.values > 1 else ("NAME",)))
        if len(given) < renamed.values:
            raise InputError(f"{name} is written {today} now; its values are missing")
        if renamed.now[0] in said:
            raise InputError(f"give {said[renamed.now[0]]} or {name}, not both")
        said |= {word: name for word in renamed.now if word.startswith("--")}
        found += renamed.write(given)
        left = given[renamed.values :]
        say(f"note: {name} is written {today} now; the next version does not know the old name", err=True)
    options = {word.partition("=")[0] for word in words[: len(words) - len(left)]}
    for today, name in said.items():
        if today in options:
            raise InputError(f"give {name} or {today}, not both")
    return found + left
