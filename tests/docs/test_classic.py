"""The classic comparison: what the page says in words is what its runs show, and its clips are small."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "docs"))
from figures import _classic, _classic_numbers, _clip, classic_path_clip, classic_reach_clip

CCD, TRANSPOSE = _classic.CLASSIC
LARGEST = 300_000  # bytes of a clip


def test_the_answers_are_those_that_the_page_concludes_from():
    """docs/classic.md: CCD is for getting there, Jacobian transpose for moving well."""
    answers = _classic_numbers.answers()
    assert re.findall(r"\*\*(.+?)\*\*", answers) == [
        f"Which moves faster? {CCD}.",
        f"Which is smoother? {TRANSPOSE}.",
        f"Which takes longer to the best approximation? {TRANSPOSE}.",
    ]
    largest = {name: _classic.following(name).turns.max() for name in _classic.SOLVERS}
    assert f"{largest[CCD]:.2g} degrees" in answers
    assert f"{largest[TRANSPOSE]:.2g} degrees" in answers
    assert largest["`LevenbergMarquardt()`"] < 1.1 * largest[TRANSPOSE]  # "the same even way"


def test_left_counts_from_the_best_possible():
    beyond = _classic.reaching(CCD, away=_classic.BEYOND)
    assert beyond.left[:, 0] == pytest.approx(_distances(_classic.BEYOND), rel=1e-9)
    assert (np.diff(beyond.left) <= 0).all()
    assert np.median(beyond.left[:, -1]) < _classic.CLOSE


def _distances(away):
    """From the straight chain's tip to the targets, above what lengths leave [share of the reach]."""
    tip = np.array([0.0, _classic.BONES, 0.0])
    gaps = np.linalg.norm(_classic.targets(away) - tip, axis=1)
    return (gaps - (away - 1) * _classic.BONES) / _classic.BONES


@pytest.mark.parametrize("figure", [classic_path_clip, classic_reach_clip])
def test_clips_are_small_and_the_same_every_time(figure, tmp_path):
    for name in ("a.svg", "b.svg"):
        figure.draw(tmp_path / name)
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert text == (tmp_path / "b.svg").read_text(encoding="utf-8")
    assert len(text) < LARGEST
    assert "<script" not in text
    assert text.count('class="still"') == 1


def test_one_frame_of_a_clip_is_visible_at_a_time(tmp_path):
    frames = [("<a/>", 1.0), ("<b/>", 2.0), ("<c/>", 1.0)]
    _clip.clip(tmp_path / "x.svg", frames, "<d/>", ground="", width=10, height=10, about="nothing")
    text = (tmp_path / "x.svg").read_text(encoding="utf-8")
    keys = re.findall(r"@keyframes k\d\{(.*?)\}\}?\.k|@keyframes k\d\{(.*?)\}\}", text)
    assert len(keys) == 3
    for share in (0.0, 12.0, 24.9, 25.1, 50.0, 74.9, 75.1, 99.9):
        assert [shown(text, i, share) for i in range(3)].count("visible") == 1


def shown(text, frame, share):
    """What the style says of a frame at a share [%] of the loop: the last key before it, for steps are sudden."""
    rule = re.search(rf"@keyframes k{frame}\{{(.*?\}})\}}", text)[1]
    keys = [(float(at), what) for at, what in re.findall(r"([\d.]+)%\{visibility:(\w+)", rule)]
    return [what for at, what in keys if at <= share][-1]
