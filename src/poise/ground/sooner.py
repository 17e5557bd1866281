"""Sooner: stances that end sooner, or begin later, where a joint would pop otherwise.

A foot that has too little time to go from one stance to the next, as one that steps onto a tread, takes some of these.
How much helps is tried: ends of stances near to a joint that pops give up a frame or two at a time, as long as that
leaves less of it. What is seconds apart does not feel each other, and is tried at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from poise.errors import InputError
from poise.ground.figure.footing import Footing
from poise.ground.legs.calm import LESS
from poise.ground.stages import Allowed, OnFeet, Seen, brought, let_go, set_down, without
from poise.maths.arrays import Bools, Floats
from poise.maths.frame_masks import measure_time_from

_STEP, _MOST = 0.025, 0.05  # [s] an end gives up so much at a time, a frame at least, and in all
_LONG = 0.4  # [s] of a walk: the stances of a run are too short to lose any of them
_COARSE, _MOST_OF_FEW = 0.025, 0.15  # [s] of frames so far apart, where it is not known when a foot stands, all may
_SHARE = 0.25  # of the stance as it was found is what each end may give up
_NEAR = 0.2  # [s] from a joint that pops
_BESIDE = 4  # frames
_APART = 1.0  # [s] pops that are farther from each other are worked on at once
_LESS = 0.95  # of what is over its bound is left at most, else an end is not worth it
_TRIES = 12  # rounds at most: most clips need one, or none
_SAME = 1e-6  # [s] times that differ by less are the same


class End(NamedTuple):
    """Frames from `start` up to `stop` at an end of a leg's stance."""

    leg: int
    start: int
    stop: int


Ends: TypeAlias = tuple[End, ...]


def stand(seen: Seen, footing: Footing, options: Allowed) -> OnFeet:
    """Put the feet down and bring the figure to them; a stance is cut short where a joint would pop otherwise.

    Contacts that were given are held as given, and those of a figure that is on more than its feet: what else bears
    hangs on when these stand. Short stances of locked feet stay: these go over to their source.
    """
    seen, down = let_go(seen, set_down(seen, footing, options), footing, options)
    best = brought(seen, down, footing, options)
    found, short = down.held.any, options.floor is None
    vain, left = set[Ends](), 0 if seen.given or seen.bearing else _TRIES
    while left > 0 and best.over.any():
        tries = {ends: part for part in _stretches(best) if (ends := _next_ends(best, part, found, vain, short))}
        if not tries:
            break
        again, left = _shorter(best, tries, footing, options), left - 1
        good = [ends for ends, part in tries.items() if again.over[part].sum() < _LESS * best.over[part].sum() - LESS]
        if 0 < len(good) < len(tries):
            again = _shorter(best, good, footing, options)
        if good and again.over.sum() < best.over.sum() - LESS:
            best = again
        else:
            good.clear()
        vain.update(set(tries).difference(good))
    return best


def _shorter(best: OnFeet, some: Iterable[Ends], footing: Footing, options: Allowed) -> OnFeet:
    """The same without these ends of stances, if its feet find ground then."""
    frames = np.zeros(best.over.shape, dtype=np.bool_)
    for end in chain.from_iterable(some):
        frames[end.start : end.stop, end.leg] = True
    less = without(best.seen, best.seen.repeats.spread(frames))
    try:
        return brought(less, set_down(less, footing, options), footing, options)
    except InputError:  # shorter stances have other places: on ground that is too steep there, or none
        return best


def _stretches(best: OnFeet) -> list[slice]:
    """The frames of the clip, parted half-way between pops that are so far apart that they do not feel each other."""
    pops = np.flatnonzero(best.over.any(axis=1))
    times = best.seen.motion.times[best.seen.repeats.middle]
    (gaps,) = np.nonzero(np.diff(times[pops]) > _APART)
    cuts = (pops[gaps] + pops[gaps + 1]) // 2
    return [slice(start, stop) for start, stop in pairwise([0, *cuts.tolist(), len(best.over)])]


def _next_ends(best: OnFeet, stretch: slice, found: Bools, vain: set[Ends], short: bool) -> Ends:
    """The ends to be tried next in a stretch: all that are near to its pops, else one after the other, worst first."""
    repeats, over = best.seen.repeats, np.zeros_like(best.over)
    over[stretch] = best.over[stretch]
    pops, stands = repeats.spread(over > 0.0), best.down.held.any
    may = ends_near(best.seen.motion.times, found, stands, pops, short=short)[repeats.middle]
    ends = tuple(end for end in _worst_first(may, over) if (end,) not in vain)
    return next((some for some in (ends, *((end,) for end in ends)) if some and some not in vain), ())


def ends_near(times: Floats, found: Bools, stands: Bools, pops: Bools, *, short: bool = True) -> Bools:
    """What stances (F, L) may give up next, at their ends near to which a joint of their leg pops (F, L).

    found  (F, L) the stances as they were found: not too much of these
    short  whether short stances may, too, in clips of few frames
    """
    frame = float(times[-1] - times[0]) / max(len(times) - 1, 1)
    whole, now = measure_time_from(times, ~found), measure_time_from(times, ~stands)
    lasts = whole[0] + whole[1] - frame  # endless where the clip cuts it off: it goes on outside
    long, few = lasts >= _LONG - _SAME, short and frame > _COARSE + _SAME
    most = np.minimum(_MOST_OF_FEW if few else np.where(long, _MOST, 0.0), _SHARE * lasts)
    near = np.minimum(*measure_time_from(times, pops)) <= _NEAR + _SAME
    ends = [(n <= max(_STEP, frame) + _SAME) & (w <= most + _SAME) for n, w in zip(now, whole, strict=True)]
    return stands & near & (ends[0] | ends[1])


def _worst_first(frames: Bools, over: Floats) -> list[End]:
    """Frames (F, L) end by end, first those within and beside which steps are farthest over their bound (F, L)."""
    found = list[End]()
    for leg, own in enumerate(frames.T):
        turns = np.flatnonzero(np.diff(own, prepend=False, append=False)).reshape(-1, 2)
        found += [End(leg, int(start), int(stop)) for start, stop in turns]
    return sorted(found, key=lambda end: -float(over[max(end.start - _BESIDE, 0) : end.stop + _BESIDE, end.leg].sum()))
