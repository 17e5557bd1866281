"""Anatomical limits of ball joints from published ranges of motion.

Ranges are moved from the anatomical zero pose to the rest pose; clips may show the plane of bending, and the arm gets a
cone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats
from poise.model.anatomy.axes import own_frame
from poise.model.anatomy.joint_axes import JointAxes
from poise.model.anatomy.motion import frames_of, share_outside, with_bends_seen
from poise.model.anatomy.ranges import ARM_AROUND, RANGES, SHARE, UNSEEN_PLAY, PublishedMotion, Ranges
from poise.model.anatomy.shoulder import arm_cone
from poise.model.clip import Clip
from poise.model.limits import SwingTwist, unit_axis
from poise.model.skeleton import Kind, Skeleton

SOURCE = "anatomy"
# [rad] a rest pose further outside the range gives no limit
_ASTRAY = math.radians(30.0)
# fraction of frames outside a limit, above which the limit is dropped
_MOST = 0.5
# [rad] rounding of the ends
_GRAIN = math.radians(0.1)
# parts whose bones are slightly askew at rest: their play is around the rest pose
_CURVED = ("LowerLeg", "LowerArm")


class JointLimit(NamedTuple):
    """Limit of one joint, with its reason.

    joint, role, part  as in JointAxes
    limit              in the joint's own rest frame, as `Skeleton.limited` takes it; None without a limit
    reason             the published motions in degrees with their sources, divided among several joints;
                       the widening to the rest pose; or why there is no limit
    """

    joint: str
    role: str
    part: str
    limit: SwingTwist | None
    reason: str


def joint_limits(skeleton: Skeleton, axes: Iterable[JointAxes], clips: Sequence[Clip] = ()) -> tuple[JointLimit, ...]:
    """Compute the limits of ball and free joints from their axes. Hinges are left out: they have limits of their own.

    A range counts from the anatomical zero pose, a limit from rest: the angles of the joint at rest are subtracted. An
    end that would exclude the rest pose is moved to it, and `reason` says so; a joint with a rest pose more than 30
    degrees outside gets no limit. Neither does a joint more than 15 degrees outside in most frames of the clips: then
    the rest pose does not show the rotation of the bone.
    """
    every = [one for one in axes if skeleton.kinds[one.row] in (Kind.BALL, Kind.FREE)]
    counts = {part: sum(one.part == part for one in every) for part in ("spine", "neck")}
    frames = frames_of(skeleton, clips)
    every = with_bends_seen(skeleton, frames, every)
    return tuple(_joint_limit(skeleton, one, counts.get(one.part, 1), frames) for one in every)


def _joint_limit(skeleton: Skeleton, axes: JointAxes, count: int, frames: Floats) -> JointLimit:
    ranges = RANGES[axes.part]
    if axes.part in UNSEEN_PLAY and not axes.clear:
        ranges = ranges._replace(aside=UNSEEN_PLAY[axes.part])
    share = 1.0 if count == 1 else min(1.0, SHARE / count)
    swing = _arm(axes) if axes.part == "UpperArm" else _swing(axes, ranges, share)
    (twist,), off = _from_rest([_ends(ranges.turn, share)], (axes.rotation,))
    twist = twist if axes.side > 0.0 else _mirrored(twist)
    outside = max(swing.outside, off)
    text = _words([*swing.motions, *ranges.turn], share)
    if outside > _ASTRAY:
        return JointLimit(axes.joint, axes.role, axes.part, None, f"rests {_degrees(outside)} outside of {text}")
    limit = _limit(own_frame(skeleton, axes.row), axes, swing, twist)
    beyond = share_outside(skeleton, frames, axes.row, limit)
    if beyond > _MOST:
        reason = f"clips of the file leave it in {100.0 * beyond:.0f} % of their frames: {text}"
        return JointLimit(axes.joint, axes.role, axes.part, None, reason)
    widened = f"; widened by {_degrees(outside)} to its rest" if outside > _GRAIN else ""
    return JointLimit(axes.joint, axes.role, axes.part, limit, text + widened)


class _Swing(NamedTuple):
    """Swing range of a joint.

    Fields: the first swing axis in the world, (low, high) about both axes, the published motions, and the distance
    [rad] of the rest pose outside.
    """

    across: Floats
    sides: tuple[tuple[float, float], tuple[float, float]]
    motions: list[PublishedMotion]
    outside: float


def _arm(axes: JointAxes) -> _Swing:
    cone = arm_cone(axes)
    return _Swing(cone.across, cone.sides, [motion for _, motion in ARM_AROUND], 0.0)


def _swing(axes: JointAxes, ranges: Ranges, share: float) -> _Swing:
    rests = (axes.flexion, 0.0 if axes.part in _CURVED else axes.abduction)
    (bend, aside), outside = _from_rest([_ends(ranges.bend, share), _ends(ranges.aside, share)], rests)
    mirrored = float(np.cross(axes.bone, axes.bend) @ axes.aside) < 0.0
    return _Swing(axes.bend, (bend, _mirrored(aside) if mirrored else aside), [*ranges.bend, *ranges.aside], outside)


def _limit(frame: Floats, axes: JointAxes, swing: _Swing, twist: tuple[float, float]) -> SwingTwist:
    bone, across = (unit_axis(vector @ frame) for vector in (axes.bone, swing.across))
    first, second, turned = ((_rounded(low), _rounded(high)) for low, high in (*swing.sides, twist))
    return SwingTwist(bone, (first, second), turned, across, SOURCE)


def _ends(pair: tuple[PublishedMotion, PublishedMotion], share: float) -> tuple[float, float]:
    return -math.radians(pair[0].degrees) * share, math.radians(pair[1].degrees) * share


def _from_rest(ends: list[tuple[float, float]], rests: tuple[float, ...]) -> tuple[list[tuple[float, float]], float]:
    """Shift ranges to the rest pose, and widen them to it.

    Also return the distance [rad] of the rest pose outside.
    """
    seen = [(low - rest, high - rest) for (low, high), rest in zip(ends, rests, strict=True)]
    outside = max(max(low, -high, 0.0) for low, high in seen)
    return [(max(min(low, 0.0), -math.pi), min(max(high, 0.0), math.pi)) for low, high in seen], outside


def _mirrored(pair: tuple[float, float]) -> tuple[float, float]:
    return -pair[1], -pair[0]


def _rounded(angle: float) -> float:
    return min(max(round(angle / _GRAIN) * _GRAIN, -math.pi), math.pi) + 0.0


def _degrees(angle: float) -> str:
    return f"{math.degrees(angle):.1f} degrees"


def _words(motions: Iterable[PublishedMotion], share: float) -> str:
    """Format motions in degrees, grouped by source."""
    said: dict[str, list[str]] = {}
    for motion in motions:
        said.setdefault(motion.source, []).append(f"{motion.name} {round(motion.degrees * share, 1):g}")
    text = "; ".join(f"{', '.join(some)} ({source})" for source, some in said.items())
    return text if share == 1.0 else f"{text}, {share:.2g} of the whole"
