"""Mutated glTF files: bytes cut and swapped, and JSON whose values are replaced by odd ones."""

from __future__ import annotations

import copy
import functools
import json
import warnings

import numpy as np
import pytest

from poise.errors import FileError, UnsupportedError
from poise.io.formats import gltf
from tests.io.fuzzing import mutated, number, until_time_is_up
from tests.io.gltf_samples import arm, arm_arrays, content, glb, saved_arm, with_arrays
from tests.timeouts import no_hang

pytestmark = pytest.mark.long

ODD = (
    None, True, False, -1, 0, 1, 2, 3, 5, 2**31, 2**32 - 1, 2**64, 10**400, 1e300, -1e-300, 0.5, "", "x", "../a",
)  # fmt: skip
ODDER = ([], {}, [0], [1, 1], [None], {"node": 1}, {"poise": {}}, [[[]]], "CUBICSPLINE", "MAT4", 5121, 5126)


def odd(chance):
    """A value that may stand where another one should."""
    which = chance.randrange(3)
    if which == 2:
        return [number(chance, -2, 2) for _ in range(chance.randint(0, 4))]
    return copy.deepcopy(chance.choice((ODD, ODDER)[which]))  # a later change may go inside


def places(value, path=()) -> list[tuple]:
    """Every place in a JSON value."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += places(inner, (*path, key))
    return found


@functools.cache
def rich() -> tuple[dict, bytes]:
    """The arm with extras, an extension, a sparse accessor and a mesh."""
    document, data = with_arrays(arm(), arm_arrays())
    limit = {"range": [-1, 1], "axis": [0, 0, 1]}
    rest = {"translation": [0, 1, 0], "rotation": [0, 0, 0, 1]}
    document["nodes"][0]["extras"] = {"poise": {"kind": "free", "rest": rest}}
    document["nodes"][1]["extras"] = {"poise": {"rest": rest, "limit": limit, "order": "ZXY"}}
    document["nodes"] += [
        {"extras": {"poise": {"kind": "hinge", "axis": [0, 0, 1], "value": 7.0, "limit": {"range": [0, 9]}}}},
        {"extras": {"poise": {"kind": "slide", "axis": [1, 0, 0], "coupling": {"node": 3, "ratio": 2, "offset": 1}}}},
        {"matrix": np.eye(4).ravel().tolist()},
    ]
    document["nodes"][2]["children"] = [3, 4]
    document["extensions"] = {"VRM": {"humanoid": {"humanBones": [{"bone": "hips", "node": 0}]}}}
    document["meshes"] = [{"primitives": [{"attributes": {"POSITION": 3}}]}]
    document["accessors"][3]["sparse"] = {
        "count": 1,
        "indices": {"bufferView": 1, "componentType": 5121, "byteOffset": 0},
        "values": {"bufferView": 3},
    }
    return document, data


def check(data: bytes, path) -> bool:
    """Read mutated bytes; what loads is finite, saves, and reads back as the same."""
    path.write_bytes(data)
    try:
        with no_hang():
            rig = gltf.read(path)
    except FileError as error:
        rig = None
        assert str(error).startswith(str(path))  # noqa: PT017  (a rig would be right as well)
        assert len(str(error)) < 20_000  # noqa: PT017
    if rig is None:
        return False
    assert np.isfinite(rig.pose.q).all()
    assert len(set(rig.skeleton.names)) == len(rig.skeleton)
    for clip in rig.clips:
        assert np.isfinite(clip.poses.q).all()
    same = path.with_name("same.glb")
    try:
        gltf.write(rig, same, rig.skeleton)
    except (UnsupportedError, FileError) as error:  # a number or a mesh's buffer that reading had no need of
        assert "too large" in str(error) or "take along buffers" in str(error)  # noqa: PT017  (saving is right too)
        return True
    assert gltf.read(same).skeleton == rig.skeleton
    if data[:4] == b"glTF":
        assert content(same)[0] == content(path)[0]
    return True


def run(make, path) -> tuple[int, int]:
    """Run for the time that the environment gives; return how many loaded and how many were refused."""
    counts = {True: 0, False: 0}

    def body(data: bytes) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            counts[check(data, path)] += 1

    until_time_is_up(make, body)
    return counts[True], counts[False]


def changed_json(chance):
    document, data = rich()
    document = copy.deepcopy(document)
    for _ in range(chance.randint(1, 3)):
        *inner, last = chance.choice(places(document))
        place = document
        for key in inner:
            place = place[key]
        if chance.random() < 0.5:
            place[last] = odd(chance)
        else:
            del place[last]
    if chance.randrange(6) == 0:
        data = data[: chance.randint(0, len(data))]
    return glb(document, data)


def test_changed_json(tmp_path):
    rigs, refused = run(changed_json, tmp_path / "a.glb")
    assert min(rigs, refused) > 0  # else one of the two was not tried


def test_mutated_bytes(data, tmp_path):
    seeds = [
        (data / "glb" / "simple_skin.gltf").read_bytes(),
        (data / "bad_inputs" / "gltf_negative_scale.gltf").read_bytes(),
        saved_arm(tmp_path / "seed.glb").read_bytes(),
        glb(*rich()),
        json.dumps(rich()[0]).encode(),
    ]
    rigs, refused = run(mutated(seeds), tmp_path / "a.glb")
    assert min(rigs, refused) > 0


def test_the_seed_loads(tmp_path):
    assert check(glb(*rich()), tmp_path / "a.glb")
