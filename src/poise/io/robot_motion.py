"""Robot motion of a known robot: `load_motion` and `save_motion`.

Files are npz, csv with and without names, and Poise's own tables.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from poise.errors import FileError, InputError, UnsupportedError, join_names
from poise.io.files import as_path, name_clip, read_bytes, write_checked
from poise.io.joint_values import build_poses, check_no_local_offsets, compute_joint_numbers, list_columns, parse_values
from poise.io.motion_tables import (
    ROOT_COLUMNS,
    CallerHints,
    MotionTable,
    build_frame_times,
    has_header,
    parse_csv_motion,
    parse_json_number,
    parse_npz_motion,
    parse_rows,
)
from poise.io.text_parsing import parse_json
from poise.maths import rotations
from poise.maths.arguments import check_names, one_of
from poise.maths.arrays import Floats
from poise.model.clip import Clip, check_rate
from poise.model.joints import Kind
from poise.model.pose import Pose
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Skeleton

# --- Floating base of a skeleton, and its frame in the world ---------------------------------------------------------


_IDENTITY_FRAME = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


class MotionRoot(NamedTuple):
    """Free root of a skeleton: its row and base frame. The frame is x y z w x y z in the world."""

    skeleton: Skeleton
    row: int
    frame: Floats

    @property
    def name(self) -> str:
        """Name of the root joint."""
        return self.skeleton.names[self.row]

    def to_world(self, root_q: Floats) -> tuple[Floats, Floats]:
        """Convert q (..., 7) to world positions and rotations.

        They are (..., 3) and (..., 4). An identity frame keeps all bits.
        """
        if np.array_equal(self.frame, _IDENTITY_FRAME):
            return root_q[..., :3], root_q[..., 3:]
        position, rotation = self.frame[:3], self.frame[3:]
        return position + rotations.rotate(rotation, root_q[..., :3]), rotations.multiply(rotation, root_q[..., 3:])

    def to_q(self, position: Floats, rotation: Floats) -> Floats:
        """Convert world positions and rotations to q. It is the inverse of `to_world`."""
        if np.array_equal(self.frame, _IDENTITY_FRAME):
            return np.concatenate([position, rotation], axis=-1)
        inverse = rotations.inverse(self.frame[3:])
        own_position = rotations.rotate(inverse, position - self.frame[:3])
        return np.concatenate([own_position, rotations.multiply(inverse, rotation)], axis=-1)


def find_motion_root(skeleton: Skeleton) -> MotionRoot | None:
    """Find the root of a skeleton, made free if necessary.

    None where no joint can be free, as where the first is a hinge.

    UnsupportedError for a root below a moving or scaled joint.
    """
    try:
        free = skeleton.with_free_root()
    except InputError:
        return None
    row = free.freed.row if free.freed else int(np.flatnonzero(free.kinds == Kind.FREE)[0])
    frame = _IDENTITY_FRAME
    for ancestor in free.way(row):
        fixed = ancestor == row or (
            free.kinds[ancestor] == Kind.FIXED and np.array_equal(free.B[ancestor], np.eye(3, 4))
        )
        if not fixed:
            message = (
                f"a motion file has the root's position in the world, and {free.names[row]!r} is below "
                f"{free.names[ancestor]!r}, which moves or scales it"
            )
            raise UnsupportedError(message)
        offset, rotation = free.A[ancestor, :3], free.A[ancestor, 3:]
        frame = np.concatenate(
            [frame[:3] + rotations.rotate(frame[3:], offset), rotations.multiply(frame[3:], rotation)]
        )
    return MotionRoot(free, row, frame)


# ---------------------------------------------------------------------------------------------------------------------


QuaternionOrder = Literal["xyzw", "wxyz"]


def load_motion(
    path: str | PathLike[str],
    rig: Rig | Skeleton,
    *,
    quaternion: QuaternionOrder | None = None,
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
    columns = None if joints is None else check_names(joints, "the names of the columns")
    hints = CallerHints(quaternion, None if fps is None else check_rate(fps), columns)
    path = as_path(path)
    return read_motion(path, read_bytes(path), rig.skeleton if isinstance(rig, Rig) else rig, hints)


def read_motion(path: Path, data: bytes, skeleton: Skeleton, hints: CallerHints | None = None) -> Clip:
    """Read the bytes of a motion file."""
    hints, suffix = hints or CallerHints(), path.suffix.lower()
    if suffix == ".npz":
        return _build_clip(path, parse_npz_motion(path, data, hints), skeleton)
    if suffix == ".csv" and not has_header(data):
        return _build_clip(path, parse_csv_motion(path, data, hints), skeleton)
    if suffix in (".csv", ".json"):
        poses = parse_values(path, data, skeleton)
        return _build_checked_clip(path, _read_clip_times(path, data, hints, poses), poses)
    hint = "; save its arrays as .npz: a pickle can run any program" if suffix in (".pkl", ".pickle", ".pt") else ""
    raise FileError(path, f"a motion is read from .npz, .csv and .json{hint}")


def _read_clip_times(path: Path, data: bytes, hints: CallerHints, poses: Pose) -> Floats:
    """Read the times of a clip saved as a table. The poses have been read already."""
    frames = len(poses) if poses.shape else 1
    if hints.fps is None and path.suffix.lower() == ".json":
        times: Any = parse_json(path, data.decode("utf-8-sig")).get("times")
        if isinstance(times, list) and all(parse_json_number(one) is not None for one in times):
            return np.array(times, dtype=np.float64)
    elif hints.fps is None:
        rows = [row for row in csv.reader(io.StringIO(data.decode("utf-8-sig"))) if row]
        if "time" in rows[0]:
            at = rows[0].index("time")
            return parse_rows(path, [(k, [row[at].strip()]) for k, row in enumerate(rows[1:], 2)]).reshape(-1)
    return build_frame_times(path, frames, hints.fps)


# --- the clip -----------------------------------------------------------------------------------------


def _build_clip(path: Path, motion: MotionTable, skeleton: Skeleton) -> Clip:
    """Build the clip of a motion table. It is on the skeleton, or on the skeleton with a free root."""
    root = find_motion_root(skeleton)
    motion = _split_root(motion, skeleton, root)
    header: list[str] = []
    values = motion.values
    if motion.position is not None and motion.rotation is not None:
        zero = (motion.rotation == 0.0).all(axis=1)
        if zero.any():
            raise FileError(path, "a rotation of the root has zero length", place=f"frame {int(zero.argmax())}")
        numbers = np.concatenate([motion.position, motion.rotation], axis=1)
        is_static = bool((numbers == [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]).all())
        if root is None and not is_static:
            raise FileError(path, f"moves the root, and {skeleton.names[0]!r} of this skeleton cannot move freely")
        if root is not None and not (is_static and skeleton.kinds[root.row] == Kind.FIXED):
            header = [f"{root.name}.{part}" for part in ("px", "py", "pz", "w", "x", "y", "z")]
            values = np.concatenate([root.to_q(motion.position, motion.rotation), values], axis=1)
    names = (
        motion.joints
        if motion.joints is not None
        else _find_default_names(path, skeleton, root, motion.values.shape[1])
    )
    if len(names) != motion.values.shape[1]:
        raise FileError(path, f"{len(names)} names of joints and {motion.values.shape[1]} columns of values")
    return _build_checked_clip(path, motion.times, build_poses(path, skeleton, [*header, *names], values))


def _split_root(motion: MotionTable, skeleton: Skeleton, root: MotionRoot | None) -> MotionTable:
    """Split the root from MuJoCo's qpos. The robot's own joints leave seven numbers for it."""
    if motion.position is not None or root is None:
        return motion
    width = motion.values.shape[1]
    has_names = motion.joints is not None and len(motion.joints) == width - ROOT_COLUMNS
    joints = {len(columns) for columns in _list_columns(skeleton, root)}
    if width not in joints and (width - ROOT_COLUMNS in joints or has_names):
        values = motion.values
        return motion._replace(
            position=values[:, :3], rotation=values[:, 3:ROOT_COLUMNS], values=values[:, ROOT_COLUMNS:]
        )
    return motion


def _list_columns(skeleton: Skeleton, root: MotionRoot | None) -> tuple[list[str], list[str]]:
    """List the columns of a skeleton without its root. Return all, and those of joints with numbers of their own."""
    columns = list_columns(skeleton)
    if root is not None:
        of_root = {f"{root.name}.{part}" for part in ("px", "py", "pz", "w", "x", "y", "z")}
        columns = [column for column in columns if column not in of_root]
    coupled = {skeleton.names[i] for i, coupling in enumerate(skeleton.couplings) if coupling}
    return columns, [column for column in columns if column not in coupled]


def _find_default_names(path: Path, skeleton: Skeleton, root: MotionRoot | None, width: int) -> list[str]:
    """Find default column names: the rig's own, if their number fits."""
    all_columns, own = _list_columns(skeleton, root)
    for columns in (all_columns, own):
        if len(columns) == width:
            return columns
    raise FileError(path, f"has {width} values a frame and no names; the rig has {len(all_columns)}: give joints=[...]")


