"""Hands near the body: trunk, head, thighs and the other arm.

Parts of the body are capsules about axes between joints. Their radii are shares of the height of people, as in
`poise.solvers.natural.surroundings`; flanks go from hip joints to shoulders, so that wide hips count. Everything is in
arm lengths, in axes ahead, left, up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.frame_masks import compute_fade, count_frames
from poise.maths.smoothing import average_hann, smoothstep
from poise.maths.vectors import dot, length
from poise.model.pose import Pose
from poise.model.roles.bone_names import SIDES
from poise.retargeting.body import Body
from poise.retargeting.hand_contact import BEARING_FADE_S, WEIGHT_HALF_WINDOW_S
from poise.retargeting.root_path import turn_back, turn_positions

# of the height: radii of parts, length of the axis of the skull, height of the joint of the head
_TRUNK, _FLANK, _THIGH, _HEAD, _ARM = 0.073, 0.055, 0.057, 0.051, 0.022
_CROWN, _HEAD_AT = 0.07, 0.88
# thigh and shin, of the height (Drillis & Contini 1966), for figures without a known head
_LEG_RATIO = 0.491
# of the way from the middle to the shoulder, at which a flank ends
_FLANK_SHARE = 0.5
# [arm lengths] from a surface to the wrist: nearer than the first it counts in full, farther than the second not; the
# third keeps a wrist out of the body
_NEAR, _FAR, _CLEAR = 0.03, 0.07, 0.02
# [arm lengths] a hand is moved no farther to touch: surfaces are estimated
_FARTHEST = 0.08
# parts that a hand stays out of; the other arm is none of them
_SOLID_COUNT = 6
# trunk and flanks, thighs of the left and of the right leg
BODY_COLUMNS = {"trunk": [0, 1, 2], "leftUpperLeg": [3], "rightUpperLeg": [4]}
_HEAD_COLUMN = 5  # after trunk, flanks and thighs
# a push off two parts at once is shared out between them: so often it is measured again
_PUSHES = 3
# pushes are averaged over time, and what an average leaves is pushed again; a third one bends arms more than it clears
_AVERAGED_PUSHES = 2
# [arm lengths] radius of a head that a figure does not have: nothing is ever near it
_ABSENT = -1000.0
# [arm lengths] a wrist that is nearer to an axis has no side of it
_LEAST_WAY = 1e-3


class _Distances(NamedTuple):
    """Distances of a wrist from the parts of the body.

    along   (F, c) where the nearest point of an axis is, 0 to 1
    sides   (F, c, 3) unit vectors from there to the wrist
    over    (F, c) how far the wrist is over the surface
    """

    along: Floats
    sides: Floats
    over: Floats


class Parts(NamedTuple):
    """Parts of the body around one hand.

    wrist         (F, 3)
    starts, ways  (F, c, 3) where axes begin, and the way to their ends
    radii         (c,)
    """

    elbow: Floats
    wrist: Floats
    starts: Floats
    ways: Floats
    radii: Floats

    def take_frames(self, frames: Ints) -> Parts:
        """Take some frames (k,)."""
        elbow, wrist, starts, ways, radii = self
        return Parts(elbow[frames], wrist[frames], starts[frames], ways[frames], radii)

    def measure(self, wrist: Floats) -> _Distances:
        """Measure the distances of a wrist (F, 3)."""
        way = wrist[:, None] - self.starts
        along = np.clip(dot(way, self.ways) / np.maximum(dot(self.ways, self.ways), 1e-12), 0.0, 1.0)
        offsets = way - along[..., None] * self.ways
        lengths = length(offsets)
        sides = offsets / np.maximum(lengths, _LEAST_WAY)[..., None]
        return _Distances(along, sides, lengths - self.radii)


def compute_hand_moves(
    times: Floats, poses: tuple[Pose, Pose], bodies: tuple[Body, Body], bears: Bools
) -> tuple[Floats, Floats]:
    """Compute moves (F, 2, 3) of the target's hands near its body.

    Also return how much (F, 2) their distance counts, 0 to 1; 1 while a hand is pushed out.

    bears  (F,) frames in which an arm bears: its hand stays on the ground

    A hand that touches a part of the source is as far from that part of the target, in arm lengths and on the same
    side. A hand that is out of trunk, head and thighs in the source stays out of them; others are no deeper in them.
    """
    half_width = count_frames(times, WEIGHT_HALF_WINDOW_S)
    fade = compute_fade(times, bears[:, None], BEARING_FADE_S)
    moves, weights = np.zeros((len(times), len(SIDES), 3)), np.zeros((len(times), len(SIDES)))
    around = [list_parts(*each) for each in zip(poses, bodies, strict=True)]
    for column, side in enumerate(SIDES):
        source, target = (parts[side] for parts in around)
        measured = source.measure(source.wrist)
        near = smoothstep((_FAR - np.abs(measured.over)) / (_FAR - _NEAR)) * fade
        near = average_hann(near, half_width)
        found, total = target.measure(target.wrist), near.sum(axis=1)
        rows, touch = np.flatnonzero(total > 0.0), np.zeros_like(target.wrist)
        steps = (near[rows] * (measured.over - found.over)[rows])[..., None] * found.sides[rows]
        step = steps.sum(axis=1) / np.maximum(total[rows], 1.0)[:, None]
        step *= np.minimum(1.0, _FARTHEST / np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-12))
        touch[rows] = step
        push, least = np.zeros_like(touch), np.minimum(measured.over, _CLEAR)
        is_near = (found.over < least)[:, :_SOLID_COUNT].any(axis=1) | touch.any(axis=1)
        for _ in range(_AVERAGED_PUSHES):
            frames = np.flatnonzero(is_near | push.any(axis=1))
            if not len(frames):
                break
            more = _push_out(target, target.wrist + touch + push, least, frames) * fade
            push += average_hann(more, half_width)
        moves[:, column], weights[:, column] = touch + push, np.where(push.any(axis=1), 1.0, np.minimum(total, 1.0))
    back = turn_back(bodies[1], moves.reshape(-1, 3) * bodies[1].arm_length)
    return back.reshape(moves.shape), weights


def _push_out(parts: Parts, wrist: Floats, least: Floats, frames: Ints) -> Floats:
    """Push a wrist (F, 3) out of solid parts. Returns its move.

    least   (F, c) over their surfaces
    frames  (k,) in which it may be in one of them
    """
    push = np.zeros_like(wrist)
    for _ in range(_PUSHES):
        if not len(frames):
            break
        found = parts.take_frames(frames).measure(wrist[frames] + push[frames])
        missing = np.maximum(least[frames] - found.over, 0.0)[:, :_SOLID_COUNT]
        is_missing = missing.any(axis=1)
        frames, missing, sides = frames[is_missing], missing[is_missing], found.sides[is_missing, :_SOLID_COUNT]
        shares = missing**2
        steps = (shares * missing)[..., None] * sides
        push[frames] += steps.sum(axis=1) / np.maximum(shares.sum(axis=1), 1e-12)[:, None]
    return push


def list_parts(poses: Pose, body: Body) -> dict[str, Parts]:
    """List the parts around each hand, by its side."""
    roles = [*(f"{each}{part}" for each in SIDES for part in _PARTS), *(["head"] if "head" in body.rows else [])]
    positions = poses.world.positions[:, [body.rows[role] for role in roles]]
    places = turn_positions(body, positions.reshape(-1, 3)).reshape(positions.shape) / body.arm_length
    place = {role: places[:, column] for column, role in enumerate(roles)}
    hips, shoulders = (0.5 * (place[f"left{part}"] + place[f"right{part}"]) for part in ("UpperLeg", "UpperArm"))
    height = _measure_height(body) / body.arm_length
    axes = [(hips, shoulders, _TRUNK)]
    axes += [
        (place[f"{each}UpperLeg"], shoulders + _FLANK_SHARE * (place[f"{each}UpperArm"] - shoulders), _FLANK)
        for each in SIDES
    ]
    axes += [(place[f"{each}UpperLeg"], place[f"{each}LowerLeg"], _THIGH) for each in SIDES]
    head = place.get("head", shoulders)
    axes.append((head, head + height * _CROWN * _find_head_up(poses, body), _HEAD))
    solid = tuple(np.stack([axis[end] for axis in axes], axis=1) for end in (0, 1))
    radii = np.array([axis[2] for axis in axes] + [_ARM, _ARM]) * height
    radii[_HEAD_COLUMN] = radii[_HEAD_COLUMN] if "head" in place else _ABSENT
    found: dict[str, Parts] = {}
    for side, other in zip(SIDES, SIDES[::-1], strict=True):
        arm = [place[f"{other}{part}"][:, None] for part in ("UpperArm", "LowerArm", "Hand")]
        starts, ends = (np.concatenate([ends, *arm[first : first + 2]], axis=1) for first, ends in enumerate(solid))
        found[side] = Parts(place[f"{side}LowerArm"], place[f"{side}Hand"], starts, ends - starts, radii)
    return found


_PARTS = ("UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg")


def _find_head_up(poses: Pose, body: Body) -> Floats:
    """Find the direction (F, 3) from head to crown."""
    if "head" not in body.rows:
        return np.broadcast_to(_UP, (len(poses), 3))
    segment = body.segments["head"]
    turns = rotations.multiply(poses.world[poses.skeleton.names[segment.row]].rotations, segment.row_frame)
    return rotations.rotate(rotations.multiply(body.world_turn, turns), _UP)


_UP = np.array([0.0, 0.0, 1.0])


def _measure_height(body: Body) -> float:
    """Measure the height of a figure."""
    if "head" not in body.rows:
        return body.leg_length / _LEG_RATIO
    heights = body.reference.body.points @ body.reference.body.up
    return float(heights[body.rows["head"]] - min(heights[body.rows[f"{side}Foot"]] for side in SIDES)) / _HEAD_AT
