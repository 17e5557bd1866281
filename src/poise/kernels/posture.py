# pyright: standard
"""Natural posture: bend directions of a character's limbs.

NATURAL_BEND_ALONG is the usual direction of a limb, NATURAL_BEND_SIDE its bend side there. The smallest rotation from
this direction to the actual limb direction carries the bend side along. A leg swung forward then lifts its knee, a leg
lifted sideways keeps it in front; one with its foot ahead or behind and no wanted rotation bends in the upright plane
through hip and foot, as legs of people do who sit with feet apart. A raised arm moves its elbow from behind to below
and outward. The rotation is undefined opposite to NATURAL_BEND_ALONG, behind the head. An arm that points there bends
outward, ahead and up. Where an elbow would otherwise come above both shoulder and hand, it is rotated about the line
between them until it is not.

Two more terms count. A limb bent at the start with a nearby target keeps its bend direction, transported in the same
way. A tip with a wanted rotation minimises its own joint rotation: that rotation is applied to
NATURAL_BEND_STRAIGHT, the direction of the bone above at rest, and NATURAL_BEND_AHEAD, the bend side there.
"""

from __future__ import annotations

import math

from poise.kernels import layout
from poise.kernels.device_functions import device_function
from poise.kernels.entries import kernel
from poise.kernels.posture_clearance import clear_bend_side, find_middle_circle
from poise.kernels.posture_maps import map_direction, read_origin
from poise.kernels.smoothing import smoothstep_between
from poise.kernels.vec_quat import Vec, add, conjugate, cross, dot, norm, read_quat_at, read_vec_at, rotate, scale, sub

# Columns of `map_indices`: the maps of the body and of the joints of a limb.
BODY_MAP, FIRST_JOINT_MAP, MIDDLE_JOINT_MAP, TIP_MAP = 0, 1, 2, 3
MIN_LENGTH_SHARE = 1e-9  # share of the limb's length; shorter vectors have no direction
OPPOSITE_COSINE_GAP = 1e-6  # 1 + cosine of the angle; below it the smallest rotation is undefined
# Share of the limb's length from the middle joint to the chord, at a bend of 2 and 6 degrees: the current bend side
# counts 0 below the first and fully above the second.
MIN_BULGE_SHARE, FULL_BULGE_SHARE = 0.009, 0.026
# Share of the elbow's vertical range: the elbow stays so far below the higher of shoulder and hand.
ELBOW_MARGIN_SHARE = 0.01
# Parts of the chord's direction, behind the body (of a leg also ahead) and towards its middle: an elbow goes outward, a
# leg upright from the first on, fully from the second on. An arm that swings in a walk goes back and not inward.
MIN_LEVEL, FULL_LEVEL, MIN_INWARD, FULL_INWARD = 0.2, 0.7, 0.0, 0.7
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
    front, out, up  of the body
    """
    rise = dot(chord, up)
    opposite = smoothstep_between(1.0 + dot(along, chord), FULL_TRANSPORT_GAP, 0.0)
    behind = smoothstep_between(-dot(chord, front), MIN_LEVEL, FULL_LEVEL)
    outward = max(opposite, behind * smoothstep_between(-dot(chord, out), MIN_INWARD, FULL_INWARD))
    way = add(out, add(scale(up, DOWN_RATIO * min(rise, 0.0)), scale(front, AHEAD_RATIO * max(rise, 0.0))))
    side = add(scale(side, 1.0 - opposite), scale(perpendicular_part(way, chord), OUTWARD_WEIGHT * outward))
    return side, outward * smoothstep_between(rise, 0.0, FULL_RISE)


@device_function
def hold_leg_upright(side, along, chord, front, out):
    """Turn the bend side of a leg into its upright plane.

    The plane goes through hip and foot, and counts ahead and behind. A folded leg behind hangs. A knee ahead that is
    inward of the plane is above the line to the foot; one that is outward stays there, as those of legs that cross and
    of feet that point outward.
    """
    ahead, upright = dot(chord, front), perpendicular_part(along, chord)
    size, aside = norm(upright), cross(chord, upright)
    is_outward = dot(side, aside) * dot(out, aside) > 0.0
    if not size > MIN_LENGTH_SHARE or (ahead > 0.0 and is_outward):
        return side
    share = smoothstep_between(abs(ahead), MIN_LEVEL, FULL_LEVEL)
    return add(scale(side, 1.0 - share), scale(upright, math.copysign(share / size, -ahead)))


@device_function
def read_body_direction(maps, map_indices, natural_bend, column, lean):
    """Return a world direction of the body without its lean."""
    way = map_direction(maps, map_indices[BODY_MAP], read_vec_at(natural_bend, column))
    if lean.x == 0.0 and lean.y == 0.0 and lean.z == 0.0:
        return way
    return rotate(conjugate(lean), way)


@device_function
def find_natural_side(maps, map_indices, natural_bend, target, chord, chord_length, lean):
    """Return the bend side preferred by the body and the tip's rotation. Its length is arbitrary."""
    along = read_body_direction(maps, map_indices, natural_bend, layout.NATURAL_BEND_ALONG, lean)
    side = read_body_direction(maps, map_indices, natural_bend, layout.NATURAL_BEND_SIDE, lean)
    front = read_body_direction(maps, map_indices, natural_bend, layout.NATURAL_BEND_FRONT, lean)
    out = read_body_direction(maps, map_indices, natural_bend, layout.NATURAL_BEND_OUT, lean)
    up = read_body_direction(maps, map_indices, natural_bend, layout.NATURAL_BEND_UP, lean)
    side, raised_share = parallel_transport(along, chord, side), 0.0
    if dot(up, up) > 0.0:
        side, raised_share = turn_side_behind(side, along, chord, front, out, up)
    elif not target.shape[0] > 3:  # knees of feet that are turned follow their toes
        side = hold_leg_upright(side, along, chord, front, out)
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


