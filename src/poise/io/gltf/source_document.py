"""Source document of a glTF skeleton: file content and its rig."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from poise.io.gltf.container import Container
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.model.pose import Pose


@dataclass(frozen=True, eq=False)
class GltfDocument:
    """Source document of a glTF skeleton, in `Skeleton.source`. It holds the file's content and the rig read from it.

    The JSON is never changed: writing copies the parts that it edits. `pose` is the displayed pose of the nodes,
    `rest_q` the rest before limits; writing compares with both to find changes.
    """

    path: Path
    container: Container
    pose: Pose
    rest_q: Floats
    clips: tuple[Clip, ...]
