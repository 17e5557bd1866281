"""Check a result against its bounds. Each violation has a sentence with the stretch and the measure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.formatting import format_size
from poise.ground.contact.contacts import Contacts
from poise.ground.figure.motion import Motion
from poise.ground.figure.steps import runs
from poise.ground.report.jumps import Hitches, Jumps
from poise.ground.report.measures import PartPaths, Shape, SolePaths, backward_bends, knee_bends, skate, toe_bends, ways
from poise.ground.terrain.noise import Noise
from poise.ground.terrain.shapes import Plane
from poise.ground.terrain.terrain import Terrain
from poise.maths.arrays import Bools, Floats, Ints

SKATE = 0.3  # [cm/s] of all heels and balls in contact
OFF = 10.0  # [mm] a heel or ball in contact is from the ground
BACK = 1.0  # [deg] a knee is bent backwards, and toes up, by more than in the source
TOES = 65.0  # [deg] toes are bent, or as far as in the source
_STANDING = 0.5  # the share of feet and frames in which a figure is upright, from which on it stands
_FLIGHT = 0.8  # [s] nobody is in the air for longer: that is a jump of 0.8 m
_POINTS = ("heel", "ball", "tip")


class GroundBounds(NamedTuple):
    """Bounds of a result on a kind of ground. They hold at every frame rate.

    step    [mm a frame] change of step beyond the source's largest within 0.1 s
    deep    [mm] in the ground
    bend    [deg] largest bend of a knee beyond the source's
    pelvis  [mm] above or below its height in the source
    hitches toe-offs and landings at which a knee hitches
    """

    step: float
    deep: float
    bend: float
    pelvis: float = np.inf
    hitches: float = np.inf


OWN_FLOOR = GroundBounds(step=10.0, deep=2.0, bend=20.0, pelvis=20.0, hitches=0.0)
PLANE = GroundBounds(step=15.0, deep=2.0, bend=20.0)
HILLS = GroundBounds(step=15.0, deep=5.0, bend=35.0)
STEPS = GroundBounds(step=25.0, deep=5.0, bend=35.0)


def bounds_on(terrain: Terrain, *, own: bool = False) -> GroundBounds:
    """Return the bounds on a terrain or a clip's own floor."""
    if own:
        return OWN_FLOOR
    match terrain.surface:
        case Plane():
            return PLANE
        case Noise():
            return HILLS
        case _:
            return STEPS


