"""One step of a serial arm: the formula, and what stands at a limit."""

from __future__ import annotations

import numpy as np
import pytest

from poise.kernels import arm_lm
from poise.kernels.lanes import SCALAR
from poise.kernels.layout import ARM_HIGH, ARM_IS_SLIDE, ARM_LOW
from poise.kernels.vec_quat import Vec
from tests.kernels.kernel_entries import compiled, entered
from tests.strategies import rng_of, unit_quaternions

pytestmark = pytest.mark.long

WEIGHTS = np.array([1.0, 0.6])


def row_of_links(rng, count, limit=np.inf):
    """Links of some length that lead anywhere, every third a slide, with the place of the tip at random values."""
    links = np.zeros((count + 1, 10))
    links[:, :3], links[:, 3:7] = rng.normal(size=(count + 1, 3)), unit_quaternions(rng, count + 1)
    links[:, ARM_LOW], links[:, ARM_HIGH], links[1::3, ARM_IS_SLIDE] = -limit, limit, 1.0
    return links


@compiled
def forward(links, x, axes, origins):
    return arm_lm.compute_tip(SCALAR, links, x, True, axes, origins)


def standing(links, x):
    """Axes, origins and the tip's place."""
    axes, origins = np.zeros((2, len(x), 3))
    position, _ = forward(links, x, axes, origins)
    return axes, origins, np.array(position)


def stepped(links, x, e, damping):
    """The values after a step of the kernel, and the Jacobian (m, 6) that it left, weighted."""
    axes, origins, tip = standing(links, x)
    after, jacobian = x.copy(), np.zeros((len(x), 6))
    workspace = arm_lm.ArmWorkspace(axes, origins, e, jacobian, np.zeros((6, 6)), np.zeros(6), np.zeros(6))
    entered(arm_lm.apply_damped_step)(links, after, Vec(*tip), WEIGHTS, damping, workspace)
    return after, jacobian


def numeric_velocities(links, x, h=1e-6):
    """How fast the tip moves for each value, by central differences, weighted."""
    rows = []
    for i in range(len(x)):
        ahead, behind = x.copy(), x.copy()
        ahead[i], behind[i] = x[i] + h, x[i] - h
        rows.append((standing(links, ahead)[2] - standing(links, behind)[2]) / (2 * h))
    return WEIGHTS[0] * np.array(rows)


@pytest.mark.parametrize("count", [6, 3, 7])
def test_a_step_is_the_damped_least_squares_step(count):
    rng = rng_of(count)
    links, x, e = row_of_links(rng, count), rng.uniform(-1, 1, count), rng.normal(size=6)
    after, jacobian = stepped(links, x, e, 0.3)
    np.testing.assert_allclose(jacobian[:, :3], numeric_velocities(links, x), atol=1e-8)
    J = jacobian.T
    np.testing.assert_allclose(after - x, J.T @ np.linalg.solve(J @ J.T + 0.3 * np.eye(6), e), atol=1e-12)


def test_what_is_pushed_out_of_its_limits_stands_still_and_the_rest_takes_over():
    rng = rng_of(1)
    links, x, e = row_of_links(rng, 6), rng.uniform(-1, 1, 6), rng.normal(size=6)
    _, free = stepped(links, x, e, 0.3)
    outward = int(np.argmax(np.abs(free @ e)))
    links[outward, ARM_HIGH if free[outward] @ e > 0 else ARM_LOW] = x[outward]
    after, jacobian = stepped(links, x, e, 0.3)
    assert after[outward] == x[outward]
    assert (jacobian[outward] == 0.0).all()
    rest = np.delete(free, outward, axis=0).T
    wanted = rest.T @ np.linalg.solve(rest @ rest.T + 0.3 * np.eye(6), e)
    np.testing.assert_allclose(np.delete(after - x, outward), wanted, atol=1e-12)


def test_a_step_ends_at_the_limits():
    rng = rng_of(2)
    links, x = row_of_links(rng, 6, limit=0.05), rng.uniform(-0.05, 0.05, 6)
    after, _ = stepped(links, x, 10.0 * rng.normal(size=6), 1e-3)
    assert (np.abs(after) <= 0.05).all()
    assert (np.abs(after) == 0.05).any()
