# pyright: standard
"""Feet of a live frame, locked or free.

A foot is locked where it stands, else as animated over the ground, and springs lead from one to the other. A swinging
foot has a lift, a height over its animated place above the ground: one number and its speed, moved by no more than an
acceleration. The ground that it counts from jumps at every edge that the foot passes; the lift jumps the other way, so
that the foot does not.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function, inline
from poise.kernels.ground.grounder_walk import (
    ABOUT,
    AHEAD,
    AIM,
    AIM_TURN,
    BALL,
    BENDS,
    BLEND_RATE,
    BROKEN,
    DEPTH,
    EARLIER_TURN,
    FARTHEST,
    FLAT,
    FRAME_TIME,
    FURTHEST,
    GROUND,
    HEEL,
    HELD,
    HIGHER,
    HIPS,
    HORIZON,
    JUMP,
    LAID,
    LEVEL,
    LIFT,
    LIFT_MOVES,
    LIFT_RATE,
    LOCK,
    MODE,
    NEW,
    NEW_TURN,
    OFFSET,
    OFFSET_MOVES,
    ON,
    OPENED,
    OUT,
    OUT_MOVES,
    OUT_TURN,
    PARTS,
    PLACES,
    POINT,
    RAMP,
    RAMP_MOVES,
    RAMP_WAY,
    ROOM,
    ROSE,
    SLOPE,
    SLOPE_GOAL,
    SLOPE_MOVES,
    SOLE,
    STEEPEST,
    STEP,
    STEP_MOVES,
    TILT,
    TURNS,
    TWIST,
    TWIST_SPINS,
    UNDER,
    compute_level_length,
    compute_time_ahead,
    measure_rise,
    place_free_point,
    place_shown_point,
)
from poise.kernels.smoothing import smoothstep_between
from poise.kernels.springs import (
    exp_rotation,
    follow_target,
    log_rotation,
    step_bounded_spring,
    step_bounded_spring_vec,
    step_spring_vec,
)
from poise.kernels.vec_quat import (
    Quat,
    Vec,
    add,
    from_axis_angle,
    multiply,
    norm,
    read_quat_at,
    read_vec_at,
    rotate,
    rotation_between,
    scale,
    sub,
    write_quat_at,
    write_vec_at,
)

EDGE = 0.03  # [m] ground ahead that is higher by more than this, beside its slope, is a step
BARELY = 0.005  # [m] a foot that is deeper was overtaken by a step
STRONGEST = 45.0  # [m/s^2] a lift is pushed by at most: 12 mm/frame^2 at 60 Hz
DOWN = 40.0  # [m/s^2] by which a lift goes back at most, and by which the tip of toes is pushed

_TOES = 0.03  # [m] by which toes bend out of the ground before a swinging foot is lifted for them
_OVER = 0.02  # [m] by which a foot passes over a step
_SOONEST = 0.05  # [s] a foot that lands looks so far ahead at least
_SOON = 0.02  # [s] in which a swinging foot leaves the ground that it is in
_BRAKES = 0.35  # the share of the strongest push from which on a foot that is let down is slowed down
_STRETCH = 0.2  # [m] over which the mean slope of steps is measured at least
_RAMP_RATE = 10.0  # [1/s] at which that slope forgets

_GENTLE = 30.0  # [m/s^2] by which a new height of the ground is followed at most: 8 mm/frame^2 at 60 Hz
_RETURNS = 32.0  # [m/s^2] by which a foot that is let go returns level to its animation at most
_FAST = 1.8  # [m/s] that an animation goes away from a foot that is let go by at most: held back more, it would fly far
_HEEL_GIVES = 0.05  # [m] that a lifted heel lets the ankle come nearer to the hip
_HEEL_TIME = 0.15  # [s] in which that becomes possible once the heel has left the ground


@inline
def compute_height(ground, j, p):
    """Compute the ground's height at p on the plane of probe j."""
    return compute_plane_height(ground[j], 0, p)


@inline
def compute_plane_height(row, at, p):
    """Compute a plane's height at p.

    Its place, height and slopes are in the columns of a row from `at` on.
    """
    return row[at + 2] + row[at + 3] * (p.x - row[at]) + row[at + 4] * (p.y - row[at + 1])


