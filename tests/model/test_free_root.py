"""A root that turns and translates: the same rest, the same world, there and back, in every file that can hold it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise.errors import InputError
from poise.io import samples
from poise.model.skeleton import Kind
from tests.strategies import seeds

FILES = ("humanoid.glb", "humanoid.bvh", "arm.urdf")


def sample(name):
    return poise.load(samples.path(name))


def moved(pose, rng):
    """The pose, its free root somewhere else."""
    skeleton = pose.skeleton
    root = skeleton.names[skeleton.freed.row]
    turn = rng.normal(size=4)
    return pose.replace({root: [*rng.normal(size=3), *(turn / np.linalg.norm(turn))]})


@pytest.mark.parametrize("name", FILES)
def test_rest_is_where_it_was(name):
    rig = sample(name)
    free = rig.rest.on(rig.skeleton.with_free_root())
    assert np.array_equal(free.world.affine, rig.rest.world.affine)
    assert np.array_equal(free.q, free.skeleton.rest_q)


def test_names_parents_and_limits_are_the_same():
    own = sample("humanoid.glb").skeleton
    free = own.with_free_root()
    assert (free.names, free.limits, free.couplings) == (own.names, own.limits, own.couplings)
    assert np.flatnonzero(free.kinds != own.kinds).tolist() == [own.index("Hips")]
    assert free["Hips"].kind is Kind.FREE
    assert free.nv == own.nv + 3
    assert free.without_free_root == own
    assert free.with_free_root() is free
    assert own.with_free_root() is free


def test_a_robot_moves_with_its_base():
    own = sample("arm.urdf").skeleton
    free = own.with_free_root()
    assert free.kinds[0] == Kind.FREE
    assert free.nq == own.nq + 7


def test_the_joint_can_be_chosen():
    own = sample("humanoid.glb").skeleton
    free = own.with_free_root("Spine")
    assert free["Spine"].kind is Kind.FREE
    assert free["Hips"].kind is Kind.BALL
    with pytest.raises(InputError, match="'joint1' is a hinge"):
        hinged("joint1")


def hinged(name):
    skeleton = poise.Skeleton.build([name, "tip"], [-1, 0], [Kind.HINGE, Kind.FIXED], axes=[[0, 0, 1], [0, 0, 0]])
    return skeleton.with_free_root(name)


@given(seed=seeds)
def test_there_and_back(seed):
    rng = np.random.default_rng(seed)
    rig = sample("humanoid.glb")
    pose = moved(rig.rest.on(rig.skeleton.with_free_root()), rng)
    back = pose.on(rig.skeleton)
    assert np.abs(back.world.affine - pose.world.affine).max() < 1e-13
    again = back.on(pose.skeleton)
    assert np.abs(again.world.affine - pose.world.affine).max() < 1e-13


def test_a_base_that_has_moved_cannot_be_bound():
    rig = sample("arm.urdf")
    free = rig.rest.on(rig.skeleton.with_free_root())
    assert np.array_equal(free.on(rig.skeleton).q, rig.rest.q)
    with pytest.raises(InputError, match="the base .* has moved"):
        moved(free, np.random.default_rng(0)).on(rig.skeleton)


def test_another_figure_is_another():
    with pytest.raises(InputError, match="another skeleton"):
        sample("humanoid.glb").rest.on(sample("arm.urdf").skeleton.with_free_root())


@pytest.mark.parametrize("suffix", [".glb", ".gltf", ".bvh", ".json", ".csv"])
@pytest.mark.parametrize("name", ["humanoid.glb", "arm.urdf"])
def test_saved_and_read_again(name, suffix, tmp_path):
    rig = sample(name)
    pose = moved(rig.rest.on(rig.skeleton.with_free_root()), np.random.default_rng(1))
    file = tmp_path / f"moved{suffix}"
    poise.save(pose, file)
    if suffix in (".json", ".csv"):
        read = poise.load_values(file, rig.skeleton)
        read = read[0] if read.shape else read
    else:
        read = poise.load(file).pose
    for joint in rig.skeleton.names:
        if joint in read.skeleton:
            assert np.abs(read.world[joint].positions - pose.world[joint].positions).max() < 1e-6


def test_a_rig_stands_on_one_skeleton(tmp_path):
    rig = sample("humanoid.glb")
    pose = moved(rig.rest.on(rig.skeleton.with_free_root()), np.random.default_rng(2))
    import dataclasses

    posed = dataclasses.replace(rig, pose=pose)
    assert posed.pose.skeleton is rig.skeleton
    poise.save(posed, tmp_path / "posed.glb")
    there = poise.load(tmp_path / "posed.glb").pose.world["Head"].positions
    assert np.abs(there - pose.world["Head"].positions).max() < 1e-6


def test_clips_go_along():
    rig = sample("humanoid.glb")
    clip = rig.clips[0]
    free = clip.on(rig.skeleton.with_free_root())
    assert np.abs(free.poses.world.affine - clip.poses.world.affine).max() < 1e-12


@given(weight=st.floats(0, 1))
def test_blending_takes_both(weight):
    rig = sample("humanoid.glb")
    pose = moved(rig.rest.on(rig.skeleton.with_free_root()), np.random.default_rng(3))
    one, other = rig.rest.blend(pose, weight), pose.blend(rig.rest, 1.0 - weight)
    assert np.abs(one.world.affine - other.world.affine).max() < 1e-12
