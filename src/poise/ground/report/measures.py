"""Measures of the contacts of feet, hands and knees in one motion. One definition each.

Nothing here depends on the frame rate: lengths are divided by times, not counted in frames. What is measured between
two frames counts for the time between them, what is measured in a frame for half of the time on either side. A gap
(a step of no length, or ten times as long as the median) is no motion: nothing is measured across it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from poise.ground.bearing.parts import Bearing, part_places
from poise.ground.contact.contacts import Contacts
from poise.ground.contact.edges import hanging
from poise.ground.contact.plants import RUNG_M
from poise.ground.contact.soles import STIFF_TIP_M, TIP_POINT, Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, FOOT, HIP, KNEE, THIGH, TOES, Motion
from poise.ground.figure.steps import MM, runs, spans
from poise.maths.arrays import Bools, Floats
from poise.maths.rotations import inverse, multiply, rotate
from poise.maths.vectors import median
from poise.model.clip import Clip

_CM = 100.0  # [cm/m]
_BENT = 1e-3  # a knee whose bend has a smaller sine says nothing of its axis


@dataclass(frozen=True, eq=False)
class SolePaths:
    """Paths of sole points over the ground. Of L feet in F frames.

    times    (F,) [s]
    points   (F, L, 3, 3) heel, ball and tip [m], z up
    heights  (F, L, 3) of the points above the ground straight below them [m]; negative inside it. Tips of feet without
             toes may be in it by 3 cm while the ball stands: toes would bend
    normals  (F, L, 3, 3) of the ground there, of unit length
    off      (F, L, 2) of heels and balls above what they stand on [m]: the ground straight below them; of one that
             hangs over an edge, level with the tread of the other one, that tread
    """

    times: Floats
    points: Floats
    heights: Floats
    normals: Floats
    off: Floats

    def lower(self, higher: Floats) -> SolePaths:
        """Measure feet from rungs above the ground, `higher` (F, L) [m]."""
        return replace(self, heights=self.heights - higher[..., None], off=self.off - higher[..., None])


def paths_of(motion: Motion, soles: Soles, footing: Footing, balls: Bools | None = None) -> SolePaths:
    """Follow the soles of a motion over the ground. `balls` (F, L) says when they stand."""
    points = soles.points(motion)
    heights, normals, _ = footing.sample(points)
    ends, ground = points[:, :, :TIP_POINT], heights[:, :, :TIP_POINT]
    treads = np.where(hanging(ends, ground, footing), ground[..., ::-1], ground)
    over = points[..., 2] - heights
    if balls is not None:
        tips = over[:, :, TIP_POINT]
        tips += (balls & ~motion.bends) * np.clip(-tips, 0.0, STIFF_TIP_M)
    return SolePaths(motion.times, points, over, normals, ends[..., 2] - treads)


@dataclass(frozen=True, eq=False)
class Measures:
    """How the feet of one motion stand. A point is a heel, a ball or a tip; only heels and balls have contacts.

    skate        [cm/s] way along the ground of all points while in contact, over their time in contact
    skates       (L, 2) [cm/s] the same for each heel and ball; 0 without contact
    slip         [mm] how far along the ground a point in contact is from the place of that contact, at most
    lift         [mm] how far above or below the ground a point in contact is, at most; one that hangs over the edge of
                 the tread that the rest of its foot stands on: above or below that tread
    penetration  [mm] how deep a point is in the ground, at most, over all frames
    sunk         [mm s] depth of all points over time
    floating     [mm] height above the ground of the lowest point of a foot in contact, at most
    floating_mean [mm] its mean over the time in contact
    backward     (L,) [deg] how far a knee bends backwards, at most
    knee_bend    (L,) [deg] angle between thigh and shin, at most
    toe_bend     (L,) [deg] how far toes are turned against their foot from how they lie in a flat sole, at most
    contact      (L,) share of the time in which a foot stands, on heel or ball
    """

    skate: float
    skates: Floats
    slip: float
    lift: float
    penetration: float
    sunk: float
    floating: float
    floating_mean: float
    backward: Floats
    knee_bend: Floats
    toe_bend: Floats
    contact: Floats


class Shape(NamedTuple):
    """Knee axes (L, 3) and flat toe rotations (L, 4).

    Knees bend about the axes; the rotations are those of toes in flat soles.
    """

    knees: Floats
    toes: Floats


def shape_of(paths: SolePaths, motion: Motion) -> Shape:
    """Find the shape of a source's legs."""
    return Shape(knee_axes(motion), flat_toes(paths, motion))


