"""Description of rigs and marker files, as text or JSON.

Limbs come from roles, chains from branches of the skeleton.
"""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from poise.errors import escape_unprintable
from poise.io.markers.markers import Markers
from poise.maths.arrays import Bools, Floats
from poise.maths.formatting import format_count, format_number
from poise.model.limits import EulerBox, Limit, Range, SwingTwist
from poise.model.numpy_kinematics import compute_world_transforms
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.roles import Leg, Roles
from poise.model.roles.bone_names import BONES, FINGER_BONES, SIDES
from poise.model.roles.gaze_direction import find_gaze
from poise.model.skeleton import Kind, Skeleton
from poise.model.topology import FLAT_MESSAGE, MIN_LIMB_JOINTS

ChainEnds = dict[str, tuple[str, str]]

_MAX_LISTED_CHAINS = 16  # chains listed as text; JSON has all
_POSITION_RESOLUTION = 1e-4  # fraction of the largest coordinate: rounding of printed positions
_MIN_CONFIDENCE = 0.8  # minimum confidence of a role, the same in all modules
_LIMB_ENDS = (
    ("leftHand", "leftUpperArm"), ("rightHand", "rightUpperArm"), ("leftFoot", "leftUpperLeg"),
    ("rightFoot", "rightUpperLeg"), ("head", "neck"),
)  # fmt: skip


def find_limbs(roles: Roles) -> ChainEnds:
    """Find the limbs of a character. Keys are tip roles, values the names of the first joint and the tip."""
    confident = {role: joint for role, joint in roles.joints.items() if roles.confidence[role] >= _MIN_CONFIDENCE}
    ends = {
        tip: (confident[root], confident[tip]) for tip, root in _LIMB_ENDS if tip in confident and root in confident
    }
    if "head" in confident:
        ends.setdefault("head", (confident["head"], confident["head"]))
    for leg in roles.legs if roles.kind != "humanoid" else ():
        if leg.upper and leg.foot:
            ends[f"{leg.name} foot"] = (leg.upper, leg.foot)
    return ends


def find_chains(s: Skeleton) -> ChainEnds:
    """Find the chains of a skeleton, first joint to end.

    Named chains of the sidecar come first, then one for each limb.

    A leaf `hand_end`, which only marks the length of the hand, has no chain of its own if the hand has one.
    """
    chain_ends = dict(s.chains)
    for i in range(len(s)):
        ends = not any(s.moving_depth[child] for child in s.children[i])
        splits = sum(s.moving_depth[child] >= MIN_LIMB_JOINTS for child in s.children[i]) > 1
        if s.parents[i] < 0 or not (splits or (ends and (s.moving_depth[i] or not s.children[i]))):
            continue
        if _is_end_joint(s, i) and s.names[s.parents[i]] in chain_ends:
            continue
        moving = [name for name in s.chain(None, s.names[i]) if s[name].kind != Kind.FIXED]
        if len(moving) > 1:
            chain_ends.setdefault(s.names[i], (moving[0], s.names[i]))
    return chain_ends


def _is_end_joint(s: Skeleton, i: int) -> bool:
    """Return whether a joint is its parent's `_end` joint. It is an End Site of BVH, or Blender's leaf bone."""
    return s.kinds[i] == Kind.FIXED and not s.children[i] and s.names[i] == f"{s.names[s.parents[i]]}_end"


def build_limbs_json(pose: Pose, roles: Roles) -> dict[str, dict[str, Any]]:
    """Build the JSON of limbs with their tip positions."""
    at, index = compute_positions(pose), pose.skeleton.index
    return {
        name: {"root": root, "tip": tip, "position": at[index(tip)].tolist()}
        for name, (root, tip) in find_limbs(roles).items()
    }


