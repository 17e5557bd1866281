"""Measures with answers worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from poise.ground.contact.contacts import Contacts
from poise.ground.report import measures
from poise.ground.report.measures import Measures, SolePaths, measures_of
from poise.maths import rotations

LEVEL = np.array([0.0, 0.0, 1.0])


def path_of(points, times, normal=LEVEL) -> SolePaths:
    """One foot whose heel, ball and tip move as points (F, 3), 0.1 m apart, on level ground through the origin."""
    spread = np.array([[0.0, 0, 0], [0.1, 0, 0], [0.2, 0, 0]])
    places = (points[:, None, :] + spread)[:, None]
    return SolePaths(times, places, places[..., 2], np.broadcast_to(normal, places.shape), places[:, :, :2, 2])


def still(times) -> SolePaths:
    return path_of(np.zeros((len(times), 3)), times)


def held_all(paths: SolePaths) -> np.ndarray:
    return np.ones((len(paths.times), 1, 2), bool)


def leg(bends, legs: int = 1) -> Any:
    """A motion whose knees bend by angles [deg] about the thigh's x axis; the thigh hangs down, 0.5 m bones."""
    angle = np.radians(bends)
    shin = np.stack([0 * angle, -np.sin(angle), -np.cos(angle)], axis=-1)  # bent the right way, the foot goes to -y
    hip = np.broadcast_to([0.0, 0, 1], shin.shape)
    knee = hip - 0.5 * LEVEL
    ankle = knee + 0.5 * shin
    places = np.stack([hip, knee, ankle, ankle, ankle], axis=1)[:, None].repeat(legs, 1)
    turns = np.broadcast_to([1.0, 0, 0, 0], (*places.shape[:2], 4, 4))
    return SimpleNamespace(places=places, turns=turns)


@pytest.mark.parametrize("fps", [24, 120])
class TestSkate:
    def test_a_foot_that_slides_at_two_centimetres_a_second(self, fps):
        times = np.arange(fps + 1) / fps
        paths = path_of(times[:, None] * [0.02, 0, 0], times)
        assert measures.skate(paths, held_all(paths)) == pytest.approx(2)
        np.testing.assert_allclose(measures.skates(paths, held_all(paths)), [[2, 2]])

    def test_only_steps_with_contact_at_both_ends_count(self, fps):
        times = np.arange(2 * fps + 1) / fps
        speed = np.where(times < 1 - 0.5 / fps, 0.02, 5.0)  # from the second on the foot is in the air
        paths = path_of(np.cumsum(np.append(0, speed[:-1] / fps))[:, None] * [1.0, 0, 0], times)
        held = np.broadcast_to((times < 1 + 0.5 / fps)[:, None, None], (len(times), 1, 2))
        assert measures.skate(paths, held) == pytest.approx(2)

    def test_up_and_down_is_no_skate_on_level_ground_but_along_a_wall_it_is(self, fps):
        times = np.arange(fps + 1) / fps
        path = times[:, None] * [0.0, 0, 0.02]
        level, wall = path_of(path, times), path_of(path, times, np.array([1.0, 0, 0]))
        assert measures.skate(level, held_all(level)) == 0
        assert measures.skate(wall, held_all(wall)) == pytest.approx(2)

    def test_a_heel_that_slides_and_a_ball_that_stands(self, fps):
        times = np.arange(fps + 1) / fps
        paths = still(times)
        paths.points[:, 0, 0, 1] = 0.04 * times
        assert measures.skate(paths, held_all(paths)) == pytest.approx(2)  # over the time of both
        np.testing.assert_allclose(measures.skates(paths, held_all(paths)), [[4, 0]], atol=1e-12)


def test_speeds_in_every_frame():
    times = np.array([0.0, 1, 2, 2, 3])
    path = np.array([0.0, 3, 5, 50, 51])[:, None] * [1.0, 0, 0]  # a cut at 2 s
    expected = np.array([3, 2.5, 2, 1, 1])[:, None, None] * np.ones((1, 1, 2))
    np.testing.assert_allclose(measures.speeds(path_of(path, times)), expected)


