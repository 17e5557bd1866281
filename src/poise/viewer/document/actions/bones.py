"""Rotate bones by hand: in the start pose, or as clip keys."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from poise.errors import InputError
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.limits import hinge_axis
from poise.model.pose import Pose
from poise.model.skeleton import Kind
from poise.viewer.document.actions.targets import grounded
from poise.viewer.document.chains import ChainTarget
from poise.viewer.document.document import Document
from poise.viewer.document.keys import Key, key_at
from poise.viewer.protocol import number, quaternion, text, truth, vector

_LONGEST = 1e6  # [s] upper bound of key times
_NEAR = 1e-3  # [s] tolerance when a key is looked up by its time


def turn(document: Document, args: dict[str, Any], shown: Pose) -> Document:
    """Set the rotation, position or value of a joint within its limit. Rotation and position are in the world.

    The pose becomes the start pose: targets of chains below move with their tips, pins stay. With a clip it becomes a
    key.
    """
    if document.driven:
        raise InputError("a program shows the poses: there is no bone to rotate")
    joint = document.skeleton.names[document.skeleton.index(text(args, "joint"))]
    q = shown.q.copy()
    q[shown.skeleton.q_slice(joint)] = _wanted(shown, joint, args)
    pose = shown.with_q(document.working.legal(q)[0])
    if document.clip is not None:
        return _keyed(document, args, joint, pose)
    chains = tuple(_brought(document, chain, joint, pose) for chain in document.chains)
    return document.but(start=pose, chains=chains)


def unkey(document: Document, args: dict[str, Any]) -> Document:
    """Remove the key of a joint at a time. Raise InputError if there is none."""
    joint, time = text(args, "joint"), number(args, "time", 0.0, _LONGEST)
    gone = [key for key in keys_of(document) if key.joint == joint and abs(key.time - time) <= _NEAR]
    if not gone:
        raise InputError(f"{joint!r} has no key at {time:.2f} s")
    return document.but(keys=tuple(key for key in document.keys if key not in gone))


def keys_of(document: Document) -> list[Key]:
    """List the keys of the active clip."""
    return [key for key in document.keys if key.clip == document.clip]


def _keyed(document: Document, args: dict[str, Any], joint: str, pose: Pose) -> Document:
    if not truth({"key": False, **args}, "key"):
        raise InputError(
            "a clip plays: switch Key on to rotate bones in it, or choose no clip to change the start pose"
        )
    clip = document.rig.clip(str(document.clip))
    made = key_at(clip, joint, number(args, "time", 0.0, _LONGEST), pose)
    others = (key for key in document.keys if key[:3] != made[:3])
    return document.but(keys=(*others, made))


def _brought(document: Document, chain: ChainTarget, joint: str, pose: Pose) -> ChainTarget:
    """Move the target of a chain to its moved tip. Pins and chains that the joint does not carry stay unchanged."""
    carries = chain.tip == joint or joint in pose.skeleton.ancestors(chain.tip)
    return grounded(document, chain.placed(pose)) if carries and chain.kind != "pin" else chain


def _wanted(shown: Pose, joint: str, args: dict[str, Any]) -> Any:
    """Compute the requested q values of a joint."""
    skeleton = shown.skeleton
    kind, own = skeleton[joint].kind, shown.q[skeleton.q_slice(joint)]
    if kind == Kind.FIXED or skeleton[joint].coupling:
        raise InputError(f"{joint!r} is fixed or follows another joint: it cannot be rotated")
    if kind == Kind.SLIDE or (kind == Kind.HINGE and "value" in args):
        return number(args, "value")
    if kind == Kind.BALL and "value" in args:
        axis = hinge_axis(skeleton[joint].limit)
        if axis is None:
            raise InputError(f"{joint!r} rotates about any axis: it has a rotation, not a value")
        return rotations.about(np.array(axis), number(args, "value"))
    turned = _local(shown, joint, own[-4:] if kind != Kind.HINGE else None, quaternion(args, "rotation"))
    if kind == Kind.HINGE:
        angle = float(rotations.twist_angle(turned, skeleton.axes[skeleton.index(joint)]))
        return own[0] + math.remainder(angle - own[0], 2 * math.pi)
    if kind == Kind.BALL:
        return turned
    place = _local_place(shown, joint, vector(args, "position")) if "position" in args else own[:3]
    return np.concatenate([place, turned])


def _local(shown: Pose, joint: str, own: Floats | None, wanted: tuple[float, ...]) -> Floats:
    """Compute the joint rotation for a rotation in the world.

    A rotation of the file behind the joint's own stays behind it.
    """
    skeleton, row = shown.skeleton, shown.skeleton.index(joint)
    if own is None:
        own = rotations.about(skeleton.axes[row], float(shown.q[skeleton.q_slice(joint)][0]))
    before = _before(shown, row)
    now = rotations.multiply(before, own)
    behind = rotations.multiply(rotations.inverse(now), shown.world.rotations[row])
    world = rotations.multiply(np.array(wanted), rotations.inverse(behind))
    return rotations.normalised(rotations.multiply(rotations.inverse(before), world))


def _before(shown: Pose, row: int) -> Floats:
    """Compute the world rotation of the frame before a joint's motion."""
    own, parent = shown.skeleton.A[row, 3:], int(shown.skeleton.parents[row])
    return own if parent < 0 else rotations.multiply(shown.world.rotations[parent], own)


def _local_place(shown: Pose, joint: str, wanted: tuple[float, float, float]) -> Floats:
    """Compute the q position of a free joint for a world position."""
    row = shown.skeleton.index(joint)
    own = shown.q[shown.skeleton.q_slice(joint)][:3]
    moved = np.array(wanted) - shown.world.positions[row]
    return own + rotations.rotate(rotations.inverse(_before(shown, row)), moved)
