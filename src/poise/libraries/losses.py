"""Losses of a conversion, found by reading the file back. No table of format features is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from poise.errors import listed
from poise.maths.in_words import counted
from poise.model.clip import Clip
from poise.model.local import local_parts
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton

_STILL = 1e-6  # [file units, or quaternion components] smaller changes are no motion
_PLAIN = 1e-6  # deviation of a scale or unit from 1 that counts as none
_UNITS = {0.001: "millimetres", 0.01: "centimetres", 1.0: "metres"}


def unit_of(metres: float) -> str:
    """Format a unit: `centimetres`, or its length in metres."""
    known = next((name for size, name in _UNITS.items() if abs(metres / size - 1.0) < _PLAIN), None)
    return known or f"units of {metres:g} m"


def losses(before: Rig, after: Rig | None, meshes: int) -> tuple[str, ...]:
    """List the losses, a line each.

    before  the expected content of the file
    after   the content read back; None for a file of joint values only
    meshes  number of meshes of the source file
    """
    if after is None:
        return ("the skeleton: the file holds joint values only, and needs the rig as well",)
    return tuple(_of_rig(before, after, meshes))


def carried(clip: Clip, new: Skeleton) -> tuple[list[str], list[str]]:
    """Find joints displaced by a missing moving ancestor.

    Return the first ones of each chain, and all of them. A root of the new file keeps its old world position, so it is
    not displaced.

    A displaced joint is first of its chain if its parent in the new file is not displaced.
    """
    old, parts = clip.skeleton, local_parts(clip.poses)
    swings = [np.abs(part - part[:1]).max(axis=(0, 2), initial=0.0) for part in (parts.translation, parts.rotation)]
    moves = np.maximum(*swings) > _STILL
    hangs: list[bool] = []  # whether each joint is displaced
    first: list[str] = []
    for name, parent in zip(old.names, old.parents.tolist(), strict=True):
        lost = parent >= 0 and bool(moves[parent]) and old.names[parent] not in new.names
        is_root = name in new.names and new[name].parent is None
        hangs.append(parent >= 0 and not is_root and (hangs[parent] or lost))
        above = new[name].parent if name in new.names else None
        if hangs[-1] and above is not None and not hangs[old.index(above)]:
            first.append(name)
    return first, [name for name, hung in zip(old.names, hangs, strict=True) if hung and name in new.names]


def _of_rig(before: Rig, after: Rig, meshes: int) -> Iterator[str]:
    old, new = before.skeleton, after.skeleton
    gone = [name for name in old.names if name not in new.names]
    if gone:
        yield f"{counted(len(gone), 'joint')}: {listed(gone)}"
    limited = [_limited(skeleton) for skeleton in (old, new)]
    if limited[1] < limited[0]:
        yield f"limits of {counted(limited[0] - limited[1], 'joint')}"
    freed = [name for name in old.names if name in new.names and _freer(old, new, name)]
    if freed:
        yield f"the axes of {counted(len(freed), 'hinge or slide', 'hinges or slides')}: in the file they turn freely"
    open_now = [loop.name for loop in old.loops if loop.name not in {kept.name for kept in new.loops}]
    if open_now:
        yield f"{counted(len(open_now), 'closed loop')}, which other readers leave open: {listed(open_now)}"
    for what, count in _counts(old).items():
        if _counts(new)[what] < count:
            yield counted(count - _counts(new)[what], what)
    if meshes_of(after) < meshes:
        yield f"{counted(meshes - meshes_of(after), 'mesh', 'meshes')}, with materials and skins"
    if before.humanoid and not after.humanoid:
        yield f"the roles of {counted(len(before.humanoid), 'joint')}"
    if _is_scaled(before) and not _is_scaled(after):
        yield "scale of joints: it was applied to the lengths"
    if old.metres_per_unit is not None and new.metres_per_unit is None:
        yield f"the unit: lengths are in {unit_of(old.metres_per_unit)}, which the file cannot store"
    if old.up is not None and new.up is None:
        yield f"which way is up: {old.up}, which the file cannot store"


def _limited(skeleton: Skeleton) -> int:
    return sum(limit is not None for limit in skeleton.limits)


def _freer(old: Skeleton, new: Skeleton, name: str) -> bool:
    """Return whether a hinge or slide became a ball or free joint."""
    was, now = old[name].kind, new[name].kind
    return was in (Kind.HINGE, Kind.SLIDE) and now in (Kind.BALL, Kind.FREE)


def _counts(s: Skeleton) -> dict[str, int]:
    coupled = sum(coupling is not None for coupling in s.couplings)
    return {"coupling": coupled, "further name": len(s.aliases), "named chain": len(s.chains)}


def meshes_of(rig: Rig) -> int:
    """Count the meshes of a file. Without a document, count the known skins."""
    source: Any = rig.skeleton.source
    container, files = getattr(source, "container", None), getattr(source, "meshes", None)
    if container is not None:
        return len(container.json.get("meshes", ()))
    return len(rig.skins) if files is None else sum(map(len, files.values()))


def _is_scaled(rig: Rig) -> bool:
    plain = np.eye(3, 4)
    if (np.abs(rig.skeleton.B - plain) > _PLAIN).any():
        return True
    return any(_animates_scale(clip) for clip in rig.clips)


def _animates_scale(clip: Clip) -> bool:
    tracks: Any = getattr(clip, "tracks", None)
    if tracks is not None:
        return any(track.path == "scale" and bool((np.abs(track.values - 1.0) > _PLAIN).any()) for track in tracks)
    return clip.poses.scales is not None and bool((np.abs(clip.poses.scales - 1.0) > _PLAIN).any())
