"""Roles from the names of the joints."""

from __future__ import annotations

from poise.bones import SIDES
from poise.humanoid.conventions import convention
from poise.humanoid.figure import Figure, Found
from poise.humanoid.fingers import face, fingers
from poise.humanoid.limbs import arm, leg
from poise.humanoid.trunk import trunk

KNOWN, WORDS, LOOSE = 0.9, 0.8, 0.6  # a known convention, clear words, words among others that mean nothing here
_LIMB_EVIDENCE = 2  # segments of one limb: fewer say nothing about a trunk


def by_names(figure: Figure) -> dict[str, Found]:
    """Every role that names give, with the confidence of the names."""
    known = convention(figure.skeleton.names)
    sure = KNOWN if known else WORDS
    legs = {side: leg(figure, side) for side in SIDES}
    arms = {side: arm(figure, side) for side in SIDES}
    found: dict[str, Found] = {}
    for side in SIDES:
        rows = legs[side] | arms[side] | fingers(figure, side)
        found |= {f"{side}{role}": _found(figure, row, known) for role, row in rows.items()}
    whole = [[limb for limb in limbs.values() if len(limb) >= _LIMB_EVIDENCE] for limbs in (legs, arms)]
    if any(whole):
        found |= trunk(figure, whole[0], whole[1], sure)
    if "head" in found:
        head = found["head"]
        found |= {role: _found(figure, row, known) for role, row in face(figure, head.row).items()}
    return found


def _found(figure: Figure, row: int, known: str) -> Found:
    loose = bool(figure.words[row].unknown)
    about = f" ({known})" if known else ""
    return Found(row, LOOSE if loose else KNOWN if known else WORDS, f"named {figure.skeleton.names[row]!r}{about}")
