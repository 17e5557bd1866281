"""Robot motion of a known robot: `load_motion` and `save_motion`.

Files are npz, csv with and without names, and Poise's own tables.
"""

from __future__ import annotations

import csv
import io
import json
import math
import zipfile
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from poise.calls.argument_checks import check_choice, check_names
from poise.errors import FileError, InputError, UnsupportedError, join_names
from poise.io.files import as_path, name_clip, read_bytes, write_checked
from poise.io.joint_value_columns import check_no_local_offsets, compute_joint_numbers, list_columns
from poise.io.joint_value_reader import build_poses, parse_values
from poise.io.text_parsing import MAX_NUMBER, is_number, is_rate, parse_json, parse_table, quote_excerpt
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.clip import Clip, check_rate
from poise.model.joints import Kind
from poise.model.pose import Pose
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Skeleton

# --- Motion tables: npz and csv files as arrays ----------------------------------------------------------------------
#
# The caller gives hints for missing data. Every file gives times, root, and joint values.


ROOT_COLUMNS = 7  # columns of a root: x y z and a rotation


class CallerHints(NamedTuple):
    """Hints of the caller for data missing in a file."""

    quaternion_order: str | None = None
    fps: float | None = None
    joints: tuple[str, ...] | None = None


class MotionTable(NamedTuple):
    """Content of a motion file.

    Rotations are w x y z or None; `values` has a column per joint, named in `joints` if known.
    """

    times: Floats
    position: Floats | None
    rotation: Floats | None
    values: Floats
    joints: tuple[str, ...] | None


def build_frame_times(path: Path, frame_count: int, fps: float | None, start_time: float = 0.0) -> Floats:
    """Build frame times at a constant rate. FileError where neither file nor caller gives the rate."""
    if fps is None:
        raise FileError(path, "does not give its frames per second; give fps=30, for example")
    try:
        rate = check_rate(fps)
    except InputError as error:
        raise FileError(path, str(error), place="fps") from error
    if not is_rate(rate):
        raise FileError(path, f"{rate:g} frames per second is no plausible rate", place="fps")
    times = np.arange(frame_count) / rate
    return start_time + times if start_time else times


def convert_to_wxyz(path: Path, rotation: Floats, quaternion_order: str | None, name: str) -> Floats:
    """Convert rotations to w x y z. FileError where their order is unknown."""
    if quaternion_order is None:
        raise FileError(
            path,
            f"does not say the order of {name}; give quaternion='xyzw' (GMR, Unitree) or 'wxyz' (MuJoCo, Isaac Lab)",
        )
    return rotation if quaternion_order == "wxyz" else rotation[:, [3, 0, 1, 2]]


# --- Robot motion from csv files of numbers --------------------------------------------------------------------------
#
# A row has x y z, a rotation, and a column for each joint.


def has_header(data: bytes) -> bool:
    """Return whether the first line is a header of names. `poise.save` writes one."""
    first_line = data[:100_000].split(b"\n", 1)[0].decode("utf-8-sig", "replace").strip()
    return not first_line.startswith("#") and not is_number(first_line.split(",", 1)[0].strip())


class _NumberedRow(NamedTuple):
    """Words of a row, and its line number."""

    line_number: int
    words: list[str]


def parse_csv_motion(path: Path, data: bytes, hints: CallerHints) -> MotionTable:
    """Parse the rows of a csv file. FileError names a wrong row, and data missing from both file and caller."""
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise FileError(path, f"is not UTF-8 text: {error.reason}") from error
    metadata = _parse_metadata(lines[0]) if lines[0].startswith("#") else {}
    rows = [
        _NumberedRow(line_number, line.split(","))
        for line_number, line in enumerate(lines, 1)
        if line.strip() and not line.startswith("#")
    ]
    column_count = len(rows[0].words) if rows else 0
    uneven_line = next((line_number for line_number, row in rows if len(row) != column_count), None)
    if column_count < ROOT_COLUMNS or uneven_line is not None:
        message = (
            f"every row needs x y z, a rotation and a value for each joint, as many as the first: {column_count} "
            "numbers"
        )
        raise FileError(path, message, place=f"row {uneven_line or 1}")
    values = parse_rows(path, rows)
    fps, start = (metadata.get(key) for key in ("fps", "start"))
    times = build_frame_times(path, len(values), hints.fps or parse_json_number(fps), parse_json_number(start) or 0.0)
    quaternion_order = hints.quaternion_order or (
        metadata.get("quaternion") if metadata.get("quaternion") in ("xyzw", "wxyz") else None
    )
    rotation = convert_to_wxyz(path, values[:, 3:ROOT_COLUMNS], quaternion_order, "the root's rotation")
    names: Any = metadata.get("joints")
    joints = tuple(names) if isinstance(names, list) and all(isinstance(name, str) for name in names) else None
    return MotionTable(times, values[:, :3], rotation, values[:, ROOT_COLUMNS:], hints.joints or joints)


