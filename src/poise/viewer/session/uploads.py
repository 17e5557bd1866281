"""Receive uploaded files in a private folder under safe names.

The page sends contents and relative names; paths of the user's disk are neither sent nor opened.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from poise.errors import InputError
from poise.io.registry import find_reader
from poise.maths.arrays import abbreviate
from poise.viewer.protocol import read_number, read_text

MAX_UPLOAD_BYTES = 256_000_000  # [bytes] of all files of one upload
MAX_UPLOAD_FILES = 5000  # files of one upload
_MAX_NAME_BYTES = 200  # [bytes] of a part of a name: file systems allow 255
_MAX_FOLDER_DEPTH = 20  # nested folders of a name
_WINDOWS_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # device names of Windows
_FORBIDDEN_CHARACTERS = re.compile(r'[\x00-\x1f\x7f\\:*?"<>|]')


@dataclass
class _Delivery:
    """State of one upload."""

    folder: Path
    main: Path
    files: int
    bytes: int
    file: BinaryIO | None = None
    remaining_bytes: int = 0  # remaining bytes of the current file
    received_bytes: int = 0  # received bytes of all files
    names: set[str] = field(default_factory=set[str])


class Uploads:
    """Uploads in sequence, each in its own folder.

    All folders stay until `close`, because rigs read their files while shown.

    Used by the session's thread only, except `hide_paths`.
    """

    def __init__(self) -> None:
        self._base_folder: tempfile.TemporaryDirectory[str] | None = None
        self._count = 0
        self._delivery: _Delivery | None = None
        self._ignores_chunks = False  # whether the rest of a refused upload is ignored

    def begin(self, args: dict[str, Any]) -> None:
        """Begin an upload. Raise FileError for an unreadable main file, InputError for too many files."""
        self.cancel()
        main = _parse_relative_path(read_text(args, "main"))
        files, size = int(read_number(args, "files", 1, 1e9)), int(read_number(args, "bytes", 0, 1e18))
        if files > MAX_UPLOAD_FILES or size > MAX_UPLOAD_BYTES:
            raise InputError(
                f"{files:,} files of {size / 1e6:,.0f} MB are too much: at most {MAX_UPLOAD_FILES:,} files of "
                f"{MAX_UPLOAD_BYTES / 1e6:.0f} MB in all"
            )
        find_reader(main)
        if self._base_folder is None:
            self._base_folder = tempfile.TemporaryDirectory(prefix="poise-")
        self._count += 1
        folder = Path(self._base_folder.name).resolve() / str(self._count)
        folder.mkdir()
        self._delivery = _Delivery(folder, main, files, size)

    def begin_file(self, args: dict[str, Any]) -> None:
        """Begin the next file. Raise InputError for an unsafe name."""
        if self._ignores_chunks:
            return
        delivery = self._require_delivery()
        self._close_file(delivery)
        path, size = _parse_relative_path(read_text(args, "path")), int(read_number(args, "size", 0, 1e18))
        if len(delivery.names) >= delivery.files or delivery.received_bytes + size > delivery.bytes:
            raise InputError("more is sent than was announced")
        if path.as_posix() in delivery.names:
            raise InputError(f"two files are called {path.as_posix()!r}")
        delivery.names.add(path.as_posix())
        target = delivery.folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            delivery.file = target.open("xb")
        except OSError as error:
            raise InputError(f"{path.as_posix()!r} cannot be stored: {error.strerror}") from error
        delivery.remaining_bytes = size

    def write_chunk(self, data: bytes) -> None:
        """Write a part of the current file. Raise InputError where it belongs to no file."""
        if self._ignores_chunks:
            return
        delivery = self._require_delivery()
        if delivery.file is None or len(data) > delivery.remaining_bytes:
            raise InputError("more is sent than was announced")
        delivery.remaining_bytes -= len(data)
        delivery.received_bytes += len(data)
        try:
            delivery.file.write(data)
        except OSError as error:
            raise InputError(f"uploaded data cannot be stored: {error.strerror}") from error

    def finish(self) -> Path:
        """Finish the upload and return the main file. Raise InputError if it is incomplete."""
        delivery = self._require_delivery()
        self._close_file(delivery)
        if (
            len(delivery.names) != delivery.files
            or delivery.received_bytes != delivery.bytes
            or delivery.main.as_posix() not in delivery.names
        ):
            raise InputError("the upload is incomplete")
        self._delivery = None
        return delivery.folder / delivery.main

    def cancel(self) -> None:
        """Remove the files of an incomplete upload."""
        self._ignores_chunks = False
        if self._delivery is not None:
            if self._delivery.file is not None:
                self._delivery.file.close()
            shutil.rmtree(self._delivery.folder, ignore_errors=True)
            self._delivery = None

    def refuse(self) -> None:
        """Cancel the upload and ignore the rest of its messages."""
        self.cancel()
        self._ignores_chunks = True

    def remove_folder(self, path: Path) -> None:
        """Remove the folder of an unreadable main file."""
        if self._base_folder is not None:
            inside = path.relative_to(Path(self._base_folder.name).resolve())
            shutil.rmtree(Path(self._base_folder.name).resolve() / inside.parts[0], ignore_errors=True)

    def close(self) -> None:
        """Remove all uploaded files."""
        self.cancel()
        base, self._base_folder = self._base_folder, None
        if base is not None:
            shutil.rmtree(base.name, ignore_errors=True)  # files open on Windows are left behind
            base.cleanup()

    def hide_paths(self, sentence: str) -> str:
        """Replace server paths in a message by the page's names."""
        base = self._base_folder
        if base is None:
            return sentence
        folder = re.escape(str(Path(base.name).resolve()))
        return re.sub(rf"{folder}(/|\\)\d+", "the folder", re.sub(rf"{folder}(/|\\)\d+(/|\\)", "", sentence))

    def _require_delivery(self) -> _Delivery:
        if self._delivery is None:
            raise InputError("no file was announced: a page sends text, and binary messages of files only")
        return self._delivery

    @staticmethod
    def _close_file(delivery: _Delivery) -> None:
        if delivery.remaining_bytes:
            raise InputError("a file is incomplete")
        if delivery.file is not None:
            delivery.file.close()
            delivery.file = None


def _parse_relative_path(name: str) -> Path:
    """Parse a file name as a relative path. Raise InputError for any path that could lead out of the folder."""
    parts = name.split("/")
    if len(parts) > _MAX_FOLDER_DEPTH or not all(map(_is_portable_name, parts)):
        raise InputError(f"{abbreviate(name)} is not a valid file name; rename it and send it again")
    return Path(*parts)


def _is_portable_name(part: str) -> bool:
    """Return whether a path part is valid on every system."""
    try:
        size = len(part.encode())
    except UnicodeEncodeError:  # an unpaired surrogate
        return False
    named = 0 < size <= _MAX_NAME_BYTES and part == part.rstrip(". ") and not _FORBIDDEN_CHARACTERS.search(part)
    return named and not _WINDOWS_DEVICE.fullmatch(part)
