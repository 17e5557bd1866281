"""A robot's visual shapes stand where its URDF says, and no file elsewhere is opened."""

from __future__ import annotations

import json
import struct
import warnings

import numpy as np
import pytest

import poise
from poise.errors import FileError
from poise.io import samples
from poise.io.robot_meshes import find_mesh_file
from poise.maths import euler, rotations
from poise.viewer import glb_assets
from poise.viewer.glb_assets import read_mesh
from poise.viewer.rig_message import build_rig_message
from tests.conftest import WANT

LINK = '<link name="{name}">{inside}</link>'
VISUAL = "<visual>{origin}<geometry>{shape}</geometry>{material}</visual>"


def robot(folder, *visuals, below="", materials=""):
    """A robot of two links; the visuals are the second one's."""
    text = (
        f'<robot name="r">{materials}{LINK.format(name="base", inside=below)}'
        + LINK.format(name="arm", inside="".join(visuals))
        + '<joint name="turn" type="continuous"><parent link="base"/><child link="arm"/>'
        '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 0 1"/></joint></robot>'
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "robot.urdf").write_text(text)
    return poise.load(folder / "robot.urdf")


def test_a_box_is_closed_and_its_triangles_look_outwards():
    made = glb_assets.build_box(np.array([1.0, 2.0, 3.0]))
    edges = {(int(f[i]), int(f[i - 2])) for f in made.faces for i in range(3)}
    assert len(edges) == 3 * len(made.faces) == 36
    assert edges == {(b, a) for a, b in edges}
    assert np.linalg.det(made.points[made.faces]).sum() / 6 == pytest.approx(6.0)


def visual(shape, origin="", material=""):
    return VISUAL.format(shape=shape, origin=origin, material=material)


def mesh(name, more=""):
    return visual(f'<mesh filename="{name}" {more}/>')


def parts_of(model):
    """Per node of the GLB: its JSON and per primitive points, faces, normals, colour."""
    length = struct.unpack_from("<I", model.asset, 12)[0]
    document, binary = json.loads(model.asset[20 : 20 + length]), model.asset[20 + length + 8 :]

    def array(i, kind, width):
        accessor = document["accessors"][i]
        start = document["bufferViews"][accessor["bufferView"]]["byteOffset"]
        return np.frombuffer(binary, kind, accessor["count"] * width, start).reshape(-1, width)

    result = []
    for node in document["nodes"]:
        pieces = []
        for primitive in document["meshes"][node["mesh"]]["primitives"]:
            points = array(primitive["attributes"]["POSITION"], "<f4", 3).astype(float)
            normal = primitive["attributes"].get("NORMAL")
            normals = None if normal is None else array(normal, "<f4", 3).astype(float)
            faces = array(primitive["indices"], "<u4", 1).reshape(-1, 3)
            pieces.append((points, faces, normals, document["materials"][primitive["material"]]))
        result.append((node, pieces))
    return result


def volume(points, faces):
    a, b, c = points[faces].transpose(1, 0, 2)
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


STL_TETRAHEDRON = "solid t\n" + "".join(
    "facet normal 0 0 0\nouter loop\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in face) + "endloop\nendfacet\n"
    for face in (
        ((0, 0, 0), (0, 1, 0), (1, 0, 0)),
        ((0, 0, 0), (1, 0, 0), (0, 0, 1)),
        ((0, 0, 0), (0, 0, 1), (0, 1, 0)),
        ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    )
) + "endsolid t\n"  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "size", "content"),
    [
        ('<box size="1 2 3"/>', [1, 2, 3], 6.0),
        ('<cylinder radius="0.5" length="2"/>', [1, 1, 2], np.pi * 0.5),
        ('<sphere radius="0.5"/>', [1, 1, 1], np.pi / 6),
        ('<capsule radius="0.5" length="2"/>', [1, 1, 3], np.pi * (0.5 + 1 / 6)),
    ],
)
def test_plain_shapes_have_their_size_face_outwards_and_shade_smoothly(tmp_path, shape, size, content):
    ((_, ((points, faces, normals, _),)),) = parts_of(build_rig_message(robot(tmp_path, visual(shape))))
    np.testing.assert_allclose(np.ptp(points, axis=0), size, rtol=1e-2)
    np.testing.assert_allclose(points.max(axis=0) + points.min(axis=0), 0, atol=1e-6)
    assert volume(points, faces) == pytest.approx(content, rel=0.02)
    if normals is not None:
        a, b, c = points[faces].transpose(1, 0, 2)
        facing = np.cross(b - a, c - a)
        sized = np.linalg.norm(facing, axis=1) > 1e-9
        assert (np.einsum("ij,ikj->ik", facing, normals[faces])[sized] > 0).all()


