"""Travel direction of a clip: the level direction of its figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from poise.errors import InputError
from poise.ground.contact.in_place import in_place
from poise.ground.contact.soles import BALL_POINT, HEEL_POINT, find_soles
from poise.ground.figure.figure import Figure, Up, figure_of
from poise.ground.figure.motion import HIP, Motion, motion_of
from poise.ground.plant import even
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import project_horizontal
from poise.model.clip import Clip
from poise.model.rig import Rig

STILL = 0.3  # [m] whose hips end nearer than this to where they began stays
_FIRST = 1.0  # [s] in which feet say where a figure that stays faces
_SHORT = 1e-3  # [m] feet that point along the ground by less say nothing


class Way(NamedTuple):
    """Where a figure goes.

    direction  (3,) unit and level, in the clip's axes
    evidence   the hips, by where they begin and end; the ground, by how it passes under a clip in place; or the feet,
               by where they point
    """

    direction: Floats
    evidence: Literal["hips", "ground", "feet"]


def travel_direction(
    clip: Clip,
    *,
    rig: Rig | None = None,
    legs: Sequence[str] | None = None,
    up: Up | None = None,
    metre: float | None = None,
) -> Floats:
    """Return the level travel direction of a clip. `Terrain.stairs` and `slope` take it as `direction`.

    Parameters
    ----------
    clip
        What the figure does.
    rig, legs, up, metre
        As for `plant_feet`.

    Returns
    -------
    Floats
        (3,) unit, level, in the clip's axes: from the first place of the hips to the last. Of a clip that walks in
        place, against the way that its ground passes; of one whose hips end within 0.3 m of where they began, where
        its feet point in the first second.

    Raises
    ------
    InputError
        For a clip that stays, and whose feet point straight up or down.
    """
    return way_of(clip, figure_of(even(clip)[0], rig=rig, legs=legs, up=up, metre=metre)).direction


def way_of(clip: Clip, figure: Figure) -> Way:
    """Find the travel direction of a clip and its evidence. See `travel_direction`."""
    motion = motion_of(even(clip)[0], figure)
    hips, passes = motion.places[:, :, HIP].mean(axis=1), in_place(motion)
    went = project_horizontal(hips[-1] - hips[0])
    if passes is not None:
        way, evidence = np.array([-passes[0], -passes[1], 0.0]), "ground"
    elif np.linalg.norm(went) >= STILL:
        way, evidence = went, "hips"
    else:
        way, evidence = _compute_foot_direction(motion), "feet"
    length = float(np.linalg.norm(way))
    if evidence == "feet" and length < _SHORT:
        raise InputError(
            f"clip {clip.name!r} stays where it is, and its feet do not point along the ground: it has no way to go"
        )
    return Way(rotations.rotate(rotations.inverse(figure.turn), way / length) + 0.0, evidence)


def _compute_foot_direction(motion: Motion) -> Floats:
    """Where the feet point (3,) at first [m], level, at the mean."""
    points = find_soles(motion).points(motion)[motion.times <= motion.times[0] + _FIRST]
    return project_horizontal(points[:, :, BALL_POINT] - points[:, :, HEEL_POINT]).mean(axis=(0, 1))
