"""Step width: feet stand as far apart as in the source."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.ground.contact.contacts import Contacts, find_runs
from poise.ground.legs.swing import Between, between_of
from poise.maths.arrays import Bools, Floats
from poise.maths.frame_masks import take_frames
from poise.maths.smoothing import smoothstep
from poise.maths.vectors import dot, length, median
from poise.model.pose import Pose
from poise.model.roles.bone_names import SIDES
from poise.retargeting.body import Body
from poise.retargeting.detached_feet import place_detached_feet
from poise.retargeting.limb_ends import LEG, move_limb_ends
from poise.retargeting.root_path import turn_back, turn_positions

# of the width of the hips: where less than the first is level, a body lies on its side, and its feet are not moved;
# from the second on they are in full
_MIN_LEVEL_HIPS, _FULLY_LEVEL_HIPS = 0.5, 0.7
# [leg lengths] narrower hips have no width to go by
_MIN_HIPS = 0.02
# [leg lengths] a foot is moved by no more, so that its leg turns by 6 degrees: directions count more than widths
_MAX_MOVE = 0.1
# how far to the left each foot goes where its step becomes wider
_OUTWARD = np.array([1.0, -1.0])


class StepWidths(NamedTuple):
    """Step widths of a body.

    widths    (F,) how far to the left of the right foot's step the left one's is [file units]
    way       (F, 3) level, from the right hip to the left one, in axes ahead, left, up
    hips      the width of the hips [file units]
    level     (F,) how much the hips are, 0 to 1
    """

    widths: Floats
    way: Floats
    hips: float
    level: Floats


def set_step_width(poses: Pose, source_positions: Floats, bodies: tuple[Body, Body], contacts: Contacts) -> Pose:
    """Move the target's feet sideways where those of the source stand.

    source_positions  (F, n, 3)
    contacts          of the source, in the frames of the poses

    Steps are as wide as the source's, for the width of the hips; see `scale_width`. So wide hips do not straddle, and
    legs of narrow ones do not pass through each other. In the air a foot goes from the one displacement to the other.
    Legs bend in their own plane.
    """
    target = bodies[1]
    standing = _spread_contacts(contacts)
    if not standing.any(axis=0).all():
        return poses
    between = between_of(contacts.times, standing)
    source = measure_step_widths(source_positions, bodies[0], standing, between)
    steps = measure_step_widths(poses.world.positions, target, standing, between)
    if min(one.hips / body.leg_length for one, body in zip((source, steps), bodies, strict=True)) < _MIN_HIPS:
        return poses
    wanted = scale_width(source.widths, source.hips, steps.hips, target.leg_length / bodies[0].leg_length)
    level, most = np.minimum(source.level, steps.level), _MAX_MOVE * target.leg_length
    offsets = np.zeros((len(level), len(SIDES), 3))
    for column, start, stop in zip(*find_runs(standing), strict=True):
        frames = np.arange(start, stop + 1)[level[start : stop + 1] > 0.0]
        both = frames[standing[frames].all(axis=1)]  # a foot in the air has no step
        frames = both if len(both) else frames
        if len(frames):
            outward = np.clip(0.5 * median(wanted[frames] - steps.widths[frames]), -most, most)
            outward *= level[frames].mean()
            offsets[start : stop + 1, column] = outward * _OUTWARD[column] * steps.way[frames].mean(axis=0)
    moves = _interpolate(offsets, between)
    moves = np.stack([turn_back(target, moves[:, column]) for column in range(len(SIDES))], axis=1)
    return place_detached_feet(move_limb_ends(poses, target, LEG, moves), target.detached_feet)


def measure_step_widths(positions: Floats, body: Body, standing: Bools, between: Between) -> StepWidths:
    """Measure how far apart places of feet are across the way.

    positions  (F, n, 3)
    standing   (F, 2) of the left and right foot

    A foot that stands is at the median of its stance; in the air its place goes from the one stance to the next.
    """
    chosen = positions[:, [body.rows[f"{side}{part}"] for part in ("UpperLeg", "Foot") for side in SIDES]]
    points = turn_positions(body, chosen.reshape(-1, 3)).reshape(chosen.shape)
    hip_joints, places = points[:, : len(SIDES)], points[:, len(SIDES) :].copy()
    for column, start, stop in zip(*find_runs(standing), strict=True):
        places[start : stop + 1, column] = median(places[start : stop + 1, column])
    places = _interpolate(places, between)
    across = hip_joints[:, 0] - hip_joints[:, 1]
    hips = float(median(length(across)))
    level = length(across[:, :2])
    way = across * [1.0, 1.0, 0.0] / np.maximum(level, 1e-300)[:, None]
    share = (level / max(hips, 1e-300) - _MIN_LEVEL_HIPS) / (_FULLY_LEVEL_HIPS - _MIN_LEVEL_HIPS)
    return StepWidths(dot(places[:, 0] - places[:, 1], way), way, hips, smoothstep(np.clip(share, 0.0, 1.0)))


def scale_width(widths: Floats, hips: float, target_hips: float, leg_ratio: float) -> Floats:
    """Scale step widths from one body to another.

    From 0 to the width of the hips the scale is that of the hips; what feet stand wider, and how far they cross, is
    scaled as legs are.
    """
    inside = np.clip(widths, 0.0, hips)
    return inside * (target_hips / hips) + leg_ratio * (widths - inside)


def _spread_contacts(contacts: Contacts) -> Bools:
    """Return contacts (F, 2) of the left and the right foot."""
    standing = np.zeros((len(contacts.times), len(SIDES)), dtype=np.bool_)
    standing[:, [SIDES.index(leg) for leg in contacts.legs]] = contacts.any
    return standing


def _interpolate(values: Floats, between: Between) -> Floats:
    """Interpolate values (F, 2, 3) smoothly from stance to stance."""
    start, end = take_frames(values, between.before), take_frames(values, between.after)
    return start + (end - start) * smoothstep(between.share)[..., None]