def measures_of(
    paths: SolePaths, contacts: Contacts, motion: Motion, shape: Shape | None = None, higher: Floats | None = None
) -> Measures:
    """Compute all measures of a motion on its ground.

    shape   that of the source, or of the motion itself if None
    higher  (F, L) [m] above the ground that feet are meant to stand, as on a rung; on it if None
    """
    knees, toes = shape or shape_of(paths, motion)
    held = np.stack([contacts.heel, contacts.ball], axis=2)
    over_rungs = paths if higher is None else paths.lower(np.where(higher > RUNG_M, higher, 0.0))
    largest, mean = floating(over_rungs, contacts.any)
    return Measures(
        skate=skate(paths, held),
        skates=skates(paths, held),
        slip=slip(paths, held),
        lift=lift(over_rungs, held),
        penetration=penetration(paths),
        sunk=integrate_depth(paths),
        floating=largest,
        floating_mean=mean,
        backward=backward_bends(motion, knees).max(axis=0, initial=0.0),
        knee_bend=knee_bends(motion).max(axis=0, initial=0.0),
        toe_bend=toe_bends(motion, toes).max(axis=0, initial=0.0),
        contact=shares(paths.times) @ contacts.any,
    )


def shares(times: Floats) -> Floats:
    """Compute the share (F,) of time of each frame. Half of the steps on either side.

    Frames without time, as in a clip of one frame, share equally.
    """
    steps = spans(times)
    weights = 0.5 * (np.append(steps, 0.0) + np.insert(steps, 0, 0.0))
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(times), 1.0 / max(len(times), 1))


def skate(paths: SolePaths, held: Bools) -> float:
    """Compute the mean skating speed of heels and balls in contact [cm/s].

    Distance along the ground over time in contact; 0 without any.

    sum |d - (d . n) n| / sum t over the steps d between frames that are both in contact; n is the mean normal of the
    ground at both ends. held (F, L, 2): when heels and balls are in contact.
    """
    way, time = _in_contact(paths, held)
    return _CM * float(way.sum() / time.sum()) if time.any() else 0.0


def skates(paths: SolePaths, held: Bools) -> Floats:
    """Compute the skating speed (L, 2) of each heel and ball [cm/s]. 0 without contact."""
    way, time = _in_contact(paths, held)
    return _CM * way / np.where(time > 0, time, 1.0)


def _in_contact(paths: SolePaths, held: Bools) -> tuple[Floats, Floats]:
    """Way along the ground [m] and time [s] in contact (L, 2)."""
    way, time = ways(paths)
    both = held[1:] & held[:-1]
    return (way * both).sum(axis=0), (time * both).sum(axis=0)


def speeds(paths: SolePaths) -> Floats:
    """Compute ground speeds (F, L, 2) of heels and balls [m/s].

    Distance over time of the steps on either side.
    """
    way, time = (np.pad(part, ((1, 1), (0, 0), (0, 0))) for part in ways(paths))
    time = time[1:] + time[:-1]
    return (way[1:] + way[:-1]) / np.where(time > 0, time, 1.0)


def ways(paths: SolePaths) -> tuple[Floats, Floats]:
    """Compute distance and time of heels and balls between frames.

    Distance along the ground (F - 1, L, 2) [m], time (F - 1, 1, 1) [s].
    """
    time = spans(paths.times)[:, None, None]
    normals = paths.normals[1:, :, :2] + paths.normals[:-1, :, :2]
    steps = _along(np.diff(paths.points[:, :, :2], axis=0), normals)
    return np.linalg.norm(steps, axis=-1) * (time > 0), time


def _along(steps: Floats, normals: Floats) -> Floats:
    """Project steps (..., 3) onto the ground. Normals may have any length."""
    square = (normals * normals).sum(axis=-1, keepdims=True)
    across = (steps * normals).sum(axis=-1, keepdims=True) / np.where(square > 0, square, 1.0)
    return steps - across * normals


def slip(paths: SolePaths, held: Bools) -> float:
    """Compute the largest slip of a contact point along the ground [mm].

    The distance of a heel or ball from the place of its contact.

    The place of a contact is the median of its points, each coordinate for itself: a single frame that is off does not
    move it.
    """
    farthest = 0.0
    for leg, point in np.ndindex(held.shape[1:]):
        for rows in runs(held[:, leg, point], paths.times):
            places, normals = paths.points[rows, leg, point], paths.normals[rows, leg, point]
            off = _along(places - median(places), normals)
            farthest = max(farthest, float(np.linalg.norm(off, axis=-1).max()))
    return MM * farthest


def lift(paths: SolePaths, held: Bools) -> float:
    """Compute the largest distance of a contact point from its support [mm].

    Above or below the ground that a heel or ball stands on; 0 without contact.
    """
    return MM * float(np.abs(paths.off)[held].max(initial=0.0))


def penetration(paths: SolePaths) -> float:
    """Compute the largest depth of a sole point in the ground [mm]. Straight up to the ground, over all frames."""
    return MM * float((-paths.heights).max(initial=0.0))


def integrate_depth(paths: SolePaths) -> float:
    """Integrate the depth of all sole points over time [mm s]. By trapezoids; the sum of all heels, balls and tips."""
    depth = np.maximum(-paths.heights, 0.0).sum(axis=(1, 2))
    return MM * float(0.5 * (depth[1:] + depth[:-1]) @ spans(paths.times))