@inline
def get_min_bend(leg):
    """Return the bend of toes before a swinging foot is lifted [m]."""
    return _TOES if leg[PARTS] > 3 else 0.0


@inline
def compute_push(away, moves, time):
    """Compute the steady acceleration over a distance `away` in a time.

    It starts at velocity `moves`.
    """
    return 2.0 * (away - moves * time) / (time * time)


@device_function
def compute_push_ahead(s, tip, rise, ground):
    """Compute the acceleration of the lift over all steps ahead.

    It is -inf without a step.

    tip   place of the tip of the foot without the lift
    rise  velocity up as animated, 0 or less [m/s]
    """
    most = -math.inf
    for i in range(AHEAD):
        ahead, time = ground[3 + i], compute_time_ahead(s, i)
        # Beside the slope under the tip: a ramp ahead is no step.
        under = compute_height(ground, 2, Vec(ahead[0], ahead[1], 0.0))
        if ahead[2] - under > EDGE:
            # By itself the tip comes down to the ground that it is over, and no farther.
            falls_to = max(tip.z + rise * time, min(under, tip.z))
            away, moves = ahead[2] + _OVER - falls_to - s[LIFT] - s[RAMP_MOVES] * time, s[LIFT_MOVES] - s[RAMP_MOVES]
            # What is as fast as this gets there, if late: pushed on, it would fly far above the step.
            if moves <= 0.0 or moves * moves < 2.0 * DOWN * max(away, 0.0):
                most = max(most, compute_push(away, moves, time))
    return most


@inline
def compute_braking(clear, moves, rise, dt):
    """Compute the acceleration against running into the ground.

    It is -inf for feet that need none.

    clear  height over the ground [m]
    moves  velocity of the lift
    rise   velocity up as animated, 0 or less [m/s]
    """
    if moves >= 0.0 or clear <= 0.0:
        return -math.inf
    speed = moves + rise
    stop = 0.5 * speed * speed / clear
    # No more than stops the lift: as it is animated, the foot comes down all the same.
    return min(stop, -moves / dt) if stop > _BRAKES * STRONGEST else -math.inf


@device_function
def measure_ramp_speed(s, ankle, ground, dt):
    """Measure the mean speed of steps rising under a foot [m/s].

    Their mean slope ahead of it times its speed there. Steps that lead down are followed only once the foot is over
    them, so that it does not go through their edges.
    """
    near, far = ground[3], ground[2 + AHEAD]
    x, y = far[0] - near[0], far[1] - near[1]
    way = compute_level_length(x, y)
    if way > _STRETCH:
        # Beside the slope that the lift follows anyway; single steps come and go, their mean slope stays.
        steep = (far[2] - compute_height(ground, 3, Vec(far[0], far[1], 0.0))) / way
        s[RAMP] -= math.expm1(-_RAMP_RATE * dt) * (steep - s[RAMP])
        s[RAMP_WAY], s[RAMP_WAY + 1] = x / way, y / way
    went = sub(ankle, read_vec_at(s, OUT))
    return max(s[RAMP], 0.0) / dt * (went.x * s[RAMP_WAY] + went.y * s[RAMP_WAY + 1])


@device_function
def lower_foot(s, ankle, ground, rate, dt):
    """Return lift and velocity after a frame without an obstacle.

    A spring leads to 0, and up with the steps.
    """
    before, ramp = s[RAMP_MOVES], measure_ramp_speed(s, ankle, ground, dt)
    s[RAMP_MOVES] = ramp
    # A foot that gets slower climbs more slowly, at once: it would fly on where it is put down.
    s[LIFT_MOVES] += ramp - before
    lift, moves = step_bounded_spring(s[LIFT], s[LIFT_MOVES] - ramp, rate, DOWN, dt)
    return lift + ramp * dt, moves + ramp


