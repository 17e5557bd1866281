"""Robot motion of a known robot: `load_motion` and `save_motion`.

Files are npz, csv with and without names, and Poise's own tables.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from poise.errors import FileError, InputError
from poise.io.files import name_clip, read_bytes
from poise.io.motion.from_csv import from_csv, has_names, parsed, plain
from poise.io.motion.from_npz import from_npz
from poise.io.motion.root import MotionRoot, root_of
from poise.io.motion.table import ROOT, MotionTable, Told, even_times
from poise.io.paths import as_path
from poise.io.plain_json import read_json
from poise.io.values.read import poses_of, values_in
from poise.io.values.rows import columns_of
from poise.maths.arguments import names
from poise.maths.arrays import Floats
from poise.maths.options import one_of
from poise.model.clip import Clip, checked_rate
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton

Order = Literal["xyzw", "wxyz"]


def load_motion(
    path: str | PathLike[str],
    rig: Rig | Skeleton,
    *,
    quaternion: Order | None = None,
    fps: float | None = None,
    joints: Sequence[str] | None = None,
) -> Clip:
    """Read the motion of a robot as a clip.

    Parameters
    ----------
    path
        An `.npz` file with `root_pos`, `root_rot`, `dof_pos` and `fps` (GMR), `qpos` (MuJoCo) or `joint_pos`,
        `body_pos_w` and `body_quat_w` (Isaac Lab); a `.csv` file of numbers alone, x y z, a rotation and a column for
        each joint (Unitree); or a clip that `poise.save` wrote as `.csv` or `.json`.
    rig
        The robot. If it has no free root and the motion moves it, the clip is on `skeleton.with_free_root()`.
    quaternion
        The order of the root's rotation, `"xyzw"` or `"wxyz"`, if the file does not give it.
    fps
        Frames per second, if the file does not give them.
    joints
        The names of the columns, if the file does not give them. None: the joints of the rig in its order, which for a
        robot from MJCF is that of qpos.

    Returns
    -------
    Clip
        Named like the file.

    Raises
    ------
    FileError
        Naming the file, the place and the reason; also for unknown or missing joints.
    InputError
        For an invalid order or rate.

    Notes
    -----
    Limits are not applied. An npz file of `poise.save` or `poise.save_motion` is read back bit for bit if the root's
    frame at rest is that of the world, as is usual for robots.
    """
    if not isinstance(rig, Rig | Skeleton):
        raise InputError(f"load_motion() needs the robot, a Rig or a Skeleton, not a {type(rig).__name__}")
    if quaternion is not None:
        one_of("quaternion", quaternion, ("xyzw", "wxyz"))
    columns = None if joints is None else names(joints, "the names of the columns")
    given = Told(quaternion, None if fps is None else checked_rate(fps), columns)
    path = as_path(path)
    return motion_in(path, read_bytes(path), rig.skeleton if isinstance(rig, Rig) else rig, given)


def motion_in(path: Path, data: bytes, skeleton: Skeleton, given: Told | None = None) -> Clip:
    """Read the bytes of a motion file."""
    given, suffix = given or Told(), path.suffix.lower()
    if suffix == ".npz":
        return _clip(path, from_npz(path, data, given), skeleton)
    if suffix == ".csv" and not has_names(data):
        return _clip(path, from_csv(path, data, given), skeleton)
    if suffix in (".csv", ".json"):
        poses = values_in(path, data, skeleton)
        return _checked(path, _times_in(path, data, given, poses), poses)
    hint = "; save its arrays as .npz: a pickle can run any program" if suffix in (".pkl", ".pickle", ".pt") else ""
    raise FileError(path, f"a motion is read from .npz, .csv and .json{hint}")


def _times_in(path: Path, data: bytes, given: Told, poses: Pose) -> Floats:
    """Read the times of a clip saved as a table. The poses have been read already."""
    frames = len(poses) if poses.shape else 1
    if given.fps is None and path.suffix.lower() == ".json":
        times: Any = read_json(path, data.decode("utf-8-sig")).get("times")
        if isinstance(times, list) and all(plain(one) is not None for one in times):
            return np.array(times, dtype=np.float64)
    elif given.fps is None:
        rows = [row for row in csv.reader(io.StringIO(data.decode("utf-8-sig"))) if row]
        if "time" in rows[0]:
            at = rows[0].index("time")
            return parsed(path, [(k, [row[at].strip()]) for k, row in enumerate(rows[1:], 2)]).reshape(-1)
    return even_times(path, frames, given.fps)


# --- the clip -----------------------------------------------------------------------------------------


def _clip(path: Path, found: MotionTable, skeleton: Skeleton) -> Clip:
    """Build the clip of a motion table. It is on the skeleton, or on the skeleton with a free root."""
    root = root_of(skeleton)
    found = _split(found, skeleton, root)
    header: list[str] = []
    values = found.values
    if found.position is not None and found.rotation is not None:
        zero = (found.rotation == 0.0).all(axis=1)
        if zero.any():
            raise FileError(path, "a rotation of the root has zero length", place=f"frame {int(zero.argmax())}")
        numbers = np.concatenate([found.position, found.rotation], axis=1)
        still = bool((numbers == [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]).all())
        if root is None and not still:
            raise FileError(path, f"moves the root, and {skeleton.names[0]!r} of this skeleton cannot move freely")
        if root is not None and not (still and skeleton.kinds[root.row] == Kind.FIXED):
            header = [f"{root.name}.{part}" for part in ("px", "py", "pz", "w", "x", "y", "z")]
            values = np.concatenate([root.in_q(found.position, found.rotation), values], axis=1)
    names = found.joints if found.joints is not None else _usual_names(path, skeleton, root, found.values.shape[1])
    if len(names) != found.values.shape[1]:
        raise FileError(path, f"{len(names)} names of joints and {found.values.shape[1]} columns of values")
    return _checked(path, found.times, poses_of(path, skeleton, [*header, *names], values))


def _split(found: MotionTable, skeleton: Skeleton, root: MotionRoot | None) -> MotionTable:
    """Split the root from MuJoCo's qpos. The robot's own joints leave seven numbers for it."""
    if found.position is not None or root is None:
        return found
    wide = found.values.shape[1]
    named = found.joints is not None and len(found.joints) == wide - ROOT
    joints = {len(columns) for columns in _columns(skeleton, root)}
    if wide not in joints and (wide - ROOT in joints or named):
        rest = found.values
        return found._replace(position=rest[:, :3], rotation=rest[:, 3:ROOT], values=rest[:, ROOT:])
    return found


def _columns(skeleton: Skeleton, root: MotionRoot | None) -> tuple[list[str], list[str]]:
    """List the columns of a skeleton without its root. Return all, and those of joints with numbers of their own."""
    columns = columns_of(skeleton)
    if root is not None:
        of_root = {f"{root.name}.{part}" for part in ("px", "py", "pz", "w", "x", "y", "z")}
        columns = [column for column in columns if column not in of_root]
    coupled = {skeleton.names[i] for i, coupling in enumerate(skeleton.couplings) if coupling}
    return columns, [column for column in columns if column not in coupled]


def _usual_names(path: Path, skeleton: Skeleton, root: MotionRoot | None, wide: int) -> list[str]:
    """Find default column names: the rig's own, if their number fits."""
    everything, own = _columns(skeleton, root)
    for columns in (everything, own):
        if len(columns) == wide:
            return columns
    raise FileError(path, f"has {wide} values a frame and no names; the rig has {len(everything)}: give joints=[...]")


def _checked(path: Path, times: Floats, poses: Pose) -> Clip:
    if poses.shape != times.shape:
        raise FileError(path, f"{len(times)} times and poses of the shape {poses.shape}")
    try:
        return Clip(times, poses, name_clip(path))
    except InputError as error:
        raise FileError(path, str(error)) from error
