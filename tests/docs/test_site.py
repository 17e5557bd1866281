"""The documentation site: it builds without a warning, nothing leads nowhere, nothing comes from another machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compile_once import once
from tests.conftest import ROOT
from tests.docs import site as reading
from tests.docs.pages import DOCS, name, pages
from tests.patience import PROCESS

SEARCH_PAGES = {"search.html", "genindex.html"}  # furo's own: found through the search box, not through links
IMAGE = re.compile(r"!\[[^\]]*\]\((images/[^)]*)\)")
PICTURE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")  # its alt text


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The built site: of POISE_SITE, as scripts/test --all builds it, else built here, once for all workers."""
    if "POISE_SITE" in os.environ:
        return Path(os.environ["POISE_SITE"])
    return once(tmp_path_factory, "site", build)


def build(out):
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-n", "-E", "-b", "html", str(DOCS), str(out)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=PROCESS,
        env=os.environ | {"POISE_FIGURES": "missing"},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-8000:]


@pytest.fixture(scope="session")
def html(folder):
    return reading.read(folder)


def test_every_source_page_is_built_and_can_be_found(html):
    written = {f"{name(path)}.html" for path in pages()}
    assert written <= html.keys()
    assert html.keys() - reading.reachable(html) <= SEARCH_PAGES


def test_every_link_leads_somewhere(folder, html):
    assert reading.broken(folder, html) == []


def test_nothing_is_loaded_from_elsewhere(folder, html):
    assert [(page, at) for page, found in html.items() for at in found.loads if reading.is_outside(at)] == []
    for path in folder.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        loads = [*re.findall(r"url\(([^)]+)\)", text), *re.findall(r"@import\s+[\"']([^\"']+)", text)]
        assert [at for at in loads if reading.is_outside(at)] == [], path


def test_what_pages_load_is_there(folder, html):
    for page, found in html.items():
        for address in found.loads:
            if not address.startswith("data:"):
                path, _ = reading.target(page, address.partition("?")[0])
                assert (folder / path).is_file(), (page, address)


def test_every_picture_says_what_is_seen(html):
    assert [
        (page, image["src"]) for page, found in html.items() for image in found.images if not image.get("alt")
    ] == []


def test_figures_and_their_modules_belong_together():
    texts = [path.read_text(encoding="utf-8") for path in pages()]
    used = {figure for text in texts for figure in re.findall(r"_figures/([\w-]+)\.\w+", text)}
    modules = {path.stem for path in (DOCS / "figures").glob("*.py") if not path.name.startswith("_")}
    assert used == modules
    assert all(len(alt.split()) >= 3 for text in texts for alt in PICTURE.findall(text))


def test_formulas_are_mathml(html, folder):
    formulas = [page for page in html if "<math " in (folder / page).read_text(encoding="utf-8")]
    assert formulas
    assert not any("MathJax" in (folder / page).read_text(encoding="utf-8") for page in formulas)


def test_the_script_says_where_the_site_is():
    said = (ROOT / "scripts" / "docs").read_text(encoding="utf-8")
    assert "--fail-on-warning" in said
    assert "index.html" in said


# --- as a browser shows it --------------------------------------------------------------------------------------------

#: Blocks of code with a line that is cut off, and formulas that are.
CUT_CODE = "[...document.querySelectorAll('article pre')].filter((one) => one.scrollWidth > one.clientWidth + 1).length"
CUT_FORMULAS = """
[...document.querySelectorAll("article div.math")].filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.textContent)
"""
SIDEWAYS = "document.documentElement.scrollWidth > innerWidth"  # the page itself can be scrolled there
LARGEST = 300_000  # bytes of a picture on a page


@pytest.fixture
def tab(chromium):
    context = chromium.new_context()
    yield context.new_page()
    context.close()


def test_no_code_and_no_formula_is_cut_off(tab, folder, html):
    cut = {}
    for page in html.keys() - SEARCH_PAGES:
        tab.set_viewport_size({"width": 1200, "height": 900})
        tab.goto((folder / page).as_uri())
        found = [tab.evaluate(CUT_CODE)]
        tab.set_viewport_size({"width": 400, "height": 800})
        tab.wait_for_timeout(50)  # formulas are fitted when the window has changed
        found += [tab.evaluate(CUT_FORMULAS), tab.evaluate(SIDEWAYS)]
        if any(found):
            cut[page] = found
    assert cut == {}


def test_code_is_copied_by_a_button(tab, folder):
    tab.goto((folder / "start.html").as_uri())
    tab.evaluate("() => { navigator.clipboard.writeText = async (text) => { window.taken = text; }; }")
    tab.evaluate("() => { window.setTimeout = () => 0; }")  # so that the word stays, however long the machine takes
    block = tab.locator(".highlight-python .highlight").first
    button = block.locator("button.copy")
    button.click()
    button.filter(has_text="Copied").wait_for()
    assert tab.evaluate("window.taken") == block.locator("pre").inner_text()
    assert tab.evaluate("window.taken").startswith("import poise\n")
    assert tab.locator(".highlight-text button.copy").count() == 0  # that is output


def test_pictures_are_small():
    shown = {at for text in (path.read_text(encoding="utf-8") for path in pages()) for at in IMAGE.findall(text)}
    assert {"images/viewer.png", "images/walk.png", "images/ground.webp", "images/roles.png"} <= shown
    assert not {at for at in shown if (DOCS / at).stat().st_size > LARGEST}


# --- the checks themselves: what they must find -----------------------------------------------------------------------


def test_dead_links_and_outside_loads_are_found(tmp_path):
    (tmp_path / "index.html").write_text(
        '<a href="a/b.html#here">x</a><a href="gone.html">x</a><img src="//cdn/x.png"><a href="https://else/">x</a>'
    )
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.html").write_text(
        '<p id="there"><a href="../index.html">x</a><link rel="stylesheet" href="http://c/">'
    )
    (tmp_path / "alone.html").write_text("<p>")
    found = reading.read(tmp_path)
    assert reading.broken(tmp_path, found) == [
        "index.html: a/b.html#here leads to no place in a/b.html",
        "index.html: gone.html leads to no file",
    ]
    assert reading.reachable(found) == {"index.html", "a/b.html"}
    assert [at for page in found.values() for at in page.loads if reading.is_outside(at)] == [
        "//cdn/x.png",
        "http://c/",
    ]