@device_function
def measure_needed_lift(s, leg, frame, marks, ankle, turn, ground, dt, rate):
    """Measure the lift out of the ground.

    Returns the tip of the foot without its lift, the least lift out of the ground [m], the height of its lowest point,
    and by how much the toes bend less than in the last frame: they give back what they bent while the foot stood.
    """
    tip = add(sub(read_vec_at(frame, SOLE + 6), read_vec_at(frame, PLACES + 6)), ankle)
    bent = s[BENDS] - get_min_bend(leg)
    s[BENDS] = get_min_bend(leg) + bent * math.exp(-rate * dt)
    needed = compute_height(ground, 2, tip) - tip.z - s[BENDS]
    lowest = -needed
    for j in range(2):
        p = add(ankle, rotate(turn, read_vec_at(marks, HEEL + 3 * j)))
        needed = max(needed, compute_height(ground, j, p) - p.z)
        lowest = min(lowest, p.z - compute_height(ground, j, p))
    return tip, needed, lowest, bent + get_min_bend(leg) - s[BENDS]


@device_function
def lift_foot(s, leg, frame, marks, ankle, turn, ground, settings, dt):
    """Return the lift of a swinging foot.

    It leads over the ground here and ahead, and changes by no more than an acceleration.
    """
    rate = settings[LIFT_RATE]
    tip, needed, lowest, unbent = measure_needed_lift(s, leg, frame, marks, ankle, turn, ground, dt, rate)
    if dt <= 0.0:
        return s[LIFT]
    rise = measure_rise(s, frame, dt)
    push = compute_push_ahead(s, tip, min(rise, 0.0), ground)
    if s[DEPTH] + s[ROSE] > BARELY:
        # A foot that goes down is faster in the ground than its lift knows.
        moves = s[LIFT_MOVES] + (min(rise, 0.0) if needed > s[LIFT] else 0.0)
        push = max(push, compute_push(needed - s[LIFT], moves, max(_SOON, 1.2 * dt)))
    s[HORIZON] = min(max(lowest / -rise, _SOONEST), FURTHEST) if rise < 0.0 else FURTHEST
    lift, moves = lower_foot(s, ankle, ground, rate, dt)
    push = max(push, compute_braking(s[LIFT] - needed, s[LIFT_MOVES] - s[RAMP_MOVES], min(rise, 0.0), dt))
    fastest = s[LIFT_MOVES] + STRONGEST * dt
    push = min(push, STRONGEST)
    if s[LIFT_MOVES] + push * dt > moves:
        lift, moves = s[LIFT] + s[LIFT_MOVES] * dt + 0.5 * push * dt * dt, s[LIFT_MOVES] + push * dt
    # What the foot itself goes into the ground it comes out of at once; what the ground rises under it, as above.
    deeper = needed - lift - s[DEPTH] - s[ROSE] - unbent
    if deeper > 0.0 and s[DEPTH] < BARELY:
        lift, moves = min(lift + deeper, s[LIFT] + fastest * dt), max(moves, min(0.0, fastest))
    s[DEPTH] = max(needed - lift, 0.0)
    s[LIFT], s[LIFT_MOVES] = lift, moves
    return lift


@inline
def make_tilt(x, y, steepest):
    """Return the rotation from level ground to these slopes.

    It is at most `steepest` [rad].
    """
    if x == 0.0 and y == 0.0:
        return Quat(1.0, 0.0, 0.0, 0.0)
    slope = compute_level_length(x, y)
    k = 1.0 / max(slope, 1e-300)
    return from_axis_angle(Vec(y * k, -x * k, 0.0), min(math.atan(slope), steepest))


@device_function
def level_step(s, ground, fresh):
    """Treat heel and ball on two steps as on one step.

    It is that of the lock, else the higher one. So a foot stands on the step that bears it, and its other end hangs
    over the edge.
    """
    locked = 0 if fresh else int(s[MODE])
    if locked > 0:
        ground[locked - 1, 2] += s[LOCK + 2] - compute_height(ground, locked - 1, read_vec_at(s, LOCK))
    a, b = ground[0], ground[1]
    x, y = 0.5 * (a[3] + b[3]), 0.5 * (a[4] + b[4])
    step = b[2] - a[2] - x * (b[0] - a[0]) - y * (b[1] - a[1])
    if abs(step) <= EDGE:
        return
    if locked == 2 or (locked == 0 and step > 0.0):
        ground[0, 2] += step
    else:
        ground[1, 2] -= step


