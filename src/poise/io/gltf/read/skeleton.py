"""Skeleton and displayed pose of the nodes.

A = T . R and B = scale of the node, or of `extras.poise.rest` where the node shows a pose other than rest.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from poise.errors import InputError
from poise.io.gltf.accessors import unit_rows
from poise.io.gltf.extras import Extras, Rest
from poise.io.gltf.nodes import Nodes
from poise.io.gltf.notes import Notes
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.model.limits import Limit, Range
from poise.model.pose import Pose
from poise.model.skeleton import Coupling, Kind, Skeleton

_NOT_JOINTS = ("mesh", "camera")
_SAME = 1e-9  # [rad or file units] a stored value with a larger difference from the node was edited elsewhere


class Read(NamedTuple):
    """Skeleton, displayed pose, and rest before limits."""

    skeleton: Skeleton
    pose: Pose
    rest_q: Floats


def build_skeleton(nodes: Nodes, joints: set[int], turning: set[int], said: dict[int, Extras], notes: Notes) -> Read:
    """Build the skeleton. `joints` are node indices of skins, `rotating` those with animated rotations."""
    extras = {nodes.rows[i]: value for i, value in said.items()}
    kinds = _kinds(nodes, joints, turning, extras)
    couplings = _couplings(nodes, kinds, extras, notes)
    A, B = _rest_transforms(nodes, kinds, extras)  # noqa: N806  (the letters of the formula)
    skeleton = Skeleton.build(
        nodes.names,
        nodes.parents,
        kinds.tolist(),
        offsets=A[:, :3],
        rotations=A[:, 3:],
        axes=_axes(len(kinds), extras),
        couplings=couplings,
        source_ids=nodes.indices,
        euler=[extras[row].order if row in extras else "" for row in range(len(kinds))],
        metres_per_unit=1.0,
        up="y",
    )
    skeleton.B.setflags(write=True)
    skeleton.B[:, :, :3] = B
    skeleton.B.setflags(write=False)
    rest_q = _rest_q(skeleton, nodes, extras)
    skeleton = dataclasses.replace(skeleton, rest_q=_with_stored_rest(skeleton, rest_q, extras))
    skeleton = _limited(skeleton, extras, notes)
    return Read(skeleton, _pose(skeleton, nodes, extras, rest_q), rest_q)


def _axes(count: int, extras: dict[int, Extras]) -> Floats:
    axes = np.zeros((count, 3))
    for row, said in extras.items():
        if said.axis is not None:
            axes[row] = said.axis
    return axes


def _kinds(nodes: Nodes, joints: set[int], turning: set[int], extras: dict[int, Extras]) -> np.ndarray:
    """Find the joint kinds.

    Joints of skins, animated nodes and inner nodes are balls; the kinds in `extras` take precedence.
    """
    n = len(nodes.parents)
    below: Bools = np.zeros(n, dtype=np.bool_)
    has_child = set(nodes.parents)
    kinds = np.full(n, int(Kind.FIXED))
    for row, i in enumerate(nodes.indices):
        parent = nodes.parents[row]
        below[row] = parent >= 0 and (below[parent] or nodes.indices[parent] in joints)
        solid = any(key in nodes.json[i] for key in _NOT_JOINTS)
        inner = below[row] and not solid if joints else row in has_child or not solid
        if i in joints or i in turning or inner:
            kinds[row] = Kind.BALL
        if row in extras and extras[row].kind is not None:
            kinds[row] = extras[row].kind
        if i in turning and kinds[row] in (Kind.FIXED, Kind.SLIDE):
            kinds[row] = Kind.BALL  # its rotation is animated, so the stored kind is ignored
    return kinds


def _couplings(nodes: Nodes, kinds: np.ndarray, extras: dict[int, Extras], notes: Notes) -> list[Coupling | None]:
    """Build couplings to leaders with one number of their own. Others are ignored with a note."""
    result: list[Coupling | None] = [None] * len(kinds)
    single = (Kind.HINGE, Kind.SLIDE)
    for row, said in extras.items():
        if said.coupling is None:
            continue
        leader = nodes.rows[said.coupling.leader]
        leads = leader in extras and extras[leader].coupling is None and kinds[leader] in single
        if leads and kinds[row] in single:
            result[row] = said.coupling._replace(leader=leader)
        else:
            notes.add("a coupling in extras.poise has no valid leader and was ignored", nodes.names[row])
    return result


def _rest_transforms(nodes: Nodes, kinds: np.ndarray, extras: dict[int, Extras]) -> tuple[Floats, Floats]:
    """Build the rest transforms. They are A (n, 7) and the linear part of B (n, 3, 3)."""
    A = np.concatenate([nodes.translations, nodes.rotations], axis=1)  # noqa: N806
    B = nodes.linear.copy()  # noqa: N806
    for row, rest in _rests(extras):
        A[row] = [*rest.translation, *rest.rotation]
        if rest.scale is not None:
            B[row] = np.diag(rest.scale)
    A[kinds == Kind.FIXED, 3:] = nodes.rotations[kinds == Kind.FIXED]  # a fixed joint has no q for another rotation
    A[kinds == Kind.FREE] = [0, 0, 0, 1, 0, 0, 0]
    return A, B


def _rests(extras: dict[int, Extras]) -> list[tuple[int, Rest]]:
    return [(row, said.rest) for row, said in extras.items() if said.rest is not None]


def _rest_q(skeleton: Skeleton, nodes: Nodes, extras: dict[int, Extras]) -> Floats:
    """Build the zero pose. Free joints are at their rest."""
    q = skeleton.zero_q()
    for row in _of_kind(skeleton, Kind.FREE):
        rest = extras[row].rest if row in extras else None
        place = (rest.translation, rest.rotation) if rest else (nodes.translations[row], nodes.rotations[row])
        start = int(skeleton.q_start[row])
        q[start : start + 7] = np.concatenate(place)
    return q


def _with_stored_rest(skeleton: Skeleton, rest_q: Floats, extras: dict[int, Extras]) -> Floats:
    """Apply the stored `rest.q` of joints. It needs as many numbers as the joint."""
    q = rest_q.copy()
    for row, rest in _rests(extras):
        kind, start = Kind(int(skeleton.kinds[row])), int(skeleton.q_start[row])
        if rest.q is None or len(rest.q) != kind.nq or skeleton.couplings[row] is not None:
            continue
        values = np.array(rest.q)
        if kind in (Kind.BALL, Kind.FREE):
            if not values[-4:].any():
                continue
            values[-4:] = unit_rows(values[None, -4:])[0]
        q[start : start + kind.nq] = values
    return q


def _limited(skeleton: Skeleton, extras: dict[int, Extras], notes: Notes) -> Skeleton:
    """Apply the limits to joints of fitting kinds."""
    limits: dict[str, Limit | None] = {}
    for row, said in extras.items():
        if said.limit is None:
            continue
        is_ball = skeleton.kinds[row] in (Kind.BALL, Kind.FREE)
        for_balls = not isinstance(said.limit, Range) or said.limit.axis is not None
        if skeleton.kinds[row] == Kind.FIXED or is_ball != for_balls:
            notes.add("a limit in extras.poise does not fit its joint and was ignored", skeleton.names[row])
        else:
            limits[skeleton.names[row]] = said.limit
    try:
        return skeleton.limited(limits)
    except InputError as error:
        notes.add(f"the limits in extras.poise contradict each other and were ignored: {error}")
        return skeleton


# --- the pose that the nodes show ----------------------------------------------------------------


def _pose(skeleton: Skeleton, nodes: Nodes, extras: dict[int, Extras], rest_q: Floats) -> Pose:
    q = rest_q.copy()
    turns = _turns(skeleton, nodes)
    balls = _of_kind(skeleton, Kind.BALL)
    q[skeleton.q_start[balls][:, None] + np.arange(4)] = turns[balls]
    for row in _of_kind(skeleton, Kind.FREE):
        start = int(skeleton.q_start[row])
        q[start : start + 7] = [*nodes.translations[row], *nodes.rotations[row]]
    for row in [*_of_kind(skeleton, Kind.HINGE), *_of_kind(skeleton, Kind.SLIDE)]:
        if skeleton.couplings[row] is None:
            shown = hinge_values(skeleton, row, turns[row], nodes.translations[row])
            q[skeleton.q_start[row]] = _stored_if_same(skeleton, row, float(shown), extras.get(row))
    return Pose(skeleton, q, _translations(skeleton, nodes, q), _scales(skeleton, nodes))


def _turns(skeleton: Skeleton, nodes: Nodes) -> Floats:
    """Compute rotations (n, 4) from A to the node. Equal rotations give exactly the identity."""
    rest = skeleton.A[:, 3:]
    turns = rotations.multiply(rotations.inverse(rest), nodes.rotations)
    same = (rest == nodes.rotations).all(axis=1)
    return np.where(same[:, None], rotations.IDENTITY, turns)


def hinge_values(skeleton: Skeleton, row: int, turns: Floats, translations: Floats) -> Floats:
    """Compute the values (...) of a hinge or slide.

    Inputs are rotations (..., 4) after A and translations (..., 3) of its node.
    """
    axis, rest = skeleton.axes[row], skeleton.A[row]
    if skeleton.kinds[row] == Kind.HINGE:
        return rotations.twist_angle(turns, axis)
    return (translations - rest[:3]) @ rotations.rotate(rest[3:], axis)


def _stored_if_same(skeleton: Skeleton, row: int, shown: float, said: Extras | None) -> float:
    """Prefer the stored value if the node still shows it. The stored value has the full turns and all digits."""
    if said is None or said.value is None:
        return shown
    difference = said.value - shown
    if skeleton.kinds[row] == Kind.HINGE:
        difference = math.remainder(difference, 2 * math.pi)
    return said.value if abs(difference) <= _SAME * max(1.0, abs(shown)) else shown


def _translations(skeleton: Skeleton, nodes: Nodes, q: Floats) -> Floats | None:
    """Find the nodes' translations unless A and q give all of them."""
    expected = skeleton.A[:, :3].copy()
    for row in _of_kind(skeleton, Kind.FREE):
        expected[row] = nodes.translations[row]
    moved = (expected != nodes.translations).any(axis=1)
    for row in _of_kind(skeleton, Kind.SLIDE):
        ratio, offset = skeleton.coupling_rows[row]
        distance = ratio * q[skeleton.q_start[row]] + offset
        place = expected[row] + rotations.rotate(skeleton.A[row, 3:], skeleton.axes[row] * distance)
        slack = _SAME * max(1.0, np.abs(place).max())
        moved[row] = np.abs(place - nodes.translations[row]).max() > slack
    return nodes.translations if moved.any() else None


def _scales(skeleton: Skeleton, nodes: Nodes) -> Floats | None:
    if np.array_equal(skeleton.B[:, :, :3], nodes.linear):
        return None
    return np.diagonal(nodes.linear, axis1=1, axis2=2).copy()


def _of_kind(skeleton: Skeleton, kind: Kind) -> list[int]:
    return np.flatnonzero(skeleton.kinds == kind).tolist()
