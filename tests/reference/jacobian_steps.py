"""The steps of the Jacobian methods, each as its formula says, by dense linear algebra."""

from __future__ import annotations

import numpy as np


def transpose(jacobian, e):
    """The gradient, by the factor that is best if jacobian is right."""
    gradient = jacobian.T @ e
    moved = jacobian @ gradient
    return (e @ moved) / (moved @ moved) * gradient


def pseudo_inverse(jacobian, e, cut):
    return np.linalg.pinv(jacobian, rcond=cut) @ e


def damped(jacobian, e, damping):
    return jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + damping * np.eye(len(e)), e)


def selective(jacobian, e, most):
    """Rows in threes: the velocity of one effector each. Buss and Kim, 2005."""
    left, sigma, right = np.linalg.svd(jacobian, full_matrices=False)
    speeds = [
        [np.linalg.norm(jacobian[r : r + 3, j]) for j in range(jacobian.shape[1])] for r in range(0, len(jacobian), 3)
    ]
    total = np.zeros(jacobian.shape[1])
    for u, s, v in zip(left.T, sigma, right, strict=True):
        if s < 1e-6 * sigma[0]:
            continue
        wanted = sum(np.linalg.norm(u[r : r + 3]) for r in range(0, len(u), 3))
        swung = sum(abs(v[j]) * row[j] for row in speeds for j in range(len(v))) / s
        total += shortened((u @ e) / s * v, most * min(1.0, wanted / swung))
    return shortened(total, most)


def shortened(step, most):
    """The step, if need be scaled so that its largest part is `most`."""
    largest = np.abs(step).max()
    return step if largest <= most else step * (most / largest)
