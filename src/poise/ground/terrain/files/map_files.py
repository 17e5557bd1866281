"""Reading height maps from PNG pictures and npz files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from poise.errors import FileError, InputError, join_names
from poise.ground.terrain.files.needs import require_module
from poise.io.files import as_path, read_bytes
from poise.io.mesh_text import shorten_error
from poise.io.robot_motion import HEIGHT_NAMES
from poise.maths.arrays import Floats

_MOST = 2**26  # posts: half a GB as floats
_LEAST = 2  # posts along an axis
FARTHEST = 1e30  # a height, a place or an extent may be; products of more would overflow
_LARGEST = 8 * _MOST + 4096  # bytes of an array and its head
_FACTS = ("size", "spacing", "dx", "dy", "height", "origin", "xmin", "xmax", "ymin", "ymax")

# --- PNG -----------------------------------------------------------------------------------------

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY, _COLOUR, _ALPHA = 0, 2, 4  # colour types of PNG: bits for colour and for alpha
_RED, _GREEN, _BLUE = 299, 587, 114  # thousandths of the luminance (ITU-R BT.601)


class Sheet(NamedTuple):
    """Posts of a file or array, and their placement if given. The first row is in the north.

    values  (rows, cols); NaN is missing
    size    extent along x and along rows, first post to last
    middle  (x, y, z) in the frame of surfaces, of the middle of the map at value 0
    height  what the value 1 stands for
    """

    values: Floats
    size: tuple[float, float] | None = None
    middle: tuple[float, float, float] | None = None
    height: float = 1.0


def read_map(source: str | PathLike[str], up: str) -> Sheet:
    """Read a PNG or npz file. `up` is the up axis of an npz file's `origin`."""
    path = as_path(source)
    suffix = path.suffix.lower()
    if suffix not in (".png", ".npz"):
        raise FileError(path, f"a height map is a .png or .npz file, not {suffix or 'one without a suffix'}")
    data = read_bytes(path)
    try:
        return Sheet(_picture(path, data)) if suffix == ".png" else _archive(path, data, up)
    except MemoryError as error:
        raise FileError(path, "does not fit into memory") from error


def _picture(path: Path, data: bytes) -> Floats:
    """Brightness (rows, cols), 0 to 1."""
    if not data.startswith(_SIGNATURE) or len(data) < 26:  # noqa: PLR2004  (signature and the head's fields)
        raise FileError(path, "is not a PNG picture")
    cols, rows = int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    bits, kind = data[24], data[25]
    if cols * rows > _MOST:
        raise FileError(path, f"{cols} x {rows} pixels are too many; at most {_MOST}")
    if bits > 8 and kind != _GREY:  # noqa: PLR2004
        raise FileError(path, f"{bits} bits per colour are not read; save it as 16 bit grey without alpha")
    pillow = require_module("PIL.Image", "Pillow", "pictures")
    try:
        with pillow.open(io.BytesIO(data), formats=["PNG"]) as picture:
            picture.load()
            return _brightness(path, picture, bits)
    except FileError:
        raise
    except Exception as error:  # Pillow raises what comes: OSError, SyntaxError, ValueError, zlib.error
        raise FileError(path, f"is a broken PNG picture: {shorten_error(error)}") from error


def _brightness(path: Path, picture: Any, bits: int) -> Floats:
    if bits > 8:  # noqa: PLR2004
        return np.asarray(picture).astype(np.float64) / 65535.0
    colours = np.asarray(picture.convert("RGBA")).astype(np.int64)
    if (colours[..., 3] != 255).any():  # noqa: PLR2004
        raise FileError(path, "is transparent in places, which has no height; save it as grey without alpha")
    red, green, blue = colours[..., 0], colours[..., 1], colours[..., 2]
    return (red * _RED + green * _GREEN + blue * _BLUE) / 255000.0


# --- npz -----------------------------------------------------------------------------------------


def _archive(path: Path, data: bytes, up: str) -> Sheet:
    arrays = _arrays(path, data)
    found = [name for name in HEIGHT_NAMES if name in arrays]
    if len(found) != 1:
        names = join_names(arrays)
        raise FileError(path, f"holds {'both' if found else 'neither'} of heights and elevation; its arrays: {names}")
    values = arrays[found[0]]
    if values.dtype.kind not in "iuf":
        raise FileError(path, f"must be numbers, not {values.dtype}", place=found[0])
    try:
        check_shape(values)
    except InputError as error:
        raise FileError(path, str(error)) from error
    return _orient_sheet(_Facts(path, arrays), values.astype(np.float64), up)


def check_shape(values: Any) -> None:
    """Refuse arrays of another shape than (rows, cols). Each must be two at least."""
    if values.ndim != 2 or min(values.shape) < _LEAST:  # noqa: PLR2004
        message = f"a height map has at least {_LEAST} rows and {_LEAST} columns; its shape is {values.shape}"
        raise InputError(message)


