# pyright: standard
"""Natural posture: bend directions, root displacement and crouch of a character.

NATURAL_BEND_ALONG is the usual direction of a limb, NATURAL_BEND_SIDE its bend side there. The smallest rotation from
this direction to the actual limb direction carries the bend side along. A leg swung forward then lifts its knee, a leg
lifted sideways keeps it in front; a raised arm moves its elbow from behind to below and outward. The rotation is
undefined opposite to NATURAL_BEND_ALONG, behind the head. An arm that points there bends outward, ahead and up. Where
an elbow would otherwise come above both shoulder and hand, it is rotated about the line between them until it is not.

Two more terms count. A limb bent at the start with a nearby target keeps its bend direction, transported in the same
way. A tip with a wanted rotation minimises its own joint rotation: that rotation is applied to
NATURAL_BEND_STRAIGHT, the direction of the bone above at rest, and NATURAL_BEND_AHEAD, the bend side there.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.kernels import layout
from poise.kernels.device_functions import device_function
from poise.kernels.entries import kernel
from poise.kernels.posture_clearance import clear_bend_side, find_middle_circle
from poise.kernels.posture_maps import map_direction, read_origin
from poise.kernels.smoothing import smoothstep_between
from poise.kernels.vec_quat import (
    Quat,
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
    write_vec_at,
)

# Columns of `map_indices`: the maps of the body and of the joints of a limb.
BODY_MAP, FIRST_JOINT_MAP, MIDDLE_JOINT_MAP, TIP_MAP = 0, 1, 2, 3
MIN_LENGTH_SHARE = 1e-9  # share of the limb's length; shorter vectors have no direction
OPPOSITE_COSINE_GAP = 1e-6  # 1 + cosine of the angle; below it the smallest rotation is undefined
# Share of the limb's length from the middle joint to the chord, at a bend of 2 and 6 degrees: the current bend side
# counts 0 below the first and fully above the second.
MIN_BULGE_SHARE, FULL_BULGE_SHARE = 0.009, 0.026
# Share of the elbow's vertical range: the elbow stays so far below the higher of shoulder and hand.
ELBOW_MARGIN_SHARE = 0.01
# Parts of the chord's direction, behind the body and towards its middle: an elbow goes outward from the first on, fully
# from the second on. An arm that swings in a walk goes back and not inward.
MIN_BEHIND, FULL_BEHIND, MIN_INWARD, FULL_INWARD = 0.2, 0.7, 0.0, 0.7
OUTWARD_WEIGHT = 3.0  # of that, beside the usual side
# Lengths that such an elbow goes down or ahead for a length outward, where the chord points straight down or up. Upper
# arms go back by at most 60 degrees (AAOS), and are raised in the plane of the shoulder blade, 30 degrees ahead
# (Kapandji, volume 1). Part of the chord's direction up from which on its elbow may be higher than the hand.
DOWN_RATIO, AHEAD_RATIO, FULL_RISE = 1.5, 0.8, 0.5
# 1 + cosine of the angle to the usual direction, 143 degrees: beyond, the side that the smallest rotation carries along
# means less and less, and an elbow goes outward.
FULL_TRANSPORT_GAP = 0.2
# Rotation of an extended limb's chord, as the distance of its unit vectors: up to 10 degrees the current bend side
# counts fully, beyond 30 not at all. A folded limb's chord may rotate more, in the ratio of the limb's length to it.
FULL_SIDE_ROTATION, NO_SIDE_ROTATION = 2.0 * math.sin(math.radians(5.0)), 2.0 * math.sin(math.radians(15.0))

# Lengths an elbow goes about the chord for a length that the hand goes from its start: a hand at a metre a second is
# followed by 3 mm a frame, which benchmarks/natural_paths.py allows. Shares of the limb's length, of the hand's way: up
# to the first this limit counts fully, beyond the second not at all.
MAX_ELBOW_RATIO, FULL_LIMIT_SHARE, NO_LIMIT_SHARE = 0.2, 0.1, 0.3

# Most sweeps over all legs; a leg is in reach if its excess is below this share of its reach.
MAX_PROJECTION_SWEEPS, PROJECTION_TOLERANCE = 60, 1e-4
LEAN_STEPS = 32  # steps tried from standing to the deepest crouch
# Trunk lean of the deepest crouch [rad]; hip movement back per movement down.
MAX_LEAN_RAD, LEAN_BACK_RATIO = math.radians(100.0), 0.4
# Cosines of the angle between down and shoulder to target: a crouch starts at the first and is complete at the second.
NO_CROUCH_COSINE, FULL_CROUCH_COSINE = -0.5, 0.7
# Share of an arm's reach; a high target gets a crouch only if it is farther away than this extra reach.
REACH_STRETCH_SHARE = 0.05


@device_function
def perpendicular_part(v, axis):
    """Return the part of v perpendicular to a unit vector."""
    return sub(v, scale(axis, dot(v, axis)))


@device_function
def parallel_transport(a, b, v):
    """Rotate v by the smallest rotation from unit vector a to b. Return v itself where a and b are opposite."""
    one_plus_cosine = 1.0 + dot(a, b)
    if one_plus_cosine < OPPOSITE_COSINE_GAP:
        return v
    axis = cross(a, b)
    sideways = cross(axis, v)
    return add(v, add(sideways, scale(cross(axis, sideways), 1.0 / one_plus_cosine)))


@device_function
def find_bulge(maps, map_indices, limb_length):
    """Return a limb's current chord and the bulge of its middle joint.

    That is the chord's unit vector, its length (0 where it has no direction), and the middle joint's offset from it.
    """
    first_position = read_origin(maps, map_indices[FIRST_JOINT_MAP])
    chord = sub(read_origin(maps, map_indices[TIP_MAP]), first_position)
    chord_length = norm(chord)
    if not chord_length > MIN_LENGTH_SHARE * limb_length:
        return chord, 0.0, Vec(0.0, 0.0, 0.0)
    chord = scale(chord, 1.0 / chord_length)
    middle = sub(read_origin(maps, map_indices[MIDDLE_JOINT_MAP]), first_position)
    return chord, chord_length, perpendicular_part(middle, chord)


@device_function
def measure_bulge_weight(bulge, rest_bulge, limb_length):
    """Measure how much a limb's current bend side counts, 0 to 1.

    bulge       the middle joint's distance from the chord
    rest_bulge  that in the rig's own rest pose; it is no choice of a side
    """
    return smoothstep_between((bulge - rest_bulge) / limb_length, MIN_BULGE_SHARE, FULL_BULGE_SHARE)


@device_function
def find_current_side(maps, map_indices, chord, new_chord_length, limb_length, rest_bulge):
    """Return the current bend side and its weight. The side is perpendicular to the new chord, the weight 0 to 1.

    The middle joint of a folded limb stays where it is while the tip passes the first joint.

    rest_bulge  see `measure_bulge_weight`
    """
    old_chord, chord_length, bulge_vector = find_bulge(maps, map_indices, limb_length)
    if not chord_length > 0.0:
        return Vec(0.0, 0.0, 0.0), 0.0
    bulge = norm(bulge_vector)
    rotation = norm(sub(chord, old_chord)) * min(max(chord_length, new_chord_length) / limb_length, 1.0)
    side_weight = measure_bulge_weight(bulge, rest_bulge, limb_length) * smoothstep_between(
        rotation, NO_SIDE_ROTATION, FULL_SIDE_ROTATION
    )
    if not side_weight > 0.0:
        return Vec(0.0, 0.0, 0.0), 0.0
    side = perpendicular_part(scale(bulge_vector, 1.0 / bulge), chord)
    side_length = norm(side)
    if not side_length > MIN_LENGTH_SHARE:
        return Vec(0.0, 0.0, 0.0), 0.0
    return scale(side, 1.0 / side_length), side_weight * min(side_length, 1.0)


@device_function
def limit_side_turn(side, maps, map_indices, natural_bend, target, chord, distance):
    """Limit the turn of a bend side by the tip's way.

    The side may turn from where the middle joint is at the start, by `MAX_ELBOW_RATIO` of the tip's way on a circle
    between the old one and the new one. Along a path, each pose from the one before, a limb then passes to another side
    in many small steps. A straight limb has no circle, and turns to any side.

    side             unit vector, perpendicular to the chord
    chord, distance  unit vector from the limb's first joint to its target, and their distance
    """
    limb_length, upper_length = natural_bend[layout.NATURAL_BEND_LENGTH], natural_bend[layout.NATURAL_BEND_UPPER_LENGTH]
    _, elbow_radius = find_middle_circle(distance, upper_length, limb_length)
    way = norm(sub(target, read_origin(maps, map_indices[TIP_MAP])))
    _, old_distance, bulge_vector = find_bulge(maps, map_indices, limb_length)
    chosen_radius = norm(bulge_vector) - natural_bend[layout.NATURAL_BEND_REST_BULGE]  # a built-in bend is no choice
    weight = smoothstep_between(way / limb_length, NO_LIMIT_SHARE, FULL_LIMIT_SHARE)
    current_side = perpendicular_part(bulge_vector, chord)
    size = norm(current_side)
    if not (
        weight > 0.0
        and chosen_radius > 0.0
        and elbow_radius > 0.0
        and old_distance > 0.0
        and size > MIN_LENGTH_SHARE * limb_length
    ):
        return side
    current_side = scale(current_side, 1.0 / size)
    across = cross(chord, current_side)
    angle = math.atan2(dot(side, across), dot(side, current_side))
    allowed = MAX_ELBOW_RATIO * way / math.sqrt(elbow_radius * chosen_radius)
    excess = abs(angle) - allowed
    if not excess > 0.0:
        return side
    angle = math.copysign(allowed + (1.0 - weight) * excess, angle)
    return add(scale(current_side, math.cos(angle)), scale(across, math.sin(angle)))


@device_function
def lower_bend_side(side, chord, distance, up, natural_bend):
    """Rotate the bend side about the chord to lower the middle joint.

    A limb bent that way then has its middle joint no higher than both its ends.

    chord, distance  unit vector from the limb's first joint to its tip, and their distance
    up               unit vector; zero and an extended limb leave the side unchanged

    Where every side is too high, return the lowest one.
    """
    limb_length, upper_length = natural_bend[layout.NATURAL_BEND_LENGTH], natural_bend[layout.NATURAL_BEND_UPPER_LENGTH]
    elbow_along_chord, elbow_radius = find_middle_circle(distance, upper_length, limb_length)
    chord_rise = dot(up, chord)
    up_side = perpendicular_part(up, chord)
    up_side_length = norm(up_side)
    if not (elbow_radius > 0.0 and up_side_length > MIN_LENGTH_SHARE):
        return side
    max_height = (max(distance * chord_rise, 0.0) - elbow_along_chord * chord_rise) / (
        elbow_radius * up_side_length
    ) - ELBOW_MARGIN_SHARE
    up_side = scale(up_side, 1.0 / up_side_length)
    lateral_axis = cross(chord, up_side)
    side_up_part, side_lateral_part = dot(side, up_side), dot(side, lateral_axis)
    side_length = math.sqrt(side_up_part * side_up_part + side_lateral_part * side_lateral_part)
    if side_up_part <= max_height * side_length:
        return side
    max_height = max(max_height, -1.0)
    lateral_part = math.copysign(math.sqrt(max(1.0 - max_height * max_height, 0.0)), side_lateral_part)
    return add(scale(up_side, max_height * side_length), scale(lateral_axis, lateral_part * side_length))


@device_function
def turn_side_behind(side, along, chord, front, out, up):
    """Turn the bend side of an arm behind the body outward.

    Below the shoulder it goes down, too, so that the upper arm hangs; above the shoulder it goes ahead. Return also how
    far the elbow may be above the hand: 0, or up to 1 for a hand behind the head.

    along           usual direction of the limb
    front, out, up  of the body; up is zero of a leg, whose side stays
    """
    if not dot(up, up) > 0.0:
        return side, 0.0
    rise = dot(chord, up)
    opposite = smoothstep_between(1.0 + dot(along, chord), FULL_TRANSPORT_GAP, 0.0)
    behind = smoothstep_between(-dot(chord, front), MIN_BEHIND, FULL_BEHIND)
    outward = max(opposite, behind * smoothstep_between(-dot(chord, out), MIN_INWARD, FULL_INWARD))
    way = add(out, add(scale(up, DOWN_RATIO * min(rise, 0.0)), scale(front, AHEAD_RATIO * max(rise, 0.0))))
    side = add(scale(side, 1.0 - opposite), scale(perpendicular_part(way, chord), OUTWARD_WEIGHT * outward))
    return side, outward * smoothstep_between(rise, 0.0, FULL_RISE)


@device_function
def find_natural_side(maps, map_indices, natural_bend, target, chord, chord_length):
    """Return the bend side preferred by the body and the tip's rotation. Its length is arbitrary."""
    body = map_indices[BODY_MAP]
    along = map_direction(maps, body, read_vec_at(natural_bend, layout.NATURAL_BEND_ALONG))
    side = map_direction(maps, body, read_vec_at(natural_bend, layout.NATURAL_BEND_SIDE))
    front = map_direction(maps, body, read_vec_at(natural_bend, layout.NATURAL_BEND_FRONT))
    out = map_direction(maps, body, read_vec_at(natural_bend, layout.NATURAL_BEND_OUT))
    up = map_direction(maps, body, read_vec_at(natural_bend, layout.NATURAL_BEND_UP))
    side, raised_share = turn_side_behind(parallel_transport(along, chord, side), along, chord, front, out, up)
    side_length = norm(side)
    side = perpendicular_part(scale(side, 1.0 / side_length) if side_length > 0.0 else side, chord)
    lowered_side = lower_bend_side(side, chord, chord_length, up, natural_bend)
    side = add(scale(lowered_side, 1.0 - raised_share), scale(side, raised_share))
    if target.shape[0] > 3:
        tip_rotation = read_quat_at(target, 3)
        straight_direction, ahead_direction = (
            rotate(tip_rotation, read_vec_at(natural_bend, layout.NATURAL_BEND_STRAIGHT)),
            rotate(tip_rotation, read_vec_at(natural_bend, layout.NATURAL_BEND_AHEAD)),
        )
        side = add(
            side,
            scale(perpendicular_part(straight_direction, chord), natural_bend[layout.NATURAL_BEND_STRAIGHT_WEIGHT]),
        )
        side = add(
            side, scale(perpendicular_part(ahead_direction, chord), natural_bend[layout.NATURAL_BEND_AHEAD_WEIGHT])
        )
    return side


