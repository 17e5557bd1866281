"""Rows of a robot's match: joints left at rest, and turns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from poise.model.skeleton import Kind
from poise.retargeting.body import Body, split_role
from poise.retargeting.match import Match, MatchedJoint

# parts whose segment can be turned about its bone; the first ones point alone where they have fewer hinges than those
# that turn a bone in any way
_TURNED_PARTS = ("UpperLeg", "UpperArm", "Hand", "Foot")
POINTING_PARTS, FULL_TURN = ("UpperLeg", "UpperArm"), 3


def list_held_rows(body: Body, match: Match) -> set[int]:
    """List the joints of skipped rows. They stay as at rest.

    A joint between two roles of a limb belongs to the nearer one, one between trunk and limb to the limb.
    """
    skipped = {row.role for row in match.joints if row.skip and row.target}
    roles = {row: role for role, row in body.rows.items()}
    trunk, points, held = {*body.spine.rows, *body.neck.rows}, body.reference.body.points, set[int]()
    for role, row in body.rows.items():
        own, is_limb = [row], bool(split_role(role)[0])
        above = int(body.skeleton.parents[row])
        between: list[int] = []
        while above >= 0 and above not in roles and not (is_limb and above in trunk):
            between.append(above)
            above = int(body.skeleton.parents[above])
        for joint in between:
            is_nearer_above = above >= 0 and bool(
                np.linalg.norm(points[joint] - points[above]) < np.linalg.norm(points[joint] - points[row])
            )
            if above in trunk or not is_nearer_above:
                own.append(joint)
            elif roles[above] in skipped:
                held.add(joint)
        if role in skipped:
            held.update(own)
    return held


def find_row(body: Body, match: Match, joint: int) -> MatchedJoint | None:
    """Find the row of a match for a joint of the target."""
    name = body.skeleton.names[joint]
    return next((row for row in match.joints if row.target == name), None)


def list_idle_turns(body: Body, match: Match, freedoms: Mapping[str, int]) -> list[str]:
    """List the roles with a turn of no effect.

    Shins, forearms and what has few hinges point, what is fixed does not move; of trunk and neck the ends turn.

    freedoms  of parts of limbs, as by `count_freedoms`
    """
    turning = {body.spine.rows[0], body.spine.rows[-1]}
    if any(body.skeleton.kinds[row] != Kind.FIXED for row in body.neck.rows[1:]):
        turning.add(body.neck.rows[-1])

    def has_effect(role: str) -> bool:
        part = split_role(role)[1]
        if part in _TURNED_PARTS:
            return freedoms.get(role, FULL_TURN) >= (FULL_TURN if part in POINTING_PARTS else 1)
        return body.rows[role] in turning

    return [row.role for row in match.joints if row.is_used and row.turn and not has_effect(row.role)]