def _arrays(path: Path, data: bytes) -> dict[str, Any]:
    """Read the height map arrays of an npz file. An array larger than a height map may be is an error."""
    try:
        sizes = _sizes(data)
        ours = [name for name in sizes if name in (*HEIGHT_NAMES, *_FACTS) and sizes[name] <= _LARGEST]
        with np.load(io.BytesIO(data), allow_pickle=False) as content:
            arrays = dict.fromkeys(sizes) | {name: np.asarray(content[name]) for name in ours}
    except Exception as error:  # zipfile and NumPy raise what comes
        raise FileError(path, f"is not an npz file that can be read: {shorten_error(error)}") from error
    for name in (*HEIGHT_NAMES, *_FACTS):
        if sizes.get(name, 0) > _LARGEST:
            raise FileError(path, f"is too large; a height map has at most {_MOST} posts", place=name)
    return arrays


def _sizes(data: bytes) -> dict[str, int]:
    """Return the unpacked size [bytes] of each array.

    ValueError where two have one name, as one of them would be passed over.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
    sizes = {entry.filename.removesuffix(".npy"): entry.file_size for entry in entries}
    if len(sizes) < len(entries):
        message = f"two arrays have one name: {join_names(entry.filename for entry in entries)}"
        raise ValueError(message)
    return sizes


def _orient_sheet(facts: _Facts, values: Floats, up: str) -> Sheet:
    """Orient the rows and columns, and read size and origin.

    The first row is in the north, the first column in the west.
    """
    west, east = facts.number("xmin"), facts.number("xmax")
    first, last = facts.number("ymin"), facts.number("ymax")
    if first is not None and last is not None and first < last:
        values = values[::-1]
    if west is not None and east is not None and east < west:
        values = values[:, ::-1]
    middle = facts.row("origin", 3)
    if middle is not None:
        x, y, z = middle if up == "z" else (middle[0], -middle[2], middle[1])
    else:
        x, y, z = _halfway(west, east), _halfway(first, last), 0.0
    height = facts.number("height")
    return Sheet(values, _size(facts, values), (x, y, z), 1.0 if height is None else height)


def _halfway(low: float | None, high: float | None) -> float:
    return 0.0 if low is None or high is None else 0.5 * (low + high)


def _size(facts: _Facts, values: Floats) -> tuple[float, float] | None:
    """Find the extent from first post to last. From `size`, `spacing`, `dx` and `dy`, or the ranges, in this order."""
    rows, cols = values.shape
    size, spacing = facts.lengths("size", 2), facts.lengths("spacing", 2)
    if size is not None:
        return size[0], size[1]
    if spacing is not None:
        return spacing[0] * (cols - 1), spacing[1] * (rows - 1)
    wide, deep = facts.lengths("dx", 1), facts.lengths("dy", 1)
    if wide is not None and deep is not None:
        return wide[0] * (cols - 1), deep[0] * (rows - 1)
    west, east, first, last = (facts.number(name) for name in ("xmin", "xmax", "ymin", "ymax"))
    if west is None or east is None or first is None or last is None:
        return None
    if west == east or first == last:
        facts.refuse("a range is empty", "xmin" if west == east else "ymin")
    return abs(east - west), abs(last - first)


class _Facts:
    """The numbers beside the heights."""

    def __init__(self, path: Path, arrays: Mapping[str, Any]) -> None:
        self._path = path
        self._arrays = arrays

    def number(self, name: str) -> float | None:
        """A single finite number, or None where the file does not say."""
        row = self.row(name, 1)
        return None if row is None else row[0]

    def row(self, name: str, length: int) -> list[float] | None:
        """`length` finite numbers, or None where the file does not say."""
        values = self._arrays.get(name)
        if values is None:
            return None
        if values.dtype.kind not in "iuf" or values.size != length or not np.isfinite(values).all():
            wanted = "a finite number" if length == 1 else f"{length} finite numbers"
            raise FileError(self._path, f"must be {wanted}", place=name)
        if (np.abs(values.astype(np.float64)) > FARTHEST).any():
            self.refuse(f"must not be beyond {FARTHEST:g}", name)
        return [float(value) for value in values.reshape(-1)]

    def lengths(self, name: str, length: int) -> list[float] | None:
        """The same, each above 0."""
        row = self.row(name, length)
        if row is not None and min(row) <= 0.0:
            self.refuse(f"must be above 0; got {min(row):g}", name)
        return row

    def refuse(self, reason: str, place: str) -> NoReturn:
        """Say what is wrong with an array of the file."""
        raise FileError(self._path, reason, place=place)
