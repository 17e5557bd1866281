"""Relative targets, ranges and closed loops on the page: where they are drawn, and what a drag of them tells."""

from __future__ import annotations

import math

import numpy as np
import pytest

import poise
from poise.maths import rotations
from poise.model.loop_gaps import compute_pose_gaps
from poise.viewer import scenes
from poise.viewer.document.document import build_document
from poise.viewer.document.goal_chains import build_goal_chains
from tests.viewer.action_cases import rig
from tests.viewer.browser import assert_shown_is_solved

pytestmark = pytest.mark.long

VIEW = "window.poise.viewports[0]"
TURN = f"""
(key) => {{
  const {{object}} = {VIEW}.actor.handles.all.get(key);
  const {{x, y, z, w}} = object.quaternion;
  return [...object.position.toArray(), w, x, y, z];
}}
"""
SHOWN = f"{VIEW}.actor.ranges.shown.get(id)"
CORNERS = f"""
(id) => {{
  {VIEW}.actor.ranges.update();
  const drawn = {SHOWN}.box.lines;
  const places = drawn.geometry.attributes.position;
  return Array.from({{length: places.count}}, (_, i) => drawn.localToWorld === undefined ? null :
    [0, 1, 2].map((r) => drawn.matrix.elements[12 + r] + [0, 1, 2].reduce((sum, k) =>
      sum + drawn.matrix.elements[4 * k + r] * places.getComponent(i, k), 0)));
}}
"""


def world_target(pose, chain):
    frame = pose.world[chain.relative_to]
    place = frame.affine[:, :3] @ np.array(chain.position) + frame.affine[:, 3]
    return place, rotations.multiply(frame.rotations, np.array(chain.rotation))


def assert_handle_is_at_its_target(tab, name="left_hand", view=0):
    tab.answered()
    pose, chain = tab.studio.pose_state.build_view_pose(view), tab.studio.document.find_chain(name)
    found = np.array(tab.get(TURN.replace("viewports[0]", f"viewports[{view}]"), f"target:{name}"))
    place, rotation = world_target(pose, chain)
    np.testing.assert_allclose(found[:3], place, atol=1e-5)
    assert abs(found[3:] @ rotation) == pytest.approx(1.0, abs=1e-5)
    return place


def test_a_relative_target_goes_along_with_its_joint(served):
    tab = served("two_hands")
    before = assert_handle_is_at_its_target(tab)
    chain = tab.studio.document.find_chain("left_hand")
    tab.drag(*[(i, -i) for i in range(40)])
    after = assert_handle_is_at_its_target(tab)
    assert np.linalg.norm(after - before) > 0.03
    assert tab.studio.document.find_chain("left_hand") == chain
    assert_shown_is_solved(tab)
    assert tab.messages_shown() == []


@pytest.mark.parametrize("follow", [True, False])
def test_a_drag_changes_the_offset_in_the_frame_of_the_joint(served, follow):
    document = scenes.build_scene("two_hands")
    left = document.chains[1].replace(follow=follow)
    document = document.replace(chains=(left,))  # the right hand is free to move
    tab = served(document)
    assert_handle_is_at_its_target(tab)
    frame = tab.studio.pose_state.build_view_pose(0).world["RightHand"]
    x, y = tab.press()
    start = np.array(tab.get(TURN, "target:left_hand"))[:3]
    tab.move([(x + i, y - i) for i in range(40)])
    assert_handle_is_at_its_target(tab)
    chain = tab.studio.document.chains[0]
    assert chain.position != left.position
    assert chain.rotation == pytest.approx(left.rotation, abs=1e-6)
    # the hand has moved the target by this much, seen from where the reference was when it took it
    moved = frame.affine[:, :3] @ np.subtract(chain.position, left.position)
    ends = tab.get(f"([p, q]) => [p, q].map((each) => {VIEW}.findPixels(each))", [[*start], [*(start + moved)]])
    np.testing.assert_allclose(np.subtract(*ends[::-1]), (39, -39), atol=1.5)
    assert tab.state["undo"] == "move target"
    tab.key("Control+z")
    tab.until_state("state.undo === null")
    assert tab.studio.document.chains == (left,)
    assert_handle_is_at_its_target(tab)


