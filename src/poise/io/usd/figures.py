"""Skeletons and clips of UsdSkel. Each skeleton is below a fixed joint at its prim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from poise.errors import FileError, listed
from poise.io.child.ask import ChildAnswer
from poise.io.numbers import LARGEST
from poise.io.usd.matrices import parts_of
from poise.maths import rotations
from poise.maths.arrays import Floats, frozen
from poise.model.clip import KeyedClip
from poise.model.rig import Skin
from poise.model.skeleton import Kind, Skeleton
from poise.model.tracks import Track

_CHANNELS = (("translations", "translation", 3), ("rotations", "rotation", 4), ("scales", "scale", 3))


@dataclass(frozen=True, eq=False)
class SkelPart:
    """One skeleton of the stage: path, joint rows and animation. The rows are by joint path."""

    path: str
    rows: dict[str, int]
    animation: str


@dataclass(frozen=True, eq=False)
class Figures:
    """All skeletons of a stage as rows of one."""

    skeleton: Skeleton
    parts: list[SkelPart]
    skins: tuple[Skin, ...]


def figures_of(answer: ChildAnswer, notes: list[str], units: dict[str, Any]) -> Figures:
    """Build the joints of every skeleton. FileError for arrays of inconsistent sizes."""
    names: list[str] = []
    parents: list[int] = []
    kinds: list[int] = []
    matrices: list[Floats] = []
    binds: list[tuple[str, list[int], Floats]] = []
    parts: list[SkelPart] = []
    sources: list[str] = []
    for told in answer.header["skeletons"]:
        base = len(names)
        joints: list[str] = told["joints"]
        if len(set(joints)) < len(joints):
            raise FileError(answer.path, "its joints have the same path twice", place=told["path"])
        rows = {path: base + 1 + i for i, path in enumerate(joints)}
        above = [_parent(path, rows, base) for path in joints]
        if any(parent >= row for parent, row in zip(above, rows.values(), strict=True)):
            raise FileError(answer.path, "its joints are not listed after their parents", place=told["path"])
        rest, bind = _transforms(answer, told, [parent - base - 1 for parent in above], notes)
        own, below = told["path"].rsplit("/", 1)[-1], [path.rsplit("/", 1)[-1] for path in joints]
        names += [f"{own}_skeleton" if own in below else own, *below]
        sources += [told["path"], *(f"{told['path']}:{path}" for path in joints)]
        parents += [-1, *above]
        kinds += [int(Kind.FIXED), *[int(Kind.BALL)] * len(joints)]
        place = _checked(answer, np.array(told["place"], dtype=np.float64).reshape(1, 16))
        matrices += [place, rest]
        binds.append((names[base], list(rows.values()), bind))
        parts.append(SkelPart(told["path"], rows, told["animation"]))
        if told["moves"]:
            notes.append(f"the animation of the prim {told['path']} itself is not read")
    offsets, turns, scales, sheared = parts_of(np.concatenate(matrices))
    if sheared.any():
        bad = listed(names[i] for i in np.flatnonzero(sheared))
        notes.append(f"sheared rest transforms are not supported; only their rotation and scale were kept: {bad}")
    skeleton = Skeleton.build(
        names, parents, kinds, offsets=offsets, rotations=turns, scales=scales, source_ids=sources, **units
    )
    again = [new for new, old in zip(skeleton.names, names, strict=True) if new != old]
    if again:
        notes.append(f"joints with a duplicate name were renamed: {listed(again)}")
    return Figures(skeleton, parts, tuple(_skin(skeleton, *bind) for bind in binds if len(bind[2])))


def _skin(skeleton: Skeleton, name: str, rows: list[int], bind: Floats) -> Skin:
    matrices = bind.reshape(-1, 4, 4).transpose(0, 2, 1).copy()
    matrices.setflags(write=False)
    return Skin(name, tuple(skeleton.names[row] for row in rows), matrices)


def _parent(path: str, rows: dict[str, int], base: int) -> int:
    """Find the row of the nearest joint above a path. The skeleton's own row where there is none."""
    while "/" in path:
        path = path.rsplit("/", 1)[0]
        if path in rows:
            return rows[path]
    return base


