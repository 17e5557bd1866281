"""`poise view`: what it opens, what it refuses, and that it serves until Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import webbrowser
from types import SimpleNamespace

import pytest

from poise.cli import demo, view
from poise.cli import view as verb
from poise.io import samples
from poise.viewer import scenes
from tests.command_line import ARM, HUMANOID, run
from tests.timeouts import PROCESS
from tests.viewer.page import page_at

MOTION = samples.path("humanoid.bvh")

INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background hands down that it is ignored
from poise.cli import main
main()
"""


@pytest.fixture
def opened(monkeypatch):
    """What would be served: the documents, with the arguments."""
    served = []
    monkeypatch.setattr(verb, "serve", lambda document, **how: served.append((document, how)))
    return served


def document_of(served, *arguments):
    done = run("view", *arguments)
    assert done.returncode == 0, done.stderr
    ((document, _),) = served
    return document


class TestWhatIsOpened:
    def test_the_first_scene(self, opened):
        assert document_of(opened).scene_name == scenes.names()[0]
        assert opened[0][1] == {"host": "127.0.0.1", "port": 0, "open_browser": True}

    def test_a_scene(self, opened):
        assert document_of(opened, "--scene", "crowd", "--no-browser").scene_name == "crowd"
        assert not opened[0][1]["open_browser"]

    def test_a_file_with_its_whole_body(self, opened):
        document = document_of(opened, HUMANOID)
        assert (document.rig.path, document.scope) == (HUMANOID, "body")
        assert [chain.tip for chain in document.active_chains] == ["LeftFoot", "RightFoot"]

    def test_a_file_with_its_chains(self, opened):
        document = document_of(opened, HUMANOID, "--solver", "ccd")
        assert (document.scope, document.free_root) == ("limbs", False)
        assert [chain.name for chain in document.active_chains] == ["left_arm", "right_arm", "left_leg", "right_leg"]

    def test_folders_with_meshes(self, opened, tmp_path):
        folders = [tmp_path / "a", tmp_path / "b"]
        for folder in folders:
            folder.mkdir()
        requested = [word for folder in folders for word in ("--package-path", folder)]
        assert document_of(opened, ARM, *requested).package_folders == tuple(folders)
        done = run("view", ARM, "--package-path", tmp_path / "nowhere")
        assert done.returncode == 2
        assert done.stderr == f"error: --package-path is a folder with meshes, and {tmp_path / 'nowhere'} is none\n"

    def test_a_motion_file_plays_unless_a_chain_is_requested(self, opened):
        document = document_of(opened, MOTION)
        assert document.clip_name == document.rig.clips[0].name
        assert document.active_chains == ()
        opened.clear()
        document = document_of(opened, MOTION, "--joint", "LeftHand")
        assert document.clip_name is None
        assert len(document.active_chains) == 1
        opened.clear()
        requested = ("--joint", "LeftHand", "--clip", document.rig.clips[0].name)
        assert document_of(opened, MOTION, *requested).clip_name is not None

    def test_one_chain(self, opened):
        (chain,) = document_of(opened, HUMANOID, "--joint", "LeftHand", "--root", "Spine").chains
        assert (chain.root, chain.tip) == ("Spine", "LeftHand")

    def test_a_chain_by_the_link_of_a_robot(self, opened):
        (chain,) = document_of(opened, ARM, "--joint", "tool").chains
        assert chain.tip == "flange_tool"

    def test_a_solver(self, opened):
        assert document_of(opened, HUMANOID, "--solver", "fabrik").solvers[0].name == "fabrik"

    def test_a_clip_plays_alone(self, opened):
        document = document_of(opened, HUMANOID, "--clip", "walk")
        assert document.clip_name == "walk"
        assert not document.plants_feet
        assert document.active_chains == ()  # they would hold hands and feet where they rest

    def test_a_clip_with_a_chain(self, opened):
        assert len(document_of(opened, HUMANOID, "--clip", "walk", "--joint", "Head").active_chains) == 1

    def test_planted_feet(self, opened):
        document = document_of(opened, HUMANOID, "--plant", "--terrain", "stairs:0.15,0.30")
        assert (document.clip_name, document.plants_feet, document.terrain_spec) == ("walk", True, "stairs:0.15,0.30")

    @pytest.mark.parametrize(("typed", "turn"), [("90", "90"), ("1,0", "90"), ("along", "0"), ("against", "180")])
    def test_ground_that_climbs_another_way(self, opened, typed, turn):
        requested = ("--plant", "--terrain", "stairs:0.15,0.30", "--terrain-direction", typed)
        words, _, angle = document_of(opened, HUMANOID, *requested).terrain_spec.partition("@")
        assert words == "stairs:0.15,0.30"
        assert abs(float(angle)) == pytest.approx(float(turn), abs=1.0)

    def test_planting_alone_is_on_flat_ground(self, opened):
        assert document_of(opened, HUMANOID, "--plant").terrain_spec == "flat"


