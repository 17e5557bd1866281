# pyright: standard
"""The feet of a live frame: locked where they stand, else as animated over the ground, and springs between the two."""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function, inline
from poise.kernels.ground.grounder_lift import BARELY, EDGE, STRONGEST, height_at, least_bend, lifted_over
from poise.kernels.ground.grounder_walk import (
    ABOUT,
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
    HORIZON,
    JUMP,
    LAID,
    LEVEL,
    LIFT,
    LIFT_MOVES,
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
    PLACES,
    POINT,
    RAMP,
    RAMP_MOVES,
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
    level_length,
    shown_point,
    sole_point,
)
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

_GENTLE = 30.0  # [m/s^2] by which a new height of the ground is followed at most: 8 mm/frame^2 at 60 Hz
_RETURNS = 32.0  # [m/s^2] by which a foot that is let go returns level to its animation at most
_FAST = 1.8  # [m/s] that an animation goes away from a foot that is let go by at most: held back more, it would fly far
_HEEL_GIVES = 0.05  # [m] that a lifted heel lets the ankle come nearer to the hip
_HEEL_TIME = 0.15  # [s] in which that becomes possible once the heel has left the ground


@inline
def eased(u):
    """Smooth step from 0 to 1: 3 u^2 - 2 u^3, held outside."""
    u = min(max(u, 0.0), 1.0)
    return u * u * (3.0 - 2.0 * u)


@inline
def tilted(x, y, steepest):
    """The rotation of level ground to ground of these slopes, by at most an angle [rad]."""
    if x == 0.0 and y == 0.0:
        return Quat(1.0, 0.0, 0.0, 0.0)
    slope = level_length(x, y)
    k = 1.0 / max(slope, 1e-300)
    return from_axis_angle(Vec(y * k, -x * k, 0.0), min(math.atan(slope), steepest))


@device_function
def level_step(s, ground, fresh):
    """Where heel and ball are on two steps, both are taken to be on one: that of the lock, else the higher one.

    So a foot stands on the step that bears it, and its other end hangs over the edge.
    """
    locked = 0 if fresh else int(s[MODE])
    if locked > 0:
        ground[locked - 1, 2] += s[LOCK + 2] - height_at(ground, locked - 1, read_vec_at(s, LOCK))
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
def jumped_by(s, j, here):
    """[m] by how much the ground under a point of the sole jumped up since the last frame.

    What the mean slope explains is no jump: walking up a ramp, the ground under a foot rises smoothly.
    """
    at = GROUND + 5 * j
    x, y = 0.5 * (s[at + 3] + here[3]), 0.5 * (s[at + 4] + here[4])
    return here[2] - s[at + 2] - x * (here[0] - s[at]) - y * (here[1] - s[at + 1])


@device_function
def follow_ground(s, frame, marks, ground, settings, dt, fresh):
    """How the ground under the sole is tilted, by a spring, and how much higher it is than the animation's floor.

    On smooth ground that is the ground's own height. Where it jumps, as at a step, a spring takes over the jump.
    """
    height, under, jump, s[ROSE] = 0.0, 0.0, 0.0, 0.0
    frame[ABOUT], frame[ABOUT + 1] = 0.0, 0.0
    if fresh:
        s[STEP], s[STEP_MOVES] = 0.0, 0.0
    for j in range(3):
        rise = 0.0 if fresh else jumped_by(s, j, ground[j])
        s[ROSE] = max(s[ROSE], rise)
        if j < 2:  # heel and ball bear the foot
            jump += 0.5 * rise
            free = sole_point(s, frame, j, fresh)
            under += 0.5 * height_at(ground, j, free)
            here = shown_point(s, marks, j) if s[MODE] > 0.0 and not fresh else free
            height += 0.5 * height_at(ground, j, here)
            frame[ABOUT], frame[ABOUT + 1] = frame[ABOUT] + 0.5 * here.x, frame[ABOUT + 1] + 0.5 * here.y
        for c in range(5):
            s[GROUND + 5 * j + c] = ground[j, c]
    rate = settings[BLEND_RATE]
    # The jump is taken out of the height and given to the spring, which lets go of it.
    s[STEP], s[STEP_MOVES] = step_bounded_spring(s[STEP] - jump, s[STEP_MOVES], rate, _GENTLE, dt)
    for c in range(2):
        goal = 0.5 * (ground[0, 3 + c] + ground[1, 3 + c])
        before, s[SLOPE_GOAL + c] = s[SLOPE_GOAL + c], goal
        if fresh:
            s[SLOPE + c], s[SLOPE_MOVES + c] = goal, 0.0
        else:
            s[SLOPE + c], s[SLOPE_MOVES + c] = follow_target(s[SLOPE + c], s[SLOPE_MOVES + c], before, goal, rate, dt)
    write_quat_at(frame, TILT, tilted(s[SLOPE], s[SLOPE + 1], settings[STEEPEST]))
    frame[HIGHER], frame[UNDER] = height - settings[LEVEL] + s[STEP], under - settings[LEVEL]
    s[JUMP] = jump


