"""Robot motion as npz, in the layout of robot learning libraries.

`poise.save(clip, "walk.npz")` writes it; `poise.load_motion` reads it.

Joint values do not describe bones, so reading needs the robot; see `poise.io.robot_motion`.
"""

from __future__ import annotations

from pathlib import Path

from poise.errors import listed
from poise.io.motion.archive import HEIGHTS, names_in
from poise.io.motion.from_npz import VALUES
from poise.io.motion.write import write_motion
from poise.model.rig import Saveable
from poise.model.skeleton import Skeleton

NAME = "robot motion"
SUFFIXES = (".npz",)
ONE_CLIP = True
INSTEAD = "their values need a robot: poise.load_motion(FILE, rig)"


def write(thing: Saveable, path: Path, like: Skeleton) -> None:  # noqa: ARG001  (required by the protocol; there is no document to keep)
    """Write a clip, or a rig's only clip. UnsupportedError for poses and for frames that are not evenly spaced."""
    write_motion(thing, path)


def holds_else(path: Path) -> str | None:
    """Describe the content of an npz file without motion. None for a motion; FileError for a file that is not npz."""
    names = names_in(path)
    if not set(HEIGHTS).isdisjoint(names):
        return f"it holds a height map: poise plant CLIP --terrain {path.name}, or poise.Terrain.heightmap(FILE)"
    if set(VALUES).isdisjoint(names):
        return f"it holds no skeleton, no robot motion and no height map; its arrays: {listed(names)}"
    return None
