"""The picture of the house: every part of the package, in the order in which imports may point."""

from __future__ import annotations

import sys
from pathlib import Path

import poise
from tests.docs.pages import DOCS

sys.path.insert(0, str(DOCS))
from figures import house


def test_every_part_of_the_package_is_a_room_of_one_floor():
    rooms = [room for layer in house.layers() for room in layer]
    assert len(rooms) == len(set(rooms))
    parts = (path for path in Path(poise.__file__).parent.iterdir() if path.is_dir() or path.suffix == ".py")
    assert {path.stem for path in parts if not path.name.startswith("_")} == set(rooms)
    assert set(house.ROOMS) == set(rooms)


def test_imports_are_counted_in_the_sources(tmp_path, monkeypatch):
    for name, text in {
        "io/a.py": "from poise.model.pose import Pose, Transforms\nfrom poise.io.b import B\nimport numpy",
        "io/b.py": "from poise import kernels\nfrom poise.model import pose",
        "__main__.py": "from poise.cli import main",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(house, "PACKAGE", tmp_path)
    assert house.arrows.__wrapped__() == {("io", "model"): 3, ("io", "kernels"): 1}


def test_the_imports_that_are_counted_point_down():
    """Told by the picture's own count, beside what import-linter finds."""
    floor = {room: i for i, layer in enumerate(house.layers()) for room in layer}
    assert sum(house.arrows().values()) > 500
    assert all(floor[here] < floor[there] for here, there in house.arrows())


def test_it_can_be_read_on_a_telephone(tmp_path):
    """At 400 pixels letters are 12 high or more, and no text leaves its floor."""
    drawing, axes = house.picture()
    drawing.canvas.draw()
    into_inches = axes.transData.inverted()
    said = [text for text in axes.texts if text.get_text() and not text.get_rotation()]  # not beside the floors
    assert len(said) > 2 * len(house.ROOMS)
    for text in said:
        assert text.get_fontsize() / 72 * 400 / drawing.get_figwidth() >= 12
        assert into_inches.transform(text.get_window_extent())[1, 0] < house.RIGHT
    house.draw(tmp_path / "house.svg")
    assert (tmp_path / "house.svg").stat().st_size > 10_000
