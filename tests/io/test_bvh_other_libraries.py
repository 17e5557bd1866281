"""BVH written of every format opens in two libraries of others, which find its joints in the same places."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples

bvhio = pytest.importorskip("bvhio", reason="bvhio is not installed: it comes with the group test")
pymotion = pytest.importorskip("pymotion.io.bvh", reason="upc-pymotion is not installed: it comes with the group test")
from pymotion.ops.skeleton import fk  # noqa: E402  (where it is installed)

FILES = [
    "humanoid.glb", "arm.urdf", "fbx/pab_jog.fbx", "fbx/kenney_character.fbx", "mjcf/humanoid.xml",
    "mjcf/shadow_right_hand.xml", "usd/skel_lbs.usda", "usd/humanoid_mimickit.usd", "vrma/walk_cmu.vrma",
    "asf/02_03.amc", "glb/fox.glb", "glb/knight_kaykit.glb", "glb/cesium_man.gltf", "glb/cryptovoxels.vrm",
]  # fmt: skip


def by_pymotion(path):
    """Positions (frames, joints, 3) in double precision; its positions of joints that move stand beside offsets."""
    read = pymotion.BVH()
    read.load(str(path))
    turns, places, parents, _, _, _ = read.get_data()
    return fk(turns, places[:, 0], places, parents)[0]


def by_bvhio(path, frames):
    """Positions (frames, joints, 3) in single precision."""
    root = bvhio.readAsHierarchy(str(path))
    joints = [joint for joint, _, _ in root.layout()]
    found = []
    for frame in frames:
        root.loadPose(int(frame))
        found.append([list(joint.PositionWorld) for joint in joints])
    return np.array(found)


@pytest.mark.filterwarnings("ignore::poise.errors.PoiseWarning")
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("rest", ["zero", "keep"])
@pytest.mark.long
def test_joints_are_in_the_same_places(file, rest, tmp_path, request):
    source = request.getfixturevalue("data") / file if "/" in file else samples.path(file)
    clips = poise.load(source).clips
    out = tmp_path / "written.bvh"
    done = poise.convert(source, out, clip=clips[0].name if clips else None, rest=rest)
    assert (done.share or 0.0) < 2e-5  # keys of 32 bits, at times of 32 bits
    skeleton, poses = poise.load(out).skeleton, poise.load(out).clips[0].poses
    rows = [row for row, kind in enumerate(skeleton.source_ids) if kind != "End Site"]
    wanted = poses.world.positions[:, rows]
    size = np.ptp(wanted, axis=(0, 1)).max()
    assert np.abs(by_pymotion(out) - wanted).max() < 1e-7 * size
    frames = np.unique(np.linspace(0, len(wanted) - 1, 8).round().astype(int))
    assert np.abs(by_bvhio(out, frames) - wanted[frames]).max() < 2e-6 * size
