"""Checks of terrain, reach, contacts and soles before planting."""

from __future__ import annotations

from typing import Any

import numpy as np

from poise.errors import InputError
from poise.formatting import format_size
from poise.ground.contact.contacts import Contacts, are_same_times
from poise.ground.contact.plants import Plants
from poise.ground.contact.soles import Soles
from poise.ground.figure.figure import Figure
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, Motion
from poise.ground.terrain.heightmap import HeightMap
from poise.ground.terrain.mesh import Mesh
from poise.ground.terrain.terrain import Terrain
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, abbreviate

_FARTHEST = 0.5  # of a leg is a foot from its place at most: a leg that ends elsewhere does not stand


def check_terrain(terrain: Any) -> None:
    """Raise InputError for any value but a Terrain."""
    if not isinstance(terrain, Terrain):
        raise InputError(f"terrain is a poise.Terrain, such as Terrain.flat(), not {abbreviate(terrain)}")


def check_under(plants: Plants, footing: Footing) -> None:
    """Raise InputError if no plant has ground under it.

    The message says where the plants are and how far the ground goes.
    """
    if not len(plants.ball) or footing.sample(plants.ball)[2].any():
        return
    figure = footing.figure
    raise InputError(
        f"none of the {len(plants.ball)} places where feet stand is on this terrain: in the clip's lengths they are at "
        f"{_box(plants.ball, figure)}, and {_extent(plants, footing)}; scale it (unit=, --terrain-unit: a metre of "
        f"this figure is {format_size(figure.metre)} in the clip), or move it or the clip"
    )


def check_reach(motion: Motion, contacts: Contacts, missing: Floats) -> None:
    """Raise InputError for a standing foot out of reach.

    Its place is farther away than half its leg, or infinitely far: `missing` (F, L) [m].
    """
    bones = np.linalg.norm(np.diff(motion.places[:, :, : ANKLE + 1], axis=2), axis=-1).sum(axis=2)
    far: Bools = contacts.any & ~(missing <= _FARTHEST * bones)
    if not far.any():
        return
    frame, leg = np.argwhere(far)[0]
    short = format_size(float(missing[frame, leg]))
    raise InputError(
        f"at {motion.times[frame]:.3f} s the {contacts.legs[leg]} foot would stand {short} m "
        f"beyond the end of its leg, which is {bones[frame, leg]:.2g} m long: this ground is too steep or too rough "
        "for the clip and its contacts"
    )


def _extent(plants: Plants, footing: Footing) -> str:
    """Describe the extent of the ground and its holes.

    As `it goes from x 1 to 2, z -3 to 4`; holes count where a plant is over one.
    """
    terrain = footing.terrain
    match terrain.surface:
        case HeightMap(grid=grid):
            corners = np.array([[grid.x, grid.y], [grid.x + grid.cols * grid.wide, grid.y + grid.rows * grid.deep]])
        case Mesh(corners=triangles):
            corners = np.array([triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))])[:, :2]
        case _:
            return "there is no ground"
    metre = 1.0 if terrain.unit is None else footing.figure.metre / terrain.unit
    low, high = corners * terrain.scale / metre
    plan = plants.ball[:, :2]
    over = ((plan >= low) & (plan <= high)).all(axis=1).any()
    box = _box(np.pad([low, high], ((0, 0), (0, 1))), footing.figure)
    return f"it goes from {box}" + ", with holes" * bool(over)


def _box(points: Floats, figure: Figure) -> str:
    """Format the plan box of points (n, 3) [m], z up. In the axes and lengths of the clip: `x 1 to 2, z -3 to 4`."""
    own = (np.round(rotations.rotate(rotations.inverse(figure.turn), points), 6) + 0.0) * figure.metre  # + 0: no -0
    low, high = own.min(axis=0), own.max(axis=0)
    axes = [(0, "x"), (2, "z") if figure.up == "y" else (1, "y")]
    return ", ".join(f"{name} {format_size(low[i])} to {format_size(high[i])}" for i, name in axes)


def for_legs(contacts: Contacts, motion: Motion) -> Contacts:
    """Return the caller's contacts for the frames and legs of this clip. InputError if they are for others."""
    legs = tuple(leg.name for leg in motion.figure.legs)
    if not isinstance(contacts, Contacts):
        what: Any = type(contacts).__name__
        raise InputError(
            f"contacts are a poise.Contacts, such as planted.contacts, or the path of a file, not a {what}"
        )
    if contacts.legs != legs:
        raise InputError(f"these contacts are of the legs {', '.join(contacts.legs)}; the clip's: {', '.join(legs)}")
    if not are_same_times(contacts.times, motion.times):
        raise InputError(
            f"these contacts are of {len(contacts.times)} frames up to {contacts.times.max(initial=0.0):.3f} s, the "
            f"clip has {len(motion)} up to {motion.times[-1]:.3f} s: Contacts.from_intervals makes them for any frames"
        )
    return contacts


def check_soles(soles: Soles | None, figure: Figure) -> None:
    """Raise InputError for soles of another type or number of feet."""
    if soles is not None and not isinstance(soles, Soles):
        what: Any = type(soles).__name__
        raise InputError(f"soles are a poise.Soles, such as planted.soles, not a {what}")
    if soles is not None and len(soles.heel) != len(figure.legs):
        raise InputError(f"these soles are of {len(soles.heel)} feet; the clip's legs: {len(figure.legs)}")
