"""Motion tables: npz and csv files as arrays.

The caller gives hints for missing data. Every file gives times, root, and joint values.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from poise.errors import FileError, InputError, join_names
from poise.io.text_parsing import MAX_NUMBER, is_number, is_rate, parse_table, quote_excerpt
from poise.maths.arrays import Floats
from poise.model.clip import check_rate

ROOT_COLUMNS = 7  # columns of a root: x y z and a rotation


class CallerHints(NamedTuple):
    """Hints of the caller for data missing in a file."""

    order: str | None = None
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


def build_frame_times(path: Path, frames: int, fps: float | None, start: float = 0.0) -> Floats:
    """Build frame times at a constant rate. FileError where neither file nor caller gives the rate."""
    if fps is None:
        raise FileError(path, "does not give its frames per second; give fps=30, for example")
    try:
        rate = check_rate(fps)
    except InputError as error:
        raise FileError(path, str(error), place="fps") from error
    if not is_rate(rate):
        raise FileError(path, f"{rate:g} frames per second is no plausible rate", place="fps")
    times = np.arange(frames) / rate
    return start + times if start else times


def convert_to_wxyz(path: Path, rotation: Floats, order: str | None, name: str) -> Floats:
    """Convert rotations to w x y z. FileError where their order is unknown."""
    if order is None:
        raise FileError(
            path,
            f"does not say the order of {name}; give quaternion='xyzw' (GMR, Unitree) or 'wxyz' (MuJoCo, Isaac Lab)",
        )
    return rotation if order == "wxyz" else rotation[:, [3, 0, 1, 2]]


# --- Robot motion from csv files of numbers --------------------------------------------------------------------------
#
# A row has x y z, a rotation, and a column for each joint.


def has_header(data: bytes) -> bool:
    """Return whether the first line is a header of names. `poise.save` writes one."""
    first = data[:100_000].split(b"\n", 1)[0].decode("utf-8-sig", "replace").strip()
    return not first.startswith("#") and not is_number(first.split(",", 1)[0].strip())


def parse_csv_motion(path: Path, data: bytes, hints: CallerHints) -> MotionTable:
    """Parse the rows of a csv file. FileError names a wrong row, and data missing from both file and caller."""
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise FileError(path, f"is not UTF-8 text: {error.reason}") from error
    remark = _parse_remark(lines[0]) if lines[0].startswith("#") else {}
    rows = [(k, line.split(",")) for k, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    width = len(rows[0][1]) if rows else 0
    uneven = next((k for k, row in rows if len(row) != width), None)
    if width < ROOT_COLUMNS or uneven is not None:
        message = f"every row needs x y z, a rotation and a value for each joint, as many as the first: {width} numbers"
        raise FileError(path, message, place=f"row {uneven or 1}")
    values = parse_rows(path, rows)
    fps, start = (remark.get(key) for key in ("fps", "start"))
    times = build_frame_times(path, len(values), hints.fps or parse_json_number(fps), parse_json_number(start) or 0.0)
    order = hints.order or (remark.get("quaternion") if remark.get("quaternion") in ("xyzw", "wxyz") else None)
    rotation = convert_to_wxyz(path, values[:, 3:ROOT_COLUMNS], order, "the root's rotation")
    names: Any = remark.get("joints")
    joints = tuple(names) if isinstance(names, list) and all(isinstance(one, str) for one in names) else None
    return MotionTable(times, values[:, :3], rotation, values[:, ROOT_COLUMNS:], hints.joints or joints)


def parse_rows(path: Path, rows: list[tuple[int, list[str]]]) -> Floats:
    """Parse words into numbers (rows, columns). `rows` have their line numbers, for FileError."""
    try:
        return parse_table([row for _, row in rows])
    except ValueError:
        for k, row in rows:  # find the invalid row
            try:
                parse_table([row])
            except ValueError as error:
                raise FileError(path, str(error), place=f"row {k}") from error
        raise


def _parse_remark(line: str) -> dict[str, Any]:
    """Parse the first line of a file from `poise.save_motion`. Other remarks give an empty dict."""
    try:
        remark = json.loads(line.lstrip("# "))
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", remark) if isinstance(remark, dict) else {}


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
            selected = _find_entries(path, archive, len(data), names)
            return {name: _read_array(path, name, archive.read(entry)) for name, entry in selected.items()}
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
    path: Path, archive: zipfile.ZipFile, size: int, names: tuple[str, ...]
) -> dict[str, zipfile.ZipInfo]:
    """Find the entries of the wanted arrays, before unpacking."""
    entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
    if len(entries) < len(archive.infolist()) or len(entries) > _MAX_ARRAYS:
        raise FileError(path, f"two arrays have one name, or there are more than {_MAX_ARRAYS}")
    selected = {name: entries[name] for name in names if name in entries}
    if not selected:
        raise FileError(path, f"holds no motion; its arrays: {join_names(entries)}")
    unpacked = sum(entry.file_size for entry in selected.values())
    if unpacked > max(_MIN_UNPACKED_BYTES, _MAX_COMPRESSION * size):
        raise FileError(path, f"would unpack to {unpacked:,} bytes, far more than a motion in {size:,} bytes")
    return selected


def _read_array(path: Path, name: str, data: bytes) -> Any:
    """Read one array. Its head is compared with its size in bytes first."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    read_head = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, kind = read_head(file)
    if kind.hasobject:
        raise FileError(path, "holds Python objects, which are not read", place=name)
    if math.prod(shape) * kind.itemsize != len(data) - file.tell():
        raise FileError(path, f"says that its shape is {shape}, and its bytes are others", place=name)
    file.seek(0)
    return np.load(file, allow_pickle=False)


