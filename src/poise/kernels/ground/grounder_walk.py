# pyright: standard
"""The first half of a live frame: legs, contacts and probes.

All in metres of the figure, z up. The arrays of k characters and l legs, whose columns have names:

    legs      (l, LEG)        whole numbers of each leg
    marks     (l, MARKS)      points of the sole, axes of the knee and across the foot, rotations of A of the parts
    settings  (SETTINGS,)     what is the same for all legs
    state     (k, l, STATE)   what each leg remembers
    body      (k, BODY)       what each figure remembers
    frame     (k, l, FRAME)   where each leg is animated now, and what becomes of it
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function, inline
from poise.kernels.kinematics import apply_local_offsets, compose, matrix_to_quaternion, write_local
from poise.kernels.lanes import SCALAR, stack_array
from poise.kernels.layout import FK_KIND, FK_PARENT, FREE
from poise.kernels.vec_quat import (
    Quat,
    Vec,
    add,
    cross,
    dot,
    norm,
    read_quat_at,
    read_vec_at,
    rotate,
    scale,
    sub,
    write_quat_at,
    write_vec_at,
)

# Columns of legs. Parts are thigh, shin, foot and toes; a number for each:
HIP = 0  # four rows of `maps`: of the joints at the upper ends of the parts
ABOVE = 4  # four rows of `maps`: of what the parts hang in
OVER = 8  # four parts: the one that carries each along, CARRIED for the joint that leans, or -1
CARRIED = 4
START = 12  # four columns of q: where the quaternion of each begins
PARTS, FOOT_ROW = 16, 17  # 4, or 3 without toes; row of a foot that does not hang in the shin, or -1
LEG = 18
# Columns of marks, what the clip of reference says of a leg:
HEEL, BALL, TIP = 0, 3, 6  # [m] points of the sole: two in the foot's frame, the tip in that of the toes
AXIS, ACROSS = 9, 12  # unit vectors: of the knee in the thigh's frame, across the sole in the foot's
RESTS = 15  # four quaternions: the rotation of A of each part
MOST_BEND = 31  # [rad] up from the line from heel to ball that the tip of the toes may be
MARKS = 32
# Columns of settings:
LEVEL = 0  # [m] height of the floor of the animation
ON_SPEED = 1  # [m/s] a point below it comes to stand,
OFF_SPEED, RISE = 2, 3  # [m/s] and stands until it slides or rises as fast as this
ON_HEIGHT, OFF_HEIGHTS = 4, 5  # [m] over its floor; two: of heel and ball
FLOOR_RATE, SPEED_RATE = 7, 8  # [1/s] at which a floor comes up to a resting point, and velocities forget
BLEND_RATE, PELVIS_RATE, LIFT_RATE = 9, 10, 11  # [1/s] of springs: of feet, of the pelvis, of a swinging foot's lift
FARTHEST, STEEPEST = 12, 13  # [m] that a lock is pulled, and [rad] that a foot tilts, at most
LONGEST_PAUSE = 14  # [s] between two frames; after a longer one everything begins anew
TERRAIN_SCALE, TERRAIN_Y = 15, 16  # units of the terrain in a metre; 1 where its y is up
IS_PLANE, PLANE = 17, 18  # 1 where the ground is a plane: height at the origin and two slopes
FIGURE_MAP = 21  # affine map from file units and axes to metres, z up
MOVER_REST, MOVER_ABOVE, MOVER_START, MOVER_ROW = 33, 37, 38, 39  # rotation of A, row of `maps`, column of q or -1, row
IS_STAIRS = 40  # 1 where the ground is stairs:
TREADS = 41  # two numbers of treads in a metre along x and y, and the one before the first riser is at the origin
RISER, LOWEST = 44, 45  # [m] height of a riser, and of the tread before the first
TRUNK, TRUNK_ABOVE, TRUNK_REST, TRUNK_START = 46, 47, 48, 52  # of the joint that leans; its column is -1 for none
SETTINGS = 53
# Columns of frame, of the pose as animated [m]:
PLACES, TURNS, SOLE = 0, 12, 28  # hip, knee, ankle, toes' joint; rotations of the parts; heel, ball, tip of the sole
# and of what becomes of it: the ankle, the foot's rotation, that of the slope, by how much the ground is higher than
# the floor of the animation, how far [m] a lifted heel lets the ankle come to the hip; from where the distance of hip
# and ankle is made smaller, and how far it comes at most
NEW, NEW_TURN, TILT, HIGHER, ROOM, EASY, MOST = 37, 40, 44, 48, 49, 50, 51
UNDER = 52  # by how much the ground that the foot is aimed at is higher than that floor, jumps and all
ABOUT = 53  # two: the place of that ground
SWAY = 55  # by which the hip moves as the figure leans
FRAME = 58
# Columns of state, what a leg remembers. Of heel and ball, POINT numbers each:
POINT = 8
ON, AT, MOVES, FLOOR = 0, 1, 4, 7  # 1 while it stands, its place, its velocity, the height of its floor
MODE, FLAT, BROKEN = 16, 17, 18  # 0 free, 1 locked by the heel, 2 by the ball; 1 while held flat; 1 after a lock broke
LOCK, HELD, OPENED = 19, 22, 26  # where it is locked; the rotation it is held at; [s] for which only the ball has stood
OUT, OUT_MOVES, OUT_TURN = 27, 30, 33  # shown last: the ankle, its velocity, the foot's rotation
AIM, AIM_TURN = 40, 43  # where both would have been without locks and lift
OFFSET, OFFSET_MOVES, TWIST, TWIST_SPINS = 47, 50, 53, 56  # what springs still take away: of place and rotation
# [m] left of jumps of the ground, for the pelvis; how far a swinging foot is above where it is aimed at, 0 if it stands
STEP, STEP_MOVES, LIFT, LIFT_MOVES = 59, 60, 61, 62
SLOPE, SLOPE_MOVES, SLOPE_GOAL = 63, 65, 67  # slopes that the foot has, how they change, and those of the ground
GROUND, TIP_GROUND = 69, 79  # the ground under heel, ball and tip last: x, y, height, two slopes each; of the tip
ROSE = 84  # [m] by how much it jumped up under one of them
ANKLE = 85  # the ankle as animated last
BENDS = 88  # [m] by which toes may bend out of the ground before the foot is lifted for them
# [m] the height of the knee over the line from hip to ankle: as shown last, its speed, as wanted; and as animated
# last, its speed, by how much that changes, and for how many frames it is known
KNEE, KNEE_MOVES, KNEE_GOAL, OWN, OWN_MOVES, OWN_CHANGE, OWN_AGE = 89, 90, 109, 110, 111, 112, 113
HIPS = 91  # two: the place of the hip as animated last, without its height
LAID = 93  # the rotation of the foot shown last, before its free end was turned out of the ground
HORIZON = 97  # [s] so far ahead the ground is probed: until the foot lands
DEPTH = 98  # [m] by which a swinging foot is in the ground, since that rose too fast for it
JUMP = 99  # [m] by how much the ground that the foot is aimed at jumped up in this frame
RAMP, RAMP_WAY, RAMP_MOVES = 100, 101, 103  # mean slope of steps ahead, which way, [m/s] at which they rise under it
EARLIER_TURN, FRAME_TIME = 104, 108  # the rotation shown before that, and [s] the time between the two
TOES, TOES_MOVES, TOES_GOAL = 114, 115, 116  # [rad] by which toes are bent up: shown, its speed, as wanted
STATE = 117
# Columns of body, of the pelvis: 1 before the first frame; height of the ground that it follows: goal, value, speed;
# how far it sinks for legs that are too short: goal, value, speed; what was added to its height
FRESH, BASE_GOAL, BASE, BASE_MOVES, SINK_GOAL, SINK, SINK_MOVES, UP = 0, 1, 2, 3, 4, 5, 6, 7
SETTLED = 8  # 1 from the third frame on
LEAN, LEAN_MOVES, CENTRE = 9, 11, 13  # two each: a lean [rad] and its speed; the middle of the hips last
BODY = 15
AHEAD = 3  # samples of the ground ahead of a foot
SAMPLES = 3 + AHEAD  # of the ground under each foot: heel, ball, tip, and where its foremost point goes

_FASTEST = 30.0  # [m/s] ankles that are faster were put elsewhere: a sprinter's reach 25
_STEP = 0.01  # [m] in no time at all, and more
FURTHEST = 0.2  # [s] the horizon of a foot that does not land
_STEP_LENGTH = 0.5  # [m] a foot looks no farther
_SLOWER = 0.8  # a foot that lands is slower on the way than now by this
_STRIDE = 1.5  # a foot that rises is going to be faster than its hip by this
_SIMILAR = 1e-6  # lengths this near to each other count as equal: exported scales are noisy


@inline
def compute_level_length(x, y):
    """Compute the length of a level vector.

    math.hypot guards against overflow, which takes as long as all that is around it.
    """
    return math.sqrt(x * x + y * y)


@device_function
def find_rotation(m):
    """Find the nearest rotation to an affine map's linear part.

    Mirroring is taken out, see `Transforms.rotations`.
    """
    a, b, c = Vec(m[0], m[4], m[8]), Vec(m[1], m[5], m[9]), Vec(m[2], m[6], m[10])  # columns
    volume = dot(a, cross(b, c))
    longest = max(norm(a), norm(b), norm(c))
    # Most maps are a rotation and one scale: told by three lengths and the volume, and then nothing need be iterated.
    even = longest - min(norm(a), norm(b), norm(c)) <= _SIMILAR * longest
    if volume == 0.0:
        return Quat(1.0, 0.0, 0.0, 0.0)  # it flattens space: no rotation is near
    k = math.copysign(1.0 / longest, volume)
    a, b, c = scale(a, k), scale(b, k), scale(c, k)
    cube = longest * longest * longest
    if not (even and abs(abs(volume) - cube) <= _SIMILAR * cube):
        a, b, c = remove_shear(a, b, c)
    return matrix_to_quaternion(a.x, b.x, c.x, a.y, b.y, c.y, a.z, b.z, c.z)


@device_function
def remove_shear(a, b, c):
    """Find the nearest rotation to a matrix of these columns.

    The mean of it and its inverse transposed, again and again: Higham, Computing the polar decomposition, 1986; scaled
    by the volume, so that ten rounds do for scales of 1:1000.
    """
    for _ in range(10):
        bc, ca, ab = cross(b, c), cross(c, a), cross(a, b)
        if norm(sub(a, bc)) + norm(sub(b, ca)) + norm(sub(c, ab)) < 1e-13:
            break
        volume = max(dot(a, bc), 1e-300)
        k = 0.5 / volume ** (1.0 / 3.0)
        l = 0.25 / (k * volume)
        a, b, c = add(scale(a, k), scale(bc, l)), add(scale(b, k), scale(ca, l)), add(scale(c, k), scale(ab, l))
    return a, b, c


@device_function
def write_maps(table, rows, numbers, translations, scales, settings, given, maps):
    """Write world maps of the joints above legs.

    In metres, z up; maps[0] is that of the file's axes.
    """
    motion, before, local = stack_array(SCALAR, 12), stack_array(SCALAR, 12), stack_array(SCALAR, 12)
    moves, grows = translations.shape[0] > 0, scales.shape[0] > 0
    for j in range(12):
        maps[0, j] = settings[FIGURE_MAP + j]
    for i in range(table.shape[0]):
        write_local(SCALAR, table[i], numbers, motion, before, local)
        if moves or grows:
            # Translations of a free joint stand in q already.
            free = int(table[i, FK_KIND]) == FREE
            for j in range(3):
                given[6 * i + j] = translations[rows[i], j] if moves and not free else 0.0
                given[6 * i + 3 + j] = scales[rows[i], j] if grows else 1.0
            apply_local_offsets(given, i, local)
        compose(maps[int(table[i, FK_PARENT])], local, maps[i + 1])


@device_function
def write_frame(leg, marks, maps, frame):
    """Write the animated places of a leg."""
    for j in range(4):
        m = maps[leg[HIP + j]]
        write_vec_at(frame, PLACES + 3 * j, Vec(m[3], m[7], m[11]))
        write_quat_at(frame, TURNS + 4 * j, find_rotation(m))
    ankle, foot, toes = read_vec_at(frame, PLACES + 6), read_quat_at(frame, TURNS + 8), read_quat_at(frame, TURNS + 12)
    write_vec_at(frame, SOLE, add(ankle, rotate(foot, read_vec_at(marks, HEEL))))
    write_vec_at(frame, SOLE + 3, add(ankle, rotate(foot, read_vec_at(marks, BALL))))
    write_vec_at(frame, SOLE + 6, add(read_vec_at(frame, PLACES + 9), rotate(toes, read_vec_at(marks, TIP))))


@inline
def has_jumped(state, frame, dt):
    """Return whether an ankle is faster than any runner's."""
    most = _FASTEST * dt + _STEP
    return norm(sub(read_vec_at(frame, PLACES + 6), read_vec_at(state, ANKLE))) > most


