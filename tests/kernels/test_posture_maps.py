"""Turns through world maps of joints, mirrored ones too."""

from __future__ import annotations

import numpy as np
import pytest

from poise.kernels import posture_maps
from poise.kernels.vec_quat import Vec
from poise.maths import rotations


@pytest.mark.parametrize("scales", [(1.0, 1.0, 1.0), (2.0, 2.0, 2.0), (-1.0, 1.0, 1.0), (-3.0, -3.0, -3.0)])
def test_a_turn_in_the_world_is_the_turn_in_a_map(scales):
    rotation = np.array([0.5, -0.1, 0.7, 0.5]) / np.linalg.norm([0.5, -0.1, 0.7, 0.5])
    linear = np.stack([rotations.rotate(rotation, axis) for axis in np.eye(3)], axis=1) * scales
    maps, axis = np.concatenate([linear, np.zeros((3, 1))], axis=1).ravel(), np.array([0.6, 0.0, 0.8])
    world = np.array(posture_maps.map_turn(maps, 0, Vec(*axis)))
    arm = np.array([0.3, -0.2, 0.9])
    turned = rotations.rotate(rotations.about(world, 0.7), linear @ arm)
    np.testing.assert_allclose(turned, linear @ rotations.rotate(rotations.about(axis, 0.7), arm), atol=1e-12)
    back = np.array(posture_maps.unmap_turn(maps, 0, Vec(*world)))
    np.testing.assert_allclose(back / np.linalg.norm(back), axis, atol=1e-12)
