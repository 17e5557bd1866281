"""Made-up creatures without arms and legs, or with ten of them; y up, looking along +z."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tests.model.creatures import SIDES, Creature

Point = tuple[float, float, float]


def _pair(made: Creature, names: str, parent: int, points: Sequence[Point]) -> None:
    """A limb on each side; `names` has the fields s (left), L (L) and k (the number of the joint from 1)."""
    for side, sign in SIDES.items():
        rows = [names.format(s=side, L=side[0].upper(), k=place) for place in range(1, len(points) + 1)]
        made.line(rows, parent, [(sign * x, y, z) for x, y, z in points])


def _spine(made: Creature, heights: Sequence[tuple[float, float]], name: str = "spine{k}") -> list[int]:
    """Joints in line from the back to the front, by height and place along z."""
    return made.line([name.format(k=k) for k in range(1, len(heights) + 1)], -1, [(0.0, y, z) for y, z in heights])


def shark(names: str = "{s}_fin_{k}", *, droop: float = 0.5, bones: int = 3) -> Creature:
    """A long body with a pair of fins at the chest and one at the belly, a tail of bones and a fin on the back."""
    made = Creature()
    body = _spine(made, [(1.0, -0.6), (1.0, -0.2), (1.0, 0.3), (1.0, 0.8)])
    made.line(["head", "jaw"], body[-1], [(0.0, 1.0, 1.2), (0.0, 0.9, 1.4)])
    made.line([f"tail{k}" for k in range(1, 6)], body[0], [(0.0, 1.0, -0.9 - 0.35 * k) for k in range(5)])
    made.line(["back1", "back2"], body[2], [(0.0, 1.2, 0.2), (0.0, 1.45, 0.05)])
    for place, row, long in (("pectoral", body[2], 0.22), ("pelvic", body[0], 0.1)):
        z = made.points[row][2]
        points = [(0.15 + long * k, 0.9 - droop * long * k, z - 0.4 * long * k) for k in range(bones)]
        _pair(made, f"{place}_{names}", row, points)
    return made


def whale(names: str = "{s}_flipper_{k}", flukes: str = "{s}_fluke_{k}") -> Creature:
    """Flippers behind the head and two lobes at the end of the tail, both of three bones."""
    made = Creature()
    body = _spine(made, [(2.0, 0.0), (2.0, 1.5), (2.0, 3.0)])
    made.line(["head"], body[-1], [(0.0, 2.0, 4.2)])
    tail = made.line([f"tail{k}" for k in range(1, 7)], body[0], [(0.0, 2.0, -0.8 * k) for k in range(1, 7)])
    _pair(made, names, body[-1], [(0.5 + 0.5 * k, 1.6 - 0.35 * k, 2.8 - 0.2 * k) for k in range(4)])
    _pair(made, flukes, tail[-1], [(0.1 + 0.4 * k, 2.0, -4.9 - 0.15 * k) for k in range(4)])
    return made


def lizard(names: str = "{s}_{k}") -> Creature:
    """Four legs that sprawl to the sides of a long body near the ground."""
    made = Creature()
    body = _spine(made, [(0.2, 0.0), (0.2, 0.4), (0.2, 0.8)])
    made.line(["neck", "head"], body[-1], [(0.0, 0.2, 1.0), (0.0, 0.2, 1.2)])
    made.line([f"tail{k}" for k in range(1, 6)], body[0], [(0.0, 0.2, -0.2 * k) for k in range(1, 6)])
    for place, row in (("fore", body[-1]), ("hind", body[0])):
        z = made.points[row][2]
        points = [(0.1, 0.2, z), (0.35, 0.22, z), (0.5, 0.05, z + 0.05), (0.58, 0.0, z + 0.12)]
        _pair(made, f"{place}_{names}", row, points)
    return made


def crab(
    names: str = "{p}_{L}_{k}", claws: str = "claw_{L}_{k}", *, flat: bool = False, spine: bool = False
) -> Creature:
    """Four pairs of walking legs and a pair of pincers: ten legs in all. `flat`: modelled with the legs held level."""
    made = Creature()
    body = made.add("body", -1, (0.0, 0.5, 0.0))
    made.line(["eye_stalk_L", "eye_L"], body, [(0.1, 0.7, 0.5), (0.1, 0.8, 0.5)])
    made.line(["eye_stalk_R", "eye_R"], body, [(-0.1, 0.7, 0.5), (-0.1, 0.8, 0.5)])
    row = body
    for place, degrees in enumerate((50, 75, 105, 130), start=1):
        angle = math.radians(degrees)
        if spine:
            row = made.add(f"segment{place}", row, (0.0, 0.5, 0.3 - 0.15 * place))
        drops = (0.0, 0.0, 0.0, 0.0) if flat else (0.0, 0.25, -0.3, -0.5)
        points = [
            (far * math.sin(angle), 0.5 + drop, far * math.cos(angle))
            for far, drop in zip((0.4, 0.8, 1.2, 1.35), drops, strict=True)
        ]
        _pair(made, names.replace("{p}", str(place)), row, points)
    lift = 0.0 if flat else 0.1
    _pair(made, claws, body, [(0.3, 0.5, 0.4), (0.5, 0.5 + lift, 0.7), (0.3, 0.5 + lift, 1.0), (0.15, 0.5, 1.2)])
    return made
