"""humanoid(): the sources of roles, the surest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from poise.arrays import Floats
from poise.bones import BONES, REQUIRED, SIDES
from poise.errors import InputError
from poise.humanoid.figure import Figure, Found
from poise.humanoid.names import by_names
from poise.io._gltf_local import local_parts
from poise.io._gltf_nodes import world
from poise.pose import Pose
from poise.rig import Rig
from poise.skeleton import Skeleton


@dataclass(frozen=True)
class Leg:
    """One leg of a figure: joint names from the hip down.

    name   "left", "right"; of a quadruped "front left", "hind left", ...
    upper  the thigh: the joint that turns at the hip
    lower  the shin: the joint that turns at the knee
    foot   the ankle joint (of a quadruped: the last joint that still carries the paw)
    toes   the ball of the foot, or None
    """

    name: str
    upper: str
    lower: str
    foot: str
    toes: str | None


@dataclass(frozen=True)
class Roles:
    """What the joints of a figure are for.

    joints      roles (VRM 1.0 bone names: "hips", "leftUpperLeg") -> joint names
    confidence  per role, 0..1: 1 the sidecar or the file itself, 0.9 names of a known convention, 0.8 clear names,
                less for names with words that mean nothing here and for roles found from structure alone
    reasons     per role, a short clause
    legs        the legs that reach the ground
    kind        "humanoid", "quadruped" or "other"
    missing     of the 15 roles that every humanoid has, those not found
    """

    joints: Mapping[str, str]
    confidence: Mapping[str, float]
    reasons: Mapping[str, str]
    legs: tuple[Leg, ...]
    kind: str
    missing: tuple[str, ...]


def humanoid(rig: Rig | Skeleton) -> Roles:
    """Find the roles of a figure's joints.

    Sources, the surest first: the sidecar, the file's own VRM map, names, structure and position at rest.
    """
    if not isinstance(rig, Rig | Skeleton):
        raise InputError(f"humanoid() takes a Rig or a Skeleton, not a {type(rig).__name__}")
    figure = _figure(rig)
    found = by_names(figure)
    if isinstance(rig, Rig):
        index = figure.skeleton.index
        given = {role: Found(index(joint), 1.0, "the file's VRM map") for role, joint in rig.humanoid.items()}
        taken = {one.row for one in given.values()}
        found = {role: one for role, one in found.items() if one.row not in taken} | given
    return _roles(figure, found)


def _figure(rig: Rig | Skeleton) -> Figure:
    if isinstance(rig, Skeleton):
        return Figure(rig, _positions(Pose(rig, rig.rest_q)))
    skinned = frozenset(rig.skeleton.index(joint) for skin in rig.skins for joint in skin.joints)
    return Figure(rig.skeleton, _positions(rig.rest), skinned)


def _positions(pose: Pose) -> Floats:
    """World positions (n, 3), with arrays only: nobody waits for a compiler here."""
    s, parts = pose.skeleton, local_parts(pose)
    if not len(s):
        return np.zeros((0, 3))
    return world(s.parents.tolist(), parts.translation, parts.rotation, s.B[:, :, :3])[:, :3, 3]


def _roles(figure: Figure, found: dict[str, Found]) -> Roles:
    names = figure.skeleton.names
    ordered = {role: found[role] for role in BONES if role in found}
    joints = {role: names[one.row] for role, one in ordered.items()}
    legs = tuple(
        Leg(side, *(joints[f"{side}{part}"] for part in ("UpperLeg", "LowerLeg", "Foot")), joints.get(f"{side}Toes"))
        for side in SIDES
        if all(f"{side}{part}" in joints for part in ("UpperLeg", "LowerLeg", "Foot"))
    )
    missing = tuple(role for role in REQUIRED if role not in joints)
    return Roles(
        joints=joints,
        confidence={role: one.confidence for role, one in ordered.items()},
        reasons={role: one.reason for role, one in ordered.items()},
        legs=legs,
        kind="humanoid" if len(legs) == len(SIDES) else "other",
        missing=missing,
    )
