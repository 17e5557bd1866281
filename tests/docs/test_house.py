"""The picture of the house: every part of the package, in the order in which imports may point."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import poise
from tests.docs.pages import DOCS

sys.path.insert(0, str(DOCS))
from figures import house


def test_every_part_of_the_package_stands_in_one_floor():
    rooms = [room for _, several in house.floors() for room in several]
    assert len(rooms) == len(set(rooms))
    parts = (path for path in Path(poise.__file__).parent.iterdir() if path.is_dir() or path.suffix == ".py")
    assert {path.stem for path in parts if not path.name.startswith("_")} <= set(rooms)


def test_floors_follow_the_layers(monkeypatch):
    titles = [floor.title for floor, _ in house.floors()]
    assert titles == [*(floor.title for floor in house.FLOORS), "compiled functions on numbers"]
    layers = [["cli"], ["view.view", "bench"], ["solve", "modes", "goals", "io.gltf", "clip"]]
    monkeypatch.setattr(house, "layers", lambda: layers)
    assert [rooms for _, rooms in house.floors()][:3] == [["cli", "view"], ["bench"], ["solve"]]


def test_a_floor_that_lost_its_first_layer_is_said(monkeypatch):
    monkeypatch.setattr(house, "layers", lambda: [["cli"], ["solve"]])
    with pytest.raises(ValueError, match="goals"):
        house.floors()


def test_it_can_be_read_on_a_telephone(tmp_path):
    """At 400 pixels letters are 12 high or more, and no text leaves its floor."""
    drawing, axes = house.picture()
    drawing.canvas.draw()
    into_inches = axes.transData.inverted()
    said = [text for text in axes.texts if text.get_text() and not text.get_rotation()]  # not beside the floors
    assert len(said) > 2 * len(house.FLOORS)
    for text in said:
        assert text.get_fontsize() / 72 * 400 / drawing.get_figwidth() >= 12
        assert into_inches.transform(text.get_window_extent())[1, 0] < house.RIGHT
    house.draw(tmp_path / "house.svg")
    assert (tmp_path / "house.svg").stat().st_size > 10_000
