# pyright: standard
"""POLE: a limb's middle joint lies on the side of a position.

The side is measured about the line from the limb's first joint to its tip.

With the unit vector n along the line, the offset k of the middle joint and p of the position, both perpendicular to n,
and phi the angle from k to p about n, the residual is 2 sin(phi / 2) in the first of its three rows. The points move
with H' (first), K' (middle), T' (tip). With m_k = n x k / |k|^2 and t_k = the share of the line before the foot of k
(m_p and t_p alike) phi changes by

    m_p . (-(1 - t_p) H' - t_p T') - m_k . (K' - (1 - t_k) H' - t_k T')

Where k, p or the line have zero length, the side is undefined and the goal is met. Near there the row fades
with each length relative to the limb's (FADE_SHARE), so every rate is bounded.
"""

from __future__ import annotations

from poise.kernels.codes import (
    AIM_FIRST_POINT,
    AIM_MIDDLE_POINT,
    AIM_WEIGHT,
    NODE_DOF,
    NODE_MOTION,
    STRAIGHT,
    TERM_FIRST,
    TERM_FIRST_END,
    TERM_MIDDLE,
    TERM_MIDDLE_END,
    TERM_NODE,
    TERM_ROW,
    TERM_WANTED,
    TERM_WAY,
    TERM_WAY_END,
    TINY,
)
from poise.kernels.compiled import inline, part
from poise.kernels.tree.goal_rows import dofs_of, turns
from poise.kernels.values.lanes import maximum, minimum, select, sqrt
from poise.kernels.values.linear import add, cross, dot, quat_at, rotate, scale, sub, vec_at, vec_in

FADES = 1e-3  # share of the limb's length; below it a length fades the row


@inline
def point_of(lanes, node, row, column):
    """Return a point of a node's moved frame."""
    return add(vec_at(lanes.positions, node), rotate(quat_at(lanes.rotations, node), vec_in(row, column)))


@inline
def length(v):
    """Return |v|."""
    return sqrt(dot(v, v))


@inline
def over(a, b):
    """Return a / b, finite where b is 0."""
    return a / maximum(b, TINY)


@part
def put(tree, lanes, t):
    """Write the rows of a POLE term.

    A rotation moves each of the three points above it by axis x arm, a slide by its axis.
    """
    terms, aims, row, weight = tree.terms[t], tree.aims[t], tree.terms[t, TERM_ROW], tree.aims[t, AIM_WEIGHT]
    first, middle = (
        point_of(lanes, terms[TERM_FIRST], aims, AIM_FIRST_POINT),
        point_of(lanes, terms[TERM_MIDDLE], aims, AIM_MIDDLE_POINT),
    )
    tip = point_of(lanes, terms[TERM_NODE], aims, 0)
    line, bend, away = sub(tip, first), sub(middle, first), sub(vec_in(lanes.targets, terms[TERM_WANTED]), first)
    reach = length(line)
    n = scale(line, over(1.0, reach))
    k, p = sub(bend, scale(n, dot(n, bend))), sub(away, scale(n, dot(n, away)))
    k_long, p_long, limb = length(k), length(p), length(bend) + length(sub(tip, middle))
    # The side of a nearly straight limb is ill-conditioned: its rate grows as 1 / |k|. Fading the row bounds it, and a
    # straight limb has no side to miss.
    fade = minimum(over(k_long, FADES * limb), 1.0) * minimum(over(p_long, FADES * limb), 1.0)
    fade = fade * minimum(over(reach, FADES * limb), 1.0) * weight
    k_unit, p_unit = scale(k, over(1.0, k_long)), scale(p, over(1.0, p_long))
    chord, side = length(sub(k_unit, p_unit)), dot(n, cross(k_unit, p_unit))
    zero = chord * 0.0
    # Every term has three rows, so the blocks of the normal matrix stay 3 x 3.
    lanes.e[row], lanes.e[row + 1], lanes.e[row + 2] = select(side < 0.0, -chord, chord) * fade, zero, zero
    for_middle, of_pole = scale(cross(n, k_unit), over(fade, k_long)), scale(cross(n, p_unit), over(fade, p_long))
    k_share, p_share = over(dot(n, bend), reach), over(dot(n, away), reach)
    for_tip = sub(scale(of_pole, p_share), scale(for_middle, k_share))
    for_first = sub(scale(of_pole, 1.0 - p_share), scale(for_middle, 1.0 - k_share))
    for j in range(terms[TERM_WAY], terms[TERM_WAY_END]):
        i = tree.paths[j]
        motion, dof = tree.nodes[i, NODE_MOTION], tree.nodes[i, NODE_DOF]
        at = vec_at(lanes.positions, i)
        # Rate of phi under a translation or rotation of the three points, by the principle of virtual work: forces at
        # points add up to a force and a torque about the joint.
        push, twist = for_tip, cross(sub(tip, at), for_tip)
        # The path leads to the tip; its first parts also move the middle joint and the first joint.
        if j < terms[TERM_MIDDLE_END]:
            push, twist = add(push, for_middle), add(twist, cross(sub(middle, at), for_middle))
        if j < terms[TERM_FIRST_END]:
            push, twist = add(push, for_first), add(twist, cross(sub(first, at), for_first))
        for c in range(dofs_of(motion)):
            axis = vec_at(lanes.axes, 3 * i + c)
            lanes.J[dof + c, row] = lanes.J[dof + c, row] + dot(axis, twist if turns(motion) else push)
    straight = minimum(minimum(k_long, p_long), reach) <= STRAIGHT * limb
    return select(straight, zero, chord * chord)
