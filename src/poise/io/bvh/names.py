"""Joint names of a new BVH hierarchy: one word each."""

from __future__ import annotations

import re

import numpy as np

from poise.errors import listed
from poise.io.bvh.document import BvhName
from poise.model.joints import unique_names
from poise.model.skeleton import Skeleton

# Blanks end a name in most readers, line breaks in all, braces open and close joints; control characters and direction
# marks are invisible.
_NOT_PLAIN = re.compile("[\\s{}\\x00-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]+")
_NAMELESS = "joint"


def find_file_names(skeleton: Skeleton) -> tuple[str, ...]:
    """Find the names of the joints in a new BVH hierarchy.

    Blanks, line breaks, braces and control characters become `_`; a number is added if the result is in use. Names read
    from a BVH file stay, and so do names in trees that are not written.

    Parameters
    ----------
    skeleton
        The joints.

    Returns
    -------
    tuple of str
        A name for each row.
    """
    rows, sources = _written(skeleton), skeleton.source_ids or (None,) * len(skeleton)
    wanted = [
        _plain(name) if rows[i] and not isinstance(source, BvhName) else name
        for i, (name, source) in enumerate(zip(skeleton.names, sources, strict=True))
    ]
    changed = [i for i, (old, new) in enumerate(zip(skeleton.names, wanted, strict=True)) if old != new]
    if not changed:
        return skeleton.names
    kept = [name for name, new in zip(skeleton.names, wanted, strict=True) if name == new]
    unique = unique_names([*kept, *(wanted[i] for i in changed)])[len(kept) :]
    for i, name in zip(changed, unique, strict=True):
        wanted[i] = name
    return tuple(wanted)


def describe_renames(old: tuple[str, ...], new: tuple[str, ...]) -> str:
    """List the renamed joints in a sentence.

    Parameters
    ----------
    old, new
        The original names and those in the file, a pair for each joint.
    """
    pairs = listed(f"{a} -> {b}" for a, b in zip(old, new, strict=True) if a != b)
    return f"names in a BVH file have no blanks, line breaks or braces, so that joints are renamed: {pairs}"


def find_roots(skeleton: Skeleton) -> list[int]:
    """Find the roots of moving trees, else the first root.

    Trees without moving joints, such as a glTF's mesh nodes, hold no motion, and most programs refuse a BVH file with
    several roots.
    """
    roots = np.flatnonzero(skeleton.parents < 0)
    moving = [int(root) for root in roots if skeleton.moving_depth[root] > 0]
    return moving or [int(root) for root in roots[:1]]


def _written(skeleton: Skeleton) -> list[bool]:
    """Return for each row whether its tree is written."""
    roots, below = set(find_roots(skeleton)), list[bool]()
    for row, parent in enumerate(skeleton.parents.tolist()):
        below.append(row in roots if parent < 0 else below[parent])
    return below


def _plain(name: str) -> str:
    return _NOT_PLAIN.sub("_", name.strip()) or _NAMELESS
