"""File access: atomic writes, paths, hints for missing files, file types."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from poise.calls.argument_checks import check_names, describe_value
from poise.errors import FileError, InputError, PoiseError, UnsupportedError, escape_controls, quote_path

# --- Suggestions of existing paths similar to a missing one ----------------------------------------------------------


_MAX_COMPARED_NAMES = 2000  # maximum number of compared names per folder; takes some milliseconds
_MIN_SIMILARITY = 0.75  # minimum similarity ratio (difflib); 0.6 would suggest `talk2` for `walk`
_MAX_SUGGESTIONS = 2
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"  # the beginning of what Git LFS keeps in a file's place


def suggest_similar_paths(path: Path, suffixes: Collection[str] = ()) -> str:
    """Write a hint with existing paths similar to a missing one.

    Empty where none is similar.

    Parameters
    ----------
    path
        The missing path.
    suffixes
        Accepted suffixes in small letters, besides the path's own.
    """
    parts = path.parts
    existing_parts = next((i for i in range(len(parts), 0, -1) if os.path.isdir(Path(*parts[:i]))), 0)  # noqa: PTH112
    if existing_parts >= len(parts):
        return ""
    folder = Path(*parts[:existing_parts])
    names = _find_similar_names(
        folder, parts[existing_parts], is_last=existing_parts == len(parts) - 1, suffixes=suffixes
    )
    if existing_parts == len(parts) - 1:
        return _format_hint([repr(str(folder / name)) for name in names])
    candidates = [folder / name / Path(*parts[existing_parts + 1 :]) for name in names]
    exact_paths = [repr(str(path)) for path in candidates if os.path.lexists(path)]
    return _format_hint(exact_paths or [repr(str(folder / name) + os.sep) for name in names])


def _find_similar_names(folder: Path, missing: str, *, is_last: bool, suffixes: Collection[str]) -> list[str]:
    """Find names in a folder similar to a missing one.

    Only files, or only folders, are compared.
    """
    import difflib  # noqa: PLC0415  (loaded only after a mistyped name)

    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, _MAX_COMPARED_NAMES) if entry.is_dir() != is_last]
    except OSError:
        return []
    stem, suffix = _split_suffix(missing, is_file=is_last)
    names_by_stem: dict[str, list[str]] = {}
    for name in sorted(names):
        entry_stem, entry_suffix = _split_suffix(name, is_file=is_last)
        if entry_suffix == suffix or entry_suffix in suffixes:
            names_by_stem.setdefault(entry_stem, []).append(name)
    similar_stems = difflib.get_close_matches(stem, names_by_stem, n=_MAX_SUGGESTIONS, cutoff=_MIN_SIMILARITY)
    similarity = {name: difflib.SequenceMatcher(None, missing.casefold(), name.casefold()).ratio() for name in names}
    return [
        name
        for similar_stem in similar_stems
        for name in sorted(names_by_stem[similar_stem], key=lambda name: -similarity[name])
    ]


def _split_suffix(name: str, *, is_file: bool) -> tuple[str, str]:
    """Split a name into stem and suffix in small letters.

    A folder has no suffix.
    """
    path = Path(name.casefold())
    return (path.stem, path.suffix) if is_file else (path.name, "")


def _format_hint(suggestions: list[str]) -> str:
    return f"; did you mean {' or '.join(suggestions[:_MAX_SUGGESTIONS])}?" if suggestions else ""


# --- Paths from the arguments of public functions --------------------------------------------------------------------


def as_path(path: Any) -> Path:
    """Convert an argument to a path. The file may be missing.

    Parameters
    ----------
    path
        A text or a path.

    Raises
    ------
    InputError
        For a value of another kind.
    FileError
        For an invalid name: too long, or with a zero byte or half a character.
    """
    if not isinstance(path, str | PathLike):
        message = f"a file is given by its path, such as 'rig.glb', not by {describe_value(path)}"
        raise InputError(message)
    try:
        result = Path(path)
        os.lstat(result)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise FileError(path, "the name is longer than that of a file can be") from error
        return Path(path)  # reported on opening
    except ValueError as error:  # UnicodeEncodeError among them
        raise FileError(
            ascii(str(path))[1:-1], "no file can have this name: it contains an invalid character"
        ) from error
    except TypeError as error:  # a path of bytes
        message = f"a file is given by its path, such as 'rig.glb', not by {describe_value(path)}"
        raise InputError(message) from error
    return result


# --- Atomic writing --------------------------------------------------------------------------------------------------


_TEMPORARY_MARK = ".poise-tmp-"  # in the names of incomplete files; specific to Poise
_MAX_LABEL_BYTES = 60  # [bytes] makes temporary names of 80 bytes; the smallest file system limit is 143 (eCryptfs)
_MAX_NAME_BYTES = 255  # [bytes] maximum length of a file name on most file systems
_PART_SUFFIX = ".part"
_SURROGATE_PATTERN = re.compile("[\ud800-\udfff]")
_CONTROL_PATTERN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NEW_FILE_MODE = 0o666  # permissions of a new file before the umask
_TEMPORARY_PATTERN = re.compile(rf"\.(?P<label>.+){re.escape(_TEMPORARY_MARK)}[a-z0-9_]{{8}}", re.DOTALL)
_MAGIC_BYTES = {b"glTF": "a GLB file", b"Kaydara FBX": "a binary FBX file", b"PK\x03\x04": "a zip archive"}


def build_sidecar_path(path: Path) -> Path:
    """Build the path of a rig's sidecar. It replaces the suffix by .ik.toml."""
    return path.with_suffix(".ik.toml")