def format_chains(pose: Pose, roles: Roles) -> list[str]:
    """Format limbs and chains. Limbs by role come first, with tip positions in a pose."""
    s, limb_documents = pose.skeleton, build_limbs_json(pose, roles)
    role_chains = {(limb["root"], limb["tip"]) for limb in limb_documents.values()}
    lines = _format_limbs(limb_documents)
    if lines:
        named = "; --joint takes the tip or its role" if roles.kind == "humanoid" else ""
        lines = [f"limbs (root -> tip{named}), and where the tip is at rest:", *lines]
    others = [(name, ends) for name, ends in find_chains(s).items() if name in s.chains or ends not in role_chains]
    if not others:
        return lines
    lines += ["", "chains (root -> tip):"] if lines else ["chains (root -> tip):"]
    lines += [escape_unprintable(f"  {name}: {root} -> {tip}") for name, (root, tip) in others[:_MAX_LISTED_CHAINS]]
    return lines + [f"  ... and {len(others) - _MAX_LISTED_CHAINS} more (--json lists all)"] * (
        len(others) > _MAX_LISTED_CHAINS
    )


def _format_limbs(limb_documents: dict[str, dict[str, Any]]) -> list[str]:
    paths = {name: f"{limb['root']} -> {limb['tip']}" for name, limb in limb_documents.items()}
    names, width = (max(map(len, words), default=0) for words in (paths.keys(), paths.values()))
    resolution = (
        _POSITION_RESOLUTION
        * max((abs(number) for limb in limb_documents.values() for number in limb["position"]), default=0.0)
        or 1.0
    )
    at = {
        name: " ".join(f"{round(x / resolution) * resolution:.4g}" for x in limb["position"])
        for name, limb in limb_documents.items()
    }
    return [escape_unprintable(f"  {name:{names}}  {path:{width}}  at {at[name]}") for name, path in paths.items()]


def compute_positions(pose: Pose) -> Floats:
    """Compute world positions (joints, 3) of a pose.

    Computed with NumPy, not with `Pose.world`: describing a file must not load or compile kernels.
    """
    return compute_world_transforms(pose.skeleton, pose.q, pose.translations)[:, :3, 3]


def _find_character_joints(rig: Rig, roles: Roles) -> list[int]:
    """Find the joints of the character itself. Cameras, targets and controls of a file may be far away.

    They are the joints that deform a mesh, with their descendants; without a mesh, the trees with a role; else all.
    """
    s = rig.skeleton
    deforming = {s.index(name) for skin in rig.skins for name in skin.joints}
    if not deforming:
        deforming = {s.way(s.index(joint))[0] for joint in roles.joints.values()}
    is_included: list[bool] = []
    for row, parent in enumerate(s.parents.tolist()):
        is_included.append(row in deforming or (parent >= 0 and is_included[parent]))
    return [row for row, included in enumerate(is_included) if included] or list(range(len(s)))


def compute_extent(rig: Rig, roles: Roles) -> Floats:
    """Compute the extent (3,) of a character at rest. It is along x, y, z in file units."""
    points = compute_positions(rig.rest)[_find_character_joints(rig, roles)]
    return np.ptp(points, axis=0) if len(points) else np.zeros(3)


def compute_height(rig: Rig, roles: Roles) -> float:
    """Compute the extent of a character along the up axis.

    Without an up axis in the file it is the axis from feet to head, or the longest one without these roles.
    """
    extent = compute_extent(rig, roles)
    if rig.skeleton.up:
        return float(extent["xyz".index(rig.skeleton.up)])
    rows = {role: rig.skeleton.index(joint) for role, joint in roles.joints.items()}
    if {"head", "leftFoot", "rightFoot"} <= rows.keys():
        points = compute_positions(rig.rest)
        above = points[rows["head"]] - 0.5 * (points[rows["leftFoot"]] + points[rows["rightFoot"]])
        return float(extent[np.abs(above).argmax()])
    return float(extent.max(initial=0.0))


# --- Short text for limits, for `poise info` and `poise limits` ------------------------------------------------------