def floating(paths: SolePaths, standing: Bools) -> tuple[float, float]:
    """Compute the largest and mean height of feet in contact [mm].

    The height of the lowest point above the ground; `standing` is (F, L).

    The mean is over all time in which feet stand, foot by foot. Both are 0 if none ever stands.
    """
    height = np.maximum(paths.heights.min(axis=2), 0.0)
    weights = shares(paths.times)[:, None] * standing
    total = weights.sum()
    mean = float((weights * height).sum() / total) if total > 0 else 0.0
    return MM * float(height[standing].max(initial=0.0)), MM * mean


def knee_axes(motion: Motion) -> Floats:
    """Compute the bending axis of each knee (L, 3). In the thigh's frame; zero for a leg that is never bent.

    The mean over all frames of the cross product of the directions of thigh and shin, which is as long as the sine of
    the bend: frames in which the leg is straight do not count.
    """
    thigh, shin = _bones(motion)
    axes = rotate(inverse(motion.turns[:, :, THIGH]), np.cross(thigh, shin)).mean(axis=0)
    length = np.linalg.norm(axes, axis=-1, keepdims=True)
    return np.where(length > _BENT, axes / np.where(length > 0, length, 1.0), 0.0)


def backward_bends(motion: Motion, axes: Floats) -> Floats:
    """Compute the hyperextension of each knee (F, L) [deg]. The bend against its axis; 0 for a leg whose axis is zero.

    The bend is the angle from thigh to shin about the axis (L, 3), which the thigh carries.
    """
    thigh, shin = _bones(motion)
    carried = rotate(motion.turns[:, :, THIGH], np.broadcast_to(axes, thigh.shape))
    bend = np.arctan2((np.cross(thigh, shin) * carried).sum(axis=-1), (thigh * shin).sum(axis=-1))
    return np.where(axes.any(axis=-1), np.degrees(np.maximum(-bend, 0.0)), 0.0)


def knee_bends(motion: Motion) -> Floats:
    """Angle between thigh and shin (F, L) [deg], to whichever side."""
    thigh, shin = _bones(motion)
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(thigh, shin), axis=-1), (thigh * shin).sum(axis=-1)))


def flat_toes(paths: SolePaths, motion: Motion) -> Floats:
    """Find toe rotations (L, 4) of the flattest frames.

    Relative to the foot; heel, ball and tip are nearest to one height there.
    """
    flattest = np.ptp(paths.points[..., 2], axis=2).argmin(axis=0)
    return _toe_turns(motion)[flattest, np.arange(len(flattest))]


def toe_bends(motion: Motion, flat: Floats) -> Floats:
    """Compute rotation angles of toes (F, L) [deg] from `flat` (L, 4).

    Relative to the foot; 0 for feet without toes.
    """
    turn = multiply(inverse(flat), _toe_turns(motion))
    return np.degrees(2.0 * np.arctan2(np.linalg.norm(turn[..., 1:], axis=-1), np.abs(turn[..., 0])))


def _toe_turns(motion: Motion) -> Floats:
    return multiply(inverse(motion.turns[:, :, FOOT]), motion.turns[:, :, TOES])


def _bones(motion: Motion) -> tuple[Floats, Floats]:
    """Compute directions of thigh and shin (F, L, 3). Zero for a bone without length."""
    places = motion.places
    bones = np.stack([places[:, :, KNEE] - places[:, :, HIP], places[:, :, ANKLE] - places[:, :, KNEE]])
    length = np.linalg.norm(bones, axis=-1, keepdims=True)
    thigh, shin = bones / np.where(length > 0, length, 1.0)
    return thigh, shin


@dataclass(frozen=True, eq=False)
class PartPaths:
    """Where P hands, elbows and knees go in F frames.

    parts   their names
    times   (F,) [s]
    points  (F, P, 3) [m], z up
    depths  (F, P) how much nearer to the ground than in the clip, or in it [m]; below 0 where they are not
    on      (F, P) when they bear
    """

    parts: tuple[str, ...]
    times: Floats
    points: Floats
    depths: Floats
    on: Bools

    @property
    def skate(self) -> float:
        """Mean skating speed of all supporting parts [cm/s]. Distance over time in contact; 0 without any."""
        both, time = self.on[1:] & self.on[:-1], spans(self.times)[:, None]
        whole = (both * time).sum()
        return _CM * float((self.ways * both).sum() / whole) if whole > 0.0 else 0.0

    @property
    def ways(self) -> Floats:
        """(F - 1, P) from frame to frame [m]."""
        return np.linalg.norm(np.diff(self.points, axis=0), axis=-1) * (spans(self.times) > 0.0)[:, None]

    @property
    def deepest(self) -> float:
        """How deep a part is, at most [mm]."""
        return MM * float(self.depths.max(initial=0.0))


def part_paths(bearing: Bearing, clip: Clip, motion: Motion, footing: Footing) -> PartPaths:
    """Follow the parts of a clip over the ground. Its legs are in `motion`."""
    parts, points = part_places(clip, motion, bearing.arms)
    depths = footing.heights(points) + bearing.least - points[..., 2]
    limbs = parts.index("hips")  # the last of all
    return PartPaths(parts[:limbs], bearing.times, points[:, :limbs], depths[:, :limbs], bearing.on[:, :limbs])
