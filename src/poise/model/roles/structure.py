"""Limbs, trunk and facing direction from the tree. Bone lengths count, names do not.

A limb is a branch with at least two bones; its partner is a sibling with bones of the same lengths. Lengths do not
depend on the pose: rest poses of motion capture are often meaningless. Positions are used only where the tree is
ambiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats
from poise.model.roles.figure import Candidate

# fraction of their lengths: largest mean difference of partners' bones (2 to 6 % in captured rigs)
_ALIKE = 0.12
# fraction of the longest limb: shorter pairs are ears, coat tails, controls
_LONG = 0.35
# largest number of limb pairs; a centipede has 177 at most
_MOST_PAIRS = 200
# largest number of branches at one joint; more are the spokes of a wheel, or fur
_BRANCHES = 32
# joints of a limb: two that turn, and its end
_JOINTS = 3
# fraction of a limb's length: nearer joints count as one position
_TOGETHER = 0.01
# the same for hinges, whose drives are side by side: 3 % at the ankle of the Unitree G1
_TOGETHER_HINGES = 0.05
_TINY = 1e-300
# pairs of limbs of four legs, or of arms and legs
_TWO = 2
# minimum drop of a leg, as a fraction of the mean leg; maximum horizontal sum of all legs, as a fraction of their total
_DROP, _BALANCE = 0.05, 0.5
# cosine: a down direction this near to an axis is that axis
_SNAP = 0.9
# cosine between legs and straight down: people sit and stride, fins point to the sides
_HANGING = 0.5
# fraction of the distance from hips to shoulders: legs are longer, and so is a third pair that counts
_STANDING = 0.5
# cosine between legs and trunk: below it the legs do not continue the trunk
_ALONG = 0.3
# length ratio of front and hind legs; fins differ by more
_ALIKE_LEGS = 0.5
# fraction of a leg's length: legs with nearer hips are one leg and its control bones
_COPY = 0.05
_LEG_PARTS = frozenset({"thigh", "leg", "shin", "ankle", "foot", "toe"})
# conditions on four legs: two cosines, and a fraction of a limb's length
_PARALLEL, _ACROSS, _LEVEL = 0.6, 0.7, 0.35


class Pair(NamedTuple):
    """Two mirrored limbs. Fields: the joint carrying both, each limb's rows from there out, and their length."""

    attach: int
    limbs: tuple[list[int], list[int]]
    length: float


@dataclass(frozen=True, eq=False)
class Body:
    """Limbs of a character. `legs` carry it, or are its hind legs; `arms` are its arms or front legs.

    many   the limbs of a creature standing on six or more; `up` is then the up direction, a unit vector (3,)
    doubt  reason against taking two pairs of limbs as arms and legs; empty without one
    """

    legs: Pair | None
    arms: Pair | None
    four_legs: bool = False
    many: tuple[list[int], ...] = ()
    up: Floats | None = None
    doubt: str = ""


def body(figure: Candidate) -> Body:
    """Find the two longest pairs of limbs and identify them. With more pairs, return all that stand."""
    every = sorted(pairs(figure), key=lambda pair: -pair.length)
    if len(every) > _MOST_PAIRS:
        return Body(None, None, doubt=f"it has {len(every)} pairs of limbs; legs are searched in up to {_MOST_PAIRS}")
    found = [pair for pair in every if pair.length >= _LONG * every[0].length]
    if len(found) > _TWO:
        found, up = standing(figure, every)
        if len(found) > _TWO:
            return Body(None, None, many=tuple(limb for pair in found for limb in pair.limbs), up=up)
        found = found if len(found) == _TWO and _is_four_legged(figure, found) else []
    return _of_two_pairs(figure, found, every) if found else Body(None, None)