@kernel("F2 I1 F1 F2 F3 F2 wF2 ->")
def compute_poles(maps, map_indices, natural_bend, targets, capsules, floors, poles):
    """Fill poles (k, 3) for the middle joints.

    maps          (1|k, 12 n)  world transforms of joints in the start poses
    map_indices   (4,)         numbers of the maps of body, first joint, middle joint and tip
    natural_bend  (NATURAL_BEND_ROW,)  the columns NATURAL_BEND_ of layout.py
    targets       (k, 3|7)     of the tip: x y z, w x y z
    capsules      (1|k, c, 7)  of the body, which the lower bone keeps clear of: both ends of an axis, and a radius
    floors        (1|k, 4)     up x y z, and the height of the floor; -inf where there is none
    """
    limb_length, radius = natural_bend[layout.NATURAL_BEND_LENGTH], natural_bend[layout.NATURAL_BEND_RADIUS]
    upper_length = natural_bend[layout.NATURAL_BEND_UPPER_LENGTH]
    up = read_vec_at(natural_bend, layout.NATURAL_BEND_UP)
    is_leg = not dot(up, up) > 0.0
    for k in range(targets.shape[0]):
        pose_maps = maps[k if maps.shape[0] > 1 else 0]
        first_position = read_origin(pose_maps, map_indices[FIRST_JOINT_MAP])
        chord_vector = sub(read_vec_at(targets[k], 0), first_position)
        chord_length = norm(chord_vector)
        # A target at the limb's first joint has no chord direction: keep the current one.
        if not chord_length > MIN_LENGTH_SHARE * limb_length:
            chord_vector = sub(read_origin(pose_maps, map_indices[TIP_MAP]), first_position)
            chord_length = max(norm(chord_vector), MIN_LENGTH_SHARE * limb_length)
        chord = scale(chord_vector, 1.0 / chord_length)
        side = find_natural_side(pose_maps, map_indices, natural_bend, targets[k], chord, chord_length)
        side_length = norm(side)
        side = scale(side, 1.0 / side_length) if side_length > 0.0 else side
        current_side, side_weight = find_current_side(
            pose_maps, map_indices, chord, chord_length, limb_length, natural_bend[layout.NATURAL_BEND_REST_BULGE]
        )
        side = add(scale(side, 1.0 - side_weight), scale(current_side, side_weight))
        side_length = norm(side)
        side = scale(side, 1.0 / side_length) if side_length > 0.0 else side
        outward = map_direction(pose_maps, map_indices[BODY_MAP], read_vec_at(natural_bend, layout.NATURAL_BEND_OUT))
        side = clear_bend_side(
            side, first_position, targets[k], chord, chord_length, upper_length, limb_length, radius,
            capsules[k if capsules.shape[0] > 1 else 0], floors[k if floors.shape[0] > 1 else 0], outward, is_leg,
        )  # fmt: skip
        if capsules.shape[1] > 0 and not is_leg:  # knees follow ground and arms at once
            side = limit_side_turn(
                side, pose_maps, map_indices, natural_bend, read_vec_at(targets[k], 0), chord, chord_length
            )
        pole = add(add(first_position, scale(chord_vector, 0.5)), scale(side, limb_length))
        poles[k, 0], poles[k, 1], poles[k, 2] = pole.x, pole.y, pole.z


