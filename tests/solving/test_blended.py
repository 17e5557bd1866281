"""Result.blended: the start blended towards the pose found. Near: joints of more weight keep nearer."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import InputError, Near, Pose, Position, Range
from poise.maths import rotations
from tests.strategies import figure, rng_of, straight_chain

CHAIN = straight_chain(4)
REST = Pose(CHAIN, CHAIN.rest_q)


class TestBlended:
    def test_the_ends_are_the_start_and_the_pose_found(self):
        result = poise.solve(REST, Position("tip", [1, 2, 1]))
        np.testing.assert_array_equal(result.blend(0).q, REST.q)
        np.testing.assert_array_equal(result.blend(1.0).q, result.q)

    def test_rotations_turn_by_their_share(self):
        result = poise.solve(REST, Position("tip", [1, 2, 1]))
        for weight in (0.25, 0.5, 0.9):
            for name in ("j0", "j2"):
                part, whole = (p.q[..., CHAIN.q_slice(name)] for p in (result.blend(weight), result.pose))
                angles = 2 * np.arccos(np.clip(np.abs([part[0], whole[0]]), 0, 1))
                np.testing.assert_allclose(angles[0], weight * angles[1], atol=1e-9)

    def test_weights_and_results_are_batches(self):
        targets = rng_of(0).normal(size=(5, 3)) * 2
        batch = poise.solve(REST, Position("tip", targets))
        weights = np.linspace(0, 1, 5)
        blended = batch.blend(weights)
        assert blended.shape == (5,)
        for i in range(5):
            np.testing.assert_array_equal(blended.q[i], batch.blend(weights[i]).q[i])
        single = poise.solve(REST, Position("tip", targets[0]))
        assert single.blend(np.linspace(0, 1, 7)).shape == (7,)
        starts = Pose(CHAIN, np.repeat(REST.q[None], 5, axis=0))
        np.testing.assert_allclose(poise.solve(starts, Position("tip", targets)).blend(weights).q, blended.q)

    def test_what_lies_between_is_legal(self):
        """From 170 degrees to -170 the shorter way leads through half a turn, which the range forbids."""
        s = straight_chain(1).with_limits({"j0": Range.degrees(-170, 170, axis=(0, 0, 1))})
        start = Pose(s, s.rest_q).replace({"j0": rotations.about(np.array([0, 0, 1.0]), np.radians(169))})
        wanted = Pose(s, s.rest_q).replace({"j0": rotations.about(np.array([0, 0, 1.0]), np.radians(-169))})
        result = poise.solve(start, Position("tip", wanted.world["tip"].positions))
        assert result.reached
        between = result.blend(np.linspace(0, 1, 11))
        assert s.legal(between.q)[1] == ()
        assert np.degrees(np.ptp(np.arctan2(*between.world["tip"].positions.T[:2]))) > 300

    def test_translations_and_scales_of_the_start_go_along(self):
        given = CHAIN.A[:, :3] * 1.5
        start = Pose(CHAIN, CHAIN.rest_q, translations=given)
        blended = poise.solve(start, Position("tip", [1, 2, 1])).blend([0.2, 0.7])
        np.testing.assert_array_equal(blended.translations, np.broadcast_to(given, (2, *given.shape)))

    @pytest.mark.parametrize("weight", [-0.1, 1.1, np.nan, "half", [0.5, 2]])
    def test_a_weight_is_0_to_1(self, weight):
        with pytest.raises(InputError, match="weight"):
            poise.solve(REST, Position("tip", [1, 2, 1])).blend(weight)

    def test_weights_go_with_the_batch(self):
        batch = poise.solve(REST, Position("tip", np.ones((5, 3))))
        with pytest.raises(InputError, match=r"^weights of shape \(3,\) do not go with a result of shape \(5,\)"):
            batch.blend([0, 0.5, 1])


class TestNearWithJointWeights:
    @staticmethod
    def turned(result, name):
        q = result.q[..., result.problem.skeleton.q_slice(name)]
        return 2 * np.arctan2(np.linalg.norm(q[1:]), abs(q[0]))

    def test_joints_of_more_weight_keep_nearer(self):
        goal = Position("tip", [1.5, 3, 0.5])
        alike = poise.solve(REST, [goal, Near(REST)])
        for name in ("j0", "j1", "j2"):
            heavy = {n: 20.0 if n == name else 1.0 for n in ("j0", "j1", "j2", "j3")}
            result = poise.solve(REST, [goal, Near(REST, joints=heavy)])
            assert result.reached
            assert self.turned(result, name) < 0.4 * self.turned(alike, name)

    def test_only_the_proportion_of_weights_counts(self):
        goal = Position("tip", [1.5, 3, 0.5])
        a, b = (
            poise.solve(REST, [goal, Near(REST, joints={"j0": k, "j1": 2 * k, "j2": 4 * k, "j3": 8 * k})])
            for k in (1.0, 64.0)
        )
        np.testing.assert_allclose(a.q, b.q, atol=1e-3)

    def test_weights_of_one_are_no_weights(self):
        goal, names = Position("l_foot", [0.2, 0.4, 0.3]), ("l_leg", "l_knee")
        start = Pose(s := figure(free=False), s.rest_q)
        plain = poise.solve(start, [goal, Near(start, joints=names)])
        np.testing.assert_array_equal(
            plain.q, poise.solve(start, [goal, Near(start, joints=dict.fromkeys(names, 1))]).q
        )

    def test_pairs_and_mappings_are_the_same(self):
        near = Near(REST, joints={"j1": 2, "j0": 1})
        assert near.joints == (("j1", 2.0), ("j0", 1.0)) == Near(REST, joints=near.joints).joints

    @pytest.mark.parametrize("weight", [0, -1, np.nan, "much"])
    def test_a_weight_is_above_zero(self, weight):
        with pytest.raises(InputError, match="^the weight of 'j1' among the joints of Near must be"):
            Near(REST, joints={"j1": weight})
