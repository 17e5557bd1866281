"""Joint stiffness, and the step size it leaves to each joint."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from poise.errors import InputError
from poise.maths.arrays import Floats, real, short
from poise.maths.remember import remember
from poise.model.other_names import matching
from poise.model.skeleton import Skeleton

Stiffness: TypeAlias = float | tuple[tuple[str, float], ...]  # for all joints, or for some by name, role or glob

_GLOB = frozenset("*?[")


def checked_stiffness(value: Any) -> Stiffness:
    """Check a stiffness for all joints, or pairs for some.

    Pairs hold a name, role or glob, and a number; InputError for anything else.
    """
    if not isinstance(value, Mapping | tuple):
        return _mu(value, "stiffness")
    pairs: tuple[Any, ...] = tuple(value.items()) if isinstance(value, Mapping) else value
    if not all(isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):  # noqa: PLR2004
        raise InputError(f"stiffness is a number, or joint=number for some joints, not {short(value)}")
    return tuple((name, _mu(mu, f"stiffness of {name!r}")) for name, mu in pairs)


def _mu(value: Any, what: str) -> float:
    number = real(value, what)
    if not 0.0 <= number < math.inf:
        raise InputError(f"{what} must be a finite number from 0 up, not {short(value)}")
    return number


def eases(skeleton: Skeleton, stiffness: Stiffness) -> Floats:
    """Compute the mobility 1 / (1 + mu) of each row. Later names override earlier ones.

    Raises UnknownNameError for unknown names, and for globs without a match.
    """
    return remember(skeleton, "eases", stiffness, lambda: _eases(skeleton, stiffness))


def _eases(skeleton: Skeleton, stiffness: Stiffness) -> Floats:
    if isinstance(stiffness, float | int):
        return np.full(len(skeleton), 1.0 / (1.0 + stiffness))
    found = np.ones(len(skeleton))
    for name, mu in stiffness:
        is_glob = name not in skeleton and not _GLOB.isdisjoint(name)
        rows = matching(name, skeleton.names, skeleton.aliases) if is_glob else [skeleton.index(name)]
        found[rows] = 1.0 / (1.0 + mu)
    return found