@kernel("F2 I1 F1 wF2 wB1 -> i")
def lower_raised_poles(maps, map_indices, natural_bend, poles, is_raised):
    """Mark limbs in `is_raised` (k,) with their middle joint above both ends.

    Limbs not marked on entry stay so; poles (k, 3) gets the poles of the marked ones.

    maps          (k, 12 n)    world transforms of joints in the poses
    map_indices   (4,)         numbers of the maps of body, first joint, middle joint and tip
    natural_bend  (NATURAL_BEND_ROW,)  the columns NATURAL_BEND_ of layout.py

    The poles lower the middle joints by the smallest rotation. Returns the number of marked limbs.
    """
    limb_length, raised_count = natural_bend[layout.NATURAL_BEND_LENGTH], 0
    for k in range(maps.shape[0]):
        pose_maps = maps[k]
        first_position, middle_position = (
            read_origin(pose_maps, map_indices[FIRST_JOINT_MAP]),
            read_origin(pose_maps, map_indices[MIDDLE_JOINT_MAP]),
        )
        chord_vector = sub(read_origin(pose_maps, map_indices[TIP_MAP]), first_position)
        chord_length = norm(chord_vector)
        chord = (
            scale(chord_vector, 1.0 / chord_length) if chord_length > MIN_LENGTH_SHARE * limb_length else chord_vector
        )
        side = perpendicular_part(sub(middle_position, first_position), chord)
        side_length = norm(side)
        is_raised[k] = (
            is_raised[k]
            and chord_length > MIN_LENGTH_SHARE * limb_length
            and side_length > MIN_LENGTH_SHARE * limb_length
        )
        if is_raised[k]:
            side = scale(side, 1.0 / side_length)
            lowered_side = lower_bend_side(
                side,
                chord,
                chord_length,
                map_direction(pose_maps, map_indices[BODY_MAP], read_vec_at(natural_bend, layout.NATURAL_BEND_UP)),
                natural_bend,
            )
            is_raised[k] = norm(sub(lowered_side, side)) > 0.0
            pole = add(add(first_position, scale(chord_vector, 0.5)), scale(lowered_side, limb_length))
            poles[k, 0], poles[k, 1], poles[k, 2] = pole.x, pole.y, pole.z
        raised_count += 1 if is_raised[k] else 0
    return raised_count


