# pyright: standard
"""Roll of a hand, shared along its arm in closed form.

The roll of a joint is its twist about the line of the bone above it, counted from rest. A hand that is turned about its
forearm by T in all gets, of that,

    wrist      W(T) = share T, at most 45 degrees; the share is half, or less where roll bones stand in the forearm
    upper arm  U(T) = half of what is beyond 90 degrees
    forearm    E(T) = T - W(T) - U(T)

Roll bones in the line of a bone take its part, linearly along it. What the start of a solve has of T is read from its
wrist and forearm, which together have T - U(T), a rising function; what a goal adds to it is shared by the differences
of W, U and E. So the answer depends continuously on the start and the target, a start that is met stays as it is, and
a share that the start has beyond these formulas is kept, of a wrist up to 45 degrees.

T is ambiguous by full turns: the one nearest to the start's counts up to 225 degrees, beyond that the one nearest to
zero. From rest a hand turned by 180 degrees is where it changes sides.

The elbow bends between the twists of both its bones; the twist of upper arm and forearm together is that of the
forearm's frame against the upper arm's, carried along by the smallest rotation. It is undefined where the elbow is
folded by 180 degrees.

An elbow that a limit makes a hinge does not roll. Where no roll bone stands below it, the wrist is relieved of what is
beyond 45 degrees by a swivel of the arm about the line from shoulder to hand, as people do whose forearm turns no
further: by up to 60 degrees, less and less where the forearm is across that line.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function
from poise.kernels.entries import gil_kernel
from poise.kernels.layout import (
    ROLL_ARM_BEND,
    ROLL_ARM_ELBOW,
    ROLL_ARM_ELBOW_ROLLS,
    ROLL_ARM_HAS_UPPER,
    ROLL_ARM_LINE,
    ROLL_ARM_SWIVELS,
    ROLL_ARM_UPPER_LINE,
    ROLL_ARM_WRIST_SHARE,
    ROLL_JOINT_AFTER,
    ROLL_JOINT_BEFORE,
    ROLL_JOINT_OFFSET,
    ROLL_JOINT_Q,
    ROLL_JOINT_SHARE,
    ROLL_LEAF_LINE,
    ROLL_LEAF_Q,
    ROLL_LEAF_UPPER_SHARE,
    ROLL_LEAF_WRIST_SHARE,
)
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
    normalise,
    read_quat_at,
    read_vec_at,
    rotate,
    scale,
    write_quat_at,
)

MAX_WRIST_RAD = math.radians(45.0)
MIN_UPPER_RAD = math.radians(90.0)  # of the whole roll: the upper arm takes half of what is beyond
MAX_WOUND_RAD = math.radians(225.0)  # of the whole roll: beyond it the other way round counts
MAX_SWIVEL_RAD = math.radians(60.0)
FULL_SWIVEL_COSINE = 0.5  # of the angle between forearm and chord: below it the swivel is less
MIN_ROLL_RAD = 1e-12  # smaller rolls are rounding


@device_function
def read_motion(joint, q_row):
    """Return the rotation of a joint on the way.

    It is the identity where the joint has none.
    """
    column = int(joint[ROLL_JOINT_Q])
    return read_quat_at(q_row, column) if column >= 0 else Quat(1.0, 0.0, 0.0, 0.0)


@device_function
def roll_joint(joint, q_row, axis, angle):
    """Turn a joint about an axis of its frame."""
    column = int(joint[ROLL_JOINT_Q])
    write_quat_at(q_row, column, normalise(multiply(read_quat_at(q_row, column), from_axis_angle(axis, angle))))


@device_function
def find_line(joints, offsets, q_row, start, end):
    """Return the unit vector from one joint to another.

    It is in the frame of the first joint, after its rotation.
    """
    v = Vec(0.0, 0.0, 0.0)
    for j in range(end, start, -1):
        if j < end:
            v = rotate(read_motion(joints[j], q_row), v)
        v = add(read_vec_at(offsets, 3 * j), rotate(read_quat_at(joints[j], ROLL_JOINT_BEFORE), v))
        before = joints[j - 1]
        v = add(read_vec_at(before, ROLL_JOINT_OFFSET), rotate(read_quat_at(before, ROLL_JOINT_AFTER), v))
    length = norm(v)
    return scale(v, 1.0 / length) if length > 0.0 else v


@device_function
def chain_rotations(joints, q_row, start, end):
    """Return the rotation between the frames of two joints, before theirs."""
    rotation = Quat(1.0, 0.0, 0.0, 0.0)
    for j in range(start, end):
        rotation = multiply(rotation, read_motion(joints[j], q_row))
        rotation = multiply(rotation, read_quat_at(joints[j], ROLL_JOINT_AFTER))
        rotation = multiply(rotation, read_quat_at(joints[j + 1], ROLL_JOINT_BEFORE))
    return rotation


@device_function
def measure_twist(q, axis):
    """Return the twist of a rotation about a unit axis."""
    return wrap_angle(2.0 * math.atan2(q.x * axis.x + q.y * axis.y + q.z * axis.z, q.w))


@device_function
def wrap_angle(angle):
    """Wrap an angle of at most 2 pi."""
    if angle > math.pi:
        return angle - 2.0 * math.pi
    if angle < -math.pi:
        return angle + 2.0 * math.pi
    return angle


@device_function
def measure_wrist(joints, arm, q_row):
    """Return the roll of the hand against the forearm."""
    return measure_twist(read_motion(joints[len(joints) - 1], q_row), read_vec_at(arm, ROLL_ARM_LINE))


@device_function
def measure_elbow(joints, arm, q_row):
    """Return the roll of the forearm against the upper arm.

    It is 0 where the elbow cannot roll.
    """
    if not arm[ROLL_ARM_ELBOW_ROLLS] > 0.0:
        return 0.0
    motion = multiply(read_motion(joints[int(arm[ROLL_ARM_ELBOW])], q_row), read_quat_at(arm, ROLL_ARM_BEND))
    return measure_twist(motion, read_vec_at(arm, ROLL_ARM_UPPER_LINE))


@device_function
def measure_roll_bones(joints, arm, offsets, q_row):
    """Return the roll of all roll bones in the forearm."""
    roll, last = 0.0, len(joints) - 1
    for j in range(int(arm[ROLL_ARM_ELBOW]) + 1, last):
        if joints[j, ROLL_JOINT_SHARE] > 0.0:
            roll += measure_twist(read_motion(joints[j], q_row), find_line(joints, offsets, q_row, j, last))
    return roll


@device_function
def share_wrist(total, share):
    """Return the part of the wrist of the whole roll."""
    return min(max(share * total, -MAX_WRIST_RAD), MAX_WRIST_RAD)


@device_function
def share_upper(total, has_upper):
    """Return the part of the upper arm of the whole roll."""
    return math.copysign(0.5 * max(abs(total) - MIN_UPPER_RAD, 0.0), total) if has_upper > 0.0 else 0.0


@device_function
def find_total(lower_roll, has_upper):
    """Return the whole roll, from the roll of wrist and forearm."""
    beyond = max(abs(lower_roll) - MIN_UPPER_RAD, 0.0) if has_upper > 0.0 else 0.0
    return lower_roll + math.copysign(beyond, lower_roll)


@device_function
def roll_bone(joints, offsets, q_row, start, end, angle):
    """Roll a bone by an angle.

    Its roll bones take the angle linearly. Where there are none, the joint at its beginning takes it.
    """
    has_roll_bones = False
    for j in range(start + 1, end):
        share = joints[j, ROLL_JOINT_SHARE]
        if share > 0.0:
            has_roll_bones = True
            roll_joint(joints[j], q_row, find_line(joints, offsets, q_row, j, end), share * angle)
    if not has_roll_bones:
        roll_joint(joints[start], q_row, find_line(joints, offsets, q_row, start, end), angle)


@device_function
def swivel_arm(joints, arm, offsets, start_wrist, wrist, q_row):
    """Swivel an arm to relieve its wrist.

    The axis is the line from shoulder to hand.
    """
    max_wrist = max(MAX_WRIST_RAD, abs(start_wrist))
    if not abs(wrist) > max_wrist:
        return
    hand = len(joints) - 1
    shoulder_column, hand_column = int(joints[0, ROLL_JOINT_Q]), int(joints[hand, ROLL_JOINT_Q])
    shoulder_q, hand_q = read_quat_at(q_row, shoulder_column), read_quat_at(q_row, hand_column)
    chord = rotate(shoulder_q, find_line(joints, offsets, q_row, 0, hand))
    hand_chord = rotate(conjugate(chain_rotations(joints, q_row, 0, hand)), chord)
    line, v = read_vec_at(arm, ROLL_ARM_LINE), Vec(hand_q.x, hand_q.y, hand_q.z)
    along = dot(hand_chord, line)
    # The twist of (cos, -sin chord) (w, v) has the tangent k where this holds:
    k = math.copysign(math.sin(max_wrist) / (1.0 + math.cos(max_wrist)), wrist)  # of half the angle
    swivel = wrap_angle(
        2.0
        * math.atan2(
            dot(v, line) - k * hand_q.w, hand_q.w * along + dot(cross(hand_chord, v), line) + k * dot(hand_chord, v)
        )
    )
    max_swivel = MAX_SWIVEL_RAD * min(max(along / FULL_SWIVEL_COSINE, 0.0), 1.0)
    if swivel * wrist < 0.0:  # the long way round
        needed = max_swivel
    else:
        needed = min(abs(swivel), max_swivel)
    swivel = math.copysign(needed, wrist)
    write_quat_at(q_row, shoulder_column, normalise(multiply(from_axis_angle(chord, swivel), shoulder_q)))
    write_quat_at(q_row, hand_column, normalise(multiply(from_axis_angle(hand_chord, -swivel), hand_q)))


@device_function
def share_row(joints, arm, leaves, offsets, start_row, q_row):
    """Share the roll of one arm. See `share_roll`."""
    elbow, hand = int(arm[ROLL_ARM_ELBOW]), len(joints) - 1
    has_upper, wrist_share = arm[ROLL_ARM_HAS_UPPER], arm[ROLL_ARM_WRIST_SHARE]
    start_wrist = measure_wrist(joints, arm, start_row)
    start_elbow = measure_elbow(joints, arm, start_row)
    wrist, elbow_roll = measure_wrist(joints, arm, q_row), measure_elbow(joints, arm, q_row)
    added_elbow = wrap_angle(elbow_roll - start_elbow)
    added = wrap_angle(wrist - start_wrist) + added_elbow
    if abs(added) < MIN_ROLL_RAD:
        return
    if arm[ROLL_ARM_SWIVELS] > 0.0:
        swivel_arm(joints, arm, offsets, start_wrist, wrist, q_row)
        return
    start_total = find_total(start_wrist + start_elbow + measure_roll_bones(joints, arm, offsets, start_row), has_upper)
    total = start_total + added
    if abs(total) > MAX_WOUND_RAD:
        total -= math.copysign(2.0 * math.pi, total)
    max_wrist = max(MAX_WRIST_RAD, abs(start_wrist))
    new_wrist = start_wrist + share_wrist(total, wrist_share) - share_wrist(start_total, wrist_share)
    new_wrist = min(max(new_wrist, -max_wrist), max_wrist)
    upper = share_upper(total, has_upper) - share_upper(start_total, has_upper)
    forearm = total - start_total - (new_wrist - start_wrist) - upper
    elbow_from_shoulder = chain_rotations(joints, q_row, 0, elbow)
    hand_from_shoulder = multiply(elbow_from_shoulder, chain_rotations(joints, q_row, elbow, hand))
    if upper != 0.0:
        roll_bone(joints, offsets, q_row, 0, elbow, upper)
        held = multiply(conjugate(chain_rotations(joints, q_row, 0, elbow)), elbow_from_shoulder)
        column = int(joints[elbow, ROLL_JOINT_Q])
        write_quat_at(q_row, column, normalise(multiply(held, read_quat_at(q_row, column))))
    if arm[ROLL_ARM_ELBOW_ROLLS] > 0.0:
        # The forearm goes with the upper arm's roll, and back by what the solve turned it; then its own share comes.
        roll_joint(joints[elbow], q_row, find_line(joints, offsets, q_row, elbow, hand), upper - added_elbow)
    roll_bone(joints, offsets, q_row, elbow, hand, forearm)
    held = multiply(conjugate(chain_rotations(joints, q_row, 0, hand)), hand_from_shoulder)
    column = int(joints[hand, ROLL_JOINT_Q])
    write_quat_at(q_row, column, normalise(multiply(held, read_quat_at(q_row, column))))
    for i in range(len(leaves)):
        leaf = leaves[i]
        angle = leaf[ROLL_LEAF_WRIST_SHARE] * (new_wrist - start_wrist) + leaf[ROLL_LEAF_UPPER_SHARE] * upper
        turn = from_axis_angle(read_vec_at(leaf, ROLL_LEAF_LINE), angle)
        column = int(leaf[ROLL_LEAF_Q])
        write_quat_at(q_row, column, normalise(multiply(turn, read_quat_at(q_row, column))))


@gil_kernel("F2 F1 F2 F2 F2 wF2 ->")
def share_roll(joints, arm, leaves, offsets, start_q, q):
    """Share the roll of a hand along its arm.

    The hand keeps its place and its rotation, the elbow its place.

    joints   (n, ROLL_JOINT_ROW) on the way from the upper arm to the hand
    arm      (ROLL_ARM_ROW,)
    leaves   (l, ROLL_LEAF_ROW) roll bones beside that way
    offsets  (1|k, 3 n) translations of these joints
    start_q  (1|k, nq) poses from which a solve began
    q        (k, nq) in and out: what it found
    """
    for i in range(len(q)):
        start_row, offset_row = start_q[i if len(start_q) > 1 else 0], offsets[i if len(offsets) > 1 else 0]
        share_row(joints, arm, leaves, offset_row, start_row, q[i])
