"""Leg moves: points of legs against forward kinematics, derivatives against differences of points."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import pytest
from hypothesis import given, settings

from poise import kernels
from poise.ground.figure.motion import ANKLE, BALL, END, FOOT, HIP, KNEE
from poise.ground.legs.legs import bend_axes, bend_legs, knees_of
from poise.kernels.ground.leg_moves import ARM_M, POINTS, ROWS, UNKNOWNS
from poise.maths import rotations
from tests.ground.feet import SOLES, feet_of, standing
from tests.strategies import rng_of, seeds, unit_quaternions

PLAIN = os.environ.get("POISE_KERNELS") == "plain"
FEW = settings(max_examples=5 if PLAIN else 25, deadline=None)
FRAMES = 6
STEP_M = 1e-6


def make_legs(seed):
    """Make a motion of bent legs whose feet are turned, their unknowns (F, L, 6), and axes across the feet."""
    rng = rng_of(seed)
    motion = standing(FRAMES)
    places, turns = motion.places.copy(), motion.turns.copy()
    places[:, :, HIP] += rng.uniform([-0.05, -0.05, -0.15], [0.05, 0.05, -0.05], (FRAMES, 2, 3))
    places[:, :, KNEE] = bend_knees(places[:, :, HIP], places[:, :, ANKLE])
    turns[:, :, FOOT:] = rotations.slerp(turns[:, :, FOOT:], unit_quaternions(rng, FRAMES, 2, 2), 0.1)
    unknowns = rng.uniform(-0.03, 0.03, (FRAMES, 2, UNKNOWNS))
    unknowns[..., 0] = unknowns[:, :1, 0]
    across = rng.normal(size=(FRAMES, 2, 3)) * [1.0, 1.0, 0.0]
    across /= np.linalg.norm(across, axis=-1, keepdims=True)
    return dataclasses.replace(motion, places=places, turns=turns), unknowns, across


def bend_knees(hips, ankles):
    """Place knees (..., 3) 0.4 m from hips and ankles, to the front."""
    chord = ankles - hips
    front = np.array([0.0, -1.0, 0.0]) - chord * (-chord[..., 1:2] / (chord**2).sum(axis=-1, keepdims=True))
    front /= np.linalg.norm(front, axis=-1, keepdims=True)
    return hips + 0.5 * chord + front * np.sqrt(np.maximum(0.4**2 - 0.25 * (chord**2).sum(axis=-1, keepdims=True), 0.0))


def list_arms(motion):
    """List the ways (F, L, 3, 3) from ball to ankle, on to the joint of the toes, and to their end."""
    places = motion.places
    ball = rotations.rotate(motion.turns[:, :, FOOT], np.broadcast_to(SOLES.ball, places[:, :, 0].shape))
    return np.ascontiguousarray(
        np.stack([-ball, places[:, :, BALL] - places[:, :, ANKLE], places[:, :, END] - places[:, :, BALL]], axis=2)
    )


def move(motion, unknowns, across, *, length=1.0, longest=0.8):
    """Move legs by the kernels; return points (F, L, 5, 3) and slopes (F, L, 5, 3, 6)."""
    found, points, ankles = (np.full(shape, np.nan) for shape in ((FRAMES, 10, 3), (FRAMES, 3, 2, 3), (FRAMES, 2, 3)))
    slopes, row_slopes = np.full((*found.shape, UNKNOWNS), np.nan), np.full((FRAMES, 2 * ROWS, UNKNOWNS), np.nan)
    arms, bends = list_arms(motion), np.ones((FRAMES, 2), dtype=np.bool_)
    soles = np.broadcast_to([SOLES.heel, SOLES.ball, SOLES.tip], (FRAMES, 3, *SOLES.heel.shape)).copy()
    legs = (
        motion.places, bend_axes(motion, SOLES), np.zeros(FRAMES), motion.places[:, :, ANKLE] - arms[:, :, 0], across,
        arms, np.full((FRAMES, 2), longest), np.full((FRAMES, 2), length),
    )  # fmt: skip
    values = np.concatenate([unknowns[:, :1, 0], unknowns[:, :, 1:].reshape(FRAMES, -1)], axis=1)
    kernels.ground.leg_moves.place_points(*legs, soles, bends, values, found, points, ankles)
    tilts = np.zeros((FRAMES, 3, 2, 2))
    kernels.ground.leg_moves.differentiate_moves(*legs, bends, values, points, tilts, slopes, row_slopes)
    assert np.isfinite(points).all()
    assert np.isfinite(row_slopes).all()
    return found.reshape(FRAMES, 2, POINTS, 3), slopes.reshape(FRAMES, 2, POINTS, 3, UNKNOWNS)


@FEW
@given(seeds)
def test_points_are_where_forward_kinematics_has_them(seed):
    motion, unknowns, across = make_legs(seed)
    found, _ = move(motion, unknowns, across)
    heel, toe = (rotations.about(axis, unknowns[..., k] / ARM_M) for k, axis in ((4, across), (5, -across)))
    arms = list_arms(motion)
    ankles = motion.places[:, :, ANKLE] - arms[:, :, 0] + unknowns[..., 1:4] + rotations.rotate(heel, arms[:, :, 0])
    feet = dataclasses.replace(feet_of(motion), ankles=ankles)
    up = unknowns[:, 0, 0]
    hips = motion.places[:, :, HIP] + up[:, None, None] * [0.0, 0.0, 1.0]
    legs = bend_legs(motion, bend_axes(motion, SOLES), feet, up, hips, np.full((FRAMES, 2), 0.8), 0.0)
    balls = legs.ankles + rotations.rotate(heel, arms[:, :, 1])
    ends = balls + rotations.rotate(toe, arms[:, :, 2])
    wanted = np.stack([hips, knees_of(motion, legs), legs.ankles, balls, ends], axis=2)
    np.testing.assert_allclose(found[:, :, [HIP, KNEE, ANKLE, BALL, END]], wanted, atol=1e-12)


@FEW
@given(seeds)
def test_slopes_are_differences_of_points(seed):
    motion, unknowns, across = make_legs(seed)
    _, slopes = move(motion, unknowns, across, length=1.02, longest=2.0)
    for k in range(UNKNOWNS):
        there, here = (
            move(motion, unknowns + sign * STEP_M * np.eye(UNKNOWNS)[k], across, length=1.02, longest=2.0)[0]
            for sign in (1.0, -1.0)
        )
        np.testing.assert_allclose(slopes[..., k], (there - here) / (2.0 * STEP_M), atol=1e-4)


def test_no_move_leaves_points_where_they_are():
    motion, unknowns, across = make_legs(1)
    found, _ = move(motion, np.zeros_like(unknowns), across)
    np.testing.assert_allclose(found, motion.places, atol=1e-12)


def test_heels_and_toes_go_up_by_as_much_as_their_unknowns_say():
    motion = standing(FRAMES)
    across = np.broadcast_to([1.0, 0.0, 0.0], (FRAMES, 2, 3)).copy()
    _, slopes = move(motion, np.zeros((FRAMES, 2, UNKNOWNS)), across)
    # The ankle is 0.15 m behind the ball, the end of the toes 0.05 m in front of their joint.
    np.testing.assert_allclose(slopes[:, :, 2, 2, 4], 0.15 / ARM_M, atol=1e-3)
    np.testing.assert_allclose(slopes[:, :, 4, 2, 5], 0.05 / ARM_M, atol=1e-3)


@pytest.mark.parametrize("chord", [0.8, 0.8 - 1e-9, 0.0, 1.5])
def test_straight_folded_and_short_legs_have_finite_slopes(chord):
    motion = standing(FRAMES)
    across = np.broadcast_to([1.0, 0.0, 0.0], (FRAMES, 2, 3)).copy()
    unknowns = np.zeros((FRAMES, 2, UNKNOWNS))
    unknowns[..., 3] = 0.8 - chord
    found, slopes = move(motion, unknowns, across, length=1.02, longest=2.0)
    assert np.isfinite(found).all()
    assert np.isfinite(slopes).all()
    if chord > 0.0:
        assert np.abs(slopes).max() < 10.0  # bones that are 2 % longer leave no knee of endless speed


def test_a_shin_of_no_length_follows_its_knee():
    motion = standing(FRAMES)
    places = motion.places.copy()
    places[:, :, ANKLE] = places[:, :, KNEE]
    across = np.broadcast_to([1.0, 0.0, 0.0], (FRAMES, 2, 3)).copy()
    found, slopes = move(dataclasses.replace(motion, places=places), np.full((FRAMES, 2, UNKNOWNS), 0.01), across)
    assert np.isfinite(found).all()
    assert np.isfinite(slopes).all()
