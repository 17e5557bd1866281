"""The arrays of an npz file: no pickles, no sizes that the file's bytes cannot hold, nothing unpacked without bound."""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from poise.errors import FileError, listed

HEIGHTS = "heights", "elevation"  # what makes an npz file a height map: one of these
_PLENTY, _FOLD = 2**26, 20  # bytes that any file may unpack to; a larger one so many times its own size
_MOST_ARRAYS = 1000
_SAID = 100  # characters of what NumPy says


def arrays_of(path: Path, data: bytes, wanted: tuple[str, ...]) -> dict[str, Any]:
    """The arrays of these names, as far as they are there; FileError for a file that is broken or hostile."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            ours = _entries(path, archive, len(data), wanted)
            return {name: _array(path, name, archive.read(entry)) for name, entry in ours.items()}
    except FileError:
        raise
    except Exception as error:  # zipfile, zlib and NumPy raise what comes
        raise _unread(path, error) from error


def names_in(path: Path) -> list[str]:
    """The names of all arrays, of which none is read; FileError for what is no npz file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except Exception as error:  # zipfile raises what comes
        raise _unread(path, error) from error


def _unread(path: Path, error: Exception) -> FileError:
    text = " ".join(f"{error}".split()) or type(error).__name__
    return FileError(path, f"is not an npz file that can be read: {text[:_SAID]}")


def _entries(path: Path, archive: zipfile.ZipFile, size: int, wanted: tuple[str, ...]) -> dict[str, zipfile.ZipInfo]:
    """The entries of the wanted arrays, before any is unpacked."""
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
    """One array; its head is compared with the bytes that follow before anything is made of it."""
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
