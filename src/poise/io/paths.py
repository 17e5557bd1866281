"""Paths from the arguments of public functions."""

from __future__ import annotations

import errno
import os
from os import PathLike
from pathlib import Path
from typing import Any

from poise.errors import FileError, InputError
from poise.maths.arguments import named


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
        message = f"a file is given by its path, such as 'rig.glb', not by {named(path)}"
        raise InputError(message)
    try:
        found = Path(path)
        os.lstat(found)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise FileError(path, "the name is longer than that of a file can be") from error
        return Path(path)  # reported on opening
    except ValueError as error:  # UnicodeEncodeError among them
        raise FileError(
            ascii(str(path))[1:-1], "no file can have this name: it contains an invalid character"
        ) from error
    except TypeError as error:  # a path of bytes
        message = f"a file is given by its path, such as 'rig.glb', not by {named(path)}"
        raise InputError(message) from error
    return found
