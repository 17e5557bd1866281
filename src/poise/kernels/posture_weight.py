# pyright: standard
"""Weight of a standing figure: its way to above the supports."""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function
from poise.kernels.entries import kernel
from poise.kernels.posture_maps import map_vector, read_origin
from poise.kernels.smoothing import smoothstep_between
from poise.kernels.vec_quat import Vec, add, cross, dot, norm, read_vec, read_vec_at, scale, sub, write_vec_at

# Columns of a sole: the direction to its toes in the frame of the foot, the length of the shin, and by what shares of
# its length its heel and its tip move to the ball.
SOLE_AHEAD, SOLE_SHIN, SOLE_HEEL_END, SOLE_TIP_END, SOLE_ROW = 0, 3, 4, 5, 6
# Corners of what a sole carries, in lengths of the shin from the ankle: heel, tip, half of the width. A foot is 0.6 of
# a shin long (de Leva 1996) and carries a little inside its edges.
CORNER_COUNT, HEEL_SHINS, TIP_SHINS, HALF_WIDTH_SHINS = 4, -0.09, 0.33, 0.04
ON_BALL_RAD = math.radians(15.0)  # of a heel: from there on the ball carries all
LIFTED_SHINS = 0.4  # shins: a foot that is raised so far carries nothing


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


@device_function
def add_up_mass(maps, rows, shares, centres):
    """Return the moment of some rows' masses. They are added up one by one.

    maps     (12 n,)  world transforms of joints
    rows     (r,)     numbers of the maps that count
    shares   (r,)     of the whole mass
    centres  (r, 3)   of each one's mass in its frame
    """
    moment = Vec(0.0, 0.0, 0.0)
    for i in range(rows.shape[0]):
        along = add(read_origin(maps, rows[i]), map_vector(maps, rows[i], read_vec(centres, i)))
        moment = add(moment, scale(along, shares[i]))
    return moment


@device_function
def find_way_to_hull(corners, x, y):
    """Return the way from a point to a hull. It is zero inside the hull of corners (b, 2)."""
    min_squared_distance, way = math.inf, Vec(0.0, 0.0, 0.0)
    for i in range(corners.shape[0]):
        for j in range(corners.shape[0]):
            start_x, start_y = corners[i, 0], corners[i, 1]
            edge_x, edge_y = corners[j, 0] - start_x, corners[j, 1] - start_y
            is_outside = edge_x * (y - start_y) - edge_y * (x - start_x) < 0.0
            if is_outside and is_outer_edge(corners, i, j):
                share = ((x - start_x) * edge_x + (y - start_y) * edge_y) / (edge_x * edge_x + edge_y * edge_y)
                share = min(max(share, 0.0), 1.0)
                way_x, way_y = start_x + share * edge_x - x, start_y + share * edge_y - y
                squared_distance = way_x * way_x + way_y * way_y
                if squared_distance < min_squared_distance:
                    min_squared_distance, way = squared_distance, Vec(way_x, way_y, 0.0)
    return way


@device_function
def find_toe_direction(maps, sole_row, sole):
    """Return the direction of a foot to its toes in the world."""
    return map_vector(maps, sole_row, read_vec_at(sole, SOLE_AHEAD))


