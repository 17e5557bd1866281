"""`poise info`: describe a file as a tree or as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from poise.cli.given.opened import IncludeRoot
from poise.cli.terminal import say
from poise.cli.told.limbs import chain_lines, chains, height, limb_objects, size
from poise.cli.told.limits import axis_words, limit_words
from poise.cli.told.markers import marker_lines, marker_object
from poise.cli.told.roles import face_lines, face_object, role_lines, role_object
from poise.errors import listed, shown
from poise.io.gltf.extras import limit_json
from poise.io.markers.load import load_markers
from poise.io.registry import MARKERS, load
from poise.maths.in_words import counted, write_number
from poise.model.limits import Limit, Range
from poise.model.rig import Rig
from poise.model.roles import Roles, humanoid
from poise.model.skeleton import Kind, Skeleton

_DEEPEST = 24  # levels of indentation; deeper levels are not indented further


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
    if file.suffix.lower() in MARKERS:
        markers = load_markers(file)
        told, lines = marker_object(markers, file), marker_lines(markers, file)
    else:
        rig = load(file, include_root=include_root)
        told, lines = (as_object(rig, file), []) if as_json else ({}, as_lines(rig, file))
    if as_json:
        typer.echo(json.dumps(told, indent=1, allow_nan=False))
    else:
        say(*lines)


def as_object(rig: Rig, file: Path) -> dict[str, Any]:
    """Build the JSON document of a rig."""
    s, found = rig.skeleton, humanoid(rig)
    return {
        "file": str(file),
        "nq": s.nq,
        "nv": s.nv,
        "metres_per_unit": s.metres_per_unit,
        "up": s.up,
        "size": size(rig, found).tolist(),
        "height": height(rig, found),
        "joints": [_joint(s, i) for i in range(len(s))],
        "clips": [{"name": c.name, "seconds": c.duration, "frames": len(c), "fps": c.fps} for c in rig.clips],
        "poses": {name: pose.q.tolist() for name, pose in rig.poses.items()},
        "disabled_pairs": list(rig.disabled_pairs),
        "limbs": limb_objects(rig.rest, found),
        "chains": {name: {"root": root, "tip": tip} for name, (root, tip) in chains(s).items()},
        "humanoid": rig.humanoid,
        "roles": role_object(found),
        "face": face_object(found, rig.skeleton),
        "loops": [asdict(loop) for loop in s.loops],
        "skins": [{"name": skin.name, "joints": list(skin.joints)} for skin in rig.skins],
        "notes": list(rig.notes),
    }


def _joint(s: Skeleton, i: int) -> dict[str, Any]:
    joint = s[s.names[i]]
    limit, coupling = joint.limit, joint.coupling
    return {
        "name": joint.name,
        "parent": joint.parent,
        "kind": joint.kind.name.lower(),
        "axis": joint.axis,
        "limit": None if limit is None else _limit_object(limit),
        "coupling": coupling and {"to": s.names[coupling.leader], "ratio": coupling.ratio, "offset": coupling.offset},
        "motor": joint.motor and asdict(joint.motor),
    }


def _limit_object(limit: Limit) -> dict[str, Any]:
    """Build the JSON of a limit.

    A range has its two ends, other limits are as in glTF extras; radians, an open end is null.
    """
    if not isinstance(limit, Range):
        return {"kind": type(limit).__name__} | limit_json(limit)
    soft = {"soft": limit.soft} if limit.soft else {}
    return {"low": _open(limit.low), "high": _open(limit.high), "axis": limit.axis} | soft


def _open(value: float) -> float | None:
    return value if math.isfinite(value) else None


def as_lines(rig: Rig, file: Path) -> list[str]:
    """Format the description of a rig."""
    s, found = rig.skeleton, humanoid(rig)
    counts = {kind: int((s.kinds == kind).sum()) for kind in Kind}
    kinds = ", ".join(f"{count} {kind.name.lower()}" for kind, count in counts.items() if count)
    head = f"{file}: {counted(len(s), 'joint')} ({kinds}), {s.nv} degrees of freedom, q has {s.nq} numbers"
    clips = [
        f"  {shown(c.name) or '(unnamed)'}: {c.duration:.3g} s, {counted(len(c), 'frame')}, {c.fps:.4g} fps"
        for c in rig.clips
    ]
    if clips:
        clips = [f"clips ({len(clips)}):", *clips]
    parts = (chain_lines(rig.rest, found), clips, tree(s), role_lines(found) + face_lines(found, s))
    if s.loops:
        ends = [f"{loop.name} ({' and '.join(joint or 'the world' for joint in loop.joints)})" for loop in s.loops]
        parts = (*parts[:3], [f"closed loops ({len(s.loops)}): {listed(ends)}"], *parts[3:])
    if rig.poses:
        parts = (*parts[:2], [f"poses ({len(rig.poses)}): {listed(rig.poses)}"], *parts[2:])
    body = [line for part in parts if part for line in ("", *part)]
    return [head, _units(rig, found), *body, *(shown(f"note: {note}") for note in rig.notes)]


def _units(rig: Rig, roles: Roles) -> str:
    metres, up = rig.skeleton.metres_per_unit, rig.skeleton.up
    unit = "unit unknown" if metres is None else f"1 unit = {metres:g} m"
    which = f"+{up.upper()} up" if up else "up axis unknown"
    span = size(rig, roles)
    least = 1e3 * float(span.max(initial=0.0))  # rotations in files have about nine digits
    extent = " x ".join(write_number(value, size=least) for value in span.tolist())
    return f"{unit}, {which}, joints span {extent} (height {write_number(height(rig, roles), size=least)})"


def tree(s: Skeleton) -> list[str]:
    """Format the joints as a tree, a line each. It is iterative: chains of thousands of joints are legal."""
    lines: list[str] = []
    links: dict[int, list[str]] = {}
    for name, row in s.aliases.items():
        links.setdefault(row, []).append(name)
    stack = [(i, "", "") for i in reversed(range(len(s))) if s.parents[i] < 0]
    while stack:
        i, mark, indent = stack.pop()
        lines.append(f"{mark}{shown(s.names[i] + _about(s, i, links.get(i, [])))}")
        indent = indent[: 3 * _DEEPEST]
        below = s.children[i]
        for child in reversed(below):
            last = child == below[-1]
            stack.append((child, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  ")))
    return lines


def _about(s: Skeleton, i: int, links: list[str]) -> str:
    joint = s[s.names[i]]
    parts = [joint.kind.name.lower()]
    if joint.axis:
        parts.append("about " * (joint.kind == Kind.HINGE) + axis_words(joint.axis))
    if joint.limit:
        parts.append(limit_words(joint.limit, joint.kind) + (f" soft {joint.limit.soft:g}" if joint.limit.soft else ""))
    if joint.coupling:
        c = joint.coupling
        has_offset = write_number(c.offset) != "0"
        parts.append(f"= {write_number(c.ratio, 6)} * {s.names[c.leader]}" + (f" {c.offset:+g}" if has_offset else ""))
    if links:
        parts.append(f"link {', '.join(links)}")
    return f"  [{', '.join(parts)}]"
