"""A small figure as ASF and AMC: a hinge, balls with two and three values, a bone that does not move."""

from __future__ import annotations

ASF = """# a comment
:version 1.10
:name small
:units
  mass 1.0
  length 0.45
  angle deg
:documentation
  anything: root lower
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name hip
    direction 1 0 0
    length 1.5
    axis 0 0 0 XYZ
  end
  begin
    id 2
    name thigh
    direction 0 -1 0
    length 4
    axis 10 20 30 XYZ
    dof rx ry rz
    limits (-160.0 20.0)
           (-70.0 70.0)
           (-60.0 70.0)
  end
  begin
    id 3
    name shin
    direction 0 -0.6 0.8
    length 3
    axis 0 0 20 XYZ
    dof rx
    limits (-10.0 170.0)
  end
  begin
    id 4
    name foot
    direction 0 0 1
    length 2
    axis -90 0 20 XYZ
    dof rx rz
    limits (-45.0 90.0) (-70.0 20.0)
  end
:hierarchy
  begin
    root hip
    hip thigh
    thigh shin
    shin foot
  end
"""
VALUES = {
    "root": [(1.0, 2.0, 3.0, 10.0, 20.0, 30.0), (1.5, 2.0, 3.5, -100.0, 80.0, 5.0)],
    "foot": [(10.0, -20.0), (200.0, 15.0)],
    "thigh": [(-30.0, 25.0, 40.0), (12.0, -33.0, 100.0)],
    "shin": [(45.0,), (-300.0,)],
}


def amc(values=None, head=":FULLY-SPECIFIED\n:DEGREES\n", newline="\n"):
    """The text of frames; one of the bones' own order a frame."""
    values = VALUES if values is None else values
    count = len(next(iter(values.values())))
    lines = [head.rstrip("\n")] if head else []
    for frame in range(count):
        lines.append(str(frame + 1))
        lines += [f"{bone} {' '.join(map(repr, rows[frame]))}" for bone, rows in values.items()]
    return newline.join(lines) + newline
