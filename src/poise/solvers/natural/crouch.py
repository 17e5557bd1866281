"""How a figure that stands goes down to what lies below its hips: knees bend, hips go back, the trunk bows ahead.

A hand that has to reach the floor beside a foot could get there by a trunk that falls to that side, which is the
smallest rotation. People bend forward: the lower the target is, the less the trunk leans any other way. The pelvis
takes a half of the bow, the spine the rest: hips of people do not bend further while their knees are up.

Crouch and bow grow together, the bow with the square of the share, so that knees bend first, and the least share for
which all arms reach is taken. Many shares are tried at once, with arithmetic that goes number by number, so that one
pose and many are the same bit for bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Bools, Floats

_STEPS = 32  # from standing to the deepest crouch
_DEEPEST, _OF_PELVIS = np.radians(110.0), 0.5  # how far the chest bows then, and which part of that the pelvis does
_BACK = 0.4  # how far hips go back, of how far they go down
_FOLDED, _SQUATTING = 0.45, 0.35  # of a leg: how near to the feet hips come; to reach what lies there
_ALL, _ASIDE = np.radians(100.0), np.radians(25.0)  # the most lean another way: for targets at the hips, on the floor
_LOW = 0.5  # of the way from hips to feet: targets so far down are reached by bowing ahead, those above less and less
_JUST = 1.0 + 1e-9  # of a reach: what is still within it
_CLEAR = 1e-9  # of the way from hips to feet: shorter has no direction


class Stander(NamedTuple):
    """Figures whose legs reach their feet, and what their hands are to reach; lengths in file units.

    hips     (k, 3)     about which the pelvis turns
    spine    (k, s, 3)  the joints of the spine, from the pelvis up
    ahead    (k, 3)     where the pelvis looks, level and of length 1
    up       (3,)       against gravity
    legs     (k, l, 3)  where the legs hang
    feet     (k, l, 3)  where their feet are
    lengths  (l,)       of the legs
    arms     (k, a, 3)  where the arms hang
    hands    (k, a, 3)  what they are to reach
    reaches  (a,)       how far each goes
    """

    hips: Floats
    spine: Floats
    ahead: Floats
    up: Floats
    legs: Floats
    feet: Floats
    lengths: Floats
    arms: Floats
    hands: Floats
    reaches: Floats

    def part(self, rows: Bools) -> Stander:
        """Some of them."""
        each = {name: getattr(self, name)[rows] for name in ("hips", "spine", "ahead", "legs", "feet", "arms", "hands")}
        return self._replace(**each)

    def lowness(self) -> Floats:
        """How low (k,) the lowest target is that an arm does not reach: 0 above the hips, 1 far below."""
        ways = self.hands - self.arms
        short = np.sqrt(dots(ways, ways)) > self.reaches
        below = dots(self.hips[:, None] - self.hands, self.up)
        depth = _LOW * _size(self)[:, None]
        share = np.clip(below / np.maximum(depth, np.finfo(float).tiny), 0.0, 1.0)
        return np.where(short & (depth > 0.0), share * share * (3.0 - 2.0 * share), 0.0).max(axis=1, initial=0.0)


class Crouch(NamedTuple):
    """A crouch of (k, m) figures: places of hips, how the trunk turns and bends, how short arms are.

    hips   (k, m, 3)
    bow    (k, m)     by what the pelvis turns ahead
    bend   (k, m)     by what each joint of the spine does
    aside  (k, m, 4)  how all of that turns then, about the hips
    short  (k, m)     by what the worst arm misses; negative where all reach
    """

    hips: Floats
    bow: Floats
    bend: Floats
    aside: Floats
    short: Floats


def crouched(figures: Stander, low: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The crouch with which all arms just reach, for targets as low as `low` (k,) says.

    Places (k, 3) of the hips, turns (k, 4) of the pelvis about them, by what each joint of the spine bends (k,), and
    the axis (k, 3) of that before the pelvis turns.
    """
    steps = np.broadcast_to(np.arange(_STEPS + 1) / _STEPS, (len(low), _STEPS + 1))
    short = _crouch(figures, low[:, None], steps, at_most=True).short
    done, rows = short <= 0.0, np.arange(len(low))
    after = np.where(done.any(axis=1), done.argmax(axis=1), _STEPS)
    before = np.maximum(after - 1, 0)
    first, last = short[rows, before], short[rows, after]
    part = np.clip(first / np.where(first > last, first - last, 1.0), 0.0, 1.0)  # nearly linear: poses do not leap
    share = np.where(after > before, (before + part * (after - before)) / _STEPS, 0.0)
    found, axis = _crouch(figures, low[:, None], share[:, None]), _cross(figures.up, figures.ahead)
    turn = rotations.multiply(found.aside[:, 0], rotations.about(axis, found.bow[:, 0]))
    return found.hips[:, 0], turn, found.bend[:, 0], axis


