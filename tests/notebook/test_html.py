"""HTML of values for notebooks: a picture and a table, for every value that a program can hold."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import poise
from poise import notebook
from poise.io import samples
from poise.notebook.cards import CHAIN_COLOUR, METHOD_COLOURS, PATH_COLOUR, TARGET_COLOUR, format_text
from tests.contracts import values

MOST_BYTES = 128_000
HAND = [0.3, 1.2, 0.4]


@pytest.fixture(scope="module")
def rig():
    return poise.load(samples.path("humanoid.glb"))


@pytest.fixture(scope="module")
def planted(rig):
    return poise.plant_feet(rig.clips[0], poise.Terrain.heightmap(samples.path("hills.npz")), rig=rig)


@pytest.fixture(scope="module")
def comparison(rig):
    goal = poise.Position("LeftHand", np.zeros(3), root="LeftArm")
    return poise.compare(rig.rest, goal, solvers=["ccd", "fabrik", "two_bone"], effort="quick")


def build_skeleton(names, parents, offsets):
    """A skeleton of ball joints."""
    return poise.Skeleton.build(names, parents, [poise.Kind.BALL] * len(names), offsets=offsets)


def shown(value):
    """The HTML of a value as a tree; a notebook is never left without it."""
    html = value._repr_html_()
    assert html is not None
    assert len(html.encode()) <= MOST_BYTES
    assert not re.search(r"<script|https?:|\bsrc=|url\(|@import|\bon\w+=", html)  # nothing runs, nothing is fetched
    return ET.fromstring(html)  # noqa: S314  (made here)


def texts(tree):
    return [text for element in tree.iter() if element.tag != "style" for text in element.itertext()]


def rows(tree):
    return [[cell.text or "" for cell in row] for row in tree.iter("tr")]


def test_each_kind_of_value_has_a_picture_and_a_table(rig, planted, comparison):
    for value in (rig, rig.rest, rig.clips[0], planted, planted.report, comparison,
                  poise.solve(rig.rest, poise.Position("LeftHand", HAND), trace=True)):  # fmt: skip
        tree = shown(value)
        assert any(path.get("d") for path in tree.iter("path")), type(value)
        assert len(rows(tree)) > 1, type(value)


@pytest.mark.filterwarnings("ignore:.*was renamed to:DeprecationWarning")
@pytest.mark.parametrize("name", values.EVERY)
def test_every_value_of_these_kinds_is_shown(name):
    value = values.EVERY[name]()
    if hasattr(type(value), "_repr_html_") and not isinstance(value, poise.View):
        shown(value)


def test_a_result_shows_targets_errors_and_its_curve(rig):
    result = poise.solve(rig.rest, poise.Position("LeftHand", HAND, root="LeftArm"), solver="ccd", trace=True)
    tree = shown(result)
    assert result.message() in texts(tree)
    assert ["Position", "LeftHand", result.length(result.error), ""] in rows(tree)
    assert ["iterations", str(result.iterations)] in rows(tree)
    kinds = [element.get("class") for element in tree.iter()]
    assert {"target", "limb", "was", "error", "level", "tip"} <= set(kinds)
    untraced = shown(poise.solve(rig.rest, poise.Position("LeftHand", HAND, root="LeftArm"), solver="ccd"))
    assert "error" not in [element.get("class") for element in untraced.iter()]


def test_targets_stand_where_the_tip_ends(rig):
    tree = shown(poise.solve(rig.rest, poise.Position("LeftHand", HAND, root="LeftArm")).require())
    ring = next(element for element in tree.iter("circle") if element.get("class") == "target")
    gap = next(element for element in tree.iter("path") if element.get("class") == "gap")
    numbers = [float(number) for number in re.findall(r"[\d.]+", gap.get("d"))]
    np.testing.assert_allclose(numbers, [float(ring.get("cx")), float(ring.get("cy"))] * 2, atol=0.2)


def test_a_target_in_the_frame_of_a_joint_is_not_drawn_in_the_world(rig):
    goal = poise.Position("LeftHand", [0.0, 0.2, 0.2], relative_to="Hips")
    tree = shown(poise.solve(rig.rest, goal))
    assert "target" not in [element.get("class") for element in tree.iter()]


def test_a_batch_says_how_many_are_left_out(rig):
    targets = np.random.default_rng(0).normal(loc=[0, 1, 0], size=(20_000, 3))
    batch = poise.solve(rig.rest, poise.Position("LeftHand", targets, root="LeftArm"), solver="two_bone")
    tree = shown(batch)
    assert "and 19,990 more problems" in texts(tree)
    assert "The first 4; 19,996 more poses" in texts(tree)
    assert any(f"{int(batch.reached.sum()):,} of 20,000 reached" in text for text in texts(tree))


def long_rig(count):
    """A rig of many joints: a comb of chains."""
    names = [f"{'bone ' * 60}{i}" for i in range(count)]
    parents = [-1, *(0 if i % 50 == 1 else i - 1 for i in range(1, count))]
    offsets = np.random.default_rng(1).normal(size=(count, 3))
    skeleton = build_skeleton(names, parents, offsets)
    return poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q), notes=("note " * 500,) * 50)


def test_a_huge_rig_is_shown_in_part():
    rig = long_rig(5_000)
    tree = shown(rig)
    assert "and 4,994 more joints" in texts(tree)
    assert "Left out: 3,999 short bones" in texts(tree)
    assert "and 44 more notes" in texts(tree)
    result = poise.solve(rig.rest, poise.Position(rig.skeleton.names[-1], [1, 2, 3]), solver="ccd", trace=True)
    assert "Left out" in " ".join(texts(shown(result)))


def test_names_are_escaped():
    name = "<script>alert('1')</script>&\"\x1b[31m"
    skeleton = build_skeleton(["root", name, "tip"], [-1, 0, 1], np.eye(3))
    rig = poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q), notes=(name,))
    result = poise.solve(rig.rest, poise.Position("tip", [0, 1, 1]))
    for value in (rig, rig.rest, result, poise.Clip(np.zeros(1), poise.Pose(skeleton, rig.rest.q[None]), name)):
        html = value._repr_html_()
        assert "<script>" not in html
        assert "\x1b" not in html
        ET.fromstring(html)  # noqa: S314  (made here)
    assert "&lt;script&gt;" in rig._repr_html_()
    assert format_text("a" * 200) == "a" * 119 + "\N{HORIZONTAL ELLIPSIS}"


class TestDegenerate:
    """Values that no picture can be made of are shown all the same."""

    def test_positions_that_are_not_finite(self, rig):
        for number in (np.nan, np.inf, 1e300):
            skeleton = rig.skeleton
            q = np.full(skeleton.nq, number)
            pose = poise.Pose.make_unchecked(skeleton, q, None, None)
            with np.errstate(all="ignore"):
                shown(pose)
        assert any("not finite" in text for text in texts(shown(pose)))

    @pytest.mark.parametrize("number", [1e308, -1e308, 1e200])
    def test_positions_that_are_too_far_away(self, rig, number):
        skeleton = rig.skeleton.with_free_root()
        q = skeleton.rest_q.copy()
        q[0] = number
        for value in (poise.Pose(skeleton, q), poise.Pose(skeleton, np.stack([skeleton.rest_q, q]))):
            assert any("No picture" in text for text in texts(shown(value)))

    def test_a_skeleton_without_extent(self):
        skeleton = build_skeleton(["a", "b"], [-1, 0], np.zeros((2, 3)))
        pose = poise.Pose(skeleton, skeleton.rest_q)
        shown(poise.Rig(skeleton, pose))
        shown(poise.solve(pose, poise.Position("b", [0, 0, 0])))
        shown(poise.solve(pose, poise.Position("b", [1, 0, 0]), trace=True))

    def test_one_joint(self):
        skeleton = build_skeleton(["a"], [-1], np.zeros((1, 3)))
        shown(poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q)))

    def test_nothing_in_a_batch_or_clip(self, rig):
        nothing = poise.Pose(rig.skeleton, np.empty((0, rig.skeleton.nq)))
        assert "The batch has no poses." in texts(shown(nothing))
        assert "The clip has no frames." in texts(shown(poise.Clip(np.empty(0), nothing)))
        goal = poise.Position("LeftHand", np.empty((0, 3)), root="LeftArm")
        assert any("0 of 0 reached" in text for text in texts(shown(poise.solve(rig.rest, goal))))

    def test_goals_without_a_target(self, rig):
        goals = [poise.Near(rig.rest), poise.Balance(masses=poise.masses(rig)), poise.Pin("LeftFoot")]
        shown(poise.solve(rig.rest, goals))

    def test_methods_that_refuse(self, rig):
        goal = poise.Place("LeftHand", HAND, [1, 0, 0, 0], root="LeftArm")
        tree = shown(poise.compare(rig.rest, goal, solvers=["fabrik"], effort="quick"))
        assert "No method takes this task." in texts(tree)

    def test_a_mistake_of_ours_is_no_exception(self, rig, monkeypatch):
        def fail(_):
            raise RuntimeError

        monkeypatch.setattr(notebook, "_FORMATTERS", ((poise.Rig, fail),))
        assert rig._repr_html_() is None  # a notebook then shows the text


@pytest.mark.long
def test_matplotlib_is_not_needed():
    program = """
