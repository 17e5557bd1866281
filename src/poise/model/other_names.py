"""Joint lookup by humanoid role or glob pattern."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any

from poise.errors import UnknownNameError


def row_of_role(skeleton: Any, role: str, known: Iterable[str]) -> int:
    """Find the joint with a confident role, or raise UnknownNameError. The error lists `known_names`."""
    lookup = import_module("poise.model.roles.lookup")  # a layer above skeletons
    row: int | None = lookup.row_of_role(skeleton, role)
    if row is None:
        raise UnknownNameError("joint", role, known, also=lookup.sure_roles(skeleton)) from None
    return row


def matching(pattern: str, names: Iterable[str], aliases: Iterable[str]) -> list[int]:
    """Find the rows of names matching a glob. Raise UnknownNameError where there are none."""
    names = list(names)
    rows = [row for row, name in enumerate(names) if isinstance(pattern, str) and fnmatchcase(name, pattern)]
    if not rows:
        raise UnknownNameError("joint", pattern, [*names, *aliases])
    return rows
