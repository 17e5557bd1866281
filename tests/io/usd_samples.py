"""USD files in the text form, written by hand: skeletons and animations; and one in each of the forms."""

from __future__ import annotations

import tempfile
from pathlib import Path

SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")

ONE = "( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), ({}, {}, {}, 1) )"
HEAD = '#usda 1.0\n(\n    metersPerUnit = 0.01\n    upAxis = "Z"\n    timeCodesPerSecond = 24\n)\n'


def skeleton(name, joints, places, *, place=(0, 0, 0), animation="", rest=True, bind=True):
    """The text of a skeleton: joints by path, places relative to their parents."""
    local = ", ".join(ONE.format(*at) for at in places)
    lines = [f'def Skeleton "{name}" (prepend apiSchemas = ["SkelBindingAPI"])', "{"]
    lines.append(f"    uniform token[] joints = {joints}".replace("'", '"'))
    lines += [f"    uniform matrix4d[] restTransforms = [{local}]"] if rest else []
    lines += [f"    uniform matrix4d[] bindTransforms = [{local}]"] if bind else []
    lines += [f"    rel skel:animationSource = <{animation}>"] if animation else []
    lines.append(f"    double3 xformOp:translate = {place}\n    uniform token[] xformOpOrder = ['xformOp:translate']")
    return "\n".join([*lines, "}"]).replace("'", '"') + "\n"


def animation(name, joints, samples):
    """The text of an animation: by time code, a place for each joint; all turned a quarter about z at the last."""
    turns = ["(1, 0, 0, 0)"] * (len(samples) - 1) + ["(0.70710678, 0, 0, 0.70710678)"]

    def channel(kind, what, values):
        pairs = ", ".join(f"{time}: [{', '.join([value] * len(joints))}]" for time, value in values)
        return f"    {kind}[] {what}.timeSamples = {{ {pairs} }}"

    return "\n".join([
        f'def SkelAnimation "{name}"', "{", f"    uniform token[] joints = {joints}".replace("'", '"'),
        channel("float3", "translations", [(time, str(at)) for time, at in samples.items()]),
        channel("quatf", "rotations", zip(samples, turns, strict=True)),
        channel("half3", "scales", [(time, "(1, 1, 1)") for time in samples]), "}\n",
    ])  # fmt: skip


LEG = ["hip", "hip/knee", "hip/knee/foot"]
WAY = [(0, 0, 5), (0, 0, -2), (0, 0, -2)]
FIGURE = (
    HEAD
    + skeleton("Leg", LEG, WAY, place=(1, 2, 3), animation="/Walk")
    + animation("Walk", LEG[1:2], {12: (0, 0, -2), 24: (0, 1, -2), 48: (0, 3, -2)})
)


def leg(suffix):
    """The bytes of a leg that walks, in the form of a suffix."""
    if suffix == ".usda":
        return FIGURE.encode()
    from pxr import Sdf, UsdUtils

    with tempfile.TemporaryDirectory() as folder:
        text, path = Path(folder, "a.usda"), Path(folder, f"b{suffix}")
        text.write_text(FIGURE)
        if suffix == ".usdz":
            assert UsdUtils.CreateNewUsdzPackage(str(text), str(path))
        else:
            Sdf.Layer.FindOrOpen(str(text)).Export(str(path))
        return path.read_bytes()
