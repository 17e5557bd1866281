"""poise.view(): handles, poses and loops from Python, with a page that is no browser."""

from __future__ import annotations

import html
import re
import subprocess
import sys
import threading
import time
import webbrowser
from itertools import pairwise

import numpy as np
import pytest
from websockets.sync.client import connect

import poise
from poise.io import samples
from poise.viewer import view as viewer_module
from poise.viewer.document.document import build_document
from poise.viewer.document.program_widgets import HandleState
from poise.viewer.server import CLOSED_ENDED, CLOSED_REFUSED
from poise.viewer.widgets import Handle
from tests.timeouts import PATIENCE
from tests.viewer.clients import closed_with, eventually
from tests.viewer.page import page_at

HUMANOID, ARM = (samples.path(name) for name in ("humanoid.glb", "arm.urdf"))
TARGET = (0.3, 1.2, 0.4)


@pytest.fixture(scope="module")
def rig():
    return poise.load(HUMANOID)


@pytest.fixture
def view(rig):
    with poise.view(rig, open_browser=False) as opened:
        yield opened


def positions(page):
    """World positions of the joints of the first character of the first view."""
    return page.shown.rows[0, 0, :, :3]


def placed(view):
    """Where the document has the handles."""
    return {handle.name: handle.position for handle in view.document.handles}


