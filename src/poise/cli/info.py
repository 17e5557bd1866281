"""`poise info`: describe a file as a tree or as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from poise.cli.file_description import (
    build_gaze_json,
    build_limbs_json,
    build_markers_json,
    build_roles_json,
    compute_extent,
    compute_height,
    describe_limit,
    find_chains,
    format_axis,
    format_chains,
    format_gaze,
    format_markers,
    format_roles,
)
from poise.cli.rig_options import IncludeRoot
from poise.cli.terminal import say
from poise.errors import escape_unprintable, join_names
from poise.io.gltf.extras import format_limit
from poise.io.markers.markers import load_markers
from poise.io.registry import MARKER_FORMATS, load
from poise.maths.formatting import format_count, format_number
from poise.model.limits import Limit, Range
from poise.model.rig import Rig
from poise.model.rig_roles import search_roles
from poise.model.roles import Roles
from poise.model.skeleton import Kind, Skeleton

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
    s, roles = rig.skeleton, search_roles(rig)
    return {
        "file": str(file),
        "nq": s.nq,
        "nv": s.nv,
        "metres_per_unit": s.metres_per_unit,
        "up": s.up,
        "size": compute_extent(rig, roles).tolist(),
        "height": compute_height(rig, roles),
        "joints": [_build_joint_json(s, i) for i in range(len(s))],
        "clips": [{"name": c.name, "seconds": c.duration, "frames": len(c), "fps": c.fps} for c in rig.clips],
        "poses": {name: pose.q.tolist() for name, pose in rig.poses.items()},
        "disabled_pairs": list(rig.disabled_pairs),
        "limbs": build_limbs_json(rig.rest, roles),
        "chains": {name: {"root": root, "tip": tip} for name, (root, tip) in find_chains(s).items()},
        "humanoid": rig.humanoid,
        "roles": build_roles_json(roles),
        "face": build_gaze_json(roles, rig.skeleton),
        "loops": [asdict(loop) for loop in s.loops],
        "skins": [{"name": skin.name, "joints": list(skin.joints)} for skin in rig.skins],
        "notes": list(rig.notes),
    }


def _build_joint_json(s: Skeleton, i: int) -> dict[str, Any]:
    joint = s[s.names[i]]
    limit, coupling = joint.limit, joint.coupling
    return {
        "name": joint.name,
        "parent": joint.parent,
        "kind": joint.kind.name.lower(),
        "axis": joint.axis,
        "limit": None if limit is None else _build_limit_json(limit),
        "coupling": coupling and {"to": s.names[coupling.leader], "ratio": coupling.ratio, "offset": coupling.offset},
        "motor": joint.motor and asdict(joint.motor),
    }


def _build_limit_json(limit: Limit) -> dict[str, Any]:
    """Build the JSON of a limit.

    A range has its two ends, other limits are as in glTF extras; radians, an open end is null.
    """
    if not isinstance(limit, Range):
        return {"kind": type(limit).__name__} | format_limit(limit)
    soft = {"soft": limit.soft} if limit.soft else {}
    return {"low": _convert_open_end(limit.low), "high": _convert_open_end(limit.high), "axis": limit.axis} | soft


def _convert_open_end(value: float) -> float | None:
    return value if math.isfinite(value) else None


def format_lines(rig: Rig, file: Path) -> list[str]:
    """Format the description of a rig."""
    s, roles = rig.skeleton, search_roles(rig)
    counts = {kind: int((s.kinds == kind).sum()) for kind in Kind}
    kinds = ", ".join(f"{count} {kind.name.lower()}" for kind, count in counts.items() if count)
    head = f"{file}: {format_count(len(s), 'joint')} ({kinds}), {s.nv} degrees of freedom, q has {s.nq} numbers"
    clips = [
        f"  {escape_unprintable(c.name) or '(unnamed)'}: {c.duration:.3g} s, {format_count(len(c), 'frame')}, "
        f"{c.fps:.4g} fps"
        for c in rig.clips
    ]
    if clips:
        clips = [f"clips ({len(clips)}):", *clips]
    parts = (format_chains(rig.rest, roles), clips, format_tree(s), format_roles(roles) + format_gaze(roles, s))
    if s.loops:
        ends = [f"{loop.name} ({' and '.join(joint or 'the world' for joint in loop.joints)})" for loop in s.loops]
        parts = (*parts[:3], [f"closed loops ({len(s.loops)}): {join_names(ends)}"], *parts[3:])
    if rig.poses:
        parts = (*parts[:2], [f"poses ({len(rig.poses)}): {join_names(rig.poses)}"], *parts[2:])
    body = [line for part in parts if part for line in ("", *part)]
    return [head, _format_units(rig, roles), *body, *(escape_unprintable(f"note: {note}") for note in rig.notes)]


def _format_units(rig: Rig, roles: Roles) -> str:
    metres, up = rig.skeleton.metres_per_unit, rig.skeleton.up
    unit = "unit unknown" if metres is None else f"1 unit = {metres:g} m"
    which = f"+{up.upper()} up" if up else "up axis unknown"
    span = compute_extent(rig, roles)
    resolution_size = 1e3 * float(span.max(initial=0.0))  # rotations in files have about nine digits
    extent = " x ".join(format_number(value, size=resolution_size) for value in span.tolist())
    return (
        f"{unit}, {which}, joints span {extent} (height "
        f"{format_number(compute_height(rig, roles), size=resolution_size)})"
    )


def format_tree(s: Skeleton) -> list[str]:
    """Format the joints as a tree, a line each. It is iterative: chains of thousands of joints are legal."""
    lines: list[str] = []
    links: dict[int, list[str]] = {}
    for name, row in s.aliases.items():
        links.setdefault(row, []).append(name)
    stack = [(i, "", "") for i in reversed(range(len(s))) if s.parents[i] < 0]
    while stack:
        i, mark, indent = stack.pop()
        lines.append(f"{mark}{escape_unprintable(s.names[i] + _format_joint(s, i, links.get(i, [])))}")
        indent = indent[: 3 * _MAX_INDENT_LEVELS]
        below = s.children[i]
        for child in reversed(below):
            last = child == below[-1]
            stack.append((child, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  ")))
    return lines


def _format_joint(s: Skeleton, i: int, links: list[str]) -> str:
    joint = s[s.names[i]]
    parts = [joint.kind.name.lower()]
    if joint.axis:
        parts.append("about " * (joint.kind == Kind.HINGE) + format_axis(joint.axis))
    if joint.limit:
        parts.append(
            describe_limit(joint.limit, joint.kind) + (f" soft {joint.limit.soft:g}" if joint.limit.soft else "")
        )
    if joint.coupling:
        c = joint.coupling
        has_offset = format_number(c.offset) != "0"
        parts.append(f"= {format_number(c.ratio, 6)} * {s.names[c.leader]}" + (f" {c.offset:+g}" if has_offset else ""))
    if links:
        parts.append(f"link {', '.join(links)}")
    return f"  [{', '.join(parts)}]"
