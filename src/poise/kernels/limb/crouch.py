# pyright: standard
"""Crouch of a standing character towards low targets.

The knees bend, the hips move back and the trunk bends forward.

The smallest rotation would let the trunk fall sideways to reach the floor beside a foot. People bend forward: the lower
the target, the less the trunk leans in another direction. The pelvis rotates by half of the forward bend, the spine by
the rest, because human hips bend no further with straight knees.

Crouch and bend grow together, the bend with the square of the crouch's share, so the knees bend first. The
smallest share with all arms in reach is taken.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.kernels.compiled import kernel, part
from poise.kernels.limb.bends import leaned, square
from poise.kernels.values.linear import (
    Quat,
    Vec,
    about,
    add,
    cross,
    dot,
    multiply,
    norm,
    put_quat_in,
    put_vec_in,
    rotate,
    scale,
    sub,
    vec_at,
)

STEPS = 32  # steps tried from standing to the deepest crouch
# Forward bend of the deepest crouch [rad]; the pelvis' share of it.
DEEPEST, OF_PELVIS = math.radians(110.0), 0.5
BACK = 0.4  # hip movement back per movement down
# Smallest hip to foot distance in leg lengths: high targets, targets on the floor.
FOLDED, SQUATTING = 0.45, 0.35
# Largest lean besides the forward bend [rad], for targets at the hips and on the floor.
ALL, ASIDE = math.radians(100.0), math.radians(25.0)
# Share of the height from hips to feet; the forward bend is complete for targets at this depth or below.
LOW = 0.5
JUST = 1.0 + 1e-9  # factor on a reach; allows rounding
CLEAR = 1e-9  # share of the height from hips to feet; shorter vectors have no direction


class Stander(NamedTuple):
    """A standing body: hips, three axes and its crouch parameters.

    The axes are the level facing direction, up and across.

    back, down  level unit vector of the hips' movement back, and their largest movement down
    low         depth of its targets, 0 to 1
    """

    hips: Vec
    ahead: Vec
    up: Vec
    across: Vec
    back: Vec
    down: float
    low: float


class Crouch(NamedTuple):
    """A crouch: hip position, pelvis and spine bend, side lean.

    `bow` is the forward rotation of the pelvis, `bend` that of each spine joint; `aside` follows both.

    short  largest missing arm length; negative where all arms reach
    """

    hips: Vec
    bow: float
    bend: float
    aside: Quat
    short: float


@part
def middle(points):
    """Return the mean of points (n, 3)."""
    found = Vec(0.0, 0.0, 0.0)
    for i in range(points.shape[0]):
        found = add(found, vec_at(points, i))
    return scale(found, 1.0 / points.shape[0])


@part
def lowness(hips, feet, arms, hands, up, reaches):
    """Measure the depth (0..1) of the lowest target out of reach. It is 0 above the hips and 1 far below."""
    depth, most = LOW * dot(sub(hips, middle(feet)), up), 0.0
    if not depth > 0.0:
        return 0.0
    for j in range(hands.shape[0]):
        hand = vec_at(hands, j)
        if norm(sub(hand, vec_at(arms, j))) > reaches[j]:
            share = min(max(dot(sub(hips, hand), up) / depth, 0.0), 1.0)
            most = max(most, share * share * (3.0 - 2.0 * share))
    return most


@part
def stander_of(hips, ahead, up, low, legs, feet, lengths, hands):
    """Build the StandingBody of a character. It can descend until a leg is folded, and moves back from its targets.

    The lower the targets, the more the hips move straight back.
    """
    size, least = dot(sub(hips, middle(feet)), up), math.inf
    for j in range(legs.shape[0]):
        folded = lengths[j] * (low * SQUATTING + (1.0 - low) * FOLDED)
        least = min(least, norm(sub(vec_at(feet, j), vec_at(legs, j))) - folded)
    level = square(sub(middle(hands), hips), up)
    back = add(scale(level, low - 1.0), scale(ahead, -low * size))
    far = norm(back)
    back = scale(back, 1.0 / far) if far > CLEAR * size else Vec(0.0, 0.0, 0.0)
    return Stander(hips, ahead, up, cross(up, ahead), back, max(least, 0.0), low)


@part
def bowed(stander, spine, arm, bow, bend):
    """Return the arm's root relative to the hips after bending forward.

    The pelvis rotates by `bow`, each joint of the spine by `bend`.

    All rotations are about the lateral axis of the body: components along it stay, the rest rotates in a plane.
    """
    found, start, c, s = Vec(0.0, 0.0, 0.0), stander.hips, math.cos(bow), math.sin(bow)
    more, side = math.cos(bend), math.sin(bend)
    for i in range(spine.shape[0] + 1):
        end = vec_at(spine, i) if i < spine.shape[0] else arm
        way = sub(end, start)
        ahead, up = dot(way, stander.ahead), dot(way, stander.up)
        found = add(found, scale(stander.across, dot(way, stander.across)))
        found = add(found, add(scale(stander.ahead, c * ahead + s * up), scale(stander.up, c * up - s * ahead)))
        start, c, s = end, c * more - s * side, s * more + c * side
    return found


@part
def crouch(stander, spine, arms, hands, reaches, share, at_most):
    """Compute the crouch for a share of the deepest one.

    With `is_limited` the trunk leans by at most its limit, otherwise as far as needed.
    """
    down, joints = stander.down * share, spine.shape[0]
    hips = add(stander.hips, scale(sub(scale(stander.back, BACK), stander.up), down))
    bow, of_pelvis = stander.low * DEEPEST * share * share, OF_PELVIS if joints else 1.0
    bend = bow * (1.0 - of_pelvis) / max(joints, 1)
    most = (stander.low * ASIDE + (1.0 - stander.low) * ALL) * share
    aside, short = Quat(1.0, 0.0, 0.0, 0.0), -math.inf
    for j in range(hands.shape[0]):
        arm = rotate(aside, bowed(stander, spine, vec_at(arms, j), of_pelvis * bow, bend))
        lean, _ = leaned(arm, sub(vec_at(hands, j), hips), 0.0 if at_most else reaches[j], most)
        aside = multiply(lean, aside)
    for j in range(hands.shape[0]):
        arm = rotate(aside, bowed(stander, spine, vec_at(arms, j), of_pelvis * bow, bend))
        short = max(short, norm(sub(sub(vec_at(hands, j), hips), arm)) - reaches[j] * JUST)
    return Crouch(hips, of_pelvis * bow, bend, aside, short)


@part
def least_share(stander, spine, arms, hands, reaches):
    """Find the smallest crouch share with all arms in reach. Return 1 where there is none.

    It is interpolated linearly between two steps, so poses change continuously.
    """
    before = 0.0
    for step in range(STEPS + 1):
        short = crouch(stander, spine, arms, hands, reaches, step / STEPS, True).short
        if short <= 0.0:
            return (step - 1 + before / (before - short)) / STEPS if step else 0.0
        before = short
    return 1.0


@kernel
def crouches(hips, spine, ahead, up, legs, feet, lengths, arms, hands, reaches, lows, out, bends):
    """Fill lows (k,) with target depths and compute the crouches.

    out (k, 7) and bends (k,) are filled only where the depth is above 0.

    hips     (k, 3)     positions of the hips, the centre of the pelvis' rotation
    spine    (k, s, 3)  positions of the spine joints, from the pelvis up
    ahead    (k, 3)     facing direction of the pelvis: level, unit length
    up       (3,)       against gravity
    legs     (k, l, 3)  positions of the legs' first joints
    feet     (k, l, 3)  positions of their feet
    lengths  (l,)       of the legs
    arms     (k, a, 3)  positions of the arms' first joints
    hands    (k, a, 3)  targets of the hands
    reaches  (a,)       reach of each arm
    out      (k, 7)     position of the hips, and the pelvis' rotation about them
    bends    (k,)       forward bend of each spine joint [rad], applied before the pelvis' rotation
    """
    against = Vec(up[0], up[1], up[2])
    for k in range(hips.shape[0]):
        low = lowness(vec_at(hips, k), feet[k], arms[k], hands[k], against, reaches)
        lows[k] = low
        if not low > 0.0:
            continue
        stander = stander_of(vec_at(hips, k), vec_at(ahead, k), against, low, legs[k], feet[k], lengths, hands[k])
        share = least_share(stander, spine[k], arms[k], hands[k], reaches)
        found = crouch(stander, spine[k], arms[k], hands[k], reaches, share, False)
        put_vec_in(out[k], 0, found.hips)
        put_quat_in(out[k], 3, multiply(found.aside, about(stander.across, found.bow)))
        bends[k] = found.bend