@device_function
def write_corners(corners, first, ankle, toes, shin, forward, left, up):
    """Write the corners of a sole from a row on. They are along the front and the left of the body."""
    ahead = sub(toes, scale(up, dot(toes, up)))
    size = norm(ahead)
    ahead = scale(ahead, 1.0 / size) if size > 0.0 else ahead
    aside = cross(up, ahead)
    for i in range(CORNER_COUNT):
        along, across = (
            (HEEL_SHINS if i < CORNER_COUNT // 2 else TIP_SHINS),
            (-HALF_WIDTH_SHINS if i % 2 == 0 else HALF_WIDTH_SHINS),
        )
        point = add(ankle, scale(add(scale(ahead, along), scale(aside, across)), shin))
        corners[first + i, 0], corners[first + i, 1] = dot(point, forward), dot(point, left)


@device_function
def shorten_sole(corners, toes, sole, up):
    """Move corners (4, 2) to the ball as heels rise."""
    size = norm(toes)
    sine = -dot(toes, up) / size if size > 0.0 else 0.0
    share = smoothstep_between(math.asin(min(max(sine, -1.0), 1.0)), 0.0, ON_BALL_RAD)
    half = CORNER_COUNT // 2
    for i in range(half):
        for axis in range(2):
            way = share * (corners[half + i, axis] - corners[i, axis])
            corners[i, axis] += way * sole[SOLE_HEEL_END]
            corners[half + i, axis] += way * sole[SOLE_TIP_END]


@device_function
def lift_corners(corners, first, share):
    """Move the corners of a raised foot to the first one's."""
    for i in range(CORNER_COUNT):
        for axis in range(2):
            corners[first + i, axis] = (1.0 - share) * corners[first + i, axis] + share * corners[i, axis]


@device_function
def soften(way, least):
    """Shorten a way by `least`, smoothly from zero."""
    size = norm(way)
    if not size > 0.0:
        return way
    return scale(way, (size * size / (4.0 * least) if size < 2.0 * least else size - least) / size)


@kernel("F2 I1 F1 F2 I1 F2 F3 I1 I1 F2 F3 F1 F2 f sF2 wF2 -> i")
def find_support_offsets(
    maps, mass_rows, shares, centres, limb_rows, limb_masses, tips, sole_rows, sole_tips, soles, start_corners, stands,
    frame, onset, corners, offsets,
):  # fmt: skip
    """Fill level offsets (k, 3) from mass centres to supports. Return how many are not zero.

    maps           (k, 12 n)      world transforms of joints
    mass_rows      (m,)           numbers of the maps of joints with a mass
    shares         (m,)           of the whole mass
    centres        (m, 3)         of each one's mass in its frame
    limb_rows      (l,)           numbers of the maps of first joints of limbs that count as lines to their tips
    limb_masses    (l, 2)         of these: share of the mass, and the same times its place along the line
    tips           (k, t, 3)      places of tips
    sole_rows      (s,)           numbers of the maps of feet, the standing ones first
    sole_tips      (s,)           numbers of their tips; -1 where a foot is where its map says
    soles          (s, SOLE_ROW)  the columns SOLE_
    start_corners  (1|k, 4 p, 2)  corners of the soles of standing feet
    stands         (1|k,)         how far the start stands, 0 to 1
    frame          (3, 3)         front and left of the body, and up
    onset                         left beside the soles
    corners        (4 s, 2)       scratch memory

    Where standing feet have no tips, their corners move to the ball as heels rise.
    """
    forward, left, up = read_vec(frame, 0), read_vec(frame, 1), read_vec(frame, 2)
    standing_count, offset_count = start_corners.shape[1] // CORNER_COUNT, 0
    for k in range(maps.shape[0]):
        own, floor = maps[k], 0.0
        known = start_corners[k if start_corners.shape[0] > 1 else 0]
        for s in range(sole_rows.shape[0]):
            row, first, shin = sole_rows[s], CORNER_COUNT * s, soles[s, SOLE_SHIN]
            ankle = read_vec(tips[k], sole_tips[s]) if sole_tips[s] >= 0 else read_origin(own, row)
            floor = dot(ankle, up) if s == 0 else floor
            toes = find_toe_direction(own, row, soles[s])
            if s < standing_count:
                for i in range(first, first + CORNER_COUNT):
                    corners[i, 0], corners[i, 1] = known[i, 0], known[i, 1]
                if sole_tips[s] < 0:
                    shorten_sole(corners[first : first + CORNER_COUNT], toes, soles[s], up)
            else:
                write_corners(corners, first, ankle, toes, shin, forward, left, up)
                lift_corners(corners, first, smoothstep_between(dot(ankle, up) - floor, 0.0, LIFTED_SHINS * shin))
        centre = add_up_mass(own, mass_rows, shares, centres)
        for j in range(limb_rows.shape[0]):
            start = read_origin(own, limb_rows[j])
            way = sub(read_vec(tips[k], j), start)
            centre = add(centre, add(scale(start, limb_masses[j, 0]), scale(way, limb_masses[j, 1])))
        way = soften(find_way_to_hull(corners, dot(centre, forward), dot(centre, left)), onset)
        way = scale(way, stands[k if stands.shape[0] > 1 else 0])
        write_vec_at(offsets[k], 0, add(scale(forward, way.x), scale(left, way.y)))
        offset_count += 1 if way.x != 0.0 or way.y != 0.0 else 0
    return offset_count
