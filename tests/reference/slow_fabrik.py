"""FABRIK on points, straight from the paper: Aristidou and Lasenby, Graphical Models 73(5), 2011, algorithm 1."""

from __future__ import annotations

import numpy as np


def sweep(points, lengths, target):
    """Points (m + 1, 3) after reaching backward from the target, then forward from the base."""
    p = points.copy()
    p[-1] = target
    for i in range(len(lengths) - 1, -1, -1):
        share = lengths[i] / np.linalg.norm(p[i + 1] - p[i])
        p[i] = (1 - share) * p[i + 1] + share * p[i]
    p[0] = points[0]
    for i in range(len(lengths)):
        share = lengths[i] / np.linalg.norm(p[i + 1] - p[i])
        p[i + 1] = (1 - share) * p[i] + share * p[i + 1]
    return p


def errors(points, target, sweeps):
    """Distance left (sweeps + 1,) at the start and after every sweep, and the points at the end."""
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    left = [np.linalg.norm(points[-1] - target)]
    for _ in range(sweeps):
        points = sweep(points, lengths, target)
        left.append(np.linalg.norm(points[-1] - target))
    return np.array(left), points
