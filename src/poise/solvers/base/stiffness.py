"""Parsing of joint stiffness, and joint weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from poise.errors import InputError
from poise.maths.arrays import (
    Floats,
    abbreviate,
    check_real,
)
from poise.model.joint_tree import match_names
from poise.model.skeleton import Skeleton
from poise.runtime.result_cache import get_or_compute

Stiffness: TypeAlias = float | tuple[tuple[str, float], ...]  # for all joints, or for some by name, role or glob
_GLOB_CHARACTERS = frozenset("*?[")


def check_stiffness(value: Any) -> Stiffness:
    """Check a stiffness for all joints, or pairs for some.

    Pairs hold a name, role or glob, and a number; InputError for anything else.
    """
    if not isinstance(value, Mapping | tuple):
        return _check_stiffness_number(value, "stiffness")
    pairs: tuple[Any, ...] = tuple(value.items()) if isinstance(value, Mapping) else value
    if not all(isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):  # noqa: PLR2004
        raise InputError(f"stiffness is a number, or joint=number for some joints, not {abbreviate(value)}")
    return tuple((name, _check_stiffness_number(mu, f"stiffness of {name!r}")) for name, mu in pairs)


def _check_stiffness_number(value: Any, label: str) -> float:
    number = check_real(value, label)
    if not 0.0 <= number < math.inf:
        raise InputError(f"{label} must be a finite number from 0 up, not {abbreviate(value)}")
    return number


def compute_joint_weights(skeleton: Skeleton, stiffness: Stiffness) -> Floats:
    """Compute joint weights 1 / (1 + mu) from stiffness mu. Later names override earlier ones.

    Raises UnknownNameError for unknown names, and for globs without a match.
    """
    return get_or_compute(skeleton, "joint weights", stiffness, lambda: _compute_joint_weights(skeleton, stiffness))


def _compute_joint_weights(skeleton: Skeleton, stiffness: Stiffness) -> Floats:
    if isinstance(stiffness, float | int):
        return np.full(len(skeleton), 1.0 / (1.0 + stiffness))
    joint_weights = np.ones(len(skeleton))
    for name, mu in stiffness:
        is_glob = name not in skeleton and not _GLOB_CHARACTERS.isdisjoint(name)
        joint_indices = match_names(name, skeleton.names, skeleton.aliases) if is_glob else [skeleton.index(name)]
        joint_weights[joint_indices] = 1.0 / (1.0 + mu)
    return joint_weights
