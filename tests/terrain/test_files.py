"""Height maps from files: npz and PNG, ours and real ones, and what is broken about the others."""

from __future__ import annotations

import io
import struct
import sys
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image

from poise import FileError, PoiseError, Terrain, UnsupportedError
from poise.io import samples

RAMP = np.arange(6).reshape(2, 3)


@pytest.fixture
def npz(tmp_path):
    """Write an npz file and read it as terrain."""

    def made(up="z", **arrays):
        np.savez(tmp_path / "map.npz", **arrays)
        return Terrain.heightmap(tmp_path / "map.npz", up=up)

    return made


@pytest.fixture
def png(tmp_path):
    """Write a picture and read it as terrain, 255 high."""

    def made(array, mode=None, **options):
        picture = Image.fromarray(np.asarray(array))
        (picture.convert(mode) if mode else picture).save(tmp_path / "map.png", **options)
        return Terrain.heightmap(tmp_path / "map.png", height=255)

    return made


def posts(terrain):
    """Heights of the posts as the array is printed."""
    return terrain.surface.posts[::-1]


def extent(terrain):
    grid = terrain.surface.grid
    x, y = grid.x, grid.y
    return [x, x + grid.wide * grid.cols, y, y + grid.deep * grid.rows]


class TestNpz:
    @pytest.mark.parametrize("name", ["heights", "elevation"])
    def test_heights_are_actual_values(self, npz, name):
        terrain = npz(**{name: RAMP})
        assert np.array_equal(posts(terrain), RAMP)
        assert extent(terrain) == [-1, 1, -0.5, 0.5]

    def test_a_file_says_its_size_height_and_origin(self, npz):
        terrain = npz(heights=RAMP, size=[4.0, 6.0], height=0.5, origin=[1, 2, 3])
        assert np.array_equal(posts(terrain), RAMP * 0.5 + 3)
        assert extent(terrain) == [-1, 3, -1, 5]

    def test_its_origin_is_in_the_frame_that_is_requested(self, npz):
        terrain = npz(up="y", heights=RAMP, origin=[1, 7, 2])
        assert terrain.sample([2, 0, 2.5]) == (12, pytest.approx(terrain.normals([2, 0, 2.5])), True)

    def test_spacing_is_from_post_to_post(self, npz):
        assert extent(npz(heights=RAMP, spacing=[2.0, 3.0])) == [-2, 2, -1.5, 1.5]
        assert extent(npz(heights=RAMP, dx=2.0, dy=3.0)) == [-2, 2, -1.5, 1.5]

    def test_ranges_say_where_it_lies(self, npz):
        assert extent(npz(heights=RAMP, xmin=10.0, xmax=14.0, ymin=6.0, ymax=5.0)) == [10, 14, 5, 6]

    def test_rows_that_run_north_are_turned(self, npz):
        assert np.array_equal(posts(npz(heights=RAMP, xmin=0, xmax=2, ymin=0, ymax=1)), RAMP[::-1])

    def test_columns_that_run_west_are_turned(self, npz):
        assert np.array_equal(posts(npz(heights=RAMP, xmin=2, xmax=0, ymin=1, ymax=0)), RAMP[:, ::-1])

    def test_arguments_come_before_what_the_file_says(self, tmp_path):
        np.savez(tmp_path / "map.npz", heights=RAMP, xmin=10.0, xmax=14.0, ymin=6.0, ymax=5.0, height=9.0)
        terrain = Terrain.heightmap(tmp_path / "map.npz", size=(2, 2), height=1, up="z")
        assert extent(terrain) == [-1, 1, -1, 1]
        assert np.array_equal(posts(terrain), RAMP)

    @pytest.mark.parametrize(
        ("arrays", "sentence"),
        [
            ({"depth": RAMP}, "neither of heights and elevation; its arrays: depth"),
            ({"heights": RAMP, "elevation": RAMP}, "both of heights and elevation"),
            ({"heights": np.ones((1, 1))}, r"at least 2 rows and 2 columns; its shape is \(1, 1\)"),
            ({"heights": np.array([["a"]])}, "heights: must be numbers"),
            ({"heights": np.array([[{}]])}, "pickle|Object"),
            ({"heights": np.array([[1, np.nan], [2, 3]])}, "row 0, column 1 is nan"),
            ({"heights": np.array([[1, np.inf], [2, 3]])}, "row 0, column 1 is inf"),
            ({"heights": RAMP, "size": [1.0, 0.0]}, "size: must be above 0"),
            ({"heights": RAMP, "size": 3.0}, "size: must be 2 finite numbers"),
            ({"heights": RAMP, "dx": np.nan, "dy": 1.0}, "dx: must be a finite number"),
            ({"heights": RAMP, "xmin": 1.0, "xmax": 1.0, "ymin": 0.0, "ymax": 1.0}, "xmin: a range is empty"),
            ({"heights": RAMP, "origin": "here"}, "origin: must be 3 finite numbers"),
        ],
    )
    def test_what_is_wrong_is_named(self, npz, arrays, sentence):
        with pytest.raises(FileError, match=sentence) as caught:
            npz(**arrays)
        assert "map.npz" in str(caught.value)

    def test_holes_on_request(self, tmp_path):
        np.savez(tmp_path / "map.npz", heights=np.array([[1, 1, 1], [1, 1, np.nan]]))
        terrain = Terrain.heightmap(tmp_path / "map.npz", holes=True)
        assert terrain.sample([[-0.5, 0, 0], [0.5, 0, 0]]).inside.tolist() == [True, False]

    def test_a_bomb_is_not_unpacked(self, tmp_path):
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)})
        with zipfile.ZipFile(tmp_path / "map.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("heights.npy", head.getvalue() + bytes(1000))
        with pytest.raises(FileError, match=r"map\.npz"):
            Terrain.heightmap(tmp_path / "map.npz")

    @pytest.mark.parametrize("cut", [0, 3, 100, -10])
    def test_a_part_of_a_file_is_refused(self, tmp_path, cut):
        np.savez(tmp_path / "whole.npz", heights=RAMP)
        (tmp_path / "map.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:cut])
        with pytest.raises(FileError, match=r"map\.npz"):
            Terrain.heightmap(tmp_path / "map.npz")


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def raw_png(width, height, bits, kind, data, interlaced=0):
    head = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


class TestPng:
    GREY = np.array([[0, 100, 255], [7, 8, 9]], dtype=np.uint8)

    def test_grey_lies_as_it_is_shown(self, png):
        np.testing.assert_allclose(posts(png(self.GREY)), self.GREY, atol=1e-12)

    def test_white_is_the_height(self, png):
        assert posts(png(self.GREY)).max() == 255

    def test_sixteen_bits_keep_their_steps(self, png):
        fine = np.array([[0, 1], [65534, 65535]], dtype=np.uint16)
        np.testing.assert_allclose(posts(png(fine)), fine / 257.0, atol=1e-12)

    @pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "LA"])
    def test_grey_in_colours_is_the_same_grey(self, png, mode):
        np.testing.assert_allclose(posts(png(self.GREY, mode)), self.GREY, atol=1e-12)

    def test_of_colours_the_luminance_counts(self, png):
        colours = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [10, 20, 30]]], dtype=np.uint8)
        expected = [[255 * 0.299, 255 * 0.587], [255 * 0.114, 18.15]]
        np.testing.assert_allclose(posts(png(colours)), expected, atol=1e-12)

    def test_interlaced_pictures_are_read(self, tmp_path):
        (tmp_path / "map.png").write_bytes(raw_png(2, 2, 8, 0, bytes([0, 10, 0, 20, 0, 30, 40]), interlaced=1))
        terrain = Terrain.heightmap(tmp_path / "map.png", height=255)
        np.testing.assert_allclose(posts(terrain), [[10, 20], [30, 40]], atol=1e-12)

    def test_transparency_is_no_height(self, png):
        clear = np.full((2, 2, 4), 128, dtype=np.uint8)
        with pytest.raises(FileError, match="transparent"):
            png(clear)

    @pytest.mark.parametrize(
        ("data", "sentence"),
        [
            (raw_png(2, 2, 16, 2, bytes(26)), "16 bits per colour"),
            (raw_png(60_000, 60_000, 8, 0, bytes(10)), "60000 x 60000 pixels are too many"),
            (raw_png(1, 1, 8, 0, bytes(2)), "at least 2 rows and 2 columns"),
            (raw_png(0, 5, 8, 0, b""), "broken PNG|at least 2 rows"),
            (raw_png(4, 4, 8, 0, bytes(20))[:-30], "broken PNG"),
            (raw_png(4, 4, 3, 0, bytes(20)), "broken PNG"),
            (b"\x89PNG\r\n\x1a\n", "not a PNG"),
            (b"GIF89a" + bytes(40), "not a PNG"),
            (b"", "empty"),
        ],
    )
    def test_what_is_wrong_is_named(self, tmp_path, data, sentence):
        (tmp_path / "map.png").write_bytes(data)
        with pytest.raises(FileError, match=sentence) as caught:
            Terrain.heightmap(tmp_path / "map.png")
        assert "map.png" in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_without_pillow_the_extra_is_named(self, png, tmp_path, monkeypatch):
        png(self.GREY)
        monkeypatch.setitem(sys.modules, "PIL.Image", None)
        with pytest.raises(UnsupportedError, match=r"pip install 'poise\[terrain\]'"):
            Terrain.heightmap(tmp_path / "map.png")


