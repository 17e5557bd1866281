"""Dragging: targets go out, poses come in, what is shown is what was solved, and the newest target wins."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from poise.io import samples
from poise.io.registry import load
from poise.viewer import scenes
from poise.viewer.document.actions import place_on_ground
from poise.viewer.document.document import build_document
from poise.viewer.document.program_widgets import HandleState
from poise.viewer.protocol import KIND_POSE
from tests.timeouts import PATIENCE
from tests.viewer.browser import assert_shown_is_solved
from tests.workload import draw

pytestmark = pytest.mark.long

CIRCLE = [(60 * np.sin(a), 60 * np.cos(a) - 60) for a in np.linspace(0.0, 3.0, 40)]
HANDLE = "window.poise.viewports[0].gizmo.controls.object.position.toArray()"


SCENES = [name for name in scenes.names() if name != "figure"]  # its parts are pulled


@pytest.mark.parametrize("name", draw("dragged scenes", SCENES, 5))
def test_a_target_is_dragged_in_a_scene(served, name):
    tab = served(name)
    if name == "walk_on_hills":
        tab.click("play")  # so that it rests
        tab.unfold()
        tab.at(f"chain-{tab.state['chains'][0]['id']}-enabled").check()
        tab.until_state("state.chains[0].enabled")
    before = {chain.name: chain.position for chain in tab.studio.document.chains}
    frames = tab.get("window.poise.frames")
    tab.drag(*CIRCLE)
    tab.answered()
    moved = [chain.name for chain in tab.studio.document.chains if chain.position != before[chain.name]]
    assert len(moved) == 1
    chain = tab.studio.document.find_chain(moved[0])
    assert np.linalg.norm(np.subtract(chain.position, before[chain.name])) > 1e-3
    np.testing.assert_allclose(tab.get(HANDLE), chain.position, atol=1e-5)
    assert tab.chain(chain.name)["position"] == list(chain.position)
    assert tab.get("window.poise.frames") > frames + 1
    assert tab.get("window.poise.roundTrips.length") > 2
    assert_shown_is_solved(tab)
    assert tab.messages_shown() == []


def test_a_drag_is_one_step_of_undo(served):
    tab = served("ccd")
    before = tab.studio.document.chains
    tab.drag(*CIRCLE)
    tab.answered()
    dragged = tab.studio.document.chains
    assert dragged != before
    tab.drag(*CIRCLE)
    tab.answered()
    tab.click("undo")
    tab.until("window.poise.state.redo !== null")
    assert tab.studio.document.chains == dragged
    tab.click("undo")
    tab.until("window.poise.state.undo === null")
    assert tab.studio.document.chains == before
    tab.answered()
    np.testing.assert_allclose(tab.get(HANDLE), before[0].position, atol=1e-6)
    assert_shown_is_solved(tab)


class Moves:
    """The moves of a drag, as they come in: whoever is slow is as slow as a number of them."""

    def __init__(self, inbox, monkeypatch):
        self._came, self._over, self._put = threading.Semaphore(0), threading.Event(), inbox.put
        monkeypatch.setattr(inbox, "put", self._counted)

    def _counted(self, action):
        self._put(action)
        if action.get("phase") == "end":
            self._over.set()
        self._came.release()

    def wait(self, count):
        """Until so many have come that no wait has had before, or the drag is over."""
        for _ in range(count):
            if not self._over.is_set():
                self._came.acquire(timeout=PATIENCE)


def test_the_newest_target_wins_over_a_slow_solver(served, monkeypatch):
    """Of sixty moves most are never solved, the last one is."""
    tab = served("ccd")
    stage, moves = tab.studio.pose_state, Moves(tab.studio.inbox, monkeypatch)
    to_solve, solved = stage._build_solve, []

    def slow(view, base):
        solved.append(stage.document.chains[0].position)
        work = to_solve(view, base)
        return lambda: (moves.wait(5), work())[1]

    monkeypatch.setattr(stage, "_build_solve", slow)
    tab.drag(*[(i, -i) for i in range(60)])
    tab.answered()
    assert len(solved) < 30
    assert solved[-1] == stage.document.chains[0].position
    np.testing.assert_allclose(solved[-1], tab.get(HANDLE), atol=1e-5)
    assert tab.get("window.poise.frame.serial") == stage.target_serial
    assert_shown_is_solved(tab)


def test_no_pose_goes_out_before_the_last_was_drawn(served, monkeypatch):
    """A page that takes long to draw is shown less, never later."""
    tab = served("ccd")
    outbox, moves = tab.studio.outbox, Moves(tab.studio.inbox, monkeypatch)
    take, observed = outbox.take, outbox.acknowledge
    under_way = [0]

    def watched_take():
        parts = take()
        under_way.append(under_way[-1] + sum(isinstance(part, bytes) and part[0] == KIND_POSE for part in parts))
        return parts

    def late(number):
        moves.wait(5)
        under_way.append(0)
        observed(number)
        tab.studio.inbox.interrupt_take()

    monkeypatch.setattr(outbox, "take", watched_take)
    monkeypatch.setattr(
        tab.studio, "acknowledge_frame", lambda number: threading.Thread(target=late, args=[number]).start()
    )
    frames = tab.get("window.poise.frames")
    tab.drag(*[(i, -i) for i in range(60)])
    tab.answered()
    assert max(under_way) == 1
    assert 1 < tab.get("window.poise.frames") - frames < 40
    np.testing.assert_allclose(tab.studio.document.chains[0].position, tab.get(HANDLE), atol=1e-5)
    assert_shown_is_solved(tab)


def test_a_long_zigzag_ends_where_the_hand_let_go(served):
    tab = served("ccd")
    rng = np.random.default_rng(5)
    x, y = tab.press()
    steps = rng.uniform(-80, 80, size=(60, 2))
    tab.move(steps + np.array([x, y]))
    tab.answered()
    position = tab.studio.document.chains[0].position
    np.testing.assert_allclose(tab.get(HANDLE), position, atol=1e-5)
    np.testing.assert_allclose(tab.handle(), steps[-1] + np.array([x, y]), atol=2.0)


def test_a_touch_that_is_taken_away_ends_the_drag(served):
    tab = served("ccd")
    x, y = tab.press()
    tab.move([(x + i, y) for i in range(20)], let_go=False)
    tab.get("window.poise.viewports[0].stage.canvas.dispatchEvent(new PointerEvent('pointercancel', {pointerId: 1}))")
    tab.page.mouse.up()
    tab.answered()
    np.testing.assert_allclose(tab.get(HANDLE), tab.studio.document.chains[0].position, atol=1e-5)
    assert tab.get("window.poise.viewports[0].view.controls.enabled")


def test_a_target_is_turned(served):
    tab = served("robot_arm")
    before = tab.studio.document.chains[0]
    tab.click("gizmo-turn")
    tab.drag(*[(i, i / 2) for i in range(40)])
    tab.answered()
    after = tab.studio.document.chains[0]
    assert after.position == pytest.approx(before.position)
    assert abs(np.dot(after.rotation, before.rotation)) < 0.999
    drawn = tab.get("(() => { const {x, y, z, w} = window.poise.viewports[0].gizmo.controls.object.quaternion; "
                    "return [w, x, y, z]; })()")  # fmt: skip
    assert abs(np.dot(drawn, after.rotation)) == pytest.approx(1.0, abs=1e-6)
    assert_shown_is_solved(tab)


def test_a_direction_is_turned(served):
    tab = served("five_axes")
    before = tab.studio.document.chains[0].direction
    tab.key("e")
    tab.drag(*[(i, i / 3) for i in range(30)])
    tab.answered()
    after = tab.studio.document.chains[0].direction
    assert np.dot(before, after) < 0.999
    assert np.linalg.norm(after) == pytest.approx(1.0)


def test_a_pole_is_dragged(served):
    tab = served("feet")
    tab.unfold()
    tab.click("chain-left_foot-pole")
    tab.until_state("state.chains[0].pole !== null")
    pole = tab.studio.document.find_chain("left_foot").pole
    tab.take("pole:left_foot", pole)
    tab.drag(*[(i, -i) for i in range(30)])
    tab.answered()
    after = tab.studio.document.find_chain("left_foot")
    assert np.linalg.norm(np.subtract(after.pole, pole)) > 0.02
    np.testing.assert_allclose(tab.get(HANDLE), after.pole, atol=1e-5)
    assert_shown_is_solved(tab)


def test_a_target_on_the_ground_stays_on_it(served):
    tab = served("feet")
    tab.drag(*[(2 * i, -i) for i in range(40)])
    tab.answered()
    chain = tab.studio.document.find_chain("left_foot")
    assert place_on_ground(tab.studio.document, chain).position == chain.position
    np.testing.assert_allclose(tab.get(HANDLE), chain.position, atol=1e-5)


def test_both_views_drag_one_target(served):
    tab = served("two_methods")
    before = tab.studio.document.chains[0].position
    for view in (0, 1):
        tab.drag(*[(-i, -i) for i in range(20)], view=view)
        tab.answered()
        now = tab.studio.document.chains[0].position
        assert now != before
        both = tab.get("window.poise.viewports.map((v) => v.gizmo.controls.object.position.toArray())")
        np.testing.assert_allclose(both, [now, now], atol=1e-5)
        before = now
    assert_shown_is_solved(tab)


def test_a_handle_of_a_program_is_dragged(served):
    rig = load(samples.path("humanoid.glb"))
    tab = served(build_document(rig, chains=(), handles=(HandleState("here", (0.5, 1.0, 0.2)),), is_driven=True))
    tab.take("handle:here", (0.5, 1.0, 0.2))
    tab.drag(*CIRCLE)
    tab.answered()
    (handle,) = tab.studio.document.handles
    assert np.linalg.norm(np.subtract(handle.position, (0.5, 1.0, 0.2))) > 0.01
    np.testing.assert_allclose(tab.get(HANDLE), handle.position, atol=1e-5)


def test_numbers_move_a_target_too(served):
    tab = served("robot_arm")
    tab.type("target-position-x", 0.2)
    tab.until_state("Math.abs(state.chains[0].position[0] - 0.2) < 1e-9")
    tab.type("target-rotation-z", 30)
    tab.until_state("state.undo !== null")
    tab.answered()
    turned = tab.studio.document.chains[0].rotation
    assert turned != scenes.build_scene("robot_arm").chains[0].rotation
    tab.key("Control+z")
    tab.key("Control+z")
    tab.until_state("state.undo === null")
    assert tab.studio.document.chains[0].position == scenes.build_scene("robot_arm").chains[0].position
    assert_shown_is_solved(tab)


def test_a_still_press_sends_nothing_and_reaches_what_lies_behind(served):
    tab = served("biped")
    tab.click("reset")
    tab.answered()
    before, undo = tab.studio.document.chains, tab.state["undo"]
    x, y = tab.press()
    tab.page.mouse.move(x + 2, y + 1)  # no hand is quite still
    tab.page.mouse.up()
    tab.answered()
    assert tab.studio.document.chains == before
    assert tab.state["undo"] == undo
    key = tab.get("window.poise.viewports[0].gizmo.active")
    head = tab.studio.document.find_chain("head").position
    tab.get(
        """([key, position]) => {
          const {handles} = window.poise.viewports[0].actor;
          handles.all.get(key).object.position.fromArray(position);
          window.poise.viewports[0].stage.draw();
        }""",
        [key, list(head)],
    )
    tab.press()
    tab.page.mouse.up()
    tab.until("window.poise.viewports[0].gizmo.active === 'target:head'")
    tab.until("document.querySelector('[data-testid=chain-head]').classList.contains('active')")
    assert tab.studio.document.chains == before


def test_a_target_on_the_ground_follows_it_while_it_is_dragged(served):
    tab = served("feet")
    x, y = tab.press()
    for step in range(1, 8):
        tab.move([(x + 12 * step, y - 25 * step)], let_go=False)
        tab.until("window.poise.state.serial > 0 && window.poise.viewports[0].actor.handles._held.size === 0")
        shown, chain = tab.get(HANDLE), tab.studio.document.find_chain("left_foot")
        np.testing.assert_allclose(shown, chain.position, atol=1e-5)
        assert place_on_ground(tab.studio.document, chain).position == chain.position
    tab.page.mouse.up()
    tab.answered()
    np.testing.assert_allclose(tab.get(HANDLE), tab.studio.document.find_chain("left_foot").position, atol=1e-5)


def test_another_rig_in_the_middle_of_a_drag_leaves_the_camera_free(served):
    tab = served("ccd")
    x, y = tab.press()
    tab.move([(x + 4 * i, y) for i in range(5)], let_go=False)
    tab.get("window.poise.send({do: 'scene', name: 'biped'})")
    tab.until("window.poise.state.scene === 'biped' && window.poise.ready")
    assert tab.get("window.poise.viewports[0].view.controls.enabled")
    assert not tab.get("window.poise.viewports[0].gizmo.dragging")
    tab.page.mouse.up()
    tab.answered()
    tab.drag(*[(i, -i) for i in range(20)])
    assert_shown_is_solved(tab)


def test_a_point_cannot_be_turned_and_the_tools_say_so(served):
    tab = served("ccd")
    tab.key("e")
    assert tab.at("gizmo-turn").is_disabled()
    assert "no rotation" in tab.at("gizmo-turn").get_attribute("title")
    assert tab.at("gizmo-move").get_attribute("aria-pressed") == "true"
    assert "choose 'place'" in tab.messages_shown()[0]
    tab.pick(f"chain-{tab.state['chains'][0]['id']}-kind", "place")
    tab.until("document.querySelector('[data-testid=gizmo-turn]').ariaPressed === 'true'")
    assert tab.get("window.poise.viewports[0].gizmo.controls.mode") == "rotate"
