"""What is saved loads and tells the same: every real file that loads, in every format that can carry it.

What a format cannot hold is refused in a sentence and leaves nothing behind. Slow, with hundreds of files.
"""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

import poise
from poise.errors import WriteWarning
from poise.io.bvh_writer import find_file_names
from poise.io.joint_value_reader import load_values
from poise.io.registry import list_formats
from tests.contracts.test_formats import loaded
from tests.workload import draw

pytestmark = pytest.mark.long

SUFFIXES = (".bvh", ".glb", ".gltf", ".vrm", ".urdf", ".csv", ".json")
NEAR = 1e-4  # of the size: 32-bit keys, uniform scale of 1e-3 taken for none
BETWEEN_FRAMES = 0.02  # of the size: between the frames of a BVH file made of odd times
BENT = 0.1


def real_files(data):
    return sorted(path for path in data.rglob("*") if path.suffix.lower() in list_formats() and path.suffix in SUFFIXES)


def bent(pose):
    """Every joint that moves a little further."""
    s, q = pose.skeleton, pose.q.copy()
    for row in np.flatnonzero((s.kinds == poise.Kind.HINGE) | (s.kinds == poise.Kind.SLIDE)):
        if s.couplings[row] is None:
            q[..., s.q_start[row]] += BENT
    q[..., s.quaternion_columns] += np.array([0.0, BENT, 0.0, -BENT])
    return pose.with_q(q)


def things(rig):
    """What people save: the rig as it is, posed anew, its first clip, a pose, a clip of poses."""
    yield "rig", rig
    yield "rig with a pose", dataclasses.replace(rig, pose=bent(rig.pose))
    yield "pose", bent(rig.rest)
    if rig.clips and len(rig.clips[0]):
        yield "clip", rig.clips[0]
        yield "new clip", poise.Clip(np.array([0.0, 0.5]), bent(rig.clips[0].poses[[0, -1]]), "new clip")


def reported(path, thing):
    """The poses that a file is to show: of a rig its pose, or for BVH its clip; a URDF file holds none but the rest."""
    if path.suffix == ".urdf":
        return poise.Pose(thing.skeleton, thing.skeleton.rest_q)
    if path.suffix == ".bvh" and isinstance(thing, poise.Rig) and thing.clips:
        thing = thing.clips[0]
    if isinstance(thing, poise.Clip):
        return thing.poses
    return thing.pose if isinstance(thing, poise.Rig) else thing


def shown(path, thing):
    """The poses that it shows."""
    if path.suffix in (".csv", ".json"):
        return load_values(path, thing.skeleton)
    rig = loaded(path)
    if isinstance(thing, poise.Rig) and path.suffix != ".bvh":
        assert len(rig.clips) >= len([clip for clip in thing.clips if len(clip)])
        return rig.pose
    if isinstance(thing, poise.Pose):
        return rig.pose
    clip = next((clip for clip in reversed(rig.clips) if clip.name == getattr(thing, "name", None)), rig.clips[-1])
    if isinstance(thing, poise.Rig) and not thing.clips:
        return clip.poses[0]
    times = thing.clips[0].times if isinstance(thing, poise.Rig) else thing.times
    return clip.at(times) if len(times) else clip.poses


def assert_alike(path, thing):
    wanted, there = reported(path, thing), shown(path, thing)
    size = max(float(np.abs(wanted.world.positions).max(initial=0.0)), 1e-9)
    moving = wanted.skeleton.moving_depth > 0  # a BVH file leaves trees without motion out
    names = wanted.skeleton.names
    words = find_file_names(wanted.skeleton) if path.suffix == ".bvh" else names  # what a BVH file calls them
    assert set(np.array(words)[moving]) <= set(there.skeleton.names)
    near = NEAR if path.suffix != ".bvh" or is_steady(thing) else BETWEEN_FRAMES
    for name, word in zip(names, words, strict=True):
        if word not in there.skeleton.names:
            continue
        off = np.abs(there.world[word].positions - wanted.world[name].positions).max(initial=0.0) / size
        assert off <= near, f"{name} is off by {off:.2g} of the size"


def is_steady(thing):
    """Whether a clip's frames are equally far from each other: BVH has no others, and is sampled anew for them."""
    clip = thing.clips[0] if isinstance(thing, poise.Rig) and thing.clips else thing
    if not isinstance(clip, poise.Clip) or len(clip) < 2:
        return True
    even = np.linspace(0.0, clip.duration, len(clip))
    return bool(np.allclose(clip.times, even, atol=1e-4 * clip.duration / len(clip)))


def suffixes(source):
    """Formats to save a file in: some, which the commit draws for each file."""
    return draw(f"formats of {source.name}", SUFFIXES, 3)


def test_every_file_that_loads(data, tmp_path):
    """One test for all: files are many and small. What differs is told with the file, the thing and the format."""
    (tmp_path / "else").mkdir()
    files, kinds, bad = 0, set(), []
    for source in real_files(data):
        try:
            rig = loaded(source)
        except (poise.FileError, poise.UnsupportedError):
            continue
        files += 1
        for what, thing in things(rig):
            for suffix in suffixes(source):
                path = tmp_path / "else" / f"saved{suffix}"
                path.unlink(missing_ok=True)
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", WriteWarning)  # names that a BVH file changes
                        poise.save(thing, path)
                except poise.UnsupportedError as error:
                    if "read again" in str(error) or path.exists():
                        bad.append(f"{source.name}, {what}, {suffix}: {error}")
                    continue
                except poise.FileError as error:
                    if "cannot take along" not in str(error):
                        bad.append(f"{source.name}, {what}, {suffix}: {error}")
                    continue
                kinds.add((source.suffix, what, suffix))
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", poise.PoiseWarning)
                        assert_alike(path, thing)
                except (AssertionError, poise.PoiseError) as error:
                    bad.append(f"{source.name}, {what}, {suffix}: {str(error)[:200]}")
    assert not bad, "\n".join(bad)
    assert files > 40
    assert len(kinds) > 30
