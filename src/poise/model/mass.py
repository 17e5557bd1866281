"""Masses of joints, and centres of mass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from poise.calls.argument_checks import check_names, check_type
from poise.errors import InputError, join_names
from poise.maths.arrays import Floats, abbreviate, check_finite, check_real
from poise.model.anatomy.rest_geometry import compute_body_frame, compute_rest_transforms, find_trunk_rows
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.roles.bone_names import SIDES
from poise.model.roles.role_search import find_confident_roles, find_joint_roles
from poise.model.skeleton import Skeleton
from poise.runtime.result_cache import get_or_compute

# --- Mass distribution of the human body over a character's joints ---------------------------------------------------
#
# Shares of the whole mass and centres of mass are those of men in P. de Leva, "Adjustments to Zatsiorsky-Seluyanov's
# segment inertia parameters", J. Biomechanics 29(9), 1996, table 4. The trunk has a lower, a middle and an upper part;
# their centres lie on the line from the midpoint of the hips to the midpoint of the shoulders.


_LIMB_SEGMENTS = (
    ("UpperArm", "LowerArm", 0.0271, 0.5772),
    ("LowerArm", "Hand", 0.0162, 0.4574),
    ("UpperLeg", "LowerLeg", 0.1416, 0.4095),
    ("LowerLeg", "Foot", 0.0433, 0.4459),
)  # from joint, to joint, share of the mass, position of its centre between them
# share of the mass, position on the line from the hips to the shoulders; the lowest first
_TRUNK_SEGMENTS = ((0.1117, 0.106), (0.1633, 0.497), (0.1596, 0.904))
# share of the mass, position on the same line extended
_HEAD_MASS_SHARE, _HEAD_POSITION_RATIO = 0.0694, 1.228
# share of the mass, centre beyond the wrist in lengths of the forearm
_HAND_MASS_SHARE, _HAND_OFFSET_RATIO = 0.0061, 0.25
# share of the mass, centre ahead of and below the ankle in lengths of the shin
_FOOT_MASS_SHARE, _FOOT_FORWARD_RATIO, _FOOT_DROP_RATIO = 0.0137, 0.12, 0.08
_REQUIRED_ROLES = tuple(
    dict.fromkeys(("hips", "head", *(s + part for s in SIDES for bone in _LIMB_SEGMENTS for part in bone[:2])))
)


def find_segment_masses(skeleton: Skeleton, joints: Mapping[str, str]) -> list[tuple[int, float, Floats]]:
    """Find the body segments of a character.

    Each has a row of the skeleton, a share of the whole mass, and its centre (3,) in the row's frame.

    Parameters
    ----------
    skeleton
        Skeleton of a biped.
    joints
        Confident roles to joint names.

    Raises
    ------
    InputError
        Where a part of the body has no confident joint.
    """
    missing = [role for role in _REQUIRED_ROLES if role not in joints]
    if missing:
        raise InputError(
            f"human masses need a confident joint for every part of the body; missing: {join_names(missing)}"
        )
    body, row_from_world = compute_body_frame(skeleton, joints), np.linalg.inv(compute_rest_transforms(skeleton))
    position_of_role = {role: body.points[skeleton.index(joints[role])] for role in _REQUIRED_ROLES}
    segments = [
        (skeleton.index(joints["head"]), _HEAD_MASS_SHARE, _interpolate_trunk(position_of_role, _HEAD_POSITION_RATIO)),
        *_find_trunk_segments(skeleton, joints, body.points, position_of_role),
    ]
    for side in SIDES:
        for first_part, last_part, mass_share, fraction in _LIMB_SEGMENTS:
            bone_start, bone_end = position_of_role[side + first_part], position_of_role[side + last_part]
            segments.append(
                (skeleton.index(joints[side + first_part]), mass_share, bone_start + fraction * (bone_end - bone_start))
            )
        forearm, shin = (
            position_of_role[f"{side}Hand"] - position_of_role[f"{side}LowerArm"],
            position_of_role[f"{side}Foot"] - position_of_role[f"{side}LowerLeg"],
        )
        foot_offset = float(np.linalg.norm(shin)) * (_FOOT_FORWARD_RATIO * body.forward - _FOOT_DROP_RATIO * body.up)
        segments.append(
            (
                skeleton.index(joints[f"{side}Hand"]),
                _HAND_MASS_SHARE,
                position_of_role[f"{side}Hand"] + _HAND_OFFSET_RATIO * forearm,
            )
        )
        segments.append(
            (skeleton.index(joints[f"{side}Foot"]), _FOOT_MASS_SHARE, position_of_role[f"{side}Foot"] + foot_offset)
        )
    return [
        (row, mass_share, row_from_world[row, :3, :3] @ point + row_from_world[row, :3, 3])
        for row, mass_share, point in segments
    ]


def _interpolate_trunk(position_of_role: Mapping[str, Floats], fraction: float) -> Floats:
    """Interpolate a point between the hips and the shoulders."""
    hips_centre, shoulders_centre = (
        (position_of_role[f"left{part}"] + position_of_role[f"right{part}"]) / 2 for part in ("UpperLeg", "UpperArm")
    )
    return hips_centre + fraction * (shoulders_centre - hips_centre)


def _find_trunk_segments(
    skeleton: Skeleton, joints: Mapping[str, str], points: Floats, position_of_role: Mapping[str, Floats]
) -> list[tuple[int, float, Floats]]:
    """Assign the trunk segments to joints. The highest trunk joint not above a segment's centre carries the segment."""
    rows = [skeleton.index(joints["hips"]), *find_trunk_rows(skeleton, joints)[0]]
    hips_centre, trunk_axis = (
        _interpolate_trunk(position_of_role, 0.0),
        _interpolate_trunk(position_of_role, 1.0) - _interpolate_trunk(position_of_role, 0.0),
    )
    heights = (points[rows] - hips_centre) @ trunk_axis / float(trunk_axis @ trunk_axis)
    segments: list[tuple[int, float, Floats]] = []
    for mass_share, fraction in _TRUNK_SEGMENTS:
        lower_rows = [row for row, height in zip(rows[1:], heights[1:], strict=True) if height <= fraction]
        segments.append(
            (lower_rows[-1] if lower_rows else rows[0], mass_share, _interpolate_trunk(position_of_role, fraction))
        )
    return segments


