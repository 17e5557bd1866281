"""The bundled humanoid as GLB, BVH and sidecar: bytes that are the same wherever they are made.

Numbers are rounded to a few decimals before they are stored, so that the last bit of a machine's sine
cannot show.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
from figure_mesh import skin, texture
from sample_figure import FPS, FRAMES, NAMES, OFFSETS, PARENTS, POSITIONS, ROW, Floats, end_of, walk
from sample_mesh import humanoid

from poise.maths import rotations

_FLOAT, _BYTE, _SHORT = 5126, 5121, 5123
_SHAPES = {(): "SCALAR", (2,): "VEC2", (3,): "VEC3", (4,): "VEC4", (4, 4): "MAT4"}
_VERTICES, _INDICES = 34962, 34963


class _Buffer:
    """The binary part of a GLB with its views and accessors."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []

    def add_image(self, contents: bytes) -> int:
        """Store an image and return the index of its view."""
        self.views.append({"buffer": 0, "byteOffset": len(self.data), "byteLength": len(contents)})
        self.data += contents + bytes(-len(contents) % 4)
        return len(self.views) - 1

    def add(self, array: Any, *, target: int | None = None, bounds: bool = False, normalised: bool = False) -> int:
        """Store an array and return the index of its accessor."""
        array = np.asarray(array)
        if array.dtype == np.float64:
            array = (np.round(array, 7) + 0.0).astype(np.float32)  # + 0.0: no negative zeros
        view: dict[str, Any] = {"buffer": 0, "byteOffset": len(self.data), "byteLength": array.nbytes}
        if target:
            view["target"] = target
        accessor: dict[str, Any] = {
            "bufferView": len(self.views),
            "componentType": {"f": _FLOAT, "B": _BYTE, "H": _SHORT}[array.dtype.char],
            "count": len(array),
            "type": _SHAPES[array.shape[1:]],
        }
        if normalised:
            accessor["normalized"] = True
        if bounds:
            accessor |= {key: np.atleast_1d(f(array, axis=0)).tolist() for key, f in (("min", np.min), ("max", np.max))}
        self.data += array.tobytes() + bytes(-array.nbytes % 4)
        self.views.append(view)
        self.accessors.append(accessor)
        return len(self.accessors) - 1


