"""Clips that stand on their ground already are left as they are: planting twice is planting once."""

import warnings

import numpy as np
import pytest

import poise
from poise import Clip, Terrain
from poise.ground.figure.figure import figure_of
from poise.ground.legs.write_back import moved_poses
from tests.ground.clips import clip_of, ground_of
from tests.ground.motions import load

LEFT = "it stands on this ground already, and is left as it is"
TWICE = [
    *[(name, "flat") for name in ("cmu_12_01_walk", "walk_mass", "run_mass", "woman walks")],
    *[(name, kind) for name in ("knight walks", "fox walks", "knight stabs") for kind in ("flat", "slope", "noise")],
    *[(name, kind) for name in ("robot walks", "man walks") for kind in ("flat", "slope", "stairs")],
    ("knight stands", "slope"),
    ("knight stands", "stairs"),
]


def planted_on(data, name, kind):
    """A clip on some ground, with its rig and that ground."""
    rig, clip = clip_of(data, name)
    terrain = ground_of(kind, figure_of(clip, rig=rig).up)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return poise.plant_feet(clip, terrain, rig=rig), rig, terrain


def apart(some, others):
    """How far joints of two clips are apart at most, in metres of a figure that is 1.7 m tall."""
    ways = np.linalg.norm(some.poses.world.positions - others.poses.world.positions, axis=-1)
    return ways.max() / figure_of(some).metre


@pytest.mark.parametrize(("name", "kind"), TWICE)
def test_planting_again_changes_nothing(data, name, kind):
    first, rig, terrain = planted_on(data, name, kind)
    again = poise.plant_feet(Clip(first.times, first.poses, first.name), terrain, rig=rig)
    assert apart(first, again) <= 0.002
    assert again.report.ok
    assert LEFT in again.notes


@pytest.mark.parametrize("kind", ["slope", "stairs", "noise"])
@pytest.mark.parametrize("name", ["cmu_12_01_walk", "walk_mass", "run_mass"])
def test_feet_that_roll_on_their_soles_need_no_rest_pose(data, name, kind):
    first, rig, terrain = planted_on(data, name, kind)
    again = poise.plant_feet(Clip(first.times, first.poses, first.name), terrain, rig=rig)
    np.testing.assert_array_equal(again.poses.q, first.poses.q)
    np.testing.assert_allclose(again.soles.ball, first.soles.ball, atol=1e-4)
    stood = first.contacts.any
    assert (again.contacts.any & stood).sum() > 0.6 * stood.sum()  # an end that hangs over an edge is not told


@pytest.mark.parametrize("height", [-0.3, 0.15, 1.0])
@pytest.mark.parametrize("name", ["knight in a T-pose", "knight stands"])
def test_soles_at_rest_say_how_high_its_floor_is(data, name, height):
    rig, clip = clip_of(data, name)
    level = Terrain.flat(height, up=figure_of(clip, rig=rig).up)
    first = poise.plant_feet(clip, level, rig=rig)
    assert LEFT in poise.plant_feet(Clip(first.times, first.poses), level, rig=rig).notes


@pytest.mark.parametrize(
    ("file", "name", "kind"),
    [("glb/knight_kaykit.glb", "2H_Ranged_Shooting", "stairs"), ("glb/knight_kaykit.glb", "Throw", "slope")],
)
def test_feet_at_different_heights_are_left_though_something_is_in_the_ground(data, file, name, kind):
    rig = load(data / file)
    ground = ground_of(kind, "y")
    first = poise.plant_feet(rig.clip(name), ground, rig=rig)
    again = poise.plant_feet(Clip(first.times, first.poses), ground, rig=rig)
    assert LEFT in again.notes
    assert not again.report.ok  # and it says so


@pytest.mark.parametrize("height", [-0.03, -0.004, 0.004, 0.03])
def test_a_slope_at_another_height_is_not_the_same(data, height):
    first, rig, _ = planted_on(data, "walk_mass", "slope")
    once = Clip(first.times, first.poses, first.name)
    assert LEFT not in poise.plant_feet(once, first.terrain.lift_by(height * first.figure.metre), rig=rig).notes


@pytest.mark.parametrize("name", ["cmu_12_01_walk", "walk_mass", "run_mass", "knight stabs"])
def test_locking_again_changes_nothing(data, name):
    rig, clip = clip_of(data, name)
    first = poise.lock_feet(clip, rig=rig)
    again = poise.lock_feet(Clip(first.times, first.poses, first.name), rig=rig)
    np.testing.assert_array_equal(again.poses.q, first.poses.q)
    floors = [planted.terrain.heights(np.zeros(3)) / planted.figure.metre for planted in (first, again)]
    assert floors[0] == pytest.approx(floors[1], abs=0.002)


