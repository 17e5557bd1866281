# pyright: standard
"""Free limbs and heads: keep their directions while the body tilts.

The carrier of a part, such as the chest of an arm, has turned between two poses. That rotation is a turn about the
vertical, then a tilt about a level axis. The part takes the tilt back; the turn stays. Where a joint of people would
go beyond its range, the part takes back less, with a smooth end. Of a carrier that stands on its head the tilt has no
unique axis: nothing is taken back there, and less and less on the way.
"""

from __future__ import annotations

import math

from poise.kernels import layout
from poise.kernels.device_functions import device_function
from poise.kernels.entries import kernel
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
    read_quat,
    read_quat_at,
    read_vec_at,
    rotate,
    rotation_between,
    scale,
    sub,
    write_quat_at,
)

MIN_TILT_RAD = 1e-12  # smaller tilts are rounding
FULL_TILT_RAD, NO_TILT_RAD = math.radians(120.0), math.pi  # tilts taken back in full, and not at all
SOFT_SHARE = 0.1  # share of a range in which its end is smooth
# Angles from the centre of a range: beyond the first a part goes back to where it was, at the second it is there.
# Opposite the centre no direction inside the range is the nearest.
FULL_OFFSET_RAD, NO_OFFSET_RAD = math.radians(130.0), math.pi

FULL_HANG_DROP = 0.5  # part of an arm's direction in the chest: from this one down on it hangs fully


@device_function
def combine(x, y, z, v):
    """Return v.x x + v.y y + v.z z."""
    return add(add(scale(x, v.x), scale(y, v.y)), scale(z, v.z))


@device_function
def project(x, y, z, v):
    """Return the products of v with three vectors."""
    return Vec(dot(x, v), dot(y, v), dot(z, v))


@device_function
def to_vector(q):
    """Return the rotation vector of a unit quaternion. Its length is the angle, 0 to pi."""
    v = Vec(q.x, q.y, q.z)
    sine = norm(v)
    if not sine > 0.0:
        return v
    return scale(v, 2.0 * math.atan2(math.copysign(sine, q.w), abs(q.w)) / sine)


@device_function
def from_vector(v):
    """Return the rotation of a rotation vector."""
    angle = norm(v)
    return from_axis_angle(scale(v, 1.0 / angle), angle) if angle > 0.0 else Quat(1.0, 0.0, 0.0, 0.0)


@device_function
def to_offset(direction, centre, first_axis, second_axis):
    """Return the angles from the centre of a range to a direction.

    They are along the first and the second axis.

    Opposite the centre they are undefined; the way there is then along the first axis.
    """
    sideways = Vec(dot(direction, first_axis), dot(direction, second_axis), 0.0)
    sine = norm(sideways)
    if not sine > 0.0:
        return Vec(0.0 if dot(direction, centre) > 0.0 else math.pi, 0.0, 0.0)
    return scale(sideways, math.atan2(sine, dot(direction, centre)) / sine)


@device_function
def measure_use(offset, ranges):
    """Return the used share of a range. It is 1 at the end.

    ranges  smallest and largest value of each coordinate, as positive numbers
    """
    x = offset.x / (ranges[0] if offset.x < 0.0 else ranges[1])
    y = offset.y / (ranges[2] if offset.y < 0.0 else ranges[3])
    z = offset.z / (ranges[4] if offset.z < 0.0 else ranges[5])
    return math.sqrt(x * x + y * y + z * z)


@device_function
def limit_use(use, start_use):
    """Return the use of a range after its smooth end. Nothing changes where it does not grow.

    The room that the start leaves is used in full but for its last part, where the slope falls to zero.
    """
    growth, room = use - start_use, max(1.0 - start_use, 0.0)
    if growth <= 0.0:
        return use
    soft = min(room, SOFT_SHARE)
    excess = growth - (room - soft)
    if excess <= 0.0:
        return use
    if excess >= 2.0 * soft:
        return start_use + room
    return start_use + room - soft + excess - excess * excess / (4.0 * soft)


