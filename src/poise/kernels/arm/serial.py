# pyright: standard
"""Kinematics and damped steps of a serial arm.

    links   (m + 1, 10)  x y z, w x y z: from the previous moved frame to this link's frame, whose z is the axis;
                         min and max value; 1 for a slide, else 0. The last row is the tip
    x       (m,)         values: radians, or displacement along the axis
    axes    (m, 3)       each link's axis in the base frame
    origins (m, 3)       a point on it
    J       (m, 6)       the tip's motion per unit of each value: velocity, angular velocity, in the base frame

The step is Levenberg-Marquardt in its dual form, x += J^T (J J^T + l I)^-1 e: the system is 6 x 6 for any number of
links. The damping l is proportional to the squared error (Chan and Lawrence, ICRA 1988; Sugihara, IEEE T-RO 27(5),
2011): large far away and zero at the goal, so that convergence is quadratic without a line search.
"""

from __future__ import annotations

from poise.kernels.codes import ARM_HIGH, ARM_LOW, ARM_SLIDES, LARGEST_ARM
from poise.kernels.compiled import inline, kernel
from poise.kernels.values.axes import third_axis, turned_about_z
from poise.kernels.values.lanes import SCALAR, fill, half_turn, maximum, minimum, room2, select
from poise.kernels.values.linear import Quat, Vec, add, cross, dot, multiply, put_vec, rotate, scale, sub, vec_at
from poise.kernels.values.small_solve import factor, substitute

LARGEST = LARGEST_ARM + 1  # links and tip; stack arrays of whole pages would share cache sets
MORE, LESS, LEAST = 4.0, 0.7, 1.0  # growth, decay and minimum of the caution factor


@inline
def offset_of(links, i):
    """Return the translation from the previous frame to link i."""
    return Vec(links[i, 0], links[i, 1], links[i, 2])


@inline
def turn_of(links, i):
    """Return the rotation from the previous frame to link i."""
    return Quat(links[i, 3], links[i, 4], links[i, 5], links[i, 6])


@inline
def first_frame(kind, links):
    """Return the constant position and rotation of link 0's frame."""
    p, q = offset_of(links, 0), turn_of(links, 0)
    # Constant in all lanes, which saves a product with the identity for the first link.
    position = Vec(fill(kind, p.x), fill(kind, p.y), fill(kind, p.z))
    return position, Quat(fill(kind, q.w), fill(kind, q.x), fill(kind, q.y), fill(kind, q.z))


@inline
def forward(kind, links, x, keep, axes, origins):
    """Compute position and rotation of the tip.

    They are in the base frame; axes and origins are filled if `store_frames` is set.
    """
    m = links.shape[0] - 1
    position, rotation = first_frame(kind, links)
    for i in range(m):
        if i > 0:
            position = add(position, rotate(rotation, offset_of(links, i)))
            rotation = multiply(rotation, turn_of(links, i))
        # Needed by a Jacobian, but not by the tip transforms of seeds.
        if keep:
            put_vec(axes, i, third_axis(rotation))
            put_vec(origins, i, position)
        if links[i, ARM_SLIDES] > 0.0:
            position = add(position, scale(third_axis(rotation), x[i]))
        else:
            # Frames are packed with z as the axis: such a rotation takes 8 products, a general one 16.
            s, c = half_turn(x[i])
            rotation = turned_about_z(rotation, s, c)
    return add(position, rotate(rotation, offset_of(links, m))), multiply(rotation, turn_of(links, m))


@inline
def put_error(e, off, turn, weights):
    """Write the six weighted numbers of the error."""
    e[0], e[1], e[2] = off.x * weights[0], off.y * weights[0], off.z * weights[0]
    e[3], e[4], e[5] = turn.x * weights[1], turn.y * weights[1], turn.z * weights[1]


@inline
def column(links, i, axis, origin, tip):
    """Compute link i's column of the Jacobian. It is the tip's velocity and angular velocity per unit of its value."""
    if links[i, ARM_SLIDES] > 0.0:
        return axis, scale(axis, 0.0)
    return cross(axis, sub(tip, origin)), axis


