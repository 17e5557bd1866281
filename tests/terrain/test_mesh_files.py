"""Meshes from files: units, frames and nodes, real boxes, and what is refused."""

from __future__ import annotations

import builtins
import io
import json
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import trimesh

from poise import FileError, InputError, PoiseError, Terrain, UnsupportedError
from poise.io.mesh_text import replace_non_ascii
from poise.maths import rotations

RAMP = trimesh.Trimesh([[0, 0, 0], [4, 0, 0], [4, 0, 2], [0, 0, 2]], [[0, 2, 1], [0, 3, 2]])  # level, y up
RAMP.vertices[[1, 2], 1] = 1.0  # climbs along x
SUFFIXES = (".glb", ".gltf", ".obj", ".stl")


def saved(folder, mesh, suffix):
    path = folder / f"ground{suffix}"
    exported = mesh.export(file_type=suffix[1:])
    if isinstance(exported, dict):  # a glTF file and its buffers
        for name, data in exported.items():
            (folder / name.replace("model.gltf", path.name)).write_bytes(data)
    else:
        path.write_bytes(exported if isinstance(exported, bytes) else exported.encode())
    return path


@pytest.fixture(scope="module")
def boxes(data):
    """The boxes of a robot's test ground as one mesh, Z up: stairs of rise 0.15 and going 0.2 from x = 1.1, y = 4."""
    tree = ET.parse(data / "terrain" / "unitree_go2_scene_terrain.xml")  # noqa: S314
    parts = []
    for geom in tree.iter("geom"):
        if geom.get("type") == "box":
            place = np.eye(4)
            place[:3, :3] = rotations.as_matrix(np.array(geom.get("quat").split(), dtype=float))
            place[:3, 3] = geom.get("pos").split()
            parts.append(trimesh.creation.box(2 * np.array(geom.get("size").split(), dtype=float), place))
    assert len(parts) == 102
    return trimesh.util.concatenate(parts)


class TestRealBoxes:
    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_the_stairs_are_found(self, tmp_path, boxes, suffix):
        terrain = Terrain.mesh(saved(tmp_path, boxes, suffix), up="z")
        treads = np.stack([1.2 + 0.2 * np.arange(10), np.full(10, 4.0), 0.15 * np.arange(10)], axis=-1)
        ground = terrain.sample(treads)
        np.testing.assert_allclose(ground.heights, 0.15 * np.arange(1, 11), atol=1e-6)
        np.testing.assert_allclose(ground.normals, [[0, 0, 1]] * 10, atol=1e-6)

    def test_every_box_has_its_top_where_nothing_is_higher(self, tmp_path, boxes):
        terrain = Terrain.mesh(saved(tmp_path, boxes, ".glb"), up="z")
        points = np.random.default_rng(0).uniform([-2.3, 5.2, 9], [-0.5, 6.6, 9], size=(300, 3))
        down = np.tile([0.0, 0, -1], (300, 1))
        hits = terrain.hit(points, down)
        assert hits.hit.all()
        np.testing.assert_allclose(terrain.heights(points), hits.points[:, 2], atol=1e-9)
        assert np.ptp(hits.points[:, 2]) > 0.05

    def test_a_ray_along_the_stairs_meets_the_risers(self, tmp_path, boxes):
        terrain = Terrain.mesh(saved(tmp_path, boxes, ".stl"))
        heights = np.array([0.05, 0.2, 0.5])
        hits = terrain.hit(np.stack([[0.0] * 3, [4.0] * 3, heights], axis=-1), [1, 0, 0])
        np.testing.assert_allclose(hits.points[:, 0], [1.1, 1.3, 1.7], atol=1e-6)
        np.testing.assert_allclose(hits.normals, [[-1, 0, 0]] * 3, atol=1e-6)


