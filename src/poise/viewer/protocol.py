"""Binary and JSON messages between server and page.

To the page, little endian: a pose (kind 1) or the start pose (kind 2) is a header of 28 bytes, 12 bytes for each view,
and then float32 [views][characters][joints][width]; an asset (kind 3) and a download (kind 4) have 8 bytes before their
contents.

    0  u8 kind        1  u8 version       2  u8 views          3  u8 width      7: x y z, w x y z; 12: 3 x 4 rows; world
    4  u16 characters 6  u16 joints       8  u32 frame        12  u32 serial    of the newest answered target
   16  f32 clip time [s]                 20  u16 flags: 1 playing, 2 iterating 22  u16 iteration that a race shows
   24  u32 version of the document
    and for each view
    0  u8 status      1  u8 0             2  u16 iterations    4  f32 microseconds
    8  f32 position error [file units]

Everything else is JSON: {"kind": ...} to the page, {"do": ...} from it. docs/viewer-protocol.md lists both.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from poise.errors import InputError
from poise.maths.arrays import abbreviate

PROTOCOL_VERSION = 2
KIND_POSE, KIND_START_POSE, KIND_ASSET, KIND_DOWNLOAD = 1, 2, 3, 4
MODEL_ASSET, TERRAIN_ASSET = 1, 2
# besides the codes of poise.Status; the reason of a missed goal is in the answer
STATUS_MISSED, STATUS_REFUSED, STATUS_NOTHING = 253, 254, 255
FLAG_PLAYING, FLAG_ITERATING = 1, 2

_POSE_HEADER = struct.Struct("<BBBBHHIIfHHI")
_VIEW_HEADER = struct.Struct("<BxHff")
_BINARY_HEADER = struct.Struct("<BBHI")
_MAX_ITERATIONS = 65_535  # largest number of iterations in a u16
_MAX_COORDINATE = 1e12  # [file units] bound of numbers of the page
_MAX_TEXT_LENGTH = 400  # characters of a text of the page


@dataclass(frozen=True)
class ViewStatus:
    """Solve result of one view in a pose message."""

    status: int = STATUS_NOTHING
    microseconds: float = 0.0
    position_error: float = math.nan
    iterations: int = 0


@dataclass(frozen=True)
class PoseHeader:
    """Header values of a pose message."""

    target_serial: int = 0
    time: float = 0.0
    flags: int = 0
    document_version: int = 0
    view_statuses: tuple[ViewStatus, ...] = (ViewStatus(),)
    race_iteration: int = 0


def pack_poses(kind: int, rows: NDArray[np.float32], frame_number: int, header: PoseHeader) -> bytes:
    """Pack poses (views, characters, joints, width) into a message. Each view has a status."""
    views, characters, joints, width = rows.shape
    packed_header = _POSE_HEADER.pack(
        kind, PROTOCOL_VERSION, views, width, characters, joints, frame_number, header.target_serial, header.time,
        header.flags, min(header.race_iteration, _MAX_ITERATIONS), header.document_version,
    )  # fmt: skip
    packed_views = [
        _VIEW_HEADER.pack(view.status, min(view.iterations, _MAX_ITERATIONS), view.microseconds, view.position_error)
        for view in header.view_statuses[:views]
    ]
    return b"".join([packed_header, *packed_views, np.ascontiguousarray(rows, dtype="<f4").tobytes()])


def pack_asset(asset_kind: int, asset_number: int, contents: bytes) -> bytes:
    """Pack a GLB of the model or the terrain."""
    return _BINARY_HEADER.pack(KIND_ASSET, asset_kind, 0, asset_number) + contents


def pack_download(file_number: int, contents: bytes) -> bytes:
    """Pack a file for download by the page."""
    return _BINARY_HEADER.pack(KIND_DOWNLOAD, 0, 0, file_number) + contents


# --- messages of the page ------------------------------------------------------------------------------------------


def read_message(text: str | bytes) -> dict[str, Any]:
    """Parse an action from the page. Raise InputError for anything else."""
    if isinstance(text, bytes):
        raise InputError("a page sends text, not binary messages")
    try:
        message = json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"a message must be JSON, not {abbreviate(text)}") from error
    if not isinstance(message, dict) or not isinstance(cast("dict[str, Any]", message).get("do"), str):
        raise InputError('a message is an object such as {"do": "undo"}')
    return cast("dict[str, Any]", message)


def _reject_constant(name: str) -> NoReturn:
    raise InputError(f"{name} is not a number in JSON")


def read_text(args: dict[str, Any], name: str, *, default: str | None = None) -> str:
    """Read a text argument of a message."""
    value = args.get(name, default)
    if not isinstance(value, str) or len(value) > _MAX_TEXT_LENGTH:
        raise InputError(f"{name} is a text of at most {_MAX_TEXT_LENGTH} characters, not {abbreviate(value)}")
    return value


def read_optional_text(args: dict[str, Any], name: str) -> str | None:
    """Read an optional text argument of a message."""
    return None if args.get(name) is None else read_text(args, name)


def read_choice(args: dict[str, Any], name: str, choices: Sequence[str]) -> str:
    """Read a text argument with a fixed set of choices."""
    value = read_text(args, name)
    if value not in choices:
        raise InputError(f"{name} is one of {', '.join(choices)}, not {value!r}")
    return value


def read_bool(args: dict[str, Any], name: str) -> bool:
    """Read a boolean argument."""
    value = args.get(name)
    if not isinstance(value, bool):
        raise InputError(f"{name} is true or false, not {abbreviate(value)}")
    return value


def read_number(args: dict[str, Any], name: str, low: float = -_MAX_COORDINATE, high: float = _MAX_COORDINATE) -> float:
    """Read a finite number within bounds."""
    value = args.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InputError(f"{name} is a number from {low:g} to {high:g}, not {abbreviate(value)}")
    return float(value)


def read_numbers(args: dict[str, Any], name: str, count: int) -> tuple[float, ...]:
    """Read a list of `count` finite numbers."""
    value = args.get(name)
    if not isinstance(value, list) or len(cast("list[Any]", value)) != count:
        raise InputError(f"{name} is {count} numbers, not {abbreviate(value)}")
    return tuple(read_number({name: number}, name) for number in cast("list[Any]", value))


def read_vector(args: dict[str, Any], name: str) -> tuple[float, float, float]:
    """Read a vector of three numbers."""
    x, y, z = read_numbers(args, name, 3)
    return (x, y, z)


def read_quaternion(args: dict[str, Any], name: str) -> tuple[float, float, float, float]:
    """Read a rotation w x y z, scaled to unit length. Raise InputError for zero length."""
    values = read_numbers(args, name, 4)
    length = math.hypot(*values)
    if not length > 0.0:
        raise InputError(f"{name} has zero length; the identity is [1, 0, 0, 0]")
    w, x, y, z = (value / length for value in values)
    return (w, x, y, z)
