"""The picture of the architecture: every package, in the order of the import layers."""

from __future__ import annotations

import sys
from pathlib import Path

import poise
from tests.docs.pages import DOCS

sys.path.insert(0, str(DOCS))
from figures import architecture


def test_every_package_is_in_one_layer():
    packages = [name for layer in architecture.read_layers() for name in layer]
    assert len(packages) == len(set(packages))
    parts = (path for path in Path(poise.__file__).parent.iterdir() if path.is_dir() or path.suffix == ".py")
    assert {path.stem for path in parts if not path.name.startswith("_")} == set(packages)
    assert set(architecture.PACKAGES) == set(packages)


def test_imports_are_counted_in_the_sources(tmp_path, monkeypatch):
    for name, text in {
        "io/a.py": "from poise.model.pose import Pose, Transforms\nfrom poise.io.b import B\nimport numpy",
        "io/b.py": "from poise import kernels\nfrom poise.model import pose",
        "__main__.py": "from poise.cli import main",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(architecture, "SOURCE", tmp_path)
    assert architecture.count_imports.__wrapped__() == {("io", "model"): 3, ("io", "kernels"): 1}


def test_the_counted_imports_point_down():
    """The count of the picture is independent of import-linter."""
    layer = {name: i for i, names in enumerate(architecture.read_layers()) for name in names}
    counts = architecture.count_imports()
    assert sum(counts.values()) > 500
    assert all(layer[importing] < layer[imported] for importing, imported in counts)


def test_it_can_be_read_on_a_telephone(tmp_path):
    """At 400 pixels letters are 12 high or more, and no text leaves its bar."""
    drawing, axes = architecture.draw_picture()
    drawing.canvas.draw()
    into_inches = axes.transData.inverted()
    texts = [text for text in axes.texts if text.get_text() and not text.get_rotation()]  # not beside the bars
    assert len(texts) > 2 * len(architecture.PACKAGES)
    for text in texts:
        assert text.get_fontsize() / 72 * 400 / drawing.get_figwidth() >= 12
        assert into_inches.transform(text.get_window_extent())[1, 0] < architecture.RIGHT_IN
    architecture.draw(tmp_path / "architecture.svg")
    assert (tmp_path / "architecture.svg").stat().st_size > 10_000
