"""Fit: strides of a clip made to suit the treads that it goes over, and what is said of that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from poise.formatting import format_count
from poise.ground.figure.footing import Footing
from poise.ground.figure.speeds import shots_of
from poise.ground.stages import ClipAnalysis
from poise.ground.strides.footfalls import BodyWay, Footfalls, footfalls_of, pairs_of, way_of
from poise.ground.strides.search import LEAST, Placed, Search, left_out, searched
from poise.ground.strides.strided import course_of, strided
from poise.maths.arrays import Floats, Ints
from poise.model.clip import Clip

_SKEWS = (0.0, 0.5, 1.0)  # knees are calmest without; the more, the better feet get past risers and edges
_HOPELESS = 0.5  # the share of steps that climb too much which may still do so, or strides stay as they were
_FELT = 0.01  # [m] a step that changes by less is not mentioned


class WithStrides(NamedTuple):
    """A clip with strides that fit, what was seen of it, and what is to be said of that, a sentence."""

    clip: Clip
    seen: ClipAnalysis
    notes: tuple[str, ...]


def as_it_was(clip: Clip, seen: ClipAnalysis) -> WithStrides:
    """A clip that no strides could be found for."""
    said = f"strides are as they were: none down to {LEAST:.1f} of their length fits the treads"
    return WithStrides(clip, seen, (said,))


def fits(clip: Clip, seen: ClipAnalysis, footing: Footing) -> Iterator[WithStrides]:
    """The clip with strides that fit, in up to three ways that feet may go through the air between their places.

    One as it is where none of its steps climbs two treads.
    """
    way = way_of(seen.fine)
    falls = footfalls_of(seen, way)
    count, middle = len(falls.leg), seen.repeats.finer(seen.finer).middle
    anchor = middle.start
    shots = shots_of(seen.fine).first[np.clip(falls.start, 0, len(seen.fine) - 1)]
    pairs = pairs_of(falls.leg, seen.fine.figure, shots)
    ahead = Search(falls, footing, np.arange(0), np.zeros((count, 3)), pairs)
    before = left_out(ahead, np.zeros((count, 3))) > 0
    if not before.any():
        yield WithStrides(clip, seen, ("strides are as they were: no step of the clip climbs two treads",))
        return
    placed = _placed(ahead, way, shots, anchor)
    if (left_out(ahead, placed.moved) > 0).sum() > _HOPELESS * before.sum():
        yield as_it_was(clip, seen)
        return
    course = course_of(way, falls, placed.shares, anchor)
    here = (falls.start < middle.stop) & (falls.end > middle.start)  # not the repeats of a loop
    steps = pairs[:, 0] if (pairs[:, 0] >= 0).any() else pairs[:, 1]  # of one leg: its own
    notes = _changed_notes(falls, way.at(falls.middle, course.moved), np.where(here, steps, -1))
    for skew in _SKEWS:
        yield WithStrides(*strided(clip, seen, way, falls, course, footing, skew), notes)


def _placed(ahead: Search, way: BodyWay, shots: Ints, anchor: int) -> Placed:
    """Footfalls after the anchor, one after the other, then those before it, backwards."""
    falls, count = ahead.falls, len(ahead.falls.leg)
    first = int(np.searchsorted(falls.middle, anchor))
    places = np.insert(way.at(falls.middle, way.places), first, way.at(np.array([anchor]), way.places), axis=0)
    moves = np.diff(places, axis=0)
    placed = Placed(np.zeros((count, 3)), np.ones(count))
    placed = searched(ahead._replace(order=np.arange(first, count), moves=moves), placed, np.nan)
    if first:
        back = pairs_of(falls.leg[::-1], ahead.footing.figure, shots[::-1])[::-1]
        pairs = np.where(back >= 0, count - 1 - back, -1)
        behind = ahead._replace(order=np.arange(first)[::-1], moves=-moves, pairs=pairs)
        placed = searched(behind, placed, placed.shares[first] if first < count else np.nan)
    return placed


def _changed_notes(falls: Footfalls, moved: Floats, before: Ints) -> tuple[str, ...]:
    """How many steps, past the other foot, became shorter or longer, and by how much."""
    some = np.flatnonzero(before >= 0)
    old, new = (
        np.linalg.norm((balls[some] - balls[before[some]])[:, :2], axis=1) for balls in (falls.ball, falls.ball + moved)
    )
    said = []
    for word, change in (("shorter", old - new), ("longer", new - old)):
        number = int((change > _FELT).sum())
        if number:
            most = int(change.argmax())
            said.append(f"{number} {word} (at most: {old[most]:.2f} m became {new[most]:.2f} m)")
    return (f"strides fitted to the treads: of {format_count(len(some), 'step')} {', '.join(said)}",) if said else ()
