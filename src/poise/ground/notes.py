"""Notes on assumptions and compromises of a planted clip."""

from __future__ import annotations

import numpy as np

from poise.formatting import format_count
from poise.ground.bearing.parts import Bearing
from poise.ground.contact.contacts import Contacts
from poise.ground.contact.plants import Plants
from poise.ground.figure.footing import Footing
from poise.ground.legs.legs import Turned
from poise.maths.arrays import Bools, Floats

_SHORT = 0.001  # [m] a leg that falls short by less is not mentioned


def notes_of(
    velocity: Floats | None,
    mode: str,
    contacts: Contacts,
    plants: Plants,
    turned: Turned,
    footing: Footing,
    kept: Bools,
    bearing: Bearing | None,
) -> tuple[str, ...]:
    """Describe assumptions and compromises for the user."""
    return tuple(
        note for note in (
            _travel_note(velocity, mode), _idle_note(contacts), _edge_note(plants, footing),
            _short_note(contacts, turned), _kept_note(kept), _bearing_note(bearing),
        ) if note
    )  # fmt: skip


def _travel_note(velocity: Floats | None, mode: str) -> str:
    if velocity is None:
        return ""
    speed = f"the clip walks in place; its feet go at {np.hypot(*velocity):.2f} m/s"
    return f"{speed}: it stays there" if mode == "keep" else f"{speed}: it was carried over the ground so fast"


def _idle_note(contacts: Contacts) -> str:
    never = [leg for leg, stands in zip(contacts.legs, contacts.any.T, strict=True) if not stands.any()]
    return f"never stands: {', '.join(never)}" if never else ""


def _kept_note(kept: Bools) -> str:
    """Describe frames with unchanged poses."""
    frames = int(kept.any(axis=1).sum())
    return f"{format_count(frames, 'frame')} that no motion leads to kept its pose, a reference pose" if frames else ""


def _bearing_note(bearing: Bearing | None) -> str:
    """What else than feet is on the ground."""
    if bearing is None:
        return ""
    parts = [
        f"{part} in {format_count(int(frames.sum()), 'frame')}"
        for part, frames in zip(bearing.parts, bearing.touches.T, strict=True)
        if frames.any()
    ]
    lies = bearing.lies & ~bearing.on.any(axis=1)
    if lies.any():
        parts.append(f"the body in {format_count(int(lies.sum()), 'frame')}")
    return f"on the ground beside feet: {', '.join(parts)}" if parts else ""


def _edge_note(plants: Plants, footing: Footing) -> str:
    """Describe shifted plants, and plants beside the ground."""
    moved, outside = np.abs(plants.shift), ~footing.sample(plants.ball)[2]
    sentences = []
    if moved.any():
        sentences.append(
            f"{np.count_nonzero(moved)} of {len(moved)} plants moved off an edge, by at most {moved.max():.2f} m"
        )
    if plants.over.any():
        sentences.append(
            f"{np.count_nonzero(plants.over)} of {len(moved)} plants stand over an edge: no place was near"
        )
    if outside.any():
        sentences.append(
            f"{np.count_nonzero(outside)} of {len(outside)} plants are beyond the ground's edge or over a hole: "
            "the nearest ground's height was taken"
        )
    return "; ".join(sentences)


def _short_note(contacts: Contacts, turned: Turned) -> str:
    """Describe standing feet out of reach."""
    short = turned.missing * contacts.any
    frames = int((short > _SHORT).any(axis=1).sum())
    return (
        f"in {format_count(frames, 'frame')} a leg is too short for its foot, by at most {1000 * short.max():.0f} mm"
        if frames
        else ""
    )
