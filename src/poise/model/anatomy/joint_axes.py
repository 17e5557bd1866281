"""Anatomical axes of joints, transported from the zero pose to rest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats
from poise.maths.rotations import about, rotate, rotation_between
from poise.maths.vectors import units
from poise.model.anatomy.stance import Stance

# cosine: beyond it two directions count as opposite and the limb is lifted sideways
_OPPOSITE = -0.999


class JointAxes(NamedTuple):
    """Anatomical axes of one joint.

    Vectors are unit vectors (3,), in the world at rest unless `express_in` changed the frame.

    joint, row  name and row in the skeleton
    role        role, "" for a trunk joint without one: a spine has more joints than roles
    part        part of the body: the role without its side ("UpperLeg"), "spine" from the hips to the arms, "neck" from
                there on, the head included
    bone        along the bone at rest, to the next joint of the limb
    zero        bone direction in the anatomical zero pose, all joints above at rest
    bend        flexion axis, right-handed. Positive flexion: thigh and upper arm go forward, shin backward, the
                hand to the shoulder, toes up (dorsiflexion; toes are extended), trunk and head forward, the palm to the
                forearm, a clavicle forward. Perpendicular to the bone
    aside       abduction axis: a positive rotation moves the bone outward (trunk and head: to the left; hand: to the
                thumb's side; clavicle: up). Perpendicular to the bone and to `bend`
    forward, up, outward
                of the whole body at rest; outward is to the left for the trunk and the left side
    flexion     [rad] angle about `bend` at rest, from zero
    abduction   [rad] angle about `aside` at rest
    rotation    [rad] rotation of the bone about itself at rest, positive medially (forearm: pronation; foot:
                eversion); 0 where the rig does not show it
    side        1.0 on the left and in the middle, -1.0 on the right: a rotation by `side * x` about `bone` is medial
                (pronation, eversion; of the trunk to the left) for a positive x
    source      evidence for the bend axis
    clear       whether the evidence is clear; False for elbows and knees that are straight at rest

    All describe the joint at rest: `bend` and `aside` are those of the zero pose, transported with the bone by the
    shortest rotation. When the joint bends, the end of its bone moves towards `cross(bend, bone)`.
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
        """Express the axes in a frame (3, 3). `frame` is its rotation in the world at rest."""
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

    flexed, abducted  motion of the bone's end in the zero pose under flexion and under abduction
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
    """Project a vector (3,) perpendicular to another. `to` is a unit vector; the result has unit length.

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