def _of_two_pairs(figure: Candidate, found: list[Pair], every: list[Pair]) -> Body:
    """Identify one or two pairs of limbs.

    All `candidates` count for the rejection.
    """
    if len(found) == 1:
        return Body(found[0], None) if _hangs(figure, found[0]) else Body(None, found[0])
    if _is_four_legged(figure, found):
        lower, upper = _in_order(figure, found)
        return Body(lower, upper, four_legs=True)
    if found[0].attach == found[1].attach:  # fingers of a hand; no body has arms and legs at one joint
        return Body(None, None)
    legs, arms = _in_order(figure, found)
    doubt = _doubt(figure, legs, arms, every)
    return Body(None, None, doubt=doubt) if doubt else Body(legs, arms)


def _doubt(figure: Candidate, legs: Pair, arms: Pair, every: list[Pair]) -> str:
    """Explain why two pairs are not legs and arms, or "".

    They may be fins, sprawling legs or some of many limbs.
    """
    names = figure.skeleton.names
    which = f"the limbs starting at {names[legs.limbs[0][0]]!r} and {names[legs.limbs[1][0]]!r}"
    direction = _direction(figure, legs)
    if figure.up is not None and float(direction @ figure.up) > -_HANGING:
        return f"{which} do not hang down like legs"
    if float(np.linalg.norm(direction)) < _PARALLEL:
        return f"{which} point apart, unlike legs"
    trunk = _length(figure, figure.between(legs.attach, arms.attach))
    if legs.length < _STANDING * trunk:
        return f"{which} are short compared to the trunk: they may be fins"
    along = unit(figure.positions[arms.attach] - figure.positions[legs.attach])
    if legs.length < trunk and abs(float(along @ unit(direction))) < _ALONG:  # the legs of a bowing person are longer
        return f"{which} are across the trunk, like those of a fish or an animal"
    others = [pair for pair in every if pair is not legs and pair is not arms]
    if any(pair.length >= _STANDING * min(legs.length, arms.length) for pair in others):
        return "there are more than two pairs of limbs, and any may be the legs"
    return ""


def find_leg_pairs(figure: Candidate) -> list[Pair]:
    """Find up to three pairs of limbs named as legs.

    Of pairs at the same position one is taken, and all belong to one body.
    """
    found: list[Pair] = []
    for pair in pairs(figure)[:_MOST_PAIRS]:
        if not all(any(figure.words[row].part in _LEG_PARTS for row in rows) for rows in pair.limbs):
            continue
        if all(_is_another(figure, pair, other) for other in found):
            found.append(pair)
        if len(found) > _TWO:
            break
    return found


def _is_another(figure: Candidate, pair: Pair, other: Pair) -> bool:
    """Return whether two leg pairs are separate legs. They must belong to one body.

    A copy for controls is at the same position; legs of another body are far away.
    """
    places = [figure.positions[rows[0]] for rows in other.limbs]
    apart = min(float(np.linalg.norm(figure.positions[rows[0]] - place)) for rows in pair.limbs for place in places)
    way = figure.between(pair.attach, other.attach)
    return apart > _COPY * pair.length and bool(way) and _length(figure, way) < other.length


def standing(figure: Candidate, found: list[Pair]) -> tuple[list[Pair], Floats]:
    """Find the standing pairs of limbs, and the up direction (3,).

    They end at the lowest level, unlike antennae, wings and pincers. Legs lead down, and to all sides or to none: the
    fingers of a hand lead to one side together.
    """
    stand = found
    up = np.zeros(3)
    for _ in range(2):  # without a file's up, down is the mean direction of the standing limbs
        ways = np.array(
            [figure.positions[rows[-1]] - figure.positions[rows[0]] for pair in stand for rows in pair.limbs]
        )
        up = figure.up if figure.up is not None else -_snapped(unit(ways.mean(axis=0)))
        ends = [max(float(figure.positions[rows[-1]] @ up) for rows in pair.limbs) for pair in found]
        near = [pair for pair, end in zip(found, ends, strict=True) if end - min(ends) < _LEVEL * found[0].length]
        stand = [pair for pair in near if pair.length >= _LONG * max(pair.length for pair in near)]
    ways = np.array([figure.positions[rows[-1]] - figure.positions[rows[0]] for pair in stand for rows in pair.limbs])
    total = float(np.linalg.norm(ways, axis=1).sum())
    aside = ways.sum(axis=0) - up * float(ways.sum(axis=0) @ up)
    if figure.up is None and abs(up[0]) > _SNAP:  # along X: no upright rest pose
        return [], up
    if float((ways @ up).max()) > -_DROP * total / len(ways) or float(np.linalg.norm(aside)) > _BALANCE * total:
        return [], up
    return stand, up