class Worse(NamedTuple):
    """A measure of a result above its bound.

    Parameters
    ----------
    measure
        "skate", "penetration", "reach", "knee" (bent backwards), "d2" (the change of step), "bend" (of a knee), "toe",
        "pelvis", "hitch" or "contact" (none is found).
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
    """Inputs of a check: motions, soles, contacts and jumps. Motions are those of the source and of the result.

    bounds  of the ground
    shape   of the source's legs
    higher  (F, L) [m] above the ground that a foot is meant to stand: on a rung that the terrain does not have
    pelvis  (F,) [mm] above its height in the source
    parts   where hands, elbows and knees go, if any of them is on the ground
    """

    bounds: GroundBounds
    motions: tuple[Motion, Motion]
    paths: SolePaths
    contacts: Contacts
    jumps: Jumps
    hitches: Hitches
    shape: Shape
    higher: Floats
    pelvis: Floats
    parts: PartPaths | None = None


def verdict_of(found: Evidence) -> tuple[Worse, ...]:
    """Find every measure above its bound."""
    soles_deep, soles_off, knees_back, jumps, knees_bend, toes_bend, pelvis, parts_deep = (
        _find_worst(values, found) for values in _list_frame_values(found)
    )
    checks = (
        _feet_slide(found), soles_deep, soles_off, knees_back, jumps, knees_bend, toes_bend, pelvis, _hitches(found),
        _contact(found), _parts_slide(found), parts_deep,
    )  # fmt: skip
    return tuple(worse for worse in checks if worse is not None)


def stretches_of(found: Evidence) -> tuple[Worse, ...]:
    """Find every stretch of frames above a bound. They are in the order of frames."""
    whole = (_feet_slide(found), _contact(found), _parts_slide(found))
    stretches = [
        *(worse for worse in whole if worse is not None),
        *(worse for values in _list_frame_values(found) for worse in _find_stretches(values, found)),
        *_list_hitches(found),
    ]
    return tuple(sorted(stretches, key=lambda worse: (worse.first, worse.last)))


def _feet_slide(found: Evidence) -> Worse | None:
    held = _stack_contacts(found.contacts)
    value = skate(found.paths, held)
    return _slid("feet in contact", value, ways(found.paths)[0], held, _soles(found), found)


def _parts_slide(found: Evidence) -> Worse | None:
    parts = found.parts
    return parts and _slid("hands and knees", parts.skate, parts.ways, parts.on, parts.parts, found)


def _slid(
    subject: str, value: float, way: Floats, held: Bools, names: tuple[str, ...], found: Evidence
) -> Worse | None:
    """Report skating [cm/s], and the point with the longest slide. Ways (F - 1, ...) count while `held` (F, ...)."""
    if value <= SKATE:
        return None
    way, held = way.reshape(len(way), -1), held.reshape(len(held), -1)
    stretches = [
        (float(way[rows[:-1], column].sum()), rows, name)
        for column, name in enumerate(names)
        for rows in runs(held[:, column], found.paths.times)
    ]
    most, rows, name = max(stretches, key=lambda stretch: stretch[0])
    speed, slide = format_size(value, 2), format_size(1000.0 * most, 2)
    sentence = f"{subject} slide by {speed} cm/s, more than {SKATE:g}: most the {name}, by {slide} mm,"
    return _worse("skate", value, SKATE, found, rows, sentence)


class FrameValues(NamedTuple):
    """Values of a measure in every frame, of several points or joints.

    measure   its name
    values    (F, n)
    bounds    (n,) or (F, n), or one of all
    names     of the n points or joints
    words     of the value, with a place for it
    is_alone  whether a frame counts by itself, not with those around it
    """

    measure: str
    values: Floats
    bounds: Floats | float
    names: tuple[str, ...]
    words: str
    is_alone: bool = False

    @property
    def excess(self) -> Floats:
        """(F, n) above the bounds."""
        return self.values - self.bounds


def _list_frame_values(found: Evidence) -> list[FrameValues | None]:
    """List the measures with a value in every frame. None stands for one without any."""
    return [
        _soles_deep(found), _soles_off(found), _knees_back(found), _jumps(found), _knees_bend(found), _toes_bend(found),
        _pelvis(found), _parts_deep(found),
    ]  # fmt: skip


def _soles_deep(found: Evidence) -> FrameValues:
    deep = _flatten(-1000.0 * found.paths.heights)
    return FrameValues("penetration", deep, found.bounds.deep, _soles(found, 3), "is {} mm in the ground")


def _parts_deep(found: Evidence) -> FrameValues | None:
    parts, words = found.parts, "is {} mm lower over the ground than it rests"
    return parts and FrameValues("penetration", 1000.0 * parts.depths, found.bounds.deep, parts.parts, words)


def _soles_off(found: Evidence) -> FrameValues:
    off = 1000.0 * np.abs(found.paths.off - found.higher[..., None]) * _stack_contacts(found.contacts)
    return FrameValues("reach", _flatten(off), OFF, _soles(found), "is {} mm off the ground that it stands on")


def _knees_back(found: Evidence) -> FrameValues:
    before, after = (backward_bends(motion, found.shape.knees) for motion in found.motions)
    bounds = before.max(axis=0, initial=0.0) + BACK
    return FrameValues("knee", after, bounds, _legs(found, "knee"), "is bent backwards by {} deg")


def _jumps(found: Evidence) -> FrameValues:
    jumps = found.jumps
    words = "pops: its step changes by {} mm"
    return FrameValues("d2", jumps.after, jumps.bound, jumps.joints, words, is_alone=True)


def _knees_bend(found: Evidence) -> FrameValues:
    before, after = (knee_bends(motion) for motion in found.motions)
    bounds = before.max(axis=0, initial=0.0) + found.bounds.bend
    return FrameValues("bend", after, bounds, _legs(found, "knee"), "is bent by {} deg")


def _toes_bend(found: Evidence) -> FrameValues:
    before, after = (toe_bends(motion, found.shape.toes) for motion in found.motions)
    bounds = np.maximum(before.max(axis=0, initial=0.0) + BACK, TOES)
    return FrameValues("toe", after, bounds, _legs(found, "toes"), "are bent by {} deg")


def _pelvis(found: Evidence) -> FrameValues:
    off, words = np.abs(found.pelvis)[:, None], "is {} mm off its height in the source"
    return FrameValues("pelvis", off, found.bounds.pelvis, ("pelvis",), words)


def _hitches(found: Evidence) -> Worse | None:
    count, bound = len(found.hitches.found), found.bounds.hitches
    if count <= bound:
        return None
    events, first = found.hitches.toe_offs + found.hitches.landings, found.hitches.found[0]
    sentence = f"knees hitch at {count} of {events} toe-offs and landings, first the {first.leg} one at a {first.kind},"
    return _worse("hitch", count, bound, found, np.array([first.frame]), sentence)


def _contact(found: Evidence) -> Worse | None:
    """Report an upright figure without a standing foot. For longer than a jump takes."""
    times = found.paths.times
    if found.contacts.any.any() or times[-1] - times[0] <= _FLIGHT or found.motions[0].upright.mean() <= _STANDING:
        return None
    return _worse("contact", 0.0, 0.0, found, np.array([0, len(times) - 1]), "no foot is found to stand,")


def _list_hitches(found: Evidence) -> list[Worse]:
    """List the knee hitches, if there are too many."""
    count, bound = len(found.hitches.found), found.bounds.hitches
    if count <= bound:
        return []
    return [
        _worse("hitch", count, bound, found, np.array([frame]), f"the {leg} knee hitches at a {kind},")
        for leg, kind, frame in found.hitches.found
    ]


def _find_worst(values: FrameValues | None, found: Evidence) -> Worse | None:
    """Find the value farthest above its bound, if any. It has its frame alone, or the stretch around it."""
    if values is None:
        return None
    excess = values.excess
    frame, column = map(int, np.unravel_index(int(excess.argmax()), excess.shape))
    if excess[frame, column] <= 0.0:
        return None
    is_above: Bools = np.asarray((excess > 0.0).any(axis=1))
    if not values.is_alone:
        return _describe_value(values, frame, column, _around(is_above, frame), found)
    count = int(is_above.sum())
    frames = f"{count} such frames" if count > 1 else "one such frame"
    return _describe_value(values, frame, column, np.array([frame]), found, f"; {frames}, most")


def _find_stretches(values: FrameValues | None, found: Evidence) -> list[Worse]:
    """Find every stretch above a bound, each with its largest value."""
    if values is None:
        return []
    excess = values.excess
    above = np.flatnonzero((excess > 0.0).any(axis=1))
    breaks = np.arange(1, len(above)) if values.is_alone else np.flatnonzero(np.diff(above) > 1) + 1
    stretches: list[Worse] = []
    for rows in np.split(above, breaks) if len(above) else []:
        row, column = map(int, np.unravel_index(int(excess[rows].argmax()), excess[rows].shape))
        stretches.append(_describe_value(values, int(rows[row]), column, rows, found))
    return stretches


def _describe_value(
    values: FrameValues, frame: int, column: int, rows: Ints, found: Evidence, more: str = ","
) -> Worse:
    value = float(values.values[frame, column])
    bound = float(np.broadcast_to(values.bounds, values.values.shape)[frame, column])
    sentence = (
        f"the {values.names[column]} {values.words.format(format_size(value))}, more than {format_size(bound)}{more}"
    )
    return _worse(values.measure, value, bound, found, rows, sentence)


def _flatten(values: Floats) -> Floats:
    """Flatten all axes except for the frames."""
    return values.reshape(len(values), -1)


def _soles(found: Evidence, points: int = 2) -> tuple[str, ...]:
    """Return names of the first sole points of each foot. Heel and ball, or the tip as well."""
    return tuple(f"{leg} {point}" for leg in found.contacts.legs for point in _POINTS[:points])


def _legs(found: Evidence, part: str) -> tuple[str, ...]:
    return tuple(f"{leg} {part}" for leg in found.contacts.legs)


def _stack_contacts(contacts: Contacts) -> Bools:
    return np.stack([contacts.heel, contacts.ball], axis=2)


def _around(mask: Bools, frame: int) -> Ints:
    """The frames around one, itself among them, where a mask (F,) holds."""
    off = np.flatnonzero(~mask)
    before, after = off[off < frame], off[off > frame]
    return np.arange(before[-1] + 1 if len(before) else 0, after[0] if len(after) else len(mask))


def _worse(measure: str, value: float, bound: float, found: Evidence, rows: Ints, sentence: str) -> Worse:
    first, last = int(rows[0]), int(rows[-1])
    begin, end = (float(found.paths.times[frame]) for frame in (first, last))
    where = (
        f"frame {first} ({begin:.2f} s)" if first == last else f"frames {first} to {last} ({begin:.2f} to {end:.2f} s)"
    )
    return Worse(measure, value, bound, first, last, f"{sentence} at {where}")