@device_function
def find_root_shift(first_positions, targets, reaches, is_leg):
    """Find a small root shift to bring all legs within reach.

    Alternating projections onto the balls around the targets (von Neumann; Gubin, Polyak and Raik, 1967) converge to a
    point inside all of them, or between them where there is none.
    """
    shift = Vec(0.0, 0.0, 0.0)
    for _ in range(MAX_PROJECTION_SWEEPS):
        max_excess = 0.0
        for j in range(targets.shape[0]):
            leg_vector = sub(sub(read_vec_at(targets[j], 0), read_vec_at(first_positions[j], 0)), shift)
            leg_length = norm(leg_vector)
            if is_leg[j] and leg_length > reaches[j]:
                shift = add(shift, scale(leg_vector, 1.0 - reaches[j] / leg_length))
                max_excess = max(max_excess, leg_length / reaches[j] - 1.0)
        if max_excess < PROJECTION_TOLERANCE:
            break
    return shift


@device_function
def find_lean_rotation(shoulder, target, reach, max_lean):
    """Find the smallest rotation to bring `shoulder` within reach of a target.

    The rotation is about the origin; also return whether it suffices.
    """
    shoulder_distance, target_distance, no_rotation = norm(shoulder), norm(target), Quat(1.0, 0.0, 0.0, 0.0)
    if norm(sub(target, shoulder)) <= reach:
        return no_rotation, True
    axis = cross(shoulder, target)
    axis_length = norm(axis)
    if not axis_length > MIN_LENGTH_SHARE * shoulder_distance * target_distance:
        return no_rotation, False
    angle = math.acos(min(max(dot(shoulder, target) / (shoulder_distance * target_distance), -1.0), 1.0))
    cosine = (target_distance * target_distance + shoulder_distance * shoulder_distance - reach * reach) / (
        2.0 * target_distance * shoulder_distance
    )
    lean_angle = angle - math.acos(min(max(cosine, -1.0), 1.0))
    is_sufficient = cosine <= 1.0 and lean_angle <= max_lean
    return from_axis_angle(scale(axis, 1.0 / axis_length), min(max(lean_angle, 0.0), max_lean)), is_sufficient


