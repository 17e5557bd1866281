"""What the camera does by itself: the whole figure is in the first picture, and in the picture while a clip plays."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.model.skeleton import Kind, Skeleton
from poise.viewer.document.document import build_document

pytestmark = pytest.mark.long

SIZES = ((400, 800), (1000, 600), (1600, 500))

#: How many places of the figure are out of the first view's picture, or behind the line where its status stands.
CUT = """
(() => {
  const {view, stage, actor} = window.poise.viewports[0];
  view.refresh();
  const [width, height] = stage.measureExtent();
  const out = (point) => {
    const [x, y, ahead] = view.project(point);
    return !(ahead > 0 && x >= 0 && x <= width && y >= 0 && y <= height);
  };
  return actor.listPoints().filter(out).length;
})()
"""

#: How high the figure stands in the picture, of its height.
SHARE = """
(() => {
  const {view, stage, actor} = window.poise.viewports[0];
  view.refresh();
  const seen = actor.listPoints().map((point) => view.project(point));
  const spread = (k, whole) => (Math.max(...seen.map((p) => p[k])) - Math.min(...seen.map((p) => p[k]))) / whole;
  return Math.max(spread(0, stage.measureExtent()[0]), spread(1, stage.measureExtent()[1]));
})()
"""

#: The edge of the first target's cube on the screen [pixels].
CUBE = """
(() => {
  const {actor, view} = window.poise.viewports[0];
  view.refresh();
  const {drawn, object} = [...actor.handles.all.values()].find(({what}) => what === "target");
  const box = drawn.children.find(({geometry}) => geometry.type === "BoxGeometry");
  return box.geometry.parameters.width * drawn.scale.x * view.project(object.position.toArray())[3];
})()
"""


def cross(up, unit):
    """A figure with arms as wide as three heights, z or y upwards, in some unit."""
    high = (0, 0, 1) if up == "z" else (0, 1, 0)
    along = np.array(high) * unit
    side = np.array((1, 0, 0)) * unit
    names = ["hips", "chest", "left", "left_tip", "right", "right_tip"]
    offsets = [0.2 * along, along, 0.2 * side, 1.5 * side, -0.2 * side, -1.5 * side]
    return Skeleton.build(names, [-1, 0, 1, 2, 1, 4], [Kind.FREE, *[Kind.BALL] * 5], offsets=offsets, up=up)


def shown(up, unit):
    skeleton = cross(up, unit)
    return build_document(poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q)))


@pytest.mark.parametrize(("up", "unit"), [("y", 1.0), ("z", 1e-4), ("y", 1e5)])
def test_nothing_of_a_wide_figure_is_cut_and_its_target_is_a_visible_cube(served, up, unit):
    tab = served(shown(up, unit))
    for width, height in SIZES:
        tab.page.set_viewport_size({"width": width, "height": height})
        tab.page.reload()
        tab.until("window.poise && window.poise.ready")
        tab.answered()
        assert tab.get(CUT) == 0, (width, height)
        assert tab.get(SHARE) > 0.4, (width, height)
        assert 10 < tab.get(CUBE) < 30


@pytest.mark.parametrize("file", ["humanoid.glb", "arm.urdf"])
def test_nothing_of_a_file_is_cut(served, file):
    tab = served(build_document(poise.load(samples.path(file))))
    for width, height in SIZES:  # what no hand has moved is framed anew where the window changes
        tab.resize(width, height)
        assert tab.get(CUT) == 0, (width, height)
        assert tab.get(SHARE) > 0.4, (width, height)


def test_the_ghost_of_a_scene_is_in_its_first_picture(served):
    tab = served("ccd")
    assert tab.get("window.poise.viewports[0].actor.ghost.group.visible")
    assert tab.get(CUT) == 0


def test_a_motion_file_opens_playing_and_the_camera_goes_along(served):
    tab = served(build_document(poise.load(samples.path("humanoid.bvh"))), width=400, height=800)
    tab.until_state("state.playing && state.clip")
    assert not any(chain["enabled"] for chain in tab.state["chains"])
    for _ in range(8):
        time = tab.get("window.poise.frame.time")
        tab.until(f"Math.abs(window.poise.frame.time - {time}) > 0.08")
        assert tab.get(CUT) == 0


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_a_clip_that_is_sought_in_stays_in_the_picture(served, width, height):
    tab = served("walk_on_hills", width=width, height=height)
    tab.studio.post_action({"do": "play", "on": False})
    tab.until_state("!state.playing")
    for share in (0.0, 1.0, 0.5, 0.0, 0.9):
        tab.studio.post_action({"do": "seek", "time": share * tab.state["duration"]})
        tab.until(f"Math.abs(window.poise.frame.time - {share * tab.state['duration']}) < 1e-3")
        assert tab.get(CUT) == 0, share


def test_a_clip_that_climbs_or_stretches_stays_in_the_picture(served):
    skeleton = cross("y", 1.0)
    start = poise.Pose(skeleton, skeleton.rest_q)
    q = np.repeat(start.q[None], 60, axis=0)
    q[:, skeleton.q_slice("hips")][:, :3] = 0.0
    free = skeleton.q_slice("hips")
    places = np.zeros((60, 3))
    places[:, 1] = np.linspace(50.0, 54.0, 60)  # far above the pose of the file, and on upwards
    q[:, free.start : free.start + 3] = places
    turned = poise.Pose(skeleton, q)
    assert np.ptp(turned.world.positions[:, 0, 1]) == pytest.approx(4.0)
    rig = poise.Rig(skeleton, start, (poise.Clip.at_rate(turned, 30.0, "climb"),))
    tab = served(build_document(rig), width=1000, height=600)
    tab.answered()
    tab.pick("clip", "climb")
    tab.until_state("state.clip === 'climb'")
    tab.until("window.poise.frame.time === 0 || window.poise.state.playing")
    tab.answered()
    assert tab.get(CUT) == 0
    if not tab.state["playing"]:
        tab.click("play")
    tab.until_state("state.playing")
    for _ in range(6):
        time = tab.get("window.poise.frame.time")
        tab.until(f"Math.abs(window.poise.frame.time - {time}) > 0.2")
    assert tab.get(CUT) == 0
    middle = "(() => { const {view, actor} = window.poise.viewports[0]; view.refresh();"
    y = tab.get(f"{middle} return view.project(actor.figure.readPosition(0))[1]; }})()")
    assert 100 < y < 560
