# pyright: standard
"""Roots of figures within reach, and turned spines.

The root moves until the legs reach their feet. Where an arm is too short for a low target, the figure crouches
(posture_crouch.py); towards other targets it leans step by step.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function
from poise.kernels.entries import kernel
from poise.kernels.posture import perpendicular_part
from poise.kernels.posture_crouch import crouch, find_lean_rotation
from poise.kernels.posture_maps import read_origin, unmap_turn
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
    read_vec,
    read_vec_at,
    rotate,
    scale,
    sub,
    write_quat_at,
    write_vec,
    write_vec_at,
)

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


@device_function
def place_root(root, first_positions, targets, is_leg, folded_lengths, reaches):
    """Place a root for all limbs to reach their targets. Return its position and rotation.

    root             position of the root
    first_positions  (l, 3)  positions of the limbs' first joints; they move with the root
    targets          (l, 3)  positions of their tips' targets
    is_leg           (l,)    whether a limb is a leg
    folded_lengths   (l,)    smallest distance of a leg's first joint from its foot
    reaches          (l,)    reach of each limb

    First the root moves until the legs reach their feet. Then, where an arm is too short, the character crouches and
    leans step by step: the hips move back and the trunk rotates about them, each by the same share of its maximum, and
    the knees bend by its square. The smallest share with all arms in reach is taken. High targets cause no crouch:
    it would move the shoulder away from them.
    """
    rotation, arm_count = Quat(1.0, 0.0, 0.0, 0.0), 0
    root = add(root, move_first_joints(first_positions, targets, reaches, is_leg))
    crouch_path = find_crouch_path(first_positions, targets, is_leg, folded_lengths)
    crouch_share = measure_crouch_share(first_positions, targets, is_leg, reaches, crouch_path)
    crouch_path, reach_factor = scale(crouch_path, crouch_share), 1.0 + REACH_STRETCH_SHARE * (1.0 - crouch_share)
    new_root, depth = root, norm(crouch_path)
    for j in range(targets.shape[0]):
        arm_count += 0 if is_leg[j] else 1
    for step in range(LEAN_STEPS + 1):
        lean_share, all_reached = step / LEAN_STEPS, True
        rotation, new_root = Quat(1.0, 0.0, 0.0, 0.0), add(root, scale(crouch_path, lean_share * lean_share))
        for j in range(targets.shape[0]):
            if not is_leg[j]:
                target_offset = sub(read_vec(targets, j), new_root)
                if depth > 0.0:
                    level_part = perpendicular_part(target_offset, scale(crouch_path, 1.0 / depth))
                    level_length = norm(level_part)
                    hip_shift = (
                        scale(level_part, -LEAN_BACK_RATIO * lean_share * depth / (arm_count * level_length))
                        if level_length > 0.0
                        else level_part
                    )
                    new_root, target_offset = add(new_root, hip_shift), sub(target_offset, hip_shift)
                shoulder = rotate(rotation, sub(read_vec(first_positions, j), root))
                lean_rotation, is_reached = find_lean_rotation(
                    shoulder, target_offset, reaches[j] * reach_factor, MAX_LEAN_RAD * lean_share
                )
                rotation, all_reached = multiply(lean_rotation, rotation), all_reached and is_reached
        if all_reached:
            break
    return new_root, rotation


@device_function
def move_first_joints(first_positions, targets, reaches, is_leg):
    """Move the first joints (l, 3) of limbs until legs reach. Return the way of the root."""
    shift = find_root_shift(first_positions, targets, reaches, is_leg)
    for j in range(first_positions.shape[0]):
        write_vec(first_positions, j, add(read_vec(first_positions, j), shift))
    return shift


@device_function
def turn_about(point, centre, turn):
    """Turn a point about a centre. Without a turn it stays to the last bit."""
    if turn.x == 0.0 and turn.y == 0.0 and turn.z == 0.0:
        return point
    return add(centre, rotate(turn, sub(point, centre)))


@device_function
def read_first_joints(maps, limb_rows, first_positions):
    """Read the first joints (l, 3) of limbs from maps (12 n,)."""
    for j in range(limb_rows.shape[0]):
        write_vec(first_positions, j, read_origin(maps, limb_rows[j]))


@device_function
def average_legs(first_positions, is_leg):
    """Return the mean of the legs' first joints."""
    total, count = Vec(0.0, 0.0, 0.0), 0.0
    for j in range(is_leg.shape[0]):
        if is_leg[j]:
            total, count = add(total, read_vec(first_positions, j)), count + 1.0
    return Vec(total.x / count, total.y / count, total.z / count)


