"""A custom file format: read into a Rig, solve, write, convert to GLB."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

import poise
from poise.extend import read_bytes, write_atomically

out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
NAME, SUFFIXES = "stick figures", (".stick",)
LAMP = """\
# joint  parent  x y z     kind, its axis, its range in degrees
base     -       0 0 0     fixed
foot     base    0 0.05 0  hinge 0 1 0  -180 180
lower    foot    0 0.02 0  hinge 0 0 1  -70 70
upper    lower   0 0.4 0   hinge 0 0 1  -150 0
head     upper   0 0.4 0   hinge 0 0 1  -120 120
bulb     head    0 0.12 0  fixed
"""


def read(path: Path) -> poise.Rig:
    """Read a .stick file: a line a joint, and perhaps one line of joint values."""
    names: list[str] = []
    rows: list[tuple[Any, ...]] = []
    q = None
    for number, line in enumerate(read_bytes(path).decode().splitlines(), start=1):
        words = line.partition("#")[0].split()
        try:
            if words[:1] == ["pose"]:
                q = np.array(words[1:], dtype=float)
            elif words:
                rows.append(joint_of(words, names))
                names.append(words[0])
        except (ValueError, IndexError) as error:
            raise poise.FileError(path, str(error), place=f"line {number}") from error
    parents, offsets, kinds, axes, limits = zip(*rows, strict=True)
    skeleton = poise.Skeleton.build(
        names, parents, kinds, offsets=offsets, axes=axes, limits=limits, metres_per_unit=1.0, up="y"
    )
    pose = poise.Pose(skeleton, skeleton.rest_q if q is None else q)
    return poise.Rig(skeleton, pose, path=path)


def joint_of(words: list[str], names: list[str]) -> tuple[Any, ...]:
    """Parent row, offset, kind, axis and limit of one line."""
    parent = -1 if words[1] == "-" else names.index(words[1])
    offset = [float(word) for word in words[2:5]]
    if words[5] == "fixed":
        return parent, offset, poise.Kind.FIXED, (0, 0, 0), None
    if words[5] != "hinge":
        raise ValueError(f"a joint is fixed or a hinge, not {words[5]!r}")
    axis = [float(word) for word in words[6:9]]
    low, high = (float(word) for word in words[9:11])
    return parent, offset, poise.Kind.HINGE, axis, poise.Range.degrees(low, high)


def write(thing: Any, path: Path, like: poise.Skeleton | None = None) -> None:
    """Write a pose, with its skeleton or the one it is to be like."""
    if not isinstance(thing, poise.Pose) or thing.shape:
        raise poise.UnsupportedError("a .stick file holds one pose")
    skeleton = like or thing.skeleton
    lines = [line_of(skeleton[name], skeleton) for name in skeleton.names]
    values = " ".join(repr(float(value)) for value in thing.q)
    write_atomically(path, "\n".join([*lines, f"pose {values}", ""]).encode())


def line_of(joint: poise.Joint, skeleton: poise.Skeleton) -> str:
    """The line of one joint."""
    place = " ".join(repr(float(x)) for x in skeleton.A[joint.row, :3])
    if joint.axis is None or not isinstance(joint.limit, poise.Range):
        return f"{joint.name} {joint.parent or '-'} {place} fixed"
    axis = " ".join(map(repr, joint.axis))
    ends = " ".join(f"{np.degrees(end):.12g}" for end in (joint.limit.low, joint.limit.high))
    return f"{joint.name} {joint.parent or '-'} {place} hinge {axis} {ends}"


(out / "lamp.stick").write_text(LAMP, encoding="utf-8")
lamp = read(out / "lamp.stick")
goals = [poise.Position("bulb", [0.3, 0.25, 0.15]), poise.Direction("head", [0, -1, 0], axis=(0, 1, 0))]
result = poise.solve(lamp.rest, goals)
print(result)  # reached: 3.5e-09 mm and 0 rad left, 7 iterations, ... (levenberg_marquardt)
assert result.reached

write(result.pose, out / "posed.stick")
again = read(out / "posed.stick")
assert again.skeleton == lamp.skeleton
np.testing.assert_array_equal(again.pose.q, result.q)

poise.save(result.pose, out / "lamp.glb")
bulb = poise.load(out / "lamp.glb").pose.world["bulb"].positions
print("the bulb in lamp.glb is at", bulb.round(4))  # the bulb in lamp.glb is at [0.3 0.25 0.15]
assert np.abs(bulb - [0.3, 0.25, 0.15]).max() < 1e-4
