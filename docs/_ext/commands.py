"""The page of the command line, written by Typer from the commands themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from generated import write_pages
from sphinx.application import Sphinx

_FOLDER = Path(__file__).parent.parent / "command-line"
_WRITE = ("-m", "typer", "poise.cli", "utils", "docs", "--name", "poise", "--title", "Command line")


def write(_app: Sphinx) -> None:
    """Write the page."""
    done = subprocess.run([sys.executable, *_WRITE], check=True, capture_output=True, text=True)  # noqa: S603
    write_pages(_FOLDER, {"index.md": done.stdout})


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the page at the start of every build."""
    app.connect("builder-inited", write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