@device_function
def measure_return(offset):
    """Return the share of a part's way back, 0 to 1.

    offset  from the centre of its range
    """
    return smoothstep_between(norm(offset), FULL_OFFSET_RAD, NO_OFFSET_RAD)


@device_function
def limit_offset(offset, start_offset, ranges):
    """Limit an offset from the centre of a range.

    It ends inside the range, or no further out than at the start.
    """
    use = measure_use(offset, ranges)
    new_use = limit_use(use, measure_use(start_offset, ranges))
    limited_offset = scale(offset, new_use / use) if new_use < use else offset
    return add(limited_offset, scale(sub(start_offset, limited_offset), measure_return(offset)))


@device_function
def keep_beside_trunk(bone, centre, up, across, least_out, trunk):
    """Turn a hanging arm outward until it is beside the trunk. One ahead or behind stays, and one that is raised.

    centre, across  level unit vectors: ahead and outward, ahead and inward
    least_out       part of its direction outward at which it touches the side of the trunk
    trunk           radius of the trunk, in lengths of the arm
    """
    ahead_axis, out_axis = scale(add(centre, across), math.sqrt(0.5)), scale(sub(centre, across), math.sqrt(0.5))
    ahead, out, rise = dot(bone, ahead_axis), dot(bone, out_axis), dot(bone, up)
    passed = ahead * ahead / (trunk * trunk)  # 1 where it is as far ahead as the trunk is thick
    least = least_out - 0.5 * trunk * (passed + passed * passed)  # nearly a circle
    if out >= least:
        return bone
    out += (least - out) * smoothstep_between(-rise, 0.0, FULL_HANG_DROP)
    beside = add(add(scale(ahead_axis, ahead), scale(out_axis, out)), scale(up, rise))
    return scale(beside, 1.0 / norm(beside))


@device_function
def limit_direction(turn, bone, least_out, trunk, numbers):
    """Limit the turn of a limb to its range. All is in the carrier's frame.

    The turn about the limb itself is kept, but as the limb goes back to where it was.
    """
    centre, first_axis, second_axis = (
        read_vec_at(numbers, layout.FREE_PART_AXES),
        read_vec_at(numbers, layout.FREE_PART_AXES + 3),
        read_vec_at(numbers, layout.FREE_PART_AXES + 6),
    )
    turned_bone = rotate(turn, bone)
    offset = to_offset(turned_bone, centre, first_axis, second_axis)
    start_offset = to_offset(bone, centre, first_axis, second_axis)
    limited_offset = limit_offset(offset, start_offset, numbers[layout.FREE_PART_RANGES :])
    limited_bone, is_limited = turned_bone, norm(sub(limited_offset, offset)) > 0.0
    if is_limited:
        angle = norm(limited_offset)
        sideways = add(scale(first_axis, limited_offset.x), scale(second_axis, limited_offset.y))
        sine = math.sin(angle) / angle if angle > 0.0 else 1.0
        limited_bone = add(scale(centre, math.cos(angle)), scale(sideways, sine))
    if trunk > 0.0:
        beside = keep_beside_trunk(limited_bone, centre, first_axis, second_axis, least_out, trunk)
        is_limited = is_limited or norm(sub(beside, limited_bone)) > 0.0
        limited_bone = beside
    if not is_limited:
        return turn
    twist = to_vector(multiply(conjugate(rotation_between(bone, turned_bone)), turn))
    return multiply(rotation_between(bone, limited_bone), from_vector(scale(twist, 1.0 - measure_return(offset))))