@device_function
def find_crouch_path(first_positions, targets, is_leg, folded_lengths):
    """Find the path of the root to the deepest crouch.

    It is a vector down to the feet, as long as the leg nearest to its foot allows.
    """
    crouch_path, leg_count, max_depth = Vec(0.0, 0.0, 0.0), 0.0, math.inf
    for j in range(targets.shape[0]):
        if is_leg[j]:
            leg_vector = sub(read_vec_at(targets[j], 0), read_vec_at(first_positions[j], 0))
            crouch_path, leg_count = add(crouch_path, leg_vector), leg_count + 1.0
            max_depth = min(max_depth, norm(leg_vector) - folded_lengths[j])
    crouch_path_length = norm(crouch_path)
    if not (leg_count > 0.0 and crouch_path_length > 0.0 and max_depth > 0.0):
        return Vec(0.0, 0.0, 0.0)
    return scale(crouch_path, max_depth / crouch_path_length)


@device_function
def measure_crouch_share(first_positions, targets, is_leg, reaches, crouch_path):
    """Return the share of a crouch (0..1) useful for short arms. It grows with lower and more distant targets."""
    path_length, crouch_share = norm(crouch_path), 0.0
    if not path_length > 0.0:
        return 1.0
    for j in range(targets.shape[0]):
        arm_vector = sub(read_vec_at(targets[j], 0), read_vec_at(first_positions[j], 0))
        distance = norm(arm_vector)
        if not is_leg[j] and distance > reaches[j]:
            shortage = smoothstep_between(distance, reaches[j], reaches[j] * (1.0 + REACH_STRETCH_SHARE))
            crouch_share = max(
                crouch_share,
                shortage
                * smoothstep_between(
                    dot(arm_vector, crouch_path) / (path_length * distance), NO_CROUCH_COSINE, FULL_CROUCH_COSINE
                ),
            )
    return crouch_share


@kernel("F2 wF3 F3 B1 F1 F1 wF2 ->")
def place_roots(roots, first_positions, targets, is_leg, folded_lengths, reaches, placements):
    """Place roots (k, 7) for all limbs to reach their targets.

    roots            (k, 3)     positions of the root
    first_positions  (k, l, 3)  positions of the limbs' first joints
    targets          (k, l, 3)  positions of their tips' targets
    is_leg           (l,)       whether a limb is a leg
    folded_lengths   (l,)       smallest distance of a leg's first joint from its foot
    reaches          (l,)       reach of each limb
    placements       (k, 7)     position x y z and rotation w x y z

    First the root moves until the legs reach their feet. Then, where an arm is too short, the character crouches and
    leans step by step: the hips move back and the trunk rotates about them, each by the same share of its maximum, and
    the knees bend by its square. The smallest share with all arms in reach is taken. High targets cause no crouch:
    it would move the shoulder away from them.
    """
    for k in range(targets.shape[0]):
        root, rotation = read_vec_at(roots[k], 0), Quat(1.0, 0.0, 0.0, 0.0)
        shift = find_root_shift(first_positions[k], targets[k], reaches, is_leg)
        root = add(root, shift)
        for j in range(targets.shape[1]):
            shifted_position = add(read_vec_at(first_positions[k, j], 0), shift)
            first_positions[k, j, 0], first_positions[k, j, 1], first_positions[k, j, 2] = (
                shifted_position.x,
                shifted_position.y,
                shifted_position.z,
            )
        crouch_path = find_crouch_path(first_positions[k], targets[k], is_leg, folded_lengths)
        crouch_share = measure_crouch_share(first_positions[k], targets[k], is_leg, reaches, crouch_path)
        new_root, crouch_path, reach_factor = (
            root,
            scale(crouch_path, crouch_share),
            1.0 + REACH_STRETCH_SHARE * (1.0 - crouch_share),
        )
        depth, arm_count = norm(crouch_path), 0
        for j in range(targets.shape[1]):
            arm_count += 0 if is_leg[j] else 1
        for step in range(LEAN_STEPS + 1):
            lean_share, all_reached = step / LEAN_STEPS, True
            rotation, new_root = Quat(1.0, 0.0, 0.0, 0.0), add(root, scale(crouch_path, lean_share * lean_share))
            for j in range(targets.shape[1]):
                if not is_leg[j]:
                    target_offset = sub(read_vec_at(targets[k, j], 0), new_root)
                    if depth > 0.0:
                        level_part = perpendicular_part(target_offset, scale(crouch_path, 1.0 / depth))
                        level_length = norm(level_part)
                        hip_shift = (
                            scale(level_part, -LEAN_BACK_RATIO * lean_share * depth / (arm_count * level_length))
                            if level_length > 0.0
                            else level_part
                        )
                        new_root, target_offset = add(new_root, hip_shift), sub(target_offset, hip_shift)
                    shoulder = rotate(rotation, sub(read_vec_at(first_positions[k, j], 0), root))
                    lean_rotation, is_reached = find_lean_rotation(
                        shoulder, target_offset, reaches[j] * reach_factor, MAX_LEAN_RAD * lean_share
                    )
                    rotation, all_reached = multiply(lean_rotation, rotation), all_reached and is_reached
            if all_reached:
                break
        placements[k, 0], placements[k, 1], placements[k, 2] = new_root.x, new_root.y, new_root.z
        placements[k, 3], placements[k, 4], placements[k, 5], placements[k, 6] = (
            rotation.w,
            rotation.x,
            rotation.y,
            rotation.z,
        )


# --- Crouch of a standing character towards low targets --------------------------------------------------------------
#
# The knees bend, the hips move back and the trunk bends forward.
#
# The smallest rotation would let the trunk fall sideways to reach the floor beside a foot. People bend forward: the
# lower the target, the less the trunk leans in another direction. The pelvis rotates by half of the forward bend, the
# spine by the rest, because human hips bend no further with straight knees.
#
# Crouch and bend grow together along a path from standing to the deepest crouch. Towards what is as high as the hips
# the trunk leans first: the way down grows with the square of the path's share. Towards what lies low and ahead of the
# feet the knees bend first: the bend ahead grows with that square. What lies at the feet is reached by a fold
# of the hips with nearly straight knees, which bend only where the fold is at its end; the hips move back above it so
# that the weight stays over the feet. Towards what lies behind the feet the trunk stays more upright, because a bow
# takes shoulders away from it. The smallest share with all arms in reach is taken.