def _build_checked_clip(path: Path, times: Floats, poses: Pose) -> Clip:
    if poses.shape != times.shape:
        raise FileError(path, f"{len(times)} times and poses of the shape {poses.shape}")
    try:
        return Clip(times, poses, name_clip(path))
    except InputError as error:
        raise FileError(path, str(error)) from error


# --- Robot motion writer: npz and csv --------------------------------------------------------------------------------


SavedOrder = Literal["xyzw", "wxyz"]
QUATERNION_ORDERS = ("xyzw", "wxyz")
_NO_CLIP_MESSAGE = "a motion file holds an animation, and there is none here; a .json or .csv file holds a pose"
_MAX_STEP_DEVIATION = 1e-3  # maximum relative deviation of steps from the frame time
_RATE_ROUNDING = 1e-9  # relative tolerance for rounding a rate: 29.999999999999996 frames per second become 30


class MotionArrays(NamedTuple):
    """Clip as arrays. Rotations are w x y z; `values` has a column for each of `joints`."""

    times: Floats
    fps: float
    position: Floats
    rotation: Floats
    joints: tuple[str, ...]
    values: Floats


def save_motion(clip: Clip, path: str | PathLike[str], *, quaternion: SavedOrder = "xyzw") -> None:
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
    one_of("quaternion", quaternion, QUATERNION_ORDERS)
    path = as_path(path)
    suffix = path.suffix.lower()
    if suffix not in (".npz", ".csv"):
        raise InputError(f"a motion file ends in .npz or .csv, not in {suffix or 'nothing'!r}")
    motion = _build_motion(clip)
    data = (_encode_npz if suffix == ".npz" else _encode_csv)(motion, quaternion)
    write_checked(path, data, lambda path, data: read_motion(path, data, clip.skeleton))


