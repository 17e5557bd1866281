"""Robot motion from npz files of Poise, GMR, MuJoCo and Isaac Lab."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from poise.errors import FileError
from poise.io.motion.archive import arrays_of
from poise.io.motion.table import MotionTable, Told, even_times, in_order
from poise.io.numbers import LARGEST, shown
from poise.maths.arrays import Floats

Found = dict[str, tuple[str, Any]]

# Array names of an npz file by content: the first name is that of Poise, the others are of GMR, Isaac Lab and MuJoCo.
_NAMES = {
    "fps": ("fps", "frame_rate", "frequency"),
    "position": ("root_pos", "base_pos"),
    "rotation": ("root_rot", "root_quat", "base_quat"),
    "values": ("dof_pos", "joint_pos"),
    "joints": ("joint_names", "dof_names"),
    "order": ("root_rot_order",),
    "times": ("times",),
    "qpos": ("qpos",),
    "bodies": ("body_pos_w",),
    "turns": ("body_quat_w",),
}
VALUES = (*_NAMES["values"], *_NAMES["qpos"])  # every motion has one of these


def from_npz(path: Path, data: bytes, given: Told) -> MotionTable:
    """Parse the arrays of an npz file. FileError for those that are missing, of another shape, or not finite."""
    known = arrays_of(path, data, tuple(name for names in _NAMES.values() for name in names))
    names = {what: next((name for name in names if name in known), None) for what, names in _NAMES.items()}
    found = {what: (name, known[name]) for what, name in names.items() if name is not None}
    if "values" not in found and "qpos" in found:
        if given.order == "xyzw":
            raise FileError(path, "qpos has rotations as w x y z; leave quaternion out, or give 'wxyz'", place="qpos")
        values = _numbers(path, *found["qpos"], None)
        return MotionTable(_times(path, found, given, len(values)), None, None, values, given.joints)
    if "values" not in found:
        raise FileError(path, f"has none of {', '.join(VALUES)}, the values of the joints")
    values, joints = _numbers(path, *found["values"], None), given.joints
    if joints is None and "joints" in found:
        joints = _texts(path, *found["joints"])
    position, rotation = _root(path, found, given, joints)
    for what, part in (("position", position), ("rotation", rotation)):
        if part is not None and len(part) != len(values):
            raise FileError(path, f"{len(values)} rows of joint values and {len(part)} of the root's {what}")
    return MotionTable(_times(path, found, given, len(values)), position, rotation, values, joints)


def _root(
    path: Path, found: Found, given: Told, joints: tuple[str, ...] | None
) -> tuple[Floats, Floats] | tuple[None, None]:
    """Read the root's positions (frames, 3) and rotations (frames, 4).

    Rotations are w x y z. Both are None where the file has neither.
    """
    order = given.order
    if order is None and "order" in found:
        order = _order(path, *found["order"])
    if {"position", "rotation"} & found.keys():
        if not {"position", "rotation"} <= found.keys():
            raise FileError(path, "has only one of the root's position and rotation; both are needed")
        rotation = _numbers(path, *found["rotation"], 4)
        return _numbers(path, *found["position"], 3), in_order(path, rotation, order, found["rotation"][0])
    if not {"bodies", "turns"} <= found.keys():
        return None, None
    if joints is None:
        message = "body_pos_w is of Isaac Lab, whose joints have an order of their own; give joints=[...]"
        raise FileError(path, message)
    rotation = _first_body(path, *found["turns"], 4)
    return _first_body(path, *found["bodies"], 3), in_order(path, rotation, order or "wxyz", "body_quat_w")


def _numbers(path: Path, name: str, array: Any, width: int | None) -> Floats:
    """Check for finite numbers (frames, width)."""
    if array.dtype.kind not in "iuf" or array.ndim != 2 or (width is not None and array.shape[1] != width):  # noqa: PLR2004
        wanted = f"numbers (frames, {width or 'joints'})"
        raise FileError(path, f"must be {wanted}, not {array.dtype} {array.shape}", place=name)
    values = array.astype(np.float64)
    wrong = ~(np.abs(values) <= LARGEST)
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise FileError(path, f"{values[row, column]} is not a value", place=f"{name}[{row}, {column}]")
    return values


def _first_body(path: Path, name: str, array: Any, width: int) -> Floats:
    if array.ndim != 3 or array.shape[1] < 1:  # noqa: PLR2004  (frames, bodies, numbers)
        raise FileError(path, f"must be numbers (frames, bodies, {width}), not {array.shape}", place=name)
    return _numbers(path, name, array[:, 0], width)


def _order(path: Path, name: str, array: Any) -> str:
    (text,) = _texts(path, name, array.reshape(-1)[:1]) or ("",)
    if text not in ("xyzw", "wxyz"):
        raise FileError(path, f"{shown(text)} is not an order: xyzw or wxyz", place=name)
    return text


def _texts(path: Path, name: str, array: Any) -> tuple[str, ...]:
    if array.dtype.kind not in "US" or array.ndim != 1:
        raise FileError(path, f"must be a list of names, not {array.dtype} {array.shape}", place=name)
    return tuple(one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in array.tolist())


def _times(path: Path, found: Found, given: Told, frames: int) -> Floats:
    if given.fps is None and "times" in found:
        name, array = found["times"]
        times = _numbers(path, name, array.reshape(-1, 1), 1)[:, 0]
        if len(times) != frames or (np.diff(times) < 0.0).any():
            raise FileError(path, f"must be {frames} times that do not decrease", place=name)
        return times
    fps = given.fps
    if fps is None and "fps" in found:
        name, array = found["fps"]
        if array.size != 1:
            raise FileError(path, f"must be one number, not {array.shape}", place=name)
        fps = float(_numbers(path, name, array.reshape(1, 1), 1)[0, 0])
    return even_times(path, frames, fps)
