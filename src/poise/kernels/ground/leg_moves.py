# pyright: standard
"""Leg moves: where the joints of legs come when pelvis, feet and toes move, and their derivatives.

A leg has six unknowns: the pelvis goes up, the ball of the foot moves along x, y and z, the heel goes up about the
ball, and the toes go up about their joint. The last two are arcs `ARM_M` from where they turn, so that all are lengths.
The knee follows in closed form.
"""

from __future__ import annotations

from poise.kernels.device_functions import device_function
from poise.kernels.entries import kernel
from poise.kernels.ground.legs import bend
from poise.kernels.lanes import SCALAR, stack_matrix
from poise.kernels.vec_quat import Vec, add, from_axis_angle, read_vec, rotate, scale, sub, write_vec

ARM_M = 0.2  # [m] from where heels and toes turn is where their way is counted: about a foot's length
UNKNOWNS = 6  # of a leg: pelvis, ball x, y, z, heel, toes
POINTS = 5  # hip, knee, ankle, joint of the toes, end of the toes
_PROBE_M = 1e-5  # [m] by which an unknown changes for its derivative


@device_function
def put_leg(places, axis, up, ball, across, heel, toe, arms, longest, length, found):
    """Write hip, knee, ankle, joint and end of the toes (5, 3), when heel and toes go up by angles.

    arms (3, 3): from ball to ankle, from there to the joint of the toes, which turn with the heel, and on to their end
    """
    turn = from_axis_angle(across, heel)
    ankle = add(ball, rotate(turn, read_vec(arms, 0)))
    joint = rotate(turn, read_vec(arms, 1))
    toes = rotate(from_axis_angle(across, -toe), read_vec(arms, 2))
    hip, knee = read_vec(places, 0), read_vec(places, 1)
    moved_hip = Vec(hip.x, hip.y, hip.z + up)
    thigh, _, end = bend(hip, knee, read_vec(places, 2), axis, moved_hip, ankle, longest, length)
    write_vec(found, 0, moved_hip)
    write_vec(found, 1, add(moved_hip, scale(rotate(thigh, sub(knee, hip)), length)))
    write_vec(found, 2, end)
    write_vec(found, 3, add(end, joint))
    write_vec(found, 4, add(add(end, joint), toes))


@kernel("F4 F3 F1 F3 F3 F3 F4 F2 F2 wF4 wF5 ->")
def move_legs(places, axes, up, balls, across, angles, arms, longest, lengths, found, slopes):
    """Compute joints of legs after moves, and their derivatives.

    places           (F, L, 5, 3) as animated
    axes             (F, L, 3) about which knees bend
    up               (F,) [m]
    balls, across    (F, L, 3)
    angles           (F, L, 2) [rad] by which heels and toes go up, about `across`
    arms             (F, L, 3, 3) see `put_leg`
    longest, lengths (F, L) as for `bend`
    found            (F, L, 5, 3) [m] out
    slopes           (F, L, 5, 3, 6) out: per unknown of the leg
    """
    there = stack_matrix(SCALAR, POINTS, 3)
    for i in range(places.shape[0]):
        for j in range(places.shape[1]):
            here, lever, axis, ball = places[i, j], arms[i, j], read_vec(axes[i], j), read_vec(balls[i], j)
            lies, most, length = read_vec(across[i], j), longest[i, j], lengths[i, j]
            heel, toe = angles[i, j, 0], angles[i, j, 1]
            put_leg(here, axis, up[i], ball, lies, heel, toe, lever, most, length, found[i, j])
            for k in range(UNKNOWNS):
                moved = Vec(ball.x + _PROBE_M * (k == 1), ball.y + _PROBE_M * (k == 2), ball.z + _PROBE_M * (k == 3))
                higher, turned = up[i] + _PROBE_M * (k == 0), heel + _PROBE_M / ARM_M * (k == 4)
                bent = toe + _PROBE_M / ARM_M * (k == 5)
                put_leg(here, axis, higher, moved, lies, turned, bent, lever, most, length, there)
                for p in range(POINTS):
                    for c in range(3):
                        slopes[i, j, p, c, k] = (there[p, c] - found[i, j, p, c]) / _PROBE_M
