"""Axes of arms and legs.

Each comes from the bone above, the body's forward direction and the bend of the limb at rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats
from poise.maths.rotations import about, rotate
from poise.maths.vectors import units
from poise.model.anatomy.bones import limb_bone
from poise.model.anatomy.joint_axes import JointAxes, JointName, joint_axes, signed_angle, square
from poise.model.anatomy.stance import Stance
from poise.model.skeleton import Skeleton

# weight of the expected bend direction: that of a bend of 3 degrees at rest
_WEIGHT = float(np.sin(np.radians(3.0)))
# sine: a larger bend at rest shows its plane without doubt
_CLEAR = float(np.sin(np.radians(5.0)))
# cosine: a rest bend within 60 degrees of the expected direction shows the axis
_TOLD = 0.5
# sine of the angle to the vertical: a steeper foot does not show the forward direction
_LEVEL = 0.25
# [rad] a steeper foot does not stand flat; slope of a flat foot
_STEEP, _USUAL = (
    np.radians(60.0),
    np.radians(30.0),
)
# [rad] a bone this steep below the ankle is a heel, not a foot
_SHEER = np.radians(80.0)


class BodySide(NamedTuple):
    """One side of a body, "left" or "right"."""

    skeleton: Skeleton
    joints: Mapping[str, str]
    body: Stance
    side: str

    @property
    def outward(self) -> Floats:
        """Direction (3,) away from the middle of the body."""
        return self.body.left if self.side == "left" else -self.body.left

    def has(self, part: str) -> bool:
        """Return whether this side has a confident joint for a part."""
        return f"{self.side}{part}" in self.joints

    def point(self, part: str) -> Floats:
        """Return the rest position of a joint."""
        return self.body.points[self.skeleton.index(self.joints[f"{self.side}{part}"])]

    def bone(self, part: str, otherwise: Floats) -> Floats:
        """Find the direction of a joint's bone, or return a default."""
        bone = limb_bone(self.skeleton, self.joints, self.body.points, self.side, part)
        return otherwise if bone is None else bone

    def axes(self, part: str, bone: Floats, zero: Floats, flexes: Floats, out: Floats, source: str) -> JointAxes:
        """Build the axes of a joint of this side. See `build_joint_axes`."""
        role = f"{self.side}{part}"
        row = self.skeleton.index(self.joints[role])
        place = JointName(self.skeleton.names[row], row, role, part, 1.0 if self.side == "left" else -1.0)
        return joint_axes(place, self.body, bone, zero, flexes, out, source)


def leg(limb: BodySide) -> list[JointAxes]:
    """Compute the axes of thigh, shin, foot and toes. Unknown parts are left out."""
    body, down = limb.body, -limb.body.up
    thigh = limb.axes("UpperLeg", limb.bone("UpperLeg", down), down, body.forward, limb.outward, "the figure's front")
    if not limb.has("LowerLeg"):
        return [thigh]
    front = body.forward
    if limb.has("Foot"):
        foot = limb.bone("Foot", front)
        level = foot - body.up * float(foot @ body.up)
        front = front + units(level) if float(np.linalg.norm(level)) > _LEVEL else front
    shin = limb.bone("LowerLeg", thigh.bone)
    flexes, source, clear = _bend(thigh.bone, shin, -front, "the figure's front and the foot")
    knee = limb.axes("LowerLeg", shin, thigh.bone, flexes, limb.outward, source)._replace(clear=clear)
    turned = signed_angle(-thigh.bend, square(knee.bend, thigh.bone), thigh.bone)
    found = [thigh._replace(rotation=thigh.side * turned), knee]
    if limb.has("Foot"):
        found.append(_foot(limb, shin))
        if limb.has("Toes"):
            bone = limb.bone("Toes", square(found[-1].bone, body.up))
            found.append(limb.axes("Toes", bone, bone, body.up, limb.outward, "the way up"))
    return found


def _bend(upper: Floats, lower: Floats, expected: Floats, why: str) -> tuple[Floats, str, bool]:
    """Find the bend direction of the lower bone. Also return its source, and whether the rest bend is clear.

    It is the bend at rest, if that is within 60 degrees of the expected one, plus the expected one weighted like a bend
    of 3 degrees: the bones of a straight limb are slightly askew in every rig.
    """
    seen = lower - upper * float(lower @ upper)
    expected = square(expected, upper)
    size = float(np.linalg.norm(seen))
    if float(seen @ expected) <= _TOLD * size:
        return expected, why, False
    return square(seen + _WEIGHT * expected, upper), f"the bend at rest and {why}", size > _CLEAR


def _foot(limb: BodySide, shin: Floats) -> JointAxes:
    """Compute the axes of a foot.

    Its zero is a sole perpendicular to the shin; at rest it counts as flat if it slopes little.
    """
    up = limb.body.up
    bone = limb.bone("Foot", limb.body.forward)
    if float(-(bone @ up)) > np.sin(_SHEER):
        bone = limb.body.forward
    level = square(bone, up)
    axis = np.cross(level, up)
    slope = float(np.arctan2(-(bone @ up), bone @ level))
    drop = slope - _USUAL if slope > _STEEP else 0.0  # the foot points down at rest
    lean = signed_angle(-up, square(shin, axis), axis)  # the shin tilted forward bends the ankle
    zero = rotate(about(axis, drop + lean), bone)
    return limb.axes("Foot", bone, zero, up, limb.outward, "the foot, flat on the ground at rest")


def arm(limb: BodySide) -> list[JointAxes]:
    """Compute the axes of clavicle, upper arm, forearm and hand. Unknown parts are left out."""
    body, down = limb.body, -limb.body.up
    found: list[JointAxes] = []
    if limb.has("Shoulder"):
        bone = limb.bone("Shoulder", limb.outward)
        found.append(limb.axes("Shoulder", bone, bone, body.forward, body.up, "the figure's front"))
    upper = limb.axes("UpperArm", limb.bone("UpperArm", down), down, body.forward, limb.outward, "the figure's front")
    if not limb.has("LowerArm"):
        return [*found, upper]
    lower = limb.bone("LowerArm", upper.bone)
    ahead, out = np.cross(upper.bend, upper.bone), np.cross(upper.aside, upper.bone)
    flexes, source, clear = _bend(upper.bone, lower, ahead, "the figure's front, carried along with the arm")
    elbow = limb.axes("LowerArm", lower, upper.bone, flexes, out, source)._replace(clear=clear)
    turned = signed_angle(upper.bend, square(elbow.bend, upper.bone), upper.bone)
    found += [upper._replace(rotation=upper.side * turned), elbow]
    return [*found[:-1], *_forearm_and_hand(limb, elbow)] if limb.has("Hand") else found


def _forearm_and_hand(limb: BodySide, elbow: JointAxes) -> list[JointAxes]:
    """Compute the hand's axes and the forearm's rotation. The thumb side shows that rotation."""
    thumb = np.cross(elbow.bend, elbow.bone)  # in the zero pose the thumb points in the elbow's flexion direction
    bone, source = limb.bone("Hand", elbow.bone), "the bend of the elbow, palms to the thighs"
    if limb.has("IndexProximal") and limb.has("LittleProximal"):
        across = square(limb.point("IndexProximal") - limb.point("LittleProximal"), bone)
        turned = signed_angle(thumb, square(across, elbow.bone), elbow.bone)
        elbow = elbow._replace(rotation=elbow.side * turned)
        thumb, source = across, "the knuckles"
    palm = elbow.side * np.cross(bone, square(thumb, bone))
    return [elbow, limb.axes("Hand", bone, bone, palm, thumb, source)]
