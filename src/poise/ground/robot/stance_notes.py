"""Notes on stances and swings beyond the reach of a robot. Measured by forward kinematics of the result."""

from __future__ import annotations

import numpy as np

from poise.formatting import format_count, format_size
from poise.ground.contact.contacts import Contacts, find_runs
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, FOOT, Motion
from poise.ground.robot.planting import RobotFeet, find_full_legs
from poise.ground.robot.tree import read_configurations
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats

# [m/s], [m] of the robot's file: less is held
_HELD_SPEED, _HELD_HEIGHT = 0.005, 0.002
# [m] of the robot's file: corners of swinging soles may be so deep, as the bound of reports says
_MAX_SWING_DEPTH = 0.005
# of its range: nearer to an end a joint is at its limit
_LIMIT_MARGIN = 1e-6


def describe_stances(
    motion: Motion, contacts: Contacts, feet: RobotFeet, footing: Footing, above: Floats, tilts: Bools, q: Floats
) -> tuple[str, ...]:
    """Describe stances without a hold, deep swings and feet on an edge.

    motion  the legs of the result, carried over the ground
    above   (F, L) how high above the ground feet are to stand [m]
    tilts   (F, L) where they stand on an edge
    q       (F, nq) the result
    """
    scale = motion.figure.metre * (motion.figure.skeleton.metres_per_unit or 1.0)
    at_limits, notes = _find_limits(feet, q), list[str]()
    for leg, start, stop in zip(*find_runs(contacts.any), strict=True):
        run = slice(int(start), int(stop) + 1)
        speed, off = (scale * value for value in _measure_stance(motion, contacts, feet, footing, int(leg), run, above))
        path = [motion.figure.skeleton.names[row] for row in feet.tree.skeleton.list_path(int(feet.rows[leg]))]
        of_leg, faults = {name: is_at for name, is_at in at_limits.items() if name in path}, []
        if speed > _HELD_SPEED:
            faults.append(f"slides by up to {format_size(100.0 * speed, 2)} cm/s")
        if off > _HELD_HEIGHT:
            faults.append(f"is up to {format_size(1000.0 * off, 2)} mm off the ground")
        if faults:
            when = f"from {motion.times[run.start]:.2f} to {motion.times[run.stop - 1]:.2f} s"
            notes.append(f"the {contacts.legs[leg]} foot {' and '.join(faults)} {when}{_name_limits(of_leg, run)}")
    notes += _describe_swings(motion, contacts, feet, footing, scale)
    return (*notes, *_describe_edges(motion, contacts, tilts))


def _place_corners(motion: Motion, feet: RobotFeet, leg: int, run: slice) -> Floats:
    """Place the corners (F, 4, 3) of a sole [m]. Those of the heel come first."""
    turns = rotations.multiply(motion.turns[run, leg, FOOT], feet.axes[leg])
    return motion.places[run, leg, ANKLE, None] + rotations.rotate(turns[:, None], feet.soles[leg].list_corners())


def _describe_swings(motion: Motion, contacts: Contacts, feet: RobotFeet, footing: Footing, scale: float) -> list[str]:
    """Describe swings through the ground, a sentence for each leg. `scale` is from [m] to metres of the file."""
    notes: list[str] = []
    for leg, name in enumerate(contacts.legs):
        corners = _place_corners(motion, feet, leg, slice(None))
        depths = scale * (footing.heights(corners) - corners[..., 2]).max(axis=1)
        depths = np.where(contacts.any[:, leg], 0.0, depths)
        if depths.max() > _MAX_SWING_DEPTH:
            when = motion.times[depths.argmax()]
            notes.append(
                f"the {name} foot swings through the ground: {format_size(1000.0 * depths.max(), 2)} mm at {when:.2f} s"
            )
    return notes


def _measure_stance(
    motion: Motion, contacts: Contacts, feet: RobotFeet, footing: Footing, leg: int, run: slice, above: Floats
) -> tuple[float, float]:
    """Measure speed [m/s] and distance from the ground [m] in a stance."""
    corners = _place_corners(motion, feet, leg, run)
    heights = corners[..., 2] - footing.heights(corners) - above[run, leg, None]
    speed = off = 0.0
    for points, stands in ((slice(0, 2), contacts.heel[run, leg]), (slice(2, 4), contacts.ball[run, leg])):
        if not stands.any():
            continue
        lowest = heights[:, points].argmin(axis=1)
        frames = np.arange(len(lowest))
        off = max(off, float(np.abs(heights[:, points][frames, lowest])[stands].max()))
        both = stands[1:] & stands[:-1] & (lowest[1:] == lowest[:-1])
        steps = np.diff(corners[:, points], axis=0)[frames[:-1], lowest[:-1], :2]
        if both.any() and motion.step > 0.0:
            speed = max(speed, float(np.linalg.norm(steps, axis=1)[both].max()) / motion.step)
    return speed, off


def _find_limits(feet: RobotFeet, q: Floats) -> dict[str, Bools]:
    """Find when (F,) joints are at an end of their range. Joints that never are have no entry."""
    values = read_configurations(feet.tree, q)[2]
    low, high = feet.tree.ranges.T
    is_at_limit = (low < high) & ((values <= low + _LIMIT_MARGIN) | (values >= high - _LIMIT_MARGIN))
    names = [feet.tree.skeleton.names[unknown.row] for unknown in feet.tree.unknowns]
    return {name: is_at for name, is_at in zip(names, is_at_limit.T, strict=True) if is_at.any()}


def _name_limits(at_limits: dict[str, Bools], run: slice) -> str:
    """Name the joints at a limit in a stance."""
    names = [name for name, is_at in at_limits.items() if is_at[run].any()]
    return f": at a limit {'is' if len(names) == 1 else 'are'} {', '.join(names)}" if names else ""


def _describe_edges(motion: Motion, contacts: Contacts, tilts: Bools) -> list[str]:
    """Describe feet on an edge, a sentence for each leg."""
    notes: list[str] = []
    for leg, is_full in enumerate(find_full_legs(motion.figure)):
        _, start, stop = find_runs(contacts.any[:, leg, None])
        edged = sum(bool(tilts[first : last + 1, leg].any()) for first, last in zip(start, stop, strict=True))
        if not is_full and edged:
            notes.append(
                f"the {contacts.legs[leg]} leg has too few joints to turn its foot flat: it stands as it is turned"
            )
        elif edged:
            stances = format_count(len(start), "stance")
            notes.append(
                f"the {contacts.legs[leg]} foot stands on an edge in {edged} of {stances}: no joint turns it flat"
            )
    return notes
