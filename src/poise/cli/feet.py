"""What `poise plant` and `poise lock` share: files checked, the clip planted, everything written, the report said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import typer

from poise import plot
from poise.cli import frames, outputs
from poise.cli.bars import bar
from poise.clip import Clip
from poise.errors import InputError, UnsupportedError, shown
from poise.ground.plant import Planted
from poise.humanoid import Leg, Roles, humanoid
from poise.io._files import write_atomically
from poise.rig import Rig, load, save

_PAGES, _NUMBERS = (".html", ".htm"), (".json",)


class Files(NamedTuple):
    """Where everything goes; what is None is not written."""

    out: Path
    report: Path | None
    plot: Path | None
    contacts: Path | None

    def check(self) -> None:
        """Find out all that can be known of these paths, before any work is done."""
        outputs.check_pose_file(self.out)
        if self.report is not None:
            if self.report.suffix.lower() not in (*_PAGES, *_NUMBERS):
                raise InputError(f"--report writes a page (.html) or numbers (.json), not {self.report.name!r}")
            outputs.check_place(self.report)
        if self.plot is not None:
            outputs.check_picture(self.plot)
        if self.contacts is not None:
            outputs.check_place(self.contacts)


def planted(
    file: Path, name: str | None, files: Files, put: Callable[[Rig, Clip, Callable[[int], None]], Planted], *,
    as_json: bool,
) -> None:  # fmt: skip
    """Read a clip, put its feet on the ground, write what is asked for and say what was done.

    put  takes the rig, the clip and what to call with frames that are done
    """
    files.check()
    rig = load(file)
    if not as_json:
        for note in rig.notes:
            typer.echo(f"note: {note}", err=True)
    clip = frames.clip_of(rig, name, "a file of several clips")
    began = perf_counter()
    with bar("planting", len(clip), rate=True) as advance:
        result = put(rig, clip, lambda done: advance(done, ""))
    seconds = perf_counter() - began
    _write(result, rig, files)
    if as_json:
        typer.echo(json.dumps(_as_object(result, rig, files, seconds), indent=1, allow_nan=False))
    else:
        _say(result, rig, files)


def _write(result: Planted, rig: Rig, files: Files) -> None:
    save(Clip(result.times, result.poses, result.name), files.out, like=rig)
    if files.contacts is not None:
        save_contacts(result.contacts, files.contacts)
    if files.report is not None and files.report.suffix.lower() in _PAGES:
        result.report.to_html(files.report)
    elif files.report is not None:
        write_atomically(files.report, result.report.to_json().encode())
    if files.plot is not None:
        try:
            plot.draw_feet(files.plot, result)
        except UnsupportedError as error:
            typer.echo(f"no picture: {error}", err=True)


def _say(result: Planted, rig: Rig, files: Files) -> None:
    """The report, whose joints were taken for what, notes, and where the clip is."""
    typer.echo(str(result.report))
    roles = humanoid(rig)
    for leg in result.figure.legs:
        typer.echo(_leg_line(leg, roles))
    for note in result.notes:
        typer.echo(f"note: {note}")
    typer.echo(f"clip {shown(result.name)!r} in {files.out}")


def _leg_line(leg: Leg, roles: Roles) -> str:
    """`left leg: LeftUpLeg, LeftLeg, LeftFoot, LeftToe (0.9: Mixamo names)`."""
    joints = [joint for joint in (leg.upper, leg.lower, leg.foot, leg.toes) if joint]
    known = [role for role, joint in roles.joints.items() if joint in joints]
    least = min(known, key=lambda role: roles.confidence[role], default=None)
    sure = "" if least is None else f" ({roles.confidence[least]:.1f}: {roles.reasons[least]})"
    return f"{leg.name} leg: {', '.join(map(shown, joints))}{sure}"


def _as_object(result: Planted, rig: Rig, files: Files, seconds: float) -> dict[str, Any]:
    roles = humanoid(rig)
    legs = [leg._asdict() if hasattr(leg, "_asdict") else vars(leg) for leg in result.figure.legs]
    return {
        **result.report.as_object(),
        "roles": dict(roles.joints),
        "joints": legs,
        "metre": result.figure.metre,
        "up": result.figure.up,
        "velocity": None if result.velocity is None else result.velocity.tolist(),
        "seconds": seconds,
        "out": str(files.out),
    }
