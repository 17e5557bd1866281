"""`poise info`: describe a rig or markers as text or JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from poise.cli.input_output_files import IncludeRoot
from poise.cli.limit_json import build_limit_json
from poise.cli.terminal import say
from poise.errors import escape_unprintable, join_names
from poise.formatting import format_count, format_number, format_size
from poise.io.json_units import build_units
from poise.io.markers import Markers, load_markers
from poise.io.registry import MARKER_FORMATS, load
from poise.maths.arrays import Bools, Floats
from poise.model.anatomy.roles import Roles
from poise.model.joint_tree import FLAT_MESSAGE, MIN_LIMB_JOINTS
from poise.model.limits import EulerBox, Limit, Range, SwingTwist
from poise.model.loop_gaps import compute_gaps
from poise.model.numpy_kinematics import compute_world_transforms
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.rig_roles import find_roles
from poise.model.roles import Leg
from poise.model.roles.bone_names import BONES, FINGER_BONES, SIDES
from poise.model.roles.gaze_direction import find_gaze
from poise.model.skeleton import Kind, Skeleton

# --- Description of rigs and marker files, as text or JSON -----------------------------------------------------------
#
# Limbs come from roles, chains from branches of the skeleton.


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
    confident_joints = {
        role: joint for role, joint in roles.joints.items() if roles.confidence[role] >= _MIN_CONFIDENCE
    }
    limb_ends = {
        tip: (confident_joints[root], confident_joints[tip])
        for tip, root in _LIMB_ENDS
        if tip in confident_joints and root in confident_joints
    }
    if "head" in confident_joints:
        limb_ends.setdefault("head", (confident_joints["head"], confident_joints["head"]))
    for leg in roles.legs if roles.kind != "humanoid" else ():
        if leg.upper and leg.foot:
            limb_ends[f"{leg.name} foot"] = (leg.upper, leg.foot)
    return limb_ends


def find_chains(skeleton: Skeleton) -> ChainEnds:
    """Find the chains of a skeleton, first joint to end.

    Named chains of the sidecar come first, then one for each limb.

    A leaf `hand_end`, which only marks the length of the hand, has no chain of its own if the hand has one.
    """
    chain_ends = dict(skeleton.chains)
    for i in range(len(skeleton)):
        is_chain_end = not any(skeleton.moving_depth[child] for child in skeleton.children[i])
        is_branching = sum(skeleton.moving_depth[child] >= MIN_LIMB_JOINTS for child in skeleton.children[i]) > 1
        if skeleton.parents[i] < 0 or not (
            is_branching or (is_chain_end and (skeleton.moving_depth[i] or not skeleton.children[i]))
        ):
            continue
        if _is_end_joint(skeleton, i) and skeleton.names[skeleton.parents[i]] in chain_ends:
            continue
        moving_joints = [name for name in skeleton.chain(None, skeleton.names[i]) if skeleton[name].kind != Kind.FIXED]
        if len(moving_joints) > 1:
            chain_ends.setdefault(skeleton.names[i], (moving_joints[0], skeleton.names[i]))
    return chain_ends


def _is_end_joint(skeleton: Skeleton, i: int) -> bool:
    """Return whether a joint is its parent's `_end` joint. It is an End Site of BVH, or Blender's leaf bone."""
    return (
        skeleton.kinds[i] == Kind.FIXED
        and not skeleton.children[i]
        and skeleton.names[i] == f"{skeleton.names[skeleton.parents[i]]}_end"
    )


def build_limbs_json(pose: Pose, roles: Roles) -> dict[str, dict[str, Any]]:
    """Build the JSON of limbs with their tip positions."""
    positions, find_index = compute_positions(pose), pose.skeleton.index
    return {
        name: {"root": root, "tip": tip, "position": positions[find_index(tip)].tolist()}
        for name, (root, tip) in find_limbs(roles).items()
    }


def format_chains(pose: Pose, roles: Roles) -> list[str]:
    """Format limbs and chains. Limbs by role come first, with tip positions in a pose."""
    skeleton, limb_documents = pose.skeleton, build_limbs_json(pose, roles)
    role_chains = {(limb["root"], limb["tip"]) for limb in limb_documents.values()}
    lines = _format_limbs(limb_documents)
    if lines:
        role_hint = "; --joint takes the tip or its role" if roles.kind == "humanoid" else ""
        lines = [f"limbs (root -> tip{role_hint}), and where the tip is at rest:", *lines]
    other_chains = [
        (name, ends)
        for name, ends in find_chains(skeleton).items()
        if name in skeleton.chains or ends not in role_chains
    ]
    if not other_chains:
        return lines
    lines += ["", "chains (root -> tip):"] if lines else ["chains (root -> tip):"]
    lines += [
        escape_unprintable(f"  {name}: {root} -> {tip}") for name, (root, tip) in other_chains[:_MAX_LISTED_CHAINS]
    ]
    return lines + [f"  ... and {len(other_chains) - _MAX_LISTED_CHAINS} more (--json lists all)"] * (
        len(other_chains) > _MAX_LISTED_CHAINS
    )


def _format_limbs(limb_documents: dict[str, dict[str, Any]]) -> list[str]:
    paths = {name: f"{limb['root']} -> {limb['tip']}" for name, limb in limb_documents.items()}
    name_width, path_width = (max(map(len, texts), default=0) for texts in (paths.keys(), paths.values()))
    resolution = (
        _POSITION_RESOLUTION
        * max((abs(number) for limb in limb_documents.values() for number in limb["position"]), default=0.0)
        or 1.0
    )
    position_texts = {
        name: " ".join(f"{round(x / resolution) * resolution:.4g}" for x in limb["position"])
        for name, limb in limb_documents.items()
    }
    return [
        escape_unprintable(f"  {name:{name_width}}  {path:{path_width}}  at {position_texts[name]}")
        for name, path in paths.items()
    ]


def compute_positions(pose: Pose) -> Floats:
    """Compute world positions (joints, 3) of a pose.

    Computed with NumPy, not with `Pose.world`: describing a file must not load or compile kernels.
    """
    return compute_world_transforms(pose.skeleton, pose.q, pose.translations)[:, :3, 3]


def _find_character_joints(rig: Rig, roles: Roles) -> list[int]:
    """Find the joints of the character itself. Cameras, targets and controls of a file may be far away.

    They are the joints that deform a mesh, with their descendants; without a mesh, the trees with a role; else all.
    """
    skeleton = rig.skeleton
    deforming_joints = {skeleton.index(name) for skin in rig.skins for name in skin.joints}
    if not deforming_joints:
        deforming_joints = {skeleton.list_path(skeleton.index(joint))[0] for joint in roles.joints.values()}
    is_included: list[bool] = []
    for joint_index, parent_index in enumerate(skeleton.parents.tolist()):
        is_included.append(joint_index in deforming_joints or (parent_index >= 0 and is_included[parent_index]))
    return [joint_index for joint_index, included in enumerate(is_included) if included] or list(range(len(skeleton)))


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
    role_indices = {role: rig.skeleton.index(joint) for role, joint in roles.joints.items()}
    if {"head", "leftFoot", "rightFoot"} <= role_indices.keys():
        points = compute_positions(rig.rest)
        head_offset = points[role_indices["head"]] - 0.5 * (
            points[role_indices["leftFoot"]] + points[role_indices["rightFoot"]]
        )
        return float(extent[np.abs(head_offset).argmax()])
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
        first_swing, second_swing = (_format_degrees(side) for side in limit.sides)
        swing_text = f"swing {first_swing} x {second_swing} about {format_axis(limit.axis)}"
        return f"{swing_text}, twist {_format_degrees(limit.twist)}"
    return _format_range(limit, kind)


def _format_degrees(angle_range: tuple[float, float]) -> str:
    low, high = (math.degrees(end) for end in angle_range)
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
    finger_counts = {
        side: sum(role.startswith(side) for role in roles.joints if role in _FINGER_ROLES) for side in SIDES
    }
    if any(finger_counts.values()):
        lines.append(
            f"  fingers: {format_count(finger_counts['left'], 'joint')} left, {finger_counts['right']} right "
            "(--json lists them)"
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
    frame_count, marker_count = markers.gaps.shape
    duration_text = (
        f"{frame_count / markers.fps:.4g} s, {format_count(frame_count, 'frame')} at {markers.fps:.6g} frames/s, "
        "the first is number"
    )
    metres_per_unit = markers.metres_per_unit
    unit_text = "unit unknown" if metres_per_unit is None else f"1 unit = {metres_per_unit:g} m"
    up_text = f"+{markers.up.upper()} up" if markers.up else "up axis unknown"
    extent_text = " x ".join(format_number(value) for value in _compute_marker_extent(markers))
    gap_count = int(markers.gaps.sum())
    gap_share_text = f" ({100 * gap_count / markers.gaps.size:.3g} %)" if gap_count else ""
    return [
        f"{file}: {format_count(marker_count, 'marker')}, no skeleton",
        f"{duration_text} {markers.first_frame}",
        f"{unit_text}, {up_text}, points span {extent_text}" if extent_text else f"{unit_text}, {up_text}",
        f"not seen: {gap_count:,} of {markers.gaps.size:,} points{gap_share_text}",
        "",
        f"markers ({marker_count}):",
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
        "units": build_units(markers.metres_per_unit),
        "up": markers.up,
        "size": _compute_marker_extent(markers),
        "markers": [
            {
                "name": name,
                "gaps": len(_measure_gap_lengths(gaps)),
                "unseen": int(gaps.sum()),
                "longest_gap": max(_measure_gap_lengths(gaps), default=0),
            }
            for name, gaps in zip(markers.names, markers.gaps.T, strict=True)
        ],
        "notes": list(markers.notes),
    }


def _compute_marker_extent(markers: Markers) -> list[float]:
    """Compute the extent of all visible points [file units]. It is empty without any."""
    visible_positions = markers.positions[~markers.gaps]
    return np.ptp(visible_positions, axis=0).tolist() if len(visible_positions) else []


def _measure_gap_lengths(gaps: Bools) -> list[int]:
    """Measure the gaps of one marker in frames."""
    gap_edges = np.flatnonzero(np.diff(gaps, prepend=False, append=False)).tolist()
    return [end - start for start, end in list(pairwise(gap_edges))[::2]]


def _format_gaps(gaps: Bools) -> str:
    lengths = _measure_gap_lengths(gaps)
    if not lengths:
        return ""
    if gaps.all():
        return "  never seen"
    if len(lengths) == 1:
        return f"  1 gap of {format_count(lengths[0], 'frame')}"
    return f"  {len(lengths)} gaps, {sum(lengths):,} frames in all, the longest {max(lengths):,}"


# --- Command ---------------------------------------------------------------------------------------------------------


_MAX_INDENT_LEVELS = 24  # levels of indentation; deeper levels are not indented further


def info(
    file: Annotated[
        Path,
        typer.Argument(
            help="a rig: glTF, GLB, VRM, VRMA, BVH, FBX, USD, URDF, MJCF, ASF or AMC; or markers: C3D or TRC"
        ),
    ],
    *,
    include_root: IncludeRoot = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Show the contents of a file. Rigs: joints, kinds, limits, units, clips, chains, roles; markers: names, gaps."""
    if file.suffix.lower() in MARKER_FORMATS:
        markers = load_markers(file)
        document, lines = build_markers_json(markers, file), format_markers(markers, file)
    else:
        rig = load(file, include_root=include_root)
        document, lines = (build_json(rig, file), []) if as_json else ({}, format_lines(rig, file))
    if as_json:
        typer.echo(json.dumps(document, indent=1, allow_nan=False))
    else:
        say(*lines)


