"""Uploads of the page, stored in a private folder.

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
class _Upload:
    """State of one upload."""

    folder: Path
    main_path: Path
    file_count: int
    byte_count: int
    open_file: BinaryIO | None = None
    remaining_bytes: int = 0  # remaining bytes of the current file
    received_bytes: int = 0  # received bytes of all files
    received_names: set[str] = field(default_factory=set[str])


class Uploads:
    """Uploads in sequence, each in its own folder.

    All folders stay until `close`, because rigs read their files while shown.

    Used by the session's thread only, except `hide_paths`.
    """

    def __init__(self) -> None:
        self._base_folder: tempfile.TemporaryDirectory[str] | None = None
        self._upload_count = 0
        self._current_upload: _Upload | None = None
        self._ignores_chunks = False  # whether the rest of a refused upload is ignored

    def begin(self, args: dict[str, Any]) -> None:
        """Begin an upload. Raise FileError for an unreadable main file, InputError for too many files."""
        self.cancel()
        main_path = _parse_relative_path(read_text(args, "main"))
        file_count, byte_count = int(read_number(args, "files", 1, 1e9)), int(read_number(args, "bytes", 0, 1e18))
        if file_count > MAX_UPLOAD_FILES or byte_count > MAX_UPLOAD_BYTES:
            raise InputError(
                f"{file_count:,} files of {byte_count / 1e6:,.0f} MB are too much: at most {MAX_UPLOAD_FILES:,} files "
                f"of {MAX_UPLOAD_BYTES / 1e6:.0f} MB in all"
            )
        find_reader(main_path)
        if self._base_folder is None:
            self._base_folder = tempfile.TemporaryDirectory(prefix="poise-")
        self._upload_count += 1
        folder = Path(self._base_folder.name).resolve() / str(self._upload_count)
        folder.mkdir()
        self._current_upload = _Upload(folder, main_path, file_count, byte_count)

    def begin_file(self, args: dict[str, Any]) -> None:
        """Begin the next file. Raise InputError for an unsafe name."""
        if self._ignores_chunks:
            return
        upload = self._require_upload()
        self._close_file(upload)
        path, byte_count = _parse_relative_path(read_text(args, "path")), int(read_number(args, "size", 0, 1e18))
        if len(upload.received_names) >= upload.file_count or upload.received_bytes + byte_count > upload.byte_count:
            raise InputError("more is sent than was announced")
        if path.as_posix() in upload.received_names:
            raise InputError(f"two files are called {path.as_posix()!r}")
        upload.received_names.add(path.as_posix())
        target_path = upload.folder / path
        try:
            target_path.parent.mkdir(parents=True, exist_ok=True)
            upload.open_file = target_path.open("xb")
        except OSError as error:
            raise InputError(f"{path.as_posix()!r} cannot be stored: {error.strerror}") from error
        upload.remaining_bytes = byte_count

    def write_chunk(self, data: bytes) -> None:
        """Write a part of the current file. Raise InputError where it belongs to no file."""
        if self._ignores_chunks:
            return
        upload = self._require_upload()
        if upload.open_file is None or len(data) > upload.remaining_bytes:
            raise InputError("more is sent than was announced")
        upload.remaining_bytes -= len(data)
        upload.received_bytes += len(data)
        try:
            upload.open_file.write(data)
        except OSError as error:
            raise InputError(f"uploaded data cannot be stored: {error.strerror}") from error

    def finish(self) -> Path:
        """Finish the upload and return the main file. Raise InputError if it is incomplete."""
        upload = self._require_upload()
        self._close_file(upload)
        if (
            len(upload.received_names) != upload.file_count
            or upload.received_bytes != upload.byte_count
            or upload.main_path.as_posix() not in upload.received_names
        ):
            raise InputError("the upload is incomplete")
        self._current_upload = None
        return upload.folder / upload.main_path

    def cancel(self) -> None:
        """Remove the files of an incomplete upload."""
        self._ignores_chunks = False
        if self._current_upload is not None:
            if self._current_upload.open_file is not None:
                self._current_upload.open_file.close()
            shutil.rmtree(self._current_upload.folder, ignore_errors=True)
            self._current_upload = None

    def refuse(self) -> None:
        """Cancel the upload and ignore the rest of its messages."""
        self.cancel()
        self._ignores_chunks = True

    def remove_folder(self, main_path: Path) -> None:
        """Remove the folder of an unreadable main file."""
        if self._base_folder is not None:
            relative_path = main_path.relative_to(Path(self._base_folder.name).resolve())
            shutil.rmtree(Path(self._base_folder.name).resolve() / relative_path.parts[0], ignore_errors=True)

    def close(self) -> None:
        """Remove all uploaded files."""
        self.cancel()
        base_folder, self._base_folder = self._base_folder, None
        if base_folder is not None:
            shutil.rmtree(base_folder.name, ignore_errors=True)  # files open on Windows are left behind
            base_folder.cleanup()

    def hide_paths(self, sentence: str) -> str:
        """Replace server paths in a message by the page's names."""
        base_folder = self._base_folder
        if base_folder is None:
            return sentence
        folder = re.escape(str(Path(base_folder.name).resolve()))
        return re.sub(rf"{folder}(/|\\)\d+", "the folder", re.sub(rf"{folder}(/|\\)\d+(/|\\)", "", sentence))

    def _require_upload(self) -> _Upload:
        if self._current_upload is None:
            raise InputError("no file was announced: a page sends text, and binary messages of files only")
        return self._current_upload

    @staticmethod
    def _close_file(upload: _Upload) -> None:
        if upload.remaining_bytes:
            raise InputError("a file is incomplete")
        if upload.open_file is not None:
            upload.open_file.close()
            upload.open_file = None


def _parse_relative_path(name: str) -> Path:
    """Parse a file name as a relative path. Raise InputError for any path that could lead out of the folder."""
    parts = name.split("/")
    if len(parts) > _MAX_FOLDER_DEPTH or not all(map(_is_portable_name, parts)):
        raise InputError(f"{abbreviate(name)} is not a valid file name; rename it and send it again")
    return Path(*parts)


def _is_portable_name(part: str) -> bool:
    """Return whether a path part is valid on every system."""
    try:
        byte_count = len(part.encode())
    except UnicodeEncodeError:  # an unpaired surrogate
        return False
    is_allowed = (
        0 < byte_count <= _MAX_NAME_BYTES and part == part.rstrip(". ") and not _FORBIDDEN_CHARACTERS.search(part)
    )
    return is_allowed and not _WINDOWS_DEVICE.fullmatch(part)
