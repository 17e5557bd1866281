"""Made-up animals on four, six, eight and more legs, and bodies with helpers in and beside their limbs; truth known."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

import poise
from tests.model.humanoid_figures import CONVENTIONS, Figure, figure, skeleton_of

SIDES = {"left": 1.0, "right": -1.0}
_CHAINS = (("UpperLeg", "LowerLeg", "Foot", "Toes"), ("Shoulder", "UpperArm", "LowerArm", "Hand"))


@dataclass
class Creature:
    """A tree being built, y up and looking along +z, and the joints of its legs: upper, lower, foot."""

    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    points: list[tuple[float, float, float]] = field(default_factory=list)
    legs: dict[str, list[int]] = field(default_factory=dict)

    def add(self, name: str, parent: int, point: Sequence[float]) -> int:
        self.names.append(name)
        self.parents.append(parent)
        self.points.append((float(point[0]), float(point[1]), float(point[2])))
        return len(self.names) - 1

    def line(self, names: Sequence[str], parent: int, points: Sequence[Sequence[float]]) -> list[int]:
        rows: list[int] = []
        for name, point in zip(names, points, strict=True):
            rows.append(self.add(name, rows[-1] if rows else parent, point))
        return rows

    def skeleton(self, *, nameless: bool = False, scale: float = 1.0, z_up: bool = False, up: bool = True):
        names = [f"q{row}" for row in range(len(self.names))] if nameless else self.names
        points = scale * np.array(self.points)
        if z_up:
            points = np.stack([points[:, 0], -points[:, 2], points[:, 1]], axis=1)
        return skeleton_of(names, self.parents, points, up=("z" if z_up else "y") if up else None)


def _legs_beside(made: Creature, position: str, body: int, hip, segments, parts, pattern: str) -> None:
    """A pair of legs: where each joint stands from the hip (out, up, forward), and which three have roles."""
    for side, sign in SIDES.items():
        words = {"s": side, "L": side[0].upper(), "p": position.replace(" ", ""), "P": position[0].upper()}
        names = [pattern.format(part=part, **words) for part in parts]
        points = [(sign * (hip[0] + out), hip[1] + rise, hip[2] + ahead) for out, rise, ahead in segments]
        made.legs[f"{position} {side}"] = made.line(names, body, points)


def positions(pairs: int) -> list[str]:
    between = ["mid"] if pairs == 3 else [f"mid {place}" for place in range(1, pairs - 1)]
    return ["front", *between, "hind"]


def spider(pattern: str = "{p}_{s}_{part}", *, coxa: bool = False, alike: bool = False) -> Creature:
    """Eight legs at one joint: knees above the body, feet on the ground all around; an abdomen behind."""
    made = Creature()
    body = made.add("cephalothorax", -1, (0.0, 0.4, 0.0))
    made.line(["abdomen", "spinneret"], body, [(0.0, 0.45, -0.3), (0.0, 0.4, -0.8)])
    for position, degrees in zip(positions(4), (35, 70, 110, 145), strict=True):
        angle, long = math.radians(degrees), 1.0 if alike else 1.0 + 0.15 * abs(degrees - 90) / 55
        out, ahead = math.sin(angle), math.cos(angle)
        places = [(0.45, 0.45), (1.1, -0.35), (1.3, -0.4)]
        segments = [(0.0, 0.0, 0.0), *((long * far * out, rise, long * far * ahead) for far, rise in places)]
        parts = ["upper", "lower", "foot", "tip"]
        if coxa:
            segments = [(-0.08 * out, 0.0, -0.08 * ahead), *segments]
            parts = ["coxa", *parts]
        hip = (0.15 * out, 0.4, 0.15 * ahead)
        _legs_beside(made, position, body, hip, segments, parts, pattern)
    made.legs = {name: rows[1:] if coxa else rows for name, rows in made.legs.items()}
    return made


def insect(pattern: str = "{p}_{s}_{part}", *, antennae: bool = True, wings: bool = False) -> Creature:
    """Six legs at the three parts of a thorax; antennae, wings and an abdomen that are no legs."""
    made = Creature()
    hips = [made.add("metathorax", -1, (0.0, 0.5, -0.2))]
    hips.append(made.add("mesothorax", hips[0], (0.0, 0.52, 0.0)))
    hips.append(made.add("prothorax", hips[1], (0.0, 0.5, 0.2)))
    head = made.add("head", hips[2], (0.0, 0.55, 0.4))
    made.line(["abdomen1", "abdomen2", "abdomen3"], hips[0], [(0, 0.5, -0.4), (0, 0.48, -0.7), (0, 0.45, -1.0)])
    for position, row, ahead in zip(positions(3), reversed(hips), (0.35, 0.05, -0.4), strict=True):
        _, y, z = made.points[row]
        segments = [(0, 0, 0), (0.3, 0.15, 0.6 * ahead), (0.6, -0.4, ahead), (0.7, -0.5, 1.2 * ahead)]
        _legs_beside(made, position, row, (0.1, y, z), segments, ["coxa_upper", "lower", "foot", "tip"], pattern)
    for side, sign in SIDES.items():
        if antennae:
            places = [(sign * 0.05 * k, 0.6 + 0.15 * k, 0.45 + 0.2 * k) for k in range(5)]
            made.line([f"antenna{k}_{side}" for k in range(5)], head, places)
        if wings:
            places = [(sign * (0.1 + 0.4 * k), 0.6 + 0.1 * k, -0.1 * k) for k in range(4)]
            made.line([f"wing{k}_{side}" for k in range(4)], hips[1], places)
    return made


def centipede(pairs: int = 10, pattern: str = "seg{p}_{s}_{part}") -> Creature:
    """A pair of legs at every part of a long body."""
    made, row = Creature(), -1
    for place, position in enumerate(positions(pairs)):
        z = -0.37 * place
        row = made.add(f"segment{place}", row, (0.0, 0.3, z))
        segments = [(0, 0, 0), (0.25, 0.05, 0.02), (0.4, -0.25, 0.05)]
        _legs_beside(made, position, row, (0.1, 0.3, z), segments, ["upper", "lower", "foot"], pattern)
    return made


_FORE = (("scapula", 1.5, 0.55), ("humerus", 1.15, 0.8), ("radius", 0.95, 0.55), ("carpus", 0.5, 0.58),
         ("fetlock", 0.18, 0.57), ("hoof", 0.0, 0.65))  # fmt: skip
_HIND = (("femur", 1.2, -0.6), ("tibia", 0.9, -0.4), ("hock", 0.55, -0.75), ("fetlock", 0.18, -0.7),
         ("hoof", 0.0, -0.6))  # fmt: skip


def horse(pattern: str = "{p}_{s}_{part}", *, ears: int = 2, scapula: bool = True, pelvis: bool = False) -> Creature:
    """Four legs with hocks on hooves; neck and head, ears, a tail."""
    made = Creature()
    hips = made.add("hips", -1, (0.0, 1.3, -0.5))
    spine = made.line(["spine1", "spine2", "chest"], hips, [(0, 1.35, -0.2), (0, 1.35, 0.1), (0, 1.35, 0.4)])
    head = made.line(["neck1", "neck2", "head"], spine[-1], [(0, 1.5, 0.7), (0, 1.8, 0.9), (0, 2.0, 1.0)])[-1]
    made.line(["jaw", "chin"], head, [(0, 1.9, 1.1), (0, 1.8, 1.35)])
    made.line([f"tail{k}" for k in range(5)], hips, [(0, 1.3 - 0.15 * k, -0.8 - 0.05 * k) for k in range(5)])
    for side, sign in SIDES.items():
        made.line(
            [f"ear{k}_{side}" for k in range(ears)], head, [(sign * 0.08, 2.1 + 0.1 * k, 1.0) for k in range(ears)]
        )
    for position, row, joints in (("front", spine[-1], _FORE if scapula else _FORE[1:]), ("hind", hips, _HIND)):
        every = (("pelvis", 1.3, -0.3), *joints) if position == "hind" and pelvis else joints
        segments = [(0.0, y, z) for _, y, z in every]
        _legs_beside(made, position, row, (0.18, 0.0, 0.0), segments, [part for part, _, _ in every], pattern)
        skipped = (position == "front" and scapula) or (position == "hind" and pelvis)
        for side in SIDES:
            made.legs[f"{position} {side}"] = made.legs[f"{position} {side}"][int(skipped) :]
    return made


# --- bodies with helpers ----------------------------------------------------------------------------------------------

LEAVES = (  # what a leaf may be called, and beside which joint it hangs; {S} {s} {L} {l} as in humanoid_figures
    ("{S}Tibia", "LowerLeg"), ("{S}Shin", "LowerLeg"), ("{l}_knee", "LowerLeg"), ("{S}Femur", "UpperLeg"),
    ("{S}Thigh", "UpperLeg"), ("{S}Humerus", "UpperArm"), ("{S}UpperArm", "UpperArm"), ("{S}Elbow", "LowerArm"),
    ("{S}ForeArm", "LowerArm"), ("{S}Radius", "LowerArm"), ("{S}LegRoll", "LowerLeg"), ("{S}ArmTwist", "LowerArm"),
    ("{S}UpLegTwist1", "LowerLeg"), ("{S}FootIK", ""), ("{S}Foot", ""), ("{S}Hand", ""), ("IK_{S}Hand", ""),
    ("{S}FootEnd", "Toes"), ("{S}HandEnd", "Hand"), ("{S}Knee", ""), ("{S}Elbow", ""), ("{S}KneePole", ""),
    ("{S}Leg", "LowerLeg"), ("{S}Arm", "LowerArm"),
)  # fmt: skip
TWISTS = (("{S}UpLegTwist", "UpperLeg"), ("{S}LegTwist", "LowerLeg"), ("{S}ArmTwist", "UpperArm"),
          ("{S}ForeArmRoll", "LowerArm"), ("{S}ForearmTwist01", "LowerArm"))  # fmt: skip


def _sided(name: str, side: str) -> str:
    return name.format(S=side.capitalize(), s=side, L=side[0].upper(), l=side[0])


def with_leaf(made: Figure, name: str, beside: str) -> None:
    """A leaf on each side that hangs where a joint of the limb hangs (or at the root), and stands near it."""
    for side in SIDES:
        row = made.names.index(made.roles[f"{side}{beside}"]) if f"{side}{beside}" in made.roles else 0
        made.parents.append(made.parents[row] if beside else 0)
        made.names.append(_sided(name, side))
        x, y, z = made.points[row]
        made.points.append((x, y - 0.03, z + 0.02))


def with_twist(made: Figure, name: str, role: str) -> None:
    """A bone in line below a joint of the limb: what hung at the joint hangs at the bone."""
    for side in SIDES:
        if f"{side}{role}" not in made.roles:
            continue
        row = made.names.index(made.roles[f"{side}{role}"])
        below = [child for child, parent in enumerate(made.parents) if parent == row]
        if not below:
            continue
        long = max(below, key=lambda child: math.dist(made.points[child], made.points[row]))
        made.names.append(_sided(name, side))
        made.parents.append(row)
        made.points.append(tuple((0.5 * (np.array(made.points[row]) + made.points[long])).tolist()))
        made.parents[long] = len(made.names) - 1


def ordered(made: Figure) -> tuple[poise.Skeleton, dict[str, str]]:
    """The skeleton with parents first, and the name that each role's joint has in it."""
    rows: list[int] = []
    while len(rows) < len(made.names):
        rows += [row for row, parent in enumerate(made.parents) if row not in rows and (parent < 0 or parent in rows)]
    place = {row: new for new, row in enumerate(rows)}
    skeleton = skeleton_of(
        [made.names[row] for row in rows],
        [place.get(made.parents[row], -1) for row in rows],
        [made.points[row] for row in rows],
    )
    first = {name: made.names.index(name) for name in made.roles.values()}
    return skeleton, {role: skeleton.names[place[first[name]]] for role, name in made.roles.items()}


