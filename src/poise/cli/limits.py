"""`poise limits`: list joint limits, add anatomical ones to the sidecar."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from poise.cli.given.opened import IncludeRoot
from poise.cli.terminal import say
from poise.cli.told.limits import limit_words
from poise.cli.told.outputs import check_place
from poise.errors import InputError, shown
from poise.io.files import sidecar_of, write_atomically
from poise.io.gltf.extras import limit_json
from poise.io.registry import load
from poise.io.sidecar.append import sidecar_as_is, with_limits
from poise.maths.in_words import counted
from poise.model.anatomy.humanoid import humanoid
from poise.model.anatomy.joint_limits import JointLimit
from poise.model.rig import Rig
from poise.model.skeleton import Kind

_HEAD = "Ranges of motion of people [degrees] by `poise limits --anatomical`: docs/concepts/anatomical-limits.md."


class Change(NamedTuple):
    """Change of a sidecar by `--anatomical`.

    path             the sidecar
    old, new         its text before and after
    added            the new limits
    already_limited  joints with a limit of their own
    without_limit    joints of the character without a limit, with the reason
    """

    path: Path
    old: str
    new: str
    added: tuple[JointLimit, ...]
    kept: tuple[str, ...]
    without: tuple[JointLimit, ...]


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
            typer.echo(json.dumps(_as_object(rig, file), indent=1))
        else:
            say(*_as_lines(rig, file))
        return
    change = change_of(rig, file)
    if change.added and not dry_run:
        check_place(change.path)
        write_atomically(change.path, change.new.encode())
    if as_json:
        typer.echo(json.dumps(_change_object(change, file, written=bool(change.added) and not dry_run), indent=1))
    else:
        say(*_change_lines(change, dry_run=dry_run))


def change_of(rig: Rig, file: Path) -> Change:
    """Plan the sidecar of a file with anatomical limits added."""
    s = rig.skeleton
    found = humanoid(rig).explained()
    kept = tuple(one.joint for one in found if s.limits[s.index(one.joint)] is not None)
    added = tuple(one for one in found if one.limit is not None and one.joint not in kept)
    without = tuple(one for one in found if one.limit is None and one.joint not in kept)
    path = sidecar_of(file)
    old = sidecar_as_is(path)
    limits = {one.joint: one.limit for one in added if one.limit is not None}
    why = {one.joint: f"{one.role or one.part}: {one.reason}" for one in added}
    return Change(path, old, with_limits(path, old, limits, why, _HEAD) if added else old, added, kept, without)


def _as_lines(rig: Rig, file: Path) -> list[str]:
    s = rig.skeleton
    rows = [
        (name, limit_words(limit, Kind(int(kind))), limit.source)
        for name, kind, limit in zip(s.names, s.kinds, s.limits, strict=True)
        if limit is not None
    ]
    if not rows:
        return [f"{file}: none of {len(s)} joints has a limit; --anatomical adds anatomical ones to a character"]
    widths = [max(len(shown(row[column])) for row in rows) for column in range(2)]
    return [
        f"{file}: {len(rows)} of {len(s)} joints have limits",
        *(f"  {shown(a):{widths[0]}}  {b:{widths[1]}}  ({source})" for a, b, source in rows),
    ]


def _as_object(rig: Rig, file: Path) -> dict[str, Any]:
    s = rig.skeleton
    every = {
        name: limit_json(limit) | {"source": limit.source}
        for name, limit in zip(s.names, s.limits, strict=True)
        if limit is not None
    }
    return {"file": str(file), "joints": len(s), "limits": every}


def _change_lines(change: Change, *, dry_run: bool) -> list[str]:
    name, count = change.path.name, len(change.added)
    lines: list[str] = []
    if dry_run and count:
        old, new = (text.splitlines() for text in (change.old, change.new))
        lines += [shown(line) for line in difflib.unified_diff(old, new, name, name, lineterm="")]
    elif count:
        lines += [f"{change.path}: limits for {counted(count, 'joint')} added"]
    else:
        lines += [f"{change.path}: nothing to add"]
    if change.kept:
        lines.append(f"kept: {', '.join(map(shown, change.kept))}")
    return lines + [f"no limit for {shown(one.joint)}: {one.reason}" for one in change.without]


def _change_object(change: Change, file: Path, *, written: bool) -> dict[str, Any]:
    return {
        "file": str(file),
        "sidecar": str(change.path),
        "written": written,
        "added": {
            one.joint: {"role": one.role, "reason": one.reason} | limit_json(one.limit)
            for one in change.added
            if one.limit is not None
        },
        "kept": list(change.kept),
        "without": {one.joint: one.reason for one in change.without},
    }
