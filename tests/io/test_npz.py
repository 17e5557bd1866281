"""Files named .npz hold many things: what one holds is told where a rig was asked for."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io.robot_motion import HEIGHT_NAMES


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        (("heights", "size"), "it holds a height map: poise plant CLIP --terrain a.npz"),
        (("elevation",), "it holds a height map"),
        (("points", "names"), "it holds no skeleton, no robot motion and no height map; its arrays: points, names"),
    ],
)
def test_an_npz_file_that_is_no_motion_is_called_what_it_is(tmp_path, arrays, says):
    np.savez(tmp_path / "a.npz", **dict.fromkeys(arrays, np.ones((2, 2))))
    with pytest.raises(poise.FileError, match=says):
        poise.load(tmp_path / "a.npz")


@pytest.mark.parametrize("name", HEIGHT_NAMES)
def test_what_is_called_a_height_map_is_read_as_one(tmp_path, name):
    np.savez(tmp_path / "a.npz", **{name: np.ones((2, 2))})
    with pytest.raises(poise.FileError, match="it holds a height map"):
        poise.load(tmp_path / "a.npz")
    assert poise.Terrain.heightmap(tmp_path / "a.npz").heights([0.0, 0.0, 0.0]) == 1.0


def test_an_npz_file_that_is_broken_says_so(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"PK")
    with pytest.raises(poise.FileError, match="is not an npz file that can be read"):
        poise.load(tmp_path / "a.npz")