@device_function
def measure_point(s, at, p, settings, gain, dt, fresh):
    """Measure velocity and floor of a point of the sole.

    Both are averages that forget.
    """
    if fresh:
        write_vec_at(s, at + MOVES, Vec(0.0, 0.0, 0.0))
        s[at + FLOOR] = min(p.z, settings[LEVEL])
    elif dt > 0.0:
        old = read_vec_at(s, at + MOVES)
        raw = scale(sub(p, read_vec_at(s, at + AT)), 1.0 / dt)
        new = add(old, scale(sub(raw, old), gain))
        write_vec_at(s, at + MOVES, new)
        # Down at once, up slowly and only at rest: a floor is the lowest that a foot has stood on, until it stands
        # higher for a while.
        if p.z < s[at + FLOOR]:
            s[at + FLOOR] = p.z
        elif norm(new) < settings[ON_SPEED]:
            s[at + FLOOR] -= math.expm1(-settings[FLOOR_RATE] * dt) * (p.z - s[at + FLOOR])
    write_vec_at(s, at + AT, p)


@device_function
def find_contacts(s, frame, settings, dt, fresh):
    """Find whether heel and ball stand.

    From slow and low until fast or high.
    """
    gain = -math.expm1(-settings[SPEED_RATE] * dt)
    for j in range(2):
        measure_point(s, POINT * j, read_vec_at(frame, SOLE + 3 * j), settings, gain, dt, fresh)
    lowest = min(s[FLOOR], s[POINT + FLOOR]) + settings[ON_HEIGHT]
    for j in range(2):
        at = POINT * j
        v, height = read_vec_at(s, at + MOVES), s[at + 3] - min(s[at + FLOOR], lowest)
        sliding = math.sqrt(v.x * v.x + v.y * v.y)
        # Two thresholds each, or a foot at the border would stand and not stand from frame to frame.
        lasts = sliding < settings[OFF_SPEED] and v.z < settings[RISE] and height < settings[OFF_HEIGHTS + j]
        starts = norm(v) < settings[ON_SPEED] and height < settings[ON_HEIGHT]
        before = s[at + ON] > 0.0 and not fresh
        s[at + ON] = 1.0 if lasts and (before or starts) else 0.0