def _transforms(
    answer: ChildAnswer, told: dict[str, Any], parents: list[int], notes: list[str]
) -> tuple[Floats, Floats]:
    """Read rest and bind transforms, (n, 16) each. Rest is relative to the parents, bind in the world."""
    n = len(parents)
    given = [answer.blocks[told[name]] for name in ("rest", "bind")]
    for name, block in zip(("rest", "bind"), given, strict=True):
        if block.size not in (0, 16 * n):
            reason = f"{n} joints need {n} {name} transforms; there are {block.size / 16:g}"
            raise FileError(answer.path, reason, place=told["path"])
    rest, bind = (_checked(answer, block.reshape(-1, 16)) for block in given)
    if not n:
        return np.zeros((0, 16)), np.zeros((0, 16))
    if not len(rest) and not len(bind):
        raise FileError(answer.path, "has neither rest nor bind transforms", place=told["path"])
    if len(rest):
        return rest, bind if len(bind) else np.zeros((0, 16))
    notes.append(f"the skeleton {told['path']} has no rest transforms; its bind pose is used as its rest pose")
    world = bind.reshape(-1, 4, 4)
    if (np.abs(np.linalg.det(world)) < 1e-300).any():  # noqa: PLR2004
        raise FileError(answer.path, "a bind transform has no inverse", place=told["path"])
    local = [m if p < 0 else m @ np.linalg.inv(world[p]) for m, p in zip(world, parents, strict=True)]
    return np.array(local).reshape(-1, 16), bind


def _checked(answer: ChildAnswer, values: Floats) -> Floats:
    if not (np.abs(values) <= LARGEST).all():  # also catches NaN
        raise FileError(answer.path, "it holds a transform with a number that is not finite or too large")
    return values


# --- animations ----------------------------------------------------------------------------------


def clips_of(answer: ChildAnswer, figures: Figures, notes: list[str]) -> tuple[KeyedClip, ...]:
    """Build a clip for each animation of a skeleton. Those bound to one come first, then those matching its joints."""
    clips: list[KeyedClip] = []
    rate = answer.header["rate"]
    for told in answer.header["animations"]:
        part = _part(told, figures.parts)
        if part is None:
            notes.append(f"the animation {told['path']} moves no joint of a skeleton in the file and is left out")
            continue
        clip = _clip(answer, told, part, figures.skeleton, rate if rate > 0.0 else 24.0, notes)
        if clip is not None:
            clips.append(clip)
    return tuple(clips)


def _part(told: dict[str, Any], parts: list[SkelPart]) -> SkelPart | None:
    bound = [part for part in parts if part.animation == told["path"]]
    fitting = [part for part in parts if told["joints"] and set(told["joints"]) <= set(part.rows)]
    return next((part for part in [*bound, *fitting]), None)


def _clip(
    answer: ChildAnswer, told: dict[str, Any], part: SkelPart, skeleton: Skeleton, rate: float, notes: list[str]
) -> KeyedClip | None:
    codes = answer.block(told["times"], answer.blocks[told["times"]].shape)
    joints: list[str] = told["joints"]
    values: dict[str, Floats] = {}
    for name, path, width in _CHANNELS:
        block = None if told[name] is None else answer.blocks[told[name]]
        if block is None or block.size != len(codes) * len(joints) * width:
            notes.append(f"the animation {told['path']} does not have as many {name} as joints and is left out")
            return None
        values[path] = answer.block(told[name], (len(codes), len(joints), width))
    if not values["rotation"].any(axis=-1).all():
        raise FileError(answer.path, "holds a rotation of zero length", place=told["path"])
    if max(np.abs(block).max(initial=0.0) for block in values.values()) > LARGEST:
        raise FileError(answer.path, "holds a number too large", place=told["path"])
    times = (codes - codes[0]) / rate
    frozen(times)
    unknown = [joint for joint in joints if joint not in part.rows]
    if unknown:
        notes.append(f"the animation {told['path']} moves joints missing from its skeleton: {listed(unknown)}")
    name = told["path"].rsplit("/", 1)[-1]
    if codes[0] != 0.0:
        notes.append(f"animation {name!r} begins at {codes[0] / rate:.6g} s in the file; its clip begins at 0")
    tracks = [
        _track(part.rows[joint], path, times, values[path][:, k])
        for k, joint in enumerate(joints)
        if joint in part.rows
        for _, path, _ in _CHANNELS
    ]
    return KeyedClip(skeleton, tuple(tracks), name) if tracks else None


def _track(row: int, path: Any, times: Floats, values: Floats) -> Track:
    values = rotations.normalised(values) if path == "rotation" else values.copy()
    frozen(values)
    return Track(row, path, "LINEAR", times, values)