def _crouch(figures: Stander, low: Floats, shares: Floats, *, at_most: bool = False) -> Crouch:
    """Crouches by shares (k, m) of the deepest; the trunk leans aside as far as it has to, or `at_most` as it may."""
    down, joints = _depth(figures, low) * shares, figures.spine.shape[1]
    hips = figures.hips[:, None] + down[..., None] * (_BACK * _backward(figures, low) - figures.up)
    bow, of_pelvis = low * _DEEPEST * shares * shares, _OF_PELVIS if joints else 1.0
    bend = bow * (1.0 - of_pelvis) / max(joints, 1)
    arms = _bowed(figures, of_pelvis * bow, bend)
    most = (low * _ASIDE + (1.0 - low) * _ALL) * shares
    size = _size(figures)[:, None]
    aside = None
    for j, reach in enumerate(figures.reaches):
        wanted, arm = figures.hands[:, j, None] - hips, arms[..., j, :]
        arm = arm if aside is None else rotations.rotate(aside, arm)
        about = _unit(_cross(arm, wanted), size * size)
        lean = rotations.about(about, _angle(about, arm, wanted, 0.0 if at_most else reach, most))
        aside = lean if aside is None else rotations.multiply(lean, aside)
    assert aside is not None
    left = figures.hands[:, None] - hips[:, :, None] - rotations.rotate(aside[:, :, None], arms)
    short = (np.sqrt(dots(left, left)) - figures.reaches * _JUST).max(axis=-1)
    return Crouch(hips, of_pelvis * bow, bend, aside, short)


def _bowed(figures: Stander, angle: Floats, bend: Floats) -> Floats:
    """Where the arms hang (k, m, a, 3), seen from the hips, when the pelvis turns by an angle and the spine bends.

    All turns are about one axis, across the figure: what lies along it stays, the rest turns in a plane.
    """
    axes = figures.ahead, np.broadcast_to(figures.up, figures.ahead.shape), _cross(figures.up, figures.ahead)
    start, none = figures.hips, np.zeros((len(angle), 1))
    found = none, none, none
    for number in range(figures.spine.shape[1]):
        joint = figures.spine[:, number]
        ahead, up, across = (dots(joint - start, axis)[:, None] for axis in axes)
        c, s = np.cos(angle), np.sin(angle)
        found = found[0] + (c * ahead + s * up), found[1] + (c * up - s * ahead), found[2] + across
        start, angle = joint, angle + bend
    ahead, up, across = (dots(figures.arms - start[:, None], axis[:, None])[:, None] for axis in axes)
    c, s = np.cos(angle)[..., None], np.sin(angle)[..., None]
    at = (c * ahead + s * up, c * up - s * ahead, across)
    x, y, z = ((a[..., None] + b)[..., None] * axis[:, None, None] for a, b, axis in zip(found, at, axes, strict=True))
    return x + y + z


def _backward(figures: Stander, low: Floats) -> Floats:
    """The level direction (k, 1, 3) away from what is reached for; the lower that is, the more straight back."""
    ways = _mean(figures.hands)[:, None] - figures.hips[:, None]
    level = ways - dots(ways, figures.up)[..., None] * figures.up
    size = _size(figures)[:, None]
    return -_unit((1.0 - low)[..., None] * level + (low * size)[..., None] * figures.ahead[:, None], size)


def _size(figures: Stander) -> Floats:
    """The height (k,) of the hips above the feet."""
    return dots(figures.hips - _mean(figures.feet), figures.up)


def _depth(figures: Stander, low: Floats) -> Floats:
    """How far (k, 1) the hips can go down until the leg that is nearest to its foot is folded."""
    ways = figures.feet - figures.legs
    folded = figures.lengths * (low * _SQUATTING + (1.0 - low) * _FOLDED)
    return np.maximum((np.sqrt(dots(ways, ways)) - folded).min(axis=1), 0.0)[:, None]


def _angle(axis: Floats, arm: Floats, wanted: Floats, reach: float, most: Floats) -> Floats:
    """The smallest angle, from 0 to `most`, about an axis that brings the end of `arm` within reach of a target.

    Where none does, the one that brings it nearest. |wanted - R(t) arm|^2 = c - 2 h cos(t - top).
    """
    along = dots(arm, axis) * dots(wanted, axis)
    cosine, sine = dots(arm, wanted) - along, dots(_cross(axis, arm), wanted)
    high, top = np.sqrt(cosine * cosine + sine * sine), np.arctan2(sine, cosine)
    least = (dots(arm, arm) + dots(wanted, wanted) - reach * reach) / 2.0 - along
    share = np.clip(least / np.maximum(high, np.finfo(float).tiny), -1.0, 1.0)
    angle = np.where(least > cosine, top - np.arccos(share), 0.0)
    return np.clip(angle, 0.0, np.maximum(most, 0.0))


def _unit(v: Floats, size: Floats) -> Floats:
    """v with length 1; zero where it is no longer than a trace of `size`."""
    length = np.sqrt(dots(v, v))
    return np.where((length > _CLEAR * size)[..., None], v / np.where(length > 0.0, length, 1.0)[..., None], 0.0)


def _mean(v: Floats) -> Floats:
    """The mean (k, 3) of rows (k, l, 3), added up one by one."""
    return np.add.accumulate(v, axis=1)[:, -1] / v.shape[1]


def dots(a: Floats, b: Floats) -> Floats:
    """a . b (...), number by number: one row and many are the same bit for bit."""
    return a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]


def _cross(a: Floats, b: Floats) -> Floats:
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)