@inline
def take_contacts(s, given):
    """Take contacts from the caller, 1 or 0 each.

    Returns False where they are to be found.
    """
    if given[0] < 0.0:
        return False
    s[ON], s[POINT + ON] = given[0], given[1]
    return True


@inline
def compute_time_ahead(s, i):
    """Compute the time until the foot is at sample i [s].

    A sixth, half and all of its horizon.
    """
    return s[HORIZON] * (i + 1.0) * (i + 2.0) / (AHEAD * (AHEAD + 1.0))


@inline
def measure_rise(s, frame, dt):
    """Measure the animated velocity of the ankle up [m/s]."""
    return (frame[PLACES + 8] - s[ANKLE + 2]) / dt if dt > 0.0 else 0.0


@device_function
def predict_velocity(s, frame, dt):
    """Predict the level velocity of a foot.

    It is its own, or that of a stride where it leaves the ground: a foot that has just left the ground is slow, and in
    the next step of a stair a moment later.
    """
    own = read_vec_at(s, OUT_MOVES)
    if dt <= 0.0 or measure_rise(s, frame, dt) <= 0.0:
        return Vec(own.x, own.y, 0.0)
    k = _STRIDE / dt
    x, y = k * (frame[PLACES] - s[HIPS]), k * (frame[PLACES + 1] - s[HIPS + 1])
    speed = compute_level_length(x, y)
    more = max(1.0 - (own.x * x + own.y * y) / max(speed * speed, 1e-300), 0.0)
    return Vec(own.x + more * x, own.y + more * y, 0.0)