def helped(convention: str, seed: int) -> tuple[poise.Skeleton, dict[str, str]]:
    """A body of a convention with some leaves and twist bones, by chance."""
    chance, made = random.Random(seed), figure(CONVENTIONS[convention])
    for name, role in chance.sample(TWISTS, chance.randint(0, 2)):
        with_twist(made, name, role)
    for name, beside in chance.sample(LEAVES, chance.randint(1, 4)):
        with_leaf(made, name, beside)
    return ordered(made)


def wrong_roles(found: poise.Roles, truth: dict[str, str]) -> dict[str, tuple[str, str]]:
    """The roles that are given to another joint than the true one; those that were left out are not wrong."""
    return {
        role: (found.joints[role], joint) for role, joint in truth.items() if found.joints.get(role, joint) != joint
    }


def broken_chains(skeleton: poise.Skeleton, found: poise.Roles) -> list[tuple[str, str]]:
    """Pairs of joints of one limb of which the second does not hang below the first."""
    limbs = [[leg.upper, leg.lower, leg.foot, leg.toes] for leg in found.legs]
    limbs += [[found.joints.get(f"{side}{part}") for part in parts] for side in SIDES for parts in _CHAINS]
    known = [[joint for joint in limb if joint] for limb in limbs]
    return [(a, b) for limb in known for a, b in pairwise(limb) if a not in skeleton.ancestors(b)]


def leg_truth(made: Creature, skeleton: poise.Skeleton) -> dict[str, list[str]]:
    return {name: [skeleton.names[row] for row in rows[:3]] for name, rows in made.legs.items()}


def found_legs(found: poise.Roles) -> dict[str, list[str]]:
    return {leg.name: [leg.upper, leg.lower, leg.foot] for leg in found.legs}