def test_an_origin_turns_and_moves_in_the_frame_of_the_link(tmp_path):
    origin = '<origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>'
    rig = robot(tmp_path, visual('<box size="1 2 3"/>', origin))
    ((node, ((points, _, _, _),)),) = parts_of(build_rig_message(rig))
    turned = rotations.rotate(
        euler.to_quaternion([0.6, 0.5, 0.4], "ZYX"), glb_assets.build_box(np.array([1, 2, 3])).points
    )
    np.testing.assert_allclose(points, turned + np.array([0.1, 0.2, 0.3]), atol=1e-6)
    world = rig.rest.world["turn"]
    np.testing.assert_allclose(node["translation"], world.positions)
    np.testing.assert_allclose(np.roll(node["rotation"], 1), world.rotations)


@pytest.mark.parametrize(("below", "thick"), [("", False), (mesh("none.stl"), True)], ids=["frame", "lost"])
def test_rows_with_shapes_have_nodes_and_those_that_lost_them_are_capsules(tmp_path, below, thick):
    model = build_rig_message(robot(tmp_path, visual('<box size="1 1 1"/>'), below=below))
    assert model.message["nodes"] == [None, 0]
    assert [joint["thick"] for joint in model.message["joints"]] == [thick, False]
    assert model.message["asset"]
    assert not model.message["skin"]


def test_a_robot_without_shapes_is_all_capsules(tmp_path):
    model = build_rig_message(robot(tmp_path))
    assert all(joint["thick"] for joint in model.message["joints"])
    assert model.notes == ()


def test_the_root_link_is_drawn_too(tmp_path):
    model = build_rig_message(robot(tmp_path, below=visual('<box size="1 1 1"/>')))
    assert model.message["nodes"] == [0, None]


def test_colours_are_those_of_the_element_or_of_a_named_material(tmp_path):
    red = '<material name="red"><color rgba="1 0 0 1"/></material>'
    box = '<box size="1 1 1"/>'
    named, own = '<material name="red"/>', '<material name=""><color rgba="0.5 0.5 0.5 0.25"/></material>'
    rig = robot(tmp_path, visual(box, material=named), visual(box, material=own), visual(box), materials=red)
    ((_, pieces),) = parts_of(build_rig_message(rig))
    first, second, third = (piece[3] for piece in pieces)
    assert first["pbrMetallicRoughness"]["baseColorFactor"] == [1, 0, 0, 1]
    np.testing.assert_allclose(
        second["pbrMetallicRoughness"]["baseColorFactor"], [0.214, 0.214, 0.214, 0.25], atol=1e-3
    )
    assert second["alphaMode"] == "BLEND"
    assert "alphaMode" not in third


def test_a_mesh_is_scaled_and_a_mirrored_one_still_faces_outwards(tmp_path):
    (tmp_path / "t.stl").write_text(STL_TETRAHEDRON)
    rig = robot(tmp_path, mesh("t.stl", 'scale="2 3 4"'), mesh("t.stl", 'scale="-1 1 1"'))
    ((_, (scaled, mirrored)),) = parts_of(build_rig_message(rig))
    np.testing.assert_allclose(scaled[0].max(axis=0), [2, 3, 4])
    assert volume(*scaled[:2]) == pytest.approx(24 / 6)
    np.testing.assert_allclose(mirrored[0].min(axis=0), [-1, 0, 0])
    assert volume(*mirrored[:2]) == pytest.approx(1 / 6)


DAE_TRIANGLE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
 <asset><unit meter="1" name="meter"/><up_axis>Z_UP</up_axis></asset>
 <library_geometries><geometry id="g"><mesh>
  <source id="p"><float_array id="a" count="9">0 0 0 2 0 0 0 3 0</float_array><technique_common>
   <accessor source="#a" count="3" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
   <param name="Z" type="float"/></accessor></technique_common></source>
  <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
  <triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
 </mesh></geometry></library_geometries>
 <library_visual_scenes><visual_scene id="s"><node id="n"><translate>10 0 0</translate>
  <instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
 <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""