@inline
def damped_step(links, x, axes, origins, tip, e, weights, damping, J, A, d, y):
    """Apply a damped step, clamped to the limits. x += J^T (J J^T + damping I)^-1 e; e and J carry the weights.

    A value at a limit, pushed out of it by the gradient J e, is frozen: its row of J is zeroed before the step, so that
    the others make the whole step. With clamping alone the contribution of frozen values would be lost.
    """
    m = links.shape[0] - 1
    for r in range(6):
        for k in range(r):
            # Times zero gives a zero of the damping's type, number or lanes.
            A[r, k] = damping * 0.0
        A[r, r] = damping
    for i in range(m):
        motion, turn = column(links, i, vec_at(axes, i), vec_at(origins, i), tip)
        motion, turn = scale(motion, weights[0]), scale(turn, weights[1])
        # J e of this row: the gradient descent direction of the value.
        push = motion.x * e[0] + motion.y * e[1] + motion.z * e[2] + turn.x * e[3] + turn.y * e[4] + turn.z * e[5]
        # Freezing by the sign of the gradient, compared with clamping alone: 17.7 iterations for a pose of a Panda
        # instead of 39.6, and 99.92 % solved instead of 98.8.
        stuck = ((x[i] <= links[i, ARM_LOW]) & (push < 0.0)) | ((x[i] >= links[i, ARM_HIGH]) & (push > 0.0))
        free = select(stuck, push * 0.0, push * 0.0 + 1.0)
        motion, turn = scale(motion, free), scale(turn, free)
        J[i, 0], J[i, 1], J[i, 2] = motion.x, motion.y, motion.z
        J[i, 3], J[i, 4], J[i, 5] = turn.x, turn.y, turn.z
        for r in range(6):
            for k in range(r + 1):
                A[r, k] = A[r, k] + J[i, r] * J[i, k]
    # No pivoting: the damping on the diagonal keeps the matrix positive definite even at singular poses.
    factor(A, d, 6)
    substitute(A, d, e, y, 6)
    for i in range(m):
        step = J[i, 0] * y[0] + J[i, 1] * y[1] + J[i, 2] * y[2] + J[i, 3] * y[3] + J[i, 4] * y[4] + J[i, 5] * y[5]
        # Clamped values are exactly at their limit; the next step tests whether the gradient pushes them out.
        x[i] = minimum(maximum(x[i] + step, links[i, ARM_LOW]), links[i, ARM_HIGH])


@inline
def cautious(caution, last, error):
    """Update the damping factor of a polishing attempt. It grows whenever the error has grown.

    `caution` is the current factor, `last_error` the squared error before the last step. A polish looks for the pose
    nearest to an unreachable target: there the residual does not vanish, its second derivative, neglected by
    Gauss-Newton, matters, and steps with the plain damping overshoot. Other attempts have a caution of 0, which stays
    0.
    """
    # The last term keeps the caution at MIN_CAUTION or above, but leaves a caution of 0 unchanged.
    return select(error > last, MORE * caution, maximum(LESS * caution, minimum(caution, LEAST + 0.0 * error)))


@inline
def damping_of(caution, error, factor, floor):
    """Compute the damping. It is `factor` times the squared error, plus a floor, times the caution if any."""
    # The damping is large far away, where the linearisation is inaccurate, and vanishes at the goal. Steps are never
    # rejected: 17.7 iterations for a pose of a Panda, 25.2 with the textbook damping, which adapts to success.
    return select(caution > 0.0, caution, 1.0 + 0.0 * error) * (error * factor + floor)


@inline
def square(v):
    """Return the squared length."""
    return dot(v, v)


@kernel
def tips(links, x, places):
    """Compute tip transforms (k, 7) in the base frame. Rows are x y z w x y z, for values x (k, m)."""
    axes, origins = room2(SCALAR, 1, 3), room2(SCALAR, 1, 3)
    for k in range(x.shape[0]):
        position, rotation = forward(SCALAR, links, x[k], False, axes, origins)
        put_vec(places, k, position)
        places[k, 3], places[k, 4], places[k, 5], places[k, 6] = rotation.w, rotation.x, rotation.y, rotation.z