@inline
def measure_jump(s, j, here):
    """Measure a jump of the ground under the sole [m].

    Since the last frame. What the mean slope explains is no jump: walking up a ramp, the ground under a foot rises
    smoothly.
    """
    at = GROUND + 5 * j
    x, y = 0.5 * (s[at + 3] + here[3]), 0.5 * (s[at + 4] + here[4])
    return here[2] - s[at + 2] - x * (here[0] - s[at]) - y * (here[1] - s[at + 1])


@inline
def measure_body_rise(s, frame, rate, dt):
    """Measure how fast steps rise below the hip [m/s].

    It is their mean slope times the animated speed of the hip along them, and no more than brings up what is left.
    """
    if dt <= 0.0:
        return 0.0
    x, y = frame[PLACES] - s[HIPS], frame[PLACES + 1] - s[HIPS + 1]
    rise = s[RAMP] / dt * (x * s[RAMP_WAY] + y * s[RAMP_WAY + 1])
    left = max(-s[STEP], 0.0)
    return max(min(rise, rate * left, left / dt), 0.0)


@device_function
def follow_ground(s, frame, marks, ground, settings, dt, fresh):
    """Follow tilt and height of the ground under the sole.

    The height is that above the animation's floor. On smooth ground it is the ground's own. Where it jumps, as at a
    step, a spring takes over the jump.
    """
    height, under, jump, s[ROSE] = 0.0, 0.0, 0.0, 0.0
    frame[ABOUT], frame[ABOUT + 1] = 0.0, 0.0
    if fresh:
        s[STEP], s[STEP_MOVES] = 0.0, 0.0
    for j in range(3):
        rise = 0.0 if fresh else measure_jump(s, j, ground[j])
        s[ROSE] = max(s[ROSE], rise)
        if j < 2:  # heel and ball bear the foot
            jump += 0.5 * rise
            free = place_free_point(s, frame, j, fresh)
            under += 0.5 * compute_height(ground, j, free)
            here = place_shown_point(s, marks, j) if s[MODE] > 0.0 and not fresh else free
            height += 0.5 * compute_height(ground, j, here)
            frame[ABOUT], frame[ABOUT + 1] = frame[ABOUT] + 0.5 * here.x, frame[ABOUT + 1] + 0.5 * here.y
        for c in range(5):
            s[GROUND + 5 * j + c] = ground[j, c]
    rate = settings[BLEND_RATE]
    ramp = 0.0 if fresh else measure_body_rise(s, frame, rate, dt)
    # The jump is taken out of the height and given to the spring, which lets go of it, and rises as the body does.
    s[STEP], s[STEP_MOVES] = step_bounded_spring(s[STEP] - jump, s[STEP_MOVES] - ramp, rate, _GENTLE, dt)
    s[STEP], s[STEP_MOVES] = s[STEP] + ramp * dt, s[STEP_MOVES] + ramp
    for c in range(2):
        goal = 0.5 * (ground[0, 3 + c] + ground[1, 3 + c])
        before, s[SLOPE_GOAL + c] = s[SLOPE_GOAL + c], goal
        if fresh:
            s[SLOPE + c], s[SLOPE_MOVES + c] = goal, 0.0
        else:
            s[SLOPE + c], s[SLOPE_MOVES + c] = follow_target(s[SLOPE + c], s[SLOPE_MOVES + c], before, goal, rate, dt)
    write_quat_at(frame, TILT, make_tilt(s[SLOPE], s[SLOPE + 1], settings[STEEPEST]))
    frame[HIGHER], frame[UNDER] = height - settings[LEVEL] + s[STEP], under - settings[LEVEL]
    s[JUMP] = jump


