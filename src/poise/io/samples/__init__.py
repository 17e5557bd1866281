"""Example assets: a walking humanoid, a robot arm, a height map.

They are `humanoid.glb`, `humanoid.bvh`, `arm.urdf` and `hills.npz`.

The humanoid is skinned, the arm has six axes, the hills are 20 m by 20 m and gentle. scripts/make_samples.py of the
source repository generates them from numbers only.
"""

from __future__ import annotations

from functools import cache
from os import PathLike
from pathlib import Path

from poise.errors import FileError, UnknownNameError
from poise.io.files import as_path, write_atomically

__all__ = [
    "NAMES",
    "copy_to",
    "path",
    "sample",
]

NAMES = ("humanoid.glb", "humanoid.bvh", "arm.urdf", "hills.npz")
_COPIED_SUFFIXES = (".glb", ".bvh", ".urdf", ".npz", ".toml")


def sample(name: str) -> Path:
    """Return the path of an example file, for `poise.load(poise.sample("humanoid"))`.

    Parameters
    ----------
    name
        "humanoid" (a skinned character with a walk), "arm" (a robot) or "hills" (a height map); or with a suffix,
        such as "humanoid.bvh".

    Returns
    -------
    Path
        The file, part of the package. `poise samples DIR` copies all of them.

    Raises
    ------
    UnknownNameError
        No sample has this name. The message lists those that exist.
    """
    return path(name)


def copy_to(folder: str | PathLike[str]) -> list[Path]:
    """Copy every example file and its sidecar into a folder. The folder is created if missing; existing files are kept.

    Returns
    -------
    list of Path
        The written files.

    Raises
    ------
    FileError
        For a folder without write access.
    """
    folder, written_paths = as_path(folder), list[Path]()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source in sorted(_find_folder().iterdir()):
            if source.is_file() and source.suffix in _COPIED_SUFFIXES and not (folder / source.name).exists():
                write_atomically(folder / source.name, source.read_bytes())
                written_paths.append(folder / source.name)
    except OSError as error:
        raise FileError(folder, error.strerror or str(error)) from error
    return written_paths


def path(name: str) -> Path:
    """Return the path of an example file.

    Parameters
    ----------
    name
        Name of the sample, such as "humanoid.glb"; it may leave out its suffix.

    Raises
    ------
    UnknownNameError
        No sample has this name. The message lists those that exist.

    Examples
    --------
    >>> rig = poise.load(samples.path("humanoid.glb"))
    >>> ground = poise.Terrain.heightmap(samples.path("hills.npz"))
    """
    for file_name in NAMES:
        if isinstance(name, str) and name in (file_name, file_name.rpartition(".")[0]):  # pyright: ignore[reportUnnecessaryIsInstance]
            return _find_folder() / file_name
    raise UnknownNameError("sample", name, NAMES, also=sorted({file_name.rpartition(".")[0] for file_name in NAMES}))


@cache
def _find_folder() -> Path:
    """Find the folder of the example files.

    If the package is in an archive, they are unpacked until the program ends.
    """
    folder = Path(__file__).parent
    return folder if folder.is_dir() else _unpack_folder()


def _unpack_folder() -> Path:
    import atexit  # noqa: PLC0415  (archives are rare, and these modules are large)
    import tempfile  # noqa: PLC0415
    from importlib import resources  # noqa: PLC0415

    folder = tempfile.TemporaryDirectory(prefix="poise-samples-")
    atexit.register(folder.cleanup)
    for file in resources.files(__name__).iterdir():
        if file.is_file():
            (Path(folder.name) / file.name).write_bytes(file.read_bytes())
    return Path(folder.name)
