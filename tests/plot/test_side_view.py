"""The view from the side: straight where a figure goes straight on, unrolled where its way turns."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import plot
from poise.ground.figure.figure import figure_of
from poise.ground.figure.motion import HIP, Motion, motion_of
from poise.io import samples
from poise.plot.planted_feet import StraightView, UnrolledView, choose_side_view


@pytest.fixture(scope="module")
def planted() -> poise.Planted:
    rig = poise.load(samples.path("humanoid.bvh"))
    return poise.plant_feet(rig.clips[0], poise.Terrain.flat(), rig=rig)


@pytest.fixture(scope="module")
def motion(planted) -> Motion:
    return motion_of(planted, figure_of(planted))


def sent(motion: Motion, hips: np.ndarray) -> Motion:
    """The motion with the middle of its hips at places (F, 2), level."""
    offsets = np.zeros((len(motion), 3))
    offsets[:, :2] = hips - motion.places[:, :, HIP, :2].mean(axis=1)
    return motion.translate(offsets)


def way(kind: str, frames: int) -> np.ndarray:
    share = np.linspace(0, 1, frames)
    if kind == "circle":
        return np.stack([1 - np.cos(2 * np.pi * share), np.sin(2 * np.pi * share)], axis=-1)
    there = 1 - np.abs(2 * share - 1) if kind == "back" else share
    return np.stack([0.0 * there, 3.0 * there], axis=-1)


def test_a_straight_walk_is_visible_as_it_is(motion):
    view = choose_side_view(sent(motion, way("straight", len(motion))))
    assert isinstance(view, StraightView)
    np.testing.assert_allclose(view.direction, [0, 1], atol=1e-12)
    observed = view.project_points(motion.places[view.frames])
    np.testing.assert_array_equal(observed[..., 1], motion.places[view.frames][..., 2])


def test_who_sways_on_the_spot_has_no_way(motion):
    sway = 0.05 * np.sin(np.linspace(0, 60, len(motion)))
    assert isinstance(choose_side_view(sent(motion, np.stack([sway, 0 * sway], axis=-1))), StraightView)


@pytest.mark.parametrize(("kind", "length"), [("circle", 2 * np.pi), ("back", 6.0)])
def test_a_way_that_turns_is_unrolled(motion, kind, length):
    turning = sent(motion, way(kind, len(motion)))
    view = choose_side_view(turning)
    assert isinstance(view, UnrolledView)
    assert (np.diff(view.distances) >= 0).all()
    assert view.distances[-1] == pytest.approx(length, rel=0.1)
    hips = view.project_points(turning.places[view.frames])[:, :, HIP, 0].mean(axis=1)
    assert (np.diff(hips) > 0.2).all()  # no figure over another
    places = view.find_ground_points(turning, hips)
    assert np.linalg.norm(places - turning.places[view.frames][:, :, HIP, :2].swapaxes(0, 1), axis=-1).max() < 0.4


def test_the_profile_goes_up_and_down_again_below_who_comes_back(motion):
    back = choose_side_view(sent(motion, way("back", len(motion))))
    along = np.linspace(0.0, back.distances[-1], 50)
    there = back.find_ground_points(motion, along)[..., 1].mean(axis=0)
    assert there.argmax() == pytest.approx(25, abs=3)
    assert there.max() == pytest.approx(3, abs=0.3)


def test_the_picture_says_that_it_is_unrolled(planted, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("matplotlib").rcParams, "svg.fonttype", "none")  # words as words
    q = np.array(planted.source.poses.q)
    q[:, [0, 2]] += 2 * way("circle", len(q))
    turning = poise.Clip(planted.source.times, poise.Pose(planted.skeleton, q), "round")
    for name, clip in (("round", turning), ("straight", planted.source)):
        made = poise.plant_feet(clip, poise.Terrain.noise(0.05), in_place="keep")
        plot.draw_feet(made, tmp_path / f"{name}.svg")
    assert ">along the unrolled path [m]</text>" in (tmp_path / "round.svg").read_text()
    assert ">along the path [m]</text>" in (tmp_path / "straight.svg").read_text()