# --- Robot motion from npz files of Poise, GMR, MuJoCo and Isaac Lab -------------------------------------------------


NpzArrays = dict[str, tuple[str, Any]]

# Array names of an npz file by content: the first name is that of Poise, the others are of GMR, Isaac Lab and MuJoCo.
_ARRAY_NAMES = {
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
VALUE_NAMES = (*_ARRAY_NAMES["values"], *_ARRAY_NAMES["qpos"])  # every motion has one of these


def parse_npz_motion(path: Path, data: bytes, hints: CallerHints) -> MotionTable:
    """Parse the arrays of an npz file. FileError for those that are missing, of another shape, or not finite."""
    known = read_arrays(path, data, tuple(name for names in _ARRAY_NAMES.values() for name in names))
    names = {label: next((name for name in names if name in known), None) for label, names in _ARRAY_NAMES.items()}
    arrays = {label: (name, known[name]) for label, name in names.items() if name is not None}
    if "values" not in arrays and "qpos" in arrays:
        if hints.order == "xyzw":
            raise FileError(path, "qpos has rotations as w x y z; leave quaternion out, or give 'wxyz'", place="qpos")
        values = _check_numbers(path, *arrays["qpos"], None)
        return MotionTable(_read_times(path, arrays, hints, len(values)), None, None, values, hints.joints)
    if "values" not in arrays:
        raise FileError(path, f"has none of {', '.join(VALUE_NAMES)}, the values of the joints")
    values, joints = _check_numbers(path, *arrays["values"], None), hints.joints
    if joints is None and "joints" in arrays:
        joints = _check_texts(path, *arrays["joints"])
    position, rotation = _read_root(path, arrays, hints, joints)
    for label, part in (("position", position), ("rotation", rotation)):
        if part is not None and len(part) != len(values):
            raise FileError(path, f"{len(values)} rows of joint values and {len(part)} of the root's {label}")
    return MotionTable(_read_times(path, arrays, hints, len(values)), position, rotation, values, joints)


def _read_root(
    path: Path, arrays: NpzArrays, hints: CallerHints, joints: tuple[str, ...] | None
) -> tuple[Floats, Floats] | tuple[None, None]:
    """Read the root's positions (frames, 3) and rotations (frames, 4).

    Rotations are w x y z. Both are None where the file has neither.
    """
    order = hints.order
    if order is None and "order" in arrays:
        order = _read_order(path, *arrays["order"])
    if {"position", "rotation"} & arrays.keys():
        if not {"position", "rotation"} <= arrays.keys():
            raise FileError(path, "has only one of the root's position and rotation; both are needed")
        rotation = _check_numbers(path, *arrays["rotation"], 4)
        return _check_numbers(path, *arrays["position"], 3), convert_to_wxyz(
            path, rotation, order, arrays["rotation"][0]
        )
    if not {"bodies", "turns"} <= arrays.keys():
        return None, None
    if joints is None:
        message = "body_pos_w is of Isaac Lab, whose joints have an order of their own; give joints=[...]"
        raise FileError(path, message)
    rotation = _select_first_body(path, *arrays["turns"], 4)
    return _select_first_body(path, *arrays["bodies"], 3), convert_to_wxyz(
        path, rotation, order or "wxyz", "body_quat_w"
    )


def _check_numbers(path: Path, name: str, array: Any, width: int | None) -> Floats:
    """Check for finite numbers (frames, width)."""
    if array.dtype.kind not in "iuf" or array.ndim != 2 or (width is not None and array.shape[1] != width):  # noqa: PLR2004
        wanted = f"numbers (frames, {width or 'joints'})"
        raise FileError(path, f"must be {wanted}, not {array.dtype} {array.shape}", place=name)
    values = array.astype(np.float64)
    invalid = ~(np.abs(values) <= MAX_NUMBER)
    if invalid.any():
        row, column = np.argwhere(invalid)[0].tolist()
        raise FileError(path, f"{values[row, column]} is not a value", place=f"{name}[{row}, {column}]")
    return values


def _select_first_body(path: Path, name: str, array: Any, width: int) -> Floats:
    if array.ndim != 3 or array.shape[1] < 1:  # noqa: PLR2004  (frames, bodies, numbers)
        raise FileError(path, f"must be numbers (frames, bodies, {width}), not {array.shape}", place=name)
    return _check_numbers(path, name, array[:, 0], width)


def _read_order(path: Path, name: str, array: Any) -> str:
    (text,) = _check_texts(path, name, array.reshape(-1)[:1]) or ("",)
    if text not in ("xyzw", "wxyz"):
        raise FileError(path, f"{quote_excerpt(text)} is not an order: xyzw or wxyz", place=name)
    return text


def _check_texts(path: Path, name: str, array: Any) -> tuple[str, ...]:
    if array.dtype.kind not in "US" or array.ndim != 1:
        raise FileError(path, f"must be a list of names, not {array.dtype} {array.shape}", place=name)
    return tuple(one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in array.tolist())


def _read_times(path: Path, arrays: NpzArrays, hints: CallerHints, frames: int) -> Floats:
    if hints.fps is None and "times" in arrays:
        name, array = arrays["times"]
        times = _check_numbers(path, name, array.reshape(-1, 1), 1)[:, 0]
        if len(times) != frames or (np.diff(times) < 0.0).any():
            raise FileError(path, f"must be {frames} times that do not decrease", place=name)
        return times
    fps = hints.fps
    if fps is None and "fps" in arrays:
        name, array = arrays["fps"]
        if array.size != 1:
            raise FileError(path, f"must be one number, not {array.shape}", place=name)
        fps = float(_check_numbers(path, name, array.reshape(1, 1), 1)[0, 0])
    return build_frame_times(path, frames, fps)
