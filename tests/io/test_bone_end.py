"""Where bones end that have no joint there, on files whose geometry is known, and on real ones."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples
from tests.io.gltf_samples import saved, with_arrays

IDENTITY = np.eye(4).reshape(1, 16)


def figure(points, path, *, skin=True, weights=None, placed=None):
    """A shin and a foot whose mesh has these vertices in the frame of the mesh; (share of the foot) weights."""
    points = np.array(points, dtype=np.float64)
    share = np.ones(len(points)) if weights is None else np.array(weights)
    joints = np.zeros((len(points), 4))
    joints[:, 0], joints[:, 1] = 1, 0
    shares = np.stack([share, 1 - share, 0 * share, 0 * share], axis=1)
    inverse = np.repeat(IDENTITY, 2, axis=0)
    inverse[1].reshape(4, 4)[3, :3] = [0, -2, 0]  # columns one after the other: the foot stands at (0, 2, 0)
    nodes = [
        {"name": "shin", "children": [1]},
        {"name": "foot", "translation": [0, 2, 0], "children": [2] if placed else []},
        {"name": "skin", "mesh": 0} | ({"skin": 0} if skin else {}) | (placed or {}),
    ]
    document = {
        "asset": {"version": "2.0"},
        "nodes": nodes,
        "meshes": [{"primitives": [{"attributes": {"POSITION": 1, "JOINTS_0": 2, "WEIGHTS_0": 3}}]}],
        "skins": [{"joints": [0, 1], "inverseBindMatrices": 0}],
    }
    document, data = with_arrays(document, [inverse, points, joints, shares])
    return poise.load(saved(path / "figure.glb", document, data))


def test_it_is_the_farthest_vertex_along_the_bone(tmp_path):
    rig = figure([(0.2, 3.0, 0.0), (-0.2, 3.5, 0.1), (0.0, 2.4, 0.0)], tmp_path)
    np.testing.assert_allclose(poise.bone_end(rig, "foot"), [0.0, 1.5, 0.0], atol=1e-6)


def test_vertices_that_belong_to_others_do_not_count(tmp_path):
    rig = figure([(0.0, 3.0, 0.0), (0.0, 9.0, 0.0), (0.0, 2.7, 0.0)], tmp_path, weights=[0.5, 0.4, 1.0])
    np.testing.assert_allclose(poise.bone_end(rig, "foot"), [0.0, 1.0, 0.0], atol=1e-6)


def test_a_foot_goes_where_its_mesh_does(tmp_path):
    """The shin goes on upwards, the mesh goes forward: more than 60 degrees aside."""
    rig = figure([(0.0, 2.0, 0.5), (0.0, 2.0, 1.5)], tmp_path)
    np.testing.assert_allclose(poise.bone_end(rig, "foot"), [0.0, 0.0, 1.5], atol=1e-6)


def test_meshes_that_hang_on_a_joint_count_where_no_skin_does(tmp_path):
    placed = {"translation": [0, 1, 0], "scale": [2, 2, 2]}
    rig = figure([(0.0, 0.0, 0.0), (0.1, 0.25, 0.0)], tmp_path, skin=False, placed=placed)
    np.testing.assert_allclose(poise.bone_end(rig, "foot"), [0.0, 1.5, 0.0], atol=1e-6)


def test_a_joint_without_geometry_is_reported_in_a_sentence(tmp_path):
    rig = figure([(0.0, 3.0, 0.0)], tmp_path)
    with pytest.raises(poise.UnsupportedError, match="no vertex of a mesh belongs to 'shin'"):
        poise.bone_end(rig, "shin")
    with pytest.raises(poise.UnknownNameError, match="did you mean 'foot'"):
        poise.bone_end(rig, "fot")
    with pytest.raises(poise.InputError, match="a rig from poise.load"):
        poise.bone_end(rig.rest, "foot")
    with pytest.raises(poise.UnsupportedError, match="comes from no file with geometry"):
        poise.bone_end(poise.load(samples.path("humanoid.bvh")), "LeftHand")


ROBOT = """<robot name="r"><link name="base"/>
<link name="rod"><visual><origin xyz="0 0 0.5" rpy="0 0 0"/><geometry>{shape}</geometry></visual></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="rod"/><origin xyz="0 0 1"/><axis xyz="1 0 0"/>
</joint>
</robot>"""


@pytest.mark.parametrize(
    ("shape", "end"),
    [
        ('<box size="0.2 0.4 0.6"/>', 0.8),
        ('<cylinder radius="0.1" length="0.6"/>', 0.8),
        ('<sphere radius="0.1"/>', 0.6),
        ('<capsule radius="0.1" length="0.6"/>', 0.9),
    ],
)
def test_the_links_of_a_robot(tmp_path, shape, end):
    (tmp_path / "r.urdf").write_text(ROBOT.format(shape=shape))
    rig = poise.load(tmp_path / "r.urdf")
    np.testing.assert_allclose(poise.bone_end(rig, "turn"), [0.0, 0.0, end], atol=1e-12)
    np.testing.assert_array_equal(poise.bone_end(rig, "rod"), poise.bone_end(rig, "turn"))  # a link is a name, too


def test_a_shape_that_lies_across_is_measured_where_it_goes(tmp_path):
    """A disc of the radius 0.3 on its side is 0.3 long along the link, however thin."""
    text = ROBOT.format(shape='<cylinder radius="0.3" length="0.02"/>').replace(
        'rpy="0 0 0"', 'rpy="1.5707963267948966 0 0"'
    )
    (tmp_path / "r.urdf").write_text(text)
    np.testing.assert_allclose(poise.bone_end(poise.load(tmp_path / "r.urdf"), "turn"), [0, 0, 0.8], atol=1e-12)


def test_a_robot_without_simple_shapes_is_reported_in_a_sentence(tmp_path):
    (tmp_path / "r.urdf").write_text(ROBOT.format(shape='<mesh filename="rod.stl"/>'))
    with pytest.raises(poise.UnsupportedError, match="has no box, cylinder, sphere or capsule: meshes are not read"):
        poise.bone_end(poise.load(tmp_path / "r.urdf"), "turn")
    (tmp_path / "r.urdf").write_text(ROBOT.format(shape='<box size="1 2"/>'))
    with pytest.raises(poise.FileError, match="size needs 3 numbers, not '1 2'"):
        poise.bone_end(poise.load(tmp_path / "r.urdf"), "turn")


@pytest.mark.parametrize(
    ("shape", "fault"),
    [
        ('<box size="0.2 -0.4 0.6"/>', "size must not be negative: '0.2 -0.4 0.6'"),
        ('<sphere radius="-0.1"/>', "radius must not be negative: '-0.1'"),
        ('<capsule radius="0.1" length="-0.6"/>', "length must not be negative: '-0.6'"),
    ],
)
def test_negative_sizes_are_refused(tmp_path, shape, fault):
    (tmp_path / "r.urdf").write_text(ROBOT.format(shape=shape))
    with pytest.raises(poise.FileError, match=fault):
        poise.bone_end(poise.load(tmp_path / "r.urdf"), "turn")


def test_the_end_of_a_hand_is_brought_to_a_point_and_aimed():
    rig = poise.load(samples.path("humanoid.glb"))
    end = poise.bone_end(rig, "leftHand")
    assert 0.05 < np.linalg.norm(end) < 0.3
    target = [0.4, 1.2, 0.35]
    touched = poise.solve(rig.rest, poise.Position("LeftHand", target, offset=end, root="LeftArm"))
    assert touched.reached
    tip = touched.pose.world["LeftHand"].matrices @ [*end, 1.0]
    assert np.linalg.norm(tip[:3] - target) <= touched.tolerance * 1.001
    pointed = poise.solve(rig.rest, poise.Direction("LeftHand", (0, 0, 1), axis=end))
    assert pointed.reached
    way = pointed.pose.world["LeftHand"].matrices[:3, :3] @ end
    np.testing.assert_allclose(way / np.linalg.norm(way), [0, 0, 1], atol=2e-4)
