"""Meshes of MJCF: the corners that MuJoCo has, found in any layout of folders, and notes for what cannot be read."""

import os
from pathlib import Path

import mujoco
import numpy as np
import pytest
import trimesh

import poise
from poise.errors import FileError
from poise.io import samples
from poise.io.collision_shapes import add_package_folders, read_collision_shapes
from poise.io.formats import mjcf

# two bodies of one joint each: the mesh of a class, with a frame, a box that a mesh fits, and inline corners
MODEL = """<mujoco><compiler angle="degree" {compiler}/>
<default><mesh scale="0.5 0.5 0.5"/><geom contype="0" conaffinity="0"/>
  <default class="solid"><geom contype="1" euler="0 0 30"/><mesh scale="1 2 -3"/></default></default>
<asset><mesh {file}/>
  <mesh class="solid" file="{other}" refpos="0.1 0.2 0.3" refquat="0.6 0.8 0 0"/>
  <mesh name="inline" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
<worldbody><body name="a" pos="1 0 0"><joint name="j"/>
  <frame pos="0 0.5 0" euler="90 0 0"><geom type="mesh" mesh="part" class="solid" pos="0.1 0 0"/></frame>
  <geom type="mesh" mesh="part"/>
  <body name="b"><joint name="k" pos="0 0 0.2"/><geom type="mesh" mesh="other" class="solid"/>
  <geom type="mesh" mesh="inline" class="solid"/></body></body></worldbody></mujoco>
"""
SIZE = np.array([0.2, 0.1, 0.06])
CORNERS = 36  # of a box in an STL file: three for each of twelve triangles


def write_box(path, extents=SIZE):
    path.parent.mkdir(parents=True, exist_ok=True)
    trimesh.creation.box(extents).apply_translation([0.03, 0.01, 0.02]).export(path)
    return path


def write_model(path, *, compiler='meshdir="meshes"', file='file="part.stl"', other="other.obj"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(MODEL.format(compiler=compiler, file=file, other=other))
    return path


def read_meshes(rig):
    shapes = read_collision_shapes(rig)
    return shapes.read_meshes({row for row, _ in shapes.meshes})


def test_corners_are_those_of_mujoco(tmp_path):
    path = write_model(tmp_path / "robot.xml")
    write_box(tmp_path / "meshes" / "part.stl")
    write_box(tmp_path / "meshes" / "other.obj")
    rig = mjcf.read(path)
    found, reason = read_meshes(rig)
    assert reason == ""
    assert [rig.skeleton.names[row] for row, _ in found] == ["j", "b", "b"]
    world = rig.rest.world
    compiled = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(compiled)
    mujoco.mj_forward(compiled, data)
    solid = [geom for geom in range(compiled.ngeom) if compiled.geom_contype[geom]]
    for geom, (row, corners) in zip(solid, found, strict=True):
        mesh = int(compiled.geom_dataid[geom])
        start, count = int(compiled.mesh_vertadr[mesh]), int(compiled.mesh_vertnum[mesh])
        wanted = compiled.mesh_vert[start : start + count] @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
        own = poise.rotations.rotate(world.rotations[row], corners) + world.positions[row]
        for points in (wanted, own):
            assert len(points)
        distances = np.linalg.norm(own[:, None] - wanted[None], axis=-1)
        assert distances.min(axis=0).max() < 1e-6
        assert distances.min(axis=1).max() < 1e-6


def test_masses_and_joints_are_those_without_meshes(tmp_path):
    """Balls that stand for meshes while MuJoCo compiles weigh nothing and are no shapes."""
    rig = mjcf.read(write_model(tmp_path / "robot.xml"))
    assert rig.skeleton.source.geoms == ()
    assert rig.skeleton.source.inertials == {}
    assert rig.skeleton.names == ("world", "j", "k", "b")


@pytest.mark.parametrize(
    ("folder", "compiler", "file"),
    [
        ("", 'meshdir="meshes"', "part.stl"),
        ("", 'meshdir="meshes/"', "part.stl"),
        ("", 'assetdir="meshes"', "part.stl"),
        ("", 'assetdir="nowhere" meshdir="meshes"', "part.stl"),
        ("", "", "meshes/part.stl"),
        ("", 'meshdir="meshes"', "../meshes/part.stl"),
        ("", 'meshdir="meshes"', r"..\meshes\part.stl"),
        ("", 'meshdir="meshes" strippath="true"', "C:/somewhere/part.stl"),
        ("mjcf", 'meshdir="../meshes"', "part.stl"),
        ("xml", "", "../meshes/part.stl"),
    ],
)
def test_files_are_found_in_usual_layouts(tmp_path, monkeypatch, folder, compiler, file):
    write_box(tmp_path / "meshes" / "part.stl")
    write_model(tmp_path / folder / "robot.xml", compiler=compiler, file=f'name="part" file="{file}"')
    monkeypatch.chdir(tmp_path / folder)
    rig = poise.load("robot.xml")
    monkeypatch.chdir(os.sep)  # the path was relative
    found, _ = read_meshes(rig)
    assert len(found[0][1]) == CORNERS


def test_meshes_of_included_files_are_found_from_either_folder(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "assets.xml").write_text(
        '<mujocoinclude><asset><mesh file="part.stl"/><mesh file="parts/top.stl"/></asset></mujocoinclude>'
    )
    write_box(tmp_path / "parts" / "part.stl")
    write_box(tmp_path / "parts" / "top.stl")
    path = tmp_path / "robot.xml"
    geoms = '<geom type="mesh" mesh="part"/><geom type="mesh" mesh="top"/>'
    path.write_text(
        f'<mujoco><include file="parts/assets.xml"/><worldbody><body><joint/>{geoms}</body></worldbody></mujoco>'
    )
    found, reason = read_meshes(mjcf.read(path))
    assert (len(found), reason) == (2, "")


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        (None, "part.stl", "'part.stl' is not there; it was looked for in"),
        (b"x", "part.stl", "'part.stl' holds no corners"),
        (b"", "part.obj", "'part.obj'"),
        (b"x", "part.msh", "'part.msh' a mesh is a .stl, .obj, .dae file"),
        (b"x", "../../part.stl", "leads out of"),
        (None, "/etc/passwd", "leads out of"),
        (None, "a" * 2000, "is not a path of a mesh"),
    ],
    ids=["missing", "broken", "empty", "msh", "outside", "absolute", "long"],
)
def test_what_cannot_be_read_has_a_reason(tmp_path, content, name, reason):
    path = write_model(tmp_path / "a" / "robot.xml", compiler="", file=f'name="part" file="{name}"')
    if content is not None:
        (path.parent / name).resolve().write_bytes(content)
    found, why = read_meshes(mjcf.read(path))
    assert len(found) == 1  # the inline one
    assert reason in why


