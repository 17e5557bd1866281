"""A comparison as a picture for papers: its files, its bytes, and that nothing lies on anything else."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import SubFigure
from matplotlib.legend import Legend

import poise
from poise.comparison.report import matplotlib_figure
from poise.comparison.report.matplotlib_figure import build_panel_styles
from poise.comparison.runs import QUICK
from poise.io import samples

MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture(scope="module")
def comparison():
    """Three methods on the bundled arm, one that refuses it, grown to three sizes."""
    arm = poise.load(samples.path("arm.urdf"))
    effort = dataclasses.replace(QUICK, joints=(2, 10, 20), rounds=3, timed=3, traced=2, seconds=0.1)
    return poise.compare(
        arm.rest,
        poise.Position("tool", (0, 0, 0)),
        solvers=["ccd", "jacobian_transpose", "levenberg_marquardt", "two_bone"],
        effort=effort,
        name="arm.urdf",
    )


def with_methods(comparison, count):
    """The same figures for so many methods."""
    found = comparison.compared
    many = [
        dataclasses.replace(found[i % len(found)], name=f"{found[i % len(found)].name} {i}" if i else "a")
        for i in range(count)
    ]
    return dataclasses.replace(comparison, methods=tuple(many))


@pytest.mark.parametrize("kind", MAGIC)
@pytest.mark.long
def test_the_same_bytes_every_time(comparison, kind, tmp_path):
    path = tmp_path / f"picture.{kind}"
    comparison.save(path)
    written = path.read_bytes()
    assert written.startswith(MAGIC[kind])
    assert written == matplotlib_figure.render_figure(kind, comparison)
    assert list(tmp_path.iterdir()) == [path]


def texts(drawing):
    """Every visible text with the rectangle that it takes [pixels], those of heat map cells left out."""
    canvas = FigureCanvasAgg(drawing)
    canvas.draw()
    renderer = canvas.get_renderer()
    shown = [drawing.findobj(Legend)[0].get_texts(), drawing.findobj(SubFigure)[0].texts]
    for axes in drawing.findobj(Axes):
        if axes.get_visible():
            ticks = [*axes.xaxis._update_ticks(), *axes.yaxis._update_ticks()]  # those inside the axes
            shown.append([tick.label1 for tick in ticks if tick.label1.get_visible()])
            shown.append([axes.xaxis.label, axes.yaxis.label, axes._left_title])
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for some in shown for text in some]
    return [(words, box) for words, box in boxes if words.strip()]


@pytest.mark.parametrize("count", [1, 2, 7, 15])
@pytest.mark.long
def test_words_do_not_overlap_and_stay_inside(comparison, count, monkeypatch):
    drawn = []

    def kept(drawing, _kind):
        drawn.extend(texts(drawing))
        drawn.append(("the picture", drawing.bbox))
        return b""

    monkeypatch.setattr(matplotlib_figure, "encode_figure", kept)
    shown = with_methods(comparison, count)
    if count == 2:  # three curves stand in one row
        shown = dataclasses.replace(shown, methods=tuple(dataclasses.replace(one, growth=()) for one in shown.methods))
    matplotlib_figure.render_figure("png", shown)
    *found, (_, paper) = drawn
    assert {"arm.urdf: base_turn to tool, Position", "Convergence", "iterations"} <= {words for words, _ in found}
    for words, box in found:
        assert paper.x0 <= box.x0, words
        assert box.x1 <= paper.x1, words
        assert paper.y0 <= box.y0, words
        assert box.y1 <= paper.y1, words
    for (a, one), (b, other) in itertools.combinations(found, 2):
        apart = one.x1 <= other.x0 or other.x1 <= one.x0 or one.y1 <= other.y0 or other.y1 <= one.y0
        assert apart, (a, b)


def test_fifteen_methods_differ_without_colour(comparison):
    found = build_panel_styles(with_methods(comparison, 15))
    assert len({(str(look.dash), look.marker) for look in found}) == 15


@pytest.mark.long
def test_panels_without_figures_are_left_out(comparison):
    bare = tuple(dataclasses.replace(method, growth=(), convergence=None, batches={}) for method in comparison.compared)
    less = matplotlib_figure.render_figure("svg", dataclasses.replace(comparison, methods=bare))
    assert len(less) < len(matplotlib_figure.render_figure("svg", comparison))


def test_another_suffix_lists_what_there_is(comparison, tmp_path):
    with pytest.raises(poise.InputError, match=r"x\.gif: .*\.html, \.json, \.png, \.svg, \.pdf, not as \.gif"):
        comparison.save(tmp_path / "x.gif")
    with pytest.raises(poise.InputError, match="a file without a suffix"):
        comparison.save(tmp_path / "x")


def test_nothing_compared_is_a_sentence(comparison, tmp_path):
    nothing = dataclasses.replace(comparison, methods=comparison.refused)
    with pytest.raises(poise.InputError, match="two_bone"):
        nothing.save(tmp_path / "x.png")


def test_a_folder_that_is_not_there_is_named(comparison, tmp_path):
    with pytest.raises(poise.FileError, match="cannot write here"):
        comparison.save(tmp_path / "none" / "x.png")


def test_without_matplotlib_it_says_how_to_get_it(comparison, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(poise.UnsupportedError, match="poise\\[plot\\]"):
        comparison.save(tmp_path / "x.png")
    assert not list(Path(tmp_path).iterdir())