@device_function
def split_limbs(points, is_leg, legs, arms):
    """Split points (l, 3) into those of legs and arms."""
    leg, arm = 0, 0
    for j in range(is_leg.shape[0]):
        if is_leg[j]:
            write_vec(legs, leg, read_vec(points, j))
            leg += 1
        else:
            write_vec(arms, arm, read_vec(points, j))
            arm += 1


@device_function
def level_direction(v, up):
    """Return the level unit vector of a direction. An upright one gives zero."""
    v = perpendicular_part(v, up)
    size = norm(v)
    return Vec(v.x / size, v.y / size, v.z / size) if size > 0.0 else v


@kernel("F2 I1 I1 i F2 F3 B1 F2 F2 F1 F2 F2 sF2 sF3 wF1 wF2 wF2 wF1 wF2 ->")
def carry_roots(
    maps, limb_rows, spine_rows, root_row, root_turns, targets, is_leg, sizes, facings, up, turns, shifts, points,
    segments, shares, placements, leans, bends, axes,
):  # fmt: skip
    """Carry roots within reach of the tips' targets.

    maps        (1|k, 12 n)  world transforms of joints
    limb_rows   (l,)         numbers of the maps of the limbs' first joints
    spine_rows  (s,)         of the spine joints, from the pelvis up
    root_row                 of the root
    root_turns  (1|k, 4)     world rotations of the root
    targets     (k, l, 3)    places of hands and feet
    is_leg      (l,)         whether a limb is a leg; legs come first in `sizes`
    sizes       (4, l)       smallest distances of first joints from tips, reaches of all limbs, of legs alone (infinite
                             of arms), and lengths of legs, then reaches of arms
    facings     (k, 3)       level front of the pelvis
    up          (3,)         against gravity
    turns       (1|k, 4)     of the root about the hips before all else
    shifts      (1|k, 3)     of the root beside that, to be kept
    points      (4 l + s, 3) scratch memory
    segments    (a, s + 1, 3)  the same
    shares      (k,)         of crouches: those with hips close by or 0, then those that are found
    placements  (k, 7)       of the root
    leans       (k, 4)       by what it turned
    bends       (k,)         of each spine joint before the root turns [rad]
    axes        (k, 3)       of these bends
    """
    up_vector, limb_count, spine_count = Vec(up[0], up[1], up[2]), limb_rows.shape[0], spine_rows.shape[0]
    arm_count = segments.shape[0]
    leg_count = limb_count - arm_count
    first_positions, hung = points[:limb_count], points[limb_count : 2 * limb_count]
    roots, tips = points[2 * limb_count : 3 * limb_count], points[3 * limb_count : 4 * limb_count]
    spine = points[4 * limb_count :]
    for k in range(targets.shape[0]):
        own = maps[k if maps.shape[0] > 1 else 0]
        turn = read_quat_at(turns[k if turns.shape[0] > 1 else 0], 0)
        shift = read_vec_at(shifts[k if shifts.shape[0] > 1 else 0], 0)
        read_first_joints(own, limb_rows, first_positions)
        stood = average_legs(first_positions, is_leg)
        for j in range(limb_count):
            first = add(turn_about(read_vec(first_positions, j), stood, turn), shift)
            write_vec(first_positions, j, first)
            write_vec(hung, j, first)
        hips = add(stood, shift)
        place, lean = add(hips, move_first_joints(hung, targets[k], sizes[2], is_leg)), Quat(1.0, 0.0, 0.0, 0.0)
        bends[k] = 0.0
        write_vec_at(axes[k], 0, Vec(0.0, 0.0, 0.0))
        if arm_count > 0:
            moved = sub(place, stood)
            for i in range(spine_count):
                write_vec(spine, i, add(turn_about(read_origin(own, spine_rows[i]), stood, turn), moved))
            facing = level_direction(turn_about(read_vec_at(facings[k], 0), Vec(0.0, 0.0, 0.0), turn), up_vector)
            split_limbs(hung, is_leg, roots[:leg_count], roots[leg_count:])
            split_limbs(targets[k], is_leg, tips[:leg_count], tips[leg_count:])
            depth, shares[k], found = crouch(
                place, spine, facing, up_vector, roots[:leg_count], tips[:leg_count], sizes[3, :leg_count],
                roots[leg_count:], tips[leg_count:], sizes[3, leg_count:], segments, shares[k],
            )  # fmt: skip
            if depth > 0.0:
                lateral = cross(up_vector, facing)
                place, lean = found.hips, multiply(found.side_lean, from_axis_angle(lateral, found.pelvis_bend))
                bends[k] = found.spine_bend
                write_vec_at(axes[k], 0, turn_about(lateral, Vec(0.0, 0.0, 0.0), conjugate(turn)))
            else:
                place, lean = place_root(hips, first_positions, targets[k], is_leg, sizes[0], sizes[1])
        lean = multiply(lean, turn)
        offset = sub(read_origin(own, root_row), stood)
        write_vec_at(placements[k], 0, add(place, rotate(lean, offset)))
        write_quat_at(
            placements[k], 3, multiply(lean, read_quat_at(root_turns[k if root_turns.shape[0] > 1 else 0], 0))
        )
        write_quat_at(leans[k], 0, lean)