@pytest.mark.parametrize("vertex", ["", "1 2", "1 2 x", "builtin"])
def test_inline_corners_are_checked(tmp_path, vertex):
    path = write_model(tmp_path / "robot.xml", compiler="", file=f'name="part" vertex="{vertex}"')
    rig = mjcf.read(path)
    mesh = rig.skeleton.source.meshes[0]
    with pytest.raises(FileError, match=r"line 4|neither a file"):
        mesh.read_corners()


def test_a_linked_mesh_outside_is_not_opened(tmp_path):
    write_box(tmp_path / "outside.stl")
    path = write_model(tmp_path / "a" / "robot.xml", compiler="", file='name="part" file="link.stl"')
    (tmp_path / "a" / "link.stl").symlink_to(tmp_path / "outside.stl")
    assert "leads out of" in read_meshes(mjcf.read(path))[1]
    found, _ = read_meshes(mjcf.read(path, include_root=tmp_path))  # a folder of the user's
    assert len(found) == 2


def test_meshes_that_are_only_shown_are_left_out(tmp_path):
    """The bones of a skeleton showed soles that lean, and ankles without roll cannot set them flat."""
    write_box(tmp_path / "part.stl")
    path = tmp_path / "robot.xml"
    path.write_text(
        '<mujoco><asset><mesh file="part.stl"/></asset><worldbody><body><joint/>'
        '<geom type="mesh" mesh="part" contype="0" conaffinity="0"/></body></worldbody></mujoco>'
    )
    assert read_collision_shapes(mjcf.read(path)) == ((), ())


def test_two_meshes_of_a_name_do_not_stop_a_model(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text(
        '<mujoco><asset><mesh file="a/part.stl"/><mesh file="b/part.stl"/><mesh name="part" file="c.stl"/></asset>'
        '<worldbody><body><joint name="j"/><geom type="mesh" mesh="part"/></body></worldbody></mujoco>'
    )
    assert [mesh.mesh.file.name for mesh in mjcf.read(path).skeleton.source.meshes] == ["a/part.stl"]


def test_meshes_of_a_urdf_are_found_after_a_change_of_folder(tmp_path, monkeypatch):
    write_box(tmp_path / "a" / "part.stl")
    write_box(tmp_path / "b" / "pack" / "meshes" / "part.stl")
    mesh = '<collision><geometry><mesh filename="{}"/></geometry></collision>'
    for name in ("part.stl", "package://pack/meshes/part.stl"):
        (tmp_path / "a" / "robot.urdf").write_text(
            f'<robot name="r"><link name="base">{mesh.format(name)}</link></robot>'
        )
        monkeypatch.chdir(tmp_path / "a")
        rig = poise.load("robot.urdf")
        rig = add_package_folders(rig, [Path("..", "b")])
        monkeypatch.chdir(os.sep)
        assert [len(corners) for _, corners in read_meshes(rig)[0]] == [CORNERS]
    figure = poise.load(samples.path("humanoid.bvh"))
    assert add_package_folders(figure, [tmp_path]) is figure


def write_meshes(path, meshes, geom):
    path.write_text(
        f'<mujoco><asset>{meshes}</asset><worldbody><body name="a"><joint name="j"/>{geom}'
        '<geom size="0.1"/></body></worldbody></mujoco>'
    )
    return path


def test_names_of_meshes_are_not_taken_by_others_of_one_name(tmp_path):
    """The second `part` became `part_`, whose own shape then had its scale."""
    meshes = "".join(f'<mesh name="{name}" file="{name[:4]}.stl" scale="{scale} {scale} {scale}"/>'
                     for name, scale in (("part", 1), ("part", 9), ("part_", 2)))  # fmt: skip
    write_box(tmp_path / "part.stl")
    found, _ = read_meshes(mjcf.read(write_meshes(tmp_path / "r.xml", meshes, '<geom type="mesh" mesh="part_"/>')))
    np.testing.assert_allclose(np.ptp(found[0][1], axis=0), 2.0 * SIZE, atol=1e-6)


def test_too_many_meshes_are_refused(tmp_path):
    path = write_meshes(tmp_path / "r.xml", '<mesh file="part.stl"/>' * 2001, "")
    with pytest.raises(FileError, match="more than 2000 meshes"):
        mjcf.read(path)


def test_a_mesh_of_no_rotation_is_not_turned(tmp_path):
    write_box(tmp_path / "part.stl")
    meshes = '<mesh file="part.stl" refquat="0 0 0 0"/>'
    found, _ = read_meshes(mjcf.read(write_meshes(tmp_path / "r.xml", meshes, '<geom type="mesh" mesh="part"/>')))
    np.testing.assert_allclose(np.ptp(found[0][1], axis=0), SIZE, atol=1e-6)
