"""The page of a comparison in a real headless Chromium: wide, narrow, dark, and on paper."""

from __future__ import annotations

import pytest

import poise
from poise.io import samples
from tests.comparison.reports import compared

pytestmark = pytest.mark.long

OVERLAPS = """
() => [...document.querySelectorAll("svg")].flatMap((svg) => {
  const boxes = [...svg.querySelectorAll("text")].map((text) => [text.getBoundingClientRect(), text.textContent]);
  return boxes.flatMap(([a, s], i) => boxes.slice(i + 1).filter(([b]) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.4 * Math.min(a.height, b.height)).map(([, t]) => [s, t]));
})
"""
OUTSIDE = """
() => [...document.querySelectorAll("svg text")].filter((text) => {
  const a = text.getBoundingClientRect(), b = text.ownerSVGElement.getBoundingClientRect();
  return a.width > 0 && (a.left < b.left - 1 || a.right > b.right + 1 || a.bottom > b.bottom + 1);
}).map((text) => text.textContent)
"""


@pytest.fixture(scope="module")
def comparison():
    return compared(poise.load(samples.path("arm.urdf")).rest)


class TestBrowser:
    @pytest.fixture
    def tab(self, chromium, comparison, tmp_path):
        """`tab(width, scheme)`: the page from a file; nothing else is asked for, nothing complains."""
        path, heard, tabs = tmp_path / "report.html", [], []
        comparison.save(path)

        def shown(width, scheme="light"):
            one = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            tabs.append(one)
            one.on("console", lambda message: heard.append(message.text))
            one.on("pageerror", lambda error: heard.append(str(error)))
            one.on("request", lambda request: heard.append(request.url) if request.url != path.as_uri() else None)
            one.goto(path.as_uri())
            return one

        yield shown
        for one in tabs:
            one.close()
        assert heard == []

    @pytest.mark.parametrize("width", [1200, 400])
    def test_it_fits_the_window(self, tab, width):
        shown = tab(width, "dark" if width == 400 else "light")
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        boxes = shown.evaluate('[...document.querySelectorAll(".wide")].map((box) => box.clientWidth)')
        assert len(boxes) >= 7
        assert max(boxes) <= width
        assert shown.evaluate(OVERLAPS) == []
        assert shown.evaluate(OUTSIDE) == []

    def test_it_prints(self, tab):
        shown = tab(700, "dark")
        assert shown.pdf(format="A4").startswith(b"%PDF")
        shown.emulate_media(media="print")
        assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        wide = '[...document.querySelectorAll(".wide")].filter((box) => box.scrollWidth > box.clientWidth + 1).length'
        assert shown.evaluate(wide) == 0

    def test_a_method_can_be_taken_out(self, tab, comparison):
        shown = tab(1200)
        row = [method.name for method in comparison.compared].index("liar")
        assert shown.locator(f".m{row}:visible").count() > 10
        shown.locator(f"#on{row}").uncheck()
        assert shown.locator(f".m{row}:visible").count() == 0
        assert shown.locator(f".m{row - 1}:visible").count() > 10