@inline
def aimed(frame, marks):
    """Ankle and rotation of the foot as animated, on the ground that is there: tilted with it about its sole."""
    foot = read_quat_at(frame, TURNS + 8)
    turn = multiply(read_quat_at(frame, TILT), foot)
    # Tilted about the middle of the sole, so that heel and ball leave the ground by as much on both sides.
    middle = scale(add(read_vec_at(marks, HEEL), read_vec_at(marks, BALL)), 0.5)
    ankle = add(read_vec_at(frame, PLACES + 6), sub(rotate(foot, middle), rotate(turn, middle)))
    return Vec(ankle.x, ankle.y, ankle.z + frame[UNDER]), turn


@device_function
def chosen_mode(s, frame, settings):
    """What holds the foot: 0 nothing, 1 the heel, 2 the ball. A lock pulled too far breaks until the foot lifts."""
    heel, ball, mode = s[ON] > 0.0, s[POINT + ON] > 0.0, int(s[MODE])
    if mode > 0:
        pulled = sub(read_vec_at(frame, SOLE + 3 * mode - 3), read_vec_at(s, LOCK))
        # The figure has walked away from its lock, as where the animation slides: let go rather than stretch the leg.
        if level_length(pulled.x, pulled.y) > settings[FARTHEST]:
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
def forget(s, aim, turn):
    """Begin anew from where the foot is aimed at."""
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
def shown_spins(s):
    """[rad/s] at which the foot turned as it was shown last; worked out only where a foot is let go or laid flat."""
    return scale(log_rotation(read_quat_at(s, EARLIER_TURN), read_quat_at(s, OUT_TURN)), 1.0 / s[FRAME_TIME])


@device_function
def turn_foot(s, turn, mode, flat, settings, dt):
    """The rotation of the foot: as held while it stands flat, else as aimed, and what is left of the last change."""
    let_go = s[MODE] > 0.0 and s[MODE] != mode
    if (s[FLAT] > 0.0 and not flat) or let_go:
        s[FLAT] = 0.0
        # The foot is let go: from what was shown to what is aimed at, in place and speed, so that nothing jumps.
        write_vec_at(s, TWIST, log_rotation(read_quat_at(s, AIM_TURN), read_quat_at(s, OUT_TURN)))
        spin = log_rotation(read_quat_at(s, AIM_TURN), turn)
        write_vec_at(s, TWIST_SPINS, sub(shown_spins(s), scale(spin, 1.0 / dt if dt > 0.0 else 0.0)))
    left, spins = step_spring_vec(read_vec_at(s, TWIST), read_vec_at(s, TWIST_SPINS), settings[BLEND_RATE], dt)
    write_vec_at(s, TWIST, left)
    write_vec_at(s, TWIST_SPINS, spins)
    return multiply(exp_rotation(left), read_quat_at(s, HELD) if s[FLAT] > 0.0 else turn)


@device_function
def lock_at(s, p, moves, ground, mode):
    """Lock a point of the sole on the ground under it; what it is above or below that, a spring takes away."""
    height = height_at(ground, mode - 1, p)
    write_vec_at(s, LOCK, Vec(p.x, p.y, height))
    over = p.z - height
    over = over if over < -EDGE or s[DEPTH] > BARELY else max(over, 0.0)
    write_vec_at(s, OFFSET, Vec(0.0, 0.0, over))
    write_vec_at(s, OFFSET_MOVES, Vec(0.0, 0.0, moves))


