# pyright: standard
"""Leg moves: points of legs after moves, their cost and derivatives.

A leg has six unknowns: the pelvis goes up, the ball of the foot moves along x, y and z, the heel goes up about the
ball, and the toes go up about their joint. The last two are arcs `ARM_M` from where they turn, so that all are lengths.
A frame of L legs has 1 + 5 L unknowns: the pelvis, and five of each leg. The knee follows in closed form.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import kernel
from poise.kernels.ground.legs import ALONG, unit_across
from poise.kernels.vec_quat import (
    Quat,
    Vec,
    add,
    cross,
    dot,
    from_axis_angle,
    norm,
    read_vec,
    rotate,
    scale,
    sub,
    write_vec,
)

ARM_M = 0.2  # [m] from where heels and toes turn is where their way is counted: about a foot's length
UNKNOWNS = 6  # of a leg: pelvis, ball x, y, z, heel, toes
POINTS = 5  # hip, knee, ankle, joint of the toes, end of the toes
ROWS = 6  # of a leg: reach, fold, heel, ball, tip, bend of the toes
_OWN = UNKNOWNS - 1  # unknowns of a leg alone
_ROW_WEIGHT = 5e4  # [1/s^2] a row of 1 mm counts as 50 m/s^2: rows end within 0.1 mm of where they may be
_BEND_FIRST = 10.0  # times as much as others: toes in front of a riser rather touch it than bend over
_MIN_HEIGHT = 0.03  # [share of the thigh] a knee nearer to the line of its leg has a slope as if it were so far away
_MIN_SUM = 1e-6  # 1 + cosine of two directions, below which they count as opposite


class LegTable(NamedTuple):
    """Legs before any move: see `place_points`."""

    places: object
    axes: object
    up: object
    balls: object
    across: object
    arms: object
    longest: object
    lengths: object


class Foot(NamedTuple):
    """A foot after moves.

    ball        its place
    heel, toes  rotations of the foot and of its toes
    ankle       from the ball; joint of the toes from there; end of the toes from their joint
    """

    ball: Vec
    heel: Quat
    toes: Quat
    ankle: Vec
    joint: Vec
    end: Vec


class LegShape(NamedTuple):
    """A leg as animated, made longer.

    chord, side, front  unit vectors: from hip to ankle, the part of the bend axis across that, and across both
    has_side            whether the axis has such a part
    offset              from the chord to the knee
    height              its part along the front
    thigh, shin         [m]
    """

    chord: Vec
    side: Vec
    front: Vec
    has_side: bool
    offset: Vec
    height: float
    thigh: float
    shin: float


class Fold(NamedTuple):
    """A leg folded to a chord.

    chord           unit vector from the hip to the ankle
    distance        of the target [m]
    reach, follows  distance of the ankle [m], and whether it is that of the target
    along, lift     from the hip to the foot of the knee on the chord [m], and from there to the knee, as animated
    lift_slope      how that changes with the height of the knee over the chord
    height_slope    how the height changes with the reach
    is_turned       whether the axis says how the leg turns about its chord
    """

    chord: Vec
    distance: float
    reach: float
    follows: bool
    along: float
    lift: Vec
    lift_slope: Vec
    height_slope: float
    is_turned: bool


@inline
def place_foot(table, values, i, j):
    """Place the foot of leg j in frame i."""
    k, lies, arms = 1 + _OWN * j, read_vec(table.across[i], j), table.arms[i, j]
    move = Vec(values[i, k], values[i, k + 1], values[i, k + 2])
    heel = from_axis_angle(lies, values[i, k + 3] * (1.0 / ARM_M))
    toes = from_axis_angle(lies, values[i, k + 4] * (-1.0 / ARM_M))
    return Foot(
        add(read_vec(table.balls[i], j), move), heel, toes,
        rotate(heel, read_vec(arms, 0)), rotate(heel, read_vec(arms, 1)), rotate(toes, read_vec(arms, 2)),
    )  # fmt: skip


@inline
def read_shape(places, axis, length):
    """Read the shape of a leg."""
    hip = read_vec(places, 0)
    v, u = sub(read_vec(places, 1), hip), sub(read_vec(places, 2), read_vec(places, 1))
    old = add(v, u)
    v, u = scale(v, length), scale(u, length)
    chord = scale(old, 1.0 / max(norm(old), 1e-300))
    side, across = unit_across(axis, chord)
    front, _ = unit_across(cross(chord, axis), chord)
    offset = sub(v, scale(chord, dot(v, chord)))
    height = dot(offset, front)
    # A knee behind the chord comes forward, see `legs.offset_knee`.
    offset = sub(offset, scale(front, min(0.0, height)))
    return LegShape(chord, side, front, across > ALONG, offset, max(height, 0.0), norm(v), norm(u))


@inline
def fold_leg(shape, axis, chord, most):
    """Fold a leg to a chord from hip to ankle, see `legs.bend`.

    most  the longest chord [m]
    """
    l1, l2, distance = shape.thigh, shape.shin, norm(chord)
    way = scale(chord, 1.0 / distance) if distance > 1e-9 * (l1 + l2) else shape.chord
    reach = min(max(distance, abs(l1 - l2) * (1.0 + 1e-9) + 1e-9 * l1), most)
    along = (l1 * l1 + reach * reach - l2 * l2) / max(2.0 * reach, 1e-300)
    squared = l1 * l1 - along * along
    height, least = math.sqrt(max(squared, 0.0)), _MIN_HEIGHT * l1 + 1e-12
    height_slope = -along * (1.0 - along / max(reach, 1e-300)) / max(height, least) if squared > 0.0 else 0.0
    out, own = dot(shape.offset, shape.offset), shape.height
    if height * height >= out:
        root = math.sqrt(max(own * own + height * height - out, 0.0))
        lift = add(shape.offset, scale(shape.front, root - own))
        lift_slope = scale(shape.front, height / max(root, least))
    else:
        lift_slope = scale(shape.offset, 1.0 / math.sqrt(out))
        lift = scale(lift_slope, height)
    _, across = unit_across(axis, way)
    is_turned = shape.has_side and across > ALONG
    return Fold(way, distance, reach, reach == distance, along, lift, lift_slope, height_slope, is_turned)


@inline
def turn_lift(shape, fold, axis, lift):
    """Turn a vector across the animated chord with the chord."""
    if fold.is_turned:
        side, _ = unit_across(axis, fold.chord)
        ahead = scale(cross(fold.chord, side), dot(lift, cross(shape.chord, shape.side)))
        return add(scale(side, dot(lift, shape.side)), ahead)
    total = 1.0 + dot(shape.chord, fold.chord)
    if total < _MIN_SUM:
        return lift
    return sub(lift, scale(add(shape.chord, fold.chord), dot(fold.chord, lift) / total))


@inline
def turn_lift_slope(shape, fold, axis, swing):
    """Differentiate the turned lift of a leg.

    swing  by which the unit vector of the chord changes
    """
    if fold.is_turned:
        side, across = unit_across(axis, fold.chord)
        turn = add(scale(swing, dot(axis, fold.chord)), scale(fold.chord, dot(axis, swing)))
        side_slope = scale(sub(turn, scale(side, dot(side, turn))), -1.0 / across)
        ahead_slope = add(cross(swing, side), cross(fold.chord, side_slope))
        ahead = dot(fold.lift, cross(shape.chord, shape.side))
        return add(scale(side_slope, dot(fold.lift, shape.side)), scale(ahead_slope, ahead))
    total, both = 1.0 + dot(shape.chord, fold.chord), add(shape.chord, fold.chord)
    if total < _MIN_SUM:
        return Vec(0.0, 0.0, 0.0)
    part, change = dot(fold.chord, fold.lift), dot(swing, fold.lift)
    change -= part * dot(shape.chord, swing) / total
    return scale(add(scale(both, change), scale(swing, part)), -1.0 / total)


@inline
def find_knee(shape, fold, axis):
    """Return the vector from the hip to the knee.

    A leg that is drawn out has its knee on the chord.
    """
    knee = add(scale(fold.chord, fold.along), turn_lift(shape, fold, axis, fold.lift))
    share = shape.thigh / fold.along if abs(fold.along) > shape.thigh else 1.0
    return scale(knee, share)


@inline
def slope_knee(shape, fold, axis, direction):
    """Differentiate knee and ankle, seen from the hip.

    direction  in which the target of the ankle moves
    """
    part = dot(fold.chord, direction)
    swing = scale(sub(direction, scale(fold.chord, part)), 1.0 / max(fold.distance, 1e-9))
    longer = part if fold.follows else 0.0
    knee = add(scale(swing, fold.along), turn_lift_slope(shape, fold, axis, swing))
    if abs(fold.along) > shape.thigh:  # it goes with the chord
        return scale(knee, shape.thigh / fold.along), add(scale(swing, fold.reach), scale(fold.chord, longer))
    knee = add(knee, scale(fold.chord, longer * (1.0 - fold.along / max(fold.reach, 1e-300))))
    knee = add(knee, scale(turn_lift(shape, fold, axis, fold.lift_slope), longer * fold.height_slope))
    return knee, add(scale(swing, fold.reach), scale(fold.chord, longer))


@kernel("F4 F3 F1 F3 F3 F4 F2 F2 F4 B2 F2 wF3 wF4 wF3 ->")
def place_points(places, axes, up, balls, across, arms, longest, lengths, soles, bends, values, found, points, ankles):
    """Place joints and soles of legs after moves.

    places          (F, L, 5, 3) as animated
    axes            (F, L, 3) about which knees bend
    up              (F,) [m]
    balls, across   (F, L, 3)
    arms            (F, L, 3, 3) from ball to ankle, from there to the joint of the toes, and on to their end
    longest         (F, L) chords beyond which a leg does not go on [m]
    lengths         (F, L) what legs are made longer by
    soles           (F, 3, L, 3) from the ankle to heel and ball, and from the joint of the toes to the tip
    bends           (F, L) whether toes bend
    values          (F, 1 + 5 L) unknowns
    found           (F, 5 L, 3) hips, knees, ankles, joints and ends of toes, out
    points, ankles  (F, 3, L, 3) heels, balls and tips, and (F, L, 3) what ankles are to reach, out
    """
    table = LegTable(places, axes, up, balls, across, arms, longest, lengths)
    for i in range(places.shape[0]):
        for j in range(places.shape[1]):
            foot, axis, here = place_foot(table, values, i, j), read_vec(axes[i], j), places[i, j]
            ankle, hip, first = add(foot.ball, foot.ankle), read_vec(here, 0), POINTS * j
            hip = Vec(hip.x, hip.y, hip.z + (up[i] + values[i, 0]))
            shape = read_shape(here, axis, lengths[i, j])
            fold = fold_leg(shape, axis, sub(ankle, hip), longest[i, j] * lengths[i, j])
            knee = find_knee(shape, fold, axis)
            end = ankle if fold.follows else add(hip, scale(fold.chord, fold.reach))
            write_vec(found[i], first, hip)
            write_vec(found[i], first + 1, add(hip, knee))
            write_vec(found[i], first + 2, end)
            write_vec(found[i], first + 3, add(end, foot.joint))
            write_vec(found[i], first + 4, add(add(end, foot.joint), foot.end))
            write_vec(ankles[i], j, ankle)
            toes = foot.toes if bends[i, j] else foot.heel
            write_vec(points[i, 0], j, add(ankle, rotate(foot.heel, read_vec(soles[i, 0], j))))
            write_vec(points[i, 1], j, add(ankle, rotate(foot.heel, read_vec(soles[i, 1], j))))
            write_vec(points[i, 2], j, add(add(ankle, foot.joint), rotate(toes, read_vec(soles[i, 2], j))))


@device_function
def write_rows(rows, i, j, leg, points, ground, depths, bend, bends, values):
    """Write the rows of a leg.

    leg  its chord, the longest and the shortest one [m]
    """
    first, k = ROWS * j, 1 + _OWN * j
    rows[i, first] = _ROW_WEIGHT * (leg.x - leg.y)
    rows[i, first + 1] = _ROW_WEIGHT * (leg.z - leg.x)
    for p in range(3):
        rows[i, first + 2 + p] = _ROW_WEIGHT * (ground[i, p, j] - points[i, p, j, 2] - depths[i, p, j])
    turned = ARM_M * bend[i, j] + values[i, k + 3] + values[i, k + 4] if bends[i, j] else -1.0
    rows[i, first + 5] = _ROW_WEIGHT * _BEND_FIRST * turned


@kernel("F3 F4 F3 F3 F3 F2 F2 F3 F2 B2 F2 F2 F2 wF3 wF2 wF1 ->")
def measure_moves(
    found, points, ankles, ground, wanted, longest, shortest, depths, bend, bends, values, point_weights,
    value_weights, changes, rows, costs,
):  # fmt: skip
    """Measure what is left of a leg problem where its points are.

    found, points, ankles         see `place_points`
    ground                        (F, 3, L) its height at the points [m]
    wanted                        (F, 5 L, 3) changes of step
    longest, shortest             (F, L) chords that a leg may have [m]
    depths                        (F, 3, L) by which the points may be in the ground [m]
    bend                          (F, L) [rad] by which toes bend more than they may, without the moves
    point_weights, value_weights  (F, 5 L), (F, 1 + 5 L) of squares
    changes                       (F, 5 L, 3) of step beyond those wanted, out; at the ends there are none
    rows                          (F, 6 L) above 0 where violated, out
    costs                         (F,) half the sum of the weighed squares of each frame, out
    """
    frames, legs, last = ankles.shape[0], ankles.shape[1], ankles.shape[0] - 1
    for i in range(frames):
        total = 0.0
        for p in range(POINTS * legs):
            change = Vec(0.0, 0.0, 0.0)
            if 0 < i < last:
                around = add(read_vec(found[i + 1], p), read_vec(found[i - 1], p))
                change = sub(around, scale(read_vec(found[i], p), 2.0))
            change = sub(change, read_vec(wanted[i], p))
            write_vec(changes[i], p, change)
            total += point_weights[i, p] * dot(change, change)
        for j in range(legs):
            chord = norm(sub(read_vec(ankles[i], j), read_vec(found[i], POINTS * j)))
            leg = Vec(chord, longest[i, j], shortest[i, j])
            write_rows(rows, i, j, leg, points, ground, depths, bend, bends, values)
        for r in range(ROWS * legs):
            violation = max(rows[i, r], 0.0)
            total += violation * violation
        for k in range(values.shape[1]):
            total += value_weights[i, k] * values[i, k] * values[i, k]
        costs[i] = 0.5 * total


@device_function
def write_column(slopes, point, column, v):
    """Write the derivative of a point (P, 3, 6) by an unknown."""
    slopes[point, 0, column], slopes[point, 1, column], slopes[point, 2, column] = v.x, v.y, v.z


@device_function
def write_joint_slopes(slopes, j, knee_slopes, foot, lies):
    """Write derivatives of the joints of leg j.

    knee_slopes  those of knee and ankle by the target of the ankle
    """
    up, first, none = Vec(0.0, 0.0, 1.0), POINTS * j, Vec(0.0, 0.0, 0.0)
    heel = scale(cross(lies, foot.ankle), 1.0 / ARM_M)
    joint = scale(cross(lies, foot.joint), 1.0 / ARM_M)
    for side in range(2):
        x, y, z = knee_slopes[side]
        own = sub(up, z)
        turned = add(add(scale(x, heel.x), scale(y, heel.y)), scale(z, heel.z))
        for point in range(1 + side, 2 + 3 * side):
            write_column(slopes, first + point, 0, own)
            write_column(slopes, first + point, 1, x)
            write_column(slopes, first + point, 2, y)
            write_column(slopes, first + point, 3, z)
            write_column(slopes, first + point, 4, turned if point < 3 else add(turned, joint))
            write_column(slopes, first + point, 5, none)
    for column in range(UNKNOWNS):
        write_column(slopes, first, column, up if column == 0 else none)
    write_column(slopes, first + 4, 5, scale(cross(foot.end, lies), 1.0 / ARM_M))


@device_function
def write_row_slopes(slopes, j, way, foot, lies, points, tilts, bends):
    """Write derivatives of the rows (R, 6) of leg j.

    way  the unit vector from its hip to its ankle
    """
    first, w = ROWS * j, _ROW_WEIGHT
    for r in range(ROWS):
        for k in range(UNKNOWNS):
            slopes[first + r, k] = 0.0
    by_heel = dot(way, cross(lies, foot.ankle)) / ARM_M
    for r in range(2):
        sign = w if r == 0 else -w
        slopes[first + r, 0], slopes[first + r, 4] = -sign * way.z, sign * by_heel
        slopes[first + r, 1], slopes[first + r, 2], slopes[first + r, 3] = sign * way.x, sign * way.y, sign * way.z
    toe = add(add(foot.ball, foot.ankle), foot.joint)
    for p in range(3):
        row, point = first + 2 + p, read_vec(points[p], j)
        down = Vec(tilts[p, j, 0], tilts[p, j, 1], -1.0)
        # A point of a foot turns about its ball; the tip of toes that bend moves with their joint.
        lever = sub(toe if p == 2 and bends else point, foot.ball)
        slopes[row, 1], slopes[row, 2], slopes[row, 3] = w * down.x, w * down.y, w * down.z
        slopes[row, 4] = w * dot(down, cross(lies, lever)) / ARM_M
        if p == 2 and bends:
            slopes[row, 5] = w * dot(down, cross(sub(point, toe), lies)) / ARM_M
    if bends:
        slopes[first + 5, 4] = slopes[first + 5, 5] = w * _BEND_FIRST


@kernel("F4 F3 F1 F3 F3 F4 F2 F2 B2 F2 F4 F4 wF4 wF3 ->")
def differentiate_moves(
    places, axes, up, balls, across, arms, longest, lengths, bends, values, points, tilts, slopes, row_slopes
):
    """Differentiate joints and rows of legs by the six unknowns of each.

    tilts       (F, 3, L, 2) slopes of the ground at the points along x and y
    slopes      (F, 5 L, 3, 6) out
    row_slopes  (F, 7 L, 6) out
    others      see `place_points`
    """
    table = LegTable(places, axes, up, balls, across, arms, longest, lengths)
    x, y, z = Vec(1.0, 0.0, 0.0), Vec(0.0, 1.0, 0.0), Vec(0.0, 0.0, 1.0)
    for i in range(places.shape[0]):
        for j in range(places.shape[1]):
            foot, axis, here = place_foot(table, values, i, j), read_vec(axes[i], j), places[i, j]
            lies, hip = read_vec(across[i], j), read_vec(here, 0)
            hip = Vec(hip.x, hip.y, hip.z + (up[i] + values[i, 0]))
            shape = read_shape(here, axis, lengths[i, j])
            fold = fold_leg(shape, axis, sub(add(foot.ball, foot.ankle), hip), longest[i, j] * lengths[i, j])
            knee_x, ankle_x = slope_knee(shape, fold, axis, x)
            knee_y, ankle_y = slope_knee(shape, fold, axis, y)
            knee_z, ankle_z = slope_knee(shape, fold, axis, z)
            by_target = ((knee_x, knee_y, knee_z), (ankle_x, ankle_y, ankle_z))
            write_joint_slopes(slopes[i], j, by_target, foot, lies)
            write_row_slopes(row_slopes[i], j, fold.chord, foot, lies, points[i], tilts[i], bends[i, j])
