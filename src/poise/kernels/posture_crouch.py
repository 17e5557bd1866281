# pyright: standard
"""Crouch of a standing character towards low targets.

The knees bend, the hips move back and the trunk bends forward.

The smallest rotation would let the trunk fall sideways to reach the floor beside a foot. People bend forward: the
lower the target, the less the trunk leans in another direction. The pelvis rotates by half of the forward bend, the
spine by the rest, because human hips bend no further with straight knees.

Crouch and bend grow together along a path from standing to the deepest crouch. Towards what is as high as the hips
the trunk leans first: the way down grows with the square of the path's share. Towards what lies low and ahead of the
feet the knees bend first: the bend ahead grows with that square. What lies at the feet is reached by a fold
of the hips with nearly straight knees, which bend only where the fold is at its end; the hips move back above it so
that the weight stays over the feet. Towards what lies behind the feet the trunk stays more upright, because a bow
takes shoulders away from it. The smallest share with all arms in reach is taken.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from poise.kernels.device_functions import device_function
from poise.kernels.posture import MIN_LENGTH_SHARE, perpendicular_part
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
    read_vec,
    rotate,
    scale,
    sub,
    write_vec,
)

CROUCH_STEPS = 32  # steps tried from standing to the deepest crouch
NEAR_STEPS = 4  # of these, before the crouch of hips close by: there a search begins
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
def fill_segments(body, spine, shoulder, segments):
    """Fill segments (s + 1, 3) from hips to shoulder.

    They go along the spine. Their parts are ahead, up and along the lateral axis of the body.
    """
    start = body.hips
    for i in range(segments.shape[0]):
        end = read_vec(spine, i) if i < spine.shape[0] else shoulder
        segment = sub(end, start)
        write_vec(segments, i, Vec(dot(segment, body.facing), dot(segment, body.up), dot(segment, body.lateral)))
        start = end


@device_function
def bend_forward(body, segments, bend):
    """Return the shoulder relative to the hips after bending forward.

    All rotations are about the lateral axis of the body: components along it stay, the rest rotates in a plane.

    segments  see `fill_segments`
    """
    ahead, height, aside = 0.0, 0.0, 0.0
    for i in range(segments.shape[0] - 1, -1, -1):  # from the shoulder down, as Horner's rule does
        ahead, height, aside = (
            segments[i, 0] + bend.spine_cosine * ahead + bend.spine_sine * height,
            segments[i, 1] + bend.spine_cosine * height - bend.spine_sine * ahead,
            segments[i, 2] + aside,
        )
    return add(
        scale(body.lateral, aside),
        add(
            scale(body.facing, bend.pelvis_cosine * ahead + bend.pelvis_sine * height),
            scale(body.up, bend.pelvis_cosine * height - bend.pelvis_sine * ahead),
        ),
    )


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
def bend_body(body, spine_joint_count, crouch_share):
    """Return hips and bends of a crouch.

    The bends are those of the pelvis and of each spine joint.
    """
    descent, way_back, forward_bend = find_descent_and_bend(body, crouch_share)
    pelvis_share = PELVIS_BEND_SHARE if spine_joint_count else 1.0
    pelvis_bend = pelvis_share * forward_bend
    hips = move_hips_back(body, descent, way_back, pelvis_bend)
    return hips, pelvis_bend, forward_bend * (1.0 - pelvis_share) / max(spine_joint_count, 1)


@device_function
def make_bend(pelvis_bend, spine_bend):
    """Return the cosines and sines of a bend."""
    return Bend(math.cos(pelvis_bend), math.sin(pelvis_bend), math.cos(spine_bend), math.sin(spine_bend))


@device_function
def compute_crouch(body, segments, hands, reaches, crouch_share, limits_lean):
    """Compute the crouch for a share of the deepest one.

    With `limits_lean` the trunk leans by at most its limit, otherwise as far as needed.

    segments  (a, s + 1, 3) of the arms; see `fill_segments`
    """
    hips, pelvis_bend, spine_bend = bend_body(body, segments.shape[1] - 1, crouch_share)
    max_lean = measure_max_lean(body, crouch_share)
    side_lean, reach_excess, bend = Quat(1.0, 0.0, 0.0, 0.0), -math.inf, make_bend(pelvis_bend, spine_bend)
    for j in range(hands.shape[0]):
        shoulder = rotate(side_lean, bend_forward(body, segments[j], bend))
        lean_rotation, _ = find_lean_rotation(
            shoulder, sub(read_vec(hands, j), hips), 0.0 if limits_lean else reaches[j], max_lean
        )
        side_lean = multiply(lean_rotation, side_lean)
    for j in range(hands.shape[0]):
        shoulder = rotate(side_lean, bend_forward(body, segments[j], bend))
        reach_excess = max(
            reach_excess, norm(sub(sub(read_vec(hands, j), hips), shoulder)) - reaches[j] * REACH_SLACK_FACTOR
        )
    return Crouch(hips, pelvis_bend, spine_bend, side_lean, reach_excess)


@device_function
def measure_max_lean(body, crouch_share):
    """Return the largest lean besides the forward bend [rad]."""
    low = body.target_depth * MAX_SIDE_LEAN_LOW_RAD
    return (low + (1.0 - body.target_depth) * MAX_SIDE_LEAN_HIGH_RAD) * (crouch_share * body.bow_share)


@device_function
def is_beyond_lean(body, segments, hands, reaches, crouch_share):
    """Return whether no lean brings an arm within reach.

    A lean turns a shoulder about the hips, by at most the largest one for each hand. That many steps need no more than
    this, which takes a quarter of the time of a crouch.
    """
    hips, pelvis_bend, spine_bend = bend_body(body, segments.shape[1] - 1, crouch_share)
    bend, max_lean = make_bend(pelvis_bend, spine_bend), measure_max_lean(body, crouch_share) * hands.shape[0]
    lean_cosine, lean_sine = math.cos(min(max_lean, math.pi)), math.sin(min(max_lean, math.pi))
    for j in range(hands.shape[0]):
        shoulder, hand = bend_forward(body, segments[j], bend), sub(read_vec(hands, j), hips)
        squares, product, cosine = (
            dot(shoulder, shoulder) + dot(hand, hand),
            norm(cross(shoulder, hand)),
            dot(shoulder, hand),
        )
        size = math.sqrt(cosine * cosine + product * product)
        leant = size if cosine >= size * lean_cosine else cosine * lean_cosine + product * lean_sine
        reach = reaches[j] * REACH_SLACK_FACTOR * REACH_SLACK_FACTOR
        if squares - 2.0 * leant > reach * reach:
            return True
    return False


@device_function
def find_min_crouch(body, segments, hands, reaches, near_share):
    """Find a crouch share with all arms in reach. Return 1 where there is none.

    It is interpolated linearly between two steps, so poses change continuously. A search from standing finds the
    smallest; one from nearby may stay in a deeper range where arms reach in two.

    near_share  that of hips close by, from a little before which the search begins; 0 where there are none. 1 says
                that they found none: it begins at standing
    """
    first = max(int(near_share * CROUCH_STEPS) - NEAR_STEPS, 0) if near_share < 1.0 else 0
    step = first
    while step <= CROUCH_STEPS:
        crouch_share, excess = step / CROUCH_STEPS, 1.0
        if not is_beyond_lean(body, segments, hands, reaches, crouch_share):
            excess = compute_crouch(body, segments, hands, reaches, crouch_share, True).reach_excess
        if excess <= 0.0 and step == 0:
            return 0.0
        if excess <= 0.0 and step > first:
            before = (step - 1) / CROUCH_STEPS
            excess_before = compute_crouch(body, segments, hands, reaches, before, True).reach_excess
            return before + excess_before / (excess_before - excess) / CROUCH_STEPS
        step += 1
        if excess <= 0.0 or (step > CROUCH_STEPS and first > 0):  # it is before the first step, or was left out
            first, step = 0, 0
    return 1.0


@device_function
def crouch(
    hips, spine, facing, up, leg_roots, feet, leg_lengths, shoulders, hands, reaches, segments, near_share
):  # fmt: skip
    """Crouch towards hands. Return the depth of the targets, the share of the crouch and the Crouch.

    Where the depth is 0, nothing is to crouch for.

    hips         centre of the pelvis' rotation
    spine        (s, 3)  positions of the spine joints, from the pelvis up
    facing       facing direction of the pelvis: level, unit length
    up           against gravity
    leg_roots    (l, 3)  positions of the legs' first joints
    feet         (l, 3)  positions of their feet
    leg_lengths  (l,)    lengths of the legs
    shoulders    (a, 3)  positions of the arms' first joints
    hands        (a, 3)  targets of the hands
    reaches      (a,)    reach of each arm
    segments     (a, s + 1, 3)  scratch memory
    near_share   see `find_min_crouch`
    """
    support = find_support(hips, feet, up)
    depth, depth_sum, ahead = measure_target_depth(hips, support, shoulders, hands, facing, up, reaches)
    if not depth > 0.0:
        return depth, 0.0, Crouch(hips, 0.0, 0.0, Quat(1.0, 0.0, 0.0, 0.0), 0.0)
    body = build_standing_body(hips, facing, up, depth, depth_sum, ahead, leg_roots, feet, leg_lengths, hands)
    for j in range(hands.shape[0]):
        fill_segments(body, spine, read_vec(shoulders, j), segments[j])
    share = find_min_crouch(body, segments, hands, reaches, near_share)
    return depth, share, compute_crouch(body, segments, hands, reaches, share, False)
