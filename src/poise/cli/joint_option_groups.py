"""Groups of goal options, one for each --joint.

Each --joint begins a group; the target options after it belong to that group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand

from poise.cli.goal_options import GoalOptions
from poise.errors import InputError

_GROUP_OPTION = "--joint"
# parameter names of a group
_GROUP_OPTION_NAMES = ("joint", "root", "to", "rotation", "direction", "axis", "look_at", "pole")
_META_KEY = "poise.groups"  # key of the further groups in the context's meta


class SplitArguments(NamedTuple):
    """Split command line: arguments of the first group, and further groups."""

    first_arguments: list[str]
    later_groups: list[list[str]]


class GroupedCommand(TyperCommand):
    """Command with repeatable --joint. `read_later_groups` returns the groups after the first."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the first group with all shared options. Each further group is parsed by itself."""
        group_options = [option for option in self.params if option.name in _GROUP_OPTION_NAMES]
        first_arguments, groups = split_groups(
            args, {text: option.nargs for option in group_options for text in option.opts}
        )
        group_command = TyperCommand(self.name, params=group_options)
        ctx.meta[_META_KEY] = [
            group_command.make_context(ctx.info_name, group, parent=ctx.parent).params for group in groups
        ]
        return super().parse_args(ctx, first_arguments)


def split_groups(arguments: Sequence[str], value_counts: dict[str, int]) -> SplitArguments:
    """Split a command line at repeated --joint options.

    Parameters
    ----------
    arguments
        The arguments after the command.
    value_counts
        Number of values of each option of a group.

    Raises
    ------
    InputError
        For an option repeated within a group.
    """
    shared_arguments: list[str] = []
    groups: list[list[str]] = [[]]
    used_options: set[str] = set()
    remaining = list(arguments)
    while remaining:
        option, equals, _ = remaining[0].partition("=")
        if option not in value_counts:
            shared_arguments.append(remaining.pop(0))
            continue
        if option == _GROUP_OPTION and option in used_options:
            groups.append([])
            used_options = set()
        if option in used_options:
            raise InputError(f"{option} is given twice for one --joint; it belongs to the --joint before it")
        used_options.add(option)
        argument_count = 1 + value_counts[option] - bool(equals)
        groups[-1] += remaining[:argument_count]
        remaining = remaining[argument_count:]
    return SplitArguments(shared_arguments + groups[0], groups[1:])


def read_later_groups(context: typer.Context) -> list[GoalOptions]:
    """Return the goal options of the groups after the first."""
    group_params: list[dict[str, Any]] = context.meta.get(_META_KEY, [])
    return [GoalOptions(**params, near=False, goal_texts=()) for params in group_params]
