"""Test data made by rules: targets of ten bones, a five-axis arm, a humanoid with a free base."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Reader = Callable[[str], bytes]

BONES, TARGETS, SEED = 10, 1000, 43
_MAX_BEND_RAD = math.radians(60)
_DIGITS = 9  # fewer than those in which libraries of mathematics differ


def make_chain_targets(_: Reader) -> bytes:
    """Make five sets of targets for ten bones of length one.

    ball: evenly spread directions, distances to 0.95 of the reach with the density of a volume. fk: tips of random
    poses, each joint bent by up to 60 degrees. edge: 0.99 to 1 of the reach. axis: on the line of the straight chain.
    path: a closed curve in space, followed once.
    """
    generator = np.random.default_rng(SEED)
    ball = _draw_directions(generator) * (0.95 * BONES * np.cbrt(generator.random(TARGETS)))[:, None]
    edge = _draw_directions(generator) * (BONES * (0.99 + 0.01 * generator.random(TARGETS)))[:, None]
    axis = np.zeros((TARGETS, 3))
    axis[:, 1] = 0.5 + 9.0 * generator.random(TARGETS)
    t = 2 * math.pi * np.arange(TARGETS) / TARGETS
    path = np.stack([6 * np.cos(t), 2 + 3 * np.sin(2 * t), 6 * np.sin(t)], axis=-1)
    sets = {"ball": ball, "fk": _draw_tips(generator), "edge": edge, "axis": axis, "path": path}
    document = {"n_bones": BONES, "bone_length": 1.0}
    document |= {name: np.round(points, _DIGITS).tolist() for name, points in sets.items()}
    return (json.dumps(document) + "\n").encode()


def _draw_directions(generator: np.random.Generator) -> Floats:
    """Draw unit vectors (TARGETS, 3), evenly spread over the sphere."""
    y, angle = 2 * generator.random(TARGETS) - 1, 2 * math.pi * generator.random(TARGETS)
    radius = np.sqrt(1 - y * y)
    return np.stack([radius * np.cos(angle), y, radius * np.sin(angle)], axis=-1)


def _draw_tips(generator: np.random.Generator) -> Floats:
    """Compute tips (TARGETS, 3) of chains along +Y with random bends."""
    tips = np.zeros((TARGETS, 3))
    world = np.broadcast_to(np.eye(3), (TARGETS, 3, 3))
    for _ in range(BONES):
        axis, angle = _draw_directions(generator), _MAX_BEND_RAD * (2 * generator.random(TARGETS) - 1)
        x, y, z = axis.T
        zero = np.zeros(TARGETS)
        skew = np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]).transpose(2, 0, 1)
        sine, cosine = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
        world = world @ (np.eye(3) + sine * skew + (1 - cosine) * (skew @ skew))  # Rodrigues' formula
        tips = tips + world[:, :, 1]
    return tips


_FIVE_AXES = (  # height of the joint above the one before [m], axis, end of the range [rad]
    (0.1, "0 0 1", 2.6), (0.1, "0 1 0", 1.7), (0.25, "0 1 0", 2.2), (0.25, "0 1 0", 1.9), (0.1, "0 0 1", 3.0),
)  # fmt: skip


def make_five_axis_arm(_: Reader) -> bytes:
    """Make a URDF of an arm with five hinges."""
    robot = ET.Element("robot", name="five_axis")
    links = ["base", "l1", "l2", "l3", "l4", "tool"]
    for link in links:
        ET.SubElement(robot, "link", name=link)
    for i, (height, axis, end) in enumerate(_FIVE_AXES):
        joint = ET.SubElement(robot, "joint", name=f"j{i + 1}", type="revolute")
        ET.SubElement(joint, "parent", link=links[i])
        ET.SubElement(joint, "child", link=links[i + 1])
        ET.SubElement(joint, "origin", xyz=f"0 0 {height}", rpy="0 0 0")
        ET.SubElement(joint, "axis", xyz=axis)
        ET.SubElement(joint, "limit", lower=f"{-end}", upper=f"{end}", effort="10", velocity="3")
    return _format(robot)


def make_floating_h1(read: Reader) -> bytes:
    """Make the humanoid H1 hang by a floating joint in a world link."""
    robot = ET.fromstring(read("robots/h1.urdf"))  # noqa: S314  (its sha256 is known)
    child = {joint.find("child").get("link") for joint in robot.findall("joint")}  # type: ignore[union-attr]
    root = next(link.get("name", "") for link in robot.findall("link") if link.get("name") not in child)
    joint = ET.Element("joint", name="floating_base", type="floating")
    ET.SubElement(joint, "parent", link="world")
    ET.SubElement(joint, "child", link=root)
    robot.insert(0, ET.Element("link", name="world"))
    robot.insert(1, joint)
    return _format(robot)


def _format(robot: ET.Element) -> bytes:
    ET.indent(robot)
    return ET.tostring(robot, encoding="utf-8", xml_declaration=True) + b"\n"


MAKERS: dict[str, Callable[[Reader], bytes]] = {
    "chain10/targets.json": make_chain_targets,
    "field/five_axis.urdf": make_five_axis_arm,
    "robots/h1_floating.urdf": make_floating_h1,
}
