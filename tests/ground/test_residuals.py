"""Residuals: rows and changes of step against differences, and what each row forbids."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from poise import Terrain
from poise.ground.figure.footing import Footing
from poise.ground.trajectory.leg_problem import BALL, BEND, FOLD, HEEL, REACH, TIP
from poise.ground.trajectory.residuals import (
    differentiate_residuals,
    find_plane,
    measure_residuals,
    sample_ground,
    weigh_pops,
)
from poise.kernels.ground.leg_moves import ARM_M, POINTS, ROWS, UNKNOWNS
from tests.ground.feet import footing_of
from tests.ground.leg_problems import crouching, list_contacts, place, pose
from tests.ground.motions import two_legs
from tests.strategies import rng_of, seeds

FRAMES, LEGS = 6, 2
STEP_M = 1e-5
STEEP = 20.0  # change of step of a knee per move of its ankle: less than 3 % of the thigh from straight
GROUNDS = {
    "flat": Footing(Terrain.flat(up="z"), two_legs()),
    "slope": Footing(Terrain.slope(15, up="z"), two_legs()),
    "tilted function": footing_of(lambda x, y: 0.3 * x - 0.2 * y),
    "hills": footing_of(lambda x, y: 0.02 * np.sin(3.0 * x) * np.cos(2.0 * y)),
}


def make_try(seed, ground="flat", *, toes=True):
    """Make a problem of feet in the air, and values (F, K) that take them into the ground and past their reach."""
    rng = rng_of(seed)
    motion = crouching(FRAMES, toes=toes)
    feet = place(motion, rng.uniform(-0.05, 0.02, (FRAMES, LEGS, 3)))
    air = list_contacts(motion, heel=False, ball=False)
    problem = pose(motion, GROUNDS[ground], feet=feet, contacts=air)
    problem = dataclasses.replace(problem, bend=rng.uniform(-0.2, 0.2, (FRAMES, LEGS)))
    return problem, rng.uniform(-0.03, 0.03, problem.free.shape)


def differentiate(problem, values, leg, unknown):
    """Differentiate rows (F, R) and changes (F, P, 3) by an unknown of a leg, as differences tell."""
    step = np.zeros(values.shape)
    step[:, problem.columns[leg, unknown]] = STEP_M
    there, here = (measure_residuals(problem, values + sign * step) for sign in (1.0, -1.0))
    return (there.rows - here.rows) / (2.0 * STEP_M), (there.changes - here.changes) / (2.0 * STEP_M)


@pytest.mark.parametrize("toes", [True, False])
@pytest.mark.parametrize(
    ("ground", "error"), [("flat", 0.01), ("slope", 0.01), ("tilted function", 0.01), ("hills", 0.05)]
)
@settings(max_examples=4)
@given(seeds)
def test_slopes_of_rows_are_differences(ground, error, toes, seed):
    problem, values = make_try(seed, ground, toes=toes)
    tried = measure_residuals(problem, values)
    _, slopes = differentiate_residuals(problem, tried)
    found = {(leg, k): differentiate(problem, values, leg, k) for leg in range(LEGS) for k in range(UNKNOWNS)}
    assume(max(np.abs(changes).max() for _, changes in found.values()) < STEEP)  # beyond it slopes are bounded
    for leg in range(LEGS):
        for k in range(UNKNOWNS):
            wanted, _ = found[leg, k]
            own = np.zeros(tried.rows.shape)
            rows = slice(None) if k == 0 else slice(leg * ROWS, (leg + 1) * ROWS)  # the pelvis carries both legs
            own[:, rows] = slopes[:, rows, k]
            np.testing.assert_allclose(own, wanted, atol=error * 5e4)


@settings(max_examples=10)
@given(seeds)
def test_slopes_of_points_give_changes_of_step(seed):
    problem, values = make_try(seed)
    tried = measure_residuals(problem, values)
    slopes, _ = differentiate_residuals(problem, tried)
    pairs = [(leg, k) for leg in range(LEGS) for k in range(UNKNOWNS)]
    found = {(leg, k): differentiate(problem, values, leg, k)[1] for leg, k in pairs}
    assume(max(np.abs(wanted).max() for wanted in found.values()) < STEEP)  # beyond it slopes are bounded
    for (leg, k), wanted in found.items():
        own = np.zeros(tried.changes.shape)
        points = slice(None) if k == 0 else slice(leg * POINTS, (leg + 1) * POINTS)
        own[:, points] = slopes[:, points, :, k]
        np.testing.assert_allclose(np.diff(own, 2, axis=0), wanted[1:-1], rtol=1e-3, atol=1e-3)


@settings(max_examples=10)
@given(seeds, st.sampled_from(sorted(GROUNDS)))
def test_the_cost_is_that_of_all_terms(seed, ground):
    problem, values = make_try(seed, ground)
    tried = measure_residuals(problem, values)
    total = (problem.point_weights[..., None] * tried.changes**2).sum()
    total += (np.maximum(tried.rows, 0.0) ** 2).sum() + (problem.value_weights * values**2).sum()
    assert tried.cost.sum() == pytest.approx(0.5 * total)


def find_rows(problem, **changes):
    """Find which rows (L, 7) of the middle frame are violated after moves of all frames."""
    values = np.zeros((FRAMES, 1 + 5 * LEGS))
    for name, value in changes.items():
        column = {"pelvis": 0, "up": 3, "heel": 4, "toes": 5}[name]
        values[:, problem.columns[0, column]] = value
    return measure_residuals(problem, values).rows[FRAMES // 2].reshape(LEGS, ROWS) > 0.0


class TestRows:
    @pytest.fixture
    def problem(self):
        motion = crouching(FRAMES)
        return pose(motion, GROUNDS["flat"], contacts=list_contacts(motion, heel=False, ball=False))

    def test_where_nothing_moves_none_is_violated(self, problem):
        assert not find_rows(problem).any()

    def test_a_pelvis_that_is_too_high_is_out_of_reach_of_both_feet(self, problem):
        found = find_rows(problem, pelvis=0.045)
        assert found[:, REACH].all()
        assert found.sum() == LEGS

    def test_a_foot_that_comes_near_to_its_hip_folds_its_leg(self, problem):
        found = find_rows(problem, up=0.6)
        assert np.argwhere(found).tolist() == [[0, FOLD]]

    def test_a_foot_in_the_ground(self, problem):
        found = find_rows(problem, up=-0.01)
        assert found[0, HEEL : TIP + 1].all()
        assert not found[1].any()

    def test_a_heel_that_goes_down_and_one_that_goes_up(self, problem):
        assert find_rows(problem, heel=-0.02)[0, [HEEL, BALL]].tolist() == [True, False]
        assert not find_rows(problem, heel=0.02)[0, HEEL]

    def test_toes_that_go_down(self, problem):
        assert np.argwhere(find_rows(problem, toes=-0.03)).tolist() == [[0, TIP]]

    def test_toes_that_bend_too_far(self, problem):
        assert np.argwhere(find_rows(problem, toes=ARM_M * np.radians(80.0))).tolist() == [[0, BEND]]
        assert not find_rows(problem, toes=ARM_M * np.radians(20.0)).any()


class TestGround:
    POINTS = np.array([[0.0, 0.0, 0.0], [0.015, 0.2, 0.01], [0.3, -0.1, 0.0]])

    def raise_points(self, height):
        return np.column_stack([self.POINTS[:, :2], self.POINTS[:, 2] + height])

    def test_heights_and_slopes_of_a_plane(self):
        plane = GROUNDS["tilted function"]
        ground, tilts = sample_ground(plane, self.raise_points(-0.2), find_plane(plane))
        np.testing.assert_allclose(ground, plane.heights(self.POINTS), atol=1e-12)
        np.testing.assert_allclose(tilts, [[0.3, -0.2]] * 3, atol=1e-9)

    def test_near_to_a_riser_the_ground_is_as_high_as_behind_it(self):
        step = footing_of(lambda x, y: 0.2 * (x > 0.0) + 0.0 * y)
        points = np.array([[-0.05, 0.0, 0.0], [-0.005, 0.0, 0.0], [0.005, 0.0, 0.0]])
        ground, tilts = sample_ground(step, points, None)
        np.testing.assert_allclose(ground, [0.0, 0.2, 0.2])
        assert tilts[0, 0] == 0.0
        assert (tilts[1:, 0] == 3.0).all()  # as steep as any ground counts


@pytest.mark.parametrize("legs", [1, 2, 4])
def test_each_leg_has_the_pelvis_and_unknowns_of_its_own(legs):
    problem, _ = make_try(0)
    unknowns = 1 + (UNKNOWNS - 1) * legs
    some = dataclasses.replace(problem, free=np.ones((FRAMES, unknowns), dtype=bool), longest=np.ones((FRAMES, legs)))
    assert (some.columns[:, 0] == 0).all()
    assert some.columns[:, 1:].ravel().tolist() == list(range(1, unknowns))


class TestPops:
    """Frames are 1/60 s; the right leg's hip, knee, ankle, joint and end of the toes are points 5 to 9."""

    def test_what_moves_as_wanted_weighs_as_before(self):
        problem = pose(crouching(30), GROUNDS["flat"])
        np.testing.assert_array_equal(weigh_pops(problem, np.zeros(problem.free.shape)), 1.0)

    @pytest.mark.parametrize("size", [0.002, 0.1])  # [m] a weight in between, and the largest
    def test_a_leap_weighs_more(self, size):
        problem = hang()
        values = np.zeros(problem.free.shape)
        values[15, problem.columns[1, 3]] = size  # its ball goes up, and down again
        weights = weigh_pops(problem, values)
        changes = np.zeros(30)
        changes[14:17] = size, 2.0 * size, size
        np.testing.assert_allclose(weights[:, 7], np.minimum(1.0 + (changes / 0.003) ** 2, 9.0), rtol=1e-6)
        np.testing.assert_array_equal(weights[:, :5], 1.0)

    @pytest.mark.parametrize(("frame", "counts"), [(18, False), (26, True)])  # 0.05 and 0.18 s later
    def test_where_the_source_leaps_it_does_not(self, frame, counts):
        problem = hang()
        values = np.zeros(problem.free.shape)
        values[15, problem.columns[1, 3]] = 0.01
        wanted = problem.wanted.copy()
        wanted[frame, 5:] = [0.0, 0.0, 1.0]
        weights = weigh_pops(dataclasses.replace(problem, wanted=wanted), values)
        assert (weights[15, 7] > 1.0) == counts


def hang():
    """Make a problem of two feet in the air, in 30 frames."""
    motion = crouching(30)
    return pose(motion, GROUNDS["flat"], contacts=list_contacts(motion, heel=False, ball=False))
