"""Sliders, buttons, texts and marks of a script, with a page that is no browser; and its goodbye."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed

import poise
from poise.io import samples
from poise.viewer.server import CLOSED_ENDED
from tests.timeouts import PATIENCE
from tests.viewer.clients import eventually
from tests.viewer.page import page_at

HUMANOID = samples.path("humanoid.glb")


@pytest.fixture(scope="module")
def rig():
    return poise.load(HUMANOID)


@pytest.fixture
def view(rig):
    with poise.view(rig, open_browser=False) as opened:
        yield opened


def reported(page):
    """Values of the controls as the page was told."""
    return {} if page.state is None else {one["name"]: one["value"] for one in page.state["controls"]}


def test_they_follow_the_page_and_the_page_them(view):
    slider, button, note = view.slider("stiff", 0, 2, 0.5), view.button("go"), view.text("note", "first")
    assert (slider.value, button.value, note.value) == (0.5, 0, "first")
    with page_at(view.url) as page:
        page.until(lambda page: reported(page) == {"stiff": 0.5, "go": 0, "note": "first"})
        assert [slider.moved, button.pressed, note.moved] == [False] * 3
        page.send("control", name="stiff", value=1.25, phase="end")
        page.send("control", name="go", value=None)
        page.send("control", name="note", value="second")
        eventually(lambda: note.value == "second")
        assert slider.value == 1.25
        assert slider.moved
        assert not slider.moved  # since it was last asked
        assert button.pressed
        assert not button.pressed
        assert button.value == 1
        assert note.moved
        slider.value, note.value = 2, "third"
        page.until(lambda page: reported(page) == {"stiff": 2, "go": 1, "note": "third"})
        assert not slider.moved
        page.send("control", name="stiff", value=9)
        page.until(lambda page: "message" in page.kinds)
        assert "from 0 to 2" in page.kinds["message"]["text"]
        assert slider.value == 2


def test_they_outlive_undo_and_another_scene(view):
    slider = view.slider("stiff", 0, 2, 0.5)
    view.marks([[0, 1, 0]])
    with page_at(view.url) as page:
        page.until(lambda page: reported(page) == {"stiff": 0.5})
        page.send("scene", name="ccd")
        page.until(lambda page: page.state["scene"] == "ccd")
        page.send("control", name="stiff", value=1.5)
        page.until(lambda page: reported(page) == {"stiff": 1.5})
        page.send("undo")
        page.until(lambda page: page.state["scene"] is None)
        assert reported(page) == {"stiff": 1.5}
        assert slider.value == 1.5
        assert len(view.document.marks) == 1


def test_marks_are_shown_and_replaced(view):
    with page_at(view.url) as page:
        page.until(lambda page: page.state is not None)
        view.marks(np.eye(3), colour="#ff8800")
        view.marks([[0, 2, 0]], name="goal", size=12)
        page.until(lambda page: len(page.kinds.get("marks", {"marks": []})["marks"]) == 2)
        first, second = page.kinds["marks"]["marks"]
        assert first == {"name": "marks", "points": np.eye(3).tolist(), "colour": "#ff8800", "size": 8.0}
        assert (second["name"], second["points"]) == ("goal", [[0, 2, 0]])
        view.marks(np.zeros((0, 3)))
        page.until(lambda page: [mark["name"] for mark in page.kinds["marks"]["marks"]] == ["goal"])


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda view: view.slider("a", 1, 1), "low to a high end"),
        (lambda view: view.slider("a", 0, 1, 2), "between its ends"),
        (lambda view: view.slider("", 0, 1), "name of a slider"),
        (lambda view: view.button(3), "name of a button"),
        (lambda view: view.text("a", 3), "at most 400 characters"),
        (lambda view: (view.button("twice"), view.slider("twice", 0, 1)), "button already"),
        (lambda view: view.marks([[1, 2]]), "points"),
        (lambda view: view.marks([[1, 2, 3]], colour="red"), "#rrggbb"),
        (lambda view: view.marks([[1, 2, 3]], size=0), "pixels"),
        (lambda view: view.marks([[1, 2, 3]], size=100.5), "at most 100"),
        (lambda view: view.marks(np.zeros((20_001, 3))), "at most 20,000"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(view, use, words):
    with pytest.raises(poise.InputError, match=words):
        use(view)


def test_a_button_of_the_same_name_is_the_same(view):
    assert view.button("go") is view.button("go")


def goodbye(page):
    """The code and the reason with which the connection ends."""
    try:
        while True:
            page.socket.recv(timeout=PATIENCE)
    except ConnectionClosed as closed:
        return closed.rcvd.code, closed.rcvd.reason


def test_a_script_that_closes_says_so(rig):
    with poise.view(rig, open_browser=False) as view, page_at(view.url) as page:
        page.until(lambda page: page.state is not None)
        view.close()
        assert goodbye(page) == (CLOSED_ENDED, "The script has ended")


@pytest.mark.long
def test_a_script_that_just_ends_says_so():
    """Without `with`, without `close`: at the exit of its interpreter."""
    lines = f"import poise; v = poise.view(poise.load({str(HUMANOID)!r}), open_browser=False); v.open(); input()"
    script = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", lines], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with script, page_at(script.stdout.readline().split()[-1]) as page:
        page.until(lambda page: page.state is not None)
        script.stdin.write("\n")
        script.stdin.flush()
        assert goodbye(page) == (CLOSED_ENDED, "The script has ended")
    assert script.returncode == 0