@inline
def aim_foot(frame, marks):
    """Return ankle and rotation of the animated foot on the ground.

    The foot is tilted with the ground about its sole.
    """
    foot = read_quat_at(frame, TURNS + 8)
    turn = multiply(read_quat_at(frame, TILT), foot)
    # Tilted about the middle of the sole, so that heel and ball leave the ground by as much on both sides.
    middle = scale(add(read_vec_at(marks, HEEL), read_vec_at(marks, BALL)), 0.5)
    ankle = add(read_vec_at(frame, PLACES + 6), sub(rotate(foot, middle), rotate(turn, middle)))
    return Vec(ankle.x, ankle.y, ankle.z + frame[UNDER]), turn


@device_function
def choose_mode(s, frame, settings):
    """Choose the lock: 0 none, 1 the heel, 2 the ball.

    A lock pulled too far breaks until the foot lifts.
    """
    heel, ball, mode = s[ON] > 0.0, s[POINT + ON] > 0.0, int(s[MODE])
    if mode > 0:
        pulled = sub(read_vec_at(frame, SOLE + 3 * mode - 3), read_vec_at(s, LOCK))
        # The figure has walked away from its lock, as where the animation slides: let go rather than stretch the leg.
        if compute_level_length(pulled.x, pulled.y) > settings[FARTHEST]:
            s[BROKEN] = 1.0
    if not (heel or ball):
        s[BROKEN] = 0.0
        return 0
    if s[BROKEN] > 0.0:
        return 0
    # The lock stays on its point while that stands, also where both do: a change would be seen.
    if (mode == 1 and heel) or (mode == 2 and ball):
        return mode
    return 1 if heel else 2


@device_function
def reset_foot(s, aim, turn):
    """Reset the memory of a foot to its aim."""
    for j in range(MODE, STEP):
        s[j] = 0.0
    s[LIFT], s[LIFT_MOVES], s[HORIZON], s[DEPTH] = 0.0, 0.0, FURTHEST, 0.0
    s[RAMP], s[RAMP_MOVES] = 0.0, 0.0
    write_vec_at(s, OUT, aim)
    write_vec_at(s, AIM, aim)
    write_quat_at(s, OUT_TURN, turn)
    write_quat_at(s, EARLIER_TURN, turn)
    s[FRAME_TIME] = 1.0
    write_quat_at(s, AIM_TURN, turn)


@inline
def measure_spin(s):
    """Measure the last angular velocity of the shown foot [rad/s].

    Needed only where a foot is let go or laid flat.
    """
    return scale(log_rotation(read_quat_at(s, EARLIER_TURN), read_quat_at(s, OUT_TURN)), 1.0 / s[FRAME_TIME])


@device_function
def turn_foot(s, turn, mode, flat, settings, dt):
    """Return the rotation of the foot.

    It is the held one while it stands flat, else that of the aim, and the rest of the last change.
    """
    let_go = s[MODE] > 0.0 and s[MODE] != mode
    if (s[FLAT] > 0.0 and not flat) or let_go:
        s[FLAT] = 0.0
        # The foot is let go: from what was shown to what is aimed at, in place and speed, so that nothing jumps.
        write_vec_at(s, TWIST, log_rotation(read_quat_at(s, AIM_TURN), read_quat_at(s, OUT_TURN)))
        spin = log_rotation(read_quat_at(s, AIM_TURN), turn)
        write_vec_at(s, TWIST_SPINS, sub(measure_spin(s), scale(spin, 1.0 / dt if dt > 0.0 else 0.0)))
    left, spins = step_spring_vec(read_vec_at(s, TWIST), read_vec_at(s, TWIST_SPINS), settings[BLEND_RATE], dt)
    write_vec_at(s, TWIST, left)
    write_vec_at(s, TWIST_SPINS, spins)
    return multiply(exp_rotation(left), read_quat_at(s, HELD) if s[FLAT] > 0.0 else turn)


@device_function
def lock_point(s, p, moves, ground, mode):
    """Lock a point of the sole on the ground under it.

    A spring takes away its height above or below the ground.
    """
    height = compute_height(ground, mode - 1, p)
    write_vec_at(s, LOCK, Vec(p.x, p.y, height))
    over = p.z - height
    over = over if over < -EDGE or s[DEPTH] > BARELY else max(over, 0.0)
    write_vec_at(s, OFFSET, Vec(0.0, 0.0, over))
    write_vec_at(s, OFFSET_MOVES, Vec(0.0, 0.0, moves))