@device_function
def write_probes(s, frame, marks, settings, dt, fresh, probes):
    """Write the points where the ground is needed.

    Under heel, ball and tip as they are going to be shown, and ahead of the foot.
    """
    shown = read_vec_at(s, OUT)
    # Asked before anything is placed: this frame's animated points, moved by what the last frame moved the ankle by.
    shift = Vec(0.0, 0.0, 0.0) if fresh else sub(shown, read_vec_at(s, ANKLE))
    heel, tip = add(read_vec_at(frame, SOLE), shift), add(read_vec_at(frame, SOLE + 6), shift)
    arm = sub(read_vec_at(frame, SOLE + 3), read_vec_at(frame, SOLE))
    if s[MODE] > 0.0 and not fresh:
        # A locked point is where it was shown, and the other end where it would be: probed where that has been
        # turned to out of the ground, it would not have to be, and the foot would shake.
        arm = rotate(read_quat_at(s, LAID), sub(read_vec_at(marks, BALL), read_vec_at(marks, HEEL)))
        heel = place_shown_point(s, marks, int(s[MODE]) - 1)
        heel, arm = (sub(heel, arm), arm) if s[MODE] > 1.0 else (heel, lay_down(arm))
    else:
        arm = lay_down(arm)
    write_probe(probes, 0, heel, settings)
    write_probe(probes, 1, add(heel, arm), settings)
    write_probe(probes, 2, tip, settings)
    # A swinging foot sees the edge of a step before it is in it.
    away = Vec(0.0, 0.0, 0.0) if fresh else predict_velocity(s, frame, dt)
    away = scale(away, 1.0 if s[HORIZON] >= FURTHEST else _SLOWER)
    s[HORIZON] = min(s[HORIZON], _STEP_LENGTH / max(norm(away), _STEP_LENGTH))
    foremost = add(read_vec_at(frame, SOLE + 3 * choose_leading_point(frame, away)), shift)
    for i in range(AHEAD):
        write_probe(probes, 3 + i, add(foremost, scale(away, compute_time_ahead(s, i))), settings)


