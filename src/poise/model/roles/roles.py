"""Role search over all sources, the most reliable first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from poise.errors import InputError
from poise.maths.arrays import Floats
from poise.maths.in_words import in_words
from poise.model.local import local_parts, world
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.roles import structure
from poise.model.roles.chains import ARM, LEG, is_of_a_limb, true_chains, why_astray
from poise.model.roles.figure import Candidate, Role
from poise.model.roles.legs import four_legs, many_legs, two_legs
from poise.model.roles.names import Names
from poise.model.roles.trunk import trunk
from poise.model.roles.vrm import BONES, REQUIRED, SIDES
from poise.model.skeleton import Skeleton
from poise.model.ways import FLAT, is_flat

_MANY = "more than two pairs of limbs are named as legs, and these do not stand on the ground"


@dataclass(frozen=True)
class Leg:
    """One leg of a character: joint names from the hip down.

    Parameters
    ----------
    name
        "left", "right"; of a quadruped "front left", "hind left", ...; of a creature with more legs "front left",
        "mid left", "hind left", with four pairs or more "mid 1 left", "mid 2 left", ... from the front.
    upper
        The thigh: the joint that turns at the hip.
    lower
        The shin: the joint that turns at the knee.
    foot
        The ankle joint (of a quadruped: the last joint above the paw).
    toes
        The joint at the ball of the foot, or None.
    """

    __repr__ = in_words

    name: str
    upper: str
    lower: str
    foot: str
    toes: str | None

    @property
    def side(self) -> str:
        """Side of the leg: "left" or "right"."""
        return self.name.rpartition(" ")[2]

    @property
    def position(self) -> str:
        """Position along the body: "front", "mid", "hind", "mid 1", ... It is empty for a biped."""
        return self.name.rpartition(" ")[0]


@dataclass(frozen=True)
class Roles:
    """Roles of a character's joints.

    Parameters
    ----------
    joints
        Roles (VRM 1.0 bone names: "hips", "leftUpperLeg") to joint names. Limbs are chains: thigh above shin above
        foot, upper arm above lower arm above hand.
    confidence
        Confidence of each role, 0 to 1: 1 where the sidecar or the file declares it, 0.9 for names of a known
        convention, 0.8 for clear names, less for names with unknown words and for roles from structure only.
    reasons
        A short clause for each role.
    legs
        The legs reaching the ground, each of them a chain.
    kind
        "humanoid" (two legs and two arms), "quadruped", "multi-legged" (six legs or more) or "other".
    missing
        The roles not found, of the 15 of every humanoid.
    left_out
        Rejected roles with the reason: 'Foot.L' is not below 'Shin.L', ...
    apart
        Legs with a detached foot elsewhere in the tree (IK bones). They are no chains and have no role for that foot;
        planting moves the foot and bends the leg to it.
    """

    __repr__ = in_words

    joints: Mapping[str, str]
    confidence: Mapping[str, float]
    reasons: Mapping[str, str]
    legs: tuple[Leg, ...]
    kind: str
    missing: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    apart: tuple[Leg, ...] = ()


def humanoid(rig: Rig | Skeleton) -> Roles:
    """Find the roles of a character's joints.

    Parameters
    ----------
    rig
        A rig, or a skeleton alone.

    Returns
    -------
    Roles
        Sources, the most reliable first: the sidecar, the file's own VRM map, names, structure and position at rest.
    """
    if not isinstance(rig, Rig | Skeleton):
        raise InputError(f"humanoid() takes a Rig or a Skeleton, not a {type(rig).__name__}")
    figure, given = figure_of(rig), _given(rig)
    if is_flat(figure.skeleton.kinds, figure.parents):
        return _roles(figure, {}, [], "other", dict.fromkeys(REQUIRED, FLAT))
    names, body = Names(figure), structure.body(figure)
    if not any(map(is_of_a_limb, given)):
        told = names.tell_a_humanoid()
        if len(structure.find_leg_pairs(figure)) > len(SIDES):  # a crab's legs may have human names
            if body.many and body.up is not None:
                return _multi_legged(figure, body.many, body.up, given)
            return _roles(figure, _overlaid({}, given), [], "other", {"legs": _MANY})
        if body.four_legs and not (told and names.tell_hands()):  # front legs may be named arms and hands
            return _quadruped(figure, body, given)
        if body.many and body.up is not None and not told:
            return _multi_legged(figure, body.many, body.up, given)
    return _two_legged(figure, names, body, given)


def _quadruped(figure: Candidate, body: structure.Body, given: dict[str, Role]) -> Roles:
    rows = four_legs.legs(figure, body)
    found = _with_trunk(figure, four_legs.as_limbs(rows), four_legs.STANDS)
    found = {role: one for role, one in found.items() if not is_of_a_limb(role)}
    return _roles(figure, _overlaid(found, given), _legs(figure, rows), "quadruped")


def _multi_legged(figure: Candidate, limbs: tuple[list[int], ...], up: Floats, given: dict[str, Role]) -> Roles:
    rows = many_legs.legs(figure, limbs, up)
    found = _overlaid(many_legs.trunk(figure, limbs, Names(figure).sure), given)
    if not rows:
        return _roles(figure, found, [], "other", {"legs": many_legs.UNEVEN})
    return _roles(figure, found, _legs(figure, rows), "multi-legged")


def _two_legged(figure: Candidate, names: Names, body: structure.Body, given: dict[str, Role]) -> Roles:
    limbs = _overlaid(names.limbs(), {role: one for role, one in given.items() if is_of_a_limb(role)})
    sure = names.sure if limbs else two_legs.SEEN
    seen, unclear = two_legs.limbs(figure, body, limbs)
    limbs, left = true_chains(figure, _with({}, limbs | seen))
    rest = {role: one for role, one in given.items() if role not in left}
    found = two_legs.checked(figure, _overlaid(_with_trunk(figure, limbs, sure), rest), rest)
    astray = {role: given[role].row for role in left if role in given}
    astray = names.astray() | astray
    known = {role: one.row for role, one in found.items()}
    left = names.misread() | unclear | left
    for role, row in astray.items():
        if role not in found and row not in known.values():
            left.setdefault(role, why_astray(figure, row, role, _limb_of(role, known)))
    legs = {side: [known[f"{side}{role}"] for role in LEG if f"{side}{role}" in known] for side in SIDES}
    legs = {side: rows for side, rows in legs.items() if all(f"{side}{role}" in known for role in LEG[:3])}
    apart = {side: rows for side in SIDES if side not in legs and (rows := _apart(figure, side, known, astray))}
    whole = len(legs) + len(apart) == len(SIDES) and all(f"{side}UpperArm" in found for side in SIDES)
    if body.doubt and not (legs or apart):
        left = {"legs": body.doubt} | left
    kind = "humanoid" if whole else "other"
    return _roles(figure, found, _legs(figure, legs), kind, left, _legs(figure, apart))


def _limb_of(role: str, known: Mapping[str, int]) -> dict[str, int]:
    """Select the known rows of the limb of a role."""
    side = next(one for one in SIDES if role.startswith(one))
    limb = next((parts for parts in (LEG, ARM) if role[len(side) :] in parts), ())
    return {f"{side}{part}": known[f"{side}{part}"] for part in limb if f"{side}{part}" in known}


def _apart(figure: Candidate, side: str, known: Mapping[str, int], astray: Mapping[str, int]) -> list[int]:
    """Find the rows of a leg with a detached foot.

    They are thigh, shin, foot and toes; nothing hangs below the shin.
    """
    upper, lower, foot = known.get(f"{side}UpperLeg"), known.get(f"{side}LowerLeg"), astray.get(f"{side}Foot")
    if upper is None or lower is None or foot is None or figure.children[lower]:
        return []
    toes = astray.get(f"{side}Toes", foot)
    return [upper, lower, foot, *([toes] if toes != foot and figure.is_above(foot, toes) else [])]


def _given(rig: Rig | Skeleton) -> dict[str, Role]:
    """Read the roles declared by the sidecar or the file."""
    if isinstance(rig, Skeleton):
        known = {role: joint for role, joint in rig.roles.items() if role in BONES and joint in rig}
        return {role: Role(rig.index(joint), 1.0, "the file or its sidecar") for role, joint in known.items()}
    index, sidecar = rig.skeleton.index, rig.sidecar_roles
    return {
        role: Role(index(joint), 1.0, "the sidecar" if role in sidecar else "the file's VRM map")
        for role, joint in rig.humanoid.items()
        if role in BONES
    }


def _overlaid(found: dict[str, Role], given: dict[str, Role]) -> dict[str, Role]:
    """Overlay declared roles on roles found. Declared roles and joints win."""
    taken = {one.row for one in given.values()}
    return {role: one for role, one in found.items() if one.row not in taken} | given


def _with_trunk(figure: Candidate, limbs: dict[str, Role], sure: float) -> dict[str, Role]:
    """Add trunk, fingers, eyes and jaw to limbs. The trunk needs more than hands or feet."""
    found = limbs
    if any(f"{side}{role}" in limbs for side in SIDES for role in ("LowerLeg", "LowerArm")):
        found = _with(limbs, trunk(figure, limbs, sure))
    return _with(found, Names(figure).details(found))


def _with(found: dict[str, Role], more: dict[str, Role]) -> dict[str, Role]:
    """Add further roles to roles found. A joint with a role keeps it and gets no other."""
    found = dict(found)
    taken = {one.row for one in found.values()}
    for role, one in more.items():
        if role not in found and one.row not in taken:
            found[role] = one
            taken.add(one.row)
    return found


def figure_of(rig: Rig | Skeleton) -> Candidate:
    """Build the character tree of a rig or a skeleton."""
    if isinstance(rig, Skeleton):
        return Candidate(rig, _positions(Pose(rig, rig.rest_q)))
    skinned = frozenset(rig.skeleton.index(joint) for skin in rig.skins for joint in skin.joints)
    first = next((clip.poses[0] for clip in rig.clips if len(clip)), None) if rig.skeleton.up is None else None
    return Candidate(rig.skeleton, _positions(rig.rest), None if first is None else _positions(first), skinned)


def maps_of(pose: Pose) -> Floats:
    """Compute world transforms (n, 4, 4) of one pose. It uses NumPy only."""
    s, parts = pose.skeleton, local_parts(pose)
    return world(s.parents.tolist(), parts.translation, parts.rotation, s.B[:, :, :3])


def _positions(pose: Pose) -> Floats:
    """Compute world positions (n, 3), scaled to 1.

    The largest coordinate is 1, so no unit is too large or too small. NumPy only: callers do not wait for a compiler.
    """
    if not len(pose.skeleton):
        return np.zeros((0, 3))
    points = maps_of(pose)[:, :3, 3]
    points = np.nan_to_num(points, posinf=0.0, neginf=0.0)  # scaled nodes may overflow
    largest = float(np.abs(points).max())
    return points / largest if largest > 0.0 else points


def _legs(figure: Candidate, rows: Mapping[str, list[int]]) -> list[Leg]:
    return [_leg(figure, name, leg) for name, leg in rows.items()]


def _leg(figure: Candidate, name: str, rows: list[int]) -> Leg:
    upper, lower, foot, *toes = (figure.skeleton.names[row] for row in rows)
    return Leg(name, upper, lower, foot, toes[0] if toes else None)


def _roles(
    figure: Candidate,
    found: dict[str, Role],
    legs: Iterable[Leg],
    kind: str,
    left: Mapping[str, str] | None = None,
    apart: Iterable[Leg] = (),
) -> Roles:
    names = figure.skeleton.names
    ordered = {role: found[role] for role in BONES if role in found}
    return Roles(
        joints={role: names[one.row] for role, one in ordered.items()},
        confidence={role: one.confidence for role, one in ordered.items()},
        reasons={role: one.reason for role, one in ordered.items()},
        legs=tuple(legs),
        kind=kind,
        missing=tuple(role for role in REQUIRED if role not in ordered),
        left_out=dict(left or {}),
        apart=tuple(apart),
    )
