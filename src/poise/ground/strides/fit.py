"""Fit: strides of a clip made to suit the treads that it goes over, and what is said of that."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.ground.contact.plants import Plants
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import Motion
from poise.ground.figure.speeds import shots_of
from poise.ground.stages import Seen
from poise.ground.strides.footfalls import Footfalls, Way, footfalls_of, pairs_of, way_of
from poise.ground.strides.search import ALLOWED, Placed, Search, left_out, searched
from poise.ground.strides.strided import course_of, strided
from poise.ground.strides.treads import climbed
from poise.maths.arrays import Floats, Ints
from poise.maths.in_words import counted
from poise.model.clip import Clip

_FELT = 0.01  # [m] a step that changes by less is not mentioned


class Fitted(NamedTuple):
    """A clip with strides that fit, what was seen of it, and a sentence about that."""

    clip: Clip
    seen: Seen
    note: str


def fitted(clip: Clip, seen: Seen, footing: Footing) -> Fitted:
    """The clip with strides that fit; as it is where none of its steps climbs two treads."""
    way = way_of(seen.fine)
    falls = footfalls_of(seen, way)
    count, anchor = len(falls.leg), seen.repeats.finer(seen.finer).middle.start
    shots = shots_of(seen.fine).first[np.clip(falls.start, 0, len(seen.fine) - 1)]
    pairs = pairs_of(falls.leg, seen.fine.figure, shots)
    ahead = Search(falls, footing, np.arange(0), np.zeros((count, 3)), pairs)
    if not left_out(ahead, np.zeros((count, 3))).any():
        return Fitted(clip, seen, "strides are as they were: no step climbs two treads")
    shares = _shares(ahead, way, shots, anchor)
    course = course_of(way, falls, shares, anchor)
    made, seen = strided(clip, seen, way, falls, course)
    return Fitted(made, seen, _changed_note(falls, way.at(falls.middle, course.moved), pairs[:, 0]))


def _shares(ahead: Search, way: Way, shots: Ints, anchor: int) -> Floats:
    """The shares (K,): footfalls after the anchor are placed one after the other, then those before it, backwards."""
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
    return placed.shares


def _changed_note(falls: Footfalls, moved: Floats, before: Ints) -> str:
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
    return f"strides fitted to the treads: of {counted(len(some), 'step')} " + ", ".join(said) if said else ""


def left_note(plants: Plants, motion: Motion, footing: Footing) -> tuple[str, ...]:
    """What steps, as planted, climb more than a tread all the same."""
    order = np.argsort(plants.stances.start, kind="stable")
    start = np.clip(plants.stances.start[order], 0, len(motion) - 1)
    pairs = pairs_of(plants.stances.leg[order], motion.figure, shots_of(motion).first[start])
    balls, steps = plants.ball[order], np.flatnonzero(pairs[:, 0] >= 0)
    treads = np.abs(climbed(footing, balls[pairs[steps, 0]], balls[steps]))
    over = int((treads > ALLOWED[0]).sum())
    if not over:
        return ()
    return (f"{over} of {counted(len(steps), 'step')} still climb two treads or more: no stride was found that fits",)