CROUCH_STEPS = 32  # steps tried from standing to the deepest crouch
# Forward bend of the deepest crouch and of a fold with straight knees [rad]; the pelvis' share of it. Hips bend by 90
# degrees with straight knees, the spine by 105 (Kapandji, volumes 2 and 3).
MAX_FORWARD_BEND_RAD, MAX_FOLD_RAD, PELVIS_BEND_SHARE = math.radians(85.0), math.radians(180.0), 0.5
# Arm lengths of targets ahead of the feet: folded for below the first, crouched for beyond the second.
FULL_FOLD_AHEAD, NO_FOLD_AHEAD = 0.25, 0.55
FOLD_SHARE_OF_HANDS = 0.7  # of a fold for both hands, a quarter of it for one; the rest is a crouch
FOLD_END_SHARE = 0.5  # of the path, on which a fold is at its end
# Hip movement back of a fold, and what knees give, in hip heights for a pelvis that is bent by 90 degrees.
FOLD_BACK_SHARE, FOLD_KNEE_SHARE = 0.2, 0.01
# Arm lengths of targets behind the feet for which the trunk stays most upright; what is left of its bow.
FULL_BEHIND_ARMS, BEHIND_BOW_SHARE = 0.5, 0.6
CROUCH_BACK_RATIO = 0.4  # hip movement back per movement down
# Smallest hip to foot distance in leg lengths: high targets, targets on the floor.
MIN_LEG_SHARE_HIGH, MIN_LEG_SHARE_LOW = 0.45, 0.35
# Hip heights of a foot above the lowest one: from the first on it bears less, from the second on nothing.
MIN_RAISED_SHARE, FULL_RAISED_SHARE = 0.05, 0.3
# Largest lean besides the forward bend [rad], for targets at the hips and on the floor.
MAX_SIDE_LEAN_HIGH_RAD, MAX_SIDE_LEAN_LOW_RAD = math.radians(100.0), math.radians(22.0)
# Share of the height from hips to feet; the forward bend is complete for targets at this depth or below.
FULL_BEND_DEPTH_SHARE = 0.5
REACH_SLACK_FACTOR = 1.0 + 1e-9  # factor on a reach; allows rounding
MIN_HEIGHT_SHARE = 1e-9  # share of the height from hips to feet; shorter vectors have no direction


class StandingBody(NamedTuple):
    """A standing body: hips, three axes and its crouch parameters.

    The axes are the level facing direction, up and the lateral axis.

    back_direction  level unit vector of the hips' movement back
    hip_height      height of the hips above the feet that bear them
    back_offset     how far the hips are behind these
    max_descent     largest movement of the hips down
    target_depth    depth of its targets, 0 to 1
    fold_share      how much it folds at the hips instead of crouching, 0 to 1
    bow_share       how much of the forward bend brings shoulders nearer to the targets, 0 to 1
    lean_share      how much the trunk leans before the knees bend, 0 to 1: towards what is high and not behind
    """

    hips: Vec
    facing: Vec
    up: Vec
    lateral: Vec
    back_direction: Vec
    hip_height: float
    back_offset: float
    max_descent: float
    target_depth: float
    fold_share: float
    bow_share: float
    lean_share: float


class Crouch(NamedTuple):
    """A crouch: hip position, pelvis and spine bend, side lean.

    `pelvis_bend` is the forward rotation of the pelvis, `spine_bend` that of each spine joint; `side_lean` follows
    both.

    reach_excess  largest missing arm length; negative where all arms reach
    """

    hips: Vec
    pelvis_bend: float
    spine_bend: float
    side_lean: Quat
    reach_excess: float


@device_function
def average_points(points):
    """Return the mean of points (n, 3)."""
    point_sum = Vec(0.0, 0.0, 0.0)
    for i in range(points.shape[0]):
        point_sum = add(point_sum, read_vec(points, i))
    return scale(point_sum, 1.0 / points.shape[0])


@device_function
def measure_raised_share(feet, i, up, hip_height):
    """Measure the height of foot i above the lowest one. 0 where it stands beside it, 1 where it bears nothing."""
    height, least = dot(read_vec(feet, i), up), math.inf
    for j in range(feet.shape[0]):
        least = min(least, dot(read_vec(feet, j), up))
    if not hip_height > 0.0:
        return 0.0
    return smoothstep_between((height - least) / hip_height, MIN_RAISED_SHARE, FULL_RAISED_SHARE)


@device_function
def find_support(hips, feet, up):
    """Return the mean of standing feet. Raised feet count less."""
    least = math.inf
    for j in range(feet.shape[0]):
        least = min(least, dot(read_vec(feet, j), up))
    hip_height, point_sum, weight_sum = dot(hips, up) - least, Vec(0.0, 0.0, 0.0), 0.0
    for j in range(feet.shape[0]):
        weight = 1.0 - measure_raised_share(feet, j, up, hip_height)
        point_sum, weight_sum = add(point_sum, scale(read_vec(feet, j), weight)), weight_sum + weight
    return scale(point_sum, 1.0 / weight_sum)