@kernel("F2 I1 F1 F2 F2 F3 F2 wF2 ->")
def compute_poles(maps, map_indices, natural_bend, targets, leans, capsules, floors, poles):
    """Fill poles (k, 3) for the middle joints.

    maps          (1|k, 12 n)  world transforms of joints in the start poses
    map_indices   (4,)         numbers of the maps of body, first joint, middle joint and tip
    natural_bend  (NATURAL_BEND_ROW,)  the columns NATURAL_BEND_ of layout.py
    targets       (k, 3|7)     of the tip: x y z, w x y z
    leans         (1|k, 4)     by what the body has turned, which limbs do not see
    capsules      (1|k, c, 7)  of the body, which the lower bone keeps clear of: both ends of an axis, and a radius
    floors        (1|k, 4)     up x y z, and the height of the floor; -inf where there is none
    """
    limb_length, radius = natural_bend[layout.NATURAL_BEND_LENGTH], natural_bend[layout.NATURAL_BEND_RADIUS]
    upper_length = natural_bend[layout.NATURAL_BEND_UPPER_LENGTH]
    up = read_vec_at(natural_bend, layout.NATURAL_BEND_UP)
    is_leg = not dot(up, up) > 0.0
    for k in range(targets.shape[0]):
        pose_maps, lean = maps[k if maps.shape[0] > 1 else 0], read_quat_at(leans[k if leans.shape[0] > 1 else 0], 0)
        first_position = read_origin(pose_maps, map_indices[FIRST_JOINT_MAP])
        chord_vector = sub(read_vec_at(targets[k], 0), first_position)
        chord_length = norm(chord_vector)
        # A target at the limb's first joint has no chord direction: keep the current one.
        if not chord_length > MIN_LENGTH_SHARE * limb_length:
            chord_vector = sub(read_origin(pose_maps, map_indices[TIP_MAP]), first_position)
            chord_length = max(norm(chord_vector), MIN_LENGTH_SHARE * limb_length)
        chord = scale(chord_vector, 1.0 / chord_length)
        side = find_natural_side(pose_maps, map_indices, natural_bend, targets[k], chord, chord_length, lean)
        side_length = norm(side)
        side = scale(side, 1.0 / side_length) if side_length > 0.0 else side
        current_side, side_weight = find_current_side(
            pose_maps, map_indices, chord, chord_length, limb_length, natural_bend[layout.NATURAL_BEND_REST_BULGE]
        )
        side = add(scale(side, 1.0 - side_weight), scale(current_side, side_weight))
        side_length = norm(side)
        side = scale(side, 1.0 / side_length) if side_length > 0.0 else side
        outward = read_body_direction(pose_maps, map_indices, natural_bend, layout.NATURAL_BEND_OUT, lean)
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
