"""Goals that keep a rotation or a direction of the start, or of another pose, in the world."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import samples
from poise.maths import rotations

FIGURE = poise.load(samples.path("humanoid.glb"))
UP = np.array([0.0, 1.0, 0.0])
HAND = poise.Position("LeftHand", np.add(FIGURE.rest.world["LeftHand"].positions, [-0.3, 0.1, 0.4]), root="Spine")


class TestPinOfARotation:
    def test_the_rotation_stays_and_the_position_need_not(self):
        pin = poise.Pin("LeftHand", position=False, root="Spine")
        result = poise.solve(FIGURE.rest, [HAND, pin])
        assert result.reached
        before, after = (pose.world["LeftHand"] for pose in (FIGURE.rest, result.pose))
        assert abs(float(before.rotations @ after.rotations)) > np.cos(1e-4)
        assert np.isnan(result.position_errors[1])
        assert np.linalg.norm(before.positions - after.positions) > 0.3

    @pytest.mark.parametrize(
        ("kept", "measures"),
        [((True, True), ("position", "rotation")), ((False, True), ("position",)), ((True, False), ("rotation",))],
    )
    def test_what_it_measures(self, kept, measures):
        assert poise.Pin("a", rotation=kept[0], position=kept[1]).measures == measures

    def test_a_pin_that_holds_nothing_is_refused(self):
        with pytest.raises(poise.InputError, match="holds nothing"):
            poise.Pin("LeftHand", rotation=False, position=False)
        with pytest.raises(poise.InputError, match="position of the Pin"):
            poise.Pin("LeftHand", position="no")

    def test_a_whole_figure_takes_it(self):
        """Hips that must not turn while the feet stay and a hand goes to the floor."""
        feet = [poise.Pin("LeftFoot"), poise.Pin("RightFoot")]
        low = poise.Position("LeftHand", FIGURE.rest.world["LeftFoot"].positions + 0.2 * np.array([1, 0, 1]))
        goals = [*feet, low, poise.Pin("Hips", position=False)]
        result = poise.solve(FIGURE.rest, goals, free_root=True)
        assert result.reached
        before, after = (pose.world["Hips"].rotations for pose in (FIGURE.rest, result.pose))
        assert abs(float(before @ after)) > np.cos(1e-4)


class TestDirectionKept:
    def test_a_torso_stays_upright(self):
        """What of the chest points up at rest does so afterwards, and the chest may turn about it."""
        upright = poise.Direction.from_pose("Chest", 3 * UP, FIGURE.rest, root="Spine")
        chest = FIGURE.rest.world["Chest"].rotations
        np.testing.assert_allclose(rotations.rotate(chest, np.array(upright.axis)), UP, atol=1e-12)
        free = poise.solve(FIGURE.rest, HAND, natural=False)
        held = poise.solve(FIGURE.rest, [HAND, upright], natural=False)
        assert held.reached
        leans = [
            np.arccos(rotations.rotate(pose.world["Chest"].rotations, np.array(upright.axis)) @ UP)
            for pose in (free.pose, held.pose)
        ]
        assert leans[1] < 1e-4
        assert leans[0] > 0.02

    def test_what_cannot_be_kept_is_reported(self):
        with pytest.raises(poise.InputError, match="single pose"):
            poise.Direction.from_pose("Chest", UP, FIGURE.clips[0].poses)
        with pytest.raises(poise.InputError, match="needs a Pose"):
            poise.Direction.from_pose("Chest", UP, FIGURE)
        with pytest.raises(poise.InputError, match="one direction"):
            poise.Direction.from_pose("Chest", [UP, UP], FIGURE.rest)
        with pytest.raises(poise.InputError, match="Chest"):
            poise.Direction.from_pose("Chest", [0, 0, 0], FIGURE.rest)
        with pytest.raises(poise.UnknownNameError):
            poise.Direction.from_pose("Nobody", UP, FIGURE.rest)
