"""The figures that benchmarks/whole_body_poses.py poses: every humanoid of the test data, and copies in other guises.

A body's directions are found here from where its joints are at rest, by nothing of the package but forward kinematics:
up along the axis of the file that the trunk stands along, left from the right thigh and shoulder to the left ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import poise
from poise.maths import rotations

Floats = NDArray[np.float64]
FILES = ("glb/*.gl*", "glb/*.vrm", "bvh/*.bvh", "bvh/rest/*.bvh")
ROBOTS = ("robots/h1.urdf", "urdf/g1_29dof.urdf", "urdf/simple_humanoid/urdf/simple_humanoid.urdf")
DISGUISED = ("mixamo_human_makehuman.glb", "knight_kaykit.glb", "cryptovoxels.vrm", "mannequiny_gdquest.glb")
GUISES: dict[str, dict[str, Any]] = {
    "rolled": {}, "z up, 100 times": {"up": "z", "scale": 100.0}, "names of no meaning": {"named": False},
}  # fmt: skip
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])
UPS = {"y": UPRIGHT, "z": rotations.about(np.array([1.0, 0.0, 0.0]), np.pi / 2)}
LIMBS = ("UpperLeg", "LowerLeg", "Foot", "UpperArm", "LowerArm", "Hand")
SIDES = ("left", "right")


class Body(NamedTuple):
    """A figure at rest: who is who by VRM's names, and unit vectors of its directions in the world."""

    name: str
    rest: poise.Pose
    joints: dict[str, str]
    up: Floats
    forward: Floats
    left: Floats
    is_robot: bool

    def at(self, role: str) -> Floats:
        """The place of a joint at rest."""
        return self.rest.world[self.joints[role]].positions

    def middle(self, part: str) -> Floats:
        """Midway between a pair of joints at rest."""
        return (self.at("left" + part) + self.at("right" + part)) / 2

    def outward(self, side: str) -> Floats:
        """Away from the middle of the body."""
        return self.left if side == "left" else -self.left

    def length(self, side: str, parts: tuple[str, str, str]) -> float:
        """The length of a limb of two bones."""
        first, middle, tip = (self.at(side + part) for part in parts)
        return float(np.linalg.norm(middle - first) + np.linalg.norm(tip - middle))

    @property
    def leg(self) -> float:
        """The length of the left leg from hip to ankle."""
        return self.length("left", ("UpperLeg", "LowerLeg", "Foot"))


def bodies(folder: Path) -> Iterator[Body]:
    """Every figure with two arms and two legs, then some in other guises, then robots."""
    guised: list[tuple[str, poise.Rig]] = []
    for path in [path for pattern in FILES for path in sorted(folder.glob(pattern))]:
        rig = loaded(path)
        body = body_of(path.name, rig)
        if body is not None:
            yield body
        if path.name in DISGUISED:
            guised.append((path.name, rig))
    for name, rig in guised:
        for guise, how in GUISES.items():
            body = body_of(f"{name}, {guise}", in_another_guise(rig, **how))
            if body is not None:
                yield body
    for name in ROBOTS:
        body = body_of(Path(name).name, loaded(folder / name))
        if body is not None:
            yield body


def loaded(path: Path) -> poise.Rig:
    """A file, whose warnings are no matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return poise.load(path)


def body_of(name: str, rig: poise.Rig | poise.Skeleton) -> Body | None:
    """The body of a rig; None where an arm or leg is unknown, or its rest pose is none of a figure."""
    joints = dict(poise.find_roles(rig).joints)
    if not {side + part for side in SIDES for part in LIMBS} | {"hips"} <= joints.keys():
        return None
    rest = rig.rest if isinstance(rig, poise.Rig) else poise.Pose(rig, rig.rest_q)
    kinds = {int(kind) for kind in rest.skeleton.kinds[1:]}
    is_robot = not kinds & {int(poise.Kind.BALL), int(poise.Kind.FREE)}
    body = Body(name, rest, joints, np.eye(3)[1], np.eye(3)[2], np.eye(3)[0], is_robot)
    legs, arms = (np.array([body.at(side + part) for side in SIDES]) for part in ("UpperLeg", "UpperArm"))
    trunk = unit(arms.mean(axis=0) - legs.mean(axis=0))
    most = int(np.argmax(np.abs(trunk)))
    up = np.eye(3)[most] * np.sign(trunk[most])
    across = unit(legs[0] - legs[1]) + unit(arms[0] - arms[1])
    across -= up * (across @ up)
    down = unit(np.array([body.at(side + "LowerLeg") for side in SIDES]).mean(axis=0) - legs.mean(axis=0))
    if trunk @ up < np.cos(np.radians(30.0)) or np.linalg.norm(across) < 0.5 or down @ up > 0.0:
        return None
    left = unit(across)
    return body._replace(up=up, left=left, forward=np.cross(left, up))


def unit(v: Floats) -> Floats:
    """v with length 1; what has no length stays."""
    size = np.linalg.norm(v, axis=-1, keepdims=True)
    return v / np.where(size > 0.0, size, 1.0)


def in_another_guise(rig: poise.Rig, *, scale: float = 1.0, up: str = "y", named: bool = True) -> poise.Skeleton:
    """The skeleton of a rig that is y up: every joint rolled at random, another unit, another up, perhaps no names.

    Joints stand where they stood. Without names, roles are given as a sidecar would.
    """
    s, turn = rig.skeleton, UPS[up]
    points = scale * rotations.rotate(turn, rig.rest.world.positions)
    frames = rotations.normalise(np.random.default_rng(3).normal(size=(len(s), 4)))
    own: list[Floats] = []
    offsets: list[Floats] = []
    for row, parent in enumerate(s.parents.tolist()):
        back = rotations.inverse(frames[parent]) if parent >= 0 else UPRIGHT
        own.append(rotations.multiply(back, frames[row]))
        offsets.append(rotations.rotate(back, points[row] - (points[parent] if parent >= 0 else 0.0)))
    kinds = [poise.Kind.FIXED if kind == poise.Kind.FIXED else poise.Kind.BALL for kind in s.kinds]
    names = list(s.names) if named else [f"q{number}" for number in range(len(s))]
    roles = {} if named else {role: names[s.index(joint)] for role, joint in poise.find_roles(rig).joints.items()}
    return poise.Skeleton.build(
        names, s.parents.tolist(), kinds, offsets=np.array(offsets), rotations=np.array(own), up=up, roles=roles
    )
