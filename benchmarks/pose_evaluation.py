"""How benchmarks/whole_body_poses.py judges poses: from places and rotations of joints in the world, and nothing else.

Segment masses and centres are those of men by de Leva (Adjustments to Zatsiorsky-Seluyanov's segment inertia
parameters, Journal of Biomechanics 29, 1996), each along the line between two joints.
"""

from __future__ import annotations

import numpy as np
from character_rigs import SIDES, Body, Floats, unit

import poise
from poise.maths import rotations

# first joint, last joint, share of the body's mass, share of the way from the first to the last
SEGMENTS = (
    ("UpperArm", "LowerArm", 0.0271, 0.5772), ("LowerArm", "Hand", 0.0162, 0.4574), ("Hand", "Hand", 0.0061, 0.0),
    ("UpperLeg", "LowerLeg", 0.1416, 0.4095), ("LowerLeg", "Foot", 0.0433, 0.4395),
)  # fmt: skip
TRUNK, TRUNK_AT = 0.4346, 0.5514  # from midway between the hips to midway between the shoulders
HEAD, FOOT = 0.0694, 0.0137
# Of the shin: from the ankle to the tip of the toes, and to the heel; half the breadth of a foot; the foot's centre.
TOES_AT, HEEL_AT, HALF_FOOT, FOOT_AT = 0.46, 0.17, 0.11, 0.13
BULGES = (
    0.02  # of the limb: what stands off the line from its root to its tip by less than at rest and this is straight
)


class Posed:
    """One pose of a body, or many, to be judged."""

    def __init__(self, body: Body, pose: poise.Pose) -> None:
        self.body, self.world, self.rest = body, pose.world, body.rest.world

    def at(self, role: str) -> Floats:
        """The place of a joint."""
        return self.world[self.body.joints[role]].positions

    def middle(self, part: str) -> Floats:
        """Midway between a pair of joints."""
        return (self.at("left" + part) + self.at("right" + part)) / 2

    def turned(self, role: str) -> Floats:
        """The rotation of a joint in the world since rest."""
        name = self.body.joints[role]
        return rotations.multiply(self.world[name].rotations, rotations.inverse(self.rest[name].rotations))

    def trunk(self) -> Floats:
        """The direction of the torso: from midway between the hips to midway between the shoulders."""
        return unit(self.middle("UpperArm") - self.middle("UpperLeg"))

    def lean(self) -> Floats:
        """How far the torso is from upright [degrees]."""
        return degrees(self.trunk(), self.body.up)

    def side_lean(self) -> Floats:
        """How far the torso leans to a side of where the body looked at rest [degrees]."""
        return np.degrees(np.arcsin(np.clip(np.abs(self.trunk() @ self.body.left), 0.0, 1.0)))

    def foot_ahead(self, side: str) -> Floats:
        """The direction of a foot, level."""
        at = self.body.at(side + "Toes") - self.body.at(side + "Foot") if side + "Toes" in self.body.joints else None
        ahead = self.body.forward if at is None else level(self.body, at)
        return level(self.body, rotations.rotate(self.turned(side + "Foot"), ahead))

    def knees_astray(self) -> Floats:
        """The most by which a bent knee looks to another side than its foot, seen from above [degrees].

        A knee looks along the line in which the plane of its leg cuts the ground, to the side to which it is bent.
        """
        worst = np.zeros(np.shape(self.lean()))
        for side in SIDES:
            hip, knee, foot = (self.at(side + part) for part in ("UpperLeg", "LowerLeg", "Foot"))
            out, axis = off_line(hip, knee, foot), np.cross(knee - hip, foot - knee)
            ahead = level(self.body, np.cross(axis, self.body.up))
            ahead = ahead * np.sign((ahead * out).sum(axis=-1))[..., None]
            built = off_line(*(self.body.at(side + part) for part in ("UpperLeg", "LowerLeg", "Foot")))
            is_bent = np.linalg.norm(out, axis=-1) > BULGES * self.body.leg + np.linalg.norm(built)
            astray = degrees(ahead, self.foot_ahead(side))
            worst = np.maximum(worst, np.where(is_bent, astray, 0.0))
        return worst

    def centre_of_mass(self) -> Floats:
        """Roughly: by segments of people."""
        shoulders, hips = self.middle("UpperArm"), self.middle("UpperLeg")
        found = TRUNK * (hips + TRUNK_AT * (shoulders - hips)) + HEAD * self._head()
        for side in SIDES:
            for first, last, mass, share in SEGMENTS:
                a, b = self.at(side + first), self.at(side + last)
                found = found + mass * (a + share * (b - a))
            found = found + FOOT * (self.at(side + "Foot") + FOOT_AT * self._shin() * self.foot_ahead(side))
        return found / (TRUNK + HEAD + 2 * (FOOT + sum(mass for _, _, mass, _ in SEGMENTS)))

    def off_support(self) -> Floats:
        """How far the centre of mass is from being above the box around both feet, as a share of a foot's length."""
        body, shin = self.body, self._shin()
        axes = np.stack([body.forward, body.left])
        corners = [
            self.at(side + "Foot") + shin * (along * self.foot_ahead(side) + HALF_FOOT * sign * body.left)
            for side in SIDES for along in (TOES_AT, -HEEL_AT) for sign in (1, -1)
        ]  # fmt: skip
        observed, centre = np.array(corners) @ axes.T, self.centre_of_mass() @ axes.T
        outside = np.maximum(np.maximum(observed.min(axis=0) - centre, centre - observed.max(axis=0)), 0.0)
        return np.linalg.norm(outside, axis=-1) / ((TOES_AT + HEEL_AT) * shin)

    def _shin(self) -> float:
        return float(np.linalg.norm(self.body.at("leftLowerLeg") - self.body.at("leftFoot")))

    def _head(self) -> Floats:
        """The centre of the head; without one, a neck's length above the shoulders."""
        if "head" not in self.body.joints:
            return self.middle("UpperArm") + 0.25 * self.body.leg * self.trunk()
        return self.at("head") + 0.06 * self.body.leg * rotations.rotate(self.turned("head"), self.body.up)


