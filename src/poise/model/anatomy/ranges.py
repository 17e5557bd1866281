"""Published ranges of human joint motion [degrees], with their sources.

Sources
-------
AAOS        American Academy of Orthopaedic Surgeons, Joint Motion: Method of Measuring and Recording, 1965; the same
            figures stand as reference values in Norkin and White, Measurement of Joint Motion: A Guide to Goniometry.
Floyd       Manual of Structural Kinesiology, appendix 1 (clavicle, horizontal motions of the arm).
Kapandji    The Physiology of the Joints, volumes 1 and 2 (rotation of the shin, elbow hyperextension, foot aside).
Levangie    Levangie and Norkin, Joint Structure and Function (forward rotation of the clavicle).
ours        not measured by goniometers: the play of joints that are hinges in people and balls in rigs.
"""

from __future__ import annotations

from typing import NamedTuple

AAOS, FLOYD, KAPANDJI, LEVANGIE, OURS = "AAOS", "Floyd", "Kapandji", "Levangie", "ours"


class PublishedMotion(NamedTuple):
    """One published motion of a joint: name, range [degrees], source."""

    name: str
    degrees: float
    source: str


class Ranges(NamedTuple):
    """Motion ranges about the three axes of JointAxes. Each pair has the negative motion first.

    bend    about the bend axis: extension and flexion, or their names at the joint
    aside   about the axis aside: inward and outward
    turn    about the bone: outward (lateral rotation, supination, inversion) and inward
    """

    bend: tuple[PublishedMotion, PublishedMotion]
    aside: tuple[PublishedMotion, PublishedMotion]
    turn: tuple[PublishedMotion, PublishedMotion]


def _play(degrees: float = 5.0) -> tuple[PublishedMotion, PublishedMotion]:
    return PublishedMotion("play inward", degrees, OURS), PublishedMotion("play outward", degrees, OURS)


_PALM = (PublishedMotion("supination", 80, AAOS), PublishedMotion("pronation", 80, AAOS))

RANGES = {
    "UpperLeg": Ranges(
        (PublishedMotion("extension", 30, AAOS), PublishedMotion("flexion", 120, AAOS)),
        (PublishedMotion("adduction", 30, AAOS), PublishedMotion("abduction", 45, AAOS)),
        (PublishedMotion("lateral rotation", 45, AAOS), PublishedMotion("medial rotation", 45, AAOS)),
    ),
    "LowerLeg": Ranges(
        (PublishedMotion("hyperextension", 10, AAOS), PublishedMotion("flexion", 135, AAOS)),
        _play(),
        (PublishedMotion("lateral rotation", 40, KAPANDJI), PublishedMotion("medial rotation", 30, KAPANDJI)),
    ),
    "Foot": Ranges(
        (PublishedMotion("plantarflexion", 50, AAOS), PublishedMotion("dorsiflexion", 20, AAOS)),
        (PublishedMotion("adduction", 20, KAPANDJI), PublishedMotion("abduction", 20, KAPANDJI)),
        (PublishedMotion("inversion", 35, AAOS), PublishedMotion("eversion", 15, AAOS)),
    ),
    "Toes": Ranges((PublishedMotion("flexion", 45, AAOS), PublishedMotion("extension", 70, AAOS)), _play(15), _play()),
    "Shoulder": Ranges(
        (PublishedMotion("retraction", 15, FLOYD), PublishedMotion("protraction", 15, FLOYD)),
        (PublishedMotion("depression", 5, FLOYD), PublishedMotion("elevation", 45, FLOYD)),
        (PublishedMotion("backward rotation", 45, FLOYD), PublishedMotion("forward rotation", 10, LEVANGIE)),
    ),
    "UpperArm": Ranges(
        (PublishedMotion("extension", 60, AAOS), PublishedMotion("flexion", 180, AAOS)),
        (PublishedMotion("adduction", 30, KAPANDJI), PublishedMotion("abduction", 180, AAOS)),
        (PublishedMotion("lateral rotation", 90, AAOS), PublishedMotion("medial rotation", 70, AAOS)),
    ),
    "LowerArm": Ranges(
        (PublishedMotion("hyperextension", 10, KAPANDJI), PublishedMotion("flexion", 150, AAOS)), _play(), _PALM
    ),
    "Hand": Ranges(
        (PublishedMotion("extension", 70, AAOS), PublishedMotion("flexion", 80, AAOS)),
        (PublishedMotion("ulnar deviation", 30, AAOS), PublishedMotion("radial deviation", 20, AAOS)),
        _PALM,  # rigs rotate the palm at the forearm or at the hand
    ),
    "spine": Ranges(
        (PublishedMotion("extension", 25, AAOS), PublishedMotion("flexion", 80, AAOS)),
        (PublishedMotion("side bend right", 35, AAOS), PublishedMotion("side bend left", 35, AAOS)),
        (PublishedMotion("turn right", 45, AAOS), PublishedMotion("turn left", 45, AAOS)),
    ),
    "neck": Ranges(
        (PublishedMotion("extension", 45, AAOS), PublishedMotion("flexion", 45, AAOS)),
        (PublishedMotion("side bend right", 45, AAOS), PublishedMotion("side bend left", 45, AAOS)),
        (PublishedMotion("turn right", 60, AAOS), PublishedMotion("turn left", 60, AAOS)),
    ),
}
"""By part of the body, as in JointAxes. Spine and neck are whole ranges, divided among their joints."""

SHARE = 1.5
"""Range of a spine or neck joint, in equal shares of the whole range: people and rigs bend unevenly."""

UNSEEN_PLAY = {"LowerArm": _play(25)}
"""Play of a joint that is straight at rest, in a rig without evidence for its plane of bending."""

ARM_AROUND = (
    (-135.0, PublishedMotion("extension with adduction", 15, KAPANDJI)),
    (-90.0, PublishedMotion("extension", 60, AAOS)),
    (-45.0, PublishedMotion("horizontal abduction, arm level", 90, FLOYD)),
    (0.0, PublishedMotion("abduction", 180, AAOS)),
    (90.0, PublishedMotion("flexion", 180, AAOS)),
    (135.0, PublishedMotion("horizontal adduction, arm level", 90, FLOYD)),
    (180.0, PublishedMotion("adduction", 30, KAPANDJI)),
)
"""Elevation [degrees] of an arm from hanging, by the plane of motion: 0 outward, 90 forward.

Horizontal abduction of 45 and adduction of 135 degrees bound the planes of a level arm. Between planes the elevation is
interpolated linearly.
"""