def test_a_dae_file_is_read_with_its_nodes(tmp_path):
    (tmp_path / "t.dae").write_text(DAE_TRIANGLE)
    model = build_rig_message(robot(tmp_path, mesh("t.dae")))
    assert model.notes == ()
    ((_, ((points, *_),)),) = parts_of(model)
    np.testing.assert_allclose([points.min(axis=0), points.max(axis=0)], [[10, 0, 0], [12, 3, 0]])


def test_an_obj_file_keeps_its_normals(tmp_path):
    (tmp_path / "t.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 1\nf 1//1 2//1 3//1\n")
    ((_, ((_, _, normals, _),)),) = parts_of(build_rig_message(robot(tmp_path, mesh("t.obj", 'scale="1 1 -1"'))))
    np.testing.assert_allclose(normals, [[0, 0, -1]] * 3)


def test_the_robot_with_meshes_shows_all_of_them(data):
    rig = poise.load(data / "urdf/finger_edu/robots/finger_edu.urdf")
    model = build_rig_message(rig)
    assert model.notes == ()
    parts = parts_of(model)
    assert sum(len(pieces) for _, pieces in parts) == 7
    assert [node is not None for node in model.message["nodes"]].count(True) == len(parts)
    whole = np.concatenate([points for _, pieces in parts for points, *_ in pieces])
    assert np.ptp(whole, axis=0).max() < 1.0  # metres: millimetres of the STL files are scaled


def test_the_sample_needs_no_meshes():
    model = build_rig_message(poise.load(samples.path("arm.urdf")))
    assert model.notes == ()
    assert model.message["asset"]


def test_meshes_that_are_not_there_are_noted_once(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = build_rig_message(poise.load(data / "urdf/panda.urdf"))
    assert model.asset is None
    assert all(joint["thick"] for joint in model.message["joints"])
    (note,) = model.notes
    assert "link0.dae" in note
    assert "are not there" in note


@pytest.mark.parametrize("folder", ["urdf", "robots", "xacro"])
def test_a_package_is_found_around_the_folder_of_the_urdf(tmp_path, folder):
    path = tmp_path / "pack" / folder / "robot.urdf"
    target = tmp_path / "pack" / "meshes" / "visual" / "a.stl"
    for each in (path, target):
        each.parent.mkdir(parents=True)
        each.write_text("")
    end = "meshes/visual/a.stl"
    names = (f"package://pack/{end}", f"package://x/y/{end}", f"../{end}", f"model://pack/{end}", f"file://{target}")
    for name in (*names, "package://pack/meshes/visual/%61.stl"):
        assert find_mesh_file(path, name) == target.resolve(), name


@pytest.mark.parametrize(
    "name",
    [
        "../outside.stl", "/etc/passwd", "../../outside.stl", "package://../outside.stl", "package://a/../../outside.stl",
        "package:///etc/passwd", "http://example.org/a.stl", "link.stl", "package://x/link.stl", "file:///etc/passwd",
        "%2e%2e/outside.stl", "a\0b.stl", "", ".", "package://", "loop.stl", "folder", "x" * 300,
    ],
)  # fmt: skip
def test_nothing_outside_is_opened(tmp_path, name):
    inner = tmp_path / "models"
    (inner / "folder").mkdir(parents=True)
    (tmp_path / "outside.stl").write_text(STL_TETRAHEDRON)
    (inner / "link.stl").symlink_to(tmp_path / "outside.stl")
    (inner / "loop.stl").symlink_to(inner / "loop.stl")
    with pytest.raises(FileError):
        find_mesh_file(inner / "robot.urdf", name)


def test_an_endless_name_is_not_looked_for(tmp_path):
    with pytest.raises(FileError, match="not a file beside the URDF"):
        find_mesh_file(tmp_path / "robot.urdf", "package://" + "a/" * 600 + "a.stl")


def test_the_parent_counts_only_where_a_package_is_laid_out_so(tmp_path):
    (tmp_path / "a.stl").write_text(STL_TETRAHEDRON)
    with pytest.raises(FileError, match="leads out of"):
        find_mesh_file(tmp_path / "mine" / "robot.urdf", "../a.stl")


def test_a_mesh_outside_is_noted_and_the_rest_is_shown(tmp_path):
    (tmp_path / "secret.stl").write_text(STL_TETRAHEDRON)
    model = build_rig_message(robot(tmp_path / "models", mesh("../secret.stl"), visual('<box size="1 1 1"/>')))
    assert "secret.stl" in model.notes[0]
    assert "not opened" in model.notes[0]
    ((_, pieces),) = parts_of(model)
    assert len(pieces) == 1


@pytest.mark.parametrize(
    ("shape", "message_text"),
    [
        ('<box size="1 2"/>', "size needs 3 numbers"),
        ('<box size="1 2 x"/>', "not a number"),
        ('<box size="1 2 nan"/>', "not a number"),
        ("<sphere/>", "radius needs 1 numbers"),
        ('<cylinder radius="1"/>', "length needs 1 numbers"),
        ('<mesh filename="t.stl" scale="1 1"/>', "scale needs 3 numbers"),
        ('<mesh filename="words.stl"/>', "words.stl' holds no triangles"),
        ('<mesh filename="empty.stl"/>', "empty"),
        ('<mesh filename="t.step"/>', "t.step': a mesh is a .stl, .obj, .dae file"),
        ('<mesh filename="doctype.dae"/>', "document types and entities are not read"),
    ],
)
def test_what_cannot_be_shown_is_noted(tmp_path, shape, message_text):
    for name, text in (("t.stl", STL_TETRAHEDRON), ("words.stl", "solid none"), ("empty.stl", ""), ("t.step", "x")):
        (tmp_path / name).write_text(text)
    (tmp_path / "doctype.dae").write_text('<!DOCTYPE a [<!ENTITY b "c">]><COLLADA/>')
    model = build_rig_message(robot(tmp_path, visual(shape)))
    assert model.asset is None
    assert message_text in model.notes[0]


def test_a_mesh_too_large_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "large.stl"
    with path.open("wb") as file:
        file.truncate(100_000_001)
    with pytest.raises(FileError, match="100 MB"):
        read_mesh(path)


def test_without_trimesh_bones_are_drawn_and_a_note_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "trimesh", None)
    (tmp_path / "t.stl").write_text(STL_TETRAHEDRON)
    model = build_rig_message(robot(tmp_path, mesh("t.stl")))
    assert model.asset is None
    assert "pip install 'poise[view]'" in model.notes[0]


