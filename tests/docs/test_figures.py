"""How the site's figures and formulas are made: the same bytes every time, nothing drawn twice, nothing half."""

from __future__ import annotations

import sys

import matplotlib as mpl
import pytest
from sphinx.errors import ExtensionError

from tests.docs.pages import DOCS

sys.path.insert(0, str(DOCS))
sys.path.insert(0, str(DOCS / "_ext"))
from mathml import mathml

with mpl.rc_context():  # the style is for figures only
    from figures import _build, _style


def test_a_figure_gives_the_same_bytes(tmp_path):
    for name in ("a.svg", "b.svg"):
        drawing, axes = _style.figure(height=1.5)
        axes.plot([0, 1], [0, 1], label="x")
        axes.legend()
        _style.save(drawing, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert b"<dc:date>" not in (tmp_path / "a.svg").read_bytes()


@pytest.mark.parametrize("name", _build.names())
def test_a_figure_of_the_repository_is_up_to_date(name, tmp_path):
    """A page shows what its module draws today; coordinates may differ as they do on another processor."""
    shown = (_build.DRAWN / f"{name}.svg").read_text(encoding="utf-8")
    with mpl.rc_context(_style._SETTINGS):
        _build.draw([name], tmp_path)
    drawn = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
    fault = _build.find_difference(shown, drawn, is_timed=getattr(_build.module(name), "TIMED", False))
    assert fault == "", f"{fault}: run python docs/figures/_build.py {name}"


def test_no_other_figure_is_in_the_repository():
    assert {path.name for path in _build.DRAWN.iterdir()} == {f"{name}.svg" for name in _build.names()}


def drawing_of(y, label="arm of 2 bones", second=False):
    drawing, axes = _style.figure(height=1.5)
    axes.plot([0, 1, 2], [0, y, 0.2], label=label)
    if second:
        axes.plot([0, 1], [0.1, 0.1])
    axes.set_ylim(0, 1)
    axes.legend()
    return drawing


def text_of(drawing, path):
    _style.save(drawing, path)
    return path.read_text(encoding="utf-8")


def test_what_is_out_of_date_is_found(tmp_path):
    shown = text_of(drawing_of(0.5), tmp_path / "shown.svg")
    for other, fault in (
        (drawing_of(0.5), None),
        (drawing_of(0.5 + 1e-6), None),
        (drawing_of(0.7), "pt away"),
        (drawing_of(0.5, "leg of 2 bones"), "other labels"),
        (drawing_of(0.5, second=True), "other parts"),
    ):
        found = _build.find_difference(shown, text_of(other, tmp_path / "drawn.svg"))
        assert (fault is None and not found) or (fault is not None and fault in found), (fault, found)
    longer = text_of(drawing_of(0.7, "arm of 3 bones"), tmp_path / "drawn.svg")
    assert _build.find_difference(shown, longer, is_timed=True) == ""
    other = text_of(drawing_of(0.5, "leg of 2 bones"), tmp_path / "drawn.svg")
    assert "leg of" in _build.find_difference(shown, other, is_timed=True)


@pytest.fixture
def few(tmp_path, monkeypatch):
    """A folder for figures of which one is drawn."""
    monkeypatch.setattr(_build, "DRAWN", tmp_path / "drawn")
    return tmp_path


def test_a_figure_is_whole_or_not_there(few, monkeypatch):
    class Failing:
        @staticmethod
        def draw(path):
            path.write_text("half")
            raise ValueError("no")

    class Silent:
        @staticmethod
        def draw(path):
            pass

    monkeypatch.setattr(_build, "module", lambda _: Failing)
    with pytest.raises(RuntimeError, match=r"one\.py cannot be drawn: ValueError"):
        _build.draw(["one"])
    monkeypatch.setattr(_build, "module", lambda _: Silent)
    with pytest.raises(SystemExit, match="wrote nothing"):
        _build.draw(["one"])
    assert list((few / "drawn").iterdir()) == []


def test_formulas():
    assert "<mfrac>" in mathml(r"\frac{a}{b}", "inline")
    with pytest.raises(ExtensionError, match="nonsense"):
        mathml(r"\nonsense{a}", "inline")
    with pytest.raises(ExtensionError, match="cannot be written"):
        mathml(r"a_", "block")
