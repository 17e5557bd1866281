"""Old names of options and their replacements.

Old names work for one more version, with a warning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from poise.cli.terminal import say
from poise.errors import InputError


class RenamedOption(NamedTuple):
    """Old option: its number of values, and its replacement.

    `{0}` in the replacement is its first value.
    """

    value_count: int
    replacement: tuple[str, ...]

    def format_words(self, values: Sequence[str]) -> list[str]:
        """Format the replacement words for values or placeholder names."""
        return [word.format(*values) for word in self.replacement]


_FROM_CLIP = {"--from-clip": RenamedOption(1, ("--clip", "{0}"))}
_QUICK_EFFORT = {"--quick": RenamedOption(0, ("--effort", "quick"))}
RENAMED_OPTIONS: dict[str, dict[str, RenamedOption]] = {
    "solve": _FROM_CLIP,
    "plant": _FROM_CLIP,
    "lock": _FROM_CLIP,
    "compare": {
        "--chain": RenamedOption(2, ("--root", "{0}", "--joint", "{1}")),
        **_QUICK_EFFORT,
        "--full": RenamedOption(0, ("--effort", "full")),
    },
    "bench": _QUICK_EFFORT,
}


def replace_old_options(command: str, words: Sequence[str]) -> list[str]:
    """Replace old option names of a command line.

    A warning on standard error is printed for each old name.

    Parameters
    ----------
    command
        The command.
    words
        The words after it on the command line.

    Raises
    ------
    InputError
        For an old option without its values, or given together with its new name.
    """
    renamed_options, remaining, new_words, replaced = (
        RENAMED_OPTIONS.get(command, {}),
        list(words),
        list[str](),
        dict[str, str](),
    )
    while remaining and remaining[0] != "--":
        name, equals, value = remaining[0].partition("=")
        if name not in renamed_options:
            new_words.append(remaining.pop(0))
            continue
        del remaining[0]
        values = ([value] if equals else []) + remaining
        renamed = renamed_options[name]
        usage = " ".join(renamed.format_words(("ROOT", "JOINT") if renamed.value_count > 1 else ("NAME",)))
        if len(values) < renamed.value_count:
            raise InputError(f"{name} is written {usage} now; its values are missing")
        if renamed.replacement[0] in replaced:
            raise InputError(f"give {replaced[renamed.replacement[0]]} or {name}, not both")
        replaced |= {word: name for word in renamed.replacement if word.startswith("--")}
        new_words += renamed.format_words(values)
        remaining = values[renamed.value_count :]
        say(f"note: {name} is written {usage} now; the next version does not know the old name", err=True)
    options = {word.partition("=")[0] for word in words[: len(words) - len(remaining)]}
    for usage, name in replaced.items():
        if usage in options:
            raise InputError(f"give {name} or {usage}, not both")
    return new_words + remaining
