"""Arms and legs by joint names.

"Leg" is a thigh in one rig and a shin in the next, "shoulder" a clavicle or an upper arm: each word is read together
with the other words of the same limb. A limb is a chain: each joint hangs below the one before. Of the named joints the
chain with the most of its three main joints is chosen; joints outside it are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from poise.model.roles.figure import Candidate

# candidate rows for each segment of a limb, from the trunk out
Slots = list[list[int]]

# fraction of the longest distance to the next joint: nearer hinges are further down the bone
_AT_ITS_PLACE = 0.8
# fraction of a limb's whole length: bones of a robot's limb are longer
_SHORT = 0.1
# rows examined per segment; more rows have the name by mistake
_MOST = 8
_LEG, _ARM = ("UpperLeg", "LowerLeg", "Foot", "Toes"), ("Shoulder", "UpperArm", "LowerArm", "Hand")
_MAIN = {"UpperLeg", "LowerLeg", "Foot", "UpperArm", "LowerArm", "Hand"}
# parts that lead on to a foot or a hand
_BONES = {"thigh", "leg", "shin", "upperarm", "arm", "forearm"}


class NamedLimb(NamedTuple):
    """Limb found by names.

    rows      rows of its segments
    detached  named rows outside the chain
    misread   one sentence for each segment of a reading contradicted by bone lengths
    """

    rows: dict[str, int]
    astray: dict[str, int]
    misread: dict[str, str]

    @property
    def main(self) -> int:
        """Number of the three main joints found."""
        return len(_MAIN & set(self.rows))


_Slotted: TypeAlias = "Callable[[_Reader], Iterator[Slots]]"


def leg(figure: Candidate, side: str) -> NamedLimb:
    """Find the leg of a side by names. Result: UpperLeg, LowerLeg, Foot, Toes -> row, as far as found."""
    return _best(figure, side, _LEG, _leg_slots)


def arm(figure: Candidate, side: str) -> NamedLimb:
    """Find the arm of a side by names. Result: Shoulder, UpperArm, LowerArm, Hand -> row, as far as found."""
    return _best(figure, side, _ARM, _arm_slots)


class _Reader(NamedTuple):
    """Named parts of one side. `loose` adds names with unknown tokens."""

    figure: Candidate
    side: str
    loose: bool

    def __call__(self, part: str) -> list[int]:
        rows = self.figure.called(part, self.side)
        if part in _BONES:
            rows = [row for row in rows if not self.figure.ends_beside(row)]
        strict = [row for row in rows if not self.figure.words[row].unknown]
        return rows if self.loose else strict or rows


def _best(figure: Candidate, side: str, roles: tuple[str, ...], read: _Slotted) -> NamedLimb:
    """Read a limb from names. The first reading with a whole limb counts, else the most complete one."""
    best, misread = NamedLimb({}, {}, {}), dict[str, str]()
    for loose in (False, True):
        for slots in read(_Reader(figure, side, loose)):
            found = _chosen(figure, roles, slots)
            why = _misread(figure, side, found)
            if why:
                misread |= dict.fromkeys(found.rows, why)
                continue
            if found.main > best.main or not (best.rows or best.astray):
                best = found
            if best.main == 3:  # noqa: PLR2004  (all there are)
                return best
    return best._replace(misread=misread)


def _misread(figure: Candidate, side: str, limb: NamedLimb) -> str:
    """Explain why named hinges are no limb, or return "".

    One of the two bones is much too short: robots number or letter the hinges of one anatomical joint, and these are
    at one position.
    """
    bones = [limb.rows[role] for role in (*_LEG[:3], *_ARM[1:]) if role in limb.rows]
    if len(bones) < len(_LEG[:3]) or not all(figure.hinged[row] for row in bones[:2]):
        return ""
    whole = figure.reach(bones[0])
    for upper, lower in pairwise(bones):
        if figure.distance(upper, lower) < _SHORT * whole:
            names = figure.skeleton.names
            return f"{names[upper]!r} and {names[lower]!r} are at one position, with no bone of the {side} limb"
    return ""


def _leg_slots(named: _Reader) -> Iterator[Slots]:
    """List the readings of a leg. An ankle is the foot, unless it hangs elsewhere."""
    thigh, either, shin = named("thigh"), named("leg"), named("shin")
    hip, ankle, foot, toes = named("hips"), named("ankle"), named("foot"), named("toe")
    if not (thigh or shin) and len(either) > 1:  # leg 1, leg 2, leg 3
        # leg 1, leg 2, leg 3 are bones; in a robot they are hinges, several of them in one hip or ankle
        bones = [] if any(named.figure.hinged[row] for row in either) else [[row] for row in either]
        thigh, shin, *rest = bones or [[], []]
        foot, toes = (foot or [*rest, []][0]), (toes or [*rest, [], []][1])
    elif not thigh:
        thigh, shin = (either, shin) if shin and either else (hip, shin or either)
    elif not shin:
        shin = either
    if ankle:
        yield [thigh, shin, ankle, toes or foot]
    if len(foot) > 1 and not toes and not named.figure.hinged[foot[0]]:  # foot 1, foot 2
        yield [thigh, shin, [foot[0]], [row for row in foot[1:] if named.figure.is_above(foot[0], row)]]
    yield [thigh, shin, foot, toes]


def _arm_slots(named: _Reader) -> Iterator[Slots]:
    """List the readings of an arm. A wrist is the hand, unless it hangs elsewhere."""
    clavicle, shoulder = named("clavicle"), named("shoulder")
    upper, either, lower = named("upperarm"), named("arm"), named("forearm")
    hands = [rows for rows in (named("wrist"), named("hand"), _palm(named)) if rows]
    if sum(bool(named.figure.hinged[row]) for row in either) > len(_ARM):
        either = []  # arm 1 to arm 7 of a robot: hinges, several of them in one shoulder, elbow or wrist
    if not (upper or lower or shoulder) and len(either) > 1:  # arm 1, arm 2, arm 3
        rows = [[row] for row in either]
        clavicle, rows = (rows[0], rows[1:]) if len(rows) > 3 and not (hands or clavicle) else (clavicle, rows)  # noqa: PLR2004  (all of an arm's bones)
        upper, lower, *rest = rows
        hands = hands or [[*rest, []][0]]
    elif not upper:
        upper, shoulder = (either, shoulder) if either else (shoulder, [])
    for hand in hands or [[]]:
        yield [clavicle or shoulder, upper, lower, hand]


def _palm(named: _Reader) -> list[int]:
    """Find the palm bone carrying the middle finger."""
    palms, middle = named("palm"), named("middle")
    fingers = named.figure.places_of(middle)
    return [row for row in palms if named.figure.is_above_any(row, fingers)] or palms


def _chosen(figure: Candidate, roles: tuple[str, ...], slots: Slots) -> NamedLimb:
    """Choose the best chain of these rows. Also keep the first row of each segment outside it."""
    after = [figure.places_of(row for slot in slots[place + 1 :] for row in slot) for place in range(len(slots))]
    tried = [sorted(set(slot), key=lambda row: _rank(figure, row, after[place]))[:_MOST]
             for place, slot in enumerate(slots)]  # fmt: skip
    worth = min(_chains(figure, tried), key=lambda chain: _worth(figure, roles, chain, after))
    rows = {role: row for role, row in zip(roles, worth, strict=True) if row >= 0}
    rows = _last_hinges(figure, roles, slots, rows)
    astray = {role: slot[0] for role, slot in zip(roles, tried, strict=True) if role not in rows and slot}
    return NamedLimb(rows, {role: row for role, row in astray.items() if row not in rows.values()}, {})


def _chains(figure: Candidate, slots: Slots, above: int = -1) -> Iterator[tuple[int, ...]]:
    """List every chain with at most one row per slot. Each row hangs below the one before; -1 stands for none."""
    if not slots:
        yield ()
        return
    for row in (*slots[0], -1):
        if row < 0 or above < 0 or (row != above and figure.is_above(above, row)):
            for rest in _chains(figure, slots[1:], above if row < 0 else row):
                yield (row, *rest)


def _worth(
    figure: Candidate, roles: tuple[str, ...], chain: tuple[int, ...], after: Sequence[Sequence[int]]
) -> tuple[object, ...]:
    """Rank a chain; the best has the smallest key. The key counts its joints, then their qualities."""
    main = [row for role, row in zip(roles, chain, strict=True) if row >= 0 and role in _MAIN]
    return (
        -len(main),
        sum(not figure.words[row].deform for row in main),
        sum(row not in figure.skinned for row in main),
        -sum(row >= 0 for row in chain),
        [_rank(figure, row, after[place]) for place, row in enumerate(chain)],
    )


def _rank(figure: Candidate, row: int, after: Sequence[int]) -> tuple[object, ...]:
    """Rank a row; the best row has the smallest key.

    `after` are the preorder numbers of later segments.
    """
    if row < 0:
        return (2, 0, 0, 0, 0)  # after every row
    carries = figure.is_above_any(row, after)
    return (not figure.words[row].deform, row not in figure.skinned, not carries, figure.depth[row], row)


def _last_hinges(figure: Candidate, roles: tuple[str, ...], slots: Slots, rows: dict[str, int]) -> dict[str, int]:
    """Choose one hinge for each anatomical joint made of several.

    For an upper or lower bone it is the last hinge at the bone's start: twist hinges are anywhere along the bone, and
    the bone's length and direction must be right. For the others it is the last hinge.
    """
    last = dict(rows)
    for place, role in enumerate(roles):
        if role not in rows or not figure.hinged[rows[role]]:
            continue
        group = [row for row in slots[place] if figure.hinged[row] and figure.is_above(rows[role], row)]
        after = next((rows[other] for other in roles[place + 1 :] if other in rows), None)
        if after is not None:
            group = [row for row in group if row != after and figure.is_above(row, after)] or [rows[role]]
        if after is not None and role.startswith(("Upper", "Lower")):
            longest = max(figure.distance(row, after) for row in group)
            group = [row for row in group if figure.distance(row, after) >= _AT_ITS_PLACE * longest]
        last[role] = max(group)
    return last