@device_function
def release(s, aim, dt):
    """Release a foot with its shown place and speed.

    It returns level by a spring, up and down by its lift.
    """
    k, left, sinks = 1.0 / dt if dt > 0.0 else 0.0, sub(read_vec_at(s, OUT), read_vec_at(s, AIM)), s[OFFSET_MOVES + 2]
    speed = scale(sub(Vec(aim.x, aim.y, aim.z - s[JUMP]), read_vec_at(s, AIM)), k)
    moves = sub(read_vec_at(s, OUT_MOVES), Vec(speed.x, speed.y, speed.z + sinks))
    # An animation that is faster than this as its foot is let go is followed at once by what is beyond.
    moves = scale(moves, min(1.0, _FAST / max(norm(moves), 1e-300)))
    write_vec_at(s, OFFSET, Vec(left.x, left.y, 0.0))
    write_vec_at(s, OFFSET_MOVES, Vec(moves.x, moves.y, 0.0))
    # One that had not come down yet goes on doing so.
    s[LIFT], s[LIFT_MOVES] = left.z - s[JUMP], moves.z + sinks


@device_function
def move_foot(s, marks, aim, turn, mode, ground, settings, dt):
    """Return the ankle of a locked or a free foot.

    What is locked stays; a free foot is at its aim; to both the rest of the last change is added. The springs start
    with what was shown over what is aimed at, in place and in speed, so that nothing jumps.
    """
    before = int(s[MODE])
    if mode == 0:
        if before > 0:
            release(s, aim, dt)
        else:
            s[LIFT] -= s[JUMP]
    rate, level, speed = settings[BLEND_RATE], read_vec_at(s, OFFSET), read_vec_at(s, OFFSET_MOVES)
    # Level it is what is left of a lock, up and down how far a foot that has landed is above its place.
    high, sinks = step_bounded_spring(level.z, speed.z, rate, STRONGEST, dt)
    level, speed = step_bounded_spring_vec(Vec(level.x, level.y, 0.0), Vec(speed.x, speed.y, 0.0), rate, _RETURNS, dt)
    left, moves = Vec(level.x, level.y, high), Vec(speed.x, speed.y, sinks)
    write_vec_at(s, OFFSET, left)
    write_vec_at(s, OFFSET_MOVES, moves)
    s[MODE] = float(mode)
    if mode == 0:
        return add(aim, left)
    arm = rotate(turn, read_vec_at(marks, HEEL + 3 * mode - 3))
    if before == 0:
        p = add(add(aim, left), arm)
        lift = s[LIFT] - s[JUMP] + s[LIFT_MOVES] * dt  # it goes on as it did: the ground it is over may have jumped
        lock_point(s, Vec(p.x, p.y, p.z + lift), s[OUT_MOVES + 2], ground, mode)
        s[LIFT], s[LIFT_MOVES], s[RAMP_MOVES] = 0.0, 0.0, 0.0
    elif before != mode:
        p = place_shown_point(s, marks, mode - 1)
        lock_point(s, Vec(p.x, p.y, p.z + moves.z * dt), moves.z, ground, mode)
    return sub(add(read_vec_at(s, LOCK), read_vec_at(s, OFFSET)), arm)


@device_function
def hold_flat(s, marks, turn, mode, ground, settings):
    """Hold the foot flat from now on.

    Heel and ball are on the ground, and it is turned to where it points now.
    """
    along = rotate(turn, sub(read_vec_at(marks, BALL), read_vec_at(marks, HEEL)))
    if mode == 2:
        along = scale(along, -1.0)
    length, level = norm(along), max(compute_level_length(along.x, along.y), 1e-12)
    most = length * math.sin(settings[STEEPEST])
    lock, reach, drop = read_vec_at(s, LOCK), level, 0.0
    # The ground below the other end depends on where that end comes, which depends on the ground: four rounds settle
    # it.
    for _ in range(4):
        k = reach / level
        spot = Vec(lock.x + k * along.x, lock.y + k * along.y, lock.z)
        drop = min(max(compute_height(ground, 2 - mode, spot) - lock.z, -most), most)
        reach = math.sqrt(max(length * length - drop * drop, 0.0))
    flat = Vec(along.x * reach / level, along.y * reach / level, drop)
    held = multiply(rotation_between(along, flat), turn)
    s[FLAT] = 1.0
    write_quat_at(s, HELD, held)
    write_vec_at(s, TWIST, log_rotation(held, turn))
    spins = measure_spin(s)
    write_vec_at(s, TWIST_SPINS, Vec(spins.x, spins.y, 0.0))  # what stands does not turn on the ground


