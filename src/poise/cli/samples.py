"""`poise samples`: copy the bundled rigs into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from poise.cli.terminal import say
from poise.io import samples as bundled_samples


def samples(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="output folder; created if missing")] = Path(),
) -> None:
    """Copy the bundled rigs into DIR, by default this folder. They are a character, a walk, an arm and hills."""
    written_paths = bundled_samples.copy_to(folder)
    for path in written_paths:
        say(str(path))
    if not written_paths:
        say(f"all samples are in {folder} already; no file was overwritten")
