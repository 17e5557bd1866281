"""Small files that come with Poise: a walking humanoid (GLB, BVH), a robot arm (URDF), a height map of hills (npz).

The humanoid is skinned, the arm has six axes, the hills are 20 m by 20 m and gentle. Made by scripts/make_samples.py of
the source repository, from numbers only.
"""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from functools import cache
from importlib import resources
from pathlib import Path

from poise.errors import UnknownNameError

NAMES = ("humanoid.glb", "humanoid.bvh", "arm.urdf", "hills.npz")

_open_files = ExitStack()
atexit.register(_open_files.close)


def path(name: str) -> Path:
    """Return where a sample file is.

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
    for known in NAMES:
        if name in (known, known.rpartition(".")[0]):
            return _folder() / known
    raise UnknownNameError("sample", name, NAMES)


@cache
def _folder() -> Path:
    """Return the folder as real files, unpacked until the program ends if the package is in an archive."""
    return _open_files.enter_context(resources.as_file(resources.files(__name__)))
