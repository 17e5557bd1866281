"""Bone joints of a rig, and the direction of each bone."""

from __future__ import annotations

import numpy as np

from poise.io.gltf.container import GltfDocument
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton

_STUB = 0.35  # length of a leaf as a fraction of the bone into it
_LONGEST_STUB = 0.06  # largest length of a leaf, as a fraction of the character's size
_SHORT = 1e-6  # shorter bones count as zero, as a fraction of the character's size
_NOT_BONES = ("mesh", "camera", "skin")
_INNERMOST = ("spine", "chest", "upperChest", "neck", "head", "LowerArm", "Hand", "LowerLeg", "Foot", "Toes")


def shown_rows(rig: Rig) -> Bools:
    """Find the bone joints (n,) of a rig. Nodes with meshes and nodes above the skeleton are none."""
    skeleton = rig.skeleton
    document = skeleton.source
    if not isinstance(document, GltfDocument):
        return np.ones(len(skeleton), dtype=np.bool_)
    nodes = document.container.json.get("nodes", [])
    skinned = {skeleton.index(name) for skin in rig.skins for name in skin.joints}
    shown = np.zeros(len(skeleton), dtype=np.bool_)
    for row, parent in enumerate(skeleton.parents.tolist()):
        solid = any(key in nodes[int(str(skeleton.source_ids[row]))] for key in _NOT_BONES)
        below = parent >= 0 and bool(shown[parent])
        moves = skeleton.kinds[row] != Kind.FIXED
        shown[row] = row in skinned or (not solid and (below or (moves and not skinned)))
    return shown if shown.any() else np.ones(len(skeleton), dtype=np.bool_)


def size_of(skeleton: Skeleton, shown: Bools) -> float:
    """Measure the extent of the bones at rest [file units]. It is 1 for a single point."""
    return extent_of(Pose(skeleton, skeleton.rest_q).world.positions[shown])


def extent_of(points: Floats) -> float:
    """Measure the largest extent of points (k, 3). It is 1 for at most one point."""
    extent = float(np.ptp(points, axis=0).max()) if len(points) else 0.0
    return extent if extent > 0.0 else 1.0


def bones_of(skeleton: Skeleton, shown: Bools, roles: dict[str, str], size: float, up: str) -> Floats:
    """Compute the bone vector (n, 3) of each joint.

    It leads to the next joint of the chain, in the joint's own frame after its rotation.

    A leaf continues the bone into it for a short length.
    """
    world = Pose(skeleton, skeleton.rest_q).world
    places, turns = world.positions, world.rotations
    bones = np.zeros((len(skeleton), 3))
    for row in range(len(skeleton)):
        child = _next(skeleton, row, shown, roles, places, _SHORT * size)
        bones[row] = places[child] - places[row] if child >= 0 else _stub(skeleton, row, places, size, up)
    return rotations.rotate(rotations.inverse(turns), bones)


def _next(skeleton: Skeleton, row: int, shown: Bools, roles: dict[str, str], places: Floats, short: float) -> int:
    """Find the next joint of a chain, or -1 for a leaf."""
    children = [child for child in skeleton.children[row] if shown[child] or not shown[row]]
    away = [child for child in children if np.linalg.norm(places[child] - places[row]) > short]
    for child in away:
        if roles.get(skeleton.names[child], "").removeprefix("left").removeprefix("right") in _INNERMOST:
            return child
    long = [child for child in away if any(shown[below] for below in skeleton.children[child])]
    candidates = long or away
    if len(candidates) < 2:  # noqa: PLR2004
        return candidates[0] if candidates else -1
    came = _came(skeleton, row, places, short)
    if came is None:  # a root: the child with the longest chain below it
        return max(candidates, key=lambda child: int(skeleton.moving_depth[child]))
    return max(candidates, key=lambda child: _cosine(places[child] - places[row], came))


def _came(skeleton: Skeleton, row: int, places: Floats, short: float) -> Floats | None:
    """Find the bone vector into a joint. It starts at the nearest ancestor with another position."""
    above = int(skeleton.parents[row])
    while above >= 0:
        bone = places[row] - places[above]
        if np.linalg.norm(bone) > short:
            return bone
        above = int(skeleton.parents[above])
    return None


def _stub(skeleton: Skeleton, row: int, places: Floats, size: float, up: str) -> Floats:
    came = _came(skeleton, row, places, _SHORT * size)
    if came is None:
        return 0.5 * _LONGEST_STUB * size * np.eye(3)["xyz".index(up)]
    length = float(np.linalg.norm(came))
    return came * min(_STUB, _LONGEST_STUB * size / length)


def _cosine(a: Floats, b: Floats) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