class TestFrames:
    @pytest.mark.parametrize(("suffix", "up"), [(".glb", "y"), (".gltf", "y"), (".obj", "y"), (".stl", "z")])
    def test_the_up_axis_is_the_format_s(self, tmp_path, suffix, up):
        mesh = RAMP.copy()
        if up == "z":
            mesh.apply_transform(trimesh.transformations.rotation_matrix(np.pi / 2, [1, 0, 0]))
        terrain = Terrain.mesh(saved(tmp_path, mesh, suffix))
        assert terrain.up == up
        assert terrain.unit == 1.0
        assert terrain.with_up("y").sample([3, 0, 1]) == (
            pytest.approx(0.75), pytest.approx(np.array([-1, 4, 0]) / 17**0.5), True,
        )  # fmt: skip

    def test_the_up_axis_can_be_stated(self, tmp_path):
        assert Terrain.mesh(saved(tmp_path, RAMP, ".stl"), up="y").heights([3, 0, 1]) == pytest.approx(0.75)

    def test_nodes_stand_where_the_scene_says(self, tmp_path):
        scene = trimesh.Scene()
        move, mirror = np.eye(4), np.diag([-1.0, 1, 1, 1])
        move[:3, 3] = 10, 5, 0
        scene.add_geometry(RAMP, transform=move)
        scene.add_geometry(RAMP, transform=mirror)
        ground = Terrain.mesh(saved(tmp_path, scene, ".glb")).sample([[13, 6, 1], [-3, 0, 1]])
        assert ground.heights == pytest.approx([5.75, 0.75])
        assert (ground.normals[:, 1] > 0.9).all()

    def test_a_mirrored_body_is_not_inside_out(self, tmp_path):
        scene = trimesh.Scene()
        scene.add_geometry(trimesh.creation.box((2, 2, 2)), transform=np.diag([-1.0, 1, 1, 1]))
        assert Terrain.mesh(saved(tmp_path, scene, ".glb")).heights([0, -1, 0]) == 1.0


class TestNothingElseIsRead:
    """Materials and textures are not needed; what leads out of the folder is not opened."""

    @pytest.fixture
    def opened(self, monkeypatch):
        names, real = [], builtins.open

        def noted(name, *rest, **more):
            names.append(str(name))
            return real(name, *rest, **more)

        monkeypatch.setattr(builtins, "open", noted)
        monkeypatch.setattr(io, "open", noted)
        return names

    @pytest.mark.parametrize("material", ["missing.mtl", "../outside.mtl", "/etc/passwd", "beside.mtl"])
    def test_an_obj_s_materials(self, tmp_path, opened, material):
        (tmp_path / "in").mkdir()
        (tmp_path / "outside.mtl").write_text("newmtl a\n")
        (tmp_path / "in" / "beside.mtl").write_text("newmtl a\nmap_Kd ../outside.png\n")
        path = saved(tmp_path / "in", RAMP, ".obj")
        path.write_text(f"mtllib {material}\nusemtl a\n" + path.read_text())
        opened.clear()
        assert Terrain.mesh(path).heights([3, 0, 1]) == pytest.approx(0.75)
        assert not [name for name in opened if "mtl" in name or "passwd" in name or "outside" in name]

    @pytest.mark.parametrize(
        "uri", ["../outside.bin", "/etc/passwd", "missing.bin", "file:///etc/passwd", "http://a/b"]
    )
    def test_a_gltf_s_buffers(self, tmp_path, opened, uri):
        (tmp_path / "in").mkdir()
        (tmp_path / "outside.bin").write_bytes(bytes(10_000))
        path = saved(tmp_path / "in", RAMP, ".gltf")
        document = json.loads(path.read_text())
        document["buffers"][0]["uri"] = uri
        path.write_text(json.dumps(document))
        opened.clear()
        with pytest.raises(FileError, match=r"ground\.gltf") as caught:
            Terrain.mesh(path)
        assert "\n" not in str(caught.value)
        assert not [name for name in opened if "outside" in name or "passwd" in name]

    def test_a_gltf_s_pictures(self, tmp_path):
        path = saved(tmp_path, RAMP, ".gltf")
        document = json.loads(path.read_text())
        document |= {"images": [{"uri": "../no.png"}], "textures": [{"source": 0}]}
        document["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
        path.write_text(json.dumps(document))
        assert Terrain.mesh(path).heights([3, 0, 1]) == pytest.approx(0.75)


def stl_of(triangles):
    """An ASCII STL file."""
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in t) + "endloop\nendfacet\n"
        for t in triangles
    )
    return f"solid a\n{facets}endsolid a\n"