@device_function
def release(s, aim, dt):
    """A foot that is let go goes on from what was shown, in place and in speed: level by a spring, up by its lift."""
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
    """The ankle: such that what is locked stays, else as aimed, and what is left of the last change.

    The springs start with what was shown over what is aimed at, in place and in speed, so that nothing jumps.
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
        lock_at(s, Vec(p.x, p.y, p.z + lift), s[OUT_MOVES + 2], ground, mode)
        s[LIFT], s[LIFT_MOVES], s[RAMP_MOVES] = 0.0, 0.0, 0.0
    elif before != mode:
        p = shown_point(s, marks, mode - 1)
        lock_at(s, Vec(p.x, p.y, p.z + moves.z * dt), moves.z, ground, mode)
    return sub(add(read_vec_at(s, LOCK), read_vec_at(s, OFFSET)), arm)


@device_function
def hold_flat(s, marks, turn, mode, ground, settings):
    """From now on the foot is held as it lies with heel and ball on the ground, turned to where it points now."""
    along = rotate(turn, sub(read_vec_at(marks, BALL), read_vec_at(marks, HEEL)))
    if mode == 2:
        along = scale(along, -1.0)
    length, level = norm(along), max(level_length(along.x, along.y), 1e-12)
    most = length * math.sin(settings[STEEPEST])
    lock, reach, drop = read_vec_at(s, LOCK), level, 0.0
    # The ground below the other end depends on where that end comes, which depends on the ground: four rounds settle
    # it.
    for _ in range(4):
        k = reach / level
        spot = Vec(lock.x + k * along.x, lock.y + k * along.y, lock.z)
        drop = min(max(height_at(ground, 2 - mode, spot) - lock.z, -most), most)
        reach = math.sqrt(max(length * length - drop * drop, 0.0))
    flat = Vec(along.x * reach / level, along.y * reach / level, drop)
    held = multiply(rotation_between(along, flat), turn)
    s[FLAT] = 1.0
    write_quat_at(s, HELD, held)
    write_vec_at(s, TWIST, log_rotation(held, turn))
    spins = shown_spins(s)
    write_vec_at(s, TWIST_SPINS, Vec(spins.x, spins.y, 0.0))  # what stands does not turn on the ground


@device_function
def raised(marks, ankle, turn, mode, ground):
    """Turn a foot about what is locked until the other end of its sole is out of the ground."""
    arm, other = (
        rotate(turn, read_vec_at(marks, HEEL + 3 * mode - 3)),
        rotate(turn, read_vec_at(marks, HEEL + 6 - 3 * mode)),
    )
    along, p = sub(other, arm), add(ankle, other)
    # The locked end stays; the other one may be in the ground where the slope was clipped or a step begins. A lock that
    # a step has overtaken comes out of it by a spring, and so does the other end: both may be as deep.
    held = add(ankle, arm)
    deep = height_at(ground, 2 - mode, p) - p.z - max(height_at(ground, mode - 1, held) - held.z, 0.0)
    if deep <= 0.0:
        return ankle, turn
    turn = multiply(rotation_between(along, Vec(along.x, along.y, along.z + deep)), turn)
    return add(add(ankle, arm), scale(rotate(turn, read_vec_at(marks, HEEL + 3 * mode - 3)), -1.0)), turn


@device_function
def place_foot(leg, marks, settings, s, frame, ground, dt, fresh):
    """Where the ankle goes and how the foot is turned, before the leg is asked whether it reaches."""
    level_step(s, ground, fresh)
    follow_ground(s, frame, marks, ground, settings, dt, fresh)
    aim, turn = aimed(frame, marks)
    if fresh:
        forget(s, aim, turn)
    mode = chosen_mode(s, frame, settings)
    flat = mode > 0 and s[ON] > 0.0 and s[POINT + ON] > 0.0
    shown = turn_foot(s, turn, mode, flat, settings, dt)
    ankle = move_foot(s, marks, aim, shown, mode, ground, settings, dt)
    if flat and s[FLAT] == 0.0:
        hold_flat(s, marks, shown, mode, ground, settings)
    # In the first frame nothing was shown before: no change to ease, the foot stands where it should.
    if fresh and mode > 0:
        settle(s)
        shown = read_quat_at(s, HELD) if flat else shown
        ankle = sub(read_vec_at(s, LOCK), rotate(shown, read_vec_at(marks, HEEL + 3 * mode - 3)))
    write_vec_at(s, AIM, aim)
    write_quat_at(s, AIM_TURN, turn)
    write_quat_at(s, LAID, shown)
    if mode > 0:
        ankle, shown = raised(marks, ankle, shown, mode, ground)
        tip = add(sub(read_vec_at(frame, SOLE + 6), read_vec_at(frame, PLACES + 6)), ankle)
        s[BENDS] = max(least_bend(leg), height_at(ground, 2, tip) - tip.z)
        s[HORIZON], s[DEPTH] = FURTHEST, 0.0
    else:
        lift = lifted_over(s, leg, frame, marks, ankle, shown, ground, settings, dt)
        ankle = Vec(ankle.x, ankle.y, ankle.z + lift)
    # A heel is free to rise for a leg that is too short only once it has left the ground, and then gradually.
    s[OPENED] = s[OPENED] + dt if mode == 2 and not flat else 0.0
    frame[ROOM] = _HEEL_GIVES * eased(s[OPENED] / _HEEL_TIME)
    write_vec_at(frame, NEW, ankle)
    write_quat_at(frame, NEW_TURN, shown)


@inline
def settle(s):
    """Nothing is left of any change."""
    for j in range(OFFSET, STEP):
        s[j] = 0.0
