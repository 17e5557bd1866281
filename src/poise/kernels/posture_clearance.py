# pyright: standard
"""Clearance: limbs outside of the body and above the floor.

A limb of two bones may turn about the line from its first joint to its tip; neither moves. The middle joint then goes
round a circle, and each bone round a cone. The smallest turn is taken at which the forearm is clear of all capsules of
the body, or the thigh of arms, and the middle joint of the floor. A hand that is itself nearer to a capsule than both
radii allow sets what is allowed there: the rest of the forearm is hardly nearer.

Feet and hands of which no rotation is asked turn about their own joint, to or from level, until their points are above
the floor: feet by the smaller turn, hands towards level first.

Closest points of two segments after Lumelsky, On fast computation of distance between line segments (1985).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.kernels.device_functions import device_function
from poise.kernels.entries import kernel
from poise.kernels.smoothing import smoothstep_between
from poise.kernels.vec_quat import (
    Vec,
    add,
    cross,
    dot,
    from_axis_angle,
    multiply,
    norm,
    read_quat_at,
    read_vec,
    read_vec_at,
    rotate,
    scale,
    sub,
    write_quat_at,
)

_TURNS = 24  # steps of half a turn that are tried to each side: 7.5 degrees
# Shares of a limb's length, of its middle joint from the chord: less than the radius of a forearm moves it nowhere.
_NO_TURN_SHARE, _FULL_TURN_SHARE = 0.02, 0.08
_GIVE_SHARE = 0.06  # of a bone's radius, 2 mm of people: how far flesh gives way before an elbow turns
_MAX_KNEE_TURN_RAD = math.radians(40.0)  # by which a knee makes way for arms; hips turn by 45 in and out (AAOS)
_MAX_OUTWARD_RAD = 0.5 * math.pi  # of a knee that the floor turns: further out, it would point back
_HALVINGS = 12  # of the step in which a limb becomes clear: to 0.002 degrees
_MIN_DEPTH = 1e-9  # of a point's distance from its joint: it is on the floor
_LEVEL_DEPTH = 0.01  # of that: a level end may be in the floor by so much, before it turns the other way
_MIN_SQUARE = 1e-18  # of a segment's length: shorter ones are points


class Circle(NamedTuple):
    """Where the middle joint of a limb may be.

    centre, first_axis, second_axis  of the circle; both axes as long as its radius
    tip                              of the limb
    end                              of the bone that keeps clear of the body: the tip, of a thigh the first joint
    radius                           of that bone
    """

    centre: Vec
    first_axis: Vec
    second_axis: Vec
    tip: Vec
    end: Vec
    radius: float


@device_function
def measure_point_distance(point, start, way):
    """Measure the distance of a point from a segment."""
    square = dot(way, way)
    share = min(max(dot(sub(point, start), way) / square, 0.0), 1.0) if square > _MIN_SQUARE else 0.0
    return norm(sub(point, add(start, scale(way, share))))


@device_function
def measure_segment_distance(start, way, other_start, other_way):
    """Measure the distance of two segments."""
    found = min(
        min(
            measure_point_distance(start, other_start, other_way),
            measure_point_distance(add(start, way), other_start, other_way),
        ),
        min(
            measure_point_distance(other_start, start, way),
            measure_point_distance(add(other_start, other_way), start, way),
        ),
    )
    normal, between = cross(way, other_way), sub(other_start, start)
    square = dot(normal, normal)
    if square > _MIN_SQUARE * dot(way, way) * dot(other_way, other_way):
        share = dot(cross(between, other_way), normal) / square
        other_share = dot(cross(between, way), normal) / square
        if 0.0 < share < 1.0 and 0.0 < other_share < 1.0:
            found = min(found, abs(dot(between, normal)) / math.sqrt(square))
    return found


@device_function
def measure_overlap(bone, angle):
    """Measure how deep a bone is in body or floor.

    bone   its circle, capsules (c, 7) and a floor (4,)
    angle  by which the middle joint is turned [rad]
    """
    circle, capsules, floor = bone
    turned = add(scale(circle.first_axis, math.cos(angle)), scale(circle.second_axis, math.sin(angle)))
    middle, end = add(circle.centre, turned), circle.end
    way, found = sub(end, middle), -math.inf
    for i in range(capsules.shape[0]):
        start = read_vec_at(capsules[i], 0)
        axis = sub(read_vec_at(capsules[i], 3), start)
        allowed = min(capsules[i, 6] + circle.radius, measure_point_distance(end, start, axis))
        allowed -= _GIVE_SHARE * circle.radius
        found = max(found, allowed - measure_segment_distance(middle, way, start, axis))
    up = read_vec_at(floor, 0)
    allowed = min(floor[3] + circle.radius, dot(up, circle.tip))
    return max(found, allowed - dot(up, middle))


@device_function
def find_clear_turn(measure, moved, tolerance, tries_sides_in_turn):
    """Find the smallest turn to clear what is moved, else the best.

    measure              overlap of what is moved, after a turn
    moved                its first argument
    tries_sides_in_turn  whether the smaller turn is taken, else the first side comes first
    """
    best, best_angle = measure(moved, 0.0), 0.0
    if best <= tolerance:
        return 0.0
    step = math.pi / _TURNS
    for i in range(2 * _TURNS):
        if tries_sides_in_turn:
            number, is_first_side = i // 2 + 1, i % 2 == 0
        else:
            number, is_first_side = i % _TURNS + 1, i < _TURNS
        angle = step * number if is_first_side else -step * number
        overlap = measure(moved, angle)
        if overlap < best:
            best, best_angle = overlap, angle
        if overlap <= tolerance:
            found = halve_turn(measure, moved, angle, angle - math.copysign(step, angle), tolerance)
            if tries_sides_in_turn and angle > 0.0 and measure(moved, -angle) <= tolerance:
                other = halve_turn(measure, moved, -angle, step - angle, tolerance)
                return other if -other < found else found
            return found
    return best_angle


@device_function
def halve_turn(measure, moved, clear, blocked, tolerance):
    """Halve the turn between a blocked angle and a clear one."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (clear + blocked)
        if measure(moved, middle) <= tolerance:
            clear = middle
        else:
            blocked = middle
    return clear