def build_json(rig: Rig, file: Path) -> dict[str, Any]:
    """Build the JSON document of a rig."""
    skeleton, roles = rig.skeleton, find_roles(rig)
    return {
        "file": str(file),
        "nq": skeleton.nq,
        "nv": skeleton.nv,
        "metres_per_unit": skeleton.metres_per_unit,
        "units": build_units(skeleton.metres_per_unit),
        "up": skeleton.up,
        "size": compute_extent(rig, roles).tolist(),
        "height": compute_height(rig, roles),
        "joints": [_build_joint_json(skeleton, i) for i in range(len(skeleton))],
        "clips": [{"name": c.name, "seconds": c.duration, "frames": len(c), "fps": c.fps} for c in rig.clips],
        "poses": {name: pose.q.tolist() for name, pose in rig.poses.items()},
        "disabled_pairs": list(rig.disabled_pairs),
        "limbs": build_limbs_json(rig.rest, roles),
        "chains": {name: {"root": root, "tip": tip} for name, (root, tip) in find_chains(skeleton).items()},
        "humanoid": rig.humanoid,
        "roles": build_roles_json(roles),
        "face": build_gaze_json(roles, rig.skeleton),
        "loops": build_loops_json(skeleton),
        "skins": [{"name": skin.name, "joints": list(skin.joints)} for skin in rig.skins],
        "notes": list(rig.notes),
    }


