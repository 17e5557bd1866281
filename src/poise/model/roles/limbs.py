"""Arms and legs by the names of their joints.

"Leg" is a thigh in one rig and a shin in the next, "shoulder" a collar bone or an upper arm: each word is read
with the other words of the same limb.
"""

from __future__ import annotations

from collections.abc import Callable

from poise.model.roles.figure import Candidate

Slots = list[list[int]]  # rows that may be each segment of a limb, from the trunk out

_AT_ITS_PLACE = 0.8  # of the longest distance: a hinge nearer to the next joint than this stands away down the bone


def leg(figure: Candidate, side: str) -> dict[str, int]:
    """The leg of a side by names: UpperLeg, LowerLeg, Foot, Toes -> row, those that are found."""
    named = _reader(figure, side)
    thigh, either, shin = named("thigh"), named("leg"), named("shin")
    hip, ankle, foot, toes = named("hips"), named("ankle"), named("foot"), named("toe")
    if not (thigh or shin) and len(either) > 1:  # leg 1, leg 2, leg 3
        thigh, shin, *rest = [[row] for row in either]
        foot, toes = (foot or [*rest, []][0]), (toes or [*rest, [], []][1])
    elif not thigh:
        thigh, shin = (either, shin) if shin and either else (hip, shin or either)
    elif not shin:
        shin = either
    if ankle:
        foot, toes = ankle, toes or foot
    elif len(foot) > 1 and not toes:  # foot 1, foot 2
        foot, toes = [foot[0]], [row for row in foot[1:] if figure.is_above(foot[0], row)]
    return _chosen(figure, ("UpperLeg", "LowerLeg", "Foot", "Toes"), [thigh, shin, foot, toes])


def arm(figure: Candidate, side: str) -> dict[str, int]:
    """The arm of a side by names: Shoulder, UpperArm, LowerArm, Hand -> row, those that are found."""
    named = _reader(figure, side)
    clavicle, shoulder = named("clavicle"), named("shoulder")
    upper, either, lower = named("upperarm"), named("arm"), named("forearm")
    hand = named("wrist") or named("hand") or _palm(figure, named("palm"), side)
    if not (upper or lower or shoulder) and len(either) > 1:  # arm 1, arm 2, arm 3
        rows = [[row] for row in either]
        clavicle, rows = (rows[0], rows[1:]) if len(rows) > 3 and not (hand or clavicle) else (clavicle, rows)  # noqa: PLR2004  (all of an arm's bones)
        upper, lower, *rest = rows
        hand = hand or [*rest, []][0]
    elif not upper:
        upper, shoulder = (either, shoulder) if either else (shoulder, [])
    return _chosen(figure, ("Shoulder", "UpperArm", "LowerArm", "Hand"), [clavicle or shoulder, upper, lower, hand])


def _reader(figure: Candidate, side: str) -> Callable[[str], list[int]]:
    return lambda part: figure.named(part, side)


def _palm(figure: Candidate, palms: list[int], side: str) -> list[int]:
    """Of several bones in a palm, the one that carries the middle finger."""
    middle = figure.named("middle", side)
    return [row for row in palms if any(figure.is_above(row, finger) for finger in middle)] or palms


def _chosen(figure: Candidate, roles: tuple[str, ...], slots: Slots) -> dict[str, int]:
    """One row for each slot that has any: the topmost, below the one before where that is possible."""
    rows: dict[str, int] = {}
    above = -1
    for place, (role, candidates) in enumerate(zip(roles, slots, strict=True)):
        free = [row for row in candidates if row not in rows.values()]
        if free:
            below = [row for slot in slots[place + 1 :] for row in slot]
            rows[role] = above = min(free, key=lambda row: _rank(figure, row, above, below))
    return _last_hinges(figure, roles, slots, rows)


def _rank(figure: Candidate, row: int, above: int, below: list[int]) -> tuple[object, ...]:
    """What makes a row the better choice, as a key that is smaller for it."""
    carries = any(figure.is_above(row, other) for other in below)
    return (
        above >= 0 and not figure.is_above(above, row),
        not figure.words[row].deform,
        row not in figure.skinned,
        not carries,
        figure.depth[row],
        row,
    )


def _last_hinges(figure: Candidate, roles: tuple[str, ...], slots: Slots, rows: dict[str, int]) -> dict[str, int]:
    """Where one anatomical joint is several hinges, take the one that is the limb's.

    For an upper or lower bone that is the last hinge that still stands at its end: hinges that turn the bone about
    itself stand anywhere along it, and the bone's length and direction must be right. For the others, the last.
    """
    last = dict(rows)
    for place, role in enumerate(roles):
        if role not in rows or not figure.hinged[rows[role]]:
            continue
        group = [row for row in slots[place] if figure.hinged[row] and figure.is_above(rows[role], row)]
        after = next((rows[other] for other in roles[place + 1 :] if other in rows), None)
        if after is not None and role.startswith(("Upper", "Lower")):
            group = [row for row in group if figure.is_above(row, after)] or group
            longest = max(figure.distance(row, after) for row in group)
            group = [row for row in group if figure.distance(row, after) >= _AT_ITS_PLACE * longest]
        last[role] = group[-1]
    return last
