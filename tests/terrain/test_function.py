"""Ground from a Python function."""

from __future__ import annotations

import numpy as np
import pytest

from poise import InputError, Terrain


def test_it_gets_the_level_coordinates_in_the_order_of_the_axes():
    assert Terrain.function(lambda x, z: 10 * x + z).heights([1, 2, 3]) == 13
    assert Terrain.function(lambda x, y: 10 * x + y, up="z").heights([1, 2, 3]) == 12


def test_it_keeps_its_frame_when_turned():
    assert Terrain.function(lambda x, z: 10 * x + z).with_up("z").heights([1, -3, 2]) == 13


def test_given_normals_are_used_and_scaled():
    terrain = Terrain.function(lambda x, _: 0 * x, normal=lambda x, z: np.stack([x, 2 + 0 * x, z], axis=-1))
    assert terrain.normals([0, 0, 0]).tolist() == [0, 1, 0]
    assert terrain.normals([2, 0, 0]) == pytest.approx([0.5**0.5, 0.5**0.5, 0])
    assert terrain.with_up("z").normals([0, -2, 0]) == pytest.approx([0, -(0.5**0.5), 0.5**0.5])


def test_one_number_counts_for_all_places():
    assert Terrain.function(lambda *_: 4).heights([[1, 2, 3]] * 3).tolist() == [4, 4, 4]


@pytest.mark.parametrize(
    ("f", "sentence"),
    [
        (lambda x, _: np.log(-1 - x * 0), r"nan at x = 1, z = 3"),
        (lambda x, _: np.where(x > 3, np.inf, 0), r"inf at x = 4, z = 6"),
        (lambda *_: np.zeros(7), r"shape \(7,\)"),
        (lambda *_: None, "NoneType"),
        (lambda *_: "high", "str"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_is_no_height_is_named_with_its_place(f, sentence):
    with pytest.raises(InputError, match=sentence):
        Terrain.function(f).heights([[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize("normal", [[0, -1, 0], [0, 0, 0], [np.nan, 1, 0]])
def test_normals_must_point_up(normal):
    with pytest.raises(InputError, match="normal|finite"):
        Terrain.function(lambda *_: 0, normal=lambda *_: normal).normals([0, 0, 0])


def test_what_cannot_be_called_is_refused():
    with pytest.raises(InputError, match="two arrays"):
        Terrain.function(3)
