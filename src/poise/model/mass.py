"""Masses of joints, and centres of mass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from poise.errors import InputError
from poise.maths.arguments import names, require
from poise.maths.arrays import Floats, finite, real, short
from poise.maths.remember import remember
from poise.model.anatomy.segments import segments_of
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.roles.lookup import roles_of, sure_roles
from poise.model.skeleton import Skeleton

_PAIR = 2
_Point = tuple[float, float, float]
_GIVE = "give masses={joint: mass} or {joint: (mass, (x, y, z))}"


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
    return dict(remember(skeleton, "masses", None, lambda: _found(skeleton)))


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
    given = None if masses is None else checked_masses(masses)
    skeleton = require(pose, Pose, "the pose of a centre of mass").skeleton
    return carried_by(skeleton, given).centre(pose.world.affine)


class MassShares(NamedTuple):
    """Mass shares (n,) of skeleton rows, and their centres (n, 3). Shares sum to 1; centres are in the rows' frames."""

    shares: Floats
    centres: Floats

    def centre(self, maps: Floats) -> Floats:
        """Compute the centre of mass (..., 3). `maps` are world transforms (..., n, 3, 4)."""
        return (self.shares[:, None] * self.moments(maps)).sum(axis=-2)

    def moments(self, maps: Floats) -> Floats:
        """Compute the world centres (..., n, 3)."""
        return (maps[..., :3] @ self.centres[:, :, None])[..., 0] + maps[..., 3]


def carried_by(skeleton: Skeleton, given: tuple[tuple[str, BodyMass], ...] | None = None) -> MassShares:
    """Compute the mass shares of a skeleton's rows.

    They come from checked masses or from `masses`; the result is cached.
    """
    return remember(skeleton, "carried", given, lambda: _packed(skeleton, given))


def checked_masses(masses: Any) -> tuple[tuple[str, BodyMass], ...]:
    """Check masses and return pairs of names and values. Raise InputError for anything else."""
    if not isinstance(masses, Mapping) or not masses:
        raise InputError(f"masses are a mapping from joints to masses, as poise.masses(rig) gives, not {short(masses)}")
    names(masses, "the joints that have a mass", "['hips', 'spine']")
    return tuple((name, _body(name, value)) for name, value in masses.items())


def _body(name: Any, value: Any) -> BodyMass:
    pair: tuple[Any, Any] = value if isinstance(value, tuple) and len(value) == _PAIR else (value, (0.0, 0.0, 0.0))
    mass, centre = pair
    number, point = real(mass, f"the mass of {name!r}"), finite(centre, f"the centre of mass of {name!r}", last=3)
    if not 0.0 < number < np.inf or point.shape != (3,):
        raise InputError(
            f"the mass of {name!r} is a finite number above 0, or such a number and a point, not {short(value)}"
        )
    x, y, z = point.tolist()
    return BodyMass(number, (x, y, z))


def _packed(skeleton: Skeleton, given: tuple[tuple[str, BodyMass], ...] | None) -> MassShares:
    shares, moments = np.zeros(len(skeleton)), np.zeros((len(skeleton), 3))
    for name, body in masses(skeleton).items() if given is None else given:
        row = skeleton.index(name)
        shares[row] += body.mass
        moments[row] += body.mass * np.array(body.centre)
    centres = moments / np.where(shares > 0.0, shares, 1.0)[:, None]
    return MassShares(shares / shares.sum(), centres)


def _found(skeleton: Skeleton) -> dict[str, BodyMass]:
    inertials: Mapping[str, tuple[float, _Point]] = getattr(skeleton.source, "inertials", {})
    if inertials:
        return {name: BodyMass(mass, centre) for name, (mass, centre) in inertials.items()}
    roles, sure = roles_of(skeleton), sure_roles(skeleton)
    try:
        segments = segments_of(skeleton, {role: roles.joints[role] for role in sure})
    except InputError as error:
        raise InputError(f"the masses of this skeleton are unknown ({error}): {_GIVE}") from error
    found: dict[str, BodyMass] = {}
    for row, share, centre in segments:
        name = skeleton.names[row]
        before = found.get(name, BodyMass(0.0))
        mass = before.mass + share
        point = (before.mass * np.array(before.centre) + share * centre) / mass
        x, y, z = point.tolist()
        found[name] = BodyMass(mass, (x, y, z))
    return found