def parse_rows(path: Path, rows: list[_NumberedRow]) -> Floats:
    """Parse words into numbers (rows, columns). FileError names the line of an invalid word."""
    try:
        return parse_table([row for _, row in rows])
    except ValueError:
        for line_number, row in rows:  # find the invalid row
            try:
                parse_table([row])
            except ValueError as error:
                raise FileError(path, str(error), place=f"row {line_number}") from error
        raise


def _parse_metadata(line: str) -> dict[str, Any]:
    """Parse the first line of a file from `poise.save_motion`. Other remarks give an empty dict."""
    try:
        metadata = json.loads(line.lstrip("# "))
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {}


def parse_json_number(value: Any) -> float | None:
    """Return a JSON number as a float. None for anything else."""
    return float(value) if type(value) in (int, float) and abs(value) <= MAX_NUMBER else None


# --- Safe reading of npz arrays --------------------------------------------------------------------------------------
#
# Pickles are refused, sizes checked against the file's bytes, and unpacking is bounded.


HEIGHT_NAMES = "heights", "elevation"  # array names of a height map
_MIN_UNPACKED_BYTES, _MAX_COMPRESSION = (
    2**26,
    20,
)  # unpacked size: always allowed [bytes], and maximum multiple of the file's size
_MAX_ARRAYS = 1000
_MAX_REASON_LENGTH = 100  # maximum length of NumPy's message [characters]


def read_arrays(path: Path, data: bytes, names: tuple[str, ...]) -> dict[str, Any]:
    """Read the arrays of the wanted names.

    Missing ones are left out; FileError for a file that is broken or hostile.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = _find_entries(path, archive, len(data), names)
            return {name: _read_array(path, name, archive.read(entry)) for name, entry in entries.items()}
    except FileError:
        raise
    except Exception as error:  # zipfile, zlib and NumPy raise many types
        raise _build_read_error(path, error) from error


def list_array_names(path: Path) -> list[str]:
    """List the names of all arrays without reading them. FileError for a file that is not npz."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except Exception as error:  # zipfile raises many types
        raise _build_read_error(path, error) from error


def _build_read_error(path: Path, error: Exception) -> FileError:
    text = " ".join(f"{error}".split()) or type(error).__name__
    return FileError(path, f"is not an npz file that can be read: {text[:_MAX_REASON_LENGTH]}")


def _find_entries(
    path: Path, archive: zipfile.ZipFile, file_bytes: int, names: tuple[str, ...]
) -> dict[str, zipfile.ZipInfo]:
    """Find the entries of the wanted arrays, before unpacking."""
    entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
    if len(entries) < len(archive.infolist()) or len(entries) > _MAX_ARRAYS:
        raise FileError(path, f"two arrays have one name, or there are more than {_MAX_ARRAYS}")
    wanted_entries = {name: entries[name] for name in names if name in entries}
    if not wanted_entries:
        raise FileError(path, f"holds no motion; its arrays: {join_names(entries)}")
    unpacked_bytes = sum(entry.file_size for entry in wanted_entries.values())
    if unpacked_bytes > max(_MIN_UNPACKED_BYTES, _MAX_COMPRESSION * file_bytes):
        raise FileError(
            path, f"would unpack to {unpacked_bytes:,} bytes, far more than a motion in {file_bytes:,} bytes"
        )
    return wanted_entries


