"""Fit the strides of a clip to the treads of the ground."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from poise.formatting import format_count
from poise.ground.figure.footing import Footing
from poise.ground.figure.speeds import shots_of
from poise.ground.stages import ClipAnalysis
from poise.ground.strides.footfalls import BodyWay, Footfalls, footfalls_of, pairs_of, way_of
from poise.ground.strides.search import LEAST, Placed, Search, left_out, search_walks
from poise.ground.strides.strided import apply_strides, course_of
from poise.maths.arrays import Floats, Ints
from poise.model.clip import Clip

_SKEWS = (0.0, 0.5, 1.0)  # knees are calmest without; the more, the better feet get past risers and edges
_HOPELESS = 0.5  # the share of steps that climb too much which may still do so, or strides stay as they were
_FELT = 0.01  # [m] a step that changes by less is not mentioned


class WithStrides(NamedTuple):
    """A clip with fitted strides, its analysis and notes for the report."""

    clip: Clip
    analysis: ClipAnalysis
    notes: tuple[str, ...]


def keep_strides(clip: Clip, analysis: ClipAnalysis) -> WithStrides:
    """Return the clip unchanged, for ground without fitting strides."""
    note = f"strides are as they were: none down to {LEAST:.1f} of their length fits the treads"
    return WithStrides(clip, analysis, (note,))


def fits(clip: Clip, analysis: ClipAnalysis, footing: Footing) -> Iterator[WithStrides]:
    """Generate the clip with fitted strides.

    There are up to three variants: they differ in the swings of feet between their positions. One as it is where none
    of its steps climbs two treads.
    """
    way = way_of(analysis.fine)
    falls = footfalls_of(analysis, way)
    count, middle = len(falls.leg), analysis.repeats.finer(analysis.finer).middle
    anchor = middle.start
    shots = shots_of(analysis.fine).first[np.clip(falls.start, 0, len(analysis.fine) - 1)]
    pairs = pairs_of(falls.leg, analysis.fine.figure, shots)
    ahead = Search(falls, footing, np.arange(0), np.zeros((count, 3)), pairs)
    before = left_out(ahead, np.zeros((count, 3))) > 0
    if not before.any():
        yield WithStrides(clip, analysis, ("strides are as they were: no step of the clip climbs two treads",))
        return
    placed = _place_footfalls(ahead, way, shots, anchor)
    if (left_out(ahead, placed.moved) > 0).sum() > _HOPELESS * before.sum():
        yield keep_strides(clip, analysis)
        return
    course = course_of(way, falls, placed.shares, anchor)
    here = (falls.start < middle.stop) & (falls.end > middle.start)  # not the repeats of a loop
    steps = pairs[:, 0] if (pairs[:, 0] >= 0).any() else pairs[:, 1]  # of one leg: its own
    notes = _changed_notes(falls, way.at(falls.middle, course.moved), np.where(here, steps, -1))
    for skew in _SKEWS:
        yield WithStrides(*apply_strides(clip, analysis, way, falls, course, footing, skew), notes)


def _place_footfalls(ahead: Search, way: BodyWay, shots: Ints, anchor: int) -> Placed:
    """Place the footfalls after the anchor, then those before it. The latter are placed backwards."""
    falls, count = ahead.falls, len(ahead.falls.leg)
    first = int(np.searchsorted(falls.middle, anchor))
    places = np.insert(way.at(falls.middle, way.places), first, way.at(np.array([anchor]), way.places), axis=0)
    moves = np.diff(places, axis=0)
    placed = Placed(np.zeros((count, 3)), np.ones(count))
    placed = search_walks(ahead._replace(order=np.arange(first, count), moves=moves), placed, np.nan)
    if first:
        back = pairs_of(falls.leg[::-1], ahead.footing.figure, shots[::-1])[::-1]
        pairs = np.where(back >= 0, count - 1 - back, -1)
        behind = ahead._replace(order=np.arange(first)[::-1], moves=-moves, pairs=pairs)
        placed = search_walks(behind, placed, placed.shares[first] if first < count else np.nan)
    return placed


def _changed_notes(falls: Footfalls, moved: Floats, before: Ints) -> tuple[str, ...]:
    """Describe how many steps became shorter or longer. A step goes past the other foot."""
    some = np.flatnonzero(before >= 0)
    old, new = (
        np.linalg.norm((balls[some] - balls[before[some]])[:, :2], axis=1) for balls in (falls.ball, falls.ball + moved)
    )
    notes = []
    for word, change in (("shorter", old - new), ("longer", new - old)):
        number = int((change > _FELT).sum())
        if number:
            most = int(change.argmax())
            notes.append(f"{number} {word} (at most: {old[most]:.2f} m became {new[most]:.2f} m)")
    return (f"strides fitted to the treads: of {format_count(len(some), 'step')} {', '.join(notes)}",) if notes else ()
