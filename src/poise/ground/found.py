"""Analyse a clip without the terrain: travel, contacts, other supports."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from poise.errors import UnsupportedError
from poise.ground.bearing.parts import bearing_of, lowest_of
from poise.ground.checks import check_soles, for_legs
from poise.ground.contact.contacts import Contacts, find_contacts, find_stance_soles, loosen_for
from poise.ground.contact.cyclic import Repeats, closes, repeats_of
from poise.ground.contact.in_place import add_travel
from poise.ground.contact.in_place import in_place as ground_velocity
from poise.ground.contact.soles import NEAR_ZERO, Soles
from poise.ground.figure.figure import Figure
from poise.ground.figure.motion import Motion, fineness, motion_of
from poise.ground.figure.speeds import lone_frames
from poise.ground.legs.feet import floor_level
from poise.ground.stages import ClipAnalysis, InPlace, in_clip
from poise.maths.arrays import Floats
from poise.model.clip import Clip


def analyse_clip(
    clip: Clip,
    figure: Figure,
    contacts: Contacts | None,
    soles: Soles | None,
    mode: InPlace,
    *,
    travels: bool = False,
    mend_soles: Callable[[Motion, Soles], Soles] | None = None,
) -> ClipAnalysis:
    """Carry a clip in place over the ground, and find contacts.

    travels     whether the clip is known not to walk in place
    mend_soles  changes the soles that are found, before contacts are
    """
    motion = motion_of(clip, figure)
    check_soles(soles, figure)
    given = None if contacts is None else for_legs(contacts, motion)
    finer, velocity = fineness(motion.times), None if travels else ground_velocity(motion)
    repeats = repeats_of(motion) if velocity is not None and closes(motion) else Repeats(len(motion))
    motion = repeats.of_motion(motion)
    offsets = np.zeros((len(motion), 3))
    if velocity is not None:
        if mode == "refuse":
            raise UnsupportedError(
                f"clip {clip.name!r} walks in place (the ground passes at {np.hypot(*velocity):.2f} m/s): "
                '"travel" for in_place carries it over the ground, "keep" leaves it where it is'
            )
        motion, offsets = add_travel(motion, velocity, repeats.middle.start)
    fine = motion.finer(finer, lone_frames(motion))
    soles = soles or find_stance_soles(fine, velocity)
    soles = soles if mend_soles is None else mend_soles(motion, soles)
    contacts = _find_contacts(fine, velocity, soles, given, repeats.finer(finer))
    return ClipAnalysis(repeats, motion, offsets, velocity, fine, finer, soles, contacts, mode, given is not None)


def with_bearing(clip: Clip, analysis: ClipAnalysis, *, near: float = NEAR_ZERO) -> ClipAnalysis:
    """Add contacts of hands, knees and hips with the clip's floor.

    A figure that walks in place walks on its feet.

    A leg that kneels does not stand on its foot, nor does one of a body that lies, unless its contacts are given.
    """
    if analysis.velocity is not None:
        return analysis
    if not analysis.given:
        none_stand = np.zeros((len(analysis.motion), len(analysis.contacts.legs)), dtype=np.bool_)
        bearing, found = (
            bearing_of(clip, analysis.motion, none_stand, floor_of(clip, analysis, near=near)),
            analysis.contacts,
        )
        if bearing is None or not bearing.off_feet.any():
            return analysis._replace(bearing=bearing)
        off = bearing.off_feet[analysis.rows]
        contacts = dataclasses.replace(found, heel=found.heel & ~off, ball=found.ball & ~off)
        analysis = analysis._replace(contacts=contacts)
    return analysis._replace(
        bearing=bearing_of(clip, analysis.motion, in_clip(analysis).any, floor_of(clip, analysis, near=near))
    )


def floor_of(clip: Clip, analysis: ClipAnalysis, *, near: float = NEAR_ZERO) -> float:
    """Compute the height of the clip's own floor [m]. The height of supporting parts; without any, of the lowest part.

    near  [m] from 0 where that counts as 0, where most floors are: feet of who crawls may have been drawn into it
    """
    if analysis.contacts.any.any():
        return floor_level(analysis.fine, analysis.soles, analysis.contacts)
    lowest = lowest_of(clip, analysis.repeats.take_middle(analysis.motion), analysis.soles)
    return lowest if abs(lowest) > near else 0.0


def _find_contacts(
    fine: Motion, velocity: Floats | None, soles: Soles, given: Contacts | None, repeats: Repeats
) -> Contacts:
    """Find contacts, or take those of the caller.

    Every repeat of a loop has the contacts of the middle.
    """
    if given is None:
        once = repeats.take_middle(find_contacts(fine, soles, loosen_for(velocity)))
    else:
        once = given.at(fine.times[repeats.middle])
    return repeats.of_contacts(once, fine)
