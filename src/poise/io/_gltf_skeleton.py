"""From nodes to a Skeleton and the Pose that the nodes show.

A = T . R and B = scale of the node, or of `extras.poise.rest` where the node shows a pose other than rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poise import rotations
from poise.io._gltf_extras import Extras, Rest
from poise.pose import Pose
from poise.skeleton import Coupling, Kind, Skeleton

if TYPE_CHECKING:
    from poise.arrays import Bools, Floats
    from poise.io._gltf_nodes import Nodes
    from poise.io._gltf_notes import Notes

_NOT_JOINTS = ("mesh", "camera")
_SAME = 1e-9  # rad or file units: a stored value that differs more from the node was edited elsewhere


class Read(NamedTuple):
    """A skeleton, the pose the nodes show, and the rest before limits."""

    skeleton: Skeleton
    pose: Pose
    rest_q: Floats


def build_skeleton(nodes: Nodes, joints: set[int], turning: set[int], said: dict[int, Extras], notes: Notes) -> Read:
    """Make the skeleton. `joints` are node indices of skins, `turning` those with animated rotations."""
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
        axes=[(e.axis if (e := extras.get(row)) and e.axis else (0.0, 0.0, 0.0)) for row in range(len(kinds))],
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
    skeleton = _limited(skeleton, rest_q, extras, notes)
    return Read(skeleton, _pose(skeleton, nodes, extras), rest_q)


def _kinds(nodes: Nodes, joints: set[int], turning: set[int], extras: dict[int, Extras]) -> np.ndarray:
    """Ball where a skin, an animation or the place in the tree says so; `extras` know better."""
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
            kinds[row] = Kind.BALL  # an animation turns it, whatever was said
    return kinds


def _couplings(
    nodes: Nodes, kinds: np.ndarray, extras: dict[int, Extras], notes: Notes
) -> list[Coupling | None]:
    """Couplings to joints with one number of their own; others are ignored with a note."""
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
            notes.add("a coupling in extras.poise leads nowhere and was ignored", nodes.names[row])
    return result


def _rest_transforms(nodes: Nodes, kinds: np.ndarray, extras: dict[int, Extras]) -> tuple[Floats, Floats]:
    """A (n, 7) and the linear part of B (n, 3, 3) at rest."""
    A = np.concatenate([nodes.translations, nodes.rotations], axis=1)  # noqa: N806
    B = nodes.linear.copy()  # noqa: N806
    for row, rest in _rests(extras):
        A[row] = [*rest.translation, *rest.rotation]
        if rest.scale is not None:
            B[row] = np.diag(rest.scale)
    A[kinds == Kind.FREE] = [0, 0, 0, 1, 0, 0, 0]
    return A, B


def _rests(extras: dict[int, Extras]) -> list[tuple[int, Rest]]:
    return [(row, said.rest) for row, said in extras.items() if said.rest is not None]


def _rest_q(skeleton: Skeleton, nodes: Nodes, extras: dict[int, Extras]) -> Floats:
    """Zero, a free joint at its rest, or what `rest.q` says."""
    q = skeleton.zero_q()
    for row in np.flatnonzero(skeleton.kinds == Kind.FREE).tolist():
        start = int(skeleton.q_start[row])
        q[start : start + 7] = [*nodes.translations[row], *nodes.rotations[row]]
    for row, rest in _rests(extras):
        start, kind = int(skeleton.q_start[row]), Kind(int(skeleton.kinds[row]))
        if skeleton.couplings[row] is not None:
            continue
        if kind == Kind.FREE:
            q[start : start + 7] = [*rest.translation, *rest.rotation]
        if rest.q is not None and len(rest.q) == kind.nq and kind not in (Kind.BALL, Kind.FREE):
            q[start : start + kind.nq] = rest.q
        elif rest.q is not None and len(rest.q) == kind.nq and any(rest.q[-4:]):
            q[start : start + kind.nq] = [*rest.q[:-4], *rotations.normalised(rest.q[-4:])]
    return q


def _limited(skeleton: Skeleton, rest_q: Floats, extras: dict[int, Extras], notes: Notes) -> Skeleton:
    """Add the limits, one by one only if they do not go together."""
    import dataclasses  # noqa: PLC0415

    skeleton = dataclasses.replace(skeleton, rest_q=rest_q)
    limits = {skeleton.names[row]: said.limit for row, said in extras.items() if said.limit is not None}
    return skeleton.limited(limits) if limits else skeleton


def _pose(skeleton: Skeleton, nodes: Nodes, extras: dict[int, Extras]) -> Pose:
    return Pose(skeleton, skeleton.rest_q)
