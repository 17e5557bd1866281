"""Move hips and shoulders with supporting knees and elbows."""

from __future__ import annotations

import dataclasses

import numpy as np

from poise.ground.bearing.limbs import put_down, with_knees
from poise.ground.bearing.parts import FADE, Bearing
from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import HIP, Motion
from poise.ground.legs.body import Lean
from poise.ground.legs.feet import Feet
from poise.ground.legs.legs import Turned, knees_of, rebend_legs
from poise.ground.legs.swing import fade_offsets
from poise.maths.arrays import Bools, Floats
from poise.maths.smoothing import average_hann
from poise.maths.vectors import make_vertical, normalise, project_horizontal

_DAMPED = 0.15  # of 1: thighs that are nearly parallel say nothing of the way between them
_SMOOTH = 0.05  # [s] to each side: over how long the way is averaged
_STEPS = 6  # of Newton's, which the damping slows down


def shift_for_limbs(bearing: Bearing, motion: Motion, lean: Lean, up: Floats, footing: Footing) -> Floats:
    """Return the displacement (F, 3) [m] of the whole character.

    It brings supporting knees and elbows to their positions.

    up  (F,) how much higher the figure is put than it leans
    """
    columns = _columns(bearing, motion)
    middles = lean.of(bearing.places[:, columns]) + make_vertical(up)[:, None]
    shift = _shift(bearing, columns, _roots(bearing, motion, lean, up), middles, footing)
    shift[:, 2] *= 1.0 - bearing.weights[:, bearing.parts.index("hips")]  # a seat stays on its ground
    return average_hann(shift, motion.frames(_SMOOTH))


def on_knees(
    bearing: Bearing, motion: Motion, soles: Soles, lean: Lean, turned: Turned, feet: Feet, standing: Bools,
    footing: Footing, stretch: float,
) -> tuple[Lean, Turned]:  # fmt: skip
    """Move the character by the remaining displacement.

    Feet stay in position and knees stay planted.

    motion    the clip's, before it leans
    standing  (F, L) when feet do
    """
    columns, body = _columns(bearing, motion), lean.motion(motion)
    elbows = lean.of(bearing.places[:, columns[len(motion.figure.legs) :]]) + make_vertical(turned.up)[:, None]
    middles = np.concatenate([knees_of(body, turned), elbows], axis=1)
    shift = _shift(bearing, columns, _roots(bearing, motion, lean, turned.up), middles, footing)
    if shift.any():
        lean = dataclasses.replace(lean, shift=lean.shift + project_horizontal(shift))
        body, up = lean.motion(motion), turned.up + shift[:, 2]
        bent = rebend_legs(body, soles, feet, turned, turned.ankles, up, stretch)
        turned = dataclasses.replace(bent, missing=turned.missing + bent.missing)
    return lean, with_knees(bearing, body, soles, turned, standing, footing)


def _columns(bearing: Bearing, motion: Motion) -> list[int]:
    """Where knees and then elbows stand among the parts."""
    return bearing.columns(*(f"{leg.name} knee" for leg in motion.figure.legs), *(a.elbow for a in bearing.arms))


def _roots(bearing: Bearing, motion: Motion, lean: Lean, up: Floats) -> Floats:
    """Return hips and shoulders (F, n, 3) of the tilted, raised character."""
    return lean.of(np.concatenate([motion.places[:, :, HIP], bearing.shoulders], axis=1)) + make_vertical(up)[:, None]


def _shift(bearing: Bearing, columns: list[int], roots: Floats, middles: Floats, footing: Footing) -> Floats:
    """Compute the least displacement (F, 3) for limb roots.

    It brings each root to a bone's length from its planted middle joint (F, n, 3). With e the unit vector from such a
    place to its root and r by how much they are farther apart than the bone is long, it has e . d = -r for all of them,
    damped where they are nearly parallel. It fades before and after.
    """
    on = bearing.on[:, columns]
    shift, damped = np.zeros((len(on), 3)), _DAMPED * np.eye(len(columns))
    if not on.any():
        return shift
    length = np.linalg.norm(roots - middles, axis=-1)
    places = np.where(on[..., None], put_down(bearing, columns, middles, footing), middles)
    for _ in range(_STEPS):
        bones = roots + shift[:, None] - places
        apart = fade_offsets(
            bearing.times, (np.linalg.norm(bones, axis=-1) - length)[..., None] * on[..., None], on, FADE
        )
        along = normalise(bones)
        square = np.einsum("fli,fmi->flm", along, along) + damped
        shift = shift - np.einsum("fli,fl->fi", along, np.linalg.solve(square, apart)[..., 0])
    return shift
