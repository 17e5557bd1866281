"""Footfalls of a clip, and the path of the body over them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.ground.contact.plants import Plants, find_plants
from poise.ground.figure.figure import Figure
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import HIP, Motion
from poise.ground.figure.speeds import shots_of, velocities
from poise.ground.stages import ClipAnalysis
from poise.ground.terrain.terrain import Terrain
from poise.maths.arrays import Floats, Ints
from poise.maths.vectors import normalise, project_horizontal

_SAME = 0.1  # [m] stances of a foot that are nearer to each other are one footfall
_WINDOW = 0.6  # [s] over which the speed of the body is taken: about a step
_BEYOND = 1.0  # [s] the body goes on before the first frame and after the last


class Footfalls(NamedTuple):
    """K footfalls in the order of the body's passage.

    leg         (K,)
    start, end  (K,) first frame, and the one after the last
    middle      (K,) the frame in which the body is over the foot: may be outside of the clip, and between two frames
    heel, ball  (K, 3) on level ground [m]
    tip, ahead  (K, 3) the end of the toes, and where the sole points
    """

    leg: Ints
    start: Ints
    end: Ints
    middle: Floats
    heel: Floats
    ball: Floats
    tip: Floats
    ahead: Floats


class BodyWay(NamedTuple):
    """Level path of the body, smoothed over a step.

    It is `pad` frames longer than the motion at both ends.

    places  (F + 2 pad, 3) [m]
    arcs    (F + 2 pad,) the way that was gone [m]
    """

    places: Floats
    arcs: Floats
    pad: int

    def at(self, frames: Floats, rows: Floats) -> Floats:
        """Interpolate rows (F + 2 pad, 3) at frames (K,).

        The frames may lie between others, or beyond the ends.
        """
        known = np.arange(len(rows)) - self.pad
        return np.stack([np.interp(frames, known, column) for column in rows.T], axis=-1)


def way_of(motion: Motion) -> BodyWay:
    """The way of the middle of the hips. Where a clip is cut, the body stays."""
    hips = motion.places[:, :, HIP].mean(axis=1) * [1.0, 1.0, 0.0]
    speeds = velocities(motion.times, hips, shots_of(motion), _WINDOW)
    pad = motion.frames(_BEYOND)
    speeds = np.pad(speeds, ((pad, pad), (0, 0)), mode="edge")
    spans = np.pad(np.diff(motion.times), pad, constant_values=motion.step)
    steps = 0.5 * (speeds[1:] + speeds[:-1]) * spans[:, None]
    places = np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    arcs = np.concatenate([[0.0], np.cumsum(np.linalg.norm(steps, axis=1))])
    return BodyWay(places + hips[0] - places[pad], arcs - arcs[pad], pad)


def footfalls_of(analysis: ClipAnalysis, way: BodyWay) -> Footfalls:
    """Find the footfalls on level ground, in upsampled frames."""
    figure, fine = analysis.fine.figure, analysis.fine
    floor = Footing(Terrain.flat(up=figure.up), figure)
    plants = find_plants(fine, analysis.soles, analysis.contacts, floor, 0.0, 0.0)
    leg, start, end, rows = _join_stances(plants)
    middle = _middles(leg, start, end, len(fine), way.pad)
    heel, ball = plants.heel[rows], plants.ball[rows]
    near = way.at(middle + 1.0, way.places) - way.at(middle - 1.0, way.places)
    ahead = pointing(heel, ball, normalise(near))
    toes = np.where(fine.bends[:, None], analysis.soles.tip, analysis.soles.tip - analysis.soles.ball)
    tip = ball + ahead * np.linalg.norm(toes, axis=1)[leg][:, None]
    order = np.argsort(middle, kind="stable")
    return Footfalls(
        leg[order], start[order], end[order], middle[order], heel[order], ball[order], tip[order], ahead[order]
    )


def _join_stances(plants: Plants) -> tuple[Ints, Ints, Ints, Ints]:
    """Join stances to footfalls: leg, start, end and first stance. A foot may have two stances at one position."""
    leg, start, end, _ = plants.stances
    apart = np.linalg.norm(np.diff(plants.ball, axis=0), axis=1) > _SAME
    rows = np.flatnonzero(np.concatenate([[True], (np.diff(leg) != 0) | apart])[: len(leg)])
    last = np.concatenate([rows[1:], [len(leg)]])[: len(rows)] - 1
    return leg[rows], start[rows], end[last], rows


def _middles(leg: Ints, start: Ints, end: Ints, frames: int, pad: int) -> Floats:
    """Compute the middle frames (K,) of footfalls. A footfall cut off by the clip is taken to be as long as others."""
    length = end - start
    whole = (start > 0) & (end < frames)
    usual = float(np.median(length[whole])) if whole.any() else 0.0
    own = np.array([np.median(length[whole & (leg == i)]) if (whole & (leg == i)).any() else usual for i in leg])
    own = np.maximum(own, length)
    middle = np.where(start > 0, start + 0.5 * (own - 1), end - 0.5 * (own + 1))
    return np.clip(np.where((start > 0) & (end < frames), 0.5 * (start + end - 1), middle), -pad, frames - 1 + pad)


def pairs_of(leg: Ints, figure: Figure, shots: Ints) -> Ints:
    """Find the footfalls (K, 2) before each of K footfalls.

    These are the last one of the other foot of the pair, and the last of the same; -1: none. Front feet are a pair, and
    hind feet. No step goes from one of the shots (K,) to another.
    """
    pair = [each.position for each in figure.legs]
    last: dict[int, int] = {}
    found = np.full((len(leg), 2), -1)
    for k, own in enumerate(leg.tolist()):
        if k and shots[k] != shots[k - 1]:
            last.clear()
        others = [last[i] for i, place in enumerate(pair) if i != own and place == pair[own] and i in last]
        found[k] = max(others, default=-1), last.get(own, -1)
        last[own] = k
    return found


def pointing(heel: Floats, ball: Floats, otherwise: Floats) -> Floats:
    """Return level unit vectors along soles (..., 3).

    It is `otherwise` for a hock, whose heel and ball are one point.
    """
    along = project_horizontal(ball - heel)
    short = np.linalg.norm(along, axis=-1, keepdims=True) < 1e-6  # noqa: PLR2004
    return np.where(short, otherwise, normalise(along))