@device_function
def find_middle_circle(distance, upper_length, limb_length):
    """Find the circle of a limb's middle joint about its chord.

    Returns its centre's distance from the first joint, and its radius: 0 where the limb does not fold so far or is too
    short.
    """
    # upper^2 - lower^2 = (upper - lower) * length
    along = 0.5 * (distance + (2.0 * upper_length - limb_length) * limb_length / distance)
    square = upper_length * upper_length - along * along
    return along, math.sqrt(square) if square > 0.0 else 0.0


@device_function
def find_knee_turn(bone, tolerance):
    """Find the turn of a knee to clear floor and arms.

    The floor turns it outward, unless it would then point back: so do both knees of one who kneels. Arms turn it by
    the smaller angle.

    bone  circle of the thigh, whose second axis is outward, capsules of arms and the floor
    """
    circle, capsules, floor = bone
    for_floor = find_clear_turn(measure_overlap, (circle, capsules[:0], floor), tolerance, True)
    if for_floor < 0.0:
        out = find_clear_turn(measure_overlap, (circle, capsules[:0], floor), tolerance, False)
        for_floor = out if 0.0 < out <= _MAX_OUTWARD_RAD else for_floor
    if capsules.shape[0] == 0:
        return for_floor
    angle = find_clear_turn(measure_overlap, bone, tolerance, True)
    if angle < 0.0 < for_floor:
        angle = find_clear_turn(measure_overlap, bone, tolerance, False)
    if abs(angle) > _MAX_KNEE_TURN_RAD:
        angle = math.copysign(_MAX_KNEE_TURN_RAD, for_floor if for_floor != 0.0 else angle)
    return for_floor if abs(for_floor) > _MAX_KNEE_TURN_RAD else angle


