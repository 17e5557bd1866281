"""glTF 2.0: `.gltf`, `.glb` and `.vrm`.

Every node becomes a joint, A = T . R and B = scale. Data without a glTF property (rest beside a pose, limits, kinds of
joints) is in `node.extras.poise`; see `poise.io.gltf.node_extras`. Meshes, materials and images are never decoded;
saving keeps them unchanged.
"""

from __future__ import annotations

from pathlib import Path

from poise.io.files import read_bytes, write_checked
from poise.io.free_root_export import strip_free_root
from poise.io.gltf.reader import read_gltf_rig
from poise.io.gltf.writer import encode_gltf
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Skeleton

NAME = "glTF"
SUFFIXES = (".gltf", ".glb", ".vrm")


def read(path: Path) -> Rig:
    """Read a document: nodes, skins, animations and the VRM map. Only FileError leaves this function."""
    return read_gltf_rig(path, read_bytes(path))


def write(content: Saveable, path: Path, source_skeleton: Skeleton) -> None:
    """Write a rig, a clip or a pose. See `poise.io.gltf.writer`.

    UnsupportedError for content that glTF cannot hold or that `read` would refuse, FileError for a file that cannot be
    written.
    """
    write_checked(path, encode_gltf(strip_free_root(content), path, source_skeleton.without_free_root), read_gltf_rig)
