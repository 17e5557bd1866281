"""Stages of planting, from clip analysis to the planted body.

Contacts and places of feet are worked out in the finer frames of a motion, pelvis and legs in the clip's own.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Literal, NamedTuple

import numpy as np

from poise.errors import InputError
from poise.ground.bearing.kneeling import on_knees, shift_for_limbs
from poise.ground.bearing.lying import lean_on, lowness, lying_feet
from poise.ground.bearing.parts import Bearing
from poise.ground.checks import check_reach, check_under
from poise.ground.contact.contacts import Contacts
from poise.ground.contact.cyclic import Repeats
from poise.ground.contact.plants import Plants, find_plants, in_frames
from poise.ground.contact.soles import Soles
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import Motion
from poise.ground.figure.speeds import lone_frames
from poise.ground.legs.body import Lean, lean_of
from poise.ground.legs.feet import Feet, every, join_rolls, place_feet
from poise.ground.legs.heels import find_early_heels
from poise.ground.legs.legs import Turned
from poise.ground.legs.pelvis import base_heights
from poise.ground.trajectory.settling import settle_legs
from poise.maths.arrays import Bools, Floats, Ints, check_real
from poise.maths.frame_masks import find_last_true

InPlace = Literal["travel", "keep", "refuse"]

STEEPEST_RAD = math.radians(40.0)  # [rad] steepest ground for a whole foot by default; a larger one tilts feet further


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


class Seen(NamedTuple):
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

    seen: Seen
    down: Down
    body: Motion
    turned: Turned
    still: Bools


def stand(seen: Seen, footing: Footing, options: Allowed) -> OnFeet:
    """Put feet on the ground, and solve pelvis, legs and toes."""
    down = set_down(seen, footing, options)
    if not seen.given:
        seen, down = _let_heels_go(seen, down, footing, options)
    body = down.lean.motion(seen.motion) if down.lean else seen.motion
    still = lone_frames(seen.motion)
    turned = settle_legs(body, seen.soles, down.held, down.feet, still, footing, options.stretch, seen.repeats)
    kept = seen.repeats.kept
    check_reach(kept(body), kept(down.held), kept(turned))
    if seen.bearing:
        assert down.lean is not None
        lean, turned = on_knees(
            seen.bearing, seen.motion, seen.soles, down.lean, turned, down.feet, down.held.any, footing,
            options.stretch,
        )  # fmt: skip
        body, down = lean.motion(seen.motion), down._replace(lean=lean)
    return OnFeet(seen, down, body, turned, still)


def _let_heels_go(seen: Seen, down: Down, footing: Footing, options: Allowed) -> tuple[Seen, Down]:
    """Let heels leave the ground sooner where legs are too short."""
    body = down.lean.motion(seen.motion) if down.lean else seen.motion
    early = find_early_heels(body, down.held, down.feet)
    if not early.any():
        return seen, down
    repeats, contacts = seen.repeats.finer(seen.finer), seen.contacts
    gone = find_last_true(early[seen.rows]) > find_last_true(~contacts.heel)  # from there on to the contact's end
    kept = repeats.kept(dataclasses.replace(contacts, heel=contacts.heel & ~gone))
    seen = seen._replace(contacts=repeats.of_contacts(kept, seen.fine))
    return seen, set_down(seen, footing, options)


def set_down(seen: Seen, footing: Footing, options: Allowed) -> Down:
    """Find plants of all stances, and foot targets between them."""
    held = join_rolls(seen.contacts)
    plants = find_plants(seen.fine, seen.soles, held, footing, options.steepest, options.farthest, options.floor)
    check_under(seen.repeats.finer(seen.finer).plants(plants), footing)
    floor = seen.bearing.floor if seen.bearing and options.floor is None else options.floor
    feet = every(place_feet(seen.fine, seen.soles, held, plants, footing, floor), seen.finer)
    held, lean = held.every(seen.finer), None
    if seen.bearing:
        feet, lean = _lying(seen, seen.bearing, feet, held, footing, options)
    elif options.floor is None:  # on its own floor a figure leans as it did
        lean = lean_of(seen.motion, feet)
    return Down(in_frames(plants, seen.finer), held, feet, lean)


def _lying(
    seen: Seen, bearing: Bearing, feet: Feet, held: Contacts, footing: Footing, options: Allowed
) -> tuple[Feet, Lean]:
    """Return feet and lean of a figure with other ground contacts. On its own floor it lies as it did."""
    motion, low = seen.motion, lowness(bearing, seen.motion) * (options.floor is None)
    lean = lean_on(bearing, motion, low, footing)
    if options.floor is None:
        feet = lying_feet(bearing, motion, low, lean, feet, seen.soles, held.any, footing)
    up = base_heights(motion, feet.rise)
    return feet, dataclasses.replace(lean, shift=shift_for_limbs(bearing, motion, lean, up, footing))


def in_clip(seen: Seen) -> Contacts:
    """The contacts in the frames of the clip."""
    return seen.repeats.finer(seen.finer).kept(seen.contacts).every(seen.finer)
