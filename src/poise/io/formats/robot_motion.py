"""Robot motion as npz, in the layout of robot learning libraries.

`poise.save(clip, "walk.npz")` writes it; `poise.load_motion` reads it.

Joint values do not describe bones, so reading needs the robot; see `poise.io.robot_motion`.
"""

from __future__ import annotations

from pathlib import Path

from poise.errors import join_names
from poise.io.robot_motion import HEIGHT_NAMES, VALUE_NAMES, list_array_names, write_motion
from poise.model.rig import Saveable
from poise.model.skeleton import Skeleton

NAME = "robot motion"
SUFFIXES = (".npz",)
HAS_SINGLE_CLIP = True
UNSUPPORTED_HINT = "their values need a robot: poise.load_motion(FILE, rig)"


def write(content: Saveable, path: Path, source_skeleton: Skeleton) -> None:  # noqa: ARG001  (required by the protocol; there is no document to keep)
    """Write a clip, or a rig's only clip. UnsupportedError for poses and for frames that are not evenly spaced."""
    write_motion(content, path)


def describe_other_content(path: Path) -> str | None:
    """Describe the content of an npz file without motion. None for a motion; FileError for a file that is not npz."""
    names = list_array_names(path)
    if not set(HEIGHT_NAMES).isdisjoint(names):
        return f"it holds a height map: poise plant CLIP --terrain {path.name}, or poise.Terrain.heightmap(FILE)"
    if set(VALUE_NAMES).isdisjoint(names):
        return f"it holds no skeleton, no robot motion and no height map; its arrays: {join_names(names)}"
    return None
