"""Small glTF documents for the tests, made from plain dicts, and poses to put into them."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from poise.io.formats import gltf
from poise.maths import rotations
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind

FILES = (
    "cesium_man.gltf", "cryptovoxels.vrm", "fox.glb", "fox_anims_m2m.glb", "hand_left_webxr.glb", "human_anim_m2m.glb",
    "human_female_m2m.glb", "knight_kaykit.glb", "mannequiny_gdquest.glb", "mixamo_human_makehuman.glb",
    "rigged_simple.gltf", "robot_quaternius.glb", "simple_skin.gltf",
)  # fmt: skip
HALF = 0.5**0.5


def arm(**changes) -> dict:
    """Shoulder, elbow, hand, skinned, with one animation: linear turn, stepped way, spline scale; no buffer yet."""
    document = {
        "asset": {"version": "2.0"},
        "nodes": [
            {"name": "shoulder", "translation": [0, 1, 0], "rotation": [0, 0, HALF, HALF], "children": [1]},
            {"name": "elbow", "translation": [0, 2, 0], "children": [2]},
            {"name": "hand", "translation": [0, 1.5, 0], "scale": [1, 2, 3]},
        ],
        "skins": [{"joints": [0, 1, 2], "inverseBindMatrices": 0}],
        "animations": [
            {
                "name": "wave",
                "samplers": [
                    {"input": 1, "output": 2},
                    {"input": 1, "output": 3, "interpolation": "STEP"},
                    {"input": 1, "output": 4, "interpolation": "CUBICSPLINE"},
                ],
                "channels": [
                    {"sampler": 0, "target": {"node": 1, "path": "rotation"}},
                    {"sampler": 1, "target": {"node": 0, "path": "translation"}},
                    {"sampler": 2, "target": {"node": 2, "path": "rotation"}},
                ],
            }
        ],
    }
    return document | changes


def arm_arrays() -> list[np.ndarray]:
    """Bind matrices, times, turns, ways, spline keys of `arm`."""
    identity = np.eye(4).T.reshape(1, 16).repeat(3, axis=0)
    spline = np.zeros((6, 4))
    spline[1], spline[4] = [0, 0, 0, 2], [0, 0, HALF, HALF]
    spline[2], spline[3] = [0, 0, 0.1, 0], [0, 0, 0.3, 0]
    return [
        identity,
        np.array([[0.5], [1.5]]),
        np.array([[0, 0, 0, 1], [0, HALF, 0, HALF]]),
        np.array([[0, 1, 0], [3, 1, 0]]),
        spline,
    ]


def with_arrays(document: dict, arrays: list[np.ndarray]) -> tuple[dict, bytes]:
    """Add an accessor per array, each in a view of its own, and return the bytes of the buffer."""
    shapes = {1: "SCALAR", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
    data, views, accessors = b"", [], []
    for i, array in enumerate(arrays):
        content = np.asarray(array, "<f4").tobytes()
        views.append({"buffer": 0, "byteOffset": len(data), "byteLength": len(content)})
        accessors.append({"bufferView": i, "componentType": 5126, "count": len(array), "type": shapes[array.shape[1]]})
        data += content
    document = document | {"bufferViews": views, "accessors": accessors, "buffers": [{"byteLength": len(data)}]}
    return document, data


def glb(document: dict | bytes, data: bytes | None = None) -> bytes:
    """Pack a GLB file."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    body = struct.pack("<II", len(text), 0x4E4F534A) + text
    if data is not None:
        data += b"\0" * (-len(data) % 4)
        body += struct.pack("<II", len(data), 0x004E4942) + data
    return struct.pack("<4sII", b"glTF", 2, len(body) + 12) + body


def unglb(data: bytes) -> tuple[dict, bytes]:
    """Split a GLB file into its JSON and BIN, independently of the reader."""
    length = struct.unpack_from("<I", data, 12)[0]
    return json.loads(data[20 : 20 + length]), data[28 + length :]


def content(path: Path) -> tuple[dict, bytes]:
    """JSON and first buffer of a file of either kind."""
    data = path.read_bytes()
    if data[:4] == b"glTF":
        return unglb(data)
    document = json.loads(data)
    uri = (document.get("buffers") or [{}])[0].get("uri", ",")
    return document, base64.b64decode(uri.split(",", 1)[1]) if uri.startswith("data:") else b""


def saved(path: Path, document: dict, data: bytes | None = None) -> Path:
    """Write a document as GLB, or as JSON with a data URI, by the suffix."""
    if path.suffix == ".gltf":
        if data is not None:
            uri = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
            document = document | {"buffers": [{"byteLength": len(data), "uri": uri}]}
        path.write_text(json.dumps(document))
    else:
        path.write_bytes(glb(document, data))
    return path


def saved_arm(path: Path, **changes) -> Path:
    """Write the arm with its arrays."""
    return saved(path, *with_arrays(arm(**changes), arm_arrays()))


# --- poses -------------------------------------------------------------------------------------------


def turned(pose: Pose, seed: int = 0) -> Pose:
    """Every ball joint turned at random."""
    s, q = pose.skeleton, pose.q.copy()
    rows = np.flatnonzero(s.kinds == Kind.BALL)
    turns = rotations.normalise(np.random.default_rng(seed).normal(size=(len(rows), 4)))
    q[s.q_start[rows][:, None] + np.arange(4)] = turns
    return pose.with_q(q)


def turn_between(a: Pose, b: Pose) -> float:
    """Largest difference of two poses' local rotations, q and -q being the same."""
    p, q = a.local_rotations, b.local_rotations
    return np.abs(p * np.sign((p * q).sum(axis=-1, keepdims=True)) - q).max()


def again(thing, path: Path, skeleton) -> Rig:
    """Save a thing and load it again."""
    gltf.write(thing, path, skeleton)
    return gltf.read(path)


def places(document):
    """World positions by node name, composed from the JSON's nodes alone, as any other program does it."""
    found, nodes = {}, document["nodes"]

    def visit(i, above):
        matrix = np.eye(4)
        turn = Rotation.from_quat(nodes[i].get("rotation", [0, 0, 0, 1])).as_matrix()
        matrix[:3, :3] = turn @ np.diag(nodes[i].get("scale", [1, 1, 1]))
        matrix[:3, 3] = nodes[i].get("translation", [0, 0, 0])
        found[nodes[i]["name"]] = (above @ matrix)[:3, 3]
        for child in nodes[i].get("children", []):
            visit(child, above @ matrix)

    for root in document["scenes"][document["scene"]]["nodes"]:
        visit(root, np.eye(4))
    return found
