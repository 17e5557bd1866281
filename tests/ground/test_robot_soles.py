"""Soles of robots, from boxes and meshes of their feet."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import poise
from poise.ground.robot.sole import find_robot_sole, list_sole_notes, pair_soles
from poise.io.collision_shapes import read_collision_shapes
from poise.maths import euler, rotations

# a foot [m]: from the ankle to its middle, and its size
CENTRE, SIZE = np.array([0.04, 0.01, -0.05]), np.array([0.22, 0.08, 0.04])
AXES = rotations.from_matrix(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]))  # heading x, up z
BOX = f'<origin xyz="{" ".join(map(str, CENTRE))}"/><geometry><box size="{" ".join(map(str, SIZE))}"/></geometry>'
MESH = '<origin xyz="0.04 0.01 -0.05"/><geometry><mesh filename="{}" scale="0.001 0.001 0.001"/></geometry>'


def write_robot(folder, shape):
    """A shin and a foot below it, which has one collision shape."""
    folder.mkdir(exist_ok=True)
    path = folder / "leg.urdf"
    path.write_text(
        '<robot name="leg"><link name="shin"/><link name="foot"><collision>' + shape + "</collision></link>"
        '<joint name="ankle" type="revolute"><parent link="shin"/><child link="foot"/><origin xyz="0 0 -0.4"/>'
        '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    )
    return poise.load(path)


def write_box(path, size):
    """A binary STL file of a box, two triangles a side."""
    signs = np.array(list(np.ndindex(2, 2, 2))) * 2.0 - 1.0
    squares = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    sides = [corners for a, b, c, d in squares for corners in ((a, b, c), (a, c, d))]
    triangles = (0.5 * size * signs)[np.array(sides)]
    facets = b"".join(struct.pack("<12fH", 0, 0, 0, *corners.ravel(), 0) for corners in triangles)
    path.write_bytes(bytes(80) + struct.pack("<I", len(sides)) + facets)


def find_sole(robot):
    row = robot.skeleton.index("ankle")
    return find_robot_sole(robot.skeleton, row, AXES, read_collision_shapes(robot), 0.8)


def test_a_foot_without_shapes_has_the_sole_of_the_other_one(tmp_path):
    """Some files have the shapes of one foot on another link."""
    box, bare = find_sole(write_robot(tmp_path / "box", BOX)), find_sole(write_robot(tmp_path / "bare", ""))
    for found in ([box, bare], [bare, box]):
        paired = pair_soles(found)
        assert [one.sole for one in paired] == [box.sole, box.sole]
        assert "one of the robot's soles: it is taken to be that of the other foot" in list_sole_notes(paired)[0]
    assert pair_soles([bare, bare]) == [bare, bare]
    assert pair_soles([box, box]) == [box, box]
    assert pair_soles([box, bare, bare, bare])[1] is bare  # four legs


def test_a_mesh_shows_the_sole_that_its_box_shows(tmp_path):
    robot = write_robot(tmp_path / "mesh", MESH.format("foot.stl"))
    write_box(tmp_path / "mesh" / "foot.stl", 1000.0 * SIZE)
    box, mesh = find_sole(write_robot(tmp_path / "box", BOX)), find_sole(robot)
    assert box.is_shown
    assert mesh.is_shown
    np.testing.assert_allclose(mesh.sole, box.sole, atol=1e-7)  # 32-bit floats in the file
    np.testing.assert_allclose(box.sole, [-0.07, 0.15, 0.07, 0.05, 0.05], atol=1e-12)
    assert list_sole_notes([box, mesh]) == []


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        (None, "foot.stl", "'foot.stl' is not there"),
        (b"solid none", "foot.stl", "'foot.stl' "),
        (b"x", "foot.step", "'foot.step' a mesh is a .stl, .obj, .dae file"),
        (b"x", "../foot.stl", "leads out of"),
        (struct.pack("<80xI12fH", 1, *[float("nan")] * 12, 0), "foot.stl", "not finite"),
    ],
    ids=["missing", "empty", "suffix", "outside", "nan"],
)
def test_a_mesh_that_shows_no_sole_is_noted(tmp_path, content, name, reason):
    robot = write_robot(tmp_path / "inner", MESH.format(name))
    if content is not None:
        (tmp_path / "inner" / name).write_bytes(content)
    found = find_sole(robot)
    assert not found.is_shown
    (note,) = list_sole_notes([found, found])
    assert reason in note
    assert note.endswith("they are taken from the length of its legs")
    assert note.count(reason) == 1


def test_without_trimesh_a_note_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "trimesh", None)
    robot = write_robot(tmp_path, MESH.format("foot.stl"))
    write_box(tmp_path / "foot.stl", 1000.0 * SIZE)
    assert "pip install 'poise[view]'" in list_sole_notes([find_sole(robot)])[0]


COLLADA = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>
<unit name="mm" meter="0.001"/><up_axis>{}</up_axis></asset><library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="24">{}</float_array><technique_common>
<accessor source="#a" count="8" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 3 4 6 7 2 3 7 0 4 5</p></triangles>
</mesh></geometry></library_geometries><library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"/>
</node></visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


@pytest.mark.parametrize("up", ["Z_UP", "Y_UP"])
def test_a_collada_mesh_has_its_unit_and_z_up(tmp_path, up):
    """Some programs turn a mesh whose y axis is up, others do not: it shows no sole."""
    corners = 0.5e3 * SIZE * (np.array(list(np.ndindex(2, 2, 2))) * 2.0 - 1.0)
    robot = write_robot(tmp_path, MESH.format("foot.dae").replace(' scale="0.001 0.001 0.001"', ""))
    (tmp_path / "foot.dae").write_text(COLLADA.format(up, " ".join(map(str, corners.ravel()))))
    found = find_sole(robot)
    assert found.is_shown == (up == "Z_UP")
    if found.is_shown:
        np.testing.assert_allclose(found.sole, [-0.07, 0.15, 0.07, 0.05, 0.05], atol=1e-7)
    else:
        assert "save it with Z_UP" in found.reason


@pytest.mark.parametrize("scale", ["0 0 0", "1 1 1", "0.001 0.004 0.001"])
def test_meshes_of_another_size_are_no_feet(tmp_path, scale):
    robot = write_robot(tmp_path, MESH.format("foot.stl").replace("0.001 0.001 0.001", scale))
    write_box(tmp_path / "foot.stl", 1000.0 * SIZE)
    found = find_sole(robot)
    assert not found.is_shown
    assert found.reason == "meshes of a foot have the size of no sole"


def test_a_bad_scale_is_noted(tmp_path):
    robot = write_robot(tmp_path, MESH.format("foot.stl").replace("0.001 0.001 0.001", "0.001"))
    write_box(tmp_path / "foot.stl", 1000.0 * SIZE)
    assert "scale needs 3 numbers" in list_sole_notes([find_sole(robot)])[0]


def test_turned_meshes_of_many_corners_show_the_same_sole(tmp_path):
    """The mesh is turned in its file and turned back by its origin; corners within it are left out."""
    shape = MESH.format("foot.stl").replace('xyz="0.04 0.01 -0.05"', 'xyz="0.04 0.01 -0.05" rpy="0.3 -0.7 1.9"')
    robot = write_robot(tmp_path, shape)
    turn = rotations.as_matrix(euler.to_quaternion([1.9, -0.7, 0.3], "ZYX"))
    box = 0.5 * SIZE * (np.array(list(np.ndindex(2, 2, 2))) * 2.0 - 1.0)
    inner = np.random.default_rng(0).uniform(-0.5, 0.5, (9000, 3)) * SIZE
    corners = 1000.0 * np.concatenate([box, inner]) @ turn
    facets = b"".join(struct.pack("<12fH", 0, 0, 0, *three.ravel(), 0) for three in corners[:9006].reshape(-1, 3, 3))
    (tmp_path / "foot.stl").write_bytes(bytes(80) + struct.pack("<I", 3002) + facets)
    np.testing.assert_allclose(find_sole(robot).sole, [-0.07, 0.15, 0.07, 0.05, 0.05], atol=2e-4)


@pytest.mark.parametrize("rpy", ["0.07 0 0", "0.2 0 0", "0 0.07 0"])
def test_a_foot_that_leans_at_rest_has_a_level_sole(tmp_path, rpy):
    found = find_sole(write_robot(tmp_path, BOX.replace("<origin", f'<origin rpy="{rpy}"')))
    assert not np.array_equal(found.axes, AXES)


@pytest.mark.parametrize("about_itself", [0.0, 0.4, 0.8])
def test_a_round_foot_is_level(tmp_path, about_itself):
    """A cylinder along the foot: a side of its corners leaned by up to 45 degrees, and legs went aside with it."""
    turn = rotations.multiply(
        rotations.about(np.array([0.0, 1.0, 0.0]), 0.5 * np.pi),
        rotations.about(np.array([0.0, 0.0, 1.0]), about_itself),
    )
    yaw, pitch, roll = euler.from_quaternion(turn, "ZYX")
    origin = f'<origin xyz="0.04 0 -0.05" rpy="{roll} {pitch} {yaw}"/>'
    shape = f'{origin}<geometry><cylinder radius="0.04" length="0.2"/></geometry>'
    found = find_sole(write_robot(tmp_path, shape))
    assert np.array_equal(found.axes, AXES)
    np.testing.assert_allclose(found.sole[:2], [-0.06, 0.14], atol=1e-9)