def _build_joint_json(skeleton: Skeleton, i: int) -> dict[str, Any]:
    joint = skeleton[skeleton.names[i]]
    limit, coupling = joint.limit, joint.coupling
    return {
        "name": joint.name,
        "parent": joint.parent,
        "kind": joint.kind.name.lower(),
        "axis": joint.axis,
        "limit": None if limit is None else build_limit_json(limit),
        "coupling": coupling
        and {"to": skeleton.names[coupling.leader], "ratio": coupling.ratio, "offset": coupling.offset},
        "motor": joint.motor and asdict(joint.motor),
    }


def format_lines(rig: Rig, file: Path) -> list[str]:
    """Format the description of a rig."""
    skeleton, roles = rig.skeleton, find_roles(rig)
    kind_counts = {kind: int((skeleton.kinds == kind).sum()) for kind in Kind}
    kinds_text = ", ".join(f"{count} {kind.name.lower()}" for kind, count in kind_counts.items() if count)
    heading = (
        f"{file}: {format_count(len(skeleton), 'joint')} ({kinds_text}), {skeleton.nv} degrees of freedom, "
        f"q has {skeleton.nq} numbers"
    )
    clip_lines = [
        f"  {escape_unprintable(c.name) or '(unnamed)'}: {format_size(c.duration)} s, {format_count(len(c), 'frame')}, "
        f"{c.fps:.4g} fps"
        for c in rig.clips
    ]
    if clip_lines:
        clip_lines = [f"clips ({len(clip_lines)}):", *clip_lines]
    sections = (
        format_chains(rig.rest, roles),
        clip_lines,
        format_tree(skeleton),
        format_roles(roles) + format_gaze(roles, skeleton),
    )
    if skeleton.loops:
        sections = (*sections[:3], format_loops(skeleton), *sections[3:])
    if rig.poses:
        sections = (*sections[:2], [f"poses ({len(rig.poses)}): {join_names(rig.poses)}"], *sections[2:])
    body_lines = [line for section in sections if section for line in ("", *section)]
    return [
        heading,
        _format_units(rig, roles),
        *body_lines,
        *(escape_unprintable(f"note: {note}") for note in rig.notes),
    ]


