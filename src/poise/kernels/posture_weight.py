# pyright: standard
"""Weight of a standing figure: its way to above the supports."""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function
from poise.kernels.entries import kernel


@device_function
def is_outer_edge(corners, i, j):
    """Return whether an edge is one of the corners' hull.

    All of them lie left of the line from corner i to corner j then.
    """
    edge_x, edge_y = corners[j, 0] - corners[i, 0], corners[j, 1] - corners[i, 1]
    if not edge_x * edge_x + edge_y * edge_y > 0.0:
        return False
    for m in range(corners.shape[0]):
        side = edge_x * (corners[m, 1] - corners[i, 1]) - edge_y * (corners[m, 0] - corners[i, 0])
        if m not in (i, j) and side < 0.0:
            return False
    return True


@kernel("F3 I1 F1 F2 wF2 ->")
def add_up_masses(maps, rows, shares, centres, moments):
    """Fill moments (k, 3) of some rows' masses.

    They are added up one by one.

    maps     (k, n, 12)  world transforms of a skeleton's rows
    rows     (r,)        the rows that count
    shares   (n,)        of the whole mass
    centres  (n, 3)      of each row's mass in its frame
    """
    for k in range(maps.shape[0]):
        for axis in range(3):
            moments[k, axis] = 0.0
        for i in range(rows.shape[0]):
            row = rows[i]
            own, centre = maps[k, row], centres[row]
            for axis in range(3):
                a = 4 * axis
                along = own[a] * centre[0] + own[a + 1] * centre[1] + own[a + 2] * centre[2] + own[a + 3]
                moments[k, axis] += shares[row] * along


@kernel("F3 F2 wF2 ->")
def find_support_offsets(corners, points, offsets):
    """Fill offsets (k, 2) from points to their supports.

    They lead to the nearest point of the corners' hull, and are zero inside it.

    corners  (k, b, 2)
    points   (k, 2)
    """
    for k in range(points.shape[0]):
        x, y, min_squared_distance = points[k, 0], points[k, 1], math.inf
        offsets[k, 0], offsets[k, 1] = 0.0, 0.0
        for i in range(corners.shape[1]):
            for j in range(corners.shape[1]):
                start_x, start_y = corners[k, i, 0], corners[k, i, 1]
                edge_x, edge_y = corners[k, j, 0] - start_x, corners[k, j, 1] - start_y
                is_outside = edge_x * (y - start_y) - edge_y * (x - start_x) < 0.0
                if is_outside and is_outer_edge(corners[k], i, j):
                    share = ((x - start_x) * edge_x + (y - start_y) * edge_y) / (edge_x * edge_x + edge_y * edge_y)
                    share = min(max(share, 0.0), 1.0)
                    way_x, way_y = start_x + share * edge_x - x, start_y + share * edge_y - y
                    squared_distance = way_x * way_x + way_y * way_y
                    if squared_distance < min_squared_distance:
                        min_squared_distance = squared_distance
                        offsets[k, 0], offsets[k, 1] = way_x, way_y