def write_motion(thing: Saveable, path: Path) -> None:
    """Write a clip, or a rig with one clip, for `poise.save`."""
    if isinstance(thing, Rig):
        if not thing.clips:
            raise UnsupportedError(f"{path}: {_NO_CLIP_MESSAGE}")
        if len(thing.clips) != 1:
            names = join_names(repr(clip.name) for clip in thing.clips)
            message = f"{path}: a motion file holds one clip, rig.clip(NAME); clips: {names}"
            raise UnsupportedError(message)
        thing = thing.clips[0]
    if not isinstance(thing, Clip):
        raise UnsupportedError(f"{path}: {_NO_CLIP_MESSAGE}")
    save_motion(thing, path)


def _build_motion(clip: Clip) -> MotionArrays:
    root = find_motion_root(clip.skeleton)
    poses = clip.poses if root is None else clip.poses.on(root.skeleton)
    check_no_local_offsets(poses)
    skeleton, times = poses.skeleton, clip.times
    columns, numbers = list_columns(skeleton), compute_joint_numbers(skeleton, poses.q)
    if root is None:
        position, rotation = np.zeros((len(times), 3)), np.tile([1.0, 0.0, 0.0, 0.0], (len(times), 1))
    else:
        start = int(skeleton.q_start[root.row])
        position, rotation = root.to_world(poses.q[:, start : start + 7])
        first = columns.index(f"{root.name}.px")
        columns = columns[:first] + columns[first + 7 :]
        numbers = np.delete(numbers, range(first, first + 7), axis=1)
    return MotionArrays(times, _find_rate(times), position, rotation, tuple(columns), numbers)


def _find_rate(times: Floats) -> float:
    """Find the frames per second. UnsupportedError where frames are not evenly spaced."""
    steps = np.diff(times)
    step = float(steps.mean()) if len(steps) else 0.0
    if not step > 0.0 or (np.abs(steps - step) > _MAX_STEP_DEVIATION * step).any():
        message = "a motion file has two frames or more, evenly spaced; save clip.resampled(30), for example"
        raise UnsupportedError(message)
    rate = 1.0 / step
    rounded = round(rate, 3)
    return rounded if abs(rounded - rate) <= _RATE_ROUNDING * rate else rate


def _reorder_rotations(motion: MotionArrays, order: str) -> Floats:
    return motion.rotation if order == "wxyz" else motion.rotation[:, [1, 2, 3, 0]]


def _encode_npz(motion: MotionArrays, order: str) -> bytes:
    arrays: dict[str, object] = {
        "fps": np.float64(motion.fps),
        "root_pos": motion.position,
        "root_rot": _reorder_rotations(motion, order),
        "root_rot_order": order,
        "dof_pos": motion.values,
        "joint_names": np.array(motion.joints, dtype=str),
    }
    if not np.array_equal(motion.times, np.arange(len(motion.times)) / motion.fps):
        arrays["times"] = motion.times
    file = io.BytesIO()
    np.savez(file, **arrays)  # pyright: ignore[reportArgumentType]
    return file.getvalue()


def _encode_csv(motion: MotionArrays, order: str) -> bytes:
    head = {"fps": motion.fps, "start": float(motion.times[0]), "quaternion": order, "joints": motion.joints}
    rows = np.concatenate([motion.position, _reorder_rotations(motion, order), motion.values], axis=1)
    lines = [",".join(map(repr, row)) for row in rows.tolist()]
    return "\n".join([f"# {json.dumps(head, ensure_ascii=False)}", *lines, ""]).encode()