@pytest.mark.parametrize("name", ["none.png", "none.npz", "map.jpg", "map", "folder.npz", "folder.png", "nul\0.png"])
def test_no_such_file_is_one_sentence(tmp_path, name):
    (tmp_path / "folder.npz").mkdir()
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(PoiseError) as caught:
        Terrain.heightmap(tmp_path / name)
    assert "\n" not in str(caught.value)


class TestRealFiles:
    def test_an_elevation_model_lies_where_it_says(self, data):
        path = data / "terrain" / "jacksboro_fault_dem.npz"
        terrain = Terrain.heightmap(path, up="z")
        with np.load(path) as file:
            elevation, west, north, step = (file[key] for key in ("elevation", "xmin", "ymin", "dx"))
        rows, cols = np.array([0, 17, 343, 200]), np.array([0, 300, 402, 5])
        places = np.stack([west + (cols + 0.5) * step, north - (rows + 0.5) * step, rows], axis=-1)
        np.testing.assert_allclose(terrain.heights(places), elevation[rows, cols], atol=1e-6)
        assert terrain.sample(places).inside.all()

    def test_it_may_be_laid_out_as_a_landscape_to_walk_on(self, data):
        path = data / "terrain" / "jacksboro_fault_dem.npz"
        terrain = Terrain.heightmap(path, size=30.0, height=0.005, origin=(0, -2.5, 0))
        heights = terrain.heights(np.random.default_rng(0).uniform(-12, 12, size=(1000, 3)))
        assert -2.5 + 236 * 0.005 <= heights.min() < heights.max() <= -2.5 + 1076 * 0.005

    @pytest.mark.parametrize("name", ["heightmap_raylib.png", "unitree_height_field.png"])
    def test_pictures_are_what_they_show(self, data, name):
        path = data / "terrain" / name
        shown = np.asarray(Image.open(path).convert("RGB")).astype(float)
        assert np.ptp(shown, axis=-1).max() == 0  # grey
        terrain = Terrain.heightmap(path, size=12.7, height=2.55)
        x, z = np.meshgrid(np.linspace(-6.35, 6.35, 128), np.linspace(-6.35, 6.35, 128))
        heights = terrain.heights(np.stack([x, x, z], axis=-1))
        np.testing.assert_allclose(heights, shown[..., 0] / 100, atol=1e-12)

    def test_a_single_post_is_no_ground(self, data):
        with pytest.raises(FileError, match=r"terrain_1x1\.npz: a height map has at least 2 rows"):
            Terrain.heightmap(data / "bad_inputs" / "terrain_1x1.npz")

    def test_the_bundled_hills_are_gentle_and_large_enough(self):
        hills = Terrain.heightmap(samples.path("hills"))
        x = np.linspace(-10, 10, 201)
        ground = hills.sample(np.stack(np.meshgrid(x, 0.0, x), axis=-1))
        assert ground.inside.all()
        assert hills.heights([0, 0, 0]) == 0
        assert 0.5 < np.ptp(ground.heights) < 1.5
        assert np.degrees(np.arccos(ground.normals[..., 1])).max() < 17