@device_function
def measure_target_depth(hips, support, shoulders, hands, facing, up, reaches):
    """Measure depths of targets, and their distance ahead.

    Return the depth (0..1) of the lowest target out of reach, the sum of all depths, and how far ahead of the feet they
    are, in reaches. The depth is 0 above the hips and 1 far below. The deeper a target, the more its distance counts.
    """
    max_depth, target_depth = FULL_BEND_DEPTH_SHARE * dot(sub(hips, support), up), 0.0
    ahead_sum, depth_sum = 0.0, 0.0
    if not max_depth > 0.0:
        return 0.0, 0.0, 0.0
    for j in range(hands.shape[0]):
        hand = read_vec(hands, j)
        depth = smoothstep_between(dot(sub(hips, hand), up), 0.0, max_depth)
        ahead_sum += depth * dot(sub(hand, support), facing) / reaches[j]
        depth_sum += depth
        if norm(sub(hand, read_vec(shoulders, j))) > reaches[j]:
            target_depth = max(target_depth, depth)
    return target_depth, depth_sum, ahead_sum / depth_sum if depth_sum > 0.0 else 0.0


@device_function
def build_standing_body(hips, facing, up, target_depth, depth_sum, ahead, leg_roots, feet, leg_lengths, hands):
    """Build the StandingBody of a character. It can descend until a leg is folded, and moves back from its targets.

    The lower the targets, the more the hips move straight back.

    depth_sum  of all targets: a hand alone folds less, and the knees do the rest
    ahead      how far targets are ahead of the feet, in reaches
    """
    support, max_descent = find_support(hips, feet, up), math.inf
    offset = sub(hips, support)
    hip_height = dot(offset, up)
    for j in range(leg_roots.shape[0]):
        folded_length = leg_lengths[j] * (target_depth * MIN_LEG_SHARE_LOW + (1.0 - target_depth) * MIN_LEG_SHARE_HIGH)
        descent = norm(sub(read_vec(feet, j), read_vec(leg_roots, j))) - folded_length
        max_descent = min(max_descent, max(descent, 0.0) + measure_raised_share(feet, j, up, hip_height) * hip_height)
    level_part = perpendicular_part(sub(average_points(hands), hips), up)
    back_direction = add(scale(level_part, target_depth - 1.0), scale(facing, -target_depth * hip_height))
    back_length = norm(back_direction)
    back_direction = (
        scale(back_direction, 1.0 / back_length) if back_length > MIN_HEIGHT_SHARE * hip_height else Vec(0.0, 0.0, 0.0)
    )
    behind = smoothstep_between(-ahead, 0.0, FULL_BEHIND_ARMS)
    return StandingBody(
        hips, facing, up, cross(up, facing), back_direction, hip_height, dot(offset, back_direction),
        max(max_descent, 0.0), target_depth,
        target_depth
        * min(0.25 * FOLD_SHARE_OF_HANDS * depth_sum * depth_sum, 1.0)
        * (1.0 - smoothstep_between(ahead, FULL_FOLD_AHEAD, NO_FOLD_AHEAD))
        * (1.0 - behind),
        1.0 - behind * (1.0 - BEHIND_BOW_SHARE),
        (1.0 - target_depth) * (1.0 - behind),
    )  # fmt: skip


class Bend(NamedTuple):
    """Bend of a pelvis and of spine joints, as cosines and sines."""

    pelvis_cosine: float
    pelvis_sine: float
    spine_cosine: float
    spine_sine: float


@device_function
def bend_forward(body, spine, shoulder, bend):
    """Return the shoulder relative to the hips after bending forward.

    All rotations are about the lateral axis of the body: components along it stay, the rest rotates in a plane.
    """
    shoulder_vector, segment_start = Vec(0.0, 0.0, 0.0), body.hips
    cosine, sine, bend_cosine, bend_sine = bend.pelvis_cosine, bend.pelvis_sine, bend.spine_cosine, bend.spine_sine
    for i in range(spine.shape[0] + 1):
        segment_end = read_vec(spine, i) if i < spine.shape[0] else shoulder
        segment = sub(segment_end, segment_start)
        facing_part, up_part = dot(segment, body.facing), dot(segment, body.up)
        shoulder_vector = add(shoulder_vector, scale(body.lateral, dot(segment, body.lateral)))
        shoulder_vector = add(
            shoulder_vector,
            add(
                scale(body.facing, cosine * facing_part + sine * up_part),
                scale(body.up, cosine * up_part - sine * facing_part),
            ),
        )
        segment_start, cosine, sine = (
            segment_end,
            cosine * bend_cosine - sine * bend_sine,
            sine * bend_cosine + cosine * bend_sine,
        )
    return shoulder_vector


@device_function
def find_descent_and_bend(body, crouch_share):
    """Return ways down and back and the bend of a crouch.

    The bend is that ahead [rad]. The way down grows with the square where the trunk leans first.
    """
    fold = crouch_share / FOLD_END_SHARE
    beyond = max(crouch_share - FOLD_END_SHARE, 0.0) / (1.0 - FOLD_END_SHARE)
    fold_bend = MAX_FOLD_RAD * fold * (2.0 - fold) if fold < 1.0 else MAX_FOLD_RAD
    fold_bend += (MAX_FORWARD_BEND_RAD - MAX_FOLD_RAD) * beyond * beyond * beyond * beyond
    bend = MAX_FORWARD_BEND_RAD * crouch_share * crouch_share
    way = body.max_descent * (crouch_share + body.fold_share * (beyond * beyond - crouch_share))
    return (
        way * (1.0 - body.lean_share * (1.0 - crouch_share)),
        CROUCH_BACK_RATIO * body.bow_share * way,
        body.target_depth * body.bow_share * (bend + body.fold_share * (fold_bend - bend)),
    )


