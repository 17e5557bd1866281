"""What a skeleton looks for where no joint has exactly a name: its role, or the joints that a glob matches."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any

from poise.errors import UnknownNameError


def row_of_role(skeleton: Any, role: str, known: Iterable[str]) -> int:
    """Row of the joint of a skeleton that surely has a role; UnknownNameError lists the names that are `known`."""
    lookup = import_module("poise.model.roles.lookup")  # which stands above skeletons: roles are found in one
    row: int | None = lookup.row_of_role(skeleton, role)
    if row is None:
        raise UnknownNameError("joint", role, known, also=lookup.sure_roles(skeleton)) from None
    return row


def matching(pattern: str, names: Iterable[str], aliases: Iterable[str]) -> list[int]:
    """Rows of the names that a glob matches; UnknownNameError where there are none."""
    names = list(names)
    rows = [row for row, name in enumerate(names) if isinstance(pattern, str) and fnmatchcase(name, pattern)]
    if not rows:
        raise UnknownNameError("joint", pattern, [*names, *aliases])
    return rows
