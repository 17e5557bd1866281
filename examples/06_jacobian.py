"""Forward kinematics and Jacobians of a batch: positions, velocities and forces of a hand."""

import numpy as np

import poise
from poise import samples

arm = poise.load(samples.path("arm.urdf")).skeleton
rng = np.random.default_rng(1)
low, high = arm.value_ranges.T
poses = poise.Pose(arm, rng.uniform(low, high, size=(1000, arm.nq)))

hands = poses.world_of(arm.names[-1])  # poses.world has every joint; a single joint is cheaper
print("hands on average at", hands.positions.mean(axis=0).round(3), "rotations", hands.rotations.shape)  # ... (1000, 4)

jacobian = poses.jacobian(arm.names[-1])  # (1000, 6, nv): velocity and angular velocity in world axes
speeds = rng.normal(size=(1000, arm.nv, 1))  # [rad/s]
velocities = (jacobian @ speeds)[..., 0]
print("the first hand moves with", velocities[0, :3].round(3), "and turns with", velocities[0, 3:].round(3))

later = poses.with_q(poses.q + 1e-6 * speeds[..., 0]).world_of(arm.names[-1])
assert np.allclose((later.positions - hands.positions) / 1e-6, velocities[:, :3], atol=1e-4)

force = np.array([0, 0, -9.81, 0, 0, 0])  # load of one kilogram in the hand
torques = -np.swapaxes(jacobian, 1, 2) @ force
print("holding a kilogram takes at most", np.abs(torques).max(axis=0).round(2), "Nm")  # ... [0. 8.8 4.9 1.17 ...

manipulability = np.linalg.svd(jacobian, compute_uv=False).prod(axis=-1)  # Yoshikawa's measure
print(
    "nearest to a singularity: pose", int(manipulability.argmin()), "with", f"{manipulability.min():.1e}"
)  # ... pose 977 ...