def glb() -> bytes:
    """Make the skinned figure with its walk."""
    buffer = _Buffer()
    document = {
        "asset": {"version": "2.0", "generator": "poise: scripts/make_samples.py"},
        "scene": 0,
        "scenes": [{"name": "Scene", "nodes": [0, len(NAMES)]}],
        "nodes": [*_nodes(), {"name": "Body", "mesh": 0, "skin": 0}],
        "meshes": [{"name": "Body", "primitives": [_primitive(buffer)]}],
        "materials": [{"name": "Clay", "pbrMetallicRoughness": {
            "baseColorFactor": [0.55, 0.66, 0.74, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.85}}],
        "skins": [{"name": "Humanoid", "skeleton": 0, "joints": list(range(len(NAMES))),
                   "inverseBindMatrices": buffer.add(_inverse_bind())}],
        "animations": [_animation(buffer)],
        "accessors": buffer.accessors,
        "bufferViews": buffer.views,
        "buffers": [{"byteLength": len(buffer.data)}],
    }  # fmt: skip
    return _pack(document, buffer)


def figure() -> bytes:
    """Make the viewer's figure: the same bones in clothes, at rest."""
    buffer = _Buffer()
    mesh = skin()
    attributes = {
        "POSITION": buffer.add(np.round(mesh.positions, 4), target=_VERTICES, bounds=True),
        "NORMAL": buffer.add(np.round(mesh.normals, 2), target=_VERTICES),
        "TEXCOORD_0": buffer.add(np.round(mesh.uv, 3), target=_VERTICES),
        "JOINTS_0": buffer.add(mesh.joints, target=_VERTICES),
        "WEIGHTS_0": buffer.add(mesh.weights, target=_VERTICES, normalised=True),
    }
    primitive = {
        "attributes": attributes, "indices": buffer.add(mesh.triangles.ravel(), target=_INDICES), "material": 0
    }  # fmt: skip
    document = {
        "asset": {"version": "2.0", "generator": "poise: scripts/make_samples.py"},
        "scene": 0,
        "scenes": [{"name": "Scene", "nodes": [0, len(NAMES)]}],
        "nodes": [*_nodes(), {"name": "Body", "mesh": 0, "skin": 0}],
        "meshes": [{"name": "Body", "primitives": [primitive]}],
        "materials": [{"name": "Clothes", "pbrMetallicRoughness": {
            "baseColorTexture": {"index": 0}, "metallicFactor": 0.0, "roughnessFactor": 0.9}}],
        "textures": [{"source": 0, "sampler": 0}],
        "samplers": [{"magFilter": 9729, "minFilter": 9987, "wrapS": 33071, "wrapT": 33071}],
        "images": [{"name": "Clothes", "mimeType": "image/png", "bufferView": buffer.add_image(texture())}],
        "skins": [{"name": "Humanoid", "skeleton": 0, "joints": list(range(len(NAMES))),
                   "inverseBindMatrices": buffer.add(_inverse_bind())}],
        "accessors": buffer.accessors,
        "bufferViews": buffer.views,
        "buffers": [{"byteLength": len(buffer.data)}],
    }  # fmt: skip
    return _pack(document, buffer)


def _pack(document: dict[str, Any], buffer: _Buffer) -> bytes:
    """Pack a GLB."""
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    chunks += struct.pack("<II", len(buffer.data), 0x004E4942) + bytes(buffer.data)
    return struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks


def _nodes() -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = []
    for i, name in enumerate(NAMES):
        node: dict[str, Any] = {"name": name, "translation": np.round(OFFSETS[i], 6).tolist()}
        children = [child for child, parent in enumerate(PARENTS) if parent == i]
        nodes.append(node | ({"children": children} if children else {}))
    return nodes


def _primitive(buffer: _Buffer) -> dict[str, Any]:
    mesh = humanoid()
    return {
        "attributes": {
            "POSITION": buffer.add(mesh.positions, target=_VERTICES, bounds=True),
            "NORMAL": buffer.add(mesh.normals, target=_VERTICES),
            "JOINTS_0": buffer.add(mesh.joints, target=_VERTICES),
            "WEIGHTS_0": buffer.add(mesh.weights, target=_VERTICES, normalised=True),
        },
        "indices": buffer.add(mesh.triangles.ravel(), target=_INDICES),
        "material": 0,
    }


def _inverse_bind() -> Floats:
    """Inverse bind matrices, stored column by column: translations by minus the joints' positions."""
    matrices = np.tile(np.eye(4), (len(NAMES), 1, 1))
    matrices[:, 3, :3] = -POSITIONS
    return matrices


def _animation(buffer: _Buffer) -> dict[str, Any]:
    local, hips = walk()
    times = buffer.add(np.arange(FRAMES) / FPS, bounds=True)
    outputs = [("translation", 0, hips)]
    outputs += [("rotation", i, np.roll(local[:, i], -1, axis=-1)) for i in range(len(NAMES))]  # glTF: x y z w
    return {
        "name": "walk",
        "channels": [
            {"sampler": k, "target": {"node": node, "path": path}} for k, (path, node, _) in enumerate(outputs)
        ],
        "samplers": [{"input": times, "output": buffer.add(values)} for _, _, values in outputs],
    }


def bvh() -> bytes:
    """Make the same skeleton and walk as BVH, in metres, rotations in the order Z X Y."""
    local, hips = walk()
    lines = ["HIERARCHY"]
    order: list[int] = []
    stack: list[tuple[int, int]] = [(0, 0)]  # (row, depth); row -1 closes a brace
    while stack:
        i, depth = stack.pop()
        pad = "\t" * depth
        if i < 0:
            lines.append(f"{pad}}}")
            continue
        order.append(i)
        lines += _joint_lines(i, pad)
        children = [child for child, parent in enumerate(PARENTS) if parent == i]
        stack.append((-1, depth))
        stack += [(child, depth + 1) for child in reversed(children)]
    lines += ["MOTION", f"Frames: {FRAMES}", f"Frame Time: {1 / FPS:.7f}"]
    angles = np.degrees(_zxy(rotations.as_matrix(local)))[:, order].reshape(FRAMES, -1)
    lines += [_numbers(row) for row in np.concatenate([hips, angles], axis=-1)]
    return ("\n".join(lines) + "\n").encode()


def _joint_lines(i: int, pad: str) -> list[str]:
    positions = "" if i else "Xposition Yposition Zposition "
    lines = [
        f"{pad}{'JOINT' if i else 'ROOT'} {NAMES[i]}",
        f"{pad}{{",
        f"{pad}\tOFFSET {_numbers(OFFSETS[i])}",
        f"{pad}\tCHANNELS {3 if i else 6} {positions}Zrotation Xrotation Yrotation",
    ]
    end = end_of(NAMES[i])
    if end:
        lines += [f"{pad}\tEnd Site", f"{pad}\t{{", f"{pad}\t\tOFFSET {_numbers(np.array(end))}", f"{pad}\t}}"]
    return lines


def _numbers(values: Floats) -> str:
    return " ".join(f"{value:.6f}" for value in np.round(values, 6) + 0.0)


def _zxy(m: Floats) -> Floats:
    """Angles [rad] (..., 3) z, x, y of rotation matrices: m = Rz Rx Ry; the figure keeps clear of x = +-90 deg."""
    z = np.arctan2(-m[..., 0, 1], m[..., 1, 1])
    x = np.arcsin(np.clip(m[..., 2, 1], -1.0, 1.0))
    y = np.arctan2(-m[..., 2, 0], m[..., 2, 2])
    return np.stack([z, x, y], axis=-1)


def sidecar() -> bytes:
    """Make the chains and ranges of both humanoid files."""
    lines = [
        "# Chains and ranges of humanoid.glb and humanoid.bvh. Axes are in each joint's rest frame.",
        "",
        "[chains]",
    ]
    for limb, root, tip in (("arm", "Arm", "Hand"), ("leg", "UpLeg", "Foot")):
        lines += [f'{s.lower()}_{limb} = {{ root = "{s}{root}", tip = "{s}{tip}" }}' for s in ("Left", "Right")]
    hinges = [
        ("LeftForeArm", "[0, -1, 0]", "brings the hand forwards"),
        ("RightForeArm", "[0, 1, 0]", "brings the hand forwards"),
        ("LeftLeg", "[1, 0, 0]", "brings the shin backwards"),
        ("RightLeg", "[1, 0, 0]", "brings the shin backwards"),
    ]
    for name, axis, what in hinges:
        assert name in ROW
        lines += ["", f"[joints.{name}]", f"axis = {axis}  # {what}", "range_deg = [0, 150]"]
    return ("\n".join(lines) + "\n").encode()
