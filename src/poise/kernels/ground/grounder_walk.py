# pyright: standard
"""The first half of a live frame: where the legs are animated, what of them stands, where to ask for the ground.

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

from poise.kernels.codes import FK_KIND, FK_PARENT, FREE
from poise.kernels.compiled import inline, part
from poise.kernels.forward import compose, put_given, put_local, turn_of_matrix
from poise.kernels.values.lanes import SCALAR, room
from poise.kernels.values.linear import Quat, Vec, add, cross, dot, norm, quat_in, rotate, scale, sub, vec_in

# legs: rows of the table + 1, of the joints and of what the parts hang in; the part over each, or -1; starts in q
HIP, ABOVE, OVER, START, PARTS, FOOT_ROW = 0, 4, 8, 12, 16, 17
LEG = 18
# marks
HEEL, BALL, TIP, AXIS, ACROSS, RESTS = 0, 3, 6, 9, 12, 15
MARKS = 31
# settings
LEVEL, ON_SPEED, OFF_SPEED, RISE, ON_HEIGHT, OFF_HEIGHTS, FLOOR_RATE, SPEED_RATE = 0, 1, 2, 3, 4, 5, 7, 8
BLEND_RATE, PELVIS_RATE, LIFT_RATE, FARTHEST, STEEPEST, LONGEST_PAUSE = 9, 10, 11, 12, 13, 14
TERRAIN_SCALE, TERRAIN_Y, IS_PLANE, PLANE = 15, 16, 17, 18  # the plane: height at the origin, two slopes
FIGURE_MAP, MOVER_REST, MOVER_ABOVE, MOVER_START, MOVER_ROW = 21, 33, 37, 38, 39
SETTINGS = 40
# frame: hip, knee, ankle and ball, four turns, heel, ball and tip of the sole; what is shown: the ankle, the foot's
# rotation, that of the slope, how much higher the ground is, the longest chord, by how much the heel may be lifted
PLACES, TURNS, SOLE = 0, 12, 28
NEW, NEW_TURN, TILT, HIGHER, LONGEST, ROOM = 37, 40, 44, 48, 49, 50
FRAME = 51
# state: of heel and ball each whether it stands, its place, its velocity and its floor
POINT = 8
ON, AT, MOVES, FLOOR = 0, 1, 4, 7
MODE, FLAT, BROKEN, LOCK, HELD, OPENED = 16, 17, 18, 19, 22, 26
OUT, OUT_MOVES, OUT_TURN, OUT_SPINS = 27, 30, 33, 37  # what was shown last: the ankle, the foot's rotation
AIM, AIM_TURN = 40, 43  # where both would be without locks
OFFSET, OFFSET_MOVES, TWIST, TWIST_SPINS = 47, 50, 53, 56
STEP, STEP_MOVES, LIFT, LIFT_MOVES = 59, 60, 61, 62
SLOPE, SLOPE_MOVES, SLOPE_GOAL, GROUND = 63, 65, 67, 69  # the ground under heel and ball last: x, y, height, slopes
ANKLE = 79  # as animated last
BENDS = 82  # by how much toes may bend out of the ground before the foot is lifted for them
STATE = 83
# body: whether the next frame is the first; pelvis: goal, value, speed; sink: goal, value, speed; what was added
FRESH, BASE_GOAL, BASE, BASE_MOVES, SINK_GOAL, SINK, SINK_MOVES, UP = 0, 1, 2, 3, 4, 5, 6, 7
BODY = 8
SAMPLES = 4  # of the ground under each foot: heel, ball, tip and ahead of the tip

_FASTEST = 30.0  # [m/s] ankles that are faster were put elsewhere: a sprinter's reach 25
_STEP = 0.01  # [m] in no time at all, and more
_AHEAD = 0.1  # [s] how far the ground ahead is from the tip
_SIMILAR = 1e-6  # lengths this near to each other count as equal: exported scales are noisy


@inline
def put_vec_in(row, column, v):
    """Store three numbers in a row."""
    row[column], row[column + 1], row[column + 2] = v.x, v.y, v.z


@inline
def put_quat_in(row, column, q):
    """Store four numbers in a row."""
    row[column], row[column + 1], row[column + 2], row[column + 3] = q.w, q.x, q.y, q.z


@part
def turn_of(m):
    """The nearest rotation to the linear part of an affine map, mirroring taken out, see `Transforms.rotations`."""
    a, b, c = Vec(m[0], m[4], m[8]), Vec(m[1], m[5], m[9]), Vec(m[2], m[6], m[10])  # columns
    volume = dot(a, cross(b, c))
    longest = max(norm(a), norm(b), norm(c))
    even = longest - min(norm(a), norm(b), norm(c)) <= _SIMILAR * longest
    if volume == 0.0:
        return Quat(1.0, 0.0, 0.0, 0.0)  # it flattens space: no rotation is near
    k = math.copysign(1.0 / longest, volume)
    a, b, c = scale(a, k), scale(b, k), scale(c, k)
    if not (even and abs(abs(volume) - longest**3) <= _SIMILAR * longest**3):
        a, b, c = unsheared(a, b, c)
    return turn_of_matrix(a.x, b.x, c.x, a.y, b.y, c.y, a.z, b.z, c.z)


@part
def unsheared(a, b, c):
    """The nearest rotation to a matrix of these columns: the mean of it and its inverse transposed, again and again.

    Higham, Computing the polar decomposition, 1986; scaled by the volume, so that ten rounds do for scales of 1:1000.
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


