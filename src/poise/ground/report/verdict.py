"""Verdict: what of a result is worse than its bound, a sentence each, with the stretch and the measure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.ground.contact.contacts import Contacts
from poise.ground.figure.motion import Motion
from poise.ground.figure.steps import runs
from poise.ground.report.jumps import Jumps
from poise.ground.report.measures import PartPaths, Shape, SolePaths, backward_bends, skate, ways
from poise.maths.arrays import Bools, Floats, Ints

SKATE = 0.3  # [cm/s] of all heels and balls in contact
DEEP, DEEP_ON_STEPS = 2.0, 5.0  # [mm] in the ground; the second on uneven ground
OFF = 10.0  # [mm] a heel or ball in contact is from the ground
BACK = 1.0  # [deg] a knee is bent backwards by more than in the source
_MM = 1000.0
_POINTS = ("heel", "ball", "tip")


class Worse(NamedTuple):
    """Something of a result that is worse than its bound.

    Parameters
    ----------
    measure
        "skate", "penetration", "reach", "knee" or "d2" (the change of step).
    value, bound
        In the unit that the sentence names.
    first, last
        The frames of the result where it is.
    sentence
        What it is, how much, and where.
    """

    measure: str
    value: float
    bound: float
    first: int
    last: int
    sentence: str

    def __str__(self) -> str:
        return self.sentence


class Evidence(NamedTuple):
    """What a verdict looks at: the source's motion and the result's, its soles, contacts and jumps.

    higher  (F, L) [m] above the ground that a foot is meant to stand: on a rung that the terrain does not have
    even    whether the ground is a plane: bounds are wider on other ground
    parts   where hands, elbows and knees go, if any of them is on the ground
    """

    motions: tuple[Motion, Motion]
    paths: SolePaths
    contacts: Contacts
    jumps: Jumps
    shape: Shape
    higher: Floats
    even: bool
    parts: PartPaths | None = None


def verdict_of(found: Evidence) -> tuple[Worse, ...]:
    """Everything that is worse than its bound."""
    told = (_skate(found), _penetration(found), _reach(found), _knees(found), _jumps(found))
    told = (*told, _parts_slide(found), _parts_deep(found))
    return tuple(worse for worse in told if worse is not None)


def _skate(found: Evidence) -> Worse | None:
    held = _held(found.contacts)
    value = skate(found.paths, held)
    if value <= SKATE:
        return None
    return _slid("feet in contact", value, ways(found.paths)[0], held, _soles(found), found)


def _slid(subject: str, value: float, way: Floats, held: Bools, names: tuple[str, ...], found: Evidence) -> Worse:
    """What slides by so much [cm/s], and where the farthest: ways (F - 1, ...) and when they are held (F, ...)."""
    way, held = way.reshape(len(way), -1), held.reshape(len(held), -1)
    stretches = [
        (float(way[rows[:-1], column].sum()), rows, name)
        for column, name in enumerate(names)
        for rows in runs(held[:, column], found.paths.times)
    ]
    most, rows, name = max(stretches, key=lambda stretch: stretch[0])
    said = f"{subject} slide by {value:.2g} cm/s, more than {SKATE:g}: most the {name}, by {_MM * most:.2g} mm,"
    return _worse("skate", value, SKATE, found, rows, said)


def _penetration(found: Evidence) -> Worse | None:
    return _deepest(
        "penetration", -_MM * found.paths.heights, deep_on(even=found.even), _soles(found, 3), found, "in the ground"
    )


def _reach(found: Evidence) -> Worse | None:
    off = _MM * np.abs(found.paths.off - found.higher[..., None]) * _held(found.contacts)
    return _deepest("reach", off, OFF, _soles(found), found, "off the ground that it stands on")


def _deepest(
    measure: str, values: Floats, bound: float, names: tuple[str, ...], found: Evidence, words: str
) -> Worse | None:
    """The largest of values (F, ...) [mm], if it is above its bound."""
    values = values.reshape(len(values), -1)
    frame, column = np.unravel_index(int(values.argmax()), values.shape)
    value = float(values[frame, column])
    if value <= bound:
        return None
    said = f"the {names[int(column)]} is {value:.3g} mm {words}, more than {bound:g},"
    return _worse(measure, value, bound, found, _around(values.max(axis=1) > bound, int(frame)), said)


def deep_on(*, even: bool) -> float:
    """How deep [mm] in the ground soles may be, on even ground or other."""
    return DEEP if even else DEEP_ON_STEPS


def _soles(found: Evidence, points: int = 2) -> tuple[str, ...]:
    """Names of the first sole points of each foot: heel and ball, or the tip as well."""
    return tuple(f"{leg} {point}" for leg in found.contacts.legs for point in _POINTS[:points])


def _knees(found: Evidence) -> Worse | None:
    before, after = (backward_bends(motion, found.shape.knees) for motion in found.motions)
    bounds = before.max(axis=0, initial=0.0) + BACK
    frame, leg = np.unravel_index(int((after - bounds).argmax()), after.shape)
    value, bound = float(after[frame, leg]), float(bounds[leg])
    if value <= bound:
        return None
    said = f"the {found.contacts.legs[int(leg)]} knee is bent backwards by {value:.2g} deg, more than {bound:.2g},"
    return _worse("knee", value, bound, found, _around(after[:, leg] > bound, int(frame)), said)


def _jumps(found: Evidence) -> Worse | None:
    jumps = found.jumps
    frame, joint = jumps.worst
    value, bound = float(jumps.after[frame, joint]), float(jumps.bound[frame, joint])
    if value <= bound:
        return None
    over = (jumps.after > jumps.bound).any(axis=1)
    count = int(over.sum())
    frames = f"{count} such frames" if count > 1 else "one such frame"
    said = f"the {jumps.joints[joint]} pops: its step changes by {value:.3g} mm, more than {bound:.2g}; {frames}, most"
    return _worse("d2", value, bound, found, np.array([frame]), said)


def _parts_slide(found: Evidence) -> Worse | None:
    parts = found.parts
    if parts is None or parts.skate <= SKATE:
        return None
    return _slid("hands and knees", parts.skate, parts.ways, parts.on, parts.parts, found)


def _parts_deep(found: Evidence) -> Worse | None:
    parts, words = found.parts, "lower over the ground than it rests"
    if parts is None:
        return None
    return _deepest("penetration", _MM * parts.depths, deep_on(even=found.even), parts.parts, found, words)


def _held(contacts: Contacts) -> Bools:
    return np.stack([contacts.heel, contacts.ball], axis=2)


def _around(mask: Bools, frame: int) -> Ints:
    """The frames around one, itself among them, where a mask (F,) holds."""
    off = np.flatnonzero(~mask)
    before, after = off[off < frame], off[off > frame]
    return np.arange(before[-1] + 1 if len(before) else 0, after[0] if len(after) else len(mask))


def _worse(measure: str, value: float, bound: float, found: Evidence, rows: Ints, said: str) -> Worse:
    first, last = int(rows[0]), int(rows[-1])
    begin, end = (float(found.paths.times[frame]) for frame in (first, last))
    where = (
        f"frame {first} ({begin:.2f} s)" if first == last else f"frames {first} to {last} ({begin:.2f} to {end:.2f} s)"
    )
    return Worse(measure, value, bound, first, last, f"{said} at {where}")