def _read_array(path: Path, name: str, data: bytes) -> Any:
    """Read one array. Its head is compared with its size in bytes first."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    read_head = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_head(file)
    if dtype.hasobject:
        raise FileError(path, "holds Python objects, which are not read", place=name)
    if math.prod(shape) * dtype.itemsize != len(data) - file.tell():
        raise FileError(path, f"says that its shape is {shape}, and its bytes are others", place=name)
    file.seek(0)
    return np.load(file, allow_pickle=False)


# --- Robot motion from npz files of Poise, GMR, MuJoCo and Isaac Lab -------------------------------------------------


NpzArrays = dict[str, tuple[str, Any]]

# Array names of an npz file by content: the first name is that of Poise, the others are of GMR, Isaac Lab and MuJoCo.
_ARRAY_NAMES: dict[str, tuple[str, ...]] = {
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
VALUE_NAMES: tuple[str, ...] = (*_ARRAY_NAMES["values"], *_ARRAY_NAMES["qpos"])  # every motion has one of these


def parse_npz_motion(path: Path, data: bytes, hints: CallerHints) -> MotionTable:
    """Parse the arrays of an npz file. FileError for those that are missing, of another shape, or not finite."""
    array_by_name = read_arrays(
        path, data, tuple(name for name_by_content in _ARRAY_NAMES.values() for name in name_by_content)
    )
    name_by_content = {
        label: next((name for name in name_by_content if name in array_by_name), None)
        for label, name_by_content in _ARRAY_NAMES.items()
    }
    arrays = {label: (name, array_by_name[name]) for label, name in name_by_content.items() if name is not None}
    if "values" not in arrays and "qpos" in arrays:
        if hints.quaternion_order == "xyzw":
            raise FileError(path, "qpos has rotations as w x y z; leave quaternion out, or give 'wxyz'", place="qpos")
        values = _check_numbers(path, *arrays["qpos"], None)
        return MotionTable(_read_times(path, arrays, hints, len(values)), None, None, values, hints.joints)
    if "values" not in arrays:
        raise FileError(path, f"has none of {', '.join(VALUE_NAMES)}, the values of the joints")
    values, joints = _check_numbers(path, *arrays["values"], None), hints.joints
    if joints is None and "joints" in arrays:
        joints = _check_texts(path, *arrays["joints"])
    position, rotation = _read_root(path, arrays, hints, joints)
    for label, root_values in (("position", position), ("rotation", rotation)):
        if root_values is not None and len(root_values) != len(values):
            raise FileError(path, f"{len(values)} rows of joint values and {len(root_values)} of the root's {label}")
    return MotionTable(_read_times(path, arrays, hints, len(values)), position, rotation, values, joints)


def _read_root(
    path: Path, arrays: NpzArrays, hints: CallerHints, joints: tuple[str, ...] | None
) -> tuple[Floats, Floats] | tuple[None, None]:
    """Read the root's positions (frames, 3) and rotations (frames, 4).

    Rotations are w x y z. Both are None where the file has neither.
    """
    quaternion_order = hints.quaternion_order
    if quaternion_order is None and "order" in arrays:
        quaternion_order = _read_order(path, *arrays["order"])
    if {"position", "rotation"} & arrays.keys():
        if not {"position", "rotation"} <= arrays.keys():
            raise FileError(path, "has only one of the root's position and rotation; both are needed")
        rotation = _check_numbers(path, *arrays["rotation"], 4)
        return _check_numbers(path, *arrays["position"], 3), convert_to_wxyz(
            path, rotation, quaternion_order, arrays["rotation"][0]
        )
    if not {"bodies", "turns"} <= arrays.keys():
        return None, None
    if joints is None:
        message = "body_pos_w is of Isaac Lab, whose joints have an order of their own; give joints=[...]"
        raise FileError(path, message)
    rotation = _select_first_body(path, *arrays["turns"], 4)
    return _select_first_body(path, *arrays["bodies"], 3), convert_to_wxyz(
        path, rotation, quaternion_order or "wxyz", "body_quat_w"
    )


def _check_numbers(path: Path, name: str, array: Any, column_count: int | None) -> Floats:
    """Check for finite numbers (frames, column_count)."""
    if (
        array.dtype.kind not in "iuf"
        or array.ndim != 2  # noqa: PLR2004
        or (column_count is not None and array.shape[1] != column_count)
    ):
        expected = f"numbers (frames, {column_count or 'joints'})"
        raise FileError(path, f"must be {expected}, not {array.dtype} {array.shape}", place=name)
    values = array.astype(np.float64)
    is_invalid = ~(np.abs(values) <= MAX_NUMBER)
    if is_invalid.any():
        row, column = np.argwhere(is_invalid)[0].tolist()
        raise FileError(path, f"{values[row, column]} is not a value", place=f"{name}[{row}, {column}]")
    return values


def _select_first_body(path: Path, name: str, array: Any, column_count: int) -> Floats:
    if array.ndim != 3 or array.shape[1] < 1:  # noqa: PLR2004  (frames, bodies, numbers)
        raise FileError(path, f"must be numbers (frames, bodies, {column_count}), not {array.shape}", place=name)
    return _check_numbers(path, name, array[:, 0], column_count)


def _read_order(path: Path, name: str, array: Any) -> str:
    (text,) = _check_texts(path, name, array.reshape(-1)[:1]) or ("",)
    if text not in ("xyzw", "wxyz"):
        raise FileError(path, f"{quote_excerpt(text)} is not an order: xyzw or wxyz", place=name)
    return text


def _check_texts(path: Path, name: str, array: Any) -> tuple[str, ...]:
    if array.dtype.kind not in "US" or array.ndim != 1:
        raise FileError(path, f"must be a list of names, not {array.dtype} {array.shape}", place=name)
    return tuple(text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in array.tolist())


def _read_times(path: Path, arrays: NpzArrays, hints: CallerHints, frame_count: int) -> Floats:
    if hints.fps is None and "times" in arrays:
        name, array = arrays["times"]
        times = _check_numbers(path, name, array.reshape(-1, 1), 1)[:, 0]
        if len(times) != frame_count or (np.diff(times) < 0.0).any():
            raise FileError(path, f"must be {frame_count} times that do not decrease", place=name)
        return times
    fps = hints.fps
    if fps is None and "fps" in arrays:
        name, array = arrays["fps"]
        if array.size != 1:
            raise FileError(path, f"must be one number, not {array.shape}", place=name)
        fps = float(_check_numbers(path, name, array.reshape(1, 1), 1)[0, 0])
    return build_frame_times(path, frame_count, fps)


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
        base_position = rotations.rotate(inverse, position - self.frame[:3])
        return np.concatenate([base_position, rotations.multiply(inverse, rotation)], axis=-1)


def find_motion_root(skeleton: Skeleton) -> MotionRoot | None:
    """Find the root of a skeleton, made free if necessary.

    None where no joint can be free, as where the first is a hinge.

    UnsupportedError for a root below a moving or scaled joint.
    """
    try:
        free_skeleton = skeleton.with_free_root()
    except InputError:
        return None
    row = free_skeleton.freed.row if free_skeleton.freed else int(np.flatnonzero(free_skeleton.kinds == Kind.FREE)[0])
    frame = _IDENTITY_FRAME
    for ancestor in free_skeleton.list_path(row):
        is_fixed = ancestor == row or (
            free_skeleton.kinds[ancestor] == Kind.FIXED and np.array_equal(free_skeleton.B[ancestor], np.eye(3, 4))
        )
        if not is_fixed:
            message = (
                f"a motion file has the root's position in the world, and {free_skeleton.names[row]!r} is below "
                f"{free_skeleton.names[ancestor]!r}, which moves or scales it"
            )
            raise UnsupportedError(message)
        offset, rotation = free_skeleton.A[ancestor, :3], free_skeleton.A[ancestor, 3:]
        frame = np.concatenate(
            [frame[:3] + rotations.rotate(frame[3:], offset), rotations.multiply(frame[3:], rotation)]
        )
    return MotionRoot(free_skeleton, row, frame)


# --- Loading and saving ----------------------------------------------------------------------------------------------


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
        check_choice(quaternion, "quaternion", ("xyzw", "wxyz"))
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
    frame_count = len(poses) if poses.shape else 1
    if hints.fps is None and path.suffix.lower() == ".json":
        times: Any = parse_json(path, data.decode("utf-8-sig")).get("times")
        if isinstance(times, list) and all(parse_json_number(time) is not None for time in times):
            return np.array(times, dtype=np.float64)
    elif hints.fps is None:
        rows = [row for row in csv.reader(io.StringIO(data.decode("utf-8-sig"))) if row]
        if "time" in rows[0]:
            time_column = rows[0].index("time")
            return parse_rows(
                path,
                [_NumberedRow(row_number, [row[time_column].strip()]) for row_number, row in enumerate(rows[1:], 2)],
            ).reshape(-1)
    return build_frame_times(path, frame_count, hints.fps)


# --- the clip -----------------------------------------------------------------------------------------


def _build_clip(path: Path, motion: MotionTable, skeleton: Skeleton) -> Clip:
    """Build the clip of a motion table. It is on the skeleton, or on the skeleton with a free root."""
    root = find_motion_root(skeleton)
    motion = _split_root(motion, skeleton, root)
    header: list[str] = []
    values = motion.values
    if motion.position is not None and motion.rotation is not None:
        is_zero = (motion.rotation == 0.0).all(axis=1)
        if is_zero.any():
            raise FileError(path, "a rotation of the root has zero length", place=f"frame {int(is_zero.argmax())}")
        root_numbers = np.concatenate([motion.position, motion.rotation], axis=1)
        is_static = bool((root_numbers == [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]).all())
        if root is None and not is_static:
            raise FileError(path, f"moves the root, and {skeleton.names[0]!r} of this skeleton cannot move freely")
        if root is not None and not (is_static and skeleton.kinds[root.row] == Kind.FIXED):
            header = [f"{root.name}.{suffix}" for suffix in ("px", "py", "pz", "w", "x", "y", "z")]
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
    column_count = motion.values.shape[1]
    has_names = motion.joints is not None and len(motion.joints) == column_count - ROOT_COLUMNS
    joint_counts = {len(columns) for columns in _list_columns(skeleton, root)}
    if column_count not in joint_counts and (column_count - ROOT_COLUMNS in joint_counts or has_names):
        values = motion.values
        return motion._replace(
            position=values[:, :3], rotation=values[:, 3:ROOT_COLUMNS], values=values[:, ROOT_COLUMNS:]
        )
    return motion


def _list_columns(skeleton: Skeleton, root: MotionRoot | None) -> tuple[list[str], list[str]]:
    """List the columns of a skeleton without its root. Return all, and those of joints with numbers of their own."""
    columns = list_columns(skeleton)
    if root is not None:
        root_columns = {f"{root.name}.{suffix}" for suffix in ("px", "py", "pz", "w", "x", "y", "z")}
        columns = [column for column in columns if column not in root_columns]
    coupled_names = {skeleton.names[i] for i, coupling in enumerate(skeleton.couplings) if coupling}
    return columns, [column for column in columns if column not in coupled_names]


def _find_default_names(path: Path, skeleton: Skeleton, root: MotionRoot | None, column_count: int) -> list[str]:
    """Find default column names: the rig's own, if their number fits."""
    all_columns, uncoupled_columns = _list_columns(skeleton, root)
    for columns in (all_columns, uncoupled_columns):
        if len(columns) == column_count:
            return columns
    raise FileError(
        path, f"has {column_count} values a frame and no names; the rig has {len(all_columns)}: give joints=[...]"
    )