# --- folders that were named -----------------------------------------------------------------------------------------


def elsewhere(tmp_path, *, package="arm"):
    """A robot that names a mesh of a package, which lies in a workspace beside."""
    trimesh = pytest.importorskip("trimesh")
    rig = robot(tmp_path / "robots_here", mesh(f"package://{package}/meshes/t.stl"))
    meshes = tmp_path / "workspace" / "src" / package / "meshes"
    meshes.mkdir(parents=True)
    trimesh.creation.box(extents=(1.0, 2.0, 3.0)).export(meshes / "t.stl")
    return rig, tmp_path / "workspace" / "src"


@pytest.mark.parametrize("below", ["", "arm"])
def test_meshes_of_a_package_in_a_named_folder_are_drawn(tmp_path, below):
    rig, folder = elsewhere(tmp_path)
    without = build_rig_message(rig)
    assert without.asset is None
    assert "--package-path" in without.notes[0]
    model = build_rig_message(rig, package_folders=(tmp_path, folder / below))
    assert model.notes == ()
    ((_, ((points, *_),)),) = parts_of(model)
    np.testing.assert_allclose(np.ptp(points, axis=0), [1, 2, 3])


def test_nothing_outside_of_the_named_folders_is_read(tmp_path):
    rig, folder = elsewhere(tmp_path)
    other = tmp_path / "other"
    (other / "arm").mkdir(parents=True)
    (other / "arm" / "meshes").symlink_to(folder / "arm" / "meshes", target_is_directory=True)  # leads out of it
    out = robot(tmp_path / "robots_there", mesh("package://arm/../../workspace/src/arm/meshes/t.stl"))
    for shown, packages in ((rig, (other,)), (out, (other,)), (out, (folder.parent.parent / "robots_here",))):
        model = build_rig_message(shown, package_folders=packages)
        assert model.asset is None
        assert "is not there" in model.notes[0]


def test_many_lost_meshes_are_reported_shortly(data):
    if not (data / "urdf/panda.urdf").exists():
        pytest.skip(f"{WANT}: no panda.urdf")
    (note,) = build_rig_message(poise.load(data / "urdf/panda.urdf")).notes
    assert "and 7 more are not there; they were looked for in " in note
    assert note.endswith("drop the folder that has it on the page, or start with --package-path FOLDER")
