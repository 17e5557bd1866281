"""The documentation site: it builds without a warning, nothing leads nowhere, nothing comes from another machine."""

from __future__ import annotations

import functools
import os
import re
import runpy
import subprocess
import sys
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs import site as reading
from tests.docs.pages import DOCS, name, pages
from tests.shared_kernel_cache import once
from tests.timeouts import PROCESS
from tests.workload import draw_files

SEARCH_PAGES = {"search.html", "genindex.html"}  # furo's own: found through the search box, not through links
IMAGE = re.compile(r"!\[[^\]]*\]\((images/[^)]*)\)")
PICTURE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")  # its alt text


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The built site: of POISE_SITE, as scripts/test builds it meanwhile, else built here, once for all workers."""
    if "POISE_SITE_ENDED" in os.environ:
        assert exit_code(Path(os.environ["POISE_SITE_ENDED"])) == 0, "scripts/docs failed; scripts/test tells of it"
    if "POISE_SITE" in os.environ:
        return Path(os.environ["POISE_SITE"])
    return once(tmp_path_factory, "site", build)


def exit_code(path):
    """What is written in a file when the build of the site has ended."""
    until = time.monotonic() + PROCESS
    while not (path.exists() and path.read_text(encoding="utf-8").strip()):
        assert time.monotonic() < until, "the documentation takes too long to build"
        time.sleep(0.2)
    return int(path.read_text(encoding="utf-8"))


def build(out):
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-n", "-E", "-b", "html", str(DOCS), str(out)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=PROCESS,
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


def test_every_picture_says_what_is_visible(html):
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
    message = (ROOT / "scripts" / "docs").read_text(encoding="utf-8")
    assert "--fail-on-warning" in message
    assert "index.html" in message


# --- as a browser shows it --------------------------------------------------------------------------------------------

#: A page in a frame as wide as a window, then as a telephone: blocks of code with a line that is cut off, formulas
#: that are, and whether the page itself can be scrolled sideways there.
FRAME = """
() => {
  document.body.replaceChildren(document.createElement("iframe"));
  document.body.firstChild.style.height = "100px";
}
"""
CUT = """
async (address) => {
  const frame = document.querySelector("iframe");
  frame.style.width = "1200px";
  await new Promise((done) => { frame.onload = done; frame.src = address; });
  const inside = frame.contentWindow, wider = (one) => one.scrollWidth > one.clientWidth + 1;
  const all = (what) => [...inside.document.querySelectorAll(what)].filter(wider);
  const code = inside.innerWidth === 1200 ? all("article pre").length : "the frame is not as wide as a window";
  frame.style.width = "400px";
  await new Promise((done) => setTimeout(done, 50));  // formulas are fitted when the window has changed
  const formulas = all("article div.math").map((one) => one.textContent);
  return [code, formulas, inside.document.documentElement.scrollWidth > inside.innerWidth];
}
"""
LARGEST = 300_000  # bytes of a picture on a page


@pytest.fixture
def tab(chromium):
    context = chromium.new_context()
    yield context.new_page()
    context.close()


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder for a browser, which keeps what it has read."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def end_headers(self):
        self.send_header("Cache-Control", "max-age=3600")
        super().end_headers()


def cut_off(tab, folder, pages):
    """What is cut off, by page: in a frame, where a page opens in less than half the time that it takes in a tab.

    The folder is served, because a page is not told what is in a frame of another origin, as files are to each other.
    """
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        tab.goto(address)
        tab.evaluate(FRAME)
        found = {page: tab.evaluate(CUT, address + page) for page in pages}
        server.shutdown()
    return {page: cut for page, cut in found.items() if any(cut)}


def test_no_code_and_no_formula_is_cut_off(tab, folder, html):
    written = {DOCS / page.replace(".html", ".md"): page for page in html.keys() - SEARCH_PAGES}
    chosen = draw_files("pages that are looked at", sorted(written), len(written) // 3)
    assert cut_off(tab, folder, [written[path] for path in chosen]) == {}


def test_what_is_cut_off_is_found(tab, tmp_path):
    (tmp_path / "bad.html").write_text(
        '<!doctype html><body><article><pre style="width: 1000px; overflow: auto">' + "x" * 200 + "</pre>"
        '<div class="math" style="width: 100px; overflow: auto; white-space: nowrap">' + "y" * 99 + "</div>"
    )
    (tmp_path / "good.html").write_text('<!doctype html><article><pre>x</pre><div class="math">y</div>')
    assert cut_off(tab, tmp_path, ["bad.html", "good.html"]) == {"bad.html": [1, ["y" * 99], True]}


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


# --- references to Python in docstrings and signatures ----------------------------------------------------------------

_CONF = """
import runpy
settings = runpy.run_path({path!r})
nitpicky, nitpick_ignore, setup = settings["nitpicky"], settings["nitpick_ignore"], settings["setup"]
extensions = ["myst_parser", "sphinx.ext.autodoc"]
"""


def test_a_wrong_reference_to_python_stops_the_build(tmp_path):
    """No pattern of references is ignored. A type without a page is right if it exists."""
    settings = runpy.run_path(str(DOCS / "conf.py"))
    assert settings["nitpicky"]
    assert "nitpick_ignore_regex" not in settings
    assert len(settings["nitpick_ignore"]) <= 3
    (tmp_path / "conf.py").write_text(_CONF.format(path=str(DOCS / "conf.py")), encoding="utf-8")
    names = "poise.Pose", "os.PathLike", "Pose", "poise.Pos", "os.Path", "Pos", "the pose"
    lines = [f"- {{py:class}}`{name}`\n" for name in names]
    (tmp_path / "index.md").write_text("# Names\n\n" + "".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "dummy", str(tmp_path), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PROCESS)
    assert done.returncode != 0
    assert re.findall(r"reference target not found: (.+?) \[", done.stderr) == [
        "poise.Pos",
        "os.Path",
        "Pos",
        "the pose",
    ]


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
