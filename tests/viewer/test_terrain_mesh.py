"""Ground as the page gets it lies where Terrain says that it is."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from poise.errors import InputError
from poise.ground.terrain.terrain import Terrain
from poise.viewer.document.terrain import build_terrain_glb


def mesh_of(glb):
    """Points, faces and normals of the only primitive."""
    length = struct.unpack_from("<I", glb, 12)[0]
    document, binary = json.loads(glb[20 : 20 + length]), glb[20 + length + 8 :]
    (primitive,) = document["meshes"][0]["primitives"]

    def array(i, kind, width):
        accessor = document["accessors"][i]
        start = document["bufferViews"][accessor["bufferView"]]["byteOffset"]
        return np.frombuffer(binary, kind, accessor["count"] * width, start).reshape(-1, width)

    normal = primitive["attributes"].get("NORMAL")
    normals = None if normal is None else array(normal, "<f4", 3)
    faces = array(primitive["indices"], "<u4", 1).reshape(-1, 3)
    return array(primitive["attributes"]["POSITION"], "<f4", 3).astype(float), faces, normals


@pytest.mark.parametrize("up", ["y", "z"])
@pytest.mark.parametrize(
    "terrain",
    [
        Terrain.noise(0.2, 1.5, seed=3).for_figure(1.2),
        Terrain.slope(10).for_figure(170.0).lift_by(3.0),
        Terrain.heightmap(np.outer(np.sin(np.arange(40) / 5), np.ones(30)), size=20.0),
        Terrain.function(lambda a, b: 0.1 * a * a - 0.3 * b),
    ],
    ids=["noise", "slope", "heightmap", "function"],
)
def test_every_point_is_on_the_ground(terrain, up):
    ground = terrain.with_up(up)
    centre = np.array([1.0, 5.0, -2.0])
    points, faces, normals = mesh_of(build_terrain_glb(ground, centre, 4.0))
    axis, plan = (1, [0, 2]) if up == "y" else (2, [0, 1])
    message = ground.sample(points)
    np.testing.assert_allclose(points[:, axis], message.heights, atol=2e-4)
    np.testing.assert_allclose(normals, message.normals, atol=2e-3)
    np.testing.assert_allclose(points[:, plan].min(axis=0), centre[plan] - 4.0, atol=1e-5)
    np.testing.assert_allclose(points[:, plan].max(axis=0), centre[plan] + 4.0, atol=1e-5)
    assert (facing(points, faces)[:, axis] > 0).all()


def facing(points, faces):
    a, b, c = points[faces].transpose(1, 0, 2)
    return np.cross(b - a, c - a)


@pytest.mark.parametrize("up", ["y", "z"])
def test_stairs_have_level_treads_and_upright_risers(up):
    terrain = Terrain.stairs(0.15, 0.3, direction=(1, 0, 1) if up == "y" else (1, 1, 0), up=up).for_figure(1.7)
    points, faces, _ = mesh_of(build_terrain_glb(terrain, (0.4, 0.0, 0.2), 3.0))
    axis = 1 if up == "y" else 2
    outwards = facing(points, faces)
    outwards /= np.linalg.norm(outwards, axis=1, keepdims=True)
    upright = np.abs(outwards[:, axis]) < 1e-4
    np.testing.assert_allclose(outwards[~upright][:, axis], 1.0, atol=1e-6)
    assert 18 <= upright.sum() // 2 <= 22  # 6 m of treads 0.3 m deep
    middles = points[faces[~upright]].mean(axis=1)
    np.testing.assert_allclose(middles[:, axis], terrain.heights(middles), atol=1e-5)


def test_a_mesh_shows_its_own_triangles_near_the_figure(tmp_path):
    path = tmp_path / "table.obj"
    tops = [(0, 0.0), (2, 0.7), (50, 0.2)]
    corners = [f"v {x + dx} {y} {z}" for x, y in tops for dx, z in ((0, 0), (0, 1), (1, 1), (1, 0))]
    path.write_text("\n".join([*corners, *(f"f {i} {i + 1} {i + 2} {i + 3}" for i in (1, 5, 9))]))
    points, faces, normals = mesh_of(build_terrain_glb(Terrain.mesh(path), (1.0, 0.0, 0.5), 5.0))
    assert normals is None  # flat: its edges are crisp
    assert len(faces) == 4  # the third top is far away
    assert sorted(set(points[:, 1].round(5).tolist())) == [0.0, 0.7]


def test_endless_stairs_of_tiny_steps_are_not_endless_to_draw():
    assert len(build_terrain_glb(Terrain.stairs(0.001, 0.0001).for_figure(1.7), (0, 0, 0), 50.0)) < 3_000_000


@pytest.mark.parametrize(("centre", "extent"), [((0, 0), 1.0), ((0, 0, 0), 0.0), ((0, 0, 0), np.inf), ((0, 0, 0), -1)])
def test_what_is_no_place_is_refused(centre, extent):
    with pytest.raises(InputError):
        build_terrain_glb(Terrain.flat(), centre, extent)
