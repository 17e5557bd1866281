"""What `poise plant` and `poise lock` share: outputs checked, the clip planted, files written, the report said."""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import typer

from poise import plot
from poise.cli import frames, outputs
from poise.cli.bars import bar
from poise.clip import Clip
from poise.errors import FileError, InputError, UnsupportedError, shown
from poise.ground.plant import Planted, lock_feet, plant_feet
from poise.ground.terrain import Terrain
from poise.humanoid import Roles, humanoid
from poise.io._files import write_atomically
from poise.rig import Rig, load, save

_PAGES, _NUMBERS = (".html", ".htm"), (".json",)


class Written(NamedTuple):
    """Where everything goes; None is not written."""

    out: Path
    report: Path | None
    plot: Path | None
    contacts: Path | None

    def check(self) -> None:
        """Everything that can be known of these paths, before any work is done."""
        outputs.check_pose_file(self.out)
        if self.report is not None:
            if self.report.suffix.lower() not in (*_PAGES, *_NUMBERS):
                raise InputError(f"--report writes .html or .json, not {self.report.name!r}")
            outputs.check_place(self.report)
        if self.plot is not None:
            outputs.check_picture(self.plot)
        if self.contacts is not None:
            outputs.check_place(self.contacts)
