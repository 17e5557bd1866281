"""`poise limits`: list joint limits, add anatomical ones to the sidecar."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from poise.cli.info import describe_limit
from poise.cli.input_output_files import IncludeRoot, check_writable
from poise.cli.terminal import say
from poise.errors import InputError, escape_unprintable
from poise.formatting import format_count
from poise.io.files import build_sidecar_path, write_atomically
from poise.io.gltf.node_extras import format_limit
from poise.io.json_units import build_units
from poise.io.registry import load
from poise.io.sidecar import append_limits, read_sidecar_text
from poise.model.anatomy.joint_limits import JointLimit
from poise.model.rig import Rig
from poise.model.skeleton import Kind

_SIDECAR_HEADER = (
    "Ranges of motion of people [degrees] by `poise limits --anatomical`: docs/concepts/anatomical-limits.md."
)


class SidecarChange(NamedTuple):
    """Change of a sidecar by `--anatomical`.

    path                the sidecar
    old_text, new_text  its text before and after
    added_limits        the new limits
    with_own_limit      joints with a limit of their own
    without_limit       joints of the character without a limit, with the reason
    """

    path: Path
    old_text: str
    new_text: str
    added_limits: tuple[JointLimit, ...]
    with_own_limit: tuple[str, ...]
    without_limit: tuple[JointLimit, ...]


def limits(
    file: Annotated[Path, typer.Argument(help="a rig: glTF, GLB, VRM, VRMA, BVH, FBX, USD, URDF, MJCF, ASF or AMC")],
    *,
    anatomical: Annotated[
        bool, typer.Option("--anatomical", help="write anatomical joint limits into the sidecar")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show the changes without writing them")] = False,
    include_root: IncludeRoot = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Show the limits of all joints. With --anatomical, joints without one get anatomical limits.

    They are written into the sidecar, NAME.ik.toml beside NAME.glb. Its existing lines and comments are preserved, and
    joints with a limit keep it. `poise view NAME.glb` shows the limits.
    """
    if dry_run and not anatomical:
        raise InputError("--dry-run shows what --anatomical would write: give both")
    rig = load(file, include_root=include_root)
    for note in rig.notes:
        say(f"note: {note}", err=True)
    if not anatomical:
        if as_json:
            typer.echo(json.dumps(_build_limits_json(rig, file), indent=1))
        else:
            say(*_format_limits(rig, file))
        return
    change = plan_change(rig, file)
    if change.added_limits and not dry_run:
        check_writable(change.path)
        write_atomically(change.path, change.new_text.encode())
    if as_json:
        change_json = _build_change_json(change, file, is_written=bool(change.added_limits) and not dry_run)
        units = build_units(rig.skeleton.metres_per_unit)
        typer.echo(json.dumps({**change_json, "units": units}, indent=1))
    else:
        say(*_format_change(change, dry_run=dry_run))


def plan_change(rig: Rig, file: Path) -> SidecarChange:
    """Plan the sidecar of a file with anatomical limits added."""
    skeleton = rig.skeleton
    joint_limits = rig.roles.explain_limits()
    with_own_limit = tuple(
        joint_limit.joint
        for joint_limit in joint_limits
        if skeleton.limits[skeleton.index(joint_limit.joint)] is not None
    )
    added_limits = tuple(
        joint_limit
        for joint_limit in joint_limits
        if joint_limit.limit is not None and joint_limit.joint not in with_own_limit
    )
    without_limit = tuple(
        joint_limit
        for joint_limit in joint_limits
        if joint_limit.limit is None and joint_limit.joint not in with_own_limit
    )
    path = build_sidecar_path(file)
    old_text = read_sidecar_text(path)
    limits_by_joint = {
        joint_limit.joint: joint_limit.limit for joint_limit in added_limits if joint_limit.limit is not None
    }
    reasons_by_joint = {
        joint_limit.joint: f"{joint_limit.role or joint_limit.part}: {joint_limit.reason}"
        for joint_limit in added_limits
    }
    return SidecarChange(
        path,
        old_text,
        append_limits(path, old_text, limits_by_joint, reasons_by_joint, _SIDECAR_HEADER) if added_limits else old_text,
        added_limits,
        with_own_limit,
        without_limit,
    )


def _format_limits(rig: Rig, file: Path) -> list[str]:
    skeleton = rig.skeleton
    rows = [
        (name, describe_limit(limit, Kind(int(kind))), limit.source)
        for name, kind, limit in zip(skeleton.names, skeleton.kinds, skeleton.limits, strict=True)
        if limit is not None
    ]
    if not rows:
        return [f"{file}: none of {len(skeleton)} joints has a limit; --anatomical adds anatomical ones to a character"]
    widths = [max(len(escape_unprintable(row[column])) for row in rows) for column in range(2)]
    return [
        f"{file}: {len(rows)} of {len(skeleton)} joints have limits",
        *(
            f"  {escape_unprintable(joint_name):{widths[0]}}  {limit_text:{widths[1]}}  ({source})"
            for joint_name, limit_text, source in rows
        ),
    ]


def _build_limits_json(rig: Rig, file: Path) -> dict[str, Any]:
    skeleton = rig.skeleton
    limit_documents = {
        name: format_limit(limit) | {"source": limit.source}
        for name, limit in zip(skeleton.names, skeleton.limits, strict=True)
        if limit is not None
    }
    return {
        "file": str(file),
        "joints": len(skeleton),
        "units": build_units(skeleton.metres_per_unit),
        "limits": limit_documents,
    }


def _format_change(change: SidecarChange, *, dry_run: bool) -> list[str]:
    sidecar_name, added_count = change.path.name, len(change.added_limits)
    lines: list[str] = []
    if dry_run and added_count:
        old_lines, new_lines = (text.splitlines() for text in (change.old_text, change.new_text))
        lines += [
            escape_unprintable(line)
            for line in difflib.unified_diff(old_lines, new_lines, sidecar_name, sidecar_name, lineterm="")
        ]
    elif added_count:
        lines += [f"{change.path}: limits for {format_count(added_count, 'joint')} added"]
    else:
        lines += [f"{change.path}: nothing to add"]
    if change.with_own_limit:
        lines.append(f"kept: {', '.join(map(escape_unprintable, change.with_own_limit))}")
    return lines + [
        f"no limit for {escape_unprintable(joint_limit.joint)}: {joint_limit.reason}"
        for joint_limit in change.without_limit
    ]


def _build_change_json(change: SidecarChange, file: Path, *, is_written: bool) -> dict[str, Any]:
    return {
        "file": str(file),
        "sidecar": str(change.path),
        "written": is_written,
        "added": {
            joint_limit.joint: {"role": joint_limit.role, "reason": joint_limit.reason}
            | format_limit(joint_limit.limit)
            for joint_limit in change.added_limits
            if joint_limit.limit is not None
        },
        "kept": list(change.with_own_limit),
        "without": {joint_limit.joint: joint_limit.reason for joint_limit in change.without_limit},
    }
