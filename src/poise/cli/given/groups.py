"""Several --joint in one call: each begins a group, and the options of a target belong to the --joint before them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand

from poise.cli.given.asked import GoalOptions
from poise.errors import InputError

_LEADER = "--joint"
_OWN = ("joint", "root", "to", "rotation", "direction", "axis", "look_at", "pole")  # the options of one group
_META = "poise.groups"  # the key under which a context keeps the groups after the first


class Split(NamedTuple):
    """A command line taken apart: the words with the first group, and the words of every further one."""

    words: list[str]
    groups: list[list[str]]


class GroupedCommand(TyperCommand):
    """A command that may be given --joint several times. `groups_in` tells what came after the first."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the first group with all other options, each further one by itself."""
        own = [option for option in self.params if option.name in _OWN]
        words, groups = split(args, {text: option.nargs for option in own for text in option.opts})
        lone = TyperCommand(self.name, params=own)
        ctx.meta[_META] = [lone.make_context(ctx.info_name, group, parent=ctx.parent).params for group in groups]
        return super().parse_args(ctx, words)


def split(words: Sequence[str], counts: dict[str, int]) -> Split:
    """Take a command line apart at the second and every further --joint.

    Parameters
    ----------
    words
        What was typed after the verb.
    counts
        How many values each option of a group has.

    Raises
    ------
    InputError
        For an option that a group has twice: only one of them would count.
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
    """What the groups after the first ask for."""
    found: list[dict[str, Any]] = context.meta.get(_META, [])
    return [GoalOptions(**params, near=False, words=()) for params in found]
