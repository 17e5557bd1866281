"""Search for the ASF file of an AMC file. The AMC's own text names a file of the capture machine."""

from __future__ import annotations

from pathlib import Path

from poise.errors import FileError, listed

_SUFFIX = ".asf"


def skeleton_beside(path: Path) -> Path:
    """Find the ASF file in the folder of an AMC file.

    It has the same name, else that of the subject, else it is the only one.

    The subject is the part before an underscore: `02.asf` of `02_01.amc`; the longest such name wins. A link out of the
    folder is not followed.
    """
    folder = path.parent
    try:
        found = sorted(one for one in folder.iterdir() if one.suffix.lower() == _SUFFIX and _is_inside(one, folder))
    except OSError as error:
        raise FileError(path, f"cannot look for its .asf file: {error.strerror}") from error
    fitting = [one for one in found if f"{path.stem.lower()}_".startswith(f"{one.stem.lower()}_")]
    if fitting:
        return max(fitting, key=lambda one: len(one.stem))
    if len(found) == 1:
        return found[0]
    subject = path.stem.partition("_")[0]
    names = dict.fromkeys((f"{path.stem}.asf", f"{subject}.asf"))
    where = f"put its skeleton into the same folder, as {' or '.join(names)}"
    if found:
        raise FileError(path, f"which .asf file belongs to it? {where}; there are {listed(one.name for one in found)}")
    raise FileError(path, f"an AMC file holds motion only, and there is no .asf file beside it; {where}")


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().parent == folder.resolve()