def build_loops_json(skeleton: Skeleton) -> list[dict[str, Any]]:
    """Build the JSON of closed loops. It has their gaps at rest [file units, rad]."""
    gaps = compute_gaps(skeleton, skeleton.rest_q)
    return [
        asdict(loop) | {"rest_gap": {"distance": distance, "angle": angle}}
        for loop, distance, angle in zip(skeleton.loops, gaps.distances.tolist(), gaps.angles.tolist(), strict=True)
    ]


def format_loops(skeleton: Skeleton) -> list[str]:
    """Format the closed loops, a line each, with their gaps at rest."""
    gaps = compute_gaps(skeleton, skeleton.rest_q)
    lines = [f"closed loops ({len(skeleton.loops)}):"]
    for loop, distance, angle in zip(skeleton.loops, gaps.distances.tolist(), gaps.angles.tolist(), strict=True):
        ends = [
            f"{joint} ({' '.join(format_number(x) for x in point)})"
            for joint, point in ((loop.a, loop.point_a), (loop.b, loop.point_b))
        ]
        gap_texts = [f"{format_number(distance)} apart"] if {"point", "line"}.intersection(loop.holds) else []
        gap_texts += [f"{format_number(math.degrees(angle), 3)} deg turned"] if loop.rotation is not None else []
        text = f"{loop.name}: {' and '.join(ends)} hold {join_names(loop.holds)}; at rest {' and '.join(gap_texts)}"
        lines.append(f"  {escape_unprintable(text)}")
    return lines


