# pyright: standard
"""One live frame of feet on the ground.

Before it knows the ground it finds where the legs are animated and the points at which it needs the ground (probes);
then feet, pelvis, legs and q. All in metres of the figure, z up; see grounder_walk.py for the arrays and
grounder_feet.py for the feet.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function, inline
from poise.kernels.entries import gil_kernel
from poise.kernels.ground.grounder_body import (
    KNEE_RATE,
    compute_fold,
    keep_step,
    lean_body,
    move_pelvis,
    place_hip,
    smooth_chord,
    soften_chord,
)
from poise.kernels.ground.grounder_feet import DOWN, compute_plane_height, place_foot
from poise.kernels.ground.grounder_walk import (
    ABOVE,
    ACROSS,
    ANKLE,
    AXIS,
    BALL,
    CARRIED,
    DEPTH,
    EARLIER_TURN,
    FOOT_ROW,
    FRAME_TIME,
    FRESH,
    HEEL,
    HIP,
    HIPS,
    IS_PLANE,
    IS_STAIRS,
    LIFT,
    LONGEST_PAUSE,
    LOWEST,
    MODE,
    MOST,
    MOST_BEND,
    MOVER_ABOVE,
    MOVER_REST,
    MOVER_ROW,
    MOVER_START,
    NEW,
    NEW_TURN,
    OFFSET,
    OUT,
    OUT_MOVES,
    OUT_TURN,
    OVER,
    PARTS,
    PLACES,
    PLANE,
    RESTS,
    RISER,
    SAMPLES,
    START,
    TERRAIN_SCALE,
    TERRAIN_Y,
    TILT,
    TIP,
    TIP_GROUND,
    TOES,
    TOES_GOAL,
    TOES_MOVES,
    TREADS,
    TRUNK,
    TRUNK_ABOVE,
    TRUNK_REST,
    TRUNK_START,
    TURNS,
    UP,
    compute_level_length,
    find_contacts,
    find_rotation,
    has_jumped,
    take_contacts,
    write_frame,
    write_maps,
    write_probes,
)
from poise.kernels.ground.legs import bend
from poise.kernels.lanes import SCALAR, stack_matrix
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
    read_quat,
    read_quat_at,
    read_vec_at,
    rotate,
    rotation_between,
    scale,
    sub,
    write_quat,
    write_quat_at,
    write_vec_at,
)

WALK, GROUND, BOTH = 0, 1, 2  # phases: up to the probes; from there; both


@device_function
def write_ground(probes, heights, normals, settings, ground):
    """Write the planes of the ground at the probes.

    Place, height and slopes of each, in metres, z up.
    """
    k = 1.0 / settings[TERRAIN_SCALE]
    for j in range(SAMPLES):
        x, y = probes[j, 0] * k, probes[j, 1] * k
        if settings[TERRAIN_Y] > 0.0:
            y = -probes[j, 2] * k
        ground[j, 0], ground[j, 1] = x, y
        if settings[IS_PLANE] > 0.0:
            ground[j, 3], ground[j, 4] = settings[PLANE + 1], settings[PLANE + 2]
            ground[j, 2] = settings[PLANE] + x * ground[j, 3] + y * ground[j, 4]
            continue
        if settings[IS_STAIRS] > 0.0:
            tread = math.floor(x * settings[TREADS] + y * settings[TREADS + 1] - settings[TREADS + 2])
            ground[j, 2], ground[j, 3], ground[j, 4] = settings[LOWEST] + (tread + 1.0) * settings[RISER], 0.0, 0.0
            continue
        # The terrain may be in other units and have y up: turned here, so that all below is in metres, z up.
        n = normals[j]
        nx, ny, nz = (n[0], -n[2], n[1]) if settings[TERRAIN_Y] > 0.0 else (n[0], n[1], n[2])
        # Slopes from a normal; a wall counts as very steep ground, not as infinitely steep.
        up = 1.0 / max(nz, 1e-3)
        ground[j, 2], ground[j, 3], ground[j, 4] = heights[j] * k, -nx * up, -ny * up


@inline
def find_first_angle(a, b, c):
    """Find the least angle for a cos + b sin = c.

    From 0 up.

    Where the sum never reaches c, it is the angle of the largest sum.
    """
    if a >= c:
        return 0.0
    size = max(compute_level_length(a, b), 1e-300)
    return math.atan2(b, a) - math.acos(min(max(c / size, -1.0), 1.0))


@inline
def shift_springs(s, away):
    """Let springs of a swinging foot go on from its reached place.

    Else it would shoot out once its leg reaches.
    """
    s[OFFSET], s[OFFSET + 1] = s[OFFSET] + away.x, s[OFFSET + 1] + away.y
    # But one that is in the ground is not to go deeper.
    s[LIFT] += away.z if s[DEPTH] <= 0.0 else max(away.z, 0.0)


@device_function
def lift_heel(s, frame, marks, reached):
    """Turn a foot about its ball.

    For feet with ankles out of reach: the heel lifts.
    """
    if s[MODE] < 2.0:
        return
    arm = rotate(read_quat_at(frame, NEW_TURN), read_vec_at(marks, BALL))
    to = sub(add(read_vec_at(frame, NEW), arm), reached)
    write_quat_at(frame, NEW_TURN, multiply(rotation_between(arm, to), read_quat_at(frame, NEW_TURN)))


@device_function
def measure_toe_bend(s, frame, marks, tip, axis, joint):
    """Measure angles about an axis.

    Returns the angle of the tip of the toes out of the ground, and the largest bend of the toes.
    """
    turn = read_quat_at(frame, NEW_TURN)
    ahead = rotate(turn, sub(read_vec_at(marks, BALL), read_vec_at(marks, HEEL)))
    bent = math.atan2(dot(axis, cross(ahead, tip)), dot(ahead, tip))
    # Where the tip of the toes comes up to the plane: again a cos + b sin = c.
    normal = Vec(-s[TIP_GROUND + 3], -s[TIP_GROUND + 4], 1.0)
    along = dot(axis, tip) * dot(axis, normal)
    lacks = compute_plane_height(s, TIP_GROUND, joint) - joint.z
    angle = find_first_angle(dot(normal, tip) - along, dot(normal, cross(axis, tip)), lacks - along)
    if angle < 0.0:  # the tip points back, and comes up the long way
        angle += 2.0 * math.pi
    return angle, marks[MOST_BEND] - bent


@device_function
def turn_toes(s, frame, marks, joint, dt, fresh):
    """Return the rotation of the toes, before the animated one.

    They lie on the ground, and are bent out of it by a bounded push.
    """
    tilt = read_quat_at(frame, TILT)
    tip = rotate(multiply(tilt, read_quat_at(frame, TURNS + 12)), read_vec_at(marks, TIP))
    if compute_plane_height(s, TIP_GROUND, add(joint, tip)) <= joint.z + tip.z and s[TOES] == s[TOES_MOVES] == 0.0:
        s[TOES_GOAL] = 0.0
        return tilt
    axis = rotate(read_quat_at(frame, NEW_TURN), read_vec_at(marks, ACROSS))
    if dot(axis, axis) < 0.5:  # heel and ball are one point, as of a paw
        axis = scale(Vec(tip.y, -tip.x, 0.0), 1.0 / max(compute_level_length(tip.x, tip.y), 1e-300))
    angle, limit = measure_toe_bend(s, frame, marks, tip, axis, joint)
    before, s[TOES_GOAL] = s[TOES_GOAL], min(angle, limit)
    if fresh:
        s[TOES], s[TOES_MOVES] = s[TOES_GOAL], 0.0
    else:
        most = DOWN / max(norm(tip), 1e-9)
        s[TOES], s[TOES_MOVES] = keep_step(s[TOES], s[TOES_MOVES], before, s[TOES_GOAL], KNEE_RATE, most, dt)
        if s[TOES] > limit and dt > 0.0:
            s[TOES], s[TOES_MOVES] = limit, s[TOES_MOVES] - (s[TOES] - limit) / dt
    return multiply(from_axis_angle(axis, s[TOES]), tilt)


@inline
def turn_joint(q, start, rest, e):
    """Turn a rotation of q by e in the world.

    start  its column in q

    rest  rotation of the frame that it is written in
    """
    v = rotate(conjugate(rest), Vec(e.x, e.y, e.z))
    write_quat_at(q, start, normalise(multiply(Quat(e.w, v.x, v.y, v.z), read_quat_at(q, start))))


@device_function
def write_leg(leg, marks, frame, turns, maps, q):
    """Write world rotations of the parts of a leg into q.

    See `legs.pass_turns_down`.
    """
    for j in range(leg[PARTS]):
        # A part that hangs in another one has been carried along by it: only what it turns beyond that is its own.
        over = leg[OVER + j]
        e = read_quat(turns, j)
        if over >= 0:
            e = multiply(conjugate(read_quat(turns, over)), e)
        # A part that hangs in the one before it hangs in what that is turned by, which is known.
        known = j > 0 and leg[ABOVE + j] == leg[HIP + j - 1]
        above = read_quat_at(frame, TURNS + 4 * j - 4) if known else find_rotation(maps[leg[ABOVE + j]])
        turn_joint(q, leg[START + j], multiply(above, read_quat_at(marks, RESTS + 4 * j)), e)


@device_function
def map_back(m, v):
    """Map a vector back through the linear part of an affine map."""
    a, b, c = Vec(m[0], m[4], m[8]), Vec(m[1], m[5], m[9]), Vec(m[2], m[6], m[10])
    bc = cross(b, c)
    volume = dot(a, bc)
    # Cramer: maps may scale and shear, so that a transpose would not do.
    k = 1.0 / volume if volume != 0.0 else 0.0  # nothing below a map that flattens space can be moved
    return Vec(k * dot(bc, v), k * dot(cross(c, a), v), k * dot(cross(a, b), v))


@device_function
def write_mover(settings, maps, shift, turn, q, translations):
    """Move the whole figure, and turn what leans."""
    # In the world, seen from what the mover hangs in; a free joint besides turns by A before it moves.
    local = map_back(maps[int(settings[MOVER_ABOVE])], shift)
    at = int(settings[MOVER_START])
    if at >= 0:
        local = rotate(conjugate(read_quat_at(settings, MOVER_REST)), local)
        q[at], q[at + 1], q[at + 2] = q[at] + local.x, q[at + 1] + local.y, q[at + 2] + local.z
    else:
        row = int(settings[MOVER_ROW])
        for j in range(3):
            translations[row, j] += local[j]
    if turn.x != 0.0 or turn.y != 0.0:
        above = find_rotation(maps[int(settings[TRUNK_ABOVE])])
        turn_joint(q, int(settings[TRUNK_START]), multiply(above, read_quat_at(settings, TRUNK_REST)), turn)


@device_function
def place_leg(leg, marks, s, frame, maps, up, shift, lean, dt, fresh, q, translations):
    """Bend a leg to its foot, write it and store it."""
    turns = stack_matrix(SCALAR, 5, 4)
    hip, knee, ankle = read_vec_at(frame, PLACES), read_vec_at(frame, PLACES + 3), read_vec_at(frame, PLACES + 6)
    raised = add(place_hip(frame), Vec(0.0, 0.0, up))
    # A foot that stands is reached as far as the leg goes; one that swings stops softly before that.
    most = frame[MOST] if s[MODE] > 0.0 else soften_chord(frame, raised)
    axis = rotate(read_quat_at(frame, TURNS), read_vec_at(marks, AXIS))
    away = sub(read_vec_at(frame, NEW), raised)
    away = Vec(away.x, away.y, min(away.z, -compute_fold(frame, away)))
    distance = max(norm(away), 1e-9)
    chord = smooth_chord(s, frame, min(distance, most), dt, fresh)
    to = add(raised, scale(away, chord / distance))
    thigh, shin, reached = bend(hip, knee, ankle, axis, raised, to, chord, 1.0)
    if s[MODE] == 0.0:
        shift_springs(s, sub(reached, read_vec_at(frame, NEW)))
    lift_heel(s, frame, marks, reached)
    write_vec_at(frame, NEW, reached)
    foot = multiply(read_quat_at(frame, NEW_TURN), conjugate(read_quat_at(frame, TURNS + 8)))
    joint = add(reached, rotate(foot, sub(read_vec_at(frame, PLACES + 9), ankle)))
    write_quat(turns, 0, thigh)
    write_quat(turns, 1, shin)
    write_quat(turns, 2, foot)
    write_quat(turns, CARRIED, lean)
    if leg[PARTS] > 3:
        write_quat(turns, 3, turn_toes(s, frame, marks, joint, dt, fresh))
    write_leg(leg, marks, frame, turns, maps, q)
    if leg[FOOT_ROW] >= 0:
        above = maps[leg[ABOVE + 2]]
        # A foot that does not hang in the shin (a control rig) is moved to where the shin ends.
        local = map_back(above, sub(sub(reached, shift), Vec(above[3], above[7], above[11])))
        for j in range(3):
            translations[leg[FOOT_ROW], j] = local[j]
    store_shown(s, frame, dt, fresh)


@inline
def store_shown(s, frame, dt, fresh):
    """Store the shown foot and its velocities."""
    now, turn = read_vec_at(frame, NEW), read_quat_at(frame, NEW_TURN)
    # Velocities of what is shown, not of what was animated: springs start from them where a lock opens.
    if dt > 0.0 and not fresh:
        write_vec_at(s, OUT_MOVES, scale(sub(now, read_vec_at(s, OUT)), 1.0 / dt))
        write_quat_at(s, EARLIER_TURN, read_quat_at(s, OUT_TURN))
        s[FRAME_TIME] = dt
    write_vec_at(s, OUT, now)
    write_quat_at(s, OUT_TURN, turn)
    write_vec_at(s, ANKLE, read_vec_at(frame, PLACES + 6))
    s[HIPS], s[HIPS + 1] = frame[PLACES], frame[PLACES + 1]


@device_function
def read_legs(table, rows, used, legs, marks, settings, work, maps, frames, q, translations, scales):
    """Read the animated places of the legs."""
    for j in range(used.shape[0]):
        work[j] = q[used[j]]
    write_maps(table, rows, work, translations, scales, settings, work[used.shape[0] :], maps)
    for l in range(legs.shape[0]):
        write_frame(legs[l], marks[l], maps, frames[l])


@device_function
def read_contacts(marks, settings, state, body, frames, probes, contacts, dt):
    """Find standing points, and write the probes of the ground."""
    fresh = body[FRESH] > 0.0 or dt > settings[LONGEST_PAUSE]
    for l in range(marks.shape[0]):
        # One leg that was put elsewhere means that all were: springs must not carry old offsets over.
        fresh = fresh or has_jumped(state[l], frames[l], dt)
    for l in range(marks.shape[0]):
        if not take_contacts(state[l], contacts[l]):
            find_contacts(state[l], frames[l], settings, dt, fresh)
        write_probes(state[l], frames[l], marks[l], settings, dt, fresh, probes[l])
    body[FRESH] = 1.0 if fresh else 0.0


@device_function
def place_feet(legs, marks, settings, state, body, frames, probes, heights, normals, dt):
    """Place the feet on the ground."""
    touching = stack_matrix(SCALAR, SAMPLES, 5)
    fresh = body[FRESH] > 0.0
    for l in range(legs.shape[0]):
        write_ground(probes[l], heights[l], normals[l], settings, touching)
        place_foot(legs[l], marks[l], settings, state[l], frames[l], touching, dt, fresh)


@device_function
def place_body(legs, marks, settings, state, body, maps, frames, q, translations, dt):
    """Place pelvis and legs, and write q."""
    fresh = body[FRESH] > 0.0
    lean, shift = lean_body(body, frames, maps[int(settings[TRUNK])], settings, dt, fresh)
    move_pelvis(body, state, frames, settings, dt, fresh)
    shift = add(shift, Vec(0.0, 0.0, body[UP]))
    write_mover(settings, maps, shift, lean, q, translations)
    for l in range(legs.shape[0]):
        place_leg(legs[l], marks[l], state[l], frames[l], maps, body[UP], shift, lean, dt, fresh, q, translations)
    body[FRESH] = 0.0


@gil_kernel("i F2 I1 I1 I2 F2 F1 wF3 wF2 wF2 wF3 wF3 wF4 F3 F4 wF3 wF2 wF3 F3 f ->")
def step(
    phase, table, rows, used, legs, marks, settings, state, body, work, maps, frames, probes, heights, normals,
    contacts, q, translations, scales, dt,
):  # fmt: skip
    """Do a phase of a frame for k characters.

    q (k, nq) and translations (k, n|0, 3) become those of the shown pose.
    """
    count = q.shape[0]
    # Two phases, because the ground in between may be computed in Python; on planes and stairs, which the kernel knows,
    # one call does both.
    if phase != GROUND:
        for i in range(count):
            read_legs(
                table, rows, used, legs, marks, settings, work[i], maps[i], frames[i], q[i], translations[i], scales[i]
            )
            read_contacts(marks, settings, state[i], body[i], frames[i], probes[i], contacts[i], dt)
    if phase != WALK:
        for i in range(count):
            place_feet(legs, marks, settings, state[i], body[i], frames[i], probes[i], heights[i], normals[i], dt)
            place_body(legs, marks, settings, state[i], body[i], maps[i], frames[i], q[i], translations[i], dt)
