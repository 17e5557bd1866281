"""Repeated --joint options. Each one begins a group; the target options after it belong to that group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand

from poise.cli.given.asked import GoalOptions
from poise.errors import InputError

_LEADER = "--joint"
_OWN = ("joint", "root", "to", "rotation", "direction", "axis", "look_at", "pole")  # parameter names of a group
_META = "poise.groups"  # key of the further groups in the context's meta


class Split(NamedTuple):
    """Split command line: words of the first group, and further groups."""

    words: list[str]
    groups: list[list[str]]


class GroupedCommand(TyperCommand):
    """Command with repeatable --joint. `read_groups` returns the groups after the first."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the first group with all shared options. Each further group is parsed by itself."""
        own = [option for option in self.params if option.name in _OWN]
        words, groups = split(args, {text: option.nargs for option in own for text in option.opts})
        lone = TyperCommand(self.name, params=own)
        ctx.meta[_META] = [lone.make_context(ctx.info_name, group, parent=ctx.parent).params for group in groups]
        return super().parse_args(ctx, words)


def split(words: Sequence[str], counts: dict[str, int]) -> Split:
    """Split a command line at repeated --joint options.

    Parameters
    ----------
    words
        The words after the command.
    counts
        Number of values of each option of a group.

    Raises
    ------
    InputError
        For an option repeated within a group.
    """
    rest: list[str] = []
    groups: list[list[str]] = [[]]
    seen: set[str] = set()
    left = list(words)
    while left:
        option, given, _ = left[0].partition("=")
        if option not in counts:
            rest.append(left.pop(0))
            continue
        if option == _LEADER and option in seen:
            groups.append([])
            seen = set()
        if option in seen:
            raise InputError(f"{option} is given twice for one --joint; it belongs to the --joint before it")
        seen.add(option)
        count = 1 + counts[option] - bool(given)
        groups[-1] += left[:count]
        left = left[count:]
    return Split(rest + groups[0], groups[1:])


def groups_in(context: typer.Context) -> list[GoalOptions]:
    """Return the goal options of the groups after the first."""
    found: list[dict[str, Any]] = context.meta.get(_META, [])
    return [GoalOptions(**params, near=False, words=()) for params in found]