@device_function
def clear_bend_side(
    side, first, target, chord, distance, upper_length, limb_length, radius, capsules, floor, outward, is_leg
):
    """Turn the bend side of a limb to clear forearm or thigh.

    side             unit vector, perpendicular to the chord
    chord, distance  unit vector from the first joint to the target, and their distance
    radius           of that bone
    outward          of the body
    """
    if capsules.shape[0] == 0 and floor[3] == -math.inf:
        return side
    along, reach = find_middle_circle(distance, upper_length, limb_length)
    if not reach > 0.0:
        return side
    across = cross(chord, side)
    if is_leg and dot(across, outward) < 0.0:
        across = scale(across, -1.0)
    tip = read_vec_at(target, 0)
    end = first if is_leg else tip
    circle = Circle(add(first, scale(chord, along)), scale(side, reach), scale(across, reach), tip, end, radius)
    # A nearly straight limb turns without clearing anything: there the turn fades.
    share = smoothstep_between(reach / limb_length, _NO_TURN_SHARE, _FULL_TURN_SHARE)
    if not share > 0.0:
        return side
    bone, tolerance = (circle, capsules, floor), 1e-6 * limb_length
    if is_leg:
        angle = share * find_knee_turn(bone, tolerance)
    else:
        angle = share * find_clear_turn(measure_overlap, bone, tolerance, True)
    return side if angle == 0.0 else add(scale(side, math.cos(angle)), scale(across, math.sin(angle)))


@device_function
def find_level_axis(turn, up, normal, lever, across):
    """Find axis and angle of the turn to level.

    Its normal turns up, or its lever level, by the smallest rotation.

    across  axis of an end that is level or the wrong way round, in its frame
    """
    has_normal = dot(normal, normal) > 0.0
    way = rotate(turn, normal if has_normal else lever)
    axis = cross(way, up)
    size = norm(axis)
    angle = math.atan2(size, dot(way, up)) if has_normal else math.atan2(-dot(way, up), size)
    return (scale(axis, 1.0 / size) if size > _MIN_DEPTH * norm(way) else rotate(turn, across)), angle


@device_function
def measure_depth(end, angle):
    """Measure the depth of an end's points (n, 3) below a floor.

    end    its rotation, axis of the turn, height of its joint, points, radii (n,) and a floor (4,)
    angle  by which it is turned [rad]
    """
    turn, axis, base, points, radii, floor = end
    turned = multiply(from_axis_angle(axis, angle), turn) if angle != 0.0 else turn
    up, depth = read_vec_at(floor, 0), -math.inf
    for i in range(points.shape[0]):
        depth = max(depth, floor[3] + radii[i] - base - dot(up, rotate(turned, read_vec(points, i))))
    return depth


@kernel("F2 F2 F2 F1 F1 F2 F1 wF2 -> i")
def lift_ends(places, turns, points, radii, normal, floors, across, lifted):
    """Turn feet or hands until all their points are above the floor.

    places   (k, 3) joints
    turns    (k, 4) their world rotations
    points   (n, 3) in the joint's frame
    radii    (n,) height of each above the floor, at least
    normal   (3,) in the joint's frame: up where the end is level; 0 where its first point is to be level with the joint
    floors   (1|k, 4) up x y z, and height
    across   (3,) axis in the joint's frame about which an end turns that lies the wrong way round
    lifted   (k, 4) world rotations out

    Returns how many were turned. Where a joint is too low for any angle, the best one is taken. A small move changes
    the way an end turns where its joint becomes too low to be level by a hundredth of the end's length, where it lies
    exactly the wrong way round, and where both turns of a foot are equally large.
    """
    count = 0
    for k in range(places.shape[0]):
        floor = floors[k if floors.shape[0] > 1 else 0]
        up, turn = read_vec_at(floor, 0), read_quat_at(turns[k], 0)
        base, lever = dot(up, read_vec(places, k)), read_vec(points, 0)
        axis, level = find_level_axis(turn, up, read_vec_at(normal, 0), lever, read_vec_at(across, 0))
        # A foot by the smaller turn, as ankles end soon; a hand towards level first.
        is_foot = dot(read_vec_at(normal, 0), read_vec_at(normal, 0)) > 0.0
        end, tolerance = (turn, axis, base, points, radii, floor), _MIN_DEPTH * norm(lever)
        angle = find_clear_turn(measure_depth, end, tolerance, is_foot)
        tries_level = level > 0.0 and (level < abs(angle) or not is_foot)
        if tries_level and not 0.0 <= angle <= level:
            # An end that is clear only when it is level is between two steps.
            depth = measure_depth(end, level)
            if depth <= tolerance:
                step = math.pi / _TURNS
                angle = halve_turn(measure_depth, end, level, step * math.floor(level / step), tolerance)
            elif depth <= _LEVEL_DEPTH * norm(lever):
                angle = level
        write_quat_at(lifted[k], 0, multiply(from_axis_angle(axis, angle), turn) if angle != 0.0 else turn)
        count += 1 if angle != 0.0 else 0
    return count
