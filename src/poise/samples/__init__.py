"""Small rigs that come with Poise: a skinned humanoid with a walk (GLB, BVH), a six-axis robot arm (URDF),
20 m of gentle hills as a height map (npz, metres).

Made by scripts/make_samples.py of the source repository, from numbers only.
"""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from poise.errors import UnknownNameError

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("humanoid.glb", "humanoid.bvh", "arm.urdf", "hills.npz")

_open_files = ExitStack()
atexit.register(_open_files.close)


def path(name: str) -> Path:
    """Return where a sample is: `poise.load(samples.path("humanoid.glb"))`, or
    `poise.Terrain.heightmap(samples.path("hills.npz"))`. The name may leave out its suffix.

    An unknown name is an UnknownNameError that lists what exists.
    """
    for known in NAMES:
        if name in (known, known.rpartition(".")[0]):
            return _folder() / known
    raise UnknownNameError("sample", name, NAMES)


@cache
def _folder() -> Path:
    """Return the folder as real files, unpacked until the program ends if the package is in an archive."""
    return _open_files.enter_context(resources.as_file(resources.files(__name__)))
