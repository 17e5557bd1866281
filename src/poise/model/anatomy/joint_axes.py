"""Anatomical axes of joints, transported from the zero pose to rest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats
from poise.maths.rotations import about, rotate, rotation_between
from poise.maths.vectors import units
from poise.model.anatomy.stance import Stance

_OPPOSITE = -0.999  # cosine: from one direction to its opposite there is no shortest way; the limb is lifted sideways


class JointAxes(NamedTuple):
    """Anatomical axes of one joint.

    Vectors are unit vectors (3,), in the world at rest unless `express_in` changed the frame.

    joint, row  its name and its row in the skeleton
    role        its role, "" for a joint of the trunk that has none: a spine has more joints than roles
    part        what it is for: the role without its side ("UpperLeg"), "spine" from the hips to the arms, "neck" from
                there on, the head included
    bone        along the bone at rest: to the next joint of the limb
    zero        where the bone points in the anatomical zero pose, all joints above as they rest
    bend        flexion is a positive (right-handed) turn about it: thigh and upper arm go forward, shin backward, the
                hand to the shoulder, toes up (dorsiflexion; toes are extended), trunk and head forward, the palm to the
                forearm, a collar bone forward. Square to the bone
    aside       a positive turn about it takes the bone outward, away from the middle (trunk and head: to the left;
                hand: to the thumb's side; collar bone: up). Square to the bone and to `bend`
    forward, up, outward
                of the whole body at rest; outward is to the left for the trunk and what is on the left
    flexion     [rad] how far the joint is bent about `bend` at rest, from zero
    abduction   [rad] how far it is turned about `aside` at rest
    rotation    [rad] how far the bone is turned about itself at rest, positive medially (forearm: pronation; foot:
                eversion); 0 where the rig does not show it
    side        1.0 on the left and in the middle, -1.0 on the right: a turn by `side * x` about `bone` is medial
                (pronation, eversion; of the trunk to the left) for a positive x
    source      what showed the bend axis
    clear       whether the rig leaves no doubt about it; False for elbows and knees that are straight at rest

    All describe the joint as it rests: `bend` and `aside` are those of the zero pose, carried along with the bone by
    the shortest turn. When the joint bends, the end of its bone moves towards `cross(bend, bone)`.
    """

    joint: str
    row: int
    role: str
    part: str
    bone: Floats
    zero: Floats
    bend: Floats
    aside: Floats
    forward: Floats
    up: Floats
    outward: Floats
    flexion: float
    abduction: float
    rotation: float
    side: float
    source: str
    clear: bool = True

    def seen_from(self, frame: Floats) -> JointAxes:
        """Express the axes in a frame with rest rotation `frame` (3, 3)."""
        return self._replace(**{name: getattr(self, name) @ frame for name in _VECTORS})

    def bent_towards(self, flexes: Floats, source: str) -> JointAxes:
        """Replace the plane of bending. The end of the bone then moves towards `flexed` (3,) when the joint bends."""
        turned = signed_angle(np.cross(self.bend, self.bone), square(flexes, self.bone), self.bone)
        turn = about(self.bone, turned)
        return self._replace(bend=rotate(turn, self.bend), aside=rotate(turn, self.aside), source=source, clear=True)


_VECTORS = ("bone", "zero", "bend", "aside", "forward", "up", "outward")


class JointName(NamedTuple):
    """Identity of a joint for its axes. The fields are those of JointAxes."""

    joint: str
    row: int
    role: str
    part: str
    side: float


def joint_axes(
    place: JointName, body: Stance, bone: Floats, zero: Floats, flexes: Floats, out: Floats, source: str
) -> JointAxes:
    """Build joint axes from directions (3,).

    They are the bone at rest, the bone in the zero pose, and the directions of motion from there.

    flexes, out  where the end of the bone goes, in the zero pose, when the joint is bent and when it is turned aside
    """
    bend = units(np.cross(zero, flexes))
    aside = np.cross(zero, bend)
    aside *= 1.0 if float(aside @ np.cross(zero, out)) >= 0.0 else -1.0
    flexion, abduction = swing_of(zero, bone, bend, aside)
    return JointAxes(
        joint=place.joint,
        row=place.row,
        role=place.role,
        part=place.part,
        bone=bone,
        zero=zero,
        bend=carried(bend, zero, bone, aside),
        aside=carried(aside, zero, bone, aside),
        forward=body.forward,
        up=body.up,
        outward=place.side * body.left,
        flexion=flexion,
        abduction=abduction,
        rotation=0.0,
        side=place.side,
        source=source,
    )


def square(vector: Floats, to: Floats) -> Floats:
    """Project a vector (3,) perpendicular to a unit vector and normalize it.

    The result is zero for parallel vectors.
    """
    return units(vector - to * float(vector @ to))


def carried(vector: Floats, start: Floats, end: Floats, aside: Floats) -> Floats:
    """Parallel-transport a vector (3,) from one direction to another.

    For opposite directions the rotation is about `aside`.
    """
    if float(start @ end) < _OPPOSITE:
        return rotate(about(aside, np.pi), vector)
    return rotate(rotation_between(start, end), vector)


def signed_angle(start: Floats, end: Floats, axis: Floats) -> float:
    """Compute the signed angle [rad] from one direction to another.

    It lies in -pi to pi, about an axis perpendicular to the first direction.
    """
    return float(np.arctan2(np.cross(start, end) @ axis, start @ end))


def swing_of(zero: Floats, bone: Floats, bend: Floats, aside: Floats) -> tuple[float, float]:
    """Compute the swing from `zero` to `bone` [rad].

    It is the rotation vector of the shortest rotation, along the bend axis and the axis aside.
    """
    across = np.cross(zero, bone)
    sine = float(np.linalg.norm(across))
    angle = float(np.arctan2(sine, zero @ bone))
    if sine == 0.0:
        return 0.0, angle
    turn = across * (angle / sine)
    return float(turn @ bend), float(turn @ aside)
