"""Bodies on two and four legs: how they lean with the ground."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

import poise
from poise import Clip, Terrain
from poise.ground.figure.figure import figure_of
from poise.ground.figure.motion import ANKLE, HIP, KNEE, motion_of
from poise.ground.legs.body import lean_of
from poise.ground.legs.write_back import leaning_poses
from poise.maths import rotations
from poise.maths.vectors import UP, normalise, project_horizontal
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


def walk_on(motion, degrees, along=1.0):
    """The feet of a walk on a slope that climbs along its way, or against it."""
    hips = motion.places[:, :, HIP].mean(axis=1)
    way = along * normalise(project_horizontal(hips[-1] - hips[0]))
    return SimpleNamespace(rise=np.tan(np.radians(degrees)) * (motion.places[:, :, ANKLE] @ way)), way


@pytest.mark.parametrize("name", ["walk_mass", "cmu_12_01_walk", "run_mass"])
@pytest.mark.parametrize("along", [1.0, -1.0])
def test_two_legs_lean_by_a_share_of_the_slope_uphill_wherever_they_go(data, name, along):
    _, clip = clip_of(data, name)
    motion = motion_of(clip, figure_of(clip))
    feet, uphill = walk_on(motion, 20.0, along)
    lean = lean_of(motion, feet)
    assert lean is not None
    top = rotations.rotate(lean.turn[1:], UP)  # one clip begins with a reference pose
    angles = np.degrees(np.arctan2(top @ uphill, top[:, 2]))  # the tangent of 20 degrees, 0.3 of it, at a walk's speed
    assert 3.5 < angles.min() <= np.median(angles) < 6.5
    across = np.degrees(np.arcsin(top @ np.cross(UP, uphill)))
    assert np.abs(across).max() < 1.0
    centre = motion.places[:, :, HIP].mean(axis=1)
    np.testing.assert_allclose(lean.of(centre[:, None])[:, 0], centre, atol=1e-12)
    head = (lean.of((centre + 0.7 * UP)[:, None])[:, 0] - centre)[1:]
    assert 1000.0 * np.abs(np.diff(head, 2, axis=0)).max() < 1.0  # [mm a frame]


def test_a_figure_leans_neither_on_level_ground_nor_along_a_slope_nor_where_it_stands(data):
    _, clip = clip_of(data, "walk_mass")
    motion = motion_of(clip, figure_of(clip))
    level, way = walk_on(motion, 0.0)
    assert lean_of(motion, level) is None
    beside = (motion.places[:, :, ANKLE] @ np.cross(UP, way)).mean(axis=0)
    assert lean_of(motion, SimpleNamespace(rise=np.tan(0.3) * np.tile(beside, (len(motion), 1)))) is None
    stands = dataclasses.replace(motion, places=np.repeat(motion.places[:1], len(motion), axis=0))
    assert lean_of(stands, walk_on(motion, 20.0)[0]) is None
    assert (
        lean_of(motion_of(Clip(clip.times[:1], clip.poses[:1]), motion.figure), SimpleNamespace(rise=np.ones((1, 2))))
        is None
    )


def test_a_reference_pose_in_front_does_not_lean(data):
    _, clip = clip_of(data, "walk_mass")
    motion = motion_of(clip, figure_of(clip))
    places = motion.places.copy()
    places[0] += [3.0, 0.0, 0.0]
    lean = lean_of(dataclasses.replace(motion, places=places), walk_on(motion, 20.0)[0])
    np.testing.assert_array_equal(lean.turn[0], rotations.IDENTITY)
    assert np.degrees(np.linalg.norm(rotations.as_vector(lean.turn[1]))) > 4.0


def test_a_body_leans_whole(data):
    rig, clip = clip_of(data, "walk_mass")
    slope = Terrain.slope(15, direction=(0, 0, 1), up="y")
    planted = poise.plant_feet(clip, slope, rig=rig)
    turned = [
        rotations.multiply(planted.poses.world[part].rotations, rotations.inverse(clip.poses.world[part].rotations))
        for part in (rig.roles.joints["hips"], rig.roles.joints["head"], rig.roles.joints["leftHand"])
    ]
    angle = np.degrees(np.linalg.norm(rotations.as_vector(turned[0]), axis=-1))
    assert 3.0 < angle.min() <= angle.max() < 5.0
    for other in turned[1:]:
        np.testing.assert_allclose(np.abs((other * turned[0]).sum(axis=-1)), 1.0, atol=1e-9)


@pytest.mark.parametrize("degrees", [-15.0, 12.0])
def test_toes_tilt_with_the_ground_and_not_with_the_body(data, degrees):
    rig, clip = clip_of(data, "walk_mass")
    planted = poise.plant_feet(clip, Terrain.slope(degrees, direction=(0, 0, 1), up="y"), rig=rig)
    angle = np.radians(degrees)
    uphill = np.array([np.cos(0.5 * angle), -np.sin(0.5 * angle), 0.0, 0.0])
    for leg, stands in zip(planted.figure.legs, planted.contacts.ball.T, strict=True):
        before, after = (one.poses.world[leg.toes].rotations for one in (planted.travelled, planted))
        turn = rotations.multiply(after, rotations.inverse(rotations.multiply(uphill, before)))
        off = np.degrees(np.linalg.norm(rotations.as_vector(turn), axis=-1))[stands]
        assert np.median(off) < 2.0


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


def test_what_is_above_the_trunk_only_goes_along(fox):
    clip, figure, motion = fox
    lean = lean_of(motion, on_slope(motion, 20.0))
    result = leaning_poses(clip.poses, figure, lean, np.zeros((len(motion), 3)))
    row, mover = clip.skeleton.index(figure.trunk), clip.skeleton.index(figure.mover)
    assert row > mover
    np.testing.assert_array_equal(result.world.rotations[:, :row], clip.poses.world.rotations[:, :row])
    moves = (result.world.positions - clip.poses.world.positions)[:, mover : row + 1]
    np.testing.assert_allclose(moves, np.repeat(moves[:, -1:], moves.shape[1], axis=1), atol=1e-9)