def _format_units(rig: Rig, roles: Roles) -> str:
    metres, up = rig.skeleton.metres_per_unit, rig.skeleton.up
    unit_text = "unit unknown" if metres is None else f"1 unit = {metres:g} m"
    up_text = f"+{up.upper()} up" if up else "up axis unknown"
    joint_extent = compute_extent(rig, roles)
    resolution_size = 1e3 * float(joint_extent.max(initial=0.0))  # rotations in files have about nine digits
    extent_text = " x ".join(format_number(value, size=resolution_size) for value in joint_extent.tolist())
    return (
        f"{unit_text}, {up_text}, joints span {extent_text} (height "
        f"{format_number(compute_height(rig, roles), size=resolution_size)})"
    )


def format_tree(skeleton: Skeleton) -> list[str]:
    """Format the joints as a tree, a line each. It is iterative: chains of thousands of joints are legal."""
    lines: list[str] = []
    aliases_by_joint: dict[int, list[str]] = {}
    for name, joint_index in skeleton.aliases.items():
        aliases_by_joint.setdefault(joint_index, []).append(name)
    stack = [(i, "", "") for i in reversed(range(len(skeleton))) if skeleton.parents[i] < 0]
    while stack:
        i, branch_mark, indent = stack.pop()
        joint_text = skeleton.names[i] + _format_joint(skeleton, i, aliases_by_joint.get(i, []))
        lines.append(f"{branch_mark}{escape_unprintable(joint_text)}")
        indent = indent[: 3 * _MAX_INDENT_LEVELS]
        children = skeleton.children[i]
        for child in reversed(children):
            is_last = child == children[-1]
            stack.append((child, indent + ("└─ " if is_last else "├─ "), indent + ("   " if is_last else "│  ")))
    return lines


def _format_joint(skeleton: Skeleton, i: int, aliases: list[str]) -> str:
    joint = skeleton[skeleton.names[i]]
    texts = [joint.kind.name.lower()]
    if joint.axis:
        texts.append("about " * (joint.kind == Kind.HINGE) + format_axis(joint.axis))
    if joint.limit:
        texts.append(
            describe_limit(joint.limit, joint.kind) + (f" soft {joint.limit.soft:g}" if joint.limit.soft else "")
        )
    if joint.coupling:
        coupling = joint.coupling
        has_offset = format_number(coupling.offset) != "0"
        texts.append(
            f"= {format_number(coupling.ratio, 6)} * {skeleton.names[coupling.leader]}"
            + (f" {coupling.offset:+g}" if has_offset else "")
        )
    if aliases:
        texts.append(f"link {', '.join(aliases)}")
    return f"  [{', '.join(texts)}]"
