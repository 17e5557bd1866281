"""Robots without meshes are capsules that are joined, also where a link has several children."""

from __future__ import annotations

import pytest

import poise
from poise.viewer.document.document import build_document

pytestmark = pytest.mark.long

#: A trunk with two legs to its sides, and an arm on top: no meshes.
ROBOT = """
<robot name="r"><link name="trunk"/>{links}
{joints}</robot>
"""

JOINT = (
    '<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{name}_link"/><origin xyz="{xyz}"/>'
    '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
)
TREE = (
    ("neck", "trunk", "0 0 0.5"), ("left_hip", "trunk", "0 0.2 -0.1"), ("left_knee", "left_hip_link", "0 0 -0.4"),
    ("right_hip", "trunk", "0 -0.2 -0.1"), ("right_knee", "right_hip_link", "0 0 -0.4"),
    ("left_foot", "left_knee_link", "0 0 -0.4"), ("right_foot", "right_knee_link", "0 0 -0.4"),
)  # fmt: skip

#: From each joint's parent to it: how far its place is from the nearest end of a capsule that is drawn there.
GAPS = """
(() => {
  const {figure, bones} = window.poise.viewports[0].actor;
  const [, rods] = bones.instances;
  const ends = [];
  const m = rods.mesh.instanceMatrix.array;
  for (let k = 0; k < rods.mesh.count; k++) {
    const at = 16 * k;
    const start = [m[at + 12], m[at + 13], m[at + 14]];
    ends.push([start, start.map((value, i) => value + m[at + 4 + i])]);
  }
  const apart = (a, b) => Math.hypot(...a.map((value, i) => value - b[i]));
  return figure.joints.flatMap((joint, row) => {
    if (joint.parent < 0) return [];
    const [from, to] = [figure.readPosition(joint.parent), figure.readPosition(row)];
    return [Math.min(...ends.map(([a, b]) => apart(a, from) + apart(b, to)))];
  });
})()
"""


def test_every_link_reaches_every_child(served, tmp_path):
    links = "".join(f'<link name="{name}_link"/>' for name, *_ in TREE)
    joints = "".join(JOINT.format(name=name, parent=parent, xyz=xyz) for name, parent, xyz in TREE)
    (tmp_path / "robot.urdf").write_text(ROBOT.format(links=links, joints=joints))
    tab = served(build_document(poise.load(tmp_path / "robot.urdf")))
    tab.answered()
    gaps = tab.get(GAPS)
    assert len(gaps) == len(TREE)
    assert max(gaps) < 1e-5
