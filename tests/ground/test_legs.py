"""Legs: thighs and shins that bring ankles to places, compiled and uncompiled; and what joints turn by themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from poise import kernels
from poise.maths import rotations
from tests.strategies import rng_of, seeds, unit_quaternions

THIGH, SHIN = 0.42, 0.4
AXIS = np.array([-1.0, 0.0, 0.0])  # of a leg that faces +y, z up: thigh x shin when the knee is ahead
STRAIGHT = np.array([[0.0, 0.0, 0.82], [0.0, 0.0, 0.4], [0.0, 0.0, 0.0]])
BENT = np.array([[0.0, 0.0, 0.8], [0.0, 0.25, 0.8 - np.sqrt(THIGH**2 - 0.25**2)], [0.0, 0.0, 0.1]])
ROOT = Path(__file__).parent.parent.parent
PLAIN = os.environ.get("POISE_KERNELS") == "plain"
few = settings(max_examples=10 if PLAIN else 40)


def bend(leg, target, *, hip=None, axis=AXIS, most=None, length=1.0):
    """New hip, knee and ankle (3, 3) of a leg (3, 3), where the kernel says that the ankle is, and the two turns."""
    leg = np.asarray(leg, dtype=float)
    hip = leg[0] if hip is None else np.asarray(hip, dtype=float)
    places = np.concatenate([leg, leg[2:], leg[2:]])[None]
    whole = np.linalg.norm(np.diff(leg, axis=0), axis=1).sum()
    rows = [np.array([v], dtype=float) for v in (axis, hip, target, whole if most is None else most, length)]
    thigh, shin, reached = np.empty((1, 4)), np.empty((1, 4)), np.empty((1, 3))
    kernels.ground.legs.bend_all(places, *rows, thigh, shin, reached)
    knee = hip + length * rotations.rotate(thigh[0], leg[1] - leg[0])
    ankle = knee + length * rotations.rotate(shin[0], leg[2] - leg[1])
    return np.stack([hip, knee, ankle]), reached[0], np.stack([thigh[0], shin[0]])


def some_leg(seed):
    """A leg that bends the legal way, its bend axis, another hip, and a way for its ankle."""
    rng = rng_of(seed)
    turn = unit_quaternions(rng)
    thigh, shin, bent = rng.uniform(0.2, 0.6), rng.uniform(0.2, 0.6), rng.uniform(0.0, 2.5)
    down = np.array([[0, 0, -thigh], [0.0, -shin * np.sin(bent), -shin * np.cos(bent)]])
    leg = np.concatenate([[rng.normal(size=3)], np.zeros((2, 3))])
    leg[1] = leg[0] + rotations.rotate(turn, down[0])
    leg[2] = leg[1] + rotations.rotate(turn, down[1])
    way = rng.normal(size=3)
    return leg, rotations.rotate(turn, AXIS), leg[0] + 0.1 * rng.normal(size=3), way / np.linalg.norm(way)


def sizes(leg):
    return np.linalg.norm(np.diff(leg, axis=0), axis=1)


class TestReaching:
    @few
    @given(seeds, st.floats(0.02, 0.98))
    def test_the_ankle_comes_to_its_target(self, seed, share):
        leg, axis, hip, way = some_leg(seed)
        thigh, shin = sizes(leg)
        target = hip + way * (abs(thigh - shin) + share * 2 * min(thigh, shin))
        new, reached, _ = bend(leg, target, hip=hip, axis=axis)
        np.testing.assert_allclose(new[2], target, atol=1e-12)
        np.testing.assert_allclose(reached, target, atol=1e-14)

    @few
    @given(seeds, st.floats(0.0, 3.0))
    def test_bones_keep_their_lengths_and_the_ankle_is_where_it_says(self, seed, distance):
        leg, axis, hip, way = some_leg(seed)
        new, reached, turns = bend(leg, hip + way * distance, hip=hip, axis=axis, most=0.998 * sizes(leg).sum())
        np.testing.assert_allclose(np.linalg.norm(turns, axis=1), 1.0, atol=1e-12)
        np.testing.assert_allclose(sizes(new), sizes(leg), atol=1e-12)
        np.testing.assert_allclose(new[2], reached, atol=1e-8)  # straight legs: the knee is a root of what cancels

    @few
    @given(seeds, st.floats(0.0, 3.0))
    def test_the_knee_never_bends_backwards(self, seed, distance):
        leg, axis, hip, way = some_leg(seed)
        new, _, turns = bend(leg, hip + way * distance, hip=hip, axis=axis)
        knee, ankle = np.diff(new, axis=0)
        assert np.cross(knee, ankle) @ rotations.rotate(turns[0], axis) >= -1e-12

    def test_a_knee_that_is_behind_comes_forward(self):
        behind = BENT * [1.0, -1.0, 1.0]
        new, _, _ = bend(behind, behind[2])
        np.testing.assert_allclose(new[1], BENT[1], atol=1e-12)

    @few
    @given(seeds)
    def test_the_same_hip_and_target_is_no_turn(self, seed):
        leg, axis, _, _ = some_leg(seed)
        new, _, turns = bend(leg, leg[2], axis=axis)
        np.testing.assert_allclose(new, leg, atol=1e-12)
        np.testing.assert_allclose(np.abs(turns[:, 0]), 1.0, atol=1e-14)

    def test_a_knee_that_points_aside_keeps_its_side_and_bends_further_to_the_front(self):
        side = rotations.rotate(rotations.about(np.array([0.0, 0.0, 1.0]), 0.3), BENT)
        longer, _, _ = bend(side, side[2] - [0.0, 0.0, 0.05])
        shorter, _, _ = bend(side, side[2] + [0.0, 0.0, 0.05])
        assert np.arctan2(-longer[1, 0], longer[1, 1]) == pytest.approx(0.3, abs=1e-12)
        assert shorter[1, 0] == pytest.approx(side[1, 0], abs=1e-12)

    def test_beyond_the_longest_chord_it_stays_on_the_line(self):
        new, reached, _ = bend(BENT, [0.0, 3.0, 0.8], most=0.7)
        np.testing.assert_allclose(new[2], [0.0, 0.7, 0.8], atol=1e-12)
        np.testing.assert_allclose(reached, new[2], atol=1e-12)

    def test_a_longer_leg_reaches_further(self):
        new, reached, _ = bend(STRAIGHT, [0.0, 0.0, -0.0082], length=1.01)
        np.testing.assert_allclose(new[2], [0.0, 0.0, -0.0082], atol=1e-8)
        np.testing.assert_allclose(reached, [0.0, 0.0, -0.0082], atol=1e-15)
        np.testing.assert_allclose(sizes(new), [1.01 * THIGH, 1.01 * SHIN], atol=1e-12)
        bent, reached, _ = bend(BENT, [0.0, 0.1, 0.1], length=1.05)
        np.testing.assert_allclose(bent[2], [0.0, 0.1, 0.1], atol=1e-12)
        np.testing.assert_allclose(reached, bent[2], atol=1e-12)


class TestEdges:
    def test_a_straight_leg_bends_to_the_front(self):
        new, _, _ = bend(STRAIGHT, [0.0, 0.0, 0.2])
        np.testing.assert_allclose(new[2], [0.0, 0.0, 0.2], atol=1e-12)
        assert new[1, 1] > 0.2
        assert abs(new[1, 0]) < 1e-12

    def test_a_bent_leg_becomes_straight(self):
        new, _, _ = bend(BENT, BENT[0] - [0.0, 0.0, sizes(BENT).sum()])
        np.testing.assert_allclose(new[1, :2], 0.0, atol=1e-7)

    @pytest.mark.parametrize("step", [-1e-12, 0.0, 1e-12])
    def test_through_full_extension_nothing_jumps(self, step):
        at = bend(BENT, BENT[0] - [0.0, 0.0, sizes(BENT).sum() + step])[2]
        before = bend(BENT, BENT[0] - [0.0, 0.0, sizes(BENT).sum() - 1e-9])[2]
        np.testing.assert_allclose(at, before, atol=1e-4)

    def test_a_target_at_the_hip_folds_the_leg(self):
        new, reached, _ = bend(BENT, BENT[0])
        assert np.isfinite(new).all()
        np.testing.assert_allclose(new[2], reached, atol=1e-7)
        thigh, shin = sizes(BENT)
        assert np.linalg.norm(reached - BENT[0]) == pytest.approx(abs(thigh - shin), rel=1e-6)

    def test_a_leg_that_is_folded_unfolds(self):
        folded = np.array([[0.0, 0.0, 0.8], [0.0, 0.0, 0.4], [0.0, 1e-9, 0.8]])
        new, _, _ = bend(folded, [0.0, 0.0, 0.1])
        np.testing.assert_allclose(new[2], [0.0, 0.0, 0.1], atol=1e-12)

    def test_a_target_opposite_to_the_leg(self):
        new, _, _ = bend(BENT, [0.0, 0.0, 1.4])
        np.testing.assert_allclose(new[2], [0.0, 0.0, 1.4], atol=1e-12)
        np.testing.assert_allclose(sizes(new), sizes(BENT), atol=1e-12)

    @pytest.mark.parametrize("rows", [(0, 1), (1, 2), (0, 1, 2)], ids=["thigh", "shin", "both"])
    def test_bones_of_no_length(self, rows):
        leg = BENT.copy()
        leg[list(rows)] = leg[rows[0]]
        _, reached, turns = bend(leg, [0.1, 0.2, 0.3])
        assert np.isfinite(reached).all()
        np.testing.assert_allclose(np.linalg.norm(turns, axis=1), 1.0, atol=1e-12)

    @pytest.mark.parametrize("power", [-60, -20, 20, 60])
    def test_units_that_are_powers_of_two_change_no_bit(self, power):
        for leg, target in ((BENT, [0.1, 0.3, 0.3]), (STRAIGHT, [0.0, 0.0, 0.2]), (BENT, [0.0, 4.0, 0.0])):
            _, reached, turns = bend(leg, target)
            _, scaled, same = bend(np.ldexp(leg, power), np.ldexp(target, power))
            np.testing.assert_array_equal(same, turns)
            np.testing.assert_array_equal(np.ldexp(scaled, -power), reached)


@few
@given(seeds)
def test_what_a_joint_turns_by_itself_follows_from_world_rotations(seed):
    """Reference: parent and joint are turned in the world; the joint's own turn is what is left between them."""
    over, under, rests, turns = unit_quaternions(rng_of(seed), 4, 5)
    found = turns.copy()
    kernels.ground.legs.pass_turns_down(over, under, rests, found)
    o, u, rest, q = (Rotation.from_quat(v, scalar_first=True) for v in (over, under, rests, turns))
    wanted = (o * rest).inv() * (u * rest * q)
    assert (Rotation.from_quat(found, scalar_first=True).inv() * wanted).magnitude().max() < 1e-12
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-14)


def test_parts_that_turn_together_leave_the_joint_alone():
    turn, rests, turns = unit_quaternions(rng_of(3), 3, 5)
    found = turns.copy()
    kernels.ground.legs.pass_turns_down(turn, turn, rests, found)
    np.testing.assert_allclose(found, turns, atol=1e-15)


@pytest.mark.long
def test_uncompiled_all_this_holds_too():
    if PLAIN:
        pytest.skip("this is that run")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", __file__],
        env={k: v for k, v in os.environ.items() if k != "PYTEST_XDIST_WORKER"} | {"POISE_KERNELS": "plain"},
        check=False, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
