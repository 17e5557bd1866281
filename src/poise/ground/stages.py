"""Stages of planting, from clip analysis to the planted body.

Contacts and places of feet are worked out in the finer frames of a motion, pelvis and legs in the clip's own.
"""

from __future__ import annotations

import dataclasses
from typing import Literal, NamedTuple

import numpy as np

from poise.errors import InputError
from poise.ground.bearing.limbs import on_knees, shift_for_limbs
from poise.ground.bearing.lying import lean_on, lowness, lying_feet
from poise.ground.bearing.parts import Bearing
from poise.ground.checks import check_reach, check_under
from poise.ground.contact.contacts import Contacts
from poise.ground.contact.cyclic import Repeats
from poise.ground.contact.plants import STEEPEST_RAD, Plants, find_plants, in_frames
from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import Motion
from poise.ground.figure.speeds import lone_frames
from poise.ground.legs.body import Lean, lean_of
from poise.ground.legs.feet import Feet, every, join_rolls, place_feet
from poise.ground.legs.legs import Turned, base_heights, find_early_heels
from poise.ground.trajectory.settling import settle_legs
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints, check_real
from poise.maths.frame_masks import find_last_true

InPlace = Literal["travel", "keep", "refuse"]


class Allowed(NamedTuple):
    """The numbers among the arguments."""

    steepest: float = STEEPEST_RAD
    farthest: float = 0.15
    stretch: float = 0.0
    floor: float | None = None  # [m] the clip's own, where what stands above it is to stay there

    def check_ranges(self) -> Allowed:
        """Check the limits. InputError for one out of its range."""
        for name, most in (("steepest", 0.5 * np.pi), ("farthest", 1.0), ("stretch", 0.5)):
            value = getattr(self, name)
            if not 0.0 <= check_real(value, name) <= most:
                raise InputError(f"{name} must be from 0 to {most:.3g}, not {value}")
        return self


class ClipAnalysis(NamedTuple):
    """Result of analysing a clip without the terrain. For a looping clip it covers the padded repeats."""

    repeats: Repeats
    motion: Motion
    offsets: Floats  # (F, 3) [m] by which it was carried
    velocity: Floats | None
    fine: Motion  # the same with more frames, in which contacts and feet are worked out
    finer: int  # how many for each
    soles: Soles
    contacts: Contacts  # of the fine motion
    mode: InPlace
    given: bool  # whether the contacts were
    bearing: Bearing | None = None  # what else than feet is on the ground
    above: Floats | None = None  # (F, L) [m] how high above the ground feet stand in the fine motion, if not on it

    @property
    def rows(self) -> Ints:
        """Find the nearest frame of the motion for each fine frame."""
        return np.rint(np.arange(len(self.fine)) / self.finer).astype(np.int64)


class Down(NamedTuple):
    """Feet on the ground, before the pelvis and the legs follow them."""

    plants: Plants
    held: Contacts
    feet: Feet
    lean: Lean | None


class OnFeet(NamedTuple):
    """A body posed over its planted feet.

    body   the motion, leaning if it does
    still  (F,) frames that keep their pose: a reference pose in front of the clip
    """

    analysis: ClipAnalysis
    down: Down
    body: Motion
    turned: Turned
    still: Bools


def stand(analysis: ClipAnalysis, footing: Footing, options: Allowed) -> OnFeet:
    """Put feet on the ground, and solve pelvis, legs and toes."""
    down = set_down(analysis, footing, options)
    if not analysis.given:
        analysis, down = _let_heels_go(analysis, down, footing, options)
    body = down.lean.motion(analysis.motion) if down.lean else analysis.motion
    still = lone_frames(analysis.motion)
    turned = settle_legs(body, analysis.soles, down.held, down.feet, still, footing, options.stretch, analysis.repeats)
    kept = analysis.repeats.take_middle
    check_reach(kept(body), kept(down.held), kept(turned).missing)
    if analysis.bearing:
        assert down.lean is not None
        lean, turned = on_knees(
            analysis.bearing, analysis.motion, analysis.soles, down.lean, turned, down.feet, down.held.any, footing,
            options.stretch,
        )  # fmt: skip
        body, down = lean.motion(analysis.motion), down._replace(lean=lean)
    return OnFeet(analysis, down, body, turned, still)


def _let_heels_go(analysis: ClipAnalysis, down: Down, footing: Footing, options: Allowed) -> tuple[ClipAnalysis, Down]:
    """Let heels leave the ground sooner where legs are too short."""
    body = down.lean.motion(analysis.motion) if down.lean else analysis.motion
    early = find_early_heels(body, analysis.soles, down.held, down.feet)
    if not early.any():
        return analysis, down
    repeats, contacts = analysis.repeats.finer(analysis.finer), analysis.contacts
    gone = find_last_true(early[analysis.rows]) > find_last_true(~contacts.heel)  # from there on to the contact's end
    kept = repeats.take_middle(dataclasses.replace(contacts, heel=contacts.heel & ~gone))
    analysis = analysis._replace(contacts=repeats.of_contacts(kept, analysis.fine))
    return analysis, set_down(analysis, footing, options)


def set_down(analysis: ClipAnalysis, footing: Footing, options: Allowed) -> Down:
    """Find plants of all stances, and foot targets between them."""
    held = join_rolls(analysis.contacts)
    plants = find_plants(
        analysis.fine, analysis.soles, held, footing, options.steepest, options.farthest, options.floor, analysis.above
    )
    check_under(analysis.repeats.finer(analysis.finer).plants(plants), footing)
    floor = analysis.bearing.floor if analysis.bearing and options.floor is None else options.floor
    feet = every(place_feet(analysis.fine, analysis.soles, held, plants, footing, floor), analysis.finer)
    held, lean = held.every(analysis.finer), None
    if analysis.bearing:
        feet, lean = _lying(analysis, analysis.bearing, feet, held, footing, options)
    elif options.floor is None:  # on its own floor a figure leans as it did
        lean = lean_of(analysis.motion, feet)
    if lean:  # toes tilt with the ground, and not with the body
        feet = dataclasses.replace(feet, tilt=rotations.multiply(feet.tilt, rotations.inverse(lean.turn)[:, None]))
    return Down(in_frames(plants, analysis.finer), held, feet, lean)


def _lying(
    analysis: ClipAnalysis, bearing: Bearing, feet: Feet, held: Contacts, footing: Footing, options: Allowed
) -> tuple[Feet, Lean]:
    """Return feet and lean of a figure with other ground contacts. On its own floor it lies as it did."""
    motion, low = analysis.motion, lowness(bearing, analysis.motion) * (options.floor is None)
    lean = lean_on(bearing, motion, low, footing)
    if options.floor is None:
        feet = lying_feet(bearing, motion, low, lean, feet, analysis.soles, held.any, footing)
    up = base_heights(motion, feet.rise)
    return feet, dataclasses.replace(lean, shift=shift_for_limbs(bearing, motion, lean, up, footing))


def in_clip(analysis: ClipAnalysis) -> Contacts:
    """The contacts in the frames of the clip."""
    return analysis.repeats.finer(analysis.finer).take_middle(analysis.contacts).every(analysis.finer)
