"""Rig loading for commands, with limit options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from poise.cli.terminal import say
from poise.errors import InputError
from poise.io.registry import load
from poise.io.sidecar import apply_sidecar
from poise.model.rig import Rig

IncludeRoot = Annotated[
    Path | None,
    typer.Option("--include-root", metavar="DIR", help="another folder permitted for MJCF includes and USD layers"),
]

TOLERANCE_HELP = (
    "largest distance that counts as reached (file units); default: 1e-6 for robots, 1e-4 of the limb for others"
)
ANGLE_TOLERANCE_HELP = "largest angle that counts as reached (radians); default: 1e-6 for robots, 1e-4 for others"


def load_rig(
    file: Path, limits: Path | None = None, *, no_limits: bool = False, include_root: Path | None = None
) -> Rig:
    """Load a rig and print its notes on standard error."""
    rig = load(file, include_root=include_root)
    for note in rig.notes:
        say(f"note: {note}", err=True)
    return apply_limits(rig, limits, no_limits=no_limits)


def apply_limits(rig: Rig, limits: Path | None, *, no_limits: bool) -> Rig:
    """Apply the limits of the rig, of a sidecar, or none."""
    if no_limits and limits is not None:
        raise InputError("give --limits FILE or --no-limits, not both")
    s = rig.skeleton
    if no_limits:
        return rig.with_skeleton(
            s.limited({name: None for name, limit in zip(s.names, s.limits, strict=True) if limit})
        )
    return rig if limits is None else rig.with_skeleton(apply_sidecar(s, limits))