@part
def put_maps(table, rows, numbers, translations, scales, settings, given, maps):
    """World maps of the rows that legs hang in, in metres, z up; maps[0] is that of the file's axes."""
    motion, before, local = room(SCALAR, 12), room(SCALAR, 12), room(SCALAR, 12)
    moves, grows = translations.shape[0] > 0, scales.shape[0] > 0
    for j in range(12):
        maps[0, j] = settings[FIGURE_MAP + j]
    for i in range(table.shape[0]):
        put_local(SCALAR, table[i], numbers, motion, before, local)
        if moves or grows:
            free = int(table[i, FK_KIND]) == FREE
            for j in range(3):
                given[6 * i + j] = translations[rows[i], j] if moves and not free else 0.0
                given[6 * i + 3 + j] = scales[rows[i], j] if grows else 1.0
            put_given(given, i, local)
        compose(maps[int(table[i, FK_PARENT])], local, maps[i + 1])


@part
def put_frame(leg, marks, maps, frame):
    """Where a leg is animated."""
    for j in range(4):
        m = maps[leg[HIP + j]]
        put_vec_in(frame, PLACES + 3 * j, Vec(m[3], m[7], m[11]))
        put_quat_in(frame, TURNS + 4 * j, turn_of(m))
    ankle, foot, toes = vec_in(frame, PLACES + 6), quat_in(frame, TURNS + 8), quat_in(frame, TURNS + 12)
    put_vec_in(frame, SOLE, add(ankle, rotate(foot, vec_in(marks, HEEL))))
    put_vec_in(frame, SOLE + 3, add(ankle, rotate(foot, vec_in(marks, BALL))))
    put_vec_in(frame, SOLE + 6, add(vec_in(frame, PLACES + 9), rotate(toes, vec_in(marks, TIP))))


@inline
def jumped(state, frame, dt):
    """Whether an ankle is farther from where it was than any that runs."""
    most = _FASTEST * dt + _STEP
    return norm(sub(vec_in(frame, PLACES + 6), vec_in(state, ANKLE))) > most


@part
def measure_point(s, at, p, settings, dt, fresh):
    """Velocity and floor of a point of the sole: averages that forget."""
    if fresh:
        put_vec_in(s, at + MOVES, Vec(0.0, 0.0, 0.0))
        s[at + FLOOR] = min(p.z, settings[LEVEL])
    elif dt > 0.0:
        old, gain = vec_in(s, at + MOVES), -math.expm1(-settings[SPEED_RATE] * dt)
        raw = scale(sub(p, vec_in(s, at + AT)), 1.0 / dt)
        new = add(old, scale(sub(raw, old), gain))
        put_vec_in(s, at + MOVES, new)
        if p.z < s[at + FLOOR]:
            s[at + FLOOR] = p.z
        elif norm(new) < settings[ON_SPEED]:
            s[at + FLOOR] -= math.expm1(-settings[FLOOR_RATE] * dt) * (p.z - s[at + FLOOR])
    put_vec_in(s, at + AT, p)


@part
def find_contacts(s, frame, settings, dt, fresh):
    """Whether heel and ball stand: from slow and low until fast or high."""
    for j in range(2):
        measure_point(s, POINT * j, vec_in(frame, SOLE + 3 * j), settings, dt, fresh)
    lowest = min(s[FLOOR], s[POINT + FLOOR]) + settings[ON_HEIGHT]
    for j in range(2):
        at = POINT * j
        v, height = vec_in(s, at + MOVES), s[at + 3] - min(s[at + FLOOR], lowest)
        sliding = math.sqrt(v.x * v.x + v.y * v.y)
        lasts = sliding < settings[OFF_SPEED] and v.z < settings[RISE] and height < settings[OFF_HEIGHTS + j]
        starts = norm(v) < settings[ON_SPEED] and height < settings[ON_HEIGHT]
        before = s[at + ON] > 0.0 and not fresh
        s[at + ON] = 1.0 if lasts and (before or starts) else 0.0


@inline
def takes_contacts(s, given):
    """Contacts as the caller gives them, 1 or 0 each; False where they are to be found."""
    if given[0] < 0.0:
        return False
    s[ON], s[POINT + ON] = given[0], given[1]
    return True


@part
def put_asked(s, frame, marks, settings, fresh, asked):
    """Where to ask for the ground: under heel, ball and tip as they are going to be shown, and ahead of the tip."""
    shown = vec_in(s, OUT)
    shift = sub(shown, vec_in(s, ANKLE))
    if fresh:
        shift = Vec(0.0, 0.0, 0.0)
    for j in range(3):
        p = add(vec_in(frame, SOLE + 3 * j), shift)
        if s[MODE] > 0.0 and not fresh and j < 2:
            p = add(shown, rotate(quat_in(s, OUT_TURN), vec_in(marks, HEEL + 3 * j)))
        put_point(asked, j, p, settings)
        if j == 2:
            away = scale(vec_in(s, OUT_MOVES), 0.0 if fresh else _AHEAD)
            put_point(asked, 3, Vec(p.x + away.x, p.y + away.y, p.z), settings)


@inline
def put_point(asked, j, p, settings):
    """Store a point as the terrain takes it."""
    k = settings[TERRAIN_SCALE]
    if settings[TERRAIN_Y] > 0.0:
        asked[j, 0], asked[j, 1], asked[j, 2] = p.x * k, p.z * k, -p.y * k
    else:
        asked[j, 0], asked[j, 1], asked[j, 2] = p.x * k, p.y * k, p.z * k
