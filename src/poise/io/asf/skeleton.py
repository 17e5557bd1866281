"""Skeleton of ASF bones.

A bone rotates about the end of its parent. With C the rotation of its own axes and M that of its values, the file's
convention is

    world = world_parent . T(end of the parent) . C . M . C^-1

A joint here has the frame world . C, so its values rotate it about its own axes: A = C_parent^-1 . T . C and J = M. The
values rotate about fixed axes in their order in the file: "rx ry rz" is Rz Ry Rx.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.io.asf.parse import ROOT, TURNS, AsfFile, Bone
from poise.maths import euler, rotations
from poise.maths.arrays import Floats
from poise.model.joints import unique_names
from poise.model.limits import EulerBox, Limit, Range
from poise.model.skeleton import Kind, Skeleton

_INCH = 0.0254
_FREE = (-np.inf, np.inf)


class Turning(NamedTuple):
    """Rotation order of a row and the column of each angle. The letters are in the order of the product."""

    order: str
    values: tuple[int, ...]  # column of each letter's value in the bone's row of an AMC file; -1: none


def turning_of(dof: tuple[str, ...]) -> Turning:
    """Find the rotation order of degrees of freedom.

    The first rotation is the last letter. A missing axis never comes first. A single missing axis comes in the middle,
    so the other two cannot cause gimbal lock.
    """
    letters = [word[1].upper() for word in dof if word in TURNS][::-1]
    missing = [letter for letter in "XYZ" if letter not in letters]
    order = "".join([*letters[:1], *missing, *letters[1:]])
    return Turning(order, tuple(dof.index(f"r{x.lower()}") if x in letters else -1 for x in order))


def rotation_of(angles: tuple[float, float, float], sequence: str) -> Floats:
    """Compute the rotation (4,) of angles about fixed axes [rad]. They rotate in a sequence: "XYZ" is Rz Ry Rx."""
    order = sequence[::-1]
    return euler.to_quaternion([angles["XYZ".index(letter)] for letter in order], order)


class Rows(NamedTuple):
    """The skeleton with the bone of each row after the root. Leaf ends have none."""

    skeleton: Skeleton
    bones: tuple[Bone, ...]


def build_skeleton(file: AsfFile) -> Rows:
    """Build the skeleton with a free root and ball joints.

    Every bone with a rotation is a ball, as in other files of characters.

    A bone with one value is a ball limited to one axis by its range.
    """
    bones = [file.bones[key] for key in file.parents]
    rows = {ROOT: 0} | {key: i for i, key in enumerate(file.parents, 1)}
    parents = [-1] + [rows[parent] for parent in file.parents.values()]
    own = np.array([rotations.IDENTITY] + [rotation_of(bone.axis, bone.sequence) for bone in bones])
    ends = np.array([np.zeros(3)] + [np.multiply(bone.direction, bone.length) for bone in bones])
    leaves = sorted(set(range(1, len(parents))) - set(parents))
    leaves = [row for row in leaves if ends[row].any()]
    names = unique_names([ROOT, *(bone.name for bone in bones), *(f"{bones[row - 1].name}_end" for row in leaves)])
    above = [*parents[1:], *leaves]
    offsets = rotations.rotate(rotations.inverse(own[above]), ends[above])
    turns = rotations.multiply(rotations.inverse(own[parents[1:]]), own[1:])
    still = np.tile(rotations.IDENTITY, (len(leaves), 1))
    skeleton = Skeleton.build(
        names,
        [-1, *above],
        [Kind.FREE, *(_kind(bone) for bone in bones), *([Kind.FIXED] * len(leaves))],
        offsets=np.concatenate([[file.root.position], offsets.reshape(-1, 3)]),
        rotations=np.concatenate(
            [[rotation_of(file.root.orientation, file.root.sequence)], turns.reshape(-1, 4), still]
        ),
        limits=[None, *(_limit(bone) for bone in bones), *([None] * len(leaves))],
        euler=[_written(file.root.order), *(_written(bone.dof) for bone in bones), *([""] * len(leaves))],
        source_ids=[ROOT, *(bone.name for bone in bones), *([None] * len(leaves))],
        metres_per_unit=None if file.length == 1.0 else _INCH / file.length,
    )
    return Rows(skeleton, tuple(bones))


def _turns(bone: Bone) -> list[str]:
    return [word for word in bone.dof if word in TURNS]


def _kind(bone: Bone) -> Kind:
    return Kind.BALL if _turns(bone) else Kind.FIXED


def _written(dof: tuple[str, ...]) -> str:
    """Format the rotation order with only the file's axes."""
    return "".join(word[1].upper() for word in dof if word in TURNS)[::-1]


def _limit(bone: Bone) -> Limit | None:
    """Build a range for one rotation value, else an Euler box. An axis missing in the box stays at zero."""
    given = dict(zip(bone.dof, bone.limits, strict=False))
    turns = _turns(bone)
    if len(turns) == 1:
        axis = np.eye(3)[TURNS.index(turns[0])]
        return Range(*given.get(turns[0], _FREE), (float(axis[0]), float(axis[1]), float(axis[2])), source="file")
    if not turns:
        return None
    x, y, z = (given.get(word, _FREE) if word in turns else (0.0, 0.0) for word in TURNS)
    box = EulerBox(turning_of(bone.dof).order, x=x, y=y, z=z, source="file")
    return box if box.bounded else None