def test_a_slope_counts_the_way_along_it():
    times = np.arange(11) / 10
    slope = np.array([-np.sin(0.3), 0, np.cos(0.3)])
    paths = path_of(times[:, None] * [0.02 * np.cos(0.3), 0, 0.02 * np.sin(0.3)], times, slope)
    assert measures.skate(paths, held_all(paths)) == pytest.approx(2)


def test_a_cut_is_no_motion():
    times = np.array([0.0, 0.1, 0.2, 0.2, 0.3, 0.4, 9.0, 9.1])
    path = np.zeros((8, 3))
    path[3:, 0], path[6:, 0] = 5.0, -3.0
    paths = path_of(path, times)
    assert measures.skate(paths, held_all(paths)) == 0
    assert measures.slip(paths, held_all(paths)) == 0
    np.testing.assert_allclose(measures.spans(times), [0.1, 0.1, 0, 0.1, 0.1, 0, 0.1])
    assert [rows.tolist() for rows in measures.runs(np.ones(8, bool), times)] == [[0, 1, 2], [3, 4, 5], [6, 7]]


def test_slip_is_measured_from_the_median_of_each_contact():
    times = np.arange(8) / 10
    path = np.zeros((8, 3))
    path[2] = [0.004, 0, 0.009]  # one frame off: 4 mm along the ground
    path[5:] = [7.0, 7.0, 0.0]  # the next step
    paths = path_of(path, times)
    held = held_all(paths)
    held[4] = False
    assert measures.slip(paths, held) == pytest.approx(4)
    assert measures.lift(paths, held) == pytest.approx(9)


def test_a_foot_seven_millimetres_under_the_ground():
    times = np.arange(25) / 24
    paths = path_of(np.broadcast_to([0.0, 0, -0.007], (25, 3)), times)
    assert measures.penetration(paths) == pytest.approx(7)
    assert measures.integrate_depth(paths) == pytest.approx(3 * 7)  # three points for a second
    assert measures.floating(paths, np.ones((25, 1), bool)) == (0, 0)


def test_a_tip_alone_in_the_ground_counts_without_contact():
    paths = still(np.arange(3.0))
    paths.heights[2, 0, 2] = -0.003
    assert measures.penetration(paths) == pytest.approx(3)
    assert measures.integrate_depth(paths) == pytest.approx(1.5)  # a triangle, 1 s wide, that the end cuts
    assert measures.lift(paths, np.zeros((3, 1, 2), bool)) == 0


def test_floating_is_of_the_lowest_point_while_the_foot_stands():
    times = np.arange(5.0)
    paths = still(times)
    paths.heights[:] = np.array([0, 0.010, 0.004, 0.5, 0.5])[:, None, None]
    paths.heights[:, :, 0] += 0.1  # the heel is up
    largest, mean = measures.floating(paths, np.array([1, 1, 1, 0, 0], bool)[:, None])
    assert largest == pytest.approx(10)
    assert mean == pytest.approx((0.5 * 0 + 10 + 4) / 2.5)  # the first frame stands for half a step


def test_paths_are_heights_over_the_ground():
    soles = SimpleNamespace(points=lambda _: np.array([0.1, 0.2, 0.5]) * np.ones((2, 1, 3, 3)))
    ground = SimpleNamespace(sample=lambda points: (points[..., 0] + 0.3, 0 * points + LEVEL, None))
    motion: Any = SimpleNamespace(times=np.arange(2.0))
    paths = measures.paths_of(motion, soles, ground)
    np.testing.assert_allclose(paths.heights, 0.1)
    np.testing.assert_array_equal(paths.normals, np.broadcast_to(LEVEL, (2, 1, 3, 3)))


@pytest.mark.parametrize(
    ("bends", "stands", "expected"), [(0, 1, [-0.1, -0.1, -0.07]), (1, 1, [-0.1] * 3), (0, 0, [-0.1] * 3)]
)
def test_tips_of_feet_without_toes_may_be_in_the_ground_while_the_ball_stands(bends, stands, expected):
    soles = SimpleNamespace(points=lambda _: np.full((2, 1, 3, 3), -0.1))
    ground = SimpleNamespace(sample=lambda points: (np.zeros(points.shape[:-1]), 0 * points + LEVEL, None))
    motion: Any = SimpleNamespace(times=np.arange(2.0), bends=np.array([bends], dtype=bool))
    paths = measures.paths_of(motion, soles, ground, np.full((2, 1), stands, dtype=bool))
    np.testing.assert_allclose(paths.heights, np.broadcast_to(expected, (2, 1, 3)))


