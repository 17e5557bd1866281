"""Safe reading of npz arrays. Pickles are refused, sizes checked against the file's bytes, and unpacking is bounded."""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from poise.errors import FileError, listed

HEIGHTS = "heights", "elevation"  # array names of a height map
_PLENTY, _FOLD = 2**26, 20  # unpacked size: always allowed [bytes], and maximum multiple of the file's size
_MOST_ARRAYS = 1000
_SAID = 100  # maximum length of NumPy's message [characters]


def arrays_of(path: Path, data: bytes, wanted: tuple[str, ...]) -> dict[str, Any]:
    """Read the arrays of the wanted names.

    Missing ones are left out; FileError for a file that is broken or hostile.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            ours = _entries(path, archive, len(data), wanted)
            return {name: _array(path, name, archive.read(entry)) for name, entry in ours.items()}
    except FileError:
        raise
    except Exception as error:  # zipfile, zlib and NumPy raise many types
        raise _unread(path, error) from error


def names_in(path: Path) -> list[str]:
    """List the names of all arrays without reading them. FileError for a file that is not npz."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except Exception as error:  # zipfile raises many types
        raise _unread(path, error) from error


def _unread(path: Path, error: Exception) -> FileError:
    text = " ".join(f"{error}".split()) or type(error).__name__
    return FileError(path, f"is not an npz file that can be read: {text[:_SAID]}")


def _entries(path: Path, archive: zipfile.ZipFile, size: int, wanted: tuple[str, ...]) -> dict[str, zipfile.ZipInfo]:
    """Find the entries of the wanted arrays, before unpacking."""
    entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
    if len(entries) < len(archive.infolist()) or len(entries) > _MOST_ARRAYS:
        raise FileError(path, f"two arrays have one name, or there are more than {_MOST_ARRAYS}")
    ours = {name: entries[name] for name in wanted if name in entries}
    if not ours:
        raise FileError(path, f"holds no motion; its arrays: {listed(entries)}")
    unpacked = sum(entry.file_size for entry in ours.values())
    if unpacked > max(_PLENTY, _FOLD * size):
        raise FileError(path, f"would unpack to {unpacked:,} bytes, far more than a motion in {size:,} bytes")
    return ours


def _array(path: Path, name: str, data: bytes) -> Any:
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
