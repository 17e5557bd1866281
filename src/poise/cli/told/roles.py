"""Joint roles of a character, for `poise info`."""

from __future__ import annotations

from typing import Any

from poise.errors import shown
from poise.maths.in_words import counted
from poise.model.roles import Leg, Roles
from poise.model.roles.face import sight_of
from poise.model.roles.vrm import BONES, FINGER_BONES, SIDES
from poise.model.skeleton import Skeleton
from poise.model.ways import FLAT

_FINGERS = tuple(f"{side}{bone}" for side in SIDES for bone in FINGER_BONES)


def role_object(roles: Roles) -> dict[str, Any]:
    """Build the JSON document of the roles."""
    return {
        "kind": roles.kind,
        "joints": {
            role: {"joint": joint, "confidence": roles.confidence[role], "reason": roles.reasons[role]}
            for role, joint in roles.joints.items()
        },
        "legs": [vars(leg) for leg in roles.legs],
        "missing": list(roles.missing),
        "left_out": dict(roles.left_out),
        "apart": [vars(leg) for leg in roles.apart],
    }


def role_lines(roles: Roles) -> list[str]:
    """Format the roles, a line each. Fingers are counted only; the list is empty without roles."""
    if not roles.joints and not roles.legs:
        return [f"roles: none, {FLAT}"] if FLAT in roles.left_out.values() else []
    lines = [f"roles ({roles.kind}, {len(roles.joints)} of {len(BONES)}):"]
    rows = [
        (role, joint, f"{roles.confidence[role]:.2g}", roles.reasons[role])
        for role, joint in roles.joints.items()
        if role not in _FINGERS
    ]
    widths = [max((len(shown(row[column])) for row in rows), default=0) for column in range(3)]
    lines += [
        "  " + "  ".join(f"{shown(cell):{width}}" for cell, width in zip(row, [*widths, 0], strict=True))
        for row in rows
    ]
    fingers = {side: sum(role.startswith(side) for role in roles.joints if role in _FINGERS) for side in SIDES}
    if any(fingers.values()):
        lines.append(
            f"  fingers: {counted(fingers['left'], 'joint')} left, {fingers['right']} right (--json lists them)"
        )
    if roles.kind == "humanoid" and roles.missing:
        lines.append(f"  not found: {', '.join(roles.missing)}")
    lines += [shown(f"  left out: {role}: {why}") for role, why in roles.left_out.items()]
    legs = roles.legs if roles.kind in ("quadruped", "multi-legged") else ()
    lines += [_leg_line(leg, "leg") for leg in legs] + [_leg_line(leg, "leg, its foot apart") for leg in roles.apart]
    return lines


def _leg_line(leg: Leg, what: str) -> str:
    return shown(f"  {leg.name} {what}: {' > '.join(filter(None, (leg.upper, leg.lower, leg.foot, leg.toes)))}")


def face_object(roles: Roles, skeleton: Skeleton) -> dict[str, Any] | None:
    """Build the JSON of the gaze direction. It is in the frame of the head, with the reason; None without a head."""
    head = roles.joints.get("head")
    return None if head is None else {"joint": head, **sight_of(skeleton, skeleton.index(head))._asdict()}


def face_lines(roles: Roles, skeleton: Skeleton) -> list[str]:
    """Format the gaze direction as one line, or none."""
    found = face_object(roles, skeleton)
    if found is None:
        return []
    axis = ", ".join(f"{round(number, 3) + 0.0:g}" for number in found["axis"])
    reason = found["reason"] if found["reason"].startswith("+z") else f"judged by {found['reason']}"
    return [shown(f"  face: {found['joint']} looks along ({axis}) of its own frame, {reason}")]
