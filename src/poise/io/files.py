"""Reading and writing whole files, and the head of a file that tells a wrong suffix."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

from poise.errors import FileError, PoiseError, UnsupportedError

_MARK = ".poise-tmp-"  # in the name of a file until it is whole: nobody else calls a file so
_TEMPORARY = re.compile(rf"\.(?P<name>.+){re.escape(_MARK)}[a-z0-9_]{{8}}", re.DOTALL)
_MAGIC = {b"glTF": "a GLB file", b"Kaydara FBX": "a binary FBX file", b"PK\x03\x04": "a zip archive"}


def sidecar_of(path: Path) -> Path:
    """Where the sidecar of a rig file is: beside it, its suffix replaced by .ik.toml."""
    return path.with_suffix(".ik.toml")


def read_bytes(path: Path, *, may_be_empty: bool = False) -> bytes:
    """Read a regular file.

    Parameters
    ----------
    path
        The file.
    may_be_empty
        Whether an empty file is read, too.

    Raises
    ------
    FileError
        For anything else.
    """
    try:
        with open(path, "rb", opener=without_blocking) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise FileError(path, "is not a regular file")
            data = file.read()
    except OSError as error:
        raise FileError(path, error.strerror or str(error)) from error
    except ValueError as error:  # a NUL in the name
        raise FileError(path, str(error)) from error
    if not data and not may_be_empty:
        raise FileError(path, "the file is empty")
    return data


def without_blocking(name: str, flags: int) -> int:
    """Open so that a named pipe or device answers at once instead of waiting for a writer."""
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file under a temporary name in the same folder, then rename it: it is complete or it is not there.

    Parameters
    ----------
    path
        The file.
    data
        What is written.
    """
    import tempfile  # noqa: PLC0415  (who only reads need not wait for it)

    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}{_MARK}")
    except OSError as error:
        raise FileError(path, f"cannot write here: {error.strerror}") from error
    except ValueError as error:  # a NUL in the name
        raise FileError(path, f"cannot write here: {error}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except OSError as error:
        raise FileError(path, f"cannot write: {error.strerror}") from error
    finally:
        Path(temporary).unlink(missing_ok=True)


def half_written(name: str) -> str | None:
    """Which file was being written under a temporary name; None for the name of any other file.

    Parameters
    ----------
    name
        Without the folder.
    """
    found = _TEMPORARY.fullmatch(name)
    return found and found["name"]


def write_checked(path: Path, data: bytes, read: Callable[[Path, bytes], object]) -> None:
    """Write a file as `write_atomically` does, once its own reader has taken what will stand in it.

    Parameters
    ----------
    path
        The file.
    data
        What is written.
    read
        The format's reader, of bytes that stand in such a file.

    Raises
    ------
    FileError
        For a file that cannot be written.
    UnsupportedError
        For bytes that the reader refuses; nothing is written.
    """
    try:
        read(path, data)
    except PoiseError as error:
        reason = str(error).removeprefix(f"{path}: ")
        raise UnsupportedError(f"{path} was not written, as it could not be read again: {reason}") from error
    write_atomically(path, data)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def guessed_kind(data: bytes) -> str:
    """Say what a file looks like by its first bytes; empty when nothing is recognised."""
    for magic, what in _MAGIC.items():
        if data.startswith(magic):
            return what
    head = data[:512].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head[:9].upper() == b"HIERARCHY":
        return "a BVH file"
    if head.startswith(b"{"):
        return "a JSON (perhaps glTF) file"
    if head.startswith(b"<"):
        return "an XML (perhaps URDF) file"
    return ""
