"""The page that is saved to be sent: its keys, and targets that are seen but not dragged."""

from __future__ import annotations

import contextlib

import pytest

import poise
from poise.io import samples
from poise.viewer.document.document import build_document
from tests.viewer.browser import Tab

pytestmark = pytest.mark.long

HANDLES = "[...window.poise.viewport.actor.handles.all.values()].map(({mark}) => mark)"


@pytest.fixture
def offline(served, chromium, tmp_path):
    """`offline(clip)`: the page that was saved, with a clip or as one pose."""
    with contextlib.ExitStack() as stack:

        def save(clip):
            rig = poise.load(samples.path("humanoid.glb"))
            tab = served(build_document(rig, scope="limbs", clip_name=rig.clips[0].name if clip else None))
            if clip:
                tab.click("play")
                tab.until_state("!state.playing")
            path = tab.save("save-html", tmp_path)
            page = Tab(chromium, path.as_uri())
            stack.callback(page.close)
            page.page.goto(path.as_uri())
            page.until("window.poise && window.poise.shown >= 0")
            return page

        yield save


def test_a_click_on_skin_or_target_selects_and_a_drag_of_a_limb_turns_the_camera(offline):
    page = offline(clip=False)
    view = "window.poise.viewport"
    camera = f"JSON.stringify({view}.view.state())"
    for joint, share in (("Chest", 0.5), ("LeftLeg", 0.4), ("RightForeArm", 0.5)):
        point = page.get(
            f"""([joint, share]) => {{
              const {{figure}} = {view}.actor;
              const row = figure.rows.get(joint);
              const [from, to] = [figure.position(row), figure.tail(row)];
              return {view}.screenOf(from.map((value, k) => value + share * (to[k] - value)));
            }}""",
            [joint, share],
        )
        page.page.mouse.click(*point)
        page.until(f"document.querySelector('[data-testid=picked]').textContent === {joint!r}")
    target = f"(() => {{ const {{position}} = {view}.actor.handles.all.get('target:right_arm'); return position; }})()"
    page.page.mouse.click(*page.get(f"{view}.screenOf({target})"))
    page.until("document.querySelector('[data-testid=picked]').textContent === 'RightHand'")
    before, place = page.get(camera), page.get(target)
    x, y = point
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x + 40, y, steps=4)
    page.page.mouse.up()
    page.until(f"{camera} !== {before!r}")
    assert page.get(target) == place


def test_keys_work_after_a_click_on_play(offline):
    page = offline(clip=True)
    page.click("play")
    page.until("!window.poise.playing")
    shown = page.get("window.poise.shown")
    count = page.get("window.poise.times.length")
    for key, frames in (("ArrowRight", 1), ("Shift+ArrowRight", 10), ("ArrowLeft", -1), ("Shift+ArrowLeft", -10)):
        page.page.keyboard.press(key)
        wanted = min(max(shown + frames, 0), count - 1)
        page.until(f"window.poise.shown === {wanted}")
        shown = wanted
    page.page.keyboard.press("Space")
    page.until("window.poise.playing")


def test_pictures_are_requested_only_while_it_plays(offline):
    page = offline(clip=True)
    requested = "window.poise.ticking"
    page.until(f"{requested} !== 0")
    page.page.keyboard.press("Space")
    page.until(f"{requested} === 0")
    page.page.wait_for_timeout(100)
    assert page.get(requested) == 0


def test_a_page_with_one_pose_has_targets_and_keys(offline):
    page = offline(clip=False)
    assert set(page.get(HANDLES)) == {"position"}
    assert page.get("window.poise.viewport.gizmo.active") is None
    position = page.get("[...window.poise.viewport.actor.handles.all.values()][0].position")
    x, y = page.get("(p) => window.poise.viewport.screenOf(p)", position)
    page.page.mouse.click(x, y)
    assert page.get("window.poise.viewport.gizmo.active") is None
    camera = "JSON.stringify(window.poise.viewport.view.state())"
    before = page.get(camera)
    page.page.mouse.move(20, 300)
    page.page.mouse.wheel(0, -400)
    page.until(f"{camera} !== {before!r}")
    near = page.get(camera)
    page.page.keyboard.press("Space")  # there is nothing to play
    page.page.keyboard.press("f")
    page.until(f"{camera} !== {near!r}")