@device_function
def limit_rotation(turn, rotation, numbers):
    """Limit the turn of a head to its range. All is in the carrier's frame.

    rotation  the head's own at the start, from rest
    """
    x, y, z = (
        read_vec_at(numbers, layout.FREE_PART_AXES),
        read_vec_at(numbers, layout.FREE_PART_AXES + 3),
        read_vec_at(numbers, layout.FREE_PART_AXES + 6),
    )
    ranges = numbers[layout.FREE_PART_RANGES :]
    offset = project(x, y, z, to_vector(multiply(turn, rotation)))
    limited_offset = limit_offset(offset, project(x, y, z, to_vector(rotation)), ranges)
    if norm(sub(limited_offset, offset)) == 0.0:
        return turn
    return multiply(from_vector(combine(x, y, z, limited_offset)), conjugate(rotation))


@kernel("F3 F2 F3 F1 I2 F2 I2 F2 wF2 ->")
def turn_free_parts(references, reference_q, rotations, up, part_rows, part_numbers, joint_rows, joint_frames, q):
    """Turn free limbs and heads back to their directions in the world.

    references    (1|k, p, FREE_REFERENCE_ROW)  the parts in the poses whose directions they keep
    reference_q   (1|k, nq)                     those poses
    q             (k, nq)                       the poses to change
    rotations     (k, r, 4)                     world rotations in q of the carriers and of the joints' parents
    up            (3,)                          against gravity
    part_rows     (p, FREE_PART_ROW)            the columns FREE_PART_ of layout.py
    part_numbers  (p, FREE_PART_NUMBERS)        more of them
    joint_rows    (m, FREE_JOINT_ROW)           joints that turn, part by part
    joint_frames  (m, 4)                        rotation of each one's frame at its parent

    The joints of a part share its turn equally.
    """
    up_vector = Vec(up[0], up[1], up[2])
    for k in range(q.shape[0]):
        parts = references[k if references.shape[0] > 1 else 0]
        start_q = reference_q[k if reference_q.shape[0] > 1 else 0]
        for p in range(part_rows.shape[0]):
            carrier = read_quat(rotations[k], part_rows[p, layout.FREE_PART_CARRIER])
            tilted_up = rotate(carrier, read_vec_at(parts[p], layout.FREE_REFERENCE_UP))
            axis = cross(up_vector, tilted_up)
            sine, joint_count = norm(axis), part_rows[p, layout.FREE_PART_JOINT_COUNT]
            tilt, turn = math.atan2(sine, dot(up_vector, tilted_up)), Vec(0.0, 0.0, 0.0)
            if tilt > MIN_TILT_RAD and sine > 0.0:
                undone = tilt * (1.0 - smoothstep_between(tilt, FULL_TILT_RAD, NO_TILT_RAD))
                local_turn = from_vector(rotate(conjugate(carrier), scale(axis, -undone / sine)))
                if part_rows[p, layout.FREE_PART_IS_LIMB]:
                    bone = read_vec_at(parts[p], layout.FREE_REFERENCE_POSE)
                    local_turn = limit_direction(
                        local_turn, bone, parts[p, layout.FREE_REFERENCE_LEAST_OUT],
                        parts[p, layout.FREE_REFERENCE_TRUNK], part_numbers[p],
                    )  # fmt: skip
                else:
                    rotation = read_quat_at(parts[p], layout.FREE_REFERENCE_POSE)
                    local_turn = limit_rotation(local_turn, rotation, part_numbers[p])
                turn = scale(rotate(carrier, to_vector(local_turn)), 1.0 / joint_count)
            first = part_rows[p, layout.FREE_PART_FIRST_JOINT]
            for j in range(first, first + joint_count):
                column = joint_rows[j, layout.FREE_JOINT_Q_COLUMN]
                own = read_quat_at(start_q, column)
                if norm(turn) > 0.0:
                    parent = read_quat(rotations[k], joint_rows[j, layout.FREE_JOINT_PARENT])
                    frame = multiply(parent, read_quat(joint_frames, j))
                    own = multiply(from_vector(rotate(conjugate(frame), turn)), own)
                write_quat_at(q[k], column, own)
