"""Cells in a real JupyterLab: values and the viewer are shown, the viewer is dragged, saved, and read without a kernel.

JupyterLab is installed into an environment of its own; POISE_JUPYTER names another one. VS Code is not tested.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
from pathlib import Path

import pytest

from tests.timeouts import PATIENCE, PROCESS
from tests.viewer.browser import ONCE_TRUE
from tests.workload import LONG

pytestmark = pytest.mark.long
ROOT = Path(__file__).parent.parent.parent
FOLDER = Path(os.environ.get("POISE_JUPYTER", ROOT / ".venv" / "jupyterlab"))
PACKAGES = ("jupyterlab==4.6.6", "ipykernel==7.4.0")
CELLS = (
    "import poise\nrig = poise.load(poise.sample('humanoid'))\nrig",
    "poise.solve(rig.rest, poise.Position('LeftHand', [0.3, 1.2, 0.4], root='LeftArm'), trace=True)",
    "view = poise.view(rig, open_browser=False)\nview",
)
NAME = "demo.ipynb"
READY = "window.poise && window.poise.ready"
IDLE = "window.jupyterapp?.shell.currentWidget?.context?.sessionContext?.session?.kernel?.status === 'idle'"
#: Where on the page the left hand of the figure is.
HAND = """
(() => {
  const [view] = window.poise.viewports;
  const row = view.actor.figure.rows.get("LeftHand");
  const [start, end] = [view.actor.figure.readPosition(row), view.actor.figure.computeTail(row)];
  return view.findPixels(start.map((value, k) => value + 0.3 * (end[k] - value)));
})()
"""


@pytest.fixture(scope="module")
def jupyter():
    """The program of JupyterLab, in an environment that has what this one has, too."""
    program = FOLDER / "bin" / "jupyter-lab"
    if not program.exists():
        if not LONG:
            pytest.skip("scripts/test --long installs JupyterLab, 200 MB")
        subprocess.run([sys.executable, "-m", "venv", FOLDER], check=True, timeout=PROCESS)
        done = subprocess.run(
            [FOLDER / "bin" / "python", "-m", "pip", "install", "--quiet", *PACKAGES],
            capture_output=True, text=True, timeout=PROCESS, check=False,
        )  # fmt: skip
        if done.returncode:
            pytest.skip(f"pip cannot install JupyterLab here: {done.stderr[-200:]}")
    return program


class Lab:
    """A JupyterLab that serves a folder. Its signatures and settings are in `home`."""

    def __init__(self, program, folder, home):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = folder
        self.token = secrets.token_hex(16)
        paths = os.pathsep.join([str(ROOT / "src"), sysconfig.get_path("purelib")])
        settings = {
            name: str(home / name)
            for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
        }
        # What this environment has follows what JupyterLab's own has.
        packages = next((FOLDER / "lib").iterdir()) / "site-packages"
        own = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "PYTHON"))}
        (packages / "poise_tests.pth").write_text(paths.replace(os.pathsep, "\n"))
        self.log = (home / f"{self.port}.log").open("w")
        self.process = subprocess.Popen(
            [program, "--no-browser", "--allow-root", f"--ServerApp.port={self.port}", f"--ServerApp.root_dir={folder}",
             f"--IdentityProvider.token={self.token}", "--LabApp.expose_app_in_browser=True", "--LabApp.news_url=None",
             "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"],
            env=own | settings, stdout=self.log, stderr=self.log,
        )  # fmt: skip
        end = time.monotonic() + PATIENCE
        while not self.ask("api/status"):
            assert time.monotonic() < end, "JupyterLab does not start"
            time.sleep(0.2)

    def ask(self, path, method="GET"):
        """The answer of its interface; None where it does not answer."""
        request = urllib.request.Request(
            f"http://localhost:{self.port}/{path}", method=method, headers={"Authorization": f"token {self.token}"}
        )
        with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
            return json.loads(answer.read() or "{}")
        return None

    def open(self, page, name=NAME):
        """Open a notebook in a tab of the browser."""
        page.goto(f"http://localhost:{self.port}/lab/tree/{name}?token={self.token}&reset")
        page.locator(".jp-Notebook").first.wait_for(timeout=1e3 * PATIENCE)
        return page

    def close(self):
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE)
        self.process.kill()
        self.log.close()


def write_notebook(path):
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"cell{i}",
            "metadata": {},
            "outputs": [],
            "source": source,
        }
        for i, source in enumerate(CELLS)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    path.write_text(
        json.dumps({"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})
    )


def command(page, name):
    page.evaluate("(name) => window.jupyterapp.commands.execute(name)", name)


def viewer_in(page):
    """The frame of the viewer's page in a tab, once it has its first picture."""
    end = time.monotonic() + PATIENCE
    while True:
        frame = next((frame for frame in page.frames if "notebook" in frame.url), None)
        if frame is not None:
            return until(frame, READY)
        assert time.monotonic() < end, f"no frame of the viewer: {[frame.url for frame in page.frames]}"
        page.wait_for_timeout(100)