# --- Masses and centre of mass ---------------------------------------------------------------------------------------


_PAIR_SIZE = 2
_Point = tuple[float, float, float]
_MASSES_HINT = "give masses={joint: mass} or {joint: (mass, (x, y, z))}"


class BodyMass(NamedTuple):
    """Mass carried by a joint, and its centre [file units]. The centre is in the joint's frame.

    Only ratios of masses count: masses of characters are shares of the whole, masses of robots are kilograms.

    Parameters
    ----------
    mass
        The mass, above 0.
    centre
        (x, y, z) in the joint's frame [file units]; the joint itself by default.
    """

    mass: float
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)


def masses(rig: Rig | Skeleton) -> dict[str, BodyMass]:
    """Find the mass carried by each joint.

    Parameters
    ----------
    rig
        A robot with link masses in its file (URDF `<inertial>`), or a biped, which gets human body segments (de Leva
        1996, table 4, men).

    Returns
    -------
    dict
        Joints and their masses; joints without a mass are left out.

    Raises
    ------
    InputError
        For a file without masses and a skeleton without the roles of a biped.
    """
    if not isinstance(rig, Rig | Skeleton):
        raise InputError(f"masses() takes a Rig or a Skeleton, not a {type(rig).__name__}")
    skeleton = rig.skeleton if isinstance(rig, Rig) else rig
    return dict(get_or_compute(skeleton, "masses", None, lambda: _find_masses(skeleton)))


def centre_of_mass(pose: Pose, masses: Mapping[str, Any] | None = None) -> Floats:
    """Compute the centre of mass (..., 3) [file units, world]. It is sum m_i c_i / sum m_i.

    Parameters
    ----------
    pose
        A pose, or a batch of poses.
    masses
        Masses of the joints, as from `poise.masses`, or {joint: mass} or {joint: (mass, (x, y, z))} with the centre in
        the joint's frame. None: those of `poise.masses(skeleton)`.

    Raises
    ------
    InputError
        For masses that are unknown or not above 0.
    """
    body_masses = None if masses is None else check_masses(masses)
    skeleton = check_type(pose, Pose, "the pose of a centre of mass").skeleton
    return compute_mass_shares(skeleton, body_masses).compute_centre(pose.world.affine)


