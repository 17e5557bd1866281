"""`poise info`: what a file holds, as a tree that people can read or as JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from poise.cli.told.limits import axis_words, limit_words
from poise.cli.told.roles import face_lines, face_object, role_lines, role_object
from poise.errors import shown
from poise.io.gltf.extras import limit_json
from poise.io.registry import load
from poise.model.limits import Limit, Range
from poise.model.local import local_parts, world
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.roles import humanoid
from poise.model.skeleton import Kind, Skeleton
from poise.model.ways import LIMB

_DEEPEST = 24  # levels that are indented; deeper ones line up there
_MOST_CHAINS = 16


def info(
    file: Annotated[Path, typer.Argument(help="a glTF, GLB, VRM, BVH or URDF file")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Show what a file holds: joints, kinds, limits, units, clips, default chains, roles."""
    rig = load(file)
    if as_json:
        typer.echo(json.dumps(as_object(rig, file), indent=1, allow_nan=False))
    else:
        typer.echo("\n".join(as_lines(rig, file)))


def as_object(rig: Rig, file: Path) -> dict[str, Any]:
    """Everything `poise info` knows, for JSON."""
    s, found = rig.skeleton, humanoid(rig)
    return {
        "file": str(file),
        "nq": s.nq,
        "nv": s.nv,
        "metres_per_unit": s.metres_per_unit,
        "up": s.up,
        "size": size(rig.rest).tolist(),
        "height": height(rig),
        "joints": [_joint(s, i) for i in range(len(s))],
        "clips": [{"name": c.name, "seconds": c.duration, "frames": len(c), "fps": c.fps} for c in rig.clips],
        "chains": {name: {"root": root, "tip": tip} for name, (root, tip) in chains(s).items()},
        "humanoid": rig.humanoid,
        "roles": role_object(found),
        "face": face_object(found, rig.skeleton),
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
    }


def _limit_object(limit: Limit) -> dict[str, Any]:
    """A limit, for JSON: a range by its ends, the others as glTF extras have them; radians, an open end is null."""
    if not isinstance(limit, Range):
        return {"kind": type(limit).__name__} | limit_json(limit)
    soft = {"soft": limit.soft} if limit.soft else {}
    return {"low": _open(limit.low), "high": _open(limit.high), "axis": limit.axis} | soft


def _open(value: float) -> float | None:
    return value if math.isfinite(value) else None


def size(pose: Pose) -> np.ndarray:
    """Extent (3,) of the joints of a pose along x, y, z in file units.

    With arrays, not through `pose.world`: looking at a file must not wait for a compiler, nor take its memory.
    """
    s, parts = pose.skeleton, local_parts(pose)
    points = world(s.parents.tolist(), parts.translation, parts.rotation, s.B[:, :, :3])[:, :3, 3]
    return np.ptp(points, axis=0) if len(points) else np.zeros(3)


def height(rig: Rig) -> float:
    """Extent of the joints along the up axis; along the longest axis where the file does not say which is up."""
    up = rig.skeleton.up
    extent = size(rig.rest)
    return float(extent["xyz".index(up)] if up else extent.max(initial=0.0))


def chains(s: Skeleton) -> dict[str, tuple[str, str]]:
    """Named chains of the sidecar, then each limb's own: from its first joint to its end."""
    found = dict(s.chains)
    for i in range(len(s)):
        ends = not any(s.moving_depth[child] for child in s.children[i])
        splits = sum(s.moving_depth[child] >= LIMB for child in s.children[i]) > 1
        if s.parents[i] >= 0 and (splits or (ends and (s.moving_depth[i] or not s.children[i]))):
            moving = [name for name in s.chain(None, s.names[i]) if s[name].kind != Kind.FIXED]
            if len(moving) > 1:
                found.setdefault(s.names[i], (moving[0], s.names[i]))
    return found


def as_lines(rig: Rig, file: Path) -> list[str]:
    """Everything `poise info` knows, for people."""
    s = rig.skeleton
    counts = {kind: int((s.kinds == kind).sum()) for kind in Kind}
    kinds = ", ".join(f"{count} {kind.name.lower()}" for kind, count in counts.items() if count)
    lines = [f"{file}: {len(s)} joints ({kinds}), {s.nv} degrees of freedom, q has {s.nq} numbers", _units(rig)]
    lines += ["", *tree(s)]
    if rig.clips:
        lines += ["", f"clips ({len(rig.clips)}):"]
        lines += [
            f"  {shown(c.name) or '(unnamed)'}: {c.duration:.3g} s, {len(c)} frames, {c.fps:.4g} fps" for c in rig.clips
        ]
    known = chains(s)
    if known:
        lines += ["", "chains (root -> tip):"]
        lines += [shown(f"  {name}: {root} -> {tip}") for name, (root, tip) in list(known.items())[:_MOST_CHAINS]]
        if len(known) > _MOST_CHAINS:
            lines += [f"  ... and {len(known) - _MOST_CHAINS} more (--json lists all)"]
    found = humanoid(rig)
    roles = role_lines(found) + face_lines(found, s)
    return lines + [""] * bool(roles) + roles + [shown(f"note: {note}") for note in rig.notes]


def _units(rig: Rig) -> str:
    metres, up = rig.skeleton.metres_per_unit, rig.skeleton.up
    unit = "unit unknown" if metres is None else f"1 unit = {metres:g} m"
    which = f"+{up.upper()} up" if up else "up axis unknown"
    extent = " x ".join(f"{value:.4g}" for value in size(rig.rest))
    return f"{unit}, {which}, joints span {extent} (height {height(rig):.4g})"


def tree(s: Skeleton) -> list[str]:
    """Draw the joints as a tree, a line each, without recursion: chains of thousands of joints are legal."""
    lines: list[str] = []
    stack = [(i, "", "") for i in reversed(range(len(s))) if s.parents[i] < 0]
    while stack:
        i, mark, indent = stack.pop()
        lines.append(f"{mark}{shown(s.names[i] + _about(s, i))}")
        indent = indent[: 3 * _DEEPEST]
        below = s.children[i]
        for child in reversed(below):
            last = child == below[-1]
            stack.append((child, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  ")))
    return lines


def _about(s: Skeleton, i: int) -> str:
    joint = s[s.names[i]]
    parts = [joint.kind.name.lower()]
    links = [name for name, row in s.aliases.items() if row == i]
    if joint.axis:
        parts.append("about " * (joint.kind == Kind.HINGE) + axis_words(joint.axis))
    if joint.limit:
        parts.append(limit_words(joint.limit, joint.kind) + (f" soft {joint.limit.soft:g}" if joint.limit.soft else ""))
    if joint.coupling:
        c = joint.coupling
        parts.append(f"= {c.ratio:g} * {s.names[c.leader]}" + (f" {c.offset:+g}" if c.offset else ""))
    if links:
        parts.append(f"link {', '.join(links)}")
    return f"  [{', '.join(parts)}]"
