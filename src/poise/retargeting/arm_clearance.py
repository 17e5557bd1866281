"""Distances of hands and forearms from trunk and thighs, for the report."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.retargeting.added_joints import extend_poses, list_known_arms
from poise.retargeting.body import Body
from poise.retargeting.body_contact import BODY_COLUMNS, list_parts
from poise.retargeting.robot_clearance import measure_distance

# of the forearm: from here on it counts, since elbows of arms that hang are at the flanks
_FOREARM_START = 0.5


class ArmClearance(NamedTuple):
    """How deep a part of an arm is in the body.

    arm, part  such as "leftHand" and "trunk"
    over       how far it is over the surface [arm lengths]; negative: in it
    source     the same in the source
    frame      in which it is deepest as against the source
    """

    arm: str
    part: str
    over: float
    source: float
    frame: int

    @property
    def deeper(self) -> float:
        """How much deeper it is than in the source [arm lengths]. Negative: it is over the surface."""
        return min(self.source, 0.0) - self.over

    def describe_source(self) -> str:
        """Describe where it is in the source."""
        return f"{abs(self.source):.2f} {'in' if self.source < 0.0 else 'over'} it in the source"

    def __str__(self) -> str:
        where = f"{abs(self.over):.2f} arm lengths {'in' if self.over < 0.0 else 'over'} the {self.part}"
        return f"{self.arm}, {where} at frame {self.frame}, {self.describe_source()}"


def measure_arm_clearance(poses: tuple[Pose, Pose], bodies: tuple[Body, Body]) -> tuple[ArmClearance, ...]:
    """Measure how deep arms are in the body, deepest first. Poses and bodies are of source and target."""
    source, target = (
        _measure_figure(extend_poses(own, body.skeleton), body) for own, body in zip(poses, bodies, strict=True)
    )
    found: list[ArmClearance] = []
    sides = tuple(list_known_arms(*bodies))
    for arm, part in (key for key in source if key[0].startswith(sides)):
        before, after = source[arm, part], target[arm, part]
        frame = int((after - np.minimum(before, 0.0)).argmin())
        found.append(ArmClearance(arm, part, float(after[frame]), float(before[frame]), frame))
    return tuple(sorted(found, key=lambda one: -one.deeper))


def _measure_figure(poses: Pose, body: Body) -> dict[tuple[str, str], Floats]:
    """Measure distances (F,) of arms from the surfaces [arm lengths]."""
    distances: dict[tuple[str, str], Floats] = {}
    for side, parts in list_parts(poses, body).items():
        forearm = parts.elbow + _FOREARM_START * (parts.wrist - parts.elbow)
        starts = {"Hand": parts.wrist[:, None], "LowerArm": forearm[:, None]}
        for (arm, start), (part, columns) in product(starts.items(), BODY_COLUMNS.items()):
            axes = parts.starts[:, columns], parts.starts[:, columns] + parts.ways[:, columns]
            apart = measure_distance(start, parts.wrist[:, None], *axes) - parts.radii[columns]
            distances[f"{side}{arm}", part] = apart.min(axis=1)
    return distances
