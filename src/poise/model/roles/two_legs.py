"""Arms and legs of a figure on two legs where names do not give them, from structure; and left against right."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from poise.model.roles.facing import Facing, facing
from poise.model.roles.figure import Candidate, Role
from poise.model.roles.structure import Body, Pair, bones, upper_bone
from poise.model.roles.vrm import SIDES

LEG = ("UpperLeg", "LowerLeg", "Foot", "Toes")
ARM = ("UpperArm", "LowerArm", "Hand")
SEEN, HABIT = 0.5, 0.3  # sides seen in the figure, and sides by the habit of its file format
_CONFLICT = 0.7  # what a side by name is worth where the feet say the other one
_INSIDE, _NEARLY = 0.5, 0.8  # how a long collar bone is told from an upper arm
_APART = 0.5  # cosine: how clearly two limbs lie to the left and right

_WHY = {"legs": "two legs of equal bones", "arms": "two arms of equal bones"}


def limbs(figure: Candidate, body: Body, named: Mapping[str, Role]) -> dict[str, Role]:
    """The segments that names do not give; none where what they do give lies elsewhere in the tree."""
    if body.legs is None or body.arms is None:
        return {}
    legs = [list(_leg(figure, rows).values()) for rows in body.legs.limbs]
    looks = facing(figure, legs)
    found: dict[str, Role] = {}
    parsed = ([_leg(figure, rows) for rows in body.legs.limbs], _arms(figure, body.arms))
    for what, pair, parts in zip(_WHY, (body.legs, body.arms), parsed, strict=True):
        sides, why = _sides(figure, pair, looks)
        confidence = HABIT if why == looks.source and not looks.is_seen else SEEN
        for side, part in zip(sides, parts, strict=True):
            limb = {f"{side}{role}": row for role, row in part.items()}
            if all(named[role].row == row for role, row in limb.items() if role in named):
                found |= {role: Role(row, confidence, f"{_WHY[what]}; side by {why}") for role, row in limb.items()}
    return {role: one for role, one in found.items() if role not in named}


def _leg(figure: Candidate, rows: list[int]) -> dict[str, int]:
    return dict(zip(LEG, rows[upper_bone(figure, rows) :], strict=False))


def _arms(figure: Candidate, pair: Pair) -> list[dict[str, int]]:
    """The joints of both arms; a first bone is the collar bone if it leads from the middle of the body outwards."""
    arms: list[dict[str, int]] = []
    for rows, other in (pair.limbs, pair.limbs[::-1]):
        first = upper_bone(figure, rows)
        if first == 0 and _begins_inside(figure, rows, other):
            first = 1
        shoulder = {"Shoulder": rows[first - 1]} if first > 0 else {}
        arms.append(shoulder | dict(zip(ARM, rows[first:], strict=False)))
    return arms


def _begins_inside(figure: Candidate, rows: list[int], other: list[int]) -> bool:
    """Whether a limb's first joint is much nearer to its partner's than the second, and the next two bones are long."""
    lengths = bones(figure, rows)
    if len(lengths) < len(ARM):
        return False
    inside = figure.distance(rows[0], other[0]) < _INSIDE * figure.distance(rows[1], other[1])
    return inside and lengths[1] + lengths[2] > _NEARLY * (lengths[0] + lengths[1])


def _sides(figure: Candidate, pair: Pair, looks: Facing) -> tuple[tuple[str, ...], str]:
    """The sides of a pair's limbs: by the words in their names, else by where they are."""
    says = [[figure.words[row].side for row in rows] for rows in pair.limbs]
    votes = [sides.count("left") - sides.count("right") for sides in says]
    if votes[0] != votes[1]:
        return (SIDES if votes[0] > votes[1] else SIDES[::-1]), "the names"
    places = [float(looks.points[rows[:3]].mean(axis=0) @ looks.left) for rows in pair.limbs]
    return (SIDES if places[0] >= places[1] else SIDES[::-1]), looks.source


def checked(figure: Candidate, found: dict[str, Role], given: Mapping[str, Role]) -> dict[str, Role]:
    """Say so where names call a limb left and the figure's feet or knees show that it is the right one."""
    if any(f"{side}{role}" not in found for side in SIDES for role in LEG[:3]):
        return found
    legs = [[found[f"{side}{role}"].row for role in LEG if f"{side}{role}" in found] for side in SIDES]
    looks = facing(figure, legs)
    apart = np.mean(
        [looks.points[a] - looks.points[b] for a, b in zip(*(rows[:3] for rows in legs), strict=True)], axis=0
    )
    if not looks.is_seen or float(apart @ looks.left) >= -_APART * float(np.linalg.norm(apart)):
        return found
    why = f"; but by {looks.source} this is the other side"
    doubted = [role for role in found if role.startswith(SIDES) and role not in given]
    return found | {
        role: Role(found[role].row, found[role].confidence * _CONFLICT, found[role].reason + why) for role in doubted
    }