@device_function
def raise_free_end(marks, ankle, turn, mode, ground):
    """Turn a foot about its lock out of the ground.

    Until the other end of its sole is out.
    """
    arm, other = (
        rotate(turn, read_vec_at(marks, HEEL + 3 * mode - 3)),
        rotate(turn, read_vec_at(marks, HEEL + 6 - 3 * mode)),
    )
    along, p = sub(other, arm), add(ankle, other)
    # The locked end stays; the other one may be in the ground where the slope was clipped or a step begins. A lock that
    # a step has overtaken comes out of it by a spring, and so does the other end: both may be as deep.
    held = add(ankle, arm)
    deep = compute_height(ground, 2 - mode, p) - p.z - max(compute_height(ground, mode - 1, held) - held.z, 0.0)
    if deep <= 0.0:
        return ankle, turn
    turn = multiply(rotation_between(along, Vec(along.x, along.y, along.z + deep)), turn)
    return add(add(ankle, arm), scale(rotate(turn, read_vec_at(marks, HEEL + 3 * mode - 3)), -1.0)), turn


@device_function
def place_foot(leg, marks, settings, s, frame, ground, dt, fresh):
    """Place a foot as its leg would have it, reached or not."""
    level_step(s, ground, fresh)
    follow_ground(s, frame, marks, ground, settings, dt, fresh)
    aim, turn = aim_foot(frame, marks)
    if fresh:
        reset_foot(s, aim, turn)
    mode = choose_mode(s, frame, settings)
    flat = mode > 0 and s[ON] > 0.0 and s[POINT + ON] > 0.0
    shown = turn_foot(s, turn, mode, flat, settings, dt)
    ankle = move_foot(s, marks, aim, shown, mode, ground, settings, dt)
    if flat and s[FLAT] == 0.0:
        hold_flat(s, marks, shown, mode, ground, settings)
    # In the first frame nothing was shown before: no change to ease, the foot stands where it should.
    if fresh and mode > 0:
        clear_springs(s)
        shown = read_quat_at(s, HELD) if flat else shown
        ankle = sub(read_vec_at(s, LOCK), rotate(shown, read_vec_at(marks, HEEL + 3 * mode - 3)))
    write_vec_at(s, AIM, aim)
    write_quat_at(s, AIM_TURN, turn)
    write_quat_at(s, LAID, shown)
    if mode > 0:
        ankle, shown = raise_free_end(marks, ankle, shown, mode, ground)
        tip = add(sub(read_vec_at(frame, SOLE + 6), read_vec_at(frame, PLACES + 6)), ankle)
        s[BENDS] = max(get_min_bend(leg), compute_height(ground, 2, tip) - tip.z)
        s[HORIZON], s[DEPTH] = FURTHEST, 0.0
    else:
        lift = lift_foot(s, leg, frame, marks, ankle, shown, ground, settings, dt)
        ankle = Vec(ankle.x, ankle.y, ankle.z + lift)
    # A heel is free to rise for a leg that is too short only once it has left the ground, and then gradually.
    s[OPENED] = s[OPENED] + dt if mode == 2 and not flat else 0.0
    frame[ROOM] = _HEEL_GIVES * smoothstep_between(s[OPENED], 0.0, _HEEL_TIME)
    write_vec_at(frame, NEW, ankle)
    write_quat_at(frame, NEW_TURN, shown)


@inline
def clear_springs(s):
    """Clear the rest of every change."""
    for j in range(OFFSET, STEP):
        s[j] = 0.0
