"""FBX files that are broken or hostile: a sentence, or a rig whose numbers are finite; soon, and in little memory."""

from __future__ import annotations

import struct
import time
import warnings
import zlib

import numpy as np
import pytest

import poise
from poise.io import samples
from tests.io.fbx_samples import SECOND, fbx, node
from tests.timeouts import NO_HANG
from tests.workload import amount

pytest.importorskip("ufbx")

LIMB = [node("hip"), node("knee", "hip", LclTranslation=(0, -4, 0)), node("foot", "knee", LclTranslation=(0, -3, 0))]
TURN = {("knee", "R", "X"): [(0, 0), (1, 90)]}
GOOD = fbx(LIMB, [("t", 0, 1, TURN)])
HEAD = b"Kaydara FBX Binary  \x00\x1a\x00" + struct.pack("<I", 7400)


def record(end, properties, length, name=b"Objects", content=b""):
    """A record of the binary form, whose numbers may lie."""
    return HEAD + struct.pack("<IIIB", end, properties, length, len(name)) + name + content


def array(count, encoding, size, content=b""):
    """A record with an array of doubles, whose numbers may lie."""
    return record(2000, 1, 13 + len(content), b"a", b"d" + struct.pack("<III", count, encoding, size) + content)


def replaced(old, new):
    assert old.encode() in GOOD
    return GOOD.replace(old.encode(), new.encode())


REFUSED = {
    "nothing": (b"", "the file is empty"),
    "a head alone": (HEAD, "ufbx cannot read it"),
    "a record that ends beyond": (record(2**32 - 1, 0, 0), "ufbx cannot read it"),
    "a record that ends before": (record(5, 0, 0), "ufbx cannot read it"),
    "a billion properties": (record(500, 10**9, 12), "ufbx cannot read it"),
    "an array that lies": (array(2**32 - 1, 0, 8, bytes(8)), "ufbx cannot read it"),
    "an array that unpacks to more": (array(1, 1, 40, zlib.compress(bytes(10**6))[:40]), "ufbx cannot read it"),
    "another encoding": (array(1, 7, 8, bytes(8)), "ufbx cannot read it"),
    "random bytes after the head": (HEAD + np.random.default_rng(0).bytes(5000), "ufbx cannot read it"),
    "text alone": (b"; FBX 7.4.0 project file\n", "unsupported version"),
    "no nodes": (fbx([]), "there is no skeleton in it: none of its 0 nodes"),
    "cameras alone": (
        fbx([node("a", "", "Camera"), node("b", "a", "Camera")]),
        "none of its 2 nodes is a bone or rotates",
    ),
    "a GLB": (samples.path("humanoid.glb").read_bytes(), "it looks like a GLB file"),
    "a BVH": (samples.path("humanoid.bvh").read_bytes(), "it looks like a BVH file"),
    "an OBJ": (b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "it is not an FBX file"),
    "places too large": (fbx([node("a", LclTranslation=(1e300, 0, 0)), node("b", "a")]), "number too large"),
    "scales that overflow": (
        fbx([node(f"n{i}", f"n{i - 1}" if i else "", LclScaling=(1e90, 1, 1)) for i in range(5)]),
        "its position in the world is too large",
    ),
    "a take of a thousand years": (fbx(LIMB, [("t", 0, 1e8, TURN)]), "too long: of all takes together 2,000,000"),
    "many long takes": (fbx(LIMB, [(f"t{i}", 0, 5e3, TURN) for i in range(20)]), "is too long"),
}
EITHER = {  # which of the two it is, is ufbx's business; what it must not be is a hang, a crash, a NaN
    "NaN": fbx([node("a", LclTranslation=(float("nan"), 0, 0)), node("b", "a")]),
    "infinity": fbx([node("a", LclTranslation=(float("inf"), 0, 0)), node("b", "a")]),
    "infinite angles": fbx([node("a", LclRotation=(1e308, 1e308, 1e308)), node("b", "a")]),
    "NaN in a curve": replaced("90.0", "nan"),
    "infinity in a curve": replaced("90.0", "1e999"),
    "a curve without values": replaced("*2 {\n\t\t\ta: 0.0,90.0", "*2 {\n\t\t\ta: 0.0"),
    "a curve with a lying count": replaced("KeyTime: *2", "KeyTime: *999999999"),
    "times that go back": replaced(f"a: 0,{SECOND}", f"a: {SECOND},0"),
    "the largest times": replaced(f'"Time", "",{SECOND}', f'"Time", "",{2**63 - 1}'),
    "a take that ends first": fbx(LIMB, [("t", 1, 0, TURN)]),
    "its own parent": replaced('C: "OO",1000,0', 'C: "OO",1000,1000'),
    "a circle of parents": replaced('C: "OO",1000,0', 'C: "OO",1000,1002'),
    "two parents": replaced('C: "OO",1002,1001', 'C: "OO",1002,1001\n\tC: "OO",1002,1000'),
    "a parent that is not there": replaced('C: "OO",1001,1000', 'C: "OO",1001,77'),
    "one number twice": replaced("Model: 1001", "Model: 1000"),
    "names that are no UTF-8": GOOD.replace(b"knee", b"kn\xff\xfe"),
    "a name of a megabyte": GOOD.replace(b"Model::foot", b"Model::" + b"x" * 10**6),
    "names twice": GOOD.replace(b"Model::foot", b"Model::knee"),
    "no names": GOOD.replace(b"Model::foot", b"Model::").replace(b"Model::knee", b"Model::"),
    "a frame rate of nothing": fbx(LIMB, [("t", 0, 1, TURN)], settings=[("TimeMode", 14), ("CustomFrameRate", 0.0)]),
    "a frame rate of a billion": fbx(LIMB, [("t", 0, 1, TURN)], settings=[("TimeMode", 14), ("CustomFrameRate", 1e9)]),
    "a unit of zero": fbx(LIMB, settings=[("UnitScaleFactor", 0.0)]),
    "a unit of NaN": fbx(LIMB, settings=[("UnitScaleFactor", float("nan"))]),
    "axes that do not exist": fbx(LIMB, settings=[("UpAxis", 7), ("FrontAxis", -3)]),
    "scales of zero": fbx([node("a", LclScaling=(0, 0, 0)), node("b", "a", LclTranslation=(1, 0, 0))]),
    "limits that are empty": fbx([node("a", RotationMin=(9, 0, 0), RotationMinX=True, RotationMaxX=True)]),
    "limits that are NaN": fbx([node("a", RotationMin=(float("nan"), 0, 0), RotationMinX=True)]),
    "a rotation order of 99": fbx([node("a", RotationOrder=99), node("b", "a")]),
    "deep brackets": GOOD + b"A: {\n" * 20_000,
}  # fmt: skip