class TestRefused:
    @pytest.mark.parametrize(
        ("name", "text", "sentence"),
        [
            ("a.obj", "v 0 0 0\nv 1 0 0\n", "cannot be read|no triangles"),
            ("a.obj", "hello\n", "cannot be read|no triangles"),
            ("a.obj", "v 0 0 0\nv 1 0 0\nv 0 0 1\nf 1 2 9\n", "cannot be read"),
            ("a.obj", "v 0 0 0\nv 1 0 nan\nv 0 0 1\nf 1 2 3\n", "not finite"),
            ("a.obj", "v 0 0 0\nv 1 0 1e39\nv 0 0 1\nf 1 2 3\n", "not finite or beyond 1e.30"),
            ("a.obj", "v 0 0 0\nv 1 0 1\nv 2 0 2\nf 1 2 3\n", "no triangle with an area"),
            (
                "a.stl",
                stl_of([[(0, 0, 0), (1, 0, 0), (0, 0, 1)]]),
                "walls only, no ground; its up axis was taken",
            ),
            ("a.stl", "solid a\nendsolid a\n", "cannot be read|no triangles"),
            ("a.stl", "\0" * 50, "cannot be read|no triangles"),
            ("a.glb", "not a glb at all", "is not a glTF or GLB file"),
            ("a.gltf", "{}", "asset.version is missing"),
            ("a.gltf", '{"asset": {"version": "2.0"}}', "no triangles|cannot be read"),
            ("a.glb", "", "empty"),
            ("a.fbx", "x", r"\.glb, \.gltf, \.obj, \.stl file, not \.fbx"),
            ("a", "x", "without a suffix"),
        ],
    )
    def test_what_is_no_ground_is_one_sentence(self, tmp_path, name, text, sentence):
        (tmp_path / name).write_text(text)
        with pytest.raises(FileError, match=sentence) as caught:
            Terrain.mesh(tmp_path / name)
        assert name in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_triangle_without_an_area_beside_others_is_passed_over(self, tmp_path):
        flat = [[(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 0, 9), (0, 0, 9), (1, 1, 9)], [(0, 0, 7), (1, 1, 7), (2, 2, 7)]]
        (tmp_path / "a.stl").write_text(stl_of(flat))
        assert Terrain.mesh(tmp_path / "a.stl", storey=100.0).heights([[0.2, 0.2, 0], [0.5, 0.5, 0]]).tolist() == [0, 0]

    def test_broken_files(self, data):
        broken = sorted((data / "bad_inputs").glob("gl*_*.gl*"))
        harmless = {"gltf_negative_scale.gltf", "gltf_skin_duplicate_joint.gltf", "gltf_zero_quaternion.gltf"}
        broken = [path for path in broken if path.name not in harmless]
        assert len(broken) >= 5
        for path in broken:
            with pytest.raises(FileError, match=path.name):
                Terrain.mesh(path)

    def test_compressed_meshes(self, data):
        with pytest.raises(FileError, match="'KHR_draco_mesh_compression' is not read; save the mesh without it"):
            Terrain.mesh(data / "bad_inputs" / "gltf_draco_required.gltf")

    def test_no_such_file_and_a_folder(self, tmp_path):
        (tmp_path / "folder.glb").mkdir()
        for name in ("none.glb", "folder.glb"):
            with pytest.raises(PoiseError, match=name):
                Terrain.mesh(tmp_path / name)

    @pytest.mark.parametrize("options", [{"storey": 0}, {"storey": np.nan}, {"up": "x"}, {"unit": -1}])
    def test_bad_options_are_refused_before_the_file_is_read(self, options):
        with pytest.raises(InputError):
            Terrain.mesh("none.glb", **options)

    def test_without_trimesh_the_extra_is_named(self, tmp_path, monkeypatch):
        path = saved(tmp_path, RAMP, ".glb")
        monkeypatch.setitem(sys.modules, "trimesh", None)
        with pytest.raises(UnsupportedError, match=r"pip install 'poise\[terrain\]'"):
            Terrain.mesh(path)


def test_letters_that_are_not_ascii_are_replaced_in_texts_alone():
    solid = "solid d\u00fcne\nendsolid\n".encode("latin-1")
    assert replace_non_ascii(solid, ".stl") == b"solid d?ne\nendsolid\n"
    assert replace_non_ascii(solid, ".obj") == b"solid d?ne\nendsolid\n"
    binary = bytes(80) + (2).to_bytes(4, "little") + b"\xff" * 100
    assert replace_non_ascii(binary, ".stl") == binary
    assert replace_non_ascii(binary[:-1], ".stl") != binary[:-1]  # no facets of 50 bytes each: a text
    assert replace_non_ascii(solid, ".glb") == solid