import sys; sys.modules["matplotlib"] = None
import poise; from poise.io import samples
rig = poise.load(samples.path("humanoid.glb"))
assert "path" in poise.solve(rig.rest, poise.Position("LeftHand", [0.3, 1.2, 0.4]), trace=True)._repr_html_()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def luminance(colour):
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return float(
        np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]
    )


@pytest.mark.parametrize("paper", ["#ffffff", "#111111", "#1e1e1e"])
def test_colours_are_readable_on_light_and_dark_paper(paper):
    for colour in (CHAIN_COLOUR, TARGET_COLOUR, PATH_COLOUR, *METHOD_COLOURS):
        low, high = sorted((luminance(colour), luminance(paper)))
        assert (high + 0.05) / (low + 0.05) >= 3.0, colour


def test_no_other_colour_is_in_a_card(rig, planted, comparison):
    """What has no colour of its own has that of the page, light or dark."""
    allowed = {CHAIN_COLOUR, TARGET_COLOUR, PATH_COLOUR, *METHOD_COLOURS}
    for value in (rig, planted, comparison):
        assert set(re.findall(r"#[\da-fA-F]{3,8}\b", value._repr_html_())) <= allowed


def test_the_same_value_is_shown_alike(rig):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rig._repr_html_() == rig._repr_html_()
