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
from poise.io.registry import reader
from poise.maths.arrays import short
from poise.viewer.protocol import number, text

MOST_BYTES = 256_000_000  # [bytes] of all files of one upload
MOST_FILES = 5000  # files of one upload
_LONGEST = 200  # [bytes] of a part of a name: file systems allow 255
_DEEPEST = 20  # nested folders of a name
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # device names of Windows
_UNFIT = re.compile(r'[\x00-\x1f\x7f\\:*?"<>|]')


@dataclass
class _Delivery:
    """State of one upload."""

    folder: Path
    main: Path
    files: int
    bytes: int
    file: BinaryIO | None = None
    missing: int = 0  # remaining bytes of the current file
    came: int = 0  # received bytes of all files
    names: set[str] = field(default_factory=set[str])


class Uploads:
    """Uploads in sequence, each in its own folder.

    All folders stay until `close`, because rigs read their files while shown.

    Used by the session's thread only, except `hide_paths`.
    """

    def __init__(self) -> None:
        self._base: tempfile.TemporaryDirectory[str] | None = None
        self._count = 0
        self._now: _Delivery | None = None
        self._deaf = False  # whether the rest of a refused upload is ignored

    def begin(self, args: dict[str, Any]) -> None:
        """Begin an upload. Raise FileError for an unreadable main file, InputError for too many files."""
        self.cancel()
        main = _inside(text(args, "main"))
        files, size = int(number(args, "files", 1, 1e9)), int(number(args, "bytes", 0, 1e18))
        if files > MOST_FILES or size > MOST_BYTES:
            raise InputError(
                f"{files:,} files of {size / 1e6:,.0f} MB are too much: at most {MOST_FILES:,} files of "
                f"{MOST_BYTES / 1e6:.0f} MB in all"
            )
        reader(main)
        if self._base is None:
            self._base = tempfile.TemporaryDirectory(prefix="poise-")
        self._count += 1
        folder = Path(self._base.name).resolve() / str(self._count)
        folder.mkdir()
        self._now = _Delivery(folder, main, files, size)

    def next_file(self, args: dict[str, Any]) -> None:
        """Begin the next file. Raise InputError for an unsafe name."""
        if self._deaf:
            return
        now = self._current()
        self._complete(now)
        path, size = _inside(text(args, "path")), int(number(args, "size", 0, 1e18))
        if len(now.names) >= now.files or now.came + size > now.bytes:
            raise InputError("more is sent than was announced")
        if path.as_posix() in now.names:
            raise InputError(f"two files are called {path.as_posix()!r}")
        now.names.add(path.as_posix())
        target = now.folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            now.file = target.open("xb")
        except OSError as error:
            raise InputError(f"{path.as_posix()!r} cannot be stored: {error.strerror}") from error
        now.missing = size

    def take(self, data: bytes) -> None:
        """Write a part of the current file. Raise InputError where it belongs to no file."""
        if self._deaf:
            return
        now = self._current()
        if now.file is None or len(data) > now.missing:
            raise InputError("more is sent than was announced")
        now.missing -= len(data)
        now.came += len(data)
        try:
            now.file.write(data)
        except OSError as error:
            raise InputError(f"uploaded data cannot be stored: {error.strerror}") from error

    def finish(self) -> Path:
        """Finish the upload and return the main file. Raise InputError if it is incomplete."""
        now = self._current()
        self._complete(now)
        if len(now.names) != now.files or now.came != now.bytes or now.main.as_posix() not in now.names:
            raise InputError("the upload is incomplete")
        self._now = None
        return now.folder / now.main

    def cancel(self) -> None:
        """Remove the files of an incomplete upload."""
        self._deaf = False
        if self._now is not None:
            if self._now.file is not None:
                self._now.file.close()
            shutil.rmtree(self._now.folder, ignore_errors=True)
            self._now = None

    def refuse(self) -> None:
        """Cancel the upload and ignore the rest of its messages."""
        self.cancel()
        self._deaf = True

    def drop(self, path: Path) -> None:
        """Remove the folder of an unreadable main file."""
        if self._base is not None:
            inside = path.relative_to(Path(self._base.name).resolve())
            shutil.rmtree(Path(self._base.name).resolve() / inside.parts[0], ignore_errors=True)

    def close(self) -> None:
        """Remove all uploaded files."""
        self.cancel()
        base, self._base = self._base, None
        if base is not None:
            shutil.rmtree(base.name, ignore_errors=True)  # files open on Windows are left behind
            base.cleanup()

    def hidden(self, sentence: str) -> str:
        """Replace server paths in a message by the page's names."""
        base = self._base
        if base is None:
            return sentence
        folder = re.escape(str(Path(base.name).resolve()))
        return re.sub(rf"{folder}(/|\\)\d+", "the folder", re.sub(rf"{folder}(/|\\)\d+(/|\\)", "", sentence))

    def _current(self) -> _Delivery:
        if self._now is None:
            raise InputError("no file was announced: a page sends text, and binary messages of files only")
        return self._now

    @staticmethod
    def _complete(now: _Delivery) -> None:
        if now.missing:
            raise InputError("a file is incomplete")
        if now.file is not None:
            now.file.close()
            now.file = None


def _inside(name: str) -> Path:
    """Parse a file name as a relative path. Raise InputError for any path that could lead out of the folder."""
    parts = name.split("/")
    if len(parts) > _DEEPEST or not all(map(_is_plain, parts)):
        raise InputError(f"{short(name)} is not a valid file name; rename it and send it again")
    return Path(*parts)


def _is_plain(part: str) -> bool:
    """Return whether a path part is valid on every system."""
    try:
        size = len(part.encode())
    except UnicodeEncodeError:  # an unpaired surrogate
        return False
    named = 0 < size <= _LONGEST and part == part.rstrip(". ") and not _UNFIT.search(part)
    return named and not _DEVICE.fullmatch(part)