def test_the_list_of_scenes():
    done = run("view", "--list-scenes")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(scenes.names())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope.glb"], "nope.glb: No such file"),
        (["--scene", "cdd"], "no scene 'cdd'; did you mean 'ccd'"),
        ([HUMANOID, "--scene", "ccd"], "not both"),
        ([HUMANOID, "--root", "Spine"], "give its tip with --joint"),
        ([HUMANOID, "--joint", "LeftHnad"], "did you mean 'LeftHand'"),
        ([HUMANOID, "--joint", "LeftHand", "--root", "RightArm"], "is not above"),
        ([HUMANOID, "--solver", "cdc"], "no solver 'cdc'"),
        ([HUMANOID, "--clip", "run"], "no clip 'run'"),
        ([HUMANOID, "--terrain", "slpoe:3"], "no terrain 'slpoe:3'"),
        ([HUMANOID, "--terrain", "slope:5", "--terrain-direction", "along"], "give one with --clip"),
        ([HUMANOID, "--terrain-direction", "90"], "is the direction of --terrain: give both"),
        ([HUMANOID, "--terrain", "slope:5", "--terrain-direction", "0,1,0"], "has no level part; up is y"),
        ([HUMANOID, "--terrain", "hills", "--terrain-direction", "90"], "no terrain 'hills'; terrains: flat"),
        ([ARM, "--plant"], "needs a clip, and there is none"),
        ([HUMANOID, "--html", "page.txt"], "--html writes a page (.html)"),
        ([HUMANOID, "--html", "nowhere/page.html"], "there is no folder"),
    ],
)
def test_mistakes_are_one_line(opened, arguments, message, tmp_path):
    done = run("view", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not opened
    assert not any(tmp_path.iterdir())


def test_a_broken_file_is_one_line(tmp_path):
    (tmp_path / "broken.glb").write_bytes(b"glTF" + b"\0" * 30)
    done = run("view", tmp_path / "broken.glb")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {tmp_path / 'broken.glb'}: ")
    assert done.stderr.count("\n") == 1


class TestServing:
    @pytest.fixture(autouse=True)
    def at_once(self, monkeypatch):
        """Nobody waits, nothing is opened."""
        self.opened = []
        monkeypatch.setattr(view, "_wait", lambda: None)
        monkeypatch.setattr(webbrowser, "open", self.opened.append)

    def test_the_address_is_printed_and_opened(self):
        done = run("view", "--scene", "ccd")
        assert done.returncode == 0
        assert done.stdout.splitlines() == [f"CCD: {self.opened[0]}", "Ctrl-C ends it", "closed"]
        assert self.opened[0].startswith("http://127.0.0.1:")
        assert done.stderr == ""

    def test_the_address_is_only_printed(self):
        assert "http://127.0.0.1:" in run("view", "--scene", "ccd", "--no-browser").stdout
        assert not self.opened

    @pytest.mark.parametrize(("host", "warned"), [("0.0.0.0", True), ("localhost", False)])  # noqa: S104
    def test_a_warning_where_others_can_come_in(self, host, warned):
        done = run("view", "--scene", "ccd", "--no-browser", "--host", host)
        assert done.returncode == 0, done.stderr
        assert ("anyone with the link can use this viewer" in done.stderr) == warned
        assert done.stderr.count("\n") == warned
        assert "token=" in done.stdout

    def test_a_port_in_use_is_one_line(self):
        import socket

        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            done = run("view", "--scene", "ccd", "--no-browser", "--port", port)
        assert done.returncode == 2
        assert f":{port}" in done.stderr
        assert done.stderr.count("\n") == 1

    def test_without_the_extra(self, monkeypatch):
        for name in ("websockets", "websockets.asyncio.server"):
            monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.delitem(sys.modules, "poise.viewer.server", raising=False)
        done = run("view", "--scene", "ccd")
        assert done.returncode == 2
        assert done.stderr == "error: the viewer needs the package websockets: pip install 'poise[view]'\n"


@pytest.mark.long
def test_it_serves_until_ctrl_c_and_gives_a_new_link_when_the_page_was_closed():
    arguments = [sys.executable, "-u", "-c", INTERRUPTIBLE, "view", "--scene", "ccd", "--no-browser"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        late = threading.Timer(PROCESS, process.kill)  # a line that never comes ends the wait for it
        late.start()
        try:
            url = process.stdout.readline().split()[-1]
            assert process.stdout.readline() == "Ctrl-C ends it\n"
            with page_at(url) as page:
                page.until(lambda page: page.shown is not None and page.state["scene"] == "ccd")
            message = process.stdout.readline()
            assert message.startswith("the page was closed; open it again: http://127.0.0.1:")
            with page_at(message.split()[-1]) as page:
                page.until(lambda page: page.shown is not None)
                process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=PROCESS)
        finally:
            late.cancel()
            process.kill()
    assert process.returncode == 0, errors
    assert out.strip() == "closed"
    assert errors == ""


@pytest.mark.long
@pytest.mark.parametrize("scene", ["ccd", "walk_on_hills"])
def test_a_page_for_a_colleague(scene, tmp_path):
    done = run("view", "--scene", scene, "--html", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"written: {tmp_path / 'page.html'}\n"
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


class TestDemo:
    @pytest.fixture(autouse=True)
    def served(self, monkeypatch):
        served = []
        monkeypatch.setattr(demo, "serve", lambda document, **how: served.append((document, how)))
        monkeypatch.setattr(
            demo, "_run_stages", lambda _: iter([(), ()])
        )  # what comes before the viewer: a row, the walk
        return served

    def test_it_ends_with_the_viewer(self, served, monkeypatch, tmp_path):
        monkeypatch.setattr(demo, "can_open_browser", lambda: True)
        demo.demo(folder=tmp_path, headless=False)
        ((document, how),) = served
        assert document.scene_name == "biped"
        assert how["host"] == "127.0.0.1"
        assert not any(tmp_path.iterdir())

    @pytest.mark.long
    @pytest.mark.parametrize(("headless", "can"), [(True, True), (False, False)])
    def test_or_with_a_picture_and_a_page(self, served, monkeypatch, tmp_path, headless, can):
        monkeypatch.setattr(demo, "can_open_browser", lambda: can)
        demo.demo(folder=tmp_path, headless=headless)
        assert not served
        assert (tmp_path / "viewer.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / "viewer.html").stat().st_size > 100_000


class TestWhoCanBeShown:
    @pytest.fixture(autouse=True)
    def somebody(self, monkeypatch):
        """A person at a Linux screen."""
        self.system = SimpleNamespace(stdin=Terminal(), stdout=Terminal(), platform="linux")
        monkeypatch.setattr(view, "sys", self.system)
        monkeypatch.setenv("DISPLAY", ":0")
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        monkeypatch.delenv("SSH_CONNECTION", raising=False)
        monkeypatch.setattr(webbrowser, "get", lambda: "a browser")

    def test_a_person_with_a_screen(self):
        assert view.can_open_browser()

    @pytest.mark.parametrize("stream", ["stdin", "stdout"])
    def test_unattended_at_a_pipe(self, stream):
        setattr(self.system, stream, Terminal(is_one=False))
        assert not view.can_open_browser()

    def test_unattended_without_a_screen(self, monkeypatch):
        monkeypatch.delenv("DISPLAY")
        assert not view.can_open_browser()
        monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
        assert view.can_open_browser()

    def test_unattended_without_a_browser(self, monkeypatch):
        def none():
            raise webbrowser.Error

        monkeypatch.setattr(webbrowser, "get", none)
        assert not view.can_open_browser()

    def test_unattended_far_away(self, monkeypatch):
        self.system.platform = "darwin"
        assert view.can_open_browser()
        monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")
        assert not view.can_open_browser()


class Terminal:
    """A stream that is a terminal, or not."""

    def __init__(self, *, is_one=True):
        self._is_one = is_one

    def isatty(self):
        return self._is_one