def _snapped(way: Floats) -> Floats:
    axis = int(np.argmax(np.abs(way)))
    return np.eye(3)[axis] * np.sign(way[axis]) if abs(way[axis]) > _SNAP else way


def sides_said(figure: Candidate, limbs: Sequence[list[int]]) -> list[str]:
    """Read the sides of limbs from names. Without as many left as right, every entry is ""."""
    votes = [[figure.words[row].side for row in rows] for rows in limbs]
    said = ["left" if sides.count("left") > sides.count("right") else "right" for sides in votes]
    clear = all(sides.count("left") != sides.count("right") for sides in votes)
    return said if clear and 2 * said.count("left") == len(limbs) else [""] * len(limbs)


def pairs(figure: Candidate) -> list[Pair]:
    """Find every pair of limbs outside other limbs."""
    inside: set[int] = set()
    found: list[Pair] = []
    for attach, children in enumerate(figure.children):
        if attach in inside:
            inside.update(children)
            continue
        branches = [child for child in children if figure.below[child] >= _JOINTS]
        if not 1 < len(branches) <= _BRANCHES:
            continue
        ways = [_without_helpers(figure, figure.longest_way(child)) for child in branches]
        ways = [way for way in ways if 2 * sum(figure.words[row].other for row in way) <= len(way)]  # no fins, no wings
        limbs = [limb for limb in (_places(figure, way) for way in ways) if len(limb) >= _JOINTS]
        for a, b in _partners(figure, limbs):
            length = (_length(figure, a) + _length(figure, b)) / 2.0
            found.append(Pair(attach, (a, b), length))
            inside.update(child for child in children for row in (a[0], b[0]) if figure.is_above(child, row))
    return found


def _without_helpers(figure: Candidate, rows: list[int]) -> list[int]:
    """Drop the twist and roll bones from a path."""
    return [row for row in rows if not figure.words[row].helper]


def _partners(figure: Candidate, limbs: list[list[int]]) -> list[tuple[list[int], list[int]]]:
    """Match sibling limbs with equal bones, the most alike first.

    Equally alike ones are matched where they are nearest.
    """
    order = sorted(
        (_difference(figure, a, b), figure.distance(a[0], b[0]), i, j)
        for i, a in enumerate(limbs)
        for j, b in enumerate(limbs[:i])
    )
    chosen: list[tuple[list[int], list[int]]] = []
    used: set[int] = set()
    for difference, _, i, j in order:
        if difference < _ALIKE and not used & {i, j}:
            used |= {i, j}
            chosen.append((limbs[j], limbs[i]))
    return chosen


def bones(figure: Candidate, rows: list[int]) -> list[float]:
    """Measure the distances between consecutive joints of a limb."""
    return [figure.distance(a, b) for a, b in pairwise(rows)]


def _length(figure: Candidate, rows: list[int]) -> float:
    return sum(bones(figure, rows))


def _difference(figure: Candidate, a: list[int], b: list[int]) -> float:
    """Compute the mean difference of two limbs' bone lengths. 0 is alike, 1 the largest."""
    both = list(zip_longest(bones(figure, a), bones(figure, b), fillvalue=0.0))
    total = sum(first + second for first, second in both)
    return round(sum(abs(first - second) for first, second in both) / total, 4) if total > 0.0 else 1.0


def _direction(figure: Candidate, pair: Pair) -> Floats:
    """Compute the mean unit vector of a pair's limbs. It is short where they point apart."""
    ways = [figure.positions[rows[-1]] - figure.positions[rows[0]] for rows in pair.limbs]
    return np.mean([unit(way) for way in ways], axis=0)


def unit(vector: Floats) -> Floats:
    """Normalize a vector; zero stays zero."""
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0.0 else vector


