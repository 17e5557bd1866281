"""Soles: heel, ball and tip of each foot in its joints' frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.ground.figure.figure import Figure
from poise.ground.figure.motion import ANKLE, BALL, END, FOOT, HIP, KNEE, TOES, Motion, rest_motion
from poise.ground.figure.speeds import Shots, shots_of, velocities
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.vectors import dot, length, median, normalise, project_horizontal
from poise.model.pose import Pose
from poise.runtime.immutable_values import freeze
from poise.runtime.result_cache import get_or_compute

HEEL_POINT, BALL_POINT, TIP_POINT = range(3)
_PARTS = [FOOT, FOOT, TOES]  # what carries them

HEEL = 0.3  # the heel is behind the ankle by this share of the distance from ankle to ball, seen from above
TIP = 0.5  # and the tip of toes without an end joint ahead of the ball by this one
MAX_TOE_BEND_RAD = np.radians(60.0)  # toes of people bend so far in walking and running, or as far as animated
STIFF_TIP_M = 0.03  # [m] in the ground, at most: tips of feet without toes that roll over their balls; toes would bend
_FOOT = 0.13  # ankle to ball over the length of the leg, where no joint says it (a foot of 0.152 of the height)
_STEEP = 2.0  # a foot that rises by more than this from ball to ankle is a hock, or does not say how long it is
NEAR_ZERO = 0.15  # [m] a lowest joint at most this high stands on a floor at 0
_THICKNESS = 0.02  # [m] from the lowest joint of a foot to its sole, where the floor is not at 0
_STEP = 0.25  # [m] a foot that stands higher than this above the others stands on something: a step, a box
_LOW = 0.05  # [m] a foot is low that is at most this much above its lowest stance: clips drift by that
_SLOW = 0.3  # [m/s]
WINDOW = 0.05  # [s] over which speeds are taken
_LOWEST = 0.1  # the share of all frames taken as lowest, where none is slow
_SAME = 1e-6  # [m] an end that near to the ball is none
FLAT_M = 0.002  # [m] heel and ball that are both so near to the floor lie on it; a planted clip's are no farther off
_FRAMES = 100  # flat frames that are looked at: a median needs no more


@dataclass(frozen=True, eq=False)
class Soles:
    """Points on the sole of each of L feet [m].

    Parameters
    ----------
    heel, ball
        (L, 3) in the foot's frame, from the ankle.
    tip
        (L, 3) in the toes' frame, from the ball's joint (of a foot without toes: in the foot's frame, from the ankle).
    """

    heel: Floats
    ball: Floats
    tip: Floats

    @property
    def lengths(self) -> Floats:
        """Distances (L,) from heel to ball [m]. 0 for a foot of one point."""
        return length(self.ball - self.heel)

    def points(self, motion: Motion) -> Floats:
        """Return heel, ball and tip (F, L, 3, 3) [m], z up. They are those of each foot in every frame."""
        return np.concatenate([self.ends(motion), self.tips(motion)[:, :, None]], axis=2)

    def ends(self, motion: Motion) -> Floats:
        """Return heels and balls (F, L, 2, 3) [m], z up."""
        ends = np.stack([self.heel, self.ball], axis=1)
        return rotations.rotate(motion.turns[:, :, FOOT, None], ends) + motion.places[:, :, ANKLE, None]

    def tips(self, motion: Motion) -> Floats:
        """Return the tips (F, L, 3) [m], z up."""
        return rotations.rotate(motion.turns[:, :, TOES], self.tip) + motion.places[:, :, BALL]

    @property
    def normals(self) -> Floats:
        """Vectors (L, 3) from soles to ankles, across the soles [m]."""
        along = normalise(self.ball - self.heel)
        return dot(self.heel, along)[:, None] * along - self.heel

    def face_down(self, motion: Motion) -> Bools:
        """Return whether (F, L) soles face the ground. That of a foot of one point does."""
        over = rotations.rotate(motion.turns[:, :, FOOT], self.normals)[..., 2]
        return np.asarray((over >= 0.0) | (self.lengths == 0.0))


def find_soles(motion: Motion, flat: Bools | None = None, *, slow: bool = True, shots: Shots | None = None) -> Soles:
    """Find heel, ball and tip of each foot from flat stance.

    flat   (F, L) the frames in which heel and ball of each foot are known to stand; if None, those in which ankle and
           ball are slow and low
    slow   False: flat is where ankle and ball are lowest, however they move (clips that do not travel)
    shots  where the clip is cut, if that is known

    In flat stance heel, ball and tip are on the floor: the heel behind the ankle by 0.3 of the distance from ankle to
    ball, the ball under its joint, the tip under the end of the toes (toes without one: 0.5 of that distance ahead of
    the ball). Each is the median over the flat frames, so that a floor that drifts averages out. A foot that never
    stands flat is measured where it is lowest; those of a figure that never does on any foot, or that sits or lies all
    the time, in the rest pose.

    The floor is at 0 where the lowest joint of all feet stands at most 0.15 m above it, otherwise 0.02 m under that
    joint, and so under a foot that stands 0.25 m above the others. A foot without toes, or whose toes are right under
    the ankle, is taken to point where the figure faces, as long as a foot of the leg's length is. Of a figure on four
    legs a foot without toes is one point under the ankle, and so are heel and ball of a steep one (a hock).
    """
    rest = motion if flat is not None or len(motion) == 1 else rest_motion(motion.figure)
    stands_at_rest = rest is not motion and bool(rest.upright.any())
    if stands_at_rest and not motion.upright.any():
        return find_soles(rest)
    standing, over = _flat_frames(motion, flat, shots, slow=slow)
    if stands_at_rest and slow and not standing.any():
        return find_soles(rest)
    soles, floor = _measure_soles(motion, standing, over)
    if not stands_at_rest:
        return soles
    soles_at_rest, floor_at_rest = _measure_rest_soles(rest, slow=slow)
    flat_share, deep_share = _share_flat(motion, soles, floor)
    flat_at_rest, deep_at_rest = _share_flat(motion, soles_at_rest, floor_at_rest)
    evidence = flat_at_rest - flat_share, deep_share - deep_at_rest
    return soles_at_rest if min(evidence) >= 0.0 and max(evidence) > 0.0 and flat_at_rest > 0.0 else soles


def find_rest_soles(figure: Figure) -> Soles:
    """Find the soles in the rest pose."""
    return _measure_rest_soles(rest_motion(figure), slow=True)[0]


def _measure_rest_soles(rest: Motion, *, slow: bool) -> tuple[Soles, Floats]:
    """Measure soles, and floors (L,) [m], in the rest pose. Once for all clips of a skeleton."""
    figure = rest.figure
    return get_or_compute(
        figure.skeleton,
        "rest soles",
        (figure.legs, figure.up, figure.metre, slow),
        lambda: freeze(_measure_soles(rest, *_flat_frames(rest, None, None, slow=slow))),
    )


def _share_flat(motion: Motion, soles: Soles, floor: Floats) -> tuple[float, float]:
    """Measure how often feet lie flat on their floor, and in it.

    The floor is the lowest of (L,) [m]. Both are shares of all feet in all frames.
    """
    over = soles.ends(motion)[..., 2] - floor.min()
    return float((np.abs(over).max(axis=2) <= FLAT_M).mean()), float((over.min(axis=2) < -FLAT_M).mean())


def _measure_soles(motion: Motion, standing: Bools, over: Floats) -> tuple[Soles, Floats]:
    """Measure soles, and floors (L,) [m], in flat stance (F, L)."""
    flats = [_some(np.flatnonzero(standing[:, leg]), over[:, leg]) for leg in range(over.shape[1])]
    leg = np.repeat(np.arange(len(flats)), [len(frames) for frames in flats])
    frame = np.concatenate(flats)
    places, turns = motion.places[frame, leg], motion.turns[frame, leg]
    starts = np.searchsorted(leg, np.arange(len(flats)))
    floor = _floors(places[..., 2], starts)
    points = _on_floor(motion, places, leg, find_facing(motion, frame), floor)
    local = rotations.rotate(rotations.inverse(turns[:, _PARTS]), points - _carriers(motion, places, leg))
    heel, ball, tip = np.stack([median(rows) for rows in np.split(local, starts[1:])], axis=1)
    straight = ball + TIP / (1.0 + HEEL) * (ball - heel)  # a foot without toes: medians of each may leave its line
    return Soles(heel, ball, np.where(~motion.bends[:, None], straight, tip)), floor


def _on_floor(motion: Motion, places: Floats, leg: Ints, facing: Floats, floor: Floats) -> Floats:
    """Project heel, ball and tip (n, 3, 3) onto the floor.

    The legs `leg` (n,) have their joints at `places` (n, 5, 3).
    """
    four, hocks = len(motion.figure.legs) > 2, steep(motion)  # noqa: PLR2004
    ankle, joint, end = places[:, ANKLE], places[:, BALL], places[:, END]
    ahead = project_horizontal(joint - ankle)
    unknown = (~motion.bends | (hocks & (not four)))[leg, None]
    if unknown.any():
        leg_length = length(np.diff(places[:, : ANKLE + 1], axis=1)).sum(axis=1, keepdims=True)
        ahead = np.where(unknown, (0.0 if four else _FOOT) * leg_length * facing, ahead)
        joint = np.where(unknown, ankle + ahead, joint)
        end = np.where(unknown, joint, end)
    heel = np.where((hocks & four)[leg, None], joint, ankle - HEEL * ahead)
    tipless = (np.abs(end - joint).max(axis=1) < _SAME)[:, None]
    points = np.stack([heel, joint, np.where(tipless, joint + TIP * ahead, end)], axis=1)
    points[..., 2] = floor[leg, None]
    return points


def _carriers(motion: Motion, places: Floats, leg: Ints) -> Floats:
    """Return the joints (n, 3, 3) above heel, ball and tip."""
    carriers = places[:, [ANKLE, ANKLE, BALL]]
    return np.where(~motion.bends[leg, None, None], places[:, ANKLE, None], carriers)


def steep(motion: Motion) -> Bools:
    """Find feet (L,) with the ankle above the ball at rest.

    These are hocks of four-legged figures, or odd rigs.
    """
    skeleton, turn, legs = motion.figure.skeleton, motion.figure.turn, motion.figure.legs

    def compute() -> Bools:
        rest = Pose(skeleton, skeleton.rest_q).world.positions
        feet = [(skeleton.index(leg.foot), skeleton.index(leg.toes or leg.foot)) for leg in legs]
        drop = rotations.rotate(turn, np.array([rest[foot] - rest[ball] for foot, ball in feet]))
        return freeze(drop[:, 2] > _STEEP * np.hypot(drop[:, 0], drop[:, 1]))

    return get_or_compute(skeleton, "steep feet", (legs, motion.figure.up), compute)


def _floors(heights: Floats, starts: Ints) -> Floats:
    """Estimate the floor under each foot from joint heights.

    The heights (n, 5) are those in flat frames, which begin at row `starts`.
    """
    lowest = heights[:, ANKLE:].min(axis=1)
    levels = np.array([median(rows) for rows in np.split(lowest, starts[1:])])
    return np.where(levels < levels.min() + _STEP, floor_under(levels), levels - _THICKNESS)


def floor_under(levels: Floats) -> float:
    """Estimate the height of a clip's own floor. `levels` are those of the lowest joint of each foot in contact."""
    base = float(levels.min())
    return 0.0 if 0.0 <= base <= NEAR_ZERO else base - _THICKNESS


def find_facing(motion: Motion, frames: Ints) -> Floats:
    """Return level unit vectors (n, 3) in the facing direction.

    The hips of the right legs are on the figure's right. Without a left and a right leg: the direction from ankles to
    knees; zero where that says nothing either.
    """
    names = [leg.name.lower() for leg in motion.figure.legs]
    left = [i for i, name in enumerate(names) if "left" in name]
    right = [i for i, name in enumerate(names) if "right" in name]
    places = motion.places[frames]
    if left and right:
        across = places[:, left, HIP].mean(axis=1) - places[:, right, HIP].mean(axis=1)
        ahead = np.stack([across[:, 1], -across[:, 0], np.zeros(len(across))], axis=1)
    else:
        hips, knees, ankles = (places[:, :, place].mean(axis=1) for place in (HIP, KNEE, ANKLE))
        ahead = project_horizontal(knees - (hips + ankles) / 2)
    level = length(ahead)[:, None]
    return ahead / np.where(level > 0, level, 1.0)


def _flat_frames(motion: Motion, known: Bools | None, shots: Shots | None, *, slow: bool) -> tuple[Bools, Floats]:
    """Find flat stance (F, L), and heights (F, L) of feet [m]. A height counts from the foot's lowest."""
    places = motion.places[:, :, [ANKLE, BALL]]
    over = (places[..., 2] - places[..., 2].min(axis=0)).max(axis=2)  # (F, L) both joints
    over = np.where(motion.upright | ~motion.upright.any(axis=0), over, np.inf)
    flat: Bools
    if known is not None:
        flat = known.copy()
    elif slow:
        flat = _slow(motion, places, shots or shots_of(motion))
        flat &= over <= np.array([_tenth(over[flat[:, leg], leg]) for leg in range(over.shape[1])]) + _LOW
    else:
        flat = np.zeros(over.shape, dtype=np.bool_)
    return flat & np.isfinite(over), over


def _slow(motion: Motion, places: Floats, shots: Shots) -> Bools:
    """Return where (F, L) both points (F, L, 2, 3) are slow."""
    moves = velocities(motion.times, places, shots, WINDOW)
    speed = np.einsum("...i,...i->...", moves, moves).max(axis=2)
    alone = (shots.first == shots.last) & (len(motion) > 1)
    return (speed < _SLOW**2) & ~alone[:, None]


def _tenth(values: Floats) -> float:
    """Return the lower tenth percentile; 0 without values."""
    rank = len(values) // 10
    return float(np.partition(values, rank)[rank]) if len(values) else 0.0


def _some(flat: Ints, over: Floats) -> Ints:
    """Select at most a hundred flat frames, evenly spaced.

    Without flat frames, take the tenth of all in which the foot is lowest.
    """
    if not len(flat):
        count = max(1, int(_LOWEST * len(over)))
        flat = np.sort(np.argsort(over, kind="stable")[:count])
    return flat if len(flat) <= _FRAMES else flat[np.linspace(0, len(flat) - 1, _FRAMES).astype(np.int64)]