class Clock:
    """A clock that stands still between waits, and the event that is waited for: it never comes."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def wait(self, seconds):
        self.now += seconds

    def is_set(self):
        return False

    def set(self):
        """Nobody asks."""


class TestWhatIsShown:
    def test_a_rig(self, view, rig):
        with page_at(view.url) as page:
            page.until(lambda page: page.shown is not None)
            np.testing.assert_allclose(positions(page), rig.pose.world.positions, atol=1e-5)
        assert view.document.rig is rig
        assert "humanoid.glb" in repr(view)
        assert str(view.port) in view.url

    def test_a_pose(self, rig):
        raised = rig.rest.replace({"LeftArm": [0.9238795, 0.0, 0.0, 0.3826834]})
        with poise.view(raised, open_browser=False) as view, page_at(view.url) as page:
            page.until(lambda page: page.shown is not None)
            np.testing.assert_allclose(positions(page), raised.world.positions, atol=1e-5)
            assert page.kinds["model"]["asset"]  # its file, with the mesh
            assert page.state["name"] == "humanoid.glb"

    def test_a_clip_plays(self, rig):
        with poise.view(rig.clips[0], open_browser=False) as view, page_at(view.url) as page:
            page.until(lambda page: page.state is not None and page.state["playing"])
            assert page.state["clip"] == "walk"
            first = page.until(lambda page: page.shown is not None).shown
            page.until(lambda page: np.abs(page.shown.rows - first.rows).max() > 0.05)

    def test_a_skeleton_made_in_code(self):
        skeleton = poise.Skeleton.build(["a", "b"], [-1, 0], [3, 0], offsets=[(0, 0, 0), (0, 1, 0)])
        with poise.view(poise.Pose(skeleton, skeleton.rest_q), open_browser=False) as view, page_at(view.url) as page:
            page.until(lambda page: page.shown is not None)
            np.testing.assert_allclose(positions(page), [(0, 0, 0), (0, 1, 0)], atol=1e-6)

    def test_something_else_is_refused(self):
        with pytest.raises(poise.InputError, match="a rig, a pose or a clip, not a str"):
            poise.view("humanoid.glb")


class TestPoses:
    def test_a_pose_that_is_set_is_shown(self, view, rig):
        turned = rig.rest.replace({"Spine": [0.9238795, 0.0, 0.3826834, 0.0]})
        with page_at(view.url) as page:
            view.pose = turned
            assert view.pose is turned
            wanted = turned.world.positions
            page.until(lambda page: page.shown is not None and np.allclose(positions(page), wanted, atol=1e-5))
            page.until(lambda page: page.state is not None and page.state["driven"])
            assert not any(chain["enabled"] for chain in page.state["chains"])  # targets are put away

    def test_a_page_that_comes_later_is_shown_it_too(self, view, rig):
        view.pose = turned = rig.rest.replace({"Spine": [0.9238795, 0.0, 0.3826834, 0.0]})
        with page_at(view.url) as page:
            page.until(lambda page: page.shown is not None)
            np.testing.assert_allclose(positions(page), turned.world.positions, atol=1e-5)

    def test_several_stand_side_by_side(self, view, rig):
        row = poise.Pose(rig.skeleton, np.repeat(rig.rest.q[None], 3, axis=0))
        with page_at(view.url) as page:
            view.pose = row
            page.until(lambda page: page.shown is not None and page.shown.rows.shape[1] == 3)
            page.until(lambda page: len(page.kinds["model"]["places"]) == 3)
            places = np.array(page.kinds["model"]["places"])
        assert (np.diff(places[:, 0]) > np.ptp(rig.rest.world.positions[:, 0])).all()
        assert not places[0].any()

    def test_they_bring_the_rig_back_when_the_page_has_gone_to_a_scene(self, view, rig):
        ball = view.handle("target", at=TARGET)
        with page_at(view.url) as page:
            view.pose = turned = rig.rest.replace({"Spine": [0.9238795, 0.0, 0.3826834, 0.0]})
            page.until(lambda page: page.state is not None and page.state["driven"])
            page.send("scene", name="ccd")
            page.until(lambda page: page.state["scene"] == "ccd")
            view.pose = turned
            page.until(lambda page: page.state["driven"] and page.state["handles"])
            wanted = turned.world.positions
            page.until(
                lambda page: page.shown.rows.shape[2] == len(wanted) and np.allclose(positions(page), wanted, atol=1e-5)
            )
        assert page.kinds["model"]["name"] == "humanoid.glb"
        np.testing.assert_array_equal(ball.position, TARGET)

    def test_before_any_is_set_it_is_what_is_shown(self, view, rig):
        np.testing.assert_array_equal(view.pose.q, rig.rest.q)

    def test_a_foreign_skeleton_is_refused(self, view):
        arm = poise.load(ARM)
        for wrong in (arm.rest, "pose", poise.Pose(view.pose.skeleton, np.zeros((2, 2, 1)) + view.pose.q)):
            with pytest.raises(poise.InputError, match="22 joints|not 22"):
                view.pose = wrong


class TestHandles:
    def test_it_follows_what_is_dragged(self, view):
        ball = view.handle("target", at=TARGET)
        np.testing.assert_array_equal(ball.position, TARGET)
        np.testing.assert_array_equal(ball.rotation, (1, 0, 0, 0))
        with page_at(view.url) as page:
            page.until(lambda page: page.state is not None and page.state["handles"])
            assert page.state["handles"][0]["name"] == "target"
            assert not ball.moved
            page.send("handle", name="target", position=[1, 2, 3], rotation=[0, 1, 0, 0], phase="start", serial=1)
            eventually(lambda: ball.position[0] == 1)
            np.testing.assert_array_equal(ball.position, (1, 2, 3))
            np.testing.assert_array_equal(ball.rotation, (0, 1, 0, 0))
            assert ball.moved
            assert not ball.moved  # since it was last asked

    def test_setting_it_moves_it_in_the_page(self, view):
        ball = view.handle("target", at=TARGET)
        with page_at(view.url) as page:
            ball.position = (0, 0, 2)
            np.testing.assert_array_equal(ball.position, (0, 0, 2))  # at once
            ball.rotation = (0, 0, 0, 5)
            page.until(lambda page: page.state is not None and page.state["handles"][0]["rotation"] == [0, 0, 0, 1])
            assert page.state["handles"][0]["position"] == [0, 0, 2]
        assert not ball.moved

    def test_what_the_page_says_before_it_knows_is_older(self, rig):
        changes, document = [], build_document(rig)
        ball = Handle("a", TARGET, (1, 0, 0, 0), changes.append)
        ball.position = (1, 0, 0)
        ball.update_from_page(HandleState("a", (9.0, 9.0, 9.0)))  # said before the change arrived
        np.testing.assert_array_equal(ball.position, (1, 0, 0))
        for change in changes:
            document = change(document)
        assert [(handle.name, handle.position) for handle in document.handles] == [("a", (1, 0, 0))]
        ball.update_from_page(HandleState("a", (9.0, 9.0, 9.0)))
        np.testing.assert_array_equal(ball.position, (9, 9, 9))

    def test_many_changes_end_where_the_last_was(self, view):
        ball, other = view.handle("a", at=TARGET), view.handle("b")
        for i in range(50):
            ball.position = (i, 0, 0)
            other.position = (0, i, 0)
            assert ball.position[0] == i
        eventually(lambda: placed(view) == {"a": (49, 0, 0), "b": (0, 49, 0)})
        assert ball.position[0] == 49

    def test_the_same_name_is_the_same_handle(self, view):
        ball = view.handle("target", at=TARGET)
        assert view.handle("target", at=(0, 0, 0)) is ball
        eventually(lambda: placed(view) == {"target": (0, 0, 0)})

    def test_its_arrays_are_values(self, view):
        ball = view.handle("target", at=TARGET)
        with pytest.raises(ValueError, match="read-only"):
            ball.position[0] = 3

    @pytest.mark.parametrize("wrong", [(1, 2), (1, 2, float("nan")), [[0, 0, 0]], "here"])
    def test_a_place_is_three_numbers(self, view, wrong):
        with pytest.raises(poise.InputError):
            view.handle("target", at=wrong)
        with pytest.raises(poise.InputError):
            view.handle("ball").position = wrong
        with pytest.raises(poise.InputError):
            view.handle("ball").rotation = (0, 0, 0, 0)


class TestFrames:
    def test_the_loop_of_the_documentation(self, rig):
        tracker = poise.Tracker(rig.rest, poise.Position("LeftHand", TARGET, root="LeftArm"))
        with poise.view(rig, open_browser=False) as view, page_at(view.url) as page:
            ball = view.handle("target", at=TARGET)
            hand = rig.skeleton.index("LeftHand")
            wanted = (0.35, 1.3, 0.35)
            for frame in view.frames(fps=120):
                view.pose = tracker(ball.position, dt=frame.dt).pose
                if frame.number == 3:
                    page.until(lambda page: page.state is not None and page.state["handles"])
                    page.send("handle", name="target", position=wanted, phase="start", serial=1)
                if ball.position[1] == wanted[1] and frame.number > 5:
                    break
            view.pose = tracker(ball.position).pose
            page.until(lambda page: page.shown is not None and np.allclose(positions(page)[hand], wanted, atol=1e-3))

    def test_they_are_paced(self, view):
        began, frames, first = time.monotonic(), [], 0.0
        for frame in view.frames(fps=50):
            first = first or time.monotonic()
            frames.append(frame)
            if frame.number == 10:
                break
        assert time.monotonic() - began > 0.19
        assert [frame.number for frame in frames] == list(range(11))
        assert frames[0].dt == 1 / 50
        assert frames[0].time <= first - began  # it has not waited; a busy machine takes its time
        for before, after in pairwise(frames):
            assert after.dt == pytest.approx(after.time - before.time)
        assert sum(frame.dt for frame in frames[1:]) == pytest.approx(frames[-1].time)

    def test_a_slow_turn_is_not_made_up_for(self, view, monkeypatch):
        """After a long turn one frame comes at once, and then they are a step apart again: no burst."""
        clock = Clock()
        monkeypatch.setattr(viewer_module, "perf_counter", clock)
        monkeypatch.setattr(view, "_ended", clock)
        gaps = []
        for frame in view.frames(fps=50):
            gaps.append(frame.dt)
            if frame.number == 1:
                clock.now += 0.2
            if frame.number == 6:
                break
        assert gaps == pytest.approx([0.02, 0.02, 0.2, 0.0, 0.02, 0.02, 0.02])

    def test_they_end_with_the_viewer(self, view):
        observed = []
        for frame in view.frames(fps=50):
            observed.append(frame)
            if frame.number == 1:
                closing = threading.Thread(target=view.close)
                closing.start()
        closing.join()
        assert len(observed) >= 2

    def test_they_end_when_the_page_was_closed(self, rig):
        with poise.view(rig, open_browser=False) as view:
            with page_at(view.url) as page:
                page.until(lambda page: page.state is not None)
                eventually(lambda: view.connected)
                assert not view.page_closed
            assert len(list(view.frames(fps=20))) > 3  # it may come back: it is being reloaded
            assert view.page_closed

    @pytest.mark.parametrize("fps", [0, -1, float("nan"), float("inf"), "fast"])
    def test_a_pace_is_a_positive_number(self, view, fps):
        with pytest.raises(poise.InputError, match="fps"):
            view.frames(fps=fps)

    def test_ctrl_c_is_the_programs(self, view):
        def interrupted():
            for _ in view.frames():
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()

    def test_wait_ends_with_the_viewer(self, view):
        threading.Timer(0.2, view.close).start()
        view.wait()

    def test_wait_ends_with_ctrl_c(self, view, monkeypatch):
        def interrupt(_):
            raise KeyboardInterrupt

        monkeypatch.setattr(view._ended, "wait", interrupt)
        view.wait()
        with pytest.raises(poise.InputError, match="closed"):
            _ = view.url


class TestTheEnd:
    def test_the_page_learns_that_the_script_has_ended(self, rig):
        with poise.view(rig, open_browser=False) as view, page_at(view.url) as page:
            page.until(lambda page: page.shown is not None)
            view.close()
            assert closed_with(page.socket) == CLOSED_ENDED
            assert page.socket.close_reason == "The script has ended"

    @pytest.mark.long
    def test_a_script_that_ends_without_a_word_has_the_page_informed(self, tmp_path):
        script = tmp_path / "shows.py"
        script.write_text(
            "import sys, poise\nfrom poise.io import samples\n"
            "view = poise.view(poise.load(samples.path('arm.urdf')), open_browser=False).open()\n"
            "sys.stdin.readline()\n"
        )
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen([sys.executable, script], **pipes) as running:
            url = running.stdout.readline().split()[-1]
            with page_at(url) as page:
                page.until(lambda page: page.state is not None)
                running.stdin.write("\n")
                running.stdin.flush()
                assert closed_with(page.socket) == CLOSED_ENDED
                assert page.socket.close_reason == "The script has ended"
            running.wait(PATIENCE)

    def test_a_page_with_a_used_link_has_a_new_one_printed(self, rig, capsys):
        with (
            poise.view(rig, open_browser=False) as view,
            connect(
                view.url.replace("http", "ws").partition("?")[0] + "socket", origin=view.url.partition("/?")[0]
            ) as stranger,
        ):
            capsys.readouterr()
            stranger.send('{"do": "ask"}')
            assert closed_with(stranger) == CLOSED_REFUSED
            assert capsys.readouterr().out == f"poise view: a new link was requested: {view.url}\n"


class TestOpening:
    def test_the_browser_is_opened_and_the_address_printed(self, rig, monkeypatch, capsys):
        opened = []
        monkeypatch.setattr(webbrowser, "open", opened.append)
        with poise.view(rig) as view:
            assert len(opened) == 1
            assert opened[0] in capsys.readouterr().out
            with page_at(opened[0]) as page:
                page.until(lambda page: page.state is not None)
            assert view.url != opened[0]  # that link was used

    def test_only_the_address_is_printed(self, rig, monkeypatch, capsys):
        monkeypatch.setattr(webbrowser, "open", lambda url: pytest.fail(f"{url} was opened"))
        with poise.view(rig, open_browser=False) as view:
            assert view.url in capsys.readouterr().out

    def test_nothing_starts_before_it_is_opened(self, rig):
        view = poise.view(rig)
        assert not view.connected
        assert view.document.rig is rig
        np.testing.assert_array_equal(view.pose.q, rig.rest.q)
        assert "not open" in repr(view)
        view.close()

    def test_a_closed_viewer_stays_closed(self, rig):
        with poise.view(rig, open_browser=False) as view:
            port = view.port
        for use in (view.open, lambda: view.url, lambda: view.handle("target"), view.frames):
            with pytest.raises(poise.InputError, match="this viewer is closed"):
                use()
        view.close()
        with poise.view(rig, port=port, open_browser=False):
            pass  # the port is free again

    def test_a_port_in_use(self, view, rig):
        with pytest.raises(poise.InputError, match=f"{view.port}"):
            poise.view(rig, port=view.port, open_browser=False).open()

    def test_without_the_extra(self, rig, monkeypatch):
        monkeypatch.setitem(sys.modules, "websockets", None)
        monkeypatch.setitem(sys.modules, "websockets.asyncio.server", None)
        monkeypatch.delitem(sys.modules, "poise.viewer.server", raising=False)
        with pytest.raises(poise.UnsupportedError, match=r"pip install 'poise\[view\]'"):
            poise.view(rig, open_browser=False).open()


class TestNotebooks:
    def test_a_cell_shows_the_page(self, rig):
        view = poise.view(rig)
        bundle = view._repr_mimebundle_(include=None, exclude=None)
        try:
            addresses = re.findall(r'(?:data|href)="([^"]*)"', bundle["text/html"])
            assert len(set(addresses)) == 2  # the page in the cell, and in a tab
            assert "<svg" in bundle["text/html"].partition("<object")[2].partition("</object>")[0]
            assert "View(" in bundle["text/plain"]
            for address in addresses:
                assert html.unescape(address).startswith(f"http://127.0.0.1:{view.port}/?notebook&token=")
        finally:
            view.close()
        closed = view._repr_mimebundle_()["text/html"]
        assert "<svg" in closed
        assert "<object" not in closed
        assert "127.0.0.1" not in closed
        assert "closed" in repr(view)