def _build_checked_clip(path: Path, times: Floats, poses: Pose) -> Clip:
    if poses.shape != times.shape:
        raise FileError(path, f"{len(times)} times and poses of the shape {poses.shape}")
    try:
        return Clip(times, poses, name_clip(path))
    except InputError as error:
        raise FileError(path, str(error)) from error


# --- Robot motion writer: npz and csv --------------------------------------------------------------------------------


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


def save_motion(clip: Clip, path: str | PathLike[str], *, quaternion: QuaternionOrder = "xyzw") -> None:
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
    check_choice(quaternion, "quaternion", QUATERNION_ORDERS)
    path = as_path(path)
    suffix = path.suffix.lower()
    if suffix not in (".npz", ".csv"):
        raise InputError(f"a motion file ends in .npz or .csv, not in {suffix or 'nothing'!r}")
    motion = _build_motion(clip)
    data = (_encode_npz if suffix == ".npz" else _encode_csv)(motion, quaternion)
    write_checked(path, data, lambda path, data: read_motion(path, data, clip.skeleton))


def write_motion(content: Saveable, path: Path) -> None:
    """Write a clip, or a rig with one clip, for `poise.save`."""
    if isinstance(content, Rig):
        if not content.clips:
            raise UnsupportedError(f"{path}: {_NO_CLIP_MESSAGE}")
        if len(content.clips) != 1:
            names = join_names(repr(clip.name) for clip in content.clips)
            message = f"{path}: a motion file holds one clip, rig.clip(NAME); clips: {names}"
            raise UnsupportedError(message)
        content = content.clips[0]
    if not isinstance(content, Clip):
        raise UnsupportedError(f"{path}: {_NO_CLIP_MESSAGE}")
    save_motion(content, path)