def test_a_relative_target_is_turned(served):
    document = scenes.build_scene("two_hands")
    tab = served(document.replace(chains=document.chains[1:]))
    before = tab.studio.document.chains[0]
    tab.click("gizmo-turn")
    tab.drag(*[(i, i / 2) for i in range(30)])
    assert_handle_is_at_its_target(tab)
    after = tab.studio.document.chains[0]
    assert after.position == pytest.approx(before.position, abs=1e-6)
    assert abs(np.dot(after.rotation, before.rotation)) < 0.999


@pytest.mark.parametrize("view", [0, 1])
def test_two_views_have_a_relative_target_each_at_its_own_joint(served, view):
    document = scenes.build_scene("two_hands")
    (left,) = chains = (document.chains[1].replace(follow=False),)
    tab = served(document.replace(chains=chains, view_count=2))
    x, y = tab.press(view)
    points = [(x + i, y - i) for i in range(30)]
    tab.move(points, let_go=False)
    tab.until(f"window.poise.frame.serial === window.poise.viewports[{view}].actor.handles._held.values().next().value")
    offsets = tab.get("window.poise.viewports.map((each) => each.actor.handles.all.get('target:left_hand').position)")
    assert offsets[0] == offsets[1] != list(left.position)
    tab.move(points[-1:])
    for shown in (0, 1):
        assert_handle_is_at_its_target(tab, view=shown)
    assert tab.studio.document.chains[0].position != left.position


def test_the_numbers_of_a_relative_target_are_in_its_frame(served):
    document = scenes.build_scene("two_hands")
    tab = served(document.replace(chains=document.chains[1:]))
    tab.answered()
    assert float(tab.at("target-position-z").input_value()) == pytest.approx(document.chains[1].position[2], abs=1e-3)
    tab.type("target-position-z", 0.05)
    tab.until_state("Math.abs(state.chains[0].position[2] - 0.05) < 1e-9")
    assert_handle_is_at_its_target(tab)


def test_the_frame_of_a_target_is_chosen(served):
    document = scenes.build_scene("two_hands")
    tab = served(document.replace(chains=document.chains[1:]))
    place = assert_handle_is_at_its_target(tab)
    assert tab.at("target-relative").input_value() == "RightHand"
    tab.pick("target-relative", "")
    tab.until_state("state.chains[0].relative_to === null")
    tab.answered()
    np.testing.assert_allclose(tab.studio.document.chains[0].position, place, atol=1e-6)
    np.testing.assert_allclose(tab.get(TURN, "target:left_hand")[:3], place, atol=1e-5)
    tab.pick("target-relative", "Head")
    tab.until_state("state.chains[0].relative_to === 'Head'")
    np.testing.assert_allclose(assert_handle_is_at_its_target(tab), place, atol=1e-5)


# --- ranges -----------------------------------------------------------------------------------------------------------


def ranged(*goals):
    pose = rig().pose
    return build_document(rig(), chains=tuple(
        chain.replace(name=f"goal {i}") for i, chain in enumerate(build_goal_chains(pose, goals))
    ))  # fmt: skip


def bounds_of(tab, chain, axes):
    """Lowest and highest corner of a drawn box from its target, in some axes."""
    corners = np.array(tab.get(CORNERS, chain)) - tab.get(TURN, f"target:{chain}")[:3]
    local = rotations.rotate(rotations.inverse(axes), corners)
    return local.min(axis=0), local.max(axis=0)


