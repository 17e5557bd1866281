"""Fingers, eyes and the jaw by name."""

from __future__ import annotations

from poise.model.roles.figure import Candidate
from poise.model.roles.words import FINGERS

_SEGMENTS = ("Proximal", "Intermediate", "Distal")
_THUMB = ("Metacarpal", "Proximal", "Distal")


def fingers(figure: Candidate, side: str, above: int = -1) -> dict[str, int]:
    """Find the finger joints of a side, such as IndexProximal -> row.

    Each finger has its first three joints; the bones of the palm are left out. Each joint hangs below the one before,
    and all hang below `above`, if that is a row.
    """
    found: dict[str, int] = {}
    for place, finger in enumerate(FINGERS):
        rows = figure.named(finger, side) or _numbered(figure, place, side)
        thumb = finger == "thumb"
        rows = [row for row in rows if thumb or not figure.words[row].metacarpal]
        rows = [row for row in rows if above < 0 or (row != above and figure.is_above(above, row))]
        chain: list[int] = []
        for row in rows:  # parents come before children
            if not chain or figure.is_above(chain[-1], row):
                chain.append(row)
        segments = _THUMB if thumb else _SEGMENTS
        found |= {f"{finger.capitalize()}{segment}": row for segment, row in zip(segments, chain, strict=False)}
    return found


def _numbered(figure: Candidate, place: int, side: str) -> list[int]:
    """Find a finger by its number, counted from the thumb.

    MakeHuman counts from one and writes the segment apart (finger1-1, finger1-2); Biped counts from zero and
    appends it (Finger0, Finger01, Finger1, Finger11).
    """
    rows = [row for row in figure.named("finger", side) if figure.words[row].numbers]
    digits = {row: figure.words[row].numbers for row in rows}
    if any(len(numbers) > 1 for numbers in digits.values()):
        return [row for row in rows if digits[row][0] == place + 1]
    return [row for row in rows if _digits(figure, row)[:1] == str(place)]


def _digits(figure: Candidate, row: int) -> str:
    """Read the trailing digits of a name, zeros included. Finger01 is the thumb's second joint."""
    name = figure.skeleton.names[row]
    return name[len(name.rstrip("0123456789")) :]


def face(figure: Candidate, head: int) -> dict[str, int]:
    """Find eyes and jaw below the head, by name."""
    places = {"leftEye": ("eye", "left"), "rightEye": ("eye", "right"), "jaw": ("jaw", "")}
    found: dict[str, int] = {}
    for role, (part, side) in places.items():
        rows = [row for row in figure.named(part, side) if figure.is_above(head, row) and row != head]
        if rows:
            found[role] = min(rows, key=lambda row: (figure.depth[row], row))
    return found
