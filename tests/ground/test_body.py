"""Figures on four legs: how they lean with the ground."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from poise import Clip
from poise.ground.figure.figure import figure_of
from poise.ground.figure.motion import ANKLE, HIP, KNEE, motion_of
from poise.ground.legs.body import lean_of
from poise.ground.legs.write_back import leaning_poses
from poise.maths import rotations
from tests.ground.clips import clip_of


@pytest.fixture(scope="module")
def fox(data):
    rig, clip = clip_of(data, "fox walks")
    figure = figure_of(clip, rig=rig)
    return clip, figure, motion_of(clip, figure)


def on_slope(motion, degrees):
    """Feet where they are, on ground that climbs the way the figure faces (-y)."""
    ankles = motion.places[:, :, ANKLE]
    return SimpleNamespace(ankles=ankles, rise=-np.tan(np.radians(degrees)) * ankles[..., 1])


@pytest.mark.parametrize("degrees", [-30.0, -5.0, 0.0, 12.0, 26.5])
def test_on_an_even_slope_it_leans_by_the_slope_whatever_the_feet_do(fox, degrees):
    motion = fox[2]
    hips = motion.places[:, :, HIP]
    wide = motion.places[:, :, ANKLE, 1].copy()
    assert np.ptp(wide[:, :2].mean(axis=1) - wide[:, 2:].mean(axis=1)) > 0.1  # fore and hind feet come and go
    lean = lean_of(motion, on_slope(motion, degrees))
    angle = np.degrees(rotations.as_vector(lean.turn)[:, 0])
    facing = np.sign((hips[:, 2:] - hips[:, :2])[..., 1].mean())
    np.testing.assert_allclose(np.abs(angle), abs(degrees), atol=0.2)
    front = lean.of(hips[:, :2]).mean(axis=1)[:, 2] - lean.of(hips[:, 2:]).mean(axis=1)[:, 2]
    level = (hips[:, :2].mean(axis=1) - hips[:, 2:].mean(axis=1))[:, 2]
    assert facing > 0
    assert (np.sign(front - level) == np.sign(degrees)).all() or degrees == 0.0


def test_two_legs_do_not_lean(data):
    _, clip = clip_of(data, "walk_mass")
    motion = motion_of(clip, figure_of(clip))
    assert lean_of(motion, on_slope(motion, 20.0)) is None


def test_all_that_hangs_in_the_trunk_turns_as_one_piece(fox):
    clip, figure, motion = fox
    offsets = np.linspace(0.0, 1.0, len(motion))[:, None] * [0.3, -1.0, 0.0]
    carried = motion.translate(offsets)
    moved = lean_of(carried, on_slope(motion, 20.0))
    result = leaning_poses(clip.poses, figure, moved, offsets)
    after = motion_of(Clip(clip.times, result), figure)
    np.testing.assert_allclose(after.places + offsets[:, None, None], moved.of(carried.places), atol=1e-6)
    bones = [np.linalg.norm(m.places[:, :, KNEE] - m.places[:, :, HIP], axis=-1) for m in (motion, after)]
    np.testing.assert_allclose(bones[0], bones[1], rtol=1e-9)


def test_what_is_above_the_trunk_stays(fox):
    clip, figure, motion = fox
    lean = lean_of(motion, on_slope(motion, 20.0))
    result = leaning_poses(clip.poses, figure, lean, np.zeros((len(motion), 3)))
    row = clip.skeleton.index(figure.trunk)
    assert row > clip.skeleton.index(figure.mover)
    np.testing.assert_array_equal(result.world.affine[:, :row], clip.poses.world.affine[:, :row])