def test_a_box_is_drawn_in_the_axes_of_its_target(served):
    within = poise.Within(x=(-0.1, 0.2), y=(0.05, 0.1), z=(-0.3, 0.0))
    rotation = rotations.normalise(np.array([0.8, 0.1, -0.3, 0.5]))
    tab = served(ranged(poise.Place("LeftHand", [0.4, 1.2, 0.3], rotation, within=within)))
    tab.answered()
    low, high = bounds_of(tab, "goal 0", rotation)
    np.testing.assert_allclose(low, (-0.1, 0.05, -0.3), atol=1e-5)
    np.testing.assert_allclose(high, (0.2, 0.1, 0.0), atol=1e-5)


def test_a_box_goes_along_with_the_joint_that_its_axes_are_of(served):
    within = poise.Within(x=(-0.1, 0.2), y=(-0.05, 0.1), z=(-0.1, 0.1), axes="joint")
    tab = served(ranged(poise.Position("LeftHand", [0.1, 0.2, 0.4], within=within, relative_to="Chest")))
    tab.answered()
    tip = tab.studio.pose_state.build_view_pose(0).world["LeftHand"].rotations
    low, high = bounds_of(tab, "goal 0", tip)
    np.testing.assert_allclose(low, (-0.1, -0.05, -0.1), atol=1e-5)
    np.testing.assert_allclose(high, (0.2, 0.1, 0.1), atol=1e-5)


def test_a_relative_position_has_its_box_in_the_axes_of_the_joint(served):
    within = poise.Within(x=(-0.1, 0.2), y=(-0.05, 0.1), z=(-0.1, 0.1))
    tab = served(ranged(poise.Position("LeftHand", [0.1, 0.2, 0.4], within=within, relative_to="RightForeArm")))
    tab.answered()
    frame = tab.studio.pose_state.build_view_pose(0).world["RightForeArm"].rotations
    low, high = bounds_of(tab, "goal 0", frame)
    np.testing.assert_allclose(low, (-0.1, -0.05, -0.1), atol=1e-5)
    np.testing.assert_allclose(high, (0.2, 0.1, 0.1), atol=1e-5)


def test_exact_axes_are_thin_and_endless_ones_long_and_faint(served):
    line, plane = poise.Within(y=(-math.inf, math.inf)), poise.Within(x=(-0.1, 0.1), z=(-0.2, 0.2))
    tab = served(ranged(
        poise.Position("LeftHand", [0.4, 1.2, 0.3], within=line),
        poise.Position("RightHand", [-0.4, 1.2, 0.3], within=plane),
        poise.Position("Head", [0.0, 1.6, 0.0], within=poise.Within()),
    ))  # fmt: skip
    tab.answered()
    size, still = tab.model["size"], np.array([1.0, 0.0, 0.0, 0.0])
    low, high = bounds_of(tab, "goal 0", still)
    assert high[1] - low[1] > 3 * size
    assert (high - low)[[0, 2]].max() < 0.01 * size
    low, high = bounds_of(tab, "goal 1", still)
    assert 0.0 < high[1] - low[1] < 0.01 * size
    np.testing.assert_allclose((high - low)[[0, 2]], (0.2, 0.4), atol=1e-5)
    opacity = f"(id) => {SHOWN}.box.lines.material.opacity"
    assert tab.get(opacity, "goal 0") < 0.5 * tab.get(opacity, "goal 1")
    assert tab.get(f"(id) => {SHOWN}.box", "goal 2") is None


def test_turns_are_drawn_about_the_target_and_go_along_with_a_drag(served):
    turn = poise.Range(-0.4, 1.0, axis=(0, 1, 0))
    goal = poise.Place("LeftHand", [0.1, 0.2, 0.4], [0.6, 0.8, 0, 0], relative_to="Chest",
                       within=poise.Within(turn=turn))  # fmt: skip
    tab = served(ranged(goal))
    tab.drag(*[(i, -i) for i in range(30)])
    tab.answered()
    tab.get(f"{VIEW}.actor.ranges.update()")
    matrix = np.array(tab.get(f"(id) => {SHOWN}.turns.lines.matrix.elements", "goal 0")).reshape(4, 4).T
    handle = np.array(tab.get(TURN, "target:goal 0"))
    np.testing.assert_allclose(matrix[:3, 3], handle[:3], atol=1e-6)
    axis = matrix[:3, 1] / np.linalg.norm(matrix[:3, 1])
    np.testing.assert_allclose(axis, rotations.rotate(handle[3:], np.array([0.0, 1.0, 0.0])), atol=1e-5)
    np.testing.assert_allclose(handle[:3], world_target(
        tab.studio.pose_state.build_view_pose(0), tab.studio.document.chains[0])[0], atol=1e-5)  # fmt: skip