def test_a_figure_with_high_ankles_and_no_toes_is_known_too(data):
    rig = load(data / "fbx/kenney_character.fbx")
    first = poise.plant_feet(rig.clips[0], Terrain.flat(up="y"), rig=rig)
    assert LEFT in poise.plant_feet(Clip(first.times, first.poses), Terrain.flat(up="y"), rig=rig).notes


def test_a_little_slide_on_its_own_floor_is_taken_out(data):
    rig, clip = clip_of(data, "knight stands")
    planted = poise.lock_feet(clip, rig=rig)
    assert LEFT in poise.plant_feet(clip, Terrain.flat(), rig=rig).notes  # it slides by less than 1 mm
    assert LEFT not in planted.notes
    assert LEFT in poise.lock_feet(Clip(planted.times, planted.poses), rig=rig).notes


@pytest.mark.parametrize("kind", ["flat", "slope"])
def test_from_a_file_too(data, tmp_path, kind):
    first, rig, terrain = planted_on(data, "cmu_12_01_walk", kind)
    poise.save(first, tmp_path / "walk.bvh", like=rig)
    loaded = poise.load(tmp_path / "walk.bvh")
    again = poise.plant_feet(loaded.clips[0], terrain, rig=loaded)
    assert apart(loaded.clips[0], again) <= 0.002


def test_what_is_left_stands_where_it_stood(data):
    first, rig, terrain = planted_on(data, "walk_mass", "flat")
    again = poise.plant_feet(Clip(first.times, first.poses, first.name), terrain, rig=rig)
    assert np.array_equal(again.poses.q, first.poses.q)
    assert np.abs(again.soles.ball - first.soles.ball).max() < 0.002
    stood = first.contacts.any
    assert (again.contacts.any & stood).sum() > 0.8 * stood.sum()  # a foot that rolls on its heel is not told


def test_given_back_what_was_found(data):
    first, rig, terrain = planted_on(data, "walk_mass", "flat")
    once = Clip(first.times, first.poses, first.name)
    again = poise.plant_feet(once, terrain, rig=rig)
    given = poise.plant_feet(once, terrain, rig=rig, contacts=again.contacts)
    assert np.array_equal(given.poses.q, again.poses.q)


@pytest.mark.parametrize(("slide", "rise"), [(0.05, 0.0), (0.0, 0.01), (0.0, -0.01)])
def test_what_slides_rises_or_sinks_is_planted(data, slide, rise):
    first, rig, terrain = planted_on(data, "walk_mass", "flat")
    figure, ease = figure_of(first), np.linspace(0.0, 1.0, len(first.times))
    offsets = np.stack([slide * ease, np.zeros_like(ease), rise * ease], axis=1)
    again = poise.plant_feet(Clip(first.times, moved_poses(first.poses, figure, offsets)), terrain, rig=rig)
    assert LEFT not in again.notes
    assert again.report.after.skate < 0.1


@pytest.mark.parametrize("height", [-0.08, -0.02, 0.01, 0.05])
@pytest.mark.parametrize("name", ["knight stands", "knight in a T-pose", "walk_mass", "man walks"])
def test_level_ground_at_another_height_is_not_its_own(data, name, height):
    # soles that are measured on that ground stand on it, however high it is
    rig, clip = clip_of(data, name)
    figure = figure_of(clip, rig=rig)
    first = poise.plant_feet(clip, Terrain.flat(up=figure.up), rig=rig)
    for made in (clip, Clip(first.times, first.poses, first.name)):
        other = poise.plant_feet(made, Terrain.flat(height, up=figure.up), rig=rig)
        assert LEFT not in other.notes


def test_feet_that_are_tilted_by_more_than_is_allowed_are_planted(data):
    first, rig, terrain = planted_on(data, "knight walks", "slope")
    once = Clip(first.times, first.poses, first.name)
    assert LEFT in poise.plant_feet(once, terrain, rig=rig).notes
    assert LEFT not in poise.plant_feet(once, terrain, rig=rig, steepest=np.radians(5)).notes


@pytest.mark.parametrize("name", ["Dodge_Left", "Dodge_Right"])
def test_a_figure_that_never_stands_has_the_same_soles_again(data, name):
    rig, _ = clip_of(data, "knight stands")
    first = poise.plant_feet(rig.clip(name), Terrain.flat(), rig=rig)
    again = poise.plant_feet(Clip(first.times, first.poses), Terrain.flat(), rig=rig)
    assert not first.contacts.any.any()
    assert apart(first, again) <= 0.002


@pytest.mark.parametrize("name", ["knight in a T-pose", "knight stands", "robot stands"])
def test_made_for_level_ground_it_is_planted_on_a_slope(data, name):
    # with soles that are turned with the slope any foot that keeps still would stand on it
    _, clip = clip_of(data, name)
    up = figure_of(clip).up
    steep = planted_on(data, name, "slope")[0]
    assert LEFT not in steep.notes
    assert LEFT in poise.plant_feet(clip, Terrain.flat(up=up)).notes
