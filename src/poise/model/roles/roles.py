"""humanoid(): the sources of roles, the surest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from poise.errors import InputError
from poise.maths.arrays import Floats
from poise.model.local import local_parts, world
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.roles import four_legs, structure, two_legs
from poise.model.roles.figure import Candidate, Role
from poise.model.roles.names import Names
from poise.model.roles.trunk import trunk
from poise.model.roles.vrm import BONES, REQUIRED, SIDES
from poise.model.skeleton import Skeleton


@dataclass(frozen=True)
class Leg:
    """One leg of a figure: joint names from the hip down.

    Parameters
    ----------
    name
        "left", "right"; of a quadruped "front left", "hind left", ...
    upper
        The thigh: the joint that turns at the hip.
    lower
        The shin: the joint that turns at the knee.
    foot
        The ankle joint (of a quadruped: the last joint that still carries the paw).
    toes
        The joint at the ball of the foot, or None.
    """

    name: str
    upper: str
    lower: str
    foot: str
    toes: str | None


@dataclass(frozen=True)
class Roles:
    """What the joints of a figure are for.

    Parameters
    ----------
    joints
        Roles (VRM 1.0 bone names: "hips", "leftUpperLeg") to joint names.
    confidence
        How sure each role is, 0 to 1: 1 where the sidecar or the file itself says it, 0.9 for names of a known
        convention, 0.8 for clear names, less for names with words that mean nothing here and for roles found from
        structure alone.
    reasons
        A short clause for each role.
    legs
        The legs that reach the ground.
    kind
        "humanoid" (two legs and two arms), "quadruped" or "other".
    missing
        Those of the 15 roles of every humanoid that were not found.
    """

    joints: Mapping[str, str]
    confidence: Mapping[str, float]
    reasons: Mapping[str, str]
    legs: tuple[Leg, ...]
    kind: str
    missing: tuple[str, ...]


def humanoid(rig: Rig | Skeleton) -> Roles:
    """Find the roles of a figure's joints.

    Parameters
    ----------
    rig
        A rig, or a skeleton alone.

    Returns
    -------
    Roles
        Sources, the surest first: the sidecar, the file's own VRM map, names, structure and position at rest.
    """
    if not isinstance(rig, Rig | Skeleton):
        raise InputError(f"humanoid() takes a Rig or a Skeleton, not a {type(rig).__name__}")
    figure, given = _figure(rig), _given(rig)
    body = structure.body(figure)
    if body.four_legs and not any(map(_is_of_a_limb, given)):
        rows = four_legs.legs(figure, body)
        found = _with_trunk(figure, four_legs.as_limbs(rows), four_legs.STANDS)
        found = {role: one for role, one in found.items() if not _is_of_a_limb(role)}
        legs = [_leg(figure, name, leg) for name, leg in rows.items()]
        return _roles(figure, _overlaid(found, given), legs, "quadruped")
    names = Names(figure)
    limbs = _overlaid(names.limbs(), {role: one for role, one in given.items() if _is_of_a_limb(role)})
    sure = names.sure if limbs else two_legs.SEEN
    limbs = _with({}, limbs | two_legs.limbs(figure, body, limbs))
    found = two_legs.checked(figure, _overlaid(_with_trunk(figure, limbs, sure), given), given)
    legs = [
        _leg(figure, side, [found[f"{side}{role}"].row for role in two_legs.LEG if f"{side}{role}" in found])
        for side in SIDES
        if all(f"{side}{role}" in found for role in two_legs.LEG[:3])
    ]
    whole = len(legs) == len(SIDES) and all(f"{side}UpperArm" in found for side in SIDES)
    return _roles(figure, found, legs, "humanoid" if whole else "other")


def _is_of_a_limb(role: str) -> bool:
    return role.startswith(SIDES) and not role.endswith("Eye")


def _given(rig: Rig | Skeleton) -> dict[str, Role]:
    """What the sidecar and the file itself say."""
    if isinstance(rig, Skeleton):
        return {}
    index, sidecar = rig.skeleton.index, rig.sidecar_roles
    return {
        role: Role(index(joint), 1.0, "the sidecar" if role in sidecar else "the file's VRM map")
        for role, joint in rig.humanoid.items()
        if role in BONES
    }


def _overlaid(found: dict[str, Role], given: dict[str, Role]) -> dict[str, Role]:
    """What was found, but for roles and joints that are given."""
    taken = {one.row for one in given.values()}
    return {role: one for role, one in found.items() if one.row not in taken} | given


def _with_trunk(figure: Candidate, limbs: dict[str, Role], sure: float) -> dict[str, Role]:
    """Limbs, the trunk between them if they are more than hands or feet, fingers, eyes and jaw."""
    found = limbs
    if any(f"{side}{role}" in limbs for side in SIDES for role in ("LowerLeg", "LowerArm")):
        found = _with(limbs, trunk(figure, limbs, sure))
    return _with(found, Names(figure).details(found["head"].row if "head" in found else -1))


def _with(found: dict[str, Role], more: dict[str, Role]) -> dict[str, Role]:
    """What was found and more of it: a joint that has a role keeps it and gets no other."""
    found = dict(found)
    taken = {one.row for one in found.values()}
    for role, one in more.items():
        if role not in found and one.row not in taken:
            found[role] = one
            taken.add(one.row)
    return found


def _figure(rig: Rig | Skeleton) -> Candidate:
    if isinstance(rig, Skeleton):
        return Candidate(rig, _positions(Pose(rig, rig.rest_q)))
    skinned = frozenset(rig.skeleton.index(joint) for skin in rig.skins for joint in skin.joints)
    first = next((clip.poses[0] for clip in rig.clips if len(clip)), None) if rig.skeleton.up is None else None
    return Candidate(rig.skeleton, _positions(rig.rest), None if first is None else _positions(first), skinned)


def _positions(pose: Pose) -> Floats:
    """World positions (n, 3), scaled so that the largest number is 1: no unit is too large or too small.

    With arrays only: nobody waits for a compiler here.
    """
    s, parts = pose.skeleton, local_parts(pose)
    if not len(s):
        return np.zeros((0, 3))
    points = world(s.parents.tolist(), parts.translation, parts.rotation, s.B[:, :, :3])[:, :3, 3]
    points = np.nan_to_num(points, posinf=0.0, neginf=0.0)  # a node may be scaled out of the numbers there are
    largest = float(np.abs(points).max())
    return points / largest if largest > 0.0 else points


def _leg(figure: Candidate, name: str, rows: list[int]) -> Leg:
    upper, lower, foot, *toes = (figure.skeleton.names[row] for row in rows)
    return Leg(name, upper, lower, foot, toes[0] if toes else None)


def _roles(figure: Candidate, found: dict[str, Role], legs: list[Leg], kind: str) -> Roles:
    names = figure.skeleton.names
    ordered = {role: found[role] for role in BONES if role in found}
    return Roles(
        joints={role: names[one.row] for role, one in ordered.items()},
        confidence={role: one.confidence for role, one in ordered.items()},
        reasons={role: one.reason for role, one in ordered.items()},
        legs=tuple(legs),
        kind=kind,
        missing=tuple(role for role in REQUIRED if role not in ordered),
    )
