"""Robot motion writer: npz and csv."""

from __future__ import annotations

import io
import json
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from poise.errors import InputError, UnsupportedError, listed
from poise.io.files import write_checked
from poise.io.motion.read import motion_in
from poise.io.motion.root import root_of
from poise.io.paths import as_path
from poise.io.values.rows import columns_of, joint_numbers, refuse_extras
from poise.maths.arrays import Floats
from poise.maths.options import one_of
from poise.model.clip import Clip
from poise.model.rig import Rig, Saveable

Order = Literal["xyzw", "wxyz"]
ORDERS = ("xyzw", "wxyz")
_NO_MOTION = "a motion file holds an animation, and there is none here; a .json or .csv file holds a pose"
_EVEN = 1e-3  # maximum relative deviation of steps from the frame time
_ROUND = 1e-9  # relative tolerance for rounding a rate: 29.999999999999996 frames per second become 30


class WrittenMotion(NamedTuple):
    """Clip as arrays. Rotations are w x y z; `values` has a column for each of `joints`."""

    times: Floats
    fps: float
    position: Floats
    rotation: Floats
    joints: tuple[str, ...]
    values: Floats


def save_motion(clip: Clip, path: str | PathLike[str], *, quaternion: Order = "xyzw") -> None:
    """Write a clip for robot learning: .npz, or .csv without a header.

    Parameters
    ----------
    clip
        The motion, its frames evenly spaced.
    path
        The file, written under a temporary name first.
    quaternion
        The order of the root's rotation: `"xyzw"` for GMR, ROS, and the csv files of Unitree and LAFAN, `"wxyz"` for
        MuJoCo and Isaac Lab.

    Raises
    ------
    UnsupportedError
        For unevenly spaced frames, and for translations or scales of single joints.
    InputError
        For anything but a clip, another suffix or another order.

    Notes
    -----
    An npz file has `fps`, `root_pos` (frames, 3) in the world, `root_rot` (frames, 4), `root_rot_order`, `dof_pos`
    (frames, joints) and `joint_names`; also `times` if they differ from the frame numbers over fps. A csv file has the
    same metadata in a remark in its first line, then x y z, the rotation and the joints of a frame in each row. A robot
    without a free joint has its root at the base.
    """
    if not isinstance(clip, Clip):
        raise InputError(f"save_motion() writes a Clip, such as Clip.at_rate(poses, fps), not a {type(clip).__name__}")
    one_of("quaternion", quaternion, ORDERS)
    path = as_path(path)
    suffix = path.suffix.lower()
    if suffix not in (".npz", ".csv"):
        raise InputError(f"a motion file ends in .npz or .csv, not in {suffix or 'nothing'!r}")
    motion = _motion_of(clip)
    data = (_npz if suffix == ".npz" else _csv)(motion, quaternion)
    write_checked(path, data, lambda path, data: motion_in(path, data, clip.skeleton))


def write_motion(thing: Saveable, path: Path) -> None:
    """Write a clip, or a rig with one clip, for `poise.save`."""
    if isinstance(thing, Rig):
        if not thing.clips:
            raise UnsupportedError(f"{path}: {_NO_MOTION}")
        if len(thing.clips) != 1:
            names = listed(repr(clip.name) for clip in thing.clips)
            message = f"{path}: a motion file holds one clip, rig.clip(NAME); clips: {names}"
            raise UnsupportedError(message)
        thing = thing.clips[0]
    if not isinstance(thing, Clip):
        raise UnsupportedError(f"{path}: {_NO_MOTION}")
    save_motion(thing, path)


def _motion_of(clip: Clip) -> WrittenMotion:
    root = root_of(clip.skeleton)
    poses = clip.poses if root is None else clip.poses.on(root.skeleton)
    refuse_extras(poses)
    skeleton, times = poses.skeleton, clip.times
    columns, numbers = columns_of(skeleton), joint_numbers(skeleton, poses.q)
    if root is None:
        position, rotation = np.zeros((len(times), 3)), np.tile([1.0, 0.0, 0.0, 0.0], (len(times), 1))
    else:
        at = int(skeleton.q_start[root.row])
        position, rotation = root.in_world(poses.q[:, at : at + 7])
        first = columns.index(f"{root.name}.px")
        columns = columns[:first] + columns[first + 7 :]
        numbers = np.delete(numbers, range(first, first + 7), axis=1)
    return WrittenMotion(times, _rate(times), position, rotation, tuple(columns), numbers)


def _rate(times: Floats) -> float:
    """Find the frames per second. UnsupportedError where frames are not evenly spaced."""
    steps = np.diff(times)
    step = float(steps.mean()) if len(steps) else 0.0
    if not step > 0.0 or (np.abs(steps - step) > _EVEN * step).any():
        message = "a motion file has two frames or more, evenly spaced; save clip.resampled(30), for example"
        raise UnsupportedError(message)
    rate = 1.0 / step
    near = round(rate, 3)
    return near if abs(near - rate) <= _ROUND * rate else rate


def _turned(motion: WrittenMotion, order: str) -> Floats:
    return motion.rotation if order == "wxyz" else motion.rotation[:, [1, 2, 3, 0]]


def _npz(motion: WrittenMotion, order: str) -> bytes:
    arrays: dict[str, object] = {
        "fps": np.float64(motion.fps),
        "root_pos": motion.position,
        "root_rot": _turned(motion, order),
        "root_rot_order": order,
        "dof_pos": motion.values,
        "joint_names": np.array(motion.joints, dtype=str),
    }
    if not np.array_equal(motion.times, np.arange(len(motion.times)) / motion.fps):
        arrays["times"] = motion.times
    file = io.BytesIO()
    np.savez(file, **arrays)  # pyright: ignore[reportArgumentType]
    return file.getvalue()


def _csv(motion: WrittenMotion, order: str) -> bytes:
    head = {"fps": motion.fps, "start": float(motion.times[0]), "quaternion": order, "joints": motion.joints}
    rows = np.concatenate([motion.position, _turned(motion, order), motion.values], axis=1)
    lines = [",".join(map(repr, row)) for row in rows.tolist()]
    return "\n".join([f"# {json.dumps(head, ensure_ascii=False)}", *lines, ""]).encode()