def test_shares_of_uneven_steps():
    np.testing.assert_allclose(measures.shares(np.array([0.0, 1, 4])), [1 / 8, 4 / 8, 3 / 8])
    np.testing.assert_allclose(measures.shares(np.array([3.0])), [1])
    assert measures.shares(np.zeros(0)).shape == (0,)


def backward(motion, axes):
    return measures.backward_bends(motion, axes).max(axis=0)


class TestKnees:
    def test_a_knee_that_bends_backwards_by_five_degrees(self):
        motion = leg([0, 20, 60, -5, 30])
        axes = measures.knee_axes(motion)
        np.testing.assert_allclose(axes, [[-1, 0, 0]], atol=1e-12)
        np.testing.assert_allclose(backward(motion, axes), [5])

    def test_the_source_says_which_way_is_forward(self):
        axes = measures.knee_axes(leg([10, 40]))
        np.testing.assert_allclose(backward(leg([-10, -40]), axes), [40])
        assert backward(leg([-10, -40]), measures.knee_axes(leg([-10, -40])))[0] == 0

    def test_the_thigh_carries_the_axis(self):
        motion, turn = leg([20, -5]), rotations.about(np.array([0.0, 0, 1]), 1.0)
        motion.turns = np.broadcast_to(turn, motion.turns.shape)
        motion.places = rotations.rotate(np.broadcast_to(turn, (*motion.places.shape[:3], 4)), motion.places)
        np.testing.assert_allclose(measures.knee_axes(motion), [[-1, 0, 0]], atol=1e-12)
        np.testing.assert_allclose(backward(motion, measures.knee_axes(motion)), [5])

    def test_a_leg_that_is_never_bent_has_no_backward(self):
        motion = leg([0.01, 0, 0.01])
        assert not measures.knee_axes(motion).any()
        assert backward(leg([-9]), measures.knee_axes(motion))[0] == 0

    def test_bones_without_length(self):
        motion = leg([10, 20])
        motion.places[:] = 0
        assert backward(motion, measures.knee_axes(motion)).tolist() == [0]


def test_knees_bend_to_either_side():
    np.testing.assert_allclose(measures.knee_bends(leg([0, 20, -35, 120]))[:, 0], [0, 20, 35, 120], atol=1e-5)


def test_toes_bend_from_where_heel_ball_and_tip_are_at_one_height():
    motion, turns = leg([0.0] * 3), np.zeros((3, 1, 4, 4))
    turns[..., :] = rotations.about(np.array([0.0, 0, 1]), 0.7)  # whichever way the leg is turned
    for frame, angle in enumerate(np.radians([50.0, 20.0, -30.0])):
        turns[frame, 0, 3] = rotations.multiply(turns[frame, 0, 2], rotations.about(np.array([1.0, 0, 0]), angle))
    motion.turns = turns
    paths = still(np.arange(3.0))
    paths.points[[0, 2], 0, 2, 2] += 0.05  # the sole is flat in the frame between
    flat = measures.flat_toes(paths, motion)
    np.testing.assert_allclose(measures.toe_bends(motion, flat)[:, 0], [30, 0, 50], atol=1e-6)


@pytest.mark.parametrize("frames", [1, 2, 30])
def test_no_contacts_and_few_frames(frames):
    times = np.arange(frames) / 30
    never = np.zeros((frames, 1), bool)
    found = measures_of(still(times), Contacts(("left",), times, never, never), leg(np.full(frames, 9.0)))
    nothing = Measures(0, np.zeros((1, 2)), 0, 0, 0, 0, 0, 0, np.zeros(1), np.full(1, 9.0), np.zeros(1), np.zeros(1))
    for name, value in vars(nothing).items():
        np.testing.assert_array_equal(getattr(found, name), value, err_msg=name)


def test_one_frame_in_contact():
    times, stands = np.zeros(1), np.ones((1, 1), bool)
    found = measures_of(still(times), Contacts(("left",), times, stands, stands), leg([9.0]))
    assert found.contact.tolist() == [1]
    assert (found.skate, found.slip, found.sunk) == (0, 0, 0)
