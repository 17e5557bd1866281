"""The bundled six-axis arm as URDF: 0.9 m from shoulder to tool, three wrist axes that meet in a point.

In the zero pose the upper arm stands upright, the forearm points forwards (+X) and the tool down.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class _Link(NamedTuple):
    """A link with its shapes: (geometry, xyz, rpy) each."""

    name: str
    shapes: list[tuple[str, str, str]]


class _Joint(NamedTuple):
    name: str
    parent: str
    child: str
    xyz: str
    rpy: str
    axis: str
    degrees: tuple[float, float]
    speed: float


_HALF = "1.5707963267948966"
_DOWN = f"0 {_HALF} 0"  # turns the frame's x axis from forwards to down


def _cylinder(radius: float, length: float) -> str:
    return f'<cylinder radius="{radius}" length="{length}"/>'


def _box(x: float, y: float, z: float) -> str:
    return f'<box size="{x} {y} {z}"/>'


_SIDE, _FORWARD = f"{_HALF} 0 0", f"0 {_HALF} 0"
_LINKS = [
    _Link("base", [(_cylinder(0.09, 0.06), "0 0 0.03", "0 0 0"), (_cylinder(0.07, 0.14), "0 0 0.13", "0 0 0")]),
    _Link("turret", [(_cylinder(0.065, 0.16), "0 0 0.1", _SIDE)]),
    _Link("upper_arm", [(_box(0.09, 0.08, 0.36), "0 0 0.2", "0 0 0"), (_cylinder(0.055, 0.13), "0 0 0.4", _SIDE)]),
    _Link("forearm", [(_box(0.2, 0.07, 0.07), "0.13 0 0", "0 0 0")]),
    _Link("forearm_tube", [(_cylinder(0.03, 0.13), "0.075 0 0", _FORWARD), (_cylinder(0.04, 0.08), "0.14 0 0", _SIDE)]),
    _Link("wrist", [(_box(0.06, 0.05, 0.05), "0.04 0 0", "0 0 0")]),
    _Link("flange", [(_cylinder(0.035, 0.02), "0.01 0 0", _FORWARD)]),
    _Link("tool", []),
]
_JOINTS = [
    _Joint("base_turn", "base", "turret", "0 0 0.2", "0 0 0", "0 0 1", (-170, 170), 2.6),
    _Joint("shoulder", "turret", "upper_arm", "0 0 0.1", "0 0 0", "0 1 0", (-95, 130), 2.6),
    _Joint("elbow", "upper_arm", "forearm", "0 0 0.4", "0 0 0", "0 1 0", (-100, 150), 2.6),
    _Joint("forearm_roll", "forearm", "forearm_tube", "0.24 0 0", "0 0 0", "1 0 0", (-180, 180), 3.5),
    _Joint("wrist_bend", "forearm_tube", "wrist", "0.14 0 0", _DOWN, "0 1 0", (-200, 35), 3.5),
    _Joint("tool_roll", "wrist", "flange", "0.08 0 0", "0 0 0", "1 0 0", (-350, 350), 4.5),
]
_COLOURS = {"dark": "0.2 0.24 0.29 1", "light": "0.86 0.87 0.88 1", "accent": "0.9 0.45 0.13 1"}


def urdf() -> bytes:
    """Make the arm."""
    lines = ['<?xml version="1.0"?>', "<!-- Made by scripts/make_samples.py of Poise. -->", '<robot name="arm">']
    lines += [f'  <material name="{name}"><color rgba="{rgba}"/></material>' for name, rgba in _COLOURS.items()]
    for i, link in enumerate(_LINKS):
        lines += _link_lines(link, list(_COLOURS)[(0, 2, 1, 1, 2, 1, 0, 0)[i]])
    for joint in _JOINTS:
        lines += _joint_lines(joint)
    lines += [
        '  <joint name="flange_tool" type="fixed">',
        '    <parent link="flange"/>',
        '    <child link="tool"/>',
        '    <origin xyz="0.04 0 0" rpy="0 0 0"/>',
        "  </joint>",
        "</robot>",
    ]
    return ("\n".join(lines) + "\n").encode()


def _link_lines(link: _Link, colour: str) -> list[str]:
    if not link.shapes:
        return [f'  <link name="{link.name}"/>']
    lines = [f'  <link name="{link.name}">']
    for geometry, xyz, rpy in link.shapes:
        lines += [
            "    <visual>",
            f'      <origin xyz="{xyz}" rpy="{rpy}"/>',
            f"      <geometry>{geometry}</geometry>",
            f'      <material name="{colour}"/>',
            "    </visual>",
        ]
    return [*lines, "  </link>"]


def _joint_lines(joint: _Joint) -> list[str]:
    low, high = (f"{math.radians(angle):.6f}" for angle in joint.degrees)
    return [
        f'  <joint name="{joint.name}" type="revolute">',
        f'    <parent link="{joint.parent}"/>',
        f'    <child link="{joint.child}"/>',
        f'    <origin xyz="{joint.xyz}" rpy="{joint.rpy}"/>',
        f'    <axis xyz="{joint.axis}"/>',
        f'    <limit lower="{low}" upper="{high}" effort="60" velocity="{joint.speed}"/>',
        "  </joint>",
    ]
