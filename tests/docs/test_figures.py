"""How the site's figures and formulas are made: the same bytes every time, nothing drawn twice, nothing half."""

from __future__ import annotations

import os
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


@pytest.fixture
def few(tmp_path, monkeypatch):
    """One figure of one package, all files of the year 1970."""
    figures, package, results = tmp_path / "figures", tmp_path / "package", tmp_path / "results"
    for path, text in (
        (figures / "one.py", "SUFFIX = '.png'\n\ndef draw(path):\n    path.write_text('drawn')\n"),
        (figures / "_shared.py", ""),
        (package / "code.py", ""),
        (results / "chain.json", ""),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        os.utime(path, (1000, 1000))
    monkeypatch.setattr(_build, "FOLDER", figures)
    monkeypatch.setattr(_build, "PACKAGE", package)
    monkeypatch.setattr(_build, "RESULTS", results)
    monkeypatch.setattr(_build, "DRAWN", tmp_path / "drawn")
    monkeypatch.delenv("POISE_FIGURES", raising=False)
    return tmp_path


def test_figures_are_drawn_when_something_is_newer(few, monkeypatch):
    assert _build.out_of_date() == ["one"]
    (few / "drawn").mkdir()
    (few / "drawn" / "one.svg").write_text("")
    assert _build.out_of_date() == []
    for newer in ("figures/one.py", "figures/_shared.py", "package/code.py", "results/chain.json"):
        os.utime(few / newer)
        os.utime(few / "drawn" / "one.svg", (2000, 2000))
        assert _build.out_of_date() == ["one"], newer
        os.utime(few / newer, (1000, 1000))
    os.utime(few / "package" / "code.py")
    monkeypatch.setenv("POISE_FIGURES", "missing")
    assert _build.out_of_date() == []


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
