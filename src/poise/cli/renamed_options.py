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
    new_arguments: tuple[str, ...]

    def format_arguments(self, values: Sequence[str]) -> list[str]:
        """Format the replacement for values or placeholder names."""
        return [argument.format(*values) for argument in self.new_arguments]


_FROM_CLIP = {"--from-clip": RenamedOption(1, ("--clip", "{0}"))}
_LEGS = {"--feet": RenamedOption(1, ("--legs", "{0}"))}
_QUICK_EFFORT = {"--quick": RenamedOption(0, ("--effort", "quick"))}
RENAMED_OPTIONS: dict[str, dict[str, RenamedOption]] = {
    "solve": _FROM_CLIP,
    "plant": _FROM_CLIP | _LEGS,
    "lock": _FROM_CLIP | _LEGS,
    "compare": {
        "--chain": RenamedOption(2, ("--root", "{0}", "--joint", "{1}")),
        **_QUICK_EFFORT,
        "--full": RenamedOption(0, ("--effort", "full")),
    },
    "bench": _QUICK_EFFORT,
}


def replace_old_options(command: str, arguments: Sequence[str]) -> list[str]:
    """Replace old option names of a command line.

    A warning on standard error is printed for each old name.

    Parameters
    ----------
    command
        The command.
    arguments
        The arguments after it on the command line.

    Raises
    ------
    InputError
        For an old option without its values, or given together with its new name.
    """
    renamed_options, remaining, replaced_arguments, old_name_by_new = (
        RENAMED_OPTIONS.get(command, {}),
        list(arguments),
        list[str](),
        dict[str, str](),
    )
    while remaining and remaining[0] != "--":
        name, equals, value = remaining[0].partition("=")
        if name not in renamed_options:
            replaced_arguments.append(remaining.pop(0))
            continue
        del remaining[0]
        values = ([value] if equals else []) + remaining
        renamed_option = renamed_options[name]
        usage = " ".join(
            renamed_option.format_arguments(("ROOT", "JOINT") if renamed_option.value_count > 1 else ("NAME",))
        )
        if len(values) < renamed_option.value_count:
            raise InputError(f"{name} is written {usage} now; its values are missing")
        if renamed_option.new_arguments[0] in old_name_by_new:
            raise InputError(f"give {old_name_by_new[renamed_option.new_arguments[0]]} or {name}, not both")
        old_name_by_new |= {argument: name for argument in renamed_option.new_arguments if argument.startswith("--")}
        replaced_arguments += renamed_option.format_arguments(values)
        remaining = values[renamed_option.value_count :]
        say(f"note: {name} is written {usage} now; the next version does not know the old name", err=True)
    used_options = {argument.partition("=")[0] for argument in arguments[: len(arguments) - len(remaining)]}
    for new_name, old_name in old_name_by_new.items():
        if new_name in used_options:
            raise InputError(f"give {old_name} or {new_name}, not both")
    return replaced_arguments + remaining