class MassShares(NamedTuple):
    """Mass shares (n,) of skeleton rows, and their centres (n, 3). Shares sum to 1; centres are in the rows' frames."""

    shares: Floats
    centres: Floats

    def compute_centre(self, maps: Floats) -> Floats:
        """Compute the centre of mass (..., 3). `maps` are world transforms (..., n, 3, 4)."""
        return (self.shares[:, None] * self.compute_centres(maps)).sum(axis=-2)

    def compute_centres(self, maps: Floats) -> Floats:
        """Compute the world centres (..., n, 3)."""
        return (maps[..., :3] @ self.centres[:, :, None])[..., 0] + maps[..., 3]


def compute_mass_shares(skeleton: Skeleton, body_masses: tuple[tuple[str, BodyMass], ...] | None = None) -> MassShares:
    """Compute the mass shares of a skeleton's rows.

    They come from checked masses or from `masses`; the result is cached.
    """
    return get_or_compute(skeleton, "carried masses", body_masses, lambda: _pack_shares(skeleton, body_masses))


def check_masses(masses: Any) -> tuple[tuple[str, BodyMass], ...]:
    """Check masses and return pairs of names and values. Raise InputError for anything else."""
    if not isinstance(masses, Mapping) or not masses:
        raise InputError(
            f"masses are a mapping from joints to masses, as poise.masses(rig) gives, not {abbreviate(masses)}"
        )
    check_names(masses, "the joints that have a mass", "['hips', 'spine']")
    return tuple((name, _check_body_mass(name, value)) for name, value in masses.items())


def _check_body_mass(name: Any, value: Any) -> BodyMass:
    pair: tuple[Any, Any] = value if isinstance(value, tuple) and len(value) == _PAIR_SIZE else (value, (0.0, 0.0, 0.0))
    mass, centre = pair
    finite_mass, point = (
        check_real(mass, f"the mass of {name!r}"),
        check_finite(centre, f"the centre of mass of {name!r}", last_axis_length=3),
    )
    if not 0.0 < finite_mass < np.inf or point.shape != (3,):
        raise InputError(
            f"the mass of {name!r} is a finite number above 0, or such a number and a point, not {abbreviate(value)}"
        )
    x, y, z = point.tolist()
    return BodyMass(finite_mass, (x, y, z))


def _pack_shares(skeleton: Skeleton, body_masses: tuple[tuple[str, BodyMass], ...] | None) -> MassShares:
    shares, moments = np.zeros(len(skeleton)), np.zeros((len(skeleton), 3))
    for name, body_mass in masses(skeleton).items() if body_masses is None else body_masses:
        row = skeleton.index(name)
        shares[row] += body_mass.mass
        moments[row] += body_mass.mass * np.array(body_mass.centre)
    centres = moments / np.where(shares > 0.0, shares, 1.0)[:, None]
    return MassShares(shares / shares.sum(), centres)


def _find_masses(skeleton: Skeleton) -> dict[str, BodyMass]:
    inertials: Mapping[str, tuple[float, _Point]] = getattr(skeleton.source, "inertials", {})
    if inertials:
        return {name: BodyMass(mass, centre) for name, (mass, centre) in inertials.items()}
    roles, confident_roles = find_joint_roles(skeleton), find_confident_roles(skeleton)
    try:
        segments = find_segment_masses(skeleton, {role: roles.joints[role] for role in confident_roles})
    except InputError as error:
        raise InputError(f"the masses of this skeleton are unknown ({error}): {_MASSES_HINT}") from error
    masses_by_joint: dict[str, BodyMass] = {}
    for row, mass_share, centre in segments:
        name = skeleton.names[row]
        previous_mass = masses_by_joint.get(name, BodyMass(0.0))
        mass = previous_mass.mass + mass_share
        point = (previous_mass.mass * np.array(previous_mass.centre) + mass_share * centre) / mass
        x, y, z = point.tolist()
        masses_by_joint[name] = BodyMass(mass, (x, y, z))
    return masses_by_joint