def _build_motion(clip: Clip) -> MotionArrays:
    root = find_motion_root(clip.skeleton)
    poses = clip.poses if root is None else clip.poses.on(root.skeleton)
    check_no_local_offsets(poses)
    skeleton, times = poses.skeleton, clip.times
    columns, numbers = list_columns(skeleton), compute_joint_numbers(skeleton, poses.q)
    if root is None:
        position, rotation = np.zeros((len(times), 3)), np.tile([1.0, 0.0, 0.0, 0.0], (len(times), 1))
    else:
        q_start = int(skeleton.q_start[root.row])
        position, rotation = root.to_world(poses.q[:, q_start : q_start + 7])
        first_column = columns.index(f"{root.name}.px")
        columns = columns[:first_column] + columns[first_column + 7 :]
        numbers = np.delete(numbers, range(first_column, first_column + 7), axis=1)
    return MotionArrays(times, _find_rate(times), position, rotation, tuple(columns), numbers)


def _find_rate(times: Floats) -> float:
    """Find the frames per second. UnsupportedError where frames are not evenly spaced."""
    steps = np.diff(times)
    mean_step = float(steps.mean()) if len(steps) else 0.0
    if not mean_step > 0.0 or (np.abs(steps - mean_step) > _MAX_STEP_DEVIATION * mean_step).any():
        message = "a motion file has two frames or more, evenly spaced; save clip.resample(30), for example"
        raise UnsupportedError(message)
    rate = 1.0 / mean_step
    rounded_rate = round(rate, 3)
    return rounded_rate if abs(rounded_rate - rate) <= _RATE_ROUNDING * rate else rate


