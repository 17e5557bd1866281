"""The lamp of the custom format, at rest and posed."""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
import tempfile
from pathlib import Path

from poise import plot

EXAMPLE = Path(__file__).parents[2] / "examples" / "19_own_format.py"


def draw(path: Path) -> None:
    """Run the example in an empty folder and draw what it has read and solved."""
    arguments = sys.argv
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        sys.argv = [str(EXAMPLE), folder]
        try:
            made = runpy.run_path(str(EXAMPLE))
        finally:
            sys.argv = arguments
    lamp, result = made["lamp"], made["result"]
    poses = [("as the file has it", lamp.rest), ("over the point", result.pose)]
    target = result.goals[0].target
    plot.draw_poses(poses, path, target=target, chain=[*result.joints, "bulb"])
