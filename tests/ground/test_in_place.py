from __future__ import annotations

import numpy as np
import pytest

from poise.ground.contact import in_place as module
from poise.ground.contact.in_place import add_travel, in_place
from poise.ground.figure.motion import BALL
from tests.ground.motions import load, motion, moved, path

KNIGHT, ROBOT, FOX, FOXES = "knight_kaykit.glb", "robot_quaternius.glb", "fox.glb", "fox_anims_m2m.glb"
MOVING = {"Walking_A", "Walking_B", "Walking_C", "Walking_Backwards", "Running_A", "Running_B", "Running_Strafe_Left"}
MOVING |= {"Running_Strafe_Right", "Robot_Walking", "Robot_Running", "Walk", "Run", "Sneak"}


def treadmill(fps, speed=1.2, cycle=1.0, seconds=3.0):
    """Each foot goes back with the ground for 60 % of the cycle, then forward in an arc."""

    def foot(phase):
        share = (np.arange(round(seconds * fps)) / fps / cycle + phase) % 1.0
        swing = np.clip((share - 0.6) / 0.4, 0.0, 1.0)
        back = speed * cycle * np.minimum(share, 0.6)
        there = back - 0.6 * speed * cycle * (swing - np.sin(2 * np.pi * swing) / (2 * np.pi))
        return path(len(share), y=there, z=0.1 * np.sin(np.pi * swing) ** 2)

    return moved(foot(0.0), foot(0.5), fps)


@pytest.mark.parametrize("fps", [24.0, 30.0, 60.0, 120.0])
@pytest.mark.parametrize("speed", [0.5, 1.2, 3.0])
def test_the_speed_of_a_treadmill(fps, speed):
    np.testing.assert_allclose(in_place(treadmill(fps, speed)), [0.0, speed], atol=0.02 * speed)


def test_a_walk_that_travels_is_not_in_place():
    there, offsets = add_travel(treadmill(60.0), np.array([0.0, 1.2]))
    np.testing.assert_array_equal(offsets[0], 0.0)
    np.testing.assert_allclose(offsets[-1], [0.0, -1.2 * there.times[-1], 0.0])
    assert in_place(there) is None


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_walk_that_travels_while_its_feet_slide_is_not_in_place(share):
    """Hips and feet that drift on the whole by more than three tenths of the speed of the ground."""
    walk = treadmill(60.0, seconds=4.0)
    drift = np.zeros((len(walk), 3))
    drift[:, 1] = share * 1.2 * walk.times
    assert (in_place(walk.translate(drift)) is None) == (share > 0.3)
    assert module._loops(walk.translate(drift), np.array([0.0, 1.2])) == (share < 0.3)


@pytest.mark.parametrize("file", [KNIGHT, ROBOT, FOX, FOXES])
def test_of_the_clips_of_a_game_those_that_walk_and_run_are_in_place(data, file):
    names = [clip.name for clip in load(data / "glb" / file).clips]
    for clip in {*names[::4], *(MOVING & set(names))}:
        found = in_place(motion(data / "glb" / file, clip))
        assert (found is not None) == (clip in MOVING), clip


@pytest.mark.parametrize("clip", ["cmu_12_01_walk", "walk_mass", "run_mass", "jumping_jacks_cmu1", "mocapbank"])
def test_captured_clips_travel_or_stand(data, clip):
    assert in_place(motion(data / f"bvh/{clip}.bvh")) is None


def test_directions_of_walks_in_place(data):
    """The knight faces -y of the ground's frame (the file's +z), its left is +x."""
    forward, back = (in_place(motion(data / "glb" / KNIGHT, clip)) for clip in ("Walking_A", "Walking_Backwards"))
    left, right = (in_place(motion(data / "glb" / KNIGHT, f"Running_Strafe_{side}")) for side in ("Left", "Right"))
    assert forward[1] > 1.0
    assert back[1] < -1.0
    assert left[0] < -1.0 < 1.0 < right[0]


def test_a_short_walk_with_z_up(data):
    there = motion(data / "bvh/walk_makehuman_zup.bvh")
    velocity = in_place(there)
    assert 2.0 < velocity[1] < 3.5
    still, _ = add_travel(there, velocity)
    low = still.places[:, :, BALL, 2] < still.places[:, :, BALL, 2].min(axis=0) + 0.02
    speed = np.abs(np.gradient(still.places[:, :, BALL, 1], still.times, axis=0))
    assert np.median(speed[low]) < 0.2 * velocity[1]


@pytest.mark.parametrize("height", [0.0, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("rise", [0.0, 0.25, 0.5, 1.5])
def test_a_foot_counts_by_how_low_it_is_and_how_level_it_moves(height, rise):
    """1 / (1 + h^4) / (1 + r^2): heights in 2.5 cm above the lowest, rises in 0.5 m/s."""
    times = np.arange(60) / 60
    z = np.where(times < 0.3, 0.0, height * 0.025 + 0.5 * rise * np.maximum(times - 0.7, 0.0))
    _, weights = module._low_feet(moved(path(60, z=z), path(60)))
    middle = 42 + 8
    at = (z[middle] / 0.025) ** 4
    np.testing.assert_allclose(weights[middle] / weights[5], [1 / (1 + at) / (1 + rise**2), 1.0], rtol=1e-9)


@pytest.mark.parametrize("frames", [1, 2, 30])
def test_what_stands_is_not_in_place(frames):
    assert in_place(moved(path(frames), path(frames))) is None
    assert in_place(moved(path(frames), path(frames), times=np.zeros(frames))) is None


def test_a_slide_of_both_feet_is_no_walk():
    slide = path(60, y=np.linspace(0.0, 1.0, 60))
    assert in_place(moved(slide, slide)) is None
