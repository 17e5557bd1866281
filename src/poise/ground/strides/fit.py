"""Fit strides to the treads of the ground, and rate results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from poise.formatting import format_count
from poise.ground.contact.plants import Plants
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import Motion, motion_of
from poise.ground.figure.speeds import shots_of
from poise.ground.report.jumps import jumps_of
from poise.ground.report.verdict import Worse, bounds_on
from poise.ground.stages import ClipAnalysis
from poise.ground.strides.footfalls import BodyWay, Footfalls, footfalls_of, pairs_of, way_of
from poise.ground.strides.search import ALLOWED, LEAST, Placed, Search, count_treads, left_out, search_walks
from poise.ground.strides.strided import apply_strides, course_of
from poise.maths.arrays import Floats, Ints
from poise.model.clip import Clip

_SKEWS = (0.0, 0.5, 1.0)  # knees are calmest without; the more, the better feet get past risers and edges
_HOPELESS = 0.5  # the share of steps that climb too much which may still do so, or strides stay as they were
_FELT = 0.01  # [m] a step that changes by less is not mentioned
_SAME_MM = 0.1  # [mm per frame^2] tries whose pops differ by less are alike


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


class PlantedSteps(NamedTuple):
    """The steps of planted strides, and how calm they are.

    steps  past the other foot
    over   those of them that climb two treads or more
    worse  what else of the planted clip is worse than its bound
    pops   by how much changes of step are too large, in all [mm per frame^2]
    """

    steps: int
    over: int
    worse: int
    pops: float

    @property
    def fine(self) -> bool:
        """Whether nothing is left to be made better."""
        return not self.over and not self.worse and self.pops == 0.0

    @property
    def rank(self) -> tuple[int, int, int]:
        """The less, the better; roundings decide nothing."""
        return self.over, self.worse, round(self.pops / _SAME_MM)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is still wrong, in a sentence."""
        note = f"steps that climb two treads or more all the same: {self.over} of {self.steps}"
        return (note,) if self.over else ()


def judge_steps(
    clips: tuple[Clip, Clip, Clip], plants: Plants, worse: Sequence[Worse], footing: Footing
) -> PlantedSteps:
    """Rate the last of three clips, as planted.

    Acceleration spikes relative to the source, and to the clip with new strides, count alike.

    worse  what its report says is worse than its bound
    """
    source, strided, planted = (motion_of(clip, footing.figure) for clip in clips)
    jumps = [jumps_of((before, planted), room=bounds_on(footing.terrain).step) for before in (source, strided)]
    over = np.maximum(jumps[0].after - np.minimum(jumps[0].bound, jumps[1].bound), 0.0)
    others = sum(each.measure != "d2" for each in worse)
    return PlantedSteps(*_steps(plants, strided, footing), others, float(over.max(axis=1).sum()))


def _steps(plants: Plants, motion: Motion, footing: Footing) -> tuple[int, int]:
    """Count the steps past the other foot, and the high ones. A high one climbs two treads or more."""
    order = np.argsort(plants.stances.start, kind="stable")
    shots = shots_of(motion).first[np.clip(plants.stances.start[order], 0, len(motion) - 1)]
    before = pairs_of(plants.stances.leg[order], motion.figure, shots)[:, 0]
    balls, steps = plants.ball[order], np.flatnonzero(before >= 0)
    treads = np.abs(count_treads(footing, balls[before[steps]], balls[steps]))
    return len(steps), int((treads > ALLOWED[0]).sum())
