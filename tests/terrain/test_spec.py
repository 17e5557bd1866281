"""Terrain from the words of the command line."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from poise import FileError, InputError, PoiseError, Terrain, UnknownNameError
from poise.ground.terrain.words import FORMS, angle_of, terrain_of, turned_by, uphill
from poise.io import samples
from tests.terrain.terrains import points_over


@pytest.mark.parametrize(
    ("words", "terrain"),
    [
        ("flat", Terrain.flat()),
        ("flat:0.5", Terrain.flat(0.5)),
        ("slope:15", Terrain.slope(15)),
        ("slope:-7.5", Terrain.slope(-7.5)),
        ("stairs:0.15,0.30", Terrain.stairs(0.15, 0.3)),
        ("stairs: 0.15, 0.30", Terrain.stairs(0.15, 0.3)),
        ("slope:15@90", Terrain.slope(15, direction=(1, 0, 0))),
        ("slope:15@-180", Terrain.slope(15, direction=(0, 0, -1))),
        ("stairs: 0.15,0.3 @ 30", Terrain.stairs(0.15, 0.3, direction=turned_by(30, "y"))),
        ("noise:0.05", Terrain.noise(0.05, 1.0)),
        ("noise:0.05,2", Terrain.noise(0.05, 2.0)),
    ],
)
def test_shapes_in_metres_of_a_figure(words, terrain):
    points = points_over(1)
    assert np.array_equal(terrain_of(words).heights(points), terrain.heights(points))
    assert terrain_of(words).unit is None
    assert terrain_of(words).up == "y"
    assert terrain_of(words, up="z").up == "z"


def test_a_height_map_with_its_size():
    path = str(samples.path("hills.npz"))
    terrain = terrain_of(path, size=10, height=0.002, origin=(1, 0, 0), up="z")
    assert (terrain.up, terrain.unit) == ("z", 1.0)
    assert terrain.sample([[-3.9, 0, 0], [-4.1, 0, 0]]).inside.tolist() == [True, False]
    assert terrain_of(path).heights([1, 0, 2]) == Terrain.heightmap(path).heights([1, 0, 2])


@pytest.mark.parametrize(("suffix", "up"), [(".glb", "y"), (".obj", "y"), (".stl", "z"), (".STL", "z")])
def test_a_mesh_in_its_own_frame(tmp_path, suffix, up):
    path = tmp_path / f"box{suffix}"
    trimesh.creation.box((2, 2, 2)).export(path, file_type=suffix[1:].lower())
    assert terrain_of(str(path)).up == up
    assert terrain_of(str(path)).heights([0, 0, 0]) == 1.0
    assert terrain_of(str(path), up="z").up == "z"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("slope", r"write slope:DEGREES, for example slope:15"),
        ("slope:", "write slope:DEGREES"),
        ("slope:15,3", "write slope:DEGREES"),
        ("slope:steep", "write slope:DEGREES"),
        ("stairs:0.15", r"write stairs:RISE,GOING, for example stairs:0.15,0.30"),
        ("noise", r"write noise:AMPLITUDE\[,WAVELENGTH\]"),
        ("flat:", r"write flat\[:HEIGHT\]"),
        ("slope:nan", "write slope:DEGREES"),
        ("slope:1_5", "write slope:DEGREES"),
        ("slope:91", "-89 to 89"),
        ("slope:5@", "@ is no turn of slope; write degrees to the left, for example slope:15@90"),
        ("stairs:0.1,0.3@nan", "@nan is no turn of stairs"),
        ("stairs:0.1,0.3@1,0", "@1,0 is no turn of stairs"),
        ("flat@90", "is for slope and stairs, not for 'flat@90'"),
        ("noise:0.1@90", "is for slope and stairs, not for"),
        ("stairs:0.1,0", "going of stairs must be more than 0"),
    ],
)
def test_wrong_numbers_say_how_to_write_them(words, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        terrain_of(words)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("words", ["", "stair:0.15,0.3", "Flat", "hill", "hills.xyz", "a\0b"])
def test_an_unknown_terrain_lists_what_exists(words):
    with pytest.raises(UnknownNameError) as caught:
        terrain_of(words)
    assert all(form in str(caught.value) for form in FORMS)


def test_a_file_of_another_kind_is_named(tmp_path):
    (tmp_path / "clip.bvh").write_text("HIERARCHY")
    with pytest.raises(FileError, match=r"clip\.bvh: is no terrain; terrains: flat"):
        terrain_of(str(tmp_path / "clip.bvh"))


@pytest.mark.parametrize("words", ["flat", "slope:15", "ground.glb"])
def test_a_size_belongs_to_height_maps(words):
    with pytest.raises(
        InputError, match=r"--terrain-size and --terrain-origin are for height maps \(.png, .npz\), not for"
    ):
        terrain_of(words, size=3, origin=(0, 0, 0))


def test_one_option_for_height_maps():
    with pytest.raises(InputError, match="--terrain-height is for height maps"):
        terrain_of("flat", height=2.0)


def test_a_unit_is_for_every_ground(tmp_path):
    np.savez(tmp_path / "map.npz", heights=np.zeros((2, 2)))
    assert [terrain_of(words, unit=100.0).unit for words in ("slope:5", str(tmp_path / "map.npz"))] == [100.0, 100.0]
    assert [terrain_of(words).unit for words in ("slope:5", str(tmp_path / "map.npz"))] == [None, 1.0]


@pytest.mark.parametrize("words", ["none.png", "none.npz", "none.glb", "none.stl"])
def test_a_missing_file_is_named(words):
    with pytest.raises(PoiseError, match=f"{words}: No such file"):
        terrain_of(words)


@pytest.mark.parametrize("up", ["y", "z"])
@pytest.mark.parametrize("words", ["slope:20", "stairs:0.2,0.3"])
def test_a_direction_in_the_frame_of_the_terrain(words, up):
    points = points_over(3)
    way = turned_by(50, up)
    given = terrain_of(words, direction=way, up=up)
    np.testing.assert_array_equal(given.heights(points), terrain_of(f"{words}@50", up=up).heights(points))
    np.testing.assert_allclose(uphill(given, up), way, atol=1e-12)
    assert angle_of(way, up) == pytest.approx(50)
    np.testing.assert_allclose(terrain_of(f"{words}@90", up=up).heights([[1e3, 0, 0]]) > 100, True)


def test_ground_that_falls_climbs_the_other_way():
    assert uphill(Terrain.slope(-10), "y").tolist() == [0, 0, -1]
    assert uphill(Terrain.stairs(-0.1, 0.3), "z").tolist() == [0, 1, 0]
    assert uphill(Terrain.flat(), "y") is None
    assert uphill(Terrain.stairs(0.0, 0.3), "y") is None


def test_one_direction_for_ground_that_has_one(tmp_path):
    np.savez(tmp_path / "map.npz", heights=np.zeros((2, 2)))
    for words in ("flat", "noise:0.1", str(tmp_path / "map.npz"), "none.glb"):
        with pytest.raises(InputError, match="--terrain-direction") as caught:
            terrain_of(words, direction=(1, 0, 0))
        assert "is for slope and stairs, not for" in str(caught.value)
    with pytest.raises(InputError, match="says a direction, and so does --terrain-direction"):
        terrain_of("slope:5@90", direction=(1, 0, 0))
    with pytest.raises(InputError, match="no level part; up is z"):
        terrain_of("slope:5", direction=(0, 0, 1), up="z")