@kernel("F2 I1 F3 B1 F1 F2 sF2 wF2 ->")
def shift_roots(maps, limb_rows, targets, is_leg, reaches, shifts, first_positions, ways):
    """Limit shifts of roots to the reach of legs.

    maps             (1|k, 12 n)  world transforms of joints
    limb_rows        (l,)         numbers of the maps of the limbs' first joints
    targets          (k, l, 3)    places of hands and feet
    reaches          (l,)         of legs; infinite of arms
    shifts           (k, 3)       wanted ways of the root
    first_positions  (l, 3)       scratch memory
    ways             (k, 3)       what is left of them
    """
    for k in range(targets.shape[0]):
        shift = read_vec_at(shifts[k], 0)
        read_first_joints(maps[k if maps.shape[0] > 1 else 0], limb_rows, first_positions)
        for j in range(limb_rows.shape[0]):
            write_vec(first_positions, j, add(read_vec(first_positions, j), shift))
        write_vec_at(ways[k], 0, add(shift, find_root_shift(first_positions, targets[k], reaches, is_leg)))


@kernel("F2 I1 I1 F2 F1 wF2 ->")
def turn_spines(maps, joint_rows, q_columns, axes, angles, q):
    """Turn balls of poses q (k, nq) about world axes.

    maps        (1|k, 12 n)  world transforms of joints
    joint_rows  (s,)         numbers of their maps
    q_columns   (s,)         first columns of their rotations
    axes        (1|k, 3)     unit vectors
    angles      (k,)         of each joint [rad]; a pose with 0 stays as it is
    """
    for k in range(q.shape[0]):
        if angles[k] == 0.0:
            continue
        own, axis = maps[k if maps.shape[0] > 1 else 0], read_vec_at(axes[k if axes.shape[0] > 1 else 0], 0)
        for i in range(joint_rows.shape[0]):
            local = unmap_turn(own, joint_rows[i], axis)
            size, rotation = norm(local), read_quat_at(q[k], q_columns[i])
            if size > 0.0:
                rotation = multiply(rotation, from_axis_angle(scale(local, 1.0 / size), angles[k]))
            write_quat_at(q[k], q_columns[i], rotation)