@inline
def place_shown_point(s, marks, j):
    """Return heel (0) or ball (1) as shown last."""
    return add(read_vec_at(s, OUT), rotate(read_quat_at(s, OUT_TURN), read_vec_at(marks, HEEL + 3 * j)))


@inline
def place_free_point(s, frame, j, fresh):
    """Estimate heel (0) or ball (1) of a free foot."""
    p = read_vec_at(frame, SOLE + 3 * j)
    return p if fresh else add(p, sub(read_vec_at(s, OUT), read_vec_at(s, ANKLE)))


@inline
def lay_down(arm):
    """Return the vector from heel to ball of a flat sole.

    Of one with only the heel down now.
    """
    level = compute_level_length(arm.x, arm.y)
    k = norm(arm) / max(level, 1e-12) if arm.z > 0.0 else 1.0
    return Vec(k * arm.x, k * arm.y, arm.z)


@inline
def choose_leading_point(frame, away):
    """Choose the foremost point of the sole: 2 tip, 0 heel."""
    along = sub(read_vec_at(frame, SOLE + 6), read_vec_at(frame, SOLE))
    return 2 if along.x * away.x + along.y * away.y >= 0.0 else 0


@inline
def write_probe(probes, j, p, settings):
    """Write a point as the terrain takes it."""
    k = settings[TERRAIN_SCALE]
    if settings[TERRAIN_Y] > 0.0:
        probes[j, 0], probes[j, 1], probes[j, 2] = p.x * k, p.z * k, -p.y * k
    else:
        probes[j, 0], probes[j, 1], probes[j, 2] = p.x * k, p.y * k, p.z * k