def is_file(path: Path) -> bool:
    """Return whether a file exists at a path.

    False for a name longer than the system allows.

    Parameters
    ----------
    path
        Such as that of a sidecar, whose name may be too long although the rig's is not: `Path.is_file` raises then.
    """
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Return whether a folder exists at a path.

    False for a name longer than the system allows.

    Parameters
    ----------
    path
        The path.
    """
    try:
        return path.is_dir()
    except OSError:
        return False


def read_bytes(path: Path, *, may_be_empty: bool = False, suffixes: Collection[str] = ()) -> bytes:
    """Read a regular file.

    Parameters
    ----------
    path
        The file.
    may_be_empty
        Whether an empty file is allowed.
    suffixes
        Accepted suffixes in small letters, besides the path's own. If the file is missing, similar files with one of
        them are suggested.

    Raises
    ------
    FileError
        For a path other than a regular file, for an empty file or a pointer of Git LFS.
    InputError
        For suffixes other than texts.
    """
    path = as_path(path)  # open() would treat a number as a file descriptor
    suffixes = check_names(suffixes, "the suffixes", "['.bvh']")
    try:
        with open(path, "rb", opener=open_nonblocking) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise FileError(path, "is not a regular file")
            data = file.read()
    except FileNotFoundError as error:
        raise FileError(path, f"{error.strerror}{suggest_similar_paths(path, suffixes)}") from error
    except OSError as error:
        raise FileError(path, error.strerror or str(error)) from error
    except ValueError as error:  # a NUL in the name
        raise FileError(path, str(error)) from error
    if not data and not may_be_empty:
        raise FileError(path, "the file is empty")
    if data.startswith(_LFS_POINTER):
        raise FileError(path, "it is a pointer of Git LFS, not the file itself: `git lfs pull` fetches that")
    return data


def open_nonblocking(name: str, flags: int) -> int:
    """Open without waiting for a writer of a pipe or device."""
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file under a temporary name, then rename it. Both names are in the same folder.

    The file is either complete or missing. A replaced file keeps its mode, and its owner and group where the system
    permits it. A symbolic link is followed: its target is written, and the link stays.

    Parameters
    ----------
    path
        The file.
    data
        The content.

    Raises
    ------
    FileError
        For a path that cannot be written: no folder, no permission, a device or a pipe.
    """
    path = as_path(path)
    if not isinstance(data, bytes | bytearray | memoryview):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"the content of a file must be bytes, not {describe_value(data)}")
    target = resolve_target(path)
    temporary, descriptor = _create_temporary(target, path)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        replace_file(temporary, target)
    except OSError as error:
        raise FileError(path, f"cannot write: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def resolve_target(path: Path) -> Path:
    """Resolve the file replaced by a write to `path`.

    Parameters
    ----------
    path
        The file. It may be missing, and so may the target of a link.

    Returns
    -------
    Path
        `path` itself unless it is a link, else the file at the end of the links. A link of a circle is replaced itself.

    Raises
    ------
    FileError
        For a folder, a device or a pipe.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        if getattr(error, "errno", None) == errno.ELOOP:
            return path
        raise FileError(path, f"cannot write here: {getattr(error, 'strerror', None) or error}") from error
    else:
        if stat.S_ISDIR(status.st_mode):
            raise FileError(path, "cannot write here: it is a directory, not a file")
        if not stat.S_ISREG(status.st_mode):
            raise FileError(path, "cannot write here: it is not a regular file")
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def replace_file(temporary: Path, target: Path) -> None:
    """Rename a finished file to its target. It gets the mode of the replaced file.

    Parameters
    ----------
    temporary
        The finished file, in the folder of `target`.
    target
        Its name, as `resolve_target` finds it.

    Raises
    ------
    OSError
        If the system does not permit it.
    """
    if target.exists():
        _copy_mode_and_owner(temporary, target.stat())
    temporary.replace(target)


def _copy_mode_and_owner(temporary: Path, old_status: os.stat_result) -> None:
    """Copy mode, and where permitted owner, from another file."""
    new_status = temporary.stat()
    if (new_status.st_uid, new_status.st_gid) != (old_status.st_uid, old_status.st_gid) and hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(temporary, -1, old_status.st_gid)
        with suppress(OSError):
            os.chown(temporary, old_status.st_uid, -1)
    if stat.S_IMODE(temporary.stat().st_mode) != stat.S_IMODE(old_status.st_mode):
        temporary.chmod(stat.S_IMODE(old_status.st_mode))


def _create_temporary(target: Path, path: Path) -> tuple[Path, int]:
    """Create a temporary file in the folder of `target`.

    Return its path and its descriptor. Errors name `path`.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else _NEW_FILE_MODE
        temporary = target.with_name(f".{_shorten_name(target.name)}{_TEMPORARY_MARK}{os.urandom(4).hex()}")
        return temporary, os.open(temporary, flags, mode)
    except OSError as error:
        raise FileError(path, f"cannot write here: {error.strerror}") from error
    except ValueError as error:  # an invalid name on this system
        raise FileError(path, f"cannot write here: {error}") from error


def _shorten_name(name: str) -> str:
    """Shorten the name of a file for use in a temporary name.

    A long name is replaced by a digest.
    """
    encoded = os.fsencode(name)
    if len(encoded) <= _MAX_LABEL_BYTES:
        return name
    import hashlib  # noqa: PLC0415  (few names are long)

    return hashlib.sha256(encoded).hexdigest()[:16]


def name_part_file(target: Path) -> Path:
    """Name the incomplete file FILE.part of a table. It holds the rows until the table is complete.

    Parameters
    ----------
    target
        The table, as `resolve_target` finds it. A name that is too long for a suffix is shortened to a digest.
    """
    is_short = len(os.fsencode(target.name)) + len(_PART_SUFFIX) <= _MAX_NAME_BYTES
    return target.with_name((target.name if is_short else _shorten_name(target.name)) + _PART_SUFFIX)


def encode_text(text: str) -> bytes:
    r"""Encode text in UTF-8, with escapes for unprintable characters. The text may quote names of files.

    Control characters other than tabs and line ends become escapes such as `\x1b`. So do the bytes of a name that is
    not UTF-8: in Python they are surrogates, which UTF-8 cannot hold.

    Parameters
    ----------
    text
        The text, such as a page or a table.
    """
    return _CONTROL_PATTERN.sub(lambda match: repr(match[0])[1:-1], text).encode("utf-8", "backslashreplace")


def name_clip(path: Path) -> str:
    """Name a clip after its file, without the suffix.

    Parameters
    ----------
    path
        The file. Bytes of its name other than UTF-8 become U+FFFD, which every format can hold.
    """
    return _SURROGATE_PATTERN.sub("\ufffd", path.stem)


def find_leftovers(paths: Iterable[Path]) -> list[Path]:
    """Find temporary files left by killed processes.

    Parameters
    ----------
    paths
        The files. Only temporary names made for these are found.

    Returns
    -------
    list of Path
        The temporary files, in no order.
    """
    labels: dict[Path, set[str]] = {}
    for path in paths:
        target = Path(os.path.realpath(path)) if path.is_symlink() else path
        labels.setdefault(target.parent, set()).add(_shorten_name(target.name))
    return [
        file
        for folder, known_labels in labels.items()
        if folder.is_dir()
        for file in folder.glob(f".*{_TEMPORARY_MARK}*")
        if (match := _TEMPORARY_PATTERN.fullmatch(file.name)) and match["label"] in known_labels
    ]


def write_checked(path: Path, data: bytes, read: Callable[[Path, bytes], object]) -> None:
    """Write a file after its own reader has accepted the bytes. It is written as by `write_atomically`.

    Parameters
    ----------
    path
        The file.
    data
        The content.
    read
        The format's reader, called with the path and the bytes.

    Raises
    ------
    FileError
        For a file that cannot be written.
    UnsupportedError
        For bytes refused by the reader; nothing is written.
    """
    try:
        read(path, data)
    except PoiseError as error:
        reason = str(error).removeprefix(f"{escape_controls(quote_path(path))}: ")
        raise UnsupportedError(f"{path} was not written, as it could not be read again: {reason}") from error
    write_atomically(path, data)


def guess_file_type(data: bytes) -> str:
    """Guess the type of a file from its first bytes. The text is empty when nothing is recognised."""
    for magic, label in _MAGIC_BYTES.items():
        if data.startswith(magic):
            return label
    head = data[:512].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head[:9].upper() == b"HIERARCHY":
        return "a BVH file"
    if head.startswith(b"{"):
        return "a JSON (perhaps glTF) file"
    if head.startswith(b"<"):
        return "an XML (perhaps URDF) file"
    return ""