def answer(path):
    """A rig or the sentence that refuses the file, in time."""
    begin = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", poise.PoiseWarning)
        try:
            rig = poise.load(path)
        except poise.FileError as error:
            rig = str(error)
    assert time.monotonic() - begin < NO_HANG
    return rig


def check(rig, path):
    """A sentence is one line about the file; a rig has finite numbers, in its clips, too."""
    if isinstance(rig, str):
        assert rig.startswith(f"{path}: ")
        assert "\n" not in rig
        assert len(rig) < 1000
        return
    assert np.isfinite(rig.rest.world.affine).all()
    for clip in rig.clips:
        assert np.isfinite(clip.poses.world.affine).all()


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what, tmp_path):
    data, words = REFUSED[what]
    path = tmp_path / "a.fbx"
    path.write_bytes(data)
    rig = answer(path)
    assert isinstance(rig, str), rig
    assert words in rig
    check(rig, path)


@pytest.mark.parametrize("what", EITHER)
def test_a_rig_or_a_sentence(what, tmp_path):
    path = tmp_path / "a.fbx"
    path.write_bytes(EITHER[what])
    check(answer(path), path)


@pytest.mark.parametrize("name", ["fbx_truncated", "fbx_header_only", "fbx_node_offset_overflow"])
def test_real_ones(data, name):
    path = data / "bad_inputs" / f"{name}.fbx"
    rig = answer(path)
    assert isinstance(rig, str)
    check(rig, path)


@pytest.mark.long
def test_mutations_of_real_files(data, tmp_path):
    """Bytes that are cut, overwritten and doubled: ufbx must not take this process with it."""
    path, rng = tmp_path / "a.fbx", np.random.default_rng(1)
    real = [(data / "fbx" / f"{name}.fbx").read_bytes() for name in ("huesitos", "cmu_91_49_m2m")]
    refused = 0
    for k in range(amount(50, 150)):
        given = bytearray(real[k % 2])
        for _ in range(rng.integers(1, 8)):
            at = int(rng.integers(len(given)))
            piece = [rng.bytes(4), b"\xff" * 4, b"", bytes(given[at : at + 64]) * 2][k % 4]
            given[at : at + int(rng.integers(1, 64))] = piece
        path.write_bytes(given[: int(rng.integers(1, len(given)))] if k % 10 == 0 else given)
        rig = answer(path)
        check(rig, path)
        refused += isinstance(rig, str)
    assert refused > 0


def test_letters_that_are_no_utf8_are_reported_in_words(tmp_path):
    """What ufbx says of them tells nobody what to do."""
    path = tmp_path / "a.fbx"
    path.write_bytes(GOOD.replace(b"knee", b"kn\xff\xfe"))
    with pytest.warns(poise.PoiseWarning, match="names are not UTF-8, .*: kn\ufffd.*; rename these in the program"):
        poise.load(path)
    path.write_bytes(GOOD + TEXT)
    with warnings.catch_warnings(record=True, action="always") as reported:
        poise.load(path)
    assert not [one for one in reported if "ufbx says" in str(one.message)]


TEXT = b'Takes:  {\n\tCurrent: "\xff\xfe"\n}\n'
