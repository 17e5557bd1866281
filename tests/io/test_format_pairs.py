"""A small file of every format that is read, written to every format that is written: other programs read the results.

All forms of glTF go through Khronos' validator. BVH is read by bvhio, URDF by Pinocchio, values by json, csv and NumPy.
`test_bvh_other_libraries` and `test_three_vrm` compare places in files that others have read.
"""

from __future__ import annotations

import csv
import json
import warnings

import numpy as np
import pytest

import poise
from poise.errors import PoiseError, PoiseWarning
from poise.io.registry import list_formats
from poise.model.clip import Clip
from poise.model.pose import Pose
from tests.io.test_gltf_validator import errors, moved, needs_validator

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")]

SOURCES = {
    ".amc": "asf/02_01.amc", ".asf": "asf/02.asf", ".bvh": "bvh/bvhio_example.bvh", ".fbx": "fbx/huesitos.fbx",
    ".gltf": "glb/simple_skin.gltf", ".glb": "glb/fox.glb", ".vrm": "glb/cryptovoxels.vrm", ".xml": "mjcf/humanoid.xml",
    ".urdf": "urdf/ur5.urdf", ".usd": "usd/humanoid_mimickit.usd", ".usda": "usd/skel_lbs.usda",
    ".vrma": "vrma/walk_cmu.vrma",
}  # fmt: skip
SAME = {".mjcf", ".usdc", ".usdz"}  # read by the code of .xml and .usd
GLTF = (".glb", ".gltf", ".vrm", ".vrma")
REFUSED = {
    ".vrma": {".fbx", ".gltf", ".glb", ".xml", ".urdf", ".usda"},  # no person whose bones have roles
    ".urdf": {*SOURCES} - {".urdf"},  # robots from a URDF only
    ".npz": {".asf", ".fbx", ".glb", ".vrm", ".xml", ".urdf", ".usd", ".usda", ".vrma"},  # no clip, or bones that slide
    ".json": {".fbx", ".glb", ".usda", ".vrma"},  # bones that slide
    ".csv": {".fbx", ".glb", ".usda", ".vrma"},
}


def test_every_format_is_here():
    read = {suffix for suffix, module in list_formats().items() if hasattr(module, "read")}
    written = {suffix for suffix, module in list_formats().items() if hasattr(module, "write")}
    assert read == {*SOURCES, *SAME}
    assert written == {*GLTF, ".bvh", ".urdf", ".json", ".csv", ".npz"}


@pytest.fixture(scope="module")
def rigs(data):
    """The rig of every format; of several clips the first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoiseWarning)
        return {suffix: poise.load(data / file) for suffix, file in SOURCES.items()}


def converted(rig, path, source):
    """The file, or None for a pair that is refused, as `REFUSED` has it."""
    clip = rig.clips[0].name if rig.clips else None
    if source in REFUSED.get(path.suffix, ()):
        with pytest.raises(PoiseError):
            poise.convert(rig, path, clip=clip)
        assert not path.exists()
        return None
    poise.convert(rig, path, clip=clip)
    return path


def saved(rig, folder, suffix):
    """Files that show a pose, a clip in a bare skeleton's joints, and a free root; some are refused."""
    s, free = rig.skeleton, rig.skeleton.with_free_root()
    frames = np.stack([moved(s, seed).q for seed in range(3)])
    for number, thing in enumerate((moved(s, 3), Clip.at_rate(Pose(s, frames), 30.0, "made"), Pose(free, free.rest_q))):
        path = folder / f"{number}{suffix}"
        try:
            poise.save(thing, path)
        except PoiseError:
            assert not path.exists()
        else:
            yield path


@needs_validator
@pytest.mark.parametrize("source", SOURCES)
def test_the_validator_finds_no_error(rigs, data, tmp_path, source):
    """None that the original, where it is glTF, has not."""
    found = [converted(rigs[source], tmp_path / f"converted{suffix}", source) for suffix in GLTF]
    paths = [path for path in found if path] + [
        path for suffix in GLTF for path in saved(rigs[source], tmp_path, suffix)
    ]
    assert len(paths) >= 3 + 6
    original = [data / SOURCES[source]] if source in GLTF else []
    codes = errors(*original, *paths)
    before = sorted(codes[0]) if original else []
    assert [sorted(one) for one in codes[len(original) :]] == [before] * len(paths)


@pytest.mark.parametrize("source", SOURCES)
def test_bvhio_reads_every_bvh(rigs, tmp_path, source):
    bvhio = pytest.importorskip("bvhio", reason="bvhio is not installed")
    path = converted(rigs[source], tmp_path / "a.bvh", source)
    names = [joint.Name for joint, _, _ in bvhio.readAsHierarchy(str(path)).layout()]
    assert set(names) <= set(poise.load(path).skeleton.names)
    assert names


@pytest.mark.parametrize("source", SOURCES)
def test_pinocchio_reads_every_urdf(rigs, tmp_path, source):
    pinocchio = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    path = converted(rigs[source], tmp_path / "a.urdf", source)
    assert path is None or pinocchio.buildModelFromUrdf(str(path)).nq == rigs[source].skeleton.nq


@pytest.mark.parametrize("source", SOURCES)
def test_values_are_plain(rigs, tmp_path, source):
    """JSON as the standard has it, CSV of numbers in columns of one length, NPZ without pickles."""
    places = (tmp_path / f"a{suffix}" for suffix in (".json", ".csv", ".npz"))
    as_json, as_csv, as_npz = (converted(rigs[source], path, source) for path in places)
    if as_json:
        assert json.loads(as_json.read_bytes().decode(), parse_constant=pytest.fail)
    if as_csv:
        with as_csv.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        assert np.isfinite(np.array(rows, dtype=float)).all()
        assert {len(row) for row in rows} == {len(header)}
    if as_npz:
        with np.load(as_npz, allow_pickle=False) as arrays:
            assert all(arrays[name].dtype != object for name in arrays)