def _reorder_rotations(motion: MotionArrays, quaternion_order: str) -> Floats:
    return motion.rotation if quaternion_order == "wxyz" else motion.rotation[:, [1, 2, 3, 0]]


def _encode_npz(motion: MotionArrays, quaternion_order: str) -> bytes:
    arrays: dict[str, object] = {
        "fps": np.float64(motion.fps),
        "root_pos": motion.position,
        "root_rot": _reorder_rotations(motion, quaternion_order),
        "root_rot_order": quaternion_order,
        "dof_pos": motion.values,
        "joint_names": np.array(motion.joints, dtype=str),
    }
    if not np.array_equal(motion.times, np.arange(len(motion.times)) / motion.fps):
        arrays["times"] = motion.times
    file = io.BytesIO()
    np.savez(file, **arrays)  # pyright: ignore[reportArgumentType]
    return file.getvalue()


def _encode_csv(motion: MotionArrays, quaternion_order: str) -> bytes:
    metadata = {
        "fps": motion.fps,
        "start": float(motion.times[0]),
        "quaternion": quaternion_order,
        "joints": motion.joints,
    }
    rows = np.concatenate([motion.position, _reorder_rotations(motion, quaternion_order), motion.values], axis=1)
    lines = [",".join(map(repr, row)) for row in rows.tolist()]
    return "\n".join([f"# {json.dumps(metadata, ensure_ascii=False)}", *lines, ""]).encode()