@device_function
def move_hips_back(body, descent, way_back, pelvis_bend):
    """Return the hips after their way down and back. In a fold the legs stay nearly as long as they are."""
    sine = math.sin(min(pelvis_bend, 0.5 * math.pi)) * body.fold_share
    back = FOLD_BACK_SHARE * body.hip_height * sine
    height2 = body.hip_height * body.hip_height - back * (2.0 * body.back_offset + back)
    drop = max(body.hip_height - math.sqrt(max(height2, 0.0)), 0.0) + FOLD_KNEE_SHARE * body.hip_height * sine
    return add(body.hips, sub(scale(body.back_direction, back + way_back), scale(body.up, descent + drop)))


@device_function
def compute_crouch(body, spine, shoulders, hands, reaches, crouch_share, limits_lean):
    """Compute the crouch for a share of the deepest one.

    With `limits_lean` the trunk leans by at most its limit, otherwise as far as needed.
    """
    spine_joint_count = spine.shape[0]
    descent, way_back, forward_bend = find_descent_and_bend(body, crouch_share)
    pelvis_share = PELVIS_BEND_SHARE if spine_joint_count else 1.0
    hips = move_hips_back(body, descent, way_back, pelvis_share * forward_bend)
    spine_bend = forward_bend * (1.0 - pelvis_share) / max(spine_joint_count, 1)
    max_lean = (body.target_depth * MAX_SIDE_LEAN_LOW_RAD + (1.0 - body.target_depth) * MAX_SIDE_LEAN_HIGH_RAD) * (
        crouch_share * body.bow_share
    )
    side_lean, reach_excess = Quat(1.0, 0.0, 0.0, 0.0), -math.inf
    pelvis_bend = pelvis_share * forward_bend
    bend = Bend(math.cos(pelvis_bend), math.sin(pelvis_bend), math.cos(spine_bend), math.sin(spine_bend))
    first_shoulder = bend_forward(body, spine, read_vec(shoulders, 0), bend)  # of a lone hand it takes most of the time
    for j in range(hands.shape[0]):
        shoulder = first_shoulder if j == 0 else bend_forward(body, spine, read_vec(shoulders, j), bend)
        lean_rotation, _ = find_lean_rotation(
            rotate(side_lean, shoulder), sub(read_vec(hands, j), hips), 0.0 if limits_lean else reaches[j], max_lean
        )
        side_lean = multiply(lean_rotation, side_lean)
    for j in range(hands.shape[0]):
        shoulder = first_shoulder if j == 0 else bend_forward(body, spine, read_vec(shoulders, j), bend)
        reach_excess = max(
            reach_excess,
            norm(sub(sub(read_vec(hands, j), hips), rotate(side_lean, shoulder))) - reaches[j] * REACH_SLACK_FACTOR,
        )
    return Crouch(hips, pelvis_bend, spine_bend, side_lean, reach_excess)


@device_function
def find_min_crouch(body, spine, shoulders, hands, reaches):
    """Find the smallest crouch share with all arms in reach. Return 1 where there is none.

    It is interpolated linearly between two steps, so poses change continuously.
    """
    previous_excess = 0.0
    for step in range(CROUCH_STEPS + 1):
        reach_excess = compute_crouch(body, spine, shoulders, hands, reaches, step / CROUCH_STEPS, True).reach_excess
        if reach_excess <= 0.0:
            return (step - 1 + previous_excess / (previous_excess - reach_excess)) / CROUCH_STEPS if step else 0.0
        previous_excess = reach_excess
    return 1.0


@kernel("F2 F3 F2 F1 F3 F3 F1 F3 F3 F1 wF1 wF2 wF1 ->")
def compute_crouches(
    hips,
    spine,
    facings,
    up,
    leg_roots,
    feet,
    leg_lengths,
    shoulders,
    hands,
    reaches,
    target_depths,
    hip_placements,
    spine_bends,
):
    """Fill target_depths (k,) and compute the crouches.

    hip_placements (k, 7) and spine_bends (k,) are filled only where the depth is above 0.

    hips            (k, 3)     positions of the hips, the centre of the pelvis' rotation
    spine           (k, s, 3)  positions of the spine joints, from the pelvis up
    facings         (k, 3)     facing direction of the pelvis: level, unit length
    up              (3,)       against gravity
    leg_roots       (k, l, 3)  positions of the legs' first joints
    feet            (k, l, 3)  positions of their feet
    leg_lengths     (l,)       lengths of the legs
    shoulders       (k, a, 3)  positions of the arms' first joints
    hands           (k, a, 3)  targets of the hands
    reaches         (a,)       reach of each arm
    hip_placements  (k, 7)     position of the hips, and the pelvis' rotation about them
    spine_bends     (k,)       forward bend of each spine joint [rad], applied before the pelvis' rotation
    """
    up_vector = Vec(up[0], up[1], up[2])
    for k in range(hips.shape[0]):
        facing = read_vec(facings, k)
        support = find_support(read_vec(hips, k), feet[k], up_vector)
        target_depth, depth_sum, ahead = measure_target_depth(
            read_vec(hips, k), support, shoulders[k], hands[k], facing, up_vector, reaches
        )
        target_depths[k] = target_depth
        if not target_depth > 0.0:
            continue
        body = build_standing_body(
            read_vec(hips, k),
            facing,
            up_vector,
            target_depth,
            depth_sum,
            ahead,
            leg_roots[k],
            feet[k],
            leg_lengths,
            hands[k],
        )
        crouch_share = find_min_crouch(body, spine[k], shoulders[k], hands[k], reaches)
        crouch = compute_crouch(body, spine[k], shoulders[k], hands[k], reaches, crouch_share, False)
        write_vec_at(hip_placements[k], 0, crouch.hips)
        write_quat_at(
            hip_placements[k], 3, multiply(crouch.side_lean, from_axis_angle(body.lateral, crouch.pelvis_bend))
        )
        spine_bends[k] = crouch.spine_bend
