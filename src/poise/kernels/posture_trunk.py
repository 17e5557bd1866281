# pyright: standard
"""Collar bones: carry the shoulder of an arm towards its target.

The reach r is the distance from shoulder to target in arm lengths. The collar bone can shorten it by a capacity c. The
arm is left with r' = 1 - s (1 - (r - 1 + s) / (s + c))^3 for r from 1 - s to 1 + c, where s = c / 2, and with r below.
This cubic leaves r with slope 1 and arrives at 1 with slope 0, so the elbow comes to rest where the arm is straight,
and does not snap through. c is at most 0.3: the collar bone rests below 0.85 arm lengths. Beyond 1 + c the hand stops
short of its target, softly, while the collar bone turns by the last seventh of its range.

The range is an ellipse over the directions in which the shoulder can go. Measured from rest, the collar bone rises by
30 to 36 degrees (Inman, Saunders and Abbott 1944) and falls by about 10; with the shoulder blade the shoulder goes
about as far forward as up, and less far back (Kapandji, The Physiology of the Joints, volume 1).

The turn is the smallest one, in the plane of collar bone and target. It is undefined where the target lies on the line
of the collar bone, far out to the side or beyond the other shoulder. Near that line the collar bone cannot help: it
turns by at most a share of the angle between line and target.

Where the target is nearer to the shoulder than the arm folds, the collar bone turns away from it by the smallest angle,
in the same plane, until the folded arm is there. It is not kept to its range: nothing else of the arm can bring the
hand there. Where such a target crosses the line of the collar bone, this turn leaps from one side to the other.

A start with a stretched or a folded arm was carried already. The part of its collar bone's turn from rest that its own
hand position explains is taken back first, so that the collar bone returns with the hand.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function
from poise.kernels.entries import kernel
from poise.kernels.posture import perpendicular_part
from poise.kernels.posture_maps import map_direction, map_turn, read_origin, unmap_turn
from poise.kernels.smoothing import smoothstep_between
from poise.kernels.vec_quat import (
    Quat,
    Vec,
    add,
    conjugate,
    cross,
    dot,
    from_axis_angle,
    multiply,
    norm,
    read_quat_at,
    read_vec_at,
    rotate,
    scale,
    sub,
    write_quat_at,
    write_vec_at,
)

# Columns of `map_indices`: the maps of what carries the collar bone, of it, and of the arm's joints.
CARRIER_MAP, COLLAR_MAP, SHOULDER_MAP, ELBOW_MAP, HAND_MAP = 0, 1, 2, 3, 4
# Columns of `collar_numbers`: up and forward in the carrier's frame, the collar bone's rotation at rest, and the shares
# of the arm's length that limits of its elbow let it stretch and fold to.
COLLAR_UP, COLLAR_FORWARD, COLLAR_REST, COLLAR_REACH, COLLAR_FOLD, COLLAR_NUMBER_COUNT = 0, 3, 6, 10, 11, 12

MIN_REACH = 0.85  # arm lengths: below, the collar bone rests
SLACK_POWER = 3.0
MAX_CAPACITY = (1.0 - MIN_REACH) * (SLACK_POWER - 1.0)  # arm lengths
MAX_RISE_RAD, MAX_FALL_RAD = math.radians(35.0), math.radians(10.0)
MAX_FORWARD_RAD, MAX_BACK_RAD = math.radians(35.0), math.radians(25.0)
EASY_SHARE = 6.0 / 7.0  # of the range: what brings a hand to its target; the rest is where it stops short of it
STRAIGHT_REACH = 0.98  # share of its length from which an arm counts as straight
STRETCHED_SHARE = 1.0 - 1e-7  # of its length: an arm that is too short, which still shows to which side it bends
# Shares of the angle between the target and the collar bone, and its opposite direction.
AIM_SHARE, OPPOSITE_SHARE = 0.8, 2.0
FOLDED_SHARE = 1.0 + 1e-7  # of how far an arm folds: as near the shoulder as its hand is brought
MIN_COLLAR_SHARE = 1e-6  # lengths and sines below this share of the arm's have no direction
MIN_CAPACITY = 1e-9  # arm lengths


@device_function
def find_collar_range(movement, up, forward):
    """Return the largest turn of a collar bone [rad].

    The shoulder then goes in the direction of a unit vector.
    """
    rise, advance = dot(movement, up), dot(movement, forward)
    sideways2 = max(1.0 - rise * rise - advance * advance, 0.0)
    rise_share = rise / (MAX_RISE_RAD if rise > 0.0 else MAX_FALL_RAD)
    advance_share = advance / (MAX_FORWARD_RAD if advance > 0.0 else MAX_BACK_RAD)
    return 1.0 / math.sqrt(
        rise_share * rise_share + advance_share * advance_share + sideways2 / (MAX_RISE_RAD * MAX_RISE_RAD)
    )


@device_function
def shorten_reach(reach, capacity):
    """Return the reach left to an arm. The collar bone can shorten it by a capacity."""
    slack = capacity / (SLACK_POWER - 1.0)
    way = slack + capacity
    passed = (reach - 1.0 + slack) / way
    if passed <= 0.0:
        return reach
    if passed >= 1.0:
        return 1.0
    return 1.0 - slack * (1.0 - passed) ** SLACK_POWER


@device_function
def find_lesser(a, b):
    """Return a smooth lesser of two numbers, not negative.

    Its inverse is the 4-norm of their inverses.
    """
    a2, b2 = a * a, b * b
    if not a2 + b2 > 0.0:
        return 0.0
    return a * b / math.sqrt(math.sqrt(a2 * a2 + b2 * b2))


@device_function
def stop_reach(excess, slack):
    """Return how far a hand stops short of its target.

    The target is an excess beyond the arm, and the collar bone gives a slack.
    The distance has slope 0 at an excess of 0, and slope 1 once the slack is used up.
    """
    return excess * excess / (4.0 * slack) if excess < 2.0 * slack else excess - slack


@device_function
def find_nearest_reach(squares, double_product, angle):
    """Return the third side of a triangle (law of cosines)."""
    return math.sqrt(max(squares - double_product * math.cos(angle), 0.0))


@device_function
def find_collar_turn(collar_bone, target, arm_length, up, forward, turn_from_rest):
    """Return axis, angle and largest angle of a collar bone's turn.

    collar_bone     vector from its joint to the shoulder
    target          vector from its joint to the target
    turn_from_rest  rotation vector from its rest to here; what of it goes the same way uses up the range
    """
    bone_length, distance, axis = norm(collar_bone), norm(target), cross(collar_bone, target)
    axis_length, reach = norm(axis), norm(sub(target, collar_bone)) / arm_length
    if (
        reach <= MIN_REACH
        or not bone_length > MIN_COLLAR_SHARE * arm_length
        or not axis_length > MIN_COLLAR_SHARE * bone_length * distance
    ):
        return Vec(0.0, 0.0, 0.0), 0.0, 0.0
    axis = scale(axis, 1.0 / axis_length)
    aim = math.atan2(axis_length, dot(collar_bone, target))
    full_range = find_collar_range(scale(cross(axis, collar_bone), 1.0 / bone_length), up, forward)
    used = max(dot(turn_from_rest, axis), 0.0)
    easy, largest = max(full_range * EASY_SHARE - used, 0.0), full_range - used
    if not largest > 0.0:
        return axis, 0.0, 0.0
    aside = min(AIM_SHARE * aim, OPPOSITE_SHARE * (math.pi - aim))
    easy, largest = find_lesser(easy, aside), find_lesser(largest, aside)
    squares = bone_length * bone_length + distance * distance
    double_product = 2.0 * bone_length * distance
    easy_reach = find_nearest_reach(squares, double_product, aim - easy) / arm_length
    if easy_reach < 1.0:
        capacity = reach - easy_reach
        if not capacity > MIN_CAPACITY:
            return axis, 0.0, largest
        left = max(shorten_reach(reach, find_lesser(capacity, MAX_CAPACITY)), easy_reach)
    else:
        slack = easy_reach - find_nearest_reach(squares, double_product, aim - largest) / arm_length
        if not slack > MIN_CAPACITY:
            return axis, easy, largest
        left = 1.0 + stop_reach(easy_reach - 1.0, slack)
    cosine = min(max((squares - left * left * arm_length * arm_length) / double_product, -1.0), 1.0)
    return axis, min(max(aim - math.acos(cosine), 0.0), largest), largest


@device_function
def find_fold_turn(collar_bone, target, folded, forward):
    """Return axis and angle of a turn away from a near target.

    folded   the smallest distance of the hand from the shoulder
    forward  the way of the shoulder where the target lies on the line of the collar bone
    """
    bone_length, distance = norm(collar_bone), norm(target)
    if not (norm(sub(target, collar_bone)) < folded and min(bone_length, distance) > MIN_COLLAR_SHARE * folded):
        return Vec(0.0, 0.0, 0.0), 0.0  # a target at the joint of the collar bone stays as far from the shoulder
    axis = cross(target, collar_bone)
    aim = math.atan2(norm(axis), dot(collar_bone, target))
    if not norm(axis) > MIN_COLLAR_SHARE * bone_length * distance:
        axis = cross(collar_bone, forward)
    cosine = (bone_length * bone_length + distance * distance - folded * folded) / (2.0 * bone_length * distance)
    if not (norm(axis) > 0.0 and cosine >= -1.0):
        return Vec(0.0, 0.0, 0.0), 0.0
    return scale(axis, 1.0 / norm(axis)), math.acos(min(cosine, 1.0)) - aim


@device_function
def find_turn_from_rest(maps, map_index, rest_rotation, rotation):
    """Return the rotation vector of a ball from rest.

    It is in the world. The ball's map has the number `map_index`.
    """
    turn = multiply(conjugate(rest_rotation), rotation)
    vector = Vec(turn.x, turn.y, turn.z)
    sine = norm(vector)
    if not sine > 0.0:
        return Vec(0.0, 0.0, 0.0)
    angle = 2.0 * math.atan2(sine, abs(turn.w)) * (1.0 if turn.w >= 0.0 else -1.0)
    return scale(map_turn(maps, map_index, vector), angle)


@device_function
def turn_ball(rotation, maps, map_index, turn):
    """Return the rotation of a ball turned in the world. Its map has the number `map_index`."""
    vector = Vec(turn.x, turn.y, turn.z)
    local = unmap_turn(maps, map_index, vector)
    length = norm(local)
    if not length > 0.0:
        return rotation
    local = scale(local, norm(vector) / length)
    return multiply(rotation, Quat(turn.w, local.x, local.y, local.z))


@kernel("F2 I1 I1 F1 F2 wF2 wF2 wB1 wB1 -> i")
def carry_shoulders(maps, map_indices, q_columns, collar_numbers, start_q, targets, q, is_carried, is_short):
    """Turn collar bones towards the targets of the hands. Return how many of the poses q (k, nq) have changed.

    maps            (1|k, 12 n)  world transforms of joints in the start poses
    map_indices     (5,)  numbers of the maps of carrier, collar bone, first joint, middle joint and tip
    q_columns       (2,)  first columns of the rotations of collar bone and first joint; -1 for a joint that is no ball
    collar_numbers  (COLLAR_NUMBER_COUNT,)
    start_q         (1|k, nq)
    targets         (k, 3|7)  of the tip: x y z first; one that is too far is pulled inside the arm's reach
    is_carried      (k,)  whether a collar bone was turned
    is_short        (k,)  whether the arm is still too short for its target

    The arm keeps its rotation in the world: the shoulder takes it along.
    """
    up, forward = read_vec_at(collar_numbers, COLLAR_UP), read_vec_at(collar_numbers, COLLAR_FORWARD)
    rest_rotation, carried_count = read_quat_at(collar_numbers, COLLAR_REST), 0
    for k in range(targets.shape[0]):
        pose_maps, start = maps[k if maps.shape[0] > 1 else 0], start_q[k if start_q.shape[0] > 1 else 0]
        for i in range(start.shape[0]):
            q[k, i] = start[i]
        collar = read_origin(pose_maps, map_indices[COLLAR_MAP])
        shoulder, elbow = (
            read_origin(pose_maps, map_indices[SHOULDER_MAP]),
            read_origin(pose_maps, map_indices[ELBOW_MAP]),
        )
        hand = sub(read_origin(pose_maps, map_indices[HAND_MAP]), collar)
        collar_bone = sub(shoulder, collar)
        upper_length, lower_length = norm(sub(elbow, shoulder)), norm(sub(add(hand, collar), elbow))
        arm_length = upper_length + lower_length
        folded = max(abs(upper_length - lower_length), arm_length * collar_numbers[COLLAR_FOLD]) * FOLDED_SHARE
        arm_length *= collar_numbers[COLLAR_REACH]
        world_up = map_direction(pose_maps, map_indices[CARRIER_MAP], up)
        world_forward = map_direction(pose_maps, map_indices[CARRIER_MAP], forward)
        rotation = read_quat_at(start, q_columns[0])
        from_rest = find_turn_from_rest(pose_maps, map_indices[COLLAR_MAP], rest_rotation, rotation)
        turn, angle_from_rest = Quat(1.0, 0.0, 0.0, 0.0), norm(from_rest)
        if angle_from_rest > 0.0:
            rest_axis = scale(from_rest, 1.0 / angle_from_rest)
            resting_bone = rotate(from_axis_angle(rest_axis, -angle_from_rest), collar_bone)
            axis, angle, largest = find_collar_turn(
                resting_bone, hand, arm_length, world_up, world_forward, Vec(0.0, 0.0, 0.0)
            )
            # how far a straight arm was carried, its hand does not say
            straightness = smoothstep_between(norm(sub(hand, collar_bone)) / arm_length, STRAIGHT_REACH, 1.0)
            explained = min(angle_from_rest, angle + straightness * largest, largest)
            explained *= max(dot(rest_axis, axis), 0.0)
            axis, angle = find_fold_turn(resting_bone, hand, folded, world_forward)
            explained = max(explained, min(angle_from_rest, angle) * max(dot(rest_axis, axis), 0.0))
            turn = from_axis_angle(rest_axis, -explained)
            collar_bone, from_rest = rotate(turn, collar_bone), scale(rest_axis, angle_from_rest - explained)
        target = sub(read_vec_at(targets[k], 0), collar)
        axis, angle = find_fold_turn(collar_bone, target, folded, world_forward)
        if angle == 0.0:
            axis, angle, _ = find_collar_turn(collar_bone, target, arm_length, world_up, world_forward, from_rest)
        collar_bone = rotate(from_axis_angle(axis, angle), collar_bone)
        way = sub(target, collar_bone)
        distance = norm(way)
        is_short[k] = distance > arm_length * (1.0 + MIN_CAPACITY)
        if is_short[k]:
            nearest = add(add(collar, collar_bone), scale(way, STRETCHED_SHARE * arm_length / distance))
            write_vec_at(targets[k], 0, nearest)
        turn = multiply(from_axis_angle(axis, angle), turn)
        is_carried[k] = turn.x != 0.0 or turn.y != 0.0 or turn.z != 0.0
        if is_carried[k]:
            write_quat_at(q[k], q_columns[0], turn_ball(rotation, pose_maps, map_indices[COLLAR_MAP], turn))
            if q_columns[1] >= 0:
                first_rotation = read_quat_at(start, q_columns[1])
                write_quat_at(
                    q[k],
                    q_columns[1],
                    turn_ball(first_rotation, pose_maps, map_indices[SHOULDER_MAP], conjugate(turn)),
                )
        carried_count += 1 if is_carried[k] else 0
    return carried_count


# --- Twist of the trunk ----------------------------------------------------------------------------------------------
#
# Before a figure leans or crouches for a hand, its trunk twists about the vertical: people turn a shoulder towards what
# is to the side or behind, and bow there for the rest. The spine begins: used up to a share x of its range, the pelvis
# uses x^2 of its own, and less where the hand is ahead.


# Of the trunk: 35 degrees of the chest, 5 to 10 of the loins (Kapandji, volume 3); of the pelvis above standing feet,
# as hips turn (AAOS: 45 in and out).
MAX_TWIST_RAD, MAX_PELVIS_TWIST_RAD = math.radians(45.0), math.radians(45.0)
# 1 - cosine of the bearing of a hand from the middle of the body, 20 and 70 degrees: from the first on the pelvis
# joins, from the second on fully. Sine of the bearing against the way of the turn: where it does not join, and does.
MIN_PELVIS_BEARING, FULL_PELVIS_BEARING, MAX_CONTRARY, MIN_CONTRARY = 0.06, 0.66, 0.5, 0.0
# Backward from a shoulder to a hand: what is beyond is as near by a full twist to the front.
MAX_BACK_BEARING_RAD = math.pi - 0.5 * MAX_TWIST_RAD
# Reaches below the shoulder: from the first on the trunk has to bow for a hand, which carries the shoulder ahead by a
# share of its distance from the spine.
NO_BOW_REACHES, FULL_BOW_REACHES, BOW_SHARE = 1.5, 2.2, 0.5
FULL_TWIST_SHARE = 0.7  # level share of the way to a target: below, the trunk twists less
FULL_TWIST_BEHIND = 0.4  # reaches behind the body from which on the spine twists fully for low targets, too
# Of the way round to a target behind: a shoulder goes on a circle, and the other half brings it hardly nearer.
MAX_BEHIND_SHARE = 0.5


@device_function
def find_twist(shoulder, target, facing, up, reach):
    """Return the smallest twist to bring a shoulder within reach [rad].

    Beside it return the largest twist of the pelvis.
    The twist is about the vertical; shoulder and target are relative to a point of the axis. Where no twist will do,
    the shoulder turns towards the target, half of the way to one behind; where a bow has to bring it down there, from
    between its own place and ahead. The more the way to the target is vertical, the smaller is the largest twist, but
    of the spine for what is behind.
    """
    way = sub(target, shoulder)
    distance = norm(way)
    level_shoulder, level_target = perpendicular_part(shoulder, up), perpendicular_part(target, up)
    outward, height = dot(cross(facing, level_shoulder), up), dot(way, up)
    bow = smoothstep_between(-height / reach, NO_BOW_REACHES, FULL_BOW_REACHES)
    level_shoulder = add(level_shoulder, scale(facing, BOW_SHARE * bow * norm(level_shoulder)))
    product = norm(level_shoulder) * norm(level_target)
    if distance <= reach or not product > MIN_COLLAR_SHARE * reach * reach:
        return 0.0, 0.0
    angle = math.atan2(dot(cross(level_shoulder, level_target), up), dot(level_shoulder, level_target))
    if abs(angle) > MAX_BACK_BEARING_RAD and angle * outward > 0.0:
        angle -= math.copysign(2.0 * math.pi, angle)  # by way of the front
    level_reach2 = max(reach * reach - height * height, 0.0)
    cosine = (dot(level_shoulder, level_shoulder) + dot(level_target, level_target) - level_reach2) / (2.0 * product)
    needed = abs(angle) - math.acos(min(max(cosine, -1.0), 1.0))
    level_share = norm(perpendicular_part(way, up)) / distance
    level_distance, ahead = norm(level_target), dot(facing, level_target)
    aside = dot(cross(facing, level_target), up)
    contrary = -aside if angle > 0.0 else aside
    pelvis = (
        MAX_PELVIS_TWIST_RAD
        * smoothstep_between(1.0 - ahead / level_distance, MIN_PELVIS_BEARING, FULL_PELVIS_BEARING)
        * smoothstep_between(contrary / level_distance, MAX_CONTRARY, MIN_CONTRARY)
    )
    behind = smoothstep_between(-ahead / reach, 0.0, FULL_TWIST_BEHIND)
    level_factor = min(level_share / FULL_TWIST_SHARE, 1.0)
    largest = MAX_TWIST_RAD * (level_factor + behind * (1.0 - level_factor)) + pelvis * level_factor
    half_way = abs(angle) * (1.0 - behind * (1.0 - MAX_BEHIND_SHARE))
    return math.copysign(min(max(needed, 0.0), largest, half_way), angle), pelvis


@kernel("F2 F3 F3 F2 F1 F1 wF1 wF1 ->")
def find_twists(pivots, shoulders, targets, facings, up, reaches, twists, pelvis_twists):
    """Fill twists of spine and pelvis about the vertical [rad].

    pivots     (k, 3)     points of the axis
    shoulders  (k, a, 3)  positions of the arms' first joints
    targets    (k, a, 3)  of the hands
    facings    (k, 3)     facing direction of the pelvis: level, unit length
    up         (3,)       against gravity
    reaches    (a,)       of the arms

    Arms to both sides twist by the difference of their largest needs.
    """
    up_vector = Vec(up[0], up[1], up[2])
    for k in range(targets.shape[0]):
        pivot, facing, most, least, pelvis = read_vec_at(pivots[k], 0), read_vec_at(facings[k], 0), 0.0, 0.0, 0.0
        for j in range(targets.shape[1]):
            shoulder, target = sub(read_vec_at(shoulders[k, j], 0), pivot), sub(read_vec_at(targets[k, j], 0), pivot)
            twist, largest = find_twist(shoulder, target, facing, up_vector, reaches[j])
            most, least, pelvis = max(most, twist), min(least, twist), max(pelvis, largest)
        twist = most + least
        root = math.sqrt(MAX_TWIST_RAD * MAX_TWIST_RAD + 4.0 * pelvis * abs(twist))
        used = 2.0 * abs(twist) / (MAX_TWIST_RAD + root)  # MAX_TWIST x + pelvis x^2 = twist
        pelvis_twists[k] = math.copysign(pelvis * used * used, twist)
        twists[k] = twist - pelvis_twists[k]
