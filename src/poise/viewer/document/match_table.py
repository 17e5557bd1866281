"""Match of a retargeted clip for the page. Its limbs and what they miss belong to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from poise.errors import InputError
from poise.maths.arrays import Bools, Floats
from poise.model.roles.bone_names import SIDES
from poise.retargeting.added_joints import leave_out_added_joints
from poise.retargeting.body import Body
from poise.retargeting.retarget import Retargeted
from poise.runtime.result_cache import get_or_compute
from poise.viewer import protocol
from poise.viewer.document.document import Document
from poise.viewer.document.side_by_side import (
    SOURCE_MARK,
    MotionPair,
    Retargeting,
    build_pair_rig,
    find_pair,
)

_LIMB_STARTS = {f"{side}Upper{limb}": f"{side}{limb}" for side in SIDES for limb in ("Arm", "Leg")}


def describe_retargeting(document: Document) -> dict[str, Any] | None:
    """Describe what is retargeted for the page. None without."""
    pair = find_pair(document)
    if pair is None:
        return None
    return get_or_compute(pair, "retargeting of the page", None, lambda: _describe_pair(pair))


def _describe_pair(pair: MotionPair) -> dict[str, Any]:
    done = pair.done
    skeletons = done.source.skeleton, done.skeleton
    source, target = (leave_out_added_joints(*each) for each in zip(done.bodies, skeletons, strict=True))
    limbs = {f"{name}{SOURCE_MARK}": limb for name, limb in _find_limbs(source).items()} | _find_limbs(target)
    return {
        "rows": [
            {"role": row.role, "from": row.source, "to": row.target, "turn": row.turn, "skip": row.skip,
             "note": row.note}
            for row in done.match.joints
        ],
        "sources": list(source.skeleton.names),
        "targets": list(target.skeleton.names),
        "limbs": limbs,
        "missed": _list_missed(done),
    }  # fmt: skip


def _find_limbs(body: Body) -> dict[str, str]:
    """Find the limb of each joint. Joints of the trunk have none."""
    skeleton = body.skeleton
    starts = {body.rows[role]: limb for role, limb in _LIMB_STARTS.items() if role in body.rows}
    limbs: dict[int, str] = {}
    for row, parent in enumerate(skeleton.parents.tolist()):
        limb = starts.get(row) or limbs.get(parent)
        if limb is not None:
            limbs[row] = limb
    return {skeleton.names[row]: limb for row, limb in limbs.items()}


def _list_missed(done: Retargeted) -> dict[str, list[list[float]]]:
    """List when segments of the target exceed their bounds, by joint."""
    report = done.report
    joints = done.match.list_joints(of_target=True)
    missed = {
        joints[role]: _list_intervals(done.times, angles > report.bounds[role])
        for role, angles in report.angles.items()
    }
    return {joint: intervals for joint, intervals in missed.items() if intervals}


def _list_intervals(times: Floats, frames: Bools) -> list[list[float]]:
    """List the runs of frames as times [s]."""
    edges = np.flatnonzero(np.diff(np.pad(frames, 1).astype(np.int8)))
    return [[float(times[start]), float(times[end - 1])] for start, end in edges.reshape(-1, 2)]


def change_row(document: Document, args: dict[str, Any]) -> Retargeting:
    """Change a row of the match. Return what is to be retargeted then."""
    pair, retargeting = find_pair(document), document.retargeting
    if pair is None or not isinstance(retargeting, Retargeting):
        raise InputError("nothing is retargeted here: poise view CLIP --onto TARGET")
    match = pair.done.match.with_joint(
        protocol.read_text(args, "role"),
        source=protocol.read_optional_text(args, "from"),
        target=protocol.read_optional_text(args, "to"),
        turn=None if args.get("turn") is None else protocol.read_number(args, "turn", -360.0, 360.0),
        skip=None if args.get("skip") is None else protocol.read_bool(args, "skip"),
    )
    return Retargeting(retargeting.source, retargeting.target, retargeting.clip_name, match, retargeting.ground)


def rebuild_pair(document: Document, retargeting: Retargeting) -> Document:
    """Return the document with the clip retargeted by another match."""
    rig = build_pair_rig(retargeting)
    return document.replace(
        rig=rig, skeleton=rig.skeleton, start=rig.pose, clip_name=rig.clips[0].name, retargeting=retargeting
    )