def test_ranges_and_loops_are_switched_off_in_the_menu(served):
    tab = served("two_hands")
    tab.answered()
    shown = f"[{VIEW}.actor.ranges.group.visible, {VIEW}.actor.loops.group.visible]"
    assert tab.get(shown) == [True, True]
    tab.click("show-menu")
    for name in ("ranges", "loops"):
        tab.click(f"show-{name}")
    tab.until(f"{shown}.every((each) => !each)")


# --- closed loops -----------------------------------------------------------------------------------------------------

LOOP = f"{VIEW}.actor.loops.shown[0]"


def test_a_loop_stays_closed_while_a_target_is_dragged(served):
    tab = served("four_bar")
    tab.answered()
    gaps, stage = [], tab.studio.pose_state
    finish = stage.finish_frame

    def watched(outcomes):
        frame = finish(outcomes)
        gaps.append(float(compute_pose_gaps(stage.build_view_pose(0)).distances.max()))
        return frame

    stage.finish_frame = watched
    before = stage.displayed_q[0].copy()
    tab.drag(*[(60 * math.sin(a), 60 * math.cos(a) - 60) for a in np.linspace(0, 6, 40)], (200, 100))
    tab.answered()
    assert len(gaps) > 3
    assert max(gaps) < 1e-9
    assert np.abs(stage.displayed_q[0] - before)[0, 2] > 0.01  # the rocker follows
    ends = np.array(tab.get(f"{LOOP}.ends.map((end) => end.position.toArray())"))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)
    world = stage.build_view_pose(0).world["rocker"]
    np.testing.assert_allclose(ends[1], world.affine[:, :3] @ [0.35, 0, 0] + world.affine[:, 3], atol=1e-6)
    assert tab.get(f"{LOOP}.isOpen") is False
    assert_shown_is_solved(tab)


def test_an_open_loop_is_red_and_named(served):
    document = scenes.build_scene("four_bar")
    crank, coupler, rocker = document.start.q.tolist()
    locked = {"crank": crank, "coupler": coupler, "rocker": rocker + 0.1}
    locks = {name: poise.Range(value, value) for name, value in locked.items()}
    document = document.replace(skeleton=document.skeleton.with_limits(locks))
    tab = served(document.replace(chains=(document.chains[0].with_target_at(document.solver_start),)))
    tab.until("window.poise.answer?.views[0].status === 'loops_open'")
    tab.answered()
    assert "rod" in tab.at("status-a").inner_text()
    assert tab.get("window.poise.answer.views[0].open") == ["rod"]
    assert tab.get(f"{LOOP}.ring.material === {VIEW}.actor.loops.open")
    tab.click("joint-rocker")
    tab.click("limit-remove")
    tab.until(f"{LOOP}.isOpen === false")
    assert tab.get(f"{LOOP}.ring.material === {VIEW}.actor.loops.closed")


def test_a_bone_of_a_loop_is_rotated_with_the_others(served):
    tab = served("four_bar")
    tab.click("joint-crank")
    tab.until("!document.querySelector('[data-testid=bone-slider]').disabled")
    slider = tab.at("bone-slider")
    slider.focus()
    for _ in range(5):
        tab.page.keyboard.press("ArrowRight")
    tab.until_state("state.undo === 'turn bone'")
    tab.answered()
    start = tab.studio.document.start
    assert abs(start.q[0] - 0.9) > 1e-3
    assert float(compute_pose_gaps(start).distances.max()) < 1e-9
