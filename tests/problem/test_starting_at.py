"""A prepared problem from other starts: what was packed serves again, and gives the bits of packing anew."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.problem.problem import Problem

GOALS = (poise.Position("LeftHand", [0.5, 1.2, 0.3]), poise.Position("RightHand", [-0.4, 1.3, 0.3], root="Spine"))
MOVING = ("LeftArm", "LeftForeArm", "Spine", "RightArm", "RightForeArm")


@pytest.fixture(scope="module")
def rest():
    return poise.load(samples.path("humanoid.glb")).rest


def turned(pose, names, seed):
    """The pose with some joints turned at random, inside their limits."""
    rng = np.random.default_rng(seed)
    values = {name: np.array([1.0, *rng.uniform(-0.3, 0.3, 3)]) for name in names}
    return pose.skeleton.legal(pose.replace(values).q)[0]


def test_the_packed_tree_is_kept_where_only_joints_that_move_differ(rest):
    problem = Problem(rest, GOALS)
    packed = problem.tree
    assert problem.starting_at(turned(rest, MOVING, 1)).__dict__["tree"].frames is packed.frames
    assert "tree" not in problem.starting_at(turned(rest, ("Hips",), 1)).__dict__
    assert "tree" not in Problem(rest, GOALS).starting_at(rest.q).__dict__  # nothing was packed


def test_a_root_that_moves_is_packed_anew():
    goal = poise.Position("LeftHand", [0.5, 1.2, 0.3], root="Hips")
    figure = poise.load(samples.path("humanoid.bvh")).rest
    problem = Problem(figure, (goal,), free_root=True)
    assert problem.tree is not None
    assert "tree" not in problem.starting_at(figure.q).__dict__
