"""poise.retarget() onto robots: what their limbs can do, and what keeps them from it."""

from __future__ import annotations

import numpy as np
import pytest

from poise.ground.robot.foot_path import FootPath, RobotSole, lean_foot


@pytest.mark.parametrize("aside", [0.0, 0.2])
def test_a_sole_of_no_length_tilts_about_its_heading(aside):
    turns = np.array([[[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]])  # heading, up, right as columns
    path = FootPath(np.zeros((1, 3)), turns, np.zeros((1, 3)))
    hips, sole = np.array([[0.1, aside, 0.8]]), RobotSole(0.0, 0.0, 0.03, 0.05, 0.05)
    leaned = lean_foot(path, hips, sole)
    assert abs(leaned.turns[0, :, 2] @ (hips[0] - path.places[0])) < 1e-9
    np.testing.assert_allclose(leaned.find_corners(sole)[:, 0, 2].min(), -0.03, atol=1e-12)
    np.testing.assert_allclose(leaned.turns[0, :, 0], [1.0, 0.0, 0.0], atol=1e-12)