def start(figure: Candidate, pair: Pair) -> Floats:
    """Compute the midpoint (3,) of a pair's first joints."""
    return figure.positions[[rows[0] for rows in pair.limbs]].mean(axis=0)


def _hangs(figure: Candidate, pair: Pair) -> bool:
    """Return whether a pair points down. Without a known up direction, return whether both limbs are parallel."""
    direction = _direction(figure, pair)
    if figure.up is not None:
        return float(direction @ figure.up) < -_PARALLEL
    return float(np.linalg.norm(direction)) > _PARALLEL


def _is_four_legged(figure: Candidate, found: list[Pair]) -> bool:
    """Return whether two pairs are the legs of a quadruped.

    Four legs are parallel, across the trunk, and end at one level.
    """
    first, second = (_direction(figure, pair) for pair in found)
    down = unit(first + second)
    ends = [figure.positions[rows[-1]] @ down for pair in found for rows in pair.limbs]
    if found[0].attach == found[1].attach:  # legs at four corners of one body are all alike, fingers are not
        limbs = [child for child in figure.children[found[0].attach] if figure.below[child] >= _JOINTS]
        across = len(limbs) == 4 and _difference(figure, found[0].limbs[0], found[1].limbs[0]) < _ALIKE  # noqa: PLR2004
    else:
        trunk = unit(start(figure, found[1]) - start(figure, found[0]))
        across = abs(float(trunk @ down)) < _ACROSS
    lengths = sorted(pair.length for pair in found)
    return bool(
        across
        and lengths[0] > _ALIKE_LEGS * lengths[1]
        and min(float(first @ down), float(second @ down)) > _PARALLEL
        and np.ptp(ends) < _LEVEL * found[0].length
        and (figure.up is None or float(down @ figure.up) < -_PARALLEL)
    )


def _in_order(figure: Candidate, found: list[Pair]) -> tuple[Pair, Pair]:
    """Order two pairs: legs before arms, hind before front legs.

    Legs end lower than arms, if the file's up is known. Else the arms are at the joint that also carries a neck and a
    head; else at the one further from the root.
    """
    a, b = found
    if figure.up is not None and not _is_four_legged(figure, found):
        ends = [np.mean([figure.positions[rows[-1]] for rows in pair.limbs], axis=0) for pair in found]
        rise = float((ends[1] - ends[0]) @ figure.up)
        if abs(rise) > _LEVEL * a.length / 2.0:
            return (a, b) if rise > 0.0 else (b, a)
    fork = figure.common([a.attach, b.attach])
    if a.attach != b.attach and fork in {a.attach, b.attach}:
        return (a, b) if a.attach == fork else (b, a)
    more = [sum(1 for child in figure.children[pair.attach] if figure.below[child]) for pair in found]
    return (a, b) if (more[0], figure.depth[a.attach]) <= (more[1], figure.depth[b.attach]) else (b, a)


def _places(figure: Candidate, rows: list[int]) -> list[int]:
    """Merge joints at one position. Of hinges the last one counts, which carries the bone; of others the first."""
    length = _length(figure, rows)
    places: list[list[int]] = []
    for row in rows:
        near = length * (_TOGETHER_HINGES if figure.hinged[row] else _TOGETHER)
        if places and figure.distance(places[-1][-1], row) <= near:
            places[-1].append(row)
        else:
            places.append([row])
    return [place[-1] if figure.hinged[place[-1]] else place[0] for place in places]


def upper_bone(figure: Candidate, rows: list[int], along: Floats | None = None) -> int:
    """Find the index of a limb's upper bone. It begins the two consecutive bones that take the limb furthest.

    Lengths are measured along a direction (3,), by default the limb's own: a clavicle, a shoulder blade or a long foot,
    pointing elsewhere, count little.
    """
    points = figure.positions[rows]
    along = unit(points[-1] - points[0]) if along is None else along
    steps = np.abs(np.diff(points, axis=0) @ along)
    sums = steps[:-1] + steps[1:]
    return int(np.argmax(np.round(sums / max(float(sums.max()), _TINY), 6)))