def level(body: Body, v: Floats) -> Floats:
    """The part of v that is level, with length 1."""
    return unit(v - (v @ body.up)[..., None] * body.up)


def off_line(first: Floats, middle: Floats, tip: Floats) -> Floats:
    """How a middle joint stands off the line from the first to the tip."""
    along = unit(tip - first)
    way = middle - first
    return way - (way * along).sum(axis=-1, keepdims=True) * along


def degrees(a: Floats, b: Floats) -> Floats:
    """The angle between directions; exact for small ones, too."""
    a, b = unit(a), np.broadcast_to(unit(b), np.shape(a))
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), (a * b).sum(axis=-1)))


def circle(first: Floats, targets: Floats, upper: float, lower: float, count: int) -> Floats:
    """Where the middle joint of a limb can be (count, k, 3) while its tip is at the targets (k, 3): all swivels."""
    way: Floats = targets - first
    size = np.linalg.norm(way, axis=-1, keepdims=True)
    along: Floats = way / size
    ahead: Floats = (upper * upper - lower * lower + size * size) / (2 * size)
    radius = np.sqrt(np.maximum(upper * upper - ahead * ahead, 0.0))
    least = np.eye(3)[np.argmin(np.abs(along), axis=-1)]
    across = unit(np.cross(along, least))
    around = np.cross(along, across)
    angles = np.linspace(0.0, 2 * np.pi, count, endpoint=False)[:, None, None]
    return first + ahead * along + radius * (np.cos(angles) * across + np.sin(angles) * around)


def turns_and_twists(start: poise.Pose, pose: poise.Pose, chain: list[str]) -> tuple[Floats, Floats]:
    """By how much (k, n) each joint of a chain was turned, and of that about its own bone [degrees]."""
    s, before, after = start.skeleton, start.world, pose.world
    turns: list[Floats] = []
    twists: list[Floats] = []
    for i, name in enumerate(chain):
        own = _since(before, after, name)
        parent = int(s.parents[s.index(name)])
        if parent >= 0:
            own = rotations.multiply(rotations.inverse(_since(before, after, s.names[parent])), own)
        turns.append(2 * np.arctan2(np.linalg.norm(own[..., 1:], axis=-1), np.abs(own[..., 0])))
        if i + 1 < len(chain):
            bone = unit(before[chain[i + 1]].positions - before[name].positions)
            along = (own[..., 1:] * bone).sum(axis=-1)
            twists.append(np.abs(2 * np.arctan2(along, own[..., 0])))
    twist = np.stack(twists, axis=-1)
    return np.degrees(np.stack(turns, axis=-1)), np.degrees(np.minimum(twist, 2 * np.pi - twist))


def _since(before: poise.Transforms, after: poise.Transforms, name: str) -> Floats:
    return rotations.multiply(after[name].rotations, rotations.inverse(before[name].rotations))


def straight_turns(start: poise.Pose, chain: list[str], targets: Floats) -> Floats:
    """By how much (k, n) the smallest rotations turn each joint that bring a chain into a line [degrees].

    From the first joint on, each turns its bone, as those before it have left it, towards the target.
    """
    points = np.array([start.world[name].positions for name in chain])
    bones = unit(np.diff(points, axis=0))
    line = unit(targets - points[0])
    turn = np.tile([1.0, 0.0, 0.0, 0.0], (len(targets), 1))
    found = np.zeros((len(targets), len(chain)))
    for i, bone in enumerate(bones):
        now = rotations.rotate(turn, bone)
        found[:, i] = degrees(now, line) if bone.any() else 0.0
        axis = unit(np.cross(now, line))
        half = np.radians(found[:, i : i + 1]) / 2
        own = np.concatenate([np.cos(half), np.sin(half) * axis], axis=1)
        turn = rotations.multiply(own, turn)
    return found