def format_axis(axis: tuple[float, float, float]) -> str:
    """Format an axis: x, -y, or three numbers."""
    for name, unit in (("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1))):
        if axis == unit:
            return name
        if axis == tuple(-value for value in unit):
            return f"-{name}"
    return "(" + " ".join(format_number(value, 3) for value in axis) + ")"


def describe_limit(limit: Limit, kind: Kind) -> str:
    """Format a limit in a few words."""
    if isinstance(limit, EulerBox):
        return f"{limit.order} " + " ".join(f"{c} {_format_degrees(getattr(limit, c.lower()))}" for c in limit.order)
    if isinstance(limit, SwingTwist):
        first, second = (_format_degrees(side) for side in limit.sides)
        return f"swing {first} x {second} about {format_axis(limit.axis)}, twist {_format_degrees(limit.twist)}"
    return _format_range(limit, kind)


def _format_degrees(pair: tuple[float, float]) -> str:
    low, high = (math.degrees(end) for end in pair)
    if low == -high and 0.0 < high < math.inf:
        return f"+-{format_number(high)} deg"
    return _format_interval(low, high, " deg")


def _format_interval(low: float, high: float, unit: str) -> str:
    """Format a range with its unit. An unbounded range is `free`."""
    if math.isinf(low) and math.isinf(high):
        return "free"
    if math.isinf(low) or math.isinf(high):
        return f"{f'up to {format_number(high)}' if math.isinf(low) else f'from {format_number(low)}'}{unit}"
    return f"{format_number(low)}{unit}" if low == high else f"{format_number(low)}..{format_number(high)}{unit}"


def _format_range(limit: Range, kind: Kind) -> str:
    axis = f"hinge about {format_axis(limit.axis)} " if limit.axis else ""
    if kind == Kind.SLIDE:
        return f"{axis}{_format_interval(limit.low, limit.high, '')}"
    return f"{axis}{_format_interval(math.degrees(limit.low), math.degrees(limit.high), ' deg')}"


# --- Joint roles of a character, for `poise info` --------------------------------------------------------------------


_FINGER_ROLES = tuple(f"{side}{bone}" for side in SIDES for bone in FINGER_BONES)


def build_roles_json(roles: Roles) -> dict[str, Any]:
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


def format_roles(roles: Roles) -> list[str]:
    """Format the roles, a line each. Fingers are counted only; the list is empty without roles."""
    if not roles.joints and not roles.legs:
        return [f"roles: none, {FLAT_MESSAGE}"] if FLAT_MESSAGE in roles.left_out.values() else []
    lines = [f"roles ({roles.kind}, {len(roles.joints)} of {len(BONES)}):"]
    rows = [
        (role, joint, f"{roles.confidence[role]:.2g}", roles.reasons[role])
        for role, joint in roles.joints.items()
        if role not in _FINGER_ROLES
    ]
    widths = [max((len(escape_unprintable(row[column])) for row in rows), default=0) for column in range(3)]
    lines += [
        "  " + "  ".join(f"{escape_unprintable(cell):{width}}" for cell, width in zip(row, [*widths, 0], strict=True))
        for row in rows
    ]
    fingers = {side: sum(role.startswith(side) for role in roles.joints if role in _FINGER_ROLES) for side in SIDES}
    if any(fingers.values()):
        lines.append(
            f"  fingers: {format_count(fingers['left'], 'joint')} left, {fingers['right']} right (--json lists them)"
        )
    if roles.kind == "humanoid" and roles.missing:
        lines.append(f"  not found: {', '.join(roles.missing)}")
    lines += [escape_unprintable(f"  left out: {role}: {reason}") for role, reason in roles.left_out.items()]
    legs = roles.legs if roles.kind in ("quadruped", "multi-legged") else ()
    lines += [_format_leg_chain(leg, "leg") for leg in legs] + [
        _format_leg_chain(leg, "leg, its foot apart") for leg in roles.apart
    ]
    return lines


def _format_leg_chain(leg: Leg, label: str) -> str:
    return escape_unprintable(
        f"  {leg.name} {label}: {' > '.join(filter(None, (leg.upper, leg.lower, leg.foot, leg.toes)))}"
    )


def build_gaze_json(roles: Roles, skeleton: Skeleton) -> dict[str, Any] | None:
    """Build the JSON of the gaze direction. It is in the frame of the head, with the reason; None without a head."""
    head = roles.joints.get("head")
    return None if head is None else {"joint": head, **find_gaze(skeleton, skeleton.index(head))._asdict()}


def format_gaze(roles: Roles, skeleton: Skeleton) -> list[str]:
    """Format the gaze direction as one line, or none."""
    gaze = build_gaze_json(roles, skeleton)
    if gaze is None:
        return []
    axis = ", ".join(f"{round(number, 3) + 0.0:g}" for number in gaze["axis"])
    reason = gaze["reason"] if gaze["reason"].startswith("+z") else f"judged by {gaze['reason']}"
    return [escape_unprintable(f"  face: {gaze['joint']} looks along ({axis}) of its own frame, {reason}")]


# --- Description of marker files, as text or JSON --------------------------------------------------------------------
#
# It has names, rate, length, unit, gaps.


def format_markers(markers: Markers, file: Path) -> list[str]:
    """Format the description of markers."""
    frames, count = markers.gaps.shape
    seconds = (
        f"{frames / markers.fps:.4g} s, {format_count(frames, 'frame')} at {markers.fps:.6g} frames/s, the first "
        "is number"
    )
    unit = markers.metres_per_unit
    unit_text = "unit unknown" if unit is None else f"1 unit = {unit:g} m"
    up = f"+{markers.up.upper()} up" if markers.up else "up axis unknown"
    span = " x ".join(format_number(value) for value in _compute_marker_extent(markers))
    gap_count = int(markers.gaps.sum())
    share = f" ({100 * gap_count / markers.gaps.size:.3g} %)" if gap_count else ""
    return [
        f"{file}: {format_count(count, 'marker')}, no skeleton",
        f"{seconds} {markers.first_frame}",
        f"{unit_text}, {up}, points span {span}" if span else f"{unit_text}, {up}",
        f"not seen: {gap_count:,} of {markers.gaps.size:,} points{share}",
        "",
        f"markers ({count}):",
        *(
            escape_unprintable(f"  {name}{_format_gaps(gaps)}")
            for name, gaps in zip(markers.names, markers.gaps.T, strict=True)
        ),
        *(escape_unprintable(f"note: {note}") for note in markers.notes),
    ]


def build_markers_json(markers: Markers, file: Path) -> dict[str, Any]:
    """Build the JSON description of markers."""
    return {
        "file": str(file),
        "frames": len(markers),
        "fps": markers.fps,
        "seconds": len(markers) / markers.fps,
        "first_frame": markers.first_frame,
        "metres_per_unit": markers.metres_per_unit,
        "up": markers.up,
        "size": _compute_marker_extent(markers),
        "markers": [
            {
                "name": name,
                "gaps": len(_measure_gaps(gaps)),
                "unseen": int(gaps.sum()),
                "longest_gap": max(_measure_gaps(gaps), default=0),
            }
            for name, gaps in zip(markers.names, markers.gaps.T, strict=True)
        ],
        "notes": list(markers.notes),
    }


def _compute_marker_extent(markers: Markers) -> list[float]:
    """Compute the extent of all visible points [file units]. It is empty without any."""
    visible = markers.positions[~markers.gaps]
    return np.ptp(visible, axis=0).tolist() if len(visible) else []


def _measure_gaps(gaps: Bools) -> list[int]:
    """Measure the gaps of one marker in frames."""
    edges = np.flatnonzero(np.diff(gaps, prepend=False, append=False)).tolist()
    return [end - start for start, end in list(pairwise(edges))[::2]]


def _format_gaps(gaps: Bools) -> str:
    lengths = _measure_gaps(gaps)
    if not lengths:
        return ""
    if gaps.all():
        return "  never seen"
    if len(lengths) == 1:
        return f"  1 gap of {format_count(lengths[0], 'frame')}"
    return f"  {len(lengths)} gaps, {sum(lengths):,} frames in all, the longest {max(lengths):,}"