def until(frame, expression):
    frame.wait_for_load_state()
    assert frame.evaluate(ONCE_TRUE.replace("EXPRESSION", expression), [None, 1e3 * PATIENCE]), expression
    return frame


def pulled_point(frame):
    """Where the pulled part is wanted; None before a pull."""
    return frame.evaluate("window.poise.state.chains.find(({id}) => id === 'pull')?.position ?? null")


def pull_the_hand(page, frame):
    """Pull the left hand in the cell by a real mouse; where it is wanted then."""
    box = page.locator("object").bounding_box()
    x, y = frame.evaluate(HAND)
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.mouse.down()
    for i in range(1, 11):
        page.mouse.move(box["x"] + x - 3 * i, box["y"] + y + 5 * i)
        page.wait_for_timeout(30)
    page.mouse.up()
    until(frame, "window.poise.state.pulled === 'pull'")
    points = [None]
    while points[-1] != pulled_point(frame):  # until all moves are answered
        points.append(pulled_point(frame))
        page.wait_for_timeout(500)
    return points[-1]


def pictures_in(page):
    """The pictures of cells that are in sight."""
    return [svg for svg in page.locator(".jp-OutputArea .poise-card figure svg").all() if svg.is_visible()]


def is_covered(frame, wanted):
    until(frame, f"document.querySelector('[data-testid=session-over]').hidden === {str(not wanted).lower()}")


@pytest.fixture(scope="module")
def lab(jupyter, tmp_path_factory):
    """`lab()`: a JupyterLab that has just been started in the folder of one notebook."""
    folder, home = tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("home")
    write_notebook(folder / NAME)
    with contextlib.ExitStack() as stack:

        def start():
            started = Lab(jupyter, folder, home)
            stack.callback(started.close)
            return started

        yield start


@pytest.fixture
def context(chromium):
    """A browser that asks this machine only."""
    context = chromium.new_context(viewport={"width": 1300, "height": 1800})
    foreign = []
    context.on("request", lambda request: foreign.append(request.url))
    yield context
    context.close()
    assert [url for url in foreign if is_foreign(url)] == []


def test_a_notebook_is_run_pulled_reloaded_and_saved(lab, context):
    running = lab()
    page = running.open(context.new_page())
    page.wait_for_function(IDLE, timeout=1e3 * PATIENCE)
    command(page, "notebook:run-all-cells")
    frame = viewer_in(page)
    assert len(pictures_in(page)) == 3  # of the rig; of the result and its error curve; the viewer's is covered
    assert frame.evaluate("['left', 'right'].every((id) => !document.getElementById(id).offsetWidth)")
    wanted = pull_the_hand(page, frame)

    command(page, "docmanager:save")
    until_saved(running.folder / NAME)
    page.reload()
    frame = viewer_in(page)  # by the same link
    assert pulled_point(frame) == wanted

    second = running.open(context.new_page())  # a second tab of the browser
    assert pulled_point(viewer_in(second)) == wanted
    is_covered(frame, True)
    frame.click("[data-testid=reconnect]")
    is_covered(frame, False)
    is_covered(viewer_in(second), True)
    with context.expect_page() as opened:
        page.get_by_text("Open the viewer in a tab").click()
    until(opened.value, READY)
    assert pulled_point(opened.value) == wanted
    opened.value.click("[data-testid=panel-left]")  # here is room for panels
    until(opened.value, "document.getElementById('left').offsetWidth > 0")
    running.close()  # and the kernel with it


def test_the_saved_notebook_shows_pictures_without_a_kernel(lab, context):
    running = lab()
    page = running.open(context.new_page())
    page.wait_for_function("document.querySelectorAll('.jp-OutputArea .poise-card').length === 3")
    page.wait_for_function(IDLE, timeout=1e3 * PATIENCE)  # a new one, which has run no cell
    for session in running.ask("api/sessions"):
        running.ask(f"api/sessions/{session['id']}", "DELETE")
    assert running.ask("api/kernels") == []
    end = time.monotonic() + PATIENCE
    while len(pictures_in(page)) < 4 and time.monotonic() < end:  # the browser first asks where the viewer was
        page.wait_for_timeout(50)
    assert len(pictures_in(page)) == 4  # the viewer's, too
    page.screenshot(path=os.environ.get("POISE_JUPYTER_PICTURE", running.folder / "saved.png"))


def is_foreign(url):
    return not url.startswith(("http://localhost:", "http://127.0.0.1:", "data:", "blob:"))


def until_saved(path):
    end = time.monotonic() + PATIENCE
    while "poise-card" not in path.read_text():
        assert time.monotonic() < end, "the notebook was not saved with its pictures"
        time.sleep(0.1)
